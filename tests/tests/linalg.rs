//! Linear algebra on the CPU: factors give their matrices back, derivatives to the second order agree with differences, and matrices that
//! have no factors, or many, do what is written of them.

use array_dsl::linalg::{
    cholesky, cross, det, diagonal, eigh, expm, inverse, logdet, lstsq, lu, norm, qr, slogdet, solve,
    solve_matrix, svd, trace,
};
use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array3, array};

#[path = "common/linalg.rs"]
mod kernels;
use kernels::{f32s, f64s};

type Matrix = Array2<f64>;

#[path = "common/host.rs"]
#[macro_use]
mod host;

host! {
    h_cholesky(a: [[f64; n]; n]) -> [[f64; n]; n] = cholesky(a);
    h_lu(a: [[f64; n]; n]) -> ([[f64; n]; n], [i64; n], f64) = lu(a);
    h_qr(a: [[f64; n]; m]) -> ([[f64; n]; m], [[f64; n]; n]) = qr(a);
    h_solve(a: [[f64; n]; n], b: [f64; n]) -> [f64; n] = solve(a, b);
    h_solve_matrix(a: [[f64; n]; n], b: [[f64; k]; n]) -> [[f64; k]; n] = solve_matrix(a, b);
    h_inverse(a: [[f64; n]; n]) -> [[f64; n]; n] = inverse(a);
    h_det(a: [[f64; n]; n]) -> f64 = det(a);
    h_slogdet(a: [[f64; n]; n]) -> (f64, f64) = slogdet(a);
    h_lstsq(a: [[f64; n]; m], b: [f64; m]) -> [f64; n] = lstsq(a, b);
    h_eigh(a: [[f64; n]; n]) -> ([f64; n], [[f64; n]; n]) = eigh(a);
    h_svd(a: [[f64; n]; m]) -> ([[f64; n]; m], [f64; n], [[f64; n]; n]) = svd(a);
    h_expm(a: [[f64; n]; n]) -> [[f64; n]; n] = expm(a);
    h_spectra(a: [[[f64; n]; n]; b]) -> ([[f64; n]; b], [[f64; n]; b]) = unzip(map(|m| {
        let (values, _) = eigh(m);
        let (_, singular, _) = svd(m);
        (values, singular)
    }, a));
    h_single(a: [[f32; n]; n]) -> ([f32; n], [[f32; n]; n]) = eigh(a);
    h_batch(a: [[[f64; n]; n]; b], x: [[f64; n]; b]) -> ([[f64; n]; b], [f64; b]) = (solve(a, x), trace(a));
}

fn noise(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    Array2::from_shape_simple_fn((rows, columns), || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    })
}

fn vector(n: usize, seed: u64) -> Array1<f64> {
    noise(1, n, seed).row(0).to_owned()
}

/// A symmetric, positive definite matrix.
fn positive(n: usize, seed: u64) -> Matrix {
    let a = noise(n, n, seed);
    a.dot(&a.t()) + Matrix::eye(n)
}

#[track_caller]
fn near(a: &Matrix, b: &Matrix, tolerance: f64) {
    assert_eq!(a.dim(), b.dim());
    let scale = b.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    let off = (a - b).iter().fold(0.0f64, |m, d| if d.is_nan() { f64::NAN } else { m.max(d.abs()) });
    assert!(off <= tolerance * scale, "{off:e}\n{a}\n{b}");
}

const SIZES: [usize; 6] = [0, 1, 2, 3, 8, 31];

