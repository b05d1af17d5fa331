//! Sorts of which only the sorted elements are used, not the positions.
//!
//! ```text
//! before   o = argsort x;   y = nest [i < n] { p = o[i];  v = x[p] } ..
//! after    s = sort x;      y = nest [i < n] { v = s[i] } ..
//! ```
//!
//! Elements are sorted faster than positions, and need not be gathered. Only where each position is used for nothing but to
//! read the sorted array in its own row. A nest that does no more than store the sorted elements is not there afterwards: its result
//! is that of the sort.
//!
//! What comes out is Bulk but for these sorts, whose results have the type of their keys.

use rustc_hash::{FxHashMap, FxHashSet};

use super::leaves;
use crate::bulk::{ArrayId, ArrayInfo, Atom, Body, Exp, Item, Let, Nest, Program, Sort, Stm, Var, YieldKind};

/// Has every sort that can give values instead of positions do so; their results.
pub(super) fn by_value(p: &mut Program) -> FxHashSet<ArrayId> {
    let mut found = FxHashSet::default();
    let results = leaves(&p.result).into_iter().collect();
    list(&mut p.stms, &results, &mut p.arrays, &mut found);
    found
}

/// `after` are the arrays that are used when the list is done.
fn list(
    stms: &mut Vec<Stm>,
    after: &FxHashSet<ArrayId>,
    arrays: &mut Vec<ArrayInfo>,
    found: &mut FxHashSet<ArrayId>,
) {
    let by_value = |s: &Stm| match s {
        Stm::Sort(s) if !after.contains(&s.result) && stms.iter().all(|t| only_elements(t, s)) => Some(*s),
        _ => None,
    };
    let sorts: Vec<Sort> = stms.iter().filter_map(by_value).collect();
    for s in sorts {
        let whole = stms.iter().position(|t| stored(t, &s, arrays).is_some());
        let result = match whole.and_then(|at| stored(&stms.remove(at), &s, arrays)) {
            Some(copy) => copy,
            None => {
                arrays.push(ArrayInfo { name: "sorted".into(), ..arrays[s.keys.0 as usize].clone() });
                ArrayId(arrays.len() as u32 - 1)
            }
        };
        for t in stms.iter_mut() {
            match t {
                Stm::Nest(n) => redirect(&mut n.body, &s, result),
                Stm::Sort(t) if *t == s => t.result = result,
                _ => {}
            }
        }
        found.insert(result);
    }
    for s in stms {
        if let Stm::Repeat(r) = s {
            let nexts = r.carried.iter().map(|c| c.next).collect();
            list(&mut r.body, &nexts, arrays, found);
        }
    }
}

/// The array of sorted elements, whole and in place, that a statement is for.
fn stored(stm: &Stm, s: &Sort, arrays: &[ArrayInfo]) -> Option<ArrayId> {
    let Stm::Nest(n) = stm else { return None };
    let mut n = n.clone();
    redirect(&mut n.body, s, s.result);
    let copy = n.yields.first()?.array;
    let dims = |a: ArrayId| &arrays[a.0 as usize].dims;
    (n.copied()? == s.result && dims(copy) == dims(s.result)).then_some(copy)
}

/// Scalars that are positions: where they are read, and whether with a check.
type Places = FxHashMap<Var, (Vec<Atom>, bool)>;

/// Whether a statement uses the positions for nothing but to read elements of the keys.
fn only_elements(stm: &Stm, s: &Sort) -> bool {
    let Stm::Nest(n) = stm else { return !stm.inputs().contains(&s.result) };
    let mut at = Places::default();
    let fine = n.body.items.iter().all(|i| match i {
        Item::Let(l) => elements(l, s, &mut at),
        Item::Scan(scan) => {
            let mut fine = true;
            scan.visit_atoms(&mut |a| fine &= !is_position(a, &at));
            scan.visit_reads(&mut |a, _| fine &= a != s.result);
            fine
        }
    });
    let yields = n.yields.iter().flat_map(|y| y.kind.atoms());
    fine && !yields.into_iter().any(|a| is_position(a, &at)) && !writes_into(n, s.result)
}

fn writes_into(n: &Nest, a: ArrayId) -> bool {
    use YieldKind::{Accumulate, Write};
    n.yields.iter().any(|y| matches!(&y.kind, Accumulate { into, .. } | Write { into, .. } if *into == a))
}

fn is_position(a: Atom, at: &Places) -> bool {
    matches!(a, Atom::Var(v) if at.contains_key(&v))
}

/// Whether a statement uses positions for elements only; `at` gains the scalars that are positions, with their indices.
fn elements(l: &Let, s: &Sort, at: &mut Places) -> bool {
    match &l.exp {
        Exp::Read { array, index, checked } => {
            let of_positions = index.iter().any(|a| is_position(*a, at));
            if *array == s.result {
                at.insert(l.vars[0], (index.clone(), *checked));
                return !of_positions;
            }
            !of_positions || (*array == s.keys && element(index, at).is_some())
        }
        Exp::If(c, ..) if is_position(*c, at) => false,
        Exp::If(_, x, y) => [x, y].into_iter().all(|branch| {
            branch.block.lets.iter().all(|l| elements(l, s, at))
                && !branch.results.iter().any(|a| is_position(*a, at))
        }),
        e => {
            let mut fine = true;
            e.visit_atoms(&mut |a| fine &= !is_position(a, at));
            fine
        }
    }
}

/// Where in the sorted array the element at `index` is: the last index is a position in the same row.
fn element<'a>(index: &[Atom], at: &'a Places) -> Option<&'a (Vec<Atom>, bool)> {
    let (Atom::Var(last), row) = index.split_last()? else { return None };
    let place = at.get(last)?;
    (place.0.split_last()?.1 == row).then_some(place)
}

/// Replaces reads of positions by nothing and those of elements by reads of the sorted array. Steps of scans have none.
fn redirect(b: &mut Body, s: &Sort, sorted: ArrayId) {
    let mut at = Places::default();
    b.items.retain_mut(|i| match i {
        Item::Let(l) => redirected(l, s, sorted, &mut at),
        Item::Scan(_) => true,
    });
}

/// Redirects what a statement reads; whether it is still of use.
fn redirected(l: &mut Let, s: &Sort, sorted: ArrayId, at: &mut Places) -> bool {
    match &mut l.exp {
        Exp::Read { array, index, checked } if *array == s.result => {
            at.insert(l.vars[0], (index.clone(), *checked));
            return false;
        }
        Exp::Read { array, index, checked } if *array == s.keys => {
            if let Some(place) = element(index, at) {
                *array = sorted;
                (*index, *checked) = place.clone();
            }
        }
        Exp::If(_, x, y) => {
            for b in [x, y] {
                b.block.lets.retain_mut(|l| redirected(l, s, sorted, at));
            }
        }
        _ => {}
    }
    true
}
