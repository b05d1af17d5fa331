//! Sizes that only data tell: they stay on the device as long as the host can plan with their bounds. Numbers around
//! those of workgroups, parts of reductions and chunks of scans; nothing kept, everything kept.

use array_dsl::prelude::*;
use array_dsl::{Gpu, GpuKernel};
use ndarray::{Array1, array};

use super::agreement::{Argument, Fetch, Lend, TOLERANCE, agree, is_skipped, noise, on, own_gpu};

/// Lengths on both sides of those where a reduction or a scan is divided otherwise.
const LENGTHS: [usize; 7] = [0, 1, 30, 100, 257, 5000, 20_000];

/// Nothing, some, nearly all, everything.
const LIMITS: [f32; 4] = [2.0, 0.3, -0.98, -2.0];

#[kernel]
fn total(x: [f32; n], limit: f32) -> f32 {
    sum(filter(|v| v > limit, x))
}

#[kernel]
fn kept(x: [f32; n], limit: f32) -> [f32; _] {
    filter(|v| v > limit, x)
}

#[kernel]
fn average(x: [f32; n], limit: f32) -> f32 {
    let ys: [f32; k] = filter(|v| v > limit, x);
    sum(map(|v| (v * v).sin(), ys)) / (k as f32 + 1.0)
}

/// The second filter's bound is what the first keeps.
#[kernel]
fn between(x: [f32; n], limit: f32) -> (f32, f32, i64) {
    let ys = filter(|v| v > limit, x);
    let zs: [f32; k] = filter(|v| v < 0.7, ys);
    (sum(zs * 2.0), minimum(concat(zs, x)), k)
}

#[kernel]
fn parts(x: [f32; n], limit: f32) -> ([f32; _], [f32; _]) {
    partition(|v| v > limit, x)
}

/// The others are `n - k`, which shaders make of two words.
#[kernel]
fn both_sums(x: [f32; n], limit: f32) -> (f32, f32) {
    let (ys, zs) = partition(|v| v > limit, x);
    (sum(ys.exp()), sum(zs * zs) + sum(map(|v| v.cos(), zs)))
}

#[kernel]
fn prefixes(x: [f32; n], limit: f32) -> (f32, f32) {
    let ys: [f32; k] = filter(|v| v > limit, x);
    let sums = cumsum(ys);
    let mut last = 1.0;
    for i in 0..k {
        last = 0.5 * last + ys[i];
    }
    (sum(sums * sums), last)
}

/// Size as outer, then as inner axis.
#[kernel]
fn rows(x: [[f32; m]; n], limit: f32) -> ([f32; m], f32, [f32; m]) {
    let ys: [[f32; m]; k] = filter(|r| r[0] > limit, x);
    let down = build(m, |j| sum(build(k, |i| ys[i][j] * ys[i][j] + 1.0)));
    let across = sum(map(|r| maximum(r), ys));
    let turned = transpose(ys).exp();
    (down, across, map(|r| sum(cumsum(r)), turned))
}

#[kernel]
fn rows_kept(x: [[f32; m]; n], limit: f32) -> [[f32; _]; m] {
    transpose(filter(|r| r[0] > limit, x)) * 2.0
}

#[kernel]
fn reversed(x: [f32; n], limit: f32) -> f32 {
    let ys: [f32; k] = filter(|v| v > limit, x);
    sum(build(k, |i| ys[k - 1 - i] * (i as f32 + 1.0))) / (n as f32 + 1.0)
}

/// What the host must know: the plan of a product of matrices, and of pairs.
#[kernel]
fn products(x: [[f32; m]; n], limit: f32) -> ([[f32; m]; m], f32) {
    let ys: [[f32; m]; k] = filter(|r| r[0] > limit, x);
    let gram = matmul(transpose(ys), ys);
    (gram, sum(build(k, |i| sum(build(k, |j| (ys[i][0] - ys[j][0]).abs())))) / (k as f32 * k as f32 + 1.0))
}

#[kernel]
fn ordered(x: [f32; n], limit: f32) -> [f32; n] {
    let (ys, zs) = partition(|v| v > limit, x);
    concat(sort(ys), sort(zs))
}

#[kernel]
fn of_equal_size(x: [f32; n], limit: f32) -> f32 {
    sum(filter(|v| v > limit, x) * filter(|v| -v < -limit, x))
}

