//! Type parameters of generic kernels, and parameters that are functions.
//!
//! ```text
//! fn f<T: Float>(x: T)                 T is an element type: `Float`, `Integer` or `Number`
//! fn f<T>(x: T)                        T is any type
//! fn f(g: impl Fn(f64) -> f64)         a parameter that is a function
//! fn f<G: Fn(f64) -> f64>(g: G)        the same; also as `where G: Fn(f64) -> f64`
//! ```
//!
//! What Rust wants of a type and kernels do not (`Copy`, `Send`, `'static`) may be written, and means nothing.

use rustc_hash::FxHashMap;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Token, TypeParamBound};

use super::ast::{Bound, FunctionType, Generic, Type, TypeKind};
use super::parse::{Parser, ident, text};
use super::types::Place;
use crate::diagnostics::Code;
use crate::ty::Name;

/// The bounds of one type parameter, from its declaration and the `where` clause.
type Bounds<'a> = Vec<&'a TypeParamBound>;

/// What the type parameters in sight stand for.
#[derive(Default)]
pub(super) struct TypeParameters {
    /// Those that stand for types.
    pub types: Vec<Generic>,
    /// Those that stand for functions.
    functions: FxHashMap<Name, FunctionType>,
}

impl TypeParameters {
    /// What a name stands for, if it is one of them.
    pub fn get(&self, name: &str) -> Option<TypeKind> {
        if let Some(generic) = self.types.iter().find(|g| *g.name.name == *name) {
            return Some(TypeKind::Generic(generic.name.name.clone()));
        }
        self.functions.get(name).map(|f| TypeKind::Function(Box::new(f.clone())))
    }
}

impl Parser<'_> {
    /// Reads the type parameters of a signature.
    pub(super) fn generics(&mut self, generics: &syn::Generics) {
        let mut declared: Vec<(&syn::Ident, Bounds<'_>)> = Vec::new();
        for param in &generics.params {
            match param {
                syn::GenericParam::Type(p) => declared.push((&p.ident, p.bounds.iter().collect())),
                other => self.no_parameter(other),
            }
        }
        for predicate in generics.where_clause.iter().flat_map(|w| &w.predicates) {
            let of = match predicate {
                syn::WherePredicate::Type(p) => match &p.bounded_ty {
                    syn::Type::Path(t) => t.path.get_ident().map(|name| (name, &p.bounds)),
                    _ => None,
                },
                _ => None,
            };
            match of.and_then(|(name, bounds)| Some((declared.iter_mut().find(|d| d.0 == name)?, bounds))) {
                Some((parameter, bounds)) => parameter.1.extend(bounds),
                None => {
                    let help =
                        "a `where` clause of a kernel says what its type parameters are: `where T: Float`";
                    self.unsupported(predicate.span(), "this condition has no meaning in a kernel", help);
                }
            }
        }
        // Types first: those of functions are made of them.
        let (functions, types): (Vec<_>, Vec<_>) =
            declared.into_iter().partition(|(_, bounds)| bounds.iter().any(|b| signature(b).is_some()));
        for (name, bounds) in types {
            let bound = bounds.iter().fold(Bound::Any, |bound, b| self.bound(b).unwrap_or(bound));
            self.parameters.types.push(Generic { name: ident(name), bound });
        }
        for (name, bounds) in functions {
            if let Some(f) = bounds.iter().find_map(|b| signature(b)) {
                let f = self.function_type(f);
                self.parameters.functions.insert(ident(name).name, f);
            }
        }
    }

    /// What a bound says, if it says anything to kernels.
    fn bound(&mut self, bound: &TypeParamBound) -> Option<Bound> {
        let TypeParamBound::Trait(t) = bound else { return None };
        let name = t.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "Float" => Some(Bound::Float),
            "Integer" => Some(Bound::Integer),
            "Number" => Some(Bound::Number),
            "Copy" | "Clone" | "Send" | "Sync" | "Sized" | "Debug" | "Default" | "PartialEq"
            | "PartialOrd" => None,
            _ => {
                let message = format!("`{}` says nothing about a type to kernels", text(bound));
                let help = "a type parameter is a `Float`, an `Integer`, a `Number`, a function as in `F: Fn(f64) -> f64`, or, \
                            without any of these, whatever is passed";
                self.unsupported(bound.span(), message, help);
                None
            }
        }
    }

    fn no_parameter(&mut self, param: &syn::GenericParam) {
        match param {
            syn::GenericParam::Lifetime(p) => {
                let message = format!("the lifetime `{}` has no meaning in a kernel", p.lifetime);
                let help = "remove it; `&` before a type needs no lifetime";
                self.unsupported(p.lifetime.span(), message, help);
            }
            syn::GenericParam::Const(p) => {
                let message = format!("a kernel cannot have the const parameter `{}`", p.ident);
                let name = ident(&p.ident).name;
                let help =
                    format!("remove it: `x: [f64; {name}]` introduces the size `{name}`; or pass a `usize`");
                self.unsupported(p.ident.span(), message, help);
            }
            syn::GenericParam::Type(_) => {}
        }
    }

    /// Reads `impl Fn(f64) -> f64`; `None` if it is something else.
    pub(super) fn function_of(&mut self, bounds: &Punctuated<TypeParamBound, Token![+]>) -> Option<TypeKind> {
        let f = bounds.iter().find_map(signature)?;
        Some(TypeKind::Function(Box::new(self.function_type(f))))
    }

    fn function_type(&mut self, f: &syn::ParenthesizedGenericArguments) -> FunctionType {
        let params = f.inputs.iter().map(|arg| self.ty(&arg.ty, Place::Function)).collect();
        let result = match &f.output {
            syn::ReturnType::Type(_, t) => self.ty(t, Place::Function),
            syn::ReturnType::Default => {
                let help = "functions that kernels take return a value: `impl Fn(f64) -> f64`, say";
                let message = "this function has no result type";
                self.diagnostics.error(Code::MissingAnnotation, f.span(), message, help);
                Type { kind: TypeKind::Infer, span: f.span() }
            }
        };
        FunctionType { params, result }
    }
}

