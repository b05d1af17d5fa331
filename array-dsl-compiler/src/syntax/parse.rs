//! From a `syn` function to the syntax tree: the signature, and the attributes a kernel may carry inside.
//!
//! Every parameter has a written type and every kernel a written result. References and lifetimes in types mean
//! nothing and are dropped. A type that is not understood becomes `TypeKind::Infer`, an expression
//! `ExprKind::Error`; both only after an error has been recorded.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::ast;
use super::generics::TypeParameters;
use super::reference::is_reference_type;
use super::types::Place;
use crate::diagnostics::{Code, Diagnostics};
use crate::ty::{Name, is_type_of_rust};

/// Reads a function. What is wrong with it is recorded in `diagnostics`; the tree is meaningful only where
/// nothing was.
pub fn parse_function(item: &syn::ItemFn, diagnostics: &mut Diagnostics) -> ast::Function {
    let mut parser = Parser::new(diagnostics);
    parser.name(&item.sig.ident);
    parser.qualifiers(item);
    parser.generics(&item.sig.generics);
    let params = parser.params(&item.sig);
    let result = parser.result(&item.sig);
    parser.attributes(item.block.to_token_stream());
    let body = parser.block(&item.block);
    ast::Function { name: ident(&item.sig.ident), generics: parser.parameters.types, params, result, body }
}

/// The reader: all its methods record errors and go on.
pub(super) struct Parser<'a> {
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) parameters: TypeParameters,
    /// The names that are bound around the place, innermost last, and whether they are references.
    pub(super) names: Vec<(Name, bool)>,
    /// How deeply the place is nested.
    pub(super) depth: usize,
    /// That it is nested too deeply somewhere has been said.
    pub(super) too_deep: bool,
}

impl Parser<'_> {
    /// A kernel is a type, which hides others of its name.
    fn name(&mut self, name: &syn::Ident) {
        let own = name.unraw().to_string();
        if is_type_of_rust(&own) {
            self.diagnostics.error(
                Code::BuiltinName,
                name.span(),
                format!("the kernel has the name of the type `{own}`, which nothing next to it could mean any more"),
                format!("give it another name: `my_{own}`, say"),
            );
        }
    }
}

/// The tree's identifier for one of `syn`.
pub(super) fn ident(i: &syn::Ident) -> ast::Ident {
    ast::Ident { name: i.unraw().to_string().into(), span: i.span() }
}

/// The tree's path for one of `syn`.
pub(super) fn path(p: &syn::Path) -> ast::Path {
    ast::Path {
        segments: p.segments.iter().map(|s| ident(&s.ident)).collect(),
        leading_colon: p.leading_colon.is_some(),
    }
}

/// Reads a type outside a function: of a record's field.
pub fn parse_type(ty: &syn::Type, diagnostics: &mut Diagnostics) -> ast::Type {
    Parser::new(diagnostics).ty(ty, Place::Signature)
}

/// Tokens as a person would write them, for messages.
pub fn text(tokens: impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (loose, tight) in [
        (" < ", "<"),
        (" >", ">"),
        (" :: ", "::"),
        (" ;", ";"),
        (" ,", ","),
        ("& ", "&"),
        ("# [", "#["),
        ("fn (", "fn("),
        ("Fn (", "Fn("),
    ] {
        text = text.replace(loose, tight);
    }
    text
}

