//! What stands beside a loop of points and is made by the same points, one for one, is made with it:
//!
//! ```text
//! par p < n { a[p] = f(x[p]) }    par q < n { while .. with s = a[q] { .. } => r; b[q] = r }    par p < n { c[p] = g(b[p]) }
//!     = par q < n { v = f(x[q]); while .. with s = v { .. } => r; c[q] = g(r) }
//! ```
//!
//! `fuse` does so for nests; a loop that has gone into its points comes from several. A neighbor, before or after the loop, is scalar
//! code that costs little, cannot fail and stores elements at its points: a failure in it would otherwise be told before or after
//! those of the loop at other points, and the loop might not end on what it left. It is joined if
//!
//! 1. what one of the two stores the other reads at its own point alone, where it is a scalar then,
//! 2. neither changes what the other one reads otherwise, nor what the other one changes,
//! 3. nothing between them uses what it stores, or changes what it reads.

use std::collections::{HashMap, HashSet};

use super::fuse::Forward;
use crate::bulk::build::{Renaming, renamed};
use crate::bulk::uses::scalars;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp};
use crate::dim::Dim;
use crate::loops::together::together;
use crate::loops::uses::{Access, visit_arrays, visit_indices, visit_sizes};
use crate::loops::{Node, Program, Rounds, Step, Tree};

/// Joins what stands beside the loops of points of a program.
pub(super) fn adjoin(p: &mut Program) {
    let steps = std::mem::take(&mut p.steps);
    p.steps = list(p, steps);
}

fn list(p: &Program, mut steps: Vec<Step>) -> Vec<Step> {
    for s in &mut steps {
        if let Step::Repeat(r) = s {
            r.steps = list(p, std::mem::take(&mut r.steps));
        }
    }
    let mut at = 0;
    while at < steps.len() {
        match beside(p, &steps, at) {
            Some((neighbor, joined)) => {
                steps[at] = Step::Tree(joined);
                steps.remove(neighbor);
                at -= usize::from(neighbor < at);
            }
            None => at += 1,
        }
    }
    steps
}

/// A neighbor of the loop of points at `at`, by its place, and both as one.
fn beside(p: &Program, steps: &[Step], at: usize) -> Option<(usize, Tree)> {
    let Step::Tree(of_points) = &steps[at] else { return None };
    if !of_points.body.iter().any(|n| matches!(n, Node::Recurrence(_))) {
        return None;
    }
    let before = (0..at).rev();
    let after = at + 1..steps.len();
    nearest(p, steps, before, |t| joined(p, of_points, t, true))
        .or_else(|| nearest(p, steps, after, |t| joined(p, of_points, t, false)))
}

/// The nearest tree at one of these places that can be joined, and that can be moved past those before it.
fn nearest(
    p: &Program,
    steps: &[Step],
    places: impl Iterator<Item = usize>,
    join: impl Fn(&Tree) -> Option<Tree>,
) -> Option<(usize, Tree)> {
    let mut passed = Uses::default();
    for k in places {
        let uses = Uses::of(p, &steps[k])?;
        if let Step::Tree(t) = &steps[k]
            && uses.is_apart_from(&passed)
            && let Some(joined) = join(t)
        {
            return Some((k, joined));
        }
        passed.reads.extend(uses.reads);
        passed.changes.extend(uses.changes);
    }
    None
}

/// The memory that a step uses.
#[derive(Default)]
struct Uses {
    reads: HashSet<ArrayId>,
    changes: HashSet<ArrayId>,
}

impl Uses {
    /// Of a step that others may be moved past; none of others.
    fn of(p: &Program, s: &Step) -> Option<Uses> {
        let mut u = Uses::default();
        match s {
            Step::Tree(t) => u.tree(p, t),
            Step::Fill { array, .. } => drop(u.changes.insert(p.root(*array))),
            Step::Copy { array, source } => {
                u.changes.insert(p.root(*array));
                u.reads.insert(p.root(*source));
            }
            Step::Move { array, source } => u.changes.extend([array, source].map(|a| p.root(*a))),
            Step::Contract(_) | Step::Check(..) | Step::Sort(_) | Step::Repeat(_) => return None,
        }
        // Whose memory has a size that is computed needs that.
        let sizes: Vec<ArrayId> =
            u.changes.iter().flat_map(|a| &p.arrays[a.0 as usize].dims).flat_map(scalars).collect();
        u.reads.extend(sizes.into_iter().map(|a| p.root(a)));
        Some(u)
    }

    fn tree(&mut self, p: &Program, t: &Tree) {
        visit_arrays(&t.body, &mut |a, access| {
            let memory = if access == Access::Read { &mut self.reads } else { &mut self.changes };
            memory.insert(p.root(a));
            self.reads.extend(p.arrays[a.0 as usize].dims.iter().flat_map(scalars).map(|s| p.root(s)));
        });
        let mut size = |d: &Dim| self.reads.extend(scalars(d).map(|s| p.root(s)));
        t.axes.iter().for_each(|a| size(&a.extent));
        visit_sizes(&t.body, &mut size);
    }

