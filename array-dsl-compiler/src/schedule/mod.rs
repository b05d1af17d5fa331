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
//! | `fuse` | groups of nests; loop trees |
//! | `place` | homes of arrays |

mod fuse;
mod place;

use std::collections::{HashMap, HashSet};

use crate::bulk::{self, ArrayId, Block, Stm, Yield, YieldKind};
use crate::loops::{ArrayInfo, Home, Node, Program, Step, Tree};
use crate::ty::Const;
use fuse::Member;

/// What the schedule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Loops nest: an outer parallel loop with sequential loops inside; rows stay in cache.
    Cpu,
    /// Every tree is a flat space of points: only nests over equal spaces share one, and each reduction stays alone.
    Gpu,
}

/// Schedules a program.
pub fn schedule(p: &bulk::Program, target: Target) -> Program {
    let params: HashSet<ArrayId> = p.params.iter().flat_map(|q| leaves(&q.arrays)).collect();
    let arrays = p
        .arrays
        .iter()
        .enumerate()
        .map(|(i, a)| ArrayInfo {
            name: a.name.clone(),
            elem: a.elem,
            dims: a.dims.clone(),
            home: if params.contains(&ArrayId(i as u32)) { Home::Param } else { Home::Heap },
        })
        .collect();
    let mut out = Program {
        name: p.name.clone(),
        sizes: p.sizes.clone(),
        params: p.params.clone(),
        arrays,
        vars: p.vars.clone(),
        steps: Vec::new(),
        result: p.result.clone(),
        places: p.places.clone(),
    };
    for s in &p.stms {
        if let Stm::Reshape { result, source } = s {
            out.arrays[result.0 as usize].home = Home::View(*source);
        }
    }
    let constants = constants(p);
    let fills = fill_only(p, &constants);
    let mut f = fuse::Fuse::new(p, target);
    for s in &p.stms {
        match s {
            Stm::Nest(n) => {
                if let [
                    Yield { array, kind: kind @ (YieldKind::Accumulate { .. } | YieldKind::Write { .. }) },
                ] = n.yields.as_slice()
                {
                    let (YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. }) = kind else {
                        continue;
                    };
                    let prepare = match constants.get(into) {
                        Some(c) => Step::Fill { array: *array, value: *c },
                        None => Step::Copy { array: *array, source: *into },
                    };
                    f.barrier(prepare, &[*array], &[*into]);
                    f.barrier(Step::Tree(update(n, *array, kind)), &[*array], &s.inputs());
                    continue;
                }
                for (over, yields) in by_depth(&n.yields) {
                    if yields.iter().all(|y| fills.contains(&y.array)) {
                        continue;
                    }
                    f.member(Member::new(n, over, yields));
                }
            }
            Stm::Contract(c) => f.barrier(Step::Contract(c.clone()), &[c.result], &s.inputs()),
            Stm::Check(c, l) => f.check(Step::Check(c.clone(), *l)),
            Stm::Reshape { .. } => {}
        }
    }
    (out.steps, out.vars) = f.finish();
    place::place(&mut out, target);
    out
}

fn leaves(t: &crate::ty::Tree<ArrayId>) -> Vec<ArrayId> {
    t.leaves().into_iter().copied().collect()
}

/// Arrays that are one constant everywhere.
fn constants(p: &bulk::Program) -> HashMap<ArrayId, Const> {
    let mut out = HashMap::new();
    for s in &p.stms {
        if let Stm::Nest(n) = s {
            for y in &n.yields {
                if let YieldKind::Store(bulk::Atom::Const(c)) = &y.kind {
                    out.insert(y.array, *c);
                }
            }
        }
    }
    out
}

/// Constant arrays whose only use is as the start of an accumulation.
fn fill_only(p: &bulk::Program, constants: &HashMap<ArrayId, Const>) -> HashSet<ArrayId> {
    let mut other: HashSet<ArrayId> = leaves(&p.result).into_iter().collect();
    for s in &p.stms {
        match s {
            Stm::Nest(n) => n.body.visit_reads(&mut |a, _| {
                other.insert(a);
            }),
            s => other.extend(s.inputs()),
        }
    }
    constants.keys().filter(|a| !other.contains(a)).copied().collect()
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
    let Block { lets } = n.body.clone();
    let mut body: Vec<Node> = lets.into_iter().map(Node::Let).collect();
    body.push(match kind {
        YieldKind::Accumulate { reducer, index, value, .. } => {
            Node::Accumulate { array, reducer: *reducer, index: index.clone(), value: *value }
        }
        YieldKind::Write { index, value, .. } => Node::Write { array, index: index.clone(), value: *value },
        YieldKind::Store(v) | YieldKind::Reduce { value: v, .. } => {
            let index = n.axes.iter().map(|a| bulk::Atom::Var(a.var)).collect();
            Node::Store { array, index, value: *v }
        }
    });
    Tree { axes: n.axes.clone(), body, loc: n.loc }
}
