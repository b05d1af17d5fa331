//! Scalar code without what nobody uses.

use rustc_hash::FxHashSet;

use super::{Atom, Body, Exp, Item, Let, Program, Var};

/// A nest's code of which `live` is used: what gives that or may report an error. `live` gains what it uses.
pub fn live_body(body: Body, live: &mut FxHashSet<Var>) -> Body {
    let items = from_end(body.items, |i| match i {
        Item::Let(l) => is_live(l, live),
        Item::Scan(s) => {
            let is_live = s.vars.iter().any(|v| live.contains(v)) || s.may_be_outside();
            if is_live {
                s.visit_atoms(&mut |a| live.extend(a.var()));
            }
            is_live
        }
    });
    Body { items }
}

/// As [`live_body`], of scalar code.
pub fn live_lets(lets: Vec<Let>, live: &mut FxHashSet<Var>) -> Vec<Let> {
    from_end(lets, |l| is_live(l, live))
}

/// The code that scalars need, with what may report an error; none if a scan has made any of it.
pub fn made_without_scans(body: &Body, scalars: impl IntoIterator<Item = Atom>) -> Option<Vec<Let>> {
    let mut live: FxHashSet<Var> = scalars.into_iter().filter_map(Atom::var).collect();
    let lets = live_lets(body.lets().cloned().collect(), &mut live);
    let scanned = body.scans().any(|s| s.vars.iter().any(|v| live.contains(v)));
    (!scanned).then_some(lets)
}

/// What of the code before a scan these scalars need, if they are the same along the axis and their code may be executed once for it:
/// also where it has no points.
pub fn same_along(p: &Program, axis: Var, before: Vec<Let>, scalars: &[Atom]) -> Option<Vec<Let>> {
    let mut live: FxHashSet<Var> = scalars.iter().filter_map(|a| a.var()).collect();
    let may_fail = |l: &Let| l.may_fail(&p.vars);
    let needed = from_end(before, |l| l.vars.iter().any(|v| live.contains(v)) && is_live(l, &mut live));
    (!live.contains(&axis) && !needed.iter().any(may_fail)).then_some(needed)
}

/// Those of a list that are kept, looked at from the last to the first.
fn from_end<T>(list: Vec<T>, is_kept: impl FnMut(&mut T) -> bool) -> Vec<T> {
    let mut is_kept = is_kept;
    let mut kept: Vec<T> = list.into_iter().rev().filter_map(|mut x| is_kept(&mut x).then_some(x)).collect();
    kept.reverse();
    kept
}

/// Whether a statement is kept, which then has no result that is not used.
fn is_live(l: &mut Let, live: &mut FxHashSet<Var>) -> bool {
    if !l.vars.iter().any(|v| live.contains(v)) && !l.may_be_outside() {
        return false;
    }
    if let Exp::If(c, x, y) = &mut l.exp {
        let mut used: Vec<bool> = l.vars.iter().map(|v| live.contains(v)).collect();
        // Kept for its errors alone: one result stays, so that it is still a statement.
        if used.iter().all(|u| !u) {
            used[0] = true;
        }
        keep(&mut l.vars, &used);
        for b in [x, y] {
            keep(&mut b.results, &used);
            let mut inner: FxHashSet<Var> = b.results.iter().copied().filter_map(Atom::var).collect();
            b.block.lets = live_lets(std::mem::take(&mut b.block.lets), &mut inner);
            live.extend(inner);
        }
        live.extend(c.var());
    } else {
        l.exp.visit_atoms(&mut |a| live.extend(a.var()));
    }
    true
}

fn keep<T>(list: &mut Vec<T>, used: &[bool]) {
    let mut i = 0;
    list.retain(|_| {
        i += 1;
        used[i - 1]
    });
}
