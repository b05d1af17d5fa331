//! Loops of scalars at points as loops that the points make by themselves, where several points can then make them together:
//!
//! ```text
//! par p < n { for t < m { b; s.. = scan [x.. = a..] [y.. = v..] { step }; c } fold r = last s, q = add e }
//!     = par p < n { for t < m with x.. = a.., q' = 0 { b; step of x.., v..; c } => r', q;  r = if m > 0 { r' } else { 0 } }
//! ```
//!
//! A scan along an axis is the form that derivatives have rules for, and that a GPU divides among threads; one point's has
//! an order and no lanes, its neighbors' have. What else stores elements in loops goes along. A tree is rewritten as a whole or not at all, and not if its points are few. Where each
//! point has a thread of its own the loop is the same in either form, but for what can be joined with it (`adjoin`).

use rustc_hash::FxHashMap;

use crate::bulk::build::{Fresh, Numbered, Renaming, int, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp, Let, Prefix, Reducer, Scan, Var};
use crate::dim::Dim;
use crate::loops::together::together;
use crate::loops::{ArrayInfo, Fold, Home, Loop, Node, Program, Recurrence, Rounds, State, Step, Tree};
use crate::scalar::Op;
use crate::target::Target;
use crate::ty::{Elem, Loc};

/// So few points, where their number is known, gain nothing from lanes.
const FEW: i64 = 8;

/// Rewrites what can be; whether there was any.
pub(super) fn ordered(p: &mut Program, target: Target) -> bool {
    let before = std::mem::take(&mut p.steps);
    let (steps, any) = list(p, before, target);
    p.steps = steps;
    any
}

fn list(p: &mut Program, steps: Vec<Step>, target: Target) -> (Vec<Step>, bool) {
    let (mut out, mut any) = (Vec::new(), false);
    for s in steps {
        match s {
            Step::Repeat(mut r) => {
                let (steps, inner) = list(p, r.steps, target);
                r.steps = steps;
                any |= inner;
                out.push(Step::Repeat(r));
            }
            Step::Tree(t) => {
                if let Some(body) = at_points(&mut p.vars, &t, target) {
                    out.push(Step::Tree(Tree { body, ..t }));
                    any = true;
                } else if let Some((points, sums)) = apart(p, &t, target) {
                    out.extend([points, sums].map(Step::Tree));
                    any = true;
                } else {
                    out.push(Step::Tree(t));
                }
            }
            s => out.push(s),
        }
    }
    (out, any)
}

/// A tree that sums over points, as one of the points and one of the sums:
///
/// ```text
/// once { a; for p < n { for t < m { .. scan .. } fold s = ..; c } fold r = add s; b }
///     = par p < n { a; for t < m with .. { .. } => s; c; each[p] = s }   once { a; for p < n { s = each[p] } fold r = add s; b }
/// ```
fn apart(p: &mut Program, t: &Tree, target: Target) -> Option<(Tree, Tree)> {
    let at = t.body.iter().position(|n| !matches!(n, Node::Let(_)))?;
    let (before, [Node::Loop(l), after @ ..]) = t.body.split_at(at) else { return None };
    let fails = |n: &Node| matches!(n, Node::Let(l) if l.may_fail(&p.vars));
    if !t.axes.is_empty() || l.is_ordered() || !l.merged.is_empty() || before.iter().any(fails) {
        return None;
    }
    let axes = vec![l.axis.clone()];
    let around = Tree::new(axes.clone(), before.iter().chain(&l.body).cloned().collect(), t.loc);
    let mut body = at_points(&mut p.vars, &around, target)?;
    let place = vec![Atom::Var(l.axis.var)];
    let (mut reads, mut folds) = (Vec::new(), Vec::new());
    for f in &l.folds {
        let elem = match f.value {
            Atom::Var(v) => p.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        };
        let array = ArrayId(p.arrays.len() as u32);
        let dims = vec![l.axis.extent.clone()];
        p.arrays.push(ArrayInfo { name: "each".into(), elem, dims, home: Home::Heap, most: None });
        body.push(Node::Store { array, index: place.clone(), value: f.value });
        let value = p.new_var(elem);
        let exp = Exp::Read { array, index: place.clone(), checked: false };
        reads.push(Node::Let(Let { vars: vec![value], exp, loc: l.loc }));
        folds.push(Fold { value: Atom::Var(value), ..f.clone() });
    }
    let summed = Node::Loop(Loop::new(l.axis.clone(), reads, folds, l.loc));
    let sums = before.iter().cloned().chain([summed]).chain(after.iter().cloned()).collect();
    Some((Tree::new(axes, body, t.loc), Tree::new(Vec::new(), sums, t.loc)))
}

/// The nodes of a tree without its scans.
fn at_points(vars: &mut Vec<Elem>, t: &Tree, target: Target) -> Option<Vec<Node>> {
    let has_lanes = target.can().lanes;
    // A thread of its own for each chunk of an associative one is what the device is made for.
    let is_divided = |l: &Loop| !has_lanes && l.scans().all(Scan::is_associative);
    let has_scans = |n: &Node| matches!(n, Node::Loop(l) if l.is_ordered() && !is_divided(l));
    let points = Dim::product(t.axes.iter().map(|a| &a.extent));
    if !t.body.iter().any(has_scans) || points.as_constant().is_some_and(|n| n < FEW) {
        return None;
    }
    let before = vars.len();
    let mut body = Some(Vec::new());
    for n in &t.body {
        match n {
            Node::Loop(l) if has_scans(n) || has_lanes && is_map(l) => {
                let made =
                    Points { vars, names: Renaming::default(), known: FxHashMap::default() }.rewritten(l);
                body = body.zip(made).map(|(mut body, made)| {
                    body.extend(made);
                    body
                });
            }
            n => body.iter_mut().for_each(|b| b.push(n.clone())),
        }
    }
    let are_loops = |n: &Node| matches!(n, Node::Let(_) | Node::Store { .. } | Node::Recurrence(_));
    let goes = |b: &Vec<Node>| match has_lanes {
        true => together(&t.axes, b, vars).is_some(),
        false => b.iter().all(are_loops),
    };
    let body = body.filter(goes);
    if body.is_none() {
        vars.truncate(before);
    }
    body
}

