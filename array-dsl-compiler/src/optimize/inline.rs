//! Producers into their consumers.
//!
//! ```text
//! before   t = nest [a..] { body } store v          ... t[e..] ...
//! after    ... body with a.. = e..; v ...
//! ```
//!
//! A read is replaced when that repeats no work: the producer is **free** (a constant, index arithmetic, one read
//! of another array), or it has this one reader and the reader's points each want another element (every axis
//! of the reader occurs in the index), or it is a few arithmetic operations and the reader has no more points
//! than elements. Reads that may be outside are left alone. So is what was read of an array before elements of it were written or
//! added to: read later it would need the array as it was, which then could not be changed in place.

use std::collections::{HashMap, HashSet};

use super::Sequence;
use crate::affine::{Checked, Facts};
use crate::bulk::build::Renaming;
use crate::bulk::build::renamed;
use crate::bulk::{ArrayId, Atom, Axis, Block, Exp, Let, Program, Stm, Var, YieldKind};

/// A repeated producer may cost this much.
const CHEAP: usize = 6;

/// Inlines wherever it pays.
pub(super) fn inline(b: &mut Sequence, p: &mut Program) {
    let uses = uses(&b.stms);
    let params: HashSet<ArrayId> = p.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
    let mut producers: HashMap<ArrayId, Producer> = HashMap::new();
    for s in &mut b.stms {
        if let Stm::Nest(n) = s {
            let axes: HashSet<Var> = n.axes.iter().map(|a| a.var).collect();
            let mut facts = Facts::new(&n.axes, &Checked::default());
            let lets = std::mem::take(&mut n.body.lets);
            n.body.lets = block(p, lets, &axes, &mut facts, &producers, &mut Renaming::new(), &mut n.yields);
            for y in &n.yields {
                if let YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } = &y.kind
                    && !params.contains(into)
                {
                    producers.retain(|_, q| !q.reads(*into));
                }
                // A scan's element is not computed from its indices alone.
                if n.body.is_ordered() {
                    continue;
                }
                if let YieldKind::Store(v) = &y.kind {
                    let cost = cost(&n.body);
                    let single =
                        uses.get(&y.array).copied().unwrap_or(0) == 1 && !b.results.contains(&y.array);
                    let producer =
                        Producer { axes: n.axes.clone(), body: n.body.clone(), value: *v, cost, single };
                    producers.insert(y.array, producer);
                }
            }
        }
    }
}

struct Producer {
    axes: Vec<Axis>,
    body: Block,
    value: Atom,
    /// `None`: free.
    cost: Option<usize>,
    /// There is one reader.
    single: bool,
}

impl Producer {
    fn reads(&self, array: ArrayId) -> bool {
        let mut found = false;
        self.body.visit_reads(&mut |a, _| found |= a == array);
        found
    }
}

/// How many places use an array: reads in nests, and other statements. Equal reads count once where one is executed before the
/// other; in two branches of a choice each has a place of its own, and what is inlined there is there twice.
fn uses(stms: &[Stm]) -> HashMap<ArrayId, usize> {
    let mut out: HashMap<ArrayId, usize> = HashMap::new();
    for s in stms {
        match s {
            Stm::Nest(n) => {
                places(&n.body, &mut HashSet::new(), &mut out);
                for y in &n.yields {
                    if let YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } = &y.kind {
                        *out.entry(*into).or_default() += 2;
                    }
                }
            }
            s => s.inputs().into_iter().for_each(|a| *out.entry(a).or_default() += 2),
        }
    }
    out
}

fn places(b: &Block, seen: &mut HashSet<(ArrayId, Vec<Atom>)>, out: &mut HashMap<ArrayId, usize>) {
    let mut new = Vec::new();
    for l in &b.lets {
        match &l.exp {
            Exp::Read { array, index, .. } => {
                let place = (*array, index.clone());
                if seen.insert(place.clone()) {
                    *out.entry(*array).or_default() += 1;
                    new.push(place);
                }
            }
            Exp::If(_, x, y) => [x, y].iter().for_each(|b| places(&b.block, seen, out)),
            Exp::Scan(s) => places(&s.step.block, seen, out),
            _ => {}
        }
    }
    for place in &new {
        seen.remove(place);
    }
}

