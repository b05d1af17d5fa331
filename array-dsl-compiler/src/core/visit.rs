//! What an expression has inside: for walks that treat most expressions alike.

use super::{Atom, Body, Exp, Trips, Var};
use crate::dim::Dim;

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
            Exp::Atom(_)
            | Exp::Op(..)
            | Exp::Size(_)
            | Exp::Index(..)
            | Exp::Update(..)
            | Exp::Reshape(..)
            | Exp::Argsort(_)
            | Exp::Check(_)
            | Exp::StopGradient(_)
            | Exp::Point { .. }
            | Exp::Pushforward { .. }
            | Exp::Pullback { .. }
            | Exp::Custom { .. } => Vec::new(),
        }
    }

    /// Whether it makes no array if its variables (`scalars`) are none: what an operator may consist of. A row of an outer array
    /// is not made, only read. Its bodies are another matter.
    pub fn is_scalar_code(&self, scalars: bool) -> bool {
        match self {
            Exp::Atom(_) | Exp::Index(..) => true,
            Exp::Op(..)
            | Exp::Size(_)
            | Exp::If(..)
            | Exp::Loop(_)
            | Exp::StopGradient(_)
            | Exp::Point { .. }
            | Exp::Pushforward { .. }
            | Exp::Pullback { .. } => scalars,
            _ => false,
        }
    }

    /// The variables that it binds for its bodies: indices, operands of an operator, the state of a loop.
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
            | Exp::Point { .. }
            | Exp::Pushforward { .. }
            | Exp::Pullback { .. }
            | Exp::Custom { .. } => Vec::new(),
        }
    }

    /// Variables and constants that it mentions outside of its bodies, arrays included, sizes not.
    pub fn operands(&self) -> Vec<Atom> {
        match self {
            Exp::Atom(a) | Exp::StopGradient(a) | Exp::If(a, ..) => vec![*a],
            Exp::Op(_, args) => args.clone(),
            Exp::Point { at: x, tangents: y } | Exp::Custom { values: x, args: y, .. } => {
                [&x[..], y].concat()
            }
            Exp::Pushforward { point, results } => names(point).chain(results.iter().copied()).collect(),
            Exp::Pullback { point, results, cotangents } => {
                names(point).chain(results.iter().chain(cotangents).copied()).collect()
            }
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
            Exp::Point { at: x, tangents: y }
            | Exp::Pullback { results: x, cotangents: y, .. }
            | Exp::Custom { values: x, args: y, .. } => {
                x.iter_mut().chain(y).for_each(atom);
            }
            Exp::Pushforward { results, .. } => results.iter_mut().for_each(atom),
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

fn names(vars: &[Var]) -> impl Iterator<Item = Atom> {
    vars.iter().map(|v| Atom::Var(*v))
}
