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

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;

use super::compile::build;
use super::{Answer, Kernel};
use crate::diagnostics::{Code, Diagnostic, Diagnostics};
use crate::elaborate::{self, Callees, Generic};
use crate::emit::host::{self, Item};
use crate::syntax;
use crate::syntax::ast::{self, TypeKind};
use crate::ty::Elem;

/// What the text of a generic kernel begins with.
const MARK: &str = "generic ";

/// The text that carries a kernel, with the answers it got.
pub fn carried(item: &syn::ItemFn, answers: &[Answer]) -> String {
    let mut item = item.clone();
    item.attrs.clear();
    item.vis = syn::Visibility::Inherited;
    let mut out = MARK.to_string();
    let source = item.to_token_stream().to_string();
    for part in [&source].into_iter().chain(answers.iter().flat_map(|a| [&a.path, &a.text])) {
        out.push_str(&format!("{}\n{part}", part.len()));
    }
    out
}

/// Reads the text that carries a generic kernel: the kernel and the answers it got.
fn uncarried(text: &str) -> Option<(syn::ItemFn, Vec<Answer>)> {
    let mut rest = text.strip_prefix(MARK)?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_once('\n')?;
        let length: usize = length.parse().ok()?;
        parts.push(after.get(..length)?);
        rest = &after[length..];
    }
    let (source, answers) = parts.split_first()?;
    let item = syn::parse_str(source).ok()?;
    let answer = |pair: &[&str]| Answer { path: pair[0].to_string(), text: pair[1].to_string() };
    Some((item, answers.chunks_exact(2).map(answer).collect()))
}

/// Whether a text carries a generic kernel.
pub fn is_carried(text: &str) -> bool {
    text.starts_with(MARK)
}

/// The syntax tree of the generic kernel that a text carries; its errors have been reported where it is defined.
pub(super) fn function(text: &str) -> Option<ast::Function> {
    let (item, _) = uncarried(text)?;
    Some(syntax::parse_function(&item, &mut Diagnostics::default()))
}

/// The generic kernel that a text carries; `None` if another version has written it.
pub fn read(text: &str) -> Option<Generic> {
    let (item, answers) = uncarried(text)?;
    let mut diagnostics = Diagnostics::default();
    let kernel = Kernel::read(&TokenStream::new(), item, &mut diagnostics);
    let callees = kernel.link(&answers, &mut diagnostics).ok()?;
    diagnostics.is_empty().then(|| Generic { function: kernel.ast, callees: Rc::new(callees) })
}

/// The items of a generic kernel and the text that carries it, if nothing is wrong with it by itself.
pub(super) fn items(
    kernel: &Kernel,
    callees: &Callees,
    answers: &[Answer],
    diagnostics: &mut Diagnostics,
) -> Option<(TokenStream, String)> {
    check(kernel, callees, diagnostics)?;
    let (mut instances, mut sizes) = (TokenStream::new(), 0);
    for (elem, _) in &kernel.options.instances {
        let (items, of) = instance_items(kernel, *elem, callees, diagnostics)?;
        instances.extend(items);
        sizes = of;
    }
    let mut out = type_items(kernel, sizes);
    out.extend(kernel.lints());
    out.extend(instances);
    Some((out, carried(&kernel.item, answers)))
}

