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
use crate::syntax::ast::{Binary, Checkpoint, Expr, ExprKind, For, IndexKind, Over, Pattern, Stmt, Unary};
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

/// Visits an expression and what is in it, in the order of evaluation. `f` gets each expression with the names that are bound
/// between the start and it; where it returns false what is inside is left out.
pub(super) fn visit(e: &mut Expr, local: &mut Vec<Name>, f: &mut dyn FnMut(&mut Expr, &[Name]) -> bool) {
    if !f(e, local) {
        return;
    }
    let depth = local.len();
    let bind = |p: &Pattern, local: &mut Vec<Name>| local.extend(p.names().iter().map(|n| n.name.clone()));
    match &mut e.kind {
        ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Bool(_) | ExprKind::Path(_) | ExprKind::Error => {
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a, _) | ExprKind::Field(a, _) => visit(a, local, f),
        ExprKind::Binary(_, a, b, _) | ExprKind::Repeat(a, b) => {
            visit(a, local, f);
            visit(b, local, f);
        }
        ExprKind::Assign(target, _, value, _) => {
            visit(value, local, f);
            visit(target, local, f);
        }
        ExprKind::Call(g, args) => {
            visit(g, local, f);
            args.iter_mut().for_each(|a| visit(a, local, f));
        }
        ExprKind::Method(receiver, _, args) => {
            visit(receiver, local, f);
            args.iter_mut().for_each(|a| visit(a, local, f));
        }
        ExprKind::Index(a, kind) => {
            visit(a, local, f);
            match kind {
                IndexKind::At(i) => visit(i, local, f),
                IndexKind::Slice(lo, hi) => lo.iter_mut().chain(hi).for_each(|e| visit(e, local, f)),
                IndexKind::Multi(es) => es.iter_mut().for_each(|e| visit(e, local, f)),
            }
        }
        ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Einsum(_, es) => {
            es.iter_mut().for_each(|e| visit(e, local, f));
        }
        ExprKind::Record(_, fields, base) => {
            fields.iter_mut().for_each(|(_, e)| visit(e, local, f));
            base.iter_mut().for_each(|e| visit(e, local, f));
        }
        ExprKind::Closure(params, body) => {
            params.iter().for_each(|(p, _)| bind(p, local));
            visit(body, local, f);
        }
        ExprKind::If(c, a, b) => {
            visit(c, local, f);
            visit(a, local, f);
            b.iter_mut().for_each(|b| visit(b, local, f));
        }
        ExprKind::Match(subject, arms) => {
            visit(subject, local, f);
            for arm in arms {
                local.extend(arm.binding.iter().map(|n| n.name.clone()));
                visit(&mut arm.body, local, f);
                local.truncate(depth);
            }
        }
        ExprKind::For(e) => {
            if let Some(Checkpoint::Every(k)) = &mut e.checkpoint {
                visit(k, local, f);
            }
            match &mut e.over {
                Over::Range { lo, hi, .. } => {
                    visit(lo, local, f);
                    visit(hi, local, f);
                }
                Over::Array { array, .. } => visit(array, local, f),
            }
            bind(&e.pattern, local);
            visit(&mut e.body, local, f);
        }
        ExprKind::While(condition, body) => {
            visit(condition, local, f);
            visit(body, local, f);
        }
        ExprKind::Block(stmts, result) => {
            for s in stmts {
                match s {
                    Stmt::Let { pattern, value, .. } => {
                        visit(value, local, f);
                        bind(pattern, local);
                    }
                    Stmt::Expr(e) => visit(e, local, f),
                }
            }
            result.iter_mut().for_each(|e| visit(e, local, f));
        }
    }
    local.truncate(depth);
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
    let mut local = bound.names().iter().map(|n| n.name.clone()).collect();
    visit(&mut e.clone(), &mut local, &mut |e, local| {
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
                IndexKind::Slice(..) => return None,
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
    let mut uses = Uses { v, indices: vec![index_name(e).cloned()], ..Uses::of(v) };
    let mut local: Vec<Name> = e.pattern.names().iter().map(|n| n.name.clone()).collect();
    if !local.contains(v) {
        uses.expr(&mut e.body.clone(), &mut local);
    }
    uses.class()
}

/// `v.len()`, `len(v)`, `dim(v, k)`.
pub(super) fn is_length(e: &Expr, v: &Name) -> bool {
    let is = |e: &Expr| matches!(&e.kind, ExprKind::Path(p) if p.single().is_some_and(|n| n.name == *v));
    match &e.kind {
        ExprKind::Method(a, name, _) => is(a) && matches!(&*name.name, "len" | "dim"),
        ExprKind::Call(f, args) => {
            let size = matches!(&f.kind, ExprKind::Path(p) if matches!(&*p.text(), "len" | "dim"));
            size && args.first().is_some_and(is)
        }
        _ => false,
    }
}

/// Whether `v` occurs in an expression.
pub(super) fn mentions(e: &Expr, v: &Name) -> bool {
    let mut found = false;
    visit(&mut e.clone(), &mut Vec::new(), &mut |e, local| {
        if let ExprKind::Path(p) = &e.kind {
            found |= p.single().is_some_and(|n| n.name == *v && !local.contains(v));
        }
        true
    });
    found
}

/// What is found of one variable in a loop's body.
struct Uses<'v> {
    v: &'v Name,
    /// The indices of the loops around the place, outermost first; `None` for one without a name.
    indices: Vec<Option<Name>>,
    updates: Vec<(Reducer, bool, Span)>,
    writes: Vec<(bool, Span)>,
    reads: Vec<Span>,
    /// Under a `while`, where nothing is written only once.
    repeated: usize,
}

impl<'v> Uses<'v> {
    fn of(v: &'v Name) -> Uses<'v> {
        Uses {
            v,
            indices: Vec::new(),
            updates: Vec::new(),
            writes: Vec::new(),
            reads: Vec::new(),
            repeated: 0,
        }
    }

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

    fn expr(&mut self, e: &mut Expr, local: &mut Vec<Name>) {
        // Loops and assignments are taken apart here, the rest is visited.
        let start = local.len();
        let mut base = local.clone();
        visit(e, &mut base, &mut |e, names| {
            if names.contains(self.v) || is_length(e, self.v) {
                return !is_length(e, self.v);
            }
            let mut inner = names[..].to_vec();
            match &mut e.kind {
                ExprKind::Assign(target, op, value, span) if !matches!(target.kind, ExprKind::Tuple(_)) => {
                    if root(target) != Some(self.v) {
                        return true;
                    }
                    self.assignment(target, *op, value, *span, &mut inner);
                    false
                }
                ExprKind::For(f) => {
                    if let Some(Checkpoint::Every(k)) = &mut f.checkpoint {
                        self.expr(k, &mut inner);
                    }
                    let index = index_name(f).cloned();
                    match &mut f.over {
                        Over::Range { lo, hi, .. } => {
                            self.expr(lo, &mut inner);
                            self.expr(hi, &mut inner);
                        }
                        Over::Array { array, .. } => self.expr(array, &mut inner),
                    }
                    inner.extend(f.pattern.names().iter().map(|n| n.name.clone()));
                    self.indices.push(index);
                    self.expr(&mut f.body, &mut inner);
                    self.indices.pop();
                    false
                }
                ExprKind::While(c, body) => {
                    self.repeated += 1;
                    self.expr(c, &mut inner);
                    self.expr(body, &mut inner);
                    self.repeated -= 1;
                    false
                }
                ExprKind::Path(p) => {
                    if p.single().is_some_and(|n| n.name == *self.v) {
                        self.reads.push(e.span);
                    }
                    true
                }
                _ => true,
            }
        });
        local.truncate(start);
    }

    fn assignment(
        &mut self,
        target: &Expr,
        op: Option<Binary>,
        value: &Expr,
        span: Span,
        local: &mut Vec<Name>,
    ) {
        let at = indices(target);
        let found = update(target, op, value).filter(|_| at.is_some());
        match &found {
            Some(u) => self.expr(&mut u.value.clone(), local),
            None => self.expr(&mut value.clone(), local),
        }
        at.iter().flatten().for_each(|i| self.expr(&mut (*i).clone(), local));
        match (found, at) {
            (Some(u), Some(at)) => self.updates.push((u.reducer, !at.is_empty(), span)),
            (_, Some(at)) if op.is_none() => {
                let is_index = |name: &Option<Name>| {
                    let name = name.as_ref()?;
                    let own = |i: &&&Expr| matches!(&i.kind, ExprKind::Path(p) if p.single().is_some_and(|n| n.name == *name));
                    // A name that is bound again inside is another one.
                    (local.iter().filter(|n| *n == name).count() == 1).then(|| at.iter().find(own))?
                };
                let once = self.repeated == 0
                    && !at.is_empty()
                    && self.indices.iter().all(|name| is_index(name).is_some());
                self.writes.push((once, span));
            }
            _ => {
                self.reads.push(span);
            }
        }
    }
}

/// The sign of an update's value.
pub(super) fn negated(value: Expr) -> Expr {
    let span = value.span;
    Expr { kind: ExprKind::Unary(Unary::Neg, Box::new(value)), span }
}
