//! What a loop's body does to the variables around it, told from the syntax alone. The classes are Dex's: a variable
//! that is only accumulated into keeps the loop parallel, one that is read and written makes it sequential.
//!
//! For a variable `v` of the surroundings that the body of `for i in ..` changes:
//!
//! | class | what the body has of `v` | the loop over it |
//! |---|---|---|
//! | private | only `v[i]`, or only `v[i + c]`, and parts of these | parallel: each trip has its own row |
//! | combined | updates by one associative operator (`v += e`, `v[ix] = v[ix].max(e)`), and no reads | parallel: a reduction or a scatter |
//! | written | one `v[..] = e` with all indices of the loops around it among its own, and no reads | parallel: a scatter |
//! | carried | anything else | sequential |
//!
//! `v.len()` is no use of `v`.

use proc_macro2::Span;

use crate::core::Reducer;
use crate::syntax::ast::{Binary, Expr, ExprKind, For, IndexKind, Over, Pattern, Unary};
use crate::syntax::walk::{Visitor, each};
use crate::ty::Name;

/// How a loop's body uses a variable that it changes.
#[derive(Clone, Debug)]
pub(super) enum Class {
    /// Every use is at the loop's own index plus this.
    Private(i64),
    /// Changed by one operator only. `at`: some update is of elements, not of the whole.
    Combined { reducer: Reducer, at: bool },
    /// Each element is written at most once.
    Written,
    /// The next trip may need what this one leaves. Why, and where.
    Carried(&'static str, Span),
}

/// An update `v = v op value`.
pub(super) struct Update {
    /// The operator.
    pub reducer: Reducer,
    /// What is combined in.
    pub value: Expr,
    /// Its negative is (`-=`).
    pub negated: bool,
}

/// The name of the variable that a target is a part of.
pub(super) fn root(target: &Expr) -> Option<&Name> {
    match &target.kind {
        ExprKind::Path(p) => p.single().map(|n| &n.name),
        ExprKind::Index(a, _) | ExprKind::Field(a, _) => root(a),
        _ => None,
    }
}

/// The names around `e` that it assigns to, each once, in order. `bound` are names that it binds itself.
pub(super) fn assigned(e: &Expr, bound: &Pattern) -> Vec<Name> {
    fn targets(e: &Expr, local: &[Name], out: &mut Vec<Name>) {
        if let ExprKind::Tuple(parts) = &e.kind {
            parts.iter().for_each(|p| targets(p, local, out));
        } else if let Some(name) = root(e)
            && !local.contains(name)
            && !out.contains(name)
        {
            out.push(name.clone());
        }
    }
    let mut out = Vec::new();
    let scope = bound.names().iter().map(|n| n.name.clone()).collect();
    each(e, scope, |e, local| {
        if let ExprKind::Assign(target, ..) = &e.kind {
            targets(target, local, &mut out);
        }
        true
    });
    out
}

/// A variable's name for messages: a row that a loop's trip has for itself goes by the array's name.
pub(super) fn shown(name: &Name) -> &str {
    name.trim_start_matches('#')
}

/// Whether two expressions are written alike. Calls never are.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(x, _), ExprKind::Int(y, _)) => x == y,
        (ExprKind::Path(x), ExprKind::Path(y)) => x.text() == y.text(),
        (ExprKind::Unary(o, x), ExprKind::Unary(p, y)) => o == p && same(x, y),
        (ExprKind::Binary(o, x, z, _), ExprKind::Binary(p, y, w, _)) => o == p && same(x, y) && same(z, w),
        (ExprKind::Field(x, i), ExprKind::Field(y, j)) => i == j && same(x, y),
        (ExprKind::Index(x, i), ExprKind::Index(y, j)) => {
            same(x, y)
                && match (i, j) {
                    (IndexKind::At(i), IndexKind::At(j)) => same(i, j),
                    (IndexKind::Multi(i), IndexKind::Multi(j)) => {
                        i.len() == j.len() && i.iter().zip(j).all(|(i, j)| same(i, j))
                    }
                    _ => false,
                }
        }
        _ => false,
    }
}

