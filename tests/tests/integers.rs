//! Integers: arithmetic wraps, division truncates and refuses zero, casts are those of Rust, and whatever passes through
//! an integer has derivative zero.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, array};

#[kernel]
fn arithmetic(a: i64, b: i64) -> (i64, i64, i64) {
    (a + b, a - b, a * b)
}

#[kernel]
fn division(a: i64, b: i64) -> (i64, i64, i64) {
    (a / b, a % b, a.rem_euclid(b))
}

#[kernel]
fn small_arithmetic(a: i32, b: u32) -> (i32, u32) {
    (a * 65536, b - 1)
}

#[kernel]
fn bits(a: i64, b: i64) -> (i64, i64, i64, i64) {
    (a & b, a | b, a ^ b, a << 2)
}

#[kernel]
fn halves(xs: [i64; n], by: i64) -> [i64; n] {
    map(|x| x / by, xs)
}

#[kernel]
fn fraction(x: f64) -> f64 {
    x - x.floor()
}

#[kernel]
fn times_whole_part(x: f64) -> f64 {
    x as i64 as f64 * x
}

#[kernel]
fn casts(x: f64) -> (i64, i32, f32) {
    (x as i64, x as i32, x as f32)
}

#[kernel]
fn casts_of_integers(i: i64, b: bool) -> (i32, u32, i64, f64) {
    (i as i32, i as u32, b as i64, i as f64)
}

#[test]
fn integer_arithmetic_wraps() {
    assert_eq!(arithmetic(7, -3), (4, 10, -21));
    assert_eq!(arithmetic(i64::MAX, 1).0, i64::MIN);
    assert_eq!(arithmetic(i64::MIN, 1).1, i64::MAX);
    assert_eq!(arithmetic(i64::MAX, 2).2, -2);
    assert_eq!(small_arithmetic(65536, 0), (0, u32::MAX));
    assert_eq!(bits(0b1100, 0b1010), (0b1000, 0b1110, 0b0110, 0b110000));
}

#[test]
fn integer_division() {
    assert_eq!(division(7, 2), (3, 1, 1));
    assert_eq!(division(-7, 2), (-3, -1, 1));
    assert_eq!(division(7, -2), (-3, 1, 1));
    assert_eq!(division(i64::MIN, -1), (i64::MIN, 0, 0));
    assert_eq!(halves(&array![5, -5, 8], 2), array![2, -2, 4]);
}

#[test]
fn integer_division_by_zero_is_an_error() {
    let text = Cpu.run(division, (1, 0)).unwrap_err().to_string();
    assert!(text.contains("kernel `division`") && text.contains("division by zero"), "{text}");
    let text = Cpu.run(halves, (&array![5, 6], 0)).unwrap_err().to_string();
    assert!(text.contains("kernel `halves`") && text.contains("division by zero"), "{text}");
    assert_eq!(halves(&Array1::zeros(0), 0).len(), 0, "nothing is divided");
}

#[test]
fn integers_have_no_derivative() {
    assert_close(value_and_grad(fraction)(2.75), (0.75, 1.0), 1e-15);
    assert_eq!(value_and_grad(times_whole_part)(2.75), (5.5, 2.0));
    assert_gradient(|x| times_whole_part(*x), &2.75, &2.0);
    assert_eq!(jvp(times_whole_part)(-2.75, 3.0), (5.5, -6.0));
}

#[test]
fn casts_are_those_of_rust() {
    assert_eq!(casts(-2.75), (-2, -2, -2.75));
    assert_eq!(casts(1e30), (i64::MAX, i32::MAX, 1e30));
    let (whole, small, narrow) = casts(f64::NAN);
    assert_eq!((whole, small), (0, 0));
    assert!(narrow.is_nan());
    let i = (1i64 << 32) + 5;
    assert_eq!(casts_of_integers(i, true), (5, 5, 1, i as f64));
    assert_eq!(casts_of_integers(-1, false), (-1, u32::MAX, 0, -1.0));
}
