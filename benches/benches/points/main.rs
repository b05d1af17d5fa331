//! What points do by themselves, against the same loops in Rust, whose points rayon divides among all cores, values and derivatives:
//! escape times, rays that march, factors of small matrices, a search by halves, particles, a filter of sixteen taps, and errors of
//! bundle adjustment with their derivatives by all that they depend on. Before they are timed, both are compared.

mod by_hand;
#[path = "../../../array-dsl-compiler/tests/programs/points.rs"]
mod programs;

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, pair};
use array_dsl_gradbench::ba::reprojection;
use by_hand::Scene;
use criterion::Criterion;
use ndarray::{Array1, Array2, Array3, s};
use programs::{flown, interpolated};

#[kernel]
fn escape(cx: [f64; n], cy: [f64; n], most: i64) -> [i64; n] {
    build(n, |i| {
        let mut x = 0.0;
        let mut y = 0.0;
        let mut k = 0;
        while x * x + y * y <= 4.0 && k < most {
            let t = x * x - y * y + cx[i];
            y = 2.0 * x * y + cy[i];
            x = t;
            k += 1;
        }
        k
    })
}

#[kernel]
fn march(start: [f64; n], slope: [f64; n], radius: f64) -> f64 {
    sum(build(n, |i| {
        let mut t = 0.0;
        let mut d = 1.0;
        while d > 0.001 && t < 100.0 {
            let p = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    }))
}

#[kernel]
fn factors(a: [[[f64; 8]; 8]; n]) -> [[[f64; 8]; 8]; n] {
    map(
        |a| {
            let mut l = zeros((8, 8));
            for j in 0..8 {
                let mut s = a[j][j];
                for k in 0..j {
                    s -= l[j][k] * l[j][k];
                }
                l[j][j] = s.sqrt();
                for i in j + 1..8 {
                    let mut t = a[i][j];
                    for k in 0..j {
                        t -= l[i][k] * l[j][k];
                    }
                    l[i][j] = t / l[j][j];
                }
            }
            l
        },
        a,
    )
}

#[kernel]
fn filtered(x: [f64; n + 15], w: [f64; 16]) -> [f64; n] {
    build(n, |i| {
        let mut s = 0.0;
        for k in 0..16 {
            s += w[k] * x[i + k];
        }
        s
    })
}

#[kernel(value)]
fn errors(
    cameras: [[f64; 11]; c],
    xs: [[f64; 3]; m],
    ws: [f64; p],
    features: [[f64; 2]; p],
    seen: [[i64; 2]; p],
) -> [[f64; 2]; p] {
    build(p, |i| reprojection(cameras[seen[i][0]], xs[seen[i][1]], ws[i], features[i]))
}

#[kernel(value)]
fn blocks(
    cameras: [[f64; 11]; c],
    xs: [[f64; 3]; m],
    ws: [f64; p],
    features: [[f64; 2]; p],
    seen: [[i64; 2]; p],
) -> [[[f64; 15]; 2]; p] {
    build(p, |i| {
        let parameters = concat(cameras[seen[i][0]], xs[seen[i][1]], [ws[i]]);
        jacobian(|v| reprojection(v[0..11], v[11..14], v[14], features[i]))(parameters)
    })
}

/// Numbers of a result, in an order that both sides have in common.
trait Numbers {
    fn numbers(&self) -> Vec<f64>;
}

impl Numbers for f64 {
    fn numbers(&self) -> Vec<f64> {
        vec![*self]
    }
}

impl<D: ndarray::Dimension> Numbers for ndarray::Array<f64, D> {
    fn numbers(&self) -> Vec<f64> {
        self.iter().copied().collect()
    }
}

impl Numbers for Array1<i64> {
    fn numbers(&self) -> Vec<f64> {
        self.mapv(|k| k as f64).to_vec()
    }
}

impl<T: Numbers> Numbers for Vec<T> {
    fn numbers(&self) -> Vec<f64> {
        self.iter().flat_map(T::numbers).collect()
    }
}

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    fn numbers(&self) -> Vec<f64> {
        self.iter().flat_map(T::numbers).collect()
    }
}

/// The numbers of a tuple's parts, one after the other.
macro_rules! tuples {
    ($(($($part:ident)+))+) => {
        $(impl<$($part: Numbers),+> Numbers for ($($part,)+) {
            fn numbers(&self) -> Vec<f64> {
                #[expect(non_snake_case, reason = "parts have the names of their types")]
                let ($($part,)+) = self;
                [$($part.numbers()),+].concat()
            }
        })+
    };
}

tuples!((A B) (A B C) (A B C D));

