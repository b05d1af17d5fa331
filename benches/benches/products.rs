//! Matrix products and their gradients against the `gemm` crate called directly.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use criterion::Criterion;
use ndarray::{Array2, ArrayRef2};

#[kernel]
fn product(a: [[f32; k]; n], b: [[f32; m]; k]) -> [[f32; m]; n] {
    matmul(a, b)
}

/// A number, so that its gradient needs no value: two products.
#[kernel]
fn weighted(a: [[f32; k]; n], b: [[f32; m]; k], #[no_grad] w: [[f32; m]; n]) -> f32 {
    sum(flatten(matmul(a, b) * w))
}

/// A matrix as `gemm` takes it: where it starts, and the strides of its columns and rows.
type Operand = (*const f32, isize, isize);

fn plain(x: &ArrayRef2<f32>) -> Operand {
    (x.as_ptr(), x.strides()[1], x.strides()[0])
}

fn transposed(x: &ArrayRef2<f32>) -> Operand {
    (x.as_ptr(), x.strides()[0], x.strides()[1])
}

/// The product of an `m` by `k` and a `k` by `n` matrix on all cores.
fn gemm(m: usize, n: usize, k: usize, a: Operand, b: Operand) -> Array2<f32> {
    let mut out = Array2::zeros((m, n));
    let (columns, rows) = (out.strides()[1], out.strides()[0]);
    // SAFETY: the strides are those of matrices of these sizes.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            columns,
            rows,
            false,
            a.0,
            a.1,
            a.2,
            b.0,
            b.1,
            b.2,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::Rayon(0),
        );
    }
    out
}

fn square(c: &mut Criterion, n: usize) {
    let (a, b, ct): (Array2<f32>, Array2<f32>, Array2<f32>) =
        (numbers((n, n)), numbers((n, n)), numbers((n, n)));
    let primal = || gemm(n, n, n, plain(&a), plain(&b));
    pair(c, &format!("matmul f32 {n}^3"), "gemm", || product(&a, &b), primal);
    let three = || {
        let of_a = gemm(n, n, n, plain(&ct), transposed(&b));
        let of_b = gemm(n, n, n, transposed(&a), plain(&ct));
        (primal(), of_a, of_b)
    };
    pair(c, &format!("vjp of matmul f32 {n}^3"), "three gemms", || vjp(product)(&a, &b, &ct), three);
    // The value and two products, then two products alone.
    let name = format!("vjp of matmul f32 {n}^3");
    pair(c, &name, "primal", || vjp(product)(&a, &b, &ct), || product(&a, &b));
    let name = format!("gradient of matmul f32 {n}^3");
    pair(c, &name, "primal", || grad(weighted)(&a, &b, &ct), || product(&a, &b));
}

fn main() {
    let mut c = criterion();
    square(&mut c, 1024);
    square(&mut c, 64);
    c.final_summary();
}
