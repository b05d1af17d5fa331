//! A tool, and a conversation with it about one problem.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Error, workload::Workload};

/// What starts the program for a problem, if there is one.
pub type Start = dyn Fn(&str) -> Option<Command>;

/// A program that speaks GradBench's protocol, or one for each problem.
pub struct Tool {
    /// What it is called.
    pub name: String,
    /// How it is started, with its problem; it may not have one of this name.
    pub command: Box<Start>,
}

impl Tool {
    /// A tool that is one program for all problems.
    #[must_use]
    pub fn program(name: &str, program: PathBuf, arguments: Vec<String>) -> Self {
        let command = move |_: &str| {
            let mut command = Command::new(&program);
            command.args(&arguments);
            Some(command)
        };
        Self { name: name.into(), command: Box::new(command) }
    }
}

/// A tool that was started and has the problem.
pub struct Conversation {
    /// The tool's name.
    pub tool: String,
    problem: &'static str,
    process: Process,
    asks: ChildStdin,
    hears: BufReader<ChildStdout>,
    next: i64,
}

/// What a tool answered to a workload.
pub struct Answer {
    /// The output.
    pub output: Value,
    /// How long each run took.
    pub nanoseconds: Vec<u64>,
}

/// A process that does not outlive this.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It is gone already unless a conversation broke off.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[derive(Deserialize)]
struct Response {
    id: i64,
    #[serde(default)]
    success: bool,
    #[serde(default)]
    output: Option<Value>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    timings: Vec<Timing>,
}

#[derive(Deserialize)]
struct Timing {
    name: String,
    nanoseconds: u64,
}

impl Conversation {
    /// Starts a tool; there is no conversation if it does not have the problem.
    ///
    /// # Errors
    /// It may not start, or not answer as the protocol says.
    pub fn start(tool: &Tool, problem: &'static str) -> Result<Option<Self>, Error> {
        let Some(mut command) = (tool.command)(problem) else { return Ok(None) };
        let program = PathBuf::from(command.get_program());
        let start = |source| Error::Start { what: format!("{}: {problem}", tool.name), program, source };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map(Process).map_err(start)?;
        let (asks, hears) = match (process.0.stdin.take(), process.0.stdout.take()) {
            (Some(asks), Some(hears)) => (asks, BufReader::new(hears)),
            _ => {
                return Err(Error::Conversation {
                    tool: tool.name.clone(),
                    at: problem.into(),
                    reason: "its standard input and output are not pipes".into(),
                });
            }
        };
        let mut it = Self { tool: tool.name.clone(), problem, process, asks, hears, next: 0 };
        it.ask(json!({"kind": "start", "eval": problem}), problem)?;
        let defined = it.ask(json!({"kind": "define", "module": problem}), problem)?;
        Ok(defined.success.then_some(it))
    }

    /// The answer to a function of a workload, whose input this is.
    ///
    /// # Errors
    /// The tool may refuse it, or not answer as the protocol says.
    pub fn evaluate(
        &mut self,
        workload: &Workload,
        function: &'static str,
        input: &Value,
    ) -> Result<Answer, Error> {
        let message = json!({
            "kind": "evaluate",
            "module": self.problem,
            "function": function,
            "input": input,
            "description": workload.name,
        });
        let response = self.ask(message, &workload.at(function))?;
        let refused =
            |reason: String| Error::Refused { tool: self.tool.clone(), at: workload.at(function), reason };
        if !response.success {
            return Err(refused(response.error.unwrap_or_else(|| "it says no reason".into())));
        }
        let output = response.output.ok_or_else(|| refused("a success without an output".into()))?;
        let runs = response.timings.into_iter().filter(|t| t.name == "evaluate");
        Ok(Answer { output, nanoseconds: runs.map(|t| t.nanoseconds).collect() })
    }

    /// The response to a message, which gets the next number.
    fn ask(&mut self, mut message: Value, at: &str) -> Result<Response, Error> {
        let id = self.next;
        self.next += 1;
        message["id"] = id.into();
        let tool = &self.tool;
        let broken = |reason| Error::Conversation { tool: tool.clone(), at: at.into(), reason };
        let mut line = Vec::new();
        let heard = serde_json::to_writer(&mut line, &message)
            .map_err(io::Error::from)
            .and_then(|()| {
                line.push(b'\n');
                self.asks.write_all(&line)
            })
            .and_then(|()| {
                self.asks.flush()?;
                line.clear();
                self.hears.read_until(b'\n', &mut line)
            });
        let ended =
            |process: &mut Process| broken(format!("it ended before it answered{}", process.status()));
        match heard {
            Ok(0) => Err(ended(&mut self.process)),
            // The same, if it ended before it was asked.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ended(&mut self.process)),
            Ok(_) => match serde_json::from_slice::<Response>(&line) {
                Ok(response) if response.id == id => Ok(response),
                Ok(response) => Err(broken(format!("message {id} is answered as {}", response.id))),
                Err(error) => Err(broken(format!("what it answers is no response: {error}"))),
            },
            Err(error) => Err(broken(format!("{error}{}", self.process.status()))),
        }
    }

    /// How many kilobytes the tool has held at most, where the system tells.
    #[must_use]
    pub fn peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Ends the conversation, upon which the tool ends.
    ///
    /// # Errors
    /// It may end with a failure.
    pub fn end(self) -> Result<(), Error> {
        let Self { tool, problem, mut process, asks, .. } = self;
        drop(asks);
        let failed = |reason| Error::Conversation { tool, at: problem.into(), reason };
        match process.0.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("it ended with {status}"))),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

impl Process {
    /// How it ended, to be said after something else.
    fn status(&mut self) -> String {
        self.0.wait().map(|status| format!(" ({status})")).unwrap_or_default()
    }
}
