//! Types: the element types (and `usize`), arrays in Rust's notation with size expressions, tuples, records. Any other
//! path is taken for a record: whether it is one, only its `derive(Record)` can tell.
//!
//! A size in a signature is a polynomial in integer literals and names, so that the host can compute it and equality
//! can be decided. Inside the body it may be any integer expression.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::ast::{Binary, Expr, ExprKind, Type, TypeKind, Unary};
use super::parse::{Parser, path, text};
use super::pattern::is_screaming;
use crate::diagnostics::Code;
use crate::ty::Elem;

/// The highest rank of an array.
const MAX_RANK: usize = 6;

/// The element types as messages list them.
pub const ELEMENT_TYPES: &str =
    "`f32`, `f64`, `i32`, `i64` (or `usize`), `u32`, `bool`, `Complex<f32>`, `Complex<f64>`";

/// Where a type is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The type of a parameter: nothing may be left to inference.
    Parameter,
    /// In a signature: inside the type of a parameter, or the result. Nothing may be left to inference.
    Signature,
    /// In the type of a function that a kernel takes: sizes may be left open.
    Function,
    /// In a `let`, a closure or a cast: `_` leaves a part open.
    Body,
}

/// Number of array dimensions, those inside tuples included: an array of tuples is stored as a tuple of arrays.
fn rank(ty: &Type) -> usize {
    match &ty.kind {
        TypeKind::Array(element, _) => 1 + rank(element),
        TypeKind::Tuple(parts) => parts.iter().map(rank).max().unwrap_or(0),
        TypeKind::Scalar(_)
        | TypeKind::Record(_)
        | TypeKind::Generic(_)
        | TypeKind::Complex(_)
        | TypeKind::Function(_)
        | TypeKind::Infer => 0,
    }
}

/// Whether there are arrays of complex numbers in a type.
fn is_of_complex(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Array(element, _) => is_of_complex(element),
        TypeKind::Tuple(parts) => parts.iter().any(is_of_complex),
        TypeKind::Scalar(elem) => elem.is_complex(),
        TypeKind::Complex(_) => true,
        TypeKind::Record(_) | TypeKind::Generic(_) | TypeKind::Function(_) | TypeKind::Infer => false,
    }
}

