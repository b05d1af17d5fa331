//! Derivatives inside kernels: against numbers by hand, through every stage, and differentiated again.

use array_dsl_compiler::bulk::{self, Stm};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::flatten;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare;
use array_dsl_compiler::testing::kernels::compile;
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::ty::{Elem, Loc};
use array_dsl_compiler::value::{Value, approx_eq};

fn array(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("a value")
}

fn v(data: &[f64]) -> Value {
    array(&[data.len()], data)
}

fn x(data: f64) -> Value {
    array(&[], &[data])
}

fn int(i: i64) -> Value {
    Value::from_i64(Elem::I64, vec![], &[i]).expect("a value")
}

fn ints(data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, vec![data.len()], data).expect("a value")
}

/// The program gives these numbers in every stage, and has right derivatives itself.
fn gives(source: &str, args: &[Value], expected: &[Value]) {
    let f = compile(source).unwrap_or_else(|e| panic!("{e:#?}\n{source}"));
    let found = meaning::run(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(found.len(), expected.len(), "{source}");
    for (a, b) in found.iter().zip(expected) {
        approx_eq(a, b, 1e-10, 1e-10).unwrap_or_else(|e| panic!("{e}\n{source}"));
    }
    let agree = compare::values(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(agree, compare::Checked::Agree, "{source}");
    let p = pipeline::middle(&f).expect("its derivatives exist");
    let done = compare::derivatives(&p, args, 7, 2, false).unwrap_or_else(|e| panic!("{e}\n{source}"));
    // Of what has derivatives the two modes are compared.
    assert!(done.identities > 0 || !Derivative::Vjp.exists(&p), "{source}");
}

fn refused(source: &str) -> String {
    compile(source).expect_err("it is wrong").join("\n")
}

#[test]
fn functions_of_one_number() {
    gives("fn f(a: f64) -> f64 { grad(|x| x * x * x)(a) }", &[x(2.0)], &[x(12.0)]);
    gives("fn f(a: f64) -> f64 { let g = |x| x * x * x; grad(grad(g))(a) }", &[x(2.0)], &[x(12.0)]);
    gives("fn f(a: f64) -> f64 { grad(grad(grad(|x| x * x * x)))(a) }", &[x(2.0)], &[x(6.0)]);
    gives("fn f(a: f64) -> f64 { grad(sin)(a) + grad(max)(a, 1.0).0 }", &[x(0.0)], &[x(1.0)]);
    gives(
        "fn f(a: f64) -> (f64, f64) { value_and_grad(|x| x.exp())(a * 2.0) }",
        &[x(0.5)],
        &[x(1f64.exp()), x(1f64.exp())],
    );
    gives("fn f(a: f64) -> (f64, f64) { jvp(|x| x.powi(3))(a, 0.5) }", &[x(2.0)], &[x(8.0), x(6.0)]);
    gives("fn f(a: f64) -> (f64, f64) { vjp(|x| x.powi(3))(a, 0.5) }", &[x(2.0)], &[x(8.0), x(6.0)]);
    gives("fn f(a: f64) -> f64 { hvp(|x| x.powi(3))(a, 0.5) }", &[x(2.0)], &[x(6.0)]);
    // Where a factor is zero, the other's derivative is not lost.
    gives(
        "fn f(a: f64, b: f64) -> f64 { grad(|x| grad(|y| x * y.exp())(b))(a) }",
        &[x(0.0), x(1.0)],
        &[x(1f64.exp())],
    );
    // Of what does not depend on it.
    gives("fn f(a: f64) -> f64 { grad(|x| a * a)(a) }", &[x(2.0)], &[x(0.0)]);
    gives("fn f(a: f64) -> f64 { grad(|x| 1.0)(a) + grad(|x| x)(a) }", &[x(2.0)], &[x(1.0)]);
}

/// The well-known cases in which systems that tag numbers wrongly go wrong.
#[test]
fn perturbations_are_not_confused() {
    gives("fn f(a: f64) -> f64 { grad(|x| x * grad(|y| x + y)(1.0))(a) }", &[x(1.0)], &[x(1.0)]);
    gives("fn f(a: f64) -> f64 { grad(|x| x * grad(|y| x * y)(x))(a) }", &[x(3.0)], &[x(6.0)]);
    gives("fn f(a: f64) -> f64 { jvp(|x| x * jvp(|y| x + y)(1.0, 1.0).1)(a, 1.0).1 }", &[x(1.0)], &[x(1.0)]);
    gives("fn f(a: f64) -> f64 { jvp(|x| x * grad(|y| x * y)(2.0))(a, 1.0).1 }", &[x(3.0)], &[x(6.0)]);
    gives("fn f(a: f64) -> f64 { grad(|x| x * jvp(|y| x * y)(x, 1.0).1)(a) }", &[x(3.0)], &[x(6.0)]);
    // The argument is the variable that the closure sees outside.
    gives("fn f(a: f64) -> f64 { grad(|y| a * y)(a) }", &[x(5.0)], &[x(5.0)]);
    gives(
        "fn f(a: [f64; n]) -> f64 { let g = |s| sum(map(|e| s * e, a)); grad(|t| t * grad(g)(t))(2.0) }",
        &[v(&[1.0, 2.0])],
        &[x(3.0)],
    );
}

#[test]
fn functions_of_arrays() {
    gives(
        "fn f(a: [f64; n]) -> [f64; n] { grad(|x| sum(x * x * x))(a) }",
        &[v(&[1.0, 2.0])],
        &[v(&[3.0, 12.0])],
    );
    gives(
        "fn f(a: [f64; n], b: f64) -> ([f64; n], f64) { grad(|x, s| s * prod(x))(a, b) }",
        &[v(&[2.0, 3.0]), x(4.0)],
        &[v(&[12.0, 8.0]), x(6.0)],
    );
    gives(
        "fn f(m: [[f64; k]; n], a: [f64; k], ct: [f64; n]) -> ([f64; n], [f64; k]) { vjp(|x| matvec(m, x))(a, ct) }",
        &[array(&[2, 3], &[1., 2., 3., 4., 5., 6.]), v(&[1., 0., -1.]), v(&[1.0, 10.0])],
        &[v(&[-2.0, -2.0]), v(&[41.0, 52.0, 63.0])],
    );
    gives(
        "fn f(m: [[f64; k]; n], a: [f64; k], t: [f64; k]) -> [f64; n] { jvp(|x| matvec(m, x))(a, t).1 }",
        &[array(&[2, 3], &[1., 2., 3., 4., 5., 6.]), v(&[1., 0., -1.]), v(&[1.0, 0.0, 1.0])],
        &[v(&[4.0, 10.0])],
    );
    gives(
        "fn f(a: [f64; n], t: [f64; n]) -> [f64; n] { hvp(|x| sum(x * x * x))(a, t) }",
        &[v(&[1.0, 2.0]), v(&[1.0, -1.0])],
        &[v(&[6.0, -12.0])],
    );
    // Scans, sorts and filters inside; and nothing at all.
    gives(
        "fn f(a: [f64; n]) -> [f64; n] { grad(|x| sum(cumprod(x)))(a) }",
        &[v(&[2.0, 3.0, 0.0])],
        &[v(&[4.0, 2.0, 6.0])],
    );
    gives(
        "fn f(a: [f64; n]) -> [f64; n] { grad(|x| { let k = filter(|e| e > 0.0, x); sum(k * k) })(a) }",
        &[v(&[2.0, -3.0, 1.0])],
        &[v(&[4.0, 0.0, 2.0])],
    );
    gives("fn f(a: [f64; n]) -> [f64; n] { grad(|x| sum(sort(x)))(a) }", &[v(&[])], &[v(&[])]);
}

#[test]
fn at_every_point_of_a_frame() {
    gives(
        "fn f(a: [f64; n]) -> [f64; n] { map(grad(|x| x.sin()), a) }",
        &[v(&[0.0, 1.0])],
        &[v(&[1.0, 1f64.cos()])],
    );
    gives(
        "fn f(a: [[f64; m]; n]) -> [[f64; m]; n] { map(|row| grad(|x| prod(x))(row), a) }",
        &[array(&[2, 3], &[1., 2., 3., 0., 5., 6.])],
        &[array(&[2, 3], &[6., 3., 2., 30., 0., 0.])],
    );
    gives(
        "fn f(w: [f64; k], xs: [[f64; k]; n], y: [f64; n]) -> [[f64; k]; n] {
            build(n, |i| grad(|w| { let e = dot(w, xs[i]) - y[i]; e * e })(w))
        }",
        &[v(&[1.0, 2.0]), array(&[2, 2], &[1., 1., 2., 0.]), v(&[1.0, 1.0])],
        &[array(&[2, 2], &[4.0, 4.0, 4.0, 0.0])],
    );
    // Under a condition nothing is read outside.
    gives(
        "fn f(a: [f64; n], at: [i64; m]) -> [f64; m] {
            build(m, |i| if at[i] < n { grad(|s| s * s * a[at[i]])(1.0) } else { -1.0 })
        }",
        &[v(&[3.0, 4.0]), Value::from_i64(Elem::I64, vec![2], &[1, 9]).expect("a value")],
        &[v(&[8.0, -1.0])],
    );
    gives(
        "fn f(a: [f64; n], at: [i64; m]) -> [f64; m] {
            build(m, |i| if at[i] < n { sum(grad(|x| x[at[i]] * sum(x))(a)) } else { -1.0 })
        }",
        &[v(&[3.0, 4.0]), Value::from_i64(Elem::I64, vec![2], &[1, 9]).expect("a value")],
        &[v(&[15.0, -1.0])],
    );
}

