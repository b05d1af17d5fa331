//! What becomes of loops that points make by themselves: one parallel loop, in lanes where the trips of neighbors are alike.

use array_dsl_compiler::loops::print::print;
use array_dsl_compiler::loops::{Form, Home, Node, Program, Step, Tree};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::program;
use quote::ToTokens;

/// The loops of a kernel for the CPU.
fn loops(text: &str) -> Program {
    let loops = pipeline::back(&program(text), Target::Cpu).unwrap_or_else(|e| panic!("{e:?}"));
    Program::clone(&loops)
}

/// A kernel of the tests across crates.
fn kernel(name: &str) -> String {
    let file = syn::parse_file(include_str!("../../tests/tests/points.rs")).expect("it is Rust");
    let mut kernels = file.items.into_iter().filter_map(|i| match i {
        syn::Item::Fn(f) if f.sig.ident == name => Some(f),
        _ => None,
    });
    let mut f = kernels.next().unwrap_or_else(|| panic!("there is no `{name}`"));
    f.attrs.clear();
    f.to_token_stream().to_string()
}

fn has_recurrence(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Recurrence(_) => true,
        Node::Loop(l) => has_recurrence(&l.body),
        _ => false,
    })
}

/// The forms of all loops that stand around recurrences.
fn forms(nodes: &[Node], out: &mut Vec<Form>) {
    for n in nodes {
        if let Node::Loop(l) = n {
            if has_recurrence(&l.body) {
                out.push(l.plan.form.clone());
            }
            forms(&l.body, out);
        }
    }
}

/// How many parallel loops a kernel has, and the forms of those with a recurrence inside.
fn parallel(p: &Program) -> (usize, Vec<Form>) {
    let (mut count, mut found) = (0, Vec::new());
    for s in &p.steps {
        match s {
            Step::Tree(t) if !t.axes.is_empty() => {
                count += 1;
                if has_recurrence(&t.body) {
                    found.push(t.plan.form.clone());
                }
                forms(&t.body, &mut found);
            }
            // Sizes, and conditions that all points share.
            Step::Tree(_) | Step::Fill { .. } | Step::Check(..) => {}
            other => panic!("`{other:?}` in\n{}", print(p)),
        }
    }
    (count, found)
}

#[test]
fn each_is_one_parallel_loop() {
    let expected = [
        ("escape", 1, vec![Form::Together(16)]),
        // The coordinates of all columns and of all rows come before it, once each.
        ("picture", 3, vec![Form::Plain, Form::Together(16)]),
        ("march", 1, vec![Form::Together(16)]),
        // What is read at the place that was found may be outside: which error is reported first stays as it is written.
        ("interpolated", 2, vec![Form::Plain]),
        ("flown", 1, vec![Form::Together(64)]),
        ("factors", 1, vec![Form::Plain]),
        ("recurrent_rows", 1, vec![Form::Plain]),
    ];
    for (name, count, forms) in expected {
        let p = loops(&kernel(name));
        assert_eq!(parallel(&p), (count, forms), "{name}\n{}", print(&p));
    }
}

/// What all points do before and after the loop is done beside it, unless it costs more than in a loop of its own, or looks at others.
#[test]
fn what_points_do_beside_their_loop() {
    let text = |before: &str, after: &str| {
        format!(
            "fn f(x: [f64; n], r: f64) -> [f64; n] {{
                let a = map(|x| {before}, x);
                let b = map(|a| {{ let mut t = a; while t > r {{ t = t * 0.5; }} t }}, a);
                build(n, |i| {after})
            }}"
        )
    };
    for (before, after, count) in [
        ("x + 1.0", "2.0 * b[i]", 1),
        ("x + 1.0", "b[i] + a[i] + x[i]", 1),
        ("exp(x)", "b[i]", 1),
        ("x + 1.0", "b[n - 1 - i] + a[i]", 2),
        ("lgamma(x)", "b[i]", 2),
    ] {
        let p = loops(&text(before, after));
        assert_eq!(parallel(&p).0, count, "{before}, {after}\n{}", print(&p));
    }
}

/// A kernel with those that it calls.
fn with_called(names: &[&str]) -> String {
    let file = syn::parse_file(include_str!("../../tests/tests/small.rs")).expect("it is Rust");
    let of = |name: &&str| {
        let mut kernels = file.items.iter().filter_map(|i| match i {
            syn::Item::Fn(f) if f.sig.ident == name => Some(f.clone()),
            _ => None,
        });
        let mut f = kernels.next().unwrap_or_else(|| panic!("there is no `{name}`"));
        f.attrs.clear();
        f.to_token_stream().to_string()
    };
    names.iter().map(of).collect()
}

/// Small arrays of points are scalars, with everything that is made of them, on the CPU and on a GPU: one loop without loops inside,
/// and no memory but that of the results.
#[test]
fn small_arrays_are_scalars() {
    let called = ["cross", "turned", "residual"];
    for (name, results) in [("residuals", 1), ("blocks", 3), ("folds", 5)] {
        let text = match name {
            "folds" => with_called(&[name]),
            _ => with_called(&[&called[..], &[name]].concat()),
        };
        for target in Target::ALL {
            let p = pipeline::back(&program(&text), target).unwrap_or_else(|e| panic!("{e:?}"));
            let trees: Vec<&Tree> =
                p.steps.iter().filter_map(|s| if let Step::Tree(t) = s { Some(t) } else { None }).collect();
            let loops = trees.iter().flat_map(|t| &t.body).filter(|n| matches!(n, Node::Loop(_))).count();
            let memory = p.arrays.iter().filter(|a| matches!(a.home, Home::Heap | Home::Row { .. })).count();
            assert_eq!((trees.len(), loops, memory), (1, 0, results), "{name}, {target:?}\n{}", print(&p));
        }
    }
}
