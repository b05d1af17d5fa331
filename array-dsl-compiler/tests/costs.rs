//! The work of scans and loops, as the interpreter counts it: linear, and a derivative's within a few times the primal's.
//!
//! Counted are scalar operations, reads and updates, not the arrays that the interpreter copies to keep old values.

use array_dsl_compiler::bulk::Program;
use array_dsl_compiler::bulk::interp::run_counted;
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Callees;
use array_dsl_compiler::loops::print::print;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};

const CUMSUM: &str = "fn f(x: [f64; n]) -> [f64; n] { cumsum(x) }";
const CUMPROD: &str = "fn f(x: [f64; n]) -> [f64; n] { cumprod(x) }";
const AFFINE: &str = "fn f(a: [f64; n], b: [f64; n]) -> (f64, f64) {
    reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (a, b))
}";
const IN_PLACE: &str = "fn f(x: [f64; n], w: f64) -> [f64; n] {
    let mut a = x;
    for i in 1..n { a[i] = a[i - 1] * w + a[i]; }
    a
}";
const READING: &str = "fn f(x: [f64; n], w: f64) -> f64 {
    let mut h = 0.0;
    for t in 0..n { h = (w * h + x[t]).tanh(); }
    h
}";
/// The state is an array, so that the loop is one of the whole program; each trip reads one element of a long array.
const READING_WITH_ARRAY: &str = "fn f(x: [f64; n], w: [[f64; 2]; 2]) -> [f64; 2] {
    let mut h = zeros(2);
    for t in 0..n { h = (matvec(w, h) + x[t]).tanh(); }
    h
}";
/// With the most work of a value and its derivative, as multiples of the value's. A product of prefixes has one multiplication
/// for each element, its derivative composes affine maps.
const ALL: [(&str, u64); 6] =
    [(CUMSUM, 5), (CUMPROD, 9), (AFFINE, 6), (IN_PLACE, 8), (READING, 6), (READING_WITH_ARRAY, 5)];

const HIST_ADD: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(add, 0.0, 2, at, v) }";
const HIST_MIN: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(min, 9.0, 2, at, v) }";
const HIST_MAX: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(max, 0.0, 2, at, v) }";
const HIST_MUL: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(mul, 1.0, 2, at, v) }";
/// By sorting, whose own work is not counted.
const HIST_ANY: &str =
    "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(|a, b| a + b + a * b, 0.0, 2, at, v) }";
const HISTS: [(&str, u64); 5] = [(HIST_ADD, 3), (HIST_MIN, 5), (HIST_MAX, 5), (HIST_MUL, 7), (HIST_ANY, 5)];

fn kernel(text: &str) -> Function {
    let item: syn::ItemFn = syn::parse_str(text).expect("it is Rust");
    let mut diagnostics = Diagnostics::default();
    let f = pipeline::front(&item, &Callees::new(), &mut diagnostics);
    f.unwrap_or_else(|| panic!("{:?}", diagnostics.list())).function
}

/// The work for arrays of `n` elements; the cotangents of a derivative are the values.
fn work(f: &Function, p: &Program, n: i64, derivative: bool) -> u64 {
    let ranges = Ranges { sizes: (n, n), integers: (0, 1), floats: (0.5, 1.5) };
    let mut args = arguments_within(f, 1, &ranges);
    if derivative {
        let primal = pipeline::middle(f).expect("its derivatives exist");
        args.extend(run_counted(&primal, &args).expect("it runs").0);
    }
    let (_, c) = run_counted(p, &args).expect("it runs");
    c.scalar_ops + c.reads + c.updates
}

fn vjp(text: &str) -> (Function, Program, Program) {
    let f = kernel(text);
    let p = pipeline::middle(&f).expect("its derivatives exist");
    let d = pipeline::derivative(&p, Derivative::Vjp).expect("it is differentiable");
    (f, p, d)
}

#[test]
fn scans_and_loops_are_linear() {
    for (text, _) in ALL.into_iter().chain(HISTS) {
        let (f, p, d) = vjp(text);
        for (what, q, derivative) in [("primal", &p, false), ("vjp", &d, true)] {
            let (small, large) = (work(&f, q, 100, derivative), work(&f, q, 400, derivative));
            // The loop in place makes one trip less than there are elements.
            assert!(large * 10 <= small * 41, "{what}: {small} for 100, {large} for 400\n{text}");
        }
    }
}

#[test]
fn derivatives_cost_a_few_times_the_value() {
    for (text, bound) in ALL.into_iter().chain(HISTS) {
        let (f, p, d) = vjp(text);
        let (primal, both) = (work(&f, &p, 400, false), work(&f, &d, 400, true));
        assert!(both <= bound * primal, "{primal} for the value, {both} for both\n{text}");
    }
}

#[test]
fn the_loop_in_place_copies_no_array() {
    let (_, p, d) = vjp(IN_PLACE);
    for (what, q) in [("primal", &p), ("vjp", &d)] {
        let shown = print(&pipeline::back(q, Target::Cpu).expect("it verifies"));
        // The derivative by `w` is a number.
        let copies =
            shown.lines().map(str::trim_start).filter(|l| l.starts_with("copy ") && !l.contains("w_adj"));
        assert_eq!(copies.count(), 0, "{what}\n{shown}");
        // Where an element was written is computed again: only old values are stored.
        if what == "vjp" {
            assert!(!shown.contains("[computed_size.2]i64"), "{shown}");
        }
    }
}
