//! Reductions over rows, columns and everything, by every reducer, from no element to many.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

use super::agreement::{LENGTHS, SHAPES, TOLERANCE, agree, integers, noise};

/// Long rows and long columns, which are reduced by different shaders.
const LONG: [(usize, usize); 2] = [(3, 100_000), (100_000, 3)];

#[kernel]
fn row_sums(a: [[f32; m]; n]) -> [f32; n] {
    sum(a)
}

#[kernel]
fn row_products(a: [[f32; m]; n]) -> [f32; n] {
    prod(a)
}

#[kernel]
fn row_extrema(a: [[f32; m]; n]) -> ([f32; n], [f32; n]) {
    (minimum(a), maximum(a))
}

#[kernel]
fn row_means(a: [[f32; m]; n]) -> [f32; n] {
    mean(a * a)
}

#[kernel]
fn column_sums(a: [[f32; m]; n]) -> [f32; m] {
    sum(transpose(a))
}

#[kernel]
fn column_extrema(a: [[f32; m]; n]) -> ([f32; m], [f32; m]) {
    (minimum(transpose(a)), maximum(transpose(a)))
}

#[kernel]
fn total(a: [[f32; m]; n]) -> f32 {
    sum(flatten(a))
}

#[kernel]
fn total_of_squares(a: [[f32; m]; n]) -> f32 {
    sum(sum(a * a))
}

#[kernel]
fn norm(a: [f32; n]) -> f32 {
    sum(a * a).sqrt()
}

#[test]
fn values_of_all_shapes() {
    for (n, m) in SHAPES.into_iter().chain(LONG) {
        let a = noise((n, m), 1);
        agree(row_sums, (a.clone(),), 1e-4);
        agree(row_products, (a.mapv(|x| 1.0 + x / 100.0),), 1e-4);
        agree(row_extrema, (a.clone(),), 0.0);
        agree(column_sums, (a.clone(),), 1e-4);
        agree(column_extrema, (a.clone(),), 0.0);
        agree(total, (a.clone(),), 1e-4);
        agree(total_of_squares, (a.clone(),), 1e-4);
        agree(row_means, (a,), 1e-4);
    }
}

#[test]
fn gradients_of_all_shapes() {
    for (n, m) in SHAPES.into_iter().chain(LONG) {
        let (a, rows, columns) = (noise((n, m), 1), noise(n, 2), noise(m, 3));
        agree(vjp(row_sums), (a.clone(), rows.clone()), 1e-4);
        // Of many columns each has little of the mean.
        agree(vjp(row_means), (a.clone(), rows.clone() * m as f32), 1e-4);
        agree(vjp(row_extrema), (a.clone(), rows.clone(), rows.clone()), TOLERANCE);
        agree(vjp(column_sums), (a.clone(), columns.clone()), 1e-4);
        agree(vjp(column_extrema), (a.clone(), columns.clone(), columns.clone()), TOLERANCE);
        agree(value_and_grad(total), (a.clone(),), 1e-4);
        agree(value_and_grad(total_of_squares), (a.clone(),), 1e-4);
        agree(jvp(total_of_squares), (a.clone(), a.clone()), 1e-4);
        agree(jvp(row_extrema), (a.clone(), noise((n, m), 4)), TOLERANCE);
    }
    for n in LENGTHS {
        agree(value_and_grad(norm), (noise(n, 5),), 1e-4);
    }
}

#[test]
fn gradients_of_products() {
    for (n, m) in SHAPES {
        let a = noise((n, m), 1).mapv(|x| 1.0 + x / 10.0);
        agree(vjp(row_products), (a.clone(), noise(n, 2)), 1e-3);
        agree(jvp(row_products), (a.clone(), noise((n, m), 3)), 1e-3);
    }
    // Rows with no, one and two zeros.
    let a = array![[2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 3.0, 0.0]];
    agree(vjp(row_products), (a, array![1.0, 10.0, 100.0]), TOLERANCE);
}

