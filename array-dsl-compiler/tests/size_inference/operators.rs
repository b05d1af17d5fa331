//! Every operator: the dimensions of its result, and what it asks to be checked.

use array_dsl_compiler::core::{Function, Var};
use array_dsl_compiler::dim::{Dim, SizeAtom};
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::value::{Scalar, Value};

use super::{checks, refused, shapes};
use array_dsl_compiler::testing::compare::{Checked, values};

/// The parameters of all programs: vectors and matrices of named sizes, `z` of an unnamed one, indices, and a number.
const PARAMS: &str =
    "x: [f64; n], y: [f64; m], z: [f64; _], a: [[f64; m]; n], b: [[f64; k]; m], at: [i64; k], p: usize";

fn source(result: &str, body: &str) -> String {
    format!("fn f({PARAMS}) -> {result} {{ {body} }}")
}

const VECTOR: &str = "[f64; _]";
const MATRIX: &str = "[[f64; _]; _]";
const CUBE: &str = "[[[f64; _]; _]; _]";
const INDICES: &str = "[i64; _]";
const TWO: &str = "([f64; _], [f64; _])";

/// The result's declared type, the body, the dimensions of the result, the checks.
const OPERATORS: &[(&str, &str, &str, &[&str])] = &[
    // Made of sizes.
    (INDICES, "iota(n)", "[n]", &[]),
    (INDICES, "iota(p)", "[p]", &["0 <= p"]),
    (INDICES, "iota(n + 2 * m)", "[2 * m + n]", &[]),
    (INDICES, "iota(n - m)", "[-m + n]", &["0 <= -m + n"]),
    (INDICES, "iota((2 * 3 - 5) * n + 7 / 2)", "[n + 3]", &[]),
    (MATRIX, "replicate((p, n), 1.0)", "[p, n]", &["0 <= p"]),
    (MATRIX, "replicate(n, y)", "[n, m]", &[]),
    (VECTOR, "linspace(0.0, 1.0, p)", "[p]", &["0 <= p"]),
    (MATRIX, "build((n, 2), |i, j| x[i])", "[n, 2]", &[]),
    (MATRIX, "build(n, |i| y)", "[n, m]", &[]),
    (MATRIX, "[x, z]", "[2, n]", &["#z.0 == n"]),
    // The same elements in another order or under other dimensions.
    (VECTOR, "flatten(a)", "[m * n]", &[]),
    (MATRIX, "reshape(x, (p, 2))", "[p, 2]", &["0 <= p", "n == 2 * p"]),
    (MATRIX, "reshape(reshape(a, (m * n,)), (m, n))", "[m, n]", &[]),
    (CUBE, "unflatten(a, (p, 2))", "[p, 2, m]", &["0 <= p", "n == 2 * p"]),
    (MATRIX, "transpose(a)", "[m, n]", &[]),
    (CUBE, "permute(replicate(2, a), (2, 0, 1))", "[m, 2, n]", &[]),
    (MATRIX, "reverse(a)", "[n, m]", &[]),
    (VECTOR, "rotate(x, p)", "[n]", &[]),
    (VECTOR, "sort(x)", "[n]", &[]),
    (INDICES, "argsort(x)", "[n]", &[]),
    (VECTOR, "sort_by_key(x, z)", "[n]", &["#z.0 == n"]),
    // Parts, and several as one.
    (VECTOR, "a[p]", "[m]", &[]),
    (VECTOR, "x[..p]", "[p]", &["0 <= p", "p <= n"]),
    (VECTOR, "x[p..]", "[n - p]", &["0 <= p", "p <= n"]),
    (VECTOR, "x[1..n]", "[n - 1]", &["0 <= n - 1"]),
    (VECTOR, "concat(x, y)[..n]", "[n]", &[]),
    (VECTOR, "x.step_by(2)", "[computed_size]", &["0 <= computed_size"]),
    (VECTOR, "concat(x, y, x)", "[m + 2 * n]", &[]),
    (MATRIX, "concat(a, replicate(1, z))", "[n + 1, m]", &["#z.0 == m"]),
    (MATRIX, "windows(x, 3)", "[n - 2, 3]", &["0 <= n - 2"]),
    (VECTOR, "gather(x, at)", "[k]", &[]),
    (MATRIX, "gather(a, at)", "[k, m]", &[]),
    (MATRIX, "a[at]", "[k, m]", &[]),
    // Elementwise, lifted, and position by position.
    (VECTOR, "map(|u| u + 1.0, x)", "[n]", &[]),
    (VECTOR, "map(|(u, v)| u * v, zip(x, z))", "[n]", &["#z.0 == n"]),
    (MATRIX, "a + y", "[n, m]", &[]),
    (MATRIX, "a * z", "[n, m]", &["#z.0 == m"]),
    (VECTOR, "if p > 0 { x } else { z }", "[n]", &["#z.0 == n"]),
    // Folds.
    ("f64", "reduce(add, 0.0, x)", "[]", &[]),
    ("f64", "dot(x, z)", "[]", &["#z.0 == n"]),
    (VECTOR, "sum(a)", "[n]", &[]),
    (VECTOR, "reduce(add, z, a)", "[#z.0]", &["m == #z.0"]),
    (VECTOR, "reduce(|u, v| u + v + u * v, zeros(m), a)", "[m]", &[]),
    (VECTOR, "cumsum(x)", "[n]", &[]),
    (MATRIX, "scan(add, zeros(m), a)", "[n, m]", &[]),
    (VECTOR, "scan_exclusive(max, 0.0, x)", "[n]", &[]),
    ("i64", "argmin(x)", "[]", &["1 <= n"]),
    // By index: the shape is the target's.
    (VECTOR, "scatter(x, at, gather(x, at))", "[n]", &[]),
    (VECTOR, "scatter(x, at, z)", "[n]", &["#z.0 == k"]),
    (MATRIX, "scatter_add(a, at, gather(a, at))", "[n, m]", &[]),
    (VECTOR, "reduce_by_index(x, add, at, z)", "[n]", &["#z.0 == k"]),
    (VECTOR, "hist(add, 0.0, p, at, z)", "[p]", &["0 <= p", "#z.0 == k"]),
    (MATRIX, "{ let mut s = a; s[0] = z; s }", "[n, m]", &["#z.0 == m"]),
    // Sizes that only data tell.
    (VECTOR, "filter(|v| v > 0.0, x)", "[kept]", &[]),
    (MATRIX, "filter(|r| sum(r) > 0.0, a)", "[kept, m]", &[]),
    (TWO, "partition(|v| v > 0.0, x)", "[kept] [n - kept]", &[]),
    (INDICES, "iota(at[0])", "[computed_size]", &["0 <= computed_size"]),
    // Linear algebra.
    (MATRIX, "matmul(a, b)", "[n, k]", &[]),
    (VECTOR, "matvec(a, z)", "[n]", &["#z.0 == m when n"]),
    (MATRIX, "outer(x, y)", "[n, m]", &[]),
    (MATRIX, "einsum!(\"ij,jk->ki\", a, b)", "[k, n]", &[]),
    (VECTOR, "einsum!(\"ij,j->i\", a, z)", "[n]", &["#z.0 == m"]),
];

