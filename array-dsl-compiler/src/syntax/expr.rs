//! Expressions and blocks.
//!
//! Parentheses, `&e` and `*e` (see `reference`) mean nothing and leave no trace; `lo..=hi` in an index is `lo..hi + 1`. What the
//! language does not have is named in `refuse`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::ast::{Arm, Binary, Expr, ExprKind, Member, Path, Pattern, Type, Unary};
use super::chain::binary;
use super::parse::{Parser, ident, path, text};
use super::types::Place;
use crate::diagnostics::Code;
use crate::ty::Name;

/// Deeper expressions are refused: every pass walks them, and a macro's stack is what rustc leaves of its own.
pub(super) const MAX_DEPTH: usize = 256;

impl Parser<'_> {
    /// Reads an expression.
    pub(super) fn expr(&mut self, e: &syn::Expr) -> Expr {
        if self.depth >= MAX_DEPTH {
            let span = e.span();
            if !std::mem::replace(&mut self.too_deep, true) {
                let message = format!("this is nested more than {MAX_DEPTH} levels deep");
                let help = "bind parts of it with `let`";
                self.diagnostics.error(Code::Limit, span, message, help);
            }
            return Expr { kind: ExprKind::Error, span };
        }
        self.depth += 1;
        let known = self.names.len();
        let read = self.form(e);
        self.names.truncate(known);
        self.depth -= 1;
        read
    }

    fn form(&mut self, e: &syn::Expr) -> Expr {
        let span = e.span();
        let kind = match e {
            syn::Expr::Paren(e) => return self.expr(&e.expr),
            syn::Expr::Group(e) => return self.expr(&e.expr),
            syn::Expr::Reference(e) if e.mutability.is_none() => return self.expr(&e.expr),
            syn::Expr::Unary(e) => return self.unary(e, span),
            syn::Expr::Lit(e) => return self.literal(&e.lit, false),
            syn::Expr::Block(e) if e.label.is_none() => return self.block(&e.block),
            syn::Expr::Path(e) => self.path(e),
            syn::Expr::Binary(e) if self.is_power(e) => ExprKind::Error,
            syn::Expr::Binary(e) => match binary(&e.op) {
                Some(op) => return self.chain(e, op),
                None => self.assignment(&e.left, assigning(&e.op), &e.right, e.op.span()),
            },
            syn::Expr::Assign(e) => self.assignment(&e.left, None, &e.right, e.eq_token.span),
            syn::Expr::ForLoop(e) => self.for_loop(e),
            syn::Expr::While(e) => self.while_loop(e),
            syn::Expr::Cast(e) => {
                let value = self.expr(&e.expr);
                ExprKind::Cast(Box::new(value), self.cast_target(&e.ty))
            }
            syn::Expr::Call(e) => {
                let f = self.expr(&e.func);
                ExprKind::Call(Box::new(f), self.exprs(&e.args))
            }
            syn::Expr::MethodCall(e) => self.method(e),
            syn::Expr::Index(e) => {
                let array = self.expr(&e.expr);
                ExprKind::Index(Box::new(array), self.index(&e.index))
            }
            syn::Expr::Tuple(e) => ExprKind::Tuple(self.exprs(&e.elems)),
            syn::Expr::Array(e) => ExprKind::Array(self.exprs(&e.elems)),
            syn::Expr::Repeat(e) => {
                let value = self.expr(&e.expr);
                ExprKind::Repeat(Box::new(value), Box::new(self.expr(&e.len)))
            }
            syn::Expr::Field(e) => ExprKind::Field(Box::new(self.expr(&e.base)), member(&e.member)),
            syn::Expr::Struct(e) => self.record(e),
            syn::Expr::Closure(e) => self.closure(e),
            syn::Expr::If(e) => {
                let condition = self.expr(&e.cond);
                let then = self.block(&e.then_branch);
                let otherwise = e.else_branch.as_ref().map(|(_, e)| Box::new(self.expr(e)));
                ExprKind::If(Box::new(condition), Box::new(then), otherwise)
            }
            syn::Expr::Match(e) => {
                let value = self.expr(&e.expr);
                ExprKind::Match(Box::new(value), e.arms.iter().map(|arm| self.arm(arm)).collect())
            }
            syn::Expr::Macro(e) => self.macro_call(&e.mac),
            other => self.refuse(other),
        };
        Expr { kind, span }
    }

    fn exprs<'a>(&mut self, es: impl IntoIterator<Item = &'a syn::Expr>) -> Vec<Expr> {
        es.into_iter().map(|e| self.expr(e)).collect()
    }

    fn method(&mut self, e: &syn::ExprMethodCall) -> ExprKind {
        let receiver = self.expr(&e.receiver);
        if let Some(index) = self.slice_method(e) {
            return ExprKind::Index(Box::new(receiver), index);
        }
        if let Some(types) = &e.turbofish {
            let help = "remove it; use a suffix such as `1.0f32`, or annotate a `let`";
            self.unsupported(types.span(), "type arguments are not supported in kernels", help);
        }
        ExprKind::Method(Box::new(receiver), ident(&e.method), self.exprs(&e.args))
    }

    fn unary(&mut self, e: &syn::ExprUnary, span: Span) -> Expr {
        let op = match e.op {
            syn::UnOp::Deref(_) => return self.dereference(e, span),
            syn::UnOp::Neg(_) => {
                if let syn::Expr::Lit(literal) = &*e.expr
                    && Parser::is_least(&literal.lit)
                {
                    return Expr { span, ..self.literal(&literal.lit, true) };
                }
                Unary::Neg
            }
            syn::UnOp::Not(_) => Unary::Not,
            _ => {
                self.unsupported(
                    span,
                    "this operator is not supported in kernels",
                    "the unary ones are `-`, `!`",
                );
                return Expr { kind: ExprKind::Error, span };
            }
        };
        Expr { kind: ExprKind::Unary(op, Box::new(self.expr(&e.expr))), span }
    }

    fn path(&mut self, e: &syn::ExprPath) -> ExprKind {
        let of_complex = complex_path(&e.path);
        if let Some(path) = of_complex {
            return ExprKind::Path(path);
        }
        if e.qself.is_some() || e.path.segments.iter().any(|s| !s.arguments.is_none()) {
            let help = "write the plain path; types are inferred from the arguments";
            self.unsupported(e.span(), "type arguments in paths are not supported in kernels", help);
            return ExprKind::Error;
        }
        let path = path(&e.path);
        let first = path.segments.first().map_or("", |s| &*s.name);
        if first == "Self" || (first == "self" && path.segments.len() == 1) {
            let help =
                "a kernel is a free function: pass what it needs, and call others by their module's path";
            self.unsupported(path.span(), format!("`{first}` has no meaning in a kernel"), help);
            return ExprKind::Error;
        }
        ExprKind::Path(path)
    }

    /// The one macro of the language; others are refused.
    pub(super) fn macro_call(&mut self, mac: &syn::Macro) -> ExprKind {
        match mac.path.segments.last() {
            Some(last) if last.ident == "einsum" => self.einsum(mac, last.ident.span()),
            Some(last) => self.refuse_macro(&last.ident),
            None => ExprKind::Error,
        }
    }

    /// Reads `Name { a, b: value, ..base }`.
    fn record(&mut self, e: &syn::ExprStruct) -> ExprKind {
        if e.qself.is_some() || e.path.segments.iter().any(|s| !s.arguments.is_none()) {
            let help = "write the plain name of the record";
            self.unsupported(e.path.span(), "type arguments in paths are not supported in kernels", help);
        }
        let mut fields = Vec::new();
        for f in &e.fields {
            let value = self.expr(&f.expr);
            match &f.member {
                syn::Member::Named(name) => fields.push((ident(name), value)),
                syn::Member::Unnamed(_) => {
                    self.unsupported(f.member.span(), "the fields of a record have names", "name the field");
                }
            }
        }
        let base = match (&e.rest, &e.dot2_token) {
            (Some(base), _) => Some(Box::new(self.expr(base))),
            (None, Some(dots)) => {
                let help = "name the record that the other fields come from: `..net`";
                self.unsupported(dots.span(), "`..` without a record", help);
                None
            }
            (None, None) => None,
        };
        ExprKind::Record(path(&e.path), fields, base)
    }

    fn closure(&mut self, e: &syn::ExprClosure) -> ExprKind {
        for (word, span) in [
            ("async", e.asyncness.as_ref().map(|t| t.span)),
            ("const", e.constness.as_ref().map(|t| t.span)),
            ("for<..>", e.lifetimes.as_ref().map(|t| t.for_token.span)),
        ] {
            if let Some(span) = span {
                self.unsupported(span, format!("a closure in a kernel cannot be `{word}`"), "remove it");
            }
        }
        if let syn::ReturnType::Type(arrow, _) = &e.output {
            let help = "write the type on a `let` inside, or leave it out; it is inferred";
            self.unsupported(arrow.spans[0], "a closure's result type is not supported in kernels", help);
        }
        let mut bound = Vec::new();
        let params: Vec<_> = e.inputs.iter().map(|p| self.annotated(p, &mut bound)).collect();
        params.iter().for_each(|(pattern, _)| self.note_names(pattern, true));
        ExprKind::Closure(params, Box::new(self.expr(&e.body)))
    }

    /// A pattern with its type, if one is written.
    pub(super) fn annotated(&mut self, pat: &syn::Pat, bound: &mut Vec<Name>) -> (Pattern, Option<Type>) {
        match pat {
            syn::Pat::Type(p) => {
                let pattern = self.pattern(&p.pat, bound);
                (pattern, Some(self.ty(&p.ty, Place::Body)))
            }
            p => (self.pattern(p, bound), None),
        }
    }

    fn arm(&mut self, arm: &syn::Arm) -> Arm {
        let (alternatives, binding) = self.arm_pattern(&arm.pat);
        Arm { alternatives, binding, body: self.expr(&arm.body) }
    }
}

