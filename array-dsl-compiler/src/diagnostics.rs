//! Errors about the user's program: collected, each with a code, a span, what was expected, and a way out.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

/// What is wrong, as a stable code. The numbers never change meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is described by `title`")]
pub enum Code {
    Unsupported = 1,
    UnknownName = 2,
    UnknownFunction = 3,
    ArgumentCount = 4,
    ElementType = 5,
    Rank = 6,
    SizeMismatch = 7,
    SizeNames = 8,
    DependentDimension = 9,
    MissingAnnotation = 10,
    Recursion = 11,
    NotAKernel = 12,
    NotDifferentiable = 13,
    TupleShape = 14,
    NotAFunction = 15,
    Attribute = 16,
    ResultType = 17,
    Operator = 18,
    Limit = 19,
    Assignment = 20,
    NotARecord = 21,
    RecordDefinition = 22,
    Fields = 23,
    Ambiguous = 24,
    BuiltinName = 25,
    Index = 26,
}

impl Code {
    /// As printed: `AD0007`.
    pub fn text(self) -> String {
        format!("AD{:04}", self as u32)
    }
}

/// One error.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Its code.
    pub code: Code,
    /// Where the user's program is wrong.
    pub span: Span,
    /// What is wrong: expected and found, in the user's names.
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl Diagnostic {
    /// As printed: code, message, help.
    pub fn text(&self) -> String {
        let mut text = format!("[{}] {}", self.code.text(), self.message);
        if !self.help.is_empty() {
            text.push_str(&format!("\nhelp: {}", self.help));
        }
        text
    }
}

/// `1 argument`, `2 arguments`.
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The collector every front-end pass reports to.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Records an error and goes on.
    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.list.push(Diagnostic { code, span, message: message.into(), help: help.into() });
    }

    /// Records an error that is made already.
    pub fn push(&mut self, error: Diagnostic) {
        self.list.push(error);
    }

    /// Whether nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All errors in order.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Forgets the errors after the first `len`: those of an attempt that was only tried.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Puts words before the messages after the first `len`: in which case they hold.
    pub fn specify(&mut self, len: usize, words: &str) {
        self.list[len..].iter_mut().for_each(|d| d.message.insert_str(0, words));
    }

    /// Gives the errors after the first `len` another way out.
    pub fn advise(&mut self, len: usize, help: &str) {
        self.list[len..].iter_mut().for_each(|d| d.help = help.into());
    }

    /// One `compile_error!` per error, at its span.
    pub fn to_tokens(&self) -> TokenStream {
        self.list
            .iter()
            .map(|d| {
                let text = d.text();
                quote_spanned!(d.span => ::core::compile_error!(#text);)
            })
            .collect()
    }
}
