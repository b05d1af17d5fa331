//! What trips keep besides what they overwrite and the states that are stored whole: what they need so that they can go straight back
//! (`repeat/straight.rs`), if there is room, and as far as there is more room what costs much to compute again.
//!
//! ```text
//! repeat t < n with h {                                   of h the way back has what was overwritten
//!   v = .. t ..                                           v: no state, computed again
//!   v', h' = repeat i < m with v, h {                     v before each trip: stored whole, as the trips replace it;  v': kept
//!     z = sum of w[i, .., k] v[k];  y = tanh(z)           y: kept, as its derivative is made of it;  z: kept, and nothing needs it then
//!     => y, write h at i of y }
//!   .. v' .. }
//! ```
//!
//! The room is a multiple of what the outermost loop stores anyway, so that a history takes at most so many times what the states alone
//! need. First it goes to what trips need, from the outside in.
//! What costs a function for each element is computed again, in vectors.

use rustc_hash::FxHashSet;

use super::super::repeat::{Segments, replaced, versions};
use super::super::reverse::costly_value;
use super::Kept;
use super::log::{Level, Logger, Writes, is_less, polynomial, position};
use crate::bulk::build::Code;
use crate::bulk::{ArrayId, Atom, Carried, Program, Repeat, Stm, Trips, Yield, YieldKind};
use crate::dim::Dim;
use crate::internal::expect;

/// So many numbers a trip of the outermost loop may keep whatever it stores,
const FEW: i64 = 4;
/// and so many times of that.
const TIMES: i64 = 4;
/// Sums of so many terms cost more than keeping them.
const LONG: i64 = 16;

/// A loop inside that writes into states, and what it writes into which.
struct Inner<'a> {
    r: &'a Repeat,
    level: Level,
    overwritten: Vec<(Carried, &'a [Writes])>,
}

/// The room of trips that store so many numbers.
pub(super) fn room(stored: &Dim) -> Dim {
    stored.scale(TIMES).add(&Dim::constant(FEW))
}

impl Logger<'_> {
    /// What trips with this body keep so that they can go straight back, and of what costs much to compute again what there is room for;
    /// `None` if there is no way or no room.
    pub fn keeping(&mut self, body: &[Stm], overwritten: &[(Carried, &[Writes])]) -> Option<Kept> {
        let before = self.room.clone();
        let plan = self.needed_and_costly(body, overwritten);
        if plan.is_none() {
            self.room = before;
        }
        plan
    }

    fn needed_and_costly(&mut self, body: &[Stm], overwritten: &[(Carried, &[Writes])]) -> Option<Kept> {
        let written: Vec<Vec<ArrayId>> =
            overwritten.iter().map(|(c, _)| versions(body, c.next, c.state)).collect();
        let all: FxHashSet<ArrayId> = written.iter().flatten().copied().collect();
        let mut places = Segments::to_keep(self.p, body, &written)?;
        for at in &places {
            let size = self.kept_size(body, &body[*at], &all)?;
            self.takes(&size).then_some(())?;
        }
        let mut plan = Kept::default();
        let mut loops = Vec::new();
        for (at, s) in body.iter().enumerate() {
            let Some(inner) = self.inner_loop(body, s, overwritten) else { continue };
            self.levels.push(inner.level.clone());
            let states: Option<Vec<_>> = replaced(s, &all)
                .map(|(k, c)| {
                    let size = self.whole(&inner.r.body, c)?;
                    self.takes(&size).then_some((k, c.state))
                })
                .collect();
            self.levels.pop();
            plan.inside.push((at, Kept { states: states?, ..Kept::default() }));
            loops.push(inner);
        }
        for (inner, (_, plan)) in loops.into_iter().zip(&mut plan.inside) {
            self.levels.push(inner.level);
            if let Some(kept) = self.keeping(&inner.r.body, &inner.overwritten) {
                *plan = Kept { states: std::mem::take(&mut plan.states), ..kept };
            }
            self.levels.pop();
        }
        for at in costly(body, &all).into_iter().rev() {
            let more: FxHashSet<usize> = places.iter().copied().chain([at]).collect();
            if !places.contains(&at)
                && Segments::can_keep(self.p, body, &written, &more)
                && self.kept_size(body, &body[at], &all).is_some_and(|size| self.takes(&size))
            {
                places = more;
            }
        }
        let mut places: Vec<usize> = places.into_iter().collect();
        places.sort_unstable();
        plan.values = places.into_iter().map(|at| (at, to_keep(body, &body[at], &all))).collect();
        Some(plan)
    }

    /// A loop that writes into states, if it can be told how much that is before the outermost loop without data.
    fn inner_loop<'s>(
        &self,
        body: &[Stm],
        s: &'s Stm,
        overwritten: &[(Carried, &'s [Writes])],
    ) -> Option<Inner<'s>> {
        let Stm::Repeat(r) = s else { return None };
        let Trips::For(index, count) = &r.trips else { return None };
        let inside = |c: &Carried| {
            let mut all = overwritten.iter().flat_map(|(_, w)| *w);
            all.find_map(|w| match w {
                Writes::Loop(result, _, inside) if *result == c.result => Some((*c, &inside[..])),
                _ => None,
            })
        };
        let inside: Vec<_> = r.carried.iter().filter_map(inside).collect();
        let count = polynomial(body, count);
        let most = self.most(&count).filter(|most| !inside.is_empty() && !self.is_told([most]))?;
        Some(Inner { r, level: Level { index: *index, count, most }, overwritten: inside })
    }

    /// Whether there is room for so many numbers in each trip of the loops around; it is taken.
    fn takes(&mut self, size: &Dim) -> bool {
        let trips = Dim::product(self.levels[1..].iter().map(|l| &l.most));
        let left = self.room.sub(&trips.mul(size));
        let fits = fits(&left);
        if fits {
            self.room = left;
        }
        fits
    }

    /// How much it takes to keep what a statement of this body makes.
    fn kept_size(&self, body: &[Stm], s: &Stm, versions: &FxHashSet<ArrayId>) -> Option<Dim> {
        let mut sizes = to_keep(body, s, versions).into_iter().map(|(_, a)| self.most_of(body, a));
        sizes.try_fold(Dim::default(), |sum, dims| Some(sum.add(&Dim::product(&dims?))))
    }

    /// The size of a state that a loop inside with this body would store whole by itself.
    fn whole(&mut self, body: &[Stm], c: &Carried) -> Option<Dim> {
        let most = self.most_of(body, c.state)?;
        let writes = self.writes(body, c);
        writes.is_none_or(|w| is_less(&most, &w)).then(|| Dim::product(&most))
    }

    /// Bounds for the dimensions of an array that a trip makes.
    fn most_of(&self, body: &[Stm], a: ArrayId) -> Option<Vec<Dim>> {
        self.p.array(a).dims.iter().map(|d| self.most(&polynomial(body, d))).collect()
    }

    /// Has the trips of a loop, which had this body, keep what is planned; the logs.
    pub fn keep(&mut self, r: &mut Repeat, body: &[Stm], plan: &Kept) -> Kept {
        let mut kept = Kept::default();
        for (k, state) in &plan.states {
            kept.states.push((*k, self.keep_array(r, 0, body, *state)));
        }
        for (at, results) in &plan.values {
            let log = |(k, a): &(usize, ArrayId)| {
                let after = position(r, *a) + 1;
                (*k, self.keep_array(r, after, body, *a))
            };
            kept.values.push((*at, results.iter().map(log).collect()));
        }
        for (at, inside) in &plan.inside {
            let Stm::Repeat(before) = &body[*at] else { panic!("statement {at} is no loop") };
            let Trips::For(index, count) = &before.trips else { panic!("the loop at {at} is not counted") };
            let count = polynomial(body, count);
            let most = expect(self.most(&count), || format!("the loop at {at} has no bound"));
            let most = self.extent(&most);
            let place = position(r, before.carried[0].result);
            let Stm::Repeat(inner) = &mut r.body[place] else { panic!("statement {place} is no loop") };
            let first = inner.carried.len();
            self.levels.push(Level { index: *index, count, most });
            let mut logs = self.keep(inner, &before.body, inside);
            self.levels.pop();
            let after = self.passed_through(&mut inner.carried[first..], &mut r.carried);
            logs.redirect(&after);
            kept.inside.push((*at, logs));
        }
        kept
    }

    /// Has the trips of a loop, which had this body, store an array at this place in it; the log.
    fn keep_array(&mut self, r: &mut Repeat, at: usize, body: &[Stm], a: ArrayId) -> ArrayId {
        let info = self.p.array(a).clone();
        let axes: Vec<Dim> = info.dims.iter().map(|d| polynomial(body, d)).collect();
        let most = expect(self.most_of(body, a), || format!("array {} has no bound", a.0));
        let most: Vec<Dim> = most.iter().map(|d| self.extent(d)).collect();
        let read = |p: &mut Program, c: &mut Code, point: &[Atom]| c.read(p, a, point);
        self.store_in_trip(r, at, &axes, &most, info.elem, read)
    }
}