/// Checks a generic kernel by itself. Errors are recorded.
pub fn check(kernel: &Kernel, callees: &Callees, diagnostics: &mut Diagnostics) -> Option<()> {
    let f = &kernel.ast;
    if let Some(error) = refused(kernel) {
        diagnostics.push(error);
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

/// What is wrong with its options, or with carrying it.
fn refused(kernel: &Kernel) -> Option<Diagnostic> {
    let (options, name) = (&kernel.options, &kernel.ast.name.name);
    let attribute = |span: Span, message: String, help: &str| {
        Some(Diagnostic { code: Code::Attribute, span, message, help: help.into() })
    };
    if let Some(rule) = options.rule() {
        let message = format!("the generic kernel `{name}` cannot have a rule of its own");
        let help = "write the kernel once for each type, or give the rule to a kernel that it calls";
        return attribute(rule.span(), message, help);
    }
    if let Some(c) = syntax::constants(&kernel.ast).first() {
        let (code, span) = (Code::Unsupported, c.path.span());
        let message = format!(
            "the generic kernel `{name}` uses the constant `{}`, which its callers cannot see",
            c.path.text()
        );
        let help = "give it the value as an argument".into();
        return Some(Diagnostic { code, span, message, help });
    }
    let asked = options.more.first().map(|(_, span)| *span).or(options.only_named);
    if let (Some(span), []) = (asked, options.instances.as_slice()) {
        let message = format!("the generic kernel `{name}` has no instance to make this of");
        let help =
            "ask for instances too, `#[kernel(f32, f64, hvp)]`; inside kernels every derivative is there";
        return attribute(span, message, help);
    }
    let is_repeated = |k: usize, elem: Elem| options.instances[..k].iter().any(|(other, _)| *other == elem);
    if let Some((_, (elem, span))) =
        options.instances.iter().enumerate().find(|(k, (elem, _))| is_repeated(*k, *elem))
    {
        return attribute(*span, format!("`{elem}` is asked for twice"), "one instance of a type is enough");
    }
    if let Some((elem, span)) = options.instances.first()
        && let Some(reason) = without_instances(kernel)
    {
        let message = format!("there is no instance of kernel `{name}` for `{elem}`: {reason}");
        let help =
            "instances are made of kernels with one type parameter; for others write a kernel that calls it";
        return attribute(*span, message, help);
    }
    if uncarried(&carried(&kernel.item, &[])).is_none() {
        let message = format!("the generic kernel `{name}` cannot be written by a macro with `$crate` in it");
        let help = "name what it calls by a path of its own crate, or write it outside the macro".into();
        return Some(Diagnostic { code: Code::Unsupported, span: kernel.ast.name.span, message, help });
    }
    None
}

/// Why it has no instances of the types that are asked for.
fn without_instances(kernel: &Kernel) -> Option<String> {
    let f = &kernel.ast;
    if let Some(p) = f.params.iter().find(|p| p.is_function()) {
        let parameter = p.pattern.name().map_or("_", |n| &n.name);
        return Some(format!("it takes the function `{parameter}`, which only kernels can pass"));
    }
    let [parameter] = f.generics.as_slice() else {
        return Some(format!("it has {} type parameters", f.generics.len()));
    };
    let (elem, _) = kernel.options.instances.iter().find(|(e, _)| !parameter.bound.admits(*e))?;
    Some(format!("`{}` is {}, not `{elem}`", parameter.name.name, parameter.bound.describe()))
}

/// The item of a generic kernel, which gives its instances if there can be any; `sizes` is how many `usize` arguments these have.
fn type_items(kernel: &Kernel, sizes: usize) -> TokenStream {
    let docs = kernel.documented();
    let docs = quote! {
        #docs
        #[allow(unused, reason = "it has the name of a function, which other kernels may call by its macro")]
    };
    let item = Item::new(kernel.item.sig.ident.clone(), sizes);
    let (generics, ty) = (item.generics(), item.ty());
    let has_instances =
        kernel.ast.generics.len() == 1 && !kernel.ast.params.iter().any(ast::Param::is_function);
    let of = has_instances.then(|| {
        quote! {
            const _: () = {
                use ::array_dsl::__rt;
                #[allow(dead_code, reason = "only other kernels may call this one")]
                impl #generics #ty {
                    /// The kernel for an element type: see [`array_dsl::Instance`].
                    pub fn of<T>(self) -> <Self as ::array_dsl::Instance<T>>::Kernel
                    where
                        Self: ::array_dsl::Instance<T>,
                    {
                        ::core::default::Default::default()
                    }
                }
            };
        }
    });
    let item = item.kernel(&kernel.item.vis.to_token_stream(), &docs);
    quote! {
        #item
        #of
    }
}

/// The items of an instance, under a name of its own, and how many `usize` arguments it has.
fn instance_items(
    kernel: &Kernel,
    elem: Elem,
    callees: &Callees,
    diagnostics: &mut Diagnostics,
) -> Option<(TokenStream, usize)> {
    let instance = instance(kernel, elem);
    let signature = instance.signature(Some(&callees.records));
    let (_, variants) = build(&instance, callees, signature.as_ref(), diagnostics)?;
    let sizes = signature?.derived(&[]).sizes();
    let name = &kernel.item.sig.ident;
    let instance_name = format_ident!("__{}_{}", name.unraw(), elem.name());
    let vis = kernel.item.vis.to_token_stream();
    let mut out = host::items(&instance_name, &vis, &quote! { #[doc(hidden)] }, &[], &variants);
    let elem = Ident::new(elem.name(), name.span());
    let (item, instance) = (Item::new(name.clone(), sizes), Item::new(instance_name, sizes).ty());
    let (generics, ty) = (item.generics(), item.ty());
    out.extend(quote! {
        const _: () = {
            use ::array_dsl::__rt;
            impl #generics ::array_dsl::Instance<#elem> for #ty {
                type Kernel = #instance;
            }
        };
    });
    Some((out, sizes))
}

/// The kernel with an element type in the place of its type parameter.
fn instance(kernel: &Kernel, elem: Elem) -> Kernel {
    let parameters = kernel.ast.generics.iter().map(|g| (g.name.name.clone(), TypeKind::Scalar(elem)));
    let mut ast = syntax::instantiate(&kernel.ast, &parameters.collect());
    ast.generics.clear();
    Kernel { ast, ..kernel.clone() }
}

#[cfg(test)]
mod tests {
    use super::{Answer, carried, read, uncarried};

    #[test]
    fn what_is_carried_is_read_again() {
        let item: syn::ItemFn =
            syn::parse_str("pub fn f<T: Float>(x: T) -> T { g(x) + 1.5 }").expect("a function");
        let callee: syn::ItemFn = syn::parse_str("fn g<T>(x: T) -> T { x }").expect("one");
        let answers = vec![Answer { path: "g".into(), text: carried(&callee, &[]) }];
        let text = carried(&item, &answers);
        let (function, found) = uncarried(&text).expect("it is one");
        assert_eq!((function.sig.ident.to_string(), &found), ("f".to_string(), &answers));
        let generic = read(&text).expect("it is right");
        assert_eq!(&*generic.function.name.name, "f");
        assert!(generic.callees.generic("g").is_some());
        for cut in 0..text.len() {
            let part = uncarried(&text[..cut]).map(|(_, answers)| answers);
            assert_ne!(part.as_ref(), Some(&answers), "{}", &text[..cut]);
        }
    }
}
