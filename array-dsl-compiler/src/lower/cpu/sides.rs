//! Loops that store, whose choices change at places along them: each side has code of its own.
//!
//! ```text
//! for k < n + m { if k < n { a[k] } else { b[k - n] }; store }        =   for k < n { a[k]; store }   for n <= k < n + m { b[k - n]; store }
//! ```
//!
//! as in joined arrays and triangles. Else LLVM reads from both with masks, and what a mask leaves out may be far outside of an array:
//! where no memory is, that takes some hundred times as long as a read does. Borders and what is certain between them are those of
//! `ranges`. Each part is settled between the borders next to it, so that nothing depends on their order.

use super::{Cpu, peel, ranges};
use crate::affine::Facts;
use crate::bulk::{Branch, Exp};
use crate::loops::{Border, Loop, Node, Sides};

/// So few trips are not worth a loop for each side.
const FEW: i64 = 16;

/// More borders than these are too much code.
const MOST: usize = 4;

/// The sides of a loop, if each is simpler than the whole; `facts` are those of the place where it stands.
pub(super) fn sides(c: &Cpu<'_>, facts: &mut Facts, l: &Loop) -> Option<Sides> {
    let is_simple = |n: &Node| matches!(n, Node::Let(_) | Node::Store { .. });
    let is_short = l.extent().as_constant().is_some_and(|n| n < FEW);
    if is_short || !l.folds.is_empty() || !l.range.is_whole() || !l.merged.is_empty() {
        return None;
    }
    if !l.body.iter().all(is_simple)
        || !l.body.iter().any(|n| matches!(n, Node::Let(l) if reads_by_choice(&l.exp)))
    {
        return None;
    }
    let mut borders = ranges::Borders { cpu: c, axis: &l.axis, outside: facts.axes(), found: Vec::new() };
    let scope = facts.scope();
    facts.enter(&l.axis);
    borders.nodes(&l.body, facts);
    facts.leave(scope);
    let mut found: Vec<ranges::Border> = Vec::new();
    for b in borders.found.into_iter().flatten() {
        let at = found.iter().position(|f| facts.nonnegative(&f.sub(&b))).unwrap_or(found.len());
        found.insert(at, b);
    }
    let borders = found.iter().map(border).collect::<Option<Vec<Border>>>()?;
    if borders.is_empty() || borders.len() > MOST {
        return None;
    }
    let mut parts = Vec::new();
    for k in 0..=found.len() {
        let scope = facts.scope();
        facts.enter(&l.axis);
        facts.between(&l.axis, k.checked_sub(1).map(|k| &found[k]), found.get(k));
        let made = peel::settled(c, facts, &l.axis, &l.body, &[]);
        facts.leave(scope);
        let (body, _) = made?;
        parts.push(body);
    }
    let whole = ranges::cost(&l.body);
    let simpler = |part: &Vec<Node>| ranges::cost(part) < whole;
    let pays = parts.first().is_some_and(simpler) && parts.last().is_some_and(simpler);
    pays.then_some(Sides { borders, parts })
}

/// Whether an array is read in a branch.
fn reads_by_choice(e: &Exp) -> bool {
    let Exp::If(_, x, y) = e else { return false };
    let reads = |b: &Branch| {
        b.block.lets.iter().any(|l| matches!(l.exp, Exp::Read { .. }) || reads_by_choice(&l.exp))
    };
    reads(x) || reads(y)
}

/// A border as loops have them.
fn border(b: &ranges::Border) -> Option<Border> {
    let axis = match b.axes.iter().collect::<Vec<_>>()[..] {
        [] => None,
        [(v, c)] if c.as_constant() == Some(1) => Some(*v),
        _ => return None,
    };
    Some(Border { axis, offset: b.rest.clone() })
}
