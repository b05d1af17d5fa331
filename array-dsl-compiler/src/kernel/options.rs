//! The arguments of `#[kernel(..)]`.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;

use crate::derive::Derivative;
use crate::diagnostics::{Code, Diagnostics};
use crate::elaborate::OwnRule;
use crate::routine::Routine;
use crate::syntax::ast;
use crate::ty::Elem;

/// What `#[kernel(..)]` asks for beyond the usual.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `hvp`, `jacobian`, `hessian`, `vmap`: what is made only on request, and where that stands. The others may be asked for
    /// too, which makes it an error if they cannot be had.
    pub more: Vec<(Derivative, Span)>,
    /// `value`: nothing beside the value is made but what is asked for. Where that stands.
    pub only_named: Option<Span>,
    /// `f32, f64`: the element types for which a generic kernel is made for the host, and where they stand.
    pub instances: Vec<(Elem, Span)>,
    /// `vjp = rule`: the kernel that is its derivative.
    pub rule: Option<Rule>,
    /// `cpu = fft`: the routine that gives its values on the CPU, and where that stands.
    pub routine: Option<(Routine, Span)>,
}

/// The kernel that is another one's derivative.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its path.
    pub path: ast::Path,
    /// The path as it is written: only these tokens know what a `$crate` in them means.
    pub tokens: TokenStream,
}

impl Options {
    /// Reads the attribute's arguments.
    pub fn read(attr: &TokenStream, diagnostics: &mut Diagnostics) -> Options {
        let mut options = Options::default();
        let tokens: Vec<TokenTree> = attr.clone().into_iter().collect();
        for option in tokens.split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ',')) {
            let Some(first) = option.first() else { continue };
            if !options.add(option) {
                let written: TokenStream = option.iter().cloned().collect();
                diagnostics.error(
                    Code::Attribute,
                    first.span(),
                    format!("unknown option `{written}` of `#[kernel]`"),
                    "the options are `hvp`, `jacobian`, `hessian` and `vmap`, as in `#[kernel(hvp, hessian)]`, `value` for no \
                     other derivatives than those that are named, `vjp = rule` for a derivative of your own, and for a generic kernel the types to make it for, `#[kernel(f32, f64)]`",
                );
            }
        }
        if let (Some((routine, span)), None) = (options.routine, &options.rule) {
            diagnostics.error(
                Code::Attribute,
                span,
                format!("a kernel with the routine `{}` has no derivative of its own", routine.name()),
                "give it one as well: `#[kernel(vjp = rule, cpu = ..)]`",
            );
        }
        options
    }

    /// Adds an option; false if there is none like it.
    fn add(&mut self, option: &[TokenTree]) -> bool {
        match option {
            [TokenTree::Ident(name)] if name == "value" => {
                self.only_named = Some(name.span());
                true
            }
            [TokenTree::Ident(name)] => {
                let derivative = Derivative::ALL.into_iter().find(|d| name == d.name());
                let elem = Elem::from_name(&name.to_string());
                self.more.extend(derivative.map(|d| (d, name.span())));
                self.instances.extend(elem.map(|e| (e, name.span())));
                derivative.is_some() || elem.is_some()
            }
            [TokenTree::Ident(name), TokenTree::Punct(p), path @ ..]
                if name == "vjp" && p.as_char() == '=' =>
            {
                let rule = Rule::read(path.iter().cloned().collect());
                let is_path = rule.is_some();
                self.rule = rule.or(self.rule.take());
                is_path
            }
            [TokenTree::Ident(name), TokenTree::Punct(p), TokenTree::Ident(routine)]
                if name == "cpu" && p.as_char() == '=' =>
            {
                self.routine = Routine::of_name(&routine.to_string()).map(|r| (r, routine.span()));
                self.routine.is_some()
            }
            _ => false,
        }
    }

    /// The rule, as the stages take it.
    pub fn own_rule(&self) -> Option<OwnRule<'_>> {
        self.rule().map(|path| OwnRule { path, routine: self.routine })
    }

    /// The path of the rule.
    pub fn rule(&self) -> Option<&ast::Path> {
        self.rule.as_ref().map(|rule| &rule.path)
    }
}

impl Rule {
    /// A path without arguments.
    fn read(tokens: TokenStream) -> Option<Rule> {
        let path: syn::Path = syn::parse2(tokens.clone()).ok()?;
        let ident = |i: &Ident| ast::Ident { name: i.unraw().to_string().into(), span: i.span() };
        let is_plain = path.segments.iter().all(|s| s.arguments.is_none());
        let segments = path.segments.iter().map(|s| ident(&s.ident)).collect();
        is_plain.then(|| Rule {
            path: ast::Path { segments, leading_colon: path.leading_colon.is_some() },
            tokens,
        })
    }
}
