//! Reductions along long axes at each place of a short one, as several reductions of one nest.
//!
//! ```text
//! before   f = nest [i, c < 3, j] { u(i, j); v(u, c) } reduce(+) over j                              f: [n][3]
//! after    f0, f1, f2 = nest [i, j] { u(i, j); v(u, 0); v(u, 1); v(u, 2) } reduce(+) over j
//!          f = nest [i, c < 3] { if c == 0 { f0[i] } else if c == 1 { f1[i] } else { f2[i] } }
//! ```
//!
//! What does not depend on the short axis, the force between two points whatever its components, is then computed once where it is
//! needed, and not stored for all pairs of points to be read for each component. A nest is rewritten if there is such work: several
//! operations, or elements that another nest makes. This is a step before scheduling: rules of derivatives see one reduction.

use rustc_hash::FxHashSet;

use super::Sequence;
use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::{ArrayId, Atom, Block, Branch, Exp, Let, Nest, Program, Stm, Var, Yield, YieldKind};
use crate::scalar::Op;
use crate::ty::Const;

/// The longest axis that is short.
const SHORT: i64 = 4;
/// The most reductions of one nest.
const MOST: usize = 12;
/// The most statements that are there for each place.
const LONGEST: usize = 64;
/// So many operations are worth to be done once.
const MUCH: usize = 8;

/// Rewrites what there is; whether there was any.
pub fn jam(p: &mut Program) -> bool {
    let before = p.arrays.len();
    Sequence::run(p, list);
    p.arrays.len() > before
}

fn list(seq: &mut Sequence, p: &mut Program) {
    let mut made: FxHashSet<ArrayId> = FxHashSet::default();
    for s in std::mem::take(&mut seq.stms) {
        let Stm::Nest(mut n) = s else {
            seq.stms.push(s);
            continue;
        };
        let is_stored = |y: &&Yield| matches!(y.kind, YieldKind::Store(_));
        made.extend(n.yields.iter().filter(is_stored).map(|y| y.array));
        let mut whole = Vec::new();
        while let Some((several, results)) = jammed(p, &n, &made) {
            n = several;
            whole.extend(results);
        }
        // Those of the last short axis are what the others are made of.
        seq.stms.extend([Stm::Nest(n)].into_iter().chain(whole.into_iter().rev().map(Stm::Nest)));
    }
}

/// The nest with a reduction for each place of a short axis, and what makes its results of these.
fn jammed(p: &mut Program, n: &Nest, made: &FxHashSet<ArrayId>) -> Option<(Nest, Vec<Nest>)> {
    let over = match n.yields.first()?.kind {
        YieldKind::Reduce { over, .. } if !n.body.is_ordered() => over,
        _ => return None,
    };
    let alike = |y: &Yield| matches!(y.kind, YieldKind::Reduce { over: o, reducer, .. } if o == over && reducer.op().is_some());
    let (outer, inner) = n.axes.split_at(n.axes.len() - over);
    let is_long = inner.iter().any(|a| a.extent.as_constant().is_none());
    let at = outer.iter().rposition(|a| a.extent.as_constant().is_some_and(|e| (2..=SHORT).contains(&e)))?;
    let places = outer[at].extent.as_constant()?;
    let lets = n.body.unordered();
    if !is_long
        || !n.yields.iter().all(alike)
        || n.yields.len() * places as usize > MOST
        || lets.len() > LONGEST
    {
        return None;
    }
    let mut parts =
        Parts { p, varies: [outer[at].var].into_iter().collect(), once: Vec::new(), each: Vec::new() };
    lets.iter().for_each(|l| parts.binding(l));
    let Parts { once, each, .. } = parts;
    if !is_worth_it(&once, made) {
        return None;
    }
    let mut body = once;
    let mut yields = Vec::new();
    let mut arrays: Vec<Vec<ArrayId>> = vec![Vec::new(); n.yields.len()];
    for place in 0..places {
        let mut map: Renaming = [(outer[at].var, int(place))].into_iter().collect();
        body.extend(p.copy_lets(&each, &mut map));
        for (y, made) in n.yields.iter().zip(&mut arrays) {
            let info = p.array(y.array).clone();
            let mut dims = info.dims;
            dims.remove(at);
            let array = p.new_array(info.name, info.elem, dims);
            let mut kind = y.kind.clone();
            kind.rename(&map);
            yields.push(Yield { array, kind });
            made.push(array);
        }
    }
    let mut axes = n.axes.clone();
    axes.remove(at);
    let whole = n.yields.iter().zip(&arrays).map(|(y, parts)| joined(p, n, y.array, at, parts)).collect();
    Some((Nest { axes, body: body.into(), yields, loc: n.loc }, whole))
}

