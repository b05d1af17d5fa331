//! A kernel whose paths are known, with all its variants: the kernel itself and its derivatives.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

use super::{Answer, Kernel, generic};
use crate::bulk;
use crate::core;
use crate::derive::{Derivative, NotDifferentiable};
use crate::diagnostics::{Code, Diagnostics};
use crate::elaborate::{Callees, Elaborated};
use crate::emit::host::{self, Variant};
use crate::emit::signature::Signature;
use crate::emit::wgsl;
use crate::internal;
use crate::notes;
use crate::optimize;
use crate::pipeline;
use crate::record::{self, Records};
use crate::target::Target;

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
            items(kernel, callees, signature.as_ref(), &mut diagnostics)
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
    let mut out = diagnostics.to_tokens();
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
    let (function, variants) = build(kernel, callees, signature, diagnostics)?;
    let vis = kernel.item.vis.to_token_stream();
    let doc: TokenStream = kernel.item.attrs.iter().map(ToTokens::to_token_stream).collect();
    internal::stage("emit");
    let items = host::items(name, &vis, &doc, &variants);
    Some((items, carried(kernel, &function, &callees.records, diagnostics)))
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
) -> Option<(core::Function, Vec<Variant>)> {
    let elaborated = pipeline::front(&kernel.ast, kernel.options.rule(), callees, diagnostics)?;
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
    let front = explained(&elaborated);
    let mut variants = Variants { kernel, signature: signature?, made: Vec::new() };
    variants.add(Vec::new(), &program, &front, diagnostics)?;
    for d in Derivative::ALL {
        variants.derive(d, &program, diagnostics)?;
    }
    Some((elaborated.function, variants.made))
}

/// What `explain` tells of the front end.
fn explained(elaborated: &Elaborated) -> String {
    let f = &elaborated.function;
    let of_core = notes::of_gradients(f).into_iter().chain(notes::of_functions(f));
    let notes: Vec<_> = elaborated.notes.iter().cloned().chain(of_core).collect();
    let notes = notes::section("notes", &f.name, &f.places, &notes);
    format!("{notes}== typed and lifted ==\n{}\n", core::print::pretty(f))
}

/// The variants of a kernel so far, the kernel itself first.
struct Variants<'a> {
    kernel: &'a Kernel,
    signature: &'a Signature,
    made: Vec<Variant>,
}

impl Variants<'_> {
    /// Adds a derivative of the kernel, if there is one and it is not left out, for its cost or by `#[kernel(value)]`. `None` if that broke a rule of the
    /// compiler's own.
    fn derive(
        &mut self,
        d: Derivative,
        program: &bulk::Program,
        diagnostics: &mut Diagnostics,
    ) -> Option<()> {
        let requested = self.kernel.options.more.iter().find(|(more, _)| *more == d).map(|(_, span)| *span);
        let only_named = self.kernel.options.only_named.is_some();
        if requested.is_none() && (d.is_costly() || only_named) {
            return Some(());
        }
        if !d.exists(program) {
            if let Some(span) = requested {
                let message = format!("there is no `{}` of this kernel", d.name());
                diagnostics.error(Code::NotDifferentiable, span, message, d.needs());
            }
            return Some(());
        }
        let derived = match pipeline::derivative(program, d) {
            Ok(derived) => derived,
            Err(reason) => {
                self.without(d.name(), &reason, program, requested, diagnostics);
                return Some(());
            }
        };
        self.add(vec![d], &derived, "", diagnostics)?;
        if d == Derivative::Grad && d.exists(&derived) && !only_named {
            match pipeline::derivative(&derived, d) {
                Ok(second) => self.add(vec![d, d], &second, "", diagnostics)?,
                Err(reason) => self.without("grad(grad)", &reason, &derived, None, diagnostics),
            }
        }
        Some(())
    }

    /// A derivative, by its name, that there is not: an error where it was requested, else only missing; `explain` says why.
    fn without(
        &mut self,
        name: &str,
        reason: &NotDifferentiable,
        program: &bulk::Program,
        requested: Option<Span>,
        diagnostics: &mut Diagnostics,
    ) {
        let place = reason.loc.and_then(|l| program.places.get(l.0 as usize));
        let line = place.map_or_else(String::new, |p| format!(" (line {})", p.line));
        let text = format!("`{name}`: {}{line}", reason.what);
        if let Some(span) = requested {
            let help = "leave the option out, or write the kernel in another way";
            diagnostics.error(Code::NotDifferentiable, span, text, help);
        } else if let Some(kernel) = self.made.first_mut() {
            kernel.explain.push_str(&format!("== {name} ==\nnone: {text}\n"));
        }
    }

    /// Adds a program for both targets; `front` is what `explain` tells before it.
    fn add(
        &mut self,
        path: Vec<Derivative>,
        program: &bulk::Program,
        front: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<()> {
        let mut scheduled = |target| {
            let errors = match pipeline::back(program, target) {
                Ok(loops) => return Some(loops),
                Err(errors) => errors,
            };
            report(&errors.join("; "), self.kernel, diagnostics);
            None
        };
        let checks = notes::section("checks", &program.name, &program.places, &optimize::remaining(program));
        let (cpu, gpu) = (scheduled(Target::Cpu)?, scheduled(Target::Gpu)?);
        internal::stage("emit");
        let types = self.signature.derived(&path);
        let mut variant = Variant::new(path, cpu, wgsl::emit(&gpu), types);
        variant.explain =
            format!("{front}{checks}== bulk ==\n{}\n{}", bulk::print::print(program), variant.printed());
        self.made.push(variant);
        Some(())
    }
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
        p.rules = vec![Rule { by: vec![0], program: parse(rule).expect("it parses") }.into()];
        let [x, square, y] = [0, 1, 2].map(|a| vec![ArrayId(a)]);
        p.stms[1] = Stm::Custom(Custom { results: y, values: square, args: x, rule: 0, loc: Loc(0) });
        let mut variants = Variants { kernel: &kernel, signature: &signature, made: Vec::new() };
        variants.add(Vec::new(), &p, "", &mut diagnostics).expect("it is scheduled");
        variants.derive(Derivative::Grad, &p, &mut diagnostics).expect("its gradient is scheduled");
        assert!(diagnostics.is_empty());
        let (explain, reason) =
            (&variants.made[0].explain, "a reduction by `min` over 2 axes has no derivative");
        assert_eq!(variants.made.len(), 2);
        assert!(
            explain.ends_with(&format!("== grad(grad) ==\nnone: `grad(grad)`: {reason} (line 0)\n")),
            "{explain}"
        );
    }
}
