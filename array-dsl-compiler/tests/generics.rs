//! Generic kernels, and kernels that take functions.

use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare;
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Value, approx_eq};

const RELU: &str = "fn relu<T: Float>(x: T) -> T { max(x, 0.0) }";
const BISECT: &str = "fn bisect(f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> f64 {
    let mut lo = lo;
    let mut hi = hi;
    for i in 0..60 {
        let mid = 0.5 * (lo + hi);
        if f(lo) * f(mid) <= 0.0 { hi = mid; } else { lo = mid; }
    }
    0.5 * (lo + hi)
}";
const NEWTON: &str = "fn newton<T: Float>(f: impl Fn(T) -> T, x: T) -> T {
    let mut x = x;
    for i in 0..6 { x = x - f(x) / grad(f)(x); }
    x
}";
const DOT: &str = "fn dot2<T: Number>(x: [T; n], y: [T; n]) -> T { sum(x * y) }";
const TWICE: &str = "fn twice<A>(f: impl Fn(A) -> A, x: A) -> A { f(f(x)) }";
const APPLY: &str =
    "fn rows(f: impl Fn([f64; m]) -> f64, a: [[f64; m]; n]) -> [f64; n] { build(n, |i| f(a[i])) }";
const PAIR: &str =
    "fn both<T: Float, I: Integer>((x, k): (T, I), s: T) -> (T, I) { (x * s + k as T, k + 1) }";

fn value(elem: Elem, shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(elem, shape.to_vec(), data).expect("a value")
}

fn floats(data: &[f64]) -> Value {
    value(Elem::F64, &[data.len()], data)
}

fn scalar(x: f64) -> Value {
    value(Elem::F64, &[], &[x])
}

