//! Programs that once were compiled wrong, most of them mutants: the whole compiler takes them now, with all derivatives, and all
//! stages agree on what they mean.

use array_dsl_compiler::testing::compare::{Checked, values};
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::mutants::check;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Scalar, Value};
use array_dsl_compiler::{bulk, pipeline};

/// What was wrong, and a program.
const FOUND: &[(&str, &str)] = &[
    (
        "what a loop without trips would have read was read before it, for a bound of what its trips change",
        "fn f(x: [f64; n], k: [i64; n]) -> [f64; n] {
            let mut a = x;
            for i in 0..n {
                let end = min(max(k[0], 0), n);
                for j in 0..end { a[j] = sin(a[i]); }
            }
            a
        }",
    ),
    (
        "where two floats are neither less than each other nor equal, anything was taken for certain",
        "fn f(x: [f64; n], y: [f64; n]) -> [f64; n] {
            build(n, |i| {
                if x[i] < y[i] {
                    x[i]
                } else if x[i] >= y[i] {
                    y[i]
                } else if i + 1 < n {
                    x[i + 1]
                } else {
                    0.5
                }
            })
        }",
    ),
    (
        "a place that moves along an axis was taken for the one that was chosen there",
        "fn f(x: [[f64; m]; n], w: [f64; n]) -> f64 {
            let b = build(n, |i| argmin(x[i]));
            sum(build(n, |k| if k == b[n - 1 - k] { w[k] * w[k] } else { 0.0 }))
        }",
    ),
    (
        "an index that wraps around was computed as a size",
        "fn f(x: [f64; n], y: [i64; 0]) -> [f64; n] {
            let p = minimum(y);
            hist(add, 0.0, n, build(n, |i| i + 2 * p + 2), x)
        }",
    ),
    (
        "a result that a loop of points does not read was computed in it alone",
        "fn f(n: usize, y: [f64; m], z: [f64; k]) -> f64 {
            let mut h = y;
            for i in 0..n { if (if i < m { h[i] } else { 0.3 }) > 0.1 { h = sin(h) + 0.5 * h; } }
            sin(sum(h)) + sum(z)
        }",
    ),
    (
        "the states of a loop in a branch started from what was computed in the loop",
        "fn f(x: [[f64; g]; m], at: [i64; k], first: [i64; q], e: [f64; l]) -> [f64; l] {
            build(l, |i| {
                let mut h = 0.5;
                if first[i] < first[i + 1] {
                    h = e[at[first[i]]];
                    for j in 0..g { h = h * x[0][j]; }
                }
                h
            })
        }",
    ),
    (
        "a check of sizes was a reason for the reads before it",
        "fn f(y: [f64; m], q: [f64; n]) -> f64 { let s = sum(build(m, |i| q[i])); let w: [f64; n] = y; s + sum(w) }",
    ),
    ("a result of another size was a reason for the reads of its elements", "fn f(x: [[f64]; n]) -> [[f64]; n] { concat(x, x) }"),
    (
        "a slice was a reason for the reads before it",
        "fn f(x: [f64; n], at: [i64; 1]) -> f64 { let k = at[0]; let s = sum(build(k, |i| x[i] * x[i])); s + sum(x[..k] * s) }",
    ),
    ("a number was flattened to the first parameter", "fn f(x: [f64; n]) -> f64 { sum(flatten(sum(x * x))) + sum(flatten(2.0)) }"),
    (
        "the memory of a Hessian's strips, which is not known where data decide how many trips there are, was added to",
        "fn f(first: [i64; n], values: [f64; n], room: i64) -> f64 {
            let mut best = zeros(room + 1);
            for i in 0..n { for w in max(0, first[i])..=room { best[w] = max(1.0, values[i]); } }
            sum(best)
        }",
    ),
    (
        "the strips of a Hessian used the trips of a loop before they were counted",
        "fn f(z: [f64; n], c: i64) -> f64 {
            if c > 0 { let mut h = z[1].abs() + 0.1; while h < 10.0 { h = h * 2.0 + z[0].abs(); } h * z[1] } else { 0.3 }
        }",
    ),
    ("a view of a view was no longer one of the array", "fn f(a: [[f64; m]; n]) -> [f64; m] { flatten(a) }"),
    ("views of rows of unnamed sizes", "fn f(a: [[[f64; k]]], b: [[f64; k]]) -> [[[f64]]] { a + flatten(b) }"),
    (
        "the slope of a remainder by a negative divisor",
        "fn f(y: [f64; n]) -> [f64; n] { build(n, |i| (1.1).rem_euclid(-1.0 - y[i].abs())) }",
    ),
    (
        "remainders around a circle, one in another",
        "fn f(x: [f64; n]) -> f64 { sum(build(n, |i| { let k = (i + 1).rem_euclid(n); x[(k + n - 1) % n] * x[k] })) }",
    ),
    (
        "of several values for one place only one stays, and all had derivatives",
        "fn f(xs: [f64; n], is: [i64; k], vs: [f64; k]) -> [f64; n] { scatter(xs, is, vs) }",
    ),
    (
        "what an accumulation is added to read it at two places",
        "fn f(x: [f64; n], k: i64) -> [f64; n] { rotate(reverse(x) + x, k) }",
    ),
    (
        "the trips of a loop in a loop were counted in the outer one, and a dimension outside of it",
        "fn f(x: [f64; n], k: i64) -> [f64; n] { let mut a = x; for i in 0..k { for j in 0..k { a[j] = 1.0; } } a }",
    ),
    (
        "a size that checks give two names",
        "fn f(a: [f64; n], p: usize, q: usize) -> [[f64; q]; p] { reshape(a, (n, q)) }",
    ),
    (
        "a derivative in a branch read what is as long only there",
        "fn f(x: [f64; _], y: [f64; _]) -> f64 {
            if x.len() == y.len() { dot(vjp(|q| q * (map(|a| a * a, x)))(-1.0, y).1, y) } else { -1.0 }
        }",
    ),
    (
        "the greater of a number and none is the number, and has its slope",
        "fn f(x: f64, y: f64) -> f64 { max(x, y.sqrt()) + min(x.ln(), y) }",
    ),
    (
        "a size whose negative is another",
        "fn f(a: [f64; n], p: usize, q: usize) -> [[f64; q]; p] { reshape(a, (-(n), q)) }",
    ),
    (
        "sizes of which one is the negative of another",
        "fn f(a: [f64; n], p: usize, q: usize) -> [[f64; q]; -(p)] { reshape(a, (-(n), q)) }",
    ),
    (
        "two sizes that are each a third one",
        "fn f(a: [f64; n], p: usize, q: usize) -> [[f64; q]; p] { reshape(a, (n, n)) }",
    ),
    (
        "a loop that nothing needs, and that does not end without what fails in it",
        "fn f(next: [i32; n], start: i32) -> i32 {
            let mut here = start;
            let mut steps = 0;
            while here != 0 { here = next[here as usize]; }
            steps
        }",
    ),
    (
        "rows that exist once a trip are read where a check holds if there are trips",
        "fn f(a: [[f64; m]; n], k: i64) -> [f64; n] { map(|r| sum(r[k..]), cumsum(a)) }",
    ),
    (
        "the arrays of a tuple, assigned at fewer places than they have",
        "fn f(x: [f64], y: [f64; n]) -> f64 { let mut ps = (x,); for i in 0..n { ps[i].0 += 1.0 } sum(ps.0) }",
    ),
    (
        "a loop goes on while a derivative says so, and the work in that was not counted",
        "fn f(x: f64) -> f64 {
            let mut y = x;
            while (y * y - x).abs() > grad(|q| q * (1e-12 * x))(y) { y = 0.5 * (y + x / y); }
            y
        }",
    ),
    (
        "branches in branches were executed once more for each around them",
        "fn f(x: f64, y: f64) -> f64 {
            if x > 0.1 {
                x * (if y > 0.2 { (x * y).sin() * (if x > y { x.exp() * y } else { y.cos() + x }) } else { y * x }).cos()
            } else {
                x * y.sin()
            }
        }",
    ),
    (
        "how many elements a loop leaves was known in the loop over strips of directions only",
        "fn f(x: [f32; n]) -> [f32; _] { filter(|v| v == 0.0, { let mut a = x; while sum(a * a) > 0.3 { a = 0.5 * a; } a }) }",
    ),
    (
        "an array of no sizes is a number",
        "fn f(a: [[f64; m]; n]) -> [[f64; _]; _] { scan(add, zeros(()), a) }",
    ),
    (
        "there were too many elements to tell whether there are as many",
        "fn f(a: [[f64; m]; n], b: [f64; _], s: f64) -> [[f64; _]; _] { windows(concat(a[0], b) * s, 9223372036854775807) }",
    ),
    (
        "positions that are stored and read in one tree of loops",
        "fn f(x: [f64; n]) -> [f64; n] { let o = argsort(x); let p = gather(o[1..], o % max(n - 1, 1)); gather(x, p) }",
    ),
    (
        "a view of a view was one of the array, which no single check says",
        "fn f(a: [f64; n], p: usize, q: usize) -> [[f64; q]; -(p)] { reshape(a, (-(n), (q) *(n))) }",
    ),
    (
        "a state that stays, whose value another one uses",
        "fn f(x: [f64; n], t: [bool; n]) -> [f64; n] {
            scan(|(a, s), (b, t)| (if t { b } else { a + b }, s), (0.0, false), (x, t)).0
        }",
    ),
    (
        "the second of equal results of a choice was the first, which was another choice",
        "fn f(x: [f64; n], k: i64) -> f64 {
            let mut s = 0.0;
            if k < n {
                for i in 0..k { s += x[i] * cumsum(s + x)[i]; }
                for j in 0..n {
                    let end = k * 2 + j;
                    if end < n { for i in 0..end { s = s * x[i] + 1.0; } }
                }
            }
            s
        }",
    ),
    (
        "positions that change places",
        "fn f(x: [f64; n]) -> [f64; n] { let o = argsort(x); let p = gather(o, o); gather(x, p) }",
    ),
    (
        "a product that trips keep had no states of its own going back",
        "fn f(x: [[f64; 4]; 4], t: [i64; 4]) -> f64 {
            let mut u = x;
            let mut d = 1.0;
            for k in 0..4 {
                d *= prod(u[k]);
                for i in 1..4 { for j in k..4 { u[i][j] -= u[0][i]; } }
            }
            d
        }",
    ),
    (
        "a scan that trips keep had no states of its own going back",
        "fn f(x: [[f64; 4]; 4], t: [i64; 4]) -> f64 {
            let mut u = x;
            let mut d = 1.0;
            for k in 0..4 {
                let s = scan(|a, b| a * b, 1.0, u[k]); d *= s[2] + s[1];
                for i in 1..4 { for j in k..4 { u[i][j] -= u[0][i]; } }
            }
            d
        }",
    ),
    (
        "a fold by an operator that trips keep had no states of its own going back",
        "fn f(x: [[f64; 4]; 4], t: [i64; 4]) -> f64 {
            let mut u = x;
            let mut d = 1.0;
            for k in 0..4 {
                d *= reduce(|a, b| a * b + a + b, 0.0, u[k]);
                for i in 1..4 { for j in k..4 { u[i][j] -= u[0][i]; } }
            }
            d
        }",
    ),
    (
        "a recurrence that trips keep had no states of its own going back",
        "fn f(x: [[f64; 4]; 4], t: [i64; 4]) -> f64 {
            let mut u = x;
            let mut d = 1.0;
            for k in 0..4 {
                let mut s = 0.5; for i in 0..3 { s = sin(s * u[k][k]) + s; } d *= s;
                for i in 1..4 { for j in k..4 { u[i][j] -= u[0][i]; } }
            }
            d
        }",
    ),
    (
        "least values by index that trips keep had no states of its own going back",
        "fn f(x: [[f64; 4]; 4], t: [i64; 4]) -> f64 {
            let mut u = x;
            let mut d = 1.0;
            for k in 0..4 {
                let s = hist(min, 9.0, 4, t, u[k]); d *= s[0] + s[1] + s[2] + s[3];
                for i in 1..4 { for j in k..4 { u[i][j] -= u[0][i]; } }
            }
            d
        }",
    ),
    (
        "a small array of a point's own on a GPU, at a place that it does not have",
        "fn f(x: [f32; n], y: [f32; n]) -> [f32; n] {
            build(n, |i| {
                let mut h = [x[i]];
                for j in 0..n - i { h[j % 2] = h[j + 1 - j].sin() + y[j + i]; }
                h[0] * h[i + 1 - i]
            })
        }",
    ),
    (
        "what a loop without points reads",
        "fn f(x: [f64; n]) -> [f64] { build(-n, |i| x[max(i, -1)]) }",
    ),
    (
        "a gradient was gathered around a circle by a number of turns that only data tell",
        "fn f(y: [f64; n], at: [i32; m], k: usize) -> [f64; n] { rotate(y * y, at[k] as i64) }",
    ),
    (
        "the same in a loop",
        "fn f(x: [f64; n], at: [i32; m]) -> [f64; n] {
            let mut y = x;
            for k in 0..m { y = y * rotate(y, at[k] as i64); }
            y
        }",
    ),
    (
        "an index whose constants do not fit into 64 bits",
        "fn f(x: [f64; n], k: i64) -> f64 {
            if k + 9223372036854775807 < n { x[k + 9223372036854775807 + 9223372036854775807] } else { 0.0 }
        }",
    ),
];

