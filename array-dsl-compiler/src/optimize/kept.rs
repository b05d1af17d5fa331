//! Reductions over what a filter keeps, as reductions over all that it looks at.
//!
//! ```text
//! before   k = nest [i] { as_i64 c(i) } reduce(+);   at = nest [i] { scan exclusive (+) as_i64 c(i) } store
//!          y = nest [i] { p = if c(i) { at[i] } else { -1 } } write z[p] v(i)                        y, z: [k]
//!          s = nest [j < k] { f(y[j]) } reduce(+)
//! after    s = nest [i] { if c(i) { f(v(i)) } else { 0 } } reduce(+)
//! ```
//!
//! The elements that are kept are in their order, and there is one for each place, so nothing but the counting is changed; what is then
//! not used is not computed, the positions before all. What the reduction does at a place has to depend on it by these elements alone.
//! `c` are taken for the same if their code is. Functions that take long stay where all that is kept lies side by side, unless each
//! point has a thread of its own.

use rustc_hash::FxHashMap;

use super::Sequence;
use crate::bulk::build::{Renaming, renamed};
use crate::bulk::live::{live_lets, made_without_scans};
use crate::bulk::{
    ArrayId, Atom, Axis, Block, Branch, Exp, Let, Nest, Prefix, Program, Reducer, Stm, Var, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// Rewrites the reductions that do nothing that takes long.
pub(super) fn kept(seq: &mut Sequence, p: &mut Program) {
    list(seq, p, false);
}

/// Rewrites the others as well; whether there were any.
pub fn kept_by_threads(p: &mut Program) -> bool {
    let mut any = false;
    Sequence::run(p, |seq, p| any |= list(seq, p, true));
    any
}

/// Code in which names do not matter, and its result.
type Shape = (Vec<Exp>, Atom);

/// What is known of conditions: the arrays that say how many points have one, and how many before each, with its shape and the extent.
#[derive(Default)]
struct Counted {
    counts: Vec<(ArrayId, Shape, Dim)>,
    before: FxHashMap<ArrayId, (Shape, Dim)>,
}

/// What a filter has kept of something.
struct Kept {
    /// The axis that the filter goes along, and those of an element.
    axes: Vec<Axis>,
    code: Vec<Let>,
    condition: Atom,
    /// The condition without names, and whether it is the opposite.
    condition_of: (Shape, bool),
    value: Atom,
}

fn list(seq: &mut Sequence, p: &mut Program, all: bool) -> bool {
    let mut counted = Counted::default();
    let mut kept: FxHashMap<ArrayId, Kept> = FxHashMap::default();
    let mut any = false;
    for s in &mut seq.stms {
        let Stm::Nest(n) = s else { continue };
        if let Some(made) = over_all(p, n, &kept, all) {
            *n = made;
            any = true;
        }
        for y in &n.yields {
            match &y.kind {
                YieldKind::Reduce { reducer: Reducer::Add, over: 1, value } if n.axes.len() == 1 => {
                    if let Some(shape) = counted_condition(n, *value) {
                        counted.counts.push((y.array, shape, n.axes[0].extent.clone()));
                    }
                }
                YieldKind::Store(value) if n.axes.len() == 1 => {
                    if let Some(shape) = summed_condition(n, *value) {
                        counted.before.insert(y.array, (shape, n.axes[0].extent.clone()));
                    }
                }
                YieldKind::Write { into, index, value, .. } => {
                    // Read later, elements would be needed that could else be changed in place.
                    kept.retain(|_, k| !reads(&k.code, *into));
                    if let Some(k) = what_is_kept(p, n, y.array, (index, *value), &counted) {
                        kept.insert(y.array, k);
                    }
                }
                YieldKind::Accumulate { into, .. } => kept.retain(|_, k| !reads(&k.code, *into)),
                YieldKind::Reduce { .. } | YieldKind::Store(_) => {}
            }
        }
    }
    any
}

fn reads(code: &[Let], array: ArrayId) -> bool {
    let mut found = false;
    code.iter().for_each(|l| l.exp.visit_reads(&mut |a, _| found |= a == array));
    found
}

/// The expression of a scalar.
fn definition(n: &Nest, a: Atom) -> Option<&Exp> {
    let v = a.var()?;
    n.body.lets().find(|l| l.vars == [v]).map(|l| &l.exp)
}

/// The code of a scalar of a nest over one axis, without names.
fn shape(n: &Nest, a: Atom) -> Option<Shape> {
    let mut names = Renaming::default();
    let name = |names: &mut Renaming, v: Var| {
        names.insert(v, Atom::Var(Var(u32::MAX - names.len() as u32)));
    };
    name(&mut names, n.axes[0].var);
    let mut code = Vec::new();
    for l in made_without_scans(&n.body, [a])? {
        let ([v], false) = (&l.vars[..], matches!(l.exp, Exp::If(..))) else { return None };
        code.push(l.exp.renamed(&names));
        name(&mut names, *v);
    }
    // What else differs from point to point belongs to another axis.
    let mut known = true;
    code.iter().for_each(|e| {
        e.visit_atoms(&mut |a| known &= a.var().is_none_or(|v| names.len() as u32 > u32::MAX - v.0))
    });
    known.then(|| (code, renamed(&names, a)))
}

/// The condition whose values as numbers are these.
fn counted_condition(n: &Nest, value: Atom) -> Option<Shape> {
    match definition(n, value)? {
        Exp::Op(Op::Cast(Elem::I64), args) => shape(n, args[0]),
        _ => None,
    }
}

/// The condition whose values as numbers are summed up before each point.
fn summed_condition(n: &Nest, value: Atom) -> Option<Shape> {
    let scan = n.body.scans().find(|s| s.vars.len() == 1 && value == Atom::Var(s.vars[0]))?;
    let ([left], [right], [start], [given]) =
        (&scan.left[..], &scan.right[..], &scan.start[..], &scan.values[..])
    else {
        return None;
    };
    let ([step], [result]) = (&scan.step.block.lets[..], &scan.step.results[..]) else { return None };
    let adds =
        matches!(&step.exp, Exp::Op(Op::Add, args) if args[..] == [Atom::Var(*left), Atom::Var(*right)]);
    let is_sum = adds && step.vars.first().map(|v| Atom::Var(*v)) == Some(*result);
    let from_zero = scan.prefix == Prefix::Exclusive && *start == Atom::Const(Const::of(Elem::I64, 0));
    if is_sum && from_zero { counted_condition(n, *given) } else { None }
}

/// Whether a nest writes what a filter keeps.
fn what_is_kept(
    p: &Program,
    n: &Nest,
    array: ArrayId,
    (index, value): (&[Atom], Atom),
    counted: &Counted,
) -> Option<Kept> {
    let (place, rest) = index.split_first()?;
    let Exp::Op(Op::Select, args) = definition(n, *place)? else { return None };
    let [condition, position, outside] = args[..] else { return None };
    let (axis, others) = n.axes.split_first()?;
    let whole = rest.iter().copied().eq(others.iter().map(|a| Atom::Var(a.var)));
    if !whole || outside != Atom::Const(Const::int(Elem::I64, -1)) {
        return None;
    }
    // What does not match is as many places further on as there are others that do not.
    let (position, counted_as, matches) = match (definition(n, position)?, definition(n, condition)) {
        (Exp::Op(Op::Sub, args), Some(Exp::Op(Op::Not, of))) if args[0] == Atom::Var(axis.var) => {
            (args[1], of[0], false)
        }
        _ => (position, condition, true),
    };
    let Exp::Read { array: before, index: at, checked: false } = definition(n, position)? else {
        return None;
    };
    let alone = Nest { axes: vec![axis.clone()], ..n.clone() };
    let shape = shape(&alone, counted_as)?;
    let (summed, extent) = counted.before.get(before)?;
    let found = p.array(array).dims.first()?;
    let is_counted = counted.counts.iter().any(|(count, counted, of)| {
        let count = Dim::atom(SizeAtom::Scalar(count.0));
        let expected = if matches { count } else { axis.extent.sub(&count) };
        *found == expected && *counted == shape && *of == axis.extent
    });
    let is_same = *summed == shape && *extent == axis.extent && at[..] == [Atom::Var(axis.var)];
    let code = made_without_scans(&n.body, [condition, value])?;
    (is_counted && is_same).then(|| Kept {
        axes: n.axes.clone(),
        code,
        condition,
        condition_of: (shape, matches),
        value,
    })
}

/// A reduction over what is kept as one over all.
fn over_all(p: &mut Program, n: &Nest, kept: &FxHashMap<ArrayId, Kept>, all: bool) -> Option<Nest> {
    if n.body.is_ordered() || kept.is_empty() {
        return None;
    }
    let lets = n.body.unordered();
    // The one axis along which it reads what one filter has kept.
    let mut found: Option<(usize, &Kept)> = None;
    let mut alone = true;
    for l in &lets {
        if let Exp::Read { array, index, checked: false } = &l.exp
            && let Some(k) = kept.get(array)
            && let Some(at) = n.axes.iter().position(|a| index.first() == Some(&Atom::Var(a.var)))
        {
            let same = |q: &Kept| k.condition_of == q.condition_of && k.axes[0].extent == q.axes[0].extent;
            alone &= p.array(*array).dims[0] == n.axes[at].extent
                && found.is_none_or(|(axis, other)| axis == at && same(other));
            found = found.or(Some((at, k)));
        }
    }
    let (at, filter) = found.filter(|_| alone)?;
    let axis = &n.axes[at];
    let folded = |y: &Yield| match y.kind {
        YieldKind::Reduce { reducer, over, .. } => reducer.op().is_some() && at >= n.axes.len() - over,
        _ => false,
    };
    if !n.yields.iter().all(folded) || !all && lets.iter().any(Let::takes_long) {
        return None;
    }
    let mut axes = n.axes.clone();
    let point = p.new_var(Elem::I64);
    axes[at] = Axis { var: point, extent: filter.axes[0].extent.clone() };
    let mut map: Renaming = [(filter.axes[0].var, Atom::Var(point))].into_iter().collect();
    let tests = code_of_condition(filter);
    let mut body = p.copy_lets(&tests, &mut map);
    let condition = renamed(&map, filter.condition);
    let mut names = Renaming::default();
    let mut inside = Vec::new();
    for l in &lets {
        let exp = l.exp.renamed(&names);
        if let Exp::Read { array, index, checked: false } = &exp
            && index.first() == Some(&Atom::Var(axis.var))
        {
            let k = kept.get(array)?;
            let mut map: Renaming =
                k.axes[1..].iter().map(|a| a.var).zip(index[1..].iter().copied()).collect();
            map.insert(k.axes[0].var, Atom::Var(point));
            inside.extend(p.copy_lets(&k.code, &mut map));
            names.insert(l.vars[0], renamed(&map, k.value));
            continue;
        }
        inside.push(Let { exp, ..l.clone() });
    }
    let mut values = Vec::new();
    let mut neutral = Vec::new();
    for y in &n.yields {
        let YieldKind::Reduce { reducer, value, .. } = y.kind else { return None };
        values.push(renamed(&names, value));
        neutral.push(Atom::Const(reducer.neutral(p.array(y.array).elem)));
    }
    // What is computed there must not know its place otherwise.
    let mut knows = values.contains(&Atom::Var(axis.var));
    inside.iter().for_each(|l| l.exp.visit_atoms(&mut |a| knows |= a == Atom::Var(axis.var)));
    if knows {
        return None;
    }
    let vars: Vec<Var> = n.yields.iter().map(|y| p.new_var(p.array(y.array).elem)).collect();
    let yes = Branch { block: Block { lets: inside }, results: values };
    let no = Branch { block: Block::default(), results: neutral };
    body.push(Let { vars: vars.clone(), exp: Exp::If(condition, yes, no), loc: n.loc });
    let mut yields = n.yields.clone();
    for (y, v) in yields.iter_mut().zip(vars) {
        if let YieldKind::Reduce { value, .. } = &mut y.kind {
            *value = Atom::Var(v);
        }
    }
    Some(Nest { axes, body: body.into(), yields, loc: n.loc })
}

/// What of a filter's code its condition needs.
fn code_of_condition(k: &Kept) -> Vec<Let> {
    let mut live = k.condition.var().into_iter().collect();
    live_lets(k.code.clone(), &mut live)
}
