//! The opponents: the same loops in Rust, scalar code whose points rayon divides among all cores, with the derivatives that one writes
//! out by hand. What points share is summed up by each task for itself.

use ndarray::{Array1, Array2, Array3};
use rayon::prelude::*;

/// How many points a task should have at least.
const POINTS: usize = 256;

pub fn escape(cx: &Array1<f64>, cy: &Array1<f64>, most: i64) -> Array1<i64> {
    let one = |i: usize| {
        let (mut x, mut y, mut k) = (0.0, 0.0, 0);
        while x * x + y * y <= 4.0 && k < most {
            (x, y) = (x * x - y * y + cx[i], 2.0 * x * y + cy[i]);
            k += 1;
        }
        k
    };
    (0..cx.len()).into_par_iter().map(one).collect::<Vec<_>>().into()
}

pub fn march(start: &Array1<f64>, slope: &Array1<f64>, radius: f64) -> f64 {
    let one = |i: usize| {
        let (mut t, mut d) = (0.0, 1.0);
        while d > 0.001 && t < 100.0 {
            let p: f64 = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    };
    (0..start.len()).into_par_iter().map(one).sum()
}

/// By starts, slopes and the radius: `t` of all steps is kept, and `T`, the cotangent of the last one, goes back through
/// `t += sqrt((start + t slope)^2 + 1) - radius`.
pub fn march_gradient(start: &Array1<f64>, slope: &Array1<f64>, radius: f64) -> (Vec<f64>, Vec<f64>, f64) {
    let one = |kept: &mut Vec<f64>, i: usize| {
        kept.clear();
        let (mut t, mut d) = (0.0, 1.0);
        while d > 0.001 && t < 100.0 {
            kept.push(t);
            let p: f64 = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        let (mut by_t, mut by_start, mut by_slope, mut by_radius) = (1.0, 0.0, 0.0, 0.0);
        for t in kept.iter().rev() {
            let p = start[i] + t * slope[i];
            let by_p = by_t * p / (p * p + 1.0).sqrt();
            by_radius -= by_t;
            by_start += by_p;
            by_slope += by_p * t;
            by_t += by_p * slope[i];
        }
        (by_start, (by_slope, by_radius))
    };
    let points = (0..start.len()).into_par_iter().with_min_len(POINTS);
    let (by_start, (by_slope, by_radius)): (Vec<_>, (Vec<_>, Vec<_>)) =
        points.map_init(Vec::new, one).unzip();
    (by_start, by_slope, by_radius.iter().sum())
}

pub fn factors(a: &Array3<f64>) -> Array3<f64> {
    let mut all = vec![0.0; a.len()];
    all.par_chunks_mut(64).enumerate().for_each(|(p, l)| {
        for j in 0..8 {
            let mut s = a[[p, j, j]];
            for k in 0..j {
                s -= l[8 * j + k] * l[8 * j + k];
            }
            l[8 * j + j] = s.sqrt();
            for i in j + 1..8 {
                let mut t = a[[p, i, j]];
                for k in 0..j {
                    t -= l[8 * i + k] * l[8 * j + k];
                }
                l[8 * i + j] = t / l[8 * j + j];
            }
        }
    });
    Array3::from_shape_vec(a.raw_dim(), all).expect("as many elements")
}

/// The factors and the derivatives by the matrices, column by column from the last to the first.
pub fn factors_pullback(a: &Array3<f64>, seeds: &Array3<f64>) -> (Array3<f64>, Array3<f64>) {
    let value = factors(a);
    let (l, seeds) = (value.as_slice().expect("in order"), seeds.as_slice().expect("in order"));
    let mut all = vec![0.0; a.len()];
    all.par_chunks_mut(64).zip(l.par_chunks(64)).zip(seeds.par_chunks(64)).for_each(|((by_a, l), seeds)| {
        let mut by_l = [0.0; 64];
        by_l.copy_from_slice(seeds);
        for j in (0..8).rev() {
            for i in (j + 1..8).rev() {
                let by_t = by_l[8 * i + j] / l[8 * j + j];
                by_l[8 * j + j] -= by_t * l[8 * i + j];
                for k in 0..j {
                    by_l[8 * i + k] -= by_t * l[8 * j + k];
                    by_l[8 * j + k] -= by_t * l[8 * i + k];
                }
                by_a[8 * i + j] = by_t;
            }
            let by_s = by_l[8 * j + j] / (2.0 * l[8 * j + j]);
            for k in 0..j {
                by_l[8 * j + k] -= 2.0 * by_s * l[8 * j + k];
            }
            by_a[8 * j + j] = by_s;
        }
    });
    (value, Array3::from_shape_vec(a.raw_dim(), all).expect("as many elements"))
}

/// The places around `x`.
fn around(xs: &[f64], x: f64) -> (usize, usize) {
    let (mut lo, mut hi) = (0, xs.len() - 1);
    while hi - lo > 1 {
        let mid = (lo + hi) / 2;
        if xs[mid] > x {
            hi = mid;
        } else {
            lo = mid;
        }
    }
    (lo, hi)
}

pub fn interpolated(xs: &Array1<f64>, ys: &Array1<f64>, at: &Array1<f64>) -> Array1<f64> {
    let (xs, ys) = (xs.as_slice().expect("in order"), ys.as_slice().expect("in order"));
    let one = |i: usize| {
        let (lo, hi) = around(xs, at[i]);
        ys[lo] + (ys[hi] - ys[lo]) * (at[i] - xs[lo]) / (xs[hi] - xs[lo])
    };
    (0..at.len()).into_par_iter().with_min_len(POINTS).map(one).collect::<Vec<_>>().into()
}

/// Derivatives by a table's places and values, and by what is looked up.
pub type ByTable = (Vec<f64>, Vec<f64>, Vec<f64>);

/// The values, and the derivatives.
pub fn interpolated_pullback(
    xs: &Array1<f64>,
    ys: &Array1<f64>,
    at: &Array1<f64>,
    seeds: &Array1<f64>,
) -> (Vec<f64>, ByTable) {
    let (xs, ys) = (xs.as_slice().expect("in order"), ys.as_slice().expect("in order"));
    let (at, seeds) = (at.as_slice().expect("in order"), seeds.as_slice().expect("in order"));
    let (mut value, mut by_at) = (vec![0.0; at.len()], vec![0.0; at.len()]);
    let size = at.len().div_ceil(4 * rayon::current_num_threads()).max(POINTS);
    let zeros = || (vec![0.0; xs.len()], vec![0.0; xs.len()]);
    type Chunk<'a> = (((&'a mut [f64], &'a mut [f64]), &'a [f64]), &'a [f64]);
    let of_chunk = |(((value, by_at), at), seeds): Chunk<'_>| {
        let (mut by_xs, mut by_ys) = zeros();
        for (((value, by_at), x), seed) in value.iter_mut().zip(by_at).zip(at).zip(seeds) {
            let (lo, hi) = around(xs, *x);
            let (dx, dy) = (xs[hi] - xs[lo], ys[hi] - ys[lo]);
            let part = (x - xs[lo]) / dx;
            *value = ys[lo] + dy * part;
            let slope = seed * dy / dx;
            *by_at = slope;
            by_ys[lo] += seed * (1.0 - part);
            by_ys[hi] += seed * part;
            by_xs[lo] += slope * (part - 1.0);
            by_xs[hi] -= slope * part;
        }
        (by_xs, by_ys)
    };
    let both = |mut a: (Vec<f64>, Vec<f64>), b: (Vec<f64>, Vec<f64>)| {
        a.0.iter_mut().zip(&b.0).for_each(|(a, b)| *a += b);
        a.1.iter_mut().zip(&b.1).for_each(|(a, b)| *a += b);
        a
    };
    let results = value.par_chunks_mut(size).zip(by_at.par_chunks_mut(size));
    let chunks = results.zip(at.par_chunks(size)).zip(seeds.par_chunks(size));
    let (by_xs, by_ys) = chunks.map(of_chunk).reduce(zeros, both);
    (value, (by_xs, by_ys, by_at))
}

