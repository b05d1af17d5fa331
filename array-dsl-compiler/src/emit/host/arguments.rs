//! Arguments: the pattern that takes them apart, sizes bound from their shapes, their elements.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};

use super::super::signature::{Shape, Taken};
use super::super::wgsl;
use super::types::elem_type;
use super::{Entry, array, next, parameter};
use crate::bulk::ArrayId;
use crate::target::Target;
use crate::ty::is_constant;

impl Entry<'_> {
    /// All arrays of the parameters, in order.
    pub(super) fn inputs(&self) -> Vec<ArrayId> {
        self.program.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect()
    }

    /// Those that the host passes: not constants of the surrounding code.
    pub(super) fn arguments(&self) -> Vec<ArrayId> {
        let params = self.program.params.iter().filter(|q| !is_constant(&q.name));
        params.flat_map(|q| q.arrays.leaves()).copied().collect()
    }

    /// The names of all arrays of the parameters for messages: `x`, `p.0`, `net.w`.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut params = self.program.params.iter();
        for taken in self.types.taken() {
            let Taken::Argument(_, s) = taken else {
                names.push(next(&mut params).name.trim_end_matches('#').to_string());
                continue;
            };
            let parts = s.present().len();
            let first = next(&mut params);
            let mut found = first.arrays.leaves().len();
            // The parts of a record's cotangent are parameters of their own.
            let mut name = &*first.name;
            while found < parts {
                name = name.trim_end_matches(|c: char| c.is_ascii_digit());
                found += next(&mut params).arrays.leaves().len();
            }
            part_names(s, name, &mut names);
        }
        names
    }

    /// The pattern of the opened arguments, `p7` for array 7; what is absent is not looked at.
    pub(super) fn pattern(&self) -> TokenStream {
        let mut inputs = self.inputs().into_iter();
        let mut args = Vec::new();
        for taken in self.types.taken() {
            args.push(match taken {
                Taken::Argument(_, s) => s.open(&mut |l, _| match l.absent {
                    Some(_) => quote!(_),
                    None => parameter(next(&mut inputs)).to_token_stream(),
                }),
                Taken::Constant(..) => parameter(next(&mut inputs)).to_token_stream(),
            });
        }
        quote!((#(#args,)*))
    }

    /// The arrays of the parameters that are parts of records.
    pub(super) fn in_records(&self) -> Vec<ArrayId> {
        let (mut inputs, mut found) = (self.inputs().into_iter(), Vec::new());
        for taken in self.types.taken() {
            match taken {
                Taken::Argument(_, s) => s.visit(&mut |l, in_record| {
                    let input = l.absent.is_none().then(|| next(&mut inputs));
                    found.extend(input.filter(|_| in_record));
                }),
                Taken::Constant(..) => _ = next(&mut inputs),
            }
        }
        found
    }

    /// Binds the sizes: `atoms`. The integers of records on a device are downloaded for it.
    pub(super) fn atoms(&self, target: Target) -> TokenStream {
        let on_device = match target {
            Target::Cpu => Vec::new(),
            Target::Gpu => self.in_records(),
        };
        let shapes = self.inputs().into_iter().map(|a| match self.rank(a) {
            0 => quote!(&[]),
            _ => {
                let p = parameter(a);
                quote!(#p.shape())
            }
        });
        let scalars = wgsl::size_scalars(self.program).into_iter().map(|a| {
            let p = parameter(a);
            if on_device.contains(&a) { quote!(#p.item_async().await?) } else { quote!(#p) }
        });
        quote!(let atoms = __rt::entry::bind(&SIGNATURE, &[#(#shapes),*], &[#(#scalars),*])?;)
    }

    /// Binds what the statements for the CPU begin with: a variable for each size and each argument.
    pub(super) fn body_arguments(&self) -> TokenStream {
        let sizes = (0..self.program.sizes.len()).map(|k| {
            let n = format_ident!("n{k}");
            quote!(let #n: i64 = atoms[#k];)
        });
        let arrays = self.inputs().into_iter().zip(self.names()).map(|(a, name)| {
            let (p, held, elements) = (parameter(a), format_ident!("d{}", a.0), array(a));
            let elem = elem_type(self.elem(a));
            if self.rank(a) == 0 {
                return quote!(let #elements: #elem = #p;);
            }
            quote! {
                let #held = SIGNATURE.owner(#name).dense(#p)?;
                let #elements: &[#elem] = &#held[..];
            }
        });
        quote!(#(#sizes)* #(#arrays)*)
    }
}

/// The names of a structure's arrays that are there: `net.w`, `p.0`.
fn part_names(s: &Shape, name: &str, names: &mut Vec<String>) {
    match s {
        Shape::Leaf(l) => names.extend(l.absent.is_none().then(|| name.to_string())),
        Shape::Tuple(parts) => {
            parts.iter().enumerate().for_each(|(i, p)| part_names(p, &format!("{name}.{i}"), names));
        }
        Shape::Record(_, fields) => {
            fields.iter().flatten().for_each(|(f, p)| part_names(p, &format!("{name}.{f}"), names));
        }
    }
}
