//! Each row with each column, of values that no product makes: tiles by workgroups where rows and columns are many, threads for each
//! result else. And pairs in space, whose distances nobody stores.

use array_dsl::prelude::*;
use ndarray::{Array2, Array3};

use super::agreement::{TOLERANCE, agree, is_skipped, noise, own_gpu};

/// Rows, columns and what is between them: at the borders of tiles, with too few rows, columns or inner points for them, and none.
const SIZES: [(usize, usize, usize); 10] = [
    (0, 40, 20),
    (300, 0, 20),
    (2100, 100, 0),
    (2100, 100, 8),
    (2048, 128, 16),
    (2049, 129, 17),
    (8200, 25, 33),
    (8200, 3, 33),
    (1000, 40, 5),
    (130, 2050, 16),
];

#[kernel]
fn distances(x: [[f32; d]; n], y: [[f32; d]; k]) -> [[f32; k]; n] {
    build((n, k), |i, j| sum(map(|a, b| (a - b) * (a - b), x[i], y[j])))
}

/// The nearest, of which the gradient reads one.
#[kernel]
fn clusters(#[no_grad] points: [[f32; d]; n], centroids: [[f32; d]; k]) -> f32 {
    sum(build(n, |i| {
        minimum(build(k + 1, |j| {
            let c = if j < k { j } else { 0 };
            let between = points[i] - if k > 0 { centroids[c] } else { zeros(d) };
            dot(between, between)
        }))
    })) / (n as f32 + 1.0)
}

/// Three operands, some of a side alone; the result goes through more before it is stored.
#[kernel]
fn scaled(x: [[f32; d]; n], mu: [[f32; d]; k], q: [[f32; d]; k], w: [f32; n], a: [f32; k]) -> [[f32; k]; n] {
    let scale = map(exp, q);
    build((n, k), |i, c| {
        let u = (x[i] - mu[c]) * scale[c] * w[i];
        a[c] - 0.5 * dot(u, u)
    })
}

/// Two folds by other operators, of an operand that is transposed and of what belongs to inner points alone.
#[kernel]
fn nearest_and_sum(x: [[f32; n]; d], y: [[f32; d]; k], w: [f32; d]) -> ([[f32; k]; n], [[f32; k]; n]) {
    let near = build((n, k), |i, j| minimum(concat(build(d, |c| w[c] * (x[c][i] - y[j][c]).abs()), [3.0])));
    let sums = build((n, k), |i, j| sum(build(d, |c| max(x[c][i], y[j][c] + w[c]))));
    (near, sums)
}

#[kernel]
fn in_batches(x: [[[f32; d]; n]; s], y: [[[f32; d]; k]; s]) -> [[[f32; k]; n]; s] {
    map(|x, y| build((n, k), |i, j| sum(map(|a, b| if a < b { a } else { a * b }, x[i], y[j]))), x, y)
}

/// The pullback adds up over rows what belongs to a row with a column, and to a row with an inner point.
#[test]
fn each_row_with_each_column() {
    for (n, k, d) in SIZES {
        let (x, y): (Array2<f32>, Array2<f32>) = (noise((n, d), 1), noise((k, d), 2));
        agree(distances, (x.clone(), y.clone()), 1e-4);
        agree(vjp(distances), (x.clone(), y.clone(), noise((n, k), 3)), 1e-3);
        agree(value_and_grad(clusters), (x.clone(), y.clone()), 1e-3);
        let (q, w, a) = (noise((k, d), 4), noise(n, 5), noise(k, 6));
        agree(scaled, (x.clone(), y.clone(), q.clone(), w.clone(), a.clone()), 1e-4);
        agree(vjp(scaled), (x.clone(), y.clone(), q, w, a, noise((n, k), 7)), 1e-3);
        let across = x.t().as_standard_layout().into_owned();
        agree(nearest_and_sum, (across, y, noise(d, 8)), 1e-4);
    }
    for (s, n, k, d) in [(3, 1000, 40, 12), (70, 100, 30, 9), (2, 5, 6, 7)] {
        let (x, y): (Array3<f32>, Array3<f32>) = (noise((s, n, d), 1), noise((s, k, d), 2));
        agree(in_batches, (x.clone(), y.clone()), 1e-4);
        agree(vjp(in_batches), (x, y, noise((s, n, k), 3)), 1e-3);
    }
}

/// Who does what depends on sizes, which results do not tell.
#[test]
fn tiles_are_taken_where_they_are_many() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let taken = |n: usize, k: usize, d: usize| {
        let (x, y) = (gpu.upload(&noise((n, d), 1)).unwrap(), gpu.upload(&noise((k, d), 2)).unwrap());
        let Ok((result, profile)) = gpu.profile(|| gpu.run(distances, (&x, &y))) else { return None };
        result.unwrap();
        Some(profile.events.iter().any(|e| e.step.ends_with(", tiles")))
    };
    // A device without timestamps does not say.
    if taken(1, 1, 1).is_some() {
        assert_eq!(
            [taken(8200, 100, 16), taken(8200, 3, 16), taken(200, 100, 16)],
            [true, false, false].map(Some)
        );
    }
}

#[kernel(value, grad, hvp)]
fn energy(x: [[f32; 3]; n], m: [f32; n]) -> f32 {
    let pairs = build((n, n), |i, j| {
        let between = x[i] - x[j];
        -m[i] * m[j] / (dot(between, between) + 0.01).sqrt()
    });
    0.5 * sum(pairs.flatten()) / (n as f32 + 1.0)
}

/// All points with all others need the memory of the points alone.
#[test]
fn pairs_are_not_stored() {
    for n in [0, 1, 100, 257] {
        let (x, m): (Array2<f32>, _) = (noise((n, 3), 1), noise(n, 2));
        agree(energy, (x.clone(), m.clone()), 1e-4);
        agree(grad(energy), (x.clone(), m.clone()), 1e-3);
        agree(hvp(energy), (x, m, noise((n, 3), 3), noise(n, 4)), 1e-2);
    }
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let n = 2000;
    let (x, m) = (gpu.upload(&noise((n, 3), 1)).unwrap(), gpu.upload(&noise(n, 2)).unwrap());
    gpu.run(grad(energy), (&x, &m)).unwrap();
    gpu.synchronize().unwrap();
    let bytes = gpu.statistics().bytes_allocated;
    assert!(bytes < 4 * (n * n) as u64, "{bytes} bytes for {n} points");
}

/// The exponentials of a softmax are computed again: one array is read and one is written.
#[kernel]
fn softmax_rows(z: [[f32; m]; n]) -> [[f32; m]; n] {
    map(softmax, z / (m as f32 + 1.0).sqrt())
}

#[test]
fn what_is_far_is_computed_again() {
    for (n, m) in [(0, 3), (3, 0), (40, 33), (200, 3000), (33_000, 9)] {
        let z: Array2<f32> = noise((n, m), 1);
        agree(softmax_rows, (z.clone(),), TOLERANCE);
        agree(vjp(softmax_rows), (z, noise((n, m), 2)), TOLERANCE);
    }
}
