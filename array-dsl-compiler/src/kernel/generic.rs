//! Generic kernels outside `elaborate`: the text that carries them, the check of a definition, and instances for the host.
//!
//! Core has no type parameters, so a generic kernel is carried to its callers as it was written, with the answers that it got
//! itself (`link`): its callers need nothing but its name.
//!
//! ```text
//! generic 34          the length of each part, and the part
//! fn f<T: Float>(x: T) -> T { g(x) }
//! 1
//! g                   what it calls, and the text that carries that
//! 210
//! ..
//! ```
//!
//! `#[kernel(f32, f64)]` makes instances for the host besides: the same kernel with that type in the place of its type
//! parameter, under a name of its own, which `f.of::<f32>()` gives.

use std::rc::Rc;

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;

use crate::diagnostics::{Code, Diagnostics};
use crate::elaborate::{self, Callees, Generic};
use crate::emit::host;
use crate::kernel::{self, Options};
use crate::syntax::{self, ast};
use crate::ty::Elem;

/// What the text of a generic kernel begins with.
const MARK: &str = "generic ";

/// The text that carries a kernel; `known` are the answers it got.
pub fn carried(item: &syn::ItemFn, known: &[(String, String)]) -> String {
    let mut item = item.clone();
    item.attrs.clear();
    item.vis = syn::Visibility::Inherited;
    let mut out = MARK.to_string();
    let source = item.to_token_stream().to_string();
    for part in [&source].into_iter().chain(known.iter().flat_map(|(path, text)| [path, text])) {
        out.push_str(&format!("{}\n{part}", part.len()));
    }
    out
}

/// Reads the text that carries a generic kernel: the kernel and the answers it got.
fn uncarried(text: &str) -> Option<(syn::ItemFn, Vec<(String, String)>)> {
    let mut rest = text.strip_prefix(MARK)?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_once('\n')?;
        let length: usize = length.parse().ok()?;
        parts.push(after.get(..length)?);
        rest = &after[length..];
    }
    let (source, known) = parts.split_first()?;
    let item = syn::parse_str(source).ok()?;
    let pairs = known.chunks_exact(2).map(|pair| (pair[0].to_string(), pair[1].to_string()));
    Some((item, pairs.collect()))
}

/// Whether a text carries a generic kernel.
pub fn is_carried(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Whether the argument of a carried kernel at this position is a function.
pub fn takes_function(text: &str, position: usize) -> bool {
    let function =
        uncarried(text).map(|(item, _)| syntax::parse_function(&item, &mut Diagnostics::default()));
    function.is_some_and(|f| f.params.get(position).is_some_and(ast::Param::is_function))
}

/// The kernel that a text carries; `None` if another version has written it.
pub fn read(text: &str) -> Option<Generic> {
    let (item, known) = uncarried(text)?;
    let mut diagnostics = Diagnostics::default();
    let callees = kernel::link(&item, None, &known, &mut diagnostics).ok()?;
    let function = syntax::parse_function(&item, &mut diagnostics);
    diagnostics.is_empty().then(|| Generic { function, callees: Rc::new(callees) })
}

/// Checks a generic kernel by itself. Errors are recorded.
pub fn check(
    item: &syn::ItemFn,
    f: &ast::Function,
    callees: &Callees,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let name = &f.name.name;
    if let Some((path, _)) = &options.rule {
        let help = "write the kernel once for each type, or give the rule to a kernel that it calls";
        let message = format!("the generic kernel `{name}` cannot have a rule of its own");
        diagnostics.error(Code::Attribute, path.span(), message, help);
        return None;
    }
    if let (Some((_, span)), []) = (options.more.first(), options.instances.as_slice()) {
        let help =
            "ask for instances too, `#[kernel(f32, f64, hvp)]`; inside kernels every derivative is there";
        let message = format!("the generic kernel `{name}` has no instance to make this of");
        diagnostics.error(Code::Attribute, *span, message, help);
        return None;
    }
    let twice = options.instances.iter().enumerate();
    let twice = twice.filter(|(k, (e, _))| options.instances[..*k].iter().any(|(other, _)| other == e));
    if let Some((_, (elem, span))) = twice.into_iter().next() {
        let message = format!("`{elem}` is asked for twice");
        diagnostics.error(Code::Attribute, *span, message, "one instance of a type is enough");
        return None;
    }
    if let Some((elem, span)) = options.instances.first() {
        let wrong = if let Some(p) = f.params.iter().find(|p| p.is_function()) {
            let parameter = p.pattern.name().map_or("_", |n| &n.name);
            Some(format!("it takes the function `{parameter}`, which only kernels can pass"))
        } else if f.generics.len() != 1 {
            Some(format!("it has {} type parameters", f.generics.len()))
        } else {
            options.instances.iter().find(|(e, _)| !f.generics[0].bound.admits(*e)).map(|(e, _)| {
                format!("`{}` is {}, not `{e}`", f.generics[0].name.name, f.generics[0].bound.describe())
            })
        };
        if let Some(wrong) = wrong {
            let message = format!("there is no instance of kernel `{name}` for `{elem}`: {wrong}");
            let help = "instances are made of kernels with one type parameter; for others write a kernel that calls it";
            diagnostics.error(Code::Attribute, *span, message, help);
            return None;
        }
    }
    if uncarried(&carried(item, &[])).is_none() {
        let help = "name what it calls by a path of its own crate, or write it outside the macro";
        let message = format!("the generic kernel `{name}` cannot be written by a macro with `$crate` in it");
        diagnostics.error(Code::Unsupported, f.name.span, message, help);
        return None;
    }
    // Where there are no examples only calls can tell what it does with its arguments.
    for (example, which) in elaborate::generic::examples(f) {
        let before = diagnostics.list().len();
        let found = elaborate::elaborate(&example, None, callees, diagnostics);
        if let Some(which) = which {
            diagnostics.specify(before, &which);
        }
        found?;
    }
    Some(())
}

/// The items of a generic kernel: its unit struct, and its instances.
pub fn items(
    item: &syn::ItemFn,
    f: &ast::Function,
    callees: &Callees,
    options: &Options,
    d: &mut Diagnostics,
) -> Option<TokenStream> {
    let (vis, name) = (&item.vis, &item.sig.ident);
    let docs = item.attrs.iter().map(ToTokens::to_token_stream);
    let mut out = quote! {
        #(#docs)*
        #[allow(non_camel_case_types, unused, reason = "it has the name of a function, which other kernels may call by its macro")]
        #[derive(Clone, Copy, Debug, Default)]
        #vis struct #name;
    };
    let [parameter] = f.generics.as_slice() else { return Some(out) };
    if f.params.iter().any(ast::Param::is_function) {
        return Some(out);
    }
    out.extend(quote! {
        const _: () = {
            #[allow(dead_code, reason = "only other kernels may call this one")]
            impl #name {
                /// The kernel for an element type: see [`array_dsl::Instance`].
                pub fn of<T>(self) -> <Self as ::array_dsl::Instance<T>>::Kernel
                where
                    Self: ::array_dsl::Instance<T>,
                {
                    ::core::default::Default::default()
                }
            }
        };
    });
    for (elem, _) in &options.instances {
        let (instance, variants) = (
            instance(item, &parameter.name.name, *elem),
            format_ident!("__{}_{}", name.unraw(), elem.name()),
        );
        let (_, made) = kernel::build(&instance, callees, options, d)?;
        let hidden = quote! { #[doc(hidden)] };
        out.extend(host::items(&variants, &vis.to_token_stream(), &hidden, &made));
        let elem = Ident::new(elem.name(), name.span());
        out.extend(quote! {
            impl ::array_dsl::Instance<#elem> for #name {
                type Kernel = #variants;
            }
        });
    }
    Some(out)
}

