//! Equal states of scans are one.
//!
//! ```text
//! before   s, t = scan [l = a, m = a] [x = v, y = v] { k = f(l, x); o = f(m, y) => k, o }
//! after    s = t = scan [l = a] [x = v] { k = f(l, x) => k }
//! ```
//!
//! States start in classes of equal starts and values. A class stays one if its new values are equal once the states of each class
//! are taken to be equal, else it is divided, until nothing changes: what is left is equal at every point, by induction. The
//! affine maps of a derivative have such states: the map of a product of matrices is the same for each row.
//!
//! Source: partition refinement (Hopcroft 1971), here for recurrences.

use std::collections::HashMap;

use crate::bulk::build::{Renaming, renamed};
use crate::bulk::{Atom, Exp, Let, Nest, Program, Scan, Stm, Var};

/// Shares the states of all scans.
pub(super) fn states(p: &mut Program) {
    for s in &mut p.stms {
        if let Stm::Nest(n) = s {
            nest(n);
        }
    }
}

fn nest(n: &mut Nest) {
    let mut map = Renaming::new();
    for l in &mut n.body.lets {
        l.exp = l.exp.renamed(&map);
        if let Exp::Scan(s) = &mut l.exp {
            let first = firsts(s);
            if first.iter().enumerate().any(|(k, f)| k != *f) {
                map.extend(l.vars.iter().zip(&first).map(|(v, f)| (*v, Atom::Var(l.vars[*f]))));
                let kept: Vec<usize> = (0..first.len()).filter(|k| first[*k] == *k).collect();
                l.vars = kept.iter().map(|k| l.vars[*k]).collect();
                shrink(s, &first, &kept);
            }
        }
    }
    n.yields.iter_mut().for_each(|y| y.kind.rename(&map));
}

/// For each state the first one that is equal to it.
fn firsts(s: &Scan) -> Vec<usize> {
    let count = s.left.len();
    let equal_at_start = |i: usize, j: usize| s.start[i] == s.start[j] && s.values.get(i) == s.values.get(j);
    let mut first: Vec<usize> =
        (0..count).map(|j| (0..j).find(|i| equal_at_start(*i, j)).unwrap_or(j)).collect();
    loop {
        let results = results(s, &first);
        let next: Vec<usize> = (0..count)
            .map(|j| (0..j).find(|i| first[*i] == first[j] && results[*i] == results[j]).unwrap_or(j))
            .collect();
        if next == first {
            return first;
        }
        first = next;
    }
}

/// The new values, with equal expressions in one variable and the states of each class taken to be equal.
fn results(s: &Scan, first: &[usize]) -> Vec<Atom> {
    let mut map = classes(s, first);
    let mut known: HashMap<Exp, Vec<Var>> = HashMap::new();
    for l in &s.step.block.lets {
        let e = l.exp.renamed(&map);
        match known.get(&e) {
            Some(vars) => map.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v)))),
            None => drop(known.insert(e, l.vars.clone())),
        }
    }
    s.step.results.iter().map(|a| renamed(&map, *a)).collect()
}

/// The states before the point, and its values, as those of the first of their classes.
fn classes(s: &Scan, first: &[usize]) -> Renaming {
    let to = |vars: &[Var]| -> Vec<(Var, Atom)> {
        vars.iter().zip(first).map(|(v, f)| (*v, Atom::Var(vars[*f]))).collect()
    };
    to(&s.left).into_iter().chain(to(&s.right)).collect()
}

/// Keeps one state of each class; what computed the others is no longer used.
fn shrink(s: &mut Scan, first: &[usize], kept: &[usize]) {
    let map = classes(s, first);
    let rename = |l: &Let| Let { exp: l.exp.renamed(&map), ..l.clone() };
    s.step.block.lets = s.step.block.lets.iter().map(rename).collect();
    s.step.results = kept.iter().map(|k| renamed(&map, s.step.results[*k])).collect();
    let of = |atoms: &[Atom]| kept.iter().filter_map(|k| atoms.get(*k)).copied().collect::<Vec<Atom>>();
    (s.start, s.values) = (of(&s.start), of(&s.values));
    let of = |vars: &[Var]| kept.iter().filter_map(|k| vars.get(*k)).copied().collect::<Vec<Var>>();
    (s.left, s.right) = (of(&s.left), of(&s.right));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::parse::parse;
    use crate::bulk::print::print;
    use crate::bulk::verify::check;

    /// The third state starts like the first two, but its new value depends on the fourth, which is none of them.
    #[test]
    fn states_that_are_equal_at_every_point_are_one() {
        let mut p = parse(
            "program f(x.0: [n]f64) sizes n
             nest [%0 < n] {
               %1 = x.0[%0]
               %2, %3, %4, %5 = scan inclusive [%6 = 1.0f64, %7 = 1.0f64, %8 = 1.0f64, %9 = 0.0f64] [%10 = %1, %11 = %1, %12 = %1, %13 = %1] {
                 %14 = mul %6 %10; %15 = mul %7 %11; %16 = mul %9 %12; %17 = add %9 %13 => %14, %15, %16, %17 }
             } yields (a.1: [n]f64 = store %2, b.2: [n]f64 = store %3, c.3: [n]f64 = store %4, d.4: [n]f64 = store %5)
             => (a.1, b.2, c.3, d.4)",
        )
        .expect("it parses");
        states(&mut p);
        assert_eq!(check(&p), [""; 0]);
        let Some(Stm::Nest(n)) = p.stms.first() else { panic!("{}", print(&p)) };
        let Some(Exp::Scan(s)) = n.body.lets.last().map(|l| &l.exp) else { panic!("{}", print(&p)) };
        assert_eq!(s.left, [Var(6), Var(8), Var(9)], "{}", print(&p));
        assert_eq!(n.yields[0].kind, n.yields[1].kind);
    }
}
