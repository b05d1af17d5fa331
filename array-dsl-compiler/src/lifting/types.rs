//! Types: of values, and of names, which may have many.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use super::linear::Linear;
use crate::ty::Name;

/// A type that is not known yet, or that a scheme leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeVariable(pub usize);

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A scalar type.
    Base(Name),
    /// Any type, of any rank.
    Variable(TypeVariable),
    /// A function of one argument; of more, by currying.
    Arrow(Rc<Type>, Rc<Type>),
    /// An array of so many dimensions; of functions, what maps each of them.
    Array(Linear, Rc<Type>),
}

/// The types of a name: `ty` for all types in place of the quantified variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The variables that each use replaces.
    pub quantified: BTreeSet<TypeVariable>,
    /// The type.
    pub ty: Type,
}

impl Type {
    /// A scalar type.
    pub fn base(name: &str) -> Type {
        Type::Base(Name::from(name))
    }

    /// A variable.
    pub fn variable(i: usize) -> Type {
        Type::Variable(TypeVariable(i))
    }

    /// The function from all but the last to the last.
    pub fn function<const N: usize>(parts: [Type; N]) -> Type {
        let mut parts = parts.into_iter().rev();
        let result = parts.next().unwrap_or_else(|| Type::base("()"));
        parts.fold(result, |result, p| Type::Arrow(Rc::new(p), Rc::new(result)))
    }

    /// An array of this.
    pub fn array(self, rank: usize) -> Type {
        self.under(Linear::constant(rank as i64))
    }

    /// An array of this with the given dimensions outside.
    pub fn under(self, outer: Linear) -> Type {
        match self {
            t if outer.is_zero() => t,
            Type::Array(inner, t) => Type::Array(outer.add(&inner), t),
            t => Type::Array(outer, Rc::new(t)),
        }
    }

    /// The variables in it, in the order in which they occur first.
    pub fn variables(&self, out: &mut Vec<TypeVariable>) {
        match self {
            Type::Base(_) => {}
            Type::Variable(v) if out.contains(v) => {}
            Type::Variable(v) => out.push(*v),
            Type::Arrow(a, b) => {
                a.variables(out);
                b.variables(out);
            }
            Type::Array(_, t) => t.variables(out),
        }
    }

    /// Other types in place of variables.
    pub fn replace(&self, by: &BTreeMap<TypeVariable, Type>) -> Type {
        match self {
            Type::Base(_) => self.clone(),
            Type::Variable(v) => by.get(v).cloned().unwrap_or_else(|| self.clone()),
            Type::Arrow(a, b) => Type::Arrow(Rc::new(a.replace(by)), Rc::new(b.replace(by))),
            Type::Array(rank, t) => t.replace(by).under(rank.clone()),
        }
    }
}

impl Scheme {
    /// One type.
    pub fn single(ty: Type) -> Scheme {
        Scheme { quantified: BTreeSet::new(), ty }
    }

    /// A type for all types in place of its variables, which are numbered anew.
    pub fn general(ty: Type) -> Scheme {
        let mut open = Vec::new();
        ty.variables(&mut open);
        let named = open.iter().enumerate().map(|(i, v)| (*v, Type::variable(i))).collect();
        let quantified = (0..open.len()).map(TypeVariable).collect();
        Scheme { quantified, ty: ty.replace(&named) }
    }
}

impl fmt::Display for Type {
    /// As in kernels: `[[f64]]`, `fn(a) -> b`; a rank that is not known in front.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Base(name) => f.write_str(name),
            Type::Variable(v) => match u8::try_from(v.0).ok().filter(|i| *i < 26) {
                Some(i) => write!(f, "{}", (b'a' + i) as char),
                None => write!(f, "t{}", v.0),
            },
            Type::Arrow(a, b) => write!(f, "fn({a}) -> {b}"),
            Type::Array(rank, t) if rank.terms.is_empty() && (0..16).contains(&rank.constant) => {
                let n = rank.constant as usize;
                write!(f, "{}{t}{}", "[".repeat(n), "]".repeat(n))
            }
            Type::Array(rank, t) => write!(f, "array({rank}, {t})"),
        }
    }
}
