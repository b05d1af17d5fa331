//! The `#[kernel]` attribute: a thin shell around `array-dsl-compiler`, where `link` explains how kernels see each
//! other.

use array_dsl_compiler::kernel::{link, reference};
use array_dsl_compiler::lexer;
use proc_macro::{LexError, TokenStream};

/// Runs the compiler with rustc's lexer.
fn compiled(tokens: impl FnOnce() -> proc_macro2::TokenStream) -> TokenStream {
    let lexer = |text: &str| match text.parse::<TokenStream>() {
        Ok(tokens) => Ok(tokens.into()),
        Err(e) => Err(LexError::to_string(&e)),
    };
    lexer::with(lexer, tokens).into()
}

/// Compiles a function over numbers and arrays for all cores and for GPUs, with its derivatives.
///
/// The function's name becomes a value: call it, or pass it to `grad`, `value_and_grad`, `vjp`, `jvp`, `Cpu.run` and
/// `Gpu::run`. Arrays are ndarray's, by reference; scalars have the types that are declared, and for a `usize` may be integers of
/// any type: `f(&x, 10)`, `f(&x, y.len())`. (In a kernel, and in its results, `usize` is `i64`.) Options:
///
/// * `#[kernel(hvp, jacobian, hessian, vmap)]` adds these;
/// * with `value` nothing is made but the value and what is named: `#[kernel(value)]`, `#[kernel(value, vjp)]`. It compiles in a part
///   of the time. Kernels that call it have their derivatives all the same;
/// * `#[kernel(vjp = rule)]` has the kernel `rule` as its derivative: of the arguments and a cotangent for each float of the result,
///   giving the cotangents of the differentiated arguments;
/// * `#[kernel(f32, f64)]` makes a generic kernel for the host, for each of these types.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    compiled(|| link::attribute(attr.into(), item.into()))
}

/// Continues a kernel after one of its callees has answered. Not for direct use.
#[doc(hidden)]
#[proc_macro]
pub fn __compile(state: TokenStream) -> TokenStream {
    compiled(|| link::resume(state.into()))
}

/// What a kernel or record says if a name that it asks for has no answer. Not for direct use.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __unanswered(arguments: TokenStream, _: TokenStream) -> TokenStream {
    compiled(|| link::unanswered(arguments.into()))
}

/// Discards its item. Not for direct use.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __answered(_: TokenStream, _: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// Lets kernels take, give and differentiate by a structure.
///
/// Its fields are `f32`, `f64`, `i32`, `i64`, `u32`, `bool`, ndarray's `Array1` to `Array6` of these, tuples, and other records.
/// `#[shape(n, m)]` on an array names its sizes, in the order of its shape: fields with one name have one size, also in
/// several arguments of a kernel. It can be left out: then the sizes depend on no others. A record that stands in another one more
/// than once, as in `struct Net { first: Layer, second: Layer }`, has sizes of its own in each place, which are the same for every
/// `Net` among the arguments.
///
/// Kernels take `&Net`, `grad` gives a `Net` (fields that are no floats are zero in it), `gpu.upload(&net)` gives a
/// structure with the same fields on the device, with `download()`.
#[proc_macro_derive(Record, attributes(shape))]
pub fn record(item: TokenStream) -> TokenStream {
    compiled(|| link::derive_record(item.into()))
}

/// Continues a record after one of the records in it has answered. Not for direct use.
#[doc(hidden)]
#[proc_macro]
pub fn __record(state: TokenStream) -> TokenStream {
    compiled(|| link::resume_record(state.into()))
}

/// The macros with the names of the built-in functions. Not for direct use.
#[doc(hidden)]
#[proc_macro]
pub fn __built_in_names(_: TokenStream) -> TokenStream {
    reference::macros().into()
}

/// The pages of the built-in functions. Not for direct use.
#[doc(hidden)]
#[proc_macro]
pub fn __built_in_pages(_: TokenStream) -> TokenStream {
    reference::modules().into()
}
