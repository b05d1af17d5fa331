//! Linear algebra: single matrices, batches, and small matrices at every point, with gradients.

use array_dsl::linalg::{cholesky, eigh, expm, solve, svd};
use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array3};

use super::agreement::{agree, gradients_agree, is_skipped, noise};
use super::linalg_kernels::{f32s, regular, spd};

#[test]
fn functions_and_gradients() {
    if is_skipped() {
        return;
    }
    for n in [1, 2, 5, 9] {
        let (a, w): (Array2<f32>, Array1<f32>) = (noise((n, n), 3), noise(n, 4));
        gradients_agree!(
            (a, w), 5e-3,
            f32s: of_cholesky of_lu of_qr of_triangles of_solve of_solve_matrix of_inverse of_det of_slogdet of_lstsq of_values of_svd
                of_expm
        );
    }
}

#[kernel(value, vjp)]
fn batched(a: [[[f32; n]; n]; b], x: [[f32; n]; b]) -> ([[f32; n]; b], [[[f32; n]; n]; b], [[f32; n]; b]) {
    let m = map(|a| regular(a), a);
    let (values, _) = eigh(map(|a| spd(a), a));
    (solve(m, x), cholesky(map(|a| spd(a), a)), values)
}

#[kernel(value, value_and_grad)]
fn at_points(a: [[[f32; 3]; 3]; b], x: [[f32; 3]; b]) -> f32 {
    sum(build(b, |i| {
        let (_, s, _) = svd(regular(a[i]));
        dot(solve(regular(a[i]), x[i]), s) + sum(matvec(expm(a[i]), x[i]))
    }))
}

#[test]
fn batches_and_points() {
    if is_skipped() {
        return;
    }
    for b in [0, 1, 70] {
        let (a, x): (Array3<f32>, Array2<f32>) = (noise((b, 4, 4), 5), noise((b, 4), 6));
        agree(batched, (a, x), 1e-3);
        let (a, x): (Array3<f32>, Array2<f32>) = (noise((b, 3, 3), 7), noise((b, 3), 8));
        agree(value_and_grad(at_points), (a, x), 5e-3);
    }
}
