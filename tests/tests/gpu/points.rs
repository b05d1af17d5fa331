//! Loops that points make by themselves, each in one thread: escape times, rays that march, a search by halves, particles, a matrix at
//! every point, a filter, rows of different lengths.

use array_dsl::prelude::*;
use ndarray::{Array1, Array3, array};

use super::agreement::{TOLERANCE, agree, is_skipped, noise, own_gpu};

/// Numbers of points: none, one, and around those of a subgroup and of a workgroup.
const POINTS: [usize; 7] = [0, 1, 63, 64, 65, 200, 257];

fn doubles(n: usize, seed: u32) -> Array1<f64> {
    noise(n, seed).mapv(f64::from)
}

// Points end at very different times.

#[kernel]
fn escape(cx: [f32; n], cy: [f32; n], most: i32) -> ([i32; n], [f32; n]) {
    map(
        |(cx, cy)| {
            let mut x = 0.0;
            let mut y = 0.0;
            let mut k = 0;
            while x * x + y * y <= 4.0 && k < most {
                let t = x * x - y * y + cx;
                y = 2.0 * x * y + cy;
                x = t;
                k += 1;
            }
            (k, x)
        },
        (cx, cy),
    )
}

/// States that change places at the end of a trip.
#[kernel]
fn fibonacci(a: [i32; n], b: [i32; n], most: i32) -> ([i32; n], [i32; n]) {
    map(
        |(a, b)| {
            let mut x = a;
            let mut y = b;
            let mut z = 0;
            while x < most {
                (x, y, z) = (y, x + y + 1, x);
            }
            (x, z)
        },
        (a, b),
    )
}

#[kernel]
fn picture(h: usize, w: usize, most: i64) -> [[i64; w]; h] {
    build((h, w), |i, j| {
        let cx = 3.0 * (j as f64) / (w as f64) - 2.0;
        let cy = 2.0 * (i as f64) / (h as f64) - 1.0;
        let mut x = 0.0;
        let mut y = 0.0;
        let mut k = 0;
        while x * x + y * y <= 4.0 && k < most {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            k += 1;
        }
        k
    })
}

#[test]
fn escape_times() {
    for n in POINTS {
        // What is computed differently in the last place escapes the same way in few trips.
        let (cx, cy) = (noise(n, 1) - 0.4, noise(n, 2));
        for most in [0, 1, 6] {
            agree(escape, (cx.clone(), cy.clone(), most), 1e-3);
        }
        agree(vjp(escape), (cx.clone(), cy.clone(), 4, noise(n, 3)), 1e-3);
        agree(jvp(escape), (cx, cy, 4, noise(n, 4), noise(n, 5)), 1e-3);
        let numbers = |seed| noise(n, seed).mapv(|x| (x * 10.0).abs() as i32);
        agree(fibonacci, (numbers(1), numbers(2), 1000), 0.0);
    }
    for (h, w) in [(0i64, 3i64), (3, 0), (1, 1), (2, 17), (33, 70)] {
        agree(picture, (h, w, 60i64), 0.0);
    }
}

// Rays, with a gradient by what all of them share.

