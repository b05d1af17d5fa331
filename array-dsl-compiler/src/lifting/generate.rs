//! Constraints of a term: `e :_S t`, where the **frame** S counts the outer dimensions that implicit maps have caused.
//!
//! ```text
//! n              : its type, frame 0
//! x              : an instance of its scheme, frame 0
//! |x| e          : t1 -> S t2, frame 0
//! e1 e2 ^(M, R)  : with e1 :_S1 t1 -> t2 and e2 :_S2 t3: type t2, frame M + S1;   R S2 t3 goes to M S1 t1,  M or R is 0
//! map(e1, e2)    : type t2, frame 1 + S1;   S2 t3 goes to [] S1 t1
//! rep(e)         : [] S t, frame 0
//! [e1, .., en]   : [] S1 t1, frame 0;   all S t are equal
//! let x = e1; e2 : e2, where x : S1 t1
//! ```

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Error;
use super::linear::{Linear, Unknown};
use super::term::{Environment, Term};
use super::types::{Scheme, Type, TypeVariable};

/// A value of one type is used at another.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The type of the value.
    pub from: Type,
    /// The type of its use.
    pub to: Type,
    /// Values may go back as well.
    pub both: bool,
}

/// What a term demands.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// Where values go.
    pub flows: Vec<Flow>,
    /// Of each application, the frame of its function.
    pub frames: Vec<Linear>,
    variables: usize,
}

impl Constraints {
    /// A type variable of its own.
    pub fn fresh(&mut self) -> Type {
        self.variables += 1;
        Type::variable(self.variables - 1)
    }

    /// Constraints of a term; its frame and its type.
    pub fn term(&mut self, e: &Term, names: &Environment) -> Result<(Linear, Type), Error> {
        match e {
            Term::Variable(x) => {
                let scheme = names.get(x).ok_or_else(|| Error::UnknownName(x.clone()))?;
                Ok((Linear::default(), self.instance(scheme)))
            }
            Term::Literal(_, t) => Ok((Linear::default(), t.clone())),
            Term::Lambda(x, annotation, body) => {
                let parameter = match annotation {
                    Some(t) => t.clone(),
                    None => self.fresh(),
                };
                let mut names = names.clone();
                names.insert(x.clone(), Scheme::single(parameter.clone()));
                let (frame, t) = self.term(body, &names)?;
                Ok((Linear::default(), Type::Arrow(Rc::new(parameter), Rc::new(t.under(frame)))))
            }
            Term::Apply(f, a) => {
                let (inner, parameter, result, argument) = self.operands(f, a, names)?;
                let label = self.frames.len();
                let frame = inner.add(&Linear::unknown(Unknown::Maps(label)));
                let from = argument.under(Linear::unknown(Unknown::Reps(label)));
                self.flows.push(Flow { from, to: parameter.under(frame.clone()), both: false });
                self.frames.push(inner);
                Ok((frame, result))
            }
            Term::Map(f, a) => {
                let (inner, parameter, result, from) = self.operands(f, a, names)?;
                let frame = inner.add(&Linear::constant(1));
                self.flows.push(Flow { from, to: parameter.under(frame.clone()), both: false });
                Ok((frame, result))
            }
            Term::Rep(e) => {
                let (frame, t) = self.term(e, names)?;
                Ok((Linear::default(), t.under(frame.add(&Linear::constant(1)))))
            }
            Term::Array(es) => {
                let mut first: Option<Type> = None;
                for e in es {
                    let (frame, t) = self.term(e, names)?;
                    let t = t.under(frame);
                    match &first {
                        None => first = Some(t),
                        Some(first) => self.flows.push(Flow { from: t, to: first.clone(), both: true }),
                    }
                }
                let element = first.unwrap_or_else(|| self.fresh());
                Ok((Linear::default(), element.under(Linear::constant(1))))
            }
            Term::Let(x, value, body) => {
                let (frame, t) = self.term(value, names)?;
                let mut names = names.clone();
                names.insert(x.clone(), Scheme::single(t.under(frame)));
                self.term(body, &names)
            }
        }
    }

    /// The frame of a function, its parameter's and its result's type, and the type of an argument with its frame.
    fn operands(
        &mut self,
        f: &Term,
        a: &Term,
        names: &Environment,
    ) -> Result<(Linear, Type, Type, Type), Error> {
        let (frame, function) = self.term(f, names)?;
        let (parameter, result) = self.as_function(&function)?;
        let (inner, argument) = self.term(a, names)?;
        Ok((frame, parameter, result, argument.under(inner)))
    }

    fn instance(&mut self, scheme: &Scheme) -> Type {
        let fresh: BTreeMap<TypeVariable, Type> =
            scheme.quantified.iter().map(|v| (*v, self.fresh())).collect();
        scheme.ty.replace(&fresh)
    }

    /// The parameter and the result of a type that has to be a function's. An array of functions maps each of them.
    fn as_function(&mut self, t: &Type) -> Result<(Type, Type), Error> {
        match t {
            Type::Arrow(a, b) => Ok(((**a).clone(), (**b).clone())),
            Type::Array(rank, t) => {
                let (a, b) = self.as_function(t)?;
                Ok((a.under(rank.clone()), b.under(rank.clone())))
            }
            Type::Variable(_) => {
                let (a, b) = (self.fresh(), self.fresh());
                let to = Type::function([a.clone(), b.clone()]);
                self.flows.push(Flow { from: t.clone(), to, both: true });
                Ok((a, b))
            }
            Type::Base(_) => Err(Error::NotAFunction(t.clone())),
        }
    }
}
