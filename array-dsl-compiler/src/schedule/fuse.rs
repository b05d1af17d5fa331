//! Groups of nests, and the loop trees made of them.
//!
//! At every level the members that share the axes so far are divided into **runs** that also share the next axis.
//! A member joins the last run it depends on, or a later one, if
//!
//! 1. the next extents are equal,
//! 2. what it reads of the run's members is read at the shared axes, and those members have stored it by then
//!    (a reduction over the shared axis has not),
//! 3. they have an array in common or a function of the same elements that takes long, and do not go through an array crosswise,
//! 4. where loops nest, little scalar code at points that the member needs is taken along to an earlier run that it joins,
//! 5. where loops do not nest, they have the same space, or are folds over the same points (`same_folds`).
//!
//! Scalar code is placed at the outermost level where its operands exist, unless it may fail: then it stays where its nest has
//! points. What a scan starts from and what its steps use is needed before its loop all the same (its chunks are joined outside of
//! it), and is computed there if the loop has trips.

mod member;
mod tree;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Item, Let, Nest, Program, Scan, Stm, Yield, YieldKind};
use crate::dim::Dim;
use crate::loops::{MOST_FOLDED, Step};
use crate::target::Target;
use crate::ty::Elem;
use member::{Member, depends, have_in_common, points};

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
    views: FxHashMap<ArrayId, ArrayId>,
    vars: Vec<Elem>,
}

