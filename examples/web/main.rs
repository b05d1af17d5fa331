//! The page that trains in the browser: serves it on the loopback, or opens it in a Chromium and compares what comes out.
//!
//! ```text
//! examples/web/web.sh          # builds the page and serves it
//! examples/web/web.sh test     # builds it and opens it in a Chromium without a window
//! ```
//!
//! The page itself is `examples/web/page`.

mod browser;
mod compare;
#[path = "../digits/cpu.rs"]
#[allow(dead_code, reason = "the example `digits` uses the rest")]
mod cpu;
#[path = "../digits/data.rs"]
mod data;
#[path = "../digits/network.rs"]
#[allow(dead_code, reason = "the page uses the rest")]
mod network;
#[path = "../digits/parameters.rs"]
mod parameters;
mod picture;
#[path = "../digits/random.rs"]
mod random;
mod server;
#[path = "../digits/train.rs"]
#[allow(dead_code, reason = "the example `digits` uses the rest")]
mod train;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::server::Server;

/// The port that people look at.
const PORT: u16 = 8080;
/// The steps whose losses are compared.
const STEPS: usize = 60;

const HELP: &str = "\
Usage: web serve FOLDER
       web test FOLDER CHROMIUM SCREENSHOT

FOLDER is that of the built page: see examples/web/web.sh.
";

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let done = match &arguments[..] {
        [what, folder] if what.as_os_str() == "serve" => serve(folder),
        [what, folder, chromium, picture] if what.as_os_str() == "test" => test(folder, chromium, picture),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("web: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(folder: &Path) -> Result<(), Box<dyn Error>> {
    let server = Server::start(folder, PORT).map_err(|e| format!("port {PORT}: {e}"))?;
    println!("http://127.0.0.1:{}/", server.port());
    loop {
        std::thread::park();
    }
}

fn test(folder: &Path, chromium: &Path, picture: &Path) -> Result<(), Box<dyn Error>> {
    let server = Server::start(folder, 0)?;
    let address = format!("http://127.0.0.1:{}/?test={STEPS}", server.port());
    browser::photograph(chromium, &address, picture)?;
    let posted = server.posted().ok_or("the page was loaded, but has posted nothing")?;
    compare::all(&posted, picture, STEPS)
}
