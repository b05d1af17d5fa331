//! The kernels of the repository's tests, and those in `programs/`, through every stage, forward and backward.
//!
//! `tests/tests/*.rs` of the workspace hold the worked examples with their numbers; there they run as compiled code. Here
//! their text goes through the compiler as a library, and every stage is compared with the Core interpreter for
//! several random arguments each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use array_dsl_compiler::core::{Body, Exp, Function, Placing};
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::{Callee, Callees, Generic};
use array_dsl_compiler::kernel::{Answer, Kernel, generic};
use array_dsl_compiler::record::{self, Records, definition};
use array_dsl_compiler::testing::compare::{Checked, Derived, Modes, Stages, stage};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_with};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::work::limited;
use array_dsl_compiler::value::{Fault, Scalar, Value};
use array_dsl_compiler::{core, pipeline};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt as _;

/// The kernels and records of one file by name.
struct File {
    path: PathBuf,
    kernels: BTreeMap<String, syn::ItemFn>,
    library: Rc<BTreeMap<String, syn::ItemFn>>,
    records: Records,
}

/// The records among some items; those of modules by their path as well.
fn records(items: &[syn::Item], found: &mut Records) {
    for item in items {
        match item {
            syn::Item::Struct(s)
                if s.attrs.iter().any(|a| a.to_token_stream().to_string().contains("Record")) =>
            {
                let input = syn::parse2::<syn::DeriveInput>(s.to_token_stream()).expect("it derives");
                let definition = definition::read(&input, &mut Diagnostics::default()).expect("a record");
                let text = record::write(&definition, found);
                let id = record::read(&text, found).expect("a record reads what it writes");
                let known = found.get(&id).cloned().expect("it is there");
                found.insert(s.ident.to_string(), known);
            }
            syn::Item::Mod(m) => {
                let mut inner = found.clone();
                records(m.content.as_ref().map_or(&[], |c| c.1.as_slice()), &mut inner);
                for (name, r) in inner {
                    found.insert(format!("{}::{name}", m.ident), r.clone());
                    found.entry(name).or_insert(r);
                }
            }
            _ => {}
        }
    }
}

/// The kernels among some items, by their path.
fn functions(items: Vec<syn::Item>, path: &str, found: &mut BTreeMap<String, syn::ItemFn>) {
    for item in items {
        match item {
            syn::Item::Fn(f) if f.attrs.iter().any(|a| a.path().is_ident("kernel")) => {
                found.insert(format!("{path}{}", f.sig.ident.unraw()), f);
            }
            syn::Item::Mod(m) => {
                functions(m.content.map(|c| c.1).unwrap_or_default(), &format!("{path}{}::", m.ident), found);
            }
            _ => {}
        }
    }
}

fn read(path: &Path, library: &Rc<BTreeMap<String, syn::ItemFn>>) -> File {
    let text = std::fs::read_to_string(path).expect("a test file can be read");
    let file = syn::parse_file(&text).expect("a test file is Rust");
    let mut known = Records::default();
    records(&file.items, &mut known);
    let mut kernels = BTreeMap::new();
    functions(file.items, "", &mut kernels);
    File { path: path.to_path_buf(), kernels, library: library.clone(), records: known }
}

/// The kernels that `array-dsl` has itself, by their path in it.
fn library() -> BTreeMap<String, syn::ItemFn> {
    let mut found = BTreeMap::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../array-dsl/src");
    let entries = |folder: &Path| {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|e| e.expect("an entry can be read").path())
            .collect();
        paths.sort();
        paths
    };
    for path in entries(&source) {
        let stem = |path: &Path| path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let module = stem(&path);
        let read = |file: &Path| std::fs::read_to_string(file).expect("a file of the library can be read");
        let head = if path.is_dir() { read(&path.with_extension("rs")) } else { String::new() };
        let files = if path.is_dir() { entries(&path) } else { vec![path] };
        for file in files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
            let items = syn::parse_file(&read(&file)).expect("a file of the library is Rust").items;
            // What is a module for users too has names of its own.
            let own = head.contains(&format!("pub mod {};", stem(&file)));
            let inner = if own { format!("{module}::{}::", stem(&file)) } else { format!("{module}::") };
            functions(items, &inner, &mut found);
        }
    }
    found
}

/// The files of the workspace's tests. `linking` is about kernels in other modules and crates, which only rustc can find.
fn files() -> Vec<File> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = [here.join("../tests/tests"), here.join("tests/programs")]
        .iter()
        .flat_map(|d| std::fs::read_dir(d).expect("the folder is there"))
        .map(|e| e.expect("an entry can be read").path())
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .filter(|p| p.file_stem().is_some_and(|s| s != "linking"))
        .collect();
    paths.sort();
    let library = Rc::new(library());
    paths.iter().map(|p| read(p, &library)).collect()
}