/// The array of which each place of a short axis has been made on its own.
fn joined(p: &mut Program, n: &Nest, array: ArrayId, at: usize, parts: &[ArrayId]) -> Nest {
    let dims = p.array(array).dims.clone();
    let axes = p.new_axes(&dims);
    let mut index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
    let place = index.remove(at);
    let (elem, loc) = (p.array(array).elem, n.loc);
    let mut code = Code::new(loc);
    let mut chosen: Option<(Block, Atom)> = None;
    for (k, part) in parts.iter().enumerate().rev() {
        let mut taken = Code::new(loc);
        let value = taken.read(p, *part, &index);
        let taken = Block { lets: taken.lets };
        chosen = Some(match chosen {
            None => (taken, value),
            Some((rest, other)) => {
                let mut test = Code::new(loc);
                let is_here = test.op(p, Op::Eq, &[place, int(k as i64)]);
                let yes = Branch { block: taken, results: vec![value] };
                let no = Branch { block: rest, results: vec![other] };
                let value = test.bind(p, elem, Exp::If(is_here, yes, no));
                (Block { lets: test.lets }, value)
            }
        });
    }
    let (block, value) = chosen.unwrap_or_else(|| (Block::default(), Atom::Const(Const::of(elem, 0))));
    code.lets.extend(block.lets);
    Nest { axes, body: code.into(), yields: vec![Yield { array, kind: YieldKind::Store(value) }], loc }
}

/// Code in two: what does not vary along an axis, and what does.
struct Parts<'a> {
    p: &'a mut Program,
    varies: FxHashSet<Var>,
    once: Vec<Let>,
    each: Vec<Let>,
}

impl Parts<'_> {
    fn depends(&self, l: &Let) -> bool {
        let mut depends = false;
        l.exp.visit_atoms(&mut |a| depends |= a.var().is_some_and(|v| self.varies.contains(&v)));
        depends
    }

    fn binding(&mut self, l: &Let) {
        if !self.depends(l) {
            self.once.push(l.clone());
            return;
        }
        let mut l = l.clone();
        if let Exp::If(c, yes, no) = &mut l.exp
            && c.var().is_none_or(|v| !self.varies.contains(&v))
        {
            for (branch, when) in [(yes, true), (no, false)] {
                self.branch(*c, when, branch);
            }
        }
        self.varies.extend(&l.vars);
        self.each.push(l);
    }

    /// A branch without what does not vary in it, which is a choice of its own.
    fn branch(&mut self, c: Atom, when: bool, b: &mut Branch) {
        let mut inner = Parts { p: self.p, varies: self.varies.clone(), once: Vec::new(), each: Vec::new() };
        b.block.lets.iter().for_each(|l| inner.binding(l));
        let Parts { once, each, varies, .. } = inner;
        let mut needed: Vec<Var> = Vec::new();
        let bound: FxHashSet<Var> = once.iter().flat_map(|l| &l.vars).copied().collect();
        let mut need = |a: Atom| needed.extend(a.var().filter(|v| bound.contains(v)));
        each.iter().for_each(|l| l.exp.visit_atoms(&mut need));
        b.results.iter().for_each(|a| need(*a));
        needed.sort();
        needed.dedup();
        self.varies = varies;
        if needed.is_empty() {
            return;
        }
        let new: Vec<Var> = needed.iter().map(|v| self.p.new_var(self.p.vars[v.0 as usize])).collect();
        let zero = |v: &Var| Atom::Const(Const::of(self.p.vars[v.0 as usize], 0));
        let none = Branch { block: Block::default(), results: needed.iter().map(zero).collect() };
        let values = needed.iter().map(|v| Atom::Var(*v)).collect();
        let some = Branch { block: Block { lets: once }, results: values };
        let exp = if when { Exp::If(c, some, none) } else { Exp::If(c, none, some) };
        let loc = b.block.lets.first().map(|l| l.loc).unwrap_or_default();
        self.once.push(Let { vars: new.clone(), exp, loc });
        let names: Renaming = needed.iter().copied().zip(new.iter().map(|v| Atom::Var(*v))).collect();
        b.block.lets = each.into_iter().map(|l| Let { exp: l.exp.renamed(&names), ..l }).collect();
        b.results.iter_mut().for_each(|a| *a = renamed(&names, *a));
    }
}

/// Whether code does so much that it is better done once: several operations, or it reads what another nest makes.
fn is_worth_it(once: &[Let], made: &FxHashSet<ArrayId>) -> bool {
    fn weight(lets: &[Let], made: &FxHashSet<ArrayId>) -> usize {
        let each = |l: &Let| match &l.exp {
            Exp::Read { array, index, .. } if made.contains(array) && !index.is_empty() => MUCH,
            Exp::If(_, x, y) => weight(&x.block.lets, made) + weight(&y.block.lets, made),
            Exp::Op(..) => l.exp.weight(),
            _ => 0,
        };
        lets.iter().map(each).sum()
    }
    weight(once, made) >= MUCH
}