#[kernel(hvp)]
fn march(start: [f32; n], slope: [f32; n], radius: f32) -> f32 {
    sum(build(n, |i| {
        let mut t = 0.0;
        let mut d = 1.0;
        while d > 0.001 && t < 20.0 {
            let p = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    }))
}

#[kernel]
fn march64(start: [f64; n], slope: [f64; n], radius: f64) -> f64 {
    sum(build(n, |i| {
        let mut t = 0.0;
        let mut d = 1.0;
        while d > 0.001 && t < 20.0 {
            let p = start[i] + t * slope[i];
            d = (p * p + 1.0).sqrt() - radius;
            t += d;
        }
        t
    }))
}

#[test]
fn rays_march() {
    for n in POINTS {
        let (start, slope) = (noise(n, 1) * 0.5, noise(n, 2) * 0.1 + 0.3);
        agree(march, (start.clone(), slope.clone(), 0.5f32), 1e-4);
        agree(grad(march), (start.clone(), slope.clone(), 0.5f32), 1e-3);
        agree(value_and_grad(march), (start.clone(), slope.clone(), 0.5f32), 1e-3);
        agree(jvp(march), (start.clone(), slope.clone(), 0.5f32, noise(n, 3), noise(n, 4), 1f32), 1e-3);
        agree(hvp(march), (start, slope, 0.5f32, noise(n, 3), noise(n, 4), 1f32), 1e-2);
        let (start, slope) = (doubles(n, 1) * 0.5, doubles(n, 2) * 0.1 + 0.3);
        agree(march64, (start.clone(), slope.clone(), 0.5), 1e-12);
        agree(grad(march64), (start, slope, 0.5), 1e-11);
    }
}

// What is found is not differentiated, what is interpolated is.

#[kernel]
fn interpolated(xs: [f32; m], ys: [f32; m], at: [f32; n]) -> [f32; n] {
    map(
        |x| {
            let mut lo = 0;
            let mut hi = m - 1;
            while hi - lo > 1 {
                let mid = (lo + hi) / 2;
                if xs[mid] > x {
                    hi = mid;
                } else {
                    lo = mid;
                }
            }
            ys[lo] + (ys[hi] - ys[lo]) * (x - xs[lo]) / (xs[hi] - xs[lo])
        },
        at,
    )
}

#[test]
fn search_by_halves() {
    let xs = Array1::from_shape_fn(9, |i| (i * i) as f32);
    let ys = xs.mapv(f32::sqrt);
    for n in POINTS {
        let at = noise(n, 1).mapv(|x| 32.0 + 31.0 * x);
        agree(interpolated, (xs.clone(), ys.clone(), at.clone()), TOLERANCE);
        agree(vjp(interpolated), (xs.clone(), ys.clone(), at.clone(), noise(n, 2)), 1e-4);
        agree(jvp(interpolated), (xs.clone(), ys.clone(), at, noise(9, 3), noise(9, 4), noise(n, 5)), 1e-3);
    }
}

// Particles in a field, by the classical Runge-Kutta method; the number of steps is the same for all.

#[kernel]
fn flown(start: [f32; n], speed: [f32; n], k: f32, dt: f32, steps: usize) -> ([f32; n], [f32; n]) {
    let mut x = start;
    let mut v = speed;
    for _ in 0..steps {
        let a1 = -k * x.sin();
        let (x2, v2) = (x + 0.5 * dt * v, v + 0.5 * dt * a1);
        let a2 = -k * x2.sin();
        let (x3, v3) = (x + 0.5 * dt * v2, v + 0.5 * dt * a2);
        let a3 = -k * x3.sin();
        let (x4, v4) = (x + dt * v3, v + dt * a3);
        let a4 = -k * x4.sin();
        x += dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4);
        v += dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    }
    (x, v)
}

/// The same for one particle, as a function that is applied at every point.
#[kernel]
fn flight(start: [f32; n], speed: [f32; n], k: f32, dt: f32, steps: usize) -> [f32; n] {
    build(n, |i| {
        let mut x = start[i];
        let mut v = speed[i];
        for _ in 0..steps {
            let a = -k * x.sin();
            let (x2, v2) = (x + 0.5 * dt * v, v + 0.5 * dt * a);
            x += dt * v2;
            v += -dt * k * x2.sin();
        }
        x * v
    })
}

#[test]
fn particles() {
    for n in POINTS {
        let (x, v) = (noise(n, 1), noise(n, 2) * 0.3);
        for steps in [0i64, 1, 20] {
            let args = (x.clone(), v.clone(), 2f32, 0.05f32, steps);
            agree(flown, args.clone(), 1e-4);
            agree(flight, args.clone(), 1e-4);
            let (x, v, k, dt, steps) = args;
            agree(vjp(flown), (x.clone(), v.clone(), k, dt, steps, noise(n, 3), noise(n, 4)), 1e-3);
            agree(vjp(flight), (x, v, k, dt, steps, noise(n, 3)), 1e-3);
        }
    }
}

// A matrix at every point, in place.

