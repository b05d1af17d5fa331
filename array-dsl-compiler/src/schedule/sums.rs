//! Sums over the points and trips of a loop, as sums of each point's own, joined after the loop:
//!
//! ```text
//! repeat with s: f64 = a { x = nest [p < n] reduce(add) v; s' = nest [] accumulate(add) s[] x; => s' }
//!     = repeat with t: [n]f64 = 0 { x = nest [p < n] store v; t' = nest [p < n] accumulate(add) t[p] x[p]; => t' };  a + sum(t)
//! ```
//!
//! What begins as nothing, as adjoints do, is the sum itself.
//!
//! The adjoint of what all points share is such a sum. What is added may be linear in sums over the points: a multiple of one, or of the
//! sum of two.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::build::Code;
use crate::bulk::{
    ArrayId, Atom, Body, Carried, Exp, Item, Let, Nest, Program, Reducer, Repeat, Stm, Var, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Loc};

/// A loop whose points have sums of their own, and what comes before and after it.
pub(super) struct OwnSums {
    pub before: Vec<Stm>,
    pub repeat: Repeat,
    pub after: Vec<Stm>,
}

/// The same loop, if it has such sums.
pub(super) fn with_own_sums(
    p: &mut Program,
    r: &Repeat,
    points: &[Dim],
    constants: &FxHashMap<ArrayId, Const>,
) -> Option<OwnSums> {
    let mut q = r.clone();
    let outside = std::mem::take(&mut p.stms);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut any = false;
    for k in 0..q.carried.len() {
        let Some((reducer, steps)) = steps(p, &q, k, points) else { continue };
        any = true;
        let c = q.carried[k];
        let (name, elem) = (p.array(c.state).name.clone(), p.array(c.state).elem);
        let start = p.constant(&name, points, reducer.neutral(elem), r.loc);
        before.append(&mut p.stms);
        let mut of_points = || p.new_array(name.clone(), elem, points.to_vec());
        let (state, result) = (of_points(), of_points());
        let mut next = state;
        for step in steps {
            let mut terms = FxHashMap::default();
            for sum in step.sums {
                let values = p.new_array(name.clone(), elem, points.to_vec());
                folded_at_points(&mut q.body, sum, values, points.len());
                terms.insert(sum, values);
            }
            let to = p.new_array(name.clone(), elem, points.to_vec());
            if let Stm::Nest(n) = &mut q.body[step.at] {
                at_points(p, n, points, &terms, next, to);
            }
            next = to;
        }
        q.carried[k] = Carried { state, start, next, result };
        let total = p.reduced(&name, reducer, result, r.loc);
        after.append(&mut p.stms);
        match after.last_mut() {
            // What begins as nothing is the sum.
            Some(Stm::Nest(n)) if constants.get(&c.start) == Some(&reducer.neutral(elem)) => {
                n.yields.iter_mut().for_each(|y| y.array = c.result);
            }
            _ => after.push(Stm::Nest(accumulation(p, reducer, total, c.start, c.result, r.loc))),
        }
    }
    p.stms = outside;
    any.then_some(OwnSums { before, repeat: q, after })
}

/// A statement of a loop, by its place, that adds what has been folded over the points.
struct Step {
    at: usize,
    sums: Vec<ArrayId>,
}

/// What a state is added in a trip, in order, if that is all that is done with it.
fn steps(p: &Program, r: &Repeat, k: usize, points: &[Dim]) -> Option<(Reducer, Vec<Step>)> {
    let c = r.carried[k];
    if !p.array(c.state).dims.is_empty() {
        return None;
    }
    let mut now = c.state;
    let mut found: Option<Reducer> = None;
    let mut steps = Vec::new();
    for (at, s) in r.body.iter().enumerate() {
        if !s.inputs().contains(&now) {
            continue;
        }
        let Stm::Nest(n) = s else { return None };
        let ([], [Yield { array, kind }]) = (&n.axes[..], &n.yields[..]) else { return None };
        let YieldKind::Accumulate { reducer, into, value: Atom::Var(v), .. } = kind else { return None };
        let mut sums = Vec::new();
        n.body.visit_reads(&mut |a, _| {
            if !sums.contains(&a) && is_folded(r, a, *reducer, points) {
                sums.push(a);
            }
        });
        let is_it = matches!(&n.body.items[..], [Item::Let(Let { vars, .. })] if vars[..] == [*v]);
        let is_step = is_it && sums.len() == 1 || *reducer == Reducer::Add && is_linear(n, &sums, *v);
        if *into != now || !is_step || found.is_some_and(|f| f != *reducer) {
            return None;
        }
        found = Some(*reducer);
        steps.push(Step { at, sums });
        now = *array;
    }
    (now == c.next).then_some(())?;
    Some((found?, steps))
}

