//! What a point has written is not read again: the value that it wrote stands for the element, until something may change it. What it has
//! computed, or read of what nobody changes meanwhile, is not computed or read again.
//!
//! ```text
//! a[i] := x;  y = a[i];  a[i] := z      y = x;  a[i] := z
//! y = cos x;  d[i] := y;  z = cos x     y = cos x;  d[i] := y;  z = y
//! ```
//!
//! What is added to such an element is added to that value, and the sum written. Of two writes to one element without a read in between
//! the first is for nothing. An index that is written may be outside, and then
//! nothing is; one that is read without a comparison is inside, so it was so when it was written.
//!
//! Loops that go backwards through others are full of this: what a trip restores the next statement reads. Through memory it would wait
//! for the write, and writes of parts of vectors are waited for until they have left the processor.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::bulk::build::{Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Block, Exp, Let, Reducer, Var};
use crate::dim::Dim;
use crate::loops::uses::{Access, each_tree, same_again, visit_arrays};
use crate::loops::{Node, Program, Range, Rounds};
use crate::ty::Loc;

/// Has the points of all trees use the values that they wrote.
pub fn forward(p: &mut Program) {
    let mut steps = std::mem::take(&mut p.steps);
    each_tree(&mut steps, &mut |t| {
        let mut point = Point {
            p,
            written: Vec::new(),
            computed: FxHashMap::default(),
            compared: Vec::new(),
            names: Renaming::default(),
        };
        t.body = point.nodes(std::mem::take(&mut t.body));
    });
    p.steps = steps;
}

/// An element that holds a value. Views under the same dimensions have the same elements.
#[derive(Clone)]
struct Written {
    root: ArrayId,
    dims: Vec<Dim>,
    index: Vec<Atom>,
    value: Atom,
    /// Where it was written among the nodes around, unless it has been read since.
    unread: Option<usize>,
}

impl Written {
    /// Whether it may be the element of an array at this index, or at any. Other constants in one of the dimensions are another place.
    fn may_be(&self, p: &Program, array: ArrayId, index: Option<&[Atom]>) -> bool {
        let differ = |(a, b): (&Atom, &Atom)| matches!((a, b), (Atom::Const(a), Atom::Const(b)) if a != b);
        let is_another = |index: &[Atom]| {
            self.dims == p.arrays[array.0 as usize].dims && self.index.iter().zip(index).any(differ)
        };
        self.root == p.root(array) && !index.is_some_and(is_another)
    }
}

/// The code of a point on the way through it.
struct Point<'a> {
    p: &'a mut Program,
    written: Vec<Written>,
    /// Expressions in scope, by what they are; reads as if they were not compared.
    computed: FxHashMap<Exp, Var>,
    /// Indices that have been compared with dimensions: one outside has been reported.
    compared: Vec<(Vec<Atom>, Vec<Dim>)>,
    names: Renaming,
}

