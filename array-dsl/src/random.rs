//! Random numbers for kernels, as functions of a key: no state, and the same bits on every machine, for any number of threads.
//!
//! ```
//! use array_dsl::prelude::*;
//! use array_dsl::random::{key, normal, split};
//!
//! /// The mean of `f(x)` over normally distributed `x`, with its derivatives by the distribution's parameters.
//! #[kernel]
//! fn mean_square(seed: i64, mean: f64, deviation: f64) -> f64 {
//!     let x = normal(key(seed), mean, deviation, 10000);
//!     sum(x * x) / 10000.0
//! }
//!
//! let (dm, ds) = grad(mean_square)(1, 3.0, 2.0);
//! assert!((mean_square(1, 3.0, 2.0) - 13.0).abs() < 0.5);
//! assert!((dm - 6.0).abs() < 0.1 && (ds - 4.0).abs() < 0.2);
//! ```
//!
//! A **key** is two words, and whoever has one has all its numbers: use a key once, and make more of it by [`split`] or [`fold_in`]. Each
//! function of `n` numbers is a `build` of the function of one, whose name ends in `_at`: a point computes its own number, and no array is stored.
//!
//! The words are those of Threefry-2x32 with 20 rounds (Salmon and others, *Parallel random numbers: as easy as 1, 2, 3*, 2011), which
//! JAX has as well: keys, `split`, `fold_in`, `bits`, and `uniform` of `f32` and of `f64`, have the bits of `jax.random` with
//! `jax_threefry_partitionable`, its default. The other distributions are computed from them in ways of their own.
//!
//! **Derivatives.** Uniform, normal, exponential, gamma and beta distributed numbers have derivatives by their parameters. Where a
//! number is chosen, as by `bernoulli`, `categorical` or `poisson`, there are none.

mod shaped;

pub use self::shaped::{beta, beta_at, gamma, gamma_at, poisson, poisson_at};

use crate::prelude::*;

/// A turn of a word by `k` bits to the left.
#[kernel]
fn turned(x: u32, k: u32) -> u32 {
    (x << k) | (x >> (32 - k))
}

/// Four rounds of Threefry-2x32, with these turns, and what is added after them.
#[kernel]
fn rounds((x, y): (u32, u32), (a, b, c, d): (u32, u32, u32, u32), (p, q): (u32, u32)) -> (u32, u32) {
    let x1 = x + y;
    let y1 = turned(y, a) ^ x1;
    let x2 = x1 + y1;
    let y2 = turned(y1, b) ^ x2;
    let x3 = x2 + y2;
    let y3 = turned(y2, c) ^ x3;
    let x4 = x3 + y3;
    let y4 = turned(y3, d) ^ x4;
    (x4 + p, y4 + q)
}

/// `threefry(key, counter)`: two words that look random, and are others for each counter. All that is here comes from them.
///
/// ```
/// # use array_dsl::prelude::*;
/// use array_dsl::random::threefry;
///
/// #[kernel]
/// fn block(key: (u32, u32), counter: (u32, u32)) -> (u32, u32) {
///     threefry(key, counter)
/// }
///
/// // The authors' test.
/// assert_eq!(block((0x13198a2e, 0x03707344), (0x243f6a88, 0x85a308d3)), (0xc4923a9c, 0x483df7a0));
/// ```
#[kernel]
pub fn threefry((a, b): (u32, u32), (x, y): (u32, u32)) -> (u32, u32) {
    let c = a ^ b ^ 0x1bd11bda;
    let s = (x + a, y + b);
    let s = rounds(s, (13, 15, 26, 6), (b, c + 1));
    let s = rounds(s, (17, 29, 16, 24), (c, a + 2));
    let s = rounds(s, (13, 15, 26, 6), (a, b + 3));
    let s = rounds(s, (17, 29, 16, 24), (b, c + 4));
    rounds(s, (13, 15, 26, 6), (c, a + 5))
}

/// The words of the i-th number of a key.
#[kernel]
fn words(key: (u32, u32), i: i64) -> (u32, u32) {
    threefry(key, ((i >> 32) as u32, i as u32))
}

/// `key(seed)`: the key of a number.
#[kernel]
pub fn key(seed: i64) -> (u32, u32) {
    ((seed >> 32) as u32, seed as u32)
}

/// `fold_in(key, i)`: another key for each integer, such as the number of a step.
#[kernel]
pub fn fold_in(key: (u32, u32), i: i64) -> (u32, u32) {
    threefry(key, (0, i as u32))
}

