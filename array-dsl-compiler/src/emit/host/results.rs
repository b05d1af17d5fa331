//! Results: from the arrays that the program computes to the tuple that the code gives.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::super::constants;
use super::super::signature::{Leaf, Like};
use super::types::{dimension, elem_type};
use super::{Entry, array, parameter, result};
use crate::bulk::ArrayId;
use crate::dim::{Dim, SizeAtom};
use crate::loops::Home;
use crate::target::Target;

/// The results, where no array of the program is meant.
fn owner() -> TokenStream {
    quote!(SIGNATURE.owner("the result"))
}

impl Entry<'_> {
    /// The arrays of the result, in order.
    pub(super) fn results(&self) -> Vec<ArrayId> {
        self.program.result.leaves().into_iter().copied().collect()
    }

    /// Binds the results on the CPU. Each memory leaves once, as the last result that has it; what else shares it is a copy, and all
    /// copies are made before.
    pub(super) fn body_results(&self) -> TokenStream {
        let results = self.results();
        let (mut copies, mut moves) = (Vec::new(), Vec::new());
        for (i, a) in results.iter().enumerate() {
            let (r, root) = (result(i), self.program.root(*a));
            let elements = array(root);
            if self.rank(*a) == 0 {
                moves.push(quote!(let #r = #elements;));
                continue;
            }
            let is_last =
                !results[i + 1..].iter().any(|b| self.rank(*b) > 0 && self.program.root(*b) == root);
            let is_moved = is_last && self.program.arrays[root.0 as usize].home == Home::Heap;
            let owner = owner();
            let data = match is_moved {
                true => quote!(#elements),
                false => quote!(given.copied(#i, #owner, &#elements[..])?),
            };
            let (elem, dim) = (elem_type(self.elem(*a)), dimension(self.rank(*a)));
            let dims = self.dims(*a).iter().map(|d| self.extent(d));
            let shaped = quote!(let #r = #owner.shaped::<#elem, #dim>(#data, &[#(#dims),*])?;);
            if is_moved { moves.push(shaped) } else { copies.push(shaped) }
        }
        quote!(#(#copies)* #(#moves)*)
    }

    /// The tuple of the results, from the i-th array that is there and whether it is inside a record. What is absent is zero, and has
    /// the shape of another array.
    pub(super) fn result(&self, target: Target, present: impl Fn(usize, bool) -> TokenStream) -> TokenStream {
        let inputs = self.inputs();
        let (mut i, mut zeros) = (0, Vec::new());
        let tuple = self.types.result.open(&mut |l, in_record| {
            let Some(like) = l.absent else {
                i += 1;
                return present(i - 1, in_record);
            };
            let like = match like {
                Like::Argument(k) => parameter(inputs[k]),
                Like::Result(k) => result(k),
            };
            let (z, zero) = (format_ident!("z{}", zeros.len()), zero(l, &quote!(#like), target));
            // Before the arrays move into the result.
            zeros.push(quote!(let #z = #zero;));
            quote!(#z)
        });
        quote!(#(#zeros)* ::core::result::Result::Ok(#tuple))
    }

    /// A dimension as an `i64`: saturating, so that an absurd size stays absurd until its allocation is refused.
    fn extent(&self, d: &Dim) -> TokenStream {
        let terms = d.terms().map(|(monomial, c)| {
            monomial.iter().fold(quote!((#c)), |term, a| {
                let atom = match a {
                    SizeAtom::Name(n) => format_ident!("n{}", constants::size(self.program, n)),
                    SizeAtom::Scalar(s) => array(self.program.root(ArrayId(*s))),
                };
                quote!(#term.saturating_mul(#atom))
            })
        });
        terms.reduce(|sum, term| quote!(#sum.saturating_add(#term))).unwrap_or(quote!(0i64))
    }
}

/// Zeros of the shape of another array.
fn zero(l: &Leaf, like: &TokenStream, target: Target) -> TokenStream {
    let (elem, dim, owner) = (elem_type(l.elem), dimension(l.rank), owner());
    match (l.rank, target) {
        (0, Target::Cpu) => quote!(::core::default::Default::default()),
        (_, Target::Cpu) => quote!(#owner.zeros_like::<#elem, _, #dim>(&#like)?),
        (0, Target::Gpu) => quote!(__rt::gpu::GpuScalar::<#elem>::from(#elem::default())),
        (_, Target::Gpu) => quote!(__rt::gpu::zeros::<#elem, #dim>(gpu, #like.raw_dim())?),
    }
}
