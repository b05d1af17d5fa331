//! Reads without a bounds check: only where the index is certain to be inside, whatever the arguments are.

use array_dsl_compiler::bulk::interp::run;
use array_dsl_compiler::bulk::print::print;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::loops::print::print as printed;
use array_dsl_compiler::optimize::remaining;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
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
fn what_was_an_index_is_not_compared_again() {
    for text in [
        "fn f(x: [f64; m], at: [i64; n]) -> f64 { build(n, |i| (2.0 * x[at[i]] + 1.0).powi(2)).sum() }",
        "fn f(x: [[f64; d]; m], at: [i64; n]) -> f64 { build(n, |i| sum(x[at[i]]).powi(2)).sum() }",
        "fn f(x: [f64; m], at: [[i64; k]; n]) -> f64 {
            build(n, |i| { let mut s = 0.1; for t in 0..k { s = sin(s) * x[at[i][t]]; } s }).sum()
        }",
        "fn f(x: [f64; m], e: [[i64; 2]; n]) -> f64 { build(n, |i| (x[e[i][0]] * x[e[i][1]]).exp()).sum() }",
    ] {
        let reads = checked_reads(text);
        let mut gradient = pipeline::derivative(&program(text), Derivative::Vjp).expect("it has one");
        pipeline::finish(&mut gradient, Target::Cpu);
        let printed = print(&gradient);
        assert_eq!(printed.matches("]?").count(), reads, "{printed}");
    }
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
        // Kept within the borders.
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[min(i + 1, n - 1)] + x[max(i - 1, 0)]) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[(2 * i - 5).clamp(0, n - 1)]) }",
        // Neighbors around the ends, or one of two places.
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[if i == 0 { n - 1 } else { i - 1 }]) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[if i + 1 == n { 0 } else { i + 1 }]) }",
        "fn f(x: [f64; n], y: [f64; n]) -> [f64; n] { build(n, |i| x[if y[i] > 0.5 { i } else { n - 1 - i }]) }",
        // Ends that data decide, within those of the array.
        "fn f(x: [f64; n], k: [i64; m]) -> [f64; n] {
            let mut a = x;
            for i in 0..m { for j in 0..min(max(k[i], 0), n) { a[j] = a[j] * 0.9; } }
            a
        }",
        // The ends of windows.
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| { let mut s = 0.0; for j in max(0, i - 3)..min(n, i + 4) { s += x[j] * x[i]; } s }) }",
        "fn f(x: [f64; n], lo: i64, hi: i64) -> f64 { sum(x[lo..hi]) }",
        "fn f(a: [[f64; m]; n], lo: i64, hi: i64) -> [f64; n] { map(|r| sum(r[lo..hi]), a) }",
        "fn f(k: usize) -> [f64; k] { let t = build(k, |i| (i as f64).sin()); build(k, |i| if i < k - 1 { t[i + 1] } else { 0.0 }) }",
        "fn f(x: [[f64; m]; n]) -> [f64; n * m] { build(n * m, |k| x[k / m][k % m]) }",
        "fn f(x: [[f64; 3]; n]) -> [f64; 3 * n] { build(3 * n, |k| x[k / 3][k % 3]) }",
        "fn f(x: [[[f64; c]; b]; a]) -> [f64; a * b * c] { build(a * b * c, |k| x[k / (b * c)][k / c % b][k % c]) }",
        "fn f(x: [f64; n], at: [i64; n]) -> [f64; n] { build(n, |i| x[at[i].rem_euclid(n)]) }",
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
        "fn f(x: [[f64; m]; n]) -> [f64; n * m] { build(n * m, |k| x[(k + 1) / m][k % m]) }",
        "fn f(x: [f64; n], y: [f64; m]) -> [f64; m] { build(m, |i| x[(i - 9) / 2] + y[i]) }",
        "fn f(x: [f64; n], i: i64) -> f64 { if i < n { x[i] } else { 0.0 } }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[min(i + 1, n)]) }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[max(i - 1, -1)]) }",
        "fn f(x: [f64; n], k: i64) -> [f64; n] { build(n, |i| x[min(i + k, n - 1)]) }",
        "fn f(x: [f64; n], y: [f64; m]) -> [f64; m] { build(m, |i| x[min(i, n - 1)] + y[i]) }",
        // It may be read before the loop over `i`, whose points are what says that there is a last element.
        "fn f(x: [f64; n], y: [f64; m]) -> [[f64; m]; n] { build((n, m), |i, j| x[min(j, n - 1)] * y[j] + x[i]) }",
        // An integer that may have wrapped is not as large as its polynomial.
        "fn f(x: [f64; n], m: i64) -> [f64; m] { build(m, |i| if i + 9223372036854775807 < n { x[i + 9223372036854775807] } else { 0.0 }) }",
        "fn f(x: [f64; n], k: i64) -> f64 { if k > 0 && k + 9223372036854775807 < n { x[k + 9223372036854775807] } else { 0.0 } }",
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[(i + 9223372036854775807) / 2 % n]) }",
    ] {
        assert_eq!(checked_reads(text), 1, "{}", print(&program(text)));
    }
}

