//! `f64`.

use super::angle;

const MANTISSA: u32 = 52;
const MANTISSA_BITS: u64 = (1 << MANTISSA) - 1;
const BIAS: u64 = 1023;
/// Enough low bits for `k + 2 bias` with `-1076 <= k <= 1025`.
const EXPONENT_BITS: u64 = 0xfff;
/// Adding this rounds to an integer, found in the low bits plus twice the bias.
const ROUND: f64 = 6_755_399_441_055_744.0 + 2046.0;
/// The high half of a number.
const HIGH_BITS: u64 = 0xffff_ffff_0000_0000;
/// What makes subnormal numbers normal, and its exponent.
const SUBNORMAL: f64 = 18_014_398_509_481_984.0;
const SUBNORMAL_EXPONENT: f64 = 54.0;

/// Where `e^x` rounds to zero.
const EXP_MIN: f64 = -746.0;
/// Where even `e^x / 2` overflows.
const EXP_MAX: f64 = 710.6;
const EXP2_MIN: f64 = -1076.0;
const EXP2_MAX: f64 = 1025.0;
/// Where `e^x - 1` rounds to -1.
const EXP_M1_MIN: f64 = -40.0;
/// Where `tanh x` rounds to 1.
const TANH_MAX: f64 = 22.0;
/// Odd functions with slope 1 are the identity below, to within rounding.
const TINY: f64 = 1.0 / 18_014_398_509_481_984.0;

const LN2_HI: f64 = 0.693_147_180_369_123_8;
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
const LOG2_E_HI: f64 = 1.442_695_040_721_446_3;
const LOG2_E_LO: f64 = 1.675_171_316_488_651_2e-10;
const LOG10_E_HI: f64 = 0.434_294_481_878_168_9;
const LOG10_E_LO: f64 = 2.508_294_671_164_527_5e-11;
const LOG10_2_HI: f64 = 0.301_029_995_665_885_5;
const LOG10_2_LO: f64 = -1.904_312_846_716_427_4e-12;

/// `(e^r - 1 - r) / r^2` for `|r| <= ln 2 / 2`.
const EXP: [f64; 11] = [
    0.5,
    0.16666666666666682,
    0.04166666666666618,
    0.008333333333318394,
    0.0013888888889094404,
    0.0001984126989354659,
    2.4801586948587747e-05,
    2.7557237322646417e-06,
    2.755757264831458e-07,
    2.511127654732451e-08,
    2.082762154329851e-09,
];

/// `(log((1 + s) / (1 - s)) / s - 2) / s^2` in `s^2`, for `|s| <= 3 - 2 sqrt(2)`.
const LN: [f64; 7] = [
    0.66666666666667,
    0.3999999999960831,
    0.28571428704601626,
    0.22222202068974622,
    0.18183397617822422,
    0.15318012960560906,
    0.14758778821840896,
];

elementary!(f64, u64);

/// Pi as a sum; products of all but the last with integers below 2^30 are exact.
const PI: [f64; 5] = [
    3.141592502593994,
    1.5099578831723193e-07,
    1.078060505991553e-14,
    6.564007336486805e-22,
    -2.5073980413864998e-29,
];
/// Adding this rounds to an integer.
const ROUND_TRIG: f64 = 6_755_399_441_055_744.0;

/// `(sin d - d) / d^3` in `d^2`, for `|d| <= pi / 2`.
const SIN: [f64; 8] = [
    -0.16666666666666666,
    0.008333333333333194,
    -0.00019841269841209413,
    2.7557319211164156e-06,
    -2.5052106874852208e-08,
    1.6058939793463796e-10,
    -7.642993453264004e-13,
    2.721192963042333e-15,
];
/// The same for `|d| <= pi / 4`.
const SIN_QUARTER: [f64; 6] = [
    -0.16666666666666632,
    0.008333333333322509,
    -0.00019841269829860982,
    2.755731370519014e-06,
    -2.5050759604016686e-08,
    1.5896855588660087e-10,
];
/// `(cos d - 1 + d^2 / 2) / d^4` in `d^2`, for `|d| <= pi / 4`.
const COS_QUARTER: [f64; 6] = [
    0.04166666666666661,
    -0.001388888888887595,
    2.4801587290469205e-05,
    -2.7557314604804525e-07,
    2.087575417319885e-09,
    -1.1361106593187899e-11,
];

