//! What is converted at the border: records and complex numbers in arguments and results. The code of a kernel knows tuples only: a record is **opened** where it enters, into the tuple of
//! its parts, in which records in it are tuples too, and **made** of such a tuple where it leaves.
//!
//! ```text
//! __code::run((<__Record0 as Record>::view(__args.0), __args.1), ..)          a record and an array
//! <__Record0 as Record>::from_parts(__output.0)
//! ```
//!
//! Complex numbers are their parts, in one more dimension, in the same memory.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Index;

use super::super::signature::{Leaf, Shape};
use crate::target::Target;

impl Shape {
    /// Tokens of the same structure, those of tuples in parentheses. `leaf` gets each array or scalar and whether it is inside a
    /// record; `record` gets an outermost record's number and the tuple of its parts.
    pub(super) fn map(
        &self,
        leaf: &mut dyn FnMut(&Leaf, bool) -> TokenStream,
        record: &mut dyn FnMut(usize, TokenStream) -> TokenStream,
    ) -> TokenStream {
        match self {
            Shape::Leaf(l) => leaf(l, false),
            Shape::Tuple(parts) => tuple(parts.iter().map(|p| p.map(leaf, record))),
            Shape::Record(r, fields) => {
                let parts = tuple(fields.iter().flatten().map(|(_, p)| p.inside(leaf)));
                record(*r, parts)
            }
        }
    }

    /// As [`Shape::map`], of a part of a record.
    fn inside(&self, leaf: &mut dyn FnMut(&Leaf, bool) -> TokenStream) -> TokenStream {
        match self {
            Shape::Leaf(l) => leaf(l, true),
            Shape::Tuple(parts) => tuple(parts.iter().map(|p| p.inside(leaf))),
            Shape::Record(_, fields) => tuple(fields.iter().flatten().map(|(_, p)| p.inside(leaf))),
        }
    }

    /// As [`Shape::map`], with the parts of records for records.
    pub(super) fn open(&self, leaf: &mut dyn FnMut(&Leaf, bool) -> TokenStream) -> TokenStream {
        self.map(leaf, &mut |_, parts| parts)
    }

    pub(super) fn has_records(&self) -> bool {
        match self {
            Shape::Leaf(_) => false,
            Shape::Tuple(parts) => parts.iter().any(Shape::has_records),
            Shape::Record(..) => true,
        }
    }

    /// Whether the code of a kernel has something else for it or for a part of it.
    pub(super) fn is_converted(&self) -> bool {
        self.has_records() || self.has_complex()
    }

    /// The arrays and scalars of an opened value, `at` which it is, and whether each is inside a record.
    pub(super) fn leaves(&self, at: &TokenStream) -> Vec<(Leaf, TokenStream)> {
        let parts: Vec<&Shape> = match self {
            Shape::Leaf(l) => return vec![(*l, at.clone())],
            Shape::Tuple(parts) => parts.iter().collect(),
            Shape::Record(_, fields) => fields.iter().flatten().map(|(_, p)| p).collect(),
        };
        let part = |(i, p): (usize, &&Shape)| {
            let i = Index::from(i);
            p.leaves(&quote!(#at.#i))
        };
        parts.iter().enumerate().flat_map(part).collect()
    }
}

fn tuple(parts: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote!((#(#parts,)*))
}

/// What is done to a record.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    /// Its parts by reference, where its arrays are.
    Open(Target),
    /// A record of its parts.
    Make(Target),
    /// Its parts by value.
    TakeApart,
}

impl Conversion {
    /// The value at `at` with every record converted, and every complex number that is not an argument.
    pub(super) fn apply(self, s: &Shape, at: &TokenStream) -> TokenStream {
        match s {
            Shape::Leaf(l) if l.elem.is_complex() => self.complex(l, at),
            Shape::Leaf(_) => at.clone(),
            Shape::Tuple(parts) => self.apply_all(parts, at),
            Shape::Record(r, _) => self.call(*r, at),
        }
    }

    /// The tuple at `at` with every record converted.
    pub(super) fn apply_all(self, parts: &[Shape], at: &TokenStream) -> TokenStream {
        if !parts.iter().any(Shape::is_converted) {
            return at.clone();
        }
        let part = |(i, p): (usize, &Shape)| {
            let i = Index::from(i);
            self.apply(p, &quote!(#at.#i))
        };
        tuple(parts.iter().enumerate().map(part))
    }

    /// Complex numbers that a kernel gives.
    fn complex(self, l: &Leaf, at: &TokenStream) -> TokenStream {
        match (self, l.rank) {
            (Conversion::Make(Target::Cpu), 0) => {
                quote!(__rt::complex::one(&#at, &__code::SIGNATURE)?)
            }
            (Conversion::Make(Target::Cpu), _) => quote!(__rt::complex::array(#at, &__code::SIGNATURE)?),
            (Conversion::Make(Target::Gpu), _) => quote!(__rt::gpu::complex::array(&#at)),
            (Conversion::Open(_) | Conversion::TakeApart, _) => at.clone(),
        }
    }

    /// One record.
    pub(super) fn call(self, r: usize, value: &TokenStream) -> TokenStream {
        let record = alias(r);
        match self {
            Conversion::Open(Target::Cpu) => quote!(<#record as __rt::record::Record>::view(#value)),
            Conversion::Open(Target::Gpu) => {
                quote!(<#record as __rt::gpu::DeviceRecord>::device_view(#value))
            }
            Conversion::Make(Target::Cpu) => quote!(<#record as __rt::record::Record>::from_parts(#value)),
            Conversion::Make(Target::Gpu) => {
                quote!(<#record as __rt::gpu::DeviceRecord>::device_from_parts(#value))
            }
            Conversion::TakeApart => quote!(<#record as __rt::record::Record>::into_parts(#value)),
        }
    }
}

/// What a record is called beside the kernel.
pub(super) fn alias(r: usize) -> Ident {
    format_ident!("__Record{r}")
}
