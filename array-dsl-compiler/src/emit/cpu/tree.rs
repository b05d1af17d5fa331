//! Trees: what is parallel, and how.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::nodes::counted;
use super::region::{Given, Region, can_fail};
use super::{Cpu, END_IF_FAILED, expr, fold, hoist, merge, repeat, scan};
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Trips, Var};
use crate::dim::Dim;
use crate::loops::uses::{Access, visit_arrays, visit_sizes};
use crate::loops::{Home, Loop, Node, Step, Tree};
use crate::scalar::Op;

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
            out.extend([c.result, c.a.0, c.b.0]);
            out.extend(c.extents.iter().flat_map(scalars));
        }
        Step::Fill { array, .. } => out.push(*array),
        Step::Copy { array, source } => out.extend([*array, *source]),
        Step::Check(..) => {}
        Step::Move { array, source } => out.extend([*array, *source]),
        Step::Sort(s) => out.extend([s.result, s.keys]),
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

/// Whether the nodes store every element of an array and never read it; `around` are the axes around them.
fn sets_all(c: &Cpu<'_>, a: ArrayId, nodes: &[Node], around: &[Axis]) -> bool {
    let mut sets = false;
    for n in nodes {
        match n {
            Node::Store { array, index, .. } if *array == a => {
                let dims = c.memory_dims(a);
                let axis =
                    |(i, d): (&Atom, &Dim)| around.iter().any(|x| Atom::Var(x.var) == *i && x.extent == *d);
                let distinct: BTreeSet<&Atom> = index.iter().collect();
                sets = distinct.len() == dims.len() && index.iter().zip(dims).all(axis);
            }
            Node::Loop(l) => {
                let around: Vec<Axis> = around.iter().chain([&l.axis]).cloned().collect();
                sets |= sets_all(c, a, &l.body, &around);
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

impl Cpu<'_> {
    pub(super) fn tree(&mut self, t: &Tree) -> String {
        let t = &Tree { body: hoist::hoisted(self, t.body.clone()), ..t.clone() };
        let mut out = String::new();
        let mut written = BTreeSet::new();
        stored(&t.body, &mut written);
        written.retain(|a| !matches!(self.p.arrays[a.0 as usize].home, Home::Row { .. }));
        for a in &written {
            let fresh = self.p.arrays[a.0 as usize].home == Home::Heap && !self.allocated.contains(a);
            if fresh && self.rank(*a) > 0 && sets_all(self, *a, &t.body, &t.axes) && !reads(self, *a, &t.body)
            {
                self.unset.insert(*a);
            }
            out.push_str(&self.allocate(*a));
        }
        let steps = self.steps(t);
        out.push_str(&steps);
        // Before memory that it was to set counts as set, and before anything is done with what it gave.
        if can_fail(&steps) {
            out.push_str(END_IF_FAILED);
        }
        for a in std::mem::take(&mut self.unset) {
            out.push_str(&format!("let mut {0} = unsafe {{ __rt::trusted::all_set({0}) }};\n", self.name(a)));
        }
        out
    }

    /// The code of a tree whose arrays exist.
    fn steps(&mut self, t: &Tree) -> String {
        if let Some(update) =
            t.body.iter().find(|n| matches!(n, Node::Accumulate { .. } | Node::Write { .. }))
        {
            return self.update(t, update);
        }
        if !t.axes.is_empty() {
            return self.parallel(t);
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
                Node::Accumulate { .. } | Node::Write { .. } => {}
            }
        }
        out
    }

    /// A tree with parallel axes.
    fn parallel(&mut self, t: &Tree) -> String {
        let groups = merge::groups(self, t);
        let axis = &t.axes[0];
        let mut r = Region { groups: groups.clone(), ..Region::default() };
        let columns = groups.len() == 1 && self.strips_pay(axis, &t.body, &r);
        if columns && let Some(text) = self.columns(t, &groups) {
            return text;
        }
        self.declare_outputs(&t.body, &mut r);
        r.bound(axis.var);
        let mut nodes = t.body.clone();
        for (k, g) in groups.iter().enumerate().skip(1).rev() {
            let axis = Axis { var: g[0], extent: self.merged_dim(t, &groups, k) };
            nodes = hoist::hoisted(
                self,
                vec![Node::Loop(Loop { axis, body: nodes, folds: Vec::new(), loc: t.loc })],
            );
        }
        let axis = Axis { var: axis.var, extent: self.merged_dim(t, &groups, 0) };
        let outermost = Loop { axis, body: nodes.clone(), folds: Vec::new(), loc: t.loc };
        let run = self.range_loop(&outermost, "lo", "hi", &mut r);
        let (extent, work) = (self.merged_extent(t, &groups, 0), self.work(&nodes));
        let call = self.region(&mut r, &run, &Given::NOTHING);
        format!(
            "{{\n{}__rt::cpu::{}({extent} as usize, ({work}).max(1) as usize, |lo, hi| {{ {} }});\n{}}}\n",
            call.shared,
            if columns { "for_wide_chunks" } else { "for_chunks" },
            call.invoke,
            call.after
        )
    }

    fn merged_dim(&self, t: &Tree, groups: &[Vec<Var>], k: usize) -> Dim {
        Dim::product(t.axes.iter().filter(|a| groups[k].contains(&a.var)).map(|a| &a.extent))
    }

    /// The number of points of a group of axes, as an expression.
    pub(super) fn merged_extent(&self, t: &Tree, groups: &[Vec<Var>], k: usize) -> String {
        let axes = t.axes.iter().filter(|a| groups[k].contains(&a.var));
        format!(
            "({})",
            axes.map(|a| format!("{}.max(0)", self.dim(&a.extent))).collect::<Vec<_>>().join(" * ")
        )
    }

    /// The tree's body inside loops over all parallel axes but the first.
    fn inner_axes(&self, t: &Tree) -> Vec<Node> {
        let mut nodes = t.body.clone();
        for a in t.axes[1..].iter().rev() {
            nodes = vec![Node::Loop(Loop { axis: a.clone(), body: nodes, folds: Vec::new(), loc: t.loc })];
        }
        nodes
    }

    pub(super) fn declare_outputs(&self, nodes: &[Node], r: &mut Region) {
        let mut written = BTreeSet::new();
        stored(nodes, &mut written);
        for a in written {
            match self.p.arrays[a.0 as usize].home {
                Home::Row { .. } => {
                    r.rows.insert(a);
                }
                _ => {
                    r.outputs.insert(self.root(a));
                }
            }
        }
    }

    /// A loop at the host level, in parallel chunks.
    fn host_loop(&mut self, l: &Loop, host: &mut Region) -> String {
        if scan::is_ordered(&l.body) {
            return self.host_scan(l, host);
        }
        let mut r = Region::default();
        self.declare_outputs(&l.body, &mut r);
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
                "{{\n{}__rt::cpu::for_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, |lo, hi| {{ {}; }});\n{}}}\n",
                call.shared, call.invoke, call.after
            );
        }
        let combine: String =
            l.folds.iter().enumerate().map(|(i, f)| fold::combine_states(self, f, i) + ", ").collect();
        let names: String = l.folds.iter().map(|f| fold::result_pattern(f) + ", ").collect();
        format!(
            "let ({names}) = {{\n{}__rt::cpu::fold_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, |lo, hi| {{ {} }}, |x: {output}, y: {output}| ({combine}))\n}}.unwrap_or({empty});\n{}",
            call.shared, call.invoke, call.after
        )
    }

    /// An array's elements, to be changed.
    fn slice_mut(&self, a: ArrayId) -> String {
        let name = self.name(a);
        if self.rank(a) == 0 {
            format!("::core::slice::from_mut(&mut {name})")
        } else {
            format!("&mut {name}[..]")
        }
    }

    /// A tree that accumulates or writes at computed indices.
    fn update(&mut self, t: &Tree, update: &Node) -> String {
        let (array, reducer) = match update {
            Node::Accumulate { array, reducer, .. } => (*array, Some(*reducer)),
            Node::Write { array, .. } => (*array, None),
            _ => panic!("an update that updates nothing"),
        };
        if t.axes.is_empty() {
            let mut host = Region { host: true, ..Region::default() };
            // What is read of the target is read before it is borrowed.
            let (code, updates): (Vec<Node>, Vec<Node>) =
                t.body.iter().cloned().partition(|n| matches!(n, Node::Let(_) | Node::Loop(_)));
            let code = self.nodes(&code, &mut host);
            let updates = self.nodes(&updates, &mut host);
            return format!("{{\n{code}let target = {};\n{updates}}}\n", self.slice_mut(array));
        }
        let nodes = self.inner_axes(t);
        let axis = &t.axes[0];
        let distinct = reducer.is_none() && distinct(t, update) && !reads(self, self.root(array), &t.body);
        let mut r = Region { target: Some(self.root(array)), shared: distinct, ..Region::default() };
        r.bound(axis.var);
        let body = self.nodes(&nodes, &mut r);
        let run = counted(axis.var, "lo", "hi", &body);
        let elem = self.elem(array);
        let target =
            if distinct { format!("__rt::trusted::Shared<'a, {elem}>") } else { format!("&'a mut [{elem}]") };
        let value = if distinct { "target.clone()" } else { "target" };
        r.extra.push(("target".into(), target, value.into()));
        let call = self.region(&mut r, &run, &Given::NOTHING);
        let (extent, work, name) = (self.dim(&axis.extent), self.work(&nodes), self.slice_mut(array));
        match reducer {
            Some(q) => {
                let neutral = expr::constant(q.neutral(elem));
                let combine = expr::combine(q, elem, "x", "y");
                format!(
                    "{{\n{}{}.got(__rt::cpu::accumulate({name}, {extent}.max(0) as usize, ({work}).max(1) as usize, {neutral}, |x: {elem}, y: {elem}| {combine}, |lo, hi, target| {{ {} }}))?;\n{}}}\n",
                    call.shared,
                    self.owner(array),
                    call.invoke,
                    call.after
                )
            }
            None if distinct => format!(
                "{{\n{}let target = __rt::trusted::Shared::new({name});\n__rt::cpu::for_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, |lo, hi| {{ {} }});\n{}}}\n",
                call.shared, call.invoke, call.after
            ),
            // In order, so that the last of several values for one place stays.
            None => format!(
                "{{\n{}let (lo, hi, target) = (0usize, {extent}.max(0) as usize, {name});\n{};\n{}}}\n",
                call.shared, call.invoke, call.after
            ),
        }
    }
}

