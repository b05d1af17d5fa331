//! Which names of a kernel stand for sizes, which for other kernels, and which for records.
//!
//! A name in the size of a parameter's type is an implicit size unless a scalar parameter has that name. A path
//! stands for another kernel where it is called, or stands where a call takes a function, and neither a local
//! variable, a size, a built-in function nor a constant can be meant. Anywhere else an unknown name is a
//! misspelled value.

use rustc_hash::FxHashSet;

use super::ast::{Expr, ExprKind, Function, Ident, Param, Path, Pattern, Type, TypeKind};
use super::pattern::is_screaming;
use super::walk::Visitor;
use crate::ty::Name;

/// The implicit size parameters, in order of first occurrence.
pub fn size_names(f: &Function) -> Vec<Ident> {
    let mut scalars = FxHashSet::default();
    f.params.iter().for_each(|p| scalar_names(&p.pattern, &p.ty, &mut scalars));
    let mut names = Vec::new();
    f.params.iter().for_each(|p| names_in_type(&p.ty, &mut names));
    let mut seen = FxHashSet::default();
    let constants = super::constants(f);
    let is_constant = |n: &Ident| constants.iter().any(|c| c.path.single().is_some_and(|s| s.name == n.name));
    names.retain(|n| !scalars.contains(&n.name) && !is_constant(n) && seen.insert(n.name.clone()));
    names
}

/// The built-in functions, as far as finding kernels goes.
pub struct Builtins<'a> {
    /// Whether a plain name is one of them.
    pub contains: &'a dyn Fn(&str) -> bool,
    /// Whether the argument of the named one, or of the kernel of this path, at this position is a function.
    pub takes_function: &'a dyn Fn(&str, usize) -> bool,
}

/// The paths that may be other kernels, each once, in order of first occurrence. The kernel's own name is among
/// them where it calls itself.
pub fn free_calls(f: &Function, builtins: &Builtins<'_>) -> Vec<Path> {
    names_of(f, builtins).kernels
}

/// The names of built-in functions in a kernel.
pub struct NamedBuiltins {
    /// Those that are called, or stand where a call takes a function, each once, in order of first occurrence.
    pub called: Vec<Ident>,
    /// Where these stand again, and where any are methods.
    pub others: Vec<Ident>,
}

/// The built-in functions that a kernel names.
pub fn named_builtins(f: &Function, builtins: &Builtins<'_>) -> NamedBuiltins {
    names_of(f, builtins).named
}

/// The paths that stand for records, in types, literals and patterns, each once, in order of first occurrence.
pub fn named_records(f: &Function) -> Vec<Path> {
    names_of(f, &Builtins { contains: &|_| true, takes_function: &|_, _| false }).records
}

fn names_of<'a>(f: &Function, builtins: &'a Builtins<'a>) -> Names<'a> {
    let mut names = Names {
        scope: Vec::new(),
        builtins,
        listed: FxHashSet::default(),
        kernels: Vec::new(),
        named: NamedBuiltins { called: Vec::new(), others: Vec::new() },
        records: Vec::new(),
    };
    for Param { pattern, ty, .. } in &f.params {
        names.bind(pattern);
        names.ty(ty);
    }
    names.ty(&f.result);
    names.expr(&f.body);
    names
}

fn scalar_names(pattern: &Pattern, ty: &Type, names: &mut FxHashSet<Name>) {
    match (pattern, &ty.kind) {
        (Pattern::Name(name) | Pattern::Mutable(name), TypeKind::Scalar(_)) => {
            _ = names.insert(name.name.clone())
        }
        (Pattern::Tuple(patterns, _), TypeKind::Tuple(types)) => {
            patterns.iter().zip(types).for_each(|(p, t)| scalar_names(p, t, names));
        }
        _ => {}
    }
}

/// The names in a type's sizes, from the outermost dimension inwards.
fn names_in_type(ty: &Type, names: &mut Vec<Ident>) {
    match &ty.kind {
        TypeKind::Array(element, size) => {
            size.iter().for_each(|e| names_in_size(e, names));
            names_in_type(element, names);
        }
        TypeKind::Tuple(parts) => parts.iter().for_each(|t| names_in_type(t, names)),
        // The sizes in the types of functions are those of the other parameters.
        TypeKind::Function(_)
        | TypeKind::Scalar(_)
        | TypeKind::Record(_)
        | TypeKind::Generic(_)
        | TypeKind::Complex(_)
        | TypeKind::Infer => {}
    }
}

/// The names that a size mentions.
pub fn names_in_size(e: &Expr, names: &mut Vec<Ident>) {
    match &e.kind {
        ExprKind::Path(path) => names.extend(path.single().cloned()),
        ExprKind::Binary(_, a, b, _) => {
            names_in_size(a, names);
            names_in_size(b, names);
        }
        ExprKind::Unary(_, a) | ExprKind::Block(_, Some(a)) => names_in_size(a, names),
        _ => {}
    }
}

