//! No folder of the compiler imports one that imports it, directly or not: what can be read first is read alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Adds what the files below a path import from the crate, without their tests.
fn imports(path: &Path, folders: &BTreeSet<String>, out: &mut BTreeSet<String>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder").map(|e| e.expect("an entry").path());
        return entries.for_each(|p| imports(&p, folders, out));
    }
    if path.file_stem().is_some_and(|stem| stem == "tests") || path.extension().is_none_or(|e| e != "rs") {
        return;
    }
    let text = fs::read_to_string(path).expect("a text");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    for rest in code.split("crate::").skip(1) {
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        out.extend(Some(name).filter(|name| folders.contains(name)));
    }
}

#[test]
fn no_folder_imports_one_that_imports_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let stem = |p: &Path| p.file_stem().expect("a name").to_string_lossy().into_owned();
    let entries = || fs::read_dir(&source).expect("the sources").map(|e| e.expect("an entry").path());
    let apart = ["lib", "testing"];
    let folders: BTreeSet<String> =
        entries().map(|p| stem(&p)).filter(|name| !apart.contains(&&**name)).collect();
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in entries().filter(|p| folders.contains(&stem(p))) {
        let found = all.entry(stem(&path)).or_default();
        imports(&path, &folders, found);
        found.remove(&stem(&path));
    }
    assert!(all["derive"].contains("bulk"), "{all:?}");
    // What imports nothing that is left is left out, until nothing or only circles are left.
    while let Some(leaf) = all.iter().find(|(_, of)| of.iter().all(|f| !all.contains_key(f))) {
        let leaf = leaf.0.clone();
        all.remove(&leaf);
    }
    assert!(all.is_empty(), "these import each other: {all:?}");
}
