//! What rounding explains: numbers that differ no more than they do where the arguments change in their last digits.

use crate::bulk;
use crate::testing::numbers::Rng;
use crate::ty::Elem;
use crate::value::{Scalar, Value};

/// So many neighbors of the arguments are tried.
const NEIGHBORS: u64 = 4;

/// Results may be so many times farther from each other than those of neighbors are.
const MARGIN: f64 = 10.0;

/// Products that are taken in another order may overflow on the way to numbers that are almost too large: such a number for an infinity.
pub(super) fn overflowing(found: &Value, expected: &Value) -> Value {
    let mut out = found.clone();
    for (a, b) in out.data_mut().iter_mut().zip(expected.data()) {
        if let (Scalar::F64(x), Scalar::F64(y)) = (&mut *a, b)
            && x.is_infinite()
            && y.is_finite()
            && y.abs() > 1e300
        {
            *x = *y;
        }
    }
    out
}

/// Arguments that differ from these in the last digits of their floats.
fn neighbors(args: &[Value]) -> impl Iterator<Item = Vec<Value>> {
    (0..NEIGHBORS).map(|seed| {
        let mut rng = Rng::new(seed);
        let mut near = args.to_vec();
        for x in near.iter_mut().flat_map(Value::data_mut) {
            let by = 1.0 + rng.float(-1.0, 1.0) * if x.elem() == Elem::F32 { 1e-6 } else { 1e-14 };
            match x {
                Scalar::F32(x) => *x *= by as f32,
                Scalar::F64(x) => *x *= by,
                _ => {}
            }
        }
        near
    })
}

/// How far two numbers are apart; infinitely, if one of them is none.
fn distance(x: f64, y: f64) -> f64 {
    let by = if x == y || (x.is_nan() && y.is_nan()) { 0.0 } else { (x - y).abs() };
    if by.is_nan() { f64::INFINITY } else { by }
}

/// How far what is made of a program's results moves among the neighbors of its arguments; `None` where the program fails or gives
/// other shapes.
pub(super) fn spread(
    p: &bulk::Program,
    args: &[Value],
    of: impl Fn(&[Value]) -> Vec<f64>,
) -> Option<Vec<f64>> {
    let here = of(&bulk::interp::run(p, args).ok()?);
    let mut spread = vec![0.0f64; here.len()];
    for near in neighbors(args) {
        let there = of(&bulk::interp::run(p, &near).ok()?);
        if there.len() != here.len() {
            return None;
        }
        for (s, (x, y)) in spread.iter_mut().zip(there.iter().zip(&here)) {
            *s = s.max(distance(*x, *y));
        }
    }
    Some(spread)
}

/// Whether so large a difference is explained by how far numbers move.
pub(super) fn explains(spread: f64, difference: f64) -> bool {
    difference <= MARGIN * spread
}

/// Whether results are no farther from those of the program than these are from themselves where the arguments change in their
/// last digits: an iteration that diverges makes any numbers of its rounding.
pub(super) fn is_rounding(p: &bulk::Program, args: &[Value], found: &[Value], expected: &[Value]) -> bool {
    let flat = |values: &[Value]| values.iter().flat_map(Value::to_f64).collect::<Vec<f64>>();
    let shapes = |values: &[Value]| values.iter().map(|v| v.shape().to_vec()).collect::<Vec<_>>();
    let Some(spread) = spread(p, args, flat) else { return false };
    let (a, b) = (flat(found), flat(expected));
    shapes(found) == shapes(expected)
        && a.iter().zip(&b).zip(&spread).all(|((x, y), s)| explains(*s + 1e-10 * y.abs(), distance(*x, *y)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline;
    use crate::testing::kernels::compile;

    /// Whether a result that is so much too great is taken for rounding.
    fn excused(source: &str, x: f64, by: f64) -> bool {
        let value = |x: f64| vec![Value::from_f64(Elem::F64, vec![], &[x]).expect("a value")];
        let f = compile(source).unwrap_or_else(|e| panic!("{e:#?}"));
        let p = pipeline::middle(&f).expect("no derivative is missing");
        let expected = bulk::interp::run(&p, &value(x)).expect("it runs");
        let found = value(expected[0].to_f64()[0] + by);
        is_rounding(&p, &value(x), &found, &expected)
    }

    #[test]
    fn a_wrong_result_is_excused_only_where_rounding_makes_as_much() {
        let plain = "fn f(x: f64) -> f64 { x * x + 1.0 }";
        assert!(!excused(plain, 3.0, 1e-6));
        assert!(excused(plain, 3.0, 1e-13));
        // Neighbors of 1 in the last digits are 1e-6 apart here.
        let steep = "fn f(x: f64) -> f64 { (x - 1.0) * 1e8 }";
        assert!(excused(steep, 1.0, 1e-6));
        assert!(!excused(steep, 1.0, 1e-3));
    }
}
