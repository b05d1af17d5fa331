//! Which axes go to a matrix product and which to loops around it.

use super::product::Product;

/// The axes of an array, outermost first, and the lengths of its dimensions if these are others than the axes' extents.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    pub axes: &'a [usize],
    pub dims: Option<&'a [usize]>,
}

impl<'a> Shape<'a> {
    /// Of an array of just these axes.
    pub fn whole(axes: &'a [usize]) -> Shape<'a> {
        Shape { axes, dims: None }
    }

    /// The stride of axis `x` in a contiguous row-major array.
    fn stride(self, extents: &[usize], x: usize) -> Option<usize> {
        let at = self.axes.iter().position(|y| *y == x)?;
        Some(match self.dims {
            Some(dims) => dims[at + 1..].iter().product(),
            None => self.axes[at + 1..].iter().map(|y| extents[*y]).product(),
        })
    }
}

/// A contraction as loops around a matrix product.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub product: Product,
    /// Loops over the result's other axes.
    pub free: Loops,
    /// Loops over the other summed axes.
    pub summed: Loops,
}

/// An axis: its extent, and its strides in the result and the operands, 0 where it does not occur.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    extent: usize,
    strides: [usize; 3],
}

/// What an axis does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// In the result and both operands (or neither).
    Batch,
    /// In the result and the first operand.
    Row,
    /// In the result and the second operand.
    Column,
    /// Not in the result.
    Summed,
}

/// Nested loops, outermost first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loops(Vec<Axis>);

impl Loops {
    /// The number of iterations of all loops together.
    pub fn count(&self) -> usize {
        self.0.iter().map(|x| x.extent).product()
    }

    /// Where an iteration starts in the result and in the operands.
    pub fn offsets(&self, mut iteration: usize) -> [usize; 3] {
        let mut at = [0; 3];
        for axis in self.0.iter().rev() {
            let i = iteration % axis.extent;
            iteration /= axis.extent;
            for (at, stride) in at.iter_mut().zip(axis.strides) {
                *at += i * stride;
            }
        }
        at
    }
}

