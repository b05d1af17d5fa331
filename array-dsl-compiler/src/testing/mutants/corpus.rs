//! The kernels of the repository: those in its files with `#[kernel]`, and those in the texts of its tests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::tokens::{Tokens, flat, opens, text, tree};
use crate::testing::constructs::{CONSTRUCTS, ON_GPU};
use crate::testing::random;

/// Kernels and records, of which the last is what it is about and the others are what it names.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its tokens.
    pub tokens: Tokens,
    /// Of its text alone, so that it does not depend on what else there is.
    pub hash: u64,
}

impl Source {
    fn new(tokens: Tokens) -> Source {
        let hash = tokens.iter().flat_map(|t| t.bytes().chain([b' ']));
        let hash =
            hash.fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        Source { tokens, hash }
    }
}

/// Where kernels are looked for, from the workspace's folder.
const FOLDERS: [&str; 5] =
    ["array-dsl-compiler/src/testing", "array-dsl-compiler/tests", "array-dsl/src", "examples", "tests"];

/// Random kernels with every construct that are mutated too.
const RANDOM: u64 = 250;

/// All sources, each once, in an order that depends on nothing but the files.
///
/// # Errors
/// If the files cannot be read.
pub fn corpus(workspace: &Path) -> io::Result<Vec<Source>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        list(&workspace.join(folder), &mut files)?;
    }
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let stream: Result<TokenStream, _> = fs::read_to_string(file)?.parse();
        // What does not lex is a message's test.
        let Ok(stream) = stream else { continue };
        let mut items = Vec::new();
        written(stream, &mut items, &mut out);
        out.extend((0..items.len()).filter(|k| items[*k].is_kernel).map(|k| with_named(&items, k)));
    }
    for construct in CONSTRUCTS {
        out.extend(ON_GPU.iter().filter_map(|(float, index)| program(&construct.source(float, index))));
    }
    out.extend((0..RANDOM).filter_map(|seed| program(&random::source(seed)?)));
    out.retain(|tokens: &Tokens| tokens.len() < 700);
    let mut out: Vec<Source> = out.into_iter().map(Source::new).collect();
    out.sort_by_key(|s| s.hash);
    out.dedup_by_key(|s| s.hash);
    Ok(out)
}

fn list(folder: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
            list(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

/// A kernel or record of a file.
struct Item {
    name: String,
    is_kernel: bool,
    tokens: Tokens,
}

/// The items of a file, and the programs in its texts.
fn written(stream: TokenStream, items: &mut Vec<Item>, programs: &mut Vec<Tokens>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    for (k, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Punct(p) if p.as_char() == '#' => items.extend(item(&trees[k..])),
            TokenTree::Group(g) => written(g.stream(), items, programs),
            TokenTree::Literal(l) => {
                let text = syn::parse_str::<syn::LitStr>(&l.to_string());
                programs.extend(
                    text.ok().filter(|t| t.value().contains("fn ")).and_then(|t| program(&t.value())),
                );
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// A text that is nothing but kernels and records.
fn program(text: &str) -> Option<Tokens> {
    let file = syn::parse_file(text).ok()?;
    let fits = |i: &syn::Item| matches!(i, syn::Item::Fn(_) | syn::Item::Struct(_));
    (!file.items.is_empty() && file.items.iter().all(fits)).then(|| text.parse().ok().map(flat))?
}

/// The item that begins with this attribute: `#[kernel]` or `#[derive(Record)]`.
fn item(trees: &[TokenTree]) -> Option<Item> {
    let [_, TokenTree::Group(attribute), ..] = trees else { return None };
    let inside = attribute.stream().to_string();
    let word = inside.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_kernel = word == "kernel";
    let is_record = word == "derive" && inside.contains("Record");
    if !is_kernel && !is_record {
        return None;
    }
    let keyword = if is_kernel { "fn" } else { "struct" };
    let at = trees.iter().position(|t| matches!(t, TokenTree::Ident(i) if i == keyword))?;
    let end = trees
        .iter()
        .skip(at)
        .position(|t| matches!(t, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace))?;
    let TokenTree::Ident(name) = trees.get(at + 1)? else { return None };
    // Between the attribute and the keyword: other attributes, the visibility.
    let between = trees[2..at].iter().all(|t| match t {
        TokenTree::Punct(p) => p.as_char() == '#',
        TokenTree::Ident(i) => *i == "pub",
        TokenTree::Group(g) => g.delimiter() != Delimiter::Brace,
        TokenTree::Literal(_) => false,
    });
    let mut tokens = flat(trees[at..=at + end].iter().cloned().collect());
    if inside.starts_with("kernel") && inside.contains('(') {
        tokens.splice(0..0, flat(trees[..2].iter().cloned().collect()));
    }
    remove_docs(&mut tokens);
    between.then(|| Item { name: name.to_string(), is_kernel, tokens })
}

/// Comments are attributes, which are of no interest.
fn remove_docs(tokens: &mut Tokens) {
    let mut at = 0;
    while at + 2 < tokens.len() {
        if tokens[at] == "#" && tokens[at + 1] == "[" && tokens[at + 2] == "doc" {
            let end = tree(tokens, at + 1).end;
            tokens.drain(at..end);
        } else {
            at += 1;
        }
    }
}

/// A kernel after the items of its file that it names, and those that they name.
fn with_named(items: &[Item], kernel: usize) -> Tokens {
    let mut order = Vec::new();
    visit(items, kernel, &mut Vec::new(), &mut order);
    order.into_iter().flat_map(|k| items[k].tokens.iter().cloned()).collect()
}

fn visit(items: &[Item], item: usize, open: &mut Vec<usize>, order: &mut Vec<usize>) {
    if open.contains(&item) || order.contains(&item) {
        return;
    }
    open.push(item);
    for token in items[item].tokens.iter().filter(|t| !opens(t)) {
        // Modules of one file may have kernels of the same name: the last one before it is the likeliest.
        let named = |k: &usize| *k != item && items[*k].name == *token;
        let before = (0..item).rev().find(named);
        if let Some(k) = before.or_else(|| (item..items.len()).find(named)) {
            visit(items, k, open, order);
        }
    }
    open.pop();
    order.push(item);
}

/// The text of a source.
impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(&self.tokens))
    }
}
