//! The work of scans and loops, as the interpreter counts it: linear, and a derivative's within a few times the primal's.
//!
//! Counted are scalar operations, reads and updates, not the arrays that the interpreter copies to keep old values. Two kinds of
//! operations are counted apart: loop control, what is computed of axes, trips and sizes alone; and what an associative scan needs
//! only to be regrouped, which an execution in order does without. The bounds are for the work without these and for all together.

use array_dsl_compiler::bulk::interp::run_counted;
use array_dsl_compiler::bulk::{ArrayId, Program, Stm};
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::loops::print::print;
use array_dsl_compiler::loops::{ArrayInfo, Home, Program as Loops, Step};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::{kernel, kernels_of};
use array_dsl_compiler::testing::loops::{self, Counts};
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::Value;

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
const MATRICES: &str = "fn f(a: [f64; n], b: [f64; n], c: [f64; n], d: [f64; n]) -> (f64, f64, f64, f64) {
    reduce(
        |(a, b, c, d), (e, f, g, h)| (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h),
        (1.0, 0.0, 0.0, 1.0),
        (a, b, c, d),
    )
}";
const PRODUCT: &str = "fn f(x: [f64; n]) -> f64 { prod(x) }";
/// Each row has work of its own besides that of its elements.
const PRODUCTS: &str = "fn f(x: [[f64; 16]; n]) -> [f64; n] { map(|row| row.prod(), x) }";
/// With the most work of a value and its derivative, in tenths of the value's, without and with what is counted
/// apart. Without it none is over 50; with it products of prefixes are, and a loop of one scalar, for their addresses and conditions.
const ALL: [(&str, [u64; 2]); 9] = [
    (CUMSUM, [25, 35]),
    (CUMPROD, [45, 80]),
    (AFFINE, [29, 40]),
    (MATRICES, [34, 48]),
    (IN_PLACE, [34, 49]),
    (READING, [46, 56]),
    (READING_WITH_ARRAY, [46, 47]),
    (PRODUCT, [36, 36]),
    (PRODUCTS, [48, 48]),
];

const HIST_ADD: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(add, 0.0, 2, at, v) }";
const HIST_MIN: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(min, 9.0, 2, at, v) }";
const HIST_MAX: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(max, 0.0, 2, at, v) }";
const HIST_MUL: &str = "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(mul, 1.0, 2, at, v) }";
/// By sorting, whose own work is not counted.
const HIST_ANY: &str =
    "fn f(at: [i64; n], v: [f64; n]) -> [f64; 2] { hist(|a, b| a + b + a * b, 0.0, 2, at, v) }";
const HISTS: [(&str, [u64; 2]); 5] = [
    (HIST_ADD, [27, 27]),
    (HIST_MIN, [44, 44]),
    (HIST_MAX, [44, 44]),
    (HIST_MUL, [44, 44]),
    (HIST_ANY, [28, 28]),
];

/// The work for arrays of `n` elements, without and with what is counted apart; the cotangents of a derivative are the values.
fn work(f: &Function, p: &Program, n: i64, derivative: bool) -> [u64; 2] {
    let ranges = Ranges { sizes: (n, n), integers: (0, 1), floats: (0.5, 1.5) };
    let mut args = arguments_within(f, 1, &ranges);
    if derivative {
        let primal = pipeline::middle(f).expect("its derivatives exist");
        args.extend(run_counted(&primal, &args).expect("it runs").0);
    }
    let (_, c) = run_counted(p, &args).expect("it runs");
    let own = c.scalar_ops + c.reads + c.updates;
    [own, own + c.control + c.regrouping]
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
            for (small, large) in small.into_iter().zip(large) {
                // The loop in place makes one trip less than there are elements.
                assert!(large * 10 <= small * 41, "{what}: {small} for 100, {large} for 400\n{text}");
            }
        }
    }
}

#[test]
fn derivatives_cost_a_few_times_the_value() {
    for (text, bounds) in ALL.into_iter().chain(HISTS) {
        let (f, p, d) = vjp(text);
        for n in [40, 400, 2000] {
            let (primal, both) = (work(&f, &p, n, false), work(&f, &d, n, true));
            for ((primal, both), bound) in primal.into_iter().zip(both).zip(bounds) {
                // What is done once, as for each bin, is seen in short arrays.
                assert!(10 * both <= bound * primal + 600, "{primal} for the value, {both} for both\n{text}");
            }
        }
    }
}

