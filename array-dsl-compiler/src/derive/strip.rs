//! Directions, so many at a time: what keeps the memory of a Jacobian from growing with their number.
//!
//! ```text
//! l = program lifted over a frame of width w;                      unit[k, i..] = 1 where i.. is direction from + k
//! J = zeros;  repeat trip < trips { l at from = min(trip * w, total - w);   J[from + k, ..] = l[k, ..] }
//! ```
//!
//! The last strip begins where it is full, so that all have one width: some directions are then taken twice, with the same
//! result. What does not depend on the trip is computed once, before the loop. The host chooses `w` (`bulk::Strip`).

use rustc_hash::FxHashSet;

use crate::bulk::build::Code;
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Atom, Carried, Nest, Program, Repeat, Stm, Strip, Trips, Yield, YieldKind};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name};

/// So few directions are taken all at once.
const MAX_AT_ONCE: i64 = 64;

/// The directions of one argument or result, in strips.
pub(super) struct Strips {
    /// Their number in `Program::strips`.
    number: usize,
    width: Dim,
    trips: Dim,
    total: Dim,
    /// The number of the strip.
    trip: ArrayId,
}

/// Which dimensions of a matrix are those of the direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Orientation {
    /// The first: a direction gives a row.
    Rows,
    /// The last: a direction gives a column.
    Columns,
}

impl Strips {
    /// Strips of the directions along all elements of an array of these dimensions, with their sizes added to the program.
    /// `None` if they are few, or their number is known only to the running program.
    pub(super) fn new(p: &mut Program, dims: &[Dim]) -> Option<Strips> {
        let total = Dim::product(dims);
        if total.as_constant().is_some_and(|n| n <= MAX_AT_ONCE) || !is_known_to_host(p, &total) {
            return None;
        }
        let mut size = |what: &str| {
            let mut name: Name = format!("#{what}{}", p.strips.len()).into();
            while p.sizes.contains(&name) {
                name = format!("{name}'").into();
            }
            p.sizes.push(name.clone());
            name
        };
        let (width, trips) = (size("width"), size("trips"));
        let sizes = (Dim::name(width.clone()), Dim::name(trips.clone()));
        p.strips.push(Strip { width, trips, total: total.clone(), bytes: Dim::default() });
        let trip = p.new_array("strip", Elem::I64, Vec::new());
        Some(Strips { number: p.strips.len() - 1, width: sizes.0, trips: sizes.1, total, trip })
    }

    /// The frame of one strip.
    pub(super) fn frame(&self) -> Vec<Dim> {
        vec![self.width.clone()]
    }

    /// The first direction of the strip.
    fn from(&self, p: &mut Program, code: &mut Code) -> Atom {
        let trip = code.read(p, self.trip, &[]);
        let width = code.size(p, &self.width);
        let start = code.op(p, Op::Mul, &[trip, width]);
        let last = code.size(p, &self.total.sub(&self.width));
        code.op(p, Op::Min, &[start, last])
    }

    /// The unit directions of the strip, as arrays of dimensions `dims`.
    pub(super) fn unit(&self, p: &mut Program, elem: Elem, dims: &[Dim]) -> ArrayId {
        let all: Vec<Dim> = [&self.width].into_iter().chain(dims).cloned().collect();
        p.store("unit", elem, &all, Loc::default(), |p, code, index| {
            let from = self.from(p, code);
            let direction = code.op(p, Op::Add, &[from, index[0]]);
            let mut flat = index[1];
            for (i, d) in index[2..].iter().zip(&dims[1..]) {
                let d = code.size(p, d);
                let row = code.op(p, Op::Mul, &[flat, d]);
                flat = code.op(p, Op::Add, &[row, *i]);
            }
            let equal = code.op(p, Op::Eq, &[flat, direction]);
            let (one, zero) = (Atom::Const(Const::of(elem, 1)), Atom::Const(Const::of(elem, 0)));
            code.select(p, equal, one, zero)
        })
    }

