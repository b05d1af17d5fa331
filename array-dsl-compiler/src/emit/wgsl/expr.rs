//! Scalar expressions as WGSL.
//!
//! The text of a function is its row of `scalar::TABLE`, except where WGSL has a different spelling for different
//! types, wants a guard, or lacks the function for a type; those are the arms of `Shader::op`.
//!
//! Integer division by zero fails the call at the line of the division, as on the CPU, and yields zero.

use super::shader::Shader;
use super::types::{Kind, int};
use super::words::Word;
use crate::bulk::{ArrayId, Atom};
use crate::dim::Dim;
use crate::loops::uses::Access;
use crate::scalar::{Gives, Op};
use crate::ty::{Elem, Loc};

impl Shader<'_, '_> {
    /// The text of an atom, in the type that it is computed in.
    pub(super) fn atom(&mut self, a: Atom) -> Result<String, String> {
        match a {
            Atom::Var(v) => Ok(self.var(v)),
            Atom::Const(c) => Ok(self.kind(a)?.literal(c)),
        }
    }

    /// The text of an atom as a value of type `kind`, which is its own or, for an `i64`, the longer or shorter one.
    pub(super) fn atom_as(&mut self, a: Atom, kind: Kind) -> Result<String, String> {
        match a {
            Atom::Const(c) if c.elem == Elem::I64 => Ok(kind.literal(c)),
            _ if self.kind(a)? == kind => self.atom(a),
            _ => Ok(format!("{}({})", kind.name(), self.atom(a)?)),
        }
    }

    /// The text of an index that is inside, an `i32`.
    pub(super) fn index(&mut self, a: Atom) -> Result<String, String> {
        self.atom_as(a, Kind::I32)
    }

    /// The type that an atom is computed in.
    pub(super) fn kind(&self, a: Atom) -> Result<Kind, String> {
        self.cx.kind(a)
    }

    /// The text of a function of atoms, as a value of type `to`.
    pub(super) fn op(&mut self, op: Op, args: &[Atom], to: Kind, loc: Loc) -> Result<String, String> {
        let mut kinds: Vec<Kind> = args.iter().map(|a| self.kind(*a)).collect::<Result<_, _>>()?;
        // What is computed with: the condition of a choice and the exponent of a power are apart.
        let operands = match op {
            Op::Select => 1..args.len(),
            Op::Powi => 0..1,
            _ => 0..args.len(),
        };
        let is_long =
            kinds[operands.clone()].contains(&Kind::I64) || (to == Kind::I64 && !matches!(op, Op::Cast(_)));
        for kind in &mut kinds[operands] {
            if *kind == Kind::I32 && is_long {
                *kind = Kind::I64;
            }
        }
        let mut texts: Vec<String> = Vec::with_capacity(args.len());
        for (a, kind) in args.iter().zip(&kinds) {
            texts.push(self.atom_as(*a, *kind)?);
        }
        // Overflow in a constant expression makes a shader invalid; with one operand in a variable there is none.
        if args.iter().all(|a| matches!(a, Atom::Const(_))) {
            let name = self.fresh();
            self.line(format!("var {name} = {};", texts[0]));
            texts[0] = name;
        }
        let kind = if op == Op::Select { kinds[1] } else { kinds[0] };
        let text = match op {
            Op::Cast(_) => return Ok(cast(kind, to, &texts[0])),
            Op::Powi => self.powi(kind, &texts[0], args[1], kinds[1], &texts[1]),
            _ => self.op_text(op, kind, args.get(1).copied(), &texts, loc)?,
        };
        let given = match op.row().map(|row| row.gives) {
            Some(Gives::Bool) => Kind::Bool,
            _ => kind,
        };
        Ok(if given == to { text } else { format!("{}({text})", to.name()) })
    }

