//! What nobody calls costs its user nothing after type checking: each function of generated code is one that rustc compiles where it
//! is used. In a library it would compile the others as well, with all that they call.

use array_dsl_compiler::testing::constructs::CONSTRUCTS;
use array_dsl_compiler::testing::kernels;
use proc_macro2::{TokenStream, TokenTree};

/// The functions that a library has code for, whether or not they are called.
fn compiled(tokens: TokenStream, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|t: &TokenTree| t.to_string() == word);
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(g) = token {
            compiled(g.stream(), found);
        }
        let Some(TokenTree::Ident(name)) = tokens.get(at + 1) else { continue };
        if !is(at, "fn") {
            continue;
        }
        // Its attributes stand between the end of what comes before and itself.
        let attributes = tokens[..at].iter().rev().take_while(|t| match t {
            TokenTree::Group(g) => g.delimiter() != proc_macro2::Delimiter::Brace,
            TokenTree::Punct(p) => p.as_char() != ';',
            _ => true,
        });
        let inline = |t: &TokenTree| matches!(&*t.to_string(), "[inline]" | "[inline (always)]");
        let generic = is(at + 2, "<") && !is(at + 3, "'");
        if !generic && !attributes.into_iter().any(inline) {
            found.push(name.to_string());
        }
    }
}

#[test]
fn functions_are_compiled_where_they_are_used() {
    let (mut functions, mut long) = (0, 0);
    for c in CONSTRUCTS {
        let source = c.source("f64", "i64");
        let file = syn::parse_file(&source).expect("a file");
        let kernel = kernels::last(&file).unwrap_or_else(|e| panic!("{}\n{source}", e.join("\n")));
        let code = kernel.expanded();
        let mut found = Vec::new();
        compiled(code.clone(), &mut found);
        assert_eq!(found, Vec::<String>::new(), "{source}");
        let text = code.to_string();
        functions += text.matches("fn ").count();
        long += text.matches("_long <").count();
    }
    assert!(functions > 1000 && long > 10, "{functions} functions have been seen, {long} for long angles");
}

#[test]
fn others_are_found() {
    let mut found = Vec::new();
    let code = "#[inline] fn a() {} mod m { fn b<'a>(x: &'a T) { fn c<T>() {} } } #[cold] #[inline(never)] pub fn d() {}
        #[cold] #[inline(always)] fn e() {}";
    compiled(code.parse().expect("tokens"), &mut found);
    assert_eq!(found, ["b", "d"]);
}
