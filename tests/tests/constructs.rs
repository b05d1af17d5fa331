//! Every construct of the language, executed: its value, derivatives in both modes and of second order, on the CPU and on the
//! GPU. `docs/constructs.md` says so.
//!
//! `build.rs` makes the kernels from the list that the compiler's own test of constructs has. What the CPU gives is compared with the
//! interpreter of Bulk for short arrays; what the GPU gives, with the CPU, for lengths around those of workgroups, and for some
//! constructs beyond what one dimension of a dispatch reaches.

use array_dsl::Gpu;
use array_dsl_compiler::bulk;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::constructs::{CONSTRUCTS, Construct, ON_GPU};
use array_dsl_compiler::testing::kernels::kernel;
use array_dsl_compiler::testing::numbers::Rng;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::value::{Scalar, Value};
use array_dsl_tests::value::Outcome;

/// A compiled program, on the CPU and on a GPU.
type Program = (fn(&[Value]) -> Outcome, fn(&Gpu, &[Value]) -> Outcome);

/// The programs of one construct.
struct Entry {
    /// Its number in the list.
    construct: usize,
    float: &'static str,
    index: &'static str,
    /// Value, `jvp`, `vjp`, `jvp` of `vjp`. The last gives what the others give: not all types have these.
    programs: [Option<Program>; 4],
}

include!(concat!(env!("OUT_DIR"), "/constructs.rs"));

const NAMES: [&str; 4] = ["value", "jvp", "vjp", "second order"];

/// More points than one dimension of a dispatch reaches with groups of 64.
const BEYOND_ONE_DIMENSION: i64 = 65_535 * 64 + 77;

/// Constructs that are cheap enough for that many points.
const LONG: [&str; 6] =
    ["`build`", "`if`", "`gather`", "`cumsum`, `cumprod`", "`hist` by `add`", "`scatter_add`"];

/// Numbers for each float of some values.
fn like(values: &[Value], seed: u64) -> Vec<Value> {
    let mut rng = Rng::new(seed);
    let mut number = move |x: &mut Scalar| match x {
        Scalar::F32(x) => *x = rng.float(-1.0, 1.0) as f32,
        Scalar::F64(x) => *x = rng.float(-1.0, 1.0),
        _ => {}
    };
    let mut out: Vec<Value> = values.iter().filter(|v| v.elem().is_float()).cloned().collect();
    out.iter_mut().flat_map(|v| v.data_mut()).for_each(&mut number);
    out
}

/// The arguments of an entry's value, for arrays of `n` elements.
fn arguments(entry: &Entry, n: i64) -> Vec<Value> {
    let f = kernel(&CONSTRUCTS[entry.construct].source(entry.float, entry.index));
    arguments_within(&f, 11 + n as u64, &Ranges { sizes: (n, n), integers: (0, 3), floats: (-1.0, 1.0) })
}

/// Those of one of its programs.
fn arguments_of(program: usize, entry: &Entry, args: &[Value]) -> Vec<Value> {
    let with = |a: &[Value], b: Vec<Value>| [a, &b].concat();
    let pulled = || {
        let (on_cpu, _) = entry.programs[0].expect("every type has values");
        let value = on_cpu(args).unwrap_or_else(|e| panic!("{}: {e}", CONSTRUCTS[entry.construct].name));
        with(args, like(&value, 3))
    };
    match program {
        0 => args.to_vec(),
        1 => with(args, like(args, 2)),
        2 => pulled(),
        _ => {
            let pulled = pulled();
            with(&pulled, like(&pulled, 4))
        }
    }
}

fn describe(entry: &Entry, program: usize, n: i64) -> String {
    let name = CONSTRUCTS[entry.construct].name;
    format!("{name}, {}, {}, n = {n}", entry.float, NAMES[program])
}

/// The first difference of two lists of values: entries agree to `tolerance`, measured by the largest of their array, however
/// small it is; numbers are measured by 1 at least.
fn difference(found: &[Value], expected: &[Value], tolerance: f64) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} results instead of {}", found.len(), expected.len()));
    }
    found.iter().zip(expected).enumerate().find_map(|(k, (a, b))| {
        if a.shape() != b.shape() || a.elem() != b.elem() {
            return Some(format!("result {k}: {:?} of {} instead of {:?}", a.shape(), a.elem(), b.shape()));
        }
        let least = if b.shape().is_empty() { 1.0 } else { 0.0 };
        let (a, b) = (a.to_f64(), b.to_f64());
        let scale = b.iter().filter(|x| x.is_finite()).fold(least, |m: f64, x| m.max(x.abs()));
        let close =
            |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * scale;
        let at = (0..a.len()).find(|i| !close(a[*i], b[*i]))?;
        Some(format!("result {k}, element {at}: {} instead of {}, the scale is {scale:e}", a[at], b[at]))
    })
}

