//! Every construct of the language, for both float types: through all stages, its derivatives in both modes and of second
//! order, by differences where there is a difference; empty arrays, one element, ties and zeros. The table that this
//! gives is `docs/constructs.md`; with `ARRAY_DSL_DOCS=write` it is written anew.

mod common;

use array_dsl_compiler::bulk;
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Callees;
use array_dsl_compiler::emit::wgsl;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::value::{Scalar, Value};

/// Name, and a body for `x, y: [T; n]`, `m: [[T; n]; n]`, `at: [i64; n]` with numbers of 0..4, `s: T`, and the result's type.
const CONSTRUCTS: &[(&str, &str, &str)] = &[
    ("arithmetic, scalar functions", "(x * y + s).sin() / (2.0 + x.abs().sqrt())", "[T; n]"),
    ("powers", "x.abs().powf(s) + x.powi(3)", "[T; n]"),
    ("`min`, `max`, `clamp`", "min(x, y) + max(x, s) * x.clamp(-0.5, 0.5)", "[T; n]"),
    ("`build`", "build(n, |i| x[i] * y[n - 1 - i])", "[T; n]"),
    ("`map`", "map(|a, b| a * b.exp(), x, y)", "[T; n]"),
    ("`if`", "map(|a| if a > s { a * a } else { -a }, x)", "[T; n]"),
    ("`match`", "build(n, |i| match at[i] { 0 => x[i], 1 | 2 => s * x[i], _ => 0.0 })", "[T; n]"),
    ("indices that data decide", "build(n, |i| x[at[i] % n] * s)", "[T; n]"),
    ("`gather`", "gather(x, at % n)", "[T; n]"),
    ("slices, `concat`, `reverse`, `rotate`", "concat(reverse(x[n / 2..]), rotate(x[..n / 2], 1))", "[T; _]"),
    ("`transpose`, `permute`, `reshape`", "flatten(transpose(m) * permute(m, (1, 0)))", "[T; _]"),
    ("tuples, `zip`", "map(|(a, b)| (b, a * s), zip(x, y))", "([T; n], [T; n])"),
    ("`sum`, `mean`, `dot`", "sum(x) + dot(x, y) * sum(m).sum()", "T"),
    ("`prod`", "prod(x)", "T"),
    ("`minimum`, `maximum`", "concat(minimum(m), maximum(m))", "[T; _]"),
    ("`argmin`, `argmax`", "build(n, |i| m[i][argmin(m[i])] - m[i][argmax(m[i])])", "[T; n]"),
    ("`matmul`, `matvec`, `outer`", "matmul(m, m) + outer(matvec(m, x), y)", "[[T; n]; n]"),
    ("`einsum!`", "einsum!(\"ij,kj,k->i\", m, m, x)", "[T; n]"),
    ("`windows`, steps", "concat(windows(x, 1).flatten(), x.step_by(2))", "[T; _]"),
    ("`erf`, `lgamma`, `digamma`", "erf(x) * lgamma(2.0 + y) + digamma(2.0 + x)", "[T; n]"),
    ("`logsumexp`, `softmax`", "softmax(x) * logsumexp(y)", "[T; n]"),
    ("`reduce` by an operator", "reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (x, y))", "(T, T)"),
    ("`cumsum`, `cumprod`", "cumsum(x) * cumprod(y)", "[T; n]"),
    (
        "`scan`, `scan_exclusive` by `min`, `max`",
        "scan(min, 9.0, x) * scan_exclusive(max, -9.0, y)",
        "[T; n]",
    ),
    (
        "`scan` by an operator",
        "scan(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (x, y))",
        "([T; n], [T; n])",
    ),
    ("`scan` of rows", "scan(|a, b| a * b + a + b, 0.0, m)", "[[T; n]; n]"),
    ("`hist` by `add`", "hist(add, 0.0, 3, at, x)", "[T; 3]"),
    ("`hist` by `mul`", "hist(mul, 1.0, 3, at, x)", "[T; 3]"),
    ("`hist` by `min`, `max`", "(hist(min, 9.0, 3, at, x), hist(max, -9.0, 3, at, x))", "([T; 3], [T; 3])"),
    ("`hist` by an operator", "hist(|a, b| a * b + a + b, 0.0, 3, at, x)", "[T; 3]"),
    ("`reduce_by_index`", "reduce_by_index(y, mul, at, x)", "[T; n]"),
    ("`scatter`", "scatter(y, iota(n) + 1, x)", "[T; n]"),
    ("`scatter_add`", "scatter_add(y, at, x)", "[T; n]"),
    ("`sort`, `sort_by_key`", "sort(x) * sort_by_key(y, x)", "[T; n]"),
    ("`argsort`", "gather(y, argsort(x))", "[T; n]"),
    ("`filter`", "{ let kept = filter(|a| a > 0.0, x); sum(kept * kept) }", "T"),
    ("`partition`", "{ let (a, b) = partition(|a| a > s, x); sum(a * a) - prod(b) }", "T"),
    ("`for` that stays parallel", "{ let mut t = 0.0; for i in 0..n { t += x[i] * y[i]; } t }", "T"),
    ("`for` over numbers", "{ let mut h = s; for i in 0..n { h = (h * x[i] + y[i]).tanh(); } h }", "T"),
    ("`for` over arrays", "{ let mut h = x; for i in 0..4 { h = matvec(m, h).tanh() + y; } h }", "[T; n]"),
    ("updates in place", "{ let mut a = x; for i in 1..n { a[i] = a[i - 1] * s + a[i]; } a }", "[T; n]"),
    ("`while`", "{ let mut a = x; while sum(a * a) > 0.3 { a = 0.5 * a; } a }", "[T; n]"),
    (
        "`for` at every point",
        "build(n, |i| { let mut h = x[i]; for j in 0..at[i] { h = h.sin() + s; } h })",
        "[T; n]",
    ),
    ("`#[checkpoint]`", "{ let mut h = x; #[checkpoint] for i in 0..6 { h = h.sin() + s; } h }", "[T; n]"),
    ("`stop_gradient`", "x * stop_gradient(x)", "[T; n]"),
    ("`grad` inside", "grad(|a| sum(a * a * a * y))(x)", "[T; n]"),
    ("`vjp`, `jvp` inside", "{ let f = |a| matvec(m, a.sin()); vjp(f)(x, jvp(f)(x, y).1).1 }", "[T; n]"),
];

