//! Inverse trigonometric and hyperbolic functions, written once for both types, as `elementary` is.
//!
//! Each is reduced to an odd series `r + r^3 P(r^2)` in a short interval. With `a = |x|`:
//!
//! ```text
//! atan      r = n / d                            n <= 3/8 d          n <= d are 1 and a, or |x| and |y|
//!           r = (2 n - d) / (2 d + n)            n <= 11/16 d        plus atan 1/2
//!           r = (n - d) / (n + d)                else                plus pi / 4
//! asin      r = a                                a <= 1/2
//!           r = sqrt((1 - a) / 2)                else                pi / 2 - 2 asin r
//! atanh     r = a                                a <= 1/4
//!           r = (1 + a - d) / (1 + a + d)        d = 2^k (1 - a)     plus k ln 2 / 2;  1 + a = d to within a factor of 3/2
//! asinh     ln(1 + a + a^2 / (1 + sqrt(1 + a^2)))
//! acosh     ln(1 + t + sqrt(t (x + 1)))                              t = x - 1, exact
//! ```
//!
//! What a reduction rounds is kept where it would count: the low part of the argument of the logarithm; that of `1 + a` and `1 - a`,
//! whose difference cancels.
//!
//! Greatest errors measured, in units in the last place (`f64`, `f32`): `asin` and `acos` 1.2, 1.2; `atan` 0.92,
//! 0.94; `atan2` 1.5, 1.6; `asinh` 1.3, 1.3; `acosh` 2.2, 2.2; `atanh` 1.4, 1.4.
//!
//! Sources: the identities are those of every handbook, and reductions by them are in fdlibm; the polynomials are minimax, computed
//! for these intervals.

