//! Records: tuples whose parts have names. The names are looked up here, and end here.
//!
//! ```text
//! net.w                          the part of that name
//! Net { w: e, ..net }            the parts in the order of the definition
//! let Net { w, b: c, .. } = net   binds parts by name
//! net - rate * gradient          fields of floats, one by one
//! ```
//!
//! An array of records is a record of arrays: its fields have more dimensions than their types.

use std::rc::Rc;

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use super::names::closest;
use super::value::Value;
use crate::core::{Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::record::{Place, Record};
use crate::scalar::{Gives, Op};
use crate::syntax::ast::{self, Expr, Ident, Member, Path, RecordPattern, TypeKind};
use crate::ty::{Elem, Name, Tree};

impl Elaborator<'_> {
    /// The record that a path stands for.
    pub(super) fn record(&mut self, path: &Path) -> Option<Rc<Record>> {
        let found = self.site.callees.records.get(&path.text()).cloned();
        if found.is_none() {
            let message = format!("`{}` is not a record", path.text());
            self.error(Code::NotARecord, path.span(), message, "put `#[derive(Record)]` on its definition");
        }
        found
    }

    /// The position of a field.
    fn position(&mut self, r: &Record, name: &Ident) -> Option<usize> {
        let found = r.fields.iter().position(|f| f.name == name.name);
        if found.is_none() {
            let near = closest(&name.name, r.fields.iter().map(|f| &*f.name));
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its fields are {}", r.field_names()),
            };
            let message = format!("the record `{}` has no field `{}`", r.name, name.name);
            self.error(Code::Fields, name.span, message, help);
        }
        found
    }

    /// `e.0`, `e.name`.
    pub(super) fn member(&mut self, v: Value, member: &Member, span: Span) -> Option<Value> {
        if let (Value::Atom(a), Member::Name(name)) = (&v, member)
            && self.is_of_complex(&v)
            && matches!(&*name.name, "re" | "im")
        {
            return self.complex_part(*a, &name.name, span);
        }
        let at = self.part_of(&v, member, span)?;
        match v {
            Value::Tuple(mut vs) | Value::Record(_, mut vs) => Some(vs.swap_remove(at)),
            _ => None,
        }
    }

    /// The position of a part.
    pub(super) fn part_of(&mut self, v: &Value, member: &Member, span: Span) -> Option<usize> {
        match (v, member) {
            (Value::Tuple(vs), Member::Position(i)) if *i < vs.len() => return Some(*i),
            (Value::Record(r, _), Member::Name(name)) => return self.position(&r.clone(), name),
            _ => {}
        }
        let found = self.describe(v);
        match (v, member) {
            (Value::Record(r, _), Member::Position(i)) => {
                let help = format!("its fields are {}", r.field_names());
                self.error(
                    Code::Fields,
                    span,
                    format!("there is no part .{i} of the record `{}`", r.name),
                    help,
                );
            }
            (_, Member::Position(i)) => {
                let message = format!("there is no part .{i} of {found}");
                self.error(Code::TupleShape, span, message, "tuples count from .0");
            }
            (_, Member::Name(name)) => {
                let help = match v {
                    Value::Tuple(_) => "the parts of a tuple are `.0`, `.1`".to_string(),
                    _ if self.is_of_complex(v) => "its parts are `.re` and `.im`".to_string(),
                    _ if super::is_builtin(&name.name) => {
                        format!("to call the method write `.{}()`", name.name)
                    }
                    _ => "only records have fields with names".to_string(),
                };
                let message = format!("there is no field `{}` of {found}", name.name);
                self.error(Code::Fields, name.span, message, help);
            }
        }
        None
    }

    /// `Name { field: value, ..base }`.
    pub(super) fn record_literal(
        &mut self,
        path: &Path,
        fields: &[(Ident, Expr)],
        base: Option<&Expr>,
    ) -> Option<Value> {
        let r = self.record(path)?;
        let mut parts: Vec<Option<Value>> = vec![None; r.fields.len()];
        let mut named = vec![false; r.fields.len()];
        let mut ok = true;
        for (name, e) in fields {
            let v = self.expr(e);
            ok &= v.is_some();
            let Some(at) = self.position(&r, name) else {
                ok = false;
                continue;
            };
            if std::mem::replace(&mut named[at], true) {
                let message = format!("the field `{}` of `{}` is given twice", name.name, r.name);
                self.error(Code::Fields, name.span, message, "keep one");
                ok = false;
            }
            parts[at] = v;
        }
        if let Some(base) = base {
            for (part, v) in parts.iter_mut().zip(self.base_fields(&r, base)?) {
                part.get_or_insert(v);
            }
        } else if let Some(missing) = list(&r, &named) {
            let message = format!("the record `{}` lacks {missing}", r.name);
            let help = "give every field a value, or take the rest from another: `..net`";
            self.error(Code::Fields, path.span(), message, help);
            ok = false;
        }
        if !ok {
            return None;
        }
        let parts = parts.into_iter().collect::<Option<Vec<Value>>>()?;
        self.tied(&r, parts, path.span())
    }

    /// The fields of `..base`.
    fn base_fields(&mut self, r: &Rc<Record>, base: &Expr) -> Option<Vec<Value>> {
        match self.expr(base)? {
            Value::Record(s, vs) if s.id == r.id => Some(vs),
            other => {
                let found = self.describe(&other);
                let message = format!("the other fields of `{}` cannot come from {found}", r.name);
                let help = format!("name a value of type `{}`", r.name);
                self.error(Code::Fields, base.span, message, help);
                None
            }
        }
    }

    /// Binds the names of `Name { field: pattern, .. }`.
    pub(super) fn bind_record(&mut self, p: &RecordPattern, v: Value) -> Option<()> {
        let r = self.record(&p.path)?;
        let vs = match v {
            Value::Record(s, vs) if s.id == r.id => vs,
            other => {
                let found = self.describe(&other);
                let message = format!("this pattern is for the record `{}`, the value is {found}", r.name);
                self.error(Code::Fields, p.span, message, "use a pattern for what the value is");
                return None;
            }
        };
        let mut named = vec![false; r.fields.len()];
        for (name, inner) in &p.fields {
            let at = self.position(&r, name)?;
            if std::mem::replace(&mut named[at], true) {
                let message = format!("the field `{}` of `{}` is bound twice", name.name, r.name);
                self.error(Code::Fields, name.span, message, "keep one");
                return None;
            }
            self.bind_pattern(inner, vs[at].clone())?;
        }
        if let (false, Some(missing)) = (p.rest, list(&r, &named)) {
            let message = format!("this pattern for `{}` lacks {missing}", r.name);
            self.error(Code::Fields, p.span, message, "end it with `..` to leave out the others");
            return None;
        }
        Some(())
    }

    /// A tuple with the names that a type gives its parts.
    pub(super) fn named(&self, v: Value, ty: &ast::Type) -> Value {
        match (v, &ty.kind) {
            (Value::Tuple(vs), TypeKind::Record(path)) => match self.site.callees.records.get(&path.text()) {
                Some(r) => {
                    let parts = vs.into_iter().zip(&r.fields).map(|(v, f)| self.named(v, &f.ty)).collect();
                    Value::Record(r.clone(), parts)
                }
                None => Value::Tuple(vs),
            },
            (Value::Tuple(vs), TypeKind::Tuple(ts)) => {
                Value::Tuple(vs.into_iter().zip(ts).map(|(v, t)| self.named(v, t)).collect())
            }
            (v, TypeKind::Array(inner, _)) => self.named(v, inner),
            (v, _) => v,
        }
    }

    /// The variables of a parameter that is a record. Its sizes are the kernel's, but for those that are integers in it.
    pub(super) fn record_vars(
        &mut self,
        name: &str,
        path: &Path,
        span: Span,
        all: &mut Vec<Dim>,
    ) -> Option<Tree<Var>> {
        let r = self.record(path)?;
        // Errors in its sizes are about the parameter: they come together with it.
        let outer = self.site.call_span.replace(self.site.call_span.unwrap_or(span));
        let within = self.in_record.take();
        let place = match &within {
            Some(place) => place.record(&r),
            None => Place::outermost(&r, &self.site.callees.records),
        };
        let mark = self.scope.enter();
        let mut scalars: FxHashMap<Name, Var> = FxHashMap::default();
        for f in &r.fields {
            if let TypeKind::Scalar(elem) = f.ty.kind {
                let var = self.new_var(&format!("{name}.{}", f.name), Type::scalar(elem));
                if elem == Elem::I64 {
                    self.known.insert(var, Dim::atom(SizeAtom::Scalar(var.0)));
                    self.scope.bind(f.name.clone(), Value::Atom(crate::core::Atom::Var(var)));
                }
                scalars.insert(f.name.clone(), var);
            }
        }
        let parts = r.fields.iter().map(|f| match scalars.get(&f.name) {
            Some(v) => Tree::Leaf(*v),
            None => {
                self.in_record = Some(place.part(&f.name));
                self.param_vars(&format!("{name}.{}", f.name), &f.ty, all)
            }
        });
        let parts = parts.collect();
        self.in_record = within;
        self.scope.leave(mark);
        self.site.call_span = outer;
        Some(Tree::Tuple(parts))
    }

    /// A scalar function of records: of their fields, one by one. The other operands are scalars.
    pub(super) fn apply_to_fields(
        &mut self,
        op: Op,
        name: &str,
        args: &[Value],
        span: Span,
    ) -> Option<Value> {
        let r = args.iter().find_map(|a| if let Value::Record(r, _) = a { Some(r.clone()) } else { None })?;
        let fits = |e: &Self, a: &Value| match a {
            Value::Record(s, _) => s.id == r.id,
            Value::Atom(a) => e.rank(*a) == 0,
            _ => false,
        };
        if let Some(other) = args.iter().find(|a| !fits(self, a)) {
            let found = self.describe(other);
            let message = format!("{name} of a record `{}` and {found}", r.name);
            let help = format!("the operands are scalars and records `{}`; or write the fields out", r.name);
            self.error(Code::Fields, span, message, help);
            return None;
        }
        if op.row().is_none_or(|row| row.gives != Gives::Same) {
            let message = format!("{name} does not apply to the record `{}`", r.name);
            self.error(Code::Fields, span, message, "compare single fields");
            return None;
        }
        for v in args.iter().filter(|v| matches!(v, Value::Record(..))) {
            self.all_floats(v, name, span)?;
        }
        self.fieldwise(op, name, args, span)
    }

    /// Requires a record of floats only.
    fn all_floats(&mut self, v: &Value, name: &str, span: Span) -> Option<()> {
        let Value::Record(r, vs) = v else { return Some(()) };
        for (f, v) in r.fields.iter().zip(vs) {
            self.all_floats(v, name, span)?;
            let other = v.atoms()?.into_iter().find(|a| !self.inference.is_differentiable(self.elem(*a)));
            if let Some(a) = other {
                let found = self.inference.describe(self.elem(a));
                let message = format!(
                    "{name} applies to records of floats, but the field `{}` of `{}` is {found}",
                    f.name, r.name
                );
                let help =
                    format!("write the fields out, and take this one over: `{} {{ .., ..net }}`", r.name);
                self.error(Code::ElementType, span, message, help);
                return None;
            }
        }
        Some(())
    }

    /// A scalar function of the parts of equal structures; scalars among the operands are used for each part.
    fn fieldwise(&mut self, op: Op, name: &str, args: &[Value], span: Span) -> Option<Value> {
        let structure = args.iter().find(|a| !matches!(a, Value::Atom(_)));
        let Some(Value::Tuple(vs) | Value::Record(_, vs)) = structure else {
            return self.apply_operator(op, name, args, span);
        };
        let mut parts = Vec::new();
        for i in 0..vs.len() {
            let part = |a: &Value| match a {
                Value::Tuple(vs) | Value::Record(_, vs) => vs[i].clone(),
                scalar => scalar.clone(),
            };
            parts.push(self.fieldwise(op, name, &args.iter().map(part).collect::<Vec<_>>(), span)?);
        }
        Some(match structure {
            Some(Value::Record(r, _)) => Value::Record(r.clone(), parts),
            _ => Value::Tuple(parts),
        })
    }
}

/// The fields that are not marked, as a list for messages; `None` if there are none.
fn list(r: &Record, marked: &[bool]) -> Option<String> {
    let names: Vec<String> =
        r.fields.iter().zip(marked).filter(|(_, m)| !**m).map(|(f, _)| format!("`{}`", f.name)).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("the field {one}")),
        several => Some(format!("the fields {}", several.join(", "))),
    }
}
