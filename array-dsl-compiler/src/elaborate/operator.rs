//! Operators of reductions and scans: functions that combine two values of one type.
//!
//! * An operator on numbers, or on tuples of numbers, becomes scalar code ([`core::Operator`]). One that is a built-in
//!   reducer in disguise (`|a, b| a + b`), or several side by side, becomes them, which later stages know more about.
//! * For rows it is tried on numbers first: what works there (`|a, b| a + b`) combines rows position by position, and so does a
//!   `map` over both (`positions`). What works on rows only, such as a product of matrices, is written out for every element by `unroll`, if the sizes
//!   are small constants.
//! * Small arrays that an operator makes on the way are written out too. What does not depend on the operands is to
//!   be computed before.
//! * That it is associative, and that the neutral element is neutral, cannot be checked; operators which are known
//!   not to be associative are refused.

use proc_macro2::Span;

use super::Elaborator;
use super::call::count;
use super::value::{Function, Value};
use crate::core::{self, Atom, Body, Exp, Reducer, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::scalar::Op;
use crate::ty::Elem;

/// More numbers than this are too many for one value of an operator.
const MAX_PARTS: i64 = 64;

/// How values are combined.
pub(super) enum Combine {
    /// By built-in reducers, one for each part of the value; arrays position by position.
    Reducers(Vec<Reducer>),
    /// By code on the numbers of the value (the neutral element is still to be filled in); arrays position by position.
    Positions(core::Operator),
    /// By code on all numbers of the value, those of its arrays included.
    Rows(core::Operator),
}

/// What a function does to two values.
struct Called {
    left: Vec<Var>,
    right: Vec<Var>,
    body: Body,
}

impl Elaborator<'_> {
    /// What `f` does to two values of the structure of `model` and of the given types.
    pub(super) fn operator(
        &mut self,
        f: &Function,
        what: &str,
        model: &Value,
        types: &[Type],
        span: Span,
    ) -> Option<Combine> {
        if let Function::Closure(c) = f
            && c.params.len() != 2
        {
            self.error(
                Code::ArgumentCount,
                c.params.first().map_or(c.body.span, |(p, _)| p.span()),
                format!(
                    "the operator of {what} combines 2 values, this closure has {}",
                    count(c.params.len(), "parameter")
                ),
                "write `|a, b| ...`; for pairs `|(a, b), (c, d)| ...`",
            );
            return None;
        }
        let scalars: Vec<Type> = types.iter().map(|t| Type::scalar(t.elem)).collect();
        let rank = types.first().map_or(0, Type::rank);
        if types.iter().all(|t| t.rank() == rank) {
            let (errors, checks) = (self.diagnostics.list().len(), self.bodies[0].len());
            match self.try_operator(f, what, model, &scalars, span) {
                Some(code) => return self.on_scalars(code, what, span),
                None if rank == 0 => return None,
                None => {}
            }
            self.diagnostics.truncate(errors);
            self.bodies[0].truncate(checks);
        }
        self.on_arrays(f, what, model, types, span)
    }

    /// Calls `f` on two new values.
    fn try_operator(
        &mut self,
        f: &Function,
        what: &str,
        model: &Value,
        types: &[Type],
        span: Span,
    ) -> Option<Called> {
        let mut operand =
            |name: &str| -> Vec<Var> { types.iter().map(|t| self.new_var(name, t.clone())).collect() };
        let (left, right) = (operand("left"), operand("right"));
        self.states.extend(left.iter().chain(&right));
        let values = [&left, &right].map(|vars| model.with_atoms(&mut vars.iter().map(|v| Atom::Var(*v))));
        let (stms, results) = self.in_body(|e| {
            let found = e.apply(f, &values, span)?;
            let results = found.atoms().filter(|_| same_structure(model, &found)).unwrap_or_default();
            let ranks = results.len() == types.len()
                && results.iter().zip(types).all(|(a, t)| e.rank(*a) == t.rank());
            if !ranks {
                let (found, expected) = (e.describe(&found), e.describe(&values[0]));
                e.error(
                    Code::Operator,
                    span,
                    format!(
                        "the operator of {what} combines two values of type {expected}, but gives {found}"
                    ),
                    "it must give a value of the type that it combines",
                );
                return None;
            }
            let mut out = Vec::new();
            for (a, t) in results.iter().zip(types) {
                let of = format!("what the operator of {what} gives");
                e.unify(e.elem(*a), t.elem, span, &of)?;
                out.push(e.coerce(*a, &t.dims, span, &of, false)?);
            }
            Some(out)
        })?;
        Some(Called { left, right, body: Body { stms, results } })
    }

    fn on_scalars(&mut self, code: Called, what: &str, span: Span) -> Option<Combine> {
        let Called { left, right, body } = code;
        let is_complex = left.iter().any(|v| self.inference.is_complex(self.elem(Atom::Var(*v))));
        let reducers = reducers_in_disguise(&left, &right, &body);
        // Of complex numbers no product is one.
        if let Some(reducers) = reducers.filter(|r| !is_complex || !r.contains(&Reducer::Mul)) {
            return Some(Combine::Reducers(reducers));
        }
        if let ([l], [r], [result]) = (&left[..], &right[..], &body.results[..]) {
            let (l, r) = (Atom::Var(*l), Atom::Var(*r));
            if let Some(help) = not_associative(&body.stms, *result, l, r) {
                self.error(
                    Code::Operator,
                    span,
                    format!(
                        "the operator of {what} is not associative, so its result would depend on the order"
                    ),
                    help,
                );
                return None;
            }
        }
        if body.stms.iter().any(has_loop) {
            self.error(
                Code::Operator,
                span,
                format!("the operator of {what} has a loop in it"),
                "an operator is applied at every step: write its result as an expression, or the whole as a `for` of your own",
            );
            return None;
        }
        if body.stms.iter().all(|s| is_scalar_code(self, s)) {
            return Some(Combine::Positions(core::Operator { left, right, body, neutral: Vec::new() }));
        }
        // Small arrays that it makes on the way.
        self.unrolled(&left, &right, &body, what, span).map(Combine::Positions)
    }

    /// An operator on whole arrays, as code on their elements.
    fn on_arrays(
        &mut self,
        f: &Function,
        what: &str,
        model: &Value,
        types: &[Type],
        span: Span,
    ) -> Option<Combine> {
        let (errors, checks) = (self.diagnostics.list().len(), self.bodies[0].len());
        if let Some(called) = self.try_operator(f, what, model, types, span)
            && self.bodies[0].len() == checks
            && let Some(code) = self.at_a_position(&called.left, &called.right, &called.body)
        {
            let (left, right, body) = code;
            return self.on_scalars(Called { left, right, body }, what, span);
        }
        self.diagnostics.truncate(errors);
        self.bodies[0].truncate(checks);
        let sizes: Option<Vec<i64>> = types.iter().map(size).collect();
        let small = sizes.is_some_and(|s| s.iter().sum::<i64>() <= MAX_PARTS);
        if !small {
            let of: Vec<String> = types.iter().map(|t| self.show_type(t)).collect();
            self.error(
                Code::Operator,
                span,
                format!("the operator of {what} does not combine {} position by position", of.join(", ")),
                "write it for numbers: it is applied to each position of the rows; operators on whole arrays need \
                 small constant sizes, such as `[[f64; 2]; 2]`, or tuples of numbers",
            );
            return None;
        }
        if types.iter().any(|t| size(t) == Some(0)) {
            self.error(
                Code::Operator,
                span,
                format!("the values that {what} combines have no elements"),
                "leave them out",
            );
            return None;
        }
        let Called { left, right, body } = self.try_operator(f, what, model, types, span)?;
        self.unrolled(&left, &right, &body, what, span).map(Combine::Rows)
    }
}

