//! The table of scalar functions. One row is everything any pass knows about a function: its name in kernels
//! and in printed IR, its type, its partial derivatives, its text in Rust and in WGSL, and what it gives.
//!
//! Partial derivatives are written in a tiny infix language over the arguments `a`, `b`, `c` and the result
//! `y`, with the functions of this same table; `parse_partial` turns the text into a tree once. A row marked
//! `singular` has partials that can be infinite or NaN where the function itself is defined; there a cotangent
//! (or tangent) that is exactly zero contributes exactly zero.

mod special;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::ty::Elem;

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
#[derive(Debug)]
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
    /// Rust text for floats and booleans, with `{0}`, `{1}`, `{2}` for the arguments and `R::` for the runtime's `Real`.
    pub rust: &'static str,
    /// Rust text for integers where it differs; empty: the same.
    pub rust_int: &'static str,
    /// WGSL text; a name starting with `adsl_` is defined by the WGSL prelude.
    pub wgsl: &'static str,
    /// WGSL text for `f64` where it differs, because drivers get the built-in function wrong; empty: the same.
    pub wgsl64: &'static str,
    /// The partial derivative by each argument; empty: the function is locally constant.
    pub partials: &'static [&'static str],
    /// See the module header.
    pub singular: bool,
    /// What it gives.
    pub meaning: Meaning,
}

/// What a function gives, as the interpreters evaluate it: in the type itself, not through another one.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// Of one float.
    Unary(fn(f32) -> f32, fn(f64) -> f64),
    /// Of two floats.
    Binary(fn(f32, f32) -> f32, fn(f64, f64) -> f64),
    /// A truth about one float.
    Test(fn(f32) -> bool, fn(f64) -> bool),
    /// What `value::apply` says: functions of several kinds of types.
    Own,
}

macro_rules! meaning {
    (unary $value:expr) => {
        Meaning::Unary($value, $value)
    };
    (binary $value:expr) => {
        Meaning::Binary($value, $value)
    };
    (test $value:expr) => {
        Meaning::Test($value, $value)
    };
    (own) => {
        Meaning::Own
    };
}

macro_rules! table {
    ($( $op:ident $name:literal $arity:literal $class:ident $gives:ident | $rust:literal $int:literal | $wgsl:literal $wgsl64:literal | [$($p:literal),*] $singular:literal | $meaning:ident $(($value:expr))?; )*) => {
        /// A scalar function. `Cast` is the only one with a parameter and is not in the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the table documents them")]
        pub enum Op { $($op,)* Cast(Elem) }

        /// All rows.
        pub static TABLE: &[Row] = &[$(Row {
            op: Op::$op, name: $name, arity: $arity, class: Class::$class, gives: Gives::$gives,
            rust: $rust, rust_int: $int, wgsl: $wgsl, wgsl64: $wgsl64, partials: &[$($p),*], singular: $singular,
            meaning: meaning!($meaning $($value)?),
        },)*];

        impl Op {
            /// The function's row; `None` for casts.
            pub fn row(self) -> Option<&'static Row> {
                #[allow(non_upper_case_globals, reason = "named after the variants")]
                mod index {
                    #[derive(Clone, Copy)]
                    pub enum Index { $($op,)* }
                }
                match self { $(Op::$op => Some(&TABLE[index::Index::$op as usize]),)* Op::Cast(_) => None }
            }
        }
    };
}

