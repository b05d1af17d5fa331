//! What a trip adds to one element, as a number and the addition of that.
//!
//! ```text
//! before   a' = nest [] { v = f(s[i]) } accumulate(+) a at [i, i] of v              s: a state
//! after    n = nest [] { v = f(s[i]) } store v;  a' = nest [] { } accumulate(+) a at [i, i] of n
//! ```
//!
//! The addition can then come after the loop: a log of the number has one for each trip, where one of the state would be as large as what
//! it is for. So is the diagonal's part of a triangular solve's way back made.

use rustc_hash::FxHashSet;

use crate::bulk::build::{Code, Renaming, renamed};
use crate::bulk::live::made_without_scans;
use crate::bulk::{ArrayId, Nest, Program, Reducer, Repeat, Stm, Yield, YieldKind};

/// The loop with such numbers, of states to which more is added.
pub(super) fn numbers(p: &mut Program, r: &Repeat) -> Repeat {
    let made = r.carried.iter().map(|c| c.state).chain(r.body.iter().flat_map(Stm::results)).collect();
    let sum = |y: &Yield| match y.kind {
        YieldKind::Accumulate { into, .. } => vec![into, y.array],
        _ => Vec::new(),
    };
    let adds_more = |s: &Stm| match s {
        Stm::Nest(n) if !n.axes.is_empty() => n.yields.iter().flat_map(sum).collect(),
        _ => Vec::new(),
    };
    let more = r.body.iter().flat_map(adds_more).collect();
    let parts = |s: &Stm| match s {
        Stm::Nest(n) => divided(p, n, &made, &more).unwrap_or_else(|| vec![s.clone()]),
        _ => vec![s.clone()],
    };
    Repeat { body: r.body.iter().flat_map(parts).collect(), ..r.clone() }
}

/// The number and its addition, if it is made of elements of the trip (`made`). `more` are the arrays that are added to along axes, and
/// what these become.
fn divided(
    p: &mut Program,
    n: &Nest,
    made: &FxHashSet<ArrayId>,
    more: &FxHashSet<ArrayId>,
) -> Option<Vec<Stm>> {
    let [Yield { array, kind: YieldKind::Accumulate { reducer: Reducer::Add, into, index, value } }] =
        &n.yields[..]
    else {
        return None;
    };
    let mut has_element = false;
    n.body.visit_reads(&mut |a, place| has_element |= made.contains(&a) && !place.is_empty());
    let is_part = more.contains(array) || more.contains(into);
    if !n.axes.is_empty() || !has_element || !is_part {
        return None;
    }
    let place = made_without_scans(&n.body, index.iter().copied())?;
    let info = p.array(*array).clone();
    let number = p.new_array(info.name, info.elem, Vec::new());
    let (mut code, mut map) = (Code::new(n.loc), Renaming::default());
    code.lets = p.copy_lets(&place, &mut map);
    let read = code.read(p, number, &[]);
    let index = index.iter().map(|a| renamed(&map, *a)).collect();
    let kind = YieldKind::Accumulate { reducer: Reducer::Add, into: *into, index, value: read };
    let store = Yield { array: number, kind: YieldKind::Store(*value) };
    let sum = Yield { array: *array, kind };
    Some(vec![
        Stm::Nest(Nest { yields: vec![store], ..n.clone() }),
        Stm::Nest(Nest { axes: Vec::new(), body: code.into(), yields: vec![sum], loc: n.loc }),
    ])
}
