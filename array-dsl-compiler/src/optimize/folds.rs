//! Scans of which only the last states are used, and whose step combines something into each by an operator whose order does not
//! matter: reductions.
//!
//! ```text
//! before   s = nest [i, k < m] { v; t = scan [x = a(i)] { x - v } } reduce(last) over k of t
//! after    r = nest [i, k < m] { v } reduce(+) over k of -v;   s = nest [i] { if m > 0 { a(i) + r[i] } else { 0 } }
//! ```
//!
//! A loop of the language whose count other loops decide is such a scan, where one of known count would have been a reduction at once.
//! Where a step leaves the state as it is unless a condition holds, as in the trips beyond a point's own or beyond a cutoff, the neutral
//! value is combined in. Whatever else a step computes, of no state, is computed by the reduction.

use rustc_hash::FxHashMap;

use super::Sequence;
use crate::bulk::build::{Code, Rename, Renaming, int, renamed};
use crate::bulk::live::same_along;
use crate::bulk::walk::Rewriter;
use crate::bulk::{
    ArrayInfo, Atom, Axis, Block, Branch, Exp, Item, Let, Nest, Prefix, Program, Reducer, Scan, Stm, Var,
    Yield, YieldKind,
};
use crate::scalar::Op;
use crate::ty::{Const, Loc};

/// Turns what scans can be into reductions.
pub(super) fn folds(seq: &mut Sequence, p: &mut Program) {
    for s in std::mem::take(&mut seq.stms) {
        match s {
            Stm::Nest(n) => match folded(p, &n) {
                Some(nests) => seq.stms.extend(nests.map(Stm::Nest)),
                None => seq.stms.push(Stm::Nest(n)),
            },
            s => seq.stms.push(s),
        }
    }
}

/// What a scan combines into its states in a step.
struct Folds {
    /// What computes it.
    lets: Vec<Let>,
    /// Of each state the operator, if anything is combined into it, and the value.
    of: Vec<Option<(Reducer, Atom)>>,
}

/// The reductions and what they started from.
fn folded(p: &mut Program, n: &Nest) -> Option<[Nest; 2]> {
    let at = n.body.items.iter().position(|i| matches!(i, Item::Scan(_)))?;
    let Item::Scan(scan) = &n.body.items[at] else { return None };
    let mut is_used = false;
    let mut uses = |a: Atom| is_used |= a.var().is_some_and(|v| scan.vars.contains(&v));
    n.body.items[at + 1..].iter().for_each(|i| i.visit_atoms(&mut uses));
    if is_used {
        return None;
    }
    let states: Vec<usize> = n.yields.iter().map(|y| last_state(scan, y)).collect::<Option<_>>()?;
    let Folds { lets, of } = Step::folds(p, scan)?;
    let folds: Vec<(Reducer, Atom)> = states.iter().map(|k| of[*k]).collect::<Option<_>>()?;
    let (last, outer) = n.axes.split_last()?;
    let before: Vec<_> = n.body.lets().cloned().collect();
    // What comes after the scan is of no use, unless it says of an index that it is outside.
    let start: Vec<Atom> = states.iter().map(|k| scan.start[*k]).collect();
    let starts = same_along(p, last.var, before, &start)?;

    let mut inside = n.clone();
    inside.yields = folds.iter().zip(&n.yields).map(|(f, y)| reduction(p, *f, y, outer)).collect();
    inside.body.items.splice(at..=at, lets.into_iter().map(Item::Let));

    let mut map = Renaming::default();
    let axes = p.copy_axes(outer, &mut map);
    let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    code.lets = p.copy_lets(&starts, &mut map);
    // The last of no states is zero.
    let trips = code.size(p, &last.extent);
    let any = code.op(p, Op::Gt, &[trips, int(0)]);
    let mut yields = Vec::new();
    for (((reducer, _), start), (y, sum)) in folds.iter().zip(start).zip(n.yields.iter().zip(&inside.yields))
    {
        let combined = code.read(p, sum.array, &index);
        let combined = code.op(p, reducer.op()?, &[renamed(&map, start), combined]);
        let nothing = Atom::Const(Const::of(p.array(y.array).elem, 0));
        let value = code.select(p, any, combined, nothing);
        yields.push(Yield { array: y.array, kind: YieldKind::Store(value) });
    }
    Some([inside, Nest { axes, body: code.into(), yields, loc: n.loc }])
}

/// The state of a scan of which a yield is the last one.
fn last_state(s: &Scan, y: &Yield) -> Option<usize> {
    match y.kind {
        YieldKind::Reduce { reducer: Reducer::Last, over: 1, value: Atom::Var(v) }
            if s.prefix == Prefix::Inclusive =>
        {
            s.vars.iter().position(|x| *x == v)
        }
        _ => None,
    }
}

/// The reduction that stands for a yield.
fn reduction(p: &mut Program, (reducer, value): (Reducer, Atom), y: &Yield, outer: &[Axis]) -> Yield {
    let ArrayInfo { name, elem, .. } = p.array(y.array).clone();
    let array = p.new_array(name, elem, outer.iter().map(|a| a.extent.clone()).collect());
    Yield { array, kind: YieldKind::Reduce { reducer, over: 1, value } }
}

/// A scalar of a step without states.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A state, and what is combined into it, if anything is.
    State(usize, Option<Atom>),
    /// What no state has to do with.
    Other(Atom),
}

/// A walk through the step of a scan, which leaves the states out and keeps what is combined into them.
struct Step<'a> {
    p: &'a mut Program,
    /// By state: its operator.
    reducers: Vec<Option<Reducer>>,
}

