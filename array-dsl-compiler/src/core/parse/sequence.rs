//! Scans, folds by operators, and loops of printed Core.

use super::{Parsed, Parser, Token};
use crate::core::{Atom, Exp, Loop, Operator, Prefix, Trips, Var};

impl Parser {
    fn prefix(&mut self) -> Option<Prefix> {
        [Prefix::Inclusive, Prefix::Exclusive].into_iter().find(|p| self.take(p.name()))
    }

    /// What follows `scan`.
    pub(super) fn scan(&mut self) -> Parsed<Exp> {
        let prefix = self.prefix().ok_or_else(|| self.unexpected("`inclusive` or `exclusive`"))?;
        self.expect("(")?;
        let reducers = self.list(")", Self::reducer)?;
        Ok(Exp::Scan(reducers, prefix, self.axis()?, self.block()?))
    }

    /// What follows `fold`.
    pub(super) fn fold(&mut self) -> Parsed<Exp> {
        let prefix = self.prefix();
        self.expect("(")?;
        let left = self.list(";", Self::binding)?;
        let right = self.list(")", Self::binding)?;
        self.expect("from")?;
        let neutral = if self.is_atom() { self.some(Self::atom)? } else { Vec::new() };
        self.expect("with")?;
        let body = self.block()?;
        self.expect("over")?;
        let operator = Operator { left, right, body, neutral };
        Ok(Exp::Fold(Box::new(operator), prefix, self.axis()?, self.block()?))
    }

    /// What follows `loop`.
    pub(super) fn repeat(&mut self) -> Parsed<Exp> {
        let trips = if self.take("while") {
            Trips::While(self.block()?)
        } else {
            self.expect("for")?;
            let var = self.index()?;
            self.expect("<")?;
            Trips::For(var, self.atom()?)
        };
        self.expect("with")?;
        let state = self.starts()?;
        Ok(Exp::Loop(Box::new(Loop { state, trips, body: self.block()? })))
    }

    /// `s.1: f64 from a.2, ...`: variables of a body, which follows, and what they are equal to there.
    pub(super) fn starts(&mut self) -> Parsed<Vec<(Var, Atom)>> {
        let start = |p: &mut Self| {
            let var = p.binding()?;
            p.expect("from")?;
            Ok((var, p.atom()?))
        };
        if matches!(self.peek(), Some(Token::Var(..))) { self.some(start) } else { Ok(Vec::new()) }
    }
}