/// The number of elements, if it is known and not large.
pub(super) fn size(t: &Type) -> Option<i64> {
    let mut size: i64 = 1;
    for d in &t.dims {
        size = size.checked_mul(d.as_constant().filter(|d| (0..=MAX_PARTS).contains(d))?)?;
    }
    Some(size)
}

/// Whether two values are nested alike.
pub(super) fn same_structure(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Atom(_), Value::Atom(_)) => true,
        (Value::Tuple(a), Value::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_structure(a, b))
        }
        (Value::Record(r, a), Value::Record(s, b)) => {
            r.id == s.id && a.iter().zip(b).all(|(a, b)| same_structure(a, b))
        }
        _ => false,
    }
}

/// The reducers that combine the parts of a value, each on its own: `|(a, b), (c, d)| (a + c, b.max(d))`.
fn reducers_in_disguise(left: &[Var], right: &[Var], body: &Body) -> Option<Vec<Reducer>> {
    if left.len() == 1 {
        let (l, r) = (Atom::Var(left[0]), Atom::Var(right[0]));
        return Some(vec![reducer_in_disguise(&body.stms, body.results[0], l, r)?]);
    }
    let parts = left.iter().zip(right).zip(&body.results);
    let reducer = |((l, r), result): ((&Var, &Var), &Atom)| {
        let own = body.stms.iter().find(|s| s.vars.iter().map(|v| Atom::Var(*v)).eq([*result]))?;
        reducer_in_disguise(std::slice::from_ref(own), *result, Atom::Var(*l), Atom::Var(*r))
    };
    parts.map(reducer).collect()
}

