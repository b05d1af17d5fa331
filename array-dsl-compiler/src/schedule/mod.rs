//! Bulk to Loops: which nests share loops, and where arrays live.
//!
//! The bulk-operation transform un-fuses; this stage wins it back. A nest joins an earlier group of nests when the
//! leading extents agree, everything it depends on is finished at the same point of the shared axes, and there is
//! something to gain (a common array). Then arrays that are produced and consumed at one point become scalars, and
//! those consumed within the loops that produce them become rows.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | the steps in order; targets of accumulations |
//! | `numbers` | numbers of the host level, first |
//! | `contract` | nests that are sums of products |
//! | `settle` | where loops are executed: in their points or at the host level |
//! | `sink` | a loop that points make by themselves |
//! | `sums` | sums over points and trips |
//! | `choices` | choices by one condition as one |
//! | `sorted` | sorts of which nothing needs the positions |
//! | `ordered` | loops of scalars at points as loops of points |
//! | `adjoin` | what is made by the same points as a loop of points, joined with it |
//! | `collect` | sums over the points of a loop as what these add up |
//! | `updates` | steps that change elements in place at the same points, as one |
//! | `siblings` | loops of one point that make the same trips |
//! | `again` | what the points of a loop compute again |
//! | `fuse` | groups of nests; loop trees |
//! | `histories` | states of which each trip writes a row, which begin as anything |
//! | `computed` | what is known at a place of a tree |
//! | `repeat` | loops; who takes over whose memory |
//! | `unroll` | short loops as scalar code, small arrays as scalars |
//! | `shared` | what two pieces of code at the same points have in common |
//! | `users` | which memory a step uses, and how many steps use some |
//! | `values` | elements that are read where they were stored |
//! | `place` | homes of arrays |

mod adjoin;
mod again;
mod choices;
mod collect;
mod computed;
mod contract;
mod fuse;
mod histories;
mod numbers;
mod ordered;
mod place;
mod repeat;
mod settle;
mod shared;
mod siblings;
mod sink;
mod sorted;
mod sums;
mod unroll;
mod updates;
mod users;
mod values;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::affine::Checked;
use crate::bulk::{self, ArrayId, Stm, Yield, YieldKind};
use crate::loops::uses::visit_arrays;
use crate::loops::verify::compare;
use crate::loops::{ArrayInfo, Home, Node, Program, Sort, Sorted, Step, Tree};
use crate::target::Target;
use crate::ty::Const;
use settle::SunkLoops;
use sink::Sunk;

/// Schedules a program. Points' small arrays that become scalars join what is flat into one tree, and loops go into their points, as
/// long as that uses few arrays.
pub fn schedule(p: &bulk::Program, target: Target) -> Program {
    let most = target.can().arrays;
    let mut limits = Limits { longest: unroll::LONGEST, arrays: usize::MAX };
    loop {
        let scheduled = scheduled(p, target, limits);
        let [of_loops, of_others] =
            [true, false].map(|with_loops| most_arrays(&scheduled, &scheduled.steps, with_loops));
        if of_loops > most && limits.arrays > 0 {
            // What nobody reads in the end counts as well at first sight.
            limits.arrays = if limits.arrays > most { most } else { 0 };
        } else if of_others > most && limits.longest > 0 {
            limits.longest = if limits.longest > 500 { limits.longest / 4 } else { 0 };
        } else {
            return scheduled;
        }
    }
}

/// What becomes scalar code, and loops of points.
#[derive(Clone, Copy)]
struct Limits {
    /// On targets without loops in loops at most so many statements become the scalar code of a point.
    longest: i64,
    /// Loops with more arrays than these do not go into their points.
    arrays: usize,
}

/// The greatest number of arrays that a tree uses, of those with loops of points or of the others.
fn most_arrays(p: &Program, steps: &[Step], with_loops: bool) -> usize {
    let arrays = |s: &Step| match s {
        Step::Tree(t) if adjoin::has_loops(t) == with_loops => arrays(p, &t.body),
        Step::Repeat(r) => most_arrays(p, &r.steps, with_loops),
        _ => 0,
    };
    steps.iter().map(arrays).max().unwrap_or(0)
}

