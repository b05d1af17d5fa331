//! Regions and loops.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Cpu, expr, fold};
use crate::bulk::{ArrayId, Atom, Block, Exp, Reducer, Var};
use crate::loops::{Home, Loop, Node, Step, Tree};
use crate::ty::Elem;

/// What the code of a region uses and binds: its parameters follow from that.
#[derive(Default)]
pub(super) struct Region {
    sizes: BTreeSet<usize>,
    arrays: BTreeSet<ArrayId>,
    /// Arrays the region writes; their memory starts at the chunk's first row.
    outputs: BTreeMap<ArrayId, ()>,
    rows: BTreeSet<ArrayId>,
    free: BTreeSet<Var>,
    bound: HashSet<Var>,
    /// At the host level nothing is passed: everything is in scope.
    host: bool,
}

impl Region {
    pub fn atom(&mut self, a: Atom) -> String {
        if let Atom::Var(v) = a {
            if !self.bound.contains(&v) {
                self.free.insert(v);
            }
        }
        expr::atom(a)
    }

    pub fn bound(&mut self, v: Var) {
        self.bound.insert(v);
    }

    pub fn uses_size(&mut self, k: usize) {
        self.sizes.insert(k);
    }

    pub fn uses_array(&mut self, a: ArrayId) {
        self.arrays.insert(a);
    }

    pub fn is_output(&self, a: ArrayId) -> bool {
        self.outputs.contains_key(&a)
    }

    /// An array as a slice expression.
    pub fn array(&mut self, c: &Cpu<'_>, a: ArrayId) -> String {
        let root = c.root(a);
        let name = c.name(a);
        if matches!(c.p.arrays[root.0 as usize].home, Home::Row { .. }) {
            self.rows.insert(root);
            return format!("&{name}[..]");
        }
        if self.is_output(root) {
            return format!("&*{name}");
        }
        self.uses_array(root);
        if self.host { format!("&{name}[..]") } else { name }
    }
}

/// The arrays a step touches.
pub(super) fn arrays_of(s: &Step) -> Vec<ArrayId> {
    let mut out = Vec::new();
    match s {
        Step::Tree(t) => {
            visit(&t.body, &mut out);
            t.axes.iter().for_each(|a| sizes(&a.extent, &mut out));
        }
        Step::Contract(c) => {
            out.extend([c.result, c.a.0, c.b.0]);
            c.extents.iter().for_each(|d| sizes(d, &mut out));
        }
        Step::Fill { array, .. } => out.push(*array),
        Step::Copy { array, source } => out.extend([*array, *source]),
        Step::Check(..) => {}
    }
    out
}

fn sizes(d: &crate::dim::Dim, out: &mut Vec<ArrayId>) {
    for a in d.atoms() {
        if let crate::dim::SizeAtom::Scalar(s) = a {
            out.push(ArrayId(s));
        }
    }
}

fn visit(nodes: &[Node], out: &mut Vec<ArrayId>) {
    for n in nodes {
        match n {
            Node::Let(l) => Block { lets: vec![l.clone()] }.visit_reads(&mut |a, _| out.push(a)),
            Node::Loop(l) => {
                sizes(&l.axis.extent, out);
                visit(&l.body, out);
            }
            Node::Store { array, .. } | Node::Accumulate { array, .. } | Node::Write { array, .. } => out.push(*array),
        }
    }
}

/// The arrays a list of nodes stores to.
fn stored(nodes: &[Node], out: &mut BTreeSet<ArrayId>) {
    for n in nodes {
        match n {
            Node::Store { array, .. } | Node::Accumulate { array, .. } | Node::Write { array, .. } => {
                out.insert(*array);
            }
            Node::Loop(l) => stored(&l.body, out),
            Node::Let(_) => {}
        }
    }
}