impl Parser<'_> {
    /// Reads a type.
    pub(super) fn ty(&mut self, ty: &syn::Type, place: Place) -> Type {
        let result = self.part(ty, place);
        // The parts of complex numbers are a dimension of their own.
        let (rank, highest) = (rank(&result), MAX_RANK - usize::from(is_of_complex(&result)));
        if rank > highest {
            let message = format!("an array of rank {rank}: the highest rank is {highest}");
            self.diagnostics.error(
                Code::Limit,
                result.span,
                message,
                "merge dimensions, `[f64; n * m]`, say",
            );
        }
        result
    }

    /// Reads the target of a cast: a scalar type, or `_` for the one that the context wants.
    pub(super) fn cast_target(&mut self, ty: &syn::Type) -> Type {
        let result = self.ty(ty, Place::Body);
        if matches!(result.kind, TypeKind::Array(..) | TypeKind::Tuple(_) | TypeKind::Record(_)) {
            let message = format!("`as` converts to an element type, found `{}`", text(ty));
            let help = "name the element type: `xs as f32` converts every element";
            self.diagnostics.error(Code::ElementType, result.span, message, help);
        }
        result
    }

    fn part(&mut self, ty: &syn::Type, place: Place) -> Type {
        let span = ty.span();
        // What is in a parameter's type is no parameter itself.
        let inside = if place == Place::Parameter { Place::Signature } else { place };
        let kind = match ty {
            syn::Type::Paren(t) => return self.part(&t.elem, place),
            syn::Type::Group(t) => return self.part(&t.elem, place),
            syn::Type::Reference(t) => {
                if let Some(token) = &t.mutability {
                    let help = "write `&` or nothing; return the changed array as (part of) the result";
                    self.unsupported(token.span, "a kernel cannot change its arguments", help);
                }
                return self.part(&t.elem, place);
            }
            syn::Type::Array(t) => {
                let element = self.part(&t.elem, inside);
                TypeKind::Array(Box::new(element), self.size(&t.len, inside).map(Box::new))
            }
            syn::Type::Slice(t) => TypeKind::Array(Box::new(self.part(&t.elem, inside)), None),
            syn::Type::Tuple(t) => TypeKind::Tuple(t.elems.iter().map(|t| self.part(t, inside)).collect()),
            syn::Type::Infer(_) => {
                if place != Place::Body {
                    let help = format!("write one of {ELEMENT_TYPES}, or an array or tuple of these");
                    let message = "`_` in a signature does not say the type";
                    self.diagnostics.error(Code::MissingAnnotation, span, message, help);
                }
                TypeKind::Infer
            }
            syn::Type::Path(t) => {
                let parameter = t.path.get_ident().filter(|_| t.qself.is_none());
                match parameter.and_then(|name| self.parameters.get(&name.unraw().to_string())) {
                    Some(TypeKind::Function(_)) if place != Place::Parameter => self.misplaced_function(span),
                    Some(kind) => kind,
                    None => self.named(t),
                }
            }
            syn::Type::ImplTrait(t) => match self.function_of(&t.bounds) {
                Some(kind) if place == Place::Parameter => kind,
                Some(_) => self.misplaced_function(span),
                None => self.no_function(ty),
            },
            syn::Type::TraitObject(_) | syn::Type::FnPtr(_) => self.no_function(ty),
            syn::Type::Macro(_) => {
                self.unsupported(span, "macros are not supported in a kernel's types", "write the type out");
                TypeKind::Infer
            }
            _ => self.unknown(span, &text(ty), "an array or tuple of these"),
        };
        Type { kind, span }
    }

    fn no_function(&mut self, ty: &syn::Type) -> TypeKind {
        let message = format!("`{}` is not a type of kernels", text(ty));
        let help = "a kernel that takes a function says so with `impl Fn(f64) -> f64`, say";
        self.unsupported(ty.span(), message, help);
        TypeKind::Infer
    }

    fn misplaced_function(&mut self, span: Span) -> TypeKind {
        let help = "pass every function by itself; functions are not parts of values, and no kernel or function of one returns one";
        self.unsupported(span, "a function is a parameter of its own", help);
        TypeKind::Infer
    }

    fn named(&mut self, ty: &syn::TypePath) -> TypeKind {
        let span = ty.span();
        let elem =
            ty.path.get_ident().filter(|_| ty.qself.is_none()).and_then(|i| Elem::from_name(&i.to_string()));
        if let Some(elem) = elem {
            return TypeKind::Scalar(elem);
        }
        let Some(last) = ty.path.segments.last() else {
            return self.unknown(span, &text(ty), "an array or tuple of these");
        };
        match (last.ident.to_string().as_str(), type_argument(last)) {
            ("Complex", Some(part)) => self.complex(ty, part),
            ("Complex32", None) => TypeKind::Scalar(Elem::C32),
            ("Complex64", None) => TypeKind::Scalar(Elem::C64),
            ("Vec" | "Box" | "Arc" | "Rc" | "VecDeque", Some(_)) => {
                let help =
                    format!("write `{}`, an array with its sizes named", as_array(ty, &["n", "m", "l"]));
                let message = format!("`{}` is not a type of kernels", text(ty));
                self.diagnostics.error(Code::ElementType, span, message, help);
                TypeKind::Infer
            }
            (array, Some(elem)) if array_rank(array).is_some() => {
                let names = ["n", "m", "l", "k", "j", "i"].into_iter().take(array_rank(array).unwrap_or(1));
                let written = names.rev().fold(text(elem), |t, n| format!("[{t}; {n}]"));
                let message = format!("`{}` is not a type of kernels", text(ty));
                let help =
                    format!("write `{written}`, an array with its sizes named; calls take ndarray's arrays");
                self.diagnostics.error(Code::ElementType, span, message, help);
                TypeKind::Infer
            }
            (
                "u8" | "i8" | "u16" | "i16" | "u64" | "i128" | "u128" | "isize" | "f16" | "f128" | "char",
                None,
            ) => self.unknown(span, &text(ty), "convert on the host"),
            ("String" | "str", None) => self.unknown(span, &text(ty), "keep text on the host"),
            _ if ty.qself.is_none() && ty.path.segments.iter().all(|s| s.arguments.is_none()) => {
                let path = path(&ty.path);
                match path.segments.first() {
                    Some(first) if &*first.name == "Self" => {
                        self.unknown(span, &text(ty), "name the structure")
                    }
                    _ => TypeKind::Record(path),
                }
            }
            _ => {
                let advice = "an array such as `[f64; n]`, a tuple, or a structure with `#[derive(Record)]`";
                self.unknown(span, &text(ty), advice)
            }
        }
    }

    /// `Complex<f64>`, under any path.
    fn complex(&mut self, ty: &syn::TypePath, part: &syn::Type) -> TypeKind {
        match self.part(part, Place::Body).kind {
            TypeKind::Scalar(Elem::F32) => TypeKind::Scalar(Elem::C32),
            TypeKind::Scalar(Elem::F64) => TypeKind::Scalar(Elem::C64),
            TypeKind::Generic(name) => TypeKind::Complex(name),
            _ => {
                let message = format!("`{}` is not a type of kernels", text(ty));
                let help = "the parts of a complex number are floats: `Complex<f32>`, `Complex<f64>`";
                self.diagnostics.error(Code::ElementType, ty.span(), message, help);
                TypeKind::Infer
            }
        }
    }

    fn unknown(&mut self, span: Span, found: &str, advice: &str) -> TypeKind {
        let message = format!("`{found}` is not a type of kernels");
        let help = format!("the element types are {ELEMENT_TYPES}; use one of them, or {advice}");
        self.diagnostics.error(Code::ElementType, span, message, help);
        TypeKind::Infer
    }

    /// A size in an array type; `_` is none.
    fn size(&mut self, len: &syn::Expr, place: Place) -> Option<Expr> {
        if matches!(len, syn::Expr::Infer(_)) {
            return None;
        }
        let size = self.expr(len);
        if place != Place::Body
            && let Some(span) = not_a_polynomial(&size)
        {
            let other = "for any other size write `_`, or compute it inside the kernel";
            let help = match quotient(&size) {
                Some(by) => format!(
                    "name the quotient, `q` say, and write `{by} * q` for what is divided: calls check then that it divides; {other}"
                ),
                None => {
                    format!("sizes in a signature are made of integers, names, `+`, `-` and `*`; {other}")
                }
            };
            self.unsupported(span, format!("`{}` cannot be a size in a signature", text(len)), help);
        }
        Some(size)
    }
}

