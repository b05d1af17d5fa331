//! The rules of Loops, as in the header of `loops`:
//!
//! * scalar code follows the rules of Bulk; what a loop folds is bound after it; what its scans need is bound before it;
//! * an array is read after it is written: by an earlier step, or by an earlier node of the tree; dimensions and
//!   extents mention only scalars that earlier steps wrote;
//! * every `Heap` array is written whole by a `Fill`, a `Copy`, a contraction or a `Store` indexed by axes that cover
//!   it, and `Accumulate` and `Write` come after that;
//! * two points of the parallel axes never store to the same element;
//! * a `Row` array belongs to one tree, whose first axes are the dimensions it lacks;
//! * a chain of views ends in a `Param` or `Heap` array; a view is used after the checks that make it one of as many elements;
//!   nothing refers to a `Nowhere` array;
//! * a read that is not compared with its array's dimensions has a reason to be inside (`affine`);
//! * the middle of a loop is code of the same form, with the results of the whole.

mod reasons;
mod routines;

use self::reasons::Reasons;
use super::print::types;
use super::{Fold, Home, Loop, Node, Program, Repeat, Step, Tree};
use crate::Verified;
use crate::affine::Checked;
use crate::bulk::verify::{Scope, Visible, same_product, unproven_read};
use crate::bulk::{ArrayId, ArrayInfo, Atom, Axis, Exp, Let, Trips, Var};
use crate::dim::Dim;
use crate::ty::Elem;

/// The program as one the back ends take, or every rule it breaks.
pub fn verify(p: Program) -> Result<Verified<Program>, Vec<String>> {
    let errors = check(&p);
    if errors.is_empty() { Ok(Verified::new(p)) } else { Err(errors) }
}

/// Every rule the program breaks.
pub fn check(p: &Program) -> Vec<String> {
    let arrays = types(p);
    let scope = Scope::new(&arrays, &p.vars, &p.sizes, p.places.len());
    let count = arrays.len();
    let mut v = Verifier {
        p,
        scope,
        arrays: &arrays,
        checked: Checked::default(),
        axes: Vec::new(),
        parallel: 0,
        covered: vec![false; count],
        count: 0,
        tree: None,
        rows: vec![None; count],
    };
    v.program();
    v.scope.errors
}

struct Verifier<'a> {
    p: &'a Program,
    scope: Scope<'a>,
    arrays: &'a [ArrayInfo],
    /// What the steps before have established.
    checked: Checked,
    /// The axes around the current node, outermost first; the first `parallel` are the tree's.
    axes: Vec<&'a Axis>,
    parallel: usize,
    /// Whether some step or node writes the whole array.
    covered: Vec<bool>,
    /// Steps so far.
    count: usize,
    /// The current tree, by its place among the steps.
    tree: Option<usize>,
    /// The tree that uses a row array.
    rows: Vec<Option<usize>>,
}

impl<'a> Verifier<'a> {
    fn program(&mut self) {
        let p = self.p;
        let params: Vec<ArrayId> = p.params.iter().flat_map(|p| p.arrays.leaves()).copied().collect();
        for a in &params {
            if self.scope.info(*a).is_some() && self.home(*a) != Some(&Home::Param) {
                let name = self.scope.name(*a);
                self.scope.error(format!("parameter `{name}` does not live in a parameter's memory"));
            }
            self.written(*a);
        }
        params.iter().for_each(|a| self.dims(*a));
        self.homes(&params);
        self.steps(&p.steps);
        for (i, info) in p.arrays.iter().enumerate() {
            if info.home == Home::Heap && !self.covered[i] {
                self.scope.error(format!("`{}.{i}` is not written whole", info.name));
            }
        }
        for a in p.result.leaves() {
            if self.scope.readable(*a).is_some() && matches!(self.home(*a), Some(Home::Row { .. })) {
                let name = self.scope.name(*a);
                self.scope.error(format!("`{name}` is a result and lives in a row"));
            }
        }
    }

