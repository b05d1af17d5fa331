//! Expressions of printed Core. Each begins with a word that says its kind, but for atoms and what is read from arrays.

use super::{Parsed, Parser};
use crate::core::{Atom, Axis, Check, CheckKind, Exp, Placing, Reducer, Type, Var, VarInfo};
use crate::scalar::Op;
use crate::ty::Elem;

impl Parser {
    pub(super) fn exp(&mut self) -> Parsed<Exp> {
        if self.is_atom() {
            let atom = self.atom()?;
            return match atom {
                Atom::Var(v) if self.take("[") => Ok(Exp::Index(v, self.list("]", Self::atom)?)),
                atom => Ok(Exp::Atom(atom)),
            };
        }
        let word = self.name("an expression")?;
        match &*word {
            "size" => self.dim().map(Exp::Size),
            "stop_gradient" => self.atom().map(Exp::StopGradient),
            "reshape" => Ok(Exp::Reshape(self.var()?, self.dims()?)),
            "argsort" => self.var().map(Exp::Argsort),
            "check" => self.check().map(Exp::Check),
            "if" => self.choice(),
            "build" => Ok(Exp::Build(self.axes()?, self.block()?)),
            "reduce" => self.reduce(),
            "scan" => self.scan(),
            "fold" => self.fold(),
            "loop" => self.repeat(),
            "update" => self.update(),
            "scatter" => self.scatter(),
            "pushforward" => self.pushforward(),
            "pullback" => self.pullback(),
            "custom" => self.custom(),
            name => self.op(name),
        }
    }

    /// `name(a, b)`.
    fn op(&mut self, name: &str) -> Parsed<Exp> {
        let op = Op::from_name(name).ok_or_else(|| format!("there is no function `{name}`"))?;
        Ok(Exp::Op(op, self.operands()?))
    }

    /// `(a, b)`.
    pub(super) fn operands(&mut self) -> Parsed<Vec<Atom>> {
        self.expect("(")?;
        self.list(")", Self::atom)
    }

    /// What follows `if`.
    fn choice(&mut self) -> Parsed<Exp> {
        let condition = self.atom()?;
        let yes = self.block()?;
        self.expect("else")?;
        Ok(Exp::If(condition, yes, self.block()?))
    }

    /// What follows `reduce`.
    fn reduce(&mut self) -> Parsed<Exp> {
        self.expect("(")?;
        let reducers = self.list(")", Self::reducer)?;
        Ok(Exp::Reduce(reducers, self.axis()?, self.block()?))
    }

    pub(super) fn reducer(&mut self) -> Parsed<Reducer> {
        let name = self.name("a reducer")?;
        Reducer::from_name(&name).ok_or_else(|| format!("there is no reducer `{name}`"))
    }

    /// What follows `update`.
    fn update(&mut self) -> Parsed<Exp> {
        let array = self.var()?;
        self.expect("[")?;
        let index = self.list("]", Self::atom)?;
        self.expect("with")?;
        Ok(Exp::Update(array, index, self.atom()?))
    }

    /// What follows `scatter`.
    fn scatter(&mut self) -> Parsed<Exp> {
        let how = if self.take("write") {
            Placing::Only
        } else if self.take("overwrite") {
            Placing::Last
        } else {
            Placing::Combined(self.reducer()?)
        };
        self.expect("into")?;
        Ok(Exp::Scatter { how, dest: self.var()?, axes: self.axes()?, body: self.block()? })
    }

    fn axes(&mut self) -> Parsed<Vec<Axis>> {
        self.expect("[")?;
        self.list("]", Self::axis)
    }

    /// `i.1 < n`: an index is an `i64`.
    pub(super) fn axis(&mut self) -> Parsed<Axis> {
        let var = self.index()?;
        self.expect("<")?;
        Ok(Axis { var, extent: self.dim()? })
    }

    /// An index variable where it is bound.
    pub(super) fn index(&mut self) -> Parsed<Var> {
        if self.is(1, ":") {
            return self.binding();
        }
        let (name, var) = self.variable()?;
        self.vars[var.0 as usize] = Some(VarInfo { name: name.into(), ty: Type::scalar(Elem::I64) });
        Ok(var)
    }

    /// What follows `check`.
    fn check(&mut self) -> Parsed<Check> {
        let kind = if self.is(1, "(") {
            self.expect("nonnegative")?;
            self.expect("(")?;
            let d = self.dim()?;
            self.expect(")")?;
            CheckKind::NonNegative(d)
        } else {
            let left = self.dim()?;
            if self.take("<=") {
                CheckKind::AtLeast(left, self.dim()?)
            } else {
                self.expect("==")?;
                CheckKind::Equal(left, self.dim()?)
            }
        };
        let guards = if self.take("when") { self.some(Self::dim)? } else { Vec::new() };
        Ok(Check { kind, guards })
    }
}
