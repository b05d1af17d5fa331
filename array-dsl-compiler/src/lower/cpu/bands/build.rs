//! The steps before bands, the bands, and the steps after them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::Found;
use super::folds;
use super::member::{Member, Role};
use super::rows::is_row;
use crate::bulk::build::{Fresh, Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp, Let, Var};
use crate::dim::{Dim, SizeAtom};
use crate::internal::{self, expect};
use crate::loops::rename::fresh;
use crate::loops::uses::visit_arrays;
use crate::loops::{ArrayInfo, Bands, Contract, Handed, Home, Loop, Node, Program, Rounds, Step, Tree};
use crate::scalar::Op;
use crate::ty::{Elem, Loc};

/// The steps with those that were found in bands.
pub(super) fn build(p: &mut Program, steps: Vec<Step>, found: Found) -> Vec<Step> {
    let Found { total, members, late, own } = found;
    let number = |p: &mut Program, name: &str| {
        let info =
            ArrayInfo { name: name.into(), elem: Elem::I64, dims: Vec::new(), home: Home::Heap, most: None };
        new_array(p, info)
    };
    let (first, rows) = (number(p, "first"), number(p, "rows"));
    let mut b = Build {
        p,
        total: total.clone(),
        first,
        rows: Dim::atom(SizeAtom::Scalar(rows.0)),
        names: BTreeMap::new(),
        read: Vec::new(),
        made: Vec::new(),
        sums: Vec::new(),
    };
    b.arrays(&members, &own);
    let (mut before, mut inside, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for (at, s) in steps.into_iter().enumerate() {
        match members.get(&at) {
            Some(m) => after.extend(b.member(m, s, &mut inside)),
            None if late.contains(&at) => after.push(s),
            None => before.push(s),
        }
    }
    let Build { read, made, sums, .. } = b;
    before.push(Step::Bands(Bands { total, first, rows, read, made, sums, steps: inside }));
    before.extend(after);
    before
}

fn new_array(p: &mut Program, info: ArrayInfo) -> ArrayId {
    p.arrays.push(info);
    ArrayId(p.arrays.len() as u32 - 1)
}

struct Build<'p> {
    p: &'p mut Program,
    total: Dim,
    first: ArrayId,
    /// The number of rows of a band.
    rows: Dim,
    /// What a band has in place of arrays.
    names: BTreeMap<ArrayId, ArrayId>,
    read: Vec<Handed>,
    made: Vec<Handed>,
    sums: Vec<Handed>,
}