/// The number of arrays whose memory nodes use.
fn arrays(p: &Program, nodes: &[Node]) -> usize {
    let mut all = FxHashSet::default();
    visit_arrays(nodes, &mut |a, _| all.extend([p.root(a)]));
    all.len()
}

/// The same, within limits.
fn scheduled(p: &bulk::Program, target: Target, Limits { longest, arrays: most }: Limits) -> Program {
    let mut p = p.clone();
    let by_value = sorted::by_value(&mut p);
    if target.can().lanes {
        numbers::first(&mut p);
    }
    let mut known = FxHashMap::default();
    constants(&p.stms, &mut known);
    let sunk = settle::settled(&mut p, &known, target, most);
    let has_sunk = !sunk.is_empty();
    let is_step = |r: &bulk::Repeat| !r.carried.iter().any(|c| sunk.contains_key(&c.state));
    let any = match target.can().lanes {
        true => histories::histories(&mut p, &known, &is_step),
        false => FxHashSet::default(),
    };
    let params: FxHashSet<ArrayId> = p.params.iter().flat_map(|q| leaves(&q.arrays)).collect();
    let arrays = p
        .arrays
        .iter()
        .enumerate()
        .map(|(i, a)| ArrayInfo {
            name: a.name.clone(),
            elem: a.elem,
            dims: a.dims.clone(),
            home: if params.contains(&ArrayId(i as u32)) { Home::Param } else { Home::Heap },
            most: None,
        })
        .collect();
    let mut out = Program {
        name: p.name.clone(),
        sizes: p.sizes.clone(),
        strips: p.strips.clone(),
        params: p.params.clone(),
        arrays,
        vars: p.vars.clone(),
        steps: Vec::new(),
        result: p.result.clone(),
        places: p.places.clone(),
    };
    views(&p.stms, &sunk, &mut out);
    let fills = fill_only(&p, &known);
    let (sizes, vars) = (p.size_scalars(), p.vars.clone());
    let mut s = Steps {
        p: &p,
        target,
        longest,
        by_value,
        sunk,
        constants: known,
        fills,
        any,
        sizes,
        known: Checked::default(),
        vars,
    };
    let results: FxHashSet<ArrayId> = leaves(&p.result).into_iter().collect();
    out.steps = s.block(&p.stms, &results, &FxHashSet::default());
    out.vars = s.vars;
    let has_ordered = ordered::ordered(&mut out, target);
    if has_ordered || has_sunk {
        adjoin::adjoin(&mut out, target);
        if !target.can().lanes {
            again::again(&mut out, target);
        }
    }
    if target.can().lanes {
        collect::collect(&mut out);
        siblings::siblings(&mut out);
    }
    updates::updates(&mut out, target);
    std::mem::swap(&mut p.vars, &mut out.vars);
    let memory: Vec<ArrayId> = (0..out.arrays.len()).map(|a| out.root(ArrayId(a as u32))).collect();
    let has_unrolled = unroll::unroll(&mut p, &memory, &mut out.steps, target);
    std::mem::swap(&mut p.vars, &mut out.vars);
    place::place(&mut out, target);
    choices::choices(&mut out.steps, &mut out.vars);
    if has_unrolled {
        unroll::without_unused(&mut out.steps);
    }
    // What a loop says of its trips at the host level its points may not say, nor a loop what its unrolled code needs; and what stands
    // in one loop with a read that is compared is executed before it is known that all were inside.
    compare(&mut out);
    out
}

/// Views, and the results of loops, have the memory of others.
fn views(stms: &[Stm], sunk: &SunkLoops, out: &mut Program) {
    for s in stms {
        match s {
            Stm::Reshape { result, source } => out.arrays[result.0 as usize].home = Home::View(*source),
            Stm::Repeat(r) => {
                let stands_in_points = r.carried.first().and_then(|c| sunk.get(&c.state));
                let states = stands_in_points.map_or(&r.carried, |s| &s.memory);
                for c in states {
                    out.arrays[c.result.0 as usize].home = Home::View(c.state);
                }
                if stands_in_points.is_none() {
                    views(&r.body, sunk, out);
                }
            }
            _ => {}
        }
    }
}