impl File {
    fn compile(&self, name: &str) -> Result<Function, String> {
        let mut diagnostics = Diagnostics::default();
        let kernel = self.kernel(name, &mut diagnostics)?;
        let callees = self.callees(name, &kernel)?;
        let front = || pipeline::front(&kernel.ast, None, &callees, &mut diagnostics);
        let found = stage("the front end", front)?;
        found.map(|e| e.function).ok_or_else(|| {
            let errors: Vec<&str> = diagnostics.list().iter().map(|d| d.message.as_str()).collect();
            errors.join("; ")
        })
    }

    fn kernel(&self, name: &str, diagnostics: &mut Diagnostics) -> Result<Kernel, String> {
        let item = self
            .kernels
            .get(name)
            .or_else(|| self.library.get(name))
            .ok_or_else(|| format!("there is no kernel `{name}`"))?;
        Ok(Kernel::read(&TokenStream::new(), item.clone(), diagnostics))
    }

    /// What the paths of a kernel stand for.
    fn callees(&self, name: &str, kernel: &Kernel) -> Result<Callees, String> {
        let mut callees = Callees::new();
        callees.records = self.records.clone();
        // The generic ones among them, which say what else may be a kernel.
        let mut answers: Vec<Answer> = Vec::new();
        let mut done: Vec<String> = Vec::new();
        loop {
            let mut paths = kernel.callees(&answers).into_iter();
            let Some(path) = paths.find(|p| !done.contains(&p.text())) else { return Ok(callees) };
            done.push(path.text());
            // In the kernel's own module, or from the file.
            let module = name.rsplit_once("::").map_or(String::new(), |(m, _)| format!("{m}::"));
            let near = format!("{module}{}", path.text());
            let is_near = self.kernels.contains_key(&near) || self.library.contains_key(&near);
            let mut callee = if is_near { near } else { path.text() };
            if !self.kernels.contains_key(&callee) {
                // Imported from a module of the file.
                let end = format!("::{callee}");
                let mut all = self.kernels.keys().chain(self.library.keys());
                callee = all.find(|k| **k == callee || k.ends_with(&end)).cloned().unwrap_or(callee);
            }
            let called = self.kernel(&callee, &mut Diagnostics::default())?;
            if called.ast.is_generic() {
                answers.push(Answer { path: path.text(), text: generic::carried(&called.item, &[]) });
                let of_it = Rc::new(self.callees(&callee, &called)?);
                callees.insert_generic(&path.text(), Generic { function: called.ast, callees: of_it });
                continue;
            }
            let function = self.compile(&callee)?;
            // As it would be carried.
            let text = record::carried(&called.ast, &core::print::print(&function), &self.records);
            let (interface, core) =
                record::uncarried(&text, &mut callees.records).ok_or("it is not read back")?;
            let function = Rc::new(core::parse::parse(core).map_err(|e| e.to_string())?);
            callees.insert_callee(&path.text(), Callee { function, interface });
        }
    }

    /// Whether only calls can tell a kernel's types.
    fn is_generic(&self, name: &str) -> bool {
        self.kernel(name, &mut Diagnostics::default()).is_ok_and(|kernel| kernel.ast.is_generic())
    }
}

/// Whether something is written at computed indices.
fn writes(b: &Body) -> bool {
    let written = |e: &Exp| matches!(e, Exp::Scatter { how: Placing::Only | Placing::Last, .. });
    b.stms.iter().any(|s| written(&s.exp) || s.exp.bodies().into_iter().any(writes))
}

/// Arguments for a kernel. Where it writes, no two integers of one array are the same: which of two values for one place
/// is kept is not specified. None if a dimension would be negative.
fn arguments(f: &Function, seed: u64, ranges: &Ranges) -> Option<Vec<Value>> {
    let counts = (ranges.integers.0.max(0), ranges.integers.1.min(4));
    let mut args = arguments_with(f, seed, ranges, counts)?;
    if writes(&f.body) {
        for a in args.iter_mut().filter(|a| a.elem() == Elem::I64) {
            let n = a.data().len() as i64;
            for (i, x) in a.data_mut().iter_mut().enumerate() {
                *x = Scalar::I64((i as i64 + seed as i64) % (n + 1) - 1);
            }
        }
    }
    Some(args)
}

/// Kernels that are there to fail whatever the arguments, or nearly so, or never to end, or to search for longer than an interpreter may.
const FAIL: [&str; 3] = ["without_arguments", "while_true", "found"];

/// The work that an interpreter may do for a kernel: some make arrays that no computer has.
const WORK: u64 = 3_000_000;

