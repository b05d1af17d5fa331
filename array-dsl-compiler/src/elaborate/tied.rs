//! The sizes of a record that are one. A value under a record's type has the element types and ranks of its definition, and
//! its sizes are **tied**: what the definition gives one name has one size.
//!
//! Names are those of this one value; only in the types of parameters are they names of the kernel. What stands alone as
//! a size somewhere binds its name, the first time; all else is compared with that, as sizes always are (`sizes`).

use std::rc::Rc;

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use super::value::Value;
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::record::{Field, Place, Record};
use crate::syntax::ast::{self, Binary, Expr, ExprKind, TypeKind, Unary};
use crate::syntax::names_in_size;
use crate::ty::{Elem, Name};

/// The sizes of one value of a record, by the names of its definition.
type Sizes = FxHashMap<Name, Dim>;

/// What the names of sizes stand for in a part of a value.
struct Names<'a> {
    /// The integers of the record whose part it is.
    own: &'a FxHashMap<Name, Dim>,
    place: Place,
    sizes: &'a Sizes,
}

impl Elaborator<'_> {
    /// These parts as a value of a record: of the declared types, with their sizes tied.
    pub(super) fn tied(&mut self, r: &Rc<Record>, parts: Vec<Value>, span: Span) -> Option<Value> {
        for (f, v) in r.fields.iter().zip(&parts) {
            self.has_type(&f.ty, v, &format!("field `{}` of `{}`", f.name, r.name), span)?;
        }
        let mut sizes = Sizes::default();
        let place = Place::outermost(r, &self.site.callees.records);
        bind_sizes(self, &r.fields, &parts, &place, &mut sizes);
        self.tie(r, parts, &place, &sizes, span)
    }

    /// Requires the declared structure, element types and ranks.
    fn has_type(&mut self, ty: &ast::Type, v: &Value, what: &str, span: Span) -> Option<()> {
        let (mut t, mut rank) = (ty, 0);
        while let TypeKind::Array(inner, _) = &t.kind {
            (t, rank) = (inner, rank + 1);
        }
        match (&t.kind, v) {
            (TypeKind::Scalar(elem), Value::Atom(a)) if self.rank(*a) == rank => {
                return self.unify(self.elem(*a), *elem, span, what);
            }
            (TypeKind::Tuple(ts), Value::Tuple(vs)) if rank == 0 && ts.len() == vs.len() => {
                return ts.iter().zip(vs).try_for_each(|(t, v)| self.has_type(t, v, what, span));
            }
            (TypeKind::Record(path), Value::Record(s, vs)) if rank == 0 && path.text() == *s.id => {
                let s = s.clone();
                return s.fields.iter().zip(vs).try_for_each(|(f, v)| {
                    self.has_type(&f.ty, v, &format!("field `{}` of `{}`", f.name, s.name), span)
                });
            }
            _ => {}
        }
        let (found, declared) = (self.describe(v), self.written(ty));
        let help = format!("give it a value of type `{declared}`");
        self.error(Code::ResultType, span, format!("{what} is declared as {declared}, found {found}"), help);
        None
    }

    /// The record with the dimensions that its definition and `sizes` say.
    fn tie(
        &mut self,
        r: &Rc<Record>,
        parts: Vec<Value>,
        place: &Place,
        sizes: &Sizes,
        span: Span,
    ) -> Option<Value> {
        let integers = integers(&r.fields);
        let mut own: FxHashMap<Name, Dim> = FxHashMap::default();
        for (f, v) in r.fields.iter().zip(&parts) {
            if integers.contains(&f.name) {
                own.insert(f.name.clone(), self.dim_of(v, span)?);
            }
        }
        let mut tied = Vec::new();
        for (f, v) in r.fields.iter().zip(parts) {
            let names = Names { own: &own, place: place.part(&f.name), sizes };
            let what = format!("field `{}` of `{}`", f.name, r.name);
            tied.push(self.tie_part(&f.ty, v, &names, &what, span)?);
        }
        Some(Value::Record(r.clone(), tied))
    }

    fn tie_part(
        &mut self,
        ty: &ast::Type,
        v: Value,
        names: &Names<'_>,
        what: &str,
        span: Span,
    ) -> Option<Value> {
        match (&ty.kind, v) {
            (TypeKind::Tuple(ts), Value::Tuple(vs)) => {
                let parts = ts.iter().zip(vs).enumerate().map(|(i, (t, v))| {
                    let names = Names { place: names.place.part(&i.to_string()), ..*names };
                    self.tie_part(t, v, &names, what, span)
                });
                Some(Value::Tuple(parts.collect::<Option<_>>()?))
            }
            (TypeKind::Record(_), Value::Record(s, vs)) => {
                let place = names.place.record(&s);
                self.tie(&s, vs, &place, names.sizes, span)
            }
            (TypeKind::Array(..), Value::Atom(a)) => {
                let mut t = ty;
                let mut dims = Vec::new();
                for d in self.atom_type(a).dims {
                    let TypeKind::Array(inner, size) = &t.kind else { break };
                    let declared = size.as_deref().and_then(|e| names.value_of(e));
                    dims.push(declared.unwrap_or(d));
                    t = inner;
                }
                Some(Value::Atom(self.coerce(a, &dims, span, what, false)?))
            }
            (_, v) => Some(v),
        }
    }
}