#[test]
fn kernels_are_lifted() {
    let cube = "fn cube(x: f64) -> f64 { x * x * x }";
    gives(
        &format!("{cube} fn f(a: [f64; n]) -> [f64; n] {{ grad(cube)(a) }}"),
        &[v(&[1.0, 2.0])],
        &[v(&[3.0, 12.0])],
    );
    gives(
        &format!("{cube} fn f(a: [f64; n]) -> [f64; n] {{ map(grad(grad(cube)), a) }}"),
        &[v(&[1.0, 2.0])],
        &[v(&[6.0, 12.0])],
    );
    let norm = "fn norm(x: [f64; n], #[no_grad] w: [f64; n], k: i64) -> f64 { sum(w * x.powi(k)) }";
    gives(
        &format!("{norm} fn f(a: [[f64; m]; n], w: [f64; m]) -> [[f64; m]; n] {{ grad(norm)(a, w, 2) }}"),
        &[array(&[2, 2], &[1., 2., 3., 4.]), v(&[1.0, 10.0])],
        &[array(&[2, 2], &[2., 40., 6., 80.])],
    );
    gives(
        &format!("{cube} fn f(a: [f64; n], t: [f64; n]) -> ([f64; n], [f64; n]) {{ jvp(cube)(a, t) }}"),
        &[v(&[1.0, 2.0]), v(&[1.0, 0.5])],
        &[v(&[1.0, 8.0]), v(&[3.0, 6.0])],
    );
    // A kernel with a derivative inside, called and differentiated.
    let slope = "fn slope(x: f64, k: f64) -> f64 { grad(|y| (k * y).sin())(x) }";
    gives(
        &format!("{slope} fn f(a: f64) -> f64 {{ grad(slope)(a, 2.0).0 }}"),
        &[x(0.25)],
        &[x(-4.0 * 0.5f64.sin())],
    );
}

