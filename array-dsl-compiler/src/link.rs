//! How a kernel sees the kernels it calls.
//!
//! A macro sees only its own tokens, so a kernel asks the macro of each callee's name for the callee's Core. The
//! work list travels along, so that callees are asked one after the other and not inside each other:
//!
//! ```text
//! #[kernel] fn g .. f(..) ..    =>   f! { [::array_dsl::__compile] {g's attribute} {g} {f, h} {} }
//! f! { [callback] rest.. }      =>   ::array_dsl::__compile! { "core of f" rest.. }
//! __compile! { .. {f, h} {} }   =>   h! { [::array_dsl::__compile] {..} {g} {h} {"f" "core of f"} }
//! __compile! { .. {h} {..} }    =>   g, compiled
//! ```

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use crate::diagnostics::{Code, Diagnostics};
use crate::kernel;

/// What `#[kernel]` is replaced by.
pub fn attribute(attr: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<syn::ItemFn>(item.clone()) {
        Ok(f) => f,
        Err(error) => {
            let mut d = Diagnostics::default();
            d.error(
                Code::Unsupported,
                error.span(),
                "`#[kernel]` stands on a function",
                "move it to a `fn` with a body",
            );
            let mut out = d.to_tokens();
            out.extend(item);
            return out;
        }
    };
    let own = function.sig.ident.to_string();
    let paths = kernel::callees(&function);
    if let Some(p) = paths.iter().find(|p| p.text() == own) {
        let mut d = Diagnostics::default();
        d.error(
            Code::Recursion,
            p.span(),
            format!("kernel `{own}` calls itself"),
            "kernels cannot be recursive: write the recursion as a reduction, or unroll it",
        );
        let mut out = d.to_tokens();
        out.extend(kernel::failed(&function));
        return out;
    }
    let paths: Vec<TokenStream> = paths.iter().map(kernel::path_tokens).collect();
    proceed(attr, item, function, paths, Vec::new())
}

/// What `__compile!` is replaced by: a callee has answered with its Core.
pub fn resume(state: TokenStream) -> TokenStream {
    let parts: Vec<TokenTree> = state.into_iter().collect();
    let [core, attr, item, paths, known] = parts.as_slice() else {
        return quote! { ::core::compile_error!("`__compile!` is not for direct use"); };
    };
    let mut paths: Vec<TokenStream> = groups(paths).into_iter().map(|g| g.stream()).collect();
    let mut known: Vec<(String, String)> = pairs(known);
    let item = inside(item);
    let Ok(function) = syn::parse2::<syn::ItemFn>(item.clone()) else {
        return quote! { ::core::compile_error!("`__compile!` is not for direct use"); };
    };
    if !paths.is_empty() {
        let answered = paths.remove(0);
        known.push((path_text(&answered), literal(core)));
    }
    proceed(inside(attr), item, function, paths, known)
}

/// Asks the next callee, or compiles.
fn proceed(
    attr: TokenStream,
    item: TokenStream,
    function: syn::ItemFn,
    paths: Vec<TokenStream>,
    known: Vec<(String, String)>,
) -> TokenStream {
    let Some(next) = paths.first() else { return kernel::compile(&attr, &function, known) };
    let known = known.iter().map(|(path, core)| quote! { (#path #core) });
    let all = paths.iter().map(|p| quote! { (#p) });
    quote! { #next ! { [::array_dsl::__compile] { #attr } { #item } { #(#all)* } { #(#known)* } } }
}

fn inside(t: &TokenTree) -> TokenStream {
    match t {
        TokenTree::Group(g) => g.stream(),
        t => t.to_token_stream(),
    }
}

fn groups(t: &TokenTree) -> Vec<Group> {
    inside(t)
        .into_iter()
        .filter_map(|t| match t {
            TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis => Some(g),
            _ => None,
        })
        .collect()
}

fn pairs(t: &TokenTree) -> Vec<(String, String)> {
    groups(t)
        .into_iter()
        .filter_map(|g| match g.stream().into_iter().collect::<Vec<_>>().as_slice() {
            [a, b] => Some((literal(a), literal(b))),
            _ => None,
        })
        .collect()
}

/// The text of a string literal (which a `macro_rules!` may have wrapped in an invisible group).
fn literal(t: &TokenTree) -> String {
    let inner = match t {
        TokenTree::Group(g) => g.stream(),
        t => t.to_token_stream(),
    };
    syn::parse2::<syn::LitStr>(inner).map(|l| l.value()).unwrap_or_default()
}

fn path_text(p: &TokenStream) -> String {
    p.to_string().split_whitespace().collect()
}
