//! One mutant through the whole compiler.
//!
//! * It is rejected with a reason, or every stage of it and of all its derivatives is accepted by the stage's verifier,
//!   and its code is Rust.
//! * For some arguments all stages give the same, or fail in the same way at the same line. Derivatives agree with
//!   differences and with each other.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::rc::Rc;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};

use super::outcome::{Finding, Report};
use crate::bulk::{self, ArrayId, Program};
use crate::core::complex::of_floats;
use crate::core::{Body, Exp, Function};
use crate::derive::{Derivative, NotDifferentiable};
use crate::emit::host::{self, Variant};
use crate::emit::signature::Types;
use crate::emit::{Compiled, wgsl};
use crate::flatten::flatten;
use crate::pipeline;
use crate::testing::compare::{self, Failing, Modes, Staged};
use crate::testing::kernels::{self, Linked};
use crate::testing::loops;
use crate::testing::meaning;
use crate::testing::random::{Ranges, arguments_with, program};
use crate::ty::{Elem, is_constant};
use crate::value::work::limited;
use crate::value::{Fault, Scalar, Value};

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

/// The code of a mutant that the compiler takes, as items of a module: its value and both modes of differentiation.
pub fn code(source: &str) -> Option<TokenStream> {
    let file = syn::parse_file(source).ok()?;
    // Records belong to the file, which is not written.
    if file.items.iter().any(|i| matches!(i, syn::Item::Struct(_))) {
        return None;
    }
    let made = stage("", || -> Option<(Linked, Vec<Made>)> {
        let linked = kernels::last(&file).ok()?;
        let f = linked.elaborate().ok()?.function;
        let programs = programs(&pipeline::middle(&f).ok()?).ok()?;
        Some((linked, programs))
    });
    let (linked, mut programs) = made.ok()??;
    // The others are made of these two.
    programs.retain(|m| matches!(m.path[..], [] | [Derivative::Vjp | Derivative::Jvp]));
    items(&linked, &programs, &|_, _| Ok(())).ok()
}

/// The code of a random program and of its pullback, likewise.
pub fn random_code(seed: u64) -> Option<TokenStream> {
    let made = stage("", || {
        let p = pipeline::middle(&program(seed)).ok()?;
        let derived = Some(Derivative::Vjp).filter(|d| d.exists(&p));
        let derived = derived.and_then(|d| pipeline::derivative(&p, d).ok());
        let mut items = TokenStream::new();
        for (name, p) in [("value", Some(p)), ("pullback", derived)] {
            let Some(p) = p else { continue };
            let staged = Staged::new(name, p).ok()?;
            let types = Types::plain(&staged.cpu);
            let variant = Variant::new(Compiled::new(Vec::new(), staged.cpu, wgsl::emit(&staged.gpu)), types);
            items.extend(host::items(
                &format_ident!("{name}"),
                &quote!(pub),
                &TokenStream::new(),
                &[],
                &[variant],
            ));
        }
        Some(items)
    });
    made.ok()?
}

