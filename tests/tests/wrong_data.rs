//! Data that is wrong or unusual: mismatching sizes, indices out of range, arrays that are not contiguous, NaN and
//! infinities, arrays of no and of one element.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, Axis, ShapeBuilder, array, s};

// Sizes that do not agree.

#[kernel]
fn paired(x: [f64; n], y: [f64; n]) -> f64 {
    dot(x, y)
}

#[kernel]
fn applied(w: [[f64; m]; n], b: [f64; n], x: [f64; m]) -> [f64; n] {
    matvec(w, x) + b
}

/// The message of the error that running a kernel gives.
#[track_caller]
fn message<T>(result: Result<T, array_dsl::Error>) -> String {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn sizes_that_differ() {
    let (three, four) = (array![1.0, 2.0, 3.0], array![1.0, 2.0, 3.0, 4.0]);
    let text = message(Cpu.run(paired, (&three, &four)));
    let expected = "kernel `paired`: argument `y`, dimension 0: expected n = 3 (from argument `x`), found 4";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("wrong_data.rs:"), "{text}");
    // Derivatives check the same, under the name of the kernel.
    let text = message(Cpu.run(grad(paired), (&three, &four)));
    assert!(text.contains("argument `y`, dimension 0: expected n = 3") && text.contains("paired"), "{text}");
}

#[test]
fn sizes_of_matrices_that_differ() {
    let (w, b, x) = (Array2::<f64>::zeros((2, 3)), Array1::<f64>::zeros(2), Array1::<f64>::zeros(3));
    assert_eq!(applied(&w, &b, &x), Array1::<f64>::zeros(2));
    let text = message(Cpu.run(applied, (&w, &x, &x)));
    assert!(
        text.contains("argument `b`, dimension 0: expected n = 2 (from argument `w`), found 3"),
        "{text}"
    );
    let text = message(Cpu.run(applied, (&w, &b, &b)));
    assert!(
        text.contains("argument `x`, dimension 0: expected m = 3 (from argument `w`), found 2"),
        "{text}"
    );
}

#[test]
fn cotangents_and_tangents_are_checked() {
    let (w, b, x) = (Array2::<f64>::zeros((2, 3)), Array1::<f64>::zeros(2), Array1::<f64>::zeros(3));
    let text = message(Cpu.run(vjp(applied), (&w, &b, &x, &x)));
    assert!(text.contains("applied") && text.contains("found 3"), "{text}");
    let text = message(Cpu.run(jvp(applied), (&w, &b, &x, &w, &b, &b)));
    assert!(text.contains("applied") && text.contains("found 2"), "{text}");
}

#[test]
#[should_panic(
    expected = "kernel `paired`: argument `y`, dimension 0: expected n = 3 (from argument `x`), found 4"
)]
fn a_call_panics_with_the_message() {
    let _ = paired(&array![1.0, 2.0, 3.0], &array![1.0, 2.0, 3.0, 4.0]);
}

// Indices out of range. The constants are the lines of the reads.

const READ_LINE: u32 = line!() + 4;

#[kernel]
fn element(xs: [f64; n], at: i64) -> f64 {
    xs[at]
}

const LOOKUP_LINE: u32 = line!() + 4;

#[kernel]
fn looked_up(table: [f64; n], at: [i64; k]) -> [f64; k] {
    map(|i| table[i] * 2.0, at)
}

const COLUMN_LINE: u32 = line!() + 4;

#[kernel]
fn column_of(a: [[f64; m]; n], j: i64) -> [f64; n] {
    build(n, |i| a[[i, j]])
}

#[kernel]
fn gathered(table: [f64; n], at: [i64; k]) -> [f64; k] {
    gather(table, at)
}

#[kernel]
fn rising(xs: [f64; n]) -> i64 {
    sum(build(n, |i| (i + 1 < n && xs[i + 1] > xs[i]) as i64))
}

