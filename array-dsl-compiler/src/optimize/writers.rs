//! Contested writes as writes that never meet, for a target whose points have no order.
//!
//! ```text
//! before   y = nest [p] { .. }  overwrite v_p into d at [ix_p]
//! after    last = nest [p] { .. }  accumulate(max) p into -1.. at [ix_p]
//!          y = nest [p] { .. }  write v_p into d at [ix_p if last[ix_p] == p, else outside]
//! ```
//!
//! Of several values for one place the last stays, as in a loop: the value that the derivative believes to be there. A constant is
//! the same whoever writes it. Cost: one more pass over the points.

use crate::affine::bins::{LastWriters, inside, last_writers};
use crate::bulk::build::{Code, Renaming, int};
use crate::bulk::{Atom, Nest, Program, Stm, YieldKind};
use crate::dim::Dim;
use crate::internal::expect;
use crate::ty::Const;

/// Lets only the last of several points write; whether there were any.
pub fn only_last(p: &mut Program) -> bool {
    let mut any = false;
    for s in std::mem::take(&mut p.stms) {
        let s = match s {
            Stm::Nest(n) if n.yields.iter().any(|y| is_contested(&y.kind)) => {
                any = true;
                Stm::Nest(uncontested(p, n))
            }
            Stm::Repeat(mut r) => {
                let outside = std::mem::replace(&mut p.stms, std::mem::take(&mut r.body));
                any |= only_last(p);
                r.body = std::mem::replace(&mut p.stms, outside);
                Stm::Repeat(r)
            }
            s => s,
        };
        p.stms.push(s);
    }
    any
}

fn is_contested(kind: &YieldKind) -> bool {
    matches!(kind, YieldKind::Write { contested: true, value: Atom::Var(_), .. })
}

fn uncontested(p: &mut Program, mut n: Nest) -> Nest {
    let mut known: Vec<(Vec<Atom>, Vec<Dim>, Option<LastWriters>)> = Vec::new();
    let before = n.clone();
    for y in n.yields.iter_mut().filter(|y| is_contested(&y.kind)) {
        let dims = p.array(y.array).dims.clone();
        let YieldKind::Write { index, .. } = &y.kind else { continue };
        if !known.iter().any(|(i, d, _)| i == index && *d == dims) {
            let last = last_writers(p, &before, y);
            known.push((index.clone(), dims.clone(), last));
        }
        let last = known.iter().find(|(i, d, _)| i == index && *d == dims);
        let last = last.and_then(|(_, _, last)| last.as_ref());
        let YieldKind::Write { index, contested, .. } = &mut y.kind else { continue };
        *contested = false;
        let Some(last) = last else { continue };
        let mut code = Code::new(n.loc);
        let never = Atom::Const(Const::bool(false));
        let stays = inside(p, &mut code, index, &dims, never, |p, code| {
            last.stays(p, code, &before, &Renaming::default(), index)
        });
        let first = expect(index.first_mut(), || "points write to one place without an index".into());
        *first = code.select(p, stays, *first, int(-1));
        n.body.extend(code.lets);
    }
    n
}
