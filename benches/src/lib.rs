//! Pairs of programs that do the same, timed in turn.
//!
//! A pair is measured twice. Criterion's own figures are good for following one program from one version to the next.
//! The line printed last, `name: ours 12.3 ms, opponent 12.5 ms, ratio 1.02`, is good for comparing the two: their
//! repetitions alternate, so that whatever else the machine does meets both alike, and each time is the median.
//! The ratio is the opponent's time over ours: the share of the opponent's speed, greater is better.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use ndarray::{Array, Dimension, ShapeBuilder};

/// Time to spend on the alternating repetitions of a pair.
const TIME: Duration = Duration::from_secs(4);
/// Time that one repetition should take at least: shorter programs are repeated within it.
const REPETITION: Duration = Duration::from_millis(2);
/// Bounds on the number of repetitions.
const REPETITIONS: (usize, usize) = (11, 401);

/// Criterion for programs of milliseconds.
#[must_use]
pub fn criterion() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .without_plots()
        .configure_from_args()
}

/// Measures `ours` against `opponent`, which is called `against`.
pub fn pair<X, Y>(
    c: &mut Criterion,
    name: &str,
    against: &str,
    mut ours: impl FnMut() -> X,
    mut opponent: impl FnMut() -> Y,
) {
    if !selected(name) {
        return;
    }
    let mut group = c.benchmark_group(format!("{name}, against {against}"));
    group.bench_function("ours", |b| b.iter(&mut ours));
    group.bench_function(against, |b| b.iter(&mut opponent));
    group.finish();
    let (x, y) = alternate(&mut || drop(black_box(ours())), &mut || drop(black_box(opponent())));
    println!("{name}: ours {}, {against} {}, ratio {:.2}\n", show(x), show(y), y / x);
}

/// Whether the command line's filter, if there is one, takes a name in.
fn selected(name: &str) -> bool {
    let mut filters = std::env::args().skip(1).filter(|a| !a.starts_with('-')).peekable();
    filters.peek().is_none() || filters.any(|f| name.contains(&f))
}

/// The median times of two programs in seconds.
fn alternate(x: &mut dyn FnMut(), y: &mut dyn FnMut()) -> (f64, f64) {
    // The first calls warm up; the second ones say how often to repeat.
    time(x, 1);
    time(y, 1);
    let (once_x, once_y) = (time(x, 1), time(y, 1));
    let inner = |once: f64| (REPETITION.as_secs_f64() / once).ceil().clamp(1.0, 1e5) as usize;
    let (n_x, n_y) = (inner(once_x), inner(once_y));
    let round = once_x * n_x as f64 + once_y * n_y as f64;
    let rounds = ((TIME.as_secs_f64() / round) as usize).clamp(REPETITIONS.0, REPETITIONS.1);
    let (mut times_x, mut times_y) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // Whoever comes second finds the other's data in the cache: they take turns at that, too.
        if round % 2 == 0 {
            times_x.push(time(x, n_x));
            times_y.push(time(y, n_y));
        } else {
            times_y.push(time(y, n_y));
            times_x.push(time(x, n_x));
        }
    }
    (median(times_x), median(times_y))
}

/// Seconds for one of `n` calls.
fn time(f: &mut dyn FnMut(), n: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..n {
        f();
    }
    start.elapsed().as_secs_f64() / n as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn show(seconds: f64) -> String {
    if seconds >= 1e-3 { format!("{:.2} ms", seconds * 1e3) } else { format!("{:.2} us", seconds * 1e6) }
}

/// An array of numbers in [-1, 1) that look random and are always the same.
pub fn numbers<D: Dimension, S: ShapeBuilder<Dim = D>, T: From<f32>>(shape: S) -> Array<T, D> {
    let mut state = 1u64;
    Array::from_shape_simple_fn(shape, || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        T::from((state >> 40) as f32 / (1 << 23) as f32 - 1.0)
    })
}
