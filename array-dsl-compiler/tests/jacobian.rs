//! Jacobians, Hessians and batches against forward mode, Hessian-vector products and single runs.

use array_dsl_compiler::bulk::{self, Program, interp};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing;
use array_dsl_compiler::testing::kernels::program;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::Value;

fn derived(p: &Program, what: Derivative) -> Program {
    pipeline::derivative(p, what).expect("it has the derivative")
}

/// The results, the same from the scheduled loops.
fn run(p: &Program, args: &[Value]) -> Vec<Value> {
    let found = interp::run(p, args).unwrap_or_else(|e| panic!("{e}\n{}", bulk::print::print(p)));
    for target in [Target::Cpu, Target::Gpu] {
        let loops = pipeline::back(p, target).expect("it is scheduled");
        let again = testing::loops::run(&loops, target, args).expect("it runs");
        for (a, b) in found.iter().zip(&again) {
            close(&a.to_f64(), &b.to_f64(), "loops");
        }
    }
    found
}

fn floats(shape: &[usize], from: f64) -> Value {
    let n: usize = shape.iter().product();
    let data: Vec<f64> = (0..n).map(|i| (from + i as f64 * 0.7).sin() + 1.2).collect();
    Value::from_f64(Elem::F64, shape.to_vec(), &data).expect("as many elements as the shape has")
}

fn close(a: &[f64], b: &[f64], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs() + y.abs()), "{what}: {a:?} {b:?}");
    }
}

/// `m` with its last dimensions, those of `t`, summed with `t`.
fn times(m: &Value, t: &Value) -> Vec<f64> {
    let (m, t) = (m.to_f64(), t.to_f64());
    if t.is_empty() {
        return Vec::new();
    }
    m.chunks(t.len()).map(|row| row.iter().zip(&t).map(|(x, y)| x * y).sum()).collect()
}

/// Jacobian times tangents is the tangent of the result, for every float result.
fn check_jacobian(text: &str, args: &[Value]) {
    let p = program(text);
    let (j, f) = (derived(&p, Derivative::Jacobian), derived(&p, Derivative::Jvp));
    let tangents: Vec<Value> = args.iter().map(|a| floats(a.shape(), 0.3)).collect();
    let blocks = run(&j, args);
    let all = run(&f, &[args, &tangents].concat());
    let results = p.result.leaves().len();
    let expected = &all[results..];
    assert_eq!(blocks.len(), expected.len() * args.len(), "{text}");
    for (k, slope) in expected.iter().enumerate() {
        let mut sum = vec![0.0; slope.to_f64().len()];
        for (i, t) in tangents.iter().enumerate() {
            let block = &blocks[k * args.len() + i];
            let shape: Vec<usize> = slope.shape().iter().chain(t.shape()).copied().collect();
            assert_eq!(block.shape(), shape, "{text}");
            sum.iter_mut().zip(times(block, t)).for_each(|(s, x)| *s += x);
        }
        close(&sum, &slope.to_f64(), text);
    }
}

#[test]
fn jacobians_are_columns_of_forward_mode() {
    let texts = [
        "fn f(x: [f64; n], w: f64) -> [f64; n] { cumsum(x * x) * w }",
        "fn f(x: [f64; n], w: f64) -> f64 { (x * w).sin().sum() }",
        "fn f(x: [f64; n], w: f64) -> (f64, [f64; n]) { (x.prod() * w, build(n, |i| x[i] * x[(i + 1) % n])) }",
        "fn f(x: [f64; n], w: f64) -> [f64; n] {
            let mut y = x;
            for i in 1..n { y[i] = y[i] + w * y[i - 1].sin(); }
            y
        }",
        "fn f(x: [f64; n], w: f64) -> [f64; n] {
            let mut y = x;
            for _t in 0..3 { y = build(n, |i| y[i] * w + y[n - 1 - i] * y[i]); }
            y
        }",
    ];
    for text in texts {
        for n in [0, 1, 4] {
            check_jacobian(text, &[floats(&[n], 0.1), floats(&[], 0.5)]);
        }
    }
    check_jacobian(
        "fn f(a: [[f64; m]; n], x: [f64; m]) -> [f64; n] { matvec(a, x).tanh() }",
        &[floats(&[2, 3], 0.2), floats(&[3], 0.4)],
    );
}

#[test]
fn hessians_are_rows_of_products() {
    let text =
        "fn f(x: [f64; n], w: [[f64; n]; m]) -> f64 { let y = matvec(w, x); (y * y).sum() + x.prod() }";
    let p = program(text);
    let (h, v) = (derived(&p, Derivative::Hessian), derived(&p, Derivative::Hvp));
    let args = [floats(&[3], 0.2), floats(&[2, 3], 0.9)];
    let tangents = [floats(&[3], 0.4), floats(&[2, 3], 0.1)];
    let blocks = run(&h, &args);
    let expected = run(&v, &[args.as_slice(), &tangents].concat());
    assert_eq!(blocks.len(), 4);
    for (i, e) in expected.iter().enumerate() {
        let mut sum = vec![0.0; e.to_f64().len()];
        for (j, t) in tangents.iter().enumerate() {
            let shape: Vec<usize> = args[i].shape().iter().chain(t.shape()).copied().collect();
            assert_eq!(blocks[2 * i + j].shape(), shape);
            sum.iter_mut().zip(times(&blocks[2 * i + j], t)).for_each(|(s, x)| *s += x);
        }
        close(&sum, &e.to_f64(), "hessian");
    }
}

