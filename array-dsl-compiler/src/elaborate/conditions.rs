//! Where branches are taken, as dimensions that are all positive there: what guards the checks of the code in them.
//!
//! | a condition | what guards |
//! |---|---|
//! | compares named sizes | their differences, which are too small to overflow |
//! | can be computed at depth 0 | the condition as a number, 0 or 1 |
//! | compares an index with a size | what that says of the size: an index is no less than 0 |
//! | depends on a point or a trip otherwise | nothing: the check is made for all points |
//!
//! Of `a && b`, and of `a || b` where it is false, both conditions guard. Equalities are guarded by the first only, as types rest on
//! them whether the branch is taken or not. That a slice is within its array is not checked under the last two: its elements are
//! compared where they are read.

use proc_macro2::Span;

use super::Elaborator;
use crate::core::{Atom, Body, Exp, Stm};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

/// A branch around the current place, or the body of a loop that may make no trips.
#[derive(Clone)]
pub(super) struct Branch {
    /// Its condition; `None`: a loop whose trips are no size.
    whole: Option<Conjunct>,
    /// Dimensions that are all positive exactly where it is taken; `None`: its condition is none on named sizes.
    sizes: Option<Vec<Dim>>,
}

impl Branch {
    /// The body of a loop of which nothing tells before whether it makes trips.
    pub fn trips() -> Branch {
        Branch { whole: None, sizes: None }
    }

    /// What is positive exactly where it is taken, if named sizes decide that.
    pub fn sizes(&self) -> Option<&[Dim]> {
        self.sizes.as_deref()
    }
}

/// One of the conditions that all hold where a branch is taken.
#[derive(Clone)]
struct Conjunct {
    condition: Atom,
    /// What it is there.
    when: bool,
    /// Statements on the way to it, besides those of the bodies under construction.
    within: Vec<Stm>,
}

/// What is positive where a branch is taken.
pub(super) struct Taken {
    /// All of these.
    pub positive: Vec<Dim>,
    /// And only there.
    pub is_exact: bool,
}

/// An integer, as far as it is known.
struct Range {
    least: Option<Dim>,
    most: Option<Dim>,
}

