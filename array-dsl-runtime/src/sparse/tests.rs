use proptest::prelude::*;

use super::*;

fn places(rows: usize, columns: usize, list: &[(usize, usize)]) -> Sparsity {
    Sparsity::from_entries(rows, columns, list.iter().copied()).expect("inside")
}

fn star(n: usize) -> Sparsity {
    let all = (0..n).flat_map(|i| [(i, i), (0, i), (i, 0)]);
    Sparsity::from_entries(n, n, all).expect("inside")
}

#[test]
fn known_numbers_of_colors() {
    for n in [3, 4, 10, 1000] {
        let band = Sparsity::banded(n, n, 1, 1);
        assert_eq!(Coloring::columns(&band).colors(), 3);
        assert_eq!(Coloring::smaller(&band).colors(), 3);
        // A path of three is no path of four.
        assert_eq!(Coloring::symmetric(&band).colors(), if n == 3 { 2 } else { 3 });
        // A diagonal and one full row, or column: take the other side.
        let full_row: Vec<(usize, usize)> = (0..n).flat_map(|i| [(i, i), (0, i)]).collect();
        let full_column: Vec<(usize, usize)> = full_row.iter().map(|(i, j)| (*j, *i)).collect();
        let (rows, columns) =
            (Coloring::smaller(&places(n, n, &full_row)), Coloring::smaller(&places(n, n, &full_column)));
        assert_eq!((rows.side(), rows.colors()), (Side::Rows, 2));
        assert_eq!((columns.side(), columns.colors()), (Side::Columns, 2));
        assert_eq!(Coloring::symmetric(&star(n)).colors(), 2);
        assert_eq!(Coloring::columns(&star(n)).colors(), n);
        assert_eq!(Coloring::symmetric(&Sparsity::banded(n, n, 0, 0)).colors(), 1);
    }
    assert_eq!(Coloring::columns(&Sparsity::banded(100, 100, 3, 2)).colors(), 6);
    assert_eq!(Coloring::columns(&Sparsity::banded(7, 4, 9, 9)).colors(), 4);
    assert_eq!(Coloring::smaller(&Sparsity::banded(2, 40, 9, 40)).side(), Side::Rows);
}

#[test]
fn patterns_without_places_have_no_colors() {
    for (rows, columns) in [(0, 0), (3, 0), (0, 3), (3, 3)] {
        let empty = places(rows, columns, &[]);
        for coloring in [Coloring::columns(&empty), Coloring::rows(&empty), Coloring::symmetric(&empty)] {
            assert_eq!(coloring.colors(), 0);
            let matrix = coloring.recover([]).expect("nothing to read");
            assert_eq!((matrix.shape, matrix.values.len()), ((rows, columns), 0));
        }
    }
}

#[test]
fn patterns_refuse_what_is_outside_and_merge_what_comes_again() {
    let error = Sparsity::from_entries(2, 3, [(1, 2), (2, 0)]).expect_err("row 2 of 2");
    assert_eq!(
        error.to_string(),
        "sparsity pattern: place (2, 0) is outside a matrix of 2 rows and 3 columns"
    );
    let pattern = places(2, 3, &[(1, 2), (0, 1), (1, 2), (1, 0)]);
    assert_eq!(pattern.iter().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2)]);
    assert_eq!(pattern.row_starts(), [0, 1, 3]);
    assert_eq!(pattern.transposed().transposed(), pattern);
    assert_eq!(Sparsity::of_matrix(&ndarray::array![[0.0, f64::NAN, 0.0], [1.0, 0.0, 2.0]]), pattern);
    assert_eq!(Sparsity::banded(3, 3, usize::MAX, 0).len(), 6);
    assert_eq!(Sparsity::banded(5, 2, 1, 0).iter().collect::<Vec<_>>(), [(0, 0), (1, 0), (1, 1), (2, 1)]);
}

#[test]
fn products_of_another_length_are_refused() {
    let coloring = Coloring::columns(&Sparsity::banded(3, 2, 0, 0));
    assert_eq!(coloring.recover([vec![1.0, 2.0, 0.0]]).expect("three rows").values, [1.0, 2.0]);
    assert!(coloring.recover([vec![1.0, 2.0]]).is_none());
    assert!(coloring.recover([]).is_none());
    assert_eq!(coloring.seed(7), [0.0, 0.0]);
}

