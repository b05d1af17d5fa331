//! Wrong programs: every file of `ui/` must fail to compile, with exactly the messages beside it. After a wanted change of
//! a message, `TRYBUILD=overwrite cargo test -p array-dsl-tests --test ui` writes them anew.
//!
//! In `ui/rustc/` rustc has a word in the messages too, so there they are those of one release of it.

/// The release whose words are in `ui/rustc/`.
const RUSTC: &str = "rustc 1.95.";

#[test]
fn wrong_programs_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
    if rustc_version().starts_with(RUSTC) {
        cases.compile_fail("ui/rustc/*.rs");
    }
}

fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
