//! `f32`. Angles are reduced, and powers computed, in `f64`.

use super::angle;

const MANTISSA: u32 = 23;
const MANTISSA_BITS: u32 = (1 << MANTISSA) - 1;
const BIAS: u32 = 127;
/// Enough low bits for `k + 2 bias` with `-151 <= k <= 129`.
const EXPONENT_BITS: u32 = 0x1ff;
/// Adding this rounds to an integer, found in the low bits plus twice the bias.
const ROUND: f32 = 12_582_912.0 + 254.0;
/// The high half of a number.
const HIGH_BITS: u32 = 0xffff_f000;
/// What makes subnormal numbers normal, and its exponent.
const SUBNORMAL: f32 = 33_554_432.0;
const SUBNORMAL_EXPONENT: f32 = 25.0;

/// Where `e^x` rounds to zero.
const EXP_MIN: f32 = -104.0;
/// Where even `e^x / 2` overflows.
const EXP_MAX: f32 = 89.5;
const EXP2_MIN: f32 = -151.0;
const EXP2_MAX: f32 = 129.0;
/// Where `e^x - 1` rounds to -1.
const EXP_M1_MIN: f32 = -20.0;
/// Where `tanh x` rounds to 1.
const TANH_MAX: f32 = 10.0;
/// Odd functions with slope 1 are the identity below, to within rounding.
const TINY: f32 = 1.0 / 33_554_432.0;

const LN2_HI: f32 = 0.693_145_75;
const LN2_LO: f32 = 1.428_606_8e-6;
const LOG2_E_HI: f32 = 1.442_871_1;
const LOG2_E_LO: f32 = -0.000_176_052_85;
const LOG10_E_HI: f32 = 0.434_326_17;
const LOG10_E_LO: f32 = -3.168_997e-5;
const LOG10_2_HI: f32 = 0.301_033_02;
const LOG10_2_LO: f32 = -3.024_355_5e-6;

/// `(e^r - 1 - r) / r^2` for `|r| <= ln 2 / 2`.
const EXP: [f32; 6] = [0.5, 0.166_666_66, 0.041_666_31, 0.008_333_502, 0.001_394_374_2, 0.000_197_864_65];

/// `(log((1 + s) / (1 - s)) / s - 2) / s^2` in `s^2`, for `|s| <= 3 - 2 sqrt(2)`.
const LN: [f32; 4] = [0.666_666_7, 0.400_003_02, 0.285_390_23, 0.235_539_26];

elementary!(f32, u32);

/// Pi as a sum; products of the first with halves of integers below 2^24 are exact in `f64`.
const PI: [f64; 2] = [3.141592651605606, 1.984187159361081e-09];
/// Adding this rounds to an integer.
const ROUND_TRIG: f64 = 6_755_399_441_055_744.0;

/// `(sin d - d) / d^3` in `d^2`, for `|d| <= pi / 2`.
const SIN: [f32; 4] = [-0.166_666_6, 0.008_333_066, -0.000_198_096_15, 2.605_800_3e-6];
/// The same for `|d| <= pi / 4`.
const SIN_QUARTER: [f32; 3] = [-0.166_666_55, 0.008_332_178, -0.000_195_172_57];
/// `(cos d - 1 + d^2 / 2) / d^4` in `d^2`, for `|d| <= pi / 4`.
const COS_QUARTER: [f32; 3] = [0.041_666_646, -0.001_388_737_5, 2.443_910_1e-5];

/// The greatest angle that the reductions here are made for; longer ones have their own (`angle`).
pub const SHORT: f32 = 2.5e7;

/// `x - n pi`. `limit` is the greatest true value; without it arguments too long to reduce would give results
/// out of range.
#[inline(always)]
fn remainder(x: f64, n: f64, limit: f64) -> f64 {
    let d = (x - n * PI[0]) - n * PI[1];
    let d = if d > limit { limit } else { d };
    if d < -limit { -limit } else { d }
}

/// `d + d^3 P(d^2)`, negated if the lowest bit of `parity` is set. The sum loses the sign of a zero.
#[inline(always)]
fn sine(d: f64, parity: u64) -> f32 {
    let d = f64::from_bits(d.to_bits() ^ (parity << 63)) as f32;
    let z = d * d;
    (d + d * (z * horner!(z, SIN))).copysign(d)
}

