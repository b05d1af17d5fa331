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
//!
//! A name without a macro is rustc's to find and ends the chain there. rustc says only that there is no such macro, so
//! every answer leaves a constant behind, and the first one that is missing is an error in the user's terms.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::diagnostics::{Code, Diagnostic, Diagnostics};
use crate::elaborate::{similar_builtin, unavailable};
use crate::kernel::{self, Options};
use crate::syntax::ast;

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
    let mut d = Diagnostics::default();
    let options = Options::parse(&attr, &mut d);
    let mut paths = kernel::callees(&function, &mut d);
    let mut tokens: Vec<TokenStream> = paths.iter().map(|p| kernel::path_tokens(p, &function)).collect();
    if let Some((path, written)) = options.rule.filter(|(r, _)| paths.iter().all(|p| p.text() != r.text())) {
        paths.push(path);
        tokens.push(written);
    }
    let own = function.sig.ident.unraw().to_string();
    if let Some(p) = paths.iter().find(|p| p.text().trim_start_matches("self::") == own) {
        d.error(
            Code::Recursion,
            p.span(),
            format!("kernel `{own}` calls itself"),
            "kernels cannot be recursive: write the recursion as a reduction, or unroll it",
        );
    }
    if !d.is_empty() {
        let mut out = d.to_tokens();
        out.extend(kernel::failed(&function));
        return out;
    }
    let mut out = missing(&function, &paths);
    out.extend(proceed(attr, item, function, tokens, Vec::new()));
    out
}

/// The type that holds the answers to a kernel.
fn answers(kernel: &Ident) -> Ident {
    format_ident!("{}_answers", kernel::hidden(kernel))
}

/// The constant that the answer of callee `k` leaves behind.
fn answered(k: usize) -> Ident {
    format_ident!("ANSWERED_{k}")
}

/// An error, unless every callee answers: an inherent constant hides the trait's of the same name.
fn missing(function: &syn::ItemFn, paths: &[ast::Path]) -> TokenStream {
    if paths.is_empty() {
        return TokenStream::new();
    }
    let name = &function.sig.ident;
    let answers = answers(name);
    let constants = (0..paths.len()).map(answered);
    let checks = paths.iter().enumerate().map(|(k, p)| {
        let constant = answered(k);
        let (code, message, help) = not_a_kernel(&name.to_string(), p);
        let text =
            Diagnostic { code, span: p.span(), message, help }.text().replace('{', "{{").replace('}', "}}");
        quote_spanned! {p.span()=> if !#answers::#constant { ::core::panic!(#text) } }
    });
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        struct #answers;
        const _: () = {
            trait Unanswered {
                #(const #constants: bool = false;)*
            }
            impl Unanswered for #answers {}
            #(#checks)*
        };
    }
}

/// What is wrong when the name that a kernel calls is no macro.
fn not_a_kernel(kernel: &str, p: &ast::Path) -> (Code, String, String) {
    let name = p.text();
    if let Some(help) = unavailable(&name) {
        return (Code::UnknownFunction, format!("there is no function `{name}` in kernels"), help.into());
    }
    if let Some(near) = similar_builtin(&name) {
        let help = format!("did you mean `{near}`? otherwise put `#[kernel]` on the definition of `{name}`");
        return (Code::UnknownFunction, format!("unknown function `{name}`"), help);
    }
    let message = format!("kernel `{kernel}` calls `{name}`, which is neither built in nor a kernel here");
    let help = "put `#[kernel]` on its definition, and import it if it is in another module; if it is a kernel with an \
                error of its own, correct that first; two kernels cannot call each other";
    (Code::NotAKernel, message, help.into())
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
    let mut out = TokenStream::new();
    if !paths.is_empty() {
        let path = paths.remove(0);
        let (answers, constant) = (answers(&function.sig.ident), answered(known.len()));
        out.extend(quote! {
            impl #answers {
                const #constant: bool = true;
            }
        });
        known.push((path_text(&path), literal(core)));
    }
    out.extend(proceed(inside(attr), item, function, paths, known));
    out
}

/// The macros that Rust has in sight everywhere.
const OF_RUST: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "column",
    "compile_error",
    "concat",
    "concat_bytes",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "include",
    "include_bytes",
    "include_str",
    "line",
    "matches",
    "module_path",
    "option_env",
    "panic",
    "print",
    "println",
    "stringify",
    "thread_local",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Asks the next callee, or compiles.
fn proceed(
    attr: TokenStream,
    item: TokenStream,
    function: syn::ItemFn,
    paths: Vec<TokenStream>,
    known: Vec<(String, String)>,
) -> TokenStream {
    let Some(next) = paths.first() else { return kernel::compile(&attr, &function, known) };
    // A kernel may have the name of a macro of Rust, which is in sight before the kernel's own macro is.
    let by_path = OF_RUST.contains(&next.to_string().as_str()).then(|| quote! { self:: });
    let known = known.iter().map(|(path, core)| quote! { (#path #core) });
    let all = paths.iter().map(|p| quote! { (#p) });
    quote! { #by_path #next ! { [::array_dsl::__compile] { #attr } { #item } { #(#all)* } { #(#known)* } } }
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

/// As `ast::Path::text` writes it.
fn path_text(p: &TokenStream) -> String {
    p.to_string().split_whitespace().collect::<String>().replace("r#", "")
}