#[test]
fn programs_that_were_found() {
    for (what, source) in FOUND {
        let mut runs = 0;
        for seed in 0..4 {
            let report = check(source, 4 * seed, |_| Ok(()));
            assert!(report.is_accepted, "{what}: rejected\n{source}");
            assert!(report.findings.is_empty(), "{what}: {:?}\n{source}", report.findings);
            runs += report.runs.0;
        }
        assert!(runs > 0, "{what}: nothing was compared\n{source}");
    }
}

/// Its code would have meant itself by `f64`.
#[test]
fn no_kernel_has_the_name_of_a_type() {
    for name in ["f64", "bool", "usize"] {
        let errors =
            compile(&format!("fn {name}(x: [f32; n]) -> f32 {{ sum(x) }}")).expect_err("it is a type");
        assert!(errors[0].contains(&format!("the name of the type `{name}`")), "{errors:?}");
    }
}

fn floats(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("as many as there are places")
}

fn ints(data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, vec![data.len()], data).expect("as many as there are places")
}

#[test]
fn what_a_loop_in_a_branch_starts_from_may_fail() {
    // It is read before the loop, if that has trips.
    let source =
        "fn f(x: [[f64; g]; m], at: [i64; k], first: [i64; q], e: [f64; l], trips: i64) -> [i64; l] {
        build(l, |i| {
            let mut lo = 0;
            let mut hi = g - 1;
            if first[i] < first[i + 1] {
                let n = at[first[i]];
                for _ in 0..trips {
                    let mid = (lo + hi) / 2;
                    let left = x[n][mid] > e[i];
                    hi = if left { mid } else { hi };
                    lo = if left { lo } else { mid };
                }
            }
            min(lo, g - 2)
        })
    }";
    let f = kernel(source);
    let row = floats(&[2, 4], &[0.0, 1.0, 2.0, 3.0, 0.0, 0.1, 0.2, 0.3]);
    for (trips, at, first, expected) in [
        (14, [0, 1], [0, 1, 2], Checked::Agree),
        (14, [0, 7], [1, 1, 0], Checked::Agree),
        // Outside, but nobody looks.
        (0, [0, 7], [0, 1, 0], Checked::Agree),
        (3, [0, 7], [0, 1, 0], Checked::Agree),
        (3, [0, 7], [1, 2, 0], Checked::Fault),
    ] {
        let trips = Value::from_i64(Elem::I64, Vec::new(), &[trips]).expect("a scalar");
        let args = [row.clone(), ints(&at), ints(&first), floats(&[2], &[1.5, 0.15]), trips.clone()];
        assert_eq!(
            values(&f, &args).unwrap_or_else(|e| panic!("{e}")),
            expected,
            "{trips:?} {at:?} {first:?}"
        );
    }
    let constant = kernel(&source.replace(", trips: i64", "").replace("trips", "14"));
    let args = [row, ints(&[0, 1]), ints(&[0, 1, 0]), floats(&[2], &[1.5, 0.15])];
    assert_eq!(values(&constant, &args), Ok(Checked::Agree));
}

