//! Which kernels and records of this crate wait for an answer, and for whose: what is said where one never comes.
//!
//! A name without a macro leaves everything waiting that asks for it, directly or through others. rustc then gives up on all of these
//! at once, and each finds here whether the name that it asked for waits as well: then that one says what is wrong, and this one
//! nothing. A circle has nobody else to say it, so that its first member does.
//!
//! The list is one for the process, as rustc calls a macro for one item and tells nothing of the others. It decides about messages
//! only: a crate without errors never looks at it.

use std::sync::Mutex;

/// One that waits.
struct Waiting {
    /// What no other has: see [`crate::carrier::hidden`].
    id: String,
    /// Its name.
    name: String,
    /// The name that it asks for, without what comes before it in a path.
    asks: String,
}

/// The names of built-in functions that kernels have, which is an error there.
static REFUSED: Mutex<Vec<String>> = Mutex::new(Vec::new());

static LIST: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());

/// What a missing answer means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// There is nothing of that name to answer.
    Nobody,
    /// The one that was asked has no answer itself, and says why.
    Waits,
    /// It waits, through these, for the one that asks.
    Circle(Vec<String>),
}

fn with<T>(f: impl FnOnce(&mut Vec<Waiting>) -> T) -> T {
    f(&mut LIST.lock().unwrap_or_else(|e| e.into_inner()))
}

/// Notes that one asks for the name at the end of a path.
pub(super) fn asks(id: &str, name: &str, path: &str) {
    let asks = path.rsplit("::").next().unwrap_or(path).to_string();
    with(|list| {
        list.retain(|w| w.id != id);
        list.push(Waiting { id: id.into(), name: name.into(), asks });
    });
}

/// Notes that one has all answers.
pub(super) fn has_all(id: &str) {
    with(|list| list.retain(|w| w.id != id));
}

/// Notes that a kernel has the name of a built-in function.
pub(super) fn refused(name: &str) {
    REFUSED.lock().unwrap_or_else(|e| e.into_inner()).push(name.into());
}

/// Whether a kernel of an earlier place has that name: who calls the built-in function may mean the kernel.
pub(super) fn is_refused(name: &str) -> bool {
    REFUSED.lock().unwrap_or_else(|e| e.into_inner()).iter().any(|n| n == name)
}

/// What it means that one has no answer.
pub(super) fn silence(id: &str) -> Silence {
    with(|list| {
        let Some(own) = list.iter().find(|w| w.id == id) else { return Silence::Nobody };
        // The names from the one that is asked on, each asked for by the one before.
        let mut circle = vec![own];
        while let Some(next) = list.iter().find(|w| w.name == circle[circle.len() - 1].asks) {
            if next.id == id {
                let first = list.iter().find(|w| circle.iter().any(|c| c.id == w.id));
                return if first.is_some_and(|w| w.id == id) {
                    Silence::Circle(circle.iter().map(|w| w.name.clone()).collect())
                } else {
                    Silence::Waits
                };
            }
            if circle.iter().any(|c| c.id == next.id) {
                return Silence::Waits;
            }
            circle.push(next);
        }
        if circle.len() > 1 { Silence::Waits } else { Silence::Nobody }
    })
}

#[cfg(test)]
mod tests {
    use super::{Silence, asks, has_all, silence};

    #[test]
    fn one_of_those_that_wait_says_why() {
        asks("test 1", "t_outer", "m::t_inner");
        asks("test 2", "t_inner", "t_missing");
        assert_eq!(silence("test 1"), Silence::Waits);
        assert_eq!(silence("test 2"), Silence::Nobody);
        // A name that has answered in the end is not waited for.
        has_all("test 2");
        assert_eq!(silence("test 1"), Silence::Nobody);
        assert_eq!(silence("test 2"), Silence::Nobody);
    }

    #[test]
    fn a_circle_is_told_once() {
        asks("test 3", "t_even", "t_odd");
        asks("test 4", "t_odd", "self::t_even");
        asks("test 5", "t_calls", "t_even");
        assert_eq!(silence("test 3"), Silence::Circle(vec!["t_even".into(), "t_odd".into()]));
        assert_eq!(silence("test 4"), Silence::Waits);
        assert_eq!(silence("test 5"), Silence::Waits);
    }
}
