//! Sizes: what is inferred, what is left to be checked when a kernel runs, and what is refused. The checklist and the programs
//! are those of the chapter on size inference of Henriksen's thesis; its intermediate language is not ours, so that some rows ask
//! for something else here. Tests in other files have their path from the root of the repository; without one they are in
//! this folder's `checklist`, `operators` and `programs`.
//!
//! | row | what | where |
//! |---|---|---|
//! | 1 | every size that a type mentions is in scope | `core::verify` and `bulk::verify`, executed after every stage by all tests here (`gives`, `fails`); that they notice is in `array-dsl-compiler/src/core/verify/tests.rs` |
//! | 2 | sizes are ordinary integers | `sizes_are_shared_moved_and_dropped_like_other_integers`; `sizes_computed_alike_are_one_size` in `array-dsl-compiler/tests/sizes.rs` |
//! | 3 | the type of each operator | `dimensions_and_checks_of_each_operator`, `what_is_inferred_is_what_comes` |
//! | 4 | no array of negative size | `s12_a_size_that_can_be_negative`, `iota` in `operators`; `s12_negative_sizes_are_errors` in `tests/tests/sizes.rs` |
//! | 5 | reshapes are checked where nothing proves them | `s9_a_reshape_that_the_normal_form_decides`, `s10_a_reshape_that_is_checked` |
//! | 6 | types that say less | `annotations_may_say_less_but_nothing_else`; there is no scope that a size has to leave: it is a polynomial |
//! | 7 | types made more precise | `names_do_not_hide_sizes`: they are precise from the start |
//! | 8 | branches of different shapes | `s2_branches_of_different_shapes`, `equal_pairs_are_checked_once`: both have one shape |
//! | 9 | loops that change a size | `s7_a_loop_that_grows`: it must not, `s8_a_loop_that_keeps_its_size`; `tests/messages/ui/sizes_in_loops.rs` |
//! | 10 | calls | `a_call_has_the_sizes_and_checks_of_its_own_arguments`, `a_call_in_a_branch`; no call is opaque, kernels of other crates carry their Core as well: `sizes_through_calls` in `tests/tests/linking.rs` |
//! | 11 | one name for two sizes | `s3_two_names_used_as_one`, `s4_one_name` |
//! | 12 | rows whose length is that of the first | there is no such guess: `s5_rows_of_different_lengths` is refused, as is `tests/messages/ui/dependent_dimension.rs` |
//! | 13 | arrays without elements | `nothing_has_a_shape`: the sizes are those of any other array, none is guessed from an element |
//! | 14 | where rows are compared | nowhere, they are equal by their type; what that costs: `calls_and_maps_cost_what_plain_loops_do` |
//! | 15 | the shape alone | `shapes_are_polynomials`; without running `tests/tests/shapes.rs` |
//! | 16 | nothing of it is left | `s1_the_running_example`, `calls_and_maps_cost_what_plain_loops_do` |
//! | 17 | sizes whose computation may fail | `divisions_stay_where_they_are`; `sizes_that_do_not_depend_on_the_index_are_computed_before` in `array-dsl-compiler/tests/sizes.rs` |
//! | 18 | checks leave loops and branches, with their condition | `checks_are_guarded_by_the_loops_they_leave`, `checks_are_guarded_by_the_conditions_they_leave`, `sizes_that_the_kernel_compares_itself`, `s15b_a_product_of_matrices_of_unnamed_sizes` |
//! | 19 | memory before the first shader | `memory_is_planned_before_shaders_run` |
//! | 20 | bounds instead of sizes that data tell | `the_host_waits_only_where_it_must` in `tests/tests/gpu/filtering.rs`; the bounds in `array-dsl-compiler/src/emit/wgsl/tests/counts.rs` |
//! | 21 | reductions, scans, scatters | `s13_a_scan_of_rows`, `s14_a_reduction_of_rows`, `operators_that_change_the_shape`; arrays are not taken in chunks by kernels |
//! | 22 | sizes that never agree | `s11_constants_that_differ`, `operands_that_do_not_fit`; with places in `tests/messages/ui/size_constants.rs`, `size_names.rs` |
//! | 23 | rank lifting, then sizes | `sizes_of_lifted_operands`: the message names the function, the map that was inserted and both sizes |
//! | 24 | derivatives | `derivatives_keep_the_dimensions`; with numbers `s1_gradient` in `tests/tests/sizes.rs`, `derivatives` in `tests/tests/filtering.rs` |
//! | 25 | what the bulk-operation transform needs | `s5_rows_of_different_lengths`, `s6c_filtered_rows`: refused while Core is made |
//! | 26 | too many elements | `sizes_do_not_wrap`; `array-dsl-runtime/src/entry.rs`; on a GPU `arrays_that_are_too_large` in `tests/tests/gpu/failures.rs` |
//! | 27 | nests of maps over one element | `maps_over_one_element_cost_what_the_element_does` |
//!
//! The programs S1 to S15b are the tests of those names in `programs`; the same as compiled code, with gradients, in
//! `tests/tests/sizes.rs` and `tests/tests/filtering.rs`.
//!
//! | program | here |
//! |---|---|
//! | S1, S2b, S3, S4, S6, S6d, S8 to S15b | as in the chapter |
//! | S2 | one shape for both branches: equal if checked, refused for two names |
//! | S5, S6c | refused: irregular arrays are a compile error |
//! | S6b | refused; masked instead |
//! | S7 | a size is equal to its double only if it is zero: that is checked; built at once instead |

