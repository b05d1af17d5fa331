//! Reverse mode of a block of scalar code.
//!
//! ```text
//! before   x = read A[i];  y = f(x, z);  r = if c { b1 } else { b2 }          with adjoints of some results
//! after    ... the block again (redundant execution), then backwards:
//!          (s.., contributions) = if c { b1; backwards of b1 } else { b2; backwards of b2 }
//!          x_adj += f_1(x, z) * y_adj;  z_adj += f_2(x, z) * y_adj
//!          contribution A[i] += x_adj
//! ```
//!
//! A choice within a branch is in a block that is executed again already. It is not executed a second time, or the innermost one would
//! be as often as choices are nested, but gives what its adjoint needs:
//!
//! ```text
//! before   r = if c { b1 } else { b2 }                                         in a branch
//! after    (r, kept1.., kept2..) = if c { b1; .. kept1.., 0.. } else { b2; .. 0.., kept2.. }      in its place
//!          (s.., contributions) = if c { backwards of b1 } else { backwards of b2 }
//! ```
//!
//! Cost: a constant factor of the block. A branch that was not taken contributes nothing, because its
//! adjoint is never executed. (Scalar rules: `partial`.)

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::partial::scaled;
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{ArrayId, Atom, Block, Branch, Exp, Let, Program, Var};
use crate::internal::expect;
use crate::scalar::{Op, partials};
use crate::ty::{Const, Elem, Loc};

/// An amount to be added to the adjoint of an array at an index.
#[derive(Clone, Debug)]
pub(super) struct Contribution {
    pub array: ArrayId,
    pub index: Vec<Atom>,
    pub value: Atom,
    pub loc: Loc,
}

/// Adjoints of scalars as they are collected.
#[derive(Default)]
pub(super) struct Adjoints(FxHashMap<Var, Atom>);

impl Adjoints {
    /// A scalar's adjoint so far.
    pub fn get(&self, v: Var) -> Option<Atom> {
        self.0.get(&v).copied()
    }

    /// Adds to a scalar's adjoint.
    pub fn add(&mut self, p: &mut Program, code: &mut Code, to: Atom, value: Atom) {
        if let Atom::Var(v) = to {
            let sum = match self.0.get(&v) {
                Some(old) => code.add(p, *old, value),
                None => value,
            };
            self.0.insert(v, sum);
        }
    }
}

/// The scalars of a block that depend on reads of active arrays (or on `outer` scalars that do).
pub(super) fn active_scalars(
    p: &Program,
    lets: &[Let],
    arrays: &FxHashSet<ArrayId>,
    outer: &FxHashSet<Var>,
) -> FxHashSet<Var> {
    let mut active = outer.clone();
    for l in lets {
        let depends = match &l.exp {
            Exp::Read { array, .. } => arrays.contains(array),
            Exp::StopGradient(_) | Exp::Size(_) | Exp::Inside { .. } => false,
            Exp::Op(_, args) => args.iter().any(|a| matches!(a, Atom::Var(v) if active.contains(v))),
            Exp::If(_, x, y) => [x, y].iter().any(|b| {
                let inner = active_scalars(p, &b.block.lets, arrays, &active);
                b.results.iter().any(|a| matches!(a, Atom::Var(v) if inner.contains(v)))
            }),
        };
        if depends {
            active.extend(l.vars.iter().filter(|v| p.vars[v.0 as usize].is_float()));
        }
    }
    active
}

/// Goes through `lets` (already executed in `code`) backwards. `adjoints` holds the seeds and afterwards also the adjoints
/// of free scalars.
pub(super) fn backwards(
    p: &mut Program,
    code: &mut Code,
    lets: &[Let],
    arrays: &FxHashSet<ArrayId>,
    active: &FxHashSet<Var>,
    adjoints: &mut Adjoints,
    out: &mut Vec<Contribution>,
) {
    Backwards { p, code, arrays, active, adjoints, out, executed: Executed::Recomputed }.lets(lets);
}

/// How a choice's branches are there for its adjoint.
#[derive(Clone, Copy, PartialEq)]
enum Executed {
    /// They are executed again.
    Recomputed,
    /// The choice is in `code`, and gives what its adjoint needs.
    Kept,
}

