//! Compiles random programs to Rust, for `tests/random`: what `#[kernel]` would make of them, and of their pullbacks,
//! if they were written down.
//!
//! ```text
//! mod cpu_7 { the kernels;            fn value(&[Value]) -> Outcome;  fn pullback(..) }
//! mod gpu_7 { the same with f32;      fn value(&Gpu, &[Value]) -> Outcome;  fn pullback(..) }
//! static ON_CPU: [(seed, Option<value>, Option<pullback>)]
//! ```
//!
//! The same for each construct of the language, for `tests/constructs.rs`: its value, derivatives in both modes and of second order, on
//! the CPU and on the GPU, in `CONSTRUCTS`.

use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;

use array_dsl_compiler::bulk::Program;
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::emit::host::{self, Variant};
use array_dsl_compiler::emit::signature::Types;
use array_dsl_compiler::emit::{Compiled, wgsl};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::constructs::{CONSTRUCTS, Construct, ON_GPU};
use array_dsl_compiler::testing::kernels::kernel;
use array_dsl_compiler::testing::random::program;
use proc_macro2::{Delimiter, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};

#[path = "src/single.rs"]
mod single;

/// The tests that share the programs: one file of Rust with all of them needs too much memory to compile.
const PARTS: u64 = 5;

/// Programs of a part.
const ON_CPU: u64 = 45;

/// Of the programs with a pullback, one in so many is compiled by itself too.
const VALUE_EVERY: u64 = 4;

/// The programs of a part that are compiled for GPUs too, the first that can be.
const FIRST_ON_GPU: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/single.rs");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for part in 0..PARTS {
        let seeds = part * ON_CPU..(part + 1) * ON_CPU;
        let mut text = String::new();
        print(self::part(seeds)?, &mut text);
        std::fs::write(out.join(format!("random_{part}.rs")), text)?;
    }
    let mut text = String::new();
    print(constructs()?, &mut text);
    std::fs::write(out.join("constructs.rs"), text)?;
    Ok(())
}

