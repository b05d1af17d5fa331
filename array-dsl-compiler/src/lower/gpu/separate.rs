//! Rewrites a scheduled program for the runtime's steps.
//!
//! * A loop that folds has many threads for each point if nothing else in its tree has an order ([`Reduction`](super::Reduction)). Where a tree has
//!   several loops, each becomes such a tree, with temporary arrays for what it folds:
//!
//!   ```text
//!   tree [i] { m = fold over j of x[i, j];  s = fold over j of exp(x[i, j] - m); store y[i] = s }
//!       becomes   tree [i] { m = fold ..; store t[i] = m }     tree [i] { m = t[i];  s = fold ..; store y[i] = s }
//!   ```
//!
//! * A contraction of a host scalar, which a view may make a matrix, becomes a tree; so does a copy of one.

use rustc_hash::FxHashSet;

use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Reducer, Var};
use crate::dim::Dim;
use crate::loops::uses::{is_pure, visit_atoms};
use crate::loops::{ArrayInfo, Contract, Fold, Home, Loop, Node, Operand, Program, Repeat, Step, Tree};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// Loops with no more trips than this are left alone.
const SHORT: i64 = 256;

/// Rewrites the program.
pub fn separate(p: &mut Program) {
    let steps = std::mem::take(&mut p.steps);
    p.separate_steps(steps);
}