/// Measures two programs that give the same numbers.
fn same<X: Numbers, Y: Numbers>(
    c: &mut Criterion,
    name: &str,
    ours: impl Fn() -> X,
    by_hand: impl Fn() -> Y,
) {
    let (x, y) = (ours().numbers(), by_hand().numbers());
    let largest = y.iter().fold(1.0, |a: f64, y| a.max(y.abs()));
    let close = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-9 * largest;
    assert!(x.len() == y.len() && x.iter().zip(&y).all(close), "{name}: the two disagree");
    pair(c, name, "Rust", ours, by_hand);
}

fn main() {
    let mut c = criterion();
    let n = 250_000;
    let x = Array1::from_shape_fn(n, |i| -2.0 + 3.0 * (i % 500) as f64 / 500.0);
    let y = Array1::from_shape_fn(n, |i| -1.5 + 3.0 * (i / 500) as f64 / 500.0);
    same(&mut c, "escape", || escape(&x, &y, 200), || by_hand::escape(&x, &y, 200));

    let (start, slope) = (&x * 0.5, &y * 0.1 + 0.3);
    let value = || march(&start, &slope, 0.5);
    same(&mut c, "march", value, || by_hand::march(&start, &slope, 0.5));
    let gradient = || grad(march)(&start, &slope, 0.5);
    same(&mut c, "gradient of march", gradient, || by_hand::march_gradient(&start, &slope, 0.5));
    pair(&mut c, "gradient of march", "value", gradient, value);

    let a = Array3::from_shape_fn((10_000, 8, 8), |(p, i, j)| match i == j {
        true => 8.0,
        false => ((i + j) * (p % 7)) as f64 * 0.01,
    });
    same(&mut c, "factors", || factors(&a), || by_hand::factors(&a));
    let pullback = || vjp(factors)(&a, &a);
    same(&mut c, "pullback of factors", pullback, || by_hand::factors_pullback(&a, &a));
    pair(&mut c, "pullback of factors", "value", pullback, || factors(&a));

    let xs = Array1::from_shape_fn(1000, |i| (i * i) as f64);
    let ys = xs.mapv(f64::sqrt);
    let at = Array1::from_shape_fn(n, |i| (i * 7919 % 998_000) as f64 + 0.5);
    let value = || interpolated(&xs, &ys, &at);
    same(&mut c, "search", value, || by_hand::interpolated(&xs, &ys, &at));
    let pullback = || vjp(interpolated)(&xs, &ys, &at, &x);
    same(&mut c, "pullback of search", pullback, || by_hand::interpolated_pullback(&xs, &ys, &at, &x));
    pair(&mut c, "pullback of search", "value", pullback, value);

    let angle = Array1::from_shape_fn(20_000, |i| (i % 300) as f64 * 0.01);
    let speed = &angle * 0.1;
    let value = || flown(&angle, &speed, 9.81, 0.01, 100);
    same(&mut c, "particles", value, || by_hand::flown(&angle, &speed, 9.81, 0.01, 100));
    let pullback = || vjp(flown)(&angle, &speed, 9.81, 0.01, 100, &angle, &speed);
    let opponent = || by_hand::flown_pullback(&angle, &speed, 9.81, 0.01, 100);
    same(&mut c, "pullback of particles", pullback, opponent);
    pair(&mut c, "pullback of particles", "value", pullback, value);

    let taps = Array1::from_shape_fn(16, |k| 1.0 / (k + 1) as f64);
    let seeds = x.slice(s![..n - 15]).to_owned();
    same(&mut c, "taps", || filtered(&x, &taps), || by_hand::filtered(&x, &taps));
    let pullback = || vjp(filtered)(&x, &taps, &seeds);
    same(&mut c, "pullback of taps", pullback, || by_hand::filtered_pullback(&x, &taps, &seeds));
    pair(&mut c, "pullback of taps", "value", pullback, || filtered(&x, &taps));

    let camera = [0.1, -0.2, 0.3, 0.5, -0.4, -6.0, 1.0, 0.3, -0.2, 0.01, -0.002];
    let scene = Scene {
        cameras: Array2::from_shape_fn((49, 11), |(i, j)| camera[j] * (1.0 + 0.001 * i as f64)),
        xs: Array2::from_shape_fn((7776, 3), |(i, j)| ((3 * i + j) % 17) as f64 * 0.1),
        ws: Array1::from_shape_fn(31_843, |i| 1.0 - 0.001 * (i % 10) as f64),
        features: Array2::from_shape_fn((31_843, 2), |(i, j)| ((i + j) % 5) as f64 * 0.1),
        seen: Array2::from_shape_fn((31_843, 2), |(i, j)| if j == 0 { i % 49 } else { i % 7776 } as i64),
    };
    let Scene { cameras, xs, ws, features, seen } = &scene;
    let value = || errors(cameras, xs, ws, features, seen);
    same(&mut c, "reprojections", value, || scene.errors());
    let jacobian = || blocks(cameras, xs, ws, features, seen);
    same(&mut c, "jacobian of reprojections", jacobian, || scene.blocks());
    pair(&mut c, "jacobian of reprojections", "value", jacobian, value);
}
