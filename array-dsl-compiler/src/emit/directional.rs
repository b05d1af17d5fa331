//! Derivatives along directions: what hands a kernel's arguments, as plain tuples of arrays, to the runtime's comparison of
//! gradients and to its sparse matrices.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::host::{FROM_PARTS, Host, INTO_PARTS, VIEW, Variant, tokens};
use super::signature::{Leaf, Shape, Types};
use super::structure::{self, Opened, opened};
use crate::bulk::ArrayId;

/// The most arrays that the runtime's tuples hold.
const MOST_ARRAYS: usize = 12;

/// A kernel with `vjp` and `jvp`, and perhaps `hvp`: its differentiable arrays as one tuple `x`, the float parts of its result as
/// another.
pub fn directional_impl(
    name: &Ident,
    v: &Variant,
    vjp: &Types,
    jvp: &Types,
    hvp: Option<&Types>,
) -> TokenStream {
    let h = Host { p: &v.cpu, types: &v.types };
    let active: Vec<ArrayId> =
        h.p.params.iter().filter(|q| q.active).flat_map(|q| q.arrays.leaves()).copied().collect();
    let (inputs, all_names) = (h.inputs(), h.names());
    let leaves: Vec<(ArrayId, &String)> = inputs
        .iter()
        .copied()
        .zip(&all_names)
        .filter(|(a, _)| h.elem(*a).is_float() && active.contains(a))
        .collect();
    let outputs = v.types.result.present().iter().filter(|l| l.elem.is_float()).count();
    if leaves.len() > MOST_ARRAYS || outputs > MOST_ARRAYS {
        return TokenStream::new();
    }
    let record = &mut |r: usize, parts: String| format!("&<__Record{r} as {FROM_PARTS}({parts})");
    // The k-th array of a tuple as an argument; what is absent from an argument is not looked at.
    let part = |from: &str, k: usize, l: &Leaf, inside: bool| match (l.absent, l.rank, inside) {
        (Some(_), 0, _) => format!("{}::default()", l.elem),
        (Some(_), r, _) => {
            let (array, dim) = ("__rt::ndarray::Array", format!("__rt::ndarray::Ix{r}"));
            format!("{array}::<{}, {dim}>::default(<{dim} as ::core::default::Default>::default())", l.elem)
        }
        (None, 0, _) => format!("{from}.{k}"),
        (None, _, false) => format!("&{from}.{k}"),
        (None, _, true) => format!("{from}.{k}.clone()"),
    };
    // The kernel's own arguments, from `x` where they are differentiable.
    let mut at = 0;
    let own = |l: &Leaf, inside: bool| {
        let a = inputs[at];
        at += 1;
        match (leaves.iter().position(|l| l.0 == a), l.rank > 0 && inside) {
            (Some(k), _) => part("x", k, l, inside),
            (None, false) => format!("p{}", a.0),
            (None, true) => format!("p{}.to_owned()", a.0),
        }
    };
    let mut own = own;
    let arguments: String =
        v.types.args.iter().map(|s| structure::text(s, &mut own, record) + ", ").collect();
    // Those that a derivative takes beside them, from a tuple.
    let mut more = |types: &Types, from: &str| -> String {
        let mut k = 0;
        let mut leaf = |l: &Leaf, inside: bool| {
            let text = part(from, k, l, inside);
            k += usize::from(l.absent.is_none());
            text
        };
        let more = types.args.iter().skip(v.types.args.len());
        more.map(|s| structure::text(s, &mut leaf, record) + ", ").collect()
    };
    let (cotangents, tangents) = (more(vjp, "c"), more(jvp, "t"));
    let seeds = hvp.map(|types| more(types, "t"));
    let point: String = leaves
        .iter()
        .map(|(a, _)| if h.rank(*a) == 0 { format!("p{}, ", a.0) } else { format!("p{}.to_owned(), ", a.0) })
        .collect();
    let names: String = leaves.iter().map(|(_, n)| format!("{n:?}, ")).collect();
    // The float parts of a result.
    let floats = |s: &Shape, letter: &str| {
        let mut k = 0;
        let mut name = |_, l: &Leaf| {
            if !l.elem.is_float() {
                return "_".to_string();
            }
            k += 1;
            format!("{letter}{}", k - 1)
        };
        let Opened { pattern, lets } = opened(&[s], INTO_PARTS, 0, &mut name).remove(0);
        let all: String = (0..k).map(|k| format!("{letter}{k}, ")).collect();
        (pattern, lets, all)
    };
    let second = |types: &Types| match &types.result {
        Shape::Tuple(parts) => parts.last().cloned().unwrap_or(Shape::Tuple(Vec::new())),
        other => other.clone(),
    };
    let (value, open_value, values) = floats(&v.types.result, "y");
    let (gradient, open_gradient, gradients) = floats(&second(vjp), "g");
    let (slope, open_slope, slopes) = floats(&second(jvp), "s");
    let (pattern, open) = h.pattern(VIEW);
    let kernel = &*h.p.name;
    let body = tokens(&format!(
        "let {pattern} = args;\n{open}\
         let x = ({point});\n\
         __rt::directional::Visit::visit(__visitor, {kernel:?}, &[{names}], &x,\n\
         |x| {{ let {value} = <Self as __rt::host::Kernel>::run(({arguments}))?; {open_value} ::core::result::Result::Ok(({values})) }},\n\
         |x, c| {{ let (_, {gradient}) = <<Self as __rt::host::HasVjp>::Vjp as __rt::host::Kernel>::run(({arguments}{cotangents}))?; {open_gradient} ::core::result::Result::Ok(({gradients})) }},\n\
         |x, t| {{ let (_, {slope}) = <<Self as __rt::host::HasJvp>::Jvp as __rt::host::Kernel>::run(({arguments}{tangents}))?; {open_slope} ::core::result::Result::Ok(({slopes})) }})\n",
    ));
    let products = hvp.zip(seeds).map(|(types, seeds)| {
        let (bend, open_bend, bends) = floats(&types.result, "b");
        let body = tokens(&format!(
            "let {pattern} = args;\n{open}\
             let x = ({point});\n\
             __rt::sparse::hessian({kernel:?}, __coloring, &x, |t| {{ let {bend} = <<Self as __rt::host::HasHvp>::Hvp as __rt::host::Kernel>::run(({arguments}{seeds}))?; {open_bend} ::core::result::Result::Ok(({bends})) }})\n"
        ));
        quote! {
            impl __rt::directional::HasSparseHessian for #name {
                #[inline]
                fn products(
                    __coloring: &__rt::sparse::Coloring,
                    __args: Self::Args<'_>,
                ) -> ::core::result::Result<__rt::sparse::SparseMatrix, __rt::Error> {
                    #body
                }
            }
        }
    });
    let call = sparse_call(&v.types);
    quote! {
        impl __rt::directional::Directional for #name {
            #call
            fn visit<V: __rt::directional::Visit>(
                __args: Self::Args<'_>,
                __visitor: V,
            ) -> ::core::result::Result<V::Output, __rt::Error> {
                #body
            }
        }
        #products
    }
}

/// What takes a kernel's arguments one by one and gives a sparse matrix.
pub fn sparse_call(types: &Types) -> TokenStream {
    let plain = types.arguments(&quote!(), false);
    let names: Vec<Ident> =
        (0..plain.len()).map(|i| Ident::new(&format!("__p{i}"), Span::mixed_site())).collect();
    quote! {
        type SparseCall = dyn ::core::ops::Fn(#(#plain),*) -> __rt::sparse::SparseMatrix
            + ::core::marker::Send
            + ::core::marker::Sync;
        #[inline]
        fn sparse_call(
            __run: __rt::directional::SparseRun<Self>,
        ) -> ::std::boxed::Box<Self::SparseCall> {
            ::std::boxed::Box::new(move |#(#names: #plain),*| match __run((#(#names,)*)) {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => ::core::panic!("{}", __error),
            })
        }
    }
}
