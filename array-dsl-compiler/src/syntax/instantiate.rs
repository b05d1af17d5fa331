//! A generic kernel with types in the places of its type parameters.

use rustc_hash::FxHashMap;

use super::ast::{Function, Type, TypeKind};
use super::walk::Rewriter;
use crate::ty::Name;

/// The kernel with what its type parameters stand for.
pub fn instantiate(f: &Function, types: &FxHashMap<Name, TypeKind>) -> Function {
    let mut f = f.clone();
    let mut instance = Instance { types };
    f.params.iter_mut().for_each(|p| instance.ty(&mut p.ty));
    instance.ty(&mut f.result);
    instance.expr(&mut f.body);
    f
}

struct Instance<'a> {
    types: &'a FxHashMap<Name, TypeKind>,
}

impl Rewriter for Instance<'_> {
    fn ty(&mut self, t: &mut Type) {
        match &mut t.kind {
            TypeKind::Generic(name) => {
                if let Some(kind) = self.types.get(name) {
                    t.kind = kind.clone();
                }
            }
            TypeKind::Complex(name) => {
                if let Some(kind) = self.types.get(name) {
                    let complex = if let TypeKind::Scalar(e) = kind { e.complex() } else { None };
                    // Of a literal's type the value tells it.
                    t.kind = complex.map_or(TypeKind::Infer, TypeKind::Scalar);
                }
            }
            TypeKind::Array(inner, _) => self.ty(inner),
            TypeKind::Tuple(parts) => parts.iter_mut().for_each(|t| self.ty(t)),
            TypeKind::Function(f) => {
                f.params.iter_mut().for_each(|t| self.ty(t));
                self.ty(&mut f.result);
            }
            TypeKind::Scalar(_) | TypeKind::Record(_) | TypeKind::Infer => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;

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
        let types = FxHashMap::from_iter([("T".into(), TypeKind::Scalar(Elem::F32))]);
        let found = show(&instantiate(&f, &types)).replacen("<T: Float>", "", 1);
        assert_eq!(found, shown(&format!("fn f{}", source.replace('T', "f32"))));
    }
}