    fn steps(&mut self, steps: &'a [Step]) {
        for step in steps {
            self.count += 1;
            match step {
                Step::Tree(t) => self.tree(self.count, t),
                Step::Move { array, source } => {
                    let (to, from) = (self.scope.info(*array), self.scope.readable(*source));
                    if let (Some(to), Some((from, _))) = (to, from)
                        && (to.elem != from.elem || to.dims != from.dims || !self.on_heap(*source))
                    {
                        self.scope.error(format!("`{}` cannot take the memory of `{}`", to.name, from.name));
                    }
                    self.whole(*array);
                    // Nobody reads it any more.
                    if let Some(readable) = self.scope.readable.get_mut(source.0 as usize) {
                        *readable = None;
                    }
                }
                Step::Repeat(r) => self.repeat(r),
                Step::Sort(s) => {
                    self.sort(s);
                    self.whole(s.result);
                }
                Step::Contract(c) => {
                    self.contract(c);
                    self.whole(c.result);
                }
                Step::Check(c, loc) => {
                    self.scope.loc(*loc);
                    self.scope.check(c);
                }
                Step::Fill { array, value } => {
                    if let Some(info) = self.scope.info(*array) {
                        let name = self.scope.name(*array);
                        self.scope.expect(Atom::Const(*value), info.elem, &format!("what fills `{name}`"));
                    }
                    self.whole(*array);
                }
                Step::Copy { array, source } => {
                    let (to, from) = (self.scope.info(*array), self.scope.readable(*source));
                    if let (Some(to), Some((from, _))) = (to, from)
                        && (to.elem != from.elem || to.dims != from.dims)
                    {
                        self.scope.error(format!(
                            "`{}` is a copy of `{}`, which has another type",
                            to.name, from.name
                        ));
                    }
                    self.whole(*array);
                }
            }
            if self.scope.errors.is_empty() {
                let mut checked = std::mem::take(&mut self.checked);
                self.reasons().step(step, &mut checked);
                self.checked = checked;
            }
            if let Step::Check(..) = step {
                self.views();
            }
        }
    }

