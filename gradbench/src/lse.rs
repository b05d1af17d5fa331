//! The logarithm of a sum of exponentials, without the built-in function and the derivative it has.
//!
//! ```text
//! f(x) = a + log(sum_i exp(x_i - a)),    a = max(x)
//! ```

use array_dsl::prelude::*;
use serde_json::Value;

use crate::{Error, Task, input::Fields, task::unknown};

#[kernel]
fn lse(x: [f64; n]) -> f64 {
    let a = maximum(x);
    a + (x - a).exp().sum().ln()
}

/// `primal` or `gradient`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let x = Fields::of(input)?.vector("x")?;
    match function {
        "primal" => Ok(Task::new(move || Cpu.run(lse, (&x,)))),
        "gradient" => Ok(Task::new(move || Cpu.run(grad(lse), (&x,)))),
        _ => Err(unknown("lse", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array1;

    #[test]
    fn gradient_agrees_with_differences() -> Result<(), array_dsl::Error> {
        let x = Array1::from_shape_fn(7, |i| (i as f64 * 1.3).sin());
        let check = check_grad(lse, (&x,))?;
        assert!(check.agrees(1e-8), "{check}");
        Ok(())
    }
}
