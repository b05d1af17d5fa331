//! What the programs of the gallery have as their `main`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The `main` of a program `name`: reads the command line, runs the program, and tells its error in a sentence.
pub fn main(name: &str, run: impl FnOnce(&Path) -> Result<(), Box<dyn Error>>) -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let out = match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, ..) => PathBuf::from(format!("{name}.png")),
        (Some("--out"), Some(file), None) => PathBuf::from(file),
        (Some("--help" | "-h"), None, _) => {
            println!("Usage: {name} [--out FILE.png]");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("Usage: {name} [--out FILE.png]");
            return ExitCode::from(2);
        }
    };
    match run(&out) {
        Ok(()) => {
            println!("picture: {}", out.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An error with the sentence `message` unless `holds`: how programs check their own results.
///
/// # Errors
/// With `message`.
pub fn require(holds: bool, message: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if holds { Ok(()) } else { Err(message.into().into()) }
}
