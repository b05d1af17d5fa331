//! What rustc's lints have to see of a kernel, whose own function is not there any more: variables that are never used, or never read
//! after they are assigned, and `mut` that is not needed.
//!
//! ```text
//! mod __f_names { fn kernel(x: ()) { let total = (); } }      "unused variable: `x`", at the user's tokens
//! ```
//!
//! The lint levels that the kernel has hold there too. It is a module, where no item of the user's has the name of a variable.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::syntax::{Binding, Unused};

/// A function with the same bindings, if lints may speak of any.
pub fn items(kernel: &Ident, attrs: &[syn::Attribute], unused: &Unused) -> TokenStream {
    let Unused { parameters, locals } = unused;
    if parameters.is_empty() && locals.is_empty() {
        return TokenStream::new();
    }
    let is_level = |a: &&syn::Attribute| {
        ["allow", "expect", "warn", "deny", "forbid"].iter().any(|level| a.path().is_ident(level))
    };
    let levels = attrs.iter().filter(is_level);
    let module = format_ident!("__{}_names", kernel.unraw());
    let bound = parameters.iter().map(|Binding { name, mutability, .. }| quote!(#mutability #name: ()));
    // As if it were all the user's: of what a macro assigns rustc says nothing.
    let declared = locals
        .iter()
        .map(|Binding { name, mutability, .. }| quote_spanned!(name.span()=> let #mutability #name = ();));
    let used = parameters.iter().chain(locals).map(used);
    quote! {
        #(#levels)*
        #[allow(non_snake_case, clippy::all, clippy::pedantic)]
        mod #module {
            #[inline]
            #[allow(dead_code, reason = "it is there to be read")]
            fn kernel(#(#bound),*) {
                #(#declared)*
                #(#used)*
            }
        }
    }
}

/// What is done with a variable.
fn used(b: &Binding) -> TokenStream {
    let name = &b.name;
    let assigned = b.assigned.iter().map(|name| quote_spanned!(name.span()=> #name = ();));
    let read = b.is_read.then(|| quote!(let _ = ::core::convert::identity(#name);));
    quote! {
        #(#assigned)*
        #read
    }
}
