//! The condition of a loop, which holds where a trip begins.
//!
//! ```text
//! before   repeat while on with s = a, on = b { t = nest [] { c = on[]; v = if c { f(s) } else { s[] } } store v; .. }
//! after    repeat while on with s = a, on = b { t = nest [] { v = f(s) } store v; .. }
//! ```
//!
//! Loops are made with the former, which does nothing in a trip too many: several points make the trips of the longest of them, and
//! not every target ends exactly where the condition says.

use super::build::{Renaming, renamed};
use super::walk::Rewriter;
use super::{ArrayId, Atom, Exp, Let, Program, Repeat, Stm, Trips};
use crate::ty::Const;

/// A loop whose trips rely on its condition, if that is one number.
pub fn relying_on_condition(p: &Program, r: &Repeat) -> Option<Repeat> {
    matches!(r.trips, Trips::While(on) if p.array(on).dims.is_empty()).then(|| {
        let mut r = r.clone();
        rely_on_condition(p, &mut r);
        r
    })
}

/// Has the trips of a loop rely on its condition, if that is one number; whether they look at it.
fn rely_on_condition(p: &Program, r: &mut Repeat) -> bool {
    let Trips::While(on) = r.trips else { return false };
    if !p.array(on).dims.is_empty() {
        return false;
    }
    let mut holds = Holds { on, names: Renaming::default() };
    r.body.iter_mut().for_each(|s| holds.stm(s));
    !holds.names.is_empty()
}

/// The same for all loops; whether any looks at its condition.
pub fn rely_on_conditions(p: &mut Program) -> bool {
    fn list(p: &Program, stms: &mut [Stm]) -> bool {
        let loops = stms.iter_mut().filter_map(|s| if let Stm::Repeat(r) = s { Some(r) } else { None });
        loops.fold(false, |changed, r| changed | rely_on_condition(p, r) | list(p, &mut r.body))
    }
    let mut stms = std::mem::take(&mut p.stms);
    let changed = list(p, &mut stms);
    p.stms = stms;
    changed
}

/// What is read of the condition is true. Who reads it is unused then, and goes with other dead code.
struct Holds {
    on: ArrayId,
    names: Renaming,
}

impl Rewriter for Holds {
    fn binding(&mut self, l: &mut Let) {
        if matches!(l.exp, Exp::Read { array, .. } if array == self.on) {
            self.names.insert(l.vars[0], Atom::Const(Const::bool(true)));
        }
        self.walk_binding(l);
    }

    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(&self.names, *a);
    }
}