#[test]
fn in_loops() {
    let newton = "fn f(a: f64, steps: usize) -> f64 {
        let g = |x| x * x - a;
        let mut x = a;
        for _ in 0..steps { let (y, d) = value_and_grad(g)(x); x -= y / d; }
        x
    }";
    gives(newton, &[x(2.0), int(6)], &[x(2f64.sqrt())]);
    gives(newton, &[x(2.0), int(0)], &[x(2.0)]);
    // Under a frame, with an end that differs.
    gives(
        "fn f(a: [f64; n]) -> [f64; n] {
            build(n, |i| {
                let mut x = a[i];
                while (x * x - a[i]).abs() > 1e-13 { x -= (x * x - a[i]) / grad(|y| y * y)(x); }
                x
            })
        }",
        &[v(&[4.0, 2.0, 3.0])],
        &[v(&[2.0, 2f64.sqrt(), 3f64.sqrt()])],
    );
    // Gradient descent on an array.
    gives(
        "fn f(a: [f64; n], c: [f64; n], steps: usize) -> [f64; n] {
            let mut w = a;
            for _ in 0..steps { w -= 0.25 * grad(|w| sum((w - c) * (w - c)))(w); }
            w
        }",
        &[v(&[1.0, 0.0]), v(&[0.0, 2.0]), int(3)],
        &[v(&[0.125, 1.75])],
    );
    // A loop inside of what is differentiated.
    gives(
        "fn f(a: f64, k: usize) -> f64 { grad(|x| { let mut p = 1.0; for _ in 0..k { p *= x; } p })(a) }",
        &[x(2.0), int(4)],
        &[x(32.0)],
    );
}

