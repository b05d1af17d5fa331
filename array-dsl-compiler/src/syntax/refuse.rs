//! What Rust has and kernels have not: for each form the error, and what to write instead.
//!
//! Kernels have no effects beyond their own variables. A refused form is not read further, so that one mistake gives one error; only
//! forms that wrap a single value (`e?`, `unsafe { e }`, `return e`) have that value checked as well.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::ast::ExprKind;
use super::parse::{Parser, text};

impl Parser<'_> {
    /// Records why an expression is not one of a kernel.
    pub(super) fn refuse(&mut self, e: &syn::Expr) -> ExprKind {
        let (span, message, help) = refusal(e);
        self.unsupported(span, message, help);
        match e {
            syn::Expr::Return(e) => e.expr.iter().for_each(|e| _ = self.expr(e)),
            syn::Expr::Try(e) => _ = self.expr(&e.expr),
            syn::Expr::Unsafe(e) => _ = self.block(&e.block),
            syn::Expr::Block(e) => _ = self.block(&e.block),
            _ => {}
        }
        ExprKind::Error
    }

    /// Refuses a macro, by its name.
    pub(super) fn refuse_macro(&mut self, macro_name: &syn::Ident) -> ExprKind {
        let name = macro_name.to_string();
        let (message, help) = match name.as_str() {
            "println" | "print" | "eprintln" | "eprint" | "dbg" | "write" | "writeln" => (
                format!("kernels are pure: `{name}!` is not supported"),
                "remove it; return the value, and print it on the host",
            ),
            "vec" => (
                "`vec!` is not supported in kernels".to_string(),
                "write `[a, b]`, or `[value; n]`, or `build(n, |i| ..)`",
            ),
            "panic" | "assert" | "assert_eq" | "assert_ne" | "debug_assert" | "debug_assert_eq"
            | "debug_assert_ne" | "todo" | "unimplemented" | "unreachable" => (
                format!("kernels are pure: `{name}!` is not supported"),
                "check the arguments on the host; equal sizes are checked by their names in the signature",
            ),
            "format" | "concat" | "stringify" | "include_str" => (
                format!("`{name}!` has no meaning in a kernel"),
                "kernels compute with numbers and booleans; keep text on the host",
            ),
            _ => (
                format!("the macro `{name}!` is not supported in kernels"),
                "kernels are pure, and are read before macros expand: write the expression out, or call a kernel",
            ),
        };
        self.unsupported(macro_name.span(), message, help);
        ExprKind::Error
    }

    /// Refuses an item inside the body.
    pub(super) fn refuse_item(&mut self, item: &syn::Item) {
        let (what, help) = match item {
            syn::Item::Fn(_) => {
                ("a function", "use a closure, `let g = |x| ..;`, or move it out as a `#[kernel]`")
            }
            syn::Item::Const(_) | syn::Item::Static(_) => ("a constant", "bind it with `let`"),
            syn::Item::Use(_) => ("`use`", "write it outside the kernel, or call by the full path"),
            syn::Item::Macro(_) => ("a macro", "write it out, or use a closure"),
            _ => ("an item", "move it out of the kernel"),
        };
        self.unsupported(item.span(), format!("{what} inside a kernel is not supported"), help);
    }
}

