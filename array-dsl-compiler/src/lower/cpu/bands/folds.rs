//! Folds over rows: sums of which every band has a part.
//!
//! ```text
//! before   par j < m { for i < n { x = t[i, j] } fold s = add x;   y[j] = f(s) }
//! in bands par j < m { for i < rows { x = t'[i, j] } fold s' = add x;   part[j] = s' }        adding (part for s)
//! after    par j < m { s = s[j];   y[j] = f(s) }
//! ```
//!
//! What the loop needs of the code before it is computed in bands as well.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::member::{Member, Role};
use super::rows::{Access, accesses, fails, indexes_apart, is_row};
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Reducer, Var};
use crate::dim::Dim;
use crate::loops::touched::Touched;
use crate::loops::uses::{bound, visit_atoms};
use crate::loops::{Home, Loop, Node, Program, Tree};

/// A tree as one of folds over rows, some of which others in bands make.
pub(super) fn member(p: &Program, total: &Dim, rows: &BTreeSet<ArrayId>, t: &Tree) -> Option<Member> {
    let folds = folds(p, total, rows, t)?;
    let mut m = Member::new(Role::Folds);
    let mut own = BTreeSet::new();
    for f in &folds {
        let (Touched { reads, .. }, made) = f.touches(p);
        m.needs.extend(reads);
        own.extend(made.iter().filter(|a| is_private(p, **a)));
        m.makes.extend(made.into_iter().filter(|a| !is_private(p, *a)));
        for (a, access, index) in accesses(&f.l.body)? {
            let is_read = access == Access::Read && !m.makes.contains(&a);
            m.reads.extend((is_read && is_row(p, total, a, &index, f.l.axis.var)).then_some(a));
        }
    }
    m.needs.extend(t.axes.iter().flat_map(|a| scalars(&a.extent)).map(|a| p.root(a)));
    let rest = without(&t.body, &folds.iter().map(|f| f.l.axis.var).collect());
    m.fails = folds.iter().any(|f| fails(p, &f.l.body));
    // Of two failures the first is told: loops are one after the other only where nothing is around them.
    if m.fails && (!t.axes.is_empty() || folds.iter().any(|f| !f.around.is_empty()) || fails(p, &rest)) {
        return None;
    }
    m.after = Touched::of_tree(p, &Tree::new(t.axes.clone(), rest, t.loc));
    m.folds = folds;
    // What the loops hand on to themselves nothing else has, of what they make rows the rest has none, and they need nothing that the
    // rest, which comes after them, makes.
    let apart = !own.iter().chain(&m.makes).any(|a| m.after.has(a));
    (apart && m.needs.is_disjoint(&m.after.changes)).then_some(m)
}

/// Whether an array belongs to its tree.
fn is_private(p: &Program, a: ArrayId) -> bool {
    matches!(p.arrays[a.0 as usize].home, Home::Row { .. })
}

/// A loop that folds over rows, and what is around it.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    pub l: Loop,
    /// The axes of loops around it, beside those of the tree.
    pub around: Vec<Axis>,
    /// What it needs of the code before it.
    pub before: Vec<Let>,
}

impl Fold {
    /// The memory it uses, and the arrays it stores to.
    fn touches(&self, p: &Program) -> (Touched, BTreeSet<ArrayId>) {
        let mut nodes: Vec<Node> = self.before.iter().cloned().map(Node::Let).collect();
        nodes.push(Node::Loop(self.l.clone()));
        let mut touched = Touched::of_nodes(p, &nodes);
        touched.reads.extend(self.around.iter().flat_map(|a| scalars(&a.extent)).map(|a| p.root(a)));
        let made = touched.changes.clone();
        touched.reads.retain(|a| !made.contains(a));
        (touched, made)
    }
}

/// The loops of a tree over rows that use some which others in bands make; `None` if it uses these otherwise.
fn folds(p: &Program, total: &Dim, rows: &BTreeSet<ArrayId>, t: &Tree) -> Option<Vec<Fold>> {
    let mut find = Find { p, total, rows, t, around: Vec::new(), before: Vec::new(), found: Vec::new() };
    let all = find.nodes(&t.body);
    (all && !find.found.is_empty()).then_some(find.found)
}

struct Find<'t, 'a> {
    p: &'a Program,
    total: &'a Dim,
    rows: &'a BTreeSet<ArrayId>,
    t: &'t Tree,
    around: Vec<Axis>,
    /// The code before, by the loops around.
    before: Vec<&'t Let>,
    found: Vec<Fold>,
}

