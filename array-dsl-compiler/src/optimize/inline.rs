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
//! added to, or a loop started from it: read later it would need the array as it was, which then could not be changed in place.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use crate::affine::{Checked, Facts};
use crate::bulk::build::{Rename, Renaming, renamed};
use crate::bulk::live::made_without_scans;
use crate::bulk::walk::{Rewriter, Visitor};
use crate::bulk::{ArrayId, Atom, Axis, Block, Body, Branch, Exp, Item, Let, Program, Stm, Var, YieldKind};
use crate::scalar::Op;

/// A repeated producer may cost this much.
const CHEAP: usize = 6;

/// Inlines wherever it pays.
pub(super) fn inline(seq: &mut Sequence, p: &mut Program) {
    let uses = uses(&seq.stms);
    let results: FxHashSet<ArrayId> = seq.results.iter().copied().collect();
    let single = |array| uses.get(&array).copied().unwrap_or(0) == 1 && !results.contains(&array);
    let mut pays = |r: &Read<'_>| {
        let Some(cost) = r.producer.cost else { return true };
        // Each point of the reader wants another element.
        (cost <= CHEAP || single(r.array)) && r.facts.tells_all(r.index, r.axes)
    };
    replace(seq, p, &mut pays);
}

/// A read of what a nest has stored.
pub(super) struct Read<'a> {
    pub array: ArrayId,
    pub index: &'a [Atom],
    pub producer: &'a Producer,
    /// The axes of the reader, in order and as a set, and what is known where it reads.
    pub order: &'a [Axis],
    pub axes: &'a FxHashSet<Var>,
    pub facts: &'a Facts,
    pub program: &'a Program,
}

/// Replaces the reads for which that pays by what they read.
pub(super) fn replace(seq: &mut Sequence, p: &mut Program, pays: &mut dyn FnMut(&Read<'_>) -> bool) {
    let params: FxHashSet<ArrayId> = p.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
    let mut producers: FxHashMap<ArrayId, Producer> = FxHashMap::default();
    for s in &mut seq.stms {
        if let Stm::Repeat(r) = s {
            let starts = r.carried.iter().map(|c| c.start).filter(|a| !params.contains(a));
            starts.for_each(|a| producers.retain(|_, q| !q.reads(a)));
        }
        if let Stm::Nest(n) = s {
            let axes: FxHashSet<Var> = n.axes.iter().map(|a| a.var).collect();
            let facts = Facts::new(&n.axes, &Checked::default());
            let names = Renaming::default();
            let mut reader =
                Reader { p, order: &n.axes, axes: &axes, facts, producers: &producers, names, pays };
            n.body = reader.body(std::mem::take(&mut n.body));
            n.yields.iter_mut().for_each(|y| y.kind.rename(&reader.names));
            for y in &n.yields {
                if let YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } = &y.kind
                    && !params.contains(into)
                {
                    producers.retain(|_, q| !q.reads(*into));
                }
                if let YieldKind::Store(v) = &y.kind {
                    let Some(lets) = alone(&n.body, *v) else { continue };
                    let code = Block { lets };
                    let cost = cost(&code);
                    producers.insert(y.array, Producer { axes: n.axes.clone(), code, value: *v, cost });
                }
            }
        }
    }
}

/// The code that computes a scalar of its point alone. Of what a scan has passed on there is none.
fn alone(body: &Body, value: Atom) -> Option<Vec<Let>> {
    if body.is_ordered() { made_without_scans(body, [value]) } else { Some(body.unordered()) }
}

/// What a nest has stored.
pub(super) struct Producer {
    pub axes: Vec<Axis>,
    pub code: Block,
    value: Atom,
    /// `None`: free.
    cost: Option<usize>,
}

impl Producer {
    fn reads(&self, array: ArrayId) -> bool {
        let mut found = false;
        self.code.visit_reads(&mut |a, _| found |= a == array);
        found
    }
}

