//! Every construct of the language, for both float types: through all stages, its derivatives in both modes and of second
//! order, by differences where there is a difference; empty arrays, one element, ties and zeros. The table that this
//! gives is `docs/constructs.md`; with `ARRAY_DSL_BLESS=1` it is written anew.

use array_dsl_compiler::bulk;
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::emit::wgsl;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::compare::{Checked, Derived, Modes, Stages};
use array_dsl_compiler::testing::constructs::{CONSTRUCTS, Construct, ON_GPU};
use array_dsl_compiler::testing::kernels::kernel;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::value::{Scalar, Value};

/// Arguments for arrays of `n` elements: without a pattern, and with ties and zeros.
fn arguments(f: &Function, n: i64, ties: bool) -> Vec<Value> {
    let ranges = Ranges { sizes: (n, n), integers: (0, 3), floats: (-1.0, 1.0) };
    let mut args = arguments_within(f, 7 + n as u64, &ranges);
    if ties {
        for x in args.iter_mut().flat_map(|a| a.data_mut()) {
            match x {
                Scalar::F32(x) => *x = (*x * 1.4).round(),
                Scalar::F64(x) => *x = (*x * 1.4).round(),
                _ => {}
            }
        }
    }
    args
}

/// Checks a construct for one type; whether there are shaders for the value and the derivatives.
fn check(name: &str, f: &Function, elem: &str) -> [bool; 4] {
    let stages = Stages::new(f).unwrap_or_else(|e| panic!("{name}, {elem}: {e}"));
    let p = stages.program();
    let modes = Modes::of(p).unwrap_or_else(|e| panic!("{name}, {elem}: {e}"));
    let stopped = name.contains("stop_gradient");
    let mut done = Derived::default();
    for n in [0, 1, 2, 6] {
        for ties in [false, true] {
            let args = arguments(f, n, ties);
            let context = |e: String| -> String { format!("{name}, {elem}, n = {n}, ties: {ties}: {e}") };
            let found = stages.values(&args).map_err(context).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(found, Checked::Agree, "{name}, {elem}, n = {n}, ties: {ties}");
            let Some(modes) = &modes else { continue };
            let found = modes.check(&args, 5, 2, stopped).map_err(context).unwrap_or_else(|e| panic!("{e}"));
            // Of few elements some constructs have none left to differentiate.
            if n == 6 {
                done += found;
            }
        }
    }
    if Derivative::Vjp.exists(p) {
        assert!(done.identities > 0, "{name}, {elem}");
        // Differences are those of `f64`, and of what gradients go through.
        assert!(done.differences > 0 || stopped || elem == "f32", "{name}, {elem}");
    }
    let shaders = |p: &bulk::Program| {
        wgsl::emit(&pipeline::back(p, Target::Gpu).unwrap_or_else(|e| panic!("{name}: {e:?}"))).is_ok()
    };
    let derivative = |what| pipeline::derivative(p, what).expect("it has one");
    let (vjp, jvp) = (derivative(Derivative::Vjp), derivative(Derivative::Jvp));
    let second = pipeline::derivative(&vjp, Derivative::Jvp).expect("it has one");
    [shaders(p), shaders(&jvp), shaders(&vjp), shaders(&second)]
}

#[test]
fn all_of_them() {
    let mut table = String::from(
        "# What works where\n\nWritten by `array-dsl-compiler/tests/constructs.rs`, which checks it: values through every stage, forward and reverse mode\n\
         against each other and against differences, to second order, for empty arrays, one element, ties and zeros. Then\n\
         `tests/tests/constructs.rs` executes it on the CPU and on a GPU and compares the two: the value, and `jvp` of `vjp`, which gives\n\
         the value, both derivatives and the second order; for `f32` also `jvp` and `vjp` alone. Arrays have 0, 1, 255, 256 and 257\n\
         elements, those of a few constructs more than four million.\n\n\
         On the CPU everything works for `f32` and `f64`. The columns say what is executed on GPUs as well.\n\n\
         | construct | CPU, both types | GPU, `f32` | GPU, `f64` |\n|---|---|---|---|\n",
    );
    for construct @ Construct { name, .. } in CONSTRUCTS {
        let mut columns = Vec::new();
        for (elem, index) in [("f32", "i32"), ("f64", "i64")] {
            let on_gpu = check(name, &kernel(&construct.source(elem, index)), elem);
            if !ON_GPU.contains(&(elem, index)) {
                columns.push("-".into());
                continue;
            }
            let names = ["value", "jvp", "vjp", "second order"];
            let there: Vec<&str> =
                names.into_iter().zip(on_gpu).filter(|(_, ok)| *ok).map(|(n, _)| n).collect();
            columns.push(match there.len() {
                4 => "all".to_string(),
                0 => "-".into(),
                _ => there.join(", "),
            });
        }
        table.push_str(&format!("| {name} | all | {} | {} |\n", columns[0], columns[1]));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/constructs.md");
    if std::env::var_os("ARRAY_DSL_BLESS").is_some() {
        std::fs::write(path, &table).expect("the page can be written");
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(page, table, "docs/constructs.md is not what is so; ARRAY_DSL_BLESS=1 writes it");
}
