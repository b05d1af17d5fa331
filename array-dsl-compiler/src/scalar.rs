//! The table of scalar functions. One row is everything any pass knows about a function: its name in kernels
//! and in printed IR, its type, its text in Rust and in WGSL, its partial derivatives, and what it gives. Nothing of these can be
//! left out: a row without a value for one of its types does not compile, nor does one with a partial too few.
//!
//! Partial derivatives are written in a tiny infix language over the arguments `a`, `b`, `c` and the result
//! `y`, with the functions of this same table (`partial`). A row marked `singular` has partials that can be infinite or NaN where
//! the function itself is defined; there a cotangent (or tangent) that is exactly zero contributes exactly zero.
//!
//! Casts are no row: they have the type to convert to as a parameter, and a text and a value for each pair of types. Nor is what makes
//! complex numbers and takes them apart, which there is in Core alone (`core::complex`).

mod meaning;
mod partial;
mod special;

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::ty::Elem;
pub use meaning::{Binary, Floats, Form, Ints, Meaning, Power, Relation, Test, Types, Unary};
use meaning::{meaning, types};
pub use partial::{Partial, partials};

/// Which element types a function accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `f32`, `f64`.
    Float,
    /// Integers.
    Int,
    /// Integers and floats.
    Num,
    /// Booleans and integers (bitwise).
    Bits,
    /// Everything.
    Any,
}

impl Class {
    /// Whether `e` is in the class.
    pub fn contains(self, e: Elem) -> bool {
        match self {
            Class::Float => e.is_float(),
            Class::Int => e.is_int(),
            Class::Num => e.is_float() || e.is_int(),
            Class::Bits => e.is_int() || e == Elem::Bool,
            Class::Any => true,
        }
    }

    /// The class in words, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            Class::Float => "a float (f32 or f64)",
            Class::Int => "an integer",
            Class::Num => "a number",
            Class::Bits => "a bool or an integer",
            Class::Any => "any scalar",
        }
    }
}

/// The result type of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The common type of the arguments.
    Same,
    /// A truth value.
    Bool,
}

/// One row of the table.
pub struct Row {
    /// The function.
    pub op: Op,
    /// Its name as a kernel function or method, and in printed IR.
    pub name: &'static str,
    /// Number of arguments.
    pub arity: usize,
    /// Accepted element types; all arguments have the same one (except `select`'s condition and `powi`'s exponent).
    pub class: Class,
    /// Result type.
    pub gives: Gives,
    /// Rust text for floats and truth values, for `i32` and `i64`, and for `u32`.
    rust: [&'static str; 3],
    /// WGSL text; a name starting with `adsl_` is defined by the WGSL prelude.
    pub wgsl: &'static str,
    /// WGSL text for `f64`: another one where drivers get the built-in function wrong.
    pub wgsl64: &'static str,
    /// The partial derivative by each argument; empty: the function is locally constant.
    pub partials: &'static [&'static str],
    /// See the module header.
    pub singular: bool,
    /// What it gives.
    pub meaning: Meaning,
}

impl Row {
    /// Rust text for arguments of a type, with `{0}`, `{1}`, `{2}` for the arguments, `R::` for the runtime's `Real` and `D::` for its
    /// `Division`, which gets the `status` and the `SITE` of a division by zero.
    pub fn rust(&self, elem: Elem) -> &'static str {
        let [floats, ints, u32] = self.rust;
        match elem {
            Elem::U32 => u32,
            elem if elem.is_int() => ints,
            _ => floats,
        }
    }
}

/// A text where it differs, else the one that is always there.
macro_rules! or {
    (, $default:expr) => {
        $default
    };
    ($text:literal, $default:expr) => {
        $text
    };
}

/// The WGSL texts, for `f64` the second. `prelude`: a function of the prelude's that is there for both.
macro_rules! wgsl {
    (prelude $text:literal) => {
        (concat!("adsl_", $text), concat!("adsl64_", $text))
    };
    ($text:literal) => {
        ($text, $text)
    };
    ($text:literal f64 $text64:literal) => {
        ($text, $text64)
    };
}

