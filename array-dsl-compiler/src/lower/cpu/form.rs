//! How a loop goes through its trips.
//!
//! | form | of a loop |
//! |---|---|
//! | strips | whose inner loops stride through memory where neighboring trips read neighbors |
//! | lanes | innermost, that folds by `+`, `*`, `min` or `max` |
//! | peeled | whose code is simpler away from its ends |
//! | plain | of any kind |
//!
//! A float sum must be added in the order it is written, so a plain loop does not vectorize: hence lanes.

use super::{Cpu, peel};
use crate::bulk::{Reducer, Var};
use crate::loops::{Fold, Form, Loop, Middle, Node};

/// What is around a loop.
#[derive(Clone, Copy, Default)]
pub(super) struct Around<'a> {
    /// The axes of its tree that are one.
    pub merged: &'a [Vec<Var>],
    /// Whether it is executed near the ends of a loop that has a middle. There only innermost loops have one: the code grows with
    /// the number of loops and not exponentially.
    pub at_ends: bool,
}

impl Cpu<'_> {
    /// Nodes, of whose loops each has its form.
    pub(super) fn formed(&self, nodes: Vec<Node>, merged: &[Vec<Var>]) -> Vec<Node> {
        self.inside(nodes, &Around { merged, at_ends: false })
    }

    fn inside(&self, nodes: Vec<Node>, around: &Around<'_>) -> Vec<Node> {
        let formed = |n| match n {
            Node::Loop(l) => Node::Loop(self.form(l, around)),
            n => n,
        };
        nodes.into_iter().map(formed).collect()
    }

    /// A loop with its form, and the loops inside with theirs.
    pub(super) fn form(&self, mut l: Loop, around: &Around<'_>) -> Loop {
        if l.folds.is_empty() && self.strips_pay(&l.axis, &l.body, around.merged) {
            l.plan.form = Form::Strips;
            return l;
        }
        let has_loops = l.body.iter().any(|n| matches!(n, Node::Loop(_)));
        let lanes = in_lanes(&l);
        let mut middle = None;
        // A plain loop that folds is not vectorized with a middle either.
        if lanes || (has_loops && !around.at_ends) || (!has_loops && l.folds.is_empty()) {
            middle = peel::middle(self, &l);
        }
        let within =
            |m: Middle| Middle { body: self.inside(m.body, &Around { at_ends: false, ..*around }), ..m };
        let mut at_ends = around.at_ends;
        l.plan.form = match middle.map(within) {
            Some(m) if m.margin == 0 => {
                l.body = m.body;
                for (f, value) in l.folds.iter_mut().zip(m.values) {
                    f.value = value;
                }
                return Loop { plan: crate::loops::Plan { form: folding(lanes, None), ..l.plan }, ..l };
            }
            middle => {
                at_ends |= middle.is_some() && has_loops;
                folding(lanes, middle)
            }
        };
        l.body = self.inside(l.body, &Around { at_ends, ..*around });
        l
    }
}

/// The form of a loop with this middle.
fn folding(lanes: bool, middle: Option<Middle>) -> Form {
    match (lanes, middle) {
        (true, middle) => Form::Lanes(middle),
        (false, Some(m)) => Form::Peeled(m),
        (false, None) => Form::Plain,
    }
}

/// Whether a loop's folds go to lanes.
fn in_lanes(l: &Loop) -> bool {
    let plain = |n: &Node| matches!(n, Node::Let(_) | Node::Store { .. }) && !n.is_scan();
    let regroups = |f: &Fold| matches!(f.reducer, Reducer::Add | Reducer::Mul | Reducer::Min | Reducer::Max);
    !l.folds.is_empty() && l.body.iter().all(plain) && l.folds.iter().all(regroups)
}
