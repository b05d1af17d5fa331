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
