//! Random programs, compiled to Rust and to WGSL, against the interpreters.
//!
//! The programs are many, so they come in parts, each a test of its own: `random_0.rs` and so on. `build.rs` makes the programs' kernels, as `#[kernel]` would. The value must be what the Core interpreter gives and
//! the pullback of ones what the Bulk interpreter gives for the derived program. Where the program itself fails, the
//! compiled one does what a program that fails may do: see [`Failing`].
//!
//! On the GPU the programs are in single precision. Some of them step over a jump, or lose all digits, because of
//! rounding: where the interpreter in single and in double precision disagree, nothing is compared.

use array_dsl::Error;
pub use array_dsl::Gpu;
use array_dsl_compiler::bulk;
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare::{Class, Failing};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_within, program};
use array_dsl_compiler::ty::{Const, Elem};
pub use array_dsl_compiler::value::Value;
use array_dsl_compiler::value::{Scalar, approx_eq};
use array_dsl_tests::single::single;
use array_dsl_tests::value::Outcome;

/// A compiled program.
pub type OnCpu = fn(&[Value]) -> Outcome;
/// A compiled program on a GPU.
pub type OnGpu = fn(&Gpu, &[Value]) -> Outcome;

/// Arguments with small sizes, empty ones among them, and with somewhat larger ones.
fn arguments(f: &Function, seed: u64) -> [Vec<Value>; 2] {
    [(0, 4), (3, 7)]
        .map(|sizes| arguments_within(f, seed, &Ranges { sizes, integers: (-1, 5), floats: (-1.5, 1.5) }))
}

/// The arguments of the pullback: those of the program, and ones for each float result.
fn with_ones(arguments: &[Value], results: &[Value]) -> Vec<Value> {
    let floats = results.iter().filter(|r| r.elem().is_float());
    let ones = floats.map(|r| Value::filled(r.shape().to_vec(), Const::float(r.elem(), 1.0).into()));
    arguments.iter().cloned().chain(ones).collect()
}

fn same(found: &Outcome, expected: &[Value], tolerance: f64) -> Result<(), String> {
    let found = found.as_ref().map_err(Error::to_string)?;
    if found.len() != expected.len() {
        return Err(format!("{} results instead of {}", found.len(), expected.len()));
    }
    found.iter().zip(expected).try_for_each(|(a, b)| approx_eq(a, b, tolerance, tolerance))
}

/// What the interpreters say: the results, and the pullback's with its arguments.
struct Expected {
    value: Vec<Value>,
    ones: Vec<Value>,
    pullback: Option<Vec<Value>>,
}

/// `None` if the program fails.
fn interpreted(f: &Function, arguments: &[Value]) -> Option<Expected> {
    let value = meaning::run(f, arguments).ok()?;
    let ones = with_ones(arguments, &value);
    let derived = pipeline::derivative(&pipeline::middle(f).expect("its derivatives exist"), Derivative::Vjp);
    let pullback = derived.ok().map(|d| bulk::interp::run(&d, &ones).expect("the pullback does not fail"));
    if let Some(with_value) = &pullback {
        // The pullback's results begin with the value.
        same(&Ok(with_value[..value.len()].to_vec()), &value, 1e-4).expect("the pullback's value");
    }
    Some(Expected { value, ones, pullback })
}

/// What came of the comparisons of a part.
#[derive(Default)]
struct Compared {
    failures: Vec<String>,
    /// How many comparisons were made, and how many of pullbacks.
    made: usize,
    pullbacks: usize,
    /// How many were left out because of rounding.
    unstable: usize,
    /// Lists of arguments that the program itself fails for, and others.
    faults: usize,
    runs: usize,
    /// Of the former, those that were compared.
    failing: usize,
}

/// The class and the line of an error.
fn described(e: &Error) -> Option<(Class, u32)> {
    match e {
        Error::IndexOutOfRange { line, .. } => Some((Class::Index, *line)),
        Error::DivisionByZero { line, .. } => Some((Class::Division, *line)),
        Error::EmptyExtremum { line, .. } | Error::SizeCheck { line, .. } => Some((Class::Size, *line)),
        _ => None,
    }
}

impl Compared {
    /// A run that fails in the interpreter: see [`Failing`].
    fn failed(&mut self, seed: u64, f: &Function, arguments: &[Value], found: Outcome, tolerance: f64) {
        self.failing += 1;
        let failing = Failing::new(f, arguments);
        let error = match &found {
            Ok(_) => match &failing.results {
                Some(expected) => same(&found, expected, tolerance).err(),
                None => Some("does not fail".to_string()),
            },
            Err(error) => {
                let is_known =
                    described(error).is_some_and(|(class, line)| failing.has(f, class, Some(line)));
                (!is_known).then(|| error.to_string())
            }
        };
        if let Some(error) = error {
            self.failures.push(format!("seed {seed}, with faults {:?}: {error}", failing.faults));
        }
    }

