//! Clustering: the squared distance of every point to the nearest centroid, and Newton's direction for the centroids.
//!
//! ```text
//! f(C) = sum_i min_j |P_i - C_j|^2,    dir = J / H,    J = gradient of f,    H = diagonal of its Hessian
//! ```
//!
//! The Hessian has nothing beside its diagonal, which is hence its product with ones.

use array_dsl::prelude::*;
use ndarray::Array2;
use serde_json::Value;

use crate::{Error, Task, input::Fields, task::unknown};

#[kernel]
fn cost(#[no_grad] points: [[f64; d]; n], centroids: [[f64; d]; k]) -> f64 {
    let nearest = build(n, |i| {
        minimum(build(k, |j| {
            let between = points[i] - centroids[j];
            dot(between, between)
        }))
    });
    nearest.sum()
}

#[kernel(value)]
fn dir(points: [[f64; d]; n], centroids: [[f64; d]; k]) -> [[f64; d]; k] {
    let (slope, curvature) = jvp(|c| grad(cost)(points, c))(centroids, ones((k, d)));
    slope / curvature
}

/// `cost` or `dir`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let mut fields = Fields::of(input)?;
    let (points, centroids): (Array2<f64>, Array2<f64>) =
        (fields.matrix("points")?, fields.matrix("centroids")?);
    if points.nrows() > 0 {
        fields.same("centroids[0]", centroids.ncols(), points.ncols())?;
    }
    match function {
        "cost" => Ok(Task::new(move || Cpu.run(cost, (&points, &centroids)))),
        "dir" => Ok(Task::new(move || Cpu.run(dir, (&points, &centroids)))),
        _ => Err(unknown("kmeans", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The direction leads from the mean of the nearest points to the centroid.
    #[test]
    fn direction_leads_from_means() -> Result<(), array_dsl::Error> {
        let points = Array2::from_shape_fn((40, 3), |(i, j)| ((i * 3 + j) as f64 * 1.3).sin());
        let centroids = points.slice(ndarray::s![..4, ..]).to_owned() + 0.01;
        let check = check_grad(cost, (&points, &centroids))?;
        assert!(check.agrees(1e-8), "{check}");
        let mut sums = Array2::<f64>::zeros((4, 3));
        let mut counts = [0.0; 4];
        for point in points.rows() {
            let distance = |j: &usize| (&point - &centroids.row(*j)).mapv(|x| x * x).sum();
            let nearest = (0..4).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
            counts[nearest] += 1.0;
            sums.row_mut(nearest).scaled_add(1.0, &point);
        }
        let found = Cpu.run(dir, (&points, &centroids))?;
        for ((j, k), x) in found.indexed_iter() {
            assert!((x - (centroids[[j, k]] - sums[[j, k]] / counts[j])).abs() < 1e-13);
        }
        Ok(())
    }
}
