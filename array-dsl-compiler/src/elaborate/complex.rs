//! Complex numbers, `Complex<f32>` and `Complex<f64>`: how they are made and taken apart, and their functions.
//!
//! They are scalars here and in Core, so that everything of scalars, rank lifting above all, is as for others; `core::complex` makes two
//! numbers of each. What Core has of them is arithmetic, comparison for equality, choice, and their parts
//! ([`Op::is_of_complex`](crate::scalar::Op::is_of_complex)). **Everything else is a text in the language itself**, and named as in
//! num-complex. The branch cut of the logarithm and of powers is the negative half of the real axis, where the sign of the imaginary part,
//! if that is zero, says the side; those of the inverse functions follow from it.
//!
//! * A real operand of `+`, `-`, `*`, `/` is a complex number without imaginary part, and costs no more than it must.
//! * Complex numbers have no order: no `<`, `max`, `sort`.
//! * The methods that only complex numbers have (`z.norm()`) are no built-in functions: kernels and variables may have their names.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::value::Value;
use crate::core::Atom;
use crate::diagnostics::Code;
use crate::scalar::Op;
use crate::syntax::ast::Path;
use crate::ty::{Const, Elem, Name};

/// A function: its name, the parameters of its text, and the text.
struct Text {
    name: &'static str,
    params: &'static [(&'static str, usize)],
    body: &'static str,
}

