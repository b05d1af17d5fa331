//! Accumulations into something better, by the form of their index.
//!
//! ```text
//! before   y = nest [axes] { .. } accumulate(+) into zeros at [ix] of v
//! step 1   C = nest [used axes, the others] { .. } reduce(+) over the others of v      (a store if there are none)
//! step 2   every component of ix solvable for one axis:
//!              y = nest [p..] { axis = solution(p);  if in range and the other components agree { C[axes] } else { 0 } }
//!          or for one of several axes, as long as the target but for a few elements:
//!              y = nest [p.., others] { axis = solution(p, others);  if in range .. { C[axes] } else { 0 } } reduce(+) over the others
//!          else  y = nest [used axes] { .. } accumulate(+) into zeros at [ix] of C[axes]
//! ```
//!
//! "Used" are the axes that occur in `ix`. A component `axis + c` is solved by `axis = p - c`, `c - axis` by `axis = c - p`,
//! `(axis + c) mod n` with `axis < n` by `axis = (p - c) mod n`; `c` may have other axes: `x[i + k]` of a filter, `x[i + 1 + k]` of pairs.
//! A component that is kept within a border, `min(i + 1, n - 1)`, is one of two (`within`).
//!
//! Accumulations into what is not zero, `x`, at about all of its places are gathers as well, of which y is the sum with `x`, unless each
//! is at the place of its own point, which `own` makes a write of.
//!
//! If `ix` is exactly the used axes, C is y. Step 2 as a gather costs the size of y, which filling y with zeros costs anyway, times the
//! other axes. A nest with several accumulations is split into one for each.
//!
//! Where a gather would sum along what is a scan's states, accumulations stay: when loops are made, the points that go through the scan
//! accumulate as well (`schedule/collect.rs`), and nobody keeps all states of all points for the places that would gather them. Targets
//! whose points have a thread each do gather ([`gathered`]).
//! Source: thesis 3.5.1 (accumulators to map-reduce), dual arrays part 12 (affine scatters to gathers).

mod solve;
mod within;

use rustc_hash::{FxHashMap, FxHashSet};

use self::solve::{Part, Solution, solve};
use self::within::{either, kept_within};
use super::Sequence;
use crate::affine::{Checked, Facts};
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{
    ArrayId, Atom, Axis, Block, Branch, Exp, Item, Let, Nest, Program, Reducer, Stm, Var, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Loc};

/// Converts what can be converted.
pub(super) fn accumulate(seq: &mut Sequence, p: &mut Program) {
    let states = states(&seq.stms);
    converted(seq, p, &states);
}

/// Makes gathers of what `accumulate` has left for the points of scans; whether there were any.
pub fn gathered(p: &mut Program) -> bool {
    let stms = p.stms.clone();
    Sequence::run(p, |seq, p| converted(seq, p, &FxHashSet::default()));
    p.stms != stms
}

/// The states of scans, of all points and trips.
fn states(stms: &[Stm]) -> FxHashSet<ArrayId> {
    let nests = stms.iter().filter_map(|s| if let Stm::Nest(n) = s { Some(n) } else { None });
    let with_scans =
        nests.filter(|n| n.axes.len() > 1 && n.body.items.iter().any(|i| matches!(i, Item::Scan(_))));
    let stored = with_scans.flat_map(|n| &n.yields).filter(|y| matches!(y.kind, YieldKind::Store(_)));
    stored.map(|y| y.array).collect()
}