/// The arrays of a size that is on the device go from trip to trip.
#[kernel]
fn relaxed(x: [f32; n], limit: f32) -> (f32, f32) {
    let ys: [f32; k] = filter(|v| v > limit, x);
    let mut zs = ys;
    for t in 0..3 {
        zs = map(|v| 0.5 * v + 0.1, zs) + ys * (t as f32);
    }
    let mut ws = zs;
    let mut trips = 0;
    while sum(map(|v| v * v, ws)) > 1.0 && trips < 20 {
        ws = ws * 0.25;
        trips += 1;
    }
    (sum(zs), sum(ws))
}

/// The size goes into a loop as a number and is a size after it.
#[kernel]
fn counted(x: [f32; n], limit: f32) -> (f32, i64) {
    let ys: [f32; k] = filter(|v| v > limit, x);
    let mut j = k;
    for t in 0..3 {
        j = j * 2 + t;
    }
    while j < 100 {
        j = j * 2 + 1;
    }
    (sum(ys.cos()), j)
}

/// Into an array of such a size.
#[kernel]
fn binned(x: [f32; n], at: [i32; m], limit: f32) -> f32 {
    let ys: [f32; k] = filter(|v| v > limit, x);
    let bins = build(k, |i| 0.5);
    let filled = scatter_add(bins, map(|i| i as usize, at), build(m, |i| 1.0));
    sum(filled * filled * ys)
}

#[kernel]
fn most_of(x: [f32; n], limit: f32) -> (f32, i64) {
    let ys: [f32; k] = filter(|v| v > limit, concat(x, build(1, |_| 3.0)));
    (maximum(ys), argmax(ys))
}

#[kernel]
fn energy(x: [f32; n], limit: f32) -> f32 {
    let ys: [f32; k] = filter(|v| v > limit, x);
    let zs = cumsum(ys * ys) / (k as f32 + 1.0);
    sum(zs.sin()) + sum(ys * ys)
}

const READ_LINE: u32 = line!() + 5;

#[kernel]
fn shifted(x: [f32; n], limit: f32, shift: i64) -> f32 {
    let ys: [f32; k] = filter(|v| v > limit, x);
    sum(build(k, |i| ys[i + shift]))
}

#[test]
fn results_agree() {
    for (seed, n) in (1..).zip(LENGTHS) {
        for limit in LIMITS {
            let x = || (noise(n, seed), limit);
            agree(total, x(), 1e-4);
            agree(kept, x(), TOLERANCE);
            agree(average, x(), 1e-4);
            agree(parts, x(), TOLERANCE);
            agree(both_sums, x(), 1e-4);
            agree(prefixes, x(), 1e-3);
            agree(reversed, x(), 1e-4);
            agree(of_equal_size, x(), 1e-4);
            agree(relaxed, x(), 1e-4);
            agree(most_of, x(), TOLERANCE);
            agree(counted, x(), 1e-4);
            if n > 0 {
                agree(between, x(), 1e-4);
            }
        }
    }
    for n in [0, 1, 3, 300] {
        for limit in LIMITS {
            agree(ordered, (noise(n, 5), limit), TOLERANCE);
        }
    }
}

#[test]
fn axes_of_matrices() {
    for (n, m) in [(0, 3), (1, 1), (5, 300), (300, 5), (70, 70), (3, 20_000)] {
        for limit in LIMITS {
            let x = || (noise((n, m), 3), limit);
            agree(rows, x(), 1e-3);
            agree(rows_kept, x(), TOLERANCE);
            if m < 1000 {
                agree(products, x(), 1e-4);
            }
        }
    }
}

#[test]
fn bins_of_such_a_size() {
    for (n, m) in [(10, 100), (100, 5000), (5000, 40_000)] {
        for limit in LIMITS {
            let at = super::agreement::integers(m, n as i32, 4);
            agree(binned, (noise(n, 6), at, limit), 1e-4);
        }
    }
}

#[test]
fn derivatives_agree() {
    for n in [0, 1, 100, 5000] {
        for limit in LIMITS {
            let x = || (noise(n, 7), limit);
            agree(value_and_grad(total), x(), 1e-4);
            agree(value_and_grad(average), x(), 1e-4);
            agree(grad(both_sums_of_squares), x(), 1e-4);
            agree(value_and_grad(energy), x(), 1e-3);
            agree(jvp(energy), (noise(n, 7), limit, noise(n, 8), 0.0f32), 1e-3);
            agree(vjp(relaxed), (noise(n, 7), limit, 1.0f32, 0.5f32), 1e-4);
        }
    }
}

