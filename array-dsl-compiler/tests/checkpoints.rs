//! Loops with checkpoints: the same values and derivatives with fewer states.

use array_dsl_compiler::bulk::Program;
use array_dsl_compiler::bulk::interp::{Counts, run, run_counted};
use array_dsl_compiler::core::{self};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::compare;
use array_dsl_compiler::testing::kernels::{kernel, program};
use array_dsl_compiler::testing::loops;
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Scalar, Value, approx_eq};

fn value(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("a value")
}

fn int(i: i64) -> Value {
    Value::from_i64(Elem::I64, vec![], &[i]).expect("a value")
}

const SETTINGS: [&str; 6] = [
    "#[checkpoint]",
    "#[checkpoint(every = 4)]",
    "#[checkpoint(every = n / 3)]",
    "#[checkpoint(levels = 2)]",
    "#[checkpoint(levels = 3)]",
    "#[checkpoint(levels = 4)]",
];

/// A kernel with `LOOP` for `#[checkpoint]` gives what it gives without, and so does its pullback.
fn same(source: &str, args: impl Fn(i64) -> Vec<Value>) {
    let middle = |f: &core::Function| pipeline::middle(f).expect("its derivatives exist");
    let pullback = |p: &Program| pipeline::derivative(p, Derivative::Vjp).expect("it has one");
    let plain = kernel(&source.replace("LOOP", ""));
    let plain_pullback = pullback(&middle(&plain));
    for setting in SETTINGS {
        let f = kernel(&source.replace("LOOP", setting));
        let p = middle(&f);
        let with_states = pullback(&p);
        for n in [-1, 0, 1, 2, 3, 4, 5, 8, 9, 17, 27, 64] {
            let args = args(n);
            let near = |a: &[Value], b: &[Value], tolerance: f64| {
                assert_eq!(a.len(), b.len(), "{setting}, {n}");
                for (a, b) in a.iter().zip(b) {
                    approx_eq(a, b, tolerance, tolerance).unwrap_or_else(|e| panic!("{setting}, {n}: {e}"));
                }
            };
            let (a, b) = (meaning::run(&plain, &args), meaning::run(&f, &args));
            let (a, b) = (a.expect("it runs"), b.expect("it runs"));
            near(&a, &b, 0.0);
            let seeds: Vec<Value> =
                a.iter().map(|v| Value::filled(v.shape().to_vec(), Scalar::F64(0.7))).collect();
            let pulled = [args.as_slice(), &seeds].concat();
            let [a, b] = [&plain_pullback, &with_states].map(|d| run(d, &pulled).expect("it runs"));
            near(&a, &b, 1e-12);
            if [0, 1, 5, 17].contains(&n) {
                let checked = compare::values(&f, &args).unwrap_or_else(|e| panic!("{setting}, {n}: {e}"));
                assert_eq!(checked, compare::Checked::Agree, "{setting}, {n}");
            }
            if n == 5 {
                let done = compare::derivatives(&p, &args, 3, 1, false)
                    .unwrap_or_else(|e| panic!("{setting}, {n}: {e}"));
                assert!(done.identities > 0, "{setting}, {n}");
            }
        }
    }
}

