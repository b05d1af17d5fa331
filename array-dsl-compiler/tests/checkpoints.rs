//! Loops with checkpoints: the same values and derivatives with fewer states.

mod common;

use array_dsl_compiler::bulk::interp::{Counts, run_counted};
use array_dsl_compiler::core::{self, Function};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Callees;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Value, approx_eq};

fn compile(source: &str) -> Function {
    let item: syn::ItemFn = syn::parse_str(source).expect("the text is Rust");
    let mut diagnostics = Diagnostics::default();
    let found = pipeline::front(&item, &Callees::new(), &mut diagnostics);
    found.unwrap_or_else(|| panic!("{:?}", diagnostics.list())).function
}

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

/// A kernel with `LOOP` for `#[checkpoint]` gives what it gives without.
fn same(source: &str, args: impl Fn(i64) -> Vec<Value>) {
    let plain = compile(&source.replace("LOOP", ""));
    for setting in SETTINGS {
        let f = compile(&source.replace("LOOP", setting));
        for n in [-1, 0, 1, 2, 3, 4, 5, 8, 9, 17, 27, 64] {
            let args = args(n);
            let (a, b) = (core::interp::run(&plain, &args), core::interp::run(&f, &args));
            let (a, b) = (a.expect("it runs"), b.expect("it runs"));
            for (a, b) in a.iter().zip(&b) {
                approx_eq(a, b, 0.0, 0.0).unwrap_or_else(|e| panic!("{setting}, {n}: {e}"));
            }
            if [0, 1, 5, 17].contains(&n) {
                common::values(&f, &args).unwrap_or_else(|e| panic!("{setting}, {n}: {e}"));
            }
            if n == 5 {
                let p = pipeline::middle(&f).expect("its derivatives exist");
                common::derivatives(&p, &args, 3, 1, false).unwrap_or_else(|e| panic!("{setting}, {n}: {e}"));
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

/// The work and the largest array of the gradient.
fn gradient(setting: &str, n: i64) -> (Vec<Value>, Counts) {
    let source = "fn f(x: f64, n: usize) -> f64 { let mut y = x; LOOP for i in 0..n { y = y - 0.001 * y * y * y; } y }";
    let p = pipeline::middle(&compile(&source.replace("LOOP", setting))).expect("its derivatives exist");
    let d = pipeline::derivative(&p, Derivative::Grad).expect("it has one");
    run_counted(&d, &[value(&[], &[0.5]), int(n)]).expect("it runs")
}

/// T8: on 64 steps, 64, 16 and 12 states for 1, 2 and 3 levels, for as many more executions.
#[test]
fn states_and_executions() {
    let (expected, plain) = gradient("", 64);
    assert_eq!(plain.largest, 64);
    let mut before = plain.scalar_ops;
    for (levels, largest) in [(2, 8), (3, 4)] {
        let (found, counts) = gradient(&format!("#[checkpoint(levels = {levels})]"), 64);
        approx_eq(&found[0], &expected[0], 1e-14, 1e-14).expect("the same gradient");
        assert_eq!(counts.largest, largest);
        // Three operations a step.
        assert!(counts.scalar_ops > before && counts.scalar_ops < before + 64 * 8, "{counts:?}");
        before = counts.scalar_ops;
    }
}

/// 10^6 steps within 3000 states.
#[test]
fn a_million_steps() {
    let (_, counts) = gradient("#[checkpoint]", 1_000_000);
    assert!(counts.largest <= 1000, "{counts:?}");
    let (_, fewer) = gradient("#[checkpoint(levels = 3)]", 1_000_000);
    assert!(fewer.largest <= 100, "{fewer:?}");
}
