//! How great the integers can be that a program computes: with such a bound the host plans for a size that only the device knows.
//!
//! What is here is proven, and anything else has no bound:
//!
//! ```text
//! sum over i < n of (0 or 1)      0 ..= n        what `filter` keeps, `count`
//! place of an extremum of n       0 ..= n
//! size n, n a sum of products without negative coefficients of sizes and of what is bounded        0 ..= n
//! min(a, b)                       both are at least 0: the bound of one of them
//! ```
//!
//! An extent may be negative and then counts as 0, which the runtime does with the bound as well.

use rustc_hash::FxHashMap;

use super::narrow::{Interval, intervals};
use crate::bulk::{ArrayId, Atom, Exp, Let, Reducer, Var};
use crate::dim::{Dim, SizeAtom};
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Loop, Node, Program, Step, no_bands};
use crate::scalar::Op;
use crate::ty::Elem;

/// Finds for integers of rank 0 that one step computes what they are at most; they are not negative.
pub fn bounds(p: &mut Program) {
    let mut writers = FxHashMap::default();
    count_writers(p, &p.steps, &mut writers);
    let intervals = intervals(p, &[]);
    let mut found = Found { p, intervals, writers, vars: FxHashMap::default(), arrays: FxHashMap::default() };
    found.steps(&p.steps);
    let bound = |k: u32| found.arrays.get(&p.root(ArrayId(k))).cloned();
    let most: Vec<Option<Dim>> = (0..p.arrays.len() as u32).map(bound).collect();
    for (info, most) in p.arrays.iter_mut().zip(most) {
        info.most = most;
    }
}

/// By array, how many steps write it.
fn count_writers(p: &Program, steps: &[Step], writers: &mut FxHashMap<ArrayId, usize>) {
    let mut wrote = |a: ArrayId| *writers.entry(p.root(a)).or_default() += 1;
    for step in steps {
        match step {
            Step::Tree(t) => visit_arrays(&t.body, &mut |a, access| {
                if access != Access::Read {
                    wrote(a);
                }
            }),
            Step::Contract(c) => wrote(c.result),
            Step::Fill { array, .. } | Step::Copy { array, .. } => wrote(*array),
            // The source may change where it has gone.
            Step::Move { array, source } => [*array, *source].into_iter().for_each(&mut wrote),
            Step::Sort(s) => wrote(s.result),
            Step::Call(c) => c.results.iter().copied().for_each(&mut wrote),
            Step::Repeat(r) => {
                r.carried.iter().flat_map(|c| [c.arrays.state, c.arrays.result]).for_each(&mut wrote);
            }
            Step::Bands(_) => no_bands(),
            Step::Check(..) => {}
        }
    }
    for step in steps {
        if let Step::Repeat(r) = step {
            count_writers(p, &r.steps, writers);
        }
    }
}

struct Found<'p> {
    p: &'p Program,
    intervals: Vec<Interval>,
    writers: FxHashMap<ArrayId, usize>,
    vars: FxHashMap<Var, Dim>,
    /// By root.
    arrays: FxHashMap<ArrayId, Dim>,
}

impl Found<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Tree(t) if t.axes.is_empty() => t.body.iter().for_each(|n| self.node(n)),
                Step::Repeat(r) => self.steps(&r.steps),
                _ => {}
            }
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Let(l) => self.bind(l),
            Node::Loop(l) => {
                for fold in &l.folds {
                    if let Some(bound) = self.folded(l, fold.reducer, fold.value) {
                        self.vars.insert(fold.result, bound);
                    }
                }
            }
            Node::Store { array, index, value } if index.is_empty() => {
                let root = self.p.root(*array);
                let once = self.writers.get(&root) == Some(&1);
                if let Some(bound) = self.of(*value).filter(|_| once) {
                    self.arrays.insert(root, bound);
                }
            }
            Node::Scan(_)
            | Node::Recurrence(_)
            | Node::Store { .. }
            | Node::Accumulate { .. }
            | Node::Write { .. } => {}
        }
    }

    fn bind(&mut self, l: &Let) {
        let bound = match &l.exp {
            Exp::Read { array, index, .. } if index.is_empty() => {
                self.arrays.get(&self.p.root(*array)).cloned()
            }
            Exp::Size(dim) if self.is_natural(dim) => Some(dim.clone()),
            Exp::Op(Op::Cast(Elem::I64), args) => args.first().and_then(|a| self.of(*a)),
            Exp::Op(Op::Min, args) => match args.as_slice() {
                [a, b] => self.of(*a).zip(self.of(*b)).map(|(a, _)| a),
                _ => None,
            },
            _ => None,
        };
        if let (Some(bound), [v]) = (bound, l.vars.as_slice()) {
            self.vars.insert(*v, bound);
        }
    }

    fn of(&self, a: Atom) -> Option<Dim> {
        if let Atom::Var(v) = a { self.vars.get(&v).cloned() } else { None }
    }

    /// The bound of what a loop folds.
    fn folded(&self, l: &Loop, reducer: Reducer, value: Atom) -> Option<Dim> {
        let extent = &l.axis.extent;
        match (reducer, value) {
            (Reducer::ArgMin | Reducer::ArgMax, _) => Some(extent.clone()),
            (Reducer::Add, Atom::Var(v)) if self.intervals[v.0 as usize].is_flag() => Some(extent.clone()),
            (Reducer::Add, Atom::Var(v)) => {
                // The sum of what a loop inside sums up.
                let inner = l.body.iter().find_map(|n| match n {
                    Node::Loop(inner) => inner.folds.iter().find(|f| f.result == v).map(|f| (inner, f)),
                    _ => None,
                });
                let (inner, fold) = inner.filter(|(_, f)| f.reducer == Reducer::Add)?;
                Some(extent.mul(&self.folded(inner, fold.reducer, fold.value)?))
            }
            _ => None,
        }
    }

    /// Whether a size is never negative.
    fn is_natural(&self, dim: &Dim) -> bool {
        dim.terms().all(|(monomial, coefficient)| {
            coefficient >= 0
                && monomial.iter().all(|atom| match atom {
                    SizeAtom::Name(_) => true,
                    SizeAtom::Scalar(s) => self.arrays.contains_key(&self.p.root(ArrayId(*s))),
                })
        })
    }
}