macro_rules! is_singular {
    (singular $first:literal $($more:literal)*) => {
        true
    };
    (regular $first:literal $($more:literal)*) => {
        false
    };
    (constant) => {
        false
    };
}

macro_rules! table {
    ($(
        $op:ident $name:literal $form:ident $class:ident
        | $rust:literal $(int $int:literal)? $(u32 $u32:literal)?
        | $($prelude:ident)? $wgsl:literal $(f64 $wgsl64:literal)?
        | $slope:ident [$($partial:literal),*]
        | $($kind:ident $value:expr),*;
    )*) => {
        /// A scalar function. `Cast` is the only one with a parameter and is not in the table; nor are those that make a complex number
        /// of its parts and take them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the table documents them")]
        pub enum Op { $($op,)* Cast(Elem), Complex, Re, Im }

        /// All rows.
        pub static TABLE: &[Row] = &[$({
            const MEANING: Meaning = meaning!($form $class $($kind $value),*);
            const PARTIALS: &[&str] = &[$($partial),*];
            const { assert!(PARTIALS.is_empty() || PARTIALS.len() == MEANING.arity(), "a partial derivative for each argument") };
            const WGSL: (&str, &str) = wgsl!($($prelude)? $wgsl $(f64 $wgsl64)?);
            Row {
                op: Op::$op, name: $name, arity: MEANING.arity(), class: MEANING.class(), gives: MEANING.gives(),
                rust: [$rust, or!($($int)?, $rust), or!($($u32)?, or!($($int)?, $rust))],
                wgsl: WGSL.0, wgsl64: WGSL.1,
                partials: PARTIALS, singular: is_singular!($slope $($partial)*), meaning: MEANING,
            }
        },)*];

        impl Op {
            /// The function's row; `None` for casts.
            pub fn row(self) -> Option<&'static Row> {
                #[allow(non_upper_case_globals, reason = "named after the variants")]
                mod index {
                    #[derive(Clone, Copy)]
                    pub enum Index { $($op,)* }
                }
                match self {
                    $(Op::$op => Some(&TABLE[index::Index::$op as usize]),)*
                    Op::Cast(_) | Op::Complex | Op::Re | Op::Im => None,
                }
            }
        }
    };
}

