//! Sorts of which only the sorted elements are used, not the positions.
//!
//! ```text
//! before   o = argsort x;   y = nest [i < n] { p = o[i];  v = x[p] } ..
//! after    s = sort x;      y = nest [i < n] { v = s[i] } ..
//! ```
//!
//! Elements are sorted faster than positions, and need not be gathered. Only where each position is used for nothing but to
//! read the sorted array in its own row.

use std::collections::HashMap;

use crate::bulk::{ArrayId, Atom, Block, Exp, Program, Sorted, Stm, Var};

/// Has every sort that can give values instead of positions.
pub(super) fn sorted(p: &mut Program) {
    let mut any = false;
    for at in 0..p.stms.len() {
        let Stm::Sort(s) = p.stms[at] else { continue };
        if s.gives != Sorted::Positions || !only_elements(p, s.result, s.keys) {
            continue;
        }
        let elem = p.array(s.keys).elem;
        let info = &mut p.arrays[s.result.0 as usize];
        (info.elem, info.name) = (elem, "sorted".into());
        for stm in &mut p.stms {
            if let Stm::Nest(n) = stm {
                redirect(&mut n.body, s.result, s.keys, &mut HashMap::new());
            }
        }
        if let Stm::Sort(s) = &mut p.stms[at] {
            s.gives = Sorted::Values;
        }
        any = true;
    }
    if any {
        // What was a gather may now be a copy.
        super::share::share(p);
    }
}

/// Scalars that are positions: where they are read, and whether with a check.
type Places = HashMap<Var, (Vec<Atom>, bool)>;

/// Whether all uses of the positions are to read elements of `keys`.
fn only_elements(p: &Program, positions: ArrayId, keys: ArrayId) -> bool {
    let result = p.result.leaves().contains(&&positions);
    !result
        && p.stms.iter().all(|s| match s {
            Stm::Nest(n) => {
                let mut at = HashMap::new();
                let fine = elements(&n.body, positions, keys, &mut at);
                let yields = n.yields.iter().flat_map(|y| y.kind.atoms());
                let clean = |a: Atom| !matches!(a, Atom::Var(v) if at.contains_key(&v));
                fine && yields.into_iter().all(clean) && !writes_into(n, positions)
            }
            s => !s.inputs().contains(&positions),
        })
}

fn writes_into(n: &crate::bulk::Nest, a: ArrayId) -> bool {
    use crate::bulk::YieldKind::{Accumulate, Write};
    n.yields.iter().any(|y| matches!(&y.kind, Accumulate { into, .. } | Write { into, .. } if *into == a))
}

/// Whether a block uses positions for elements only; `at` gains the scalars that are positions, with their indices.
fn elements(b: &Block, positions: ArrayId, keys: ArrayId, at: &mut Places) -> bool {
    b.lets.iter().all(|l| match &l.exp {
        Exp::Read { array, index, checked } => {
            let inside = |a: &Atom| matches!(a, Atom::Var(v) if at.contains_key(v));
            if *array == positions {
                let fine = !index.iter().any(inside);
                at.insert(l.vars[0], (index.clone(), *checked));
                return fine;
            }
            !index.iter().any(inside) || (*array == keys && element(index, at).is_some())
        }
        Exp::If(Atom::Var(c), ..) if at.contains_key(c) => false,
        Exp::If(_, x, y) => [x, y].into_iter().all(|branch| {
            elements(&branch.block, positions, keys, at)
                && branch.results.iter().all(|a| !matches!(a, Atom::Var(v) if at.contains_key(v)))
        }),
        e => {
            let mut fine = true;
            e.visit_atoms(&mut |a| fine &= !matches!(a, Atom::Var(v) if at.contains_key(&v)));
            if let Exp::Scan(s) = e {
                s.step.block.visit_reads(&mut |a, _| fine &= a != positions);
            }
            fine
        }
    })
}

/// Where in the sorted array the element at `index` is: the last index is a position in the same row.
fn element<'a>(index: &[Atom], at: &'a Places) -> Option<&'a (Vec<Atom>, bool)> {
    let (Atom::Var(last), row) = index.split_last()? else { return None };
    let place = at.get(last)?;
    (place.0.split_last()?.1 == row).then_some(place)
}

/// Replaces reads of positions by nothing and those of elements by reads of the sorted array.
fn redirect(b: &mut Block, sorted: ArrayId, keys: ArrayId, at: &mut Places) {
    b.lets.retain_mut(|l| {
        match &mut l.exp {
            Exp::Read { array, index, checked } if *array == sorted => {
                at.insert(l.vars[0], (index.clone(), *checked));
                return false;
            }
            Exp::Read { array, index, checked } if *array == keys => {
                if let Some(place) = element(index, at) {
                    *array = sorted;
                    (*index, *checked) = place.clone();
                }
            }
            Exp::If(_, x, y) => {
                redirect(&mut x.block, sorted, keys, at);
                redirect(&mut y.block, sorted, keys, at);
            }
            _ => {}
        }
        true
    });
}