table! {
//  op        name       n class gives | Rust (floats)           Rust (integers)          | WGSL                    for f64 where it differs   | partials, singular | value
    Add       "add"      2 Num   Same | "({0} + {1})"            "{0}.wrapping_add({1})"  | "({0} + {1})"           ""                         | ["1", "1"] false | own;
    Sub       "sub"      2 Num   Same | "({0} - {1})"            "{0}.wrapping_sub({1})"  | "({0} - {1})"           ""                         | ["1", "-1"] false | own;
    Mul       "mul"      2 Num   Same | "({0} * {1})"            "{0}.wrapping_mul({1})"  | "({0} * {1})"           ""                         | ["b", "a"] false | own;
    Div       "div"      2 Num   Same | "({0} / {1})"            "D::quotient({0}, {1}, status, SITE)" | "({0} / {1})"           ""                         | ["1 / b", "-y / b"] true | own;
    Scale     "scale"    2 Float Same | "R::scale({0}, {1})"     ""                       | "adsl_scaled({0}, {1})" "adsl64_scaled({0}, {1})"  | ["b", "a"] true | binary(|a, b| if a == 0.0 { 0.0 } else { a * b });
    Rem       "rem"      2 Num   Same | "({0} % {1})"            "D::remainder({0}, {1}, status, SITE)" | "({0} % {1})"           ""                         | ["1", "-trunc(a / b)"] true | own;
    RemEuclid "rem_euclid" 2 Num Same | "{0}.rem_euclid({1})"    "D::remainder_euclid({0}, {1}, status, SITE)" | "adsl_rem_euclid({0}, {1})" ""                         | ["1", "select(b >= 0, -floor(a / b), -ceil(a / b))"] true | own;
    Neg       "neg"      1 Num   Same | "(-{0})"                 "{0}.wrapping_neg()"     | "(-{0})"                ""                         | ["-1"] false | own;
    Abs       "abs"      1 Num   Same | "{0}.abs()"              "{0}.wrapping_abs()"     | "abs({0})"              ""                         | ["signum0(a)"] false | own;
    Signum0   "signum0"  1 Num   Same | "R::signum0({0})"        "{0}.signum()"           | "sign({0})"             ""                         | [] false | own;
    Signum    "signum"   1 Float Same | "{0}.signum()"           ""                       | "adsl_signum({0})"      "adsl64_signum({0})"       | [] false | unary(|a| a.signum());
    Min       "min"      2 Num   Same | "R::min({0}, {1})"       "{0}.min({1})"           | "min({0}, {1})"         ""                         | ["select(a == y, 1, 0)", "select(a == y, 0, 1)"] false | own;
    Max       "max"      2 Num   Same | "R::max({0}, {1})"       "{0}.max({1})"           | "max({0}, {1})"         ""                         | ["select(a == y, 1, 0)", "select(a == y, 0, 1)"] false | own;
    Eq        "eq"       2 Any   Bool | "({0} == {1})"           ""                       | "({0} == {1})"          ""                         | [] false | own;
    Ne        "ne"       2 Any   Bool | "({0} != {1})"           ""                       | "({0} != {1})"          ""                         | [] false | own;
    Lt        "lt"       2 Num   Bool | "({0} < {1})"            ""                       | "({0} < {1})"           ""                         | [] false | own;
    Le        "le"       2 Num   Bool | "({0} <= {1})"           ""                       | "({0} <= {1})"          ""                         | [] false | own;
    Gt        "gt"       2 Num   Bool | "({0} > {1})"            ""                       | "({0} > {1})"           ""                         | [] false | own;
    Ge        "ge"       2 Num   Bool | "({0} >= {1})"           ""                       | "({0} >= {1})"          ""                         | [] false | own;
    And       "and"      2 Bits  Same | "({0} & {1})"            ""                       | "({0} & {1})"           ""                         | [] false | own;
    Or        "or"       2 Bits  Same | "({0} | {1})"            ""                       | "({0} | {1})"           ""                         | [] false | own;
    Xor       "xor"      2 Bits  Same | "({0} ^ {1})"            ""                       | "adsl_xor({0}, {1})"    ""                         | [] false | own;
    Not       "not"      1 Bits  Same | "(!{0})"                 ""                       | "adsl_not({0})"         ""                         | [] false | own;
    Shl       "shl"      2 Int   Same | "{0}.wrapping_shl({1} as u32)" ""                 | "({0} << u32({1}))"     ""                         | [] false | own;
    Shr       "shr"      2 Int   Same | "{0}.wrapping_shr({1} as u32)" ""                 | "({0} >> u32({1}))"     ""                         | [] false | own;
    Select    "select"   3 Any   Same | "(if {0} {{ {1} }} else {{ {2} }})" ""            | "select({2}, {1}, {0})" ""                         | ["0", "select(a, 1, 0)", "select(a, 0, 1)"] false | own;
    Exp       "exp"      1 Float Same | "R::exp({0})"            ""                       | "exp({0})"              "adsl64_exp({0})"          | ["y"] true | unary(|a| a.exp());
    Exp2      "exp2"     1 Float Same | "R::exp2({0})"           ""                       | "exp2({0})"             "adsl64_exp2({0})"         | ["y * 0.6931471805599453"] true | unary(|a| a.exp2());
    ExpM1     "exp_m1"   1 Float Same | "R::exp_m1({0})"         ""                       | "adsl_exp_m1({0})"      "adsl64_exp_m1({0})"       | ["y + 1"] true | unary(|a| a.exp_m1());
    Ln        "ln"       1 Float Same | "R::ln({0})"             ""                       | "adsl_ln({0})"          "adsl64_ln({0})"           | ["1 / a"] true | unary(|a| a.ln());
    Log2      "log2"     1 Float Same | "R::log2({0})"           ""                       | "(adsl_ln({0}) * 1.4426950408889634)" "adsl64_log2({0})"         | ["1.4426950408889634 / a"] true | unary(|a| a.log2());
    Log10     "log10"    1 Float Same | "R::log10({0})"          ""                       | "(adsl_ln({0}) * 0.4342944819032518)" "adsl64_log10({0})"        | ["0.4342944819032518 / a"] true | unary(|a| a.log10());
    Ln1p      "ln_1p"    1 Float Same | "R::ln_1p({0})"          ""                       | "adsl_ln_1p({0})"       "adsl64_ln_1p({0})"        | ["1 / (1 + a)"] true | unary(|a| a.ln_1p());
    Sqrt      "sqrt"     1 Float Same | "{0}.sqrt()"             ""                       | "sqrt({0})"             ""                         | ["0.5 / y"] true | unary(|a| a.sqrt());
    Cbrt      "cbrt"     1 Float Same | "R::cbrt({0})"           ""                       | "adsl_cbrt({0})"        "adsl64_cbrt({0})"         | ["1 / (3 * y * y)"] true | unary(|a| a.cbrt());
    Recip     "recip"    1 Float Same | "(1.0 / {0})"            ""                       | "(1.0 / {0})"           "(1.0lf / {0})"            | ["-y * y"] true | unary(|a| 1.0 / a);
    Sin       "sin"      1 Float Same | "R::sin({0})"            ""                       | "adsl_sin({0})"         "adsl64_sin({0})"          | ["cos(a)"] true | unary(|a| a.sin());
    Cos       "cos"      1 Float Same | "R::cos({0})"            ""                       | "adsl_cos({0})"         "adsl64_cos({0})"          | ["-sin(a)"] true | unary(|a| a.cos());
    Tan       "tan"      1 Float Same | "R::tan({0})"            ""                       | "adsl_tan({0})"         "adsl64_tan({0})"          | ["1 + y * y"] true | unary(|a| a.tan());
    Asin      "asin"     1 Float Same | "R::asin({0})"           ""                       | "adsl_asin({0})"        "adsl64_asin({0})"         | ["1 / sqrt(1 - a * a)"] true | unary(|a| a.asin());
    Acos      "acos"     1 Float Same | "R::acos({0})"           ""                       | "adsl_acos({0})"        "adsl64_acos({0})"         | ["-1 / sqrt(1 - a * a)"] true | unary(|a| a.acos());
    Atan      "atan"     1 Float Same | "R::atan({0})"           ""                       | "adsl_atan({0})"        "adsl64_atan({0})"         | ["1 / (1 + a * a)"] false | unary(|a| a.atan());
    Sinh      "sinh"     1 Float Same | "R::sinh({0})"           ""                       | "adsl_sinh({0})"        "adsl64_sinh({0})"         | ["cosh(a)"] true | unary(|a| a.sinh());
    Cosh      "cosh"     1 Float Same | "R::cosh({0})"           ""                       | "adsl_cosh({0})"        "adsl64_cosh({0})"         | ["sinh(a)"] true | unary(|a| a.cosh());
    Tanh      "tanh"     1 Float Same | "R::tanh({0})"           ""                       | "adsl_tanh({0})"        "adsl64_tanh({0})"         | ["1 - y * y"] false | unary(|a| a.tanh());
    Sigmoid   "sigmoid"  1 Float Same | "R::sigmoid({0})"        ""                       | "adsl_sigmoid({0})"     "adsl64_sigmoid({0})"      | ["y * (1 - y)"] false | unary(|a| if a >= 0.0 { 1.0 / (1.0 + (-a).exp()) } else { a.exp() / (1.0 + a.exp()) });
    Atan2     "atan2"    2 Float Same | "R::atan2({0}, {1})"     ""                       | "adsl_atan2({0}, {1})"  "adsl64_atan2({0}, {1})"   | ["b / (a * a + b * b)", "-a / (a * a + b * b)"] true | binary(|a, b| a.atan2(b));
    Hypot     "hypot"    2 Float Same | "R::hypot({0}, {1})"     ""                       | "adsl_hypot({0}, {1})"  "adsl64_hypot({0}, {1})"   | ["a / y", "b / y"] true | binary(|a, b| a.hypot(b));
    Powf      "powf"     2 Float Same | "R::powf({0}, {1})"      ""                       | "adsl_powf({0}, {1})"   "adsl64_powf({0}, {1})"    | ["select(b == 0, 0, b * powf(a, b - 1))", "select(and(a == 0, b >= 0), 0, y * ln(a))"] true | binary(|a, b| a.powf(b));
    Powi      "powi"     2 Float Same | "R::powi({0}, {1})"      ""                       | "adsl_powi({0}, {1})"   ""                         | ["powi_slope(a, b)", "0"] true | own;
    Asinh     "asinh"    1 Float Same | "R::asinh({0})"          ""                       | "adsl_asinh({0})"       "adsl64_asinh({0})"        | ["1 / hypot(a, 1)"] false | unary(|a| a.asinh());
    Acosh     "acosh"    1 Float Same | "R::acosh({0})"          ""                       | "adsl_acosh({0})"       "adsl64_acosh({0})"        | ["1 / (sqrt(a - 1) * sqrt(a + 1))"] true | unary(|a| a.acosh());
    Atanh     "atanh"    1 Float Same | "R::atanh({0})"          ""                       | "adsl_atanh({0})"       "adsl64_atanh({0})"        | ["1 / ((1 - a) * (1 + a))"] true | unary(|a| a.atanh());
    Erf       "erf"      1 Float Same | "R::erf({0})"            ""                       | "adsl_erf({0})"         "adsl64_erf({0})"          | ["1.1283791670955126 * exp(-a * a)"] false | unary(|a| special::erf(a) as _);
    Erfc      "erfc"     1 Float Same | "R::erfc({0})"           ""                       | "adsl_erfc({0})"        "adsl64_erfc({0})"         | ["-1.1283791670955126 * exp(-a * a)"] false | unary(|a| special::erfc(a) as _);
    Lgamma    "lgamma"   1 Float Same | "R::lgamma({0})"         ""                       | "adsl_lgamma({0})"      "adsl64_lgamma({0})"       | ["digamma(a)"] true | unary(|a| special::lgamma(a) as _);
    Digamma   "digamma"  1 Float Same | "R::digamma({0})"        ""                       | "adsl_digamma({0})"     "adsl64_digamma({0})"      | ["polygamma(1, a)"] true | unary(|a| special::digamma(a) as _);
    Polygamma "polygamma" 2 Float Same | "R::polygamma({0}, {1})" ""                      | "adsl_polygamma({0}, {1})" "adsl64_polygamma({0}, {1})" | ["0", "polygamma(a + 1, b)"] true | binary(|a, b| special::polygamma(a, b) as _);
    Floor     "floor"    1 Float Same | "{0}.floor()"            ""                       | "floor({0})"            "adsl64_floor({0})"        | [] false | unary(|a| a.floor());
    Ceil      "ceil"     1 Float Same | "{0}.ceil()"             ""                       | "ceil({0})"             "adsl64_ceil({0})"         | [] false | unary(|a| a.ceil());
    Round     "round"    1 Float Same | "{0}.round()"            ""                       | "adsl_round({0})"       "adsl64_round({0})"        | [] false | unary(|a| a.round());
    Trunc     "trunc"    1 Float Same | "{0}.trunc()"            ""                       | "trunc({0})"            "adsl64_trunc({0})"        | [] false | unary(|a| a.trunc());
    IsNan     "is_nan"   1 Float Bool | "{0}.is_nan()"           ""                       | "adsl_is_nan({0})"      "adsl64_is_nan({0})"       | [] false | test(|a| a.is_nan());
    IsFinite  "is_finite" 1 Float Bool | "{0}.is_finite()"       ""                       | "adsl_is_finite({0})"   "adsl64_is_finite({0})"    | [] false | test(|a| a.is_finite());
}