/// The kernel with a type in the place of its type parameter.
fn instance(item: &syn::ItemFn, parameter: &str, elem: Elem) -> syn::ItemFn {
    let mut item = item.clone();
    item.sig.generics = syn::Generics::default();
    let tokens = replaced(item.to_token_stream(), parameter, elem);
    // It was a function, and a name in place of another keeps it one.
    syn::parse2(tokens).unwrap_or(item)
}

/// The tokens with an element type in the place of an identifier.
fn replaced(tokens: TokenStream, name: &str, elem: Elem) -> TokenStream {
    let each = tokens.into_iter().map(|t| match t {
        TokenTree::Ident(i) if i == name => Ident::new(elem.name(), i.span()).into(),
        TokenTree::Group(g) => {
            let mut group = Group::new(g.delimiter(), replaced(g.stream(), name, elem));
            group.set_span(g.span());
            TokenTree::Group(group)
        }
        t => t,
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::{carried, read, replaced, uncarried};
    use crate::ty::Elem;

    #[test]
    fn what_is_carried_is_read_again() {
        let item: syn::ItemFn =
            syn::parse_str("pub fn f<T: Float>(x: T) -> T { g(x) + 1.5 }").expect("a function");
        let known =
            vec![("g".to_string(), carried(&syn::parse_str("fn g<T>(x: T) -> T { x }").expect("one"), &[]))];
        let text = carried(&item, &known);
        let (again, found) = uncarried(&text).expect("it is one");
        assert_eq!((again.sig.ident.to_string(), &found), ("f".to_string(), &known));
        let generic = read(&text).expect("it is right");
        assert_eq!(&*generic.function.name.name, "f");
        assert!(generic.callees.generic("g").is_some());
        for cut in 0..text.len() {
            let part = uncarried(&text[..cut]).map(|(_, known)| known);
            assert_ne!(part.as_ref(), Some(&known), "{}", &text[..cut]);
        }
    }

    #[test]
    fn types_take_the_places_of_parameters() {
        let tokens = "fn f(x: [T; n]) -> T { (x[0] as T, T) }".parse().expect("tokens");
        let expected: proc_macro2::TokenStream =
            "fn f(x: [f32; n]) -> f32 { (x[0] as f32, f32) }".parse().expect("tokens");
        assert_eq!(replaced(tokens, "T", Elem::F32).to_string(), expected.to_string());
    }
}
