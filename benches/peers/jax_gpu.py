"""The programs of `cargo bench --bench gpu` in JAX, compiled by XLA for a GPU, with sums and products in 32 bits.

    python jax_gpu.py [part of a name ..]

Prints the time of a run in microseconds, of the best of several rounds: in each runs are issued one after the other, and the clock waits
for the last one.
"""

import sys
import time

import jax
import jax.numpy as jnp

jax.config.update("jax_default_matmul_precision", "highest")


def numbers(*shape):
    return jax.random.uniform(jax.random.PRNGKey(len(shape)), shape, jnp.float32, -1.0, 1.0)


def measure(name, function, *args):
    if len(sys.argv) > 1 and not any(part in name for part in sys.argv[1:]):
        return
    run = jax.jit(function)
    jax.block_until_ready(run(*args))
    start = time.perf_counter()
    jax.block_until_ready(run(*args))
    once = time.perf_counter() - start
    rounds = 8 if once < 0.4 else 1
    times = int(min(max(0.4 / rounds / max(once, 1e-6), 1), 50))
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(times):
            result = run(*args)
        jax.block_until_ready(result)
        best = min(best, (time.perf_counter() - start) / times)
    print(f"{name:44} a run {best * 1e6:>11.1f} us", flush=True)


def pullback(function):
    def run(*args):
        *x, cotangent = args
        value, back = jax.vjp(function, *x)
        return value, back(cotangent)

    return run


def arrays():
    n = 1 << 25
    x, y = numbers(n), numbers(n) * 0.5
    wave = lambda x: jnp.sum(jnp.sin(x) * jnp.exp(-x * x))
    measure("saxpy 2^25", lambda x, y: 2.0 * x + y, x, y)
    measure("gelu 2^25", lambda x: 0.5 * x * (1.0 + jnp.tanh(0.7978846 * (x + 0.044715 * x**3))), x)
    measure("wave 2^25", wave, x)
    measure("wave 2^25, value and gradient", jax.value_and_grad(wave), x)
    measure("sum 2^25", jnp.sum, x)
    measure("cumsum 2^25", jnp.cumsum, x)
    measure("filtered sum 2^25", lambda x: jnp.sum(jnp.where(x > 0, x, 0.0)), x)
    for rows, columns in [(10_000_000, 3), (1_000_000, 32), (100_000, 300), (5000, 20_000), (3, 10_000_000)]:
        x = numbers(rows, columns)
        measure(f"row sums {rows} x {columns}", lambda x: jnp.sum(x, 1), x)
        measure(f"column sums {rows} x {columns}", lambda x: jnp.sum(x, 0), x)
        measure(f"cumsum of rows {rows} x {columns}", lambda x: jnp.cumsum(x, 1), x)


def bins():
    n = 1 << 24
    w = numbers(n)
    for k in [10, 1000, 1_000_000]:
        at = jax.random.randint(jax.random.PRNGKey(1), (n,), 0, k, jnp.int32)
        measure(f"counts in {k} bins", lambda at: jnp.zeros(k, jnp.int32).at[at].add(1), at)
        measure(f"weights in {k} bins", lambda at, w: jnp.zeros(k).at[at].add(w), at, w)
        x = numbers(k)
        measure(f"pullback of a gather in {k} bins", pullback(lambda x: x[at]), x, w)


def sorts():
    for log in [16, 20, 24]:
        x = numbers(1 << log)
        measure(f"sort 2^{log}", jnp.sort, x)
        measure(f"argsort 2^{log}", jnp.argsort, x)
    measure("sort of rows 10000 x 1000", lambda x: jnp.sort(x, 1), numbers(10_000, 1000))


