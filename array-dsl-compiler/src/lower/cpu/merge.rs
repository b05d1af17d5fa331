//! Several parallel axes as one.
//!
//! Neighboring axes that are only ever used together, as neighboring indices of arrays that have them as neighboring
//! dimensions, are one axis of the product of their extents: `a[i, j] = f(b[i, j])` is a loop over elements, which has
//! more chunks than rows and vectorizes however short the rows are.

use crate::bulk::{ArrayId, Atom, Axis, Branch, Exp, Let, Scan, Var};
use crate::loops::{Node, Program, Tree};

/// The axes of a tree in groups, each of which is one axis.
pub(super) fn groups(p: &Program, t: &Tree) -> Vec<Vec<Axis>> {
    let mut groups: Vec<Vec<Axis>> = Vec::new();
    let mut outer: Option<Var> = None;
    for inner in &t.axes {
        let merges = outer.is_some_and(|outer| Pair { p, outer, inner }.nodes(&t.body));
        match groups.last_mut() {
            Some(g) if merges => g.push(inner.clone()),
            _ => groups.push(vec![inner.clone()]),
        }
        outer = Some(inner.var);
    }
    groups
}

/// Two neighboring axes. Its methods say whether code uses them together only.
struct Pair<'a> {
    p: &'a Program,
    outer: Var,
    inner: &'a Axis,
}

impl Pair<'_> {
    fn nodes(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|n| match n {
            Node::Let(l) => self.binding(l),
            Node::Scan(s) => self.scan(s),
            Node::Loop(l) => self.nodes(&l.body) && l.folds.iter().all(|f| !self.uses(f.value)),
            Node::Recurrence(r) => {
                let states = r.states.iter().all(|s| !self.uses(s.start) && !self.uses(s.next));
                states && self.nodes(&r.body)
            }
            Node::Store { array, index, value } => self.index(*array, index) && !self.uses(*value),
            // In a recurrence they change elements of the point's own.
            Node::Accumulate { array, index, value, .. } | Node::Write { array, index, value, .. } => {
                self.index(*array, index) && !self.uses(*value)
            }
        })
    }

    fn binding(&self, l: &Let) -> bool {
        match &l.exp {
            Exp::Read { array, index, checked } => {
                self.index(*array, index) && !(*checked && index.iter().any(|i| self.uses(*i)))
            }
            Exp::If(c, x, y) => !self.uses(*c) && self.branch(x) && self.branch(y),
            e => {
                let mut free = true;
                e.visit_atoms(&mut |a| free &= !self.uses(a));
                free
            }
        }
    }

    fn scan(&self, s: &Scan) -> bool {
        let mut free = true;
        s.visit_atoms(&mut |a| free &= !self.uses(a));
        free
    }

    fn branch(&self, b: &Branch) -> bool {
        b.block.lets.iter().all(|l| self.binding(l)) && b.results.iter().all(|a| !self.uses(*a))
    }

    fn uses(&self, a: Atom) -> bool {
        a == Atom::Var(self.outer) || a == Atom::Var(self.inner.var)
    }

    fn index(&self, array: ArrayId, index: &[Atom]) -> bool {
        let dims = self.p.memory_dims(array);
        (0..index.len()).all(|k| {
            if index[k] == Atom::Var(self.outer) {
                index.get(k + 1) == Some(&Atom::Var(self.inner.var))
                    && dims.get(k + 1) == Some(&self.inner.extent)
            } else if index[k] == Atom::Var(self.inner.var) {
                k > 0 && index[k - 1] == Atom::Var(self.outer)
            } else {
                true
            }
        })
    }
}
