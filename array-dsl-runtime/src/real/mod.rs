//! Scalar functions for generated code.
//!
//! All but `lgamma` and its derivatives (`special`) are our own. They are branch-free, call nothing and look nothing up, so LLVM
//! vectorizes loops around them for whatever instruction set the loop is compiled for. They multiply and add without fusing, so
//! their results are the same on every processor.
//!
//! ```text
//! elementary   exp, exp2, exp_m1, ln, ln_1p, log2, log10, sinh, cosh, tanh, sigmoid
//! inverse      asin, acos, atan, atan2, asinh, acosh, atanh
//! error        erf, erfc
//! root         cbrt, hypot
//! f64, f32     sin, cos, tan, powf; the formats and the coefficients of all
//! ```
//!
//! * Errors are about 1 unit in the last place; the greatest measured is 2.3 (`erfc` of `f64`; `tan` of `f32` 2.9; `sin`, `cos` and
//!   `tan` of `f64` 1.9, 1.8 and 2.0). Special values are as in `std`.
//! * `sin`, `cos`, `tan`: so for every number. Reducing angles beyond 8e8 (`f64`) and 2.5e7 (`f32`) calls functions of `angle`.
//!   Where loops should be vectorized ([`sin`] and its neighbors, which code of regions calls), it is only recorded that there
//!   is such an angle, and the loop is executed again, with a test at each angle.

mod angle;
mod division;
#[macro_use]
mod elementary;
#[macro_use]
mod error;
#[macro_use]
mod inverse;
#[macro_use]
mod root;
mod f32;
mod f64;
mod power;
mod special;
#[cfg(test)]
mod tests;

pub use division::Division;
pub use power::PowExponent;

/// Evaluates a polynomial, coefficients from the constant one upwards.
macro_rules! horner {
    ($x:expr, $c:expr) => {{
        let (x, c) = ($x, $c);
        let mut sum = c[c.len() - 1];
        let mut i = c.len() - 1;
        while i > 0 {
            i -= 1;
            sum = sum * x + c[i];
        }
        sum
    }};
}
use horner;

/// The functions of real numbers that kernels have, for `f32` and `f64`.
#[allow(missing_docs, reason = "named as in `std`")]
pub trait Real: Copy {
    fn exp(x: Self) -> Self;
    fn exp2(x: Self) -> Self;
    fn exp_m1(x: Self) -> Self;
    fn ln(x: Self) -> Self;
    fn log2(x: Self) -> Self;
    fn log10(x: Self) -> Self;
    fn ln_1p(x: Self) -> Self;
    fn cbrt(x: Self) -> Self;
    fn sin(x: Self) -> Self;
    fn cos(x: Self) -> Self;
    fn tan(x: Self) -> Self;
    /// Whether [`Real::short_sin`] and its neighbors do not serve.
    fn is_long(x: Self) -> bool;
    /// The function of an angle that is not long, else some number.
    fn short_sin(x: Self) -> Self;
    fn short_cos(x: Self) -> Self;
    fn short_tan(x: Self) -> Self;
    fn asin(x: Self) -> Self;
    fn acos(x: Self) -> Self;
    fn atan(x: Self) -> Self;
    fn sinh(x: Self) -> Self;
    fn cosh(x: Self) -> Self;
    fn tanh(x: Self) -> Self;
    fn asinh(x: Self) -> Self;
    fn acosh(x: Self) -> Self;
    fn atanh(x: Self) -> Self;
    fn erf(x: Self) -> Self;
    /// `1 - erf(x)`, to full accuracy where it is small.
    fn erfc(x: Self) -> Self;
    /// `ln |gamma(x)|`.
    fn lgamma(x: Self) -> Self;
    /// The derivative of [`Real::lgamma`].
    fn digamma(x: Self) -> Self;
    /// The n-th derivative of [`Real::digamma`]; NaN if `n` is not a whole number from 0 on.
    fn polygamma(n: Self, x: Self) -> Self;
    /// `1 / (1 + exp(-x))`, to full accuracy in both tails.
    fn sigmoid(x: Self) -> Self;
    fn atan2(y: Self, x: Self) -> Self;
    fn hypot(x: Self, y: Self) -> Self;
    fn powf(x: Self, y: Self) -> Self;
    /// `x^i` by repeated squaring.
    fn powi(x: Self, i: impl PowExponent) -> Self;
    /// The derivative of [`Real::powi`] by `x`: `i * x^(i - 1)`, and 0 for `i = 0` whatever `x` is.
    fn powi_slope(x: Self, i: impl PowExponent) -> Self;
    /// The lesser; the other argument if one is NaN.
    fn min(x: Self, y: Self) -> Self;
    /// The greater; the other argument if one is NaN.
    fn max(x: Self, y: Self) -> Self;
    /// The product, and 0 if the first factor is 0, whatever the other is.
    fn scale(x: Self, y: Self) -> Self;
    /// -1, 0 or 1; NaN for NaN.
    fn signum0(x: Self) -> Self;
}

