//! Exponentials and logarithms, written once for both types. `elementary!` is expanded in a module that has the type's
//! format and coefficients as constants.
//!
//! Conditions are selections between values that are all computed. Integers are rounded to, and read from, the low bits
//! of a float by adding `1.5 * 2^mantissa bits`, since conversions to integers do not vectorize everywhere.
//!
//! Sources: the argument reductions are those of fdlibm; the polynomials are minimax, computed for these intervals.

macro_rules! elementary {
    ($F:ident, $U:ident) => {
        use super::horner;

        /// `x = k ln 2 + (hi - lo)` with `|hi - lo| <= ln 2 / 2`. Returns the bits that have `k + 2 bias` lowest,
        /// `hi` and `lo`. `x` must not be so large that `k` leaves the exponent's range by more than its half.
        #[inline(always)]
        fn reduce(x: $F) -> ($U, $F, $F) {
            let shifted = x * std::$F::consts::LOG2_E + ROUND;
            let k = shifted - ROUND;
            // Exact: `LN2_HI` has as many trailing zeros as `k` has bits.
            (shifted.to_bits(), x - k * LN2_HI, k * LN2_LO)
        }

        /// `y 2^k`, with `k + 2 bias` in the low bits of `bits`. In two steps, of which only the second can overflow or
        /// round, because `2^k` alone may be out of range.
        #[inline(always)]
        fn scale(y: $F, bits: $U) -> $F {
            let exponent = bits & EXPONENT_BITS;
            let half = exponent >> 1;
            y * $F::from_bits(half << MANTISSA) * $F::from_bits((exponent - half) << MANTISSA)
        }

        /// `e^x factor`, where `factor` is about 1. With `r = hi - lo`: `e^r = 1 + r + r^2 P(r)`.
        #[inline(always)]
        fn exp_times(x: $F, factor: $F) -> $F {
            // NaN passes through both selections.
            let x = if x > EXP_MAX { EXP_MAX } else { x };
            let x = if x < EXP_MIN { EXP_MIN } else { x };
            let (bits, hi, lo) = reduce(x);
            let r = hi - lo;
            let y = 1.0 + (hi + (r * r * horner!(r, EXP) - lo));
            scale(y * factor, bits)
        }

        #[inline(always)]
        pub fn exp(x: $F) -> $F {
            exp_times(x, 1.0)
        }

        /// `2^x = 2^k e^(f ln 2)` with `x = k + f` exactly.
        #[inline(always)]
        pub fn exp2(x: $F) -> $F {
            let x = if x > EXP2_MAX { EXP2_MAX } else { x };
            let x = if x < EXP2_MIN { EXP2_MIN } else { x };
            let shifted = x + ROUND;
            let r = (x - (shifted - ROUND)) * std::$F::consts::LN_2;
            scale(1.0 + (r + r * r * horner!(r, EXP)), shifted.to_bits())
        }

        /// `(e^x - 1) / 4`, for `EXP_M1_MIN <= x <= EXP_MAX` or NaN; the divisor keeps it finite there. With `s = 2^k / 4`
        /// it is `(s - 1/4) + s r + s r^2 P(r)`, where the first sum cancels and is therefore made exact.
        #[inline(always)]
        fn exp_m1_quarter(x: $F) -> $F {
            let (bits, hi, lo) = reduce(x);
            let r = hi - lo;
            let s = $F::from_bits(bits.wrapping_sub(BIAS + 2) << MANTISSA);
            let (a, b) = (s - 0.25, s * hi);
            let sum = a + b;
            let kept = sum - a;
            let error = (a - (sum - kept)) + (b - kept);
            sum + (error + s * (r * r * horner!(r, EXP) - lo))
        }

        #[inline(always)]
        pub fn exp_m1(x: $F) -> $F {
            let c = if x > EXP_MAX { EXP_MAX } else { x };
            let c = if c < EXP_M1_MIN { EXP_M1_MIN } else { c };
            let y = 4.0 * exp_m1_quarter(c);
            if x.abs() < TINY { x } else { y }
        }

        /// With `t = e^|x| - 1`: `|sinh x| = (t + t / (t + 1)) / 2`.
        #[inline(always)]
        pub fn sinh(x: $F) -> $F {
            let a = x.abs();
            let quarter = exp_m1_quarter(if a > EXP_MAX { EXP_MAX } else { a });
            let half = 2.0 * quarter;
            let y = (half + quarter / (half + 0.5)).copysign(x);
            if a < TINY { x } else { y }
        }

        /// With `t = e^|x| / 2`: `cosh x = t + 1 / 4 t`.
        #[inline(always)]
        pub fn cosh(x: $F) -> $F {
            let t = exp_times(x.abs(), 0.5);
            t + 0.25 / t
        }

        /// With `t = e^(2 |x|) - 1`: `|tanh x| = t / (t + 2)`.
        #[inline(always)]
        pub fn tanh(x: $F) -> $F {
            let a = x.abs();
            let quarter = exp_m1_quarter(2.0 * if a > TANH_MAX { TANH_MAX } else { a });
            let y = (quarter / (quarter + 0.5)).copysign(x);
            if a < TINY { x } else { y }
        }

        /// `1 / (1 + e^-|x|)`, times `e^-|x|` for negative `x`.
        #[inline(always)]
        pub fn sigmoid(x: $F) -> $F {
            let e = exp(-x.abs());
            let numerator = if x >= 0.0 { 1.0 } else { e };
            numerator / (1.0 + e)
        }

        /// `x = 2^k m` with `sqrt(1/2) <= m < sqrt(2)`, for positive normal `x`: returns `k` and `m - 1`.
        #[inline(always)]
        fn split(x: $F) -> ($F, $F) {
            const SQRT_HALF: $U = std::$F::consts::FRAC_1_SQRT_2.to_bits();
            const INTEGER: $F = ((1 as $U) << MANTISSA) as $F;
            let bits = x.to_bits().wrapping_add((1.0 as $F).to_bits() - SQRT_HALF);
            let m = $F::from_bits((bits & MANTISSA_BITS) + SQRT_HALF);
            let k = $F::from_bits((bits >> MANTISSA) | INTEGER.to_bits()) - (INTEGER + BIAS as $F);
            (k, m - 1.0)
        }

        /// As [`split`], for subnormal `x` too.
        #[inline(always)]
        fn split_any(x: $F) -> ($F, $F) {
            let subnormal = x < $F::MIN_POSITIVE;
            let (k, f) = split(if subnormal { x * SUBNORMAL } else { x });
            (if subnormal { k - SUBNORMAL_EXPONENT } else { k }, f)
        }

        /// `log(1 + f) = f - (square - rest)` with `square = f^2 / 2` and, with `s = f / (2 + f)`, `rest = s (square + s^2 P(s^2))`.
        #[inline(always)]
        fn log_terms(f: $F) -> ($F, $F) {
            let square = 0.5 * f * f;
            let s = f / (2.0 + f);
            let z = s * s;
            (square, s * (square + z * horner!(z, LN)))
        }

        /// The logarithm `y` of a positive finite number, put right for all others.
        #[inline(always)]
        fn log_cases(x: $F, y: $F) -> $F {
            let y = if x == $F::INFINITY { x } else { y };
            let y = if x == 0.0 { $F::NEG_INFINITY } else { y };
            if x >= 0.0 { y } else { $F::NAN }
        }

        /// `k ln 2 + log(1 + f)`.
        #[inline(always)]
        pub fn ln(x: $F) -> $F {
            let (k, f) = split_any(x);
            let (square, rest) = log_terms(f);
            log_cases(x, k * LN2_HI - ((square - (rest + k * LN2_LO)) - f))
        }

        /// The logarithm of `u = fl(1 + x)` plus the correction `(1 + x - u) / u`; of `1 + x` itself where `k = 0`.
        #[inline(always)]
        pub fn ln_1p(x: $F) -> $F {
            let u = 1.0 + x;
            let kept = u - 1.0;
            let error = (1.0 - (u - kept)) + (x - kept);
            let (k, f) = split(u);
            let f = if k == 0.0 { x } else { f };
            let correction = if k == 0.0 { 0.0 } else { error / u };
            let (square, rest) = log_terms(f);
            let y = k * LN2_HI - ((square - (rest + (k * LN2_LO + correction))) - f);
            let y = log_cases(u, y);
            if x.abs() < TINY { x } else { y }
        }

        /// The high half of a number, so that products of two are exact.
        #[inline(always)]
        fn short(x: $F) -> $F {
            $F::from_bits(x.to_bits() & HIGH_BITS)
        }

        /// `log(1 + f)` as a number of few bits and the rest.
        #[inline(always)]
        fn log_parts(f: $F) -> ($F, $F) {
            let (square, rest) = log_terms(f);
            let hi = short(f - square);
            (hi, (f - hi) - square + rest)
        }

        /// `k + log(1 + f) / ln 2`, the quotient in two parts so that powers of 2 are exact.
        #[inline(always)]
        pub fn log2(x: $F) -> $F {
            let (k, f) = split_any(x);
            let (hi, lo) = log_parts(f);
            let high = hi * LOG2_E_HI;
            let low = (lo + hi) * LOG2_E_LO + lo * LOG2_E_HI;
            let sum = k + high;
            log_cases(x, sum + (low + ((k - sum) + high)))
        }

        /// `k log10(2) + log(1 + f) / ln 10`, in two parts as `log2`.
        #[inline(always)]
        pub fn log10(x: $F) -> $F {
            let (k, f) = split_any(x);
            let (hi, lo) = log_parts(f);
            let (whole, high) = (k * LOG10_2_HI, hi * LOG10_E_HI);
            let low = k * LOG10_2_LO + ((lo + hi) * LOG10_E_LO + lo * LOG10_E_HI);
            let sum = whole + high;
            log_cases(x, sum + (low + ((whole - sum) + high)))
        }

        /// Whether `y` is an integer; infinities are.
        #[inline(always)]
        fn is_integer(y: $F) -> bool {
            const INTEGER: $F = ((1 as $U) << MANTISSA) as $F;
            let a = y.abs();
            (a >= INTEGER) | ((a + INTEGER) - INTEGER == a)
        }

        /// `x^y` from `power = |x|^y`, which is right where `|x|` is positive and finite.
        #[inline(always)]
        fn power_cases(x: $F, y: $F, power: $F) -> $F {
            let a = x.abs();
            let (at_zero, at_infinity) = if y > 0.0 { (0.0, $F::INFINITY) } else { ($F::INFINITY, 0.0) };
            let power = if a == 0.0 { at_zero } else { power };
            let power = if a == $F::INFINITY { at_infinity } else { power };
            let odd = is_integer(y) & !is_integer(0.5 * y);
            let power = if x.is_sign_negative() & odd { -power } else { power };
            let undefined = (x < 0.0) & (a < $F::INFINITY) & !is_integer(y);
            let power = if undefined | x.is_nan() | y.is_nan() { $F::NAN } else { power };
            if (y == 0.0) | (x == 1.0) { 1.0 } else { power }
        }
    };
}
