//! `filter`, `partition`, `count`: sizes that only data tell.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

#[kernel]
fn negative(a: [f64; n]) -> [f64; _] {
    filter(|x| x < 0.0, a)
}

#[kernel]
fn of_two(a: [f64; n]) -> [f64; _] {
    filter(|x| x < 0.0, a) + filter(|x| x < 1.0, a)
}

#[kernel]
fn negative_sums(a: [[f64; m]; n]) -> [f64; n] {
    map(|r| sum(map(|x| if x < 0.0 { x } else { 0.0 }, r)), a)
}

#[kernel]
fn parts(x: [f64; n], limit: f64) -> ([f64; _], [f64; _], i64) {
    let (small, large) = x.partition(|v| v < limit);
    (small, large, count(|v| v < limit, x))
}

#[kernel]
fn pairs(x: [f64; n], y: [i64; n]) -> ([f64; _], [i64; _]) {
    filter(|(v, k)| v > 0.0 && k % 2 == 0, (x, y))
}

#[kernel]
fn heavy_rows(x: [[f64; m]; n]) -> [[f64; m]; _] {
    filter(|r| r.sum() > 1.0, x)
}

#[kernel]
fn counts(x: [[f64; m]; n]) -> [i64; n] {
    map(|r| r.count(|v| v > 0.5), x)
}

/// The mean of what is positive.
#[kernel(hvp)]
fn positive_mean(x: [f64; n]) -> f64 {
    let kept: [f64; k] = filter(|v| v > 0.0, x);
    let squares: [f64; k] = kept * kept;
    if k > 0 { sum(squares + build(k, |i| kept[k - 1 - i])) / (k as f64) } else { 0.0 }
}

#[kernel]
fn clipped(x: [f64; n]) -> [f64; _] {
    let kept = filter(|v| v > 0.0, x);
    kept / maximum(kept)
}

/// Calls a kernel whose result has a size of its own.
#[kernel]
fn energy(x: [f64; n]) -> f64 {
    let c = clipped(x);
    sum(c * c)
}

#[kernel]
fn quick(x: [f64; n], pivot: f64) -> [f64; n] {
    let (small, large) = partition(|v| v < pivot, x);
    concat(sort(small), sort(large))
}

#[kernel]
fn row_energy(x: [[f64; m]; n]) -> f64 {
    let kept = filter(|r| r.sum() > 1.0, x);
    sum(flatten(kept * kept.sin()))
}

#[test]
fn examples_of_the_literature() {
    assert_eq!(negative(&array![1.0, -2.0, 3.0, -4.0, -5.0]), array![-2.0, -4.0, -5.0]);
    assert_eq!(of_two(&array![-1.0, 2.0, -3.0]), array![-2.0, -6.0]);
    let text = Cpu.run(of_two, (&array![-1.0, 0.0, -3.0],)).unwrap_err().to_string();
    assert!(text.contains("sizes that must be equal differ: kept = 3 and kept = 2"), "{text}");
    assert_eq!(negative_sums(&array![[1.0, -1.0, -2.0], [-3.0, 4.0, 5.0]]), array![-3.0, -3.0]);
}

#[test]
fn all_some_and_none() {
    let x = array![3.0, 1.0, 2.0];
    let none = Array1::<f64>::zeros(0);
    assert_eq!(parts(&x, 9.0), (x.clone(), none.clone(), 3));
    assert_eq!(parts(&x, 0.0), (none.clone(), x.clone(), 0));
    assert_eq!(parts(&x, 2.5), (array![1.0, 2.0], array![3.0], 2));
    assert_eq!(parts(&none, 2.5), (none.clone(), none.clone(), 0));
    assert_eq!(parts(&array![f64::NAN], 2.5).2, 0);
    assert_eq!(pairs(&array![1.0, -1.0, 2.0, 3.0], &array![2, 2, 3, 4]), (array![1.0, 3.0], array![2, 4]));
    let rows = array![[1.0, 1.0], [0.5, 0.0], [0.0, 2.0]];
    assert_eq!(heavy_rows(&rows), array![[1.0, 1.0], [0.0, 2.0]]);
    assert_eq!(heavy_rows(&Array2::zeros((4, 2))).dim(), (0, 2));
    assert_eq!(counts(&rows), array![2, 0, 1]);
}

#[test]
fn many() {
    let x = Array1::from_shape_fn(100_000, |i| ((i * 7919) % 10007) as f64 - 4000.0);
    let expected: Vec<f64> = x.iter().copied().filter(|v| *v < 0.0).collect();
    assert_eq!(negative(&x).to_vec(), expected);
    let (small, large, k) = parts(&x, 100.0);
    assert_eq!((small.len(), large.len()), (k as usize, 100_000 - k as usize));
    assert!(large.iter().eq(x.iter().filter(|v| **v >= 100.0)));
    let q = quick(&x, 17.0);
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(q.to_vec(), sorted);
}

#[test]
fn derivatives() {
    let x = array![0.5, -1.0, 2.0, -0.25];
    assert_eq!(grad(positive_mean)(&x), array![1.0, 0.0, 2.5, 0.0]);
    assert_eq!(grad(positive_mean)(&array![-1.0, -2.0]), array![0.0, 0.0]);
    assert_eq!(grad(positive_mean)(&Array1::zeros(0)).len(), 0);
    assert_eq!(hvp(positive_mean)(&x, &array![1.0, 1.0, 0.0, 0.0]), array![1.0, 0.0, 0.0, 0.0]);
    for check in [
        check_grad(positive_mean, (&x,)).unwrap(),
        check_grad(energy, (&x,)).unwrap(),
        check_grad(quick, (&x, 0.75)).unwrap(),
        check_grad(row_energy, (&array![[1.0, 1.0], [0.5, 0.0], [0.0, 2.0]],)).unwrap(),
    ] {
        assert!(check.agrees(1e-6), "{check}");
    }
}

/// The cotangent of a result has the result's size, which is checked.
#[test]
fn cotangents_of_results_of_unknown_size() {
    let x = array![0.5, -1.0, 2.0, -3.0];
    let (value, ct) = vjp(negative)(&x, &array![10.0, 20.0]);
    assert_eq!((value, ct), (array![-1.0, -3.0], array![0.0, 10.0, 0.0, 20.0]));
    assert!(Cpu.run(vjp(negative), (&x, &array![1.0])).is_err());
    let (_, t) = jvp(negative)(&x, &array![1.0, 2.0, 3.0, 4.0]);
    assert_eq!(t, array![2.0, 4.0]);
}

#[kernel]
fn looked_up(at: [i64; n], w: [f64; m]) -> f64 {
    let inside = filter(|i| i >= 0, at);
    sum(map(|i| w[i as usize], inside))
}

/// What is not kept is not looked up, also where the sum goes over all.
#[test]
fn errors_are_those_of_what_is_kept() {
    let w = array![1.0, 2.0, 4.0];
    assert_eq!(looked_up(&array![2, -7, 0, -1], &w), 5.0);
    assert_eq!(looked_up(&array![-7], &Array1::zeros(0)), 0.0);
    let text = Cpu.run(looked_up, (&array![-3, 1, 3, 9], &w)).unwrap_err().to_string();
    assert!(text.contains("index 3 is out of range for length 3"), "{text}");
    let (value, slope) = vjp(looked_up)(&array![2, -7, 2], &w, 1.5);
    assert_eq!((value, slope), (8.0, array![0.0, 0.0, 3.0]));
}
