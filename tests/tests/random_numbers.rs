//! Random numbers: the words that others have published, the distributions, their derivatives, and the same bits whatever the number of
//! threads.

use array_dsl::prelude::*;
use array_dsl::random;
use ndarray::{Array1, Array2, array};

type Key = (u32, u32);

#[path = "common/host.rs"]
#[macro_use]
mod host;

host! {
    block(key: (u32, u32), counter: (u32, u32)) -> (u32, u32) = random::threefry(key, counter);
    key_of(seed: i64) -> (u32, u32) = random::key(seed);
    fold_in(key: (u32, u32), i: i64) -> (u32, u32) = random::fold_in(key, i);
    split(key: (u32, u32), n: usize) -> ([u32; n], [u32; n]) = unzip(random::split(key, n));
    bits(key: (u32, u32), n: usize) -> [u32; n] = random::bits(key, n);
    singles(key: (u32, u32), low: f32, high: f32, n: usize) -> [f32; n] = random::uniform(key, low, high, n);
    doubles(key: (u32, u32), low: f64, high: f64, n: usize) -> [f64; n] = random::uniform(key, low, high, n);
    normals(key: (u32, u32), mean: f64, deviation: f64, n: usize) -> [f64; n] = random::normal(key, mean, deviation, n);
    normals_32(key: (u32, u32), n: usize) -> [f32; n] = random::normal(key, 0.0, 1.0, n);
    exponentials(key: (u32, u32), rate: f64, n: usize) -> [f64; n] = random::exponential(key, rate, n);
    events(key: (u32, u32), p: f64, n: usize) -> [bool; n] = random::bernoulli(key, p, n);
    gammas(key: (u32, u32), shape: f64, n: usize) -> [f64; n] = random::gamma(key, shape, n);
    gammas_32(key: (u32, u32), shape: f32, n: usize) -> [f32; n] = random::gamma(key, shape, n);
    betas(key: (u32, u32), a: f64, b: f64, n: usize) -> [f64; n] = random::beta(key, a, b, n);
    counts(key: (u32, u32), rate: f64, n: usize) -> [i64; n] = random::poisson(key, rate, n);
    choices(key: (u32, u32), logits: [f64; k], n: usize) -> [i64; n] = map(|q| random::categorical(q, logits), random::split(key, n));
    order(key: (u32, u32), n: usize) -> [i64; n] = random::permutation(key, n);
}

/// The known answers of the authors' own test (Random123, `threefry2x32` with 20 rounds).
#[test]
fn blocks_are_the_authors() {
    let all = u32::MAX;
    assert_eq!(block((0, 0), (0, 0)), (0x6b20_0159, 0x99ba_4efe));
    assert_eq!(block((all, all), (all, all)), (0x1cb9_96fc, 0xbb00_2be7));
    assert_eq!(block((0x1319_8a2e, 0x0370_7344), (0x243f_6a88, 0x85a3_08d3)), (0xc492_3a9c, 0x483d_f7a0));
}

/// What `jax.random` 0.10.2 gave for the same calls.
#[test]
fn keys_and_uniform_numbers_are_those_of_jax() {
    let key: Key = (0, 42);
    assert_eq!(key_of(42), key);
    assert_eq!(key_of(123_456_789_012), (28, 3_197_704_724));
    assert_eq!(fold_in(key, 7), (2_547_012_911, 1_371_500_959));
    let (a, b) = split(key, 3);
    assert_eq!(a, array![1_832_780_943, 64_467_757, 2_465_931_498]);
    assert_eq!(b, array![270_669_613, 2_916_123_636, 255_383_827]);
    assert_eq!(bits(key, 4), array![2_098_992_034, 2_919_706_841, 2_646_866_425, 2_409_546_199]);
    let expected = [0.488_709_57f32, 0.679_797_2, 0.616_271_5];
    assert_eq!(singles(key, 0.0, 1.0, 3), Array1::from(expected.to_vec()));
    // 0x1.b4f8123c40884p-2, 0x1.ebd996d6e8400p-7, 0x1.25f641d41e71ap-1
    let expected = [0x3fdb_4f81_23c4_0884, 0x3f8e_bd99_6d6e_8400, 0x3fe2_5f64_1d41_e71a].map(f64::from_bits);
    assert_eq!(doubles(key, 0.0, 1.0, 3), Array1::from(expected.to_vec()));
}

