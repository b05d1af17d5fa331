//! Homes of arrays after fusion: nowhere (every read was forwarded), a row (all within the loops that write it), or
//! memory of its own.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::uses::scalars;
use crate::bulk::walk::{Rewriter, Visitor};
use crate::bulk::{self, ArrayId, Atom, Exp};
use crate::dim::Dim;
use crate::loops::uses::visit_arrays;
use crate::loops::{Home, Node, Program, Rounds, Step, no_bands, scratch, together};
use crate::target::Target;

/// Where an array is touched: the step, and the index variables and extents of the axes around it.
#[derive(Clone, Debug)]
struct Touch {
    step: usize,
    axes: Vec<(Atom, Dim)>,
    index: Vec<Atom>,
}

/// Settles the homes of all arrays and removes the stores of those that have none.
pub(super) fn place(p: &mut Program, target: Target) {
    let mut fixed: FxHashSet<ArrayId> = p.result.leaves().into_iter().copied().collect();
    for a in &p.arrays {
        if let Home::View(source) = a.home {
            fixed.insert(source);
        }
    }
    let mut reads: FxHashMap<ArrayId, Vec<Touch>> = FxHashMap::default();
    let mut writes: FxHashMap<ArrayId, Vec<Touch>> = FxHashMap::default();
    let mut count = 0;
    steps(&p.steps, &mut count, &mut fixed, &mut reads, &mut writes);
    // Dimensions of what nothing makes are of no interest: what they mention may be gone as well.
    for (i, a) in p.arrays.iter().enumerate() {
        let id = ArrayId(i as u32);
        let own = matches!(a.home, Home::Param | Home::View(_));
        if own || fixed.contains(&id) || reads.contains_key(&id) || writes.contains_key(&id) {
            fixed.extend(a.dims.iter().flat_map(scalars));
        }
    }
    let mut in_lanes = FxHashSet::default();
    have_lanes(p, &p.steps, &mut in_lanes);
    let roots: FxHashSet<ArrayId> = fixed.iter().map(|a| p.root(*a)).collect();
    for i in 0..p.arrays.len() {
        let id = ArrayId(i as u32);
        if p.arrays[i].home != Home::Heap || roots.contains(&id) {
            continue;
        }
        let (r, w) = (reads.get(&id), writes.get(&id));
        p.arrays[i].home = match (r, w) {
            (None, _) | (_, None) => Home::Nowhere,
            (Some(r), Some(w)) if target.can().nests && !in_lanes.contains(&id) => {
                row_depth(r, w).map_or(Home::Heap, |depth| Home::Row { depth })
            }
            _ => Home::Heap,
        };
    }
    let homes: Vec<Home> = p.arrays.iter().map(|a| a.home.clone()).collect();
    rewrite_steps(&mut p.steps, &homes);
    // Views of nothing are nothing.
    for i in 0..p.arrays.len() {
        if let Home::View(_) = p.arrays[i].home {
            let r = p.root(ArrayId(i as u32));
            if p.arrays[r.0 as usize].home == Home::Nowhere {
                p.arrays[i].home = Home::Nowhere;
            }
        }
    }
}

/// What can be scratch memory of points that go together, which have no rows.
fn have_lanes(p: &Program, list: &[Step], found: &mut FxHashSet<ArrayId>) {
    for s in list {
        match s {
            Step::Tree(t) if together(&t.axes, &t.body, &p.vars).is_some() => {
                let mut used = FxHashSet::default();
                visit_arrays(&t.body, &mut |a, _| used.extend([a]));
                found.extend(used.into_iter().filter(|a| scratch::points(p, t, *a).is_some()));
            }
            Step::Repeat(r) => have_lanes(p, &r.steps, found),
            _ => {}
        }
    }
}

/// What the steps of a list touch; arrays that others than trees touch have memory of their own.
fn steps(
    list: &[Step],
    count: &mut usize,
    fixed: &mut FxHashSet<ArrayId>,
    reads: &mut FxHashMap<ArrayId, Vec<Touch>>,
    writes: &mut FxHashMap<ArrayId, Vec<Touch>>,
) {
    for s in list {
        *count += 1;
        match s {
            Step::Tree(t) => {
                let axes: Vec<(Atom, Dim)> =
                    t.axes.iter().map(|a| (Atom::Var(a.var), a.extent.clone())).collect();
                t.axes.iter().for_each(|a| fixed.extend(scalars(&a.extent)));
                nodes(&t.body, *count, &axes, reads, writes, fixed);
            }
            Step::Contract(c) => {
                fixed.extend([c.result, c.a.array, c.b.array]);
                c.sizes().for_each(|d| fixed.extend(scalars(d)));
            }
            Step::Fill { array, .. } => {
                fixed.insert(*array);
            }
            Step::Copy { array, source } => fixed.extend([*array, *source]),
            Step::Check(c, _) => {
                fixed.extend(c.dims().into_iter().flat_map(scalars));
            }
            Step::Move { array, source } => fixed.extend([*array, *source]),
            Step::Sort(s) => fixed.extend([s.result, s.keys]),
            Step::Call(c) => fixed.extend(c.arrays()),
            Step::Bands(_) => no_bands(),
            Step::Repeat(r) => {
                for c in &r.carried {
                    let bulk::Carried { state, start, next, result } = c.arrays;
                    fixed.extend([state, start, next, result]);
                }
                match &r.trips {
                    bulk::Trips::For(index, count) => {
                        fixed.insert(*index);
                        fixed.extend(scalars(count));
                    }
                    bulk::Trips::While(state) => {
                        fixed.insert(*state);
                    }
                }
                steps(&r.steps, count, fixed, reads, writes);
            }
        }
    }
}

