//! What rank lifting inserts is what one would write: a program that leaves its maps to the compiler, and the same one with every
//! map written out, give the same code, for the CPU and the GPU, and so do their gradients.

use std::collections::HashMap;

use array_dsl_compiler::bulk::Program;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::emit::{cpu, wgsl};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::program;
use proptest::prelude::*;

/// The texts of a program for the CPU and for the GPU. What is not named by the user is called after what made it, a `map` for
/// example: errors of the running program name arrays.
fn emitted(p: &Program) -> String {
    let mut p = p.clone();
    p.arrays.iter_mut().for_each(|a| a.name = "array".into());
    let [cpu, gpu] = [Target::Cpu, Target::Gpu].map(|t| pipeline::back(&p, t).expect("verified"));
    let code = cpu::emit(&cpu);
    let on_gpu = wgsl::emit(&gpu).unwrap_or_else(|e| panic!("{e}"));
    let shaders: String = on_gpu.shaders.into_iter().map(|s| s.wgsl).collect();
    renumbered(&format!("{}{}{shaders}", code.items, code.body))
}

/// A text in which all numbered names (`a7`, `v12`, `lanes3`) are counted in the order of their first mention.
fn renumbered(text: &str) -> String {
    let mut known: HashMap<&str, String> = HashMap::new();
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let words =
        text.split_inclusive(|c| !part(c)).map(|w| w.split_at(w.trim_end_matches(|c| !part(c)).len()));
    let mut out = String::new();
    for (word, rest) in words {
        // A thread with several points has names with the number of the point.
        let (word, copy) = word.split_at(word.find("_at_").unwrap_or(word.len()));
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let count = known.len();
        out += if letters.len() == word.len()
            || letters.is_empty()
            || letters.contains(|c: char| c.is_ascii_digit())
        {
            word
        } else {
            known.entry(word).or_insert_with(|| format!("{letters}{count}"))
        };
        out += copy;
        out += rest;
    }
    out
}

/// Whether two kernels are one to everything after the front end.
fn same(lifted: &str, explicit: &str) {
    let (a, b) = (program(lifted), program(explicit));
    let agree = |a: String, b: String| {
        let differ = a.lines().zip(b.lines()).find(|(a, b)| a != b);
        assert!(a == b, "{differ:#?}\n{lifted}\n{explicit}");
    };
    agree(emitted(&a), emitted(&b));
    let [a, b] = [&a, &b].map(|p| {
        let what = if Derivative::Grad.exists(p) { Derivative::Grad } else { Derivative::Vjp };
        emitted(&pipeline::derivative(p, what).expect("a derivative"))
    });
    agree(a, b);
}

#[test]
fn programs_with_their_maps_written() {
    for (lifted, explicit) in [
        (
            "fn f(a: [[f64; m]; n], b: [f64; m]) -> [[f64; m]; n] { a + b }",
            "fn f(a: [[f64; m]; n], b: [f64; m]) -> [[f64; m]; n] { map(|r| map(|x, y| x + y, r, b), a) }",
        ),
        (
            "fn f(a: [[f64; m]; n]) -> [f64; n] { sum(a.exp()).ln() }",
            "fn f(a: [[f64; m]; n]) -> [f64; n] { map(|r| sum(map(|x| x.exp(), r)).ln(), a) }",
        ),
        (
            "fn cell(x: f64, y: f64) -> f64 { x.sin() * y } fn f(a: [f64; n], y: f64) -> f64 { sum(cell(a, y)) }",
            "fn cell(x: f64, y: f64) -> f64 { x.sin() * y } fn f(a: [f64; n], y: f64) -> f64 { sum(map(|x| cell(x, y), a)) }",
        ),
        (
            "fn f(w: [[f64; m]; k], x: [[f64; m]; n]) -> [[f64; k]; n] { map(|r| dot(w, r), x) }",
            "fn f(w: [[f64; m]; k], x: [[f64; m]; n]) -> [[f64; k]; n] { map(|r| map(|v| dot(v, r), w), x) }",
        ),
        (
            "fn f(a: [[f64; m]; n], at: [[i64; 3]; n]) -> [[f64; 3]; n] { build(n, |i| gather(a[i], at[i])) }",
            "fn f(a: [[f64; m]; n], at: [[i64; 3]; n]) -> [[f64; 3]; n] { map(|r, p| map(|k| r[k], p), a, at) }",
        ),
        (
            "fn f(a: [[f64; m]; n]) -> [[f64; m]; n] { cumsum(a) }",
            "fn f(a: [[f64; m]; n]) -> [[f64; m]; n] { map(|r| cumsum(r), a) }",
        ),
    ] {
        same(lifted, explicit);
    }
}

