//! Compares tools that speak GradBench's protocol: sends all of them the same workloads, compares what they answer, and tells how long
//! they took.
//!
//! `workload` has the inputs, of numbers from `random`; `hand` makes the model of a hand. `tool` starts a tool and talks with it,
//! `prepare` builds and installs those of `benches/peers`. `agreement` compares answers, `table` prints. The first tool is the one that
//! all others are compared with.

pub mod agreement;
pub mod error;
pub mod hand;
pub mod options;
pub mod prepare;
pub mod random;
pub mod table;
pub mod tool;
pub mod workload;

pub use error::Error;

use serde_json::Value;

use agreement::TOLERANCE;
use table::{Peak, Row, Times, median};
use tool::{Conversation, Tool};
use workload::Workload;

/// How often each function is to run at least, and how many seconds all its runs are to take together at least.
#[derive(Clone, Copy, Debug)]
pub struct Repetition {
    /// Runs.
    pub runs: u64,
    /// Seconds.
    pub seconds: f64,
}

/// What a comparison found.
#[derive(Debug, Default)]
pub struct Report {
    /// A row for each workload.
    pub rows: Vec<Row>,
    /// Memory of the tools for each problem.
    pub peaks: Vec<Peak>,
    /// What went wrong, disagreement among it.
    pub errors: Vec<Error>,
}

/// Sends each workload to each tool. `told` hears of a workload before it is sent.
#[must_use]
pub fn compare(
    tools: &[Tool],
    workloads: &[Workload],
    repetition: Repetition,
    told: &mut dyn FnMut(&Workload),
) -> Report {
    let mut report = Report::default();
    for of_problem in workloads.chunk_by(|a, b| a.problem == b.problem) {
        let problem = of_problem[0].problem;
        let mut conversations: Vec<_> = tools
            .iter()
            .map(|tool| kept(Conversation::start(tool, problem), &mut report.errors).flatten())
            .collect();
        for workload in of_problem {
            told(workload);
            report.rows.push(row(&mut conversations, workload, repetition, &mut report.errors));
        }
        let kilobytes = conversations.iter().map(|c| c.as_ref().and_then(Conversation::peak)).collect();
        report.peaks.push(Peak { problem, kilobytes });
        for conversation in conversations.into_iter().flatten() {
            kept(conversation.end(), &mut report.errors);
        }
    }
    report
}

/// What there is; an error goes to the others.
fn kept<T>(result: Result<T, Error>, errors: &mut Vec<Error>) -> Option<T> {
    result.map_err(|error| errors.push(error)).ok()
}

/// The row of a workload. Conversations that end are gone afterwards.
fn row(
    conversations: &mut [Option<Conversation>],
    workload: &Workload,
    repetition: Repetition,
    errors: &mut Vec<Error>,
) -> Row {
    let mut input = workload.input();
    if let Value::Object(fields) = &mut input {
        fields.insert("min_runs".into(), repetition.runs.into());
        fields.insert("min_seconds".into(), repetition.seconds.into());
    }
    let mut times = vec![[None; 2]; conversations.len()];
    let mut difference: Option<f64> = None;
    for (which, function) in workload.functions.into_iter().enumerate() {
        let mut expected: Option<Value> = None;
        for (conversation, times) in conversations.iter_mut().zip(&mut times) {
            let Some(there) = conversation else { continue };
            let answer = match there.evaluate(workload, function, &input) {
                Ok(answer) => answer,
                Err(error) => {
                    if error.ends() {
                        *conversation = None;
                    }
                    errors.push(error);
                    continue;
                }
            };
            times[which] = median(&answer.nanoseconds);
            let Some(expected) = &expected else {
                expected = Some(answer.output);
                continue;
            };
            let disagrees = |place, reason| Error::Disagrees {
                tool: there.tool.clone(),
                problem: workload.problem,
                workload: workload.name.clone(),
                function,
                place,
                reason,
            };
            match agreement::compared(&answer.output, expected) {
                Ok(worst) => {
                    if worst.difference > TOLERANCE {
                        errors.push(disagrees(
                            worst.place,
                            format!("a difference of {:.1e}", worst.difference),
                        ));
                    }
                    difference = Some(difference.map_or(worst.difference, |d| d.max(worst.difference)));
                }
                Err(mismatch) => errors.push(disagrees(mismatch.place, mismatch.reason)),
            }
        }
    }
    let times = times.into_iter().map(|[value, derivative]| Times { value, derivative }).collect();
    Row { problem: workload.problem, workload: workload.name.clone(), times, difference }
}
