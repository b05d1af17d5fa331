//! Ordinary unification once maps and replications are decided: what types are, and what they leave open.

use std::collections::BTreeMap;

use super::Error;
use super::generate::Flow;
use super::linear::{Linear, Unknown};
use super::program::Assignment;
use super::skeleton::Skeleton;
use super::types::{Type, TypeVariable};

/// What variables stand for.
pub struct Unifier<'a> {
    bound: BTreeMap<TypeVariable, Type>,
    skeleton: &'a Skeleton,
    solution: &'a Assignment,
}

impl<'a> Unifier<'a> {
    /// Makes both sides of every flow equal.
    pub fn new(flows: &[Flow], skeleton: &'a Skeleton, solution: &'a Assignment) -> Result<Self, Error> {
        let mut unifier = Unifier { bound: BTreeMap::new(), skeleton, solution };
        for flow in flows {
            let (from, to) = (unifier.ground(&flow.from), unifier.ground(&flow.to));
            unifier.unify(from, to)?;
        }
        Ok(unifier)
    }

    /// What a type is under the solution.
    pub fn resolve(&self, t: &Type) -> Type {
        self.settle(&self.ground(t))
    }

    /// Functions split, unknowns replaced.
    fn ground(&self, t: &Type) -> Type {
        self.assign(&self.skeleton.expand(t))
    }

    fn assign(&self, t: &Type) -> Type {
        match t {
            Type::Base(_) | Type::Variable(_) => t.clone(),
            Type::Arrow(a, b) => Type::function([self.assign(a), self.assign(b)]),
            Type::Array(rank, t) => {
                let of = |u: Unknown| self.solution.get(&u).copied().unwrap_or(0);
                self.assign(t).under(Linear::constant(rank.value(&of)))
            }
        }
    }

    fn settle(&self, t: &Type) -> Type {
        match t {
            Type::Base(_) => t.clone(),
            Type::Variable(v) => self.bound.get(v).map_or_else(|| t.clone(), |t| self.settle(t)),
            Type::Arrow(a, b) => Type::function([self.settle(a), self.settle(b)]),
            Type::Array(rank, t) => self.settle(t).under(rank.clone()),
        }
    }

    /// Outer dimensions and what is below them.
    fn peel(&self, t: Type) -> (i64, Type) {
        match t {
            Type::Array(rank, t) => {
                let (inner, t) = self.peel((*t).clone());
                (rank.constant + inner, t)
            }
            Type::Variable(v) => match self.bound.get(&v) {
                Some(t) => self.peel(t.clone()),
                None => (0, Type::Variable(v)),
            },
            t => (0, t),
        }
    }

    fn unify(&mut self, a: Type, b: Type) -> Result<(), Error> {
        let ((m, a), (n, b)) = (self.peel(a), self.peel(b));
        let outer = |k: i64, t: &Type| t.clone().under(Linear::constant(k));
        match (&a, &b) {
            (Type::Arrow(a1, b1), Type::Arrow(a2, b2)) => {
                self.unify(outer(m, a1), outer(n, a2))?;
                self.unify(outer(m, b1), outer(n, b2))
            }
            _ if a == b && m == n => Ok(()),
            (Type::Variable(v), _) if m <= n && a != b => {
                self.bound.insert(*v, outer(n - m, &b));
                Ok(())
            }
            (_, Type::Variable(v)) if n <= m && a != b => {
                self.bound.insert(*v, outer(m - n, &a));
                Ok(())
            }
            _ => Err(Error::Mismatch(outer(m, &a), outer(n, &b))),
        }
    }
}
