//! Code grows with the text: twice the lines are at most about twice the code, derivatives included.

use array_dsl_compiler::bulk::{Program, interp::run_counted};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::growing::{GROWING, Growing, NESTED, SUMMED};
use array_dsl_compiler::testing::kernels::kernel;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::Value;

/// The characters of what a program becomes, with all derivatives that are not on request. Blanks do not count: texts for readers
/// are indented by how deep they are.
fn size(growing: &Growing, n: usize) -> usize {
    let kernel = growing.kernel(n).unwrap_or_else(|e| panic!("{}: {e}", growing.of));
    let code = kernel.expanded().to_string();
    assert!(!code.contains("compile_error"), "{}\n{code}", growing.of);
    code.chars().filter(|c| *c != ' ').count()
}

#[test]
fn code_grows_with_the_text() {
    let mut wrong = Vec::new();
    for growing in GROWING {
        let [few, more, many] = [16, 32, 64].map(|n| size(growing, n));
        // The growth per line, as what does not depend on their number stays out of it. What grows with the square of the lines
        // doubles it.
        let (first, second) = (more.saturating_sub(few) / 16, many.saturating_sub(more) / 32);
        println!("{:>9} {:>9} {:>9}  {}", few, more, many, growing.of);
        if 2 * second >= 3 * first + 2 * 300 {
            wrong.push(format!("{first} characters a line, and then {second}: {}", growing.of));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_others_grow_with_the_square_of_the_text() {
    for growing in [NESTED, SUMMED] {
        let [few, more, many] = [12, 24, 48].map(|n| size(&growing, n));
        println!("{few:>9} {more:>9} {many:>9}  {}", growing.of);
        // With lines twice as many it doubles per line; what grows faster than their square would double it again.
        let (first, second) = ((more - few) / 12, (many - more) / 24);
        assert!(second * 4 < first * 9, "{first} characters a line, and then {second}: {}", growing.of);
    }
}

#[test]
fn a_derivative_costs_a_constant_more_at_any_depth() {
    let number = |x: f64| Value::from_f64(Elem::F64, Vec::new(), &[x]).expect("a number");
    let ratio = |what: Derivative, n: usize| {
        let p = pipeline::middle(&kernel(&(NESTED.program)(n))).expect("it has derivatives");
        let work = |p: &Program, args: &[Value]| run_counted(p, args).expect("it runs").1.scalar_ops;
        let args = [number(0.9), number(0.3)];
        let d = pipeline::derivative(&p, what).expect("it has derivatives");
        let more = if what == Derivative::Hvp { [&args[..], &args[..]].concat() } else { args.to_vec() };
        work(&d, &more) as f64 / work(&p, &args) as f64
    };
    for what in [Derivative::Grad, Derivative::Hvp] {
        let [few, more, many] = [4, 16, 48].map(|n| ratio(what, n));
        println!("{}: {few:.1}, {more:.1}, {many:.1} times the value's operations", what.name());
        assert!(more < 1.2 * few && many < 1.2 * few, "{}: {few}, {more}, {many}", what.name());
    }
}
