//! Reverse and forward mode of scans, folds and sequential loops.
//!
//! A scan goes through states `s_0 = start, s_{k+1} = step(s_k, x_k)`; it gives `s_{k+1}` (inclusive) or `s_k` (exclusive). With
//! `J_k` the derivative of `step` by the state and `X_k` that by the values, at `(s_k, x_k)`:
//!
//! ```text
//! jvp   the scan of pairs (state, tangent)
//!
//! vjp   A_n = the adjoint of the last state, or 0
//!       inclusive   seed_k = A_{k+1} + y_adj[k];   A_k = J_k^T seed_k
//!       exclusive   seed_k = A_{k+1};              A_k = J_k^T seed_k + y_adj[k]
//!       x_k_adj = X_k^T seed_k;   start_adj = A_0
//! ```
//!
//! The states are read from what the scan has stored; what it did not store yet, it stores besides. What follows is a scan from
//! the end. Of a step that is executed in order it gives `A`: one adjoint step for each step. An associative operator's is a scan
//! of affine maps (`affine`), so that it is associative again.
//!
//! Free scalars and arrays of the step are read once per point by a last nest, which executes all steps again in parallel:
//! each counts once. An expensive new state, such as a `tanh`, is read instead of computed again. Cost: a scan and two
//! executions of the step; of an associative operator with d states d of them, for the columns of `J`.
//! Source: thesis 2.4 (scan), 2.6 (loops); for a reduction the same rule in place of two scans by the operator itself.

mod affine;

use rustc_hash::FxHashSet;

use super::adjoint::{Adjoints, active_scalars, backwards};
use super::form::zero;
use super::reverse::Reverse;
use super::separate::{ScanNest, as_scan};
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::live::same_along;
use crate::bulk::{
    ArrayId, Atom, Axis, Body, Branch, Exp, Item, Let, Nest, Prefix, Program, Reducer, Scan, Stm, Var, Yield,
    YieldKind,
};
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::Elem;

/// A copy of a scan nest's points, with the step executed from given states.
struct Points {
    /// Statements before the step.
    before: Vec<Let>,
    /// Reads of the states. Their adjoints are the scan's business: no contribution is made to what is read here.
    reads: Vec<Let>,
    states: Vec<Var>,
    step: Vec<Let>,
    /// The step as it is executed: an expensive new state is read where the scan has stored it.
    executed: Vec<Let>,
    results: Vec<Atom>,
    start: Vec<Atom>,
}

impl Reverse {
    /// See the module header.
    pub(super) fn scan(&mut self, n: &Nest) {
        let q = expect(as_scan(&self.p, n), || "a nest with a scan is not in its parts".into());
        let mut adjoints = |list: &[Option<ArrayId>]| -> Vec<Option<ArrayId>> {
            q.floats.iter().map(|i| list[*i].and_then(|a| self.total(a))).collect()
        };
        let seeds = Seeds { stored: adjoints(&q.stored), last: adjoints(&q.last) };
        if seeds.stored.iter().chain(&seeds.last).all(Option::is_none) {
            return;
        }
        let history = self.history(n, &q);
        let from_end = match (q.scan.is_associative(), q.scan.prefix) {
            (true, Prefix::Inclusive) => self.affine_seeds(n, &q, &seeds, &history),
            (true, Prefix::Exclusive) => self.affine(n, &q, &seeds, &history),
            (false, _) => self.in_order(n, &q, &seeds, &history),
        };
        self.contributions(n, &q, &seeds, &history, &from_end);
    }

    /// Where the states before all points are read. Those that the scan does not store yet it stores as well: it has them anyway.
    fn history(&mut self, n: &Nest, q: &ScanNest<'_>) -> StateHistory {
        let dims: Vec<_> = n.axes.iter().map(|a| a.extent.clone()).collect();
        let (mut arrays, mut more) = (Vec::new(), Vec::new());
        for ((k, v), stored) in q.scan.vars.iter().enumerate().zip(&q.stored) {
            arrays.push(stored.unwrap_or_else(|| {
                let array = self.p.new_array("state", self.p.vars[v.0 as usize], dims.clone());
                more.push((k, array));
                array
            }));
        }
        // The scan as it stands among the statements may have other variables.
        let results: Vec<ArrayId> = n.yields.iter().map(|y| y.array).collect();
        let is_it =
            |s: &&mut Stm| matches!(s, Stm::Nest(m) if m.yields.iter().any(|y| results.contains(&y.array)));
        let Some(Stm::Nest(m)) = self.p.stms.iter_mut().find(is_it) else {
            panic!("a scan is not among the statements before its adjoint")
        };
        let own = expect(m.body.scans().last(), || "a scan's nest has none".into());
        let store =
            |(k, array): (usize, ArrayId)| Yield { array, kind: YieldKind::Store(Atom::Var(own.vars[k])) };
        m.yields.extend(more.into_iter().map(store));
        StateHistory { arrays, shifted: q.scan.prefix == Prefix::Inclusive }
    }

