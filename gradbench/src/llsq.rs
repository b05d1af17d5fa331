//! Linear least squares: a polynomial that is fitted to the sign function at `n` points of [-1, 1].
//!
//! ```text
//! f(x) = 1/2 sum_i (s_i - sum_j x_j t_i^j)^2,    t_i = -1 + 2 i / (n - 1),    s_i = sign(t_i), 0 at 0
//! ```

use array_dsl::prelude::*;
use serde_json::Value;

use crate::{Error, Task, input::Fields, task::unknown};

#[kernel]
fn llsq(x: [f64; m], n: usize) -> f64 {
    let squares = build(n, |i| {
        let t = -1.0 + 2.0 * i as f64 / (n - 1) as f64;
        let sign = if t > 0.0 {
            1.0
        } else if t < 0.0 {
            -1.0
        } else {
            0.0
        };
        let mut fit = 0.0;
        let mut power = 1.0;
        for j in 0..m {
            fit += x[j] * power;
            power *= t;
        }
        (sign - fit).powi(2)
    });
    0.5 * squares.sum()
}

/// `primal` or `gradient`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let mut fields = Fields::of(input)?;
    let (x, n) = (fields.vector("x")?, i64::from(fields.take::<u32>("n")?));
    match function {
        "primal" => Ok(Task::new(move || Cpu.run(llsq, (&x, n)))),
        "gradient" => Ok(Task::new(move || Cpu.run(grad(llsq), (&x, n)))),
        _ => Err(unknown("llsq", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array1;

    #[test]
    fn gradient_agrees_with_differences() -> Result<(), array_dsl::Error> {
        let x = Array1::from_shape_fn(6, |i| (i as f64 * 1.3).sin());
        for n in [2, 3, 10] {
            let check = check_grad(llsq, (&x, n))?;
            assert!(check.agrees(1e-8), "{check}");
        }
        Ok(())
    }
}
