//! Assignment, `for` and `while`: what programs with them compute, by Core's interpreter, and which loops stay parallel.

use array_dsl_compiler::bulk;
use array_dsl_compiler::core::{self, Body, Exp, Function, Trips};
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Elaborated;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::{kernels, meaning};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Fault, Scalar, Value};

fn elaborated(text: &str) -> Elaborated {
    let mut diagnostics = Diagnostics::default();
    let e = kernels::front(text, &mut diagnostics);
    e.unwrap_or_else(|| panic!("{text}\n{:#?}", diagnostics.list()))
}

fn core_of(text: &str) -> Function {
    elaborated(text).function
}

/// What the first error says.
fn error(text: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let done = kernels::front(text, &mut diagnostics);
    assert!(done.is_none(), "no error: {text}");
    let first = &diagnostics.list()[0];
    format!("{} {} | {}", first.code.text(), first.message, first.help)
}

fn floats(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("the data fill the shape")
}

fn vector(data: &[f64]) -> Value {
    floats(&[data.len()], data)
}

fn float(x: f64) -> Value {
    floats(&[], &[x])
}

fn ints(data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, vec![data.len()], data).expect("the data fill the shape")
}

fn int(x: i64) -> Value {
    Value::from_i64(Elem::I64, Vec::new(), &[x]).expect("one element")
}

/// All results, one number after the other. The printed form is read back and must mean the same.
fn run(text: &str, args: &[Value]) -> Vec<f64> {
    let f = core_of(text);
    let printed = core::print::print(&f);
    let values = meaning::run(&f, args).unwrap_or_else(|e| panic!("{e}: {printed}"));
    let again = core::parse::parse(&printed).unwrap_or_else(|e| panic!("{e:?}: {printed}"));
    assert_eq!(meaning::run(&again, args).expect("as before"), values, "{printed}");
    values.iter().flat_map(Value::to_f64).collect()
}

fn fault(text: &str, args: &[Value]) -> Fault {
    meaning::run(&core_of(text), args).expect_err("the program fails")
}

/// How many expressions satisfy a condition, at any depth.
fn count(b: &Body, f: &mut dyn FnMut(&Exp) -> bool) -> usize {
    let mut n = 0;
    for s in &b.stms {
        n += usize::from(f(&s.exp));
        n += match &s.exp {
            Exp::If(_, x, y) => count(x, f) + count(y, f),
            Exp::Build(_, b) | Exp::Reduce(_, _, b) | Exp::Scan(_, _, _, b) => count(b, f),
            Exp::Fold(o, _, _, b) => count(&o.body, f) + count(b, f),
            Exp::Scatter { body, .. } => count(body, f),
            Exp::Loop(l) => {
                let condition = if let Trips::While(c) = &l.trips { count(c, f) } else { 0 };
                condition + count(&l.body, f)
            }
            _ => 0,
        };
    }
    n
}

fn sequential(text: &str) -> usize {
    count(&core_of(text).body, &mut |e| matches!(e, Exp::Loop(_)))
}

fn scatters(text: &str) -> usize {
    count(&core_of(text).body, &mut |e| matches!(e, Exp::Scatter { .. }))
}

/// A program whose loops are all parallel, and its results.
fn parallel(text: &str, args: &[Value]) -> Vec<f64> {
    assert_eq!(sequential(text), 0, "{}", core::print::print(&core_of(text)));
    run(text, args)
}

/// A program with this many sequential loops, and its results.
fn ordered(text: &str, loops: usize, args: &[Value]) -> Vec<f64> {
    assert_eq!(sequential(text), loops, "{}", core::print::print(&core_of(text)));
    run(text, args)
}

#[test]
fn straight_line_assignment() {
    let text = "fn f(mut x: f64, (a, mut b): (f64, f64)) -> (f64, f64, f64) {
        let mut y = x; y += 2.0; x = y * y; { let mut y = 1.0; y -= 3.0; b *= y; } (a + x, b, y)
    }";
    assert_eq!(run(text, &[float(1.0), float(2.0), float(5.0)]), [11.0, -10.0, 3.0]);
    let text = "fn f(x: [f64; 3]) -> ([f64; 3], i64) {
        let mut a = x; let mut k = 7; k %= 4; k <<= 2; k |= 1; k ^= 3; a[k - 12] = 9.0; a[0] /= 2.0; (a, k)
    }";
    assert_eq!(run(text, &[vector(&[1.0, 2.0, 3.0])]), [0.5, 2.0, 9.0, 14.0]);
}

