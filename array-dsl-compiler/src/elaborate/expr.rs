//! Expressions: literals, names, operators, indexing, blocks, choices.

use std::rc::Rc;

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::names::{closest, similar_builtin, unavailable};
use super::value::{Closure, Function, Value};
use crate::core::{Atom, Body, CheckKind, Exp, Stm, Type};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::syntax::ast::{
    Arm, Binary, Expr, ExprKind, Ident, IndexKind, Path, Pattern, Stmt, TypeKind, Unary,
};
use crate::ty::{Const, Elem};

impl Elaborator<'_> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, e: &Expr) -> Option<Value> {
        match &e.kind {
            ExprKind::Int(i, elem) => {
                let elem = elem.unwrap_or_else(|| self.inference.int());
                Some(Value::Atom(Atom::Const(if elem.is_float() {
                    Const::float(elem, *i as f64)
                } else {
                    Const::int(elem, *i)
                })))
            }
            ExprKind::Float(x, elem) => {
                let elem = elem.unwrap_or_else(|| self.inference.float());
                Some(Value::Atom(Atom::Const(Const::float(elem, *x))))
            }
            ExprKind::Bool(b) => Some(Value::Atom(Atom::Const(Const::bool(*b)))),
            ExprKind::Path(p) => self.path(p),
            ExprKind::Unary(op, a) => {
                let v = self.expr(a)?;
                if let (Unary::Neg, Value::Atom(Atom::Const(c))) = (op, &v) {
                    return Some(Value::Atom(Atom::Const(self.negate(*c))));
                }
                let (op, shown) = if *op == Unary::Neg { (Op::Neg, "`-`") } else { (Op::Not, "`!`") };
                self.apply_operator(op, shown, &[v], e.span)
            }
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b, span) => {
                self.lazy_logic(*op == Binary::And, a, b, *span)
            }
            ExprKind::Binary(op, a, b, span) => {
                let (a, b) = (self.expr(a), self.expr(b));
                let (op, symbol) = binary_op(*op);
                self.apply_operator(op, &format!("`{symbol}`"), &[a?, b?], *span)
            }
            ExprKind::Cast(a, ty) => {
                let v = self.expr(a)?;
                let elem = match &ty.kind {
                    TypeKind::Scalar(e) => *e,
                    TypeKind::Infer => self.inference.float(),
                    _ => {
                        self.error(
                            Code::ElementType,
                            ty.span,
                            "`as` converts to a scalar type",
                            "it lifts over arrays by itself",
                        );
                        return None;
                    }
                };
                let atoms = self.plain_atoms("`as`", &[v], e.span)?;
                self.lift("`as`", &[0], &atoms, e.span, &mut |s, c| {
                    Some(Value::Atom(s.cast(c[0], elem, e.span)))
                })
            }
            ExprKind::Call(f, args) => self.call(f, args, e.span),
            ExprKind::Method(receiver, name, args) => self.method(receiver, name, args),
            ExprKind::Index(a, kind) => {
                let v = self.expr(a)?;
                self.index_expr(v, kind, e.span)
            }
            ExprKind::Tuple(es) => {
                let vs: Vec<Option<Value>> = es.iter().map(|e| self.expr(e)).collect();
                Some(Value::Tuple(vs.into_iter().collect::<Option<_>>()?))
            }
            ExprKind::Field(a, i) => match self.expr(a)? {
                Value::Tuple(mut vs) if *i < vs.len() => Some(vs.swap_remove(*i)),
                other => {
                    let found = self.describe(&other);
                    self.error(
                        Code::TupleShape,
                        e.span,
                        format!("there is no part .{i} of {found}"),
                        "tuples count from .0",
                    );
                    None
                }
            },
            ExprKind::Array(es) => self.array_literal(es, e.span),
            ExprKind::Repeat(v, n) => {
                let n = self.expr(n)?;
                let v = self.expr(v)?;
                self.replicate(&n, v, e.span)
            }
            ExprKind::Closure(params, body) => Some(Value::Function(Function::Closure(Rc::new(Closure {
                params: params.clone(),
                body: (**body).clone(),
                scope: self.scope.clone(),
            })))),
            ExprKind::If(c, a, b) => self.if_expr(c, a, b.as_deref(), e.span),
            ExprKind::Match(subject, arms) => self.match_expr(subject, arms, e.span),
            ExprKind::Block(stmts, result) => self.block(stmts, result.as_deref(), e.span),
            ExprKind::Error => None,
        }
    }

    /// `a && b` and `a || b`: the right side is evaluated only where the left one does not decide.
    fn lazy_logic(&mut self, and: bool, a: &Expr, b: &Expr, span: Span) -> Option<Value> {
        let left = self.expr(a)?;
        let (op, shown) = if and { (Op::And, "`&&`") } else { (Op::Or, "`||`") };
        let Value::Atom(left @ Atom::Var(_)) = left else {
            let right = self.expr(b)?;
            return self.apply_operator(op, shown, &[left, right], span);
        };
        self.unify(self.elem(left), Elem::Bool, a.span, "the operands of `&&` and `||`")?;
        if self.rank(left) > 0 {
            let right = self.expr(b)?;
            return self.apply_operator(op, shown, &[Value::Atom(left), right], span);
        }
        // An array on the right lifts the operator, so it is evaluated as a whole.
        let errors = self.diagnostics.list().len();
        let decided = Value::Atom(Atom::Const(Const::bool(!and)));
        let saved = self.bodies.clone();
        let mut rank = 0;
        let mut lazy = |e: &mut Self| {
            let v = e.expr(b)?;
            if let Value::Atom(x) = &v {
                rank = e.rank(*x);
                if rank == 0 {
                    e.unify(e.elem(*x), Elem::Bool, b.span, "the operands of `&&` and `||`")?;
                    return Some(v);
                }
            }
            None
        };
        let mut known = |_: &mut Self| Some(decided.clone());
        let chosen = if and {
            self.choice(left, span, &mut lazy, &mut known)
        } else {
            self.choice(left, span, &mut known, &mut lazy)
        };
        if rank > 0 && self.diagnostics.list().len() == errors {
            self.bodies = saved;
            let right = self.expr(b)?;
            return self.apply_operator(op, shown, &[Value::Atom(left), right], span);
        }
        chosen
    }

    fn negate(&self, c: Const) -> Const {
        if self.inference.is_float(c.elem) {
            match c.elem {
                Elem::F32 => Const::float(Elem::F32, -f64::from_bits(c.raw())),
                e => Const::float(e, -f64::from_bits(c.raw())),
            }
        } else {
            Const::int(c.elem, (c.raw() as i64).wrapping_neg())
        }
    }

    pub(super) fn cast(&mut self, a: Atom, elem: Elem, span: Span) -> Atom {
        if self.elem(a) == elem {
            return a;
        }
        let out = self.emit("cast", Type::scalar(elem), Exp::Op(Op::Cast(elem), vec![a]), span);
        if let (Atom::Var(v), Elem::I64, Some(d)) = (out, elem, self.known_int(a)) {
            self.known.insert(v, d);
        }
        out
    }

    fn block(&mut self, stmts: &[Stmt], result: Option<&Expr>, span: Span) -> Option<Value> {
        let saved = self.scope.clone();
        let mut ok = true;
        for s in stmts {
            match s {
                Stmt::Let { pattern, ty, value } => {
                    let v = self.expr(value).and_then(|v| match ty {
                        Some(t) => self.annotate(v, t, "this value"),
                        None => Some(v),
                    });
                    let bound = v.and_then(|v| {
                        self.name_value(pattern, &v);
                        self.bind_pattern(pattern, v)
                    });
                    ok &= bound.is_some();
                    if bound.is_none() {
                        self.poison(pattern);
                    }
                }
                Stmt::Expr(e) => {
                    ok = false;
                    if self.expr(e).is_some() {
                        self.error(
                            Code::Unsupported,
                            e.span,
                            "this expression's value is not used, and kernels have no effects",
                            "bind it with `let`, or remove the semicolon to return it",
                        );
                    }
                }
            }
        }
        let value = match result {
            Some(e) => self.expr(e),
            None => {
                if ok {
                    let help = "end it with an expression without a semicolon";
                    self.error(Code::Unsupported, span, "this block has no value", help);
                }
                None
            }
        };
        self.scope = saved;
        value.filter(|_| ok)
    }

    /// Gives a freshly computed variable the name that the user binds it to.
    fn name_value(&mut self, pattern: &Pattern, v: &Value) {
        if let (Pattern::Name(n), Value::Atom(Atom::Var(var))) = (pattern, v) {
            let info = &mut self.vars[var.0 as usize];
            let generated =
                crate::scalar::Op::from_name(&info.name).is_some() || super::is_builtin(&info.name);
            if generated {
                info.name = n.name.clone();
            }
        }
    }

    /// Binds the names of a pattern to nothing: their error is known, uses give no more.
    fn poison(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Name(n) => self.scope.poison(n.name.clone()),
            Pattern::Tuple(ps, _) => ps.iter().for_each(|p| self.poison(p)),
            Pattern::Wildcard(_) => {}
        }
    }

    /// Binds the names of a pattern.
    pub(super) fn bind_pattern(&mut self, p: &Pattern, v: Value) -> Option<()> {
        match (p, v) {
            (Pattern::Name(n), v) => {
                self.scope.bind(n.name.clone(), v);
                Some(())
            }
            (Pattern::Wildcard(_), _) => Some(()),
            (Pattern::Tuple(ps, _), Value::Tuple(vs)) if ps.len() == vs.len() => {
                ps.iter().zip(vs).try_for_each(|(p, v)| self.bind_pattern(p, v))
            }
            (Pattern::Tuple(ps, span), v) => {
                let found = self.describe(&v);
                self.error(
                    Code::TupleShape,
                    *span,
                    format!("this pattern has {} parts, the value is {found}", ps.len()),
                    "use one name for each part",
                );
                None
            }
        }
    }

    fn path(&mut self, p: &Path) -> Option<Value> {
        if let Some(name) = p.single() {
            if self.scope.is_poisoned(&name.name) {
                return None;
            }
            if let Some(v) = self.scope.get(&name.name) {
                return Some(v.clone());
            }
            if self.is_size(&name.name) {
                return Some(Value::Atom(self.size_value(&Dim::name(name.name.clone()), name.span)));
            }
        }
        if let Some(c) = constant(&p.text()) {
            return Some(Value::Atom(Atom::Const(c)));
        }
        if let Some(f) = self.function(p) {
            return Some(Value::Function(f));
        }
        let text = p.text();
        let help = if text.chars().all(|c| c.is_uppercase() || c == '_' || c.is_numeric()) {
            format!(
                "a kernel cannot see constants of the surrounding code; pass `{text}` as an argument, or write its value"
            )
        } else {
            let near = self.similar(&text);
            near.map_or_else(
                || "names come from parameters, `let`, closures and sizes of the signature".into(),
                |n| format!("did you mean `{n}`?"),
            )
        };
        self.error(Code::UnknownName, p.span(), format!("unknown name `{text}`"), help);
        None
    }

    /// The function that a path names, if it names one.
    pub(super) fn function(&self, p: &Path) -> Option<Function> {
        if let Some(Value::Function(f)) = p.single().and_then(|n| self.scope.get(&n.name)) {
            return Some(f.clone());
        }
        if let Some(k) = self.callees.get(&p.text()) {
            return Some(Function::Kernel(k.clone()));
        }
        p.single().filter(|n| super::is_builtin(&n.name)).map(|n| Function::Builtin(n.name.clone()))
    }

    /// The name in sight that is closest to `text`.
    fn similar(&self, text: &str) -> Option<String> {
        let sizes = self.sizes.iter().filter(|s| !s.starts_with('#'));
        closest(text, self.scope.names().chain(sizes).map(|n| &**n))
    }

    fn call(&mut self, f: &Expr, args: &[Expr], span: Span) -> Option<Value> {
        let function = match &f.kind {
            ExprKind::Path(p) => {
                match self.function(p) {
                    Some(f) => f,
                    None if p.single().is_some_and(|n| self.scope.is_poisoned(&n.name)) => return None,
                    None if p.single().is_some_and(|n| self.scope.get(&n.name).is_some()) => {
                        self.error(
                            Code::NotAFunction,
                            p.span(),
                            format!("`{}` is a value, not a function", p.text()),
                            "index arrays with `a[i]`",
                        );
                        return None;
                    }
                    None => {
                        let near = similar_builtin(&p.text());
                        let help = near.map_or_else(
                        || "call built-in functions, closures bound by `let`, or other `#[kernel]` functions".to_string(),
                        |n| format!("did you mean `{n}`?"),
                    );
                        self.error(
                            Code::UnknownFunction,
                            p.span(),
                            format!("unknown function `{}`", p.text()),
                            help,
                        );
                        return None;
                    }
                }
            }
            _ => match self.expr(f)? {
                Value::Function(f) => f,
                other => {
                    let found = self.describe(&other);
                    self.error(
                        Code::NotAFunction,
                        f.span,
                        format!("this is not a function but {found}"),
                        "call a function",
                    );
                    return None;
                }
            },
        };
        let span = if let ExprKind::Path(p) = &f.kind { p.span() } else { span };
        let args: Vec<Option<Value>> = args.iter().map(|a| self.expr(a)).collect();
        let args: Vec<Value> = args.into_iter().collect::<Option<_>>()?;
        self.apply(&function, &args, span)
    }

    fn method(&mut self, receiver: &Expr, name: &Ident, args: &[Expr]) -> Option<Value> {
        let receiver = self.expr(receiver);
        let args: Vec<Option<Value>> = args.iter().map(|a| self.expr(a)).collect();
        let mut all = vec![receiver?];
        for a in args {
            all.push(a?);
        }
        if !super::is_builtin(&name.name) {
            let near = similar_builtin(&name.name);
            let help = match &*name.name {
                n if unavailable(n).is_some() => unavailable(n).unwrap_or_default().to_string(),
                "iter" | "into_iter" => {
                    "arrays have no iterators here: use `map`, `build` or a reduction such as `sum()`"
                        .to_string()
                }
                "clone" | "to_owned" => "values are never moved here: just use the name again".to_string(),
                _ => near.map_or_else(
                    || "methods are the built-in functions".to_string(),
                    |n| format!("did you mean `{n}`?"),
                ),
            };
            self.error(Code::UnknownFunction, name.span, format!("unknown method `{}`", name.name), help);
            return None;
        }
        // `xs.map(f)`, `xs.scan(op, e)`: the array comes after the function.
        if super::takes_function(&name.name, 0) && all.len() > 1 {
            let last = if &*name.name == "map" { 1 } else { all.len() - 1 };
            all[..=last].rotate_left(1);
        }
        self.apply(&Function::Builtin(name.name.clone()), &all, name.span)
    }

    fn index_expr(&mut self, v: Value, kind: &IndexKind, span: Span) -> Option<Value> {
        match (v, kind) {
            (Value::Tuple(vs), _) => Some(Value::Tuple(
                vs.into_iter().map(|v| self.index_expr(v, kind, span)).collect::<Option<_>>()?,
            )),
            (Value::Function(_), _) => {
                self.error(Code::NotAFunction, span, "a function cannot be indexed", "call it");
                None
            }
            (Value::Atom(a), IndexKind::At(i)) => {
                let i = self.expr(i)?;
                self.index_at(a, &[i], span)
            }
            (Value::Atom(a), IndexKind::Multi(is)) => {
                let is = is.iter().map(|i| self.expr(i)).collect::<Option<Vec<_>>>()?;
                self.index_at(a, &is, span)
            }
            (Value::Atom(a), IndexKind::Slice(lo, hi)) => {
                let lo = match lo {
                    Some(e) => Some(self.expr(e)?),
                    None => None,
                };
                let hi = match hi {
                    Some(e) => Some(self.expr(e)?),
                    None => None,
                };
                self.slice(a, lo, hi, span)
            }
        }
    }

    /// `a[i]..[j]` with integer indices; indices that are arrays lift (a gather).
    pub(super) fn index_at(&mut self, a: Atom, at: &[Value], span: Span) -> Option<Value> {
        let rank = self.rank(a);
        if rank < at.len() {
            let found = self.show_type(&self.atom_type(a));
            let (indices, help) = (
                if at.len() == 1 { "1 index".into() } else { format!("{} indices", at.len()) },
                "give at most one index for each dimension",
            );
            let message = match rank {
                0 => format!("{found} is a scalar and cannot be indexed"),
                r => format!("{indices} for {found}, which has {}", count(r, "dimension")),
            };
            self.error(Code::Rank, span, message, help);
            return None;
        }
        let at = self.plain_atoms("an index", at, span)?;
        for i in &at {
            let elem = self.elem(*i);
            if !self.inference.is_int(elem) {
                let found = self.inference.describe(elem);
                self.error(
                    Code::ElementType,
                    span,
                    format!("an index must be an integer, found {found}"),
                    "convert it with `as usize`",
                );
                return None;
            }
            if elem != Elem::I32 && elem != Elem::U32 {
                self.unify(elem, Elem::I64, span, "an index")?;
            }
        }
        let expected = vec![0; at.len()];
        self.lift("indexing", &expected, &at, span, &mut |e, at| {
            let at: Vec<Atom> = at.iter().map(|i| e.cast(*i, Elem::I64, span)).collect();
            Some(Value::Atom(e.index(a, &at, span)))
        })
    }

    /// `a[lo..hi]`.
    pub(super) fn slice(
        &mut self,
        a: Atom,
        lo: Option<Value>,
        hi: Option<Value>,
        span: Span,
    ) -> Option<Value> {
        let ty = self.atom_type(a);
        let Some(len) = ty.dims.first().cloned() else {
            self.error(Code::Rank, span, "a scalar cannot be sliced", "slice an array");
            return None;
        };
        // The start may vary with an enclosing index as long as the length does not.
        let (start, length) = match (&lo, &hi) {
            (Some(Value::Atom(l)), Some(Value::Atom(h))) if self.rank(*l) + self.rank(*h) == 0 => {
                let (Some(_), Some(_)) = (
                    self.unify(self.elem(*l), Elem::I64, span, "the start of a slice"),
                    self.unify(self.elem(*h), Elem::I64, span, "the end of a slice"),
                ) else {
                    return None;
                };
                let n = match (self.known_offset(*l), self.known_offset(*h)) {
                    (Some(l), Some(h)) if h.sub(&l).atoms().iter().all(|a| !self.is_index_atom(a)) => {
                        h.sub(&l)
                    }
                    _ => {
                        let d = self.op(Op::Sub, &[*h, *l], span);
                        self.dim_of(&Value::Atom(d), span)?
                    }
                };
                (Some(*l), n)
            }
            (None, Some(h)) => (None, self.dim_of(h, span)?),
            (Some(Value::Atom(l)), None) => {
                let from = self.dim_of(&Value::Atom(*l), span)?;
                (Some(*l), len.sub(&from))
            }
            (None, None) => (None, len.clone()),
            _ => {
                self.error(
                    Code::ElementType,
                    span,
                    "the ends of a slice must be integers",
                    "write `a[lo..hi]`",
                );
                return None;
            }
        };
        self.check_extent(&length, span)?;
        let from = match start {
            Some(s) => self.known_int(s),
            None => Some(Dim::constant(0)),
        };
        if let (Some(from), 0) = (&from, self.branches) {
            let to = from.add(&length);
            if !from.is_nonnegative() {
                self.check(CheckKind::NonNegative(from.clone()), span);
            }
            let slack = len.sub(&to);
            match slack.as_constant() {
                Some(c) if c < 0 => {
                    let (to, len) = (self.show(&to), self.show(&len));
                    self.error(
                        Code::SizeMismatch,
                        span,
                        format!("this slice ends at {to}, the array has length {len}"),
                        "slices must lie within the array",
                    );
                    return None;
                }
                _ if slack.is_nonnegative() => {}
                _ => self.check(CheckKind::AtLeast(to, len), span),
            }
        }
        self.build("slice", &[length], &[], span, |e, ix| {
            let i = match start {
                Some(s) => e.op(Op::Add, &[s, ix[0]], span),
                None => ix[0],
            };
            Some(Value::Atom(e.index(a, &[i], span)))
        })
    }

    /// Like `known_int`, with the indices of enclosing builds as atoms too, so that `i + 3 - i` is 3.
    fn known_offset(&self, a: Atom) -> Option<Dim> {
        if let Some(d) = self.known_int(a) {
            return Some(d);
        }
        let Atom::Var(v) = a else { return None };
        let definition = self.bodies.iter().flatten().find(|s| s.vars == [v]);
        match definition.map(|s| &s.exp) {
            Some(Exp::Op(op @ (Op::Add | Op::Sub | Op::Mul), args)) => {
                let (x, y) = (self.known_offset(args[0])?, self.known_offset(args[1])?);
                Some(match op {
                    Op::Add => x.add(&y),
                    Op::Sub => x.sub(&y),
                    _ => x.mul(&y),
                })
            }
            _ => Some(Dim::atom(crate::dim::SizeAtom::Scalar(v.0))),
        }
    }

    fn is_index_atom(&self, a: &crate::dim::SizeAtom) -> bool {
        match a {
            crate::dim::SizeAtom::Scalar(s) => {
                !self.known.values().any(|d| d.as_atom() == Some(&crate::dim::SizeAtom::Scalar(*s)))
            }
            crate::dim::SizeAtom::Name(_) => false,
        }
    }

    fn array_literal(&mut self, es: &[Expr], span: Span) -> Option<Value> {
        let vs: Vec<Option<Value>> = es.iter().map(|e| self.expr(e)).collect();
        let vs: Vec<Value> = vs.into_iter().collect::<Option<_>>()?;
        let atoms = self.plain_atoms("an array literal", &vs, span)?;
        let Some(first) = atoms.first().copied() else {
            self.error(Code::MissingAnnotation, span, "an empty array has no element type", "use `zeros(0)`");
            return None;
        };
        let ty = self.atom_type(first);
        let mut rows = vec![first];
        for (a, e) in atoms[1..].iter().zip(&es[1..]) {
            let t = self.atom_type(*a);
            self.unify(t.elem, ty.elem, e.span, "this element")?;
            if t.rank() != ty.rank() {
                let (have, want) = (self.show_type(&t), self.show_type(&ty));
                self.error(
                    Code::Rank,
                    e.span,
                    format!("the elements of an array have one type: expected {want}, found {have}"),
                    "make them equally nested",
                );
                return None;
            }
            rows.push(self.coerce(*a, &ty.dims, e.span, "this element", false)?);
        }
        let n = Dim::constant(rows.len() as i64);
        self.build("array", &[n], &[], span, |e, ix| e.choose(ix[0], 0, &rows, span))
    }

    /// `rows[i - base]` as a chain of choices.
    fn choose(&mut self, i: Atom, base: i64, rows: &[Atom], span: Span) -> Option<Value> {
        if let [only] = rows {
            return Some(Value::Atom(*only));
        }
        let at = self.int(base);
        let c = self.op(Op::Eq, &[i, at], span);
        let first = rows[0];
        self.choice(c, span, &mut |_| Some(Value::Atom(first)), &mut |e| {
            e.choose(i, base + 1, &rows[1..], span)
        })
    }

    fn if_expr(&mut self, c: &Expr, a: &Expr, b: Option<&Expr>, span: Span) -> Option<Value> {
        let cond = self.expr(c)?;
        let Some(b) = b else {
            self.error(
                Code::Unsupported,
                span,
                "`if` without `else` has no value",
                "add an `else` with the value for the other case",
            );
            return None;
        };
        let Value::Atom(cond) = cond else {
            self.error(
                Code::ElementType,
                c.span,
                "the condition of an `if` must be a bool",
                "compare something",
            );
            return None;
        };
        self.unify(self.elem(cond), Elem::Bool, c.span, "the condition of an `if`")?;
        // A condition of higher rank lifts the whole choice.
        self.lift("`if`", &[0], &[cond], c.span, &mut |e, c| {
            e.choice(c[0], span, &mut |e| e.expr(a), &mut |e| e.expr(b))
        })
    }

    /// A lazy choice between two values of one type.
    pub(super) fn choice(
        &mut self,
        c: Atom,
        span: Span,
        a: &mut dyn FnMut(&mut Self) -> Option<Value>,
        b: &mut dyn FnMut(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        self.branches += 1;
        let x = self.in_body(|e| a(e));
        let y = self.in_body(|e| b(e));
        self.branches -= 1;
        let ((xs, x), (mut ys, y)) = (x?, y?);
        let (Some(xr), Some(yr)) = (x.atoms(), y.atoms()) else {
            self.error(
                Code::Unsupported,
                span,
                "an `if` cannot choose between functions",
                "choose between their values",
            );
            return None;
        };
        if xr.len() != yr.len() {
            let (tx, ty) = (self.describe(&x), self.describe(&y));
            self.branch_mismatch(span, &tx, &ty);
            return None;
        }
        let mut types = Vec::new();
        let mut results = Vec::new();
        for (p, q) in xr.iter().zip(&yr) {
            let (tp, tq) = (self.atom_type(*p), self.atom_type(*q));
            if tp.rank() != tq.rank() {
                let (tx, ty) = (self.show_type(&tp), self.show_type(&tq));
                self.branch_mismatch(span, &tx, &ty);
                return None;
            }
            self.unify(tq.elem, tp.elem, span, "the second branch")?;
            self.bodies.push(std::mem::take(&mut ys));
            let q = self.coerce(*q, &tp.dims, span, "the branches of an `if`", false);
            ys = self.bodies.pop().unwrap_or_default();
            results.push(q?);
            types.push(tp);
        }
        let loc = self.loc(span);
        let vars: Vec<_> = types.into_iter().map(|t| self.new_var("chosen", t)).collect();
        let exp = Exp::If(c, Body { stms: xs, results: xr }, Body { stms: ys, results });
        self.push(Stm { vars: vars.clone(), exp, loc });
        Some(x.with_atoms(&mut vars.into_iter().map(Atom::Var)))
    }

    fn branch_mismatch(&mut self, span: Span, a: &str, b: &str) {
        self.error(
            Code::ResultType,
            span,
            format!("the branches have different types: {a} and {b}"),
            "both branches of an `if` or `match` must give the same type",
        );
    }

    fn match_expr(&mut self, subject: &Expr, arms: &[Arm], span: Span) -> Option<Value> {
        let v = self.expr(subject)?;
        let Value::Atom(subject) = v else {
            self.error(Code::ElementType, span, "`match` works on integers and bools", "use `if`");
            return None;
        };
        self.lift("`match`", &[0], &[subject], span, &mut |e, c| e.match_arms(c[0], arms, span))
    }

    fn match_arms(&mut self, subject: Atom, arms: &[Arm], span: Span) -> Option<Value> {
        let Some((arm, rest)) = arms.split_first() else {
            self.error(
                Code::Unsupported,
                span,
                "this `match` does not cover every value",
                "end it with `_ => ...`",
            );
            return None;
        };
        let covers_bool = self.elem(subject) == Elem::Bool && rest.is_empty();
        if arm.alternatives.is_empty() || covers_bool {
            let saved = self.scope.clone();
            if let Some(n) = &arm.binding {
                self.scope.bind(n.name.clone(), Value::Atom(subject));
            }
            let v = self.expr(&arm.body);
            self.scope = saved;
            return v;
        }
        let mut cond: Option<Atom> = None;
        for alt in &arm.alternatives {
            let v = self.expr(alt)?;
            let Value::Atom(c) = self.apply_scalar(Op::Eq, &[Value::Atom(subject), v], alt.span)? else {
                return None;
            };
            cond = Some(match cond {
                Some(d) => self.op(Op::Or, &[d, c], alt.span),
                None => c,
            });
        }
        let cond = cond?;
        self.choice(cond, span, &mut |e| e.expr(&arm.body), &mut |e| e.match_arms(subject, rest, span))
    }
}

