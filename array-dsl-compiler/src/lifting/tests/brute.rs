//! An independent oracle: all small assignments of maps and replications, tried one by one.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::linear::{Linear, Unknown};
use super::super::minima::{decisions, minima};
use super::super::skeleton::System;
use super::super::types::TypeVariable;
use super::super::*;

type Choice = Vec<i64>;

/// The cheapest choices, with their cost, if one of at most `most` insertions in all exists.
fn cheapest(system: &System, most: i64) -> Option<(i64, BTreeSet<Choice>)> {
    let unknowns: Vec<Unknown> = decisions(system).collect();
    let mut best: Option<(i64, BTreeSet<Choice>)> = None;
    choices(unknowns.len(), most, &mut Vec::new(), &mut |choice| {
        let of: BTreeMap<Unknown, i64> = unknowns.iter().copied().zip(choice.iter().copied()).collect();
        let of = |u: Unknown| of.get(&u).copied();
        let paid = |i: usize| {
            let frame = system.frames[i].substitute(&of).constant;
            choice[2 * i] + (choice[2 * i + 1] - frame).max(0)
        };
        if (0..system.frames.len()).any(|i| choice[2 * i] > 0 && choice[2 * i + 1] > 0) {
            return;
        }
        let cost: i64 = (0..system.frames.len()).map(paid).sum();
        if best.as_ref().is_some_and(|(b, _)| *b < cost) {
            return;
        }
        let left = |fs: &[Linear]| fs.iter().map(|f| f.substitute(&of)).collect::<Vec<_>>();
        if !ranks_exist(&left(&system.equations), &left(&system.bounds), most + 4) {
            return;
        }
        match &mut best {
            Some((b, all)) if *b == cost => {
                all.insert(choice.to_vec());
            }
            _ => best = Some((cost, BTreeSet::from([choice.to_vec()]))),
        }
    });
    best
}

fn choices(n: usize, most: i64, prefix: &mut Choice, visit: &mut dyn FnMut(&[i64])) {
    if prefix.len() == n {
        return visit(prefix);
    }
    for v in 0..=most {
        prefix.push(v);
        choices(n, most - v, prefix, visit);
        prefix.pop();
    }
}

/// Whether some ranks of at most `most` fulfill equations and bounds.
fn ranks_exist(equations: &[Linear], bounds: &[Linear], most: i64) -> bool {
    let wrong = |e: &Linear| e.terms.is_empty() && e.constant != 0;
    let below = |b: &Linear| b.terms.is_empty() && b.constant < 0;
    if equations.iter().any(wrong) || bounds.iter().any(below) {
        return false;
    }
    let shortest = equations.iter().filter(|e| !e.terms.is_empty()).min_by_key(|e| e.terms.len());
    let open = shortest.or(bounds.iter().find(|b| !b.terms.is_empty()));
    let Some(u) = open.and_then(|f| f.terms.keys().next().copied()) else { return true };
    (0..=most).any(|v| {
        let of = |w: Unknown| (u == w).then_some(v);
        let left = |fs: &[Linear]| fs.iter().map(|f| f.substitute(&of)).collect::<Vec<_>>();
        ranks_exist(&left(equations), &left(bounds), most)
    })
}

/// Compares the two for one system.
pub fn agree(system: &System, most: i64) -> Result<(), TestCaseError> {
    let expected = cheapest(system, most);
    match (minima(system), expected) {
        (Ok(found), Some((cost, all))) if found.cost >= cost => {
            prop_assert_eq!(found.cost, cost);
            let choices: BTreeSet<Choice> =
                found.solutions.iter().map(|s| decisions(system).map(|u| s[&u]).collect()).collect();
            prop_assert_eq!(choices.len(), found.solutions.len(), "a solution twice");
            let small: BTreeSet<Choice> =
                choices.into_iter().filter(|c| c.iter().sum::<i64>() <= most).collect();
            prop_assert_eq!(small, all);
        }
        // The oracle looks at small assignments only.
        (Ok(found), _) => {
            let least = found.solutions.iter().map(|s| decisions(system).map(|u| s[&u]).sum::<i64>()).min();
            prop_assert!(least > Some(most), "{:?}", found.solutions);
        }
        (Err(Error::NoSolution), None) => {}
        (Err(Error::Limit), _) => {}
        (found, expected) => prop_assert!(false, "{found:?} {expected:?}"),
    }
    Ok(())
}

fn form() -> impl Strategy<Value = Linear> {
    let unknown = prop_oneof![
        (0..3usize).prop_map(Unknown::Maps),
        (0..3usize).prop_map(Unknown::Reps),
        (0..2usize).prop_map(|v| Unknown::Rank(TypeVariable(v))),
    ];
    let terms = prop::collection::vec((unknown, prop_oneof![Just(-1i64), Just(1)]), 1..4);
    (terms, -2..3i64).prop_map(|(terms, constant)| {
        terms.into_iter().fold(Linear::constant(constant), |f, (u, c)| f.plus(c, &Linear::unknown(u)))
    })
}

fn systems() -> impl Strategy<Value = System> {
    let frames = (0..3usize, 0..2i64).prop_map(|(k, c)| {
        (0..3usize)
            .map(|i| match i.checked_sub(1) {
                Some(before) if k > 0 => Linear::constant(c).add(&Linear::unknown(Unknown::Maps(before))),
                _ => Linear::default(),
            })
            .collect::<Vec<_>>()
    });
    let equations = prop::collection::vec(form(), 1..4);
    (equations, prop::collection::vec(form(), 0..2), frames).prop_map(|(equations, bounds, frames)| System {
        equations,
        bounds,
        frames,
    })
}

#[test]
fn a_rank_may_be_more_than_types_give() {
    let r = Unknown::Rank(TypeVariable(0));
    let equations = vec![
        Linear::unknown(r).plus(1, &Linear::constant(-2)),
        Linear::default().plus(2, &Linear::unknown(r)).plus(-1, &Linear::unknown(Unknown::Maps(0))),
    ];
    let system = System { equations, bounds: Vec::new(), frames: vec![Linear::default()] };
    assert_eq!(minima(&system).map(|m| m.cost), Ok(4));
    agree(&system, 5).expect("the same");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_solver_finds_what_trying_finds(system in systems()) {
        agree(&system, 5)?;
    }
}