/// The contraction as one matrix product, if there is at most one axis of each class and no batch: found without
/// allocating, for the sake of small products.
pub fn single(extents: &[usize], shapes: [Shape<'_>; 3]) -> Option<Product> {
    let mut product = Product { m: 1, n: 1, k: 1, out: [0; 2], a: [0; 2], b: [0; 2] };
    let mut seen = [false; 3];
    for (x, extent) in extents.iter().enumerate() {
        let strides = shapes.map(|s| s.stride(extents, x));
        let class = match strides {
            [None, None, None] => continue,
            [None, ..] => Class::Summed,
            [_, Some(_), None] => Class::Row,
            [_, None, Some(_)] => Class::Column,
            _ => return None,
        };
        let seen = seen.get_mut(class as usize - 1)?;
        if std::mem::replace(seen, true) {
            return None;
        }
        let [out, a, b] = strides.map(|s| s.unwrap_or(0));
        match class {
            Class::Row => (product.m, product.out[0], product.a[0]) = (*extent, out, a),
            Class::Column => (product.n, product.out[1], product.b[1]) = (*extent, out, b),
            _ => (product.k, product.a[1], product.b[0]) = (*extent, a, b),
        }
    }
    Some(product)
}

impl Plan {
    /// Plans a contraction in which no axis has extent 0.
    pub fn new(extents: &[usize], shapes: [Shape<'_>; 3]) -> Plan {
        let mut classes: [Vec<Axis>; 4] = Default::default();
        // In the order of the result, then of the first operand: neighbors that can be merged are then adjacent
        // in the lists most of the time; `merge` does not rely on it.
        let mut order: Vec<usize> = shapes.iter().flat_map(|s| s.axes).copied().collect();
        let mut seen = vec![false; extents.len()];
        order.retain(|x| seen.get_mut(*x).is_some_and(|seen| !std::mem::replace(seen, true)));
        for x in order {
            let occurs = shapes.map(|s| s.stride(extents, x));
            let class = match occurs.map(|s| s.is_some()) {
                [false, _, _] => Class::Summed,
                [true, true, false] => Class::Row,
                [true, false, true] => Class::Column,
                [true, _, _] => Class::Batch,
            };
            if extents[x] != 1 {
                classes[class as usize]
                    .push(Axis { extent: extents[x], strides: occurs.map(|s| s.unwrap_or(0)) });
            }
        }
        let [batch, mut rows, mut columns, mut summed] = classes.map(merge);
        let (row, column, term) = (longest(&mut rows), longest(&mut columns), longest(&mut summed));
        let product = Product {
            m: row.extent,
            n: column.extent,
            k: term.extent,
            out: [row.strides[0], column.strides[0]],
            a: [row.strides[1], term.strides[1]],
            b: [term.strides[2], column.strides[2]],
        };
        Plan { product, free: Loops([batch, rows, columns].concat()), summed: Loops(summed) }
    }
}

/// Merges axes that are one long axis in every array.
fn merge(mut axes: Vec<Axis>) -> Vec<Axis> {
    let pair = |axes: &[Axis]| {
        (0..axes.len()).flat_map(|i| (0..axes.len()).map(move |j| (i, j))).find(|&(i, j)| {
            let (outer, inner) = (axes[i], axes[j]);
            i != j && (0..3).all(|o| outer.strides[o] == inner.strides[o] * inner.extent)
        })
    };
    while let Some((outer, inner)) = pair(&axes) {
        axes[inner].extent *= axes[outer].extent;
        axes.remove(outer);
    }
    axes
}

/// Takes the longest axis; one of extent 1 if there is none.
fn longest(axes: &mut Vec<Axis>) -> Axis {
    let position = (0..axes.len()).max_by_key(|i| axes[*i].extent);
    position.map_or(Axis { extent: 1, strides: [0; 3] }, |i| axes.remove(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes<'a>(out: &'a [usize], a: &'a [usize], b: &'a [usize]) -> [Shape<'a>; 3] {
        [out, a, b].map(Shape::whole)
    }

    #[test]
    fn a_matrix_product_needs_no_loops() {
        let plan = Plan::new(&[2, 3, 4], shapes(&[0, 1], &[0, 2], &[2, 1]));
        assert_eq!(plan.product, Product { m: 2, n: 3, k: 4, out: [3, 1], a: [4, 1], b: [3, 1] });
        assert_eq!((plan.free.count(), plan.summed.count()), (1, 1));
    }

    #[test]
    fn matrix_products_are_found_without_a_plan() {
        let lists: [[&[usize]; 3]; 5] = [
            [&[0, 1], &[0, 2], &[2, 1]],
            [&[1, 0], &[2, 0], &[1, 2]],
            [&[0], &[2, 0], &[2]],
            [&[], &[2], &[2]],
            [&[0, 1], &[0], &[1]],
        ];
        for [out, a, b] in lists {
            let extents = [3, 4, 5];
            let shapes = shapes(out, a, b);
            assert_eq!(single(&extents, shapes), Some(Plan::new(&extents, shapes).product));
        }
        assert_eq!(single(&[2, 3], shapes(&[0, 1], &[0, 1], &[1])), None);
        assert_eq!(single(&[2, 3, 4], shapes(&[0], &[0, 1, 2], &[1, 2])), None);
    }

    #[test]
    fn contiguous_axes_are_merged() {
        // out[b, i, j] = sum over k, l of a[b, i, k, l] * w[k, l, j]
        let plan = Plan::new(&[2, 3, 4, 5, 6], shapes(&[0, 1, 2], &[0, 1, 3, 4], &[3, 4, 2]));
        assert_eq!(plan.product, Product { m: 6, n: 4, k: 30, out: [4, 1], a: [30, 1], b: [4, 1] });
        assert_eq!((plan.free.count(), plan.summed.count()), (1, 1));
    }

    #[test]
    fn what_cannot_be_merged_becomes_loops() {
        // out[h, i, j] = sum over d, e of a[i, h, d, e] * b[j, h, e, d]
        let plan = Plan::new(&[2, 3, 4, 5, 6], shapes(&[0, 1, 2], &[1, 0, 3, 4], &[2, 0, 4, 3]));
        assert_eq!(plan.product, Product { m: 3, n: 4, k: 6, out: [4, 1], a: [60, 1], b: [5, 60] });
        assert_eq!((plan.free.count(), plan.summed.count()), (2, 5));
        assert_eq!(plan.free.offsets(1), [12, 30, 30]);
        assert_eq!(plan.summed.offsets(2), [0, 12, 2]);
    }
}