/// What follows the dot of `e.0` or `e.name`.
fn member(member: &syn::Member) -> Member {
    match member {
        syn::Member::Unnamed(index) => Member::Position(index.index as usize),
        syn::Member::Named(name) => Member::Name(ident(name)),
    }
}

/// `e + 1`.
pub(super) fn successor(e: Expr) -> Expr {
    let span = e.span;
    let one = Expr { kind: ExprKind::Int(1, None), span };
    Expr { kind: ExprKind::Binary(Binary::Add, Box::new(e), Box::new(one), span), span }
}

/// The operator of `a op= b`.
fn assigning(op: &syn::BinOp) -> Option<Binary> {
    Some(match op {
        syn::BinOp::AddAssign(_) => Binary::Add,
        syn::BinOp::SubAssign(_) => Binary::Sub,
        syn::BinOp::MulAssign(_) => Binary::Mul,
        syn::BinOp::DivAssign(_) => Binary::Div,
        syn::BinOp::RemAssign(_) => Binary::Rem,
        syn::BinOp::BitXorAssign(_) => Binary::BitXor,
        syn::BinOp::BitAndAssign(_) => Binary::BitAnd,
        syn::BinOp::BitOrAssign(_) => Binary::BitOr,
        syn::BinOp::ShlAssign(_) => Binary::Shl,
        syn::BinOp::ShrAssign(_) => Binary::Shr,
        _ => return None,
    })
}