#[test]
fn batches_are_single_runs() {
    let texts = [
        "fn f(x: [f64; n], w: f64) -> [f64; n] { cumsum(x * x) * w }",
        "fn f(x: [f64; n], w: f64) -> (f64, [f64; n]) {
            let mut y = x;
            for i in 1..n { y[i] = y[i] + w * y[i - 1]; }
            (maximum(y), y)
        }",
        "fn f(x: [f64; n], w: f64) -> f64 { matmul(outer(x, x), outer(x, x)).flatten().sum() * w }",
    ];
    for text in texts {
        let p = program(text);
        let batched = derived(&p, Derivative::Vmap);
        let (xs, ws) = (floats(&[5, 3], 0.3), floats(&[5], 0.8));
        let all = run(&batched, &[xs.clone(), ws.clone()]);
        for i in 0..5 {
            let one = [xs.index(&[i]).expect("a row"), ws.index(&[i]).expect("an element")];
            for (whole, single) in all.iter().zip(run(&p, &one)) {
                let row = whole.index(&[i]).expect("a row");
                close(&row.to_f64(), &single.to_f64(), text);
            }
        }
    }
    let p = program("fn f(k: usize) -> [f64; k] { iota(k) as f64 }");
    assert!(pipeline::derivative(&p, Derivative::Vmap).is_err(), "its size differs from point to point");
}

/// A loop over arrays, a matrix as an argument, sums: programs whose tangents are arrays.
const WITH_TANGENTS: [&str; 3] = [
    "fn f(x: [f64; n]) -> [f64; n] {
        let mut y = x;
        for _t in 0..3 { y = build(n, |i| y[i] * y[n - 1 - i]); }
        y
    }",
    "fn f(x: [f64; n]) -> [f64; n] { let y = cumsum(x.sin()); cumsum(y * y) }",
    "fn f(x: [f64; n]) -> [f64; n] { let y = outer(x, x); let z = matmul(y, y); matvec(z, x) }",
];

// Interpreters take three directions at a time: what is in memory beside the result does not grow with their number.
#[test]
fn the_memory_beside_the_result_is_that_of_a_strip() {
    for (k, text) in WITH_TANGENTS.iter().enumerate() {
        let j = derived(&program(text), Derivative::Jacobian);
        for target in [Target::Cpu, Target::Gpu] {
            let loops = pipeline::back(&j, target).expect("it is scheduled");
            for n in [0, 1, 10, if k == 2 { 14 } else { 40 }] {
                let (found, counts) =
                    testing::loops::run_measured(&loops, target, &[floats(&[n], 0.1)]).expect("it runs");
                assert_eq!(found[0].shape(), [n, n]);
                // The largest intermediate array, and how many of its kind there may be.
                let one = if k == 2 { n * n } else { n };
                let most = counts.most;
                assert!(most <= n * n + 16 * (one + 1), "{text} for {n}: {most}\n{}", bulk::print::print(&j));
            }
        }
    }
}

#[test]
fn few_directions_are_taken_at_once_and_many_in_strips() {
    let strips = |text: &str, what: Derivative| derived(&program(text), what).strips.len();
    assert_eq!(strips("fn f(x: [f64; 8], y: f64) -> [f64; 8] { x * y }", Derivative::Jacobian), 0);
    assert_eq!(
        strips("fn f(x: [f64; 100], y: [f64; n]) -> [f64; n] { y * x.sum() }", Derivative::Jacobian),
        1
    );
    assert_eq!(strips("fn f(x: [f64; 100], w: f64) -> [f64; 100] { x * w }", Derivative::Jacobian), 1);
    assert_eq!(strips("fn f(x: [f64; n], w: f64) -> f64 { (x * w).prod() }", Derivative::Hessian), 1);
    // The rows' number is known only when they are there, so it is taken by columns.
    let text = "fn f(x: [[f64; n]; n]) -> [f64; _] { filter(|v| v > 1.5, matvec(x, x[0])) }";
    assert_eq!(strips(text, Derivative::Jacobian), 1);
    let found = run(&derived(&program(text), Derivative::Jacobian), &[floats(&[2, 2], 0.4)]);
    assert_eq!(found[0].shape()[1..], [2, 2]);
    assert!(found[0].shape()[0] > 0, "{found:?}");
}

#[test]
fn programs_in_strips_are_printed_and_parsed() {
    for text in WITH_TANGENTS {
        let j = derived(&program(text), Derivative::Jacobian);
        let printed = bulk::print::print(&j);
        assert!(printed.contains("  strip #trips0 times #width0 of n each"), "{printed}");
        let again = bulk::parse::parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(bulk::print::print(&again), printed);
        close(
            &run(&again, &[floats(&[5], 0.2)])[0].to_f64(),
            &run(&j, &[floats(&[5], 0.2)])[0].to_f64(),
            text,
        );
    }
}

// Strips, and histories of loops, are stored on all cores; of several values for one place the last stays, in order.
#[test]
fn writes_to_different_places_are_parallel() {
    let code = |p: &Program| {
        let loops = pipeline::back(p, Target::Cpu).expect("it is scheduled");
        array_dsl_compiler::emit::cpu::emit(&loops).body
    };
    let is_parallel =
        |code: String| code.contains("__rt::trusted::Owned::new(") && code.contains("__rt::cpu::for_");
    let p = program(WITH_TANGENTS[0]);
    assert!(is_parallel(code(&derived(&p, Derivative::Jacobian))));
    let history = "fn f(x: [f64; n]) -> f64 {
        let mut y = x;
        for _t in 0..3 { y = build(n, |i| y[i] * y[n - 1 - i].sin()); }
        y.sum()
    }";
    assert!(is_parallel(code(&derived(&program(history), Derivative::Grad))));
    let chosen = "fn f(x: [f64; n], to: [i64; n]) -> [f64; n] {
        let mut y = x;
        for i in 0..n { y[to[i]] = x[i]; }
        y
    }";
    assert!(!is_parallel(code(&program(chosen))));
}