/// The kernel `f` with the generic ones before it gives this, in every IR, and its derivatives agree where asked.
fn gives(before: &[&str], f: &str, args: &[Value], expected: &[Value], differentiable: bool) {
    let source = format!("{} {f}", before.join(" "));
    let f = kernel(&source);
    let found = meaning::run(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(found.len(), expected.len(), "{source}");
    for (a, b) in found.iter().zip(expected) {
        approx_eq(a, b, 1e-9, 1e-9).unwrap_or_else(|e| panic!("{e}\n{source}"));
    }
    let checked = compare::values(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(checked, compare::Checked::Agree, "{source}");
    if differentiable {
        let p = pipeline::middle(&f).expect("its derivatives exist");
        let done = compare::derivatives(&p, args, 5, 1, false).unwrap_or_else(|e| panic!("{e}\n{source}"));
        assert!(done.identities > 0, "{source}");
    }
}

#[test]
fn element_types_come_from_the_arguments() {
    let x = [-1.0, 0.5, 2.0];
    gives(
        &[RELU],
        "fn f(x: [f64; n]) -> [f64; n] { relu(x) }",
        &[floats(&x)],
        &[floats(&[0.0, 0.5, 2.0])],
        true,
    );
    let single = value(Elem::F32, &[3], &x);
    gives(
        &[RELU],
        "fn f(x: [f32; n]) -> [f32; n] { map(relu, x) }",
        &[single],
        &[value(Elem::F32, &[3], &[0.0, 0.5, 2.0])],
        false,
    );
    // A literal takes the type that the context wants.
    gives(
        &[RELU],
        "fn f(x: f32) -> f32 { relu(-1.5) + relu(x) }",
        &[value(Elem::F32, &[], &[2.0])],
        &[value(Elem::F32, &[], &[2.0])],
        false,
    );
    let whole = Value::from_i64(Elem::I64, vec![2], &[3, 4]).expect("a value");
    let sum = Value::from_i64(Elem::I64, vec![], &[25]).expect("a value");
    gives(&[DOT], "fn f(k: [i64; n]) -> i64 { dot2(k, k) }", &[whole], &[sum], false);
    gives(&[DOT], "fn f(x: [f64; m]) -> f64 { dot2(x, x) }", &[floats(&[3.0, 4.0])], &[scalar(25.0)], true);
    // Lifted over rows.
    let a = value(Elem::F64, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    gives(
        &[DOT],
        "fn f(a: [[f64; m]; n], x: [f64; m]) -> [f64; n] { dot2(a, x) }",
        &[a, floats(&[1.0, 10.0])],
        &[floats(&[21.0, 43.0])],
        true,
    );
    let k = Value::from_i64(Elem::I64, vec![], &[2]).expect("a value");
    let next = Value::from_i64(Elem::I64, vec![], &[3]).expect("a value");
    gives(
        &[PAIR],
        "fn f(x: f64, k: i64) -> (f64, i64) { both((x, k), 10.0) }",
        &[scalar(1.5), k],
        &[scalar(17.0), next],
        true,
    );
}

/// A function that is passed on keeps the sizes of where it was declared, whatever those are called where it goes.
#[test]
fn functions_are_passed_on() {
    const INNER: &str = "fn inner<T: Float>(g: impl Fn([T; n]) -> [T; n], x: [T; n]) -> [T; n] { g(g(x)) }";
    const AROUND: &str = "fn around<T: Float>(f: impl Fn([T; n]) -> [T; k], x: [T; n], m: [[T; k]; n]) -> [T; n] { inner(|y| matvec(m, f(y)), x) }";
    const ALONG: &str =
        "fn along<T: Float>(f: impl Fn([T; k]) -> [T; k], x: [T; k]) -> [T; k] { inner(f, f(x)) }";
    let f = "fn f(x: [f64; n], m: [[f64; n]; n]) -> [f64; n] { around(|y| sin(y), x, m) + along(|y| 2.0 * y, x) }";
    compile(&[INNER, AROUND, ALONG, f].join(" ")).unwrap_or_else(|e| panic!("{e:?}"));
    let one = value(Elem::F64, &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    let twice = |x: f64| x.sin().sin() + 8.0 * x;
    let expected = floats(&[twice(0.5), twice(-1.0)]);
    gives(&[INNER, AROUND, ALONG], f, &[floats(&[0.5, -1.0]), one], &[expected], true);
}

#[test]
fn functions_are_closures_kernels_and_built_in_ones() {
    let root = scalar(2.0f64.sqrt());
    gives(
        &[BISECT],
        "fn f(a: f64) -> f64 { bisect(|x| x * x - a, 0.0, 3.0) }",
        &[scalar(2.0)],
        std::slice::from_ref(&root),
        false,
    );
    gives(
        &[BISECT, "fn g(x: f64) -> f64 { x * x - 2.0 }"],
        "fn f(hi: [f64; n]) -> [f64; n] { bisect(g, 0.0, hi) }",
        &[floats(&[2.0, 3.0])],
        &[floats(&[2.0f64.sqrt(); 2])],
        false,
    );
    gives(
        &[BISECT],
        "fn f(hi: f64) -> f64 { bisect(sin, 2.0, hi) }",
        &[scalar(4.0)],
        &[scalar(std::f64::consts::PI)],
        false,
    );
    // The derivative of a function that is passed, and the derivative of that.
    gives(&[NEWTON], "fn f(a: f64) -> f64 { newton(|x| x * x - a, 1.0) }", &[scalar(2.0)], &[root], true);
    gives(
        &[NEWTON],
        "fn f(a: [f64; n]) -> [f64; n] { build(n, |i| newton(|x| x * x * x - a[i], 1.5)) }",
        &[floats(&[2.0, 3.0])],
        &[floats(&[2.0f64.cbrt(), 3.0f64.cbrt()])],
        true,
    );
    gives(
        &[APPLY],
        "fn f(a: [[f64; m]; n]) -> [f64; n] { rows(sum, a) }",
        &[value(Elem::F64, &[2, 2], &[1.0, 2.0, 3.0, 4.0])],
        &[floats(&[3.0, 7.0])],
        true,
    );
    // A function of a scalar is lifted over what it is applied to, and passed on.
    gives(
        &[
            RELU,
            "fn each(f: impl Fn(f64) -> f64, x: [f64; n]) -> [f64; n] { f(x) }",
            "fn on(g: impl Fn(f64) -> f64, x: [f64; k]) -> f64 { sum(each(g, x)) }",
        ],
        "fn f(x: [f64; n]) -> f64 { on(relu, x) }",
        &[floats(&[-1.0, 2.0, 3.0])],
        &[scalar(5.0)],
        true,
    );
}

#[test]
fn what_may_be_anything_is_taken_whole() {
    gives(
        &[TWICE],
        "fn f(x: [f64; n]) -> [f64; n] { twice(|y| y * sum(y), x) }",
        &[floats(&[1.0, 1.0])],
        &[floats(&[8.0, 8.0])],
        true,
    );
    gives(
        &[TWICE],
        "fn f(x: f64) -> (f64, f64) { twice(|(a, b)| (b, a + b), (x, x)) }",
        &[scalar(1.0)],
        &[scalar(2.0), scalar(3.0)],
        true,
    );
    gives(
        &["fn last<A>(x: [A; n]) -> A { x[n - 1] }"],
        "fn f(a: [[f64; m]; n]) -> [f64; m] { last(a) }",
        &[value(Elem::F64, &[2, 2], &[1.0, 2.0, 3.0, 4.0])],
        &[floats(&[3.0, 4.0])],
        true,
    );
}

/// One type of several parameters: what has a lower rank is repeated.
#[test]
fn arguments_of_one_type_get_one_rank() {
    let triple = "fn triple<T>(x: T, y: T, z: T) -> (T, T, T) { (x, y, z) }";
    let matrices = "([[f64; m]; n], [[f64; m]; n], [[f64; m]; n])";
    let (a, v) = (value(Elem::F64, &[2, 2], &[1.0, 2.0, 3.0, 4.0]), floats(&[5.0, 6.0]));
    let (rows, all) =
        (value(Elem::F64, &[2, 2], &[5.0, 6.0, 5.0, 6.0]), value(Elem::F64, &[2, 2], &[7.0; 4]));
    gives(
        &[triple],
        &format!("fn f(a: [[f64; m]; n], v: [f64; m], s: f64) -> {matrices} {{ triple(a, v, s) }}"),
        &[a.clone(), v.clone(), scalar(7.0)],
        &[a.clone(), rows.clone(), all.clone()],
        true,
    );
    gives(
        &[triple],
        &format!("fn f(a: [[f64; m]; n], v: [f64; m], s: f64) -> {matrices} {{ triple(s, v, a) }}"),
        &[a.clone(), v, scalar(7.0)],
        &[all, rows, a],
        true,
    );
    gives(
        &[triple],
        "fn f(s: f64) -> (f64, f64, f64) { triple(s, 2.0, s) }",
        &[scalar(1.0)],
        &[1.0, 2.0, 1.0].map(scalar),
        true,
    );
}

/// Elements that are pairs: their arrays are stored apart.
#[test]
fn arrays_of_anything_are_arrays_of_pairs_as_well() {
    gives(
        &["fn last<A>(x: [A; n]) -> A { x[n - 1] }"],
        "fn f(a: [f64; n], b: [f64; n]) -> f64 { let (x, y) = last(zip(a, b)); x * y }",
        &[floats(&[1.0, 2.0]), floats(&[3.0, 4.0])],
        &[scalar(8.0)],
        true,
    );
}

/// Names and sizes of the caller and of the kernel are apart: each means what it means where it stands.
#[test]
fn names_mean_what_they_mean_where_they_stand() {
    let scale = "fn scale(x: f64) -> f64 { 10.0 * x }";
    let by = "fn by(f: impl Fn(f64) -> f64, x: [f64; k]) -> [f64; k] { let n = 100.0; map(|v| f(v) + n + k as f64, x) }";
    gives(
        &[scale, by],
        "fn f(x: [f64; n], y: [f64; k]) -> [f64; k] { let v = 1.0; by(|x| scale(x) + v + n as f64, y) }",
        &[floats(&[0.0]), floats(&[1.0, 2.0])],
        &[floats(&[114.0, 124.0])],
        true,
    );
}

#[test]
fn wrong_calls_and_definitions() {
    for (source, expected) in [
        (
            format!("{RELU} fn f(k: i64) -> i64 {{ relu(k) }}"),
            "[AD0005] kernel `relu`: `T` is a float (f32 or f64), found i64",
        ),
        (
            format!("{RELU} fn f(x: f64) -> f64 {{ relu(x, x) }}"),
            "[AD0004] kernel `relu` takes 1 argument, found 2",
        ),
        (
            format!("{BISECT} fn f(x: f64) -> f64 {{ bisect(x, x, x) }}"),
            "kernel `bisect`, argument `f`: expected impl Fn(f64) -> f64, found f64",
        ),
        (
            format!("{BISECT} fn f(x: f64) -> f64 {{ bisect(|a, b| a + b, x, x) }}"),
            "this closure has 2 parameters, but gets 1",
        ),
        (
            format!("{BISECT} fn f(x: [f64; n]) -> f64 {{ bisect(|a| a * x, 0.0, 1.0) }}"),
            "the result of `f` is declared as f64, found [f64; n]",
        ),
        (
            format!("{DOT} fn f(x: [f64; n], y: [f64; m]) -> f64 {{ dot2(x, y) }}"),
            "argument `y` of kernel `dot2`",
        ),
        (
            format!("{DOT} fn f(x: [f64; n], y: [f32; n]) -> f64 {{ dot2(x, y) }}"),
            "argument `y` of kernel `dot2`",
        ),
        // Found in the definition, whether it is called or not.
        ("fn g<T: Float>(x: T) -> T { x + y } fn f(x: f64) -> f64 { x }".into(), "[AD0002] unknown name `y`"),
        (
            "fn g(h: impl Fn(f64) -> f64) -> f64 { h(1.0, 2.0) } fn f(x: f64) -> f64 { x }".into(),
            "`h` takes 1 argument, found 2",
        ),
        (
            "fn g(h: impl Fn(f64) -> [f64; 2]) -> f64 { h(1.0) } fn f(x: f64) -> f64 { x }".into(),
            "the result is declared as f64, found [f64; 2]",
        ),
        (
            "#[kernel(f32, f64, f32)] fn g<T: Float>(x: T) -> T { x } fn f(x: f64) -> f64 { x }".into(),
            "`f32` is asked for twice",
        ),
        // Found only in calls.
        (
            "fn g<A>(x: A) -> A { x + n } fn f(x: [f64; n]) -> [f64; n] { g(x) }".into(),
            "in kernel `g`, which is generic: unknown name `n`",
        ),
    ] {
        let errors = compile(&source).err().unwrap_or_else(|| panic!("no error\n{source}"));
        assert!(errors.iter().any(|e| e.contains(expected)), "{source}\n{errors:#?}");
    }
}
