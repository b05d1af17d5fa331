//! Matrices of derivatives inside kernels: `jacobian(f)(x)`, `hessian(f)(x)`; and `vmap(f)(xs)`, which is `map(f, xs)`.
//!
//! For an argument `x` with indices `d` and a result `y` with indices `r` the matrix has the indices of both, `J[r, d] = dy[r] / dx[d]`,
//! as on the host. With `e_i` one at the index `i` and zero elsewhere:
//!
//! ```text
//! forward    J[r, d] = (the second part of jvp(f)(x, e_d))[r]      an execution for each element of the arguments
//! reverse    J[r, d] = (the second part of vjp(f)(x, e_r))[d]      one for each element of the results
//! hessian    the Jacobian of grad(f), forward
//! ```
//!
//! Reverse, if sizes that are known say that results are fewer; of numbers they are. Several arguments give a tuple, several
//! results a tuple of these. Arguments and results that are differentiated are numbers and arrays, alone.

use std::rc::Rc;

use proc_macro2::Span;

use super::Elaborator;
use super::value::{Function, Value};
use crate::core::Atom;
use crate::derive::Derivative;
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;

impl Elaborator<'_> {
    /// Calls `what(f)`, where `active` says which of the arguments are differentiated by.
    pub(super) fn matrices(
        &mut self,
        what: Derivative,
        f: &Rc<Function>,
        args: &[Value],
        active: &[bool],
        span: Span,
    ) -> Option<Value> {
        // What the function gives is known when it has been applied; the statements are not kept.
        let (_, mut value) = self.in_body(|e| e.apply(f, args, span))?;
        let mut f = f.clone();
        if what == Derivative::Hessian {
            self.scalar_seed(what, &value, span)?;
            f = Rc::new(Function::Derivative(Derivative::Grad, f));
            (_, value) = self.in_body(|e| e.apply(&f, args, span))?;
        }
        let results = self.float_atoms(&value, "results", what, span)?;
        let mut by = Vec::new();
        for (v, _) in args.iter().zip(active).filter(|(_, active)| **active) {
            by.extend(self.float_atoms(v, "arguments", what, span)?);
        }
        let dims = |e: &Self, list: &[Atom]| list.iter().map(|a| e.atom_type(*a).dims).collect::<Vec<_>>();
        let (outer, inner) = (dims(self, &results), dims(self, &by));
        let reverse = what == Derivative::Jacobian && has_fewer_elements(&outer, &inner);
        let (from, to) = if reverse { (&outer, &inner) } else { (&inner, &outer) };
        let along = if reverse { &results } else { &by };
        // By the index of the unit vector, then by what its derivative is of.
        let rows: Vec<Vec<Atom>> = from
            .iter()
            .enumerate()
            .map(|(k, extents)| self.at_units((&f, reverse), args, along, (k, extents), span))
            .collect::<Option<_>>()?;
        let mut matrices: Vec<Value> = Vec::new();
        for r in 0..outer.len() {
            let mut of_result = Vec::new();
            for a in 0..inner.len() {
                let (row, column) = if reverse { (r, a) } else { (a, r) };
                let matrix = Value::Atom(*rows.get(row)?.get(column)?);
                let transposed = |e: &mut Self| e.transposed(&matrix, &from[row], &to[column], span);
                of_result.push(if reverse { matrix.clone() } else { transposed(self)? });
            }
            matrices.push(Value::bundle(of_result));
        }
        Some(Value::bundle(matrices))
    }

    /// The derivatives along the units of one of the arrays in `along`, whose dimensions come first.
    fn at_units(
        &mut self,
        (f, reverse): (&Rc<Function>, bool),
        args: &[Value],
        along: &[Atom],
        (k, extents): (usize, &[Dim]),
        span: Span,
    ) -> Option<Vec<Atom>> {
        let row = self.build_over("derivative", extents, span, |e, at| {
            let units = along.iter().enumerate().map(|(j, a)| e.unit(*a, (j == k).then_some(at), span));
            let units: Vec<Value> = units.collect::<Option<_>>()?;
            let all: Vec<Value> = args.iter().cloned().chain(units).collect();
            let mode = if reverse { Derivative::Vjp } else { Derivative::Jvp };
            match e.apply_derivative(mode, f, &all, span)? {
                Value::Tuple(mut parts) => parts.pop(),
                _ => None,
            }
        })?;
        row.atoms()
    }

    /// The floats of an argument or a result, which must be numbers or arrays.
    fn float_atoms(&mut self, v: &Value, which: &str, what: Derivative, span: Span) -> Option<Vec<Atom>> {
        let atoms = match v {
            Value::Tuple(vs) if which == "results" => {
                vs.iter().map(|v| if let Value::Atom(a) = v { Some(*a) } else { None }).collect()
            }
            Value::Atom(a) => Some(vec![*a]),
            _ => None,
        };
        let Some(mut atoms): Option<Vec<Atom>> = atoms else {
            let found = self.describe(v);
            self.error(
                Code::Unsupported,
                span,
                format!(
                    "`{0}(f)` in a kernel is of {which} that are numbers or arrays, found {found}",
                    what.name()
                ),
                "pass the parts one by one, in a closure: `|a, b| f((a, b))`",
            );
            return None;
        };
        if atoms.iter().any(|a| self.inference.is_complex(self.elem(*a))) {
            let message = format!("`{}(f)` of complex numbers", what.name());
            let help = "there is `vjp` and `jvp` of complex functions; or differentiate by the parts, `|x, y| f(Complex::new(x, y))`";
            self.error(Code::NotDifferentiable, span, message, help);
            return None;
        }
        atoms.retain(|a| self.inference.is_float(self.elem(*a)));
        if atoms.is_empty() {
            self.error(
                Code::NotDifferentiable,
                span,
                format!("`{}(f)` has no {which} of floats", what.name()),
                "integers and truth values have no derivatives",
            );
            return None;
        }
        Some(atoms)
    }

    /// `build`, which over no extents is the value itself.
    fn build_over(
        &mut self,
        name: &str,
        extents: &[Dim],
        span: Span,
        f: impl FnOnce(&mut Self, &[Atom]) -> Option<Value>,
    ) -> Option<Value> {
        if extents.is_empty() { f(self, &[]) } else { self.build(name, extents, &[], span, f) }
    }

    /// An array like `a` of zeros with a one at an index, if there is one.
    fn unit(&mut self, a: Atom, at: Option<&[Atom]>, span: Span) -> Option<Value> {
        let ty = self.atom_type(a);
        let [zero, one] = [0, 1].map(|n| Atom::Const(self.constant_of(ty.elem, n)));
        self.build_over("unit", &ty.dims, span, |e, index| {
            let Some(at) = at else { return Some(Value::Atom(zero)) };
            let mut element = one;
            for (i, k) in index.iter().zip(at) {
                let here = e.op(Op::Eq, &[*i, *k], span);
                element = e.op(Op::Select, &[here, element, zero], span);
            }
            Some(Value::Atom(element))
        })
    }

    /// The matrix with the indices of the results in front.
    fn transposed(&mut self, matrix: &Value, inner: &[Dim], outer: &[Dim], span: Span) -> Option<Value> {
        let Value::Atom(a) = matrix else { return None };
        if inner.is_empty() || outer.is_empty() {
            return Some(matrix.clone());
        }
        let extents: Vec<Dim> = outer.iter().chain(inner).cloned().collect();
        self.build("jacobian", &extents, &[], span, |e, at| {
            let (outer, inner) = at.split_at(outer.len());
            let at: Vec<Atom> = inner.iter().chain(outer).copied().collect();
            Some(Value::Atom(e.index(*a, &at, span)))
        })
    }
}

/// Whether the elements of the first are known to be fewer than those of the second.
fn has_fewer_elements(first: &[Vec<Dim>], second: &[Vec<Dim>]) -> bool {
    let total =
        |list: &[Vec<Dim>]| list.iter().map(|dims| Dim::product(dims).as_constant()).sum::<Option<i64>>();
    let numbers = |list: &[Vec<Dim>]| list.iter().all(Vec::is_empty);
    match (total(first), total(second)) {
        (Some(a), Some(b)) => a < b,
        _ => numbers(first) && !numbers(second),
    }
}
