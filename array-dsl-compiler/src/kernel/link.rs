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
//! Records are asked in the same way, before the callees; `derive(Record)` asks the records in a record, and goes on in
//! `__record`.
//!
//! A name without a macro is rustc's to find and ends the chain there. rustc says only that there is no such macro, so
//! every answer leaves a constant behind, and the first one that is missing is an error in the user's terms.
//!
//! So a name can only be asked for where it must be a kernel's. The name of a built-in function need not be, and whether the user
//! has a kernel of that name in sight cannot be known there: **a kernel does not have the name of a built-in function**, which
//! is an error at its definition. Local names need no asking: they hide built-in functions as they hide everything else. A kernel
//! under another name, `use m::mine as softmax`, is an error of rustc's where it would be called (`renamed`).

use std::collections::HashSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use super::{Options, renamed};
use crate::carrier::{self, path_text};
use crate::diagnostics::{Code, Diagnostic, Diagnostics};
use crate::elaborate::{is_builtin, similar_builtin};
use crate::internal;
use crate::kernel;
use crate::record::{self, Records, definition};
use crate::syntax::ast;

/// What a macro is replaced by; a panic of its is an error.
fn guarded(f: impl FnOnce() -> TokenStream) -> TokenStream {
    internal::caught(f).unwrap_or_else(|panic| {
        let mut d = Diagnostics::default();
        internal::report(&panic, "an item of this macro", Span::call_site(), &mut d);
        d.to_tokens()
    })
}

/// What `#[kernel]` is replaced by.
pub fn attribute(attr: TokenStream, item: TokenStream) -> TokenStream {
    guarded(|| kernel_item(attr, item))
}

fn kernel_item(attr: TokenStream, item: TokenStream) -> TokenStream {
    internal::stage("syntax");
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
    let records = kernel::records(&function, &mut Diagnostics::default());
    let callees = kernel::callees(&function, &[], &mut d);
    let mut tokens: Vec<TokenStream> =
        records.iter().chain(&callees).map(|p| carrier::path_tokens(p, &function)).collect();
    let callees = match options.rule.filter(|(r, _)| callees.iter().all(|p| p.text() != r.text())) {
        Some((path, written)) => {
            tokens.push(written);
            [callees, vec![path]].concat()
        }
        None => callees,
    };
    let name = &function.sig.ident;
    let own = name.unraw().to_string();
    if let Some(p) = callees.iter().find(|p| p.text().trim_start_matches("self::") == own) {
        d.error(
            Code::Recursion,
            p.span(),
            format!("kernel `{own}` calls itself"),
            "kernels cannot be recursive: write the recursion as a reduction, or unroll it",
        );
    }
    if is_builtin(&own) {
        d.error(
            Code::BuiltinName,
            name.span(),
            format!("the kernel has the name of the built-in function `{own}`, which is what kernels that call `{own}` get"),
            format!("give it another name: `my_{own}`, say"),
        );
    }
    if !d.is_empty() {
        let mut out = d.to_tokens();
        out.extend(kernel::failed(&function, None));
        return out;
    }
    let texts = records.iter().map(|p| (p.span(), not_a_record(&p.text())));
    let texts = texts.chain(callees.iter().map(|p| (p.span(), not_a_kernel(&name.to_string(), p))));
    let mut out = missing(name, 0, &texts.collect::<Vec<_>>());
    out.extend(renamed::refused(&function));
    out.extend(proceed(Asker::Kernel(&function), attr, item, tokens, Vec::new()));
    out
}

/// What `#[derive(Record)]` adds.
pub fn derive_record(item: TokenStream) -> TokenStream {
    guarded(|| record_item(item))
}

fn record_item(item: TokenStream) -> TokenStream {
    internal::stage("record");
    let input = match syn::parse2::<syn::DeriveInput>(item.clone()) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut d = Diagnostics::default();
    let Some(read) = definition::read(&input, &mut d) else {
        let mut out = d.to_tokens();
        out.extend(record::carrier(&input, carrier::FAILED));
        return out;
    };
    let mut paths: Vec<syn::Path> = Vec::new();
    for p in read.fields.iter().flat_map(|f| f.host.records()) {
        if !paths.iter().any(|q| definition::path_text(q) == definition::path_text(p)) {
            paths.push(p.clone());
        }
    }
    let texts = paths.iter().map(|p| {
        let span = p.segments.last().map_or(Span::call_site(), |s| s.ident.span());
        (span, not_a_record(&definition::path_text(p)))
    });
    let mut out = missing(&input.ident, 0, &texts.collect::<Vec<_>>());
    let paths = paths.iter().map(ToTokens::to_token_stream).collect();
    out.extend(proceed(Asker::Record(&input, &read), TokenStream::new(), item, paths, Vec::new()));
    out
}

