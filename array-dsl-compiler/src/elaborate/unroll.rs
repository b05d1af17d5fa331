//! Operators on small arrays as scalar code: each element is a variable of its own, loops over constant extents are
//! written out, and choices by index are made.

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use super::scan;
use crate::core::{self, Atom, Axis, Body, Exp, Reducer, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::ty::{Const, Elem};
use crate::value::{Scalar, apply};

/// More statements than this are too many for an operator.
const MAX_STATEMENTS: usize = 4096;

/// What a variable of the code on arrays is.
#[derive(Clone)]
enum Parts {
    /// Its elements in row-major order, and its dimensions.
    Elements(Vec<Atom>, Vec<i64>),
    /// An array from outside, or a row of one.
    Outside(Var),
}

impl Parts {
    fn scalar(a: Atom) -> Parts {
        Parts::Elements(vec![a], Vec::new())
    }
}

impl Elaborator<'_> {
    /// An operator on the elements of arrays; `body` computes with the arrays `left` and `right`.
    pub(super) fn unrolled(
        &mut self,
        left: &[Var],
        right: &[Var],
        body: &Body,
        what: &str,
        span: Span,
    ) -> Option<core::Operator> {
        let mut unroll = Unroll { parts: FxHashMap::default(), statements: 0, span };
        let [left, right] = [left, right].map(|vars| unroll.operands(self, vars));
        let code = self.in_body(|e| {
            let results = unroll.body(e, body)?;
            results.into_iter().map(elements).collect::<Option<Vec<_>>>()
        });
        let Some((stms, results)) = code else {
            self.error(
                Code::Operator,
                span,
                format!("the operator of {what} computes with arrays in a way that is not supported"),
                "compute with numbers, tuples of numbers and small arrays of constant size in it; what does not depend \
                 on the two values can be computed before, with `let`",
            );
            return None;
        };
        let body = Body { stms, results: results.concat() };
        Some(core::Operator { left, right, body, neutral: Vec::new() })
    }
}

fn elements(p: Parts) -> Option<Vec<Atom>> {
    match p {
        Parts::Elements(atoms, _) => Some(atoms),
        Parts::Outside(_) => None,
    }
}

/// `None`: something that cannot be written out.
struct Unroll {
    parts: FxHashMap<Var, Parts>,
    statements: usize,
    span: Span,
}

impl Unroll {
    /// New variables for the elements of operands.
    fn operands(&mut self, e: &mut Elaborator<'_>, vars: &[Var]) -> Vec<Var> {
        let mut out = Vec::new();
        for v in vars {
            let info = e.vars[v.0 as usize].clone();
            let shape = constants(&info.ty).unwrap_or_default();
            let own: Vec<Var> = scan::points(&shape)
                .iter()
                .map(|_| e.new_var(&info.name, Type::scalar(info.ty.elem)))
                .collect();
            self.parts.insert(*v, Parts::Elements(own.iter().map(|v| Atom::Var(*v)).collect(), shape));
            out.extend(own);
        }
        out
    }

    fn atom(&self, e: &Elaborator<'_>, a: Atom) -> Parts {
        match a {
            Atom::Var(v) => match self.parts.get(&v) {
                Some(p) => p.clone(),
                None if e.rank(a) > 0 => Parts::Outside(v),
                None => Parts::scalar(a),
            },
            Atom::Const(_) => Parts::scalar(a),
        }
    }

    fn scalar_atom(&self, e: &Elaborator<'_>, a: Atom) -> Option<Atom> {
        elements(self.atom(e, a))?.first().copied()
    }

    fn body(&mut self, e: &mut Elaborator<'_>, b: &Body) -> Option<Vec<Parts>> {
        for s in &b.stms {
            let values = self.stm(e, s)?;
            self.parts.extend(s.vars.iter().copied().zip(values));
        }
        Some(b.results.iter().map(|a| self.atom(e, *a)).collect())
    }

