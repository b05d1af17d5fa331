//! In which order the dimensions of an array are that steps hand on to each other.
//!
//! ```text
//! before   t[j, i] = f(x[i, j]);                         g = contract t[i1, i2] * y[i2, i0]
//! after    t[i, j] = f(x[i, j]);                         g = contract t[i2, i1] * y[i2, i0]
//!
//! before   c[d, v, i] = sum over b of s[d, b, i] * w[v, b]          a product of few columns for each d
//! after    c[v, d, i] = sum over b of s[b, d, i] * w[v, b]          one product, of all columns d, i
//! ```
//!
//! Whoever computes with arrays says in which order their dimensions are, for reasons of notation: a product with a transposed matrix, a
//! Jacobian whose directions come first. Nobody sees it of an array that only trees and products use. **The order changes what is
//! near in memory, and nothing else.** So such an array gets the order
//!
//! * that has the rows, the columns, and the summed axes of a product together: then they are one axis each;
//! * that its tree has in what it reads, if all it reads has one order, and all that it stores may have it as well.

use std::collections::{BTreeMap, BTreeSet};

use crate::bulk::{ArrayId, Atom, Var};
use crate::loops::rename::{Orders, in_order, reorder};
use crate::loops::touched::Touched;
use crate::loops::uses::{each_step, each_tree, visit_arrays, visit_indices};
use crate::loops::{Home, Node, Operand, Program, Step, Tree};

/// Gives arrays that only trees and products use the order of dimensions that suits these.
pub(super) fn layout(p: &mut Program) {
    let mut steps = std::mem::take(&mut p.steps);
    let mut free: BTreeSet<ArrayId> = (0..p.arrays.len()).map(|a| ArrayId(a as u32)).collect();
    free.retain(|a| p.arrays[a.0 as usize].home == Home::Heap && p.arrays[a.0 as usize].dims.len() > 1);
    for a in p.result.leaves() {
        free.remove(&p.root(*a));
    }
    for (k, info) in p.arrays.iter().enumerate() {
        if let Home::View(_) = info.home {
            free.remove(&p.root(ArrayId(k as u32)));
        }
    }
    fixed(p, &steps, &mut free);
    if !free.is_empty() {
        products(p, &mut steps, &mut free);
        trees(p, &mut steps, &mut free);
    }
    p.steps = steps;
}

/// Takes out the arrays that others than trees and products use.
fn fixed(p: &Program, steps: &[Step], free: &mut BTreeSet<ArrayId>) {
    for s in steps {
        match s {
            Step::Tree(_) | Step::Contract(_) | Step::Fill { value: Some(_), .. } => {}
            Step::Repeat(r) => {
                for c in &r.carried {
                    let all = [c.arrays.state, c.arrays.start, c.arrays.next, c.arrays.result];
                    free.retain(|a| all.iter().all(|b| p.root(*b) != *a));
                }
                fixed(p, &r.steps, free);
            }
            s => {
                let Touched { reads, changes } = Touched::of(p, s);
                free.retain(|a| !reads.contains(a) && !changes.contains(a));
            }
        }
    }
}

