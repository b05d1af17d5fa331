//! Wrong programs: every file of `ui/` must fail to compile, with exactly the messages beside it. After a wanted change of
//! a message, `TRYBUILD=overwrite cargo test -p array-dsl-messages` writes them anew.
//!
//! In `ui/rustc/` rustc has a word in the messages too, so there they are those of one release of it.

use std::io::Write;

/// The release whose words are in `ui/rustc/`.
const RUSTC: &str = "rustc 1.95.";

#[test]
fn wrong_programs_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
    let rustc = rustc_version();
    if rustc.starts_with(RUSTC) {
        cases.compile_fail("ui/rustc/*.rs");
    } else {
        // Not by `eprintln!`, which is not shown of a test that passes.
        let text = format!("skipped: ui/rustc is of {RUSTC}*, this is {}\n", rustc.trim());
        std::io::stderr().write_all(text.as_bytes()).expect("it can be written");
    }
}

fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
