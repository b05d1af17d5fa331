//! Additions to elements of which every point has one of its own, as writes.
//!
//! ```text
//! before   y = nest [i < m] { v } accumulate(+) into x at [p(i)] of v          p(i) inside of x, and another one for every i
//! after    y = nest [i < m] { v; o = x[p(i)]; s = add o v } write into x at [p(i)] of s
//! ```
//!
//! Points that add to one element have to be kept apart: on a CPU by parts of their own that are joined at the end, on a GPU by
//! atomics. This is a step before scheduling, as what is accumulated has better rules before.

use rustc_hash::FxHashSet;

use super::Sequence;
use crate::affine::{Checked, Facts};
use crate::bulk::build::Code;
use crate::bulk::{Exp, Nest, Program, Reducer, Stm, Var, YieldKind};

/// Makes them writes.
pub fn own(seq: &mut Sequence, p: &mut Program) {
    let mut known = seq.known.clone();
    for s in &mut seq.stms {
        if let Stm::Nest(n) = s {
            written(p, n, &known);
        }
        known.statement(s, p);
    }
}

fn written(p: &mut Program, n: &mut Nest, known: &Checked) {
    if n.axes.is_empty() || n.body.is_ordered() {
        return;
    }
    let [y] = &mut n.yields[..] else { return };
    let YieldKind::Accumulate { reducer: Reducer::Add, into, index, value } = &y.kind else { return };
    let mut facts = Facts::new(&n.axes, known);
    n.body.lets().for_each(|l| facts.learn((&*p).into(), l));
    let axes: FxHashSet<Var> = n.axes.iter().map(|a| a.var).collect();
    let dims = p.array(*into).dims.clone();
    if !facts.tells_all(index, &axes) || !facts.all_inside(index, &dims) {
        return;
    }
    let mut code = Code::new(n.loc);
    let elem = p.array(*into).elem;
    let old = code.bind(p, elem, Exp::Read { array: *into, index: index.clone(), checked: false });
    let sum = code.add(p, old, *value);
    let (into, index) = (*into, index.clone());
    n.body.extend(code.lets);
    y.kind = YieldKind::Write { into, index, value: sum, contested: false };
}