fn tolerance(float: &str) -> f64 {
    if float == "f32" { 1e-4 } else { 1e-9 }
}

fn gpu() -> Option<Gpu> {
    if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
        println!("skipped: ARRAY_DSL_GPU=skip");
        return None;
    }
    Some(Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without"))
}

/// Compares GPU and CPU; what differs.
fn on_both(gpu: &Gpu, entry: &Entry, n: i64, programs: &[usize]) -> Vec<String> {
    let arguments = arguments(entry, n);
    let differs = |k: usize| {
        let (on_cpu, on_gpu) = entry.programs[k]?;
        let arguments = arguments_of(k, entry, &arguments);
        let text = match (on_gpu(gpu, &arguments), on_cpu(&arguments)) {
            (Ok(found), Ok(expected)) => difference(&found, &expected, tolerance(entry.float))?,
            (Err(e), _) => format!("the GPU says: {e}"),
            (_, Err(e)) => format!("the CPU says: {e}"),
        };
        Some(format!("{}: {text}", describe(entry, k, n)))
    };
    programs.iter().filter_map(|k| differs(*k)).collect()
}

/// Executes every fourth construct.
fn quarter(which: usize) {
    let Some(gpu) = gpu() else { return };
    let mut failures = Vec::new();
    for entry in ENTRIES.iter().filter(|e| e.construct % 4 == which) {
        for n in [0, 1, 255, 256, 257] {
            failures.extend(on_both(&gpu, entry, n, &[0, 1, 2, 3]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn on_the_gpu_1() {
    quarter(0);
}

#[test]
fn on_the_gpu_2() {
    quarter(1);
}

#[test]
fn on_the_gpu_3() {
    quarter(2);
}

#[test]
fn on_the_gpu_4() {
    quarter(3);
}

/// Executes every second of the constructs that are executed for so many elements.
fn beyond_one_dimension(which: usize) {
    let Some(gpu) = gpu() else { return };
    let entries: Vec<&Entry> =
        ENTRIES.iter().filter(|e| LONG.contains(&CONSTRUCTS[e.construct].name)).collect();
    assert_eq!(entries.len(), LONG.len() * ON_GPU.len());
    let entries = entries.into_iter().skip(which).step_by(2);
    let failures: Vec<String> =
        entries.flat_map(|e| on_both(&gpu, e, BEYOND_ONE_DIMENSION, &[0, 2])).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn beyond_one_dimension_of_a_dispatch_1() {
    beyond_one_dimension(0);
}

#[test]
fn beyond_one_dimension_of_a_dispatch_2() {
    beyond_one_dimension(1);
}

#[test]
fn on_the_cpu_as_interpreted() {
    let mut failures = Vec::new();
    for entry in ENTRIES {
        let source = CONSTRUCTS[entry.construct].source(entry.float, entry.index);
        let value = pipeline::middle(&kernel(&source)).expect("its derivatives exist");
        let derivative = |p: &bulk::Program, what| pipeline::derivative(p, what).expect("it has one");
        let (jvp, vjp) = (derivative(&value, Derivative::Jvp), derivative(&value, Derivative::Vjp));
        let second = derivative(&vjp, Derivative::Jvp);
        for n in [0, 1, 9] {
            let arguments = arguments(entry, n);
            for (k, p) in [&value, &jvp, &vjp, &second].into_iter().enumerate() {
                let Some((on_cpu, _)) = entry.programs[k] else { continue };
                let arguments = arguments_of(k, entry, &arguments);
                let expected = bulk::interp::run(p, &arguments).expect("no construct fails");
                let found = on_cpu(&arguments).expect("no construct fails");
                let found = difference(&found, &expected, tolerance(entry.float));
                failures.extend(found.map(|text| format!("{}: {text}", describe(entry, k, n))));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn none_is_left_out() {
    for (k, Construct { name, .. }) in CONSTRUCTS.iter().enumerate() {
        for (float, _) in ON_GPU {
            let is_whole = |e: &Entry| e.programs[0].is_some() && e.programs[3].is_some();
            let found = ENTRIES.iter().any(|e| e.construct == k && e.float == *float && is_whole(e));
            assert!(found, "{name}, {float}");
        }
    }
    for name in LONG {
        assert!(CONSTRUCTS.iter().any(|c| c.name == name && !c.is_square()), "{name}");
    }
}