fn mean(x: &Array1<f64>) -> f64 {
    x.sum() / x.len() as f64
}

/// Moments within five standard errors.
#[test]
fn distributions() {
    let (key, n) = ((7, 9), 200_000);
    let near = |found: f64, expected: f64, deviation: f64| {
        let error = deviation / (n as f64).sqrt();
        assert!((found - expected).abs() <= 5.0 * error, "{found}, expected {expected} ± {error}");
    };
    let u = doubles(key, -1.0, 3.0, n);
    assert!(u.iter().all(|x| (-1.0..3.0).contains(x)));
    near(mean(&u), 1.0, 4.0 / 12f64.sqrt());
    // Neighbors have nothing to do with each other.
    near(
        u.windows(2).into_iter().map(|w| (w[0] - 1.0) * (w[1] - 1.0)).sum::<f64>() / n as f64,
        0.0,
        16.0 / 12.0,
    );
    let x = normals(key, 1.0, 2.0, n);
    let z = x.mapv(|x| (x - 1.0) / 2.0);
    near(mean(&z), 0.0, 1.0);
    near(mean(&z.mapv(|z| z * z)), 1.0, 2f64.sqrt());
    near(mean(&z.mapv(|z| z.powi(3))), 0.0, 15f64.sqrt());
    near(mean(&z.mapv(|z| z.powi(4))), 3.0, 96f64.sqrt());
    near(mean(&z.mapv(|z| f64::from(u8::from(z > 1.959_963_985)))), 0.025, 0.157);
    near(mean(&normals_32(key, n).mapv(|z| f64::from(z * z))), 1.0, 2f64.sqrt());
    let e = exponentials(key, 4.0, n);
    assert!(e.iter().all(|x| *x >= 0.0 && x.is_finite()));
    near(mean(&e), 0.25, 0.25);
    for a in [0.4, 1.0, 3.5, 50.0] {
        let x = gammas(key, a, n);
        assert!(x.iter().all(|x| *x >= 0.0 && x.is_finite()));
        near(mean(&x), a, a.sqrt());
        // The variance of the square of the distance from the mean: the fourth moment is 3 a^2 + 6 a.
        near(mean(&x.mapv(|x| (x - a).powi(2))), a, (2.0 * a * a + 6.0 * a).sqrt());
        near(mean(&gammas_32(key, a as f32, n).mapv(f64::from)), a, a.sqrt());
    }
    let x = betas(key, 2.0, 3.0, n);
    near(mean(&x), 0.4, 0.2);
    near(mean(&x.mapv(|x| (x - 0.4).powi(2))), 0.04, 0.04);
    for rate in [0.0, 0.5, 9.0, 10.0, 80.0] {
        let k = counts(key, rate, n).mapv(|k| k as f64);
        near(mean(&k), rate, rate.sqrt());
        near(mean(&k.mapv(|k| (k - rate).powi(2))), rate, (2.0 * rate * rate + rate).sqrt());
    }
    near(mean(&events(key, 0.3, n).mapv(|b| f64::from(u8::from(b)))), 0.3, 0.46);
    assert!(events(key, 0.0, 1000).iter().all(|b| !b) && events(key, 1.0, 1000).iter().all(|b| *b));
    let logits = array![0.0, 1.0, f64::NEG_INFINITY, -1.0];
    let total: f64 = logits.mapv(f64::exp).sum();
    let chosen = choices(key, &logits, n);
    for (k, l) in logits.iter().enumerate() {
        near(mean(&chosen.mapv(|c| f64::from(u8::from(c == k as i64)))), l.exp() / total, 0.5);
    }
}

#[test]
fn permutations_have_everything_once() {
    for n in [0, 1, 2, 1000] {
        let p = order((1, 2), n);
        let mut sorted = p.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..n));
    }
    // All six orders of three are as likely.
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..3000 {
        *seen.entry(order(key_of(seed), 3).to_vec()).or_insert(0) += 1;
    }
    assert!(seen.len() == 6 && seen.values().all(|c| (400..600).contains(c)), "{seen:?}");
}

