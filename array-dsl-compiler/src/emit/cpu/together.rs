//! Loops that several points make together: what differs from point to point is computed in lanes.
//!
//! ```text
//! for each block of points { for lane { before; state[lane] = start }
//!                            for trip { for lane { body; state[lane] = next } }
//!                            for lane { after with state[lane] } }
//! ```
//!
//! Code is in **pieces**: what stands between two loops, or between one and an end, is a loop over the lanes. What a piece computes and
//! another one uses is kept in an array of lanes; what is the same in all lanes is computed once, outside of the lanes; and addresses
//! are computed again (`addresses`). Elements that are no neighbors are read before functions are computed of them, in a loop over the
//! lanes of its own: with them in it, a loop is not made of vectors. A loop in a loop is one whose body has several pieces.
//!
//! Both sides of a choice are computed, and the values selected: an angle that is long is recorded, which on one side of a branch would keep
//! the loop from being vectorized.
//!
//! In **blocks** (`Form::Blocks`) only the pieces are made so: a loop between them is a piece of its own, whose lanes go through it one
//! after the other.
//!
//! What the points of a piece combine into an array that they share is put down in lanes, and goes there after them: as one value if all
//! have the same place, lane by lane otherwise.
//!
//! Little code is written once more for **whole blocks**, whose lanes are a constant number: states stay in registers then, where it would
//! take longer to fetch them than to compute with them. What goes to one place from all lanes is combined in lanes there, in memory that
//! has so many for each element, and as one value when all blocks are done, if that memory is small and is used several times:
//!
//! ```text
//! for each block { for trip { for lane { lanes_of_a[at][lane] += value } } }    for at { a[at] += sum of lanes_of_a[at] }
//! ```
//!
//! Lanes that fill no vector would be executed one by one, and a function takes as long for one number as for a vector of them: of 14
//! points with vectors of 8 numbers that would be seven times instead of twice. So where there are functions the lanes go on to the end
//! of a vector, with instructions that read and write parts of vectors. Those without a point compute with zeros, and change nothing.

use std::collections::BTreeSet;

use super::angles::LEAVE_IF_LONG;
use super::functions::stages;
use super::nodes::leave_if_failed;
use super::pieces::{End, Lanes, MOST, Next, Trips, ends_piece, get, lanes, loops, set, unset};
use super::region::Region;
use super::{Cpu, expr, fold};
use crate::bulk::{Atom, Axis, Reducer, Var};
use crate::internal;
use crate::loops::uses::{bound, combined, visit_atoms, visit_indices};
use crate::loops::{Loop, Node, Recurrence, Rounds};
use crate::ty::Const;

/// The most statements of code that is written twice.
const LITTLE: usize = 60;
/// The most numbers in the memory that has lanes for each element of an array.
const WIDE: i64 = 1 << 15;
/// How many times its lanes are combined into on the average, at least.
const SEVERAL: i64 = 4;

/// An array that has lanes for each element of one that is combined into, and one more.
#[derive(Clone)]
pub(super) struct Wide {
    pub name: String,
    pub elements: String,
    pub reducer: Reducer,
}

/// Whether code is written once more for whole blocks: it has trips, and is little.
fn is_little(points: &Lanes, body: &[Node]) -> bool {
    fn statements(nodes: &[Node]) -> usize {
        let inside = |n: &Node| match n {
            Node::Let(l) => l.exp.weight().max(1),
            Node::Loop(l) => statements(&l.body),
            Node::Recurrence(r) => statements(&r.body),
            Node::Scan(_) | Node::Store { .. } | Node::Write { .. } | Node::Accumulate { .. } => 1,
        };
        nodes.iter().map(inside).sum()
    }
    !points.in_blocks
        && points.masked.is_none()
        && around(body, &|_| true).is_some()
        && statements(body) <= LITTLE
}

/// The axes of the loops around the first of some nodes in loops, none of which data end.
fn around<'n>(nodes: &'n [Node], is_one: &dyn Fn(&Node) -> bool) -> Option<Vec<&'n Axis>> {
    nodes.iter().find_map(|n| {
        let (axis, body) = match n {
            Node::Loop(l) => (&l.axis, &l.body),
            Node::Recurrence(Recurrence { rounds: Rounds::For(axis, _), body, .. }) => (axis, body),
            _ => return None,
        };
        let inside = || body.iter().any(is_one).then(Vec::new);
        let mut axes = around(body, is_one).or_else(inside)?;
        axes.insert(0, axis);
        Some(axes)
    })
}