/// What code touches within axes.
struct Code<'a> {
    step: usize,
    axes: &'a [(Atom, Dim)],
    reads: &'a mut FxHashMap<ArrayId, Vec<Touch>>,
    fixed: &'a mut FxHashSet<ArrayId>,
}

impl Visitor for Code<'_> {
    fn dim(&mut self, d: &Dim) {
        self.fixed.extend(scalars(d));
    }

    fn exp(&mut self, e: &Exp) {
        if let Exp::Read { array, index, .. } = e {
            let touch = Touch { step: self.step, axes: self.axes.to_vec(), index: index.clone() };
            self.reads.entry(*array).or_default().push(touch);
        }
        self.walk_exp(e);
    }
}

fn nodes(
    list: &[Node],
    step: usize,
    axes: &[(Atom, Dim)],
    reads: &mut FxHashMap<ArrayId, Vec<Touch>>,
    writes: &mut FxHashMap<ArrayId, Vec<Touch>>,
    fixed: &mut FxHashSet<ArrayId>,
) {
    for n in list {
        let mut code = Code { step, axes, reads, fixed };
        match n {
            Node::Let(l) => code.binding(l),
            Node::Scan(s) => code.scan(s),
            Node::Loop(l) => {
                fixed.extend(scalars(&l.axis.extent));
                let mut inner = axes.to_vec();
                inner.push((Atom::Var(l.axis.var), l.axis.extent.clone()));
                nodes(&l.body, step, &inner, reads, writes, fixed);
            }
            Node::Recurrence(r) => {
                if let Rounds::For(a, _) = &r.rounds {
                    fixed.extend(scalars(&a.extent));
                }
                nodes(&r.body, step, axes, reads, writes, fixed);
            }
            Node::Store { array, index, .. } => {
                let touch = Touch { step, axes: axes.to_vec(), index: index.clone() };
                writes.entry(*array).or_default().push(touch);
            }
            Node::Accumulate { array, .. } | Node::Write { array, .. } => {
                fixed.insert(*array);
            }
        }
    }
}

/// The number of leading axes that all touches share, if they are all in one tree; at least one.
fn row_depth(reads: &[Touch], writes: &[Touch]) -> Option<usize> {
    let first = &writes[0];
    let mut depth = first.axes.len().min(first.index.len());
    for t in reads.iter().chain(writes) {
        if t.step != first.step {
            return None;
        }
        let same = t
            .axes
            .iter()
            .zip(&first.axes)
            .zip(&t.index)
            .take_while(|((a, b), i)| a.0 == b.0 && **i == a.0)
            .count();
        depth = depth.min(same);
    }
    (depth > 0 && depth < first.index.len()).then_some(depth)
}

fn rewrite_steps(steps: &mut Vec<Step>, homes: &[Home]) {
    for s in steps.iter_mut() {
        match s {
            Step::Tree(t) => t.body = rewrite(std::mem::take(&mut t.body), homes),
            Step::Repeat(r) => rewrite_steps(&mut r.steps, homes),
            _ => {}
        }
    }
    steps.retain(|s| !matches!(s, Step::Tree(t) if t.body.is_empty()));
}

fn rewrite(list: Vec<Node>, homes: &[Home]) -> Vec<Node> {
    let depth = |a: ArrayId| match homes[a.0 as usize] {
        Home::Row { depth } => depth,
        _ => 0,
    };
    let mut out = Vec::new();
    for n in list {
        match n {
            Node::Let(mut l) => {
                Shorten(&depth).binding(&mut l);
                out.push(Node::Let(l));
            }
            Node::Scan(mut s) => {
                Shorten(&depth).scan(&mut s);
                out.push(Node::Scan(s));
            }
            Node::Loop(mut l) => {
                l.body = rewrite(l.body, homes);
                if !l.body.is_empty() || !l.folds.is_empty() {
                    out.push(Node::Loop(l));
                }
            }
            Node::Recurrence(mut r) => {
                r.body = rewrite(r.body, homes);
                out.push(Node::Recurrence(r));
            }
            Node::Store { array, index, value } => {
                if homes[array.0 as usize] != Home::Nowhere {
                    out.push(Node::Store { array, index: index[depth(array)..].to_vec(), value });
                }
            }
            n => out.push(n),
        }
    }
    out
}

/// Takes the indices away that rows do not have.
struct Shorten<F>(F);

impl<F: Fn(ArrayId) -> usize> Rewriter for Shorten<F> {
    fn exp(&mut self, e: &mut Exp) {
        if let Exp::Read { array, index, .. } = e {
            index.drain(..(self.0)(*array));
        }
        self.walk_exp(e);
    }
}