/// Places and speeds.
pub type States = (Vec<f64>, Vec<f64>);

/// One step of the classical Runge-Kutta method for `x'' = -k sin(x)`.
fn flown_step(x: f64, v: f64, k: f64, dt: f64) -> (f64, f64) {
    let a1 = -k * x.sin();
    let (x2, v2) = (x + 0.5 * dt * v, v + 0.5 * dt * a1);
    let a2 = -k * x2.sin();
    let (x3, v3) = (x + 0.5 * dt * v2, v + 0.5 * dt * a2);
    let a3 = -k * x3.sin();
    let (x4, v4) = (x + dt * v3, v + dt * a3);
    let a4 = -k * x4.sin();
    (x + dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4), v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4))
}

pub fn flown(x: &Array1<f64>, v: &Array1<f64>, k: f64, dt: f64, steps: usize) -> States {
    let one = |i: usize| (0..steps).fold((x[i], v[i]), |(x, v), _| flown_step(x, v, k, dt));
    (0..x.len()).into_par_iter().with_min_len(POINTS).map(one).unzip()
}

/// The last states, and the derivatives by the first ones, `k` and `dt`, where the seeds are `x` and `v`: the states of all steps are kept.
pub fn flown_pullback(
    x: &Array1<f64>,
    v: &Array1<f64>,
    k: f64,
    dt: f64,
    steps: usize,
) -> (States, (Vec<f64>, Vec<f64>, f64, f64)) {
    let one = |kept: &mut Vec<(f64, f64)>, i: usize| {
        kept.clear();
        let mut state = (x[i], v[i]);
        for _ in 0..steps {
            kept.push(state);
            state = flown_step(state.0, state.1, k, dt);
        }
        let (mut by_x, mut by_v, mut by_k, mut by_dt) = (x[i], v[i], 0.0, 0.0);
        for &(x, v) in kept.iter().rev() {
            let (s1, c1) = x.sin_cos();
            let a1 = -k * s1;
            let (x2, v2) = (x + 0.5 * dt * v, v + 0.5 * dt * a1);
            let (s2, c2) = x2.sin_cos();
            let a2 = -k * s2;
            let (x3, v3) = (x + 0.5 * dt * v2, v + 0.5 * dt * a2);
            let (s3, c3) = x3.sin_cos();
            let a3 = -k * s3;
            let (x4, v4) = (x + dt * v3, v + dt * a3);
            let (s4, c4) = x4.sin_cos();
            let a4 = -k * s4;
            by_dt += ((v + 2.0 * v2 + 2.0 * v3 + v4) * by_x + (a1 + 2.0 * a2 + 2.0 * a3 + a4) * by_v) / 6.0;
            let (by_v4, by_a4) = (dt / 6.0 * by_x, dt / 6.0 * by_v);
            let by_x4 = -k * c4 * by_a4;
            let by_a3 = dt / 3.0 * by_v + dt * by_v4;
            let by_v3 = dt / 3.0 * by_x + dt * by_x4;
            let by_x3 = -k * c3 * by_a3;
            let by_a2 = dt / 3.0 * by_v + 0.5 * dt * by_v3;
            let by_v2 = dt / 3.0 * by_x + 0.5 * dt * by_x3;
            let by_x2 = -k * c2 * by_a2;
            let by_a1 = dt / 6.0 * by_v + 0.5 * dt * by_v2;
            by_dt += a3 * by_v4 + v3 * by_x4 + 0.5 * (a2 * by_v3 + v2 * by_x3 + a1 * by_v2 + v * by_x2);
            by_k -= s4 * by_a4 + s3 * by_a3 + s2 * by_a2 + s1 * by_a1;
            by_v += dt / 6.0 * by_x + by_v4 + by_v3 + by_v2 + 0.5 * dt * by_x2;
            by_x += by_x4 + by_x3 + by_x2 - k * c1 * by_a1;
        }
        (state, ((by_x, by_v), (by_k, by_dt)))
    };
    let points = (0..x.len()).into_par_iter().with_min_len(POINTS);
    let (last, ((by_x, by_v), shared)): (States, (States, Vec<_>)) = points.map_init(Vec::new, one).unzip();
    let (by_k, by_dt) = shared.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    (last, (by_x, by_v, by_k, by_dt))
}

