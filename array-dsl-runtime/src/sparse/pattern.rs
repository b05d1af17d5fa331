//! Where a matrix may have entries that are not zero.

use ndarray::{ArrayRef2, Axis};

use crate::Error;

/// The places of a matrix where it may differ from zero, row by row.
///
/// What is not in the pattern of a Jacobian or Hessian is taken for zero **without being looked at**: a pattern may have more
/// places than needed, which costs time, but where one is missing the result is wrong.
///
/// ```
/// use array_dsl::Sparsity;
///
/// let arrow = Sparsity::from_entries(3, 3, [(0, 0), (1, 1), (2, 2), (1, 0), (2, 0)])?;
/// assert_eq!((arrow.rows(), arrow.columns(), arrow.len()), (3, 3, 5));
/// assert!(Sparsity::from_entries(3, 3, [(0, 3)]).is_err());
/// assert_eq!(Sparsity::banded(4, 4, 1, 1).len(), 10);
/// # Ok::<(), array_dsl::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparsity {
    columns: usize,
    /// Where each row begins in `entries`, and where the last one ends.
    starts: Vec<usize>,
    /// The columns of each row, ascending.
    entries: Vec<usize>,
}

impl Sparsity {
    /// A pattern of `(row, column)` places in any order; a place that comes again counts once.
    ///
    /// # Errors
    /// [`Error::Pattern`] for a place outside the matrix.
    pub fn from_entries(
        rows: usize,
        columns: usize,
        entries: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Sparsity, Error> {
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (i, j) in entries {
            if i >= rows || j >= columns {
                let message =
                    format!("place ({i}, {j}) is outside a matrix of {rows} rows and {columns} columns");
                return Err(Error::Pattern { message });
            }
            places.push((i, j));
        }
        places.sort_unstable();
        places.dedup();
        Ok(Sparsity::of_sorted(rows, columns, &places))
    }

    /// From places inside the matrix, in order and each once.
    fn of_sorted(rows: usize, columns: usize, places: &[(usize, usize)]) -> Sparsity {
        let mut starts = vec![0; rows + 1];
        places.iter().for_each(|(i, _)| starts[i + 1] += 1);
        (0..rows).for_each(|i| starts[i + 1] += starts[i]);
        Sparsity { columns, starts, entries: places.iter().map(|p| p.1).collect() }
    }

    /// The diagonal with so many diagonals below and above it: places `(i, j)` with `i - below <= j <= i + above`.
    #[must_use]
    pub fn banded(rows: usize, columns: usize, below: usize, above: usize) -> Sparsity {
        let row = |i: usize| {
            i.saturating_sub(below).min(columns)..i.saturating_add(above).saturating_add(1).min(columns)
        };
        let places: Vec<(usize, usize)> = (0..rows).flat_map(|i| row(i).map(move |j| (i, j))).collect();
        Sparsity::of_sorted(rows, columns, &places)
    }

    /// Where a matrix differs from zero (NaN does): say, a dense Jacobian at a point without symmetry. An entry that is zero
    /// there by chance is missing, so take only what no point makes zero.
    #[must_use]
    pub fn of_matrix<T: Copy + Default + PartialEq>(matrix: &ArrayRef2<T>) -> Sparsity {
        let nonzero = |((i, j), x): ((usize, usize), &T)| (*x != T::default()).then_some((i, j));
        let places: Vec<(usize, usize)> = matrix.indexed_iter().filter_map(nonzero).collect();
        Sparsity::of_sorted(matrix.len_of(Axis(0)), matrix.len_of(Axis(1)), &places)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no place.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The columns of a row, ascending. Panics if there is no such row.
    pub fn row(&self, row: usize) -> &[usize] {
        &self.entries[self.starts[row]..self.starts[row + 1]]
    }

    /// All places, row by row.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.rows()).flat_map(|i| self.row(i).iter().map(move |j| (i, *j)))
    }

    /// Where each row begins among the places, and where the last one ends.
    pub fn row_starts(&self) -> &[usize] {
        &self.starts
    }

    /// Rows as columns.
    #[must_use]
    pub fn transposed(&self) -> Sparsity {
        let mut places: Vec<(usize, usize)> = self.iter().map(|(i, j)| (j, i)).collect();
        places.sort_unstable();
        Sparsity::of_sorted(self.columns, self.rows(), &places)
    }

    /// With the places on the other side of the diagonal; the matrix is square.
    pub(super) fn symmetric(&self) -> Sparsity {
        let mut places: Vec<(usize, usize)> = self.iter().flat_map(|(i, j)| [(i, j), (j, i)]).collect();
        places.sort_unstable();
        places.dedup();
        Sparsity::of_sorted(self.rows(), self.columns, &places)
    }
}
