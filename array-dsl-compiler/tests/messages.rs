//! Messages speak of the user's program: none of those for the wrong programs of `tests/messages/ui` has a name of the compiler's
//! own in it, and every one says what to do.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use array_dsl_compiler::carrier;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::kernel::{self, Answer, Kernel, link};
use array_dsl_compiler::record::{self, Records, definition};
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};

/// Rust files of a folder and the folders in it.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    out.sort();
}

/// An item that a macro of this crate replaces or adds to.
enum Source {
    /// Under `#[kernel]`, with the attribute's arguments.
    Kernel(TokenStream, TokenStream),
    /// Under `#[derive(Record)]`.
    Record(TokenStream),
}

/// These items, outside of modules.
fn compiled(file: &syn::File) -> Vec<Source> {
    let mut out = Vec::new();
    for item in &file.items {
        let mut item = item.clone();
        let attrs = match &mut item {
            syn::Item::Fn(f) => &mut f.attrs,
            syn::Item::Struct(s) => &mut s.attrs,
            syn::Item::Enum(e) => &mut e.attrs,
            _ => continue,
        };
        if let Some(at) = attrs.iter().position(|a| a.path().is_ident("kernel")) {
            let attribute = attrs.remove(at);
            let arguments = attribute.meta.require_list().map(|l| l.tokens.clone()).unwrap_or_default();
            out.push(Source::Kernel(arguments, item.into_token_stream()));
        } else if attrs
            .iter()
            .any(|a| a.path().is_ident("derive") && a.meta.to_token_stream().to_string().contains("Record"))
        {
            out.push(Source::Record(item.into_token_stream()));
        }
    }
    out
}

/// The string literals with messages in what a kernel is replaced by.
fn messages(tokens: TokenStream, out: &mut Vec<String>) {
    for t in tokens {
        match t {
            TokenTree::Group(g) => messages(g.stream(), out),
            TokenTree::Literal(l) => {
                if let Ok(text) = syn::parse2::<syn::LitStr>(l.into_token_stream()) {
                    out.extend(Some(text.value()).filter(|t| t.starts_with("[AD")));
                }
            }
            _ => {}
        }
    }
}

/// The text that a kernel or record leaves for those who name it.
fn carried(tokens: TokenStream) -> Option<String> {
    let mut found = None;
    for t in tokens {
        let text = match t {
            TokenTree::Group(g) => carried(g.stream()),
            TokenTree::Literal(l) => {
                syn::parse2::<syn::LitStr>(l.into_token_stream()).ok().map(|l| l.value())
            }
            _ => None,
        };
        let carries = |t: &String| {
            t == carrier::FAILED
                || ["fn ", "record ", "interface ", "generic "].iter().any(|start| t.starts_with(start))
        };
        found = text.filter(carries).or(found);
    }
    found
}

/// All messages for a program, its records and kernels compiled in order.
fn messages_of(source: &str) -> Vec<String> {
    let file = syn::parse_file(source).unwrap_or_else(|e| panic!("{e}: {source}"));
    let mut known: HashMap<String, String> = HashMap::new();
    let mut out = Vec::new();
    for source in compiled(&file) {
        let (name, tokens) = match source {
            Source::Record(item) => {
                let input = syn::parse2::<syn::DeriveInput>(item.clone()).unwrap();
                let tokens = match definition::read(&input, &mut Diagnostics::default()) {
                    // Records in records: as if they were linked.
                    Some(d) if d.fields.iter().any(|f| !f.host.records().is_empty()) => {
                        let mut records = Records::default();
                        let paths = d.fields.iter().flat_map(|f| f.host.records()).map(definition::path_text);
                        let all = paths.map(|p| {
                            let id = record::read(known.get(&p)?, &mut records)?;
                            records.insert(p, records.get(&id)?.clone());
                            Some(())
                        });
                        match all.collect::<Option<Vec<()>>>() {
                            Some(_) => record::carrier(&input, &record::write(&d, &records)),
                            None => link::derive_record(item),
                        }
                    }
                    _ => link::derive_record(item),
                };
                (input.ident.to_string(), tokens)
            }
            Source::Kernel(arguments, item) => {
                let Ok(function) = syn::parse2::<syn::ItemFn>(item.clone()) else {
                    messages(link::attribute(arguments, item), &mut out);
                    continue;
                };
                let name = function.sig.ident.to_string();
                let mut diagnostics = Diagnostics::default();
                let kernel = Kernel::read(&arguments, function, &mut diagnostics);
                let mut paths = kernel.records();
                let answer =
                    |(path, text): (&String, &String)| Answer { path: path.clone(), text: text.clone() };
                paths.extend(kernel.callees(&known.iter().map(answer).collect::<Vec<_>>()));
                let answers: Option<Vec<Answer>> =
                    paths.iter().map(|p| known.get_key_value(&p.text()).map(answer)).collect();
                let tokens = match answers {
                    // What is wrong in the signature, the syntax and the attribute comes before linking.
                    Some(answers) if diagnostics.is_empty() && !paths.is_empty() => {
                        kernel::compile(&kernel, &answers)
                    }
                    _ => link::attribute(arguments, item),
                };
                (name, tokens)
            }
        };
        messages(tokens.clone(), &mut out);
        known.insert(name, carried(tokens).unwrap_or(carrier::FAILED.to_string()));
    }
    out
}

