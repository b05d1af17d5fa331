//! The nodes of a tree inside a region.

use super::peel::{self, Middle};
use super::region::{Region, can_fail};
use super::{Cpu, expr, fold};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Reducer, Var};
use crate::loops::{Fold, Home, Loop, Node};

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
                Node::Loop(l) => {
                    let extent = self.dim_in(&l.axis.extent, r);
                    let text = self.range_loop(l, "0i64", &extent, r);
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
        if l.folds.is_empty() && self.strips_pay(&l.axis, &l.body, r) {
            return self.strips(&l.axis, &l.body, from, to, r);
        }
        if fold::in_lanes(l) {
            return self.lanes(l, from, to, r);
        }
        let v = l.axis.var.0;
        let middle = peel::middle(self, &l.axis, &l.body);
        if l.body.iter().any(|n| matches!(n, Node::Loop(_))) {
            return self.outer_loop(l, middle, from, to, r);
        }
        if let (Some(m), true) = (middle, l.folds.is_empty()) {
            let (body, inside) = (self.nodes(&l.body, r), self.nodes(&m.body, r));
            if m.margin == 0 {
                return counted(l.axis.var, from, to, &inside);
            }
            let ends = self.ends(&l.axis, from, to, m.margin, r);
            let middle = counted(l.axis.var, &format!("first{v}"), &format!("last{v}"), &inside);
            return format!(
                "{ends}{middle}\
                 for (from, to) in [(from{v}, first{v}), (last{v}, to{v})] {{\nlet mut v{v}: i64 = from;\nwhile v{v} < to {{\n{body}v{v} += 1;\n}}\n}}\n"
            );
        }
        let body = self.trip(l, &l.body, &|a| a, r);
        self.counted(l, from, to, &body, r)
    }

    /// A loop with loops inside. The trips stay in order, since its folds may need that, and choosing between the middle
    /// and the rest at each trip costs nothing next to the loops inside. In the rest only innermost loops have middles: the
    /// code grows with the number of loops and not exponentially.
    fn outer_loop(
        &mut self,
        l: &Loop,
        middle: Option<Middle>,
        from: &str,
        to: &str,
        r: &mut Region,
    ) -> String {
        let v = l.axis.var.0;
        let Some(m) = middle.filter(|_| !r.at_ends) else {
            let body = self.trip(l, &l.body, &|a| a, r);
            return self.counted(l, from, to, &body, r);
        };
        r.at_ends = true;
        let rest = self.trip(l, &l.body, &|a| a, r);
        r.at_ends = false;
        let inside = self.trip(l, &m.body, &|a| m.atom(a), r);
        let n = self.dim_in(&l.axis.extent, r);
        let body = match m.margin {
            0 => inside,
            k => format!("if v{v} >= {k}i64 && v{v} < {n} - {k}i64 {{\n{inside}}} else {{\n{rest}}}\n"),
        };
        self.counted(l, from, to, &body, r)
    }

    /// One trip: its code, and the folds of its values.
    fn trip(&mut self, l: &Loop, body: &[Node], named: &dyn Fn(Atom) -> Atom, r: &mut Region) -> String {
        let mut out = self.nodes(body, r);
        for f in &l.folds {
            let f = Fold { value: named(f.value), ..f.clone() };
            out.push_str(&fold::step(self, &f, l, r));
        }
        out
    }

    /// A plain loop around the code of a trip.
    fn counted(&mut self, l: &Loop, from: &str, to: &str, body: &str, r: &mut Region) -> String {
        let initial: String = l.folds.iter().map(|f| fold::initial(self, f)).collect();
        let states = self.scan_states(&l.body, r);
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

    /// An estimate of the scalar operations of one execution of nodes, as an `i64` expression.
    pub(super) fn work(&self, nodes: &[Node]) -> String {
        let mut fixed = 1;
        let mut terms = String::new();
        for n in nodes {
            match n {
                Node::Let(l) => fixed += weight(&l.exp),
                Node::Loop(l) => {
                    terms.push_str(&format!(
                        " + {}.max(0) * ({})",
                        self.dim(&l.axis.extent),
                        self.work(&l.body)
                    ));
                }
                _ => fixed += 1,
            }
        }
        format!("{fixed}i64{terms}")
    }
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
        Exp::If(_, x, y) => {
            1 + [x, y].iter().flat_map(|b| &b.block.lets).map(|l| weight(&l.exp)).sum::<usize>()
        }
        Exp::Scan(s) => 4 + s.step.block.lets.iter().map(|l| weight(&l.exp)).sum::<usize>(),
        _ => 1,
    }
}
