//! Records: structures of arrays, scalars, tuples and other records, as arguments, results and gradients of kernels.
//!
//! ```ignore
//! #[derive(Record, Clone, Debug)]
//! struct Net {
//!     #[shape(features, classes)]
//!     w: Array2<f64>,
//!     #[shape(classes)]
//!     b: Array1<f64>,
//!     scale: f64,
//! }
//!
//! #[kernel]
//! fn logits(net: &Net, x: [f64; features]) -> [f64; classes] { net.scale * (matvec(transpose(net.w), x) + net.b) }
//! ```
//!
//! * **On the host** a record is the user's own structure. Element types and ranks are read off the host types (`Array2<f64>`);
//!   `#[shape(..)]` names sizes in the order of ndarray's shape, and is left out where sizes need no name. Kernels take `&Net`
//!   and give `Net`.
//! * **In a kernel** a record is a tuple whose parts have names. The names end with `elaborate`: Core and everything after it
//!   know tuples only, and `emit::signature` puts the structure on again.
//! * **Sizes.** In a parameter's type the names of a record's sizes are sizes of the kernel, so the same name in two records
//!   is one size, checked on entry. A size may also be an `i64` field of the same record. Anywhere else (a literal, a result,
//!   an annotation) the names only tie the fields of that one value to each other. A record that stands in another one more than
//!   once has sizes of its own in each place (`place`).
//! * **The gradient** by a record is that record again, so its fields without a derivative (integers, truth values) are there
//!   too: they are zero, as are their tangents, and in a tangent or cotangent that is passed in they are not looked at. Of
//!   a record without any float there is no derivative. Where derivatives have other ranks than the fields (`jacobian`, `hessian`,
//!   `vmap`) a record becomes the tuple of its fields.
//!
//! A macro sees only its own tokens, so a record has a macro of its own name that carries its definition, as kernels have
//! (`link`). A record asks the records in it, so that the text is complete: Rust's own notation, with every record under a
//! name that is unique by file and position.
//!
//! ```text
//! #[name = "Net"] struct __array_dsl_Net_0f.. { w: [[f64; classes]; features], b: [f64; classes], scale: f64 }
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `mod` | what kernels know of a record; the text that carries it |
//! | `definition` | reading the structure that has `#[derive(Record)]` |
//! | `place` | where a record stands in another one, and what its sizes are called there |
//! | `items` | the implementations for the host and for GPUs |

pub mod definition;
pub mod items;
mod place;

use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use rustc_hash::FxHashMap;
use syn::ext::IdentExt;

pub use self::place::Place;
use crate::diagnostics::Diagnostics;
use crate::syntax::{self, ast};
use crate::ty::Name;

/// A record as kernels know it.
#[derive(Debug)]
pub struct Record {
    /// The name that its definition has, for messages.
    pub name: Name,
    /// The name under which it is carried, which no other record has.
    pub id: Name,
    /// The fields in order.
    pub fields: Vec<Field>,
    /// The text that carries it.
    text: String,
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its type; a record in it has its `id` as its path.
    pub ty: ast::Type,
}

impl Record {
    /// The names of the fields as a list for messages.
    pub fn field_names(&self) -> String {
        self.fields.iter().map(|f| format!("`{}`", f.name)).collect::<Vec<_>>().join(", ")
    }
}

/// The records that are known, by every path that stands for them and by their `id`.
pub type Records = FxHashMap<String, Rc<Record>>;

/// What the text of a record begins with.
const MARK: &str = "record ";

/// Reads the text that carries a record, and adds what is in it to `records`. The `id` of the record itself.
pub fn read(text: &str, records: &mut Records) -> Option<String> {
    let ids = read_all(text.strip_prefix(MARK)?, records)?;
    ids.first().cloned()
}

/// Reads structures in the notation of the module header.
fn read_all(text: &str, records: &mut Records) -> Option<Vec<String>> {
    let file = syn::parse_str::<syn::File>(text).ok()?;
    let mut ids = Vec::new();
    for item in &file.items {
        let syn::Item::Struct(item) = item else { return None };
        let name = item.attrs.iter().find_map(|a| match &a.meta {
            syn::Meta::NameValue(syn::MetaNameValue {
                value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }),
                ..
            }) => Some(name.value()),
            _ => None,
        })?;
        let mut diagnostics = Diagnostics::default();
        let mut fields = Vec::new();
        for f in &item.fields {
            let name = f.ident.as_ref()?.unraw().to_string().into();
            fields.push(Field { name, ty: syntax::parse_type(&f.ty, &mut diagnostics) });
        }
        if !diagnostics.is_empty() {
            return None;
        }
        let id = item.ident.to_string();
        let text = item.to_token_stream().to_string();
        records
            .insert(id.clone(), Rc::new(Record { name: name.into(), id: id.as_str().into(), fields, text }));
        ids.push(id);
    }
    Some(ids)
}

