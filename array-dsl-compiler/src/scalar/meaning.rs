//! What scalar functions give, as the interpreters evaluate them: one Rust function for each type, in that type and not through
//! another one. A row that lacks one of its types has no [`Meaning`], so it does not compile.

use super::{Class, Gives};

/// How many arguments a function has, and what it gives.
pub trait Form {
    /// The function on a type.
    type On<T>;
}

/// From one number to one of its type.
pub enum Unary {}

/// From two to one of their type.
pub enum Binary {}

/// A truth about one.
pub enum Test {}

/// A truth about two.
pub enum Relation {}

/// From a number and an integer to one of the number's type.
pub enum Power {}

impl Form for Unary {
    type On<T> = fn(T) -> T;
}

impl Form for Binary {
    type On<T> = fn(T, T) -> T;
}

impl Form for Test {
    type On<T> = fn(T) -> bool;
}

impl Form for Relation {
    type On<T> = fn(T, T) -> bool;
}

impl Form for Power {
    type On<T> = fn(T, i64) -> T;
}

/// A function on the float types.
#[allow(missing_docs, reason = "named after the types")]
pub struct Floats<F: Form> {
    pub f32: F::On<f32>,
    pub f64: F::On<f64>,
}

/// A function on the integer types.
#[allow(missing_docs, reason = "named after the types")]
pub struct Ints<F: Form> {
    pub i32: F::On<i32>,
    pub i64: F::On<i64>,
    pub u32: F::On<u32>,
}

/// A function on the types of a class.
pub enum Types<F: Form> {
    /// [`Class::Float`].
    Float(Floats<F>),
    /// [`Class::Int`].
    Int(Ints<F>),
    /// [`Class::Num`].
    Num(Floats<F>, Ints<F>),
    /// [`Class::Bits`].
    Bits(Ints<F>, F::On<bool>),
    /// [`Class::Any`].
    Any(Floats<F>, Ints<F>, F::On<bool>),
}

impl<F: Form> Types<F> {
    const fn class(&self) -> Class {
        match self {
            Types::Float(_) => Class::Float,
            Types::Int(_) => Class::Int,
            Types::Num(..) => Class::Num,
            Types::Bits(..) => Class::Bits,
            Types::Any(..) => Class::Any,
        }
    }

    /// The function on floats, if it is one.
    pub fn floats(&self) -> Option<&Floats<F>> {
        match self {
            Types::Float(f) | Types::Num(f, _) | Types::Any(f, ..) => Some(f),
            Types::Int(_) | Types::Bits(..) => None,
        }
    }

    /// The function on integers, if it is one.
    pub fn ints(&self) -> Option<&Ints<F>> {
        match self {
            Types::Int(i) | Types::Num(_, i) | Types::Bits(i, _) | Types::Any(_, i, _) => Some(i),
            Types::Float(_) => None,
        }
    }

    /// The function on truth values, if it is one.
    pub fn bools(&self) -> Option<&F::On<bool>> {
        match self {
            Types::Bits(_, b) | Types::Any(_, _, b) => Some(b),
            Types::Float(_) | Types::Int(_) | Types::Num(..) => None,
        }
    }
}

/// What a function gives. All arguments have one type, but for the last two forms.
pub enum Meaning {
    /// See [`Unary`].
    Unary(Types<Unary>),
    /// See [`Binary`].
    Binary(Types<Binary>),
    /// See [`Test`].
    Test(Types<Test>),
    /// See [`Relation`].
    Relation(Types<Relation>),
    /// See [`Power`]; the exponent is of any integer type.
    Power(Floats<Power>),
    /// The second or the third argument, as the first, a truth value, says. There is nothing to compute, so the types have no functions.
    Choice,
}

impl Meaning {
    pub(super) const fn arity(&self) -> usize {
        match self {
            Meaning::Unary(_) | Meaning::Test(_) => 1,
            Meaning::Binary(_) | Meaning::Relation(_) | Meaning::Power(_) => 2,
            Meaning::Choice => 3,
        }
    }

    pub(super) const fn class(&self) -> Class {
        match self {
            Meaning::Unary(t) => t.class(),
            Meaning::Binary(t) => t.class(),
            Meaning::Test(t) => t.class(),
            Meaning::Relation(t) => t.class(),
            Meaning::Power(_) => Class::Float,
            Meaning::Choice => Class::Any,
        }
    }

    pub(super) const fn gives(&self) -> Gives {
        match self {
            Meaning::Test(_) | Meaning::Relation(_) => Gives::Bool,
            Meaning::Unary(_) | Meaning::Binary(_) | Meaning::Power(_) | Meaning::Choice => Gives::Same,
        }
    }
}

/// The functions of a class. `all`: the same text on all of its types.
macro_rules! types {
    (Float float $f:expr) => {
        Types::Float(types!(floats $f))
    };
    (Int int $i:expr $(, u32 $u:expr)?) => {
        Types::Int(types!(ints $i $(, $u)?))
    };
    (Num all $x:expr) => {
        Types::Num(types!(floats $x), types!(ints $x))
    };
    (Num float $f:expr, int $i:expr $(, u32 $u:expr)?) => {
        Types::Num(types!(floats $f), types!(ints $i $(, $u)?))
    };
    (Bits all $x:expr) => {
        Types::Bits(types!(ints $x), $x)
    };
    (Any all $x:expr) => {
        Types::Any(types!(floats $x), types!(ints $x), $x)
    };
    (floats $f:expr) => {
        Floats { f32: $f, f64: $f }
    };
    (ints $i:expr) => {
        Ints { i32: $i, i64: $i, u32: $i }
    };
    (ints $i:expr, $u:expr) => {
        Ints { i32: $i, i64: $i, u32: $u }
    };
}

/// The meaning of a row: its form, its class, and the functions of that.
macro_rules! meaning {
    (unary $($types:tt)*) => {
        Meaning::Unary(types!($($types)*))
    };
    (binary $($types:tt)*) => {
        Meaning::Binary(types!($($types)*))
    };
    (test $($types:tt)*) => {
        Meaning::Test(types!($($types)*))
    };
    (relation $($types:tt)*) => {
        Meaning::Relation(types!($($types)*))
    };
    (power Float float $f:expr) => {
        Meaning::Power(types!(floats $f))
    };
    (choice Any) => {
        Meaning::Choice
    };
}

pub(super) use {meaning, types};
