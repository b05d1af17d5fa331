//! `einsum!` whose subscripts and operands do not fit.

use array_dsl::prelude::*;

#[kernel]
fn without_subscripts(a: [[f64; n]; n]) -> f64 {
    einsum!(a)
}

#[kernel]
fn with_dots(a: [[[f64; m]; n]; k]) -> [[[f64; n]; m]; k] {
    einsum!("...ij->...ji", a)
}

#[kernel]
fn digits(x: [f64; n]) -> f64 {
    einsum!("1,1->", x, x)
}

#[kernel]
fn out_of_nowhere(x: [f64; n]) -> [[f64; m]; n] {
    einsum!("i->ij", x)
}

#[kernel]
fn on_the_diagonal(x: [f64; n]) -> [[f64; n]; n] {
    einsum!("i->ii", x)
}

#[kernel]
fn number_of_operands(x: [f64; n]) -> f64 {
    einsum!("i,i->", x)
}

#[kernel]
fn rank(a: [[f64; m]; n], b: [[f64; m]; n]) -> [f64; n] {
    einsum!("ij,j->i", a, b)
}

#[kernel]
fn different_names(a: [[f64; m]; n], x: [f64; k]) -> [f64; n] {
    einsum!("ij,j->i", a, x)
}

#[kernel]
fn different_constants(a: [[f64; 3]; 2]) -> f64 {
    einsum!("ii", a)
}

#[kernel]
fn element_types(a: [[f64; m]; n], x: [i64; m]) -> [f64; n] {
    einsum!("ij,j->i", a, x)
}

#[kernel]
fn truth_values(x: [f64; n]) -> f64 {
    einsum!("i->", x > 0.0)
}

fn main() {}
