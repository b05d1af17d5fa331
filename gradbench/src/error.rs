//! What can be wrong with a question.

/// Why a question has no answer.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no such problem.
    #[error("there is no module `{0}`")]
    UnknownModule(String),
    /// The problem has no such function.
    #[error("module `{module}` has no function `{function}`")]
    UnknownFunction {
        /// The problem.
        module: &'static str,
        /// What was asked for.
        function: String,
    },
    /// The input, or a part of it, is not an object.
    #[error("{0} is not an object")]
    NotAnObject(String),
    /// A field of the input is not there.
    #[error("field `{0}` is missing")]
    Missing(String),
    /// A field of the input has another type.
    #[error("field `{field}`: {source}")]
    Type {
        /// Its name, with those of what it is in.
        field: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The input of a problem without fields has another type.
    #[error("the input: {0}")]
    Input(#[source] serde_json::Error),
    /// A field of the input has another length.
    #[error("field `{field}` has length {found}, expected {expected}")]
    Length {
        /// Its name, with those of what it is in.
        field: String,
        /// Its length.
        found: usize,
        /// What the length of others asks for.
        expected: usize,
    },
    /// A field of the input has a value that the problem does not admit.
    #[error("field `{field}` is {found}, expected {expected}")]
    Value {
        /// Its name, with those of what it is in.
        field: String,
        /// Its value.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A kernel did not run.
    #[error(transparent)]
    Kernel(#[from] array_dsl::Error),
}
