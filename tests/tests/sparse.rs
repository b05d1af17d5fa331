//! Sparse Jacobians and Hessians against dense ones.

use array_dsl::prelude::*;
use array_dsl::{Coloring, Error, Side, SparseMatrix, Sparsity, sparse_hessian, sparse_jacobian};
use ndarray::{Array1, Array2, Axis, array};

#[kernel(jacobian)]
fn tridiagonal(u: [f64; n]) -> [f64; n] {
    build(n, |i| {
        let left = if i > 0 { u[i - 1] } else { 0.0 };
        let right = if i + 1 < n { u[i + 1] } else { 0.0 };
        left * right - u[i].sin() * left + right.exp()
    })
}

/// Row `i` has columns `i - 3 ..= i + 1`.
#[kernel(jacobian)]
fn banded(u: [f32; n]) -> [f32; n] {
    build(n, |i| {
        let mut s = u[i] * u[i];
        for k in 1..4 {
            if i >= k {
                s += u[i - k] * u[i] / k as f32;
            }
        }
        if i + 1 < n { s * u[i + 1] } else { s }
    })
}

/// The first result has all variables, the others one each.
#[kernel(jacobian)]
fn arrow(u: [f64; n]) -> (f64, [f64; n]) {
    (prod(u), u * u)
}

/// Places that data decide.
#[kernel(jacobian)]
fn gathered(x: [f64; n], from: [[i64; k]; m], #[no_grad] w: [f64; m]) -> [f64; m] {
    build(m, |i| w[i] * prod(build(k, |j| x[from[i][j]].sin())))
}

#[kernel(jacobian)]
fn pair(x: [[f64; m]; n], s: f64) -> ([f64; m], [[f64; m]; n]) {
    (build(m, |j| s * x[0][j] * x[n - 1][j]), x * x)
}

#[kernel(hvp, hessian)]
fn star(x: [f64; n]) -> f64 {
    sum(build(n, |i| (x[0] * x[i]).sin() * x[i]))
}

#[kernel(hvp, hessian)]
fn chain(x: [f64; n], w: [f64; n]) -> f64 {
    sum(build(n - 1, |i| (x[i + 1] - x[i] * x[i]).powi(2))) + sum(x * w * w)
}

#[kernel(hvp, hessian)]
fn products(x: [f64; n], #[no_grad] pairs: [[i64; 2]; m]) -> f64 {
    sum(build(m, |k| (x[pairs[k][0]] * x[pairs[k][1]]).exp()))
}

fn numbers(n: usize) -> Array1<f64> {
    (0..n).map(|i| (i as f64 * 1.7).sin() * 0.8 + 0.1).collect()
}

/// Whether the sparse matrix has the places of the pattern, and the values of the dense one everywhere.
fn same(sparse: &SparseMatrix, pattern: &Sparsity, dense: &Array2<f64>) {
    assert!(sparse.rows.iter().copied().zip(sparse.columns.iter().copied()).eq(pattern.iter()));
    assert_eq!(sparse.row_starts, pattern.row_starts());
    let found = sparse.to_dense();
    assert_eq!(found.shape(), dense.shape());
    for (at, x) in dense.indexed_iter() {
        assert!((x - found[at]).abs() <= 1e-6 * (1.0 + x.abs()), "{at:?}: {} and {x}", found[at]);
    }
}

#[test]
fn bands() {
    for n in [1, 2, 3, 10, 33] {
        let (u, pattern) = (numbers(n), Sparsity::banded(n, n, 1, 1));
        let sparse = sparse_jacobian(tridiagonal, &pattern);
        assert_eq!(sparse.colors(), 3.min(n));
        same(&sparse(&u), &pattern, &jacobian(tridiagonal)(&u));
        let (u, pattern) = (u.mapv(|x| x as f32), Sparsity::banded(n, n, 3, 1));
        let sparse = sparse_jacobian(banded, &pattern);
        assert_eq!(sparse.colors(), 5.min(n));
        same(&sparse(&u), &pattern, &jacobian(banded)(&u).mapv(f64::from));
    }
}

