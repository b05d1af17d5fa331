//! The error where a name that a kernel or record asks has no macro.
//!
//! rustc says of such a name only that there is no macro, which is not what the user has written. So beside every question stands an
//! item under an attribute that the answer defines:
//!
//! ```text
//! #[f_answer_0] #[::array_dsl::__unanswered(..)] const _: () = ();
//! norm2! { [::array_dsl::__compile] .. }
//! ```
//!
//! * With an answer the attribute is one that discards its item.
//! * Without, rustc waits for both names until nothing else is left to do, and then takes the attribute for one without meaning, so that
//!   `__unanswered` is expanded: it has the error, at the user's own name. What stands for the kernel then is what stands for any
//!   with an error, so that nobody who calls it has another one (`pending` tells which of them has the error). **It defines both names
//!   after all**: rustc looks for them a last time at the end, and says nothing of those that it finds, given that there was an error.
//!
//! A path of several segments leads to where nothing can be defined, so that it is imported under a name that can (`state`).

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};

use super::Kernel;
use super::pending::{self, Silence};
use crate::carrier;
use crate::diagnostics::{Code, Diagnostic, Diagnostics};
use crate::elaborate::meant;
use crate::record;
use crate::syntax::ELEMENT_TYPES;

/// The attribute that the answer of path `k` defines.
fn attribute(asker: &Ident, k: usize) -> Ident {
    format_ident!("{}_answer_{k}", carrier::hidden(asker))
}

/// The name under which path `k` is imported.
pub(super) fn alias(asker: &Ident, k: usize) -> Ident {
    format_ident!("{}_path_{k}", carrier::hidden(asker))
}

/// What the answer of path `k` leaves behind.
pub(super) fn answered(asker: &Ident, k: usize) -> TokenStream {
    let attribute = attribute(asker, k);
    quote! {
        #[doc(hidden)]
        #[allow(unused_imports, reason = "the question may be gone")]
        use ::array_dsl::__answered as #attribute;
    }
}

/// What stands before the question to path `k` of an item, whose macro is called by this name.
pub(super) fn unless_answered(
    asker: &Ident,
    (k, name): (usize, &Ident),
    error: &Diagnostic,
    item: &TokenStream,
) -> TokenStream {
    let (attribute, text) = (attribute(asker, k), error.text());
    // A token at the place of the error.
    let at = Ident::new("at", error.span);
    quote! {
        #[#attribute]
        #[::array_dsl::__unanswered(#at #name #k #text { #item })]
        const _: () = ();
    }
}

/// What `__unanswered` is replaced by: the path has no answer.
pub(super) fn unanswered(arguments: TokenStream) -> Option<TokenStream> {
    let parts: Vec<TokenTree> = arguments.into_iter().collect();
    let [TokenTree::Ident(at), TokenTree::Ident(name), k, text, TokenTree::Group(item)] = parts.as_slice()
    else {
        return None;
    };
    let (span, item) = (at.span(), item.stream());
    let k: usize = syn::parse2::<syn::LitInt>(k.to_token_stream()).ok()?.base10_parse().ok()?;
    let mut text = syn::parse2::<syn::LitStr>(text.to_token_stream()).ok()?.value();
    let mut discarded = Diagnostics::default();
    let (asker, stand_in) = match syn::parse2::<syn::ItemFn>(item.clone()) {
        Ok(function) => {
            let kernel = Kernel::read(&TokenStream::new(), function, &mut discarded);
            let asker = kernel.item.sig.ident.clone();
            (asker, kernel.failed(kernel.signature(None).as_ref()))
        }
        Err(_) => {
            let input = syn::parse2::<syn::DeriveInput>(item).ok()?;
            let carrier = record::carrier(&input, carrier::FAILED);
            (input.ident, carrier)
        }
    };
    let mut out = answered(&asker, k);
    out.extend(stand_in);
    match pending::silence(&carrier::hidden(&asker).to_string()) {
        Silence::Waits => return Some(out),
        Silence::Circle(names) => text = circular(&names),
        Silence::Nobody => {
            // By a glob, so that several kernels of a module can do so.
            let module = format_ident!("{}_nobody_{k}", carrier::hidden(&asker));
            out.extend(quote! {
                #[doc(hidden)]
                mod #module {
                    pub use ::array_dsl::__nobody as #name;
                }
                #[allow(unused_imports, reason = "rustc looks for it at the end")]
                use #module::*;
            });
        }
    }
    out.extend(quote_spanned! {span=> ::core::compile_error!(#text); });
    Some(out)
}

/// Where a path ends, which is where messages point.
pub(super) fn last_span(path: &TokenStream) -> Span {
    path.clone().into_iter().last().map_or_else(Span::call_site, |t| t.span())
}

/// The error of kernels that call each other in a circle.
fn circular(names: &[String]) -> String {
    let listed = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" calls ");
    let first = names.first().map_or("", String::as_str);
    let message = format!("kernels cannot call each other in a circle: {listed} calls `{first}`");
    let help = "kernels are inlined into each other: write the recursion as a loop or a reduction".into();
    Diagnostic { code: Code::Recursion, span: Span::call_site(), message, help }.text()
}

/// What is wrong when the name of a type is no macro.
pub(super) fn not_a_record(name: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` is not a type of kernels, nor a record here");
    let help = format!(
        "put `#[derive(Record)]` on the structure's definition, and import it if it is in another module; the element types are \
         {ELEMENT_TYPES}; arrays are written `[f64; n]`"
    );
    Diagnostic { code: Code::NotARecord, span, message, help }
}

/// What is wrong when the name that a kernel calls is no macro.
pub(super) fn not_a_kernel(kernel: &Ident, name: &str, span: Span) -> Diagnostic {
    if let Some(meant) = meant(name) {
        let otherwise = if meant.ends_with('?') { " otherwise" } else { "; otherwise" };
        let help = format!("{meant}{otherwise} put `#[kernel]` on the definition of `{name}`");
        let message = format!("unknown function `{name}`");
        return Diagnostic { code: Code::UnknownFunction, span, message, help };
    }
    let message = format!("kernel `{kernel}` calls `{name}`, which is neither built in nor a kernel here");
    let help = "put `#[kernel]` on its definition, and import it if it is in another module";
    Diagnostic { code: Code::NotAKernel, span, message, help: help.into() }
}