    fn reasons(&self) -> Reasons<'a> {
        Reasons { p: self.p, arrays: self.arrays }
    }

    fn repeat(&mut self, r: &'a Repeat) {
        self.scope.loc(r.loc);
        for c in &r.carried {
            self.scope.readable(c.arrays.start);
        }
        if let Trips::For(_, count) = &r.trips {
            self.scope.dim(count, "the trips of a loop");
        }
        for c in &r.carried {
            if c.takes.0
                && let Some(readable) = self.scope.readable.get_mut(c.arrays.start.0 as usize)
            {
                *readable = None;
            }
        }
        let outside = (self.scope.readable.clone(), self.checked.clone());
        if self.scope.errors.is_empty() {
            self.checked = self.reasons().inside(r, &self.checked);
        }
        if let Trips::For(index, _) = &r.trips {
            self.whole(*index);
        }
        for c in &r.carried {
            self.whole(c.arrays.state);
        }
        self.steps(&r.steps);
        for c in &r.carried {
            self.scope.readable(c.arrays.next);
        }
        (self.scope.readable, self.checked) = outside;
        for c in &r.carried {
            if self.home(c.arrays.result) != Some(&Home::View(c.arrays.state)) {
                let name = self.scope.name(c.arrays.result);
                self.scope.error(format!("`{name}` is no view of its state"));
            }
            self.written(c.arrays.state);
        }
    }

    fn on_heap(&self, a: ArrayId) -> bool {
        self.p.end_of_views(a).and_then(|r| self.home(r)) == Some(&Home::Heap)
    }

    fn home(&self, a: ArrayId) -> Option<&'a Home> {
        self.p.arrays.get(a.0 as usize).map(|i| &i.home)
    }

    /// The rules of homes that do not depend on the steps.
    fn homes(&mut self, params: &[ArrayId]) {
        for (i, info) in self.p.arrays.iter().enumerate() {
            let id = ArrayId(i as u32);
            let name = self.scope.name(id);
            match &info.home {
                Home::Param if !params.contains(&id) => self.scope.error(format!("`{name}` is no parameter")),
                Home::Row { depth } if *depth > info.dims.len() => {
                    self.scope.error(format!("`{name}` lacks {depth} dimensions of {}", info.dims.len()));
                }
                Home::View(of) => match self.p.end_of_views(id).map(|r| (r, self.home(r))) {
                    Some((_, Some(Home::Param | Home::Heap))) => {
                        let of = &self.p.arrays[of.0 as usize];
                        if of.elem != info.elem {
                            self.scope.error(format!("`{name}` of {} is a view of {}", info.elem, of.elem));
                        }
                    }
                    _ => self.scope.error(format!("`{name}` is a view of nothing in memory")),
                },
                _ => {}
            }
        }
    }

    fn dims(&mut self, a: ArrayId) {
        let Some(info) = self.scope.info(a) else { return };
        let name = self.scope.name(a);
        info.dims.iter().for_each(|d| self.scope.dim(d, &format!("a dimension of `{name}`")));
    }

    /// How many dimensions indices do not mention.
    fn depth(&self, a: ArrayId) -> usize {
        if let Some(Home::Row { depth }) = self.home(a) { *depth } else { 0 }
    }

    /// Whether it is established that a view has as many elements as the memory that it views.
    fn is_whole(&self, a: ArrayId) -> bool {
        match self.p.arrays.get(a.0 as usize).map(|info| (info, &info.home)) {
            Some((info, Home::View(of))) => {
                let viewed = self.p.arrays.get(of.0 as usize);
                let same = |v: &super::ArrayInfo| same_product(&info.dims, &v.dims, self.checked.checks());
                viewed.is_some_and(same) && self.is_whole(*of)
            }
            _ => true,
        }
    }

    /// From here on those views may be read whose number of elements has just been checked.
    fn views(&mut self) {
        for i in 0..self.p.arrays.len() {
            let id = ArrayId(i as u32);
            let memory = self.p.end_of_views(id).filter(|r| *r != id);
            if let Some(memory) = memory
                && self.scope.readable[i].is_none()
                && self.scope.readable[memory.0 as usize].is_some()
            {
                self.written(memory);
            }
        }
    }

    /// From here on the array may be read, and with it what shares its memory.
    fn written(&mut self, a: ArrayId) {
        let memory = self.p.end_of_views(a);
        for (i, info) in self.p.arrays.iter().enumerate() {
            let id = ArrayId(i as u32);
            if memory.is_some() && self.p.end_of_views(id) == memory && self.is_whole(id) {
                let indices = info.dims.len().saturating_sub(self.depth(id));
                // What the tree at hand writes is no host-level scalar before the tree's end.
                let known = self.scope.readable[i].is_some_and(|v| v.scalar);
                let scalar = info.dims.is_empty() && (known || self.tree.is_none());
                self.scope.readable[i] = Some(Visible { indices, scalar });
            }
        }
    }

    /// A step writes every element.
    fn whole(&mut self, a: ArrayId) {
        if self.target(a) && matches!(self.home(a), Some(Home::Row { .. })) {
            let name = self.scope.name(a);
            self.scope.error(format!("a step writes the row array `{name}`"));
        }
        self.cover(a);
        self.written(a);
    }

    fn cover(&mut self, a: ArrayId) {
        if let Some(c) = self.p.end_of_views(a).and_then(|r| self.covered.get_mut(r.0 as usize)) {
            *c = true;
        }
    }

    /// Whether the array can be written, with its dimensions known.
    fn target(&mut self, a: ArrayId) -> bool {
        if self.scope.info(a).is_none() {
            return false;
        }
        let memory = self.p.end_of_views(a).and_then(|r| self.home(r));
        let ok = matches!(memory, Some(Home::Heap | Home::Row { .. }));
        if ok {
            self.dims(a);
        } else {
            let name = self.scope.name(a);
            self.scope.error(format!("`{name}` is written but has no memory of its own"));
        }
        ok
    }

    fn tree(&mut self, step: usize, t: &'a Tree) {
        self.scope.loc(t.loc);
        self.tree = Some(step);
        let mark = self.scope.mark();
        self.parallel = t.axes.len();
        let bindings = self.scope.bindings();
        let within = |v: &mut Self, nodes: &'a [Node]| {
            t.axes.iter().for_each(|x| v.scope.axis(x));
            v.axes = t.axes.iter().collect();
            v.nodes(nodes);
        };
        within(self, &t.body);
        if let Some(m) = t.plan.form.middle() {
            self.scope.leave(mark);
            self.scope.unbind(bindings);
            within(self, &m.body);
        }
        self.scope.leave(mark);
        self.scope.unbind(bindings);
        // Of what breaks other rules nothing can be proven.
        if self.scope.errors.is_empty() {
            for (_, a) in self.reasons().tree(t, &mut self.checked.clone()) {
                self.scope.error(unproven_read(&self.arrays[a.0 as usize].name, a));
            }
        }
        self.axes.clear();
        self.tree = None;
        for (i, info) in self.p.arrays.iter().enumerate() {
            match (&info.home, &mut self.scope.readable[i]) {
                (Home::Row { .. }, row) => *row = None,
                (_, Some(v)) => v.scalar = info.dims.is_empty(),
                (_, None) => {}
            }
        }
    }

    fn nodes(&mut self, body: &'a [Node]) {
        for node in body {
            match node {
                Node::Let(l) => self.scope.scalar_let(l),
                Node::Loop(l) => self.sequential(l),
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
                Node::Write { array, index, value } => {
                    self.scope.readable(*array);
                    self.write(*array, index, *value);
                }
            }
        }
    }

    fn sequential(&mut self, l: &'a Loop) {
        self.scope.loc(l.loc);
        let mark = self.scope.mark();
        // States exist before the first trip, and so does what joins them.
        for node in &l.body {
            if let Node::Let(Let { exp: Exp::Scan(s), loc, .. }) = node {
                self.scope.loc(*loc);
                for a in s.needed_before() {
                    self.scope.atom(a);
                }
            }
        }
        let (outside, bindings) = (self.axes.len(), self.scope.bindings());
        let values: Vec<Atom> = l.folds.iter().map(|f| f.value).collect();
        let mut results = self.trip(l, &l.body, &values);
        if let Some(m) = l.plan.form.middle() {
            self.axes.truncate(outside);
            self.scope.leave(mark);
            self.scope.unbind(bindings);
            let middle = self.trip(l, &m.body, &m.values);
            if middle != results || m.margin < 1 {
                self.scope.error("the middle of a loop is none of it");
            }
            results = middle;
        }
        self.axes.truncate(outside);
        self.scope.leave(mark);
        results.into_iter().for_each(|(v, elem)| self.scope.bind(v, elem));
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
        let owner = &mut self.rows[a.0 as usize];
        if owner.is_some_and(|t| Some(t) != self.tree) {
            self.scope.error(format!("the row array `{name}` is used in two trees"));
        }
        self.rows[a.0 as usize] = self.tree;
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
        let dims = info.dims.iter().skip(self.depth(a));
        let axis = |i: &Atom| match i {
            Atom::Var(v) => self.axes.iter().find(|x| x.var == *v),
            Atom::Const(_) => None,
        };
        let one = Dim::constant(1);
        let runs = |(i, d): (&Atom, &Dim)| match axis(i) {
            Some(x) => x.extent == *d,
            None => matches!(i, Atom::Const(c) if c.as_i64() == 0) && *d == one,
        };
        let distinct = index.iter().enumerate().all(|(k, i)| axis(i).is_none() || !index[..k].contains(i));
        let whole = distinct && index.iter().zip(dims).all(runs);
        let known = index.iter().all(|i| axis(i).is_some() || matches!(i, Atom::Const(_)));
        let mut parallel = self.axes[..self.parallel].iter().filter(|x| x.extent != one);
        let several = known && parallel.any(|x| !index.contains(&Atom::Var(x.var)));
        if whole {
            self.cover(a);
        }
        if several && !matches!(self.home(a), Some(Home::Row { .. })) {
            let name = self.scope.name(a);
            self.scope
                .error(format!("several points of the parallel axes store to the same element of `{name}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::print::tests::sample;
    use super::*;

    /// The errors of the sample after a change.
    fn errors(change: impl FnOnce(&mut Program)) -> Vec<String> {
        let mut p = sample();
        change(&mut p);
        check(&p)
    }

    fn body(p: &mut Program) -> &mut Vec<Node> {
        match &mut p.steps[1] {
            Step::Tree(t) => &mut t.body,
            other => panic!("{other:?} is no tree"),
        }
    }

    #[test]
    fn accepts_the_sample() {
        assert_eq!(errors(|_| {}), [""; 0]);
        assert!(verify(sample()).is_ok());
    }

    #[test]
    fn arrays_are_written_before_they_are_read() {
        assert_eq!(errors(|p| drop(p.steps.remove(2)))[0], "`p.4` is not written whole");
        assert_eq!(errors(|p| drop(p.steps.remove(0)))[0], "`c.3` is used before it is bound");
        assert_eq!(errors(|p| drop(body(p).remove(0)))[0], "`e.1` is used before it is bound");
        assert_eq!(errors(|p| p.steps.swap(0, 2))[0], "`c.3` is used before it is bound");
    }

    #[test]
    fn stores_cover_their_array_and_do_not_collide() {
        let store = |p: &mut Program, array, index| {
            body(p).pop();
            body(p).push(Node::Store { array: ArrayId(array), index, value: Atom::Var(Var(6)) });
        };
        let zero = Atom::Const(crate::ty::Const::int(crate::ty::Elem::I64, 0));
        let found = errors(|p| store(p, 2, vec![zero]));
        assert_eq!(
            found,
            [
                "several points of the parallel axes store to the same element of `s.2`",
                "`s.2` is not written whole"
            ]
        );
        assert_eq!(errors(|p| store(p, 2, Vec::new()))[0], "`s.2` takes 1 indices, not 0");
        assert_eq!(
            errors(|p| store(p, 5, vec![zero]))[0],
            "`gone.5` is written but has no memory of its own"
        );
        assert_eq!(
            errors(|p| store(p, 0, vec![zero, zero]))[0],
            "`x.0` is written but has no memory of its own"
        );
    }

    #[test]
    fn scalars_are_in_scope_and_bound_once() {
        assert_eq!(errors(|p| body(p).swap(1, 2))[0], "%6 is not in scope");
        let twice = |p: &mut Program| {
            let first = body(p)[0].clone();
            body(p).push(first);
        };
        assert_eq!(errors(twice)[0], "%1 is bound twice");
    }

    #[test]
    fn homes_make_sense() {
        assert_eq!(
            errors(|p| p.arrays[6].home = Home::View(ArrayId(6)))[0],
            "`q.6` is a view of nothing in memory"
        );
        assert_eq!(
            errors(|p| p.arrays[6].home = Home::View(ArrayId(5)))[0],
            "`q.6` is a view of nothing in memory"
        );
        let found = errors(|p| p.arrays[6].dims = vec![Dim::name("m")]);
        assert_eq!(found, ["`q.6` is used before it is bound"]);
        let found = errors(|p| p.arrays[1].home = Home::Row { depth: 3 });
        assert_eq!(found[0], "`e.1` lacks 3 dimensions of 2");
        let found = errors(|p| p.arrays[1].dims[0] = Dim::name("m"));
        assert_eq!(found, ["the row array `e.1` lacks other dimensions than the axes around it"]);
        assert_eq!(
            errors(|p| p.arrays[0].home = Home::Heap)[0],
            "parameter `x.0` does not live in a parameter's memory"
        );
        assert_eq!(errors(|p| p.arrays[2].home = Home::Param)[0], "`s.2` is no parameter");
    }

    #[test]
    fn a_row_array_belongs_to_one_tree() {
        let found = errors(|p| {
            let mut again = p.steps[1].clone();
            if let Step::Tree(t) = &mut again {
                t.axes[0].var = Var(7);
                t.body = vec![Node::Loop(Loop::new(
                    Axis { var: Var(8), extent: Dim::name("m") },
                    vec![Node::Store {
                        array: ArrayId(1),
                        index: vec![Atom::Var(Var(8))],
                        value: Atom::Const(crate::ty::Const::float(crate::ty::Elem::F64, 0.0)),
                    }],
                    Vec::new(),
                    t.loc,
                ))];
            }
            p.steps.push(again);
        });
        assert_eq!(found, ["the row array `e.1` is used in two trees"]);
    }
}
