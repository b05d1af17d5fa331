//! What the constants of generated code say, for whichever target: sizes by their numbers, dimensions as messages show them, places.

use proc_macro2::TokenStream;
use quote::quote;

use crate::dim::Dim;
use crate::internal::expect;
use crate::loops::Program;
use crate::ty::{Loc, Name};

/// The number of a named size.
pub(super) fn size(p: &Program, name: &Name) -> usize {
    let at = p.sizes.iter().position(|s| s == name);
    expect(at, || format!("`{name}` is no size of `{}`", p.name))
}

/// A dimension in the user's names.
pub(super) fn shown(p: &Program, d: &Dim) -> String {
    d.show_to_user(&|s| p.arrays[s as usize].name.to_string())
}

/// The kernel, the file and the line of a place.
pub(super) fn place(p: &Program, l: Loc) -> (&str, &str, u32) {
    p.places.get(l.0 as usize).map_or((&*p.name, "", 0), |s| (&*s.kernel, &*s.file, s.line))
}

/// A place as a `Site`.
pub(super) fn site(p: &Program, l: Loc) -> TokenStream {
    let (kernel, file, line) = place(p, l);
    quote!(__rt::program::Site { kernel: #kernel, file: #file, line: #line })
}
