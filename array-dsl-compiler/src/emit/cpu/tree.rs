//! Trees: regions for what is divided among tasks.

use std::collections::BTreeSet;

use super::nodes::counted;
use super::region::{Given, Region, can_fail};
use super::{Cpu, END_IF_FAILED, expr, fold, repeat};
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Atom, Axis, Trips, Var};
use crate::internal;
use crate::loops::own::{overwrites_in_order, overwritten};
use crate::loops::uses::{Access, combined, visit_arrays, visit_sizes};
use crate::loops::{Covers, Division, Form, Home, Loop, Node, Plan, Recurrence, Rounds, Step, Tree, scratch};

/// The arrays a step touches.
pub(super) fn arrays_of(c: &Cpu<'_>, s: &Step) -> Vec<ArrayId> {
    let mut out = Vec::new();
    match s {
        Step::Tree(t) => {
            visit_arrays(&t.body, &mut |a, _| out.push(a));
            visit_sizes(&t.body, &mut |d| out.extend(scalars(d)));
            out.extend(t.axes.iter().flat_map(|a| scalars(&a.extent)));
        }
        Step::Contract(c) => {
            out.extend([c.result, c.a.array, c.b.array]);
            out.extend(c.sizes().flat_map(scalars));
        }
        Step::Fill { array, .. } => out.push(*array),
        Step::Copy { array, source } => out.extend([*array, *source]),
        Step::Check(..) => {}
        Step::Move { array, source } => out.extend([*array, *source]),
        Step::Sort(s) => out.extend([s.result, s.keys]),
        Step::Call(c) => out.extend(c.arrays()),
        Step::Bands(b) => {
            out.extend(b.steps.iter().flat_map(|s| arrays_of(c, s)));
            let mut inside = BTreeSet::new();
            repeat::bound(std::slice::from_ref(s), &mut inside);
            out.retain(|a| !inside.contains(&c.root(*a)));
            out.extend(b.read.iter().chain(&b.made).chain(&b.sums).map(|h| h.outside));
            out.extend(scalars(&b.total));
        }
        Step::Repeat(r) => {
            out.extend(r.carried.iter().flat_map(|q| [q.arrays.state, q.arrays.start, q.arrays.next]));
            if let Trips::For(_, count) = &r.trips {
                out.extend(scalars(count));
            }
            // What the body binds is dropped at its end.
            let mut inside = BTreeSet::new();
            repeat::bound(&r.steps, &mut inside);
            out.extend(r.steps.iter().flat_map(|s| arrays_of(c, s)));
            out.retain(|a| !inside.contains(&c.root(*a)));
        }
    }
    out
}

/// The arrays a list of nodes stores to.
pub(super) fn stored(nodes: &[Node], out: &mut BTreeSet<ArrayId>) {
    visit_arrays(nodes, &mut |a, access| out.extend((access != Access::Read).then_some(a)));
}

/// Whether the nodes store every element of an array; `around` are the axes around them.
fn sets_all<'t>(
    c: &Cpu<'_>,
    a: ArrayId,
    nodes: &'t [Node],
    around: &mut Vec<&'t Axis>,
    covers: &mut Covers,
) -> bool {
    let mut sets = false;
    for n in nodes {
        match n {
            Node::Store { array, index, .. } if *array == a => {
                sets |= covers.store(a, c.memory_dims(a), index, around);
            }
            Node::Loop(l) => {
                let outside = around.len();
                around.extend(l.axes());
                sets |= sets_all(c, a, &l.body, around, covers);
                around.truncate(outside);
            }
            Node::Recurrence(Recurrence { rounds: Rounds::For(axis, None), body, .. }) => {
                around.push(axis);
                sets |= sets_all(c, a, body, around, covers);
                around.pop();
            }
            _ => {}
        }
    }
    sets
}

fn reads(c: &Cpu<'_>, a: ArrayId, nodes: &[Node]) -> bool {
    let mut any = false;
    visit_arrays(nodes, &mut |b, access| any |= access == Access::Read && c.root(b) == a);
    any
}

/// Calls `f` with the arrays of which recurrences change elements of the point's own, or all code does if `inside`.
fn changed(nodes: &[Node], inside: bool, f: &mut impl FnMut(ArrayId)) {
    for n in nodes {
        match n {
            Node::Loop(l) => changed(&l.body, inside, f),
            Node::Recurrence(r) => changed(&r.body, true, f),
            Node::Accumulate { array, .. } | Node::Write { array, .. } if inside => f(*array),
            Node::Accumulate { .. }
            | Node::Write { .. }
            | Node::Let(_)
            | Node::Scan(_)
            | Node::Store { .. } => {}
        }
    }
}