#[track_caller]
fn assert_out_of_range(text: &str, kernel: &str, index: i64, length: i64, line: Option<u32>) {
    assert!(text.contains(kernel), "no kernel named {kernel}: {text}");
    assert!(text.contains(&format!("index {index} is out of range for length {length}")), "{text}");
    let place = line.map_or("wrong_data.rs:".to_string(), |l| format!("wrong_data.rs:{l}"));
    assert!(text.contains(&place), "not {place}: {text}");
}

#[test]
fn an_index_out_of_range() {
    let xs = array![1.0, 2.0, 3.0];
    assert_eq!(element(&xs, 2), 3.0);
    assert_out_of_range(&message(Cpu.run(element, (&xs, 3))), "element", 3, 3, Some(READ_LINE));
    assert_out_of_range(&message(Cpu.run(element, (&xs, -1))), "element", -1, 3, Some(READ_LINE));
    assert_out_of_range(&message(Cpu.run(element, (&xs, i64::MAX))), "element", i64::MAX, 3, Some(READ_LINE));
    assert_out_of_range(&message(Cpu.run(grad(element), (&xs, 5))), "element", 5, 3, Some(READ_LINE));
    // An error leaves nothing behind.
    assert_eq!(element(&xs, 0), 1.0);
}

#[test]
fn an_index_out_of_range_in_a_map() {
    let table = array![1.0, 2.0, 3.0];
    let at = array![0, 2, 7, 1];
    assert_out_of_range(&message(Cpu.run(looked_up, (&table, &at))), "looked_up", 7, 3, Some(LOOKUP_LINE));
    let seed = Array1::<f64>::ones(4);
    let text = message(Cpu.run(vjp(looked_up), (&table, &at, &seed)));
    assert_out_of_range(&text, "looked_up", 7, 3, Some(LOOKUP_LINE));
    assert_out_of_range(&message(Cpu.run(gathered, (&table, &at))), "gathered", 7, 3, None);
    assert_eq!(looked_up(&table, &array![2, 0]), array![6.0, 2.0]);
}

#[test]
fn an_index_out_of_range_on_the_second_axis() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(column_of(&a, 2), array![3.0, 6.0]);
    assert_out_of_range(&message(Cpu.run(column_of, (&a, 3))), "column_of", 3, 3, Some(COLUMN_LINE));
    assert_eq!(column_of(&Array2::<f64>::zeros((0, 3)), 3).len(), 0, "nothing is read");
}

#[test]
fn indices_of_an_empty_array() {
    let nothing = Array1::<f64>::zeros(0);
    assert_out_of_range(&message(Cpu.run(element, (&nothing, 0))), "element", 0, 0, Some(READ_LINE));
    assert_eq!(looked_up(&nothing, &Array1::<i64>::zeros(0)), nothing);
}

#[test]
fn conditions_are_evaluated_lazily() {
    assert_eq!(rising(&array![1.0, 2.0, 0.0, 5.0]), 2);
    assert_eq!(rising(&Array1::<f64>::zeros(0)), 0);
}

#[test]
#[should_panic(expected = "index 3 is out of range for length 3")]
fn a_call_panics_on_an_index_out_of_range() {
    let _ = element(&array![1.0, 2.0, 3.0], 3);
}

// Arrays that are not contiguous.

#[kernel]
fn weighted_squares(a: [[f64; m]; n], w: [f64; m]) -> f64 {
    sum(matvec(a * a, w))
}

#[kernel]
fn doubled(a: [[f64; m]; n]) -> [[f64; m]; n] {
    2.0 * a
}

fn assert_same_as_owned(a: ndarray::ArrayView2<'_, f64>, w: ndarray::ArrayView1<'_, f64>) {
    let (a_owned, w_owned) = (a.as_standard_layout().into_owned(), Array1::from_iter(w.iter().copied()));
    assert_eq!(doubled(&a), 2.0 * &a_owned);
    assert_eq!(
        value_and_grad(weighted_squares)(&a, &w),
        value_and_grad(weighted_squares)(&a_owned, &w_owned)
    );
    let (_, gradients) = value_and_grad(weighted_squares)(&a, &w);
    assert_gradient(|(a, w)| weighted_squares(a, w), &(a_owned, w_owned), &gradients);
}

