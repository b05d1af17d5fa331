//! How transforms are computed: the sums `X_k = sum_j x_j e^(-2 pi i j k / n)` in O(n log n) operations for every n.
//!
//! * **n a power of two**: steps of radix 2, each from one array to another, in the order by which the last one has the elements in theirs
//!   (Stockham). A step is one loop over the elements of the result, which is parallel.
//! * **other n**: by `2 j k = j^2 + k^2 - (k - j)^2` the sums are a convolution with `e^(pi i j^2 / n)`, which transforms of
//!   the next power of two from 2 n on make (Bluestein, 1970).
//!
//! On the CPU the values come from `rustfft`: this is what the routine `fft` means, and what a GPU executes.
//!
//! Both are one program, whose second half has arrays of size 0 in the first case: a choice between two programs would cost
//! more than what it saves.
//!
//! **Real numbers**, `n = 2 m` of them: the transforms `E` and `O` of those at even and at odd places make theirs, and are in that of `m`
//! complex numbers `z_j = x_2j + i x_(2j+1)`, whose conjugate has the places turned (Cooley, Lewis and Welch, 1970):
//!
//! ```text
//! Z = E + i O;   E_k = (Z_k + Z*_(m-k)) / 2;   O_k = (Z_k - Z*_(m-k)) / 2i;   X_k = E_k + e^(-2 pi i k / n) O_k
//! ```
//!
//! Every factor is computed by itself, of an angle whose whole turns are taken off in integers, so that its error does not grow
//! with n.
//!
//! **Derivatives.** The transform is linear, and what goes back is the transform with the opposite sign. That is its rule, so that no step
//! is kept or differentiated. Rules of rules give the second derivatives; from the third on the steps are differentiated. A rule
//! belongs to one element type, and which one it is, is known while compiling: the other branch of `fft` is not there.

use crate::prelude::*;

/// The exponent of the least power of two that is not below `n`: by arithmetic alone, so that it may be in a size.
#[kernel]
pub(super) fn exponent(n: usize) -> i64 {
    // All bits below the highest one of n - 1, and their number.
    let a = max(n - 1, 0);
    let b = a | (a >> 1);
    let c = b | (b >> 2);
    let d = c | (c >> 4);
    let e = d | (d >> 8);
    let ones = e | (e >> 16);
    let pairs = ones - ((ones >> 1) & 0x55555555);
    let fours = (pairs & 0x33333333) + ((pairs >> 2) & 0x33333333);
    let bytes = (fours + (fours >> 4)) & 0x0f0f0f0f;
    let words = bytes + (bytes >> 8);
    (words + (words >> 16)) & 63
}

/// The transform of `n` elements, a power of two, in so many steps.
#[kernel]
fn of_power<T: Float>(re: [T; n], im: [T; n], steps: usize) -> ([T; n], [T; n]) {
    let h = n / 2;
    let c = build(h, |k| cos(6.283185307179586 * ((k as _) / (n as _))));
    let s = build(h, |k| -sin(6.283185307179586 * ((k as _) / (n as _))));
    let (mut x, mut y) = (re, im);
    // As a size, so that it is seen to be the same for all rows of a batch, which take each step together.
    let end = dim(iota(steps + 1), 0);
    for step in 1..end {
        // From the sums of every (2 r)-th element those of every r-th one.
        let r = n >> step;
        let (a, b) = build(n, |o| {
            let t = o & (h - 1);
            // Without a branch: both halves of the result differ in a sign.
            let sign = if o >= h { -1.0 } else { 1.0 };
            let w = t - (t & (r - 1));
            let (p, q) = (x[t + w + r], y[t + w + r]);
            let (u, v) = (c[w] * p - s[w] * q, c[w] * q + s[w] * p);
            (x[t + w] + sign * u, y[t + w] + sign * v)
        });
        x = a;
        y = b;
    }
    (x, y)
}

/// The transform, without a derivative of its own.
#[kernel]
pub(super) fn transform<T: Float>(re: [T; n], im: [T; n]) -> ([T; n], [T; n]) {
    // 1 for a number that is no power of two.
    let other = min(n & (n - 1), 1);
    let steps = exponent(n * (1 + other));
    let m = 1 << steps;
    let (c, s) = build(other * n, |k| {
        let angle = 3.141592653589793 * ((((k * k) % (2 * n)) as _) / (n as _));
        (cos(angle), sin(angle))
    });
    let (a, b) = build(m, |j| {
        if j >= n {
            (0.0, 0.0)
        } else if other == 0 {
            (re[j], im[j])
        } else {
            (c[j] * re[j] + s[j] * im[j], c[j] * im[j] - s[j] * re[j])
        }
    });
    let (p, q) = of_power(a, b, steps);
    // The other factor, which is the same from its end on.
    let (d, e) = build(other * m, |j| {
        let k = min(j, m - j);
        if k < n { (c[k], s[k]) } else { (0.0, 0.0) }
    });
    let (f, g) = of_power(d, e, other * steps);
    // Back by the same transform, with real and imaginary parts exchanged.
    let scale = 1.0 / (m as _);
    let (imaginary, real) =
        build(other * m, |k| (scale * (p[k] * g[k] + q[k] * f[k]), scale * (p[k] * f[k] - q[k] * g[k])));
    let (v, u) = of_power(imaginary, real, other * steps);
    build(
        n,
        |k| {
            if other == 0 { (p[k], q[k]) } else { (c[k] * u[k] + s[k] * v[k], c[k] * v[k] - s[k] * u[k]) }
        },
    )
}

macro_rules! of_type {
    ($elem:ident: $($name:ident by $rule:ident by $inner:ident;)*) => {$(
        /// The transform with the opposite sign: that of the numbers with real and imaginary parts exchanged, exchanged again.
        #[kernel]
        pub(super) fn $rule(_re: [$elem; n], _im: [$elem; n], a: [$elem; n], b: [$elem; n]) -> ([$elem; n], [$elem; n]) {
            let (q, p) = $inner(b, a);
            (p, q)
        }

        #[kernel(vjp = $rule, cpu = fft)]
        pub(super) fn $name(re: [$elem; n], im: [$elem; n]) -> ([$elem; n], [$elem; n]) {
            transform(re, im)
        }
    )*};
}

of_type! { f64: first_64 by first_rule_64 by transform; second_64 by second_rule_64 by first_64; fft_64 by rule_64 by second_64; }
of_type! { f32: first_32 by first_rule_32 by transform; second_32 by second_rule_32 by first_32; fft_32 by rule_32 by second_32; }
