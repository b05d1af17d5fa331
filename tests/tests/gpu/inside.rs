//! Derivatives that kernels take inside, and those that users write; loops that keep few states.

use array_dsl::prelude::*;

use super::agreement::{LENGTHS, agree, noise};

#[kernel]
fn roots(a: [f32; n]) -> [f32; n] {
    build(n, |i| {
        let mut x = 1.0;
        for _ in 0..20 {
            let (r, slope) = value_and_grad(|x| x * x * x + x - a[i])(x);
            x -= r / slope;
        }
        x
    })
}

#[kernel]
fn row_gradients(w: [f32; d], xs: [[f32; d]; n]) -> [[f32; d]; n] {
    build(n, |i| {
        grad(|w| {
            let z = dot(w, xs[i]);
            (1.0 + z.exp()).ln() * prod(w)
        })(w)
    })
}

/// Gradient descent: arrays in a loop, their gradient inside.
#[kernel]
fn descent(w: [f32; d], xs: [[f32; d]; n], y: [f32; n], steps: usize) -> [f32; d] {
    let mut w = w;
    for _ in 0..steps {
        w -= grad(|w| mean((matvec(xs, w) - y).powi(2)))(w) * 0.1;
    }
    w
}

#[kernel]
fn norm_rule(x: [f32; n], ct: f32) -> [f32; n] {
    x * (ct / sum(x * x).sqrt())
}

#[kernel(vjp = norm_rule)]
fn norm(x: [f32; n]) -> f32 {
    sum(x * x).sqrt()
}

#[kernel]
fn norms(a: [[f32; m]; n]) -> [f32; n] {
    build(n, |i| if a[i][0] > 0.0 { norm(a[i]) } else { 1.0 })
}

#[kernel]
fn settled(x: [f32; n], steps: usize) -> [f32; n] {
    let mut y = x;
    #[checkpoint]
    for i in 0..steps {
        y = y.sin() + sum(y) / (n * (i + 2)) as f32;
    }
    y
}

#[test]
fn rules() {
    for (n, m) in [(0, 3), (1, 1), (300, 3), (7, 40)] {
        agree(norms, (noise((n, m), 1),), 1e-5);
        agree(vjp(norms), (noise((n, m), 1), noise(n, 2)), 1e-4);
        agree(jvp(norms), (noise((n, m), 1), noise((n, m), 3)), 1e-4);
    }
}

#[test]
fn checkpoints() {
    for steps in [0i64, 1, 4, 11] {
        agree(settled, (noise(300, 1), steps), 1e-5);
        agree(vjp(settled), (noise(300, 1), steps, noise(300, 2)), 1e-4);
    }
}

#[test]
fn at_every_point() {
    for n in LENGTHS {
        agree(roots, (noise(n, 1),), 1e-5);
        agree(vjp(roots), (noise(n, 1), noise(n, 2)), 1e-4);
    }
    for (n, d) in [(0, 3), (1, 1), (5, 0), (300, 3), (7, 40)] {
        agree(row_gradients, (noise(d, 1), noise((n, d), 2)), 1e-5);
        agree(vjp(row_gradients), (noise(d, 1), noise((n, d), 2), noise((n, d), 3)), 1e-4);
    }
}

#[test]
fn in_loops() {
    let (w, xs, y) = (noise(5, 1), noise((300, 5), 2), noise(300, 3));
    agree(descent, (w.clone(), xs.clone(), y.clone(), 10i64), 1e-5);
    agree(vjp(descent), (w, xs, y, 4i64, noise(5, 4)), 1e-4);
}
