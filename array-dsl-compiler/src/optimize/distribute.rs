//! What trips of a loop do that does not need their order, before and after it: for all trips at once.
//!
//! ```text
//! before   repeat i < n with s, a { e = nest [k..] f(i);  b = g(s, e, i);  a' = nest [q..] accumulate(+) a at p(q) of v(b, i);  => h(b), a' }
//! after    e = nest [i < n, k..] f(i)
//!          repeat i < n with s, l { b = g(s, e[i], i);  l' = nest [k..] write l at [i, k..] of b[k];  => h(b), l' }
//!          a = nest [i < n, q..] accumulate(+) a at p(q) of v(l[i], i)
//! ```
//!
//! A recurrent network multiplies a matrix with the input of each trip, and its way back adds the product of a column and a row to that
//! matrix's adjoint: both go through all of the matrix in each trip. For all trips together they are products of matrices.
//!
//! Nothing is moved that computes more than a few operations, which it may have in common with the rest of a trip, or that may fail, since
//! another failure may then be the first; and nothing is kept for all trips unless there is something as large for all of them anyway: a
//! history, or what the loop is given. Source: Allen and Kennedy's loop distribution with expansion of what the parts share; `independent`
//! makes the nests.
//!
//! | file | subject |
//! |---|---|
//! | `early` | what needs nothing of the trips before |
//! | `late` | what is only added up |
//! | `along` | axes whose extent the trip tells |
//! | `numbers` | what is added to one element |
//! | `order` | the order of what is kept for all trips |

mod along;
mod early;
mod late;
mod numbers;
mod order;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use super::independent::have_points;
use crate::affine::Checked;
use crate::bulk::uses::scalars;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp, Item, Let, Nest, Program, Repeat, Stm, Trips, YieldKind};
use crate::dim::Dim;
use crate::ty::Elem;

/// An axis of fewer places is short: its loop is unrolled, and so few numbers stay in registers.
const SHORT: i64 = 32;
/// So many operations of floats are few.
const FEW: usize = 4;

/// Divides the loops that can be.
pub(super) fn distribute(seq: &mut Sequence, p: &mut Program) {
    let mut known = seq.known.clone();
    for s in std::mem::take(&mut seq.stms) {
        let made = match s {
            Stm::Repeat(r) => parts(p, r, &known),
            s => vec![s],
        };
        made.iter().for_each(|s| known.statement(s, p));
        seq.stms.extend(made);
    }
}

/// What is early, the rest of the loop, and what is late.
fn parts(p: &mut Program, r: Repeat, known: &Checked) -> Vec<Stm> {
    let Trips::For(index, count) = r.trips.clone() else { return vec![Stm::Repeat(r)] };
    if let Some(parts) = early::early(p, &r, (index, &count), known) {
        return parts;
    }
    late::late(p, &r, (index, &count), known).unwrap_or_else(|| vec![Stm::Repeat(r)])
}

/// A loop's body, and what is used in it.
struct Trip<'a> {
    p: &'a Program,
    r: &'a Repeat,
    index: ArrayId,
    /// The states, and what a trip makes.
    arrays: FxHashSet<ArrayId>,
    /// The positions of the statements that use an array.
    users: FxHashMap<ArrayId, Vec<usize>>,
    nexts: Vec<ArrayId>,
    /// What is known in a trip.
    inside: Checked,
}

impl<'a> Trip<'a> {
    fn of(p: &'a Program, r: &'a Repeat, index: ArrayId, known: &Checked) -> Self {
        let states = r.carried.iter().map(|c| c.state);
        let arrays = states.chain(r.body.iter().flat_map(Stm::results)).collect();
        let mut users: FxHashMap<ArrayId, Vec<usize>> = FxHashMap::default();
        for (at, s) in r.body.iter().enumerate() {
            s.inputs().into_iter().for_each(|a| users.entry(a).or_default().push(at));
        }
        let nexts = r.carried.iter().map(|c| c.next).collect();
        Trip { p, r, index, arrays, users, nexts, inside: known.inside_repeat(r, p) }
    }

    fn users(&self, a: ArrayId) -> &[usize] {
        self.users.get(&a).map_or(&[], Vec::as_slice)
    }

    /// Whether a nest can be made for all trips at once, as far as its extents can: no other size of it depends on the trip but such as
    /// are places, it cannot fail, and it computes little.
    fn may_be_moved(&self, n: &Nest) -> bool {
        let mut can = !n.body.items.iter().any(|i| i.may_fail(&self.p.vars));
        n.body.visit_sizes(&mut |d| can &= self.is_of_trip_alone(d));
        let results = n.yields.iter().map(|y| self.p.array(y.array));
        can && computes_little(self.p, n)
            && results
                .into_iter()
                .all(|info| info.elem.is_float() && info.dims.iter().all(|d| self.is_known(d)))
    }

