//! What code does at a row: which elements it uses, and whether they are those of the row.

use rustc_hash::FxHashSet;

use crate::bulk::walk::Visitor as Scalars;
use crate::bulk::{ArrayId, Atom, Exp, Let, Reducer, Scan, Var};
use crate::dim::Dim;
use crate::loops::uses::Visitor;
use crate::loops::{Home, Node, Program, Rounds};
use crate::ty::Elem;

/// How code uses an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Values are combined into elements; in loops of points into the point's own.
    Combine {
        reducer: Reducer,
        is_own: bool,
    },
}

/// All uses of elements, with their indices; `None` if some are overwritten.
pub(super) fn accesses(nodes: &[Node]) -> Option<Vec<(ArrayId, Access, Vec<Atom>)>> {
    let mut out = Vec::new();
    list(nodes, false, &mut out).then_some(out)
}

fn list(nodes: &[Node], is_own: bool, out: &mut Vec<(ArrayId, Access, Vec<Atom>)>) -> bool {
    let read = |l: &Let, out: &mut Vec<_>| {
        l.exp.visit_reads(&mut |a, index| out.push((a, Access::Read, index.to_vec())));
    };
    for n in nodes {
        match n {
            Node::Let(l) => read(l, out),
            Node::Scan(s) => s.step.block.lets.iter().for_each(|l| read(l, out)),
            Node::Loop(l) if !list(&l.body, is_own, out) => return false,
            Node::Recurrence(r) if !list(&r.body, true, out) => return false,
            Node::Loop(_) | Node::Recurrence(_) => {}
            Node::Store { array, index, .. } => out.push((*array, Access::Write, index.clone())),
            Node::Accumulate { array, reducer, index, .. } => {
                out.push((*array, Access::Combine { reducer: *reducer, is_own }, index.clone()));
            }
            Node::Write { .. } => return false,
        }
    }
    true
}

/// Whether code may report an error.
pub(super) fn fails(p: &Program, nodes: &[Node]) -> bool {
    struct Fails<'a> {
        vars: &'a [Elem],
        found: bool,
    }
    impl Scalars for Fails<'_> {
        fn binding(&mut self, l: &Let) {
            self.found |= l.may_fail(self.vars);
        }
    }
    impl Visitor for Fails<'_> {}
    let mut f = Fails { vars: &p.vars, found: false };
    f.nodes(nodes);
    f.found
}

/// Whether an index is the row, which this scalar counts, of an array that has as many.
pub(super) fn is_row(p: &Program, total: &Dim, a: ArrayId, index: &[Atom], counter: Var) -> bool {
    let info = &p.arrays[a.0 as usize];
    let counts = index.first() == Some(&Atom::Var(counter));
    counts && info.dims.first() == Some(total) && !matches!(info.home, Home::Row { .. })
}

/// Whether indices have to do with the number of the row, this scalar, only where it stands for the row itself: then that number may be
/// another one in a band.
pub(super) fn indexes_apart(p: &Program, total: &Dim, nodes: &[Node], counter: Var) -> bool {
    let mut d = Depends { p, total, counter, depends: FxHashSet::from_iter([counter]), apart: true };
    d.nodes(nodes);
    d.apart
}

/// Finds the scalars that depend on the number of the row.
struct Depends<'a> {
    p: &'a Program,
    total: &'a Dim,
    counter: Var,
    depends: FxHashSet<Var>,
    apart: bool,
}

impl Depends<'_> {
    fn has(&self, a: &Atom) -> bool {
        a.var().is_some_and(|v| self.depends.contains(&v))
    }

    /// Looks at an index.
    fn index(&mut self, array: ArrayId, index: &[Atom]) {
        let row = usize::from(is_row(self.p, self.total, array, index, self.counter));
        self.apart &= !index[row..].iter().any(|i| self.has(i));
    }

    fn exp_depends(&mut self, e: &Exp) -> bool {
        match e {
            Exp::Op(_, args) => args.iter().any(|a| self.has(a)),
            Exp::Size(_) => false,
            Exp::Read { array, index, .. } => {
                self.index(*array, index);
                false
            }
            // What is compared with dimensions is an index.
            Exp::Inside { index, .. } => {
                self.apart &= !index.iter().any(|i| self.has(i));
                false
            }
            Exp::StopGradient(a) => self.has(a),
            Exp::If(c, yes, no) => {
                let mut depends = self.has(c);
                for branch in [yes, no] {
                    branch.block.lets.iter().for_each(|l| self.binding(l));
                    depends |= branch.results.iter().any(|a| self.has(a));
                }
                depends
            }
        }
    }
}

impl Scalars for Depends<'_> {
    fn binding(&mut self, l: &Let) {
        if self.exp_depends(&l.exp) {
            self.depends.extend(&l.vars);
        }
    }

    fn scan(&mut self, s: &Scan) {
        // What is handed from trip to trip depends on it as soon as anything of it does.
        if s.start.iter().chain(&s.values).any(|a| self.has(a)) {
            self.depends.extend(s.left.iter().chain(&s.right));
        }
        s.step.block.lets.iter().for_each(|l| self.binding(l));
        if s.start.iter().chain(&s.values).chain(&s.step.results).any(|a| self.has(a)) {
            self.depends.extend(s.left.iter().chain(&s.right).chain(&s.vars));
            s.step.block.lets.iter().for_each(|l| self.binding(l));
        }
    }
}

impl Visitor for Depends<'_> {
    fn node(&mut self, n: &Node) {
        match n {
            Node::Loop(l) => {
                self.nodes(&l.body);
                for f in &l.folds {
                    if self.has(&f.value) {
                        self.depends.insert(f.result);
                    }
                }
            }
            Node::Recurrence(r) => {
                // Until no more states come to depend on it.
                loop {
                    let before = self.depends.len();
                    let ends = match &r.rounds {
                        Rounds::For(_, until) => until.iter().any(|u| self.has(u)),
                        Rounds::While(on) => self.depends.contains(on),
                    };
                    for s in &r.states {
                        if ends || self.has(&s.start) || self.has(&s.next) {
                            self.depends.extend([s.state, s.result]);
                        }
                    }
                    self.nodes(&r.body);
                    if self.depends.len() == before {
                        return;
                    }
                }
            }
            Node::Store { array, index, .. }
            | Node::Accumulate { array, index, .. }
            | Node::Write { array, index, .. } => self.index(*array, index),
            Node::Let(_) | Node::Scan(_) => self.walk_node(n),
        }
    }
}
