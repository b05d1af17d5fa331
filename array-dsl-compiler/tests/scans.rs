//! Scans, and reductions by operators: what the front end makes of them, run by the interpreter of Core.

use array_dsl_compiler::core::{self, Body, Exp};
use array_dsl_compiler::testing::kernels::compile;
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Value, approx_eq};

fn run(source: &str, args: &[Value]) -> Vec<Value> {
    let f = compile(source).unwrap_or_else(|e| panic!("{e:#?}\n{source}"));
    meaning::run(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// A vector of `f64`.
fn v(data: &[f64]) -> Value {
    array(&[data.len()], data)
}

fn x(data: f64) -> Value {
    array(&[], &[data])
}

fn array(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("a value")
}

fn ints(shape: &[usize], data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, shape.to_vec(), data).expect("a value")
}

fn gives(source: &str, args: &[Value], expected: &[Value]) {
    let found = run(source, args);
    assert_eq!(found.len(), expected.len(), "{source}");
    for (f, e) in found.iter().zip(expected) {
        approx_eq(f, e, 1e-12, 1e-12).unwrap_or_else(|m| panic!("{m}\n{source}"));
    }
}

/// How many expressions there are for which `what` holds.
fn number(b: &Body, what: &dyn Fn(&Exp) -> bool) -> usize {
    let inside = |e: &Exp| e.bodies().into_iter().map(|b| number(b, what)).sum::<usize>();
    b.stms.iter().map(|s| usize::from(what(&s.exp)) + inside(&s.exp)).sum()
}

const INF: f64 = f64::INFINITY;

#[test]
fn scans_of_vectors() {
    let source = "fn f(x: [f64; n]) -> ([f64; n], [f64; n], [f64; n], [f64; n], [f64; n], [f64; n]) {
        (cumsum(x), x.cumprod(), scan(max, -f64::INFINITY, x), scan_exclusive(add, 0.0, x), x.scan(min, f64::INFINITY),
         scan_exclusive(|a, b| a * b, 1.0, x))
    }";
    let expected = [
        v(&[2., 5., 1.]),
        v(&[2., 6., -24.]),
        v(&[2., 3., 3.]),
        v(&[0., 2., 5.]),
        v(&[2., 2., -4.]),
        v(&[1., 2., 6.]),
    ];
    gives(source, &[v(&[2., 3., -4.])], &expected);
    gives(source, &[v(&[])], &vec![v(&[]); 6]);
    let f = compile(source).expect("a kernel");
    assert_eq!(number(&f.body, &|e| matches!(e, Exp::Scan(..))), 6);
    assert_eq!(number(&f.body, &|e| matches!(e, Exp::Build(..))), 0);
}

/// Built-in operators may begin with what is not their neutral element.
#[test]
fn other_starts() {
    let source = "fn f(x: [f64; n], a: f64) -> (f64, [f64; n], [f64; n], f64, [i64; n]) {
        (reduce(add, a, x), scan(add, 10.0, x), scan_exclusive(|p, q| p + q, a, x), reduce(max, 2.5, x),
         scan(min, i64::MAX, iota(n)))
    }";
    let expected = [x(105.), v(&[12., 15.]), v(&[100., 102.]), x(3.), ints(&[2], &[0, 0])];
    gives(source, &[v(&[2., 3.]), x(100.)], &expected);
    gives(source, &[v(&[]), x(100.)], &[x(100.), v(&[]), v(&[]), x(2.5), ints(&[0], &[])]);
}

