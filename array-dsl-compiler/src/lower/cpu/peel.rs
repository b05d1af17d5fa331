//! The middle of a loop, away from its ends, where conditions on its ends are settled.
//!
//! ```text
//! for j < n { if j > 0 & j < n - 1 { a[j - 1] + a[j + 1] } else { 0 } }        a[(j + 1) rem n]
//! for 1 <= j < n - 1 { a[j - 1] + a[j + 1] }                                    a[j + 1]
//! ```
//!
//! Loops of stencils and periodic neighborhoods then vectorize. The first and last few trips execute the code as it is.
//! A loop with loops inside takes one of the two bodies at each trip; the middles of the loops inside follow from the body.

use std::collections::HashMap;

use super::Cpu;
use crate::bulk::build::{Renaming, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Block, Branch, Exp, Let, Var};
use crate::dim::Dim;
use crate::loops::{Fold, Loop, Middle, Node, Program, Step};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// The most trips to leave at either end.
const MOST: i64 = 8;

/// The middle of a loop, if it is simpler than the whole.
pub(super) fn middle(c: &Cpu<'_>, l: &Loop) -> Option<Middle> {
    let axis = &l.axis;
    let mut facts = c.facts.clone();
    facts.extents.insert(axis.var, axis.extent.clone());
    let mut peel = Peel { p: c.p, axis, margin: 0, simpler: false, names: Renaming::new(), facts };
    let body = peel.nodes(&l.body)?;
    let values = l.folds.iter().map(|f| renamed(&peel.names, f.value)).collect();
    peel.simpler.then_some(Middle { margin: peel.margin, body, values })
}

/// What is known of the integers of a program. Every scalar is bound once, so it holds wherever a scalar is visible.
#[derive(Clone, Default)]
pub(super) struct Facts {
    extents: HashMap<Var, Dim>,
    forms: HashMap<Var, Form>,
}

/// What is known of an integer.
#[derive(Clone)]
enum Form {
    /// An axis plus a constant.
    Shifted(Var, i64),
    /// An axis plus its extent plus a constant.
    Turned(Var, i64),
    Size(Dim),
    /// Not negative and less than this.
    Within(Dim),
}

impl Facts {
    pub fn new(steps: &[Step]) -> Facts {
        let mut facts = Facts::default();
        facts.steps(steps);
        facts
    }

    fn steps(&mut self, steps: &[Step]) {
        for s in steps {
            match s {
                Step::Tree(t) => {
                    self.extents.extend(t.axes.iter().map(|a| (a.var, a.extent.clone())));
                    self.nodes(&t.body);
                }
                Step::Repeat(r) => self.steps(&r.steps),
                _ => {}
            }
        }
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for n in nodes {
            match n {
                Node::Let(l) => self.learn(l),
                Node::Loop(l) => {
                    self.extents.insert(l.axis.var, l.axis.extent.clone());
                    self.nodes(&l.body);
                }
                _ => {}
            }
        }
    }

    fn learn(&mut self, l: &Let) {
        if let Exp::If(_, x, y) = &l.exp {
            [x, y].iter().flat_map(|b| &b.block.lets).for_each(|l| self.learn(l));
        } else if let Some(form) = self.form_of(&l.exp) {
            self.forms.insert(l.vars[0], form);
        }
    }

    /// Whether a scalar is a remainder by the extent of an axis around it: it can be computed where the axis is visible
    /// without anything that could fail.
    pub fn is_remainder(&self, v: Var) -> bool {
        matches!(self.forms.get(&v), Some(Form::Within(_)))
    }

    fn form(&self, a: Atom) -> Option<Form> {
        match a {
            Atom::Const(c) if c.elem == Elem::I64 => Some(Form::Size(Dim::constant(c.as_i64()))),
            Atom::Const(_) => None,
            Atom::Var(v) if self.extents.contains_key(&v) => Some(Form::Shifted(v, 0)),
            Atom::Var(v) => self.forms.get(&v).cloned(),
        }
    }

    fn form_of(&self, e: &Exp) -> Option<Form> {
        let Exp::Op(op, args) = e else {
            return if let Exp::Size(d) = e { Some(Form::Size(d.clone())) } else { None };
        };
        if !matches!(op, Op::Add | Op::Sub | Op::Rem | Op::RemEuclid) {
            return None;
        }
        let (a, b) = (self.form(args[0])?, self.form(args[1])?);
        match (op, a, b) {
            (Op::Add, a, Form::Size(d)) | (Op::Add, Form::Size(d), a) => self.moved(a, &d),
            (Op::Sub, a, Form::Size(d)) => self.moved(a, &d.scale(-1)),
            // Where a point of an axis is, its extent is positive.
            (Op::RemEuclid, Form::Shifted(v, _) | Form::Turned(v, _), Form::Size(d)) => self.circle(v, d),
            (Op::Rem, Form::Shifted(v, 0..) | Form::Turned(v, -1..), Form::Size(d)) => self.circle(v, d),
            _ => None,
        }
    }

