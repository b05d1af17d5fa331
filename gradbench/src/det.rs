//! A determinant by expansion by minors along the first rows, whose work is exponential.
//!
//! ```text
//! det(A) = sum_j (-1)^j A_0j det(A without row 0 and column j)
//!        = sum_p prod_(i < n - 4) (-1)^(d_i(p)) A_i,p(i) det(the last four rows, the columns that p leaves)
//! ```
//!
//! over the ways `p` to choose a column for each row but the last four, of which `d_i(p)` is the position of `p(i)` among the columns that
//! the rows before `i` leave. Each is a point of its own, which expands its last four rows as well.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, s};
use serde_json::Value;

use crate::{Error, Task, input::Fields, output::As, output::Output, task::unknown};

/// Expansion along the first row, and of the minors' determinants along the next ones.
#[kernel(value)]
fn det4(a: [[f64; 4]; 4]) -> f64 {
    let two = |p, q| a[2][p] * a[3][q] - a[2][q] * a[3][p];
    let three = |p, q, r| a[1][p] * two(q, r) - a[1][q] * two(p, r) + a[1][r] * two(p, q);
    a[0][0] * three(1, 2, 3) - a[0][1] * three(0, 2, 3) + a[0][2] * three(0, 1, 3) - a[0][3] * three(0, 1, 2)
}

/// `choices` is the factorial of `n`, which is at least 4, over that of 4. The digits `d_i` of a choice's number are to the bases `n - i`.
/// The columns come first, so that the loop that finds them has no derivative.
#[kernel]
fn det(a: [[f64; n]; n], choices: i64) -> f64 {
    let products = build(choices, |number| {
        let mut left = (1 << n) - 1; // a bit for each column that is left
        let mut minors = choices;
        let mut rest = number;
        let mut digits = 0;
        let mut columns = replicate(n, 0);
        for i in 0..n {
            let mut digit = 0;
            if i < n - 4 {
                minors /= n - i;
                digit = rest / minors;
                rest %= minors;
            }
            digits += digit;
            // The column before which so many are left.
            let mut before = 0;
            let mut column = 0;
            for k in 0..n {
                let is_left = left >> k & 1;
                column = if is_left == 1 && before == digit { k } else { column };
                before += is_left;
            }
            columns[i] = column;
            left ^= 1 << column;
        }
        let sign = if digits % 2 == 0 { 1.0 } else { -1.0 };
        let minor = det4(build((4, 4), |i, j| a[n - 4 + i][columns[n - 4 + j]]));
        sign * prod(build(n - 4, |i| a[i][columns[i]])) * minor
    });
    products.sum()
}

/// A matrix, and as many ones on the diagonal before it as make it four rows: its determinant is the same.
fn padded(a: &Array2<f64>) -> Array2<f64> {
    let n = a.nrows();
    let mut all = Array2::eye(n.max(4));
    let first = all.nrows() - n;
    all.slice_mut(s![first.., first..]).assign(a);
    all
}

/// How often columns are chosen for all rows but the last four.
fn choices(n: usize) -> i64 {
    (5..=n as i64).product()
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
    let a = padded(&Array2::from_shape_fn((n, n), |(i, j)| numbers[i * n + j]));
    let choices = choices(a.nrows());
    match function {
        "primal" => Ok(Task::new(move || Cpu.run(det, (&a, choices)))),
        "gradient" => {
            let flat = move |g: &Array2<f64>| {
                let first = g.nrows() - n;
                g.slice(s![first.., first..]).iter().copied().collect::<Array1<f64>>().json()
            };
            Ok(Task::new(move || Cpu.run(grad(det), (&a, choices)).map(|g| As(g, flat))))
        }
        _ => Err(unknown("det", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_agrees_with_differences() -> Result<(), array_dsl::Error> {
        for n in 1..7 {
            let a = padded(&Array2::from_shape_fn((n, n), |(i, j)| ((i * n + j) as f64 * 1.3).sin()));
            let check = check_grad(det, (&a, choices(a.nrows())))?;
            assert!(check.agrees(1e-8), "{check}");
        }
        Ok(())
    }
}