#[test]
fn shifts_by_other_types() {
    let text = "fn f(a: u32, k: i64, j: i32) -> (u32, u32, i64, [u32; 2]) {
        let mut b = a; b >>= 4; (a >> 8, b << k, 1 << j, [a, b] >> k)
    }";
    let single = |e, x| Value::from_i64(e, vec![], &[x]).expect("one");
    let args = [single(Elem::U32, 0x300), int(1), single(Elem::I32, 3)];
    assert_eq!(run(text, &args), [3.0, 96.0, 8.0, 384.0, 24.0]);
}

#[test]
fn swaps_and_tuples() {
    let text = "fn f(x: f64, y: f64) -> (f64, f64) { let (mut a, mut b) = (x, y); (a, b) = (b, a); (a, b) }";
    assert_eq!(run(text, &[float(1.0), float(2.0)]), [2.0, 1.0]);
    let text = "fn f(x: [f64; n]) -> [f64; n] {
        let mut a = x; let t = a[0]; a[0] = a[n - 1]; a[n - 1] = t; (a[0], a[1]) = (a[1], a[0]); a
    }";
    assert_eq!(run(text, &[vector(&[1.0, 2.0, 3.0])]), [2.0, 3.0, 1.0]);
    let text = "fn f(x: f64) -> (f64, (f64, i64)) {
        let mut t = (x, (x, 1)); t.0 += 1.0; t.1.1 = 5; (t.1.0, t.0) = (t.0, t.1.0); t
    }";
    assert_eq!(run(text, &[float(1.0)]), [1.0, 2.0, 5.0]);
    let text = "fn f(x: [f64; n], y: [f64; n]) -> ([f64; n], [f64; n]) {
        let mut p = zip(x, y); p[0].1 = 7.0; p[1] = (8.0, 9.0); p
    }";
    assert_eq!(run(text, &[vector(&[1.0, 2.0]), vector(&[3.0, 4.0])]), [1.0, 8.0, 7.0, 9.0]);
}

#[test]
fn parts_of_arrays() {
    let text = "fn f(a: [[f64; m]; n], r: [f64; m]) -> [[f64; m]; n] {
        let mut b = a; b[0] = r; b[1][0] += 10.0; b[[1, 1]] *= 2.0; b[0] -= 1.0; b
    }";
    let args = [floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), vector(&[5.0, 6.0])];
    assert_eq!(run(text, &args), [4.0, 5.0, 13.0, 8.0]);
    let text = "fn f(x: [f64; n], y: [f64; 2]) -> [f64; n] { let mut a = x; a[1..3] = y; a[..2] += 1.0; a[3..] *= 2.0; a }";
    assert_eq!(run(text, &[vector(&[1.0, 2.0, 3.0, 4.0]), vector(&[7.0, 8.0])]), [2.0, 8.0, 8.0, 8.0]);
    let text = "fn f(a: [[f64; 3]; 2]) -> [[f64; 3]; 2] { let mut b = a; b[1][1..] = [8.0, 9.0]; b }";
    assert_eq!(run(text, &[floats(&[2, 3], &[0.0; 6])]), [0.0, 0.0, 0.0, 0.0, 8.0, 9.0]);
    let text = "fn f(x: [f64; n], i: i64) -> [f64; n] { let mut a = x; a[i] = 1.0; a }";
    assert!(matches!(
        fault(text, &[vector(&[1.0]), int(1)]),
        Fault::IndexOutOfRange { index: 1, len: 1, .. }
    ));
}

