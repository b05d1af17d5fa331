//! What combines values: sums, extrema, prefixes. Every IR has these.

use crate::scalar::{Class, Op};
use crate::ty::{Const, Elem};

/// An associative operator with its neutral element, one per element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reducer {
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Smallest; `+inf` (or the largest integer) for nothing.
    Min,
    /// Largest; `-inf` (or the smallest integer) for nothing.
    Max,
    /// Conjunction of booleans, bitwise `and` of integers.
    And,
    /// Disjunction of booleans, bitwise `or` of integers.
    Or,
    /// Index (`i64`) of the first smallest value; an error for nothing, then 0.
    ArgMin,
    /// Index (`i64`) of the first largest value; an error for nothing, then 0.
    ArgMax,
    /// The last value; zero for nothing. Kernels do not have it: it is the result of a loop.
    Last,
}

impl Reducer {
    /// All of them.
    pub const ALL: [Reducer; 9] = [
        Reducer::Add,
        Reducer::Mul,
        Reducer::Min,
        Reducer::Max,
        Reducer::And,
        Reducer::Or,
        Reducer::ArgMin,
        Reducer::ArgMax,
        Reducer::Last,
    ];

    /// As printed, and as written in kernels for the first six.
    pub fn name(self) -> &'static str {
        match self {
            Reducer::Add => "add",
            Reducer::Mul => "mul",
            Reducer::Min => "min",
            Reducer::Max => "max",
            Reducer::And => "and",
            Reducer::Or => "or",
            Reducer::ArgMin => "argmin",
            Reducer::ArgMax => "argmax",
            Reducer::Last => "last",
        }
    }

    /// The reducer of that name.
    pub fn from_name(name: &str) -> Option<Reducer> {
        Reducer::ALL.into_iter().find(|r| r.name() == name)
    }

    /// The scalar function that combines two values; `None` for `ArgMin`, `ArgMax` and `Last`.
    pub fn op(self) -> Option<Op> {
        Some(match self {
            Reducer::Add => Op::Add,
            Reducer::Mul => Op::Mul,
            Reducer::Min => Op::Min,
            Reducer::Max => Op::Max,
            Reducer::And => Op::And,
            Reducer::Or => Op::Or,
            Reducer::ArgMin | Reducer::ArgMax | Reducer::Last => return None,
        })
    }

    /// The types of the values.
    pub fn class(self) -> Class {
        match self {
            Reducer::Last => Class::Any,
            _ => self.op().and_then(Op::row).map_or(Class::Num, |r| r.class),
        }
    }

    /// Whether it combines complex numbers as well, each part by itself.
    pub fn is_of_complex(self) -> bool {
        matches!(self, Reducer::Add | Reducer::Last)
    }

    /// Whether the result is a position.
    pub fn is_extremum(self) -> bool {
        matches!(self, Reducer::ArgMin | Reducer::ArgMax)
    }

    /// The words of 32 bits that a partial result of such values takes: of an extremum's place the extremum as well.
    pub fn words(self, elem: Elem) -> usize {
        let of = |elem: Elem| if elem.bytes() == 8 { 2 } else { 1 };
        of(self.result(elem)) + if self.is_extremum() { of(elem) } else { 0 }
    }

    /// The element type of the result for values of type `elem`.
    pub fn result(self, elem: Elem) -> Elem {
        if self.is_extremum() { Elem::I64 } else { elem }
    }

    /// The neutral element for values of type `elem` (for `ArgMin` and `ArgMax`: of the value compared).
    pub fn neutral(self, elem: Elem) -> Const {
        let extreme = |largest: bool| match elem {
            e if e.is_float() => Const::float(e, if largest { f64::INFINITY } else { f64::NEG_INFINITY }),
            Elem::I32 => Const::int(elem, if largest { i64::from(i32::MAX) } else { i64::from(i32::MIN) }),
            Elem::U32 => Const::int(elem, if largest { i64::from(u32::MAX) } else { 0 }),
            Elem::Bool => Const::bool(largest),
            _ => Const::int(elem, if largest { i64::MAX } else { i64::MIN }),
        };
        match self {
            Reducer::Add | Reducer::Last => Const::of(elem, 0),
            Reducer::Mul => Const::of(elem, 1),
            Reducer::Min | Reducer::ArgMin => extreme(true),
            Reducer::Max | Reducer::ArgMax => extreme(false),
            Reducer::And => {
                if elem == Elem::Bool {
                    Const::bool(true)
                } else {
                    Const::int(elem, -1)
                }
            }
            Reducer::Or => Const::of(elem, 0),
        }
    }
}

/// Which prefixes a scan gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// Position `i` has the values of `0..=i`.
    Inclusive,
    /// Position `i` has the values of `0..i`.
    Exclusive,
}

impl Prefix {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Prefix::Inclusive => "inclusive",
            Prefix::Exclusive => "exclusive",
        }
    }
}
