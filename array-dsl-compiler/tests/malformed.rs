//! What is no kernel at all: the compiler neither panics nor stays silent about it, whatever stands where. Every construct is
//! mutilated at each of its places, and there are the cases that were met.

use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Callees;
use array_dsl_compiler::kernel::Kernel;
use array_dsl_compiler::testing::constructs::CONSTRUCTS;
use array_dsl_compiler::{internal, pipeline};
use proc_macro2::{Group, TokenStream, TokenTree};

/// What is put where something else is expected.
const MISPLACED: &[&str] = &[
    "{}",
    "()",
    "|i| i",
    "[]",
    "(x,)",
    "(if true {})",
    "{ x = 1; }",
    "(|a| a, 1.0)",
    "sum",
    "(-9223372036854775808)",
    "(1, (2, 3))",
    "{ while false {} }",
    "grad(sum)",
    "zeros((0, 3))",
    "9223372036854775807",
    "f64::NAN",
    "{ let z = {}; z }",
    "4294967296 * 4294967296",
    "count",
    "{ for i in 0..1 {} }",
    "((), ())",
    "\"text\"",
    "[[1.0]; 0]",
    "_",
    "",
];

/// Every text that comes of putting `by` in the place of one token, or group, of another.
fn mutilated(tokens: &TokenStream, by: &TokenStream) -> Vec<TokenStream> {
    let all: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let with = |k: usize, new: TokenStream| -> TokenStream {
        let before = all[..k].iter().cloned().collect::<TokenStream>();
        let after = all[k + 1..].iter().cloned().collect::<TokenStream>();
        [before, new, after].into_iter().collect()
    };
    let mut out = Vec::new();
    for (k, t) in all.iter().enumerate() {
        out.push(with(k, by.clone()));
        if let TokenTree::Group(g) = t {
            let inside = mutilated(&g.stream(), by).into_iter();
            out.extend(inside.map(|s| with(k, TokenTree::from(Group::new(g.delimiter(), s)).into())));
        }
    }
    out
}

/// Whether a function compiles.
///
/// # Errors
/// What the front end does wrong with it.
fn compiles(item: &syn::ItemFn) -> Result<bool, String> {
    let (made, errors) = internal::caught(|| {
        let mut diagnostics = Diagnostics::default();
        let kernel = Kernel::read(&TokenStream::new(), item.clone(), &mut diagnostics);
        let made = pipeline::front(&kernel.ast, None, &Callees::new(), &mut diagnostics).is_some();
        (made, !diagnostics.is_empty())
    })?;
    if made || errors { Ok(!errors) } else { Err("no reason for an error".into()) }
}

/// What the front end does wrong with a function.
fn fault(item: &syn::ItemFn) -> Option<String> {
    compiles(item).err()
}

fn faults(sources: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut tried = 0;
    for source in sources {
        let Ok(item) = syn::parse_str::<syn::ItemFn>(&source) else { continue };
        tried += 1;
        if let Some(fault) = fault(&item)
            && !found.iter().any(|f| f.starts_with(&fault))
        {
            found.push(format!("{fault}\n    {source}"));
        }
    }
    assert!(tried > 0);
    found
}

