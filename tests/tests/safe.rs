//! Kernels in crates without unsafe code, and what safe code can do with the runtime: nothing that goes wrong.

#![forbid(unsafe_code)]

use array_dsl::__rt::contract::contract;
use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

#[kernel]
fn stencil(x: [f64; n]) -> [f64; n] {
    build(n, |i| if i > 0 { x[i] - x[i - 1] } else { x[i] })
}

#[kernel]
fn products(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] {
    matmul(a, b)
}

#[kernel]
fn means(x: [[f64; m]; n]) -> [f64; m] {
    sum(transpose(x)) / (n as f64)
}

#[kernel]
fn counts(at: [i64; n]) -> [i64; 4] {
    hist(add, 0, 4, at, replicate(n, 1))
}

#[kernel]
fn shifted(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    for i in 1..n {
        y[i] = y[i - 1] + x[i];
    }
    sort(y)
}

macro_rules! doubled {
    ($name:ident) => {
        #[kernel]
        fn $name(x: [f64; n]) -> [f64; n] {
            2.0 * x
        }
    };
}

doubled!(doubled);

#[test]
fn kernels_need_no_leave_for_unsafe_code() {
    let x = Array1::from_shape_fn(1000, |i| (i * i) as f64);
    assert!(stencil(&x).iter().skip(1).enumerate().all(|(i, d)| *d == (2 * i + 1) as f64));
    assert_eq!(grad_of_stencil(&x), 1.0);
    let eye = Array2::<f64>::eye(30);
    assert_eq!(products(&eye, &eye), eye);
    assert_eq!(means(&array![[1.0, 2.0], [3.0, 5.0]]), array![2.0, 3.5]);
    assert_eq!(counts(&array![0, 3, 3, 9, -1]), array![1, 0, 0, 2]);
    assert_eq!(shifted(&array![1.0, -3.0, 5.0]), array![-2.0, 1.0, 3.0]);
    assert_eq!(doubled(&array![4.0]), array![8.0]);
}

fn grad_of_stencil(x: &Array1<f64>) -> f64 {
    let (_, by_x) = vjp(stencil)(x, &Array1::ones(x.len()));
    by_x[x.len() - 1]
}

/// Extents whose products wrap to the lengths: (2^62 + 1) * 4 = 4 modulo 2^64.
#[test]
#[should_panic(expected = "the result's length")]
fn contractions_check_their_extents() {
    let (mut out, a, b) = (vec![0.0f64; 4], vec![1.0; 4], vec![1.0; 16]);
    contract(&mut out, &a, &b, &[(1 << 62) + 1, 4, 4], &[0, 1], &[0, 2], &[2, 1]);
}