impl Build<'_> {
    /// What a band has in place of the arrays that it uses.
    fn arrays(&mut self, members: &BTreeMap<usize, Member>, own: &BTreeSet<ArrayId>) {
        let made: BTreeSet<ArrayId> = members.values().flat_map(|m| &m.makes).copied().collect();
        let read: BTreeSet<ArrayId> = members.values().flat_map(|m| &m.reads).copied().collect();
        let adds: BTreeSet<ArrayId> = members.values().flat_map(|m| &m.adds).copied().collect();
        for a in &made {
            if own.contains(a) {
                self.p.arrays[a.0 as usize].dims[0] = self.rows.clone();
            } else {
                let h = self.band(*a);
                self.made.push(h);
            }
        }
        for a in read.difference(&made) {
            let h = self.band(*a);
            self.read.push(h);
        }
        for a in adds {
            let addend = self.p.arrays[a.0 as usize].clone();
            let inside = new_array(self.p, addend);
            self.names.insert(a, inside);
            self.sums.push(Handed { outside: a, inside });
        }
    }

    fn band(&mut self, outside: ArrayId) -> Handed {
        let mut info = self.p.arrays[outside.0 as usize].clone();
        info.dims[0] = self.rows.clone();
        info.home = Home::Band(outside);
        let inside = new_array(self.p, info);
        self.names.insert(outside, inside);
        Handed { outside, inside }
    }

    fn name(&self, a: ArrayId) -> ArrayId {
        self.names.get(&a).copied().unwrap_or(a)
    }

    /// A step in bands; what is left of it after them.
    fn member(&mut self, m: &Member, s: Step, inside: &mut Vec<Step>) -> Option<Step> {
        match (m.role, s) {
            (Role::Rows, Step::Tree(t)) => {
                let counter = t.axes[0].var;
                inside.push(Step::Tree(self.tree(t, counter)));
                None
            }
            (Role::Folds, Step::Tree(t)) => Some(Step::Tree(self.folds(m, t, inside))),
            (Role::Product { axis, .. }, Step::Contract(mut c)) => {
                self.product(&mut c, axis);
                inside.push(Step::Contract(c));
                None
            }
            (_, Step::Fill { array, value }) => {
                inside.push(Step::Fill { array: self.name(array), value });
                None
            }
            (Role::Copy, Step::Move { array, source })
                if [array, source].iter().all(|a| self.name(*a) == *a) =>
            {
                inside.push(Step::Move { array, source });
                None
            }
            // Memory of all rows stays where it is.
            (Role::Copy, Step::Copy { array, source } | Step::Move { array, source }) => {
                let [array, source] = [array, source].map(|a| self.name(a));
                inside.push(Step::Copy { array, source });
                None
            }
            (role, _) => internal::broken(format!("a step in bands is no {role:?}")),
        }
    }

    fn product(&self, c: &mut Contract, axis: usize) {
        c.extents[axis] = self.rows.clone();
        c.result = self.name(c.result);
        for o in [&mut c.a, &mut c.b] {
            if o.axes().contains(&axis) {
                o.array = self.name(o.array);
            }
        }
    }

    /// A tree whose rows this scalar counts: one of its axes, or that of a loop.
    fn tree(&mut self, mut t: Tree, counter: Var) -> Tree {
        let mut depth = None;
        if let Some(at) = t.axes.iter().position(|a| a.var == counter) {
            t.axes[at].extent = self.rows.clone();
            depth = Some(at);
        }
        let mut code = Code { b: self, counter, number: None, used: false };
        match depth {
            Some(_) => code.counted(&mut t.body),
            None => code.nodes(&mut t.body),
        }
        let at = depth.or_else(|| depth_of(&t.body, counter, t.axes.len()));
        // What belongs to the tree lacks the axis of the rows, or has it.
        let mut private = BTreeSet::new();
        visit_arrays(&t.body, &mut |a, _| private.extend([a]));
        for a in private {
            let info = &mut self.p.arrays[a.0 as usize];
            if let (Home::Row { depth }, Some(at)) = (&info.home, at)
                && at < *depth
            {
                info.dims[at] = self.rows.clone();
            }
        }
        t
    }

    /// The folds of a tree in bands, and the rest of it.
    fn folds(&mut self, m: &Member, t: Tree, inside: &mut Vec<Step>) -> Tree {
        let mut sums: FxHashMap<Var, Vec<ArrayId>> = FxHashMap::default();
        let mut trees = Vec::new();
        for f in &m.folds {
            let axes: Vec<_> = t.axes.iter().chain(&f.around).cloned().collect();
            let dims: Vec<Dim> = axes.iter().map(|a| a.extent.clone()).collect();
            let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
            let mut body: Vec<Node> = f.before.iter().cloned().map(Node::Let).collect();
            body.push(Node::Loop(f.l.clone()));
            let mut outside = Vec::new();
            for fold in &f.l.folds {
                let elem = self.p.vars[fold.result.0 as usize];
                let info =
                    ArrayInfo { name: "sum".into(), elem, dims: dims.clone(), home: Home::Heap, most: None };
                let [sum, addend] = [info.clone(), info].map(|info| new_array(self.p, info));
                self.sums.push(Handed { outside: sum, inside: addend });
                outside.push(sum);
                body.push(Node::Store { array: addend, index: index.clone(), value: Atom::Var(fold.result) });
            }
            sums.insert(f.l.axis.var, outside);
            for axis in f.around.iter().rev() {
                body = vec![Node::Loop(Loop::new(axis.clone(), body, Vec::new(), f.l.loc))];
            }
            trees.push((Tree::new(t.axes.clone(), body, t.loc), f.l.axis.var));
        }
        for (mut tree, counter) in trees {
            // Another tree computes other scalars.
            let mut names = Renaming::default();
            let mut new = Fresh { vars: &mut self.p.vars, names: &mut names };
            tree.axes.iter_mut().for_each(|a| new.bound_var(&mut a.var));
            fresh(&mut tree.body, &mut new);
            let counter = renamed(&names, Atom::Var(counter)).var();
            let counter = expect(counter, || "what counts rows is no scalar".into());
            inside.push(Step::Tree(self.tree(tree, counter)));
        }
        let body = folds::reading(t.body, &sums, &mut t.axes.clone());
        Tree { body, ..t }
    }
}

