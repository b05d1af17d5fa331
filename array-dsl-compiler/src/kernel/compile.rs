//! A kernel whose paths are known, with all its variants: the kernel itself and its derivatives.

use std::iter;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use super::programs::{self, Made};
use super::{Answer, Kernel, generic, pending};
use crate::bulk;
use crate::carrier;
use crate::core;
use crate::derive::Derivative;
use crate::diagnostics::{Code, Diagnostics};
use crate::elaborate::{Callees, Elaborated, Source};
use crate::emit::host::{self, Variant, constants};
use crate::emit::signature::Signature;
use crate::internal;
use crate::notes;
use crate::pipeline;
use crate::record::{self, Records};
use crate::ty::Elem;

/// Compiles a kernel whose records and callees have answered, in that order; the tokens that replace the item.
pub fn compile(kernel: &Kernel, answers: &[Answer]) -> TokenStream {
    internal::caught(|| compiled(kernel, answers)).unwrap_or_else(|panic| {
        let mut diagnostics = Diagnostics::default();
        report(&panic, kernel, &mut diagnostics);
        let mut out = diagnostics.to_tokens();
        out.extend(kernel.failed(kernel.signature(None).as_ref()));
        out
    })
}

fn compiled(kernel: &Kernel, answers: &[Answer]) -> TokenStream {
    internal::stage("link");
    let mut diagnostics = Diagnostics::default();
    let linked = kernel.link(answers, &mut diagnostics);
    let known = linked.as_ref().unwrap_or_else(|part| part);
    let signature = kernel.signature(Some(&known.records));
    if let Ok(callees) = &linked {
        let made = if kernel.ast.is_generic() {
            generic::items(kernel, callees, answers, &mut diagnostics)
        } else {
            items(kernel, callees, answers, signature.as_ref(), &mut diagnostics)
        };
        match made {
            Some((mut out, text)) if diagnostics.is_empty() => {
                out.extend(kernel.carrier(&text));
                return out;
            }
            None if diagnostics.is_empty() => {
                report("no reason given for an error", kernel, &mut diagnostics);
            }
            _ => {}
        }
    }
    let mut out = TokenStream::new();
    // Of what calls a kernel that has the name of a built-in function, that is all that is wrong.
    if !kernel.named_builtins().called.iter().any(|name| pending::is_refused(&name.name)) {
        out.extend(diagnostics.to_tokens());
    }
    out.extend(kernel.failed(signature.as_ref()));
    out
}

/// Records an internal error about a kernel.
fn report(what: &str, kernel: &Kernel, diagnostics: &mut Diagnostics) {
    internal::report(what, &kernel.name(), kernel.item.sig.ident.span(), diagnostics);
}

/// The items of a kernel that is not generic, and the text that carries it.
fn items(
    kernel: &Kernel,
    callees: &Callees,
    answers: &[Answer],
    signature: Option<&Signature>,
    diagnostics: &mut Diagnostics,
) -> Option<(TokenStream, String)> {
    let name = &kernel.item.sig.ident;
    if let Some((elem, span)) = kernel.options.instances.first() {
        let message = format!("kernel `{name}` is not generic, so there is no instance of it for `{elem}`");
        let help = format!("make it generic, `fn {name}<T: Float>(..)`, or leave the option out");
        diagnostics.error(Code::Attribute, *span, message, help);
        return None;
    }
    let (Elaborated { function, constants, .. }, variants) = build(kernel, callees, signature, diagnostics)?;
    let constants =
        constants.iter().map(|source| value(kernel, source, answers)).collect::<Option<Vec<_>>>()?;
    let vis = kernel.item.vis.to_token_stream();
    let doc = kernel.documented();
    internal::stage("emit");
    let mut items = host::items(name, &vis, &doc, &constants, &variants);
    items.extend(kernel.lints());
    Some((items, carried(kernel, &function, &callees.records, diagnostics)))
}

