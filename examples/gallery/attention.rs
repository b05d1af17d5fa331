//! A small language model: one layer of causal attention learns a sonnet, character by character.
//!
//! Each character is a vector. It asks with `q`, answers with `k` and tells `v`, all linear in the vector; of the characters before it,
//! itself included, it listens to those whose answers fit and whose distance is liked:
//!
//! ```text
//! a_ij = softmax_j (q_i . k_j / sqrt(e) + r_(i-j)),  j <= i,    x_i <- x_i + W sum_j a_ij v_j.
//! ```
//!
//! Four heads do this side by side. A small network at each place follows, and scores for the next character. The kernel is written for
//! one piece of text and is lifted over a batch; the model is a record, and so is its gradient.
//!
//! The picture shows the loss, and to whom the characters of a line listen: rows are those that ask, with one head each.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::prelude::*;
use array_dsl::random::{categorical, fold_in, key, normal};
use array_dsl_examples::picture::{self, BLUE, PALE_BLUE, Panel, numbered, viridis};
use array_dsl_examples::program::{self, require};
use indicatif::ProgressBar;
use ndarray::{Array1, Array2, Array3, ArrayView1, Axis, s};

const SONNET: &str = "\
shall i compare thee to a summer's day?
thou art more lovely and more temperate:
rough winds do shake the darling buds of may,
and summer's lease hath all too short a date;
sometime too hot the eye of heaven shines,
and often is his gold complexion dimm'd;
and every fair from fair sometime declines,
by chance or nature's changing course untrimm'd;
but thy eternal summer shall not fade,
nor lose possession of that fair thou ow'st;
nor shall death brag thou wander'st in his shade,
when in eternal lines to time thou grow'st:
so long as men can breathe or eyes can see,
so long lives this, and this gives life to thee.
";

/// What is learned: vectors of characters, for each head what distances it likes and three matrices, and those after the attention.
#[derive(Record, Clone, Debug)]
struct Model {
    #[shape(letters, d)]
    letter: Array2<f32>,
    #[shape(heads, context)]
    distance: Array2<f32>,
    #[shape(heads, d, e)]
    query: Array3<f32>,
    #[shape(heads, d, e)]
    key: Array3<f32>,
    #[shape(heads, d, e)]
    value: Array3<f32>,
    #[shape(heads * e, d)]
    join: Array2<f32>,
    #[shape(d, hidden)]
    into: Array2<f32>,
    #[shape(hidden, d)]
    back: Array2<f32>,
    #[shape(d, letters)]
    score: Array2<f32>,
}

/// How much each place listens to each other one, for each head.
#[kernel]
fn attention(model: &Model, x: [[f32; d]; n]) -> [[[f32; n]; n]; heads] {
    build(heads, |h| {
        let (q, k) = (matmul(x, model.query[h]), matmul(x, model.key[h]));
        let fit = matmul(q, transpose(k)) / sqrt(e as f32);
        softmax(build(
            (n, n),
            |i, j| if j <= i { fit[i][j] + model.distance[h][i - j] } else { f32::NEG_INFINITY },
        ))
    })
}

/// The scores of all characters to be the next one, at each place.
#[kernel]
fn scores(model: &Model, text: [i64; n]) -> [[f32; letters]; n] {
    let x = gather(model.letter, text);
    let a = attention(model, x);
    let told = build(heads, |h| matmul(a[h], matmul(x, model.value[h])));
    let x = x + matmul(reshape(permute(told, (1, 0, 2)), (n, heads * e)), model.join);
    let x = x + matmul(max(matmul(x, model.into), 0.0), model.back);
    matmul(x, model.score)
}

/// Minus the logarithm of the probability of a text, for each character.
#[kernel]
fn surprise(model: &Model, text: [i64; n + 1]) -> f32 {
    let z = scores(model, text[..n]);
    sum(build(n, |i| logsumexp(z[i]) - z[i][text[i + 1]])) / n as f32
}

/// The mean over a batch of texts.
#[kernel]
fn loss(model: &Model, texts: [[i64; n + 1]; b]) -> f32 {
    mean(surprise(model, texts))
}

/// A step of Adam.
#[kernel(value)]
fn adam(p: &Model, mean: &Model, square: &Model, gradient: &Model, rate: f32) -> (Model, Model, Model) {
    let mean = 0.9 * mean + 0.1 * gradient;
    let square = 0.99 * square + 0.01 * gradient * gradient;
    (p - rate * mean / (sqrt(square) + 1e-8), mean, square)
}

