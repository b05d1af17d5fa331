"""GradBench's problems in JAX, behind GradBench's protocol on the standard input and output.

Usage: python jax_peer.py [--threads N]

Numbers are f64 and every function is compiled. What is timed is one run from arrays to arrays that are ready; the first
run, which compiles, is not counted. Without `--threads` it uses one thread.
"""

import argparse
import json
import math
import os
import sys
import time


def limit_threads(count):
    """Has XLA use so many threads. It must come before `jax` is imported, which looks at the processors it may use."""
    if hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        if count > len(processors):
            sys.exit(f"jax_peer.py: {count} threads want as many processors, of which there are {len(processors)}")
        os.sched_setaffinity(0, processors[-count:])
    if count == 1:
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()


def arguments():
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="GradBench's problems in JAX")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    if asked.threads < 1:
        parser.error("--threads: expected a number of threads, at least 1")
    return asked


def finite(value):
    """The value with `None` for what JSON cannot write."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [finite(x) for x in value]
    if isinstance(value, dict):
        return {name: finite(x) for name, x in value.items()}
    return value


def written(value):
    """The value as JSON."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value))


def measure(task, least_runs, least_seconds):
    """The output of the last run, and a timing for each run."""
    import jax

    jax.block_until_ready(task.run(*task.arguments))
    timings, elapsed = [], 0
    while not timings or len(timings) < least_runs or elapsed < least_seconds * 1e9:
        start = time.perf_counter_ns()
        output = jax.block_until_ready(task.run(*task.arguments))
        nanoseconds = time.perf_counter_ns() - start
        elapsed += nanoseconds
        timings.append({"name": "evaluate", "nanoseconds": nanoseconds})
    return task.finish(output), timings


def respond(message, modules):
    """The fields of the response to a message."""
    kind = message["kind"]
    if kind == "start":
        return {"tool": "jax"}
    if kind not in ("define", "evaluate"):
        return {}
    module = modules.get(message["module"])
    if module is None:
        return {"success": False, "error": f"there is no module `{message['module']}`"}
    if kind == "define":
        return {"success": True}
    try:
        data = message["input"]
        function = module.get(message["function"])
        if function is None:
            return {"success": False, "error": f"there is no function `{message['function']}`"}
        runs, seconds = (data.get("min_runs", 1), data.get("min_seconds", 0)) if isinstance(data, dict) else (1, 0)
        output, timings = measure(function(data), runs, seconds)
        return {"success": True, "output": output, "timings": timings}
    except Exception as error:  # whatever goes wrong with a question is its answer
        return {"success": False, "error": f"{type(error).__name__}: {error}"}


def main():
    """Answers messages until there are no more."""
    limit_threads(arguments().threads)
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    import jax_geometry
    import jax_programs

    modules = jax_programs.MODULES | jax_geometry.MODULES
    for line in sys.stdin:
        message = json.loads(line)
        sys.stdout.write(written({"id": message["id"], **respond(message, modules)}))
        sys.stdout.write("\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
