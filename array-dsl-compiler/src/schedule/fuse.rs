//! Groups of nests, and the loop trees made of them.
//!
//! At every level the members that share the axes so far are divided into **runs** that also share the next axis.
//! A member joins the last run it depends on, or a later one, if
//!
//! 1. the next extents are equal,
//! 2. what it reads of the run's members is read at the shared axes, and those members have stored it by then
//!    (a reduction over the shared axis has not),
//! 3. they have an array in common, and do not go through one crosswise.
//!
//! Scalar code is placed at the outermost level where its operands exist, unless it may fail: then it stays where its nest has
//! points. What a scan starts from and what its steps use is needed before its loop all the same (its chunks are joined outside of
//! it), and is computed there if the loop has trips.

use std::collections::{HashMap, HashSet};

use super::unroll;
use crate::bulk::build::{Fresh, Renaming, renamed};
use crate::bulk::live::live_body;
use crate::bulk::uses::scalars;
use crate::bulk::walk::{Rewriter, Visitor};
use crate::bulk::{
    ArrayId, Atom, Axis, Block, Body, Branch, Exp, Item, Let, Nest, Program, Scan, Stm, Var, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::loops::{Fold, Loop, Node, Step, Tree};
use crate::scalar::Op;
use crate::target::Target;
use crate::ty::{Const, Elem, Loc};

/// A nest with yields of one depth.
#[derive(Clone)]
struct Member {
    axes: Vec<Axis>,
    /// How many of the axes are dimensions of the results; the rest is folded.
    outer: usize,
    /// The last axis is executed in order.
    ordered: bool,
    body: Body,
    yields: Vec<Yield>,
    loc: Loc,
    reads: Vec<(ArrayId, Vec<Atom>)>,
    /// The innermost axis that each scalar depends on.
    innermost: HashMap<Var, usize>,
    /// The arrays that it reads, views looked through. This and what follows is asked of each pair of members.
    sources: HashSet<ArrayId>,
    /// Those of which it reads elements by an index.
    indexed: HashSet<ArrayId>,
    /// The axes of a few points, and what is computed of them alone.
    counted: HashSet<Var>,
    /// How many statements each of its points becomes, if these are few.
    length: Option<i64>,
}

impl Member {
    /// `root` looks through views.
    fn new(n: &Nest, over: usize, yields: Vec<Yield>, root: impl Fn(ArrayId) -> ArrayId) -> Member {
        let mut live: HashSet<Var> = HashSet::new();
        for y in &yields {
            live.extend(
                y.kind.atoms().into_iter().filter_map(|a| if let Atom::Var(v) = a { Some(v) } else { None }),
            );
        }
        let body = live_body(n.body.clone(), &mut live);
        let mut reads = Vec::new();
        let (mut sources, mut indexed) = (HashSet::new(), HashSet::new());
        body.visit_reads(&mut |a, ix| {
            let source = root(a);
            sources.insert(source);
            indexed.extend((!ix.is_empty()).then_some(source));
            reads.push((a, ix.to_vec()));
        });
        let ordered = body.is_ordered();
        let mut counted = Counted(n.axes[points(&n.axes)..].iter().map(|a| a.var).collect());
        counted.body(&body);
        let (axes, outer, counted) = (n.axes.clone(), n.axes.len() - over, counted.0);
        let mut innermost = Innermost(axes.iter().enumerate().map(|(k, a)| (a.var, k)).collect());
        innermost.body(&body);
        let length = length(&axes, outer, &body);
        let innermost = innermost.0;
        let loc = n.loc;
        Member {
            axes,
            outer,
            ordered,
            body,
            yields,
            loc,
            reads,
            innermost,
            sources,
            indexed,
            counted,
            length,
        }
    }

    /// The axis along which neighboring points read neighboring elements.
    fn along(&self, index: &[Atom]) -> Option<usize> {
        self.innermost.get(&index.last()?.var()?).copied()
    }

    fn produces(&self, a: ArrayId) -> bool {
        self.yields.iter().any(|y| y.array == a)
    }
}

/// Whether a member reads what another one makes.
fn depends(m: &Member, on: &Member) -> bool {
    on.yields.iter().any(|y| m.sources.contains(&y.array))
}

/// Whether they read elements of one array.
fn common_input(m: &Member, q: &Member) -> bool {
    m.indexed.iter().any(|a| q.sources.contains(a))
}

/// How many statements each point becomes, if these are few: those of all steps along the axes of a few points.
fn length(axes: &[Axis], outer: usize, body: &Body) -> Option<i64> {
    let inner = &axes[points(axes)..];
    let trips = inner.iter().try_fold(1i64, |t, a| t.checked_mul(a.extent.as_constant()?))?;
    let code: i64 = body.items.iter().map(unroll::length).sum();
    (outer >= points(axes) && trips <= unroll::ALL).then(|| trips.saturating_mul(code + 1))
}

/// How many axes there are before those of a few points.
fn points(axes: &[Axis]) -> usize {
    let is_few = |a: &Axis| a.extent.as_constant().is_some_and(|n| (1..=unroll::MOST).contains(&n));
    axes.len() - axes.iter().rev().take_while(|a| is_few(a)).count()
}

/// Scalars that are counters, or computed of them alone.
struct Counted(HashSet<Var>);

impl Visitor for Counted {
    fn binding(&mut self, l: &Let) {
        if let Exp::Op(_, args) = &l.exp
            && args.iter().all(|a| a.var().is_none_or(|v| self.0.contains(&v)))
        {
            self.0.extend(&l.vars);
        }
        self.walk_binding(l);
    }
}

/// Scalars that depend on axes, and the innermost of these.
struct Innermost(HashMap<Var, usize>);

impl Visitor for Innermost {
    fn binding(&mut self, l: &Let) {
        let mut innermost = None;
        l.exp.visit_atoms(&mut |a| innermost = innermost.max(a.var().and_then(|v| self.0.get(&v).copied())));
        self.0.extend(innermost.into_iter().flat_map(|k| l.vars.iter().map(move |v| (*v, k))));
        self.walk_binding(l);
    }
}

/// A group at depth 0.
enum Group {
    Members(Vec<Member>),
    /// A step of its own, and what it produces.
    Step(Box<Step>, Vec<ArrayId>),
}

/// Builds the steps.
pub(super) struct Fuse<'a> {
    p: &'a Program,
    target: Target,
    /// The most statements that a point's small loops may become.
    longest: i64,
    groups: Vec<Group>,
    /// Groups before this may not grow: a check came after them.
    floor: usize,
    /// What each view views.
    views: HashMap<ArrayId, ArrayId>,
    vars: Vec<Elem>,
}

