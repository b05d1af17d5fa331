//! Bulk to Bulk: the same values with less work. Every pass keeps the program valid; `optimize` repeats them
//! until nothing changes.
//!
//! | file | subject |
//! |---|---|
//! | `simplify` | scalar code: folding, identities, common subexpressions, dead code, proven reads |
//! | `inline` | producers into their consumers |
//! | `invariant` | axes that a nest does not depend on |
//! | `accumulate` | accumulations into stores, reductions and gathers |
//! | `states` | equal states of scans |
//! | `split` | reshapes: splitting the axes of nests that read them |
//! | `share` | equal and unused statements |
//! | `contract` | sums of products |
//! | `network` | sorts as loops, where the target has none |
//! | `sorted` | sorts of which nothing needs the positions |
//! | `update` | accumulations into what they are added to |
//! | `writers` | writes to one place, where the target has no order |
//!
//! `remaining` changes nothing: it tells which checks are left, and why.

mod accumulate;
mod contract;
mod inline;
mod invariant;
mod network;
mod remaining;
mod share;
mod simplify;
mod sorted;
mod split;
mod states;
mod update;
mod writers;

use crate::affine::{Checked, compare};
use crate::bulk::{Program, Stm};
use crate::target::Target;
use crate::ty::Tree;
pub use remaining::remaining;

/// One pass: its name, and what it does to a program.
pub type Pass = (&'static str, fn(&mut Program));

/// One round, in order.
pub const ROUND: &[Pass] = &[
    ("split", split::split),
    ("simplify", simplify::simplify),
    ("states", states::states),
    ("share", share::share),
    ("accumulate", accumulate::accumulate),
    ("invariant", invariant::invariant),
    ("inline", inline::inline),
    ("simplify", simplify::simplify),
    ("share", share::share),
];

/// The steps before scheduling. They have no derivative rules of their own.
///
/// | step | |
/// |---|---|
/// | `contract` | recognizes contractions |
/// | `update` | accumulations into what they are added to, for memory that is changed in place |
/// | `sorted` | sorts of values, where the target has them |
/// | `network` | sorts as loops, where it has none |
pub const LAST: &[Pass] = &[
    ("contract", contract::contract),
    ("update", update::update),
    ("sorted", sorted::sorted),
    ("network", network::network),
];

/// Rounds in which a program of a few statements settles.
const ROUNDS: usize = 12;

/// Optimizes before or after differentiation: rounds until nothing changes. A chain of arrays, each of which is made of several before
/// it, loses one of them in each round.
///
/// # Panics
/// If passes undo each other.
pub fn optimize(p: &mut Program) {
    let most = ROUNDS + p.stms.iter().map(Stm::size).sum::<usize>();
    for round in 0.. {
        let before = (p.stms.clone(), p.result.clone());
        for (_, pass) in ROUND {
            in_every_block(p, *pass);
        }
        if before == (p.stms.clone(), p.result.clone()) {
            break;
        }
        assert!(round < most, "passes undo each other: the program of {} changes without end", p.name);
    }
    compare(p);
}

/// Makes values with derivatives of their own ordinary ones; whether there were any.
pub fn without_rules(p: &mut Program) -> bool {
    let before = p.rules.len();
    p.stms = ordinary(std::mem::take(&mut p.stms));
    p.rules.clear();
    before > 0
}

fn ordinary(stms: Vec<Stm>) -> Vec<Stm> {
    let mut out = Vec::new();
    for s in stms {
        match s {
            Stm::Custom(c) => out.extend(
                c.results.iter().zip(&c.values).map(|(r, v)| Stm::Reshape { result: *r, source: *v }),
            ),
            Stm::Repeat(mut r) => {
                r.body = ordinary(r.body);
                out.push(Stm::Repeat(r));
            }
            s => out.push(s),
        }
    }
    out
}

/// Runs the last steps, those that the target takes.
pub fn finish(p: &mut Program, target: Target) {
    let can = target.can();
    if !can.orders_points && writers::only_last(p) {
        optimize(p);
    }
    in_every_block(p, contract::contract);
    in_every_block(p, if can.sorts { sorted::sorted } else { network::network });
    if can.updates {
        in_every_block(p, update::update);
    }
    compare(p);
}

/// Runs a pass on the statements of a program, and on those of its loops' bodies as if each were a program of its own: its
/// results are the next states, and it begins with the checks made before and with what is known of the trip's number.
fn in_every_block(p: &mut Program, pass: fn(&mut Program)) {
    pass(p);
    let mut checked = Checked::default();
    for i in 0..p.stms.len() {
        let inside = if let Stm::Repeat(r) = &p.stms[i] { Some(checked.inside_repeat(r, p)) } else { None };
        checked.statement(&p.stms[i], p);
        let (Some(inside), Stm::Repeat(r)) = (inside, &mut p.stms[i]) else { continue };
        // Each is there once, so that all of them are still there after the pass.
        let mut body: Vec<Stm> = inside.checks().iter().map(|c| Stm::Check(c.clone(), r.loc)).collect();
        let known = body.len();
        body.append(&mut r.body);
        let nexts = r.carried.iter().map(|c| Tree::Leaf(c.next)).collect();
        let outside =
            (std::mem::replace(&mut p.stms, body), std::mem::replace(&mut p.result, Tree::Tuple(nexts)));
        in_every_block(p, pass);
        let body = std::mem::replace(&mut p.stms, outside.0);
        let nexts = std::mem::replace(&mut p.result, outside.1);
        if let Stm::Repeat(r) = &mut p.stms[i] {
            r.body = body.into_iter().skip(known).collect();
            for (c, next) in r.carried.iter_mut().zip(nexts.leaves()) {
                c.next = *next;
            }
        }
    }
}
