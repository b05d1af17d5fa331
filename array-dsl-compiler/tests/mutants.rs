//! Mutants of all kernels of the repository through the whole compiler: see `testing/mutants`.
//!
//! Without arguments this is a test, of a small set that is always the same. A large one:
//!
//! ```text
//! cargo test -p array-dsl-compiler --test mutants --release -- --count 200000 --seed 1
//!     --first k       begin with number k
//!     --crate DIR     write every accepted mutant's code into a crate there, to be compiled, and that of random programs, one
//!                     for each mutant that is tried
//!     --show k        print the mutant of that number, and what becomes of it
//!     --file FILE     print the code of the program there, and what becomes of it
//! ```
//!
//! The last large runs, two processes on 2 cores, about 200 a second together:
//!
//! | seed | mutants | accepted | runs | derivatives | findings |
//! |------|---------|----------|------|-------------|----------|
//! | 2026 | 200,000 | 19,635 | 58,165 | 97,287 | 2: a view of a view; rounding of an iteration that diverges |
//! | 2027 | 200,000 | 19,752 | 58,485 | 98,783 | 9 of 6 kinds: slices in branches, loops without an end, `zeros(())`, sizes beyond 64 bits, two false alarms |
//! | 2028 | 100,000 | 9,743 | 28,879 | 48,498 | 1: the Jacobian of what a filter keeps of a loop's result |
//! | 2029 | 134,000 | 13,369 | | | 1: a false alarm, of an iteration that divides by what is left when it has converged |
//!
//! | 2030 | 200,000 | 19,854 | 58,792 | 99,341 | 1: a loop in a branch in a loop with two levels of checkpoints, 160 s for all its derivatives |
//! | 2031 | 200,000 | 19,891 | 58,872 | 98,883 | 1: a false alarm, of the line of an array that is too large |
//! | 2032 | 200,000 | 19,833 | 58,800 | 99,105 | none |
//!
//! Each was run after what the one before had found was mended (that of 2029, which was ended early, is rounding in the comparison
//! of both modes). The program of 2030 takes 63 s since a proof tries fewer sums of what is known.
//!
//! The mutants are executed in batches by processes of their own, which have limits of time and memory: what ends such a process,
//! or does not end, is a finding like any other.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use array_dsl_compiler::testing::mutants::check::{code, keep_panics, random_code};
use array_dsl_compiler::testing::mutants::{Report, Source, check, corpus, minimize, mutate, tokens};

/// A process executes so many.
const BATCH: u64 = 2000;

/// A mutant may take so long; a test on a slow and busy machine has to pass.
const TIME: Duration = Duration::from_secs(60);

/// The memory of a process, in KiB.
const MEMORY: u64 = 3 << 20;

/// As in rustc.
const STACK: usize = 8 << 20;

/// The test's seed and number of mutants.
const TEST: (u64, u64) = (1, 600);

/// The findings of a kind that are shown.
const SHOWN: usize = 1;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|a| a == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str| option(name).and_then(|n| n.parse::<u64>().ok());
    if arguments.iter().any(|a| a == "--list") {
        println!("mutants: test");
        return ExitCode::SUCCESS;
    }
    let (seed, count) = (number("--seed").unwrap_or(TEST.0), number("--count").unwrap_or(TEST.1));
    let first = number("--first").unwrap_or(0);
    if option("--worker").is_some() {
        return in_thread(move || work(seed, first..first + count));
    }
    if let Some(file) = option("--minimize") {
        let kind = option("--kind").unwrap_or_default();
        return in_thread(move || smallest(Path::new(&file), seed, &kind));
    }
    if let Some(file) = option("--file") {
        return in_thread(move || examine(Path::new(&file), seed));
    }
    if let Some(k) = number("--show") {
        return in_thread(move || show(seed, k));
    }
    if let Some(folder) = option("--crate") {
        return write_crate(seed, first..first + count, Path::new(&folder));
    }
    // A test's name that is not this one's.
    if arguments.first().is_some_and(|a| !a.starts_with('-') && !"mutants".contains(a.as_str())) {
        return ExitCode::SUCCESS;
    }
    run(seed, first..first + count)
}

/// Runs `f` with the stack that a compiler has.
fn in_thread(f: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(f);
    thread.ok().and_then(|t| t.join().ok()).unwrap_or(ExitCode::FAILURE)
}

fn sources() -> Vec<Source> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    corpus(workspace).expect("the repository's files can be read")
}

/// Mutant `k` of a seed.
fn mutant(sources: &[Source], seed: u64, k: u64) -> String {
    let (source, round) = (k as usize % sources.len(), k / sources.len() as u64);
    mutate(&sources[source], sources, seed.wrapping_mul(1 << 32).wrapping_add(round))
}