#[test]
fn scans_of_rows_and_columns() {
    let a = array(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
    let source = "fn f(a: [[f64; m]; n]) -> ([[f64; m]; n], [[f64; m]; n], [[f64; m]; n], [f64; m], [f64; n]) {
        (cumsum(a), scan(add, zeros(m), a), scan_exclusive(mul, ones(m), a), reduce(|p, q| p + q, replicate(m, 10.0), a),
         reduce(max, 0.0, a))
    }";
    let expected = [
        array(&[2, 3], &[1., 3., 6., 4., 9., 15.]),
        array(&[2, 3], &[1., 2., 3., 5., 7., 9.]),
        array(&[2, 3], &[1., 1., 1., 1., 2., 3.]),
        v(&[15., 17., 19.]),
        v(&[3., 6.]),
    ];
    gives(source, std::slice::from_ref(&a), &expected);
    gives(
        source,
        &[array(&[0, 2], &[])],
        &[array(&[0, 2], &[]), array(&[0, 2], &[]), array(&[0, 2], &[]), v(&[10., 10.]), v(&[])],
    );
    // Over an axis in front as well.
    let source = "fn f(a: [[[f64; m]; n]; k]) -> [[f64; m]; k] { reduce(add, zeros(m), a) }";
    let a = array(&[2, 2, 2], &[1., 2., 3., 4., 5., 6., 7., 8.]);
    gives(source, &[a], &[array(&[2, 2], &[4., 6., 12., 14.])]);
}

/// `y[i] = a[i] * y[i - 1] + b[i]`.
#[test]
fn linear_recurrence() {
    let source = "fn f(a: [f64; n], b: [f64; n], y0: f64) -> [f64; n] {
        let (c, d) = scan(|(p, q), (r, s)| (p * r, q * r + s), (1.0, 0.0), (a, b));
        c * y0 + d
    }";
    gives(source, &[v(&[2., 3., 4.]), v(&[1., 1., 10.]), x(1.)], &[v(&[3., 10., 50.])]);
    let source = "fn f(a: [f64; n], b: [f64; n]) -> (f64, f64) {
        reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), zip(a, b))
    }";
    gives(source, &[v(&[2., 3., 4.]), v(&[1., 1., 10.])], &[x(24.), x(26.)]);
    gives(source, &[v(&[]), v(&[])], &[x(1.), x(0.)]);
    // Several recurrences at once, and down the columns of two matrices.
    let source = "fn f(a: [[f64; n]; k], b: [[f64; n]; k]) -> ([[f64; n]; k], [[f64; n]; k]) {
        let (_, d) = scan(|(p, q), (r, s)| (p * r, q * r + s), (1.0, 0.0), (a, b));
        let (_, e) = scan(|(p, q), (r, s)| (p * r, q * r + s), (ones(n), zeros(n)), (a, b));
        (d, e)
    }";
    let a = array(&[2, 3], &[2., 3., 4., 1., 1., 1.]);
    let b = array(&[2, 3], &[1., 1., 10., 1., 1., 1.]);
    gives(
        source,
        &[a, b],
        &[array(&[2, 3], &[1., 4., 26., 1., 2., 3.]), array(&[2, 3], &[1., 1., 10., 2., 2., 11.])],
    );
}