/// The rank of ndarray's array type of this name.
fn array_rank(name: &str) -> Option<usize> {
    let rank = name.strip_prefix("Array").map(|rest| rest.strip_prefix("View").unwrap_or(rest))?;
    rank.parse().ok().filter(|r| (1..=MAX_RANK).contains(r))
}

/// The first type argument of a path's segment: `T` of `Vec<T>`.
fn type_argument(segment: &syn::PathSegment) -> Option<&syn::Type> {
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|a| if let syn::GenericArgument::Type(t) = a { Some(t) } else { None })
}

/// The array type to suggest for a container: `[[f64; m]; n]` for `Vec<Vec<f64>>`, `[f64; n]` for `Box<[f64]>`.
fn as_array(ty: &syn::TypePath, names: &[&str]) -> String {
    let Some(inner) = ty.path.segments.last().and_then(type_argument) else { return text(ty) };
    let (name, rest) = names.split_first().map_or(("_", names), |(n, rest)| (*n, rest));
    match inner {
        syn::Type::Path(p) => format!("[{}; {name}]", as_array(p, rest)),
        syn::Type::Slice(s) => format!("[{}; {name}]", text(&s.elem)),
        other => format!("[{}; {name}]", text(other)),
    }
}

/// The integer by which a size is divided.
fn quotient(e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Block(stmts, Some(e)) if stmts.is_empty() => quotient(e),
        ExprKind::Binary(Binary::Div, _, by, _) => match by.kind {
            ExprKind::Int(by, _) => Some(by),
            _ => None,
        },
        _ => None,
    }
}