/// What is wrong with a shader, by naga.
fn validate(wgsl: &str) -> Result<(), String> {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|e| e.to_string())?;
    let capabilities =
        Capabilities::FLOAT64 | Capabilities::SHADER_INT64 | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS;
    let valid = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    valid.map(drop).map_err(|e| e.emit_to_string(wgsl).lines().take(3).collect::<Vec<_>>().join(" "))
}

/// A line of a worker: what became of a mutant. Texts are without line ends.
fn line(k: u64, r: &Report) -> String {
    let mut out = format!("{k} {} {} {} {}", u8::from(r.is_accepted), r.runs.0, r.runs.1, r.derivatives);
    for f in &r.findings {
        out += &format!("\t{}\t{}", f.kind.replace(['\t', '\n'], " "), f.message.replace(['\t', '\n'], " "));
    }
    out
}

fn work(seed: u64, numbers: std::ops::Range<u64>) -> ExitCode {
    keep_panics();
    let sources = sources();
    for k in numbers {
        println!("begin {k}");
        let text = mutant(&sources, seed, k);
        println!("{}", line(k, &check(&text, k, validate)));
    }
    ExitCode::SUCCESS
}

fn show(seed: u64, k: u64) -> ExitCode {
    let sources = sources();
    println!("{}\n// a mutant of\n{}", mutant(&sources, seed, k), sources[k as usize % sources.len()]);
    keep_panics();
    println!("{:?}", check(&mutant(&sources, seed, k), k, validate));
    ExitCode::SUCCESS
}

fn examine(file: &Path, seed: u64) -> ExitCode {
    let Ok(text) = fs::read_to_string(file) else { return ExitCode::FAILURE };
    if let Some(code) = code(&text) {
        println!("{}", tokens::text(&tokens::flat(code)));
    }
    println!("{:?}", check(&text, seed, validate));
    ExitCode::SUCCESS
}

/// Prints the smallest program that shows a kind of finding. `seed` is the mutant's number, which says what its arguments are.
fn smallest(file: &Path, seed: u64, kind: &str) -> ExitCode {
    keep_panics();
    let Ok(text) = fs::read_to_string(file) else { return ExitCode::FAILURE };
    let shows = |source: &str| check(source, seed, validate).findings.iter().any(|f| f.kind == kind);
    let small = minimize(&text, shows);
    println!("{small}");
    for finding in check(&small, seed, validate).findings {
        println!("// {}", finding.message.lines().next().unwrap_or_default());
    }
    ExitCode::SUCCESS
}

/// This program again, with limits, and the lines that it prints.
fn spawn(arguments: &[String]) -> (Child, Receiver<String>) {
    let program = std::env::current_exe().expect("this program has a path");
    // What is not there to set a limit does without.
    let limits = format!("ulimit -v {MEMORY} 2>/dev/null; exec \"$@\"");
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &limits, "sh"]).arg(program);
        shell
    } else {
        Command::new(program)
    };
    let mut child =
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let (send, lines) = channel();
    let out = child.stdout.take().expect("it is piped");
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    (child, lines)
}

#[derive(Default)]
struct Totals {
    mutants: u64,
    accepted: u64,
    runs: u64,
    faults: u64,
    derivatives: u64,
    /// By kind: how many, and the first ones.
    findings: BTreeMap<String, (u64, Vec<(u64, String)>)>,
}

impl Totals {
    fn add(&mut self, kind: &str, k: u64, message: &str) {
        let found = self.findings.entry(kind.into()).or_default();
        found.0 += 1;
        if found.1.len() < SHOWN {
            found.1.push((k, message.into()));
        }
    }

    fn line(&mut self, line: &str) {
        let mut parts = line.split('\t');
        let numbers: Vec<u64> =
            parts.next().unwrap_or_default().split(' ').filter_map(|n| n.parse().ok()).collect();
        let [k, accepted, runs, faults, derivatives] = numbers[..] else { return };
        self.mutants += 1;
        self.accepted += accepted;
        self.runs += runs;
        self.faults += faults;
        self.derivatives += derivatives;
        while let (Some(kind), Some(message)) = (parts.next(), parts.next()) {
            self.add(kind, k, message);
        }
    }
}

