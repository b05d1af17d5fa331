//! Comparison of numbers and of gradients, shared by the test files.
//!
//! `Numbers` is anything that a kernel takes or returns and that counts as one vector of reals: a scalar, an
//! array, or a tuple of these. Two such values are close when, entry by entry,
//! `|actual - expected| <= tolerance * (1 + |expected|)`; equal infinities and two NaNs count as close.
//!
//! A gradient is compared with central differences: for every entry `x` and `h = 1e-5 * (1 + |x|)`,
//! `(f(x + h) - f(x - h)) / 2h` must agree with it to `1e-7`, relative to the largest number involved. Keep ties,
//! branch points and other kinks out of such comparisons: there the difference quotient averages both sides.

use ndarray::{Array, Dimension};

/// A value made of real numbers.
pub trait Numbers: Clone {
    /// The shapes of its components, in order.
    fn shapes(&self) -> Vec<Vec<usize>>;
    /// All entries in logical order.
    fn entries(&self) -> Vec<f64>;
    /// The same with `delta` added to entry number `at`.
    fn moved(&self, at: usize, delta: f64) -> Self;
}

impl Numbers for f64 {
    fn shapes(&self) -> Vec<Vec<usize>> {
        vec![Vec::new()]
    }

    fn entries(&self) -> Vec<f64> {
        vec![*self]
    }

    fn moved(&self, at: usize, delta: f64) -> Self {
        if at == 0 { self + delta } else { *self }
    }
}

impl<D: Dimension> Numbers for Array<f64, D> {
    fn shapes(&self) -> Vec<Vec<usize>> {
        vec![self.shape().to_vec()]
    }

    fn entries(&self) -> Vec<f64> {
        self.iter().copied().collect()
    }

    fn moved(&self, at: usize, delta: f64) -> Self {
        let mut copy = self.clone();
        if let Some(entry) = copy.iter_mut().nth(at) {
            *entry += delta;
        }
        copy
    }
}

macro_rules! tuple_of_numbers {
    ($($part:ident $position:tt),*) => {
        impl<$($part: Numbers),*> Numbers for ($($part,)*) {
            fn shapes(&self) -> Vec<Vec<usize>> {
                [$(self.$position.shapes()),*].concat()
            }

            fn entries(&self) -> Vec<f64> {
                [$(self.$position.entries()),*].concat()
            }

            fn moved(&self, at: usize, delta: f64) -> Self {
                let mut before = 0;
                ($({
                    let here = self.$position.entries().len();
                    let part = match at.checked_sub(before) {
                        Some(own) if own < here => self.$position.moved(own, delta),
                        _ => self.$position.clone(),
                    };
                    before += here;
                    let _ = before;
                    part
                },)*)
            }
        }
    };
}

tuple_of_numbers!(A 0, B 1);
tuple_of_numbers!(A 0, B 1, C 2);

fn is_close(actual: f64, expected: f64, tolerance: f64) -> bool {
    actual == expected
        || (actual.is_nan() && expected.is_nan())
        || (actual - expected).abs() <= tolerance * (1.0 + expected.abs())
}

/// Fails unless both have the same shapes and close entries.
#[track_caller]
pub fn assert_close<T: Numbers>(actual: T, expected: T, tolerance: f64) {
    assert_eq!(actual.shapes(), expected.shapes(), "the shapes differ");
    let (found, wanted) = (actual.entries(), expected.entries());
    for (i, (a, e)) in found.iter().zip(&wanted).enumerate() {
        assert!(
            is_close(*a, *e, tolerance),
            "entry {i}: found {a}, expected {e}\nfound    {found:?}\nexpected {wanted:?}"
        );
    }
}

/// Fails unless `gradient` is what central differences of `function` at `at` give.
#[track_caller]
pub fn assert_gradient<T: Numbers>(function: impl Fn(&T) -> f64, at: &T, gradient: &T) {
    assert_eq!(at.shapes(), gradient.shapes(), "a gradient has the shape of its argument");
    let scale = function(at).abs();
    let found = gradient.entries();
    for (i, (x, slope)) in at.entries().into_iter().zip(&found).enumerate() {
        let step = 1e-5 * (1.0 + x.abs());
        let quotient = (function(&at.moved(i, step)) - function(&at.moved(i, -step))) / (2.0 * step);
        assert!(
            (slope - quotient).abs() <= 1e-7 * (1.0 + scale + slope.abs()),
            "entry {i}: the gradient says {slope}, central differences {quotient}\ngradient {found:?}"
        );
    }
}
