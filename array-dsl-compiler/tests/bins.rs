//! Reductions by index through every stage and both modes of differentiation.

use array_dsl_compiler::bulk;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare::{Checked, derivatives, values};
use array_dsl_compiler::testing::kernels::kernel;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};

/// Every stage gives the same for several arguments, and derivatives agree to `order`.
fn check(text: &str, order: usize) {
    let f = kernel(text);
    let p = pipeline::middle(&f).expect("derivatives inside");
    let mut differences = 0;
    for seed in 0..8 {
        let sizes = [(0, 4), (0, 0), (1, 1), (5, 7)][seed as usize % 4];
        let floats = if seed % 2 == 0 { (0.2, 1.4) } else { (-1.5, 1.5) };
        let args = arguments_within(&f, seed, &Ranges { sizes, integers: (-1, 4), floats });
        match values(&f, &args) {
            Ok(Checked::Agree) => {}
            Ok(Checked::Fault) => panic!("seed {seed}: it fails\n{text}"),
            Err(e) => panic!("seed {seed}: {e}\n{text}\n{}", bulk::print::print(&p)),
        }
        let order = if seed < 4 { order } else { 1 };
        match derivatives(&p, &args, seed, order, false) {
            Ok(d) => differences += d.differences,
            Err(e) => panic!("seed {seed}: {e}\n{text}\n{}", bulk::print::print(&p)),
        }
    }
    assert!(differences > 0, "nothing was compared with differences\n{text}");
}

#[test]
fn extrema_and_products_have_derivatives() {
    for op in ["add", "mul", "min", "max"] {
        let e = match op {
            "add" => "0.0",
            "mul" => "1.0",
            "min" => "5.0",
            _ => "-5.0",
        };
        check(&format!("fn f(at: [i64; n], v: [f64; n]) -> [f64; 4] {{ hist({op}, {e}, 4, at, v) }}"), 2);
        check(
            &format!(
                "fn f(d: [f64; k], at: [i64; n], v: [f64; n]) -> f64 {{
                    let y = reduce_by_index(d * 1.1, {op}, at, v.sin());
                    sum(y * y)
                }}"
            ),
            2,
        );
        check(
            &format!(
                "fn f(d: [[f64; m]; k], at: [i64; n], v: [[f64; m]; n]) -> [[f64; m]; k] {{
                    reduce_by_index(d, {op}, at, v * v)
                }}"
            ),
            1,
        );
        check(
            &format!(
                "fn f(at: [[i64; m]; n], v: [[f64; m]; n], w: f64) -> [[f64; 3]; n] {{
                    build(n, |i| hist({op}, w, 3, at[i], w * v[i] + v[i][0]))
                }}"
            ),
            1,
        );
    }
}

/// Loops that combine by index are the same expressions, over points of several axes.
#[test]
fn loops_reduce_by_index() {
    check(
        "fn f(h: [f64; k], at: [[i64; m]; n], v: [[f64; m]; n]) -> [f64; k] {
            let mut h = h;
            for i in 0..n { for j in 0..m { if at[i][j] >= 0 && at[i][j] < k { h[at[i][j]] *= v[i][j]; } } }
            h
        }",
        1,
    );
    check(
        "fn f(h: [f64; k], at: [[i64; m]; n], v: [[f64; m]; n]) -> [f64; k] {
            let mut h = h;
            for i in 0..n { for j in 0..m { if at[i][j] >= 0 && at[i][j] < k { h[at[i][j]] = h[at[i][j]].max(v[i][j] * h[0] / h[0]); } } }
            h
        }",
        1,
    );
    check(
        "fn f(h: [f64; k], at: [[i64; m]; n], v: [[f64; m]; n]) -> [f64; k] {
            let mut h = h;
            for i in 0..n { for j in 0..m { if at[i][j] >= 0 && at[i][j] < k { h[at[i][j]] = h[at[i][j]].min(v[i][j]); } } }
            h
        }",
        2,
    );
    // A loop that carries the bins.
    check(
        "fn f(h: [f64; k], at: [i64; n], v: [f64; n]) -> [f64; k] {
            let mut h = h;
            for t in 0..3 { h = reduce_by_index(h.sin(), max, at, v * (t as f64)); h = reduce_by_index(h, mul, at, v); }
            h
        }",
        1,
    );
}

