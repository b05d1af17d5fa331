//! Loops' code that does nothing where a condition is false.

use rustc_hash::FxHashSet;

use crate::bulk::idle::Idle;
use crate::bulk::{ArrayId, Atom, Scan, Var};
use crate::loops::{Node, Rounds};
use crate::ty::Elem;

/// What scalars are in code in which a condition is false, if it does nothing then but for storing elements of these rows, and may not
/// fail.
pub(super) fn without<'a>(
    vars: &'a [Elem],
    rows: &FxHashSet<ArrayId>,
    body: &[Node],
    holds: Var,
) -> Option<Idle<'a>> {
    let mut idle = Idle::new(vars, holds, false);
    nodes(&mut idle, rows, body)?;
    Some(idle)
}

fn nodes(idle: &mut Idle<'_>, rows: &FxHashSet<ArrayId>, nodes: &[Node]) -> Option<()> {
    nodes.iter().try_for_each(|n| node(idle, rows, n))
}

fn node(idle: &mut Idle<'_>, rows: &FxHashSet<ArrayId>, n: &Node) -> Option<()> {
    let is = |idle: bool| idle.then_some(());
    match n {
        Node::Let(l) => idle.binding(l),
        Node::Scan(s) => scan(idle, s),
        Node::Loop(l) => {
            is(!l.is_ordered())?;
            nodes(idle, rows, &l.body)?;
            for f in l.folds.iter().filter(|f| f.reducer.op().is_some()) {
                if idle.is_neutral(f.reducer, f.value) {
                    idle.learn(f.result, idle.at(f.value));
                }
            }
            Some(())
        }
        Node::Recurrence(r) => match r.rounds {
            Rounds::For(..) => nodes(idle, rows, &r.body),
            Rounds::While(_) => None,
        },
        Node::Store { array, .. } => is(rows.contains(array)),
        Node::Accumulate { reducer, index, value, .. } => {
            is(is_nowhere(idle, index) || idle.is_neutral(*reducer, *value))
        }
        Node::Write { index, .. } => is(is_nowhere(idle, index)),
    }
}

fn is_nowhere(idle: &Idle<'_>, index: &[Atom]) -> bool {
    index.iter().any(|a| matches!(idle.at(*a), Atom::Const(c) if c.as_i64() < 0))
}

/// A scan whose states stay as they are.
fn scan(idle: &mut Idle<'_>, s: &Scan) -> Option<()> {
    s.step.block.lets.iter().try_for_each(|l| idle.binding(l))?;
    let is_same = |(left, result): (&Var, &Atom)| idle.at(*result) == Atom::Var(*left);
    s.left.iter().zip(&s.step.results).all(is_same).then_some(())
}
