//! Bounds that data tell: the most that an integer is in any trip of a loop.
//!
//! ```text
//! repeat i < n with s { m = f(i, x);  s' = repeat j < m with s { write s at .. } }       most = max(0, max over i < n of f(i, x))
//! ```
//!
//! What a trip makes of its number and of arrays from outside can be computed before the loop, as the lengths of rows of a sparse matrix
//! or of lists of neighbors. Then what such a loop overwrites is logged in an array of `n` rows of `most` elements, where the whole state
//! would take the memory and the time of all its elements in each trip. That a trip makes no more of them the proofs do not know: the log
//! is written and read under conditions.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::build::{Code, Renaming, int, renamed};
use crate::bulk::uses::scalars;
use crate::bulk::{
    ArrayId, Atom, Exp, Let, Nest, Program, Reducer, Repeat, Stm, Trips, Var, Yield, YieldKind,
};
use crate::scalar::Op;
use crate::ty::{Elem, Loc};

/// By integer that is the extent of something in the loop's body: the most that it is, which stands before the loop now. `made` is what
/// the loop makes.
pub(super) fn told(p: &mut Program, r: &Repeat, made: &FxHashSet<ArrayId>) -> FxHashMap<ArrayId, ArrayId> {
    let Trips::For(index, count) = &r.trips else { return FxHashMap::default() };
    let mut extents = FxHashSet::default();
    r.body.iter().for_each(|s| s.visit_sizes(&mut |d| extents.extend(scalars(d))));
    let mut known: Vec<(ArrayId, &Nest)> = Vec::new();
    let mut out = FxHashMap::default();
    for s in &r.body {
        let Stm::Nest(n) = s else { continue };
        let ([], [Yield { array, kind: YieldKind::Store(_) }]) = (&n.axes[..], &n.yields[..]) else {
            continue;
        };
        let is_known = |a: ArrayId| a == *index || !made.contains(&a) || known.iter().any(|(k, _)| *k == a);
        let is_outside = |a: ArrayId| a != *index && !made.contains(&a);
        let mut sizes = true;
        s.visit_sizes(&mut |d| sizes &= scalars(d).all(is_outside));
        if !sizes || p.array(*array).elem != Elem::I64 || !is_simple(p, n, &is_known, *index) {
            continue;
        }
        known.push((*array, n));
        if extents.contains(array) {
            let axes = p.new_axes(std::slice::from_ref(count));
            let mut code = Code::new(r.loc);
            let value = again(p, &mut code, &known, *index, Atom::Var(axes[0].var));
            let sizes = p.new_array("sizes", Elem::I64, vec![count.clone()]);
            let yields = vec![Yield { array: sizes, kind: YieldKind::Store(value) }];
            p.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc: r.loc }));
            let most = greatest(p, "most", sizes, r.loc);
            out.insert(*array, most);
        }
    }
    out
}

/// The greatest of some numbers of trips, and none of none.
pub(in crate::derive) fn greatest(p: &mut Program, name: &str, trips: ArrayId, loc: Loc) -> ArrayId {
    let greatest = p.reduced(name, Reducer::Max, trips, loc);
    p.store(name, Elem::I64, &[], loc, |p, code, _| {
        let greatest = code.read(p, greatest, &[]);
        code.op(p, Op::Max, &[greatest, int(0)])
    })
}

/// Whether a nest makes its value of what is known and of the number of the trip, and cannot fail: what it reads without that number would
/// be read where there are no trips, too.
fn is_simple(p: &Program, n: &Nest, is_known: &impl Fn(ArrayId) -> bool, index: ArrayId) -> bool {
    if n.body.is_ordered() || !n.inputs().into_iter().all(is_known) {
        return false;
    }
    let mut of_trip: FxHashSet<Var> = FxHashSet::default();
    let mut is_simple = |l: &Let| {
        let mut depends = false;
        l.exp.visit_atoms(&mut |a| depends |= a.var().is_some_and(|v| of_trip.contains(&v)));
        let stays = match &l.exp {
            Exp::Read { array, index: at, .. } => {
                depends |= *array == index;
                depends || at.is_empty()
            }
            Exp::If(..) => false,
            _ => true,
        };
        of_trip.extend(l.vars.iter().filter(|_| depends));
        stays && !l.may_fail(&p.vars)
    };
    n.body.lets().all(&mut is_simple)
}

/// The value of the last of some nests, each of which makes an integer of the number of a trip and those before it, in trip `number`.
fn again(p: &mut Program, code: &mut Code, nests: &[(ArrayId, &Nest)], index: ArrayId, number: Atom) -> Atom {
    let mut values = FxHashMap::from_iter([(index, number)]);
    let mut last = number;
    for (array, n) in nests {
        let mut names = Renaming::default();
        for l in n.body.lets() {
            match &l.exp {
                Exp::Read { array, .. } if values.contains_key(array) => {
                    names.insert(l.vars[0], values[array]);
                }
                _ => {
                    let copy = p.copy_lets(std::slice::from_ref(l), &mut names);
                    code.lets.extend(copy);
                }
            }
        }
        if let [Yield { kind: YieldKind::Store(value), .. }] = n.yields[..] {
            last = renamed(&names, value);
            values.insert(*array, last);
        }
    }
    last
}
