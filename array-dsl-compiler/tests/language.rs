//! The functions and rules of the language, one by one: what each gives for small arguments.

use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare::{Checked, derivatives, values};
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::Value;

/// All arguments of the kernels here: `x = [1, 4, 2, 3]`, `k = [3, 0, 2, 1]`, `a = [[1, 2, 3], [4, 5, 6]]`, `s = 0.5`, `i = 2`.
const SIGNATURE: &str = "x: [f64; n], k: [i64; n], a: [[f64; m]; r], s: f64, i: i64";

fn arguments() -> Vec<Value> {
    let floats = |shape: &[usize], data: &[f64]| Value::from_f64(Elem::F64, shape.to_vec(), data);
    vec![
        floats(&[4], &[1.0, 4.0, 2.0, 3.0]).expect("four"),
        Value::from_i64(Elem::I64, vec![4], &[3, 0, 2, 1]).expect("four"),
        floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six"),
        floats(&[], &[0.5]).expect("one"),
        Value::from_i64(Elem::I64, Vec::new(), &[2]).expect("one"),
    ]
}

/// All numbers of a kernel's results, the same in every stage.
fn run(result: &str, body: &str) -> Result<Vec<f64>, String> {
    let source = format!("fn f({SIGNATURE}) -> {result} {{ {body} }}");
    let f = compile(&source).map_err(|e| e.join("; "))?;
    let found = meaning::run(&f, &arguments()).map_err(|e| e.to_string())?;
    match values(&f, &arguments())? {
        Checked::Agree => Ok(found.iter().flat_map(Value::to_f64).collect()),
        Checked::Fault => Err("it fails".into()),
    }
}