#[test]
fn the_loop_in_place_copies_no_array() {
    let (_, p, d) = vjp(IN_PLACE);
    for (what, q) in [("primal", &p), ("vjp", &d)] {
        let loops = pipeline::back(q, Target::Cpu).expect("it verifies");
        let shown = print(&loops);
        assert_eq!(copies_in_loops(&loops, &loops.steps, false), 0, "{what}\n{shown}");
        // Where an element was written is computed again: only old values are stored.
        if what == "vjp" {
            assert!(!shown.contains("[computed_size.2]i64"), "{shown}");
        }
    }
}

/// T30 of the thesis: what is around a nest or a loop is executed again with it, but not once more for each level.
#[test]
fn depth_does_not_multiply_the_work() {
    const NEST: &str = "fn f(x: [[[[[[f64; 2]; 2]; 2]; 2]; 2]; n]) -> f64 {
        sum(map(|a| a.sin(), x).flatten())
    }";
    const SCOPES: &str = "fn f(x: [f64; n]) -> [f64; n] {
        map(|a| {
            let mut h = a;
            for i in 0..2 {
                h = h * 0.5 + a;
                for j in 0..2 {
                    h += (a * (i + j) as f64).sin();
                    for k in 0..2 {
                        h = (h * a + k as f64).sin();
                        for l in 0..2 { h = h * a.cos() - l as f64; }
                    }
                }
            }
            h
        }, x)
    }";
    for (text, bound) in [(NEST, 3), (SCOPES, 7)] {
        let (f, p, d) = vjp(text);
        let ([primal, _], [both, _]) = (work(&f, &p, 40, false), work(&f, &d, 40, true));
        assert!(both <= bound * primal, "{primal} for the value, {both} for both\n{text}");
    }
}

/// Kernels that work in place, each with its text: textbook loops, those in other styles, and a system solved in two sweeps.
fn in_place() -> Vec<(String, String)> {
    let files = [
        (
            include_str!("programs/textbook.rs"),
            "cholesky lu forward_substitution soft_dtw back_substitution gram_schmidt floyd_warshall \
             smooth_viterbi tridiagonal",
        ),
        (include_str!("programs/loops_in_place.rs"), ""),
        (include_str!("../../tests/tests/gpu/loops.rs"), "branching"),
    ];
    files.into_iter().flat_map(|(text, names)| kernels_of(text, names)).collect()
}

/// Of loops in loops as well a derivative costs a few times the value, whatever the sizes: what a trip writes is stored and undone.
#[test]
fn loops_in_place_cost_a_few_times_the_value() {
    for (name, text) in in_place() {
        let (f, p, d) = vjp(&text);
        // Without what is counted apart, and all together.
        let ratios = |n: i64| {
            let (value, both) = (work(&f, &p, n, false), work(&f, &d, n, true));
            [0, 1].map(|k| both[k] as f64 / value[k] as f64)
        };
        let [_, half, whole] = [8, 16, 32].map(ratios);
        println!("{name}: {half:.1?} {whole:.1?}");
        assert!(whole.iter().all(|w| *w <= 6.7), "{name}: {whole:?}");
        assert!((0..2).all(|k| whole[k] < 1.1 * half[k]), "{name}: {half:?} {whole:?}");
    }
}

/// Loops that the points around them end make the trips that there are, and no more, and so does the way back.
#[test]
fn loops_that_points_end_cost_a_few_times_the_value() {
    for (name, text) in kernels_of(include_str!("programs/pairs.rs"), "") {
        let (f, p, d) = vjp(&text);
        let works = |n: i64| (work(&f, &p, n, false)[1] as f64, work(&f, &d, n, true)[1] as f64);
        let [half, whole] = [32, 64].map(works).map(|(value, both)| both / value);
        println!("{name}: {half:.2} {whole:.2}");
        let most = match &*name {
            // Its states are no sums: the way back makes the trips beyond a point's own, which do nothing, once more.
            "discounted" => 5.8,
            // The window is computed again for each of the three that its adjoint adds to: the point, its neighbors, the width.
            "smoothed" => 7.5,
            // Borders are a good part of so short windows; the states on the way are no sums.
            "filtered" | "outward" => 5.2,
            // Each of the nests of its way back computes the function again; they become one loop.
            "relayed" => 9.0,
            _ => 4.0,
        };
        assert!(whole <= most && whole < 1.1 * half, "{name}: {half} {whole}");
    }
}

