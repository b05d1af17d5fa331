//! A Gaussian mixture with a Wishart prior: the logarithm of its posterior.
//!
//! ```text
//! Q_k       lower triangular, diagonal exp(q_k), below it l_k column by column
//! beta_ik = alpha_k + sum_j q_kj - 1/2 |Q_k (x_i - mu_k)|^2
//! F       = -1/2 n d log(2 pi) + sum_i lse_k(beta_ik) - n lse(alpha)
//!           - sum_k (1/2 gamma^2 |Q_k|^2 - m sum_j q_kj)
//!           + K (v d (log(gamma) - 1/2 log 2) - lgamma_d(v / 2)),    v = d + m + 1
//! lgamma_d(a) = 1/4 d (d - 1) log(pi) + sum_{j < d} lgamma(a - j / 2)
//! ```
//!
//! ADBench's objective has the prior with the other sign.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};
use serde_json::{Value, json};

use crate::output::{As, Output};
use crate::{Error, Task, input::Fields, task::unknown};

/// What the prior says of the inverse factors, with its constant.
#[kernel(value)]
fn prior(q: [[f64; d]; k], l: [[f64; t]; k], #[no_grad] gamma: f64, #[no_grad] m: i64) -> f64 {
    let squares = (2.0 * q).exp().flatten().sum() + (l * l).flatten().sum();
    let freedom = (d + m + 1) as f64;
    let gammas = build(d, |j| lgamma(0.5 * (freedom - j as f64))).sum()
        + 0.25 * (d * (d - 1)) as f64 * std::f64::consts::PI.ln();
    let constant = freedom * d as f64 * (gamma.ln() - 0.5 * std::f64::consts::LN_2) - gammas;
    m as f64 * q.flatten().sum() - 0.5 * gamma * gamma * squares + k as f64 * constant
}

/// From the `beta` of all points and components.
#[kernel(value)]
fn posterior(
    beta: [[f64; k]; n],
    alpha: [f64; k],
    q: [[f64; d]; k],
    l: [[f64; t]; k],
    #[no_grad] gamma: f64,
    #[no_grad] m: i64,
) -> f64 {
    let likelihood = sum(logsumexp(beta))
        - n as f64 * (logsumexp(alpha) + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln());
    likelihood + prior(q, l, gamma, m)
}

/// Element by element, as the formulas are.
#[kernel]
pub fn by_elements(
    alpha: [f64; k],
    mu: [[f64; d]; k],
    q: [[f64; d]; k],
    l: [[f64; t]; k],
    #[no_grad] x: [[f64; d]; n],
    #[no_grad] gamma: f64,
    #[no_grad] m: i64,
) -> f64 {
    let diagonal = q.exp();
    let beta = build((n, k), |i, c| {
        let delta = x[i] - mu[c];
        let u = build(d, |r| {
            let mut u = diagonal[c][r] * delta[r];
            for s in 0..r {
                u += l[c][s * (d - 1) - s * (s - 1) / 2 + r - s - 1] * delta[s];
            }
            u
        });
        alpha[c] + sum(q[c]) - 0.5 * dot(u, u)
    });
    posterior(beta, alpha, q, l, gamma, m)
}

/// With the factors as whole matrices, of which all products with all points are one.
#[kernel]
pub fn by_products(
    alpha: [f64; k],
    mu: [[f64; d]; k],
    q: [[f64; d]; k],
    l: [[f64; t]; k],
    #[no_grad] x: [[f64; d]; n],
    #[no_grad] gamma: f64,
    #[no_grad] m: i64,
) -> f64 {
    let factor = build((k, d, d), |c, r, s| {
        if s < r {
            l[c][s * (d - 1) - s * (s - 1) / 2 + r - s - 1]
        } else if s == r {
            q[c][r].exp()
        } else {
            0.0
        }
    });
    let u = einsum!("crs,is->icr", factor, x) - einsum!("crs,cs->cr", factor, mu);
    let beta = alpha + sum(q) - 0.5 * sum(u * u);
    posterior(beta, alpha, q, l, gamma, m)
}

/// The gradient: of `alpha`, `mu`, `q` and `l`.
type Gradient = (Array1<f64>, Array2<f64>, Array2<f64>, Array2<f64>);

/// `objective` or `jacobian`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let mut fields = Fields::of(input)?;
    let d: usize = fields.positive("d")?;
    let (k, n): (usize, usize) = (fields.take("k")?, fields.take("n")?);
    let below = d
        .checked_mul(d - 1)
        .map(|twice| twice / 2)
        .ok_or_else(|| fields.wrong("d", &d, "a number of which there is a square"))?;
    let x: Array2<f64> = fields.matrix_of("x", (n, d))?;
    let alpha = fields.vector_of("alpha", k)?;
    let mu: Array2<f64> = fields.matrix_of("mu", (k, d))?;
    let q: Array2<f64> = fields.matrix_of("q", (k, d))?;
    let l: Array2<f64> = fields.matrix_of("l", (k, below))?;
    let (gamma, m): (f64, i64) = (fields.take("gamma")?, fields.take("m")?);
    match function {
        "objective" => Ok(Task::new(move || Cpu.run(by_products, (&alpha, &mu, &q, &l, &x, gamma, m)))),
        "jacobian" => {
            let named = |(alpha, mu, q, l): &Gradient| json!({"alpha": alpha.json(), "mu": mu.json(), "q": q.json(), "l": l.json()});
            Ok(Task::new(move || {
                Cpu.run(grad(by_products), (&alpha, &mu, &q, &l, &x, gamma, m)).map(|g| As(g, named))
            }))
        }
        _ => Err(unknown("gmm", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waves(rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| ((i * columns + j) as f64 * 1.3).sin())
    }

    #[test]
    fn both_ways_agree_and_have_gradients() -> Result<(), array_dsl::Error> {
        for (n, k, d) in [(1, 1, 1), (5, 3, 4), (9, 2, 2)] {
            let (x, alpha, mu) = (waves(n, d), waves(1, k).row(0).to_owned(), waves(k, d) * 0.5);
            let (q, l) = (waves(k, d) * 0.3, waves(k, d * (d - 1) / 2));
            let (a, b) = (
                Cpu.run(by_elements, (&alpha, &mu, &q, &l, &x, 0.7, 3))?,
                Cpu.run(by_products, (&alpha, &mu, &q, &l, &x, 0.7, 3))?,
            );
            assert!((a - b).abs() < 1e-12 * a.abs(), "{a} {b}");
            let check = check_grad(by_elements, (&alpha, &mu, &q, &l, &x, 0.7, 3))?;
            assert!(check.agrees(1e-7), "{check}");
            let check = check_grad(by_products, (&alpha, &mu, &q, &l, &x, 0.7, 3))?;
            assert!(check.agrees(1e-7), "{check}");
        }
        Ok(())
    }
}
