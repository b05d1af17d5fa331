//! Scans of which only the last state is used, and whose step combines something into the state by an operator whose order does not
//! matter: reductions.
//!
//! ```text
//! before   s = nest [i, k < m] { v; t = scan [x = a(i)] { x - v } } reduce(last) over k of t
//! after    r = nest [i, k < m] { v } reduce(+) over k of -v;   s = nest [i] { if m > 0 { a(i) + r[i] } else { 0 } }
//! ```
//!
//! A loop of the language whose count other loops decide is such a scan, where one of known count would have been a reduction at once.
//! Where a step leaves the state as it is unless a condition holds, as in the trips beyond a point's own, the neutral value is combined in.

use super::Sequence;
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::live::same_along;
use crate::bulk::{Atom, Exp, Item, Nest, Prefix, Program, Reducer, Scan, Stm, Var, Yield, YieldKind};
use crate::scalar::Op;
use crate::ty::Const;

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

/// What a step does.
struct Fold {
    reducer: Reducer,
    /// What it combines in.
    value: Atom,
    /// Its negative is.
    is_negated: bool,
    /// Only where this holds.
    condition: Option<Atom>,
}

/// The reduction and what it started from.
fn folded(p: &mut Program, n: &Nest) -> Option<[Nest; 2]> {
    let at = n.body.items.iter().position(|i| matches!(i, Item::Scan(_)))?;
    let Item::Scan(scan) = &n.body.items[at] else { return None };
    let [y @ Yield { kind: YieldKind::Reduce { reducer: Reducer::Last, over: 1, value }, .. }] =
        &n.yields[..]
    else {
        return None;
    };
    if scan.prefix != Prefix::Inclusive || *value != Atom::Var(*scan.vars.first()?) {
        return None;
    }
    let fold = fold(scan)?;
    let (last, outer) = n.axes.split_last()?;
    let before: Vec<_> = n.body.lets().cloned().collect();
    // What comes after the scan is of no use, unless it says of an index that it is outside.
    let starts = same_along(p, last.var, before, &scan.start)?;
    let elem = p.vars[scan.vars[0].0 as usize];
    let mut inside = n.clone();
    let mut code = Code::new(n.loc);
    let mut value = if fold.is_negated { code.op(p, Op::Neg, &[fold.value]) } else { fold.value };
    if let Some(c) = fold.condition {
        value = code.select(p, c, value, Atom::Const(fold.reducer.neutral(elem)));
    }
    let value_code = code.lets.into_iter().map(Item::Let);
    inside.body.items.splice(at..=at, value_code);
    let dims = outer.iter().map(|a| a.extent.clone()).collect();
    let array = p.new_array(p.array(y.array).name.clone(), elem, dims);
    inside.yields = vec![Yield { array, kind: YieldKind::Reduce { reducer: fold.reducer, over: 1, value } }];

    let mut map = Renaming::default();
    let axes = p.copy_axes(outer, &mut map);
    let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    code.lets = p.copy_lets(&starts, &mut map);
    let combined = code.read(p, array, &index);
    let combined = code.op(p, fold.reducer.op()?, &[renamed(&map, scan.start[0]), combined]);
    // The last of no states is zero.
    let trips = code.size(p, &last.extent);
    let any = code.op(p, Op::Gt, &[trips, int(0)]);
    let value = code.select(p, any, combined, Atom::Const(Const::of(elem, 0)));
    let yields = vec![Yield { array: y.array, kind: YieldKind::Store(value) }];
    Some([inside, Nest { axes, body: code.into(), yields, loc: n.loc }])
}

/// What the step of a scan does with its only state, if it combines something into it that does not depend on it.
fn fold(s: &Scan) -> Option<Fold> {
    let ([left], [result]) = (&s.left[..], &s.step.results[..]) else { return None };
    let [l] = &s.step.block.lets[..] else { return None };
    // Nothing else stands in the step.
    if l.vars != [result.var()?] {
        return None;
    }
    match &l.exp {
        Exp::If(c, yes, no) if *c != Atom::Var(*left) => {
            let [l] = &yes.block.lets[..] else { return None };
            let keeps = no.block.lets.is_empty() && no.results == [Atom::Var(*left)];
            if !keeps || yes.results != [Atom::Var(*l.vars.first()?)] {
                return None;
            }
            Some(Fold { condition: Some(given(s, *c)), ..combined(s, *left, &l.exp)? })
        }
        e => combined(s, *left, e),
    }
}

/// What the step has from a point, by the name that the point has for it.
fn given(s: &Scan, a: Atom) -> Atom {
    s.right.iter().position(|r| Atom::Var(*r) == a).map_or(a, |k| s.values[k])
}

/// What is combined into the state by an expression.
fn combined(s: &Scan, left: Var, e: &Exp) -> Option<Fold> {
    let Exp::Op(op, args) = e else { return None };
    let [a, b] = args[..] else { return None };
    let is_state = |a: Atom| a == Atom::Var(left);
    let value = match (is_state(a), is_state(b)) {
        (true, false) => b,
        (false, true) if *op != Op::Sub => a,
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
    Some(Fold { reducer, value: given(s, value), is_negated: *op == Op::Sub, condition: None })
}