macro_rules! inverse {
    ($F:ident, $U:ident) => {
        /// The angle between the axis and `(d, n)` with `0 <= n <= d`, as a short number and the rest.
        #[inline(always)]
        fn octant(n: $F, d: $F) -> ($F, $F) {
            let (low, middle) = (n <= 0.375 * d, n <= 0.6875 * d);
            let (above, below) = if middle { (2.0 * n - d, 2.0 * d + n) } else { (n - d, n + d) };
            let (hi, lo) = if middle { (ATAN_HALF_HI, ATAN_HALF_LO) } else { (ATAN_1_HI, ATAN_1_LO) };
            let (above, below) = if low { (n, d) } else { (above, below) };
            let (hi, lo) = if low { (0.0, 0.0) } else { (hi, lo) };
            let r = above / below;
            let z = r * r;
            (hi, r + (r * (z * horner!(z, ATAN)) + lo))
        }

        #[inline(always)]
        pub fn atan(x: $F) -> $F {
            let a = x.abs();
            // One condition for all would be made a branch, with the octant on both sides of it.
            let n = if a > 1.0 { 1.0 } else { a };
            let d = if a >= 1.0 { a } else { 1.0 };
            let steep = d > 1.0;
            let (hi, lo) = octant(n, d);
            let (base_hi, base_lo) = if steep { (PI_2_HI, PI_2_LO) } else { (0.0, 0.0) };
            let (hi, lo) = if steep { (-hi, -lo) } else { (hi, lo) };
            ((base_hi + hi) + (base_lo + lo)).copysign(x)
        }

        /// The angle in the octant, negated or not, plus a multiple of a right angle.
        #[inline(always)]
        pub fn atan2(y: $F, x: $F) -> $F {
            let (a, b) = (x.abs(), y.abs());
            let (steep, behind) = (b > a, x.is_sign_negative());
            let (n, d) = if steep { (a, b) } else { (b, a) };
            // Of two infinite numbers, and of two zeros, as of 1 and 1, and of 0 and 1.
            let infinite = (n == $F::INFINITY) & (d == $F::INFINITY);
            let n = if infinite { 1.0 } else { n };
            let d = if infinite | (d == 0.0) { 1.0 } else { d };
            // So that sums do not overflow; what this takes from `n` does not count.
            let scale = if d > 0.125 * $F::MAX { 0.125 } else { 1.0 };
            let (hi, lo) = octant(scale * n, scale * d);
            let (base_hi, base_lo) = if steep { (PI_2_HI, PI_2_LO) } else { (2.0 * PI_2_HI, 2.0 * PI_2_LO) };
            let plain = !steep & !behind;
            let (base_hi, base_lo) = if plain { (0.0, 0.0) } else { (base_hi, base_lo) };
            let (hi, lo) = if steep != behind { (-hi, -lo) } else { (hi, lo) };
            ((base_hi + hi) + (base_lo + lo)).copysign(y)
        }

        /// A number, what its arc sine has more than it, and whether that is the angle's; else it is half of what is missing to a
        /// right angle.
        #[inline(always)]
        fn arc(a: $F) -> ($F, $F, bool) {
            let near = a <= 0.5;
            let half = 0.5 * (1.0 - a);
            let (z, r) = if near { (a * a, a) } else { (half, half.sqrt()) };
            (r, r * (z * horner!(z, ASIN)), near)
        }

        #[inline(always)]
        pub fn asin(x: $F) -> $F {
            let (r, more, near) = arc(x.abs());
            // Where the result is less than 1 this difference may be more, so what it rounds counts.
            let hi = PI_2_HI - 2.0 * r;
            let far = hi + ((((PI_2_HI - hi) - 2.0 * r) + PI_2_LO) - 2.0 * more);
            (if near { r + more } else { far }).copysign(x)
        }

        #[inline(always)]
        pub fn acos(x: $F) -> $F {
            let (r, more, near) = arc(x.abs());
            let y = r + more;
            let middle = PI_2_HI - (y.copysign(x) - PI_2_LO);
            let behind = 2.0 * (PI_2_HI - (y - PI_2_LO));
            let far = if x < 0.0 { behind } else { 2.0 * y };
            if near { middle } else { far }
        }

        #[inline(always)]
        pub fn atanh(x: $F) -> $F {
            const INTEGER: $F = (1u64 << MANTISSA) as $F;
            /// For a quotient's exponent to be the nearest integer.
            const HALF: $U = (1.5 as $F).to_bits();
            let a = x.abs();
            let near = a <= 0.25;
            let (n, d) = (1.0 + a, 1.0 - a);
            let (n_lo, d_lo) = (a - (n - 1.0), (1.0 - d) - a);
            // As an integer, the bits of a positive number are roughly its logarithm to base 2.
            let bits = n.to_bits().wrapping_sub(d.to_bits()).wrapping_add(HALF) >> MANTISSA;
            let power = $F::from_bits(bits << MANTISSA);
            let k = $F::from_bits(bits | INTEGER.to_bits()) - (INTEGER + BIAS as $F);
            let d = power * d;
            let far = ((n - d) + (n_lo - power * d_lo)) / (n + d);
            let r = if near { a } else { far };
            let k = if near { 0.0 } else { 0.5 * k };
            let z = r * r;
            let y = k * LN2_HI + (r + (r * (z * horner!(z, ATANH)) + k * LN2_LO));
            let y = if a == 1.0 { $F::INFINITY } else { y };
            if a <= 1.0 { y.copysign(x) } else { $F::NAN }
        }

        /// `ln(1 + t + rest)`, or for `a >= FAR` instead `ln(2 a)`, which is the same to within rounding.
        #[inline(always)]
        fn log_of_sum(t: $F, rest: $F, a: $F) -> $F {
            let far = a >= FAR;
            let u = 1.0 + t;
            let kept = u - 1.0;
            let error = (1.0 - (u - kept)) + (t - kept) + rest;
            let (k, f) = split(if far { a } else { u });
            let near = k == 0.0;
            let f = if near { t } else { f };
            let correction = (if near { rest } else { error }) / u;
            let correction = if far { 0.0 } else { correction };
            let k = if far { k + 1.0 } else { k };
            let (square, series) = log_terms(f);
            let y = k * LN2_HI - ((square - (series + (k * LN2_LO + correction))) - f);
            if a < $F::INFINITY { y } else { a }
        }

        #[inline(always)]
        pub fn asinh(x: $F) -> $F {
            let a = x.abs();
            let square = a * a;
            let more = square / (1.0 + (1.0 + square).sqrt());
            let t = a + more;
            log_of_sum(t, (a - t) + more, a).copysign(x)
        }

        #[inline(always)]
        pub fn acosh(x: $F) -> $F {
            let less = x - 1.0;
            let root = (less * (x + 1.0)).sqrt();
            let t = root + less;
            let y = log_of_sum(t, (root - t) + less, x);
            if x >= 1.0 { y } else { $F::NAN }
        }
    };
}