/// `sin(n pi + d) = (-1)^n sin d`.
#[inline(always)]
pub fn short_sin(x: f32) -> f32 {
    let x = f64::from(x);
    let shifted = x * std::f64::consts::FRAC_1_PI + ROUND_TRIG;
    sine(remainder(x, shifted - ROUND_TRIG, 1.571), shifted.to_bits())
}

/// `cos((n + 1/2) pi + d) = -(-1)^n sin d`.
#[inline(always)]
pub fn short_cos(x: f32) -> f32 {
    let x = f64::from(x);
    let shifted = (x * std::f64::consts::FRAC_1_PI - 0.5) + ROUND_TRIG;
    sine(remainder(x, (shifted - ROUND_TRIG) + 0.5, 1.571), !shifted.to_bits())
}

/// `tan(n pi / 2 + d)` is `sin d / cos d` for even `n`, else `-cos d / sin d`.
#[inline(always)]
pub fn short_tan(x: f32) -> f32 {
    let x = f64::from(x);
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND_TRIG;
    let n = shifted - ROUND_TRIG;
    tangent(remainder(x, 0.5 * n, 0.786), shifted.to_bits())
}

/// The tangent of `d`, or the negative reciprocal of that if the lowest bit of `parity` is set.
#[inline(always)]
fn tangent(d: f64, parity: u64) -> f32 {
    let d = d as f32;
    // 0 or 1, as a number of the width of the rest.
    let odd = ((parity & 1) as u32) == 1;
    let z = d * d;
    let s = (d + d * (z * horner!(z, SIN_QUARTER))).copysign(d);
    let c = 1.0 - (0.5 * z - z * z * horner!(z, COS_QUARTER));
    let (numerator, denominator) = if odd { (-c, s) } else { (s, c) };
    numerator / denominator
}

/// Of an angle that is not short.
#[cold]
#[inline(never)]
pub fn long_sin(x: f32) -> f32 {
    let (d, odd) = angle::from_zero_of_sine(f64::from(x));
    sine(d, odd)
}

/// As [`long_sin`].
#[cold]
#[inline(never)]
pub fn long_cos(x: f32) -> f32 {
    let (d, odd) = angle::from_zero_of_cosine(f64::from(x));
    sine(d, !odd)
}

/// As [`long_sin`].
#[cold]
#[inline(never)]
pub fn long_tan(x: f32) -> f32 {
    let ([d, _], odd) = angle::from_quarter_turn(f64::from(x));
    tangent(d, odd)
}

/// `(atan r - r) / r^3` in `r^2`, for `|r| <= 3/8`.
const ATAN: [f32; 4] = [-0.333_331_5, 0.199_870_9, -0.139_984_55, 0.085_148_64];
/// `(asin r - r) / r^3` in `r^2`, for `|r| <= 1/2`.
const ASIN: [f32; 5] = [0.166_667_54, 0.074_952_41, 0.045_477_2, 0.024_147_151, 0.042_219_27];
/// `(atanh r - r) / r^3` in `r^2`, for `|r| <= 1/4`.
const ATANH: [f32; 4] = [0.333_333_22, 0.200_017_35, 0.142_034_01, 0.126_288_85];
/// Right angles and others as sums, of which the first terms are multiples of `2^-22`, so that their sums are exact.
const PI_2_HI: f32 = std::f32::consts::FRAC_PI_2 - f32::EPSILON;
const PI_2_LO: f32 = 7.549_79e-8;
const ATAN_1_HI: f32 = std::f32::consts::FRAC_PI_4 + 0.5 * f32::EPSILON;
const ATAN_1_LO: f32 = -8.146_034e-8;
const ATAN_HALF_HI: f32 = 0.463_647_6;
const ATAN_HALF_LO: f32 = 5.012_158_7e-9;
/// Where `sqrt(a^2 + 1)` and `sqrt(a^2 - 1)` are `a`, to within rounding of the logarithm.
const FAR: f32 = 8192.0;

inverse!(f32, u32);

