//! Scalar expressions as WGSL.
//!
//! The text of a function is its row of `scalar::TABLE`, except where WGSL has a different spelling for different
//! types, wants a guard, or lacks the function for a type; those are the arms of `Shader::op`.
//!
//! Integer division by zero fails the call at the line of the division, as on the CPU, and yields zero.

use super::shader::{Shader, Word};
use super::types::{Kind, int, literal};
use crate::bulk::{ArrayId, Atom};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::Loc;

impl Shader<'_, '_> {
    /// The text of an atom.
    pub(super) fn atom(&mut self, a: Atom) -> Result<String, String> {
        match a {
            Atom::Var(v) => Ok(self.var(v)),
            Atom::Const(c) => literal(c),
        }
    }

    /// The type of an atom.
    pub(super) fn kind(&self, a: Atom) -> Result<Kind, String> {
        Kind::of(match a {
            Atom::Var(v) => self.cx.program.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        })
    }

    /// The text of a function of atoms.
    pub(super) fn op(&mut self, op: Op, args: &[Atom], loc: Loc) -> Result<String, String> {
        let mut texts: Vec<String> = Vec::with_capacity(args.len());
        for a in args {
            texts.push(self.atom(*a)?);
        }
        // Overflow in a constant expression makes a shader invalid; with one operand in a variable there is none.
        if args.iter().all(|a| matches!(a, Atom::Const(_))) {
            let name = self.fresh();
            self.line(format!("var {name} = {};", texts[0]));
            texts[0] = name;
        }
        let kind = self.kind(args[0])?;
        self.op_text(op, kind, args, &texts, loc)
    }