/// The path of a function or constant of complex numbers that is written with the type of the parts: `Complex::<f32>::new` is
/// `Complex32::new`.
fn complex_path(p: &syn::Path) -> Option<Path> {
    let mut read = path(p);
    let at = read.segments.len().checked_sub(2)?;
    let segment = &p.segments[at];
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let others = p.segments.iter().enumerate().any(|(i, s)| i != at && !s.arguments.is_none());
    if segment.ident != "Complex" || others {
        return None;
    }
    let name = match text(&arguments.args).as_str() {
        "f32" => "Complex32",
        "f64" => "Complex64",
        // What is left open.
        "_" => "Complex",
        _ => return None,
    };
    read.segments[at].name = name.into();
    Some(read)
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{body, errors, parsed, shown};

    #[test]
    fn forms() {
        for (written, read) in [
            ("1.0 + x * -y", "(add 1.0 (mul x (neg y)))"),
            ("!(a && b) || c >= d", "(or (not (and a b)) (ge c d))"),
            ("(a & b) ^ c << 2 | d >> 1", "(bitor (bitxor (bitand a b) (shl c 2)) (shr d 1))"),
            ("&x + &y", "(add x y)"),
            ("f(x, m::g(y))", "(call f x (call m::g y))"),
            ("grad(f)(x)", "(call (call grad f) x)"),
            ("::std::f64::consts::PI", "::std::f64::consts::PI"),
            ("xs.map(|x: f64| x.exp()).sum()", "(.sum (.map xs |x: f64| (.exp x)))"),
            ("build((n, m), move |i, j| a[i][j])", "(call build (tuple n m) |i, j| a[i][j])"),
            ("map(|(a, _), b: [_; 3]| a, zs, bs)", "(call map |(a, _), b: [_; 3]| a zs bs)"),
            ("a[[i, j + 1]]", "a[[i, (add j 1)]]"),
            ("(a[i..j], a[..j], a[i..], a[..])", "(tuple a[i..j] a[..j] a[i..] a[..])"),
            ("a[i..=j]", "a[i..(add j 1)]"),
            ("a[(..=2)]", "a[..(add 2 1)]"),
            ("a[s![i, .., j..=k]]", "a[s![i, .., j..(add k 1)]]"),
            ("a[[.., i]]", "a[s![.., i]]"),
            ("a.slice(ndarray::s![.., i])", "a[s![.., i]]"),
            ("(a[s![i, j]], a[s![i..]])", "(tuple a[[i, j]] a[i..])"),
            ("[a, b]", "[a, b]"),
            ("[0.0; n]", "[0.0; n]"),
            ("p.0.1", "p.0.1"),
            ("p.a.0.b", "p.a.0.b"),
            ("m::P { x, y: 1.0 }", "m::P { x: x, y: 1.0 }"),
            ("P { x: 1, ..q }", "P { x: 1, ..q }"),
            ("()", "(tuple)"),
            ("if a < b { 1 } else if c { 2 } else { 3 }", "if (lt a b) { 1 } else if c { 2 } else { 3 }"),
            ("let y = x; { let z: [f64; k] = y; z }", "let y = x; { let z: [f64; k] = y; z }"),
            ("x; ; if c { y; } z", "x; if c { y; }; z"),
        ] {
            assert_eq!(body(&format!("fn f() -> f64 {{ {written} }}")), format!("{{ {read} }}"));
        }
    }

    #[test]
    fn spans_are_those_of_the_source() {
        let (f, diagnostics) = parsed("fn f(a: f64) -> f64 {\n    a + loop {}\n}");
        assert_eq!((f.name.span.start().line, f.name.span.start().column), (1, 3));
        let span = diagnostics.list()[0].span.start();
        assert_eq!((span.line, span.column), (2, 8));
        let super::ExprKind::Block(_, Some(sum)) = &f.body.kind else { panic!("no result") };
        let super::ExprKind::Binary(_, left, right, op) = &sum.kind else { panic!("no sum") };
        assert_eq!((left.span.start().column, op.start().column), (4, 6));
        assert!(matches!(right.kind, super::ExprKind::Error));
    }

    #[test]
    fn errors_do_not_stop_the_reading() {
        let source = "fn f(x: u8) { let mut a = \"s\"; a += vec![]; loop {} }";
        let found = errors(source);
        let codes = found.iter().map(|e| &e[..6]).collect::<Vec<_>>();
        assert_eq!(codes, ["AD0005", "AD0010", "AD0001", "AD0001", "AD0001"], "{found:?}");
        assert_eq!(shown(source), "f(x: _) -> _ { let mut a = <error>; (add= a <error>); <error> }");
    }

    #[test]
    fn refused_forms() {
        for (written, start) in [
            ("a[(i, j)]", "AD0001 an index is an integer for each dimension | write `a[[i, j]]`"),
            ("a[[]]", "AD0001 an index is an integer"),
            ("a[s![]]", "AD0001 `s![]` has no index | write an index or a range"),
            ("a[s![..;2, 1]]", "AD0001 a step is not supported in `s![..]` | slice without it"),
            ("a[s![i j]]", "AD0001 `s![..]` cannot be read"),
            ("a[s![1..=-1]]", "AD0001 a last element that is counted from the end"),
            ("a.sum(s![i])", "AD0001 the macro `s!`"),
            ("xs.sum::<f64>()", "AD0001 type arguments"),
            ("g::<f64>(x)", "AD0001 type arguments in paths"),
            ("<f64 as T>::g(x)", "AD0001 type arguments in paths"),
            ("self.x()", "AD0001 `self` has no meaning"),
            ("map(|x| -> f64 { x }, xs)", "AD0001 a closure's result type"),
            ("map(async |x| x, xs)", "AD0001 a closure in a kernel cannot be `async`"),
            ("let x; x", "AD0001 a `let` without a value"),
            ("let x = 1 else { 2 }; x", "AD0001 `let .. else`"),
        ] {
            let found = errors(&format!("fn f(a: f64) -> f64 {{ {written} }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
        }
    }
}
