//! Logs whose sizes data tell.
//!
//! ```text
//! repeat i < n with s { m = f(i, x);  s' = repeat j < m with s { write s at .. } }
//!       sizes[i] = max(0, f(i, x));   offsets = the sums before each;   total = the sum of all
//!       the log has `total` elements: that of trip j in trip i is at offsets[i] + j
//! ```
//!
//! What a trip makes of its number and of arrays from outside can be computed before the loop, as the lengths of rows of a sparse matrix
//! or of lists of neighbors. So such a loop costs what it writes as well, where the whole state would take the memory and the time of all
//! its elements in each trip. That the elements are inside the proofs do not know: an index is compared where the log is written and read.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::uses::scalars;
use crate::bulk::{
    ArrayId, Atom, Block, Body, Branch, Exp, Item, Let, Nest, Prefix, Program, Reducer, Repeat, Scan, Stm,
    Trips, Var, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Elem, Loc};

/// The trips of the outermost loop, one after the other in one dimension.
#[derive(Clone, Copy)]
pub(super) struct Told {
    /// Where each begins.
    offsets: ArrayId,
    /// How much all are together.
    pub total: ArrayId,
}

/// A log in which the dimension of the outermost trips and another one are one.
#[derive(Clone, Copy)]
pub(super) struct Flat {
    offsets: ArrayId,
    /// The other one.
    with: usize,
}

impl Flat {
    /// Of a log of these dimensions, if data tell one of them.
    pub fn of(dims: &[Dim], told: &FxHashMap<ArrayId, Told>) -> Option<Flat> {
        let of = |d: &Dim| told.values().find(|t| *d == Dim::atom(SizeAtom::Scalar(t.total.0)));
        dims.iter().enumerate().find_map(|(with, d)| Some(Flat { offsets: of(d)?.offsets, with }))
    }

    /// The index in such a log of an element under all dimensions.
    pub fn index(&self, p: &mut Program, code: &mut Code, mut index: Vec<Atom>) -> Vec<Atom> {
        let offset = code.read(p, self.offsets, &index[..1]);
        index[self.with] = code.op(p, Op::Add, &[offset, index[self.with]]);
        index.remove(0);
        index
    }
}

/// By integer that is the extent of something in the loop's body: what it is in all trips, which stands before the loop now. `made` is what
/// the loop makes.
pub(super) fn told(p: &mut Program, r: &Repeat, made: &FxHashSet<ArrayId>) -> FxHashMap<ArrayId, Told> {
    let Trips::For(index, count) = &r.trips else { return FxHashMap::default() };
    let mut extents = FxHashSet::default();
    r.body.iter().for_each(|s| s.visit_sizes(&mut |d| extents.extend(scalars(d))));
    let mut known: Vec<(ArrayId, &Nest)> = Vec::new();
    let mut out = FxHashMap::default();
    for s in &r.body {
        let Stm::Nest(n) = s else { continue };
        let ([], [Yield { array, kind: YieldKind::Store(_) }]) = (&n.axes[..], &n.yields[..]) else {
            continue;
        };
        let is_known = |a: ArrayId| a == *index || !made.contains(&a) || known.iter().any(|(k, _)| *k == a);
        let is_outside = |a: ArrayId| a != *index && !made.contains(&a);
        let mut sizes = true;
        s.visit_sizes(&mut |d| sizes &= scalars(d).all(is_outside));
        if !sizes || p.array(*array).elem != Elem::I64 || !is_simple(p, n, &is_known, *index) {
            continue;
        }
        known.push((*array, n));
        if extents.contains(array) {
            let size = |p: &mut Program, code: &mut Code, trip: Atom| {
                let value = again(p, code, &known, *index, trip);
                code.op(p, Op::Max, &[value, int(0)])
            };
            out.insert(*array, one_after_the_other(p, count, size, r.loc));
        }
    }
    out
}

/// The greatest of some numbers of trips, and none of none.
pub(in crate::derive) fn greatest(p: &mut Program, name: &str, trips: ArrayId, loc: Loc) -> ArrayId {
    let greatest = p.reduced(name, Reducer::Max, trips, loc);
    not_negative(p, greatest, loc)
}