#[test]
fn a_point_of_scalars_stays_scalar() {
    let f = compile(
        "fn f(a: [f64; n], steps: usize) -> [f64; n] {
            build(n, |i| { let mut x = a[i]; for _ in 0..steps { x -= grad(|y| y.exp() - y)(x); } x })
        }",
    )
    .expect("it compiles");
    let shown = array_dsl_compiler::bulk::print::print(&pipeline::middle(&f).expect("its derivatives exist"));
    assert_eq!((shown.matches("nest").count(), shown.matches("repeat").count()), (2, 0), "{shown}");
}

#[test]
fn wrong_uses() {
    for (source, part) in [
        (
            "fn f(a: [f64; n]) -> [f64; n] { grad(|x| x * x)(a) }",
            "needs a function that gives one float, this one gives [f64; n]",
        ),
        ("fn f(a: i64) -> i64 { grad(|x| x * x)(a) }", "has no argument of floats to differentiate by"),
        ("fn f(a: f64) -> f64 { grad(|x| x * x)(a, a) }", "`grad(f)` takes 1 argument, found 2"),
        ("fn f(a: f64) -> (f64, f64) { jvp(|x| x * x)(a) }", "takes 1 argument and a tangent for each"),
        (
            "fn f(a: f64) -> (f64, f64) { vjp(|x| x * x)(a) }",
            "gives 1 float value, but `vjp(f)` gets 0 cotangents",
        ),
        (
            "fn f(a: [f64; n]) -> ([f64; n], [f64; n]) { vjp(|x| x * x)(a, 1.0) }",
            "a cotangent: expected [f64; n], found f64",
        ),
        ("fn f(a: f64) -> f64 { grad(a)(a) }", "`grad` expects a function here, found f64"),
        ("fn f(a: f64) -> f64 { grad(|x| x) }", "the result"),
        ("fn f(a: [f64; n], b: [f64; m]) -> [f64; n] { jvp(|x| x * x)(a, b).1 }", "a tangent"),
    ] {
        let found = refused(source);
        assert!(found.contains(part), "{source}\n{found}");
    }
}

/// T28 of the thesis: a gather is linear, and so is its derivative by the cotangent.
#[test]
fn gathers_have_no_second_derivative() {
    let args = [v(&[1.0, 2.0, 3.0]), Value::from_i64(Elem::I64, vec![4], &[0, 2, 2, 1]).expect("a value")];
    gives(
        "fn f(x: [f64; n], at: [i64; k]) -> [f64; n] {
            grad(|y| sum(vjp(|z| gather(z, at))(y, map(|i| i as f64, at)).1))(x)
        }",
        &args,
        &[v(&[0.0, 0.0, 0.0])],
    );
    gives(
        "fn f(x: [f64; n], at: [i64; k]) -> [f64; k] {
            grad(|ct| dot(vjp(|z| gather(z, at))(x, ct).1, x))(gather(x, at))
        }",
        &args,
        &[v(&[1.0, 3.0, 3.0, 2.0])],
    );
    gives(
        "fn f(x: [f64; n], at: [i64; k]) -> [[f64; n]; n] { hessian(|z| sum(map(|a| a * a, gather(z, at))))(x) }",
        &args,
        &[array(&[3, 3], &[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 4.0])],
    );
}

