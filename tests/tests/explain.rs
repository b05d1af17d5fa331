//! What `explain` tells: the stages, and what a reader may not expect.

use array_dsl::prelude::*;

#[kernel]
fn running(x: [f64; n]) -> f64 {
    let mut h = 0.0;
    for i in 0..n {
        h = (h + x[i]).sin();
    }
    h
}

#[kernel]
fn total(x: [f64; n]) -> f64 {
    let mut t = 0.0;
    for v in x {
        t += v * v;
    }
    t
}

#[test]
fn why_a_loop_runs_in_order() {
    let text = running.explain();
    let (notes, rest) = text.split_once("== typed and lifted ==").expect("the stages follow");
    // The line of the assignment.
    let line = 9;
    assert_eq!(
        notes.trim_end(),
        format!(
            "== notes ==\nline {line}: the loop over `i` runs in order: `h` is carried from trip to trip, as it is read in the loop that changes it"
        )
    );
    assert!(rest.contains("loop for i"), "{rest}");
    let text = total.explain();
    assert!(!text.contains("== notes ==") && text.contains("reduce"), "{text}");
}

#[test]
fn every_stage() {
    let text = grad(total).explain();
    for stage in ["== bulk ==", "== loops ==", "== rust =="] {
        assert!(text.contains(stage), "{stage} in {text}");
    }
}
