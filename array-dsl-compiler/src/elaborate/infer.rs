//! Element types of literals: each unsuffixed literal gets a variable that is unified with the types it meets;
//! what stays open is `f64` or `i64`. A complex number of such literals is of the type that they will have; a float literal may turn out
//! to be complex, a real number then.

use std::cell::RefCell;

use proc_macro2::Span;

use super::Elaborator;
use crate::core::{Atom, Body, Exp, Function};
use crate::diagnostics::Code;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// What to do with real numbers where complex ones are expected, and the other way around.
pub(super) const MAKE_COMPLEX: &str = "make complex numbers of real ones: `Complex::new(x, 0.0)`";
pub(super) const TAKE_PARTS: &str = "take the parts of complex numbers, `z.re` and `z.im`, or `z.norm()`";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Literal {
    Int,
    Float,
    /// Complex, of parts of the type that has this number.
    ComplexOf(u32),
    /// That of a constant of the surrounding code, which may be anything.
    Any,
}

/// The union-find table of literal types.
#[derive(Clone, Default)]
pub(super) struct Inference {
    table: RefCell<Vec<(Literal, Option<Elem>)>>,
}

impl Inference {
    /// The type of a float literal.
    pub fn float(&self) -> Elem {
        self.new_variable(Literal::Float)
    }

    /// The type of an integer literal.
    pub fn int(&self) -> Elem {
        self.new_variable(Literal::Int)
    }

    /// The type of a constant of the surrounding code.
    pub fn any(&self) -> Elem {
        self.new_variable(Literal::Any)
    }

    /// The type of complex numbers with parts of a float type.
    pub fn complex(&self, part: Elem) -> Elem {
        match self.resolve(part) {
            Elem::Infer(i) => self.new_variable(Literal::ComplexOf(i)),
            e => e.complex().unwrap_or(e),
        }
    }

    /// The type of the parts of complex numbers; a real type itself.
    pub fn part(&self, e: Elem) -> Elem {
        match self.resolve(e) {
            Elem::Infer(i) => match self.table.borrow()[i as usize].0 {
                Literal::ComplexOf(part) => Elem::Infer(part),
                _ => Elem::Infer(i),
            },
            e => e.part(),
        }
    }

    /// Says of a type of which nothing is known that it is an integer.
    pub fn settle_for_int(&self, e: Elem) {
        self.settle_for(e, Literal::Int);
    }

    /// Says of a type of which nothing is known that it is a float.
    pub fn settle_for_float(&self, e: Elem) {
        self.settle_for(e, Literal::Float);
    }

    fn settle_for(&self, e: Elem, kind: Literal) {
        if let Elem::Infer(i) = self.resolve(e)
            && let (known @ Literal::Any, _) = &mut self.table.borrow_mut()[i as usize]
        {
            *known = kind;
        }
    }

    /// Whether nothing is known of a type yet.
    pub fn is_any(&self, e: Elem) -> bool {
        matches!(self.resolve(e), Elem::Infer(i) if self.table.borrow()[i as usize].0 == Literal::Any)
    }

    fn new_variable(&self, kind: Literal) -> Elem {
        let mut t = self.table.borrow_mut();
        t.push((kind, None));
        Elem::Infer(t.len() as u32 - 1)
    }

    /// What is known of a type: a real one, or the representative of its variable.
    pub fn resolve(&self, e: Elem) -> Elem {
        let Elem::Infer(i) = e else { return e };
        let (kind, next) = self.table.borrow()[i as usize];
        match (next, kind) {
            (Some(next), _) => self.resolve(next),
            // Once its parts are known it is.
            (None, Literal::ComplexOf(part)) => self.resolve(Elem::Infer(part)).complex().unwrap_or(e),
            (None, _) => e,
        }
    }

    /// Whether the type is, or will be, complex.
    pub fn is_complex(&self, e: Elem) -> bool {
        match self.resolve(e) {
            Elem::Infer(i) => matches!(self.table.borrow()[i as usize].0, Literal::ComplexOf(_)),
            e => e.is_complex(),
        }
    }

    /// Whether values of the type carry derivatives.
    pub fn is_differentiable(&self, e: Elem) -> bool {
        self.is_float(e) || self.is_complex(e)
    }

    /// Whether the type is, or will be, a real float; of a literal, unless it turns out to be complex.
    pub fn is_float(&self, e: Elem) -> bool {
        match self.resolve(e) {
            Elem::Infer(i) => self.table.borrow()[i as usize].0 == Literal::Float,
            e => e.is_float(),
        }
    }

    /// Whether the type is, or will be, an integer.
    pub fn is_int(&self, e: Elem) -> bool {
        match self.resolve(e) {
            Elem::Infer(i) => self.table.borrow()[i as usize].0 == Literal::Int,
            e => e.is_int(),
        }
    }