fn compiled(source: &str, seed: u64, validate: Validate, report: &mut Report) -> Result<(), Finding> {
    let Ok(file) = syn::parse_file(source) else { return Ok(()) };
    let made = stage("front", || {
        let linked = kernels::last(&file)?;
        linked.elaborate().map(|e| (linked, e.function))
    })?;
    let (linked, f) = match made {
        // Complex numbers as their parts, of which derivatives are compared.
        Ok((linked, f)) => (linked, of_floats(&f).unwrap_or(f)),
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
    let p = &programs[0].staged.program;
    let shaders = |name: &str, shader: &str| {
        if name == "value" || is_sampled(seed) { validate(shader) } else { Ok(()) }
    };
    let items = items(&linked, &programs, &shaders)?;
    if let Some(text) = unlexed(items.clone()) {
        return Err(Finding::new("emit", text));
    }
    if is_sampled(seed) {
        syn::parse2::<syn::File>(items).map_err(|e| Finding::new("emit", format!("no Rust: {e}")))?;
    }
    meant(&again, &unsigned(&linked.kernel.item), p, &programs, seed, report)
}

/// The parameters of unsigned integers: the host has no negative ones.
fn unsigned(item: &syn::ItemFn) -> Vec<String> {
    let of = |a: &syn::FnArg| match a {
        syn::FnArg::Typed(a) if mentions_usize(a.ty.to_token_stream()) => {
            Some(a.pat.to_token_stream().to_string())
        }
        _ => None,
    };
    item.sig.inputs.iter().filter_map(of).collect()
}

fn mentions_usize(t: TokenStream) -> bool {
    t.into_iter().any(|t| match t {
        TokenTree::Group(g) => mentions_usize(g.stream()),
        TokenTree::Ident(i) => i == "usize",
        TokenTree::Literal(_) | TokenTree::Punct(_) => false,
    })
}

/// Makes the unsigned arguments what they can be.
fn made_unsigned(f: &Function, unsigned: &[String], args: &mut [Value]) {
    let leaves = f.params.iter().flat_map(|p| p.vars.leaves().into_iter().map(move |_| p));
    for (_, arg) in leaves.zip(args).filter(|(p, _)| unsigned.iter().any(|u| *u == *p.name.to_string())) {
        for x in arg.data_mut() {
            if let Scalar::I64(x) = x {
                *x = x.abs();
            }
        }
    }
}

/// What costs much is done for some.
fn is_sampled(seed: u64) -> bool {
    seed.is_multiple_of(4)
}

/// The text of the error that stands for code that does not lex.
fn unlexed(items: TokenStream) -> Option<String> {
    items.into_iter().find_map(|t| match t {
        TokenTree::Group(g) => unlexed(g.stream()),
        TokenTree::Literal(l) => {
            Some(l.to_string()).filter(|t| t.starts_with("\"internal error of array-dsl"))
        }
        TokenTree::Ident(_) | TokenTree::Punct(_) => None,
    })
}

/// A kernel or a derivative of it.
struct Made {
    path: Vec<Derivative>,
    staged: Rc<Staged>,
}

/// The value, and the derivatives that there are if all are asked for.
fn programs(p: &Program) -> Result<Vec<Made>, Finding> {
    let mut out = Vec::new();
    let mut add = |path: Vec<Derivative>, p: Program| -> Result<(), Finding> {
        let name = path.last().map_or("value", |d| d.name());
        let staged = Staged::new(name, p).map_err(|e| Finding::new("back", e))?;
        out.push(Made { path, staged: Rc::new(staged) });
        Ok(())
    };
    add(Vec::new(), p.clone())?;
    for d in Derivative::ALL.into_iter().filter(|d| d.exists(p)) {
        let Ok(derived) = stage(d.name(), || pipeline::derivative(p, d))? else { continue };
        if d == Derivative::Grad && d.exists(&derived) {
            let second = stage("grad of grad", || pipeline::derivative(&derived, d))?;
            second.map_or(Ok(()), |second| add(vec![d, d], second))?;
        }
        add(vec![d], derived)?;
    }
    Ok(out)
}

/// The items of a kernel and its derivatives.
fn items(
    linked: &Linked,
    programs: &[Made],
    validate: &dyn Fn(&str, &str) -> Result<(), String>,
) -> Result<TokenStream, Finding> {
    let Some(signature) = linked.kernel.signature(Some(&linked.callees.records)) else {
        return Err(Finding::new("emit", "there is no signature"));
    };
    // A name in capitals that a mutant has is a constant's; any value will do.
    let params = programs.first().map_or(&[][..], |p| &p.staged.cpu.params);
    let constants = params.iter().filter(|q| is_constant(&q.name)).flat_map(|q| q.arrays.leaves());
    let elem = |a: &ArrayId| programs[0].staged.cpu.arrays[a.0 as usize].elem;
    let constants: Vec<(Elem, TokenStream)> =
        constants.map(|a| (elem(a), quote!(::core::default::Default::default()))).collect();
    let signature = signature.with_constants(constants.iter().map(|(elem, _)| *elem).collect());
    let mut variants = Vec::new();
    for Made { path, staged } in programs {
        // Matrices of complex numbers are refused, which the programs do not tell.
        if path.last().is_some_and(|d| d.is_matrix() && !signature.derivatives().contains(d)) {
            continue;
        }
        let name = path.last().map_or("value", |d| d.name());
        let compiled = || Compiled::new(path.clone(), staged.cpu.clone(), wgsl::emit(&staged.gpu));
        let compiled = stage(&format!("{name}, emit"), compiled)?;
        for shader in compiled.gpu.iter().flat_map(|g| &g.shaders) {
            let valid = stage(&format!("{name}, naga"), || validate(name, &shader.wgsl))?;
            valid.map_err(|e| Finding::new(&format!("{name}, shader"), format!("{e}\n{}", shader.wgsl)))?;
        }
        let types = signature.derived(path);
        variants.push(stage(&format!("{name}, emit"), || Variant::new(compiled, types))?);
    }
    let item = &linked.kernel.item;
    let (name, vis) = (&item.sig.ident, item.vis.to_token_stream());
    stage("emit", || host::items(name, &vis, &TokenStream::new(), &constants, &variants))
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
    unsigned: &[String],
    p: &Program,
    programs: &[Made],
    seed: u64,
    report: &mut Report,
) -> Result<(), Finding> {
    let flat = match stage("flatten", || flatten(f))? {
        Ok(flat) => flat,
        Err(e) => return Err(Finding::new("flatten", e.what)),
    };
    let find = |d: Derivative| programs.iter().find(|m| m.path == [d]).map(|m| Rc::clone(&m.staged));
    let modes = if find(Derivative::Vjp).is_some() && find(Derivative::Jvp).is_some() {
        let made = |d: Derivative| find(d).ok_or_else(|| format!("no `{}`, but others", d.name()));
        let modes = stage("derivatives", || Modes::new(p, made))?;
        Some(modes.map_err(|e| Finding::new("derivatives", e))?)
    } else {
        None
    };
    for (k, (sizes, integers, scalars)) in
        [((0, 4), (-1, 5), (0, 4)), ((1, 3), (0, 2), (0, 3)), ((0, 3), (-3, 7), (-2, 5))]
            .into_iter()
            .enumerate()
    {
        let seed = seed.wrapping_add(k as u64 * 1_000_003);
        let ranges = Ranges { sizes, integers, floats: (-1.5, 1.5) };
        let Some(mut args) = arguments_with(f, seed, &ranges, scalars) else { continue };
        made_unsigned(f, unsigned, &mut args);
        let run = |f: &Function| limited(WORK, || stage("core", || meaning::run(f, &args)));
        let expected = run(f)?;
        if expected == Err(Fault::Exhausted) {
            continue;
        }
        let failing = match &expected {
            Ok(_) => None,
            Err(_) => Some(limited(WORK * MORE, || stage("core", || Failing::new(f, &args)))?),
        };
        let expected = failing.as_ref().and_then(|f| f.results.clone()).map_or(expected, Ok);
        report.runs.0 += 1;
        report.runs.1 += usize::from(expected.is_err());
        let expected = &expected;
        limited(WORK * MORE, || -> Result<(), Finding> {
            let all = failing.as_ref().map(|failing| (f, failing));
            agree("flatten", stage("flatten", || bulk::interp::run(&flat, &args))?, expected, all)?;
            let found = stage("middle", || bulk::interp::run(p, &args))?;
            if found == Err(Fault::Exhausted) {
                // Without what failed it does not end, and neither do derivatives.
                return Ok(());
            }
            agree("middle", found, expected, all)?;
            for (name, target, l) in programs[0].staged.loops() {
                agree(name, stage(name, || loops::run(l, target, &args))?, expected, all)?;
            }
            let compared = modes.as_ref().filter(|_| failing.is_none() && f.rules.is_empty());
            for made in programs[1..].iter().filter(|m| compared.is_none() || !Modes::has(&m.path)) {
                derived(p, made, &args, seed)?;
            }
            if let Some(modes) = compared {
                let order = if seed.is_multiple_of(16) && f.vars.len() < 60 { 2 } else { 1 };
                let done = stage("derivatives", || modes.check(&args, seed, order, is_stopped(f)))?;
                let done = done.map_err(|e| Finding::new("derivatives", e))?;
                report.derivatives += done.identities + done.differences;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn agree(
    name: &str,
    found: Result<Vec<Value>, Fault>,
    expected: &Result<Vec<Value>, Fault>,
    failing: Option<(&Function, &Failing)>,
) -> Result<(), Finding> {
    compare::agree(name, found, expected, failing).map_err(|d| Finding::new(&d.what, d.message))
}

/// The loops of a derivative give what its Bulk gives; a batch what the program `p` gives for each of its rows.
fn derived(p: &Program, made: &Made, args: &[Value], seed: u64) -> Result<(), Finding> {
    let name = made.path.iter().map(|d| d.name()).collect::<Vec<_>>().join(" of ");
    let d = &made.staged.program;
    let Some(args) = compare::arguments_of(d, &made.path, args, seed) else { return Ok(()) };
    let expected = stage(&name, || bulk::interp::run(d, &args))?;
    match &expected {
        Err(Fault::Internal { message, .. }) => {
            return Err(Finding::new(&format!("{name}, internal fault"), message));
        }
        Err(Fault::Exhausted) => return Ok(()),
        _ => {}
    }
    let agreed = stage(&name, || made.staged.agrees(&name, &args, &expected))?;
    agreed.map_err(|d| Finding::new(&d.what, d.message))?;
    if let (Ok(batch), [Derivative::Vmap]) = (&expected, &made.path[..]) {
        let at = |v: &Value, k: i64| if v.shape().is_empty() { Ok(v.clone()) } else { v.index(&[k]) };
        let row = |of: &[Value], k: i64| of.iter().map(|v| at(v, k)).collect::<Result<Vec<_>, _>>();
        for k in 0..compare::BATCH {
            let (Ok(args), found) = (row(&args, k), row(batch, k)) else { continue };
            let expected = stage("a row of the batch", || bulk::interp::run(p, &args))?;
            agree("a row of the batch", found, &expected, None)?;
        }
    }
    Ok(())
}
