//! One mutant through the whole compiler.
//!
//! * It is rejected with a reason, or every stage of it and of all its derivatives is accepted by the stage's verifier,
//!   and its code is Rust.
//! * For some arguments all stages give the same, or fail in the same way at the same line. Derivatives agree with
//!   differences and with each other.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use proc_macro2::TokenStream;
use quote::ToTokens;

use super::outcome::{Finding, Report};
use crate::bulk::{self, Program};
use crate::core::{self, Body, Exp, Function};
use crate::derive::{Derivative, NotDifferentiable};
use crate::emit::host::{self, Variant};
use crate::emit::signature::Signature;
use crate::emit::wgsl;
use crate::flatten::flatten;
use crate::pipeline;
use crate::schedule::Target;
use crate::testing::compare;
use crate::testing::kernels::{self, Linked};
use crate::testing::loops;
use crate::testing::random::{Ranges, arguments_with};
use crate::ty::{Loc, Place};
use crate::value::work::limited;
use crate::value::{Fault, Value};

/// What the interpreter of Core may do in one run, and how much more others may.
const WORK: u64 = 4_000;
const MORE: u64 = 300;

/// Says what is wrong with a shader.
pub type Validate = fn(&str) -> Result<(), String>;

thread_local! {
    static PANICKED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on panics are not printed: they are findings.
pub fn keep_panics() {
    set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
        PANICKED.set(place);
    }));
}

/// What a panic says.
fn said(e: &(dyn Any + Send)) -> String {
    let text = e.downcast_ref::<String>().cloned();
    text.or_else(|| e.downcast_ref::<&str>().map(|s| (*s).to_string())).unwrap_or_default()
}

/// A stage, which may panic.
fn stage<T>(name: &str, f: impl FnOnce() -> T) -> Result<T, Finding> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|e| {
        let text = said(&*e);
        if text.starts_with("after ") {
            return Finding::new(&format!("{name}, verifier"), text);
        }
        let place = PANICKED.take();
        Finding { kind: format!("{name}, panic at {place}"), message: format!("{place}: {text}") }
    })
}

/// Compiles a mutant and compares what it means in every stage.
pub fn check(source: &str, seed: u64, validate: Validate) -> Report {
    let mut report = Report::default();
    if let Err(finding) = compiled(source, seed, validate, &mut report) {
        report.findings.push(finding);
    }
    report
}

/// The code of a mutant that the compiler takes, as items of a module.
pub fn code(source: &str) -> Option<TokenStream> {
    let file = syn::parse_file(source).ok()?;
    let mut made = stage("", || -> Option<(Linked, Vec<(Vec<Derivative>, Program)>)> {
        let linked = kernels::last(&file).ok()?;
        let f = linked.elaborate().ok()?.function;
        let programs = programs(&pipeline::middle(&f).ok()?).ok()?;
        Some((linked, programs))
    })
    .ok()??;
    made.1.retain(|(path, _)| path.len() < 2);
    // Records are the file's own.
    let records = file.items.iter().filter(|i| matches!(i, syn::Item::Struct(_)));
    if records.count() > 0 {
        return None;
    }
    stage("", || items(&made.0, &made.1, &|_| Ok(()))).ok()?.ok()
}

fn compiled(source: &str, seed: u64, validate: Validate, report: &mut Report) -> Result<(), Finding> {
    let Ok(file) = syn::parse_file(source) else { return Ok(()) };
    let made = stage("front", || {
        let linked = kernels::last(&file)?;
        linked.elaborate().map(|e| (linked, e.function))
    })?;
    let (linked, f) = match made {
        Ok(made) => made,
        Err(messages) => {
            if messages.is_empty() || messages.iter().any(|m| m.contains("internal error")) {
                return Err(Finding::new("front", messages.join("; ")));
            }
            return Ok(());
        }
    };
    let again = stage("carried", || kernels::carried(&f))?.map_err(|e| Finding::new("carried", e))?;
    let p = match stage("middle", || pipeline::middle(&f))? {
        Ok(p) => p,
        // A derivative inside of what has none.
        Err(NotDifferentiable { .. }) => return Ok(()),
    };
    report.is_accepted = true;
    let programs = programs(&p)?;
    let items = items(&linked, &programs, &|shader| validate(shader))?;
    let text = items.to_string();
    if let Some(at) = text.find("internal error of array-dsl") {
        return Err(Finding::new("emit", text[at..].chars().take(200).collect::<String>()));
    }
    syn::parse2::<syn::File>(items).map_err(|e| Finding::new("emit", format!("no Rust: {e}")))?;
    meant(&again, &p, &programs, seed, report)
}

