//! What rustc's lints have to see of a kernel, whose own function is not there any more: variables that are never used.
//!
//! ```text
//! const _: () = { fn kernel(x: ()) { let total = (); } };     "unused variable: `x`", at the user's tokens
//! ```
//!
//! The lint levels that the kernel has hold there too.

use proc_macro2::TokenStream;
use quote::quote;

use crate::syntax::Unused;

/// A function with the same unused variables, if there are any.
pub fn items(attrs: &[syn::Attribute], unused: &Unused) -> TokenStream {
    let Unused { parameters, locals } = unused;
    if parameters.is_empty() && locals.is_empty() {
        return TokenStream::new();
    }
    let is_level = |a: &&syn::Attribute| {
        ["allow", "expect", "warn", "deny", "forbid"].iter().any(|level| a.path().is_ident(level))
    };
    let levels = attrs.iter().filter(is_level);
    quote! {
        #(#levels)*
        const _: () = {
            #[inline]
            #[allow(dead_code, reason = "it is there to be read")]
            fn kernel(#(#parameters: ()),*) {
                #(let #locals = ();)*
            }
        };
    }
}
