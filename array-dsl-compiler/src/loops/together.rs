//! Loops of points that several points make together, in lanes: a recurrence alone cannot be vectorized, neighbors can.
//!
//! Of a `for` the trips are the same for all, also in a loop in a loop; a `while` goes on until the last lane ends, and what is computed
//! in those that have ended is thrown away, so it must not matter: nothing is changed, what is read is the same in all trips, and nothing
//! is computed that takes as long for one lane as for all. Or lanes that have ended are left out: without vectors, but while one lane
//! waits for an element that tells what it needs next, others go on. A short loop that folds functions is made together as well, in the
//! order of its trips: alone it would not fill a vector. Choices that are no more than a selection of values stay lanes, and so do those
//! that the trip decides, which is the same in all of them; others would be executed one lane after the other. Values that go into an array
//! that the points share are summed over the lanes where all go to one element, and else go there one after the other.

use rustc_hash::FxHashSet;

use super::own::is_own;
use super::uses::takes_long;
use super::{LANES, Loop, Node, Recurrence, Rounds};
use crate::bulk::{ArrayId, Atom, Axis, Exp, Let, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::Elem;

/// Lanes of loops whose trips are the same for all.
const MANY: usize = 64;
/// Lanes of loops that wait for the last, and of loops in loops.
const FEW: usize = 16;
/// The most states of a loop that waits for elements: each lane fetches them and puts them back in every trip.
const STATES: usize = 8;
/// The most functions in a choice that are computed for nothing.
const FUNCTIONS: usize = 8;

/// How many points of these axes execute these nodes together; none if they cannot. `vars` are the types of all scalars.
pub fn together<'a>(axes: impl IntoIterator<Item = &'a Axis>, body: &[Node], vars: &[Elem]) -> Option<usize> {
    let mut differ = Differ(axes.into_iter().map(|a| a.var).collect());
    let mut least = None;
    for n in body {
        match n {
            Node::Let(l) => differ.learn(l),
            Node::Store { .. } => {}
            Node::Recurrence(r) => {
                differ.states(r);
                let lanes = lanes(r, vars, &mut differ)?;
                least = Some(least.map_or(lanes, |l: usize| l.min(lanes)));
            }
            Node::Loop(l) if combines(l, vars, &mut differ) => {}
            Node::Accumulate { .. } => {}
            Node::Loop(l) => {
                differ.folds(l);
                let lanes = folding(l, vars, &mut differ)?;
                least = Some(least.map_or(lanes, |least: usize| least.min(lanes)));
            }
            Node::Scan(_) | Node::Write { .. } => return None,
        }
    }
    least
}

/// How many points are in a block: of code with functions that vectors compute faster, between loops that stay as they are, or what is
/// added at places that may be the same; or with what LLVM makes no vectors of (`is_branch`).
pub fn in_blocks(body: &[Node], vars: &[Elem]) -> Option<usize> {
    let is_between = |n: &Node| match n {
        Node::Loop(_) | Node::Accumulate { .. } => true,
        Node::Let(l) => is_branch(l),
        _ => false,
    };
    let code = body.iter().filter(|n| !matches!(n, Node::Loop(_)));
    (body.iter().any(is_between) && is_plain(code, vars)).then_some(MANY)
}

/// Whether something happens on one side of a branch alone: an index is recorded that is outside, or an angle that is long. In blocks the
/// elements are read first, one lane after the other, and both sides of a choice are computed.
fn is_branch(l: &Let) -> bool {
    matches!(l.exp, Exp::Read { checked: true, .. }) || has_angles_on_a_side(l)
}

/// Whether one side of a choice has an angle.
pub fn has_angles_on_a_side(l: &Let) -> bool {
    let Exp::If(_, yes, no) = &l.exp else { return false };
    let is_of_angle = |l: &Let| matches!(l.exp, Exp::Op(Op::Sin | Op::Cos | Op::Tan, _));
    [yes, no].into_iter().flat_map(|b| &b.block.lets).any(is_of_angle)
}

