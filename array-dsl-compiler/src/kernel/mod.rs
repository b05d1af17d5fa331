//! Compiling one kernel: from an attribute and an item to the tokens that replace them.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | one kernel with all its variants |
//! | `link` | how a kernel sees the kernels and records that it names |
//! | `generic` | kernels that are elaborated where they are called, and their instances for the host |
//! | `renamed` | kernels that are imported under the name of a built-in function |

pub mod generic;
pub mod link;
pub mod renamed;

use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;

use crate::bulk;
use crate::carrier;
use crate::core;
use crate::derive::Derivative;
use crate::diagnostics::{Code, Diagnostics};
use crate::elaborate::{Callee, Callees, is_builtin, takes_function};
use crate::emit::host::{self, Variant};
use crate::emit::signature::Signature;
use crate::emit::{cpu, fallback, wgsl};
use crate::internal;
use crate::notes;
use crate::optimize;
use crate::pipeline;
use crate::record::{self, Records};
use crate::syntax::{self, ast};
use crate::target::Target;
use crate::ty::Elem;

/// What `#[kernel(..)]` asks for beyond the usual.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `hvp`, `jacobian`, `hessian`, `vmap`: what is made only on request, and where that stands. The others may be asked for
    /// too, which makes it an error if they cannot be had.
    pub more: Vec<(Derivative, Span)>,
    /// `f32, f64`: the element types for which a generic kernel is made for the host, and where they stand.
    pub instances: Vec<(Elem, Span)>,
    /// `vjp = rule`: the kernel that is its derivative, and its path's tokens.
    pub rule: Option<(ast::Path, TokenStream)>,
}

impl Options {
    /// Reads the attribute's arguments.
    pub fn parse(attr: &TokenStream, diagnostics: &mut Diagnostics) -> Options {
        let mut options = Options::default();
        let tokens: Vec<TokenTree> = attr.clone().into_iter().collect();
        for option in tokens.split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ',')) {
            match option {
                [] => {}
                [TokenTree::Ident(i)] if Options::requested(i).is_some() => {
                    options.more.extend(Options::requested(i).map(|d| (d, i.span())));
                }
                [TokenTree::Ident(i)] if Elem::from_name(&i.to_string()).is_some() => {
                    options.instances.extend(Elem::from_name(&i.to_string()).map(|e| (e, i.span())));
                }
                [TokenTree::Ident(i), TokenTree::Punct(p), path @ ..]
                    if i == "vjp" && p.as_char() == '=' && Options::path(path).is_some() =>
                {
                    options.rule = Options::path(path).map(|p| (p, path.iter().cloned().collect()));
                }
                [first, ..] => {
                    let written: TokenStream = option.iter().cloned().collect();
                    diagnostics.error(
                        Code::Attribute,
                        first.span(),
                        format!("unknown option `{written}` of `#[kernel]`"),
                        "the options are `hvp`, `jacobian`, `hessian` and `vmap`, as in `#[kernel(hvp, hessian)]`, `vjp = rule` for \
                         a derivative of your own, and for a generic kernel the types to make it for, `#[kernel(f32, f64)]`",
                    );
                }
            }
        }
        options
    }

    /// The path of a rule.
    fn path(tokens: &[TokenTree]) -> Option<ast::Path> {
        let path: syn::Path = syn::parse2(tokens.iter().cloned().collect()).ok()?;
        let plain = path.segments.iter().all(|s| s.arguments.is_none());
        let ident = |s: &syn::PathSegment| ast::Ident {
            name: s.ident.unraw().to_string().into(),
            span: s.ident.span(),
        };
        plain.then(|| ast::Path {
            segments: path.segments.iter().map(ident).collect(),
            leading_colon: path.leading_colon.is_some(),
        })
    }

    /// What an option asks for.
    fn requested(option: &Ident) -> Option<Derivative> {
        Derivative::ALL.into_iter().find(|d| option == d.name())
    }
}