impl Point<'_> {
    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let mut out: Vec<Option<Node>> = Vec::new();
        for mut n in nodes {
            if let Some((sum, write)) = self.combined(&n) {
                out.push(Some(sum));
                n = write;
            }
            match &mut n {
                Node::Let(l) => {
                    self.binding(l);
                    if let Some(value) = self.value(&l.exp).or_else(|| self.again(&l.exp)) {
                        self.names.insert(l.vars[0], value);
                        continue;
                    }
                    if let (Some(exp), [v]) = (same_again(&l.exp), &l.vars[..]) {
                        self.computed.insert(exp, *v);
                    }
                    self.compares(&l.exp);
                }
                Node::Scan(s) => self.scan(s),
                Node::Loop(l) => {
                    let Range { from, to } = &mut l.range;
                    from.iter_mut().chain(to).for_each(|a| *a = renamed(&self.names, *a));
                    l.body = self.inside(std::mem::take(&mut l.body));
                    l.folds.iter_mut().for_each(|f| f.value = renamed(&self.names, f.value));
                }
                Node::Recurrence(r) => {
                    r.states.iter_mut().for_each(|s| s.start = renamed(&self.names, s.start));
                    if let Rounds::For(_, Some(until)) = &mut r.rounds {
                        *until = renamed(&self.names, *until);
                    }
                    r.body = self.inside(std::mem::take(&mut r.body));
                    r.states.iter_mut().for_each(|s| s.next = renamed(&self.names, s.next));
                }
                Node::Store { array, index, value } | Node::Write { array, index, value, .. } => {
                    index.iter_mut().chain([&mut *value]).for_each(|a| *a = renamed(&self.names, *a));
                    let (array, index, value) = (*array, index.clone(), *value);
                    let before = self.at(array, &index).and_then(|w| w.unread);
                    if let Some(place) =
                        before.filter(|place| matches!(out[*place], Some(Node::Write { .. })))
                    {
                        out[place] = None;
                    }
                    self.changed(array, &index);
                    let (root, dims) = (self.p.root(array), self.dims(array));
                    self.written.push(Written { root, dims, index, value, unread: Some(out.len()) });
                }
                Node::Accumulate { array, index, value, .. } => {
                    index.iter_mut().chain([&mut *value]).for_each(|a| *a = renamed(&self.names, *a));
                    self.changed(*array, index);
                }
            }
            if matches!(n, Node::Let(_) | Node::Scan(_)) {
                self.reads(&n);
            }
            out.push(Some(n));
        }
        out.into_iter().flatten().collect()
    }

    /// What is combined into an element whose value is known, as the new value and a write of it.
    fn combined(&mut self, n: &Node) -> Option<(Node, Node)> {
        let Node::Accumulate { array, reducer: reducer @ (Reducer::Add | Reducer::Mul), index, value } = n
        else {
            return None;
        };
        let index: Vec<Atom> = index.iter().map(|a| renamed(&self.names, *a)).collect();
        let before = self.at(*array, &index)?.value;
        let exp = Exp::Op(reducer.op()?, vec![before, renamed(&self.names, *value)]);
        let sum = self.p.new_var(self.p.arrays[array.0 as usize].elem);
        let sum_is = Node::Let(Let { vars: vec![sum], exp, loc: Loc::default() });
        Some((sum_is, Node::Write { array: *array, index, value: Atom::Var(sum), checked: true }))
    }

    /// The body of a loop: what it changes is not known before it, nor what it has computed after it.
    fn inside(&mut self, body: Vec<Node>) -> Vec<Node> {
        let (mut changed, mut read) = (BTreeSet::new(), BTreeSet::new());
        visit_arrays(&body, &mut |a, access| {
            let arrays = if access == Access::Read { &mut read } else { &mut changed };
            arrays.insert(self.p.root(a));
        });
        self.written.retain(|w| !changed.contains(&w.root));
        let p = &*self.p;
        self.computed
            .retain(|e, _| !matches!(e, Exp::Read { array, .. } if changed.contains(&p.root(*array))));
        let (computed, compared) = (self.computed.clone(), self.compared.len());
        self.written.iter_mut().for_each(|w| w.unread = w.unread.filter(|_| !read.contains(&w.root)));
        let before = self.written.clone();
        self.written.iter_mut().for_each(|w| w.unread = None);
        let body = self.nodes(body);
        self.written = before;
        self.computed = computed;
        self.compared.truncate(compared);
        body
    }

    fn dims(&self, a: ArrayId) -> Vec<Dim> {
        self.p.arrays[a.0 as usize].dims.clone()
    }

    fn at(&self, array: ArrayId, index: &[Atom]) -> Option<&Written> {
        let (root, dims) = (self.p.root(array), &self.p.arrays[array.0 as usize].dims);
        self.written.iter().find(|w| w.root == root && w.index == index && w.dims == *dims)
    }

    fn value(&self, e: &Exp) -> Option<Atom> {
        let Exp::Read { array, index, checked } = e else { return None };
        let is_inside = || {
            let dims = &self.p.arrays[array.0 as usize].dims;
            self.compared.iter().any(|(i, d)| i == index && d == dims)
        };
        self.at(*array, index).filter(|_| !checked || is_inside()).map(|w| w.value)
    }

    fn compares(&mut self, e: &Exp) {
        match e {
            Exp::Read { array, index, checked: true } => {
                self.compared.push((index.clone(), self.dims(*array)))
            }
            Exp::Inside { index, dims, .. } => self.compared.push((index.clone(), dims.clone())),
            _ => {}
        }
    }

    /// What an expression is that has been computed.
    fn again(&self, e: &Exp) -> Option<Atom> {
        self.computed.get(&same_again(e)?).map(|v| Atom::Var(*v))
    }

    fn changed(&mut self, array: ArrayId, index: &[Atom]) {
        let p = &*self.p;
        self.written.retain(|w| !w.may_be(p, array, Some(index)));
        let root = p.root(array);
        self.computed.retain(|e, _| !matches!(e, Exp::Read { array, .. } if p.root(*array) == root));
    }

    fn reads(&mut self, n: &Node) {
        let Point { p, written, .. } = self;
        let index = match n {
            Node::Let(Let { exp: Exp::Read { index, .. }, .. }) => Some(&index[..]),
            _ => None,
        };
        visit_arrays(std::slice::from_ref(n), &mut |a, _| {
            written.iter_mut().filter(|w| w.may_be(p, a, index)).for_each(|w| w.unread = None);
        });
    }
}

impl Rewriter for Point<'_> {
    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(&self.names, *a);
    }

    fn block(&mut self, b: &mut Block) {
        let mut lets = Vec::new();
        for mut l in std::mem::take(&mut b.lets) {
            self.binding(&mut l);
            match self.value(&l.exp) {
                Some(value) => drop(self.names.insert(l.vars[0], value)),
                None => lets.push(l),
            }
        }
        b.lets = lets;
    }
}