/// Whether a path is one of Rust's own constants or functions, `f64::INFINITY` or `std::f64::consts::PI`, or of complex numbers.
pub(super) fn is_of_rust(path: &Path) -> bool {
    const ROOTS: [&str; 28] = [
        "std", "core", "alloc", "f16", "f32", "f64", "f128", "i8", "i16", "i32", "i64", "i128", "isize",
        "u8", "u16", "u32", "u64", "u128", "usize", "bool", "char", "Vec", "String", "Box", "Option",
        "Array", "Array1", "Array2",
    ];
    let of_complex = |s: &Ident| matches!(&*s.name, "Complex" | "Complex32" | "Complex64");
    let [first, .., _] = path.segments.as_slice() else { return false };
    ROOTS.contains(&&*first.name) || path.segments.iter().rev().nth(1).is_some_and(of_complex)
}

/// What is found on the way through a kernel.
struct Names<'a> {
    scope: Vec<Name>,
    builtins: &'a Builtins<'a>,
    /// The texts of the paths that are listed as functions, of either kind.
    listed: FxHashSet<String>,
    kernels: Vec<Path>,
    named: NamedBuiltins,
    records: Vec<Path>,
}

impl Visitor for Names<'_> {
    fn scope(&mut self) -> Option<&mut Vec<Name>> {
        Some(&mut self.scope)
    }

    fn record(&mut self, path: &Path) {
        if self.records.iter().all(|p| p.text() != path.text()) {
            self.records.push(path.clone());
        }
    }

    /// Reads the sizes of a type; an annotation may introduce one: `let kept: [f64; k] = filter(p, xs);`.
    fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Array(element, size) => {
                if let Some(size) = size {
                    self.expr(size);
                    let mut names = Vec::new();
                    names_in_size(size, &mut names);
                    self.bound(names.into_iter().map(|n| n.name));
                }
                self.ty(element);
            }
            TypeKind::Tuple(parts) => parts.iter().for_each(|t| self.ty(t)),
            TypeKind::Record(path) => self.record(path),
            TypeKind::Function(f) => f.params.iter().chain([&f.result]).for_each(|t| self.ty(t)),
            TypeKind::Scalar(_) | TypeKind::Generic(_) | TypeKind::Complex(_) | TypeKind::Infer => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        let builtins = self.builtins;
        match &e.kind {
            ExprKind::Call(f, args) => {
                self.function(f, true);
                self.arguments_of(f, args);
            }
            ExprKind::Method(receiver, name, args) => {
                self.expr(receiver);
                if (builtins.contains)(&name.name) {
                    self.named.others.push(name.clone());
                }
                // The receiver is the first argument, except that `xs.map(f)` is `map(f, xs)`, and other functions that
                // begin with a function alike.
                let shift = usize::from(!(builtins.takes_function)(&name.name, 0));
                self.arguments(args, |i| (builtins.takes_function)(&name.name, i + shift));
            }
            _ => self.walk_expr(e),
        }
    }
}

