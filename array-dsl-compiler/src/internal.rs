//! Internal errors: rules of the compiler's own that it finds broken, panics included. They are told as errors about the user's
//! kernel, with the stage and the place in the compiler, so that a report of one has what it needs. A macro that panics would leave
//! a message without any of these.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use proc_macro2::Span;

use crate::diagnostics::{Code, Diagnostics};
use crate::ty::{Loc, Place};

thread_local! {
    static STAGE: Cell<&'static str> = const { Cell::new("the beginning") };
    /// Where the last panic under `caught` was; `None` outside of it.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes which stage begins, for what may be found broken in it.
pub fn stage(name: &'static str) {
    STAGE.set(name);
}

/// Records an internal error about a kernel or record.
pub fn report(what: &str, name: &str, span: Span, diagnostics: &mut Diagnostics) {
    let message = format!("internal error of array-dsl: `{name}`, stage {}: {what}", STAGE.get());
    diagnostics.error(Code::Limit, span, message, "please report this, with the code that it is about");
}

/// What `f` gives, or the text of its panic and where it was.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    hook();
    let before = PLACE.replace(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    let place = PLACE.replace(before).unwrap_or_default();
    result.map_err(|payload| format!("{}{place}", text(&*payload)))
}

/// What was found broken on another thread than rustc's.
pub struct Broken {
    stage: &'static str,
    what: String,
}

/// What `f` gives, or the panic, to be passed on.
pub fn caught_apart<T>(f: impl FnOnce() -> T) -> Result<T, Broken> {
    caught(f).map_err(|what| Broken { stage: STAGE.get(), what })
}

impl Broken {
    /// Stops this thread with it.
    pub fn pass_on(self) -> ! {
        stage(self.stage);
        panic::resume_unwind(Box::new(self.what))
    }
}

/// Notes the places of panics that are caught here, in silence; others are printed as before.
fn hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = PLACE.with_borrow_mut(|place| {
                let at = info.location().map_or_else(String::new, |l| format!(" ({l})"));
                place.as_mut().map(|place| *place = at).is_some()
            });
            if !ours {
                others(info);
            }
        }));
    });
}

/// Stops: a rule of the compiler's own does not hold.
#[track_caller]
pub(crate) fn broken(what: String) -> ! {
    panic!("{what}")
}

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

fn text(payload: &(dyn Any + Send)) -> String {
    let literal = payload.downcast_ref::<&str>().map(ToString::to_string);
    literal.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into())
}

#[cfg(test)]
mod tests {
    use super::{caught, report, stage};
    use crate::diagnostics::Diagnostics;
    use proc_macro2::Span;

    #[test]
    fn panics_are_told_with_their_place() {
        stage("flatten");
        let nothing: Vec<i64> = Vec::new();
        let found = caught(|| nothing[nothing.len()]).expect_err("it panics");
        assert!(found.starts_with("index out of bounds: the len is 0 but the index is 0 ("), "{found}");
        assert!(found.contains("internal.rs:"), "{found}");
        assert_eq!(caught(|| 1), Ok(1));
        let mut diagnostics = Diagnostics::default();
        report(&found, "f", Span::call_site(), &mut diagnostics);
        let text = diagnostics.list()[0].text();
        assert!(
            text.starts_with("[AD0019] internal error of array-dsl: `f`, stage flatten: index out"),
            "{text}"
        );
        // One inside another is its own.
        let outer = caught(|| {
            assert!(caught(|| panic!("inner")).is_err());
            panic!("outer {}", 1)
        });
        assert!(outer.is_err_and(|e: String| e.starts_with("outer 1 (")));
    }
}