#[test]
fn misplaced_parts_are_errors_with_a_reason() {
    let mut wrong = Vec::new();
    for (n, construct) in CONSTRUCTS.iter().enumerate() {
        let tokens: TokenStream = construct.source("f64", "i64").parse().unwrap();
        // Each place with some of them; over all constructs every one in every role.
        let chosen = MISPLACED.iter().enumerate().filter(|(k, _)| (k + n) % 5 == 0);
        for (_, by) in chosen {
            let by: TokenStream = by.parse().unwrap();
            wrong.extend(faults(mutilated(&tokens, &by).into_iter().map(|t| t.to_string())));
        }
    }
    wrong.sort();
    wrong.dedup_by_key(|w| w.split('\n').next().unwrap_or_default().to_string());
    assert!(wrong.is_empty(), "{} kinds:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn cases_that_were_met() {
    let refused = [
        "{ let mut s = 0.0; for i in 0..n { s += {}; } s }",
        "{ let mut s = 0.0; for i in 0..n { s += if x[i] > 0.0 { }; } s }",
        "if s > 0.0 && {} { s } else { 0.0 }",
        "if s > 0.0 || |i| i { s } else { 0.0 }",
        "if 2 == 0 { count = 1 }",
        "{ sum = s; s }",
        "map(|a| a, ())",
        "map((), x)",
        "reduce(|a, b| a, (), ())",
        "hist(add, (), 3, at, ())",
        "reduce_by_index((), add, at, ())",
        "scan(add, [], x)",
        "dim(x, at[0])",
        "zip((), ())",
        "stop_gradient(sum)",
        "grad(grad)(s)",
        "vjp(|a| ())(s)",
        "build((), |i| 1.0)",
        "build(0, ||1.0)",
        "sort(())",
        "filter(|a| (), x)",
        "einsum!(\"i->\", ())",
        "x[()]",
        "x[..{}]",
        "match () { _ => s }",
        "match s { }",
        "{ for a in () {} s }",
        "{ while {} {} s }",
        "len(())",
        "rotate((), 1)",
        "step_by(sum, 1)",
        "(() + ())",
        "-()",
        "() as f64",
        "concat((), ())",
        "reshape((), 3)",
        "select(true, (), ())",
        "zeros(4294967296 * 4294967296 * 2)[0]",
        "sum(flatten(zeros((4294967296, 4294967296))))",
        "reduce(|a, b| matmul(a, b), zeros((0, 0)), zeros((n, 0, 0)))[0][0]",
    ];
    let may_compile = [
        // Nothing is a value like any other, as long as nobody needs more.
        "{ let () = (); s }",
        "{ let mut t = (); t = (); s }",
        "{ let mut t = ((), s); t.0 = (); t.1 }",
        // That the number of trips does not fit is an error when it runs.
        "{ let mut t = 0.0; for i in (-9223372036854775808)..9223372036854775807 { t += 1.0; } t }",
    ];
    let mut wrong = Vec::new();
    for (body, may) in refused.map(|b| (b, false)).into_iter().chain(may_compile.map(|b| (b, true))) {
        let source = format!("fn f(x: [f64; n], at: [i64; n], s: f64) -> f64 {{ {body} }}");
        let item = syn::parse_str::<syn::ItemFn>(&source).unwrap_or_else(|e| panic!("{e}: {body}"));
        match compiles(&item) {
            Ok(true) if !may => wrong.push(format!("it compiles: {body}")),
            Ok(_) => {}
            Err(fault) => wrong.push(format!("{fault}\n    {body}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What rustc gives to macros, less what it has used itself.
const STACK: usize = 6 << 20;

/// Depth is an error where it is too much for the stack.
#[test]
fn deep_nesting_is_compiled_or_refused() {
    let wrap = |n: usize, open: &str, middle: &str, close: &str| {
        format!("fn f(x: f64) -> f64 {{ {}{middle}{} }}", open.repeat(n), close.repeat(n))
    };
    for n in [20, 60, 150, 250, 300, 3000] {
        let arms: String = (0..n).map(|k| format!("{k} => {k}.0,")).collect();
        let mut sources = vec![wrap(n, "", "x", " + x"), wrap(n, "", "x", ".sin()")];
        // The rest is beyond what `syn` reads, and not by much less than what rustc does.
        if n < 3000 {
            sources.extend([
                wrap(n, "(", "x", ")"),
                wrap(n, "{ ", "x", " }"),
                wrap(n, "-", "x", ""),
                wrap(n, "sin(", "x", ")"),
                wrap(n, "if x > 1.0 { ", "x", " } else { x }"),
                wrap(n, "if x > 1.0 { x } else { ", "x", " }"),
                wrap(n, "sum([", "x", "])"),
                wrap(n, "(|x| ", "x", ")(x)"),
                wrap(n, "build(2, |i| ", "x", ")[0]"),
                format!("fn f(x: f64) -> f64 {{ match x as i64 {{ {arms} _ => x }} }}"),
            ]);
        }
        for source in sources {
            let compiled = move || {
                let item: syn::ItemFn = syn::parse_str(&source).unwrap();
                assert_eq!(fault(&item), None, "{n}: {}", &source[..60.min(source.len())]);
            };
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn(compiled).unwrap().join().unwrap();
        }
    }
}