    /// The text of a function computed with numbers of type `kind`; `second` is its second argument.
    fn op_text(
        &mut self,
        op: Op,
        kind: Kind,
        second: Option<Atom>,
        texts: &[String],
        loc: Loc,
    ) -> Result<String, String> {
        let constant = match second {
            Some(Atom::Const(c)) => Some(c),
            _ => None,
        };
        let (a, b) = (texts[0].as_str(), texts.get(1).map_or("", String::as_str));
        Ok(match op {
            Op::Div | Op::Rem | Op::RemEuclid if kind.is_int() => {
                let nonzero = constant.is_some_and(|c| !c.is_zero());
                match op {
                    Op::Div if nonzero => format!("({a} / {b})"),
                    Op::Rem if nonzero => format!("({a} % {b})"),
                    _ => {
                        let name = match op {
                            Op::Div => "quotient",
                            Op::Rem => "remainder",
                            _ => "rem_euclid",
                        };
                        let site = self.site(loc);
                        format!("adsl_{name}_{}({a}, {b}, {site})", kind.name())
                    }
                }
            }
            Op::Rem if kind == Kind::F64 => format!("adsl64_remainder({a}, {b})"),
            Op::Rem => format!("adsl_remainder_f32({a}, {b})"),
            Op::RemEuclid if kind == Kind::F64 => format!("adsl64_rem_euclid({a}, {b})"),
            Op::RemEuclid => format!("adsl_rem_euclid_f32({a}, {b})"),
            // naga 30 compares with `ordered and unequal`, which is false for NaN.
            Op::Ne if kind.is_float() => format!("(!({a} == {b}))"),
            Op::Neg if kind == Kind::U32 => format!("(0u - {a})"),
            Op::Signum0 if kind == Kind::U32 => format!("min({a}, 1u)"),
            Op::Xor if kind == Kind::Bool => format!("({a} != {b})"),
            Op::Xor => format!("({a} ^ {b})"),
            Op::Not if kind == Kind::Bool => format!("(!{a})"),
            Op::Not => format!("(~{a})"),
            Op::Shl | Op::Shr => {
                let sign = if op == Op::Shl { "<<" } else { ">>" };
                let is_long = second.is_some_and(|b| self.cx.program.elem(b) == Elem::I64);
                // Rust's wrapping shifts: by the amount modulo the width. An `i64` that is computed as a shorter one keeps its width,
                // and 31 places to the right are as good as more.
                let (width, most) = (if is_long { 64 } else { kind.words() * 32 }, kind.words() * 32 - 1);
                let by = match constant {
                    Some(c) => format!("{}u", (c.as_i64() & (width - 1) as i64).min(most as i64)),
                    None if width - 1 == most => format!("(u32({b}) & {most}u)"),
                    None => format!("min(u32({b}) & {}u, {most}u)", width - 1),
                };
                format!("({a} {sign} {by})")
            }
            _ => match op.row() {
                Some(row) => {
                    let mut text = kind.function(row).to_string();
                    for (k, t) in texts.iter().enumerate() {
                        text = text.replace(&format!("{{{k}}}"), t);
                    }
                    text
                }
                None => return Err(format!("the function `{}`", op.name())),
            },
        })
    }

    /// Integer powers: small constant ones are products.
    fn powi(&self, kind: Kind, x: &str, exponent: Atom, of: Kind, text: &str) -> String {
        match (exponent, kind, of) {
            (Atom::Const(c), ..) if (1..=4).contains(&c.as_i64()) => {
                format!("({})", vec![x; c.as_i64() as usize].join(" * "))
            }
            (_, Kind::F64, Kind::I64) => format!("adsl64_powi({x}, {text})"),
            (_, Kind::F64, of) => format!("adsl64_powi({x}, {})", cast(of, Kind::I64, text)),
            (_, _, Kind::U32) => format!("adsl_powu({x}, {text})"),
            (_, _, Kind::I64) => format!("adsl_powl({x}, {text})"),
            _ => format!("adsl_powi({x}, {text})"),
        }
    }

    /// The index of an element in row-major order.
    pub(super) fn offset(&mut self, array: ArrayId, index: &[Atom]) -> Result<String, String> {
        let dims = self.cx.program.arrays[array.0 as usize].dims.clone();
        if index.len() != dims.len() {
            let name = &self.cx.program.arrays[array.0 as usize].name;
            return Err(format!("`{name}` is indexed as an array private to one point"));
        }
        let root = self.cx.root(array);
        let (index, dims) = (&self.beside_points(root, index)[..], self.beside_points(root, &dims));
        // A constant index that is outside is never used, but would make the shader invalid.
        if let Some(at) = constant_offset(index, &dims) {
            let most = Dim::product(&dims).as_constant().map_or(i64::MAX, |n| n - 1);
            let at = if (0..=most).contains(&at) { at } else { 0 };
            return Ok(int(i32::try_from(at).unwrap_or(0)));
        }
        let (mut text, from) = match self.prefix(index, &dims) {
            Some((number, n)) if n == index.len() => return Ok(number),
            Some((number, n)) => (format!("i32({number})"), n),
            None => (self.index(index[0])?, 1),
        };
        for k in from..index.len() {
            let (n, i) = (self.size(&dims[k])?, self.index(index[k])?);
            text = format!("({text} * {n} + {i})");
        }
        Ok(text)
    }

