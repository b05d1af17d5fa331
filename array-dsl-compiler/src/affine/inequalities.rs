//! Systems of linear inequalities over integers, and whether it is certain that they have no solution.
//!
//! Unknowns are eliminated one by one: by an equation that has one, else by adding every inequality that bounds one from below to
//! every one that bounds it from above (Fourier and Motzkin). What is left without unknowns is false only if the system has no
//! solution in the rational numbers. Every inequality is divided by the common factor of its unknowns, and its constant rounded
//! down, which loses no integers. A system that grows too large, or whose numbers do, counts as one that may have solutions.

use std::collections::{BTreeMap, BTreeSet};

/// More inequalities than a few accesses have.
const MOST: usize = 400;

/// `sum of factor * unknown + constant`; unknowns are numbered.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Linear {
    factors: BTreeMap<usize, i64>,
    constant: i64,
}

/// What is not known to be false.
struct Unsure;

impl Linear {
    pub fn constant(c: i64) -> Linear {
        Linear { factors: BTreeMap::new(), constant: c }
    }

    pub fn unknown(u: usize) -> Linear {
        Linear { factors: [(u, 1)].into(), constant: 0 }
    }

    /// `self + k * other`, if the numbers fit.
    pub fn plus(&self, other: &Linear, k: i64) -> Option<Linear> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(k)?)?;
        for (u, c) in &other.factors {
            let factor = sum.factors.entry(*u).or_default();
            *factor = factor.checked_add(c.checked_mul(k)?)?;
        }
        sum.factors.retain(|_, c| *c != 0);
        Some(sum)
    }

    fn factor(&self, u: usize) -> i64 {
        self.factors.get(&u).copied().unwrap_or(0)
    }

    fn common_factor(&self) -> i64 {
        let gcd = |a: u64, b: u64| {
            let (mut a, mut b) = (a, b);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let common = self.factors.values().fold(0, |g, c| gcd(g, c.unsigned_abs()));
        i64::try_from(common).unwrap_or(1)
    }
}

/// Expressions that are zero, and that are at least zero.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    zero: Vec<Linear>,
    at_least_zero: BTreeSet<Linear>,
    /// Whether one of them was a constant that is not.
    is_false: bool,
}

impl System {
    pub fn zero(&mut self, e: Linear) {
        self.zero.push(e);
    }

    pub fn at_least_zero(&mut self, e: Linear) {
        self.at_least_zero.insert(e);
    }

    /// Whether there is certainly no solution.
    pub fn has_no_solution(mut self) -> bool {
        self.eliminated().is_ok() && self.is_false
    }

    fn eliminated(&mut self) -> Result<(), Unsure> {
        while let Some(e) = self.zero.pop() {
            self.by_equation(e)?;
        }
        for e in std::mem::take(&mut self.at_least_zero) {
            self.add(e)?;
        }
        while !self.is_false
            && let Some(u) = self.cheapest()
        {
            self.by_bounds(u)?;
        }
        Ok(())
    }

    /// Adds an inequality in its normal form.
    fn add(&mut self, mut e: Linear) -> Result<(), Unsure> {
        match e.common_factor() {
            0 => self.is_false |= e.constant < 0,
            g => {
                e.factors.values_mut().for_each(|c| *c /= g);
                e.constant = e.constant.div_euclid(g);
                self.at_least_zero.insert(e);
            }
        }
        if self.at_least_zero.len() > MOST { Err(Unsure) } else { Ok(()) }
    }

    /// Eliminates an unknown by an equation, the one with the smallest factor.
    fn by_equation(&mut self, e: Linear) -> Result<(), Unsure> {
        let Some((u, c)) = e.factors.iter().min_by_key(|(_, c)| c.unsigned_abs()).map(|(u, c)| (*u, *c))
        else {
            self.is_false |= e.constant != 0;
            return Ok(());
        };
        if e.constant % e.common_factor() != 0 {
            self.is_false = true;
            return Ok(());
        }
        let size = c.checked_abs().ok_or(Unsure)?;
        // |c| * f - sign(c) * factor * e has no u, and the sign of f.
        let without = |f: &Linear| {
            let k = f.factor(u);
            if k == 0 {
                return Some(f.clone());
            }
            Linear::default().plus(f, size)?.plus(&e, k.checked_mul(-c.signum())?)
        };
        let zero = self.zero.iter().map(without).collect::<Option<_>>();
        let at_least_zero = self.at_least_zero.iter().map(without).collect::<Option<_>>();
        (self.zero, self.at_least_zero) = zero.zip(at_least_zero).ok_or(Unsure)?;
        Ok(())
    }

    /// The unknown whose elimination makes the fewest inequalities.
    fn cheapest(&self) -> Option<usize> {
        let mut bounds: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (u, c) in self.at_least_zero.iter().flat_map(|e| &e.factors) {
            let (below, above) = bounds.entry(*u).or_default();
            *(if *c > 0 { below } else { above }) += 1;
        }
        bounds.into_iter().min_by_key(|(_, (below, above))| below * above).map(|(u, _)| u)
    }

    fn by_bounds(&mut self, u: usize) -> Result<(), Unsure> {
        let (with, without) =
            std::mem::take(&mut self.at_least_zero).into_iter().partition(|e| e.factor(u) != 0);
        self.at_least_zero = without;
        let (below, above): (Vec<Linear>, Vec<Linear>) = with.into_iter().partition(|e| e.factor(u) > 0);
        for (low, high) in below.iter().flat_map(|low| above.iter().map(move |high| (low, high))) {
            let times = high.factor(u).checked_neg().ok_or(Unsure)?;
            let sum = Linear::default().plus(low, times).and_then(|e| e.plus(high, low.factor(u)));
            self.add(sum.ok_or(Unsure)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(factors: &[(usize, i64)], constant: i64) -> Linear {
        Linear { factors: factors.iter().copied().collect(), constant }
    }

    /// Equations and inequalities over unknowns 0 to 2, against trying all integers of a box.
    #[test]
    fn no_solution_means_none_in_a_box() {
        let mut state = 1u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % n) as i64
        };
        let (mut empty, mut claimed) = (0, 0);
        for _ in 0..3000 {
            let mut system = System::default();
            let mut any = |n: u64| {
                (0..n)
                    .map(|_| linear(&[(0, next(5) - 2), (1, next(5) - 2), (2, next(5) - 2)], next(9) - 4))
                    .map(|mut e| {
                        e.factors.retain(|_, c| *c != 0);
                        e
                    })
                    .collect::<Vec<_>>()
            };
            let (zero, mut least) = (any(1), any(4));
            // The box.
            for u in 0..3 {
                least.extend([linear(&[(u, 1)], 3), linear(&[(u, -1)], 3)]);
            }
            zero.iter().for_each(|e| system.zero(e.clone()));
            least.iter().for_each(|e| system.at_least_zero(e.clone()));
            let value =
                |e: &Linear, x: [i64; 3]| e.factors.iter().map(|(u, c)| c * x[*u]).sum::<i64>() + e.constant;
            let all = || (-3..=3).flat_map(|a| (-3..=3).flat_map(move |b| (-3..=3).map(move |c| [a, b, c])));
            let has = all()
                .any(|x| zero.iter().all(|e| value(e, x) == 0) && least.iter().all(|e| value(e, x) >= 0));
            let none = system.has_no_solution();
            assert!(!(has && none), "{zero:?} {least:?}");
            empty += usize::from(!has);
            claimed += usize::from(none);
        }
        assert!(empty > 500 && claimed * 10 > empty * 8, "{claimed} of {empty}");
    }
}
