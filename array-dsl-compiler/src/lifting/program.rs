//! The integer program of what arguments do not decide locally.
//!
//! ```text
//! minimize    sum of M + Z
//! such that   every equation is 0, every bound is 0 or more
//!             M <= U b,   R <= U (1 - b),   b is 0 or 1         one of the two is 0
//!             Z >= R - S1,   Z >= 0                             replications that an earlier map induces are free
//! ```

use std::collections::BTreeMap;

use good_lp::{Expression, ProblemVariables, ResolutionError, Solution, SolverModel, microlp, variable};

use super::Error;
use super::linear::{Linear, Unknown};
use super::ranges::Ranges;
use super::skeleton::System;

/// A value for each unknown.
pub type Assignment = BTreeMap<Unknown, i64>;

/// A solution of least cost within the ranges and the budget. `None`: there is none.
pub fn solve(system: &System, ranges: &Ranges, budget: Option<i64>) -> Result<Option<Assignment>, Error> {
    let mut found: Assignment = ranges.unknowns().filter_map(|u| Some((u, ranges.decided(u)?))).collect();
    if ranges.unknowns().any(|u| ranges.decided(u).is_none()) {
        match optimum(system, ranges, budget)? {
            Some(others) => found.extend(others),
            None => return Ok(None),
        }
    } else if !holds(system, &found) {
        return Ok(None);
    }
    // The solver computes with floats; what it says is believed only if it is so.
    let within = budget.is_none_or(|b| cost(system, &found) <= b);
    if holds(system, &found) && within { Ok(Some(found)) } else { Err(Error::Solver) }
}

fn optimum(
    system: &System,
    ranges: &Ranges,
    budget: Option<i64>,
) -> Result<Option<Vec<(Unknown, i64)>>, Error> {
    let mut problem = ProblemVariables::new();
    let open: Vec<Unknown> = ranges.unknowns().filter(|u| ranges.decided(*u).is_none()).collect();
    let columns: BTreeMap<Unknown, good_lp::Variable> = open
        .iter()
        .map(|u| {
            let (lo, hi) = ranges.get(*u);
            (*u, problem.add(variable().integer().min(lo as f64).max(hi as f64)))
        })
        .collect();
    let form = |f: &Linear| {
        let f = f.substitute(&|u| ranges.decided(u));
        let start = Expression::from(f.constant as f64);
        f.terms.iter().fold(start, |sum, (u, c)| sum + *c as f64 * columns[u])
    };
    let mut constraints = Vec::new();
    let mut total = Expression::from(0.0);
    for (i, frame) in system.frames.iter().enumerate() {
        let (maps, reps) = (Unknown::Maps(i), Unknown::Reps(i));
        total += form(&Linear::unknown(maps));
        if ranges.decided(maps).is_none() && ranges.decided(reps).is_none() {
            let either = problem.add(variable().binary());
            let (m, r) = (ranges.get(maps).1 as f64, ranges.get(reps).1 as f64);
            constraints.push((columns[&maps] - m * either).leq(0.0));
            constraints.push((columns[&reps] + r * either).leq(r));
        }
        if ranges.get(reps).1 > 0 {
            let paid = problem.add(variable().min(0.0));
            constraints.push((form(&Linear::unknown(reps).sub(frame)) - paid).leq(0.0));
            total += paid;
        }
    }
    let demanded = |f: &&Linear| f.terms.keys().any(|u| ranges.decided(*u).is_none());
    constraints.extend(system.equations.iter().filter(demanded).map(|e| form(e).eq(0.0)));
    constraints.extend(system.bounds.iter().filter(demanded).map(|b| form(b).geq(0.0)));
    if let Some(budget) = budget {
        constraints.push(total.clone().leq(budget as f64));
    }
    let mut model = problem.minimise(total).using(microlp);
    for c in constraints {
        model = model.with(c);
    }
    match model.solve() {
        Ok(solution) => {
            let value = |u: &Unknown| (*u, solution.value(columns[u]).round() as i64);
            Ok(Some(open.iter().map(value).collect()))
        }
        Err(ResolutionError::Infeasible) => Ok(None),
        Err(_) => Err(Error::Solver),
    }
}

/// Whether an assignment fulfills everything.
pub fn holds(system: &System, a: &Assignment) -> bool {
    let of = |u: Unknown| a.get(&u).copied().unwrap_or(0);
    let one = |i: usize| of(Unknown::Maps(i)) == 0 || of(Unknown::Reps(i)) == 0;
    a.values().all(|v| *v >= 0)
        && system.equations.iter().all(|e| e.value(&of) == 0)
        && system.bounds.iter().all(|b| b.value(&of) >= 0)
        && (0..system.frames.len()).all(one)
}

/// The number of maps, and of replications that no earlier map of the same call induces.
pub fn cost(system: &System, a: &Assignment) -> i64 {
    let of = |u: Unknown| a.get(&u).copied().unwrap_or(0);
    let each = system
        .frames
        .iter()
        .enumerate()
        .map(|(i, frame)| of(Unknown::Maps(i)) + (of(Unknown::Reps(i)) - frame.value(&of)).max(0));
    each.sum()
}
