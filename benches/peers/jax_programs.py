"""The problems of GradBench without geometry: hello, llsq, lse, ode, det, gmm, lstm, kmeans."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln


def as_lists(output):
    """Arrays as nested lists of numbers."""
    return jax.tree.map(lambda array: np.asarray(array).tolist(), output)


@dataclass
class Task:
    """A compiled function, arrays to run it on, and what makes JSON of its result."""

    run: Callable
    arguments: tuple
    finish: Callable[[Any], Any] = as_lists


def array(numbers):
    """Numbers on the device."""
    return jnp.asarray(np.asarray(numbers, dtype=np.float64))


# hello: x^2, and its derivative 2 x.


@jax.jit
def square(x):
    """x^2"""
    return x * x


double = jax.jit(jax.grad(square))


# llsq


@partial(jax.jit, static_argnums=2)
def llsq(x, intervals, n):
    """f(x) = 1/2 sum_i (s_i - sum_j x_j t_i^j)^2, t_i = -1 + 2 i / (n - 1), s_i = sign(t_i).

    The number of intervals n - 1 is an argument, without which the powers of t would be computed while compiling.
    """
    t = -1.0 + 2.0 * jnp.arange(n) / intervals

    def step(fit, coefficient):
        return fit * t + coefficient, None

    fit, _ = lax.scan(step, jnp.zeros(n), x, reverse=True)
    return 0.5 * jnp.sum((jnp.sign(t) - fit) ** 2)


llsq_gradient = jax.jit(jax.grad(llsq), static_argnums=2)


def llsq_task(function):
    """On the input's `x` and `n`."""
    return lambda data: Task(function, (array(data["x"]), float(data["n"] - 1), data["n"]))


# lse


@jax.jit
def lse(x):
    """f(x) = a + log(sum_i exp(x_i - a)), a = max(x)."""
    a = jnp.max(x)
    return a + jnp.log(jnp.sum(jnp.exp(x - a)))


lse_gradient = jax.jit(jax.grad(lse))


# ode


