//! `powf` at its corners: values and both derivatives, forward and in reverse.
//!
//! `powf.csv` has a row for each pair of special numbers. Values are those of C's `pow`, the derivatives those of PyTorch
//! (`derivatives.yaml` and `pow_backward_exponent` of its `FunctionsManual.cpp`),
//!
//! ```text
//! by x    0 where y = 0, else y x^(y - 1)
//! by y    0 where x = 0 and y >= 0, else x^y ln x
//! ```
//!
//! evaluated in Python. The last three columns are what `jax.grad` of `jax.numpy.power` gives (version 0.10.2, on a CPU, `f64`).

use array_dsl::prelude::*;

#[kernel]
fn power(x: f64, y: f64) -> f64 {
    x.powf(y)
}

#[kernel]
fn powers(x: [f64; n], y: [f64; n]) -> f64 {
    sum(x.powf(y))
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-14 * b.abs()
}

fn rows() -> impl Iterator<Item = [f64; 8]> {
    include_str!("powf.csv").lines().skip(1).map(|row| {
        let numbers: Vec<f64> = row.split(',').map(|n| n.parse().expect("a number")).collect();
        numbers.try_into().expect("eight columns")
    })
}

#[test]
fn corners_are_as_in_the_table() {
    for [x, y, value, by_x, by_y, ..] in rows() {
        let expected = (value, (by_x, by_y));
        let (found, (dx, dy)) = value_and_grad(power)(x, y);
        let same = close(found, value) && close(dx, by_x) && close(dy, by_y);
        assert!(same, "{x}^{y}: {found} {dx} {dy} instead of {expected:?}");
        let forward = [(1.0, 0.0), (0.0, 1.0)].map(|(a, b)| jvp(power)(x, y, a, b).1);
        assert!(close(forward[0], by_x) && close(forward[1], by_y), "{x}^{y}: {forward:?} for {expected:?}");
        let (dx, dy) = grad(powers)(&ndarray::array![x], &ndarray::array![y]);
        assert!(close(dx[0], by_x) && close(dy[0], by_y), "{x}^{y}: {dx} {dy} for {expected:?}");
    }
}

#[test]
fn the_table_is_what_jax_gives_where_that_is_a_number() {
    for [x, y, ours @ .., value, by_x, by_y] in rows() {
        for (ours, jax) in std::iter::zip(ours, [value, by_x, by_y]) {
            assert!(jax.is_nan() || close(ours, jax) || (ours - jax).abs() < 1e-12 * jax.abs(), "{x}^{y}");
        }
    }
}

#[test]
fn zero_to_the_zeroth() {
    assert_eq!(value_and_grad(power)(0.0, 0.0), (1.0, (0.0, 0.0)));
    assert_eq!(jvp(power)(0.0, 0.0, 1.0, 1.0), (1.0, 0.0));
}