/// Has the axes of each kind together.
fn products(p: &mut Program, steps: &mut [Step], free: &mut BTreeSet<ArrayId>) {
    let mut orders = Orders::new();
    each_step(steps, &mut |s| {
        let Step::Contract(c) = s else { return };
        let [of_a, of_b] = [&c.a, &c.b].map(Operand::axes);
        // Of the result: what is in both, rows, columns.
        let kind = |x: &usize| match (of_a.contains(x), of_b.contains(x)) {
            (true, true) => 0,
            (true, false) => 1,
            _ => 2,
        };
        let kinds: Vec<usize> = c.out.iter().map(kind).collect();
        if free.contains(&c.result) && is_mixed(&kinds) {
            // Those of which the number is known come last: they are few.
            let is_few = |k: usize| {
                let of_kind = c.out.iter().filter(|x| kind(x) == k);
                of_kind.into_iter().all(|x| c.extents[*x].as_constant().is_some())
            };
            let by = |at: &usize| (kinds[*at] != 0, is_few(kinds[*at]), kinds[*at]);
            let mut order: Vec<usize> = (0..kinds.len()).collect();
            order.sort_by_key(by);
            orders.entry(c.result).or_insert(order);
        }
        for (o, other) in [(&c.a, &of_b), (&c.b, &of_a)] {
            // Of an operand: what is in both and the result, what is summed, the others.
            let of_axis = |x: usize| match (c.out.contains(&x), other.contains(&x)) {
                (true, true) => 0,
                (false, _) => 1,
                (true, false) => 2,
            };
            let kinds: Vec<usize> = o.places.iter().map(|(x, _)| x.map_or(0, of_axis)).collect();
            if free.contains(&o.array) && is_mixed(&kinds) {
                let mut order: Vec<usize> = (0..kinds.len()).collect();
                order.sort_by_key(|at| kinds[*at]);
                orders.entry(o.array).or_insert(order);
            }
        }
    });
    // A tree stores rows of its first axis: what it stores has to have one order.
    loop {
        let before = orders.len();
        each_tree(steps, &mut |t| {
            if first_axes(p, t, &orders).is_none() {
                stores(&t.body, &mut |a, _| orders.retain(|b, _| *b != a));
            }
        });
        if orders.len() == before {
            break;
        }
    }
    each_tree(steps, &mut |t| {
        if let Some(axes) = first_axes(p, t, &orders) {
            t.axes.sort_by_key(|a| axes.iter().position(|v| *v == a.var));
        }
    });
    free.retain(|a| !orders.contains_key(a));
    reorder(&mut p.arrays, steps, &orders);
}

/// The parallel axes in the order in which all that a tree stores has them, as its first dimensions, with these orders; if they may have
/// that order.
fn first_axes(p: &Program, t: &Tree, orders: &Orders) -> Option<Vec<Var>> {
    let axes: Vec<Var> = t.axes.iter().map(|a| a.var).collect();
    let own: BTreeSet<Var> = axes.iter().copied().collect();
    let mut found: BTreeSet<Vec<Var>> = BTreeSet::new();
    let mut reordered = false;
    stores(&t.body, &mut |a, index| {
        reordered |= orders.contains_key(&a);
        let index = orders.get(&a).map_or_else(|| index.to_vec(), |order| in_order(index, order));
        found.insert(index.iter().take(own.len()).filter_map(|i| i.var()).collect());
    });
    if !reordered {
        return Some(axes);
    }
    let first = found.pop_first().filter(|first| first.iter().copied().collect::<BTreeSet<Var>>() == own)?;
    (found.is_empty() && (first == axes || !has_rows(p, t))).then_some(first)
}

/// Whether a tree has rows of its own, which lack its first axes.
fn has_rows(p: &Program, t: &Tree) -> bool {
    let mut found = false;
    visit_arrays(&t.body, &mut |a, _| found |= matches!(p.arrays[a.0 as usize].home, Home::Row { .. }));
    found
}

/// Whether some of a kind are apart from others of theirs.
fn is_mixed(kinds: &[usize]) -> bool {
    let changes = kinds.windows(2).filter(|w| w[0] != w[1]).count();
    let distinct: BTreeSet<usize> = kinds.iter().copied().collect();
    changes + 1 > distinct.len().max(1)
}

