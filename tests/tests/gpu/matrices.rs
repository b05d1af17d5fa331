//! Jacobians and Hessians, of which so many directions are taken at a time.

use array_dsl::prelude::*;
use array_dsl::{Coloring, Sparsity, directions_at_once};
use ndarray::Array1;

use super::agreement::{TOLERANCE, agree, is_skipped, noise, own_gpu};

#[kernel(jacobian)]
fn coupled(x: [[f32; m]; n], w: [f32; m]) -> [[f32; m]; n] {
    let y = x * w;
    build((n, m), |i, j| y[i][j] * y[n - 1 - i][(j + 1) % m].sin())
}

#[kernel(jacobian)]
fn lengths(x: [[f32; m]; n]) -> [f32; n] {
    map(|row| (row * row).sum().sqrt(), x)
}

#[kernel(hessian)]
fn chain(x: [f32; n], w: f32) -> f32 {
    let mut y = x;
    for _t in 0..3 {
        y = build(n, |i| (w * y[i] + y[(i + 1) % n]).sin());
    }
    (y * y).sum()
}

#[kernel]
fn differences(x: [f32; n]) -> [f32; n - 1] {
    build(n - 1, |i| (x[i + 1] - x[i]).powi(2))
}

#[test]
fn strips_of_any_width_give_the_same() {
    for count in [1, 4, 5, 100] {
        directions_at_once(count, || {
            for (n, m) in [(3, 4), (1, 1), (0, 2)] {
                agree(jacobian(coupled), (noise((n, m), 1), noise(m, 2)), TOLERANCE);
                agree(jacobian(lengths), (noise((n, m), 3),), TOLERANCE);
            }
            agree(hessian(chain), (noise(11, 4), 0.8f32), TOLERANCE);
        });
    }
}

// The products of a coloring may be computed anywhere.
#[test]
fn products_with_the_seeds_of_a_coloring_give_a_sparse_jacobian() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = noise(40, 5);
    let coloring = Coloring::columns(&Sparsity::banded(39, 40, 0, 1));
    assert_eq!(coloring.colors(), 2);
    let on_gpu = gpu.upload(&x).expect("it fits");
    let products = (0..coloring.colors()).map(|c| {
        let seed: Array1<f32> = coloring.seed(c).iter().map(|s| *s as f32).collect();
        let seed = gpu.upload(&seed).expect("it fits");
        let (_, product) = gpu.run(jvp(differences), (&on_gpu, &seed)).expect("it runs");
        product.download().expect("it ran").iter().map(|v| f64::from(*v)).collect()
    });
    let sparse = coloring.recover(products).expect("products of the right length");
    assert_eq!([sparse.rows.len(), sparse.columns.len(), sparse.values.len()], [2 * 39; 3]);
    for ((i, j), value) in sparse.rows.iter().zip(&sparse.columns).zip(&sparse.values) {
        let slope = 2.0 * (x[i + 1] - x[*i]);
        let expected = if i == j { -slope } else { slope };
        assert!((value - f64::from(expected)).abs() < 1e-5, "({i}, {j}): {value}");
    }
}
