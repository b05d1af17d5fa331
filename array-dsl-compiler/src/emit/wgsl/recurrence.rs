//! Loops that points make by themselves: each thread goes through its point's.
//!
//! ```text
//! var state = start;   while on { body;  let next = ..;  state = next; }   let result = state;
//! ```
//!
//! All states change at once, at the end of a trip. What the trips change in memory are elements of the point's own, so nothing
//! there is atomic.
//!
//! **A thread ends.** What has no end of its own would be stopped by the device, which takes it for lost, with all that is on it:
//!
//! | loop | makes at most | who sees to it |
//! |---|---|---|
//! | `while` | as many trips as the device is set to allow | each trip counts itself |
//! | loops in loops, of extents alone | 2^30 trips in all | the host, by the product of the extents |
//! | loops in loops of which data end one | the same | the thread counts the trips of all of them |

use super::shader::Shader;
use super::types::Kind;
use super::words::Word;
use crate::bulk::{Atom, Axis};
use crate::dim::Dim;
use crate::loops::{Node, Recurrence, Rounds};
use crate::lower::gpu::MOST;

/// The number of the trips that a thread has made in loops in loops that count themselves.
const MADE: &str = "made";

/// What stands for the length of an array where a `while` makes too many trips, and where loops in loops do.
const TOO_MANY: i64 = -3;
const TOO_MANY_IN_ALL: i64 = -4;

impl Shader<'_, '_> {
    /// A loop of the point.
    pub(super) fn recurrence(&mut self, r: &Recurrence) -> Result<(), String> {
        let is_outermost = self.around.is_empty() && !self.counts;
        if is_outermost && Chain::new().counts(r) {
            self.counts = true;
            if !self.has_counted {
                self.has_counted = true;
                self.line(format!("var {MADE} = 0u;"));
            }
        }
        for s in &r.states {
            let kind = self.kind(Atom::Var(s.state))?;
            let start = self.atom_as(s.start, kind)?;
            self.line(format!("var v{} = {start};", s.state.0));
        }
        match &r.rounds {
            Rounds::For(axis, until) => self.counted(r, axis, *until)?,
            Rounds::While(on) => self.ended(r, Atom::Var(*on))?,
        }
        for s in &r.states {
            let kind = self.kind(Atom::Var(s.result))?;
            let last = self.atom_as(Atom::Var(s.state), kind)?;
            self.line(format!("let v{} = {last};", s.result.0));
        }
        if is_outermost {
            self.counts = false;
        }
        Ok(())
    }

    /// As many trips as an axis has values, or fewer.
    fn counted(&mut self, r: &Recurrence, axis: &Axis, until: Option<Atom>) -> Result<(), String> {
        let mut end = self.size(&axis.extent)?;
        if let Some(until) = until {
            let name = self.fresh();
            let (kind, until) = (self.kind(until)?, self.atom(until)?);
            self.line(match kind {
                Kind::I64 => format!("let {name} = i32(max(min({until}, i64({end})), {}));", kind.zero()),
                _ => format!("let {name} = min({until}, {end});"),
            });
            end = name;
        }
        let (sites, i) = (self.failing, axis.var.0);
        self.axis(axis);
        self.around.push(axis.extent.clone());
        if self.counts {
            end = self.count_all(r, &end);
        } else if until.is_none() {
            self.bound_trips()?;
        }
        self.open(format!("for (var v{i} = 0i; v{i} < {end}; v{i} += 1i) {{"));
        self.trip(r)?;
        if self.failing > sites {
            self.leave_after_failure(&format!("v{i}"), "i", is_innermost(&r.body));
        }
        self.close("}");
        self.around.pop();
        Ok(())
    }

