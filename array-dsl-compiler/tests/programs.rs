//! The kernels of the repository's tests, and those in `programs/`, through every stage, forward and backward.
//!
//! `tests/tests/*.rs` of the workspace hold the worked examples with their numbers; there they run as compiled code. Here
//! their text goes through the compiler as a library, and every stage is compared with the Core interpreter for
//! several random arguments each.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use array_dsl_compiler::core::{Body, Exp, Function};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::elaborate::Callees;
use array_dsl_compiler::schedule::Target;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Scalar, Value};
use array_dsl_compiler::{core, kernel, pipeline};
use common::{Checked, Derived, derivatives, stage, values};
use syn::ext::IdentExt as _;

/// The kernels of one file by name.
struct File {
    path: PathBuf,
    kernels: BTreeMap<String, syn::ItemFn>,
}

fn read(path: &Path) -> File {
    let text = std::fs::read_to_string(path).expect("a test file can be read");
    let file = syn::parse_file(&text).expect("a test file is Rust");
    let kernels = file
        .items
        .into_iter()
        .filter_map(|item| match item {
            syn::Item::Fn(f) if f.attrs.iter().any(|a| a.path().is_ident("kernel")) => {
                Some((f.sig.ident.unraw().to_string(), f))
            }
            _ => None,
        })
        .collect();
    File { path: path.to_path_buf(), kernels }
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
    paths.iter().map(|p| read(p)).collect()
}

impl File {
    fn compile(&self, name: &str) -> Result<Function, String> {
        let item = self.kernels.get(name).ok_or_else(|| format!("there is no kernel `{name}`"))?;
        let mut callees = Callees::new();
        for path in kernel::callees(item, &mut Diagnostics::default()) {
            callees.insert(path.text(), Rc::new(self.compile(&path.text())?));
        }
        let mut diagnostics = Diagnostics::default();
        let found = stage("the front end", || pipeline::front(item, &callees, &mut diagnostics))?;
        found.map(|e| e.function).ok_or_else(|| {
            let errors: Vec<&str> = diagnostics.list().iter().map(|d| d.message.as_str()).collect();
            errors.join("; ")
        })
    }
}

/// Whether something is written at computed indices.
fn writes(b: &Body) -> bool {
    let written = |e: &Exp| matches!(e, Exp::Scatter { reducer: None, .. });
    b.stms.iter().any(|s| written(&s.exp) || s.exp.bodies().into_iter().any(writes))
}

/// Arguments for a kernel. Where it writes, no two integers of one array are the same: which of two values for one place
/// is kept is not specified.
fn arguments(f: &Function, seed: u64, ranges: &Ranges) -> Vec<Value> {
    let mut args = arguments_within(f, seed, ranges);
    if writes(&f.body) {
        for a in args.iter_mut().filter(|a| a.elem() == Elem::I64) {
            let n = a.data().len() as i64;
            for (i, x) in a.data_mut().iter_mut().enumerate() {
                *x = Scalar::I64((i as i64 + seed as i64) % (n + 1) - 1);
            }
        }
    }
    args
}

/// Kernels that are there to fail whatever the arguments, or nearly so.
const FAIL: [&str; 0] = [];

/// Compares a kernel's stages: until three arguments have been found for which it does not fail.
fn check(name: &str, f: &Function) -> Result<Derived, String> {
    let printed = core::print::print(f);
    match core::parse::parse(&printed) {
        Ok(again) if core::print::print(&again) == printed => {}
        Ok(_) => return Err("the printed Core reads differently".into()),
        Err(e) => return Err(format!("the printed Core does not parse: {e:?}")),
    }
    let p = stage("middle", || pipeline::middle(f).expect("its derivatives exist"))?;
    let mut total = Derived::default();
    // For random arguments a `while` may never end: its values are for tests with arguments of their own.
    if printed.contains("loop while") {
        for d in [Derivative::Vjp, Derivative::Jvp].into_iter().filter(|d| d.exists(&p)) {
            let Ok(derived) = stage(d.name(), || pipeline::derivative(&p, d))? else { continue };
            for target in [Target::Cpu, Target::Gpu] {
                stage(d.name(), || pipeline::back(&derived, target))?.map_err(|e| e.join("; "))?;
            }
        }
        return Ok(total);
    }
    let mut agreed = 0;
    for seed in 0..40 {
        let sizes = if seed < 10 { (1, 4) } else { (0, 6) };
        let integers = [(0, 0), (0, 1), (-1, 5), (1, 4)][seed as usize % 4];
        let floats = if seed % 2 == 0 { (0.2, 1.4) } else { (-1.5, 1.5) };
        let args = arguments(f, seed, &Ranges { sizes, integers, floats });
        if values(f, &args)? == Checked::Fault {
            continue;
        }
        agreed += 1;
        let stopped = printed.contains("stop_gradient");
        let order = if agreed == 1 { 2 } else { 1 };
        total += derivatives(&p, &args, seed, order, stopped)?;
        if agreed >= 3 && seed >= 2 {
            break;
        }
    }
    // Nothing of no size is left out.
    let empty = arguments(f, 1, &Ranges { sizes: (0, 0), integers: (0, 1), floats: (0.5, 1.5) });
    if values(f, &empty)? == Checked::Agree {
        total += derivatives(&p, &empty, 1, 1, true).map_err(|e| format!("of nothing: {e}"))?;
    }
    if (agreed == 0) != FAIL.contains(&name) {
        return Err(format!("{agreed} arguments were found for which it does not fail"));
    }
    Ok(total)
}

/// Checks every second kernel.
fn half(which: usize) {
    let (mut failures, mut kernels, mut total) = (Vec::new(), 0, Derived::default());
    for file in files() {
        for name in file.kernels.keys().skip(which).step_by(2) {
            kernels += 1;
            match file.compile(name).and_then(|f| check(name, &f)) {
                Ok(d) => total += d,
                Err(e) => failures.push(format!("{}, `{name}`: {e}", file.path.display())),
            }
        }
    }
    eprintln!("{kernels} kernels, {total:?}");
    assert!(kernels > 100, "only {kernels} kernels were found");
    assert!(failures.is_empty(), "{} of {kernels}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn kernels_mean_the_same_in_every_stage_1() {
    half(0);
}

#[test]
fn kernels_mean_the_same_in_every_stage_2() {
    half(1);
}
