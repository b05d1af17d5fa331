//! `for` loops that stay parallel: what they become goes through every stage like other nests.

// Read as text by `programs.rs`; never compiled by rustc.

#[kernel]
fn dot_as_a_loop(x: [f64; n], y: [f64; n]) -> f64 {
    let mut s = 0.0;
    for i in 0..n {
        s += x[i] * y[i];
    }
    s
}

#[kernel]
fn several_accumulators(x: [f64; n]) -> (f64, f64, f64) {
    let mut total = 1.0;
    let mut top = 0.5;
    let mut product = 2.0;
    for v in x {
        if v > 0.0 {
            total -= v.sin();
        } else {
            total += v * v;
        }
        top = top.max(v);
        product *= 1.0 + v;
    }
    (total, top, product)
}

#[kernel]
fn triangular(x: [f64; n]) -> f64 {
    let mut s = 0.0;
    for i in 0..n {
        for j in 0..n {
            if j < i {
                s += x[i] * x[j];
            }
        }
    }
    s
}

#[kernel]
fn product_kij(a: [[f64; l]; n], b: [[f64; m]; l]) -> [[f64; m]; n] {
    let mut c = zeros((n, m));
    for k in 0..l {
        for i in 0..n {
            for j in 0..m {
                c[i][j] += a[i][k] * b[k][j];
            }
        }
    }
    c
}

#[kernel]
fn product_ijk(a: [[f64; l]; n], b: [[f64; m]; l]) -> [[f64; m]; n] {
    let mut c = zeros((n, m));
    for i in 0..n {
        for j in 0..m {
            let mut s = 0.0;
            for k in 0..l {
                s += a[i][k] * b[k][j];
            }
            c[i][j] = s;
        }
    }
    c
}

#[kernel]
fn momentum(w: [f64; n], g: [f64; n], v: [f64; n]) -> ([f64; n], [f64; n]) {
    let (mut w, mut v) = (w, v);
    for i in 0..n {
        v[i] = 0.9 * v[i] + g[i];
        w[i] -= 0.1 * v[i];
    }
    (w, v)
}

#[kernel]
fn smoothed(x: [f64; n]) -> [f64; n] {
    let mut y = x;
    for i in 1..n - 1 {
        y[i] = 0.25 * x[i - 1] + 0.5 * y[i] + 0.25 * x[i + 1];
    }
    y
}

#[kernel]
fn shifted(x: [f64; n], k: usize) -> [f64; n] {
    let mut y = 2.0 * x;
    for i in 0..k {
        y[i] *= x[i];
    }
    y
}

#[kernel]
fn histogram_as_a_loop(at: [i64; n], w: [f64; n]) -> [f64; 5] {
    let mut h = [0.0; 5];
    for i in 0..n {
        if at[i] >= 0 {
            h[at[i]] += w[i].exp();
        }
    }
    h
}

#[kernel]
fn grouped_rows(at: [i64; n], x: [[f64; d]; n]) -> ([[f64; d]; 5], [f64; 5]) {
    let mut sums = zeros((5, d));
    let mut norms = [0.1; 5];
    for i in 0..n {
        let group = at[i];
        let mut norm = 0.0;
        for j in 0..d {
            sums[group][j] += x[i][j];
            norm += x[i][j] * x[i][j];
        }
        norms[group] += norm.sqrt();
        if norm > 1.0 {
            sums[0] -= x[i];
        }
    }
    (sums, norms)
}

#[kernel]
fn column_sums(a: [[f64; m]; n]) -> [f64; m] {
    let mut s = zeros(m);
    for row in a {
        s += row * row;
    }
    s
}

#[kernel]
fn largest_of_columns(a: [[f64; m]; n]) -> [f64; m] {
    let mut top = zeros(m);
    for i in 0..n {
        for j in 0..m {
            top[j] = top[j].max(a[i][j]);
        }
    }
    top
}

#[kernel]
fn transposed(a: [[f64; m]; n]) -> [[f64; n]; m] {
    let mut t = zeros((m, n));
    for i in 0..n {
        for j in 0..m {
            t[j][i] = a[i][j].sin();
        }
    }
    t
}

#[kernel]
fn loops_in_a_build(a: [[f64; m]; n], k: usize) -> [f64; n] {
    build(n, |i| {
        let mut best = 0.0;
        let mut row = a[i];
        for j in 0..m {
            row[j] = row[j] * row[j];
            if j < k {
                best += row[j];
            }
        }
        for v in row {
            best = best.max(v);
        }
        best
    })
}

#[kernel]
fn swapped_ends(x: [f64; n]) -> [f64; n] {
    let mut count = 0;
    for v in x {
        if v > 0.0 {
            count += 1;
        }
    }
    let mut y = x;
    if count > 1 {
        y = y * 2.0;
    }
    build(n, |i| if count > 2 { y[i] } else { y[n - 1 - i] })
}