/// The paths that an item calls and that are not built in: the kernels to be linked. Errors of syntax are
/// recorded. What is passed to a generic kernel may be one too, which only the kernel's answer tells: `known` are the answers so far.
pub fn callees(
    item: &syn::ItemFn,
    known: &[(String, String)],
    diagnostics: &mut Diagnostics,
) -> Vec<ast::Path> {
    let f = syntax::parse_function(item, diagnostics);
    let takes_function = |path: &str, position: usize| {
        if is_builtin(path) {
            return takes_function(path, position);
        }
        let answers = known.iter().filter(|(p, text)| p == path && generic::is_carried(text));
        answers.into_iter().any(|(_, text)| generic::takes_function(text, position))
    };
    syntax::free_calls(&f, &syntax::Builtins { contains: &is_builtin, takes_function: &takes_function })
}

/// The built-in functions that an item calls by name. Errors of syntax are not recorded.
pub fn called_builtins(item: &syn::ItemFn) -> Vec<ast::Ident> {
    let f = syntax::parse_function(item, &mut Diagnostics::default());
    let builtins = syntax::Builtins { contains: &is_builtin, takes_function: &takes_function };
    syntax::called_builtins(&f, &builtins)
}

/// The paths of an item that stand for records: they are linked before the kernels. Errors of syntax are recorded.
pub fn records(item: &syn::ItemFn, diagnostics: &mut Diagnostics) -> Vec<ast::Path> {
    syntax::named_records(&syntax::parse_function(item, diagnostics))
}

/// What stands for a kernel whose errors have been reported; `records` are those that it names, if they are known.
pub fn failed(item: &syn::ItemFn, records: Option<&Records>) -> TokenStream {
    let mut out = fallback::items(item, records);
    out.extend(carrier_of(item, carrier::FAILED));
    out
}

/// Compiles a kernel whose records and callees are known, by path in that order; the tokens that replace the item.
pub fn compile(attr: &TokenStream, item: &syn::ItemFn, known: Vec<(String, String)>) -> TokenStream {
    internal::caught(|| compiled(attr, item, known)).unwrap_or_else(|panic| {
        let mut diagnostics = Diagnostics::default();
        let name = &item.sig.ident;
        internal::report(&panic, &name.unraw().to_string(), name.span(), &mut diagnostics);
        let mut out = diagnostics.to_tokens();
        out.extend(failed(item, None));
        out
    })
}

fn compiled(attr: &TokenStream, item: &syn::ItemFn, known: Vec<(String, String)>) -> TokenStream {
    internal::stage("link");
    let mut diagnostics = Diagnostics::default();
    let options = Options::parse(attr, &mut diagnostics);
    let linked = link(item, options.rule.as_ref().map(|(path, _)| path), &known, &mut diagnostics);
    let kernel = &item.sig.ident;
    let name = kernel.unraw().to_string();
    let ast = syntax::parse_function(item, &mut Diagnostics::default());
    let is_linked = linked.is_ok();
    let result = linked.as_ref().ok().and_then(|linked| {
        if ast.is_generic() {
            generic::check(item, &ast, linked, &options, &mut diagnostics)?;
            let items = generic::items(item, &ast, linked, &options, &mut diagnostics)?;
            return Some((items, generic::carried(item, &known)));
        }
        if let Some((elem, span)) = options.instances.first() {
            let message =
                format!("kernel `{kernel}` is not generic, so there is no instance of it for `{elem}`");
            let help = format!("make it generic, `fn {kernel}<T: Float>(..)`, or leave the option out");
            diagnostics.error(Code::Attribute, *span, message, help);
            return None;
        }
        let (function, variants) = build(item, linked, &options, &mut diagnostics)?;
        let vis = item.vis.to_token_stream();
        let doc: TokenStream = item.attrs.iter().map(ToTokens::to_token_stream).collect();
        internal::stage("emit");
        let items = host::items(kernel, &vis, &doc, &variants);
        internal::stage("print");
        let text = core::print::print(&function);
        // What it is carried as must be what it is.
        if core::parse::parse(&text).as_ref() != Ok(&function) {
            internal::report(
                "its Core is another one when read again",
                &name,
                kernel.span(),
                &mut diagnostics,
            );
        }
        Some((items, record::carried(&ast, &text, &linked.records)))
    });
    if result.is_none() && diagnostics.is_empty() && is_linked {
        internal::report("no reason given for an error", &name, kernel.span(), &mut diagnostics);
    }
    match result {
        Some((mut out, text)) if diagnostics.is_empty() => {
            out.extend(carrier_of(item, &text));
            out
        }
        _ => {
            let mut out = diagnostics.to_tokens();
            let known = linked.as_ref().unwrap_or_else(|part| part);
            out.extend(failed(item, Some(&known.records)));
            out
        }
    }
}

