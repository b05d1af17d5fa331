//! Sorting and filtering through every stage and both modes of differentiation.

use array_dsl_compiler::core::{self, Function};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::compare::{Checked, derivatives, values};
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Fault, Scalar, Value, approx_eq};
use array_dsl_compiler::{bulk, emit, loops, pipeline};

/// Every stage gives the same for several arguments, and Bulk is what its text says; derivatives agree to `order`.
fn check(source: &str, order: usize) {
    check_core(&kernel(source), source, order);
}

fn check_core(f: &Function, source: &str, order: usize) {
    let p = pipeline::middle(f).expect("its derivatives exist");
    let text = bulk::print::print(&p);
    let again = bulk::parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(bulk::print::print(&again), text);
    let (mut ran, mut identities) = (0, 0);
    for seed in 0..8 {
        let sizes = [(0, 4), (0, 0), (1, 1), (5, 7)][seed as usize % 4];
        let floats = if seed % 2 == 0 { (0.2, 1.4) } else { (-1.5, 1.5) };
        let args = arguments_within(f, seed, &Ranges { sizes, integers: (0, 3), floats });
        match values(f, &args) {
            Ok(Checked::Agree) => ran += 1,
            Ok(_) => continue,
            Err(e) => panic!("seed {seed}: {e}\n{source}\n{text}"),
        }
        if order > 0 {
            match derivatives(&p, &args, seed, order, false) {
                Ok(done) => identities += done.identities,
                Err(e) => panic!("seed {seed}, derivatives: {e}\n{source}\n{text}"),
            }
        }
    }
    assert!(ran > 0, "never ran:\n{source}");
    let is_compared = order == 0 || identities > 0 || !Derivative::Vjp.exists(&p);
    assert!(is_compared, "no derivatives were compared\n{source}");
}

fn v(data: &[f64]) -> Value {
    array(&[data.len()], data)
}

fn array(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("a value")
}

fn ints(data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, vec![data.len()], data).expect("a value")
}

