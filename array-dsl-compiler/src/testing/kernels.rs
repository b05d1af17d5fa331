//! Kernels from their text, as the macro would compile them.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;

use crate::bulk::Program;
use crate::core::print::print;
use crate::core::{self, Function};
use crate::diagnostics::Diagnostics;
use crate::elaborate::{Callees, Elaborated};
use crate::kernel::{self, Answer, Kernel, generic};
use crate::pipeline;
use crate::record::{self, Records, definition};
use crate::syntax::ast;

/// A kernel and what it needs to be compiled.
pub struct Linked {
    /// The kernel.
    pub kernel: Kernel,
    /// The kernels and records that it names.
    pub callees: Callees,
    /// The texts that carry these, the records first.
    answers: Vec<Answer>,
    /// What is wrong with its own text.
    diagnostics: Diagnostics,
}

impl Linked {
    /// The kernel in Core, or what is wrong with it.
    ///
    /// # Errors
    /// The messages of the compiler.
    pub fn elaborate(&self) -> Result<Elaborated, Vec<String>> {
        let mut diagnostics = self.diagnostics.clone();
        let rule = self.kernel.options.own_rule();
        let found = pipeline::front(&self.kernel.ast, rule, &self.callees, &mut diagnostics);
        found.filter(|_| diagnostics.is_empty()).ok_or_else(|| said(&diagnostics))
    }

    /// What the macro makes of the kernel.
    pub fn expanded(&self) -> TokenStream {
        kernel::compile(&self.kernel, &self.answers)
    }
}

fn said(d: &Diagnostics) -> Vec<String> {
    d.list().iter().map(|d| d.text()).collect()
}

/// The kernels and records so far, by name: what their macros would answer.
#[derive(Default)]
struct Scope(Vec<(String, String)>);

impl Scope {
    /// What the last item of that path's name answers.
    fn answer(&self, path: &ast::Path) -> Option<Answer> {
        let name = &*path.segments.last()?.name;
        let (_, text) = self.0.iter().rev().find(|(other, _)| other == name)?;
        Some(Answer { path: path.text(), text: text.clone() })
    }

    /// The kernel with what it names; errors of its own text are for `elaborate` to tell.
    fn link(&self, item: &syn::ItemFn) -> Result<Linked, Vec<String>> {
        let attr = item.attrs.iter().find_map(|a| a.meta.require_list().ok()).map(|l| l.tokens.clone());
        let mut diagnostics = Diagnostics::default();
        let kernel = Kernel::read(&attr.unwrap_or_default(), item.clone(), &mut diagnostics);
        let mut answers = Vec::new();
        for path in kernel.records() {
            let missing = || vec![format!("there is no record `{}`", path.text())];
            answers.push(self.answer(&path).ok_or_else(missing)?);
        }
        // What is passed to a generic kernel is a kernel too, which only that kernel's answer tells.
        loop {
            let paths = kernel.callees(&answers);
            let is_new = |p: &&ast::Path| answers.iter().all(|a| a.path != p.text());
            let paths = paths.iter().chain(kernel.options.rule()).filter(is_new);
            let new: Vec<_> = paths.filter_map(|p| self.answer(p)).collect();
            if new.is_empty() {
                break;
            }
            answers.extend(new);
        }
        let mut unlinked = Diagnostics::default();
        match kernel.link(&answers, &mut unlinked) {
            Ok(callees) => Ok(Linked { kernel, callees, answers, diagnostics }),
            Err(_) => Err(said(&unlinked)),
        }
    }

    /// Adds a record.
    fn record(&mut self, item: &syn::ItemStruct) -> Result<(), Vec<String>> {
        let input = syn::DeriveInput::from(item.clone());
        let mut diagnostics = Diagnostics::default();
        let read = definition::read(&input, &mut diagnostics).ok_or_else(|| said(&diagnostics))?;
        let mut records = Records::default();
        for path in read.fields.iter().flat_map(|f| f.host.records()) {
            let path = definition::path_text(path);
            let name = path.rsplit("::").next().unwrap_or_default().trim();
            let found = self.0.iter().rev().find(|(other, _)| other == name);
            let (_, text) = found.ok_or_else(|| vec![format!("there is no record `{path}`")])?;
            let id = record::read(text, &mut records);
            let record = id.and_then(|id| records.get(&id).cloned());
            let record = record.ok_or_else(|| vec![format!("`{path}` is no record")])?;
            records.insert(path, record);
        }
        self.0.push((item.ident.unraw().to_string(), record::write(&read, &records)));
        Ok(())
    }
}

