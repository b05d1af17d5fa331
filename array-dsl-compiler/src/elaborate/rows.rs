//! Rows of an array that the trips of a loop have for themselves: where the body of `for i in ..` has only `v[i]` of `v`, or
//! only `v[i + c]` for one integer `c`, each trip may keep its row in a variable of its own.

use super::effects::{index_name, is_length, mentions, root, visit};
use crate::syntax::ast::{Binary, Expr, ExprKind, For, IndexKind, Over, Stmt};
use crate::ty::Name;

/// The rows of one array.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// `c` of `v[i + c]`.
    pub offset: i64,
    /// Each trip uses its row, so that it may read it first.
    pub certain: bool,
}

/// The rows that the trips of a loop have for themselves, if that is how its body uses `v`.
pub(super) fn rows(e: &For, v: &Name) -> Option<Rows> {
    let offset = private(&e.body, v, index_name(e)?)?;
    Some(Rows { offset, certain: always(&e.body, v) })
}

/// Whether an element of `v` is read or written whenever the expression is evaluated.
fn always(e: &Expr, v: &Name) -> bool {
    match &e.kind {
        ExprKind::Index(a, kind) => {
            let at = match kind {
                IndexKind::At(i) => always(i, v),
                IndexKind::Multi(is) => is.iter().any(|i| always(i, v)),
                IndexKind::Slice(lo, hi) => lo.iter().chain(hi).any(|e| always(e, v)),
            };
            at || root(e) == Some(v) || always(a, v)
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a, _) | ExprKind::Field(a, _) => always(a, v),
        // The right side of `&&` and `||` may be left out.
        ExprKind::Binary(Binary::And | Binary::Or, a, _, _) => always(a, v),
        ExprKind::Binary(_, a, b, _) | ExprKind::Repeat(a, b) | ExprKind::Assign(a, _, b, _) => {
            always(a, v) || always(b, v)
        }
        ExprKind::Call(_, args) => args.iter().any(|a| always(a, v)),
        ExprKind::Method(a, _, args) => always(a, v) || args.iter().any(|a| always(a, v)),
        ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Einsum(_, es) => {
            es.iter().any(|e| always(e, v))
        }
        ExprKind::Record(_, fields, base) => {
            fields.iter().any(|(_, e)| always(e, v)) || base.iter().any(|e| always(e, v))
        }
        ExprKind::If(c, ..) | ExprKind::Match(c, _) | ExprKind::While(c, _) => always(c, v),
        ExprKind::For(e) => match &e.over {
            Over::Range { lo, hi, .. } => always(lo, v) || always(hi, v),
            Over::Array { array, .. } => always(array, v),
        },
        ExprKind::Block(stmts, result) => {
            for s in stmts {
                match s {
                    Stmt::Let { value: e, .. } | Stmt::Expr(e) if always(e, v) => return true,
                    // From here on the name is another variable's.
                    Stmt::Let { pattern, .. } if pattern.names().iter().any(|n| n.name == *v) => {
                        return false;
                    }
                    _ => {}
                }
            }
            result.as_ref().is_some_and(|e| always(e, v))
        }
        _ => false,
    }
}

/// `c` where every use of `v` is `v[i + c]` or a part of that.
fn private(body: &Expr, v: &Name, i: &Name) -> Option<i64> {
    let mut offset = None;
    let mut own = true;
    let mut local = Vec::new();
    visit(&mut body.clone(), &mut local, &mut |e, local| {
        if local.contains(v) {
            return true;
        }
        if is_length(e, v) {
            return false;
        }
        if let Some(at) = first_index(e, v) {
            let found = offset_of(at, i).filter(|_| !local.contains(i));
            own &= found.is_some() && offset.is_none_or(|o| Some(o) == found);
            offset = offset.or(found);
            // Further indices may use other variables, and `v` itself only as it should be.
            later_indices(e, &mut |i| own &= !mentions(i, v));
            return false;
        }
        if let ExprKind::Path(p) = &e.kind {
            own &= p.single().is_none_or(|n| n.name != *v);
        }
        true
    });
    offset.filter(|_| own)
}

/// The body with `v[first]..` replaced by `row..`.
pub(super) fn with_row(body: &Expr, v: &Name, row: &Name) -> Expr {
    let mut body = body.clone();
    visit(&mut body, &mut Vec::new(), &mut |e, local| {
        if local.contains(v) || first_index(e, v).is_none() {
            return true;
        }
        strip(e, row);
        true
    });
    body
}

fn strip(e: &mut Expr, row: &Name) {
    let kind = std::mem::replace(&mut e.kind, ExprKind::Error);
    e.kind = match kind {
        ExprKind::Index(mut a, kind) => {
            if let ExprKind::Path(p) = &mut a.kind {
                p.segments.iter_mut().for_each(|s| s.name = row.clone());
                match kind {
                    IndexKind::Multi(mut is) if is.len() > 1 => {
                        is.remove(0);
                        ExprKind::Index(a, IndexKind::Multi(is))
                    }
                    _ => a.kind,
                }
            } else {
                strip(&mut a, row);
                ExprKind::Index(a, kind)
            }
        }
        ExprKind::Field(mut a, i) => {
            strip(&mut a, row);
            ExprKind::Field(a, i)
        }
        other => other,
    };
}

/// The first index of `v[..]..`, if the expression is that.
fn first_index<'e>(e: &'e Expr, v: &Name) -> Option<&'e Expr> {
    if !matches!(e.kind, ExprKind::Index(..)) || root(e) != Some(v) {
        return None;
    }
    let mut at = e;
    loop {
        match &at.kind {
            ExprKind::Index(a, kind) if matches!(a.kind, ExprKind::Path(_)) => {
                return match kind {
                    IndexKind::At(i) => Some(i),
                    IndexKind::Multi(is) => is.first(),
                    IndexKind::Slice(..) => None,
                };
            }
            ExprKind::Index(a, _) | ExprKind::Field(a, _) => at = a,
            _ => return None,
        }
    }
}

/// The indices of `v[first]..` after the first.
fn later_indices(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    match &e.kind {
        ExprKind::Index(a, kind) => {
            later_indices(a, f);
            let first = matches!(a.kind, ExprKind::Path(_));
            match kind {
                IndexKind::At(i) if !first => f(i),
                IndexKind::At(_) => {}
                IndexKind::Multi(is) => is.iter().skip(usize::from(first)).for_each(f),
                IndexKind::Slice(lo, hi) => lo.iter().chain(hi).for_each(|e| f(e)),
            }
        }
        ExprKind::Field(a, _) => later_indices(a, f),
        _ => {}
    }
}

/// `c` of `i + c`.
fn offset_of(e: &Expr, i: &Name) -> Option<i64> {
    let is = |e: &Expr| matches!(&e.kind, ExprKind::Path(p) if p.single().is_some_and(|n| n.name == *i));
    let int = |e: &Expr| if let ExprKind::Int(c, None) = e.kind { Some(c) } else { None };
    match &e.kind {
        ExprKind::Path(_) if is(e) => Some(0),
        ExprKind::Binary(Binary::Add, a, b, _) if is(a) => int(b),
        ExprKind::Binary(Binary::Add, a, b, _) if is(b) => int(a),
        ExprKind::Binary(Binary::Sub, a, b, _) if is(a) => int(b)?.checked_neg(),
        _ => None,
    }
}