/// The kernel gives these values, in Core and in all stages after it.
fn gives(source: &str, args: &[Value], expected: &[Value]) {
    let f = kernel(source);
    let found = meaning::run(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(found.len(), expected.len(), "{source}");
    for (f, e) in found.iter().zip(expected) {
        approx_eq(f, e, 1e-12, 1e-12).unwrap_or_else(|m| panic!("{m}\n{source}"));
    }
    assert_eq!(values(&f, args), Ok(Checked::Agree), "{source}");
}

fn sorts(p: &loops::Program) -> Vec<loops::Sorted> {
    let sort = |s: &loops::Step| if let loops::Step::Sort(s) = s { Some(s.gives) } else { None };
    p.steps.iter().filter_map(sort).collect()
}

fn scheduled(source: &str, target: Target) -> loops::Program {
    pipeline::back(&pipeline::middle(&kernel(source)).expect("its derivatives exist"), target)
        .expect("verified")
        .into_inner()
}

#[test]
fn sorts_vectors() {
    check("fn f(x: [f64; n]) -> [f64; n] { sort(x.sin()) }", 2);
    check("fn f(x: [f64; n], w: [f64; n]) -> f64 { sum(sort(x) * w) }", 2);
    check("fn f(x: [f64; n], w: [f64; n]) -> [f64; n] { w.gather(argsort(x * w)) }", 2);
    check("fn f(x: [f32; n]) -> ([f32; n], [i64; n]) { (x.sort(), x.argsort()) }", 1);
    check(
        "fn f(k: [i64; n], x: [f64; n], y: [f64; n]) -> ([f64; n], [f64; n]) { sort_by_key(k, (x * y, y)) }",
        2,
    );
    check("fn f(k: [f64; n], x: [[f64; m]; n]) -> [[f64; m]; n] { sort_by_key(k.cos(), x) }", 1);
}

#[test]
fn sorts_rows() {
    check("fn f(x: [[f64; m]; n]) -> [[f64; m]; n] { sort(x) }", 2);
    check("fn f(x: [[f64; m]; n]) -> [[f64; n]; m] { map(|c| c.sort(), transpose(x)) }", 2);
    check("fn f(x: [[[f64; l]; m]; n]) -> [[[i64; l]; m]; n] { argsort(x) }", 0);
    check("fn f(k: [[f64; m]; n], x: [[f64; m]; n]) -> [[f64; m]; n] { sort_by_key(k, x) }", 1);
    // One sort for all rows of the result, whatever they do with it.
    let shared = "fn f(x: [f64; n], y: [f64; m]) -> [[f64; n]; m] { map(|a| sort(x) * a, y) }";
    check(shared, 2);
    assert_eq!(scheduled(shared, Target::Cpu).steps.len(), 2);
    let f = kernel(shared);
    let dims = |p: &bulk::Program| {
        let keys =
            |s: &bulk::Stm| if let bulk::Stm::Sort(s) = s { Some(p.array(s.keys).dims.len()) } else { None };
        p.stms.iter().filter_map(keys).collect::<Vec<_>>()
    };
    assert_eq!(dims(&pipeline::middle(&f).expect("its derivatives exist")), [1]);
}

#[test]
fn sorts_in_branches_and_loops() {
    check("fn f(x: [f64; n], c: f64) -> [f64; n] { if c > 0.5 { sort(x) * c } else { x } }", 2);
    check(
        "fn f(x: [[f64; m]; n]) -> [[f64; m]; n] { map(|r| if r.sum() > 1.0 { sort(r) } else { r }, x) }",
        2,
    );
    check(
        "fn first(x: [f64; n], k: i64) -> f64 { let s = sort(x); if k < n { s[k] } else { 0.0 } }
           fn f(x: [[f64; m]; n], k: i64) -> [f64; n] { first(x, k) }",
        2,
    );
}

#[test]
fn sorts_in_trips() {
    for (state, sort) in [("s.4", "argsort s.4"), ("s.4", "argsort a.1")] {
        let text = format!(
            "fn f(a.1: [n]f64) -> [n]f64 sizes n
             r.2: [n]f64 = loop for t.3 < 3 with s.4: [n]f64 from a.1 {{
               o.5: [n]i64 = {sort}
               y.6: [n]f64 = build [i.7 < n] {{
                 p.8: i64 = o.5[i.7]
                 e.9: f64 = {state}[p.8]
                 g.10: f64 = sin(e.9)
                 => g.10
               }}
               => y.6
             }}
             => r.2"
        );
        let f = core::parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(core::verify::check(&f), [""; 0], "{text}");
        check_core(&f, &text, 2);
    }
}

#[test]
fn order_and_ties() {
    let nan = f64::NAN;
    let x = v(&[2.0, nan, -1.0, f64::INFINITY, 0.0, -0.0, -1.0]);
    gives(
        "fn f(x: [f64; n]) -> ([i64; n], [f64; n]) { (argsort(x), sort(x)) }",
        &[x],
        &[ints(&[2, 6, 4, 5, 0, 3, 1]), v(&[-1.0, -1.0, 0.0, -0.0, 2.0, f64::INFINITY, nan])],
    );
    gives(
        "fn f(x: [i64; n]) -> [i64; n] { argsort(x % 2 == 0) }",
        &[ints(&[4, 3, 2, 1, 0])],
        &[ints(&[1, 3, 0, 2, 4])],
    );
}

#[test]
fn only_values_are_sorted_where_nothing_needs_the_positions() {
    use loops::Sorted::{Positions, Values};
    let cases: &[(&str, &[loops::Sorted])] = &[
        ("fn f(x: [f64; n]) -> [f64; n] { sort(x) }", &[Values]),
        ("fn f(x: [f64; n]) -> f64 { let s = sort(x.exp()); s.sum() * s[0] }", &[Values]),
        ("fn f(x: [[f64; m]; n]) -> [[f64; m]; n] { sort(x) }", &[Values]),
        ("fn f(x: [f64; n]) -> ([f64; n], [i64; n]) { (sort(x), argsort(x)) }", &[Positions]),
        ("fn f(x: [f64; n], y: [f64; n]) -> [f64; n] { sort_by_key(x, y) }", &[Positions]),
    ];
    for (source, expected) in cases {
        let l = scheduled(source, Target::Cpu);
        assert_eq!(sorts(&l), *expected, "{source}\n{}", loops::print::print(&l));
        check(source, 1);
    }
    // The gather by positions is not checked.
    let text = loops::print::print(&scheduled(cases[4].0, Target::Cpu));
    assert!(!text.contains('?'), "{text}");
}

#[test]
fn filters() {
    check("fn f(x: [f64; n]) -> f64 { filter(|v| v > 0.7, x.sin()).sum() }", 2);
    check(
        "fn f(x: [f64; n], y: [f64; n]) -> f64 { let (a, b) = filter(|(u, v)| u > v, (x, y)); sum(a * b) }",
        2,
    );
    check("fn f(x: [f64; n]) -> [f64; _] { filter(|v| v > 0.7, x * x) }", 0);
    check("fn f(x: [[f64; m]; n]) -> f64 { sum(flatten(filter(|r| r.sum() > 1.0, x) * 2.0)) }", 2);
    check("fn f(x: [f64; n]) -> f64 { let (a, b) = x.partition(|v| v > 0.6); a.sum() * b.prod() }", 2);
    check("fn f(x: [f64; n]) -> [f64; n] { let (a, b) = partition(|v| v > 0.6, x); concat(a, b) }", 2);
    check("fn f(x: [f64; n]) -> [f64; n] { let (a, b) = partition(|v| v > 0.6, x); concat(b.sort(), a) }", 2);
    check("fn f(x: [[f64; m]; n]) -> [i64; n] { map(|r| count(|v| v > 0.6, r), x) }", 0);
    check("fn f(x: [f64; n], p: [bool; n]) -> f64 { prod(filter(|(v, q)| q && v > 0.3, (x, p)).0) }", 2);
}

#[test]
fn kept_sizes_go_on() {
    check(
        "fn f(x: [f64; n]) -> f64 {
            let a: [f64; k] = filter(|v| v > 0.7, x);
            let b: [f64; k] = a * 2.0;
            let c = build(k, |i| a[i] * b[k - 1 - i]);
            sum(a + b + c) + (k as f64)
        }",
        2,
    );
    check(
        "fn big(x: [f64; n]) -> [f64; _] { let kept: [f64; k] = filter(|v| v > 0.7, x); kept / (k as f64) }
         fn f(x: [f64; n]) -> f64 { let b = big(x); sum(b * b) }",
        2,
    );
    // No check where sizes are the same.
    let one =
        kernel("fn f(x: [f64; n]) -> [f64; _] { let a = filter(|v| v > 0.0, x); let b = a * 2.0; a + b }");
    assert!(!core::print::print(&one).contains("check"));
}

