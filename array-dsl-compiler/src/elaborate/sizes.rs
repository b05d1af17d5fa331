//! Dimensions: of size expressions, of annotations, and as messages show them.

use proc_macro2::Span;

use super::value::Value;
use super::{Elaborator, TOO_LARGE};
use crate::core::{Atom, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::record::Records;
use crate::syntax::ast::{self, Binary, ExprKind, TypeKind, Unary};
use crate::ty::{Elem, Name};

/// Where a type is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    /// With the value, by a `let` or a closure: it may name sizes that only data tell, and other sizes are checked when running.
    WithValue,
    /// In a signature, whose sizes must be those of the value.
    InSignature,
}

impl Elaborator<'_> {
    /// A dimension in the user's names.
    pub(super) fn show(&self, d: &Dim) -> String {
        d.show_to_user(&|s| self.vars[s as usize].name.to_string())
    }

    /// The type of an atom in the user's notation.
    pub(super) fn show_type(&self, ty: &Type) -> String {
        let elem = self.inference.describe(ty.elem);
        ty.dims.iter().rev().fold(elem, |t, d| format!("[{t}; {}]", self.show(d)))
    }

    /// A size in the signature: new names become size parameters.
    pub(super) fn signature_dim(&mut self, e: &ast::Expr) -> Option<Dim> {
        if let ExprKind::Path(p) = &e.kind
            && let Some(name) = p.single()
            && self.scope.get(&name.name).is_none()
            && self.constant(p, None).is_none()
        {
            let name = self.in_record.as_ref().map_or_else(|| name.name.clone(), |p| p.size(&name.name));
            if !self.sizes.contains(&name) {
                self.sizes.push(name.clone());
            }
            return Some(Dim::name(name));
        }
        self.dim_expr(e, true)
    }

    fn dim_expr(&mut self, e: &ast::Expr, signature: bool) -> Option<Dim> {
        match &e.kind {
            ExprKind::Int(i, _) => Some(Dim::constant(*i)),
            ExprKind::Block(stms, Some(e)) if stms.is_empty() => self.dim_expr(e, signature),
            ExprKind::Unary(Unary::Neg, a) => Some(self.dim_expr(a, signature)?.scale(-1)),
            ExprKind::Binary(op @ (Binary::Add | Binary::Sub | Binary::Mul), a, b, _) => {
                let recurse = |s: &mut Self, e: &ast::Expr| {
                    if signature { s.signature_dim(e) } else { s.dim_expr(e, false) }
                };
                let (a, b) = (recurse(self, a)?, recurse(self, b)?);
                let d = match op {
                    Binary::Add => a.add(&b),
                    Binary::Sub => a.sub(&b),
                    _ => a.mul(&b),
                };
                self.fitting(d, e.span)
            }
            _ => {
                let v = self.expr(e)?;
                self.dim_of(&v, e.span)
            }
        }
    }

    /// The dimension that an integer value is. It must not depend on the index of an enclosing `build`.
    pub(super) fn dim_of(&mut self, v: &Value, span: Span) -> Option<Dim> {
        let Value::Atom(a) = v else {
            self.error(
                Code::ElementType,
                span,
                "a size must be an integer, found a tuple",
                "give one size here",
            );
            return None;
        };
        let ty = self.atom_type(*a);
        self.inference.settle_for_int(ty.elem);
        if ty.rank() != 0 || !self.inference.is_int(ty.elem) {
            let found = self.show_type(&ty);
            self.error(
                Code::ElementType,
                span,
                format!("a size must be an integer (i64 or usize), found {found}"),
                "convert it with `as usize` if it is a number",
            );
            return None;
        }
        self.unify(ty.elem, Elem::I64, span, "a size")?;
        if let Some(d) = self.known_int(*a) {
            return self.fitting(d, span);
        }
        let Atom::Var(v) = *a else { return None };
        if let Some(d) = self.hoisted_size(v, span) {
            return self.fitting(d, span);
        }
        let (reason, help) = self.why_not_hoisted(v);
        self.error(Code::DependentDimension, span, format!("this size {reason}"), help);
        None
    }

    /// A size, unless it is too large.
    pub(super) fn fitting(&mut self, d: Dim, span: Span) -> Option<Dim> {
        if d.is_too_large() {
            self.error(Code::Limit, span, TOO_LARGE, "sizes and numbers of elements are 64-bit integers");
            return None;
        }
        Some(d)
    }

    /// Whether a variable is bound outside all loops, builds and branches.
    pub(super) fn is_outermost(&self, v: Var) -> bool {
        self.bodies.len() == 1
            || self.outermost().any(|s| s.vars.contains(&v))
            || self.params.contains(&v)
            || self.points.iter().any(|(lists, vars)| *lists == 1 && vars.contains(&v))
    }

    /// A dimension the user annotated in a `let` or a result type; `None` inside: unnamed.
    fn annotated_dims(&mut self, t: &ast::Type) -> Option<(Vec<Option<Dim>>, Option<Elem>)> {
        let mut dims = Vec::new();
        let mut t = t;
        loop {
            match &t.kind {
                TypeKind::Array(inner, size) => {
                    dims.push(match size {
                        Some(e) => Some(self.annotation_dim(e)?),
                        None => None,
                    });
                    t = inner;
                }
                TypeKind::Scalar(e) => return Some((dims, Some(*e))),
                TypeKind::Infer | TypeKind::Generic(_) | TypeKind::Complex(_) | TypeKind::Function(_) => {
                    return Some((dims, None));
                }
                TypeKind::Record(path) => {
                    self.error(
                        Code::Fields,
                        t.span,
                        format!("an array of records has no type: `{}`", path.text()),
                        "leave out the annotation: it is a record whose fields are arrays",
                    );
                    return None;
                }
                TypeKind::Tuple(_) => {
                    self.error(
                        Code::TupleShape,
                        t.span,
                        "an array of tuples is written as a tuple of arrays",
                        "write `([f64; n], [f64; n])` for n pairs",
                    );
                    return None;
                }
            }
        }
    }

    /// Binds the new names that an annotation gives to sizes that only data tell.
    fn name_sizes(&mut self, t: &ast::Type, ty: &Type) {
        let mut t = t;
        let mut named: Vec<(&ast::Ident, Dim)> = Vec::new();
        for d in &ty.dims {
            let TypeKind::Array(inner, size) = &t.kind else { return };
            if let Some(ast::Expr { kind: ExprKind::Path(p), .. }) = size.as_deref()
                && let Some(name) = p.single()
                && d.atoms().iter().any(|a| matches!(a, SizeAtom::Scalar(_)))
                && self.is_new(&name.name)
            {
                named.push((name, d.clone()));
            }
            t = inner;
        }
        // Only if the ranks agree.
        if matches!(t.kind, TypeKind::Array(..)) {
            return;
        }
        for (name, d) in named {
            let size = self.size_value(&d, name.span);
            if let (Atom::Var(v), Some(_)) = (size, d.as_atom()) {
                self.vars[v.0 as usize].name = name.name.clone();
            }
            self.scope.bind(name.name.clone(), Value::Atom(size));
        }
    }

    /// Whether nothing has this name.
    fn is_new(&self, name: &Name) -> bool {
        !self.is_constant(name)
            && self.scope.get(name).is_none()
            && !self.scope.is_poisoned(name)
            && !self.is_size(name)
    }

    pub(super) fn annotation_dim(&mut self, e: &ast::Expr) -> Option<Dim> {
        if let ExprKind::Path(p) = &e.kind
            && let Some(name) = p.single()
            && self.is_new(&name.name)
        {
            let known = self.size_names();
            let help = if known.is_empty() {
                "sizes are named by the arguments' types".to_string()
            } else {
                format!("the sizes of this kernel are {known}; write `_` to leave it unnamed")
            };
            self.error(Code::UnknownName, name.span, format!("unknown size `{}`", name.name), help);
            return None;
        }
        self.dim_expr(e, false)
    }

    /// The user's size names as a list for messages.
    pub(super) fn size_names(&self) -> String {
        let names: Vec<String> =
            self.sizes.iter().filter(|s| !s.starts_with('#')).map(|s| format!("`{s}`")).collect();
        names.join(", ")
    }

    /// Requires a value to have a declared type; the value with the declared dimensions.
    pub(super) fn annotate(&mut self, v: Value, t: &ast::Type, what: &str, by: Declared) -> Option<Value> {
        match (&v, &t.kind) {
            (_, TypeKind::Infer) => Some(v),
            (Value::Tuple(vs), TypeKind::Tuple(ts)) if vs.len() == ts.len() => {
                let parts = vs.clone().into_iter().zip(ts).map(|(v, t)| self.annotate(v, t, what, by));
                Some(Value::Tuple(parts.collect::<Option<_>>()?))
            }
            (Value::Record(s, vs), TypeKind::Record(path)) => {
                let r = self.record(path)?;
                if r.id != s.id || self.lifted(&v) > 0 {
                    let found = self.describe(&v);
                    let message = format!("{what} is declared as {}, found {found}", r.name);
                    let help = format!("give it a value of type `{}`", r.name);
                    self.error(Code::ResultType, t.span, message, help);
                    return None;
                }
                self.tied(&r, vs.clone(), t.span)
            }
            (Value::Record(..), TypeKind::Array(inner, _)) if is_of_records(inner) => {
                self.annotated_dims(t)?;
                None
            }
            (Value::Atom(a), TypeKind::Scalar(_) | TypeKind::Array(..)) => {
                self.annotate_atom(*a, t, what, by).map(Value::Atom)
            }
            _ => {
                let (found, declared) = (self.describe(&v), self.written(t));
                let message = format!("{what} is declared as {declared}, found {found}");
                let help = format!("declare it as `{found}`, or change the value");
                self.error(Code::ResultType, t.span, message, help);
                None
            }
        }
    }

    fn annotate_atom(&mut self, a: Atom, t: &ast::Type, what: &str, by: Declared) -> Option<Atom> {
        let ty = self.atom_type(a);
        if by == Declared::WithValue {
            self.name_sizes(t, &ty);
        }
        let (dims, elem) = self.annotated_dims(t)?;
        if ty.rank() != dims.len() {
            let (found, declared) = (self.show_type(&ty), self.written(t));
            let message = format!("{what} is declared as {declared}, found {found}");
            let help = if ty.rank() > dims.len() && dims.is_empty() {
                format!("reduce it, with `sum` for example, or declare it as `{found}`")
            } else {
                format!("declare it as `{found}`, or change the value")
            };
            self.error(Code::ResultType, t.span, message, help);
            return None;
        }
        if let Some(e) = elem {
            self.unify(ty.elem, e, t.span, what)?;
        }
        let dims: Vec<Dim> = dims.into_iter().zip(&ty.dims).map(|(d, e)| d.unwrap_or(e.clone())).collect();
        self.coerce(a, &dims, t.span, what, by == Declared::WithValue)
    }

    /// A value's type in the user's notation.
    pub(super) fn describe(&self, v: &Value) -> String {
        match v {
            Value::Atom(a) => self.show_type(&self.atom_type(*a)),
            Value::Tuple(vs) => {
                format!("({})", vs.iter().map(|v| self.describe(v)).collect::<Vec<_>>().join(", "))
            }
            Value::Record(r, _) => {
                let extents = v.atoms().and_then(|a| a.first().copied()).map(|a| self.atom_type(a).dims);
                let extents = extents.unwrap_or_default().into_iter().take(self.lifted(v)).rev();
                extents.fold(r.name.to_string(), |t, d| format!("[{t}; {}]", self.show(&d)))
            }
            Value::Function(_) => "a function".into(),
        }
    }

    /// The number of dimensions that a record has beyond those of its definition: of an array of records.
    pub(super) fn lifted(&self, v: &Value) -> usize {
        fn declared(ty: &ast::Type, records: &Records) -> Option<usize> {
            match &ty.kind {
                TypeKind::Scalar(_) => Some(0),
                TypeKind::Array(inner, _) => Some(declared(inner, records)? + 1),
                TypeKind::Tuple(parts) => declared(parts.first()?, records),
                TypeKind::Record(path) => declared(&records.get(&path.text())?.fields.first()?.ty, records),
                TypeKind::Generic(_) | TypeKind::Complex(_) | TypeKind::Function(_) | TypeKind::Infer => None,
            }
        }
        let Value::Record(r, _) = v else { return 0 };
        let rank = r.fields.first().and_then(|f| declared(&f.ty, &self.site.callees.records));
        let found = v.atoms().and_then(|a| a.first().map(|a| self.rank(*a)));
        rank.zip(found).map_or(0, |(rank, found)| found.saturating_sub(rank))
    }

    /// A declared type as it was written.
    pub(super) fn written(&self, t: &ast::Type) -> String {
        match &t.kind {
            TypeKind::Scalar(e) => self.inference.describe(*e),
            TypeKind::Infer => "_".into(),
            TypeKind::Generic(name) => name.to_string(),
            TypeKind::Complex(name) => format!("Complex<{name}>"),
            TypeKind::Function(f) => {
                let params = f.params.iter().map(|t| self.written(t)).collect::<Vec<_>>().join(", ");
                format!("impl Fn({params}) -> {}", self.written(&f.result))
            }
            TypeKind::Record(path) => {
                let text = path.text();
                self.site.callees.records.get(&text).map_or(text, |r| r.name.to_string())
            }
            TypeKind::Tuple(ts) => {
                format!("({})", ts.iter().map(|t| self.written(t)).collect::<Vec<_>>().join(", "))
            }
            TypeKind::Array(inner, size) => {
                let size = size.as_ref().map_or("_".into(), |e| written_size(e));
                format!("[{}; {size}]", self.written(inner))
            }
        }
    }

    /// A name that stands for a size of the signature.
    pub(super) fn is_size(&self, name: &Name) -> bool {
        self.site.generic.is_none() && self.sizes.contains(name)
    }
}

/// Whether the elements of an array are records.
fn is_of_records(element: &ast::Type) -> bool {
    match &element.kind {
        TypeKind::Record(_) => true,
        TypeKind::Array(inner, _) => is_of_records(inner),
        _ => false,
    }
}

fn written_size(e: &ast::Expr) -> String {
    match &e.kind {
        ExprKind::Int(i, _) => i.to_string(),
        ExprKind::Path(p) => p.text(),
        ExprKind::Unary(Unary::Neg, a) => format!("-{}", written_size(a)),
        ExprKind::Binary(Binary::Add, a, b, _) => format!("{} + {}", written_size(a), written_size(b)),
        ExprKind::Binary(Binary::Sub, a, b, _) => format!("{} - {}", written_size(a), written_size(b)),
        ExprKind::Binary(Binary::Mul, a, b, _) => format!("{} * {}", written_size(a), written_size(b)),
        _ => "..".into(),
    }
}