table! {
//  op        name         form     class | Rust, of integers where it differs | WGSL, of f64 where it differs | partial derivatives
//                                        | what it gives
    Add       "add"        binary   Num   | "({0} + {1})" int "{0}.wrapping_add({1})" | "({0} + {1})"         | regular ["1", "1"]
                                          | float |a, b| a + b, int |a, b| a.wrapping_add(b);
    Sub       "sub"        binary   Num   | "({0} - {1})" int "{0}.wrapping_sub({1})" | "({0} - {1})"         | regular ["1", "-1"]
                                          | float |a, b| a - b, int |a, b| a.wrapping_sub(b);
    Mul       "mul"        binary   Num   | "({0} * {1})" int "{0}.wrapping_mul({1})" | "({0} * {1})"         | regular ["b", "a"]
                                          | float |a, b| a * b, int |a, b| a.wrapping_mul(b);
    Div       "div"        binary   Num   | "({0} / {1})" int "D::quotient({0}, {1}, status, SITE)" | "({0} / {1})"
                                          | singular ["1 / b", "-y / b"] | float |a, b| a / b, int |a, b| a.wrapping_div(b);
    Scale     "scale"      binary   Float | "R::scale({0}, {1})" | prelude "scaled({0}, {1})" | singular ["b", "a"]
                                          | float |a, b| if a == 0.0 { 0.0 } else { a * b };
    Rem       "rem"        binary   Num   | "({0} % {1})" int "D::remainder({0}, {1}, status, SITE)" | "({0} % {1})"
                                          | singular ["1", "-trunc(a / b)"] | float |a, b| a % b, int |a, b| a.wrapping_rem(b);
    RemEuclid "rem_euclid" binary   Num   | "{0}.rem_euclid({1})" int "D::remainder_euclid({0}, {1}, status, SITE)"
                                          | "adsl_rem_euclid({0}, {1})" | singular ["1", "select(b >= 0, -floor(a / b), -ceil(a / b))"]
                                          | float |a, b| a.rem_euclid(b), int |a, b| a.wrapping_rem_euclid(b);
    Neg       "neg"        unary    Num   | "(-{0})" int "{0}.wrapping_neg()" | "(-{0})"              | regular ["-1"]
                                          | float |a| -a, int |a| a.wrapping_neg();
    Abs       "abs"        unary    Num   | "{0}.abs()" int "{0}.wrapping_abs()" u32 "{0}" | "abs({0})"            | regular ["signum0(a)"]
                                          | float |a| a.abs(), int |a| a.wrapping_abs(), u32 |a| a;
    Signum0   "signum0"    unary    Num   | "R::signum0({0})" int "{0}.signum()" u32 "(({0} != 0) as u32)" | "sign({0})"
                                          | constant []
                                          | float |a| if a == 0.0 { 0.0 } else { a.signum() }, int |a| a.signum(), u32 |a| a.min(1);
    Signum    "signum"     unary    Float | "{0}.signum()"  | prelude "signum({0})" | constant [] | float |a| a.signum();
    Min       "min"        binary   Num   | "R::min({0}, {1})" int "{0}.min({1})" | "min({0}, {1})"
                                          | regular ["select(a == y, 1, 0)", "select(a == y, 0, 1)"] | all |a, b| a.min(b);
    Max       "max"        binary   Num   | "R::max({0}, {1})" int "{0}.max({1})" | "max({0}, {1})"
                                          | regular ["select(a == y, 1, 0)", "select(a == y, 0, 1)"] | all |a, b| a.max(b);
    Eq        "eq"         relation Any   | "({0} == {1})"  | "({0} == {1})"        | constant [] | all |a, b| a == b;
    Ne        "ne"         relation Any   | "({0} != {1})"  | "({0} != {1})"        | constant [] | all |a, b| a != b;
    Lt        "lt"         relation Num   | "({0} < {1})"   | "({0} < {1})"         | constant [] | all |a, b| a < b;
    Le        "le"         relation Num   | "({0} <= {1})"  | "({0} <= {1})"        | constant [] | all |a, b| a <= b;
    Gt        "gt"         relation Num   | "({0} > {1})"   | "({0} > {1})"         | constant [] | all |a, b| a > b;
    Ge        "ge"         relation Num   | "({0} >= {1})"  | "({0} >= {1})"        | constant [] | all |a, b| a >= b;
    And       "and"        binary   Bits  | "({0} & {1})"   | "({0} & {1})"         | constant [] | all |a, b| a & b;
    Or        "or"         binary   Bits  | "({0} | {1})"   | "({0} | {1})"         | constant [] | all |a, b| a | b;
    Xor       "xor"        binary   Bits  | "({0} ^ {1})"   | "adsl_xor({0}, {1})"  | constant [] | all |a, b| a ^ b;
    Not       "not"        unary    Bits  | "(!{0})"        | "adsl_not({0})"       | constant [] | all |a| !a;
    Shl       "shl"        binary   Int   | "{0}.wrapping_shl({1} as u32)" | "({0} << u32({1}))"   | constant []
                                          | int |a, b| a.wrapping_shl(b as u32), u32 |a, b| a.wrapping_shl(b);
    Shr       "shr"        binary   Int   | "{0}.wrapping_shr({1} as u32)" | "({0} >> u32({1}))"   | constant []
                                          | int |a, b| a.wrapping_shr(b as u32), u32 |a, b| a.wrapping_shr(b);
    // Itself, but its cotangent changes its sign: as the imaginary parts of complex numbers enter and leave a kernel (`core::complex`).
    Mirror    "mirror"     unary    Float | "{0}"           | "{0}"                 | regular ["1"]   | float |a| a;
    Select    "select"     choice   Any   | "(if {0} {{ {1} }} else {{ {2} }})" | "select({2}, {1}, {0})"
                                          | regular ["0", "select(a, 1, 0)", "select(a, 0, 1)"] |;

    Exp       "exp"        unary    Float | "R::exp({0})"        | "exp({0})" f64 "adsl64_exp({0})" | singular ["y"]
                                          | float |a| a.exp();
    Exp2      "exp2"       unary    Float | "R::exp2({0})"       | "exp2({0})" f64 "adsl64_exp2({0})" | singular ["y * 0.6931471805599453"]
                                          | float |a| a.exp2();
    ExpM1     "exp_m1"     unary    Float | "R::exp_m1({0})"     | prelude "exp_m1({0})"    | singular ["y + 1"] | float |a| a.exp_m1();
    Ln        "ln"         unary    Float | "R::ln({0})"         | prelude "ln({0})"        | singular ["1 / a"] | float |a| a.ln();
    Log2      "log2"       unary    Float | "R::log2({0})"       | "(adsl_ln({0}) * 1.4426950408889634)" f64 "adsl64_log2({0})"
                                          | singular ["1.4426950408889634 / a"] | float |a| a.log2();
    Log10     "log10"      unary    Float | "R::log10({0})"      | "(adsl_ln({0}) * 0.4342944819032518)" f64 "adsl64_log10({0})"
                                          | singular ["0.4342944819032518 / a"] | float |a| a.log10();
    Ln1p      "ln_1p"      unary    Float | "R::ln_1p({0})"      | prelude "ln_1p({0})"     | singular ["1 / (1 + a)"]
                                          | float |a| a.ln_1p();
    Sqrt      "sqrt"       unary    Float | "{0}.sqrt()"         | "sqrt({0})"              | singular ["0.5 / y"] | float |a| a.sqrt();
    Cbrt      "cbrt"       unary    Float | "R::cbrt({0})"       | prelude "cbrt({0})"      | singular ["1 / (3 * y * y)"]
                                          | float |a| a.cbrt();
    Recip     "recip"      unary    Float | "(1.0 / {0})"        | "(1.0 / {0})" f64 "(1.0lf / {0})" | singular ["-y * y"]
                                          | float |a| 1.0 / a;
    Sin       "sin"        unary    Float | "R::sin({0})"        | prelude "sin({0})"       | singular ["cos(a)"] | float |a| a.sin();
    Cos       "cos"        unary    Float | "R::cos({0})"        | prelude "cos({0})"       | singular ["-sin(a)"] | float |a| a.cos();
    Tan       "tan"        unary    Float | "R::tan({0})"        | prelude "tan({0})"       | singular ["1 + y * y"] | float |a| a.tan();
    Asin      "asin"       unary    Float | "R::asin({0})"       | prelude "asin({0})"      | singular ["1 / sqrt(1 - a * a)"]
                                          | float |a| a.asin();
    Acos      "acos"       unary    Float | "R::acos({0})"       | prelude "acos({0})"      | singular ["-1 / sqrt(1 - a * a)"]
                                          | float |a| a.acos();
    Atan      "atan"       unary    Float | "R::atan({0})"       | prelude "atan({0})"      | regular ["1 / (1 + a * a)"]
                                          | float |a| a.atan();
    Sinh      "sinh"       unary    Float | "R::sinh({0})"       | prelude "sinh({0})"      | singular ["cosh(a)"] | float |a| a.sinh();
    Cosh      "cosh"       unary    Float | "R::cosh({0})"       | prelude "cosh({0})"      | singular ["sinh(a)"] | float |a| a.cosh();
    Tanh      "tanh"       unary    Float | "R::tanh({0})"       | prelude "tanh({0})"      | regular ["1 - y * y"] | float |a| a.tanh();
    Sigmoid   "sigmoid"    unary    Float | "R::sigmoid({0})"    | prelude "sigmoid({0})"   | regular ["y * (1 - y)"]
                                          | float |a| if a >= 0.0 { 1.0 / (1.0 + (-a).exp()) } else { a.exp() / (1.0 + a.exp()) };
    Atan2     "atan2"      binary   Float | "R::atan2({0}, {1})" | prelude "atan2({0}, {1})"
                                          | singular ["b / (a * a + b * b)", "-a / (a * a + b * b)"] | float |a, b| a.atan2(b);
    Hypot     "hypot"      binary   Float | "R::hypot({0}, {1})" | prelude "hypot({0}, {1})" | singular ["a / y", "b / y"]
                                          | float |a, b| a.hypot(b);
    Powf      "powf"       binary   Float | "R::powf({0}, {1})"  | prelude "powf({0}, {1})"
                                          | singular ["select(b == 0, 0, b * powf(a, b - 1))", "select(and(a == 0, b >= 0), 0, y * ln(a))"]
                                          | float |a, b| a.powf(b);
    Powi      "powi"       power    Float | "R::powi({0}, {1})"  | "adsl_powi({0}, {1})"    | singular ["powi_slope(a, b)", "0"]
                                          | float special::powi;
    Asinh     "asinh"      unary    Float | "R::asinh({0})"      | prelude "asinh({0})"     | regular ["1 / hypot(a, 1)"]
                                          | float |a| a.asinh();
    Acosh     "acosh"      unary    Float | "R::acosh({0})"      | prelude "acosh({0})"     | singular ["1 / (sqrt(a - 1) * sqrt(a + 1))"]
                                          | float |a| a.acosh();
    Atanh     "atanh"      unary    Float | "R::atanh({0})"      | prelude "atanh({0})"     | singular ["1 / ((1 - a) * (1 + a))"]
                                          | float |a| a.atanh();
    Erf       "erf"        unary    Float | "R::erf({0})"        | prelude "erf({0})"       | regular ["1.1283791670955126 * exp(-a * a)"]
                                          | float |a| special::erf(a) as _;
    Erfc      "erfc"       unary    Float | "R::erfc({0})"       | prelude "erfc({0})"      | regular ["-1.1283791670955126 * exp(-a * a)"]
                                          | float |a| special::erfc(a) as _;
    Lgamma    "lgamma"     unary    Float | "R::lgamma({0})"     | prelude "lgamma({0})"    | singular ["digamma(a)"]
                                          | float |a| special::lgamma(a) as _;
    Digamma   "digamma"    unary    Float | "R::digamma({0})"    | prelude "digamma({0})"   | singular ["polygamma(1, a)"]
                                          | float |a| special::digamma(a) as _;
    Polygamma "polygamma"  binary   Float | "R::polygamma({0}, {1})" | prelude "polygamma({0}, {1})" | singular ["0", "polygamma(a + 1, b)"]
                                          | float |a, b| special::polygamma(a, b) as _;
    Floor     "floor"      unary    Float | "{0}.floor()"        | "floor({0})" f64 "adsl64_floor({0})" | constant []
                                          | float |a| a.floor();
    Ceil      "ceil"       unary    Float | "{0}.ceil()"         | "ceil({0})" f64 "adsl64_ceil({0})" | constant []
                                          | float |a| a.ceil();
    Round     "round"      unary    Float | "{0}.round()"        | prelude "round({0})"     | constant []        | float |a| a.round();
    Trunc     "trunc"      unary    Float | "{0}.trunc()"        | "trunc({0})" f64 "adsl64_trunc({0})" | constant []
                                          | float |a| a.trunc();
    IsNan     "is_nan"     test     Float | "{0}.is_nan()"       | prelude "is_nan({0})"    | constant []        | float |a| a.is_nan();
    IsFinite  "is_finite"  test     Float | "{0}.is_finite()"    | prelude "is_finite({0})" | constant []        | float |a| a.is_finite();
}