/// A constant of the surrounding code where it comes from.
fn value(kernel: &Kernel, source: &Source, answers: &[Answer]) -> Option<constants::Value> {
    let value = match source {
        Source::Named(constant, elem) => {
            let path = carrier::path_tokens(&constant.path, &kernel.item);
            let span = constant.path.span();
            let ty = Ident::new(elem.name(), span);
            match (constant.cast, elem) {
                (Some(_), _) => quote!(#path as #ty),
                (None, Elem::I64) => quote_spanned!(span=> __rt::constant::Counts::number(#path)),
                (None, _) => path,
            }
        }
        Source::Called(path, k, _) => {
            let kernel = kernel.path_of(path, answers)?;
            quote!(<#kernel as __rt::constant::Constant<#k>>::value())
        }
    };
    Some((source.elem(), value))
}

/// The text that carries a kernel: what is read from it must be what it is.
fn carried(kernel: &Kernel, function: &core::Function, records: &Records, d: &mut Diagnostics) -> String {
    internal::stage("print");
    let text = core::print::print(function);
    if core::parse::parse(&text).as_ref() != Ok(function) {
        report("its Core is another one when read again", kernel, d);
    }
    record::carried(&kernel.ast, &text, records)
}

/// Compiles a kernel that is not generic, or an instance of one, with all its variants.
pub(super) fn build(
    kernel: &Kernel,
    callees: &Callees,
    signature: Option<&Signature>,
    diagnostics: &mut Diagnostics,
) -> Option<(Elaborated, Vec<Variant>)> {
    let elaborated = pipeline::front(&kernel.ast, kernel.options.own_rule(), callees, diagnostics)?;
    let program = match pipeline::middle(&elaborated.function) {
        Ok(program) => program,
        Err(reason) => {
            let span = reason.loc.and_then(|l| elaborated.spans.get(l.0 as usize).copied());
            let span = span.unwrap_or(kernel.item.sig.ident.span());
            let message = format!("{}, but the kernel takes a derivative of it", reason.what);
            let help = "write it in another way, or keep it from being differentiated with `stop_gradient`";
            diagnostics.error(Code::NotDifferentiable, span, message, help);
            return None;
        }
    };
    let asked = asked(kernel, &elaborated.function, &program, diagnostics);
    let derivatives: Vec<Derivative> = asked.iter().map(|(d, _)| *d).collect();
    let made = programs::compile(&program, &derivatives, kernel.options.only_named.is_none());
    let spans: Vec<Option<Span>> = iter::once(None).chain(asked.iter().map(|(_, span)| *span)).collect();
    let front = explained(&elaborated, &program);
    let signature = signature?.with_constants(elaborated.constants.iter().map(Source::elem).collect());
    Some((elaborated, variants(kernel, &signature, &front, made, &spans, diagnostics)?))
}

/// The derivatives of a kernel that are made, with the options that ask for them: those that it has and that are not left out, for
/// their cost or by `#[kernel(value)]`.
fn asked(
    kernel: &Kernel,
    function: &core::Function,
    program: &bulk::Program,
    diagnostics: &mut Diagnostics,
) -> Vec<(Derivative, Option<Span>)> {
    let mut out = Vec::new();
    for d in Derivative::ALL {
        let span = kernel.options.more.iter().find(|(more, _)| *more == d).map(|(_, span)| *span);
        if span.is_none() && (d.is_costly() || kernel.options.only_named.is_some()) {
            continue;
        }
        if d.is_matrix() && core::complex::is_at_border(function) {
            if let Some(span) = span {
                let message =
                    format!("there is no `{}` of a kernel with complex arguments or results", d.name());
                let help = "its entries would be derivatives of holomorphic functions only: use `vjp` and `jvp`, or take the parts as arguments";
                diagnostics.error(Code::NotDifferentiable, span, message, help);
            }
        } else if d.exists(program) {
            out.push((d, span));
        } else if let Some(span) = span {
            let message = format!("there is no `{}` of this kernel", d.name());
            diagnostics.error(Code::NotDifferentiable, span, message, d.needs());
        }
    }
    out
}

/// The variants of a kernel from what was made of it and of each derivative, the kernel itself first. A derivative that there is not is
/// an error at the option that asks for it; of others `explain`, which begins with `front`, says why. `None` if something broke a rule of the
/// compiler's own.
fn variants(
    kernel: &Kernel,
    signature: &Signature,
    front: &str,
    made: Vec<Vec<Made>>,
    spans: &[Option<Span>],
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Variant>> {
    let mut variants: Vec<Variant> = Vec::new();
    for (made, span) in made.into_iter().zip(spans) {
        // What follows on a derivative is not what was asked for.
        let spans = iter::once(*span).chain(iter::repeat(None));
        for (made, span) in made.into_iter().zip(spans) {
            match (made, span) {
                (Made::Program(mut p), _) => {
                    if variants.is_empty() {
                        p.explain.insert_str(0, front);
                    }
                    let types = signature.derived(&p.path);
                    variants.push(Variant::new(*p, types));
                }
                (Made::PartOfVjp(d), _) => {
                    variants.push(Variant::part_of_vjp(d, &kernel.name(), signature.derived(&[d])));
                }
                (Made::Missing { why, .. }, Some(span)) => {
                    let help = "leave the option out, or write the kernel in another way";
                    diagnostics.error(Code::NotDifferentiable, span, why, help);
                }
                (Made::Missing { name, why }, None) => {
                    let kernel = variants.first_mut()?.compiled()?;
                    kernel.explain.push_str(&format!("== {name} ==\nnone: {why}\n"));
                }
                (Made::Wrong(errors), _) => {
                    report(&errors.join("; "), kernel, diagnostics);
                    return None;
                }
            }
        }
    }
    Some(variants)
}

/// What `explain` tells of the front end, and of what has become of it.
fn explained(elaborated: &Elaborated, program: &bulk::Program) -> String {
    let f = &elaborated.function;
    let of_core = notes::of_gradients(f).into_iter().chain(notes::of_functions(f));
    let in_order = notes::of_loops(&elaborated.in_order, program);
    let notes: Vec<_> = in_order.into_iter().chain(of_core).collect();
    let notes = notes::section("notes", &f.name, &f.places, &notes);
    format!("{notes}== typed and lifted ==\n{}\n", core::print::pretty(f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::parse::parse;
    use crate::bulk::{ArrayId, Custom, Rule, Stm};
    use crate::ty::Loc;

    /// A gradient by a rule of the user's may have none itself.
    #[test]
    fn explain_says_why_there_is_no_second_gradient() {
        let item = syn::parse_quote! { fn f(x: f64) -> f64 { x } };
        let mut diagnostics = Diagnostics::default();
        let kernel = Kernel::read(&TokenStream::new(), item, &mut diagnostics);
        let signature = kernel.signature(None).expect("a scalar has a type at the host");
        let rule = "program rule(x.0: f64, cotangent.1: f64)
            least.2: f64 = nest [%0 < 2, %1 < 3] {
              %2 = x.0[]; %3 = mul %0 %1; %4 = as_f64 %3; %5 = mul %2 %4 } reduce(min) 2 %5
            x_adj.3: f64 = nest [] { %6 = least.2[]; %7 = cotangent.1[]; %8 = mul %6 %7 } store %8
            => x_adj.3";
        let text = "program f(x.0: f64)
            square.1: f64 = nest [] { %0 = x.0[]; %1 = mul %0 %0 } store %1
            y.2: f64 = nest [] { %2 = square.1[] } store %2
            => y.2";
        let mut p = parse(text).expect("it parses");
        p.rules = vec![Rule { by: vec![0], program: parse(rule).expect("it parses"), routine: None }.into()];
        let [x, square, y] = [0, 1, 2].map(|a| vec![ArrayId(a)]);
        p.stms[1] = Stm::Custom(Custom { results: y, values: square, args: x, rule: 0, loc: Loc(0) });
        let made = programs::compile(&p, &[Derivative::Grad], true);
        let mut variants = variants(&kernel, &signature, "", made, &[None, None], &mut diagnostics)
            .expect("it is scheduled, and its gradient");
        assert!(diagnostics.is_empty());
        assert_eq!(variants.len(), 2);
        let (explain, reason) = (
            &variants[0].compiled().expect("it has a program").explain,
            "a reduction by `min` over 2 axes has no derivative",
        );
        assert!(
            explain.ends_with(&format!("== grad(grad) ==\nnone: `grad(grad)`: {reason} (line 0)\n")),
            "{explain}"
        );
    }
}