impl Elaborator<'_> {
    /// The branch that is taken where a condition is `when`.
    pub(super) fn branch_where(&self, condition: Atom, when: bool) -> Branch {
        let whole = Conjunct { condition, when, within: Vec::new() };
        let of_sizes = |part: &Conjunct| self.compared(part).filter(|t| t.is_exact).map(|t| t.positive);
        let sizes: Option<Vec<_>> = self.conjuncts(&whole).iter().map(of_sizes).collect();
        Branch { whole: Some(whole), sizes: sizes.map(|all| all.concat()) }
    }

    /// Whether an enclosing condition says that two dimensions are equal.
    pub(super) fn holds_here(&self, a: &Dim, b: &Dim) -> bool {
        let one = Dim::constant(1);
        let positive =
            |d: Dim| self.branches.iter().filter_map(Branch::sizes).flatten().any(|known| *known == d);
        positive(a.sub(b).add(&one)) && positive(b.sub(a).add(&one))
    }

    /// Where a branch is taken whose condition is none on named sizes.
    pub(super) fn where_taken(&mut self, branch: &Branch, span: Span) -> Taken {
        let mut taken = Taken { positive: Vec::new(), is_exact: branch.whole.is_some() };
        let Some(whole) = &branch.whole else { return taken };
        if let Some(guard) = self.decided_before(whole, span) {
            taken.positive.push(guard);
            return taken;
        }
        for part in self.conjuncts(whole) {
            let compared = self.compared(&part);
            if let Some(exact) = compared.as_ref().filter(|t| t.is_exact) {
                taken.positive.extend_from_slice(&exact.positive);
            } else if let Some(guard) = self.decided_before(&part, span) {
                taken.positive.push(guard);
            } else {
                taken.positive.extend(compared.into_iter().flat_map(|t| t.positive));
                taken.is_exact = false;
            }
        }
        taken
    }

    /// The conditions that all hold where one does, itself if it is no conjunction.
    fn conjuncts(&self, of: &Conjunct) -> Vec<Conjunct> {
        let Conjunct { when, ref within, .. } = *of;
        match self.computing(of) {
            Some(Exp::If(left, yes, no)) => match conjunction(*left, yes, no, when) {
                Some((left, right, stms)) => {
                    let deeper = [&within[..], &stms[..]].concat();
                    let mut all = self.conjuncts(&Conjunct { condition: left, when, within: within.clone() });
                    all.extend(self.conjuncts(&Conjunct { condition: right, when, within: deeper }));
                    all
                }
                None => vec![of.clone()],
            },
            Some(Exp::Op(Op::Not, args)) => {
                self.conjuncts(&Conjunct { condition: args[0], when: !when, within: within.clone() })
            }
            _ => vec![of.clone()],
        }
    }

    /// What computes a condition.
    fn computing<'a>(&'a self, part: &'a Conjunct) -> Option<&'a Exp> {
        let Atom::Var(v) = part.condition else { return None };
        part.within.iter().find(|s| s.vars == [v]).or_else(|| self.definition(v)).map(|s| &s.exp)
    }

    /// What a comparison of sizes and indices says.
    fn compared(&self, part: &Conjunct) -> Option<Taken> {
        let Some(Exp::Op(op, args)) = self.computing(part) else { return None };
        let (a, b) = (self.known_range(*args.first()?), self.known_range(*args.get(1)?));
        let positive = positive_differences(*op, part.when, &a, &b)?;
        Some(Taken { positive, is_exact: a.most.is_some() && b.most.is_some() })
    }

    /// The range of an `i64`: a polynomial over named sizes is one number, an index has no greatest that is known here.
    fn known_range(&self, a: Atom) -> Range {
        let named = |d: &Dim| d.atoms().iter().all(|a| matches!(a, SizeAtom::Name(_)));
        match self.known_int(a).filter(|d| self.elem(a) == Elem::I64 && named(d)) {
            Some(d) => Range { least: Some(d.clone()), most: Some(d) },
            None => Range { least: self.is_index(a).then(|| Dim::constant(0)), most: None },
        }
    }

    /// What is 1 where a condition is what it is in the branch and else 0, if that can be computed at depth 0.
    fn decided_before(&mut self, part: &Conjunct, span: Span) -> Option<Dim> {
        let condition = match part.condition {
            Atom::Const(c) => return Some(Dim::constant(i64::from(c.as_bool() == part.when))),
            Atom::Var(v) => self.copied_out(v, &part.within, span)?,
        };
        let number = self.computed_once(Op::Cast(Elem::I64), &[condition], span);
        let d = self.size_of(number)?;
        Some(if part.when { d } else { Dim::constant(1).sub(&d) })
    }
}

/// The two conditions that both are `when` if `left && right`, or `left || right` where it is false, is: the right one with the statements
/// for it.
fn conjunction<'a>(
    left: Atom,
    yes: &'a Body,
    no: &'a Body,
    when: bool,
) -> Option<(Atom, Atom, &'a Vec<Stm>)> {
    // The right side is evaluated only where the left one does not decide.
    let (decided, right) = if when { (no, yes) } else { (yes, no) };
    let ([Atom::Const(decided)], [result]) = (&decided.results[..], &right.results[..]) else { return None };
    (decided.as_bool() != when).then_some((left, *result, &right.stms))
}

/// What is positive where a comparison of two integers is `when`.
fn positive_differences(op: Op, when: bool, a: &Range, b: &Range) -> Option<Vec<Dim>> {
    let one = Dim::constant(1);
    let less = || Some(b.most.as_ref()?.sub(a.least.as_ref()?));
    let more = || Some(a.most.as_ref()?.sub(b.least.as_ref()?));
    let positive = match (op, when) {
        (Op::Lt, true) | (Op::Ge, false) => vec![less()?],
        (Op::Gt, true) | (Op::Le, false) => vec![more()?],
        (Op::Le, true) | (Op::Gt, false) => vec![less()?.add(&one)],
        (Op::Ge, true) | (Op::Lt, false) => vec![more()?.add(&one)],
        (Op::Eq, true) | (Op::Ne, false) => {
            [less(), more()].into_iter().flatten().map(|d| d.add(&one)).collect()
        }
        _ => return None,
    };
    positive.iter().all(|d| !d.is_too_large()).then_some(positive)
}
