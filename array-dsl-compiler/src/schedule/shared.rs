//! What two pieces of code at the same points have in common: values are equal that are computed alike, whatever they are called.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::adjoin::fails;
use crate::bulk::{Atom, Exp, Var};
use crate::loops::Node;
use crate::ty::Elem;

/// Whether two pieces of code at the points of an axis both compute a function that takes long, or read an element whose place is
/// itself read: what a table has for a point.
pub(super) fn shares(axis: Var, first: &[Node], second: &[Node]) -> bool {
    let [a, b] = [first, second].map(|nodes| Values::of(axis, nodes, &[]));
    !a.costly.is_disjoint(&b.costly)
}

/// Whether all that may fail in the second piece of code is what the first one does as well. `vars` are the types of all scalars.
pub(super) fn fails_alike(axis: Var, first: &[Node], second: &[Node], vars: &[Elem]) -> bool {
    let [a, b] = [first, second].map(|nodes| Values::of(axis, nodes, vars));
    b.failing.iter().all(|f| f.is_some() && a.failing.contains(f))
}

/// How a scalar is computed.
#[derive(Clone, Copy)]
struct Value {
    /// The same for what is computed alike.
    number: u64,
    /// Whether it is made of an element.
    has_element: bool,
}

#[derive(Default)]
struct Values {
    of: FxHashMap<Var, Value>,
    /// Those that cost much.
    costly: FxHashSet<u64>,
    /// Those of expressions that may fail; none of such as are not looked into.
    failing: FxHashSet<Option<u64>>,
}

impl Values {
    /// Those of code at the points of an axis. Without the types of all scalars it is not known what may fail.
    fn of(axis: Var, nodes: &[Node], vars: &[Elem]) -> Values {
        let mut values = Values::default();
        values.of.insert(axis, Value { number: 0, has_element: false });
        values.nodes(nodes);
        if !vars.is_empty() {
            values.failing(nodes, vars);
        }
        values
    }

    fn failing(&mut self, nodes: &[Node], vars: &[Elem]) {
        for n in nodes {
            match n {
                Node::Let(l) if l.may_fail(vars) => {
                    let number = self.of.get(&l.vars[0]).map(|v| v.number);
                    self.failing.insert(number);
                }
                Node::Loop(l) => self.failing(&l.body, vars),
                n if fails(std::slice::from_ref(n), vars) => drop(self.failing.insert(None)),
                _ => {}
            }
        }
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for n in nodes {
            match n {
                Node::Let(l) if l.vars.len() == 1 => {
                    let value = self.exp(&l.exp);
                    self.of.extend(value.map(|value| (l.vars[0], value)));
                }
                Node::Loop(l) => self.nodes(&l.body),
                _ => {}
            }
        }
    }

    fn parts(&self, atoms: &[Atom]) -> Option<Vec<Value>> {
        let value = |a: &Atom| match a {
            Atom::Const(c) => Some(Value { number: hashed(c), has_element: false }),
            Atom::Var(v) => self.of.get(v).copied(),
        };
        atoms.iter().map(value).collect()
    }

    /// The value of an expression; none of what is not looked into.
    fn exp(&mut self, e: &Exp) -> Option<Value> {
        let numbers = |parts: &[Value]| parts.iter().map(|v| v.number).collect::<Vec<_>>();
        let has_element = |parts: &[Value]| parts.iter().any(|v| v.has_element);
        match e {
            Exp::Size(d) => Some(Value { number: hashed(d), has_element: false }),
            Exp::Read { array, index, .. } => {
                let parts = self.parts(index)?;
                let number = hashed(&(array, numbers(&parts)));
                self.costly.extend(has_element(&parts).then_some(number));
                Some(Value { number, has_element: true })
            }
            Exp::Op(op, args) => {
                let parts = self.parts(args)?;
                let number = hashed(&(op, numbers(&parts)));
                self.costly.extend((op.has_vectors() && !op.is_instruction()).then_some(number));
                Some(Value { number, has_element: has_element(&parts) })
            }
            Exp::If(..) | Exp::Inside { .. } | Exp::StopGradient(_) => None,
        }
    }
}

fn hashed(x: &impl Hash) -> u64 {
    let mut h = FxHasher::default();
    x.hash(&mut h);
    h.finish()
}