#[test]
fn branches_assign() {
    let text = "fn f(x: f64) -> (f64, i64) {
        let mut y = x; let mut k = 0;
        if x > 1.0 { y = 1.0; k = 1; } else if x < 0.0 { let mut y = 5.0; y += 1.0; k = y as i64 }
        match k { 0 => y = 10.0, 1 => {} _ => { y *= 2.0; } }
        (y, k)
    }";
    for (x, expected) in [(3.0, [1.0, 1.0]), (-2.0, [-4.0, 6.0]), (0.5, [10.0, 0.0])] {
        assert_eq!(run(text, &[float(x)]), expected);
    }
    // The same in both branches.
    let text = "fn f(x: f64, c: bool) -> f64 { let mut y = 0.0; if c { y = x; } else { y = x; } y }";
    assert_eq!(run(text, &[float(2.0), Value::scalar(Scalar::Bool(true))]), [2.0]);
    let text = "fn f(x: [f64; n], c: bool) -> [f64; n] { let mut a = x; if c { a[0] = 1.0; } a }";
    let flag = |b| Value::scalar(Scalar::Bool(b));
    assert_eq!(run(text, &[vector(&[5.0, 6.0]), flag(true)]), [1.0, 6.0]);
    // Nothing is written in the branch that is not taken, not even outside.
    assert_eq!(run(text, &[vector(&[]), flag(false)]), [0.0; 0]);
}

#[test]
fn fibonacci() {
    let text =
        "fn fib(n: usize) -> i64 { let (mut a, mut b) = (0, 1); for _ in 0..n { (a, b) = (b, a + b); } a }";
    for (n, value) in [(0, 0.0), (1, 1.0), (10, 55.0), (-3, 0.0)] {
        assert_eq!(ordered(text, 1, &[int(n)]), [value]);
    }
}

#[test]
fn prefix_sums() {
    let text = "fn f(x: [f64; n]) -> [f64; n] {
        let mut out = zeros(n); let mut s = 0.0; for i in 0..n { s += x[i]; out[i] = s; } out
    }";
    assert_eq!(ordered(text, 1, &[vector(&[1.0, 2.0, 3.0])]), [1.0, 3.0, 6.0]);
    let text = "fn f(x: [f64; n]) -> [f64; n] { let mut a = x; for i in 1..n { a[i] = a[i - 1] + a[i]; } a }";
    assert_eq!(ordered(text, 1, &[vector(&[1.0, 2.0, 3.0])]), [1.0, 3.0, 6.0]);
    assert_eq!(run(text, &[vector(&[])]), [0.0; 0]);
    let text =
        "fn f(x: [f64; n]) -> [f64; n] { let mut a = x; for i in (0..n - 1).rev() { a[i] += a[i + 1]; } a }";
    assert_eq!(ordered(text, 1, &[vector(&[1.0, 2.0, 3.0])]), [6.0, 5.0, 3.0]);
}

#[test]
fn while_loops() {
    let text = "fn root(x: f64) -> f64 {
        let mut y = x; while (y * y - x).abs() > 1e-12 * x { y = 0.5 * (y + x / y); } y
    }";
    assert!((ordered(text, 1, &[float(2.0)])[0] - 2.0f64.sqrt()).abs() < 1e-12);
    let text = "fn collatz(start: i64) -> i64 {
        let mut k = start; let mut steps = 0;
        while k != 1 { if k % 2 == 0 { k /= 2; } else { k = 3 * k + 1; } steps += 1; }
        steps
    }";
    assert_eq!(ordered(text, 1, &[int(27)]), [111.0]);
    // Escape times, one loop per point.
    let text = "fn mandel(re: [f64; n], im: f64) -> [i64; n] {
        map(|cr| {
            let (mut x, mut y, mut k) = (0.0, 0.0, 0);
            while k < 20 && x * x + y * y <= 4.0 { (x, y) = (x * x - y * y + cr, 2.0 * x * y + im); k += 1; }
            k
        }, re)
    }";
    assert_eq!(ordered(text, 1, &[vector(&[0.0, 2.0, 0.3]), float(0.0)]), [20.0, 2.0, 12.0]);
}

#[test]
fn life() {
    let text = "fn life(start: [[i64; m]; n], steps: usize) -> [[i64; m]; n] {
        let mut world = start;
        for _ in 0..steps {
            let old = world;
            world = build((n, m), |i, j| {
                let mut alive = -old[i][j];
                for di in 0..3 { for dj in 0..3 { alive += old[(i + di + n - 1) % n][(j + dj + m - 1) % m]; } }
                if alive == 3 || (alive == 2 && old[i][j] == 1) { 1 } else { 0 }
            });
        }
        world
    }";
    let blinker: Vec<i64> = (0..25).map(|k| i64::from(k / 5 == 2 && (1..4).contains(&(k % 5)))).collect();
    let world = Value::from_i64(Elem::I64, vec![5, 5], &blinker).expect("25 cells");
    let upright: Vec<f64> =
        (0..25).map(|k| f64::from(u8::from(k % 5 == 2 && (1..4).contains(&(k / 5))))).collect();
    assert_eq!(ordered(text, 1, &[world, int(3)]), upright);
}

