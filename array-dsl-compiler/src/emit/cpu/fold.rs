//! Reductions.
//!
//! In lanes they are done in [`LANES`] independent ones, combined in a fixed tree; the values that are left, and all of fewer than
//! that, are combined one after the other. The order depends on the trip count only.

use std::collections::BTreeSet;

use super::functions::after_checks;
use super::nodes::{in_the_middle, leave_if_failed};
use super::pieces::{set, unset};
use super::region::Region;
use super::{Cpu, expr};
use crate::bulk::{Reducer, Var};
use crate::loops::together::has_angles_on_a_side;
use crate::loops::uses::visit_atoms;
use crate::loops::{Fold, LANES, Loop, Middle, Node};
use crate::ty::Elem;

fn elem(c: &Cpu<'_>, f: &Fold) -> Elem {
    c.atom_elem(f.value)
}

/// The type of a fold's running state.
pub(super) fn state_type(c: &Cpu<'_>, f: &Fold) -> String {
    let e = elem(c, f);
    if f.reducer.is_extremum() { format!("({e}, i64)") } else { e.to_string() }
}

/// The state's variable.
pub(super) fn state_value(f: &Fold) -> String {
    format!("state{}", f.result.0)
}

/// The result of a state in scope.
pub(super) fn result_value(f: &Fold) -> String {
    if f.reducer.is_extremum() { format!("{}.1", state_value(f)) } else { state_value(f) }
}

/// A pattern that binds the result, matching a state.
pub(super) fn result_pattern(f: &Fold) -> String {
    if f.reducer.is_extremum() { format!("(_, v{})", f.result.0) } else { format!("v{}", f.result.0) }
}

/// The state of no values.
pub(super) fn empty_state(c: &Cpu<'_>, f: &Fold) -> String {
    let neutral = expr::constant(f.reducer.neutral(elem(c, f)));
    if f.reducer.is_extremum() { format!("({neutral}, 0i64)") } else { neutral }
}

