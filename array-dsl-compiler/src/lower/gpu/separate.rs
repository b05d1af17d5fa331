//! Rewrites a scheduled program for the runtime's steps.
//!
//! * A tree whose loop folds something that the tree then goes on to use is a reduction with an epilogue. On a GPU the
//!   reduction wants many threads per point, so it becomes a tree of its own with a temporary array:
//!
//!   ```text
//!   tree [i] { m = fold over j of x[i, j]; store y[i] = f(m) }
//!       becomes   tree [i] { m = fold ..; store t[i] = m }     tree [i] { m = t[i]; store y[i] = f(m) }
//!   ```
//!
//!   With axes this is done for a single fold (more would each pass over the data again, which pays only when there are
//!   few points); without axes for all of them, since otherwise one thread would do everything.
//! * The place of an extremum becomes two reductions: the extremum, and the first place that has it. Both must see the same
//!   bits, which two shaders that compute the same formula need not give. So values that are computed are stored first;
//!   with axes, where that would be an array of one more dimension, only values that are just read are treated so.
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
        let one_fold = match (loops.as_slice(), loops[0].folds.as_slice()) {
            ([_], [fold]) if fold.reducer.op().is_some() || is_copy(&loops[0].body) => Some(fold),
            _ => None,
        };
        let alone =
            one_fold.is_some_and(|f| f.reducer.op().is_some() && self.is_stored(tree, last, f.result));
        pure && long && !alone && (tree.axes.is_empty() || one_fold.is_some())
    }

    /// Whether all that follows the loop is one store of its result, point by point.
    fn is_stored(&self, tree: &Tree, last: usize, result: Var) -> bool {
        let [Node::Store { array, index, value }] = &tree.body[last + 1..] else { return false };
        let axes = || tree.axes.iter();
        *value == Atom::Var(result)
            && index.iter().copied().eq(axes().map(|a| Atom::Var(a.var)))
            && self.arrays[array.0 as usize].dims.iter().eq(axes().map(|a| &a.extent))
    }

    /// The tree as it is, or its reductions and the rest.
    fn separate_tree(&mut self, tree: Tree) {
        if !self.is_worthwhile(&tree) {
            self.steps.push(Step::Tree(tree));
            return;
        }
        let at: Vec<Atom> = tree.axes.iter().map(|a| Atom::Var(a.var)).collect();
        let Tree { axes, body, loc, .. } = tree;
        let mut rest: Vec<Node> = Vec::new();
        for node in body {
            let Node::Loop(l) = node else {
                rest.push(node);
                continue;
            };
            for fold in &l.folds {
                let base = Reducing { axes: &axes, at: &at, loc, before: &rest, l: &l };
                let bound = match fold.reducer.op() {
                    Some(_) => vec![self.reduction(&base, fold.clone())],
                    None => self.extremum(&base, fold),
                };
                rest.extend(bound.into_iter().map(Node::Let));
            }
        }
        self.steps.push(Step::Tree(Tree::new(axes, rest, loc)));
    }

    /// Adds a tree for one fold of a loop. Gives the binding of the fold's result for what follows.
    fn reduction(&mut self, base: &Reducing<'_>, fold: Fold) -> Let {
        let elem = fold.reducer.result(self.elem(fold.value));
        let array = self.temporary(elem, base.axes.iter().map(|a| a.extent.clone()).collect());
        let store = Node::Store { array, index: base.at.to_vec(), value: Atom::Var(fold.result) };
        let result = fold.result;
        let mut body = base.before.to_vec();
        body.push(Node::Loop(Loop { folds: vec![fold], ..base.l.clone() }));
        body.push(store);
        let body = prune(body);
        self.steps.push(Step::Tree(Tree::new(base.axes.to_vec(), body, base.loc)));
        let exp = Exp::Read { array, index: base.at.to_vec(), checked: false };
        Let { vars: vec![result], exp, loc: base.loc }
    }

    /// The place of an extremum: `best = min x`, then the least `i` with `x[i] = best`; 0 if there is none.
    fn extremum(&mut self, base: &Reducing<'_>, fold: &Fold) -> Vec<Let> {
        let elem = self.elem(fold.value);
        let stored;
        let base = if is_copy(&base.l.body) {
            base
        } else {
            stored = self.stored(base, fold.value);
            &Reducing { before: &[], l: &stored, ..*base }
        };
        let reducer = if fold.reducer == Reducer::ArgMin { Reducer::Min } else { Reducer::Max };
        let best = self.fresh_var(elem);
        let best = self.reduction(base, Fold { result: best, reducer, value: fold.value });

        // Numbers of trips are short.
        let none = Atom::Const(Const::int(Elem::I32, i32::MAX.into()));
        let [is_best, number, place] = [Elem::Bool, Elem::I32, Elem::I32].map(|elem| self.fresh_var(elem));
        let mut l = base.l.clone();
        let bind = |v: Var, exp: Exp| Let { vars: vec![v], exp, loc: base.l.loc };
        let equal = Exp::Op(Op::Eq, vec![fold.value, Atom::Var(best.vars[0])]);
        let short = Exp::Op(Op::Cast(Elem::I32), vec![Atom::Var(l.axis.var)]);
        let select = Exp::Op(Op::Select, vec![Atom::Var(is_best), Atom::Var(number), none]);
        l.body.extend([bind(is_best, equal), bind(number, short), bind(place, select)].map(Node::Let));
        let mut before = base.before.to_vec();
        before.push(Node::Let(best.clone()));
        let first = self.fresh_var(Elem::I32);
        let second = Reducing { before: &before, l: &l, ..*base };
        let first_let =
            self.reduction(&second, Fold { result: first, reducer: Reducer::Min, value: Atom::Var(place) });

        let [found, or_zero] = [Elem::Bool, Elem::I32].map(|elem| self.fresh_var(elem));
        let zero = Atom::Const(Const::int(Elem::I32, 0));
        vec![
            best,
            first_let,
            bind(found, Exp::Op(Op::Ne, vec![Atom::Var(first), none])),
            bind(or_zero, Exp::Op(Op::Select, vec![Atom::Var(found), Atom::Var(first), zero])),
            bind(fold.result, Exp::Op(Op::Cast(Elem::I64), vec![Atom::Var(or_zero)])),
        ]
    }

    /// Adds a tree that stores the value of each trip of a loop. Gives the loop that reads them.
    fn stored(&mut self, base: &Reducing<'_>, value: Atom) -> Loop {
        let axes: Vec<Axis> = base.axes.iter().chain([&base.l.axis]).cloned().collect();
        let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let elem = self.elem(value);
        let array = self.temporary(elem, axes.iter().map(|a| a.extent.clone()).collect());
        let mut body = base.before.to_vec();
        body.extend(base.l.body.iter().cloned());
        body.push(Node::Store { array, index: index.clone(), value });
        self.steps.push(Step::Tree(Tree::new(axes, prune(body), base.loc)));
        let read = Exp::Read { array, index, checked: false };
        let bound = match value {
            Atom::Var(v) => vec![Node::Let(Let { vars: vec![v], exp: read, loc: base.l.loc })],
            Atom::Const(_) => Vec::new(),
        };
        Loop { body: bound, ..base.l.clone() }
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

/// Where a reduction comes from: the tree's axes, the code before the loop, and the loop.
#[derive(Clone, Copy)]
struct Reducing<'t> {
    axes: &'t [Axis],
    at: &'t [Atom],
    loc: Loc,
    before: &'t [Node],
    l: &'t Loop,
}

fn as_loop(node: &Node) -> Option<&Loop> {
    if let Node::Loop(l) = node { Some(l) } else { None }
}

/// Whether the nodes compute no floats, so that every shader gets the same bits.
fn is_copy(nodes: &[Node]) -> bool {
    nodes.iter().all(|n| matches!(n, Node::Let(Let { exp: Exp::Read { .. } | Exp::Size(_), .. })))
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
