//! The tools: this package's own, and those of `benches/peers`, which are compiled and whose packages are installed beside this program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::options::Options;
use super::{Error, tool::Tool};

/// Where the sources are.
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/peers");

/// How a C++ compiler is told to do its best. Without the last one it would not vectorize sums and exponentials.
const OPTIMIZED: [&str; 5] = ["-std=c++17", "-O3", "-march=native", "-fopenmp", "-ffast-math"];

/// The problems that have a program in C++.
const MANUAL: [&str; 6] = ["llsq", "lse", "det", "gmm", "ba", "lstm"];

/// All tools that are asked for, this package's own first.
///
/// # Errors
/// A program may not be there, or fail.
pub fn tools(options: &Options) -> Result<Vec<Tool>, Error> {
    let this = std::env::current_exe().map_err(|source| Error::File { path: "compare".into(), source })?;
    let threads = vec!["--threads".to_owned(), options.threads.to_string()];
    let mut tools = vec![Tool::program("array-dsl", own(&this)?, threads.clone())];
    let built = this.with_file_name("peers");
    for peer in &options.peers {
        tools.push(if *peer == "jax" {
            let python = python(options.venv.as_deref(), &built.join("venv"))?;
            let program = Path::new(PEERS).join("jax_peer.py").display().to_string();
            Tool::program("jax", python, [vec![program], threads.clone()].concat())
        } else {
            manual(&built.join("manual"), &options.only, threads.clone())?
        });
    }
    Ok(tools)
}

/// Our tool, which is beside this one; cargo brings it up to date if it runs this one.
fn own(this: &Path) -> Result<PathBuf, Error> {
    let program = this.with_file_name(format!("gradbench{}", std::env::consts::EXE_SUFFIX));
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args([
            "build",
            "--quiet",
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ]);
        build.args(["--bin", "gradbench"]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        succeed("array-dsl: building it", &mut build)?;
    }
    if program.is_file() {
        return Ok(program);
    }
    let source = std::io::Error::new(
        std::io::ErrorKind::NotFound,
        "our own tool is not there: `cargo build --release -p array-dsl-gradbench` builds it",
    );
    Err(Error::File { path: program, source })
}

/// That a program ends with success. What it writes goes to the standard error.
fn succeed(what: &str, command: &mut Command) -> Result<(), Error> {
    let program = PathBuf::from(command.get_program());
    let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Failed { what: what.into(), program, status: status.to_string() }),
        Err(source) => Err(Error::Start { what: what.into(), program, source }),
    }
}

/// The interpreter of a virtual environment that has JAX: the one that is given, else one that is made where it is to be.
fn python(given: Option<&Path>, made: &Path) -> Result<PathBuf, Error> {
    let of = |venv: &Path| venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let imports = |python: &Path| {
        let mut import = Command::new(python);
        import.args(["-c", "import jax, numpy"]);
        import
    };
    if let Some(venv) = given {
        let python = of(venv);
        succeed("jax: importing it", &mut imports(&python))?;
        return Ok(python);
    }
    let python = of(made);
    if !python.is_file() {
        succeed("jax: making a virtual environment", Command::new("python3").args(["-m", "venv"]).arg(made))?;
    }
    let there = imports(&python).stdin(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        succeed("jax: installing it", install.arg(Path::new(PEERS).join("requirements.txt")))?;
    }
    Ok(python)
}

/// The programs in C++, one for each problem, compiled to a folder where they are not newer than their sources.
fn manual(folder: &Path, problems: &[&str], threads: Vec<String>) -> Result<Tool, Error> {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    std::fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.into(), source })?;
    let sources = Path::new(PEERS).join("manual");
    for problem in MANUAL.iter().filter(|problem| problems.contains(problem)) {
        let (source, program) = (sources.join(problem).with_extension("cpp"), folder.join(problem));
        let from = [source.clone(), sources.join("peer.hpp"), sources.join("json.hpp")];
        if !is_newer(&program, &from)? {
            let mut compile = Command::new(&compiler);
            compile.args(OPTIMIZED).arg(&source).arg("-o").arg(&program);
            succeed(&format!("manual: compiling {problem}"), &mut compile)?;
        }
    }
    let folder = folder.to_owned();
    let command = move |problem: &str| {
        MANUAL.contains(&problem).then(|| {
            let mut command = Command::new(folder.join(problem));
            // Threads that wait without sleeping would wait for those that others keep from running.
            command.args(&threads).env("OMP_WAIT_POLICY", "passive");
            command
        })
    };
    Ok(Tool { name: "manual".into(), command: Box::new(command) })
}

/// Whether a program is there and newer than all that it is made from.
fn is_newer(program: &Path, sources: &[PathBuf]) -> Result<bool, Error> {
    let Ok(built) = program.metadata().and_then(|m| m.modified()) else { return Ok(false) };
    for path in sources {
        let changed = path.metadata().and_then(|m| m.modified());
        if changed.map_err(|source| Error::File { path: path.clone(), source })? >= built {
            return Ok(false);
        }
    }
    Ok(true)
}
