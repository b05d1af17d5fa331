//! Sorts as loops of comparisons, for a target without sorts: a bitonic network.
//!
//! ```text
//! before   o = argsort x                                       of rows of n elements
//! after    o = 0, 1, ..;   for level in 0..levels:  for stage in 0..level + 1:
//!              o = nest [.., i < n] { j = i xor mask;  if j < n { the first of o[i] and o[j] if i < j, else the last } else { o[i] } }
//!          levels = number of l with 2^l < n;    mask = 2^(level + 1) - 1 at stage 0, else 2^(level - stage)
//! ```
//!
//! Blocks of 2^level elements are in order at the start of a level; at its end those twice as long are. Every comparison puts the first
//! element at the lower place, so that elements beyond `n`, if there were any, would stay there: they are left out, and `n` need be
//! no power of two. Positions take part in the order, so no two elements are equal, and the sort is stable.
//!
//! Cost: log2(n) (log2(n) + 1) / 2 passes, each in parallel. The host waits once, for `levels`.

use super::Sequence;
use crate::bulk::build::{Code, int};
use crate::bulk::{
    ArrayId, Atom, Carried, Nest, Program, Reducer, Repeat, Sort, Stm, Trips, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// As many levels as there may be: the host refuses sizes above 31 bits.
const LEVELS: i64 = 31;

/// Replaces all sorts.
pub fn network(seq: &mut Sequence, p: &mut Program) {
    for s in std::mem::take(&mut seq.stms) {
        match s {
            Stm::Sort(s) => sort(p, s),
            s => p.stms.push(s),
        }
    }
    seq.stms = std::mem::take(&mut p.stms);
}

fn sort(p: &mut Program, s: Sort) {
    let loc = Loc::default();
    let dims = p.array(s.keys).dims.clone();
    let n = expect(dims.last().cloned(), || "a sort of an array without rows".into());
    let levels = levels(p, &n);
    let start = p.store("order", Elem::I64, &dims, loc, |_, _, index| index[index.len() - 1]);

    let order = |p: &mut Program| p.new_array("order", Elem::I64, dims.clone());
    let (outer, inner) = (order(p), order(p));
    let [level, stage] = ["level", "stage"].map(|name| p.new_array(name, Elem::I64, Vec::new()));
    let before = std::mem::take(&mut p.stms);
    let next = p.store("order", Elem::I64, &dims, loc, |p, code, index| {
        let [level, stage] = [level, stage].map(|a| code.size(p, &Dim::atom(SizeAtom::Scalar(a.0))));
        let mask = mask(p, code, level, stage);
        compared(p, code, (s.keys, inner), index, mask, &n)
    });
    let body = std::mem::replace(&mut p.stms, before);
    let sorted = order(p);
    let stages = Dim::atom(SizeAtom::Scalar(level.0)).add(&Dim::constant(1));
    let stages = Repeat {
        trips: Trips::For(stage, stages),
        carried: vec![Carried { state: inner, start: outer, next, result: sorted }],
        body,
        loc,
    };
    p.stms.push(Stm::Repeat(Repeat {
        trips: Trips::For(level, Dim::atom(SizeAtom::Scalar(levels.0))),
        carried: vec![Carried { state: outer, start, next: sorted, result: s.result }],
        body: vec![Stm::Repeat(stages)],
        loc,
    }));
}

/// The number of `l` with `2^l < n`.
fn levels(p: &mut Program, n: &Dim) -> ArrayId {
    let axes = p.new_axes(&[Dim::constant(LEVELS)]);
    let mut code = Code::new(Loc::default());
    let block = code.op(p, Op::Shl, &[int(1), Atom::Var(axes[0].var)]);
    let n = code.size(p, n);
    let shorter = code.op(p, Op::Lt, &[block, n]);
    let value = code.select(p, shorter, int(1), int(0));
    let array = p.new_array("levels", Elem::I64, Vec::new());
    let yields = vec![Yield { array, kind: YieldKind::Reduce { reducer: Reducer::Add, over: 1, value } }];
    p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: Loc::default() }));
    array
}

fn mask(p: &mut Program, code: &mut Code, level: Atom, stage: Atom) -> Atom {
    let length = code.op(p, Op::Shl, &[int(2), level]);
    let all = code.op(p, Op::Sub, &[length, int(1)]);
    let down = code.op(p, Op::Sub, &[level, stage]);
    let half = code.op(p, Op::Shl, &[int(1), down]);
    let first = code.op(p, Op::Eq, &[stage, int(0)]);
    code.select(p, first, all, half)
}

/// The position that is at a place after it has been compared with the place that differs by the bits of `mask`.
fn compared(
    p: &mut Program,
    code: &mut Code,
    (keys, order): (ArrayId, ArrayId),
    index: &[Atom],
    mask: Atom,
    n: &Dim,
) -> Atom {
    let (row, here) = index.split_at(index.len() - 1);
    let there = code.op(p, Op::Xor, &[here[0], mask]);
    let own = code.read(p, order, index);
    let exists = code.in_range(p, &[there], std::slice::from_ref(n));
    code.only_if(p, exists, own, |p, code| {
        let other = code.read(p, order, &[row, &[there]].concat());
        // Positions are inside; the comparison says so to those who cannot know it.
        let nothing = Atom::Const(Const::of(p.array(keys).elem, 0));
        let [x, y] = [own, other].map(|at| {
            let inside = code.in_range(p, &[at], std::slice::from_ref(n));
            code.only_if(p, inside, nothing, |p, code| code.read(p, keys, &[row, &[at]].concat()))
        });
        let own_first = precedes(p, code, (x, own), (y, other));
        let lower = code.op(p, Op::Lt, &[here[0], there]);
        let stays = code.op(p, Op::Eq, &[own_first, lower]);
        code.select(p, stays, own, other)
    })
}

/// Whether the element `x` at `i` comes before `y` at `j`: by value with every NaN last, else by position.
fn precedes(p: &mut Program, code: &mut Code, (x, i): (Atom, Atom), (y, j): (Atom, Atom)) -> Atom {
    let elem = p.elem(x);
    let [a, b] = [x, y].map(|x| match elem {
        Elem::Bool => code.op(p, Op::Cast(Elem::I64), &[x]),
        _ => x,
    });
    let [mut less, mut greater] = [(a, b), (b, a)].map(|(a, b)| code.op(p, Op::Lt, &[a, b]));
    if elem.is_float() {
        let [x_is_none, y_is_none] = [a, b].map(|x| code.op(p, Op::IsNan, &[x]));
        let only = |p: &mut Program, code: &mut Code, this: Atom, other: Atom| {
            let other = code.op(p, Op::Not, &[other]);
            code.op(p, Op::And, &[this, other])
        };
        let (y_alone, x_alone) = (only(p, code, y_is_none, x_is_none), only(p, code, x_is_none, y_is_none));
        less = code.op(p, Op::Or, &[less, y_alone]);
        greater = code.op(p, Op::Or, &[greater, x_alone]);
    }
    let at = code.op(p, Op::Lt, &[i, j]);
    let not_greater = code.op(p, Op::Not, &[greater]);
    let equal = code.op(p, Op::And, &[not_greater, at]);
    code.op(p, Op::Or, &[less, equal])
}