impl Op {
    /// The name in printed IR; casts print as `as_f64` and the like.
    pub fn name(self) -> String {
        match self {
            Op::Cast(e) => format!("as_{e}"),
            op => op.row().map_or_else(String::new, |r| r.name.to_string()),
        }
    }

    /// The function of that printed name.
    pub fn from_name(name: &str) -> Option<Op> {
        static NAMES: OnceLock<HashMap<&'static str, Op>> = OnceLock::new();
        if let Some(e) = name.strip_prefix("as_").and_then(Elem::from_name) {
            return Some(Op::Cast(e));
        }
        NAMES.get_or_init(|| TABLE.iter().map(|r| (r.name, r.op)).collect()).get(name).copied()
    }

    /// Number of arguments.
    pub fn arity(self) -> usize {
        self.row().map_or(1, |r| r.arity)
    }

    /// The result type, given the arguments' types.
    pub fn result(self, args: &[Elem]) -> Elem {
        match self {
            Op::Cast(e) => e,
            Op::Select => args[1],
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
                | Trunc
                | Ceil
                | IsNan
                | IsFinite
        )
    }

    /// Whether integer arguments can make this fail (division by zero).
    pub fn can_fail(self) -> bool {
        matches!(self, Op::Div | Op::Rem | Op::RemEuclid)
    }
}