/// The reducer that this code is.
pub(super) fn reducer_in_disguise(stms: &[Stm], result: Atom, l: Atom, r: Atom) -> Option<Reducer> {
    let [Stm { vars, exp, .. }] = stms else { return None };
    if vars.iter().map(|v| Atom::Var(*v)).ne([result]) {
        return None;
    }
    match exp {
        Exp::Op(op, args) if *args == [l, r] || *args == [r, l] => {
            Reducer::ALL.into_iter().find(|red| red.op() == Some(*op))
        }
        // `a && b` and `a || b`.
        Exp::If(c, yes, no) if yes.stms.is_empty() && no.stms.is_empty() => {
            let other = if *c == l { r } else { l };
            let truth = |b: bool| Atom::Const(crate::ty::Const::bool(b));
            let (yes, no) = (&yes.results[..], &no.results[..]);
            if (*c != l && *c != r) || (yes, no) == (&[truth(true)], &[truth(false)]) {
                None
            } else if (yes, no) == (&[other], &[truth(false)]) {
                Some(Reducer::And)
            } else if (yes, no) == (&[truth(true)], &[other]) {
                Some(Reducer::Or)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// For an operator that is one function which is known not to be associative: what to do instead.
fn not_associative(stms: &[Stm], result: Atom, l: Atom, r: Atom) -> Option<&'static str> {
    let [Stm { vars, exp: Exp::Op(op, args), .. }] = stms else { return None };
    if Atom::Var(*vars.first()?) != result || (*args != [l, r] && *args != [r, l]) {
        return None;
    }
    match op {
        Op::Sub => Some("negate and add: `add` over `-xs`"),
        Op::Div => Some("take reciprocals and multiply: `mul` over `1.0 / xs`"),
        Op::Rem | Op::Powf | Op::Powi | Op::Atan2 | Op::Shl | Op::Shr => {
            Some("an operator must give the same for `(a, b), c` as for `a, (b, c)`")
        }
        _ => None,
    }
}

/// Whether a statement of an operator is a loop, or has one inside: its state would be one of each step of the operator.
fn has_loop(s: &Stm) -> bool {
    matches!(s.exp, Exp::Loop(_)) || s.exp.bodies().into_iter().any(|b| b.stms.iter().any(has_loop))
}

/// Whether a statement of an operator makes no array.
fn is_scalar_code(e: &Elaborator<'_>, s: &Stm) -> bool {
    s.is_scalar_code(|v| e.vars[v.0 as usize].ty.rank() == 0)
        && s.exp.bodies().into_iter().all(|b| b.stms.iter().all(|s| is_scalar_code(e, s)))
}

/// Whether a constant is the reducer's neutral element; `elem` is what is known of its type.
pub(super) fn is_neutral(r: Reducer, c: crate::ty::Const, elem: Elem, float: bool) -> bool {
    let value = if float { f64::from_bits(c.raw()) } else { c.raw() as i64 as f64 };
    match r {
        // Zeros of both signs.
        Reducer::Add => value == 0.0,
        Reducer::Mul => value == 1.0,
        _ if float => c.raw() == r.neutral(Elem::F64).raw(),
        _ if matches!(elem, Elem::Infer(_)) => false,
        _ => c.raw() == r.neutral(elem).raw(),
    }
}
