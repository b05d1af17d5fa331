//! The order of what a loop keeps for all trips: that in which what comes after it reads what else it reads. A way back goes from the
//! last trip to the first, and what it adds up is then kept in the order of the way there.

use crate::affine::{Checked, Facts};
use crate::bulk::build::Code;
use crate::bulk::uses::scalars;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp, Nest, Program, Repeat, Yield, YieldKind};
use crate::dim::{Dim, SizeAtom};

/// How rows follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// As trips do.
    Forward,
    /// From the last trip to the first.
    Backward,
}

/// The order of the trips of a loop.
pub(super) struct Order<'a> {
    direction: Direction,
    index: ArrayId,
    count: &'a Dim,
}

impl<'a> Order<'a> {
    /// Backward, if something that these nests use goes toward its beginning from trip to trip, and nothing toward its end.
    pub fn of(p: &Program, nests: &[Nest], (index, count): (ArrayId, &'a Dim), known: &Checked) -> Self {
        let (mut is_backward, mut is_forward) = (false, false);
        for n in nests {
            let mut facts = Facts::new(&n.axes, known);
            let mut places: Vec<_> = facts.reads(p.into(), n).into_iter().map(|r| r.place).collect();
            for y in &n.yields {
                if let YieldKind::Accumulate { index, .. } | YieldKind::Write { index, .. } = &y.kind {
                    places.push(facts.place(index));
                }
            }
            let rows = places.into_iter().flatten().flatten().filter(|c| c.axes.is_empty());
            for rest in rows.map(|c| c.rest).filter(|rest| scalars(rest).any(|a| a == index)) {
                match rest.coefficient(&vec![SizeAtom::Scalar(index.0)]) < 0 {
                    true => is_backward = true,
                    false => is_forward = true,
                }
            }
        }
        let direction = if is_backward && !is_forward { Direction::Backward } else { Direction::Forward };
        Order { direction, index, count }
    }

    /// A nest that writes an array of a trip to its row of a log.
    pub fn written(&self, p: &mut Program, a: ArrayId, log: (ArrayId, ArrayId), r: &Repeat) -> Nest {
        let axes = p.new_axes(&p.array(a).dims.clone());
        let places: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut code = Code::new(r.loc);
        let row = match self.direction {
            Direction::Forward => code.read(p, self.index, &[]),
            Direction::Backward => code.size(p, &from_the_end(self.index, self.count)),
        };
        let value = code.read(p, a, &places);
        let (state, next) = log;
        let index = [&[row], &places[..]].concat();
        let kind = YieldKind::Write { into: state, index, value, contested: false };
        Nest { axes, body: code.into(), yields: vec![Yield { array: next, kind }], loc: r.loc }
    }

    /// Code of a trip, of a loop that goes through the rows from the first to the last.
    pub fn turned(&self, n: &mut Nest) {
        if self.direction == Direction::Backward {
            Turned { index: self.index, trip: from_the_end(self.index, self.count) }.walk_nest(n);
        }
    }
}

/// `count - trip - 1`.
fn from_the_end(index: ArrayId, count: &Dim) -> Dim {
    count.sub(&Dim::atom(SizeAtom::Scalar(index.0))).sub(&Dim::constant(1))
}

/// The number of the trip as one of a loop that goes the other way.
struct Turned {
    index: ArrayId,
    trip: Dim,
}

impl Rewriter for Turned {
    fn dim(&mut self, d: &mut Dim) {
        let is_trip = |a: &SizeAtom| *a == SizeAtom::Scalar(self.index.0);
        *d = d.substitute(&mut |a| if is_trip(a) { self.trip.clone() } else { Dim::atom(a.clone()) });
    }

    fn exp(&mut self, e: &mut Exp) {
        if matches!(e, Exp::Read { array, .. } if *array == self.index) {
            *e = Exp::Size(self.trip.clone());
            return;
        }
        self.walk_exp(e);
        // The trip itself is read.
        if matches!(e, Exp::Size(d) if d.as_atom() == Some(&SizeAtom::Scalar(self.index.0))) {
            *e = Exp::Read { array: self.index, index: Vec::new(), checked: false };
        }
    }
}