    /// Makes two types equal; false if they cannot be.
    pub fn unify(&self, a: Elem, b: Elem) -> bool {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match (a, b) {
            _ if a == b => true,
            (Elem::Infer(i), _) if self.is_any(a) => {
                self.table.borrow_mut()[i as usize].1 = Some(b);
                true
            }
            (_, Elem::Infer(_)) if self.is_any(b) => self.unify(b, a),
            _ if self.is_complex(a) && self.is_complex(b) => self.unify(self.part(a), self.part(b)),
            (Elem::Infer(i), _) if self.is_float(a) && self.is_complex(b) => {
                self.table.borrow_mut()[i as usize].1 = Some(b);
                true
            }
            (_, Elem::Infer(_)) if self.is_float(b) && self.is_complex(a) => self.unify(b, a),
            (Elem::Infer(i), _)
                if self.is_float(a) == self.is_float(b)
                    && self.is_int(a) == self.is_int(b)
                    && self.is_complex(a) == self.is_complex(b) =>
            {
                self.table.borrow_mut()[i as usize].1 = Some(b);
                true
            }
            (_, Elem::Infer(_)) if !matches!(a, Elem::Infer(_)) => self.unify(b, a),
            _ => false,
        }
    }

    /// The final type.
    fn settled(&self, e: Elem) -> Elem {
        match self.resolve(e) {
            Elem::Infer(i) => match self.table.borrow()[i as usize].0 {
                Literal::Int => Elem::I64,
                Literal::Float | Literal::Any => Elem::F64,
                Literal::ComplexOf(_) => Elem::C64,
            },
            e => e,
        }
    }

    /// The type for messages: literals by what they are.
    pub fn describe(&self, e: Elem) -> String {
        match self.resolve(e) {
            Elem::Infer(i) => match self.table.borrow()[i as usize].0 {
                Literal::Int => "an integer".into(),
                Literal::Float => "a float".into(),
                Literal::Any => "a constant".into(),
                Literal::ComplexOf(_) => "a complex number".into(),
            },
            e if e.is_complex() => format!("Complex<{}>", e.part()),
            e => e.name().into(),
        }
    }

    /// Replaces every variable of a finished function.
    pub fn settle(&self, f: &mut Function) {
        for v in &mut f.vars {
            v.ty.elem = self.settled(v.ty.elem);
        }
        for t in &mut f.result_types {
            t.elem = self.settled(t.elem);
        }
        self.settle_body(&mut f.body);
    }

    fn settle_body(&self, b: &mut Body) {
        for s in &mut b.stms {
            if let Exp::Op(Op::Cast(e), _) = &mut s.exp {
                *e = self.settled(*e);
            }
            s.exp.change(&mut |a| self.settle_atom(a), &mut |b| self.settle_body(b));
        }
        b.results.iter_mut().for_each(|a| self.settle_atom(a));
    }

    fn settle_atom(&self, a: &mut Atom) {
        if let Atom::Const(c) = a
            && let Elem::Infer(_) = c.elem
        {
            let elem = self.settled(c.elem);
            *c = if elem.is_differentiable() {
                Const::float(elem, f64::from_bits(c.raw()))
            } else {
                Const::int(elem, c.raw() as i64)
            };
        }
    }
}

impl Elaborator<'_> {
    /// Requires two element types to be equal.
    pub(super) fn unify(&mut self, found: Elem, expected: Elem, span: Span, what: &str) -> Option<()> {
        if self.inference.unify(found, expected) {
            return Some(());
        }
        // A literal adapts to the other, not the other to it; and an integer is what can become a float.
        let literal = |e: Elem| matches!(self.inference.resolve(e), Elem::Infer(_));
        let (found, expected) = match (literal(found), literal(expected)) {
            (false, true) => (expected, found),
            (true, true) if self.inference.is_float(found) => (expected, found),
            _ => (found, expected),
        };
        let (f, e) = (self.inference.describe(found), self.inference.describe(expected));
        let help = match (self.inference.resolve(expected), self.inference.resolve(found)) {
            (Elem::Bool, _) => {
                let zero = if self.inference.is_float(found) { "0.0" } else { "0" };
                format!("compare it with something: `x != {zero}`")
            }
            (_, Elem::Infer(_)) if self.inference.is_float(expected) => {
                "write the number with a point: `2.0`".to_string()
            }
            (_, Elem::Infer(_)) if self.inference.is_int(expected) => {
                format!("write a whole number, or convert the other operand with `as {}`", Elem::F64)
            }
            _ => match (self.inference.is_complex(expected), self.inference.is_complex(found)) {
                (true, true) => {
                    let part = self.inference.describe(self.inference.part(expected));
                    format!("convert its parts: `Complex::new(z.re as {part}, z.im as {part})`")
                }
                (true, false) => MAKE_COMPLEX.to_string(),
                (false, true) => TAKE_PARTS.to_string(),
                (false, false) => format!("convert it with `as {e}`"),
            },
        };
        let what = self.subject(what);
        self.error(Code::ElementType, span, format!("{what}: expected {e}, found {f}"), help);
        None
    }
}
