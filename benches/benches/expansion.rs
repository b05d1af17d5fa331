//! How long the macro takes: each construct of the language with all its derivatives, and kernels of many lines, from tokens to tokens.
//!
//! `cargo bench --bench expansion` measures an optimized compiler. Users' crates run it as their profile for build scripts and macros
//! says, which in cargo's own dev profile is without optimization: `cargo bench --bench expansion --profile dev --config
//! 'profile.dev.build-override.opt-level=0' --config 'profile.dev.package.array-dsl-compiler.opt-level=0'` measures that.

use std::fmt::Write;
use std::time::{Duration, Instant};

use array_dsl_compiler::kernel;
use array_dsl_compiler::testing::constructs::CONSTRUCTS;
use proc_macro2::TokenStream;

/// A kernel of so many statements, each of which uses the two before it.
fn long(lines: usize) -> String {
    let mut body = String::from("let v0 = x; let v1 = y;\n");
    for k in 2..lines {
        let (a, b) = (k - 1, k - 2);
        let _ = match k % 4 {
            0 => writeln!(body, "let v{k} = v{a} * 0.5 + v{b};"),
            1 => writeln!(body, "let v{k} = v{a} - v{b} / 3.0;"),
            2 => writeln!(body, "let v{k} = (v{a} + v{b}).sin();"),
            _ => writeln!(body, "let v{k} = if v{a} > 0.0 {{ v{a} }} else {{ v{b} }};"),
        };
    }
    format!("fn long(x: f64, y: f64) -> f64 {{ {body} v{} }}", lines - 1)
}

/// The shortest of some runs.
fn measured(source: &str, runs: usize) -> Duration {
    let item: syn::ItemFn = syn::parse_str(source).expect("a function");
    let run = |_| {
        let start = Instant::now();
        let tokens = kernel::compile(&TokenStream::new(), &item, Vec::new());
        let took = start.elapsed();
        assert!(!tokens.to_string().contains("compile_error"), "{source}");
        took
    };
    (0..runs).map(run).min().expect("a run")
}

fn main() {
    let constructs = CONSTRUCTS.iter().map(|c| (c.name.to_string(), measured(&c.source("f64", "i64"), 3)));
    let mut times: Vec<(String, Duration)> = constructs.collect();
    times.sort_by_key(|(_, time)| *time);
    println!("{:>9}  construct", "ms");
    for (name, time) in &times {
        println!("{:>9.1}  {name}", time.as_secs_f64() * 1e3);
    }
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    let median = times[times.len() / 2].1;
    println!(
        "{:>9.1}  median of {}, {:.2} s in all",
        median.as_secs_f64() * 1e3,
        times.len(),
        total.as_secs_f64()
    );
    for lines in [100, 200, 400] {
        println!("{:>9.1}  {lines} lines of arithmetic", measured(&long(lines), 1).as_secs_f64() * 1e3);
    }
}
