//! What the macros of a kernel's paths have answered, and what the paths stand for by that.

use std::rc::Rc;

use proc_macro2::Span;

use super::{Kernel, generic};
use crate::carrier;
use crate::core;
use crate::diagnostics::{Code, Diagnostics};
use crate::elaborate::{Callee, Callees};
use crate::record::{self, Records};
use crate::syntax::ast;

/// What the macro of a path has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The path, as `ast::Path::text` writes it.
    pub path: String,
    /// The text that carries what it stands for.
    pub text: String,
}

impl Kernel {
    /// What its paths stand for, by the answers of their macros: the records first.
    ///
    /// # Errors
    /// As far as it is known, if an error was recorded, or one of them has failed, which has been reported where it is defined.
    pub fn link(&self, answers: &[Answer], diagnostics: &mut Diagnostics) -> Result<Callees, Box<Callees>> {
        let mut linked = Callees::new();
        let mut is_linked = true;
        let (records, callees) = (self.records(), self.callees(answers));
        for (k, Answer { path, text }) in answers.iter().enumerate() {
            let mut paths = callees.iter().chain(&records).chain(self.options.rule());
            let span = paths.find(|p| p.text() == *path).map_or(self.item.sig.ident.span(), ast::Path::span);
            is_linked &=
                text != carrier::FAILED && linked.link((path, span), text, k < records.len(), diagnostics);
        }
        if is_linked { Ok(linked) } else { Err(linked.into()) }
    }
}

impl Callees {
    /// Adds what the macro of a path has answered, where a record is meant or a kernel. False if an error was recorded.
    fn link(
        &mut self,
        (path, span): (&str, Span),
        text: &str,
        is_record: bool,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        let id = record::read(text, &mut self.records);
        let (code, message, help) = match (is_record, id) {
            (true, Some(id)) => {
                let found = self.records.get(&id).cloned();
                self.records.extend(found.map(|r| (path.to_string(), r)));
                return true;
            }
            (false, None) => {
                if let Some(generic) = generic::read(text) {
                    self.insert_generic(path, generic);
                    return true;
                }
                if let Some((callee, records)) = kernel(text) {
                    self.records.extend(records);
                    self.insert_callee(path, callee);
                    return true;
                }
                let message = format!("kernel `{path}` was compiled by another version of array-dsl");
                (
                    Code::Limit,
                    message,
                    "build the crates that share kernels with one version of it".to_string(),
                )
            }
            (true, None) if generic::is_carried(text) || kernel(text).is_some() => {
                let help = "name a structure with `#[derive(Record)]`";
                (Code::NotARecord, format!("`{path}` is a kernel, not a record"), help.to_string())
            }
            (true, None) => {
                let message = format!("record `{path}` was compiled by another version of array-dsl");
                (
                    Code::Limit,
                    message,
                    "build the crates that share records with one version of it".to_string(),
                )
            }
            (false, Some(_)) => {
                let help = format!("write `{path} {{ .. }}` with its fields to make one");
                (Code::NotAKernel, format!("`{path}` is a record, not a kernel"), help)
            }
        };
        diagnostics.error(code, span, message, help);
        false
    }
}

/// The kernel that a text carries, with the records of its types; `None` if another version has written it.
fn kernel(text: &str) -> Option<(Callee, Records)> {
    let mut records = Records::default();
    let (interface, core) = record::uncarried(text, &mut records)?;
    let function = Rc::new(core::parse::parse(core).ok()?);
    Some((Callee { function, interface }, records))
}