#[test]
fn examples_of_the_literature() {
    gives(
        "fn f(a: [f64; n]) -> [f64; _] { filter(|x| x < 0.0, a) }",
        &[v(&[1., -2., 3., -4., -5.])],
        &[v(&[-2., -4., -5.])],
    );
    let rows = array(&[2, 3], &[1., -1., -2., -3., 4., 5.]);
    gives(
        "fn f(a: [[f64; m]; n]) -> [f64; n] { map(|r| sum(map(|x| if x < 0.0 { x } else { 0.0 }, r)), a) }",
        &[rows],
        &[v(&[-3., -3.])],
    );
    let two = "fn f(a: [f64; n]) -> [f64; _] { filter(|x| x < 0.0, a) + filter(|x| x < 1.0, a) }";
    gives(two, &[v(&[-1., 2., -3.])], &[v(&[-2., -6.])]);
    let fault = meaning::run(&kernel(two), &[v(&[-1., 0., -3.])]);
    assert!(matches!(&fault, Err(Fault::SizeCheck { message, .. }) if message.contains("kept")), "{fault:?}");
    assert_eq!(values(&kernel(two), &[v(&[-1., 0., -3.])]), Ok(Checked::Fault));
}

#[test]
fn all_none_and_nothing() {
    let source = "fn f(x: [f64; n], t: f64) -> ([f64; _], [f64; _], i64) {
        let (a, b) = partition(|v| v >= t, x);
        (a, b, count(|v| v >= t, x))
    }";
    let t = |t: f64| Value::scalar(Scalar::F64(t));
    let n = |n: i64| Value::scalar(Scalar::I64(n));
    let x = v(&[3., 1., 2.]);
    gives(source, &[x.clone(), t(0.0)], &[x.clone(), v(&[]), n(3)]);
    gives(source, &[x.clone(), t(9.0)], &[v(&[]), x.clone(), n(0)]);
    gives(source, &[x, t(2.0)], &[v(&[3., 2.]), v(&[1.]), n(2)]);
    gives(source, &[v(&[]), t(0.0)], &[v(&[]), v(&[]), n(0)]);
}

