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
use tool::{Answer, Conversation, Tool};
use workload::Workload;

/// How often each function is to run at least, and how many seconds all its runs are to take together at least, unless they are very many.
#[derive(Clone, Copy, Debug)]
pub struct Repetition {
    /// Runs.
    pub runs: u64,
    /// Seconds.
    pub seconds: f64,
}

/// More runs of one function tell nothing more, while the list of their times needs memory.
const MOST_RUNS: u64 = 1000;

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
    let mut times = vec![[None; 2]; conversations.len()];
    let mut difference: Option<f64> = None;
    for (which, function) in workload.functions.into_iter().enumerate() {
        let mut expected: Option<Value> = None;
        for (conversation, times) in conversations.iter_mut().zip(&mut times) {
            let Some(there) = conversation else { continue };
            let answer = match measured(there, workload, function, &mut input, repetition) {
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
            let found = agreement::compared(&answer.output, expected);
            if let Ok(worst) = &found {
                difference = Some(difference.map_or(worst.difference, |d| d.max(worst.difference)));
            }
            let (place, reason) = match found {
                Ok(worst) if worst.difference <= TOLERANCE => continue,
                Ok(worst) => (worst.place, format!("a difference of {:.1e}", worst.difference)),
                Err(mismatch) => (mismatch.place, mismatch.reason),
            };
            let place = match &place[..] {
                "" => "the output".into(),
                part => format!("`{part}` of the output"),
            };
            let tool = there.tool.clone();
            errors.push(Error::Disagrees { tool, at: workload.at(function), place, reason });
        }
    }
    let times = times.into_iter().map(|[value, derivative]| Times { value, derivative }).collect();
    Row { problem: workload.problem, workload: workload.name.clone(), times, difference }
}

/// The answer to the least number of runs, or, where these take less time than they are to take, to as many as do.
fn measured(
    conversation: &mut Conversation,
    workload: &Workload,
    function: &'static str,
    input: &mut Value,
    repetition: Repetition,
) -> Result<Answer, Error> {
    let mut ask = |runs: u64| {
        input["min_runs"] = runs.into();
        input["min_seconds"] = 0.into();
        conversation.evaluate(workload, function, input)
    };
    let first = ask(repetition.runs)?;
    let Some(nanoseconds) = median(&first.nanoseconds) else { return Ok(first) };
    let runs = ((repetition.seconds * 1e9 / nanoseconds.max(1.0)) as u64).min(MOST_RUNS);
    if runs > repetition.runs { ask(runs) } else { Ok(first) }
}