/// Executes mutants and says what was found.
fn run(seed: u64, numbers: std::ops::Range<u64>) -> ExitCode {
    let started = Instant::now();
    let sources = sources();
    let mut totals = Totals::default();
    let mut next = numbers.start;
    while next < numbers.end {
        let count = BATCH.min(numbers.end - next);
        let arguments = [
            "--worker",
            "yes",
            "--seed",
            &seed.to_string(),
            "--first",
            &next.to_string(),
            "--count",
            &count.to_string(),
        ];
        let (mut child, lines) = spawn(&arguments.map(String::from));
        let end = next + count;
        // The mutant that is executed now.
        let mut current = None;
        let stopped = loop {
            match lines.recv_timeout(TIME) {
                Ok(line) => match line.strip_prefix("begin ").and_then(|k| k.parse().ok()) {
                    Some(k) => current = Some(k),
                    None => {
                        totals.line(&line);
                        next = current.take().unwrap_or(next) + 1;
                    }
                },
                Err(RecvTimeoutError::Timeout) => break Some("does not end"),
                Err(RecvTimeoutError::Disconnected) if next < end => break Some("ends the process"),
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        // It may have ended by itself.
        drop(child.kill());
        let status = child.wait();
        if let Some(what) = stopped {
            let k = current.unwrap_or(next);
            totals.mutants += 1;
            totals.add(what, k, &status.map_or_else(|e| e.to_string(), |s| s.to_string()));
            next = k + 1;
        }
        if numbers.end - numbers.start > BATCH {
            let found: Vec<String> = totals
                .findings
                .iter()
                .map(|(kind, (n, of))| format!("\n    {n} x {kind}, first {}", of[0].0))
                .collect();
            eprintln!("{} mutants, {} accepted{}", totals.mutants, totals.accepted, found.concat());
        }
    }
    let time = started.elapsed().as_secs_f64();
    println!(
        "seed {seed}, {} sources, {} mutants ({:.0}/s), {} accepted; {} runs, {} of which fail, {} derivatives compared; {} kinds of findings",
        sources.len(),
        totals.mutants,
        totals.mutants as f64 / time,
        totals.accepted,
        totals.runs,
        totals.faults,
        totals.derivatives,
        totals.findings.len()
    );
    let mut kinds: Vec<_> = totals.findings.iter().collect();
    kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (kind, (count, examples)) in kinds {
        println!("\n== {count} x {kind}");
        for (k, message) in examples {
            println!("mutant {k}: {}", message.chars().take(400).collect::<String>());
            println!("{}", minimized(&mutant(&sources, seed, *k), *k, kind));
        }
    }
    let enough = totals.accepted * 20 > totals.mutants
        && totals.runs > totals.accepted
        && totals.derivatives > totals.accepted;
    if totals.findings.is_empty() && enough { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The smallest program with that finding, made by another process; the mutant itself if that takes too long.
fn minimized(text: &str, k: u64, kind: &str) -> String {
    let file = std::env::temp_dir().join(format!("mutant-{}-{k}.rs", std::process::id()));
    if fs::write(&file, text).is_err() {
        return text.into();
    }
    let arguments = ["--minimize", &file.to_string_lossy(), "--seed", &k.to_string(), "--kind", kind];
    let (mut child, lines) = spawn(&arguments.map(String::from));
    let mut out = String::new();
    let end = Instant::now() + TIME;
    let done = loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => out += &(line + "\n"),
            Err(e) => break e == RecvTimeoutError::Disconnected,
        }
    };
    drop((child.kill(), child.wait(), fs::remove_file(&file)));
    if done && !out.trim().is_empty() { out } else { text.into() }
}

/// The modules of a file: more at once take rustc too much memory.
const IN_FILE: usize = 40;

/// Writes the code of accepted mutants into a crate, without what the macro would add to it.
fn write_crate(seed: u64, numbers: std::ops::Range<u64>, folder: &Path) -> ExitCode {
    keep_panics();
    let sources = sources();
    let workspace: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).into();
    let write = |name: &str, text: &str| -> std::io::Result<()> {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::File::create(path)?.write_all(text.as_bytes())
    };
    let manifest = format!(
        "[package]\nname = \"mutants\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\narray-dsl = {{ path = {:?} }}\n",
        workspace.join("array-dsl")
    );
    let (mut root, mut modules, mut made) = (String::from("#![allow(warnings)]\n"), String::new(), 0);
    let mut files = 0;
    for k in numbers {
        let text = mutant(&sources, seed, k);
        let of_mutant = code(&text).map(|code| (format!("m{k}"), text, code));
        let of_random = random_code(k).map(|code| (format!("r{k}"), format!("random program {k}"), code));
        for (name, text, code) in of_mutant.into_iter().chain(of_random) {
            let code = tokens::text(&tokens::flat(code));
            let text = text.replace("*/", "* /").replace("/*", "/ *");
            modules += &format!("/* {text} */\npub mod {name} {{\n{code}\n}}\n");
            made += 1;
            if made % IN_FILE == 0 {
                root += &format!("mod f{files};\n");
                drop(write(&format!("src/f{files}.rs"), &modules));
                modules.clear();
                files += 1;
            }
        }
    }
    root += &format!("mod f{files};\n");
    let written = write(&format!("src/f{files}.rs"), &modules)
        .and_then(|()| write("src/lib.rs", &root))
        .and_then(|()| write("Cargo.toml", &manifest));
    println!("{made} kernels in {}", folder.display());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
