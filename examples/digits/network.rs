//! The network and its optimizer as kernels: the same source runs on all cores and on a GPU.
//!
//! A perceptron with one hidden layer, `scores = tanh(x w1 + b1) w2 + b2`, under softmax cross-entropy,
//! `loss = mean_i (logsumexp(scores_i) - scores_i[y_i])`, trained by Adam with the bias correction folded into
//! the rate: `rate_t = eta sqrt(1 - beta2^t) / (1 - beta1^t)`.

use array_dsl::prelude::*;

/// One score per class for each image.
#[kernel]
pub fn scores(
    w1: [[f32; h]; d],
    b1: [f32; h],
    w2: [[f32; c]; h],
    b2: [f32; c],
    x: [[f32; d]; n],
) -> [[f32; c]; n] {
    let hidden = (matmul(x, w1) + b1).tanh();
    matmul(hidden, w2) + b2
}

/// Mean cross-entropy of the images `x` with labels `y`.
#[kernel]
pub fn loss(
    w1: [[f32; h]; d],
    b1: [f32; h],
    w2: [[f32; c]; h],
    b2: [f32; c],
    #[no_grad] x: [[f32; d]; n],
    #[no_grad] y: [i32; n],
) -> f32 {
    let hidden = (matmul(x, w1) + b1).tanh();
    let logits = matmul(hidden, w2) + b2;
    let each = build(n, |i| {
        let z = logits[i];
        logsumexp(z) - z[y[i] as usize]
    });
    each.sum() / n as f32
}

/// One Adam update of a vector of parameters `p` with gradient `g`: the new parameters, and the new running means
/// `m` of the gradient and `v` of its square.
#[kernel]
pub fn adam_vector(
    p: [f32; n],
    g: [f32; n],
    m: [f32; n],
    v: [f32; n],
    rate: f32,
) -> ([f32; n], [f32; n], [f32; n]) {
    let m = 0.9 * m + 0.1 * g;
    let v = 0.999 * v + 0.001 * g * g;
    (p - rate * m / (v.sqrt() + 1e-8), m, v)
}

/// [`adam_vector`] for a matrix of parameters.
#[kernel]
pub fn adam_matrix(
    p: [[f32; k]; n],
    g: [[f32; k]; n],
    m: [[f32; k]; n],
    v: [[f32; k]; n],
    rate: f32,
) -> ([[f32; k]; n], [[f32; k]; n], [[f32; k]; n]) {
    let m = 0.9 * m + 0.1 * g;
    let v = 0.999 * v + 0.001 * g * g;
    (p - rate * m / (v.sqrt() + 1e-8), m, v)
}