#[test]
fn bubble_sort() {
    let text = "fn sorted(x: [f64; n]) -> [f64; n] {
        let mut a = x;
        for i in 0..n { for j in 0..n - 1 - i { if a[j] > a[j + 1] { (a[j], a[j + 1]) = (a[j + 1], a[j]); } } }
        a
    }";
    assert_eq!(ordered(text, 2, &[vector(&[3.0, 1.0, 2.0, -1.0])]), [-1.0, 1.0, 2.0, 3.0]);
}

#[test]
fn matrix_power() {
    let text = "fn power(a: [[f64; n]; n], k: usize) -> [[f64; n]; n] {
        let mut result = build((n, n), |i, j| if i == j { 1.0 } else { 0.0 });
        let mut base = a; let mut left = k;
        while left > 0 { if left % 2 == 1 { result = matmul(result, base); } base = matmul(base, base); left /= 2; }
        result
    }";
    let a = floats(&[2, 2], &[1.0, 1.0, 1.0, 0.0]);
    assert_eq!(ordered(text, 1, &[a, int(10)]), [89.0, 55.0, 55.0, 34.0]);
}

#[test]
fn sums_stay_parallel() {
    let text = "fn f(x: [f64; n]) -> (f64, i64, f64, bool) {
        let mut s = 1.0; let mut k = 0; let mut top = f64::NEG_INFINITY; let mut all = true;
        for i in 0..n { s = s + x[i] - 1.0; if x[i] > 1.5 { k += 1; } top = top.max(x[i]); all &= x[i] > 0.0; }
        (s, k, top, all)
    }";
    let text = text.replace("s = s + x[i] - 1.0", "s -= 1.0; s = s + x[i]");
    assert_eq!(parallel(&text, &[vector(&[1.0, 2.0, 3.0])]), [4.0, 2.0, 3.0, 1.0]);
    assert_eq!(parallel(&text, &[vector(&[])]), [1.0, 0.0, f64::NEG_INFINITY, 1.0]);
    let text = "fn f(a: [[f64; m]; n]) -> f64 { let mut s = 0.0; for row in a { for x in row.iter() { s += x * x; } } s }";
    assert_eq!(parallel(text, &[floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])]), [30.0]);
    let text = "fn f(a: [[f64; m]; n]) -> [f64; m] { let mut s = zeros(m); for row in a { s += row; } s }";
    assert_eq!(parallel(text, &[floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])]), [4.0, 6.0]);
    let text = "fn f(x: [i64; n]) -> i64 { let mut m = 100; for (i, v) in x.iter().enumerate() { m = min(v * i, m); } m }";
    assert_eq!(parallel(text, &[ints(&[5, 4, -3])]), [-6.0]);
    // The trip count is no size: sequential, with the same result.
    let text = "fn f(x: [f64; n]) -> [f64; n] { build(n, |i| { let mut s = 0.0; for j in 0..=i { s += x[j]; } s }) }";
    assert_eq!(ordered(text, 1, &[vector(&[1.0, 2.0, 3.0])]), [1.0, 3.0, 6.0]);
    // Around it, the sum over all is one again.
    let text = "fn f(x: [f64; n]) -> f64 { let mut s = 0.0; for i in 0..n { for j in 0..i { s += x[i] * x[j]; } } s }";
    assert_eq!(ordered(text, 1, &[vector(&[1.0, 2.0, 3.0])]), [11.0]);
}

