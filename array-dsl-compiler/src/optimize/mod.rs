//! Bulk to Bulk: the same values with less work. Every pass keeps the program valid; `optimize` repeats those of a round
//! until nothing changes. `short`, `jam`, `levels`, `chosen`, `again`, `compared`, `update`, `own` and `writers` are for targets, before scheduling
//! (`pipeline::finish`).
//!
//! | file | subject |
//! |---|---|
//! | `sequence` | what passes work on: a list of statements |
//! | `simplify` | scalar code: folding, identities, common subexpressions, dead code, proven reads; `compared` |
//! | `inline` | producers into their consumers |
//! | `empty` | nests that have no points |
//! | `invariant` | axes that a nest does not depend on |
//! | `factors` | factors of sums that do not depend on their axes |
//! | `accumulate` | accumulations into stores, reductions and gathers |
//! | `renew` | accumulations into what was set to zero, as writes |
//! | `states`, `alike` | equal states of scans, and of loops |
//! | `split` | reshapes: splitting the axes of nests that read them |
//! | `share` | equal and unused statements |
//! | `folds` | scans of which the last state is used, as reductions |
//! | `kept` | reductions over what a filter keeps |
//! | `restored` | reads of what was just put back into an array |
//! | `unread` | writes in loops that nothing reads |
//! | `independent` | loops whose trips do not need each other, as nests |
//! | `apart` | arrays of a few places, as an array for each |
//! | `first` | additions to elements that are zero, as writes |
//! | `distribute` | what loops need not do trip by trip, before and after them |
//! | `short` | reductions along short axes, as scalar code |
//! | `levels` | reductions of reductions |
//! | `jam` | reductions at each place of a short axis |
//! | `chosen` | axes along which one place counts, as that of a minimum |
//! | `again` | what is rather computed again than stored |
//! | `update` | accumulations into what they are added to |
//! | `own` | accumulations of which every point has a place of its own, as writes |
//! | `writers` | writes to one place, where the target has no order |
//!
//! `remaining` changes nothing: it tells which checks are left, and why.

mod accumulate;
mod again;
mod alike;
mod apart;
mod chosen;
mod distribute;
mod empty;
mod factors;
mod first;
mod folds;
mod independent;
mod inline;
mod invariant;
mod jam;
mod kept;
mod levels;
mod own;
mod remaining;
mod renew;
mod restored;
mod sequence;
mod share;
mod short;
mod simplify;
mod split;
mod states;
mod unread;
mod update;
mod writers;

use crate::affine::compare;
use crate::bulk::walk::Rewriter;
use crate::bulk::{Call, Exp, Let, Program, Stm};
use crate::routine::Routine;
use crate::scalar::Op;
use crate::ty::Elem;
pub use accumulate::gathered;
pub use again::again;
pub use chosen::chosen;
pub use jam::jam;
pub use kept::kept_by_threads;
pub use levels::levels;
pub use own::own;
pub use remaining::remaining;
pub use sequence::Sequence;
pub use short::short;
pub use simplify::{Straight, compared};
pub use update::{update, updated};
pub use writers::only_last;

/// What a pass does to a list of statements of a program.
pub type Run = fn(&mut Sequence, &mut Program);

/// One pass, by its name.
pub type Pass = (&'static str, Run);

/// One round, in order.
pub const ROUND: &[Pass] = &[
    ("split", split::split),
    ("empty", empty::empty),
    ("first", first::first),
    ("simplify", simplify::simplify),
    ("states", states::states),
    ("alike", alike::alike),
    ("share", share::share),
    ("folds", folds::folds),
    ("kept", kept::kept),
    ("independent", independent::independent),
    ("distribute", distribute::distribute),
    ("restored", restored::restored),
    ("unread", unread::unread),
    ("accumulate", accumulate::accumulate),
    ("renew", renew::renew),
    ("invariant", invariant::invariant),
    ("factors", factors::factors),
    ("apart", apart::apart),
    ("inline", inline::inline),
    ("simplify", simplify::simplify),
    ("share", share::share),
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
            Sequence::run(p, *pass);
        }
        if before == (p.stms.clone(), p.result.clone()) {
            break;
        }
        assert!(round < most, "passes undo each other: the program of {} changes without end", p.name);
    }
    compare(p);
}

/// Drops what is there for derivatives alone, once there are no more to be taken: values with derivatives of their own become ordinary
/// ones, or come from their routines if the target has these, and what only changes the sign of a cotangent nothing. Whether there was
/// any.
pub fn without_rules(p: &mut Program, routines: bool) -> bool {
    let mut mirrors = Mirrors { vars: std::mem::take(&mut p.vars), found: !p.rules.is_empty() };
    let routines: Vec<Option<Routine>> = p.rules.iter().map(|r| r.routine.filter(|_| routines)).collect();
    p.stms = ordinary(std::mem::take(&mut p.stms), &routines);
    p.rules.clear();
    p.stms.iter_mut().for_each(|s| mirrors.stm(s));
    p.vars = mirrors.vars;
    mirrors.found
}

/// Makes each mirrored number one of its own type, which it is.
struct Mirrors {
    vars: Vec<Elem>,
    found: bool,
}

impl Rewriter for Mirrors {
    fn binding(&mut self, l: &mut Let) {
        if let Exp::Op(op @ Op::Mirror, _) = &mut l.exp {
            *op = Op::Cast(self.vars[l.vars[0].0 as usize]);
            self.found = true;
        }
        self.walk_binding(l);
    }
}

/// `routines` are those of the rules.
fn ordinary(stms: Vec<Stm>, routines: &[Option<Routine>]) -> Vec<Stm> {
    let mut out = Vec::new();
    for s in stms {
        match s {
            Stm::Custom(c) => match routines[c.rule] {
                Some(routine) => out.push(Stm::Call(Call { routine, results: c.results, args: c.args })),
                None => out.extend(
                    c.results.iter().zip(&c.values).map(|(r, v)| Stm::Reshape { result: *r, source: *v }),
                ),
            },
            Stm::Repeat(mut r) => {
                r.body = ordinary(r.body, routines);
                out.push(Stm::Repeat(r));
            }
            s => out.push(s),
        }
    }
    out
}