impl<'a> Fuse<'a> {
    pub fn new(p: &'a Program, target: Target, longest: i64, vars: Vec<Elem>) -> Self {
        let mut views = HashMap::new();
        collect_views(&p.stms, &mut views);
        Fuse { p, target, longest, groups: Vec::new(), floor: 0, views, vars }
    }

    /// The types of the scalars, for others to add to; they must come back.
    pub fn take_vars(&mut self) -> Vec<Elem> {
        std::mem::take(&mut self.vars)
    }

    /// The types of all scalars, with new ones.
    pub fn give_vars(&mut self, vars: Vec<Elem>) {
        self.vars = vars;
    }

    /// Adds a step that shares nothing.
    pub fn barrier(&mut self, s: Step, produces: &[ArrayId], _inputs: &[ArrayId]) {
        self.groups.push(Group::Step(Box::new(s), produces.to_vec()));
    }

    /// Adds a check: what comes later relies on it.
    pub fn check(&mut self, s: Step) {
        self.groups.push(Group::Step(Box::new(s), Vec::new()));
        self.floor = self.groups.len();
    }

    /// Adds the yields of a nest with so many folded axes to a group that can take them, or as a new one.
    pub fn nest(&mut self, n: &Nest, over: usize, yields: Vec<Yield>) {
        let m = Member::new(n, over, yields, |a| self.root(a));
        let first = self.first(&m);
        for i in (first..self.groups.len()).rev() {
            let joins = match &self.groups[i] {
                Group::Members(ms) => self.joins(&m, &ms.iter().collect::<Vec<_>>(), 0),
                Group::Step(..) => false,
            };
            if let (true, Group::Members(ms)) = (joins, &mut self.groups[i]) {
                ms.push(m);
                return;
            }
        }
        self.groups.push(Group::Members(vec![m]));
    }

