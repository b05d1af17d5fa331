//! Steps for some rows at a time: few, so that there are several bands, of which the last one is shorter, and from the last to the first.
//! Where a band has a fault, once more for all rows.

use super::Machine;
use crate::bulk::Reducer;
use crate::loops::{Bands, Handed};
use crate::value::{Fault, Scalar, combine};

/// The rows of a band.
const ROWS: usize = 3;

impl Machine<'_> {
    pub(super) fn bands(&mut self, b: &Bands) -> Result<(), Fault> {
        let total = self.trips(&b.total)?;
        match self.in_bands(b, total, ROWS) {
            Err(fault) if total > ROWS && !matches!(fault, Fault::Internal { .. } | Fault::Exhausted) => {
                self.fault = None;
                self.in_bands(b, total, total)
            }
            done => done,
        }
    }

    /// In bands of so many rows.
    fn in_bands(&mut self, b: &Bands, total: usize, most: usize) -> Result<(), Fault> {
        for h in &b.made {
            let elements = self.shape(h.outside)?.iter().product();
            self.set(h.outside, vec![None; elements]);
        }
        let mut sums: Vec<Option<Vec<Scalar>>> = vec![None; b.sums.len()];
        for band in (0..total.div_ceil(most.max(1)).max(1)).rev() {
            let (first, rows) = (band * most, most.min(total - band * most));
            self.set(b.first, vec![Some(Scalar::I64(first as i64))]);
            self.set(b.rows, vec![Some(Scalar::I64(rows as i64))]);
            for h in &b.read {
                let range = self.rows_of(h, first, rows)?;
                let root = self.root(h.outside);
                let undefined = || Fault::internal(format!("array {} is used before it is written", root.0));
                let all = self.memory[root.0 as usize].as_ref().ok_or_else(undefined)?;
                let rows =
                    all.get(range).ok_or_else(|| Fault::internal("a band outside of its array"))?.to_vec();
                self.set(h.inside, rows);
            }
            b.steps.iter().try_for_each(|s| self.step(s))?;
            for h in &b.made {
                let range = self.rows_of(h, first, rows)?;
                let made = self.whole(h.inside)?;
                let root = self.root(h.outside);
                let all = self.memory[root.0 as usize].as_mut();
                let to = all.and_then(|all| all.get_mut(range));
                let to = to.ok_or_else(|| Fault::internal("a band outside of its array"))?;
                to.iter_mut().zip(made.data()).for_each(|(to, x)| *to = Some(*x));
            }
            for (h, sum) in b.sums.iter().zip(&mut sums) {
                let addend = self.whole(h.inside)?;
                *sum = Some(match sum.take() {
                    None => addend.data().to_vec(),
                    Some(sum) => {
                        let pairs = sum.into_iter().zip(addend.data());
                        pairs.map(|(x, y)| combine(Reducer::Add, x, *y)).collect::<Result<_, _>>()?
                    }
                });
            }
        }
        for (h, sum) in b.sums.iter().zip(sums) {
            self.set(h.outside, sum.into_iter().flatten().map(Some).collect());
        }
        Ok(())
    }

    /// Where the rows of a band are in their array.
    fn rows_of(&self, h: &Handed, first: usize, rows: usize) -> Result<std::ops::Range<usize>, Fault> {
        let row: usize = self.shape(h.outside)?[1..].iter().product();
        Ok(first * row..(first + rows) * row)
    }
}