#[test]
fn rows_of_their_own_stay_parallel() {
    let text = "fn f(x: [f64; n], g: [f64; n]) -> [f64; n] {
        let mut a = x; for i in 0..n { a[i] = 0.5 * a[i] + g[i]; if a[i] < 0.0 { a[i] = 0.0; } } a
    }";
    assert_eq!(parallel(text, &[vector(&[2.0, -8.0]), vector(&[1.0, 1.0])]), [2.0, 0.0]);
    assert_eq!(scatters(text), 0);
    // A stencil over the inner points.
    let text = "fn f(x: [f64; n]) -> [f64; n] {
        let mut a = x; for i in 1..n - 1 { a[i] = (x[i - 1] + x[i + 1]) / 2.0; } a
    }";
    assert_eq!(parallel(text, &[vector(&[1.0, 5.0, 9.0, 0.0])]), [1.0, 5.0, 2.5, 0.0]);
    assert_eq!(parallel(text, &[vector(&[1.0])]), [1.0]);
    assert_eq!(parallel(text, &[vector(&[])]), [0.0; 0]);
    assert_eq!(scatters(text), 0);
    let text = "fn f(x: [f64; n]) -> [f64; n + 1] { let mut a = zeros(n + 1); for i in 0..n { a[i + 1] = x[i]; } a }";
    assert_eq!(parallel(text, &[vector(&[1.0, 2.0])]), [0.0, 1.0, 2.0]);
    let text = "fn mv(a: [[f64; m]; n], x: [f64; m]) -> [f64; n] {
        let mut y = zeros(n); for i in 0..n { y[i] = 1.0; for j in 0..m { y[i] += a[i][j] * x[j]; } } y
    }";
    let a = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(parallel(text, &[a, vector(&[1.0, 10.0])]), [22.0, 44.0]);
    // The number of trips says nothing about the array: a scatter that fails outside.
    let text = "fn f(x: [f64; n], k: usize) -> [f64; n] { let mut a = x; for i in 0..k { a[i] = 1.0; } a }";
    assert_eq!(parallel(text, &[vector(&[5.0, 6.0, 7.0]), int(2)]), [1.0, 1.0, 7.0]);
    assert_eq!(run(text, &[vector(&[5.0]), int(-2)]), [5.0]);
    assert!(matches!(fault(text, &[vector(&[5.0]), int(2)]), Fault::IndexOutOfRange { index: 1, .. }));
}

#[test]
fn histograms_stay_parallel() {
    let text = "fn f(at: [i64; n], w: [f64; n], k: usize) -> [f64; k] {
        let mut h = [0.0; k]; for i in 0..n { h[at[i]] += w[i]; } h
    }";
    let args = [ints(&[2, 0, 2]), vector(&[1.0, 2.0, 3.0]), int(3)];
    assert_eq!(parallel(text, &args), [2.0, 0.0, 4.0]);
    assert_eq!(scatters(text), 1);
    let args = [ints(&[2, 3, 2]), vector(&[1.0, 2.0, 3.0]), int(3)];
    assert!(matches!(fault(text, &args), Fault::IndexOutOfRange { index: 3, len: 3, .. }));
    // Under a condition, and two of them; not taken, the index may be anything.
    let text = "fn f(at: [i64; n], w: [f64; n]) -> ([f64; 3], i64) {
        let mut h = [0.0; 3]; let mut taken = 0;
        for i in 0..n { if at[i] < 3 { h[at[i]] += w[i]; taken += 1; } else if w[i] > 1.0 { h[0] -= 1.0; } }
        (h, taken)
    }";
    let args = [ints(&[2, 9, 2, 7]), vector(&[1.0, 2.0, 3.0, 0.0])];
    assert_eq!(parallel(text, &args), [-1.0, 0.0, 4.0, 2.0]);
    let text = "fn f(at: [i64; n], v: [i64; n]) -> [i64; 2] {
        let mut m = [9, 9]; for (i, b) in at.iter().enumerate() { m[b] = m[b].min(v[i]); } m
    }";
    assert_eq!(parallel(text, &[ints(&[1, 1, 0]), ints(&[5, 3, 20])]), [9.0, 3.0]);
    // Rows.
    let text = "fn f(at: [i64; n], a: [[f64; m]; n]) -> [[f64; m]; 2] {
        let mut s = zeros((2, m)); for i in 0..n { s[at[i]] += a[i]; s[0] += 1.0; } s
    }";
    let args = [ints(&[1, 1]), floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])];
    assert_eq!(parallel(text, &args), [2.0, 2.0, 4.0, 6.0]);
    // A permutation: each element is written at most once by the loops' own indices.
    let text = "fn f(a: [[f64; m]; n]) -> [[f64; n]; m] {
        let mut t = zeros((m, n)); for i in 0..n { for j in 0..m { t[j][i] = a[i][j]; } } t
    }";
    assert_eq!(parallel(text, &[floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])]), [1.0, 3.0, 2.0, 4.0]);
}

