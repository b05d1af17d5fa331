//! A determinant by expansion by minors along the first rows, whose work is exponential.
//!
//! ```text
//! det(A) = sum_j (-1)^j A_0j det(A without row 0 and column j) = sum_p prod_i (-1)^(d_i(p)) A_i,p(i)
//! ```
//!
//! over the permutations `p`, of which `d_i(p)` is the position of `p(i)` among the columns that the rows before `i` leave.

use array_dsl::prelude::*;
use ndarray::Array2;
use serde_json::Value;

use crate::{Error, Task, input::Fields, output::As, output::Output, task::unknown};

/// `permutations` is the factorial of `n`. The digits `d_i` of a permutation's number are to the bases `n - i`. Its columns come first, so that
/// the loop that finds them has no derivative.
#[kernel]
fn det(a: [[f64; n]; n], permutations: i64) -> f64 {
    let products = build(permutations, |number| {
        let mut left = (1 << n) - 1; // a bit for each column that is left
        let mut minors = permutations;
        let mut rest = number;
        let mut digits = 0;
        let mut columns = replicate(n, 0);
        for i in 0..n {
            minors /= n - i;
            let digit = rest / minors;
            rest %= minors;
            digits += digit;
            let mut after = left;
            for _ in 0..digit {
                after &= after - 1;
            }
            let bit = after & -after;
            left ^= bit;
            while bit >> columns[i] > 1 {
                columns[i] += 1;
            }
        }
        let sign = if digits % 2 == 0 { 1.0 } else { -1.0 };
        sign * prod(build(n, |i| a[i][columns[i]]))
    });
    products.sum()
}

/// The determinant of more rows has more terms than an integer can count.
const MOST: usize = 20;

/// `primal` or `gradient`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let mut fields = Fields::of(input)?;
    let n: usize = fields.take("ell")?;
    if n > MOST {
        return Err(fields.wrong("ell", &n, "at most 20"));
    }
    let numbers = fields.vector_of("A", n * n)?;
    let a = Array2::from_shape_fn((n, n), |(i, j)| numbers[i * n + j]);
    let permutations = (1..=n as i64).product();
    match function {
        "primal" => Ok(Task::new(move || Cpu.run(det, (&a, permutations)))),
        "gradient" => {
            let flat = |g: &Array2<f64>| g.flatten().into_owned().json();
            Ok(Task::new(move || Cpu.run(grad(det), (&a, permutations)).map(|g| As(g, flat))))
        }
        _ => Err(unknown("det", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_agrees_with_differences() -> Result<(), array_dsl::Error> {
        for n in 1..6 {
            let a = Array2::from_shape_fn((n, n), |(i, j)| ((i * n + j) as f64 * 1.3).sin());
            let check = check_grad(det, (&a, (1..=n as i64).product()))?;
            assert!(check.agrees(1e-8), "{check}");
        }
        Ok(())
    }
}
