//! Element types, constants and the small identifiers every stage shares.

use std::fmt;
use std::sync::Arc;

/// A name the user wrote, or one derived from it.
pub type Name = Arc<str>;

/// Whether Rust has a type of this name, which users and generated code write without a path.
pub fn is_type_of_rust(name: &str) -> bool {
    const TYPES: [&str; 17] = [
        "bool", "char", "str", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
        "u64", "u128", "usize",
    ];
    TYPES.contains(&name)
}

/// The name of the parameter that a constant of the surrounding code is for a kernel: none that a user can write.
pub fn constant_name(name: &str) -> Name {
    format!("{name}#").into()
}

/// Whether a parameter is a constant of the surrounding code.
pub fn is_constant(parameter: &str) -> bool {
    parameter.ends_with('#')
}

/// The type of one number. In a kernel `usize` is another spelling of `i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Elem {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer; also sizes and indices.
    I64,
    /// 32-bit unsigned integer.
    U32,
    /// Truth value.
    Bool,
    /// Complex number of two 32-bit floats; only in Core, and gone after `core::complex`.
    C32,
    /// Complex number of two 64-bit floats; likewise.
    C64,
    /// The type of a literal that is not settled yet; only inside `elaborate`.
    Infer(u32),
}

impl Elem {
    /// Every element type that a program after Core may contain.
    pub const ALL: [Elem; 6] = [Elem::F32, Elem::F64, Elem::I32, Elem::I64, Elem::U32, Elem::Bool];

    /// Whether this is one of the real float types.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }

    /// Whether this is one of the complex types.
    pub fn is_complex(self) -> bool {
        matches!(self, Elem::C32 | Elem::C64)
    }

    /// Whether values of this type carry derivatives.
    pub fn is_differentiable(self) -> bool {
        self.is_float() || self.is_complex()
    }

    /// The type of the real and the imaginary part; a real number's own.
    pub fn part(self) -> Elem {
        match self {
            Elem::C32 => Elem::F32,
            Elem::C64 => Elem::F64,
            e => e,
        }
    }

    /// The complex type of such parts.
    pub fn complex(self) -> Option<Elem> {
        match self {
            Elem::F32 => Some(Elem::C32),
            Elem::F64 => Some(Elem::C64),
            _ => None,
        }
    }

    /// Whether this is one of the integer types.
    pub fn is_int(self) -> bool {
        matches!(self, Elem::I32 | Elem::I64 | Elem::U32)
    }

    /// The bytes of one value in memory.
    pub fn bytes(self) -> i64 {
        match self {
            Elem::C64 => 16,
            Elem::F64 | Elem::I64 | Elem::C32 | Elem::Infer(_) => 8,
            Elem::F32 | Elem::I32 | Elem::U32 => 4,
            Elem::Bool => 1,
        }
    }

    /// The Rust spelling; of complex types that of printed Core.
    pub fn name(self) -> &'static str {
        match self {
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::U32 => "u32",
            Elem::Bool => "bool",
            Elem::C32 => "c32",
            Elem::C64 => "c64",
            Elem::Infer(_) => "_",
        }
    }

    /// The type of a name in printed Core.
    pub fn from_printed(name: &str) -> Option<Elem> {
        match name {
            "c32" => Some(Elem::C32),
            "c64" => Some(Elem::C64),
            name => Elem::from_name(name),
        }
    }

    /// The type that users spell so; `usize` is `i64`.
    pub fn from_name(name: &str) -> Option<Elem> {
        Some(match name {
            "f32" => Elem::F32,
            "f64" => Elem::F64,
            "i32" => Elem::I32,
            "i64" | "usize" => Elem::I64,
            "u32" => Elem::U32,
            "bool" => Elem::Bool,
            _ => return None,
        })
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A constant of an element type. Floats are kept as `f64` bits so that constants are `Eq` and `Hash`
/// (an `f32` constant holds a value that `f32` represents exactly).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Const {
    /// The constant's type.
    pub elem: Elem,
    bits: u64,
}

impl Const {
    /// A float constant, rounded to `f32` when that is its type; of a complex type a real number.
    pub fn float(elem: Elem, value: f64) -> Const {
        let value = if elem.part() == Elem::F32 { f64::from(value as f32) } else { value };
        Const { elem, bits: value.to_bits() }
    }

