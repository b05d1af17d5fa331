//! Functions apart from code that changes arrays in place, for code in lanes.
//!
//! ```text
//! x = a[i];  y = exp(x);  a[i] = y + x      for lane { x = a[i] }  for lane { y = exp(x) }  for lane { a[i] = y + x }
//! ```
//!
//! Whether such arrays overlap others LLVM finds out when running, of few pairs of them in one loop; else it makes no vectors, and
//! functions take several times as long. So where there are more pairs functions stand in loops of their own.
//!
//! Nor does it make vectors of code that may fail, as a read does of what may be outside of its array: that is a branch. It stands before
//! the functions, in a loop of its own as well.
//!
//! Code is cut where a function needs what has been made of another one: there are as many parts as functions stand one inside of the
//! other. What is moved for that does nothing but compute, or reads what nothing in between changes.

use rustc_hash::FxHashSet;

use crate::bulk::{ArrayId, Let, Var};
use crate::loops::uses::{takes_long, visit_arrays, visit_atoms};
use crate::loops::{Node, Program};
use crate::ty::Elem;

/// The most pairs of arrays that LLVM compares before a loop (`-runtime-memory-check-threshold`).
const COMPARED: usize = 8;

/// The most statements before functions of which lanes keep the numbers: a block of 64 points has 512 bytes of the stack for each.
const KEPT: usize = 256;

/// Functions, and the code before them from the last ones on.
#[derive(Debug, Default)]
pub(super) struct Stage {
    pub code: Vec<Node>,
    pub functions: Vec<Node>,
}

/// Straight code in stages, and what comes after them. `differs` tells which scalars are not the same in all lanes.
pub(super) fn stages(p: &Program, nodes: &[Node], differs: &dyn Fn(Var) -> bool) -> (Vec<Stage>, Vec<Node>) {
    let vars = &p.vars;
    if pairs(nodes) <= COMPARED {
        return match after_checks(p, nodes) {
            Some((code, rest)) => (vec![Stage { code, functions: Vec::new() }], rest),
            None => (Vec::new(), nodes.to_vec()),
        };
    }
    let mut cut = Cut {
        vars,
        stages: Vec::new(),
        now: Stage::default(),
        after: Vec::new(),
        late: FxHashSet::default(),
    };
    for n in nodes {
        cut.node(n, differs);
    }
    if !cut.now.functions.is_empty() {
        cut.close();
    }
    (cut.stages, cut.now.code)
}

/// All that may fail, with what it needs, in its order, and functions that come after it. None if there is nothing of one of both kinds.
pub(super) fn after_checks(p: &Program, nodes: &[Node]) -> Option<(Vec<Node>, Vec<Node>)> {
    let fails = |n: &Node| matches!(n, Node::Let(l) if l.may_fail(&p.vars));
    let last = nodes.iter().rposition(fails)?;
    let (mut code, mut rest) = (Vec::new(), Vec::new());
    let (mut needed, mut touched, mut changed) = (FxHashSet::default(), FxHashSet::default(), false);
    for (k, n) in nodes.iter().enumerate().rev() {
        let may_wait = match n {
            Node::Store { array, .. } => !touched.contains(&p.root(*array)),
            n => computes(n, &p.vars).is_some_and(|reads| !(reads && changed)),
        };
        if k > last || (may_wait && !n.binds().iter().any(|v| needed.contains(v))) {
            rest.push(n.clone());
            continue;
        }
        needed.extend(uses(n));
        changed |= changes(n);
        visit_arrays(std::slice::from_ref(n), &mut |a, _| {
            touched.insert(p.root(a));
        });
        code.push(n.clone());
    }
    code.reverse();
    rest.reverse();
    (takes_long(&rest) && code.len() <= KEPT).then_some((code, rest))
}

/// The pairs of arrays one of which is changed in place.
fn pairs(nodes: &[Node]) -> usize {
    let in_place: FxHashSet<ArrayId> = nodes
        .iter()
        .filter_map(|n| match n {
            Node::Write { array, .. } | Node::Accumulate { array, .. } => Some(*array),
            _ => None,
        })
        .collect();
    let mut all = FxHashSet::default();
    visit_arrays(nodes, &mut |a, _| {
        all.insert(a);
    });
    in_place.len() * all.len().saturating_sub(1)
}

struct Cut<'a> {
    vars: &'a [Elem],
    stages: Vec<Stage>,
    now: Stage,
    /// What comes after the functions of this stage.
    after: Vec<Node>,
    /// What these and the functions bind.
    late: FxHashSet<Var>,
}

impl Cut<'_> {
    fn node(&mut self, n: &Node, differs: &dyn Fn(Var) -> bool) {
        let is_function =
            matches!(n, Node::Let(l) if is_function(l, self.vars) && l.vars.iter().any(|v| differs(*v)));
        if is_function && self.is_late(n) {
            self.close();
        }
        if is_function {
            self.late.extend(n.binds());
            self.now.functions.push(n.clone());
        } else if self.now.functions.is_empty() || self.may_go_before(n) {
            self.now.code.push(n.clone());
        } else {
            self.late.extend(n.binds());
            self.after.push(n.clone());
        }
    }

    fn is_late(&self, n: &Node) -> bool {
        uses(n).iter().any(|v| self.late.contains(v))
    }

    /// Whether a node may go before the functions, and what is after them so far.
    fn may_go_before(&self, n: &Node) -> bool {
        let Some(reads) = computes(n, self.vars) else { return false };
        let crosses_changes = reads && self.after.iter().any(changes);
        !self.is_late(n) && !crosses_changes
    }

    /// Ends the stage. What its functions do not need stands after them.
    fn close(&mut self) {
        let mut stage = std::mem::take(&mut self.now);
        let mut needed: FxHashSet<Var> = stage.functions.iter().flat_map(uses).collect();
        let (mut code, mut later) = (Vec::new(), Vec::new());
        for n in stage.code.into_iter().rev() {
            let may_wait = computes(&n, self.vars).is_some_and(|reads| !(reads && code.iter().any(changes)));
            if may_wait && !n.binds().iter().any(|v| needed.contains(v)) {
                later.push(n);
            } else {
                needed.extend(uses(&n));
                code.push(n);
            }
        }
        code.reverse();
        later.reverse();
        stage.code = code;
        self.stages.push(stage);
        later.append(&mut self.after);
        self.now.code = later;
        self.late.clear();
    }
}

/// Whether vectors compute it much faster, of scalars alone.
fn is_function(l: &Let, vars: &[Elem]) -> bool {
    l.takes_long() && !l.may_fail(vars) && !reads(l)
}

fn reads(l: &Let) -> bool {
    let mut found = false;
    l.exp.visit_reads(&mut |_, _| found = true);
    found
}

/// Of a node that does nothing but bind scalars: whether it reads elements.
fn computes(n: &Node, vars: &[Elem]) -> Option<bool> {
    match n {
        Node::Let(l) if !l.may_fail(vars) => Some(reads(l)),
        _ => None,
    }
}

/// Whether a node changes what others read.
fn changes(n: &Node) -> bool {
    !matches!(n, Node::Let(_))
}

fn uses(n: &Node) -> Vec<Var> {
    let mut used = Vec::new();
    visit_atoms(std::slice::from_ref(n), &mut |a| used.extend(a.var()));
    used
}
