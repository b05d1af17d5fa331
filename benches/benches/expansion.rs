//! How long the macro takes, and how much code it makes: each construct of the language with all its derivatives, and kernels that
//! grow line by line, from tokens to tokens.
//!
//! `cargo bench --bench expansion` measures an optimized compiler. Users' crates run it as their profile for build scripts and macros
//! says, which in cargo's own dev profile is without optimization: `cargo bench --bench expansion --profile dev --config
//! 'profile.dev.build-override.opt-level=0' --config 'profile.dev.package.array-dsl-compiler.opt-level=0'` measures that.

use std::time::{Duration, Instant};

use array_dsl_compiler::kernel::link;
use array_dsl_compiler::testing::constructs::CONSTRUCTS;
use array_dsl_compiler::testing::growing::{GROWING, NESTED, SUMMED};
use proc_macro2::TokenStream;

/// The shortest time of some runs, and the characters of the code.
fn measured(runs: usize, expanded: impl Fn() -> TokenStream) -> (Duration, usize) {
    let run = |_| {
        let start = Instant::now();
        let tokens = expanded();
        let took = start.elapsed();
        let code = tokens.to_string();
        assert!(!code.contains("compile_error"), "{code}");
        (took, code.len())
    };
    (0..runs).map(run).min().expect("a run")
}

fn construct(source: &str) -> Duration {
    let item: TokenStream = source.parse().expect("a function");
    measured(3, || link::attribute(TokenStream::new(), item.clone())).0
}

fn main() {
    let constructs = CONSTRUCTS.iter().map(|c| (c.name.to_string(), construct(&c.source("f64", "i64"))));
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
    println!("milliseconds and thousands of characters, of programs that grow");
    for growing in GROWING.iter().chain([&NESTED, &SUMMED]) {
        print!("{:<44}", growing.of);
        for n in [8, 16, 32, 64] {
            let kernel = growing.kernel(n).unwrap_or_else(|e| panic!("{}: {e}", growing.of));
            let (time, code) = measured(1, || kernel.expanded());
            print!("{n:>5}: {:>8.1} {:>6}", time.as_secs_f64() * 1e3, code / 1000);
        }
        println!();
    }
}
