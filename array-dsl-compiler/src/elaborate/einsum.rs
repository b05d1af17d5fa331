//! `einsum!`: sums of products by subscripts.
//!
//! ```text
//! result[O] = sum over the letters not in O of a[A] * b[B] * ..       A, B, .., O: the letters of operands and result
//! ```
//!
//! 1. Each operand alone takes its diagonals and sums over the letters that only it has: these sums leave less to multiply.
//! 2. Two operands at a time are multiplied, and summed over what nothing else needs, in the order of `order`. Such a step is
//!    `build(C, |C| sum(flatten(build(S, |S| a[A] * b[B]))))`, the form in which contractions are recognized.

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::order::{MAX_OPERANDS, Order, TYPICAL, cheapest};
use super::value::Value;
use crate::core::{Atom, Reducer};
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::syntax::ast::{Expr, Subscripts};
use crate::ty::Name;

/// An array with a letter for each dimension.
#[derive(Clone)]
struct Term {
    value: Atom,
    letters: Vec<char>,
}

/// The size of each letter.
type Sizes = Vec<(char, Dim)>;

impl Elaborator<'_> {
    /// The value of `einsum!`.
    pub(super) fn einsum(&mut self, s: &Subscripts, operands: &[Expr]) -> Option<Value> {
        let values = self.exprs(operands)?;
        if operands.len() > MAX_OPERANDS {
            self.error(
                Code::Limit,
                s.span,
                format!("`einsum!` of {} operands: there may be {MAX_OPERANDS}", operands.len()),
                "multiply some of them in an `einsum!` of their own",
            );
            return None;
        }
        let mut sizes = Sizes::default();
        let mut terms: Vec<Term> = Vec::new();
        for ((v, letters), e) in values.iter().zip(&s.operands).zip(operands) {
            let value = self.operand(v, letters, &mut sizes, e.span)?;
            if let Some(first) = terms.first() {
                let (have, want) = (self.elem(value), self.elem(first.value));
                self.unify(have, want, e.span, "`einsum!`")?;
            }
            terms.push(Term { value, letters: letters.clone() });
        }
        let alone: Vec<Vec<char>> = (0..terms.len()).map(|i| needed(&terms, i, &s.output)).collect();
        let mut reduced = Vec::new();
        for (t, left) in terms.into_iter().zip(&alone) {
            reduced.push(self.summed(&[t], left, &sizes, s.span)?);
        }
        let size = |c: char| size_of(&sizes, c).as_constant().map_or(TYPICAL, |n| n as f64);
        let order = match cheapest(&alone, &s.output, &size) {
            Order::Pair(a, b, _) => Order::Pair(a, b, s.output.clone()),
            one => one,
        };
        Some(Value::Atom(self.contracted(&order, &reduced, &sizes, s.span)?.value))
    }

    /// An operand under the sizes of its letters; new letters have their sizes from it.
    fn operand(&mut self, v: &Value, letters: &[char], sizes: &mut Sizes, span: Span) -> Option<Atom> {
        let a = self.plain_atoms("`einsum!`", std::slice::from_ref(v), span)?[0];
        let ty = self.atom_type(a);
        let found = self.show_type(&ty);
        if ty.rank() != letters.len() {
            let text: String = letters.iter().collect();
            let found = match ty.rank() {
                0 => format!("the scalar {found}"),
                r => format!("{found}, which has {}", count(r, "dimension")),
            };
            let (message, help) = (
                format!(
                    "`einsum!`: `{text}` are the letters of {}, found {found}",
                    count(letters.len(), "dimension")
                ),
                "give each dimension a letter, and a scalar none: `einsum!(\"i,->i\", x, 2.0)`",
            );
            self.error(Code::Rank, span, message, help);
            return None;
        }
        let elem = self.elem(a);
        if !self.inference.is_differentiable(elem) && !self.inference.is_int(elem) {
            let message = format!("`einsum!` expects numbers, found {}", self.inference.describe(elem));
            self.error(Code::ElementType, span, message, "convert truth values with `as f64` or `as i64`");
            return None;
        }
        let mut dims = Vec::new();
        for (c, have) in letters.iter().zip(&ty.dims) {
            let want = match sizes.iter().find(|(l, _)| l == c) {
                Some((_, d)) => d.clone(),
                None => {
                    sizes.push((*c, have.clone()));
                    have.clone()
                }
            };
            self.equal(have, &want, span, &format!("`einsum!`, letter `{c}`"), false)?;
            dims.push(want);
        }
        self.coerce(a, &dims, span, "`einsum!`", false)
    }

    fn contracted(&mut self, order: &Order, terms: &[Term], sizes: &Sizes, span: Span) -> Option<Term> {
        match order {
            Order::Operand(i) => Some(terms[*i].clone()),
            Order::Pair(a, b, left) => {
                let a = self.contracted(a, terms, sizes, span)?;
                let b = self.contracted(b, terms, sizes, span)?;
                self.summed(&[a, b], left, sizes, span)
            }
        }
    }

    /// The product of one or two terms, summed over all letters but `left`.
    fn summed(&mut self, terms: &[Term], left: &[char], sizes: &Sizes, span: Span) -> Option<Term> {
        if let [t] = terms
            && t.letters == left
        {
            return Some(t.clone());
        }
        let mut over: Vec<char> = Vec::new();
        for c in terms.iter().flat_map(|t| &t.letters) {
            if !left.contains(c) && !over.contains(c) {
                over.push(*c);
            }
        }
        let value = self.along(left, sizes, span, |e, outer| {
            if over.is_empty() {
                return Some(Value::Atom(e.product(terms, (left, outer), span)));
            }
            let each = e.along(&over, sizes, span, |e, inner| {
                let letters = [left, &over].concat();
                let at = [outer, inner].concat();
                Some(Value::Atom(e.product(terms, (&letters, &at), span)))
            })?;
            let Value::Atom(each) = each else { return None };
            let points = Dim::product(&e.atom_type(each).dims);
            let Value::Atom(flat) = e.reshape(each, vec![points], span)? else { return None };
            Some(Value::Atom(e.fold_by(Reducer::Add, None, flat, span)))
        })?;
        let Value::Atom(value) = value else { return None };
        Some(Term { value, letters: left.to_vec() })
    }

    /// `build` over these letters; without any, the value itself.
    fn along(
        &mut self,
        letters: &[char],
        sizes: &Sizes,
        span: Span,
        f: impl FnOnce(&mut Self, &[Atom]) -> Option<Value>,
    ) -> Option<Value> {
        if letters.is_empty() {
            return f(self, &[]);
        }
        let extents: Vec<Dim> = letters.iter().map(|c| size_of(sizes, *c)).collect();
        let names: Vec<Name> = letters.iter().map(|c| Name::from(c.to_string())).collect();
        self.build("einsum", &extents, &names, span, f)
    }

    /// The product of the terms' elements where the letters have these values.
    fn product(&mut self, terms: &[Term], (letters, at): (&[char], &[Atom]), span: Span) -> Atom {
        let mut elements = Vec::new();
        for t in terms {
            let at: Vec<Atom> =
                t.letters.iter().filter_map(|c| letters.iter().position(|l| l == c)).map(|i| at[i]).collect();
            elements.push(self.index(t.value, &at, span));
        }
        match elements.as_slice() {
            [a] => *a,
            all => self.op(Op::Mul, all, span),
        }
    }
}

/// The letters of the i-th term that the result or another term needs, each once; of a single term the result's, in its order.
fn needed(terms: &[Term], i: usize, output: &[char]) -> Vec<char> {
    if terms.len() == 1 {
        return output.to_vec();
    }
    let mut left: Vec<char> = Vec::new();
    for c in &terms[i].letters {
        let elsewhere = (0..terms.len()).any(|j| j != i && terms[j].letters.contains(c));
        if (elsewhere || output.contains(c)) && !left.contains(c) {
            left.push(*c);
        }
    }
    left
}

fn size_of(sizes: &Sizes, c: char) -> Dim {
    sizes.iter().find(|(l, _)| *l == c).map_or_else(Dim::default, |(_, d)| d.clone())
}