#[test]
fn operators_of_all_kinds() {
    // With free variables, an array from outside, branches, and another element type in the tuple.
    let source = "fn f(x: [f64; n], z: f64) -> f64 { reduce(|a, b| a * b * z, 1.0 / z, x) }";
    gives(source, &[v(&[2., 3.]), x(0.5)], &[x(3.)]);
    let source = "fn f(x: [f64; n], at: [i64; n], w: [[f64; 2]; 2]) -> (f64, i64) {
        reduce(|(a, i), (b, j)| if a * w[0][1] >= b { (a, i) } else { (b, j) }, (-f64::INFINITY, -1), (x, at))
    }";
    let w = array(&[2, 2], &[0., 1., 0., 0.]);
    gives(source, &[v(&[2., 7., 3.]), ints(&[3], &[5, 6, 7]), w], &[x(7.), ints(&[], &[6])]);
    // A kernel.
    let source = "fn lse(a: f64, b: f64) -> f64 {
        let m = max(a, b);
        if m.is_finite() { m + ln(exp(a - m) + exp(b - m)) } else { m }
    }
    fn f(x: [f64; n]) -> (f64, [f64; n]) { (reduce(lse, -f64::INFINITY, x), x.scan(lse, -f64::INFINITY)) }";
    let (a, b) = (1f64.exp(), 1f64.exp() + 2f64.exp());
    gives(source, &[v(&[1., 2.])], &[x(b.ln()), v(&[a.ln(), b.ln()])]);
    gives(source, &[v(&[])], &[x(-INF), v(&[])]);
    let source = "fn compose(f: (f64, f64), g: (f64, f64)) -> (f64, f64) { (f.0 * g.0, f.1 * g.0 + g.1) }
    fn f(a: [f64; n], b: [f64; n]) -> (f64, f64) { reduce(compose, (1.0, 0.0), (a, b)) }";
    gives(source, &[v(&[2., 3., 4.]), v(&[1., 1., 10.])], &[x(24.), x(26.)]);
    // Built-in functions that are no reducers, and lazy logic that is one.
    let source = "fn f(x: [f64; n], b: [bool; n]) -> (f64, [bool; n], bool) {
        (reduce(hypot, 0.0, x), scan(|p, q| p || q, false, b), reduce(|p, q| p && q, true, b))
    }";
    let truth = |b: &[i64]| Value::from_i64(Elem::Bool, vec![b.len()], b).expect("a value");
    let no = Value::from_i64(Elem::Bool, vec![], &[0]).expect("a value");
    gives(source, &[v(&[3., 4.]), truth(&[0, 1])], &[x(5.), truth(&[0, 1]), no]);
    let f = compile(source).expect("a kernel");
    assert_eq!(number(&f.body, &|e| matches!(e, Exp::Fold(..))), 1);
    // A built-in operator on each part of a tuple.
    let source = "fn f(x: [f64; n], y: [i64; n]) -> ([f64; n], [i64; n]) { scan(add, (0.0, 0), (x, y)) }";
    gives(source, &[v(&[3., 4.]), ints(&[2], &[1, 2])], &[v(&[3., 7.]), ints(&[2], &[1, 3])]);
    // Nested tuples.
    let source = "fn f(x: [f64; n], y: [f64; n], z: [f64; n]) -> (f64, (f64, f64)) {
        reduce(|(a, (b, c)), (d, (e, f))| (a + d, (b.max(e), c * f)), (0.0, (0.0, 1.0)), (x, (y, z)))
    }";
    gives(source, &[v(&[1., 2.]), v(&[3., 4.]), v(&[5., 6.])], &[x(3.), x(4.), x(30.)]);
    // Element types from the array: `f32` throughout.
    let source = "fn f(x: [f32; n]) -> f32 { reduce(|a, b| a + b + a * b, 0.0, x) }";
    let single = |shape: &[usize], d: &[f64]| Value::from_f64(Elem::F32, shape.to_vec(), d).expect("a value");
    gives(source, &[single(&[2], &[1., 2.])], &[single(&[], &[5.])]);
    // Inside of other functions, and of a kernel that is called.
    let source = "fn prefix(x: [f64; n]) -> [f64; n] { scan(|a, b| a + b + a * b, 0.0, x) }
    fn f(a: [[f64; m]; n]) -> [f64; n] { build(n, |i| prefix(a[i]).sum()) + map(|row| sum(cumsum(row)), a) }";
    gives(source, &[array(&[2, 2], &[1., 2., 3., 4.])], &[v(&[10., 32.])]);
}

/// T16: products of 2x2 matrices.
#[test]
fn operators_on_small_arrays() {
    let a = array(&[3, 2, 2], &[1., 2., 3., 4., 0., 1., 1., 0., 2., 0., 0., 2.]);
    let one = array(&[2, 2], &[1., 0., 0., 1.]);
    let source = "fn f(a: [[[f64; 2]; 2]; n], one: [[f64; 2]; 2]) -> ([[f64; 2]; 2], [[[f64; 2]; 2]; n]) {
        (reduce(matmul, one, a), scan_exclusive(|p, q| matmul(p, q), one, a))
    }";
    let expected = [
        array(&[2, 2], &[4., 2., 8., 6.]),
        array(&[3, 2, 2], &[1., 0., 0., 1., 1., 2., 3., 4., 2., 1., 4., 3.]),
    ];
    gives(source, &[a, one.clone()], &expected);
    gives(source, &[array(&[0, 2, 2], &[]), one.clone()], &[one, array(&[0, 2, 2], &[])]);
    let f = compile(source).expect("a kernel");
    assert_eq!(number(&f.body, &|e| matches!(e, Exp::Fold(..))), 2);
    // A number and a row: what `(a, r)` after `(b, s)` is; and a small array on the way.
    let source = "fn f(a: [f64; n], r: [[f64; 2]; n]) -> (f64, [f64; 2]) {
        reduce(|(a, r), (b, s)| (a * b, r * b + s), (1.0, zeros(2)), (a, r))
    }";
    gives(source, &[v(&[2., 3.]), array(&[2, 2], &[1., 2., 3., 4.])], &[x(6.), v(&[6., 10.])]);
    let source = "fn f(a: [f64; n], t: [f64; 3]) -> f64 {
        reduce(|p, q| [p, q].sum() + dot([0.0, p * q, t[0]], t), 0.0, a)
    }";
    gives(source, &[v(&[2., 3.]), v(&[0., 1., 0.])], &[x(11.)]);
}

