//! Loops, and who takes over whose memory.
//!
//! A statement that updates an array, `y = write into x at ..`, has `y` take over the memory of `x` if `x` belongs to the
//! same list of statements, nothing uses it later, and no point of the statement reads an element of `x` that another
//! point may have written. Then a loop that writes one element a trip costs one element a trip. In the same way a state
//! takes over the memory of its start, and at the end of a trip that of its next value.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Steps;
use crate::affine::Checked;
use crate::affine::meet::reads_only_own;
use crate::bulk::build::Redirect;
use crate::bulk::walk::Rewriter;
use crate::bulk::{self, ArrayId, Nest, Program, Stm, Trips, YieldKind};
use crate::loops::{Carried, Node, Repeat, Step, Tree};

/// The lives of the arrays of one list of statements.
pub(super) struct Memory<'a> {
    stms: &'a [Stm],
    after: &'a FxHashSet<ArrayId>,
    /// Arrays with memory that the list may take over.
    own: FxHashSet<ArrayId>,
    /// The last statement that uses an array, directly or through a view.
    last: FxHashMap<ArrayId, usize>,
}

impl<'a> Memory<'a> {
    /// What is used of `sizes` their lives do not tell: they keep their memory.
    pub fn new(
        stms: &'a [Stm],
        after: &'a FxHashSet<ArrayId>,
        own: &FxHashSet<ArrayId>,
        sizes: &FxHashSet<ArrayId>,
    ) -> Memory<'a> {
        let mut own = own.clone();
        let mut last: FxHashMap<ArrayId, usize> = FxHashMap::default();
        let mut viewed: FxHashSet<ArrayId> = FxHashSet::default();
        for (i, s) in stms.iter().enumerate() {
            for a in s.inputs() {
                last.insert(a, i);
            }
            match s {
                // A view and what it views live as long as each other: neither is taken.
                Stm::Reshape { result, source } => viewed.extend([*result, *source]),
                s => own.extend(s.results()),
            }
        }
        own.retain(|a| !viewed.contains(a) && !sizes.contains(a));
        Memory { stms, after, own, last }
    }

    /// Whether statement `at` is the last to use an array that may be taken over.
    pub fn ends(&self, at: usize, a: ArrayId) -> bool {
        self.own.contains(&a) && self.last.get(&a) == Some(&at) && !self.after.contains(&a)
    }

    /// Whether an update of statement `at`, the nest `n`, may be done in the memory of what it starts from.
    pub fn updates_in_place(&self, p: &Program, at: usize, n: &Nest, into: ArrayId, known: &Checked) -> bool {
        let mut reads = false;
        n.body.visit_reads(&mut |a, _| reads |= a == into);
        let one_point = n.axes.iter().all(|a| a.extent.as_constant() == Some(1));
        self.ends(at, into) && (!reads || one_point || reads_own(p, n, into, known))
    }

    /// Whether the array is used once in statement `at`.
    pub fn once(&self, at: usize, a: ArrayId) -> bool {
        let Stm::Repeat(r) = &self.stms[at] else { return false };
        let starts = r.carried.iter().filter(|c| c.start == a).count();
        let inside = r.body.iter().any(|s| s.inputs().contains(&a)) || r.carried.iter().any(|c| c.next == a);
        starts == 1 && !inside
    }
}

/// Whether every point reads of `into` only the element that it updates itself, or such as no other point updates. An accumulation may
/// be made in parts, which do not have the old elements.
pub(super) fn reads_own(p: &Program, n: &Nest, into: ArrayId, known: &Checked) -> bool {
    n.yields.iter().all(|y| matches!(y.kind, YieldKind::Write { .. })) && reads_only_own(p, n, into, known)
}

impl Steps<'_> {
    /// The step of a loop, statement `at` of its list.
    pub(super) fn repeat(&mut self, at: usize, r: &bulk::Repeat, memory: &Memory<'_>) -> Step {
        let states: FxHashSet<ArrayId> = r.carried.iter().map(|c| c.state).collect();
        let nexts: FxHashSet<ArrayId> = r.carried.iter().map(|c| c.next).collect();
        let condition = match &r.trips {
            Trips::While(state) => Some(*state),
            Trips::For(..) => None,
        };
        let after: FxHashSet<ArrayId> = nexts.iter().copied().chain(condition).collect();
        let inside = self.known.inside_repeat(r, self.p);
        let outside = std::mem::replace(&mut self.known, inside);
        let steps = self.block(&r.body, &after, &states);
        self.known = outside;
        let mut inside = states;
        let mut viewed: FxHashSet<ArrayId> = FxHashSet::default();
        for s in &r.body {
            match s {
                Stm::Reshape { result, source } => viewed.extend([*result, *source]),
                s => inside.extend(s.results()),
            }
        }
        let carried = r
            .carried
            .iter()
            .map(|c| {
                let single = r.carried.iter().filter(|d| d.next == c.next).count() == 1;
                let next = single && inside.contains(&c.next) && !viewed.contains(&c.next);
                let start = memory.ends(at, c.start) && memory.once(at, c.start);
                Carried { arrays: *c, takes: (start, next) }
            })
            .collect();
        Step::Repeat(Repeat { trips: r.trips.clone(), carried, steps, loc: r.loc })
    }
}

/// Has reads of `from` read `to`.
pub(super) fn redirect(t: &mut Tree, from: ArrayId, to: ArrayId) {
    let names = FxHashMap::from_iter([(from, to)]);
    for n in &mut t.body {
        match n {
            Node::Let(l) => Redirect(&names).binding(l),
            Node::Scan(s) => Redirect(&names).scan(s),
            _ => {}
        }
    }
}
