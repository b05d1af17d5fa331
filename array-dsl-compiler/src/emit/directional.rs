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
    let outputs = v.types.result.present().iter().filter(|l| l.elem.is_float()).count();
    let point = Point::of(v);
    if point.leaves.len().max(outputs) > MOST_ARRAYS {
        return TokenStream::new();
    }
    let visit = point.visit(vjp, jvp);
    let products = hvp.map(|types| {
        let body = point.products(types);
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
                #visit
            }
        }
        #products
    }
}

/// The differentiable arrays of a kernel.
struct Point<'a> {
    h: Host<'a>,
    inputs: Vec<ArrayId>,
    /// They, in order, with their names.
    leaves: Vec<(ArrayId, String)>,
}

impl<'a> Point<'a> {
    fn of(v: &'a Variant) -> Point<'a> {
        let h = Host { p: &v.cpu, types: &v.types };
        let active: Vec<ArrayId> =
            h.p.params.iter().filter(|q| q.active).flat_map(|q| q.arrays.leaves()).copied().collect();
        let (inputs, names) = (h.inputs(), h.names());
        let all = inputs.iter().copied().zip(names);
        let leaves = all.filter(|(a, _)| h.elem(*a).is_float() && active.contains(a)).collect();
        Point { h, inputs, leaves }
    }

    /// The kernel's own arguments, from `x` where they are differentiable.
    fn arguments(&self) -> String {
        let mut at = 0;
        let mut own = |l: &Leaf, inside: bool| {
            let a = self.inputs[at];
            at += 1;
            match (self.leaves.iter().position(|l| l.0 == a), l.rank > 0 && inside) {
                (Some(k), _) => part("x", k, l, inside),
                (None, false) => format!("p{}", a.0),
                (None, true) => format!("p{}.to_owned()", a.0),
            }
        };
        let args = self.h.types.args.iter();
        args.map(|s| structure::text(s, &mut own, &mut record) + ", ").collect()
    }

    /// Those that a derivative takes beside them, from a tuple.
    fn directions(&self, derivative: &Types, from: &str) -> String {
        let mut k = 0;
        let mut leaf = |l: &Leaf, inside: bool| {
            let text = part(from, k, l, inside);
            k += usize::from(l.absent.is_none());
            text
        };
        let more = derivative.args.iter().skip(self.h.types.args.len());
        more.map(|s| structure::text(s, &mut leaf, &mut record) + ", ").collect()
    }

    /// Binds the kernel's arguments, and `x`.
    fn opened(&self) -> String {
        let (pattern, open) = self.h.pattern(VIEW);
        let array = |(a, _): &(ArrayId, String)| match self.h.rank(*a) {
            0 => format!("p{}, ", a.0),
            _ => format!("p{}.to_owned(), ", a.0),
        };
        let arrays: String = self.leaves.iter().map(array).collect();
        format!("let {pattern} = args;\n{open}let x = ({arrays});\n")
    }

    /// Shows the visitor the kernel and both derivatives as functions of `x`.
    fn visit(&self, vjp: &Types, jvp: &Types) -> TokenStream {
        let (kernel, opened, arguments) = (&*self.h.p.name, self.opened(), self.arguments());
        let (cotangents, tangents) = (self.directions(vjp, "c"), self.directions(jvp, "t"));
        let names: String = self.leaves.iter().map(|(_, n)| format!("{n:?}, ")).collect();
        let value = Floats::of(&self.h.types.result, "y");
        let (gradient, slope) = (Floats::of(&second(vjp), "g"), Floats::of(&second(jvp), "s"));
        let value = value.taken(&value.pattern, &format!("Self as __rt::host::Kernel>::run(({arguments}))"));
        let derived = |of: &Floats, name: &str, more: &str| {
            let pattern = format!("(_, {})", of.pattern);
            let run = format!(
                "<Self as __rt::host::Has{name}>::{name} as __rt::host::Kernel>::run(({arguments}{more}))"
            );
            of.taken(&pattern, &run)
        };
        let (gradient, slope) = (derived(&gradient, "Vjp", &cotangents), derived(&slope, "Jvp", &tangents));
        tokens(&format!(
            "{opened}__rt::directional::Visit::visit(__visitor, {kernel:?}, &[{names}], &x,\n\
             |x| {value},\n|x, c| {gradient},\n|x, t| {slope})\n"
        ))
    }

    /// The sparse Hessian, of products with the directions of a coloring.
    fn products(&self, hvp: &Types) -> TokenStream {
        let (kernel, opened, arguments) = (&*self.h.p.name, self.opened(), self.arguments());
        let seeds = self.directions(hvp, "t");
        let bend = Floats::of(&hvp.result, "b");
        let run =
            format!("<Self as __rt::host::HasHvp>::Hvp as __rt::host::Kernel>::run(({arguments}{seeds}))");
        let bend = bend.taken(&bend.pattern, &run);
        tokens(&format!("{opened}__rt::sparse::hessian({kernel:?}, __coloring, &x, |t| {bend})\n"))
    }
}

fn record(r: usize, parts: String) -> String {
    format!("&<__Record{r} as {FROM_PARTS}({parts})")
}

/// The k-th array of a tuple as an argument; what is absent from an argument is not looked at.
fn part(from: &str, k: usize, l: &Leaf, inside: bool) -> String {
    match (l.absent, l.rank, inside) {
        (Some(_), 0, _) => format!("{}::default()", l.elem),
        (Some(_), r, _) => {
            let (array, dim) = ("__rt::ndarray::Array", format!("__rt::ndarray::Ix{r}"));
            format!("{array}::<{}, {dim}>::default(<{dim} as ::core::default::Default>::default())", l.elem)
        }
        (None, 0, _) => format!("{from}.{k}"),
        (None, _, false) => format!("&{from}.{k}"),
        (None, _, true) => format!("{from}.{k}.clone()"),
    }
}

/// The second part of a derivative's result.
fn second(types: &Types) -> Shape {
    match &types.result {
        Shape::Tuple(parts) => parts.last().cloned().unwrap_or(Shape::Tuple(Vec::new())),
        other => other.clone(),
    }
}

/// The float parts of a result.
struct Floats {
    /// What binds them, or what they are in.
    pattern: String,
    /// What binds those that are in something.
    lets: String,
    /// They.
    all: String,
}

impl Floats {
    fn of(s: &Shape, letter: &str) -> Floats {
        let mut k = 0;
        let mut name = |_, l: &Leaf| {
            if !l.elem.is_float() {
                return "_".to_string();
            }
            k += 1;
            format!("{letter}{}", k - 1)
        };
        let Opened { pattern, lets } = opened(&[s], INTO_PARTS, 0, &mut name).remove(0);
        let all = (0..k).map(|k| format!("{letter}{k}, ")).collect();
        Floats { pattern, lets, all }
    }

    /// What takes them out of what a run gives.
    fn taken(&self, pattern: &str, run: &str) -> String {
        let Floats { lets, all, .. } = self;
        format!("{{ let {pattern} = <{run}?; {lets} ::core::result::Result::Ok(({all})) }}")
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
