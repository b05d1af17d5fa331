//! Terms with what was inserted.

use std::rc::Rc;

use super::linear::Unknown;
use super::program::Assignment;
use super::term::Term;
use super::types::Type;
use crate::ty::Name;

/// A term whose applications say how often the function is mapped and how often the argument is replicated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elaboration {
    /// A name.
    Variable(Name),
    /// A literal.
    Literal(Name, Type),
    /// A function.
    Lambda(Name, Option<Type>, Rc<Elaboration>),
    /// A function on an argument.
    Apply {
        /// The function.
        function: Rc<Elaboration>,
        /// The argument.
        argument: Rc<Elaboration>,
        /// How often the function is mapped; 0 if the argument is replicated.
        maps: usize,
        /// How often the argument is replicated.
        reps: usize,
    },
    /// An explicit map.
    Map(Rc<Elaboration>, Rc<Elaboration>),
    /// An explicit replication.
    Rep(Rc<Elaboration>),
    /// Elements.
    Array(Vec<Elaboration>),
    /// A name for a value.
    Let(Name, Rc<Elaboration>, Rc<Elaboration>),
}

impl Elaboration {
    /// A term with what a solution inserts.
    pub fn new(term: &Term, solution: &Assignment) -> Elaboration {
        Elaboration::number(term, solution, &mut 0)
    }

    fn number(term: &Term, solution: &Assignment, next: &mut usize) -> Elaboration {
        let mut part = |e: &Term| Rc::new(Elaboration::number(e, solution, next));
        match term {
            Term::Variable(x) => Elaboration::Variable(x.clone()),
            Term::Literal(text, t) => Elaboration::Literal(text.clone(), t.clone()),
            Term::Lambda(x, t, e) => Elaboration::Lambda(x.clone(), t.clone(), part(e)),
            Term::Apply(f, a) => {
                let (function, argument) = (part(f), part(a));
                let label = *next;
                *next += 1;
                let of = |u: Unknown| solution.get(&u).map_or(0, |v| usize::try_from(*v).unwrap_or(0));
                let (maps, reps) = (of(Unknown::Maps(label)), of(Unknown::Reps(label)));
                Elaboration::Apply { function, argument, maps, reps }
            }
            Term::Map(f, a) => Elaboration::Map(part(f), part(a)),
            Term::Rep(e) => Elaboration::Rep(part(e)),
            Term::Array(es) => Elaboration::Array(es.iter().map(|e| (*part(e)).clone()).collect()),
            Term::Let(x, value, body) => Elaboration::Let(x.clone(), part(value), part(body)),
        }
    }

    /// The term without what was inserted.
    pub fn source(&self) -> Term {
        match self {
            Elaboration::Apply { function, argument, .. } => function.source().apply([argument.source()]),
            Elaboration::Variable(x) => Term::Variable(x.clone()),
            Elaboration::Literal(text, t) => Term::Literal(text.clone(), t.clone()),
            Elaboration::Lambda(x, t, e) => Term::Lambda(x.clone(), t.clone(), Rc::new(e.source())),
            Elaboration::Map(f, a) => f.source().mapped(a.source()),
            Elaboration::Rep(e) => e.source().rep(),
            Elaboration::Array(es) => Term::Array(es.iter().map(Elaboration::source).collect()),
            Elaboration::Let(x, value, body) => {
                Term::Let(x.clone(), Rc::new(value.source()), Rc::new(body.source()))
            }
        }
    }

    /// A call's function and its arguments in order.
    pub fn spine(&self) -> (&Elaboration, Vec<Step<'_>>) {
        let (mut head, mut steps) = (self, Vec::new());
        loop {
            head = match head {
                Elaboration::Apply { function, argument, maps, reps } => {
                    steps.push((&**argument, *maps, *reps));
                    function
                }
                Elaboration::Map(function, argument) => {
                    steps.push((&**argument, 1, 0));
                    function
                }
                _ => break,
            };
        }
        steps.reverse();
        (head, steps)
    }

    /// Visits the calls of names: the name, and what was inserted for each argument.
    pub fn calls(&self, visit: &mut dyn FnMut(&str, &[LiftedArgument])) {
        if let Elaboration::Apply { .. } | Elaboration::Map(..) = self {
            let (head, steps) = self.spine();
            match head {
                Elaboration::Variable(x) => visit(x, &lifted(&steps).collect::<Vec<_>>()),
                head => head.calls(visit),
            }
            steps.iter().for_each(|(argument, ..)| argument.calls(visit));
            return;
        }
        self.parts().into_iter().for_each(|e| e.calls(visit));
    }

    /// Elaborations of one term as texts, in which calls that all of them lift alike are left as they were written.
    pub fn differences(all: &[Elaboration]) -> Vec<String> {
        let others: Vec<&Elaboration> = all.iter().collect();
        all.iter().map(|e| e.unlike(&others, None).to_string()).collect()
    }