/// E31 and its kin: prefixes that use each other.
/// A `map` in the operator, in another or not, combines position by position.
#[test]
fn operators_that_map() {
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let combined = |x: f64, y: f64| x * y + x + y;
    let fold = |p: usize| combined(a[p], a[4 + p]);
    let expected = array(&[2, 2], &[fold(0), fold(1), fold(2), fold(3)]);
    for operator in [
        "|p, q| map(|u, v| map(|x, y| x * y + x + y, u, v), p, q)",
        "|p, q| map(|u, v| u * v + map(|x, y| x + y, u, v), p, q)",
        "|p, q| build((n, m), |i, j| p[i][j] * q[[i, j]] + p[[i, j]] + q[i][j])",
        "|p, q| { let sum = map(|u, v| map(|x, y| x + y, u, v), p, q); map(|u, v, w| map(|x, y, z| x * y + z, u, v, w), p, q, sum) }",
    ] {
        let source = format!(
            "fn f(a: [[[f64; m]; n]; k]) -> [[f64; m]; n] {{ reduce({operator}, zeros((n, m)), a) }}"
        );
        gives(&source, &[array(&[2, 2, 2], &a)], std::slice::from_ref(&expected));
    }
    let source = "fn f(a: [[f64; m]; n]) -> ([f64; m], [[f64; m]; n]) {
        let largest = |u, v| map(max, u, v);
        (reduce(largest, replicate(m, -f64::INFINITY), a), scan(|u, v| map(|x, y| x + y, u, v), zeros(m), a))
    }";
    let (largest, sums) = (v(&[7.0, 8.0]), array(&[4, 2], &[1.0, 2.0, 4.0, 6.0, 9.0, 12.0, 16.0, 20.0]));
    gives(source, &[array(&[4, 2], &a)], &[largest, sums]);
    let source = "fn f(a: [[[[f64; m]; n]; k]; r]) -> [[[f64; m]; n]; k] {
        reduce(|a, b| map(|a, b| map(|a, b| map(|a, b| a * b, a, b), a, b), a, b), ones((k, n, m)), a)
    }";
    gives(source, &[array(&[2, 1, 2, 2], &a)], &[array(&[1, 2, 2], &[5.0, 12.0, 21.0, 32.0])]);
    // Pairs of rows, each by its own function.
    let source = "fn f(a: [[f64; m]; n], b: [[f64; m]; n]) -> ([f64; m], [f64; m]) {
        reduce(|(p, q), (r, s)| (map(|x, y| x + y, p, r), map(|x, y| x * y, q, s)), (zeros(m), ones(m)), (a, b))
    }";
    let matrix = array(&[4, 2], &a);
    gives(source, &[matrix.clone(), matrix], &[v(&[16.0, 20.0]), v(&[105.0, 384.0])]);
    // What depends on the position is not the same at each.
    for operator in ["|u, v| map(|x, y, z| x + y * z, u, v, w)", "|u, v| build(m, |i| u[i] + v[m - 1 - i])"] {
        let source =
            format!("fn f(a: [[f64; m]; n], w: [f64; m]) -> [f64; m] {{ reduce({operator}, zeros(m), a) }}");
        let errors = compile(&source).expect_err(operator);
        assert!(errors[0].contains("position by position"), "{errors:?}");
    }
}

