//! What the network sees in a picture, as kernels: how likely each class is, and which pixels speak for the likeliest.

use array_dsl::prelude::*;
use ndarray::Array2;

use crate::data::CLASSES;
use crate::kernels::scores;

/// The probability of each class for each image, by its scores.
#[kernel(value)]
pub fn probabilities(scores: [[f32; c]; n]) -> [[f32; c]; n] {
    softmax(scores)
}

/// The logarithms of the probabilities of the classes `y` for the images `x`, summed: its gradient with respect to an image says
/// how the probability changes with each pixel.
#[kernel(value, grad)]
pub fn certainty(
    #[no_grad] w1: [[f32; h]; d],
    #[no_grad] b1: [f32; h],
    #[no_grad] w2: [[f32; c]; h],
    #[no_grad] b2: [f32; c],
    x: [[f32; d]; n],
    #[no_grad] y: [i32; n],
) -> f32 {
    let logits = scores(w1, b1, w2, b2, x);
    let each = build(n, |i| {
        let z = logits[i];
        z[y[i] as usize] - logsumexp(z)
    });
    each.sum()
}

/// What the network sees in a picture.
pub struct Seen {
    /// Of each class.
    pub probabilities: Vec<f32>,
    /// Of the certainty that it is the likeliest, by each pixel.
    pub gradient: Vec<f32>,
}

/// The likeliest class of each row.
pub fn likeliest(rows: &Array2<f32>) -> Vec<i32> {
    let best =
        |row: ndarray::ArrayView1<f32>| (0..CLASSES).fold(0, |b, j| if row[j] > row[b] { j } else { b });
    rows.rows().into_iter().map(|row| best(row) as i32).collect()
}
