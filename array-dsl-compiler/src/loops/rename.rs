//! Other names for the arrays of nodes, and for their scalars; other orders of their dimensions.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::uses::each_step;
use super::{ArrayInfo, Node, Range, Rounds, Step};
use crate::bulk::build::{Fresh, Redirect};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp};

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

/// By array, which of its dimensions comes at each place.
pub type Orders = BTreeMap<ArrayId, Vec<usize>>;

/// A list in another order.
pub fn in_order<T: Clone>(all: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|k| all[*k].clone()).collect()
}

/// Gives arrays that only trees and products use these orders of their dimensions.
pub fn reorder(arrays: &mut [ArrayInfo], steps: &mut [Step], orders: &Orders) {
    for (a, order) in orders {
        let dims = &mut arrays[a.0 as usize].dims;
        *dims = in_order(dims, order);
    }
    each_step(steps, &mut |s| match s {
        Step::Tree(t) => Reorder(orders).nodes(&mut t.body),
        Step::Contract(c) => {
            if let Some(order) = orders.get(&c.result) {
                c.out = in_order(&c.out, order);
            }
            for o in [&mut c.a, &mut c.b] {
                if let Some(order) = orders.get(&o.array) {
                    o.places = in_order(&o.places, order);
                }
            }
        }
        _ => {}
    });
}

/// Has code use elements in these orders.
struct Reorder<'a>(&'a Orders);

impl Reorder<'_> {
    fn index(&self, array: ArrayId, index: &mut Vec<Atom>) {
        if let Some(order) = self.0.get(&array) {
            *index = in_order(index, order);
        }
    }

    fn nodes(&mut self, nodes: &mut [Node]) {
        for n in nodes {
            match n {
                Node::Let(l) => self.binding(l),
                Node::Scan(s) => self.scan(s),
                Node::Loop(l) => self.nodes(&mut l.body),
                Node::Recurrence(r) => self.nodes(&mut r.body),
                Node::Store { array, index, .. }
                | Node::Accumulate { array, index, .. }
                | Node::Write { array, index, .. } => self.index(*array, index),
            }
        }
    }
}

impl Rewriter for Reorder<'_> {
    fn exp(&mut self, e: &mut Exp) {
        if let Exp::Read { array, index, .. } = e {
            self.index(*array, index);
        }
        self.walk_exp(e);
    }
}