/// What is known while the steps are made.
struct Steps<'a> {
    p: &'a bulk::Program,
    target: Target,
    longest: i64,
    /// Sorts that give elements.
    by_value: FxHashSet<ArrayId>,
    sunk: SunkLoops,
    constants: FxHashMap<ArrayId, Const>,
    fills: FxHashSet<ArrayId>,
    /// Arrays that begin as anything.
    any: FxHashSet<ArrayId>,
    /// The arrays that sizes mention.
    sizes: FxHashSet<ArrayId>,
    /// What is established before the statement at hand.
    known: Checked,
    vars: Vec<crate::ty::Elem>,
}

impl Steps<'_> {
    /// The steps of a list of statements. `after` are the arrays that are used when they are done; `own` those bound before
    /// them whose memory they may take over.
    fn block(&mut self, stms: &[Stm], after: &FxHashSet<ArrayId>, own: &FxHashSet<ArrayId>) -> Vec<Step> {
        let memory = repeat::Memory::new(stms, after, own, &self.sizes);
        let mut f = fuse::Fuse::new(self.p, self.target, self.longest, std::mem::take(&mut self.vars));
        for (at, s) in stms.iter().enumerate() {
            self.stm(at, s, &memory, &mut f);
            self.known.statement(s, self.p);
        }
        let (steps, vars) = f.finish();
        self.vars = vars;
        steps
    }

    /// Whether an array has memory that another can take over.
    fn has_memory(&self, a: ArrayId) -> bool {
        self.target.can().scalars_in_memory || !self.p.array(a).dims.is_empty()
    }

    /// Memory for an array that starts as another one, whose memory it may take over.
    fn prepared(&self, array: ArrayId, source: ArrayId, taken: bool) -> Step {
        match self.constants.get(&source) {
            Some(value) => Step::Fill { array, value: Some(*value) },
            None if taken => Step::Move { array, source },
            None => Step::Copy { array, source },
        }
    }

    /// A loop that stands in its points, statement `at` of its list.
    fn sunk_loop(
        &mut self,
        at: usize,
        r: &bulk::Repeat,
        memory: &repeat::Memory<'_>,
        f: &mut fuse::Fuse<'_>,
    ) {
        let Some(Sunk { tree, memory: states, own }) = self.sunk.remove(&r.carried[0].state) else { return };
        for (array, value) in own {
            f.barrier(Step::Fill { array, value: Some(value) }, &[array], &[]);
        }
        for c in states {
            let taken = memory.ends(at, c.start) && memory.once(at, c.start);
            f.barrier(self.prepared(c.state, c.start, taken), &[c.state], &[c.start]);
        }
        let results: Vec<ArrayId> = r.carried.iter().map(|c| c.result).collect();
        f.barrier(Step::Tree(tree), &results, &[]);
    }

    fn stm(&mut self, at: usize, s: &Stm, memory: &repeat::Memory<'_>, f: &mut fuse::Fuse<'_>) {
        match s {
            Stm::Repeat(r) if r.carried.first().is_some_and(|c| self.sunk.contains_key(&c.state)) => {
                self.sunk_loop(at, r, memory, f);
            }
            Stm::Repeat(r) => {
                self.vars = f.take_vars();
                let step = self.repeat(at, r, memory);
                f.give_vars(std::mem::take(&mut self.vars));
                f.barrier(step, &s.results(), &s.inputs());
            }
            Stm::Nest(n) => {
                if let [
                    Yield { array, kind: kind @ (YieldKind::Accumulate { .. } | YieldKind::Write { .. }) },
                ] = n.yields.as_slice()
                {
                    let (YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. }) = kind else {
                        return;
                    };
                    let ordered =
                        matches!(kind, YieldKind::Write { contested: true, value: bulk::Atom::Var(_), .. });
                    assert!(
                        self.target.can().orders_points || !ordered,
                        "points write to one place of `{}` in no order",
                        self.p.array(*array).name
                    );
                    let mut tree = update(n, *array, kind);
                    let taken =
                        self.has_memory(*into) && memory.updates_in_place(self.p, at, n, *into, &self.known);
                    let prepare = self.prepared(*array, *into, taken);
                    if matches!(prepare, Step::Move { .. }) {
                        // What is read of the old array is read before the new value is there.
                        repeat::redirect(&mut tree, *into, *array);
                    }
                    f.barrier(prepare, &[*array], &[*into]);
                    f.barrier(Step::Tree(tree), &[*array], &s.inputs());
                    return;
                }
                if let Some(c) = contract::contraction(self.p, n, self.target.can().parts, &self.known) {
                    f.barrier(Step::Contract(c), &s.results(), &s.inputs());
                    return;
                }
                if let [y] = &n.yields[..]
                    && self.any.contains(&y.array)
                {
                    f.barrier(Step::Fill { array: y.array, value: None }, &[y.array], &[]);
                    return;
                }
                for (over, yields) in by_depth(&n.yields) {
                    if yields.iter().all(|y| self.fills.contains(&y.array)) {
                        continue;
                    }
                    f.nest(n, over, yields);
                }
            }
            Stm::Sort(bulk::Sort { result, keys }) => {
                let gives = if self.by_value.contains(result) { Sorted::Values } else { Sorted::Positions };
                f.barrier(Step::Sort(Sort { result: *result, gives, keys: *keys }), &[*result], &[*keys]);
            }
            Stm::Call(c) => f.barrier(Step::Call(c.clone()), &c.results, &c.args),
            Stm::Custom(_) => panic!("a rule of the user's is still there when loops are made"),
            Stm::Check(c, l) => f.check(Step::Check(c.clone(), *l)),
            Stm::Reshape { .. } => {}
        }
    }
}