/// An array that only a derivative has is named, if it is too large.
#[test]
fn an_array_of_a_derivative_is_too_large() {
    let source = "fn f(q: [f64; n]) -> [f64; n] {
        let v = q.sin();
        hvp(|p| logsumexp(build(n + 9223372036854775807, |i| (if i >= 0 && i < n { p[i] } else { 0.3 }))) * sum(p * p))(v, v)
    }";
    let x = Value::from_f64(Elem::F64, vec![3], &[0.5, 1.5, -2.0]).expect("a vector");
    assert_eq!(values(&kernel(source), &[x]), Ok(Checked::Fault));
}

/// A branch that is not taken makes no trips, however many there would be.
#[test]
fn loops_in_branches_that_are_not_taken_end() {
    let text = "fn f(x: [f64; n], k: i64) -> f64 {
        let mut s = 0.0;
        if k < n {
            for i in 0..k { s += x[i] * s + x[i]; }
            for j in 0..n {
                let end = k * 2 + j;
                if end < n { for i in 0..end { s = s * x[i] + 1.0; } }
            }
        }
        s
    }";
    let f = kernel(text);
    let p = pipeline::middle(&f).expect("no derivative inside");
    for k in [-5, 0, 1, 2, 1 << 40, i64::MAX] {
        let args = [floats(&[3], &[0.5, 2.0, -1.0]), Value::scalar(Scalar::I64(k))];
        let meant = meaning::run(&f, &args).expect("it ends");
        assert_eq!(bulk::interp::run(&p, &args).expect("it ends"), meant, "{k}");
    }
}
