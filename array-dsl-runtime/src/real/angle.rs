//! Long angles: the distance to the nearest zero of a sine, cosine or tangent, for every finite number.
//!
//! The method is that of Payne and Hanek (1983): `x = m 2^e` with an integer `m` below 2^53, and of the product with `1 / pi`
//! only what counts is computed, which is the product of `m` with 192 bits of `1 / pi` from number `e` on: those before give even
//! numbers of half turns, those behind less than 2^-138. No number of either type is nearer than 2^-62 to a multiple of `pi / 2`
//! (in half turns), so that 65 bits and more of the distance are right.

/// The bits of `1 / pi` after the point, behind a word of zeros.
const INVERSE_PI: [u64; 20] = [
    0,
    0x517c_c1b7_2722_0a94,
    0xfe13_abe8_fa9a_6ee0,
    0x6db1_4acc_9e21_c820,
    0xff28_b1d5_ef5d_e2b0,
    0xdb92_371d_2126_e970,
    0x0324_9775_04e8_c90e,
    0x7f0e_f58e_5894_d39f,
    0x7441_1afa_975d_a242,
    0x74ce_3813_5a2f_bf20,
    0x9cc8_eb1c_c1a9_9cfa,
    0x4e42_2fc5_defc_941d,
    0x8ffc_4bff_ef02_cc07,
    0xf797_88c5_ad05_368f,
    0xb69b_3f67_93e5_84db,
    0xa7a3_1fb3_4f2f_f516,
    0xba93_dd63_f5f2_f8bd,
    0x9e83_9cfb_c529_4975,
    0x35fd_afd8_8fc6_ae84,
    0x2b01_9823_7e3d_b5d5,
];
/// `pi / 4` after the point.
const QUARTER_PI: u64 = 0xc90f_daa2_2168_c235;

/// `|x| / pi` modulo 2, with 127 bits after the point; `x` is finite and at least 2^29.
fn half_turns(x: f64) -> u128 {
    let bits = x.to_bits();
    let m = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    // With the word of zeros, bit number `e` is at `e + 63`; `e` is at least -23.
    let at = ((bits >> 52) & 0x7ff) as usize + 63 - 1075;
    let word = |i: usize| {
        let pair = u128::from(INVERSE_PI[at / 64 + i]) << 64 | u128::from(INVERSE_PI[at / 64 + i + 1]);
        (pair >> (64 - at % 64)) as u64
    };
    let part = |i: usize| m.wrapping_mul(u128::from(word(i)));
    (part(0) << 64).wrapping_add(part(1)).wrapping_add(part(2) >> 64)
}

/// A distance from the nearest integer, times `pi`.
struct Distance {
    /// Rounded, and the rest.
    d: f64,
    tail: f64,
    /// Whether that integer is odd (1) or even (0).
    odd: u64,
}

fn nearest(half_turns: u128) -> Distance {
    let fraction = (half_turns << 1) as i128;
    let odd = (half_turns >> 127) as u64 ^ u64::from(fraction < 0);
    let magnitude = fraction.unsigned_abs();
    let zeros = magnitude.leading_zeros();
    let leading = if zeros < 128 { (magnitude << zeros) >> 64 } else { 0 };
    let product = ((leading * u128::from(QUARTER_PI)) >> 1) as i128;
    let rounded = product as f64;
    let scale = f64::from_bits(u64::from(1023 - 125 - zeros) << 52).copysign(fraction as f64);
    Distance { d: rounded * scale, tail: (product - rounded as i128) as f64 * scale, odd }
}

/// `x = n pi + d`: `d`, and `n` modulo 2.
pub fn from_zero_of_sine(x: f64) -> (f64, u64) {
    let Distance { d, odd, .. } = nearest(half_turns(x));
    (d * x.signum(), odd)
}

/// `x = (n + 1/2) pi + d`: `d`, and `n` modulo 2, of `|x|`.
pub fn from_zero_of_cosine(x: f64) -> (f64, u64) {
    let Distance { d, odd, .. } = nearest(half_turns(x).wrapping_sub(1 << 126));
    (d, odd)
}

/// `x = n pi / 2 + d`: `d` in two parts, and `n` modulo 2.
pub fn from_quarter_turn(x: f64) -> ([f64; 2], u64) {
    let Distance { d, tail, odd } = nearest(half_turns(x) << 1);
    let half = 0.5 * x.signum();
    ([half * d, half * tail], odd)
}
