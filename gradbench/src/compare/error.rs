//! What can be wrong with a comparison.

use std::io;
use std::path::PathBuf;

/// Why a tool, or a workload of a tool, could not be compared, or that it disagrees.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The arguments are none.
    #[error("{0}")]
    Usage(String),
    /// A program could not be started.
    #[error("{what}: `{}` does not start: {source}", program.display())]
    Start {
        /// What it was to do.
        what: String,
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program that prepares a tool failed.
    #[error("{what}: `{}` failed ({status})", program.display())]
    Failed {
        /// What it was to do.
        what: String,
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: String,
    },
    /// A file or a folder could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A conversation with a tool broke off.
    #[error("{tool}: {at}: {reason}")]
    Conversation {
        /// The tool.
        tool: String,
        /// The problem, with the workload and its function if one was asked for.
        at: String,
        /// What happened.
        reason: String,
    },
    /// A tool refused a workload.
    #[error("{tool}: {at}: {reason}")]
    Refused {
        /// The tool.
        tool: String,
        /// The problem, the workload and its function.
        at: String,
        /// What the tool said.
        reason: String,
    },
    /// A tool answered something else than the first one.
    #[error("{tool}: {at}: {place}: {reason}")]
    Disagrees {
        /// The tool.
        tool: String,
        /// The problem, the workload and its function.
        at: String,
        /// Where in the output.
        place: String,
        /// What is different.
        reason: String,
    },
}

impl Error {
    /// Whether the conversation in which it happened cannot go on.
    #[must_use]
    pub fn ends(&self) -> bool {
        matches!(self, Self::Conversation { .. })
    }
}
