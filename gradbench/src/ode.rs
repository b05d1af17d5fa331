//! A triangular chain of linear differential equations by the classical method of Runge and Kutta, `s` steps from 0 to 2.
//!
//! ```text
//! y_0' = x_0,    y_i' = x_i y_{i-1},    y(0) = 0
//! ```
//!
//! The derivative is that of the steps. GradBench compares with the gradient of the exact solution, which differs from it for more than
//! four components unless both are zero.

use array_dsl::prelude::*;
use serde_json::Value;

use crate::{Error, Task, input::Fields, task::unknown};

#[kernel(value)]
fn field(x: [f64; n], y: [f64; n]) -> [f64; n] {
    build(n, |i| if i == 0 { x[0] } else { x[i] * y[i - 1] })
}

#[kernel(value)]
fn ode(x: [f64; n], s: usize) -> [f64; n] {
    let h = 2.0 / s as f64;
    let mut y = zeros(n);
    for _ in 0..s {
        let k1 = field(x, y);
        let k2 = field(x, y + 0.5 * h * k1);
        let k3 = field(x, y + 0.5 * h * k2);
        let k4 = field(x, y + h * k3);
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    }
    y
}

/// The last component of the final state.
#[kernel]
fn last(x: [f64; n], s: usize) -> f64 {
    ode(x, s)[n - 1]
}

/// `primal` or `gradient`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let mut fields = Fields::of(input)?;
    let (x, s) = (fields.vector("x")?, fields.positive::<i64>("s")?);
    if x.is_empty() {
        return Err(fields.wrong("x", &"empty", "at least one number"));
    }
    match function {
        "primal" => Ok(Task::new(move || Cpu.run(ode, (&x, s)))),
        "gradient" => Ok(Task::new(move || Cpu.run(grad(last), (&x, s)))),
        _ => Err(unknown("ode", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array1;

    #[test]
    fn gradient_agrees_with_differences() -> Result<(), array_dsl::Error> {
        for (n, s) in [(1, 1), (4, 3), (6, 2), (9, 5)] {
            let x = Array1::from_shape_fn(n, |i| 1.0 + 0.1 * i as f64);
            let check = check_grad(last, (&x, s))?;
            assert!(check.agrees(1e-8), "{check}");
        }
        Ok(())
    }
}