    /// The first group that a member may join: it is not before what it reads, and after what its sizes are.
    fn first(&self, m: &Member) -> usize {
        let sizes = self.sizes(m);
        let mut first = self.floor;
        for (i, g) in self.groups.iter().enumerate() {
            let (depends, sized) = match g {
                Group::Members(ms) => (
                    ms.iter().any(|q| depends(m, q)),
                    !sizes.is_empty() && ms.iter().flat_map(|q| &q.yields).any(|y| sizes.contains(&y.array)),
                ),
                Group::Step(_, produced) => (
                    !produced.is_empty()
                        && (produced.iter().any(|a| m.sources.contains(a))
                            || m.reads.iter().any(|(a, _)| produced.contains(a))),
                    produced.iter().any(|a| sizes.contains(a)),
                ),
            };
            if depends {
                first = first.max(i);
            }
            if sized {
                first = first.max(i + 1);
            }
        }
        first
    }

    /// The arrays that the sizes of a member mention.
    fn sizes(&self, m: &Member) -> HashSet<ArrayId> {
        let mut out = HashSet::new();
        let mut mention = |d: &Dim| out.extend(scalars(d));
        m.axes.iter().for_each(|x| mention(&x.extent));
        m.body.visit_sizes(&mut mention);
        m.reads.iter().flat_map(|(r, _)| &self.p.array(*r).dims).for_each(mention);
        out
    }

    fn root(&self, a: ArrayId) -> ArrayId {
        let mut a = a;
        while let Some(b) = self.views.get(&a) {
            a = *b;
        }
        a
    }

    /// Whether `m` can share axis number `depth` with a run whose members already share it.
    fn joins(&self, m: &Member, run: &[&Member], depth: usize) -> bool {
        let Some(first) = run.first().copied() else { return false };
        let (Some(a), Some(b)) = (m.axes.get(depth), first.axes.get(depth)) else {
            // Scalars of the host level stay together.
            return depth == 0 && m.axes.is_empty() && first.axes.is_empty();
        };
        if a.extent != b.extent {
            return false;
        }
        if !self.target.can().nests && !self.same_space(m, first) && !self.is_small(m, run) {
            return false;
        }
        // The one axis of a scan is divided in a way of its own.
        if depth == 0 && [m, first].iter().any(|q| q.ordered && q.axes.len() == 1) {
            return false;
        }
        let legal = run.iter().all(|q| !depends(m, q) || self.pointwise(m, q, depth));
        let gain = run.iter().any(|q| depends(m, q) || common_input(m, q));
        legal && gain && !run.iter().any(|q| self.is_crosswise(m, q))
    }

    /// Whether one folds rows of a matrix of which the other folds columns: in one loop one of them would stride through it.
    fn is_crosswise(&self, m: &Member, q: &Member) -> bool {
        let folds = |q: &Member| q.outer > 0 && q.outer < q.axes.len();
        let crosses = |(a, ix): &(ArrayId, Vec<Atom>), (b, jx): &(ArrayId, Vec<Atom>)| {
            let both = m.along(ix).zip(q.along(jx));
            self.root(*a) == self.root(*b) && both.is_some_and(|(x, y)| (x < m.outer) != (y < q.outer))
        };
        let may_cross = folds(m) && folds(q) && !m.indexed.is_disjoint(&q.indexed);
        may_cross && m.reads.iter().any(|a| q.reads.iter().any(|b| crosses(a, b)))
    }

    fn same_space(&self, m: &Member, q: &Member) -> bool {
        let plain = |m: &Member| m.outer == m.axes.len() && !m.ordered;
        plain(m)
            && plain(q)
            && m.axes.len() == q.axes.len()
            && m.axes.iter().zip(&q.axes).all(|(a, b)| a.extent == b.extent)
            && (!depends(m, q) || (0..m.axes.len()).all(|d| self.pointwise(m, q, d)))
    }

