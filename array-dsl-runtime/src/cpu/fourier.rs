//! Fourier transforms of rows, by `rustfft`.
//!
//! * Real and imaginary parts are two arrays, and `rustfft` wants them together: a thread puts a few rows at a time into a buffer that
//!   stays in its cache, or one row that is longer. A row is transformed by one thread, rows by several.
//! * What a length needs, its factors and the order of its steps, is computed once and kept by each thread: of the last length, and of
//!   others before it as long as these are not long.

use std::cell::RefCell;
use std::sync::Arc;

use num_complex::Complex;
use rayon::prelude::*;
use rustfft::{Fft, FftNum, FftPlanner};

use super::memory::{OutOfMemory, alloc};

/// So many lengths a thread remembers at most,
const LENGTHS: usize = 8;

/// if they are not more than this together: the last one alone may be.
const NUMBERS: usize = 1 << 20;

/// So many numbers are put together at a time, if rows are not longer.
const TOGETHER: usize = 1 << 11;

/// From so many numbers on several threads are worth it.
const LONG: usize = 1 << 14;

/// A float that is transformed.
pub trait Transformed: FftNum + bytemuck::Pod + sealed::Sealed {
    /// What this thread knows of lengths, the last one used in front.
    #[doc(hidden)]
    fn plans<R>(f: impl FnOnce(&mut Vec<Plan<Self>>) -> R) -> R;
}

/// How rows of one length are transformed.
pub type Plan<T> = Arc<dyn Fft<T>>;

mod sealed {
    pub trait Sealed {}
}

macro_rules! transformed {
    ($($t:ty)*) => {$(
        impl sealed::Sealed for $t {}
        impl Transformed for $t {
            fn plans<R>(f: impl FnOnce(&mut Vec<Plan<$t>>) -> R) -> R {
                thread_local!(static PLANS: RefCell<Vec<Plan<$t>>> = const { RefCell::new(Vec::new()) });
                PLANS.with_borrow_mut(f)
            }
        }
    )*};
}

transformed!(f32 f64);

/// Writes real and imaginary parts of the transforms `sum_j x_j e^(-2 pi i j k / n)` of the rows, whose parts are `x`. Rows have `row`
/// elements; all arrays are equally long.
///
/// # Errors
/// The memory of the buffers is refused.
pub fn fft<T: Transformed>(out: [&mut [T]; 2], x: [&[T]; 2], row: i64) -> Result<(), OutOfMemory> {
    let n = usize::try_from(row).unwrap_or(0);
    let ([p, q], [a, b]) = (out, x);
    if n == 0 || a.is_empty() {
        return Ok(());
    }
    let plan = planned::<T>(n)?;
    let task = n * (TOGETHER / n).max(1);
    if a.len() < LONG || a.len() <= task || rayon::current_num_threads() == 1 {
        return transform([p, q], [a, b], &plan, task);
    }
    // A few times as many pieces as threads need, so that none waits long for another.
    let piece = task * (a.len() / task / (8 * rayon::current_num_threads())).max(1);
    let out = p.par_chunks_mut(piece).zip(q.par_chunks_mut(piece));
    let from = a.par_chunks(piece).zip(b.par_chunks(piece));
    out.zip(from).try_for_each(|((p, q), (a, b))| transform([p, q], [a, b], &plan, task))
}

/// Rows in order, `task` numbers at a time.
fn transform<T: Transformed>(
    [p, q]: [&mut [T]; 2],
    [a, b]: [&[T]; 2],
    plan: &Plan<T>,
    task: usize,
) -> Result<(), OutOfMemory> {
    let mut scratch = alloc::<Complex<T>>(plan.get_inplace_scratch_len() as i64)?;
    let mut together = alloc::<Complex<T>>(task.min(a.len()) as i64)?;
    let out = p.chunks_mut(task).zip(q.chunks_mut(task));
    for ((p, q), (a, b)) in out.zip(a.chunks(task).zip(b.chunks(task))) {
        let together = &mut together[..a.len().min(b.len())];
        for (z, (a, b)) in together.iter_mut().zip(a.iter().zip(b)) {
            *z = Complex::new(*a, *b);
        }
        plan.process_with_scratch(together, &mut scratch);
        for (z, (p, q)) in together.iter().zip(p.iter_mut().zip(q)) {
            (*p, *q) = (z.re, z.im);
        }
    }
    Ok(())
}

