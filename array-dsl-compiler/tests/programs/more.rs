//! Kernels that the tests of compiled code have no place for: forms that stress a stage.

// Read as text by `programs.rs`; never compiled by rustc.

#[kernel]
fn convolution(x: [f64; n], w: [f64; k]) -> [f64; n + 1 - k] {
    build(n + 1 - k, |i| sum(build(k, |j| x[i + j].exp() * w[j])))
}

#[kernel]
fn five_point(u: [[f64; m]; n]) -> [[f64; m - 2]; n - 2] {
    build((n - 2, m - 2), |i, j| {
        let (r, c) = (i + 1, j + 1);
        u[r - 1][c] + u[r + 1][c] + u[r][c - 1] + u[r][c + 1] - 4.0 * u[r][c]
    })
}

#[kernel]
fn five_point_with_edges(u: [[f64; m]; n]) -> [[f64; m]; n] {
    build((n, m), |i, j| {
        let up = if i > 0 { u[i - 1][j] } else { 0.0 };
        let down = if i < n - 1 { u[i + 1][j] } else { 0.0 };
        let left = if j > 0 { u[i][j - 1] } else { 0.0 };
        let right = if j < m - 1 { u[i][j + 1] } else { 0.0 };
        (up + down + left + right - 4.0 * u[i][j]).tanh()
    })
}

#[kernel]
fn attention(q: [[f64; d]; n], k: [[f64; d]; m], v: [[f64; e]; m]) -> [[f64; e]; n] {
    let scores = matmul(q, transpose(k)) / (d as f64).sqrt();
    matmul(map(softmax, scores), v)
}

#[kernel]
fn layer_norm(x: [[f64; d]; n], gain: [f64; d], offset: [f64; d]) -> [[f64; d]; n] {
    map(
        |row| {
            let mean = row.sum() / d as f64;
            let away = row - mean;
            let deviation = (sum(away * away) / d as f64 + 0.001).sqrt();
            away / deviation * gain + offset
        },
        x,
    )
}

#[kernel]
fn two_layers(w1: [[f64; h]; d], b1: [f64; h], w2: [[f64; o]; h], #[no_grad] x: [[f64; d]; n]) -> f64 {
    let hidden = (matmul(x, w1) + b1).tanh();
    let out = matmul(hidden, w2);
    sum(flatten(out * out))
}

#[kernel]
fn nll(w: [[f64; c]; d], b: [f64; c], #[no_grad] x: [[f64; d]; n], #[no_grad] y: [i64; n]) -> f64 {
    let logits = matmul(x, w) + b;
    let each = build(n, |i| {
        let z = logits[i];
        let m = maximum(z);
        m + (z - m).exp().sum().ln() - z[y[i]]
    });
    each.sum() / n as f64
}

#[kernel]
fn shared_by_two_levels(x: [f64; n], y: [f64; m]) -> f64 {
    let e = x.exp();
    let s = e.sum();
    let table = build((n, m), |i, j| e[i] / s * y[j].sin());
    let rows = map(|r| sum(r * y), table);
    dot(rows, x) + s
}

#[kernel]
fn histogram_of_rows(v: [[f64; m]; n], bins: [[i64; m]; n]) -> [[f64; 4]; n] {
    build(n, |i| hist(add, 0.0, 4, bins[i], v[i] * v[i]))
}

#[kernel]
fn replaced_in_rows(a: [[f64; m]; n], at: [i64; n]) -> [[f64; m]; n] {
    build(n, |i| scatter(a[i], [at[i]], [a[i].sum()]))
}

#[kernel]
fn largest_of_rows(a: [[f64; m]; n]) -> f64 {
    let places = build(n, |i| maximum(a[i]) * (i as f64 + 1.0));
    maximum(places) + minimum(flatten(a))
}

#[kernel]
fn computed_size(x: [f64; n]) -> f64 {
    let half = n / 2;
    let first = build(half, |i| x[i] * x[n - 1 - i]);
    first.sum()
}

#[kernel]
fn branches_of_arrays(x: [f64; n], y: [f64; n], choose: bool) -> [f64; n] {
    let t = if choose { x * y.sum() } else { reverse(y).sin() };
    t + x
}

#[kernel]
fn nested_choice(x: [[f64; m]; n]) -> [f64; n] {
    build(n, |i| {
        let s = x[i].sum();
        if s > 0.5 {
            let t = x[i] * s;
            if s > 1.0 { t.prod() } else { t.maximum() }
        } else {
            s * s
        }
    })
}

#[kernel]
fn powers_of_rows(a: [[f64; n]; n]) -> [[f64; n]; n] {
    let b = matmul(a, a);
    matmul(b, transpose(b)) + a
}

#[kernel]
fn batched(a: [[[f64; k]; n]; b], c: [[[f64; m]; k]; b]) -> [[[f64; m]; n]; b] {
    map(|x, y| matmul(x, y), a, c)
}

#[kernel]
fn three_factors(a: [f64; n], b: [f64; m], c: [[f64; m]; n]) -> f64 {
    sum(build(n, |i| sum(build(m, |j| a[i] * b[j] * c[i][j]))))
}

#[kernel]
fn single(x: [f32; n], w: [f32; n]) -> f32 {
    sum((x * w).tanh()) + x.maximum()
}

#[kernel]
fn gathered_rows(table: [[f64; d]; v], ids: [i64; n]) -> [[f64; d]; n] {
    build(n, |i| table[ids[i] % v].tanh())
}

#[kernel]
fn outer_of_windows(x: [f64; n]) -> f64 {
    let w = build((n, 3), |i, j| x[(i + j) % n]);
    sum(map(|r| r.prod() + r.sum(), w))
}

// Scans in branches: neither where they start nor whether they do anything changes along them.

#[kernel]
fn scan_in_a_branch(x: [f64; n], t: i64) -> [f64; n] {
    if t > 0 { scan(|a, b| a * b + a + b, 0.0, cos(x)) } else { x }
}

#[kernel]
fn product_in_a_while(y: [f64; n], z: [f64; n]) -> [f64; n] {
    let mut h = y;
    let mut trip = 0;
    while trip < 4 && sum(h * h) > 0.17 {
        h = sin(cumprod(z)) + 0.5 * h;
        trip += 1;
    }
    h
}

#[kernel]
fn scans_in_branches_of_points(x: [f64; n], a: [[f64; n]; n], t: i64) -> [[f64; n]; n] {
    build(n, |i| {
        if t > i {
            let w = x[i] * 0.5;
            scan(|a, b| a + b + w * a * b, 0.0, a[i])
        } else {
            let mut h = x[i] * x[i];
            for j in 0..n {
                h = h * a[i][j];
            }
            replicate(n, h)
        }
    })
}

// The first rows of an array that was made for more.

#[kernel]
fn first_rows(a: [[f64; m]; n], b: [[f64; m]; n]) -> [[f64; m]; n] {
    scan(add, 0.0, concat(a, b))[..n]
}

#[kernel]
fn no_rows(a: [[f64; m]; n]) -> [[f64; m]; 0] {
    a[..0]
}

// Derivatives with respect to what a loop does not change, of functions that it does.

#[kernel]
fn tangent_in_a_loop(z: [f64; n], s: f64) -> f64 {
    let mut h = s;
    for _ in 0..3 {
        h = cos(jvp(|p| h * sum(p * p))(z, z).0 + 0.5 * h);
    }
    h
}

#[kernel]
fn slope_in_a_loop(z: [f64; n], s: f64) -> f64 {
    let mut h = s;
    for _ in 0..3 {
        h = cos(jvp(|p| h * sum(p * z))(s, 0.7).1);
    }
    h
}
