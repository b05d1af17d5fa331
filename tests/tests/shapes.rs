//! The shapes of results, without running.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

#[kernel(jacobian)]
fn blocks(
    a: [[f64; m]; n],
    #[no_grad] count: usize,
    x: [f64; n * m],
) -> ([[f64; n]; m], [f64; count + n], f64) {
    (transpose(a), build(count + n, |i| i as f64), a.flatten().sum() + x.sum())
}

#[kernel]
fn kept(x: [f64; n]) -> ([f64; _], [[f64; n]; 2], i64) {
    let (yes, _no) = partition(|v| v > 0.0, x);
    (yes, [x, x], yes.len() as i64)
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Layer {
    #[shape(inputs, outputs)]
    w: Array2<f64>,
    steps: i64,
    b: Array1<f64>,
}

#[kernel]
fn forward(layer: &Layer, x: [f64; inputs]) -> f64 {
    sum(matvec(transpose(layer.w), x)) + sum(layer.b)
}

#[test]
fn shapes_of_values_and_derivatives() {
    let (a, x) = (Array2::ones((2, 3)), Array1::ones(6));
    let known = |dims: &[usize]| dims.iter().copied().map(Some).collect::<Vec<_>>();
    assert_eq!(blocks.shape((&a, 5, &x)).unwrap(), [known(&[3, 2]), known(&[7]), vec![]]);
    let (da, dc) = (Array2::ones((3, 2)), Array1::ones(7));
    assert_eq!(
        vjp(blocks).shape((&a, 5, &x, &da, &dc, 1.0)).unwrap(),
        [known(&[3, 2]), known(&[7]), vec![], known(&[2, 3]), known(&[6])]
    );
    let shapes = jacobian(blocks).shape((&a, 5, &x)).unwrap();
    assert_eq!(shapes[0], known(&[3, 2, 2, 3]));
    assert_eq!(kept.shape((&array![1.0, -2.0],)).unwrap(), [vec![None], known(&[2, 2]), vec![]]);
    // A record's fields in order, those without a derivative as well.
    let layer = Layer { w: Array2::ones((2, 3)), steps: 4, b: Array1::ones(5) };
    let (x, wrong) = (Array1::ones(2), Array1::ones(3));
    assert_eq!(
        grad(forward).shape((&layer, &x)).unwrap(),
        [known(&[2, 3]), vec![], known(&[5]), known(&[2])]
    );
    let error = forward.shape((&layer, &wrong)).unwrap_err().to_string();
    assert!(error.contains("inputs"), "{error}");
}

#[test]
fn what_is_said_is_what_comes() {
    let (a, x) = (Array2::from_shape_fn((2, 3), |(i, j)| (i + j) as f64), Array1::ones(6));
    let (t, counted, _) = blocks(&a, 5, &x);
    let shapes = blocks.shape((&a, 5, &x)).unwrap();
    let found = [t.shape(), counted.shape()].map(|s| s.iter().copied().map(Some).collect::<Vec<_>>());
    assert_eq!(shapes[..2], found);
    // Records take the memory of records.
    let mut layer = Layer { w: Array2::ones((2, 3)), steps: 4, b: Array1::ones(5) };
    let mut gradient = grad(forward)(&layer, &Array1::ones(2));
    layer.w *= 2.0;
    let at = gradient.0.w.as_ptr();
    grad(forward).call_into((&layer, &array![1.0, 2.0]), &mut gradient).unwrap();
    assert_eq!(gradient, grad(forward)(&layer, &array![1.0, 2.0]));
    assert_eq!(gradient.0.w.as_ptr(), at);
}
