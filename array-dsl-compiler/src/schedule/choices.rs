//! Choices with one condition are one choice: states that change together are computed together.
//!
//! ```text
//! x = if c { a } else { b }; y = if c { f(x) } else { d }    is    x, y = if c { a, f(a) } else { b, d }
//! ```
//!
//! What may fail is not moved before something else that may: the first failure is the one that is told.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::build::{Rename, Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{Atom, Block, Branch, Exp, Let, Var};
use crate::loops::{Loop, Node, Recurrence, Step};
use crate::ty::Elem;

/// Joins the choices of each run of statements. `vars` are the types of all scalars.
pub(super) fn choices(steps: &mut [Step], vars: &[Elem]) {
    for s in steps {
        match s {
            Step::Tree(t) => t.body = joined(std::mem::take(&mut t.body), vars),
            Step::Repeat(r) => choices(&mut r.steps, vars),
            _ => {}
        }
    }
}

/// Nodes with the choices of each run of statements joined. `vars` are the types of all scalars.
pub(super) fn joined(nodes: Vec<Node>, vars: &[Elem]) -> Vec<Node> {
    let mut out = Vec::new();
    let mut run = Vec::new();
    for n in nodes {
        let n = match n {
            Node::Let(l) => {
                run.push(l);
                continue;
            }
            Node::Loop(l) => Node::Loop(Loop { body: joined(l.body, vars), ..l }),
            Node::Recurrence(r) => Node::Recurrence(Recurrence { body: joined(r.body, vars), ..r }),
            n => n,
        };
        // What a node changes is not read before it.
        out.extend(statements(std::mem::take(&mut run), vars).into_iter().map(Node::Let));
        out.push(n);
    }
    out.extend(statements(run, vars).into_iter().map(Node::Let));
    out
}

fn statements(lets: Vec<Let>, vars: &[Elem]) -> Vec<Let> {
    let mut out: Vec<Let> = Vec::new();
    // Where scalars are bound, and where the last choice by a condition is.
    let mut places: FxHashMap<Var, usize> = FxHashMap::default();
    let mut choices: FxHashMap<Atom, usize> = FxHashMap::default();
    // Where the last failure may be.
    let mut failing: Option<usize> = None;
    for l in lets {
        let fails = l.may_fail(vars);
        let earlier = match &l.exp {
            Exp::If(c, ..) => choices
                .get(c)
                .copied()
                .filter(|at| exists(&l, *at, &places) && !(fails && failing > Some(*at))),
            _ => None,
        };
        let at = earlier.unwrap_or(out.len());
        places.extend(l.vars.iter().map(|v| (*v, at)));
        if let Exp::If(c, ..) = &l.exp {
            choices.insert(*c, at);
        }
        if fails {
            failing = failing.max(Some(at));
        }
        match earlier {
            Some(at) => join(&mut out[at], l),
            None => out.push(l),
        }
    }
    for l in &mut out {
        if let Exp::If(_, yes, no) = &mut l.exp {
            branch(yes, vars);
            branch(no, vars);
        }
    }
    out
}

/// What is computed twice in a branch is computed once.
fn branch(b: &mut Branch, vars: &[Elem]) {
    let mut names = Renaming::default();
    let mut known: FxHashMap<Exp, Vec<Var>> = FxHashMap::default();
    b.block.lets.retain_mut(|l| {
        Rename(&names).binding(l);
        if let Some(vars) = known.get(&l.exp) {
            names.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
            return false;
        }
        known.insert(l.exp.clone(), l.vars.clone());
        true
    });
    b.results.iter_mut().for_each(|a| *a = renamed(&names, *a));
    b.block.lets = statements(std::mem::take(&mut b.block.lets), vars);
}

/// Whether everything that a choice uses exists at an earlier one, or is a result of that.
fn exists(l: &Let, at: usize, places: &FxHashMap<Var, usize>) -> bool {
    let mut inside = FxHashSet::default();
    l.exp.visit_bound(&mut |v| inside.extend([v]));
    let mut exists = true;
    l.exp.visit_atoms(&mut |a| {
        if let Atom::Var(v) = a {
            exists &= inside.contains(&v) || places.get(&v).is_none_or(|p| *p <= at);
        }
    });
    exists
}

/// Adds a choice to an earlier one.
fn join(earlier: &mut Let, l: Let) {
    let (Exp::If(_, yes, no), Exp::If(_, more_yes, more_no)) = (&mut earlier.exp, l.exp) else { return };
    for (b, more) in [(yes, more_yes), (no, more_no)] {
        let names: Renaming = earlier.vars.iter().copied().zip(b.results.iter().copied()).collect();
        let Branch { block: Block { lets }, results } = more;
        for mut l in lets {
            Rename(&names).binding(&mut l);
            b.block.lets.push(l);
        }
        b.results.extend(results.into_iter().map(|a| renamed(&names, a)));
    }
    earlier.vars.extend(l.vars);
}