impl<'t> Find<'t, '_> {
    /// Whether what some nodes use of other steps' rows they use in folds.
    fn nodes(&mut self, nodes: &'t [Node]) -> bool {
        let before = self.before.len();
        let all = nodes.iter().all(|n| self.node(n));
        self.before.truncate(before);
        all
    }

    fn node(&mut self, n: &'t Node) -> bool {
        let touched = Touched::of_nodes(self.p, std::slice::from_ref(n));
        if touched.reads.is_disjoint(self.rows) && touched.changes.is_disjoint(self.rows) {
            self.before.extend(if let Node::Let(l) = n { Some(l) } else { None });
            return true;
        }
        let Node::Loop(l) = n else { return false };
        if l.axis.extent == *self.total && l.merged.is_empty() {
            return self.fold(l);
        }
        let outside = self.around.len();
        self.around.extend(l.axes().cloned());
        let all = self.nodes(&l.body);
        self.around.truncate(outside);
        all
    }

    fn fold(&mut self, l: &'t Loop) -> bool {
        let counter = l.axis.var;
        let is_sum =
            |f: &crate::loops::Fold| f.reducer == Reducer::Add && self.p.vars[f.result.0 as usize].is_float();
        let body = &l.body;
        if l.folds.is_empty()
            || !l.folds.iter().all(is_sum)
            || l.is_ordered()
            || !l.range.is_whole()
            || !indexes_apart(self.p, self.total, body, counter)
        {
            return false;
        }
        let Some(all) = accesses(body) else { return false };
        let alone = self.t.axes.is_empty() && self.around.is_empty();
        let fits = |(a, access, index): &(ArrayId, Access, Vec<Atom>)| {
            let is_row = is_row(self.p, self.total, *a, index, counter);
            match access {
                Access::Read => !self.rows.contains(&self.p.root(*a)) || is_row && self.p.root(*a) == *a,
                Access::Write if is_private(self.p, *a) => true,
                Access::Write => alone && is_row && self.p.arrays[a.0 as usize].home == Home::Heap,
                Access::Combine { .. } => false,
            }
        };
        if !all.iter().all(fits) {
            return false;
        }
        let Some(before) = self.needed(l) else { return false };
        self.found.push(Fold { l: l.clone(), around: self.around.clone(), before });
        true
    }

    /// The code before that a loop needs, if it is nothing but arithmetic and elements of arrays that are there.
    fn needed(&self, l: &Loop) -> Option<Vec<Let>> {
        let mut needs = FxHashSet::default();
        visit_atoms(&l.body, &mut |a| needs.extend(a.var()));
        let inside: FxHashSet<Var> = bound(&l.body);
        let known: FxHashSet<Var> =
            self.t.axes.iter().chain(&self.around).chain([&l.axis]).map(|a| a.var).collect();
        let mut picked = Vec::new();
        let mut bound_here: FxHashSet<Var> = inside.union(&known).copied().collect();
        for b in self.before.iter().rev() {
            if b.vars.iter().any(|v| needs.contains(v)) {
                let code = [Node::Let((*b).clone())];
                let touched = Touched::of_nodes(self.p, &code);
                let rows = touched.reads.iter().any(|a| is_private(self.p, *a));
                if rows || b.may_fail(&self.p.vars) {
                    return None;
                }
                visit_atoms(&code, &mut |a| needs.extend(a.var()));
                bound_here.extend(bound(&code));
                picked.push((*b).clone());
            }
        }
        picked.reverse();
        needs.iter().all(|v| bound_here.contains(v)).then_some(picked)
    }
}

/// Nodes without the loops that these scalars count.
fn without(nodes: &[Node], counters: &FxHashSet<Var>) -> Vec<Node> {
    let kept = nodes.iter().filter(|n| !matches!(n, Node::Loop(l) if counters.contains(&l.axis.var)));
    let inside = |n: &Node| match n {
        Node::Loop(l) => Node::Loop(Loop { body: without(&l.body, counters), ..l.clone() }),
        n => n.clone(),
    };
    kept.map(inside).collect()
}

/// Nodes that read the sums of these loops, by what counts their trips: arrays of an element for each execution.
pub(super) fn reading(
    nodes: Vec<Node>,
    sums: &FxHashMap<Var, Vec<ArrayId>>,
    around: &mut Vec<Axis>,
) -> Vec<Node> {
    let mut out = Vec::new();
    for n in nodes {
        match n {
            Node::Loop(l) if sums.contains_key(&l.axis.var) => {
                let index: Vec<Atom> = around.iter().map(|a| Atom::Var(a.var)).collect();
                for (f, array) in l.folds.iter().zip(&sums[&l.axis.var]) {
                    let exp = Exp::Read { array: *array, index: index.clone(), checked: false };
                    out.push(Node::Let(Let { vars: vec![f.result], exp, loc: l.loc }));
                }
            }
            Node::Loop(l) => {
                let outside = around.len();
                around.extend(l.axes().cloned());
                let body = reading(l.body, sums, around);
                around.truncate(outside);
                out.push(Node::Loop(Loop { body, ..l }));
            }
            n => out.push(n),
        }
    }
    out
}
