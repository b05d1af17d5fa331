//! A function of a problem together with its input.

use crate::{Error, output::Output};

/// What runs a function of a problem on an input that is read already, as often as one likes.
pub struct Task(Box<dyn Fn() -> Result<Box<dyn Output>, Error>>);

impl Task {
    /// What runs this.
    pub fn new<T: Output + 'static, E: Into<Error>>(run: impl Fn() -> Result<T, E> + 'static) -> Self {
        Self(Box::new(move || match run() {
            Ok(output) => Ok(Box::new(output)),
            Err(error) => Err(error.into()),
        }))
    }

    /// Runs it; the result is not yet JSON.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn run(&self) -> Result<Box<dyn Output>, Error> {
        self.0()
    }
}

/// That a problem has no such function.
pub(crate) fn unknown(module: &'static str, function: &str) -> Error {
    Error::UnknownFunction { module, function: function.into() }
}