#[test]
fn factors_give_the_matrix_back() {
    for n in SIZES {
        let one = Matrix::eye(n);
        let a = positive(n, 1);
        let l = h_cholesky(&a);
        near(&l.dot(&l.t()), &a, 1e-14);
        assert!(l.indexed_iter().all(|((i, j), x)| j <= i || *x == 0.0), "{l}");
        // Of a matrix that is not symmetric, the symmetric part's.
        let mut skew = a.clone();
        skew.indexed_iter_mut().for_each(|((i, j), x)| *x += i as f64 - j as f64);
        near(&h_cholesky(&skew), &l, 1e-13);

        let a = noise(n, n, 2);
        let (m, rows, sign) = h_lu(&a);
        let lower = Matrix::from_shape_fn((n, n), |(i, j)| {
            if i == j {
                1.0
            } else if j < i {
                m[[i, j]]
            } else {
                0.0
            }
        });
        let upper = Matrix::from_shape_fn((n, n), |(i, j)| if j >= i { m[[i, j]] } else { 0.0 });
        let permuted = Matrix::from_shape_fn((n, n), |(i, j)| a[[rows[i] as usize, j]]);
        near(&lower.dot(&upper), &permuted, 1e-14);
        assert!(lower.iter().all(|x| x.abs() <= 1.0), "a pivot is not the largest");
        let inversions =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|(i, j)| rows[*j] > rows[*i]).count();
        assert_eq!(sign, if inversions % 2 == 0 { 1.0 } else { -1.0 });

        let tall = noise(n + 4, n, 3);
        let (q, r) = h_qr(&tall);
        near(&q.dot(&r), &tall, 1e-14);
        near(&q.t().dot(&q), &one, 1e-14);
        assert!(
            r.indexed_iter().all(|((i, j), x)| if i == j { *x > 0.0 } else { i < j || *x == 0.0 }),
            "{r}"
        );

        let (values, x) = h_eigh(&a.dot(&a.t()));
        near(&x.dot(&Array2::from_diag(&values)).dot(&x.t()), &a.dot(&a.t()), 1e-13);
        near(&x.t().dot(&x), &one, 1e-14);
        assert!(values.windows(2).into_iter().all(|w| w[0] <= w[1]), "{values}");

        let (u, s, v) = h_svd(&tall);
        near(&u.dot(&Array2::from_diag(&s)).dot(&v.t()), &tall, 1e-13);
        near(&u.t().dot(&u), &one, 1e-13);
        near(&v.t().dot(&v), &one, 1e-14);
        assert!(s.windows(2).into_iter().all(|w| w[0] >= w[1]), "{s}");
    }
}

#[test]
fn columns_nearly_dependent_stay_orthogonal() {
    // Läuchli's matrix: one step of Gram and Schmidt loses all.
    let e = 1e-7;
    let a = array![[1.0, 1.0, 1.0], [e, 0.0, 0.0], [0.0, e, 0.0], [0.0, 0.0, e]];
    let (q, r) = h_qr(&a);
    near(&q.t().dot(&q), &Matrix::eye(3), 1e-14);
    near(&q.dot(&r), &a, 1e-15);
    let (_, s, _) = h_svd(&a);
    assert!((s[0] - (3.0f64 + e * e).sqrt()).abs() < 1e-14);
    assert!((s[1] / e - 1.0).abs() < 1e-8 && (s[2] / e - 1.0).abs() < 1e-8, "small values are not lost: {s}");
}

/// The largest distance of a matrix from the product of these, and of the vectors from being orthogonal.
fn eigh_off(a: &Matrix) -> (f64, f64) {
    let (values, x) = h_eigh(a);
    assert!(values.windows(2).into_iter().all(|w| w[0] <= w[1]), "{values}");
    let most = |m: Matrix| m.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let one = Matrix::eye(a.nrows());
    (most(x.dot(&Array2::from_diag(&values)).dot(&x.t()) - a), most(x.t().dot(&x) - one))
}

