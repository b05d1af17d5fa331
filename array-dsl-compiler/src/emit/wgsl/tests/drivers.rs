//! What drivers get wrong that the one of the tests gets right.

use super::super::emit;
use crate::pipeline::{back, middle};
use crate::target::Target;
use crate::testing::kernels::kernel;

/// What was wrong on a driver, and right on the one that tests have: see `groups` and `adsl64_kept`.
#[test]
fn what_drivers_get_wrong_is_not_in_shaders() {
    let emitted = |source: &str| {
        let p = middle(&kernel(source)).expect("its derivatives exist");
        emit(&back(&p, Target::Gpu).expect("verified")).expect("it runs there")
    };
    let any = emitted("fn f(x: [[bool; m]; n]) -> ([bool; n], bool) { (map(any, x), all(x.flatten())) }");
    let memory = |line: &&str| line.starts_with("var<workgroup>");
    let lines: Vec<&str> = any.shaders.iter().flat_map(|s| s.wgsl.lines()).filter(memory).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| !line.contains("bool")), "{lines:?}");

    // Exactness goes through a word that is zero, which no compiler knows.
    for function in ["exp", "exp_m1", "sin", "cos", "tan", "log2", "log10"] {
        let code = emitted(&format!("fn f(x: [f64; n]) -> [f64; n] {{ x.{function}() }}"));
        assert!(code.shaders[0].wgsl.contains("^ u64(adsl_zero())"), "{function}");
        assert!(code.program.split_whitespace().any(|word| word == "zero"), "{function}: {}", code.program);
    }
}