#[kernel]
fn both_sums_of_squares(x: [f32; n], limit: f32) -> f32 {
    let (ys, zs) = partition(|v| v > limit, x);
    sum(ys * ys) - sum(zs * zs * zs)
}

/// The waits of a kernel before its results are downloaded, and with that.
fn waits<K, A>(gpu: &Gpu, kernel: K, arguments: A) -> (u64, u64)
where
    K: GpuKernel,
    A: Argument + 'static,
    A::Device: 'static,
    for<'a> A::Device: Lend<Lent<'a> = K::GpuArgs<'a>>,
    K::GpuOutput: Fetch,
{
    let device = arguments.upload(gpu).unwrap();
    let before = gpu.statistics().waits;
    let result = gpu.run(kernel, device.lend()).unwrap();
    let run = gpu.statistics().waits;
    result.fetch().unwrap();
    (run - before, gpu.statistics().waits - run)
}

#[test]
fn the_host_waits_only_where_it_must() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    for n in [100, 20_000] {
        let x = || (noise(n, 1), 0.3f32);
        // Nothing needs the number.
        assert_eq!(waits(&gpu, total, x()), (0, 1));
        assert_eq!(waits(&gpu, average, x()).0, 0);
        assert_eq!(waits(&gpu, both_sums, x()).0, 0);
        assert_eq!(waits(&gpu, between, x()).0, 0);
        assert_eq!(waits(&gpu, reversed, x()).0, 0);
        assert_eq!(waits(&gpu, grad(total), x()).0, 0);
        assert_eq!(waits(&gpu, value_and_grad(energy), x()).0, 0);
        assert_eq!(waits(&gpu, value_and_grad(average), x()).0, 0);
        assert_eq!(waits(&gpu, rows, (noise((n / 10, 7), 2), 0.3f32)).0, 0);
        // The caller sees the size.
        assert_eq!(waits(&gpu, kept, x()), (1, 1));
        assert_eq!(waits(&gpu, parts, x()), (1, 2));
        assert_eq!(waits(&gpu, rows_kept, (noise((n / 10, 7), 2), 0.3f32)).0, 1);
        // Both sizes at once.
        assert_eq!(waits(&gpu, of_equal_size, x()).0, 1);
        assert_eq!(waits(&gpu, products, (noise((n / 10, 7), 2), 0.3f32)).0, 1);
    }
}

#[test]
fn memory_is_used_again() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = gpu.upload(&noise(20_000, 1)).unwrap();
    let run = || gpu.run(value_and_grad(energy), (&x, 0.9)).unwrap();
    for _ in 0..3 {
        run();
    }
    gpu.synchronize().unwrap();
    let first = gpu.statistics();
    for _ in 0..20 {
        run();
    }
    gpu.synchronize().unwrap();
    assert_eq!(gpu.statistics().buffers_allocated, first.buffers_allocated);
    // Of a result that is much shorter than its bound only that is kept.
    let few = gpu.run(kept, (&x, 0.999)).unwrap();
    assert!(few.len() < 100 && few.download().unwrap().iter().all(|v| *v > 0.999));
}

#[test]
fn errors_tell_the_true_length() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = array![1.0f32, -1.0, 2.0, 3.0, -2.0];
    assert_eq!(on(&gpu, shifted, &(x.clone(), 0.0f32, 0i64)), Ok(6.0));
    for (shift, index) in [(1i64, 3), (-1, -1)] {
        let text = on(&gpu, shifted, &(x.clone(), 0.0f32, shift)).unwrap_err().to_string();
        let range = format!("kernel `shifted`: index {index} is out of range for length 3");
        assert!(text.contains(&range) && text.contains(&format!("filtering.rs:{READ_LINE}")), "{text}");
    }
    // Where nothing is kept, nothing runs that could fail.
    assert_eq!(on(&gpu, shifted, &(x, 9.0f32, 1i64)), Ok(0.0));
    assert_eq!(on(&gpu, shifted, &(Array1::<f32>::zeros(0), 9.0f32, 1i64)), Ok(0.0));
}
