//! Programs that once were compiled wrong, most of them mutants: the whole compiler takes them now, with all derivatives, and all
//! stages agree on what they mean.

use array_dsl_compiler::testing::compare::{Checked, values};
use array_dsl_compiler::testing::kernels::kernel;
use array_dsl_compiler::testing::mutants::check;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::Value;

/// What was wrong, and a program.
const FOUND: &[(&str, &str)] = &[(
    "the states of a loop in a branch started from what was computed in the loop",
    "fn f(x: [[f64; g]; m], at: [i64; k], first: [i64; q], e: [f64; l]) -> [f64; l] {
            build(l, |i| {
                let mut h = 0.5;
                if first[i] < first[i + 1] {
                    h = e[at[first[i]]];
                    for j in 0..g { h = h * x[0][j]; }
                }
                h
            })
        }",
)];

#[test]
fn programs_that_were_found() {
    for (what, source) in FOUND {
        for seed in 0..4 {
            let report = check(source, 4 * seed, |_| Ok(()));
            assert!(report.is_accepted, "{what}: rejected\n{source}");
            assert!(report.findings.is_empty(), "{what}: {:?}\n{source}", report.findings);
        }
    }
}

fn floats(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("as many as there are places")
}

fn ints(data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, vec![data.len()], data).expect("as many as there are places")
}

#[test]
fn what_a_loop_in_a_branch_starts_from_may_fail() {
    // It is read before the loop, if that has trips.
    let source =
        "fn f(x: [[f64; g]; m], at: [i64; k], first: [i64; q], e: [f64; l], trips: i64) -> [i64; l] {
        build(l, |i| {
            let mut lo = 0;
            let mut hi = g - 1;
            if first[i] < first[i + 1] {
                let n = at[first[i]];
                for _ in 0..trips {
                    let mid = (lo + hi) / 2;
                    let left = x[n][mid] > e[i];
                    hi = if left { mid } else { hi };
                    lo = if left { lo } else { mid };
                }
            }
            min(lo, g - 2)
        })
    }";
    let f = kernel(source);
    let row = floats(&[2, 4], &[0.0, 1.0, 2.0, 3.0, 0.0, 0.1, 0.2, 0.3]);
    for (trips, at, first, expected) in [
        (14, [0, 1], [0, 1, 2], Checked::Agree),
        (14, [0, 7], [1, 1, 0], Checked::Agree),
        // Outside, but nobody looks.
        (0, [0, 7], [0, 1, 0], Checked::Agree),
        (3, [0, 7], [0, 1, 0], Checked::Agree),
        (3, [0, 7], [1, 2, 0], Checked::Fault),
    ] {
        let trips = Value::from_i64(Elem::I64, Vec::new(), &[trips]).expect("a scalar");
        let args = [row.clone(), ints(&at), ints(&first), floats(&[2], &[1.5, 0.15]), trips.clone()];
        assert_eq!(
            values(&f, &args).unwrap_or_else(|e| panic!("{e}")),
            expected,
            "{trips:?} {at:?} {first:?}"
        );
    }
    let constant = kernel(&source.replace(", trips: i64", "").replace("trips", "14"));
    let args = [row, ints(&[0, 1]), ints(&[0, 1, 0]), floats(&[2], &[1.5, 0.15])];
    assert_eq!(values(&constant, &args), Ok(Checked::Agree));
}
