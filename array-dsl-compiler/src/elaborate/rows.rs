//! Rows of an array that the trips of a loop have for themselves: where the body of `for i in ..` has only `v[i]` of `v`, or
//! only `v[i + c]` for one integer `c`, each trip may keep its row in a variable of its own.

use super::effects::{index_name, is_length, is_name, mentions, root};
use crate::syntax::ast::{Binary, Expr, ExprKind, For, IndexKind, Part};
use crate::syntax::walk::{Rewriter, Visitor, each};
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
    let mut uses = Certain { v, scope: Vec::new(), found: false };
    uses.expr(e);
    uses.found
}

/// Looks for elements of `v` in what is evaluated whatever the values are.
struct Certain<'v> {
    v: &'v Name,
    scope: Vec<Name>,
    found: bool,
}

impl Visitor for Certain<'_> {
    fn scope(&mut self) -> Option<&mut Vec<Name>> {
        Some(&mut self.scope)
    }

    fn expr(&mut self, e: &Expr) {
        if self.found || self.scope.contains(self.v) {
            return;
        }
        match &e.kind {
            ExprKind::Index(..) if root(e) == Some(self.v) => self.found = true,
            // The right side of `&&` and `||` may be left out, a branch not taken, and a body not executed.
            ExprKind::Binary(Binary::And | Binary::Or, first, ..)
            | ExprKind::If(first, ..)
            | ExprKind::Match(first, _)
            | ExprKind::While(first, _) => self.expr(first),
            ExprKind::Closure(..) => {}
            _ => self.walk_expr(e),
        }
    }

    fn for_loop(&mut self, e: &For) {
        self.walk_head(e);
    }
}

/// `c` where every use of `v` is `v[i + c]` or a part of that.
fn private(body: &Expr, v: &Name, i: &Name) -> Option<i64> {
    let mut offset = None;
    let mut own = true;
    each(body, Vec::new(), |e, local| {
        if local.contains(v) || is_length(e, v) {
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
        own &= !is_name(e, v);
        true
    });
    offset.filter(|_| own)
}

/// The body with `v[first]..` replaced by `row..`.
pub(super) fn with_row(body: &Expr, v: &Name, row: &Name) -> Expr {
    let mut body = body.clone();
    WithRow { v, row, scope: Vec::new() }.expr(&mut body);
    body
}

struct WithRow<'a> {
    v: &'a Name,
    row: &'a Name,
    scope: Vec<Name>,
}

impl Rewriter for WithRow<'_> {
    fn scope(&mut self) -> Option<&mut Vec<Name>> {
        Some(&mut self.scope)
    }

    fn expr(&mut self, e: &mut Expr) {
        if self.scope.contains(self.v) {
            return;
        }
        if first_index(e, self.v).is_some() {
            strip(e, self.row);
        }
        self.walk_expr(e);
    }
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
                    IndexKind::Slice(..) | IndexKind::Parts(_) => None,
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
                IndexKind::Parts(parts) => parts.iter().flat_map(Part::exprs).for_each(f),
            }
        }
        ExprKind::Field(a, _) => later_indices(a, f),
        _ => {}
    }
}

/// `c` of `i + c`.
fn offset_of(e: &Expr, i: &Name) -> Option<i64> {
    let int = |e: &Expr| if let ExprKind::Int(c, None) = e.kind { Some(c) } else { None };
    match &e.kind {
        ExprKind::Path(_) if is_name(e, i) => Some(0),
        ExprKind::Binary(Binary::Add, a, b, _) if is_name(a, i) => int(b),
        ExprKind::Binary(Binary::Add, a, b, _) if is_name(b, i) => int(a),
        ExprKind::Binary(Binary::Sub, a, b, _) if is_name(a, i) => int(b)?.checked_neg(),
        _ => None,
    }
}