/// How the text goes on: the next character is thrown for by its probability, from what stands in the window before it.
#[kernel(value)]
fn told(model: &Model, start: [i64; n], count: usize, seed: i64, temperature: f32) -> [i64; n + count] {
    let mut text = concat(start, replicate(count, 0));
    for t in n..n + count {
        let z = scores(model, text[t - n..t])[n - 1];
        text[t] = categorical(fold_in(key(seed), t), z / temperature);
    }
    text
}

/// To whom the characters of a text listen.
#[kernel(value)]
fn listened(model: &Model, text: [i64; n]) -> [[[f32; n]; n]; heads] {
    attention(model, gather(model.letter, text))
}

/// A model of random numbers, none of them with `scale` 0.
#[kernel(value)]
fn random(
    letters: usize,
    context: usize,
    d: usize,
    heads: usize,
    e: usize,
    hidden: usize,
    scale: f32,
) -> Model {
    let some = |seed, n, m| reshape(normal(key(seed), 0.0, scale / sqrt(n as f32), n * m), (n, m));
    let for_heads = |seed| reshape(some(seed, d, heads * e), (heads, d, e));
    Model {
        letter: some(1, letters, d),
        distance: some(2, heads, context),
        query: for_heads(3),
        key: for_heads(4),
        value: for_heads(5),
        join: some(6, heads * e, d),
        into: some(7, d, hidden),
        back: some(8, hidden, d),
        score: some(9, d, letters),
    }
}

const CONTEXT: usize = 32;
const HEADS: usize = 4;
const BATCH: usize = 8;
const ITERATIONS: usize = 300;

fn main() -> ExitCode {
    program::main("attention", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let letters: Vec<char> = SONNET.chars().collect::<BTreeSet<_>>().into_iter().collect();
    let number = |c: char| letters.iter().position(|l| *l == c).map_or(0, |k| k as i64);
    let text: Array1<i64> = SONNET.chars().map(number).collect();
    let spoken = |numbers: ArrayView1<i64>| numbers.iter().map(|&k| letters[k as usize]).collect::<String>();
    println!("{} characters, {} different ones", text.len(), letters.len());

    let sized = |scale: f32| Cpu.run(random, (letters.len(), CONTEXT, 32, HEADS, 8, 64, scale));
    let (mut model, mut mean, mut square) = (sized(0.7)?, sized(0.0)?, sized(0.0)?);
    let mut losses = vec![];
    let bar = ProgressBar::new(ITERATIONS as u64);
    for k in 0..ITERATIONS {
        // Pieces that begin at other places each time.
        let pieces = Array2::from_shape_fn((BATCH, CONTEXT + 1), |(b, i)| {
            text[(b * (text.len() - CONTEXT) / BATCH + 53 * k) % (text.len() - CONTEXT) + i]
        });
        let (value, gradient) = Cpu.run(value_and_grad(loss), (&model, &pieces))?;
        losses.push(f64::from(value));
        let rate = 0.02 * (1.0 - k as f32 / ITERATIONS as f32);
        (model, mean, square) = Cpu.run(adam, (&model, &mean, &square, &gradient, rate))?;
        bar.inc(1);
    }
    bar.finish_and_clear();

    let last = losses.iter().rev().take(20).sum::<f64>() / 20.0;
    println!("loss: {:.2} before (guessing: {:.2}), {last:.3} after", losses[0], (letters.len() as f64).ln());
    let start = text.slice(s![..CONTEXT]);
    let all = Cpu.run(told, (&model, &start, 160, 1, 0.5))?;
    println!("---\n{}[{}]\n---", spoken(start), spoken(all.slice(s![CONTEXT..])));

    let line = "shall i compare thee";
    let weights = Cpu.run(listened, (&model, &line.chars().map(number).collect::<Array1<i64>>()))?;
    let means: Vec<f64> = losses.windows(20).map(|w| w.iter().sum::<f64>() / 20.0).collect();
    let means = numbered(&means).map(|(k, l)| (k + 19.0, l));
    let curve = Panel::chart("loss").log().line(numbered(&losses), PALE_BLUE, 1).line(means, BLUE, 2);
    let head = |h: usize| {
        let image = weights.index_axis(Axis(0), h).mapv(f64::from);
        Panel::image(&format!("head {}", h + 1), &image, 0.0..0.7, viridis).letters(line)
    };
    picture::save(out, (900, 340), &[&[curve.below("steps"), head(0), head(2)]])?;

    let sums = weights.sum_axis(Axis(2));
    require(sums.iter().all(|s| (s - 1.0).abs() < 1e-5), "the weights of a character are not 1 in all")?;
    let ahead = weights.indexed_iter().any(|((_, i, j), a)| j > i && *a != 0.0);
    require(!ahead, "a character listens to one that comes after it")?;
    require(last < 0.8, "the model has not learned the sonnet")
}
