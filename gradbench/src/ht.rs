//! Hand tracking: how far the vertices of a hand's model are from points, by the pose, and the Jacobian.
//!
//! ```text
//! pose: rotation r (3), translation (3), then for each finger the angles of three bones: (x, z), x, x
//! T_b = B_b rotate_z(z_b) rotate_x(x_b),    A_b = A_parent(b) T_b
//! v'  = sum_b w_vb A_b I_b v,    I_b the inverse of bone b's transform in the model
//! V   = R(r) v' + translation
//! simple       e_i = point_i - V_c(i)
//! complicated  e_i = point_i - (u_i0 V_a + u_i1 V_b + (1 - u_i0 - u_i1) V_c),    (a, b, c) a triangle
//! ```
//!
//! An error depends on its own `u` alone, so that two tangents give all derivatives along all `u`.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array3};
use serde_json::Value;

use crate::{Error, Task, input::Fields, output::As, output::Output, task::unknown};

/// The model: parents come before their children; the root has -1.
#[derive(Record, Clone, Debug)]
struct Hand {
    #[shape(bones)]
    parents: Array1<i64>,
    #[shape(bones, 4, 4)]
    relatives: Array3<f64>,
    #[shape(bones, 4, 4)]
    inverses: Array3<f64>,
    #[shape(corners, 4)]
    base: Array2<f64>,
    #[shape(corners, bones)]
    weights: Array2<f64>,
    /// -1 for a hand in the mirror, else 1.
    mirror: f64,
}

/// The turn around `r` by its length.
#[kernel(value)]
fn rotation(r: [f64; 3]) -> [[f64; 3]; 3] {
    let identity = build((3, 3), |i, j| if i == j { 1.0 } else { 0.0 });
    let squared = dot(r, r);
    if squared < 1e-8 {
        identity
    } else {
        let angle = squared.sqrt();
        let a = r / angle;
        let across = [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]];
        angle.cos() * identity + angle.sin() * across + (1.0 - angle.cos()) * outer(a, a)
    }
}

