//! From flows of types to linear equations of ranks.
//!
//! Types are first unified without their arrays (ordinary unification), so that every variable is known to be scalar,
//! open, or a function. Variables that are functions are then split into parameter and result, and so is every flow of
//! functions, until scalars and open variables are left; each gives one equation. The rank of a function type would
//! otherwise be 0, and the ranks in it were lost: `outerprod(eq, xs, ys)` would be wrongly rejected.
//!
//! **An array of functions serves as a function of arrays, but not the other way round**: of where one goes, the
//! dimensions outside a function are at most those of where it comes from. (The published system takes both ways for
//! equal, and so maps over the "elements" of `reverse`.)

use std::collections::BTreeMap;

use super::Error;
use super::generate::{Constraints, Flow};
use super::linear::{Linear, Unknown};
use super::types::{Type, TypeVariable};

/// What the ranks have to fulfill.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Each is 0.
    pub equations: Vec<Linear>,
    /// Each is 0 or more.
    pub bounds: Vec<Linear>,
    /// Of each application, the frame of its function. One of its two unknowns is 0.
    pub frames: Vec<Linear>,
}

/// What is known about type variables apart from ranks.
#[derive(Default)]
pub struct Skeleton {
    bound: BTreeMap<TypeVariable, Type>,
    split: BTreeMap<TypeVariable, (Type, Type)>,
}

/// Unifies without ranks and collects what is demanded of ranks.
pub fn split(constraints: &mut Constraints) -> Result<(System, Skeleton), Error> {
    let mut skeleton = Skeleton::default();
    for flow in &constraints.flows {
        skeleton.unify(&flow.from, &flow.to)?;
    }
    let mut system = System { frames: constraints.frames.clone(), ..System::default() };
    for Flow { from, to, both } in constraints.flows.clone() {
        let (outer, inner) = (Linear::default(), Linear::default());
        skeleton.flow(constraints, &mut system, (outer, &from), (inner, &to), both);
    }
    system.equations.retain(|e| !e.is_zero());
    system.bounds.retain(|b| !(b.terms.is_empty() && b.constant >= 0));
    for list in [&mut system.equations, &mut system.bounds] {
        list.sort();
        list.dedup();
    }
    Ok((system, skeleton))
}

impl Skeleton {
    /// The type without its outer arrays, as far as it is known.
    fn head(&self, t: &Type) -> Type {
        match t {
            Type::Array(_, t) => self.head(t),
            Type::Variable(v) => match self.bound.get(v) {
                Some(t) => self.head(t),
                None => t.clone(),
            },
            t => t.clone(),
        }
    }

    fn unify(&mut self, a: &Type, b: &Type) -> Result<(), Error> {
        match (self.head(a), self.head(b)) {
            (Type::Variable(a), Type::Variable(b)) if a == b => Ok(()),
            (Type::Variable(v), t) | (t, Type::Variable(v)) => {
                if self.occurs(v, &t) {
                    return Err(Error::Infinite(t));
                }
                self.bound.insert(v, t);
                Ok(())
            }
            (Type::Arrow(a1, b1), Type::Arrow(a2, b2)) => {
                self.unify(&a1, &a2)?;
                self.unify(&b1, &b2)
            }
            (Type::Base(a), Type::Base(b)) if a == b => Ok(()),
            (a, b) => Err(Error::Mismatch(a, b)),
        }
    }

    fn occurs(&self, v: TypeVariable, t: &Type) -> bool {
        match self.head(t) {
            Type::Variable(w) => v == w,
            Type::Arrow(a, b) => self.occurs(v, &a) || self.occurs(v, &b),
            Type::Base(_) | Type::Array(..) => false,
        }
    }

    /// The parameter and the result of a type that is a function, with variables for what is open.
    fn parts(&mut self, constraints: &mut Constraints, t: &Type) -> Option<(Type, Type)> {
        match t {
            Type::Arrow(a, b) => Some(((**a).clone(), (**b).clone())),
            Type::Variable(v) => {
                if let Some(parts) = self.split.get(v) {
                    return Some(parts.clone());
                }
                let Type::Arrow(a, b) = self.head(t) else { return None };
                let parts = (constraints.fresh(), constraints.fresh());
                for (part, known) in [(&parts.0, &a), (&parts.1, &b)] {
                    if let Type::Variable(part) = part {
                        let known = self.head(known);
                        self.bound.insert(*part, known);
                    }
                }
                self.split.insert(*v, parts.clone());
                Some(parts)
            }
            Type::Base(_) | Type::Array(..) => None,
        }
    }

    fn flow(
        &mut self,
        constraints: &mut Constraints,
        system: &mut System,
        (mut outer, mut from): (Linear, &Type),
        (mut inner, mut to): (Linear, &Type),
        both: bool,
    ) {
        while let Type::Array(rank, t) = from {
            (outer, from) = (outer.add(rank), t);
        }
        while let Type::Array(rank, t) = to {
            (inner, to) = (inner.add(rank), t);
        }
        if let (Some((a1, b1)), Some((a2, b2))) = (self.parts(constraints, from), self.parts(constraints, to))
        {
            system.bounds.push(outer.sub(&inner));
            if both {
                system.bounds.push(inner.sub(&outer));
            }
            // What the use passes goes to the function's parameter.
            self.flow(constraints, system, (inner.clone(), &a2), (outer.clone(), &a1), both);
            self.flow(constraints, system, (outer, &b1), (inner, &b2), both);
            return;
        }
        system.equations.push(outer.add(&rank(from)).sub(&inner).sub(&rank(to)));
    }

    /// The type with its functions split.
    pub fn expand(&self, t: &Type) -> Type {
        match t {
            Type::Variable(v) => match self.split.get(v) {
                Some((a, b)) => Type::function([self.expand(a), self.expand(b)]),
                None => t.clone(),
            },
            Type::Base(_) => t.clone(),
            Type::Arrow(a, b) => Type::function([self.expand(a), self.expand(b)]),
            Type::Array(rank, t) => self.expand(t).under(rank.clone()),
        }
    }
}

/// The rank of a scalar or a variable.
fn rank(t: &Type) -> Linear {
    match t {
        Type::Variable(v) => Linear::unknown(Unknown::Rank(*v)),
        _ => Linear::default(),
    }
}