impl Program {
    fn separate_steps(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Tree(tree) => self.separate_tree(tree),
                Step::Contract(c) if [c.a.array, c.b.array].into_iter().any(|a| self.is_host_scalar(a)) => {
                    let tree = self.contract_tree(&c);
                    self.steps.push(Step::Tree(tree));
                }
                Step::Copy { array, source } if self.rank(self.root(source)) == 0 => {
                    let tree = self.copy_tree(array, source);
                    self.steps.push(Step::Tree(tree));
                }
                Step::Repeat(r) => {
                    let before = std::mem::take(&mut self.steps);
                    self.separate_steps(r.steps);
                    let steps = std::mem::replace(&mut self.steps, before);
                    self.steps.push(Step::Repeat(Repeat { steps, ..r }));
                }
                step => self.steps.push(step),
            }
        }
    }

    fn rank(&self, a: ArrayId) -> usize {
        self.arrays[a.0 as usize].dims.len()
    }

    fn fresh_var(&mut self, elem: Elem) -> Var {
        self.vars.push(elem);
        Var(self.vars.len() as u32 - 1)
    }

    fn temporary(&mut self, elem: Elem, dims: Vec<Dim>) -> ArrayId {
        let name = format!("temporary {}", self.arrays.len()).into();
        self.arrays.push(ArrayInfo { name, elem, dims, home: Home::Heap, most: None });
        ArrayId(self.arrays.len() as u32 - 1)
    }

    /// Whether an array's one element is a scalar that the host has.
    fn is_host_scalar(&self, a: ArrayId) -> bool {
        let info = &self.arrays[self.root(a).0 as usize];
        info.home == Home::Param && info.dims.is_empty()
    }

    /// Whether the tree's loops should be reductions of their own.
    fn is_worthwhile(&self, tree: &Tree) -> bool {
        let Some(last) = tree.body.iter().rposition(|n| matches!(n, Node::Loop(_))) else { return false };
        let loops: Vec<&Loop> = tree.body.iter().filter_map(as_loop).collect();
        let takes_the_last = |l: &Loop| l.folds.iter().any(|f| f.reducer == Reducer::Last);
        if loops.iter().any(|l| l.is_ordered() || takes_the_last(l)) {
            return false;
        }
        let pure = is_pure(&tree.body[..last]) && loops.iter().all(|l| is_pure(&l.body));
        let long = loops.iter().any(|l| trips(l).is_none_or(|n| n > SHORT));
        pure && long && loops.len() > 1
    }

    /// The tree as it is, or its reductions and the rest.
    fn separate_tree(&mut self, tree: Tree) {
        if !self.is_worthwhile(&tree) {
            self.steps.push(Step::Tree(tree));
            return;
        }
        let at: Vec<Atom> = tree.axes.iter().map(|a| Atom::Var(a.var)).collect();
        let Tree { axes, mut body, loc, .. } = tree;
        let last = body.iter().rposition(|n| matches!(n, Node::Loop(_)));
        // What follows the last loop stays with it.
        let after = last.map(|last| body.split_off(last)).unwrap_or_default();
        let mut rest: Vec<Node> = Vec::new();
        for node in body {
            match node {
                Node::Loop(l) => {
                    let bound = self.reduction(&axes, &at, &rest, l, loc);
                    rest.extend(bound.into_iter().map(Node::Let));
                }
                node => rest.push(node),
            }
        }
        rest.extend(after);
        self.steps.push(Step::Tree(Tree::new(axes, prune(rest), loc)));
    }

    /// Adds a tree for a loop. Gives the bindings of what it folds for what follows.
    fn reduction(&mut self, axes: &[Axis], at: &[Atom], before: &[Node], l: Loop, loc: Loc) -> Vec<Let> {
        let mut body = before.to_vec();
        let mut bound = Vec::new();
        let mut stores = Vec::new();
        for fold in &l.folds {
            let elem = fold.reducer.result(self.elem(fold.value));
            let array = self.temporary(elem, axes.iter().map(|a| a.extent.clone()).collect());
            stores.push(Node::Store { array, index: at.to_vec(), value: Atom::Var(fold.result) });
            let exp = Exp::Read { array, index: at.to_vec(), checked: false };
            bound.push(Let { vars: vec![fold.result], exp, loc });
        }
        body.push(Node::Loop(l));
        body.extend(stores);
        self.steps.push(Step::Tree(Tree::new(axes.to_vec(), prune(body), loc)));
        bound
    }

    /// `result[out] = fold over the summed axes of a * b`.
    fn contract_tree(&mut self, c: &Contract) -> Tree {
        let vars: Vec<Var> = c.extents.iter().map(|_| self.fresh_var(Elem::I64)).collect();
        let axis = |k: usize| Axis { var: vars[k], extent: c.extents[k].clone() };
        let index = |axes: &[usize]| axes.iter().map(|k| Atom::Var(vars[*k])).collect::<Vec<Atom>>();
        let elem = self.arrays[c.result.0 as usize].elem;
        let [a, b, product] = [(); 3].map(|()| self.fresh_var(elem));
        let bind = |v: Var, exp: Exp| Node::Let(Let { vars: vec![v], exp, loc: c.loc });
        let read = |of: &Operand| Exp::Read {
            array: of.array,
            index: index(&of.axes_of_whole(c, &self.arrays)),
            checked: false,
        };
        let mut body = vec![
            bind(a, read(&c.a)),
            bind(b, read(&c.b)),
            bind(product, Exp::Op(Op::Mul, vec![Atom::Var(a), Atom::Var(b)])),
        ];
        let mut value = product;
        for k in (0..c.extents.len()).rev().filter(|k| !c.out.contains(k)) {
            let result = self.fresh_var(elem);
            let folds = vec![Fold { result, reducer: Reducer::Add, value: Atom::Var(value) }];
            body = vec![Node::Loop(Loop::new(axis(k), body, folds, c.loc))];
            value = result;
        }
        body.push(Node::Store { array: c.result, index: index(&c.out), value: Atom::Var(value) });
        Tree::new(c.out.iter().map(|k| axis(*k)).collect(), body, c.loc)
    }

    /// The one element of a scalar, stored.
    fn copy_tree(&mut self, array: ArrayId, source: ArrayId) -> Tree {
        let zero = || Atom::Const(Const::int(Elem::I64, 0));
        let value = self.fresh_var(self.arrays[source.0 as usize].elem);
        let read = Exp::Read { array: source, index: vec![zero(); self.rank(source)], checked: false };
        let index = vec![zero(); self.rank(array)];
        let body = vec![
            Node::Let(Let { vars: vec![value], exp: read, loc: Loc::default() }),
            Node::Store { array, index, value: Atom::Var(value) },
        ];
        Tree::new(Vec::new(), body, Loc::default())
    }
}

fn as_loop(node: &Node) -> Option<&Loop> {
    if let Node::Loop(l) = node { Some(l) } else { None }
}

/// The trips of a loop with those inside, if constant.
fn trips(l: &Loop) -> Option<i64> {
    let inside: Option<i64> =
        l.body.iter().filter_map(as_loop).map(trips).try_fold(1i64, |a, n| Some(a.max(n?)));
    Some(l.axis.extent.as_constant()?.saturating_mul(inside?))
}

/// The nodes without the bindings that nothing uses.
fn prune(nodes: Vec<Node>) -> Vec<Node> {
    let mut used: FxHashSet<Var> = FxHashSet::default();
    let mut kept: Vec<Node> = Vec::new();
    for node in nodes.into_iter().rev() {
        if matches!(&node, Node::Let(l) if !l.vars.iter().any(|v| used.contains(v))) {
            continue;
        }
        collect(std::slice::from_ref(&node), &mut used);
        kept.push(node);
    }
    kept.reverse();
    kept
}

/// Every scalar that the nodes use.
pub(super) fn collect(nodes: &[Node], used: &mut FxHashSet<Var>) {
    visit_atoms(nodes, &mut |a| used.extend(a.var()));
}