#[test]
fn matrices_of_derivatives() {
    // Forward, reverse for a number, and by sizes that are known.
    gives(
        "fn f(a: [f64; n]) -> [[f64; n]; n] { jacobian(|x| x * x * sum(x))(a) }",
        &[v(&[1.0, 2.0])],
        &[array(&[2, 2], &[7.0, 1.0, 4.0, 16.0])],
    );
    gives(
        "fn f(a: [f64; n]) -> [f64; n] { jacobian(|x| prod(x))(a) }",
        &[v(&[2.0, 3.0, 0.0])],
        &[v(&[0.0, 0.0, 6.0])],
    );
    gives(
        "fn f(a: [f64; 3]) -> [[f64; 3]; 2] { jacobian(|x| x[..2] * x[1..])(a) }",
        &[v(&[2.0, 3.0, 5.0])],
        &[array(&[2, 3], &[3.0, 2.0, 0.0, 0.0, 5.0, 3.0])],
    );
    // A number in, an array out; matrices; numbers only.
    gives(
        "fn f(a: f64) -> [f64; 3] { jacobian(|s| build(3, |i| s.powi(i)))(a) }",
        &[x(2.0)],
        &[v(&[0.0, 1.0, 4.0])],
    );
    gives(
        "fn f(a: [[f64; n]; m]) -> [[[[f64; n]; m]; m]; n] { jacobian(transpose)(a) }",
        &[array(&[1, 2], &[1.0, 2.0])],
        &[array(&[2, 1, 1, 2], &[1.0, 0.0, 0.0, 1.0])],
    );
    gives("fn f(a: f64) -> f64 { jacobian(|s| s * s)(a) + hessian(|s| s * s)(a) }", &[x(3.0)], &[x(8.0)]);
    // Several arguments and results.
    gives(
        "fn f(a: [f64; n], b: f64) -> (([f64; n], f64), ([[f64; n]; n], [f64; n])) {
            jacobian(|x, s| (s * sum(x), s * x))(a, b)
        }",
        &[v(&[1.0, 2.0]), x(3.0)],
        &[v(&[3.0, 3.0]), x(3.0), array(&[2, 2], &[3.0, 0.0, 0.0, 3.0]), v(&[1.0, 2.0])],
    );
    gives(
        "fn f(a: [f64; n], b: f64) -> (([[f64; n]; n], [f64; n]), ([f64; n], f64)) {
            hessian(|x, s| s * s * sum(x * x))(a, b)
        }",
        &[v(&[1.0, 2.0]), x(3.0)],
        &[array(&[2, 2], &[18.0, 0.0, 0.0, 18.0]), v(&[12.0, 24.0]), v(&[12.0, 24.0]), x(10.0)],
    );
    // At every point of a frame, and by what is not around it.
    gives(
        "fn f(a: [[f64; m]; n], w: [f64; m]) -> [[[f64; m]; m]; n] {
            map(|r| hessian(|x| sum(w * x * x * x))(r), a)
        }",
        &[array(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), v(&[1.0, 10.0])],
        &[array(&[2, 2, 2], &[6.0, 0.0, 0.0, 120.0, 18.0, 0.0, 0.0, 240.0])],
    );
    gives(
        "fn f(a: [[f64; m]; n]) -> [f64; n] { vmap(|x| prod(x))(a) + vmap(sum)(a) }",
        &[array(&[2, 2], &[1.0, 2.0, 3.0, 4.0])],
        &[v(&[5.0, 19.0])],
    );
    // Newton's method for two equations.
    gives(
        "fn f(a: [f64; 2]) -> [f64; 2] {
            let g = |p| build(2, |i| if i == 0 { p[0] * p[0] + p[1] * p[1] - 4.0 } else { p[0] - p[1] });
            let mut p = a;
            for _ in 0..8 {
                let (j, r) = (jacobian(g)(p), g(p));
                let d = j[[0, 0]] * j[[1, 1]] - j[[0, 1]] * j[[1, 0]];
                p = build(2, |i| if i == 0 {
                    p[0] - (j[[1, 1]] * r[0] - j[[0, 1]] * r[1]) / d
                } else {
                    p[1] - (j[[0, 0]] * r[1] - j[[1, 0]] * r[0]) / d
                });
            }
            p
        }",
        &[v(&[1.0, 2.0])],
        &[v(&[2f64.sqrt(), 2f64.sqrt()])],
    );
}

