//! Reductions.
//!
//! A float sum must be added in the order it is written, so a plain loop does not vectorize. An innermost reduction
//! by `+`, `*`, `min` or `max` is therefore done in [`LANES`] independent lanes, combined in a fixed tree. If the body
//! is heavy, values are first computed into a small block, a loop that vectorizes whatever it calls, and the block
//! is reduced. The order depends on the trip count only.

use super::Cpu;
use super::expr;
use super::tree::{Region, is_heavy};
use crate::bulk::Reducer;
use crate::loops::{Fold, Loop, Node};
use crate::ty::{Const, Elem};

/// Independent partial results of a reduction.
const LANES: usize = 32;
/// Values computed before they are reduced, for heavy bodies.
const BLOCK: usize = 256;

fn elem(c: &Cpu<'_>, f: &Fold) -> Elem {
    c.atom_elem(f.value)
}

/// Whether a loop's folds go to lanes.
pub(super) fn in_lanes(l: &Loop) -> bool {
    let plain = |n: &Node| matches!(n, Node::Let(_) | Node::Store { .. });
    !l.folds.is_empty()
        && l.body.iter().all(plain)
        && l.folds.iter().all(|f| matches!(f.reducer, Reducer::Add | Reducer::Mul | Reducer::Min | Reducer::Max))
}

/// The type of a fold's running state.
pub(super) fn state_type(c: &Cpu<'_>, f: &Fold) -> String {
    let e = elem(c, f);
    if f.reducer.op().is_some() { e.to_string() } else { format!("({e}, i64)") }
}

/// The state's variable.
pub(super) fn state_value(f: &Fold) -> String {
    format!("state{}", f.result.0)
}

/// The result of a state in scope.
pub(super) fn result_value(f: &Fold) -> String {
    if f.reducer.op().is_some() { state_value(f) } else { format!("{}.1", state_value(f)) }
}

/// A pattern that binds the result, matching a state.
pub(super) fn result_pattern(f: &Fold) -> String {
    if f.reducer.op().is_some() { format!("v{}", f.result.0) } else { format!("(_, v{})", f.result.0) }
}

/// The state of no values.
pub(super) fn empty_state(c: &Cpu<'_>, f: &Fold) -> String {
    let neutral = expr::constant(f.reducer.neutral(elem(c, f)));
    if f.reducer.op().is_some() { neutral } else { format!("({neutral}, 0i64)") }
}

/// Two states, `x.i` before `y.i`.
pub(super) fn combine_states(c: &Cpu<'_>, f: &Fold, i: usize) -> String {
    match f.reducer.op() {
        Some(_) => expr::combine(f.reducer, elem(c, f), &format!("x.{i}"), &format!("y.{i}")),
        None => {
            let less = if f.reducer == Reducer::ArgMin { "<" } else { ">" };
            format!("(if y.{i}.0 {less} x.{i}.0 {{ y.{i} }} else {{ x.{i} }})")
        }
    }
}

/// Declares the state.
pub(super) fn initial(c: &Cpu<'_>, f: &Fold) -> String {
    // The first index wins ties, and is the result where nothing is better than the neutral element.
    format!("let mut {}: {} = {};\n", state_value(f), state_type(c, f), empty_state(c, f))
}

/// Combines one value in.
pub(super) fn step(c: &mut Cpu<'_>, f: &Fold, l: &Loop, r: &mut Region) -> String {
    let (state, value) = (state_value(f), r.atom(f.value));
    match f.reducer.op() {
        Some(_) => format!("{state} = {};\n", expr::combine(f.reducer, elem(c, f), &state, &value)),
        None => {
            let less = if f.reducer == Reducer::ArgMin { "<" } else { ">" };
            format!("if {value} {less} {state}.0 {{ {state} = ({value}, v{}); }}\n", l.axis.var.0)
        }
    }
}

