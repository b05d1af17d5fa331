//! `check_grad` of a kernel: what hands its arguments, as plain tuples of arrays, to the runtime's comparison.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::host::{FROM_PARTS, Host, INTO_PARTS, VIEW, Variant, tokens};
use super::signature::{Leaf, Shape, Types};
use super::structure::{self, Opened, opened};
use crate::bulk::ArrayId;

/// The most arrays that tuples of the runtime's comparison hold.
const CHECKED_ARRAYS: usize = 12;

/// `check_grad` of a kernel with `vjp` and `jvp`: its differentiable arrays as one tuple `x`, the float parts of its
/// result as another.
pub fn check_impl(name: &Ident, v: &Variant, vjp: &Types, jvp: &Types) -> TokenStream {
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
    if leaves.len() > CHECKED_ARRAYS || outputs > CHECKED_ARRAYS {
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
    let body = tokens(&format!(
        "let {pattern} = args;\n{open}\
         let x = ({point});\n\
         __rt::check::compare({kernel:?}, &[{names}], &x,\n\
         |x| {{ let {value} = <Self as __rt::host::Kernel>::run(({arguments}))?; {open_value} ::core::result::Result::Ok(({values})) }},\n\
         |x, c| {{ let (_, {gradient}) = <<Self as __rt::host::HasVjp>::Vjp as __rt::host::Kernel>::run(({arguments}{cotangents}))?; {open_gradient} ::core::result::Result::Ok(({gradients})) }},\n\
         |x, t| {{ let (_, {slope}) = <<Self as __rt::host::HasJvp>::Jvp as __rt::host::Kernel>::run(({arguments}{tangents}))?; {open_slope} ::core::result::Result::Ok(({slopes})) }})\n",
        kernel = &*h.p.name,
    ));
    quote! {
        impl __rt::check::CheckGrad for #name {
            fn check(__args: Self::Args<'_>) -> ::core::result::Result<__rt::check::GradientCheck, __rt::Error> {
                #body
            }
        }
    }
}
