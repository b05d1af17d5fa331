//! Expressions: literals, names, operators, calls.

use std::rc::Rc;

use proc_macro2::Span;

use super::Elaborator;
use super::complex::constructor;
use super::constants::constant;
use super::index::indexed;
use super::names::{closest, meant, meant_method};
use super::value::{Closure, Function, Value};
use crate::core::{self, Atom, Exp};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::syntax::ast::{Binary, Expr, ExprKind, Ident, Path, Type, TypeKind, Unary};
use crate::ty::{Const, Elem};

/// So many elements of an array literal are told apart one after the other.
const CHAIN: usize = 8;

impl Elaborator<'_> {
    /// The value of an expression, by local decisions and those that are planned.
    pub(super) fn evaluate(&mut self, e: &Expr) -> Option<Value> {
        match &e.kind {
            ExprKind::Int(i, elem) => {
                let elem = elem.unwrap_or_else(|| self.inference.int());
                let i = if elem.is_float() { Const::float(elem, *i as f64) } else { Const::int(elem, *i) };
                Some(Value::Atom(Atom::Const(i)))
            }
            ExprKind::Float(x, elem) => {
                let elem = elem.unwrap_or_else(|| self.inference.float());
                Some(Value::Atom(Atom::Const(Const::float(elem, *x))))
            }
            ExprKind::Bool(b) => Some(Value::Atom(Atom::Const(Const::bool(*b)))),
            ExprKind::Path(p) => self.path(p),
            ExprKind::Unary(op, a) => self.unary(*op, a, e.span),
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b, span) => {
                self.lazy_logic(*op == Binary::And, a, b, *span)
            }
            ExprKind::Binary(op, a, b, span) => {
                let (a, b) = (self.expr(a), self.expr(b));
                let (op, symbol) = binary_op(*op);
                self.apply_operator(op, &format!("`{symbol}`"), &[a?, b?], *span)
            }
            ExprKind::Cast(a, ty) => self.conversion(a, ty, e.span),
            ExprKind::Call(f, args) => self.call(f, args, e.span),
            ExprKind::Method(receiver, name, args) => self.method(receiver, name, args),
            ExprKind::Index(a, kind) => {
                let v = self.expr(a)?;
                self.index_expr(v, &indexed(a), kind, e.span)
            }
            ExprKind::Tuple(es) => self.exprs(es).map(Value::Tuple),
            ExprKind::Field(a, member) => {
                let v = self.expr(a)?;
                self.member(v, member, e.span)
            }
            ExprKind::Record(path, fields, base) => self.record_literal(path, fields, base.as_deref()),
            ExprKind::Array(es) => self.array_literal(es, e.span),
            ExprKind::Einsum(subscripts, operands) => self.einsum(subscripts, operands),
            ExprKind::Repeat(v, n) => {
                let n = self.expr(n)?;
                let v = self.expr(v)?;
                self.replicate(&n, v, e.span)
            }
            ExprKind::Closure(params, body) => Some(Value::Function(Function::Closure(Rc::new(Closure {
                params: params.clone(),
                body: (**body).clone(),
                scope: self.scope.inside_closure(),
                site: self.site.clone(),
            })))),
            ExprKind::If(c, a, b) => self.if_expr(c, a, b.as_deref(), e.span),
            ExprKind::Match(subject, arms) => self.match_expr(subject, arms, e.span),
            ExprKind::Assign(target, op, value, span) => self.assign(target, *op, value, *span),
            ExprKind::For(f) => self.for_loop(f, e.span),
            ExprKind::While(c, body) => self.while_loop(c, body, e.span),
            ExprKind::Block(stmts, result) => self.block(stmts, result.as_deref()),
            ExprKind::Error => None,
        }
    }

    /// The values of expressions, all of which are evaluated whether one has none or not.
    pub(super) fn exprs(&mut self, es: &[Expr]) -> Option<Vec<Value>> {
        let values: Vec<Option<Value>> = es.iter().map(|e| self.expr(e)).collect();
        values.into_iter().collect()
    }

    /// `-a`, `!a`.
    fn unary(&mut self, op: Unary, a: &Expr, span: Span) -> Option<Value> {
        let v = self.expr(a)?;
        if let (Unary::Neg, Value::Atom(Atom::Const(c))) = (op, &v) {
            return Some(Value::Atom(Atom::Const(self.negate(*c))));
        }
        let (op, shown) = if op == Unary::Neg { (Op::Neg, "`-`") } else { (Op::Not, "`!`") };
        self.apply_operator(op, shown, &[v], span)
    }

    /// `a as ty`.
    fn conversion(&mut self, a: &Expr, ty: &Type, span: Span) -> Option<Value> {
        if let (ExprKind::Path(p), TypeKind::Scalar(elem)) = (&a.kind, &ty.kind)
            && p.single().is_none_or(|n| self.scope.get(&n.name).is_none())
            && let Some(c) = self.constant(p, Some(*elem))
        {
            return Some(Value::Atom(Atom::Var(c)));
        }
        let v = self.expr(a)?;
        let elem = match &ty.kind {
            TypeKind::Scalar(e) => *e,
            TypeKind::Infer => self.inference.float(),
            _ => {
                let help = "it lifts over arrays by itself";
                self.error(Code::ElementType, ty.span, "`as` converts to a scalar type", help);
                return None;
            }
        };
        let atoms = self.plain_atoms("`as`", &[v], span)?;
        if self.inference.is_complex(self.elem(atoms[0])) && !matches!(ty.kind, TypeKind::Infer) {
            let found = self.inference.describe(self.elem(atoms[0]));
            let message = format!("`as` converts real numbers, found {found}");
            self.error(Code::ElementType, span, message, "convert its parts: `z.re as f32`");
            return None;
        }
        self.lift("`as`", &[0], &atoms, span, &mut |s, c| Some(Value::Atom(s.cast(c[0], elem, span))))
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
            let x = *e.plain_atoms(shown, std::slice::from_ref(&v), span)?.first()?;
            rank = e.rank(x);
            if rank > 0 {
                return None;
            }
            e.unify(e.elem(x), Elem::Bool, b.span, "the operands of `&&` and `||`")?;
            Some(v)
        };
        let mut by_left = |_: &mut Self| Some(decided.clone());
        let value = if and {
            self.choice(left, span, &mut lazy, &mut by_left)
        } else {
            self.choice(left, span, &mut by_left, &mut lazy)
        };
        if rank > 0 && self.diagnostics.list().len() == errors {
            self.bodies = saved;
            let right = self.expr(b)?;
            return self.apply_operator(op, shown, &[Value::Atom(left), right], span);
        }
        value
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
        let elem = self.inference.resolve(elem);
        if self.elem(a) == elem {
            return a;
        }
        let out = self.emit("cast", core::Type::scalar(elem), Exp::Op(Op::Cast(elem), vec![a]), span);
        if let (Atom::Var(v), Elem::I64, Some(d)) = (out, elem, self.known_int(a)) {
            self.known.insert(v, d);
        }
        out
    }

    pub(super) fn path(&mut self, p: &Path) -> Option<Value> {
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
        if let Some(c) = self.constant(p, None) {
            return Some(Value::Atom(Atom::Var(c)));
        }
        if let Some(c) = constant(&p.text()) {
            return Some(Value::Atom(Atom::Const(c)));
        }
        if let Some(c) = self.complex_constant(p) {
            return Some(c);
        }
        if let Some(f) = self.function(p) {
            return Some(Value::Function(f));
        }
        let text = p.text();
        let help = self.similar(&text).map_or_else(
            || "names come from parameters, `let`, closures and sizes of the signature".into(),
            |n| format!("did you mean `{n}`?"),
        );
        self.error(Code::UnknownName, p.span(), format!("unknown name `{text}`"), help);
        None
    }

    /// The function that a path names, if it names one.
    pub(super) fn function(&self, p: &Path) -> Option<Function> {
        if let Some(Value::Function(f)) = p.single().and_then(|n| self.scope.get(&n.name)) {
            return Some(f.clone());
        }
        if let Some(k) = self.site.callees.kernel(&p.text()) {
            return Some(Function::Kernel(k.clone()));
        }
        if let Some(g) = self.site.callees.generic(&p.text()) {
            return Some(Function::Generic(g.clone()));
        }
        if let Some(name) = constructor(p) {
            return Some(Function::Builtin(name));
        }
        p.single().filter(|n| super::is_builtin(&n.name)).map(|n| Function::Builtin(n.name.clone()))
    }

    /// The name in sight that is closest to `text`.
    pub(super) fn similar(&self, text: &str) -> Option<String> {
        let sizes = self.sizes.iter().filter(|s| !s.starts_with('#') && self.is_size(s));
        closest(text, self.scope.names().chain(sizes).map(|n| &**n))
    }

    fn call(&mut self, f: &Expr, args: &[Expr], span: Span) -> Option<Value> {
        let (function, span) = match &f.kind {
            ExprKind::Path(p) => (self.named_function(p)?, p.span()),
            _ => match self.expr(f)? {
                Value::Function(f) => (f, span),
                other => {
                    let message = format!("this is not a function but {}", self.describe(&other));
                    self.error(Code::NotAFunction, f.span, message, "call a function");
                    return None;
                }
            },
        };
        let args = self.exprs(args)?;
        self.apply(&function, &args, span)
    }

    /// The function that a path names where one is called.
    fn named_function(&mut self, p: &Path) -> Option<Function> {
        let function = self.function(p);
        if function.is_some() || p.single().is_some_and(|n| self.scope.is_poisoned(&n.name)) {
            return function;
        }
        if p.single().is_some_and(|n| self.scope.get(&n.name).is_some()) {
            let message = format!("`{}` is a value, not a function", p.text());
            self.error(Code::NotAFunction, p.span(), message, "index arrays with `a[i]`");
            return None;
        }
        let help = meant(&p.text()).unwrap_or_else(|| {
            "call built-in functions, closures bound by `let`, or other `#[kernel]` functions".into()
        });
        self.error(Code::UnknownFunction, p.span(), format!("unknown function `{}`", p.text()), help);
        None
    }

    fn method(&mut self, receiver: &Expr, name: &Ident, args: &[Expr]) -> Option<Value> {
        let receiver = self.expr(receiver);
        let args = self.exprs(args);
        let mut all = vec![receiver?];
        all.extend(args?);
        if !super::is_builtin(&name.name) {
            if self.is_of_complex(&all[0])
                && let Some(value) = self.complex_method(&name.name, &all, name.span)
            {
                return value;
            }
            let help =
                meant_method(&name.name).unwrap_or_else(|| "methods are the built-in functions".into());
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

    fn array_literal(&mut self, es: &[Expr], span: Span) -> Option<Value> {
        let values = self.exprs(es)?;
        let atoms = self.plain_atoms("an array literal", &values, span)?;
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

    /// `rows[i - base]`: few as a chain of choices, more by halves, so that these are not nested deeply.
    fn choose(&mut self, i: Atom, base: i64, rows: &[Atom], span: Span) -> Option<Value> {
        if let [only] = rows {
            return Some(Value::Atom(*only));
        }
        let (op, at) = if rows.len() <= CHAIN { (Op::Eq, 1) } else { (Op::Lt, rows.len() / 2) };
        let (first, rest) = rows.split_at(at);
        let after = base + at as i64;
        let bound = self.int(if op == Op::Eq { base } else { after });
        let c = self.op(op, &[i, bound], span);
        self.choice(c, span, &mut |e| e.choose(i, base, first, span), &mut |e| e.choose(i, after, rest, span))
    }
}

/// The scalar function of an operator, and its symbol.
pub(super) fn binary_op(op: Binary) -> (Op, &'static str) {
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