    /// The truth value or integer that a constant is.
    fn constant(&self, e: &Elaborator<'_>, a: Atom) -> Option<Scalar> {
        let Atom::Const(c) = a else { return None };
        match e.elem(a) {
            Elem::Bool => Some(Scalar::Bool(c.as_bool())),
            Elem::I64 => Some(Scalar::I64(c.raw() as i64)),
            _ => None,
        }
    }

    /// The statement just made has the place of the one it is for.
    fn emitted(&mut self, e: &mut Elaborator<'_>, s: &Stm) -> Option<()> {
        if let Some(last) = e.bodies.last_mut().and_then(|b| b.last_mut()) {
            last.loc = s.loc;
        }
        self.statements += 1;
        (self.statements <= MAX_STATEMENTS).then_some(())
    }

    fn stm(&mut self, e: &mut Elaborator<'_>, s: &Stm) -> Option<Vec<Parts>> {
        Some(match &s.exp {
            Exp::Atom(a) => vec![self.atom(e, *a)],
            Exp::Op(op, args) => {
                let args: Vec<Atom> = args.iter().map(|a| self.scalar_atom(e, *a)).collect::<Option<_>>()?;
                let known: Option<Vec<Scalar>> = args.iter().map(|a| self.constant(e, *a)).collect();
                let folded = known.and_then(|known| apply(*op, &known).ok());
                if let Some(x @ (Scalar::Bool(_) | Scalar::I64(_))) = folded {
                    return Some(vec![Parts::scalar(Atom::Const(Const::from(x)))]);
                }
                let a = e.op(*op, &args, self.span);
                self.emitted(e, s)?;
                vec![Parts::scalar(a)]
            }
            Exp::Size(d) => vec![Parts::scalar(e.size_value(d, self.span))],
            Exp::Index(array, index) => vec![self.index(e, s, *array, index)?],
            Exp::StopGradient(a) => {
                let Parts::Elements(atoms, shape) = self.atom(e, *a) else { return None };
                let mut out = Vec::new();
                for a in atoms {
                    let ty = e.atom_type(a);
                    out.push(e.emit("stop_gradient", ty, Exp::StopGradient(a), self.span));
                    self.emitted(e, s)?;
                }
                vec![Parts::Elements(out, shape)]
            }
            Exp::Reshape(array, dims) => {
                let shape: Option<Vec<i64>> = dims.iter().map(|d| d.as_constant()).collect();
                match self.atom(e, Atom::Var(*array)) {
                    Parts::Elements(atoms, _) => vec![Parts::Elements(atoms, shape?)],
                    Parts::Outside(_) => return None,
                }
            }
            Exp::If(c, yes, no) => self.choice(e, s, *c, yes, no)?,
            Exp::Build(axes, body) => self.build(e, axes, body)?,
            Exp::Reduce(reducers, axis, body) => self.reduce(e, s, reducers, axis, body)?,
            Exp::Scan(..)
            | Exp::Fold(..)
            | Exp::Loop(_)
            | Exp::Update(..)
            | Exp::Scatter { .. }
            | Exp::Argsort(_)
            | Exp::Derivative(_)
            | Exp::Custom { .. }
            | Exp::Check(_) => return None,
        })
    }

    fn index(&mut self, e: &mut Elaborator<'_>, s: &Stm, array: Var, index: &[Atom]) -> Option<Parts> {
        let index: Vec<Atom> = index.iter().map(|i| self.scalar_atom(e, *i)).collect::<Option<_>>()?;
        match self.atom(e, Atom::Var(array)) {
            Parts::Elements(atoms, shape) => {
                let (mut from, mut len) = (0, atoms.len());
                for (i, n) in index.iter().zip(&shape) {
                    let i = usize::try_from(self.constant(e, *i)?.as_i64()?).ok()?;
                    len /= usize::try_from(*n).ok().filter(|n| i < *n)?;
                    from += i * len;
                }
                Some(Parts::Elements(atoms[from..from + len].to_vec(), shape[index.len()..].to_vec()))
            }
            Parts::Outside(array) => {
                let a = e.index(Atom::Var(array), &index, self.span);
                self.emitted(e, s)?;
                Some(match a {
                    Atom::Var(v) if e.rank(a) > 0 => Parts::Outside(v),
                    a => Parts::scalar(a),
                })
            }
        }
    }

