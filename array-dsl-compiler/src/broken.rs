//! What happens where a rule of the compiler's own does not hold: it stops. **No value stands in for what cannot be there**: a
//! default in its place would be a wrong number in somebody's program.

use crate::ty::{Loc, Place};

/// What has to be there, by a rule that `what` names.
#[track_caller]
pub(crate) fn expect<T>(value: Option<T>, what: impl FnOnce() -> String) -> T {
    match value {
        Some(value) => value,
        None => panic!("{}", what()),
    }
}

/// A place for messages: ` (line 3 of `f`)`; nothing where it is not known.
pub(crate) fn at(places: &[Place], loc: Loc) -> String {
    places.get(loc.0 as usize).map_or_else(String::new, |p| format!(" (line {} of `{}`)", p.line, p.kernel))
}