/// The derivatives that there are, with the options that ask for them all, and the value first.
fn programs(p: &Program) -> Result<Vec<(Vec<Derivative>, Program)>, Finding> {
    let mut out = vec![(Vec::new(), p.clone())];
    for d in Derivative::ALL.into_iter().filter(|d| d.exists(p)) {
        let Ok(derived) = stage(d.name(), || pipeline::derivative(p, d))? else { continue };
        if d == Derivative::Grad && d.exists(&derived) {
            let second = stage("grad of grad", || pipeline::derivative(&derived, d))?;
            out.extend(second.ok().map(|second| (vec![d, d], second)));
        }
        out.push((vec![d], derived));
    }
    Ok(out)
}

/// The items of a kernel and its derivatives.
fn items(
    linked: &Linked,
    programs: &[(Vec<Derivative>, Program)],
    validate: &dyn Fn(&str) -> Result<(), String>,
) -> Result<TokenStream, Finding> {
    let Some(signature) = Signature::read(&linked.item, Some(&linked.callees.records)) else {
        return Err(Finding::new("emit", "there is no signature"));
    };
    let mut variants = Vec::new();
    for (path, p) in programs {
        let name = path.last().map_or("value", |d| d.name());
        let back = |target| {
            let made = stage(&format!("{name}, schedule for {target:?}"), || pipeline::back(p, target))?;
            made.map_err(|e| Finding::new(&format!("{name}, loops for {target:?}"), e.join("; ")))
        };
        let (cpu, gpu) = (back(Target::Cpu)?, back(Target::Gpu)?);
        let gpu = stage(&format!("{name}, wgsl"), || wgsl::emit(&gpu))?;
        for shader in gpu.iter().flat_map(|g| &g.shaders) {
            let valid = stage(&format!("{name}, naga"), || validate(&shader.wgsl))?;
            valid.map_err(|e| Finding::new(&format!("{name}, shader"), format!("{e}\n{}", shader.wgsl)))?;
        }
        let types = signature.derived(path);
        variants.push(Variant { path: path.clone(), cpu, gpu, explain: String::new(), types });
    }
    let (name, vis) = (&linked.item.sig.ident, linked.item.vis.to_token_stream());
    stage("emit", || host::items(name, &vis, &TokenStream::new(), &variants))
}

/// Whether derivatives are not those of the values.
fn is_stopped(f: &Function) -> bool {
    fn stops(b: &Body) -> bool {
        let stops_here = |e: &Exp| matches!(e, Exp::StopGradient(_) | Exp::Custom { .. });
        b.stms.iter().any(|s| stops_here(&s.exp) || s.exp.bodies().into_iter().any(stops))
    }
    !f.rules.is_empty() || stops(&f.body)
}

