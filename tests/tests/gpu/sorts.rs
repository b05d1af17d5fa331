//! Sorting.

use array_dsl::prelude::*;

use crate::agreement::{LENGTHS, SHAPES, agree, integers, noise};

#[kernel]
fn sorted(x: [f32; n]) -> ([f32; n], [i32; n]) {
    (sort(x), map(|i| i as i32, argsort(x)))
}

#[kernel]
fn ranked(x: [f32; n], w: [f32; n]) -> f32 {
    sum(sort(x * x) * w)
}

#[kernel]
fn by_key(keys: [i32; n], x: [[f32; m]; n]) -> [[f32; m]; n] {
    sort_by_key(keys, x)
}

#[kernel]
fn rows(x: [[f32; m]; n]) -> [[f32; m]; n] {
    sort(x)
}

#[kernel]
fn others(x: [u32; n], flags: [bool; n]) -> ([u32; n], [i32; n]) {
    (sort(x), map(|i| i as i32, argsort(flags)))
}

#[test]
fn sorts_of_all_lengths() {
    for n in LENGTHS {
        let x = noise(n, 1);
        agree(sorted, (x.clone(),), 0.0);
        agree(grad(ranked), (x.clone(), noise(n, 2)), 1e-4);
        agree(jvp(ranked), (x.clone(), noise(n, 2), noise(n, 3), noise(n, 4)), 1e-3);
        let words = integers(n, 50, 5).mapv(i32::cast_unsigned);
        agree(others, (words, x.mapv(|x| x > 0.0)), 0.0);
    }
}

#[test]
fn what_has_no_order() {
    let mut x = integers(777, 10, 1).mapv(|i| i as f32 - 5.0);
    for (i, special) in
        [f32::NAN, -0.0, f32::INFINITY, f32::NEG_INFINITY, 0.0, -f32::NAN].into_iter().enumerate()
    {
        x[i * 100 + 3] = special;
        x[i * 50 + 11] = special;
    }
    agree(sorted, (x,), 0.0);
}

#[test]
fn rows_and_keys() {
    for (n, m) in SHAPES {
        let x = noise((n, m), 1);
        agree(rows, (x.clone(),), 0.0);
        agree(vjp(rows), (x.clone(), noise((n, m), 2)), 0.0);
        agree(by_key, (integers(n, 5, 3), x.clone()), 0.0);
        agree(vjp(by_key), (integers(n, 5, 3), x, noise((n, m), 4)), 0.0);
    }
}