/// The type that holds the answers to a kernel or record.
fn answers(asker: &Ident) -> Ident {
    format_ident!("{}_answers", carrier::hidden(asker))
}

/// The constant that the answer of path `k` leaves behind.
fn answered(k: usize) -> Ident {
    format_ident!("ANSWERED_{k}")
}

/// What is wrong when a path has no macro.
type Missing = (Code, String, String);

/// An error, unless every path from the given number on answers: an inherent constant hides the trait's of the same name.
fn missing(name: &Ident, from: usize, texts: &[(Span, Missing)]) -> TokenStream {
    if texts.is_empty() {
        return TokenStream::new();
    }
    let answers = answers(name);
    let constants = (from..from + texts.len()).map(answered);
    let checks = texts.iter().enumerate().map(|(k, (span, (code, message, help)))| {
        let constant = answered(from + k);
        let (code, span) = (*code, *span);
        let text = Diagnostic { code, span, message: message.clone(), help: help.clone() }.text();
        let text = text.replace('{', "{{").replace('}', "}}");
        quote_spanned! {span=> if !#answers::#constant { ::core::panic!(#text) } }
    });
    let definition = (from == 0).then(|| {
        quote! {
            #[doc(hidden)]
            #[allow(non_camel_case_types, dead_code)]
            struct #answers;
        }
    });
    quote! {
        #definition
        const _: () = {
            trait Unanswered {
                #(const #constants: bool = false;)*
            }
            impl Unanswered for #answers {}
            #(#checks)*
        };
    }
}

/// What is wrong when the name of a type is no macro.
fn not_a_record(name: &str) -> Missing {
    let message = format!("`{name}` is not a type of kernels, nor a record here");
    let help = format!(
        "put `#[derive(Record)]` on the structure's definition, and import it if it is in another module; the element types are \
         {}; arrays are written `[f64; n]`",
        crate::syntax::ELEMENT_TYPES
    );
    (Code::NotARecord, message, help)
}

/// What is wrong when the name that a kernel calls is no macro.
fn not_a_kernel(kernel: &str, p: &ast::Path) -> Missing {
    let name = p.text();
    if let Some(near) = similar_builtin(&name) {
        let help = format!("did you mean `{near}`? otherwise put `#[kernel]` on the definition of `{name}`");
        return (Code::UnknownFunction, format!("unknown function `{name}`"), help);
    }
    let message = format!("kernel `{kernel}` calls `{name}`, which is neither built in nor a kernel here");
    let help = "put `#[kernel]` on its definition, and import it if it is in another module; if it is a kernel with an \
                error of its own, correct that first; two kernels cannot call each other";
    (Code::NotAKernel, message, help.into())
}

/// What `__compile!` is replaced by: a record or callee has answered a kernel.
pub fn resume(state: TokenStream) -> TokenStream {
    guarded(|| answered_kernel(state))
}

fn answered_kernel(state: TokenStream) -> TokenStream {
    internal::stage("link");
    let parsed = State::read(state).and_then(|s| Some((syn::parse2::<syn::ItemFn>(s.item.clone()).ok()?, s)));
    let Some((function, mut state)) = parsed else {
        return quote! { ::core::compile_error!("`__compile!` is not for direct use"); };
    };
    let mut out = state.answer(&function.sig.ident);
    // What is passed to a generic kernel may be a kernel, which only its answer tells.
    let found = kernel::callees(&function, &state.known, &mut Diagnostics::default());
    let asked: HashSet<String> =
        state.known.iter().map(|(path, _)| path.clone()).chain(state.paths.iter().map(path_text)).collect();
    let later: Vec<ast::Path> = found.into_iter().filter(|p| !asked.contains(&p.text())).collect();
    let name = &function.sig.ident;
    let texts: Vec<(Span, Missing)> =
        later.iter().map(|p| (p.span(), not_a_kernel(&name.to_string(), p))).collect();
    out.extend(missing(name, state.known.len() + state.paths.len(), &texts));
    state.paths.extend(later.iter().map(|p| carrier::path_tokens(p, &function)));
    let State { attr, item, paths, known, .. } = state;
    out.extend(proceed(Asker::Kernel(&function), attr, item, paths, known));
    out
}

/// What `__record!` is replaced by: a record has answered the record that it is in.
pub fn resume_record(state: TokenStream) -> TokenStream {
    guarded(|| answered_record(state))
}

fn answered_record(state: TokenStream) -> TokenStream {
    internal::stage("link");
    let parsed = State::read(state).and_then(|s| {
        let input = syn::parse2::<syn::DeriveInput>(s.item.clone()).ok()?;
        let read = definition::read(&input, &mut Diagnostics::default())?;
        Some((input, read, s))
    });
    let Some((input, read, mut state)) = parsed else {
        return quote! { ::core::compile_error!("`__record!` is not for direct use"); };
    };
    let mut out = state.answer(&input.ident);
    let State { attr, item, paths, known, .. } = state;
    out.extend(proceed(Asker::Record(&input, &read), attr, item, paths, known));
    out
}

/// What travels along.
struct State {
    /// The text of the answer.
    text: String,
    /// The attribute of a kernel.
    attr: TokenStream,
    /// The kernel or record that asks.
    item: TokenStream,
    /// What is to be asked; the first has just answered.
    paths: Vec<TokenStream>,
    /// The answers by path.
    known: Vec<(String, String)>,
}

impl State {
    fn read(state: TokenStream) -> Option<State> {
        let parts: Vec<TokenTree> = state.into_iter().collect();
        let [text, attr, item, paths, known] = parts.as_slice() else { return None };
        Some(State {
            text: literal(text),
            attr: inside(attr),
            item: inside(item),
            paths: groups(paths).into_iter().map(|g| g.stream()).collect(),
            known: pairs(known),
        })
    }

    /// Takes the answer; what it leaves behind.
    fn answer(&mut self, asker: &Ident) -> TokenStream {
        if self.paths.is_empty() {
            return TokenStream::new();
        }
        let path = self.paths.remove(0);
        let (answers, constant) = (answers(asker), answered(self.known.len()));
        self.known.push((path_text(&path), std::mem::take(&mut self.text)));
        quote! {
            impl #answers {
                const #constant: bool = true;
            }
        }
    }
}