    /// The points of the nest at `index`, whose last component is the place along the axis.
    fn points(&mut self, n: &Nest, q: &ScanNest<'_>, history: &StateHistory, index: &[Atom]) -> Points {
        let p = &mut self.p;
        let mut map: Renaming = n.axes.iter().map(|a| a.var).zip(index.iter().copied()).collect();
        let before = p.copy_lets(&q.before, &mut map);
        let start: Vec<Atom> = q.scan.start.iter().map(|a| renamed(&map, *a)).collect();
        let mut code = Code::new(n.loc);
        let mut states = Vec::new();
        for ((a, start), left) in history.arrays.iter().zip(&start).zip(&q.scan.left) {
            let state = history.read(p, &mut code, *a, index, *start);
            map.insert(*left, state);
            states.extend(if let Atom::Var(v) = state { Some(v) } else { None });
        }
        for (v, a) in q.scan.right.iter().zip(&q.scan.values) {
            let a = renamed(&map, *a);
            map.insert(*v, a);
        }
        let step = p.copy_lets(&q.scan.step.block.lets, &mut map);
        let results: Vec<Atom> = q.scan.step.results.iter().map(|a| renamed(&map, *a)).collect();
        let mut executed = step.clone();
        for (array, result) in history.arrays.iter().zip(&results).filter(|_| history.shifted) {
            let definition =
                executed.iter_mut().find(|l| matches!(l.vars[..], [v] if Atom::Var(v) == *result));
            if let Some(l) = definition.filter(|l| matches!(&l.exp, Exp::Op(op, _) if !op.is_cheap())) {
                l.exp = Exp::Read { array: *array, index: index.to_vec(), checked: false };
            }
        }
        Points { before, reads: code.lets, states, step, executed, results, start }
    }

    /// Axes from the end: new ones, and the index that counts the last one backwards.
    fn backward_axes(&mut self, n: &Nest, code: &mut Code) -> (Vec<Axis>, Vec<Atom>) {
        let mut map = Renaming::default();
        let axes = self.p.copy_axes(&n.axes, &mut map);
        let mut index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        if let (Some(axis), Some(last)) = (axes.last(), index.last_mut()) {
            *last = from_end(&mut self.p, code, axis, *last);
        }
        (axes, index)
    }

    /// The types of the states that have adjoints.
    fn float_states(&self, q: &ScanNest<'_>) -> Vec<Elem> {
        q.floats.iter().map(|i| self.p.vars[q.scan.left[*i].0 as usize]).collect()
    }

    /// The points from the last to the first.
    fn backward(&mut self, n: &Nest, q: &ScanNest<'_>, seeds: &Seeds, history: &StateHistory) -> Backward {
        let mut code = Code::new(n.loc);
        let (axes, index) = self.backward_axes(n, &mut code);
        let points = self.points(n, q, history, &index);
        code.lets.extend(points.before.iter().chain(&points.reads).cloned());
        let p = &mut self.p;
        let stored_adj = seeds.read_stored(p, &mut code, &index);
        let elems = self.float_states(q);
        let p = &mut self.p;
        let outer = &index[..index.len() - 1];
        let mut last = |(a, e): (&Option<ArrayId>, &Elem)| match a {
            Some(a) => code.read(p, *a, outer),
            None => zero(*e),
        };
        let last = seeds.last.iter().zip(&elems).map(&mut last).collect();
        let own: FxHashSet<Var> = points.states.iter().copied().collect();
        let active = active_scalars(p, &points.step, &FxHashSet::default(), &own);
        Backward { axes, code, points, stored_adj, last, elems, active }
    }

