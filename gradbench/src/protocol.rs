//! GradBench's protocol: messages and responses are objects in JSON, one a line, each message has one response.
//!
//! What is wrong with a question (`define`, `evaluate`) is an answer; what is wrong with the conversation itself ends it.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Error, Task, module};

/// Why a conversation ended before its end.
#[derive(thiserror::Error, Debug)]
pub enum ProtocolError {
    /// A line is no message.
    #[error("line {line} is not a message: {source}")]
    Malformed {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A message lacks what its kind has.
    #[error("line {line}: a message of kind `{kind}` has a field `{field}`")]
    Lacking {
        /// The line's number, from 1.
        line: u64,
        /// The message's kind.
        kind: String,
        /// What it lacks.
        field: &'static str,
    },
    /// A response could not be written as JSON.
    #[error("a response cannot be written: {0}")]
    Unwritable(#[source] serde_json::Error),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A message; which fields it has depends on its kind.
#[derive(Deserialize)]
struct Message {
    id: i64,
    kind: String,
    module: Option<String>,
    function: Option<String>,
    /// Which may be `null`.
    #[serde(default, deserialize_with = "there")]
    input: Option<Value>,
}

fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// A response; which fields it has depends on the message.
#[derive(Serialize, Default)]
struct Response {
    id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<Vec<Timing>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// How long one run took.
#[derive(Serialize)]
struct Timing {
    name: &'static str,
    nanoseconds: u64,
}

/// Answers messages until there are no more.
///
/// # Errors
/// A line may be no message, and reading and writing may fail.
pub fn serve(
    mut messages: impl BufRead,
    mut responses: impl Write,
    threads: usize,
) -> Result<(), ProtocolError> {
    let mut text = Vec::new();
    let mut line = 0;
    loop {
        text.clear();
        if messages.read_until(b'\n', &mut text)? == 0 {
            return Ok(());
        }
        line += 1;
        let message: Message =
            serde_json::from_slice(&text).map_err(|source| ProtocolError::Malformed { line, source })?;
        let response = respond(message, line, threads)?;
        let mut written = serde_json::to_vec(&response).map_err(ProtocolError::Unwritable)?;
        written.push(b'\n');
        responses.write_all(&written)?;
        responses.flush()?;
    }
}

fn respond(message: Message, line: u64, threads: usize) -> Result<Response, ProtocolError> {
    let Message { id, kind, module: name, function, input } = message;
    let lacking = |field| ProtocolError::Lacking { line, kind: kind.clone(), field };
    let response = Response { id, ..Response::default() };
    Ok(match kind.as_str() {
        "start" => Response {
            tool: Some("array-dsl"),
            config: Some(serde_json::json!({"threads": threads})),
            ..response
        },
        "define" => match module(&name.ok_or_else(|| lacking("module"))?) {
            Ok(_) => Response { success: Some(true), ..response },
            Err(error) => failed(response, &error),
        },
        "evaluate" => {
            let name = name.ok_or_else(|| lacking("module"))?;
            let function = function.ok_or_else(|| lacking("function"))?;
            match evaluate(&name, &function, input.ok_or_else(|| lacking("input"))?) {
                Ok((output, timings)) => {
                    Response { success: Some(true), output: Some(output), timings: Some(timings), ..response }
                }
                Err(error) => failed(response, &error),
            }
        }
        _ => response,
    })
}

fn failed(response: Response, error: &Error) -> Response {
    Response { success: Some(false), error: Some(error.to_string()), ..response }
}

/// The last run's output, and how long each run took.
fn evaluate(name: &str, function: &str, input: Value) -> Result<(Value, Vec<Timing>), Error> {
    let problem = module(name)?;
    let repetition = Repetition::read(&input)?;
    repetition.measure(&problem(function, input)?)
}

/// How often a function is to run.
struct Repetition {
    runs: u64,
    seconds: f64,
}

impl Repetition {
    /// What an input says; an input that says nothing asks for one run.
    fn read(input: &Value) -> Result<Self, Error> {
        fn field<T: for<'de> Deserialize<'de>>(input: &Value, name: &str, else_: T) -> Result<T, Error> {
            let Some(value) = input.get(name) else { return Ok(else_) };
            T::deserialize(value).map_err(|source| Error::Type { field: name.into(), source })
        }
        Ok(Self { runs: field(input, "min_runs", 1)?, seconds: field(input, "min_seconds", 0.0)? })
    }

    /// Runs until there are enough runs and they took enough time. What comes of a run is written and dropped outside of its time.
    fn measure(&self, task: &Task) -> Result<(Value, Vec<Timing>), Error> {
        let mut timings = Vec::new();
        let mut elapsed = Duration::ZERO;
        loop {
            let start = Instant::now();
            let output = task.run()?;
            let time = start.elapsed();
            elapsed += time;
            let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            timings.push(Timing { name: "evaluate", nanoseconds });
            let more = (timings.len() as u64) < self.runs || elapsed.as_secs_f64() < self.seconds;
            if !more {
                return Ok((output.json(), timings));
            }
        }
    }
}
