//! Names that a kernel binds and never uses: rustc's lints speak of them, if it is shown them (`emit::host`).
//!
//! Whether a name is used is asked of the tokens: one that stands in the function once, where it is bound, is not. So of a name that
//! is bound twice nothing is said; what is said is right.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use rustc_hash::FxHashMap;

use super::ast::{self, Arm, Pattern};
use super::walk::Visitor;

/// What is bound and never used, at the user's tokens.
#[derive(Default)]
pub struct Unused {
    /// Parameters, and parts of them.
    pub parameters: Vec<Ident>,
    /// Variables of the body.
    pub locals: Vec<Ident>,
}

/// What a function binds and never uses; `item` has the tokens that `f` was read from.
pub fn unused(item: &syn::ItemFn, f: &ast::Function) -> Unused {
    let mut times = FxHashMap::default();
    count(item.sig.inputs.to_token_stream(), &mut times);
    count(item.sig.output.to_token_stream(), &mut times);
    count(item.block.to_token_stream(), &mut times);
    let alone = |bound: Bound| {
        // A raw identifier has another text among the tokens, and so is never found.
        let names =
            bound.0.into_iter().filter(|n| !n.name.starts_with('_') && times.get(&*n.name) == Some(&1));
        names.map(|n| Ident::new(&n.name, n.span)).collect()
    };
    let (mut parameters, mut locals) = (Bound::default(), Bound::default());
    f.params.iter().for_each(|p| parameters.bind(&p.pattern));
    locals.expr(&f.body);
    Unused { parameters: alone(parameters), locals: alone(locals) }
}

/// How often each identifier stands in the tokens.
fn count(tokens: TokenStream, times: &mut FxHashMap<String, usize>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => *times.entry(name.to_string()).or_default() += 1,
            TokenTree::Group(group) => count(group.stream(), times),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The names that patterns bind.
#[derive(Default)]
struct Bound(Vec<ast::Ident>);

impl Visitor for Bound {
    fn bind(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Name(name) | Pattern::Mutable(name) => self.0.push(name.clone()),
            Pattern::Wildcard(_) => {}
            Pattern::Tuple(parts, _) => parts.iter().for_each(|p| self.bind(p)),
            // A field's name alone binds it too: rustc would say how to leave it out of the pattern, which is not there to be shown.
            Pattern::Record(r) => {
                let renamed = r.fields.iter().filter(|(f, p)| p.name().is_none_or(|n| n.name != f.name));
                renamed.for_each(|(_, p)| self.bind(p));
            }
        }
    }

    fn walk_arm(&mut self, arm: &Arm) {
        self.0.extend(arm.binding.clone());
        self.expr(&arm.body);
    }
}

#[cfg(test)]
mod tests {
    use super::unused;
    use crate::syntax::testing::parsed;

    fn found(source: &str) -> String {
        let (f, diagnostics) = parsed(source);
        assert!(diagnostics.is_empty(), "{source}: {:?}", diagnostics.list());
        let unused = unused(&syn::parse_str(source).expect("a function"), &f);
        let list = |names: Vec<proc_macro2::Ident>| {
            names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        format!("{} | {}", list(unused.parameters), list(unused.locals))
    }

    #[test]
    fn names_that_stand_where_they_are_bound_alone() {
        for (source, names) in [
            ("fn f(x: [f64; n], k: usize, y: f64) -> [f64; k] { let a = x; let b = 1; 2.0 }", "y | a b"),
            ("fn f((x, y): (f64, f64), _z: f64) -> f64 { map(|a, b| a, y) }", "x | b"),
            (
                "fn f(x: f64) -> f64 { let P { a, b: c } = p(x); for (i, v) in x { } match x { 0 => 1, other => 2 } }",
                " | c i v other",
            ),
            ("fn f(x: f64) -> f64 { let mut s = x; s = 2.0; x }", " | "),
        ] {
            assert_eq!(found(source), names, "{source}");
        }
    }
}
