//! Terms in which maps and replications may be left out, and the types of free names.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::types::{Scheme, Type};
use crate::ty::Name;

/// A term. Its applications are numbered as they are finished: those of the function first, then those of the argument,
/// then the application itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A name.
    Variable(Name),
    /// A literal: its text and its type.
    Literal(Name, Type),
    /// A function; the type of its parameter may be given.
    Lambda(Name, Option<Type>, Rc<Term>),
    /// A function on an argument. Maps or replications may be missing here, and only here.
    Apply(Rc<Term>, Rc<Term>),
    /// A function on every element of an array.
    Map(Rc<Term>, Rc<Term>),
    /// An array of one value everywhere, as long as it is needed.
    Rep(Rc<Term>),
    /// An array of these elements.
    Array(Vec<Term>),
    /// A name for a value. Its type is decided together with its uses.
    Let(Name, Rc<Term>, Rc<Term>),
}

/// The types of names.
pub type Environment = BTreeMap<Name, Scheme>;

impl Term {
    /// A name.
    pub fn variable(name: &str) -> Term {
        Term::Variable(Name::from(name))
    }

    /// This on several arguments.
    pub fn apply(self, arguments: impl IntoIterator<Item = Term>) -> Term {
        arguments.into_iter().fold(self, |f, a| Term::Apply(Rc::new(f), Rc::new(a)))
    }

    /// This on every element.
    pub fn mapped(self, argument: Term) -> Term {
        Term::Map(Rc::new(self), Rc::new(argument))
    }

    /// This everywhere.
    pub fn rep(self) -> Term {
        Term::Rep(Rc::new(self))
    }

    /// The number of applications.
    pub fn applications(&self) -> usize {
        match self {
            Term::Variable(_) | Term::Literal(..) => 0,
            Term::Lambda(_, _, e) | Term::Rep(e) => e.applications(),
            Term::Apply(f, a) => f.applications() + a.applications() + 1,
            Term::Map(f, a) | Term::Let(_, f, a) => f.applications() + a.applications(),
            Term::Array(es) => es.iter().map(Term::applications).sum(),
        }
    }

    /// Whether the name occurs anywhere, bound or not, or in the text of a literal.
    pub fn mentions(&self, name: &str) -> bool {
        match self {
            Term::Variable(n) => &**n == name,
            Term::Literal(text, _) => {
                text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
            }
            Term::Lambda(n, _, e) => &**n == name || e.mentions(name),
            Term::Rep(e) => e.mentions(name),
            Term::Apply(f, a) | Term::Map(f, a) => f.mentions(name) || a.mentions(name),
            Term::Let(n, f, a) => &**n == name || f.mentions(name) || a.mentions(name),
            Term::Array(es) => es.iter().any(|e| e.mentions(name)),
        }
    }

    /// The names `x`, `y`, .. that it does not mention.
    pub fn fresh_names(&self) -> impl Iterator<Item = Name> + '_ {
        const LETTERS: [&str; 8] = ["x", "y", "z", "u", "v", "w", "p", "q"];
        (0..)
            .flat_map(|round| {
                LETTERS.iter().map(move |l| if round == 0 { l.to_string() } else { format!("{l}{round}") })
            })
            .filter(|n| !self.mentions(n))
            .map(|n| Name::from(n.as_str()))
    }
}