#[test]
fn views_that_are_not_contiguous() {
    let a = Array2::from_shape_fn((4, 6), |(i, j)| (i as f64 + 0.5) * (j as f64 - 1.7));
    let w = array![0.5, -1.0, 2.0, 1.5, -0.25, 3.0];
    assert_same_as_owned(a.view(), w.view());
    assert_same_as_owned(a.t(), w.slice(s![..4]));
    assert_same_as_owned(a.slice(s![..;2, 1..]), w.slice(s![1..]));
    assert_same_as_owned(a.slice(s![.., ..;3]), w.slice(s![..;3]));
    assert_same_as_owned(a.slice(s![..;-1, ..;-1]), w.slice(s![..;-1]));
    assert_same_as_owned(a.slice(s![1..3, 2..5]), a.slice(s![0, 2..5]));
    assert_same_as_owned(a.t(), a.column(3));
}

#[test]
fn broadcast_views_and_column_major_arrays() {
    let row = array![1.0, 2.0, 3.0];
    let broadcast = row.broadcast((4, 3)).expect("a row fits under itself");
    assert_same_as_owned(broadcast, row.view());
    let column_major = Array2::from_shape_fn((3, 5).f(), |(i, j)| (i * 5 + j) as f64 * 0.25);
    assert_same_as_owned(column_major.view(), column_major.index_axis(Axis(0), 1));
}

#[test]
fn cotangents_that_are_not_contiguous() {
    let a = Array2::from_shape_fn((2, 3), |(i, j)| (i + j) as f64);
    let seed = Array2::from_shape_fn((3, 2), |(i, j)| (3 * i + j) as f64);
    assert_eq!(vjp(doubled)(&a, &seed.t()).1, 2.0 * &seed.t());
    assert_eq!(jvp(doubled)(&a, &seed.t()).1, 2.0 * &seed.t());
}

#[test]
fn one_argument_twice() {
    let x = array![1.0, 2.0, 3.0];
    assert_eq!(value_and_grad(paired)(&x, &x), (14.0, (x.clone(), x.clone())));
}

// NaN and infinities.

#[kernel]
fn functions(x: f64) -> (f64, f64, f64, f64, f64, f64) {
    (x.exp(), x.ln(), x.sqrt(), x.sin(), x.tanh(), x.sigmoid())
}

#[kernel]
fn functions_of_arrays(xs: [f64; n]) -> ([f64; n], [f64; n], [f64; n], [f64; n]) {
    (exp(xs), ln(xs), tanh(xs), sqrt(xs))
}

#[kernel]
fn added_up(xs: [f64; n]) -> f64 {
    sum(xs)
}

#[kernel]
fn compared(a: f64, b: f64) -> (bool, bool, bool, bool) {
    (a < b, a >= b, a == b, a != b)
}

#[kernel]
fn sine_of(x: f64) -> f64 {
    x.sin()
}

#[test]
fn functions_at_infinity() {
    let (exp, ln, sqrt, sin, tanh, sigmoid) = functions(f64::INFINITY);
    assert_eq!((exp, ln, sqrt), (f64::INFINITY, f64::INFINITY, f64::INFINITY));
    assert!(sin.is_nan());
    assert_eq!((tanh, sigmoid), (1.0, 1.0));
    let (exp, ln, sqrt, sin, tanh, sigmoid) = functions(f64::NEG_INFINITY);
    assert_eq!(exp, 0.0);
    assert!(ln.is_nan() && sqrt.is_nan() && sin.is_nan());
    assert_eq!((tanh, sigmoid), (-1.0, 0.0));
}

#[test]
fn functions_of_nan_are_nan() {
    let (exp, ln, sqrt, sin, tanh, sigmoid) = functions(f64::NAN);
    assert!([exp, ln, sqrt, sin, tanh, sigmoid].iter().all(|v| v.is_nan()));
    assert!(grad(sine_of)(f64::NAN).is_nan());
}

