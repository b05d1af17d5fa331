//! Lists the GPU adapters of this machine with what they have, and says which one `Gpu::new` picks. Fails when it finds none to use.

use std::process::ExitCode;

use array_dsl::prelude::Gpu;

fn main() -> ExitCode {
    for info in Gpu::list() {
        println!("found: {info}");
        match Gpu::with_adapter(&info) {
            Ok(gpu) => println!("       {}", gpu.limits()),
            Err(error) => println!("       {error}"),
        }
    }
    match Gpu::new() {
        Ok(gpu) => {
            println!("picked: {}", gpu.info());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("no adapter to use: {error}");
            ExitCode::FAILURE
        }
    }
}
