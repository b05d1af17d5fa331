//! The problems of [GradBench](https://github.com/gradbench/gradbench) as kernels of array-dsl, and the protocol by which it asks for
//! them.
//!
//! Each problem has a file: its mathematics, its kernels, and `task`, which reads the input of one of its functions and gives what runs
//! it. `input`, `output` and `task` are what the problems share; `protocol` answers messages; `compare` sends them, to compare this with
//! other tools.

pub mod ba;
pub mod compare;
pub mod descent;
pub mod det;
pub mod error;
pub mod gmm;
pub mod hello;
pub mod ht;
pub mod input;
pub mod kmeans;
pub mod llsq;
pub mod lse;
pub mod lstm;
pub mod ode;
pub mod output;
pub mod particle;
pub mod protocol;
pub mod saddle;
pub mod task;

pub use error::Error;
pub use task::Task;

use serde_json::Value;

/// What reads the input of a problem's function, which it takes by name.
pub type Module = fn(&str, Value) -> Result<Task, Error>;

/// The problem of this name.
///
/// # Errors
/// There may be none.
pub fn module(name: &str) -> Result<Module, Error> {
    Ok(match name {
        "ba" => ba::task,
        "det" => det::task,
        "gmm" => gmm::task,
        "hello" => hello::task,
        "ht" => ht::task,
        "kmeans" => kmeans::task,
        "llsq" => llsq::task,
        "lse" => lse::task,
        "lstm" => lstm::task,
        "ode" => ode::task,
        "particle" => particle::task,
        "saddle" => saddle::task,
        _ => return Err(Error::UnknownModule(name.into())),
    })
}