#[test]
fn special_values_in_arrays() {
    // Many copies, so that the code for whole vectors meets them too.
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-310, 1e308, -1.0, 710.0, -746.0];
    let xs = Array1::from_shape_fn(10 * 37, |i| values[(i * 7) % 10]);
    let (exp, ln, tanh, sqrt) = functions_of_arrays(&xs);
    assert_close(exp, xs.mapv(f64::exp), 1e-13);
    assert_close(ln, xs.mapv(f64::ln), 1e-13);
    assert_close(tanh, xs.mapv(f64::tanh), 1e-13);
    assert_close(sqrt, xs.mapv(f64::sqrt), 1e-13);
}

#[test]
fn sums_of_special_values() {
    assert!(added_up(&array![1.0, f64::NAN, 2.0]).is_nan());
    assert_eq!(added_up(&array![1.0, f64::INFINITY]), f64::INFINITY);
    assert!(added_up(&array![f64::NEG_INFINITY, f64::INFINITY]).is_nan());
    // The derivative of a sum does not look at the values.
    assert_eq!(grad(added_up)(&array![1.0, f64::NAN, f64::INFINITY]), array![1.0, 1.0, 1.0]);
}

#[test]
fn comparisons_with_nan() {
    assert_eq!(compared(f64::NAN, 1.0), (false, false, false, true));
    assert_eq!(compared(f64::NAN, f64::NAN), (false, false, false, true));
    assert_eq!(compared(0.0, -0.0), (false, true, true, false));
}

// No element and one element.

#[kernel]
fn product(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] {
    matmul(a, b)
}

#[kernel]
fn rearranged(a: [[f64; m]; n]) -> ([[f64; n]; m], [f64; n * m], [[f64; m]; n]) {
    (transpose(a), flatten(a), reverse(a))
}

#[kernel]
fn joined(a: [f64; n], b: [f64; m]) -> [f64; n + m] {
    concat(a, rotate(b, 1))
}

#[kernel]
fn spread(lo: f64, hi: f64, count: i64) -> [f64; count] {
    linspace(lo, hi, count)
}

#[test]
fn products_of_empty_matrices() {
    let shape = |n: usize, k: usize, m: usize| {
        let (a, b) = (Array2::<f64>::ones((n, k)), Array2::<f64>::ones((k, m)));
        let (value, (a_adj, b_adj)) = vjp(product)(&a, &b, &Array2::ones((n, m)));
        assert_eq!(value, Array2::from_elem((n, m), k as f64));
        assert_eq!(a_adj, Array2::from_elem((n, k), m as f64));
        assert_eq!(b_adj, Array2::from_elem((k, m), n as f64));
    };
    shape(0, 3, 2);
    shape(2, 0, 3);
    shape(2, 3, 0);
    shape(0, 0, 0);
    shape(1, 1, 1);
}

#[test]
fn rearrangements_of_empty_matrices() {
    for (n, m) in [(0, 3), (3, 0), (0, 0), (1, 1)] {
        let (turned, flat, back) = rearranged(&Array2::<f64>::ones((n, m)));
        assert_eq!(turned, Array2::<f64>::ones((m, n)));
        assert_eq!(flat, Array1::<f64>::ones(n * m));
        assert_eq!(back, Array2::<f64>::ones((n, m)));
    }
}

#[test]
fn vectors_of_no_and_one_element() {
    let (nothing, one) = (Array1::<f64>::zeros(0), array![7.0]);
    assert_eq!(joined(&nothing, &nothing), nothing);
    assert_eq!(joined(&one, &nothing), one);
    assert_eq!(joined(&nothing, &one), one);
    assert_eq!(value_and_grad(paired)(&one, &one), (49.0, (one.clone(), one.clone())));
    assert_eq!(value_and_grad(paired)(&nothing, &nothing), (0.0, (nothing.clone(), nothing.clone())));
    assert_eq!(spread(2.0, 5.0, 0), nothing);
    assert_eq!(spread(2.0, 5.0, 1), array![2.0]);
    assert_eq!(spread(2.0, 5.0, 4), array![2.0, 3.0, 4.0, 5.0]);
    assert!(message(Cpu.run(spread, (2.0, 5.0, -1))).contains("kernel `spread`"));
}
