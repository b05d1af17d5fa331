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
mod rounding;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Verified;
use crate::bulk;
use crate::core;
use crate::derive::Derivative;
use crate::flatten::flatten;
use crate::loops::Program as Loops;
use crate::pipeline;
use crate::target::Target;
use crate::testing::loops;
use crate::testing::meaning;
use crate::ty::Elem;
use crate::value::{Fault, Value, approx_eq};

pub use derivatives::{BATCH, Derived, Modes, arguments_of, derivatives};
pub use failing::{Class, Disagreement, Failing, agree};
use rounding::{is_rounding, overflowing};

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

    /// Both loops, with their names and targets.
    pub fn loops(&self) -> [(&'static str, Target, &Verified<Loops>); 2] {
        [("loops for the CPU", Target::Cpu, &self.cpu), ("loops for the GPU", Target::Gpu, &self.gpu)]
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
        self.loops().into_iter().try_for_each(|(loops, target, l)| {
            let found = loops::run(l, target, args);
            let wrong = agree(&format!("{name}, {loops}"), found.clone(), expected, None).err();
            match (wrong, &found, expected) {
                (Some(_), Ok(a), Ok(b)) if is_rounding(&self.program, args, a, b) => Ok(()),
                (wrong, ..) => wrong.map_or(Ok(()), Err),
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
            if let Err(Fault::Internal { message, .. }) = loops::run(&l, target, args) {
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

/// A function in every stage, made once for any number of arguments.
pub struct Stages<'a> {
    function: &'a core::Function,
    flat: bulk::Program,
    staged: Staged,
}

impl<'a> Stages<'a> {
    /// What the stages make of a function.
    ///
    /// # Errors
    /// If a stage panics, or gives what its verifier refuses.
    pub fn new(function: &'a core::Function) -> Result<Stages<'a>, String> {
        let verified = |name: &str, errors: Vec<String>| {
            if errors.is_empty() { Ok(()) } else { Err(format!("{name}: {}", errors.join("; "))) }
        };
        verified("core", core::verify::check(function))?;
        let flat = stage("flatten", || flatten(function).expect("its derivatives exist"))?;
        verified("flatten", bulk::verify::check(&flat))?;
        let middle = stage("middle", || pipeline::middle(function).expect("its derivatives exist"))?;
        Ok(Stages { function, flat, staged: Staged::new("middle", middle)? })
    }

    /// The optimized program.
    pub fn program(&self) -> &bulk::Program {
        &self.staged.program
    }

    /// Compares the values of all stages.
    ///
    /// # Errors
    /// What does not agree.
    pub fn values(&self, args: &[Value]) -> Result<Checked, String> {
        let f = self.function;
        let expected = meaning::run(f, args);
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
        agrees("flatten", bulk::interp::run(&self.flat, args))?;
        agrees("middle", bulk::interp::run(self.program(), args))?;
        for (loops, target, l) in self.staged.loops() {
            agrees(loops, loops::run(l, target, args))?;
        }
        if failing.is_some() {
            careful(self.program(), args)?;
            return Ok(Checked::Fault);
        }
        Ok(Checked::Agree)
    }
}

/// Compares the values of all stages for some arguments: see [`Stages::values`].
///
/// # Errors
/// What does not agree, or is wrong with the compiler.
pub fn values(f: &core::Function, args: &[Value]) -> Result<Checked, String> {
    Stages::new(f)?.values(args)
}
