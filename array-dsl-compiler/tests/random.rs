//! Random programs through every stage, forward and backward.

use array_dsl_compiler::core::{self, Body, Exp, Function};
use std::collections::BTreeMap;

use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare::{Checked, Derived, derivatives, stage, values};
use array_dsl_compiler::testing::constructs::CONSTRUCTS;
use array_dsl_compiler::testing::random::{arguments, kernels, program, source};

fn stops(b: &Body) -> bool {
    b.stms.iter().any(|s| matches!(s.exp, Exp::StopGradient(_)) || s.exp.bodies().into_iter().any(stops))
}

/// The program of a seed at two lists of arguments.
fn check(f: &Function, seed: u64) -> Result<Option<Derived>, String> {
    let mut total = None;
    for s in [seed, seed + 1_000_000] {
        let args = arguments(f, s);
        if values(f, &args)? == Checked::Fault {
            continue;
        }
        let p = stage("middle", || pipeline::middle(f).expect("its derivatives exist"))?;
        // Derivatives of derivatives of large programs take too long.
        let order = if seed.is_multiple_of(9) && f.vars.len() < 150 { 2 } else { 1 };
        let done = derivatives(&p, &args, s, order, stops(&f.body))?;
        *total.get_or_insert(Derived::default()) += done;
    }
    Ok(total)
}

/// The number of programs: `RANDOM_COUNT`, from seed `RANDOM_FIRST` on.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let first = number("RANDOM_FIRST").unwrap_or(0);
    first..first + number("RANDOM_COUNT").unwrap_or(840)
}

/// Checks every fourth seed; the failure with the smallest program is shown.
fn quarter(which: u64) {
    let (mut failures, mut total, mut faults, mut programs) = (Vec::new(), Derived::default(), 0, 0);
    for seed in seeds().filter(|s| s % 4 == which) {
        let f = match stage("elaborate", || program(seed)) {
            Ok(f) => f,
            Err(e) => {
                failures.push((0, seed, e));
                continue;
            }
        };
        programs += 1;
        match check(&f, seed) {
            Ok(Some(d)) => total += d,
            Ok(None) => faults += 1,
            Err(e) => failures.push((f.vars.len(), seed, e)),
        }
    }
    eprintln!("{programs} programs, {faults} of which fail by themselves; {total:?}");
    failures.sort();
    for (size, seed, e) in &failures {
        eprintln!("seed {seed} ({size} variables): {}", e.chars().take(300).collect::<String>());
    }
    if let Some((_, seed, e)) = failures.first() {
        let text = source(*seed).unwrap_or_else(|| core::print::pretty(&program(*seed)));
        panic!("{} of {programs} failed; seed {seed}: {e}\n{text}", failures.len());
    }
    // Most programs have derivatives and are smooth where they are looked at.
    assert!(total.differences > programs, "only {} comparisons with differences", total.differences);
}

#[test]
fn random_programs_mean_the_same_in_every_stage_1() {
    quarter(0);
}

#[test]
fn random_programs_mean_the_same_in_every_stage_2() {
    quarter(1);
}

#[test]
fn random_programs_mean_the_same_in_every_stage_3() {
    quarter(2);
}

#[test]
fn random_programs_mean_the_same_in_every_stage_4() {
    quarter(3);
}

#[test]
fn programs_are_functions_of_their_seeds() {
    for seed in [0, 7, 99] {
        assert_eq!(program(seed), program(seed));
        assert_eq!(arguments(&program(seed), 3), arguments(&program(seed), 3));
    }
}

/// Constructs that the list of constructs does not have.
const OTHERS: [&str; 9] = [
    "`vjp = rule`",
    "kernels called",
    "generic kernels",
    "records",
    "`value_and_grad` inside",
    "`hvp` inside",
    "reads that may fail",
    "sizes that may fail",
    "slices that may fail",
];

#[test]
fn every_construct_occurs() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in seeds().filter(|seed| source(*seed).is_some()) {
        for construct in kernels::write(seed).constructs.into_keys() {
            *counts.entry(construct).or_default() += 1;
        }
    }
    let names: Vec<&str> = CONSTRUCTS.iter().map(|c| c.name).chain(OTHERS).collect();
    for name in &names {
        let count = counts.get(name).copied().unwrap_or_default();
        eprintln!("{count:4} {name}");
        assert!(count >= 2, "{count} programs have {name}");
    }
    assert!(counts.keys().all(|name| names.contains(name)), "{:?}", counts.keys());
}
