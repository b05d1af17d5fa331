//! Choices with one condition are one choice: states that change together are computed together.
//!
//! ```text
//! x = if c { a } else { b }; y = if c { f(x) } else { d }    is    x, y = if c { a, f(a) } else { b, d }
//! ```
//!
//! Where something stands between them that the second one needs, this has what the first one computed that takes long, and what a
//! selection by the condition is there:
//!
//! ```text
//! x = if c { u = exp(a); u * u } else { b }; .. ; z = select c a d; y = if c { s * exp(z) } else { d }
//!     is    x, v = if c { u = exp(a); u * u, u } else { b, 0 }; .. ; y = if c { s * v } else { d }
//! ```
//!
//! What may fail is not moved before something else that may: the first failure is the one that is told.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::build::{Rename, Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{Atom, Block, Branch, Exp, Let, Var};
use crate::loops::uses::each_tree;
use crate::loops::{Loop, Node, Recurrence, Step};
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// Joins the choices of each run of statements. `vars` are the types of all scalars.
pub(super) fn choices(steps: &mut [Step], vars: &mut Vec<Elem>) {
    each_tree(steps, &mut |t| t.body = joined(std::mem::take(&mut t.body), vars));
}

/// Nodes with the choices of each run of statements joined. `vars` are the types of all scalars.
pub(super) fn joined(nodes: Vec<Node>, vars: &mut Vec<Elem>) -> Vec<Node> {
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
    again(&mut out, vars);
    out
}

/// Has later choices of a row of nodes use what earlier ones by the same condition have computed.
fn again(nodes: &mut [Node], vars: &mut Vec<Elem>) {
    // What is stored is stored before it is read, once.
    let stays = !nodes.iter().any(changes);
    let mut selections: FxHashMap<Atom, [Renaming; 2]> = FxHashMap::default();
    let mut choices: FxHashMap<Atom, usize> = FxHashMap::default();
    for at in 0..nodes.len() {
        let (before, rest) = nodes.split_at_mut(at);
        let Some(Node::Let(l)) = rest.first_mut() else { continue };
        match &mut l.exp {
            Exp::Op(Op::Select, args) => {
                let chosen = selections.entry(args[0]).or_default();
                for (names, a) in chosen.iter_mut().zip(&args[1..]) {
                    let a = renamed(names, *a);
                    names.insert(l.vars[0], a);
                }
            }
            Exp::If(c, yes, no) => {
                for (b, names) in [yes, no].into_iter().zip(selections.get(c).into_iter().flatten()) {
                    b.block.lets.iter_mut().for_each(|l| Rename(names).binding(l));
                    b.results.iter_mut().for_each(|a| *a = renamed(names, *a));
                }
                if let Some(Node::Let(earlier)) = choices.get(c).map(|k| &mut before[*k]) {
                    share(earlier, l, stays, vars);
                }
                if let Exp::If(c, ..) = &l.exp {
                    choices.insert(*c, at);
                }
            }
            _ => {}
        }
    }
}

/// Whether memory is changed that may be read before.
fn changes(n: &Node) -> bool {
    match n {
        Node::Loop(l) => l.body.iter().any(changes),
        Node::Accumulate { .. } | Node::Write { .. } | Node::Recurrence(_) => true,
        Node::Let(_) | Node::Scan(_) | Node::Store { .. } => false,
    }
}

/// Gives a choice what an earlier one by the same condition computes that takes long, as results more of that. What both read is the same
/// if memory `stays` as it is.
fn share(earlier: &mut Let, later: &mut Let, stays: bool, vars: &mut Vec<Elem>) {
    let (Exp::If(_, yes, no), Exp::If(_, more_yes, more_no)) = (&mut earlier.exp, &mut later.exp) else {
        return;
    };
    let mut sides = [(yes, more_yes), (no, more_no)];
    for side in 0..2 {
        let (b, more) = &mut sides[side];
        let mut known: FxHashMap<&Exp, Var> = FxHashMap::default();
        let is_known = |e: &Exp| matches!(e, Exp::Op(..)) || stays && matches!(e, Exp::Read { .. });
        known.extend(b.block.lets.iter().filter(|l| is_known(&l.exp)).map(|l| (&l.exp, l.vars[0])));
        // Scalars of the later one by their names in the earlier one, and what it is given.
        let mut names: Renaming = earlier.vars.iter().copied().zip(b.results.iter().copied()).collect();
        let (mut given, mut results) = (Renaming::default(), Vec::new());
        more.block.lets.retain_mut(|l| {
            Rename(&given).binding(l);
            let mut alike = l.clone();
            Rename(&names).binding(&mut alike);
            let Some(same) = known.get(&alike.exp).copied() else { return true };
            names.insert(l.vars[0], Atom::Var(same));
            if !matches!(&l.exp, Exp::Op(op, _) if !op.is_cheap()) {
                return true;
            }
            let is_result = b.results.iter().position(|a| *a == Atom::Var(same)).map(|k| earlier.vars[k]);
            let is_given = || results.iter().find(|(_, given)| *given == same).map(|(v, _)| *v);
            let v = is_result.or_else(is_given).unwrap_or_else(|| {
                vars.push(vars[same.0 as usize]);
                let v = Var(vars.len() as u32 - 1);
                results.push((v, same));
                v
            });
            given.insert(l.vars[0], Atom::Var(v));
            false
        });
        more.results.iter_mut().for_each(|a| *a = renamed(&given, *a));
        for (v, same) in results {
            earlier.vars.push(v);
            for (k, (b, _)) in sides.iter_mut().enumerate() {
                let zero = Atom::Const(Const::of(vars[v.0 as usize], 0));
                b.results.push(if k == side { Atom::Var(same) } else { zero });
            }
        }
    }
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