/// What the paths of an item stand for, by the answers of their macros: the records first.
///
/// # Errors
/// As far as it is known, if an error was recorded, or one of them has failed, which has been reported where it is defined.
pub fn link(
    item: &syn::ItemFn,
    rule: Option<&ast::Path>,
    known: &[(String, String)],
    diagnostics: &mut Diagnostics,
) -> Result<Callees, Box<Callees>> {
    let mut linked = Callees::new();
    let mut is_linked = true;
    let records = records(item, &mut Diagnostics::default());
    let callees = callees(item, known, &mut Diagnostics::default());
    for (k, (path, text)) in known.iter().enumerate() {
        let mut paths = callees.iter().chain(&records).chain(rule);
        let span = paths.find(|p| p.text() == *path).map_or(item.sig.ident.span(), ast::Path::span);
        is_linked &=
            text != carrier::FAILED && linked.link((path, span), text, k < records.len(), diagnostics);
    }
    if is_linked { Ok(linked) } else { Err(linked.into()) }
}

impl Callees {
    /// Adds what the macro of a path has answered, where a record is meant or a kernel. False if an error was recorded.
    fn link(
        &mut self,
        (path, span): (&str, Span),
        text: &str,
        is_record: bool,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        let id = record::read(text, &mut self.records);
        let kernel = || {
            let mut records = Records::new();
            let (interface, core) = record::uncarried(text, &mut records)?;
            let function = Rc::new(core::parse::parse(core).ok()?);
            Some((Callee { function, interface }, records))
        };
        match (is_record, id) {
            (true, Some(id)) => {
                let found = self.records.get(&id).cloned();
                self.records.extend(found.map(|r| (path.to_string(), r)));
                return true;
            }
            (false, None) => {
                if let Some(generic) = generic::read(text) {
                    self.insert_generic(path, generic);
                    return true;
                }
                if let Some((callee, records)) = kernel() {
                    self.records.extend(records);
                    self.insert_callee(path, callee);
                    return true;
                }
                let message = format!("kernel `{path}` was compiled by another version of array-dsl");
                let help = "build the crates that share kernels with one version of it";
                diagnostics.error(Code::Limit, span, message, help);
            }
            (true, None) if generic::is_carried(text) || kernel().is_some() => {
                let message = format!("`{path}` is a kernel, not a record");
                diagnostics.error(
                    Code::NotARecord,
                    span,
                    message,
                    "name a structure with `#[derive(Record)]`",
                );
            }
            (true, None) => {
                let message = format!("record `{path}` was compiled by another version of array-dsl");
                let help = "build the crates that share records with one version of it";
                diagnostics.error(Code::Limit, span, message, help);
            }
            (false, Some(_)) => {
                let message = format!("`{path}` is a record, not a kernel");
                let help = format!("write `{path} {{ .. }}` with its fields to make one");
                diagnostics.error(Code::NotAKernel, span, message, help);
            }
        }
        false
    }
}