/// A turn around the x axis, and then one around the z axis.
#[kernel(value)]
fn bent(x: f64, z: f64) -> [[f64; 4]; 4] {
    [
        [z.cos(), -z.sin() * x.cos(), z.sin() * x.sin(), 0.0],
        [z.sin(), z.cos() * x.cos(), -z.cos() * x.sin(), 0.0],
        [0.0, x.sin(), x.cos(), 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
}

/// The transforms of the bones. After the wrist come four bones of each finger, of which the first one does not bend, then the forearm.
#[kernel(value)]
fn absolutes(theta: [f64; 26], hand: &Hand) -> [[[f64; 4]; 4]; bones] {
    let mut all = zeros((bones, 4, 4));
    for i in 0..bones {
        let joint = if i == 0 || i > 20 { 0 } else { (i - 1) % 4 };
        let at = if joint == 0 { 0 } else { 6 + 4 * ((i - 1) / 4) };
        let x = if joint == 0 {
            0.0
        } else if joint == 1 {
            theta[at]
        } else {
            theta[at + joint]
        };
        let z = if joint == 1 { theta[at + 1] } else { 0.0 };
        let local = matmul(hand.relatives[i], bent(x, z));
        all[i] = if hand.parents[i] < 0 { local } else { matmul(all[hand.parents[i]], local) };
    }
    all
}

/// The vertices in a pose.
#[kernel(value)]
fn vertices(theta: [f64; 26], hand: &Hand) -> [[f64; 3]; corners] {
    let skin = einsum!("bij,bjk->bik", absolutes(theta, hand), hand.inverses);
    let blended = einsum!("vb,bij,vj->vi", hand.weights, skin, hand.base);
    let mirrored = map(|p| [hand.mirror * p[0], p[1], p[2]], blended);
    matmul(mirrored, transpose(rotation(theta[0..3]))) + theta[3..6]
}

/// The errors of points that belong to vertices.
#[kernel(jacobian)]
fn simple(
    theta: [f64; 26],
    #[no_grad] hand: &Hand,
    #[no_grad] at: [i64; n],
    #[no_grad] points: [[f64; 3]; n],
) -> [[f64; 3]; n] {
    points - gather(vertices(theta, hand), at)
}

/// The errors of points that belong to triangles, of which `corner` has the vertices.
#[kernel]
fn complicated(
    theta: [f64; 26],
    us: [[f64; 2]; n],
    #[no_grad] hand: &Hand,
    #[no_grad] corner: [[i64; 3]; n],
    #[no_grad] points: [[f64; 3]; n],
) -> [[f64; 3]; n] {
    let at = vertices(theta, hand);
    build(n, |i| {
        let (u, v, c) = (us[i][0], us[i][1], corner[i]);
        points[i] - (u * at[c[0]] + v * at[c[1]] + (1.0 - u - v) * at[c[2]])
    })
}

/// The derivatives along each error's own `u`, and then along the pose.
#[kernel(value)]
fn complicated_jacobian(
    theta: [f64; 26],
    us: [[f64; 2]; n],
    hand: &Hand,
    corner: [[i64; 3]; n],
    points: [[f64; 3]; n],
) -> [[[f64; 28]; 3]; n] {
    let by_theta = jacobian(|theta| complicated(theta, us, hand, corner, points))(theta);
    let along = |k| {
        let tangent = build((n, 2), |_, j| if j == k { 1.0 } else { 0.0 });
        let (_, slope) = jvp(|us| complicated(theta, us, hand, corner, points))(us, tangent);
        slope
    };
    let (first, second) = (along(0), along(1));
    build((n, 3), |i, c| concat([first[i][c], second[i][c]], by_theta[i][c]))
}

/// The pose, the model, and the points with what they belong to: vertices, or triangles and places in them.
struct Question {
    theta: Array1<f64>,
    hand: Hand,
    points: Array2<f64>,
    belongs: Belongs,
}

enum Belongs {
    Vertices(Array1<i64>),
    Triangles(Array2<i64>, Array2<f64>),
}

/// As many bones as the angles of a pose are for.
const BONES: usize = 22;

/// That all numbers of a field are in a range.
fn inside<'a>(
    fields: &Fields,
    field: &str,
    numbers: impl IntoIterator<Item = &'a i64>,
    end: usize,
    expected: &'static str,
) -> Result<(), Error> {
    match numbers.into_iter().find(|i| !usize::try_from(**i).is_ok_and(|i| i < end)) {
        Some(wrong) => Err(fields.wrong(field, wrong, expected)),
        None => Ok(()),
    }
}

impl Question {
    fn read(input: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(input)?;
        let theta = fields.vector_of("theta", 26)?;
        let us: Array2<f64> = fields.matrix("us")?;
        let mut data = fields.inner("data")?;
        let mut model = data.inner("model")?;
        let base: Array2<f64> = model.matrix("base_positions")?;
        let corners = base.nrows();
        let base = model.matrix_of_shape("base_positions", base, (corners, 4))?;
        let parents: Vec<i64> = model.take("parents")?;
        model.same("parents", parents.len(), BONES)?;
        for (i, parent) in parents.iter().enumerate() {
            if !(-1..i as i64).contains(parent) {
                return Err(model.wrong(
                    &format!("parents[{i}]"),
                    parent,
                    "-1 or the number of an earlier bone",
                ));
            }
        }
        let mirrored: bool = model.take("is_mirrored")?;
        let hand = Hand {
            parents: parents.into(),
            relatives: model.matrices_of("base_relatives", (BONES, 4, 4))?,
            inverses: model.matrices_of("inverse_base_absolutes", (BONES, 4, 4))?,
            base,
            weights: model.matrix_of("weights", (corners, BONES))?,
            mirror: if mirrored { -1.0 } else { 1.0 },
        };
        let at: Vec<i64> = data.take("correspondences")?;
        let points = data.matrix_of("points", (at.len(), 3))?;
        let belongs = if us.is_empty() {
            inside(&data, "correspondences", &at, corners, "the number of a vertex")?;
            Belongs::Vertices(at.into())
        } else {
            let triangles: Array2<i64> = model.matrix("triangles")?;
            let count = triangles.nrows();
            let triangles = model.matrix_of_shape("triangles", triangles, (count, 3))?;
            inside(&model, "triangles", &triangles, corners, "the number of a vertex")?;
            inside(&data, "correspondences", &at, count, "the number of a triangle")?;
            let us = fields.matrix_of_shape("us", us, (at.len(), 2))?;
            let corner = Array2::from_shape_fn((at.len(), 3), |(i, j)| triangles[[at[i] as usize, j]]);
            Belongs::Triangles(corner, us)
        };
        Ok(Self { theta, hand, points, belongs })
    }
}

/// All errors in a row.
fn flat(errors: &Array2<f64>) -> Value {
    errors.flatten().into_owned().json()
}

/// A row for each error.
fn rows(jacobian: &Array3<f64>) -> Value {
    jacobian.outer_iter().flat_map(|m| m.to_owned().json().as_array().cloned()).flatten().collect()
}

/// `objective` or `jacobian`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let Question { theta, hand, points, belongs } = Question::read(input)?;
    match (function, belongs) {
        ("objective", Belongs::Vertices(at)) => {
            Ok(Task::new(move || Cpu.run(simple, (&theta, &hand, &at, &points)).map(|e| As(e, flat))))
        }
        ("objective", Belongs::Triangles(corner, us)) => Ok(Task::new(move || {
            Cpu.run(complicated, (&theta, &us, &hand, &corner, &points)).map(|e| As(e, flat))
        })),
        ("jacobian", Belongs::Vertices(at)) => Ok(Task::new(move || {
            Cpu.run(jacobian(simple), (&theta, &hand, &at, &points)).map(|j| As(j, rows))
        })),
        ("jacobian", Belongs::Triangles(corner, us)) => Ok(Task::new(move || {
            Cpu.run(complicated_jacobian, (&theta, &us, &hand, &corner, &points)).map(|j| As(j, rows))
        })),
        _ => Err(unknown("ht", function)),
    }
}

#[cfg(test)]
mod tests;
