//! Eigenvalues and singular values.
//!
//! The vectors are found by what is not differentiated: a symmetric matrix becomes tridiagonal by reflections (Householder), and that
//! diagonal by sweeps of rotations (QL, with implicit shifts; Golub and Van Loan, 8.3). For singular values that is only where a second
//! method starts, which makes small ones as accurate as large ones: rotations of two columns at a time (one-sided Jacobi, 8.6), of which few
//! are left to be made (Drmač and Veselić, *New fast and accurate Jacobi SVD algorithm*, 2008).
//!
//! Two steps of Newton's method follow, which are differentiated, and which change nothing but the derivatives: with `x` the vectors as
//! columns,
//!
//! ```text
//! r = 1 - xᵀ x;   s = xᵀ a x;   λ_i = s_ii / (1 - r_ii)
//! e_ij = (s_ij + λ_j r_ij) / (λ_j - λ_i),   r_ij / 2 where λ_i and λ_j are equal to rounding;   x' = x + x e
//! ```
//!
//! Each step doubles the number of derivatives that are right: one gives the first, two those to the third order. Source: Ogita and
//! Aishima, *Iterative refinement for symmetric eigenvalue decomposition*, 2018; derivatives of iterations by a step at the solution:
//! Griewank and Walther, *Evaluating Derivatives*, 15.

use crate::prelude::*;

/// `eigh(a)`: `(values, vectors)`, the eigenvalues of a symmetric matrix in ascending order, and the vectors of length one as columns.
///
/// Of a matrix that is not symmetric it is that of `(a + aᵀ) / 2`. The sign of a vector is not determined: its largest element is
/// positive. **Equal eigenvalues** determine a space and no vectors; derivatives of the vectors within that space are zero, which is
/// right for all that does not depend on the choice of the vectors, such as sums over equal eigenvalues. Derivatives are right to the third
/// order. Cost: some 9 n^3 operations, and 8 n^3 for what has derivatives.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::eigh;
///
/// #[kernel]
/// fn largest(a: [[f64; n]; n]) -> f64 {
///     let (values, _) = eigh(a);
///     values[n - 1]
/// }
///
/// let a = array![[2.0, 1.0], [1.0, 2.0]];
/// assert!((largest(&a) - 3.0).abs() < 1e-14);
/// // The vector of the largest, times itself.
/// assert!((grad(largest)(&a) - 0.5).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn eigh<T: Float>(a: [[T; n]; n]) -> ([T; n], [[T; n]; n]) {
    let size = stop_gradient(largest(a));
    let c = a / size;
    let b = 0.5 * (c + transpose(c));
    let x = eigenvectors(stop_gradient(b));
    let y = with_derivatives(b, x);
    let values = build(n, |i| dot(y[i], matvec(b, y[i])) / dot(y[i], y[i]));
    let order = argsort(values);
    (size * gather(values, order), transpose(gather(y, order)))
}

/// `svd(a)`: `(u, values, v)` with `a = u diag(values) vᵀ`: the singular values in descending order, the vectors of length one as
/// columns.
///
/// For `a` with at least as many rows as columns. The last steps are rotations of the columns (one-sided Jacobi), so that small values
/// are as accurate as large ones. The sign of a vector is not determined: the largest element of each column of `v` is positive. Of equal values
/// what `eigh` says holds; a column of `u` for the value zero is not finite. Derivatives are right to the third order.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::svd;
///
/// #[kernel]
/// fn values(a: [[f64; n]; m]) -> [f64; n] {
///     let (_, s, _) = svd(a);
///     s
/// }
///
/// let s = values(&array![[3.0, 0.0], [0.0, -2.0], [0.0, 0.0]]);
/// assert!((s - array![3.0, 2.0]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn svd<T: Float>(a: [[T; n]; m]) -> ([[T; n]; m], [T; n], [[T; n]; n]) {
    let size = stop_gradient(largest(a));
    let b = a / size;
    let x = right_vectors(stop_gradient(b));
    let y = with_derivatives(matmul(transpose(b), b), x);
    // The columns of `b v`, as rows.
    let w = matmul(y, transpose(b));
    let s = map(|r| sqrt(dot(r, r)), w);
    let order = argsort(-s);
    (build((m, n), |i, j| w[order[j]][i] / s[order[j]]), size * gather(s, order), transpose(gather(y, order)))
}

/// The size of the largest element, or 1 if all are zero. Of what is divided by it no square is too large, and none vanishes that counts.
#[kernel]
fn largest<T: Float>(a: [[T; m]; n]) -> T {
    let size = reduce(|x, y| max(x, y), 0.0, map(|r| reduce(|x, y| max(x, y), 0.0, abs(r)), a));
    if size > 0.0 { size } else { 1.0 }
}

