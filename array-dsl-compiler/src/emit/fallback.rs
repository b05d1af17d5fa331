//! What stands for a kernel with errors, so that its callers are not flooded with more: the unit struct with the
//! declared signature, and derivatives of the types that the kernel's would have. Nothing here ever runs.
//!
//! ```text
//! args                     parameters in order
//! active                   float parts of the parameters without #[no_grad]; a lone one bare, several as a tuple
//! grad, value_and_grad     args -> active;  args -> (result, active)        if the result is one float
//! hvp                      args, active.. -> active                         likewise
//! vjp                      args, float parts of the result -> (result, active)
//! jvp                      args, active.. -> (result, float parts of the result)
//! jacobian, hessian        args -> for each float part of the result (of the gradient), active with its dimensions before
//! vmap                     args -> result, all with one more dimension
//! ```
//!
//! Without types that can be understood there is only the unit struct.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;

use crate::diagnostics::Diagnostics;
use crate::syntax::{self, ast};
use crate::ty::{Elem, Tree};

/// Element type and rank of an argument or a result.
type Leaf = (Elem, usize);

/// The types of a function.
struct Signature {
    args: Vec<Tree<Leaf>>,
    /// The float parts of the differentiable parameters.
    active: Vec<Tree<Leaf>>,
    result: Tree<Leaf>,
}

/// The items that stand for a kernel with errors.
pub fn items(item: &syn::ItemFn) -> TokenStream {
    let (vis, name) = (&item.vis, &item.sig.ident);
    let implementations = signature(item).map(|s| {
        let items = implementations(name, &s);
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
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, Default)]
        #vis struct #name;
        #implementations
    }
}

/// The declared types, if all of them are understood.
fn signature(item: &syn::ItemFn) -> Option<Signature> {
    let f = syntax::parse_function(item, &mut Diagnostics::default());
    let args = f.params.iter().map(|p| leaves(&p.ty, 0)).collect::<Option<Vec<_>>>()?;
    let active =
        f.params.iter().zip(&args).filter(|(p, _)| !p.no_grad).filter_map(|(_, t)| floats(t)).collect();
    Some(Signature { args, active, result: leaves(&f.result, 0)? })
}

/// The structure of a type under `rank` dimensions; an array of tuples is a tuple of arrays.
fn leaves(ty: &ast::Type, rank: usize) -> Option<Tree<Leaf>> {
    match &ty.kind {
        ast::TypeKind::Scalar(elem) => Some(Tree::Leaf((*elem, rank))),
        ast::TypeKind::Array(inner, _) => leaves(inner, rank + 1),
        ast::TypeKind::Tuple(parts) => {
            Some(Tree::Tuple(parts.iter().map(|t| leaves(t, rank)).collect::<Option<_>>()?))
        }
        ast::TypeKind::Infer => None,
    }
}

/// The float parts in the same structure, if there are any.
fn floats(t: &Tree<Leaf>) -> Option<Tree<Leaf>> {
    match t {
        Tree::Leaf((elem, _)) => elem.is_float().then(|| t.clone()),
        Tree::Tuple(ts) => {
            let parts: Vec<Tree<Leaf>> = ts.iter().filter_map(floats).collect();
            (!parts.is_empty()).then_some(Tree::Tuple(parts))
        }
    }
}

fn implementations(name: &Ident, s: &Signature) -> TokenStream {
    let mut out = kernel(name, &s.args, &s.result);
    if s.active.is_empty() {
        return out;
    }
    let with = |more: &[Tree<Leaf>]| [s.args.as_slice(), more].concat();
    let gradient = match s.active.as_slice() {
        [one] => one.clone(),
        several => Tree::Tuple(several.to_vec()),
    };
    let beside = |t: &Tree<Leaf>| Tree::Tuple(vec![s.result.clone(), t.clone()]);
    let mut derived = Vec::new();
    let batch = |t: &Tree<Leaf>| t.map(&mut |(elem, rank)| (*elem, rank + 1));
    derived.push(("HasVmap", "Vmap", s.args.iter().map(batch).collect(), batch(&s.result)));
    if let Tree::Leaf((elem, 0)) = s.result
        && elem.is_float()
    {
        derived.push(("HasGrad", "Grad", s.args.clone(), gradient.clone()));
        derived.push(("HasValueAndGrad", "ValueAndGrad", s.args.clone(), beside(&gradient)));
        derived.push(("HasHvp", "Hvp", with(&s.active), gradient.clone()));
        derived.push(("HasHessian", "Hessian", s.args.clone(), matrices(&gradient, &gradient)));
    }
    if let Some(floats) = floats(&s.result) {
        let cotangents: Vec<Tree<Leaf>> = floats.leaves().into_iter().map(|l| Tree::Leaf(*l)).collect();
        derived.push(("HasVjp", "Vjp", with(&cotangents), beside(&gradient)));
        derived.push(("HasJvp", "Jvp", with(&s.active), beside(&floats)));
        derived.push(("HasJacobian", "Jacobian", s.args.clone(), matrices(&floats, &gradient)));
        out.extend(quote! {
            impl __rt::check::CheckGrad for #name {
                fn check(_: Self::Args<'_>) -> ::core::result::Result<__rt::check::GradientCheck, __rt::Error> {
                    ::core::unreachable!()
                }
            }
        });
    }
    for (has, assoc, args, result) in derived {
        let derivative = format_ident!("__{}_{assoc}", name.unraw());
        let (has, assoc) = (Ident::new(has, Span::mixed_site()), Ident::new(assoc, Span::mixed_site()));
        out.extend(quote! {
            #[derive(Clone, Copy, Debug, Default)]
            pub struct #derivative;
            impl __rt::host::#has for #name {
                type #assoc = #derivative;
            }
        });
        out.extend(kernel(&derivative, &args, &result));
        // A gradient that is one float has a gradient of the same type.
        if has == "HasGrad" && matches!(result, Tree::Leaf((_, 0))) {
            out.extend(quote! {
                impl __rt::host::HasGrad for #derivative {
                    type Grad = #derivative;
                }
            });
        }
    }
    out
}

