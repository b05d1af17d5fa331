//! The constants of the surrounding code that a kernel names: `RATE`, `physics::G`.
//!
//! A macro sees only their names. So a name in capitals that nothing in the kernel has is taken for a constant's, and rustc finds it, or
//! says that there is none. In the sizes of the signature capitals may also name a size, as `n` does, which a shape tells: one letter
//! alone does, `[f64; N]`, where it is the whole dimension of a parameter, or of a value that an annotation in the body gives a size;
//! `[f64; WIDTH]` is a constant.
//!
//! `RATE as f32` is a constant of its own, which Rust converts: so nothing has to be known of the type of `RATE`.

use super::ast::{Expr, ExprKind, Function, Path, Type, TypeKind};
use super::names::is_of_rust;
use super::pattern::is_screaming;
use super::walk::Visitor;
use crate::ty::{Elem, Name};

/// A constant that a kernel names.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its path.
    pub path: Path,
    /// The type that it is converted to where it is named.
    pub cast: Option<Elem>,
}

impl Constant {
    /// Whether it is what a path stands for, converted to this.
    pub fn is(&self, path: &Path, cast: Option<Elem>) -> bool {
        self.cast == cast && self.path.text() == path.text()
    }
}

/// The constants of a kernel, each once, in order of first occurrence.
pub fn constants(f: &Function) -> Vec<Constant> {
    let mut whole = Vec::new();
    f.params.iter().for_each(|p| whole_dimensions(&p.ty, &mut whole));
    whole.retain(|name| is_letter(name));
    // The parameters may serve as sizes wherever they stand.
    let bound = f.params.iter().flat_map(|p| p.pattern.names()).map(|n| n.name.clone());
    let mut found = Constants { scope: bound.chain(whole).collect(), found: Vec::new() };
    f.params.iter().for_each(|p| found.sizes(&p.ty));
    found.sizes(&f.result);
    found.expr(&f.body);
    found.found
}

fn is_letter(name: &str) -> bool {
    name.chars().filter(|c| c.is_alphabetic()).count() == 1
}

/// The names that are the whole dimension of an array.
fn whole_dimensions(ty: &Type, names: &mut Vec<Name>) {
    match &ty.kind {
        TypeKind::Array(element, size) => {
            if let Some(ExprKind::Path(path)) = size.as_ref().map(|e| &e.kind) {
                names.extend(path.single().map(|n| n.name.clone()));
            }
            whole_dimensions(element, names);
        }
        TypeKind::Tuple(parts) => parts.iter().for_each(|t| whole_dimensions(t, names)),
        _ => {}
    }
}

struct Constants {
    scope: Vec<Name>,
    found: Vec<Constant>,
}

impl Constants {
    /// The constants in the sizes of a type.
    fn sizes(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Array(element, size) => {
                size.iter().for_each(|e| self.expr(e));
                self.sizes(element);
            }
            TypeKind::Tuple(parts) => parts.iter().for_each(|t| self.sizes(t)),
            TypeKind::Function(f) => f.params.iter().chain([&f.result]).for_each(|t| self.sizes(t)),
            TypeKind::Scalar(_)
            | TypeKind::Record(_)
            | TypeKind::Generic(_)
            | TypeKind::Complex(_)
            | TypeKind::Infer => {}
        }
    }

    fn value(&mut self, path: &Path, cast: Option<Elem>) {
        let Some(last) = path.segments.last() else { return };
        let is_bound = path.single().is_some_and(|name| self.scope.contains(&name.name));
        let is_constant = is_screaming(&last.name) && !is_bound && !is_of_rust(path);
        if is_constant && !self.found.iter().any(|c| c.is(path, cast)) {
            self.found.push(Constant { path: path.clone(), cast });
        }
    }
}

impl Visitor for Constants {
    fn scope(&mut self) -> Option<&mut Vec<Name>> {
        Some(&mut self.scope)
    }

    /// A type in the body, which may give a size a name.
    fn ty(&mut self, ty: &Type) {
        let mut named = Vec::new();
        whole_dimensions(ty, &mut named);
        self.scope.extend(named.into_iter().filter(|name| is_letter(name)));
        self.sizes(ty);
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Path(path) => self.value(path, None),
            ExprKind::Cast(value, Type { kind: TypeKind::Scalar(elem), .. }) => match &value.kind {
                ExprKind::Path(path) => self.value(path, Some(*elem)),
                _ => self.expr(value),
            },
            ExprKind::Call(f, args) => {
                if !matches!(f.kind, ExprKind::Path(_)) {
                    self.expr(f);
                }
                self.exprs(args);
            }
            _ => self.walk_expr(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::constants;
    use crate::syntax::testing::parsed;

    fn found(source: &str) -> String {
        let (f, diagnostics) = parsed(source);
        assert!(diagnostics.is_empty(), "{source}: {:?}", diagnostics.list());
        let text = |c: &super::Constant| {
            c.cast.map_or_else(|| c.path.text(), |elem| format!("{} as {elem}", c.path.text()))
        };
        constants(&f).iter().map(text).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn names_in_capitals_that_nothing_has() {
        for (source, constants) in [
            (
                "fn f(x: [f64; n]) -> f64 { RATE * x.sum() + RATE + m::G + LIMIT as f64 }",
                "RATE, m::G, LIMIT as f64",
            ),
            ("fn f(x: [f64; WIDTH], RATE: f64) -> [f64; 2 * size::DEPTH] { RATE * x }", "WIDTH, size::DEPTH"),
            ("fn f(x: [f64; N], y: [f64; M + 1]) -> [f64; K] { let T = x[N]; T + G }", "M, K, G"),
            ("fn f(x: f64) -> f64 { let y: [f64; K] = g(x); y[K - 1] }", ""),
            ("fn f(x: f64) -> f64 { f64::MAX + std::f64::consts::PI + map(|A| A, x) + EXP(x) }", ""),
            (
                "fn f(x: f64) -> f64 { let y: [f64; WIDTH] = g(x); for i in 0..STEPS { } y[i32::MAX] }",
                "WIDTH, STEPS",
            ),
        ] {
            assert_eq!(found(source), constants, "{source}");
        }
    }
}