    /// Whether `m` and the run are work of the same points, of which each has so little that it becomes scalar code (`unroll`).
    fn is_small(&self, m: &Member, run: &[&Member]) -> bool {
        let depth = points(&m.axes);
        let same = |q: &Member| {
            points(&q.axes) == depth
                && m.axes[..depth].iter().zip(&q.axes).all(|(a, b)| a.extent == b.extent)
                && (!depends(m, q) || (0..depth).all(|d| self.pointwise(m, q, d)))
        };
        // An element is known by constants and by counters, which become constants.
        let named = |q: &Member| {
            let own = |a: &Atom| a.var().is_none_or(|v| m.counted.contains(&v));
            !depends(m, q)
                || m.reads
                    .iter()
                    .filter(|(a, _)| q.produces(self.root(*a)))
                    .all(|(a, ix)| self.root(*a) == *a && ix[depth.min(ix.len())..].iter().all(own))
        };
        let updates = |m: &Member| {
            m.yields.iter().any(|y| matches!(y.kind, YieldKind::Accumulate { .. } | YieldKind::Write { .. }))
        };
        let length = run.iter().copied().chain([m]).try_fold(0i64, |sum, q| Some(sum + q.length?));
        depth > 0
            && length.is_some_and(|n| n <= self.longest)
            && !updates(m)
            && run.iter().all(|q| same(q) && named(q) && !updates(q))
    }

    /// Whether all that `m` reads of `q` is read at the shared axis `depth`, where `q` has stored it.
    fn pointwise(&self, m: &Member, q: &Member, depth: usize) -> bool {
        m.reads.iter().filter(|(a, _)| q.produces(self.root(*a))).all(|(a, ix)| {
            let root = self.root(*a);
            // A view keeps its leading dimensions.
            let dims = |x: ArrayId| self.p.array(x).dims.get(..=depth).map(<[Dim]>::to_vec);
            depth < q.outer && ix.get(depth) == Some(&Atom::Var(m.axes[depth].var)) && dims(*a) == dims(root)
        })
    }

    /// The steps of all groups, and the types of all scalars.
    pub fn finish(mut self) -> (Vec<Step>, Vec<Elem>) {
        let groups = std::mem::take(&mut self.groups);
        let mut steps = Vec::new();
        for g in groups {
            match g {
                Group::Step(s, _) => steps.push(*s),
                Group::Members(ms) => steps.push(Step::Tree(self.tree(ms))),
            }
        }
        (steps, self.vars)
    }