    fn choice(
        &mut self,
        e: &mut Elaborator<'_>,
        s: &Stm,
        c: Atom,
        yes: &Body,
        no: &Body,
    ) -> Option<Vec<Parts>> {
        let c = self.scalar_atom(e, c)?;
        if let Some(c) = self.constant(e, c).and_then(Scalar::as_bool) {
            return self.body(e, if c { yes } else { no });
        }
        let (ys, yes) = e.in_body(|e| self.body(e, yes))?;
        let (ns, no) = e.in_body(|e| self.body(e, no))?;
        let mut out = Vec::new();
        let (mut vars, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
        for (y, n) in yes.into_iter().zip(no) {
            let Parts::Elements(y, shape) = y else { return None };
            let own: Vec<Var> = y
                .iter()
                .map(|a| {
                    let ty = e.atom_type(*a);
                    e.new_var("chosen", ty)
                })
                .collect();
            out.push(Parts::Elements(own.iter().map(|v| Atom::Var(*v)).collect(), shape));
            vars.extend(own);
            first.extend(y);
            second.extend(elements(n)?);
        }
        let (yes, no) = (Body { stms: ys, results: first }, Body { stms: ns, results: second });
        e.push(Stm { vars, exp: Exp::If(c, yes, no), loc: s.loc });
        self.emitted(e, s)?;
        Some(out)
    }

    fn build(&mut self, e: &mut Elaborator<'_>, axes: &[Axis], body: &Body) -> Option<Vec<Parts>> {
        let shape: Vec<i64> = axes.iter().map(|a| a.extent.as_constant()).collect::<Option<_>>()?;
        let points = shape.iter().try_fold(1, |n: i64, d| n.checked_mul(*d));
        if points.is_none_or(|n| n > MAX_STATEMENTS as i64) {
            return None;
        }
        let mut out: Vec<(Vec<Atom>, Vec<i64>)> = vec![(Vec::new(), shape.clone()); body.results.len()];
        for (n, at) in scan::points(&shape).into_iter().enumerate() {
            for (axis, i) in axes.iter().zip(at) {
                self.parts.insert(axis.var, Parts::scalar(e.int(i)));
            }
            for (out, p) in out.iter_mut().zip(self.body(e, body)?) {
                let Parts::Elements(atoms, inner) = p else { return None };
                out.0.extend(atoms);
                if n == 0 {
                    out.1.extend(inner);
                }
            }
        }
        Some(out.into_iter().map(|(atoms, shape)| Parts::Elements(atoms, shape)).collect())
    }

    fn reduce(
        &mut self,
        e: &mut Elaborator<'_>,
        s: &Stm,
        reducers: &[Reducer],
        axis: &Axis,
        body: &Body,
    ) -> Option<Vec<Parts>> {
        let n = axis.extent.as_constant().filter(|n| *n <= MAX_STATEMENTS as i64)?;
        let mut so_far: Vec<Option<Atom>> = vec![None; reducers.len()];
        for i in 0..n {
            self.parts.insert(axis.var, Parts::scalar(e.int(i)));
            let values = self.body(e, body)?;
            for ((so_far, r), p) in so_far.iter_mut().zip(reducers).zip(values) {
                let (x, op) = (elements(p)?.first().copied()?, r.op()?);
                *so_far = Some(match *so_far {
                    None => x,
                    Some(left) => {
                        let a = e.op(op, &[left, x], self.span);
                        self.emitted(e, s)?;
                        a
                    }
                });
            }
        }
        so_far.into_iter().map(|a| Some(Parts::scalar(a?))).collect()
    }
}

/// The dimensions, if all are known.
fn constants(t: &Type) -> Option<Vec<i64>> {
    t.dims.iter().map(|d| d.as_constant()).collect()
}
