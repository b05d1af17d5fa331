//! Each pass on a small program: Bulk text in, Bulk text out.

use array_dsl_compiler::bulk::{parse::parse, print::print, verify};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::optimize::{CONTRACT, ROUND, UPDATE};
use array_dsl_compiler::pipeline;

/// The program after the named passes.
fn after(passes: &[&str], text: &str) -> String {
    let mut p = parse(text).unwrap();
    assert_eq!(verify::check(&p), Vec::<String>::new());
    for name in passes {
        let all = ROUND.iter().chain([&CONTRACT, &UPDATE]);
        let (_, pass) = all.into_iter().find(|(n, _)| n == name).unwrap();
        pass(&mut p);
        assert_eq!(verify::check(&p), Vec::<String>::new(), "after {name}: {}", print(&p));
    }
    print(&p)
}

#[test]
fn simplify_folds_shares_and_proves() {
    let text = "
program f(x.0: [n]f64) sizes n
  y.1: [n]f64 = nest [%0 < n] {
    %1 = x.0[%0]?
    %2 = x.0[%0]?
    %3 = add %1 0.0f64
    %4 = mul %3 %2
    %5 = exp %4
    %6 = ge %0 0
    %7 = select %6 %4 %5
  } store %7
  => y.1";
    insta::assert_snapshot!(after(&["simplify"], text));
}

#[test]
fn inline_fuses_a_producer() {
    let text = "
program f(x.0: [n]f64) sizes n
  y.1: [n]f64 = nest [%0 < n] { %1 = x.0[%0]; %2 = exp %1 } store %2
  z.2: f64 = nest [%3 < n] { %4 = y.1[%3]; %5 = mul %4 %4 } reduce(add) 1 %5
  => z.2";
    insta::assert_snapshot!(after(&["inline", "simplify", "share"], text));
}

#[test]
fn inline_does_not_repeat_work_along_an_axis() {
    let text = "
program f(x.0: [n]f64, w.1: [n][m]f64) sizes n, m
  y.2: [n]f64 = nest [%0 < n] { %1 = x.0[%0]; %2 = exp %1 } store %2
  z.3: [n][m]f64 = nest [%3 < n, %4 < m] { %5 = y.2[%3]; %6 = w.1[%3, %4]; %7 = mul %5 %6 } store %7
  => z.3";
    insta::assert_snapshot!(after(&["inline", "simplify", "share"], text));
}

#[test]
fn accumulate_at_all_axes_is_a_store() {
    let text = "
program f(x.0: [n][m]f64) sizes n, m
  zero.1: [m][n]f64 = nest [%0 < m, %1 < n] { } store 0.0f64
  y.2: [m][n]f64 = nest [%2 < n, %3 < m] { %4 = x.0[%2, %3] } accumulate(add) zero.1 [%3, %2] %4
  => y.2";
    insta::assert_snapshot!(after(&["accumulate", "share"], text));
}

#[test]
fn accumulate_at_some_axes_is_a_reduction() {
    let text = "
program f(x.0: [n][m]f64) sizes n, m
  zero.1: [m]f64 = nest [%0 < m] { } store 0.0f64
  y.2: [m]f64 = nest [%2 < n, %3 < m] { %4 = x.0[%2, %3] } accumulate(add) zero.1 [%3] %4
  => y.2";
    insta::assert_snapshot!(after(&["accumulate", "share"], text));
}

#[test]
fn accumulate_at_a_shift_is_a_gather() {
    let text = "
program f(x.0: [n]f64) sizes n
  zero.1: [n + 1]f64 = nest [%0 < n + 1] { } store 0.0f64
  y.2: [n + 1]f64 = nest [%2 < n] { %3 = x.0[%2]; %4 = exp %3; %5 = add %2 1 } accumulate(add) zero.1 [%5] %4
  => y.2";
    insta::assert_snapshot!(after(&["accumulate", "share", "simplify", "inline", "simplify", "share"], text));
}

#[test]
fn update_accumulates_into_the_other_terms() {
    // Two accumulations and a term besides: it comes first, then one accumulation after the other.
    let text = "
program f(x.0: [n]f64, at.1: [m]i64) sizes n, m
  zero.2: [n]f64 = nest [%0 < n] { } store 0.0f64
  a.3: [n]f64 = nest [%1 < m] { %2 = at.1[%1]; %3 = x.0[%2]? } accumulate(add) zero.2 [%2] %3
  b.4: [n]f64 = nest [%4 < m] { %5 = at.1[%4]; %6 = add %5 1 } accumulate(add) zero.2 [%6] 1.0f64
  y.5: [n]f64 = nest [%7 < n] {
    %8 = x.0[%7]
    %9 = exp %8
    %10 = a.3[%7]
    %11 = add %9 %10
    %12 = b.4[%7]
    %13 = add %12 %11
  } store %13
  => y.5";
    insta::assert_snapshot!(after(&["update", "share"], text));
}

#[test]
fn split_reads_through_a_flattened_array() {
    let text = "
program f(x.0: [n][m]f64) sizes n, m
  y.1: [m * n]f64 = reshape x.0
  z.2: f64 = nest [%0 < m * n] { %1 = y.1[%0] } reduce(add) 1 %1
  => z.2";
    insta::assert_snapshot!(after(&["split", "simplify", "share"], text));
}

#[test]
fn contract_recognizes_a_matrix_product() {
    let text = "
program f(a.0: [n][k]f64, b.1: [k][m]f64) sizes n, k, m
  c.2: [n][m]f64 = nest [%0 < n, %1 < m, %2 < k] { %3 = a.0[%0, %2]; %4 = b.1[%2, %1]; %5 = mul %3 %4 } reduce(add) 1 %5
  => c.2";
    insta::assert_snapshot!(after(&["contract"], text));
}

#[test]
fn reverse_mode_of_one_nest() {
    let text = "
program f(x.0: [n]f64, a.1: f64) sizes n
  y.2: f64 = nest [%0 < n] { %1 = x.0[%0]; %2 = sin %1; %3 = a.1[]; %4 = mul %2 %3 } reduce(add) 1 %4
  => y.2";
    let p = parse(text).unwrap();
    insta::assert_snapshot!(print(&pipeline::derivative(&p, Derivative::Grad).unwrap()));
}

#[test]
fn forward_mode_of_one_nest() {
    let text = "
program f(x.0: [n]f64) sizes n
  y.1: [n]f64 = nest [%0 < n] { %1 = x.0[%0]; %2 = tanh %1 } store %2
  => y.1";
    let p = parse(text).unwrap();
    insta::assert_snapshot!(print(&pipeline::derivative(&p, Derivative::Jvp).unwrap()));
}

#[test]
fn invariant_work_is_done_once() {
    let text = "
program f(x.0: [m]f64, w.1: [n][m]f64) sizes m, n
  s.2: [n]f64 = nest [%0 < n, %1 < m] { %2 = x.0[%1]; %3 = exp %2 } reduce(add) 1 %3
  z.3: [n][m]f64 = nest [%4 < n, %5 < m] { %6 = s.2[%4]; %7 = w.1[%4, %5]; %8 = mul %6 %7 } store %8
  => z.3";
    insta::assert_snapshot!(after(&["invariant", "inline", "simplify", "share"], text));
}
