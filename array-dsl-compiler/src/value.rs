//! Values and what can go wrong with them: what the interpreters of Core and Bulk compute with. They are the
//! oracle for everything the compiler makes, so this is as plain as it can be.
//!
//! * A [`Value`] is an array in row-major order; a scalar has no dimensions.
//! * [`apply`] evaluates every function of `scalar::TABLE` as Rust does, in the type of its arguments (`f32` is
//!   computed in `f32`). Integers wrap; integer division by zero is a [`Fault`].
//! * A [`Fault`] is an error of the running program. `Internal` is the exception: it says that the program is not
//!   one that the verifier accepts, or that the compiler dropped a check it should have kept.

mod apply;
mod order;
pub mod work;

use std::fmt;

use crate::reducer::Reducer;
use crate::ty::{Const, Elem, Loc};
pub use apply::apply;

/// One number or truth value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "named after the element types")]
pub enum Scalar {
    F32(f32),
    F64(f64),
    I32(i32),
    I64(i64),
    U32(u32),
    Bool(bool),
}

impl Scalar {
    /// The element type.
    pub fn elem(self) -> Elem {
        match self {
            Scalar::F32(_) => Elem::F32,
            Scalar::F64(_) => Elem::F64,
            Scalar::I32(_) => Elem::I32,
            Scalar::I64(_) => Elem::I64,
            Scalar::U32(_) => Elem::U32,
            Scalar::Bool(_) => Elem::Bool,
        }
    }

    /// Zero or `false`; an unsettled type counts as `i64`.
    pub fn zero(elem: Elem) -> Scalar {
        Scalar::from(Const::of(elem, 0))
    }

    /// The number nearest to this one; truth values are 0 and 1.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::F32(x) => f64::from(x),
            Scalar::F64(x) => x,
            Scalar::I32(x) => f64::from(x),
            Scalar::I64(x) => x as f64,
            Scalar::U32(x) => f64::from(x),
            Scalar::Bool(x) => f64::from(u8::from(x)),
        }
    }

    /// The value of an integer of any type.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Scalar::I32(x) => Some(i64::from(x)),
            Scalar::I64(x) => Some(x),
            Scalar::U32(x) => Some(i64::from(x)),
            Scalar::F32(_) | Scalar::F64(_) | Scalar::Bool(_) => None,
        }
    }

    /// The truth value.
    pub fn as_bool(self) -> Option<bool> {
        if let Scalar::Bool(x) = self { Some(x) } else { None }
    }
}

impl From<Scalar> for Const {
    fn from(x: Scalar) -> Const {
        match x {
            Scalar::Bool(b) => Const::bool(b),
            Scalar::F32(_) | Scalar::F64(_) => Const::float(x.elem(), x.as_f64()),
            Scalar::I32(i) => Const::int(Elem::I32, i64::from(i)),
            Scalar::U32(i) => Const::int(Elem::U32, i64::from(i)),
            Scalar::I64(i) => Const::int(Elem::I64, i),
        }
    }
}

impl From<Const> for Scalar {
    fn from(c: Const) -> Scalar {
        match c.elem {
            Elem::F32 => Scalar::F32(c.as_f64() as f32),
            Elem::F64 => Scalar::F64(c.as_f64()),
            Elem::I32 => Scalar::I32(c.as_i64() as i32),
            Elem::U32 => Scalar::U32(c.as_i64() as u32),
            Elem::Bool => Scalar::Bool(c.as_bool()),
            Elem::I64 | Elem::C32 | Elem::C64 | Elem::Infer(_) => Scalar::I64(c.as_i64()),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::F32(x) => write!(f, "{x:?}"),
            Scalar::F64(x) => write!(f, "{x:?}"),
            Scalar::I32(x) => write!(f, "{x}"),
            Scalar::I64(x) => write!(f, "{x}"),
            Scalar::U32(x) => write!(f, "{x}"),
            Scalar::Bool(x) => write!(f, "{x}"),
        }
    }
}

/// An array, or a scalar: no dimensions and one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    elem: Elem,
    shape: Vec<usize>,
    data: Vec<Scalar>,
}

impl Value {
    /// An array of these elements in row-major order. Their number and types must agree with `shape` and `elem`.
    pub fn new(elem: Elem, shape: Vec<usize>, data: Vec<Scalar>) -> Result<Value, Fault> {
        if shape.iter().product::<usize>() != data.len() {
            return Err(Fault::internal(format!("{} elements for an array of shape {shape:?}", data.len())));
        }
        match data.iter().find(|x| x.elem() != elem) {
            Some(x) => Err(Fault::internal(format!("an element of type {} in an array of {elem}", x.elem()))),
            None => Ok(Value { elem, shape, data }),
        }
    }

