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
//! | of few elements more, known by constants (`small`) | a scalar for each |
//! | of more, that a trip binds: filled or built | memory beside the loop, the point's own elements (`private`) |
//! | of more, changed in place | memory, of which every access has each point's axes at one place: the point's own elements |
//! | folded over the points, for a sum so far | a sum of the point's own; the points' sums are joined after the loop |
//!
//! A trip of a `while` finds its point on, so what it does elsewhere is gone; a point that is off makes no more trips. Where all is one
//! point a `while` of a few points goes on as long as any of them does.
//!
//! A loop stays where it is if one point reads what another one makes, if it builds arrays of many elements for each point, if a
//! size inside that is no bounded polynomial of counters is a number of the points' own, or if it reduces many elements.

mod code;
mod inner;
mod private;
mod repeat;
mod small;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::choices;
use super::computed::Computed;
use crate::bulk::build::{int, renamed};
use crate::bulk::uses::scalars;
use crate::bulk::{
    ArrayId, Atom, Axis, Carried, Exp, Item, Let, Nest, Program, Repeat, Stm, Trips, Var, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::loops::uses::places;
use crate::loops::{Node, Tree};
use crate::ty::{Const, Elem, Loc};

/// A loop that stands in the points.
pub(super) struct Sunk {
    pub tree: Tree,
    /// The states that are memory; each starts as another array.
    pub memory: Vec<Carried>,
    /// Memory of the points' own for what trips bind.
    pub own: Vec<(ArrayId, Const)>,
}

impl Sunk {
    /// Whether a state is memory that may as well be a few scalars.
    pub fn has_few_in_memory(&self, p: &Program) -> bool {
        let own = self.tree.axes.last().map(|a| &a.extent);
        let is_few = |c: &Carried| {
            let last = p.array(c.state).dims.last();
            last != own && last.and_then(small::few).is_some()
        };
        self.memory.iter().any(is_few)
    }
}

/// The loop, as one of each point. With `small`, arrays of a few elements for each point are scalars.
pub(super) fn sunk(
    p: &mut Program,
    constants: &FxHashMap<ArrayId, Const>,
    r: &Repeat,
    points: Vec<Dim>,
    small: bool,
) -> Option<Sunk> {
    let mut inside = FxHashSet::default();
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
        small,
        left: small::MOST_CODE,
        at: at.clone(),
        inside,
        values: FxHashMap::default(),
        memory: FxHashMap::default(),
        starts: Vec::new(),
        own: Vec::new(),
        most: FxHashMap::default(),
        first: Vec::new(),
        known: Computed::default(),
    };
    let mut code = Vec::new();
    s.repeat(r, true, &mut code)?;
    let mut body: Vec<Node> = std::mem::take(&mut s.first).into_iter().map(Node::Let).collect();
    body.append(&mut code);
    for c in &r.carried {
        if let Some(values) = s.values.get(&c.result) {
            // Every point has the same, and none of them stands for all.
            if !s.p.array(c.result).dims.starts_with(&s.points) {
                return None;
            }
            let places = small::places(&s.extents(c.result)?);
            let elements = places.into_iter().zip(values);
            body.extend(elements.map(|(place, value)| {
                let index = at.iter().copied().chain(place.into_iter().map(int)).collect();
                Node::Store { array: c.result, index, value: *value }
            }));
        }
    }
    let (memory, own) = (std::mem::take(&mut s.starts), std::mem::take(&mut s.own));
    let vars: BTreeSet<Var> = axes.iter().map(|a| a.var).collect();
    let all = memory.iter().map(|c| c.state).chain(own.iter().map(|(a, _)| *a));
    let mut is_own = all.map(|array| {
        let places = places(&body, &vars, &|a| a == array);
        vars.iter().all(|v| places.iter().any(|(_, at)| at == v))
    });
    let is_own = is_own.all(|is| is);
    let tree = Tree::new(axes, choices::joined(body, &mut p.vars), r.loc);
    is_own.then_some(Sunk { tree, memory, own })
}

/// The extents that all nests of a loop begin with, but for those of scalars; with `small` also but for those of a few elements: if
/// there are no others, all of the loop is one point.
pub(super) fn points(p: &Program, r: &Repeat, small: bool) -> Option<Vec<Dim>> {
    fn shortest<'a>(stms: &'a [Stm], small: bool, found: &mut Option<&'a [Axis]>) {
        for s in stms {
            match s {
                Stm::Nest(n) => {
                    let mut axes = &n.axes[..];
                    while let [before @ .., last] = axes
                        && small
                        && small::few(&last.extent).is_some()
                    {
                        axes = before;
                    }
                    if !axes.is_empty() && found.is_none_or(|f| axes.len() < f.len()) {
                        *found = Some(axes);
                    }
                }
                Stm::Repeat(r) => shortest(&r.body, small, found),
                _ => {}
            }
        }
    }
    let mut found = None;
    shortest(&r.body, small, &mut found);
    let axes = if small { found.unwrap_or_default() } else { found? };
    let points: Vec<Dim> = axes.iter().map(|a| a.extent.clone()).collect();
    match &r.trips {
        // One point may as well make the trips of several, each of them with its condition.
        Trips::While(on) if p.array(*on).dims != points && !points.is_empty() => None,
        _ => Some(points),
    }
}