pub fn filtered(x: &Array1<f64>, w: &Array1<f64>) -> Array1<f64> {
    let (x, w) = (x.as_slice().expect("in order"), w.as_slice().expect("in order"));
    let one = |window: &[f64]| window.iter().zip(w).map(|(x, w)| x * w).sum();
    x.par_windows(16).with_min_len(POINTS).map(one).collect::<Vec<_>>().into()
}

/// The filtered signal, and the derivatives by the signal and by the taps.
pub fn filtered_pullback(
    x: &Array1<f64>,
    w: &Array1<f64>,
    seeds: &Array1<f64>,
) -> (Array1<f64>, (Vec<f64>, [f64; 16])) {
    let value = filtered(x, w);
    let (x, w) = (x.as_slice().expect("in order"), w.as_slice().expect("in order"));
    let n = seeds.len();
    let by_x = (0..x.len()).into_par_iter().with_min_len(POINTS).map(|j| {
        let taps = (j + 1).saturating_sub(n)..16.min(j + 1);
        taps.map(|k| w[k] * seeds[j - k]).sum()
    });
    let of_chunk = |points: &[usize]| {
        let mut by_w = [0.0; 16];
        for i in points {
            for (k, by_w) in by_w.iter_mut().enumerate() {
                *by_w += seeds[*i] * x[i + k];
            }
        }
        by_w
    };
    let points: Vec<usize> = (0..n).collect();
    let both = |mut a: [f64; 16], b: [f64; 16]| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    let size = n.div_ceil(4 * rayon::current_num_threads()).max(POINTS);
    (value, (by_x.collect(), points.par_chunks(size).map(of_chunk).reduce(|| [0.0; 16], both)))
}

