//! Loops of points that several points make together, in lanes: a recurrence alone cannot be vectorized, neighbors can.
//!
//! Of a `for` the trips are the same for all; a `while` goes on until the last lane ends, and what is computed in those that have
//! ended is thrown away, so it must not matter: nothing is changed, what is read is the same in all trips, and nothing is computed that
//! takes as long for one lane as for all. Choices that are no more than a selection of values stay lanes; others would be executed
//! one lane after the other.

use std::collections::HashSet;

use super::{Form, Node, Recurrence, Rounds};
use crate::bulk::{Atom, Exp, Let, Var};
use crate::ty::Elem;

/// Lanes of loops whose trips are the same for all.
const MANY: usize = 64;
/// Lanes of loops that wait for the last.
const FEW: usize = 16;
/// The most functions in a choice that are computed for nothing.
const FUNCTIONS: usize = 8;

/// The form of points that execute these nodes together; none if they cannot. `vars` are the types of all scalars.
pub fn together(body: &[Node], vars: &[Elem]) -> Option<Form> {
    let mut least = None;
    for n in body {
        match n {
            Node::Let(_) | Node::Store { .. } => {}
            Node::Recurrence(r) => {
                let lanes = lanes(r, vars)?;
                least = Some(least.map_or(lanes, |l: usize| l.min(lanes)));
            }
            Node::Scan(_) | Node::Loop(_) | Node::Accumulate { .. } | Node::Write { .. } => return None,
        }
    }
    least.map(Form::Together)
}

/// How many points make a loop together, if they can.
fn lanes(r: &Recurrence, vars: &[Elem]) -> Option<usize> {
    match &r.rounds {
        Rounds::For(_, None) => r.body.iter().all(|n| is_lane(n, vars)).then_some(MANY),
        Rounds::For(..) => None,
        Rounds::While(_) => does_not_matter(r, vars).then_some(FEW),
    }
}

fn is_lane(n: &Node, vars: &[Elem]) -> bool {
    match n {
        Node::Let(l) => selects(l, vars),
        Node::Write { .. } | Node::Accumulate { .. } => true,
        Node::Scan(_) | Node::Loop(_) | Node::Recurrence(_) | Node::Store { .. } => false,
    }
}

/// Whether choices are between values that may as well all be computed: of instructions, and few functions.
fn selects(l: &Let, vars: &[Elem]) -> bool {
    let Exp::If(_, yes, no) = &l.exp else { return true };
    let mut functions = 0;
    let mut is_straight = |l: &Let| match &l.exp {
        Exp::Op(op, _) => {
            functions += usize::from(!op.is_instruction());
            (op.is_instruction() || op.has_vectors()) && !l.may_fail(vars)
        }
        Exp::Size(_) | Exp::StopGradient(_) => true,
        Exp::Read { .. } | Exp::If(..) => false,
    };
    [yes, no].into_iter().flat_map(|b| &b.block.lets).all(&mut is_straight) && functions <= FUNCTIONS
}

/// Whether a point that has ended may go on computing.
fn does_not_matter(r: &Recurrence, vars: &[Elem]) -> bool {
    let mut bound: HashSet<Var> = r.bound().into_iter().collect();
    r.body.iter().for_each(|n| bound.extend(n.binds()));
    let same = |a: &Atom| a.var().is_none_or(|v| !bound.contains(&v));
    r.body.iter().all(|n| match n {
        Node::Let(l) => match &l.exp {
            Exp::Read { index, checked, .. } => !checked && index.iter().all(same),
            Exp::Op(op, _) => op.has_vectors() && !l.may_fail(vars),
            Exp::If(..) | Exp::Size(_) | Exp::StopGradient(_) => selects(l, vars),
        },
        _ => false,
    })
}
