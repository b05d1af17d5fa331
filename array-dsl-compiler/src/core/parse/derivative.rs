//! Derivatives inside printed Core.

use super::{Parsed, Parser};
use crate::core::{Derivative, Exp, Mode};
use crate::routine::Routine;

impl Parser {
    /// What follows `pushforward`.
    pub(super) fn pushforward(&mut self) -> Parsed<Exp> {
        let point = self.starts()?;
        self.expect("along")?;
        let tangents = if self.is_atom() { self.some(Self::atom)? } else { Vec::new() };
        Ok(Exp::Derivative(Box::new(Derivative {
            point,
            body: self.block()?,
            mode: Mode::Forward(tangents),
        })))
    }

    /// What follows `pullback`.
    pub(super) fn pullback(&mut self) -> Parsed<Exp> {
        let point = self.starts()?;
        Ok(Exp::Derivative(Box::new(Derivative { point, body: self.block()?, mode: Mode::Reverse })))
    }

    /// The name of a routine.
    pub(super) fn routine(&mut self) -> Parsed<Routine> {
        let found = Routine::ALL.into_iter().find(|r| self.take(r.name()));
        found.ok_or_else(|| self.unexpected("a routine"))
    }

    /// What follows `custom`.
    pub(super) fn custom(&mut self) -> Parsed<Exp> {
        let values = self.operands()?;
        self.expect("of")?;
        let args = self.operands()?;
        self.expect("by")?;
        self.expect("rule")?;
        Ok(Exp::Custom { values, args, rule: self.number("the number of a rule")? })
    }
}
