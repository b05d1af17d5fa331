//! What an expression has inside: for walks that treat most expressions alike.

use super::{Atom, Body, Exp, Mode, Stm, Trips, Var};
use crate::dim::Dim;

impl Stm {
    /// Whether it makes no array: what an operator may consist of. A row of an outer array is not made, only read. Its bodies are
    /// another matter.
    pub fn is_scalar_code(&self, is_scalar: impl Fn(Var) -> bool) -> bool {
        match &self.exp {
            Exp::Atom(_) | Exp::Index(..) => true,
            Exp::Op(..)
            | Exp::Size(_)
            | Exp::If(..)
            | Exp::Loop(_)
            | Exp::StopGradient(_)
            | Exp::Derivative(_) => self.vars.iter().copied().chain(self.exp.inner_vars()).all(is_scalar),
            _ => false,
        }
    }
}

impl Exp {
    /// The bodies inside, in the order of the text.
    pub fn bodies(&self) -> Vec<&Body> {
        match self {
            Exp::If(_, yes, no) => vec![yes, no],
            Exp::Build(_, body)
            | Exp::Reduce(_, _, body)
            | Exp::Scan(_, _, _, body)
            | Exp::Scatter { body, .. } => vec![body],
            Exp::Fold(operator, _, _, body) => vec![&operator.body, body],
            Exp::Loop(l) => match &l.trips {
                Trips::For(..) => vec![&l.body],
                Trips::While(condition) => vec![condition, &l.body],
            },
            Exp::Derivative(d) => vec![&d.body],
            Exp::Atom(_)
            | Exp::Op(..)
            | Exp::Size(_)
            | Exp::Index(..)
            | Exp::Update(..)
            | Exp::Reshape(..)
            | Exp::Argsort(_)
            | Exp::Check(_)
            | Exp::StopGradient(_)
            | Exp::Custom { .. } => Vec::new(),
        }
    }

    /// The variables that it binds for its bodies: indices, operands of an operator, the state of a loop, the point of a derivative.
    pub fn inner_vars(&self) -> Vec<Var> {
        match self {
            Exp::Build(axes, _) | Exp::Scatter { axes, .. } => axes.iter().map(|a| a.var).collect(),
            Exp::Reduce(_, axis, _) | Exp::Scan(_, _, axis, _) => vec![axis.var],
            Exp::Fold(operator, _, axis, _) => {
                operator.left.iter().chain(&operator.right).copied().chain([axis.var]).collect()
            }
            Exp::Loop(l) => {
                let index = if let Trips::For(var, _) = &l.trips { Some(*var) } else { None };
                l.state.iter().map(|(v, _)| *v).chain(index).collect()
            }
            Exp::Derivative(d) => d.point.iter().map(|(v, _)| *v).collect(),
            _ => Vec::new(),
        }
    }

    /// The dimensions that it mentions outside of its bodies.
    pub fn dims(&self) -> Vec<&Dim> {
        match self {
            Exp::Size(d) => vec![d],
            Exp::Build(axes, _) | Exp::Scatter { axes, .. } => axes.iter().map(|a| &a.extent).collect(),
            Exp::Reduce(_, axis, _) | Exp::Scan(_, _, axis, _) | Exp::Fold(_, _, axis, _) => {
                vec![&axis.extent]
            }
            Exp::Reshape(_, dims) => dims.iter().collect(),
            Exp::Check(c) => c.dims(),
            Exp::Atom(_)
            | Exp::Op(..)
            | Exp::Index(..)
            | Exp::If(..)
            | Exp::Loop(_)
            | Exp::Update(..)
            | Exp::Argsort(_)
            | Exp::StopGradient(_)
            | Exp::Derivative(_)
            | Exp::Custom { .. } => Vec::new(),
        }
    }

    /// Variables and constants that it mentions outside of its bodies, arrays included, sizes not.
    pub fn operands(&self) -> Vec<Atom> {
        match self {
            Exp::Atom(a) | Exp::StopGradient(a) | Exp::If(a, ..) => vec![*a],
            Exp::Op(_, args) => args.clone(),
            Exp::Custom { values, args, .. } => [&values[..], args].concat(),
            Exp::Derivative(d) => d.point.iter().map(|(_, at)| at).chain(d.tangents()).copied().collect(),
            Exp::Index(array, index) => [&[Atom::Var(*array)], &index[..]].concat(),
            Exp::Update(array, index, x) => [&[Atom::Var(*array)], &index[..], &[*x]].concat(),
            Exp::Reshape(array, _) | Exp::Argsort(array) | Exp::Scatter { dest: array, .. } => {
                vec![Atom::Var(*array)]
            }
            Exp::Fold(operator, ..) => operator.neutral.clone(),
            Exp::Loop(l) => {
                let count = if let Trips::For(_, count) = &l.trips { Some(*count) } else { None };
                l.state.iter().map(|(_, start)| *start).chain(count).collect()
            }
            Exp::Size(_) | Exp::Build(..) | Exp::Reduce(..) | Exp::Scan(..) | Exp::Check(_) => Vec::new(),
        }
    }

    /// Changes the operands that may be constants, and the bodies.
    pub fn change(&mut self, atom: &mut dyn FnMut(&mut Atom), body: &mut dyn FnMut(&mut Body)) {
        match self {
            Exp::Atom(a) | Exp::StopGradient(a) => atom(a),
            Exp::Op(_, args) | Exp::Index(_, args) => args.iter_mut().for_each(atom),
            Exp::Custom { values, args, .. } => values.iter_mut().chain(args).for_each(atom),
            Exp::Derivative(d) => {
                d.point.iter_mut().for_each(|(_, at)| atom(at));
                if let Mode::Forward(tangents) = &mut d.mode {
                    tangents.iter_mut().for_each(atom);
                }
                body(&mut d.body);
            }
            Exp::If(c, yes, no) => {
                atom(c);
                body(yes);
                body(no);
            }
            Exp::Build(_, b)
            | Exp::Reduce(_, _, b)
            | Exp::Scan(_, _, _, b)
            | Exp::Scatter { body: b, .. } => body(b),
            Exp::Fold(operator, _, _, b) => {
                operator.neutral.iter_mut().for_each(atom);
                body(&mut operator.body);
                body(b);
            }
            Exp::Loop(l) => {
                l.state.iter_mut().for_each(|(_, start)| atom(start));
                match &mut l.trips {
                    Trips::For(_, count) => atom(count),
                    Trips::While(condition) => body(condition),
                }
                body(&mut l.body);
            }
            Exp::Update(_, index, x) => {
                index.iter_mut().for_each(&mut *atom);
                atom(x);
            }
            Exp::Size(_) | Exp::Reshape(..) | Exp::Argsort(_) | Exp::Check(_) => {}
        }
    }
}
