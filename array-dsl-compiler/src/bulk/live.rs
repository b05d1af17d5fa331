//! Scalar code without what nobody uses.

use std::collections::HashSet;

use super::{Atom, Exp, Let, Var};

/// Keeps the statements whose results are used or that may report an error; `live` gains what they use.
pub fn live_lets(lets: Vec<Let>, live: &mut HashSet<Var>) -> Vec<Let> {
    let mut kept = Vec::new();
    for mut l in lets.into_iter().rev() {
        if !l.vars.iter().any(|v| live.contains(v)) && !l.exp.may_be_outside() {
            continue;
        }
        if let Exp::If(c, x, y) = &mut l.exp {
            // Unused results of a choice are dropped.
            let mut used: Vec<bool> = l.vars.iter().map(|v| live.contains(v)).collect();
            // Kept for its errors alone: one result stays, so that it is still a statement.
            if used.iter().all(|u| !u) {
                used[0] = true;
            }
            keep(&mut l.vars, &used);
            for b in [x, y] {
                keep(&mut b.results, &used);
                let mut inner: HashSet<Var> = b.results.iter().copied().filter_map(Atom::var).collect();
                b.block.lets = live_lets(std::mem::take(&mut b.block.lets), &mut inner);
                live.extend(inner);
            }
            live.extend(c.var());
        } else {
            l.exp.visit_atoms(&mut |a| live.extend(a.var()));
        }
        kept.push(l);
    }
    kept.reverse();
    kept
}

fn keep<T>(list: &mut Vec<T>, used: &[bool]) {
    let mut i = 0;
    list.retain(|_| {
        i += 1;
        used[i - 1]
    });
}
