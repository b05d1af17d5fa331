//! Bulk to Bulk: the same values with less work. Every pass keeps the program valid; `optimize` repeats them
//! until nothing changes.
//!
//! | file | subject |
//! |---|---|
//! | `affine` | index expressions as polynomials over axes and sizes; what is certain about them |
//! | `simplify` | scalar code: folding, identities, common subexpressions, dead code, proven reads |
//! | `inline` | producers into their consumers |
//! | `invariant` | axes that a nest does not depend on |
//! | `accumulate` | accumulations into stores, reductions and gathers |
//! | `split` | reshapes: splitting the axes of nests that read them |
//! | `share` | equal and unused statements |
//! | `contract` | sums of products |

mod accumulate;
mod affine;
mod contract;
mod inline;
mod invariant;
mod share;
mod simplify;
mod split;

use crate::bulk::Program;
pub(crate) use simplify::{live_lets, rename_exp, rename_yield};

/// One pass: its name, and what it does to a program.
pub type Pass = (&'static str, fn(&mut Program));

/// One round, in order.
pub const ROUND: &[Pass] = &[
    ("split", split::split),
    ("simplify", simplify::simplify),
    ("share", share::share),
    ("accumulate", accumulate::accumulate),
    ("invariant", invariant::invariant),
    ("inline", inline::inline),
    ("simplify", simplify::simplify),
    ("share", share::share),
];

/// Recognizes contractions: the last step before scheduling, because they have no derivative rule of their own.
pub const CONTRACT: Pass = ("contract", contract::contract);

/// Optimizes before or after differentiation: rounds until nothing changes.
pub fn optimize(p: &mut Program) {
    // Each round strictly shrinks the program or leaves it alone; the bound guards against passes that undo
    // each other.
    for _ in 0..12 {
        let before = (p.stms.clone(), p.result.clone());
        for (_, pass) in ROUND {
            pass(p);
        }
        if before == (p.stms.clone(), p.result.clone()) {
            break;
        }
    }
}

/// Runs the last step.
pub fn contractions(p: &mut Program) {
    CONTRACT.1(p);
}