/// No trip of theirs copies an array.
#[test]
fn loops_in_place_copy_nothing() {
    for (name, text) in in_place() {
        let (_, p, d) = vjp(&text);
        for (what, q) in [("value", &p), ("vjp", &d)] {
            let loops = pipeline::back(q, Target::Cpu).expect("it verifies");
            let copies = copies_in_loops(&loops, &loops.steps, false);
            assert_eq!(copies, 0, "{name}, {what}\n{}", print(&loops));
        }
    }
}

/// How many arrays are copied in each trip of some loop, but for numbers, and for the zeros from which several logs may start.
fn copies_in_loops(p: &Loops, steps: &[Step], inside: bool) -> usize {
    let array = |a: ArrayId| {
        let info = &p.arrays[a.0 as usize];
        usize::from(!info.dims.is_empty() && &*info.name != "history")
    };
    let copies = steps.iter().map(|s| match s {
        Step::Copy { array: a, .. } if inside => array(*a),
        Step::Repeat(r) => {
            let carried = r.carried.iter().map(|c| {
                let copied = usize::from(inside && !c.takes.0) + usize::from(!c.takes.1);
                copied * array(c.arrays.state)
            });
            copies_in_loops(p, &r.steps, true) + carried.sum::<usize>()
        }
        _ => 0,
    });
    copies.sum()
}

/// A short state is stored whole: steps of steps keep one state for each of the outer ones.
#[test]
fn a_short_state_is_not_logged() {
    let text = "fn f(x: [f64; 3], steps: usize, each: usize) -> [f64; 3] {
        let mut y = x;
        for t in 0..steps {
            for s in 0..each {
                y[0] += 0.1 * y[1];
                y[1] -= 0.1 * sin(y[0]);
            }
            y[2] += y[0];
        }
        y
    }";
    let (_, _, d) = vjp(text);
    let ranks =
        d.arrays.iter().filter(|a| &*a.name == "history").map(|a| (a.dims.len(), a.dims.last().cloned()));
    let wide: Vec<_> = ranks.filter(|(rank, _)| *rank == 2).collect();
    let three = Some(array_dsl_compiler::dim::Dim::constant(3));
    assert!(!wide.is_empty() && wide.iter().all(|(_, last)| *last == three), "{wide:?}");
}

/// Whatever trips keep, in loops inside as well, is at most four times what they store anyway, and a few numbers.
#[test]
fn what_is_kept_has_a_bound() {
    let n = 50;
    let stored = |name: &str| match name {
        "biquads" => n * (2 * n + 1),
        "layers" => n * n * n,
        "gated" => 2 * n * n * n,
        "reservoirs" => n * (2 * n + 1),
        _ => panic!("what does a trip of {name} store?"),
    };
    for (name, text) in kernels_of(include_str!("programs/cascades.rs"), "") {
        let (_, _, d) = vjp(&text);
        let size = |a: ArrayId| {
            let dims = d.array(a).dims.iter().map(|d| d.eval(&mut |_| n).expect("a size"));
            dims.product::<i64>()
        };
        let results = d.stms.iter().filter(|s| matches!(s, Stm::Repeat(_))).flat_map(Stm::results);
        let logs: Vec<i64> = results.filter(|a| &*d.array(*a).name == "history").map(size).collect();
        let all: i64 = logs.iter().sum();
        println!("{name}: {logs:?}");
        assert!(all > 0 && all <= 5 * stored(&name) + 4 * n, "{name}: {logs:?}");
    }
}

/// What the loops for the CPU execute for arrays of `n` elements: the value, and the value with the derivative.
fn executed(f: &Function, loops: [&Loops; 2], n: i64) -> [Counts; 2] {
    executed_with(f, loops, n, 1)
}

/// The same for integers from 0 to `most`.
fn executed_with(f: &Function, loops: [&Loops; 2], n: i64, most: i64) -> [Counts; 2] {
    let ranges = Ranges { sizes: (n, n), integers: (0, most), floats: (0.5, 1.5) };
    executed_on(loops, arguments_within(f, 1, &ranges))
}

/// The same for these arguments.
fn executed_on([value, both]: [&Loops; 2], mut args: Vec<Value>) -> [Counts; 2] {
    let (cotangents, of_value) = loops::run_measured(value, Target::Cpu, &args).expect("it runs");
    args.extend(cotangents);
    [of_value, loops::run_measured(both, Target::Cpu, &args).expect("it runs").1]
}