#[test]
fn eigenvalues_of_all_kinds() {
    let n = 40;
    let (symmetric, q) = (noise(n, n, 11), h_qr(&noise(n, n, 12)).0);
    let with = |values: &dyn Fn(usize) -> f64| {
        q.dot(&Array2::from_diag(&Array1::from_shape_fn(n, values))).dot(&q.t())
    };
    for (what, a) in [
        ("of both signs", &symmetric + &symmetric.t()),
        ("many equal ones", with(&|i| (i / 15) as f64)),
        ("nearly equal ones", with(&|i| 1.0 + 1e-14 * i as f64)),
        ("of all magnitudes", with(&|i| 10f64.powi(-(i as i32)))),
        ("rank one", Matrix::ones((n, n))),
        ("diagonal", Array2::from_diag(&Array1::from_shape_fn(n, |i| ((7 * i) % n) as f64))),
        (
            "two blocks",
            Matrix::from_shape_fn((n, n), |(i, j)| {
                if (i < 17) == (j < 17) { symmetric[[i, j]] + symmetric[[j, i]] } else { 0.0 }
            }),
        ),
        (
            "tridiagonal",
            Matrix::from_shape_fn((n, n), |(i, j)| {
                if i == j {
                    2.0
                } else if i.abs_diff(j) == 1 {
                    -1.0
                } else {
                    0.0
                }
            }),
        ),
        ("zero", Matrix::zeros((n, n))),
    ] {
        let (of_matrix, of_vectors) = eigh_off(&a);
        assert!(of_matrix < 2e-13 && of_vectors < 2e-14, "{what}: {of_matrix:e} {of_vectors:e}");
    }
    // Known ones, large and small: of a chain of equal springs.
    let a = Matrix::from_shape_fn((n, n), |(i, j)| match i.abs_diff(j) {
        0 => 2e200,
        1 => -1e200,
        _ => 0.0,
    });
    let (values, _) = h_eigh(&a);
    for (k, value) in values.iter().enumerate() {
        let half = std::f64::consts::PI * (k + 1) as f64 / (2 * (n + 1)) as f64;
        assert!((value / 4e200 - half.sin().powi(2)).abs() < 1e-15, "{k}: {value:e}");
    }
}

#[test]
fn small_singular_values_are_accurate() {
    // Columns of very different lengths: each value is as accurate as if it were alone.
    let (rows, n) = (9, 6);
    let q = h_qr(&noise(rows, n, 13)).0;
    let sizes = Array1::from_shape_fn(n, |i| 10f64.powi(-4 * i as i32));
    let (u, s, v) = h_svd(&(&q * &sizes));
    assert!(s.iter().zip(&sizes).all(|(s, size)| (s / size - 1.0).abs() < 1e-13), "{s:e}");
    near(&u.t().dot(&u), &Matrix::eye(n), 1e-13);
    near(&v.t().dot(&v), &Matrix::eye(n), 1e-14);
    for n in [1, 2, 15, 40] {
        let a = noise(n + 3, n, 14);
        let (u, s, v) = h_svd(&a);
        near(&u.dot(&Array2::from_diag(&s)).dot(&v.t()), &a, 1e-13);
        near(&u.t().dot(&u), &Matrix::eye(n), 1e-12);
    }
}

/// Squares of the elements would be infinite, or zero.
#[test]
fn spectra_of_all_scales() {
    let n = 12;
    let a = noise(n, n, 15);
    let a = &a + &a.t();
    let (values, x) = h_eigh(&a);
    let (_, singular, _) = h_svd(&a);
    for scale in [1e-300, 1e-170, 1e170, 1e300] {
        let (found, y) = h_eigh(&(scale * &a));
        assert!(
            found.iter().zip(&values).all(|(f, v)| (f / scale - v).abs() < 1e-13),
            "{scale:e}: {found:e}"
        );
        near(&y, &x, 1e-12);
        let (u, s, v) = h_svd(&(scale * &a));
        assert!(s.iter().zip(&singular).all(|(f, v)| (f / scale - v).abs() < 1e-13), "{scale:e}: {s:e}");
        near(&u.dot(&Array2::from_diag(&(s / scale))).dot(&v.t()), &a, 1e-12);
    }
    let single = a.mapv(|x| x as f32);
    let (values, _) = h_single(&single);
    for scale in [1e-30f32, 1e30] {
        let (found, _) = h_single(&(scale * &single));
        assert!(found.iter().zip(&values).all(|(f, v)| (f / scale - v).abs() < 1e-5), "{scale:e}: {found:e}");
    }
}

#[test]
fn batches_of_spectra() {
    let a = Array3::from_shape_fn((50, 5, 5), |(b, i, j)| ((b * 31 + i * j * 7 + (i + j) * 3) as f64).sin());
    let found = h_spectra(&a);
    for (a, (values, singular)) in a.outer_iter().zip(found.0.outer_iter().zip(found.1.outer_iter())) {
        assert!((&h_eigh(&a).0 - &values).iter().all(|d| d.abs() < 1e-14));
        assert!((&h_svd(&a).1 - &singular).iter().all(|d| d.abs() < 1e-14));
    }
}