/// How many trips are in a block of a loop over this axis that is made again and again, without loops inside: it may end before a vector
/// does each time. Of arrays that it changes in place trips have elements of their own. `root` tells what memory an array is in.
pub fn short_in_blocks(
    axis: Var,
    body: &[Node],
    vars: &[Elem],
    root: &impl Fn(ArrayId) -> ArrayId,
) -> Option<usize> {
    let is_written_there =
        |n: &&Node| matches!(n, Node::Write { array, .. } if is_own(root, &[axis], body, *array));
    is_plain(body.iter().filter(|n| !is_written_there(n)), vars).then_some(MANY)
}

/// Whether code can go in lanes, and has functions.
fn is_plain<'a>(mut code: impl Iterator<Item = &'a Node> + Clone, vars: &[Elem]) -> bool {
    let is_plain = |n: &Node| match n {
        Node::Let(l) => selects(l, vars),
        Node::Store { .. } | Node::Accumulate { .. } => true,
        _ => false,
    };
    code.clone().any(|n| takes_long(std::slice::from_ref(n))) && code.all(is_plain)
}

/// The extents of loops that fold, in which points go together if they are short.
pub fn folded_trips(body: &[Node]) -> impl Iterator<Item = &Dim> {
    body.iter().filter_map(|n| match n {
        Node::Loop(l) if !l.folds.is_empty() => Some(&l.axis.extent),
        _ => None,
    })
}

/// Whether the loops that fold are short by their constant extents.
pub fn folds_are_short(body: &[Node]) -> bool {
    folded_trips(body).all(|d| d.as_constant().is_some_and(|n| n < LANES as i64))
}

/// Whether points can make a loop together in which they combine values into arrays that they share.
fn combines(l: &Loop, vars: &[Elem], differ: &mut Differ) -> bool {
    let is_plain = l.range.is_whole() && l.merged.is_empty() && !l.is_ordered() && l.folds.is_empty();
    let mut is_lane = |n: &Node| match n {
        Node::Let(l) => is_lane(n, vars, differ) && !l.may_fail(vars),
        Node::Accumulate { .. } => true,
        _ => false,
    };
    is_plain && l.body.iter().all(&mut is_lane)
}

/// How many points make a loop that folds together, if they can.
fn folding(l: &Loop, vars: &[Elem], differ: &mut Differ) -> Option<usize> {
    let can = l.range.is_whole() && l.merged.is_empty() && !l.is_ordered() && !l.folds.is_empty();
    let folds = can && l.folds.iter().all(|f| f.reducer.op().is_some());
    let is_lane = |n: &Node| matches!(n, Node::Let(l) if is_lane(n, vars, differ) && !l.may_fail(vars));
    (folds && l.body.iter().all(is_lane)).then_some(MANY)
}

/// The scalars that may be different in different lanes.
pub struct Differ(FxHashSet<Var>);

impl Differ {
    /// Those of these nodes in lanes of points of these axes.
    pub fn of<'a>(axes: impl IntoIterator<Item = &'a Axis>, body: &[Node]) -> Differ {
        let mut differ = Differ(axes.into_iter().map(|a| a.var).collect());
        differ.nodes(body);
        differ
    }

    /// Whether it is one.
    pub fn has(&self, v: Var) -> bool {
        self.0.contains(&v)
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for n in nodes {
            match n {
                Node::Let(l) => self.learn(l),
                Node::Recurrence(r) => {
                    self.states(r);
                    self.nodes(&r.body);
                }
                Node::Loop(l) => {
                    self.folds(l);
                    self.nodes(&l.body);
                }
                _ => self.0.extend(n.binds()),
            }
        }
    }

    fn states(&mut self, r: &Recurrence) {
        self.0.extend(r.states.iter().flat_map(|s| [s.state, s.result]));
    }

    fn folds(&mut self, l: &Loop) {
        self.0.extend(l.folds.iter().map(|f| f.result));
    }

    fn learn(&mut self, l: &Let) {
        let mut differs = false;
        l.exp.visit_atoms(&mut |a| differs |= !self.is_same(a));
        if differs {
            self.0.extend(&l.vars);
        }
    }

    fn is_same(&self, a: Atom) -> bool {
        a.var().is_none_or(|v| !self.0.contains(&v))
    }
}