    /// An integer constant; wraps to the range of its type.
    pub fn int(elem: Elem, value: i64) -> Const {
        let value = match elem {
            Elem::I32 => i64::from(value as i32),
            Elem::U32 => i64::from(value as u32),
            _ => value,
        };
        Const { elem, bits: value as u64 }
    }

    /// A truth value.
    pub fn bool(value: bool) -> Const {
        Const { elem: Elem::Bool, bits: u64::from(value) }
    }

    /// `value` as a constant of any type: the number itself, or for booleans whether it is not zero.
    pub fn of(elem: Elem, value: i64) -> Const {
        match elem {
            Elem::Bool => Const::bool(value != 0),
            e if e.is_differentiable() => Const::float(e, value as f64),
            e => Const::int(e, value),
        }
    }

    /// The value of a float constant (integers converted).
    pub fn as_f64(self) -> f64 {
        match self.elem {
            e if e.is_differentiable() => f64::from_bits(self.bits),
            _ => self.bits as i64 as f64,
        }
    }

    /// The value of an integer or boolean constant.
    pub fn as_i64(self) -> i64 {
        match self.elem {
            e if e.is_differentiable() => f64::from_bits(self.bits) as i64,
            _ => self.bits as i64,
        }
    }

    /// The value of a boolean constant.
    pub fn as_bool(self) -> bool {
        self.bits != 0
    }

    /// The bits: of an `f64` for floats, of an `i64` for the others. For constants whose type is not settled.
    pub fn raw(self) -> u64 {
        self.bits
    }

    /// Whether this is zero (either sign) or `false`.
    pub fn is_zero(self) -> bool {
        if self.elem.is_differentiable() { self.as_f64() == 0.0 } else { self.bits == 0 }
    }

    /// Whether this is one or `true`.
    pub fn is_one(self) -> bool {
        if self.elem.is_differentiable() { self.as_f64() == 1.0 } else { self.bits == 1 }
    }
}

impl fmt::Display for Const {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elem {
            Elem::Bool => write!(f, "{}", self.as_bool()),
            e if e.is_differentiable() => write!(f, "{:?}{e}", self.as_f64()),
            e => write!(f, "{}{e}", self.as_i64()),
        }
    }
}

/// A place in the user's source, as an index into the program's table of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Loc(pub u32);

/// A line of source that a run-time error can name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The kernel the line belongs to.
    pub kernel: Name,
    /// Path of the file as rustc gives it.
    pub file: Name,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A line, and of which kernel if that is another one than is spoken of.
pub type Line = (Option<Name>, u32);

impl Place {
    /// Its line for who reads about a program of this name: a kernel's, or a derivative's, as in `grad(grad(f))`.
    pub fn line_in(&self, program: &str) -> Line {
        let kernel = program.rsplit('(').next().unwrap_or(program).trim_end_matches(')');
        ((*self.kernel != *kernel).then(|| self.kernel.clone()), self.line)
    }
}

/// A value or a tuple of values: the structure of arguments and results as the host sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree<T> {
    /// One value.
    Leaf(T),
    /// A tuple; `()` is the empty tuple.
    Tuple(Vec<Tree<T>>),
}

impl<T> Tree<T> {
    /// The leaves from left to right.
    pub fn leaves(&self) -> Vec<&T> {
        let mut out = Vec::new();
        self.visit(&mut |t| out.push(t));
        out
    }

    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a T)) {
        match self {
            Tree::Leaf(t) => f(t),
            Tree::Tuple(ts) => ts.iter().for_each(|t| t.visit(f)),
        }
    }

    /// The same structure with a structure in the place of every leaf.
    pub fn grow<U>(&self, f: &mut impl FnMut(&T) -> Tree<U>) -> Tree<U> {
        match self {
            Tree::Leaf(t) => f(t),
            Tree::Tuple(ts) => Tree::Tuple(ts.iter().map(|t| t.grow(f)).collect()),
        }
    }

    /// The same structure with every leaf replaced.
    pub fn map<U>(&self, f: &mut impl FnMut(&T) -> U) -> Tree<U> {
        match self {
            Tree::Leaf(t) => Tree::Leaf(f(t)),
            Tree::Tuple(ts) => Tree::Tuple(ts.iter().map(|t| t.map(f)).collect()),
        }
    }
}
