//! The Rust items of a kernel: its unit struct, and for the function and each derivative its code and its traits.
//!
//! ```text
//! struct f;                                   or, for arguments that are `usize`, what `item` says
//! const _: () = {
//!     struct __f_grad;                        a derivative is a kernel of its own, or a part of another one (`implementations`)
//!     const _: () = {                         for each of them
//!         mod __code {
//!             regions; static SIGNATURE; const SHADERS, EXPLAIN
//!             fn run((p0, p1): (..), given) -> Result<(..), Error> { .. }
//!             fn sizes((p0, p1): (..)) -> ..
//!             async fn run_gpu(gpu, (p0, p1): (..)) -> ..
//!         }
//!         impl Kernel for f { fn run_with(__args, __given) -> .. { __code::run(__args, __given) } }
//!         impl Deref, GpuKernel for f
//!     };
//!     impl Directional, HasSparseHessian for f
//!     impl HasGrad for f { type Grad = __f_grad; }
//! };
//! ```
//!
//! **No name of generated code meets one of the user's.** Hygiene does not see to it: a span at the macro's own place tells variables
//! apart, but a pattern `count` is first looked up among items, at the place of the call, and a kernel `count` is an item, a unit
//! struct. So the code of a kernel, which has names by the dozen, is a module, where nothing of the user's is in sight, and any name
//! will do. It knows arrays, scalars and tuples. What must name the user's types, kernel and records, stands outside: there every
//! name begins with `__`, and nothing is bound but what is passed on.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | the items |
//! | `item` | the kernel's own item, and the types of its derivatives |
//! | `implementations` | the traits of a kernel |
//! | `directional` | those for derivatives along directions |
//! | `records` | records opened and made |
//! | `constants` | the values of constants of the surrounding code |
//! | `lints` | what rustc's lints have to see |
//! | `types` | Rust's types of arguments and results |
//! | `signature` | the static `SIGNATURE` |
//! | `arguments` | patterns, sizes, elements |
//! | `results` | the results |
//! | `cpu` | the entry for the CPU, and the names that it shares with `emit::cpu` |
//! | `gpu` | the entry for GPUs |

mod arguments;
pub mod constants;
mod cpu;
mod directional;
mod gpu;
mod implementations;
mod item;
pub mod lints;
mod records;
mod results;
mod signature;
mod types;

use std::slice::from_ref;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;

pub(super) use self::directional::sparse_call;
pub use self::item::Item;
use super::Compiled;
use super::signature::{Shape, Types};
use super::wgsl::GpuCode;
use crate::bulk::ArrayId;
use crate::derive::Derivative;
use crate::dim::Dim;
use crate::internal::{self, expect};
use crate::lexer;
use crate::loops::Program;
use crate::ty::Elem;

/// A kernel or one of its derivatives, ready to be printed.
pub struct Variant {
    /// Which derivatives of the kernel lead here, the last one last; empty: the kernel itself.
    path: Vec<Derivative>,
    /// The name, with that of the derivative around it.
    name: String,
    /// What the host sees.
    types: Types,
    of: Of,
}

/// What a variant is made of.
enum Of {
    /// A program of its own.
    Own(Box<Compiled>),
    /// The `vjp` of the same kernel, of which it is a part.
    Vjp,
}

impl Variant {
    /// A variant of a program that has these types for the host.
    pub fn new(of: Compiled, types: Types) -> Variant {
        Entry { program: &of.cpu, types: &types }.check_types();
        Variant { path: of.path.clone(), name: of.cpu.name.to_string(), types, of: Of::Own(of.into()) }
    }

    /// A gradient, with its value or without, that is a part of the `vjp` of the kernel of this name.
    pub fn part_of_vjp(of: Derivative, kernel: &str, types: Types) -> Variant {
        Variant { path: vec![of], name: format!("{}({kernel})", of.name()), types, of: Of::Vjp }
    }

    /// Its program and code, if it has one of its own.
    pub fn compiled(&mut self) -> Option<&mut Compiled> {
        match &mut self.of {
            Of::Own(compiled) => Some(compiled),
            Of::Vjp => None,
        }
    }

    /// Its own code for GPUs, or why there is none.
    ///
    /// # Errors
    /// That reason.
    pub fn gpu(&self) -> Result<&GpuCode, &str> {
        match &self.of {
            Of::Own(compiled) => compiled.gpu.as_ref().map_err(String::as_str),
            Of::Vjp => Err("it is a part of the `vjp`"),
        }
    }