/// Whether different points of a tree write to different places: each axis is an index of its own, or one of its own plus what is
/// the same at all points.
fn distinct(t: &Tree, write: &Node) -> bool {
    let Node::Write { index, .. } = write else { return false };
    let updates = t.body.iter().filter(|n| matches!(n, Node::Accumulate { .. } | Node::Write { .. }));
    if scan::is_ordered(&t.body) || updates.count() != 1 {
        return false;
    }
    let axes: Vec<Atom> = t.axes.iter().map(|a| Atom::Var(a.var)).collect();
    // What differs from point to point, as far as it can be told.
    let mut differ: HashSet<Atom> = axes.iter().copied().collect();
    let mut shifted: HashMap<Atom, Atom> = HashMap::new();
    for n in &t.body {
        match n {
            Node::Let(l) => {
                let mut differs = false;
                l.exp.visit_atoms(&mut |a| differs |= differ.contains(&a));
                if let (Exp::Op(Op::Add, args), [v]) = (&l.exp, l.vars.as_slice())
                    && let Some(axis) = args.iter().find(|a| axes.contains(a))
                    && args.iter().filter(|a| differ.contains(a)).count() == 1
                {
                    shifted.insert(Atom::Var(*v), *axis);
                }
                differ.extend(l.vars.iter().filter(|_| differs).map(|v| Atom::Var(*v)));
            }
            Node::Loop(l) => differ.extend(l.folds.iter().map(|f| Atom::Var(f.result))),
            Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => {}
        }
    }
    axes.iter().all(|a| index.iter().any(|i| shifted.get(i).unwrap_or(i) == a))
}
