//! `#[checkpoint]`: loops that keep few of their states for the derivative.
//!
//! The derivative of a loop keeps the state before each trip. Of a loop in a loop it keeps those of the outer one, and goes through
//! the inner one once more, keeping its states, when it is there:
//!
//! ```text
//! for i in 0..n, every k      for t in 0..n / k { for j in 0..k { i = t k + j } }      for i in n / k k..n          n / k + k states
//! for i in 0..n, 2 levels     the same, with k the root of n                                                      2 root(n)
//! for i in 0..n, l levels     l loops in each other, of k trips each, k the l-th root of n                         l k
//! ```
//!
//! The trips that are left over come after in loops with a level less. Each level executes each trip once more.
//! Source: thesis 2.6.2 (strip-mining).

use proc_macro2::Span;

use super::Elaborator;
use super::conditions::Branch;
use super::loops::Range;
use crate::core::{Atom, Trips, Type};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::syntax::ast::{Checkpoint, For};
use crate::ty::{Const, Elem, Name};

/// The numbers of trips of loops in each other, from the outermost, and those left over with a level less.
struct Levels {
    inside: Vec<Atom>,
    rest: Option<Box<Rest>>,
}

/// The trips that the loops in each other do not make.
struct Rest {
    first: Atom,
    levels: Levels,
}

impl Elaborator<'_> {
    /// A loop in order with checkpoints.
    pub(super) fn strip_mined(
        &mut self,
        e: &For,
        checkpoint: &Checkpoint,
        names: &[Name],
        range: &Range,
        span: Span,
    ) -> Option<()> {
        let every = match checkpoint {
            Checkpoint::Every(k) => {
                let found = self.expr(k)?;
                let number = found.atoms().filter(|a| a.len() == 1 && self.rank(a[0]) == 0);
                let Some(a) = number.map(|a| a[0]).filter(|a| self.inference.is_int(self.elem(*a))) else {
                    let found = self.describe(&found);
                    self.error(
                        Code::ElementType,
                        k.span,
                        format!("`every` is a number of trips, found {found}"),
                        "write an integer: `#[checkpoint(every = 100)]`",
                    );
                    return None;
                };
                if let Elem::Infer(_) = self.elem(a) {
                    self.unify(self.elem(a), Elem::I64, k.span, "`every`")?;
                }
                Some(self.cast(a, Elem::I64, span))
            }
            Checkpoint::Levels(_) => None,
        };
        // What is known before everything is computed there: then the loops' trips are sizes.
        let size = every.map(|k| self.size_of(k));
        let levels = match (range.extent.clone(), &size) {
            (Some(extent), None | Some(Some(_))) => {
                let every = size.clone().flatten();
                self.at_depth_0(|e| {
                    let trips = e.size_value(&extent, span);
                    let every = every.map(|k| e.size_value(&k, span));
                    e.levels(trips, every, checkpoint, span)
                })
            }
            _ => {
                let trips = self.difference(range.hi, range.lo, span);
                self.levels(trips, every, checkpoint, span)
            }
        };
        let first = self.int(0);
        self.loops(e, names, range, first, &levels, span)
    }

    fn levels(&mut self, trips: Atom, every: Option<Atom>, checkpoint: &Checkpoint, span: Span) -> Levels {
        let (zero, one) = (self.int(0), self.int(1));
        let trips = self.op(Op::Max, &[trips, zero], span);
        match (every, checkpoint) {
            (Some(k), _) => {
                let k = self.op(Op::Max, &[k, one], span);
                self.split(trips, vec![k], 1, span)
            }
            (None, Checkpoint::Levels(levels)) => self.roots(trips, *levels, span),
            (None, Checkpoint::Every(_)) => Levels { inside: vec![trips], rest: None },
        }
    }

    /// `levels` loops of the root's trips each.
    fn roots(&mut self, trips: Atom, levels: u32, span: Span) -> Levels {
        if levels == 1 {
            return Levels { inside: vec![trips], rest: None };
        }
        let float = |x: f64| Atom::Const(Const::float(Elem::F32, x));
        let n = self.op(Op::Cast(Elem::F32), &[trips], span);
        let root = self.op(Op::Powf, &[n, float(1.0 / f64::from(levels))], span);
        // Any number will do, and this type is there on every device. A whole root may come out a little too large.
        let root = self.op(Op::Sub, &[root, float(1e-3)], span);
        let root = self.op(Op::Ceil, &[root], span);
        let root = self.op(Op::Cast(Elem::I64), &[root], span);
        let one = self.int(1);
        let k = self.op(Op::Max, &[root, one], span);
        self.split(trips, vec![k; levels as usize - 1], levels - 1, span)
    }

    /// As many loops of these trips as there are, and the rest.
    fn split(&mut self, trips: Atom, mut inside: Vec<Atom>, rest_levels: u32, span: Span) -> Levels {
        let mut block = inside[0];
        for k in &inside[1..] {
            block = self.op(Op::Mul, &[block, *k], span);
        }
        let outer = self.op(Op::Div, &[trips, block], span);
        let done = self.op(Op::Mul, &[outer, block], span);
        let left = self.op(Op::Sub, &[trips, done], span);
        inside.insert(0, outer);
        let rest = Rest { first: done, levels: self.roots(left, rest_levels, span) };
        Levels { inside, rest: Some(Box::new(rest)) }
    }

    /// The loops, beginning with trip `first`.
    fn loops(
        &mut self,
        e: &For,
        names: &[Name],
        range: &Range,
        first: Atom,
        levels: &Levels,
        span: Span,
    ) -> Option<()> {
        self.nested(e, names, range, first, &levels.inside, span)?;
        match &levels.rest {
            Some(rest) => {
                let first = self.sum(first, rest.first, span);
                self.loops(e, names, range, first, &rest.levels, span)
            }
            None => Some(()),
        }
    }

    /// Loops in each other.
    fn nested(
        &mut self,
        e: &For,
        names: &[Name],
        range: &Range,
        first: Atom,
        trips: &[Atom],
        span: Span,
    ) -> Option<()> {
        let [outer, inner @ ..] = trips else { return Some(()) };
        let extent = self.size_of(*outer);
        if inner.is_empty() {
            return self.sequential(e, names, range, (first, *outer, extent), span);
        }
        let k = self.new_var("block", Type::scalar(Elem::I64));
        let depth = self.frame.len();
        let branches = self.branches.len();
        self.branches.extend(extent.is_none().then(Branch::trips));
        self.frame.push((extent.unwrap_or(Dim::constant(1)), "block".into()));
        let body = self.carried(names, &mut |s| {
            let mut stride = inner[0];
            for k in &inner[1..] {
                stride = s.op(Op::Mul, &[stride, *k], span);
            }
            let start = s.op(Op::Mul, &[Atom::Var(k), stride], span);
            let start = s.sum(first, start, span);
            s.nested(e, names, range, start, inner, span)
        });
        self.frame.truncate(depth);
        self.branches.truncate(branches);
        self.finish(body?, Trips::For(k, *outer), span)
    }

    /// `a + b`, without code where that is plain.
    fn sum(&mut self, a: Atom, b: Atom, span: Span) -> Atom {
        match (a, b) {
            (Atom::Const(c), x) | (x, Atom::Const(c)) if c.raw() == 0 => x,
            _ => self.op(Op::Add, &[a, b], span),
        }
    }
}
