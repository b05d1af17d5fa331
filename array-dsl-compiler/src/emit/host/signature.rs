//! `SIGNATURE`: the sizes and shapes of arguments and results, as the runtime's entry binds and checks them.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::super::constants;
use super::super::signature::{Leaf, Like};
use super::super::wgsl;
use super::{Entry, next};
use crate::bulk::{ArrayId, Strip};
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::ty::Name;

impl Entry<'_> {
    /// The static `SIGNATURE`.
    pub(super) fn signature(&self) -> TokenStream {
        let p = self.program;
        let kernel = base_name(&p.name);
        let sizes = p.sizes.iter().map(|s| &**s);
        let strips = p.strips.iter().map(|s| self.strip(s));
        let arrays = self.inputs().into_iter().zip(self.names()).map(|(a, name)| {
            let dims = self.dims(a).iter().map(|d| {
                let (poly, text) = (self.poly(d), constants::shown(p, d));
                quote!((#poly, #text))
            });
            quote!(__rt::program::ArrayArg { name: #name, dims: &[#(#dims),*] })
        });
        let results = self.result_shapes();
        // That of its first parameter; without any, the first place of all.
        let place = p.params.iter().find_map(|q| p.places.get(q.loc.0 as usize)).or(p.places.first());
        let (file, line) = place.map_or(("", 0), |s| (&*s.file, s.line));
        quote! {
            pub static SIGNATURE: __rt::program::Signature = __rt::program::Signature {
                kernel: #kernel,
                sizes: &[#(#sizes),*],
                strips: &[#(#strips),*],
                arrays: &[#(#arrays),*],
                results: &[#(#results),*],
                file: #file,
                line: #line,
            };
        }
    }

    /// A loop over strips of directions.
    fn strip(&self, s: &Strip) -> TokenStream {
        let number = |name: &Name| Literal::usize_unsuffixed(constants::size(self.program, name));
        let (width, trips) = (number(&s.width), number(&s.trips));
        let (total, bytes) = (self.poly(&s.total), self.poly(&s.bytes));
        quote!(__rt::strip::Strip { at_once: #width, trips: #trips, total: #total, bytes: #bytes })
    }

    /// The dimensions of each array of the result, as far as the arguments tell them.
    fn result_shapes(&self) -> Vec<TokenStream> {
        let (inputs, results) = (self.inputs(), self.results());
        let (mut present, mut shapes) = (results.iter(), Vec::new());
        self.types.result.visit(&mut |l: &Leaf, _| {
            let array = match l.absent {
                None => next(&mut present),
                Some(Like::Argument(k)) => &inputs[k],
                Some(Like::Result(k)) => &results[k],
            };
            // The dimension of a complex number's parts is not the host's.
            let dims = self.dims(*array).iter().take(l.rank).map(|d| self.known(d));
            shapes.push(quote!(&[#(#dims),*]));
        });
        shapes
    }

    /// A dimension if the arguments tell it.
    fn known(&self, d: &Dim) -> TokenStream {
        let scalars = wgsl::size_scalars(self.program);
        let is_known = |a: &SizeAtom| !matches!(a, SizeAtom::Scalar(s) if !scalars.contains(&ArrayId(*s)));
        if !d.atoms().iter().all(is_known) {
            return quote!(::core::option::Option::None);
        }
        let poly = self.poly(d);
        quote!(::core::option::Option::Some(#poly))
    }

    /// A dimension as a `Poly`, of the atoms that entry binds: the named sizes, and the scalar arguments after them.
    fn poly(&self, d: &Dim) -> TokenStream {
        let terms = d.terms().map(|(monomial, c)| {
            let c = Literal::i64_unsuffixed(c);
            let atoms = monomial.iter().map(|a| Literal::usize_unsuffixed(self.atom(a)));
            quote!((#c, &[#(#atoms),*]))
        });
        quote!(__rt::program::Poly(&[#(#terms),*]))
    }

    fn atom(&self, a: &SizeAtom) -> usize {
        match a {
            SizeAtom::Name(n) => constants::size(self.program, n),
            SizeAtom::Scalar(s) => {
                let at = wgsl::size_scalars(self.program).iter().position(|x| x.0 == *s);
                self.program.sizes.len() + expect(at, || format!("the size `{a:?}` is no argument"))
            }
        }
    }
}

/// `f` of `grad(grad(f))`.
fn base_name(name: &str) -> &str {
    name.rsplit('(').next().map_or(name, |n| n.trim_end_matches(')'))
}