impl Names<'_> {
    /// A function to call, or an argument that may be one.
    fn function(&mut self, e: &Expr, called: bool) {
        let ExprKind::Path(path) = &e.kind else { return self.expr(e) };
        let known = match path.single() {
            Some(name) if self.scope.contains(&name.name) => true,
            Some(name) if (self.builtins.contains)(&name.name) => {
                let first = self.listed.insert(path.text());
                let list = if first { &mut self.named.called } else { &mut self.named.others };
                list.push(name.clone());
                true
            }
            Some(_) => false,
            None => is_of_rust(path),
        };
        let constant = !called && path.segments.last().is_some_and(|s| is_screaming(&s.name));
        if !known && !constant && self.listed.insert(path.text()) {
            self.kernels.push(path.clone());
        }
    }

    /// The arguments of a call; those for which `function` holds may be functions.
    fn arguments(&mut self, es: &[Expr], function: impl Fn(usize) -> bool) {
        for (i, e) in es.iter().enumerate() {
            if function(i) { self.function(e, false) } else { self.expr(e) }
        }
    }

    /// The arguments of a call of `f`, which may take functions.
    fn arguments_of(&mut self, f: &Expr, es: &[Expr]) {
        let builtins = self.builtins;
        match &f.kind {
            ExprKind::Path(path) => match path.single().map(|n| &*n.name) {
                Some(n) if self.scope.iter().any(|s| **s == *n) => self.arguments(es, |_| true),
                Some(n) if (builtins.contains)(n) => self.arguments(es, |i| (builtins.takes_function)(n, i)),
                _ => self.arguments(es, |i| (builtins.takes_function)(&path.text(), i)),
            },
            _ => self.arguments(es, |_| true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Builtins, free_calls, named_builtins, named_records, size_names};
    use crate::syntax::ast::Ident;
    use crate::syntax::testing::parsed;

    fn sizes(source: &str) -> String {
        size_names(&parsed(source).0).iter().map(|n| n.name.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn calls(body: &str) -> String {
        let source = format!("fn f(x: f64, (g, k): (f64, i64), a: [[f64; m]; n]) -> [f64; r] {{ {body} }}");
        let (f, diagnostics) = parsed(&source);
        assert!(diagnostics.is_empty(), "{body}: {:?}", diagnostics.list());
        let builtins = Builtins {
            contains: &|name| ["map", "build", "sum", "exp", "grad", "filter"].contains(&name),
            takes_function: &|name, i| matches!((name, i), ("map" | "grad" | "filter", 0) | ("build", 1)),
        };
        free_calls(&f, &builtins).iter().map(|p| p.text()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn implicit_sizes() {
        assert_eq!(sizes("fn f(x: [[f64; m]; n], y: ([f64; n + k], f64)) -> [f64; r] { x }"), "n m k");
        assert_eq!(
            sizes("fn f(count: usize, (c, d): (i64, [f64; c * e]), x: [f64; count]) -> f64 { x }"),
            "e"
        );
        assert_eq!(sizes("fn f(x: [f64; _], y: [[f64; 3]]) -> f64 { x }"), "");
    }

    #[test]
    fn records_in_types_literals_and_patterns() {
        let source = "fn f(a: &A, (b, c): (m::B, [C; n])) -> D {
            let x: E = a; let F { y, .. } = x; let g = |p: G, H { z }| p; A { w: I { v: 1 }, ..(foo(J {})) } }";
        let records = named_records(&parsed(source).0);
        let text = records.iter().map(super::Path::text).collect::<Vec<_>>().join(" ");
        assert_eq!(text, "A m::B C D E F G H I J");
        assert_eq!(calls("let B { p, q: (r, s) } = g; p(r) + C { t: foo(q), ..bar(r) }"), "foo bar");
    }

    #[test]
    fn builtins_that_are_named() {
        let source = "fn f(x: [f64; n], exp: f64) -> f64 { let sum = |y| y; sum(map(foo, x)) + exp(x).map(x) + grad(build)(x) + map(k, x) }";
        let builtins = Builtins {
            contains: &|name| ["map", "build", "sum", "exp", "grad"].contains(&name),
            takes_function: &|name, i| matches!((name, i), ("map" | "grad", 0)),
        };
        let found = named_builtins(&parsed(source).0, &builtins);
        let text = |names: &[Ident]| names.iter().map(|n| n.name.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(text(&found.called), "map grad build");
        assert_eq!(text(&found.others), "map map");
    }

    #[test]
    fn called_paths() {
        for (body, found) in [
            ("foo(x) + m::foo(x) + foo(g) + crate::m::h(x)", "foo m::foo crate::m::h"),
            ("map(relu, a) + a.map(m::relu) + map(exp, a)", "relu m::relu"),
            ("sum(aa) + build(mm, |i| bb) + map(foo, aa) + a.sum(aa) + m::foo(aa)", "foo m::foo"),
            ("{ let h = |p| p(x); h(foo) }", "foo"),
            ("grad(loss)(x) + build((n, m), |i, j| bar(i))", "loss bar"),
            ("g(x) + k(x)", ""),
            ("build(n, |i| i) + build(r, |(p, q)| p(q))", ""),
            ("let h = |y| y; map(h, a) + h(x)", ""),
            ("x + { let h = h(x); h(x) } + h(x)", "h"),
            ("x + { let w = x; w } + map(w, a)", "w"),
            ("match k { 0 => foo(x), other => sum(other) }", "foo"),
            ("let b: [f64; kept] = filter(p, a); build(kept, |i| b[foo(i)..])", "p foo"),
            (
                "sum(f64::INFINITY) + f64::from(x) + sum(std::f64::consts::PI) + sum(LIMIT) + sum(config::RATE)",
                "",
            ),
            ("y + z[w]", ""),
            ("let b: [f64; foo(k)] = a; b", "foo"),
            ("if foo(x) { -bar(x).0 } else { [baz(x); 3] as f32 }", "foo bar baz"),
            ("f(x)", "f"),
            ("einsum!(\"i,i->\", foo(a), map(bar, a))", "foo bar"),
            ("let mut s = x; for (i, v) in map(k, foo(a)) { s += v(i) } s", "foo"),
            (
                "let mut s = x; for i in foo(0)..n { s[bar(i)] = baz(i); } while qux(i) { i } s",
                "foo bar baz qux",
            ),
        ] {
            assert_eq!(calls(body), found, "{body}");
        }
    }
}
