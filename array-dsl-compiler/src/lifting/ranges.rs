//! What the arguments decide locally: ranges of the unknowns, narrowed until nothing changes.
//!
//! An application `R + argument = M + parameter` in which either M or R is 0 is decided by the difference of the two
//! ranks. The rule is applied to ranges, so that it also narrows what is not decided. Nothing is lost: only values that
//! belong to no solution (within the budget, if there is one) are cut off.

use std::collections::BTreeMap;

use super::linear::{Linear, Unknown};
use super::skeleton::System;

/// Of each unknown, the least and the greatest value.
#[derive(Clone, Debug)]
pub struct Ranges {
    of: BTreeMap<Unknown, (i64, i64)>,
}

impl Ranges {
    /// All unknowns of a system, from 0 to a greatest rank.
    pub fn new(system: &System, greatest: i64) -> Ranges {
        let forms = system.equations.iter().chain(&system.bounds).chain(&system.frames);
        let mentioned = forms.flat_map(|f| f.terms.keys().copied());
        let decisions = (0..system.frames.len()).flat_map(|i| [Unknown::Maps(i), Unknown::Reps(i)]);
        Ranges { of: mentioned.chain(decisions).map(|u| (u, (0, greatest))).collect() }
    }

    /// The unknowns.
    pub fn unknowns(&self) -> impl Iterator<Item = Unknown> + '_ {
        self.of.keys().copied()
    }

    /// The least and the greatest value.
    pub fn get(&self, u: Unknown) -> (i64, i64) {
        self.of.get(&u).copied().unwrap_or((0, 0))
    }

    /// The value, if it is decided.
    pub fn decided(&self, u: Unknown) -> Option<i64> {
        let (lo, hi) = self.get(u);
        (lo == hi).then_some(lo)
    }

    /// Cuts off what is below `lo` or above `hi`; whether something was.
    pub fn cut(&mut self, u: Unknown, lo: i64, hi: i64) -> bool {
        let before = self.get(u);
        let after = (before.0.max(lo), before.1.min(hi));
        self.of.insert(u, after);
        before != after
    }

    /// The range of a form.
    fn of_form(&self, f: &Linear) -> (i64, i64) {
        f.terms.iter().fold((f.constant, f.constant), |(lo, hi), (u, c)| {
            let (a, b) = self.get(*u);
            if *c >= 0 { (lo + c * a, hi + c * b) } else { (lo + c * b, hi + c * a) }
        })
    }

    /// Narrows all ranges; false if there is no solution of at most that cost.
    pub fn narrow(&mut self, system: &System, budget: Option<i64>) -> bool {
        let mut changed = true;
        while changed {
            changed = false;
            for e in &system.equations {
                changed |= self.narrow_sum(e, true);
                changed |= self.narrow_application(e);
            }
            for b in &system.bounds {
                changed |= self.narrow_sum(b, false);
            }
            for i in 0..system.frames.len() {
                let (maps, reps) = (Unknown::Maps(i), Unknown::Reps(i));
                for (some, other) in [(maps, reps), (reps, maps)] {
                    if self.get(some).0 > 0 {
                        changed |= self.cut(other, 0, 0);
                    }
                }
            }
            if let Some(budget) = budget {
                changed |= self.narrow_costs(system, budget);
            }
            if self.of.values().any(|(lo, hi)| lo > hi) {
                return false;
            }
        }
        true
    }

    /// What the other terms of a sum leave for each one, where the sum is 0, or 0 or more.
    fn narrow_sum(&mut self, sum: &Linear, zero: bool) -> bool {
        let mut changed = false;
        if sum.terms.is_empty() {
            let holds = if zero { sum.constant == 0 } else { sum.constant >= 0 };
            // Nothing is left of the first range, which says that there is no solution.
            let first = self.of.keys().next().copied();
            return match first {
                Some(u) if !holds && self.get(u).0 <= self.get(u).1 => self.cut(u, 1, 0),
                _ => false,
            };
        }
        for (u, c) in &sum.terms {
            let (lo, hi) = self.of_form(&sum.plus(-c, &Linear::unknown(*u)));
            // c u is at least -hi and, for 0, at most -lo.
            let (least, greatest) = (-hi, if zero { -lo } else { i64::MAX });
            let range = if *c > 0 {
                (ceiling(least, *c), if zero { greatest.div_euclid(*c) } else { i64::MAX })
            } else {
                (if zero { ceiling(-greatest, -c) } else { i64::MIN }, (-least).div_euclid(-c))
            };
            changed |= self.cut(*u, range.0, range.1);
        }
        changed
    }

    /// An application's own equation: `M - R` is the difference `d` of two ranks, M is `max(d, 0)`, R is `max(-d, 0)`.
    fn narrow_application(&mut self, e: &Linear) -> bool {
        let mut changed = false;
        for (u, c) in &e.terms {
            let Unknown::Maps(i) = u else { continue };
            let (maps, reps) = (Linear::unknown(*u), Linear::unknown(Unknown::Reps(*i)));
            if e.terms.get(&Unknown::Reps(*i)) != Some(&-c) || c.abs() != 1 {
                continue;
            }
            // c (M - R) + rest = 0.
            let rest = e.sub(&maps.sub(&reps).plus(c - 1, &maps.sub(&reps)));
            let (lo, hi) = self.of_form(&rest);
            let (lo, hi) = if *c == 1 { (-hi, -lo) } else { (lo, hi) };
            changed |= self.cut(*u, lo.max(0), hi.max(0));
            changed |= self.cut(Unknown::Reps(*i), (-hi).max(0), (-lo).max(0));
        }
        changed
    }

    fn narrow_costs(&mut self, system: &System, budget: i64) -> bool {
        let least = |r: &Ranges, i: usize| {
            let induced = r.of_form(&system.frames[i]).1;
            r.get(Unknown::Maps(i)).0 + (r.get(Unknown::Reps(i)).0 - induced).max(0)
        };
        let slack = budget - (0..system.frames.len()).map(|i| least(self, i)).sum::<i64>();
        let mut changed = false;
        for (i, frame) in system.frames.iter().enumerate() {
            let left = slack + least(self, i);
            let induced = self.of_form(frame).1;
            changed |= self.cut(Unknown::Maps(i), 0, left);
            changed |= self.cut(Unknown::Reps(i), 0, left + induced);
        }
        changed
    }
}

fn ceiling(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}
