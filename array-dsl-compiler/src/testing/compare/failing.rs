//! Programs that fail for some arguments, on purpose or not. Compiled code goes on after a fault, and reports the first one that it
//! met, in an order of its own; code that nothing needs may go, with what fails in it. So
//!
//! * a program that gives results anyway gives those that do not depend on what is taken instead of what failed;
//! * one that fails reports one of the program's faults, by its kind and its line.

use super::same;
use crate::core::{Function, interp};
use crate::value::{Fault, Value};

/// What a program that fails may do.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The results, where they do not depend on what failed.
    pub results: Option<Vec<Value>>,
    /// What fails, in the order of execution.
    pub faults: Vec<Fault>,
}

impl Failing {
    /// Of a program for arguments that it fails for.
    pub fn new(f: &Function, args: &[Value]) -> Failing {
        let (zero, faults) = interp::going_on(f, args, 0);
        let is_zero = |other: Result<Vec<Value>, Fault>| match (&other, &zero) {
            (Ok(other), Ok(zero)) => same("", other, zero, 0.0).is_ok(),
            _ => false,
        };
        let is_certain = [1, 3].into_iter().all(|instead| is_zero(interp::going_on(f, args, instead).0));
        Failing { results: zero.ok().filter(|_| is_certain), faults }
    }

    /// Whether an error of this class and line, or of this text, is one of the program's. A row may be named in one line, and read
    /// in another.
    pub fn has(&self, f: &Function, class: Class, line: Option<u32>, text: &str) -> bool {
        let at = |fault: &Fault| f.places.get(fault.loc().0 as usize).map(|p| p.line);
        let is_row = |fault: &Fault| class == Class::Index && fault.to_string() == text;
        self.faults.iter().any(|x| Class::of(x) == class && (at(x) == line || is_row(x)))
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