impl Step<'_> {
    /// None if a step does anything else with a state.
    fn folds(p: &mut Program, s: &Scan) -> Option<Folds> {
        let names: Renaming = s.right.iter().copied().zip(s.values.iter().copied()).collect();
        let mut step = s.step.clone();
        Rename(&names).branch(&mut step);
        let states = s.left.iter().enumerate().map(|(k, v)| (*v, Part::State(k, None))).collect();
        let mut walk = Step { p, reducers: vec![None; s.left.len()] };
        let (lets, parts) = walk.branch(&step, states)?;
        let of = parts.into_iter().enumerate().map(|(k, part)| match part {
            Part::State(j, value) if j == k => Some(walk.reducers[k].zip(value)),
            _ => None,
        });
        Some(Folds { lets, of: of.collect::<Option<_>>()? })
    }

    /// Code without states, and its results. `states` are the scalars that are states.
    fn branch(&mut self, b: &Branch, mut states: FxHashMap<Var, Part>) -> Option<(Vec<Let>, Vec<Part>)> {
        let mut code = Code::new(Loc::default());
        for l in &b.block.lets {
            let is_state = |a: Atom| a.var().is_some_and(|v| states.contains_key(&v));
            let mut uses_state = false;
            l.exp.visit_atoms(&mut |a| uses_state |= is_state(a));
            code.loc = l.loc;
            match &l.exp {
                _ if !uses_state => code.lets.push(l.clone()),
                Exp::Op(op, args) => {
                    let part = self.combined(*op, args, &states, &mut code)?;
                    states.insert(l.vars[0], part);
                }
                Exp::If(c, yes, no) if !is_state(*c) => {
                    let (yes, no) = (self.branch(yes, states.clone())?, self.branch(no, states.clone())?);
                    let parts = self.either(l, *c, yes, no, &mut code)?;
                    let of_state = |(_, part): &(Var, Part)| matches!(part, Part::State(..));
                    states.extend(l.vars.iter().copied().zip(parts).filter(of_state));
                }
                _ => return None,
            }
        }
        let part = |a: &Atom| a.var().and_then(|v| states.get(&v).copied()).unwrap_or(Part::Other(*a));
        Some((code.lets, b.results.iter().map(part).collect()))
    }

    /// A state with something more combined into it.
    fn combined(
        &mut self,
        op: Op,
        args: &[Atom],
        states: &FxHashMap<Var, Part>,
        code: &mut Code,
    ) -> Option<Part> {
        let [a, b] = args[..] else { return None };
        let part = |a: Atom| a.var().and_then(|v| states.get(&v).copied()).unwrap_or(Part::Other(a));
        let (k, before, mut value) = match (part(a), part(b)) {
            (Part::State(k, before), Part::Other(value)) => (k, before, value),
            (Part::Other(value), Part::State(k, before)) if op != Op::Sub => (k, before, value),
            _ => return None,
        };
        let reducer = match op {
            Op::Add | Op::Sub => Reducer::Add,
            Op::Mul => Reducer::Mul,
            Op::Min => Reducer::Min,
            Op::Max => Reducer::Max,
            Op::And => Reducer::And,
            Op::Or => Reducer::Or,
            _ => return None,
        };
        if *self.reducers[k].get_or_insert(reducer) != reducer {
            return None;
        }
        if op == Op::Sub {
            value = code.op(self.p, Op::Neg, &[value]);
        }
        if let Some(before) = before {
            value = code.op(self.p, reducer.op()?, &[before, value]);
        }
        Some(Part::State(k, Some(value)))
    }

    /// The results of a choice: states on both sides or on neither.
    fn either(
        &mut self,
        l: &Let,
        c: Atom,
        (yes, of_yes): (Vec<Let>, Vec<Part>),
        (no, of_no): (Vec<Let>, Vec<Part>),
        code: &mut Code,
    ) -> Option<Vec<Part>> {
        let (mut parts, mut vars) = (Vec::new(), Vec::new());
        let (mut side_yes, mut side_no) = (Vec::new(), Vec::new());
        for (v, (a, b)) in l.vars.iter().zip(of_yes.into_iter().zip(of_no)) {
            let (part, values) = match (a, b) {
                (Part::Other(a), Part::Other(b)) => (Part::Other(Atom::Var(*v)), [a, b]),
                (Part::State(k, None), Part::State(j, None)) if k == j => {
                    parts.push(Part::State(k, None));
                    continue;
                }
                (Part::State(k, a), Part::State(j, b)) if k == j => {
                    let neutral = Atom::Const(self.reducers[k]?.neutral(self.p.elem(Atom::Var(*v))));
                    (Part::State(k, Some(Atom::Var(*v))), [a.unwrap_or(neutral), b.unwrap_or(neutral)])
                }
                _ => return None,
            };
            parts.push(part);
            vars.push(*v);
            side_yes.push(values[0]);
            side_no.push(values[1]);
        }
        // What is computed for nothing may still be owed an error.
        if vars.is_empty() {
            let fails = yes.iter().chain(&no).any(|l| l.may_fail(&self.p.vars));
            return (!fails).then_some(parts);
        }
        // Values at hand are selected.
        if yes.is_empty() && no.is_empty() {
            for (v, (a, b)) in vars.into_iter().zip(side_yes.into_iter().zip(side_no)) {
                code.lets.push(Let { vars: vec![v], exp: Exp::Op(Op::Select, vec![c, a, b]), loc: l.loc });
            }
            return Some(parts);
        }
        let yes = Branch { block: Block { lets: yes }, results: side_yes };
        let no = Branch { block: Block { lets: no }, results: side_no };
        code.lets.push(Let { vars, exp: Exp::If(c, yes, no), loc: l.loc });
        Some(parts)
    }
}
