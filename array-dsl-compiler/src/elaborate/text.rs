//! The texts of the built-in functions that are written in the language itself, each parsed once.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::diagnostics::Diagnostics;
use crate::syntax::ast;

thread_local! {
    static PARSED: RefCell<FxHashMap<&'static str, Option<ast::Expr>>> = RefCell::default();
}

/// The text of a function of this name.
pub(super) fn parsed(name: &'static str, text: &str) -> Option<ast::Expr> {
    PARSED.with_borrow_mut(|p| p.entry(name).or_insert_with(|| parse(text)).clone())
}

fn parse(text: &str) -> Option<ast::Expr> {
    let item: syn::ItemFn = syn::parse_str(&format!("fn text() -> f64 {{ {text} }}")).ok()?;
    let mut diagnostics = Diagnostics::default();
    let f = crate::syntax::parse_function(&item, &mut diagnostics);
    diagnostics.is_empty().then_some(f.body)
}
