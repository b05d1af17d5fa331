//! Kernels that are imported under the name of a built-in function: `use m::mine as softmax`.
//!
//! A kernel that calls `softmax` cannot ask whether there is one, but rustc can be made to stop where there is: two macros of one
//! name, one from a glob import inside and one from anything outside, are ambiguous to it. So `array_dsl::__built_in` has a macro of
//! every built-in function's name, and every kernel asks for those that it calls:
//!
//! ```text
//! const _: () = { use ::array_dsl::__built_in::*; softmax!{} sum!{} };
//! ```
//!
//! Editors show the text of these macros at the names (`reference`).
//!
//! Other macros of these names stop as well: better than a silent guess, and methods are not asked for, `x.log(b)`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::Kernel;
use crate::syntax::{NamedBuiltins, ast};

/// Of these names Rust has macros in sight everywhere, which would be ambiguous too. The kernel's own answers to a text of nothing with
/// an error, where Rust's gives one.
const OF_RUST: [&str; 1] = ["concat"];

/// An error where a macro in sight has the name of a built-in function that the kernel calls. What names a function otherwise only refers
/// to its macro, so that editors know it there too.
pub(super) fn refused(kernel: &Kernel) -> TokenStream {
    let NamedBuiltins { called, others } = kernel.named_builtins();
    let ident = |name: &ast::Ident| Ident::new(&name.name, name.span);
    let (of_rust, names): (Vec<_>, Vec<_>) = called.iter().partition(|name| OF_RUST.contains(&&*name.name));
    let others: Vec<Ident> = others.iter().chain(of_rust.iter().copied()).map(ident).collect();
    let of_rust = of_rust.into_iter().map(ident);
    let names: Vec<Ident> = names.into_iter().map(ident).collect();
    let ambiguous = (!names.is_empty())
        .then(|| quote! { const _: () = { use ::array_dsl::__built_in::*; #(#names! {})* }; });
    let referred = (!others.is_empty()).then(|| {
        quote! {
            const _: () = {
                #[allow(unused_imports, reason = "it is there to be read")]
                use ::array_dsl::__built_in::{#(#others as _),*};
            };
        }
    });
    quote! { #ambiguous #referred #(const _: &::core::primitive::str = #of_rust! { "" };)* }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::elaborate::builtins;
    use crate::kernel::state;

    #[test]
    fn macros_of_rust_are_asked_in_their_own_way() {
        let both: BTreeSet<&str> = builtins().filter(|name| state::OF_RUST.contains(name)).collect();
        assert_eq!(both, OF_RUST.into());
    }
}