#[test]
fn programs_with_scans() {
    // Offsets of rows of different lengths, and where each starts.
    let source =
        "fn f(lengths: [i64; n]) -> ([i64; n], i64) { (scan_exclusive(add, 0, lengths), lengths.sum()) }";
    gives(source, &[ints(&[3], &[2, 0, 3])], &[ints(&[3], &[0, 2, 2]), ints(&[], &[5])]);
    // The largest sum of neighbors, by one reduction.
    let source = "fn f(x: [f64; n]) -> f64 {
        let parts = reduce(
            |(best, head, tail, all), (b, h, t, a)| (
                best.max(b).max(tail + h), head.max(all + h), t.max(a + tail), all + a,
            ),
            (0.0, 0.0, 0.0, 0.0),
            (x.max(0.0), x.max(0.0), x.max(0.0), x),
        );
        parts.0
    }";
    gives(source, &[v(&[1., -2., 3., 4., -1., 2., -7.])], &[x(8.)]);
    // Running mean and the variance by pairs.
    let source = "fn f(x: [f64; n]) -> [f64; n] { cumsum(x) / build(n, |i| (i + 1) as f64) }";
    gives(source, &[v(&[2., 4., 9.])], &[v(&[2., 3., 5.])]);
    // A segmented sum: it starts anew where there is a flag.
    let source = "fn f(x: [f64; n], flag: [bool; n]) -> [f64; n] {
        scan(|(a, s), (b, t)| (if t { b } else { a + b }, s || t), (0.0, false), (x, flag)).0
    }";
    let flags = Value::from_i64(Elem::Bool, vec![4], &[0, 0, 1, 0]).expect("a value");
    gives(source, &[v(&[1., 2., 3., 4.]), flags], &[v(&[1., 3., 3., 7.])]);
}

#[test]
fn what_is_refused() {
    let bad = [
        ("reduce(|a| a, 0.0, x)", "the operator of `reduce` combines 2 values, this closure has 1 parameter"),
        (
            "scan(|a, b, c, d| (a, b), (0.0, 0.0), (x, x)).0.sum()",
            "combines 2 values, this closure has 4 parameters",
        ),
        ("reduce(|a, b| a < b, 0.0, x)", "what the operator of `reduce` gives: expected f64, found bool"),
        ("reduce(|a, b| (a, b), 0.0, x)", "combines two values of type f64, but gives (f64, f64)"),
        ("scan(|a, b| x, 0.0, x).sum()", "combines two values of type f64, but gives [f64; n]"),
        ("reduce(|a, b| a - b, 0.0, x)", "the operator of `reduce` is not associative"),
        ("reduce(div, 1.0, x)", "the operator of `reduce` is not associative"),
        ("sum(reduce(|a, b| a - b, zeros(m), w))", "the operator of `reduce` is not associative"),
        ("reduce(add, 0, x)", "the neutral element of `reduce`: expected f64, found an integer"),
        ("reduce(add, 0.0, 1.0)", "`reduce` expects an array, found a float"),
        ("scan(add, x, x).sum()", "`scan`: the neutral element [f64; n] is no element of [f64; n]"),
        (
            "reduce(add, (0.0, 0.0), x).0",
            "`reduce`: the neutral element is (a float, a float), the values are [f64; n]",
        ),
        ("reduce(|(a, b), (c, d)| (a, b), (0.0, 0.0), (x, w[0])).0", "the sizes `m` and `n` are used as one"),
        ("sum(reduce(|a, b| a * sum(b), zeros(m), w))", "does not combine [f64; m] position by position"),
        ("reduce(|a, b| a + b * sum(x * a), 0.0, x)", "the operator of `reduce` computes with arrays"),
        ("cumsum(1.0).sum()", "`cumsum` expects a vector, found a float"),
        ("cumsum(x > 0.0).sum()", "`cumsum` expects numbers, found bool"),
        ("scan(0.0, add, x).sum()", "`scan` expects a function here, found a float"),
        ("scan(add, x).sum()", "`scan` takes 3 arguments, found 2"),
    ];
    for (body, message) in bad {
        let source = format!("fn f(x: [f64; n], w: [[f64; m]; n]) -> f64 {{ {body} }}");
        let found = compile(&source).map(|f| core::print::pretty(&f)).expect_err(body);
        assert!(
            found.len() == 1 && found[0].contains(message),
            "{body}\nexpected: {message}\nfound: {found:#?}"
        );
    }
}
