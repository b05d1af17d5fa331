//! Rust's types of arguments and results: with the user's records, as a kernel is called, or with the parts of records in tuples,
//! as its code takes them.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::super::signature::{Leaf, Taken, Types};
use super::item::parameter;
use crate::target::Target;
use crate::ty::Elem;

impl Types {
    /// The arguments, one by one; sizes are of the types that the kernel's own has as parameters.
    pub(in super::super) fn arguments(&self, lifetime: &TokenStream, target: Target) -> Vec<TokenStream> {
        let mut sizes = 0;
        let mut leaf = |l: &Leaf, _| {
            if !l.is_size {
                return argument(l, lifetime, target);
            }
            sizes += 1;
            parameter(sizes - 1).to_token_stream()
        };
        let mut record = |r: usize, _| {
            let record = self.record(r, target);
            quote!(&#lifetime #record)
        };
        self.args.iter().map(|s| s.map(&mut leaf, &mut record)).collect()
    }

    /// The result.
    pub(in super::super) fn output(&self, target: Target) -> TokenStream {
        self.result.map(&mut |l, _| result(l, target), &mut |r, _| self.record(r, target))
    }

    /// The arguments as one tuple, records opened.
    pub(super) fn open_arguments(&self, target: Target) -> TokenStream {
        let mut leaf = |l: &Leaf, in_record| match (target, l.in_program().rank, in_record) {
            (Target::Gpu, 0, true) => {
                let elem = elem_type(l.elem);
                quote!(&__rt::gpu::GpuScalar<#elem>)
            }
            _ => argument(&l.in_program(), &TokenStream::new(), target),
        };
        let args = self.taken().into_iter().map(|taken| match taken {
            Taken::Argument(_, s) => s.open(&mut leaf),
            Taken::Constant(_, elem) => elem_type(elem),
        });
        quote!((#(#args,)*))
    }

    /// The result, records as the tuples that they are made of.
    pub(super) fn open_output(&self, target: Target) -> TokenStream {
        self.result.open(&mut |l, in_record| match (target, l.in_program().rank, in_record) {
            (Target::Gpu, 0, true) => {
                let elem = elem_type(l.elem);
                quote!(__rt::gpu::GpuScalar<#elem>)
            }
            _ => result(&l.in_program(), target),
        })
    }

    /// A record where its arrays are.
    fn record(&self, r: usize, target: Target) -> TokenStream {
        let record = &self.records[r];
        match target {
            Target::Cpu => record.clone(),
            Target::Gpu => quote!(<#record as __rt::gpu::DeviceRecord>::Device),
        }
    }
}

fn argument(l: &Leaf, lifetime: &TokenStream, target: Target) -> TokenStream {
    let (elem, dim) = (elem_type(l.elem), dimension(l.rank));
    match (l.rank, target) {
        (0, _) => elem,
        (_, Target::Cpu) => quote!(&#lifetime __rt::ndarray::ArrayRef<#elem, #dim>),
        (_, Target::Gpu) => quote!(&#lifetime __rt::gpu::GpuArray<#elem, #dim>),
    }
}

fn result(l: &Leaf, target: Target) -> TokenStream {
    let (elem, dim) = (elem_type(l.elem), dimension(l.rank));
    match (l.rank, target) {
        (0, Target::Cpu) => elem,
        (_, Target::Cpu) => quote!(__rt::ndarray::Array<#elem, #dim>),
        (_, Target::Gpu) => quote!(__rt::gpu::GpuArray<#elem, #dim>),
    }
}

pub(super) fn elem_type(elem: Elem) -> TokenStream {
    let name = Ident::new(elem.part().name(), Span::call_site());
    if elem.is_complex() { quote!(__rt::complex::Complex<#name>) } else { name.to_token_stream() }
}

pub(super) fn dimension(rank: usize) -> TokenStream {
    let dim = format_ident!("Ix{rank}");
    quote!(__rt::ndarray::#dim)
}