    /// `alike`: what all elaborations insert for the call, if this is the function of one.
    fn unlike(&self, all: &[&Elaboration], alike: Option<bool>) -> Elaboration {
        let call = matches!(self, Elaboration::Apply { .. } | Elaboration::Map(..));
        let alike = alike.filter(|_| call).unwrap_or_else(|| {
            let inserted = |e: &Elaboration| -> Vec<(usize, usize)> {
                e.spine().1.into_iter().map(|(_, maps, reps)| (maps, reps)).collect()
            };
            all.iter().all(|e| inserted(e) == inserted(self))
        });
        let parts = self.parts().into_iter().enumerate().map(|(i, part)| {
            let others: Vec<&Elaboration> = all.iter().filter_map(|e| e.parts().get(i).copied()).collect();
            part.unlike(&others, (call && i == 0).then_some(alike))
        });
        let mut parts = parts.map(Rc::new);
        let mut next = || parts.next().unwrap_or_else(|| Rc::new(self.clone()));
        match self {
            Elaboration::Variable(_) | Elaboration::Literal(..) => self.clone(),
            Elaboration::Lambda(x, t, _) => Elaboration::Lambda(x.clone(), t.clone(), next()),
            Elaboration::Apply { maps, reps, .. } => {
                let (maps, reps) = if alike { (0, 0) } else { (*maps, *reps) };
                Elaboration::Apply { function: next(), argument: next(), maps, reps }
            }
            Elaboration::Map(..) => Elaboration::Map(next(), next()),
            Elaboration::Rep(_) => Elaboration::Rep(next()),
            Elaboration::Array(es) => Elaboration::Array(es.iter().map(|_| (*next()).clone()).collect()),
            Elaboration::Let(x, ..) => Elaboration::Let(x.clone(), next(), next()),
        }
    }

    /// What it consists of.
    fn parts(&self) -> Vec<&Elaboration> {
        match self {
            Elaboration::Variable(_) | Elaboration::Literal(..) => Vec::new(),
            Elaboration::Lambda(_, _, e) | Elaboration::Rep(e) => vec![e],
            Elaboration::Apply { function: a, argument: b, .. }
            | Elaboration::Map(a, b)
            | Elaboration::Let(_, a, b) => vec![a, b],
            Elaboration::Array(es) => es.iter().collect(),
        }
    }

    /// The same term with every map and replication written.
    pub fn explicit(&self) -> Term {
        match self {
            Elaboration::Variable(x) => Term::Variable(x.clone()),
            Elaboration::Literal(text, t) => Term::Literal(text.clone(), t.clone()),
            Elaboration::Lambda(x, t, e) => Term::Lambda(x.clone(), t.clone(), Rc::new(e.explicit())),
            Elaboration::Apply { function, argument, maps, reps } => {
                let argument = (0..*reps).fold(argument.explicit(), |a, _| a.rep());
                mapped(function.explicit(), argument, *maps)
            }
            Elaboration::Map(f, a) => f.explicit().mapped(a.explicit()),
            Elaboration::Rep(e) => e.explicit().rep(),
            Elaboration::Array(es) => Term::Array(es.iter().map(Elaboration::explicit).collect()),
            Elaboration::Let(x, value, body) => {
                Term::Let(x.clone(), Rc::new(value.explicit()), Rc::new(body.explicit()))
            }
        }
    }
}

/// What was inserted for one argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiftedArgument {
    /// Over how many of its outer dimensions the function is mapped.
    pub mapped: usize,
    /// How often it is replicated, but for what an earlier map of the call induces.
    pub replicated: usize,
}

/// An argument with its maps and replications.
pub type Step<'a> = (&'a Elaboration, usize, usize);

/// The i-th argument has the innermost of the dimensions that were mapped over so far, but for those that it is replicated
/// along.
pub fn lifted<'a>(steps: &'a [Step<'_>]) -> impl Iterator<Item = LiftedArgument> + 'a {
    steps.iter().scan(0usize, |frame, (_, maps, reps)| {
        *frame += maps;
        let (mapped, replicated) = (frame.saturating_sub(*reps), reps.saturating_sub(*frame));
        Some(LiftedArgument { mapped, replicated })
    })
}

/// `map(.. map(f) .., a)`.
fn mapped(f: Term, a: Term, times: usize) -> Term {
    match times {
        0 => f.apply([a]),
        1 => f.mapped(a),
        _ => {
            let x = f.fresh_names().next().unwrap_or_else(|| Name::from("x"));
            let inner = mapped(f, Term::Variable(x.clone()), times - 1);
            Term::Lambda(x, None, Rc::new(inner)).mapped(a)
        }
    }
}