/// `(erf x - x) / x` in `x^2`, for `|x| <= 1`.
const ERF: [f32; 7] = [
    0.128_379_17,
    -0.376_126_3,
    0.112_836_05,
    -0.026_854_614,
    0.005_189_819_3,
    -0.000_802_312_3,
    7.896_164e-5,
];
/// `ln erfc x` for `1 <= x <= ERF_MAX`, the error weighted with `erfc x`.
const LN_ERFC: [f32; 8] = [
    0.000_188_465_17,
    -1.129_580_3,
    -0.633_216_44,
    -0.108_422_06,
    0.025_210_315,
    -0.004_205_275_3,
    0.000_441_470_6,
    -2.169_742_8e-5,
];
/// Where `erf x` rounds to 1.
const ERF_MAX: f32 = 4.0;
/// `(1 + x) e^(x^2) erfc x` in `t = (x - c) / (x + c)`, for `0 <= x <= ERFC_MAX`: the constant term, and the others divided by `t`.
/// Of the `c` that serve, this is one for which rounding the terms costs little.
const ERFC_FIRST: f32 = 0.708_548_55;
const ERFC: [f32; 9] = [
    -0.224_237_86,
    0.105_002_426,
    -0.019_716_565,
    -0.018_664_131,
    0.022_512_224,
    -0.012_821_181,
    0.003_969_932,
    8.797_797e-6,
    -0.000_453_282_58,
];
const ERFC_CENTER: f32 = 3.203_125;
/// Where `erfc x` rounds to zero.
const ERFC_MAX: f32 = 10.1;

error!(f32);

/// `((1 - d)^(-1/3) - 1) / d`, for `0 <= d <= 0.2102`.
const CBRT: [f32; 6] = [0.333_333_16, 0.222_236_63, 0.172_411_7, 0.149_802_97, 0.086_492_74, 0.227_966_01];
/// The low bits that the first approximation of a cube root is made without; what the others are multiplied with and shifted by,
/// to divide them by 3; two thirds of the bias, less what makes the approximation never too great.
const CBRT_DROPPED: u32 = 16;
const THIRD: u32 = 0x5556;
const THIRD_SHIFT: u32 = 16;
const CBRT_BIAS: u32 = 10_827;
/// `2^-90`; what makes lesser numbers greater, and the reciprocal of its root.
const CBRT_TINY: f32 = f32::from_bits(0x25 << 23);
const CBRT_UP: f32 = f32::from_bits(0xaf << 23);
const CBRT_DOWN: f32 = 1.0 / 65_536.0;
/// `2^60` and its reciprocal: the square of neither is near the ends of the range.
const SQUARE_MAX: f32 = f32::from_bits(0xbb << 23);
const SQUARE_MIN: f32 = 1.0 / SQUARE_MAX;
/// `2^90`.
const HYPOT_UP: f32 = f32::from_bits(0xd9 << 23);

root!(f32, u32);

/// `log2((1 + s) / (1 - s)) / s` in `s^2`, for `|s| <= 3 - 2 sqrt(2)`, to 2^-45.
const POW_LOG2: [f64; 6] = [
    2.885390081777849,
    0.9617966941149027,
    0.5770779418979031,
    0.4122093007568032,
    0.31990366647566454,
    0.2829298096912367,
];
/// `2^f` for `|f| <= 1/2`, to 2^-34.
const POW_EXP2: [f64; 8] = [
    0.9999999999616102,
    0.6931471807287178,
    0.24022651198779285,
    0.055504103528558904,
    0.009618027171298638,
    0.0013333922821731415,
    0.00015469317608382983,
    1.520191098871058e-05,
];

/// `2^(y log2 |x|)`.
#[inline(always)]
pub fn powf(x: f32, y: f32) -> f32 {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const INTEGER: f64 = 4_503_599_627_370_496.0;
    /// Where every power of a number that is not 1 overflows or underflows.
    const LONG: f64 = 1_099_511_627_776.0;
    let a = f64::from(x.abs());
    // |x| = 2^k m with sqrt(1/2) <= m < sqrt(2); subnormal numbers are normal here.
    let bits = a.to_bits().wrapping_add(1f64.to_bits() - SQRT_HALF);
    let m = f64::from_bits((bits & ((1 << 52) - 1)) + SQRT_HALF);
    let k = f64::from_bits((bits >> 52) | INTEGER.to_bits()) - (INTEGER + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let log2 = k + s * horner!(s * s, POW_LOG2);
    let c = f64::from(y);
    let c = if c > LONG { LONG } else { c };
    let c = if c < -LONG { -LONG } else { c };
    let e = c * log2;
    let e = if e > 200.0 { 200.0 } else { e };
    let e = if e < -200.0 { -200.0 } else { e };
    let shifted = e + (ROUND_TRIG + 1023.0);
    let f = e - (shifted - (ROUND_TRIG + 1023.0));
    let power = horner!(f, POW_EXP2) * f64::from_bits(shifted.to_bits() << 52);
    // The conversion rounds once, to subnormal numbers too.
    power_cases(x, y, power as f32)
}
