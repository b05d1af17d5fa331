//! The middle of a loop, away from its ends, where conditions on its ends are settled.
//!
//! ```text
//! for j < n { if j > 0 & j < n - 1 { a[j - 1] + a[j + 1] } else { 0 } }        a[(j + 1) rem n]
//! for 1 <= j < n - 1 { a[j - 1] + a[j + 1] }                                    a[j + 1]
//! ```
//!
//! Loops of stencils and periodic neighborhoods then vectorize. The first and last few trips execute the code as it is.
//! A loop with loops inside takes one of the two bodies at each trip; the middles of the loops inside follow from the body.
//!
//! What is certain there is asked of `affine`, of which the verifier of Loops asks again whether the reads of a middle are inside. It is
//! asked so far away from the ends as it takes: where it is certain at a margin, it is at every wider one.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Cpu;
use crate::affine::{Affine, Facts};
use crate::bulk::build::{Renaming, decided, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Block, Branch, Exp, Let, Scan, Var};
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Fold, Loop, Middle, Node, Range};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// The most trips to leave at either end.
const MOST: i64 = 32;

/// The middle of a loop, if it is simpler than the whole; `facts` are those of the place where the loop stands.
pub(super) fn middle(c: &Cpu<'_>, facts: &mut Facts, l: &Loop) -> Option<Middle> {
    let scope = facts.scope();
    l.axes().for_each(|a| facts.enter(a));
    // One that is half of it or more.
    let most = l.axis.extent.as_constant().map_or(MOST, |n| MOST.min(n / 4));
    let mut peel = Peel {
        c,
        axis: &l.axis,
        executed: None,
        most,
        margin: 0,
        simpler: false,
        names: Renaming::default(),
        facts,
    };
    let body = peel.nodes(&l.body);
    let values = l.folds.iter().map(|f| renamed(&peel.names, f.value)).collect();
    let Peel { margin, simpler, .. } = peel;
    facts.leave(scope);
    Some(Middle { margin, body: body?, values, together: None }).filter(|_| simpler)
}

/// The code of a trip and what it folds, where something is known of the counter: that is in `facts`.
pub(super) fn settled(
    c: &Cpu<'_>,
    facts: &mut Facts,
    axis: &Axis,
    body: &[Node],
    values: &[Atom],
) -> Option<(Vec<Node>, Vec<Atom>)> {
    let scope = facts.scope();
    let mut changed = FxHashSet::default();
    visit_arrays(body, &mut |a, access| changed.extend((access != Access::Read).then(|| c.p.root(a))));
    let executed = Some(Executed { known: FxHashMap::default(), changed });
    let names = Renaming::default();
    let mut peel = Peel { c, axis, executed, most: 0, margin: 0, simpler: false, names, facts };
    let body = peel.nodes(body);
    let values = values.iter().map(|v| renamed(&peel.names, *v)).collect();
    facts.leave(scope);
    Some((body?, values))
}

struct Peel<'a> {
    c: &'a Cpu<'a>,
    axis: &'a Axis,
    /// What has been executed, of a loop that has no middle: its trips may be in order, or combine.
    executed: Option<Executed>,
    /// The widest margin.
    most: i64,
    /// What has been found is certain at so many trips from either end.
    margin: i64,
    simpler: bool,
    names: Renaming,
    /// What is known at every trip.
    facts: &'a mut Facts,
}

/// What has been executed at a place of a trip.
#[derive(Clone)]
struct Executed {
    known: FxHashMap<Exp, Var>,
    /// The memory that the loop changes.
    changed: FxHashSet<ArrayId>,
}