#[test]
fn products_as_three_loops() {
    let a = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let b = floats(&[2, 2], &[5.0, 6.0, 7.0, 8.0]);
    for order in ["ijk", "ikj", "kij", "jki"] {
        let head = |c| match c {
            'i' => "for i in 0..n",
            'j' => "for j in 0..m",
            _ => "for k in 0..l",
        };
        let [x, y, z] = [0, 1, 2].map(|p| head(order.as_bytes()[p] as char));
        let text = format!(
            "fn f(a: [[f64; l]; n], b: [[f64; m]; l]) -> [[f64; m]; n] {{
                let mut c = zeros((n, m)); {x} {{ {y} {{ {z} {{ c[i][j] += a[i][k] * b[k][j]; }} }} }} c
            }}"
        );
        assert_eq!(parallel(&text, &[a.clone(), b.clone()]), [19.0, 22.0, 43.0, 50.0], "{order}");
    }
}

#[test]
fn k_means() {
    let text = "fn k_means(points: [[f64; d]; n], start: [[f64; d]; k], steps: usize) -> [[f64; d]; k] {
        let mut centers = start;
        for _ in 0..steps {
            let mut sums = zeros((k, d));
            let mut counts = zeros(k);
            for i in 0..n {
                let distances = build(k, |c| { let mut s = 0.0; for j in 0..d { s += (points[i][j] - centers[c][j]).powi(2); } s });
                let best = argmin(distances);
                counts[best] += 1.0;
                for j in 0..d { sums[best][j] += points[i][j]; }
            }
            for c in 0..k { if counts[c] > 0.0 { centers[c] = sums[c] / counts[c]; } }
        }
        centers
    }";
    let points = floats(&[4, 1], &[0.0, 1.0, 10.0, 12.0]);
    let start = floats(&[2, 1], &[0.0, 5.0]);
    // Only the steps depend on each other.
    assert_eq!(ordered(text, 1, &[points, start, int(4)]), [0.5, 11.0]);
    let notes = elaborated(text).in_order;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(
        notes[0].why,
        "the loop over `_` runs in order: `centers` is carried from trip to trip, as it is read in the loop that changes it"
    );
}

#[test]
fn random_numbers() {
    let text = "fn uniform(seed: u32) -> [f64; 3] {
        let mut state = seed; let mut out = zeros(3);
        for i in 0..3 { state = state * 1664525 + 1013904223; out[i] = state as f64 / 4294967296.0; }
        out
    }";
    let mut state = 42u32;
    let expected: Vec<f64> = (0..3)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            f64::from(state) / 4294967296.0
        })
        .collect();
    let seed = Value::scalar(Scalar::U32(42));
    assert_eq!(ordered(text, 1, &[seed]), expected);
}

#[test]
fn loops_inside_closures() {
    let text = "fn f(x: [f64; n], k: usize) -> [f64; n] {
        map(|v| { let mut y = v; for _ in 0..k { y = y * y - 0.5; } y }, x)
    }";
    let step = |v: f64| v * v - 0.5;
    assert_eq!(ordered(text, 1, &[vector(&[1.0, 2.0]), int(2)]), [step(step(1.0)), step(step(2.0))]);
    let text = "fn f(n: usize) -> [[i64; 3]; n] {
        build(n, |i| { let mut row = [0; 3]; for j in 0..3 { row[j] = i * j; } row[0] -= 1; row })
    }";
    assert_eq!(parallel(text, &[int(2)]), [-1.0, 0.0, 0.0, -1.0, 1.0, 2.0]);
    let text = "fn f(x: [f64; n]) -> f64 {
        let mut s = 0.0; let g = |v| { let mut t = v; t *= 2.0; t }; for v in x { s += g(v); } s
    }";
    assert_eq!(parallel(text, &[vector(&[1.0, 2.0])]), [6.0]);
}

