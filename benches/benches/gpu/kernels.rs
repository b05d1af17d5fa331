//! What is measured, as one would write it.

use array_dsl::prelude::*;

/// Writes every element once, and reads it.
#[kernel]
pub fn copied(x: [f32; n]) -> [f32; n] {
    x + 1.0
}

/// Products and sums that depend on each other in eight chains: 16 operations in a trip.
#[kernel(value)]
pub fn chains(x: [f32; n], trips: i64) -> [f32; n] {
    build(n, |i| {
        let a = x[i];
        let (mut p, mut q, mut r, mut s) = (a, a + 0.1, a + 0.2, a + 0.3);
        let (mut t, mut u, mut v, mut w) = (a + 0.4, a + 0.5, a + 0.6, a + 0.7);
        for _ in 0..trips {
            p = p * a + 0.5;
            q = q * a + 0.5;
            r = r * a + 0.5;
            s = s * a + 0.5;
            t = t * a + 0.5;
            u = u * a + 0.5;
            v = v * a + 0.5;
            w = w * a + 0.5;
        }
        p + q + r + s + t + u + v + w
    })
}

#[kernel]
pub fn saxpy(a: f32, x: [f32; n], y: [f32; n]) -> [f32; n] {
    a * x + y
}

#[kernel]
pub fn gelu(x: [f32; n]) -> [f32; n] {
    0.5 * x * (1.0 + tanh(0.797_884_6 * (x + 0.044_715 * x * x * x)))
}

#[kernel]
pub fn wave(x: [f32; n]) -> f32 {
    sum(sin(x) * exp(-x * x))
}

#[kernel]
pub fn total(x: [f32; n]) -> f32 {
    sum(x)
}

#[kernel]
pub fn row_sums(x: [[f32; m]; n]) -> [f32; n] {
    map(sum, x)
}

#[kernel]
pub fn column_sums(x: [[f32; m]; n]) -> [f32; m] {
    build(m, |j| sum(build(n, |i| x[i][j])))
}

#[kernel]
pub fn prefixes(x: [f32; n]) -> [f32; n] {
    cumsum(x)
}

#[kernel]
pub fn row_prefixes(x: [[f32; m]; n]) -> [[f32; m]; n] {
    map(cumsum, x)
}

#[kernel(value)]
pub fn counts(k: i64, at: [i32; n]) -> [i32; k] {
    hist(add, 0, k, map(|i| i as usize, at), map(|_| 1, at))
}

#[kernel]
pub fn weights(k: i64, at: [i32; n], w: [f32; n]) -> [f32; k] {
    hist(add, 0.0, k, map(|i| i as usize, at), w)
}

/// Its pullback combines by atomic operations.
#[kernel]
pub fn gathered(x: [f32; k], at: [i32; n]) -> [f32; n] {
    build(n, |i| x[at[i] as usize])
}

#[kernel]
pub fn sorted(x: [f32; n]) -> [f32; n] {
    sort(x)
}

#[kernel]
pub fn order(x: [f32; n]) -> [i32; n] {
    map(|i| i as i32, argsort(x))
}

#[kernel]
pub fn sorted_rows(x: [[f32; m]; n]) -> [[f32; m]; n] {
    sort(x)
}

#[kernel]
pub fn kept(x: [f32; n]) -> f32 {
    sum(filter(|v| v > 0.0, x))
}

#[kernel]
pub fn product(a: [[f32; k]; n], b: [[f32; m]; k]) -> [[f32; m]; n] {
    matmul(a, b)
}

#[kernel]
pub fn product_by_transposed(a: [[f32; k]; n], b: [[f32; k]; m]) -> [[f32; m]; n] {
    matmul(a, transpose(b))
}

#[kernel]
pub fn products(a: [[[f32; k]; n]; h], b: [[[f32; m]; k]; h]) -> [[[f32; m]; n]; h] {
    build(h, |i| matmul(a[i], b[i]))
}

#[kernel]
pub fn by_vector(a: [[f32; k]; n], x: [f32; k]) -> [f32; n] {
    matvec(a, x)
}

#[kernel]
pub fn layer(x: [[f32; k]; n], w: [[f32; m]; k], b: [f32; m]) -> [[f32; m]; n] {
    map(|row| map(|v| max(v, 0.0), row + b), matmul(x, w))
}

#[kernel]
pub fn softmax_rows(z: [[f32; m]; n]) -> [[f32; m]; n] {
    map(softmax, z)
}

#[kernel]
pub fn normalized(x: [[f32; m]; n]) -> [[f32; m]; n] {
    build(n, |i| {
        let mean = sum(x[i]) / m as f32;
        let d = x[i] - mean;
        d / (dot(d, d) / m as f32 + 1e-5).sqrt()
    })
}

#[kernel]
pub fn attention(q: [[[f32; d]; n]; h], k: [[[f32; d]; n]; h], v: [[[f32; d]; n]; h]) -> [[[f32; d]; n]; h] {
    let scores = einsum!("hid,hjd->hij", q, k) / (d as f32).sqrt();
    einsum!("hij,hjd->hid", softmax(scores), v)
}

/// A mixture of Gaussians with one variance for each dimension of each component.
#[kernel]
pub fn mixture(alpha: [f32; k], mu: [[f32; d]; k], q: [[f32; d]; k], #[no_grad] x: [[f32; d]; n]) -> f32 {
    let scale = exp(q);
    let terms = build((n, k), |i, c| {
        let u = (x[i] - mu[c]) * scale[c];
        alpha[c] + sum(q[c]) - 0.5 * dot(u, u)
    });
    sum(logsumexp(terms)) - n as f32 * logsumexp(alpha)
}

/// One step of a recurrent layer.
#[kernel]
pub fn lstm_step(
    x: [[f32; d]; n],
    h: [[f32; m]; n],
    c: [[f32; m]; n],
    wx: [[[f32; m]; d]; 4],
    wh: [[[f32; m]; m]; 4],
    b: [[f32; m]; 4],
) -> f32 {
    let gates = build(4, |g| matmul(x, wx[g]) + matmul(h, wh[g]) + b[g]);
    let next = sigmoid(gates[0]) * c + sigmoid(gates[1]) * tanh(gates[2]);
    let out = sigmoid(gates[3]) * tanh(next);
    sum((out * out).flatten())
}

/// The squared distance of every point to the nearest centroid.
#[kernel]
pub fn clusters(#[no_grad] points: [[f32; d]; n], centroids: [[f32; d]; k]) -> f32 {
    sum(build(n, |i| {
        minimum(build(k, |j| {
            let between = points[i] - centroids[j];
            dot(between, between)
        }))
    }))
}

/// The energy of masses at softened distances.
#[kernel]
pub fn energy(x: [[f32; 3]; n], m: [f32; n]) -> f32 {
    let pairs = build((n, n), |i, j| {
        let between = x[i] - x[j];
        -m[i] * m[j] / (dot(between, between) + 0.01).sqrt()
    });
    0.5 * sum(pairs.flatten())
}
