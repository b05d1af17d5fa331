//! The error where a name that a kernel or record asks has no macro. rustc says only that there is no such macro, so every answer
//! leaves a constant behind, and the first one that is missing is an error in the user's terms.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use crate::carrier;
use crate::diagnostics::{Code, Diagnostic};
use crate::elaborate::similar_builtin;
use crate::syntax::{ELEMENT_TYPES, ast};

/// The type that holds the answers to a kernel or record.
fn answers(asker: &Ident) -> Ident {
    format_ident!("{}_answers", carrier::hidden(asker))
}

/// The constant that the answer of path `k` leaves behind.
fn constant(k: usize) -> Ident {
    format_ident!("ANSWERED_{k}")
}

/// What the answer of path `k` leaves behind.
pub(super) fn answered(asker: &Ident, k: usize) -> TokenStream {
    let (answers, constant) = (answers(asker), constant(k));
    quote! {
        impl #answers {
            const #constant: bool = true;
        }
    }
}

/// The first of these errors whose path does not answer, the paths numbered from `from`: an inherent constant hides the trait's of
/// the same name.
pub(super) fn unless_answered(asker: &Ident, from: usize, errors: &[Diagnostic]) -> TokenStream {
    if errors.is_empty() {
        return TokenStream::new();
    }
    let answers = answers(asker);
    let constants = (from..from + errors.len()).map(constant);
    let checks = errors.iter().enumerate().map(|(k, error)| {
        let (constant, span) = (constant(from + k), error.span);
        let text = error.text().replace('{', "{{").replace('}', "}}");
        quote_spanned! {span=> if !#answers::#constant { ::core::panic!(#text) } }
    });
    let definition = (from == 0).then(|| {
        quote! {
            #[doc(hidden)]
            #[allow(non_camel_case_types, dead_code)]
            struct #answers;
        }
    });
    quote! {
        #definition
        const _: () = {
            trait Unanswered {
                #(const #constants: bool = false;)*
            }
            impl Unanswered for #answers {}
            #(#checks)*
        };
    }
}

/// What is wrong when the name of a type is no macro.
pub(super) fn not_a_record(name: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` is not a type of kernels, nor a record here");
    let help = format!(
        "put `#[derive(Record)]` on the structure's definition, and import it if it is in another module; the element types are \
         {ELEMENT_TYPES}; arrays are written `[f64; n]`"
    );
    Diagnostic { code: Code::NotARecord, span, message, help }
}

/// What is wrong when the name that a kernel calls is no macro.
pub(super) fn not_a_kernel(kernel: &Ident, path: &ast::Path) -> Diagnostic {
    let (name, span) = (path.text(), path.span());
    if let Some(near) = similar_builtin(&name) {
        let help = format!("did you mean `{near}`? otherwise put `#[kernel]` on the definition of `{name}`");
        let message = format!("unknown function `{name}`");
        return Diagnostic { code: Code::UnknownFunction, span, message, help };
    }
    let message = format!("kernel `{kernel}` calls `{name}`, which is neither built in nor a kernel here");
    let help = "put `#[kernel]` on its definition, and import it if it is in another module; if it is a kernel with an \
                error of its own, correct that first; two kernels cannot call each other";
    Diagnostic { code: Code::NotAKernel, span, message, help: help.into() }
}