#[test]
fn ties_go_to_the_first() {
    let a = array![[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [5.0, 5.0, 5.0, 5.0]];
    let seed = array![1.0, 2.0, 3.0];
    agree(vjp(row_extrema), (a.clone(), seed.clone(), seed.clone()), 0.0);
    let long = Array2::from_shape_fn((2, 100_000), |(i, j)| ((j + i) % 7) as f32);
    agree(vjp(row_extrema), (long, array![1.0, 2.0], array![3.0, 4.0]), 0.0);
}

// Booleans, and the places of extrema (which are counted in 64 bits on the host and so are converted here).

#[kernel]
fn row_logic(a: [[f32; m]; n]) -> ([bool; n], [bool; n]) {
    (map(|row| any(map(|v| v > 0.9, row)), a), map(|row| all(map(|v| v > -0.99, row)), a))
}

#[kernel]
fn total_logic(p: [bool; n]) -> (bool, bool, i32) {
    (any(p), all(p), sum(map(|b| b as i32, p)))
}

#[kernel]
fn row_places(a: [[f32; m]; n]) -> ([i32; n], [i32; n]) {
    (map(|row| argmin(row) as i32, a), map(|row| argmax(row) as i32, a))
}

#[kernel]
fn places(a: [f32; n]) -> (i32, i32) {
    (argmin(a) as i32, argmax(a) as i32)
}

#[kernel]
fn largest_and_next(a: [f32; n]) -> f32 {
    let at = argmax(a);
    a[at] * a[(at + 1) % n]
}

#[test]
fn logic() {
    for (n, m) in SHAPES.into_iter().chain(LONG) {
        agree(row_logic, (noise((n, m), 1),), 0.0);
    }
    for n in LENGTHS {
        agree(total_logic, (noise(n, 2).mapv(|v| v > 0.0),), 0.0);
        agree(total_logic, (Array1::from_elem(n, true),), 0.0);
        agree(total_logic, (Array1::from_elem(n, false),), 0.0);
    }
}

#[test]
fn places_of_extrema() {
    for (n, m) in SHAPES.into_iter().chain(LONG).filter(|(n, m)| *m > 0 || *n == 0) {
        // Few different values, so that there are many ties.
        agree(row_places, (integers((n, m), 5, 1).mapv(|v| v as f32),), 0.0);
        agree(row_places, (noise((n, m), 2),), 0.0);
    }
    for n in [1, 2, 255, 256, 257, 100_000] {
        agree(places, (integers(n, 50, 3).mapv(|v| v as f32),), 0.0);
        agree(value_and_grad(largest_and_next), (noise(n, 4),), TOLERANCE);
    }
}

// Several reductions in one pass, and reductions that feed each other.

#[kernel]
fn moments(a: [[f32; m]; n]) -> ([f32; n], [f32; n]) {
    let center = mean(a);
    let spread = map(|row, c| sum((row - c) * (row - c)), a, center);
    (center, spread)
}

#[kernel]
fn standardized(a: [[f32; m]; n]) -> [[f32; m]; n] {
    map(
        |row| {
            let c = mean(row);
            let s = (mean((row - c) * (row - c)) + 1e-3).sqrt();
            (row - c) / s
        },
        a,
    )
}

/// So many times the standard deviation as there are numbers: its gradient does not become smaller with their number.
#[kernel]
fn deviation(a: [f32; n]) -> f32 {
    let c = mean(a);
    mean((a - c) * (a - c)).sqrt() * n as f32
}

#[test]
fn reductions_of_reductions() {
    for (n, m) in SHAPES.into_iter().filter(|(_, m)| *m > 0) {
        let (a, seed) = (noise((n, m), 1), noise((n, m), 2));
        agree(moments, (a.clone(),), 1e-4);
        agree(vjp(moments), (a.clone(), noise(n, 3), noise(n, 4)), 1e-4);
        agree(standardized, (a.clone(),), 1e-4);
        agree(jvp(standardized), (a.clone(), seed.clone()), 1e-3);
        agree(vjp(standardized), (a, seed), 1e-3);
    }
    for n in [2, 256, 100_000] {
        agree(value_and_grad(deviation), (noise(n, 5),), 1e-4);
    }
}
