//! What is rather computed again where it is read than stored.
//!
//! ```text
//! before   w = nest [i, j] { f(x[i], x[j]) } store                                                  w: [n][n]
//!          a = nest [i, j] { g(w[i, j]) } reduce(+) 1;  b = nest [j, i] { h(w[i, j]) } reduce(+) 1
//! after    a = nest [i, j] { g(f(x[i], x[j])) } reduce(+) 1;  b = nest [j, i] { h(f(x[i], x[j])) } reduce(+) 1
//! ```
//!
//! `inline` repeats hardly any work; this step before scheduling has the target's price for it. An array is gone if all its readers
//! compute its elements by themselves, one for each of their points, and that
//!
//! 1. is not too much work, and none that may fail,
//! 2. reads no more of memory: of `r` reads of elements that are as many as the array's, as `x[i, j]` is and `x[i]` is not, `u` readers
//!    make `r u` instead of `r + u` and the stores,
//! 3. leaves each reader with few arrays: some devices bind no more than eight.
//!
//! Where neighboring loops share the rows of what they store, only readers that go through an array in another order than its own
//! compute it again: the others find it in the cache. A number that depends on sizes alone is computed wherever it is used.
//!
//! A **large** array has more elements than all that a kernel is given and gives, one for each pair of points say: memory that grows faster
//! than its user's data. If it would be stored for a reader that goes through it crosswise, it is worth `SPACE` times as much work, and so
//! is what is only as large because it is made of that.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Sequence;
use super::inline::{Producer, Read, replace};
use crate::bulk::walk::Visitor;
use crate::bulk::{ArrayId, Atom, Block, Exp, Let, Program, Stm, Var, YieldKind};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::target::Recompute;
use crate::ty::Elem;

/// So many times as much work is done again to spare a large array.
const SPACE: usize = 4;

/// Replaces what pays; whether there was any.
pub fn again(p: &mut Program, price: Recompute) -> bool {
    let mut any = false;
    let given = p.params.iter().flat_map(|q| q.arrays.leaves()).chain(p.result.leaves());
    let degree = given.map(|a| growth(&p.array(*a).dims)).max().unwrap_or(0);
    Sequence::run(p, |seq, p| {
        let mut readers = Readers::of(seq, p, price, degree);
        replace(seq, p, &mut |r| {
            let replaced = pays(r, &mut readers, price);
            any |= replaced;
            replaced
        });
    });
    any
}

/// The degree of an array's number of elements.
fn growth(dims: &[Dim]) -> usize {
    Dim::product(dims).terms().map(|(sizes, _)| sizes.len()).max().unwrap_or(0)
}

fn pays(r: &Read<'_>, readers: &mut Readers, price: Recompute) -> bool {
    let (q, code) = (r.producer, &r.producer.code);
    let elem = r.program.array(r.array).elem;
    let times = if elem == Elem::F64 { price.wide } else { 1 };
    let is_spared = readers.spared.contains(&r.array) && readers.is_gone(r.array);
    if price.crosswise_only && !is_spared && !is_crosswise(r) {
        return false;
    }
    let most = price.work * if is_spared { SPACE } else { 1 };
    if times * work(code, price) > most || code.lets.iter().any(|l| l.may_fail(&r.program.vars)) {
        return false;
    }
    // An integer may be the size of something.
    let of_sizes = q.axes.is_empty() && elem.is_float() && !reads_any(code);
    let (whole, tells_all) = (whole_reads(q), || r.facts.tells_all(r.index, r.axes));
    let pays = if is_spared {
        let mut reads_large = false;
        code.visit_reads(&mut |a, _| reads_large |= readers.is_large(r.program, a));
        !reads_large && tells_all()
    } else if price.crosswise_only {
        whole == 0 && tells_all()
    } else {
        let count = readers.uses.get(&r.array).map_or(0, |u| u.nests.len());
        readers.is_gone(r.array) && (of_sizes || tells_all() && whole * count <= whole + 1 + count)
    };
    pays && readers.takes(r, code)
}