/// The way back through scalar code.
struct Backwards<'a> {
    p: &'a mut Program,
    code: &'a mut Code,
    /// The arrays whose adjoints are wanted.
    arrays: &'a FxHashSet<ArrayId>,
    /// The scalars whose adjoints are.
    active: &'a FxHashSet<Var>,
    adjoints: &'a mut Adjoints,
    out: &'a mut Vec<Contribution>,
    executed: Executed,
}

impl Backwards<'_> {
    fn lets(&mut self, lets: &[Let]) {
        for l in lets.iter().rev() {
            self.code.loc = l.loc;
            match &l.exp {
                Exp::Op(op, args) => {
                    let v = l.vars[0];
                    let adjoint = self.adjoints.get(v).filter(|_| self.active.contains(&v));
                    if let Some(d) = adjoint {
                        self.operation(*op, args, Atom::Var(v), d);
                    }
                }
                Exp::Read { array, index, .. } => {
                    let adjoint = self.adjoints.get(l.vars[0]).filter(|_| self.arrays.contains(array));
                    if let Some(value) = adjoint {
                        self.contribute(Contribution {
                            array: *array,
                            index: index.clone(),
                            value,
                            loc: l.loc,
                        });
                    }
                }
                Exp::If(c, x, y) => self.choice(l, *c, [x, y]),
                Exp::Size(_) | Exp::Inside { .. } | Exp::StopGradient(_) => {}
            }
        }
    }

    fn add(&mut self, to: Atom, value: Atom) {
        self.adjoints.add(self.p, self.code, to, value);
    }

    /// Contributions to one element are summed before they leave the nest.
    fn contribute(&mut self, c: Contribution) {
        match self.out.iter_mut().find(|o| o.array == c.array && o.index == c.index) {
            Some(o) => o.value = self.code.add(self.p, o.value, c.value),
            None => self.out.push(c),
        }
    }

    /// Each argument's adjoint gets the partial derivative by it times the result's.
    fn operation(&mut self, op: Op, args: &[Atom], result: Atom, d: Atom) {
        let active = self.active;
        let wanted = |a: &Atom| matches!(a, Atom::Var(v) if active.contains(v));
        if let Op::Cast(_) = op {
            if wanted(&args[0]) {
                let elem = self.p.elem(args[0]);
                let back = self.code.op(self.p, Op::Cast(elem), &[d]);
                self.add(args[0], back);
            }
            return;
        }
        // It is the identity forward, so the table's partial is none of reverse mode.
        let d = if op == Op::Mirror { self.code.op(self.p, Op::Neg, &[d]) } else { d };
        for (a, partial) in args.iter().zip(partials(op)) {
            if wanted(a)
                && let Some(v) = scaled(self.p, self.code, d, partial, args, result, op)
            {
                self.add(*a, v);
            }
        }
    }

    /// A choice between the adjoints of its branches.
    fn choice(&mut self, l: &Let, c: Atom, branches: [&Branch; 2]) {
        let seeds: Vec<Option<Atom>> = l.vars.iter().map(|v| self.adjoints.get(*v)).collect();
        if seeds.iter().all(Option::is_none) {
            return;
        }
        let mut sides: Vec<BranchAdjoint> = branches.into_iter().map(|b| self.side(l, b, &seeds)).collect();
        let recomputed = match self.executed {
            Executed::Recomputed => sides.iter_mut().map(|s| std::mem::take(&mut s.primal)).collect(),
            Executed::Kept => {
                keep_needed(self.p, self.code, l, &mut sides);
                vec![Vec::new(); sides.len()]
            }
        };
        for (side, mut lets) in sides.iter_mut().zip(recomputed) {
            lets.append(&mut side.adjoint);
            side.adjoint = lets;
        }
        let Outputs { elems, results, free, contributions } = Outputs::of(self.p, &sides);
        if elems.is_empty() {
            return;
        }
        let vars: Vec<Var> = elems.iter().map(|e| self.p.new_var(*e)).collect();
        let mut make = results
            .into_iter()
            .zip(sides)
            .map(|(results, side)| Branch { block: Block { lets: side.adjoint }, results });
        let [x, y] = [make.next(), make.next()].map(|b| expect(b, || "an `if` with one branch".into()));
        self.code.lets.push(Let { vars: vars.clone(), exp: Exp::If(c, x, y), loc: l.loc });
        let mut vars = vars.into_iter().map(Atom::Var);
        let mut next = || expect(vars.next(), || "fewer adjoints than the branches give".into());
        for v in free {
            self.add(Atom::Var(v), next());
        }
        for (mut k, local) in contributions {
            for (a, _) in k.index.iter_mut().zip(&local).filter(|(_, l)| **l) {
                *a = next();
            }
            k.value = next();
            self.contribute(k);
        }
    }

    /// A branch of a choice, and its adjoint.
    fn side(&mut self, l: &Let, b: &Branch, seeds: &[Option<Atom>]) -> BranchAdjoint {
        let (mut inner, mut map) = (Code::new(l.loc), Renaming::default());
        let lets = match self.executed {
            Executed::Recomputed => self.p.copy_lets(&b.block.lets, &mut map),
            Executed::Kept => b.block.lets.clone(),
        };
        let own: FxHashSet<Var> = lets.iter().flat_map(|l| l.vars.iter().copied()).collect();
        inner.lets = lets.clone();
        let inside = active_scalars(self.p, &lets, self.arrays, self.active);
        let (mut adjoints, mut contributions) = (Adjoints::default(), Vec::new());
        for (r, s) in b.results.iter().zip(seeds) {
            let r = renamed(&map, *r);
            let is_active = matches!(r, Atom::Var(v) if inside.contains(&v));
            if let (Some(s), true) = (s, is_active) {
                adjoints.add(self.p, &mut inner, r, *s);
            }
        }
        Backwards {
            p: self.p,
            code: &mut inner,
            arrays: self.arrays,
            active: &inside,
            adjoints: &mut adjoints,
            out: &mut contributions,
            executed: Executed::Kept,
        }
        .lets(&lets);
        let leaves = |v: &Var| !own.contains(v) && self.active.contains(v);
        let free = adjoints.0.into_iter().filter(|(v, _)| leaves(v)).collect();
        let adjoint = inner.lets.split_off(lets.len());
        BranchAdjoint { primal: inner.lets, adjoint, free, contributions }
    }
}