/// A partial derivative as a tree over the arguments and the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Partial {
    /// A number.
    Number(f64),
    /// The n-th argument.
    Arg(usize),
    /// The function's result.
    Result,
    /// A function of the table; `powi_slope(a, b)` is `b * a^(b-1)` with integer `b`, zero for `b = 0`.
    Apply(Op, Vec<Partial>),
    /// `b * powi(a, b - 1)`, zero when `b` is zero.
    PowiSlope,
}

/// The partial derivatives of `op`, one per argument; empty when it is locally constant. Casts between floats
/// have the partial 1.
pub fn partials(op: Op) -> &'static [Partial] {
    static PARSED: OnceLock<HashMap<Op, Vec<Partial>>> = OnceLock::new();
    static ONE: [Partial; 1] = [Partial::Number(1.0)];
    if let Op::Cast(e) = op {
        return if e.is_float() { &ONE } else { &[] };
    }
    let parsed = PARSED.get_or_init(|| {
        TABLE.iter().map(|r| (r.op, r.partials.iter().map(|p| parse_partial(p)).collect())).collect()
    });
    parsed.get(&op).map_or(&[], |v| v.as_slice())
}

/// Parses the text of a partial derivative. The table is fixed, so a text that does not parse is a mistake in
/// the table; the test below reads every row.
fn parse_partial(text: &str) -> Partial {
    let tokens = tokenize(text);
    let mut p = PartialParser { tokens, at: 0 };
    p.comparison()
}