/// How many points make a loop together, if they can.
fn lanes(r: &Recurrence, vars: &[Elem], differ: &mut Differ) -> Option<usize> {
    match &r.rounds {
        Rounds::For(_, until) => {
            let most = if has_loops(&r.body) { FEW } else { MANY };
            let fits =
                until.is_none_or(|u| differ.is_same(u)) && r.body.iter().all(|n| is_lane(n, vars, differ));
            fits.then_some(most)
        }
        Rounds::While(_) => (may_go_on(r, vars) || waits(r)).then_some(FEW),
    }
}

/// Whether a trip waits for elements of which it tells the place, as that of a search does: neighbors do not wait for each other, and go
/// on while one of them does. Lanes that have ended are left out.
fn waits(r: &Recurrence) -> bool {
    let inside = inside(r);
    let mut found = false;
    let is_code = r.body.iter().all(|n| match n {
        Node::Let(l) => {
            l.exp.visit_reads(&mut |_, index| {
                found |= index.iter().any(|a| a.var().is_some_and(|v| inside.contains(&v)));
            });
            true
        }
        _ => false,
    });
    is_code && found && r.states.len() <= STATES
}

/// What a loop binds for itself.
fn inside(r: &Recurrence) -> FxHashSet<Var> {
    r.bound().into_iter().chain(r.body.iter().flat_map(Node::binds)).collect()
}

fn is_lane(n: &Node, vars: &[Elem], differ: &mut Differ) -> bool {
    match n {
        Node::Let(l) => {
            differ.learn(l);
            selects(l, vars) || is_same_choice(l, vars, differ)
        }
        Node::Write { .. } | Node::Accumulate { .. } | Node::Store { .. } => true,
        Node::Recurrence(r) => {
            differ.states(r);
            matches!(r.rounds, Rounds::For(..)) && lanes(r, vars, differ).is_some()
        }
        Node::Scan(_) | Node::Loop(_) => false,
    }
}

/// Whether there are loops among nodes that a loop of points makes.
pub fn has_loops(body: &[Node]) -> bool {
    body.iter().any(|n| matches!(n, Node::Recurrence(_)))
}

/// Whether choices are between values that may as well all be computed: of instructions, and few functions.
pub fn selects(l: &Let, vars: &[Elem]) -> bool {
    let Exp::If(_, yes, no) = &l.exp else { return true };
    let mut functions = 0;
    let mut is_straight = |l: &Let| match &l.exp {
        Exp::Op(op, _) => {
            functions += usize::from(!op.is_instruction());
            (op.is_instruction() || op.has_vectors()) && !l.may_fail(vars)
        }
        Exp::Size(_) | Exp::StopGradient(_) => true,
        Exp::Read { .. } | Exp::Inside { .. } | Exp::If(..) => false,
    };
    [yes, no].into_iter().flat_map(|b| &b.block.lets).all(&mut is_straight) && functions <= FUNCTIONS
}

/// Whether a choice of simple code is made by what is the same in all lanes.
fn is_same_choice(l: &Let, vars: &[Elem], differ: &Differ) -> bool {
    let Exp::If(c, yes, no) = &l.exp else { return false };
    let is_straight = |l: &Let| match &l.exp {
        Exp::Op(op, _) => (op.is_instruction() || op.has_vectors()) && !l.may_fail(vars),
        Exp::Read { checked, .. } => !checked,
        Exp::Size(_) | Exp::StopGradient(_) => true,
        Exp::Inside { .. } | Exp::If(..) => false,
    };
    differ.is_same(*c) && [yes, no].into_iter().flat_map(|b| &b.block.lets).all(is_straight)
}

/// Whether a point that has ended may go on computing.
pub fn may_go_on(r: &Recurrence, vars: &[Elem]) -> bool {
    let inside = inside(r);
    let same = |a: &Atom| a.var().is_none_or(|v| !inside.contains(&v));
    r.body.iter().all(|n| match n {
        Node::Let(l) => match &l.exp {
            Exp::Read { index, checked, .. } => !checked && index.iter().all(same),
            Exp::Op(op, _) => op.has_vectors() && !l.may_fail(vars),
            Exp::Inside { .. } => false,
            Exp::If(..) | Exp::Size(_) | Exp::StopGradient(_) => selects(l, vars),
        },
        _ => false,
    })
}