    /// As many trips as a state says.
    fn ended(&mut self, r: &Recurrence, on: Atom) -> Result<(), String> {
        let (trips, on, most) = (self.fresh(), self.atom(on)?, self.word(Word::MostTrips));
        self.line(format!("var {trips} = 0u;"));
        self.open(format!("while {on} {{"));
        let site = self.site(r.loc);
        self.open(format!("if {trips} >= {most} {{"));
        self.line(format!("adsl_fail(bitcast<i32>({most}), {TOO_MANY}i, {site});"));
        self.line("break;");
        self.close("}");
        self.line(format!("{trips} += 1u;"));
        if self.counts {
            self.line(format!("{MADE} += 1u;"));
            self.open(format!("if {MADE} > {MOST}u {{"));
            self.fail_in_all(r);
            self.line("break;");
            self.close("}");
        }
        self.trip(r)?;
        self.leave_after_failure(&trips, "u", is_innermost(&r.body));
        self.close("}");
        Ok(())
    }

    /// Counts so many trips; gives how many of them are made.
    fn count_all(&mut self, r: &Recurrence, end: &str) -> String {
        let name = self.fresh();
        self.line(format!("var {name} = max({end}, 0i);"));
        self.line(format!("{MADE} += u32({name});"));
        self.open(format!("if {MADE} > {MOST}u {{"));
        self.fail_in_all(r);
        self.line(format!("{name} = 0i;"));
        self.close("}");
        name
    }

    /// The thread has made too many trips, and makes none after it.
    fn fail_in_all(&mut self, r: &Recurrence) {
        let site = self.site(r.loc);
        self.line(format!("adsl_fail(0i, {TOO_MANY_IN_ALL}i, {site});"));
        self.line(format!("{MADE} = {}u;", MOST + 1));
    }

    /// The body of a loop, and what the states become.
    fn trip(&mut self, r: &Recurrence) -> Result<(), String> {
        self.nodes(&r.body)?;
        let is_state = |a: Atom| r.states.iter().any(|s| a == Atom::Var(s.state));
        let changing = || r.states.iter().filter(|s| s.next != Atom::Var(s.state));
        let mut nexts = Vec::new();
        for s in changing() {
            let kind = self.kind(Atom::Var(s.state))?;
            let next = self.atom_as(s.next, kind)?;
            if is_state(s.next) {
                let name = self.fresh();
                self.line(format!("let {name} = {next};"));
                nexts.push(name);
            } else {
                nexts.push(next);
            }
        }
        for (s, next) in changing().zip(nexts) {
            self.line(format!("v{} = {next};", s.state.0));
        }
        Ok(())
    }
}

/// Loops in loops, from the outside in.
struct Chain {
    depth: usize,
    /// The trips of the innermost are at most so many.
    most: Option<Dim>,
    /// They are as many.
    is_exact: bool,
}

impl Chain {
    fn new() -> Chain {
        Chain { depth: 0, most: Some(Dim::constant(1)), is_exact: true }
    }

    fn within(&self, r: &Recurrence) -> Chain {
        let (most, is_exact) = match &r.rounds {
            Rounds::For(axis, until) => (self.most.as_ref().map(|n| n.mul(&axis.extent)), until.is_none()),
            Rounds::While(_) => (None, false),
        };
        Chain { depth: self.depth + 1, most, is_exact: self.is_exact && is_exact }
    }

    /// Whether a thread has to count the trips of a loop or of one inside: what is alone is bounded by its extent, or counts itself.
    fn counts(&self, r: &Recurrence) -> bool {
        let chain = self.within(r);
        let is_short = chain.most.as_ref().and_then(Dim::as_constant).is_some_and(|n| n <= MOST);
        let inside = |n: &Node| matches!(n, Node::Recurrence(r) if chain.counts(r));
        (chain.depth > 1 && !chain.is_exact && !is_short) || r.body.iter().any(inside)
    }
}

/// Whether there is no loop in a loop's body.
pub(super) fn is_innermost(body: &[Node]) -> bool {
    !body.iter().any(|n| matches!(n, Node::Loop(_) | Node::Recurrence(_)))
}
