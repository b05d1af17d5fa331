//! Loops that several points make together: states are arrays of lanes.
//!
//! ```text
//! for each block of points { for lane { before; state[lane] = start }
//!                            for trip { for lane { body; state[lane] = next } }
//!                            for lane { result = state[lane]; after } }
//! ```
//!
//! Of several loops what is between two of them is after one and before the other.

use std::collections::BTreeSet;

use super::addresses::Addresses;
use super::angles::LEAVE_IF_LONG;
use super::nodes::leave_if_failed;
use super::region::Region;
use super::{Cpu, expr};
use crate::bulk::{Atom, Var};
use crate::loops::uses::visit_atoms;
use crate::loops::{Loop, Node, Recurrence, Rounds};
use crate::ty::Const;

/// A loop over the lanes around their code.
fn lanes(code: &str) -> String {
    format!("let mut lane: i64 = 0;\nwhile lane < lanes {{\n{code}lane += 1;\n}}\n")
}

impl Cpu<'_> {
    /// The points of `l` from `from` to `to`, so many together.
    pub(super) fn together(
        &mut self,
        l: &Loop,
        width: usize,
        from: &str,
        to: &str,
        r: &mut Region,
    ) -> String {
        let mut out = format!(
            "let mut base: i64 = {from};\nlet end: i64 = {to};\nwhile base < end {{\n\
             let lanes: i64 = if end - base < {width} {{ end - base }} else {{ {width} }};\n"
        );
        let mut addresses = Addresses::default();
        let mut kept = kept(&l.body);
        l.body.iter().for_each(|n| addresses.learn(n, &self.p.vars));
        let again: BTreeSet<Var> = kept.iter().copied().filter(|v| addresses.contains(*v)).collect();
        kept.retain(|v| !again.contains(v));
        for v in &kept {
            out.push_str(&self.lane_array(&format!("kept{}", v.0), *v, width));
        }
        // What there is of a point so far.
        let mut around = format!("let v{} = base + lane;\n", l.axis.var.0);
        let mut rest = &l.body[..];
        while let Some(at) = rest.iter().position(|n| matches!(n, Node::Recurrence(_))) {
            let (before, after) = rest.split_at(at);
            let [Node::Recurrence(q), after @ ..] = after else { break };
            rest = after;
            let mut code = around.clone() + &self.nodes(before, r);
            let here: BTreeSet<Var> = before.iter().flat_map(Node::binds).collect();
            around.push_str(&self.nodes(&addresses.of(&here.intersection(&again).copied().collect()), r));
            for v in here.into_iter().filter(|v| kept.contains(v)) {
                code.push_str(&set("kept", v, &format!("v{}", v.0)));
                around.push_str(&format!("let v{} = {};\n", v.0, get("kept", v)));
            }
            for s in &q.states {
                out.push_str(&self.lane_array(&format!("state{}", s.state.0), s.state, width));
                let start = r.atom(s.start);
                code.push_str(&set("state", s.state, &start));
                r.bound(s.state);
            }
            if let Rounds::While(on) = &q.rounds {
                out.push_str("let mut any = false;\n");
                code.push_str(&format!("any |= {};\n", get("state", *on)));
            }
            out.push_str(&lanes(&code));
            out.push_str(&self.rounds(q, &around, r));
            for s in &q.states {
                r.bound(s.result);
                around.push_str(&format!("let v{} = {};\n", s.result.0, get("state", s.state)));
            }
        }
        let code = around + &self.nodes(rest, r);
        out.push_str(&lanes(&code));
        out + "base += lanes;\n}\n"
    }

    fn rounds(&mut self, q: &Recurrence, around: &str, r: &mut Region) -> String {
        let mut code = around.to_string();
        for s in &q.states {
            code.push_str(&format!("let v{} = {};\n", s.state.0, get("state", s.state)));
        }
        match &q.rounds {
            Rounds::For(axis, _) => {
                r.bound(axis.var);
                let (v, n) = (axis.var.0, self.dim_in(&axis.extent, r));
                let body = self.nodes(&q.body, r);
                code.push_str(&body);
                for s in &q.states {
                    code.push_str(&set("state", s.state, &r.atom(s.next)));
                }
                let (trip, leave) = (lanes(&code), leave_if_failed(&body));
                format!(
                    "let trips{v}: i64 = {n};\nlet mut trip{v}: i64 = 0;\nwhile trip{v} < trips{v} {{\n\
                     let v{v} = trip{v};\n{trip}trip{v} += 1;\n{leave}}}\n"
                )
            }
            Rounds::While(on) => {
                let body = self.nodes(&q.body, r);
                code.push_str(&body);
                for s in &q.states {
                    let (next, old) = (r.atom(s.next), format!("v{}", s.state.0));
                    let next = format!("(if v{} {{ {next} }} else {{ {old} }})", on.0);
                    code.push_str(&set("state", s.state, &next));
                }
                code.push_str(&format!("any |= {};\n", get("state", *on)));
                let long = if r.angles { LEAVE_IF_LONG } else { "" };
                format!("while any {{\nany = false;\n{}{long}}}\n", lanes(&code))
            }
        }
    }

    fn lane_array(&self, name: &str, v: Var, width: usize) -> String {
        let elem = self.p.vars[v.0 as usize];
        format!("let mut {name}: [{elem}; {width}] = [{}; {width}];\n", expr::constant(Const::of(elem, 0)))
    }
}

fn get(what: &str, v: Var) -> String {
    format!("unsafe {{ __rt::trusted::get(&{what}{}, lane) }}", v.0)
}

fn set(what: &str, v: Var, value: &str) -> String {
    format!("unsafe {{ __rt::trusted::set(&mut {what}{}, lane, {value}) }};\n", v.0)
}

/// The scalars that are used after the next loop: the code between two loops is one piece.
fn kept(body: &[Node]) -> BTreeSet<Var> {
    let mut kept = BTreeSet::new();
    // What has been bound before the last loop so far.
    let (mut bound, mut here) = (BTreeSet::new(), BTreeSet::new());
    for n in body {
        if let Node::Recurrence(_) = n {
            bound.append(&mut here);
        }
        visit_atoms(std::slice::from_ref(n), &mut |a| {
            if let Atom::Var(v) = a {
                kept.extend(bound.get(&v).copied());
            }
        });
        if !matches!(n, Node::Recurrence(_)) {
            here.extend(n.binds());
        }
    }
    kept
}
