//! What few scalars are made of is computed again by each point of a loop, where that saves a step:
//!
//! ```text
//! once { a = f(m) }   par q < w { b[q] = g(q) }    par p < h, q < w { while .. a .. b[q] .. }
//!     = par p < h, q < w { v = f(m); u = g(q); while .. v .. u .. }
//! ```
//!
//! A number of the host level that the device computes, or a row of them, is a step of its own there, however little it takes. It is
//! computed again if a loop of points is all that uses it, each point one element, the same in all trips, and if it is a few
//! instructions that cannot fail. On a CPU such a number is a variable.

use rustc_hash::FxHashMap;

use super::adjoin::has_loops;
use super::users::{Users, Uses};
use super::values::Values;
use crate::bulk::build::{Fresh, Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{self, ArrayId, Atom, Exp};
use crate::loops::uses::visit_indices;
use crate::loops::{Node, Program, Step, Tree};
use crate::target::Target;

/// The most statements that are executed again.
const MOST: usize = 12;

/// Has the loops of points compute again what can be.
pub(super) fn again(p: &mut Program, target: Target) {
    let users = Users::of(p);
    let mut steps = std::mem::take(&mut p.steps);
    list(p, &mut steps, &users, target);
    p.steps = steps;
}

fn list(p: &mut Program, steps: &mut Vec<Step>, users: &Users, target: Target) {
    let mut at = 0;
    while at < steps.len() {
        if let Step::Repeat(r) = &mut steps[at] {
            list(p, &mut r.steps, users, target);
        }
        if matches!(&steps[at], Step::Tree(t) if has_loops(t)) {
            for k in (0..at).rev() {
                if let Some(joined) = computed_again(p, &steps[k..=at], users, target) {
                    steps[at] = Step::Tree(joined);
                    steps.remove(k);
                    at -= 1;
                }
            }
        }
        at += 1;
    }
}

/// The loop of points that the steps end with, without the tree that they begin with.
fn computed_again(p: &mut Program, steps: &[Step], users: &Users, target: Target) -> Option<Tree> {
    let [Step::Tree(made), between @ .., Step::Tree(of_points)] = steps else { return None };
    let at: Vec<Atom> = made.axes.iter().map(|a| Atom::Var(a.var)).collect();
    let is_little = |n: &Node| match n {
        Node::Let(l) => match &l.exp {
            Exp::Op(op, _) => (op.is_cheap() || op.has_vectors()) && !l.may_fail(&p.vars),
            Exp::Read { checked, .. } => !checked,
            Exp::Size(_) => true,
            Exp::Inside { .. } | Exp::StopGradient(_) | Exp::If(..) => false,
        },
        Node::Store { index, .. } => *index == at,
        _ => false,
    };
    if made.body.len() > MOST || !made.body.iter().all(is_little) {
        return None;
    }
    // The loop is what uses it, and nothing changes it or what it is made of before.
    let of_loop = Uses::of(p, &Step::Tree(of_points.clone()))?;
    let mut stored: FxHashMap<ArrayId, Atom> = FxHashMap::default();
    for n in &made.body {
        if let Node::Store { array, value, .. } = n {
            let is_used_there =
                users.count(*array) == 2 && p.root(*array) == *array && of_loop.reads.contains(array);
            (is_used_there && stored.insert(*array, *value).is_none()).then_some(())?;
        }
    }
    let own = Uses::of(p, &Step::Tree(made.clone()))?;
    for s in between {
        own.is_apart_from(&Uses::of(p, s)?).then_some(())?;
    }
    let place = place(made, of_points, &stored)?;
    stored.keys().all(|a| !of_loop.sizes.contains(a)).then_some(())?;
    let mut all = own.reads.iter().chain(&own.changes).chain(&own.sizes);
    all.all(|a| !of_loop.changes.contains(a)).then_some(())?;
    let mut names: Renaming = made.axes.iter().map(|a| a.var).zip(place.iter().copied()).collect();
    let mut body = Vec::new();
    for n in &made.body {
        if let Node::Let(l) = n {
            let mut l = l.clone();
            Fresh { vars: &mut p.vars, names: &mut names }.binding(&mut l);
            body.push(Node::Let(l));
        }
    }
    let values = stored.iter().map(|(a, v)| ((*a, place.clone()), renamed(&names, *v))).collect();
    body.extend(Values { stored: values, names: Renaming::default() }.nodes(of_points.body.clone()));
    let joined = Tree::new(of_points.axes.clone(), body, of_points.loc);
    (users.arrays(p, &joined) <= target.can().arrays).then_some(joined)
}

/// The one element of each array that every point of a loop reads: at axes of the points, different ones.
fn place(made: &Tree, of_points: &Tree, stored: &FxHashMap<ArrayId, Atom>) -> Option<Vec<Atom>> {
    let mut places: Vec<Vec<Atom>> = Vec::new();
    visit_indices(&of_points.body, &mut |a, index| {
        if stored.contains_key(&a) {
            places.push(index.to_vec());
        }
    });
    places.dedup();
    let [place] = &places[..] else { return None };
    let axis = |a: &Atom| of_points.axes.iter().find(|x| Atom::Var(x.var) == *a);
    let is_there = |(i, a): (&Atom, &bulk::Axis)| axis(i).is_some_and(|x| x.extent == a.extent);
    (place.len() == made.axes.len() && place.iter().zip(&made.axes).all(is_there)).then(|| place.clone())
}