    /// Fails with all that went wrong, and if too little was compared: a program fails for one list of arguments in
    /// four at most, and rounding spoils one comparison in four at most.
    fn report(self) {
        let Compared { failures, made, pullbacks, unstable, faults, runs, failing } = self;
        println!(
            "{made} comparisons, {pullbacks} of pullbacks, {failing} of failing runs; {faults} runs fail, {runs} do not"
        );
        assert!(failures.is_empty(), "{} of {made} comparisons:\n{}", failures.len(), failures.join("\n"));
        assert!(made >= runs.saturating_sub(unstable) && runs > 0, "{made} comparisons of {runs} runs");
        assert!((pullbacks + unstable) * 2 > runs, "{pullbacks} comparisons of pullbacks for {runs} runs");
        assert!(faults * 3 <= runs, "{faults} runs fail by themselves, {runs} do not");
        assert!(unstable * 3 <= made, "{unstable} comparisons are left out, {made} made");
    }
}

/// Compares a part's programs on the CPU.
pub fn compare_on_cpu(programs: &[(u64, Option<OnCpu>, Option<OnCpu>)]) {
    let mut total = Compared::default();
    for (seed, value, pullback) in programs {
        let f = program(*seed);
        for arguments in arguments(&f, *seed) {
            let Some(expected) = interpreted(&f, &arguments) else {
                total.faults += 1;
                if let Some(value) = value {
                    total.failed(*seed, &f, &arguments, value(&arguments), 1e-9);
                }
                continue;
            };
            total.runs += 1;
            let mut check = |what: &str, found: Outcome, expected: &[Value]| {
                total.made += 1;
                if let Err(text) = same(&found, expected, 1e-9) {
                    total.failures.push(format!("seed {seed}, {what}: {text}"));
                }
            };
            if let Some(value) = value {
                check("value", value(&arguments), &expected.value);
            }
            if let (Some(pullback), Some(wanted)) = (pullback, &expected.pullback) {
                check("pullback", pullback(&expected.ones), wanted);
                total.pullbacks += 1;
            }
        }
    }
    total.report();
}

/// Values in double precision.
fn widened(values: &[Value]) -> Vec<Value> {
    let wide = |v: &Value| {
        let mut wide = Value::filled(v.shape().to_vec(), Scalar::zero(Elem::F64));
        wide.data_mut().iter_mut().zip(v.to_f64()).for_each(|(to, x)| *to = Scalar::F64(x));
        if v.elem().is_float() { wide } else { v.clone() }
    };
    values.iter().map(wide).collect()
}

/// Values in single precision.
fn narrowed(values: &[Value]) -> Vec<Value> {
    let narrow = |v: &Value| {
        let mut narrow = Value::filled(v.shape().to_vec(), Scalar::zero(Elem::F32));
        narrow.data_mut().iter_mut().zip(v.to_f64()).for_each(|(to, x)| *to = Scalar::F32(x as f32));
        if v.elem().is_float() { narrow } else { v.clone() }
    };
    values.iter().map(narrow).collect()
}

/// Whether rounding matters little: both precisions give the same.
fn is_stable(single: &[Value], double: &[Value]) -> bool {
    widened(single).iter().zip(double).all(|(a, b)| approx_eq(a, b, 1e-4, 1e-4).is_ok())
}

/// Compares a part's programs on the GPU.
pub fn compare_on_gpu(programs: &[(u64, Option<OnGpu>, Option<OnGpu>)]) {
    if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
        println!("skipped: ARRAY_DSL_GPU=skip");
        return;
    }
    let gpu = Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without");
    let mut total = Compared::default();
    for (seed, value, pullback) in programs {
        let double = program(*seed);
        let f = single(&double);
        for arguments in arguments(&f, *seed) {
            let Some(expected) = interpreted(&f, &arguments) else {
                total.faults += 1;
                if let Some(value) = value {
                    total.failed(*seed, &f, &arguments, value(&gpu, &arguments), 1e-3);
                }
                continue;
            };
            let Some(precise) = interpreted(&double, &widened(&arguments)) else { continue };
            total.runs += 1;
            let mut check = |what: &str, found: Outcome, single: &[Value], double: &[Value]| {
                if !is_stable(single, double) {
                    total.unstable += 1;
                    return;
                }
                total.made += 1;
                if let Err(text) = same(&found, &narrowed(double), 1e-3) {
                    total.failures.push(format!("seed {seed}, {what}: {text}"));
                }
            };
            if let Some(value) = value {
                check("value", value(&gpu, &arguments), &expected.value, &precise.value);
            }
            if let (Some(pullback), Some(single), Some(double)) =
                (pullback, &expected.pullback, &precise.pullback)
            {
                check("pullback", pullback(&gpu, &expected.ones), single, double);
                total.pullbacks += 1;
            }
        }
    }
    total.report();
}
