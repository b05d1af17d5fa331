//! Generic kernels, and the functions that they are given.
//!
//! A call of a generic kernel tells its types and functions, so that the body is elaborated there, with its own names in sight
//! and nothing else:
//!
//! ```text
//! #[kernel] fn newton<T: Float>(f: impl Fn(T) -> T, x: T) -> T { x - f(x) / grad(f)(x) }
//!
//! newton(|y| y * y - a, 1.5)      T = f64,  f = the closure, which still sees `a`
//! newton(|y| y * y - 2.0, xs)     the same for each element of `xs`: x is a scalar, so the call is lifted
//! ```
//!
//! * A type parameter that is a `Float`, an `Integer` or a `Number` stands for the element type of the first argument that has it.
//!   One without a bound stands for anything, and the parameters that have it take their arguments whole. Several have one type:
//!   beside an array, numbers and arrays of lower rank are repeated.
//! * A size of the signature is that of the first argument that has it; the others must agree.
//! * A given function is called under its declared type: arguments of higher rank are lifted over, and its result must be of the
//!   declared type.
//! * Errors in the body are reported at the call. So that its author sees them, a definition is elaborated by itself as well, with
//!   each type that a parameter may stand for and functions of which only the types are known.

use std::rc::Rc;

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::call::count;
use super::infer::{MAKE_COMPLEX, TAKE_PARTS};
use super::scope::Scope;
use super::sizes::Declared;
use super::value::{Function, Given, Value};
use super::{Elaborator, Generic, Site};
use crate::core::{Atom, Exp, Type};
use crate::diagnostics::Code;
use crate::syntax::ast::{self, Bound, ExprKind, TypeKind};
use crate::syntax::instantiate;
use crate::ty::{Const, Elem, Name};

impl Bound {
    /// Whether an element type is one of these.
    pub fn admits(self, e: Elem) -> bool {
        match self {
            Bound::Float => e.is_float(),
            Bound::Integer => e.is_int(),
            Bound::Number => e.is_float() || e.is_int(),
            Bound::Any => true,
        }
    }

    /// In words, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            Bound::Float => "a float (f32 or f64)",
            Bound::Integer => "an integer",
            Bound::Number => "a number",
            Bound::Any => "anything",
        }
    }

    /// What a definition is checked with; nothing stands for anything.
    fn examples(self) -> &'static [Elem] {
        match self {
            Bound::Float => &[Elem::F64, Elem::F32],
            Bound::Integer => &[Elem::I64, Elem::I32, Elem::U32],
            Bound::Number => &[Elem::F64, Elem::F32, Elem::I64, Elem::I32, Elem::U32],
            Bound::Any => &[],
        }
    }
}

/// A generic kernel under examples for its type parameters, to be checked by itself: under the first of each, then with another one
/// for one of them, which is named. None if there are parameters that stand for anything.
pub fn examples(f: &ast::Function) -> Vec<(ast::Function, Option<String>)> {
    let with = |changed: Option<(&Name, Elem)>| -> Option<ast::Function> {
        let types = f.generics.iter().map(|g| {
            let name = &g.name.name;
            let elem = changed.filter(|(n, _)| *n == name).map(|(_, e)| e);
            Some((name.clone(), TypeKind::Scalar(elem.or(g.bound.examples().first().copied())?)))
        });
        Some(instantiate(f, &types.collect::<Option<_>>()?))
    };
    let others = f.generics.iter().flat_map(|g| {
        let name = &g.name.name;
        g.bound.examples().iter().skip(1).map(move |e| (name, *e))
    });
    let others =
        others.filter_map(|(n, e)| Some((with(Some((n, e)))?, Some(format!("where `{n}` is {e}: ")))));
    with(None).map(|f| (f, None)).into_iter().chain(others).collect()
}