#[kernel]
fn spread(key: (u32, u32), mean: f64, deviation: f64, rate: f64, low: f64) -> f64 {
    let x = random::normal(random::fold_in(key, 0), mean, deviation, 50);
    let y = random::exponential(random::fold_in(key, 1), rate, 50);
    let u = random::uniform(random::fold_in(key, 2), low, 2.0, 50);
    sum(sin(x) * y + u * u * x)
}

#[test]
fn numbers_have_derivatives_by_their_parameters() {
    let check = check_grad(spread, ((3, 4), 0.5, 1.5, 2.0, -1.0)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
    assert_eq!(check.entries, 4);
}

#[kernel(value, vjp, jvp, hvp)]
fn one_gamma(key: (u32, u32), shape: f64) -> f64 {
    random::gamma_at(key, 3, shape)
}

/// The regularized incomplete gamma function: Simpson's rule for the integral of `t^(a - 1) e^-t`, with `t = s^4`, so that it is smooth at 0.
fn below(x: f64, a: f64, factor: f64) -> f64 {
    let f = |s: f64| 4.0 * s.powf(4.0 * a - 1.0) * (-s.powi(4)).exp();
    let (n, end) = (20_000, x.powf(0.25));
    let h = end / f64::from(n);
    let inner: f64 = (1..n).map(|i| f(h * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    factor * h / 3.0 * (inner + f(end))
}

/// A number stays at its quantile: `dF/dx x' + dF/da = 0`, and the second derivative is that of the first.
#[test]
fn gamma_distributed_numbers_move_as_their_quantiles() {
    // The gamma function of the shapes, and around them.
    let gamma = |a: f64| {
        // By Stirling's series, after a few steps up.
        let z = a + 20.0;
        let series = 1.0 / (12.0 * z) - 1.0 / (360.0 * z.powi(3)) + 1.0 / (1260.0 * z.powi(5));
        let up = (std::f64::consts::TAU / z).sqrt() * (z.ln() * z - z + series).exp();
        (0..20).fold(up, |g, k| g / (a + f64::from(k)))
    };
    for (seed, a) in [(1, 1.0), (2, 2.5), (3, 6.0), (4, 1.5)] {
        let key = (seed, 5);
        let (x, dx) = jvp(one_gamma)(key, a, 1.0);
        let h = 1e-4;
        let f = |x: f64, a: f64| below(x, a, 1.0 / gamma(a));
        let by_shape = (f(x, a + h) - f(x, a - h)) / (2.0 * h);
        let density = x.powf(a - 1.0) * (-x).exp() / gamma(a);
        assert!(
            (dx + by_shape / density).abs() < 1e-5 * (1.0 + dx.abs()),
            "{a}: {dx} {}",
            -by_shape / density
        );
        assert!((vjp(one_gamma)(key, a, 1.0).1 - dx).abs() < 1e-13 * (1.0 + dx.abs()));
        // Along the quantile: x'' = d/da g(x, a) + g dg/dx with g = -F_a / F_x.
        let g = |x: f64, a: f64| {
            let density = x.powf(a - 1.0) * (-x).exp() / gamma(a);
            -(f(x, a + h) - f(x, a - h)) / (2.0 * h) / density
        };
        let second = (g(x, a + h) - g(x, a - h)) / (2.0 * h) + dx * (g(x + h, a) - g(x - h, a)) / (2.0 * h);
        let found = hvp(one_gamma)(key, a, 1.0);
        assert!((found - second).abs() < 1e-3 * (1.0 + second.abs()), "{a}: {found} {second}");
    }
}

/// A matrix at once, or each of its elements at its point.
#[kernel(value)]
fn both(key: (u32, u32), n: usize, m: usize) -> ([[f32; m]; n], [[f32; m]; n]) {
    let flat = random::normal(key, 0.0, 1.0, n * m);
    (unflatten(flat, (n, m)), build((n, m), |i, j| random::normal_at(key, i * m + j, 0.0, 1.0)))
}

#[test]
fn points_have_their_own_numbers() {
    let (a, b): (Array2<f32>, Array2<f32>) = both((5, 6), 7, 300);
    assert_eq!(a, b);
}