/// For each part of `rows`, the parts of `columns` with the dimensions of both.
fn matrices(rows: &Tree<Leaf>, columns: &Tree<Leaf>) -> Tree<Leaf> {
    let mut parts: Vec<Tree<Leaf>> = rows
        .leaves()
        .into_iter()
        .map(|(elem, rank)| columns.map(&mut |(_, more)| (*elem, rank + more)))
        .collect();
    if parts.len() == 1 { parts.remove(0) } else { Tree::Tuple(parts) }
}

/// A kernel of these types.
fn kernel(name: &Ident, args: &[Tree<Leaf>], result: &Tree<Leaf>) -> TokenStream {
    let text = name.to_string();
    let types = |lifetime: TokenStream, gpu: bool| -> Vec<TokenStream> {
        args.iter().map(|t| structure(t, &|l| argument(l, &lifetime, gpu))).collect()
    };
    let (plain, host, device) = (types(quote!(), false), types(quote!('a), false), types(quote!('a), true));
    let ignored = args.iter().map(|_| quote!(_));
    let output = structure(result, &|(elem, rank)| match rank {
        0 => elem_type(elem),
        rank => {
            let (elem, dim) = (elem_type(elem), dimension(rank));
            quote!(__rt::ndarray::Array<#elem, #dim>)
        }
    });
    let gpu_output = structure(result, &|(elem, rank)| {
        let (elem, dim) = (elem_type(elem), dimension(rank));
        quote!(__rt::gpu::GpuArray<#elem, #dim>)
    });
    quote! {
        impl __rt::host::Kernel for #name {
            const NAME: &'static str = #text;
            const EXPLAIN: &'static str = "";
            type Args<'a> = (#(#host,)*);
            type Output = #output;
            fn run(_: Self::Args<'_>) -> ::core::result::Result<Self::Output, __rt::Error> {
                ::core::unreachable!()
            }
        }
        impl ::core::ops::Deref for #name {
            type Target = fn(#(#plain),*) -> #output;
            fn deref(&self) -> &Self::Target {
                const CALL: fn(#(#plain),*) -> #output = |#(#ignored),*| ::core::unreachable!();
                &CALL
            }
        }
        __rt::if_gpu! {
            impl __rt::gpu::GpuKernel for #name {
                type GpuArgs<'a> = (#(#device,)*);
                type GpuOutput = #gpu_output;
                fn run_gpu(
                    _: &__rt::gpu::Gpu,
                    _: Self::GpuArgs<'_>,
                ) -> ::core::result::Result<Self::GpuOutput, __rt::Error> {
                    ::core::unreachable!()
                }
            }
        }
    }
}

/// A type that follows the structure of a tree.
fn structure(t: &Tree<Leaf>, leaf: &dyn Fn(Leaf) -> TokenStream) -> TokenStream {
    match t {
        Tree::Leaf(l) => leaf(*l),
        Tree::Tuple(ts) => {
            let parts = ts.iter().map(|t| structure(t, leaf));
            quote!((#(#parts,)*))
        }
    }
}

fn argument((elem, rank): Leaf, lifetime: &TokenStream, gpu: bool) -> TokenStream {
    let (elem, dim) = (elem_type(elem), dimension(rank));
    match (rank, gpu) {
        (0, _) => elem,
        (_, false) => quote!(&#lifetime __rt::ndarray::ArrayRef<#elem, #dim>),
        (_, true) => quote!(&#lifetime __rt::gpu::GpuArray<#elem, #dim>),
    }
}

fn elem_type(elem: Elem) -> TokenStream {
    Ident::new(elem.name(), Span::mixed_site()).to_token_stream()
}

fn dimension(rank: usize) -> TokenStream {
    let dim = format_ident!("Ix{rank}");
    quote!(__rt::ndarray::#dim)
}