/// How many places use an array: reads in nests, and other statements. Equal reads count once where one is executed before the
/// other; in two branches of a choice each has a place of its own, and what is inlined there is there twice.
fn uses(stms: &[Stm]) -> FxHashMap<ArrayId, usize> {
    let mut out: FxHashMap<ArrayId, usize> = FxHashMap::default();
    for s in stms {
        match s {
            Stm::Nest(n) => {
                Places { seen: FxHashSet::default(), trail: Vec::new(), out: &mut out }.body(&n.body);
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

/// Counts the places of a nest.
struct Places<'a> {
    /// What has been read before on the way to where the walk is, also in order.
    seen: FxHashSet<(ArrayId, Vec<Atom>)>,
    trail: Vec<(ArrayId, Vec<Atom>)>,
    out: &'a mut FxHashMap<ArrayId, usize>,
}

impl Visitor for Places<'_> {
    fn block(&mut self, b: &Block) {
        let before = self.trail.len();
        self.walk_block(b);
        for place in self.trail.drain(before..) {
            self.seen.remove(&place);
        }
    }

    fn exp(&mut self, e: &Exp) {
        if let Exp::Read { array, index, .. } = e {
            let place = (*array, index.clone());
            if self.seen.insert(place.clone()) {
                *self.out.entry(*array).or_default() += 1;
                self.trail.push(place);
            }
        }
        self.walk_exp(e);
    }
}

/// Whether code is executed wherever its result is read, rather than once and stored. Who stores it undoes that.
pub(super) fn is_free(b: &Block) -> bool {
    cost(b).is_none()
}

/// The work of scalar code, or `None` if it is free.
fn cost(b: &Block) -> Option<usize> {
    // A remainder by a size is one of an index: away from the ends of its axis it costs nothing.
    let sizes: FxHashSet<Var> =
        b.lets.iter().filter(|l| matches!(l.exp, Exp::Size(_))).map(|l| l.vars[0]).collect();
    let is_size = |a: &Atom| a.var().is_none_or(|v| sizes.contains(&v));
    let is_cheap =
        |op: &Op, args: &[Atom]| op.is_cheap() || matches!(op, Op::Rem | Op::RemEuclid) && is_size(&args[1]);
    fn count(b: &Block, is_cheap: &impl Fn(&Op, &[Atom]) -> bool) -> (usize, usize) {
        let (mut ops, mut reads) = (0, 0);
        for l in &b.lets {
            match &l.exp {
                Exp::Op(op, args) => ops += if is_cheap(op, args) { 1 } else { 20 },
                Exp::Read { .. } => reads += 1,
                Exp::If(_, x, y) => {
                    let ((a, r), (c, s)) = (count(&x.block, is_cheap), count(&y.block, is_cheap));
                    ops += 1 + a + c;
                    reads += r + s;
                }
                Exp::Inside { .. } => ops += 1,
                Exp::Size(_) | Exp::StopGradient(_) => {}
            }
        }
        (ops, reads)
    }
    let index_only = b.lets.iter().all(|l| match &l.exp {
        Exp::Op(op, args) => is_cheap(op, args),
        Exp::Read { .. } | Exp::Size(_) => true,
        _ => false,
    });
    let (ops, reads) = count(b, &is_cheap);
    // One read at computed indices, or none: a gather, a transpose, a constant.
    if index_only && ((reads == 0 && ops <= 2) || (reads == 1 && read_is_last(b))) {
        return None;
    }
    Some(ops + reads)
}

/// Whether the code only computes indices and then reads.
fn read_is_last(b: &Block) -> bool {
    matches!(b.lets.last(), Some(Let { exp: Exp::Read { .. }, .. }))
}

/// A walk through the code of a nest, in which reads become what they read.
struct Reader<'a> {
    p: &'a mut Program,
    order: &'a [Axis],
    axes: &'a FxHashSet<Var>,
    facts: Facts,
    producers: &'a FxHashMap<ArrayId, Producer>,
    /// What the values of inlined reads are called.
    names: Renaming,
    pays: &'a mut dyn FnMut(&Read<'_>) -> bool,
}

impl Reader<'_> {
    fn body(&mut self, body: Body) -> Body {
        let mut out = Body::default();
        for i in body.items {
            match i {
                Item::Let(l) => out.extend(self.binding(l)),
                Item::Scan(mut s) => {
                    Rename(&self.names).scan(&mut s);
                    self.branch(&mut s.step);
                    out.items.push(Item::Scan(s));
                }
            }
        }
        out
    }

    /// A branch, or the step of a scan.
    fn branch(&mut self, b: &mut Branch) {
        let scope = self.facts.scope();
        let lets = std::mem::take(&mut b.block.lets);
        b.block.lets = lets.into_iter().flat_map(|l| self.binding(l)).collect();
        b.results.iter_mut().for_each(|a| *a = renamed(&self.names, *a));
        self.facts.leave(scope);
    }

    fn binding(&mut self, mut l: Let) -> Vec<Let> {
        l.exp = l.exp.renamed(&self.names);
        match &mut l.exp {
            Exp::Read { array, index, checked: false } => {
                let (array, order, axes, facts) = (*array, self.order, self.axes, &self.facts);
                let (program, pays) = (&*self.p, &mut self.pays);
                let mut pays =
                    |producer: &Producer| pays(&Read { array, index, producer, order, axes, facts, program });
                if let Some(q) = self.producers.get(&array).filter(|q| pays(q)) {
                    let mut inner: Renaming =
                        q.axes.iter().map(|a| a.var).zip(index.iter().copied()).collect();
                    let copied = self.p.copy_lets(&q.code.lets, &mut inner);
                    copied.iter().for_each(|l| self.facts.learn((&*self.p).into(), l));
                    self.names.insert(l.vars[0], renamed(&inner, q.value));
                    return copied;
                }
            }
            Exp::If(_, x, y) => [x, y].into_iter().for_each(|b| self.branch(b)),
            _ => {}
        }
        self.facts.learn((&*self.p).into(), &l);
        vec![l]
    }
}
