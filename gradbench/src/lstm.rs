//! A recurrent network of `l` layers with diagonal weights, which predicts the next character of a text.
//!
//! ```text
//! x = s_t a
//! for each layer:   forget = sigmoid(x W_f + B_f)      in     = sigmoid(h W_i + B_i)
//!                   out    = sigmoid(x W_o + B_o)      change = tanh(h W_c + B_c)
//!                   c <- c forget + in change,         x, h <- out tanh(c)
//! y = x o + b,      loss = -sum_t s_{t+1} . (y - log(2 + sum exp(y))) / (b (c - 1))
//! ```

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array4};
use serde_json::Value;

use crate::{Error, Task, input::Fields, output::As, output::Output, task::unknown};

/// `main` has the weights and the biases of each layer, `extra` the input's weights, the output's weights and its biases, `state` what
/// the layers give and remember at first.
#[kernel]
fn lstm(
    main: [[[[f64; b]; 4]; 2]; l],
    extra: [[f64; b]; 3],
    #[no_grad] state: [[[f64; b]; 2]; l],
    #[no_grad] sequence: [[f64; b]; c],
) -> f64 {
    let mut hidden = build(l, |i| state[i][0]);
    let mut cell = build(l, |i| state[i][1]);
    let mut total = 0.0;
    for t in 0..c - 1 {
        let mut x = sequence[t] * extra[0];
        for i in 0..l {
            let weight = main[i][0];
            let bias = main[i][1];
            let forget = sigmoid(x * weight[0] + bias[0]);
            let take = sigmoid(hidden[i] * weight[1] + bias[1]);
            let out = sigmoid(x * weight[2] + bias[2]);
            let change = tanh(hidden[i] * weight[3] + bias[3]);
            cell[i] = cell[i] * forget + take * change;
            x = out * cell[i].tanh();
            hidden[i] = x;
        }
        let y = x * extra[1] + extra[2];
        total += dot(sequence[t + 1], y - (2.0 + y.exp().sum()).ln());
    }
    -total / (b * (c - 1)) as f64
}

/// The gradient, all numbers in a row.
fn flat((main, extra): &(Array4<f64>, Array2<f64>)) -> Value {
    main.iter().chain(extra).copied().collect::<Array1<f64>>().json()
}

/// `objective` or `jacobian`.
///
/// # Errors
/// The function may be unknown, or the input wrong.
pub fn task(function: &str, input: Value) -> Result<Task, Error> {
    let mut fields = Fields::of(input)?;
    let sequence: Array2<f64> = fields.matrix("sequence")?;
    if sequence.nrows() < 2 {
        return Err(fields.wrong("sequence", &format!("of length {}", sequence.nrows()), "at least 2 long"));
    }
    let b = sequence.ncols();
    let state: Array2<f64> = fields.matrix("state")?;
    let l = state.nrows() / 2;
    let main = fields.matrix_of("main_params", (2 * l, 4 * b))?;
    let main = fields.shaped("main_params", main.into_shape_with_order((l, 2, 4, b)))?;
    fields.same("state", state.nrows(), 2 * l)?;
    if l > 0 {
        fields.same("state[0]", state.ncols(), b)?;
    }
    let state = fields.shaped("state", state.into_shape_with_order((l, 2, b)))?;
    let extra = fields.matrix_of("extra_params", (3, b))?;
    match function {
        "objective" => Ok(Task::new(move || Cpu.run(lstm, (&main, &extra, &state, &sequence)))),
        "jacobian" => Ok(Task::new(move || {
            Cpu.run(grad(lstm), (&main, &extra, &state, &sequence)).map(|g| As(g, flat))
        })),
        _ => Err(unknown("lstm", function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    fn wave(k: usize) -> f64 {
        (k as f64 * 1.3).sin()
    }

    #[test]
    fn gradient_agrees_with_differences() -> Result<(), array_dsl::Error> {
        for (l, b, c) in [(1, 2, 2), (3, 3, 6), (0, 2, 3)] {
            let main =
                Array4::from_shape_fn((l, 2, 4, b), |(i, j, k, m)| wave(((i * 2 + j) * 4 + k) * b + m));
            let extra = Array2::from_shape_fn((3, b), |(i, j)| wave(i * b + j));
            let state = Array3::from_shape_fn((l, 2, b), |(i, j, k)| wave((i * 2 + j) * b + k));
            let sequence = Array2::from_shape_fn((c, b), |(i, j)| ((i + j) % 2) as f64);
            let check = check_grad(lstm, (&main, &extra, &state, &sequence))?;
            assert!(check.agrees(1e-8), "{check}");
        }
        Ok(())
    }
}