    /// An integer plus a size.
    fn moved(&self, a: Form, d: &Dim) -> Option<Form> {
        match a {
            Form::Size(a) => Some(Form::Size(a.add(d))),
            Form::Shifted(v, c) => match d.as_constant() {
                Some(d) => Some(Form::Shifted(v, c.checked_add(d)?)),
                None => {
                    let rest = d.sub(self.extents.get(&v)?).as_constant()?;
                    Some(Form::Turned(v, c.checked_add(rest)?))
                }
            },
            Form::Turned(v, c) => Some(Form::Turned(v, c.checked_add(d.as_constant()?)?)),
            Form::Within(_) => None,
        }
    }

    /// What a remainder of something that moves with an axis is by the extent of the axis.
    fn circle(&self, v: Var, modulus: Dim) -> Option<Form> {
        (self.extents.get(&v) == Some(&modulus)).then_some(Form::Within(modulus))
    }
}

struct Peel<'a> {
    p: &'a Program,
    axis: &'a Axis,
    margin: i64,
    simpler: bool,
    names: Renaming,
    facts: Facts,
}

/// What becomes of an expression.
enum Simple {
    Atom(Atom),
    Exp(Exp),
    /// Of the branch that is always taken.
    Branch(Branch),
}

impl Peel<'_> {
    fn nodes(&mut self, nodes: &[Node]) -> Option<Vec<Node>> {
        let mut out = Vec::new();
        for n in nodes {
            match n {
                Node::Let(l) => out.extend(self.binding(l)?.into_iter().map(Node::Let)),
                Node::Store { array, index, value } => out.push(Node::Store {
                    array: *array,
                    index: index.iter().map(|i| renamed(&self.names, *i)).collect(),
                    value: renamed(&self.names, *value),
                }),
                Node::Loop(l) => {
                    let body = self.nodes(&l.body)?;
                    let fold = |f: &Fold| Fold { value: renamed(&self.names, f.value), ..f.clone() };
                    let folds = l.folds.iter().map(fold).collect();
                    out.push(Node::Loop(Loop { body, folds, ..l.clone() }));
                }
                Node::Accumulate { .. } | Node::Write { .. } => return None,
            }
        }
        Some(out)
    }

    fn binding(&mut self, l: &Let) -> Option<Vec<Let>> {
        if let Exp::Scan(_) = l.exp {
            return None;
        }
        let e = l.exp.renamed(&self.names);
        match self.simplify(&e) {
            Simple::Atom(a) => {
                self.simpler = true;
                self.names.insert(l.vars[0], a);
                Some(Vec::new())
            }
            Simple::Branch(b) => {
                self.simpler = true;
                let (lets, results) = self.branch(&b)?;
                self.names.extend(l.vars.iter().copied().zip(results));
                Some(lets)
            }
            Simple::Exp(Exp::If(c, x, y)) => {
                let [x, y] = [self.branch(&x)?, self.branch(&y)?]
                    .map(|(lets, results)| Branch { block: Block { lets }, results });
                Some(vec![Let { vars: l.vars.clone(), exp: Exp::If(c, x, y), loc: l.loc }])
            }
            Simple::Exp(exp) => {
                let l = Let { vars: l.vars.clone(), exp, loc: l.loc };
                self.facts.learn(&l);
                Some(vec![l])
            }
        }
    }

    fn branch(&mut self, b: &Branch) -> Option<(Vec<Let>, Vec<Atom>)> {
        let mut lets = Vec::new();
        for l in &b.block.lets {
            lets.extend(self.binding(l)?);
        }
        Some((lets, b.results.iter().map(|a| renamed(&self.names, *a)).collect()))
    }

    /// Accepts what needs a margin, if that is not too wide.
    fn settle<T>(&mut self, (value, margin): (T, i64)) -> Option<T> {
        if margin > MOST {
            return None;
        }
        self.margin = self.margin.max(margin);
        Some(value)
    }

    fn simplify(&mut self, e: &Exp) -> Simple {
        let as_it_is = || Simple::Exp(e.clone());
        match e {
            Exp::Op(op, args) => self
                .op(*op, args)
                .map(Simple::Atom)
                .or_else(|| self.turn(*op, args).map(Simple::Exp))
                .unwrap_or_else(as_it_is),
            Exp::If(Atom::Const(c), x, y) => Simple::Branch(if c.as_bool() { x.clone() } else { y.clone() }),
            Exp::Read { array, index, checked: true } if self.all_inside(*array, index) => {
                self.simpler = true;
                Simple::Exp(Exp::Read { array: *array, index: index.clone(), checked: false })
            }
            _ => as_it_is(),
        }
    }

    /// `(axis + n + c) rem n` is `axis + c` in the middle.
    fn turn(&mut self, op: Op, args: &[Atom]) -> Option<Exp> {
        let (Op::Rem | Op::RemEuclid, [a, b]) = (op, args) else { return None };
        let (Form::Turned(v, c), Form::Size(d)) = (self.facts.form(*a)?, self.facts.form(*b)?) else {
            return None;
        };
        if v != self.axis.var || d != self.axis.extent {
            return None;
        }
        self.settle(((), c.saturating_abs()))?;
        self.simpler = true;
        Some(Exp::Op(Op::Add, vec![Atom::Var(v), Atom::Const(Const::int(Elem::I64, c))]))
    }

    fn op(&mut self, op: Op, args: &[Atom]) -> Option<Atom> {
        let bool = |b: bool| Atom::Const(Const::of(Elem::Bool, i64::from(b)));
        match (op, args) {
            (Op::Rem | Op::RemEuclid, [a, b]) => {
                let (Form::Shifted(v, c), Form::Size(d)) = (self.facts.form(*a)?, self.facts.form(*b)?)
                else {
                    return None;
                };
                if v != self.axis.var || d != self.axis.extent {
                    return None;
                }
                self.settle((*a, c.saturating_abs()))
            }
            (Op::Lt, [a, b]) => self.less(*a, *b).and_then(|s| self.settle(s)).map(bool),
            (Op::Gt, [a, b]) => self.less(*b, *a).and_then(|s| self.settle(s)).map(bool),
            (Op::Ge, [a, b]) => self.less(*a, *b).and_then(|s| self.settle(s)).map(|l| bool(!l)),
            (Op::Le, [a, b]) => self.less(*b, *a).and_then(|s| self.settle(s)).map(|l| bool(!l)),
            (Op::Eq | Op::Ne, [a, b]) => {
                let apart =
                    [self.less(*a, *b), self.less(*b, *a)].into_iter().flatten().find(|(less, _)| *less)?;
                self.settle(apart).map(|_| bool(op == Op::Ne))
            }
            (Op::And | Op::Or, [Atom::Const(c), a] | [a, Atom::Const(c)]) if c.elem == Elem::Bool => {
                Some(if c.as_bool() == (op == Op::And) { *a } else { bool(op == Op::Or) })
            }
            (Op::Not, [Atom::Const(c)]) if c.elem == Elem::Bool => Some(bool(!c.as_bool())),
            (Op::Select, [Atom::Const(c), x, y]) => Some(if c.as_bool() { *x } else { *y }),
            _ => None,
        }
    }

    /// Whether `a < b` in the middle, and the margin that this takes.
    fn less(&self, a: Atom, b: Atom) -> Option<(bool, i64)> {
        let n = &self.axis.extent;
        let margin = |least: Option<i64>| least.map(|m| m.max(0));
        match (self.facts.form(a)?, self.facts.form(b)?) {
            // j + c < n + k if n - 1 - margin + c < n + k; not j + c < k if margin + c >= k.
            (Form::Shifted(v, c), Form::Size(d)) if v == self.axis.var => match d.sub(n).as_constant() {
                Some(k) => Some((true, margin(c.checked_sub(k))?)),
                None => Some((false, margin(d.as_constant()?.checked_sub(c))?)),
            },
            // k < j + c if k < margin + c; not n + k < j + c if n - 1 - margin + c <= n + k.
            (Form::Size(d), Form::Shifted(v, c)) if v == self.axis.var => match d.as_constant() {
                Some(k) => Some((true, margin(k.checked_sub(c)?.checked_add(1))?)),
                None => Some((false, margin(c.checked_sub(1)?.checked_sub(d.sub(n).as_constant()?))?)),
            },
            (Form::Size(a), Form::Size(b)) => Some((a.sub(&b).as_constant()? < 0, 0)),
            _ => None,
        }
    }

    fn all_inside(&mut self, array: ArrayId, index: &[Atom]) -> bool {
        let dims = self.p.memory_dims(array).to_vec();
        let mut margin = 0;
        let inside = index.iter().zip(dims).all(|(i, d)| match self.facts.form(*i) {
            Some(Form::Shifted(v, c)) if v == self.axis.var && d == self.axis.extent => {
                margin = margin.max(c.saturating_abs());
                true
            }
            Some(Form::Shifted(v, 0)) => self.facts.extents.get(&v) == Some(&d),
            Some(Form::Within(e)) => e == d,
            _ => false,
        });
        inside && self.settle(((), margin)).is_some()
    }
}