fn not_negative(p: &mut Program, number: ArrayId, loc: Loc) -> ArrayId {
    let name = p.array(number).name.clone();
    p.store(&name, Elem::I64, &[], loc, |p, code, _| {
        let number = code.read(p, number, &[]);
        code.op(p, Op::Max, &[number, int(0)])
    })
}

/// Where each of `count` trips begins that lie one after the other, and how much they are together.
fn one_after_the_other(
    p: &mut Program,
    count: &Dim,
    size: impl Fn(&mut Program, &mut Code, Atom) -> Atom,
    loc: Loc,
) -> Told {
    let axes = p.new_axes(std::slice::from_ref(count));
    let mut code = Code::new(loc);
    let values = vec![size(p, &mut code, Atom::Var(axes[0].var))];
    let [left, right, sum, before] = [(); 4].map(|()| p.new_var(Elem::I64));
    let add = Exp::Op(Op::Add, vec![Atom::Var(left), Atom::Var(right)]);
    let block = Block { lets: vec![Let { vars: vec![sum], exp: add, loc }] };
    let mut body: Body = code.into();
    body.items.push(Item::Scan(Scan {
        vars: vec![before],
        prefix: Prefix::Exclusive,
        left: vec![left],
        start: vec![int(0)],
        right: vec![right],
        values,
        step: Branch { block, results: vec![Atom::Var(sum)] },
        loc,
    }));
    let offsets = p.new_array("offsets", Elem::I64, vec![count.clone()]);
    let yields = vec![Yield { array: offsets, kind: YieldKind::Store(Atom::Var(before)) }];
    p.stms.push(Stm::Nest(Nest { axes, body, yields, loc }));
    let total = p.store("total", Elem::I64, &[], loc, |p, code, _| {
        let last = code.polynomial(p, &count.sub(&Dim::constant(1)));
        let is_any = code.in_range(p, &[last], std::slice::from_ref(count));
        code.only_if(p, is_any, int(0), |p, code| {
            let [offset, size] = [code.read(p, offsets, &[last]), size(p, code, last)];
            code.op(p, Op::Add, &[offset, size])
        })
    });
    let total = not_negative(p, total, loc);
    Told { offsets, total }
}

/// Whether a nest makes its value of what is known and of the number of the trip, and cannot fail: what it reads without that number would
/// be read where there are no trips, too.
fn is_simple(p: &Program, n: &Nest, is_known: &impl Fn(ArrayId) -> bool, index: ArrayId) -> bool {
    if n.body.is_ordered() || !n.inputs().into_iter().all(is_known) {
        return false;
    }
    let mut of_trip: FxHashSet<Var> = FxHashSet::default();
    let mut is_simple = |l: &Let| {
        let mut depends = false;
        l.exp.visit_atoms(&mut |a| depends |= a.var().is_some_and(|v| of_trip.contains(&v)));
        let stays = match &l.exp {
            Exp::Read { array, index: at, .. } => {
                depends |= *array == index;
                depends || at.is_empty()
            }
            Exp::If(..) => false,
            _ => true,
        };
        of_trip.extend(l.vars.iter().filter(|_| depends));
        stays && !l.may_fail(&p.vars)
    };
    n.body.lets().all(&mut is_simple)
}

/// The value of the last of some nests, each of which makes an integer of the number of a trip and those before it, in trip `number`.
fn again(p: &mut Program, code: &mut Code, nests: &[(ArrayId, &Nest)], index: ArrayId, number: Atom) -> Atom {
    let mut values = FxHashMap::from_iter([(index, number)]);
    let mut last = number;
    for (array, n) in nests {
        let mut names = Renaming::default();
        for l in n.body.lets() {
            match &l.exp {
                Exp::Read { array, .. } if values.contains_key(array) => {
                    names.insert(l.vars[0], values[array]);
                }
                _ => {
                    let copy = p.copy_lets(std::slice::from_ref(l), &mut names);
                    code.lets.extend(copy);
                }
            }
        }
        if let [Yield { kind: YieldKind::Store(value), .. }] = n.yields[..] {
            last = renamed(&names, value);
            values.insert(*array, last);
        }
    }
    last
}
