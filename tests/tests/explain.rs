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

#[kernel]
fn stepped(x: [f64; n], gain: f64, offset: f64, #[no_grad] y: f64) -> f64 {
    let steps = (10.0 * x).floor();
    let whole = map(|v| (v * gain) as i64, x);
    sum(steps) * gain + sum(whole as f64) * y + if offset > 0.0 { 1.0 } else { 0.0 }
}

#[kernel]
fn called(x: [f64; n], y: f64) -> f64 {
    stepped(x, y, y, y) + stop_gradient(y)
}

#[kernel]
fn looked_up(table: [f64; n], at: [i64; m], t: f64) -> [f64; m] {
    let first = table[at[0]];
    build(m, |i| table[at[i]] * first + table[(t * n as f64) as i64])
}

/// A section of the text under its title.
fn section(text: &str, title: &str) -> Vec<String> {
    let title = format!("== {title} ==\n");
    let lines = text.split_once(&title).map_or("", |(_, rest)| rest).lines();
    lines.take_while(|l| !l.is_empty()).map(str::to_string).collect()
}

#[test]
fn where_gradients_end() {
    let line = |of: u32, text: &str| format!("line {of}: {text}");
    let zero =
        |name: &str| format!("the gradient by `{name}` is zero: no float of the result varies with it");
    let steps = |name: &str| format!("`{name}` is constant in steps: no gradient goes through it");
    assert_eq!(
        section(&stepped.explain(), "notes"),
        [
            line(41, &zero("x")),
            line(41, &zero("offset")),
            line(42, &steps("floor")),
            line(43, &steps("as i64")),
        ]
    );
    let inside = |of: u32, text: &str| format!("line {of} of `stepped`: {text}");
    assert_eq!(
        section(&called.explain(), "notes"),
        [line(48, &zero("x")), inside(42, &steps("floor")), inside(43, &steps("as i64"))]
    );
    assert_eq!(section(&total.explain(), "notes"), [""; 0]);
    let x = ndarray::arr1(&[0.25, 1.5]);
    assert_eq!(grad(stepped)(&x, 2.0, 1.0, 3.0).0, ndarray::arr1(&[0.0, 0.0]));
}

#[test]
fn which_checks_remain() {
    assert_eq!(
        section(&looked_up.explain(), "checks"),
        [
            "line 54: each read of `at`: the index is 0, of m",
            "line 54: each read of `table`: the index is decided by `at`",
            "line 55: each read of `table`: the index is decided by `at`",
            "line 55: each read of `table`: the index is decided by floats",
        ]
    );
    assert_eq!(section(&total.explain(), "checks"), [""; 0]);
}

#[test]
fn what_steps_cost() {
    let cost = |of: &str| section(of, "costs");
    assert_eq!(cost(&total.explain()), ["lines 17, 18: n trips: 2 * n operations; reads 8 * n bytes"]);
    let gradient = "n points: n operations; reads 8 * n bytes, writes 8 * n bytes";
    let found = cost(&grad(total).explain());
    assert!(found.len() == 1 && found[0].ends_with(gradient), "{found:?}");
    // Its lines are the kernel's own; those of another one are called so.
    assert!(found[0].starts_with("line") && !found[0].contains(" of `"), "{found:?}");
    let steps = cost(&called.explain());
    assert!(
        steps.iter().any(|step| step.starts_with("line 48, lines 42, 43, 44 of `stepped`: ")),
        "{steps:?}"
    );
}

#[test]
fn every_stage() {
    let text = grad(total).explain();
    for stage in ["== bulk ==", "== loops ==", "== rust =="] {
        assert!(text.contains(stage), "{stage} in {text}");
    }
}

#[kernel]
fn slow(x: [f64; n], s: f64) -> [f64; n] {
    lgamma(s) * x.digamma().exp()
}

/// One for each element; of a number it does not matter.
#[test]
fn which_functions_have_no_vectors() {
    let line =
        include_str!("explain.rs").lines().position(|l| l.contains("x.digamma()")).map_or(0, |at| at + 1);
    let note = "`digamma` has no vectors on CPUs: it is computed for one element after the other";
    assert_eq!(section(&slow.explain(), "notes"), [format!("line {line}: {note}")]);
}
