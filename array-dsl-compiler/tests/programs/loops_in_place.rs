//! Loops in loops that write in place, in other styles than those of `textbook.rs`: downwards, in branches, of several
//! arrays, with ends that the data decide.

// Read as text by `programs.rs` and `costs.rs`; never compiled by rustc.

/// The data decide how long the inner loop is, and a condition whether there is one.
#[kernel]
fn data_decide(x: [f64; n], k: [i64; n]) -> [f64; n] {
    let mut a = x;
    for i in 0..n {
        let end = min(max(k[i], 0), n);
        for j in 0..end {
            a[j] = a[j] * 0.9 + 0.1 * x[i];
        }
        if i % 2 == 1 {
            for j in 0..i {
                a[i] += sin(a[j]);
            }
        }
    }
    a
}

/// Two arrays that are written in turn, and read at the element that was written just before.
#[kernel]
fn two_in_turn(x: [f64; n], y: [f64; n]) -> ([f64; n], [f64; n]) {
    let mut a = x;
    let mut b = y;
    for i in 1..n {
        a[i] = a[i] * b[i - 1];
        for j in 0..i {
            b[i] += a[i] * b[j];
            a[j] -= 0.1 * b[i] * a[i];
        }
        b[i - 1] = sin(a[i - 1]) + b[i];
        a[0] *= 0.5;
    }
    (a, b)
}

/// In columns, from the end, by another element of the same row.
#[kernel]
fn downwards(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut a = x;
    for i in 1..n {
        for r in 0..n - i {
            let j = n - 1 - r;
            a[i][j] = a[i][j] * a[i - 1][j] + a[j][i];
            a[j][i] = cos(a[i][j]);
        }
    }
    a
}

/// Ends that are before the starts, numbers and rows of each trip's own, and elements of the row above.
#[kernel]
fn short_of_two(x: [[f64; n]; n], y: [f64; n]) -> [[f64; n]; n] {
    let mut a = x;
    for i in 0..n {
        for j in i + 2..n {
            let mut s = y[j];
            for k in 0..i {
                s -= a[k][i] * x[j][k];
            }
            a[i][j] += s * s;
        }
        for j in i + 1..n - 1 {
            a[i][i] *= 1.0 + 0.1 * x[j][i];
        }
    }
    a
}

/// Neighbors along a diagonal, which have to wait, and across it, which do not; a row that is read after it was changed.
#[kernel]
fn across(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut a = x;
    for d in 1..n {
        for i in 0..n - d {
            a[i][i + d] = a[i][i + d - 1] * a[i + 1][i + d] + 0.5;
        }
        for i in 0..n - d {
            a[i + d][i] = a[i][i + d] - a[i][0];
            a[i][0] += 0.25 * a[i + d][i];
        }
    }
    a
}

/// Rows change places where the largest element of a column decides.
#[kernel]
fn pivoted_lu(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut a = x;
    for k in 0..n {
        let mut p = k;
        for i in k + 1..n {
            if abs(a[i][k]) > abs(a[p][k]) {
                p = i;
            }
        }
        for j in 0..n {
            let t = a[k][j];
            a[k][j] = a[p][j];
            a[p][j] = t;
        }
        for i in k + 1..n {
            a[i][k] /= a[k][k];
            for j in k + 1..n {
                a[i][j] -= a[i][k] * a[k][j];
            }
        }
    }
    a
}

/// The place of the smallest element is found by a function of the library.
#[kernel]
fn selection_sort(x: [f64; n]) -> [f64; n] {
    let mut a = x;
    for i in 0..n {
        let p = argmin(build(n, |j| if j < i { 1e9 } else { a[j] }));
        let t = a[i];
        a[i] = a[p];
        a[p] = t * 1.0;
    }
    a
}

/// The entries of the rows of a sparse matrix, each added up where its column says. Nothing of what is added to has to be kept.
#[kernel]
fn sparse_rows(starts: [i64; n], columns: [i64; n], values: [f64; n], y: [f64; n]) -> [f64; n] {
    let mut x = zeros(n);
    for i in 0..n - 1 {
        for e in starts[i]..starts[i + 1] {
            x[columns[e]] += values[e] * y[i];
        }
    }
    x
}

/// Relaxations along the edges of a graph, whose lists of neighbors data tell.
#[kernel]
fn relaxed(first: [i64; n + 1], to: [i64; e], w: [f64; e], start: [f64; n]) -> [f64; n] {
    let mut d = start;
    for u in 0..n {
        for p in first[u]..first[u + 1] {
            d[to[p]] = min(d[to[p]], d[u] + w[p]);
        }
    }
    d
}

/// Each trip changes as many elements at the beginning as data tell.
#[kernel]
fn at_the_beginning(x: [f64; n], k: [i64; n]) -> [f64; n] {
    let mut a = x;
    for i in 0..n {
        let end = min(max(k[i], 0), n);
        for j in 0..end {
            a[j] = a[j] * 0.9 + sin(a[j] + x[i]);
        }
    }
    a
}
