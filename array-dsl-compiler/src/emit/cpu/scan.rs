//! States that go from trip to trip of a loop.
//!
//! ```text
//! let mut s = start;
//! while v < to { let left = s; let right = value; ..; let y = new or left; s = new; v += 1 }
//! ```
//!
//! A loop at the host level with associative scans is divided among tasks: each chunk is first folded alone, then
//! executed with the fold of all chunks before it as its start. Chunks depend on the trip count only.

use super::nodes::counted;
use super::region::{Given, Region};
use super::{Cpu, expr, fold};
use crate::bulk::{Atom, Prefix, Scan};
use crate::loops::{Division, Loop, Node};

/// The variable of a scan's state.
fn state(s: &Scan, k: usize) -> String {
    format!("scan{}_{k}", s.vars[0].0)
}

impl Cpu<'_> {
    /// Declares the states of a loop's scans.
    pub(super) fn scan_states(&mut self, l: &Loop, r: &mut Region) -> String {
        let mut out = String::new();
        for s in l.scans() {
            for (k, a) in s.start.iter().enumerate() {
                let start = r.atom(*a);
                out.push_str(&format!("let mut {}: {} = {start};\n", state(s, k), self.atom_elem(*a)));
            }
        }
        out
    }

    /// One step.
    pub(super) fn scan(&mut self, s: &Scan, r: &mut Region) -> String {
        let mut out = String::new();
        for (k, v) in s.left.iter().enumerate() {
            r.bound(*v);
            out.push_str(&format!("let v{} = {};\n", v.0, state(s, k)));
        }
        for (v, a) in s.right.iter().zip(&s.values) {
            let value = r.atom(*a);
            r.bound(*v);
            out.push_str(&format!("let v{} = {value};\n", v.0));
        }
        for inner in &s.step.block.lets {
            out.push_str(&self.binding(inner, r));
        }
        for (k, v) in s.vars.iter().enumerate() {
            let given = match s.prefix {
                Prefix::Inclusive => s.step.results[k],
                Prefix::Exclusive => Atom::Var(s.left[k]),
            };
            let (new, given) = (r.atom(s.step.results[k]), r.atom(given));
            r.bound(*v);
            out.push_str(&format!("let v{} = {given};\n{} = {new};\n", v.0, state(s, k)));
        }
        out
    }

    /// A loop at the host level in which states go from trip to trip.
    pub(super) fn host_scan(&mut self, l: &Loop, host: &mut Region) -> String {
        l.folds.iter().for_each(|f| host.bound(f.result));
        let (extent, work) = (self.dim(&l.axis.extent), self.work(&l.body));
        let types: Vec<String> = l.folds.iter().map(|f| fold::state_type(self, f)).collect();
        let output = format!("({})", types.iter().map(|t| format!("{t}, ")).collect::<String>());
        let finish = l.folds.iter().map(|f| format!("{}, ", fold::state_value(f))).collect::<String>();
        let empty: String = l.folds.iter().map(|f| fold::empty_state(self, f) + ", ").collect();
        let names: String = l.folds.iter().map(|f| fold::result_pattern(f) + ", ").collect();
        let join: String =
            l.folds.iter().enumerate().map(|(i, f)| fold::combine_states(self, f, i) + ", ").collect();
        if l.plan.division != Division::Prefixes {
            let mut r = Region::default();
            self.declare_outputs(std::slice::from_ref(&l.axis), &l.body, &mut r);
            let run = self.range_loop(l, "lo", "hi", &mut r);
            let (value, empty) = (format!("({finish})"), format!("({empty})"));
            let given = Given { output: &output, value: &value, left_out: &empty, at: "(lo, 0)" };
            let call = self.region(&mut r, &run, &given);
            return format!(
                "let ({names}) = {{\n{}let (lo, hi) = (0usize, {extent}.max(0) as usize);\n\
                 if hi > 0 {{ {} }} else {{ {empty} }}\n}};\n{}",
                call.shared, call.invoke, call.after
            );
        }
        // The states of a chunk alone: nothing is stored or folded.
        let states: Vec<(String, String, String)> = l
            .scans()
            .flat_map(|s| s.start.iter().enumerate().map(move |(k, a)| (state(s, k), *a)))
            .map(|(name, a)| (name, self.atom_elem(a).to_string(), expr::atom(a)))
            .collect();
        let state_type = format!("({})", states.iter().map(|(_, t, _)| format!("{t}, ")).collect::<String>());
        let state_names: String = states.iter().map(|(n, ..)| format!("{n}, ")).collect();
        let starts: String = states.iter().map(|(_, _, a)| format!("{a}, ")).collect();
        let code = l.body.iter().filter(|n| matches!(n, Node::Let(_) | Node::Scan(_))).cloned().collect();
        let alone = Loop { body: code, folds: Vec::new(), ..l.clone() };
        let mut r = Region::default();
        let declared = self.scan_states(l, &mut r);
        let run = declared + &self.trips(&alone, &mut r);
        let (value, left_out) = (format!("({state_names})"), format!("({starts})"));
        let given = Given { output: &state_type, value: &value, left_out: &left_out, at: "(lo, 0)" };
        let alone = self.region(&mut r, &run, &given);
        // The chunk from the state before it.
        let mut r = Region::default();
        self.declare_outputs(std::slice::from_ref(&l.axis), &l.body, &mut r);
        for (k, (name, t, _)) in states.iter().enumerate() {
            r.extra.push((format!("mut_{name}"), t.clone(), format!("start.{k}")));
        }
        let declared: String = states.iter().map(|(n, ..)| format!("let mut {n} = mut_{n};\n")).collect();
        let folds: String = l.folds.iter().map(|f| fold::initial(self, f)).collect();
        let run = declared + &folds + &self.trips(l, &mut r);
        let (value, left_out) = (format!("({finish})"), format!("({empty})"));
        let given = Given { output: &output, value: &value, left_out: &left_out, at: "(lo, 0)" };
        let from_start = self.region(&mut r, &run, &given);
        let combine = self.combined_states(l, host);
        format!(
            "let ({names}) = {{\n{}__rt::cpu::scan_chunks({extent}.max(0) as usize, ({work}).max(1) as usize, ({starts}), \
             &|lo, hi| {{ {} }}, &|x: &{state_type}, y: &{state_type}| {{ {combine} }}, \
             &|lo, hi, start: &{state_type}| {{ {} }}, &|x: {output}, y: {output}| ({join}))\n}}.unwrap_or(({empty}));\n{}{}",
            from_start.shared, alone.invoke, from_start.invoke, alone.after, from_start.after
        )
    }

    /// `for axis in lo..hi`, with the states in scope.
    fn trips(&mut self, l: &Loop, r: &mut Region) -> String {
        r.bound(l.axis.var);
        let body = self.nodes(&l.body, r);
        let folds: String = l.folds.iter().map(|f| fold::step(self, f, l.axis.var, r)).collect();
        counted(l.axis.var, "lo", "hi", &format!("{body}{folds}"))
    }

    /// The states `x` of some trips with the states `y` of the next ones.
    fn combined_states(&mut self, l: &Loop, host: &mut Region) -> String {
        let mut out = String::new();
        let mut results = String::new();
        let mut at = 0;
        for s in l.scans() {
            for (k, (left, right)) in s.left.iter().zip(&s.right).enumerate() {
                host.bound(*left);
                host.bound(*right);
                out.push_str(&format!("let (v{}, v{}) = (x.{2}, y.{2});\n", left.0, right.0, at + k));
            }
            for inner in &s.step.block.lets {
                out.push_str(&self.binding(inner, host));
            }
            results.extend(s.step.results.iter().map(|a| expr::atom(*a) + ", "));
            at += s.left.len();
        }
        format!("{out}({results})")
    }
}