#[test]
fn inner_loops_that_run_in_order() {
    // The write is inside a loop that runs in order, so the outer loop does as well.
    let text = "fn f(x: [i64; n]) -> [i64; 8] {
        let mut h = [0; 8]; for i in 0..n { let mut k = x[i]; while k > 0 { h[k % 8] += 1; k /= 2; } } h
    }";
    assert_eq!(ordered(text, 2, &[ints(&[5, 1])]), [0.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert!(elaborated(text).in_order[0].why.starts_with("the loop over `i` runs in order: what it writes"));
    // A local variable of the body is no state of the outer loop.
    let text = "fn f(x: [i64; n]) -> i64 {
        let mut bits = 0; for i in 0..n { let mut k = x[i]; while k > 0 { bits += k % 2; k /= 2; } } bits
    }";
    assert_eq!(ordered(text, 1, &[ints(&[5, 7])]), [5.0]);
}

#[test]
fn factors_in_place() {
    let text = "fn lu(a: [[f64; n]; n]) -> [[f64; n]; n] {
        let mut m = a;
        for k in 0..n {
            for i in k + 1..n { m[i][k] /= m[k][k]; for j in k + 1..n { m[i][j] -= m[i][k] * m[k][j]; } }
        }
        m
    }";
    let a = floats(&[3, 3], &[2.0, 1.0, 1.0, 4.0, 3.0, 3.0, 8.0, 7.0, 9.0]);
    assert_eq!(run(text, &[a]), [2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 4.0, 3.0, 2.0]);
}

#[test]
fn sieve() {
    let text = "fn primes(n: usize) -> i64 {
        let mut prime = replicate(n, true); let mut p = 2;
        while p * p < n {
            if prime[p] { let mut q = p * p; while q < n { prime[q] = false; q += p; } }
            p += 1;
        }
        let mut count = 0; for i in 2..n { if prime[i] { count += 1; } } count
    }";
    assert_eq!(ordered(text, 2, &[int(30)]), [10.0]);
}

#[test]
fn sizes_from_loops() {
    let text = "fn f(x: [f64; n]) -> [f64; _] {
        let mut k = 0; while k < 2 { k += 1; } let mut a = zeros(k); for i in 0..k { a[i] = x[i]; } a
    }";
    assert_eq!(ordered(text, 1, &[vector(&[1.0, 2.0, 3.0])]), [1.0, 2.0]);
    let text = "fn f(mut k: usize, x: [f64; k]) -> [f64; k] { k += 1; build(k - 1, |i| x[i] + k as f64) }";
    assert_eq!(run(text, &[int(2), vector(&[1.0, 2.0])]), [4.0, 5.0]);
}

#[test]
fn arrays_of_pairs() {
    let text = "fn f(x: [f64; n], y: [f64; n]) -> f64 {
        let mut ps = zip(x, y);
        for i in 0..n { ps[i] = (ps[i].1, ps[i].0); ps[i].0 += 1.0; }
        let mut s = 0.0; for (a, b) in ps { s += a - 2.0 * b; } s
    }";
    assert_eq!(parallel(text, &[vector(&[1.0, 2.0]), vector(&[5.0, 6.0])]), [7.0]);
}

#[test]
fn index_types() {
    let text = "fn f(n: i32) -> i32 { let mut s = 0; for i in 1..=n { s += i; } s }";
    assert_eq!(run(text, &[Value::from_i64(Elem::I32, vec![], &[4]).expect("one")]), [10.0]);
    let text = "fn f(n: usize) -> i64 { let mut s = 0; for i in (2..n).rev() { s = 10 * s + i; } s }";
    assert_eq!(ordered(text, 1, &[int(5)]), [432.0]);
    let text = "fn f(x: [f64; n], y: [f64; n]) -> f64 { let mut s = 0.0; for (a, b) in zip(x, y) { s += a * b; } s }";
    assert_eq!(parallel(text, &[vector(&[1.0, 2.0]), vector(&[3.0, 4.0])]), [11.0]);
}