/// What leaves the adjoints of two branches.
struct Outputs {
    /// The types of what each branch gives.
    elems: Vec<Elem>,
    /// What each gives: first the adjoints of free scalars, then for each contribution the indices that only its branch knows (the
    /// other one gives -1, which is ignored) and its value.
    results: Vec<Vec<Atom>>,
    free: Vec<Var>,
    /// With which of their indices are among the results.
    contributions: Vec<(Contribution, Vec<bool>)>,
}

impl Outputs {
    fn of(p: &Program, sides: &[BranchAdjoint]) -> Outputs {
        let mut free: Vec<Var> = sides.iter().flat_map(|s| s.free.keys().copied()).collect();
        free.sort();
        free.dedup();
        let mut results: Vec<Vec<Atom>> = vec![Vec::new(); 2];
        let mut elems: Vec<Elem> = Vec::new();
        for v in &free {
            let elem = p.vars[v.0 as usize];
            elems.push(elem);
            for (side, r) in sides.iter().zip(&mut results) {
                r.push(side.free.get(v).copied().unwrap_or(Atom::Const(Const::of(elem, 0))));
            }
        }
        let mut contributions: Vec<(Contribution, Vec<bool>)> = Vec::new();
        for (i, side) in sides.iter().enumerate() {
            let bound = side.bound();
            for k in &side.contributions {
                let local: Vec<bool> =
                    k.index.iter().map(|a| matches!(a, Atom::Var(v) if bound.contains(v))).collect();
                for (a, _) in k.index.iter().zip(&local).filter(|(_, l)| **l) {
                    elems.push(Elem::I64);
                    results[i].push(*a);
                    results[1 - i].push(int(-1));
                }
                let elem = p.elem(k.value);
                elems.push(elem);
                results[i].push(k.value);
                results[1 - i].push(Atom::Const(Const::of(elem, 0)));
                contributions.push((k.clone(), local));
            }
        }
        Outputs { elems, results, free, contributions }
    }
}

