//! What is known at a place of a tree, so that it is not computed or read again.

use std::borrow::Borrow;
use std::hash::Hash;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::bulk::build::{Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Block, Exp, Scan, Var};

/// What has been computed at the places in scope.
#[derive(Default)]
pub(super) struct Computed {
    expressions: Scoped<Rc<Exp>, Vec<Var>>,
    scans: Scoped<Rc<Scan>, Vec<Var>>,
    stored: Scoped<Element, Atom>,
}

type Element = (ArrayId, Vec<Atom>);

/// What is known by its key, in the order in which it came: what came last goes first. Copying all of it for each loop and branch
/// would cost their number squared.
struct Scoped<K, V> {
    map: FxHashMap<K, V>,
    trail: Vec<K>,
}

impl<K, V> Default for Scoped<K, V> {
    fn default() -> Self {
        Scoped { map: FxHashMap::default(), trail: Vec::new() }
    }
}

impl<K: Clone + Eq + Hash, V> Scoped<K, V> {
    fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    fn add(&mut self, key: K, value: V) {
        self.trail.push(key.clone());
        self.map.insert(key, value);
    }

    fn leave(&mut self, before: usize) {
        for key in self.trail.drain(before..) {
            self.map.remove(&key);
        }
    }
}

/// The beginning of a scope: how much was known.
pub(super) struct Entered([usize; 3]);

pub(super) enum Forwarded {
    Atom(Atom),
    Exp(Exp),
}

impl Computed {
    /// Enters a loop or a branch.
    pub fn enter(&self) -> Entered {
        Entered([self.expressions.trail.len(), self.scans.trail.len(), self.stored.trail.len()])
    }

    /// Leaves it: what was computed inside is not known outside.
    pub fn leave(&mut self, Entered([expressions, scans, stored]): Entered) {
        self.expressions.leave(expressions);
        self.scans.leave(scans);
        self.stored.leave(stored);
    }

    /// The names that an expression, renamed, has here.
    pub fn expression(&self, e: &Exp) -> Option<&[Var]> {
        self.expressions.get(e).map(Vec::as_slice)
    }

    pub fn add_expression(&mut self, e: Exp, vars: Vec<Var>) {
        self.expressions.add(Rc::new(e), vars);
    }

    pub fn scan(&self, s: &Scan) -> Option<&[Var]> {
        self.scans.get(s).map(Vec::as_slice)
    }

    pub fn add_scan(&mut self, s: Scan, vars: Vec<Var>) {
        self.scans.add(Rc::new(s), vars);
    }

    pub fn add_stored(&mut self, array: ArrayId, index: Vec<Atom>, value: Atom) {
        self.stored.add((array, index), value);
    }

    /// A renaming that looks for elements that are stored in scope.
    pub fn forwarding<'a>(&'a self, map: &'a mut Renaming) -> Forward<'a> {
        Forward { stored: &self.stored.map, map }
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
    pub stored: &'a FxHashMap<Element, Atom>,
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
