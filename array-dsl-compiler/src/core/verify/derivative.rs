//! The rules of points and of the derivatives there.

use super::Scope;
use crate::core::{Atom, Type, Var};

impl Scope<'_> {
    pub(super) fn point(&mut self, at: &[Atom], tangents: &[Atom]) -> Option<Vec<Type>> {
        let types = self.floats(at, "a value of a point")?;
        let tangents = self.floats(tangents, "a tangent")?;
        if !tangents.is_empty() {
            self.same(&types, &tangents, "the values of a point", "its tangents");
        }
        Some(types)
    }

    pub(super) fn pushforward(&mut self, point: &[Var], results: &[Atom]) -> Option<Vec<Type>> {
        self.closes(point, true);
        self.floats(results, "a differentiated result")
    }

    pub(super) fn pullback(
        &mut self,
        point: &[Var],
        results: &[Atom],
        cotangents: &[Atom],
    ) -> Option<Vec<Type>> {
        self.closes(point, false);
        let results = self.floats(results, "a differentiated result")?;
        let cotangents = self.floats(cotangents, "a cotangent")?;
        self.same(&results, &cotangents, "differentiated results", "their cotangents");
        point.iter().map(|v| self.var(*v)).collect()
    }

    pub(super) fn custom(&mut self, values: &[Atom], args: &[Atom], rule: usize) -> Option<Vec<Type>> {
        let values = self.floats(values, "a value with a rule")?;
        let args: Option<Vec<Type>> = args.iter().map(|a| self.atom(*a)).collect();
        let args = args?;
        let Some(r) = self.f.rules.get(rule) else {
            self.error(format!("there is no rule {rule}"));
            return None;
        };
        let shape = |t: &Type| (t.elem, t.rank());
        let params = r.function.params.iter().flat_map(|p| p.vars.leaves()).map(|v| shape(r.function.ty(*v)));
        let given = args.iter().chain(&values).map(shape);
        let by: Option<Vec<_>> = r.by.iter().map(|i| args.get(*i).map(shape)).collect();
        let results: Vec<_> = r.function.result_types.iter().map(shape).collect();
        if params.ne(given) || by.is_none_or(|by| by != results) {
            self.error(format!("rule {rule} does not fit what it is a rule of"));
        }
        Some(values)
    }

    /// Requires these variables to be the last point that is still open.
    fn closes(&mut self, point: &[Var], tangents: bool) {
        if self.points.pop().is_none_or(|open| open != (point.to_vec(), tangents)) {
            let vars: Vec<String> = point.iter().map(|v| self.show(*v)).collect();
            self.error(format!("({}) is not the point whose derivative comes next", vars.join(", ")));
        }
    }

    fn floats(&mut self, atoms: &[Atom], what: &str) -> Option<Vec<Type>> {
        let types: Vec<Option<Type>> = atoms.iter().map(|a| self.atom(*a)).collect();
        let types = types.into_iter().collect::<Option<Vec<Type>>>()?;
        if let Some(other) = types.iter().find(|t| !t.elem.is_float()) {
            let found = self.show_type(other);
            self.error(format!("{what} is {found}, not of floats"));
            return None;
        }
        Some(types)
    }
}
