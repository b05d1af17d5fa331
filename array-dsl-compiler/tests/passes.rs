//! Passes on small programs, one in each file of `passes/`:
//!
//! ```text
//! What the file shows.
//!
//! passes: inline, simplify        the names are in `testing::passes`
//!
//! program f(x.0: [n]f64) ..       Bulk, Core, or a kernel in the language
//!
//! =>
//!
//! program f(x.0: [n]f64) ..       or `counts: nests 1, stores 1`, or `error:` with what is said
//! ```
//!
//! With `ARRAY_DSL_BLESS=1` the files are written anew; those that tell counts or an error keep telling that.

use std::fs;
use std::path::{Path, PathBuf};

use array_dsl_compiler::testing::passes::{Stage, names};

/// A file in its parts.
struct Case {
    title: String,
    passes: Vec<String>,
    program: String,
    expected: String,
}

impl Case {
    fn read(text: &str) -> Option<Case> {
        let (title, rest) = text.split_once("\n\npasses:")?;
        let (passes, rest) = rest.split_once("\n\n")?;
        let (program, expected) = rest.split_once("\n=>\n")?;
        let passes = passes.split(',').map(|name| name.trim().to_string()).collect();
        let [program, expected] = [program, expected].map(|part| part.trim_matches('\n').to_string());
        Some(Case { title: title.into(), passes, program, expected })
    }

    fn found(&self) -> String {
        let made = Stage::read(&self.program)
            .and_then(|start| self.passes.iter().try_fold(start, |stage, pass| stage.then(pass)));
        match made {
            Ok(stage) if self.expected.starts_with("counts:") => format!("counts: {}", stage.counts()),
            Ok(stage) => stage.to_string().trim_matches('\n').to_string(),
            Err(error) => format!("error: {}", error.trim()),
        }
    }

    fn text(&self, found: &str) -> String {
        let Case { title, passes, program, .. } = self;
        format!("{title}\n\npasses: {}\n\n{program}\n\n=>\n\n{found}\n", passes.join(", "))
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn passes_make_what_is_expected() {
    let bless = std::env::var_os("ARRAY_DSL_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files() {
        let text = fs::read_to_string(&path).expect("a text");
        let case =
            Case::read(&text).unwrap_or_else(|| panic!("{}: not in the form of these files", path.display()));
        let found = case.found();
        if bless {
            fs::write(&path, case.text(&found)).expect("the file can be written");
        } else if found != case.expected {
            wrong.push(format!("{}: {}\n{found}", path.display(), case.title));
        }
    }
    assert!(wrong.is_empty(), "other results (ARRAY_DSL_BLESS=1 writes them):\n\n{}", wrong.join("\n\n"));
}

/// Every pass that there is stands in some file.
#[test]
fn every_pass_is_shown() {
    let texts: Vec<String> = files().iter().map(|path| fs::read_to_string(path).expect("a text")).collect();
    let cases: Vec<Case> = texts.iter().filter_map(|text| Case::read(text)).collect();
    assert_eq!(cases.len(), texts.len());
    for name in names() {
        assert!(cases.iter().any(|case| case.passes.contains(&name)), "no file in tests/passes has `{name}`");
    }
}
