//! Gamma and beta distributed numbers, with their derivatives by the shape, and Poisson distributed ones.
//!
//! A gamma distributed number is found by rejection, which has no derivative. It is where the distribution function `F(x; shape)`
//! has some value `u`, and stays there when the shape changes (Figurnov and others, *Implicit reparameterization gradients*, 2018).
//! So two steps of Newton's method for `F(x; shape) = u` follow, which change nothing but the derivatives, and give these to the
//! second order.

use super::{exponential_at, fold_in, normal_at, uniform_at, words};
use crate::prelude::*;

/// The distribution function by its series, and the density: `x^a e^-x / gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) +
/// ..)`.
#[kernel]
fn below<T: Float>(x: T, a: T) -> (T, T) {
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut k = 0.0;
    // To rounding, of either type.
    while sum + term != sum && k < 100000.0 {
        k += 1.0;
        term = term * x / (a + k);
        sum += term;
    }
    let front = exp(a * ln(x) - x - lgamma(a + 1.0));
    (front * sum, front * a / x)
}

/// One step of Newton's method for the number below which there is as much as below `start`.
#[kernel]
fn moved<T: Float>(x: T, a: T, u: T) -> T {
    let (f, density) = below(x, a);
    x - (f - u) / density
}

/// A gamma distributed number for a shape of at least 1, without derivatives: the method of Marsaglia and Tsang, 2000.
#[kernel]
fn by_rejection<T: Float>(key: (u32, u32), a: T) -> T {
    let d = a - 0.3333333333333333;
    let c = 1.0 / sqrt(9.0 * d);
    let other = fold_in(key, 1);
    let mut v = 1.0;
    let mut trips = 0;
    let mut on = true;
    while on && trips < 1000 {
        let x = normal_at(key, trips, 0.0 * a, 1.0);
        let u = 1.0 - uniform_at(other, trips, 0.0 * a, 1.0);
        let w = 1.0 + c * x;
        v = w * w * w;
        if w > 0.0 {
            on = ln(u) >= 0.5 * x * x + d - d * v + d * ln(v);
        }
        trips += 1;
    }
    d * v
}

/// `gamma_at(key, i, shape)`: the i-th number of `gamma`.
///
/// ```
/// # use array_dsl::prelude::*;
/// use array_dsl::random::{gamma, gamma_at, key};
///
/// #[kernel]
/// fn fourth(seed: i64) -> (f64, f64) {
///     let all = gamma(key(seed), 2.5, 10);
///     (gamma_at(key(seed), 4, 2.5), all[4])
/// }
///
/// let (alone, among_others) = fourth(1);
/// assert_eq!(alone, among_others);
/// ```
#[kernel]
pub fn gamma_at<T: Float>(key: (u32, u32), i: i64, shape: T) -> T {
    let own = words(key, i);
    // A number of a shape below 1 is one of the next shape, times the power 1 / shape of a uniform one.
    let is_low = shape < 1.0;
    let a = if is_low { shape + 1.0 } else { shape };
    let start = by_rejection(own, stop_gradient(a));
    let (u, _) = below(start, stop_gradient(a));
    let y = moved(moved(start, a, u), a, u);
    let x = start + (y - stop_gradient(y));
    if is_low { x * exp(ln(1.0 - uniform_at(fold_in(own, 2), 0, 0.0 * shape, 1.0)) / shape) } else { x }
}

/// `gamma(key, shape, n)`: so many numbers with the density `x^(shape - 1) e^-x` up to a constant, whose mean and variance are
/// `shape`; times `s` they have the scale `s`.
///
/// They have derivatives by the shape, in both modes and to the second order: those of the distribution's quantiles, so that
/// derivatives of means over many numbers are those of the expectation. Differences of single numbers are others. `shape` must be
/// positive. Cost: some three normal numbers, and a series of some `10 sqrt(shape) + 20` terms.
///
/// ```
/// # use array_dsl::prelude::*;
/// use array_dsl::random::{gamma, key};
///
/// #[kernel]
/// fn mean_square(seed: i64, shape: f64) -> f64 {
///     let x = gamma(key(seed), shape, 20000);
///     mean(x * x)
/// }
///
/// // shape^2 + shape, and its derivative.
/// assert!((mean_square(1, 3.0) - 12.0).abs() < 0.5);
/// assert!((grad(mean_square)(1, 3.0) - 7.0).abs() < 0.3);
/// ```
#[kernel]
pub fn gamma<T: Float>(key: (u32, u32), shape: T, n: usize) -> [T; n] {
    build(n, |i| gamma_at(key, i, shape))
}