@partial(jax.jit, static_argnums=1)
def ode(x, s):
    """y_0' = x_0, y_i' = x_i y_{i-1}, y(0) = 0: y(2) by s steps of the classical method of Runge and Kutta."""
    h = 2.0 / s

    def field(y):
        return x * jnp.concatenate([jnp.ones(1), y[:-1]])

    @jax.checkpoint  # recomputing a step backwards is faster than remembering all of it
    def step(y, _):
        k1 = field(y)
        k2 = field(y + 0.5 * h * k1)
        k3 = field(y + 0.5 * h * k2)
        k4 = field(y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    y, _ = lax.scan(step, jnp.zeros_like(x), length=s)
    return y


ode_gradient = jax.jit(jax.grad(lambda x, s: ode(x, s)[-1]), static_argnums=1)


def ode_task(function):
    """On the input's `x` and `s`."""
    return lambda data: Task(function, (array(data["x"]), data["s"]))


# det


def expansion(n):
    """For each row the columns that each choice of columns for the rows before leaves."""
    left = np.arange(n, dtype=np.int32)[None, :]
    tables = []
    for width in range(n, 0, -1):
        tables.append(left)
        if width > 1:
            others = np.array([[k for k in range(width) if k != j] for j in range(width)])
            left = left[:, others].reshape(-1, width - 1)
    return tables


@jax.jit
def det(a, tables):
    """det(A) = sum_j (-1)^j A_0j det(A without row 0 and column j), all choices of columns at once."""
    products = jnp.ones(1)
    for row, left in zip(a, tables):
        signs = np.where(np.arange(left.shape[1]) % 2 == 0, 1.0, -1.0)
        products = (products[:, None] * signs * row[left]).reshape(-1)
    return jnp.sum(products)


det_gradient = jax.jit(jax.grad(det))


def det_task(function):
    """On the input's `A`; the tables, which depend on its size alone, are made before."""

    def flat(output):
        return as_lists(jnp.ravel(output) if output.ndim else output)

    def task(data):
        n = data["ell"]
        tables = [jnp.asarray(table) for table in expansion(n)]
        return Task(function, (array(data["A"]).reshape(n, n), tables), flat)

    return task


# gmm


@jax.jit
def gmm(parameters, x, gamma, m):
    """The logarithm of a Gaussian mixture's posterior with a Wishart prior.

    Q_k       lower triangular, diagonal exp(q_k), below it l_k column by column
    beta_ik = alpha_k + sum_j q_kj - 1/2 |Q_k (x_i - mu_k)|^2
    F       = -1/2 n d log(2 pi) + sum_i lse_k(beta_ik) - n lse(alpha)
              - sum_k (1/2 gamma^2 |Q_k|^2 - m sum_j q_kj)
              + K (v d (log(gamma) - 1/2 log 2) - lgamma_d(v / 2)),    v = d + m + 1
    """
    alpha, mu, q, l = parameters["alpha"], parameters["mu"], parameters["q"], parameters["l"]
    (n, d), k = x.shape, alpha.shape[0]
    columns, rows = np.triu_indices(d, 1)
    diagonal = np.arange(d)
    factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(l).at[:, diagonal, diagonal].set(jnp.exp(q))
    u = jax.vmap(lambda factor, center: (x - center) @ factor.T, out_axes=1)(factors, mu)
    beta = alpha + jnp.sum(q, axis=1) - 0.5 * jnp.sum(u * u, axis=2)
    likelihood = jnp.sum(jax.nn.logsumexp(beta, axis=1)) - n * (jax.nn.logsumexp(alpha) + 0.5 * d * np.log(2 * np.pi))
    squares = jnp.sum(jnp.exp(2.0 * q)) + jnp.sum(l * l)
    v = d + m + 1
    gammas = jnp.sum(gammaln(0.5 * (v - jnp.arange(d)))) + 0.25 * d * (d - 1) * np.log(np.pi)
    constant = v * d * (jnp.log(gamma) - 0.5 * np.log(2.0)) - gammas
    return likelihood + m * jnp.sum(q) - 0.5 * gamma**2 * squares + k * constant


gmm_gradient = jax.jit(jax.grad(gmm))


def gmm_task(function):
    """On the input's parameters and points."""

    def task(data):
        parameters = {name: array(data[name]) for name in ("alpha", "mu", "q", "l")}
        parameters["l"] = parameters["l"].reshape(data["k"], data["d"] * (data["d"] - 1) // 2)
        return Task(function, (parameters, array(data["x"]), float(data["gamma"]), float(data["m"])))

    return task


# lstm


@jax.jit
def lstm(parameters, state, sequence):
    """A recurrent network with diagonal weights, which predicts the next character of a text.

    x = s_t a
    for each layer:   forget = sigmoid(x W_f + B_f)    take   = sigmoid(h W_i + B_i)
                      out    = sigmoid(x W_o + B_o)    change = tanh(h W_c + B_c)
                      c <- c forget + take change,     x, h <- out tanh(c)
    y = x o + b,      loss = -sum_t s_{t+1} . (y - log(2 + sum exp(y))) / (b (c - 1))
    """
    main, extra = parameters

    @jax.checkpoint  # recomputing a step backwards is faster than remembering all of it
    def step(state, character):
        x = character * extra[0]
        hidden, cell = [], []
        for (weight, bias), (h, c) in zip(main, state):
            fed = jnp.stack([x, h, x, h]) * weight + bias
            forget, take, out = jax.nn.sigmoid(fed[:3])
            c = c * forget + take * jnp.tanh(fed[3])
            x = out * jnp.tanh(c)
            hidden.append(x)
            cell.append(c)
        return jnp.stack([jnp.stack(hidden), jnp.stack(cell)], axis=1), x

    _, x = lax.scan(step, state, sequence[:-1], unroll=4)
    y = x * extra[1] + extra[2]
    predicted = y - jnp.log(2.0 + jnp.sum(jnp.exp(y), axis=1, keepdims=True))
    return -jnp.sum(sequence[1:] * predicted) / y.size


lstm_gradient = jax.jit(jax.grad(lstm))


def lstm_task(function):
    """On the input's parameters, state and text."""

    def flat(output):
        whole = isinstance(output, tuple)
        return as_lists(jnp.concatenate([jnp.ravel(x) for x in output]) if whole else output)

    def task(data):
        sequence = array(data["sequence"])
        b = sequence.shape[1]
        main, state = array(data["main_params"]), array(data["state"])
        layers = main.shape[0] // 2
        parameters = (main.reshape(layers, 2, 4, b), array(data["extra_params"]))
        return Task(function, (parameters, state.reshape(layers, 2, b), sequence), flat)

    return task


# kmeans


@jax.jit
def kmeans(centroids, points):
    """f(C) = sum_i min_j |P_i - C_j|^2, with the squares of the differences from a product of matrices."""
    squares = jnp.sum(centroids**2, axis=1) - 2.0 * points @ centroids.T
    return jnp.sum(points**2) + jnp.sum(jnp.min(squares, axis=1))


def kmeans_of_nearest(centroids, points):
    """The same with the nearest centroids found before, which makes its derivatives faster."""
    fixed = lax.stop_gradient(centroids)
    nearest = jnp.argmin(jnp.sum(fixed**2, axis=1) - 2.0 * points @ fixed.T, axis=1)
    return jnp.sum((points - centroids[nearest]) ** 2)


@jax.jit
def kmeans_direction(centroids, points):
    """J / H: the gradient by the diagonal of the Hessian, which has nothing else and is hence its product with ones."""
    gradient = jax.grad(kmeans_of_nearest)
    slope, curvature = jax.jvp(lambda c: gradient(c, points), (centroids,), (jnp.ones_like(centroids),))
    return slope / curvature


def kmeans_task(function):
    """On the input's centroids and points."""
    return lambda data: Task(function, (array(data["centroids"]), array(data["points"])))


MODULES = {
    "hello": {"square": lambda x: Task(square, (float(x),)), "double": lambda x: Task(double, (float(x),))},
    "llsq": {"primal": llsq_task(llsq), "gradient": llsq_task(llsq_gradient)},
    "lse": {
        "primal": lambda data: Task(lse, (array(data["x"]),)),
        "gradient": lambda data: Task(lse_gradient, (array(data["x"]),)),
    },
    "ode": {"primal": ode_task(ode), "gradient": ode_task(ode_gradient)},
    "det": {"primal": det_task(det), "gradient": det_task(det_gradient)},
    "gmm": {"objective": gmm_task(gmm), "jacobian": gmm_task(gmm_gradient)},
    "lstm": {"objective": lstm_task(lstm), "jacobian": lstm_task(lstm_gradient)},
    "kmeans": {"cost": kmeans_task(kmeans), "dir": kmeans_task(kmeans_direction)},
}
