//! Trees and loops: scalar code, what loops fold, and which elements their points write.

use std::collections::BTreeSet;

use super::super::together::{folds_are_short, in_blocks, short_in_blocks, together};
use super::super::uses::{Access, combined, places, visit_arrays};
use super::super::{
    Across, Division, Fold, Form, Home, Loop, Node, Plan, Recurrence, Rounds, Sides, Tree, Which, scratch,
};
use super::Verifier;
use crate::bulk::verify::unproven_read;
use crate::bulk::{ArrayId, ArrayInfo, Atom, Axis, Var};
use crate::dim::Dim;
use crate::ty::Elem;

impl<'a> Verifier<'a> {
    pub(super) fn tree(&mut self, step: usize, t: &'a Tree) {
        self.scope.loc(t.loc);
        self.tree = Some(step);
        let mark = self.scope.mark();
        self.parallel = t.axes.len();
        let bindings = self.scope.bindings();
        self.form(&t.axes.iter().collect::<Vec<_>>(), &t.plan, &t.body);
        self.scratch(t);
        let within = |v: &mut Self, nodes: &'a [Node]| {
            t.axes.iter().for_each(|x| v.scope.axis(x));
            v.axes = t.axes.iter().collect();
            v.nodes(nodes);
        };
        within(self, &t.body);
        self.changes_its_own(t);
        self.combines_alike(t);
        self.copies_stay(&t.body, &t.body);
        for (_, code, _) in t.plan.form.codes() {
            self.scope.leave(mark);
            self.scope.unbind(bindings);
            within(self, code);
        }
        self.scope.leave(mark);
        self.scope.unbind(bindings);
        // Of what breaks other rules nothing can be proven.
        if self.scope.errors.is_empty() {
            let unproven = self.reasons().tree(t, &mut self.checked.clone());
            for (_, a) in unproven.reads {
                self.scope.error(unproven_read(&self.arrays[a.0 as usize].name, a));
            }
            for (a, ..) in unproven.writes.into_iter().filter(|(_, _, checked)| !checked) {
                let name = self.scope.name(a);
                self.scope.error(format!("`{name}` is written without a comparison where it may be outside"));
            }
            for a in unproven.unset {
                let name = self.scope.name(a);
                self.scope.error(format!("`{name}` is read where it may not be set"));
            }
        }
        self.axes.clear();
        self.tree = None;
        for (i, info) in self.p.arrays.iter().enumerate() {
            match (&info.home, &mut self.scope.readable[i]) {
                (Home::Row { .. } | Home::Scratch, own) => *own = None,
                (_, Some(v)) => v.scalar = info.dims.is_empty(),
                (_, None) => {}
            }
        }
    }

    /// Scratch memory is there when the tree begins.
    fn scratch(&mut self, t: &'a Tree) {
        let mut all = BTreeSet::new();
        visit_arrays(&t.body, &mut |a, _| all.extend((self.home(a) == Some(&Home::Scratch)).then_some(a)));
        for a in all {
            self.belongs(a);
            if scratch::points(self.p, t, a).is_none() {
                let name = self.scope.name(a);
                self.scope.error(format!("scratch memory is not enough for `{name}`"));
            }
            self.written(a);
        }
    }

    /// An array that no other tree may use.
    fn belongs(&mut self, a: ArrayId) {
        let owner = &mut self.rows[a.0 as usize];
        if owner.is_some_and(|t| Some(t) != self.tree) {
            let name = self.scope.name(a);
            self.scope.error(format!("`{name}` is used in two trees and belongs to one"));
        }
        self.rows[a.0 as usize] = self.tree;
    }

    fn nodes(&mut self, body: &'a [Node]) {
        for node in body {
            match node {
                Node::Let(l) => self.scope.scalar_let(l),
                Node::Scan(s) => {
                    self.scope.scan(s);
                    if self.axes.len() == self.parallel {
                        self.scope.error("a scan in no loop");
                    }
                }
                Node::Loop(l) => self.sequential(l),
                Node::Recurrence(r) => self.recurrence(r),
                Node::Store { array, index, value } => {
                    self.write(*array, index, *value);
                    self.store(*array, index);
                    self.written(*array);
                }
                Node::Accumulate { array, reducer, index, value } => {
                    if let Some((info, _)) = self.scope.readable(*array) {
                        self.scope.reducer(*reducer, info.elem, true);
                    }
                    self.write(*array, index, *value);
                }
                Node::Write { array, index, value, .. } => {
                    self.scope.readable(*array);
                    self.write(*array, index, *value);
                }
            }
        }
    }

    fn recurrence(&mut self, r: &'a Recurrence) {
        self.scope.loc(r.loc);
        let (mark, outside) = (self.scope.mark(), self.axes.len());
        let mut elems = Vec::new();
        for s in &r.states {
            elems.push(self.scope.atom(s.start));
        }
        for (s, elem) in r.states.iter().zip(&elems) {
            elem.iter().for_each(|e| self.scope.bind(s.state, *e));
        }
        match &r.rounds {
            Rounds::For(a, until) => {
                until.iter().for_each(|u| self.scope.expect(*u, Elem::I64, "the end of a loop"));
                self.scope.axis(a);
                self.axes.push(a);
            }
            Rounds::While(on) => {
                if !r.states.iter().any(|s| s.state == *on) {
                    self.scope.error("a loop ends by what is no state of its");
                }
                self.scope.expect(Atom::Var(*on), Elem::Bool, "the condition of a loop");
            }
        }
        self.nodes(&r.body);
        for (s, elem) in r.states.iter().zip(&elems) {
            elem.iter().for_each(|e| self.scope.expect(s.next, *e, "the next value of a state"));
        }
        self.axes.truncate(outside);
        self.scope.leave(mark);
        for (s, elem) in r.states.iter().zip(&elems) {
            elem.iter().for_each(|e| self.scope.bind(s.result, *e));
        }
    }

    /// In recurrences elements of the point's own are changed: every access of the tree to such an array has each parallel axis at
    /// one place, the same for all.
    fn changes_its_own(&mut self, t: &'a Tree) {
        let mut changed = BTreeSet::new();
        for r in t.body.iter().filter_map(|n| if let Node::Recurrence(r) = n { Some(r) } else { None }) {
            changes(&r.body, &mut |a| changed.extend(self.p.end_of_views(a)));
        }
        let axes: BTreeSet<Var> = t.axes.iter().map(|a| a.var).collect();
        for root in changed {
            // Through a view it would be at other places.
            let is_viewed = |a: ArrayId| a != root && self.p.end_of_views(a) == Some(root);
            let mut own = true;
            visit_arrays(&t.body, &mut |a, _| own &= !is_viewed(a));
            let places: BTreeSet<Var> =
                places(&t.body, &axes, &|a| a == root).into_iter().map(|(_, v)| v).collect();
            if !own || places != axes {
                let name = self.scope.name(root);
                self.scope.error(format!("points change elements of `{name}` that are not their own"));
            }
        }
    }

    /// Copies are of one type, and combined by one operator.
    fn combines_alike(&mut self, t: &'a Tree) {
        let combined = combined(&t.body);
        let kinds: BTreeSet<_> = combined
            .iter()
            .map(|(a, r)| (r.name(), self.scope.info(*a).map(|i| i.elem.to_string())))
            .collect();
        if t.plan.division == Division::Copies && kinds.len() != 1 {
            self.scope.error("tasks combine nothing into copies, or what is not alike");
        }
    }

    fn sequential(&mut self, l: &'a Loop) {
        self.scope.loc(l.loc);
        let mark = self.scope.mark();
        self.form(&l.axes().collect::<Vec<_>>(), &l.plan, &l.body);
        if matches!(l.plan.form, Form::Few(..)) && !l.folds.is_empty() {
            self.scope.error("trips that go together, or do not, fold values");
        }
        for end in l.range.ends() {
            self.scope.expect(end, Elem::I64, "an end of a loop");
        }
        let whole = l.range.is_whole();
        if !whole && (self.stores_for_all(&l.body) || !l.merged.is_empty()) {
            self.scope.error("trips that store are left out");
        }
        if !whole && l.plan.division != Division::Undivided {
            self.scope.error("a loop in parts is divided");
        }
        // States exist before the first trip, and so does what joins them.
        let middle = l.plan.form.middle().map_or(&[][..], |m| &m.body);
        for s in l.body.iter().chain(middle).filter_map(Node::as_scan) {
            self.scope.loc(s.loc);
            for a in s.needed_before() {
                self.scope.atom(a);
            }
        }
        let (outside, bindings) = (self.axes.len(), self.scope.bindings());
        let values: Vec<Atom> = l.folds.iter().map(|f| f.value).collect();
        let mut results = self.trip(l, &l.body, &values);
        for (which, code, values) in l.plan.form.codes() {
            self.axes.truncate(outside);
            self.scope.leave(mark);
            self.scope.unbind(bindings);
            let part = self.trip(l, code, values);
            if part != results || matches!(which, Which::Away(margin) if margin < 1) {
                self.scope.error("the middle of a loop is none of it");
            }
            results = part;
        }
        self.axes.truncate(outside);
        self.scope.leave(mark);
        results.into_iter().for_each(|(v, elem)| self.scope.bind(v, elem));
    }

    /// Whether nodes store elements of other arrays than rows, of which no more has to be set than is read.
    fn stores_for_all(&self, nodes: &[Node]) -> bool {
        nodes.iter().any(|n| match n {
            Node::Store { array, .. } => !matches!(self.home(*array), Some(Home::Row { .. })),
            Node::Loop(l) => self.stores_for_all(&l.body),
            Node::Recurrence(r) => self.stores_for_all(&r.body),
            _ => false,
        })
    }

    /// A scan's state goes from trip to trip, so these are in order. In tiles the loops inside change places with the tile, of whose
    /// points each has its own folds and elements, and nothing else.
    fn form(&mut self, axes: &[&Axis], plan: &Plan, body: &[Node]) {
        let middle = plan.form.middle().map_or(&[][..], |m| &m.body);
        match &plan.form {
            Form::Together(_) => self.together(axes, body, true),
            Form::Blocks(_) => self.blocks(axes, body),
            Form::Few(..) => self.sometimes_together(axes, body, false),
            Form::Sided(s) => self.sides(s, body),
            Form::Peeled(m) if m.together.is_some() => self.sometimes_together(axes, &m.body, true),
            Form::Across(a) => {
                self.across(a, axes, body);
                return self.form(axes, &Plan { form: (*a.otherwise).clone(), ..plan.clone() }, body);
            }
            _ => {}
        }
        if plan.form == Form::Tiles || plan.division == Division::ColumnsAndTrips {
            if !body.iter().all(is_tiled) {
                self.scope.error("tiles of more than scalar code, loops and stores");
            }
        } else if plan.form != Form::Plain && body.iter().chain(middle).any(|n| n.as_scan().is_some()) {
            self.scope.error("a scan in a loop whose trips are not in order");
        }
    }

    /// Each side stores what all of the loop does.
    fn sides(&mut self, s: &Sides, body: &[Node]) {
        let stored = |nodes: &[Node]| -> Vec<ArrayId> {
            nodes
                .iter()
                .filter_map(|n| if let Node::Store { array, .. } = n { Some(*array) } else { None })
                .collect()
        };
        let is_simple =
            |nodes: &Vec<Node>| nodes.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }));
        let same = s.parts.iter().all(|p| is_simple(p) && stored(p) == stored(body));
        if s.parts.len() != s.borders.len() + 1 || !same || s.borders.is_empty() {
            self.scope.error("the sides of a loop do not make what it makes");
        }
        for b in &s.borders {
            self.scope.dim(&b.offset, "a side of a loop");
            if b.axis.is_some_and(|v| !self.axes.iter().any(|a| a.var == v)) {
                self.scope.error("a side of a loop ends at no axis around it");
            }
        }
    }

    /// Copies are made before the tree, of what it does not change. They are read where the arrays are, and nowhere else.
    fn across(&mut self, a: &Across, axes: &[&Axis], body: &[Node]) {
        if axes.len() != 1 || !body.iter().all(is_tiled) {
            self.scope.error("tiles of more than scalar code, loops and stores");
        }
        for d in &a.around {
            self.scope.dim(d, "what is around a loop");
        }
        for &array in &a.arrays {
            let Some((info, _)) = self.scope.readable(array) else { continue };
            let root = self.p.end_of_views(array);
            let home = root.and_then(|r| self.home(r));
            if info.dims.len() != 2 || !matches!(home, Some(Home::Param | Home::Heap)) {
                let name = self.scope.name(array);
                self.scope.error(format!("`{name}` has no columns to be made rows"));
            }
        }
    }

    /// Of arrays that loops of a tree read from copies the tree changes none.
    fn copies_stay(&mut self, tree: &[Node], nodes: &[Node]) {
        for n in nodes {
            match n {
                Node::Loop(l) => {
                    if let Form::Across(a) = &l.plan.form {
                        let copied: Vec<_> = a.arrays.iter().map(|x| self.p.end_of_views(*x)).collect();
                        let mut stay = true;
                        visit_arrays(tree, &mut |x, access| {
                            stay &= access == Access::Read || !copied.contains(&self.p.end_of_views(x));
                        });
                        if !stay {
                            self.scope.error("an array is changed of which copies are read");
                        }
                    }
                    let middle = l.plan.form.middle().map_or(&[][..], |m| &m.body);
                    self.copies_stay(tree, &l.body);
                    self.copies_stay(tree, middle);
                }
                Node::Recurrence(r) => self.copies_stay(tree, &r.body),
                _ => {}
            }
        }
    }

    /// Points that go together. Their loops that fold are short, or else it is asked whether they are.
    fn together(&mut self, axes: &[&Axis], body: &[Node], short: bool) {
        if together(axes.iter().copied(), body, &self.p.vars).is_none() || short && !folds_are_short(body) {
            self.scope.error("points that go together make no loop that they can make so");
        }
        let mut has_rows = false;
        visit_arrays(body, &mut |a, _| has_rows |= matches!(self.home(a), Some(Home::Row { .. })));
        if has_rows {
            self.scope.error("points that go together share a row");
        }
    }

    /// Points whose code goes together, and whose loops do not. Inside of other loops they have the row of the point around them.
    fn blocks(&mut self, axes: &[&Axis], body: &[Node]) {
        let root = |a| self.p.end_of_views(a).unwrap_or(a);
        let is_short = |a: &&Axis| short_in_blocks(a.var, body, &self.p.vars, &root).is_some();
        let is_inside = axes.first().is_some_and(is_short);
        if !is_inside && in_blocks(body, &self.p.vars).is_none() {
            self.scope.error("a block of points without functions in code for lanes");
        }
        let outside = if is_inside { self.axes.len() } else { 0 };
        let is_own = |h: &Home| match h {
            Home::Row { depth } => *depth > outside,
            h => *h == Home::Scratch,
        };
        let mut has_own = false;
        visit_arrays(body, &mut |a, _| has_own |= self.home(a).is_some_and(is_own));
        if has_own {
            self.scope.error("points in a block share a row or scratch memory");
        }
    }

    /// Points that go together at times, and alone at others: memory of their own is laid out for one of the two.
    fn sometimes_together(&mut self, axes: &[&Axis], body: &[Node], short: bool) {
        self.together(axes, body, short);
        let mut has_scratch = false;
        visit_arrays(body, &mut |a, _| has_scratch |= self.home(a) == Some(&Home::Scratch));
        if has_scratch {
            self.scope.error("points that go together at times only have scratch memory");
        }
    }

    /// The code of one trip, with the values that it folds; the results and their types.
    fn trip(&mut self, l: &'a Loop, body: &'a [Node], values: &[Atom]) -> Vec<(Var, Elem)> {
        for a in l.axes() {
            self.scope.axis(a);
            self.axes.push(a);
        }
        self.nodes(body);
        let mut results = Vec::new();
        for (Fold { result, reducer, .. }, value) in l.folds.iter().zip(values) {
            if let Some(elem) = self.scope.atom(*value) {
                self.scope.reducer(*reducer, elem, false);
                results.push((*result, reducer.result(elem)));
            }
        }
        results
    }

    /// What all writing nodes have in common.
    fn write(&mut self, a: ArrayId, index: &[Atom], value: Atom) {
        if !self.target(a) {
            return;
        }
        let Some(info) = self.scope.info(a) else { return };
        let depth = self.depth(a);
        self.scope.index(a, index, info.dims.len().saturating_sub(depth));
        let name = self.scope.name(a);
        self.scope.expect(value, info.elem, &format!("what goes into `{name}`"));
        if matches!(self.home(a), Some(Home::Row { .. })) {
            self.row(a, info, depth);
        }
    }

    /// A row array belongs to one tree, and lacks the dimensions of the axes around it.
    fn row(&mut self, a: ArrayId, info: &ArrayInfo, depth: usize) {
        let name = self.scope.name(a);
        self.belongs(a);
        let lacking = info.dims.iter().take(depth);
        if !lacking.eq(self.axes.iter().take(depth).map(|x| &x.extent)) {
            self.scope
                .error(format!("the row array `{name}` lacks other dimensions than the axes around it"));
        }
    }

    /// Which elements a `Store` writes: all of them if each index runs over its dimension, and different ones
    /// from different points of the parallel axes.
    fn store(&mut self, a: ArrayId, index: &[Atom]) {
        let Some(info) = self.scope.info(a) else { return };
        let axis = |i: &Atom| match i {
            Atom::Var(v) => self.axes.iter().find(|x| x.var == *v),
            Atom::Const(_) => None,
        };
        let one = Dim::constant(1);
        let known = index.iter().all(|i| axis(i).is_some() || matches!(i, Atom::Const(_)));
        let mut parallel = self.axes[..self.parallel].iter().filter(|x| x.extent != one);
        let several = known && parallel.any(|x| !index.contains(&Atom::Var(x.var)));
        let dims = info.dims.get(self.depth(a)..).unwrap_or_default();
        if self.covers.store(a, dims, index, &self.axes) {
            self.cover(a);
        }
        if several && !matches!(self.home(a), Some(Home::Row { .. })) {
            let name = self.scope.name(a);
            self.scope
                .error(format!("several points of the parallel axes store to the same element of `{name}`"));
        }
    }
}

/// Whether a node may stand in tiles.
fn is_tiled(n: &Node) -> bool {
    match n {
        Node::Let(_) | Node::Store { .. } => true,
        Node::Loop(l) => l.body.iter().all(is_tiled),
        Node::Scan(_) | Node::Recurrence(_) | Node::Accumulate { .. } | Node::Write { .. } => false,
    }
}

/// Calls `f` with every array that is written or combined into at computed places.
fn changes(nodes: &[Node], f: &mut impl FnMut(ArrayId)) {
    for n in nodes {
        match n {
            Node::Loop(l) => changes(&l.body, f),
            Node::Recurrence(r) => changes(&r.body, f),
            Node::Accumulate { array, .. } | Node::Write { array, .. } => f(*array),
            Node::Let(_) | Node::Scan(_) | Node::Store { .. } => {}
        }
    }
}
