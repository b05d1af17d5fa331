//! Loops that points make by themselves. The bulk-operation transform interchanges a loop with the `build` around it; where no point
//! looks at another they change places again:
//!
//! ```text
//! repeat while on with s: [n].. = a { t = nest [p < n] f(s[p], x[p]); => t }
//!     = par p < n { while on with s = a[p] { t = f(s, x[p]) => t }; store }
//! ```
//!
//! The **points** of a loop are the axes that all its nests begin with. Arrays that it binds are
//!
//! | array | at a point |
//! |---|---|
//! | of the points, or of rank 0 | a scalar |
//! | of more, changed in place | memory, of which every access has each point's axes at one place: the point's own elements |
//! | folded over the points, for a sum so far | a sum of the point's own; the points' sums are joined after the loop |
//!
//! A trip of a `while` finds its point on, so what it does elsewhere is gone; a point that is off makes no more trips.
//!
//! What is read of other points, what a loop binds and has more dimensions than its points, what the length of a loop in a loop
//! depends on, and reductions of many elements keep a loop where it is.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::choices;
use super::repeat::reads_own;
use crate::bulk::build::{Code, renamed};
use crate::bulk::uses::scalars;
use crate::bulk::{
    ArrayId, Atom, Axis, Branch, Carried, Exp, Item, Let, Nest, Prefix, Program, Reducer, Repeat, Scan, Stm,
    Trips, Var, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::loops::uses::places;
use crate::loops::{Node, Recurrence, Rounds, State, Tree};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// The most elements that a point folds by itself in a trip.
const MOST: i64 = 64;

/// A loop that stands in the points.
pub(super) struct Sunk {
    pub tree: Tree,
    /// The states that are memory; each starts as another array.
    pub memory: Vec<Carried>,
}

/// The loop, as one of each point.
pub(super) fn sunk(
    p: &mut Program,
    constants: &HashMap<ArrayId, Const>,
    r: &Repeat,
    points: Vec<Dim>,
) -> Option<Sunk> {
    let mut inside = HashSet::new();
    bound(r, &mut inside);
    if points.iter().flat_map(scalars).any(|a| inside.contains(&a)) {
        return None;
    }
    let axes: Vec<Axis> = p.new_axes(&points);
    let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut s = Sink {
        p,
        constants,
        points,
        at: at.clone(),
        inside,
        values: HashMap::new(),
        memory: HashMap::new(),
        starts: Vec::new(),
        most: HashMap::new(),
        known: HashMap::new(),
    };
    let mut body = Vec::new();
    s.repeat(r, true, &mut body)?;
    for c in &r.carried {
        if let Some(value) = s.values.get(&c.result) {
            // Every point has the same, and none of them stands for all.
            if s.p.array(c.result).dims.is_empty() {
                return None;
            }
            body.push(Node::Store { array: c.result, index: at.clone(), value: *value });
        }
    }
    let memory = std::mem::take(&mut s.starts);
    let vars: BTreeSet<Var> = axes.iter().map(|a| a.var).collect();
    let own = memory.iter().all(|c| {
        let places = places(&body, &vars, &|a| a == c.state);
        vars.iter().all(|v| places.iter().any(|(_, at)| at == v))
    });
    let tree = Tree::new(axes, choices::joined(body), r.loc);
    own.then_some(Sunk { tree, memory })
}

/// The extents that all nests of a loop begin with, but for those of scalars.
pub(super) fn points(p: &Program, r: &Repeat) -> Option<Vec<Dim>> {
    fn shortest<'a>(stms: &'a [Stm], found: &mut Option<&'a [Axis]>) {
        for s in stms {
            match s {
                Stm::Nest(n) if !n.axes.is_empty() => {
                    if found.is_none_or(|f| n.axes.len() < f.len()) {
                        *found = Some(&n.axes);
                    }
                }
                Stm::Repeat(r) => shortest(&r.body, found),
                _ => {}
            }
        }
    }
    let mut found = None;
    shortest(&r.body, &mut found);
    let points: Vec<Dim> = found?.iter().map(|a| a.extent.clone()).collect();
    match &r.trips {
        Trips::While(on) if p.array(*on).dims != points => None,
        _ => Some(points),
    }
}

/// The arrays that a loop binds for itself.
fn bound(r: &Repeat, out: &mut HashSet<ArrayId>) {
    out.extend(r.bound());
    for s in &r.body {
        out.extend(s.results());
        if let Stm::Repeat(inner) = s {
            bound(inner, out);
        }
    }
}

