//! The order that sorting goes by: numbers ascending with every NaN last and the two zeros equal, `false` before `true`.
//! Equal elements keep their order.

use std::cmp::Ordering;

use super::{Fault, Scalar, Value};
use crate::ty::Elem;

/// How two elements of one type follow each other.
fn order(x: Scalar, y: Scalar) -> Ordering {
    match (x, y) {
        (Scalar::Bool(x), Scalar::Bool(y)) => x.cmp(&y),
        _ => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => {
                let (x, y) = (x.as_f64(), y.as_f64());
                x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
            }
        },
    }
}

impl Value {
    /// The positions of the elements of each row along the last dimension, in the order of the elements.
    pub fn argsort(&self) -> Result<Value, Fault> {
        let data = self.ordered()?.into_iter().map(|(i, _)| Scalar::I64(i as i64)).collect();
        Value::new(Elem::I64, self.shape.clone(), data)
    }

    /// Each row along the last dimension in the order of its elements.
    pub fn sorted(&self) -> Result<Value, Fault> {
        Value::new(self.elem, self.shape.clone(), self.ordered()?.into_iter().map(|(_, x)| x).collect())
    }

    fn ordered(&self) -> Result<Vec<(usize, Scalar)>, Fault> {
        let Some(n) = self.shape.last() else { return Err(Fault::internal("a scalar is sorted")) };
        let mut out = Vec::with_capacity(self.data.len());
        for row in self.data.chunks((*n).max(1)) {
            let mut row: Vec<(usize, Scalar)> = row.iter().copied().enumerate().collect();
            row.sort_by(|(_, x), (_, y)| order(*x, *y));
            out.extend(row);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_one_by_one_and_stably() {
        let xs = [2.0, f64::NAN, -1.0, 0.0, -0.0, f64::NEG_INFINITY, -1.0, 1.0];
        let x = Value::from_f64(Elem::F64, vec![2, 4], &xs).unwrap();
        let positions: Vec<i64> = x.argsort().unwrap().data().iter().filter_map(|i| i.as_i64()).collect();
        assert_eq!(positions, [2, 3, 0, 1, 1, 2, 0, 3]);
        let sorted = x.sorted().unwrap().to_f64();
        assert_eq!(sorted[..3], [-1.0, 0.0, 2.0]);
        assert!(sorted[3].is_nan());
        let b = Value::new(Elem::Bool, vec![3], [true, false, true].map(Scalar::Bool).to_vec()).unwrap();
        let positions: Vec<i64> = b.argsort().unwrap().data().iter().filter_map(|i| i.as_i64()).collect();
        assert_eq!(positions, [1, 0, 2]);
        assert!(Value::from_i64(Elem::I64, vec![0, 0], &[]).unwrap().argsort().is_ok());
        assert!(Value::scalar(Scalar::I64(1)).argsort().is_err());
    }
}
