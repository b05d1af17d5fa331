//! Loops of steps.
//!
//! ```text
//! let mut state = start;   while i < n { steps; let next = ..; state = next; i += 1 }
//! ```
//!
//! A trip that fails is the last, since every tree that may fail ends with a look at the status (`tree`).
//! Arrays made by the steps are dropped at the end of each trip. Taking over memory is a move of the vector.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::super::back_end::steps;
use super::{Cpu, tree};
use crate::bulk::{ArrayId, Trips};
use crate::loops::{Home, Repeat, Step};

/// The arrays whose memory the steps make.
pub(super) fn bound(steps: &[Step], out: &mut BTreeSet<ArrayId>) {
    for s in steps {
        match s {
            Step::Tree(t) => tree::stored(&t.body, out),
            Step::Contract(c) => drop(out.insert(c.result)),
            Step::Sort(s) => drop(out.insert(s.result)),
            Step::Call(c) => out.extend(&c.results),
            Step::Fill { array, .. } | Step::Copy { array, .. } | Step::Move { array, .. } => {
                out.insert(*array);
            }
            Step::Bands(b) => {
                out.extend(b.made.iter().chain(&b.sums).map(|h| h.outside));
                out.extend([b.first, b.rows]);
                out.extend(b.read.iter().chain(&b.made).map(|h| h.inside));
                bound(&b.steps, out);
            }
            Step::Repeat(r) => {
                out.extend(r.carried.iter().map(|c| c.arrays.state));
                if let Trips::For(index, _) = &r.trips {
                    out.insert(*index);
                }
                bound(&r.steps, out);
            }
            Step::Check(..) => {}
        }
    }
}

impl Cpu<'_> {
    /// An array that takes over the memory of another.
    pub(super) fn moved(&mut self, array: ArrayId, source: ArrayId) -> String {
        self.allocated.insert(array);
        let value = self.taken(source, true);
        format!("let mut {} = {value};\n", self.name(array))
    }

    /// The elements of an array as a value: itself, or a copy.
    fn taken(&self, a: ArrayId, takes: bool) -> String {
        let (name, root) = (self.name(a), self.root(a));
        if self.rank(a) == 0 {
            return name;
        }
        if takes && self.p.arrays[root.0 as usize].home == Home::Heap {
            return format!("::core::mem::take(&mut {name})");
        }
        if root == a {
            return format!("{}.copied(&{name}[..])?", self.owner(a));
        }
        let dims: Vec<String> = self.p.arrays[a.0 as usize].dims.iter().map(|d| self.dim(d)).collect();
        format!("{}.copied_view(&{name}[..], &[{}])?", self.owner(a), dims.join(", "))
    }

    /// A loop.
    pub(super) fn trips_of(&mut self, r: &Repeat, label: &str) -> Result<String, Infallible> {
        let mut out = String::new();
        for c in &r.carried {
            let (state, start) = (c.arrays.state, self.taken(c.arrays.start, c.takes.0));
            self.allocated.insert(state);
            out.push_str(&format!("let mut {} = {start};\n", self.name(state)));
        }
        let (head, last) = match &r.trips {
            Trips::For(index, count) => {
                let (i, count) = (self.name(*index), self.dim(count));
                self.allocated.insert(*index);
                (
                    format!("let trips: i64 = {count};\nlet mut {i}: i64 = 0;\nwhile {i} < trips {{\n"),
                    format!("{i} += 1;\n"),
                )
            }
            Trips::While(state) => (format!("while {} {{\n", self.name(*state)), String::new()),
        };
        let steps = steps(self, &r.steps, label)?.concat();
        // All states change at once.
        let mut nexts = String::new();
        let mut assigned = String::new();
        for (k, c) in r.carried.iter().enumerate() {
            let next = self.taken(c.arrays.next, c.takes.1);
            nexts.push_str(&format!("let next{k} = {next};\n"));
            assigned.push_str(&format!("{} = next{k};\n", self.name(c.arrays.state)));
        }
        Ok(format!("{out}{{\n{head}{steps}{nexts}{assigned}{last}}}\n}}\n"))
    }
}