/// Who reads what, in the nests of a sequence.
struct Readers {
    /// The reads of each array.
    uses: FxHashMap<ArrayId, Uses>,
    /// What is used otherwise.
    used: FxHashSet<ArrayId>,
    /// The degree of what is given and given back: a large array has a higher one.
    degree: usize,
    /// Large arrays that would be stored.
    spared: FxHashSet<ArrayId>,
    /// The arrays of each nest, by its axes.
    arrays: FxHashMap<Vec<Var>, FxHashSet<ArrayId>>,
    /// So many of these may be used.
    most: usize,
}

/// The reads of an array.
#[derive(Default)]
struct Uses {
    all: usize,
    /// Those of readers that could compute the element.
    replaceable: usize,
    /// The nests of these, by their axes.
    nests: FxHashSet<Vec<Var>>,
}

impl Readers {
    fn of(seq: &Sequence, p: &mut Program, price: Recompute, degree: usize) -> Readers {
        let mut readers = Readers {
            uses: FxHashMap::default(),
            degree,
            spared: FxHashSet::default(),
            used: seq.results.iter().copied().collect(),
            arrays: FxHashMap::default(),
            most: price.arrays,
        };
        for s in &seq.stms {
            let Stm::Nest(n) = s else {
                readers.used.extend(s.inputs());
                continue;
            };
            let given = |a: &ArrayId| p.is_given_number(*a);
            let mut arrays: FxHashSet<ArrayId> = n.inputs().into_iter().filter(|a| !given(a)).collect();
            arrays.extend(n.yields.iter().map(|y| y.array));
            for y in &n.yields {
                if let YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } = &y.kind {
                    readers.used.insert(*into);
                }
            }
            let axes = sorted(n.axes.iter().map(|a| a.var));
            readers.arrays.entry(axes).or_default().extend(arrays);
            Counted(&mut readers.uses).body(&n.body);
        }
        let made = seq.stms.iter().filter(|s| matches!(s, Stm::Nest(_))).flat_map(Stm::results);
        if price.crosswise_only && !made.into_iter().any(|a| readers.is_large(p, a)) {
            return readers;
        }
        // A walk that replaces nothing.
        let mut looked =
            Sequence { stms: seq.stms.clone(), results: seq.results.clone(), known: seq.known.clone() };
        replace(&mut looked, p, &mut |r| {
            if r.index.is_empty() || r.facts.tells_all(r.index, r.axes) {
                let uses = readers.uses.entry(r.array).or_default();
                uses.replaceable += 1;
                uses.nests.insert(sorted(r.axes.iter().copied()));
            }
            if readers.is_large(r.program, r.array) && is_stored(r) {
                readers.spared.insert(r.array);
            }
            false
        });
        for s in seq.stms.iter().rev() {
            if s.results().iter().any(|a| readers.spared.contains(a)) {
                let of = s.inputs().into_iter().filter(|a| readers.is_large(p, *a)).collect::<Vec<_>>();
                readers.spared.extend(of);
            }
        }
        readers
    }

    fn is_large(&self, p: &Program, a: ArrayId) -> bool {
        growth(&p.array(a).dims) > self.degree
    }

    /// Whether nobody needs the array any more if all that could compute it do.
    fn is_gone(&self, array: ArrayId) -> bool {
        !self.used.contains(&array) && self.uses.get(&array).is_some_and(|u| u.all == u.replaceable)
    }

    /// Adds what the reader then uses, unless that is too much.
    fn takes(&mut self, r: &Read<'_>, code: &Block) -> bool {
        let arrays = self.arrays.entry(sorted(r.axes.iter().copied())).or_default();
        let mut all = arrays.clone();
        all.remove(&r.array);
        code.visit_reads(&mut |array, _| {
            if !r.program.is_given_number(array) {
                all.insert(array);
            }
        });
        let fits = all.len() <= self.most.max(arrays.len());
        if fits {
            *arrays = all;
        }
        fits
    }
}

fn sorted(vars: impl Iterator<Item = Var>) -> Vec<Var> {
    let mut vars: Vec<Var> = vars.collect();
    vars.sort();
    vars
}

struct Counted<'a>(&'a mut FxHashMap<ArrayId, Uses>);