    /// The adjoints that reach each point from later ones, computed in order.
    fn in_order(&mut self, n: &Nest, q: &ScanNest<'_>, seeds: &Seeds, history: &StateHistory) -> FromEnd {
        let Backward { axes, code, points, stored_adj, last, elems, active } =
            self.backward(n, q, seeds, history);
        let p = &mut self.p;
        let left: Vec<Var> = elems.iter().map(|e| p.new_var(*e)).collect();
        // The step again, and backwards.
        let mut step = Code::new(n.loc);
        step.lets = points.executed.clone();
        let mut adjoints = Adjoints::default();
        for ((i, v), y) in q.floats.iter().zip(&left).zip(&stored_adj) {
            let seed = match (q.scan.prefix, y) {
                (Prefix::Inclusive, Some(y)) => step.add(p, Atom::Var(*v), *y),
                _ => Atom::Var(*v),
            };
            adjoints.add(p, &mut step, points.results[*i], seed);
        }
        backwards(p, &mut step, &points.step, &FxHashSet::default(), &active, &mut adjoints, &mut Vec::new());
        let mut results = Vec::new();
        for ((i, e), y) in q.floats.iter().zip(&elems).zip(&stored_adj) {
            let adj = adjoints.get(points.states[*i]).unwrap_or(zero(*e));
            results.push(match (q.scan.prefix, y) {
                (Prefix::Exclusive, Some(y)) => step.add(p, adj, *y),
                _ => adj,
            });
        }
        let step = Branch { block: step.into(), results };
        let (right, values) = (Vec::new(), Vec::new());
        let vars = p.copy_vars(&left, &mut Renaming::default());
        let scan =
            Scan { vars, prefix: Prefix::Exclusive, left, start: last, right, values, step, loc: n.loc };
        FromEnd { arrays: self.store_scan(n, axes, code, scan, &elems), with_own: false }
    }

    /// A nest that stores the first states of a scan.
    fn store_scan(
        &mut self,
        n: &Nest,
        axes: Vec<Axis>,
        code: Code,
        scan: Scan,
        elems: &[Elem],
    ) -> Vec<ArrayId> {
        let dims: Vec<_> = axes.iter().map(|a| a.extent.clone()).collect();
        let yields: Vec<Yield> = scan
            .vars
            .iter()
            .zip(elems)
            .map(|(v, e)| Yield {
                array: self.p.new_array("state_adj", *e, dims.clone()),
                kind: YieldKind::Store(Atom::Var(*v)),
            })
            .collect();
        let arrays = yields.iter().map(|y| y.array).collect();
        let mut body = Body::from(code);
        body.items.push(Item::Scan(scan));
        self.p.stms.push(Stm::Nest(Nest { axes, body, yields, loc: n.loc }));
        arrays
    }

    /// All steps again, in any order, with their seeds known: along several points' axes in the order in which their seeds are made,
    /// so that nobody has to keep these.
    fn contributions(
        &mut self,
        n: &Nest,
        q: &ScanNest<'_>,
        seeds: &Seeds,
        history: &StateHistory,
        later: &FromEnd,
    ) {
        let with_seeds = n.axes.len() > 1 && !q.scan.is_associative();
        let mut code = Code::new(n.loc);
        let (axes, from_end) = self.backward_axes(n, &mut code);
        let counted: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        // Where the step is, and where its seed.
        let (index, reversed) = if with_seeds { (from_end, counted) } else { (counted, from_end) };
        let points = self.points(n, q, history, &index);
        code.lets.extend(points.before.iter().chain(&points.reads).cloned());
        let (Some(axis), Some(place)) = (n.axes.last().map(|a| a.var), index.last()) else {
            panic!("a scan without an axis")
        };
        let p = &mut self.p;
        let stored_adj = seeds.read_stored(p, &mut code, &index);
        code.lets.extend(points.executed.clone());
        let mut adjoints = Adjoints::default();
        for ((i, a), y) in q.floats.iter().zip(&later.arrays).zip(&stored_adj) {
            let mut seed = code.read(p, *a, &reversed);
            if let (Prefix::Inclusive, false, Some(y)) = (q.scan.prefix, later.with_own, y) {
                seed = code.add(p, seed, *y);
            }
            adjoints.add(p, &mut code, points.results[*i], seed);
        }
        let own: FxHashSet<Var> = points.states.iter().copied().collect();
        let before = active_scalars(p, &points.before, &self.active, &FxHashSet::default());
        let known: FxHashSet<Var> = before.union(&own).copied().collect();
        let active = active_scalars(p, &points.step, &self.active, &known);
        let mut out = Vec::new();
        backwards(p, &mut code, &points.step, &self.active, &active, &mut adjoints, &mut out);
        // The first point passes what is left to the start. A neutral element has nothing to do with what it is combined with,
        // but only both contributions of what makes it and of the operator's free variables together are zero.
        let carried = |i: usize| matches!(points.start[i], Atom::Var(v) if before.contains(&v));
        let mut starts = Vec::new();
        for (i, y) in q.floats.iter().zip(&stored_adj).filter(|(i, _)| carried(**i)) {
            let none = zero(p.elem(points.start[*i]));
            let mut adj = adjoints.get(points.states[*i]).unwrap_or(none);
            if let (Prefix::Exclusive, Some(y)) = (q.scan.prefix, y) {
                adj = code.add(p, adj, *y);
            }
            starts.push((*i, adj));
        }
        if with_seeds && let Some(lets) = same_along(p, axis, q.before.clone(), &q.scan.start) {
            self.starts(n, q, &lets, &axes, &code, &starts);
        } else if !starts.is_empty() {
            let first = code.op(p, Op::Eq, &[*place, int(0)]);
            for (i, adj) in starts {
                let none = zero(p.elem(points.start[i]));
                let adj = code.select(p, first, adj, none);
                adjoints.add(p, &mut code, points.start[i], adj);
            }
        }
        let p = &mut self.p;
        backwards(p, &mut code, &points.before, &self.active, &before, &mut adjoints, &mut out);
        self.accumulate(axes, code, out, n.loc);
    }

