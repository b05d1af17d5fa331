//! Products with steps between them that have rows in common.

use array_dsl::prelude::*;

/// A network with one hidden layer, and how far it is off.
#[kernel]
pub fn layers(
    w: [[f64; h]; d],
    b: [f64; h],
    v: [[f64; c]; h],
    #[no_grad] x: [[f64; d]; n],
    #[no_grad] y: [[f64; c]; n],
) -> f64 {
    let hidden = tanh(matmul(x, w) + b);
    let off = matmul(hidden, v) - y;
    sum(flatten(off * off)) / n as f64
}

/// Classes of which each row has one.
#[kernel]
pub fn classes(w: [[f64; c]; d], #[no_grad] x: [[f64; d]; n], #[no_grad] class: [i64; n]) -> f64 {
    let logits = matmul(x, w);
    sum(build(n, |i| logsumexp(logits[i]) - logits[i][class[i]]))
}

/// How near each of some vectors is to others, and what these stand for, in these proportions.
#[kernel]
pub fn attention(q: [[f64; d]; n], k: [[f64; d]; m], v: [[f64; e]; m]) -> [[f64; e]; n] {
    let scores = matmul(q, transpose(k)) / sqrt(d as f64);
    matmul(softmax(scores), v)
}

/// The same where none looks at those after it.
#[kernel]
pub fn causal(q: [[f64; d]; n], k: [[f64; d]; n], v: [[f64; d]; n]) -> [[f64; d]; n] {
    let scores = matmul(q, transpose(k));
    let masked = build((n, n), |i, j| if j <= i { scores[i][j] } else { -1e30 });
    matmul(softmax(masked), v)
}

/// With keys and values that are products of the same rows, which all rows look at.
#[kernel]
pub fn of_itself(x: [[f64; d]; n], wq: [[f64; e]; d], wk: [[f64; e]; d], wv: [[f64; e]; d]) -> [[f64; e]; n] {
    let keys = matmul(x, wk);
    let scores = matmul(matmul(x, wq), transpose(keys));
    matmul(softmax(scores), matmul(x, wv))
}

/// Points in a mixture of distributions.
#[kernel]
pub fn mixture(
    weight: [f64; k],
    mean: [[f64; d]; k],
    factor: [[[f64; d]; d]; k],
    #[no_grad] x: [[f64; d]; n],
) -> f64 {
    let u = einsum!("crs,is->icr", factor, x) - einsum!("crs,cs->cr", factor, mean);
    sum(logsumexp(weight - 0.5 * sum(u * u)))
}

/// The squared distance from the nearest of some centers, and which that is.
#[kernel]
pub fn nearest(points: [[f64; d]; n], centers: [[f64; d]; k]) -> ([f64; n], [i64; n]) {
    let between = matmul(points, transpose(centers));
    let squares = build(k, |j| dot(centers[j], centers[j]));
    let distances = build((n, k), |i, j| squares[j] - 2.0 * between[i][j]);
    (build(n, |i| minimum(distances[i]) + dot(points[i], points[i])), argmin(distances))
}

/// What is true of rows is made by bands as well.
#[kernel]
pub fn signs(x: [[f64; d]; n], w: [[f64; m]; d]) -> ([[bool; m]; n], [f64; m]) {
    let y = matmul(x, w);
    (build((n, m), |i, j| y[i][j] > 0.0), build(m, |j| sum(build(n, |i| y[i][j] * y[i][j]))))
}

/// What stands between the products looks at all rows, and at the next one.
#[kernel]
pub fn centered(x: [[f64; d]; n], w: [[f64; m]; d], v: [[f64; d]; m]) -> [[f64; d]; n] {
    let y = matmul(x, w);
    let mean = build(m, |j| sum(build(n, |i| y[i][j]))) / n as f64;
    let z = build((n, m), |i, j| tanh(y[i][j] - mean[j]));
    matmul(build((n, m), |i, j| z[i][j] - z[if i + 1 < n { i + 1 } else { i }][j]), v)
}

/// Steps of a descent: in each there are bands.
#[kernel]
pub fn descent(start: [[f64; m]; d], x: [[f64; d]; n], y: [[f64; m]; n], steps: usize) -> [[f64; m]; d] {
    let mut w = start;
    for _ in 0..steps {
        let slope = grad(|w| {
            let off = tanh(matmul(x, w)) - y;
            sum(flatten(off * off))
        })(w);
        w = w - 0.1 * slope;
    }
    w
}

/// Rows are numbered among all.
#[kernel]
pub fn numbered(x: [[f64; d]; n], w: [[f64; m]; d]) -> [[f64; m]; n] {
    let y = matmul(x, w);
    build((n, m), |i, j| sin(y[i][j] + (i * m + j) as f64) * if i % 2 == 0 { 1.0 } else { y[i][0] })
}

/// The same with the slope as one writes it down.
#[kernel]
pub fn descent_by_hand(
    start: [[f64; m]; d],
    x: [[f64; d]; n],
    y: [[f64; m]; n],
    steps: usize,
) -> [[f64; m]; d] {
    let mut w = start;
    for _ in 0..steps {
        let t = tanh(matmul(x, w));
        w = w - 0.2 * matmul(transpose(x), (t - y) * (1.0 - t * t));
    }
    w
}

/// Points that move as bones turn, each with some weight.
#[kernel(jacobian)]
pub fn skinned(
    angle: [f64; 26],
    #[no_grad] weights: [[f64; 26]; n],
    #[no_grad] base: [[f64; 2]; n],
) -> [[f64; 2]; n] {
    let turns = map(|a| [[a.cos(), -a.sin()], [a.sin(), a.cos()]], angle);
    einsum!("vb,bij,vj->vi", weights, turns, base)
}

/// Vectors of letters, each of which looks at all of them: that there are such letters is known before.
#[kernel]
pub fn letters(table: [[f64; d]; c], text: [i64; n], w: [[f64; d]; d]) -> [[f64; d]; n] {
    let x = gather(table, text);
    let told = matmul(softmax(matmul(matmul(x, w), transpose(x))), x);
    build(n, |i| told[i] * table[text[i]])
}

/// Means by weights that each point makes a row for, in the order of the other operand.
#[kernel]
pub fn spread(x: [[[f64; k]; m]; n], w: [[f64; c]; n]) -> [[f64; c]; m] {
    let means = build((m, n), |j, i| dot(softmax(x[i][j]), x[i][j]));
    matmul(means, w)
}
