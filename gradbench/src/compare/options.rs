//! The arguments of `compare`.

use std::path::PathBuf;

use super::{Error, Repetition};

/// What they can be.
pub const USAGE: &str = "\
usage: compare [--threads N] [--only PROBLEM,..] [--peers jax,manual] [--venv DIR] [--quick]
  --threads N      threads of each tool; 1 unless told otherwise
  --only PROBLEM,.. the problems, of llsq, lse, ode, det, gmm, ba, ht, lstm, kmeans; all unless told otherwise
  --peers PEER,..  the tools to compare with, of jax, manual; both unless told otherwise
  --venv DIR       a virtual environment of Python that has JAX; one is made beside this program unless told otherwise
  --quick          small workloads, few runs";

/// The problems, in the order of GradBench.
pub const PROBLEMS: [&str; 9] = ["llsq", "lse", "ode", "det", "gmm", "ba", "ht", "lstm", "kmeans"];

/// The tools that there are to compare with.
pub const PEERS: [&str; 2] = ["jax", "manual"];

/// What they ask for.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// Threads of each tool.
    pub threads: usize,
    /// The problems.
    pub only: Vec<&'static str>,
    /// The tools to compare with.
    pub peers: Vec<&'static str>,
    /// The virtual environment, unless one is to be made.
    pub venv: Option<PathBuf>,
    /// Small workloads, few runs.
    pub quick: bool,
}

impl Options {
    /// What these arguments ask for.
    ///
    /// # Errors
    /// They may be wrong.
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut options =
            Self { threads: 1, only: PROBLEMS.into(), peers: PEERS.into(), venv: None, quick: false };
        while let Some(argument) = arguments.next() {
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            if name == "--quick" && inline.is_none() {
                options.quick = true;
                continue;
            }
            if !["--threads", "--only", "--peers", "--venv"].contains(&name.as_str()) {
                return Err(Error::Usage(format!("no argument is `{name}`\n{USAGE}")));
            }
            let Some(value) = inline.or_else(|| arguments.next()) else {
                return Err(Error::Usage(format!("`{name}` wants a value\n{USAGE}")));
            };
            match name.as_str() {
                "--threads" => options.threads = threads(&value)?,
                "--only" => options.only = some_of(&name, &value, &PROBLEMS)?,
                "--peers" => options.peers = some_of(&name, &value, &PEERS)?,
                _ => options.venv = Some(value.into()),
            }
        }
        Ok(options)
    }

    /// How often functions run.
    #[must_use]
    pub fn repetition(&self) -> Repetition {
        if self.quick { Repetition { runs: 3, seconds: 0.05 } } else { Repetition { runs: 5, seconds: 1.0 } }
    }
}

fn threads(value: &str) -> Result<usize, Error> {
    value
        .parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| Error::Usage(format!("`--threads {value}`: expected a number of threads, at least 1")))
}

/// Names of those that there are, in their order.
fn some_of(option: &str, value: &str, all: &[&'static str]) -> Result<Vec<&'static str>, Error> {
    let asked: Vec<&str> = value.split(',').filter(|name| !name.is_empty()).collect();
    match asked.iter().find(|name| !all.contains(name)) {
        Some(wrong) => {
            Err(Error::Usage(format!("`{option} {value}`: there is no `{wrong}`, only {}", all.join(", "))))
        }
        None => Ok(all.iter().copied().filter(|name| asked.contains(name)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Options, String> {
        Options::read(arguments.iter().map(|a| (*a).to_owned())).map_err(|e| e.to_string())
    }

    #[test]
    fn arguments() {
        let all =
            Options { threads: 1, only: PROBLEMS.into(), peers: PEERS.into(), venv: None, quick: false };
        assert_eq!(read(&[]), Ok(all));
        let some = Options {
            threads: 4,
            only: vec!["lse", "gmm"],
            peers: vec![],
            venv: Some("there".into()),
            quick: true,
        };
        assert_eq!(
            read(&["--threads=4", "--only", "gmm,lse", "--peers", "", "--venv=there", "--quick"]),
            Ok(some)
        );
    }

    #[test]
    fn wrong_arguments() {
        for (arguments, error) in [
            (&["--fast"][..], "no argument is `--fast`"),
            (&["--quick=1"], "no argument is `--quick`"),
            (&["--only"], "`--only` wants a value"),
            (&["--only", "lse,x"], "`--only lse,x`: there is no `x`, only llsq, lse"),
            (&["--threads", "0"], "`--threads 0`: expected a number"),
        ] {
            let found = read(arguments).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
