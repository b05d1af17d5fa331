//! Axes along which one place counts: that of a least or greatest value, or one that is the same for all.
//!
//! ```text
//! b = nest [i, k] { .. } reduce(argmin) over k
//! before   h = nest [i, k] { if k == b[i] { v } else { 0 } } store
//!          s = nest [i, j, k] { h[i, k] * y(j, k) } reduce(+) over k        x = nest [k, j, i] { h[i, k] * z(k, j, i) } reduce(+) over i
//! after    s = nest [i, j] { k = b[i]; v * y(j, k) } store                  x = nest [j, i] { k = b[i]; v * z(k, j, i) } accumulate(+) at [k, j]
//!
//! before   s = nest [i, k] { if k == p(i) { v } else { 0 } } reduce(+) over k
//! after    s = nest [i] { k = p(i); v } store
//! ```
//!
//! The adjoint of a minimum along an axis is such an `h`: zero everywhere but at the winners. It is a dense array so that every rule
//! applies to it, derivatives of derivatives included; here, before scheduling, what is made of it is made for the winners alone. Where
//! it is zero it is a cotangent that is zero, which contributes nothing, whatever it would be multiplied with. What a neighbor beyond the end
//! of an array is taken to be, the first element, say, has such adjoints as well.
//!
//! Only for a target that adds in order. Code that may report an error stays as it is.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use crate::bulk::build::{Code, Rename, Renaming, int, renamed};
use crate::bulk::idle::Idle;
use crate::bulk::walk::Rewriter;
use crate::bulk::{
    ArrayId, Atom, Axis, Block, Branch, Exp, Let, Nest, Program, Reducer, Stm, Var, Yield, YieldKind,
};
use crate::scalar::Op;
use crate::ty::Const;

/// With so few places, making all of them is as cheap as adding at one.
const FEW: i64 = 16;

/// More code than this is not made again where an array is read.
const MOST: usize = 12;

/// Makes for the places that were chosen what is nothing elsewhere; whether there was anything.
pub fn chosen(p: &mut Program) -> bool {
    let before = p.stms.clone();
    Sequence::run(p, run);
    p.stms != before
}

/// An array that is zero but at one place of an axis.
struct Hot {
    nest: Nest,
    value: Atom,
    axis: usize,
}

fn run(seq: &mut Sequence, p: &mut Program) {
    let mut winners: FxHashSet<ArrayId> = FxHashSet::default();
    let mut hot: FxHashMap<ArrayId, Hot> = FxHashMap::default();
    for s in std::mem::take(&mut seq.stms) {
        let Stm::Nest(n) = s else {
            seq.stms.push(s);
            continue;
        };
        if let Some(made) = of_the_chosen(p, &n, &hot, &winners) {
            seq.stms.extend(made.into_iter().map(Stm::Nest));
            continue;
        }
        for y in &n.yields {
            match y.kind {
                YieldKind::Reduce { reducer: Reducer::ArgMin | Reducer::ArgMax, .. } => {
                    winners.insert(y.array);
                }
                YieldKind::Store(value) if n.body.lets().count() <= MOST && !n.body.is_ordered() => {
                    let is_zero = |axis: &usize| {
                        let c = condition(&n, n.axes[*axis].var, &winners);
                        c.and_then(|c| idle(p, &n, c.holds)).is_some_and(|i| is_zero(i.at(value)))
                    };
                    if let Some(axis) = (0..n.axes.len()).find(is_zero) {
                        hot.insert(y.array, Hot { nest: n.clone(), value, axis });
                    }
                }
                _ => {}
            }
        }
        seq.stms.push(Stm::Nest(n));
    }
}

fn is_zero(a: Atom) -> bool {
    matches!(a, Atom::Const(c) if c.is_zero())
}

/// That an axis is at the place that was chosen, which is the same all along it.
struct Condition {
    holds: Var,
    place: Atom,
}

