//! Reductions by an operator that is built in: `sum`, `maximum`, `argmin` and the like, and what the elaborator itself folds.

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::value::{Function, Value};
use crate::core::{Atom, Axis, Body, CheckKind, Exp, Prefix, Reducer, Type};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::ty::{Const, Elem, Name};

impl Elaborator<'_> {
    /// A reduction of vectors, lifted; of an array of tuples, that of each part.
    pub(super) fn reduction(&mut self, r: Reducer, c: &Call<'_>) -> Option<Value> {
        if let [Value::Tuple(parts)] = c.args
            && !parts.is_empty()
        {
            let reduced = parts.iter().map(|p| self.reduction(r, &c.of(std::slice::from_ref(p))));
            return Some(Value::Tuple(reduced.collect::<Option<_>>()?));
        }
        let atoms = self.reduced_atoms(r, &c.what, c.args, c.span)?;
        if r == Reducer::Mul && self.inference.is_complex(self.elem(atoms[0])) {
            return self.complex_product(None, &c.args[0], c);
        }
        self.lift(&c.what, &[1], &atoms, c.span, &mut |e, cell| {
            Some(Value::Atom(e.fold_by(r, None, cell[0], c.span)))
        })
    }

    /// The product of complex numbers, or of all prefixes: no reducer, but a fold by `*`.
    pub(super) fn complex_product(
        &mut self,
        prefix: Option<Prefix>,
        xs: &Value,
        c: &Call<'_>,
    ) -> Option<Value> {
        let elem = xs.atoms().and_then(|a| a.first().map(|a| self.elem(*a)))?;
        let times = Value::Function(Function::Builtin("mul".into()));
        let one = Value::Atom(Atom::Const(Const::float(elem, 1.0)));
        self.fold(prefix, &c.of(&[times, one, xs.clone()]))
    }

    /// The array to be reduced, of elements and a rank that can be.
    pub(super) fn reduced_atoms(
        &mut self,
        r: Reducer,
        what: &str,
        args: &[Value],
        span: Span,
    ) -> Option<Vec<Atom>> {
        let atoms = self.plain_atoms(what, args, span)?;
        let elem = self.elem(atoms[0]);
        let boolean = matches!(r, Reducer::And | Reducer::Or);
        if boolean {
            self.unify(elem, Elem::Bool, span, what)?;
        } else if elem == Elem::Bool {
            self.error(
                Code::ElementType,
                span,
                format!("{what} expects numbers, found bool"),
                "count with `sum(b as i64)`, or use `any` or `all`",
            );
            return None;
        } else if self.inference.is_complex(elem) && !matches!(r, Reducer::Add | Reducer::Mul) {
            self.error(
                Code::ElementType,
                span,
                format!("{what} does not apply to complex numbers"),
                "complex numbers have no order: compare their norms, `map(|z| z.norm(), zs)`",
            );
            return None;
        }
        if self.rank(atoms[0]) == 0 {
            let found = self.show_type(&self.atom_type(atoms[0]));
            self.error(
                Code::Rank,
                span,
                format!("{what} expects a vector, found {found}"),
                "reduce an array",
            );
            return None;
        }
        Some(atoms)
    }

    /// Folds a vector, or scans it.
    pub(super) fn fold_by(&mut self, r: Reducer, prefix: Option<Prefix>, xs: Atom, span: Span) -> Atom {
        let ty = self.atom_type(xs);
        let extent = ty.dims[0].clone();
        if r.op().is_none() && !extent.sub(&Dim::constant(1)).is_nonnegative() {
            self.check(CheckKind::AtLeast(Dim::constant(1), extent.clone()), span);
        }
        let var = self.new_var("k", Type::scalar(Elem::I64));
        self.frame.push((extent.clone(), Name::from("k")));
        self.bodies.push(Vec::new());
        let cell = self.index(xs, &[Atom::Var(var)], span);
        let stms = self.close_body();
        self.frame.pop();
        let body = Body { stms, results: vec![cell] };
        let axis = Axis { var, extent: extent.clone() };
        if let Some(prefix) = prefix {
            let ty = Type { elem: ty.elem, dims: vec![extent] };
            return self.emit("scan", ty, Exp::Scan(vec![r], prefix, axis, body), span);
        }
        let name = match r {
            Reducer::Add => "sum",
            Reducer::Mul => "prod",
            Reducer::Min => "minimum",
            Reducer::Max => "maximum",
            Reducer::And => "all",
            Reducer::Or => "any",
            r => r.name(),
        };
        self.emit(name, Type::scalar(r.result(ty.elem)), Exp::Reduce(vec![r], axis, body), span)
    }
}
