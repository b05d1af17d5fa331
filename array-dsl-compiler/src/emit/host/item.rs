//! The item that a kernel's name stands for, and the type of each derivative.
//!
//! ```text
//! struct f;                           a unit struct
//!
//! mod __f_kernel {                    where arguments are declared as `usize`: a parameter for the type of each
//!     pub(super) enum f<__N0 = i64> { f, .. }
//!     pub mod __value { pub use super::f::*; type f = (); }
//! }
//! use __f_kernel::f;                  the type
//! use __f_kernel::__value::f;           the value
//! ```
//!
//! A kernel is called as the `fn` that it derefs to, which takes one type for each argument. **That a `usize` is any integer rests on
//! inference**: each `f` in an expression has type parameters of its own, as each `None` has, and the call settles them; a literal is an
//! `i32`. A unit struct has no parameters, but a variant without fields has those of its enum.
//!
//! A variant is a type to name lookup as well as a value. In `__value` a private type hides that side of it, so that what is imported from
//! there is the value alone, under the name of its own type, and hides what a glob imports as any item does.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;

/// A kernel's type or that of one of its derivatives.
pub struct Item {
    name: Ident,
    /// How many arguments are declared as `usize`.
    sizes: usize,
}

/// The type of the k-th `usize` argument.
pub(super) fn parameter(k: usize) -> Ident {
    format_ident!("__N{k}")
}

impl Item {
    /// That of this name, for as many `usize` arguments.
    pub fn new(name: Ident, sizes: usize) -> Item {
        Item { name, sizes }
    }

    /// What an implementation for all types of sizes begins with: `<__N0: Size>`.
    pub fn generics(&self) -> TokenStream {
        let parameters = self.parameters();
        if parameters.is_empty() { quote!() } else { quote!(<#(#parameters: __rt::size::Size),*>) }
    }

    /// The type: `f`, `f<__N0>`.
    pub fn ty(&self) -> TokenStream {
        let (name, parameters) = (&self.name, self.parameters());
        if parameters.is_empty() { quote!(#name) } else { quote!(#name<#(#parameters),*>) }
    }

    /// What the implementation of a trait begins with that leads to `to`, and the type that it is for. Where calls of `to` say nothing of
    /// sizes there is one for `i64` alone, which inference takes.
    pub fn leading_to(&self, to: &Item) -> (TokenStream, TokenStream) {
        if to.sizes == self.sizes { (self.generics(), self.ty()) } else { (quote!(), self.of_i64()) }
    }

    /// The type for sizes that are `i64`.
    fn of_i64(&self) -> TokenStream {
        let (name, sizes) = (&self.name, self.parameters().into_iter().map(|_| quote!(i64)));
        quote!(#name<#(#sizes),*>)
    }

    fn parameters(&self) -> Vec<Ident> {
        (0..self.sizes).map(parameter).collect()
    }

    /// The items of a kernel. `vis` is the user's visibility, `doc` the user's attributes that are kept.
    pub fn kernel(&self, vis: &TokenStream, doc: &TokenStream) -> TokenStream {
        let name = &self.name;
        if self.sizes == 0 {
            return quote! {
                #doc
                #[allow(non_camel_case_types)]
                #[derive(Clone, Copy, Debug, Default)]
                #vis struct #name;
            };
        }
        let (parameters, module) = (self.parameters(), format_ident!("__{}_kernel", name.unraw()));
        let inside = inside(vis);
        let traits = self.traits(&quote!(#name::#name));
        let phantom = phantom(&parameters);
        quote! {
            #[allow(
                non_camel_case_types, non_snake_case, unused, unreachable_pub, clippy::all, clippy::pedantic
            )]
            mod #module {
                #doc
                #inside enum #name<#(#parameters = i64),*> {
                    #[allow(missing_docs)]
                    #name,
                    #[doc(hidden)]
                    __Of(::core::convert::Infallible, #phantom),
                }
                #traits
                pub mod __value {
                    pub use super::#name::*;
                    type #name = ();
                }
            }
            #[allow(unused_imports, reason = "a kernel may be named as a value alone")]
            #vis use #module::#name;
            #[doc(hidden)]
            #[allow(unused_imports, reason = "other kernels may call it by its macro alone")]
            #vis use #module::__value::#name;
        }
    }

    /// The items of a derivative, of which only the type has a name.
    pub fn derivative(&self, vis: &TokenStream) -> TokenStream {
        let name = &self.name;
        if self.sizes == 0 {
            return quote! {
                #[derive(Clone, Copy, Debug, Default)]
                #vis struct #name;
            };
        }
        let parameters = self.parameters();
        let (phantom, traits) =
            (phantom(&parameters), self.traits(&quote!(Self(::core::marker::PhantomData))));
        quote! {
            #vis struct #name<#(#parameters),*>(#phantom);
            #traits
        }
    }

    /// The traits that are derived for a unit struct, whatever the types of sizes; `made` is the one value.
    fn traits(&self, made: &TokenStream) -> TokenStream {
        let (ty, text, parameters) = (self.ty(), self.name.unraw().to_string(), self.parameters());
        let of = quote!(<#(#parameters),*>);
        quote! {
            impl #of ::core::clone::Clone for #ty {
                #[inline]
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl #of ::core::marker::Copy for #ty {}
            impl #of ::core::default::Default for #ty {
                #[inline]
                fn default() -> Self {
                    #made
                }
            }
            impl #of ::core::fmt::Debug for #ty {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str(#text)
                }
            }
        }
    }

    /// The methods that know of no arguments and yet are not ambiguous.
    pub fn methods(&self) -> TokenStream {
        let ty = self.of_i64();
        let explain = quote! {
            impl #ty {
                /// The text of the program after every stage: see [`array_dsl::Kernel::explain`].
                pub fn explain(self) -> ::std::string::String {
                    __rt::host::Kernel::explain(self)
                }
            }
        };
        if self.sizes == 0 { quote!() } else { explain }
    }
}

/// A visibility as it is written one module further inside.
fn inside(vis: &TokenStream) -> TokenStream {
    match syn::parse2(vis.clone()) {
        Ok(syn::Visibility::Inherited) => quote!(pub(super)),
        Ok(syn::Visibility::Restricted(r)) => {
            let path = &r.path;
            let mut rest = path.segments.iter();
            match rest.next() {
                Some(first) if first.ident == "self" => quote!(pub(in super #(::#rest)*)),
                Some(first) if first.ident == "super" => quote!(pub(in super::#path)),
                _ => quote!(pub(in #path)),
            }
        }
        Ok(syn::Visibility::Public(_)) | Err(_) => quote!(pub),
    }
}

/// What mentions the type parameters, and holds nothing of them.
fn phantom(parameters: &[Ident]) -> TokenStream {
    quote!(::core::marker::PhantomData<fn() -> (#(#parameters,)*)>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visibility_one_module_inside() {
        for (outside, expected) in [
            (quote!(), quote!(pub(super))),
            (quote!(pub), quote!(pub)),
            (quote!(pub(crate)), quote!(pub(in crate))),
            (quote!(pub(self)), quote!(pub(in super))),
            (quote!(pub(super)), quote!(pub(in super::super))),
            (quote!(pub(in crate::a)), quote!(pub(in crate::a))),
            (quote!(pub(in super::super)), quote!(pub(in super::super::super))),
        ] {
            assert_eq!(inside(&outside).to_string(), expected.to_string());
        }
    }
}