fn condition(n: &Nest, axis: Var, winners: &FxHashSet<ArrayId>) -> Option<Condition> {
    let is_chosen = |place: Atom| {
        let Atom::Var(v) = place else { return true };
        let (code, _) = parted(n, v);
        let mut varies = n.axes.iter().any(|a| a.var == v);
        code.iter().for_each(|l| l.exp.visit_atoms(&mut |a| varies |= a == Atom::Var(axis)));
        let made = code.last().map(|l| &l.exp);
        let is_winner =
            matches!(made, Some(Exp::Read { array, checked: false, .. }) if winners.contains(array));
        let is_known =
            |l: &Let| matches!(&l.exp, Exp::Size(_) | Exp::Op(Op::Add | Op::Sub | Op::Mul | Op::Neg, _));
        !varies && (is_winner || code.iter().all(is_known))
    };
    n.body.lets().find_map(|l| match &l.exp {
        Exp::Op(Op::Eq, args) => {
            let place = match args[..] {
                [a, b] if a == Atom::Var(axis) => b,
                [b, a] if a == Atom::Var(axis) => b,
                _ => return None,
            };
            is_chosen(place).then_some(Condition { holds: l.vars[0], place })
        }
        _ => None,
    })
}

/// What scalars of a nest are where a condition is false, unless something may fail there.
fn idle<'a>(p: &'a Program, n: &Nest, holds: Var) -> Option<Idle<'a>> {
    let mut idle = Idle::new(&p.vars, holds, true);
    n.body.lets().try_for_each(|l| idle.binding(l))?;
    Some(idle)
}

/// The nests that make what a nest makes, along one of its axes for the chosen places only.
fn of_the_chosen(
    p: &mut Program,
    n: &Nest,
    hot: &FxHashMap<ArrayId, Hot>,
    winners: &FxHashSet<ArrayId>,
) -> Option<Vec<Nest>> {
    if n.body.is_ordered() {
        return None;
    }
    (0..n.axes.len()).find_map(|k| {
        let reduced = |over: usize| k + over >= n.axes.len();
        let combines = n.yields.iter().all(|y| match &y.kind {
            YieldKind::Reduce { reducer, over, .. } => {
                reducer.op().is_some() && (reduced(*over) || *reducer == Reducer::Add)
            }
            _ => false,
        });
        let few = n.axes[k].extent.as_constant().is_some_and(|e| e < FEW);
        let all_reduced =
            n.yields.iter().all(|y| matches!(y.kind, YieldKind::Reduce { over, .. } if reduced(over)));
        if !combines || n.yields.is_empty() || few && !all_reduced {
            return None;
        }
        let n = with_hot(p, n, k, hot);
        let c = condition(&n, n.axes[k].var, winners)?;
        let idle = idle(p, &n, c.holds)?;
        let is_nothing = |y: &Yield| match &y.kind {
            YieldKind::Reduce { reducer, value, .. } => idle.is_neutral(*reducer, *value),
            _ => false,
        };
        n.yields.iter().all(is_nothing).then(|| at_places(p, &n, k, &c))
    })
}

/// The nest with the code of the arrays that it reads and that are zero but at one place of this axis.
fn with_hot(p: &mut Program, n: &Nest, axis: usize, hot: &FxHashMap<ArrayId, Hot>) -> Nest {
    let axis = Atom::Var(n.axes[axis].var);
    let mut names = Renaming::default();
    let mut lets = Vec::new();
    for l in n.body.lets() {
        let mut l = l.clone();
        l.exp = l.exp.renamed(&names);
        match &l.exp {
            Exp::Read { array, index, checked: false }
                if hot.get(array).is_some_and(|h| index[h.axis] == axis) =>
            {
                let h = &hot[array];
                let mut inner: Renaming =
                    h.nest.axes.iter().map(|a| a.var).zip(index.iter().copied()).collect();
                let own: Vec<Let> = h.nest.body.lets().cloned().collect();
                lets.extend(p.copy_lets(&own, &mut inner));
                names.insert(l.vars[0], renamed(&inner, h.value));
            }
            _ => lets.push(l),
        }
    }
    let mut n = Nest { body: Code { lets, loc: n.loc }.into(), ..n.clone() };
    n.yields.iter_mut().for_each(|y| y.kind.rename(&names));
    n
}

