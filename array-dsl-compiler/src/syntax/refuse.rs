//! What Rust has and kernels have not: for each form the error, and what to write instead.
//!
//! Kernels have no effects beyond their own variables. A refused form is not read further, so that one mistake gives one error; only
//! forms that wrap a single value (`e?`, `unsafe { e }`, `return e`) have that value checked as well.

use syn::spanned::Spanned;

use super::ast::ExprKind;
use super::parse::{Parser, text};

impl Parser<'_> {
    /// Records why an expression is not one of a kernel.
    pub(super) fn refuse(&mut self, e: &syn::Expr) -> ExprKind {
        match e {
            syn::Expr::Loop(e) => {
                let help = "write `while` with the condition under which it goes on";
                self.unsupported(e.loop_token.span, "`loop` is not supported in kernels", help);
                ExprKind::Error
            }
            syn::Expr::Break(e) => {
                let help = "write `while` with a condition; after a `for` has done its work, let an `if` skip the rest";
                self.unsupported(e.break_token.span, "`break` is not supported in kernels", help);
                ExprKind::Error
            }
            syn::Expr::Continue(e) => {
                let help = "put the rest of the loop's body into an `if`";
                self.unsupported(e.continue_token.span, "`continue` is not supported in kernels", help);
                ExprKind::Error
            }
            syn::Expr::Return(e) => {
                let help =
                    "make the value the last expression; for an early exit use `if .. { .. } else { .. }`";
                self.unsupported(e.return_token.span, "`return` is not supported in kernels", help);
                e.expr.iter().for_each(|e| _ = self.expr(e));
                ExprKind::Error
            }
            syn::Expr::Try(e) => {
                let help =
                    "remove it; kernels have no `Option` or `Result`, faults reach the host by themselves";
                self.unsupported(e.question_token.span, "`?` is not supported in kernels", help);
                self.expr(&e.expr);
                ExprKind::Error
            }
            syn::Expr::Unsafe(e) => {
                self.unsupported(e.unsafe_token.span, "`unsafe` is not supported in kernels", "remove it");
                self.block(&e.block);
                ExprKind::Error
            }
            syn::Expr::Reference(e) => {
                let help = "write `&` or nothing, and return the changed array";
                self.unsupported(e.and_token.span, "`&mut` is not supported in kernels", help);
                ExprKind::Error
            }
            syn::Expr::Let(e) => {
                let help = "use `match` on an integer or boolean, or compare with `if a == b`";
                self.unsupported(e.let_token.span, "`let` in a condition is not supported in kernels", help);
                ExprKind::Error
            }
            syn::Expr::Range(e) => {
                let help =
                    "`iota(n)` is the array 0, 1, .., n - 1; `build(n, |i| ..)` computes one value per index";
                self.unsupported(
                    e.limits.span(),
                    "a range can stand only in an index, `a[i..j]`, or after `for`",
                    help,
                );
                ExprKind::Error
            }
            syn::Expr::Block(e) => {
                self.unsupported(e.span(), "labels are not supported in kernels", "remove the label");
                self.block(&e.block);
                ExprKind::Error
            }
            syn::Expr::Const(e) => {
                let help = "write the block without `const`; constants are computed once anyway";
                self.unsupported(e.const_token.span, "`const` blocks are not supported in kernels", help);
                ExprKind::Error
            }
            syn::Expr::Infer(_) => {
                let help = "write a value; `_` is for patterns and types";
                self.unsupported(e.span(), "`_` is not an expression", help);
                ExprKind::Error
            }
            syn::Expr::Async(_) | syn::Expr::Await(_) | syn::Expr::Yield(_) | syn::Expr::TryBlock(_) => {
                let message = "asynchronous code and generators are not supported in kernels";
                self.unsupported(
                    e.span(),
                    message,
                    "kernels are pure; call the kernel from asynchronous code instead",
                );
                ExprKind::Error
            }
            other => {
                let message = format!("`{}` is not supported in kernels", text(other));
                self.unsupported(other.span(), message, "kernels compute with numbers, arrays and tuples");
                ExprKind::Error
            }
        }
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