/// Two states, `x.i` before `y.i`.
pub(super) fn combine_states(c: &Cpu<'_>, f: &Fold, i: usize) -> String {
    match f.reducer.op() {
        Some(_) => expr::combine(f.reducer, elem(c, f), &format!("x.{i}"), &format!("y.{i}")),
        None if f.reducer == Reducer::Last => format!("y.{i}"),
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
pub(super) fn step(c: &mut Cpu<'_>, f: &Fold, axis: Var, r: &mut Region) -> String {
    let (state, value) = (state_value(f), r.atom(f.value));
    match f.reducer.op() {
        Some(_) => format!("{state} = {};\n", expr::combine(f.reducer, elem(c, f), &state, &value)),
        None if f.reducer == Reducer::Last => format!("{state} = {value};\n"),
        None => {
            let less = if f.reducer == Reducer::ArgMin { "<" } else { ">" };
            format!("if {value} {less} {state}.0 {{ {state} = ({value}, v{}); }}\n", axis.0)
        }
    }
}

impl Cpu<'_> {
    /// `for axis in from..to` with folds in lanes; leaves their states in scope.
    pub(super) fn lanes(
        &mut self,
        l: &Loop,
        middle: Option<&Middle>,
        from: &str,
        to: &str,
        r: &mut Region,
    ) -> String {
        let v = l.axis.var.0;
        let whole = self.nodes(&l.body, r);
        let nodes = middle.map_or(&l.body, |m| &m.body);
        r.both_sides = nodes.iter().any(|n| matches!(n, Node::Let(l) if has_angles_on_a_side(l)));
        let body = if middle.is_some() || r.both_sides { self.nodes(nodes, r) } else { whole.clone() };
        r.both_sides = false;
        let divided = self.checked_in_lanes(l, middle, r);
        // Only whole sets of lanes are combined, at constant positions: the lanes then stay in registers. What is left, if it costs
        // something, is computed in vectors before it is combined.
        let is_costly = body_is_costly(&l.body);
        let [mut start, mut declared, mut update, mut keep, mut end_step, mut join] =
            [const { String::new() }; 6];
        for (i, f) in l.folds.iter().enumerate() {
            let (k, e, state) = (f.result.0, elem(self, f), state_value(f));
            let neutral = expr::constant(f.reducer.neutral(e));
            let end_value = r.atom(f.value);
            let value = middle.map_or(end_value.clone(), |m| r.atom(m.values[i]));
            let lane = format!("lanes{k}[lane]");
            append(&mut start, initial(self, f));
            append(&mut declared, format!("let mut lanes{k}: [{e}; {LANES}] = [{neutral}; {LANES}];\n"));
            if f.reducer.is_extremum() {
                let better = better(f, &value, &lane);
                append(&mut declared, format!("let mut at{k}: [i64; {LANES}] = [0i64; {LANES}];\n"));
                append(
                    &mut update,
                    format!(
                        "let better = {better};\nat{k}[lane] = if better {{ v{v} }} else {{ at{k}[lane] }};\n\
                         {lane} = if better {{ {value} }} else {{ {lane} }};\n"
                    ),
                );
            } else {
                append(&mut update, format!("{lane} = {};\n", accumulated(f, e, &lane, &value)));
            }
            append(&mut keep, next(f, e, &state, &value, &format!("v{v}")));
            append(&mut end_step, next(f, e, &state, &end_value, &format!("v{v}")));
            append(&mut join, joined(f, e));
        }
        // No more than the margins, which are less than the lanes.
        let (ends, from, to, at_ends) = match middle {
            Some(m) => (
                self.ends(&l.axis, from, to, m.margin, r),
                format!("first{v}"),
                format!("last{v}"),
                format!(
                    "for (from, to) in [(from{v}, first{v}), (last{v}, to{v})] {{\nlet mut v{v}: i64 = from;\n\
                     while v{v} < to {{\n{whole}{end_step}v{v} += 1;\n}}\n}}\n"
                ),
            ),
            None => (String::new(), from.to_string(), to.to_string(), String::new()),
        };
        let leave = leave_if_failed(&body);
        let left = if is_costly {
            let rest =
                middle.map_or_else(|| l.clone(), |m| Loop { body: m.body.clone(), ..in_the_middle(l, m) });
            format!("if base < end {{\n{}}}\n", self.together(&rest, LANES, "base", "end", r))
        } else {
            format!("while base < end {{\nlet v{v}: i64 = base;\n{body}{keep}base += 1;\n}}\n")
        };
        let (kept, checked, in_lane) = divided.unwrap_or((String::new(), String::new(), body));
        let in_lanes = match l.extent().as_constant() {
            Some(trips) if trips < LANES as i64 => String::new(),
            _ => format!(
                "if end - base >= {LANES} {{\n{declared}{kept}while end - base >= {LANES} {{\n{checked}let mut lane = 0usize;\n\
                 while lane < {LANES} {{\nlet v{v}: i64 = base + lane as i64;\n{in_lane}{update}lane += 1;\n}}\nbase += {LANES};\n{leave}}}\n{join}}}\n"
            ),
        };
        format!("{start}{ends}let mut base: i64 = {from};\nlet end: i64 = {to};\n{in_lanes}{left}{at_ends}")
    }

    /// The code of whole sets of lanes that makes vectors, where what may fail stands before it: the numbers that lanes keep, the loop in
    /// which these are made, and what comes after it in each lane. None where nothing may fail, or nothing takes long.
    fn checked_in_lanes(
        &mut self,
        l: &Loop,
        middle: Option<&Middle>,
        r: &mut Region,
    ) -> Option<(String, String, String)> {
        let nodes = middle.map_or(&l.body, |m| &m.body);
        let (code, rest) = after_checks(self.p, nodes)?;
        let mut needed: BTreeSet<Var> = BTreeSet::new();
        visit_atoms(&rest, &mut |a| needed.extend(a.var()));
        let values = l.folds.iter().map(|f| f.value);
        needed.extend(
            middle.map_or_else(|| values.collect(), |m| m.values.clone()).iter().filter_map(|a| a.var()),
        );
        let kept = code.iter().flat_map(Node::binds).filter(|v| needed.contains(v));
        let (mut declared, mut keep, mut again) = (String::new(), String::new(), String::new());
        for v in kept {
            let elem = self.p.vars[v.0 as usize];
            declared.push_str(&unset("kept", v, elem, LANES));
            keep.push_str(&set("kept", v, &format!("v{}", v.0)));
            again.push_str(&format!("let v{}: {elem} = unsafe {{ kept{}.get(lane as i64) }};\n", v.0, v.0));
        }
        let axis = l.axis.var.0;
        let code = self.nodes(&code, r);
        r.both_sides = true;
        let rest = self.nodes(&rest, r);
        r.both_sides = false;
        let first = format!(
            "let mut lane: i64 = 0;\nwhile lane < {LANES} {{\nlet v{axis}: i64 = base + lane;\n{code}{keep}lane += 1;\n}}\n"
        );
        Some((declared, first, again + &rest))
    }
}

/// Whether a value is better than the best one so far.
fn better(f: &Fold, value: &str, best: &str) -> String {
    let less = if f.reducer == Reducer::ArgMin { "<" } else { ">" };
    format!("({value} {less} {best})")
}

/// The state with the value of trip `at`. Of equal values that of the first trip is the best, whatever their order here.
fn next(f: &Fold, e: Elem, state: &str, value: &str, at: &str) -> String {
    if !f.reducer.is_extremum() {
        return format!("{state} = {};\n", accumulated(f, e, state, value));
    }
    let better = better(f, value, &format!("{state}.0"));
    format!("if {better} || ({value} == {state}.0 && {at} < {state}.1) {{ {state} = ({value}, {at}); }}\n")
}

/// The state that the lanes have together.
fn joined(f: &Fold, e: Elem) -> String {
    let (k, state) = (f.result.0, state_value(f));
    if !f.reducer.is_extremum() {
        let sum = accumulated(f, e, "x", "y");
        return format!("{state} = __rt::cpu::joined(lanes{k}, |x: {e}, y: {e}| {sum});\n");
    }
    let better = better(f, "y.0", "x.0");
    format!(
        "let both: [({e}, i64); {LANES}] = ::core::array::from_fn(|i| (lanes{k}[i], at{k}[i]));\n\
         {state} = __rt::cpu::joined(both, |x: ({e}, i64), y: ({e}, i64)| \
         if {better} || (y.0 == x.0 && y.1 < x.1) {{ y }} else {{ x }});\n"
    )
}

/// Whether a trip computes more than a few simple operations.
fn body_is_costly(body: &[Node]) -> bool {
    body.iter().any(|n| matches!(n, Node::Let(l) if l.exp.weight() > 4))
}

fn append(to: &mut String, text: String) {
    to.push_str(&text);
}

/// A state with a value combined in. States start at the neutral element, so the state of a float minimum or maximum is
/// never NaN, and a selection, one instruction, does what [`Reducer`]'s operation does in several.
pub(super) fn accumulated(f: &Fold, e: Elem, state: &str, value: &str) -> String {
    match f.reducer {
        Reducer::Min => format!("(if {value} < {state} {{ {value} }} else {{ {state} }})"),
        Reducer::Max => format!("(if {value} > {state} {{ {value} }} else {{ {state} }})"),
        q => expr::combine(q, e, state, value),
    }
}