impl<'a> Fuse<'a> {
    pub fn new(p: &'a Program, target: Target, longest: i64, vars: Vec<Elem>) -> Self {
        let mut views = FxHashMap::default();
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
        self.bring(&m);
        let first = self.first(&m, self.groups.len());
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

    /// Has the little that a member needs besides a group join that group, if the member does so as well then.
    fn bring(&mut self, m: &Member) {
        let last = self.first(m, self.groups.len());
        let Some(Group::Members(little)) = self.groups.get(last) else { return };
        let firsts = little.iter().chain([m]).map(|q| self.first(q, last));
        let Some(first) = firsts.max().filter(|first| *first < last) else { return };
        let Group::Members(run) = &self.groups[first] else { return };
        let [little, run] = [little, run].map(|members| members.iter().collect::<Vec<_>>());
        if self.go_along(&little, &run, m, 0) {
            let Group::Members(little) = self.groups.remove(last) else { return };
            if let Group::Members(run) = &mut self.groups[first] {
                run.extend(little);
            }
        }
    }

    /// Whether the little that members make at their points can share axis number `depth` with a run, as `m` does then, which needs it.
    fn go_along(&self, little: &[&Member], run: &[&Member], m: &Member, depth: usize) -> bool {
        let extent = |q: &Member| q.axes.get(depth).map(|a| a.extent.clone());
        let can = |q: &&Member| {
            is_little(q)
                && extent(q) == extent(m)
                && run.iter().all(|r| !depends(q, r) || self.pointwise(q, r, depth))
        };
        let all: Vec<&Member> = run.iter().chain(little).copied().collect();
        self.target.can().nests && little.iter().all(can) && self.joins(m, &all, depth)
    }

    /// The first of so many groups that a member may join: it is not before what it reads, and after what its sizes are.
    fn first(&self, m: &Member, groups: usize) -> usize {
        let sizes = self.sizes(m);
        let mut first = self.floor;
        for (i, g) in self.groups[..groups].iter().enumerate() {
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
    fn sizes(&self, m: &Member) -> FxHashSet<ArrayId> {
        let mut out = FxHashSet::default();
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
        let is_one_space = if folds(m) || run.iter().any(|q| folds(q)) {
            self.same_folds(m, run)
        } else {
            self.same_space(m, first)
        };
        if !self.target.can().nests && !is_one_space && !self.is_small(m, run) {
            return false;
        }
        // The one axis of a scan is divided in a way of its own; if it cannot be, what is in order too goes along.
        let on_one_axis = |q: &Member| q.ordered && q.axes.len() == 1;
        let in_order = |q: &Member| on_one_axis(q) && !q.body.scans().all(Scan::is_associative);
        let mut all = [m].into_iter().chain(run.iter().copied());
        if depth == 0 && all.clone().any(on_one_axis) && !all.all(in_order) {
            return false;
        }
        let legal = run.iter().all(|q| !depends(m, q) || self.pointwise(m, q, depth));
        let gain = run.iter().any(|q| depends(m, q) || have_in_common(m, q));
        legal && gain && !run.iter().any(|q| self.is_crosswise(m, q))
    }

    /// Whether one folds rows of a matrix of which the other folds columns: in one loop one of them would stride through it.
    fn is_crosswise(&self, m: &Member, q: &Member) -> bool {
        let folds = |q: &Member| q.outer > 0 && q.outer < q.axes.len();
        if !folds(m) || !folds(q) || m.indexed.is_disjoint(&q.indexed) {
            return false;
        }
        // Each array of rows with the side of the axes on which neighbors are. A vector is near whoever goes through it.
        let sides = |m: &Member| -> FxHashSet<(ArrayId, bool)> {
            let side = |(a, index): &(ArrayId, Vec<Atom>)| {
                let (_, rows) = index.split_last()?;
                let is_outer = m.along(index)? < m.outer;
                let crosses = |k| m.along(&rows[..=k]).is_some_and(|axis| (axis < m.outer) != is_outer);
                (0..rows.len()).any(crosses).then(|| (self.root(*a), is_outer))
            };
            m.reads.iter().filter_map(side).collect()
        };
        let others = sides(q);
        sides(m).iter().any(|(a, outer)| others.contains(&(*a, !outer)))
    }

    fn same_space(&self, m: &Member, q: &Member) -> bool {
        let plain = |m: &Member| m.outer == m.axes.len() && !m.ordered;
        plain(m)
            && plain(q)
            && m.axes.len() == q.axes.len()
            && m.axes.iter().zip(&q.axes).all(|(a, b)| a.extent == b.extent)
            && (!depends(m, q) || (0..m.axes.len()).all(|d| self.pointwise(m, q, d)))
    }

    /// Whether `m` and the run are folds over the same points, from none of the others' results, with what is stored for each of
    /// the points on the way, and for each result at the end.
    fn same_folds(&self, m: &Member, run: &[&Member]) -> bool {
        let same = |x: &[Axis], y: &[Axis]| x.iter().map(|a| &a.extent).eq(y.iter().map(|a| &a.extent));
        let together =
            |q: &Member| !depends(m, q) || (0..m.axes.len()).all(|depth| self.pointwise(m, q, depth));
        let Some(fold) = run.iter().copied().chain([m]).find(|q| folds(q)) else { return false };
        let is_map = |q: &Member| stores(q) && same(&q.axes, &fold.axes);
        let is_end = |q: &Member| stores(q) && same(&q.axes, &fold.axes[..fold.outer]);
        let is_same = |q: &Member| folds(q) && q.outer == fold.outer && same(&q.axes, &fold.axes);
        let folded: usize =
            run.iter().copied().chain([m]).flat_map(|q| &q.yields).map(|y| self.words(y)).sum();
        let fits = run.iter().all(|q| is_same(q) || is_map(q) || is_end(q)) && folded <= MOST_FOLDED;
        if is_same(m) || is_map(m) {
            fits && run.iter().all(|q| if is_map(q) { together(q) } else { !depends(m, q) })
        } else {
            let of_a_result = run.iter().any(|q| folds(q) && depends(m, q));
            is_end(m)
                && fits
                && of_a_result
                && run.iter().all(|q| together(q) && !(is_map(q) && depends(m, q)))
        }
    }

    /// The words of 32 bits that a thread keeps of what is folded.
    fn words(&self, y: &Yield) -> usize {
        let elem = |a: Atom| match a {
            Atom::Var(v) => self.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        };
        match y.kind {
            YieldKind::Reduce { reducer, value, .. } => reducer.words(elem(value)),
            _ => 0,
        }
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
}

/// Whether it stores what a few simple operations give at its points, and cannot fail.
fn is_little(q: &Member) -> bool {
    let is_simple = |i: &Item| match i {
        Item::Let(Let { exp: Exp::Op(op, _), .. }) => op.is_cheap() && !op.can_fail(),
        Item::Let(Let { exp, .. }) => matches!(exp, Exp::Read { checked: false, .. } | Exp::Size(_)),
        Item::Scan(_) => false,
    };
    stores(q) && !q.axes.is_empty() && q.body.items.iter().all(is_simple)
}

/// Whether all it does is to fold, in a way that can be divided.
fn folds(q: &Member) -> bool {
    let divides = |y: &Yield| match y.kind {
        YieldKind::Reduce { reducer, over, .. } => {
            reducer.op().is_some() || (reducer.is_extremum() && over == 1)
        }
        _ => false,
    };
    q.outer < q.axes.len() && !q.ordered && q.yields.iter().all(divides)
}

/// Whether all it does is to store an element for each of its points.
fn stores(q: &Member) -> bool {
    q.outer == q.axes.len() && !q.ordered && q.yields.iter().all(|y| matches!(y.kind, YieldKind::Store(_)))
}

/// What each view views, in loops as well.
fn collect_views(stms: &[Stm], out: &mut FxHashMap<ArrayId, ArrayId>) {
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