#[test]
fn systems_are_solved() {
    for n in SIZES {
        let (a, b) = (noise(n, n, 4) + 2.0 * Matrix::eye(n), noise(n, 3, 5));
        near(&a.dot(&h_solve_matrix(&a, &b)), &b, 1e-12);
        for c in 0..3 {
            let x = h_solve(&a, &b.column(c).to_owned());
            near(
                &a.dot(&x).insert_axis(ndarray::Axis(1)),
                &b.column(c).to_owned().insert_axis(ndarray::Axis(1)),
                1e-12,
            );
        }
        near(&h_inverse(&a).dot(&a), &Matrix::eye(n), 1e-12);
        let (sign, log) = h_slogdet(&a);
        assert!((sign * log.exp() / h_det(&a) - 1.0).abs() < 1e-12);
    }
    assert_eq!(h_det(&array![[0.0, 2.0], [3.0, 0.0]]), -6.0);
    assert_eq!(h_det(&Matrix::zeros((0, 0))), 1.0);
    // A determinant that no float has.
    let (sign, log) = h_slogdet(&(-1e-3 * Matrix::eye(501)));
    assert!(sign == -1.0 && (log - 501.0 * 1e-3f64.ln()).abs() < 1e-9, "{sign} {log}");
    let (x, y) = (
        Array1::linspace(0.0, 1.0, 20),
        Array1::linspace(0.0, 1.0, 20).mapv(|t: f64| 1.0 + 2.0 * t - 3.0 * t * t),
    );
    let powers = Matrix::from_shape_fn((20, 3), |(i, k)| f64::powi(x[i], k as i32));
    let c = h_lstsq(&powers, &y);
    assert!((c - array![1.0, 2.0, -3.0]).iter().all(|d| d.abs() < 1e-12));
}

#[test]
fn exponentials() {
    for n in SIZES {
        near(&h_expm(&Matrix::zeros((n, n))), &Matrix::eye(n), 0.0);
    }
    near(&h_expm(&array![[0.0, 1.0], [0.0, 0.0]]), &array![[1.0, 1.0], [0.0, 1.0]], 1e-15);
    // Many squarings; of a symmetric matrix by its eigenvalues.
    let a = 8.0 * positive(6, 6);
    let (values, x) = h_eigh(&a);
    near(&h_expm(&a), &x.dot(&Array2::from_diag(&values.mapv(f64::exp))).dot(&x.t()), 1e-11);
    let b = noise(6, 6, 7);
    near(&h_expm(&b).dot(&h_expm(&-b)), &Matrix::eye(6), 1e-12);
}

#[test]
fn batches_are_lifted() {
    let a = Array3::from_shape_fn((4, 3, 3), |(b, i, j)| {
        noise(3, 3, b as u64)[[i, j]] + if i == j { 3.0 } else { 0.0 }
    });
    let x = noise(4, 3, 9);
    let (all, traces) = h_batch(&a, &x);
    for b in 0..4 {
        let one = a.index_axis(ndarray::Axis(0), b).to_owned();
        let alone = h_solve(&one, &x.row(b).to_owned());
        assert!((&all.row(b) - &alone).iter().all(|d| d.abs() < 1e-15));
        assert_eq!(traces[b], one.diag().sum());
    }
}