/// The eigenvectors of a symmetric matrix as rows, each with the largest element positive.
#[kernel]
fn eigenvectors<T: Float>(a: [[T; n]; n]) -> [[T; n]; n] {
    let (q, diagonal, beside) = tridiagonal(a);
    with_signs(transpose(rotated(q, diagonal, beside)))
}

/// A symmetric matrix as `q t qᵀ` with a tridiagonal `t`: `q`, the diagonal of `t`, and below it what stands beside it, with a zero at the
/// end.
///
/// Step `k` reflects column `k` below the diagonal onto its first element, by `1 - scale v vᵀ`.
#[kernel]
fn tridiagonal<T: Float>(a: [[T; n]; n]) -> ([[T; n]; n], [T; n], [T; n]) {
    let mut m = a;
    let mut beside = zeros(n);
    let mut vs = zeros((n, n));
    let mut scales = zeros(n);
    for k in 0..n - 1 {
        let mut rest = 0.0;
        for i in k + 2..n {
            rest += m[i][k] * m[i][k];
        }
        let first = m[k + 1][k];
        let length = sqrt(first * first + rest);
        // The sign by which nothing cancels.
        let end = if first > 0.0 { -length } else { length };
        let is_there = rest > 0.0;
        beside[k] = if is_there { end } else { first };
        let start = if is_there { first - end } else { 0.0 };
        let scale = if is_there { 2.0 / (start * start + rest) } else { 0.0 };
        scales[k] = scale;
        for i in k + 1..n {
            vs[k][i] = if i == k + 1 { start } else { m[i][k] };
        }
        let mut p = zeros(n);
        for i in k + 1..n {
            let mut s = 0.0;
            for j in k + 1..n {
                s += m[i][j] * vs[k][j];
            }
            p[i] = scale * s;
        }
        let mut along = 0.0;
        for i in k + 1..n {
            along += p[i] * vs[k][i];
        }
        for i in k + 1..n {
            p[i] -= 0.5 * scale * along * vs[k][i];
        }
        for i in k + 1..n {
            for j in k + 1..n {
                m[i][j] -= vs[k][i] * p[j] + p[i] * vs[k][j];
            }
        }
    }
    // The product of the reflections, from the last one on: each changes only what those before it have made other than the identity.
    let mut q = build((n, n), |i, j| if i == j { 1.0 } else { 0.0 });
    for k in (0..n - 1).rev() {
        let mut g = zeros(n);
        for i in k + 1..n {
            for j in k + 1..n {
                g[j] += vs[k][i] * q[i][j];
            }
        }
        for i in k + 1..n {
            for j in k + 1..n {
                q[i][j] -= scales[k] * vs[k][i] * g[j];
            }
        }
    }
    (q, build(n, |i| m[i][i]), beside)
}

/// The columns of `x` turned to the eigenvectors of a tridiagonal matrix.
///
/// A sweep makes the last one of `beside` that is not zero to rounding, of those after `l`, smaller, by turns of neighboring columns from
/// there up to `l`; when none is left there, `l` goes on. Of what is no number nothing becomes zero: sweeps are limited.
#[kernel]
fn rotated<T: Float>(x: [[T; n]; n], diagonal: [T; n], beside: [T; n]) -> [[T; n]; n] {
    let mut x = x;
    let mut d = diagonal;
    let mut e = beside;
    let mut l = 0;
    let mut sweeps = 0;
    while l < n && sweeps < 40 * n {
        sweeps += 1;
        // The first place from `l` on where the matrix falls apart.
        let mut m = l;
        let mut more = true;
        while more && m < n - 1 {
            let size = abs(d[m]) + abs(d[m + 1]);
            more = size + abs(e[m]) != size;
            if more {
                m += 1;
            }
        }
        // None are turned where that is `l` itself, and what follows changes nothing.
        let count = m - l;
        let next = min(l + 1, n - 1);
        let half = (d[next] - d[l]) / (2.0 * e[l]);
        let root = sqrt(half * half + 1.0);
        let mut g = d[m] - d[l] + e[l] / (if half >= 0.0 { half + root } else { half - root });
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        let mut sines = zeros(n);
        let mut cosines = zeros(n);
        for k in 0..count {
            let i = m - 1 - k;
            let f = s * e[i];
            let b = c * e[i];
            let r = hypot(f, g);
            e[i + 1] = r;
            s = if r > 0.0 { f / r } else { 0.0 };
            c = if r > 0.0 { g / r } else { 1.0 };
            let t = d[i + 1] - p;
            let u = (d[i] - t) * s + 2.0 * c * b;
            p = s * u;
            d[i + 1] = t + p;
            g = c * u - b;
            sines[i] = s;
            cosines[i] = c;
        }
        d[l] -= p;
        e[l] = g;
        e[m] = 0.0;
        for j in 0..n {
            let mut z = x[j][m];
            for k in 0..count {
                let i = m - 1 - k;
                let y = x[j][i];
                x[j][i + 1] = sines[i] * y + cosines[i] * z;
                z = cosines[i] * y - sines[i] * z;
            }
            x[j][l] = z;
        }
        l += if count == 0 { 1 } else { 0 };
    }
    x
}

