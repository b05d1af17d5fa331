//! All minimal solutions.
//!
//! The first one says what a minimum costs. The others are found by splitting: after a solution `s`, what is left of a
//! region are the regions `u1 < s1`, `u1 > s1`, then those of `u1 = s1` with `u2 < s2`, `u2 > s2`, and so on. They are
//! disjoint and cover everything except `s`, so the list is complete, and the decision whether a minimum is the only one
//! is exact. (The thesis excludes solutions by which maps and replications there are, not by how many, and leaves open
//! whether that finds all.)

use super::Error;
use super::linear::Unknown;
use super::program::{Assignment, cost, solve};
use super::ranges::Ranges;
use super::skeleton::System;

/// More elaborations than anybody wants to read.
const MAX_MINIMA: usize = 24;
/// No array has more dimensions.
const MAX_RANK: i64 = 64;

/// The minimal solutions, which differ in maps or replications.
#[derive(Clone, Debug)]
pub struct Minima {
    /// What each costs.
    pub cost: i64,
    /// Each solution, in a fixed order.
    pub solutions: Vec<Assignment>,
    /// How many maps and replications no argument decided locally.
    pub undecided: usize,
}

/// Finds all of them.
pub fn minima(system: &System) -> Result<Minima, Error> {
    let none = if declared_ranks(system) > MAX_RANK { Error::Limit } else { Error::NoSolution };
    let mut everything = Ranges::new(system, MAX_RANK);
    if !everything.narrow(system, None) {
        return Err(none);
    }
    let undecided = decisions(system).filter(|u| everything.decided(*u).is_none()).count();
    let first = solve(system, &everything, None)?.ok_or(none)?;
    let mut best = cost(system, &first);
    let mut solutions: Vec<Assignment> = Vec::new();
    let mut regions = vec![everything.clone()];
    while let Some(mut region) = regions.pop() {
        if !region.narrow(system, Some(best)) {
            continue;
        }
        let Some(found) = solve(system, &region, Some(best))? else { continue };
        let price = cost(system, &found);
        if price < best {
            // The solver's first answer was not minimal after all.
            best = price;
            solutions.clear();
            regions = vec![everything.clone()];
            continue;
        }
        for u in decisions(system).filter(|u| region.decided(*u).is_none()).collect::<Vec<_>>() {
            let value = found[&u];
            for (lo, hi) in [(0, value - 1), (value + 1, i64::MAX)] {
                let mut other = region.clone();
                other.cut(u, lo, hi);
                let (lo, hi) = other.get(u);
                if lo <= hi {
                    regions.push(other);
                }
            }
            region.cut(u, value, value);
        }
        solutions.push(found);
        if solutions.len() > MAX_MINIMA {
            return Err(Error::Limit);
        }
    }
    // Those with the fewest replications of any kind first.
    let order = |a: &Assignment| {
        let values: Vec<i64> = decisions(system).map(|u| a[&u]).collect();
        (values.iter().sum::<i64>(), values)
    };
    solutions.sort_by_key(order);
    Ok(Minima { cost: best, solutions, undecided })
}

/// The unknowns that say what is inserted.
pub fn decisions(system: &System) -> impl Iterator<Item = Unknown> + use<> {
    (0..system.frames.len()).flat_map(|i| [Unknown::Maps(i), Unknown::Reps(i)])
}

/// The sum of the ranks that types give. Ranks may be greater: `r = 2` and `m = r + r` make 4 of 2.
fn declared_ranks(system: &System) -> i64 {
    let forms = system.equations.iter().chain(&system.bounds).chain(&system.frames);
    forms.map(|f| f.constant.abs()).sum()
}