/// Recovers a matrix of distinct numbers from its products.
fn recovered(coloring: &Coloring, matrix: &SparseMatrix) -> SparseMatrix {
    let dense = matrix.to_dense();
    let products = (0..coloring.colors()).map(|c| {
        let seed = ndarray::Array1::from(coloring.seed(c));
        match coloring.side() {
            Side::Columns => dense.dot(&seed).to_vec(),
            Side::Rows => dense.t().dot(&seed).to_vec(),
        }
    });
    coloring.recover(products).expect("products of the right length")
}

fn numbered(pattern: &Sparsity, number: impl Fn(usize, usize) -> usize) -> SparseMatrix {
    let mut matrix = SparseMatrix::zeros(pattern);
    for (k, (i, j)) in pattern.iter().enumerate() {
        matrix.values[k] = (number(i, j) + 1) as f64;
    }
    matrix
}

fn random_places(most: usize) -> impl Strategy<Value = (usize, usize, Vec<(usize, usize)>)> {
    (1..12usize, 1..12usize)
        .prop_flat_map(move |(n, m)| (Just(n), Just(m), proptest::collection::vec((0..n, 0..m), 0..most)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // No two columns of one color share a row, no two rows a column; and the entries come back.
    #[test]
    fn columns_and_rows_of_one_color_share_nothing((n, m, list) in random_places(40)) {
        let pattern = places(n, m, &list);
        let (columns, rows) = (Coloring::columns(&pattern), Coloring::rows(&pattern));
        for i in 0..n {
            for (k, a) in pattern.row(i).iter().enumerate() {
                prop_assert!(columns.color(*a).is_some());
                prop_assert!(rows.color(i).is_some());
                for b in &pattern.row(i)[k + 1..] {
                    prop_assert_ne!(columns.color(*a), columns.color(*b));
                }
            }
        }
        for (i, a) in pattern.iter() {
            for (j, _) in pattern.iter().filter(|(j, b)| *b == a && *j != i) {
                prop_assert_ne!(rows.color(i), rows.color(j));
            }
        }
        let full = (0..n).map(|i| pattern.row(i).len()).max().unwrap_or(0);
        prop_assert!(columns.colors() >= full && columns.colors() <= m);
        let matrix = numbered(&pattern, |i, j| i * m + j);
        prop_assert_eq!(&recovered(&columns, &matrix), &matrix);
        prop_assert_eq!(&recovered(&rows, &matrix), &matrix);
        prop_assert!(Coloring::smaller(&pattern).colors() <= columns.colors().min(rows.colors()));
    }

    // By definition: neighbors differ, and no path of four has two colors only.
    #[test]
    fn star_colorings_have_no_path_of_four_in_two_colors((n, _, list) in random_places(30)) {
        let list: Vec<(usize, usize)> = list.into_iter().map(|(i, j)| (i, j % n)).collect();
        let graph = places(n, n, &list).symmetric();
        for order in orders(&graph) {
            let color = stars(&graph, &order);
            for (v, w) in graph.iter().filter(|(v, w)| v != w) {
                prop_assert_ne!(color[v], color[w]);
                for x in graph.row(w).iter().filter(|x| **x != w && **x != v && color[**x] == color[v]) {
                    let longer = graph.row(*x).iter().any(|y| ![v, w, *x].contains(y) && color[*y] == color[w]);
                    prop_assert!(!longer, "{:?} {:?}", graph, color);
                }
            }
        }
    }

    // From both places of each entry, from one of them, with or without a diagonal.
    #[test]
    fn symmetric_matrices_come_back((n, _, list) in random_places(30)) {
        let list: Vec<(usize, usize)> = list.into_iter().map(|(i, j)| (i, j % n)).collect();
        let some = places(n, n, &list);
        let all = some.symmetric();
        let number = |i: usize, j: usize| i.min(j) * n + i.max(j);
        let whole = numbered(&all, number);
        for pattern in [&some, &all] {
            let coloring = Coloring::symmetric(pattern);
            prop_assert!(coloring.colors() <= Coloring::columns(&all).colors());
            let dense = whole.to_dense();
            let products = (0..coloring.colors()).map(|c| dense.dot(&ndarray::Array1::from(coloring.seed(c))).to_vec());
            let found = coloring.recover(products).expect("products of the right length");
            prop_assert_eq!(found, numbered(pattern, number));
        }
    }
}
