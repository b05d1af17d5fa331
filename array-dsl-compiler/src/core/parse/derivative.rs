//! Derivatives inside printed Core.

use super::{Parsed, Parser};
use crate::core::Exp;

impl Parser {
    /// What follows `point`.
    pub(super) fn point(&mut self) -> Parsed<Exp> {
        let at = self.operands()?;
        let tangents = if self.take("along") { self.operands()? } else { Vec::new() };
        Ok(Exp::Point { at, tangents })
    }

    /// What follows `pushforward`.
    pub(super) fn pushforward(&mut self) -> Parsed<Exp> {
        self.expect("(")?;
        let point = self.list(")", Self::var)?;
        self.expect("of")?;
        Ok(Exp::Pushforward { point, results: self.operands()? })
    }

    /// What follows `pullback`.
    pub(super) fn pullback(&mut self) -> Parsed<Exp> {
        self.expect("(")?;
        let point = self.list(")", Self::var)?;
        self.expect("of")?;
        let results = self.operands()?;
        self.expect("from")?;
        Ok(Exp::Pullback { point, results, cotangents: self.operands()? })
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
