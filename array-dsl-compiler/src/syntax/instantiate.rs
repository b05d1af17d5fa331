//! A generic kernel with types in the places of its type parameters.

use std::collections::HashMap;

use super::ast::{Checkpoint, Expr, ExprKind, Function, IndexKind, Over, Stmt, Type, TypeKind};
use crate::ty::Name;

/// The kernel with what its type parameters stand for.
pub fn instantiate(f: &Function, types: &HashMap<Name, TypeKind>) -> Function {
    let mut f = f.clone();
    let mut change = |t: &mut Type| replace(t, types);
    f.params.iter_mut().for_each(|p| change(&mut p.ty));
    change(&mut f.result);
    expr(&mut f.body, &mut change);
    f
}

fn replace(t: &mut Type, types: &HashMap<Name, TypeKind>) {
    match &mut t.kind {
        TypeKind::Generic(name) => {
            if let Some(kind) = types.get(name) {
                t.kind = kind.clone();
            }
        }
        TypeKind::Array(inner, _) => replace(inner, types),
        TypeKind::Tuple(parts) => parts.iter_mut().for_each(|t| replace(t, types)),
        TypeKind::Function(f) => {
            f.params.iter_mut().for_each(|t| replace(t, types));
            replace(&mut f.result, types);
        }
        TypeKind::Scalar(_) | TypeKind::Record(_) | TypeKind::Infer => {}
    }
}

/// Calls `change` with every type in an expression.
fn expr(e: &mut Expr, change: &mut dyn FnMut(&mut Type)) {
    match &mut e.kind {
        ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Bool(_) | ExprKind::Path(_) | ExprKind::Error => {
        }
        ExprKind::Unary(_, a) | ExprKind::Field(a, _) => expr(a, change),
        ExprKind::Cast(a, ty) => {
            expr(a, change);
            change(ty);
        }
        ExprKind::Binary(_, a, b, _)
        | ExprKind::Repeat(a, b)
        | ExprKind::While(a, b)
        | ExprKind::Assign(a, _, b, _) => {
            expr(a, change);
            expr(b, change);
        }
        ExprKind::Call(f, args) => {
            expr(f, change);
            args.iter_mut().for_each(|e| expr(e, change));
        }
        ExprKind::Method(receiver, _, args) => {
            expr(receiver, change);
            args.iter_mut().for_each(|e| expr(e, change));
        }
        ExprKind::Index(a, index) => {
            expr(a, change);
            match index {
                IndexKind::At(i) => expr(i, change),
                IndexKind::Slice(lo, hi) => lo.iter_mut().chain(hi).for_each(|e| expr(e, change)),
                IndexKind::Multi(es) => es.iter_mut().for_each(|e| expr(e, change)),
            }
        }
        ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Einsum(_, es) => {
            es.iter_mut().for_each(|e| expr(e, change));
        }
        ExprKind::Record(_, fields, base) => {
            fields.iter_mut().for_each(|(_, e)| expr(e, change));
            base.iter_mut().for_each(|e| expr(e, change));
        }
        ExprKind::Closure(params, body) => {
            params.iter_mut().filter_map(|(_, ty)| ty.as_mut()).for_each(&mut *change);
            expr(body, change);
        }
        ExprKind::If(c, a, b) => {
            expr(c, change);
            expr(a, change);
            b.iter_mut().for_each(|e| expr(e, change));
        }
        ExprKind::Match(value, arms) => {
            expr(value, change);
            arms.iter_mut().for_each(|arm| expr(&mut arm.body, change));
        }
        ExprKind::For(e) => {
            if let Some(Checkpoint::Every(k)) = &mut e.checkpoint {
                expr(k, change);
            }
            match &mut e.over {
                Over::Range { lo, hi, .. } => {
                    expr(lo, change);
                    expr(hi, change);
                }
                Over::Array { array, .. } => expr(array, change),
            }
            expr(&mut e.body, change);
        }
        ExprKind::Block(stmts, result) => {
            for stmt in stmts {
                match stmt {
                    Stmt::Let { ty, value, .. } => {
                        ty.iter_mut().for_each(&mut *change);
                        expr(value, change);
                    }
                    Stmt::Expr(e) => expr(e, change),
                }
            }
            result.iter_mut().for_each(|e| expr(e, change));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TypeKind, instantiate};
    use crate::syntax::testing::{parsed, show, shown};
    use crate::ty::Elem;

    #[test]
    fn every_type_is_reached() {
        let source = "(x: [T; n], g: impl Fn(T) -> T) -> (T, T) {
            let y: T = g(x[0] as T);
            let h = |z: T| { if z > y { z as T } else { y } };
            for i in 0..n { y = h((y, x[i] as T).1); }
            (y, -y as T)
        }";
        let (f, _) = parsed(&format!("fn f<T: Float>{source}"));
        let types = [("T".into(), TypeKind::Scalar(Elem::F32))].into();
        let found = show(&instantiate(&f, &types)).replacen("<T: Float>", "", 1);
        assert_eq!(found, shown(&format!("fn f{}", source.replace('T', "f32"))));
    }
}