    /// A scalar.
    pub fn scalar(x: Scalar) -> Value {
        Value { elem: x.elem(), shape: Vec::new(), data: vec![x] }
    }

    /// An array with the same element everywhere.
    pub fn filled(shape: Vec<usize>, x: Scalar) -> Value {
        let len = shape.iter().product();
        Value { elem: x.elem(), shape, data: vec![x; len] }
    }

    /// An array of floats, rounded to `f32` when that is `elem`.
    pub fn from_f64(elem: Elem, shape: Vec<usize>, data: &[f64]) -> Result<Value, Fault> {
        Value::new(elem, shape, data.iter().map(|&x| Const::float(elem, x).into()).collect())
    }

    /// An array of integers (or floats, or truth values) of type `elem`.
    pub fn from_i64(elem: Elem, shape: Vec<usize>, data: &[i64]) -> Result<Value, Fault> {
        Value::new(elem, shape, data.iter().map(|&x| Const::of(elem, x).into()).collect())
    }

    /// The element type.
    pub fn elem(&self) -> Elem {
        self.elem
    }

    /// The dimensions, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements in row-major order.
    pub fn data(&self) -> &[Scalar] {
        &self.data
    }

    /// The elements, to be changed in place for others of the same type.
    pub fn data_mut(&mut self) -> &mut [Scalar] {
        &mut self.data
    }

    /// The elements as floats, for comparisons and messages.
    pub fn to_f64(&self) -> Vec<f64> {
        self.data.iter().map(|x| x.as_f64()).collect()
    }

    /// The element of a scalar.
    pub fn item(&self) -> Option<Scalar> {
        if self.shape.is_empty() { self.data.first().copied() } else { None }
    }

    /// The range of elements in row-major order that these leading indices select: a single one for a full index.
    pub fn range(&self, indices: &[i64]) -> Result<std::ops::Range<usize>, Fault> {
        if indices.len() > self.shape.len() {
            return Err(Fault::internal(format!("{} indices into shape {:?}", indices.len(), self.shape)));
        }
        let mut start = 0;
        for (&index, &len) in indices.iter().zip(&self.shape) {
            match usize::try_from(index) {
                Ok(i) if i < len => start = start * len + i,
                _ => return Err(Fault::IndexOutOfRange { index, len: len as i64, loc: Loc::default() }),
            }
        }
        let size: usize = self.shape[indices.len()..].iter().product();
        Ok(start * size..(start + 1) * size)
    }

    /// The element or sub-array at leading indices.
    pub fn index(&self, indices: &[i64]) -> Result<Value, Fault> {
        let data = self.data[self.range(indices)?].to_vec();
        Ok(Value { elem: self.elem, shape: self.shape[indices.len()..].to_vec(), data })
    }

    /// The same elements under other dimensions of the same product.
    pub fn reshape(&self, shape: Vec<usize>) -> Result<Value, Fault> {
        Value::new(self.elem, shape, self.data.clone())
    }
}

/// What ends a run early.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// An index is outside its dimension.
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// The dimension.
        len: i64,
        /// Where.
        loc: Loc,
    },
    /// An integer was divided by zero.
    DivisionByZero {
        /// Where.
        loc: Loc,
    },
    /// `argmin` or `argmax` of nothing.
    EmptyExtremum {
        /// Where.
        loc: Loc,
    },
    /// A condition on sizes does not hold; also the size of an argument or of an array that is built.
    SizeCheck {
        /// The condition, with the numbers found.
        message: String,
        /// Where.
        loc: Loc,
    },
    /// The interpreter has done as much as it may: see [`work`].
    Exhausted,
    /// The compiler's mistake, not the program's.
    Internal {
        /// What cannot be.
        message: String,
        /// Where.
        loc: Loc,
    },
}

/// How a run goes on after faults, as compiled code does.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// What a statement that failed gives.
    pub instead: i64,
    /// The faults so far.
    pub faults: Vec<Fault>,
}

impl Recovery {
    /// The number in place of what failed, if a run goes on after that; else the fault.
    pub(crate) fn after(recovery: &mut Option<Recovery>, fault: Fault) -> Result<i64, Fault> {
        match recovery {
            Some(r) if fault.is_recoverable() => {
                r.faults.push(fault);
                Ok(r.instead)
            }
            _ => Err(fault),
        }
    }
}

