//! Reads without a bounds check: only where the index is certain to be inside, whatever the arguments are.

use array_dsl_compiler::bulk::interp::run;
use array_dsl_compiler::bulk::print::print;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing::kernels::program;
use array_dsl_compiler::testing::loops;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Fault, Scalar, Value};

fn floats(shape: &[usize]) -> Value {
    Value::filled(shape.to_vec(), Scalar::F64(1.0))
}

fn int(i: i64) -> Value {
    Value::from_i64(Elem::I64, Vec::new(), &[i]).expect("one element")
}

/// Reads that are compared with the array's dimensions when running.
fn checked_reads(text: &str) -> usize {
    print(&program(text)).matches("]?").count()
}

#[test]
fn axes_and_sizes_prove_reads() {
    for text in [
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[n - 1 - i]) }",
        "fn f(x: [f64; n + 2]  , y: [f64; n]) -> [f64; n] { build(n, |i| x[i + 2] - x[i] + y[i]) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| if i > 0 { x[i - 1] } else { x[i] }) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| if i + 1 < n { x[i + 1] } else { 0.0 }) }",
        "fn f(x: [f64; n * m], y: [[f64; m]; n]) -> [[f64; m]; n] { build((n, m), |i, j| x[i * m + j] + y[i][j]) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[(i + 1) % n] + x[(i + n - 1) % n]) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[((i + 1) % n + 2) % n]) }",
        "fn f(x: [f64; n + 1], y: [f64; n]) -> [f64; n] { build(n, |i| x[(2 * i) % n] + y[i]) }",
        "fn f(x: [f64; n], i: i64) -> f64 { if i >= 0 && i < n { x[i] } else { 0.0 } }",
        "fn f(x: [f64; n], lo: i64, hi: i64) -> f64 { sum(x[lo..hi]) }",
        "fn f(a: [[f64; m]; n], lo: i64, hi: i64) -> [f64; n] { map(|r| sum(r[lo..hi]), a) }",
        "fn f(k: usize) -> [f64; k] { let t = build(k, |i| (i as f64).sin()); build(k, |i| if i < k - 1 { t[i + 1] } else { 0.0 }) }",
        "fn f(at: [i64; n], v: [f64; n]) -> [f64; 5] { hist(|a, b| a + b + a * b, 0.0, 5, at, v) }",
    ] {
        assert_eq!(checked_reads(text), 0, "{}", print(&program(text)));
    }
    for text in [
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[i + 1]) }",
        "fn f(x: [f64; n], is: [i64; n]) -> [f64; n] { build(n, |i| x[is[i]]) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[(i - 1) % n]) }",
        "fn f(x: [f64; n], y: [f64; m]) -> [f64; n] { build(n, |i| x[i] + y[i % m]) }",
        "fn f(x: [f64; n], is: [i64; n]) -> [f64; n] { build(n, |i| x[(is[i] + 1) % n]) }",
        "fn f(x: [f64; n], i: i64) -> f64 { if i < n { x[i] } else { 0.0 } }",
    ] {
        assert_eq!(checked_reads(text), 1, "{}", print(&program(text)));
    }
}

#[test]
fn integers_that_wrap_prove_nothing() {
    // `k + 1` wraps to the smallest integer, which is less than `n`.
    let p = program("fn f(x: [f64; n], k: i64) -> f64 { if k >= 0 && k + 1 < n { x[k] } else { 0.0 } }");
    let outside = run(&p, &[floats(&[3]), int(i64::MAX)]);
    assert!(matches!(outside, Err(Fault::IndexOutOfRange { index: i64::MAX, .. })), "{outside:?}");
    assert_eq!(run(&p, &[floats(&[3]), int(1)]), Ok(vec![floats(&[])]));
    // Nor does a comparison of such numbers fold.
    let p = program("fn f(k: i64) -> bool { k + 1 > k }");
    assert_eq!(run(&p, &[int(i64::MAX)]), Ok(vec![Value::scalar(Scalar::Bool(false))]));
}

#[test]
fn what_was_checked_for_an_empty_loop_proves_nothing() {
    // The slices are checked only if there are rows.
    let p = program(
        "fn f(a: [[f64; m]; n], x: [f64; m], lo: i64) -> f64 {
            sum(map(|r| sum(r[lo..lo + 1]), a)) + x[lo]
        }",
    );
    let args = |n: usize, lo: i64| [floats(&[n, 2]), floats(&[2]), int(lo)];
    assert_eq!(run(&p, &args(3, 1)), Ok(vec![Value::scalar(Scalar::F64(4.0))]));
    assert!(matches!(run(&p, &args(3, 5)), Err(Fault::SizeCheck { .. })));
    assert!(matches!(run(&p, &args(0, 5)), Err(Fault::IndexOutOfRange { index: 5, .. })));
}

#[test]
fn derivatives_are_as_careful_as_values() {
    // Compiled code goes on after a read outside; the tangent is read at the same index.
    let p = program("fn f(x: [f64; n], k: i64) -> f64 { x[k] * x[0] }");
    for (what, more) in [(Derivative::Jvp, Some(floats(&[2]))), (Derivative::Grad, None)] {
        let d = pipeline::derivative(&p, what).expect("it is differentiable");
        for target in [Target::Cpu, Target::Gpu] {
            let l = pipeline::back(&d, target).expect("it verifies");
            let args: Vec<Value> = [floats(&[2]), int(7)].into_iter().chain(more.clone()).collect();
            let found = loops::run(&l, &args);
            assert!(matches!(found, Err(Fault::IndexOutOfRange { index: 7, .. })), "{found:?}");
        }
    }
}