    /// The loop over strips. `lifted` are arrays that the program computes, with the directions of a strip as their first
    /// dimension; for each the element type of its matrix. The statements that compute them move into the loop. The matrices, in
    /// which the directions are one dimension.
    pub(super) fn matrices(
        &self,
        p: &mut Program,
        lifted: &[(ArrayId, Elem)],
        orientation: Orientation,
    ) -> Vec<ArrayId> {
        let mut body = self.split_off(p);
        p.strips[self.number].bytes = bytes(p, &body, &self.width);
        let mut carried = Vec::new();
        for (array, elem) in lifted {
            let rest = p.array(*array).dims[1..].to_vec();
            let with = |d: &Dim| match orientation {
                Orientation::Rows => [d].into_iter().chain(&rest).cloned().collect::<Vec<Dim>>(),
                Orientation::Columns => rest.iter().chain([d]).cloned().collect(),
            };
            let (dims, axes) = (with(&self.total), with(&self.width));
            let start = p.constant("matrix", &dims, Const::of(*elem, 0), Loc::default());
            let [state, next, result] = [(); 3].map(|()| p.new_array("matrix", *elem, dims.clone()));
            let axes = p.new_axes(&axes);
            let mut index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
            let mut at = index.clone();
            let direction = match orientation {
                Orientation::Rows => 0,
                Orientation::Columns => {
                    at.rotate_right(1);
                    index.len() - 1
                }
            };
            let mut code = Code::new(Loc::default());
            let mut value = code.read(p, *array, &at);
            if p.array(*array).elem != *elem {
                value = code.op(p, Op::Cast(*elem), &[value]);
            }
            let from = self.from(p, &mut code);
            index[direction] = code.op(p, Op::Add, &[from, index[direction]]);
            let yields = vec![Yield {
                array: next,
                kind: YieldKind::Write { into: state, index, value, contested: false },
            }];
            body.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: Loc::default() }));
            carried.push(Carried { state, start, next, result });
        }
        let results = carried.iter().map(|c| c.result).collect();
        let trips = Trips::For(self.trip, self.trips.clone());
        p.stms.push(Stm::Repeat(Repeat { trips, carried, body, loc: Loc::default() }));
        results
    }

    /// The statements that depend on the trip, which leave the program.
    fn split_off(&self, p: &mut Program) -> Vec<Stm> {
        let mut depends = FxHashSet::from_iter([self.trip]);
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for s in std::mem::take(&mut p.stms) {
            if depends_on(p, &s, &depends) {
                depends.extend(s.results());
                inside.push(s);
            } else {
                outside.push(s);
            }
        }
        p.stms = outside;
        inside
    }
}

/// Whether a statement reads one of these arrays.
fn depends_on(p: &Program, s: &Stm, arrays: &FxHashSet<ArrayId>) -> bool {
    let mut depends = s.inputs().iter().any(|a| arrays.contains(a));
    // A `while` that carries directions counts its trips with them, and these are a size of what is stored for each.
    let mut mention = |d: &Dim| depends |= scalars(d).any(|a| arrays.contains(&a));
    s.visit_sizes(&mut mention);
    s.results().iter().flat_map(|a| &p.arrays[a.0 as usize].dims).for_each(&mut mention);
    depends
}

/// Whether the sizes of results are computed where tangents are, by a loop that carries both: they are not known outside of a loop over
/// strips, where the matrices are made.
pub(super) fn sized_with_tangents(d: &Program, units: &[ArrayId], results: &[ArrayId]) -> bool {
    let mut depends: FxHashSet<ArrayId> = units.iter().copied().collect();
    for s in &d.stms {
        if depends_on(d, s, &depends) {
            depends.extend(s.results());
        }
    }
    results.iter().flat_map(|a| &d.array(*a).dims).flat_map(scalars).any(|a| depends.contains(&a))
}

/// Whether the host can compute a size before the program runs.
pub(super) fn is_known_to_host(p: &Program, d: &Dim) -> bool {
    d.atoms().iter().all(|a| match a {
        SizeAtom::Name(_) => true,
        SizeAtom::Scalar(s) => p.params.iter().any(|q| q.arrays.leaves().contains(&&ArrayId(*s))),
    })
}

/// The memory of one direction, in bytes. Where the host cannot tell, more than there is.
fn bytes(p: &Program, stms: &[Stm], width: &Dim) -> Dim {
    let sum = bytes_of_arrays(p, stms, width);
    if is_known_to_host(p, &sum) && !sum.is_too_large() { sum } else { Dim::constant(i64::MAX) }
}

/// Of the arrays that statements make with the directions as their first dimension.
fn bytes_of_arrays(p: &Program, stms: &[Stm], width: &Dim) -> Dim {
    let mut sum = Dim::default();
    for s in stms {
        let mut arrays = s.results();
        if let Stm::Repeat(r) = s {
            arrays.extend(r.carried.iter().map(|c| c.state));
            sum = sum.add(&bytes_of_arrays(p, &r.body, width));
        }
        for a in arrays {
            let info = p.array(a);
            if info.dims.first() == Some(width) {
                sum = sum.add(&Dim::product(&info.dims[1..]).scale(info.elem.bytes()));
            }
        }
    }
    sum
}
