//! The costs as text.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cost, of};
use crate::dim::Dim;
use crate::loops::Program;
use crate::ty::{Line, Name};

/// A polynomial as users read it.
pub(super) fn show(p: &Program, d: &Dim) -> String {
    d.show_to_user(&|a| p.arrays[a as usize].name.to_string())
}

/// `lines 3, 4, line 9 of `f`: `, those of the program's own kernel first.
fn lines(all: &BTreeSet<Line>) -> String {
    let mut by_kernel: BTreeMap<Option<&Name>, Vec<String>> = BTreeMap::new();
    for (other, line) in all {
        by_kernel.entry(other.as_ref()).or_default().push(line.to_string());
    }
    let places = by_kernel.iter().map(|(other, lines)| {
        let of = other.map_or(String::new(), |name| format!(" of `{name}`"));
        format!("line{} {}{of}", if lines.len() == 1 { "" } else { "s" }, lines.join(", "))
    });
    let places: Vec<String> = places.collect();
    if places.is_empty() { String::new() } else { format!("{}: ", places.join(", ")) }
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
        let place = lines(&i.lines);
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