const fn text(name: &'static str, params: &'static [(&'static str, usize)], body: &'static str) -> Text {
    Text { name, params, body }
}

const Z: &[(&str, usize)] = &[("z", 0)];

/// What makes complex numbers: `Complex::new(x, y)`. `new` itself is a function of Core.
static CONSTRUCTORS: &[Text] = &[
    text("Complex::from_polar", &[("r", 0), ("theta", 0)], "Complex::new(r * cos(theta), r * sin(theta))"),
    text("Complex::cis", &[("theta", 0)], "Complex::new(cos(theta), sin(theta))"),
    text("Complex::i", &[], "Complex::I"),
];

/// The functions of complex numbers that are in no table of functions of real ones, and those that are, as what they are of complex ones.
#[rustfmt::skip]
static FUNCTIONS: &[Text] = &[
    text("conj", Z, "Complex::new(z.re, -z.im)"),
    // At 0, where it has no derivative, that is 0.
    text("norm", Z, "{ let r = hypot(z.re, z.im); if r == 0.0 { 0.0 } else { r } }"),
    text("norm_sqr", Z, "z.re * z.re + z.im * z.im"),
    text("l1_norm", Z, "abs(z.re) + abs(z.im)"),
    text("arg", Z, "atan2(z.im, z.re)"),
    text("to_polar", Z, "(hypot(z.re, z.im), atan2(z.im, z.re))"),
    text("scale", &[("z", 0), ("t", 0)], "Complex::new(z.re * t, z.im * t)"),
    text("unscale", &[("z", 0), ("t", 0)], "Complex::new(z.re / t, z.im / t)"),
    text("inv", Z, "1.0 / z"),
    text("finv", Z, "1.0 / z"),
    text("fdiv", &[("z", 0), ("w", 0)], "z / w"),
    text("powu", &[("z", 0), ("n", 0)], "powi(z, n)"),
    text("powc", &[("z", 0), ("w", 0)], "{ let r = z.norm(); let t = z.arg(); if r == 0.0 { if w == 0.0 { Complex::ONE } else { Complex::ZERO } } else { Complex::from_polar(powf(r, w.re) * exp(-w.im * t), w.re * t + w.im * ln(r)) } }"),
    text("expf", &[("z", 0), ("base", 0)], "exp(z * ln(base))"),

    // Functions of real numbers too.
    text("abs", Z, "z.norm()"),
    text("recip", Z, "1.0 / z"),
    text("exp", Z, "{ let r = exp(z.re); Complex::new(r * cos(z.im), r * sin(z.im)) }"),
    text("exp2", Z, "exp(z * 0.6931471805599453)"),
    text("ln", Z, "Complex::new(ln(hypot(z.re, z.im)), atan2(z.im, z.re))"),
    text("log2", Z, "ln(z) * 1.4426950408889634"),
    text("log10", Z, "ln(z) * 0.4342944819032518"),
    text("powi", &[("z", 0), ("n", 0)], "Complex::from_polar(powi(z.norm(), n), z.arg() * (n as _))"),
    text("powf", &[("z", 0), ("x", 0)], "Complex::from_polar(powf(z.norm(), x), z.arg() * x)"),
    // The larger of its parts is a sum, the other a quotient by it: nothing cancels. At 0, where the function has no derivative, it is 0.
    text("sqrt", Z, "{ let r = hypot(z.re, z.im); let t = sqrt(0.5 * (r + abs(z.re))); if r == 0.0 { Complex::ZERO } else if z.re >= 0.0 { Complex::new(t, 0.5 * z.im / t) } else { Complex::new(0.5 * abs(z.im) / t, copysign(t, z.im)) } }"),
    text("cbrt", Z, "Complex::from_polar(cbrt(z.norm()), z.arg() / 3.0)"),
    text("sin", Z, "Complex::new(sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im))"),
    text("cos", Z, "Complex::new(cos(z.re) * cosh(z.im), -sin(z.re) * sinh(z.im))"),
    // By functions that stay finite however far from the real axis.
    text("tan", Z, "{ let t = tan(z.re); let h = tanh(z.im); let d = 1.0 + t * t * h * h; Complex::new(t * (1.0 - h) * (1.0 + h) / d, h * (1.0 + t * t) / d) }"),
    text("sinh", Z, "Complex::new(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im))"),
    text("cosh", Z, "Complex::new(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im))"),
    text("tanh", Z, "{ let h = tanh(z.re); let t = tan(z.im); let d = 1.0 + t * t * h * h; Complex::new(h * (1.0 + t * t) / d, t * (1.0 - h) * (1.0 + h) / d) }"),
    text("asin", Z, "-Complex::I * ln(sqrt(1.0 - z * z) + Complex::I * z)"),
    text("acos", Z, "-Complex::I * ln(Complex::I * sqrt(1.0 - z * z) + z)"),
    text("atan", Z, "(ln(1.0 + Complex::I * z) - ln(1.0 - Complex::I * z)) / Complex::new(0.0, 2.0)"),
    text("asinh", Z, "ln(z + sqrt(1.0 + z * z))"),
    text("acosh", Z, "2.0 * ln(sqrt((z + 1.0) * 0.5) + sqrt((z - 1.0) * 0.5))"),
    text("atanh", Z, "(ln(1.0 + z) - ln(1.0 - z)) * 0.5"),
    text("is_nan", Z, "is_nan(z.re) || is_nan(z.im)"),
    text("is_finite", Z, "is_finite(z.re) && is_finite(z.im)"),
];

/// The product of matrices, of which the first, the second, or both are complex: by products of real ones, which have code of their own.
const PRODUCTS: [([bool; 2], &str); 3] = [
    ([true, false], "Complex::new(matmul(a.re, b), matmul(a.im, b))"),
    ([false, true], "Complex::new(matmul(a, b.re), matmul(a, b.im))"),
    (
        [true, true],
        "Complex::new(matmul(a.re, b.re) - matmul(a.im, b.im), matmul(a.re, b.im) + matmul(a.im, b.re))",
    ),
];

/// The greatest constant power that is multiplied out.
const MULTIPLIED: u64 = 64;

/// One for each number.
const ONES: Text = text("powi", Z, "Complex::ONE");

/// What a path with `Complex` before its last name is: `Complex::new`, `num_complex::Complex64::I`.
fn member_of_complex(p: &Path) -> Option<(Option<Elem>, &str)> {
    let [.., ty, name] = p.segments.as_slice() else { return None };
    let part = match &*ty.name {
        "Complex" => None,
        "Complex32" => Some(Elem::F32),
        "Complex64" => Some(Elem::F64),
        _ => return None,
    };
    Some((part, &name.name))
}

/// The name under which a function of a path such as `Complex::new` is called: that path without what is before it.
pub(super) fn constructor(p: &Path) -> Option<Name> {
    let (part, name) = member_of_complex(p)?;
    let full = format!("Complex::{name}");
    let known = name == "new" || CONSTRUCTORS.iter().any(|t| t.name == full);
    let suffix = part.map_or("", |e| if e == Elem::F32 { "32" } else { "64" });
    known.then(|| format!("Complex{suffix}::{name}").into())
}

/// Whether a function of real numbers is one of complex numbers too.
pub(super) fn applies(op: Op) -> bool {
    op.is_of_complex() || FUNCTIONS.iter().any(|t| t.name == op.name())
}

impl Elaborator<'_> {
    /// Whether a value is of complex numbers.
    pub(super) fn is_of_complex(&self, v: &Value) -> bool {
        matches!(v, Value::Atom(a) if self.inference.is_complex(self.elem(*a)))
    }

    /// The text of a built-in function of arrays where it is another one for complex numbers.
    pub(super) fn text_of_complex(&self, name: &str, args: &[Value]) -> Option<&'static str> {
        let [a, b] = args else { return None };
        let complex = [a, b].map(|v| self.is_of_complex(v));
        PRODUCTS.iter().find(|(of, _)| name == "matmul" && *of == complex).map(|(_, text)| *text)
    }

    /// `Complex::I` and the like.
    pub(super) fn complex_constant(&mut self, p: &Path) -> Option<Value> {
        let (part, name) = member_of_complex(p)?;
        let (re, im) = match name {
            "I" => (0.0, 1.0),
            "ONE" => (1.0, 0.0),
            "ZERO" => (0.0, 0.0),
            _ => return None,
        };
        let part = part.unwrap_or_else(|| self.inference.float());
        let parts = [re, im].map(|x| Atom::Const(Const::float(part, x)));
        Some(Value::Atom(self.op(Op::Complex, &parts, p.span())))
    }

    /// `Complex::new(x, y)` and the like, which have a name of [`constructor`].
    pub(super) fn make_complex(&mut self, name: &str, args: &[Value], span: Span) -> Option<Value> {
        let (ty, rest) = name.split_once("::")?;
        let what = format!("`{name}`");
        let name = format!("Complex::{rest}");
        let value = match CONSTRUCTORS.iter().find(|t| t.name == name) {
            Some(t) => self.complex_text(t, what.clone(), args, span)?,
            None => self.complex_of_parts(&what, args, span)?,
        };
        let part = match ty {
            "Complex32" => Elem::F32,
            "Complex64" => Elem::F64,
            _ => return Some(value),
        };
        if let Value::Atom(a) = value {
            self.unify(self.inference.part(self.elem(a)), part, span, &what)?;
        }
        Some(value)
    }

    /// `Complex::new(x, y)`.
    fn complex_of_parts(&mut self, what: &str, args: &[Value], span: Span) -> Option<Value> {
        if args.len() != 2 {
            self.argument_count(what.trim_matches('`'), 2, args.len(), span);
            return None;
        }
        let atoms = self.plain_atoms(what, args, span)?;
        for a in &atoms {
            self.inference.settle_for_float(self.elem(*a));
        }
        if let Some(other) = atoms.iter().find(|a| !self.inference.is_float(self.elem(**a))) {
            let found = self.inference.describe(self.elem(*other));
            let message = format!("{what} takes two floats, found {found}");
            self.error(Code::ElementType, span, message, "convert them first: `x as f64`");
            return None;
        }
        self.unify(self.elem(atoms[1]), self.elem(atoms[0]), span, what)?;
        self.lift(what, &[0, 0], &atoms, span, &mut |e, cells| {
            Some(Value::Atom(e.op(Op::Complex, cells, span)))
        })
    }

    /// `z.re`, `z.im`.
    pub(super) fn complex_part(&mut self, z: Atom, name: &str, span: Span) -> Option<Value> {
        let op = match name {
            "re" => Op::Re,
            "im" => Op::Im,
            _ => return None,
        };
        self.lift(&format!("`.{name}`"), &[0], &[z], span, &mut |e, cells| {
            Some(Value::Atom(e.op(op, cells, span)))
        })
    }

    /// A method of complex numbers that is no built-in function, if there is one of this name.
    pub(super) fn complex_method(&mut self, name: &str, args: &[Value], span: Span) -> Option<Option<Value>> {
        let text = FUNCTIONS.iter().find(|t| t.name == name)?;
        Some(self.complex_text(text, format!("`{name}`"), args, span))
    }

    /// A scalar function of which some arguments are complex.
    pub(super) fn apply_to_complex(
        &mut self,
        op: Op,
        name: &str,
        args: &[Value],
        span: Span,
    ) -> Option<Value> {
        if op.is_of_complex() {
            return self.complex_arithmetic(op, name, args, span);
        }
        if let (Op::Powi, [z, Value::Atom(Atom::Const(n))]) = (op, args)
            && !self.inference.is_float(n.elem)
            && (n.raw() as i64).unsigned_abs() <= MULTIPLIED
        {
            return self.multiplied(z, n.raw() as i64, span);
        }
        let is_first = args.first().is_some_and(|z| self.is_of_complex(z));
        match FUNCTIONS.iter().find(|t| t.name == op.name() && is_first) {
            Some(text) => self.complex_text(text, name.into(), args, span),
            None => {
                let help = match op {
                    Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Min | Op::Max => {
                        "complex numbers have no order: compare their norms, or their parts"
                    }
                    Op::Powf => "a power with a complex exponent is `z.powc(w)`",
                    _ => "it is of real numbers: take `z.re`, `z.im` or `z.norm()`",
                };
                self.error(
                    Code::ElementType,
                    span,
                    format!("{name} does not apply to complex numbers"),
                    help,
                );
                None
            }
        }
    }

    /// `+ - * / == !=`, negation and choice. What is real among the operands becomes complex.
    fn complex_arithmetic(&mut self, op: Op, name: &str, args: &[Value], span: Span) -> Option<Value> {
        let atoms = self.plain_atoms(name, args, span)?;
        // The condition of a choice is neither.
        let first = usize::from(op == Op::Select);
        let operands = &atoms[first..];
        if op == Op::Select {
            self.unify(self.elem(atoms[0]), Elem::Bool, span, "the condition of `select`")?;
        }
        let complex = operands.iter().map(|a| self.elem(*a)).find(|e| self.inference.is_complex(*e))?;
        let part = self.inference.part(complex);
        for a in operands {
            let elem = self.elem(*a);
            let expected = if self.inference.is_complex(elem) { complex } else { part };
            self.unify(elem, expected, span, name)?;
        }
        self.lift(name, &vec![0; atoms.len()], &atoms, span, &mut |e, cells| {
            let mut cells = cells.to_vec();
            for a in &mut cells[first..] {
                if !e.inference.is_complex(e.elem(*a)) {
                    *a = e.cast(*a, complex, span);
                }
            }
            Some(Value::Atom(e.op(op, &cells, span)))
        })
    }

    /// A constant whole power: by squares.
    fn multiplied(&mut self, z: &Value, n: i64, span: Span) -> Option<Value> {
        let multiply = |e: &mut Self, a: &Value, b: &Value| {
            e.apply_operator(Op::Mul, "`powi`", &[a.clone(), b.clone()], span)
        };
        let (mut square, mut left) = (z.clone(), n.unsigned_abs());
        let mut power: Option<Value> = None;
        while left > 0 {
            if left % 2 == 1 {
                power = Some(match power {
                    Some(p) => multiply(self, &p, &square)?,
                    None => square.clone(),
                });
            }
            left /= 2;
            if left > 0 {
                square = multiply(self, &square, &square)?;
            }
        }
        let one = Value::Atom(Atom::Const(Const::float(self.inference.float(), 1.0)));
        match power {
            Some(p) if n < 0 => self.apply_operator(Op::Div, "`powi`", &[one, p], span),
            Some(p) => Some(p),
            None => {
                let ones = self.complex_text(&ONES, "`powi`".into(), std::slice::from_ref(z), span)?;
                if let (Value::Atom(a), Value::Atom(z)) = (&ones, z) {
                    self.unify(self.elem(*a), self.elem(*z), span, "`powi`")?;
                }
                Some(ones)
            }
        }
    }

    fn complex_text(&mut self, t: &Text, what: String, args: &[Value], span: Span) -> Option<Value> {
        if args.len() != t.params.len() {
            let names: Vec<&str> = t.params.iter().map(|(p, _)| *p).collect();
            let usage = match names.split_first() {
                Some((first, rest)) if !t.name.contains("::") => {
                    format!("{first}.{}({})", t.name, rest.join(", "))
                }
                _ => format!("{}({})", t.name, names.join(", ")),
            };
            let message = format!(
                "{what} of complex numbers takes {}, found {}",
                super::call::count(t.params.len(), "argument"),
                args.len()
            );
            self.error(Code::ArgumentCount, span, message, format!("write `{usage}`"));
            return None;
        }
        // Not the name of the function of real numbers, whose text may be another.
        self.apply_text(t.body, t.params, t.body, &Call { what, args, span })
    }
}