/// `split(key, n)`: so many keys in place of one, as two arrays: `map(.., split(key, n))` has a key for each point.
#[kernel]
pub fn split(key: (u32, u32), n: usize) -> ([u32; n], [u32; n]) {
    build(n, |i| words(key, i))
}

/// `bits_at(key, i)`: the i-th word of a key.
#[kernel]
pub fn bits_at(key: (u32, u32), i: i64) -> u32 {
    let (a, b) = words(key, i);
    a ^ b
}

/// `bits(key, n)`: so many words, all values as likely.
#[kernel]
pub fn bits(key: (u32, u32), n: usize) -> [u32; n] {
    build(n, |i| bits_at(key, i))
}

/// The i-th number in `0..1` of a key, of the type of `like`: a multiple of 2^-23 for `f32`, of 2^-52 for `f64`.
#[kernel]
fn unit<T: Float>(key: (u32, u32), i: i64, like: T) -> T {
    let (a, b) = words(key, i);
    let is_short = 0.0 * like + 1.0 + 1e-10 == 1.0;
    if is_short {
        ((a ^ b) >> 9) as _ * 0.00000011920928955078125
    } else {
        (a as _) * 0.00000000023283064365386962890625
            + ((b >> 12) as _) * 0.0000000000000002220446049250313080847263336181640625
    }
}

/// `uniform_at(key, i, low, high)`: the i-th number of `uniform`.
#[kernel]
pub fn uniform_at<T: Float>(key: (u32, u32), i: i64, low: T, high: T) -> T {
    low + (high - low) * unit(key, i, low)
}

/// `uniform(key, low, high, n)`: so many numbers from `low` on and below `high`.
#[kernel]
pub fn uniform<T: Float>(key: (u32, u32), low: T, high: T, n: usize) -> [T; n] {
    build(n, |i| uniform_at(key, i, low, high))
}

/// `normal_at(key, i, mean, deviation)`: the i-th number of `normal`.
#[kernel]
pub fn normal_at<T: Float>(key: (u32, u32), i: i64, mean: T, deviation: T) -> T {
    let radius = sqrt(-2.0 * ln(1.0 - unit(key, 2 * i, mean)));
    mean + deviation * radius * cos(6.283185307179586 * unit(key, 2 * i + 1, mean))
}

/// `normal(key, mean, deviation, n)`: so many normally distributed numbers (Box and Muller's transform).
#[kernel]
pub fn normal<T: Float>(key: (u32, u32), mean: T, deviation: T, n: usize) -> [T; n] {
    build(n, |i| normal_at(key, i, mean, deviation))
}

/// `exponential_at(key, i, rate)`: the i-th number of `exponential`.
#[kernel]
pub fn exponential_at<T: Float>(key: (u32, u32), i: i64, rate: T) -> T {
    -ln(1.0 - unit(key, i, rate)) / rate
}

/// `exponential(key, rate, n)`: so many numbers, exponentially distributed with the mean `1 / rate`.
#[kernel]
pub fn exponential<T: Float>(key: (u32, u32), rate: T, n: usize) -> [T; n] {
    build(n, |i| exponential_at(key, i, rate))
}

/// `bernoulli_at(key, i, p)`: the i-th of `bernoulli`.
#[kernel]
pub fn bernoulli_at<T: Float>(key: (u32, u32), i: i64, p: T) -> bool {
    unit(key, i, stop_gradient(p)) < p
}

/// `bernoulli(key, p, n)`: so many events, each of which happens with probability `p`.
#[kernel]
pub fn bernoulli<T: Float>(key: (u32, u32), p: T, n: usize) -> [bool; n] {
    build(n, |i| bernoulli_at(key, i, p))
}

/// `categorical(key, logits)`: a position, each as likely as the exponential of its logit is large (Gumbel's trick).
#[kernel]
pub fn categorical<T: Float>(key: (u32, u32), logits: [T; k]) -> i64 {
    let z = stop_gradient(logits);
    // Not the logarithm of zero.
    let tiny = if 0.0 * sum(z) + 1.0 + 1e-10 == 1.0 { 1e-38 } else { 1e-300 };
    argmax(build(k, |i| z[i] - ln(-ln(max(unit(key, i, z[i]), tiny)))))
}

/// `permutation(key, n)`: the integers below `n` in random order, all orders as likely.
#[kernel]
pub fn permutation(key: (u32, u32), n: usize) -> [i64; n] {
    // Words of 62 bits: two are equal hardly ever.
    argsort(build(n, |i| {
        let (a, b) = words(key, i);
        ((a as i64) << 30) ^ (b as i64)
    }))
}
