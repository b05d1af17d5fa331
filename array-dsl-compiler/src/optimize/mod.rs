//! Bulk to Bulk: the same values with less work. Every pass keeps the program valid; `optimize` repeats them
//! until nothing changes.
//!
//! | file | subject |
//! |---|---|
//! | `affine` | index expressions as polynomials over axes and sizes; what is certain about them |
//! | `simplify` | scalar code: folding, identities, common subexpressions, dead code, proven reads |
//! | `inline` | producers into their consumers |
//! | `accumulate` | accumulations into stores, reductions and gathers |
//! | `split` | reshapes: splitting the axes of nests that read them |
//! | `share` | equal and unused statements |
//! | `contract` | sums of products |

mod accumulate;
mod affine;
mod contract;
mod inline;
mod share;
mod simplify;
mod split;

use crate::bulk::Program;
pub(crate) use simplify::{live_lets, rename_exp};

/// Optimizes before or after differentiation: everything but the recognition of contractions, which have no
/// derivative rule of their own.
pub fn optimize(p: &mut Program) {
    // Each round strictly shrinks the program or leaves it alone; the bound guards against passes that undo
    // each other.
    for _ in 0..12 {
        let before = (p.stms.clone(), p.result.clone());
        split::split(p);
        simplify::simplify(p);
        share::share(p);
        accumulate::accumulate(p);
        inline::inline(p);
        simplify::simplify(p);
        share::share(p);
        if before == (p.stms.clone(), p.result.clone()) {
            break;
        }
    }
}

/// Recognizes contractions; the last step before scheduling.
pub fn contractions(p: &mut Program) {
    contract::contract(p);
}
