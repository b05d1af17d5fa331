//! Prints what passes make of a program: `cargo run -p array-dsl-compiler --example pass -- "flatten, optimize, grad" < file`.
//!
//! The text is a kernel in the language, Core or Bulk. With `--each` it is printed after every pass. Where a pass breaks a rule of its
//! IR, the errors are printed with the program that has them. `testing::passes` lists the passes; without arguments their names
//! are printed.

use std::io::Read;
use std::process::ExitCode;

use array_dsl_compiler::testing::passes::{Stage, names};

fn run(passes: &str, each: bool) -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    let mut stage = Stage::read(&text)?;
    let passes: Vec<&str> = passes.split(',').map(str::trim).filter(|p| !p.is_empty()).collect();
    for pass in &passes {
        if each {
            println!("{stage}\n== {pass} ==");
        }
        stage = stage.then(pass)?;
    }
    println!("{stage}\n{}", stage.counts());
    Ok(())
}

fn main() -> ExitCode {
    let (options, passes): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let [passes] = &passes[..] else {
        println!("usage: pass [--each] \"pass, pass, ..\" < file\npasses: {}", names().join(", "));
        return ExitCode::FAILURE;
    };
    match run(passes, options.iter().any(|o| o == "--each")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