macro_rules! derivatives {
    ($($name:ident)*) => {
        #[test]
        fn derivatives_to_the_second_order() {
            for n in [1, 2, 5] {
                let (a, w) = (noise(n, n, 11), vector(n, 12));
                $({
                    let check = check_grad(f64s::$name, (&a, &w)).unwrap();
                    assert!(check.agrees(1e-6), "n = {n}: {check}");
                    let (da, dw, h) = (noise(n, n, 13), vector(n, 14), 1e-5);
                    let at = |t: f64| grad(f64s::$name)(&(&a + &(t * &da)), &(&w + &(t * &dw)));
                    let ((pa, pw), (ma, mw)) = (at(h), at(-h));
                    let (ha, hw) = hvp(f64s::$name)(&a, &w, &da, &dw);
                    let one = |v: Array1<f64>| v.insert_axis(ndarray::Axis(0));
                    near(&ha, &((pa - ma) / (2.0 * h)), 1e-6);
                    near(&one(hw), &one((pw - mw) / (2.0 * h)), 1e-6);
                })*
            }
        }

        #[test]
        fn single_precision() {
            for n in [1, 4] {
                let (a, w) = (noise(n, n, 15), vector(n, 16));
                let (a32, w32) = (a.mapv(|x| x as f32), w.mapv(|x| x as f32));
                $({
                    let ((da, _), (value, (sa, _))) = (grad(f64s::$name)(&a, &w), value_and_grad(f32s::$name)(&a32, &w32));
                    assert!((f64::from(value) - f64s::$name(&a, &w)).abs() < 1e-3 * (1.0 + f64::from(value).abs()));
                    near(&sa.mapv(f64::from), &da, 5e-3);
                })*
            }
        }
    };
}

derivatives! {
    of_cholesky of_lu of_qr of_triangles of_solve of_solve_matrix of_inverse of_det of_slogdet of_lstsq of_values of_vectors of_svd
    of_expm
}

#[kernel(hvp)]
fn distances(a: [[f64; n]; m], b: [f64; n]) -> f64 {
    sum(norm(a - b))
}

#[kernel]
fn box_of(a: [f64; 3], b: [f64; 3], c: [f64; 3]) -> f64 {
    dot(a, cross(b, c))
}

#[test]
fn vectors() {
    let (a, b) = (noise(3, 4, 31), vector(4, 32));
    let of_rows: f64 = a.rows().into_iter().map(|r| (&r - &b).mapv(|x| x * x).sum().sqrt()).sum();
    assert!((distances(&a, &b) - of_rows).abs() < 1e-14);
    check_grad(distances, (&a, &b)).unwrap().assert();
    let (da, h) = (noise(3, 4, 33), 1e-5);
    let (ha, _) = hvp(distances)(&a, &b, &da, &Array1::zeros(4));
    let at = |t: f64| grad(distances)(&(&a + &(t * &da)), &b).0;
    near(&ha, &((at(h) - at(-h)) / (2.0 * h)), 1e-8);
    // A vector that is zero, or has no elements, has the length zero, and a gradient that is.
    let same = Array2::from_shape_fn((1, 4), |(_, j)| b[j]);
    assert_eq!(distances(&same, &b), 0.0);
    assert_eq!(grad(distances)(&same, &b).0, Matrix::zeros((1, 4)));
    assert_eq!(distances(&Matrix::zeros((2, 0)), &Array1::zeros(0)), 0.0);
    let [x, y, z] = [34, 35, 36].map(|seed| vector(3, seed));
    let rows = Array2::from_shape_fn((3, 3), |(i, j)| [&x, &y, &z][i][j]);
    assert!((box_of(&x, &y, &z) - h_det(&rows)).abs() < 1e-14);
    check_grad(box_of, (&x, &y, &z)).unwrap().assert();
}

#[kernel(value, grad, hvp)]
fn spectral(a: [[f64; n]; n]) -> f64 {
    let (values, x) = eigh(a);
    // A function of the matrix, not of the choice of its vectors: sum of the elements of its square.
    sum(flatten(matmul(x * (values * values), transpose(x))))
}

/// How long a vector's shadow is on the space of the two least eigenvalues: the same whichever vectors that space has.
mod shadows {
    use array_dsl::linalg::eigh;
    use array_dsl::prelude::*;

    #[kernel]
    fn shadow<T: Float>(a: [[T; n]; n], v: [T; n]) -> T {
        let (_, x) = eigh(a);
        let along = matvec(transpose(x), v);
        along[0] * along[0] + along[1] * along[1]
    }

    #[kernel(value, grad)]
    pub fn double(a: [[f64; n]; n], v: [f64; n]) -> f64 {
        shadow(a, v)
    }

    #[kernel(value, grad)]
    pub fn single(a: [[f32; n]; n], v: [f32; n]) -> f32 {
        shadow(a, v)
    }
}

