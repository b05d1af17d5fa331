"""The geometrical problems of GradBench: ba and ht."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jax_programs import Task, array, as_lists


def cross_matrix(a):
    """The matrix of the product a x z."""
    return jnp.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def safe_norm(squared, there):
    """The root, and 1 where it is not wanted, so that no derivative is infinite there."""
    return jnp.sqrt(jnp.where(there, squared, 1.0))


# ba


def dot(a, b):
    """The product of two vectors of three components."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    """The vector product of two vectors of three components."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def turned(r, z):
    """z turned around r by its length: Rodrigues' formula, and its first order at 0."""
    squared = dot(r, r)
    there = squared != 0.0
    angle = safe_norm(squared, there)
    axis = [x / angle for x in r]
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    along = dot(axis, z) * (1.0 - cosine)
    around = [x * cosine + c * sine + a * along for x, c, a in zip(z, cross(axis, z), axis)]
    near = [x + c for x, c in zip(z, cross(r, z))]
    return [jnp.where(there, a, n) for a, n in zip(around, near)]


def reprojection(camera, point, w, feature):
    """The error of one observation, by components, which compiles to twice as fast a program as by small vectors.

    camera: rotation r (3), center C (3), focal length f, principal point u (2), radial distortion k (2)
    Y = X - C turned around r, p = (Y_0, Y_1) / Y_2, p' = p (1 + k_0 |p|^2 + k_1 |p|^4), e = w (f p' + u - feature)
    """
    *r, c0, c1, c2, focal, u0, u1, k0, k1 = camera
    x0, x1, x2 = point
    y0, y1, y2 = turned(r, (x0 - c0, x1 - c1, x2 - c2))
    p0, p1 = y0 / y2, y1 / y2
    squared = p0 * p0 + p1 * p1
    scale = focal * (1.0 + k0 * squared + k1 * squared**2)
    return jnp.stack([w * (p0 * scale + u0 - feature[0]), w * (p1 * scale + u1 - feature[1])])


def weight_error(w):
    """The error of a weight."""
    return 1.0 - w**2


def gathered(scene):
    """What each observation is of."""
    cameras, xs, ws, features, camera, x = scene
    return cameras[camera], xs[x], ws, features


@jax.jit
def ba_errors(scene):
    """The errors of all observations and of all weights."""
    return jax.vmap(reprojection)(*gathered(scene)), weight_error(scene[2])


@jax.jit
def ba_jacobian(scene):
    """Row pointers, columns and values of the compressed rows.

    Two rows of 15 entries for each observation and then one of a single entry for each weight; the columns are the
    cameras, the points and the weights.
    """
    cameras, xs, ws, _, camera, x = scene
    n, m, p = cameras.shape[0], xs.shape[0], ws.shape[0]
    of_camera, of_point, of_weight = jax.vmap(jax.jacrev(reprojection, (0, 1, 2)))(*gathered(scene))
    blocks = jnp.concatenate([of_camera, of_point, of_weight[..., None]], axis=2)
    values = jnp.concatenate([jnp.ravel(blocks), jax.vmap(jax.grad(weight_error))(ws)])
    of_weights = 11 * n + 3 * m + jnp.arange(p)
    of_cameras = 11 * camera[:, None] + jnp.arange(11)
    of_points = 11 * n + 3 * x[:, None] + jnp.arange(3)
    columns = jnp.concatenate([of_cameras, of_points, of_weights[:, None]], axis=1)
    columns = jnp.concatenate([jnp.ravel(jnp.broadcast_to(columns[:, None], (p, 2, 15))), of_weights])
    rows = jnp.concatenate([15 * jnp.arange(2 * p), 30 * p + jnp.arange(p + 1)])
    return {"rows": rows, "cols": columns, "vals": values}


def first_errors(errors):
    """The first observation's errors, and how many there are."""
    each, of_weights = errors
    count = of_weights.shape[0]
    return {
        "reproj_error": {"elements": as_lists(each[0]), "repeated": count},
        "w_err": {"element": as_lists(of_weights[0]), "repeated": count},
    }


def ends(jacobian):
    """Each array's first thirty elements and its last one."""
    return {name: np.append(np.asarray(all[:30]), np.asarray(all[-1:])).tolist() for name, all in jacobian.items()}


def ba_task(function, finish):
    """On the one camera, point and observation of the input, as often as it says."""

    def task(data):
        n, m, p = data["n"], data["m"], data["p"]
        observations = np.arange(p)
        scene = (
            array([data["cam"]] * n),
            array([data["x"]] * m),
            array([data["w"]] * p),
            array(np.tile(np.asarray(data["feat"], dtype=np.float64), (p, 1))),
            jnp.asarray(observations % n),
            jnp.asarray(observations % m),
        )
        return Task(function, (scene,), finish)

    return task


# ht