/// Compares what the stages give for some arguments.
fn meant(
    f: &Function,
    p: &Program,
    programs: &[(Vec<Derivative>, Program)],
    seed: u64,
    report: &mut Report,
) -> Result<(), Finding> {
    let flat = match stage("flatten", || flatten(f))? {
        Ok(flat) => flat,
        Err(e) => return Err(Finding::new("flatten", e.what)),
    };
    for (k, (sizes, integers, scalars)) in
        [((0, 4), (-1, 5), (0, 4)), ((1, 3), (0, 2), (0, 3)), ((0, 3), (-3, 7), (-2, 5))].into_iter().enumerate()
    {
        let seed = seed.wrapping_add(k as u64 * 1_000_003);
        let args = arguments_with(f, seed, &Ranges { sizes, integers, floats: (-1.5, 1.5) }, scalars);
        let expected = limited(WORK, || stage("core", || core::interp::run(f, &args)))?;
        if expected == Err(Fault::Exhausted) {
            continue;
        }
        report.runs.0 += 1;
        report.runs.1 += usize::from(expected.is_err());
        let expected = &expected;
        limited(WORK * MORE, || -> Result<(), Finding> {
            let places = (f.places.as_slice(), f.places.as_slice());
            agree("flatten", stage("flatten", || bulk::interp::run(&flat, &args))?, expected, places)?;
            agree("middle", stage("middle", || bulk::interp::run(p, &args))?, expected, places)?;
            for target in [Target::Cpu, Target::Gpu] {
                let name = format!("loops for {target:?}");
                // That it is accepted was checked.
                let Ok(Ok(l)) = stage(&name, || pipeline::back(p, target)) else { continue };
                agree(&name, stage(&name, || loops::run(&l, &args))?, expected, places)?;
            }
            for (path, d) in programs.iter().filter(|(path, _)| !path.is_empty()) {
                derived(path, d, &args, seed)?;
            }
            if expected.is_ok() {
                let order = if seed.is_multiple_of(16) && f.vars.len() < 60 { 2 } else { 1 };
                let done = stage("derivatives", || compare::derivatives(p, &args, seed, order, is_stopped(f)))?;
                let done = done.map_err(|e| Finding::new("derivatives", e))?;
                report.derivatives += done.identities + done.differences;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A later stage gives what the first one does.
fn agree(
    name: &str,
    found: Result<Vec<Value>, Fault>,
    expected: &Result<Vec<Value>, Fault>,
    places: (&[Place], &[Place]),
) -> Result<(), Finding> {
    match (&found, expected) {
        (Err(Fault::Internal { message, .. }), _) => Err(Finding::new(&format!("{name}, internal fault"), message)),
        (_, Err(Fault::Internal { message, .. })) => Err(Finding::new("core, internal fault", message)),
        (Err(Fault::Exhausted), _) => Err(Finding::new(name, "does not end")),
        (Ok(a), Ok(b)) => compare::same(name, a, b, 1e-9).map_err(|e| Finding::new(name, e)),
        (Err(fault), Ok(_)) => Err(Finding::new(&format!("{name} fails, core does not"), fault.to_string())),
        (Ok(_), Err(fault)) => Err(Finding::new(&format!("{name} does not fail, core does"), fault.to_string())),
        (Err(a), Err(b)) => {
            let line = |l: Loc, places: &[Place]| places.get(l.0 as usize).map(|p| p.line);
            let message = format!("{a} in line {:?} instead of {b} in line {:?}", line(a.loc(), places.0), line(b.loc(), places.1));
            if class(a) != class(b) {
                return Err(Finding::new(&format!("{name} fails in another way"), message));
            }
            if line(a.loc(), places.0) != line(b.loc(), places.1) {
                return Err(Finding { kind: format!("{name} fails at another line"), message });
            }
            Ok(())
        }
    }
}

/// Which error it becomes.
fn class(f: &Fault) -> u8 {
    match f {
        Fault::IndexOutOfRange { .. } => 0,
        Fault::DivisionByZero { .. } => 1,
        // An empty extremum is a size that is too small.
        Fault::EmptyExtremum { .. } | Fault::SizeCheck { .. } => 2,
        Fault::Exhausted => 3,
        Fault::Internal { .. } => 4,
    }
}

/// The loops of a derivative give what its Bulk gives.
fn derived(path: &[Derivative], d: &Program, args: &[Value], seed: u64) -> Result<(), Finding> {
    let name = path.iter().map(|d| d.name()).collect::<Vec<_>>().join(" of ");
    let Some(args) = compare::arguments_of(d, path, args, seed) else { return Ok(()) };
    let expected = stage(&name, || bulk::interp::run(d, &args))?;
    match &expected {
        Err(Fault::Internal { message, .. }) => {
            return Err(Finding::new(&format!("{name}, internal fault"), message));
        }
        Err(Fault::Exhausted) => return Ok(()),
        _ => {}
    }
    for target in [Target::Cpu, Target::Gpu] {
        let name = format!("{name}, loops for {target:?}");
        let Ok(Ok(l)) = stage(&name, || pipeline::back(d, target)) else { continue };
        let found = stage(&name, || loops::run(&l, &args))?;
        agree(&name, found, &expected, (&l.places, &d.places))?;
    }
    Ok(())
}
