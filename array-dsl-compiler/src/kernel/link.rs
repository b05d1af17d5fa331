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
//! Each of these macros is given tokens and nothing else, so `__compile!` reads the kernel anew.
//!
//! A name without a macro ends the chain (`missing` has what is said then). So a name can only be asked for where it must be a kernel's. The name of a built-in function need not be, and whether the user
//! has a kernel of that name in sight cannot be known there: **a kernel does not have the name of a built-in function**, which
//! is an error at its definition. Local names need no asking: they hide built-in functions as they hide everything else. A kernel
//! under another name, `use m::mine as softmax`, is an error of rustc's where it would be called (`renamed`).

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;

use super::missing::{self, answered, last_span, not_a_kernel, not_a_record, unless_answered};
use super::state::State;
use super::{Answer, Kernel, compile, pending, renamed, unread};
use crate::carrier::{self, path_text, path_tokens};
use crate::diagnostics::{Code, Diagnostic, Diagnostics};
use crate::elaborate::is_builtin;
use crate::emit::fallback;
use crate::internal;
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
    let mut d = Diagnostics::default();
    let function = match syn::parse2::<syn::ItemFn>(item.clone()) {
        Ok(f) => f,
        Err(error) => {
            if let Some(kernel) = unread::without_body(&attr, &item, &mut d) {
                return failed(&kernel, &d);
            }
            let message = "`#[kernel]` stands on a function";
            d.error(Code::Unsupported, error.span(), message, "move it to a `fn` with a body");
            let mut out = d.to_tokens();
            out.extend(item);
            return out;
        }
    };
    let kernel = Kernel::read(&attr, function, &mut d);
    let (records, mut callees) = (kernel.records(), kernel.callees(&[]));
    let mut paths: Vec<TokenStream> =
        records.iter().chain(&callees).map(|p| path_tokens(p, &kernel.item)).collect();
    if let Some(rule) = &kernel.options.rule
        && callees.iter().all(|p| p.text() != rule.path.text())
    {
        paths.push(rule.tokens.clone());
        callees.push(rule.path.clone());
    }
    refuse_names(&kernel, &callees, &mut d);
    if is_builtin(&kernel.name()) {
        pending::refused(&kernel.name());
        // Without a macro, which would be ambiguous wherever a kernel calls the built-in function (`renamed`).
        let mut out = d.to_tokens();
        out.extend(fallback::items(&kernel.item, kernel.signature(None).as_ref()));
        return out;
    }
    if !d.is_empty() {
        return failed(&kernel, &d);
    }
    let mut out = renamed::refused(&kernel);
    out.extend(proceed(&kernel, &State { attr, item, paths, answers: Vec::new() }));
    out
}

/// Records an error where a kernel calls itself, or has the name of a built-in function.
fn refuse_names(kernel: &Kernel, callees: &[ast::Path], d: &mut Diagnostics) {
    let (own, span) = (kernel.name(), kernel.item.sig.ident.span());
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
            span,
            format!("the kernel has the name of the built-in function `{own}`, which is what kernels that call `{own}` get"),
            format!("give it another name: `my_{own}`, say"),
        );
    }
}

/// The errors of a kernel whose records are not known.
fn failed(kernel: &Kernel, d: &Diagnostics) -> TokenStream {
    let mut out = d.to_tokens();
    out.extend(kernel.failed(kernel.signature(None).as_ref()));
    out
}

/// Asks the next path of a kernel, or compiles it.
fn proceed(kernel: &Kernel, state: &State) -> TokenStream {
    let name = &kernel.item.sig.ident;
    let is_record = state.answers.len() < kernel.records().len();
    let error = |path: &str, span| {
        if is_record { not_a_record(path, span) } else { not_a_kernel(name, path, span) }
    };
    ask(name, state, &quote!(::array_dsl::__compile), error)
        .unwrap_or_else(|| compile(kernel, &state.answers))
}

/// The question to the next path, with what stands there if it has no answer; `None` if all have answered.
fn ask(
    asker: &Ident,
    state: &State,
    callback: &TokenStream,
    error: impl FnOnce(&str, Span) -> Diagnostic,
) -> Option<TokenStream> {
    let id = carrier::hidden(asker).to_string();
    let Some(path) = state.paths.first() else {
        pending::has_all(&id);
        return None;
    };
    let text = path_text(path);
    pending::asks(&id, &asker.unraw().to_string(), &text);
    let error = error(&text, last_span(path));
    let k = state.answers.len();
    let (call, name) = state.ask(callback, missing::alias(asker, k))?;
    let mut out = unless_answered(asker, (k, &name), &error, &state.item);
    out.extend(call);
    Some(out)
}

