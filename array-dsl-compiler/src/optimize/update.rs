//! Sums with an accumulation, as accumulations into the other terms.
//!
//! ```text
//! before   c = nest { .. } accumulate(+) into zeros at [ix] of v;   y = nest [i] { a = ..; b = c[i]; s = add a b } store s
//! after    t = nest [i] { a = .. } store a;                         y = nest { .. } accumulate(+) into t at [ix] of v
//! ```
//!
//! There is one pass over `y` less, and neither zeros nor `c`. This is a step before scheduling and none of a round:
//! accumulations into anything but zeros do not become stores, reductions or gathers.

use rustc_hash::FxHashMap;

use super::Sequence;
use crate::bulk::build::{Rename, Renaming};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Exp, Nest, Program, Reducer, Repeat, Stm, Var, Yield, YieldKind};
use crate::scalar::Op;

/// Rewrites until there is no such sum any more.
pub fn update(seq: &mut Sequence, p: &mut Program) {
    while let Some((from, to, sum)) = find(seq, p) {
        rewrite(seq, p, from, to, sum);
    }
}

/// Rewrites the sums in a loop.
pub fn updated(r: &mut Repeat, p: &mut Program) {
    Sequence::run_within(r, p, update);
}

/// A term of a stored sum.
struct Sum {
    /// Which yield of the nest.
    yielded: usize,
    /// The variable that is the element of the accumulation.
    term: Var,
    /// The smallest sum with that term, and its other term.
    sum: Var,
    rest: Atom,
}

/// An accumulation, the nest that adds it to something, and how.
fn find(seq: &Sequence, p: &Program) -> Option<(usize, usize, Sum)> {
    let users = |a: ArrayId| {
        let mut users = (0..seq.stms.len()).filter(|i| seq.stms[*i].inputs().contains(&a));
        users.next().filter(|_| users.next().is_none())
    };
    seq.stms.iter().enumerate().find_map(|(from, s)| {
        let c = accumulated(seq, s).filter(|c| !seq.results.contains(c))?;
        let to = users(c)?;
        // A check in between may be what its code relies on not to have run.
        if seq.stms[from..to].iter().any(|s| matches!(s, Stm::Check(..))) {
            return None;
        }
        let Stm::Nest(n) = &seq.stms[to] else { return None };
        let sum = (0..n.yields.len()).find_map(|y| term(p, n, y, c))?;
        Some((from, to, sum))
    })
}

/// The array that a statement makes by accumulating into zeros.
fn accumulated(seq: &Sequence, s: &Stm) -> Option<ArrayId> {
    let Stm::Nest(Nest { yields, .. }) = s else { return None };
    let [Yield { array, kind: YieldKind::Accumulate { reducer: Reducer::Add, into, .. } }] = &yields[..]
    else {
        return None;
    };
    let zeros = seq.stms.iter().any(|s| match s {
        Stm::Nest(n) => n
            .yields
            .iter()
            .any(|y| y.array == *into && matches!(&y.kind, YieldKind::Store(Atom::Const(c)) if c.is_zero())),
        _ => false,
    });
    zeros.then_some(*array)
}

/// `c` as a term of what a nest stores, if nothing else uses it or the sums it is in.
fn term(p: &Program, n: &Nest, yielded: usize, c: ArrayId) -> Option<Sum> {
    let y = &n.yields[yielded];
    let YieldKind::Store(Atom::Var(stored)) = y.kind else { return None };
    // The nest reads `c` at its own point and nowhere else.
    let mut reads = 0;
    n.body.visit_reads(&mut |a, _| reads += usize::from(a == c));
    let whole = p.array(y.array).dims == p.array(c).dims && reads == 1 && !n.yields.iter().any(|y| {
        matches!(&y.kind, YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } if *into == c)
    });
    let mut uses: FxHashMap<Var, usize> = FxHashMap::default();
    let mut note = |a: Atom| {
        if let Atom::Var(v) = a {
            *uses.entry(v).or_default() += 1;
        }
    };
    n.body.visit_atoms(&mut note);
    n.yields.iter().for_each(|y| y.kind.atoms().into_iter().for_each(&mut note));
    let definition = |v: Var| n.body.lets().find(|l| l.vars == [v]).map(|l| &l.exp);
    let element = |a: Atom| {
        let Atom::Var(v) = a else { return None };
        let Some(Exp::Read { array, index, .. }) = definition(v) else { return None };
        let here = index.iter().copied().eq(n.axes.iter().map(|x| Atom::Var(x.var)));
        (*array == c && here && uses.get(&v) == Some(&1)).then_some(v)
    };
    let mut open = vec![stored];
    while let Some(sum) = open.pop().filter(|_| whole) {
        let Some(Exp::Op(Op::Add, args)) = definition(sum) else { continue };
        if uses.get(&sum) != Some(&1) {
            continue;
        }
        for (a, rest) in [(args[0], args[1]), (args[1], args[0])] {
            if let Some(term) = element(a) {
                return Some(Sum { yielded, term, sum, rest });
            }
            if let Atom::Var(v) = a {
                open.push(v);
            }
        }
    }
    None
}

fn rewrite(
    seq: &mut Sequence,
    p: &mut Program,
    from: usize,
    to: usize,
    Sum { yielded, term, sum, rest }: Sum,
) {
    let Stm::Nest(n) = &mut seq.stms[to] else { panic!("a sum that no nest makes") };
    // The sum without the term.
    let map: Renaming = Renaming::from_iter([(sum, rest)]);
    n.body.items.retain(|i| *i.vars() != [term] && *i.vars() != [sum]);
    Rename(&map).body(&mut n.body);
    n.yields.iter_mut().for_each(|y| y.kind.rename(&map));
    let y = n.yields[yielded].array;
    let copied = n.copied().filter(|a| p.arrays[a.0 as usize].dims == p.arrays[y.0 as usize].dims);
    let base = match copied {
        Some(other) => {
            seq.stms.remove(to);
            other
        }
        None => {
            let info = p.array(y).clone();
            let base = p.new_array(info.name, info.elem, info.dims);
            if let Stm::Nest(n) = &mut seq.stms[to] {
                n.yields[yielded].array = base;
            }
            base
        }
    };
    let at = to + usize::from(copied.is_none());
    if let Stm::Nest(mut n) = seq.stms[from].clone() {
        if let [Yield { array, kind: YieldKind::Accumulate { into, .. } }] = &mut n.yields[..] {
            (*array, *into) = (y, base);
        }
        seq.stms.insert(at, Stm::Nest(n));
        seq.stms.remove(from);
    }
}
