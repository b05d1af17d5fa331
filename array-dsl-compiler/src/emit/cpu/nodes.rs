//! The nodes of a tree inside a region.

use super::angles::LEAVE_IF_LONG;
use super::region::{Region, can_fail};
use super::{Cpu, expr, fold};
use crate::bulk::{ArrayId, Atom, Axis, Reducer, Var};
use crate::dim::Dim;
use crate::loops::together::folded_trips;
use crate::loops::{FEW_TRIPS, Fold, Form, Home, Loop, Middle, Node, Plan, Recurrence, Rounds, Sides};

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
                    let from = l.range.from.map_or("0i64".into(), |a| format!("{}.max(0i64)", r.atom(a)));
                    let to = l.range.to.map_or(trips.clone(), |a| format!("{}.min({trips})", r.atom(a)));
                    let text = self.range_loop(l, &from, &to, r);
                    out.push_str(&text);
                    for f in &l.folds {
                        out.push_str(&format!("let v{} = {};\n", f.result.0, fold::result_value(f)));
                        r.bound(f.result);
                    }
                }
                Node::Recurrence(q) => {
                    let text = self.recurrence(q, r);
                    out.push_str(&text);
                }
                Node::Store { array, index, value } if r.owned.contains(&self.root(*array)) => {
                    let update = self.own_update(*array, None, (index, false), *value, r);
                    out.push_str(&r.only_in_points(update));
                }
                Node::Store { array, index, value } => {
                    let value = r.atom(*value);
                    let name = self.name(*array);
                    let target = match self.p.arrays[array.0 as usize].home {
                        Home::Row { .. } => {
                            r.rows.insert(*array);
                            format!("&mut {name}[..]")
                        }
                        Home::Scratch => format!("&mut {name}[..]"),
                        _ => format!("&mut *{name}"),
                    };
                    let (target, at) = self.located(&target, "tail_mut", (*array, index), r);
                    let set = if self.unset.contains(array) { "init" } else { "set" };
                    let text = format!("unsafe {{ __rt::trusted::{set}({target}, {at}, {value}) }};\n");
                    out.push_str(&r.only_in_points(text));
                }
                Node::Accumulate { array, reducer, index, value } => {
                    let update = update_of(*array, r)(self, *array, Some(*reducer), (index, true), *value, r);
                    out.push_str(&r.only_in_points(update));
                }
                Node::Write { array, index, value, checked } => {
                    let update = update_of(*array, r)(self, *array, None, (index, *checked), *value, r);
                    out.push_str(&r.only_in_points(update));
                }
            }
        }
        out
    }

    /// A loop of one point, whose states are variables.
    fn recurrence(&mut self, q: &Recurrence, r: &mut Region) -> String {
        let mut out = String::new();
        for s in &q.states {
            let start = r.atom(s.start);
            out.push_str(&format!("let mut state{}: {} = {start};\n", s.state.0, self.atom_elem(s.start)));
            r.bound(s.state);
        }
        let (begin, number, end) = match &q.rounds {
            Rounds::For(a, until) => {
                r.bound(a.var);
                let (v, n) = (a.var.0, self.dim_in(&a.extent, r));
                let n = until.map_or(n.clone(), |u| format!("{n}.min({})", r.atom(u)));
                let begin =
                    format!("let trips{v}: i64 = {n};\nlet mut trip{v}: i64 = 0;\nwhile trip{v} < trips{v}");
                (begin, format!("let v{v} = trip{v};\n"), format!("trip{v} += 1;\n"))
            }
            Rounds::While(on) => (format!("while state{}", on.0), String::new(), String::new()),
        };
        out.push_str(&format!("{begin} {{\n{number}"));
        for s in &q.states {
            out.push_str(&format!("let v{0} = state{0};\n", s.state.0));
        }
        let body = self.nodes(&q.body, r);
        out.push_str(&body);
        for s in &q.states {
            out.push_str(&format!("state{} = {};\n", s.state.0, r.atom(s.next)));
        }
        let data_end = matches!(q.rounds, Rounds::While(_));
        let long = if data_end && r.angles { LEAVE_IF_LONG } else { "" };
        out.push_str(&format!("{end}{long}{}}}\n", leave_if_failed(&body)));
        for s in &q.states {
            r.bound(s.result);
            out.push_str(&format!("let v{} = state{};\n", s.result.0, s.state.0));
        }
        out
    }

    /// Whether an index is inside. Axes that are one are one index of as many dimensions.
    fn inside(&mut self, a: ArrayId, index: &[Atom], r: &mut Region) -> String {
        let dims = self.memory_dims(a).to_vec();
        let mut tests = Vec::new();
        let mut k = 0;
        while k < index.len() {
            let merged = r.group(index[k]);
            let size = self.dim_in(&Dim::product(&dims[k..k + merged]), r);
            tests.push(format!("({0} >= 0 && {0} < {size})", r.atom(index[k])));
            k += merged;
        }
        if tests.is_empty() { CERTAINLY.into() } else { tests.join(" && ") }
    }

    /// An element that no other point has anything to do with: only this task has it.
    fn own_update(
        &mut self,
        a: ArrayId,
        q: Option<Reducer>,
        (index, checked): (&[Atom], bool),
        value: Atom,
        r: &mut Region,
    ) -> String {
        let test = if checked { self.inside(a, index, r) } else { CERTAINLY.into() };
        let (at, value, name) = (self.linear(a, index, r), r.atom(value), self.name(a));
        r.rereads |= q.is_some();
        let new = q.map_or(value.clone(), |q| {
            expr::combine(q, self.elem(a), &format!("unsafe {{ {name}.get({at}) }}"), &value)
        });
        format!("if {test} {{ let new = {new}; unsafe {{ {name}.set({at}, new) }}; }}\n")
    }

    /// An element in scratch memory. Where the point is, it is inside.
    fn scratch_update(
        &mut self,
        a: ArrayId,
        q: Option<Reducer>,
        (index, checked): (&[Atom], bool),
        value: Atom,
        r: &mut Region,
    ) -> String {
        let points = r.scratch.get(&a).cloned().unwrap_or_default();
        let dims = self.memory_dims(a).to_vec();
        let mut tests = Vec::new();
        let may_be_outside = |(k, _): &(usize, _)| checked && !points.contains(k);
        for (_, (i, d)) in index.iter().zip(&dims).enumerate().filter(may_be_outside) {
            let size = self.dim_in(d, r);
            tests.push(format!("({0} >= 0 && {0} < {size})", r.atom(*i)));
        }
        let test = if tests.is_empty() { CERTAINLY.into() } else { tests.join(" && ") };
        let (at, value, name) = (self.linear(a, index, r), r.atom(value), self.name(a));
        let old = format!("unsafe {{ __rt::trusted::get(&{name}[..], {at}) }}");
        let new = q.map_or(value.clone(), |q| expr::combine(q, self.elem(a), &old, &value));
        format!(
            "if {test} {{ let new = {new}; unsafe {{ __rt::trusted::set(&mut {name}[..], {at}, new) }}; }}\n"
        )
    }

    fn target_update(
        &mut self,
        a: ArrayId,
        q: Option<Reducer>,
        (index, checked): (&[Atom], bool),
        value: Atom,
        r: &mut Region,
    ) -> String {
        let at = self.linear(a, index, r);
        let test = if checked { self.inside(a, index, r) } else { CERTAINLY.into() };
        let value = r.atom(value);
        if r.shared {
            let target = &r.targets[&self.root(a)];
            return format!("if {test} {{ unsafe {{ {target}.set({at}, {value}) }}; }}\n");
        }
        self.combine_at(a, q, (&test, &at), &value, r)
    }

    /// Whether an index is inside, and where it is then.
    pub(super) fn place(&mut self, a: ArrayId, index: &[Atom], r: &mut Region) -> (String, String) {
        (self.inside(a, index, r), self.linear(a, index, r))
    }

    /// A value that goes to a place of an array that the code changes in place, if it is inside.
    pub(super) fn combine_at(
        &self,
        a: ArrayId,
        q: Option<Reducer>,
        (test, at): (&str, &str),
        value: &str,
        r: &Region,
    ) -> String {
        let target = &r.targets[&self.root(a)];
        let new = match q {
            Some(q) => expr::combine(q, self.elem(a), "old", value),
            None => value.into(),
        };
        format!(
            "if {test} {{ let at = {at}; let old = unsafe {{ __rt::trusted::get(&*{target}, at) }}; let _ = old; let new = {new}; unsafe {{ __rt::trusted::set(&mut *{target}, at, new) }}; }}\n"
        )
    }

    /// `for axis in from..to`, with folds; leaves the states of the folds in scope.
    pub(super) fn range_loop(&mut self, l: &Loop, from: &str, to: &str, r: &mut Region) -> String {
        r.bound(l.axis.var);
        match &l.plan.form {
            Form::Tiles => self.tiles(&l.axis, &l.body, from, to, r),
            Form::Across(a) => self.across(l, a, from, to, r),
            Form::Together(width) | Form::Blocks(width) => {
                let initial: String = l.folds.iter().map(|f| fold::initial(self, f)).collect();
                initial + &self.together(l, *width, from, to, r)
            }
            Form::Few(width, otherwise) => {
                let trips: Vec<String> =
                    folded_trips(&l.body).map(|d| format!("{} < {FEW_TRIPS}", self.dim_in(d, r))).collect();
                let together = self.together(l, *width, from, to, r);
                let mut l = l.clone();
                l.plan.form = (**otherwise).clone();
                let otherwise = self.range_loop(&l, from, to, r);
                format!("if {} {{\n{together}}} else {{\n{otherwise}}}\n", trips.join(" && "))
            }
            Form::Lanes(middle) => self.lanes(l, middle.as_ref(), from, to, r),
            Form::Sided(sides) => self.sided(l, sides, from, to, r),
            Form::Plain => {
                let body = self.trip(l, &l.body, r);
                self.counted(l, from, to, &body, r)
            }
            Form::Peeled(m @ Middle { together: Some(width), .. }) => {
                // The folds take the values in the order of the trips, together or not.
                let v = l.axis.var.0;
                let initial: String = l.folds.iter().map(|f| fold::initial(self, f)).collect();
                let body = self.trip(l, &l.body, r);
                let body = counted(l.axis.var, "from", "to", &body);
                let ends = self.ends(&l.axis, from, to, m.margin, r);
                let middle = Loop { body: m.body.clone(), ..in_the_middle(l, m) };
                let middle = self.together(&middle, *width, "from", "to", r);
                format!(
                    "{initial}{ends}let mut part = 0;\nwhile part < 3 {{\n\
                     let (from, to): (i64, i64) = [(from{v}, first{v}), (first{v}, last{v}), (last{v}, to{v})][part];\n\
                     if part == 1 {{\n{middle}}} else {{\n{body}}}\npart += 1;\n}}\n"
                )
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

    /// A loop for the trips on each side of the borders.
    fn sided(&mut self, l: &Loop, s: &Sides, from: &str, to: &str, r: &mut Region) -> String {
        let v = l.axis.var.0;
        let mut out = format!("let (from{v}, to{v}): (i64, i64) = ({from}, {to});\n");
        let mut begin = format!("from{v}");
        for (k, part) in s.parts.iter().enumerate() {
            let end = match s.borders.get(k) {
                Some(b) => {
                    let axis = b.axis.map(|a| r.atom(Atom::Var(a)));
                    let offset = self.dim_in(&b.offset, r);
                    let place = axis.map_or(offset.clone(), |a| format!("{a}.saturating_add({offset})"));
                    let end = format!("side{v}_{k}");
                    out.push_str(&format!("let {end}: i64 = ({place}).max({begin}).min(to{v});\n"));
                    end
                }
                None => format!("to{v}"),
            };
            let body = self.nodes(part, r);
            out.push_str(&counted(l.axis.var, &begin, &end, &body));
            begin = end;
        }
        out
    }

    /// One trip: its code, and the folds of its values.
    fn trip(&mut self, l: &Loop, body: &[Node], r: &mut Region) -> String {
        let mut out = self.nodes(body, r);
        for f in &l.folds {
            out.push_str(&fold::step(self, f, l.axis.var, r));
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
                Node::Let(l) => fixed += l.exp.weight(),
                Node::Scan(s) => fixed += 4 + s.step.block.weight(),
                Node::Loop(l) => {
                    let (trips, each) = (self.dim(&l.extent()), self.work(&l.body));
                    terms.push_str(&format!(".saturating_add({trips}.max(0).saturating_mul({each}))"));
                }
                Node::Recurrence(r) => {
                    let trips = match &r.rounds {
                        Rounds::For(a, _) => self.dim(&a.extent),
                        Rounds::While(_) => format!("{SOME}i64"),
                    };
                    let each = self.work(&r.body);
                    terms.push_str(&format!(".saturating_add({trips}.max(0).saturating_mul({each}))"));
                }
                Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => fixed += 1,
            }
        }
        format!("{fixed}i64{terms}")
    }
}

/// Changes an element: of which array, how, where and whether that is compared, and by what.
type Update<'a> = fn(&mut Cpu<'a>, ArrayId, Option<Reducer>, (&[Atom], bool), Atom, &mut Region) -> String;

/// Where an index is inside.
const CERTAINLY: &str = "true";

/// How an element of an array is changed.
fn update_of<'a>(array: ArrayId, r: &Region) -> Update<'a> {
    match (r.owned.contains(&array), r.scratch.contains_key(&array)) {
        (true, _) => Cpu::own_update,
        (_, true) => Cpu::scratch_update,
        (false, false) => Cpu::target_update,
    }
}

/// The loop with what it folds in its middle.
pub(super) fn in_the_middle(l: &Loop, m: &Middle) -> Loop {
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

/// What is taken for the number of trips that only data tell.
const SOME: i64 = 32;
