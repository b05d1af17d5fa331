#!/usr/bin/env bash
# Runs the unit tests of what handles memory by itself under valgrind: allocation, element access, shared rows, sorting, matrix
# products, accumulation. Reads and writes outside of allocations, and decisions by values that were never set, fail it.
#
# Stable Rust has no sanitizers. With a nightly toolchain the same tests run under AddressSanitizer:
#   RUSTFLAGS=-Zsanitizer=address cargo +nightly test -p array-dsl-runtime --lib --target x86_64-unknown-linux-gnu
# Miri does not know the vector instructions that the matrix products choose at run time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

command -v valgrind >/dev/null || {
    echo "check-memory.sh: please install valgrind" >&2
    exit 1
}
modules=(allocate:: contract:: cpu:: given:: pool:: sparse:: status:: trusted::)
binary=$(cargo test -p array-dsl-runtime --lib --no-run --message-format=json "$@" |
    sed -n 's/.*"executable":"\([^"]*array_dsl_runtime-[^"]*\)".*/\1/p' | tail -n 1)
# Rayon's threads outlive the tests, so that what is reachable at the end says nothing.
# Tests that compare numbers of threads repeat others with much more data, which takes hours under valgrind.
valgrind --quiet --error-exitcode=1 --leak-check=no --fair-sched=yes "$binary" --test-threads=1 "${modules[@]}" \
    --skip do_not_depend_on_threads
echo "check-memory.sh: nothing was found"
