//! What travels along from one macro to the next, as tokens:
//!
//! ```text
//! f! { [callback]             {attribute} {item} {(f) (h)} {} }      asks f
//! callback! { "answer of f"   {attribute} {item} {(f) (h)} {} }      f has answered
//! h! { [callback]             {attribute} {item} {(h)} {("f" "answer of f")} }
//! ```

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use super::Answer;
use crate::carrier::path_text;

/// What travels along.
pub(super) struct State {
    /// The attribute of a kernel.
    pub attr: TokenStream,
    /// The kernel or record that asks.
    pub item: TokenStream,
    /// What is to be asked, in this order.
    pub paths: Vec<TokenStream>,
    /// What has been answered.
    pub answers: Vec<Answer>,
}

impl State {
    /// The state after an answer; `None` if the tokens are not those of one.
    pub fn read(tokens: TokenStream) -> Option<State> {
        let parts: Vec<TokenTree> = tokens.into_iter().collect();
        let [text, attr, item, paths, answers] = parts.as_slice() else { return None };
        let mut paths = groups(paths).into_iter().map(|g| g.stream());
        let answer = Answer { path: path_text(&paths.next()?), text: literal(text) };
        let mut answers = pairs(answers);
        answers.push(answer);
        Some(State { attr: inside(attr), item: inside(item), paths: paths.collect(), answers })
    }

    /// The call of the next path's macro, which answers to `callback`, and the name that it is called by; `None` if all have answered.
    ///
    /// A path is imported under the name `alias`. Something that is no macro can be imported as well, so that rustc does not say
    /// that the path leads nowhere.
    pub fn ask(&self, callback: &TokenStream, alias: Ident) -> Option<(TokenStream, Ident)> {
        let State { attr, item, paths, answers } = self;
        let next = paths.first()?;
        // A kernel may have the name of a macro of Rust, which is in sight before the kernel's own macro is.
        let plain = syn::parse2::<Ident>(next.clone()).ok().filter(|name| !OF_RUST.iter().any(|m| name == m));
        let (import, name) = match plain {
            Some(name) => (None, name),
            None => {
                let here = (next.clone().into_iter().count() == 1).then(|| quote! { self:: });
                let import = quote! {
                    #[doc(hidden)]
                    #[allow(unused_imports, reason = "it may be no kernel")]
                    use #here #next as #alias;
                };
                (Some(import), alias)
            }
        };
        let answers = answers.iter().map(|Answer { path, text }| quote! { (#path #text) });
        let call = quote! {
            #import
            #name ! { [#callback] { #attr } { #item } { #((#paths))* } { #(#answers)* } }
        };
        Some((call, name))
    }
}

fn inside(t: &TokenTree) -> TokenStream {
    match t {
        TokenTree::Group(g) => g.stream(),
        t => t.to_token_stream(),
    }
}

fn groups(t: &TokenTree) -> Vec<Group> {
    inside(t)
        .into_iter()
        .filter_map(|t| match t {
            TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis => Some(g),
            _ => None,
        })
        .collect()
}

fn pairs(t: &TokenTree) -> Vec<Answer> {
    groups(t)
        .into_iter()
        .filter_map(|g| match g.stream().into_iter().collect::<Vec<_>>().as_slice() {
            [path, text] => Some(Answer { path: literal(path), text: literal(text) }),
            _ => None,
        })
        .collect()
}

/// The text of a string literal (which a `macro_rules!` may have wrapped in an invisible group).
fn literal(t: &TokenTree) -> String {
    let inner = match t {
        TokenTree::Group(g) => g.stream(),
        t => t.to_token_stream(),
    };
    syn::parse2::<syn::LitStr>(inner).map(|l| l.value()).unwrap_or_default()
}

/// The macros that Rust has in sight everywhere.
pub(super) const OF_RUST: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "column",
    "compile_error",
    "concat",
    "concat_bytes",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "include",
    "include_bytes",
    "include_str",
    "line",
    "matches",
    "module_path",
    "option_env",
    "panic",
    "print",
    "println",
    "stringify",
    "thread_local",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];
