//! Tangents, cotangents and derivatives of values: which structure they have, and taking it apart and putting it together.
//!
//! * The derivative by a number or an array of floats is of its type; what is no float has none.
//! * Of a tuple it is the tuple of the parts that have one, of a record that record, with zeros for what has none.
//! * A result has one cotangent for each part that stands alone: for each array and each record outside of records.

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::operator::same_structure;
use super::value::Value;
use crate::core::{Atom, Type};
use crate::derive::Derivative;
use crate::diagnostics::Code;
use crate::ty::Const;

impl Elaborator<'_> {
    /// The seed of a gradient, if the value is one float.
    pub(super) fn scalar_seed(&mut self, what: Derivative, value: &Value, span: Span) -> Option<Atom> {
        if let Value::Atom(a) = value
            && self.rank(*a) == 0
            && self.inference.is_differentiable(self.elem(*a))
        {
            return Some(Atom::Const(Const::float(self.elem(*a), 1.0)));
        }
        let found = self.describe(value);
        let name = what.name();
        let help = match value {
            Value::Atom(a) if self.rank(*a) > 0 => format!(
                "for the derivative at each element write `map({name}(f), xs)`; for others `vjp(f)` takes a cotangent, and \
                 `jvp(f)` a tangent"
            ),
            _ => "`vjp(f)` takes a cotangent for each float of the result, `jvp(f)` a tangent".into(),
        };
        self.error(
            Code::NotDifferentiable,
            span,
            format!("`{name}(f)` needs a function that gives one float, this one gives {found}"),
            help,
        );
        None
    }

    pub(super) fn tangents(&mut self, by: &[Value], tangents: &[Value], span: Span) -> Option<Vec<Atom>> {
        let mut out = Vec::new();
        for (v, t) in by.iter().zip(tangents) {
            let leaves = self.floats(v)?.atoms()?;
            let Some(found) = self.directions(v, t) else {
                let expected = match v {
                    Value::Record(..) => self.describe(v),
                    _ => self.floats(v).map_or(String::new(), |v| self.describe(&v)),
                };
                let found = self.describe(t);
                self.error(
                    Code::TupleShape,
                    span,
                    format!(
                        "a tangent has the structure of its argument: expected {expected}, found {found}"
                    ),
                    "give a tangent for each argument, in order",
                );
                return None;
            };
            for (x, t) in leaves.iter().zip(found) {
                out.push(self.direction(t, &self.atom_type(*x), "a tangent", span)?);
            }
        }
        Some(out)
    }

    pub(super) fn cotangents(
        &mut self,
        value: &Value,
        types: &[Type],
        cotangents: &[Value],
        span: Span,
    ) -> Option<Vec<Atom>> {
        let results = self.components(value);
        if results.len() != cotangents.len() {
            self.error(
                Code::ArgumentCount,
                span,
                format!(
                    "the function gives {}, but `vjp(f)` gets {}",
                    count(results.len(), "float value"),
                    count(cotangents.len(), "cotangent")
                ),
                "give one cotangent for each, after the arguments",
            );
            return None;
        }
        let mut atoms = Vec::new();
        for (v, c) in results.iter().zip(cotangents) {
            match self.directions(v, c) {
                Some(found) => atoms.extend(found),
                None => {
                    let (expected, found) = (self.describe(v), self.describe(c));
                    let message = format!("a cotangent: expected {expected}, found {found}");
                    let help = "a cotangent has the type of the value that it belongs to";
                    self.error(Code::TupleShape, span, message, help);
                    return None;
                }
            }
        }
        atoms.iter().zip(types).map(|(c, t)| self.direction(*c, t, "a cotangent", span)).collect()
    }

    /// A tangent or cotangent, of the type of what it belongs to.
    fn direction(&mut self, a: Atom, ty: &Type, what: &str, span: Span) -> Option<Atom> {
        self.unify(self.elem(a), ty.elem, span, what)?;
        if self.rank(a) != ty.rank() {
            let (found, expected) = (self.show_type(&self.atom_type(a)), self.show_type(ty));
            self.error(
                Code::Rank,
                span,
                format!("{what}: expected {expected}, found {found}"),
                format!("{what} has the type of the value that it belongs to"),
            );
            return None;
        }
        self.coerce(a, &ty.dims, span, what, false)
    }

    /// The float parts of a value in the same structure; `None` if there are none.
    pub(super) fn floats(&self, v: &Value) -> Option<Value> {
        match v {
            Value::Atom(a) => self.inference.is_differentiable(self.elem(*a)).then(|| v.clone()),
            Value::Tuple(vs) => {
                let parts: Vec<Value> = vs.iter().filter_map(|v| self.floats(v)).collect();
                (!parts.is_empty()).then_some(Value::Tuple(parts))
            }
            Value::Record(_, vs) => self.floats(&Value::Tuple(vs.clone())),
            Value::Function(_) => None,
        }
    }

    /// The derivative by a value, or of it, with these arrays for its floats: of a tuple what has a derivative, of a record
    /// everything, with zeros for what has none. `None` if there are no floats.
    pub(super) fn derivative_like(
        &mut self,
        v: &Value,
        new: &mut impl Iterator<Item = Atom>,
        span: Span,
    ) -> Option<Value> {
        match v {
            Value::Tuple(vs) => {
                let parts: Vec<Value> =
                    vs.iter().filter_map(|v| self.derivative_like(v, new, span)).collect();
                (!parts.is_empty()).then_some(Value::Tuple(parts))
            }
            Value::Function(_) => None,
            _ => {
                self.floats(v)?;
                self.with_zeros(v, new, span)
            }
        }
    }

    fn with_zeros(&mut self, v: &Value, new: &mut impl Iterator<Item = Atom>, span: Span) -> Option<Value> {
        match v {
            Value::Atom(a) if self.inference.is_differentiable(self.elem(*a)) => {
                Some(Value::Atom(new.next().unwrap_or(*a)))
            }
            Value::Atom(a) => {
                let zero = Value::Atom(Atom::Const(self.constant_of(self.elem(*a), 0)));
                match self.atom_type(*a).dims {
                    dims if dims.is_empty() => Some(zero),
                    dims => self.build("zero", &dims, &[], span, |_, _| Some(zero)),
                }
            }
            Value::Tuple(vs) => {
                Some(Value::Tuple(vs.iter().map(|v| self.with_zeros(v, new, span)).collect::<Option<_>>()?))
            }
            Value::Record(r, vs) => {
                let parts = vs.iter().map(|v| self.with_zeros(v, new, span)).collect::<Option<_>>()?;
                Some(Value::Record(r.clone(), parts))
            }
            Value::Function(_) => None,
        }
    }

    /// The parts of a result that have a cotangent each: scalars, arrays and records with floats.
    fn components(&self, v: &Value) -> Vec<Value> {
        match v {
            Value::Tuple(vs) => vs.iter().flat_map(|v| self.components(v)).collect(),
            v => self.floats(v).map(|_| v.clone()).into_iter().collect(),
        }
    }

    /// The atoms of a tangent or cotangent `t` of `v`, if it has the structure that `derived` gives.
    fn directions(&self, v: &Value, t: &Value) -> Option<Vec<Atom>> {
        match (v, t) {
            (Value::Tuple(vs), Value::Tuple(ts)) => {
                let vs: Vec<&Value> = vs.iter().filter(|v| self.floats(v).is_some()).collect();
                let parts = vs.iter().zip(ts).map(|(v, t)| self.directions(v, t));
                if vs.len() == ts.len() { Some(parts.collect::<Option<Vec<_>>>()?.concat()) } else { None }
            }
            (Value::Record(..), _) if !same_structure(v, t) => None,
            (Value::Record(_, vs), Value::Record(_, ts)) => {
                let parts = vs.iter().zip(ts).map(|(v, t)| self.floats_of(v, t));
                Some(parts.collect::<Option<Vec<_>>>()?.concat())
            }
            (Value::Atom(_), Value::Atom(t)) => Some(vec![*t]),
            _ => None,
        }
    }

    /// The atoms of `t` where `v`, of the same structure, has floats.
    fn floats_of(&self, v: &Value, t: &Value) -> Option<Vec<Atom>> {
        let both = v.atoms()?.into_iter().zip(t.atoms()?);
        Some(both.filter(|(v, _)| self.inference.is_differentiable(self.elem(*v))).map(|(_, t)| t).collect())
    }

    /// The value with its floats replaced, in order.
    pub(super) fn with_floats(&self, v: &Value, new: &mut impl Iterator<Item = Atom>) -> Value {
        match v {
            Value::Atom(a) if self.inference.is_differentiable(self.elem(*a)) => {
                Value::Atom(new.next().unwrap_or(*a))
            }
            Value::Tuple(vs) => Value::Tuple(vs.iter().map(|v| self.with_floats(v, new)).collect()),
            Value::Record(r, vs) => {
                Value::Record(r.clone(), vs.iter().map(|v| self.with_floats(v, new)).collect())
            }
            other => other.clone(),
        }
    }
}
