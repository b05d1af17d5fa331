//! `einsum!` against loops over all letters, through every stage and both modes of differentiation.

use array_dsl_compiler::core::{self};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::loops::print::{Counts, count, print};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::compare::{Checked, derivatives, values};
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Value, approx_eq};

/// `[[f64; j]; i]` for `ij`.
fn ty(elem: &str, term: &str) -> String {
    term.chars().rev().fold(elem.to_string(), |t, c| format!("[{t}; {c}]"))
}

/// A kernel of an `einsum!` whose letters are the names of the sizes.
fn of_names(elem: &str, subscripts: &str) -> String {
    let (terms, output) = subscripts.split_once("->").expect("there is a result");
    let names: Vec<String> = (0..terms.split(',').count()).map(|i| format!("x{i}")).collect();
    let params: Vec<String> =
        terms.split(',').zip(&names).map(|(t, x)| format!("{x}: {}", ty(elem, t))).collect();
    let operands = names.join(", ");
    let params = params.join(", ");
    format!("fn f({params}) -> {} {{ einsum!(\"{subscripts}\", {operands}) }}", ty(elem, output))
}

/// What the subscripts mean, by a loop over every letter.
fn naive(subscripts: &str, operands: &[Value]) -> (Vec<usize>, Vec<f64>) {
    let (terms, output) = subscripts.split_once("->").expect("there is a result");
    let terms: Vec<Vec<char>> = terms.split(',').map(|t| t.chars().collect()).collect();
    let mut letters: Vec<(char, usize)> = Vec::new();
    for (t, x) in terms.iter().zip(operands) {
        for (c, n) in t.iter().zip(x.shape()) {
            if !letters.iter().any(|(l, _)| l == c) {
                letters.push((*c, *n));
            }
        }
    }
    let size = |c: &char| letters.iter().find(|(l, _)| l == c).expect("a letter of an operand").1;
    let output: Vec<char> = output.chars().collect();
    let shape: Vec<usize> = output.iter().map(size).collect();
    let mut sums = vec![0.0; shape.iter().product()];
    let points: usize = letters.iter().map(|l| l.1).product();
    let data: Vec<Vec<f64>> = operands.iter().map(Value::to_f64).collect();
    for point in 0..points {
        let mut rest = point;
        let mut at = Vec::new();
        for (c, n) in &letters {
            at.push((*c, rest % n));
            rest /= n;
        }
        let place = |term: &[char]| {
            term.iter().fold(0, |p, c| p * size(c) + at.iter().find(|(l, _)| l == c).expect("a letter").1)
        };
        let product: f64 = terms.iter().zip(&data).map(|(t, x)| x[place(t)]).product();
        sums[place(&output)] += product;
    }
    (shape, sums)
}

const SUBSCRIPTS: [&str; 44] = [
    // One operand: the same, transposed, sums, diagonals.
    "->",
    "i->i",
    "ij->ij",
    "ij->ji",
    "ijk->kij",
    "i->",
    "ij->i",
    "ij->j",
    "ij->",
    "ijk->j",
    "ii->i",
    "ii->",
    "iij->ij",
    "iij->ji",
    "iij->j",
    "iii->i",
    "ijij->ij",
    "ijij->",
    // Two: matrices, vectors, batches, outer products, factors.
    "ij,jk->ik",
    "ji,kj->ki",
    "ij,ij->",
    "i,i->",
    "i,i->i",
    "i,j->ij",
    "i,j->ji",
    "ij,j->i",
    "ij,i->j",
    "bij,bjk->bik",
    "bij,bkj->ikb",
    "ijk,kjl->il",
    ",ij->ij",
    "i,j->",
    "ij,kl->",
    "ij,jj->i",
    "iij,jk->ik",
    // More.
    "i,ij,j->",
    "ij,jk,kl->il",
    "i,i,i->",
    "i,j,k->kij",
    "ij,ik,i->jk",
    "ab,bc,cd,da->",
    "ij,kl,jk->il",
    "i,i,i,i->i",
    "ij,ik,il->jkl",
];

