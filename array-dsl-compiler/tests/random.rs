//! Random programs through every stage, forward and backward.

mod common;

use array_dsl_compiler::core::{self, Body, Exp, Function};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::random::{arguments, program};
use common::{Checked, Derived, derivatives, stage, values};

fn stops(b: &Body) -> bool {
    b.stms.iter().any(|s| match &s.exp {
        Exp::StopGradient(_) => true,
        Exp::If(_, a, b) => stops(a) || stops(b),
        Exp::Build(_, b) | Exp::Reduce(_, _, b) | Exp::Scatter { body: b, .. } => stops(b),
        _ => false,
    })
}

/// The program of a seed at two lists of arguments.
fn check(f: &Function, seed: u64) -> Result<Option<Derived>, String> {
    let mut total = None;
    for s in [seed, seed + 1_000_000] {
        let args = arguments(f, s);
        if values(f, &args)? == Checked::Fault {
            continue;
        }
        let p = stage("middle", || pipeline::middle(f))?;
        let order = if seed % 8 == 0 { 2 } else { 1 };
        let done = derivatives(&p, &args, s, order, stops(&f.body))?;
        *total.get_or_insert(Derived::default()) += done;
    }
    Ok(total)
}

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let first = number("RANDOM_FIRST").unwrap_or(0);
    first..first + number("RANDOM_COUNT").unwrap_or(500)
}

#[test]
fn random_programs_mean_the_same_in_every_stage() {
    std::panic::set_hook(Box::new(|_| {}));
    let (mut failures, mut total, mut faults) = (Vec::new(), Derived::default(), 0);
    for seed in seeds() {
        let f = program(seed);
        match check(&f, seed) {
            Ok(Some(d)) => total += d,
            Ok(None) => faults += 1,
            Err(e) => failures.push((f.vars.len(), seed, e)),
        }
    }
    drop(std::panic::take_hook());
    eprintln!("{total:?}, {faults} programs that fail by themselves");
    failures.sort();
    for (size, seed, e) in failures.iter().take(40) {
        eprintln!("seed {seed} ({size} variables): {}", e.chars().take(300).collect::<String>());
    }
    if let Some((_, seed, e)) = failures.first() {
        let f = program(*seed);
        panic!("{} of {} failed; seed {seed}: {e}\n{}", failures.len(), seeds().count(), core::print::pretty(&f));
    }
}
