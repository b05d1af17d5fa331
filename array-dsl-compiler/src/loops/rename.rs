//! Other names for the arrays of nodes, and for their scalars.

use rustc_hash::FxHashMap;

use super::{Node, Range, Rounds};
use crate::bulk::build::{Fresh, Redirect};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom};

/// Gives arrays their new names.
pub fn redirect(nodes: &mut [Node], names: &FxHashMap<ArrayId, ArrayId>) {
    for n in nodes {
        match n {
            Node::Let(l) => Redirect(names).binding(l),
            Node::Scan(s) => Redirect(names).scan(s),
            Node::Loop(l) => redirect(&mut l.body, names),
            Node::Recurrence(r) => redirect(&mut r.body, names),
            Node::Store { array, .. } | Node::Write { array, .. } | Node::Accumulate { array, .. } => {
                Redirect(names).array(array);
            }
        }
    }
}

/// Gives new names to the scalars that nodes without plans bind, and theirs to those that are used.
pub fn fresh(nodes: &mut [Node], names: &mut Fresh<'_>) {
    for n in nodes {
        match n {
            Node::Let(l) => names.binding(l),
            Node::Scan(s) => names.scan(s),
            Node::Loop(l) => {
                let Range { from, to } = &mut l.range;
                from.iter_mut().chain(to).for_each(|a| names.atom(a));
                names.bound_var(&mut l.axis.var);
                l.merged.iter_mut().for_each(|a| names.bound_var(&mut a.var));
                fresh(&mut l.body, names);
                for f in &mut l.folds {
                    names.atom(&mut f.value);
                    names.bound_var(&mut f.result);
                }
            }
            Node::Recurrence(r) => {
                r.states.iter_mut().for_each(|s| names.atom(&mut s.start));
                if let Rounds::For(a, until) = &mut r.rounds {
                    until.iter_mut().for_each(|u| names.atom(u));
                    names.bound_var(&mut a.var);
                }
                r.states.iter_mut().for_each(|s| names.bound_var(&mut s.state));
                if let Rounds::While(on) = &mut r.rounds {
                    let state = r.states.iter().find(|s| names.names.get(on) == Some(&Atom::Var(s.state)));
                    state.into_iter().for_each(|s| *on = s.state);
                }
                fresh(&mut r.body, names);
                for s in &mut r.states {
                    names.atom(&mut s.next);
                    names.bound_var(&mut s.result);
                }
            }
            Node::Store { index, value, .. }
            | Node::Write { index, value, .. }
            | Node::Accumulate { index, value, .. } => {
                index.iter_mut().chain([value]).for_each(|a| names.atom(a));
            }
        }
    }
}
