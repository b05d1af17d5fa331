//! Kernels whose names are unusual: those of Rust's macros, raw identifiers, names that only a macro of the user knows.

use array_dsl::prelude::*;

mod of_macros {
    use array_dsl::prelude::*;

    #[kernel]
    pub fn line(x: f64) -> f64 {
        2.0 * x
    }

    #[kernel]
    pub fn vec(x: f64) -> f64 {
        line(x) + 1.0
    }

    #[kernel]
    pub fn matches(x: f64) -> f64 {
        line(x) + vec(x)
    }
}

#[test]
fn names_of_macros_of_rust() {
    assert_eq!(of_macros::matches(3.0), 13.0);
    assert_eq!(grad(of_macros::matches)(3.0), 4.0);
}

#[kernel]
fn r#match(r#in: f64) -> f64 {
    r#in * r#in
}

#[kernel]
fn calls_a_raw_name(x: f64) -> f64 {
    r#match(x) + 1.0
}

#[test]
fn raw_names() {
    assert_eq!(calls_a_raw_name(3.0), 10.0);
}

macro_rules! shifted {
    ($name:ident, $inner:ident) => {
        #[kernel]
        fn $name(x: f64) -> f64 {
            $inner(x) + $crate::of_macros::line(x) + 1.0
        }
    };
}

#[kernel]
fn square(x: f64) -> f64 {
    x * x
}

shifted!(once, square);
shifted!(twice, once);

#[test]
fn kernels_that_a_macro_writes() {
    assert_eq!(once(3.0), 16.0);
    assert_eq!(value_and_grad(twice)(3.0), (23.0, 10.0));
}