/// What an expression is in the middle.
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
                    let scope = self.facts.scope();
                    l.axes().for_each(|a| self.facts.enter(a));
                    let [from, to] = [l.range.from, l.range.to].map(|a| a.map(|a| renamed(&self.names, a)));
                    self.facts.within(&l.axis, from, to);
                    // What is executed inside is not executed after it.
                    let executed = self.executed.clone();
                    let body = self.nodes(&l.body)?;
                    self.executed = executed;
                    self.facts.leave(scope);
                    let fold = |f: &Fold| Fold { value: renamed(&self.names, f.value), ..f.clone() };
                    let folds: Vec<Fold> = l.folds.iter().map(fold).collect();
                    if let Some(neutral) = self.folds_nothing(&body, &folds) {
                        self.names.extend(neutral);
                        self.simpler = true;
                        continue;
                    }
                    out.push(Node::Loop(Loop { range: Range { from, to }, body, folds, ..l.clone() }));
                }
                Node::Scan(s) if self.executed.is_some() => out.push(Node::Scan(self.scan(s)?)),
                Node::Accumulate { array, reducer, index, value } if self.executed.is_some() => {
                    let index = index.iter().map(|i| renamed(&self.names, *i)).collect();
                    let value = renamed(&self.names, *value);
                    out.push(Node::Accumulate { array: *array, reducer: *reducer, index, value });
                }
                Node::Scan(_) | Node::Recurrence(_) | Node::Accumulate { .. } | Node::Write { .. } => {
                    return None;
                }
            }
        }
        Some(out)
    }

    /// A statement, unless the same has been executed: choices that are settled may have kept two apart.
    fn once(&mut self, l: Let) -> Option<Let> {
        let Some(Executed { known, changed }) = &mut self.executed else { return Some(l) };
        let is_same_again = match &l.exp {
            Exp::Op(..) => true,
            Exp::Read { array, .. } => !changed.contains(&self.c.p.root(*array)),
            _ => false,
        };
        if !is_same_again {
            return Some(l);
        }
        if let Some(v) = known.get(&l.exp) {
            self.names.insert(l.vars[0], Atom::Var(*v));
            return None;
        }
        known.insert(l.exp.clone(), l.vars[0]);
        Some(l)
    }

    fn scan(&mut self, s: &Scan) -> Option<Scan> {
        let mut s = s.clone();
        s.start.iter_mut().chain(&mut s.values).for_each(|a| *a = renamed(&self.names, *a));
        s.step = self.choice(&s.step)?;
        Some(s)
    }

    /// What a loop folds that combines neutral values only, and does nothing else.
    fn folds_nothing(&self, body: &[Node], folds: &[Fold]) -> Option<Vec<(Var, Atom)>> {
        let idle = |n: &Node| matches!(n, Node::Let(l) if !l.may_fail(&self.c.p.vars));
        let neutral = |f: &Fold| match f.value {
            Atom::Const(c) if f.reducer.op().is_some() && c == f.reducer.neutral(c.elem) => {
                Some((f.result, f.value))
            }
            _ => None,
        };
        body.iter().all(idle).then(|| folds.iter().map(neutral).collect())?
    }

    fn binding(&mut self, l: &Let) -> Option<Vec<Let>> {
        let e = l.exp.renamed(&self.names);
        let simple = self.simplify(&e);
        self.simpler |= simple.is_some();
        let exp = match simple.unwrap_or(Simple::Exp(e)) {
            Simple::Atom(a) => {
                self.names.insert(l.vars[0], a);
                return Some(Vec::new());
            }
            Simple::Branch(b) => {
                let Branch { block, results } = self.branch(&b)?;
                self.names.extend(l.vars.iter().copied().zip(results));
                return Some(block.lets);
            }
            Simple::Exp(Exp::If(c, x, y)) => Exp::If(c, self.choice(&x)?, self.choice(&y)?),
            Simple::Exp(e) => e,
        };
        let l = Let { vars: l.vars.clone(), exp, loc: l.loc };
        self.facts.learn(self.c.types(), &l);
        Some(self.once(l).into_iter().collect())
    }

    /// One side of a choice, or the step of a scan: what is known in it is not known after it.
    fn choice(&mut self, b: &Branch) -> Option<Branch> {
        let (scope, executed) = (self.facts.scope(), self.executed.clone());
        let b = self.branch(b);
        self.executed = executed;
        self.facts.leave(scope);
        b
    }

    fn branch(&mut self, b: &Branch) -> Option<Branch> {
        let mut lets = Vec::new();
        for l in &b.block.lets {
            lets.extend(self.binding(l)?);
        }
        let results = b.results.iter().map(|a| renamed(&self.names, *a)).collect();
        Some(Branch { block: Block { lets }, results })
    }

    /// What is certain so far away from the ends as it takes, if that is not too far.
    fn away<T>(&mut self, certain: impl Fn(&mut Facts) -> Option<T>) -> Option<T> {
        let mut at = |margin| {
            let scope = self.facts.scope();
            self.facts.away_from_ends(self.axis, margin);
            let value = certain(self.facts);
            self.facts.leave(scope);
            value
        };
        // Most of what is asked is not certain anywhere.
        let mut value = at(self.most)?;
        let (mut least, mut enough) = (self.margin, self.most);
        while least < enough {
            let margin = least + (enough - least) / 2;
            match at(margin) {
                Some(nearer) => (value, enough) = (nearer, margin),
                None => least = margin + 1,
            }
        }
        self.margin = enough;
        Some(value)
    }

    /// Whether some of these integers moves with the axis. Of others more is certain in the middle as well, that it has trips, but
    /// what is the same at all trips is no reason to have one.
    fn moves(&self, args: &[Atom]) -> bool {
        let form = |a: &Atom| self.facts.form(*a);
        args.iter().filter_map(form).any(|f| f.axes.contains_key(&self.axis.var))
    }

    fn simplify(&mut self, e: &Exp) -> Option<Simple> {
        match e {
            Exp::Op(op, args) => self.op(*op, args),
            Exp::If(Atom::Const(c), x, y) => {
                Some(Simple::Branch(if c.as_bool() { x.clone() } else { y.clone() }))
            }
            Exp::Read { array, index, checked: true } => self.read(*array, index),
            Exp::Inside { index, dims, .. } => {
                self.away(|f| f.all_inside(index, dims).then_some(()))?;
                Some(Simple::Atom(Atom::Const(Const::bool(true))))
            }
            _ => None,
        }
    }

    /// A read that is certainly inside.
    fn read(&mut self, array: ArrayId, index: &[Atom]) -> Option<Simple> {
        let dims = self.c.p.memory_dims(array);
        self.away(|f| f.all_inside(index, dims).then_some(()))?;
        Some(Simple::Exp(Exp::Read { array, index: index.to_vec(), checked: false }))
    }

    fn op(&mut self, op: Op, args: &[Atom]) -> Option<Simple> {
        let bool = |b: bool| Atom::Const(Const::of(Elem::Bool, i64::from(b)));
        let atom = match (op, args) {
            (Op::Rem | Op::RemEuclid, _) => return self.remainder(op, args),
            (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne, [a, b]) if self.moves(args) => {
                bool(self.away(|f| f.decide(op, *a, *b))?)
            }
            (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne, [a, b]) => {
                bool(self.facts.decide(op, *a, *b)?)
            }
            (Op::Min | Op::Max, [a, b]) if self.moves(args) => {
                // Where they are equal they are either of them.
                let is = |f: &Facts, a, b| f.decide(Op::Le, a, b) == Some(true);
                let order = |f: &mut Facts| match (is(f, *a, *b), is(f, *b, *a)) {
                    (false, false) => None,
                    (is_less, _) => Some(is_less),
                };
                if self.away(order)? == (op == Op::Min) { *a } else { *b }
            }
            _ => decided(op, args)?,
        };
        Some(Simple::Atom(atom))
    }

    /// A remainder of what does not go around is that, less the turns that it has made: `(axis + n + c) rem n` is `axis + c`.
    fn remainder(&mut self, op: Op, args: &[Atom]) -> Option<Simple> {
        let axis = self.axis.var;
        self.away(|f| {
            let form = f.within_circle(op, args)?;
            if f.form(args[0]).as_ref() == Some(&form) {
                return Some(Simple::Atom(args[0]));
            }
            let c = form.sub(&Affine::axis(axis)).as_dim()?.as_constant()?;
            let shifted = vec![Atom::Var(axis), Atom::Const(Const::int(Elem::I64, c))];
            Some(Simple::Exp(Exp::Op(Op::Add, shifted)))
        })
    }
}