#[test]
fn any_operator_combines() {
    // Sums in another guise, of which differences know.
    check(
        "fn f(at: [i64; n], v: [f64; n]) -> [f64; 4] {
            hist(|a, b| { let m = stop_gradient(a.max(b)); if m.is_finite() { m + ((a - m).exp() + (b - m).exp()).ln() } else { m } },
                -9.0, 4, at, v)
        }",
        2,
    );
    check(
        "fn f(d: [f64; k], at: [i64; n], v: [f64; n], w: f64) -> [f64; k] {
            reduce_by_index(d, |a, b| a + b + w * a * b, at, v)
        }",
        2,
    );
    // The rows of a matrix, position by position.
    check(
        "fn f(d: [[f64; m]; k], at: [i64; n], v: [[f64; m]; n]) -> [[f64; m]; k] {
            reduce_by_index(d, |a, b| a + b + 0.5 * a * b, at, v)
        }",
        1,
    );
    check(
        "fn f(at: [[i64; m]; n], v: [[f64; m]; n], w: [f64; n]) -> [[f64; 3]; n] {
            build(n, |i| hist(|a, b| a + b + w[i] * a * b, 0.0, 3, at[i], v[i].sin()))
        }",
        1,
    );
    check(
        "fn f(at: [[i64; m]; n], v: [[f64; m]; n]) -> [[f64; 3]; n] { hist(|a, b| a + b + 0.5 * a * b, 0.0, 3, at, v) }",
        1,
    );
}

#[test]
fn operators_combine_several_values() {
    // Affine maps do not commute: the points of a bin keep their order.
    check(
        "fn f(d: ([f64; k], [f64; k]), at: [i64; n], a: [f64; n], b: [f64; n]) -> ([f64; k], [f64; k]) {
            reduce_by_index(d, |(a, b), (c, d)| (a * c, b * c + d), at, (a, b))
        }",
        1,
    );
    check(
        "fn f(at: [i64; n], v: [f64; n]) -> ([f64; 3], [i64; 3]) {
            hist(|(a, i), (b, j)| if b < a || (a == b && j < i) { (b, j) } else { (a, i) }, (9.0, -1), 3, at, (v, iota(n)))
        }",
        1,
    );
    // Matrices as wholes.
    check(
        "fn f(d: [[[f64; 2]; 2]; k], at: [i64; n], v: [[[f64; 2]; 2]; n]) -> [[[f64; 2]; 2]; k] {
            reduce_by_index(d, matmul, at, v)
        }",
        1,
    );
    check(
        "fn f(at: [i64; n], v: [[f64; 2]; n], w: [f64; n]) -> ([[f64; 2]; 3], [f64; 3]) {
            hist(|(a, x), (b, y)| ([a[0] * b[0], a[1] * b[1]], x + y * b[0] / b[0]), ([1.0, 1.0], 0.0), 3, at, (v, w))
        }",
        1,
    );
}

/// Operators that are built-in ones side by side need no sort.
#[test]
fn built_in_operators_are_recognized() {
    for (text, sorts) in [
        ("fn f(at: [i64; n], v: [f64; n]) -> [f64; 3] { hist(|a, b| b.max(a), 0.0, 3, at, v) }", false),
        (
            "fn f(at: [i64; n], v: [f64; n]) -> ([f64; 3], [i64; 3], [f64; 3]) {
                hist(|(a, b, c), (d, e, f)| (a + d, b + e, c.max(f)), (0.0, 0, 0.0), 3, at, (v, map(|_| 1, v), v))
            }",
            false,
        ),
        (
            "fn f(at: [i64; n], v: [f64; n]) -> ([f64; 3], [f64; 3]) { hist(mul, (1.0, 2.0), 3, at, (v, v)) }",
            false,
        ),
        ("fn f(at: [i64; n], v: [f64; n]) -> [f64; 3] { hist(|a, b| a + b + a * b, 0.0, 3, at, v) }", true),
    ] {
        let p = pipeline::middle(&kernel(text)).expect("derivatives inside");
        let found = p.stms.iter().any(|s| matches!(s, bulk::Stm::Sort(_)));
        assert_eq!(found, sorts, "{text}\n{}", bulk::print::print(&p));
        check(text, 1);
    }
}
