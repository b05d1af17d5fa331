//! Writes in loops that nothing reads.
//!
//! ```text
//! before   repeat j < n with s = a { s' = write s at p(j) of h[j];  .. reads of s' ..;  => s' }      the last s is not used
//! after    repeat j < n with s = a { .. reads of s ..;  => s }                                       if no read meets p(i), i <= j
//! ```
//!
//! A way back puts into a state what each trip overwrote. What no trip before it reads of that need not be put back, and then need not
//! have been kept: of a factorization in place, whose factors do not change any more, nothing. Whether a read after the write may be of
//! the element that it wrote is asked of `affine::meet`, for each loop around both: in a later trip of it, and in the same one.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use crate::affine::meet::{Meeting, Side};
use crate::affine::places::Place;
use crate::affine::{Checked, Facts};
use crate::bulk::build::Redirect;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Axis, Carried, Nest, Program, Repeat, Stm, Trips, YieldKind};
use crate::dim::Dim;

/// So many reads and writes of one state are looked at; each of the one is compared with each of the other.
const MOST: usize = 64;

/// Removes them.
pub(super) fn unread(seq: &mut Sequence, p: &mut Program) {
    let mut known = seq.known.clone();
    for at in 0..seq.stms.len() {
        if let Stm::Repeat(r) = &seq.stms[at] {
            let after = seq.stms[at + 1..].iter().flat_map(Stm::inputs);
            let used: FxHashSet<ArrayId> = after.chain(seq.results.iter().copied()).collect();
            let mut dead = FxHashMap::default();
            for c in
                r.carried.iter().filter(|c| !used.contains(&c.result) && !p.array(c.state).dims.is_empty())
            {
                dead.extend(Memory::of(p, r, c.state, &known).map(|m| m.unread(&known)).unwrap_or_default());
            }
            if !dead.is_empty()
                && let Stm::Repeat(r) = &mut seq.stms[at]
            {
                without(r, dead);
            }
        }
        known.statement(&seq.stms[at], p);
    }
}

/// A loop around an access.
#[derive(Clone)]
struct Level {
    /// The number of its trip, and how many there are, if it counts them.
    trips: Option<(ArrayId, Dim)>,
    /// Which of the statements in it has the access.
    position: usize,
}

/// A read or a write of an element of a state.
struct Access {
    /// From the outside in.
    path: Vec<Level>,
    axes: Vec<Axis>,
    place: Place,
}

/// A write: what it makes of what.
struct Write {
    access: Access,
    array: ArrayId,
    into: ArrayId,
}

/// The memory of a state: the arrays that one after the other are in it, and what is done with them.
struct Memory<'a> {
    p: &'a Program,
    members: FxHashSet<ArrayId>,
    reads: Vec<Access>,
    writes: Vec<Write>,
    /// What may be another number in each trip: the numbers of the trips, states, and what trips compute.
    trips: FxHashSet<ArrayId>,
}

