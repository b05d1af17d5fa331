//! What is known at a place of a tree, so that it is not computed or read again.

use std::collections::HashMap;
use std::rc::Rc;

use crate::bulk::build::{Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Block, Exp, Scan, Var};

/// What has been computed at the places in scope.
#[derive(Default)]
pub(super) struct Computed {
    expressions: HashMap<Rc<Exp>, Vec<Var>>,
    scans: HashMap<Rc<Scan>, Vec<Var>>,
    stored: HashMap<Element, Atom>,
    /// In the order in which they came.
    trail: Vec<Key>,
}

/// The beginning of a scope.
pub(super) struct Entered(usize);

type Element = (ArrayId, Vec<Atom>);

enum Key {
    Expression(Rc<Exp>),
    Scan(Rc<Scan>),
    Stored(Element),
}

pub(super) enum Forwarded {
    Atom(Atom),
    Exp(Exp),
}

impl Computed {
    /// Enters a loop or a branch.
    pub fn enter(&self) -> Entered {
        Entered(self.trail.len())
    }

    /// Leaves it: what was computed inside is not known outside.
    pub fn leave(&mut self, entered: Entered) {
        for key in self.trail.drain(entered.0..) {
            match key {
                Key::Expression(e) => drop(self.expressions.remove(&e)),
                Key::Scan(s) => drop(self.scans.remove(&s)),
                Key::Stored(element) => drop(self.stored.remove(&element)),
            }
        }
    }

    /// The names that an expression, renamed, has here.
    pub fn expression(&self, e: &Exp) -> Option<&[Var]> {
        self.expressions.get(e).map(Vec::as_slice)
    }

    pub fn add_expression(&mut self, e: Exp, vars: Vec<Var>) {
        let e = Rc::new(e);
        self.trail.push(Key::Expression(e.clone()));
        self.expressions.insert(e, vars);
    }

    pub fn scan(&self, s: &Scan) -> Option<&[Var]> {
        self.scans.get(s).map(Vec::as_slice)
    }

    pub fn add_scan(&mut self, s: Scan, vars: Vec<Var>) {
        let s = Rc::new(s);
        self.trail.push(Key::Scan(s.clone()));
        self.scans.insert(s, vars);
    }

    pub fn add_stored(&mut self, array: ArrayId, index: Vec<Atom>, value: Atom) {
        self.trail.push(Key::Stored((array, index.clone())));
        self.stored.insert((array, index), value);
    }

    /// A renaming that looks for elements that are stored in scope.
    pub fn forwarding<'a>(&'a self, map: &'a mut Renaming) -> Forward<'a> {
        Forward { stored: &self.stored, map }
    }

    /// An expression renamed. A read of an element stored in scope is its value.
    pub fn forward(&self, e: &Exp, map: &mut Renaming) -> Forwarded {
        let mut e = e.clone();
        let mut forward = self.forwarding(map);
        forward.exp(&mut e);
        forward.value(&e).map_or(Forwarded::Exp(e), Forwarded::Atom)
    }
}

/// Renames, and drops the reads of elements that are stored in scope: their values are their names from there on.
pub(super) struct Forward<'a> {
    pub stored: &'a HashMap<Element, Atom>,
    pub map: &'a mut Renaming,
}

impl Forward<'_> {
    /// The value of the element that is read.
    pub fn value(&self, e: &Exp) -> Option<Atom> {
        let Exp::Read { array, index, .. } = e else { return None };
        self.stored.get(&(*array, index.clone())).copied()
    }
}

impl Rewriter for Forward<'_> {
    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(self.map, *a);
    }

    fn block(&mut self, b: &mut Block) {
        b.lets.retain_mut(|l| {
            self.binding(l);
            let value = self.value(&l.exp);
            self.map.extend(value.map(|a| (l.vars[0], a)));
            value.is_none()
        });
    }
}
