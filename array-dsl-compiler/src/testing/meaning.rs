//! What a kernel means: Core executed as it stands, with the derivatives that it takes inside made by the rules of `derive`.

use crate::bulk;
use crate::core::{Function, Mode, interp};
use crate::derive::{Derivative, NotDifferentiable};
use crate::flatten::flatten;
use crate::pipeline;
use crate::value::{Fault, Recovery, Value};

/// The results of a function for these arguments.
///
/// # Errors
/// The first fault.
pub fn run(f: &Function, args: &[Value]) -> Result<Vec<Value>, Fault> {
    interp::run(f, args, by_rules)
}

/// As `core::interp::run_recovering`.
pub fn run_recovering(f: &Function, args: &[Value], instead: i64) -> (Result<Vec<Value>, Fault>, Vec<Fault>) {
    interp::run_recovering(f, args, instead, by_rules)
}

fn by_rules(
    f: &Function,
    mode: &Mode,
    args: &[Value],
    recovery: &mut Option<Recovery>,
) -> Result<Vec<Value>, Fault> {
    let none = |e: NotDifferentiable| Fault::internal(e.what);
    let program = flatten(f).map_err(none)?;
    let what = match mode {
        Mode::Forward(_) => Derivative::Jvp,
        Mode::Reverse => Derivative::Vjp,
    };
    let derived = pipeline::derived(&program, what).map_err(none)?;
    bulk::interp::run_inside(&derived, args, recovery)
}
