//! Integers computed inside a `build` that do not depend on its indices, for use as sizes.
//!
//! ```text
//! build(n, |i| .. m / 2 ..)   =   let h = m / 2; build(n, |i| .. h ..)
//! ```
//!
//! Only scalar functions that cannot fail are moved: code around which has no points, or is not chosen, is not executed. What is
//! computed twice is computed once, so that equal sizes are one size.

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use crate::core::{Atom, Exp, Stm, Var};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;

impl Elaborator<'_> {
    /// The size that an integer is which can be computed at depth 0: a polynomial of what is no sum and no product.
    pub(super) fn hoisted_size(&mut self, v: Var, span: Span) -> Option<Dim> {
        if let Some(d) = self.known.get(&v) {
            return Some(d.clone());
        }
        let d = match self.definition(v).map(|s| s.exp.clone()) {
            Some(Exp::Op(op @ (Op::Add | Op::Sub | Op::Mul), args)) => {
                for a in &args {
                    if let Atom::Var(w) = a {
                        self.hoisted_size(*w, span)?;
                    }
                }
                self.known_result(op, &args)?
            }
            _ => self.size_of_its_own(v, span)?,
        };
        self.known.insert(v, d.clone());
        Some(d)
    }

    /// An integer as a size of its own.
    fn size_of_its_own(&mut self, v: Var, span: Span) -> Option<Dim> {
        let outer =
            if self.is_outermost(v) { self.first_equal(v) } else { self.copied_to_depth_0(v, &[], span)? };
        if let (Atom::Var(u), None) = (outer, self.known_int(outer)) {
            self.known.insert(u, Dim::atom(SizeAtom::Scalar(u.0)));
            // Messages about sizes name it.
            self.vars[u.0 as usize].name = "computed_size".into();
        }
        self.known_int(outer)
    }

    /// Why an integer cannot be computed at depth 0, and what to do.
    pub(super) fn why_not_hoisted(&self, v: Var) -> (String, &'static str) {
        let around = self.frame.last().map(|(_, name)| &**name);
        let index = if around == Some("while") {
            "the state of a `while` loop".to_string()
        } else {
            match self.varying(v) {
                Some(found) => found,
                None => {
                    let reason =
                        "is a quotient by what may be zero, so it is not computed where it may not be needed";
                    return (reason.into(), "compute it before, outside of `build`, `map`, `if` and loops");
                }
            }
        };
        (
            format!("depends on {index}, so the rows of the array would differ in length"),
            "a dimension must be the same for every index of the enclosing `build` or `map`: build the largest size and mask \
             with `if`, or compute the size before",
        )
    }

    /// What inside an integer depends on; `None`: only on what is known outside.
    fn varying(&self, v: Var) -> Option<String> {
        if self.is_outermost(v) || self.known.contains_key(&v) {
            return None;
        }
        match self.definition(v).map(|s| &s.exp) {
            Some(Exp::Op(_, args)) => {
                args.iter().find_map(|a| if let Atom::Var(w) = a { self.varying(*w) } else { None })
            }
            Some(Exp::Index(a, _)) => Some(format!("an element of `{}`", self.vars[a.0 as usize].name)),
            _ => Some(format!("`{}`", self.vars[v.0 as usize].name)),
        }
    }

    /// A scalar at depth 0, or a copy of it there. It may also be bound by `nested`, statements within an expression.
    pub(super) fn copied_to_depth_0(&mut self, v: Var, nested: &[Stm], span: Span) -> Option<Atom> {
        self.copy_to_depth_0(v, nested, span, &mut FxHashMap::default())
    }

    /// As [`Self::copied_to_depth_0`], with the copies that are there already; what has none is tried once.
    fn copy_to_depth_0(
        &mut self,
        v: Var,
        nested: &[Stm],
        span: Span,
        copies: &mut FxHashMap<Var, Option<Atom>>,
    ) -> Option<Atom> {
        if self.is_outermost(v) {
            return Some(Atom::Var(v));
        }
        if let Some(d) = self.known.get(&v).cloned() {
            return Some(self.at_depth_0(|e| e.size_value(&d, span)));
        }
        if let Some(found) = copies.get(&v) {
            return *found;
        }
        copies.insert(v, None);
        let definition = nested.iter().find(|s| s.vars == [v]).or_else(|| self.definition(v));
        let Some(Exp::Op(op, args)) = definition.map(|s| s.exp.clone()) else { return None };
        let mut outer = Vec::new();
        for a in args {
            outer.push(match a {
                Atom::Const(_) => a,
                Atom::Var(w) => self.copy_to_depth_0(w, nested, span, copies)?,
            });
        }
        if op.can_fail() && !outer.last().is_some_and(|a| self.is_divisor(*a)) {
            return None;
        }
        let copy = self.computed_once(op, &outer, span);
        copies.insert(v, Some(copy));
        Some(copy)
    }

    /// Whether an integer is certainly not zero: a constant, or no less than a positive one.
    fn is_divisor(&self, a: Atom) -> bool {
        let positive = |a: &Atom| matches!(a, Atom::Const(c) if c.as_i64() > 0);
        match a {
            Atom::Const(c) => c.raw() != 0,
            Atom::Var(v) => match self.definition(v).map(|s| &s.exp) {
                Some(Exp::Op(Op::Max, args)) => args.iter().any(positive),
                _ => false,
            },
        }
    }

    /// A scalar function at depth 0, which is there only once.
    pub(super) fn computed_once(&mut self, op: Op, args: &[Atom], span: Span) -> Atom {
        let same = self.outermost().find(|s| self.computes(&s.exp, op, args)).map(|s| s.vars[0]);
        same.map_or_else(|| self.at_depth_0(|e| e.op(op, args, span)), Atom::Var)
    }

    /// The first scalar of depth 0 that is computed as this one is.
    fn first_equal(&self, v: Var) -> Atom {
        let Some(Exp::Op(op, args)) = self.definition(v).map(|s| &s.exp) else { return Atom::Var(v) };
        let first = self.outermost().find(|s| self.computes(&s.exp, *op, args));
        Atom::Var(first.map_or(v, |s| s.vars[0]))
    }

    /// The statements of depth 0 whose variables are in sight: within derivatives there, integers are.
    pub(super) fn outermost(&self) -> impl Iterator<Item = &Stm> {
        let mut open = vec![self.bodies[0].iter()];
        let is_integer = |v: &Var| {
            let a = Atom::Var(*v);
            self.rank(a) == 0 && self.inference.is_int(self.elem(a))
        };
        std::iter::from_fn(move || {
            loop {
                let Some(s) = open.last_mut()?.next() else {
                    open.pop();
                    continue;
                };
                let inside = open.len() > 1;
                if let Exp::Derivative(d) = &s.exp {
                    open.push(d.body.stms.iter());
                }
                if !inside || s.vars.iter().all(is_integer) {
                    return Some(s);
                }
            }
        })
    }

    /// All statements whose variables are in sight.
    pub(super) fn in_sight(&self) -> impl Iterator<Item = &Stm> {
        self.outermost().chain(self.bodies[1..].iter().flatten())
    }

    pub(super) fn definition(&self, v: Var) -> Option<&Stm> {
        self.in_sight().find(|s| s.vars == [v])
    }

    /// Whether an expression is `op` of the same numbers.
    fn computes(&self, exp: &Exp, op: Op, args: &[Atom]) -> bool {
        let same = |a: &Atom, b: &Atom| {
            let integers = || self.known_int(*a).is_some_and(|d| Some(d) == self.known_int(*b));
            a == b || (self.elem(*a) == self.elem(*b) && integers())
        };
        matches!(exp, Exp::Op(o, xs) if *o == op && xs.len() == args.len() && xs.iter().zip(args).all(|(a, b)| same(a, b)))
    }

    /// Emits at depth 0.
    pub(super) fn at_depth_0<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let inner = self.bodies.split_off(1);
        let result = f(self);
        self.bodies.extend(inner);
        result
    }
}