/// The right singular vectors of a matrix as rows, each with the largest element positive.
///
/// In each step of a sweep all rows are turned, each with another one, so that after a sweep each has met every other: as the players of
/// a tournament, of whom one stays and the others move on by one place around a circle.
#[kernel]
fn right_vectors<T: Float>(a: [[T; n]; m]) -> [[T; n]; n] {
    let mut x = eigenvectors(matmul(transpose(a), a));
    // The columns of `a` turned by it, as rows.
    let mut w = matmul(x, transpose(a));
    // The cosine of an angle is zero to rounding below this, times what adds nothing to one.
    let least = sqrt(max(m, 4) as _);
    let places = n + n % 2 - 1;
    let mut sweeps = 0;
    while sweeps < 60 && are_apart(w, 4.0 * least) {
        sweeps += 1;
        for step in 0..places {
            let met = build(n, |r| {
                let place = (r - 1 - step + places) % places;
                if r == 0 {
                    1 + (places - 1 + step) % places
                } else if place == places - 1 {
                    0
                } else {
                    1 + (places - 2 - place + step) % places
                }
            });
            // Of an odd number one has a rest.
            let other = build(n, |r| if met[r] < n { met[r] } else { r });
            let squares = map(|r| dot(r, r), w);
            let products = build(n, |r| dot(w[r], w[other[r]]));
            let (c, s) = build(n, |r| {
                let o = other[r];
                let (p, q) = if r < o { (squares[r], squares[o]) } else { (squares[o], squares[r]) };
                let size = sqrt(p) * sqrt(q);
                if o != r && size + abs(products[r]) / least != size {
                    let (c, s) = turn(p, q, products[r]);
                    (c, if r < o { -s } else { s })
                } else {
                    (1.0, 0.0)
                }
            });
            w = build((n, m), |r, i| c[r] * w[r][i] + s[r] * w[other[r]][i]);
            x = build((n, n), |r, i| c[r] * x[r][i] + s[r] * x[other[r]][i]);
        }
    }
    with_signs(x)
}

/// Whether two rows have an angle whose cosine is more than this, times what adds nothing to one.
#[kernel]
fn are_apart<T: Float>(w: [[T; m]; n], least: T) -> bool {
    let g = matmul(w, transpose(w));
    let lengths = build(n, |i| sqrt(g[i][i]));
    sum(sum(build((n, n), |i, j| {
        let size = lengths[i] * lengths[j];
        if j < i && size + abs(g[i][j]) / least != size { 1 } else { 0 }
    }))) > 0
}

/// The cosine and the sine of the smaller turn that makes the matrix of `p`, `pq`, `pq` and `q` diagonal (Golub and Van Loan, 8.5).
#[kernel]
fn turn<T: Float>(p: T, q: T, pq: T) -> (T, T) {
    let tau = (q - p) / (2.0 * pq);
    let t = (if tau < 0.0 { -1.0 } else { 1.0 }) / (abs(tau) + sqrt(1.0 + tau * tau));
    let c = 1.0 / sqrt(1.0 + t * t);
    (c, t * c)
}

/// Vectors, as rows, each with the sign by which its largest element is positive.
#[kernel]
fn with_signs<T: Float>(x: [[T; n]; n]) -> [[T; n]; n] {
    map(|r| r * (if r[argmax(abs(r))] < 0.0 { -1.0 } else { 1.0 }), x)
}

/// The eigenvectors `x` of a symmetric matrix, as rows, with their derivatives: see the head of this file.
#[kernel]
fn with_derivatives<T: Float>(a: [[T; n]; n], x: [[T; n]; n]) -> [[T; n]; n] {
    let y = refined(a, refined(a, x));
    x + (y - stop_gradient(y))
}

/// A step of Newton's method.
#[kernel]
fn refined<T: Float>(a: [[T; n]; n], x: [[T; n]; n]) -> [[T; n]; n] {
    let s = matmul(matmul(x, a), transpose(x));
    let g = matmul(x, transpose(x));
    let values = build(n, |i| s[i][i] / g[i][i]);
    // Of constants alone it would be a question about `f64`.
    let one: T = 1.0;
    let rounding = if one + 1e-10 == one { 1.2e-7 } else { 2.3e-16 };
    let least = 64.0 * rounding * stop_gradient(reduce(|x, y| max(x, y), 0.0, abs(values)));
    // By row of the result.
    let e = build((n, n), |j, i| {
        let r = (if i == j { 1.0 } else { 0.0 }) - g[i][j];
        let gap = values[j] - values[i];
        let apart = abs(gap) > least;
        if i != j && apart { (s[i][j] + values[j] * r) / (if apart { gap } else { 1.0 }) } else { 0.5 * r }
    });
    x + matmul(e, x)
}
