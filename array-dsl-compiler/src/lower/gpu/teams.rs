//! Trees that one team of threads can execute for each point, one after the other.
//!
//! ```text
//! tree [i] { m = max over j of z[i, j];  store max[i] = m }
//! tree [i] { for j { e = exp(z[i, j] - max[i]);  store e[i, j] };  s = sum of e;  store sum[i] = s }
//! tree [i, j] { store y[i, j] = e[i, j] / sum[i] }
//! ```
//!
//! Each needs of the others only what they have made at its own point `i`. The threads of a point, all of one workgroup, go through them in
//! turn and wait for each other between them; what a row's first loop has read is near when the next one reads it. Where points are
//! few this leaves most of a device idle, so the trees themselves are there as well.

use rustc_hash::FxHashSet;

use super::{Reduction, bound};
use crate::bulk::{ArrayId, Atom, Axis};
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Home, Node, Program, Step, Tree};

/// The most arrays of a team: what every device binds, with the status.
const MOST_ARRAYS: usize = 7;

/// The most trees of a team.
const MOST_TREES: usize = 8;

/// What a team does of one tree.
pub(crate) struct Stage<'t> {
    /// The axes of its points.
    pub points: &'t [Axis],
    /// A reduction, without folds where all inner points are just gone through; at the end alone, where it has no inner points.
    pub work: Reduction<'t>,
}

/// How many of these steps, from the first one on, are a team; fewer than two if it is none.
pub(crate) fn team(p: &Program, steps: &[Step], computed: &[ArrayId]) -> usize {
    let Some(Step::Tree(first)) = steps.first() else { return 0 };
    let points = first.axes.len();
    if points == 0 || Reduction::of(p, first).is_none_or(|r| r.across) {
        return 0;
    }
    let (mut arrays, mut made) = (FxHashSet::default(), FxHashSet::default());
    let mut count = 0;
    for step in steps.iter().take(MOST_TREES) {
        let Step::Tree(t) = step else { break };
        let is_one = stage(p, t, points).is_some()
            && same_points(t, first, points)
            && bound(p, step, computed).is_empty()
            && (count == 0 || joins(p, t, points, &arrays, &made));
        if !is_one {
            break;
        }
        visit_arrays(&t.body, &mut |array, access| {
            arrays.insert(p.root(array));
            if access != Access::Read {
                made.insert(p.root(array));
            }
        });
        if arrays.len() > MOST_ARRAYS {
            break;
        }
        count += 1;
    }
    count
}

/// What a team over so many axes does of a tree.
pub(crate) fn stage<'t>(p: &Program, t: &'t Tree, points: usize) -> Option<Stage<'t>> {
    let scratch = |n: &Node| {
        let mut any = false;
        visit_arrays(std::slice::from_ref(n), &mut |a, _| {
            any |= p.arrays[a.0 as usize].home == Home::Scratch;
        });
        any
    };
    if t.axes.len() < points || t.body.iter().any(scratch) {
        return None;
    }
    let (outer, inner) = t.axes.split_at(points);
    if inner.is_empty()
        && let Some(work) = Reduction::of(p, t)
    {
        let stores = work.after.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }));
        return (stores && !work.across).then_some(Stage { points: outer, work });
    }
    let plain = t.body.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }));
    let (body, after) = if inner.is_empty() { (&[][..], &t.body[..]) } else { (&t.body[..], &[][..]) };
    let work = Reduction {
        before: &[],
        inner: inner.iter().collect(),
        between: Vec::new(),
        body,
        folds: Vec::new(),
        after,
        across: false,
    };
    plain.then_some(Stage { points: outer, work })
}

fn same_points(t: &Tree, first: &Tree, points: usize) -> bool {
    t.axes[..points].iter().map(|a| &a.extent).eq(first.axes.iter().map(|a| &a.extent))
}

/// Whether a tree has an array in common with those before, and needs of what they make only what is its points' own.
fn joins(
    p: &Program,
    t: &Tree,
    points: usize,
    arrays: &FxHashSet<ArrayId>,
    made: &FxHashSet<ArrayId>,
) -> bool {
    let (mut shares, mut own) = (false, true);
    let mut read = |array: ArrayId, index: &[Atom]| {
        let root = p.root(array);
        shares |= arrays.contains(&root) && !p.arrays[root.0 as usize].dims.is_empty();
        if made.contains(&root) {
            let dims = |a: ArrayId| p.arrays[a.0 as usize].dims.get(..points);
            let at_point = index.len() >= points
                && index.iter().zip(&t.axes[..points]).all(|(i, axis)| *i == Atom::Var(axis.var));
            let same = dims(array).is_some_and(|d| {
                Some(d) == dims(root) && d.iter().eq(t.axes[..points].iter().map(|a| &a.extent))
            });
            own &= at_point && same;
        }
    };
    visit_reads(&t.body, &mut read);
    let mut stored_again = false;
    visit_arrays(&t.body, &mut |array, access| {
        stored_again |= access != Access::Read && arrays.contains(&p.root(array));
    });
    shares && own && !stored_again
}

/// Calls `f` with every read of the nodes.
fn visit_reads(nodes: &[Node], f: &mut impl FnMut(ArrayId, &[Atom])) {
    for n in nodes {
        match n {
            Node::Let(l) => l.exp.visit_reads(f),
            Node::Loop(l) => visit_reads(&l.body, f),
            _ => {}
        }
    }
}