    /// The text of a function of arguments of type `kind` (`select`: of a condition and two values).
    fn op_text(
        &mut self,
        op: Op,
        kind: Kind,
        args: &[Atom],
        texts: &[String],
        loc: Loc,
    ) -> Result<String, String> {
        let constant = |k: usize| match args.get(k) {
            Some(Atom::Const(c)) => Some(*c),
            _ => None,
        };
        let (a, b) = (texts[0].as_str(), texts.get(1).map_or("", String::as_str));
        Ok(match (op, kind) {
            (Op::Cast(to), _) => cast(kind, Kind::of(to)?, a),
            (Op::Div | Op::Rem | Op::RemEuclid, Kind::I32 | Kind::U32) => {
                let nonzero = constant(1).is_some_and(|c| !c.is_zero());
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
            (Op::Rem, _) => format!("adsl_remainder_f32({a}, {b})"),
            (Op::RemEuclid, _) => format!("adsl_rem_euclid_f32({a}, {b})"),
            // naga 30 compares with `ordered and unequal`, which is false for NaN.
            (Op::Ne, Kind::F32) => format!("(!({a} == {b}))"),
            (Op::Neg, Kind::U32) => format!("(0u - {a})"),
            (Op::Signum0, Kind::U32) => format!("min({a}, 1u)"),
            (Op::Xor, Kind::Bool) => format!("({a} != {b})"),
            (Op::Xor, _) => format!("({a} ^ {b})"),
            (Op::Not, Kind::Bool) => format!("(!{a})"),
            (Op::Not, _) => format!("(~{a})"),
            // Rust's wrapping shifts: by the amount modulo the width.
            (Op::Shl | Op::Shr, _) => {
                let sign = if op == Op::Shl { "<<" } else { ">>" };
                let by = match constant(1) {
                    Some(c) => format!("{}u", c.as_i64() & 31),
                    None => format!("(u32({b}) & 31u)"),
                };
                format!("({a} {sign} {by})")
            }
            (Op::Powi, _) => self.powi(a, args[1], b)?,
            _ => match op.row() {
                Some(row) => {
                    let mut text = row.wgsl.to_string();
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
    fn powi(&mut self, x: &str, exponent: Atom, text: &str) -> Result<String, String> {
        Ok(match exponent {
            Atom::Const(c) if (1..=4).contains(&c.as_i64()) => {
                format!("({})", vec![x; c.as_i64() as usize].join(" * "))
            }
            _ if self.kind(exponent)? == Kind::U32 => format!("adsl_powu({x}, {text})"),
            _ => format!("adsl_powi({x}, {text})"),
        })
    }

    /// The index of an element in row-major order.
    pub(super) fn offset(&mut self, array: ArrayId, index: &[Atom]) -> Result<String, String> {
        let dims = self.cx.program.arrays[array.0 as usize].dims.clone();
        if index.len() != dims.len() {
            let name = &self.cx.program.arrays[array.0 as usize].name;
            return Err(format!("`{name}` is indexed as an array private to one point"));
        }
        // A constant index that is outside is never used, but would make the shader invalid.
        if let Some(at) = constant_offset(index, &dims) {
            return Ok(int(i32::try_from(at).unwrap_or(0).max(0)));
        }
        let (mut text, from) = match self.prefix(index, &dims) {
            Some((number, n)) if n == index.len() => return Ok(number),
            Some((number, n)) => (format!("i32({number})"), n),
            None => (self.atom(index[0])?, 1),
        };
        for k in from..index.len() {
            let (n, i) = (self.size(&dims[k])?, self.atom(index[k])?);
            text = format!("({text} * {n} + {i})");
        }
        Ok(text)
    }

    /// The text of an element, read where the indices are inside.
    fn element(&mut self, array: ArrayId, index: &[Atom]) -> Result<String, String> {
        let root = self.cx.root(array);
        let kind = Kind::of(self.cx.program.arrays[root.0 as usize].elem)?;
        if self.cx.is_host_scalar(root) {
            let word = self.word(Word::Scalar(root));
            return Ok(kind.of_bits(&word));
        }
        let at = self.offset(array, index)?;
        let place = format!("a{}[{at}]", root.0);
        Ok(if self.access(root) < super::shader::Access::Atomic {
            kind.load(&place)
        } else if kind == Kind::I32 {
            format!("atomicLoad(&{place})")
        } else {
            kind.of_bits(&format!("atomicLoad(&{place})"))
        })
    }

    /// Binds `name` to an element; an index outside fails the call at `loc` and yields zero.
    pub(super) fn read(
        &mut self,
        name: &str,
        array: ArrayId,
        index: &[Atom],
        checked: bool,
        loc: Loc,
    ) -> Result<(), String> {
        let dims = self.cx.program.arrays[array.0 as usize].dims.clone();
        let mut conditions = Vec::new();
        for (i, dim) in index.iter().zip(&dims).filter(|_| checked) {
            if !self.is_inside(*i, dim) {
                let (i, n, site) = (self.atom(*i)?, self.size(dim)?, self.site(loc));
                conditions.push(format!("adsl_check({i}, {n}, {site})"));
            }
        }
        if conditions.is_empty() {
            let text = self.element(array, index)?;
            self.line(format!("let {name} = {text};"));
            return Ok(());
        }
        let kind = Kind::of(self.cx.program.arrays[array.0 as usize].elem)?;
        self.line(format!("var {name} = {};", kind.zero()));
        self.open(format!("if {} {{", conditions.join(" & ")));
        let text = self.element(array, index)?;
        self.line(format!("{name} = {text};"));
        self.close("}");
        Ok(())
    }

    /// The text of two values combined by an operator, which cannot fail.
    pub(super) fn combine(&mut self, op: Op, kind: Kind, a: &str, b: &str) -> Result<String, String> {
        self.op_text(op, kind, &[], &[a.to_string(), b.to_string()], Loc::default())
    }
}

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
        (Kind::F32, Kind::I32) => format!("adsl_f32_to_i32({x})"),
        (Kind::F32, Kind::U32) => format!("adsl_f32_to_u32({x})"),
        (Kind::F32 | Kind::I32 | Kind::U32, Kind::Bool) => format!("({x} != {})", from.zero()),
        _ => format!("{}({x})", to.name()),
    }
}