/// Whether a loop only stores elements, each trip its own.
fn is_map(l: &Loop) -> bool {
    l.range.is_whole()
        && l.folds.is_empty()
        && l.body.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }))
}

/// One loop on its way.
struct Points<'a> {
    vars: &'a mut Vec<Elem>,
    /// What scalars of the scans are.
    names: Renaming,
    /// What has been computed in a trip: a step and what comes after it have much in common.
    known: FxHashMap<Exp, Vec<Var>>,
}

impl Points<'_> {
    fn rewritten(mut self, l: &Loop) -> Option<Vec<Node>> {
        let (mut body, mut states) = (Vec::new(), Vec::new());
        if !l.merged.is_empty() {
            return None;
        }
        for n in &l.body {
            match n {
                Node::Let(l) => self.binding(l, &mut body),
                Node::Scan(s) => self.scan(s, &mut states, &mut body),
                Node::Store { array, index, value } => {
                    let index = index.iter().map(|i| renamed(&self.names, *i)).collect();
                    let value = renamed(&self.names, *value);
                    body.push(Node::Store { array: *array, index, value });
                }
                _ => return None,
            }
        }
        let mut after = Vec::new();
        for f in &l.folds {
            self.fold(f, l, &mut states, &mut body, &mut after)?;
        }
        let rounds = Rounds::For(l.axis.clone(), None);
        let mut nodes = vec![Node::Recurrence(Recurrence { rounds, states, body, loc: l.loc })];
        nodes.extend(after);
        Some(nodes)
    }

    fn var(&mut self, elem: Elem) -> Var {
        let v = Var(self.vars.len() as u32);
        self.vars.push(elem);
        v
    }

    fn bind(&mut self, elem: Elem, exp: Exp, loc: Loc, out: &mut Vec<Node>) -> Atom {
        let v = self.var(elem);
        out.push(Node::Let(Let { vars: vec![v], exp, loc }));
        Atom::Var(v)
    }

    /// A copy of a statement, unless its value is known.
    fn binding(&mut self, l: &Let, out: &mut Vec<Node>) {
        let mut new = Let { vars: Vec::new(), ..l.clone() };
        Fresh { vars: self.vars, names: &mut self.names }.exp(&mut new.exp);
        let mut key = new.exp.clone();
        Numbered::default().exp(&mut key);
        let known = self.known.entry(key).or_insert_with(|| {
            new.vars = Fresh { vars: self.vars, names: &mut self.names }.bind(&l.vars);
            new.vars.clone()
        });
        self.names.extend(l.vars.iter().copied().zip(known.iter().map(|v| Atom::Var(*v))));
        if !new.vars.is_empty() {
            out.push(Node::Let(new));
        }
    }

    /// The step at this place: a scan gives the states after it, or before it.
    fn scan(&mut self, s: &Scan, states: &mut Vec<State>, body: &mut Vec<Node>) {
        for (r, v) in s.right.iter().zip(&s.values) {
            let value = renamed(&self.names, *v);
            self.names.insert(*r, value);
        }
        let olds: Vec<Var> = s.left.iter().map(|l| self.var(self.vars[l.0 as usize])).collect();
        self.names.extend(s.left.iter().copied().zip(olds.iter().map(|v| Atom::Var(*v))));
        for l in &s.step.block.lets {
            self.binding(l, body);
        }
        let news: Vec<Atom> = s.step.results.iter().map(|a| renamed(&self.names, *a)).collect();
        for (k, v) in s.vars.iter().enumerate() {
            let given = match s.prefix {
                Prefix::Inclusive => news[k],
                Prefix::Exclusive => Atom::Var(olds[k]),
            };
            self.names.insert(*v, given);
            let result = self.var(self.vars[v.0 as usize]);
            states.push(State { state: olds[k], start: s.start[k], next: news[k], result });
        }
    }

    /// What a loop folds is a state as well. The last value of no trips is zero, whatever a state started from.
    fn fold(
        &mut self,
        f: &Fold,
        l: &Loop,
        states: &mut Vec<State>,
        body: &mut Vec<Node>,
        after: &mut Vec<Node>,
    ) -> Option<()> {
        let value = renamed(&self.names, f.value);
        let elem = self.vars[f.result.0 as usize];
        let start = Atom::Const(f.reducer.neutral(elem));
        let known = states.iter().find(|s| s.next == value).map(|s| s.result);
        if let (Reducer::Last, Some(last)) = (f.reducer, known) {
            let trips = self.bind(Elem::I64, Exp::Size(l.axis.extent.clone()), l.loc, after);
            let some = self.bind(Elem::Bool, Exp::Op(Op::Gt, vec![trips, int(0)]), l.loc, after);
            let exp = Exp::Op(Op::Select, vec![some, Atom::Var(last), start]);
            after.push(Node::Let(Let { vars: vec![f.result], exp, loc: l.loc }));
            return Some(());
        }
        let state = self.var(elem);
        let next = match f.reducer {
            Reducer::Last => value,
            reducer => {
                let exp = Exp::Op(reducer.op()?, vec![Atom::Var(state), value]);
                self.bind(elem, exp, l.loc, body)
            }
        };
        states.push(State { state, start, next, result: f.result });
        Some(())
    }
}
