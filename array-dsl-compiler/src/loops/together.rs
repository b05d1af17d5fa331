//! Loops of points that several points make together, in lanes: a recurrence alone cannot be vectorized, neighbors can.
//!
//! Of a `for` the trips are the same for all, also in a loop in a loop; a `while` goes on until the last lane ends, and what is computed in those that have
//! ended is thrown away, so it must not matter: nothing is changed, what is read is the same in all trips, and nothing is computed that
//! takes as long for one lane as for all. Choices that are no more than a selection of values stay lanes, and so do those that the
//! trip decides, which is the same in all of them; others would be executed one lane after the other.

use rustc_hash::FxHashSet;

use super::{Form, Node, Recurrence, Rounds};
use crate::bulk::{Atom, Axis, Exp, Let, Var};
use crate::ty::Elem;

/// Lanes of loops whose trips are the same for all.
const MANY: usize = 64;
/// Lanes of loops that wait for the last, and of loops in loops.
const FEW: usize = 16;
/// The most functions in a choice that are computed for nothing.
const FUNCTIONS: usize = 8;

/// The form of the points of these axes that execute these nodes together; none if they cannot. `vars` are the types of all scalars.
pub fn together<'a>(axes: impl IntoIterator<Item = &'a Axis>, body: &[Node], vars: &[Elem]) -> Option<Form> {
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
            Node::Scan(_) | Node::Loop(_) | Node::Accumulate { .. } | Node::Write { .. } => return None,
        }
    }
    least.map(Form::Together)
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
                _ => self.0.extend(n.binds()),
            }
        }
    }

    fn states(&mut self, r: &Recurrence) {
        self.0.extend(r.states.iter().flat_map(|s| [s.state, s.result]));
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
        Rounds::While(_) => does_not_matter(r, vars).then_some(FEW),
    }
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
fn selects(l: &Let, vars: &[Elem]) -> bool {
    let Exp::If(_, yes, no) = &l.exp else { return true };
    let mut functions = 0;
    let mut is_straight = |l: &Let| match &l.exp {
        Exp::Op(op, _) => {
            functions += usize::from(!op.is_instruction());
            (op.is_instruction() || op.has_vectors()) && !l.may_fail(vars)
        }
        Exp::Size(_) | Exp::StopGradient(_) => true,
        Exp::Read { .. } | Exp::If(..) => false,
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
        Exp::If(..) => false,
    };
    differ.is_same(*c) && [yes, no].into_iter().flat_map(|b| &b.block.lets).all(is_straight)
}

/// Whether a point that has ended may go on computing.
fn does_not_matter(r: &Recurrence, vars: &[Elem]) -> bool {
    let mut bound: FxHashSet<Var> = r.bound().into_iter().collect();
    r.body.iter().for_each(|n| bound.extend(n.binds()));
    let same = |a: &Atom| a.var().is_none_or(|v| !bound.contains(&v));
    r.body.iter().all(|n| match n {
        Node::Let(l) => match &l.exp {
            Exp::Read { index, checked, .. } => !checked && index.iter().all(same),
            Exp::Op(op, _) => op.has_vectors() && !l.may_fail(vars),
            Exp::If(..) | Exp::Size(_) | Exp::StopGradient(_) => selects(l, vars),
        },
        _ => false,
    })
}
