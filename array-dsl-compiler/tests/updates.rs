//! Steps that change arrays in place: which are one step, who asks whether an index is inside, and who may be divided.

use array_dsl_compiler::bulk::Program;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::loops::print::print;
use array_dsl_compiler::loops::{Division, Node, Program as Loops, Step, Tree};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::program;

fn for_cpus(p: &Program) -> Loops {
    Loops::clone(&pipeline::back(p, Target::Cpu).expect("it verifies"))
}

fn gradient(text: &str) -> Loops {
    for_cpus(&pipeline::derivative(&program(text), Derivative::Grad).expect("it is differentiable"))
}

fn trees<'p>(steps: &'p [Step], in_loops: bool) -> Vec<&'p Tree> {
    let of = |s: &'p Step| match s {
        Step::Tree(t) if in_loops => vec![t],
        Step::Repeat(r) => trees(&r.steps, true),
        _ => Vec::new(),
    };
    steps.iter().flat_map(of).collect()
}

/// All that trees write: whether it is compared.
fn writes<'p>(nodes: &'p mut [Node], out: &mut Vec<&'p mut bool>) {
    for n in nodes {
        match n {
            Node::Write { checked, .. } => out.push(checked),
            Node::Loop(l) => writes(&mut l.body, out),
            Node::Recurrence(r) => writes(&mut r.body, out),
            _ => {}
        }
    }
}

/// How many elements each point of a tree writes.
fn written(t: &Tree) -> usize {
    let (mut body, mut found) = (t.body.clone(), Vec::new());
    writes(&mut body, &mut found);
    found.len()
}

fn all_writes(steps: &mut [Step]) -> Vec<&mut bool> {
    let mut out = Vec::new();
    for s in steps {
        match s {
            Step::Tree(t) => writes(&mut t.body, &mut out),
            Step::Repeat(r) => out.extend(all_writes(&mut r.steps)),
            _ => {}
        }
    }
    out
}

/// Rows below the one at hand change, as in an elimination.
const BELOW: &str = "fn f(x: [f64; n]) -> f64 {
    let mut a = x;
    for i in 0..n {
        for j in i + 1..n { a[j] = a[j] * 0.9 + sin(a[j] + x[i]); }
    }
    sum(a)
}";

#[test]
fn what_a_trip_changes_at_the_same_points_is_one_step() {
    let loops = gradient(BELOW);
    let all = trees(&loops.steps, true);
    // There what was and what is, back what was and the cotangent, with the sum that `x[i]` gets; and that sum, to a place of its
    // own that was zero.
    let found: Vec<usize> = all.into_iter().map(written).filter(|n| *n > 0).collect();
    assert_eq!(found, [2, 2, 1], "{}", print(&loops));
}

#[test]
fn points_that_overwrite_their_own_are_divided() {
    // Moved, turned around, and two arrays at once.
    for text in [
        BELOW,
        "fn f(x: [f64; n]) -> [f64; n] {
            let mut a = x;
            for i in 0..n { for j in 0..n - i { a[n - 1 - j] = cos(a[n - 1 - j]) * x[i]; } }
            a
        }",
        "fn f(x: [f64; n]) -> ([f64; n], [f64; n]) {
            let mut a = x;
            let mut b = x;
            for i in 0..n { for j in i + 1..n { b[j] = a[j] * b[j]; a[j] = sin(b[j]) * x[i]; } }
            (a, b)
        }",
    ] {
        let loops = for_cpus(&program(text));
        let updates: Vec<&Tree> = trees(&loops.steps, false).into_iter().filter(|t| written(t) > 0).collect();
        assert!(!updates.is_empty(), "{}", print(&loops));
        for t in updates {
            assert!(!t.axes.is_empty() && t.plan.division == Division::Points, "{}", print(&loops));
        }
    }
}

#[test]
fn an_index_that_is_inside_is_not_compared_where_it_is_written() {
    let mut below = gradient(BELOW);
    assert!(all_writes(&mut below.steps).into_iter().all(|checked| !*checked), "{}", print(&below));
    // One that data tell is, and has to be.
    let scattered = program(
        "fn f(x: [f64; n], to: [i64; n]) -> [f64; n] {
            let mut y = x;
            for i in 0..n { y[to[i]] = x[i] * y[0]; }
            y
        }",
    );
    let mut scattered = for_cpus(&scattered);
    let found = all_writes(&mut scattered.steps);
    assert!(!found.is_empty() && found.iter().all(|checked| **checked));
    found.into_iter().for_each(|checked| *checked = false);
    let errors = array_dsl_compiler::loops::verify::check(&scattered);
    assert!(errors.iter().any(|e| e.contains("is written without a comparison")), "{errors:?}");
}
