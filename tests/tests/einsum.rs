//! `einsum!` on the host.

use array_dsl::prelude::*;
use ndarray::{Array2, Array3, array};

#[kernel]
fn product(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] {
    einsum!("ij,jk->ik", a, b)
}

#[kernel]
fn batched(a: [[[f32; k]; n]; s], b: [[[f32; k]; m]; s]) -> [[[f32; m]; n]; s] {
    einsum!("bij,bkj->bik", a, b)
}

#[kernel]
fn form(x: [f64; n], a: [[f64; m]; n], y: [f64; m]) -> f64 {
    einsum!("i,ij,j->", x, a, y)
}

/// The volume of the parallelepiped that the rows span, by the sign of each permutation.
#[kernel]
fn determinant(#[no_grad] sign: [[[f64; 3]; 3]; 3], a: [[f64; 3]; 3]) -> f64 {
    einsum!("ijk,i,j,k->", sign, a[0], a[1], a[2])
}

#[kernel]
fn diagonals(a: [[f64; n]; n]) -> ([f64; n], f64, [[f64; n]; n]) {
    (einsum!("ii->i", a), einsum!("ii", a), einsum!("ji", a))
}

#[kernel]
fn attention(q: [[[f64; d]; n]; h], k: [[[f64; d]; n]; h], v: [[[f64; d]; n]; h]) -> [[[f64; d]; h]; n] {
    let scores = einsum!("hid,hjd->hij", q, k) / (d as f64).sqrt();
    einsum!("hij,hjd->ihd", softmax(scores), v)
}

fn noise3(shape: (usize, usize, usize), by: f64) -> Array3<f64> {
    Array3::from_shape_fn(shape, |(i, j, k)| (by * (1 + i + 7 * j + 31 * k) as f64).sin())
}

#[test]
fn products() {
    for (n, k, m) in [(0, 2, 3), (2, 0, 3), (5, 7, 3), (64, 100, 33)] {
        let a = Array2::from_shape_fn((n, k), |(i, j)| (i * 3 + j) as f64 % 7.0 - 3.0);
        let b = Array2::from_shape_fn((k, m), |(i, j)| (i * 5 + j) as f64 % 11.0 - 5.0);
        assert_eq!(product(&a, &b), a.dot(&b));
    }
    let (a, b) = (noise3((3, 4, 5), 0.7).mapv(|x| x as f32), noise3((3, 6, 5), 0.3).mapv(|x| x as f32));
    let found = batched(&a, &b);
    assert_eq!(found.dim(), (3, 4, 6));
    for (i, c) in found.outer_iter().enumerate() {
        let expected = a.index_axis(ndarray::Axis(0), i).dot(&b.index_axis(ndarray::Axis(0), i).t());
        assert!(c.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-5), "{c} {expected}");
    }
}

#[test]
fn several_operands() {
    let (x, a, y) = (array![1.0, 2.0], array![[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]], array![9.0, 10.0, 11.0]);
    assert_eq!(form(&x, &a, &y), x.dot(&a.dot(&y)));
    let (value, (dx, da, dy)) = value_and_grad(form)(&x, &a, &y);
    assert_eq!((value, dx, dy), (x.dot(&a.dot(&y)), a.dot(&y), x.dot(&a)));
    assert_eq!(da, Array2::from_shape_fn((2, 3), |(i, j)| x[i] * y[j]));
    let sign = Array3::from_shape_fn((3, 3, 3), |(i, j, k)| {
        let (i, j, k) = (i as f64, j as f64, k as f64);
        (i - j) * (j - k) * (k - i) / 2.0
    });
    let m = array![[2.0, 0.0, 1.0], [1.0, 3.0, 0.0], [0.0, 1.0, 4.0]];
    assert_eq!(determinant(&sign, &m), 25.0);
    // The cofactors.
    let cofactors = array![[12.0, -4.0, 1.0], [1.0, 8.0, -2.0], [-3.0, 1.0, 6.0]];
    assert_eq!(grad(determinant)(&sign, &m), cofactors);
}

#[test]
fn diagonals_and_implicit_results() {
    let a = array![[1.0, 2.0], [3.0, 4.0]];
    assert_eq!(diagonals(&a), (array![1.0, 4.0], 5.0, a.t().to_owned()));
    let wrong = Cpu.run(form, (&array![1.0], &array![[1.0, 2.0]], &array![1.0])).expect_err("sizes differ");
    assert!(wrong.to_string().contains("expected m = 2"), "{wrong}");
}

#[test]
fn gradients() {
    let at = |by| noise3((2, 4, 3), by);
    let check = check_grad(attention, (&at(0.3), &at(0.7), &at(1.1))).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}