impl<'a> Memory<'a> {
    /// Of a state of a loop, if nests read and change it, loops carry it, and nothing else is done with it.
    fn of(p: &'a Program, r: &Repeat, state: ArrayId, known: &Checked) -> Option<Memory<'a>> {
        let members = FxHashSet::from_iter([state]);
        let mut m = Memory { p, members, reads: Vec::new(), writes: Vec::new(), trips: FxHashSet::default() };
        m.repeat(r, &[], known)?;
        (m.reads.len() <= MOST && m.writes.len() <= MOST).then_some(m)
    }

    fn repeat(&mut self, r: &Repeat, around: &[Level], known: &Checked) -> Option<()> {
        let trips =
            if let Trips::For(index, count) = &r.trips { Some((*index, count.clone())) } else { None };
        self.trips.extend(r.bound());
        let mut known = known.inside_repeat(r, self.p);
        let mut path = around.to_vec();
        for (position, s) in r.body.iter().enumerate() {
            path.truncate(around.len());
            path.push(Level { trips: trips.clone(), position });
            match s {
                Stm::Nest(n) => self.nest(n, &path, &known),
                Stm::Repeat(inner) => {
                    let carried = inner.carried.iter().filter(|c| self.members.contains(&c.start));
                    let carried: Vec<ArrayId> = carried.flat_map(|c| [c.state, c.result]).collect();
                    self.members.extend(carried);
                    self.repeat(inner, &path, &known)?;
                }
                s => s.inputs().iter().all(|a| !self.members.contains(a)).then_some(())?,
            }
            known.statement(s, self.p);
            self.trips.extend(s.results());
        }
        let stays = |c: &Carried| self.members.contains(&c.state) == self.members.contains(&c.next);
        r.carried.iter().all(stays).then_some(())
    }

    fn nest(&mut self, n: &Nest, path: &[Level], known: &Checked) {
        let mut facts = Facts::new(&n.axes, known);
        let access = |place| Access { path: path.to_vec(), axes: n.axes.clone(), place };
        let reads = facts.reads(self.p.into(), n);
        self.reads
            .extend(reads.into_iter().filter(|r| self.members.contains(&r.array)).map(|r| access(r.place)));
        for y in &n.yields {
            if let YieldKind::Write { into, index, .. } | YieldKind::Accumulate { into, index, .. } = &y.kind
                && self.members.contains(into)
            {
                self.members.insert(y.array);
                self.writes.push(Write { access: access(facts.place(index)), array: y.array, into: *into });
            }
        }
    }

    /// What the writes make that no read after them sees, and of what.
    fn unread(&self, known: &Checked) -> FxHashMap<ArrayId, ArrayId> {
        let meeting = Meeting::new(&self.trips, known);
        let is_read = |w: &Write| self.reads.iter().any(|r| is_seen(&meeting, &w.access, r));
        self.writes.iter().filter(|w| !is_read(w)).map(|w| (w.array, w.into)).collect()
    }
}

/// Whether a read may come after a write and be of its element.
fn is_seen(meeting: &Meeting<'_>, write: &Access, read: &Access) -> bool {
    let mut both = meeting.clone();
    for (side, a) in [(Side::First, write), (Side::Second, read)] {
        both.axes(side, &a.axes);
        a.path
            .iter()
            .filter_map(|l| l.trips.as_ref())
            .for_each(|(index, count)| both.trip(side, *index, count));
    }
    for (w, r) in write.path.iter().zip(&read.path) {
        let mut later = both.clone();
        w.trips.iter().for_each(|(index, _)| later.earlier(*index));
        if !later.rules_out(&write.place, &read.place) {
            return true;
        }
        w.trips.iter().for_each(|(index, _)| both.same(*index));
        if w.position != r.position {
            return w.position < r.position && !both.rules_out(&write.place, &read.place);
        }
    }
    // One nest reads before it writes.
    false
}

/// Takes the writes from a loop that make these arrays out of others.
fn without(r: &mut Repeat, dead: FxHashMap<ArrayId, ArrayId>) {
    let mut gone = FxHashMap::default();
    remove(r, &dead, &mut gone);
    let root = |mut a: ArrayId| {
        while let Some(before) = gone.get(&a) {
            a = *before;
        }
        a
    };
    let names = gone.keys().map(|a| (*a, root(*a))).collect();
    Redirect(&names).walk_repeat(r);
}

/// `gone` gains what they made; a nest that may report an error stays for that.
fn remove(r: &mut Repeat, dead: &FxHashMap<ArrayId, ArrayId>, gone: &mut FxHashMap<ArrayId, ArrayId>) {
    r.body.retain_mut(|s| {
        match s {
            Stm::Nest(n)
                if n.yields.iter().all(|y| dead.contains_key(&y.array)) && !n.body.may_be_outside() =>
            {
                gone.extend(n.yields.iter().map(|y| (y.array, dead[&y.array])));
                return false;
            }
            Stm::Repeat(inner) => remove(inner, dead, gone),
            _ => {}
        }
        true
    });
}
