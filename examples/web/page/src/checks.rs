//! What the async forms promise, as checks: a page executes them in a browser, and the tests of the GPU natively.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

/// The host reads how many are kept, since a result has that size.
#[kernel(value)]
pub fn kept(x: [f32; n], limit: f32) -> [f32; _] {
    filter(|v| v > limit, x)
}

/// The host reads whether another trip is due.
#[kernel(value)]
pub fn dominant(a: [[f32; n]; n], start: [f32; n]) -> ([f32; n], i32) {
    let mut v = start;
    let mut change = 1.0;
    let mut trips = 0;
    while change > 1e-6 && trips < 60 {
        let w = matvec(a, v);
        let w = w / sum(w * w).sqrt();
        change = sum((w - v) * (w - v));
        v = w;
        trips += 1;
    }
    (v, trips)
}

/// Rows of several tiles.
#[kernel(value)]
pub fn in_order(x: [[f32; m]; n]) -> [[f32; m]; n] {
    map(|row| sort(row), x)
}

/// What it reads may be outside.
#[kernel(value)]
pub fn looked_up(table: [f32; n], at: [i32; k]) -> [f32; k] {
    map(|i| table[i as usize] * 2.0, at)
}

/// A record, whose integer the host needs as a size.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Filter {
    /// Of the recent value.
    pub weights: Array1<f32>,
    /// How often it is applied.
    pub rounds: i64,
}

/// Takes a record and gives one.
#[kernel(value)]
pub fn smoothed(f: &Filter, x: f32) -> Filter {
    let mut w = f.weights;
    for _ in 0..f.rounds {
        w = 0.5 * w + x;
    }
    Filter { weights: w, rounds: f.rounds }
}

