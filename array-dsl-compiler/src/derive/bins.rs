//! Reductions by index with `min` and `max`: `y[b] = d[b] op v_p op ..` over the points `p` whose index is `b`.
//!
//! ```text
//! the winner of a bin is the target's own element if that is the extremum, else the first such point:
//!     first[b] = d[b] == y[b] ? -1 : N;    winner = first, and the least p with v_p == y[ix_p]
//! and y is, wherever that differs from what it was,
//!     y = nest [b] { w = winner[b];  if 0 <= w < N { v_w } else { d[b] } }
//! ```
//!
//! The nest over bins has the rules of every nest. It goes to the winners alone: a derivative costs the search for them and then
//! as much as there are bins. Products by index are in `product`.
//!
//! Cost: points and bins. Source: thesis 3.4.2 (special operators); the target takes part.

use crate::affine::bins::{ByIndex, inside, only_where};
use crate::bulk::build::{Code, int, renamed};
use crate::bulk::{Atom, Nest, Program, Reducer, Yield, YieldKind};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// A reduction by `min` or `max` as the nest that reads the winners.
pub(super) fn winners(p: &mut Program, n: &Nest, y: &Yield) -> Option<Nest> {
    let r = ByIndex::new(n, y)?;
    let numbering = r.numbering(p);
    let dims = p.array(r.result).dims.clone();
    let first = p.store("winner", Elem::I64, &dims, n.loc, |p, code, bin| {
        let (own, best) = (code.read(p, r.into, bin), code.read(p, r.result, bin));
        let wins = code.op(p, Op::Eq, &[own, best]);
        let nobody = code.size(p, &numbering.count);
        code.select(p, wins, int(-1), nobody)
    });
    let winner = r.again(p, Reducer::Min, first, |p, code, map, index, value| {
        let nowhere = Atom::Const(Const::bool(false));
        let wins = inside(p, code, index, &dims, nowhere, |p, code| {
            let best = code.read(p, r.result, index);
            code.op(p, Op::Eq, &[value, best])
        });
        let nobody = code.size(p, &numbering.count);
        only_where(p, code, wins, index, nobody, |p, code| numbering.number(p, code, &n.axes, map))
    });
    let axes = p.new_axes(&dims);
    let bin: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let mut code = Code::new(n.loc);
    let number = code.read(p, winner, &bin);
    let is_point = code.in_range(p, &[number], std::slice::from_ref(&numbering.count));
    let mut point = Code::new(n.loc);
    let mut map = numbering.point(p, &mut point, &n.axes, number, &bin);
    point.lets.extend(p.copy_lets(&n.body.unordered(), &mut map));
    let mut own = Code::new(n.loc);
    let kept = own.read(p, r.into, &bin);
    let won = renamed(&map, r.value);
    let value = code.choose(p, is_point, (point, vec![won]), (own, vec![kept]))[0];
    let yields = vec![Yield { array: r.result, kind: YieldKind::Store(value) }];
    Some(Nest { axes, body: code.into(), yields, loc: n.loc })
}