fn compile(body: &str, result: &str, elem: &str) -> Function {
    let source =
        format!("fn f(x: [T; n], y: [T; n], m: [[T; n]; n], at: [i64; n], s: T) -> {result} {{ {body} }}");
    // `T` alone is the type; no name has it in it.
    let source: String = source
        .split_inclusive(|c: char| !c.is_alphanumeric() && c != '_')
        .map(|word| match word.strip_prefix('T') {
            Some(rest) if !rest.starts_with(|c: char| c.is_alphanumeric()) => format!("{elem}{rest}"),
            _ => word.to_string(),
        })
        .collect();
    let item: syn::ItemFn = syn::parse_str(&source).unwrap_or_else(|e| panic!("{e}: {source}"));
    let mut diagnostics = Diagnostics::default();
    let found = pipeline::front(&item, &Callees::new(), &mut diagnostics);
    found.unwrap_or_else(|| panic!("{source}: {:?}", diagnostics.list())).function
}

/// Arguments for arrays of `n` elements: without a pattern, and with ties and zeros.
fn arguments(f: &Function, n: i64, ties: bool) -> Vec<Value> {
    let ranges = Ranges { sizes: (n, n), integers: (0, 3), floats: (-1.0, 1.0) };
    let mut args = arguments_within(f, 7 + n as u64, &ranges);
    if ties {
        for x in args.iter_mut().flat_map(|a| a.data_mut()) {
            match x {
                Scalar::F32(x) => *x = (*x * 1.4).round(),
                Scalar::F64(x) => *x = (*x * 1.4).round(),
                _ => {}
            }
        }
    }
    args
}

/// Checks a construct for one type; whether there are shaders for the value and the derivatives.
fn check(name: &str, f: &Function, elem: &str) -> [bool; 4] {
    let p = pipeline::middle(f).expect("its derivatives exist");
    for n in [0, 1, 2, 6] {
        for ties in [false, true] {
            let args = arguments(f, n, ties);
            let context = |e: String| -> String { format!("{name}, {elem}, n = {n}, ties: {ties}: {e}") };
            let found = common::values(f, &args).map_err(context).unwrap_or_else(|e| panic!("{e}"));
            if found == common::Checked::Agree {
                let stopped = name.contains("stop_gradient");
                common::derivatives(&p, &args, 5, 2, stopped)
                    .map_err(context)
                    .unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
    let shaders = |p: &bulk::Program| {
        wgsl::emit(&pipeline::back(p, Target::Gpu).unwrap_or_else(|e| panic!("{name}: {e:?}"))).is_ok()
    };
    let derivative = |what| pipeline::derivative(&p, what).expect("it has one");
    let (vjp, jvp) = (derivative(Derivative::Vjp), derivative(Derivative::Jvp));
    let second = pipeline::derivative(&vjp, Derivative::Jvp).expect("it has one");
    [shaders(&p), shaders(&jvp), shaders(&vjp), shaders(&second)]
}

#[test]
fn all_of_them() {
    let mut table = String::from(
        "# What works where\n\nWritten by `array-dsl-compiler/tests/constructs.rs`, which checks it: values through every stage, forward and reverse mode\n\
         against each other and against differences, to second order, for empty arrays, one element, ties and zeros.\n\n\
         On the CPU everything works for `f32` and `f64`. The columns say where there are shaders as well.\n\n\
         | construct | CPU, both types | GPU, `f32` | GPU, `f64` |\n|---|---|---|---|\n",
    );
    for (name, body, result) in CONSTRUCTS {
        let mut columns = Vec::new();
        for elem in ["f32", "f64"] {
            let on_gpu = check(name, &compile(body, result, elem), elem);
            let names = ["value", "jvp", "vjp", "second order"];
            let there: Vec<&str> =
                names.into_iter().zip(on_gpu).filter(|(_, ok)| *ok).map(|(n, _)| n).collect();
            columns.push(match there.len() {
                4 => "all".to_string(),
                0 => "-".into(),
                _ => there.join(", "),
            });
        }
        table.push_str(&format!("| {name} | all | {} | {} |\n", columns[0], columns[1]));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/constructs.md");
    if std::env::var("ARRAY_DSL_DOCS").is_ok_and(|v| v == "write") {
        std::fs::write(path, &table).expect("the page can be written");
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(page, table, "docs/constructs.md is not what is so; ARRAY_DSL_DOCS=write writes it");
}
