//! Gradients against their primals, and against hand-written gradients where the compiler has to find them: here the
//! ratio is the primal's time over the gradient's, so 0.25 means that the gradient takes four times as long.

use array_dsl::prelude::*;
use array_dsl_benches::{criterion, numbers, pair};
use criterion::Criterion;
use ndarray::{Array1, Array2};
use rayon::prelude::*;

#[allow(dead_code, reason = "the training step only needs the loss")]
#[path = "../../examples/digits/network.rs"]
mod network;

/// Five-point stencil inside, zero on the border.
#[kernel]
fn stencil(x: [[f32; m]; n]) -> [[f32; m]; n] {
    build((n, m), |i, j| {
        if i > 0 && i < n - 1 && j > 0 && j < m - 1 {
            x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1] - 4.0 * x[i][j]
        } else {
            0.0
        }
    })
}

/// The energy of the gradient of a field with periodic borders.
#[kernel]
fn energy(x: [[f32; m]; n]) -> f32 {
    let each = build((n, m), |i, j| {
        let right = x[i][(j + 1) % m] - x[i][j];
        let down = x[(i + 1) % n][j] - x[i][j];
        right * right + down * down
    });
    flatten(each).sum()
}

/// A sum over gathered elements.
#[kernel]
fn gathered(x: [f32; n], at: [i64; m]) -> f32 {
    sum(map(|i| x[i] * x[i], at))
}

fn digits(c: &mut Criterion) {
    let (n, d, h, k) = (64, 64, 32, 10);
    let x: Array2<f32> = numbers((n, d));
    let y: Array1<i32> = (0..n as i32).map(|i| i % 10).collect();
    let (w1, b1, w2, b2) = (numbers((d, h)), numbers(h), numbers((h, k)), numbers(k));
    pair(
        c,
        "digits step, batch 64: value and gradient",
        "value",
        || value_and_grad(network::loss)(&w1, &b1, &w2, &b2, &x, &y),
        || network::loss(&w1, &b1, &w2, &b2, &x, &y),
    );
}

fn fields(c: &mut Criterion) {
    let n = 2048;
    let (x, ct): (Array2<f32>, Array2<f32>) = (numbers((n, n)), numbers((n, n)));
    let by_hand = || {
        let mut out = vec![0.0f32; n * n];
        let x = x.as_slice().unwrap_or(&[]);
        out.par_chunks_mut(n).enumerate().skip(1).take(n - 2).for_each(|(i, out)| {
            let (up, row, down) = (&x[(i - 1) * n..][..n], &x[i * n..][..n], &x[(i + 1) * n..][..n]);
            for j in 1..n - 1 {
                out[j] = up[j] + down[j] + row[j - 1] + row[j + 1] - 4.0 * row[j];
            }
        });
        out
    };
    pair(c, "stencil f32 2048 x 2048", "rayon", || stencil(&x), by_hand);
    pair(c, "vjp of stencil f32 2048 x 2048", "primal", || vjp(stencil)(&x, &ct), || stencil(&x));
    pair(c, "gradient of energy f32 2048 x 2048", "primal", || value_and_grad(energy)(&x), || energy(&x));
}

fn gathers(c: &mut Criterion) {
    let (n, m) = (1 << 16, 1 << 22);
    let x: Array1<f32> = numbers(n);
    let at: Array1<i64> = (0..m as i64).map(|i| i.wrapping_mul(2_654_435_761) % n as i64).collect();
    pair(
        c,
        "gradient of gather f32 2^22 of 2^16",
        "primal",
        || grad(gathered)(&x, &at),
        || gathered(&x, &at),
    );
}

fn main() {
    let mut c = criterion();
    digits(&mut c);
    fields(&mut c);
    gathers(&mut c);
    c.final_summary();
}
