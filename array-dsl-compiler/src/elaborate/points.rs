//! Functions that say what stands at each point: `build`, `map`, arrays of one value.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::value::{Function, Value};
use crate::core::Atom;
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::syntax::ast::Pattern;
use crate::ty::{Const, Name};

impl Elaborator<'_> {
    /// `build(n, |i| value)`, with a tuple of sizes for several axes.
    pub(super) fn built(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let extents = self.dims_argument(&args[0], span)?;
        let f = self.function_argument(&args[1], "`build`", span)?;
        let names: Vec<Name> = match &f {
            Function::Closure(c) => c
                .params
                .iter()
                .map(|(p, _)| match p {
                    Pattern::Name(n) => n.name.clone(),
                    _ => Name::from("i"),
                })
                .collect(),
            _ => Vec::new(),
        };
        self.build("build", &extents, &names, span, |e, ix| {
            let ix: Vec<Value> = ix.iter().map(|a| Value::Atom(*a)).collect();
            e.apply(&f, &ix, span)
        })
    }

    /// `map(f, xs, ys)`: every leaf is indexed, and all outer dimensions agree.
    pub(super) fn mapped(&mut self, c: &Call<'_>) -> Option<Value> {
        let (args, span) = (c.args, c.span);
        let f = self.function_argument(&args[0], "`map`", span)?;
        let mut extent: Option<Dim> = None;
        let mut arrays = Vec::new();
        for v in &args[1..] {
            let Some(leaves) = v.atoms() else {
                self.error(
                    Code::NotAFunction,
                    span,
                    "`map` takes one function and then arrays",
                    "write `map(f, xs, ys)`",
                );
                return None;
            };
            let mut aligned = Vec::new();
            for a in leaves {
                let ty = self.atom_type(a);
                let Some(outer) = ty.dims.first() else {
                    let found = self.show_type(&ty);
                    self.error(
                        Code::Rank,
                        span,
                        format!("`map` expects arrays, found {found}"),
                        "use the scalar inside the closure; it sees the names around it",
                    );
                    return None;
                };
                let want = extent.get_or_insert_with(|| outer.clone()).clone();
                let mut dims = ty.dims.clone();
                dims[0] = want;
                aligned.push(self.coerce(a, &dims, span, "the arrays of `map`", false)?);
            }
            arrays.push(v.with_atoms(&mut aligned.into_iter()));
        }
        let Some(extent) = extent else {
            self.no_value(span, "`map` gets nothing to go over");
            return None;
        };
        self.build("map", &[extent], &[], span, |e, ix| {
            let cells: Vec<Value> = arrays
                .iter()
                .map(|v| {
                    let cells: Vec<Atom> =
                        v.atoms().unwrap_or_default().into_iter().map(|a| e.index(a, ix, span)).collect();
                    v.with_atoms(&mut cells.into_iter())
                })
                .collect();
            e.apply(&f, &cells, span)
        })
    }

    /// `replicate(n, v)`, with a tuple of sizes for several axes.
    pub(super) fn replicate(&mut self, n: &Value, v: Value, span: Span) -> Option<Value> {
        let dims = self.dims_argument(n, span)?;
        self.build("replicate", &dims, &[], span, |_, _| Some(v))
    }

    /// `zeros` and `ones`.
    pub(super) fn constant_array(&mut self, c: &Call<'_>, value: f64) -> Option<Value> {
        let constant = Const::float(self.inference.float(), value);
        self.replicate(&c.args[0], Value::Atom(Atom::Const(constant)), c.span)
    }
}