/// Cameras, points, weights, features, and the camera and the point of each observation.
pub struct Scene {
    pub cameras: Array2<f64>,
    pub xs: Array2<f64>,
    pub ws: Array1<f64>,
    pub features: Array2<f64>,
    pub seen: Array2<i64>,
}

type Vector = [f64; 3];

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn sum<const N: usize>(terms: [(f64, Vector); N]) -> Vector {
    std::array::from_fn(|i| terms.iter().map(|(c, v)| c * v[i]).sum())
}

impl Scene {
    /// The camera, the point relative to it, the weight and the feature of an observation.
    fn observation(&self, i: usize) -> (&[f64], Vector, f64, [f64; 2]) {
        let camera = 11 * self.seen[[i, 0]] as usize;
        let camera = &self.cameras.as_slice().expect("in order")[camera..camera + 11];
        let z = std::array::from_fn(|k| self.xs[[self.seen[[i, 1]] as usize, k]] - camera[3 + k]);
        (camera, z, self.ws[i], [self.features[[i, 0]], self.features[[i, 1]]])
    }

    pub fn errors(&self) -> Vec<[f64; 2]> {
        let one = |i: usize| {
            let (camera, z, w, feature) = self.observation(i);
            let r = [camera[0], camera[1], camera[2]];
            let y = if dot(r, r) != 0.0 {
                let angle = dot(r, r).sqrt();
                let axis = r.map(|r| r / angle);
                let along = dot(axis, z) * (1.0 - angle.cos());
                sum([(angle.cos(), z), (angle.sin(), cross(axis, z)), (along, axis)])
            } else {
                sum([(1.0, z), (1.0, cross(r, z))])
            };
            let p = [y[0] / y[2], y[1] / y[2]];
            let squared = p[0] * p[0] + p[1] * p[1];
            let scale = camera[6] * (1.0 + camera[9] * squared + camera[10] * squared * squared);
            std::array::from_fn(|k| w * (scale * p[k] + camera[7 + k] - feature[k]))
        };
        (0..self.ws.len()).into_par_iter().with_min_len(POINTS).map(one).collect()
    }

    /// By the camera's eleven numbers, the point's three, and the weight: one reverse sweep for each error.
    pub fn blocks(&self) -> Vec<[[f64; 15]; 2]> {
        let one = |i: usize| {
            let (camera, z, w, feature) = self.observation(i);
            let r = [camera[0], camera[1], camera[2]];
            let angle = dot(r, r).sqrt();
            let (axis, (sin, cos)) =
                if angle != 0.0 { (r.map(|r| r / angle), angle.sin_cos()) } else { (r, (1.0, 1.0)) };
            let (along, turned) = (dot(axis, z), cross(axis, z));
            let y = sum([(cos, z), (sin, turned), (along * (1.0 - cos), axis)]);
            let p = [y[0] / y[2], y[1] / y[2]];
            let squared = p[0] * p[0] + p[1] * p[1];
            let distortion = 1.0 + camera[9] * squared + camera[10] * squared * squared;
            std::array::from_fn(|k| {
                let f = camera[6];
                let mut row = [0.0; 15];
                row[14] = f * distortion * p[k] + camera[7 + k] - feature[k];
                row[6] = w * distortion * p[k];
                row[7 + k] = w;
                row[9] = w * f * p[k] * squared;
                row[10] = row[9] * squared;
                let by_squared = w * f * p[k] * (camera[9] + 2.0 * camera[10] * squared);
                let mut by_p = [2.0 * by_squared * p[0], 2.0 * by_squared * p[1]];
                by_p[k] += w * f * distortion;
                let by_depth = -(by_p[0] * p[0] + by_p[1] * p[1]) / y[2];
                let by_y = [by_p[0] / y[2], by_p[1] / y[2], by_depth];
                let along_axis = dot(axis, by_y);
                let by_z = sum([(cos, by_y), (sin, cross(by_y, axis)), (along_axis * (1.0 - cos), axis)]);
                let by_axis =
                    sum([(sin, cross(z, by_y)), (along * (1.0 - cos), by_y), (along_axis * (1.0 - cos), z)]);
                let by_r = if angle != 0.0 {
                    let by_angle = sin * (along_axis * along - dot(by_y, z)) + cos * dot(by_y, turned);
                    sum([(1.0 / angle, by_axis), (by_angle - dot(by_axis, axis) / angle, axis)])
                } else {
                    by_axis
                };
                for k in 0..3 {
                    (row[k], row[3 + k], row[11 + k]) = (by_r[k], -by_z[k], by_z[k]);
                }
                row
            })
        };
        (0..self.ws.len()).into_par_iter().with_min_len(POINTS).map(one).collect()
    }
}