impl Op {
    /// The name in printed IR; casts print as `as_f64` and the like.
    pub fn name(self) -> String {
        match self {
            Op::Cast(e) => format!("as_{e}"),
            Op::Complex => "of_parts".into(),
            Op::Re => "re_of".into(),
            Op::Im => "im_of".into(),
            op => op.row().map_or_else(String::new, |r| r.name.to_string()),
        }
    }

    /// The function of that printed name.
    pub fn from_name(name: &str) -> Option<Op> {
        static NAMES: OnceLock<FxHashMap<&'static str, Op>> = OnceLock::new();
        if let Some(e) = name.strip_prefix("as_").and_then(Elem::from_printed) {
            return Some(Op::Cast(e));
        }
        if let Some(op) = [Op::Complex, Op::Re, Op::Im].into_iter().find(|op| op.name() == name) {
            return Some(op);
        }
        NAMES.get_or_init(|| TABLE.iter().map(|r| (r.name, r.op)).collect()).get(name).copied()
    }

    /// Number of arguments.
    pub fn arity(self) -> usize {
        self.row().map_or(1 + usize::from(self == Op::Complex), |r| r.arity)
    }

    /// Whether it is a function of complex numbers too, as they are in Core; other functions of these are texts (`elaborate::complex`).
    pub fn is_of_complex(self) -> bool {
        use Op::*;
        matches!(self, Add | Sub | Mul | Div | Neg | Eq | Ne | Select | Cast(_) | Re | Im)
    }