    /// Its type.
    fn item(&self, kernel: &Ident) -> Item {
        Item::new(self.item_name(kernel), self.types.sizes())
    }

    fn item_name(&self, kernel: &Ident) -> Ident {
        if self.path.is_empty() {
            return kernel.clone();
        }
        let names: Vec<&str> = self.path.iter().map(|d| d.name()).collect();
        format_ident!("__{}_{}", kernel.unraw(), names.join("_"))
    }
}

/// The items of a kernel. `vis` is the user's visibility, `doc` the user's attributes that are kept.
pub fn items(
    kernel: &Ident,
    vis: &TokenStream,
    doc: &TokenStream,
    constants: &[constants::Value],
    variants: &[Variant],
) -> TokenStream {
    let constants = constants::items(kernel, constants);
    let records = variants.first().map_or(&[][..], |v| &v.types.records);
    let aliases = (0..records.len()).map(records::alias);
    let item = variants.first().map(|v| v.item(kernel).kernel(vis, doc));
    let variants = variants.iter().map(|v| variant_items(kernel, vis, v, variants));
    quote! {
        #item

        #[doc(hidden)]
        #[allow(
            non_camel_case_types, non_snake_case, non_upper_case_globals, unused, missing_docs, clippy::all, clippy::pedantic
        )]
        const _: () = {
            use ::array_dsl::__rt;
            #(type #aliases = #records;)*
            #constants
            #(#variants)*
        };
    }
}

/// The items of one of the variants.
fn variant_items(kernel: &Ident, vis: &TokenStream, v: &Variant, variants: &[Variant]) -> TokenStream {
    let item = v.item(kernel);
    let derivative = (!v.path.is_empty()).then(|| item.derivative(vis));
    let derived = |d: Derivative| variants.iter().find(|w| w.path == [d]);
    let vjp = derived(Derivative::Vjp).map(|w| w.item(kernel));
    let implementations = v.implementations(&item, vjp.as_ref());
    let methods = item.methods();
    let of = |d: Derivative| derived(d).map(|w| &w.types);
    let (code, directional) = match (&v.of, of(Derivative::Vjp), of(Derivative::Jvp)) {
        (Of::Own(compiled), Some(vjp), Some(jvp)) if v.path.is_empty() => {
            let entry = Entry { program: &compiled.cpu, types: &v.types };
            (Some(code(compiled, &entry)), Some(entry.directional(&item, vjp, jvp, of(Derivative::Hvp))))
        }
        (Of::Own(compiled), ..) => {
            (Some(code(compiled, &Entry { program: &compiled.cpu, types: &v.types })), None)
        }
        (Of::Vjp, ..) => (None, None),
    };
    let has = variants.iter().filter_map(|w| {
        let (last, path) = w.path.split_last()?;
        let (derived, (has, assoc)) = (w.item(kernel), trait_names(*last));
        (path == v.path).then(|| {
            let ((generics, ty), derived) = (item.leading_to(&derived), derived.ty());
            quote! {
                impl #generics __rt::host::#has for #ty {
                    type #assoc = #derived;
                }
            }
        })
    });
    quote! {
        #derivative
        const _: () = {
            #code
            #implementations
            #methods
        };
        #directional
        #(#has)*
    }
}