/// `beta_at(key, i, a, b)`: the i-th number of `beta`.
///
/// ```
/// # use array_dsl::prelude::*;
/// use array_dsl::random::{beta, beta_at, key};
///
/// #[kernel]
/// fn fourth(seed: i64) -> (f64, f64) {
///     let all = beta(key(seed), 2.0, 3.0, 10);
///     (beta_at(key(seed), 4, 2.0, 3.0), all[4])
/// }
///
/// let (alone, among_others) = fourth(1);
/// assert_eq!(alone, among_others);
/// ```
#[kernel]
pub fn beta_at<T: Float>(key: (u32, u32), i: i64, a: T, b: T) -> T {
    let x = gamma_at(key, 2 * i, a);
    let y = gamma_at(key, 2 * i + 1, b);
    x / (x + y)
}

/// `beta(key, a, b, n)`: so many numbers between 0 and 1 with the density `x^(a - 1) (1 - x)^(b - 1)` up to a constant, by two
/// gamma distributed ones each, with their derivatives.
///
/// Where both `a` and `b` are so small that both of these are zero, a number is NaN.
///
/// ```
/// # use array_dsl::prelude::*;
/// use array_dsl::random::{beta, key};
///
/// #[kernel]
/// fn mean_of(seed: i64, a: f64, b: f64) -> f64 {
///     mean(beta(key(seed), a, b, 20000))
/// }
///
/// // a / (a + b)
/// assert!((mean_of(1, 2.0, 3.0) - 0.4).abs() < 0.01);
/// ```
#[kernel]
pub fn beta<T: Float>(key: (u32, u32), a: T, b: T, n: usize) -> [T; n] {
    build(n, |i| beta_at(key, i, a, b))
}

/// `poisson_at(key, i, rate)`: the i-th number of `poisson`.
///
/// ```
/// # use array_dsl::prelude::*;
/// use array_dsl::random::{poisson, poisson_at, key};
///
/// #[kernel]
/// fn fourth(seed: i64) -> (i64, i64) {
///     let all = poisson(key(seed), 2.5, 10);
///     (poisson_at(key(seed), 4, 2.5), all[4])
/// }
///
/// let (alone, among_others) = fourth(1);
/// assert_eq!(alone, among_others);
/// ```
#[kernel]
pub fn poisson_at<T: Float>(key: (u32, u32), i: i64, rate: T) -> i64 {
    let own = words(key, i);
    let mean = stop_gradient(rate);
    let mut count = 0;
    if mean < 10.0 {
        // Events before `mean`, one after another.
        let mut at = exponential_at(own, 0, 0.0 * mean + 1.0);
        while at < mean && count < 1000 {
            count += 1;
            at += exponential_at(own, count, 0.0 * mean + 1.0);
        }
    } else {
        // Hörmann's transformed rejection, 1993.
        let b = 0.931 + 2.53 * sqrt(mean);
        let a = 0.02483 * b - 0.059;
        let most = ln(1.1239 + 1.1328 / (b - 3.4));
        let sure = 0.9277 - 3.6224 / (b - 2.0);
        let mut trips = 0;
        let mut on = true;
        while on && trips < 1000 {
            let u = uniform_at(own, 2 * trips, 0.0 * mean - 0.5, 0.5);
            let v = 1.0 - uniform_at(own, 2 * trips + 1, 0.0 * mean, 1.0);
            let edge = 0.5 - abs(u);
            let k = floor((2.0 * a / edge + b) * u + mean + 0.43);
            let is_surely = edge >= 0.07 && v <= sure;
            let never = k < 0.0 || (edge < 0.013 && v > edge);
            let height = ln(v) + most - ln(a / (edge * edge) + b);
            on = !is_surely && (never || height > k * ln(mean) - mean - lgamma(k + 1.0));
            count = k as i64;
            trips += 1;
        }
    }
    count
}

/// `poisson(key, rate, n)`: so many numbers of events of which `rate` are expected, without derivatives.
///
/// `rate` must not be negative; of 0 there are none. Cost: some `rate + 1` exponentially distributed numbers for rates below 10,
/// and some three uniform ones beyond. In `f32` rates beyond 10,000 are not exact.
///
/// ```
/// # use array_dsl::prelude::*;
/// use array_dsl::random::{key, poisson};
///
/// #[kernel]
/// fn mean_count(seed: i64, rate: f64) -> f64 {
///     let counts = poisson(key(seed), rate, 20000);
///     sum(counts) as f64 / 20000.0
/// }
///
/// assert!((mean_count(1, 2.5) - 2.5).abs() < 0.1);
/// ```
#[kernel]
pub fn poisson<T: Float>(key: (u32, u32), rate: T, n: usize) -> [i64; n] {
    build(n, |i| poisson_at(key, i, rate))
}
