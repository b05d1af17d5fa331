//! Steps that have rows in common are executed for some rows at a time: which ones, and what memory that takes.

use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::loops::print::print;
use array_dsl_compiler::loops::{Bands, Program as Loops, Step};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::{kernels_of, program};
use array_dsl_compiler::testing::loops::run_measured;
use array_dsl_compiler::value::{Scalar, Value};

const PROGRAMS: &str = include_str!("programs/bands.rs");

fn loops(text: &str, derivative: Option<Derivative>) -> Loops {
    let p = program(text);
    let p = match derivative {
        Some(d) => pipeline::derivative(&p, d).expect("it is differentiable"),
        None => p,
    };
    Loops::clone(&pipeline::back(&p, Target::Cpu).expect("it verifies"))
}

fn bands(steps: &[Step]) -> Vec<&Bands> {
    let inside = |s| bands(Step::inside(s));
    let found = steps.iter().flat_map(|s| match s {
        Step::Bands(b) => vec![b],
        s => inside(s),
    });
    found.collect()
}

fn products(steps: &[Step]) -> usize {
    steps.iter().map(|s| usize::from(matches!(s, Step::Contract(_))) + products(s.inside())).sum()
}

/// How many products a kernel's value has, and its derivative, in bands and outside.
#[test]
fn products_of_the_same_rows_are_in_bands() {
    let expected = [
        ("layers", Derivative::Grad, [(2, 0), (5, 0)]),
        ("classes", Derivative::Grad, [(1, 0), (2, 0)]),
        ("attention", Derivative::Vjp, [(2, 0), (6, 0)]),
        ("causal", Derivative::Vjp, [(2, 0), (6, 0)]),
        ("mixture", Derivative::Grad, [(1, 0), (2, 0)]),
        ("signs", Derivative::Vjp, [(1, 0), (3, 0)]),
        ("numbered", Derivative::Vjp, [(1, 0), (3, 0)]),
        ("descent", Derivative::Vjp, [(2, 0), (6, 1)]),
        // Of its way back only what is computed again.
        ("descent_by_hand", Derivative::Vjp, [(2, 0), (2, 5)]),
        ("skinned", Derivative::Jacobian, [(1, 0), (1, 0)]),
    ];
    for (name, derivative, counts) in expected {
        let (_, text) = kernels_of(PROGRAMS, name).remove(0);
        for (derivative, (inside, outside)) in [None, Some(derivative)].into_iter().zip(counts) {
            let p = loops(&text, derivative);
            let found: usize = bands(&p.steps).iter().map(|b| products(&b.steps)).sum();
            assert_eq!((found, products(&p.steps) - found), (inside, outside), "{name}\n{}", print(&p));
        }
    }
}

/// The shapes of the arguments for so many rows.
type Shapes = fn(usize) -> Vec<Vec<usize>>;

/// Memory is that of a band, beside arguments and results.
#[test]
fn memory_does_not_grow_with_the_rows() {
    let layers = |n| vec![vec![2, 3], vec![3], vec![3, 2], vec![n, 2], vec![n, 2]];
    let mixture = |n| vec![vec![4], vec![4, 2], vec![4, 2, 2], vec![n, 2]];
    let shapes: [(&str, Shapes); 2] = [("layers", layers), ("mixture", mixture)];
    for (name, shapes) in shapes {
        let (_, text) = kernels_of(PROGRAMS, name).remove(0);
        for derivative in [None, Some(Derivative::Grad)] {
            let p = loops(&text, derivative);
            let most = |n| {
                let filled = |shape| Value::filled(shape, Scalar::F64(0.5));
                let args: Vec<Value> = shapes(n).into_iter().map(filled).collect();
                run_measured(&p, Target::Cpu, &args).expect("it runs").1.most
            };
            assert_eq!(most(16), most(64), "{name}\n{}", print(&p));
        }
    }
}

/// What needs all rows, or those of others, comes before or after.
#[test]
fn what_looks_at_other_rows_is_not_in_bands() {
    let (_, text) = kernels_of(PROGRAMS, "centered").remove(0);
    let p = loops(&text, None);
    // The means are of all rows, and of the second product's rows each needs the next one.
    assert!(bands(&p.steps).is_empty(), "{}", print(&p));
    let (_, text) = kernels_of(PROGRAMS, "of_itself").remove(0);
    let p = loops(&text, None);
    // All rows look at the keys and the values, which are made before.
    assert_eq!(products(&p.steps), 5);
    let most = bands(&p.steps).into_iter().map(|b| products(&b.steps)).max();
    assert_eq!(most, Some(3), "{}", print(&p));
}

/// What has been an index of a table before is one in a band as well, and is not compared again.
#[test]
fn rows_are_known_to_be_inside() {
    let (_, text) = kernels_of(PROGRAMS, "letters").remove(0);
    let p = loops(&text, None);
    let [b] = bands(&p.steps)[..] else { panic!("{}", print(&p)) };
    assert_eq!(products(&b.steps), 3);
    let shown = print(&p);
    let (before, inside) = shown.split_once("bands from").expect("they are shown");
    assert_eq!((before.matches("]?").count(), inside.matches("]?").count()), (1, 0), "{shown}");
    assert!(inside.contains("table.0["), "{shown}");
}
