//! What the nodes of a tree use and bind, and whose memory an array is.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::{Home, Loop, Node, Program, Recurrence, Rounds, Step, Tree};
use crate::bulk::uses::{Atoms, Sizes};
use crate::bulk::walk::Visitor as Scalars;
use crate::bulk::{ArrayId, Atom, Exp, Reducer, Scan, Var};
use crate::dim::Dim;
use crate::ty::Elem;

/// How nodes use an array, from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Its elements are read.
    Read,
    /// Elements are stored or overwritten.
    Write,
    /// Values are combined into elements.
    Combine,
}

/// Looks at what nodes consist of, as the visitor of Bulk does at scalar code. What is read is an `array` there.
pub trait Visitor: Scalars {
    /// An array that is changed.
    fn target(&mut self, _array: ArrayId, _access: Access) {}

    /// A list of nodes.
    fn nodes(&mut self, nodes: &[Node]) {
        nodes.iter().for_each(|n| self.node(n));
    }

    /// A node.
    fn node(&mut self, n: &Node) {
        self.walk_node(n);
    }

    /// What is in a node.
    fn walk_node(&mut self, n: &Node) {
        match n {
            Node::Let(l) => self.binding(l),
            Node::Scan(s) => self.scan(s),
            Node::Loop(l) => {
                // The code of a middle uses nothing but what the whole does.
                for a in l.axes() {
                    self.dim(&a.extent);
                    self.bound_var(&a.var);
                }
                l.range.ends().for_each(|a| self.atom(&a));
                self.nodes(&l.body);
                for f in &l.folds {
                    self.atom(&f.value);
                    self.bound_var(&f.result);
                }
                self.loc(&l.loc);
            }
            Node::Recurrence(r) => {
                for s in &r.states {
                    self.atom(&s.start);
                    self.bound_var(&s.state);
                }
                match &r.rounds {
                    Rounds::For(a, until) => {
                        self.dim(&a.extent);
                        until.iter().for_each(|u| self.atom(u));
                        self.bound_var(&a.var);
                    }
                    Rounds::While(on) => self.atom(&Atom::Var(*on)),
                }
                self.nodes(&r.body);
                for s in &r.states {
                    self.atom(&s.next);
                    self.bound_var(&s.result);
                }
                self.loc(&r.loc);
            }
            Node::Store { array, index, value } | Node::Write { array, index, value, .. } => {
                index.iter().chain([value]).for_each(|a| self.atom(a));
                self.target(*array, Access::Write);
            }
            Node::Accumulate { array, index, value, .. } => {
                index.iter().chain([value]).for_each(|a| self.atom(a));
                self.target(*array, Access::Combine);
            }
        }
    }
}

struct Accesses<F>(F);

impl<F: FnMut(ArrayId, Access)> Scalars for Accesses<F> {
    fn array(&mut self, a: &ArrayId) {
        (self.0)(*a, Access::Read);
    }
}

impl<F: FnMut(ArrayId, Access)> Visitor for Accesses<F> {
    fn target(&mut self, array: ArrayId, access: Access) {
        (self.0)(array, access);
    }
}

/// Calls `f` with every step, and with those that stand in it after it.
pub fn each_step(steps: &mut [Step], f: &mut impl FnMut(&mut Step)) {
    for s in steps {
        f(s);
        s.inside_mut().into_iter().for_each(|inside| each_step(inside, f));
    }
}

/// Calls `f` with every tree of some steps, those of loops and bands included, in order.
pub fn each_tree(steps: &mut [Step], f: &mut impl FnMut(&mut Tree)) {
    each_step(steps, &mut |s| {
        if let Step::Tree(t) = s {
            f(t);
        }
    });
}

/// An expression without branches, by which the same one is found: reads as if they were not compared, as an index outside has been reported
/// where the first of them is.
pub fn same_again(e: &Exp) -> Option<Exp> {
    match e {
        Exp::Op(..) | Exp::Size(_) => Some(e.clone()),
        Exp::Read { array, index, .. } => {
            Some(Exp::Read { array: *array, index: index.clone(), checked: false })
        }
        Exp::Inside { .. } | Exp::StopGradient(_) | Exp::If(..) => None,
    }
}

/// Calls `f` with every use of an array, in order.
pub fn visit_arrays(nodes: &[Node], f: &mut impl FnMut(ArrayId, Access)) {
    Accesses(f).nodes(nodes);
}

impl<F: FnMut(Atom)> Visitor for Atoms<F> {}

impl<F: FnMut(&Dim)> Visitor for Sizes<F> {}

/// Calls `f` with every atom that is used.
pub fn visit_atoms(nodes: &[Node], f: &mut impl FnMut(Atom)) {
    Atoms(f).nodes(nodes);
}

/// The scalars that nodes bind anywhere.
pub fn bound(nodes: &[Node]) -> FxHashSet<Var> {
    let mut found = Bound(FxHashSet::default());
    found.nodes(nodes);
    found.0
}

struct Bound(FxHashSet<Var>);

impl Scalars for Bound {
    fn bound_var(&mut self, v: &Var) {
        self.0.insert(*v);
    }
}

impl Visitor for Bound {}

/// Calls `f` with every size, those of loops included.
pub fn visit_sizes(nodes: &[Node], f: &mut impl FnMut(&Dim)) {
    Sizes(f).nodes(nodes);
}

