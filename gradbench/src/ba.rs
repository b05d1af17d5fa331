//! Bundle adjustment: errors of observations of points by cameras, and their sparse Jacobian.
//!
//! ```text
//! camera: rotation r (3), center C (3), focal length f, principal point u (2), radial distortion k (2)
//! Y = z turned around r by |r|,    z = X - C
//! p = (Y_0, Y_1) / Y_2,    p' = p (1 + k_0 |p|^2 + k_1 |p|^4)
//! e = w (f p' + u - feature),    error of the weight 1 - w^2
//! ```
//!
//! The Jacobian has two rows for each observation, with 15 entries each, and then one with a single entry for each weight; its columns are
//! the cameras, the points and the weights.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Axis};
use serde_json::{Value, json};

use crate::output::{As, Output};
use crate::{Error, Task, input::Fields, task::unknown};

#[kernel(value)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// `z` turned around `r` by its length: Rodrigues' formula, and its first order at 0.
#[kernel(value)]
fn turned(r: [f64; 3], z: [f64; 3]) -> [f64; 3] {
    let squared = dot(r, r);
    if squared != 0.0 {
        let angle = squared.sqrt();
        let axis = r / angle;
        z * angle.cos() + cross(axis, z) * angle.sin() + axis * (dot(axis, z) * (1.0 - angle.cos()))
    } else {
        z + cross(r, z)
    }
}

/// The error of one observation.
///
/// A camera's numbers are its rotation (3), center (3), focal length, principal point (2) and distortion (2).
#[kernel]
pub fn reprojection(camera: [f64; 11], x: [f64; 3], w: f64, #[no_grad] feature: [f64; 2]) -> [f64; 2] {
    let y = turned(camera[0..3], x - camera[3..6]);
    let p = y[0..2] / y[2];
    let squared = dot(p, p);
    let distorted = p * (1.0 + camera[9] * squared + camera[10] * squared * squared);
    w * (camera[6] * distorted + camera[7..9] - feature)
}

#[kernel(value)]
fn weight_error(w: f64) -> f64 {
    1.0 - w * w
}

/// Cameras, points, weights, features, and the camera and the point of each observation.
#[derive(Record, Clone, Debug)]
struct Scene {
    #[shape(n, 11)]
    cameras: Array2<f64>,
    #[shape(m, 3)]
    xs: Array2<f64>,
    #[shape(p)]
    ws: Array1<f64>,
    #[shape(p, 2)]
    features: Array2<f64>,
    #[shape(p, 2)]
    seen: Array2<i64>,
}

/// One camera, point and observation, as often as it says.
#[kernel(value)]
fn repeated(
    camera: [f64; 11],
    x: [f64; 3],
    w: f64,
    feature: [f64; 2],
    n: usize,
    m: usize,
    p: usize,
) -> Scene {
    Scene {
        cameras: replicate(n, camera),
        xs: replicate(m, x),
        ws: replicate(p, w),
        features: replicate(p, feature),
        seen: build(p, |i| [i % n, i % m]),
    }
}

#[kernel(value)]
fn errors(scene: &Scene) -> ([[f64; 2]; p], [f64; p]) {
    let each = build(p, |i| {
        let (camera, x) = (scene.cameras[scene.seen[i][0]], scene.xs[scene.seen[i][1]]);
        reprojection(camera, x, scene.ws[i], scene.features[i])
    });
    (each, weight_error(scene.ws))
}

/// Row pointers, columns and values of the compressed rows.
#[kernel(value)]
fn compressed(scene: &Scene) -> ([i64; 3 * p + 1], [i64; 31 * p], [f64; 31 * p]) {
    let seen = scene.seen;
    let blocks = build(p, |i| {
        let parameters = concat(scene.cameras[seen[i][0]], scene.xs[seen[i][1]], [scene.ws[i]]);
        jacobian(|v| reprojection(v[0..11], v[11..14], v[14], scene.features[i]))(parameters)
    });
    let of_weights = map(|w| grad(weight_error)(w), scene.ws);
    let columns = build((p, 2, 15), |i, _, j| {
        if j < 11 {
            11 * seen[i][0] + j
        } else if j < 14 {
            11 * n + 3 * seen[i][1] + j - 11
        } else {
            11 * n + 3 * m + i
        }
    });
    let weights = build(p, |i| 11 * n + 3 * m + i);
    let rows = build(3 * p + 1, |r| if r <= 2 * p { 15 * r } else { 30 * p + r - 2 * p });
    (rows, concat(flatten(columns), weights), concat(flatten(blocks), of_weights))
}

impl Scene {
    /// The one camera, point and observation of the input, as often as it says.
    fn read(input: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(input)?;
        let (n, m, p): (i64, i64, i64) =
            (fields.positive("n")?, fields.positive("m")?, fields.positive("p")?);
        let (camera, x) = (fields.vector_of("cam", 11)?, fields.vector_of("x", 3)?);
        let (w, feature): (f64, _) = (fields.take("w")?, fields.vector_of("feat", 2)?);
        Ok(Cpu.run(repeated, (&camera, &x, w, &feature, n, m, p))?)
    }
}

/// The first observation's errors, and how many there are.
fn errors_json((each, of_weights): &(Array2<f64>, Array1<f64>)) -> Value {
    let p = of_weights.len();
    let first = each.index_axis(Axis(0), 0).to_owned();
    json!({
        "reproj_error": {"elements": first.json(), "repeated": p},
        "w_err": {"element": of_weights[0], "repeated": p},
    })
}

/// Each array's first thirty elements and its last one.
fn compressed_json((rows, columns, values): &(Array1<i64>, Array1<i64>, Array1<f64>)) -> Value {
    fn ends<T: Copy + Into<Value>>(all: &Array1<T>) -> Value {
        all.iter().take(30).chain(all.last()).map(|x| (*x).into()).collect()
    }
    json!({"rows": ends(rows), "cols": ends(columns), "vals": ends(values)})
}

/// `objective` or `jacobian`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let scene = Scene::read(input)?;
    match function {
        "objective" => Ok(Task::new(move || Cpu.run(errors, (&scene,)).map(|e| As(e, errors_json)))),
        "jacobian" => Ok(Task::new(move || Cpu.run(compressed, (&scene,)).map(|j| As(j, compressed_json)))),
        _ => Err(unknown("ba", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn gradient_agrees_with_differences() -> Result<(), array_dsl::Error> {
        let camera = array![0.1, -0.2, 0.3, 0.5, -0.4, -6.0, 1.0, 0.3, -0.2, 0.01, -0.002];
        let check = check_grad(reprojection, (&camera, &array![1.0, 2.0, 3.0], 0.5, &array![0.1, 0.2]))?;
        assert!(check.agrees(1e-8), "{check}");
        Ok(())
    }
}