/// Equal eigenvalues that rounding of f32 makes different are equal.
#[test]
fn equal_eigenvalues_in_single_precision() {
    let (q, _) = h_qr(&noise(4, 4, 41));
    let (a, v) =
        (q.dot(&Array2::from_diag(&array![1.0, 1.0, 2.0, 2.0])).dot(&q.t()), array![1.0, -0.5, 0.25, 2.0]);
    let (da, dv) = grad(shadows::double)(&a, &v);
    let (single, of) = grad(shadows::single)(&a.mapv(|x| x as f32), &v.mapv(|x| x as f32));
    near(&single.mapv(f64::from), &da, 1e-4);
    assert!((of.mapv(f64::from) - dv).iter().all(|d| d.abs() < 1e-4), "{of}");
}

#[kernel(value, grad)]
fn third(a: [[f64; n]; n], d: [[f64; n]; n]) -> f64 {
    sum(flatten(d * hvp(spectral)(a, d)))
}

/// Equal eigenvalues: what does not depend on their vectors has its derivatives.
#[test]
fn equal_eigenvalues() {
    let n = 4;
    let squares = |a: &Matrix| a + &a.t();
    let ones = Matrix::ones((n, n));
    for a in [Matrix::eye(n), Matrix::zeros((n, n)), Array2::from_diag(&array![1.0, 1.0, 2.0, 2.0])] {
        let b = squares(&a) * 0.5;
        // The derivative of the sum of the elements of b^2, by symmetric b: (1 b + b 1), where 1 is all ones.
        let (got, expected) = (grad(spectral)(&a), ones.dot(&b) + b.dot(&ones));
        assert!(got.iter().all(|x| x.is_finite()), "{got}");
        let of_values: f64 = got.diag().sum();
        assert!((of_values - expected.diag().sum()).abs() < 1e-12, "{got}\n{expected}");
    }
    // Apart: the square is a square to the third order, and its third derivative is zero.
    let (a, d) = (positive(n, 21) + Array2::from_diag(&array![0.0, 3.0, 6.0, 9.0]), noise(n, n, 22));
    let s = squares(&d) * 0.5;
    near(&hvp(spectral)(&a, &s), &(ones.dot(&s) + s.dot(&ones)), 1e-10);
    let (da, _) = grad(third)(&a, &s);
    assert!(da.iter().all(|x| x.abs() < 1e-8), "{da}");
}

#[kernel(value, grad)]
fn volume(a: [[f64; n]; n]) -> f64 {
    sum(diagonal(cholesky(a)).ln()) * 2.0 - logdet(a)
}

#[test]
fn gradients_of_determinants_are_symmetric_inverses() {
    let a = positive(5, 23);
    assert!(volume(&a).abs() < 1e-13);
    assert!(grad(volume)(&a).iter().all(|x| x.abs() < 1e-13));
}

#[test]
fn matrices_without_factors() {
    assert!(h_cholesky(&array![[1.0, 2.0], [2.0, 1.0]]).iter().any(|x| x.is_nan()));
    assert!(h_solve(&array![[1.0, 2.0], [2.0, 4.0]], &array![1.0, 1.0]).iter().any(|x| !x.is_finite()));
    let (values, x) = h_eigh(&array![[f64::NAN, 1.0], [1.0, 0.0]]);
    assert!(values.iter().any(|v| v.is_nan()) && x.len() == 4, "and it ends");
    let (_, s, _) = h_svd(&array![[1.0, 1.0], [1.0, 1.0]]);
    assert!((s[0] - 2.0).abs() < 1e-15 && s[1].abs() < 1e-15, "{s}");
    let (values, _) = h_single(&array![[2.0, 1.0], [1.0, 2.0]]);
    assert!((values[0] - 1.0).abs() < 1e-6 && (values[1] - 3.0).abs() < 1e-6);
    // Sizes are the signature's.
    let error = Cpu.run(h_cholesky, (&Matrix::zeros((2, 3)),)).unwrap_err().to_string();
    assert!(error.contains("argument `a`, dimension 1"), "{error}");
}