/// Whether a scalar is linear in sums: then it is the sum of what it is for the terms of each point.
fn is_linear(n: &Nest, sums: &[ArrayId], value: Var) -> bool {
    let mut linear: FxHashSet<Var> = FxHashSet::default();
    for i in &n.body.items {
        let Item::Let(l) = i else { return false };
        let is = |a: &Atom| a.var().is_some_and(|v| linear.contains(&v));
        let is_linear = match &l.exp {
            Exp::Read { array, .. } => sums.contains(array),
            Exp::Op(Op::Neg, args) => is(&args[0]),
            Exp::Op(Op::Add | Op::Sub, args) if is(&args[0]) && is(&args[1]) => true,
            Exp::Op(Op::Mul, args) if is(&args[0]) != is(&args[1]) => true,
            Exp::Op(Op::Div | Op::Scale, args) if is(&args[0]) && !is(&args[1]) => true,
            other => {
                let mut uses = false;
                other.visit_atoms(&mut |a| uses |= is(&a));
                if uses {
                    return false;
                }
                continue;
            }
        };
        if is_linear {
            linear.insert(l.vars[0]);
        }
    }
    linear.contains(&value)
}

/// A sum of scalars of the host level as one of each point: its code with the point's own terms in place of sums.
fn at_points(
    p: &mut Program,
    n: &mut Nest,
    points: &[Dim],
    terms: &FxHashMap<ArrayId, ArrayId>,
    from: ArrayId,
    to: ArrayId,
) {
    n.axes = p.new_axes(points);
    let at: Vec<Atom> = n.axes.iter().map(|a| Atom::Var(a.var)).collect();
    for i in &mut n.body.items {
        if let Item::Let(Let { exp: Exp::Read { array, index, .. }, .. }) = i
            && let Some(own) = terms.get(array)
        {
            (*array, *index) = (*own, at.clone());
        }
    }
    for y in &mut n.yields {
        if let YieldKind::Accumulate { into, index, .. } = &mut y.kind {
            (y.array, *into, *index) = (to, from, at.clone());
        }
    }
}

/// Whether an array is a fold over the points, and axes after theirs, used once.
fn is_folded(r: &Repeat, sum: ArrayId, with: Reducer, points: &[Dim]) -> bool {
    let folds = |s: &Stm| {
        let Stm::Nest(n) = s else { return false };
        let is_it = |y: &Yield| {
            y.array == sum
                && matches!(&y.kind, YieldKind::Reduce { reducer, over, .. } if *reducer == with && *over == n.axes.len())
        };
        let starts =
            n.axes.len() >= points.len() && n.axes[..points.len()].iter().map(|a| &a.extent).eq(points);
        starts && n.yields.iter().any(is_it)
    };
    let uses = r.body.iter().filter(|s| s.inputs().contains(&sum)).count();
    uses == 1 && r.body.iter().any(folds) && r.carried.iter().all(|c| c.next != sum)
}

/// What was folded over the points and more is folded over the rest, or stored if there is none.
fn folded_at_points(body: &mut [Stm], sum: ArrayId, values: ArrayId, points: usize) {
    for s in body {
        let Stm::Nest(n) = s else { continue };
        for y in n.yields.iter_mut().filter(|y| y.array == sum) {
            if let YieldKind::Reduce { reducer, over, value } = y.kind {
                let kind = match over - points {
                    0 => YieldKind::Store(value),
                    over => YieldKind::Reduce { reducer, over, value },
                };
                *y = Yield { array: values, kind };
            }
        }
    }
}

/// `array` is `into` with the elements of `values` added, each in its place.
fn accumulation(
    p: &mut Program,
    reducer: Reducer,
    values: ArrayId,
    into: ArrayId,
    array: ArrayId,
    loc: Loc,
) -> Nest {
    let dims = p.array(values).dims.clone();
    let axes = p.new_axes(&dims);
    let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(loc);
    let value = code.read(p, values, &index);
    let kind = YieldKind::Accumulate { reducer, into, index, value };
    Nest { axes, body: Body::from(code), yields: vec![Yield { array, kind }], loc }
}
