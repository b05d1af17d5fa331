//! The rules of scans, folds by operators, loops and updates.

use super::Scope;
use crate::core::{Atom, Axis, Body, Loop, Operator, Prefix, Reducer, Trips, Type, Var};
use crate::ty::Elem;

impl Scope<'_> {
    pub(super) fn scan(&mut self, reducers: &[Reducer], axis: &Axis, body: &Body) -> Option<Vec<Type>> {
        let types = self.reduce(reducers, axis, body)?;
        if let Some(r) = reducers.iter().find(|r| r.op().is_none()) {
            self.error(format!("a scan by `{}`", r.name()));
            return None;
        }
        Some(types.into_iter().map(|t| vector(axis, t)).collect())
    }

    pub(super) fn fold(
        &mut self,
        operator: &Operator,
        prefix: Option<Prefix>,
        axis: &Axis,
        body: &Body,
    ) -> Option<Vec<Type>> {
        let neutral: Vec<Option<Type>> = operator.neutral.iter().map(|a| self.atom(*a)).collect();
        let combined = self.inside(|s| {
            operator.left.iter().chain(&operator.right).for_each(|v| s.bind(*v, None));
            s.scalar_code(&operator.body);
            s.body(&operator.body)
        });
        let values = self.points(std::slice::from_ref(axis), body);
        let types = |s: &Self, vars: &[Var]| -> Option<Vec<Type>> {
            vars.iter().map(|v| s.f.vars.get(v.0 as usize).map(|i| i.ty.clone())).collect()
        };
        let (left, right) = (types(self, &operator.left)?, types(self, &operator.right)?);
        let neutral = neutral.into_iter().collect::<Option<Vec<Type>>>()?;
        let before = self.errors.len();
        if let Some(array) = left.iter().find(|t| t.rank() != 0) {
            let array = self.show_type(array);
            self.error(format!("an operator on {array}, not on scalars"));
        }
        for (found, what) in [
            (right, "its right operands"),
            (neutral, "its neutral element"),
            (combined?, "its result"),
            (values?, "what is folded"),
        ] {
            self.same(&left, &found, "the left operands of an operator", what);
        }
        if self.errors.len() > before {
            return None;
        }
        Some(if prefix.is_some() { left.into_iter().map(|t| vector(axis, t)).collect() } else { left })
    }

    /// Reports types that should be the same.
    pub(super) fn same(&mut self, expected: &[Type], found: &[Type], of: &str, what: &str) {
        if expected != found {
            let [expected, found] = [expected, found]
                .map(|types| types.iter().map(|t| self.show_type(t)).collect::<Vec<_>>().join(", "));
            self.error(format!("{of} are ({expected}), {what} ({found})"));
        }
    }

    /// An operator's body makes no arrays.
    fn scalar_code(&mut self, b: &Body) {
        for s in &b.stms {
            let rank = |v: Var| self.f.vars.get(v.0 as usize).map_or(0, |i| i.ty.rank());
            if !s.is_scalar_code(|v| rank(v) == 0) {
                let vars: Vec<String> = s.vars.iter().map(|v| self.show(*v)).collect();
                self.error(format!("({}) in an operator is not scalar code", vars.join(", ")));
            }
            s.exp.bodies().into_iter().for_each(|b| self.scalar_code(b));
        }
    }

    pub(super) fn repeat(&mut self, l: &Loop) -> Option<Vec<Type>> {
        let starts: Vec<Option<Type>> = l.state.iter().map(|(_, start)| self.atom(*start)).collect();
        if let Trips::For(_, count) = &l.trips {
            self.expect(*count, Elem::I64, "the number of a loop's trips");
        }
        let (condition, next) = self.inside(|s| {
            for ((v, _), start) in l.state.iter().zip(&starts) {
                s.bind(*v, start.as_ref());
            }
            let condition = match &l.trips {
                Trips::For(var, _) => {
                    s.bind(*var, Some(&Type::scalar(Elem::I64)));
                    None
                }
                Trips::While(condition) => s.inside(|s| s.body(condition)),
            };
            (condition, s.body(&l.body))
        });
        let condition = condition.filter(|types| *types != [Type::scalar(Elem::Bool)]);
        if let Some(types) = condition {
            let types: Vec<String> = types.iter().map(|t| self.show_type(t)).collect();
            self.error(format!("the condition of a loop gives ({}), not bool", types.join(", ")));
            return None;
        }
        let starts = starts.into_iter().collect::<Option<Vec<Type>>>()?;
        let next = next?;
        self.same(&starts, &next, "the states before a loop", "after a trip");
        (starts == next).then_some(starts)
    }

    pub(super) fn update(&mut self, array: Var, index: &[Atom], x: Atom) -> Option<Vec<Type>> {
        let part = self.index(array, index);
        let x = self.atom(x);
        let (part, x) = (part?, x?);
        if part != x {
            let (part, x, array) = (self.show_type(&part), self.show_type(&x), self.show(array));
            self.error(format!("a part of {array} is {part}, and becomes {x}"));
            return None;
        }
        Some(vec![self.f.ty(array).clone()])
    }
}

/// One value for each point of the axis.
fn vector(axis: &Axis, t: Type) -> Type {
    Type { elem: t.elem, dims: [vec![axis.extent.clone()], t.dims].concat() }
}
