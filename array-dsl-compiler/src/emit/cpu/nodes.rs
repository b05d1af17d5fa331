//! The nodes of a tree inside a region.

use super::region::{Region, can_fail};
use super::{Cpu, expr, fold};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Reducer, Var};
use crate::loops::{Fold, Form, Home, Loop, Middle, Node, Plan};

impl Cpu<'_> {
    /// Nodes in order.
    pub(super) fn nodes(&mut self, nodes: &[Node], r: &mut Region) -> String {
        let mut out = String::new();
        for n in nodes {
            match n {
                Node::Let(l) => {
                    let text = self.binding(l, r);
                    out.push_str(&text);
                }
                Node::Scan(s) => {
                    let text = self.scan(s, r);
                    out.push_str(&text);
                }
                Node::Loop(l) => {
                    let trips = self.trips_in(l.axes(), r);
                    let text = self.range_loop(l, "0i64", &trips, r);
                    out.push_str(&text);
                    for f in &l.folds {
                        out.push_str(&format!("let v{} = {};\n", f.result.0, fold::result_value(f)));
                        r.bound(f.result);
                    }
                }
                Node::Store { array, index, value } => {
                    let at = self.linear(*array, index, r);
                    let value = r.atom(*value);
                    let name = self.name(*array);
                    let target = match self.p.arrays[array.0 as usize].home {
                        Home::Row { .. } => {
                            r.rows.insert(*array);
                            format!("&mut {name}[..]")
                        }
                        _ => format!("&mut *{name}"),
                    };
                    let set = if self.unset.contains(array) { "init" } else { "set" };
                    out.push_str(&format!("unsafe {{ __rt::trusted::{set}({target}, {at}, {value}) }};\n"));
                }
                Node::Accumulate { array, reducer, index, value } => {
                    out.push_str(&self.target_update(*array, Some(*reducer), index, *value, r));
                }
                Node::Write { array, index, value } => {
                    out.push_str(&self.target_update(*array, None, index, *value, r));
                }
            }
        }
        out
    }

    fn target_update(
        &mut self,
        a: ArrayId,
        q: Option<Reducer>,
        index: &[Atom],
        value: Atom,
        r: &mut Region,
    ) -> String {
        let dims: Vec<String> = self.memory_dims(a).to_vec().iter().map(|d| self.dim_in(d, r)).collect();
        let tests: Vec<String> =
            index.iter().zip(dims).map(|(i, d)| format!("({0} >= 0 && {0} < {d})", r.atom(*i))).collect();
        let at = self.linear(a, index, r);
        let value = r.atom(value);
        if r.shared {
            return format!("if {} {{ unsafe {{ target.set({at}, {value}) }}; }}\n", tests.join(" && "));
        }
        let new = match q {
            Some(q) => expr::combine(q, self.elem(a), "old", &value),
            None => value,
        };
        format!(
            "if {} {{ let at = {at}; let old = unsafe {{ __rt::trusted::get(&*target, at) }}; let _ = old; let new = {new}; unsafe {{ __rt::trusted::set(&mut *target, at, new) }}; }}\n",
            if tests.is_empty() { "true".into() } else { tests.join(" && ") }
        )
    }

    /// `for axis in from..to`, with folds; leaves the states of the folds in scope.
    pub(super) fn range_loop(&mut self, l: &Loop, from: &str, to: &str, r: &mut Region) -> String {
        r.bound(l.axis.var);
        match &l.plan.form {
            Form::Tiles => self.tiles(&l.axis, &l.body, from, to, r),
            Form::Lanes(middle) => self.lanes(l, middle.as_ref(), from, to, r),
            Form::Plain => {
                let body = self.trip(l, &l.body, r);
                self.counted(l, from, to, &body, r)
            }
            Form::Peeled(m) if l.body.iter().any(|n| matches!(n, Node::Loop(_))) => {
                // The trips stay in order, since folds may need that, and the choice costs nothing next to the loops inside.
                let (v, k) = (l.axis.var.0, m.margin);
                let rest = self.trip(l, &l.body, r);
                let inside = self.trip(&in_the_middle(l, m), &m.body, r);
                let n = self.dim_in(&l.axis.extent, r);
                let body =
                    format!("if v{v} >= {k}i64 && v{v} < {n} - {k}i64 {{\n{inside}}} else {{\n{rest}}}\n");
                self.counted(l, from, to, &body, r)
            }
            Form::Peeled(m) => {
                let v = l.axis.var.0;
                let (body, inside) = (self.nodes(&l.body, r), self.nodes(&m.body, r));
                let ends = self.ends(&l.axis, from, to, m.margin, r);
                let middle = counted(l.axis.var, &format!("first{v}"), &format!("last{v}"), &inside);
                format!(
                    "{ends}{middle}\
                     for (from, to) in [(from{v}, first{v}), (last{v}, to{v})] {{\nlet mut v{v}: i64 = from;\nwhile v{v} < to {{\n{body}v{v} += 1;\n}}\n}}\n"
                )
            }
        }
    }

    /// One trip: its code, and the folds of its values.
    fn trip(&mut self, l: &Loop, body: &[Node], r: &mut Region) -> String {
        let mut out = self.nodes(body, r);
        for f in &l.folds {
            out.push_str(&fold::step(self, f, l, r));
        }
        out
    }

    /// A plain loop around the code of a trip.
    fn counted(&mut self, l: &Loop, from: &str, to: &str, body: &str, r: &mut Region) -> String {
        let initial: String = l.folds.iter().map(|f| fold::initial(self, f)).collect();
        let states = self.scan_states(l, r);
        format!("{initial}{states}{}", counted(l.axis.var, from, to, body))
    }

    /// Declares the trips of a loop, and of its middle, without `margin` at either end of the axis: `from`, `first`, `last`,
    /// `to` with the number of the axis.
    pub(super) fn ends(&mut self, axis: &Axis, from: &str, to: &str, margin: i64, r: &mut Region) -> String {
        let (v, n) = (axis.var.0, self.dim_in(&axis.extent, r));
        format!(
            "let (from{v}, to{v}): (i64, i64) = ({from}, {to});\n\
             let first{v} = from{v}.max({margin}i64).min(to{v});\nlet last{v} = to{v}.min({n} - {margin}i64).max(first{v});\n"
        )
    }

    /// An estimate of the scalar operations of one execution of nodes, as an `i64` expression, which saturates.
    pub(super) fn work(&self, nodes: &[Node]) -> String {
        let mut fixed = 1;
        let mut terms = String::new();
        for n in nodes {
            match n {
                Node::Let(l) => fixed += weight(&l.exp),
                Node::Scan(s) => fixed += 4 + weights(&s.step.block.lets),
                Node::Loop(l) => {
                    let (trips, each) = (self.dim(&l.extent()), self.work(&l.body));
                    terms.push_str(&format!(".saturating_add({trips}.max(0).saturating_mul({each}))"));
                }
                _ => fixed += 1,
            }
        }
        format!("{fixed}i64{terms}")
    }
}

