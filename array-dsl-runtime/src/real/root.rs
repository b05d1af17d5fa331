//! The cube root and the length of a vector, written once for both types, as `elementary` is.
//!
//! ```text
//! cbrt x         y (1 - d)^(-1/3)                  y a number of few bits just below the root, so that d = (x - y^3) / x is small and
//!                                                  x - y^3 is exact
//! hypot(x, y)    2^-k sqrt((2^k x)^2 + (2^k y)^2)  for one of three k, so that no square overflows, or underflows and counts
//! ```
//!
//! A third of a float's bits, as an integer, plus a constant, is the bits of a number that is less than its root by at most a
//! thirteenth.
//!
//! Greatest errors measured, in units in the last place (`f64`, `f32`): `cbrt` 0.65, 0.64; `hypot` 1.2, 1.2.
//!
//! Sources: the first approximation of the cube root is that of fdlibm; the polynomial is minimax, computed for the interval that
//! what it leaves is in.

macro_rules! root {
    ($F:ident, $U:ident) => {
        #[inline(always)]
        pub fn cbrt(x: $F) -> $F {
            let a = x.abs();
            // Differences of subnormal and nearly subnormal numbers are not accurate.
            let tiny = a < CBRT_TINY;
            let (a, unit) = if tiny { (a * CBRT_UP, CBRT_DOWN) } else { (a, 1.0) };
            // The leading bits, of which the product with `THIRD` does not overflow, divided by 3.
            let third = ((a.to_bits() >> CBRT_DROPPED) * THIRD) >> THIRD_SHIFT;
            let y = $F::from_bits((third + CBRT_BIAS) << CBRT_DROPPED);
            let d = (a - y * y * y) / a;
            let root = unit * (y + y * (d * horner!(d, CBRT)));
            let root = root.copysign(x);
            if (x == 0.0) | (a == $F::INFINITY) { x } else { root }
        }

        #[inline(always)]
        pub fn hypot(x: $F, y: $F) -> $F {
            let (a, b) = (x.abs(), y.abs());
            let large = (a > SQUARE_MAX) | (b > SQUARE_MAX);
            let small = (a < SQUARE_MIN) & (b < SQUARE_MIN);
            let (up, down) = if small { (HYPOT_UP, 1.0 / HYPOT_UP) } else { (1.0, 1.0) };
            let (up, down) = if large { (1.0 / HYPOT_UP, HYPOT_UP) } else { (up, down) };
            let (p, q) = (up * a, up * b);
            let length = down * (p * p + q * q).sqrt();
            if (a == $F::INFINITY) | (b == $F::INFINITY) { $F::INFINITY } else { length }
        }
    };
}