fn for_cpus(text: &str) -> (Function, [Loops; 2]) {
    let (f, p, d) = vjp(text);
    let loops = [&p, &d].map(|p| Loops::clone(&pipeline::back(p, Target::Cpu).expect("it verifies")));
    (f, loops)
}

/// A scan that cannot be divided is one loop, for what it gives in the end and for its history.
#[test]
fn a_scan_in_order_is_executed_once() {
    let (f, [value, both]) = for_cpus(READING);
    let [value, both] = executed(&f, [&value, &both], 40).map(|c| c.operations);
    // The cotangent is looked at once.
    assert!(both <= 4 * value + 1, "{value} for the value, {both} for both");
}

/// The gradient of a stencil through time is another one, in whatever style it is written, and keeps nothing of the trips.
#[test]
fn gradients_of_stencils_are_stencils() {
    for (name, text) in kernels_of(include_str!("programs/stencils.rs"), "") {
        let (f, [value, both]) = for_cpus(&text);
        let is_kept = |a: &ArrayInfo| &*a.name == "history" && a.home != Home::Nowhere;
        assert!(!both.arrays.iter().any(is_kept), "{name}\n{}", print(&both));
        let [value, both] = executed(&f, [&value, &both], 32).map(|c| c.work() as f64);
        println!("{name}: {:.2}", both / value);
        // At borders, which are a good part of so few places, both of two choices are computed.
        let most = match &*name {
            "by_clamped_places" | "around_by_choices" => 3.6,
            _ => 2.7,
        };
        assert!(both <= most * value, "{name}: {value} {both}");
    }
}

/// What loops in loops execute in the end: operations, reads and writes of value and derivative, by those of the value. Loops that the
/// interpreter counts apart may be joined here.
#[test]
fn executed_work_is_a_few_times_the_value() {
    let others = [include_str!("programs/pairs.rs"), include_str!("programs/cascades.rs")];
    let others = others.into_iter().flat_map(|text| kernels_of(text, ""));
    for (name, text) in in_place().into_iter().chain(others) {
        let (f, [value, both]) = for_cpus(&text);
        // Trips that data tell are none or one, or many.
        let ratio = |n: i64, most: i64| {
            let [value, both] = executed_with(&f, [&value, &both], n, most).map(|c| c.work() as f64);
            both / value
        };
        let (half, whole) = (ratio(16, 1), ratio(32, 1));
        let (half_many, whole_many) = (ratio(16, 8), ratio(32, 16));
        println!("{name}: {half:.2} {whole:.2}, many {half_many:.2} {whole_many:.2}");
        let most = match &*name {
            // Products with matrices are kept.
            "layers" => 3.5,
            "biquads" | "gated" | "smooth_viterbi" | "relayed" => 4.3,
            "discounted" | "relaxed" => 4.0,
            "data_decide" => 3.9,
            "at_the_beginning" | "downwards" => 4.8,
            "autocorrelation" | "outward" => 3.5,
            // Where data choose whether a trip changes all before it, what the other side needs is stored as well.
            "branching" => 5.3,
            // Each element is changed twice, by little work.
            "tridiagonal" => 5.0,
            // The window is computed again for the point, and for its neighbors.
            "smoothed" => 5.2,
            _ => 4.5,
        };
        for (half, whole) in [(half, whole), (half_many, whole_many)] {
            assert!(whole <= most && whole < 1.1 * half, "{name}: {half} {whole}");
        }
    }
}

/// One row that has all is logged as the same elements in many rows: the log is as long as what all of them write.
#[test]
fn logs_are_as_long_as_what_is_written() {
    let mut kernels = in_place().into_iter();
    let (_, text) = kernels.find(|(name, _)| name == "relaxed").expect("such a kernel");
    let (f, [value, both]) = for_cpus(&text);
    let work = |n: i64, first: Vec<i64>| {
        let ranges = Ranges { sizes: (n, n), integers: (0, 1), floats: (0.5, 1.5) };
        let mut args = arguments_within(&f, 1, &ranges);
        args[0] = Value::from_i64(Elem::I64, vec![first.len()], &first).expect("as many");
        let [value, both] = executed_on([&value, &both], args).map(|c| c.work() as f64);
        both / value
    };
    for n in [16, 64] {
        let in_one = (0..=n).map(|i| if i == 0 { 0 } else { n }).collect();
        let [one, many] = [in_one, (0..=n).collect()].map(|first| work(n, first));
        println!("{n}: {one:.2} {many:.2}");
        assert!(one <= 4.1 && many <= 4.1, "{n}: {one} {many}");
    }
}
