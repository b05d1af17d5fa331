//! One program through every stage, compared with what Core says it means.
//!
//! ```text
//! values        core  =  flattened bulk  =  optimized bulk  =  loops for the CPU  =  loops for the GPU
//! derivatives   <seed, J tangent>  =  <J^T seed, tangent>  =  central difference of <seed, f> along the tangent
//!               and each derivative's loops agree with its bulk
//! ```
//!
//! Of a program that fails when it is executed as Core every stage does what such a program may do (`failing`), and `Checked::Fault`
//! says so: it has no derivatives to compare.
//!
//! Central differences are taken with two steps; where the two quotients differ the point is near a kink or a jump,
//! and the comparison is left out, as it is for numbers too large for the difference to mean anything.

mod derivatives;
mod failing;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Verified;
use crate::bulk;
use crate::core;
use crate::derive::Derivative;
use crate::flatten::flatten;
use crate::loops::Program as Loops;
use crate::pipeline;
use crate::schedule::Target;
use crate::testing::loops;
use crate::testing::numbers::Rng;
use crate::ty::Elem;
use crate::value::{Fault, Scalar, Value, approx_eq};

pub use derivatives::{BATCH, Derived, Modes, arguments_of, derivatives};
pub use failing::{Class, Disagreement, Failing, agree};

/// What a comparison came to.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// All stages agree.
    Agree,
    /// The program itself fails for these arguments.
    Fault,
}

/// Runs a stage that may panic (a verifier found its result wrong), as an error.
pub fn stage<T>(name: &str, f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|e| {
        let text = e.downcast_ref::<String>().cloned();
        let text = text.or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string()));
        format!("{name} panics: {}", text.unwrap_or_default())
    })
}

/// Products that are taken in another order may overflow on the way to numbers that are almost too large: such a number for an infinity.
fn overflowing(found: &Value, expected: &Value) -> Value {
    let mut out = found.clone();
    for (a, b) in out.data_mut().iter_mut().zip(expected.data()) {
        if let (Scalar::F64(x), Scalar::F64(y)) = (&mut *a, b)
            && x.is_infinite()
            && y.is_finite()
            && y.abs() > 1e300
        {
            *x = *y;
        }
    }
    out
}

/// The results of a stage are these, up to rounding.
///
/// # Errors
/// What differs.
pub fn same(name: &str, found: &[Value], expected: &[Value], tolerance: f64) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{name}: {} results instead of {}", found.len(), expected.len()));
    }
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let a = &overflowing(a, b);
        let tolerance = if b.elem() == Elem::F32 { 1e-4 } else { tolerance };
        approx_eq(a, b, tolerance, tolerance).map_err(|e| format!("{name}, result {i}: {e}"))?;
    }
    Ok(())
}

/// Whether results are no farther from those of the program than these are from themselves where the arguments change in their
/// last digits: an iteration that diverges makes any numbers of its rounding.
fn is_rounding(p: &bulk::Program, args: &[Value], found: &[Value], expected: &[Value]) -> bool {
    let mut spread: Vec<Vec<f64>> = expected.iter().map(|v| vec![0.0; v.to_f64().len()]).collect();
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let mut near = args.to_vec();
        for x in near.iter_mut().flat_map(Value::data_mut) {
            let by = 1.0 + rng.float(-1.0, 1.0) * if x.elem() == Elem::F32 { 1e-6 } else { 1e-14 };
            match x {
                Scalar::F32(x) => *x *= by as f32,
                Scalar::F64(x) => *x *= by,
                _ => {}
            }
        }
        let Ok(near) = bulk::interp::run(p, &near) else { return false };
        for (spread, (a, b)) in spread.iter_mut().zip(near.iter().zip(expected)) {
            if a.shape() != b.shape() {
                return false;
            }
            for (s, (x, y)) in spread.iter_mut().zip(a.to_f64().into_iter().zip(b.to_f64())) {
                *s = s.max((x - y).abs());
            }
        }
    }
    let explained = |((a, b), spread): ((&Value, &Value), &Vec<f64>)| {
        let entries = a.to_f64().into_iter().zip(b.to_f64()).zip(spread);
        a.shape() == b.shape()
            && entries.into_iter().all(|((x, y), s)| (x - y).abs() <= 10.0 * s + 1e-9 * y.abs())
    };
    found.len() == expected.len() && found.iter().zip(expected).zip(&spread).all(explained)
}

/// A program with its loops.
#[derive(Debug)]
pub struct Staged {
    /// The program.
    pub program: bulk::Program,
    /// For the CPU.
    pub cpu: Verified<Loops>,
    /// For the GPU.
    pub gpu: Verified<Loops>,
}

