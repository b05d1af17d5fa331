//! The rules of derivatives.

use super::Scope;
use crate::core::{Atom, Derivative, Mode, Type};

impl Scope<'_> {
    pub(super) fn derivative(&mut self, d: &Derivative) -> Option<Vec<Type>> {
        let at: Vec<Option<Type>> = d.point.iter().map(|(_, at)| self.atom(*at)).collect();
        let tangents = match &d.mode {
            Mode::Forward(tangents) => Some(self.atoms(tangents)),
            Mode::Reverse => None,
        };
        let results = self.executed(d, &at);
        let point = self.of_floats(at.into_iter().collect::<Option<_>>()?, "a value of a point")?;
        let mut values = results?;
        let derivatives = match tangents {
            Some(tangents) => {
                self.same(&point, &tangents?, "the values of a point", "its tangents");
                floats(&values).cloned().collect()
            }
            None => {
                self.cotangents(&mut values)?;
                point
            }
        };
        Some([values, derivatives].concat())
    }

    /// The results of the body of a derivative at a point of these types. It is no scope for integers of depth 0.
    fn executed(&mut self, d: &Derivative, point: &[Option<Type>]) -> Option<Vec<Type>> {
        let mark = self.trail.len();
        d.point.iter().zip(point).for_each(|((v, _), ty)| self.bind(*v, ty.as_ref()));
        let types = self.body(&d.body);
        let (f, outermost) = (self.f, self.depth == 0);
        self.leave(mark, |v| outermost && f.ty(v).rank() == 0 && f.ty(v).elem.is_int());
        types
    }

    /// Takes the cotangents off the results of a derivative's body: there is one for each float before them.
    fn cotangents(&mut self, results: &mut Vec<Type>) -> Option<()> {
        let count = (0..=results.len()).find(|n| n + floats(&results[..*n]).count() == results.len());
        let Some(count) = count else {
            let found: Vec<String> = results.iter().map(|t| self.show_type(t)).collect();
            self.error(format!("({}) are not values and a cotangent for each float", found.join(", ")));
            return None;
        };
        let cotangents = results.split_off(count);
        let of: Vec<Type> = floats(results).cloned().collect();
        self.same(&of, &cotangents, "differentiated values", "their cotangents");
        Some(())
    }

    pub(super) fn custom(&mut self, values: &[Atom], args: &[Atom], rule: usize) -> Option<Vec<Type>> {
        let (values, args) = (self.atoms(values), self.atoms(args));
        let values = self.of_floats(values?, "a value with a rule")?;
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

    /// The types, if all are floats.
    fn of_floats(&mut self, types: Vec<Type>, what: &str) -> Option<Vec<Type>> {
        if let Some(other) = types.iter().find(|t| !t.elem.is_differentiable()) {
            let found = self.show_type(other);
            self.error(format!("{what} is {found}, not of floats"));
            return None;
        }
        Some(types)
    }

    fn atoms(&mut self, atoms: &[Atom]) -> Option<Vec<Type>> {
        let types: Vec<Option<Type>> = atoms.iter().map(|a| self.atom(*a)).collect();
        types.into_iter().collect()
    }
}

/// The types that are differentiated.
fn floats(types: &[Type]) -> impl Iterator<Item = &Type> {
    types.iter().filter(|t| t.elem.is_differentiable())
}
