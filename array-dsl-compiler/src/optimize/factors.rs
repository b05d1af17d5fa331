//! Factors that do not depend on the axes of a sum come after it.
//!
//! ```text
//! before   r = nest [i, k] { c; v; t = scale c v } reduce(+) over k of t                c does not depend on k
//! after    s = nest [i, k] { v } reduce(+) over k of v;   r = nest [i] { c; t = scale c s[i] } store
//! ```
//!
//! likewise signs, and constants. Every element costs less, and what is left of sums of derivatives is often a sum that the value has
//! (`share`). By `scale` derivatives multiply with a cotangent, which contributes nothing where it is zero, before and after; products
//! that a user wrote stay, whose order decides whether they overflow.

use rustc_hash::FxHashSet;

use super::Sequence;
use crate::bulk::build::{Code, Renaming, renamed};
use crate::bulk::{Atom, Exp, Let, Nest, Program, Reducer, Stm, Var, Yield, YieldKind};
use crate::scalar::Op;
use crate::ty::{Const, Loc};

/// Takes them out.
pub(super) fn factors(seq: &mut Sequence, p: &mut Program) {
    for s in std::mem::take(&mut seq.stms) {
        match s {
            Stm::Nest(n) => seq.stms.extend(without_factors(p, n).into_iter().map(Stm::Nest)),
            s => seq.stms.push(s),
        }
    }
}

/// A nest whose sums have no factors, and those that multiply.
fn without_factors(p: &mut Program, mut n: Nest) -> Vec<Nest> {
    let mut after = Vec::new();
    if !n.body.is_ordered() {
        let lets: Vec<Let> = n.body.lets().cloned().collect();
        for y in &mut n.yields {
            let YieldKind::Reduce { reducer: Reducer::Add, over, value } = &mut y.kind else { continue };
            let (outer, reduced) = n.axes.split_at(n.axes.len() - *over);
            let reduced: FxHashSet<Var> = reduced.iter().map(|a| a.var).collect();
            let Some(product) = product(p, &lets, *value, &reduced) else { continue };
            let info = p.array(y.array).clone();
            let sum = p.new_array(info.name, info.elem, info.dims);
            let result = std::mem::replace(&mut y.array, sum);
            *value = product.of;

            let mut map = Renaming::default();
            let axes = p.copy_axes(outer, &mut map);
            let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
            let mut code = Code::new(product.loc);
            code.lets = p.copy_lets(&product.code, &mut map);
            let sum = code.read(p, sum, &index);
            let args: Vec<Atom> = product.factor.into_iter().map(|c| renamed(&map, c)).chain([sum]).collect();
            let product = code.op(p, product.op, &args);
            let yields = vec![Yield { array: result, kind: YieldKind::Store(product) }];
            after.push(Nest { axes, body: code.into(), yields, loc: n.loc });
        }
    }
    after.insert(0, n);
    after
}

/// A value that is a product.
struct Product {
    op: Op,
    factor: Option<Atom>,
    /// What computes the factor.
    code: Vec<Let>,
    of: Atom,
    loc: Loc,
}

fn product(p: &Program, lets: &[Let], value: Atom, reduced: &FxHashSet<Var>) -> Option<Product> {
    let value = value.var()?;
    let at = lets.iter().position(|l| l.vars == [value])?;
    let l = &lets[at];
    let Exp::Op(op, args) = &l.exp else { return None };
    let (factor, of) = match (op, &args[..]) {
        (Op::Neg, [of]) => (None, *of),
        (Op::Scale, [c, of]) => (Some(*c), *of),
        (Op::Mul, [Atom::Const(c), of] | [of, Atom::Const(c)]) if is_moderate(*c) => {
            (Some(Atom::Const(*c)), *of)
        }
        _ => return None,
    };
    of.var()?;
    let mut needed: FxHashSet<Var> = factor.and_then(Atom::var).into_iter().collect();
    let mut code = Vec::new();
    for l in lets[..at].iter().rev() {
        if l.vars.iter().any(|v| needed.contains(v)) {
            l.exp.visit_atoms(&mut |a| needed.extend(a.var()));
            code.insert(0, l.clone());
        }
    }
    let stays = needed.iter().any(|v| reduced.contains(v)) || code.iter().any(|l| l.may_fail(&p.vars));
    (!stays).then_some(Product { op: *op, factor, code, of, loc: l.loc })
}

/// With such a factor sums do not overflow that did not without it, but for the very largest.
fn is_moderate(c: Const) -> bool {
    c.elem.is_float() && (1e-6..=1e6).contains(&c.as_f64().abs())
}