/// The update that an assignment is, if it is one.
pub(super) fn update(target: &Expr, op: Option<Binary>, value: &Expr) -> Option<Update> {
    let update = |reducer, value: &Expr, negated| Some(Update { reducer, value: value.clone(), negated });
    match op {
        Some(Binary::Add) => return update(Reducer::Add, value, false),
        Some(Binary::Sub) => return update(Reducer::Add, value, true),
        Some(Binary::Mul) => return update(Reducer::Mul, value, false),
        Some(Binary::BitAnd) => return update(Reducer::And, value, false),
        Some(Binary::BitOr) => return update(Reducer::Or, value, false),
        Some(_) => return None,
        None => {}
    }
    let extremum = |name: &str| match name {
        "min" => Some(Reducer::Min),
        "max" => Some(Reducer::Max),
        _ => None,
    };
    let either = |r, a: &Expr, b: &Expr| {
        if same(target, a) {
            update(r, b, false)
        } else if same(target, b) {
            update(r, a, false)
        } else {
            None
        }
    };
    match &value.kind {
        ExprKind::Method(a, name, args) => match args.as_slice() {
            [b] => either(extremum(&name.name)?, a, b),
            _ => None,
        },
        ExprKind::Call(f, args) => match (&f.kind, args.as_slice()) {
            (ExprKind::Path(p), [a, b]) => either(extremum(&p.single()?.name)?, a, b),
            _ => None,
        },
        ExprKind::Binary(Binary::Sub, a, b, _) if same(target, a) => update(Reducer::Add, b, true),
        ExprKind::Binary(op, a, b, _) => {
            let r = match op {
                Binary::Add => Reducer::Add,
                Binary::Mul => Reducer::Mul,
                Binary::And | Binary::BitAnd => Reducer::And,
                Binary::Or | Binary::BitOr => Reducer::Or,
                _ => return None,
            };
            let direct = either(r, a, b);
            // `s + x + y` is `(s + x) + y`.
            direct.or_else(|| {
                let ExprKind::Binary(inner, ..) = &a.kind else { return None };
                let rest = update_of(target, a).filter(|u| inner == op && u.reducer == r && !u.negated)?;
                let kind = ExprKind::Binary(*op, Box::new(rest.value), b.clone(), value.span);
                update(r, &Expr { kind, span: value.span }, false)
            })
        }
        _ => None,
    }
}

fn update_of(target: &Expr, value: &Expr) -> Option<Update> {
    update(target, None, value)
}

/// The indices of a target, outermost first; `None` if it has other parts.
pub(super) fn indices(target: &Expr) -> Option<Vec<&Expr>> {
    match &target.kind {
        ExprKind::Path(_) => Some(Vec::new()),
        ExprKind::Index(a, kind) => {
            let mut out = indices(a)?;
            match kind {
                IndexKind::At(i) => out.push(i),
                IndexKind::Multi(is) => out.extend(is),
                IndexKind::Slice(..) | IndexKind::Parts(_) => return None,
            }
            Some(out)
        }
        _ => None,
    }
}

/// The name of a loop's index, if it has one.
pub(super) fn index_name(e: &For) -> Option<&Name> {
    let name = |p: &'_ Pattern| matches!(p, Pattern::Name(_));
    match (&e.over, &e.pattern) {
        (Over::Range { .. }, p) if name(p) => p.name().map(|n| &n.name),
        (Over::Array { numbered: true, .. }, Pattern::Tuple(parts, _)) => {
            parts.first().filter(|p| name(p)).and_then(Pattern::name).map(|n| &n.name)
        }
        _ => None,
    }
}

/// How the body of a loop uses `v`, a variable around the loop, if it is not private.
pub(super) fn shared(e: &For, v: &Name) -> Class {
    let mut uses = Uses {
        v,
        scope: e.pattern.names().iter().map(|n| n.name.clone()).collect(),
        indices: vec![index_name(e).cloned()],
        updates: Vec::new(),
        writes: Vec::new(),
        reads: Vec::new(),
        repeated: 0,
    };
    uses.expr(&e.body);
    uses.class()
}

/// Whether an expression is just this name.
pub(super) fn is_name(e: &Expr, name: &Name) -> bool {
    matches!(&e.kind, ExprKind::Path(p) if p.single().is_some_and(|n| n.name == *name))
}