fn at_places(p: &mut Program, n: &Nest, k: usize, c: &Condition) -> Vec<Nest> {
    let mut axes: Vec<Axis> = n.axes.clone();
    let axis = axes.remove(k);
    let place = c.place;
    let (before, rest) = match place {
        Atom::Var(v) => parted(n, v),
        Atom::Const(_) => (Vec::new(), n.body.lets().cloned().collect()),
    };
    let mut code = Code { lets: before, loc: n.loc };
    // Of no places none was chosen.
    let not_negative = code.op(p, Op::Ge, &[place, int(0)]);
    let extent = code.size(p, &axis.extent);
    let less = code.op(p, Op::Lt, &[place, extent]);
    let inside = code.op(p, Op::And, &[not_negative, less]);
    let names: Renaming =
        [(axis.var, place), (c.holds, Atom::Const(Const::bool(true)))].into_iter().collect();
    let mut lets: Vec<Let> = rest.into_iter().filter(|l| l.vars != [c.holds]).collect();
    lets.iter_mut().for_each(|l| Rename(&names).binding(l));

    let mut nests = Vec::new();
    let (mut yields, mut results, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
    for y in &n.yields {
        let YieldKind::Reduce { reducer, over, value } = &y.kind else { continue };
        let elem = p.array(y.array).elem;
        let result = Atom::Var(p.new_var(elem));
        let kind = if k + over < n.axes.len() {
            let zeros = p.array(y.array).clone();
            let into =
                p.store(&zeros.name, elem, &zeros.dims, n.loc, |_, _, _| Atom::Const(Const::of(elem, 0)));
            nests.extend(p.stms.pop().and_then(|s| if let Stm::Nest(n) = s { Some(n) } else { None }));
            let outer = n.axes.len() - over;
            let mut index: Vec<Atom> = n.axes[..outer].iter().map(|a| Atom::Var(a.var)).collect();
            // Where nothing was chosen this is outside, and nothing is added.
            index[k] = place;
            YieldKind::Accumulate { reducer: *reducer, into, index, value: result }
        } else if *over == 1 {
            YieldKind::Store(result)
        } else {
            YieldKind::Reduce { reducer: *reducer, over: over - 1, value: result }
        };
        yields.push(Yield { array: y.array, kind });
        results.push((result, renamed(&names, *value)));
        nothing.push(Atom::Const(reducer.neutral(elem)));
    }
    let vars: Vec<Var> = results.iter().filter_map(|(r, _)| r.var()).collect();
    let yes = Branch { block: Block { lets }, results: results.iter().map(|(_, v)| *v).collect() };
    let no = Branch { block: Block::default(), results: nothing };
    code.lets.push(Let { vars, exp: Exp::If(inside, yes, no), loc: n.loc });
    // Whose places are data comes first: then what is added at one of them lies together.
    if yields.iter().all(|y| matches!(y.kind, YieldKind::Accumulate { .. })) {
        let over =
            n.yields.iter().map(|y| if let YieldKind::Reduce { over, .. } = y.kind { over } else { 0 });
        axes.rotate_right(over.min().unwrap_or(0));
    }
    nests.push(Nest { axes, body: code.into(), yields, loc: n.loc });
    nests
}

/// The code that computes a scalar, and the rest.
fn parted(n: &Nest, of: Var) -> (Vec<Let>, Vec<Let>) {
    let mut needed: FxHashSet<Var> = [of].into_iter().collect();
    let (mut before, mut rest) = (Vec::new(), Vec::new());
    for l in n.body.lets().cloned().collect::<Vec<_>>().into_iter().rev() {
        if l.vars.iter().any(|v| needed.contains(v)) {
            l.exp.visit_atoms(&mut |a| needed.extend(a.var()));
            before.insert(0, l);
        } else {
            rest.insert(0, l);
        }
    }
    (before, rest)
}