/// How many axes are around that of a loop.
fn depth_of(nodes: &[Node], counter: Var, around: usize) -> Option<usize> {
    nodes.iter().find_map(|n| match n {
        Node::Loop(l) if l.axis.var == counter => Some(around),
        Node::Loop(l) => depth_of(&l.body, counter, around + l.axes().count()),
        _ => None,
    })
}

/// Has code at a row use what the band has of it, and where it computes with the number of the row, that among all.
struct Code<'b, 'p> {
    b: &'b mut Build<'p>,
    counter: Var,
    /// The number among all rows.
    number: Option<Var>,
    used: bool,
}

impl Code<'_, '_> {
    /// Code of each row.
    fn counted(&mut self, body: &mut Vec<Node>) {
        let number = self.b.p.new_var(Elem::I64);
        self.number = Some(number);
        self.nodes(body);
        if self.used {
            let first = self.b.p.new_var(Elem::I64);
            let size = Exp::Size(Dim::atom(SizeAtom::Scalar(self.b.first.0)));
            let sum = Exp::Op(Op::Add, vec![Atom::Var(first), Atom::Var(self.counter)]);
            let lets = [(first, size), (number, sum)];
            let bind = |(v, exp)| Node::Let(Let { vars: vec![v], exp, loc: Loc::default() });
            body.splice(0..0, lets.map(bind));
        }
        self.number = None;
    }

    fn nodes(&mut self, nodes: &mut [Node]) {
        for n in nodes {
            match n {
                Node::Let(l) => self.binding(l),
                Node::Scan(s) => self.scan(s),
                Node::Loop(l) => {
                    let Loop { axis, range, body, folds, .. } = l;
                    let ends = range.from.iter_mut().chain(&mut range.to);
                    ends.for_each(|a| self.atom(a));
                    if axis.var == self.counter {
                        axis.extent = self.b.rows.clone();
                        self.counted(body);
                    } else {
                        self.nodes(body);
                    }
                    folds.iter_mut().for_each(|f| self.atom(&mut f.value));
                }
                Node::Recurrence(r) => {
                    if let Rounds::For(_, until) = &mut r.rounds {
                        until.iter_mut().for_each(|u| self.atom(u));
                    }
                    r.states.iter_mut().for_each(|s| self.atom(&mut s.start));
                    self.nodes(&mut r.body);
                    r.states.iter_mut().for_each(|s| self.atom(&mut s.next));
                }
                Node::Store { array, index, value }
                | Node::Accumulate { array, index, value, .. }
                | Node::Write { array, index, value, .. } => {
                    self.index(array, index);
                    // What is summed over all rows has no row.
                    *array = self.b.name(*array);
                    self.atom(value);
                }
            }
        }
    }

    /// The index of an element: that of a row stays.
    fn index(&mut self, array: &mut ArrayId, index: &mut [Atom]) {
        let rows = [&self.b.total, &self.b.rows];
        let is_row = rows.into_iter().any(|n| is_row(self.b.p, n, *array, index, self.counter));
        if is_row {
            *array = self.b.name(*array);
        }
        index.iter_mut().skip(usize::from(is_row)).for_each(|a| self.atom(a));
    }
}

impl Rewriter for Code<'_, '_> {
    fn atom(&mut self, a: &mut Atom) {
        if let (Atom::Var(v), Some(number)) = (*a, self.number)
            && v == self.counter
        {
            *a = Atom::Var(number);
            self.used = true;
        }
    }

    fn exp(&mut self, e: &mut Exp) {
        match e {
            Exp::Read { array, index, .. } => self.index(array, index),
            e => self.walk_exp(e),
        }
    }
}
