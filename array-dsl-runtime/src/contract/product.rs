//! One matrix product, `out[i, j] = sum over l of a[i, l] * b[l, j]` with any strides.

use crate::cpu::{fold_chunks, for_chunks};
use std::mem::MaybeUninit;
use std::ops::{Add, Mul};

/// Multiply-adds below which a plain loop beats the preparations of a blocked product.
const SMALL: usize = 4096;
/// Multiply-adds from which threads share a product.
pub const PARALLEL_WORK: usize = 1 << 19;
/// Elements of a result that are so few that threads share the terms of the sums instead.
const FEW_ELEMENTS: usize = 4096;
/// Rows of a narrow product that go together, for the sake of whole cache lines.
const ROWS: usize = 64;

/// What the products need of an element type.
pub trait Elem:
    bytemuck::NoUninit + Copy + Send + Sync + Add<Output = Self> + Mul<Output = Self> + 'static
{
    const ZERO: Self;
    const ONE: Self;
}

impl Elem for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
}

impl Elem for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

/// Where the arrays start.
#[derive(Clone, Copy, Debug)]
pub struct Operands<T> {
    pub out: *mut T,
    pub a: *const T,
    pub b: *const T,
}

// SAFETY: plain addresses; whoever uses them sees to it that no two threads write the same elements.
unsafe impl<T: Send> Send for Operands<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Operands<T> {}

impl<T> Operands<T> {
    /// Addresses further on by these numbers of elements.
    pub fn offset(self, [out, a, b]: [usize; 3]) -> Operands<T> {
        Operands { out: self.out.wrapping_add(out), a: self.a.wrapping_add(a), b: self.b.wrapping_add(b) }
    }
}

/// Extents and strides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Strides of rows and columns.
    pub out: [usize; 2],
    /// Strides of rows and terms.
    pub a: [usize; 2],
    /// Strides of terms and columns.
    pub b: [usize; 2],
}

/// Multiply-adds in the unit of `for_chunks`, a scalar operation: a blocked product does many at a time.
pub fn cost(work: usize) -> usize {
    work.div_ceil(8)
}

impl Product {
    /// The number of multiply-adds.
    pub fn work(&self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }

    /// The same elements as the transposed product, `out^T = b^T a^T`.
    fn transposed(&self) -> Product {
        let swap = |[x, y]: [usize; 2]| [y, x];
        Product { m: self.n, n: self.m, k: self.k, out: swap(self.out), a: swap(self.b), b: swap(self.a) }
    }

    /// Computes the product, or adds it to the result if `add`. How depends on the product and `parallel` only.
    ///
    /// # Safety
    /// The addresses that `operands` and the strides give are valid, and nothing else uses the result's.
    pub unsafe fn run<T: Elem>(&self, operands: Operands<T>, add: bool, parallel: bool) {
        // Rows no fewer than columns: it is rows that narrow products are cut along.
        if self.m < self.n {
            let Operands { out, a, b } = operands;
            // SAFETY: the same elements.
            return unsafe { self.transposed().run_tall(Operands { out, a: b, b: a }, add, parallel) };
        }
        // SAFETY: ours.
        unsafe { self.run_tall(operands, add, parallel) }
    }

    /// [`Product::run`] for no fewer rows than columns.
    unsafe fn run_tall<T: Elem>(&self, operands: Operands<T>, add: bool, parallel: bool) {
        let Product { m, n, k, out, a, .. } = *self;
        let work = self.work();
        if work < SMALL {
            // SAFETY: ours.
            unsafe { self.small(operands, add) }
        } else if !parallel || work < PARALLEL_WORK {
            // SAFETY: ours.
            unsafe { self.blocked(operands, add, gemm::Parallelism::None) }
        } else if m * n <= FEW_ELEMENTS && k > m {
            // SAFETY: ours.
            unsafe { self.split_terms(operands, add) }
        } else if n == 1 || k <= 2 {
            for_chunks(m.div_ceil(ROWS), cost(ROWS.saturating_mul(n).saturating_mul(k)), &|lo, hi| {
                let (lo, hi) = (lo * ROWS, (hi * ROWS).min(m));
                let part = Product { m: hi - lo, ..*self };
                // SAFETY: rows `lo..hi` of ours; chunks are disjoint.
                unsafe {
                    part.blocked(operands.offset([lo * out[0], lo * a[0], 0]), add, gemm::Parallelism::None)
                };
            });
        } else {
            // SAFETY: ours.
            unsafe { self.blocked(operands, add, gemm::Parallelism::Rayon(0)) }
        }
    }

