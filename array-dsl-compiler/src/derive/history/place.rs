//! Where a nest writes: stored as it was, or computed again.
//!
//! What is written under a condition is written at -1 where that does not hold. Its place is taken as if it were always written: where
//! it was not, the old value is still there, and writing it back changes nothing.

use rustc_hash::FxHashSet;

use super::Trip;
use crate::bulk::build::{Code, Redirect, Renaming, int, renamed};
use crate::bulk::live::live_lets;
use crate::bulk::uses::scalars;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Axis, Block, Exp, Let, Nest, Program};
use crate::scalar::Op;
use crate::ty::{Elem, Loc};

/// Where it wrote.
#[derive(Clone)]
pub(super) enum Place {
    /// One array for each component of the index.
    Stored(Vec<ArrayId>),
    /// The code of the index, which uses nothing that the loops make but the numbers of their trips.
    Recomputed(PlaceCode),
}

/// The code of a nest's index.
#[derive(Clone)]
pub(super) struct PlaceCode {
    axes: Vec<Axis>,
    lets: Vec<Let>,
    index: Vec<Atom>,
}

impl PlaceCode {
    /// What the index needs of the nest's code.
    pub fn new(n: &Nest, index: &[Atom]) -> PlaceCode {
        let (index, code) = unconditional(n, index);
        let mut needed: FxHashSet<Atom> = index.iter().copied().collect();
        code.iter().for_each(|l| {
            l.exp.visit_atoms(&mut |a| {
                needed.insert(a);
            });
        });
        let mut lets = Vec::new();
        for l in n.body.unordered().into_iter().rev() {
            if l.vars.iter().any(|v| needed.contains(&Atom::Var(*v))) {
                l.exp.visit_atoms(&mut |a| {
                    needed.insert(a);
                });
                lets.push(l);
            }
        }
        lets.reverse();
        lets.extend(code);
        PlaceCode { axes: n.axes.clone(), lets, index }
    }

    /// Whether it uses nothing of these arrays.
    pub fn is_known(&self, made: &FxHashSet<ArrayId>) -> bool {
        let body = Block { lets: self.lets.clone() };
        let mut known = true;
        body.visit_reads(&mut |a, _| known &= !made.contains(&a));
        body.visit_sizes(&mut |d| known &= !scalars(d).any(|a| made.contains(&a)));
        known
    }

    /// Where in the source the nest itself reads the element that it overwrites, if it compares this index before all else that may fail:
    /// who reads that element before it reports the same index outside, and first.
    pub fn compared(&self, n: &Nest, into: ArrayId, vars: &[Elem]) -> Option<Loc> {
        for l in n.body.unordered() {
            match &l.exp {
                Exp::Read { array, index, checked: true } if *array == into && *index == self.index => {
                    return Some(l.loc);
                }
                _ if l.may_fail(vars) && !self.lets.contains(&l) => return None,
                _ => {}
            }
        }
        None
    }

    /// The index at a point of a trip.
    pub fn at(&self, p: &mut Program, code: &mut Code, point: &[Atom], trip: &Trip) -> Vec<Atom> {
        let mut map: Renaming = self.axes.iter().map(|a| a.var).zip(point.iter().copied()).collect();
        let mut lets = p.copy_lets(&self.lets, &mut map);
        lets.iter_mut().for_each(|l| Redirect(&trip.again).binding(l));
        code.lets.extend(lets);
        self.index.iter().map(|a| renamed(&map, *a)).collect()
    }
}

/// The index of a write that is made under a condition, and else at -1, if it were made always; with the code of branches that it
/// needs.
pub(super) fn unconditional(n: &Nest, index: &[Atom]) -> (Vec<Atom>, Vec<Let>) {
    let mut code: Vec<Let> = Vec::new();
    let mut index = index.to_vec();
    for a in &mut index {
        while let Some((always, lets)) = if_taken(n, &code, *a) {
            *a = always;
            code.extend(lets);
        }
    }
    (index, code)
}

/// What an integer is that is -1 in the other branch of a choice, and the code of its branch that it needs, if that may be executed
/// whatever is chosen.
fn if_taken(n: &Nest, code: &[Let], a: Atom) -> Option<(Atom, Vec<Let>)> {
    let v = a.var()?;
    let defines = |l: &&Let| l.vars.contains(&v);
    let l = n.body.lets().find(defines).or_else(|| code.iter().find(defines))?;
    let none = int(-1);
    match &l.exp {
        Exp::Op(Op::Select, args) if args[2] == none => Some((args[1], Vec::new())),
        Exp::Op(Op::Select, args) if args[1] == none => Some((args[2], Vec::new())),
        Exp::If(_, x, y) => {
            let k = l.vars.iter().position(|w| *w == v)?;
            let (b, other) = if y.results[k] == none { (x, y) } else { (y, x) };
            let mut live = b.results[k].var().into_iter().collect();
            let lets = live_lets(b.block.lets.clone(), &mut live);
            let harmless = |l: &Let| match &l.exp {
                Exp::Op(op, _) => !op.can_fail(),
                Exp::Size(_) => true,
                Exp::Read { index, .. } => index.is_empty(),
                _ => false,
            };
            (other.results[k] == none && lets.iter().all(harmless)).then_some((b.results[k], lets))
        }
        _ => None,
    }
}
