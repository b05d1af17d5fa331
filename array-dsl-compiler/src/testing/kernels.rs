//! Kernels from their text, as the macro would compile them.

use crate::bulk::Program;
use crate::core::print::print;
use crate::core::{self, Function};
use crate::diagnostics::Diagnostics;
use crate::generic;
use crate::kernel::{Options, link};
use crate::pipeline;
use crate::syntax::parse_function;

/// The last kernel of a text in Core, or what is wrong with it. It may call the kernels before it, and may have options, as in
/// `#[kernel(vjp = rule)]`. It has been printed and read again, as it is when another kernel calls it.
pub fn compile(source: &str) -> Result<Function, Vec<String>> {
    let file = syn::parse_file(source).map_err(|e| vec![e.to_string()])?;
    let mut known: Vec<(String, String)> = Vec::new();
    let mut last = Err(vec!["there is no kernel".to_string()]);
    for item in &file.items {
        let syn::Item::Fn(f) = item else { return Err(vec!["not a function".into()]) };
        let mut diagnostics = Diagnostics::default();
        let attr = f.attrs.iter().find_map(|a| a.meta.require_list().ok()).map(|l| l.tokens.clone());
        let options = Options::parse(&attr.unwrap_or_default(), &mut diagnostics);
        let rule = options.rule.as_ref().map(|(path, _)| path);
        let said = |d: &Diagnostics| d.list().iter().map(|d| d.text()).collect::<Vec<_>>();
        let Ok(callees) = link(f, rule, &known, &mut diagnostics) else { return Err(said(&diagnostics)) };
        let ast = parse_function(f, &mut diagnostics);
        let name = f.sig.ident.to_string();
        if ast.is_generic() {
            generic::check(f, &ast, &callees, &options, &mut diagnostics)
                .ok_or_else(|| said(&diagnostics))?;
            known.push((name, generic::carried(f, &known)));
            last = Err(vec!["the last kernel is generic".into()]);
            continue;
        }
        let found = pipeline::front_with_rule(f, rule, &callees, &mut diagnostics);
        let Some(found) = found.filter(|_| diagnostics.is_empty()) else { return Err(said(&diagnostics)) };
        let text = print(&found.function);
        let function = core::parse::parse(&text).map_err(|e| vec![format!("{e}\n{text}")])?;
        if print(&function) != text {
            return Err(vec![format!("another text when printed again:\n{text}")]);
        }
        known.push((name, text));
        last = Ok(function);
    }
    last
}

/// As [`compile`], of a text that is right.
///
/// # Panics
/// If it is not.
pub fn kernel(source: &str) -> Function {
    compile(source).unwrap_or_else(|e| panic!("{}\n{source}", e.join("\n")))
}

/// A right text as an optimized Bulk program.
///
/// # Panics
/// If the kernel takes a derivative that there is not.
pub fn program(source: &str) -> Program {
    pipeline::middle(&kernel(source)).unwrap_or_else(|e| panic!("{}\n{source}", e.what))
}