/// The module with the code of a program.
fn code(of: &Compiled, entry: &Entry<'_>) -> TokenStream {
    let (signature, run, sizes) = (entry.signature(), entry.run(&of.code), entry.sizes());
    let regions = generated(&of.code.items);
    let on_gpu = of.gpu.as_ref().ok().map(|gpu| {
        let run = entry.run_gpu(gpu);
        quote!(__rt::if_gpu! { #run })
    });
    let explain = &of.explain;
    let shaders = of.gpu.as_ref().map_or(&[][..], |g| &g.shaders);
    let texts = shaders.iter().map(|s| &s.wgsl);
    let titled = shaders.iter().enumerate().map(|(i, s)| {
        let title = format!("== wgsl {} ==\n", s.label);
        quote!(#title, SHADERS[#i], "\n")
    });
    quote! {
        mod __code {
            use ::array_dsl::__rt;
            #regions
            #signature
            const SHADERS: &[&str] = &[#(#texts),*];
            pub const EXPLAIN: &[&str] = &[#explain, #(#titled),*];
            #run
            #sizes
            #on_gpu
        }
    }
}

/// The trait that says that a kernel has a derivative, and its type.
pub(super) fn trait_names(d: Derivative) -> (Ident, Ident) {
    let name = match d {
        Derivative::Vjp => "Vjp",
        Derivative::Grad => "Grad",
        Derivative::ValueAndGrad => "ValueAndGrad",
        Derivative::Jvp => "Jvp",
        Derivative::Hvp => "Hvp",
        Derivative::Jacobian => "Jacobian",
        Derivative::Hessian => "Hessian",
        Derivative::Vmap => "Vmap",
    };
    (format_ident!("Has{name}"), format_ident!("{name}"))
}

/// The tokens of a text that this crate has printed.
fn generated(text: &str) -> TokenStream {
    // One that does not lex shows up as an error inside generated code.
    lexer::tokens(text).unwrap_or_else(|e| {
        let message = format!("internal error of array-dsl: generated code does not lex: {e}");
        quote! { ::core::compile_error!(#message) }
    })
}

/// A program as the host sees it.
struct Entry<'a> {
    program: &'a Program,
    types: &'a Types,
}

impl Entry<'_> {
    /// The arrays that are there for the host are those of the program, in the same order.
    fn check_types(&self) {
        let agree = |shapes: &[Shape], arrays: &[ArrayId]| {
            let leaves =
                shapes.iter().flat_map(Shape::present).map(|l| l.in_program()).map(|l| (l.elem, l.rank));
            leaves.eq(arrays.iter().map(|a| (self.elem(*a), self.rank(*a))))
        };
        let Types { args, result, .. } = self.types;
        let constants = self.inputs().into_iter().filter(|a| !self.arguments().contains(a));
        let of_constants = self.types.constants.1.iter().copied().eq(constants.map(|a| self.elem(a)));
        if !agree(args, &self.arguments()) || !of_constants || !agree(from_ref(result), &self.results()) {
            internal::broken(format!(
                "`{}` has other types for the host: {:?}",
                self.program.name, self.types
            ));
        }
    }

    fn elem(&self, a: ArrayId) -> Elem {
        self.program.arrays[a.0 as usize].elem
    }

    fn dims(&self, a: ArrayId) -> &[Dim] {
        &self.program.arrays[a.0 as usize].dims
    }

    fn rank(&self, a: ArrayId) -> usize {
        self.dims(a).len()
    }
}

/// The next of what belongs to the host's types one by one: see [`Entry::check_types`].
fn next<T>(rest: &mut impl Iterator<Item = T>) -> T {
    expect(rest.next(), || "the host's types have more parts than the program".into())
}

/// An argument as it was passed.
fn parameter(a: ArrayId) -> Ident {
    format_ident!("p{}", a.0)
}

/// The elements of an array, or a scalar.
fn array(a: ArrayId) -> Ident {
    format_ident!("a{}", a.0)
}

/// The i-th array of the result.
fn result(i: usize) -> Ident {
    format_ident!("r{i}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline;
    use crate::target::Target;
    use crate::testing::kernels::program;

    #[test]
    fn a_program_has_the_types_of_its_host() {
        let scheduled = |source| pipeline::back(&program(source), Target::Cpu).expect("it is scheduled");
        let p = scheduled("fn f(x: [f64; n], k: i64) -> (f64, [f64; n]) { (sum(x), x) }");
        let made = |types: Types| {
            let variant = || Variant::new(Compiled::new(Vec::new(), p.clone(), Err(String::new())), types);
            internal::caught(variant).map(|v| v.item_name(&format_ident!("f")).to_string())
        };
        assert_eq!(made(Types::plain(&p)), Ok("f".into()));
        for other in [
            "fn f(x: [f64; n]) -> (f64, [f64; n]) { (sum(x), x) }",
            "fn f(x: [f64; n], k: f64) -> (f64, [f64; n]) { (sum(x), x) }",
            "fn f(x: [f64; n], k: i64) -> (f64, f64) { (sum(x), 1.0) }",
            "fn f(x: [f64; n], k: i64) -> f64 { sum(x) }",
        ] {
            let error = made(Types::plain(&scheduled(other))).expect_err(other);
            assert!(error.starts_with("`f` has other types for the host: "), "{error}");
        }
    }
}
