//! Powers.

use super::{
    EXP, EXP2_MAX, EXP2_MIN, MANTISSA, MANTISSA_BITS, ROUND, SUBNORMAL, SUBNORMAL_EXPONENT, horner,
    power_cases, scale, short,
};

/// `(log((1 + s) / (1 - s)) 3 / 2 s - 3 - s^2) / s^4` in `s^2`, for `|s| <= 0.101`.
const POW: [f64; 6] = [
    0.5999999999999982,
    0.4285714285753923,
    0.33333333085934946,
    0.272727962571156,
    0.2306726330616874,
    0.2066382395984898,
];
/// `2 / (3 ln 2)`, and the same as a short number and the rest.
const TWO_THIRDS_LOG2_E: f64 = 0.961_796_693_925_975_6;
const TWO_THIRDS_LOG2_E_HI: f64 = 0.961_796_700_954_437_3;
const TWO_THIRDS_LOG2_E_LO: f64 = -7.028_461_650_952_758e-9;
/// `log2(3/2)` as a short number and the rest.
const LOG2_3_2_HI: f64 = 0.584_962_487_220_764_2;
const LOG2_3_2_LO: f64 = 1.350_039_202_129_749e-8;

/// `log2 x` for positive finite `x` as a short number and the rest, with some 15 bits more than a float has: what
/// multiplication by an exponent of 2^10 leaves must still be accurate. The method is fdlibm's: `x = 2^k m` with `m` around
/// `c`, 1 or 3/2, and `log(m / c)` as a series in `s = (m - c) / (m + c)` of which the leading terms are carried in two parts.
#[inline(always)]
fn log2_parts(x: f64) -> (f64, f64) {
    let subnormal = x < f64::MIN_POSITIVE;
    let bits = (if subnormal { x * SUBNORMAL } else { x }).to_bits();
    let m = f64::from_bits((bits & MANTISSA_BITS) | 1f64.to_bits());
    let above = m >= 1.732_050_807_568_877_2;
    let middle = (m >= 1.224_744_871_391_589) & !above;
    let k = f64::from_bits((bits >> MANTISSA) | 4_503_599_627_370_496f64.to_bits())
        - (4_503_599_627_370_496.0 + 1023.0);
    let k = if subnormal { k - SUBNORMAL_EXPONENT } else { k };
    let k = if above { k + 1.0 } else { k };
    let m = if above { 0.5 * m } else { m };
    let (c, log_c_hi, log_c_lo) = if middle { (1.5, LOG2_3_2_HI, LOG2_3_2_LO) } else { (1.0, 0.0, 0.0) };
    // s = s_hi + s_lo
    let (difference, sum) = (m - c, m + c);
    let inverse = 1.0 / sum;
    let s = difference * inverse;
    let s_hi = short(s);
    let sum_hi = short(sum);
    let sum_lo = m - (sum_hi - c);
    let s_lo = inverse * ((difference - s_hi * sum_hi) - s_hi * sum_lo);
    // series = 3 + s^2 + s^4 P(s^2) = t_hi + t_lo
    let z = s * s;
    let rest = z * z * horner!(z, POW) + s_lo * (s_hi + s);
    let square = s_hi * s_hi;
    let t_hi = short(3.0 + square + rest);
    let t_lo = rest - ((t_hi - 3.0) - square);
    // s series = p_hi + p_lo
    let leading = s_hi * t_hi;
    let trailing = s_lo * t_hi + t_lo * s;
    let p_hi = short(leading + trailing);
    let p_lo = trailing - (p_hi - leading);
    let log_hi = TWO_THIRDS_LOG2_E_HI * p_hi;
    let log_lo = TWO_THIRDS_LOG2_E_LO * p_hi + p_lo * TWO_THIRDS_LOG2_E + log_c_lo;
    let hi = short(((log_hi + log_lo) + log_c_hi) + k);
    (hi, log_lo - (((hi - k) - log_c_hi) - log_hi))
}

/// `2^(y log2 |x|)`, the product in two parts.
#[inline(always)]
pub fn powf(x: f64, y: f64) -> f64 {
    /// Where every power of a number that is not 1 overflows or underflows.
    const LONG: f64 = 18_446_744_073_709_551_616.0;
    let (log_hi, log_lo) = log2_parts(x.abs());
    let c = if y > LONG { LONG } else { y };
    let c = if c < -LONG { -LONG } else { c };
    let c_hi = short(c);
    let (hi, lo) = (c_hi * log_hi, (c - c_hi) * log_hi + c * log_lo);
    let sum = hi + lo;
    let (above, below) = (sum > EXP2_MAX, sum < EXP2_MIN);
    let hi = if above { EXP2_MAX } else { hi };
    let hi = if below { EXP2_MIN } else { hi };
    let lo = if above | below { 0.0 } else { lo };
    let shifted = (hi + lo) + ROUND;
    let r = ((hi - (shifted - ROUND)) + lo) * std::f64::consts::LN_2;
    power_cases(x, y, scale(1.0 + (r + r * r * horner!(r, EXP)), shifted.to_bits()))
}
