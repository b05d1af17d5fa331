//! Random numbers: on a GPU the same words, the same uniform numbers, and others to rounding.

use array_dsl::implicit::fixed_point;
use array_dsl::ode::odeint;
use array_dsl::prelude::*;
use array_dsl::random;
use ndarray::{Array1, array};

use super::agreement::{LENGTHS, agree, is_skipped};

#[kernel(value)]
fn words(key: (u32, u32), n: usize) -> ([u32; n], ([u32; n], [u32; n]), (u32, u32), [f32; n]) {
    (random::bits(key, n), random::split(key, n), random::fold_in(key, n), random::uniform(key, 0.0, 1.0, n))
}

#[kernel(value)]
fn numbers(key: (u32, u32), logits: [f32; k], n: usize) -> ([f32; n], [f32; n], [bool; n], [i64; n]) {
    let normal = random::normal(key, 1.0, 2.0, n);
    let gap = random::exponential(key, 1.0 + logits[0], n);
    (normal, gap, random::bernoulli(key, 0.5 * logits[0], n), random::permutation(key, n))
}

#[test]
fn words_and_numbers() {
    for n in LENGTHS {
        for key in [(0u32, 42u32), (u32::MAX, 7)] {
            agree(words, (key, n as i64), 0.0);
            agree(numbers, (key, array![0.5f32], n as i64), 1e-5);
        }
    }
}

/// Searches and steps whose numbers only data tell.
#[kernel(value, value_and_grad)]
fn orbit(mean: f32, eccentricity: f32, times: [f32; n]) -> f32 {
    let (e, _) = fixed_point(|e| [mean + eccentricity * sin(e[0])], [mean]);
    let x = odeint(|_, x| [x[1], -sin(x[0])], [e[0], 0.0], times, 1e-3);
    sum(flatten(x * x))
}

#[test]
fn searches_and_steps() {
    let times: Array1<f32> = array![0.0, 0.5, 1.0];
    agree(value_and_grad(orbit), (0.8f32, 0.2f32, times), 1e-3);
}

/// Numbers found by rejection: none of these is so near to its border that rounding decides.
#[kernel(value, value_and_grad)]
fn rejected(key: (u32, u32), shape: f32, #[no_grad] rate: f32) -> f32 {
    let x = random::gamma(key, shape, 40);
    let y = random::beta(random::fold_in(key, 1), shape, 2.0, 40);
    let k = random::poisson(key, rate, 40);
    sum(x * y) + (sum(k) as f32)
}

#[test]
fn rejection() {
    if is_skipped() {
        return;
    }
    for (shape, rate) in [(0.5f32, 3.0f32), (4.0, 30.0)] {
        agree(value_and_grad(rejected), ((3u32, 4u32), shape, rate), 1e-3);
    }
}
