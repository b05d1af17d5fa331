//! Jacobians, Hessians and batches against forward mode, Hessian-vector products and single runs.

use array_dsl_compiler::bulk::{self, Program, interp};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Callees;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::Value;

fn program(text: &str) -> Program {
    let item: syn::ItemFn = syn::parse_str(text).expect("it is a function");
    let mut diagnostics = Diagnostics::default();
    let found = pipeline::front(&item, &Callees::new(), &mut diagnostics);
    let errors: Vec<&str> = diagnostics.list().iter().map(|d| d.message.as_str()).collect();
    assert_eq!(errors, [""; 0], "{text}");
    pipeline::middle(&found.expect("it compiles").function).expect("its derivatives exist")
}

fn derived(p: &Program, what: Derivative) -> Program {
    pipeline::derivative(p, what).expect("it has the derivative")
}

/// The results, the same from the scheduled loops.
fn run(p: &Program, args: &[Value]) -> Vec<Value> {
    let found = interp::run(p, args).unwrap_or_else(|e| panic!("{e}\n{}", bulk::print::print(p)));
    for target in [Target::Cpu, Target::Gpu] {
        let loops = pipeline::back(p, target).expect("it is scheduled");
        let again = testing::loops::run(&loops, args).expect("it runs");
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