/// Where the error is, what it says, and what to write instead.
fn refusal(e: &syn::Expr) -> (Span, String, &'static str) {
    let form = |span, what: &str, help| (span, format!("{what} not supported in kernels"), help);
    match e {
        syn::Expr::Loop(e) => {
            let help = "write `while` with the condition under which it goes on";
            form(e.loop_token.span, "`loop` is", help)
        }
        syn::Expr::Break(e) => {
            let help =
                "write `while` with a condition; after a `for` has done its work, let an `if` skip the rest";
            form(e.break_token.span, "`break` is", help)
        }
        syn::Expr::Continue(e) => {
            form(e.continue_token.span, "`continue` is", "put the rest of the loop's body into an `if`")
        }
        syn::Expr::Return(e) => {
            let help = "make the value the last expression; for an early exit use `if .. { .. } else { .. }`";
            form(e.return_token.span, "`return` is", help)
        }
        syn::Expr::Try(e) => {
            let help = "remove it; kernels have no `Option` or `Result`, faults reach the host by themselves";
            form(e.question_token.span, "`?` is", help)
        }
        syn::Expr::Unsafe(e) => form(e.unsafe_token.span, "`unsafe` is", "remove it"),
        syn::Expr::Reference(e) => {
            form(e.and_token.span, "`&mut` is", "write `&` or nothing, and return the changed array")
        }
        syn::Expr::Let(e) => {
            let help = "use `match` on an integer or boolean, or compare with `if a == b`";
            form(e.let_token.span, "`let` in a condition is", help)
        }
        syn::Expr::Range(e) => {
            let message = "a range can stand only in an index, `a[i..j]`, or after `for`";
            let help =
                "`iota(n)` is the array 0, 1, .., n - 1; `build(n, |i| ..)` computes one value per index";
            (e.limits.span(), message.to_string(), help)
        }
        syn::Expr::Block(e) => form(e.span(), "labels are", "remove the label"),
        syn::Expr::Const(e) => {
            let help = "write the block without `const`; constants are computed once anyway";
            form(e.const_token.span, "`const` blocks are", help)
        }
        syn::Expr::Infer(_) => {
            let help = "write a value; `_` is for patterns and types";
            (e.span(), "`_` is not an expression".to_string(), help)
        }
        syn::Expr::Async(_) | syn::Expr::Await(_) | syn::Expr::Yield(_) | syn::Expr::TryBlock(_) => {
            let help = "kernels are pure; call the kernel from asynchronous code instead";
            form(e.span(), "asynchronous code and generators are", help)
        }
        other => {
            let what = format!("`{}` is", text(other));
            form(e.span(), &what, "kernels compute with numbers, arrays and tuples")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::errors;

    #[test]
    fn refused_expressions() {
        for (written, start) in [
            ("loop { break 1 }", "AD0001 `loop` is not supported in kernels | write `while`"),
            ("while c { break; } 1", "AD0001 `break` is not supported"),
            ("for i in 0..n { continue } 1", "AD0001 `continue` is not supported"),
            ("return x", "AD0001 `return` is not supported"),
            ("return x;", "AD0001 `return` is not supported"),
            ("x?", "AD0001 `?` is not supported"),
            ("unsafe { x }", "AD0001 `unsafe` is not supported"),
            ("async { x }", "AD0001 asynchronous code"),
            ("x.await", "AD0001 asynchronous code"),
            ("&mut x", "AD0001 `&mut` is not supported"),
            ("if let 1 = x { 1 } else { 2 }", "AD0001 `let` in a condition"),
            ("map(|i| i, 0..n)", "AD0001 a range can stand only in an index"),
            ("println!(\"{}\", x); x", "AD0001 kernels are pure: `println!` is not supported | remove it"),
            ("vec![a, b]", "AD0001 `vec!` is not supported in kernels | write `[a, b]`"),
            ("assert!(x > 0); x", "AD0001 kernels are pure: `assert!`"),
            ("P { x: 1, .. }", "AD0001 `..` without a record"),
            ("P { 0: 1 }", "AD0001 the fields of a record have names"),
            ("P::<f64> { x: 1 }", "AD0001 type arguments in paths"),
            ("'a: { x }", "AD0001 labels"),
            ("const { 1 }", "AD0001 `const` blocks"),
            ("g(_)", "AD0001 `_` is not an expression"),
            ("fn g() {} 1", "AD0001 a function inside a kernel"),
            (
                "const N: i64 = 1; N",
                "AD0001 a constant inside a kernel is not supported | bind it with `let`",
            ),
            ("use m::g; g(x)", "AD0001 `use` inside a kernel"),
            ("#[cfg(test)] let y = 1; x", "AD0016 the attribute `#[cfg]`"),
        ] {
            let found = errors(&format!("fn f(x: f64) -> f64 {{ {written} }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
            assert!(!found[0].ends_with("| "), "no help for {written}");
        }
        assert!(
            errors("fn f(x: f64) -> f64 { #[rustfmt::skip] #[allow(x)] let y = x; /** c */ y }").is_empty()
        );
    }
}
