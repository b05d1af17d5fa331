//! Compares this package's tool with others on GradBench's problems: `benches/peers/README.md` says how.

use std::process::ExitCode;

use array_dsl_gradbench::compare::{Error, compare, options::Options, prepare, table, workload};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all went well.
fn run() -> Result<bool, Error> {
    let options = Options::read(std::env::args().skip(1))?;
    let tools = prepare::tools(&options)?;
    let mut workloads = workload::all(options.quick);
    workloads.retain(|workload| options.only.contains(&workload.problem));
    let report = compare(&tools, &workloads, options.repetition(), &mut |workload| {
        eprintln!("{} {}", workload.problem, workload.name);
    });
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    println!("{}\n{}", table::times(&names, &report.rows), table::memory(&names, &report.peaks));
    for error in &report.errors {
        eprintln!("compare: {error}");
    }
    Ok(report.errors.is_empty())
}