#[test]
fn wrong_matrices_of_derivatives_are_refused() {
    let text = refused("fn f(a: f64) -> f64 { jacobian(|p| p.0 * p.1)((a, a)) }");
    assert!(text.contains("`jacobian(f)` in a kernel is of arguments that are numbers or arrays"), "{text}");
    let text = refused("fn f(a: [f64; n]) -> [[f64; n]; n] { hessian(|x| x * x)(a) }");
    assert!(
        text.contains("`hessian(f)` needs a function that gives one float, this one gives [f64; n]"),
        "{text}"
    );
    let text = refused("fn f(a: f64) -> f64 { jacobian(|p| 3)(a) }");
    assert!(text.contains("`jacobian(f)` has no results of floats"), "{text}");
    let text = refused("fn f(k: i64) -> f64 { jacobian(|p| p)(k) }");
    assert!(text.contains("no argument of floats to differentiate by"), "{text}");
}

#[test]
fn what_a_derivative_is_made_of_has_its_place() {
    let source = "fn f(x: [f64; n]) -> [f64; n] {\n    let y = 2.0 * x;\n    grad(|v| sum(v * v * v))(y)\n}";
    let f = compile(source).unwrap_or_else(|e| panic!("{e:#?}"));
    let p = flatten::flatten(&f).expect("its derivative exists");
    let mut lines = Vec::new();
    for s in &p.stms {
        if let Stm::Nest(n) = s {
            assert_ne!(n.loc, Loc::default(), "{}", bulk::print::print(&p));
            lines.push(p.places[n.loc.0 as usize].line);
        }
    }
    let first = lines[0];
    assert!(lines.iter().filter(|line| **line == first + 1).count() > 3, "{lines:?}");
}

/// What a function computes as a size is known after its derivative: its values have it, and what is made of them.
#[test]
fn sizes_of_what_is_differentiated() {
    let kept = "fn kept(y: [f64; n]) -> ([f64; _], f64) { \
                let (c, g) = jvp(|y| { let k = filter(|e| e > 0.0, y); k * k * k })(y, y); (c, sum(c * g)) }";
    let (a, found) = (v(&[2.0, -1.0, 3.0]), 3.0 * 64.0 + 3.0 * 729.0);
    gives(
        &format!(
            "{kept} fn f(a: [f64; n]) -> (f64, [f64; n]) {{ let (c, s) = kept(a); (s, c.len() as f64 + a) }}"
        ),
        std::slice::from_ref(&a),
        &[x(found), v(&[4.0, 1.0, 5.0])],
    );
    // In another derivative: of 3 y^6 for each that is kept.
    gives(
        &format!("{kept} fn f(a: [f64; n]) -> [f64; n] {{ grad(|b| kept(b).1)(a) }}"),
        std::slice::from_ref(&a),
        &[v(&[18.0 * 32.0, 0.0, 18.0 * 243.0])],
    );
    // A size within a `build` is computed at depth 0, where the point is; cotangents are of the values' sizes.
    gives(
        "fn f(a: f64, m: usize) -> f64 { \
         grad(|x| sum(build(m, |i| sum(build((x * 2.0) as i64, |j| x * (i as f64))))))(a) }",
        &[x(1.5), int(3)],
        &[x(9.0)],
    );
    gives(
        "fn f(a: f64, c: [f64; n]) -> f64 { vjp(|x| build((x * 2.0) as i64, |j| x * (j as f64)))(a, c).1 }",
        &[x(1.5), v(&[1.0, 10.0, 100.0])],
        &[x(210.0)],
    );
    // Values that are not differentiated are given as they are.
    gives(
        "fn f(a: f64, b: [i64; n]) -> (f64, i64) { \
         let ((y, c, k), g) = jvp(|x| (x * x, b, (x * 2.0) as i64))(a, 1.0); \
         (sum(build(k, |i| y * g.0)), sum(c) + k) }",
        &[x(1.5), ints(&[1, 10])],
        &[x(3.0 * 2.25 * 3.0), int(14)],
    );
    let message = refused("fn f(a: f64) -> f64 { jvp(|x| (x, |y| x * y))(a, 1.0).0.0 }");
    assert!(message.contains("a function that gives a function has no derivative"), "{message}");
}
