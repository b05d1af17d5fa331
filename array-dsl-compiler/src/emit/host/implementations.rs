//! What stands next to the user's own items: the traits of a kernel, which open the records among its arguments, call its code, and
//! make the records of its result.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Index;

use super::super::signature::Taken;
use super::records::Conversion;
use super::{Variant, constants};
use crate::target::Target;

impl Variant {
    /// The implementations for the unit struct of this name.
    pub(super) fn implementations(&self, name: &Ident) -> TokenStream {
        let (kernel, on_gpu, call) = (self.kernel(name), self.gpu_kernel(name), self.call(name));
        quote! {
            #kernel
            #call
            __rt::if_gpu! { #on_gpu }
        }
    }

    fn kernel(&self, name: &Ident) -> TokenStream {
        let text = &*self.of.cpu.name;
        let (args, output) = (self.types.arguments(&quote!('a), Target::Cpu), self.types.output(Target::Cpu));
        let open = self.opened(Target::Cpu);
        let run = self.made(Target::Cpu, &quote!(__code::run(#open, __given)));
        quote! {
            impl __rt::host::Kernel for #name {
                const NAME: &'static str = #text;
                const EXPLAIN: &'static [&'static str] = __code::EXPLAIN;
                type Args<'a> = (#(#args,)*);
                type Output = #output;
                #[inline]
                fn run_with(
                    __args: Self::Args<'_>,
                    __given: __rt::given::Given,
                ) -> ::core::result::Result<Self::Output, __rt::Error> {
                    #run
                }
                #[inline]
                fn sizes(
                    __args: Self::Args<'_>,
                ) -> ::core::result::Result<(&'static __rt::program::Signature, ::std::vec::Vec<i64>), __rt::Error> {
                    __code::sizes(#open)
                }
            }
        }
    }

    /// Calling the kernel as a function.
    fn call(&self, name: &Ident) -> TokenStream {
        let args = self.types.arguments(&quote!(), Target::Cpu);
        let output = self.types.output(Target::Cpu);
        let names: Vec<Ident> = (0..args.len()).map(|i| format_ident!("__p{i}")).collect();
        quote! {
            impl ::core::ops::Deref for #name {
                type Target = fn(#(#args),*) -> #output;
                #[inline]
                fn deref(&self) -> &Self::Target {
                    const CALL: fn(#(#args),*) -> #output = |#(#names),*| {
                        match <#name as __rt::host::Kernel>::run((#(#names,)*)) {
                            ::core::result::Result::Ok(__value) => __value,
                            ::core::result::Result::Err(__error) => ::core::panic!("{}", __error),
                        }
                    };
                    &CALL
                }
            }
        }
    }

    fn gpu_kernel(&self, name: &Ident) -> TokenStream {
        let (args, output) = (self.types.arguments(&quote!('a), Target::Gpu), self.types.output(Target::Gpu));
        let run = match &self.of.gpu {
            Ok(_) => {
                let open = self.opened(Target::Gpu);
                self.made(Target::Gpu, &quote!(__code::run_gpu(__gpu, #open)))
            }
            Err(reason) => {
                let kernel = &*self.of.cpu.name;
                quote! {
                    ::core::result::Result::Err(__rt::Error::UnsupportedOnGpu {
                        kernel: #kernel,
                        what: ::std::string::String::from(#reason),
                        help: ::std::string::String::from("run it on the CPU"),
                    })
                }
            }
        };
        quote! {
            impl __rt::gpu::GpuKernel for #name {
                type GpuArgs<'a> = (#(#args,)*);
                type GpuOutput = #output;
                #[inline]
                fn run_gpu(
                    __gpu: &__rt::gpu::Gpu,
                    __args: Self::GpuArgs<'_>,
                ) -> ::core::result::Result<Self::GpuOutput, __rt::Error> {
                    #run
                }
            }
        }
    }

    /// `__args` with its records opened and the constants of the surrounding code.
    fn opened(&self, target: Target) -> TokenStream {
        let args = &self.types.args;
        if self.types.constants.1.is_empty() {
            return Conversion::Open(target).apply_all(args, &quote!(__args));
        }
        let taken = self.types.taken().into_iter().map(|taken| match taken {
            Taken::Argument(i, s) => {
                let i = Index::from(i);
                Conversion::Open(target).apply(s, &quote!(__args.#i))
            }
            Taken::Constant(k, _) => {
                let constant = constants::name(k);
                quote!(#constant())
            }
        });
        quote!((#(#taken,)*))
    }

    /// What a call of the code gives, with its records made.
    fn made(&self, target: Target, call: &TokenStream) -> TokenStream {
        if !self.types.result.has_records() {
            return call.clone();
        }
        let output = Conversion::Make(target).apply(&self.types.result, &quote!(__output));
        quote! {
            let __output = #call?;
            ::core::result::Result::Ok(#output)
        }
    }
}