#[test]
fn means_the_loop_over_all_letters() {
    for subscripts in SUBSCRIPTS {
        for elem in ["f64", "i64"] {
            let source = of_names(elem, subscripts);
            let f = kernel(&source);
            let text = core::print::print(&f);
            let again = core::parse::parse(&text).expect("printed Core can be read");
            assert_eq!(core::print::print(&again), text);
            for seed in 0..4 {
                let sizes = [(2, 4), (0, 2), (1, 1), (3, 5)][seed as usize];
                let ranges = Ranges { sizes, integers: (-3, 3), floats: (-1.5, 1.5) };
                let args = arguments_within(&f, seed, &ranges);
                let (shape, expected) = naive(subscripts, &args);
                let found = meaning::run(&f, &args).unwrap_or_else(|e| panic!("{e}\n{source}"));
                let elem = if elem == "f64" { Elem::F64 } else { Elem::I64 };
                let expected = match elem {
                    Elem::F64 => Value::from_f64(elem, shape, &expected),
                    _ => {
                        Value::from_i64(elem, shape, &expected.iter().map(|x| *x as i64).collect::<Vec<_>>())
                    }
                };
                let expected = expected.expect("as many as there are places");
                approx_eq(&found[0], &expected, 1e-12, 1e-12).unwrap_or_else(|m| panic!("{m}\n{source}"));
                assert_eq!(values(&f, &args), Ok(Checked::Agree), "{source}");
            }
        }
    }
}

#[test]
fn has_derivatives() {
    for subscripts in SUBSCRIPTS {
        let source = of_names("f64", subscripts);
        let f = kernel(&source);
        let p = pipeline::middle(&f).expect("its derivatives exist");
        for seed in 0..2 {
            let sizes = [(2, 3), (0, 2)][seed as usize];
            let args = arguments_within(&f, seed, &Ranges { sizes, integers: (0, 1), floats: (-1.5, 1.5) });
            let done = derivatives(&p, &args, seed, 2, false).unwrap_or_else(|e| panic!("{e}\n{source}"));
            assert!(done.identities > 0, "{source}");
        }
    }
}

fn value(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("a value")
}