def products():
    for n in [256, 512, 1024, 2048, 4096, 8192]:
        a, b = numbers(n, n), numbers(n, n) * 0.5
        measure(f"matmul {n}", jnp.matmul, a, b)
        if n in (1024, 4096):
            measure(f"matmul {n}, transposed", lambda a, b: a @ b.T, a, b)
            measure(f"matmul {n}, pullback", pullback(jnp.matmul), a, b, a)
    for n, k, m in [(65_536, 784, 32), (16, 4096, 4096), (1 << 20, 64, 64), (64, 1 << 20, 64)]:
        measure(f"matmul {n} x {k} x {m}", jnp.matmul, numbers(n, k), numbers(k, m))
    measure("matrix times vector 8192", jnp.matmul, numbers(8192, 8192), numbers(8192))
    measure("256 products of 128", jnp.matmul, numbers(256, 128, 128), numbers(256, 128, 128))
    layer = lambda x, w, b: jnp.maximum(x @ w + b, 0.0)
    measure("layer 4096 x 1024 x 1024", layer, numbers(4096, 1024), numbers(1024, 1024), numbers(1024))


def networks():
    z, g = numbers(8192, 4096), numbers(8192, 4096) * 0.5
    softmax = lambda z: jax.nn.softmax(z, axis=1)

    def normalized(x):
        d = x - jnp.mean(x, 1, keepdims=True)
        return d / jnp.sqrt(jnp.mean(d * d, 1, keepdims=True) + 1e-5)

    measure("softmax of rows 8192 x 4096", softmax, z)
    measure("softmax of rows, pullback", pullback(softmax), z, g)
    measure("layer norm 8192 x 4096", normalized, z)
    measure("layer norm, pullback", pullback(normalized), z, g)

    def attention(q, k, v):
        scores = jnp.einsum("hid,hjd->hij", q, k) / 8.0
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(scores), v)

    q = numbers(16, 1024, 64)
    measure("attention 16 x 1024 x 64", attention, q, q * 0.5, q * 2.0)
    measure("attention, pullback", pullback(attention), q, q * 0.5, q * 2.0, q)

    def step(x, h, c, wx, wh, b):
        gates = jnp.einsum("nd,gdm->gnm", x, wx) + jnp.einsum("nk,gkm->gnm", h, wh) + b[:, None]
        s = jax.nn.sigmoid
        next = s(gates[0]) * c + s(gates[1]) * jnp.tanh(gates[2])
        out = s(gates[3]) * jnp.tanh(next)
        return jnp.sum(out * out)

    n, d, m = 1024, 192, 512
    args = (numbers(n, d), numbers(n, m), numbers(n, m), numbers(4, d, m) * 0.1, numbers(4, m, m) * 0.1, numbers(4, m))
    measure("LSTM step", step, *args)
    measure("LSTM step, value and gradient", jax.value_and_grad(step, argnums=tuple(range(6))), *args)


def points():
    def mixture(alpha, mu, q, x):
        u = (x[:, None, :] - mu[None]) * jnp.exp(q)[None]
        terms = alpha + jnp.sum(q, 1) - 0.5 * jnp.sum(u * u, 2)
        return jnp.sum(jax.nn.logsumexp(terms, 1)) - x.shape[0] * jax.nn.logsumexp(alpha)

    args = (numbers(25), numbers(25, 32), numbers(25, 32), numbers(100_000, 32))
    measure("GMM 10^5 x 32, 25", mixture, *args)
    measure("GMM, gradient", jax.grad(mixture, argnums=(0, 1, 2)), *args)

    def clusters(c, points):
        between = points[:, None, :] - c[None]
        return jnp.sum(jnp.min(jnp.sum(between * between, 2), 1))

    args = (numbers(100, 16), numbers(100_000, 16))
    measure("k-means 10^5 x 16, 100", clusters, *args)
    measure("k-means, gradient", jax.grad(clusters), *args)

    def energy(x, m):
        between = x[:, None] - x[None]
        return 0.5 * jnp.sum(-m[:, None] * m[None] / jnp.sqrt(jnp.sum(between * between, 2) + 0.01))

    measure("N-body 16384", energy, numbers(16_384, 3), numbers(16_384))
    measure("N-body, gradient", jax.grad(energy, argnums=(0, 1)), numbers(16_384, 3), numbers(16_384))


print(jax.devices()[0].device_kind, "JAX", jax.__version__)
for group in (arrays, bins, sorts, products, networks, points):
    group()
