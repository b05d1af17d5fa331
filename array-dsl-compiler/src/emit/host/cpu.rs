//! The entry for the CPU, around the statements that `emit::cpu` prints.
//!
//! The statements and the entry are one function, so that they share names, which are decided here:
//!
//! | name | what it is | bound by |
//! |---|---|---|
//! | `n3` | size 3, an `i64` | entry |
//! | `a7` | array 7: a slice or vector of its elements, or a scalar | entry for arguments, statements for others |
//! | `status` | where loops report failures | entry |
//! | `given` | the memory of an earlier result | entry |
//! | `SIGNATURE` | the kernel's own; errors about memory name its arrays | beside the functions |
//! | `SITES` | the places that failures name | entry |
//!
//! The entry's own names are others: `p7` the argument of array 7 as it was passed, `d7` its elements in one piece, `atoms`, `r0` and
//! `z0` a result.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::constants;
use super::super::cpu::CpuCode;
use super::{Entry, generated, result};
use crate::target::Target;

impl Entry<'_> {
    /// The function that runs the kernel.
    pub(super) fn run(&self, code: &CpuCode) -> TokenStream {
        let (pattern, args) = (self.pattern(), self.types.open_arguments(Target::Cpu));
        let output = self.types.open_output(Target::Cpu);
        let (atoms, arguments) = (self.atoms(Target::Cpu), self.body_arguments());
        let body = generated(&code.body);
        let sites = code.sites.iter().map(|l| constants::site(self.program, *l));
        let results = self.body_results();
        let returned = self.result(Target::Cpu, |i, _| {
            let r = result(i);
            quote!(#r)
        });
        quote! {
            #[inline]
            pub fn run(
                #pattern: #args,
                mut given: __rt::given::Given,
            ) -> ::core::result::Result<#output, __rt::Error> {
                #atoms
                #arguments
                let status = &__rt::status::Status::new();
                #body
                static SITES: &[__rt::program::Site] = &[#(#sites),*];
                status.finish(SITES)?;
                #results
                #returned
            }
        }
    }

    /// The function that binds the sizes and gives them with the signature.
    pub(super) fn sizes(&self) -> TokenStream {
        let (pattern, args) = (self.pattern(), self.types.open_arguments(Target::Cpu));
        let atoms = self.atoms(Target::Cpu);
        quote! {
            #[inline]
            pub fn sizes(
                #pattern: #args,
            ) -> ::core::result::Result<(&'static __rt::program::Signature, ::std::vec::Vec<i64>), __rt::Error> {
                #atoms
                ::core::result::Result::Ok((&SIGNATURE, atoms))
            }
        }
    }
}
