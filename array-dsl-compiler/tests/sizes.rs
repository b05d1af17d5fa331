//! Sizes computed and checked inside `build`, through every stage and both modes of differentiation.

use array_dsl_compiler::bulk;
use array_dsl_compiler::core::{self, Exp, Function};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare::{Checked, derivatives, values};
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Fault, Value};

fn floats(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("as many as there are places")
}

fn integer(i: i64) -> Value {
    Value::from_i64(Elem::I64, Vec::new(), &[i]).expect("a number")
}

fn matrix() -> Value {
    floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
}

/// The kernel gives these numbers in every stage, and its derivatives agree.
fn gives(source: &str, args: &[Value], expected: &[f64]) {
    let f = kernel(source);
    let found = meaning::run(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(found[0].to_f64(), expected, "{source}");
    assert_eq!(values(&f, args), Ok(Checked::Agree), "{source}");
    let p = pipeline::middle(&f).expect("its derivatives exist");
    let done = derivatives(&p, args, 1, 2, false).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert!(done.identities > 0 || !Derivative::Vjp.exists(&p), "{source}");
}

fn checks(f: &Function) -> usize {
    f.body
        .stms
        .iter()
        .filter(|s| matches!(&s.exp, Exp::Check(c) if matches!(c.kind, core::CheckKind::Equal(..))))
        .count()
}

#[test]
fn sizes_that_do_not_depend_on_the_index_are_computed_before() {
    let a = [matrix()];
    gives(
        "fn f(a: [[f64; m]; n]) -> [f64; n] { build(n, |i| sum(build(m / 2, |j| a[i][j] * a[i][j]))) }",
        &a,
        &[1.0, 16.0],
    );
    gives(
        "fn f(a: [[f64; m]; n]) -> [f64; n] { map(|r| { let h = (r.len() + 1) / 2; sum(r[..h]) }, a) }",
        &a,
        &[3.0, 9.0],
    );
    gives("fn f(a: [[f64; m]; n]) -> [[f64; _]; n] { map(|r| r[m % 2..], a) }", &a, &[2.0, 3.0, 5.0, 6.0]);
    // In a branch that is not taken as well.
    gives("fn f(a: [[f64; m]; n]) -> f64 { if n > 2 { sum(a[0][..m / 2]) } else { a[0][0] } }", &a, &[1.0]);
    for (body, reason) in [
        ("build(n, |i| sum(build(i / 2, |j| 1.0)))", "depends on `i`"),
        ("build(n, |i| sum(build(n, |j| sum(build(i + j - j, |k| 1.0)))))", "depends on `i`"),
        ("map(|r| sum(build(r[0] as i64, |j| 1.0)), a)", "depends on an element of `a`"),
        ("build(n, |i| sum(build(m / (n - 2), |j| 1.0)))", "a quotient by what may be zero"),
    ] {
        let found = compile(&format!("fn f(a: [[f64; m]; n]) -> [f64; n] {{ {body} }}"))
            .expect_err("it is computed for each row");
        assert!(found[0].contains("AD0009") && found[0].contains(reason), "{found:?}");
    }
}

#[test]
fn sizes_computed_alike_are_one_size() {
    for body in [
        "build(n / 2, |i| x[i]) * build(n / 2, |i| x[i + n / 2])",
        "build((n + 1) / 2, |i| x[i]) * x[..(1 + n) / 2]",
    ] {
        let source = format!("fn f(x: [f64; n]) -> [f64; _] {{ {body} }}");
        assert_eq!(checks(&kernel(&source)), 0, "{source}");
    }
    gives(
        "fn f(x: [f64; n]) -> [f64; _] { build(n / 2, |i| x[i]) * build(n / 2, |i| x[i + n / 2]) }",
        &[floats(&[4], &[1.0, 2.0, 3.0, 4.0])],
        &[3.0, 8.0],
    );
    let f = kernel("fn f(x: [f64; n]) -> [f64; _] { build(n / 2, |i| x[i]) * build(n / 3, |i| x[i]) }");
    assert_eq!(checks(&f), 1);
}

#[test]
fn arrays_from_outside_under_sizes_that_are_checked_inside() {
    // The checks hold only if there are rows; without rows nothing of these arrays is read.
    for (body, second, expected) in [
        ("build(n, |i| sum(a[i] * y))", 3, [14.0, 32.0]),
        ("map(|r| sum(r * [1.0, 0.0, 2.0]), a)", 3, [7.0, 16.0]),
        ("map(|r| { let z: [f64; m + 1] = y; r[0] * z[m] }, a)", 4, [4.0, 16.0]),
        ("map(|r| { let z = reshape(y, (2, m - 1)); r[0] * z[1][0] }, a)", 4, [3.0, 12.0]),
        ("map(|r| { let mut z: [f64; m] = y; z[0] += r[1]; sum(z * r) }, a)", 3, [16.0, 52.0]),
        ("map(|r| { let z: [f64; m] = y; sum(sort(z) * r) }, a)", 3, [14.0, 32.0]),
    ] {
        let source = format!("fn f(a: [[f64; m]; n], y: [f64; _]) -> [f64; n] {{ {body} }}");
        let y: Vec<f64> = (1..=second).map(f64::from).collect();
        gives(&source, &[matrix(), floats(&[y.len()], &y)], &expected);
        let f = kernel(&source);
        assert_eq!(
            values(&f, &[floats(&[0, 3], &[]), floats(&[2], &[1.0, 2.0])]),
            Ok(Checked::Agree),
            "{source}"
        );
        if !body.contains("[1.0, 0.0") {
            assert_eq!(values(&f, &[matrix(), floats(&[2], &[1.0, 2.0])]), Ok(Checked::Fault), "{source}");
        }
        let mut agree = 0;
        for seed in 0..24 {
            let args =
                arguments_within(&f, seed, &Ranges { sizes: (0, 4), integers: (0, 1), floats: (-1.0, 1.0) });
            let checked = values(&f, &args).unwrap_or_else(|e| panic!("{e}\n{source}"));
            agree += usize::from(checked == Checked::Agree);
        }
        assert!(agree > 0, "{source}");
    }
}

/// A loop does not take over the memory of a number that is a size as well: it is needed as long as there are arrays of that size.
#[test]
fn a_loop_may_begin_with_a_size() {
    let x = [floats(&[5], &[1.0, 2.0, 3.0, -1.0, 2.0])];
    let begin = "let mut k = 0; while k < n && x[k] > 0.0 { k += 1; } let mut j = k;";
    for (body, expected) in [
        ("while j < 100 { j = j * 2 + 1; } sum(x[..k]) + j as f64", 133.0),
        ("let a = x[..k] * 2.0; for t in 0..3 { j = j * 2 + t; } sum(a) + j as f64 + a.len() as f64", 43.0),
        ("while j < 100 { j = j * 2 + 1; } sum(build(k, |i| sum(x[i..i + 1]))) + j as f64", 133.0),
    ] {
        gives(&format!("fn f(x: [f64; n]) -> f64 {{ {begin} {body} }}"), &x, &[expected]);
    }
}

/// In a branch sizes are checked where it is taken, and where a point decides that, for all points that may take it.
#[test]
fn sizes_in_branches() {
    let x = floats(&[3], &[1.0, 2.0, 3.0]);
    let int = |i: i64| Value::from_i64(Elem::I64, Vec::new(), &[i]).expect("a number");
    let of = |k: i64, c: i64| [x.clone(), int(k), int(c)];
    let fails = |k, c| (of(k, c), None);
    let is = |k, c, expected: &[f64]| (of(k, c), Some(expected.to_vec()));
    // An extent, the start and the end of a slice, that there is an element, that a step is positive.
    for (body, runs) in [
        (
            "[if c > 0 { zeros(k).len() as f64 } else { 7.0 }]",
            vec![is(2, 1, &[2.0]), fails(-1, 1), is(-1, 0, &[7.0])],
        ),
        (
            "[if c > 0 { windows(x, k).flatten().sum() } else { 7.0 }]",
            vec![is(4, 1, &[0.0]), fails(5, 1), is(5, 0, &[7.0])],
        ),
        (
            "[if 1 < 2 { windows(x, k) } else { windows(x, k) }.len() as f64]",
            vec![is(4, 0, &[0.0]), fails(5, 0), fails(-1, 0)],
        ),
        (
            "[if c > 0 { x[k..].len() as f64 } else { 7.0 }]",
            vec![is(3, 1, &[0.0]), fails(4, 1), is(4, 0, &[7.0])],
        ),
        (
            "[if c > 0 { x[..k].sum() } else { 7.0 }]",
            vec![is(2, 1, &[3.0]), fails(4, 1), fails(-1, 1), is(4, 0, &[7.0])],
        ),
        (
            "[if c > 0 { argmin(x[..k]) as f64 } else { 7.0 }]",
            vec![is(1, 1, &[0.0]), fails(0, 1), is(0, 0, &[7.0])],
        ),
        (
            "[if c > 0 { x.step_by(k).sum() } else { 7.0 }]",
            vec![is(2, 1, &[4.0]), fails(0, 1), is(0, 0, &[7.0])],
        ),
        // Several conditions, and no comparison.
        (
            "[match c { 0 => 7.0, 1 => x[..k].len() as f64, _ => if k == 9 { 8.0 } else { x[k..].len() as f64 } }]",
            vec![is(4, 0, &[7.0]), fails(4, 1), fails(4, 2), is(9, 2, &[8.0]), is(1, 2, &[2.0])],
        ),
        (
            "[if c > 0 && k > 0 { x[..k].len() as f64 } else { 7.0 }]",
            vec![is(-1, 1, &[7.0]), is(4, 0, &[7.0]), fails(4, 1), is(3, 1, &[3.0])],
        ),
        ("[if x[1] > c as f64 { x[..k].len() as f64 } else { 7.0 }]", vec![fails(4, 1), is(4, 2, &[7.0])]),
        // Within a loop, where the condition is of no point.
        (
            "build(2, |i| if c * c > 1 { x[..k].sum() } else { 7.0 })",
            vec![is(4, 1, &[7.0, 7.0]), fails(4, 2), is(2, 2, &[3.0, 3.0])],
        ),
        (
            "build(c, |i| if k < 0 { zeros(k).len() as f64 } else { 7.0 })",
            vec![fails(-1, 1), is(-1, 0, &[]), is(0, 1, &[7.0])],
        ),
        // Of a point's index: no point takes the branch.
        (
            "{ let z = zeros(n - 3); build(n, |i| if i < z.len() { zeros(n - 4).len() as f64 } else { 7.0 }) }",
            vec![is(0, 0, &[7.0, 7.0, 7.0])],
        ),
        // And where one of several conditions can be computed before.
        (
            "x.map(|v| if k > 0 && v > 2.0 { zeros(k).len() as f64 } else { 7.0 })",
            vec![is(-1, 0, &[7.0, 7.0, 7.0]), is(2, 0, &[7.0, 7.0, 2.0])],
        ),
        (
            "x.map(|v| if v > 2.0 && !(k < c * c) { zeros(k - c * c).len() as f64 } else { 7.0 })",
            vec![is(1, 2, &[7.0, 7.0, 7.0]), is(7, 2, &[7.0, 7.0, 3.0])],
        ),
        (
            "x.map(|v| if v <= 2.0 || k < 0 { 7.0 } else { zeros(k).len() as f64 })",
            vec![is(-1, 0, &[7.0, 7.0, 7.0]), is(2, 0, &[7.0, 7.0, 2.0])],
        ),
        // Of a point's data: all need the size, but an element is looked for only where it is read.
        (
            "x.map(|v| if v > 2.0 { zeros(k).len() as f64 } else { 7.0 })",
            vec![fails(-1, 0), is(2, 0, &[7.0, 7.0, 2.0])],
        ),
        (
            "x.map(|v| if v > 3.0 { x[..k].sum() } else { 7.0 })",
            vec![is(4, 0, &[7.0, 7.0, 7.0]), fails(-1, 0)],
        ),
        (
            "x.map(|v| if v > 2.0 { x[..k].sum() } else { 7.0 })",
            vec![fails(4, 0), is(2, 0, &[7.0, 7.0, 3.0])],
        ),
        (
            "x.map(|v| if v > 3.0 { x[k..].sum() } else { 7.0 })",
            vec![fails(4, 0), is(3, 0, &[7.0, 7.0, 7.0])],
        ),
        // Called, with a number and with one that is a point's.
        ("[chosen(x, k, c)]", vec![is(-1, 0, &[7.0]), fails(-1, 1), is(1, 1, &[1.0])]),
        (
            "build(2, |i| chosen(x, k, c * c))",
            vec![is(-1, 0, &[7.0, 7.0]), fails(-1, 1), is(1, 1, &[1.0, 1.0])],
        ),
        ("build(2, |i| chosen(x, k, x[i] as i64 - 1))", vec![fails(-1, 0), is(2, 0, &[7.0, 2.0])]),
        // In a loop of which nobody knows before whether it makes trips.
        (
            "{ let mut s = 0.0; let mut i = 0; while i < c { s += zeros(k).len() as f64; i += 1; } [s] }",
            vec![is(2, 2, &[4.0]), fails(-1, 1)],
        ),
    ] {
        let source = format!(
            "fn chosen(x: [f64; n], k: i64, c: i64) -> f64 {{ if c > 0 {{ zeros(k).len() as f64 }} else {{ 7.0 }} }}
             fn f(x: [f64; n], k: i64, c: i64) -> [f64; _] {{ {body} }}"
        );
        for (args, expected) in runs {
            match expected {
                Some(expected) => gives(&source, &args, &expected),
                None => {
                    let f = kernel(&source);
                    let found = meaning::run(&f, &args);
                    assert!(found.is_err(), "{source}\n{args:?}: {found:?}");
                    assert_eq!(values(&f, &args), Ok(Checked::Fault), "{source}");
                }
            }
        }
    }
}

/// In a batch the condition may differ from row to row: then what it guards is checked for all of them.
#[test]
fn sizes_in_branches_of_batches() {
    let f = kernel("fn f(c: f64, x: [f64; n]) -> f64 { if c > 0.0 { sum(x[..n - 2]) } else { 7.0 } }");
    let p = pipeline::middle(&f).expect("no derivative inside");
    let batch = pipeline::derivative(&p, Derivative::Vmap).expect("the sizes are the same for each row");
    let run = |rows: &[f64]| {
        let n = rows.len() / 2;
        bulk::interp::run(&batch, &[floats(&[2], &[1.0, -1.0]), floats(&[2, n], rows)])
    };
    assert_eq!(run(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("a batch")[0].to_f64(), [1.0, 7.0]);
    assert!(matches!(run(&[1.0, 2.0]), Err(Fault::SizeCheck { .. })));
}

/// The product of two negative sizes is positive; in a branch that is not taken nobody has refused them.
#[test]
fn negative_sizes_of_a_branch_that_is_not_taken() {
    for made in [
        "sum(cumsum(flatten(q)))",
        "sort(flatten(q))[0]",
        "sum(flatten(q)) + (argsort(flatten(q))[1] as f64)",
        "sum(scatter_add(zeros(n * m), argsort(flatten(q)), flatten(q)))",
        "{ let mut s = flatten(q); s[0] = 2.0; for i in 0..n { s[i] = s[i + 1] * x[0]; } s[1] }",
        "dot(flatten(q), reverse(flatten(q)))",
        "1.0",
    ] {
        let source = format!(
            "fn f(x: [f64; k], n: i64, m: i64, on: i64) -> f64 {{
                if on > 0 {{ let q = build((n, m), |i, j| x[0] * ((i + j) as f64)); {made} }} else {{ 0.0 }}
            }}"
        );
        for (n, m) in [(-1, -2), (-2, -2), (-2, 3), (0, -1)] {
            gives(&source, &[floats(&[1], &[2.0]), integer(n), integer(m), integer(0)], &[0.0]);
        }
    }
}
