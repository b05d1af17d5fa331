//! Derivatives along directions: what hands a kernel's arguments, as plain tuples of arrays, to the runtime's comparison of
//! gradients and to its sparse matrices.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Index;

use super::super::signature::{Leaf, Shape, Types};
use super::records::Conversion;
use super::types::{dimension, elem_type};
use super::{Entry, Item, next};
use crate::bulk::ArrayId;
use crate::derive::Derivative;
use crate::internal;
use crate::target::Target;

/// The most arrays that the runtime's tuples hold.
const MOST_ARRAYS: usize = 12;

impl Entry<'_> {
    /// The traits of a kernel with `vjp` and `jvp`, and perhaps `hvp`: its differentiable arrays are one tuple, `__x`, the float parts
    /// of its result another.
    pub(super) fn directional(
        &self,
        item: &Item,
        vjp: &Types,
        jvp: &Types,
        hvp: Option<&Types>,
    ) -> TokenStream {
        let outputs = self.types.result.present().iter().filter(|l| l.elem.is_differentiable()).count();
        let point = Point::of(self);
        if point.active.iter().flatten().count().max(outputs) > MOST_ARRAYS {
            return TokenStream::new();
        }
        let (generics, ty) = (item.generics(), item.ty());
        let (call, visit) = (sparse_call(self.types), point.visit(vjp, jvp));
        let products = hvp.map(|types| {
            let products = point.products(types);
            quote! {
                impl #generics __rt::directional::HasSparseHessian for #ty {
                    #[inline]
                    fn products(
                        __coloring: &__rt::sparse::Coloring,
                        __args: Self::Args<'_>,
                    ) -> ::core::result::Result<__rt::sparse::SparseMatrix, __rt::Error> {
                        #products
                    }
                }
            }
        });
        quote! {
            impl #generics __rt::directional::Directional for #ty {
                #call
                fn visit<__V: __rt::directional::Visit>(
                    __args: Self::Args<'_>,
                    __visitor: __V,
                ) -> ::core::result::Result<__V::Output, __rt::Error> {
                    #visit
                }
            }
            #products
        }
    }
}

/// The differentiable arrays of a kernel, among its arguments.
struct Point<'a> {
    kernel: &'a Entry<'a>,
    /// The name of each array of the arguments that is differentiable.
    active: Vec<Option<String>>,
}

