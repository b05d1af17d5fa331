//! Programs that fail for some arguments, on purpose or not. Compiled code goes on after a fault, and reports the first one that it
//! met, in an order of its own; code that nothing needs may go, with what fails in it. So
//!
//! * a program that gives results anyway gives those that do not depend on what is taken instead of what failed;
//! * one that fails reports one of the program's faults, by its kind and its line.

use super::same;
use crate::core::{Body, Exp, Function};
use crate::testing::meaning;
use crate::ty::Loc;
use crate::value::{Fault, Value};

/// What a program that fails may do.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The results, where they do not depend on what failed.
    pub results: Option<Vec<Value>>,
    /// What fails, in the order of execution.
    pub faults: Vec<Fault>,
    /// A loop does not end without what failed; nothing is known of one that nothing needs.
    pub is_endless: bool,
}

impl Failing {
    /// Of a program for arguments that it fails for.
    pub fn new(f: &Function, args: &[Value]) -> Failing {
        let runs = [0, 1, 3].map(|instead| meaning::run_recovering(f, args, instead));
        let faults = runs[0].1.clone();
        // A loop that does not end without what failed may be one that nothing needs.
        let ended = runs.into_iter().map(|(run, _)| run).filter(|run| *run != Err(Fault::Exhausted));
        let all: Result<Vec<_>, Fault> = ended.collect();
        let is_endless = all.as_ref().is_ok_and(Vec::is_empty);
        let results = all.ok().and_then(|all| {
            let (first, others) = all.split_first()?;
            others.iter().all(|o| same("", o, first, 0.0).is_ok()).then(|| first.clone())
        });
        Failing { results, faults, is_endless }
    }

    /// Whether an error of this class and line is one of the program's; `None`: it tells no line. Where a row is named in one line,
    /// and an element of it in another, and both may be outside, the other line is told.
    pub fn has(&self, f: &Function, class: Class, line: Option<u32>) -> bool {
        let named = rows(f, &f.body);
        self.faults.iter().any(|x| {
            let is_row = class == Class::Index && named.contains(&x.loc());
            Class::of(x) == class && (line.is_none() || self::line(f, x) == line || is_row)
        })
    }
}

/// Where rows are named.
fn rows(f: &Function, b: &Body) -> Vec<Loc> {
    let mut out = Vec::new();
    for s in &b.stms {
        if matches!(&s.exp, Exp::Index(..)) && f.ty(s.vars[0]).rank() > 0 {
            out.push(s.loc);
        }
        s.exp.bodies().into_iter().for_each(|b| out.extend(rows(f, b)));
    }
    out
}

fn line(f: &Function, fault: &Fault) -> Option<u32> {
    f.places.get(fault.loc().0 as usize).map(|p| p.line)
}

/// What a stage does that it may not.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// Stage and kind of what is wrong.
    pub what: String,
    /// What was found.
    pub message: String,
}

impl Disagreement {
    fn new(what: String, message: impl Into<String>) -> Disagreement {
        Disagreement { what, message: message.into() }
    }
}

impl From<Disagreement> for String {
    fn from(d: Disagreement) -> String {
        format!("{}: {}", d.what, d.message)
    }
}

/// A later stage gives what the first one does. Where that fails, it does what a program that fails may do. Of stages of a
/// derivative, whose faults are not listed, both fail.
///
/// # Errors
/// What it does instead.
pub fn agree(
    name: &str,
    found: Result<Vec<Value>, Fault>,
    expected: &Result<Vec<Value>, Fault>,
    failing: Option<(&Function, &Failing)>,
) -> Result<(), Disagreement> {
    match (&found, expected) {
        (Err(Fault::Internal { message, .. }), _) => {
            Err(Disagreement::new(format!("{name}, internal fault"), message))
        }
        (_, Err(Fault::Internal { message, .. })) => {
            Err(Disagreement::new("core, internal fault".into(), message))
        }
        // Of what nothing is known.
        (Ok(_), Err(_)) if failing.is_some_and(|(_, f)| f.is_endless) => Ok(()),
        // Loops may make some trips too many.
        (Err(Fault::Exhausted), _) | (_, Err(Fault::Exhausted)) => Ok(()),
        (Ok(a), Ok(b)) => same(name, a, b, 1e-9).map_err(|e| Disagreement::new(name.into(), e)),
        (Ok(_), Err(fault)) => {
            Err(Disagreement::new(format!("{name} does not fail, the stage before does"), fault.to_string()))
        }
        (Err(fault), Ok(_)) if failing.is_none() => {
            Err(Disagreement::new(format!("{name} fails, the stage before does not"), fault.to_string()))
        }
        (Err(fault), _) => {
            let Some((f, failing)) = failing else { return Ok(()) };
            let class = Class::of(fault);
            // Of an array that is too large the name is told.
            let told =
                if class == Class::Size && fault.loc() == Loc::default() { None } else { line(f, fault) };
            if failing.has(f, class, told) {
                return Ok(());
            }
            let others: Vec<String> =
                failing.faults.iter().map(|x| format!("{x} in line {:?}", line(f, x))).collect();
            let message = format!("{fault} in line {:?} instead of {}", line(f, fault), others.join(", "));
            Err(Disagreement::new(format!("{name} fails in another way: {class:?}"), message))
        }
    }
}

/// Which error a fault becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A read outside an array.
    Index,
    /// A division of integers by zero.
    Division,
    /// A size that is not as it has to be; an extremum of nothing is one.
    Size,
    /// Too much work for an interpreter.
    Work,
    /// Something wrong with the compiler.
    Internal,
}

impl Class {
    /// Of a fault.
    pub fn of(f: &Fault) -> Class {
        match f {
            Fault::IndexOutOfRange { .. } => Class::Index,
            Fault::DivisionByZero { .. } => Class::Division,
            Fault::EmptyExtremum { .. } | Fault::SizeCheck { .. } => Class::Size,
            Fault::Exhausted => Class::Work,
            Fault::Internal { .. } => Class::Internal,
        }
    }
}
