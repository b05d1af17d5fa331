//! Compiles random programs to Rust, for `tests/random`: what `#[kernel]` would make of them if they were
//! written down, less the derivatives that are not compared.
//!
//! ```text
//! mod cpu_7 { kernel `random` and its `vjp`; fn value(&[Value]) -> Outcome; fn pullback(..) }
//! mod gpu_7 { the same with f32;             fn value(&Gpu, &[Value]) -> Outcome; .. }
//! static ON_CPU: [(seed, value, Option<pullback>)]
//! ```

use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;

use array_dsl_compiler::bulk::Program;
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::emit::host::{self, Variant};
use array_dsl_compiler::emit::wgsl;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing::random::program;
use proc_macro2::{Delimiter, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};

#[path = "src/single.rs"]
mod single;

/// The tests that share the programs: one file of Rust with all of them needs too much memory to compile.
const PARTS: u64 = 5;

/// Programs of a part.
const ON_CPU: u64 = 100;

/// Those of them that are compiled for GPUs too, the first that can be.
const ON_GPU: usize = 12;

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
    Ok(())
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
        if on_gpu.len() < ON_GPU
            && single::fits_gpu(&f)
            && let Some((items, entry)) = module(seed, &single::single(&f), true)?
        {
            modules.extend(items);
            on_gpu.push(entry);
        }
    }
    Ok(quote! {
        #modules
        static ON_CPU: &[(u64, OnCpu, Option<OnCpu>)] = &[#(#on_cpu),*];
        static ON_GPU: &[(u64, OnGpu, Option<OnGpu>)] = &[#(#on_gpu),*];
    })
}

/// The module of one program and its entry in the table; `None` if it is for GPUs and none can run it.
fn module(
    seed: u64,
    f: &Function,
    on_gpu: bool,
) -> Result<Option<(TokenStream, TokenStream)>, Box<dyn Error>> {
    let p = pipeline::middle(f);
    let mut variants = vec![variant(&p, Vec::new(), on_gpu)?];
    let mut calls = call(&p, "value", &quote!(random), on_gpu);
    let mut pullback = quote!(None);
    let module = if on_gpu { format_ident!("gpu_{seed}") } else { format_ident!("cpu_{seed}") };
    if Derivative::Vjp.exists(&p)
        && let Ok(d) = pipeline::derivative(&p, Derivative::Vjp)
    {
        variants.push(variant(&d, vec![Derivative::Vjp], on_gpu)?);
        calls.extend(call(&d, "pullback", &quote!(::array_dsl::vjp(random)), on_gpu));
        pullback = quote!(Some(#module::pullback));
    }
    if on_gpu && variants.iter().any(|v| v.gpu.is_err()) {
        return Ok(None);
    }
    let name = Ident::new("random", Span::call_site());
    let items = host::items(&name, &quote!(pub), &TokenStream::new(), &variants);
    let items = quote! {
        mod #module {
            use super::*;
            #items
            #calls
        }
    };
    Ok(Some((items, quote! { (#seed, #module::value, #pullback) })))
}

fn variant(p: &Program, path: Vec<Derivative>, on_gpu: bool) -> Result<Variant, String> {
    let back = |target| pipeline::back(p, target).map_err(|e| e.join("; "));
    let gpu = if on_gpu { wgsl::emit(&back(Target::Gpu)?) } else { Err("it is compared on the CPU".into()) };
    Ok(Variant { path, cpu: back(Target::Cpu)?, gpu, explain: String::new() })
}

/// A function that runs a kernel with values of the interpreters.
fn call(p: &Program, name: &str, kernel: &TokenStream, on_gpu: bool) -> TokenStream {
    let name = Ident::new(name, Span::call_site());
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