fn run(source: &str, args: &[Value]) -> Vec<Value> {
    let f = kernel(source);
    assert_eq!(values(&f, args), Ok(Checked::Agree), "{source}");
    meaning::run(&f, args).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

#[test]
fn the_result_of_implicit_subscripts_is_alphabetical() {
    let a = value(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let transposed = value(&[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let f = "fn f(a: [[f64; m]; n]) -> [[f64; n]; m] { einsum!(\"ba\", a) }";
    assert_eq!(run(f, std::slice::from_ref(&a)), [transposed]);
    let f = "fn f(a: [[f64; m]; n]) -> [[f64; n]; n] { einsum!(\" i j , k j \", a, a) }";
    assert_eq!(run(f, std::slice::from_ref(&a)), [value(&[2, 2], &[14.0, 32.0, 32.0, 77.0])]);
    let f = "fn f(a: [[f64; n]; n]) -> f64 { einsum!(\"ii\", a) }";
    assert_eq!(run(f, &[value(&[2, 2], &[1.0, 2.0, 3.0, 4.0])]), [value(&[], &[5.0])]);
}

#[test]
fn stands_wherever_an_expression_does() {
    let args = [value(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), value(&[2], &[5.0, 6.0])];
    let expected = [value(&[], &[17.0 + 39.0])];
    for f in [
        "fn f(a: [[f64; n]; n], x: [f64; n]) -> f64 { einsum!(\"ij,j->i\", a, x).sum() }",
        "fn f(a: [[f64; n]; n], x: [f64; n]) -> f64 { sum(map(|r| einsum!(\"j,j\", r, x), a)) }",
        "fn f(a: [[f64; n]; n], x: [f64; n]) -> f64 {
            let mut s = 0.0;
            for i in 0..n {
                s += einsum!(\"j,j\", a[i], x);
            }
            s
        }",
        "fn f(a: [[f64; n]; n], x: [f64; n]) -> f64 {
            let mut y = zeros(n);
            for i in 0..n {
                y[i] = einsum!(\"j,j\", a[i], x);
            }
            y.sum()
        }",
        "fn f(a: [[f64; n]; n], x: [f64; n]) -> f64 {
            let form = |v| einsum!(\"ij,j->i\", a, v);
            einsum!(\"i->\", form(x))
        }",
        "fn f(a: [[f64; n]; n], x: [f64; n]) -> f64 {
            // With a literal, and with what is computed.
            einsum!(\",ij,j->\", 2.0, a * 0.5, x + 0.0)
        }",
    ] {
        assert_eq!(run(f, &args), expected, "{f}");
    }
}

#[test]
fn sizes_known_only_when_running_are_checked() {
    let f = kernel("fn f(a: [[f64; _]; n], x: [f64; _]) -> [f64; n] { einsum!(\"ij,j->i\", a, x) }");
    let a = value(&[1, 2], &[3.0, 4.0]);
    let fits = meaning::run(&f, &[a.clone(), value(&[2], &[1.0, 10.0])]);
    assert_eq!(fits.expect("the sizes agree"), [value(&[1], &[43.0])]);
    assert!(meaning::run(&f, &[a.clone(), value(&[3], &[1.0; 3])]).is_err());
    assert_eq!(values(&f, &[a, value(&[3], &[1.0; 3])]), Ok(Checked::Fault));
    // A diagonal needs a square.
    let f = kernel("fn f(a: [[f64; _]; _]) -> f64 { einsum!(\"ii\", a) }");
    assert!(meaning::run(&f, &[value(&[1, 2], &[3.0, 4.0])]).is_err());
}

#[test]
fn wrong_operands() {
    for (body, start) in [
        (
            "einsum!(\"ij->i\", x)",
            "[AD0006] `einsum!`: `ij` are the letters of 2 dimensions, found [f64; n], which has 1",
        ),
        (
            "einsum!(\"i->i\", 2.0)",
            "[AD0006] `einsum!`: `i` are the letters of 1 dimension, found the scalar",
        ),
        (
            "einsum!(\"i,i->i\", x, y)",
            "[AD0008] `einsum!`, letter `i`: the sizes `m` and `n` are used as one",
        ),
        (
            "einsum!(\"i,i->i\", x, [1.0, 2.0]) + einsum!(\"i,i->i\", [1.0], [1.0, 2.0])",
            "[AD0007] `einsum!`, letter `i`: expected size 1, found 2",
        ),
        ("einsum!(\"i,i->i\", x, k)", "[AD0005] `einsum!`: expected f64, found i64"),
        ("einsum!(\"i->\", x > 0.0)", "[AD0005] `einsum!` expects numbers, found bool"),
        (
            "einsum!(\"i->\", (x, x))",
            "[AD0014] `einsum!` expects scalars or arrays, found ([f64; n], [f64; n])",
        ),
        (
            "einsum!(\"i,i,i,i,i,i,i,i,i,i,i,i,i->\", x, x, x, x, x, x, x, x, x, x, x, x, x)",
            "[AD0019] `einsum!` of 13 operands: there may be 12",
        ),
    ] {
        let source = format!("fn f(x: [f64; n], y: [f64; m], k: [i64; n]) -> [f64; n] {{ {body} }}");
        let found = compile(&source).expect_err("it is wrong");
        assert!(found[0].starts_with(start), "{body}: {found:?}");
    }
}

fn counts(source: &str, what: Option<Derivative>) -> (Counts, String) {
    let p = pipeline::middle(&kernel(source)).expect("its derivatives exist");
    let p = what.map_or_else(|| p.clone(), |d| pipeline::derivative(&p, d).expect("it is differentiable"));
    let l = pipeline::back(&p, Target::Cpu).expect("it verifies");
    (count(&l), print(&l))
}

#[test]
fn products_of_matrices_are_contractions() {
    for subscripts in [
        "ij,jk->ik",
        "ij,jk->ki",
        "ji,jk->ik",
        "ij,kj->ik",
        "ji,kj->ki",
        "bij,bjk->bik",
        "bij,bkj->ikb",
        "ijk,kjl->il",
        "ijk,jkl->li",
        "aij,bjk->abik",
        "ij,kj->ki",
    ] {
        let source = of_names("f64", subscripts);
        let (c, text) = counts(&source, None);
        assert_eq!(c, Counts { contracts: 1, ..Counts::default() }, "{subscripts}\n{text}");
        let (c, text) = counts(&source, Some(Derivative::Vjp));
        assert_eq!(c, Counts { contracts: 3, ..Counts::default() }, "{subscripts}\n{text}");
    }
}

#[test]
fn several_operands_are_contracted_two_at_a_time() {
    let (c, text) = counts(&of_names("f64", "ij,jk,kl->il"), None);
    assert_eq!((c.contracts, c.trees), (2, 0), "{text}");
    // Weights go into a factor, in passing or as an array of its size.
    let (c, text) = counts(&of_names("f64", "ij,ik,i->jk"), None);
    assert_eq!((c.contracts, c.trees), (1, 1), "{text}");
    // Sums that only one operand has come before the product.
    let (c, text) = counts(&of_names("f64", "ij,jk,kl->i"), None);
    assert_eq!(c.contracts, 0, "{text}");
}

#[test]
fn a_form_needs_no_array_of_its_matrix() {
    for what in [None, Some(Derivative::Vjp), Some(Derivative::Jvp)] {
        let source = of_names("f64", "i,ij,j->");
        let p = pipeline::middle(&kernel(&source)).expect("its derivatives exist");
        let p =
            what.map_or_else(|| p.clone(), |d| pipeline::derivative(&p, d).expect("it is differentiable"));
        let l = pipeline::back(&p, Target::Cpu).expect("it verifies");
        let results: Vec<_> = p.result.leaves();
        let matrices = p.stms.iter().flat_map(|s| s.results());
        let matrices = matrices.filter(|a| p.array(*a).dims.len() > 1 && !results.contains(&a)).count();
        assert_eq!(matrices, 0, "{}", print(&l));
    }
}
