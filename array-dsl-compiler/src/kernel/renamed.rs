//! Kernels that are imported under the name of a built-in function: `use m::mine as softmax`.
//!
//! A kernel that calls `softmax` cannot ask whether there is one, but rustc can be made to stop where there is: two macros of one
//! name, one from a glob import inside and one from anything outside, are ambiguous to it. So `array_dsl::__built_in` has a macro of
//! every built-in function's name, and every kernel asks for those that it calls:
//!
//! ```text
//! const _: () = { use ::array_dsl::__built_in::*; softmax!{} sum!{} };
//! ```

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::elaborate::builtins;
use crate::kernel;

/// Names of macros that are often in sight: Rust's own, and that of the crate `log`.
const OF_OTHERS: [&str; 2] = ["concat", "log"];

/// An error of rustc's where a macro in sight has the name of a built-in function that the item calls.
pub fn refused(item: &syn::ItemFn) -> TokenStream {
    let called = kernel::called_builtins(item);
    let called = called.iter().filter(|name| !OF_OTHERS.contains(&&*name.name));
    let names: Vec<Ident> = called.map(|name| Ident::new(&name.name, name.span)).collect();
    if names.is_empty() {
        return TokenStream::new();
    }
    quote! { const _: () = { use ::array_dsl::__built_in::*; #(#names! {})* }; }
}

/// The module of macros that have the names of the built-in functions; `__nothing` is one that gives nothing.
pub fn module() -> TokenStream {
    let names: BTreeSet<&str> = builtins().collect();
    let names = names.into_iter().map(|name| Ident::new(name, Span::call_site()));
    quote! {
        #[doc(hidden)]
        pub mod __built_in {
            #(pub use crate::__nothing as #names;)*
        }
    }
}
