//! What the step of a scan computes without its states stands before the scan:
//!
//! ```text
//! scan s by { c = cos x; s * c }   =   c = cos x;  scan s by { s * c }
//! ```
//!
//! There functions are computed in vectors, and what the trip computes besides has it as well. Where a condition decides whether there
//! is a step, nothing of it may be executed before; so this comes after loops have ended where their trips do nothing.

use crate::bulk::uses::depending;
use crate::bulk::{Let, Scan};
use crate::loops::uses::each_tree;
use crate::loops::{Node, Program};
use crate::ty::Elem;

/// Moves it out of the scans of a program; whether there was any.
pub(super) fn steps(p: &mut Program) -> bool {
    let (mut all, mut any) = (std::mem::take(&mut p.steps), false);
    each_tree(&mut all, &mut |t| any |= nodes(&mut t.body, &p.vars));
    p.steps = all;
    any
}

fn nodes(body: &mut Vec<Node>, vars: &[Elem]) -> bool {
    let mut any = false;
    let mut at = 0;
    while at < body.len() {
        let free = match &mut body[at] {
            Node::Scan(s) => without_states(s, vars),
            Node::Loop(l) => {
                any |= nodes(&mut l.body, vars);
                Vec::new()
            }
            Node::Recurrence(r) => {
                any |= nodes(&mut r.body, vars);
                Vec::new()
            }
            Node::Let(_) | Node::Store { .. } | Node::Write { .. } | Node::Accumulate { .. } => Vec::new(),
        };
        any |= !free.is_empty();
        let moved = free.len();
        body.splice(at..at, free.into_iter().map(Node::Let));
        at += moved + 1;
    }
    any
}

/// Takes the statements out of a step that need no state and cannot fail. Steps that can be regrouped are executed elsewhere as well.
fn without_states(s: &mut Scan, vars: &[Elem]) -> Vec<Let> {
    if s.is_associative() {
        return Vec::new();
    }
    let lets = std::mem::take(&mut s.step.block.lets);
    let (kept, free) = depending(lets, s.left.iter().copied(), |l| l.may_fail(vars));
    s.step.block.lets = kept;
    free
}
