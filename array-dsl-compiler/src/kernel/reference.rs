//! The reference: a documented module for each built-in function, in `array_dsl::reference`, and the macro of its name.
//!
//! A page is `array-dsl/src/reference/NAME.md`, written by hand, and after it what the tables say (`elaborate::facts`). The pages are made
//! while `array-dsl` itself is compiled. **A row of the tables without a page does not compile.**
//!
//! What an editor shows at the name of a function in a kernel is the text of the macro that the kernel asks for (`renamed`).

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use crate::elaborate::{builtins, facts};

/// The names of the built-in functions, in order.
fn names() -> impl Iterator<Item = (&'static str, Ident)> {
    let names: BTreeSet<&str> = builtins().collect();
    names.into_iter().map(|name| (name, Ident::new(name, Span::call_site())))
}

/// The path of a function's page from `array-dsl/src`.
fn page(name: &str) -> String {
    format!("reference/{name}.md")
}

/// The text of a page, as rust-analyzer does not show what `include_str!` includes. The modules do include it, so that cargo watches the
/// file.
fn text(name: &str) -> String {
    let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    fs::read_to_string(Path::new(&folder).join("src").join(page(name))).unwrap_or_default()
}

/// The pages. Modules, because nothing else has a name in rustdoc and promises nothing.
pub fn modules() -> TokenStream {
    let modules = names().map(|(name, module)| {
        let (page, facts) = (page(name), format!("# In the tables\n\n{}", facts(name)));
        quote! {
            #[doc = include_str!(#page)]
            #[doc = #facts]
            pub mod #module {}
        }
    });
    quote! { #(#modules)* }
}

/// The module of macros that have the names of the built-in functions, which give nothing.
pub fn macros() -> TokenStream {
    let (mut macros, mut exports) = (TokenStream::new(), TokenStream::new());
    for (name, export) in names() {
        let hidden = format_ident!("__built_in_{name}");
        let text = text(name);
        // The examples are tested where they are documented.
        macros.extend(quote! {
            #[cfg_attr(not(doctest), doc = #text)]
            #[doc(hidden)]
            #[macro_export]
            macro_rules! #hidden { () => {}; }
        });
        exports.extend(quote! { pub use #hidden as #export; });
    }
    quote! {
        #macros
        #[doc(hidden)]
        pub mod __built_in { #exports }
    }
}