#[kernel]
fn factors(a: [[[f32; m]; m]; n]) -> [[[f32; m]; m]; n] {
    map(
        |a| {
            let mut l = zeros((m, m));
            for j in 0..m {
                let mut s = a[j][j];
                for k in 0..j {
                    s -= l[j][k] * l[j][k];
                }
                l[j][j] = s.sqrt();
                for i in j + 1..m {
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

/// Of eight rows, which the kernel knows; the factor is used at its point only.
#[kernel]
fn log_dets(a: [[[f64; 8]; 8]; n]) -> [f64; n] {
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
            sum(build(8, |i| 2.0 * l[i][i].ln()))
        },
        a,
    )
}

fn matrices(n: usize, m: usize) -> Array3<f32> {
    let a = Array3::from_shape_fn(
        (n, m, m),
        |(p, i, j)| {
            if i == j { 4.0 } else { 0.1 * ((i * j + p) as f32).sin() }
        },
    );
    (&a + &a.clone().permuted_axes([0, 2, 1])) * 0.5
}

#[test]
fn matrices_at_every_point() {
    for n in POINTS {
        for m in [1, 2, 5, 8] {
            let a = matrices(n, m);
            agree(factors, (a.clone(),), TOLERANCE);
            agree(vjp(factors), (a, noise((n, m, m), 1)), 1e-4);
        }
        let a = matrices(n, 8).mapv(f64::from);
        agree(log_dets, (a.clone(),), 1e-12);
        agree(vjp(log_dets), (a, doubles(n, 1)), 1e-12);
    }
}

// A window around every point.

#[kernel]
fn filtered(x: [f32; n], taps: [f32; 16]) -> [f32; n - 15] {
    build(n - 15, |i| {
        let mut s = 0.0;
        for k in 0..16 {
            s += taps[k] * x[i + k];
        }
        s
    })
}

#[test]
fn sixteen_taps() {
    for n in POINTS {
        let args = (noise(n + 15, 1), noise(16, 2));
        agree(filtered, args.clone(), TOLERANCE);
        agree(vjp(filtered), (args.0, args.1, noise(n, 3)), 1e-4);
    }
}

// Counts that data decide.

#[kernel]
fn recurrent_rows(val: [f32; m], col: [i64; m], first: [i64; k], x: [f32; w]) -> [f32; k - 1] {
    build(k - 1, |i| {
        let mut s = 0.0;
        for j in first[i]..first[i + 1] {
            s = s * 0.5 + val[j] * x[col[j]];
        }
        s
    })
}

/// The same rows, summed, with the greatest element.
#[kernel]
fn summed_rows(val: [f32; m], col: [i64; m], first: [i64; k], x: [f32; w]) -> ([f32; k - 1], [f32; k - 1]) {
    let both = build(k - 1, |i| {
        let (mut s, mut most) = (1.0, -5.0);
        for j in first[i]..first[i + 1] {
            s += val[j] * x[col[j]];
            most = max(most, val[j]);
        }
        (s, most)
    });
    (both.0, both.1)
}

/// Each point counts in an array of its own.
#[kernel]
fn histograms(x: [[i32; m]; n], bins: usize) -> [[i32; bins]; n] {
    build(n, |i| {
        let mut h = [0; bins];
        let mut j = 0;
        while j < m && x[i][j] >= 0 {
            h[x[i][j] as usize] += 1;
            j += 1;
        }
        h
    })
}

#[test]
fn rows_of_different_lengths() {
    for n in POINTS {
        let mut first = vec![0i64];
        for i in 0..n {
            // One is long, many are empty.
            first.push(first[i] + if i == 3 { 300 } else { (i * 7 % 5) as i64 });
        }
        let m = first[n] as usize;
        let col = Array1::from_shape_fn(m, |j| (j * 5 % 6) as i64);
        let args = (noise(m, 1), col, Array1::from_vec(first), noise(6, 2));
        agree(recurrent_rows, args.clone(), TOLERANCE);
        agree(summed_rows, args.clone(), TOLERANCE);
        let (val, col, first, x) = args;
        agree(vjp(recurrent_rows), (val.clone(), col.clone(), first.clone(), x.clone(), noise(n, 3)), 1e-4);
        agree(vjp(summed_rows), (val, col, first, x, noise(n, 3), noise(n, 4)), 1e-4);
        let x = noise((n, 20), 4).mapv(|x| (x * 5.0 + 4.0) as i32);
        agree(histograms, (x, 10i64), 0.0);
    }
}

// What goes wrong.

#[kernel]
fn chased(next: [i32; n], start: [i32; m]) -> [i32; m] {
    map(
        |s| {
            let mut here = s;
            let mut steps = 0;
            while here != 0 {
                here = next[here as usize];
                steps += 1;
            }
            steps
        },
        start,
    )
}

#[test]
fn failures_in_loops_of_points() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let next = gpu.upload(&array![0, 2, 0, 9]).unwrap();
    let all = |start: Array1<i32>| {
        let start = gpu.upload(&start).unwrap();
        gpu.run(chased, (&next, &start)).and_then(|k| k.download())
    };
    assert_eq!(all(array![1, 0, 2]).unwrap(), array![2, 0, 1]);
    let error = all(array![1, 3, 2]).unwrap_err().to_string();
    assert!(error.contains("index 9 is out of range for length 4"), "{error}");
    assert_eq!(all(array![2]).unwrap(), array![1]);
}

#[kernel]
fn counted_down(from: [i32; n]) -> [i32; n] {
    map(
        |from| {
            let mut k = from;
            while k > 0 {
                k -= 1;
            }
            k
        },
        from,
    )
}

/// Loops in loops of which data end the inner one.
#[kernel]
fn triangles(from: [i32; n], times: usize) -> [i32; n] {
    map(
        |from| {
            let mut s = 0;
            for _ in 0..times {
                let mut k = from;
                while k > 0 {
                    s = (s + k) % 1000;
                    k -= 1;
                }
            }
            s
        },
        from,
    )
}

#[test]
fn threads_end() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    for most in [0u64, 1, 2, 40] {
        gpu.set_most_trips(most);
        let start = gpu.upload(&Array1::from_elem(100, most as i32)).unwrap();
        assert_eq!(gpu.run(counted_down, (&start,)).and_then(|k| k.download()), Ok(Array1::zeros(100)));
        let mut more = Array1::from_elem(100, most as i32);
        more[70] += 1;
        let start = gpu.upload(&more).unwrap();
        let more = gpu.run(counted_down, (&start,)).and_then(|k| k.download());
        assert_eq!(more, Err(Error::TooManyTrips { kernel: "counted_down", trips: most }));
    }
    // A trip more than 2^30 in all, counted before it is made.
    gpu.set_most_trips(100);
    let start = gpu.upload(&array![0, 1, 0]).unwrap();
    let error = gpu.run(triangles, (&start, 1 << 30)).and_then(|k| k.download()).unwrap_err();
    assert!(error.to_string().contains("more than 2^30 trips"), "{error}");
    let start = gpu.upload(&array![2, 1, 0]).unwrap();
    assert_eq!(gpu.run(triangles, (&start, 3)).and_then(|k| k.download()), Ok(array![9, 3, 0]));
    for n in POINTS {
        agree(triangles, (noise(n, 1).mapv(|x| (x * 10.0) as i32), 7i64), 0.0);
    }
}

/// A loop of points is one dispatch, however many trips they make.
#[test]
fn loops_of_points_are_one_dispatch() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let (x, v) = (gpu.upload(&noise(300, 1)).unwrap(), gpu.upload(&noise(300, 2)).unwrap());
    let matrices = gpu.upload(&matrices(300, 8)).unwrap();
    let dispatches = |f: &dyn Fn()| {
        let before = gpu.statistics();
        f();
        gpu.synchronize().unwrap();
        let after = gpu.statistics();
        (after.dispatches - before.dispatches, after.submissions - before.submissions)
    };
    let escaping = dispatches(&|| drop(gpu.run(escape, (&x, &v, 200)).unwrap()));
    let flying = dispatches(&|| drop(gpu.run(flown, (&x, &v, 2.0, 0.01, 100)).unwrap()));
    let factoring = dispatches(&|| drop(gpu.run(factors, (&matrices,)).unwrap()));
    assert_eq!([escaping.0, flying.0, factoring.0], [1, 1, 1], "{escaping:?} {flying:?} {factoring:?}");
}