impl Cpu<'_> {
    pub(super) fn lanes(&mut self, l: &Loop, from: &str, to: &str, r: &mut Region) -> String {
        if is_heavy(&l.body) { self.blocked(l, from, to, r) } else { self.unrolled(l, from, to, r) }
    }

    fn lane_arrays(&self, l: &Loop) -> String {
        l.folds
            .iter()
            .map(|f| {
                let e = elem(self, f);
                format!("let mut lanes{} = [{}; {LANES}];\n", f.result.0, expr::constant(f.reducer.neutral(e)))
            })
            .collect()
    }

    /// The lanes of each fold as one state, combined as a tree.
    fn join_lanes(&self, l: &Loop) -> String {
        l.folds
            .iter()
            .map(|f| {
                let e = elem(self, f);
                let k = f.result.0;
                let c = expr::combine(f.reducer, e, &format!("lanes{k}[i]"), &format!("lanes{k}[i + width]"));
                format!(
                    "let mut width = {LANES}usize / 2;\nwhile width > 0 {{\nlet mut i = 0usize;\nwhile i < width {{ lanes{k}[i] = {c}; i += 1; }}\nwidth /= 2;\n}}\nlet {}: {e} = lanes{k}[0];\n",
                    state_value(f)
                )
            })
            .collect()
    }

    fn unrolled(&mut self, l: &Loop, from: &str, to: &str, r: &mut Region) -> String {
        let v = l.axis.var.0;
        let mut out = self.lane_arrays(l);
        let body = self.nodes(&l.body, r);
        let mut update = String::new();
        for f in &l.folds {
            let (lane, value) = (format!("lanes{}[lane]", f.result.0), r.atom(f.value));
            update.push_str(&format!("{lane} = {};\n", expr::combine(f.reducer, elem(self, f), &lane, &value)));
        }
        out.push_str(&format!(
            "let mut base: i64 = {from};\nlet end: i64 = {to};\n\
             while end - base >= {LANES} {{\nlet mut lane = 0usize;\nwhile lane < {LANES} {{\nlet v{v}: i64 = base + lane as i64;\n{body}{update}lane += 1;\n}}\nbase += {LANES};\n}}\n\
             let mut lane = 0usize;\nwhile base < end {{\nlet v{v}: i64 = base;\n{body}{update}lane += 1;\nbase += 1;\n}}\n"
        ));
        out + &self.join_lanes(l)
    }

    fn blocked(&mut self, l: &Loop, from: &str, to: &str, r: &mut Region) -> String {
        let v = l.axis.var.0;
        let mut out = self.lane_arrays(l);
        let body = self.nodes(&l.body, r);
        let (mut keep, mut reduce) = (String::new(), String::new());
        for f in &l.folds {
            let (k, e) = (f.result.0, elem(self, f));
            out.push_str(&format!("let mut block{k} = [{}; {BLOCK}];\n", expr::constant(Const::of(e, 0))));
            keep.push_str(&format!("block{k}[at] = {};\n", r.atom(f.value)));
            let lane = format!("lanes{k}[lane]");
            let c = expr::combine(f.reducer, e, &lane, &format!("block{k}[at + lane]"));
            reduce.push_str(&format!(
                "let mut at = 0usize;\nwhile at + {LANES} <= count {{\nlet mut lane = 0usize;\nwhile lane < {LANES} {{ {lane} = {c}; lane += 1; }}\nat += {LANES};\n}}\n\
                 let mut lane = 0usize;\nwhile at + lane < count {{ {lane} = {c}; lane += 1; }}\n"
            ));
        }
        out.push_str(&format!(
            "let mut base: i64 = {from};\nlet end: i64 = {to};\n\
             while base < end {{\nlet count = if end - base < {BLOCK} {{ (end - base) as usize }} else {{ {BLOCK} }};\n\
             let mut at = 0usize;\nwhile at < count {{\nlet v{v}: i64 = base + at as i64;\n{body}{keep}at += 1;\n}}\n{reduce}base += {BLOCK};\n}}\n"
        ));
        out + &self.join_lanes(l)
    }
}