fn leaves(t: &crate::ty::Tree<ArrayId>) -> Vec<ArrayId> {
    t.leaves().into_iter().copied().collect()
}

/// Arrays that are one constant everywhere.
fn constants(stms: &[Stm], out: &mut FxHashMap<ArrayId, Const>) {
    for s in stms {
        if let Stm::Repeat(r) = s {
            constants(&r.body, out);
        }
        if let Stm::Nest(n) = s {
            for y in &n.yields {
                if let YieldKind::Store(bulk::Atom::Const(c)) = &y.kind {
                    out.insert(y.array, *c);
                }
            }
        }
    }
}

/// Constant arrays whose only use is as the start of an accumulation.
fn fill_only(p: &bulk::Program, constants: &FxHashMap<ArrayId, Const>) -> FxHashSet<ArrayId> {
    let mut other: FxHashSet<ArrayId> = leaves(&p.result).into_iter().collect();
    read_otherwise(&p.stms, &mut other);
    constants.keys().filter(|a| !other.contains(a)).copied().collect()
}

/// The arrays that are used otherwise than as the start of an accumulation.
fn read_otherwise(stms: &[Stm], out: &mut FxHashSet<ArrayId>) {
    for s in stms {
        match s {
            Stm::Nest(n) => n.body.visit_reads(&mut |a, _| {
                out.insert(a);
            }),
            Stm::Repeat(r) => {
                out.extend(r.carried.iter().flat_map(|c| [c.start, c.next]));
                read_otherwise(&r.body, out);
            }
            s => out.extend(s.inputs()),
        }
    }
}

/// The yields of a nest by the number of axes they fold.
fn by_depth(yields: &[Yield]) -> Vec<(usize, Vec<Yield>)> {
    let mut out: Vec<(usize, Vec<Yield>)> = Vec::new();
    for y in yields {
        let over = match &y.kind {
            YieldKind::Reduce { over, .. } => *over,
            _ => 0,
        };
        match out.iter_mut().find(|(o, _)| *o == over) {
            Some((_, list)) => list.push(y.clone()),
            None => out.push((over, vec![y.clone()])),
        }
    }
    out
}

/// The tree of an accumulation or a write.
fn update(n: &bulk::Nest, array: ArrayId, kind: &YieldKind) -> Tree {
    let mut body: Vec<Node> = n.body.unordered().into_iter().map(Node::Let).collect();
    body.push(match kind {
        YieldKind::Accumulate { reducer, index, value, .. } => {
            Node::Accumulate { array, reducer: *reducer, index: index.clone(), value: *value }
        }
        YieldKind::Write { index, value, .. } => {
            Node::Write { array, index: index.clone(), value: *value, checked: true }
        }
        YieldKind::Store(v) | YieldKind::Reduce { value: v, .. } => {
            let index = n.axes.iter().map(|a| bulk::Atom::Var(a.var)).collect();
            Node::Store { array, index, value: *v }
        }
    });
    Tree::new(n.axes.clone(), body, n.loc)
}