#[test]
fn dimensions_and_checks_of_each_operator() {
    let mut wrong = Vec::new();
    for (ty, body, dims, expected) in OPERATORS {
        match compile(&source(ty, body)) {
            Ok(f) if shapes(&f).join(" ") == *dims && checks(&f) == *expected => {}
            Ok(f) => wrong.push(format!("{body}: {} {:?}", shapes(&f).join(" "), checks(&f))),
            Err(e) => wrong.push(format!("{body}: {e:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The number that a size of the result is, if the arguments tell it.
fn told(f: &Function, args: &[Value], d: &Dim) -> Option<i64> {
    let params: Vec<Var> = f.params.iter().flat_map(|p| p.vars.leaves()).copied().collect();
    let with_args = || params.iter().zip(args);
    let number = |atom: &SizeAtom| match atom {
        SizeAtom::Name(_) => with_args().find_map(|(v, arg)| {
            let at = f.ty(*v).dims.iter().position(|d| d.as_atom() == Some(atom))?;
            Some(arg.shape()[at] as i64)
        }),
        SizeAtom::Scalar(s) => {
            with_args().find(|(v, _)| v.0 == *s).and_then(|(_, arg)| arg.item().and_then(Scalar::as_i64))
        }
    };
    let is_told = d.atoms().iter().all(|a| number(a).is_some());
    is_told.then(|| d.eval(&mut |a| number(a).unwrap_or(0))).flatten()
}

/// What is inferred is what comes, in every stage, for sizes that pass the checks and sizes that do not.
#[test]
fn what_is_inferred_is_what_comes() {
    for (ty, body, ..) in OPERATORS {
        let f = kernel(&source(ty, body));
        let mut ran = 0;
        for seed in 0..24 {
            let sizes = if seed % 3 == 0 { (0, 3) } else { (2, 2) };
            let ranges = Ranges { sizes, integers: (0, 1), floats: (-1.0, 1.0) };
            let args = arguments_within(&f, seed, &ranges);
            let checked = values(&f, &args).unwrap_or_else(|e| panic!("{body}: {e}"));
            let Ok(found) = meaning::run(&f, &args) else { continue };
            assert_eq!(checked, Checked::Agree, "{body}");
            ran += 1;
            for (ty, value) in f.result_types.iter().zip(found) {
                assert_eq!(ty.dims.len(), value.shape().len(), "{body}");
                for (d, n) in ty.dims.iter().zip(value.shape()) {
                    assert!(told(&f, &args, d).is_none_or(|d| d == *n as i64), "{body}: {:?}", value.shape());
                }
            }
        }
        assert!(ran > 0, "{body} runs for none of the arguments");
    }
}

/// Where the dimensions of operands can never agree there is nothing to run.
#[test]
fn operands_that_do_not_fit() {
    for (ty, body, parts) in [
        (VECTOR, "x + y", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "map(mul, x, y)", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "map(|(u, v)| u * v, zip(x, y))", ["AD0008", "`m`", "`n`"]),
        ("f64", "dot(x, y)", ["AD0008", "`m`", "`n`"]),
        (MATRIX, "a + x", ["AD0008", "`m`", "`n`"]),
        (MATRIX, "a + b", ["AD0008", "`m`", "`n`"]),
        (MATRIX, "matmul(a, a)", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "matvec(a, x)", ["AD0008", "`m`", "`n`"]),
        (MATRIX, "concat(a, b)", ["AD0008", "`k`", "`m`"]),
        (MATRIX, "[x, y]", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "sort_by_key(x, y)", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "scatter(x, at, y)", ["AD0008", "`k`", "`m`"]),
        (VECTOR, "reduce_by_index(x, add, at, y)", ["AD0008", "`k`", "`m`"]),
        (VECTOR, "hist(add, 0.0, p, at, y)", ["AD0008", "`k`", "`m`"]),
        (VECTOR, "reduce(add, zeros(n), a)", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "scan(add, 0.0, x) + y", ["AD0008", "`m`", "`n`"]),
        (MATRIX, "{ let mut s = a; s[0] = x; s }", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "if p > 0 { x } else { y }", ["AD0008", "`m`", "`n`"]),
        (VECTOR, "x[1..] + x", ["AD0007", "n - 1", "found n"]),
        (VECTOR, "concat(x, y) + concat(x, y, [1.0])", ["AD0007", "m + n", "m + n + 1"]),
        (VECTOR, "x[..n + 1]", ["AD0007", "n + 1", "length n"]),
        (VECTOR, "reshape(x, (n + 1,))", ["AD0007", "reshape", "n + 1"]),
        (VECTOR, "iota(-1) as f64", ["AD0007", "-1", "negative"]),
    ] {
        refused(&source(ty, body), &parts);
    }
}

/// An operator combines two elements into one of the same shape.
#[test]
fn operators_that_change_the_shape() {
    for (ty, body) in [
        (VECTOR, "reduce(|u, v| concat(u, v), zeros(m), a)"),
        (VECTOR, "reduce(|u, v| u[1..], zeros(m), a)"),
        (MATRIX, "scan(|u, v| concat(u, v), zeros(m), a)"),
    ] {
        refused(&source(ty, body), &["AD0018", "operator"]);
    }
}