/// What is parallel goes on through every later stage; writes outside an array stay errors.
#[test]
fn parallel_loops_are_ordinary_nests() {
    let middle = |text: &str| pipeline::middle(&core_of(text)).expect("its derivatives exist");
    let text = "fn f(at: [i64; n], w: [f64; n]) -> [f64; 3] {
        let mut h = [0.0; 3]; for i in 0..n { if w[i] > 0.0 { h[at[i]] += w[i]; } } h
    }";
    let inside = [ints(&[2, 9, 2]), vector(&[1.0, 0.0, 3.0])];
    let outside = [ints(&[2, 9, 2]), vector(&[1.0, 2.0, 3.0])];
    let p = middle(text);
    let values = bulk::interp::run(&p, &inside).expect("all writes are inside");
    assert_eq!(values[0].to_f64(), [0.0, 0.0, 4.0]);
    let shown = bulk::print::print(&p);
    let fault = bulk::interp::run(&p, &outside);
    assert!(matches!(fault, Err(Fault::IndexOutOfRange { index: 9, .. })), "{fault:?} {shown}");
    let text = "fn f(a: [[f64; l]; n], b: [[f64; m]; l]) -> [[f64; m]; n] {
        let mut c = zeros((n, m)); for k in 0..l { for i in 0..n { for j in 0..m { c[i][j] += a[i][k] * b[k][j]; } } } c
    }";
    let shown = bulk::print::print(&middle(text));
    assert_eq!(shown.matches("nest").count(), 1, "{shown}");
}

#[test]
fn errors() {
    for (body, start) in [
        ("let y = x; y = 1.0; y", "AD0020 `y` is not declared as mutable | declare it with `mut y`"),
        ("x = 1.0; x", "AD0020 `x` is not declared as mutable"),
        ("let mut y = a; y[0] = 1; x", "AD0005 the assignment to this part of `y`: expected f64"),
        (
            "let mut y = x; y = a; x",
            "AD0020 an assignment keeps the type of `y`: expected f64, found [f64; n]",
        ),
        ("let mut y = a; y = x; x", "AD0020 an assignment keeps the type of `y`"),
        (
            "let mut y = a; y = concat(y, [x]); x",
            "AD0020 an assignment keeps the size of `y`: expected n, found n + 1",
        ),
        (
            "let mut y = a; for i in 0..3 { y = concat(y, [x]); } x",
            "AD0020 an assignment keeps the size of `y`",
        ),
        ("let mut s = 0.0; let b = map(|v| { s += v; v }, a); s", "AD0020 a closure cannot change `s`"),
        ("let mut y = a; build(n, |i| { y[i] = x; i }); x", "AD0020 a closure cannot change a part of `y`"),
        ("n = 3; x", "AD0020 `n` is a size"),
        ("yy = 3; x", "AD0002 unknown name `yy`"),
        ("let mut y = a; y[0.5] = x; x", "AD0005 an index to assign at must be one integer"),
        ("let mut y = a; y[0][1] = x; x", "AD0006"),
        ("let mut y = (x, x); y.2 = x; x", "AD0014"),
        ("let (mut p, mut q) = (x, x); (p, q) = x; x", "AD0014 2 parts are assigned"),
        ("let mut g = |v| v; g = x; x", "AD0020 `g` is a function"),
        (
            "let mut y = x; if a > 0.0 { y = 1.0; } y",
            "AD0020 `y` is assigned under a condition that is an array",
        ),
        ("let mut y = x; while a > 0.0 { y = 1.0; } y", "AD0005 the condition of a `while` must be one bool"),
        (
            "let mut y = x; while { y -= 1.0; y > 0.0 } {} y",
            "AD0020 the condition of a `while` assigns to `y`",
        ),
        ("for i in x { } x", "AD0006 a `for` runs over a range or an array"),
        ("for i in 0.0..x { } x", "AD0005 the ends of a range must be integers"),
        ("for i in 0..n { a[i] } x", "AD0001 this expression's value is not used"),
        ("let mut y = x; let z = y = 2.0; x", "AD0001 there is no value to bind here"),
        ("sum(build(n, |i| { let y = a[i]; }))", "AD0001 this closure has no value"),
        ("let mut k = 0; for i in 0..n { k += i; let b = zeros(i); } x", "AD0009 this size depends on `i`"),
        (
            "let mut k = 0; while k < 3 { k += 1; let b = zeros(k); } x",
            "AD0009 this size depends on the state",
        ),
        ("let mut s = true; for v in a { s += true; } x", "AD0005"),
        ("if x > 0.0 { 1.0 } x", "AD0001 `if` without `else` has no value"),
    ] {
        let found = error(&format!("fn f(x: f64, a: [f64; n]) -> f64 {{ {body} }}"));
        assert!(found.starts_with(start), "{body}: {found}");
    }
}