/// Where an expression stops being a polynomial over names, if it does.
fn not_a_polynomial(e: &Expr) -> Option<Span> {
    match &e.kind {
        ExprKind::Int(_, suffix) => suffix.is_some_and(|s| s != Elem::I64).then_some(e.span),
        ExprKind::Error => None,
        ExprKind::Path(path) => {
            let is_constant = path.segments.last().is_some_and(|s| is_screaming(&s.name));
            (path.single().is_none() && !is_constant).then_some(e.span)
        }
        ExprKind::Unary(Unary::Neg, a) => not_a_polynomial(a),
        ExprKind::Block(stmts, Some(e)) if stmts.is_empty() => not_a_polynomial(e),
        ExprKind::Binary(Binary::Add | Binary::Sub | Binary::Mul, a, b, _) => {
            not_a_polynomial(a).or_else(|| not_a_polynomial(b))
        }
        _ => Some(e.span),
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{errors, shown};

    #[test]
    fn supported_types() {
        for (written, read) in [
            ("f64", "f64"),
            ("usize", "i64"),
            ("&'a [f32]", "[f32]"),
            ("[bool; _]", "[bool]"),
            ("&[[u32; 2 * m + 1]; n]", "[[u32; (add (mul 2 m) 1)]; n]"),
            ("((f64, [i32; (3)]), ())", "((f64, [i32; 3]), ())"),
            ("[f64; { n - -1 }]", "[f64; { (sub n (neg 1)) }]"),
            ("[(f64, [f64; m]); n]", "[(f64, [f64; m]); n]"),
            ("(&Net, ::model::Net)", "(Net, ::model::Net)"),
            ("([num_complex::Complex<f32>; n], Complex64)", "([c32; n], c64)"),
        ] {
            let source = format!("fn f(x: {written}) -> f64 {{ 1.0 }}");
            assert_eq!(shown(&source), format!("f(x: {read}) -> f64 {{ 1.0 }}"));
        }
    }

    #[test]
    fn refused_types() {
        for (written, start) in [
            ("u8", "AD0005 `u8` is not a type of kernels | the element types are `f32`, `f64`, `i32`"),
            ("Vec<f64>", "AD0005 `Vec<f64>` is not a type of kernels | write `[f64; n]`"),
            ("&Vec<Vec<f32>>", "AD0005 `Vec<Vec<f32>>` is not a type of kernels | write `[[f32; m]; n]`"),
            ("String", "AD0005 `String` is not a type of kernels"),
            ("geometry::Point<f64>", "AD0005 `geometry::Point<f64>` is not"),
            ("&Array2<f64>", "AD0005 `Array2<f64>` is not a type of kernels | write `[[f64; m]; n]`"),
            ("Self", "AD0005 `Self` is not"),
            ("_", "AD0010 `_` in a signature"),
            ("&mut [f64]", "AD0001 a kernel cannot change its arguments"),
            (
                "[f64; n / 2]",
                "AD0001 `n / 2` cannot be a size in a signature | name the quotient, `q` say, and write `2 * q`",
            ),
            (
                "[f64; n % 2]",
                "AD0001 `n % 2` cannot be a size in a signature | sizes in a signature are made of",
            ),
            ("[f64; Self::N]", "AD0001 `Self`"),
            ("[[[[[[[f64; a]; a]; a]; a]; a]; a]; a]", "AD0019 an array of rank 7"),
            (
                "[[[[[[Complex<f64>; a]; a]; a]; a]; a]; a]",
                "AD0019 an array of rank 6: the highest rank is 5",
            ),
        ] {
            let found = errors(&format!("fn f(x: {written}) -> f64 {{ 1.0 }}"));
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert!(found[0].starts_with(start), "{written}: {found:?}");
        }
    }

    #[test]
    fn sizes_in_the_body_are_any_expression() {
        let source = "fn f(x: i64) -> f64 { let y: [_; x / 2] = z; y }";
        assert!(errors(source).is_empty());
        assert_eq!(shown(source), "f(x: i64) -> f64 { let y: [_; (div x 2)] = z; y }");
    }

    #[test]
    fn casts_go_to_element_types() {
        assert_eq!(shown("fn f(x: i64) -> f64 { x as f64 }"), "f(x: i64) -> f64 { (as x f64) }");
        assert_eq!(shown("fn f(x: i64) -> f64 { x as _ }"), "f(x: i64) -> f64 { (as x _) }");
        assert!(errors("fn f(x: i64) -> f64 { x as [f64; 3] }")[0].starts_with("AD0005 `as` converts"));
        assert_eq!(errors("fn f(x: i64) -> f64 { x as u8 }").len(), 1);
    }
}