/// The adjoint of a branch, with what leaves it.
struct BranchAdjoint {
    /// The branch itself.
    primal: Vec<Let>,
    adjoint: Vec<Let>,
    /// Adjoints of scalars bound outside.
    free: BTreeMap<Var, Atom>,
    contributions: Vec<Contribution>,
}

impl BranchAdjoint {
    /// The scalars bound in the adjoint.
    fn bound(&self) -> FxHashSet<Var> {
        self.adjoint.iter().flat_map(|l| l.vars.iter().copied()).collect()
    }

    /// The scalars of the branch that the adjoint uses, in the order of the branch.
    fn needed(&self) -> Vec<Var> {
        let mut used = FxHashSet::default();
        let mut uses = |a: Atom| {
            if let Atom::Var(v) = a {
                used.insert(v);
            }
        };
        self.adjoint.iter().for_each(|l| l.exp.visit_atoms(&mut uses));
        self.free.values().for_each(|a| uses(*a));
        self.contributions.iter().for_each(|c| c.index.iter().chain([&c.value]).for_each(|a| uses(*a)));
        self.primal.iter().flat_map(|l| &l.vars).copied().filter(|v| used.contains(v)).collect()
    }

    fn rename(&mut self, map: &Renaming) {
        self.adjoint.iter_mut().for_each(|l| l.exp = l.exp.renamed(map));
        self.free.values_mut().for_each(|a| *a = renamed(map, *a));
        for c in &mut self.contributions {
            c.index.iter_mut().chain([&mut c.value]).for_each(|a| *a = renamed(map, *a));
        }
    }
}

/// Has a choice in `code` give what the adjoints of its branches need of them. Both branches use the same results: only those
/// of the one that is taken are of use. Of the other a number is zero, and an index is outside.
fn keep_needed(p: &mut Program, code: &mut Code, l: &Let, sides: &mut [BranchAdjoint]) {
    let needed: Vec<Vec<Var>> = sides.iter().map(BranchAdjoint::needed).collect();
    let mut vars = l.vars.clone();
    let mut results: [Vec<Atom>; 2] = [Vec::new(), Vec::new()];
    let Exp::If(c, x, y) = &l.exp else { return };
    for (k, (own, branch)) in needed.iter().zip([x, y]).enumerate() {
        let mut map = Renaming::default();
        // The results that the first branch has added, which the second one may use as well.
        let mut free: Vec<usize> = (l.vars.len()..vars.len()).collect();
        for v in own {
            let elem = p.vars[v.0 as usize];
            if let Some(i) = branch.results.iter().position(|r| *r == Atom::Var(*v)) {
                map.insert(*v, Atom::Var(vars[i]));
                continue;
            }
            let at = match free.iter().position(|i| p.vars[vars[*i].0 as usize] == elem) {
                Some(i) => free.remove(i),
                None => {
                    vars.push(p.new_var(elem));
                    let none = if elem == Elem::I64 { int(-1) } else { Atom::Const(Const::of(elem, 0)) };
                    results.iter_mut().for_each(|r| r.push(none));
                    vars.len() - 1
                }
            };
            results[k][at - l.vars.len()] = Atom::Var(*v);
            map.insert(*v, Atom::Var(vars[at]));
        }
        sides[k].rename(&map);
    }
    let mut branches = sides.iter_mut().zip([x, y]).zip(results).map(|((side, branch), more)| Branch {
        block: Block { lets: std::mem::take(&mut side.primal) },
        results: branch.results.iter().copied().chain(more).collect(),
    });
    let [x, y] = [branches.next(), branches.next()].map(|b| expect(b, || "an `if` with one branch".into()));
    let executed = code.lets.iter_mut().find(|x| x.vars == l.vars);
    let executed = expect(executed, || "a choice whose adjoint is wanted is not executed".into());
    (executed.vars, executed.exp) = (vars, Exp::If(*c, x, y));
}