// Forward mode where columns are fewer, reverse mode where rows are.
#[test]
fn the_side_with_fewer_colors_is_taken() {
    let n = 8;
    let u = numbers(n);
    let places = (0..n).flat_map(|j| [(0, j), (j + 1, j)]);
    let pattern = Sparsity::from_entries(n + 1, n, places).expect("inside");
    let sparse = sparse_jacobian(arrow, &pattern);
    assert_eq!((sparse.coloring().side(), sparse.colors()), (Side::Rows, 2));
    assert_eq!(Coloring::columns(&pattern).colors(), n);
    let (first, others) = jacobian(arrow)(&u);
    let dense = ndarray::concatenate![Axis(0), first.insert_axis(Axis(0)), others];
    same(&sparse(&u), &pattern, &dense);
}

#[test]
fn several_arguments_and_results_follow_each_other() {
    let (n, m) = (3, 4);
    let (x, s) = (numbers(n * m).into_shape_with_order((n, m)).expect("n m numbers"), 0.7);
    let mut places = Vec::new();
    for j in 0..m {
        places.extend([(j, j), (j, (n - 1) * m + j), (j, n * m)]);
    }
    places.extend((0..n * m).map(|k| (m + k, k)));
    let pattern = Sparsity::from_entries(m + n * m, n * m + 1, places).expect("inside");
    let ((top_x, top_s), (low_x, low_s)) = jacobian(pair)(&x, s);
    let top_x = top_x.into_shape_with_order((m, n * m)).expect("two dimensions in one");
    let low_x = low_x.into_shape_with_order((n * m, n * m)).expect("two dimensions in one");
    let low_s = low_s.into_shape_with_order(n * m).expect("two dimensions in one");
    let dense = ndarray::concatenate![
        Axis(0),
        ndarray::concatenate![Axis(1), top_x, top_s.insert_axis(Axis(1))],
        ndarray::concatenate![Axis(1), low_x, low_s.insert_axis(Axis(1))]
    ];
    let sparse = sparse_jacobian(pair, &pattern);
    same(&sparse(&x, s), &pattern, &dense);
    assert_eq!(sparse.run((&x, s)).expect("it runs"), sparse(&x, s));
}

/// Numbers below `below` without a pattern.
fn random(state: &mut u64, below: usize) -> i64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % below as u64) as i64
}

#[test]
fn random_patterns() {
    let mut state = 7;
    for (n, m, k) in [(1, 1, 1), (5, 9, 2), (20, 12, 3), (40, 40, 2), (6, 0, 2), (9, 30, 1)] {
        let from = Array2::from_shape_simple_fn((m, k), || random(&mut state, n));
        let (x, w) = (numbers(n), numbers(m));
        let places = from.indexed_iter().map(|((i, _), j)| (i, *j as usize));
        let pattern = Sparsity::from_entries(m, n, places).expect("inside");
        let sparse = sparse_jacobian(gathered, &pattern);
        same(&sparse(&x, &from, &w), &pattern, &jacobian(gathered)(&x, &from, &w));

        let pairs = Array2::from_shape_simple_fn((m, 2), || random(&mut state, n));
        let places = pairs.outer_iter().flat_map(|p| {
            let (a, b) = (p[0] as usize, p[1] as usize);
            [(a, b), (b, a), (a, a), (b, b)]
        });
        let pattern = Sparsity::from_entries(n, n, places).expect("inside");
        let sparse = sparse_hessian(products, &pattern);
        same(&sparse(&x, &pairs), &pattern, &hessian(products)(&x, &pairs));
    }
}

