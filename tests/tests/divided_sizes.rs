//! Sizes that no dimension is alone: what is left is told by division.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

#[kernel(vmap)]
fn halves(x: [f64; 2 * h]) -> ([f64; h], [f64; h]) {
    (x[..h], x[h..])
}

#[kernel(jacobian)]
fn slopes(x: [f64; n + 1]) -> [f64; n] {
    build(n, |i| x[i + 1] - x[i])
}

#[kernel]
fn corners(x: [[f64; 4 * b]; 2 * l]) -> [[f64; b]; l] {
    build((l, b), |i, j| x[2 * i][4 * j] + 10.0 * x[2 * i + 1][4 * j + 3])
}

#[kernel]
fn split(x: [f64; n + m], y: [f64; 3 * m - 1], k: usize, z: [f64; k - j]) -> ([f64; n], [f64; m], [f64; j]) {
    (x[..n], x[n..], y[..j] + sum(z))
}

/// Its callers' sizes are halved when it is called.
#[kernel]
fn folded_in_half(x: [f64; n]) -> f64 {
    let (a, b) = halves(x);
    let (c, d) = halves(concat(x, 2.0 * x));
    dot(a, b) + c.sum() + slopes(d).sum()
}

#[kernel]
fn rows_folded(x: [[f64; m]; n], steps: usize) -> [f64; n] {
    build(n, |i| {
        let mut s = 0.0;
        for _ in 0..steps {
            let (a, b) = halves(x[i]);
            s += dot(a, b);
        }
        s
    })
}

#[kernel(vjp = halves_rule)]
fn first_half(x: [f64; 2 * h]) -> [f64; h] {
    x[..h]
}

#[kernel]
fn halves_rule(x: [f64; 2 * l], ct: [f64; l]) -> [f64; 2 * l] {
    concat(ct, 0.0 * x[l..])
}

#[kernel]
fn first_quarter(x: [f64; n]) -> f64 {
    let y = first_half(x);
    sum(first_half(y * y))
}

fn start<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let text = result.unwrap_err().to_string();
    text.split(" (").next().unwrap_or("").to_string()
}

#[test]
fn sizes_are_told_by_division() {
    let x = array![1.0, 2.0, 4.0, 7.0];
    assert_eq!(halves(&x), (array![1.0, 2.0], array![4.0, 7.0]));
    assert_eq!(slopes(&x), array![1.0, 2.0, 3.0]);
    assert_eq!(slopes(&array![5.0]).len(), 0);
    assert_eq!(halves.shape((&x,)).unwrap(), [[Some(2)], [Some(2)]]);
    let a = Array2::from_shape_fn((4, 8), |(i, j)| (10 * i + j) as f64);
    assert_eq!(corners(&a), array![[130.0, 174.0], [350.0, 394.0]]);
    let (p, q, r) = split(&array![1.0, 2.0, 3.0], &Array1::ones(5), 4, &array![1.0, 1.0]);
    assert_eq!((p, q, r), (array![1.0], array![2.0, 3.0], array![3.0, 3.0]));
    // Derivatives have the sizes of what they belong to.
    let (_, dx) = vjp(halves)(&x, &array![1.0, 2.0], &array![3.0, 4.0]);
    assert_eq!(dx, array![1.0, 2.0, 3.0, 4.0]);
    let ((_, b), (_, db)) = jvp(halves)(&x, &array![0.0, 0.0, 1.0, 2.0]);
    assert_eq!((b, db), (array![4.0, 7.0], array![1.0, 2.0]));
    assert_eq!(jacobian(slopes)(&array![1.0, 2.0, 4.0]), array![[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]);
    assert_eq!(vmap(halves)(&array![[1.0, 2.0], [3.0, 4.0]]), (array![[1.0], [3.0]], array![[2.0], [4.0]]));
}

#[test]
fn sizes_are_divided_where_a_kernel_is_called() {
    let x = array![1.0, 2.0, 4.0, 7.0];
    assert_eq!(folded_in_half(&x), 18.0 + 14.0 + 12.0);
    check_grad(folded_in_half, (&x,)).unwrap().assert();
    let text = start(Cpu.run(folded_in_half, (&array![1.0, 2.0, 3.0],)));
    assert_eq!(text, "kernel `folded_in_half`: sizes that must be equal differ: n = 3 and 2 * h = 2");
    let a = array![[1.0, 2.0, 4.0, 7.0], [1.0, 1.0, 1.0, 1.0]];
    assert_eq!(rows_folded(&a, 2), array![36.0, 4.0]);
    assert!(Cpu.run(rows_folded, (&array![[1.0], [2.0]], 1)).is_err());
    // A rule of the user's divides what its kernel does.
    assert_eq!(first_quarter(&x), 1.0);
    assert_eq!(grad(first_quarter)(&x), array![2.0, 0.0, 0.0, 0.0]);
}

#[test]
fn dimensions_of_no_size_are_errors() {
    let text = start(Cpu.run(halves, (&array![1.0, 2.0, 3.0],)));
    assert_eq!(text, "kernel `halves`: argument `x`, dimension 0: expected 2 * h for a size h, found 3");
    let text = start(Cpu.run(slopes, (&array![],)));
    assert_eq!(text, "kernel `slopes`: argument `x`, dimension 0: expected n + 1 for a size n, found 0");
    let text = start(Cpu.run(corners, (&Array2::zeros((2, 6)),)));
    assert_eq!(text, "kernel `corners`: argument `x`, dimension 1: expected 4 * b for a size b, found 6");
    let text = start(Cpu.run(grad(folded_in_half), (&array![1.0, 2.0, 3.0],)));
    assert!(text.contains("sizes that must be equal differ"), "{text}");
    let y = Array1::ones(5);
    let text = start(Cpu.run(split, (&array![1.0], &y, 4, &array![1.0])));
    assert_eq!(text, "kernel `split`: argument `x`, dimension 0: expected m + n for a size n, found 1");
    let text = start(split.shape((&array![1.0, 2.0], &y, 1, &array![1.0, 1.0])));
    assert_eq!(text, "kernel `split`: argument `z`, dimension 0: expected -j + k for a size j, found 2");
}
