//! Reading the structure that has `#[derive(Record)]`: what its fields are on the host, and what is wrong with it.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::Records;
use crate::diagnostics::{Code, Diagnostics};
use crate::syntax;
use crate::ty::{Elem, is_type_of_rust};

/// The highest rank of an array.
const MAX_RANK: usize = 6;

/// A structure with `#[derive(Record)]`.
pub struct Definition {
    /// Its name.
    pub ident: syn::Ident,
    /// The fields in order.
    pub fields: Vec<Field>,
}

/// A field.
pub struct Field {
    /// Its name.
    pub ident: syn::Ident,
    /// Who sees it.
    pub vis: syn::Visibility,
    /// What it is on the host.
    pub host: Host,
}

/// A type of the host.
pub enum Host {
    /// A number or truth value.
    Scalar(Elem),
    /// `Array2<f64>`: element type, and the sizes as they are written, outermost first.
    Array(Elem, Vec<TokenStream>),
    /// A tuple.
    Tuple(Vec<Host>),
    /// Another record.
    Record(syn::Path),
}

impl Host {
    /// The type in the notation of kernels, with records by their `id`.
    pub fn notation(&self, records: &Records) -> TokenStream {
        match self {
            Host::Scalar(elem) => super::ident(elem.name()).to_token_stream(),
            Host::Array(elem, sizes) => {
                let elem = super::ident(elem.name()).to_token_stream();
                sizes.iter().rev().fold(elem, |inner, size| quote!([#inner; #size]))
            }
            Host::Tuple(parts) => {
                let parts = parts.iter().map(|p| p.notation(records));
                quote!((#(#parts,)*))
            }
            Host::Record(path) => match records.get(&path_text(path)) {
                Some(r) => super::ident(&r.id).to_token_stream(),
                None => path.to_token_stream(),
            },
        }
    }

    /// The records in it.
    pub fn records(&self) -> Vec<&syn::Path> {
        match self {
            Host::Record(path) => vec![path],
            Host::Tuple(parts) => parts.iter().flat_map(Host::records).collect(),
            Host::Scalar(_) | Host::Array(..) => Vec::new(),
        }
    }
}

/// A path as `ast::Path::text` writes it.
pub fn path_text(p: &syn::Path) -> String {
    crate::carrier::path_text(&p.to_token_stream())
}

/// Reads a structure. `None` when errors were recorded.
pub fn read(item: &syn::DeriveInput, diagnostics: &mut Diagnostics) -> Option<Definition> {
    let before = diagnostics.list().len();
    let name = item.ident.unraw();
    let named = format!("as in `struct {name} {{ w: Array2<f64>, b: f64 }}`");
    let mut wrong = |span: Span, message: String, help: &str| {
        diagnostics.error(Code::RecordDefinition, span, message, help);
        None
    };
    if is_type_of_rust(&name.to_string()) {
        let message = format!(
            "the record has the name of the type `{name}`, which nothing next to it could mean any more"
        );
        return wrong(item.ident.span(), message, "give it another name: types begin with a capital letter");
    }
    let fields = match &item.data {
        syn::Data::Struct(syn::DataStruct { fields: syn::Fields::Named(fields), .. }) => &fields.named,
        syn::Data::Struct(_) => {
            let help = format!("give every field a name, {named}");
            return wrong(
                item.ident.span(),
                format!("the fields of the record `{name}` have no names"),
                &help,
            );
        }
        syn::Data::Enum(_) | syn::Data::Union(_) => {
            let help =
                format!("make it a structure with named fields, {named}; kernels have no alternatives");
            return wrong(
                item.ident.span(),
                format!("`{name}` is not a structure, so it cannot be a record"),
                &help,
            );
        }
    };
    if let Some(param) = item.generics.params.first() {
        let (what, help) = match param {
            syn::GenericParam::Lifetime(_) => {
                ("borrow", "let it own its arrays: `Array2<f64>`; kernels take it by reference")
            }
            _ => ("be generic", "write one structure per element type; sizes are named by `#[shape(n, m)]`"),
        };
        return wrong(param.span(), format!("the record `{name}` cannot {what}"), help);
    }
    if fields.is_empty() {
        return wrong(
            item.ident.span(),
            format!("the record `{name}` has no fields"),
            "give it a field, or do without it",
        );
    }
    let mut reader = Reader { diagnostics, name: name.to_string() };
    let fields: Vec<Field> = fields.iter().filter_map(|f| reader.field(f)).collect();
    reader.sizes(&fields);
    (diagnostics.list().len() == before).then(|| Definition { ident: item.ident.clone(), fields })
}

struct Reader<'a> {
    diagnostics: &'a mut Diagnostics,
    name: String,
}

impl Reader<'_> {
    fn wrong(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.error(Code::RecordDefinition, span, message, help);
    }

    fn field(&mut self, f: &syn::Field) -> Option<Field> {
        let ident = f.ident.clone()?;
        let shape = self.shape(f)?;
        let mut host = self.host(&f.ty, &ident)?;
        match (&mut host, shape) {
            (_, None) => {}
            (Host::Array(elem, sizes), Some((written, span))) => {
                if written.len() != sizes.len() {
                    let (found, expected) = (written.len(), sizes.len());
                    let message =
                        format!("`#[shape]` names {found} sizes of an array with {expected} dimensions");
                    let help = "name one size for each dimension, in the order of ndarray's shape; `_` leaves one unnamed";
                    self.wrong(span, message, help);
                    return None;
                }
                // What the sizes may be is decided where all types of kernels are read.
                let elem = super::ident(elem.name()).to_token_stream();
                let notation =
                    written.iter().rev().fold(elem, |inner, size| quote_spanned!(span=> [#inner; #size]));
                let before = self.diagnostics.list().len();
                if let Ok(ty) = syn::parse2::<syn::Type>(notation) {
                    syntax::parse_type(&ty, self.diagnostics);
                }
                if self.diagnostics.list().len() > before {
                    return None;
                }
                *sizes = written;
            }
            (_, Some((_, span))) => {
                self.wrong(span, "`#[shape]` names the sizes of an array", "remove it here");
                return None;
            }
        }
        Some(Field { ident, vis: f.vis.clone(), host })
    }

    /// The sizes of `#[shape(n, m)]`.
    fn shape(&mut self, f: &syn::Field) -> Option<Option<(Vec<TokenStream>, Span)>> {
        let mut found = None;
        for attr in f.attrs.iter().filter(|a| a.path().is_ident("shape")) {
            let span = attr.path().span();
            let sizes = attr.parse_args_with(|input: syn::parse::ParseStream<'_>| {
                let all = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated(input)?;
                Ok(all.into_iter().map(|e| e.to_token_stream()).collect::<Vec<_>>())
            });
            match sizes {
                Ok(sizes) if found.is_none() => found = Some((sizes, span)),
                Ok(_) => {
                    self.wrong(span, "`#[shape]` stands twice", "keep one");
                    return None;
                }
                Err(error) => {
                    let help = "name one size for each dimension: `#[shape(rows, columns)]`";
                    self.wrong(error.span(), "these are no sizes", help);
                    return None;
                }
            }
        }
        Some(found)
    }

    /// What a host type is.
    fn host(&mut self, ty: &syn::Type, field: &syn::Ident) -> Option<Host> {
        match ty {
            syn::Type::Paren(t) => self.host(&t.elem, field),
            syn::Type::Group(t) => self.host(&t.elem, field),
            syn::Type::Tuple(t) if !t.elems.is_empty() => {
                Some(Host::Tuple(t.elems.iter().map(|t| self.host(t, field)).collect::<Option<_>>()?))
            }
            syn::Type::Array(_) => {
                let help = "use an array of ndarray, `#[shape(3)] x: Array1<f64>`, say, or a tuple";
                self.no_type_of_kernels(ty, field, help)
            }
            syn::Type::Reference(_) | syn::Type::Slice(_) => self.no_type_of_kernels(ty, field, OWNED),
            syn::Type::Path(t) if t.qself.is_none() => match t.path.segments.last() {
                Some(last) if last.arguments.is_none() => self.plain(&t.path, &last.ident, ty, field),
                Some(last) => self.array(last).or_else(|| {
                    let help = match last.ident.to_string().as_str() {
                        "Vec" | "Box" | "Arc" | "Rc" => {
                            "use an array of ndarray: `Array1<f64>`, `Array2<f64>` and so on"
                        }
                        "ArrayD" => "the rank must be known: `Array1<f64>`, `Array2<f64>` and so on",
                        "ArrayView" | "ArrayViewMut" | "ArcArray" | "CowArray" | "ArrayRef" | "ArrayBase" => {
                            OWNED
                        }
                        _ => TYPES,
                    };
                    self.no_type_of_kernels(ty, field, help)
                }),
                None => self.no_type_of_kernels(ty, field, TYPES),
            },
            _ => self.no_type_of_kernels(ty, field, TYPES),
        }
    }

    /// What a name without arguments is: a scalar, or another record.
    fn plain(
        &mut self,
        path: &syn::Path,
        name: &syn::Ident,
        ty: &syn::Type,
        field: &syn::Ident,
    ) -> Option<Host> {
        if path.segments.len() > 1 {
            return Some(Host::Record(path.clone()));
        }
        match (Elem::from_name(&name.to_string()), name.to_string().as_str()) {
            (_, "usize" | "isize" | "u64") => {
                self.no_type_of_kernels(ty, field, "use `i64`, which sizes and indices are in kernels")
            }
            (Some(elem), _) => Some(Host::Scalar(elem)),
            (None, n) if n == self.name => {
                let help = "records are as large as their fields say";
                let message = format!("the record `{n}` contains itself");
                self.diagnostics.error(Code::Recursion, ty.span(), message, help);
                None
            }
            (None, "u8" | "i8" | "u16" | "i16" | "i128" | "u128" | "char" | "String" | "str" | "Self") => {
                self.no_type_of_kernels(ty, field, TYPES)
            }
            (None, _) => Some(Host::Record(path.clone())),
        }
    }

    fn no_type_of_kernels(&mut self, ty: &syn::Type, field: &syn::Ident, help: &str) -> Option<Host> {
        let (field, name) = (field.unraw(), &self.name);
        let message =
            format!("field `{field}` of record `{name}`: `{}` is not a type of kernels", syntax::text(ty));
        self.wrong(ty.span(), message, help);
        None
    }

    /// `Array2<f64>`, `Array<f64, Ix2>`.
    fn array(&mut self, segment: &syn::PathSegment) -> Option<Host> {
        let name = segment.ident.to_string();
        let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
        let types: Vec<String> = arguments
            .args
            .iter()
            .filter_map(|a| match a {
                syn::GenericArgument::Type(syn::Type::Path(t)) => {
                    t.path.segments.last().map(|s| s.ident.to_string())
                }
                _ => None,
            })
            .collect();
        let (elem, rank) = match (name.as_str(), types.as_slice()) {
            ("Array", [elem, dim]) => (elem, dim.strip_prefix("Ix")?),
            (_, [elem]) => (elem, name.strip_prefix("Array")?),
            _ => return None,
        };
        let rank: usize = rank.parse().ok().filter(|r| (1..=MAX_RANK).contains(r))?;
        let elem = Elem::from_name(elem).filter(|_| elem != "usize")?;
        Some(Host::Array(elem, vec![quote!(_); rank]))
    }

    /// A size that is a field must be an integer.
    fn sizes(&mut self, fields: &[Field]) {
        for f in fields {
            let Host::Array(_, sizes) = &f.host else { continue };
            for name in sizes.iter().flat_map(|s| names(s.clone())) {
                let of = fields.iter().find(|g| g.ident.unraw() == name.unraw());
                if of.is_some_and(|g| !matches!(g.host, Host::Scalar(Elem::I64))) {
                    let message = format!("the size `{name}` is also a field, which is no `i64`");
                    self.wrong(name.span(), message, "give the size another name");
                }
            }
        }
    }
}

/// What a field may be.
const TYPES: &str = "fields are `f32`, `f64`, `i32`, `i64`, `u32`, `bool`, arrays of these from `Array1<f64>` to `Array6<f64>`, \
                     tuples, and other records; keep anything else beside the record";

/// What to have in place of borrowed arrays.
const OWNED: &str = "a record owns its arrays: `Array1<f64>`, `Array2<f64>` and so on";

/// The names in a size.
fn names(size: TokenStream) -> Vec<syn::Ident> {
    let mut out = Vec::new();
    for t in size {
        match t {
            TokenTree::Ident(i) => out.push(i),
            TokenTree::Group(g) => out.extend(names(g.stream())),
            _ => {}
        }
    }
    out
}