impl Visitor for Counted<'_> {
    fn exp(&mut self, e: &Exp) {
        if let Exp::Read { array, .. } = e {
            self.0.entry(*array).or_default().all += 1;
        }
        self.walk_exp(e);
    }
}

/// The work of code, in simple operations.
fn work(b: &Block, price: Recompute) -> usize {
    let one = |l: &Let| match &l.exp {
        Exp::Op(op, _) if op.is_cheap() => 1,
        Exp::Op(Op::Rem | Op::RemEuclid, _) => 2,
        Exp::Op(op, _) if op.is_instruction() => 4,
        Exp::Op(..) => price.function,
        Exp::If(_, x, y) => 1 + work(&x.block, price) + work(&y.block, price),
        Exp::Read { .. } | Exp::Inside { .. } => 1,
        Exp::Size(_) | Exp::StopGradient(_) => 0,
    };
    b.lets.iter().map(one).sum()
}

fn reads_any(b: &Block) -> bool {
    let mut any = false;
    b.visit_reads(&mut |_, _| any = true);
    any
}

/// How many of the reads depend on all axes.
fn whole_reads(q: &Producer) -> usize {
    let of: FxHashMap<Var, u64> = q.axes.iter().enumerate().map(|(k, a)| (a.var, 1 << k.min(63))).collect();
    let all = of.values().fold(0, |a, b| a | b);
    let mut axes = Axes { of, all, places: FxHashSet::default() };
    axes.block(&q.code);
    axes.places.len()
}

/// The axes that values depend on, as bits, and the places that are read by all of them.
struct Axes {
    of: FxHashMap<Var, u64>,
    all: u64,
    places: FxHashSet<(ArrayId, Vec<Atom>)>,
}

impl Visitor for Axes {
    fn binding(&mut self, l: &Let) {
        let mut bits = 0;
        let of = |a: Atom| a.var().and_then(|v| self.of.get(&v)).copied().unwrap_or(0);
        l.exp.visit_atoms(&mut |a| bits |= of(a));
        if let Exp::Read { array, index, .. } = &l.exp
            && bits == self.all
        {
            self.places.insert((*array, index.clone()));
        }
        self.walk_binding(l);
        if let Exp::If(_, x, y) = &l.exp {
            let of = |a: &Atom| a.var().and_then(|v| self.of.get(&v)).copied().unwrap_or(0);
            bits |= x.results.iter().chain(&y.results).map(of).fold(0, |a, b| a | b);
        }
        self.of.extend(l.vars.iter().map(|v| (*v, bits)));
    }
}

/// Whether an array would be stored for a read: the reader goes through it crosswise, and its points cannot add up what it wants of theirs
/// (`schedule/collect.rs`), or need not, since all points of the reader are theirs as well.
fn is_stored(r: &Read<'_>) -> bool {
    let at = |v: &Var| r.order.iter().position(|axis| axis.var == *v);
    let innermost = |a: &Atom| r.facts.form(*a)?.axes.keys().filter_map(at).max();
    let places: Vec<usize> = r.index.iter().filter_map(innermost).collect();
    places.windows(2).any(|w| w[0] >= w[1]) && !(is_half(r) && is_crosswise(r))
}

/// Whether an array has values on one side of a diagonal alone: the other half of the pairs is that of the reader, which would compute all
/// of it.
fn is_half(r: &Read<'_>) -> bool {
    let lets = &r.producer.code.lets;
    let Some(Let { exp: Exp::If(c, ..), .. }) = lets.last() else { return false };
    let is_order = |e: &Exp| match e {
        Exp::Op(Op::Lt | Op::Le | Op::Gt | Op::Ge, args) => args.iter().all(|a| r.program.elem(*a).is_int()),
        _ => false,
    };
    lets.iter().any(|l| c.var().is_some_and(|c| l.vars == [c]) && is_order(&l.exp))
}

/// Whether the reader goes through the array in another order than that of its elements.
fn is_crosswise(r: &Read<'_>) -> bool {
    let at = |a: &Atom| r.order.iter().position(|axis| a.var() == Some(axis.var));
    let places: Option<Vec<usize>> = r.index.iter().map(at).collect();
    places.is_some_and(|places| !places.is_sorted())
}