/// What is kept of what a statement of this body makes: all of a nest, of a loop what is no version of a state and something needs. With
/// the places among all results.
fn to_keep(body: &[Stm], s: &Stm, versions: &FxHashSet<ArrayId>) -> Vec<(usize, ArrayId)> {
    let is_needed = |a: &ArrayId| match s {
        Stm::Repeat(_) => !versions.contains(a) && body.iter().any(|s| s.inputs().contains(a)),
        _ => true,
    };
    s.results().into_iter().enumerate().filter(|(_, a)| is_needed(a)).collect()
}

/// The nests of a trip that cost much to have again: long sums, and functions of these whose derivatives they are themselves made of.
fn costly(body: &[Stm], versions: &FxHashSet<ArrayId>) -> Vec<usize> {
    let mut sums: FxHashSet<ArrayId> = FxHashSet::default();
    let mut out = Vec::new();
    for (at, s) in body.iter().enumerate() {
        let Stm::Nest(n) = s else { continue };
        if s.results().iter().any(|a| versions.contains(a)) {
            continue;
        }
        let is_long = |y: &Yield| match y.kind {
            YieldKind::Reduce { over, .. } => {
                let terms = Dim::product(n.axes[n.axes.len() - over..].iter().map(|a| &a.extent));
                terms.as_constant().is_none_or(|terms| terms >= LONG)
            }
            _ => false,
        };
        if n.yields.iter().any(is_long) {
            sums.extend(s.results());
            out.push(at);
        } else if n.yields.iter().any(|y| costly_value(n, y).is_some())
            && n.inputs().iter().any(|a| sums.contains(a))
        {
            out.push(at);
        }
    }
    out
}

/// Whether nothing is negative of the room that is left, whatever the sizes are, but for those that are 0.
fn fits(room: &Dim) -> bool {
    let one_more = room.substitute(&mut |a| {
        let a = Dim::atom(a.clone());
        if a.is_nonnegative() { a.add(&Dim::constant(1)) } else { a }
    });
    // What is no size is a number of trips, of loops that start from the second element on.
    !one_more.is_too_large() && one_more.terms().all(|(_, times)| times >= 0)
}