#[test]
fn messages_have_no_internal_names_and_a_way_out() {
    let mut paths = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/messages/ui"), &mut paths);
    assert!(paths.len() >= 40, "{} programs", paths.len());
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // What is no Rust is read by rustc alone.
        if name == "syntax_errors" {
            continue;
        }
        let found = messages_of(&fs::read_to_string(&path).unwrap());
        // There the types of rustc speak, not the compiler.
        let host = name.starts_with("gradient_of")
            || [
                "hvp_not_requested",
                "only_the_value",
                "record_without_floats",
                "generic_on_the_host",
                "kernel_imported_as_builtin",
                "kernel_imported_as_concat",
                "same_name",
                "constant_types",
                "missing_constant",
                "unused",
                "usize_arguments",
            ]
            .contains(&&*name);
        assert_eq!(found.is_empty(), host, "{name}: {found:?}");
        for text in found {
            let plain = text.replace("#[", "[");
            for internal in ["%", "#", "Infer", "Elem::", "Dim", "__", "Some(", "Atom", "Value"] {
                assert!(!plain.contains(internal), "{name}: {internal} in {text}");
            }
            let help = text.split_once("\nhelp: ").map(|(_, h)| h.trim());
            assert!(help.is_some_and(|h| h.len() > 5), "{name}: {text}");
        }
    }
}

/// What stands for a wrong kernel can be called in every way, on a GPU too, so that its callers have no errors of their own. (The
/// programs of `tests/messages/ui` are compiled without GPUs.)
#[test]
fn a_wrong_kernel_has_its_whole_interface() {
    let wrong = quote! { fn wrong(x: [f64; n], #[no_grad] k: [i64; n]) -> f64 { (x * k).sum() } };
    let made = link::attribute(TokenStream::new(), wrong);
    let found = made.to_string();
    syn::parse2::<syn::File>(made).unwrap_or_else(|e| panic!("{e}: {found}"));
    for part in ["compile_error", "HasGrad", "HasVjp", "HasJvp", "HasHvp"] {
        assert!(found.contains(part), "{part}: {found}");
    }
    // The kernel and all its derivatives.
    let implementing = |part: &str| -> Vec<&str> {
        found.split(part).skip(1).filter_map(|rest| rest.split_whitespace().next()).collect()
    };
    let kernels = implementing("impl __rt :: host :: Kernel for ");
    assert_eq!((kernels.len(), kernels[0]), (1 + Derivative::ALL.len(), "wrong"), "{found}");
    assert_eq!(kernels, implementing("impl __rt :: gpu :: GpuKernel for "), "{found}");
}

/// Every code is met by some program of `tests/messages/ui`.
#[test]
fn every_code_has_a_wrong_program() {
    let mut paths = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/messages/ui"), &mut paths);
    let all: String = paths.iter().map(|p| fs::read_to_string(p.with_extension("stderr")).unwrap()).collect();
    for code in 1..=26 {
        assert!(all.contains(&format!("[AD{code:04}]")), "AD{code:04}");
    }
}

/// Each section of the page on errors has a program with that error and one without any.
#[test]
fn the_page_on_errors_is_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    let page = fs::read_to_string(page).unwrap();
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), 26);
    for (section, code) in sections.iter().zip(1..) {
        let code = format!("AD{code:04}");
        assert!(section.starts_with(&code), "{code}: {section}");
        let programs: Vec<&str> =
            section.split("```rust\n").skip(1).map(|p| p.split("```").next().unwrap()).collect();
        let [wrong, right] = programs.as_slice() else { panic!("{code}: {} programs", programs.len()) };
        let found = messages_of(wrong);
        // Missing derivatives are found where they are used, by rustc.
        let expected = code != "AD0013";
        assert_eq!(found.iter().any(|m| m.starts_with(&format!("[{code}]"))), expected, "{code}: {found:?}");
        assert_eq!(messages_of(right), Vec::<String>::new(), "{code}");
    }
}