/// The arrays that nodes store to at other places than the rows of these points: a task is not given its rows of them, but all.
fn scattered(c: &Cpu<'_>, points: &[Axis], nodes: &[Node], out: &mut BTreeSet<ArrayId>) {
    for n in nodes {
        match n {
            Node::Store { array, index, .. } => {
                let root = c.root(*array);
                let rows = points.iter().map(|x| Atom::Var(x.var));
                let is_shared = matches!(c.p.arrays[root.0 as usize].home, Home::Heap | Home::Band(_));
                if is_shared && !rows.eq(index.iter().copied().take(points.len())) {
                    out.insert(root);
                }
            }
            Node::Loop(l) => scattered(c, points, &l.body, out),
            Node::Recurrence(r) => scattered(c, points, &r.body, out),
            Node::Let(_) | Node::Scan(_) | Node::Accumulate { .. } | Node::Write { .. } => {}
        }
    }
}

/// The same of a tree, or of the loops of one without axes, each of which is divided.
fn scattered_in(c: &Cpu<'_>, t: &Tree) -> BTreeSet<ArrayId> {
    let mut out = BTreeSet::new();
    if !t.axes.is_empty() {
        scattered(c, &t.axes, &t.body, &mut out);
    } else if !t.body.iter().any(|n| matches!(n, Node::Recurrence(_))) {
        for n in &t.body {
            if let Node::Loop(l) = n {
                scattered(c, &l.axes().cloned().collect::<Vec<_>>(), &l.body, &mut out);
            }
        }
    }
    out
}

/// The axes of a tree that count as one, in groups.
pub(super) fn merged(t: &Tree) -> Vec<Vec<Var>> {
    fn inside(nodes: &[Node], out: &mut Vec<Vec<Var>>) {
        for n in nodes {
            match n {
                Node::Loop(l) => {
                    out.push(l.axes().map(|a| a.var).collect());
                    inside(&l.body, out);
                }
                Node::Recurrence(r) => inside(&r.body, out),
                Node::Let(_)
                | Node::Scan(_)
                | Node::Store { .. }
                | Node::Accumulate { .. }
                | Node::Write { .. } => {}
            }
        }
    }
    let mut out = vec![t.axes.iter().map(|a| a.var).collect()];
    inside(&t.body, &mut out);
    out
}

