//! The costs as text.

use super::{Cost, of};
use crate::dim::Dim;
use crate::loops::Program;

/// A polynomial as users read it.
pub(super) fn show(p: &Program, d: &Dim) -> String {
    d.show_to_user(&|a| p.arrays[a as usize].name.to_string())
}

/// The costs as text.
pub fn print(p: &Program) -> String {
    let costs = of(p);
    let text = |c: &Cost| {
        let mut done = Vec::new();
        if c.operations != Dim::default() {
            done.push(format!("{} operations", show(p, &c.operations)));
        }
        done.extend(c.functions.iter().map(|(name, times)| format!("{} {name}", show(p, times))));
        let mut moved = Vec::new();
        for (verb, bytes) in [("reads", &c.read), ("writes", &c.written)] {
            if *bytes != Dim::default() {
                moved.push(format!("{verb} {} bytes", show(p, bytes)));
            }
        }
        let parts = [done.join(", "), moved.join(", ")];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    };
    let mut out = String::new();
    for i in &costs.items {
        let lines: Vec<String> = i.lines.iter().map(u32::to_string).collect();
        let place = match lines.len() {
            0 => String::new(),
            1 => format!("line {}: ", lines[0]),
            _ => format!("lines {}: ", lines.join(", ")),
        };
        let what = std::iter::once(&i.what).chain(&i.remarks).cloned().collect::<Vec<_>>().join(", ");
        let cost = i.cost.as_ref().map_or(String::new(), |c| format!(": {}", text(c)));
        out.push_str(&format!("{:indent$}{place}{what}{cost}\n", "", indent = 2 * i.depth));
    }
    let total = text(&costs.total);
    if costs.items.len() > 1 && !total.is_empty() {
        out.push_str(&format!("in all: {total}\n"));
    }
    if costs.memory != Dim::default() {
        out.push_str(&format!("memory besides arguments and results: {} bytes\n", show(p, &costs.memory)));
    }
    out
}