    /// What is left at the first point, which comes last in `code`, passed on to the starts, which `lets` compute.
    fn starts(
        &mut self,
        n: &Nest,
        q: &ScanNest<'_>,
        lets: &[Let],
        axes: &[Axis],
        code: &Code,
        left: &[(usize, Atom)],
    ) {
        if left.is_empty() {
            return;
        }
        let p = &mut self.p;
        let mut map = Renaming::default();
        let inner = p.copy_axes(axes, &mut map);
        let body = p.copy_lets(&code.lets, &mut map);
        let dims: Vec<_> = n.axes[..n.axes.len() - 1].iter().map(|a| a.extent.clone()).collect();
        let yields: Vec<Yield> = left
            .iter()
            .map(|(_, adj)| {
                let value = renamed(&map, *adj);
                let array = p.new_array("start_adj", p.elem(value), dims.clone());
                Yield { array, kind: YieldKind::Reduce { reducer: Reducer::Last, over: 1, value } }
            })
            .collect();
        let arrays: Vec<ArrayId> = yields.iter().map(|y| y.array).collect();
        p.stms.push(Stm::Nest(Nest { axes: inner, body: body.into(), yields, loc: n.loc }));
        let mut map = Renaming::default();
        let outer = p.copy_axes(&n.axes[..dims.len()], &mut map);
        let index: Vec<Atom> = outer.iter().map(|a| Atom::Var(a.var)).collect();
        let mut code = Code::new(n.loc);
        code.lets = p.copy_lets(lets, &mut map);
        let made = code.lets.clone();
        let mut adjoints = Adjoints::default();
        for ((i, _), array) in left.iter().zip(arrays) {
            let adj = code.read(p, array, &index);
            adjoints.add(p, &mut code, renamed(&map, q.scan.start[*i]), adj);
        }
        let active = active_scalars(p, &made, &self.active, &FxHashSet::default());
        let mut out = Vec::new();
        backwards(p, &mut code, &made, &self.active, &active, &mut adjoints, &mut out);
        self.accumulate(outer, code, out, n.loc);
    }
}

/// `extent - 1 - i`.
fn from_end(p: &mut Program, code: &mut Code, axis: &Axis, i: Atom) -> Atom {
    let last = code.size(p, &axis.extent.sub(&crate::dim::Dim::constant(1)));
    code.op(p, Op::Sub, &[last, i])
}

/// Where the state before each point is.
struct StateHistory {
    arrays: Vec<ArrayId>,
    /// The arrays have the states after the points.
    shifted: bool,
}

impl StateHistory {
    fn read(&self, p: &mut Program, code: &mut Code, array: ArrayId, index: &[Atom], start: Atom) -> Atom {
        let Some((place, outer)) = index.split_last().filter(|_| self.shifted) else {
            return code.read(p, array, index);
        };
        let later = code.op(p, Op::Gt, &[*place, int(0)]);
        code.only_if(p, later, start, |p, code| {
            let before = code.op(p, Op::Sub, &[*place, int(1)]);
            let index: Vec<Atom> = outer.iter().copied().chain([before]).collect();
            code.read(p, array, &index)
        })
    }
}

/// The adjoints of a scan's results, one for each float state.
struct Seeds {
    stored: Vec<Option<ArrayId>>,
    last: Vec<Option<ArrayId>>,
}

impl Seeds {
    fn read_stored(&self, p: &mut Program, code: &mut Code, index: &[Atom]) -> Vec<Option<Atom>> {
        self.stored.iter().map(|a| a.map(|a| code.read(p, a, index))).collect()
    }
}

/// What reaches each point from later ones, for each float state; points from the last to the first.
struct FromEnd {
    arrays: Vec<ArrayId>,
    /// The point's own adjoint is in it.
    with_own: bool,
}

/// What executions of the steps from the end start from.
struct Backward {
    axes: Vec<Axis>,
    /// What comes before the step, the reads of the states and of the seeds.
    code: Code,
    points: Points,
    /// By float state: the adjoint of what is stored at the point, that of the last state, and the type.
    stored_adj: Vec<Option<Atom>>,
    last: Vec<Atom>,
    elems: Vec<Elem>,
    /// What of the step depends on the states.
    active: FxHashSet<Var>,
}