/// The work that a loop with an end does for such arguments.
const TRIPS: u64 = 20_000;

/// Compares a kernel's stages: until three arguments have been found for which it does not fail.
fn check(name: &str, f: &Function) -> Result<Derived, String> {
    let printed = core::print::print(f);
    match core::parse::parse(&printed) {
        Ok(again) if core::print::print(&again) == printed => {}
        Ok(_) => return Err("the printed Core reads differently".into()),
        Err(e) => return Err(format!("the printed Core does not parse: {e:?}")),
    }
    let floats = core::complex::of_floats(f);
    let f = floats.as_ref().unwrap_or(f);
    let stages = Stages::new(f)?;
    let modes = Modes::of(stages.program())?;
    let derivatives = |args: &[Value], seed, order, stopped| match &modes {
        Some(modes) => modes.check(args, seed, order, stopped),
        None => Ok(Derived::default()),
    };
    let mut total = Derived::default();
    // Of random arguments a `while` may never end: those are left out.
    let is_endless = |args: &[Value]| {
        printed.contains("loop while") && limited(TRIPS, || meaning::run(f, args)) == Err(Fault::Exhausted)
    };
    let mut endless = 0;
    let mut agreed = 0;
    // Of what is there to fail a few are enough.
    for seed in 0..if FAIL.contains(&name) { 3 } else { 40 } {
        // Sizes of different names may have to be one, as those of layers.
        let sizes = match seed {
            0..10 => (1, 4),
            10..30 => (0, 6),
            _ => (2, 2),
        };
        let integers = [(0, 0), (0, 1), (-1, 5), (1, 4)][seed as usize % 4];
        let floats = if seed % 2 == 0 { (0.2, 1.4) } else { (-1.5, 1.5) };
        let Some(args) = arguments(f, seed, &Ranges { sizes, integers, floats }) else { continue };
        if is_endless(&args) {
            endless += 1;
            continue;
        }
        if limited(WORK, || stages.values(&args))? == Checked::Fault {
            continue;
        }
        agreed += 1;
        let stopped = printed.contains("stop_gradient");
        let order = if agreed == 1 { 2 } else { 1 };
        total += limited(WORK, || derivatives(&args, seed, order, stopped))?;
        if agreed >= 3 && seed >= 2 {
            break;
        }
    }
    // Nothing of no size is left out.
    let empty = arguments(f, 1, &Ranges { sizes: (0, 0), integers: (0, 1), floats: (0.5, 1.5) });
    if let Some(empty) = empty
        && !is_endless(&empty)
        && limited(WORK, || stages.values(&empty))? == Checked::Agree
    {
        total += derivatives(&empty, 1, 1, true).map_err(|e| format!("of nothing: {e}"))?;
    }
    if (agreed == 0) != FAIL.contains(&name) {
        return Err(format!(
            "{agreed} arguments were found for which it does not fail, {endless} without an end"
        ));
    }
    Ok(total)
}

/// Checks the kernels that are `left`, one after the other; what is wrong with them.
fn checked(left: &AtomicUsize) -> (Vec<String>, usize, Derived) {
    let (mut failures, mut kernels, mut total) = (Vec::new(), 0, Derived::default());
    // Syntax trees belong to one thread, so each reads the files for itself.
    let files = files();
    let all: Vec<(&File, &String)> =
        files.iter().flat_map(|f| f.kernels.keys().map(move |k| (f, k))).collect();
    while let Some((file, name)) = all.get(left.fetch_add(1, Relaxed)) {
        if file.is_generic(name) {
            continue;
        }
        kernels += 1;
        match file.compile(name).and_then(|f| check(name, &f)) {
            Ok(d) => total += d,
            Err(e) => failures.push(format!("{}, `{name}`: {e}", file.path.display())),
        }
    }
    (failures, kernels, total)
}

#[test]
fn kernels_mean_the_same_in_every_stage() {
    let left = AtomicUsize::new(0);
    let found: Vec<_> = thread::scope(|s| {
        let threads: Vec<_> = (0..2).map(|_| s.spawn(|| checked(&left))).collect();
        threads.into_iter().map(|t| t.join().expect("it has not panicked")).collect()
    });
    let (mut failures, mut kernels, mut total) = (Vec::new(), 0, Derived::default());
    for (wrong, checked, derived) in found {
        failures.extend(wrong);
        kernels += checked;
        total += derived;
    }
    eprintln!("{kernels} kernels, {total:?}");
    assert!(total.identities > kernels && total.differences * 2 > kernels, "{total:?}");
    assert!(kernels > 600, "only {kernels} kernels were found");
    assert!(failures.is_empty(), "{} of {kernels}\n{}", failures.len(), failures.join("\n"));
}