/// The loop with what it folds in its middle.
fn in_the_middle(l: &Loop, m: &Middle) -> Loop {
    let fold = |(f, value): (&Fold, &Atom)| Fold { value: *value, ..f.clone() };
    let folds = l.folds.iter().zip(&m.values).map(fold).collect();
    Loop { body: Vec::new(), folds, plan: Plan::default(), ..l.clone() }
}

/// A loop around the code of a trip. One that may fail looks at the status between blocks of trips, or, with loops inside,
/// after each trip, and ends soon after a failure; its blocks are as fast as the whole would be.
pub(super) fn counted(axis: Var, from: &str, to: &str, body: &str) -> String {
    let v = axis.0;
    let leave = leave_if_failed(body);
    if leave.is_empty() || body.contains("while ") {
        return format!("let mut v{v}: i64 = {from};\nwhile v{v} < {to} {{\n{body}v{v} += 1;\n{leave}}}\n");
    }
    format!(
        "let mut v{v}: i64 = {from};\nlet stop{v}: i64 = {to};\nwhile v{v} < stop{v} {{\n\
         let block{v}: i64 = if stop{v} - v{v} < {BLOCK} {{ stop{v} }} else {{ v{v} + {BLOCK} }};\n\
         while v{v} < block{v} {{\n{body}v{v} += 1;\n}}\n{leave}}}\n"
    )
}

/// At the end of a trip: leaves the loop if something has failed in it.
pub(super) fn leave_if_failed(body: &str) -> &'static str {
    if can_fail(body) { "if status.has_failed() { break; }\n" } else { "" }
}

/// Trips between two looks at the status.
const BLOCK: i64 = 4096;

/// The cost of an expression in simple operations.
fn weight(e: &Exp) -> usize {
    match e {
        Exp::Op(op, _) if op.is_cheap() => 1,
        Exp::Op(..) => 8,
        Exp::If(_, x, y) => 1 + weights(&x.block.lets) + weights(&y.block.lets),
        _ => 1,
    }
}

fn weights(lets: &[Let]) -> usize {
    lets.iter().map(|l| weight(&l.exp)).sum()
}