    /// Whether a size is of the number of the trip and what is known before the loop.
    fn is_of_trip_alone(&self, d: &Dim) -> bool {
        scalars(d).all(|a| !self.arrays.contains(&a))
    }

    /// Whether a size is known before the loop.
    fn is_known(&self, d: &Dim) -> bool {
        scalars(d).all(|a| a != self.index && !self.arrays.contains(&a))
    }

    fn has_known_extents(&self, n: &Nest) -> bool {
        n.axes.iter().all(|a| self.is_known(&a.extent))
    }

    /// Whether a nest is a product of a matrix and a vector, or of less: it goes through more than it gives, and for all trips together it
    /// is a product of matrices, as others are for each of them.
    fn is_small_product(&self, n: &Nest) -> bool {
        n.yields.iter().all(|y| {
            let rank = self.p.array(y.array).dims.len();
            matches!(y.kind, YieldKind::Reduce { .. }) && rank < 2 && rank < n.axes.len()
        }) && n.axes.iter().any(|a| is_long(&a.extent))
    }

    /// Whether there is room for such an array of each trip: something that the loop is given or carries has a row for each of them, but
    /// for a few, and in it places for all of the array.
    fn has_room(&self, dims: &[Dim], count: &Dim) -> bool {
        let given = self.r.body.iter().flat_map(Stm::inputs).filter(|a| !self.arrays.contains(a));
        let carried = self.r.carried.iter().map(|c| c.state);
        given.chain(carried).any(|a| {
            let mut others: Vec<&Dim> = self.p.array(a).dims.iter().collect();
            let Some(rows) = others.iter().position(|d| are_rows(d, count)) else { return false };
            others.remove(rows);
            dims.iter().filter(|d| is_long(d)).all(|d| {
                let at = others.iter().position(|o| *o == d);
                at.map(|at| others.remove(at)).is_some()
            })
        })
    }

    /// Whether the points of a loop do not need each other and may make it by themselves: they use of a trip what is there.
    fn are_points(&self) -> bool {
        let uses_own = |s: &Stm| {
            let Stm::Nest(Nest { axes, body, .. }) = s else { return false };
            let first = axes.first().map(|a| Atom::Var(a.var));
            let mut is_own = true;
            body.visit_reads(&mut |a, index| {
                is_own &= !self.arrays.contains(&a) || index.first().copied() == first;
            });
            is_own
        };
        have_points(self.r) && self.r.body.iter().all(uses_own)
    }
}

/// Whether a dimension has a place for each trip, but for a few.
fn are_rows(d: &Dim, count: &Dim) -> bool {
    d.sub(count).as_constant().is_some_and(|more| more.abs() <= SHORT)
}

fn is_long(extent: &Dim) -> bool {
    extent.as_constant().is_none_or(|n| n >= SHORT)
}

/// Whether a nest computes a few floats and no scans or functions: what it computes is not in common with much else.
fn computes_little(p: &Program, n: &Nest) -> bool {
    let (mut floats, mut is_simple) = (0, true);
    for i in &n.body.items {
        match i {
            Item::Let(Let { exp: Exp::Op(op, args), .. }) => {
                is_simple &= !op.takes_long();
                floats += usize::from(args.iter().any(|a| p.elem(*a).is_float()));
            }
            Item::Let(Let { exp: Exp::If(..), .. }) | Item::Scan(_) => is_simple = false,
            Item::Let(_) => {}
        }
    }
    is_simple && floats <= FEW
}

fn reads(n: &Nest, array: ArrayId) -> bool {
    let mut found = false;
    n.body.visit_reads(&mut |a, _| found |= a == array);
    found
}

/// Reads of arrays of a trip, as reads of their rows in arrays of all trips.
struct Rows<'a> {
    row: Atom,
    all: &'a FxHashMap<ArrayId, ArrayId>,
}

impl Rows<'_> {
    /// Redirects the reads of a nest; rows have the number of the trip.
    fn redirect(p: &mut Program, n: &mut Nest, index: ArrayId, all: &FxHashMap<ArrayId, ArrayId>) {
        let row = p.new_var(Elem::I64);
        Rows { row: Atom::Var(row), all }.walk_nest(n);
        let read = Exp::Read { array: index, index: Vec::new(), checked: false };
        n.body.items.insert(0, Item::Let(Let { vars: vec![row], exp: read, loc: n.loc }));
    }
}

impl Rewriter for Rows<'_> {
    fn exp(&mut self, e: &mut Exp) {
        if let Exp::Read { array, index, .. } = e
            && let Some(all) = self.all.get(array)
        {
            *array = *all;
            index.insert(0, self.row);
        }
        self.walk_exp(e);
    }
}
