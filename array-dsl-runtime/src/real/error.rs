//! The error function and its complement, written once for both types, as `elementary` is.
//!
//! ```text
//! erf x  = x + x P(x^2)                     |x| <= 1
//! erf x  = 1 - e^Q(x)                       1 < x: Q = ln erfc need be accurate only as far as the power counts beside 1
//! erfc x = e^(-x^2) P(t) / (1 + x)          0 <= x, t = (x - c) / (x + c)
//! erfc x = 2 - erfc(-x)                     x < 0
//! ```
//!
//! An error of `x^2` would be one of the power hundreds of times as great, so the square is in two parts: of the high half of
//! `x`, which is exact, and of the rest. What rounding takes from `1 + x`, from the last sum of `P` and from the quotient is a
//! correction of the power.
//!
//! Greatest errors measured, in units in the last place (`f64`, `f32`): `erf` 1.6, 1.5; `erfc` 2.3, 2.1.
//!
//! Sources: the map of the half-line to an interval, in which `e^(x^2) erfc x` times a linear factor is smooth, is that of Shepherd
//! and Laframboise (Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity, 1981); the polynomials are minimax,
//! computed for these intervals.

macro_rules! error {
    ($F:ident) => {
        #[inline(always)]
        pub fn erf(x: $F) -> $F {
            let a = x.abs();
            let near = a + a * horner!(a * a, ERF);
            let c = if a > ERF_MAX { ERF_MAX } else { a };
            let (bits, hi, lo) = reduce(horner!(c, LN_ERFC));
            let r = hi - lo;
            let power = $F::from_bits(bits.wrapping_sub(BIAS) << MANTISSA);
            let far = 1.0 - power * (1.0 + (hi + (r * r * horner!(r, EXP) - lo)));
            (if a <= 1.0 { near } else { far }).copysign(x)
        }

        #[inline(always)]
        pub fn erfc(x: $F) -> $F {
            let a = x.abs();
            let a = if a > ERFC_MAX { ERFC_MAX } else { a };
            let t = (a - ERFC_CENTER) / (a + ERFC_CENTER);
            // n / d, and what is missing to it.
            let rest = t * horner!(t, ERFC);
            let n = ERFC_FIRST + rest;
            let d = 1.0 + a;
            let kept = d - 1.0;
            let (n_lo, d_lo) = ((ERFC_FIRST - n) + rest, (1.0 - (d - kept)) + (a - kept));
            let q = n / d;
            let (q_hi, d_hi) = (short(q), short(d));
            let left = ((n - q_hi * d_hi) - q_hi * (d - d_hi)) - (q - q_hi) * d;
            // Divided by n, accurately enough for a correction.
            let missing = (left + (n_lo - q * d_lo)) * (1.4 + 0.4 * t);
            let high = short(a);
            let (bits, hi, lo) = reduce(-high * high);
            let lo = lo + (a - high) * (a + high);
            let r = hi - lo;
            let y = scale(q + q * (hi + (r * r * horner!(r, EXP) - (lo - missing))), bits);
            if x < 0.0 { 2.0 - y } else { y }
        }
    };
}