impl Staged {
    /// Schedules a program.
    ///
    /// # Errors
    /// If a stage panics, or gives what its verifier refuses.
    pub fn new(name: &str, program: bulk::Program) -> Result<Staged, String> {
        let back = |target| {
            let made =
                stage(&format!("{name}, schedule for {target:?}"), || pipeline::back(&program, target))?;
            made.map_err(|e| format!("{name}, loops for {target:?}: {}", e.join("; ")))
        };
        let (cpu, gpu) = (back(Target::Cpu)?, back(Target::Gpu)?);
        Ok(Staged { program, cpu, gpu })
    }

    /// Both loops, with their names.
    pub fn loops(&self) -> [(&'static str, &Verified<Loops>); 2] {
        [("loops for the CPU", &self.cpu), ("loops for the GPU", &self.gpu)]
    }

    /// The loops give what the program gives, up to rounding.
    ///
    /// # Errors
    /// What they give instead.
    pub fn agrees(
        &self,
        name: &str,
        args: &[Value],
        expected: &Result<Vec<Value>, Fault>,
    ) -> Result<(), Disagreement> {
        self.loops().into_iter().try_for_each(|(target, l)| {
            let found = loops::run(l, args);
            match (&found, expected) {
                (Ok(a), Ok(b)) if same("", a, b, 1e-9).is_err() && is_rounding(&self.program, args, a, b) => {
                    Ok(())
                }
                _ => agree(&format!("{name}, {target}"), found, expected, None),
            }
        })
    }
}

/// A program that fails by itself: no stage may do anything worse than fail as well. Compiled code goes on after a
/// fault, so its reads must stay inside even then; forward mode and gradients owe the same care.
fn careful(p: &bulk::Program, args: &[Value]) -> Result<(), String> {
    let worse = |name: &str, p: &bulk::Program, args: &[Value]| -> Result<(), String> {
        let name = |what: &str| format!("{name} of a program that fails, {what}");
        if let Err(Fault::Internal { message, .. }) = bulk::interp::run(p, args) {
            return Err(format!("{}: {message}", name("bulk")));
        }
        for target in [Target::Cpu, Target::Gpu] {
            let l = stage("back", || pipeline::back(p, target))?.map_err(|e| e.join("; "))?;
            if let Err(Fault::Internal { message, .. }) = loops::run(&l, args) {
                return Err(format!("{}: {message}", name("loops")));
            }
        }
        Ok(())
    };
    worse("the value", p, args)?;
    if Derivative::Jvp.exists(p) {
        let d = derivatives::derivative(p, Derivative::Jvp)?;
        let tangents: Vec<Value> = derivatives::active(p).iter().map(|i| args[*i].clone()).collect();
        worse("jvp", &d, &[args, &tangents].concat())?;
    }
    if Derivative::Grad.exists(p) {
        worse("grad", &derivatives::derivative(p, Derivative::Grad)?, args)?;
    }
    Ok(())
}

/// Compares the values of all stages.
pub fn values(f: &core::Function, args: &[Value]) -> Result<Checked, String> {
    let errors = core::verify::check(f);
    if !errors.is_empty() {
        return Err(format!("core: {}", errors.join("; ")));
    }
    let expected = core::interp::run(f, args);
    let flat = stage("flatten", || flatten(f).expect("its derivatives exist"))?;
    let errors = bulk::verify::check(&flat);
    if !errors.is_empty() {
        return Err(format!("flatten: {}", errors.join("; ")));
    }
    let failing = match &expected {
        Err(Fault::Internal { message, .. }) => return Err(format!("core: {message}")),
        Err(Fault::Exhausted) => return Ok(Checked::Fault),
        Err(_) => Some(Failing::new(f, args)),
        Ok(_) => None,
    };
    let expected = failing.as_ref().and_then(|f| f.results.clone()).map_or(expected, Ok);
    let agrees = |name: &str, found| {
        let all = failing.as_ref().map(|failing| (f, failing));
        Ok::<(), String>(agree(name, found, &expected, all)?)
    };
    agrees("flatten", bulk::interp::run(&flat, args))?;
    let middle = stage("middle", || pipeline::middle(f).expect("its derivatives exist"))?;
    agrees("middle", bulk::interp::run(&middle, args))?;
    let staged = Staged::new("middle", middle)?;
    for (target, l) in staged.loops() {
        agrees(target, loops::run(l, args))?;
    }
    if failing.is_some() {
        careful(&staged.program, args)?;
        return Ok(Checked::Fault);
    }
    Ok(Checked::Agree)
}
