//! `f64`.

mod power;

use super::angle;
pub use power::powf;

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

/// `(atan r - r) / r^3` in `r^2`, for `|r| <= 3/8`.
const ATAN: [f64; 10] = [
    -0.3333333333333284,
    0.1999999999982607,
    -0.1428571426464254,
    0.11111109845093,
    -0.09090865270591131,
    0.07691365487717322,
    -0.06653619832925398,
    0.05765067205114654,
    -0.04591643924574962,
    0.024425486424183022,
];
/// `(asin r - r) / r^3` in `r^2`, for `|r| <= 1/2`.
const ASIN: [f64; 12] = [
    0.16666666666665383,
    0.07500000000343025,
    0.0446428568235005,
    0.030381959330452585,
    0.022371753543107435,
    0.017359770809572343,
    0.013884601304192584,
    0.012173261818169849,
    0.0065109232366590475,
    0.019573731266567883,
    -0.016293824207207507,
    0.03195881082960665,
];
/// `(atanh r - r) / r^3` in `r^2`, for `|r| <= 1/4`.
const ATANH: [f64; 8] = [
    0.3333333333333195,
    0.20000000000711418,
    0.14285714160728957,
    0.11111121714533156,
    0.0909041272339676,
    0.07705783697832481,
    0.06456492519992721,
    0.0760166166055329,
];
/// Right angles and others as sums, of which the first terms are multiples of `2^-51`, so that their sums are exact.
const PI_2_HI: f64 = std::f64::consts::FRAC_PI_2;
const PI_2_LO: f64 = 6.123233995736766e-17;
const ATAN_1_HI: f64 = std::f64::consts::FRAC_PI_4;
const ATAN_1_LO: f64 = 3.061616997868383e-17;
const ATAN_HALF_HI: f64 = 0.46364760900080615;
const ATAN_HALF_LO: f64 = -3.281237377829614e-17;
/// Where `sqrt(a^2 + 1)` and `sqrt(a^2 - 1)` are `a`, to within rounding of the logarithm.
const FAR: f64 = 268_435_456.0;

inverse!(f64, u64);

/// `(erf x - x) / x` in `x^2`, for `|x| <= 1`.
const ERF: [f64; 12] = [
    0.12837916709551256,
    -0.3761263890318334,
    0.1128379167093638,
    -0.02686617064182849,
    0.0052239775953662965,
    -0.0008548325406239255,
    0.00012055277779493166,
    -1.492440700460132e-05,
    1.6443353144481303e-06,
    -1.6177354924180573e-07,
    1.3585848654307851e-08,
    -7.546461884305207e-10,
];
/// `ln erfc x` for `1 <= x <= ERF_MAX`, the error weighted with `erfc x`.
const LN_ERFC: [f64; 17] = [
    -1.0634117308795127e-06,
    -1.1283687138232186,
    -0.6366675720336451,
    -0.1026376669018667,
    0.018865413730400515,
    0.0005840284572546305,
    -0.0020987448239712715,
    0.0009199257610063627,
    -0.000230641700166549,
    2.799715145661703e-05,
    3.6107416232057184e-06,
    -2.672851368288639e-06,
    6.877177036430615e-07,
    -1.0821541952795769e-07,
    1.090276916521265e-08,
    -6.517788843595552e-10,
    1.77032152110682e-11,
];
/// Where `erf x` rounds to 1.
const ERF_MAX: f64 = 6.0;
/// `(1 + x) e^(x^2) erfc x` in `t = (x - c) / (x + c)`, for `0 <= x <= ERFC_MAX`: the constant term, and the others divided by `t`.
/// Of the `c` that serve, this is one for which rounding the terms costs little.
const ERFC_FIRST: f64 = 0.7080035745222645;
const ERFC: [f64; 21] = [
    -0.22372585375718448,
    0.10540119601923494,
    -0.020410335548935166,
    -0.0182486978096356,
    0.022521486520758322,
    -0.012989237631746028,
    0.004108238265162151,
    -0.00018378805646557838,
    -0.0004279259502909515,
    0.00013191284294154565,
    3.111384318057003e-05,
    -2.342224023023272e-05,
    -2.1099056371841144e-06,
    3.798301407595472e-06,
    2.236993784185608e-07,
    -6.351464416204145e-07,
    -6.149981685717766e-08,
    1.0242178130730183e-07,
    1.9845245202431026e-08,
    -1.146599810471168e-08,
    -3.7547473368227705e-09,
];
const ERFC_CENTER: f64 = 3.21875;
/// Where `erfc x` rounds to zero.
const ERFC_MAX: f64 = 27.3;

error!(f64);

/// `((1 - d)^(-1/3) - 1) / d`, for `0 <= d <= 0.1942`.
const CBRT: [f64; 12] = [
    0.33333333333332815,
    0.2222222222240057,
    0.1728395059582684,
    0.14403293473929743,
    0.12482807674117691,
    0.11096887859372911,
    0.1002401338404144,
    0.0935429533168028,
    0.0748869833888528,
    0.12587988428678465,
    -0.05401479389701464,
    0.2574690606669122,
];
/// The low bits that the first approximation of a cube root is made without; what the others are multiplied with and shifted by,
/// to divide them by 3; two thirds of the bias, less what makes the approximation never too great.
const CBRT_DROPPED: u32 = 36;
const THIRD: u64 = 0x5555_5556;
const THIRD_SHIFT: u32 = 32;
const CBRT_BIAS: u64 = 44_690_302;
/// `2^-900`; what makes lesser numbers greater, and the reciprocal of its root.
const CBRT_TINY: f64 = f64::from_bits(0x7b << 52);
const CBRT_UP: f64 = f64::from_bits(0x46b << 52);
const CBRT_DOWN: f64 = 1.0 / 68_719_476_736.0;
/// `2^500` and its reciprocal: the square of neither is near the ends of the range.
const SQUARE_MAX: f64 = f64::from_bits(0x5f3 << 52);
const SQUARE_MIN: f64 = 1.0 / SQUARE_MAX;
/// `2^600`.
const HYPOT_UP: f64 = f64::from_bits(0x657 << 52);

root!(f64, u64);
