//! Sizes that the device computes: their bounds, and where shaders have them from.

use super::{GpuCode, emit, validated};
use crate::pipeline;
use crate::target::Target;
use crate::testing::kernels::kernel;

fn code(source: &str) -> GpuCode {
    let p = pipeline::middle(&kernel(source)).expect("it has no derivatives inside");
    let scheduled = pipeline::back(&p, Target::Gpu).unwrap_or_else(|e| panic!("{e:#?}"));
    validated(emit(&scheduled).unwrap_or_else(|e| panic!("{e}\n{source}")))
}

/// The bounds of the sizes of a program in order, as its text has them.
fn bounds(code: &GpuCode) -> Vec<&str> {
    let mosts = code.program.lines().filter_map(|l| Some(l.split_once(" most ")?.1));
    mosts.map(str::trim_end).collect()
}

#[test]
fn what_is_kept_is_no_more_than_there_was() {
    // The atoms: n, then the sizes in order.
    let n = "some 1*0";
    let one = code("fn f(x: [f32; n]) -> f32 { sum(cumsum(filter(|v| v > 0.0, x))) }");
    assert_eq!(bounds(&one), [n]);
    let two = code("fn f(x: [f32; n]) -> f32 { sum(cumsum(filter(|v| v < 1.0, filter(|v| v > 0.0, x)))) }");
    // What has both properties is counted among all.
    assert_eq!(bounds(&two), [n, n]);
    // `m n`, the names in order.
    let all =
        code("fn f(x: [[f32; m]; n]) -> f32 { let a = filter(|v| v > 0.0, flatten(x)); sum(cumsum(a)) }");
    assert_eq!(bounds(&all), ["some 1*1*0"]);
    let place = code("fn f(x: [f32; n]) -> f32 { sum(build(argmax(x), |i| x[i])) }");
    assert_eq!(bounds(&place), [n]);
    // Of what is read from an array nothing is known.
    let read = code("fn f(x: [i64; n]) -> f32 { sum(build(x[0], |i| 1.0)) }");
    assert_eq!(bounds(&read), ["none"]);
}

#[test]
fn shaders_make_sizes_of_words_that_are_numbers() {
    let code = code(
        "fn f(x: [f32; n]) -> (f32, f32) { let (a, b) = partition(|v| v > 0.0, x); (sum(cumsum(a)), sum(cumsum(b))) }",
    );
    let text = &code.program;
    // Where there is `n - k`, there are the words of `n` and of `k`, and the host checks the difference.
    let difference = "1*0+-1*1";
    assert!(text.contains(&format!("sizes 1 {difference} ")), "{text}");
    assert!(!text.contains(&format!("size {difference} ")), "{text}");
}