/// The parameters and the result of `Fn(..) -> ..`.
fn signature(bound: &TypeParamBound) -> Option<&syn::ParenthesizedGenericArguments> {
    let TypeParamBound::Trait(t) = bound else { return None };
    let last = t.path.segments.last()?;
    match &last.arguments {
        syn::PathArguments::Parenthesized(f)
            if ["Fn", "FnMut", "FnOnce"].iter().any(|name| last.ident == name) =>
        {
            Some(f)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{errors, shown};

    #[test]
    fn parameters_of_types_and_functions() {
        for (written, read) in [
            ("<T: Float>(x: T)", "<T: Float>(x: T)"),
            ("<T: Copy + Number, U>(x: [T; n], u: U)", "<T: Number, U: Any>(x: [T; n], u: U)"),
            ("<T>(x: T, k: [i64; T])", "<T: Any>(x: T, k: [i64; T])"),
            ("(g: impl Fn(f64, [f32; n]) -> f64 + Copy)", "(g: Fn(f64, [f32; n]) -> f64)"),
            ("<G: Fn(T) -> (T, T), T: Float>(g: G)", "<T: Float>(g: Fn(T) -> (T, T))"),
            (
                "<T, G>(g: &G) -> T where T: Integer, G: FnMut([_; n]) -> T",
                "<T: Integer>(g: Fn([_; n]) -> T)",
            ),
        ] {
            let (signature, result) = written.split_once(") -> ").map_or((written, "f64"), |_| (written, ""));
            let arrow = if result.is_empty() { String::new() } else { format!(" -> {result}") };
            let shown = shown(&format!("fn f{signature}{arrow} {{ 1.0 }}"));
            assert!(shown.starts_with(&format!("f{read} -> ")), "{written}: {shown}");
        }
        assert_eq!(shown("fn f<T: Float>(x: T) -> T { x as T }"), "f<T: Float>(x: T) -> T { (as x T) }");
    }

    #[test]
    fn refused_parameters() {
        for (written, start) in [
            ("<'a>(x: &'a f64)", "AD0001 the lifetime `'a`"),
            ("<const N: usize>(x: [f64; N])", "AD0001 a kernel cannot have the const parameter `N`"),
            ("<T: Display>(x: T)", "AD0001 `Display` says nothing"),
            ("(g: impl Display)", "AD0001 `impl Display`"),
            ("(g: fn(f64) -> f64)", "AD0001 `fn(f64) -> f64`"),
            ("(g: (impl Fn(f64) -> f64, f64))", "AD0001 a function is a parameter of its own"),
            ("(g: impl Fn(f64))", "AD0010 this function has no result type"),
            ("(g: impl Fn(impl Fn(f64) -> f64) -> f64)", "AD0001 a function is a parameter of its own"),
        ] {
            let found = errors(&format!("fn f{written} -> f64 {{ 1.0 }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
        }
        assert!(errors("fn f(x: f64) -> f64 where i64: Copy { x }")[0].starts_with("AD0001 this condition"));
        assert!(
            errors("fn f(x: f64) -> impl Fn(f64) -> f64 { x }")[0]
                .starts_with("AD0001 a function is a parameter")
        );
    }
}