impl Parser<'_> {
    fn new(diagnostics: &mut Diagnostics) -> Parser<'_> {
        Parser {
            diagnostics,
            parameters: TypeParameters::default(),
            names: Vec::new(),
            depth: 0,
            too_deep: false,
        }
    }

    /// Records that something is outside the language.
    pub(super) fn unsupported(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.error(Code::Unsupported, span, message, help);
    }

    /// Refuses everything around a signature that a kernel cannot have.
    fn qualifiers(&mut self, item: &syn::ItemFn) {
        let sig = &item.sig;
        if let Some(token) = &sig.asyncness {
            self.unsupported(
                token.span,
                "a kernel cannot be `async`",
                "remove `async`; a call returns its result",
            );
        }
        if let Some(token) = &sig.constness {
            self.unsupported(
                token.span,
                "a kernel cannot be `const fn`",
                "remove `const`; kernels run at run time",
            );
        }
        if let syn::Safety::Unsafe(token) = &sig.safety {
            self.unsupported(token.span, "a kernel cannot be `unsafe`", "remove `unsafe`; kernels need none");
        }
        if let Some(abi) = &sig.abi {
            let help = "remove `extern`; wrap the kernel in a function of that ABI if you need one";
            self.unsupported(abi.extern_token.span, "a kernel cannot be `extern`", help);
        }
        if let Some(variadic) = &sig.variadic {
            let help = "give every parameter a name and a type";
            self.unsupported(variadic.dots.spans[0], "a kernel has a fixed number of parameters", help);
        }
    }

    fn params(&mut self, sig: &syn::Signature) -> Vec<ast::Param> {
        let mut bound = Vec::new();
        let mut params = Vec::new();
        for input in &sig.inputs {
            match input {
                syn::FnArg::Receiver(receiver) => {
                    let help = "make it a free function, and pass the arrays it needs";
                    self.unsupported(receiver.self_token.span, "a kernel cannot take `self`", help);
                }
                syn::FnArg::Typed(param) => {
                    let no_grad = self.param_attributes(&param.attrs);
                    let pattern = self.pattern(&param.pat, &mut bound);
                    self.note_names(&pattern, is_reference_type(&param.ty));
                    let ty = self.ty(&param.ty, Place::Parameter);
                    params.push(ast::Param { pattern, ty, no_grad });
                }
            }
        }
        params
    }

    /// Whether one of them is `#[no_grad]`, the only attribute a parameter may carry.
    fn param_attributes(&mut self, attrs: &[syn::Attribute]) -> bool {
        let mut no_grad = false;
        for attr in attrs {
            if attr.path().is_ident("no_grad") && matches!(attr.meta, syn::Meta::Path(_)) {
                no_grad = true;
            } else {
                let message = format!("`{}` has no meaning on a kernel's parameter", text(attr));
                let help = "the one attribute of a parameter is `#[no_grad]`, without arguments";
                self.diagnostics.error(Code::Attribute, attr.path().span(), message, help);
            }
        }
        no_grad
    }

    fn result(&mut self, sig: &syn::Signature) -> ast::Type {
        let span = sig.ident.span();
        match &sig.output {
            syn::ReturnType::Default => {
                let message = format!("the kernel `{}` has no result type", sig.ident);
                let help = "kernels return a value: add `-> f64`, say";
                self.diagnostics.error(Code::MissingAnnotation, span, message, help);
                ast::Type { kind: ast::TypeKind::Infer, span }
            }
            syn::ReturnType::Type(_, ty) => {
                let result = self.ty(ty, Place::Signature);
                if matches!(&result.kind, ast::TypeKind::Tuple(parts) if parts.is_empty()) {
                    let message = format!("the result of the kernel `{}` is empty", sig.ident);
                    let help = "kernels are pure, so they must return a value: `-> f64`, say";
                    self.diagnostics.error(Code::ResultType, result.span, message, help);
                }
                result
            }
        }
    }

    /// Refuses attributes inside the body. In an expression `#` begins nothing else. Lint levels, comments and
    /// formatting have no effect on meaning and pass; anything else, `#[cfg(..)]` above all, would be lost silently.
    fn attributes(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match (token, tokens.peek()) {
                (TokenTree::Group(group), _) => self.attributes(group.stream()),
                (TokenTree::Punct(hash), Some(TokenTree::Group(group)))
                    if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
                {
                    let group = group.clone();
                    let name = group.stream().into_iter().next().map(|t| t.to_string()).unwrap_or_default();
                    tokens.next();
                    if name == "checkpoint" {
                        // Of a `for`, which reads it.
                        let next = tokens.peek().map(ToString::to_string).unwrap_or_default();
                        if next != "for" && next != "#" {
                            let message = "`#[checkpoint]` stands on a `for`, whose states it is about";
                            let help = "write it before the `for`: `#[checkpoint(every = 100)] for i in 0..n { .. }`";
                            self.diagnostics.error(Code::Attribute, group.span_open(), message, help);
                        }
                    } else if !["doc", "allow", "expect", "warn", "deny", "rustfmt", "clippy"]
                        .contains(&name.as_str())
                    {
                        let message = format!("the attribute `#[{name}]` is not supported inside a kernel");
                        let help = "remove it, or write two kernels and choose between them outside";
                        self.diagnostics.error(Code::Attribute, group.span_open(), message, help);
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{errors, shown};

    #[test]
    fn signatures() {
        let source = "pub fn f(#[no_grad] x: &[f64], _: f64, (a, b): (f64, i64)) -> (f64, bool) { x }";
        let read = "f(#[no_grad] x: [f64], _: f64, (a, b): (f64, i64)) -> (f64, bool) { x }";
        assert_eq!(shown(source), read);
        assert!(errors(source).is_empty());
    }

    #[test]
    fn refused_signatures() {
        for (signature, start) in [
            ("async fn f(x: f64) -> f64", "AD0001 a kernel cannot be `async`"),
            ("const fn f(x: f64) -> f64", "AD0001 a kernel cannot be `const fn`"),
            ("unsafe fn f(x: f64) -> f64", "AD0001 a kernel cannot be `unsafe`"),
            ("extern \"C\" fn f(x: f64) -> f64", "AD0001 a kernel cannot be `extern`"),
            (
                "fn f<const N: usize>(x: [f64; N]) -> f64",
                "AD0001 a kernel cannot have the const parameter `N`",
            ),
            ("fn f<'a>(x: &'a f64) -> f64", "AD0001 the lifetime `'a` has no meaning"),
            ("fn f(x: f64) -> f64 where f64: Copy", "AD0001 this condition has no meaning"),
            ("fn f(&self, x: f64) -> f64", "AD0001 a kernel cannot take `self`"),
            ("fn f(#[inline] x: f64) -> f64", "AD0016 `#[inline]` has no meaning"),
            ("fn f(#[no_grad(x)] x: f64) -> f64", "AD0016 `#[no_grad"),
            ("fn f(x: f64, x: f64) -> f64", "AD0001 the name `x` is bound twice"),
            (
                "fn f(x: f64)",
                "AD0010 the kernel `f` has no result type | kernels return a value: add `-> f64`, say",
            ),
            ("fn f(x: f64) -> ()", "AD0017 the result of the kernel `f` is empty"),
        ] {
            let found = errors(&format!("{signature} {{ x }}"));
            assert_eq!(found.len(), 1, "{signature}: {found:?}");
            assert!(found[0].starts_with(start), "{signature}: {found:?}");
        }
    }
}