def bent(x, z):
    """A turn around the x axis, and then one around the z axis."""
    cx, sx, cz, sz = jnp.cos(x), jnp.sin(x), jnp.cos(z), jnp.sin(z)
    return jnp.array(
        [[cz, -sz * cx, sz * sx, 0.0], [sz, cz * cx, -cz * sx, 0.0], [0.0, sx, cx, 0.0], [0.0, 0.0, 0.0, 1.0]]
    )


def rotation(r):
    """The turn around r by its length."""
    squared = r @ r
    there = squared >= 1e-8
    angle = safe_norm(squared, there)
    a = r / angle
    around = jnp.cos(angle) * jnp.eye(3) + jnp.sin(angle) * cross_matrix(a) + (1.0 - jnp.cos(angle)) * jnp.outer(a, a)
    return jnp.where(there, around, jnp.eye(3))


def vertices(theta, hand, parents):
    """The vertices of the hand in a pose.

    theta: rotation r (3), translation (3), then for each finger the angles of three bones: (x, z), x, x
    T_b = B_b rotate_z(z_b) rotate_x(x_b), A_b = A_parent(b) T_b, v' = sum_b w_vb A_b I_b v, V = R(r) v' + translation
    """
    fingers = theta[6:].reshape(5, 4)
    none = jnp.zeros((5, 1))
    bend = jnp.concatenate([none, fingers[:, :1], fingers[:, 2:]], axis=1)
    spread = jnp.concatenate([none, fingers[:, 1:2], none, none], axis=1)
    # The wrist, which comes before the fingers, and the forearm after them do not bend.
    x, z = (jnp.pad(jnp.ravel(angles), 1) for angles in (bend, spread))
    local = hand["relatives"] @ jax.vmap(bent)(x, z)
    absolutes = []
    for bone, parent in enumerate(parents):
        absolutes.append(local[bone] if parent < 0 else absolutes[parent] @ local[bone])
    skin = jnp.stack(absolutes) @ hand["inverses"]
    blended = (hand["weights"] @ skin[:, :3].reshape(-1, 12)).reshape(-1, 3, 4)
    moved = jnp.einsum("vij,vj->vi", blended, hand["base"]) * hand["mirror"]
    return moved @ rotation(theta[:3]).T + theta[3:6]


def simple(theta, hand, at, points, parents):
    """e_i = point_i - V_c(i)"""
    return points - vertices(theta, hand, parents)[at]


def complicated(theta, us, hand, corners, points, parents):
    """e_i = point_i - (u_i0 V_a + u_i1 V_b + (1 - u_i0 - u_i1) V_c), (a, b, c) the corners of a triangle"""
    a, b, c = jnp.moveaxis(vertices(theta, hand, parents)[corners], 1, 0)
    u, v = us[:, :1], us[:, 1:]
    return points - (u * a + v * b + (1.0 - u - v) * c)


@partial(jax.jit, static_argnums=4)
def simple_jacobian(theta, hand, at, points, parents):
    """A tangent for each number of the pose."""
    return jax.jacfwd(simple)(theta, hand, at, points, parents)


@partial(jax.jit, static_argnums=5)
def complicated_jacobian(theta, us, hand, corners, points, parents):
    """The derivatives along each error's own u, of which two tangents give all, and then along the pose."""

    def along(k):
        tangent = jnp.zeros_like(us).at[:, k].set(1.0)
        return jax.jvp(lambda us: complicated(theta, us, hand, corners, points, parents), (us,), (tangent,))[1]

    by_theta = jax.jacfwd(complicated)(theta, us, hand, corners, points, parents)
    return jnp.concatenate([along(0)[..., None], along(1)[..., None], by_theta], axis=2)


def ht_task(of_vertices, of_triangles, finish):
    """The task of an input: points belong to vertices, or, where there are `us`, to triangles and places in them."""

    def task(data):
        model, at = data["data"]["model"], np.asarray(data["data"]["correspondences"])
        hand = {
            "relatives": array(model["base_relatives"]),
            "inverses": array(model["inverse_base_absolutes"]),
            "weights": array(model["weights"]),
            "base": array(model["base_positions"]),
            "mirror": array([-1.0 if model["is_mirrored"] else 1.0, 1.0, 1.0]),
        }
        theta, points, parents = array(data["theta"]), array(data["data"]["points"]), tuple(model["parents"])
        if not data["us"]:
            return Task(of_vertices, (theta, hand, jnp.asarray(at), points, parents), finish)
        corners = jnp.asarray(np.asarray(model["triangles"])[at])
        return Task(of_triangles, (theta, array(data["us"]), hand, corners, points, parents), finish)

    return task


MODULES = {
    "ba": {"objective": ba_task(ba_errors, first_errors), "jacobian": ba_task(ba_jacobian, ends)},
    "ht": {
        "objective": ht_task(
            jax.jit(simple, static_argnums=4), jax.jit(complicated, static_argnums=5), lambda e: as_lists(jnp.ravel(e))
        ),
        "jacobian": ht_task(simple_jacobian, complicated_jacobian, lambda j: as_lists(j.reshape(-1, j.shape[-1]))),
    },
}