/// All stages give the same, with what has no order, and stably.
#[test]
fn what_has_no_order() {
    let source = "fn f(x: [f64; n], i: [i64; n]) -> ([f64; n], [i64; n], [i64; n], [i64; n]) {
        (sort(x), argsort(x), argsort(i), argsort(map(|i| i > 3, i)))
    }";
    let f = kernel(source);
    for n in 0..=35 {
        let x: Vec<f64> = (0..n)
            .map(|i| match i % 7 {
                3 => f64::NAN,
                4 => -0.0,
                5 => [f64::INFINITY, f64::NEG_INFINITY, 0.0][i % 3],
                _ => ((i * 37) % 11) as f64 - 5.0,
            })
            .collect();
        let i: Vec<i64> = (0..n as i64).map(|i| i * 5 % 8).collect();
        assert_eq!(values(&f, &[v(&x), ints(&i)]), Ok(Checked::Agree), "{n}");
    }
}

#[test]
fn what_a_gpu_takes() {
    let emitted = |source: &str| {
        let p =
            pipeline::back(&pipeline::middle(&kernel(source)).expect("its derivatives exist"), Target::Gpu)
                .expect("verified");
        emit::wgsl::emit(&p).map(|_| ())
    };
    // A size that the device computes is read back.
    for source in [
        "fn f(x: [f32; n]) -> [f32; n] { sort(x) }",
        "fn f(x: [bool; n], y: [[i32; m]; n]) -> ([i64; n], [[i32; m]; n]) { (argsort(x), sort(y)) }",
        "fn f(x: [f32; n]) -> [f32; _] { filter(|v| v > 0.0, x) }",
        "fn f(x: [f32; n]) -> f32 { sum(filter(|v| v > 0.0, x).sqrt()) }",
        "fn f(x: [f32; n]) -> i32 { count(|v| v > 0.0, x) as i32 }",
    ] {
        assert_eq!(emitted(source), Ok(()), "{source}");
    }
}

#[test]
fn what_is_refused() {
    let cases = [
        (
            "fn f(x: [[f64; m]; n]) -> [[f64; _]; n] { map(|r| filter(|v| v > 0.0, r), x) }",
            "depends on the row",
        ),
        (
            "fn f(x: [[f64; m]; n]) -> [f64; n] { build(n, |row| sum(filter(|v| v > 0.0, x[row]))) }",
            "index `row`",
        ),
        (
            "fn f(x: [f64; n], c: f64) -> f64 { if c > 0.0 { filter(|v| v > 0.0, x).sum() } else { 0.0 } }",
            "a condition",
        ),
        (
            "fn g(x: [f64; n]) -> f64 { filter(|v| v > 0.0, x).sum() } fn f(x: [[f64; m]; n]) -> [f64; n] { g(x) }",
            "depends on",
        ),
        ("fn f(x: [f64; n]) -> [f64; _] { filter(|v| v, x) }", "expected bool"),
        ("fn f(x: [[f64; m]; n]) -> [[f64; m]; _] { filter(|r| r > 0.0, x) }", "must be a bool"),
        ("fn f(x: f64) -> [f64; _] { filter(|v| v > 0.0, x) }", "expects arrays"),
        ("fn f(x: f64) -> f64 { sort(x) }", "expects a vector"),
        ("fn f(x: [f64; n], y: [f64; m]) -> [f64; m] { sort_by_key(x, y) }", "used as one"),
        ("fn f(x: [f64; n], y: f64) -> f64 { sort_by_key(x, y) }", "arrays of that length"),
        ("fn f(x: [f64; n]) -> [f64; k] { let a: [f64; k] = filter(|v| v > 0.0, x); a }", "size `k`"),
        ("fn f(x: [f64; n]) -> [f64; n] { let a: [f64; k] = x; a }", "unknown size `k`"),
    ];
    for (source, expected) in cases {
        let errors = compile(source).err().unwrap_or_default();
        assert!(errors.iter().any(|e| e.contains(expected)), "{source}\n{errors:#?}");
    }
}