    fn tree(&mut self, members: Vec<Member>) -> Tree {
        let loc = members[0].loc;
        let mut open: Vec<Open> = members
            .into_iter()
            .map(|m| Open { rest: m.body.items.clone(), map: Renaming::new(), results: Vec::new(), m })
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
        let body = self.level(&mut open, depth, &mut Computed::default());
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

    /// The nodes for members that share the first `depth` axes.
    fn level(&mut self, members: &mut [Open], depth: usize, computed: &mut Computed) -> Vec<Node> {
        // Runs as lists of positions.
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for i in 0..members.len() {
            let m = &members[i].m;
            let mut first = 0;
            for (r, run) in runs.iter().enumerate() {
                if run.iter().any(|q| depends(m, &members[*q].m)) {
                    first = r;
                }
            }
            let fits = (first..runs.len()).rev().find(|r| {
                let run: Vec<&Member> = runs[*r].iter().map(|q| &members[*q].m).collect();
                m.axes.len() > depth && run[0].axes.len() > depth && self.joins(m, &run, depth)
            });
            match fits {
                Some(r) => runs[r].push(i),
                None => runs.push(vec![i]),
            }
        }
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
            let mut inside: Vec<Open> = Vec::new();
            for i in &run {
                let mut o = members[*i].clone();
                o.map.insert(o.m.axes[depth].var, Atom::Var(var));
                inside.push(o);
            }
            let body = self.level(&mut inside, depth + 1, &mut computed.clone());
            let mut folds = Vec::new();
            for (i, o) in run.iter().zip(inside) {
                let member = &mut members[*i];
                if depth < member.m.outer {
                    member.results = o.results;
                    continue;
                }
                // The values of the inner level are folded here.
                for (y, value) in member.m.yields.clone().iter().zip(o.results) {
                    let YieldKind::Reduce { reducer, .. } = &y.kind else {
                        panic!("`{}` is folded and no reduction", self.p.array(y.array).name)
                    };
                    let result = self.new_var(reducer.result(self.elem(value)));
                    folds.push(Fold { result, reducer: *reducer, value });
                    member.results.push(Atom::Var(result));
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
            let (mut exists, mut inside) = (true, HashSet::new());
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
                if let Some(vars) = computed.expressions.get(&exp) {
                    map.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
                    return;
                }
                let vars = self.fresh_vars(&l.vars, map);
                let fresh = self.fresh(&exp, &mut Renaming::new());
                computed.expressions.insert(exp, vars.clone());
                nodes.push(Node::Let(Let { vars, exp: fresh, loc: l.loc }));
            }
        }
    }

    /// Emits a scan, unless it is known: members that were made of one nest have it under the same names.
    fn scan(&mut self, mut s: Scan, map: &mut Renaming, nodes: &mut Vec<Node>, computed: &mut Computed) {
        Forward { stored: &computed.stored, map }.scan(&mut s);
        if let Some(vars) = computed.scans.get(&s) {
            map.extend(s.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
            return;
        }
        let vars = self.fresh_vars(&s.vars, map);
        let mut fresh = Scan { vars: Vec::new(), ..s.clone() };
        Fresh { vars: &mut self.vars, names: &mut Renaming::new() }.scan(&mut fresh);
        computed.scans.insert(s, vars.clone());
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

/// What each view views, in loops as well.
fn collect_views(stms: &[Stm], out: &mut HashMap<ArrayId, ArrayId>) {
    for s in stms {
        match s {
            Stm::Reshape { result, source } => {
                out.insert(*result, *source);
            }
            Stm::Repeat(r) => collect_views(&r.body, out),
            _ => {}
        }
    }
}

/// A member during construction.
#[derive(Clone)]
struct Open {
    m: Member,
    /// Items not placed yet.
    rest: Vec<Item>,
    map: Renaming,
    /// The current values of the yields while folding.
    results: Vec<Atom>,
}

/// What has been computed at the places in scope.
#[derive(Clone, Default)]
struct Computed {
    expressions: HashMap<Exp, Vec<Var>>,
    scans: HashMap<Scan, Vec<Var>>,
    stored: HashMap<(ArrayId, Vec<Atom>), Atom>,
}

enum Forwarded {
    Atom(Atom),
    Exp(Exp),
}

impl Computed {
    /// An expression renamed. A read of an element stored in scope is its value.
    fn forward(&self, e: &Exp, map: &mut Renaming) -> Forwarded {
        let mut e = e.clone();
        let mut forward = Forward { stored: &self.stored, map };
        forward.exp(&mut e);
        forward.value(&e).map_or(Forwarded::Exp(e), Forwarded::Atom)
    }
}

/// Renames, and drops the reads of elements that are stored in scope: their values are their names from there on.
pub(super) struct Forward<'a> {
    pub stored: &'a HashMap<(ArrayId, Vec<Atom>), Atom>,
    pub map: &'a mut Renaming,
}

impl Forward<'_> {
    /// The value of the element that is read.
    pub fn value(&self, e: &Exp) -> Option<Atom> {
        let Exp::Read { array, index, .. } = e else { return None };
        self.stored.get(&(*array, index.clone())).copied()
    }
}

impl Rewriter for Forward<'_> {
    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(self.map, *a);
    }

    fn block(&mut self, b: &mut Block) {
        b.lets.retain_mut(|l| {
            self.binding(l);
            let value = self.value(&l.exp);
            self.map.extend(value.map(|a| (l.vars[0], a)));
            value.is_none()
        });
    }
}

/// What the scans among items need before their loop, with everything that it is made of.
fn starts(items: &[Item]) -> HashSet<Var> {
    let mut needed = HashSet::new();
    let note = |a: Atom, needed: &mut HashSet<Var>| {
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
        computed.stored.insert((y.array, index.clone()), *v);
        nodes.push(Node::Store { array: y.array, index: index.clone(), value: *v });
    }
}