/// The greatest angle that the reductions here are made for; longer ones have their own (`angle`).
pub const SHORT: f64 = 8e8;

/// `x - n unit pi`. The first differences are exact: `x` and the product nearly cancel, or are short. `limit` is the
/// greatest true value (the result is in two parts, of which it bounds the first); without it arguments too long to reduce would give results out of range.
#[inline(always)]
fn remainder(x: f64, n: f64, unit: f64, limit: f64) -> [f64; 2] {
    let n = n * unit;
    let a = (x - n * PI[0]) - n * PI[1];
    let c = n * PI[2];
    let hi = a - c;
    // What the last difference lost, and the parts too short to matter in it.
    let lo = (c - (a - hi)) + n * PI[3] + n * PI[4];
    let d = hi - lo;
    let tail = (hi - d) - lo;
    let d = if d > limit { limit } else { d };
    [if d < -limit { -limit } else { d }, tail]
}

/// `d + d^3 P(d^2)`, negated if the lowest bit of `parity` is set. The sum loses the sign of a zero.
#[inline(always)]
fn sine(d: f64, parity: u64) -> f64 {
    let d = f64::from_bits(d.to_bits() ^ (parity << 63));
    let z = d * d;
    (d + d * (z * horner!(z, SIN))).copysign(d)
}

/// `sin(n pi + d) = (-1)^n sin d`.
#[inline(always)]
pub fn short_sin(x: f64) -> f64 {
    let shifted = x * std::f64::consts::FRAC_1_PI + ROUND_TRIG;
    sine(remainder(x, shifted - ROUND_TRIG, 1.0, 1.571)[0], shifted.to_bits())
}

/// `cos((n + 1/2) pi + d) = -(-1)^n sin d`.
#[inline(always)]
pub fn short_cos(x: f64) -> f64 {
    let shifted = (x * std::f64::consts::FRAC_1_PI - 0.5) + ROUND_TRIG;
    sine(remainder(x, (shifted - ROUND_TRIG) + 0.5, 1.0, 1.571)[0], !shifted.to_bits())
}

/// `tan(n pi / 2 + d)` is `sin d / cos d` for even `n`, else `-cos d / sin d`.
#[inline(always)]
pub fn short_tan(x: f64) -> f64 {
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND_TRIG;
    tangent(remainder(x, shifted - ROUND_TRIG, 0.5, 0.786), shifted.to_bits())
}

/// The tangent of `d + tail`, or the negative reciprocal of that if the lowest bit of `parity` is set. Where it is steep, an error
/// of `d` counts three times.
#[inline(always)]
fn tangent([d, tail]: [f64; 2], parity: u64) -> f64 {
    let z = d * d;
    let s = (d + (d * (z * horner!(z, SIN_QUARTER)) + tail)).copysign(d);
    // What the first difference loses is added to the rest.
    let half = 0.5 * z;
    let first = 1.0 - half;
    let c = first + (((1.0 - first) - half) + (z * z * horner!(z, COS_QUARTER) - d * tail));
    let odd = parity & 1 == 1;
    let (numerator, denominator) = if odd { (-c, s) } else { (s, c) };
    numerator / denominator
}

/// Of an angle that is not short.
#[cold]
#[inline(never)]
pub fn long_sin(x: f64) -> f64 {
    let (d, odd) = angle::from_zero_of_sine(x);
    sine(d, odd)
}

/// As [`long_sin`].
#[cold]
#[inline(never)]
pub fn long_cos(x: f64) -> f64 {
    let (d, odd) = angle::from_zero_of_cosine(x);
    sine(d, !odd)
}

/// As [`long_sin`].
#[cold]
#[inline(never)]
pub fn long_tan(x: f64) -> f64 {
    let (d, odd) = angle::from_quarter_turn(x);
    tangent(d, odd)
}

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

/// The high half of a number, so that products of two are exact.
#[inline(always)]
fn short(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & HIGH_BITS)
}

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