#[test]
fn of_numbers_and_arrays() {
    same(
        "fn f(x: f64, n: usize) -> f64 { let mut y = x; LOOP for i in 0..n { y = (y + 0.1 * i as f64).sin(); } y }",
        |n| vec![value(&[], &[0.3]), int(n)],
    );
    same(
        "fn f(x: [f64; m], n: usize) -> [f64; m] {
            let mut y = x;
            LOOP for i in (1..n + 1).rev() { y = y.sin() + 0.1 * sum(y) / i as f64; }
            y
        }",
        |n| vec![value(&[3], &[0.3, -0.2, 0.5]), int(n)],
    );
    // In a nest; with updates in place.
    same(
        "fn f(x: [f64; m], n: usize) -> [f64; m] {
            build(dim(x, 0), |k| { let mut y = x[k]; LOOP for i in 0..n { y = (y * 1.1).sin(); } y })
        }",
        |n| vec![value(&[3], &[0.3, -0.2, 0.5]), int(n)],
    );
    same(
        "fn f(x: [f64; m], n: usize) -> [f64; m] {
            let mut y = x;
            LOOP for i in 0..n { y[i % 3] = y[(i + 1) % 3] * y[i % 3].cos(); }
            y
        }",
        |n| vec![value(&[3], &[0.3, -0.2, 0.5]), int(n)],
    );
    // A number of trips that differs from point to point, and one from an array.
    same(
        "fn f(x: [f64; m], k: [i64; m], n: usize) -> [f64; m] {
            build(dim(x, 0), |j| { let mut y = x[j]; LOOP for i in 0..k[j] { y = (y * 1.1).sin(); } y })
        }",
        |n| {
            let k = Value::from_i64(Elem::I64, vec![3], &[n, 2, 0]).expect("a value");
            vec![value(&[3], &[0.3, -0.2, 0.5]), k, int(n)]
        },
    );
    same(
        "fn f(x: f64, a: [f64; n]) -> f64 { let mut y = x; LOOP for v in a { y = (y * v).sin() + v; } y }",
        |n| {
            let data: Vec<f64> = (0..n.max(0)).map(|i| 0.9 + 0.01 * i as f64).collect();
            vec![value(&[], &[0.3]), value(&[data.len()], &data)]
        },
    );
}

/// The gradient of a long loop.
fn derived(setting: &str) -> Program {
    let source = "fn f(x: f64, n: usize) -> f64 { let mut y = x; LOOP for i in 0..n { y = y - 0.001 * y * y * y; } y }";
    let p = program(&source.replace("LOOP", setting));
    pipeline::derivative(&p, Derivative::Grad).expect("it has one")
}

/// The work and the largest array of the gradient.
fn gradient(setting: &str, n: i64) -> (Vec<Value>, Counts) {
    run_counted(&derived(setting), &[value(&[], &[0.5]), int(n)]).expect("it runs")
}

/// T8: on 64 steps, 64, 16 and 12 states for 1, 2 and 3 levels, for as many more executions.
#[test]
fn states_and_executions() {
    let (expected, plain) = gradient("", 64);
    assert_eq!(plain.largest, 64);
    let mut before = plain.scalar_ops;
    for (levels, largest) in [(2, 8), (3, 4), (6, 2)] {
        let (found, counts) = gradient(&format!("#[checkpoint(levels = {levels})]"), 64);
        approx_eq(&found[0], &expected[0], 1e-14, 1e-14).expect("the same gradient");
        assert_eq!(counts.largest, largest);
        // Three operations a step.
        let most = plain.scalar_ops + (levels - 1) * 64 * 8;
        assert!(counts.scalar_ops > before && counts.scalar_ops < most, "{counts:?}");
        before = counts.scalar_ops;
    }
}

/// 10^6 steps within 1000 states of each level, and as many adjoints for the innermost; 125 000 within 50 of each of three; and
/// 20 000 within the four of each of eight, beside the scalars that the loops of trips left over have. Counted are all arrays at
/// once, as the loops for the CPU have them, until they are overwritten.
#[test]
fn long_loops_fit_in_little_memory() {
    for (setting, n, most) in [
        ("#[checkpoint]", 1_000_000, 3050),
        ("#[checkpoint(levels = 3)]", 125_000, 300),
        ("#[checkpoint(levels = 8)]", 20_000, 400),
    ] {
        let l = pipeline::back(&derived(setting), Target::Cpu).expect("it verifies");
        let (_, counts) =
            loops::run_measured(&l, Target::Cpu, &[value(&[], &[0.5]), int(n)]).expect("it runs");
        assert!(counts.most <= most, "{setting}: {} elements", counts.most);
    }
}