/// The scalar function of an operator, and its symbol.
fn binary_op(op: Binary) -> (Op, &'static str) {
    match op {
        Binary::Add => (Op::Add, "+"),
        Binary::Sub => (Op::Sub, "-"),
        Binary::Mul => (Op::Mul, "*"),
        Binary::Div => (Op::Div, "/"),
        Binary::Rem => (Op::Rem, "%"),
        Binary::Eq => (Op::Eq, "=="),
        Binary::Ne => (Op::Ne, "!="),
        Binary::Lt => (Op::Lt, "<"),
        Binary::Le => (Op::Le, "<="),
        Binary::Gt => (Op::Gt, ">"),
        Binary::Ge => (Op::Ge, ">="),
        Binary::And => (Op::And, "&&"),
        Binary::Or => (Op::Or, "||"),
        Binary::BitAnd => (Op::And, "&"),
        Binary::BitOr => (Op::Or, "|"),
        Binary::BitXor => (Op::Xor, "^"),
        Binary::Shl => (Op::Shl, "<<"),
        Binary::Shr => (Op::Shr, ">>"),
    }
}

/// The name of what an operator computes, for intermediate arrays; of functions, their own.
pub(super) fn operator_name(what: &str) -> &str {
    match what {
        "+" => "add",
        "-" => "sub",
        "*" => "mul",
        "/" => "div",
        "%" => "rem",
        "!" => "not",
        "==" => "eq",
        "!=" => "ne",
        "<" => "lt",
        "<=" => "le",
        ">" => "gt",
        ">=" => "ge",
        "&&" | "&" => "and",
        "||" | "|" => "or",
        "^" => "xor",
        "<<" => "shl",
        ">>" => "shr",
        name => name,
    }
}

