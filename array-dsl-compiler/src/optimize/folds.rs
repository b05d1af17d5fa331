//! Scans of which only the last states are used, and whose step combines something into each by an operator whose order does not
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
use crate::bulk::{
    ArrayInfo, Atom, Axis, Exp, Item, Let, Nest, Prefix, Program, Reducer, Scan, Stm, Var, Yield, YieldKind,
};
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

/// What a step does with a state.
struct Fold {
    /// Where the state is among those of the scan.
    state: usize,
    reducer: Reducer,
    /// What it combines in.
    value: Atom,
    /// Its negative is.
    is_negated: bool,
    /// Only where this holds.
    condition: Option<Atom>,
}

/// The reductions and what they started from.
fn folded(p: &mut Program, n: &Nest) -> Option<[Nest; 2]> {
    let at = n.body.items.iter().position(|i| matches!(i, Item::Scan(_)))?;
    let Item::Scan(scan) = &n.body.items[at] else { return None };
    let folds: Vec<Fold> =
        n.yields.iter().map(|y| fold(scan, last_state(scan, y)?)).collect::<Option<_>>()?;
    let (last, outer) = n.axes.split_last()?;
    let before: Vec<_> = n.body.lets().cloned().collect();
    // What comes after the scan is of no use, unless it says of an index that it is outside.
    let start: Vec<Atom> = folds.iter().map(|f| scan.start[f.state]).collect();
    let starts = same_along(p, last.var, before, &start)?;

    let mut inside = n.clone();
    let mut code = Code::new(n.loc);
    inside.yields = folds.iter().zip(&n.yields).map(|(f, y)| reduction(p, &mut code, f, y, outer)).collect();
    inside.body.items.splice(at..=at, code.lets.into_iter().map(Item::Let));

    let mut map = Renaming::default();
    let axes = p.copy_axes(outer, &mut map);
    let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    code.lets = p.copy_lets(&starts, &mut map);
    // The last of no states is zero.
    let trips = code.size(p, &last.extent);
    let any = code.op(p, Op::Gt, &[trips, int(0)]);
    let mut yields = Vec::new();
    for ((f, start), (y, sum)) in folds.iter().zip(start).zip(n.yields.iter().zip(&inside.yields)) {
        let combined = code.read(p, sum.array, &index);
        let combined = code.op(p, f.reducer.op()?, &[renamed(&map, start), combined]);
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
fn reduction(p: &mut Program, code: &mut Code, f: &Fold, y: &Yield, outer: &[Axis]) -> Yield {
    let ArrayInfo { name, elem, .. } = p.array(y.array).clone();
    let mut value = if f.is_negated { code.op(p, Op::Neg, &[f.value]) } else { f.value };
    if let Some(c) = f.condition {
        value = code.select(p, c, value, Atom::Const(f.reducer.neutral(elem)));
    }
    let array = p.new_array(name, elem, outer.iter().map(|a| a.extent.clone()).collect());
    Yield { array, kind: YieldKind::Reduce { reducer: f.reducer, over: 1, value } }
}

/// What the step of a scan does with a state, if it combines something into it that depends on no state. It may do so with others
/// beside it, and nothing else.
fn fold(s: &Scan, state: usize) -> Option<Fold> {
    let result = s.step.results[state].var()?;
    let combines = |lets: &[Let], results: &[Atom]| {
        lets.iter().all(|l| l.vars.iter().all(|v| results.contains(&Atom::Var(*v))))
    };
    if !combines(&s.step.block.lets, &s.step.results) {
        return None;
    }
    let (l, k) = bound(&s.step.block.lets, result)?;
    match &l.exp {
        Exp::If(c, yes, no) => {
            let left: Vec<Atom> = l.vars.iter().map(|v| state_of(s, *v)).collect::<Option<_>>()?;
            if !no.block.lets.is_empty() || no.results != left || !combines(&yes.block.lets, &yes.results) {
                return None;
            }
            let (l, _) = bound(&yes.block.lets, yes.results[k].var()?)?;
            let condition = Some(given(s, *c)?);
            Some(Fold { condition, ..combined(s, state, &l.exp)? })
        }
        e => combined(s, state, e),
    }
}

/// The statement that binds a scalar, and the scalar's place there.
fn bound(lets: &[Let], v: Var) -> Option<(&Let, usize)> {
    lets.iter().find_map(|l| Some((l, l.vars.iter().position(|x| *x == v)?)))
}

/// The state that a result of the step takes the place of.
fn state_of(s: &Scan, result: Var) -> Option<Atom> {
    let k = s.step.results.iter().position(|r| *r == Atom::Var(result))?;
    Some(Atom::Var(s.left[k]))
}

/// What the step has from a point, by the name that the point has for it; nothing that it has computed.
fn given(s: &Scan, a: Atom) -> Option<Atom> {
    let Atom::Var(v) = a else { return Some(a) };
    let is_bound = |lets: &[Let]| bound(lets, v).is_some();
    let in_branch = |l: &Let| match &l.exp {
        Exp::If(_, x, y) => is_bound(&x.block.lets) || is_bound(&y.block.lets),
        _ => false,
    };
    let lets = &s.step.block.lets;
    if s.left.contains(&v) || is_bound(lets) || lets.iter().any(in_branch) {
        return None;
    }
    Some(s.right.iter().position(|r| *r == v).map_or(a, |k| s.values[k]))
}

/// What is combined into a state by an expression.
fn combined(s: &Scan, state: usize, e: &Exp) -> Option<Fold> {
    let Exp::Op(op, args) = e else { return None };
    let [a, b] = args[..] else { return None };
    let is_state = |a: Atom| a == Atom::Var(s.left[state]);
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
    let value = given(s, value)?;
    Some(Fold { state, reducer, value, is_negated: *op == Op::Sub, condition: None })
}
