//! Which directions can be taken together, so that few products give all entries of a sparse matrix.
//!
//! Columns of one **color** are added up in one product `J s`, where the seed `s` has ones at them. An entry `(i, j)` can be
//! read from it if no other column of that color has an entry in row `i`:
//!
//! ```text
//! columns     J[i, j] = (J s_c)[i]             c = color of j;  columns that share a row have different colors
//! rows        J[i, j] = (s_c J)[j]             c = color of i;  rows that share a column have different colors
//! symmetric   H[i, j] = (H s_c)[i] or (H s_d)[j]                c = color of j, d = color of i
//! ```
//!
//! The last needs fewer colors: neighbors in the graph of `H` have different ones, and no path of four has only two (a **star
//! coloring**). Then of the two products one has the entry alone: if `i` had a second neighbor `j'` of `j`'s color, and `j` a second
//! neighbor `i'` of `i`'s, then `j' i j i'` would be such a path.
//!
//! Colors are given greedily, the first that fits, in the given order and by falling number of neighbors; the better one is kept.

use std::collections::HashMap;

use super::{SparseMatrix, Sparsity};

/// What the seeds are multiplied with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A seed has a number for each column: products `J s`, by forward mode.
    Columns,
    /// A seed has a number for each row: products `s J`, by reverse mode.
    Rows,
}

/// The color of what has no entry.
const NONE: usize = usize::MAX;

/// Seeds for a sparsity pattern, and where in the products its entries are.
///
/// [`sparse_jacobian`](super::sparse_jacobian) and [`sparse_hessian`](super::sparse_hessian) do all of this; by hand, as for
/// products that were computed on a GPU:
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl::{Coloring, Sparsity};
/// use ndarray::Array1;
///
/// #[kernel]
/// fn differences(x: [f64; n]) -> [f64; n - 1] {
///     build(n - 1, |i| (x[i + 1] - x[i]).powi(2))
/// }
///
/// let x = Array1::linspace(0.0, 1.0, 9);
/// let coloring = Coloring::columns(&Sparsity::banded(8, 9, 0, 1));
/// assert_eq!(coloring.colors(), 2);
/// let products = (0..2).map(|c| jvp(differences)(&x, &Array1::from(coloring.seed(c))).1.to_vec());
/// let jacobian = coloring.recover(products).expect("products of the right length");
/// assert_eq!((jacobian.rows[1], jacobian.columns[1], jacobian.values[1]), (0, 1, 0.25));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloring {
    pattern: Sparsity,
    side: Side,
    colors: usize,
    /// The color of each column or row.
    color: Vec<usize>,
    /// For each color, the entries that its product has: their position in the pattern, and in the product.
    found: Vec<Vec<(usize, usize)>>,
}

impl Coloring {
    /// Groups columns; for any matrix.
    #[must_use]
    pub fn columns(pattern: &Sparsity) -> Coloring {
        let color = apart(pattern);
        let sources = pattern.iter().map(|(i, j)| (color[j], i)).collect();
        Coloring::new(pattern, Side::Columns, color, sources)
    }

    /// Groups rows; for any matrix.
    #[must_use]
    pub fn rows(pattern: &Sparsity) -> Coloring {
        let color = apart(&pattern.transposed());
        let sources = pattern.iter().map(|(i, j)| (color[i], j)).collect();
        Coloring::new(pattern, Side::Rows, color, sources)
    }

    /// Groups columns or rows, whichever gives fewer groups.
    #[must_use]
    pub fn smaller(pattern: &Sparsity) -> Coloring {
        let (columns, rows) = (Coloring::columns(pattern), Coloring::rows(pattern));
        if rows.colors < columns.colors { rows } else { columns }
    }

    /// Groups columns of a symmetric matrix. The pattern may have both places of an entry or one of them. If it is not that of a
    /// square matrix, this is [`Coloring::columns`].
    #[must_use]
    pub fn symmetric(pattern: &Sparsity) -> Coloring {
        if pattern.rows() != pattern.columns() {
            return Coloring::columns(pattern);
        }
        // The products have the entries on both sides, also where the pattern names one of them.
        let graph = pattern.symmetric();
        let color = apart(&graph);
        let sources = pattern.iter().map(|(i, j)| (color[j], i)).collect();
        let columns = Coloring::new(pattern, Side::Columns, color, sources);
        let color = fewest(orders(&graph).map(|order| stars(&graph, &order)));
        let near = near(&graph, &color);
        let alone = |i: usize, c: usize| near.get(&(i, c)).is_some_and(|n| *n == 1);
        let source = |(i, j): (usize, usize)| match i == j || alone(i, color[j]) {
            true => (color[j], i),
            false => (color[i], j),
        };
        let sources = pattern.iter().map(source).collect();
        let star = Coloring::new(pattern, Side::Columns, color, sources);
        if columns.colors < star.colors { columns } else { star }
    }

    /// With the colors that some entry is read from. `sources` are the color and the position in its product for each entry.
    fn new(pattern: &Sparsity, side: Side, mut color: Vec<usize>, sources: Vec<(usize, usize)>) -> Coloring {
        let mut used: Vec<usize> = sources.iter().map(|s| s.0).collect();
        used.sort_unstable();
        used.dedup();
        let mut found = vec![Vec::new(); used.len()];
        for (entry, (c, at)) in sources.iter().enumerate() {
            if let Ok(c) = used.binary_search(c) {
                found[c].push((entry, *at));
            }
        }
        color.iter_mut().for_each(|c| *c = used.binary_search(c).unwrap_or(NONE));
        Coloring { pattern: pattern.clone(), side, colors: used.len(), color, found }
    }