/// Both, in turns, on one thread.
async fn together<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    poll_fn(move |context| {
        if of_a.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(context)
        {
            of_a = Some(value);
        }
        if of_b.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(context)
        {
            of_b = Some(value);
        }
        match (of_a.take(), of_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (of_a, of_b) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

/// Polls once and gives the rest up.
pub async fn begun<T>(future: impl Future<Output = T>) {
    let mut future = pin!(future);
    poll_fn(move |context| {
        let _ = future.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

/// Numbers in (-1, 1) without a pattern.
fn noise(length: usize) -> Array1<f32> {
    let mut state = 0x9e37_79b9u32;
    Array1::from_shape_simple_fn(length, || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    })
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

fn near(what: &str, found: &Array1<f32>, expected: &Array1<f32>) -> Result<(), String> {
    let is_near = found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + b.abs()));
    if is_near { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

/// All of them. The first thing that is wrong.
///
/// # Errors
/// As a text.
pub async fn all(gpu: &Gpu) -> Result<(), String> {
    sizes_that_data_decide(gpu).await?;
    rows_in_order(gpu).await?;
    conditions_on_the_device(gpu).await?;
    records(gpu).await?;
    failures(gpu).await?;
    taking_turns(gpu).await?;
    giving_up(gpu).await
}

async fn sizes_that_data_decide(gpu: &Gpu) -> Result<(), String> {
    let run = async |x: &Array1<f32>| -> Result<Array1<f32>, Error> {
        gpu.run_async(kept, (&gpu.upload(x)?, 0.25)).await?.download_async().await
    };
    for length in [0, 1, 1000, 70_000] {
        let x = noise(length);
        let found = run(&x).await;
        // Such a size is an integer of 64 bits, which no browser has.
        if gpu.info().backend == "webgpu" {
            let message = found.err().map(|e| e.to_string()).unwrap_or_default();
            return equal("what a browser cannot", &message.contains("integers of 64 bits"), &true);
        }
        equal("what a filter keeps", &found, &Cpu.run(kept, (&x, 0.25)))?;
    }
    Ok(())
}

async fn rows_in_order(gpu: &Gpu) -> Result<(), String> {
    let rows = Array2::from_shape_vec((2, 5000), noise(10_000).to_vec()).map_err(|e| e.to_string())?;
    let sort = async || -> Result<Array2<f32>, Error> {
        gpu.run_async(in_order, (&gpu.upload(&rows)?,)).await?.download_async().await
    };
    equal("rows in order", &sort().await, &Cpu.run(in_order, (&rows,)))
}

/// A matrix with one large eigenvalue, and where to begin.
fn matrix(n: usize) -> (Array2<f32>, Array1<f32>) {
    (Array2::from_shape_fn((n, n), |(i, j)| 1.0 + 0.1 * ((i * j) as f32).sin()), Array1::ones(n))
}

async fn dominant_of(gpu: &Gpu, n: usize) -> Result<(Array1<f32>, i32), Error> {
    let (a, start) = matrix(n);
    let (a, start) = (gpu.upload(&a)?, gpu.upload(&start)?);
    let (v, trips) = gpu.run_async(dominant, (&a, &start)).await?;
    Ok((v.download_async().await?, trips.item_async().await?))
}

async fn conditions_on_the_device(gpu: &Gpu) -> Result<(), String> {
    let (found, trips) = dominant_of(gpu, 20).await.map_err(|e| e.to_string())?;
    let (a, start) = matrix(20);
    let (expected, most) = Cpu.run(dominant, (&a, &start)).map_err(|e| e.to_string())?;
    near("an eigenvector", &found, &expected)?;
    equal("the trips", &(trips > 1 && (trips - most).abs() <= 1), &true)
}

async fn records(gpu: &Gpu) -> Result<(), String> {
    let start = Filter { weights: array![1.0, 2.0, 4.0], rounds: 2 };
    let run = async || -> Result<Filter, Error> {
        let on_gpu = gpu.upload(&start)?;
        let once: GpuRecord<Filter> = gpu.run_async(smoothed, (&on_gpu, 1.0)).await?;
        gpu.run_async(smoothed, (&once, 1.0)).await?.download_async().await
    };
    let found = run().await.map_err(|e| e.to_string())?;
    equal("a record", &found, &Filter { weights: array![1.9375, 2.0, 2.125], rounds: 2 })
}

async fn failures(gpu: &Gpu) -> Result<(), String> {
    let table = noise(100);
    let at = Array1::from_iter((0..50).map(|i| if i == 33 { 100 } else { i }));
    let run = async || -> Result<Array1<f32>, Error> {
        let (table, at) = (gpu.upload(&table)?, gpu.upload(&at)?);
        let found = gpu.run_async(looked_up, (&table, &at)).await?;
        let later = gpu.run_async(dominant, (&gpu.upload(&matrix(50).0)?, &found)).await;
        equal("a run on what has failed", &later.is_err(), &true)
            .map_err(|message| Error::Gpu { message })?;
        found.download_async().await
    };
    let expected = Cpu.run(looked_up, (&table, &at)).err();
    equal("an index out of range", &run().await.err(), &expected)?;
    equal("and afterwards", &gpu.synchronize_async().await, &Ok(()))
}

/// Runs that wait in their middle, at once on one thread.
async fn taking_turns(gpu: &Gpu) -> Result<(), String> {
    let ((small, large), (middle, done)) = together(
        together(dominant_of(gpu, 20), dominant_of(gpu, 30)),
        together(dominant_of(gpu, 25), gpu.synchronize_async()),
    )
    .await;
    equal("synchronizing meanwhile", &done, &Ok(()))?;
    for (n, found) in [(20, small), (30, large), (25, middle)] {
        let (a, start) = matrix(n);
        let expected = Cpu.run(dominant, (&a, &start)).map_err(|e| e.to_string())?;
        near("an eigenvector meanwhile", &found.map_err(|e| e.to_string())?.0, &expected.0)?;
    }
    Ok(())
}

/// A run that is dropped while it waits leaves nothing behind.
async fn giving_up(gpu: &Gpu) -> Result<(), String> {
    for _ in 0..20 {
        begun(dominant_of(gpu, 20)).await;
    }
    conditions_on_the_device(gpu).await
}

/// In a browser the blocking forms are errors that name the others.
///
/// # Errors
/// As a text.
pub fn blocking_forms_say_so(gpu: &Gpu) -> Result<(), String> {
    let x = gpu.upload(&noise(10)).map_err(|e| e.to_string())?;
    let cases: [(Option<Error>, &str); 5] = [
        (
            Gpu::new().err(),
            "`Gpu::new` waits for the GPU, which a page in a browser cannot; use `Gpu::new_async`",
        ),
        (
            gpu.run(kept, (&x, 0.0)).err(),
            "`Gpu::run` waits for the GPU, which a page in a browser cannot; use `run_async`",
        ),
        (
            x.download().err(),
            "`GpuArray::download` waits for the GPU, which a page in a browser cannot; use `download_async`",
        ),
        (
            gpu.synchronize().err(),
            "`Gpu::synchronize` waits for the GPU, which a page in a browser cannot; use `synchronize_async`",
        ),
        (
            Gpu::with_adapter(gpu.info()).err(),
            "`Gpu::with_adapter` waits for the GPU, which a page in a browser cannot; use `Gpu::new_async`",
        ),
    ];
    for (error, expected) in cases {
        equal("a blocking form", &error.map(|e| e.to_string()).as_deref(), &Some(expected))?;
    }
    equal("the list of GPUs", &Gpu::list().len(), &0)
}
