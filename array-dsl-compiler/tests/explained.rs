//! What `explain` says that programs cost, against what executing them takes.

use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::dim::{Dim, SizeAtom};
use array_dsl_compiler::loops::Program;
use array_dsl_compiler::loops::costs::{self, Cost};
use array_dsl_compiler::loops::print::print;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::{kernel, kernels_of, program};
use array_dsl_compiler::testing::loops;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};

const N: i64 = 9;

/// A polynomial where all sizes are the same, if it has nothing but these.
fn value(d: &Dim) -> Option<u64> {
    let of_sizes = d.atoms().iter().all(|a| matches!(a, SizeAtom::Name(n) if !n.starts_with("trips(")));
    let value = d.eval(&mut |_| N).filter(|_| of_sizes)?;
    Some(value.try_into().unwrap_or_else(|_| panic!("{d} is negative")))
}

/// All that is computed.
fn operations(c: &Cost) -> Option<u64> {
    c.functions.values().chain([&c.operations]).map(value).sum()
}

fn for_cpus(text: &str, derivative: Option<Derivative>) -> Program {
    let p = program(text);
    let p = match derivative {
        Some(d) => pipeline::derivative(&p, d).expect("it is differentiable"),
        None => p,
    };
    Program::clone(&pipeline::back(&p, Target::Cpu).expect("it verifies"))
}

/// A program executes as many operations as it says, or fewer: of choices it computes one side, and of triangles a half.
#[test]
fn no_more_is_executed() {
    let files = [
        include_str!("programs/bands.rs"),
        include_str!("programs/pairs.rs"),
        include_str!("programs/parallel_loops.rs"),
        include_str!("programs/stencils.rs"),
        include_str!("programs/textbook.rs"),
        include_str!("programs/more.rs"),
    ];
    let mut compared = 0;
    let alone = |(name, _): &(String, String)| name != "log_det";
    for (name, text) in files.into_iter().flat_map(|text| kernels_of(text, "")).filter(alone) {
        let f = kernel(&text);
        let p = for_cpus(&text, None);
        let Some(said) = operations(&costs::of(&p).total) else { continue };
        let ranges = Ranges { sizes: (N, N), integers: (0, 4), floats: (0.5, 1.5) };
        let args = arguments_within(&f, 1, &ranges);
        let Ok((_, counts)) = loops::run_measured(&p, Target::Cpu, &args) else { continue };
        println!("{name}: {said} {}", counts.operations);
        assert!(counts.operations <= said, "{name}: {said}\n{}\n{}", costs::print(&p), print(&p));
        compared += 1;
    }
    assert!(compared >= 40, "{compared}");
}

/// Where nothing is chosen, it executes just these.
#[test]
fn all_is_executed() {
    let text = "fn f(a: [[f64; k]; n], b: [[f64; m]; k]) -> [f64; n] {
        let c = matmul(a, b);
        build(n, |i| {
            let mut s = 1.0;
            for j in 0..m { s = s * 0.5 + tanh(c[i][j]); }
            s / sum(a[i])
        })
    }";
    let f = kernel(text);
    for derivative in [None, Some(Derivative::Vjp)] {
        let p = for_cpus(text, derivative);
        let ranges = Ranges { sizes: (N, N), integers: (0, 4), floats: (0.5, 1.5) };
        let mut args = arguments_within(&f, 1, &ranges);
        if derivative.is_some() {
            args.extend(loops::run(&for_cpus(text, None), Target::Cpu, &args).expect("it runs"));
        }
        let (_, counts) = loops::run_measured(&p, Target::Cpu, &args).expect("it runs");
        let said = operations(&costs::of(&p).total).expect("all sizes are named");
        assert_eq!(said, counts.operations, "{}\n{}", costs::print(&p), print(&p));
    }
}

fn shown(text: &str, derivative: Option<Derivative>) -> String {
    costs::print(&for_cpus(text, derivative))
}

/// Rows that stay in caches; what follows on a matrix product, for some rows at a time; what a loop of each point does; a loop of the whole program.
#[test]
fn text() {
    let network = "fn f(x: [[f64; m]; n], w: [[f64; k]; m]) -> [f64; n] {
        let y = tanh(matmul(x, w));
        sum(y * y)
    }";
    let search = "fn f(table: [f64; m], x: [f64; n]) -> [f64; n] {
        map(|x| {
            let (mut lo, mut hi) = (0, m);
            while hi - lo > 1 {
                let mid = (lo + hi) / 2;
                if table[mid] > x { hi = mid; } else { lo = mid; }
            }
            table[lo].exp()
        }, x)
    }";
    let heat = "fn f(x: [f64; n], steps: usize) -> [f64; n] {
        let mut u = x;
        for _ in 0..steps {
            u = build(n, |i| if i > 0 { 0.5 * (u[i] + u[i - 1]) } else { u[i] });
        }
        u
    }";
    let counts = "fn f(at: [i64; n], v: [f64; n], k: usize) -> [f64; k] { hist(add, 0.0, k, at, v) }";
    let shares = "fn f(z: [[f64; m]; n]) -> [[f64; m]; n] { softmax(z) }";
    let all = [
        shown(shares, None),
        shown(network, None),
        shown(network, Some(Derivative::Vjp)),
        shown(search, None),
        shown(heat, None),
        shown(counts, None),
    ];
    insta::assert_snapshot!(all.join("--\n"));
}
