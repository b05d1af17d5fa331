//! Loops in loops of steps that hand a value or a row on from trip to trip, besides what they write in place.

// Read as text by `programs.rs` and `costs.rs`; never compiled by rustc.

/// Filters of second order, one after the other.
#[kernel]
fn biquads(x: [f64; n], b: [[f64; 3]; s], a: [[f64; 2]; s]) -> [f64; n] {
    let mut z = zeros((s, 2));
    let mut y = zeros(n);
    for t in 0..n {
        let mut v = x[t];
        for i in 0..s {
            let w = b[i][0] * v + z[i][0];
            z[i][0] = b[i][1] * v - a[i][0] * w + z[i][1];
            z[i][1] = b[i][2] * v - a[i][1] * w;
            v = w;
        }
        y[t] = v;
    }
    y
}

/// A recurrent network of several layers.
#[kernel]
fn layers(x: [[f64; k]; n], w: [[[f64; k]; k]; l], u: [[[f64; k]; k]; l]) -> f64 {
    let mut h = zeros((l, k));
    let mut total = 0.0;
    for t in 0..n {
        let mut v = x[t];
        for i in 0..l {
            v = tanh(matvec(w[i], v) + matvec(u[i], h[i]));
            h[i] = v;
        }
        total += dot(v, v);
    }
    total / (n * k) as f64
}

/// The same with diagonal weights, gates, and cells.
#[kernel]
fn gated(x: [[f64; k]; n], w: [[[f64; k]; 8]; l]) -> f64 {
    let mut h = zeros((l, k));
    let mut c = zeros((l, k));
    let mut total = 0.0;
    for t in 0..n {
        let mut v = x[t];
        for i in 0..l {
            let p = w[i];
            let forget = sigmoid(v * p[0] + p[1]);
            let take = sigmoid(h[i] * p[2] + p[3]);
            let out = sigmoid(v * p[4] + p[5]);
            c[i] = c[i] * forget + take * tanh(h[i] * p[6] + p[7]);
            v = out * c[i].tanh();
            h[i] = v;
        }
        total += (v.exp().sum() + 2.0).ln();
    }
    total
}

/// Sweeps over a line of cells that hand on what flows from each to the next.
#[kernel]
fn reservoirs(rain: [f64; n], rate: [f64; m], level: [f64; m]) -> [f64; n] {
    let mut level = level;
    let mut out = zeros(n);
    for t in 0..n {
        let mut flow = rain[t];
        for i in 0..m {
            level[i] += flow;
            flow = rate[i] * level[i] * level[i].abs().sqrt() * 0.1;
            level[i] -= flow;
        }
        out[t] = flow;
    }
    out
}