/// What the indices are the axes of needs no check, neither before the loops nor inside, in the derivatives neither.
#[test]
fn the_usual_forms_need_no_checks() {
    for text in [
        "fn f(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] { matmul(a, b) }",
        "fn f(a: [[f64; m]; n], x: [f64; m]) -> [f64; n] { matvec(a, x) }",
        "fn f(a: [[[f64; k]; m]; n]) -> [[[f64; k]; n]; m] { transpose(a) }",
        "fn f(a: [[[f64; k]; m]; n]) -> [[[f64; n]; m]; k] { permute(a, [2, 1, 0]) }",
        "fn f(x: [f64; n], y: [f64; n]) -> [f64; n] { map(|a, b| a.sin() * b, x, y) }",
        "fn f(a: [[f64; m]; n], b: [f64; m]) -> [[f64; m]; n] { (a + b).tanh() }",
        "fn f(a: [[f64; m]; n]) -> [f64; n] { sum(a * a) / prod(a) }",
        "fn f(a: [[f64; m]; n]) -> [f64; n] { maximum(a) - minimum(a) + mean(a) }",
        "fn f(a: [[f64; m]; n]) -> [f64; m] { sum(transpose(a)) }",
        "fn f(x: [f64; n]) -> f64 { reduce(|a, b| a + b + a * b, 0.0, x) }",
        "fn f(x: [f64; n]) -> [f64; n] { cumsum(x) * cumprod(x) }",
        "fn f(a: [[f64; m]; n]) -> [[f64; m]; n] { softmax(a) }",
        "fn f(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; n]; m] { einsum!(\"ij,jk->ki\", a, b) }",
        "fn f(x: [f64; n], y: [f64; m]) -> [f64; n + m] { concat(x, y) }",
        "fn f(x: [f64; n]) -> [f64; n] { reverse(x) + x }",
        "fn f(x: [f64; n], at: [i64; n]) -> [f64; 9] { hist(add, 0.0, 9, at, x) }",
    ] {
        let p = program(text);
        let derivatives =
            [Derivative::Vjp, Derivative::Jvp].map(|d| pipeline::derivative(&p, d).expect("has one"));
        for p in [&p, &derivatives[0], &derivatives[1]] {
            assert_eq!(remaining(p), [], "{text}\n{}", print(p));
        }
    }
}

/// What is proven of a number of the host level holds where loops are made, which compute it first.
#[test]
fn counts_made_of_sizes_prove_reads_in_loops() {
    let p = program(
        "fn f(n: usize) -> [f64; n] { let mut x = ones(n); for t in 34..n - 1 { x[t + 1] = x[t] + x[t - 34]; } x }",
    );
    assert_eq!(print(&p).matches("]?").count(), 0, "{}", print(&p));
    let loops = printed(&pipeline::scheduled(&p, Target::Cpu));
    assert_eq!(loops.matches("]?").count(), 0, "{loops}");
}

#[test]
fn what_is_checked_says_why() {
    let tells = |text: &str, why: &[&str]| {
        let found: Vec<String> = remaining(&program(text)).into_iter().map(|(_, why)| why).collect();
        assert_eq!(found, why, "{}", print(&program(text)));
    };
    tells(
        "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| x[i + 1]) }",
        &["each read of `x`: the index goes from 1 to n, of n"],
    );
    tells(
        "fn f(a: [[f64; m]; n], is: [i64; k]) -> [f64; k] { build(k, |j| a[is[j]][2]) }",
        &["each read of `a`: index 0 is decided by `is`, index 1 is 2, of m"],
    );
    tells(
        "fn f(x: [f64; n], t: [f64; k]) -> [f64; k] { build(k, |j| x[(t[j] * 2.0) as i64]) }",
        &["each read of `x`: the index is decided by floats"],
    );
    tells(
        "fn f(x: [f64; n], i: i64) -> f64 { if i < n { x[i] } else { 0.0 } }",
        &["each read of `x`: the index is decided by `i`"],
    );
    tells(
        "fn f(x: [f64; n], k: i64) -> f64 { sum(x[..k]) }",
        &["once, that k is not negative", "once, that k is at most n"],
    );
    tells(
        "fn f(a: [[f64; m]; n], k: i64) -> [f64; n] { map(|r| sum(r[k..]), a) }",
        &[
            "once, that k is not negative, where n is positive",
            "once, that k is at most m, where n is positive",
        ],
    );
    tells(
        "fn f(i: i64, k: i64) -> i64 { i / k + i / 2 }",
        &["each division of integers: the divisor is no constant"],
    );
}

/// A pair of a quotient and a remainder is each pair once, so what is added there is stored.
#[test]
fn flat_indices_are_pairs_of_indices() {
    let source = "fn f(x: [[f64; m]; n]) -> f64 { sum(build(n * m, |k| x[k / m][k % m] * x[k / m][k % m])) }";
    let gradient = pipeline::derivative(&program(source), Derivative::Grad).expect("a gradient");
    assert!(!print(&gradient).contains("]?"), "{}", print(&gradient));
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
            let found = loops::run(&l, target, &args);
            assert!(matches!(found, Err(Fault::IndexOutOfRange { index: 7, .. })), "{found:?}");
        }
    }
}
