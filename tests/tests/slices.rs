//! Slices of several dimensions, against ndarray's own: read, assigned, differentiated, and outside of the array.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array3, Ix2, array, aview1, aview2, s};

#[kernel]
fn column(a: [[f64; m]; n], j: usize) -> [f64; n] {
    a[s![.., j]]
}

#[kernel]
fn block(a: [[f64; m]; n], i: usize, j: usize) -> [[f64; 3]; 2] {
    a[s![i..i + 2, j..=j + 2]]
}

#[kernel]
fn middle(a: [[[f64; 4]; m]; n], k: usize) -> ([[f64; 4]; n], [[f64; 2]; n], [f64; m]) {
    (a.slice(s![.., k, ..]), a[[.., k, 1..3]], a[s![k, .., 0]])
}

/// An LSTM's gates, which stand side by side.
#[kernel]
fn gates(z: [[f64; 4 * h]; b], cell: [[f64; h]; b]) -> [[f64; h]; b] {
    let kept =
        cell * z[s![.., h..2 * h]].sigmoid() + z[s![.., ..h]].sigmoid() * z[s![.., 2 * h..3 * h]].tanh();
    z[s![.., 3 * h..]].sigmoid() * kept.tanh()
}

#[kernel]
fn assigned(a: [[f64; m]; n], v: [f64; n], w: [f64; m], i: usize, j: usize) -> [[f64; m]; n] {
    let mut b = a;
    b[s![.., j]] = v;
    b[s![i, ..]] *= w;
    b[s![1..3, 2..4]] = a[s![0..2, 0..2]] * v[0];
    b[s![i, ..2]] += v[1];
    b
}

/// Whole dimensions, at the end and alone, and indices before a range, in one pair of brackets or in several.
#[kernel]
fn wholes(
    a: [[[f64; 4]; m]; n],
    b: [[[f64; 4]; m]; n],
    i: usize,
) -> ([[[f64; 4]; m]; n], [[[f64; 4]; m]; n]) {
    let mut c = a;
    c[s![.., ..]] = 2.0 * b;
    let mut d = a;
    d[s![i, 1, 1..3]] *= 10.0;
    d[i][s![0, ..2]] = b[s![i, 0, 2..]];
    d[i][s![.., 3]] += 0.5;
    (c, d)
}

/// A branch for more columns than there may be.
#[kernel]
fn second_column<T: Float>(a: [[T; m]; n]) -> [T; n] {
    if m > 1 { a[s![.., 1]] } else { a[s![.., 0]] }
}

#[kernel]
fn of_one(a: [[f64; 1]; n]) -> [f64; n] {
    second_column(a)
}

fn numbers(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(i, j)| ((i * 7 + j * 3) as f64).sin())
}

#[test]
fn slices_are_those_of_ndarray() {
    let a = numbers(5, 6);
    for j in 0..6 {
        assert_eq!(column(&a, j), a.column(j));
    }
    assert_eq!(block(&a, 3, 2), a.slice(s![3..5, 2..5]));
    let cube = Array3::from_shape_fn((3, 5, 4), |(i, j, k)| (i * 20 + j * 4 + k) as f64);
    let (plane, part, line) = middle(&cube, 2);
    assert_eq!(plane, cube.slice(s![.., 2, ..]));
    assert_eq!(part, cube.slice(s![.., 2, 1..3]));
    assert_eq!(line, cube.slice(s![2, .., 0]));
}

#[test]
fn assigned_slices_are_those_of_ndarray() {
    let (a, v, w) = (numbers(5, 6), numbers(1, 5).row(0).to_owned(), numbers(6, 1).column(0).to_owned());
    for (i, j) in [(0, 0), (4, 5), (2, 3)] {
        let mut b = a.clone();
        b.slice_mut(s![.., j]).assign(&v);
        let row = &b.row(i) * &w;
        b.row_mut(i).assign(&row);
        b.slice_mut(s![1..3, 2..4]).assign(&(&a.slice(s![0..2, 0..2]) * v[0]));
        b.slice_mut(s![i, ..2]).mapv_inplace(|x| x + v[1]);
        assert_eq!(assigned(&a, &v, &w, i, j), b);
        check_grad(assigned, (&a, &v, &w, i, j)).unwrap().assert();
    }
}