/// Constants by their Rust paths.
fn constant(path: &str) -> Option<Const> {
    let path = path.trim_start_matches("::");
    let path = path.strip_prefix("std::").or_else(|| path.strip_prefix("core::")).unwrap_or(path);
    let (ty, rest) = path.split_once("::")?;
    let (ty, name) = (Elem::from_name(ty)?, rest.strip_prefix("consts::").unwrap_or(rest));
    use std::f64::consts as c;
    if ty.is_float() {
        let single = ty == Elem::F32;
        let value = match name {
            "INFINITY" => f64::INFINITY,
            "NEG_INFINITY" => f64::NEG_INFINITY,
            "NAN" => f64::NAN,
            "EPSILON" => {
                if single {
                    f64::from(f32::EPSILON)
                } else {
                    f64::EPSILON
                }
            }
            "MAX" => {
                if single {
                    f64::from(f32::MAX)
                } else {
                    f64::MAX
                }
            }
            "MIN" => {
                if single {
                    f64::from(f32::MIN)
                } else {
                    f64::MIN
                }
            }
            "MIN_POSITIVE" => {
                if single {
                    f64::from(f32::MIN_POSITIVE)
                } else {
                    f64::MIN_POSITIVE
                }
            }
            "PI" => c::PI,
            "TAU" => c::TAU,
            "E" => c::E,
            "LN_2" => c::LN_2,
            "LN_10" => c::LN_10,
            "SQRT_2" => c::SQRT_2,
            "FRAC_1_SQRT_2" => c::FRAC_1_SQRT_2,
            "FRAC_PI_2" => c::FRAC_PI_2,
            "FRAC_PI_4" => c::FRAC_PI_4,
            "FRAC_1_PI" => c::FRAC_1_PI,
            "FRAC_2_SQRT_PI" => c::FRAC_2_SQRT_PI,
            _ => return None,
        };
        return Some(Const::float(ty, value));
    }
    let value = match (ty, name) {
        (Elem::I32, "MAX") => i64::from(i32::MAX),
        (Elem::I32, "MIN") => i64::from(i32::MIN),
        (Elem::U32, "MAX") => i64::from(u32::MAX),
        (Elem::U32, "MIN") => 0,
        (_, "MAX") => i64::MAX,
        (_, "MIN") => i64::MIN,
        _ => return None,
    };
    Some(Const::int(ty, value))
}