mod checklist;
mod operators;
mod programs;

use array_dsl_compiler::core::{self, CheckKind, Exp, Function};
use array_dsl_compiler::dim::Dim;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::compare::{Checked, values};
use array_dsl_compiler::testing::kernels::compile;
use array_dsl_compiler::testing::loops;
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Fault, Value};
use array_dsl_compiler::{bulk, pipeline};

fn floats(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("as many as there are places")
}

fn ints(data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, vec![data.len()], data).expect("as many as there are places")
}

fn int(i: i64) -> Value {
    Value::from_i64(Elem::I64, Vec::new(), &[i]).expect("one element")
}

/// A size in the names of the kernel; `#a.1` is the unnamed second dimension of `a`.
fn shown(f: &Function, d: &Dim) -> String {
    d.show(&|v| f.vars[v as usize].name.to_string())
}

fn list(f: &Function, dims: &[Dim]) -> String {
    dims.iter().map(|d| shown(f, d)).collect::<Vec<_>>().join(", ")
}

/// The dimensions of each result.
fn shapes(f: &Function) -> Vec<String> {
    f.result_types.iter().map(|t| format!("[{}]", list(f, &t.dims))).collect()
}

/// The dimensions of the only result.
fn shape(f: &Function) -> String {
    let all = shapes(f);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

/// What is checked when the kernel is called, beside the arguments' own dimensions.
fn checks(f: &Function) -> Vec<String> {
    let check = |c: &core::Check| {
        let condition = match &c.kind {
            CheckKind::Equal(a, b) => format!("{} == {}", shown(f, a), shown(f, b)),
            CheckKind::NonNegative(d) => format!("0 <= {}", shown(f, d)),
            CheckKind::AtLeast(lo, d) => format!("{} <= {}", shown(f, lo), shown(f, d)),
        };
        match c.guards.is_empty() {
            true => condition,
            false => format!("{condition} when {}", list(f, &c.guards)),
        }
    };
    f.body
        .stms
        .iter()
        .filter_map(|s| if let Exp::Check(c) = &s.exp { Some(check(c)) } else { None })
        .collect()
}

/// Those of them that compare two sizes.
fn equalities(f: &Function) -> Vec<String> {
    checks(f).into_iter().filter(|c| c.contains("==")).collect()
}

/// The result by Core, and by every stage after it.
fn result(f: &Function, args: &[Value]) -> Value {
    let found = meaning::run(f, args).unwrap_or_else(|e| panic!("{}: {e}", f.name));
    assert_eq!(values(f, args), Ok(Checked::Agree));
    found[0].clone()
}

fn gives(f: &Function, args: &[Value], shape: &[usize], data: &[f64]) {
    assert_eq!(result(f, args), floats(shape, data));
}

fn gives_integers(f: &Function, args: &[Value], shape: &[usize], data: &[i64]) {
    let expected = Value::from_i64(Elem::I64, shape.to_vec(), data).expect("as many as there are places");
    assert_eq!(result(f, args), expected);
}

/// Every stage refuses these arguments for their sizes, in words that contain all of `parts`.
fn fails(f: &Function, args: &[Value], parts: &[&str]) {
    let is_size = |stage: &str, found: Result<Vec<Value>, Fault>| match found {
        Err(Fault::SizeCheck { message, .. }) => message,
        other => panic!("{stage}: {other:?}"),
    };
    let text = is_size("core", meaning::run(f, args));
    assert!(parts.iter().all(|p| text.contains(p)), "{text}");
    let p = pipeline::middle(f).expect("its derivatives exist");
    is_size("bulk", bulk::interp::run(&p, args));
    for target in [Target::Cpu, Target::Gpu] {
        let l = pipeline::back(&p, target).expect("it verifies");
        is_size("loops", loops::run(&l, target, args));
    }
}

/// The kernel does not compile, and the one message contains all of `parts`.
fn refused(source: &str, parts: &[&str]) {
    let found = compile(source).expect_err(source);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(parts.iter().all(|p| found[0].contains(p)), "{}", found[0]);
}