fn tokenize(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        let mut tok = String::new();
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if c.is_whitespace() {
            chars.next();
            continue;
        } else if word(c) {
            while let Some(&c) = chars.peek().filter(|c| word(**c)) {
                tok.push(c);
                chars.next();
            }
        } else {
            tok.push(c);
            chars.next();
            if chars.peek() == Some(&'=') {
                tok.push('=');
                chars.next();
            }
        }
        out.push(tok);
    }
    out
}

struct PartialParser {
    tokens: Vec<String>,
    at: usize,
}

impl PartialParser {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |s| s.as_str())
    }

    fn binary(&mut self, ops: &[(&str, Op)], next: fn(&mut Self) -> Partial) -> Partial {
        let mut left = next(self);
        while let Some(&(_, op)) = ops.iter().find(|(t, _)| *t == self.peek()) {
            self.at += 1;
            let right = next(self);
            left = Partial::Apply(op, vec![left, right]);
        }
        left
    }

    fn comparison(&mut self) -> Partial {
        self.binary(&[("<=", Op::Le), (">=", Op::Ge), ("==", Op::Eq)], Self::sum)
    }

    fn sum(&mut self) -> Partial {
        self.binary(&[("+", Op::Add), ("-", Op::Sub)], Self::product)
    }

    fn product(&mut self) -> Partial {
        self.binary(&[("*", Op::Mul), ("/", Op::Div)], Self::unary)
    }

    fn unary(&mut self) -> Partial {
        if self.peek() == "-" {
            self.at += 1;
            return match self.unary() {
                Partial::Number(x) => Partial::Number(-x),
                p => Partial::Apply(Op::Neg, vec![p]),
            };
        }
        let tok = self.peek().to_string();
        self.at += 1;
        match tok.as_str() {
            "(" => {
                let p = self.comparison();
                self.at += 1;
                p
            }
            "a" => Partial::Arg(0),
            "b" => Partial::Arg(1),
            "c" => Partial::Arg(2),
            "y" => Partial::Result,
            t => match t.parse::<f64>() {
                Ok(x) => Partial::Number(x),
                Err(_) => {
                    self.at += 1;
                    let mut args = vec![self.comparison()];
                    while self.peek() == "," {
                        self.at += 1;
                        args.push(self.comparison());
                    }
                    self.at += 1;
                    match Op::from_name_raw(t) {
                        Some(op) => Partial::Apply(op, args),
                        None => Partial::PowiSlope,
                    }
                }
            },
        }
    }
}

impl Op {
    fn from_name_raw(name: &str) -> Option<Op> {
        TABLE.iter().find(|r| r.name == name).map(|r| r.op)
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
            assert!(r.partials.is_empty() || r.partials.len() == r.arity, "{}", r.name);
        }
    }

    #[test]
    fn every_partial_parses_to_its_end() {
        for r in TABLE {
            for text in r.partials {
                let mut p = PartialParser { tokens: tokenize(text), at: 0 };
                let tree = p.comparison();
                assert_eq!(p.at, p.tokens.len(), "{}: {text} gave {tree:?}", r.name);
                assert_eq!(matches!(tree, Partial::PowiSlope), text.starts_with("powi_slope"), "{}", r.name);
            }
        }
    }
}
