//! How kernels and records are carried to those that name them: as a text, in a macro of their own name.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::syntax::ast;

/// The text that carries a kernel whose compilation failed.
pub const FAILED: &str = "failed";

/// A name for what a kernel leaves beside it, unique by file and position, and by the expansion that it is from: a macro may make
/// kernels of one name in several modules, and macros that other crates see are all in one place.
pub fn hidden(name: &Ident) -> Ident {
    let span = name.span();
    let at = span.start();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    // Only what a span prints tells its expansion, before it prints where it is.
    let printed = format!("{span:?}");
    let expansion = printed.split(' ').next().unwrap_or_default();
    for b in span.file().bytes().chain(format!("{}:{} {expansion}", at.line, at.column).bytes()) {
        hash = (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    }
    Ident::new(&format!("__array_dsl_{}_{hash:016x}", name.unraw()), Span::call_site())
}

/// The macro of a kernel's or record's name, which answers with a text.
pub fn carrier_macro(name: &Ident, vis: &syn::Visibility, text: &str) -> TokenStream {
    let hidden = hidden(name);
    let public = matches!(vis, syn::Visibility::Public(_));
    let export = public.then(|| quote! { #[macro_export] });
    // A macro that is not exported cannot be seen outside its crate, whatever `vis` allows.
    quote! {
        #export
        #[doc(hidden)]
        #[allow(unused_macros, reason = "no other kernel may call this one")]
        macro_rules! #hidden {
            ([$($callback:tt)*] $($rest:tt)*) => { $($callback)* ! { #text $($rest)* } };
            // See `kernel::renamed`.
            ("") => { ::array_dsl::__imported_as_built_in! { #name } };
        }
        #[doc(hidden)]
        #[allow(unused_imports, reason = "no other kernel may call this one")]
        #vis use #hidden as #name;
    }
}

/// A path of `item` as tokens.
pub fn path_tokens(p: &ast::Path, item: &syn::ItemFn) -> TokenStream {
    let mut out = TokenStream::new();
    for (i, s) in p.segments.iter().enumerate() {
        let span = s.span;
        if i > 0 || p.leading_colon {
            out.extend(quote_spanned!(span => ::));
        }
        let ident = match &*s.name {
            // Only the token itself knows its crate.
            "$crate" => find(item.to_token_stream(), "$crate"),
            name @ ("self" | "super" | "crate") => Some(Ident::new(name, span)),
            name if syn::parse_str::<Ident>(name).is_ok() => Some(Ident::new(name, span)),
            name => Some(Ident::new_raw(name, span)),
        };
        out.extend(ident.map(ToTokens::into_token_stream));
    }
    out
}

/// The first identifier of this text.
fn find(tokens: TokenStream, text: &str) -> Option<Ident> {
    tokens.into_iter().find_map(|t| match t {
        TokenTree::Ident(i) if i == text => Some(i),
        TokenTree::Group(g) => find(g.stream(), text),
        _ => None,
    })
}

/// A path as `ast::Path::text` writes it.
pub fn path_text(p: &TokenStream) -> String {
    p.to_string().split_whitespace().collect::<String>().replace("r#", "")
}