#[test]
fn hessians() {
    let n = 9;
    let x = numbers(n);
    let places = (0..n).flat_map(|i| [(i, i), (0, i), (i, 0)]);
    let pattern = Sparsity::from_entries(n, n, places).expect("inside");
    let sparse = sparse_hessian(star, &pattern);
    assert_eq!(sparse.colors(), 2);
    let dense = hessian(star)(&x);
    same(&sparse(&x), &pattern, &dense);
    // What is not zero, found where nothing is zero by chance; the pattern of a smaller problem or another point.
    assert_eq!(Sparsity::of_matrix(&dense), pattern);

    // Two arguments, each entry from one side of the diagonal.
    let w = x.mapv(|x| x + 0.5);
    let places = (0..n).flat_map(|i| {
        let along = (i + 1 < n).then_some((i + 1, i));
        [Some((i, i)), Some((n + i, i)), Some((n + i, n + i)), along].into_iter().flatten()
    });
    let pattern = Sparsity::from_entries(2 * n, 2 * n, places).expect("inside");
    let sparse = sparse_hessian(chain, &pattern);
    assert!(sparse.colors() <= 4, "{}", sparse.colors());
    let ((xx, xw), (wx, ww)) = hessian(chain)(&x, &w);
    let dense = ndarray::concatenate![
        Axis(0),
        ndarray::concatenate![Axis(1), xx, xw],
        ndarray::concatenate![Axis(1), wx, ww]
    ];
    let lower = Array2::from_shape_fn(dense.raw_dim(), |(i, j)| if i >= j { dense[[i, j]] } else { 0.0 });
    same(&sparse(&x, &w), &pattern, &lower);
}

#[test]
fn patterns_that_do_not_fit_are_errors() {
    let u = numbers(4);
    let error =
        sparse_jacobian(tridiagonal, &Sparsity::banded(4, 5, 1, 1)).run((&u,)).expect_err("5 columns");
    assert_eq!(
        error.to_string(),
        "kernel `tridiagonal`: the sparsity pattern has 4 rows and 5 columns, but the Jacobian has 4 and 4: all entries of \
         the float results, and of the arguments without `#[no_grad]`, count"
    );
    let error = sparse_hessian(star, &Sparsity::banded(3, 4, 1, 1)).run((&u,)).expect_err("3 rows");
    assert!(matches!(error, Error::PatternShape { matrix: "Hessian", expected: (4, 4), .. }), "{error}");
    assert!(matches!(Sparsity::from_entries(2, 2, [(2, 0)]), Err(Error::Pattern { .. })));
    // Errors of the kernel come through.
    let pattern = Sparsity::banded(1, 2, 0, 1);
    let error = sparse_jacobian(gathered, &pattern).run((&array![1.0, 2.0], &array![[5]], &array![1.0]));
    assert!(matches!(error, Err(Error::IndexOutOfRange { index: 5, .. })), "{error:?}");
}

#[test]
fn nothing_to_compute() {
    let empty = |rows, columns| Sparsity::from_entries(rows, columns, []).expect("nothing is outside");
    let sparse = sparse_jacobian(tridiagonal, &empty(3, 3));
    assert_eq!(sparse.colors(), 0);
    assert_eq!(sparse(&numbers(3)).to_dense(), Array2::<f64>::zeros((3, 3)));
    assert!(sparse.run((&numbers(2),)).is_err(), "the shape is checked all the same");
    assert_eq!(sparse_jacobian(tridiagonal, &empty(0, 0))(&numbers(0)).shape, (0, 0));
    assert_eq!(sparse_hessian(star, &empty(3, 3))(&numbers(3)).values, [0.0; 0]);
}

#[test]
fn a_value_may_be_kept_and_used_by_several_threads() {
    let pattern = Sparsity::banded(50, 50, 1, 1);
    let sparse = sparse_jacobian(tridiagonal, &pattern);
    let expected = sparse(&numbers(50));
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| assert_eq!(sparse(&numbers(50)), expected));
        }
    });
    // The pattern is believed: what stands where it has no place is added to another entry of its color.
    let diagonal = sparse_jacobian(tridiagonal, &Sparsity::banded(50, 50, 0, 0));
    assert_eq!(diagonal.colors(), 1);
    assert_ne!(diagonal(&numbers(50)).values[5], expected.to_dense()[[5, 5]]);
}
