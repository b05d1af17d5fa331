//! Kernels that call the functions of `array_dsl::linalg`, each of matrices that are far from those that have no result.

use array_dsl::linalg::{
    cholesky, det, eigh, expm, inverse, logdet, lstsq, lu, qr, slogdet, solve, solve_lower, solve_matrix,
    solve_upper, svd, trace,
};
use array_dsl::prelude::*;

/// A symmetric matrix with eigenvalues apart, from any.
#[kernel]
pub fn spd<T: Float>(a: [[T; n]; n]) -> [[T; n]; n] {
    build((n, n), |i, j| dot(a[i], a[j]) + if i == j { 1.0 + (i as _) } else { 0.0 })
}

/// A matrix that is far from singular, whose pivots are not on its diagonal.
#[kernel]
pub fn regular<T: Float>(a: [[T; n]; n]) -> [[T; n]; n] {
    build((n, n), |i, j| a[i][j] + if (i + 1) % n == j { 2.0 } else { 0.0 })
}

macro_rules! kernels {
    ($elem:ident $options:tt: $($name:ident($a:ident) = $value:expr;)*) => {$(
        #[kernel $options]
        pub fn $name($a: [[$elem; n]; n], w: [$elem; n]) -> $elem {
            $value
        }
    )*};
}

/// One float of each function, for one element type.
macro_rules! of_type {
    ($module:ident, $elem:ident, $options:tt) => {
        pub mod $module {
            use super::*;
            kernels! { $elem $options:
                of_cholesky(a) = dot(w, matvec(cholesky(spd(a)), w));
                of_lu(a) = { let (m, _, _) = lu(regular(a)); dot(w, matvec(m, w)) };
                of_qr(a) = { let (q, r) = qr(regular(a)); dot(w, matvec(q, w)) + dot(w, matvec(r, w)) };
                of_triangles(a) = dot(solve_lower(regular(a) + spd(a), w), solve_upper(spd(a), w));
                of_solve(a) = { let x = solve(regular(a), w); dot(x, x * w) };
                of_solve_matrix(a) = { let x = solve_matrix(regular(a), a); dot(w, matvec(x, w)) };
                of_inverse(a) = dot(w, matvec(inverse(regular(a)), w)) + trace(a);
                of_det(a) = det(0.5 * regular(a)) * dot(w, w);
                of_slogdet(a) = { let (s, l) = slogdet(regular(a)); s * l + logdet(spd(a)) + dot(w, w) };
                of_lstsq(a) = { let x = lstsq(concat(regular(a), spd(a)), concat(w, w * w)); dot(x, w) };
                of_values(a) = { let (v, _) = eigh(spd(a)); dot(w, v * v) };
                of_vectors(a) = { let (_, x) = eigh(spd(a)); dot(w, matvec(x * x * x, w)) };
                of_svd(a) = {
                    let (u, s, v) = svd(concat(regular(a), spd(a)));
                    dot(w, s) + sum(matvec(u * u * u, w)) + dot(w, matvec(v * v * v, w))
                };
                of_expm(a) = dot(w, matvec(expm(a), w)) + sum(expm(4.0 * a)[0] * w);
            }
        }
    };
}

// Those of which the tests take derivatives, and no others, so that there is less to compile.
of_type!(f64s, f64, (value, grad, vjp, jvp, hvp));
of_type!(f32s, f32, (value, value_and_grad));
