//! Hello: the square of a number, and its derivative.

use array_dsl::prelude::*;
use serde_json::Value;

use crate::{Error, Task, task::unknown};

#[kernel]
fn square(x: f64) -> f64 {
    x * x
}

/// `square`, or its derivative `double`, of a number.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let x: f64 = serde_json::from_value(input).map_err(Error::Input)?;
    match function {
        "square" => Ok(Task::new(move || Cpu.run(square, (x,)))),
        "double" => Ok(Task::new(move || Cpu.run(grad(square), (x,)))),
        _ => Err(unknown("hello", function)),
    }
}