/// Whether a body is executed wherever its result is read, rather than once and stored. Who stores it undoes that.
pub(super) fn is_free(b: &Block) -> bool {
    cost(b).is_none()
}

/// The work of a body, or `None` if it is free.
fn cost(b: &Block) -> Option<usize> {
    fn count(b: &Block) -> (usize, usize) {
        let (mut ops, mut reads) = (0, 0);
        for l in &b.lets {
            match &l.exp {
                Exp::Op(op, _) => ops += if op.is_cheap() { 1 } else { 20 },
                Exp::Read { .. } => reads += 1,
                Exp::If(_, x, y) => {
                    let ((a, r), (c, s)) = (count(&x.block), count(&y.block));
                    ops += 1 + a + c;
                    reads += r + s;
                }
                Exp::Size(_) | Exp::StopGradient(_) | Exp::Scan(_) => {}
            }
        }
        (ops, reads)
    }
    let index_only = b.lets.iter().all(|l| match &l.exp {
        Exp::Op(op, _) => op.is_cheap(),
        Exp::Read { .. } | Exp::Size(_) => true,
        _ => false,
    });
    let (ops, reads) = count(b);
    // One read at computed indices, or none: a gather, a transpose, a constant.
    if index_only && ((reads == 0 && ops <= 2) || (reads == 1 && read_is_last(b))) {
        return None;
    }
    Some(ops + reads)
}

/// Whether the body only computes indices and then reads.
fn read_is_last(b: &Block) -> bool {
    matches!(b.lets.last(), Some(Let { exp: Exp::Read { .. }, .. }))
}

fn block(
    p: &mut Program,
    lets: Vec<Let>,
    axes: &HashSet<Var>,
    facts: &mut Facts,
    producers: &HashMap<ArrayId, Producer>,
    map: &mut Renaming,
    yields: &mut [crate::bulk::Yield],
) -> Vec<Let> {
    let mut out = Vec::new();
    for mut l in lets {
        l.exp = l.exp.renamed(map);
        match &mut l.exp {
            Exp::Read { array, index, checked: false } => {
                if let Some(q) = producers.get(array).filter(|q| pays(q, index, axes, facts)) {
                    let mut inner = Renaming::new();
                    for (a, i) in q.axes.iter().zip(index.iter()) {
                        inner.insert(a.var, *i);
                    }
                    let copied = p.copy_lets(&q.body.lets, &mut inner);
                    copied.iter().for_each(|l| facts.learn((&*p).into(), l));
                    out.extend(copied);
                    map.insert(l.vars[0], renamed(&inner, q.value));
                    continue;
                }
            }
            Exp::If(_, x, y) => {
                for b in [x, y] {
                    let scope = facts.scope();
                    let lets = std::mem::take(&mut b.block.lets);
                    b.block.lets = block(p, lets, axes, facts, producers, map, &mut []);
                    b.results.iter_mut().for_each(|a| *a = renamed(map, *a));
                    facts.leave(scope);
                }
            }
            Exp::Scan(s) => {
                let scope = facts.scope();
                let lets = std::mem::take(&mut s.step.block.lets);
                s.step.block.lets = block(p, lets, axes, facts, producers, map, &mut []);
                s.step.results.iter_mut().for_each(|a| *a = renamed(map, *a));
                facts.leave(scope);
            }
            _ => {}
        }
        facts.learn((&*p).into(), &l);
        out.push(l);
    }
    for y in yields {
        y.kind.rename(map);
    }
    out
}

fn pays(q: &Producer, index: &[Atom], axes: &HashSet<Var>, facts: &Facts) -> bool {
    let Some(cost) = q.cost else { return true };
    // Each point of the reader wants another element.
    facts.tells_all(index, axes) && (q.single || cost <= CHEAP)
}
