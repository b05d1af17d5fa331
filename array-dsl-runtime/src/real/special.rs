//! The logarithm of the gamma function and its derivatives, for `f64`; `f32` goes through it. They have loops and branches, so there
//! are no vectors of them: how many terms a sum has, and whether there is a reflection, depends on the argument.
//!
//! The logarithm is `libm`'s. The derivatives are sums of powers:
//!
//! ```text
//! digamma x       = ln x - 1 / 2x - 1 / 12 x^2 + ..              far out; nearer by digamma x = digamma(x + 1) - 1 / x
//! digamma^(n) x   = (-1)^(n+1) n! zeta(n + 1, x)                 zeta(s, x) = 1 / x^s + 1 / (x + 1)^s + ..
//! ```
//!
//! and at negative arguments come from positive ones by reflection. Errors are some 1e-15, relative to the largest term: near a
//! zero of the function relative errors are greater.

use std::f64::consts::PI;

use super::horner;

pub(super) use libm::lgamma;

/// Where the asymptotic series are good to all digits.
const FAR: f64 = 12.0;

/// The derivative of [`lgamma`]. Poles at 0, -1, -2, .. : at the zeros infinities of the sign of the limit, else NaN.
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        // The nearest integer taken off, the tangent's argument is exact.
        let off = x - x.round();
        if off == 0.0 || x.is_infinite() {
            return f64::NAN;
        }
        return positive_digamma(1.0 - x) - PI / (PI * off).tan();
    }
    positive_digamma(x)
}

fn positive_digamma(x: f64) -> f64 {
    let (mut y, mut sum) = (x, 0.0);
    while y < FAR {
        sum -= 1.0 / y;
        y += 1.0;
    }
    let r = 1.0 / y;
    // B_2k / 2k.
    let series = horner!(
        r * r,
        [
            1.0 / 12.0,
            -1.0 / 120.0,
            1.0 / 252.0,
            -1.0 / 240.0,
            1.0 / 132.0,
            -691.0 / 32760.0,
            1.0 / 12.0,
            -3617.0 / 8160.0
        ]
    );
    sum + (y.ln() - (0.5 * r + r * r * series))
}

/// The n-th derivative of [`digamma`]; NaN if `n` is not a whole number from 0 on.
pub(super) fn polygamma(n: f64, x: f64) -> f64 {
    /// Where `n!` overflows.
    const MOST: f64 = 171.0;
    if n == 0.0 {
        return digamma(x);
    }
    if !(n > 0.0 && n < MOST && n.fract() == 0.0) || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let s = n as i32 + 1;
    let sign = if s % 2 == 0 { 1.0 } else { -1.0 };
    let pole = |odd: f64| if s % 2 == 0 { f64::INFINITY } else { odd };
    let sum = if x > 0.0 {
        zeta(s, x)
    } else if x == 0.0 {
        return pole(f64::INFINITY.copysign(-x));
    } else {
        let f = x - x.floor();
        if f == 0.0 {
            return pole(f64::NAN);
        }
        // The sum over all integers k of 1 / (x + k)^s, less that over k < 0.
        zeta(s, f) + sign * (zeta(s, 1.0 - f) - zeta(s, 1.0 - x))
    };
    let factorial: f64 = (2..s).map(f64::from).product();
    sign * factorial * sum
}

/// `zeta(s, q)` for `q > 0` and `s >= 2`: the first terms, and the rest by Euler and Maclaurin,
/// `a^-s (a / (s - 1) + 1 / 2 + s / 12 a - s (s + 1) (s + 2) / 720 a^3 + ..)`.
fn zeta(s: i32, q: f64) -> f64 {
    /// `B_2k / (2k)!` by the one before.
    const RATIO: [f64; 8] = [
        -1.0 / 60.0,
        -1.0 / 42.0,
        -1.0 / 40.0,
        -5.0 / 198.0,
        -691.0 / 27300.0,
        -35.0 / 1382.0,
        -3617.0 / 142800.0,
        -219335.0 / 8659098.0,
    ];
    let w = f64::from(s);
    let (mut a, mut sum) = (q, 0.0);
    while a < FAR + w {
        sum += a.powi(-s);
        a += 1.0;
    }
    if a.is_infinite() {
        return sum;
    }
    let r = 1.0 / a;
    let mut term = w * r / 12.0;
    let mut series = a / (w - 1.0) + 0.5 + term;
    for (k, ratio) in (1i32..).zip(RATIO) {
        let i = w + f64::from(2 * k);
        term *= ratio * (i - 1.0) * i * (r * r);
        series += term;
    }
    sum + r.powi(s) * series
}