    /// The result type, given the arguments' types.
    pub fn result(self, args: &[Elem]) -> Elem {
        match self {
            Op::Cast(e) => e,
            Op::Select => args[1],
            Op::Re | Op::Im => args[0].part(),
            Op::Complex => args[0].complex().unwrap_or(args[0]),
            op => match op.row().map(|r| r.gives) {
                Some(Gives::Bool) => Elem::Bool,
                _ => args[0],
            },
        }
    }

    /// Whether evaluating this anywhere is harmless and nearly free: constants, comparisons and integer or float
    /// arithmetic that cannot fail. Such code may be executed speculatively and repeated.
    pub fn is_cheap(self) -> bool {
        use Op::*;
        matches!(
            self,
            Add | Sub
                | Mul
                | Scale
                | Neg
                | Abs
                | Signum0
                | Min
                | Max
                | Eq
                | Ne
                | Lt
                | Le
                | Gt
                | Ge
                | And
                | Or
                | Xor
                | Not
                | Shl
                | Shr
                | Select
                | Cast(_)
                | Floor
                | Mirror
                | Complex
                | Re
                | Im
                | Trunc
                | Ceil
                | IsNan
                | IsFinite
        )
    }

    /// Whether loops around it are vectorized: cheap functions, those of processors, and those that the runtime has its own code for.
    pub fn has_vectors(self) -> bool {
        use Op::*;
        let own = matches!(
            self,
            Exp | Exp2
                | ExpM1
                | Ln
                | Log2
                | Log10
                | Ln1p
                | Sin
                | Cos
                | Tan
                | Sinh
                | Cosh
                | Tanh
                | Sigmoid
                | Powf
                | Asin
                | Acos
                | Atan
                | Atan2
                | Asinh
                | Acosh
                | Atanh
                | Erf
                | Erfc
                | Cbrt
                | Hypot
        );
        own || self.is_instruction()
    }

    /// Whether it is one instruction or a few, also of a vector.
    pub fn is_instruction(self) -> bool {
        self.is_cheap() || matches!(self, Op::Div | Op::Sqrt | Op::Recip | Op::Signum)
    }

    /// Whether vectors compute it much faster than one number at a time.
    pub fn takes_long(self) -> bool {
        self.has_vectors() && !self.is_instruction()
    }

    /// Whether integer arguments can make this fail (division by zero).
    pub fn can_fail(self) -> bool {
        matches!(self, Op::Div | Op::Rem | Op::RemEuclid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_enum() {
        for r in TABLE {
            assert_eq!(r.op.row().map(|s| s.name), Some(r.name));
            assert_eq!(Op::from_name(r.name), Some(r.op));
        }
    }
}