/// The macros that Rust has in sight everywhere.
pub(super) const OF_RUST: &[&str] = &[
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

/// Who asks.
enum Asker<'a> {
    Kernel(&'a syn::ItemFn),
    Record(&'a syn::DeriveInput, &'a definition::Definition),
}

/// Asks the next path, or compiles.
fn proceed(
    asker: Asker<'_>,
    attr: TokenStream,
    item: TokenStream,
    paths: Vec<TokenStream>,
    known: Vec<(String, String)>,
) -> TokenStream {
    let Some(next) = paths.first() else {
        return match asker {
            Asker::Kernel(function) => kernel::compile(&attr, function, known),
            Asker::Record(input, read) => define(input, read, known),
        };
    };
    let callback = match asker {
        Asker::Kernel(_) => quote!(::array_dsl::__compile),
        Asker::Record(..) => quote!(::array_dsl::__record),
    };
    // A kernel may have the name of a macro of Rust, which is in sight before the kernel's own macro is.
    let by_path = OF_RUST.contains(&next.to_string().as_str()).then(|| quote! { self:: });
    let known = known.iter().map(|(path, core)| quote! { (#path #core) });
    let all = paths.iter().map(|p| quote! { (#p) });
    quote! { #by_path #next ! { [#callback] { #attr } { #item } { #(#all)* } { #(#known)* } } }
}

/// The implementations of a record whose own records are known.
fn define(
    input: &syn::DeriveInput,
    read: &definition::Definition,
    known: Vec<(String, String)>,
) -> TokenStream {
    let mut d = Diagnostics::default();
    let mut records = Records::new();
    let mut failed = false;
    for (path, text) in known {
        match record::read(&text, &mut records).and_then(|id| records.get(&id).cloned()) {
            Some(r) => _ = records.insert(path, r),
            // Its errors have been reported where it is defined.
            None if text == carrier::FAILED => failed = true,
            None => {
                let message = format!("`{path}` is a kernel, or a record of another version of array-dsl");
                let help = "name a structure with `#[derive(Record)]`, and build all crates with one version";
                d.error(Code::NotARecord, input.ident.span(), message, help);
            }
        }
    }
    let mut out = d.to_tokens();
    if failed || !d.is_empty() {
        out.extend(record::carrier(input, carrier::FAILED));
        return out;
    }
    out.extend(record::items::items(read));
    out.extend(record::carrier(input, &record::write(read, &records)));
    out
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
