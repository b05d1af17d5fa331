//! Functions that `std` lacks: those of analysis by the series that define them, slow, and accurate to some 14 digits.

use std::f64::consts::PI;
use std::ops::{Div, MulAssign};

/// `erf x = 2 / sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / (3 * 5) + ..)`; far out, the complement's complement.
pub(super) fn erf(x: impl Into<f64>) -> f64 {
    let x = x.into();
    let a = x.abs();
    if a > 2.0 {
        return (1.0 - erfc(a)).copysign(x);
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..100 {
        term *= 2.0 * x * x / f64::from(2 * k + 1);
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// From 1 on, Laplace's continued fraction: `exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ..))))`.
pub(super) fn erfc(x: impl Into<f64>) -> f64 {
    let x = x.into();
    if x < 1.0 || x.is_nan() {
        return 1.0 - erf(x);
    }
    let fraction = (1..=300).rev().fold(x, |rest, k| x + f64::from(k) / 2.0 / rest);
    (-x * x).exp() / PI.sqrt() / fraction
}

/// `B_2, B_4, ..`, Bernoulli's numbers.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
];

/// Where asymptotic series are summed; recurrences lead there.
const FAR: f64 = 20.0;

/// `ln |gamma(x)|`: Stirling's series, for `x < 1/2` by reflection, with poles at 0, -1, -2, ..
pub(super) fn lgamma(x: impl Into<f64>) -> f64 {
    let x = x.into();
    if x.is_infinite() {
        return f64::INFINITY;
    }
    if x < 0.5 {
        let off = x - x.round();
        return if off == 0.0 { f64::INFINITY } else { (PI / (PI * off).sin().abs()).ln() - lgamma(1.0 - x) };
    }
    let (mut y, mut product) = (x, 1.0f64);
    while y < FAR {
        product *= y;
        y += 1.0;
    }
    let series: f64 =
        (1i32..).zip(BERNOULLI).map(|(k, b)| b / f64::from(2 * k * (2 * k - 1)) * y.powi(1 - 2 * k)).sum();
    (y - 0.5) * y.ln() - y + 0.5 * (2.0 * PI).ln() + series - product.ln()
}

/// The derivative of `lgamma`: `ln x - 1 / 2x - B_2 / 2 x^2 - B_4 / 4 x^4 - ..`
pub(super) fn digamma(x: impl Into<f64>) -> f64 {
    let x = x.into();
    if x <= 0.0 {
        let off = x - x.round();
        return match x {
            0.0 => f64::INFINITY.copysign(-x),
            _ if off == 0.0 || x.is_infinite() => f64::NAN,
            _ => digamma(1.0 - x) - PI / (PI * off).tan(),
        };
    }
    let (mut y, mut sum) = (x, 0.0);
    while y < FAR {
        sum -= 1.0 / y;
        y += 1.0;
    }
    let series: f64 = (1i32..).zip(BERNOULLI).map(|(k, b)| b / f64::from(2 * k) * y.powi(-2 * k)).sum();
    sum + y.ln() - 0.5 / y - series
}

/// By squaring, for exponents that `powi` of the standard library does not take.
pub(super) fn powi<T: Copy + From<u8> + MulAssign + Div<Output = T>>(x: T, n: i64) -> T {
    let (mut power, mut square, mut rest) = (T::from(1), x, n.unsigned_abs());
    while rest > 0 {
        if rest % 2 == 1 {
            power *= square;
        }
        square *= square;
        rest /= 2;
    }
    if n < 0 { T::from(1) / power } else { power }
}

/// The n-th derivative of `digamma`, for whole `n`: `(-1)^(n+1) n! zeta(n + 1, x)`.
pub(super) fn polygamma(n: impl Into<f64>, x: impl Into<f64>) -> f64 {
    let (n, x) = (n.into(), x.into());
    if n == 0.0 {
        return digamma(x);
    }
    if !(n > 0.0 && n < 200.0 && n.fract() == 0.0) || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let s = n as i32 + 1;
    let sign = if s % 2 == 0 { 1.0 } else { -1.0 };
    let sum = if x > 0.0 {
        zeta(s, x)
    } else if x == 0.0 {
        return if s % 2 == 0 { f64::INFINITY } else { f64::INFINITY.copysign(-x) };
    } else {
        let f = x - x.floor();
        if f == 0.0 {
            return if s % 2 == 0 { f64::INFINITY } else { f64::NAN };
        }
        // The sum over all integers, without the one over those below: those are the positive ones of 1 - x.
        zeta(s, f) + sign * (zeta(s, 1.0 - f) - zeta(s, 1.0 - x))
    };
    sign * (2..s).map(f64::from).product::<f64>() * sum
}

/// `1 / q^s + 1 / (q + 1)^s + ..` for positive `q`, the far terms by Euler and Maclaurin's formula.
fn zeta(s: i32, q: f64) -> f64 {
    let (mut a, mut sum) = (q, 0.0);
    while a < FAR + f64::from(s) {
        sum += a.powi(-s);
        a += 1.0;
    }
    let mut tail = a.powi(1 - s) / f64::from(s - 1) + 0.5 * a.powi(-s);
    // s (s + 1) .. (s + 2 k - 2) / (2 k)! a^-(s + 2 k - 1)
    let mut factor = f64::from(s) / 2.0 * a.powi(-s - 1);
    for (k, b) in (1i32..).zip(BERNOULLI) {
        tail += b * factor;
        let (i, j) = (f64::from(s + 2 * k - 1), f64::from(2 * k + 1));
        factor *= i * (i + 1.0) / (j * (j + 1.0)) / (a * a);
    }
    sum + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let table = include_str!("../../../array-dsl-runtime/src/real/special.csv");
        for row in table.lines().skip(1) {
            let mut parts = row.split(',');
            let (name, mut number) =
                (parts.next().expect("a name"), || parts.next().expect("two").parse::<f64>());
            let (x, y) = (number().expect("a number"), number().expect("a number"));
            let found = match name {
                "erf" => erf(x),
                "erfc" => erfc(x),
                "lgamma" => lgamma(x),
                "digamma" => digamma(x),
                name => {
                    let n = name.strip_prefix("polygamma").and_then(|n| n.parse::<f64>().ok());
                    polygamma(n.expect("an order"), x)
                }
            };
            assert!((found - y).abs() <= 3e-14 * (1.0 + y.abs()), "{name}({x}) = {found}, not {y}");
        }
        assert!((erfc(6.0) / 2.1519736712498913e-17 - 1.0).abs() < 1e-13);
        assert_eq!((erf(f64::INFINITY), erfc(f64::NEG_INFINITY)), (1.0, 2.0));
        assert!(erf(f64::NAN).is_nan() && lgamma(f64::NAN).is_nan() && digamma(-1.0).is_nan());
        assert_eq!((lgamma(-2.0), digamma(0.0), lgamma(1.0)), (f64::INFINITY, f64::NEG_INFINITY, 0.0));
    }
}