/// An expression with the number of its dimensions.
#[derive(Clone, Debug)]
enum Term {
    /// `x`, `u` or `a`: of rank 0, 1, 2.
    Variable(usize),
    /// A method of scalars.
    Method(&'static str, Box<Term>),
    /// An operator, or a function of two scalars.
    Binary(&'static str, Box<Term>, Box<Term>),
    /// Along the last dimension.
    Sum(Box<Term>),
}

impl Term {
    fn rank(&self) -> usize {
        match self {
            Term::Variable(rank) => *rank,
            Term::Method(_, t) => t.rank(),
            Term::Binary(_, a, b) => a.rank().max(b.rank()),
            Term::Sum(t) => t.rank() - 1,
        }
    }

    /// As written with lifting.
    fn lifted(&self) -> String {
        match self {
            Term::Variable(rank) => ["x", "u", "a"][*rank].into(),
            Term::Method(name, t) => format!("{}.{name}()", t.lifted()),
            Term::Binary(name, a, b) => applied(name, &a.lifted(), &b.lifted()),
            Term::Sum(t) => format!("sum({})", t.lifted()),
        }
    }

    /// As written without: every scalar function is applied to scalars, every `sum` to a vector.
    fn explicit(&self) -> String {
        match self {
            Term::Variable(_) => self.lifted(),
            Term::Method(name, t) => mapped(&t.explicit(), t.rank(), &|x| format!("{x}.{name}()")),
            // Operands are computed before the loops over them, whatever their ranks.
            Term::Binary(name, a, b) => {
                let both = mapped_both(name, ("l", a.rank()), ("r", b.rank()), 0);
                format!("{{ let (l, r) = ({}, {}); {both} }}", a.explicit(), b.explicit())
            }
            Term::Sum(t) => mapped(&t.explicit(), t.rank() - 1, &|x| format!("sum({x})")),
        }
    }
}

fn applied(name: &str, a: &str, b: &str) -> String {
    if name.len() == 1 { format!("({a} {name} {b})") } else { format!("{name}({a}, {b})") }
}

/// A function under so many maps.
fn mapped(array: &str, maps: usize, f: &dyn Fn(&str) -> String) -> String {
    if maps == 0 {
        f(array)
    } else {
        format!("map(|p{maps}| {}, {array})", mapped(&format!("p{maps}"), maps - 1, f))
    }
}

/// A function of two scalars; the array of the lower rank is the same for all rows of the other one.
fn mapped_both(name: &str, a: (&str, usize), b: (&str, usize), depth: usize) -> String {
    let (p, q) = (format!("p{depth}"), format!("q{depth}"));
    let inner = |a: (&str, usize), b: (&str, usize)| mapped_both(name, a, b, depth + 1);
    match (a.1, b.1) {
        (0, 0) => applied(name, a.0, b.0),
        (r, s) if r > s => format!("map(|{p}| {}, {})", inner((&p, r - 1), b), a.0),
        (r, s) if r < s => format!("map(|{q}| {}, {})", inner(a, (&q, s - 1)), b.0),
        (r, s) => format!("map(|{p}, {q}| {}, {}, {})", inner((&p, r - 1), (&q, s - 1)), a.0, b.0),
    }
}

fn terms() -> impl Strategy<Value = Term> {
    (0usize..3).prop_map(Term::Variable).prop_recursive(4, 10, 2, |inner| {
        let method = prop_oneof![Just("sin"), Just("exp"), Just("tanh")];
        let binary = prop_oneof![Just("+"), Just("*"), Just("-"), Just("max"), Just("scaled")];
        prop_oneof![
            1 => (method, inner.clone()).prop_map(|(m, t)| Term::Method(m, Box::new(t))),
            3 => (binary, inner.clone(), inner.clone())
                .prop_map(|(f, a, b)| Term::Binary(f, Box::new(a), Box::new(b))),
            1 => inner.prop_map(|t| if t.rank() > 0 { Term::Sum(Box::new(t)) } else { t }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_with_their_maps_written(t in terms()) {
        let result = ["f64", "[f64; n]", "[[f64; n]; n]"][t.rank()];
        let head = format!(
            "fn scaled(x: f64, y: f64) -> f64 {{ x * (y + 1.0) }} fn f(x: f64, u: [f64; n], a: [[f64; n]; n]) -> {result}"
        );
        same(&format!("{head} {{ {} }}", t.lifted()), &format!("{head} {{ {} }}", t.explicit()));
    }
}