/// Compiles a kernel with all its variants.
pub(crate) fn build(
    item: &syn::ItemFn,
    callees: &Callees,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<(core::Function, Vec<Variant>)> {
    let rule = options.rule.as_ref().map(|(path, _)| path);
    let e = pipeline::front_with_rule(item, rule, callees, diagnostics)?;
    if !diagnostics.is_empty() {
        return None;
    }
    let signature = Signature::read(item, Some(&callees.records))?;
    let program = match pipeline::middle(&e.function) {
        Ok(program) => program,
        Err(reason) => {
            let span = reason.loc.and_then(|l| e.spans.get(l.0 as usize).copied());
            let span = span.unwrap_or(item.sig.ident.span());
            let message = format!("{}, but the kernel takes a derivative of it", reason.what);
            let help = "write it in another way, or keep it from being differentiated with `stop_gradient`";
            diagnostics.error(Code::NotDifferentiable, span, message, help);
            return None;
        }
    };
    let mut variants = Vec::new();
    let told: Vec<_> = e.notes.into_iter().chain(notes::of_gradients(&e.function)).collect();
    let front = format!(
        "{}== typed and lifted ==\n{}\n",
        notes::section("notes", &e.function.name, &e.function.places, &told),
        core::print::pretty(&e.function)
    );
    add(&mut variants, Vec::new(), &program, &front, &signature, item, diagnostics)?;
    for d in Derivative::ALL {
        let asked = options.more.iter().find(|(more, _)| *more == d).map(|(_, span)| *span);
        if asked.is_none() && d.is_costly() {
            continue;
        }
        if !d.exists(&program) {
            if let Some(span) = asked {
                let message = format!("there is no `{}` of this kernel", d.name());
                diagnostics.error(Code::NotDifferentiable, span, message, d.needs());
            }
            continue;
        }
        let derived = match pipeline::derivative(&program, d) {
            Ok(derived) => derived,
            Err(reason) => {
                let place = reason.loc.and_then(|l| program.places.get(l.0 as usize));
                let line = place.map_or_else(String::new, |p| format!(" (line {})", p.line));
                let text = format!("`{}`: {}{line}", d.name(), reason.what);
                match asked {
                    Some(span) => {
                        let help = "leave the option out, or write the kernel in another way";
                        diagnostics.error(Code::NotDifferentiable, span, text, help);
                    }
                    // What nobody has asked for is only missing; `explain` says why.
                    None => variants[0].explain.push_str(&format!("== {} ==\nnone: {text}\n", d.name())),
                }
                continue;
            }
        };
        add(&mut variants, vec![d], &derived, "", &signature, item, diagnostics)?;
        if d == Derivative::Grad
            && Derivative::Grad.exists(&derived)
            && let Ok(second) = pipeline::derivative(&derived, Derivative::Grad)
        {
            add(&mut variants, vec![d, d], &second, "", &signature, item, diagnostics)?;
        }
    }
    Some((e.function, variants))
}

fn add(
    variants: &mut Vec<Variant>,
    path: Vec<Derivative>,
    p: &bulk::Program,
    front: &str,
    signature: &Signature,
    item: &syn::ItemFn,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let checks = notes::section("checks", &p.name, &p.places, &optimize::remaining(p));
    let mut explain = format!("{front}{checks}== bulk ==\n{}\n", bulk::print::print(p));
    let mut scheduled = |target| match pipeline::back(p, target) {
        Ok(l) => Some(l),
        Err(errors) => {
            let name = &item.sig.ident;
            internal::report(&errors.join("; "), &name.unraw().to_string(), name.span(), diagnostics);
            None
        }
    };
    let cpu = scheduled(Target::Cpu)?;
    let gpu = scheduled(Target::Gpu)?;
    explain.push_str(&format!("== loops ==\n{}\n", crate::loops::print::print(&cpu)));
    internal::stage("emit");
    let code = cpu::emit(&cpu, "");
    explain.push_str(&format!("== rust ==\n{}{}\n", code.items, code.body));
    let gpu = wgsl::emit(&gpu);
    if let Err(reason) = &gpu {
        explain.push_str(&format!("== wgsl ==\nnone: {reason}\n"));
    }
    let types = signature.derived(&path);
    variants.push(Variant { path, cpu, gpu, explain, types });
    Some(())
}

/// The macro of the kernel's name, through which other kernels get its Core.
fn carrier_of(item: &syn::ItemFn, text: &str) -> TokenStream {
    carrier::carrier_macro(&item.sig.ident, &item.vis, text)
}