    /// How many products it takes.
    pub fn colors(&self) -> usize {
        self.colors
    }

    /// Whether seeds are multiplied with columns or rows.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The pattern.
    pub fn pattern(&self) -> &Sparsity {
        &self.pattern
    }

    /// The color of a column (of a row, if these are grouped), unless nothing is read from its product.
    pub fn color(&self, of: usize) -> Option<usize> {
        self.color.get(of).copied().filter(|c| *c != NONE)
    }

    /// The seed of a color: one for each column (row) of that color, else zero.
    pub fn seed(&self, color: usize) -> Vec<f64> {
        self.color.iter().map(|c| if *c == color && color < self.colors { 1.0 } else { 0.0 }).collect()
    }

    /// The matrix from its products with all seeds, in order. `None` if one is missing or of another length.
    pub fn recover(&self, products: impl IntoIterator<Item = Vec<f64>>) -> Option<SparseMatrix> {
        let mut products = products.into_iter();
        let mut matrix = SparseMatrix::zeros(&self.pattern);
        for color in 0..self.colors {
            self.read(color, &products.next()?, &mut matrix)?;
        }
        Some(matrix)
    }

    /// Takes what a color's product has.
    pub(super) fn read(&self, color: usize, product: &[f64], matrix: &mut SparseMatrix) -> Option<()> {
        if product.len() != self.product_len() {
            return None;
        }
        self.found[color].iter().for_each(|(entry, at)| matrix.values[*entry] = product[*at]);
        Some(())
    }

    /// The length of a product.
    pub(super) fn product_len(&self) -> usize {
        match self.side {
            Side::Columns => self.pattern.rows(),
            Side::Rows => self.pattern.columns(),
        }
    }
}

/// The number of colors.
fn count(color: &[usize]) -> usize {
    color.iter().filter(|c| **c != NONE).max().map_or(0, |c| c + 1)
}

fn fewest(colorings: impl Iterator<Item = Vec<usize>>) -> Vec<usize> {
    colorings.min_by_key(|c| count(c)).unwrap_or_default()
}

/// The rows of a pattern as they are, and the fullest first.
fn orders(pattern: &Sparsity) -> impl Iterator<Item = Vec<usize>> {
    let natural: Vec<usize> = (0..pattern.rows()).filter(|i| !pattern.row(*i).is_empty()).collect();
    let mut full = natural.clone();
    full.sort_by_key(|i| std::cmp::Reverse(pattern.row(*i).len()));
    [natural, full].into_iter()
}

/// The first color that is not among those marked with `by`.
fn first_free(marks: &mut Vec<usize>, by: usize) -> usize {
    let free = marks.iter().position(|m| *m != by).unwrap_or(marks.len());
    if free == marks.len() {
        marks.push(NONE);
    }
    free
}

/// Colors of columns, different for those that share a row.
fn apart(pattern: &Sparsity) -> Vec<usize> {
    let by_column = pattern.transposed();
    let greedy = |order: Vec<usize>| {
        let mut color = vec![NONE; pattern.columns()];
        // For each color, the last column that could not have it.
        let mut marks: Vec<usize> = Vec::new();
        for j in order {
            for c in by_column.row(j).iter().flat_map(|i| pattern.row(*i)).map(|k| color[*k]) {
                if c != NONE {
                    marks[c] = j;
                }
            }
            color[j] = first_free(&mut marks, j);
        }
        color
    };
    fewest(orders(&by_column).map(greedy))
}

/// How many neighbors of a vertex have a color.
type Near = HashMap<(usize, usize), usize>;

fn near(graph: &Sparsity, color: &[usize]) -> Near {
    let mut near = Near::new();
    for (i, j) in graph.iter().filter(|(i, j)| i != j && color[*j] != NONE) {
        *near.entry((i, color[j])).or_default() += 1;
    }
    near
}

/// A star coloring of a graph. A color `c` does not fit a vertex `v` if a neighbor has it, or if there is a path `v w x` of
/// colors `c a c` that a fourth vertex of color `a` continues at one of its ends.
fn stars(graph: &Sparsity, order: &[usize]) -> Vec<usize> {
    let mut color = vec![NONE; graph.rows()];
    let mut near = Near::new();
    let mut marks: Vec<usize> = Vec::new();
    for &v in order {
        for &w in graph.row(v).iter().filter(|w| **w != v && color[**w] != NONE) {
            let a = color[w];
            marks[a] = v;
            let second = |near: &Near, u: usize| near.get(&(u, a)).is_some_and(|n| *n > 1);
            let at_start = second(&near, v);
            for &x in graph.row(w).iter().filter(|x| **x != v && **x != w && color[**x] != NONE) {
                if at_start || second(&near, x) {
                    marks[color[x]] = v;
                }
            }
        }
        let c = first_free(&mut marks, v);
        color[v] = c;
        graph.row(v).iter().filter(|w| **w != v).for_each(|w| *near.entry((*w, c)).or_default() += 1);
    }
    color
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
