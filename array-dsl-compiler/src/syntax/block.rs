//! Blocks and their statements.

use syn::spanned::Spanned;

use super::ast::{Expr, ExprKind, Stmt};
use super::parse::Parser;
use super::reference::refers;

impl Parser<'_> {
    /// Reads a block. Where its last statement was refused, the block's value is that error.
    pub(super) fn block(&mut self, block: &syn::Block) -> Expr {
        let known = self.names.len();
        let mut stmts = Vec::new();
        let mut result = None;
        for (i, stmt) in block.stmts.iter().enumerate() {
            let last = i + 1 == block.stmts.len();
            let mut add = |value: Expr, ended: bool| {
                if last && (!ended || matches!(value.kind, ExprKind::Error)) {
                    result = Some(Box::new(value));
                } else {
                    stmts.push(Stmt::Expr(value));
                }
            };
            match stmt {
                syn::Stmt::Local(local) => stmts.push(self.local(local)),
                syn::Stmt::Expr(syn::Expr::Verbatim(tokens), Some(_)) if tokens.is_empty() => {}
                syn::Stmt::Expr(e, semicolon) => {
                    let value = self.expr(e);
                    add(value, semicolon.is_some());
                }
                syn::Stmt::Macro(e) => {
                    let value = Expr { kind: self.macro_call(&e.mac), span: e.span() };
                    add(value, e.semi_token.is_some());
                }
                syn::Stmt::Item(item) => self.refuse_item(item),
            }
        }
        self.names.truncate(known);
        Expr { kind: ExprKind::Block(stmts, result), span: block.span() }
    }

    fn local(&mut self, local: &syn::Local) -> Stmt {
        let value = match &local.init {
            Some(init) => {
                if let Some((token, _)) = &init.diverge {
                    let help = "use a pattern that always matches, and `if` or `match` for the cases";
                    self.unsupported(token.span, "`let .. else` is not supported in kernels", help);
                }
                self.expr(&init.expr)
            }
            None => {
                let help = "write `let x = ..;`; an `if` or a `match` can be the value";
                self.unsupported(local.let_token.span, "a `let` without a value", help);
                Expr { kind: ExprKind::Error, span: local.let_token.span }
            }
        };
        let (pattern, ty) = self.annotated(&local.pat, &mut Vec::new());
        self.note_names(&pattern, local.init.as_ref().is_some_and(|init| refers(&init.expr)));
        Stmt::Let { pattern, ty, value }
    }
}