    /// The text of an element as a value of type `to`, read where the indices are inside.
    fn element(&mut self, array: ArrayId, index: &[Atom], to: Kind) -> Result<String, String> {
        let root = self.cx.root(array);
        if self.cx.is_host_scalar(root) {
            // The number of a trip is short.
            let mut words = vec![self.word(Word::Scalar(root))];
            if to.words() == 2 {
                words.push(self.word(Word::High(root)));
            }
            return Ok(to.of_words(&words));
        }
        let kind = Kind::of(self.cx.program.arrays[root.0 as usize].elem)?;
        let at = self.offset(array, index)?;
        let place = format!("a{}[{at}]", root.0);
        Ok(if self.access(root)? < Access::Combine {
            kind.load(&place)
        } else {
            kind.load_atomic(&format!("atomicLoad(&{place})"))
        })
    }

    /// Binds `name`, of type `kind`, to an element; an index outside fails the call at `loc` and yields zero.
    pub(super) fn read(
        &mut self,
        (name, kind): (&str, Kind),
        array: ArrayId,
        index: &[Atom],
        checked: bool,
        loc: Loc,
    ) -> Result<(), String> {
        let dims = self.cx.program.arrays[array.0 as usize].dims.clone();
        let condition = if checked { self.inside(index, &dims, loc)? } else { INSIDE.into() };
        if condition == INSIDE {
            let text = self.element(array, index, kind)?;
            self.line(format!("let {name} = {text};"));
            return Ok(());
        }
        self.line(format!("var {name} = {};", kind.zero()));
        self.open(format!("if {condition} {{"));
        let text = self.element(array, index, kind)?;
        self.line(format!("{name} = {text};"));
        self.close("}");
        Ok(())
    }

    /// Whether an index is inside, which is a failure else.
    pub(super) fn inside(&mut self, index: &[Atom], dims: &[Dim], loc: Loc) -> Result<String, String> {
        let mut conditions = Vec::new();
        for (i, dim) in index.iter().zip(dims) {
            if !self.is_inside(*i, dim) {
                let (kind, n, site) = (self.kind(*i)?, self.size(dim)?, self.site(loc));
                let (check, i) =
                    (if kind == Kind::I64 { "adsl_check_i64" } else { "adsl_check" }, self.atom(*i)?);
                conditions.push(format!("{check}({i}, {n}, {site})"));
            }
        }
        Ok(if conditions.is_empty() { INSIDE.into() } else { conditions.join(" & ") })
    }

    /// The text of two values combined by an operator, which cannot fail.
    pub(super) fn combine(&mut self, op: Op, kind: Kind, a: &str, b: &str) -> Result<String, String> {
        self.op_text(op, kind, None, &[a.to_string(), b.to_string()], Loc::default())
    }
}

/// Of what needs no comparison.
const INSIDE: &str = "true";

/// The index of an element in row-major order, if everything in it is constant.
fn constant_offset(index: &[Atom], dims: &[Dim]) -> Option<i64> {
    let mut at = 0i64;
    for (k, (i, dim)) in index.iter().zip(dims).enumerate() {
        let Atom::Const(c) = i else { return None };
        let n = if k == 0 { 0 } else { dim.as_constant()? };
        at = at.wrapping_mul(n).wrapping_add(c.as_i64());
    }
    Some(at)
}

/// Conversions by the rules of Rust's `as`: floats saturate and NaN is zero, integers wrap.
fn cast(from: Kind, to: Kind, x: &str) -> String {
    match (from, to) {
        _ if from == to => x.to_string(),
        // A float that is known to be short enough as an integer does not exist.
        (Kind::F32, Kind::I32 | Kind::I64 | Kind::U32) => format!("adsl_f32_to_{}({x})", to.name()),
        (Kind::F64, Kind::I32 | Kind::I64 | Kind::U32) => format!("adsl64_to_{}({x})", to.name()),
        (_, Kind::Bool) => format!("({x} != {})", from.zero()),
        // naga extends by the sign where the result has one, so first to 64 bits without one.
        (Kind::U32, Kind::I64) => format!("i64(u64({x}))"),
        _ => format!("{}({x})", to.name()),
    }
}