/// A module for each construct and type that GPUs take, and their table.
fn constructs() -> Result<TokenStream, Box<dyn Error>> {
    let (mut modules, mut table) = (TokenStream::new(), TokenStream::new());
    for (k, construct) in CONSTRUCTS.iter().enumerate() {
        for (float, index) in ON_GPU {
            let module = format_ident!("of_{k}_{float}");
            let (items, entries) = construct_items(construct, float, index, &module)?;
            modules.extend(quote! { mod #module { use super::*; #items } });
            table.extend(
                quote! { Entry { construct: #k, float: #float, index: #index, programs: [#entries] }, },
            );
        }
    }
    let types = [("ENTRIES", quote!(&[Entry]), table)];
    Ok(unless_linted(&modules, &types))
}

/// The kernels of one construct, and what runs them: value, `jvp`, `vjp` and `jvp` of `vjp`. The last gives what the others give,
/// so that the first is enough besides; the first type has all of them.
fn construct_items(
    construct: &Construct,
    float: &str,
    index: &str,
    module: &Ident,
) -> Result<(TokenStream, TokenStream), Box<dyn Error>> {
    let missing =
        |e: array_dsl_compiler::derive::NotDifferentiable| format!("{}: {}", construct.name, e.what);
    let value = pipeline::middle(&kernel(&construct.source(float, index))).map_err(missing)?;
    let derivative = |p: &Program, what| pipeline::derivative(p, what).map_err(missing);
    let (jvp, vjp) = (derivative(&value, Derivative::Jvp)?, derivative(&value, Derivative::Vjp)?);
    let second = derivative(&vjp, Derivative::Jvp)?;
    let (mut items, mut entries) = (TokenStream::new(), TokenStream::new());
    let has_all = float == ON_GPU[0].0;
    for (name, p) in [("value", value), ("jvp", jvp), ("vjp", vjp), ("second", second)] {
        if !has_all && matches!(name, "jvp" | "vjp") {
            entries.extend(quote! { None, });
            continue;
        }
        let kernel = format_ident!("of_{name}");
        let variant = variant(&p, true)?;
        if let Err(reason) = variant.gpu() {
            return Err(format!("{}, {name}: {reason}", construct.name).into());
        }
        items.extend(host::items(&kernel, &quote!(pub), &TokenStream::new(), &[], &[variant]));
        let (on_cpu, on_gpu) = (format_ident!("{name}_on_cpu"), format_ident!("{name}_on_gpu"));
        items.extend(call(&p, &on_cpu, &kernel, false));
        items.extend(call(&p, &on_gpu, &kernel, true));
        entries.extend(quote! { Some((#module::#on_cpu, #module::#on_gpu)), });
    }
    Ok((items, entries))
}

/// The programs of some seeds with their tables.
fn part(seeds: Range<u64>) -> Result<TokenStream, Box<dyn Error>> {
    let mut modules = TokenStream::new();
    let (mut on_cpu, mut on_gpu) = (Vec::new(), Vec::new());
    for seed in seeds {
        let f = program(seed);
        if let Some((items, entry)) = module(seed, &f, false)? {
            modules.extend(items);
            on_cpu.push(entry);
        }
        if on_gpu.len() < FIRST_ON_GPU
            && single::fits_gpu(&f)
            && let Some((items, entry)) = module(seed, &single::single(&f), true)?
        {
            modules.extend(items);
            on_gpu.push(entry);
        }
    }
    let tables = [
        ("ON_CPU", quote!(&[(u64, Option<OnCpu>, Option<OnCpu>)]), quote!(#(#on_cpu),*)),
        ("ON_GPU", quote!(&[(u64, Option<OnGpu>, Option<OnGpu>)]), quote!(#(#on_gpu),*)),
    ];
    Ok(unless_linted(&modules, &tables))
}

/// Modules and the tables that name what is in them. Clippy sees empty tables: nobody wrote these megabytes, and they take it minutes.
fn unless_linted(modules: &TokenStream, tables: &[(&str, TokenStream, TokenStream)]) -> TokenStream {
    let (mut full, mut empty) = (TokenStream::new(), TokenStream::new());
    for (name, ty, entries) in tables {
        let name = Ident::new(name, Span::call_site());
        full.extend(quote! { pub(super) static #name: #ty = &[#entries]; });
        empty.extend(quote! { pub(super) static #name: #ty = &[]; });
    }
    quote! {
        #[cfg(not(clippy))]
        mod programs { use super::*; use array_dsl_tests::value::*; #modules #full }
        #[cfg(clippy)]
        mod programs { use super::*; #empty }
        use programs::*;
    }
}

/// The module of one program and its entry in the table; `None` if it is for GPUs and none can run it. A pullback
/// gives the value too, so the kernel itself is made only of some programs that have one.
fn module(
    seed: u64,
    f: &Function,
    on_gpu: bool,
) -> Result<Option<(TokenStream, TokenStream)>, Box<dyn Error>> {
    let p = pipeline::middle(f).expect("its derivatives exist");
    let derived = Some(Derivative::Vjp).filter(|d| d.exists(&p)).map(|d| pipeline::derivative(&p, d));
    let derived = derived.and_then(Result::ok);
    let module = if on_gpu { format_ident!("gpu_{seed}") } else { format_ident!("cpu_{seed}") };
    let (mut items, mut entry) = (TokenStream::new(), TokenStream::new());
    for (name, p, is_wanted) in [
        ("value", Some(&p), derived.is_none() || seed.is_multiple_of(VALUE_EVERY)),
        ("pullback", derived.as_ref(), true),
    ] {
        let Some(p) = p.filter(|_| is_wanted) else {
            entry.extend(quote!(None,));
            continue;
        };
        let variant = variant(p, on_gpu)?;
        if on_gpu && variant.gpu().is_err() {
            return Ok(None);
        }
        let (kernel, call_name) = (format_ident!("of_{name}"), format_ident!("{name}"));
        items.extend(host::items(&kernel, &quote!(pub), &TokenStream::new(), &[], &[variant]));
        items.extend(call(p, &call_name, &kernel, on_gpu));
        entry.extend(quote!(Some(#module::#call_name),));
    }
    let items = quote! {
        mod #module {
            use super::*;
            #items
        }
    };
    Ok(Some((items, quote! { (#seed, #entry) })))
}

fn variant(p: &Program, on_gpu: bool) -> Result<Variant, String> {
    let back = |target| pipeline::back(p, target).map_err(|e| e.join("; "));
    let gpu = if on_gpu { wgsl::emit(&back(Target::Gpu)?) } else { Err("it is compared on the CPU".into()) };
    let cpu = back(Target::Cpu)?;
    let types = Types::plain(&cpu);
    Ok(Variant::new(Compiled::new(Vec::new(), cpu, gpu), types))
}

/// A function that runs a kernel with values of the interpreters.
fn call(p: &Program, name: &Ident, kernel: &Ident, on_gpu: bool) -> TokenStream {
    let (mut uploads, mut arguments) = (TokenStream::new(), TokenStream::new());
    for (k, a) in p.params.iter().flat_map(|q| q.arrays.leaves()).enumerate() {
        let info = p.array(*a);
        let elem = Ident::new(info.elem.name(), Span::call_site());
        let rank = format_ident!("Ix{}", info.dims.len());
        let held = format_ident!("a{k}");
        arguments.extend(match info.dims.len() {
            0 => quote! { scalar::<#elem>(&values[#k]), },
            _ => quote! { &#held, },
        });
        if !info.dims.is_empty() {
            let host = quote! { array::<#elem, ndarray::#rank>(&values[#k]) };
            let held_value = if on_gpu {
                quote! { gpu.upload(&#host)? }
            } else {
                host
            };
            uploads.extend(quote! { let #held = #held_value; });
        }
    }
    if on_gpu {
        quote! {
            pub fn #name(gpu: &Gpu, values: &[Value]) -> Outcome {
                #uploads
                on_gpu(gpu, #kernel, (#arguments))
            }
        }
    } else {
        quote! {
            pub fn #name(values: &[Value]) -> Outcome {
                #uploads
                on_cpu(#kernel, (#arguments))
            }
        }
    }
}

/// Appends the text of tokens, in short lines: rustc's work on a file grows with the square of the length of its lines.
fn print(tokens: TokenStream, out: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(g) => {
                let (open, close) = match g.delimiter() {
                    Delimiter::Parenthesis => ("(", ") "),
                    Delimiter::Brace => ("{\n", "}\n"),
                    Delimiter::Bracket => ("[", "] "),
                    Delimiter::None => ("", " "),
                };
                out.push_str(open);
                print(g.stream(), out);
                out.push_str(close);
            }
            TokenTree::Punct(p) => {
                out.push(p.as_char());
                match (p.as_char(), p.spacing()) {
                    (';' | ',', _) => out.push('\n'),
                    (_, Spacing::Alone) => out.push(' '),
                    (_, Spacing::Joint) => {}
                }
            }
            token => {
                out.push_str(&token.to_string());
                out.push(' ');
            }
        }
    }
}
