//! What programs look like after optimization and scheduling: how many loops, arrays and updates they have.

mod common;

use std::collections::HashSet;

use array_dsl_compiler::bulk::interp::run_counted;
use array_dsl_compiler::bulk::{ArrayId, Program, Stm};
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Callees;
use array_dsl_compiler::loops::print::{Counts, count, print};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};

fn kernel(text: &str) -> Function {
    let item: syn::ItemFn = syn::parse_str(text).expect("it is Rust");
    let mut diagnostics = Diagnostics::default();
    let f = pipeline::front(&item, &Callees::new(), &mut diagnostics);
    f.unwrap_or_else(|| panic!("{:?}", diagnostics.list())).function
}

fn program(text: &str) -> Program {
    pipeline::middle(&kernel(text))
}

fn derivative(text: &str, what: Derivative) -> Program {
    pipeline::derivative(&program(text), what).expect("it is differentiable")
}

fn counts(p: &Program) -> Counts {
    count(&pipeline::back(p, Target::Cpu).expect("it verifies"))
}

/// The scheduled program as text, for messages.
fn shown(p: &Program) -> String {
    print(&pipeline::back(p, Target::Cpu).expect("it verifies"))
}

/// The statements that make arrays.
fn nests(p: &Program) -> usize {
    p.stms.iter().filter(|s| matches!(s, Stm::Nest(_) | Stm::Contract(_))).count()
}

/// The most dimensions that any array made by a statement has.
fn highest_rank(p: &Program) -> usize {
    let made: HashSet<ArrayId> = p.stms.iter().flat_map(Stm::results).collect();
    made.into_iter().map(|a| p.array(a).dims.len()).max().unwrap_or(0)
}

const LOGSUMEXP: &str = "fn f(x: [[f64; m]; n]) -> [f64; n] { logsumexp(x) }";
const LOGSUMEXP_BY_HAND: &str = "fn f(x: [[f64; m]; n]) -> [f64; n] {
    build(n, |i| {
        let z = x[i];
        let m = maximum(z);
        m + (z - m).exp().sum().ln()
    })
}";
const SINE: &str = "fn f(x: [f64; n]) -> f64 { sum(map(|v| v.sin() * v, x)) }";
const MATMUL: &str = "fn f(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] { matmul(a, b) }";
const MATMUL_BY_MAPS: &str = "fn f(xss: [[f64; k]; n], yss: [[f64; m]; k]) -> [[f64; m]; n] {
    map(|xs| map(|ys| reduce(add, 0.0, map(mul, xs, ys)), transpose(yss)), xss)
}";
const STENCIL: &str = "fn f(u: [[f64; m]; n]) -> [[f64; m - 2]; n - 2] {
    build((n - 2, m - 2), |i, j| {
        let (r, c) = (i + 1, j + 1);
        u[r - 1][c] + u[r + 1][c] + u[r][c - 1] + u[r][c + 1] - 4.0 * u[r][c]
    })
}";
const TRANSPOSE: &str = "fn f(q: [[f64; m]; n]) -> [[f64; n]; m] { build(m, |j| build(n, |i| q[i][j])) }";
const K_MEANS: &str = "fn f(centers: [[f64; d]; k], #[no_grad] points: [[f64; d]; n]) -> f64 {
    sum(map(|p| minimum(map(|c| { let away = p - c; sum(away * away) }, centers)), points))
}";

#[test]
fn explore() {
    for (n, t) in [("lse", LOGSUMEXP), ("lse2", LOGSUMEXP_BY_HAND), ("sine", SINE), ("matmul", MATMUL), ("matmul2", MATMUL_BY_MAPS), ("stencil", STENCIL), ("transpose", TRANSPOSE), ("kmeans", K_MEANS)] {
        let p = program(t);
        println!("##### {n} {:?} rank {} {}", counts(&p), highest_rank(&p), shown(&p));
        for w in [Derivative::Grad, Derivative::Vjp, Derivative::Hvp] {
            if !w.exists(&p) { continue }
            let d = derivative(t, w);
            println!("##### {n} {w:?} {:?} rank {} nests {} {}", counts(&d), highest_rank(&d), nests(&d), shown(&d));
        }
    }
}