/// The arrays that a loop binds for itself.
fn bound(r: &Repeat, out: &mut FxHashSet<ArrayId>) {
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
    constants: &'a FxHashMap<ArrayId, Const>,
    points: Vec<Dim>,
    /// The axes of the points.
    at: Vec<Atom>,
    /// What the loop binds.
    inside: FxHashSet<ArrayId>,
    /// Whether arrays of a few elements for each point are scalars.
    small: bool,
    /// So many statements may still be made of their loops.
    left: usize,
    /// The arrays that are scalars: their elements in order.
    values: FxHashMap<ArrayId, Vec<Atom>>,
    /// The arrays that are the memory of another one now.
    memory: FxHashMap<ArrayId, ArrayId>,
    starts: Vec<Carried>,
    /// Memory beside the loop, and what it is filled with.
    own: Vec<(ArrayId, Const)>,
    /// Below what the numbers of trips are.
    most: FxHashMap<ArrayId, Dim>,
    /// Elements of the point that are read before the loop.
    first: Vec<Let>,
    /// What has been computed, with arrays as they are called outside of the points: these do not change.
    known: Computed,
}

impl Sink<'_> {
    fn list(&mut self, stms: &[Stm], out: &mut Vec<Node>) -> Option<()> {
        stms.iter().try_for_each(|s| match s {
            Stm::Nest(n) => self.nest(n, out),
            Stm::Repeat(r) => self.repeat(r, false, out),
            Stm::Reshape { .. } | Stm::Check(..) | Stm::Sort(_) | Stm::Custom(_) | Stm::Call(_) => None,
        })
    }

    fn is_scalar(&self, a: ArrayId) -> bool {
        self.extents(a).is_some()
    }

    /// An array of one element for the point: that.
    fn value(&mut self, a: ArrayId, loc: Loc, out: &mut Vec<Node>) -> Option<Atom> {
        match self.all(a, loc, out)?[..] {
            [value] => Some(value),
            _ => None,
        }
    }

    /// The elements of an array of few for the point.
    fn all(&mut self, a: ArrayId, loc: Loc, out: &mut Vec<Node>) -> Option<Vec<Atom>> {
        if let Some(values) = self.values.get(&a) {
            return Some(values.clone());
        }
        let places = small::places(&self.extents(a)?);
        if let Some(c) = self.constants.get(&a) {
            return Some(vec![Atom::Const(*c); places.len()]);
        }
        if self.inside.contains(&a) {
            return None;
        }
        let (elem, own) = (self.p.array(a).elem, self.p.array(a).dims.starts_with(&self.points));
        let at = if own { self.at.clone() } else { Vec::new() };
        let element = |place: Vec<i64>| {
            let index = at.iter().copied().chain(place.into_iter().map(int)).collect();
            self.bind(elem, Exp::Read { array: a, index, checked: false }, loc, out)
        };
        Some(places.into_iter().map(element).collect())
    }

    fn bind(&mut self, elem: Elem, exp: Exp, loc: Loc, out: &mut Vec<Node>) -> Atom {
        let v = self.p.new_var(elem);
        out.push(Node::Let(Let { vars: vec![v], exp, loc }));
        Atom::Var(v)
    }

    fn nest(&mut self, n: &Nest, out: &mut Vec<Node>) -> Option<()> {
        if self.is_constant(n) {
            return Some(());
        }
        let own = n.axes.len() >= self.points.len()
            && n.axes[..self.points.len()].iter().map(|a| &a.extent).eq(&self.points);
        if !own && !n.axes.is_empty() && !self.small {
            return None;
        }
        let (outer, inner) = n.axes.split_at(if own { self.points.len() } else { 0 });
        let mut names: FxHashMap<Var, Atom> =
            outer.iter().zip(&self.at).map(|(a, at)| (a.var, *at)).collect();
        if inner.is_empty() {
            self.items(n, &mut names, out)?;
            return n.yields.iter().try_for_each(|y| self.yielded(y, &names, n.loc, out));
        }
        if self.small && (self.has_few(n) || small::are_few(inner)) {
            return self.trips_of_few(n, inner, names, out);
        }
        if !own {
            return None;
        }
        self.folded(n, inner, names, out)
    }

    fn items(&mut self, n: &Nest, names: &mut FxHashMap<Var, Atom>, out: &mut Vec<Node>) -> Option<()> {
        n.body.items.iter().try_for_each(|i| match i {
            Item::Let(l) => self.binding(l, names, out),
            Item::Scan(_) => None,
        })
    }

    /// Changes an element of memory.
    fn change(&mut self, kind: &YieldKind, names: &FxHashMap<Var, Atom>, out: &mut Vec<Node>) -> Option<()> {
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
            _ => Node::Write { array, index, value, checked: true },
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
        names: &FxHashMap<Var, Atom>,
        loc: Loc,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        match &y.kind {
            YieldKind::Store(v) => {
                let value = renamed(names, *v);
                self.values.insert(y.array, vec![value]);
            }
            YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } if self.is_scalar(*into) => {
                let mut values = self.all(*into, loc, out)?;
                self.changed(&y.kind, &mut values, names, loc, out)?;
                self.values.insert(y.array, values);
            }
            YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } => {
                self.has_memory(*into, loc, out)?;
                self.change(&y.kind, names, out)?;
                self.taken_over(y)?;
            }
            YieldKind::Reduce { .. } => return None,
        }
        Some(())
    }

    /// Changes an element of an array of few.
    fn changed(
        &mut self,
        kind: &YieldKind,
        values: &mut [Atom],
        names: &FxHashMap<Var, Atom>,
        loc: Loc,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        let (YieldKind::Accumulate { into, index, value, .. } | YieldKind::Write { into, index, value, .. }) =
            kind
        else {
            return None;
        };
        let index: Vec<Atom> = index.iter().map(|i| renamed(names, *i)).collect();
        // What is outside is ignored.
        let Some(place) = self.place(*into, &index)? else { return Some(()) };
        let value = renamed(names, *value);
        values[place] = match kind {
            YieldKind::Accumulate { reducer, .. } => {
                self.combined(*reducer, values[place], value, loc, out)?
            }
            _ => value,
        };
        Some(())
    }
}