/// At which of its indices all accesses to an array have which of these axes; `is_it` says what is that array.
pub fn places(
    nodes: &[Node],
    axes: &BTreeSet<Var>,
    is_it: &impl Fn(ArrayId) -> bool,
) -> BTreeSet<(usize, Var)> {
    let mut all: Option<BTreeSet<(usize, Var)>> = None;
    visit_indices(nodes, &mut |a, index| {
        if is_it(a) {
            let scalars = index.iter().enumerate().filter_map(|(k, i)| i.var().map(|v| (k, v)));
            let here: BTreeSet<_> = scalars.filter(|(_, v)| axes.contains(v)).collect();
            all = Some(all.take().map_or(here.clone(), |all| &all & &here));
        }
    });
    all.unwrap_or_default()
}

/// Calls `f` with every access to an element: its array and its index.
pub fn visit_indices(nodes: &[Node], f: &mut impl FnMut(ArrayId, &[Atom])) {
    for n in nodes {
        match n {
            Node::Let(l) => l.exp.visit_reads(f),
            Node::Scan(s) => s.step.block.lets.iter().for_each(|l| l.exp.visit_reads(f)),
            Node::Loop(l) => visit_indices(&l.body, f),
            Node::Recurrence(r) => visit_indices(&r.body, f),
            Node::Store { array, index, .. }
            | Node::Accumulate { array, index, .. }
            | Node::Write { array, index, .. } => f(*array, index),
        }
    }
}

/// The arrays that points combine into, and how. What a recurrence changes belongs to its point.
pub fn combined(nodes: &[Node]) -> Vec<(ArrayId, Reducer)> {
    let mut out = Vec::new();
    for n in nodes {
        let inside = match n {
            Node::Loop(l) => combined(&l.body),
            Node::Accumulate { array, reducer, .. } => vec![(*array, *reducer)],
            Node::Let(_) | Node::Scan(_) | Node::Recurrence(_) | Node::Store { .. } | Node::Write { .. } => {
                Vec::new()
            }
        };
        inside.into_iter().for_each(|c| out.extend((!out.contains(&c)).then_some(c)));
    }
    out
}

/// Whether the nodes only compute scalars.
pub fn is_pure(nodes: &[Node]) -> bool {
    let mut is_pure = true;
    visit_arrays(nodes, &mut |_, access| is_pure &= access == Access::Read);
    is_pure
}

/// Whether an array that the nodes read is one that they change, through views as well.
pub fn reads_changed(p: &Program, nodes: &[Node]) -> bool {
    let (mut read, mut changed) = (BTreeSet::new(), BTreeSet::new());
    visit_arrays(nodes, &mut |array, access| {
        let arrays = if access == Access::Read { &mut read } else { &mut changed };
        arrays.insert(p.root(array));
    });
    !read.is_disjoint(&changed)
}

/// Whether code has functions that vectors compute much faster than one number at a time.
pub fn takes_long(nodes: &[Node]) -> bool {
    let mut found = Long(false);
    found.nodes(nodes);
    found.0
}

struct Long(bool);

impl Scalars for Long {
    fn exp(&mut self, e: &Exp) {
        if let Exp::Op(op, _) = e {
            self.0 |= op.takes_long();
        }
        self.walk_exp(e);
    }
}

impl Visitor for Long {}

impl Node {
    /// The scalars that it binds for the nodes after it.
    pub fn binds(&self) -> Vec<Var> {
        match self {
            Node::Let(l) => l.vars.clone(),
            Node::Scan(s) => s.vars.clone(),
            Node::Loop(l) => l.folds.iter().map(|f| f.result).collect(),
            Node::Recurrence(r) => r.states.iter().map(|s| s.result).collect(),
            Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => Vec::new(),
        }
    }

    /// The scan that it is.
    pub fn as_scan(&self) -> Option<&Scan> {
        match self {
            Node::Scan(s) => Some(s),
            _ => None,
        }
    }
}

impl Loop {
    /// The scans that stand in it.
    pub fn scans(&self) -> impl Iterator<Item = &Scan> {
        self.body.iter().filter_map(Node::as_scan)
    }

    /// Whether states go from trip to trip.
    pub fn is_ordered(&self) -> bool {
        self.scans().next().is_some()
    }
}

impl Recurrence {
    /// What it binds for each trip.
    pub fn bound(&self) -> BTreeSet<Var> {
        let axis = match &self.rounds {
            Rounds::For(a, _) => Some(a.var),
            Rounds::While(_) => None,
        };
        self.states.iter().map(|s| s.state).chain(axis).collect()
    }
}

impl Program {
    /// The array whose memory `a` is: itself, or the end of its chain of views. `None` if the chain has no end.
    pub fn end_of_views(&self, a: ArrayId) -> Option<ArrayId> {
        let mut at = a;
        for _ in 0..=self.arrays.len() {
            match self.arrays.get(at.0 as usize)?.home {
                Home::View(of) => at = of,
                _ => return Some(at),
            }
        }
        None
    }

    /// The dimensions that an array's memory has: those of its rows for `Row`.
    pub fn memory_dims(&self, a: ArrayId) -> &[Dim] {
        let info = &self.arrays[a.0 as usize];
        match info.home {
            Home::Row { depth } => &info.dims[depth..],
            _ => &info.dims,
        }
    }

    /// The type of an atom.
    pub fn elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }
    }

    /// The array whose memory `a` is, in a program that has been verified.
    pub fn root(&self, a: ArrayId) -> ArrayId {
        self.end_of_views(a).expect("the chain of views was verified to end")
    }
}