/// A nest of more axes than the points have.
struct Own<'a> {
    n: &'a Nest,
    scans: &'a [&'a Scan],
    /// What each trip does.
    inside: &'a [&'a Item],
}

/// A loop on its way into the points.
struct Sink<'a> {
    p: &'a mut Program,
    constants: &'a HashMap<ArrayId, Const>,
    points: Vec<Dim>,
    /// The axes of the points.
    at: Vec<Atom>,
    /// What the loop binds.
    inside: HashSet<ArrayId>,
    /// The arrays that are scalars.
    values: HashMap<ArrayId, Atom>,
    /// The arrays that are the memory of another one now.
    memory: HashMap<ArrayId, ArrayId>,
    starts: Vec<Carried>,
    /// Below what the numbers of trips are.
    most: HashMap<ArrayId, Dim>,
    /// What has been computed, with arrays as they are called outside of the points: these do not change.
    known: HashMap<Exp, Vec<Var>>,
}

impl Sink<'_> {
    fn list(&mut self, stms: &[Stm], out: &mut Vec<Node>) -> Option<()> {
        stms.iter().try_for_each(|s| match s {
            Stm::Nest(n) => self.nest(n, out),
            Stm::Repeat(r) => self.repeat(r, false, out),
            Stm::Reshape { .. } | Stm::Check(..) | Stm::Sort(_) | Stm::Custom(_) => None,
        })
    }

    fn is_scalar(&self, a: ArrayId) -> bool {
        let dims = &self.p.array(a).dims;
        dims.is_empty() || *dims == self.points
    }

    /// An array of one element for the point: that.
    fn value(&mut self, a: ArrayId, loc: Loc, out: &mut Vec<Node>) -> Option<Atom> {
        if let Some(value) = self.values.get(&a) {
            return Some(*value);
        }
        if self.inside.contains(&a) || !self.is_scalar(a) {
            return None;
        }
        if let Some(c) = self.constants.get(&a) {
            return Some(Atom::Const(*c));
        }
        let index = if self.p.array(a).dims.is_empty() { Vec::new() } else { self.at.clone() };
        let elem = self.p.array(a).elem;
        Some(self.bind(elem, Exp::Read { array: a, index, checked: false }, loc, out))
    }

    fn bind(&mut self, elem: Elem, exp: Exp, loc: Loc, out: &mut Vec<Node>) -> Atom {
        let v = self.p.new_var(elem);
        out.push(Node::Let(Let { vars: vec![v], exp, loc }));
        Atom::Var(v)
    }

    fn repeat(&mut self, r: &Repeat, is_outermost: bool, out: &mut Vec<Node>) -> Option<()> {
        let mut states = Vec::new();
        let mut held = Vec::new();
        for c in &r.carried {
            if self.is_scalar(c.state) {
                let start = self.value(c.start, r.loc, out)?;
                let elem = self.p.array(c.state).elem;
                let [state, result] = [(), ()].map(|()| self.p.new_var(elem));
                states.push((*c, State { state, start, next: start, result }));
            } else {
                let memory = match self.memory.remove(&c.start) {
                    Some(memory) => memory,
                    None if is_outermost => {
                        self.starts.push(*c);
                        c.state
                    }
                    None => return None,
                };
                self.memory.insert(c.state, memory);
                held.push((*c, memory));
            }
        }
        let around = self.known.clone();
        for (c, s) in &states {
            self.values.insert(c.state, Atom::Var(s.state));
        }
        let rounds = match &r.trips {
            Trips::For(index, count) => {
                let rounds = self.rounds(count, r.loc, out)?;
                if let Rounds::For(axis, _) = &rounds {
                    self.values.insert(*index, Atom::Var(axis.var));
                    self.most.insert(*index, axis.extent.clone());
                }
                rounds
            }
            Trips::While(on) => {
                let (_, s) = states.iter().find(|(c, _)| c.state == *on)?;
                self.values.insert(*on, Atom::Const(Const::bool(true)));
                Rounds::While(s.state)
            }
        };
        let mut body = Vec::new();
        self.list(&r.body, &mut body)?;
        for (c, s) in &mut states {
            s.next = self.value(c.next, r.loc, &mut body)?;
        }
        for (c, memory) in held {
            if self.memory.remove(&c.next) != Some(memory) {
                return None;
            }
            self.memory.insert(c.result, memory);
        }
        self.known = around;
        for (c, s) in &states {
            self.values.insert(c.result, Atom::Var(s.result));
        }
        let states = states.into_iter().map(|(_, s)| s).collect();
        out.push(Node::Recurrence(Recurrence { rounds, states, body, loc: r.loc }));
        Some(())
    }

    fn nest(&mut self, n: &Nest, out: &mut Vec<Node>) -> Option<()> {
        let (outer, inner) = match n.axes.len() {
            0 => (&n.axes[..], &[][..]),
            _ => n.axes.split_at_checked(self.points.len())?,
        };
        if !outer.is_empty() && !outer.iter().map(|a| &a.extent).eq(&self.points) {
            return None;
        }
        let mut names: HashMap<Var, Atom> = outer.iter().zip(&self.at).map(|(a, at)| (a.var, *at)).collect();
        if inner.is_empty() {
            self.items(n, &mut names, out)?;
            return n.yields.iter().try_for_each(|y| self.yielded(y, &names, n.loc, out));
        }
        self.folded(n, inner, names, out)
    }

    fn items(&mut self, n: &Nest, names: &mut HashMap<Var, Atom>, out: &mut Vec<Node>) -> Option<()> {
        n.body.items.iter().try_for_each(|i| match i {
            Item::Let(l) => self.binding(l, names, out),
            Item::Scan(_) => None,
        })
    }

    /// So many trips, of which numbers of the loop's own may tell.
    fn rounds(&mut self, count: &Dim, loc: Loc, out: &mut Vec<Node>) -> Option<Rounds> {
        let mut lets = Vec::new();
        let until = self.size(count, loc, &mut lets)?;
        out.extend(lets.into_iter().map(Node::Let));
        let mut most = Dim::constant(0);
        for (m, c) in count.terms() {
            let is_inside =
                |a: &SizeAtom| matches!(a, SizeAtom::Scalar(s) if self.inside.contains(&ArrayId(*s)));
            let term = Dim::monomial(m.clone()).scale(c);
            match &m[..] {
                _ if !m.iter().any(is_inside) => most = most.add(&term),
                [SizeAtom::Scalar(s)] if c > 0 => {
                    let greatest = self.most.get(&ArrayId(*s))?.sub(&Dim::constant(1));
                    most = most.add(&greatest.scale(c));
                }
                [SizeAtom::Scalar(s)] if self.most.contains_key(&ArrayId(*s)) => {}
                _ => return None,
            }
        }
        Some(Rounds::For(Axis { var: self.p.new_var(Elem::I64), extent: most }, until))
    }

    /// A nest in which each point has a few elements, or one after the other: a loop of its own.
    fn folded(
        &mut self,
        n: &Nest,
        inner: &[Axis],
        mut names: HashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        let scans: Vec<&Scan> = n.body.scans().collect();
        let few = inner.iter().try_fold(1i64, |p, a| p.checked_mul(at_most(&a.extent)?));
        let depends = inner.iter().any(|a| scalars(&a.extent).any(|s| self.inside.contains(&s)));
        let is_short = few.is_some_and(|n| n <= MOST) || depends || !scans.is_empty();
        if !is_short || (!scans.is_empty() && inner.len() > 1) {
            return None;
        }
        let inside = self.outside_first(n, inner, &scans, &mut names, out)?;
        let mut states = Vec::new();
        for y in &n.yields {
            match &y.kind {
                YieldKind::Reduce { reducer, over, .. } if *over == inner.len() && !reducer.is_extremum() => {
                    let elem = self.p.array(y.array).elem;
                    states.push((Atom::Const(reducer.neutral(elem)), elem));
                }
                YieldKind::Accumulate { into, index, .. } if self.is_scalar(*into) => {
                    self.own(*into, index, &names)?;
                    let before = self.value(*into, n.loc, out)?;
                    states.push((before, self.p.elem(before)));
                }
                YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } => {
                    // What is changed is not read, but at the element itself.
                    let mut reads = false;
                    n.body.visit_reads(&mut |a, _| reads |= a == *into);
                    if (reads && !reads_own(n, *into)) || !self.memory.contains_key(into) {
                        return None;
                    }
                }
                YieldKind::Reduce { .. } | YieldKind::Store(_) => return None,
            }
        }
        for s in &scans {
            for a in &s.start {
                let start = renamed(&names, *a);
                states.push((start, self.p.elem(start)));
            }
        }
        let own = Own { n, scans: &scans, inside: &inside };
        let around = self.known.clone();
        let results = self.trips(&own, inner, &states, &mut names, out);
        self.known = around;
        let mut results = results?.into_iter();
        for y in &n.yields {
            match &y.kind {
                YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. }
                    if !self.is_scalar(*into) =>
                {
                    let memory = self.memory.remove(into)?;
                    self.memory.insert(y.array, memory);
                }
                _ => drop(self.values.insert(y.array, results.next()?)),
            }
        }
        Some(())
    }

    /// The statements that are the same in all trips come before them, unless they may fail; gives the others.
    fn outside_first<'n>(
        &mut self,
        n: &'n Nest,
        inner: &[Axis],
        scans: &[&Scan],
        names: &mut HashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<Vec<&'n Item>> {
        let mut differ: HashSet<Var> = inner.iter().map(|a| a.var).collect();
        let mut inside = Vec::new();
        for i in &n.body.items {
            let mut differs = i.may_fail(&self.p.vars);
            i.visit_atoms(&mut |a| differs |= a.var().is_some_and(|v| differ.contains(&v)));
            match i {
                Item::Let(l) if !differs => self.binding(l, names, out)?,
                i => {
                    differ.extend(i.vars());
                    inside.push(i);
                }
            }
        }
        let starts = scans.iter().flat_map(|s| &s.start);
        starts.filter_map(|a| a.var()).all(|v| !differ.contains(&v)).then_some(inside)
    }

    /// The loops over the axes, from the outside in, through which the states go; what they become.
    fn trips(
        &mut self,
        own: &Own<'_>,
        axes: &[Axis],
        states: &[(Atom, Elem)],
        names: &mut HashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<Vec<Atom>> {
        let Some((axis, rest)) = axes.split_first() else {
            let before: Vec<Atom> = states.iter().map(|(a, _)| *a).collect();
            return self.trip(own, &before, names, out);
        };
        let rounds = self.rounds(&axis.extent, own.n.loc, out)?;
        if let Rounds::For(new, _) = &rounds {
            names.insert(axis.var, Atom::Var(new.var));
        }
        let mut carried: Vec<State> = states
            .iter()
            .map(|(start, elem)| {
                let [state, result] = [(), ()].map(|()| self.p.new_var(*elem));
                State { state, start: *start, next: *start, result }
            })
            .collect();
        let inside: Vec<(Atom, Elem)> =
            carried.iter().zip(states).map(|(c, (_, elem))| (Atom::Var(c.state), *elem)).collect();
        let mut body = Vec::new();
        let next = self.trips(own, rest, &inside, names, &mut body)?;
        carried.iter_mut().zip(next).for_each(|(c, next)| c.next = next);
        let results = carried.iter().map(|c| Atom::Var(c.result)).collect();
        out.push(Node::Recurrence(Recurrence { rounds, states: carried, body, loc: own.n.loc }));
        Some(results)
    }

    /// One trip: what the states become.
    fn trip(
        &mut self,
        own: &Own<'_>,
        before: &[Atom],
        names: &mut HashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<Vec<Atom>> {
        let n = own.n;
        let scanned: usize = own.scans.iter().map(|s| s.start.len()).sum();
        let (folds, mut lefts) = before.split_at(before.len() - scanned);
        let mut after_scans = Vec::new();
        for i in own.inside {
            let s = match i {
                Item::Let(l) => {
                    self.binding(l, names, out)?;
                    continue;
                }
                Item::Scan(s) => s,
            };
            let (left, rest) = lefts.split_at(s.left.len());
            lefts = rest;
            names.extend(s.left.iter().copied().zip(left.iter().copied()));
            for (v, a) in s.right.iter().zip(&s.values) {
                let value = renamed(names, *a);
                names.insert(*v, value);
            }
            for l in &s.step.block.lets {
                self.binding(l, names, out)?;
            }
            for (k, a) in s.step.results.iter().enumerate() {
                let new = renamed(names, *a);
                after_scans.push(new);
                names.insert(s.vars[k], if s.prefix == Prefix::Inclusive { new } else { left[k] });
            }
        }
        let mut folds = folds.iter();
        let mut after = Vec::new();
        for y in &n.yields {
            match &y.kind {
                YieldKind::Reduce { reducer: Reducer::Last, value, .. } => {
                    folds.next();
                    after.push(renamed(names, *value));
                }
                YieldKind::Reduce { reducer, value, .. } => {
                    after.push(self.combined(
                        *reducer,
                        *folds.next()?,
                        renamed(names, *value),
                        n.loc,
                        out,
                    )?);
                }
                YieldKind::Accumulate { reducer, into, value, .. } if self.is_scalar(*into) => {
                    after.push(self.combined(
                        *reducer,
                        *folds.next()?,
                        renamed(names, *value),
                        n.loc,
                        out,
                    )?);
                }
                kind => self.change(kind, names, out)?,
            }
        }
        after.extend(after_scans);
        Some(after)
    }

    fn combined(&mut self, by: Reducer, a: Atom, b: Atom, loc: Loc, out: &mut Vec<Node>) -> Option<Atom> {
        let exp = Exp::Op(by.op()?, vec![a, b]);
        Some(self.bind(self.p.elem(a), exp, loc, out))
    }

    /// Changes an element of memory.
    fn change(&mut self, kind: &YieldKind, names: &HashMap<Var, Atom>, out: &mut Vec<Node>) -> Option<()> {
        let (YieldKind::Accumulate { into, index, value, .. } | YieldKind::Write { into, index, value, .. }) =
            kind
        else {
            return None;
        };
        let array = *self.memory.get(into)?;
        let index = index.iter().map(|i| renamed(names, *i)).collect();
        let value = renamed(names, *value);
        out.push(match kind {
            YieldKind::Accumulate { reducer, .. } => {
                Node::Accumulate { array, reducer: *reducer, index, value }
            }
            _ => Node::Write { array, index, value },
        });
        Some(())
    }

    fn yielded(
        &mut self,
        y: &Yield,
        names: &HashMap<Var, Atom>,
        loc: Loc,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        match &y.kind {
            YieldKind::Store(v) => {
                let value = renamed(names, *v);
                self.values.insert(y.array, value);
            }
            YieldKind::Accumulate { reducer, into, index, value } if self.is_scalar(*into) => {
                self.own(*into, index, names)?;
                let before = self.value(*into, loc, out)?;
                let after = self.combined(*reducer, before, renamed(names, *value), loc, out)?;
                self.values.insert(y.array, after);
            }
            YieldKind::Write { into, index, value, .. } if self.is_scalar(*into) => {
                self.own(*into, index, names)?;
                let value = renamed(names, *value);
                self.values.insert(y.array, value);
            }
            kind @ (YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. }) => {
                self.change(kind, names, out)?;
                let memory = self.memory.remove(into)?;
                self.memory.insert(y.array, memory);
            }
            YieldKind::Reduce { .. } => return None,
        }
        Some(())
    }

    /// Whether an index is that of the point in an array of one element for each.
    fn own(&self, a: ArrayId, index: &[Atom], names: &HashMap<Var, Atom>) -> Option<()> {
        let dims = &self.p.array(a).dims;
        let own = dims.is_empty() || index.iter().map(|i| renamed(names, *i)).eq(self.at.iter().copied());
        own.then_some(())
    }

    /// A statement of a nest. What is known already, or one of the scalars, has no statement.
    fn binding(&mut self, l: &Let, names: &mut HashMap<Var, Atom>, out: &mut Vec<Node>) -> Option<()> {
        let mut lets = Vec::new();
        self.simplified(l, names, &mut lets)?;
        out.extend(lets.into_iter().map(Node::Let));
        Some(())
    }

    fn simplified(&mut self, l: &Let, names: &mut HashMap<Var, Atom>, out: &mut Vec<Let>) -> Option<()> {
        let exp = match &l.exp {
            Exp::Read { array, index, checked } => {
                let index: Vec<Atom> = index.iter().map(|i| renamed(names, *i)).collect();
                if let Some(value) = self.values.get(array) {
                    let own = self.p.array(*array).dims.is_empty() || index == self.at;
                    names.insert(l.vars[0], *value);
                    return own.then_some(());
                }
                if self.inside.contains(array) && !self.memory.contains_key(array) {
                    return None;
                }
                Exp::Read { array: *array, index, checked: *checked }
            }
            Exp::Size(d) => match self.size(d, l.loc, out)? {
                Some(value) => {
                    names.insert(l.vars[0], value);
                    return Some(());
                }
                None => l.exp.clone(),
            },
            Exp::Op(op, args) => {
                let args: Vec<Atom> = args.iter().map(|a| renamed(names, *a)).collect();
                if let Some(value) = decided(*op, &args) {
                    names.insert(l.vars[0], value);
                    return Some(());
                }
                Exp::Op(*op, args)
            }
            Exp::StopGradient(a) => {
                let value = renamed(names, *a);
                names.insert(l.vars[0], value);
                return Some(());
            }
            Exp::If(c, yes, no) => match renamed(names, *c) {
                Atom::Const(c) => {
                    let taken = if c.as_bool() { yes } else { no };
                    for l in &taken.block.lets {
                        self.simplified(l, names, out)?;
                    }
                    for (v, a) in l.vars.iter().zip(&taken.results) {
                        let value = renamed(names, *a);
                        names.insert(*v, value);
                    }
                    return Some(());
                }
                c => Exp::If(c, self.branch(yes, names)?, self.branch(no, names)?),
            },
        };
        if let Some(vars) = self.known.get(&exp) {
            names.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
            return Some(());
        }
        let vars: Vec<Var> = l.vars.iter().map(|v| self.p.new_var(self.p.vars[v.0 as usize])).collect();
        names.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
        self.known.insert(exp.clone(), vars.clone());
        let exp = match exp {
            Exp::Read { array, index, checked } => {
                Exp::Read { array: self.memory.get(&array).copied().unwrap_or(array), index, checked }
            }
            exp => exp,
        };
        out.push(Let { vars, exp, loc: l.loc });
        Some(())
    }

    fn branch(&mut self, b: &Branch, names: &HashMap<Var, Atom>) -> Option<Branch> {
        let (mut names, around) = (names.clone(), self.known.clone());
        let mut lets = Vec::new();
        for l in &b.block.lets {
            self.simplified(l, &mut names, &mut lets)?;
        }
        self.known = around;
        let results = b.results.iter().map(|a| renamed(&names, *a)).collect();
        Some(Branch { block: crate::bulk::Block { lets }, results })
    }

    /// A size that numbers of the loop's own are in, computed; none if there are none in it.
    fn size(&mut self, d: &Dim, loc: Loc, out: &mut Vec<Let>) -> Option<Option<Atom>> {
        let inside = |a: &SizeAtom| matches!(a, SizeAtom::Scalar(s) if self.inside.contains(&ArrayId(*s)));
        if !d.atoms().iter().any(inside) {
            return Some(None);
        }
        if let Some(known) = self.known.get(&Exp::Size(d.clone())) {
            return Some(Some(Atom::Var(known[0])));
        }
        let mut code = Code::new(loc);
        let mut rest = Dim::constant(0);
        let mut sum = None;
        for (m, c) in d.terms() {
            if !m.iter().any(inside) {
                rest = rest.add(&Dim::monomial(m.clone()).scale(c));
                continue;
            }
            let mut term = Atom::Const(Const::int(Elem::I64, c));
            for a in m.iter() {
                let factor = match a {
                    SizeAtom::Scalar(s) if self.inside.contains(&ArrayId(*s)) => {
                        *self.values.get(&ArrayId(*s))?
                    }
                    outside => code.bind(self.p, Elem::I64, Exp::Size(Dim::atom(outside.clone()))),
                };
                term = code.mul(self.p, term, factor);
            }
            sum = Some(match sum {
                Some(sum) => code.add(self.p, sum, term),
                None => term,
            });
        }
        let rest = code.bind(self.p, Elem::I64, Exp::Size(rest));
        let size = code.op(self.p, Op::Add, &[rest, sum?]);
        self.known.insert(Exp::Size(d.clone()), size.var().into_iter().collect());
        out.append(&mut code.lets);
        Some(Some(size))
    }
}

/// A bound on a size: sizes and numbers of trips are not negative.
fn at_most(d: &Dim) -> Option<i64> {
    let terms = d.terms().filter(|(m, c)| m.is_empty() || *c > 0);
    terms.fold(Dim::constant(0), |sum, (m, c)| sum.add(&Dim::monomial(m.clone()).scale(c))).as_constant()
}

/// What a function of constants is that say whether the point is on.
fn decided(op: Op, args: &[Atom]) -> Option<Atom> {
    match (op, args) {
        (Op::And | Op::Or, [Atom::Const(c), a] | [a, Atom::Const(c)]) if c.elem == Elem::Bool => {
            Some(if c.as_bool() == (op == Op::And) { *a } else { Atom::Const(*c) })
        }
        (Op::Not, [Atom::Const(c)]) if c.elem == Elem::Bool => Some(Atom::Const(Const::bool(!c.as_bool()))),
        (Op::Select, [Atom::Const(c), a, b]) => Some(if c.as_bool() { *a } else { *b }),
        _ => None,
    }
}