/// `v.len()`, `len(v)`, `dim(v, k)`.
pub(super) fn is_length(e: &Expr, v: &Name) -> bool {
    match &e.kind {
        ExprKind::Method(a, name, _) => is_name(a, v) && matches!(&*name.name, "len" | "dim"),
        ExprKind::Call(f, args) => {
            let size = matches!(&f.kind, ExprKind::Path(p) if matches!(&*p.text(), "len" | "dim"));
            size && args.first().is_some_and(|a| is_name(a, v))
        }
        _ => false,
    }
}

/// Whether `v` occurs in an expression.
pub(super) fn mentions(e: &Expr, v: &Name) -> bool {
    let mut found = false;
    each(e, Vec::new(), |e, local| {
        found |= is_name(e, v) && !local.contains(v);
        !found
    });
    found
}

/// What is found of one variable in a loop's body.
struct Uses<'v> {
    v: &'v Name,
    /// The names that are bound between the loop and the place.
    scope: Vec<Name>,
    /// The indices of the loops around the place, outermost first; `None` for one without a name.
    indices: Vec<Option<Name>>,
    updates: Vec<(Reducer, bool, Span)>,
    writes: Vec<(bool, Span)>,
    reads: Vec<Span>,
    /// Under a `while`, where nothing is written only once.
    repeated: usize,
}

impl Uses<'_> {
    fn class(&self) -> Class {
        if let Some(span) = self.reads.first() {
            return Class::Carried("it is read in the loop that changes it", *span);
        }
        match (self.updates.as_slice(), self.writes.as_slice()) {
            ([(reducer, _, _), rest @ ..], []) => match rest.iter().find(|u| u.0 != *reducer) {
                Some(other) => Class::Carried("it is changed by different operators", other.2),
                None => Class::Combined { reducer: *reducer, at: self.updates.iter().any(|u| u.1) },
            },
            ([], [(true, _)]) => Class::Written,
            ([], [(_, span), ..]) => Class::Carried("a later trip may write the same place", *span),
            (_, [(_, span), ..]) => Class::Carried("it is both written and updated", *span),
            ([], []) => Class::Carried("it is assigned", Span::call_site()),
        }
    }

    /// An assignment to the variable or to a part of it.
    fn assignment(&mut self, target: &Expr, op: Option<Binary>, value: &Expr, span: Span) {
        let at = indices(target);
        let found = update(target, op, value).filter(|_| at.is_some());
        self.expr(found.as_ref().map_or(value, |u| &u.value));
        at.iter().flatten().for_each(|i| self.expr(i));
        match (found, at) {
            (Some(u), Some(at)) => self.updates.push((u.reducer, !at.is_empty(), span)),
            (_, Some(at)) if op.is_none() => {
                let once = self.repeated == 0
                    && !at.is_empty()
                    && self.indices.iter().all(|name| self.is_among(&at, name));
                self.writes.push((once, span));
            }
            _ => self.reads.push(span),
        }
    }

    /// Whether a loop's index is itself among those of an assignment.
    fn is_among(&self, at: &[&Expr], index: &Option<Name>) -> bool {
        let Some(name) = index else { return false };
        // A name that is bound again inside is another one.
        self.scope.iter().filter(|n| *n == name).count() == 1 && at.iter().any(|e| is_name(e, name))
    }
}

impl Visitor for Uses<'_> {
    fn scope(&mut self) -> Option<&mut Vec<Name>> {
        Some(&mut self.scope)
    }

    fn expr(&mut self, e: &Expr) {
        if self.scope.contains(self.v) || is_length(e, self.v) {
            return;
        }
        match &e.kind {
            ExprKind::Assign(target, op, value, span) if root(target) == Some(self.v) => {
                self.assignment(target, *op, value, *span);
            }
            ExprKind::While(..) => {
                self.repeated += 1;
                self.walk_expr(e);
                self.repeated -= 1;
            }
            ExprKind::Path(_) if is_name(e, self.v) => self.reads.push(e.span),
            _ => self.walk_expr(e),
        }
    }

    fn for_loop(&mut self, e: &For) {
        self.walk_head(e);
        self.indices.push(index_name(e).cloned());
        self.expr(&e.body);
        self.indices.pop();
    }
}

/// The sign of an update's value.
pub(super) fn negated(value: Expr) -> Expr {
    let span = value.span;
    Expr { kind: ExprKind::Unary(Unary::Neg, Box::new(value)), span }
}
