//! The loop trees of groups: at every level runs of members that share the next axis.

use rustc_hash::FxHashSet;

use super::super::computed::{Computed, Forwarded};
use super::Fuse;
use super::member::{Member, depends};
use crate::bulk::build::{Fresh, Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{Atom, Axis, Block, Branch, Exp, Item, Let, Scan, Var, YieldKind};
use crate::dim::Dim;
use crate::loops::{Fold, Loop, Node, Tree};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// A member during construction.
struct Open {
    m: Member,
    /// Items not placed yet.
    rest: Vec<Item>,
    map: Renaming,
    /// The current values of the yields while folding.
    results: Vec<Atom>,
}

impl Fuse<'_> {
    pub(super) fn tree(&mut self, members: Vec<Member>) -> Tree {
        let loc = members[0].loc;
        let mut open: Vec<Open> = members
            .into_iter()
            .map(|m| Open { rest: m.body.items.clone(), map: Renaming::default(), results: Vec::new(), m })
            .collect();
        let mut axes = Vec::new();
        // Perfectly nested axes that all members have as dimensions.
        while self.perfect(&open, axes.len()) {
            let depth = axes.len();
            let var = self.new_var(Elem::I64);
            for o in &mut open {
                o.map.insert(o.m.axes[depth].var, Atom::Var(var));
            }
            axes.push(Axis { var, extent: open[0].m.axes[depth].extent.clone() });
        }
        let depth = axes.len();
        let all: Vec<usize> = (0..open.len()).collect();
        let body = self.level(&mut open, &all, depth, &mut Computed::default());
        Tree::new(axes, body, loc)
    }

    fn perfect(&self, open: &[Open], depth: usize) -> bool {
        let first = &open[0].m;
        let parallel = |m: &Member| depth < m.outer && !(m.ordered && depth + 1 == m.axes.len());
        open.iter().all(|o| parallel(&o.m) && o.m.axes[depth].extent == first.axes[depth].extent)
            && open.iter().enumerate().all(|(i, o)| {
                open[..i].iter().all(|q| !depends(&o.m, &q.m) || self.pointwise(&o.m, &q.m, depth))
            })
    }

    fn new_var(&mut self, elem: Elem) -> Var {
        self.vars.push(elem);
        Var(self.vars.len() as u32 - 1)
    }

    /// The nodes for the `shared` ones of the members, which share the first `depth` axes.
    fn level(
        &mut self,
        members: &mut [Open],
        shared: &[usize],
        depth: usize,
        computed: &mut Computed,
    ) -> Vec<Node> {
        let runs = self.runs(members, shared, depth);
        let mut nodes = Vec::new();
        for run in runs {
            for i in &run {
                self.ready(&mut members[*i], &mut nodes, computed);
            }
            if members[run[0]].m.axes.len() == depth {
                for i in &run {
                    leaf(&mut members[*i], &mut nodes, computed);
                }
                continue;
            }
            let extent = members[run[0]].m.axes[depth].extent.clone();
            let var = self.new_var(Elem::I64);
            for i in &run {
                let o = &mut members[*i];
                o.map.insert(o.m.axes[depth].var, Atom::Var(var));
            }
            let outside = computed.enter();
            let body = self.level(members, &run, depth + 1, computed);
            computed.leave(outside);
            let mut folds = Vec::new();
            for i in &run {
                let o = &mut members[*i];
                if depth < o.m.outer {
                    continue;
                }
                // The values of the inner level are folded here.
                for (y, value) in o.m.yields.iter().zip(&mut o.results) {
                    let YieldKind::Reduce { reducer, .. } = &y.kind else {
                        panic!("`{}` is folded and no reduction", self.p.array(y.array).name)
                    };
                    let result = self.new_var(reducer.result(self.elem(*value)));
                    folds.push(Fold { result, reducer: *reducer, value: *value });
                    *value = Atom::Var(result);
                }
            }
            let loc = members[run[0]].m.loc;
            nodes.push(Node::Loop(Loop::new(Axis { var, extent }, body, folds, loc)));
            // Folds that are complete become elements.
            for i in &run {
                let o = &mut members[*i];
                if depth == o.m.outer && o.m.outer < o.m.axes.len() {
                    store(o, &mut nodes, computed);
                }
            }
        }
        nodes
    }

    /// The runs of the `shared` ones of the members, which share the first `depth` axes, as lists of positions.
    fn runs(&self, members: &[Open], shared: &[usize], depth: usize) -> Vec<Vec<usize>> {
        let member = |i: &usize| &members[*i].m;
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for i in shared {
            let m = member(i);
            let needed = |runs: &[Vec<usize>], by: &Member| {
                runs.iter().rposition(|run| run.iter().any(|q| depends(by, member(q)))).unwrap_or(0)
            };
            let last = needed(&runs, m);
            // What is little goes to an earlier run with it.
            if m.axes.len() > depth && last > 0 {
                let by = runs[last].iter().map(member).chain([m]);
                let first = by.map(|q| needed(&runs[..last], q)).max().unwrap_or(0);
                let [little, run] =
                    [&runs[last], &runs[first]].map(|r| r.iter().map(member).collect::<Vec<_>>());
                if run[0].axes.len() > depth && self.go_along(&little, &run, m, depth) {
                    let little = runs.remove(last);
                    runs[first].extend(little);
                }
            }
            let fits = (needed(&runs, m)..runs.len()).rev().find(|r| {
                let run: Vec<&Member> = runs[*r].iter().map(member).collect();
                m.axes.len() > depth && run[0].axes.len() > depth && self.joins(m, &run, depth)
            });
            match fits {
                Some(r) => runs[r].push(*i),
                None => runs.push(vec![*i]),
            }
        }
        runs
    }

    fn elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }
    }

    /// Emits the items of a member whose operands exist, in order.
    fn ready(&mut self, o: &mut Open, nodes: &mut Vec<Node>, computed: &mut Computed) {
        let all = o.map.len() >= o.m.axes.len() && o.m.axes.iter().all(|a| o.map.contains_key(&a.var));
        // The axis that scans run along is the next one: what they start from and what their steps use is needed before it.
        let next = o.m.axes.last().filter(|last| {
            let is_open = |a: &Axis| o.map.contains_key(&a.var);
            !is_open(last) && o.m.axes[..o.m.axes.len() - 1].iter().all(is_open)
        });
        let next = next.map(|last| (last.extent.clone(), starts(&o.rest)));
        let mut rest = Vec::new();
        for i in std::mem::take(&mut o.rest) {
            let (mut exists, mut inside) = (true, FxHashSet::default());
            i.visit_bound(&mut |v| inside.extend([v]));
            i.visit_atoms(&mut |a| {
                if let Atom::Var(v) = a {
                    exists &= o.map.contains_key(&v) || inside.contains(&v);
                }
            });
            // What may report an error stays where its whole nest is executed.
            let fails = !all && i.may_fail(&self.vars);
            match (i, &next) {
                (Item::Let(l), Some((extent, starts))) if exists && fails && starts.contains(&l.vars[0]) => {
                    self.guarded(extent, l, &mut o.map, nodes);
                }
                (i, _) if !exists || fails => rest.push(i),
                // A scan stands in the loop that it runs along.
                (Item::Scan(s), _) if !all => rest.push(Item::Scan(s)),
                (Item::Let(l), _) => self.binding(l, &mut o.map, nodes, computed),
                (Item::Scan(s), _) => self.scan(s, &mut o.map, nodes, computed),
            }
        }
        o.rest = rest;
    }

    /// Emits a statement, unless its value is known. Members of other groups hold copies of the same statements: names are made
    /// new.
    fn binding(&mut self, l: Let, map: &mut Renaming, nodes: &mut Vec<Node>, computed: &mut Computed) {
        match computed.forward(&l.exp, map) {
            Forwarded::Atom(a) => {
                map.insert(l.vars[0], a);
            }
            Forwarded::Exp(exp) => {
                if let Some(vars) = computed.expression(&exp) {
                    map.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
                    return;
                }
                let vars = self.fresh_vars(&l.vars, map);
                let fresh = self.fresh(&exp, &mut Renaming::default());
                computed.add_expression(exp, vars.clone());
                nodes.push(Node::Let(Let { vars, exp: fresh, loc: l.loc }));
            }
        }
    }

    /// Emits a scan, unless it is known: members that were made of one nest have it under the same names.
    fn scan(&mut self, mut s: Scan, map: &mut Renaming, nodes: &mut Vec<Node>, computed: &mut Computed) {
        computed.forwarding(map).scan(&mut s);
        if let Some(vars) = computed.scan(&s) {
            map.extend(s.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
            return;
        }
        let vars = self.fresh_vars(&s.vars, map);
        let mut fresh = Scan { vars: Vec::new(), ..s.clone() };
        Fresh { vars: &mut self.vars, names: &mut Renaming::default() }.scan(&mut fresh);
        computed.add_scan(s, vars.clone());
        nodes.push(Node::Scan(Scan { vars, ..fresh }));
    }

    /// Emits a statement that may report an error before the loop that it stood in: executed only if that has trips.
    fn guarded(&mut self, extent: &Dim, l: Let, map: &mut Renaming, nodes: &mut Vec<Node>) {
        let exp = self.fresh(&l.exp, &mut map.clone());
        let elems: Vec<Elem> = l.vars.iter().map(|v| self.vars[v.0 as usize]).collect();
        let [inside, outside] =
            [(), ()].map(|()| -> Vec<Var> { elems.iter().map(|e| self.new_var(*e)).collect() });
        map.extend(l.vars.iter().copied().zip(outside.iter().map(|v| Atom::Var(*v))));
        if extent.as_constant().is_some_and(|n| n > 0) {
            nodes.push(Node::Let(Let { vars: outside, exp, loc: l.loc }));
            return;
        }
        let (size, condition) = (self.new_var(Elem::I64), self.new_var(Elem::Bool));
        let has_trips = Exp::Op(Op::Gt, vec![Atom::Var(size), Atom::Const(Const::int(Elem::I64, 0))]);
        let results = inside.iter().map(|v| Atom::Var(*v)).collect();
        let yes = Branch { block: Block { lets: vec![Let { vars: inside, exp, loc: l.loc }] }, results };
        let zeros = elems.iter().map(|e| Atom::Const(Const::of(*e, 0))).collect();
        let no = Branch { block: Block::default(), results: zeros };
        let lets = [
            (vec![size], Exp::Size(extent.clone())),
            (vec![condition], has_trips),
            (outside, Exp::If(Atom::Var(condition), yes, no)),
        ];
        nodes.extend(lets.map(|(vars, exp)| Node::Let(Let { vars, exp, loc: l.loc })));
    }

    /// An expression renamed, with new names for what is bound inside.
    fn fresh(&mut self, e: &Exp, map: &mut Renaming) -> Exp {
        let mut e = e.clone();
        Fresh { vars: &mut self.vars, names: map }.exp(&mut e);
        e
    }

    fn fresh_vars(&mut self, vars: &[Var], map: &mut Renaming) -> Vec<Var> {
        Fresh { vars: &mut self.vars, names: map }.bind(vars)
    }
}

