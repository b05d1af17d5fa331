//! The tool `gradbench`: answers GradBench's messages on the standard input, with kernels of array-dsl.
//!
//! `gradbench [--threads N]` uses one thread unless it is told otherwise.

use std::io::{self, BufReader};
use std::process::ExitCode;

use array_dsl_gradbench::protocol::{ProtocolError, serve};

const USAGE: &str = "usage: gradbench [--threads N]";

fn main() -> ExitCode {
    match threads(std::env::args().skip(1)).and_then(answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("gradbench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// How many threads the arguments ask for.
fn threads(mut arguments: impl Iterator<Item = String>) -> Result<usize, String> {
    let mut threads = 1;
    while let Some(argument) = arguments.next() {
        let number = match argument.strip_prefix("--threads") {
            Some("") => arguments.next().ok_or(USAGE)?,
            Some(rest) => rest.strip_prefix('=').ok_or(USAGE)?.to_owned(),
            None => return Err(USAGE.into()),
        };
        threads = number
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| format!("`--threads {number}`: expected a number of threads, at least 1"))?;
    }
    Ok(threads)
}

/// Answers messages on so many threads. That nobody reads the answers any more is an ordinary end.
fn answer(threads: usize) -> Result<(), String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| e.to_string())?;
    match pool.install(|| serve(BufReader::new(io::stdin()), io::stdout(), threads)) {
        Err(ProtocolError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|e| e.to_string()),
    }
}