impl Fault {
    /// A fault that a verified program does not have, of no place yet.
    pub fn internal(message: impl Into<String>) -> Fault {
        Fault::Internal { message: message.into(), loc: Loc::default() }
    }

    /// A size that is not as it should be, of no place yet.
    pub fn size(message: impl Into<String>) -> Fault {
        Fault::SizeCheck { message: message.into(), loc: Loc::default() }
    }

    /// The same fault at `place`.
    pub fn at(mut self, place: Loc) -> Fault {
        match &mut self {
            Fault::IndexOutOfRange { loc, .. }
            | Fault::DivisionByZero { loc }
            | Fault::EmptyExtremum { loc }
            | Fault::SizeCheck { loc, .. }
            | Fault::Internal { loc, .. } => *loc = place,
            Fault::Exhausted => {}
        }
        self
    }

    /// Whether compiled code goes on after it: what failed has some value, and the fault is told in the end.
    fn is_recoverable(&self) -> bool {
        match self {
            Fault::IndexOutOfRange { .. } | Fault::DivisionByZero { .. } | Fault::EmptyExtremum { .. } => {
                true
            }
            Fault::SizeCheck { .. } | Fault::Internal { .. } | Fault::Exhausted => false,
        }
    }

    /// Where it happened.
    pub fn loc(&self) -> Loc {
        match self {
            Fault::IndexOutOfRange { loc, .. }
            | Fault::DivisionByZero { loc }
            | Fault::EmptyExtremum { loc }
            | Fault::SizeCheck { loc, .. }
            | Fault::Internal { loc, .. } => *loc,
            Fault::Exhausted => Loc::default(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::IndexOutOfRange { index, len, .. } => {
                write!(f, "index {index} is out of range for length {len}")
            }
            Fault::DivisionByZero { .. } => f.write_str("integer division by zero"),
            Fault::EmptyExtremum { .. } => f.write_str("`argmin` or `argmax` of an empty array"),
            Fault::SizeCheck { message, .. } => f.write_str(message),
            Fault::Exhausted => f.write_str("more work than the interpreter may do"),
            Fault::Internal { message, .. } => write!(f, "internal error: {message}"),
        }
    }
}

impl std::error::Error for Fault {}

/// `a` and `b` combined by a reducer that has a scalar function; see [`improves`] for the others.
pub fn combine(reducer: Reducer, a: Scalar, b: Scalar) -> Result<Scalar, Fault> {
    match reducer.op() {
        Some(op) => apply(op, &[a, b]),
        None => Err(Fault::internal(format!("`{}` does not combine values", reducer.name()))),
    }
}

/// Whether `ArgMin` (`ArgMax`) prefers `value` to the `best` seen before: it is smaller (larger), so that the first of
/// several wins and NaN never does. The fold starts with index 0 and the neutral element.
pub fn improves(reducer: Reducer, value: Scalar, best: Scalar) -> bool {
    let op = if reducer == Reducer::ArgMin { crate::scalar::Op::Lt } else { crate::scalar::Op::Gt };
    apply(op, &[value, best]) == Ok(Scalar::Bool(true))
}

/// Whether `a` and `b` are the same up to `|a - b| <= abs + rel * max(|a|, |b|)`; what differs otherwise. NaN is the
/// same as NaN, an infinity only as itself; integers and truth values have no tolerance.
pub fn approx_eq(a: &Value, b: &Value, abs: f64, rel: f64) -> Result<(), String> {
    if a.elem != b.elem || a.shape != b.shape {
        return Err(format!("{:?} of {} against {:?} of {}", a.shape, a.elem, b.shape, b.elem));
    }
    for (i, (&x, &y)) in a.data.iter().zip(&b.data).enumerate() {
        let (p, q) = (x.as_f64(), y.as_f64());
        let near = (p - q).abs() <= abs + rel * p.abs().max(q.abs());
        let finite = p.is_finite() && q.is_finite();
        let same = x == y || (a.elem.is_float() && ((p.is_nan() && q.is_nan()) || (finite && near)));
        if !same {
            return Err(format!("{x} against {y} at {:?} of {:?}", position(i, &a.shape), a.shape));
        }
    }
    Ok(())
}

/// The indices of the `i`-th element in row-major order.
fn position(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (o, &n) in out.iter_mut().zip(shape).rev() {
        (*o, i) = (i % n, i / n);
    }
    out
}