fn converted(seq: &mut Sequence, p: &mut Program, states: &FxHashSet<ArrayId>) {
    let zeros: FxHashMap<ArrayId, Const> = seq
        .stms
        .iter()
        .filter_map(|s| match s {
            Stm::Nest(n) => match n.yields.as_slice() {
                [Yield { array, kind: YieldKind::Store(Atom::Const(c)) }] => Some((*array, *c)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    for s in std::mem::take(&mut seq.stms) {
        match s {
            Stm::Nest(n) if n.yields.len() > 1 && n.yields.iter().any(is_accumulate) => {
                for y in &n.yields {
                    let single = separate(p, &n, y.clone());
                    convert(p, single, &zeros, states);
                }
            }
            Stm::Nest(n) => convert(p, n, &zeros, states),
            s => p.stms.push(s),
        }
    }
    seq.stms = std::mem::take(&mut p.stms);
}

fn is_accumulate(y: &Yield) -> bool {
    matches!(y.kind, YieldKind::Accumulate { .. })
}

/// A copy of the nest with one of its yields.
fn separate(p: &mut Program, n: &Nest, y: Yield) -> Nest {
    let mut map = Renaming::default();
    let axes = p.copy_axes(&n.axes, &mut map);
    let lets = p.copy_lets(&n.body.unordered(), &mut map);
    let mut kind = y.kind;
    kind.rename(&map);
    Nest { axes, body: lets.into(), yields: vec![Yield { array: y.array, kind }], loc: n.loc }
}

fn convert(p: &mut Program, n: Nest, zeros: &FxHashMap<ArrayId, Const>, states: &FxHashSet<ArrayId>) {
    let target = match n.yields.as_slice() {
        [Yield { array, kind: YieldKind::Accumulate { reducer: Reducer::Add, into, index, value } }] => {
            Some((*array, *into, index.clone(), *value))
        }
        _ => None,
    };
    let Some((array, into, index, value)) = target else {
        p.stms.push(Stm::Nest(n));
        return;
    };
    let is_zero = |a: ArrayId| zeros.get(&a).is_some_and(|c| c.is_zero());
    let mut forms = Forms::new(&n.axes);
    forms.block(p, &n.body.unordered());
    if let Some(kept) = kept_within(&forms, &n, &index) {
        let from_zeros = is_zero(into);
        let (sides, sum) = either(p, &n, &kept, array, into, &index, value, from_zeros);
        sides.into_iter().for_each(|n| convert(p, n, zeros, states));
        p.stms.extend(sum.map(Stm::Nest));
        return;
    }
    let used: Vec<Var> = {
        let occurring = forms.occurring(&index);
        n.axes.iter().map(|a| a.var).filter(|v| occurring.contains(v)).collect()
    };
    let dims = p.array(array).dims.clone();
    let solution = solve(&forms, &n, &index, &dims, &used);
    let nothing_reduced = used.len() == n.axes.len();
    if !is_zero(into) {
        if let Some(s) = solution.filter(|s| s.covers(&n, &dims)) {
            let more = p.new_array(p.array(array).name.clone(), p.array(array).elem, dims.clone());
            let compact = compact(p, &n, &used, more, value);
            gather(p, &n, &s, &used, compact, more, &dims);
            let sum = sum(p, array, [into, more], n.loc);
            p.stms.push(Stm::Nest(sum));
            return;
        }
        // Only what the index does not tell is summed before.
        if nothing_reduced {
            p.stms.push(Stm::Nest(n));
        } else {
            let compact = compact(p, &n, &used, array, value);
            scatter(p, &n, &used, compact, array, into, &index);
        }
        return;
    }
    match solution {
        Some(s) if s.exact => {
            // The order of the target's dimensions.
            let order: Vec<Var> = s.parts.iter().filter_map(|q| q.axis).collect();
            reduce_into(p, &n, &order, array, value);
        }
        Some(s) if !s.others.is_empty() && nothing_reduced && forms.reads_own(&n, states) => {
            p.stms.push(Stm::Nest(n))
        }
        Some(s) => {
            let compact = compact(p, &n, &used, array, value);
            gather(p, &n, &s, &used, compact, array, &dims);
        }
        None if nothing_reduced => p.stms.push(Stm::Nest(n)),
        None => {
            let compact = compact(p, &n, &used, array, value);
            scatter(p, &n, &used, compact, array, into, &index);
        }
    }
}

/// The forms of all integers of a nest, and which axes anything depends on.
struct Forms {
    facts: Facts,
    depends: FxHashMap<Var, Vec<Var>>,
}

impl Forms {
    fn new(axes: &[Axis]) -> Forms {
        let depends = axes.iter().map(|a| (a.var, vec![a.var])).collect();
        Forms { facts: Facts::new(axes, &Checked::default()), depends }
    }

    fn block(&mut self, p: &Program, lets: &[Let]) {
        for l in lets {
            self.facts.learn(p.into(), l);
            let mut on: Vec<Var> = Vec::new();
            l.exp.visit_atoms(&mut |a| {
                if let Atom::Var(v) = a {
                    on.extend(self.depends.get(&v).into_iter().flatten());
                }
            });
            on.sort();
            on.dedup();
            for v in &l.vars {
                self.depends.insert(*v, on.clone());
            }
        }
    }

    /// Whether a nest reads an element of one of these arrays that each of its points has for itself: its index is one axis after the
    /// other, which that of the places that are accumulated to is not.
    fn reads_own(&self, n: &Nest, arrays: &FxHashSet<ArrayId>) -> bool {
        let axis = |a: &Atom| match self.facts.form(*a)?.axes.into_keys().collect::<Vec<_>>()[..] {
            [axis] => Some(axis),
            _ => None,
        };
        let mut found = false;
        n.body.visit_reads(&mut |array, index| {
            let axes: Option<FxHashSet<Var>> = index.iter().map(axis).collect();
            found |= arrays.contains(&array) && axes.is_some_and(|a| a.len() == n.axes.len());
        });
        found
    }

    fn occurring(&self, index: &[Atom]) -> Vec<Var> {
        index
            .iter()
            .filter_map(|a| match a {
                Atom::Var(v) => self.depends.get(v),
                Atom::Const(_) => None,
            })
            .flatten()
            .copied()
            .collect()
    }
}

/// The sum of two arrays, element by element.
fn sum(p: &mut Program, array: ArrayId, of: [ArrayId; 2], loc: Loc) -> Nest {
    let dims = p.array(array).dims.clone();
    let axes = p.new_axes(&dims);
    let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(loc);
    let [x, y] = of.map(|part| code.read(p, part, &at));
    let kind = YieldKind::Store(code.add(p, x, y));
    Nest { axes, body: code.into(), yields: vec![Yield { array, kind }], loc }
}

/// `array` = the values reduced over the axes not in `order`, which become the dimensions.
fn reduce_into(p: &mut Program, n: &Nest, order: &[Var], array: ArrayId, value: Atom) {
    let mut map = Renaming::default();
    let axes = p.copy_axes(&n.axes, &mut map);
    let lets = p.copy_lets(&n.body.unordered(), &mut map);
    let position = |v: Var| n.axes.iter().position(|a| a.var == v);
    let mut sorted: Vec<Axis> = order.iter().filter_map(|v| position(*v)).map(|i| axes[i].clone()).collect();
    let rest =
        n.axes.iter().enumerate().filter(|(_, a)| !order.contains(&a.var)).map(|(i, _)| axes[i].clone());
    sorted.extend(rest);
    let over = sorted.len() - order.len();
    let value = renamed(&map, value);
    let kind = if over == 0 {
        YieldKind::Store(value)
    } else {
        YieldKind::Reduce { reducer: Reducer::Add, over, value }
    };
    p.stms.push(Stm::Nest(Nest {
        axes: sorted,
        body: lets.into(),
        yields: vec![Yield { array, kind }],
        loc: n.loc,
    }));
}

/// The values over the used axes alone.
fn compact(p: &mut Program, n: &Nest, used: &[Var], like: ArrayId, value: Atom) -> ArrayId {
    let info = p.array(like).clone();
    let dims =
        used.iter().filter_map(|v| n.axes.iter().find(|a| a.var == *v)).map(|a| a.extent.clone()).collect();
    let array = p.new_array(info.name, info.elem, dims);
    reduce_into(p, n, used, array, value);
    array
}

/// Step 2 for a solvable index.
fn gather(
    p: &mut Program,
    n: &Nest,
    s: &Solution,
    used: &[Var],
    compact: ArrayId,
    array: ArrayId,
    dims: &[Dim],
) {
    let axes = p.new_axes(dims);
    let mut code = Code::new(n.loc);
    let axis_of =
        |v: Var| expect(n.axes.iter().find(|a| a.var == v), || format!("%{} is no axis of the nest", v.0));
    let extents: Vec<Dim> = s.others.iter().map(|v| axis_of(*v).extent.clone()).collect();
    let others = p.new_axes(&extents);
    let mut solved: FxHashMap<Var, Atom> = FxHashMap::default();
    solved.extend(s.others.iter().zip(&others).map(|(v, a)| (*v, Atom::Var(a.var))));
    let mut guard: Option<Atom> = None;
    let mut require = |p: &mut Program, code: &mut Code, c: Atom| {
        guard = Some(match guard {
            Some(g) => code.op(p, Op::And, &[g, c]),
            None => c,
        });
    };
    for k in &s.order {
        let (part, place) = (&s.parts[*k], Atom::Var(axes[*k].var));
        let Some(v) = part.axis else { continue };
        let offset = sum_without(p, &mut code, part, Some(v), &solved);
        let solution = match (part.sign, offset) {
            (1, Atom::Const(c)) if c.is_zero() => place,
            (1, o) => code.op(p, Op::Sub, &[place, o]),
            (_, o) => code.op(p, Op::Sub, &[o, place]),
        };
        let solution = match &part.modulus {
            Some(m) => {
                let m = code.size(p, m);
                code.op(p, Op::RemEuclid, &[solution, m])
            }
            None => {
                let inside = code.in_range(p, &[solution], &[axis_of(v).extent.clone()]);
                require(p, &mut code, inside);
                solution
            }
        };
        solved.insert(v, solution);
    }
    for (part, place) in s.parts.iter().zip(&axes) {
        if part.axis.is_some() {
            continue;
        }
        // A component that repeats solved axes, or has none, must agree.
        let sum = sum_without(p, &mut code, part, None, &solved);
        let agrees = code.op(p, Op::Eq, &[sum, Atom::Var(place.var)]);
        require(p, &mut code, agrees);
    }
    let at: Vec<Atom> =
        used.iter().map(|v| *expect(solved.get(v), || format!("%{} is not solved for", v.0))).collect();
    let elem = p.array(array).elem;
    let value = match guard {
        None => code.read(p, compact, &at),
        Some(g) => {
            let mut taken = Code::new(n.loc);
            let x = taken.read(p, compact, &at);
            let other = Branch { block: Block::default(), results: vec![Atom::Const(Const::of(elem, 0))] };
            let exp = Exp::If(g, Branch { block: Block { lets: taken.lets }, results: vec![x] }, other);
            code.bind(p, elem, exp)
        }
    };
    let kind = match others.len() {
        0 => YieldKind::Store(value),
        over => YieldKind::Reduce { reducer: Reducer::Add, over, value },
    };
    let axes = [axes, others].concat();
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields: vec![Yield { array, kind }], loc: n.loc }));
}

/// A component of the index, but for the term of an axis.
fn sum_without(
    p: &mut Program,
    code: &mut Code,
    part: &Part,
    axis: Option<Var>,
    known: &FxHashMap<Var, Atom>,
) -> Atom {
    let mut sum = code.polynomial(p, &part.form.rest);
    for (v, c) in part.form.axes.iter().filter(|(v, _)| Some(**v) != axis) {
        let c = code.polynomial(p, c);
        let term = code.mul(p, *expect(known.get(v), || format!("%{} is not solved for", v.0)), c);
        sum = code.add(p, sum, term);
    }
    sum
}

/// Step 2 for an index that data decides: one update per point of the used axes.
fn scatter(
    p: &mut Program,
    n: &Nest,
    used: &[Var],
    compact: ArrayId,
    array: ArrayId,
    into: ArrayId,
    index: &[Atom],
) {
    let mut map = Renaming::default();
    let kept: Vec<Axis> = n.axes.iter().filter(|a| used.contains(&a.var)).cloned().collect();
    let axes = p.copy_axes(&kept, &mut map);
    // The index does not depend on the other axes; any value of theirs gives it.
    for a in n.axes.iter().filter(|a| !used.contains(&a.var)) {
        map.insert(a.var, int(0));
    }
    let needed = needed(&n.body.unordered(), index);
    let mut code = Code::new(n.loc);
    let lets = p.copy_lets(&needed, &mut map);
    let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut index: Vec<Atom> = index.iter().map(|a| renamed(&map, *a)).collect();
    if needed.iter().any(|l| l.may_fail(&p.vars)) {
        // Where another axis is empty there was no point, and its code must not run: the index is outside.
        let mut some = Atom::Const(Const::bool(true));
        for a in n.axes.iter().filter(|a| !used.contains(&a.var)) {
            let size = code.size(p, &a.extent);
            let here = code.op(p, Op::Gt, &[size, int(0)]);
            some = code.op(p, Op::And, &[some, here]);
        }
        let vars: Vec<Var> = index.iter().map(|i| p.new_var(p.elem(*i))).collect();
        let outside = index.iter().map(|i| Atom::Const(Const::int(p.elem(*i), -1))).collect();
        let taken = Branch { block: Block { lets }, results: index };
        let exp = Exp::If(some, taken, Branch { block: Block::default(), results: outside });
        index = vars.iter().map(|v| Atom::Var(*v)).collect();
        code.lets.push(Let { vars, exp, loc: n.loc });
    } else {
        code.lets.extend(lets);
    }
    let value = code.read(p, compact, &at);
    let kind = YieldKind::Accumulate { reducer: Reducer::Add, into, index, value };
    let yields = vec![Yield { array, kind }];
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: n.loc }));
}

/// The statements that atoms depend on. Those that are executed for their errors alone stay behind: the values' nest
/// has them as well.
fn needed(lets: &[Let], atoms: &[Atom]) -> Vec<Let> {
    let mut live: FxHashSet<Var> = FxHashSet::default();
    let add = |a: Atom, live: &mut FxHashSet<Var>| {
        if let Atom::Var(v) = a {
            live.insert(v);
        }
    };
    atoms.iter().for_each(|a| add(*a, &mut live));
    let mut out: Vec<Let> = Vec::new();
    for l in lets.iter().rev() {
        if !l.vars.iter().any(|v| live.contains(v)) {
            continue;
        }
        l.exp.visit_atoms(&mut |a| add(a, &mut live));
        out.push(l.clone());
    }
    out.reverse();
    out
}