    /// Sums over ranges of terms, each into a result of its own, added up in order.
    unsafe fn split_terms<T: Elem>(&self, operands: Operands<T>, add: bool) {
        let Product { m, n, k, a, b, out } = *self;
        let sum = fold_chunks(
            k,
            cost(m * n),
            &|lo, hi| {
                let mut local = vec![T::ZERO; m * n];
                let part = Product { k: hi - lo, out: [n, 1], ..*self };
                let at = operands.offset([0, lo * a[1], lo * b[0]]);
                let at = Operands { out: local.as_mut_ptr(), ..at };
                // SAFETY: terms `lo..hi` of ours, into `m` rows of `n` elements that belong to this call.
                unsafe { part.blocked(at, false, gemm::Parallelism::None) };
                local
            },
            &|mut x, y| {
                x.iter_mut().zip(y).for_each(|(x, y)| *x = *x + y);
                x
            },
        );
        for (position, value) in sum.into_iter().flatten().enumerate() {
            let at = operands.out.wrapping_add(position / n * out[0] + position % n * out[1]);
            // SAFETY: an element of our result.
            unsafe { *at = if add { *at + value } else { value } };
        }
    }

    /// Blocked multiplication.
    unsafe fn blocked<T: Elem>(&self, operands: Operands<T>, add: bool, parallelism: gemm::Parallelism) {
        let Product { m, n, k, out, a, b } = *self;
        let alpha = if add { T::ONE } else { T::ZERO };
        // SAFETY: the caller's addresses are valid for these extents and strides; with `add` false the result is not read.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                operands.out,
                out[1] as isize,
                out[0] as isize,
                add,
                operands.a,
                a[1] as isize,
                a[0] as isize,
                operands.b,
                b[1] as isize,
                b[0] as isize,
                alpha,
                T::ONE,
                false,
                false,
                false,
                parallelism,
            );
        }
    }

    /// A plain loop.
    unsafe fn small<T: Elem>(&self, operands: Operands<T>, add: bool) {
        // The innermost loop runs along contiguous elements where there are any.
        if self.out[1] > 1 && self.out[0] == 1 {
            let Operands { out, a, b } = operands;
            // SAFETY: the same elements.
            return unsafe { self.transposed().rows(Operands { out, a: b, b: a }, add) };
        }
        // SAFETY: ours.
        unsafe { self.rows(operands, add) }
    }

    /// A plain loop over rows; each row is a sum of rows of `b` where those are contiguous, else columns are dot products.
    unsafe fn rows<T: Elem>(&self, operands: Operands<T>, add: bool) {
        let Product { m, n, k, out, a, b } = *self;
        for i in 0..m {
            let row = operands.offset([i * out[0], i * a[0], 0]);
            if n > 1 && out[1] == 1 && b[1] == 1 {
                if !add {
                    // SAFETY: `n` contiguous elements of our result, which may not have been set before.
                    unsafe { std::slice::from_raw_parts_mut(row.out.cast(), n) }
                        .fill(MaybeUninit::new(T::ZERO));
                }
                // SAFETY: the same elements, which are set now.
                let target = unsafe { std::slice::from_raw_parts_mut(row.out, n) };
                for l in 0..k {
                    // SAFETY: an element of `a`, and a contiguous row of `b`.
                    let (x, term) =
                        unsafe { (*row.a.add(l * a[1]), std::slice::from_raw_parts(row.b.add(l * b[0]), n)) };
                    target.iter_mut().zip(term).for_each(|(t, y)| *t = *t + x * *y);
                }
                continue;
            }
            for j in 0..n {
                let at = row.offset([j * out[1], 0, j * b[1]]);
                // SAFETY: elements of our arrays.
                unsafe {
                    let value = dot(k, at.a, a[1], at.b, b[0]);
                    *at.out = if add { *at.out + value } else { value };
                }
            }
        }
    }
}

/// A dot product, summed in eight lanes.
unsafe fn dot<T: Elem>(k: usize, a: *const T, a_stride: usize, b: *const T, b_stride: usize) -> T {
    const LANES: usize = 8;
    let mut lanes = [T::ZERO; LANES];
    let whole = k / LANES * LANES;
    if a_stride == 1 && b_stride == 1 {
        // SAFETY: the caller's, contiguous.
        let (a, b) = unsafe { (std::slice::from_raw_parts(a, whole), std::slice::from_raw_parts(b, whole)) };
        for (x, y) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
            for l in 0..LANES {
                lanes[l] = lanes[l] + x[l] * y[l];
            }
        }
    } else {
        for i in 0..whole {
            // SAFETY: the caller's.
            let term = unsafe { *a.add(i * a_stride) * *b.add(i * b_stride) };
            lanes[i % LANES] = lanes[i % LANES] + term;
        }
    }
    for i in whole..k {
        // SAFETY: the caller's.
        let term = unsafe { *a.add(i * a_stride) * *b.add(i * b_stride) };
        lanes[i - whole] = lanes[i - whole] + term;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            lanes[l] = lanes[l] + lanes[l + width];
        }
        width /= 2;
    }
    lanes[0]
}
