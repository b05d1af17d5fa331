//! What stands next to the user's own items: the traits of a kernel, which open the records among its arguments, call its code, and
//! make the records of its result. Of a gradient that is a part of the `vjp` they call that, with the cotangent one:
//!
//! ```text
//! grad(f)(args..)              vjp(f)(args.., 1.0).1
//! value_and_grad(f)(args..)    vjp(f)(args.., 1.0)
//! ```

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Index;

use super::super::signature::{Shape, Taken};
use super::records::Conversion;
use super::{Item, Of, Variant, constants};
use crate::derive::Derivative;
use crate::emit::Compiled;
use crate::internal::expect;
use crate::target::Target;

/// What the methods of a kernel's traits are.
struct Methods {
    explain: TokenStream,
    run: TokenStream,
    sizes: TokenStream,
    /// Methods besides, where they are not those that all kernels have.
    others: TokenStream,
    run_gpu: TokenStream,
}

impl Variant {
    /// The implementations for its type; `vjp` is that of the same kernel's.
    pub(super) fn implementations(&self, item: &Item, vjp: Option<&Item>) -> TokenStream {
        let methods = match &self.of {
            Of::Own(compiled) => self.own(compiled),
            Of::Vjp => self.part_of(&expect(vjp, || format!("`{}` is a part of no `vjp`", self.name)).ty()),
        };
        let (kernel, on_gpu) = (self.kernel(item, &methods), self.gpu_kernel(item, &methods.run_gpu));
        let call = self.call(item);
        quote! {
            #kernel
            #call
            __rt::if_gpu! { #on_gpu }
        }
    }

    /// The methods that call its code.
    fn own(&self, compiled: &Compiled) -> Methods {
        let open = self.opened(Target::Cpu);
        let run_gpu = match &compiled.gpu {
            Ok(_) => {
                let open = self.opened(Target::Gpu);
                self.made(Target::Gpu, &quote!(__code::run_gpu(__gpu, #open).await))
            }
            Err(reason) => {
                let kernel = &*self.name;
                quote! {
                    ::core::result::Result::Err(__rt::Error::UnsupportedOnGpu {
                        kernel: #kernel,
                        what: ::std::string::String::from(#reason),
                        help: ::std::string::String::from("run it on the CPU"),
                    })
                }
            }
        };
        Methods {
            explain: quote!(__code::EXPLAIN),
            run: self.made(Target::Cpu, &quote!(__code::run(#open, __given))),
            sizes: quote!(__code::sizes(#open)),
            others: TokenStream::new(),
            run_gpu,
        }
    }

    /// The methods of a gradient that call the `vjp`.
    fn part_of(&self, vjp: &TokenStream) -> Methods {
        let given = (0..self.types.args.len()).map(Index::from);
        let args = quote!((#(__args.#given,)* 1.0));
        let is_gradient = self.path.last() == Some(&Derivative::Grad);
        // The value comes first among the results, and has no memory to give.
        let later = is_gradient.then(|| quote!(let __given = __given.after(1);));
        let part = is_gradient.then(|| quote!(.1));
        let explain = format!(
            "`{}` is a part of the `vjp` of its kernel, with the cotangent 1.0: the kernel is long, and both are compiled once.\n",
            self.name
        );
        let part_of = |call: TokenStream| {
            quote! {
                match #call {
                    ::core::result::Result::Ok(__value) => ::core::result::Result::Ok(__value #part),
                    ::core::result::Result::Err(__error) => {
                        ::core::result::Result::Err(__error.of(<Self as __rt::host::Kernel>::NAME))
                    }
                }
            }
        };
        let run = part_of(quote!(<#vjp as __rt::host::Kernel>::run_with(#args, __given)));
        let named = quote!(map_err(|__error| __error.of(<Self as __rt::host::Kernel>::NAME)));
        let others = is_gradient.then(|| {
            quote! {
                fn shape(
                    self,
                    __args: Self::Args<'_>,
                ) -> ::core::result::Result<::std::vec::Vec<::std::vec::Vec<::core::option::Option<usize>>>, __rt::Error> {
                    let __all = <#vjp as __rt::host::Kernel>::shape(::core::default::Default::default(), #args).#named?;
                    ::core::result::Result::Ok(::core::iter::Iterator::collect(::core::iter::Iterator::skip(
                        ::core::iter::IntoIterator::into_iter(__all),
                        1,
                    )))
                }
            }
        });
        Methods {
            explain: quote!(&[#explain]),
            run: quote! { #later #run },
            sizes: quote!(<#vjp as __rt::host::Kernel>::sizes(#args).#named),
            others: others.unwrap_or_default(),
            run_gpu: part_of(quote!(<#vjp as __rt::gpu::GpuKernel>::run_gpu(__gpu, #args).await)),
        }
    }

    fn kernel(&self, item: &Item, methods: &Methods) -> TokenStream {
        let (generics, ty) = (item.generics(), item.ty());
        let text = &*self.name;
        let (args, output) = (self.types.arguments(&quote!('a), Target::Cpu), self.types.output(Target::Cpu));
        let Methods { explain, run, sizes, others, .. } = methods;
        quote! {
            impl #generics __rt::host::Kernel for #ty {
                const NAME: &'static str = #text;
                const EXPLAIN: &'static [&'static str] = #explain;
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
                    #sizes
                }
                #others
            }
        }
    }

    /// Calling the kernel as a function.
    fn call(&self, item: &Item) -> TokenStream {
        let (generics, ty) = (item.generics(), item.ty());
        let args = self.types.arguments(&quote!(), Target::Cpu);
        let output = self.types.output(Target::Cpu);
        let names: Vec<Ident> = (0..args.len()).map(|i| format_ident!("__p{i}")).collect();
        quote! {
            impl #generics ::core::ops::Deref for #ty {
                type Target = fn(#(#args),*) -> #output;
                #[inline]
                fn deref(&self) -> &Self::Target {
                    &const {
                        |#(#names),*| match <Self as __rt::host::Kernel>::run((#(#names,)*)) {
                            ::core::result::Result::Ok(__value) => __value,
                            ::core::result::Result::Err(__error) => ::core::panic!("{}", __error),
                        }
                    }
                }
            }
        }
    }

    fn gpu_kernel(&self, item: &Item, run: &TokenStream) -> TokenStream {
        let (generics, ty) = (item.generics(), item.ty());
        let (args, output) = (self.types.arguments(&quote!('a), Target::Gpu), self.types.output(Target::Gpu));
        quote! {
            impl #generics __rt::gpu::GpuKernel for #ty {
                type GpuArgs<'a> = (#(#args,)*);
                type GpuOutput = #output;
                #[inline]
                async fn run_gpu(
                    __gpu: &__rt::gpu::Gpu,
                    __args: Self::GpuArgs<'_>,
                ) -> ::core::result::Result<Self::GpuOutput, __rt::Error> {
                    #run
                }
            }
        }
    }

    /// `__args` with its records opened, its sizes as numbers, and the constants of the surrounding code.
    fn opened(&self, target: Target) -> TokenStream {
        let has_complex = self.types.args.iter().any(Shape::has_complex);
        if self.types.constants.1.is_empty() && self.types.sizes() == 0 && !has_complex {
            return Conversion::Open(target).apply_all(&self.types.args, &quote!(__args));
        }
        // Among the arrays and scalars of `SIGNATURE`.
        let mut position = 0;
        let taken = self.types.taken().into_iter().map(|taken| match taken {
            Taken::Argument(i, s) => {
                let i = Index::from(i);
                opened(s, &quote!(__args.#i), target, &mut position)
            }
            Taken::Constant(k, _) => {
                position += 1;
                let constant = constants::name(k);
                quote!(#constant())
            }
        });
        quote!((#(#taken,)*))
    }

    /// What a call of the code gives, with its records made.
    fn made(&self, target: Target, call: &TokenStream) -> TokenStream {
        if !self.types.result.is_converted() {
            return call.clone();
        }
        let output = Conversion::Make(target).apply(&self.types.result, &quote!(__output));
        quote! {
            let __output = #call?;
            ::core::result::Result::Ok(#output)
        }
    }
}

/// A part of the arguments, `position` arrays and scalars after the first.
fn opened(s: &Shape, at: &TokenStream, target: Target, position: &mut usize) -> TokenStream {
    match s {
        Shape::Leaf(l) => {
            let here = *position;
            *position += usize::from(l.absent.is_none());
            match (l.elem.is_complex(), l.rank, target) {
                (true, 0, Target::Cpu) => quote!(&__rt::complex::parts_of_one(&#at)),
                (true, _, Target::Cpu) => quote!(&*__rt::complex::parts(#at, &__code::SIGNATURE, #here)?),
                (true, 0, Target::Gpu) => quote!(&__rt::gpu::complex::parts_of_one(__gpu, #at)?),
                (true, _, Target::Gpu) => quote!(&__rt::gpu::complex::parts(#at)),
                _ if l.is_size => quote!(__rt::size::number(#at, &__code::SIGNATURE, #here)?),
                _ => at.clone(),
            }
        }
        Shape::Tuple(parts) => {
            let parts = parts.iter().enumerate().map(|(i, p)| {
                let i = Index::from(i);
                opened(p, &quote!(#at.#i), target, position)
            });
            quote!((#(#parts,)*))
        }
        Shape::Record(..) => {
            *position += s.present().len();
            Conversion::Open(target).apply(s, at)
        }
    }
}
