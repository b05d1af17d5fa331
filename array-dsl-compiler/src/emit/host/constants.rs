//! The values of constants of the surrounding code: `elaborate::outside`.
//!
//! ```text
//! fn __constant0() -> f64 { RATE }                                          rustc checks the type at the user's own token
//! fn __constant1() -> i64 { __rt::constant::Counts::number(STEPS) }         an i64 or a usize
//! fn __constant2() -> f64 { <m::g as __rt::constant::Constant<0>>::value() }  of a called kernel, whose module sees its own
//! impl __rt::constant::Constant<0> for f { .. }                           for callers of this one
//! ```

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::types::elem_type;
use crate::ty::Elem;

/// A constant: its type, and the expression that has its value.
pub type Value = (Elem, TokenStream);

/// What a constant is called beside the kernel.
pub(super) fn name(k: usize) -> Ident {
    format_ident!("__constant{k}")
}

/// The constants of a kernel, for itself and for those who call it.
pub(super) fn items(kernel: &Ident, values: &[Value]) -> TokenStream {
    let items = values.iter().enumerate().map(|(k, (elem, value))| {
        let (name, elem) = (name(k), elem_type(*elem));
        quote! {
            #[inline]
            fn #name() -> #elem {
                let __value: #elem = #value;
                __value
            }
            impl __rt::constant::Constant<#k> for #kernel {
                type Value = #elem;
                #[inline]
                fn value() -> #elem {
                    #name()
                }
            }
        }
    });
    items.collect()
}
