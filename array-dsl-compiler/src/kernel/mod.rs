//! Compiling one kernel: from an attribute and an item to the tokens that replace them.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | a kernel as it is written |
//! | `options` | the attribute's arguments |
//! | `link` | how a kernel asks the macros of the kernels and records that it names |
//! | `state` | what travels along from one macro to the next |
//! | `missing`, `pending` | the error where a name has no macro; who has it of those that wait for it |
//! | `unread` | functions that do not parse |
//! | `answers` | what the macros have answered, and what a kernel's paths stand for |
//! | `compile` | a linked kernel with all its variants |
//! | `programs` | the kernel and its derivatives from Core to code, side by side |
//! | `generic` | kernels that are elaborated where they are called, and their instances for the host |
//! | `renamed` | kernels that are imported under the name of a built-in function |
//! | `reference` | the pages of the built-in functions |
//!
//! **A kernel is read once**, into a [`Kernel`] that everything here is given, and what is wrong with its text is recorded there. A
//! macro hands only tokens to the next (`link`), so that "once" is once for each macro that is called on the way: for a kernel that
//! names no other, once in all.

pub mod answers;
mod compile;
pub mod generic;
pub mod link;
mod missing;
mod options;
mod pending;
mod programs;
pub mod reference;
pub mod renamed;
mod state;
mod unread;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

pub use self::answers::Answer;
pub use self::compile::compile;
pub use self::options::{Options, Rule};
use crate::carrier;
use crate::diagnostics::Diagnostics;
use crate::elaborate::{is_builtin, takes_function};
use crate::emit::fallback;
use crate::emit::host;
use crate::emit::signature::Signature;
use crate::pipeline;
use crate::record::Records;
use crate::syntax::{self, ast};

/// A kernel as it is written.
#[derive(Clone)]
pub struct Kernel {
    /// The function.
    pub item: syn::ItemFn,
    /// Its syntax tree.
    pub ast: ast::Function,
    /// What its attribute asks for.
    pub options: Options,
}

impl Kernel {
    /// Reads a function and the arguments of its attribute. What is wrong with them is recorded, and makes the tree meaningless.
    pub fn read(attr: &TokenStream, item: syn::ItemFn, diagnostics: &mut Diagnostics) -> Kernel {
        let options = Options::read(attr, diagnostics);
        let ast = pipeline::parse(&item, diagnostics);
        Kernel { item, ast, options }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        self.item.sig.ident.unraw().to_string()
    }

    /// The paths that stand for records: they are linked before the kernels.
    pub fn records(&self) -> Vec<ast::Path> {
        syntax::named_records(&self.ast)
    }

    /// The paths that it calls and that are not built in: the kernels to be linked. What is passed to a generic kernel may be one
    /// too, which only that kernel's answer tells.
    pub fn callees(&self, answers: &[Answer]) -> Vec<ast::Path> {
        let generics: Vec<(&str, ast::Function)> =
            answers.iter().filter_map(|a| Some((&*a.path, generic::function(&a.text)?))).collect();
        let takes_function = |path: &str, position: usize| {
            if is_builtin(path) {
                return takes_function(path, position);
            }
            let mut called = generics.iter().filter(|(p, _)| *p == path);
            called.any(|(_, f)| f.params.get(position).is_some_and(ast::Param::is_function))
        };
        let builtins = syntax::Builtins { contains: &is_builtin, takes_function: &takes_function };
        syntax::free_calls(&self.ast, &builtins)
    }

    /// The tokens of the path of a kernel that it calls, by its text.
    fn path_of(&self, text: &str, answers: &[Answer]) -> Option<TokenStream> {
        let rule = self.options.rule.iter().find(|r| r.path.text() == text).map(|r| r.tokens.clone());
        rule.or_else(|| {
            let callees = self.callees(answers);
            callees.iter().find(|p| p.text() == text).map(|p| carrier::path_tokens(p, &self.item))
        })
    }

    /// The built-in functions that it names.
    pub fn named_builtins(&self) -> syntax::NamedBuiltins {
        let builtins = syntax::Builtins { contains: &is_builtin, takes_function: &takes_function };
        syntax::named_builtins(&self.ast, &builtins)
    }

    /// The user's attributes that are kept, and in the documentation the signature: a type shows nothing of what it takes. Without any
    /// documentation it stays so, for the lint that asks for some.
    fn documented(&self) -> TokenStream {
        let attrs = &self.item.attrs;
        let signature = attrs.iter().any(|a| a.path().is_ident("doc")).then(|| {
            let text = format!("\nThe kernel\n```text\n{}\n```", syntax::text(&self.item.sig));
            quote!(#[doc = #text])
        });
        quote!(#(#attrs)* #signature)
    }

    /// What rustc's lints have to see of it.
    fn lints(&self) -> TokenStream {
        let unused = syntax::unused(&self.item, &self.ast);
        host::lints::items(&self.item.sig.ident, &self.item.attrs, &unused)
    }

    /// Its types at the host, if all of them are understood. Without `records` these have not been looked for.
    pub fn signature(&self, records: Option<&Records>) -> Option<Signature> {
        Signature::read(&self.item, &self.ast, records)
    }

    /// What stands for it when its errors have been reported.
    fn failed(&self, signature: Option<&Signature>) -> TokenStream {
        let mut out = fallback::items(&self.item, signature);
        out.extend(self.carrier(carrier::FAILED));
        out
    }

    /// The macro of its name, through which other kernels get the text that carries it.
    fn carrier(&self, text: &str) -> TokenStream {
        carrier::carrier_macro(&self.item.sig.ident, &self.item.vis, text)
    }
}