/// Binds the names of sizes that stand alone, but for the integers of a record that are sizes in it.
fn bind_sizes(e: &Elaborator<'_>, fields: &[Field], parts: &[Value], place: &Place, sizes: &mut Sizes) {
    let integers = integers(fields);
    for (f, v) in fields.iter().zip(parts) {
        bind_sizes_of(e, &f.ty, v, &integers, &place.part(&f.name), sizes);
    }
}

fn bind_sizes_of(
    e: &Elaborator<'_>,
    ty: &ast::Type,
    v: &Value,
    integers: &[Name],
    place: &Place,
    sizes: &mut Sizes,
) {
    match (&ty.kind, v) {
        (TypeKind::Tuple(ts), Value::Tuple(vs)) => {
            for (i, (t, v)) in ts.iter().zip(vs).enumerate() {
                bind_sizes_of(e, t, v, integers, &place.part(&i.to_string()), sizes);
            }
        }
        (TypeKind::Record(_), Value::Record(s, vs)) => bind_sizes(e, &s.fields, vs, &place.record(s), sizes),
        (TypeKind::Array(..), Value::Atom(a)) => {
            let mut t = ty;
            for d in e.atom_type(*a).dims {
                let TypeKind::Array(inner, size) = &t.kind else { break };
                if let Some(name) = size.as_deref().and_then(single)
                    && !integers.contains(name)
                {
                    sizes.entry(place.size(name)).or_insert(d);
                }
                t = inner;
            }
        }
        _ => {}
    }
}

/// The integers among the fields that are sizes of others.
fn integers(fields: &[Field]) -> Vec<Name> {
    let mut used = Vec::new();
    fields.iter().for_each(|f| names_in(&f.ty, &mut used));
    let is_size = |f: &&Field| {
        matches!(f.ty.kind, TypeKind::Scalar(Elem::I64)) && used.iter().any(|n| n.name == f.name)
    };
    fields.iter().filter(is_size).map(|f| f.name.clone()).collect()
}

fn names_in(ty: &ast::Type, out: &mut Vec<ast::Ident>) {
    match &ty.kind {
        TypeKind::Array(inner, size) => {
            size.iter().for_each(|e| names_in_size(e, out));
            names_in(inner, out);
        }
        TypeKind::Tuple(parts) => parts.iter().for_each(|t| names_in(t, out)),
        _ => {}
    }
}

/// The name that a size is.
fn single(e: &Expr) -> Option<&Name> {
    match &e.kind {
        ExprKind::Path(path) => path.single().map(|n| &n.name),
        _ => None,
    }
}

impl Names<'_> {
    /// The value of a size; `None` where it has a name that stands alone nowhere.
    fn value_of(&self, e: &Expr) -> Option<Dim> {
        match &e.kind {
            ExprKind::Int(i, _) => Some(Dim::constant(*i)),
            ExprKind::Path(_) => {
                let name = single(e)?;
                self.own.get(name).or_else(|| self.sizes.get(&self.place.size(name))).cloned()
            }
            ExprKind::Block(_, Some(a)) => self.value_of(a),
            ExprKind::Unary(Unary::Neg, a) => Some(self.value_of(a)?.scale(-1)),
            ExprKind::Binary(op, a, b, _) => {
                let (a, b) = (self.value_of(a)?, self.value_of(b)?);
                match op {
                    Binary::Add => Some(a.add(&b)),
                    Binary::Sub => Some(a.sub(&b)),
                    Binary::Mul => Some(a.mul(&b)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
