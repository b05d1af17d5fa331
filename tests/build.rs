//! Compiles random programs to Rust, for `tests/random.rs`: what `#[kernel]` would make of them if they were
//! written down, less the derivatives that are not compared.
//!
//! ```text
//! mod cpu_7 { kernel `random` and its `vjp`; fn value(&[Value]) -> Outcome; fn pullback(..) }
//! mod gpu_7 { the same with f32;             fn value(&Gpu, &[Value]) -> Outcome; .. }
//! static ON_CPU: [(seed, value, Option<pullback>)]
//! ```

use std::error::Error;
use std::path::PathBuf;

use array_dsl_compiler::bulk::Program;
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::emit::host::{self, Variant};
use array_dsl_compiler::emit::wgsl;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing::random::program;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

#[path = "src/single.rs"]
mod single;

/// Programs compiled for the CPU.
const ON_CPU: u64 = 500;

/// Programs compiled for GPUs, those of the first seeds that can be.
const ON_GPU: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/single.rs");
    let mut out = TokenStream::new();
    let mut entries = Vec::new();
    for seed in 0..ON_CPU {
        let made = module(seed, &program(seed), false)?;
        let Some((items, entry)) = made else { continue };
        out.extend(items);
        entries.push(entry);
    }
    out.extend(quote! { static ON_CPU: &[(u64, OnCpu, Option<OnCpu>)] = &[#(#entries),*]; });
    let mut entries = Vec::new();
    for seed in (0..ON_CPU).filter(|s| single::fits_gpu(&program(*s))) {
        if entries.len() == ON_GPU {
            break;
        }
        let made = module(seed, &single::single(&program(seed)), true)?;
        let Some((items, entry)) = made else { continue };
        out.extend(items);
        entries.push(entry);
    }
    out.extend(quote! { static ON_GPU: &[(u64, OnGpu, Option<OnGpu>)] = &[#(#entries),*]; });
    let path = PathBuf::from(std::env::var("OUT_DIR")?).join("random.rs");
    std::fs::write(path, out.to_string())?;
    Ok(())
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
            let held_value = if on_gpu { quote! { gpu.upload(&#host)? } } else { host };
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