/// Functions of angles of any length.
macro_rules! angles {
    ($type:ident: $($name:ident $short:ident $long:ident),*) => {
        $(
            #[inline(always)]
            fn $name(x: $type) -> $type {
                match x.is_finite() && Self::is_long(x) {
                    true => self::$type::$long(x),
                    false => self::$type::$short(x),
                }
            }
        )*
    };
}

/// Functions of angles for the code of regions: without `LONG`, long ones give some number and set `long`.
macro_rules! in_regions {
    ($($name:ident $short:ident),*) => {
        $(
            #[allow(missing_docs, reason = "named as in `std`")]
            #[inline(always)]
            pub fn $name<const LONG: bool, T: Real>(x: T, long: &mut bool) -> T {
                if LONG {
                    return T::$name(x);
                }
                *long |= T::is_long(x);
                T::$short(x)
            }
        )*
    };
}

in_regions!(sin short_sin, cos short_cos, tan short_tan);

macro_rules! real {
    ($type:ident; ours: $($ours:ident)*; ours2: $($ours2:ident)*; std2: $($std2:ident)*; special: $($special:ident)*) => {
        impl Real for $type {
            $(
                #[inline(always)]
                fn $ours(x: $type) -> $type {
                    self::$type::$ours(x)
                }
            )*

            $(
                #[inline(always)]
                fn $ours2(x: $type, y: $type) -> $type {
                    self::$type::$ours2(x, y)
                }
            )*

            $(
                #[inline(always)]
                fn $std2(x: $type, y: $type) -> $type {
                    <$type>::$std2(x, y)
                }
            )*

            #[inline(always)]
            fn is_long(x: $type) -> bool {
                x.abs() > self::$type::SHORT
            }

            angles!($type: sin short_sin long_sin, cos short_cos long_cos, tan short_tan long_tan);

            $(
                #[inline]
                fn $special(x: $type) -> $type {
                    special::$special(f64::from(x)) as $type
                }
            )*

            #[inline]
            fn polygamma(n: $type, x: $type) -> $type {
                special::polygamma(f64::from(n), f64::from(x)) as $type
            }

            #[inline(always)]
            fn powi(x: $type, i: impl PowExponent) -> $type {
                power::powi(x, 1.0, i.to_i64())
            }

            #[inline(always)]
            fn powi_slope(x: $type, i: impl PowExponent) -> $type {
                let i = i.to_i64();
                if i == 0 { 0.0 } else { i as $type * power::powi(x, 1.0, i.saturating_sub(1)) }
            }

            #[inline(always)]
            fn scale(x: $type, y: $type) -> $type {
                let product = x * y;
                if x == 0.0 { 0.0 } else { product }
            }

            #[inline(always)]
            fn signum0(x: $type) -> $type {
                // Zeros and NaN are their own results.
                let negative = if x < 0.0 { -1.0 } else { x };
                if x > 0.0 { 1.0 } else { negative }
            }
        }
    };
}

real!(f32; ours: exp exp2 exp_m1 ln log2 log10 ln_1p short_sin short_cos short_tan sinh cosh tanh sigmoid
    asin acos atan asinh acosh atanh erf erfc cbrt; ours2: atan2 hypot powf; std2: min max; special: lgamma digamma);
real!(f64; ours: exp exp2 exp_m1 ln log2 log10 ln_1p short_sin short_cos short_tan sinh cosh tanh sigmoid
    asin acos atan asinh acosh atanh erf erfc cbrt; ours2: atan2 hypot powf; std2: min max; special: lgamma digamma);