    fn is_apart_from(&self, other: &Uses) -> bool {
        self.changes.is_disjoint(&other.changes)
            && self.changes.is_disjoint(&other.reads)
            && self.reads.is_disjoint(&other.changes)
    }
}

/// A loop of points with a neighbor, which is executed first or last at each point.
fn joined(p: &Program, of_points: &Tree, neighbor: &Tree, is_first: bool) -> Option<Tree> {
    let extents = |t: &Tree| t.axes.iter().map(|a| a.extent.clone()).collect::<Vec<_>>();
    if neighbor.axes.is_empty() || extents(of_points) != extents(neighbor) {
        return None;
    }
    let own: Vec<Atom> = of_points.axes.iter().map(|a| Atom::Var(a.var)).collect();
    let names = neighbor.axes.iter().zip(&own).map(|(a, v)| (a.var, *v)).collect();
    let neighbor_body = Values { stored: HashMap::new(), names }.nodes(neighbor.body.clone());
    let (first, second) = match is_first {
        true => (&neighbor_body, &of_points.body),
        false => (&of_points.body, &neighbor_body),
    };
    let stored = stored(first, &own);
    let mut uses = [Uses::default(), Uses::default()];
    for (u, body) in uses.iter_mut().zip([first, second]) {
        u.tree(p, &Tree::new(of_points.axes.clone(), body.clone(), of_points.loc));
    }
    let [a, b] = &mut uses;
    // What the first one stores the second one may read at its own point.
    let mut other_reads = HashSet::new();
    visit_indices(second, &mut |array, index| {
        if !stored.contains_key(&(array, index.to_vec())) {
            other_reads.insert(p.root(array));
        }
    });
    b.reads.retain(|r| other_reads.contains(r) || !stored.keys().any(|(s, _)| s == r));
    if !a.is_apart_from(b) {
        return None;
    }
    let mut body = first.clone();
    body.extend(Values { stored, names: Renaming::new() }.nodes(second.clone()));
    let form = together(&body, &p.vars);
    let is_little = neighbor_body.iter().all(|n| match n {
        Node::Let(l) => match &l.exp {
            Exp::Op(op, _) => !l.may_fail(&p.vars) && (op.is_cheap() || form.is_some() && op.has_vectors()),
            Exp::Read { checked, .. } => !checked,
            Exp::Size(_) | Exp::StopGradient(_) => true,
            Exp::If(..) => false,
        },
        Node::Store { index, .. } => *index == own,
        Node::Scan(_) | Node::Loop(_) | Node::Recurrence(_) => false,
        Node::Accumulate { .. } | Node::Write { .. } => false,
    });
    // Several points make it together, or could not before either.
    let keeps_lanes = form.is_some() || together(&of_points.body, &p.vars).is_none();
    (is_little && keeps_lanes).then(|| Tree::new(of_points.axes.clone(), body, of_points.loc))
}

/// The elements that nodes store at their own point, for good: those that are changed later, or in a loop, are not among them.
fn stored(nodes: &[Node], own: &[Atom]) -> HashMap<(ArrayId, Vec<Atom>), Atom> {
    let mut times: HashMap<ArrayId, usize> = HashMap::new();
    visit_arrays(nodes, &mut |a, access| {
        if access != Access::Read {
            *times.entry(a).or_default() += 1;
        }
    });
    let elements = nodes.iter().filter_map(|n| match n {
        Node::Store { array, index, value } if index == own && times[array] == 1 => {
            Some(((*array, index.clone()), *value))
        }
        _ => None,
    });
    elements.collect()
}

/// Code whose reads of elements that are stored at its point are their values.
struct Values {
    stored: HashMap<(ArrayId, Vec<Atom>), Atom>,
    names: Renaming,
}

impl Values {
    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        nodes.into_iter().filter_map(|n| self.node(n)).collect()
    }

    fn node(&mut self, n: Node) -> Option<Node> {
        let mut code = Forward { stored: &self.stored, map: &mut self.names };
        Some(match n {
            Node::Let(mut l) => {
                code.binding(&mut l);
                if let Some(value) = code.value(&l.exp) {
                    self.names.insert(l.vars[0], value);
                    return None;
                }
                Node::Let(l)
            }
            Node::Scan(mut s) => {
                code.scan(&mut s);
                Node::Scan(s)
            }
            Node::Loop(mut l) => {
                l.body = self.nodes(l.body);
                l.folds.iter_mut().for_each(|f| f.value = renamed(&self.names, f.value));
                Node::Loop(l)
            }
            Node::Recurrence(mut r) => {
                r.states.iter_mut().for_each(|s| code.atom(&mut s.start));
                if let Rounds::For(_, Some(until)) = &mut r.rounds {
                    code.atom(until);
                }
                r.body = self.nodes(r.body);
                r.states.iter_mut().for_each(|s| s.next = renamed(&self.names, s.next));
                Node::Recurrence(r)
            }
            mut n => {
                if let Node::Store { index, value, .. }
                | Node::Write { index, value, .. }
                | Node::Accumulate { index, value, .. } = &mut n
                {
                    index.iter_mut().chain([value]).for_each(|a| code.atom(a));
                }
                n
            }
        })
    }
}