/// The text that carries the record of a definition; `records` has those in it by the paths of the definition.
pub fn write(d: &definition::Definition, records: &Records) -> String {
    let (id, name) = (crate::carrier::hidden(&d.ident), d.ident.unraw().to_string());
    let fields = d.fields.iter().map(|f| {
        let (ident, ty) = (&f.ident, f.host.notation(records));
        quote!(#ident: #ty)
    });
    let own = quote!(#[name = #name] struct #id { #(#fields),* });
    let inner = d.fields.iter().flat_map(|f| f.host.records());
    let inner = inner.filter_map(|p| records.get(&definition::path_text(p)));
    format!("{MARK}{own} {}", texts(inner.cloned(), records))
}

/// The texts of records and of the records in them, each once.
fn texts(of: impl Iterator<Item = Rc<Record>>, records: &Records) -> String {
    let mut todo: Vec<Rc<Record>> = of.collect();
    let mut done: Vec<Rc<Record>> = Vec::new();
    while let Some(r) = todo.pop() {
        if done.iter().any(|d| d.id == r.id) {
            continue;
        }
        for f in &r.fields {
            named(&f.ty, &mut |p| todo.extend(records.get(p).cloned()));
        }
        done.push(r);
    }
    done.iter().map(|r| r.text.clone() + " ").collect()
}

/// Calls `f` with the records in a type.
fn named(ty: &ast::Type, f: &mut dyn FnMut(&str)) {
    match &ty.kind {
        ast::TypeKind::Record(path) => f(&path.text()),
        ast::TypeKind::Array(inner, _) => named(inner, f),
        ast::TypeKind::Tuple(parts) => parts.iter().for_each(|t| named(t, f)),
        ast::TypeKind::Scalar(_)
        | ast::TypeKind::Generic(_)
        | ast::TypeKind::Complex(_)
        | ast::TypeKind::Function(_)
        | ast::TypeKind::Infer => {}
    }
}

/// The parameters' and the result's structure of a kernel that has records among them: what its Core does not tell.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Types of the parameters, records by `id`, without sizes.
    pub params: Vec<ast::Type>,
    /// Type of the result, likewise.
    pub result: ast::Type,
}

/// What separates the interface of a kernel from its Core.
const END: &str = "\nend of interface\n";

/// The text that carries a kernel: its Core, preceded by its interface if that has records.
pub fn carried(f: &ast::Function, core: &str, records: &Records) -> String {
    let mut used: Vec<Rc<Record>> = Vec::new();
    let types = f.params.iter().map(|p| &p.ty).chain([&f.result]);
    for t in types.clone() {
        named(t, &mut |p| used.extend(records.get(p).cloned()));
    }
    if used.is_empty() {
        return core.to_string();
    }
    let types: String = types.map(|t| structure(t, records) + ", ").collect();
    let definitions = texts(used.into_iter(), records);
    format!("interface ({types}) where {definitions}{END}{core}")
}

/// Splits the text that carries a kernel; the records of its interface are added to `records`.
pub fn uncarried<'t>(text: &'t str, records: &mut Records) -> Option<(Option<Interface>, &'t str)> {
    let Some(rest) = text.strip_prefix("interface ") else { return Some((None, text)) };
    let (interface, core) = rest.split_once(END)?;
    let (types, definitions) = interface.split_once(" where ")?;
    read_all(definitions, records)?;
    let syn::Type::Tuple(types) = syn::parse_str::<syn::Type>(types).ok()? else { return None };
    let mut diagnostics = Diagnostics::default();
    let mut params: Vec<ast::Type> =
        types.elems.iter().map(|t| syntax::parse_type(t, &mut diagnostics)).collect();
    let result = params.pop()?;
    diagnostics.is_empty().then_some((Some(Interface { params, result }), core))
}

/// A type without its sizes.
fn structure(ty: &ast::Type, records: &Records) -> String {
    match &ty.kind {
        ast::TypeKind::Scalar(elem) => elem.to_string(),
        ast::TypeKind::Array(inner, _) => format!("[{}]", structure(inner, records)),
        ast::TypeKind::Tuple(parts) => {
            let parts: String = parts.iter().map(|t| structure(t, records) + ", ").collect();
            format!("({parts})")
        }
        ast::TypeKind::Record(path) => {
            let text = path.text();
            records.get(&text).map_or(text, |r| r.id.to_string())
        }
        // A signature leaves nothing open; the error is recorded. Generic kernels are carried as they were written.
        ast::TypeKind::Generic(_)
        | ast::TypeKind::Complex(_)
        | ast::TypeKind::Function(_)
        | ast::TypeKind::Infer => "()".into(),
    }
}

/// An identifier of this text, raw if it must be.
pub(crate) fn ident(name: &str) -> Ident {
    match syn::parse_str::<Ident>(name) {
        Ok(_) => Ident::new(name, Span::call_site()),
        Err(_) => Ident::new_raw(name, Span::call_site()),
    }
}

/// The macro of a record's name, through which others get its definition.
pub fn carrier(d: &syn::DeriveInput, text: &str) -> TokenStream {
    crate::carrier::carrier_macro(&d.ident, &d.vis, text)
}
