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
//! A loop stays where it is if one point reads what another one makes, if it binds arrays of more dimensions than its points, if a
//! size inside that is no bounded polynomial of counters is a number of the points' own, or if it reduces many elements.

mod code;
mod inner;

use std::collections::{BTreeSet, HashMap, HashSet};

use super::choices;
use crate::bulk::build::renamed;
use crate::bulk::uses::scalars;
use crate::bulk::{
    ArrayId, Atom, Axis, Carried, Exp, Item, Let, Nest, Program, Repeat, Stm, Trips, Var, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::loops::uses::places;
use crate::loops::{Node, Recurrence, Rounds, State, Tree};
use crate::ty::{Const, Elem, Loc};

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
                Stm::Nest(n) if !n.axes.is_empty() && found.is_none_or(|f| n.axes.len() < f.len()) => {
                    *found = Some(&n.axes);
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

    /// What has been changed has the memory of what it was before.
    fn taken_over(&mut self, y: &Yield) -> Option<()> {
        let (YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. }) = &y.kind else {
            return None;
        };
        let memory = self.memory.remove(into)?;
        self.memory.insert(y.array, memory);
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
            YieldKind::Accumulate { .. } | YieldKind::Write { .. } => {
                self.change(&y.kind, names, out)?;
                self.taken_over(y)?;
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
}
