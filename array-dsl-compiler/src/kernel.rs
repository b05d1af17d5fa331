//! Compiling one kernel: from an attribute and an item to the tokens that replace them.

use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::bulk;
use crate::core;
use crate::derive::Derivative;
use crate::diagnostics::{Code, Diagnostics};
use crate::elaborate::{Callees, is_builtin};
use crate::emit::host::{self, Variant};
use crate::emit::{cpu, wgsl};
use crate::pipeline;
use crate::schedule::Target;
use crate::syntax::{self, ast};

/// What `#[kernel(..)]` asks for beyond the usual.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `hvp`: Hessian-vector products.
    pub hvp: bool,
}

impl Options {
    /// Reads the attribute's arguments.
    pub fn parse(attr: &TokenStream, diagnostics: &mut Diagnostics) -> Options {
        let mut options = Options::default();
        for t in attr.clone() {
            match &t {
                proc_macro2::TokenTree::Ident(i) if i == "hvp" => options.hvp = true,
                proc_macro2::TokenTree::Punct(p) if p.as_char() == ',' => {}
                other => diagnostics.error(
                    Code::Attribute,
                    other.span(),
                    format!("unknown option `{other}` of `#[kernel]`"),
                    "the options are: hvp",
                ),
            }
        }
        options
    }
}

/// The paths that an item calls and that are not built in: the kernels to be linked.
pub fn callees(item: &syn::ItemFn) -> Vec<ast::Path> {
    let mut ignored = Diagnostics::default();
    let f = syntax::parse_function(item, &mut ignored);
    syntax::free_calls(&f, &|n| is_builtin(n))
}

/// A path as tokens.
pub fn path_tokens(p: &ast::Path) -> TokenStream {
    let mut out = TokenStream::new();
    for (i, s) in p.segments.iter().enumerate() {
        if i > 0 || p.leading_colon {
            out.extend(quote::quote_spanned!(s.span => ::));
        }
        out.extend(match syn::parse_str::<Ident>(&s.name) {
            Ok(mut id) => {
                id.set_span(s.span);
                id.to_token_stream()
            }
            Err(_) => {
                // `self`, `super` and `crate` are idents to proc_macro2.
                Ident::new(&s.name, s.span).to_token_stream()
            }
        });
    }
    out
}

/// What stands for a kernel whose errors have been reported.
pub fn failed(item: &syn::ItemFn) -> TokenStream {
    let mut out = fallback(item);
    out.extend(carrier(item, FAILED));
    out
}

/// The text that carries a kernel whose compilation failed.
pub const FAILED: &str = "failed";

/// Compiles a kernel whose callees are known; the tokens that replace the item.
pub fn compile(attr: &TokenStream, item: &syn::ItemFn, callees: Vec<(String, String)>) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let options = Options::parse(attr, &mut diagnostics);
    let mut linked = Callees::new();
    let mut unlinked = false;
    for (path, text) in callees {
        match core::parse::parse(&text) {
            Ok(f) => {
                linked.insert(path, Rc::new(f));
            }
            Err(_) => unlinked = true,
        }
    }
    let kernel = &item.sig.ident;
    let result = if unlinked { None } else { build(item, &linked, &options, &mut diagnostics) };
    match result {
        Some((function, variants)) if diagnostics.is_empty() => {
            let vis = item.vis.to_token_stream();
            let doc: TokenStream = item.attrs.iter().map(ToTokens::to_token_stream).collect();
            let mut out = host::items(kernel, &vis, &doc, &variants);
            out.extend(carrier(item, &core::print::print(&function)));
            out
        }
        _ => {
            let mut out = diagnostics.to_tokens();
            out.extend(failed(item));
            out
        }
    }
}

fn build(
    item: &syn::ItemFn,
    callees: &Callees,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<(core::Function, Vec<Variant>)> {
    let e = pipeline::front(item, callees, diagnostics)?;
    if !diagnostics.is_empty() {
        return None;
    }
    let program = pipeline::middle(&e.function);
    let mut variants = Vec::new();
    let front = format!("== typed and lifted ==\n{}\n", core::print::pretty(&e.function));
    add(&mut variants, Vec::new(), &program, &front, item, diagnostics)?;
    let mut wanted = vec![Derivative::Grad, Derivative::ValueAndGrad, Derivative::Vjp, Derivative::Jvp];
    if options.hvp {
        wanted.push(Derivative::Hvp);
    }
    for d in wanted {
        if !d.exists(&program) {
            continue;
        }
        // A construct without a derivative only means that the derivative is missing.
        let Ok(derived) = pipeline::derivative(&program, d) else { continue };
        add(&mut variants, vec![d], &derived, "", item, diagnostics)?;
        if d == Derivative::Grad && Derivative::Grad.exists(&derived) {
            if let Ok(second) = pipeline::derivative(&derived, Derivative::Grad) {
                add(&mut variants, vec![d, d], &second, "", item, diagnostics)?;
            }
        }
    }
    Some((e.function, variants))
}

fn add(
    variants: &mut Vec<Variant>,
    path: Vec<Derivative>,
    p: &bulk::Program,
    front: &str,
    item: &syn::ItemFn,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let mut explain = format!("{front}== bulk ==\n{}\n", bulk::print::print(p));
    let mut scheduled = |target| match pipeline::back(p, target) {
        Ok(l) => Some(l),
        Err(errors) => {
            diagnostics.error(
                Code::Limit,
                item.sig.ident.span(),
                format!("internal error of array-dsl: {}", errors.join("; ")),
                "please report this kernel",
            );
            None
        }
    };
    let cpu = scheduled(Target::Cpu)?;
    let gpu = scheduled(Target::Gpu)?;
    explain.push_str(&format!("== loops ==\n{}\n", crate::loops::print::print(&cpu)));
    let code = cpu::emit(&cpu, "");
    explain.push_str(&format!("== rust ==\n{}{}\n", code.items, code.body));
    let gpu = wgsl::emit(&gpu);
    match &gpu {
        Ok(g) => {
            for s in &g.shaders {
                explain.push_str(&format!("== wgsl {} ==\n{}\n", s.label, s.wgsl));
            }
        }
        Err(reason) => explain.push_str(&format!("== wgsl ==\nnone: {reason}\n")),
    }
    variants.push(Variant { path, cpu, gpu, explain });
    Some(())
}

/// The macro of the kernel's name, through which other kernels get its Core.
fn carrier(item: &syn::ItemFn, text: &str) -> TokenStream {
    let name = &item.sig.ident;
    let at = name.span().start();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for b in name.span().file().bytes().chain(format!("{}:{}", at.line, at.column).bytes()) {
        hash = (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    }
    let plain = name.to_string();
    let hidden = Ident::new(&format!("__array_dsl_{}_{hash:016x}", plain.trim_start_matches("r#")), Span::call_site());
    let vis = &item.vis;
    let public = matches!(vis, syn::Visibility::Public(_));
    let export = public.then(|| quote! { #[macro_export] });
    // A macro that is not exported cannot be seen outside its crate, whatever `vis` allows.
    quote! {
        #export
        #[doc(hidden)]
        #[allow(unused_macros)]
        macro_rules! #hidden {
            ([$($callback:tt)*] $($rest:tt)*) => { $($callback)* ! { #text $($rest)* } };
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        #vis use #hidden as #name;
    }
}

/// A function of the declared signature, so that callers of a kernel with errors are not flooded with more.
fn fallback(item: &syn::ItemFn) -> TokenStream {
    let (vis, name) = (&item.vis, &item.sig.ident);
    quote! {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, Default)]
        #vis struct #name;
    }
}