#[test]
fn whole_dimensions_and_indices() {
    let [a, b] = [1.0, 2.0]
        .map(|s| Array3::from_shape_fn((3, 5, 4), |(i, j, k)| (s * (i * 20 + j * 4 + k) as f64).sin()));
    let mut d = a.clone();
    d.slice_mut(s![2, 1, 1..3]).mapv_inplace(|x| 10.0 * x);
    d.slice_mut(s![2, 0, ..2]).assign(&b.slice(s![2, 0, 2..]));
    d.slice_mut(s![2, .., 3]).mapv_inplace(|x| x + 0.5);
    assert_eq!(wholes(&a, &b, 2), (2.0 * &b, d));
    check_grad(wholes, (&a, &b, 1)).unwrap().assert();
    assert_eq!(of_one(&numbers(3, 1)), numbers(3, 1).column(0));
}

/// What README names for arrays that are not ndarray's, or have no rank.
#[test]
fn arrays_of_other_kinds_are_views() {
    let rows = vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(column(&aview2(&rows), 1), array![2.0, 5.0]);
    let dynamic = numbers(4, 3).into_dyn();
    assert_eq!(column(&dynamic.view().into_dimensionality::<Ix2>().unwrap(), 2), numbers(4, 3).column(2));
    assert_eq!(assigned(&numbers(4, 5), &aview1(&[1.0; 4]), &aview1(&[1.0; 5]), 0, 0).dim(), (4, 5));
    // Neither in order nor without gaps.
    assert_eq!(column(&numbers(6, 8).t().slice(s![..;-2, 1..]), 2), numbers(6, 8).slice(s![3, ..;-2]));
}

#[test]
fn gradients_go_to_the_slice() {
    let a = numbers(4, 6);
    check_grad(column, (&a, 3)).unwrap().assert();
    check_grad(block, (&a, 2, 1)).unwrap().assert();
    let da: Array2<f64> = vjp(column)(&a, 2, &Array1::ones(4)).1;
    assert_eq!(da.sum_axis(ndarray::Axis(0)).to_vec(), [0.0, 0.0, 4.0, 0.0, 0.0, 0.0]);
    check_grad(gates, (&numbers(3, 8), &numbers(3, 2))).unwrap().assert();
}

#[kernel]
fn from_the_end(a: [[f64; m]; n]) -> ([[f64; _]; _], f64, [[f64; m]; n]) {
    let mut b = a;
    b[s![1..-1, -1]] *= 10.0;
    (a[s![1..-1, ..-2]], a[s![-1, -2]], b)
}

#[test]
fn constants_below_zero_count_from_the_end() {
    let a = numbers(4, 5);
    let mut d = a.clone();
    d.slice_mut(s![1..3, 4]).mapv_inplace(|x| 10.0 * x);
    let (inner, corner, b) = from_the_end(&a);
    assert_eq!((inner.view(), corner, b), (a.slice(s![1..3, ..3]), a[[3, 3]], d));
    check_grad(from_the_end, (&a,)).unwrap().assert();
    assert!(Cpu.run(from_the_end, (&numbers(4, 1),)).is_err());
}

#[test]
fn outside_is_an_error() {
    let a = numbers(5, 6);
    for (found, what) in [
        (Cpu.run(column, (&a, 6)).map(|_| ()), "index 6"),
        (Cpu.run(block, (&a, 4, 0)).map(|_| ()), "slice"),
        (Cpu.run(block, (&a, 0, -1)).map(|_| ()), "j"),
        (Cpu.run(assigned, (&a, &Array1::ones(5), &Array1::ones(6), 0, 6)).map(|_| ()), "index 6"),
    ] {
        let message = found.unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
}