/// Has trees go through memory as what they read is.
fn trees(p: &mut Program, steps: &mut [Step], free: &mut BTreeSet<ArrayId>) {
    let mut orders = Orders::new();
    let mut stored = BTreeMap::<ArrayId, usize>::new();
    each_step(steps, &mut |s| {
        if s.inside().is_empty() {
            Touched::of(p, s).changes.into_iter().for_each(|a| *stored.entry(a).or_default() += 1);
        }
    });
    each_tree(steps, &mut |t| {
        let Some(axes) = order_of_reads(t).filter(|_| !has_rows(p, t)) else { return };
        let mut own = Orders::new();
        let mut fits = only_stores(&t.body);
        stores(&t.body, &mut |a, index| {
            let order = order_by(index, &axes);
            let stays = is_same(&order) || free.contains(&a) && stored.get(&a) == Some(&1);
            let known = own.insert(a, order.clone());
            fits &= stays && known.is_none_or(|known| known == order);
        });
        own.retain(|_, order| !is_same(order));
        if fits && !own.is_empty() {
            t.axes.sort_by_key(|a| axes.iter().position(|v| *v == a.var));
            orders.extend(own);
        }
    });
    reorder(&mut p.arrays, steps, &orders);
}

/// The places of an index with those that are axes in the order of these.
fn order_by(index: &[Atom], axes: &[Var]) -> Vec<usize> {
    let axis = |at: usize| axes.iter().position(|v| index[at] == Atom::Var(*v));
    let places: Vec<usize> = (0..index.len()).filter(|at| axis(*at).is_some()).collect();
    let mut sorted = places.clone();
    sorted.sort_by_key(|at| axis(*at));
    let mut order: Vec<usize> = (0..index.len()).collect();
    places.into_iter().zip(sorted).for_each(|(at, from)| order[at] = from);
    order
}

fn is_same(order: &[usize]) -> bool {
    order.iter().enumerate().all(|(k, at)| k == *at)
}

/// The parallel axes in the order in which all that a tree reads has them, if that is one, and another one than theirs.
fn order_of_reads(t: &Tree) -> Option<Vec<Var>> {
    let own: Vec<Var> = t.axes.iter().map(|a| a.var).collect();
    // Which comes before which.
    let mut before = BTreeSet::new();
    visit_reads(&t.body, &mut |index| {
        let axes: Vec<usize> =
            index.iter().filter_map(|i| own.iter().position(|v| *i == Atom::Var(*v))).collect();
        for (k, x) in axes.iter().enumerate() {
            before.extend(axes[k + 1..].iter().map(|y| (*x, *y)));
        }
    });
    if before.iter().any(|(x, y)| before.contains(&(*y, *x))) || before.iter().all(|(x, y)| x < y) {
        return None;
    }
    let mut left: Vec<usize> = (0..own.len()).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let at = left.iter().position(|x| !left.iter().any(|y| before.contains(&(*y, *x))))?;
        order.push(own[left.remove(at)]);
    }
    Some(order)
}

fn visit_reads(nodes: &[Node], f: &mut impl FnMut(&[Atom])) {
    for n in nodes {
        match n {
            Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => {}
            Node::Loop(l) => visit_reads(&l.body, f),
            Node::Recurrence(r) => visit_reads(&r.body, f),
            n => visit_indices(std::slice::from_ref(n), &mut |_, index| f(index)),
        }
    }
}

/// Calls `f` with every element that is stored.
fn stores(nodes: &[Node], f: &mut impl FnMut(ArrayId, &[Atom])) {
    for n in nodes {
        match n {
            Node::Store { array, index, .. } => f(*array, index),
            Node::Loop(l) => stores(&l.body, f),
            Node::Recurrence(r) => stores(&r.body, f),
            Node::Let(_) | Node::Scan(_) | Node::Accumulate { .. } | Node::Write { .. } => {}
        }
    }
}

/// Whether all that nodes change they store to, each element once.
fn only_stores(nodes: &[Node]) -> bool {
    nodes.iter().all(|n| match n {
        Node::Loop(l) => only_stores(&l.body),
        Node::Accumulate { .. } | Node::Write { .. } | Node::Recurrence(_) => false,
        Node::Let(_) | Node::Scan(_) | Node::Store { .. } => true,
    })
}
