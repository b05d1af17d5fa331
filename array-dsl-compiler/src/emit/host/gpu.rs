//! The entry for GPUs: the program as `emit::wgsl` prints it, its inputs and results.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::wgsl::GpuCode;
use super::types::{dimension, elem_type};
use super::{Entry, parameter, result};
use crate::target::Target;

impl Entry<'_> {
    /// The function that runs the kernel on a device.
    pub(super) fn run_gpu(&self, code: &GpuCode) -> TokenStream {
        let (pattern, args) = (self.pattern(), self.types.open_arguments(Target::Gpu));
        let output = self.types.open_output(Target::Gpu);
        let program = &code.program;
        let (atoms, inputs) = (self.atoms(Target::Gpu), self.device_inputs());
        let results = self.results().into_iter().enumerate().map(|(i, a)| {
            let (r, elem, dim) = (result(i), elem_type(self.elem(a)), dimension(self.rank(a)));
            quote!(let #r = __rt::gpu::result::<#elem, #dim>(gpu, out.next())?;)
        });
        let returned = self.result(Target::Gpu, |i, in_record| self.device_result(i, in_record));
        quote! {
            #[inline]
            pub async fn run_gpu(
                gpu: &__rt::gpu::Gpu,
                #pattern: #args,
            ) -> ::core::result::Result<#output, __rt::Error> {
                static PROGRAM: __rt::gpu::Written = unsafe { __rt::gpu::Written::trusted(#program, SHADERS) };
                #atoms
                let mut out = gpu.execute_shaped(PROGRAM.read()?, &[#(#inputs),*], &atoms).await?.into_iter();
                #(#results)*
                #returned
            }
        }
    }

    /// The inputs of the program: buffers, and scalars, which those in records are on the device already.
    fn device_inputs(&self) -> Vec<TokenStream> {
        let in_records = self.in_records();
        let input = |a| {
            let p = parameter(a);
            match (self.rank(a), in_records.contains(&a)) {
                (0, true) => quote!(#p.input()),
                (0, false) => quote!(__rt::gpu::GpuInput::scalar(#p)),
                _ => quote!(__rt::gpu::GpuInput::Array(#p.buffer())),
            }
        };
        self.inputs().into_iter().map(input).collect()
    }

    /// The i-th array of the result. A scalar in a record that is an argument passed on stays known to the host.
    fn device_result(&self, i: usize, in_record: bool) -> TokenStream {
        let (r, a) = (result(i), self.results()[i]);
        if !in_record || self.rank(a) > 0 {
            return quote!(#r);
        }
        let root = self.program.root(a);
        let p = parameter(root);
        match (self.inputs().contains(&root), self.in_records().contains(&root)) {
            (true, true) => quote!(#p.clone()),
            (true, false) => quote!(__rt::gpu::GpuScalar::from(#p)),
            _ => quote!(__rt::gpu::GpuScalar::from(#r)),
        }
    }
}