impl<'a> Point<'a> {
    fn of(entry: &'a Entry<'a>) -> Point<'a> {
        let params = entry.program.params.iter().filter(|q| q.active);
        let active: Vec<ArrayId> = params.flat_map(|q| q.arrays.leaves()).copied().collect();
        let named = entry.inputs().into_iter().zip(entry.names());
        let arguments = entry.arguments();
        let arrays = named.filter(|(a, _)| arguments.contains(a));
        let is_active = |a: ArrayId| entry.elem(a).is_float() && active.contains(&a);
        let active = arrays.map(|(a, name)| is_active(a).then_some(name)).collect();
        Point { kernel: entry, active }
    }

    /// The arrays of the arguments, and where they are once these are opened.
    fn arrays(&self) -> Vec<(Leaf, TokenStream)> {
        let part = |(i, s): (usize, &Shape)| {
            let i = Index::from(i);
            s.leaves(&quote!(__args.#i))
        };
        self.kernel.types.args.iter().enumerate().flat_map(part).collect()
    }

    /// Opens the arguments, and binds the differentiable arrays among them: `__x`.
    fn opened(&self) -> TokenStream {
        let types = self.kernel.types;
        let open = types.args.iter().any(Shape::has_records).then(|| {
            let open = Conversion::Open(Target::Cpu).apply_all(&types.args, &quote!(__args));
            quote!(let __args = #open;)
        });
        let arrays = self.arrays().into_iter().zip(&self.active).filter(|(_, active)| active.is_some());
        let arrays = arrays.map(|((l, at), _)| if l.rank == 0 { at } else { quote!(#at.to_owned()) });
        quote! {
            #open
            let __x = (#(#arrays,)*);
        }
    }

    /// The kernel's own arguments, from `__x` where they are differentiable.
    fn arguments(&self) -> TokenStream {
        let mut arrays = self.arrays().into_iter().zip(&self.active);
        let mut k = 0;
        let mut leaf = |l: &Leaf, in_record: bool| match next(&mut arrays) {
            (_, Some(_)) => {
                k += 1;
                component(&format_ident!("__x"), k - 1, l, in_record)
            }
            ((_, at), None) if l.rank > 0 && in_record => quote!(#at.to_owned()),
            ((_, at), None) => at,
        };
        let args = self.kernel.types.args.iter().map(|s| s.map(&mut leaf, &mut record));
        quote!(#(#args,)*)
    }

    /// Those that a derivative takes beside them, from a tuple.
    fn directions(&self, derivative: &Types, from: &Ident) -> TokenStream {
        let mut k = 0;
        let mut leaf = |l: &Leaf, in_record: bool| {
            let value = component(from, k, l, in_record);
            k += usize::from(l.absent.is_none());
            value
        };
        let more = derivative.args.iter().skip(self.kernel.types.args.len());
        let more = more.map(|s| s.map(&mut leaf, &mut record));
        quote!(#(#more,)*)
    }

    /// Shows the visitor the kernel and both derivatives as functions of `__x`.
    fn visit(&self, vjp: &Types, jvp: &Types) -> TokenStream {
        let (kernel, opened, arguments) = (&*self.kernel.program.name, self.opened(), self.arguments());
        let names = self.active.iter().flatten();
        let value = quote!(<Self as __rt::host::Kernel>::run((#arguments))?);
        let value = floats(&self.kernel.types.result, &value, false);
        let derived = |d: Derivative, types: &Types, direction: &str| {
            let (direction, (has, assoc)) = (format_ident!("__{direction}"), super::trait_names(d));
            let of_cotangents = d == Derivative::Vjp;
            let conjugated = (of_cotangents && types.args.iter().any(Shape::has_complex)).then(|| {
                let parts =
                    self.kernel.types.result.present().into_iter().filter(|l| l.elem.is_differentiable());
                let parts = parts.enumerate().map(|(k, l)| {
                    let k = Index::from(k);
                    match l.elem.is_complex() {
                        true => quote!(__rt::complex::Conjugate::conjugate(&#direction.#k)),
                        false => quote!(::core::clone::Clone::clone(&#direction.#k)),
                    }
                });
                quote!(let #direction = &(#(#parts,)*);)
            });
            let more = self.directions(types, &direction);
            let run =
                quote!(<<Self as __rt::host::#has>::#assoc as __rt::host::Kernel>::run((#arguments #more))?);
            // The first part of its result is the kernel's.
            let floats = floats(&second(types), &quote!(#run.1), of_cotangents);
            quote!(|__x, #direction| {
                #conjugated
                #floats
            })
        };
        let gradient = derived(Derivative::Vjp, vjp, "cotangent");
        let slope = derived(Derivative::Jvp, jvp, "tangent");
        quote! {
            #opened
            __rt::directional::Visit::visit(
                __visitor, #kernel, &[#(#names),*], &__x, |__x| #value, #gradient, #slope
            )
        }
    }

    /// The sparse Hessian, of products with the directions of a coloring.
    fn products(&self, hvp: &Types) -> TokenStream {
        let (kernel, opened, arguments) = (&*self.kernel.program.name, self.opened(), self.arguments());
        let tangents = self.directions(hvp, &format_ident!("__tangent"));
        let run =
            quote!(<<Self as __rt::host::HasHvp>::Hvp as __rt::host::Kernel>::run((#arguments #tangents))?);
        let product = floats(&hvp.result, &run, true);
        quote! {
            #opened
            __rt::sparse::hessian(#kernel, __coloring, &__x, |__tangent| #product)
        }
    }
}

/// A record as an argument.
fn record(r: usize, parts: TokenStream) -> TokenStream {
    let record = Conversion::Make(Target::Cpu).call(r, &parts);
    quote!(&#record)
}

/// The k-th array of a tuple as an argument; what is absent from an argument is not looked at.
fn component(from: &Ident, k: usize, l: &Leaf, in_record: bool) -> TokenStream {
    let (k, elem) = (Index::from(k), elem_type(l.elem));
    match (l.absent, l.rank, in_record) {
        (Some(_), 0, _) => quote!(#elem::default()),
        (Some(_), rank, _) => {
            let dim = dimension(rank);
            quote!(__rt::ndarray::Array::<#elem, #dim>::default(<#dim as ::core::default::Default>::default()))
        }
        (None, 0, _) => quote!(#from.#k),
        (None, _, false) => quote!(&#from.#k),
        (None, _, true) => quote!(#from.#k.clone()),
    }
}

/// The second part of a derivative's result.
fn second(types: &Types) -> Shape {
    match &types.result {
        Shape::Tuple(parts) if parts.len() == 2 => parts[1].clone(),
        other => internal::broken(format!("a derivative beside its value has the result {other:?}")),
    }
}

/// The float parts of a value as a tuple, in a `Result`. Complex cotangents are conjugated: to the runtime all numbers are real.
fn floats(s: &Shape, value: &TokenStream, are_cotangents: bool) -> TokenStream {
    let opened = Conversion::TakeApart.apply(s, &quote!(__y));
    let open = s.has_records().then(|| quote!(let __y = #opened;));
    let parts = s.leaves(&quote!(__y)).into_iter();
    let parts = parts.filter(|(l, _)| l.absent.is_none() && l.elem.is_differentiable());
    let parts = parts.map(|(l, at)| match l.elem.is_complex() && are_cotangents {
        true => quote!(__rt::complex::Conjugate::conjugate(&#at)),
        false => at,
    });
    quote! {{
        let __y = #value;
        #open
        ::core::result::Result::Ok((#(#parts,)*))
    }}
}

/// What takes a kernel's arguments one by one and gives a sparse matrix.
pub fn sparse_call(types: &Types) -> TokenStream {
    let args = types.arguments(&quote!(), Target::Cpu);
    let names: Vec<Ident> = (0..args.len()).map(|i| format_ident!("__p{i}")).collect();
    quote! {
        type SparseCall = dyn ::core::ops::Fn(#(#args),*) -> __rt::sparse::SparseMatrix
            + ::core::marker::Send
            + ::core::marker::Sync;
        #[inline]
        fn sparse_call(
            __run: __rt::directional::SparseRun<Self>,
        ) -> ::std::boxed::Box<Self::SparseCall> {
            ::std::boxed::Box::new(move |#(#names: #args),*| match __run((#(#names,)*)) {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => ::core::panic!("{}", __error),
            })
        }
    }
}
