//! What stands for a kernel with errors, so that its callers are not flooded with more: the unit struct with the
//! declared signature, and derivatives of the types that the kernel's would have (`signature`). Nothing here ever runs: rustc refuses
//! to make code of it, should there be no other error after all.
//!
//! Without types that can be understood there is only the unit struct.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;

use super::host::Item;
use super::signature::{Shape, Signature, Types};
use crate::derive::Derivative;
use crate::target::Target;

/// The items that stand for a kernel with errors; `signature` if its types are understood.
pub fn items(item: &syn::ItemFn, signature: Option<&Signature>) -> TokenStream {
    let (vis, name) = (item.vis.to_token_stream(), &item.sig.ident);
    let sizes = signature.map_or(0, |s| s.derived(&[]).sizes());
    let kernel = Item::new(name.clone(), sizes).kernel(&vis, &TokenStream::new());
    let implementations = signature.map(|s| {
        let items = implementations(name, &vis, s);
        quote! {
            #[doc(hidden)]
            #[allow(
                non_camel_case_types, non_snake_case, non_upper_case_globals, unused, missing_docs, clippy::all,
                clippy::pedantic
            )]
            const _: () = {
                use ::array_dsl::__rt;
                #items
            };
        }
    });
    quote! {
        #kernel
        #implementations
    }
}

fn implementations(name: &Ident, vis: &TokenStream, s: &Signature) -> TokenStream {
    let types = s.derived(&[]);
    let own = Item::new(name.clone(), types.sizes());
    let mut out = kernel(&own, name, &types);
    let (generics, ty) = (own.generics(), own.ty());
    for d in s.derivatives() {
        let types = s.derived(&[d]);
        let (has, assoc) = super::host::trait_names(d);
        let derivative = format_ident!("__{}_{assoc}", name.unraw());
        let item = Item::new(derivative.clone(), types.sizes());
        let (of, from) = own.leading_to(&item);
        let (items, to) = (item.derivative(vis), item.ty());
        out.extend(quote! {
            #items
            impl #of __rt::host::#has for #from {
                type #assoc = #to;
            }
        });
        out.extend(kernel(&item, &derivative, &types));
        // A gradient that is one float has a gradient of the same type.
        if d == Derivative::Grad
            && matches!(&types.result, Shape::Leaf(l) if l.rank == 0 && l.elem.is_float())
        {
            out.extend(quote! {
                impl #of __rt::host::HasGrad for #to {
                    type Grad = #to;
                }
            });
        }
        if d == Derivative::Hvp {
            out.extend(quote! {
                impl #generics __rt::directional::HasSparseHessian for #ty {
                    fn products(
                        _: &__rt::sparse::Coloring,
                        _: Self::Args<'_>,
                    ) -> ::core::result::Result<__rt::sparse::SparseMatrix, __rt::Error> {
                        __rt::stand_in::never()
                    }
                }
            });
        }
        if d == Derivative::Vjp {
            let call = super::host::sparse_call(&s.derived(&[]));
            out.extend(quote! {
                impl #generics __rt::directional::Directional for #ty {
                    #call
                    fn visit<V: __rt::directional::Visit>(
                        _: Self::Args<'_>,
                        _: V,
                    ) -> ::core::result::Result<V::Output, __rt::Error> {
                        __rt::stand_in::never()
                    }
                }
            });
        }
    }
    out
}

/// A kernel of these types.
fn kernel(item: &Item, name: &Ident, types: &Types) -> TokenStream {
    let (generics, ty, methods) = (item.generics(), item.ty(), item.methods());
    let text = name.to_string();
    let plain = types.arguments(&quote!(), Target::Cpu);
    let (host, device) =
        (types.arguments(&quote!('a), Target::Cpu), types.arguments(&quote!('a), Target::Gpu));
    let ignored = plain.iter().map(|_| quote!(_));
    let (output, gpu_output) = (types.output(Target::Cpu), types.output(Target::Gpu));
    quote! {
        #methods
        impl #generics __rt::host::Kernel for #ty {
            const NAME: &'static str = #text;
            const EXPLAIN: &'static [&'static str] = &[];
            type Args<'a> = (#(#host,)*);
            type Output = #output;
            fn run_with(
                _: Self::Args<'_>,
                _: __rt::given::Given,
            ) -> ::core::result::Result<Self::Output, __rt::Error> {
                __rt::stand_in::never()
            }
            fn sizes(
                _: Self::Args<'_>,
            ) -> ::core::result::Result<(&'static __rt::program::Signature, ::std::vec::Vec<i64>), __rt::Error> {
                __rt::stand_in::never()
            }
        }
        impl #generics ::core::ops::Deref for #ty {
            type Target = fn(#(#plain),*) -> #output;
            fn deref(&self) -> &Self::Target {
                &const { |#(#ignored),*| __rt::stand_in::never() }
            }
        }
        __rt::if_gpu! {
            impl #generics __rt::gpu::GpuKernel for #ty {
                type GpuArgs<'a> = (#(#device,)*);
                type GpuOutput = #gpu_output;
                async fn run_gpu(
                    _: &__rt::gpu::Gpu,
                    _: Self::GpuArgs<'_>,
                ) -> ::core::result::Result<Self::GpuOutput, __rt::Error> {
                    __rt::stand_in::never()
                }
            }
        }
    }
}