/// Code that combines what lanes put down: before the lanes, in each, and after them.
struct Collected {
    before: String,
    lane: String,
    after: String,
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
        let points = Lanes::new(self, l, width);
        points.states.keys().for_each(|v| r.bound(*v));
        let begin = format!("let mut base: i64 = {from};\nlet end: i64 = {to};\n");
        let is_chunk = from == "lo" && l.folds.is_empty();
        let is_worth_it = is_chunk && is_little(&points, &l.body) && self.reads_neighbors(l, &points, r);
        let whole = if is_worth_it { self.whole_blocks(l, &points, r) } else { String::new() };
        let block = self.block(l, &points, r);
        begin
            + &whole
            + &format!(
                "while base < end {{\nlet lanes: i64 = if end - base < {width} {{ end - base }} else {{ {width} }};\n\
                 {block}base += lanes;\n{}}}\n",
                leave_if_failed(&block)
            )
    }

    /// Whether the lanes of a vector have their elements side by side.
    fn reads_neighbors(&self, l: &Loop, points: &Lanes, r: &Region) -> bool {
        let mut all = true;
        visit_indices(&l.body, &mut |a, index| {
            let is_near = index.last() == Some(&Atom::Var(points.axis)) || !points.differs(index);
            all &= is_near || r.scratch.contains_key(&self.root(a));
        });
        all
    }

    /// All blocks of a chunk but the last one if that is not whole, and what they have combined in lanes.
    fn whole_blocks(&mut self, l: &Loop, points: &Lanes, r: &mut Region) -> String {
        let width = points.width as i64;
        let mut condition = format!("hi - lo >= {width}");
        for (array, reducer) in combined(&l.body) {
            let Some(target) = r.targets.get(&self.root(array)).cloned() else { continue };
            let is_there = |n: &Node| matches!(n, Node::Accumulate { array: a, index, .. } if *a == array && !points.differs(index));
            let Some(axes) = around(&l.body, &is_there) else { continue };
            let trips: Vec<String> = axes.iter().map(|a| self.dim_in(&a.extent, r)).collect();
            let dims: Vec<String> =
                self.memory_dims(array).to_vec().iter().map(|d| self.dim_in(d, r)).collect();
            let [elements, trips] = [dims, trips].map(expr::product);
            condition = format!(
                "{condition} && ({elements}).saturating_mul({}) <= (hi - lo).saturating_mul({trips}) \
                 && ({elements}).saturating_mul({width}) <= {WIDE}",
                SEVERAL * width
            );
            let wide = Wide { name: format!("lanes_of_{target}"), elements, reducer };
            r.wide.insert(self.root(array), wide);
        }
        r.whole = true;
        let block = self.block(l, points, r);
        r.whole = false;
        let mut done = String::new();
        for (root, Wide { name, elements, reducer }) in r.wide.clone() {
            let elem = self.elem(root);
            let all = expr::combine(reducer, elem, "x", "y");
            let value = format!("__rt::cpu::joined(lanes, |x: {elem}, y: {elem}| {all})");
            let code = self.combine_at(root, Some(reducer), ("true", "place"), &value, r);
            done.push_str(&format!(
                "let mut place: i64 = 0;\nwhile place < {elements} {{\n\
                 let lanes: [{elem}; {width}] = __rt::cpu::lanes_at(&{name}[..], place);\n{code}place += 1;\n}}\n"
            ));
        }
        r.wide_if = Some((condition, width));
        let of_rows = if r.width.is_some() { format!("let width: i64 = {width};\n") } else { String::new() };
        format!(
            "if wide {{\nlet lanes: i64 = {width};\n{of_rows}while end - base >= lanes {{\n{block}base += lanes;\n{}}}\n{done}}}\n",
            leave_if_failed(&block)
        )
    }

    /// The points from `base` on, as many as `lanes`.
    fn block(&mut self, l: &Loop, points: &Lanes, r: &mut Region) -> String {
        let (mut out, width) = (String::new(), points.width);
        for (what, v) in points.held() {
            let elem = self.p.vars[v.0 as usize];
            out.push_str(&unset(what, v, elem, width));
        }
        // What loops leave is nothing where there is no point.
        if points.masked.is_some() {
            for v in points.of_loops.intersection(&points.kept) {
                let zero = expr::constant(Const::of(self.p.vars[v.0 as usize], 0));
                out.push_str(&format!(
                    "unsafe {{ kept{}.set_last::<{}>(lanes, {zero}) }};\n",
                    v.0,
                    width.min(MOST)
                ));
            }
        }
        out + &self.pieces(&l.body, End::default(), points, r) + &self.folded(l, points, r)
    }

    /// What the points fold, one after the other.
    fn folded(&mut self, l: &Loop, points: &Lanes, r: &mut Region) -> String {
        if l.folds.is_empty() {
            return String::new();
        }
        let needed = l.folds.iter().filter_map(|f| f.value.var()).collect();
        let mut code = self.begin(&needed, points, r);
        l.folds.iter().for_each(|f| code.push_str(&fold::step(self, f, l.axis.var, r)));
        lanes(&code)
    }

    /// Code in pieces, and the loops between them.
    fn pieces(&mut self, nodes: &[Node], end: End, points: &Lanes, r: &mut Region) -> String {
        let mut out = String::new();
        let mut rest = nodes;
        while let Some(at) = rest.iter().position(|n| ends_piece(n, points.in_blocks, &self.p.vars)) {
            let (piece, n) = (&rest[..at], &rest[at]);
            rest = &rest[at + 1..];
            let Some(q) = Trips::of(n, &self.p.vars).filter(|_| !points.in_blocks) else {
                out.push_str(&self.straight(piece, &End::default(), points, r));
                out.push_str(&self.lanes_of(std::slice::from_ref(n), &End::default(), points, r));
                continue;
            };
            out.push_str(if q.on.is_some() { "let mut any = false;\n" } else { "" });
            let states = q.states.iter().map(|s| (s.state, Next::Value(s.start))).collect();
            out.push_str(&self.straight(piece, &End { states, any: q.on, ..End::default() }, points, r));
            out.push_str(&self.trips_together(&q, points, r));
        }
        out + &self.straight(rest, &end, points, r)
    }

    /// Straight code in pieces.
    fn straight(&mut self, nodes: &[Node], end: &End, points: &Lanes, r: &mut Region) -> String {
        let (stages, rest) = stages(self.p, nodes, &|v| points.differ.has(v));
        let mut out = String::new();
        for s in stages {
            for part in [s.code, s.functions] {
                out.push_str(&self.piece(&part, &End::default(), points, r));
            }
        }
        out + &self.piece(&rest, end, points, r)
    }

    /// One piece. It begins with what it has from others.
    fn piece(&mut self, nodes: &[Node], end: &End, points: &Lanes, r: &mut Region) -> String {
        let is_same = |n: &Node| matches!(n, Node::Let(l) if !l.vars.iter().any(|v| points.differ.has(*v)));
        let (same, differing): (Vec<Node>, Vec<Node>) = nodes.iter().cloned().partition(is_same);
        let mut out = self.nodes(&same, r);
        let is_apart = |n: &Node| n.binds().iter().any(|v| points.apart.contains(v));
        let (apart, differing): (Vec<Node>, Vec<Node>) = differing.into_iter().partition(is_apart);
        if !apart.is_empty() {
            out.push_str(&self.lanes_of(&apart, &End::default(), points, r));
        }
        out + &self.lanes_of(&differing, end, points, r)
    }

    /// Code in lanes.
    fn lanes_of(&mut self, differing: &[Node], end: &End, points: &Lanes, r: &mut Region) -> String {
        let mut needed: BTreeSet<Var> = end.uses().collect();
        visit_atoms(differing, &mut |a| needed.extend(a.var()));
        let here: BTreeSet<Var> = differing.iter().flat_map(Node::binds).collect();
        let inside = bound(differing);
        let needed: BTreeSet<Var> = needed.into_iter().filter(|v| !inside.contains(v)).collect();
        let is_shared = |n: &Node| matches!(n, Node::Accumulate { array, .. } if r.targets.contains_key(&self.root(*array)));
        let (shared, own): (Vec<Node>, Vec<Node>) = differing.iter().cloned().partition(is_shared);
        // A loop in each lane makes no vectors.
        let masked = points.masked.is_some() && !(points.in_blocks && loops(differing).next().is_some());
        (r.masked, r.guarded) = (masked, end.guarded);
        // Inner loops have lanes of their own; what may fail is a branch anyway, and computes what it has to.
        let is_straight = loops(differing).next().is_none();
        let fails = |n: &Node| matches!(n, Node::Let(l) if l.may_fail(&self.p.vars));
        r.lanes = is_straight.then_some(points.axis);
        r.both_sides = is_straight && !end.guarded && !differing.iter().any(fails);
        let mut code = self.begin(&needed, points, r);
        let begin = code.len();
        code.push_str(&self.nodes(&own, r));
        let shared: Vec<Collected> =
            shared.iter().enumerate().map(|(k, n)| self.collected_in_lanes(k, n, points, r)).collect();
        shared.iter().for_each(|c| code.push_str(&c.lane));
        for v in here.intersection(&points.kept) {
            code.push_str(&set("kept", *v, &format!("v{}", v.0)));
        }
        code.push_str(&end.code(&self.p.vars, r));
        (r.masked, r.guarded) = (false, false);
        (r.both_sides, r.lanes) = (false, None);
        if code.len() == begin {
            return String::new();
        }
        if let Some(on) = end.only_where.filter(|_| end.guarded) {
            let is_point = if masked { "inside && " } else { "" };
            code = format!("if {is_point}{} {{\n{code}}}\n", get("state", on));
        }
        let text = |part: fn(&Collected) -> &String| shared.iter().map(|c| &**part(c)).collect::<String>();
        let code = if masked { points.in_lanes(&code) } else { lanes(&code) };
        text(|c| &c.before) + &code + &text(|c| &c.after)
    }

    /// What the lanes of a piece combine into an array that all points share.
    fn collected_in_lanes(&mut self, k: usize, n: &Node, points: &Lanes, r: &mut Region) -> Collected {
        let Node::Accumulate { array, reducer, index, value } = n else {
            internal::broken("what is collected is combined into nothing".into())
        };
        let (elem, width) = (self.elem(*array), points.width);
        let (test, at) = self.place(*array, index, r);
        let differs = points.differs(index);
        let wide = r.wide.get(&self.root(*array)).filter(|_| r.whole && !differs).cloned();
        let neutral = expr::constant(reducer.neutral(elem));
        let mut before = format!("let mut values{k}: [{elem}; {width}] = [{neutral}; {width}];\n");
        let value = r.atom(*value);
        let value = r.in_points(value, &neutral);
        if let Some(Wide { name, elements, .. }) = wide {
            // What is at no place is combined beyond the last element.
            let place =
                format!("let row{k}: i64 = (if {test} {{ {at} }} else {{ {elements} }}) * {width};\n");
            let new = expr::combine(*reducer, elem, "old", &format!("({value})"));
            let lane = format!(
                "let old = unsafe {{ __rt::trusted::get(&{name}[..], row{k} + lane) }};\nlet new = {new};\n\
                 unsafe {{ __rt::trusted::set(&mut {name}[..], row{k} + lane, new) }};\n"
            );
            return Collected { before: place, lane, after: String::new() };
        }
        let mut lane = format!("unsafe {{ __rt::trusted::set(&mut values{k}, lane, {value}) }};\n");
        let after = if differs {
            before.push_str(&format!("let mut places{k}: [i64; {width}] = [-1; {width}];\n"));
            let test = if r.masked { format!("inside && {test}") } else { test };
            let place = format!("(if {test} {{ {at} }} else {{ -1 }})");
            lane.push_str(&format!("unsafe {{ __rt::trusted::set(&mut places{k}, lane, {place}) }};\n"));
            let [at, value] =
                ["places", "values"].map(|a| format!("unsafe {{ __rt::trusted::get(&{a}{k}, lane) }}"));
            let code = self.combine_at(*array, Some(*reducer), ("at >= 0", "at"), &value, r);
            lanes(&format!("let at: i64 = {at};\n{code}"))
        } else {
            let all = expr::combine(*reducer, elem, "x", "y");
            let value = format!("__rt::cpu::joined(values{k}, |x: {elem}, y: {elem}| {all})");
            self.combine_at(*array, Some(*reducer), (&test, &at), &value, r)
        };
        Collected { before, lane, after }
    }

    /// What a lane has from other pieces.
    fn begin(&mut self, needed: &BTreeSet<Var>, points: &Lanes, r: &mut Region) -> String {
        let mut code = format!("let v{} = base + lane;\n", points.axis.0);
        for v in needed {
            if points.kept.contains(v) {
                code.push_str(&format!("let v{} = {};\n", v.0, get("kept", *v)));
            } else if let Some(state) = points.states.get(v) {
                code.push_str(&format!("let v{} = {};\n", v.0, get("state", *state)));
            }
        }
        let again = needed.iter().copied().filter(|v| points.differ.has(*v)).collect();
        code + &self.nodes(&points.addresses.of(&again), r)
    }

    fn trips_together(&mut self, q: &Trips<'_>, points: &Lanes, r: &mut Region) -> String {
        match q.counted {
            Some((axis, until)) => {
                r.bound(axis.var);
                let (v, n) = (axis.var.0, self.dim_in(&axis.extent, r));
                let n = until.map_or(n.clone(), |u| format!("{n}.min({})", r.atom(u)));
                let body = self.pieces(q.body, q.end(), points, r);
                format!(
                    "let trips{v}: i64 = {n};\nlet mut trip{v}: i64 = 0;\nwhile trip{v} < trips{v} {{\n\
                     let v{v} = trip{v};\n{body}trip{v} += 1;\n{}}}\n",
                    leave_if_failed(&body)
                )
            }
            None => {
                // Lanes that have ended compute on in vectors, or are left out.
                let body = match q.guarded {
                    true => self.lanes_of(q.body, &q.end(), points, r),
                    false => self.pieces(q.body, q.end(), points, r),
                };
                let long = if r.angles { LEAVE_IF_LONG } else { "" };
                format!("while any {{\nany = false;\n{body}{long}{}}}\n", leave_if_failed(&body))
            }
        }
    }
}