impl Cpu<'_> {
    /// A tree, with the memory of what it makes.
    pub(super) fn regions(&mut self, t: &Tree) -> String {
        let mut out = String::new();
        let mut written = BTreeSet::new();
        stored(&t.body, &mut written);
        written.retain(|a| !matches!(self.p.arrays[a.0 as usize].home, Home::Row { .. } | Home::Scratch));
        let scattered = scattered_in(self, t);
        for a in &written {
            let fresh = self.p.arrays[a.0 as usize].home == Home::Heap && !self.allocated.contains(a);
            let mut axes = t.axes.iter().collect();
            let mut sets_all = || sets_all(self, *a, &t.body, &mut axes, &mut Covers::default());
            if fresh && !scattered.contains(a) && self.rank(*a) > 0 && !reads(self, *a, &t.body) && sets_all()
            {
                self.unset.insert(*a);
            }
            out.push_str(&self.allocate(*a));
        }
        let code = self.code(t);
        out.push_str(&code);
        // Before memory that it was to set counts as set, and before anything is done with what it gave.
        if can_fail(&code) {
            out.push_str(END_IF_FAILED);
        }
        for a in std::mem::take(&mut self.unset) {
            out.push_str(&format!("let mut {0} = unsafe {{ __rt::trusted::all_set({0}) }};\n", self.name(a)));
        }
        out
    }

    /// The code of a tree whose arrays exist.
    fn code(&mut self, t: &Tree) -> String {
        if !combined(&t.body).is_empty() || overwrites_in_order(self.p, t) {
            return self.update(t);
        }
        if !t.axes.is_empty() {
            return self.parallel(t);
        }
        if t.body.iter().any(|n| matches!(n, Node::Recurrence(_))) {
            return self.point(t);
        }
        // At the host level: scalars in order; each loop is a region of its own.
        let mut out = String::new();
        let mut host = Region { host: true, ..Region::default() };
        for n in &t.body {
            match n {
                Node::Loop(l) => out.push_str(&self.host_loop(l, &mut host)),
                Node::Store { array, value, .. } => {
                    out.push_str(&format!("{} = {};\n", self.name(*array), expr::atom(*value)));
                }
                Node::Let(l) => {
                    let text = self.binding(l, &mut host);
                    out.push_str(&text);
                }
                Node::Scan(_) => internal::broken("a scan in no loop".into()),
                Node::Recurrence(_) => internal::broken("a loop of a point where there are no points".into()),
                Node::Accumulate { .. } | Node::Write { .. } => {
                    internal::broken("an update in a tree that has none".into())
                }
            }
        }
        out
    }

    /// A tree whose points are divided among tasks.
    fn parallel(&mut self, t: &Tree) -> String {
        let function = match (t.plan.division, &t.plan.form) {
            (Division::Points, Form::Together(width) | Form::Blocks(width) | Form::Few(width, _)) => {
                format!("for_blocks({width}, ")
            }
            (Division::Points, _) => "for_chunks(".to_string(),
            (Division::Columns, _) => "for_wide_chunks(".to_string(),
            (Division::ColumnsAndTrips, _) => return self.columns(t),
            (other, _) => internal::broken(format!("a tree is divided as {other:?}")),
        };
        let mut r = Region { groups: merged(t), ..Region::default() };
        changed(&t.body, true, &mut |a| r.owned.extend([self.root(a)]));
        self.declare_scratch(t, &mut r);
        self.declare_outputs(&t.axes, &t.body, &mut r);
        let all = Loop::new(t.axes[0].clone(), t.body.clone(), Vec::new(), t.loc);
        let points = Loop { merged: t.axes[1..].to_vec(), plan: t.plan.clone(), ..all };
        let run = self.range_loop(&points, "lo", "hi", &mut r);
        let (extent, work) = (self.points_of(t), self.work(&t.body));
        let call = self.region(&mut r, &run, &Given::NOTHING);
        format!(
            "{{\n{}__rt::cpu::{function}{extent} as usize, ({work}).max(1) as usize, &|lo, hi| {{ {} }});\n{}}}\n",
            call.shared, call.invoke, call.after
        )
    }

    /// A tree that is one point with loops of its own: a function of its own, as the host's would be too long for the Rust compiler.
    fn point(&mut self, t: &Tree) -> String {
        let mut r = Region { host: true, ..Region::default() };
        changed(&t.body, false, &mut |a| r.owned.extend([self.root(a)]));
        self.declare_outputs(&[], &t.body, &mut r);
        let run = self.nodes(&t.body, &mut r);
        let call = self.region(&mut r, &run, &Given::NOTHING);
        format!("{{\n{}let (lo, hi) = (0usize, 1usize);\n{};\n{}}}\n", call.shared, call.invoke, call.after)
    }

    /// Scratch memory of a tree, for the points that go together or for one.
    fn declare_scratch(&mut self, t: &Tree, r: &mut Region) {
        visit_arrays(&t.body, &mut |a, _| {
            if self.p.arrays[a.0 as usize].home == Home::Scratch
                && let Some(points) = scratch::points(self.p, t, a)
            {
                r.owned.remove(&a);
                r.scratch.insert(a, points);
            }
        });
        let Some((axes, width)) = scratch::lanes(t) else { return };
        let is_whole = axes.len() == t.axes.len() && axes.iter().zip(&t.axes).all(|(a, b)| a.var == b.var);
        let points = if is_whole { "(hi - lo)".into() } else { self.trips_in(axes.into_iter(), r) };
        let is_constant = |a: &ArrayId| {
            let own = &r.scratch[a];
            let dims = self.p.arrays[a.0 as usize].dims.iter().enumerate();
            dims.filter(|(k, _)| !own.contains(k)).all(|(_, d)| d.as_constant().is_some())
        };
        // Where nothing is allocated, rustc may as well know how far lanes are apart.
        r.width = Some(match r.scratch.keys().all(is_constant) {
            true => width.to_string(),
            false => format!("{points}.max(1).min({width})"),
        });
        r.most_lanes = width;
    }

    /// The number of points of a tree, as an expression.
    pub(super) fn points_of(&self, t: &Tree) -> String {
        expr::product(t.axes.iter().map(|a| self.dim(&a.extent)))
    }

    /// What the code of some points writes: rows that belong to the region, rows of arrays, and whole arrays where it stores to other
    /// places as well. `points` are the axes that are divided.
    pub(super) fn declare_outputs(&self, points: &[Axis], nodes: &[Node], r: &mut Region) {
        scattered(self, points, nodes, &mut r.owned);
        let mut written = BTreeSet::new();
        stored(nodes, &mut written);
        for a in written {
            match self.p.arrays[a.0 as usize].home {
                Home::Row { .. } => {
                    r.rows.insert(a);
                }
                Home::Scratch => {}
                _ if r.owned.contains(&self.root(a)) || r.targets.contains_key(&self.root(a)) => {}
                _ => {
                    r.outputs.insert(self.root(a));
                }
            }
        }
    }

    /// A loop at the host level, in parallel chunks.
    fn host_loop(&mut self, l: &Loop, host: &mut Region) -> String {
        if l.is_ordered() {
            return self.host_scan(l, host);
        }
        let mut r = Region::default();
        changed(&l.body, true, &mut |a| r.owned.extend([self.root(a)]));
        self.declare_outputs(&l.axes().cloned().collect::<Vec<_>>(), &l.body, &mut r);
        let extent = self.dim(&l.axis.extent);
        let work = self.work(&l.body);
        let types: Vec<String> = l.folds.iter().map(|f| fold::state_type(self, f)).collect();
        let output = format!("({})", types.iter().map(|t| format!("{t}, ")).collect::<String>());
        let run = self.range_loop(l, "lo", "hi", &mut r);
        let finish = l.folds.iter().map(|f| format!("{}, ", fold::state_value(f))).collect::<String>();
        let empty: String = l.folds.iter().map(|f| fold::empty_state(self, f) + ", ").collect();
        let (value, empty) = (format!("({finish})"), format!("({empty})"));
        let given = Given { output: &output, value: &value, left_out: &empty, at: "(lo, 0)" };
        let call = self.region(&mut r, &run, &given);
        l.folds.iter().for_each(|f| host.bound(f.result));
        if l.folds.is_empty() {
            return format!(
                "{{\n{}__rt::cpu::for_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, &|lo, hi| {{ {}; }});\n{}}}\n",
                call.shared, call.invoke, call.after
            );
        }
        let combine: String =
            l.folds.iter().enumerate().map(|(i, f)| fold::combine_states(self, f, i) + ", ").collect();
        let names: String = l.folds.iter().map(|f| fold::result_pattern(f) + ", ").collect();
        format!(
            "let ({names}) = {{\n{}__rt::cpu::fold_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, &|lo, hi| {{ {} }}, &|x: {output}, y: {output}| ({combine}))\n}}.unwrap_or({empty});\n{}",
            call.shared, call.invoke, call.after
        )
    }

    /// An array's elements, to be changed.
    pub(super) fn slice_mut(&self, a: ArrayId) -> String {
        let name = self.name(a);
        if self.rank(a) == 0 {
            format!("::core::slice::from_mut(&mut {name})")
        } else {
            format!("&mut {name}[..]")
        }
    }

    /// A tree that accumulates or writes at computed indices.
    fn update(&mut self, t: &Tree) -> String {
        let targets: Vec<ArrayId> = match combined(&t.body) {
            into if into.is_empty() => overwritten(&t.body).into_iter().collect(),
            into => into.into_iter().map(|(a, _)| a).collect(),
        };
        if t.axes.is_empty() {
            let mut host = Region { host: true, ..Region::default() };
            // What is read of a target is read before it is borrowed.
            let (code, updates): (Vec<Node>, Vec<Node>) =
                t.body.iter().cloned().partition(|n| matches!(n, Node::Let(_) | Node::Loop(_)));
            let code = self.nodes(&code, &mut host);
            let names = self.targets(&targets, &mut host);
            let updates = self.nodes(&updates, &mut host);
            let slices = targets.iter().map(|a| self.slice_mut(*a) + ", ").collect::<String>();
            return format!("{{\n{code}let ({names}) = ({slices});\n{updates}}}\n");
        }
        if t.plan.division == Division::Copies {
            return self.collected(t, &targets);
        }
        let [array] = targets[..] else { internal::broken("several arrays are overwritten".into()) };
        self.overwritten(t, array)
    }

    /// Names of the arrays that code changes in place.
    fn targets(&self, arrays: &[ArrayId], r: &mut Region) -> String {
        let name = |k: usize| if arrays.len() == 1 { "target".into() } else { format!("target{k}") };
        r.targets.extend(arrays.iter().enumerate().map(|(k, a)| (self.root(*a), name(k))));
        (0..arrays.len()).map(|k| name(k) + ", ").collect()
    }

    /// A tree whose tasks combine into copies of arrays of one type.
    fn collected(&mut self, t: &Tree, arrays: &[ArrayId]) -> String {
        let mut r = Region { groups: merged(t), ..Region::default() };
        changed(&t.body, false, &mut |a| r.owned.extend([self.root(a)]));
        let names = self.targets(arrays, &mut r);
        self.declare_scratch(t, &mut r);
        self.declare_outputs(&t.axes, &t.body, &mut r);
        let all = Loop::new(t.axes[0].clone(), t.body.clone(), Vec::new(), t.loc);
        let points = Loop {
            merged: t.axes[1..].to_vec(),
            plan: Plan { division: Division::Undivided, ..t.plan.clone() },
            ..all
        };
        let run = self.range_loop(&points, "lo", "hi", &mut r);
        let elem = self.elem(arrays[0]);
        let reducer = combined(&t.body)[0].1;
        let neutral = expr::constant(reducer.neutral(elem));
        r.reset = Some(r.targets.values().map(|n| format!("{n}.fill({neutral});\n")).collect());
        let apart = r.angles && !r.rereads;
        let fields = r.targets.values().map(|n| (n.clone(), format!("&'a mut [{elem}]"), n.clone()));
        r.extra.extend(fields.collect::<Vec<_>>());
        let call = self.region(&mut r, &run, &Given::NOTHING);
        let (extent, work) = (self.points_of(t), self.work(&t.body));
        // Points that do more than combine read rows as long as what they combine into: for a copy that goes through memory as well
        // there have to be several of them.
        let does_more = |n: &Node| match n {
            Node::Store { .. } | Node::Recurrence(_) => true,
            Node::Loop(l) => !l.folds.is_empty(),
            _ => false,
        };
        let work = if t.body.iter().any(does_more) { format!("({work}) / 16") } else { work };
        let width = match t.plan.form {
            Form::Together(width) | Form::Blocks(width) | Form::Few(width, _) => width,
            _ => 1,
        };
        let slices = arrays.iter().map(|a| self.slice_mut(*a) + ", ").collect::<String>();
        let combine = expr::combine(reducer, elem, "x", "y");
        format!(
            "{{\n{}{}.got(__rt::cpu::accumulate([{slices}], ({extent}.max(0) as usize, {width}), ({work}).max(1) as usize, {apart}, {neutral}, &|x: &mut [{elem}], y: &[{elem}]| __rt::cpu::combine(x, y, |x: {elem}, y: {elem}| {combine}), &|lo, hi, [{names}]| {{ {} }}))?;\n{}}}\n",
            call.shared,
            self.owner(arrays[0]),
            call.invoke,
            call.after
        )
    }

    /// A tree that writes at computed indices.
    fn overwritten(&mut self, t: &Tree, array: ArrayId) -> String {
        let axis = &t.axes[0];
        let distinct = t.plan.division == Division::Points;
        let root = self.root(array);
        let mut r = Region { shared: distinct, ..Region::default() };
        // What a point overwrites it may have read.
        let rereads = distinct && reads(self, root, &t.body);
        match rereads {
            true => drop(r.owned.insert(root)),
            false => drop(self.targets(&[array], &mut r)),
        }
        r.bound(axis.var);
        let body = self.nodes(&t.body, &mut r);
        let run = counted(axis.var, "lo", "hi", &body);
        let elem = self.elem(array);
        match (distinct, rereads) {
            (_, true) => {}
            (true, _) => r.extra.push((
                "target".into(),
                format!("__rt::trusted::Shared<'a, {elem}>"),
                "target.clone()".into(),
            )),
            (false, _) => r.extra.push(("target".into(), format!("&'a mut [{elem}]"), "target".into())),
        }
        let call = self.region(&mut r, &run, &Given::NOTHING);
        let (extent, work, name) = (self.dim(&axis.extent), self.work(&t.body), self.slice_mut(array));
        if !distinct {
            // In order, so that the last of several values for one place stays.
            return format!(
                "{{\n{}let (lo, hi, target) = (0usize, {extent}.max(0) as usize, {name});\n{};\n{}}}\n",
                call.shared, call.invoke, call.after
            );
        }
        let target = match rereads {
            true => String::new(),
            false => format!("let target = __rt::trusted::Shared::new({name});\n"),
        };
        format!(
            "{{\n{}{target}__rt::cpu::for_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, &|lo, hi| {{ {} }});\n{}}}\n",
            call.shared, call.invoke, call.after
        )
    }
}