/// What `__unanswered` is replaced by: a path of a kernel or record has no answer.
pub fn unanswered(arguments: TokenStream) -> TokenStream {
    guarded(|| {
        missing::unanswered(arguments)
            .unwrap_or_else(|| quote! { ::core::compile_error!("`__unanswered` is not for direct use"); })
    })
}

/// What `__compile!` is replaced by: a record or callee has answered a kernel.
pub fn resume(state: TokenStream) -> TokenStream {
    guarded(|| answered_kernel(state))
}

fn answered_kernel(state: TokenStream) -> TokenStream {
    let read = State::read(state).and_then(|s| Some((syn::parse2::<syn::ItemFn>(s.item.clone()).ok()?, s)));
    let Some((function, mut state)) = read else {
        return quote! { ::core::compile_error!("`__compile!` is not for direct use"); };
    };
    let mut d = Diagnostics::default();
    let kernel = Kernel::read(&state.attr, function, &mut d);
    let name = &kernel.item.sig.ident;
    let mut out = answered(name, state.answers.len() - 1);
    // The attribute stops where its kernel is wrong.
    if !d.is_empty() {
        out.extend(failed(&kernel, &d));
        return out;
    }
    // What is passed to a generic kernel may be a kernel, which only its answer tells.
    let paths = state.paths.iter().map(path_text);
    let asked: Vec<String> = state.answers.iter().map(|a| a.path.clone()).chain(paths).collect();
    let later: Vec<ast::Path> =
        kernel.callees(&state.answers).into_iter().filter(|p| !asked.contains(&p.text())).collect();
    state.paths.extend(later.iter().map(|p| path_tokens(p, &kernel.item)));
    out.extend(proceed(&kernel, &state));
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
    let Some(definition) = definition::read(&input, &mut d) else {
        let mut out = d.to_tokens();
        out.extend(record::carrier(&input, carrier::FAILED));
        return out;
    };
    let mut records: Vec<&syn::Path> = Vec::new();
    for p in definition.fields.iter().flat_map(|f| f.host.records()) {
        if !records.iter().any(|q| definition::path_text(q) == definition::path_text(p)) {
            records.push(p);
        }
    }
    let paths = records.iter().map(ToTokens::to_token_stream).collect();
    let state = State { attr: TokenStream::new(), item, paths, answers: Vec::new() };
    proceed_record(&input, &definition, &state)
}

/// Asks the next record in a record, or implements it.
fn proceed_record(
    input: &syn::DeriveInput,
    definition: &definition::Definition,
    state: &State,
) -> TokenStream {
    let next = ask(&input.ident, state, &quote!(::array_dsl::__record), not_a_record);
    next.unwrap_or_else(|| define(input, definition, &state.answers))
}

/// What `__record!` is replaced by: a record has answered the record that it is in.
pub fn resume_record(state: TokenStream) -> TokenStream {
    guarded(|| answered_record(state))
}

fn answered_record(state: TokenStream) -> TokenStream {
    internal::stage("link");
    let read = State::read(state).and_then(|s| {
        let input = syn::parse2::<syn::DeriveInput>(s.item.clone()).ok()?;
        let definition = definition::read(&input, &mut Diagnostics::default())?;
        Some((input, definition, s))
    });
    let Some((input, definition, state)) = read else {
        return quote! { ::core::compile_error!("`__record!` is not for direct use"); };
    };
    let mut out = answered(&input.ident, state.answers.len() - 1);
    out.extend(proceed_record(&input, &definition, &state));
    out
}

/// The implementations of a record whose own records are known.
fn define(input: &syn::DeriveInput, definition: &definition::Definition, answers: &[Answer]) -> TokenStream {
    let mut d = Diagnostics::default();
    let mut records = Records::default();
    let mut failed = false;
    for Answer { path, text } in answers {
        match record::read(text, &mut records).and_then(|id| records.get(&id).cloned()) {
            Some(r) => _ = records.insert(path.clone(), r),
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
    out.extend(record::items::items(definition));
    out.extend(record::carrier(input, &record::write(definition, &records)));
    out
}