/// The last kernel of a file, linked with those before it; those are compiled. An item is a kernel with or without its
/// attribute, as in `#[kernel(vjp = rule)]`, or a record.
///
/// # Errors
/// What is wrong with the items before it, with its options or with what it names; that it is generic.
pub fn last(file: &syn::File) -> Result<Linked, Vec<String>> {
    let mut scope = Scope::default();
    let mut last = Err(vec!["there is no kernel".to_string()]);
    for (k, item) in file.items.iter().enumerate() {
        let is_last = k + 1 == file.items.len();
        let linked = match item {
            syn::Item::Fn(f) => scope.link(f)?,
            syn::Item::Struct(s) => {
                scope.record(s)?;
                continue;
            }
            _ => return Err(vec!["neither a kernel nor a record".into()]),
        };
        let Linked { kernel, callees, answers, .. } = &linked;
        if kernel.ast.is_generic() {
            let mut diagnostics = linked.diagnostics.clone();
            if !diagnostics.is_empty() || generic::check(kernel, callees, &mut diagnostics).is_none() {
                return Err(said(&diagnostics));
            }
            scope.0.push((kernel.name(), generic::carried(&kernel.item, answers)));
            last = Err(vec!["the last kernel is generic".into()]);
            continue;
        }
        if !is_last {
            let text = print(&linked.elaborate()?.function);
            scope.0.push((kernel.name(), record::carried(&kernel.ast, &text, &callees.records)));
        }
        last = Ok(linked);
    }
    last
}

/// A kernel that names no other, in Core; what is wrong with it is recorded.
///
/// # Panics
/// If the text is no function.
pub fn front(source: &str, diagnostics: &mut Diagnostics) -> Option<Elaborated> {
    let item: syn::ItemFn = syn::parse_str(source).unwrap_or_else(|e| panic!("{e}: {source}"));
    let f = pipeline::parse(&item, diagnostics);
    pipeline::front(&f, None, &Callees::new(), diagnostics)
}

/// A function that has been printed and read again, as it is when another kernel calls it.
///
/// # Errors
/// If that changes it.
pub fn carried(f: &Function) -> Result<Function, String> {
    let text = print(f);
    let function = core::parse::parse(&text).map_err(|e| format!("{e}\n{text}"))?;
    if print(&function) != text {
        return Err(format!("another text when printed again:\n{text}"));
    }
    Ok(function)
}

/// The last kernel of a text in Core, as it is [`carried`]. It may call the kernels before it.
///
/// # Errors
/// What is wrong with it.
pub fn compile(source: &str) -> Result<Function, Vec<String>> {
    let file = syn::parse_file(source).map_err(|e| vec![e.to_string()])?;
    carried(&last(&file)?.elaborate()?.function).map_err(|e| vec![e])
}

/// As [`compile`], of a text that is right.
///
/// # Panics
/// If it is not.
pub fn kernel(source: &str) -> Function {
    compile(source).unwrap_or_else(|e| panic!("{}\n{source}", e.join("\n")))
}

/// A right text as an optimized Bulk program.
///
/// # Panics
/// If the kernel takes a derivative that there is not.
pub fn program(source: &str) -> Program {
    pipeline::middle(&kernel(source)).unwrap_or_else(|e| panic!("{}\n{source}", e.what))
}

/// The kernels of a file with these names, or all of them: each its name, and its text alone.
///
/// # Panics
/// The text is no Rust.
pub fn kernels_of(text: &str, names: &str) -> Vec<(String, String)> {
    let mut kernels = Vec::new();
    for item in syn::parse_file(text).expect("it is Rust").items {
        let syn::Item::Fn(mut f) = item else { continue };
        let name = f.sig.ident.to_string();
        if names.is_empty() || names.split(' ').any(|n| *n == name) {
            f.attrs.clear();
            f.vis = syn::Visibility::Inherited;
            kernels.push((name, quote::ToTokens::to_token_stream(&f).to_string()));
        }
    }
    kernels
}
