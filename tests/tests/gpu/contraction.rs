//! Sums of products: matrices and vectors, transposed and in batches, from empty ones to several tiles.

use array_dsl::prelude::*;

use super::agreement::{LENGTHS, SHAPES, agree, integers, noise};

/// Rows, summed, columns.
const SIZES: [(usize, usize, usize); 12] = [
    (0, 3, 4),
    (3, 0, 4),
    (3, 4, 0),
    (1, 1, 1),
    (7, 5, 3),
    (64, 64, 64),
    (65, 130, 7),
    (1, 300, 129),
    (130, 17, 66),
    (300, 20, 32),
    (129, 40, 17),
    (31, 70, 260),
];

#[kernel]
fn product(a: [[f32; k]; n], b: [[f32; m]; k]) -> [[f32; m]; n] {
    matmul(a, b)
}

#[kernel]
fn of_transposed(a: [[f32; n]; k], b: [[f32; k]; m]) -> [[f32; m]; n] {
    matmul(transpose(a), transpose(b))
}

#[kernel]
fn in_batches(a: [[[f32; k]; n]; s], b: [[[f32; m]; k]; s]) -> [[[f32; m]; n]; s] {
    map(|x, y| matmul(x, y), a, b)
}

#[kernel]
fn gram(a: [[f32; m]; n]) -> [[f32; n]; n] {
    matmul(a, transpose(a))
}

#[kernel]
fn quadratic(a: [[f32; n]; n], x: [f32; n]) -> f32 {
    dot(x, matvec(a, x))
}

#[test]
fn products_of_matrices() {
    for (n, k, m) in SIZES {
        let (a, b, seed) = (noise((n, k), 1), noise((k, m), 2), noise((n, m), 3));
        agree(product, (a.clone(), b.clone()), 1e-4);
        agree(vjp(product), (a.clone(), b.clone(), seed.clone()), 1e-4);
        agree(jvp(product), (a.clone(), b.clone(), noise((n, k), 4), noise((k, m), 5)), 1e-4);
        let (at, bt) = (noise((k, n), 6), noise((m, k), 7));
        agree(of_transposed, (at.clone(), bt.clone()), 1e-4);
        agree(vjp(of_transposed), (at, bt, seed), 1e-4);
    }
    agree(product, (noise((257, 300), 1), noise((300, 258), 2)), 1e-4);
}

#[test]
fn batches_of_products() {
    for (s, (n, k, m)) in [(3, (5, 4, 6)), (2, (65, 33, 40)), (0, (2, 2, 2)), (4, (1, 70, 1))] {
        let (a, b) = (noise((s, n, k), 1), noise((s, k, m), 2));
        agree(in_batches, (a.clone(), b.clone()), 1e-4);
        agree(vjp(in_batches), (a, b, noise((s, n, m), 3)), 1e-4);
    }
}

#[test]
fn products_with_themselves() {
    for (n, m) in SHAPES {
        let a = noise((n, m), 1);
        agree(gram, (a.clone(),), 1e-4);
        agree(vjp(gram), (a, noise((n, n), 2)), 1e-4);
    }
    for n in [0, 1, 64, 257] {
        let (a, x) = (noise((n, n), 3), noise(n, 4));
        agree(value_and_grad(quadratic), (a.clone(), x.clone()), 1e-4);
        agree(jvp(quadratic), (a.clone(), x.clone(), a, x), 1e-4);
    }
}

#[kernel]
fn applied(a: [[f32; m]; n], x: [f32; m]) -> [f32; n] {
    matvec(a, x)
}

#[kernel]
fn crossed(x: [f32; n], y: [f32; m]) -> [[f32; m]; n] {
    outer(x, y)
}

#[kernel]
fn inner(x: [f32; n], y: [f32; n]) -> f32 {
    dot(x, y)
}

#[test]
fn matrices_and_vectors() {
    for (n, m) in SHAPES.into_iter().chain([(3, 100_000), (100_000, 3)]) {
        let (a, x, y) = (noise((n, m), 1), noise(m, 2), noise(n, 3));
        agree(applied, (a.clone(), x.clone()), 1e-4);
        agree(vjp(applied), (a.clone(), x.clone(), y.clone()), 1e-4);
        agree(crossed, (y.clone(), x.clone()), 1e-6);
        agree(vjp(crossed), (y, x, a), 1e-4);
    }
    for n in LENGTHS.into_iter().chain([100_000]) {
        agree(value_and_grad(inner), (noise(n, 4), noise(n, 5)), 1e-4);
    }
}

// Contractions that are no products of two matrices.

#[kernel]
fn over_two_axes(a: [[[f32; k]; m]; n], b: [[[f32; k]; m]; p]) -> [[f32; p]; n] {
    build((n, p), |i, j| sum(flatten(a[i] * b[j])))
}

#[kernel]
fn with_spread_axes(a: [[[f32; m]; k]; n], b: [[f32; p]; k]) -> [[[f32; p]; m]; n] {
    build((n, m, p), |i, j, q| sum(build(k, |r| a[[i, r, j]] * b[[r, q]])))
}

#[kernel]
fn of_integers(a: [[i32; k]; n], b: [[i32; m]; k]) -> [[i32; m]; n] {
    matmul(a, b)
}

#[kernel]
fn bilinear(x: [f32; n], a: [[f32; m]; n], y: [f32; m]) -> f32 {
    einsum!("i,ij,j->", x, a, y)
}

#[kernel]
fn weighted(a: [[[f32; n]; k]; s], w: [f32; k], b: [[f32; k]; m]) -> [[[f32; m]; n]; s] {
    einsum!("bki,k,jk->bij", a, w, b)
}

#[kernel]
fn traces(a: [[[i32; n]; n]; m]) -> [i32; m] {
    einsum!("bii->b", a)
}

#[test]
fn sums_by_subscripts() {
    for (n, m) in [(0, 3), (1, 1), (65, 130)] {
        let args = (noise(n, 1), noise((n, m), 2), noise(m, 3));
        agree(bilinear, args.clone(), 1e-4);
        agree(value_and_grad(bilinear), args, 1e-4);
    }
    for (s, k, n, m) in [(2, 33, 40, 17), (1, 0, 2, 3), (3, 1, 1, 1)] {
        let args = (noise((s, k, n), 4), noise(k, 5), noise((m, k), 6));
        agree(weighted, args.clone(), 1e-4);
        agree(vjp(weighted), (args.0, args.1, args.2, noise((s, n, m), 7)), 1e-4);
    }
    agree(traces, (integers((5, 9, 9), 100, 8),), 0.0);
}

#[test]
fn other_contractions() {
    let (a, b) = (noise((9, 5, 8), 1), noise((7, 5, 8), 2));
    agree(over_two_axes, (a.clone(), b.clone()), 1e-4);
    agree(vjp(over_two_axes), (a, b, noise((9, 7), 3)), 1e-4);
    let (a, b) = (noise((4, 33, 17), 4), noise((33, 20), 5));
    agree(with_spread_axes, (a.clone(), b.clone()), 1e-4);
    agree(vjp(with_spread_axes), (a, b, noise((4, 17, 20), 6)), 1e-4);
    agree(of_integers, (integers((33, 70), 100, 1), integers((70, 20), 100, 2)), 0.0);
}