fn check(rows: &[(&str, &str, &[f64])]) {
    let mut wrong = Vec::new();
    for (result, body, expected) in rows {
        let same = |found: &Vec<f64>| {
            found.len() == expected.len()
                && found.iter().zip(*expected).all(|(a, b)| {
                    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12 * (1.0 + b.abs())
                })
        };
        match run(result, body) {
            Ok(found) if same(&found) => {}
            Ok(found) => wrong.push(format!("{body}: {found:?} instead of {expected:?}")),
            Err(e) => wrong.push(format!("{body}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn making_arrays() {
    check(&[
        ("[i64; 3]", "build(3, |j| j * j)", &[0.0, 1.0, 4.0]),
        ("[[i64; 2]; 2]", "build((2, 2), |p, q| p * 10 + q)", &[0.0, 1.0, 10.0, 11.0]),
        ("[i64; n]", "iota(n)", &[0.0, 1.0, 2.0, 3.0]),
        ("[f64; 2]", "replicate(2, s)", &[0.5, 0.5]),
        ("[[f64; 2]; 2]", "replicate((2, 2), s)", &[0.5; 4]),
        ("[[f64; n]; 2]", "replicate(2, x)", &[1.0, 4.0, 2.0, 3.0, 1.0, 4.0, 2.0, 3.0]),
        ("[f64; 2]", "zeros(2)", &[0.0, 0.0]),
        ("[[f64; 2]; 1]", "zeros((1, 2))", &[0.0, 0.0]),
        ("[f64; 3]", "ones(3)", &[1.0; 3]),
        ("[f32; 2]", "ones(2)", &[1.0, 1.0]),
        ("[f64; 3]", "linspace(0.0, 1.0, 3)", &[0.0, 0.5, 1.0]),
        ("[f64; 3]", "[s, 1.0, 2.0]", &[0.5, 1.0, 2.0]),
        ("[[f64; n]; 2]", "[x, x + 1.0]", &[1.0, 4.0, 2.0, 3.0, 2.0, 5.0, 3.0, 4.0]),
        ("[f64; 3]", "[s; 3]", &[0.5; 3]),
    ]);
}

#[test]
fn maps() {
    check(&[
        ("[f64; n]", "map(|v| v + s, x)", &[1.5, 4.5, 2.5, 3.5]),
        ("[f64; n]", "map(|v, j| v + j as f64, x, k)", &[4.0, 4.0, 4.0, 4.0]),
        ("[f64; n]", "x.map(|v| v * 2.0)", &[2.0, 8.0, 4.0, 6.0]),
        ("[f64; n]", "map(sqrt, x * x)", &[1.0, 4.0, 2.0, 3.0]),
        ("[f64; n]", "map(add, x, x)", &[2.0, 8.0, 4.0, 6.0]),
        ("[f64; n]", "map(mul, x, x)", &[1.0, 16.0, 4.0, 9.0]),
        ("[f64; n]", "map(max, x, k as f64)", &[3.0, 4.0, 2.0, 3.0]),
        ("[f64; r]", "map(|row| sum(row), a)", &[6.0, 15.0]),
        ("([f64; n], [f64; n])", "map(|v| (v, -v), x)", &[1.0, 4.0, 2.0, 3.0, -1.0, -4.0, -2.0, -3.0]),
        ("[f64; n]", "map(|(p, q)| p * q, zip(x, x))", &[1.0, 16.0, 4.0, 9.0]),
    ]);
}

#[test]
fn reductions() {
    check(&[
        ("f64", "reduce(add, 0.0, x)", &[10.0]),
        ("f64", "reduce(mul, 1.0, x)", &[24.0]),
        ("f64", "reduce(min, f64::INFINITY, x)", &[1.0]),
        ("f64", "reduce(max, f64::NEG_INFINITY, x)", &[4.0]),
        ("bool", "reduce(and, true, x > 0.0)", &[1.0]),
        ("bool", "reduce(or, false, x > 9.0)", &[0.0]),
        ("f64", "reduce(|p, q| p + q, 0.0, x)", &[10.0]),
        ("f64", "x.reduce(add, 0.0)", &[10.0]),
        ("(f64, f64)", "reduce(|(p, q), (v, w)| (p * v, q * v + w), (1.0, 0.0), (x, x))", &[24.0, 57.0]),
        ("f64", "sum(x)", &[10.0]),
        ("f64", "prod(x)", &[24.0]),
        ("f64", "minimum(x)", &[1.0]),
        ("f64", "maximum(x)", &[4.0]),
        ("bool", "any(x > 3.5)", &[1.0]),
        ("bool", "all(x > 3.5)", &[0.0]),
        ("f64", "mean(x)", &[2.5]),
        ("usize", "argmin(x)", &[0.0]),
        ("usize", "argmax(x)", &[1.0]),
        ("f64", "dot(x, x)", &[30.0]),
        ("[f64; r]", "sum(a)", &[6.0, 15.0]),
        ("[f64; r]", "a.sum()", &[6.0, 15.0]),
        ("f64", "sum(flatten(a))", &[21.0]),
        ("(f64, f64)", "sum(zip(x, x * 2.0))", &[10.0, 20.0]),
        ("i64", "count(|v| v > 1.5, x)", &[3.0]),
    ]);
}

#[test]
fn scans() {
    check(&[
        ("[f64; n]", "scan(add, 0.0, x)", &[1.0, 5.0, 7.0, 10.0]),
        ("[f64; n]", "scan_exclusive(add, 0.0, x)", &[0.0, 1.0, 5.0, 7.0]),
        ("[f64; n]", "scan(max, f64::NEG_INFINITY, x)", &[1.0, 4.0, 4.0, 4.0]),
        ("[f64; n]", "cumsum(x)", &[1.0, 5.0, 7.0, 10.0]),
        ("[f64; n]", "x.cumprod()", &[1.0, 4.0, 8.0, 24.0]),
        ("[[f64; m]; r]", "cumsum(a)", &[1.0, 3.0, 6.0, 4.0, 9.0, 15.0]),
    ]);
}

#[test]
fn directed_by_indices() {
    check(&[
        ("[f64; 3]", "hist(add, 0.0, 3, k, x)", &[4.0, 3.0, 2.0]),
        ("[f64; 4]", "hist(max, f64::NEG_INFINITY, 4, k, x)", &[4.0, 3.0, 2.0, 1.0]),
        ("[i64; 2]", "hist(add, 0, 2, k / 2, [1; n])", &[2.0, 2.0]),
        ("[f64; n]", "reduce_by_index(x, add, k, x)", &[5.0, 7.0, 4.0, 4.0]),
        ("[f64; n]", "scatter(x, [0, 9], [7.0, 8.0])", &[7.0, 4.0, 2.0, 3.0]),
        ("[f64; n]", "scatter_add(x, [0, 0, -1], [7.0, 8.0, 9.0])", &[16.0, 4.0, 2.0, 3.0]),
        ("[f64; n]", "gather(x, k)", &[3.0, 1.0, 2.0, 4.0]),
        ("[f64; n]", "x[k]", &[3.0, 1.0, 2.0, 4.0]),
        ("[[f64; m]; 2]", "gather(a, [1, 0])", &[4.0, 5.0, 6.0, 1.0, 2.0, 3.0]),
    ]);
}

#[test]
fn shapes() {
    check(&[
        ("[[f64; r]; m]", "transpose(a)", &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
        (
            "[[[f64; 1]; 3]; 2]",
            "transpose(build((3, 2, 1), |p, q, t| (p * 2 + q) as f64))",
            &[0.0, 2.0, 4.0, 1.0, 3.0, 5.0],
        ),
        ("[[f64; r]; m]", "permute(a, [1, 0])", &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
        ("[[f64; r]; m]", "permute(a, (1, 0))", &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
        // Axis p of the result is axis order[p], as in NumPy.
        (
            "[[[i64; 3]; 2]; 4]",
            "permute(build((2, 3, 4), |p, q, t| p * 12 + q * 4 + t), [2, 0, 1])",
            &[
                0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 1.0, 5.0, 9.0, 13.0, 17.0, 21.0, 2.0, 6.0, 10.0, 14.0, 18.0,
                22.0, 3.0, 7.0, 11.0, 15.0, 19.0, 23.0,
            ],
        ),
        ("[[f64; 2]; 2]", "reshape(x, (2, 2))", &[1.0, 4.0, 2.0, 3.0]),
        ("[f64; 6]", "reshape(a, 6)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("[f64; r * m]", "flatten(a)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("[[f64; 2]; 2]", "unflatten(x, (2, 2))", &[1.0, 4.0, 2.0, 3.0]),
        ("[f64; 2 * n]", "concat(x, x)", &[1.0, 4.0, 2.0, 3.0, 1.0, 4.0, 2.0, 3.0]),
        ("[f64; n + 3]", "concat(x, [s], [s, s])", &[1.0, 4.0, 2.0, 3.0, 0.5, 0.5, 0.5]),
        ("[f64; n]", "reverse(x)", &[3.0, 2.0, 4.0, 1.0]),
        ("[f64; n]", "rotate(x, 1)", &[4.0, 2.0, 3.0, 1.0]),
        ("[f64; n]", "rotate(x, -1)", &[3.0, 1.0, 4.0, 2.0]),
        ("([f64; n], [i64; n])", "zip(x, k)", &[1.0, 4.0, 2.0, 3.0, 3.0, 0.0, 2.0, 1.0]),
        ("([f64; n], [i64; n])", "unzip(zip(x, k))", &[1.0, 4.0, 2.0, 3.0, 3.0, 0.0, 2.0, 1.0]),
        ("[f64; 2]", "x[1..3]", &[4.0, 2.0]),
        ("[f64; 2]", "x[1..=2]", &[4.0, 2.0]),
        ("[f64; 3]", "x[..3]", &[1.0, 4.0, 2.0]),
        ("[f64; _]", "x[2..]", &[2.0, 3.0]),
        ("[f64; 2]", "x[i - 1..i + 1]", &[4.0, 2.0]),
        ("[[f64; m]; 1]", "a[1..2]", &[4.0, 5.0, 6.0]),
        ("[f64; 2]", "slice(x, 1, 3)", &[4.0, 2.0]),
        ("[f64; 2]", "x[0..4].step_by(2)", &[1.0, 2.0]),
        ("[f64; _]", "x.step_by(3)", &[1.0, 3.0]),
        ("[[f64; 2]; 3]", "windows(x, 2)", &[1.0, 4.0, 4.0, 2.0, 2.0, 3.0]),
        ("[[f64; 2]; _]", "x.windows(2)", &[1.0, 4.0, 4.0, 2.0, 2.0, 3.0]),
        ("[[[f64; m]; 2]; 1]", "windows(a, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("usize", "x.len()", &[4.0]),
        ("usize", "dim(a, 1)", &[3.0]),
    ]);
}

#[test]
fn linear_algebra() {
    check(&[
        ("[[f64; r]; r]", "matmul(a, transpose(a))", &[14.0, 32.0, 32.0, 77.0]),
        ("[f64; r]", "matvec(a, [1.0, 0.0, 2.0])", &[7.0, 16.0]),
        ("[[f64; 2]; 2]", "outer([1.0, 2.0], [3.0, 4.0])", &[3.0, 4.0, 6.0, 8.0]),
        ("[[f64; r]; r]", "einsum!(\"ij,kj->ik\", a, a)", &[14.0, 32.0, 32.0, 77.0]),
    ]);
}

#[test]
fn sizes_from_data() {
    check(&[
        ("[f64; _]", "filter(|v| v > 1.5, x)", &[4.0, 2.0, 3.0]),
        (
            "[f64; _]",
            "let kept: [f64; c] = filter(|v| v > 1.5, x); build(c, |j| kept[c - 1 - j])",
            &[3.0, 2.0, 4.0],
        ),
        ("([f64; _], [f64; _])", "partition(|v| v > 2.5, x)", &[4.0, 3.0, 1.0, 2.0]),
        ("[f64; n]", "sort(x)", &[1.0, 2.0, 3.0, 4.0]),
        ("[usize; n]", "argsort(x)", &[0.0, 2.0, 3.0, 1.0]),
        ("[f64; n]", "sort_by_key(k, x)", &[4.0, 3.0, 2.0, 1.0]),
    ]);
}

#[test]
fn scalar_functions() {
    let e = std::f64::consts::E;
    check(&[
        ("f64", "s.exp()", &[0.5f64.exp()]),
        ("f64", "exp2(s)", &[0.5f64.exp2()]),
        ("f64", "s.exp_m1()", &[0.5f64.exp_m1()]),
        ("f64", "s.ln()", &[0.5f64.ln()]),
        ("f64", "s.log2()", &[-1.0]),
        ("f64", "s.log10()", &[0.5f64.log10()]),
        ("f64", "s.log(4.0)", &[-0.5]),
        ("f64", "s.ln_1p()", &[0.5f64.ln_1p()]),
        ("f64", "s.sqrt()", &[0.5f64.sqrt()]),
        ("f64", "s.cbrt()", &[0.5f64.cbrt()]),
        ("f64", "s.recip()", &[2.0]),
        (
            "[f64; 6]",
            "[s.sin(), s.cos(), s.tan(), s.asin(), s.acos(), s.atan()]",
            &[0.5f64.sin(), 0.5f64.cos(), 0.5f64.tan(), 0.5f64.asin(), 0.5f64.acos(), 0.5f64.atan()],
        ),
        ("[f64; 3]", "[s.sinh(), s.cosh(), s.tanh()]", &[0.5f64.sinh(), 0.5f64.cosh(), 0.5f64.tanh()]),
        (
            "[f64; 3]",
            "[s.asinh(), (s + 1.0).acosh(), s.atanh()]",
            &[0.5f64.asinh(), 1.5f64.acosh(), 0.5f64.atanh()],
        ),
        ("(f64, f64)", "s.sin_cos()", &[0.5f64.sin(), 0.5f64.cos()]),
        ("f64", "s.atan2(2.0)", &[0.5f64.atan2(2.0)]),
        ("f64", "s.hypot(1.2)", &[1.3]),
        ("[f64; 2]", "[s.powf(2.0), s.powi(3)]", &[0.25, 0.125]),
        ("[f64; 3]", "[(-s).abs(), s.max(1.0), s.min(0.0)]", &[0.5, 1.0, 0.0]),
        (
            "[f64; 5]",
            "[s.floor(), s.ceil(), s.round(), s.trunc(), (s + 2.0).fract()]",
            &[0.0, 1.0, 1.0, 0.0, 0.5],
        ),
        ("[f64; 2]", "[s.mul_add(3.0, 1.0), s.clamp(1.0, 2.0)]", &[2.5, 1.0]),
        ("[f64; 2]", "[(-s).signum(), s.copysign(-1.0)]", &[-1.0, -0.5]),
        ("[f64; 2]", "[180.0.to_radians(), f64::consts::PI.to_degrees()]", &[std::f64::consts::PI, 180.0]),
        ("f64", "(-7.5).rem_euclid(2.0)", &[0.5]),
        ("i64", "(-7).rem_euclid(2)", &[1.0]),
        ("[i64; 2]", "[(-7).abs(), (-7).signum()]", &[7.0, -1.0]),
        ("[bool; 3]", "[(0.0 / 0.0).is_nan(), s.is_finite(), (1.0 / 0.0).is_infinite()]", &[1.0; 3]),
        ("f64", "sigmoid(s)", &[1.0 / (1.0 + (-0.5f64).exp())]),
        ("f64", "logsumexp(x)", &[(e + e.powi(4) + e.powi(2) + e.powi(3)).ln()]),
        ("f64", "softmax([0.0, 1.0, 1.0])[1]", &[e / (1.0 + 2.0 * e)]),
        ("f64", "s.erf()", &[0.5204998778130465]),
        ("f64", "s.erfc()", &[0.4795001221869535]),
        ("f64", "s.lgamma()", &[0.5723649429247001]),
        ("f64", "s.digamma()", &[-1.9635100260214235]),
        ("f64", "polygamma(1.0, s)", &[std::f64::consts::PI.powi(2) / 2.0]),
    ]);
}

#[test]
fn small_print() {
    check(&[
        ("f64", "f64::INFINITY", &[f64::INFINITY]),
        ("f64", "f64::EPSILON", &[f64::EPSILON]),
        ("f64", "std::f64::consts::PI", &[std::f64::consts::PI]),
        ("f64", "core::f64::consts::SQRT_2", &[std::f64::consts::SQRT_2]),
        ("f64", "std::f64::consts::FRAC_PI_3", &[std::f64::consts::FRAC_PI_3]),
        ("f64", "std::f64::consts::LOG2_E", &[std::f64::consts::LOG2_E]),
        ("f64", "f64::MAX", &[f64::MAX]),
        ("i64", "i64::MAX", &[i64::MAX as f64]),
        ("i64", "usize::MAX", &[i64::MAX as f64]),
        ("i64", "(6 & 3) | (8 ^ 1) | (1 << 5) | (64 >> 2)", &[59.0]),
        ("i64", "!i", &[-3.0]),
        ("[i64; n]", "k << 1", &[6.0, 0.0, 4.0, 2.0]),
        ("[f64; n]", "k as f64", &[3.0, 0.0, 2.0, 1.0]),
        ("[i64; n]", "(x * 1.5) as i64", &[1.0, 6.0, 3.0, 4.0]),
        ("f64", "let mut t = s; if i > 1 { t += 1.0; } t", &[1.5]),
        ("f64", "let g = |v: f64, (p, q)| v * p + q; g(s, (4.0, 1.0))", &[3.0]),
        ("[f64; i]", "build(i, |j| j as f64)", &[0.0, 1.0]),
        ("[f64; _]", "build(i * i - 1, |j| j as f64)", &[0.0, 1.0, 2.0]),
        ("f64", "match i { 0 => 1.0, 1 | 2 => 2.0, _ => 3.0 }", &[2.0]),
        ("f64", "match i > 1 { true => 1.0, false => 2.0 }", &[1.0]),
        ("f64", "let (p, q) = (s, 2.0); let t = (p, (q, 3.0)); t.1.0 + t.0", &[2.5]),
        ("f64", "a[1][2] + a[[0, 1]]", &[8.0]),
        ("[f64; m]", "a[1]", &[4.0, 5.0, 6.0]),
        ("f64", "let mut t = 0.0; for j in 0..n { t += x[j]; } t", &[10.0]),
        ("f64", "let mut t = 0.0; let mut j = 0; while j < 3 { t += x[j]; j += 1; } t", &[7.0]),
        (
            "[f64; n]",
            "let mut y = x; y[0] = 9.0; y[1] += 1.0; y[2] *= 3.0; y[3] = y[3].min(0.0); y",
            &[9.0, 5.0, 6.0, 0.0],
        ),
        ("f32", "1.5 as f32 + 2.0f32", &[3.5]),
        ("i64", "i / 2 * 2 + 7 % 4", &[5.0]),
        ("f64", "grad(|v| v * v)(s)", &[1.0]),
        ("(f64, f64)", "value_and_grad(|v| v * v)(s)", &[0.25, 1.0]),
        ("(f64, f64)", "vjp(|v| v * v)(s, 3.0)", &[0.25, 3.0]),
        ("(f64, f64)", "jvp(|v| v * v)(s, 3.0)", &[0.25, 3.0]),
        ("f64", "grad(|v| v * stop_gradient(v))(s)", &[0.5]),
        ("[[f64; m]; r]", "a + [1.0, 2.0, 3.0]", &[2.0, 4.0, 6.0, 5.0, 7.0, 9.0]),
    ]);
}

/// What was read as something else.
#[test]
fn constants_that_are_none() {
    for (body, start) in [
        ("permute(a, build(2, |j| if s > 0.0 { 1 - j } else { j }))[0]", "[AD0006] the order of `permute`"),
        ("permute(a, if s > 0.0 { [1, 0] } else { [0, 1] })[0]", "[AD0006] the order of `permute`"),
        ("zeros(dim(a, i))", "[AD0006] the dimension that `dim` asks for must be a constant"),
    ] {
        let errors = compile(&format!("fn f({SIGNATURE}) -> [f64; _] {{ {body} }}")).expect_err(body);
        assert!(errors[0].starts_with(start), "{body}: {errors:?}");
    }
}

/// Both modes against each other and against differences, to second order, for scalars in a range.
#[test]
fn derivatives_of_scalar_functions() {
    for (body, lo, hi) in [
        ("x.erf()", -3.0, 3.0),
        ("x.erfc()", -3.0, 3.0),
        ("x.lgamma()", 0.3, 9.0),
        ("x.lgamma()", -2.9, -2.1),
        ("x.digamma()", 0.3, 9.0),
        ("x.digamma()", -0.9, -0.1),
        ("polygamma(2.0, x)", 0.5, 4.0),
        ("x.asinh()", -3.0, 3.0),
        ("x.acosh()", 1.1, 4.0),
        ("x.atanh()", -0.9, 0.9),
        ("{ let (s, c) = x.sin_cos(); s * c }", -3.0, 3.0),
        ("x.fract() * x.copysign(-2.0)", 0.1, 0.9),
        ("x.log(x + 1.0)", 1.1, 4.0),
    ] {
        let source = format!("fn f(x: f64) -> f64 {{ {body} }}");
        let f = kernel(&source);
        let p = pipeline::middle(&f).expect("its derivatives exist");
        for seed in 0..20 {
            let args =
                arguments_within(&f, seed, &Ranges { sizes: (1, 1), integers: (0, 1), floats: (lo, hi) });
            assert_eq!(values(&f, &args), Ok(Checked::Agree), "{body}");
            let done =
                derivatives(&p, &args, seed, 2, false).unwrap_or_else(|e| panic!("{body} at {args:?}: {e}"));
            assert!(done.identities > 0 && done.differences > 0, "{body}");
        }
    }
}

#[test]
fn windows_and_steps_have_derivatives() {
    for source in [
        "fn f(x: [f64; n], w: [f64; k]) -> [f64; n + 1 - k] { matvec(windows(x, k), w) }",
        "fn f(a: [[f64; m]; n]) -> [[f64; m]; n - 1] { map(|w| w[0] * w[1], windows(a, 2)) }",
        "fn f(x: [f64; n]) -> [f64; _] { x.step_by(2) * x.step_by(2) }",
        "fn f(a: [[f64; m]; n]) -> [[f64; _]; n] { map(|r| r.step_by(3), a) }",
        "fn f(x: [f64; n]) -> [f64; _] { x[1..].step_by(2) }",
    ] {
        let f = kernel(source);
        let p = pipeline::middle(&f).expect("its derivatives exist");
        let mut differences = 0;
        for seed in 0..4 {
            let sizes = [(3, 3), (2, 2), (1, 1), (6, 6)][seed as usize];
            let args = arguments_within(&f, seed, &Ranges { sizes, integers: (0, 1), floats: (-1.5, 1.5) });
            assert_eq!(values(&f, &args), Ok(Checked::Agree), "{source}");
            let done = derivatives(&p, &args, seed, 2, false).unwrap_or_else(|e| panic!("{source}: {e}"));
            differences += done.differences;
        }
        assert!(differences >= 4, "{source}: {differences} comparisons with differences");
    }
}
