//! Rank lifting where ranks are unknown: which maps and replications a term needs, by the system of Schenck, thesis 2024,
//! chapter 4 (AUTOMAP).
//!
//! Functions have ordinary types. Where a function does not fit its argument, the function is mapped over outer
//! dimensions of the argument, or the argument is replicated:
//!
//! 1. **The fewest insertions win.** Two minimal elaborations that do not mean the same are an error.
//! 2. One application gets maps or replications, never both.
//! 3. Replications that an earlier map of the same call induces are free, as they only make an argument a free variable of
//!    the mapped closure: `xs * y`.
//! 4. Maps and replications are inserted at applications only.
//!
//! So what was accepted can be written out (`Elaboration::explicit`), which is accepted at cost 0 and means the same.
//!
//! | file | subject |
//! |---|---|
//! | `linear`, `types`, `term` | ranks, types and terms |
//! | `generate` | the constraints of a term |
//! | `skeleton` | unification without ranks; the equations of ranks |
//! | `ranges` | what arguments decide locally, which is nearly everything |
//! | `program` | the integer program of the rest, by `good_lp` |
//! | `minima` | all minimal solutions |
//! | `unify` | the types at a solution |
//! | `elaboration`, `print` | terms with what was inserted, and how they are printed |
//! | `meaning` | which elaborations mean the same |
//!
//! What differs from the published system:
//!
//! * Equations of function types are split into those of their parts (`skeleton`); without that the minimal ranks may fit no
//!   type.
//! * A function over arrays is not taken for an array of functions (`skeleton`).
//! * All minima are found, not a second one of another shape (`minima`), and those that mean the same are one (`meaning`):
//!   `(|x| x * x)(xs)` is accepted.
//!
//! `elaborate` decides applications locally, and asks here about the expressions in which that is not enough:
//! `elaborate/joint.rs` says which, and why no other answer is possible for the rest.
//!
//! **Sizes are not seen here.** A replication whose size nothing determines, or a call whose arguments differ in size, is an
//! error of a later phase.

mod elaboration;
mod generate;
mod linear;
mod meaning;
mod minima;
mod print;
mod program;
mod ranges;
mod skeleton;
mod term;
#[cfg(test)]
mod tests;
mod types;
mod unify;

use std::fmt;

use crate::ty::Name;
pub use elaboration::Elaboration;
use generate::Constraints;
pub use linear::{Linear, Unknown};
pub use term::{Environment, Term};
pub use types::{Scheme, Type, TypeVariable};

/// What was decided for a term.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The term with what is inserted.
    pub elaboration: Elaboration,
    /// Its type.
    pub ty: Type,
    /// The number of maps, and of replications that are not induced.
    pub cost: usize,
    /// How many elaborations of that cost there are; they mean the same.
    pub minima: usize,
    /// How many numbers of maps and replications no argument decided locally.
    pub undecided: usize,
}

/// Why a term has no elaboration.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The name has no type.
    UnknownName(Name),
    /// Something of this type is applied.
    NotAFunction(Type),
    /// The types do not fit, whatever the ranks.
    Mismatch(Type, Type),
    /// A type would have to contain itself.
    Infinite(Type),
    /// No maps and replications fit.
    NoSolution,
    /// These minimal elaborations mean different things.
    Ambiguous {
        /// What each inserts.
        cost: usize,
        /// One for each meaning.
        elaborations: Vec<Elaboration>,
    },
    /// There are too many minimal elaborations, or the ranks are too high, to decide.
    Limit,
    /// The solver's answer does not fulfill what was asked of it.
    Solver,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownName(x) => write!(f, "unknown name `{x}`"),
            Error::NotAFunction(t) => write!(f, "a value of type {t} is called"),
            Error::Mismatch(a, b) => write!(f, "{a} is not {b}"),
            Error::Infinite(t) => write!(f, "a type would contain itself: {t}"),
            Error::NoSolution => f.write_str("no maps or replications make the ranks agree"),
            Error::Ambiguous { cost, elaborations } => {
                let inserted = crate::diagnostics::count(*cost, "insertion");
                write!(f, "this may mean {} things, by {inserted} each:", elaborations.len())?;
                elaborations.iter().try_for_each(|e| write!(f, "\n  {e}"))
            }
            Error::Limit => f.write_str("there are too many elaborations to choose from"),
            Error::Solver => f.write_str("the solver for ranks gave no usable answer"),
        }
    }
}

/// Decides the maps and replications of a term.
pub fn lift(term: &Term, names: &Environment) -> Result<Lifted, Error> {
    let mut constraints = Constraints::default();
    let (frame, ty) = constraints.term(term, names)?;
    let (system, skeleton) = skeleton::split(&mut constraints)?;
    let found = minima::minima(&system)?;
    let all: Vec<Elaboration> = found.solutions.iter().map(|s| Elaboration::new(term, s)).collect();
    let cost = usize::try_from(found.cost).unwrap_or(0);
    if all.len() > 1 {
        let mut forms: Vec<String> = Vec::new();
        let mut elaborations = Vec::new();
        for e in &all {
            let form = meaning::normal_form(e);
            if !forms.contains(&form) {
                forms.push(form);
                elaborations.push(e.clone());
            }
        }
        if elaborations.len() > 1 {
            return Err(Error::Ambiguous { cost, elaborations });
        }
    }
    let (Some(elaboration), Some(solution)) = (all.into_iter().next(), found.solutions.first()) else {
        return Err(Error::NoSolution);
    };
    let unifier = unify::Unifier::new(&constraints.flows, &skeleton, solution)?;
    let ty = Scheme::general(unifier.resolve(&ty.under(frame))).ty;
    let (minima, undecided) = (found.solutions.len(), found.undecided);
    Ok(Lifted { elaboration, ty, cost, minima, undecided })
}