impl Cpu<'_> {
    pub(super) fn tree(&mut self, t: &Tree) -> String {
        let mut out = String::new();
        let mut written = BTreeSet::new();
        stored(&t.body, &mut written);
        for a in &written {
            if !matches!(self.p.arrays[a.0 as usize].home, Home::Row { .. }) {
                out.push_str(&self.allocate(*a));
            }
        }
        if let Some(update) = t.body.iter().find(|n| matches!(n, Node::Accumulate { .. } | Node::Write { .. })) {
            return out + &self.update(t, update);
        }
        if !t.axes.is_empty() {
            return out + &self.parallel(t);
        }
        // At the host level: scalars in order; each loop is a region of its own.
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
        let nodes = self.inner_axes(t);
        let axis = &t.axes[0];
        let mut r = Region::default();
        self.declare_outputs(&t.body, &mut r);
        r.bound(axis.var);
        let body = self.nodes(&nodes, &mut r);
        let run = format!("let mut v{0} = lo;\nwhile v{0} < hi {{\n{body}v{0} += 1;\n}}\n", axis.var.0);
        let (extent, work) = (self.dim(&axis.extent), self.work(&nodes));
        let call = self.region(&mut r, &run, "()", "");
        format!(
            "{{\n{}__rt::cpu::for_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, |lo, hi| {{ {} }});\n}}\n",
            call.shared, call.invoke
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

    fn declare_outputs(&self, nodes: &[Node], r: &mut Region) {
        let mut written = BTreeSet::new();
        stored(nodes, &mut written);
        for a in written {
            match self.p.arrays[a.0 as usize].home {
                Home::Row { .. } => {
                    r.rows.insert(a);
                }
                _ => {
                    r.outputs.insert(self.root(a), ());
                }
            }
        }
    }

    /// A loop at the host level, in parallel chunks.
    fn host_loop(&mut self, l: &Loop, host: &mut Region) -> String {
        let mut r = Region::default();
        self.declare_outputs(&l.body, &mut r);
        let extent = self.dim(&l.axis.extent);
        let work = self.work(&l.body);
        let types: Vec<String> = l.folds.iter().map(|f| fold::state_type(self, f)).collect();
        let output = format!("({})", types.iter().map(|t| format!("{t}, ")).collect::<String>());
        let run = self.range_loop(l, "lo", "hi", &mut r);
        let finish = l.folds.iter().map(|f| format!("{}, ", fold::state_value(f))).collect::<String>();
        let call = self.region(&mut r, &run, &output, &format!("({finish})"));
        l.folds.iter().for_each(|f| host.bound(f.result));
        if l.folds.is_empty() {
            return format!(
                "{{\n{}__rt::cpu::for_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, |lo, hi| {{ {}; }});\n}}\n",
                call.shared, call.invoke
            );
        }
        let combine: String = l.folds.iter().enumerate().map(|(i, f)| fold::combine_states(self, f, i) + ", ").collect();
        let empty: String = l.folds.iter().map(|f| fold::empty_state(self, f) + ", ").collect();
        let names: String = l.folds.iter().map(|f| fold::result_pattern(f) + ", ").collect();
        format!(
            "let ({names}) = {{\n{}__rt::cpu::fold_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, |lo, hi| {{ {} }}, |x: {output}, y: {output}| ({combine}))\n}}.unwrap_or(({empty}));\n",
            call.shared, call.invoke
        )
    }

    /// A tree that accumulates or writes at computed indices.
    fn update(&mut self, t: &Tree, update: &Node) -> String {
        let (array, reducer) = match update {
            Node::Accumulate { array, reducer, .. } => (*array, Some(*reducer)),
            Node::Write { array, .. } => (*array, None),
            _ => return String::new(),
        };
        if t.axes.is_empty() {
            let mut host = Region { host: true, ..Region::default() };
            let body = self.nodes(&t.body, &mut host);
            return format!("{{\nlet target = &mut {}[..];\n{body}}}\n", self.name(array));
        }
        let nodes = self.inner_axes(t);
        let axis = &t.axes[0];
        let mut r = Region::default();
        r.bound(axis.var);
        let body = self.nodes(&nodes, &mut r);
        let run = format!("let mut v{0} = lo;\nwhile v{0} < hi {{\n{body}v{0} += 1;\n}}\n", axis.var.0);
        let elem = self.elem(array);
        let call = self.region_with(&mut r, &run, "()", "", Some(elem));
        let (extent, work, name) = (self.dim(&axis.extent), self.work(&nodes), self.name(array));
        match reducer {
            Some(q) => {
                let neutral = expr::constant(q.neutral(elem));
                let combine = expr::combine(q, elem, "x", "y");
                format!(
                    "{{\n{}__rt::cpu::accumulate(&mut {name}[..], {extent}.max(0) as usize, ({work}).max(1) as usize, {neutral}, |x: {elem}, y: {elem}| {combine}, |lo, hi, target| {{ {} }});\n}}\n",
                    call.shared, call.invoke
                )
            }
            // In order, so that the last of several values for one place stays.
            None => format!(
                "{{\n{}let (lo, hi, target) = (0usize, {extent}.max(0) as usize, &mut {name}[..]);\n{}\n}}\n",
                call.shared, call.invoke
            ),
        }
    }

    /// Nodes in order.
    pub(super) fn nodes(&mut self, nodes: &[Node], r: &mut Region) -> String {
        let mut out = String::new();
        for n in nodes {
            match n {
                Node::Let(l) => {
                    let text = self.binding(l, r);
                    out.push_str(&text);
                }
                Node::Loop(l) => {
                    let extent = self.dim_in(&l.axis.extent, r);
                    let text = self.range_loop(l, "0i64", &extent, r);
                    out.push_str(&text);
                    for f in &l.folds {
                        out.push_str(&format!("let v{} = {};\n", f.result.0, fold::result_value(f)));
                        r.bound(f.result);
                    }
                }
                Node::Store { array, index, value } => {
                    let at = self.linear(*array, index, r);
                    let value = r.atom(*value);
                    let name = self.name(*array);
                    let target = match self.p.arrays[array.0 as usize].home {
                        Home::Row { .. } => {
                            r.rows.insert(*array);
                            format!("&mut {name}[..]")
                        }
                        _ => format!("&mut *{name}"),
                    };
                    out.push_str(&format!("__rt::cpu::set({target}, {at}, {value});\n"));
                }
                Node::Accumulate { array, reducer, index, value } => {
                    out.push_str(&self.target_update(*array, Some(*reducer), index, *value, r));
                }
                Node::Write { array, index, value } => {
                    out.push_str(&self.target_update(*array, None, index, *value, r));
                }
            }
        }
        out
    }

    fn target_update(&mut self, a: ArrayId, q: Option<Reducer>, index: &[Atom], value: Atom, r: &mut Region) -> String {
        let dims: Vec<String> = self.memory_dims(a).to_vec().iter().map(|d| self.dim_in(d, r)).collect();
        let tests: Vec<String> =
            index.iter().zip(dims).map(|(i, d)| format!("({0} >= 0 && {0} < {d})", r.atom(*i))).collect();
        let at = self.linear(a, index, r);
        let value = r.atom(value);
        let new = match q {
            Some(q) => expr::combine(q, self.elem(a), "old", &value),
            None => value,
        };
        format!(
            "if {} {{ let at = {at}; let old = __rt::cpu::get(&*target, at); let _ = old; __rt::cpu::set(&mut *target, at, {new}); }}\n",
            if tests.is_empty() { "true".into() } else { tests.join(" && ") }
        )
    }

    /// `for axis in from..to`, with folds; leaves the states of the folds in scope.
    pub(super) fn range_loop(&mut self, l: &Loop, from: &str, to: &str, r: &mut Region) -> String {
        r.bound(l.axis.var);
        if fold::in_lanes(l) {
            return self.lanes(l, from, to, r);
        }
        let mut out: String = l.folds.iter().map(|f| fold::initial(self, f)).collect();
        let body = self.nodes(&l.body, r);
        let v = l.axis.var.0;
        out.push_str(&format!("let mut v{v}: i64 = {from};\nwhile v{v} < {to} {{\n{body}"));
        for f in &l.folds {
            out.push_str(&fold::step(self, f, l, r));
        }
        out.push_str(&format!("v{v} += 1;\n}}\n"));
        out
    }

    /// An estimate of the scalar operations of one execution of nodes, as an `i64` expression.
    fn work(&self, nodes: &[Node]) -> String {
        let mut fixed = 1;
        let mut terms = String::new();
        for n in nodes {
            match n {
                Node::Let(l) => fixed += weight(&l.exp),
                Node::Loop(l) => {
                    terms.push_str(&format!(" + {}.max(0) * ({})", self.dim(&l.axis.extent), self.work(&l.body)));
                }
                _ => fixed += 1,
            }
        }
        format!("{fixed}i64{terms}")
    }

    fn region(&mut self, r: &mut Region, run: &str, output: &str, finish: &str) -> Call {
        self.region_with(r, run, output, finish, None)
    }

    /// Makes a region of the code; how to call it. `target` is the element type of an accumulation's target.
    fn region_with(&mut self, r: &mut Region, run: &str, output: &str, finish: &str, target: Option<Elem>) -> Call {
        let id = format!("{}Region{}", self.prefix, self.regions);
        self.regions += 1;
        let mut fields: Vec<(String, String, String)> = Vec::new();
        let mut shared = String::new();
        for k in &r.sizes {
            fields.push((format!("n{k}"), "i64".into(), format!("n{k}")));
        }
        for v in r.free.difference(&r.bound.iter().copied().collect()) {
            let name = format!("v{}", v.0);
            fields.push((name.clone(), self.p.vars[v.0 as usize].to_string(), name));
        }
        let mut rows = String::new();
        for a in &r.rows {
            let t = self.elem(*a);
            let length = {
                let dims: Vec<String> = self.memory_dims(*a).iter().map(|d| format!("{}.max(0)", self.dim(d))).collect();
                dims.join(" * ")
            };
            let name = self.name(*a);
            // The sizes of rows are sizes the region needs.
            for d in self.memory_dims(*a).to_vec() {
                let mut sizes = Region::default();
                self.dim_in(&d, &mut sizes);
                for k in sizes.sizes.difference(&r.sizes) {
                    fields.push((format!("n{k}"), "i64".into(), format!("n{k}")));
                }
                r.sizes.extend(sizes.sizes.iter().copied());
                r.arrays.extend(sizes.arrays.iter().copied());
            }
            rows.push_str(&format!("let mut {name}: ::std::vec::Vec<{t}> = __rt::cpu::alloc::<{t}>({length});\n"));
        }
        for a in &r.arrays {
            let (name, t) = (self.name(*a), self.elem(*a));
            if r.is_output(*a) {
                continue;
            }
            if self.rank(*a) == 0 {
                fields.push((name.clone(), t.to_string(), name));
            } else {
                fields.push((name.clone(), format!("&'a [{t}]"), format!("&{name}[..]")));
            }
        }
        for a in r.outputs.keys() {
            let (name, t) = (self.name(*a), self.elem(*a));
            let stride: Vec<String> = self.memory_dims(*a)[1..].iter().map(|d| format!("{}.max(0)", self.dim(d))).collect();
            let stride = if stride.is_empty() { "1".into() } else { format!("({})", stride.join(" * ")) };
            shared.push_str(&format!("let {name} = __rt::cpu::Shared::new(&mut {name}[..]);\n"));
            fields.push((name.clone(), format!("&'a mut [{t}]"), format!("{name}.rows(lo, hi, {stride} as usize)")));
        }
        if let Some(t) = target {
            fields.push(("target".into(), format!("&'a mut [{t}]"), "target".into()));
        }
        let declared: String = fields.iter().map(|(n, t, _)| format!("{n}: {t}, ")).collect();
        let names: String = fields.iter().map(|(n, ..)| format!("{n}, ")).collect();
        let plain: String = fields.iter().map(|(n, t, _)| format!("{n}: {}, ", t.replace("'a ", ""))).collect();
        let values: String = fields.iter().map(|(n, _, v)| format!("{n}: {v}, ")).collect();
        self.items.push_str(&format!(
            "struct {id}<'a> {{ lo: i64, hi: i64, status: &'a __rt::status::Status, {declared}}}\n\
             impl<'a> __rt::cpu::Region for {id}<'a> {{\n\
             type Output = {output};\n\
             #[inline(always)]\n\
             fn run(self) -> {output} {{\n\
             let {id} {{ lo, hi, status, {names}}} = self;\n\
             {id}_run(lo, hi, status, {names})\n}}\n}}\n\
             #[inline(always)]\n\
             fn {id}_run(lo: i64, hi: i64, status: &__rt::status::Status, {plain}) -> {output} {{\n{rows}{run}{finish}\n}}\n"
        ));
        let invoke = format!("__rt::cpu::simd({id} {{ lo: lo as i64, hi: hi as i64, status, {values}}})");
        Call { shared, invoke }
    }
}

/// How to run a region: what to prepare, and the call for one chunk.
struct Call {
    shared: String,
    invoke: String,
}

/// The cost of an expression in simple operations.
fn weight(e: &Exp) -> usize {
    match e {
        Exp::Op(op, _) if op.is_cheap() => 1,
        Exp::Op(..) => 8,
        Exp::If(_, x, y) => {
            1 + [x, y].iter().flat_map(|b| &b.block.lets).map(|l| weight(&l.exp)).sum::<usize>()
        }
        _ => 1,
    }
}

/// Whether any code of a loop's body is more than a few simple operations.
pub(super) fn is_heavy(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Let(l) => weight(&l.exp) > 2,
        _ => false,
    })
}
