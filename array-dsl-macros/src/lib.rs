//! The `#[kernel]` attribute: a thin shell around `array-dsl-compiler`, where `link` explains how kernels see each
//! other.

use array_dsl_compiler::link;
use proc_macro::TokenStream;

/// Compiles a function over numbers and arrays for all cores and for GPUs, with its derivatives.
///
/// The function's name becomes a value: call it, or pass it to `grad`, `value_and_grad`, `vjp`, `jvp`, `Cpu.run` and
/// `Gpu::run`. Options: `#[kernel(hvp, jacobian, hessian, vmap)]` adds these; `#[kernel(vjp = rule)]`
/// has the kernel `rule` as its derivative: of the arguments and a cotangent for each float of the result, giving the cotangents of the
/// differentiated arguments.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    link::attribute(attr.into(), item.into()).into()
}

/// Continues a kernel after one of its callees has answered. Not for direct use.
#[doc(hidden)]
#[proc_macro]
pub fn __compile(state: TokenStream) -> TokenStream {
    link::resume(state.into()).into()
}