/// What a length needs.
fn planned<T: Transformed>(n: usize) -> Result<Plan<T>, OutOfMemory> {
    T::plans(|plans| {
        if let Some(at) = plans.iter().position(|p| p.len() == n) {
            plans[..=at].rotate_right(1);
            return Ok(plans[0].clone());
        }
        // The tables of a plan are memory that is not asked for: as much as the longest ones need must be there.
        drop(alloc::<Complex<T>>(i64::try_from(n).unwrap_or(i64::MAX).saturating_mul(4))?);
        let plan = FftPlanner::new().plan_fft_forward(n);
        plans.insert(0, plan.clone());
        let mut numbers = 0;
        let fits = |p: &&Plan<T>| {
            numbers += p.len();
            numbers <= NUMBERS
        };
        let kept = plans.iter().take_while(fits).count();
        plans.truncate(kept.clamp(1, LENGTHS));
        Ok(plan)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(x: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let n = x.len();
        let turn =
            |j: usize, k: usize| Complex::cis(-std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64);
        (0..n).map(|k| x.iter().enumerate().map(|(j, x)| x * turn(j, k)).sum()).collect()
    }

    #[test]
    fn rows_of_all_lengths_and_numbers_are_transformed() {
        for (n, rows) in
            [(1, 1), (1, 9), (2, 3), (7, 5), (12, 1000), (64, 700), (97, 3), (5000, 1), (4099, 5)]
        {
            let number = |i: usize| Complex::new((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos());
            let x: Vec<Complex<f64>> = (0..n * rows).map(number).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = x.iter().map(|z| (z.re, z.im)).unzip();
            let (mut p, mut q) = (vec![0.0; x.len()], vec![0.0; x.len()]);
            fft([&mut p, &mut q], [&a, &b], n as i64).unwrap();
            let last = (rows - 1) * n;
            for row in [0, last] {
                for (k, z) in naive(&x[row..row + n]).into_iter().enumerate() {
                    let found = Complex::new(p[row + k], q[row + k]);
                    assert!(
                        (found - z).norm() < 1e-11 * n as f64,
                        "{n}, {rows}: {k} of {row}: {found} for {z}"
                    );
                }
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let x: Vec<f32> = (0..1 << 16).map(|i| (i as f32).sin()).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut p, mut q) = (vec![0f32; x.len()], vec![0f32; x.len()]);
                fft([&mut p, &mut q], [&x, &x], 128).unwrap();
                (p, q)
            })
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn few_lengths_are_remembered() {
        for n in 1..100 {
            let x = vec![1.0f64; n];
            let (mut p, mut q) = (vec![0.0; n], vec![0.0; n]);
            fft([&mut p, &mut q], [&x, &x], n as i64).unwrap();
        }
        let lengths = f64::plans(|plans| plans.iter().map(|p| p.len()).collect::<Vec<_>>());
        assert_eq!(lengths, (92..100).rev().collect::<Vec<_>>());
        // A long one stands alone.
        for n in [NUMBERS + 1, 6] {
            planned::<f64>(n).unwrap();
            assert_eq!(f64::plans(|plans| plans.iter().map(|p| p.len()).collect::<Vec<_>>()), [n]);
        }
    }

    #[test]
    fn nothing_is_no_row() {
        assert_eq!(fft::<f64>([&mut [], &mut []], [&[], &[]], 0), Ok(()));
        assert_eq!(fft::<f64>([&mut [], &mut []], [&[], &[]], 5), Ok(()));
    }
}