/// What the scans among items need before their loop, with everything that it is made of.
fn starts(items: &[Item]) -> FxHashSet<Var> {
    let mut needed = FxHashSet::default();
    let note = |a: Atom, needed: &mut FxHashSet<Var>| {
        if let Atom::Var(v) = a {
            needed.insert(v);
        }
    };
    for i in items.iter().rev() {
        match i {
            Item::Scan(s) => s.needed_before().into_iter().for_each(|a| note(a, &mut needed)),
            Item::Let(l) if l.vars.iter().any(|v| needed.contains(v)) => {
                l.exp.visit_atoms(&mut |a| note(a, &mut needed));
            }
            Item::Let(_) => {}
        }
    }
    needed
}

/// All axes are open: the values exist.
fn leaf(o: &mut Open, nodes: &mut Vec<Node>, computed: &mut Computed) {
    o.results = o
        .m
        .yields
        .iter()
        .map(|y| match &y.kind {
            YieldKind::Store(v) | YieldKind::Reduce { value: v, .. } => renamed(&o.map, *v),
            YieldKind::Accumulate { value, .. } | YieldKind::Write { value, .. } => renamed(&o.map, *value),
        })
        .collect();
    if o.m.outer == o.m.axes.len() {
        store(o, nodes, computed);
    }
}

/// Stores the results at the dimensions' axes.
fn store(o: &mut Open, nodes: &mut Vec<Node>, computed: &mut Computed) {
    let index: Vec<Atom> = o.m.axes[..o.m.outer].iter().map(|a| renamed(&o.map, Atom::Var(a.var))).collect();
    for (y, v) in o.m.yields.iter().zip(&o.results) {
        computed.add_stored(y.array, index.clone(), *v);
        nodes.push(Node::Store { array: y.array, index: index.clone(), value: *v });
    }
}