/// The rank of a declared type; `None` if only calls can tell it, or it is no array.
pub(super) fn rank(t: &ast::Type) -> Option<usize> {
    match &t.kind {
        TypeKind::Scalar(_) => Some(0),
        TypeKind::Array(inner, _) => Some(rank(inner)? + 1),
        // An element type: who asks sees to parameters without a bound.
        TypeKind::Generic(_) | TypeKind::Complex(_) => Some(0),
        TypeKind::Tuple(_) | TypeKind::Record(_) | TypeKind::Function(_) | TypeKind::Infer => None,
    }
}

impl Elaborator<'_> {
    /// Calls a generic kernel, lifted over arguments of higher rank.
    pub(super) fn apply_generic(&mut self, g: &Rc<Generic>, args: &[Value], span: Span) -> Option<Value> {
        let f = &g.function;
        let name = format!("`{}`", f.name.name);
        if args.len() != f.params.len() {
            let params: Vec<&str> =
                f.params.iter().map(|p| p.pattern.name().map_or("_", |n| &n.name)).collect();
            self.error(
                Code::ArgumentCount,
                span,
                format!("kernel {name} takes {}, found {}", count(f.params.len(), "argument"), args.len()),
                format!("write `{}({})`", f.name.name, params.join(", ")),
            );
            return None;
        }
        self.are_complex(f, args, span)?;
        let types = self.type_arguments(f, args, span)?;
        let f = instantiate(f, &types);
        let mut expected = Vec::new();
        for (i, (p, arg)) in f.params.iter().zip(args).enumerate() {
            if let Some(rank) = self.shared_rank(&g.function, args, i) {
                expected.push(rank);
                continue;
            }
            let what = || format!("kernel {name}, argument `{}`", p.pattern.name().map_or("_", |n| &n.name));
            if !self.expected_ranks(arg, &p.ty, &mut expected) {
                let (found, declared) = (self.describe(arg), self.written(&p.ty));
                let message = format!("{}: expected {declared}, found {found}", what());
                let help = match &p.ty.kind {
                    TypeKind::Function(_) => {
                        "pass a closure, `|x| ...`, or the name of a kernel or built-in function"
                    }
                    _ => "pass a value of the same structure",
                };
                self.error(Code::TupleShape, span, message, help);
                return None;
            }
        }
        let atoms: Vec<Atom> =
            args.iter().filter_map(|v| if is_function(v) { None } else { v.atoms() }).flatten().collect();
        self.lift(&name, &expected, &atoms, span, &mut |e, cells| {
            let mut cells = cells.iter().copied();
            let args: Vec<Value> = args.iter().map(|v| v.with_atoms(&mut cells)).collect();
            let call_span = Some(e.site.call_span.unwrap_or(span));
            let generic = Some(f.name.name.clone());
            let inside = Site { callees: g.callees.clone(), generic, call_span, call_name: None };
            let site = std::mem::replace(&mut e.site, inside);
            let scope = std::mem::take(&mut e.scope);
            let result = e.generic_body(&f, args);
            e.scope = scope;
            e.site = site;
            result
        })
    }

    /// The rank of an argument whose parameter shares an unbound type with others, if all of these are numbers or arrays.
    fn shared_rank(&self, f: &ast::Function, args: &[Value], i: usize) -> Option<usize> {
        let TypeKind::Generic(name) = &f.params[i].ty.kind else { return None };
        f.generics.iter().find(|g| g.name.name == *name && g.bound == Bound::Any)?;
        let sharing = f.params.iter().zip(args);
        let sharing = sharing.filter(|(p, _)| matches!(&p.ty.kind, TypeKind::Generic(n) if n == name));
        let ranks: Option<Vec<usize>> =
            sharing.map(|(_, v)| if let Value::Atom(a) = v { Some(self.rank(*a)) } else { None }).collect();
        ranks?.into_iter().max()
    }

    /// Requires complex numbers where parameters are of `Complex<T>`: of which `T` they are, they say themselves.
    fn are_complex(&mut self, f: &ast::Function, args: &[Value], span: Span) -> Option<()> {
        for (p, v) in f.params.iter().zip(args) {
            if let Some(found) = self.real_for_complex(v, &p.ty) {
                let (argument, found) =
                    (p.pattern.name().map_or("_", |n| &n.name), self.inference.describe(found));
                let message = format!(
                    "kernel `{}`, argument `{argument}`: expected complex numbers, found {found}",
                    f.name.name
                );
                self.error(Code::ElementType, span, message, MAKE_COMPLEX);
                return None;
            }
        }
        Some(())
    }

    /// The type of real numbers that stand where complex ones should; literals may become either.
    fn real_for_complex(&self, v: &Value, t: &ast::Type) -> Option<Elem> {
        match (v, &t.kind) {
            (Value::Atom(a), TypeKind::Complex(_)) => {
                let elem = self.inference.resolve(self.elem(*a));
                (!self.inference.is_complex(elem) && !matches!(elem, Elem::Infer(_))).then_some(elem)
            }
            (v, TypeKind::Array(inner, _)) => self.real_for_complex(v, inner),
            (Value::Tuple(vs), TypeKind::Tuple(ts)) => {
                vs.iter().zip(ts).find_map(|(v, t)| self.real_for_complex(v, t))
            }
            _ => None,
        }
    }

    /// What the type parameters stand for.
    fn type_arguments(
        &mut self,
        f: &ast::Function,
        args: &[Value],
        span: Span,
    ) -> Option<FxHashMap<Name, TypeKind>> {
        let mut types = FxHashMap::default();
        for generic in &f.generics {
            let name = &generic.name.name;
            if generic.bound == Bound::Any {
                types.insert(name.clone(), TypeKind::Infer);
                continue;
            }
            let found = f.params.iter().zip(args).find_map(|(p, v)| self.argument_of(v, &p.ty, name));
            let elem = match (found, generic.bound) {
                (Some(elem), _) => elem,
                (None, Bound::Float) => self.inference.float(),
                (None, Bound::Integer) => self.inference.int(),
                (None, _) => {
                    let message = format!("kernel `{}`: nothing says what `{name}` is", f.name.name);
                    let help = format!(
                        "let some parameter have the type `{name}`, or bound it by `Float` or `Integer`"
                    );
                    self.error(Code::MissingAnnotation, span, message, help);
                    return None;
                }
            };
            let (float, int) = (self.inference.is_float(elem), self.inference.is_int(elem));
            let fits = match generic.bound {
                Bound::Float => float,
                Bound::Integer => int,
                Bound::Number => float || int,
                Bound::Any => true,
            };
            if !fits {
                let found = self.inference.describe(elem);
                let bound = generic.bound.describe();
                let message = format!("kernel `{}`: `{name}` is {bound}, found {found}", f.name.name);
                let help = if self.inference.is_complex(elem) {
                    TAKE_PARTS
                } else if generic.bound == Bound::Float && int {
                    "convert the argument with `as f64`, or write the number with a point"
                } else {
                    "convert the argument with `as`"
                };
                self.error(Code::ElementType, span, message, help);
                return None;
            }
            types.insert(name.clone(), TypeKind::Scalar(elem));
        }
        Some(types)
    }

    /// What a type parameter stands for where an argument has it.
    fn argument_of(&self, v: &Value, t: &ast::Type, parameter: &Name) -> Option<Elem> {
        match (v, &t.kind) {
            (Value::Atom(a), TypeKind::Generic(name)) if name == parameter => Some(self.elem(*a)),
            (Value::Atom(a), TypeKind::Complex(name)) if name == parameter => {
                Some(self.elem(*a)).filter(|e| self.inference.is_complex(*e)).map(|e| self.inference.part(e))
            }
            (v, TypeKind::Array(inner, _)) => self.argument_of(v, inner, parameter),
            (Value::Tuple(vs), TypeKind::Tuple(ts)) => {
                vs.iter().zip(ts).find_map(|(v, t)| self.argument_of(v, t, parameter))
            }
            _ => None,
        }
    }

    /// Appends the ranks that the parts of an argument should have; false if it has another structure.
    fn expected_ranks(&self, v: &Value, t: &ast::Type, out: &mut Vec<usize>) -> bool {
        match (v, &t.kind) {
            (Value::Function(_), TypeKind::Function(_)) => true,
            (Value::Function(_), _) | (_, TypeKind::Function(_)) => false,
            // What may be anything is taken whole.
            (v, TypeKind::Infer) => {
                let Some(atoms) = v.atoms() else { return false };
                out.extend(atoms.iter().map(|a| self.rank(*a)));
                true
            }
            (Value::Atom(a), TypeKind::Scalar(_) | TypeKind::Array(..)) => {
                let rank = rank(t);
                out.push(rank.unwrap_or_else(|| self.rank(*a)));
                rank.is_some() || self.rank(*a) >= depth(t)
            }
            (Value::Tuple(vs), TypeKind::Tuple(ts)) => {
                vs.len() == ts.len() && vs.iter().zip(ts).all(|(v, t)| self.expected_ranks(v, t, out))
            }
            (Value::Record(r, _), TypeKind::Record(_)) => {
                let lifted = self.lifted(v);
                let atoms = v.atoms().unwrap_or_default();
                out.extend(atoms.iter().map(|a| self.rank(*a).saturating_sub(lifted)));
                self.written(t) == *r.name
            }
            // An array of tuples or records is a tuple of arrays; what its elements are must be open.
            (Value::Tuple(vs) | Value::Record(_, vs), TypeKind::Array(..)) if rank(t).is_none() => {
                vs.iter().all(|v| self.expected_ranks(v, t, out))
            }
            _ => false,
        }
    }

    /// The body with its parameters bound, in an empty scope.
    fn generic_body(&mut self, f: &ast::Function, args: Vec<Value>) -> Option<Value> {
        let kernel = f.name.name.clone();
        // Scalars and sizes first: they may serve as sizes wherever they stand.
        for (p, v) in f.params.iter().zip(&args) {
            if let (Some(name), TypeKind::Scalar(elem)) = (p.pattern.name(), &p.ty.kind)
                && self.inference.resolve(*elem) == Elem::I64
            {
                self.scope.bind(name.name.clone(), v.clone());
            }
        }
        for (p, v) in f.params.iter().zip(&args) {
            self.bind_signature_sizes(v, &p.ty);
        }
        let mut ok = true;
        for (p, v) in f.params.iter().zip(&args).filter(|(p, _)| !p.is_function()) {
            let what =
                format!("argument `{}` of kernel `{kernel}`", p.pattern.name().map_or("_", |n| &n.name));
            match self.conform(v.clone(), &p.ty, &what) {
                Some(v) => ok &= self.bind_pattern(&p.pattern, v).is_some(),
                None => ok = false,
            }
        }
        self.bind_functions(&f.params, |i| match &args[i] {
            Value::Function(function) => Some(function.clone()),
            _ => None,
        });
        if !ok {
            return None;
        }
        // The sizes of the result's type are those of the signature, whatever the body assigns.
        let scope = self.scope.clone();
        let value = self.expr(&f.body)?;
        self.scope = scope;
        self.conform(value, &f.result, &format!("the result of kernel `{kernel}`"))
    }

    /// Binds the parameters that are functions.
    pub(super) fn bind_functions(
        &mut self,
        params: &[ast::Param],
        function: impl Fn(usize) -> Option<Function>,
    ) {
        let scope = self.scope.clone();
        for (i, p) in params.iter().enumerate() {
            let (TypeKind::Function(ty), Some(name)) = (&p.ty.kind, p.pattern.name()) else { continue };
            let given = Given {
                name: name.name.clone(),
                ty: (**ty).clone(),
                scope: scope.clone(),
                site: self.site.clone(),
                function: function(i),
            };
            self.scope.bind(name.name.clone(), Value::Function(Function::Given(Rc::new(given))));
        }
    }

    /// Binds the sizes that a parameter's type names and that have no value yet.
    fn bind_signature_sizes(&mut self, v: &Value, t: &ast::Type) {
        match (v, &t.kind) {
            (Value::Tuple(vs), TypeKind::Tuple(ts)) => {
                vs.iter().zip(ts).for_each(|(v, t)| self.bind_signature_sizes(v, t));
            }
            // The names of a record's sizes are sizes of the kernel.
            (Value::Record(r, vs), TypeKind::Record(_)) => {
                vs.iter().zip(&r.fields).for_each(|(v, f)| self.bind_signature_sizes(v, &f.ty));
            }
            (v, TypeKind::Array(..)) => {
                let Some(first) = v.atoms().and_then(|a| a.first().copied()) else { return };
                let dims = self.atom_type(first).dims;
                let mut t = t;
                for d in dims {
                    let TypeKind::Array(inner, size) = &t.kind else { return };
                    if let Some(ExprKind::Path(p)) = size.as_deref().map(|e| &e.kind)
                        && let Some(name) = p.single()
                        && self.scope.get(&name.name).is_none()
                    {
                        let size = self.size_value(&d, name.span);
                        self.scope.bind(name.name.clone(), Value::Atom(size));
                    }
                    t = inner;
                }
            }
            _ => {}
        }
    }

    /// Requires a value to have a declared type; the value with the declared dimensions. What the type leaves open may be
    /// anything, arrays included.
    fn conform(&mut self, v: Value, t: &ast::Type, what: &str) -> Option<Value> {
        match (&v, &t.kind) {
            (Value::Atom(a), TypeKind::Scalar(_) | TypeKind::Array(..))
                if rank(t).is_none_or(|r| r == self.rank(*a)) =>
            {
                let Type { elem, mut dims } = self.atom_type(*a);
                let mut inner = t;
                for d in &mut dims {
                    let TypeKind::Array(next, size) = &inner.kind else { break };
                    if let Some(size) = size {
                        *d = self.annotation_dim(size)?;
                    }
                    inner = next;
                }
                if let TypeKind::Scalar(declared) = &inner.kind {
                    self.unify(elem, *declared, t.span, what)?;
                }
                Some(Value::Atom(self.coerce(*a, &dims, t.span, what, false)?))
            }
            (Value::Tuple(vs), TypeKind::Tuple(ts)) if vs.len() == ts.len() => {
                let parts = vs.clone().into_iter().zip(ts).map(|(v, t)| self.conform(v, t, what));
                Some(Value::Tuple(parts.collect::<Option<_>>()?))
            }
            (Value::Tuple(vs), TypeKind::Array(..)) if rank(t).is_none() => {
                let parts = vs.clone().into_iter().map(|v| self.conform(v, t, what));
                Some(Value::Tuple(parts.collect::<Option<_>>()?))
            }
            (Value::Record(r, vs), TypeKind::Array(..)) if rank(t).is_none() => {
                let r = r.clone();
                let parts = vs.clone().into_iter().map(|v| self.conform(v, t, what));
                Some(Value::Record(r, parts.collect::<Option<_>>()?))
            }
            _ => self.annotate(v, t, what, Declared::InSignature),
        }
    }

    /// Calls a function that a generic kernel was given.
    pub(super) fn apply_given(&mut self, g: &Rc<Given>, args: &[Value], span: Span) -> Option<Value> {
        let name = format!("`{}`", g.name);
        if args.len() != g.ty.params.len() {
            let types: Vec<String> = g.ty.params.iter().map(|t| self.written(t)).collect();
            self.error(
                Code::ArgumentCount,
                span,
                format!("{name} takes {}, found {}", count(g.ty.params.len(), "argument"), args.len()),
                format!(
                    "its declared type is `impl Fn({}) -> {}`",
                    types.join(", "),
                    self.written(&g.ty.result)
                ),
            );
            return None;
        }
        let mut expected = Vec::new();
        for (v, t) in args.iter().zip(&g.ty.params) {
            if !self.expected_ranks(v, t, &mut expected) {
                let (found, declared) = (self.describe(v), self.written(t));
                let message = format!("{name} takes {declared}, found {found}");
                self.error(Code::TupleShape, span, message, "pass a value of the declared type");
                return None;
            }
        }
        let atoms: Vec<Atom> = args.iter().filter_map(Value::atoms).flatten().collect();
        self.lift(&name, &expected, &atoms, span, &mut |e, cells| {
            let mut cells = cells.iter().copied();
            let args: Option<Vec<Value>> = args
                .iter()
                .zip(&g.ty.params)
                .map(|(v, t)| {
                    let v = v.with_atoms(&mut cells);
                    e.in_scope_of(g, |e| e.conform(v, t, &format!("the argument of {name}")))
                })
                .collect();
            let args = args?;
            let value = match &g.function {
                Some(f) => e.apply(f, &args, span)?,
                None => e.in_scope_of(g, |e| e.any_value(&g.ty.result))?,
            };
            e.in_scope_of(g, |e| e.conform(value, &g.ty.result, &format!("the result of {name}")))
        })
    }

    /// Where the sizes of a given function's type mean something.
    fn in_scope_of<T>(&mut self, g: &Given, f: impl FnOnce(&mut Self) -> T) -> T {
        let scope: Scope = std::mem::replace(&mut self.scope, g.scope.clone());
        // Errors are reported where they were: at a call, if that is in the user's sight.
        let Site { call_span, call_name, .. } = self.site.clone();
        let inside = Site { call_span, call_name, ..g.site.clone() };
        let site = std::mem::replace(&mut self.site, inside);
        let result = f(self);
        (self.scope, self.site) = (scope, site);
        result
    }

    /// A value of a type of which nothing else is known.
    fn any_value(&mut self, t: &ast::Type) -> Option<Value> {
        if let TypeKind::Tuple(ts) = &t.kind {
            return Some(Value::Tuple(ts.iter().map(|t| self.any_value(t)).collect::<Option<_>>()?));
        }
        if let TypeKind::Record(path) = &t.kind {
            let r = self.record(path)?;
            let fields: Option<Vec<Value>> = r.fields.iter().map(|f| self.any_value(&f.ty)).collect();
            return Some(Value::Record(r, fields?));
        }
        let mut dims = Vec::new();
        let mut inner = t;
        while let TypeKind::Array(next, size) = &inner.kind {
            dims.push(match size {
                Some(e) => self.annotation_dim(e)?,
                None => {
                    let unknown = self.unknown(Elem::I64, t.span);
                    self.dim_of(&Value::Atom(unknown), t.span)?
                }
            });
            inner = next;
        }
        let elem = match &inner.kind {
            TypeKind::Scalar(e) => *e,
            _ => Elem::F64,
        };
        if dims.is_empty() {
            return Some(Value::Atom(self.unknown(elem, t.span)));
        }
        self.build("any", &dims, &[], t.span, |e, _| Some(Value::Atom(e.unknown(elem, t.span))))
    }

    /// A scalar of which nothing is known.
    fn unknown(&mut self, elem: Elem, span: Span) -> Atom {
        let zero = match elem {
            Elem::Bool => Const::bool(false),
            e if self.inference.is_differentiable(e) => Const::float(e, 0.0),
            e => Const::int(e, 0),
        };
        self.emit("any", Type::scalar(elem), Exp::Atom(Atom::Const(zero)), span)
    }
}

fn is_function(v: &Value) -> bool {
    matches!(v, Value::Function(_))
}

/// The number of array brackets of a type.
fn depth(t: &ast::Type) -> usize {
    if let TypeKind::Array(inner, _) = &t.kind { 1 + depth(inner) } else { 0 }
}
