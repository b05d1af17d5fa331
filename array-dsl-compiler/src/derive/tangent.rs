//! Forward mode of scalar code and of scans: each scalar gets a tangent beside it.
//!
//! ```text
//! before   x = read A[i];  y = f(x, z);  r = if c { b1 } else { b2 }
//! after    x = read A[i];  x_t = read A_t[i]
//!          y = f(x, z);    y_t = f_1(x, z) * x_t + f_2(x, z) * z_t
//!          r, r_t = if c { b1 with tangents } else { b2 with tangents }
//! ```
//!
//! A tangent that is zero broadcast is not represented.

use rustc_hash::FxHashMap;

use super::partial::scaled;
use crate::bulk::build::Code;
use crate::bulk::{ArrayId, Atom, Block, Body, Branch, Exp, Item, Let, Program, Scan, Var};
use crate::internal::expect;
use crate::scalar::{Op, partials};
use crate::ty::{Const, Elem};

/// Tangents of scalars; absent means zero.
pub(super) type Tangents = FxHashMap<Var, Atom>;

/// The tangent of an atom.
pub(super) fn of(t: &Tangents, a: Atom) -> Option<Atom> {
    match a {
        Atom::Var(v) => t.get(&v).copied(),
        Atom::Const(_) => None,
    }
}

/// A nest's code with tangents. `arrays` gives the tangent of an array.
pub(super) fn with_tangents(
    p: &mut Program,
    body: &Body,
    arrays: &FxHashMap<ArrayId, ArrayId>,
    tangents: &mut Tangents,
) -> Body {
    let mut out = Body::default();
    for i in &body.items {
        match i {
            Item::Let(l) => {
                let mut code = Code::new(l.loc);
                forwards(p, &mut code, std::slice::from_ref(l), arrays, tangents);
                out.extend(code.lets);
            }
            Item::Scan(s) => out.items.push(Item::Scan(pairs(p, s, arrays, tangents))),
        }
    }
    out
}

/// Appends `lets` with tangents to `code`.
pub(super) fn forwards(
    p: &mut Program,
    code: &mut Code,
    lets: &[Let],
    arrays: &FxHashMap<ArrayId, ArrayId>,
    tangents: &mut Tangents,
) {
    for l in lets {
        code.loc = l.loc;
        match &l.exp {
            Exp::Read { array, index, checked } => {
                code.lets.push(l.clone());
                if let Some(t) = arrays.get(array) {
                    // A read outside does not end the program at once: what follows must be as careful.
                    let elem = p.array(*t).elem;
                    let read = Exp::Read { array: *t, index: index.clone(), checked: *checked };
                    let d = code.bind(p, elem, read);
                    tangents.insert(l.vars[0], d);
                }
            }
            Exp::Op(op, args) => {
                code.lets.push(l.clone());
                if p.vars[l.vars[0].0 as usize].is_float() {
                    operation(p, code, *op, args, l.vars[0], tangents);
                }
            }
            Exp::Size(_) | Exp::Inside { .. } | Exp::StopGradient(_) => code.lets.push(l.clone()),
            Exp::If(c, x, y) => choice(p, code, l, *c, [x, y], arrays, tangents),
        }
    }
}

fn operation(p: &mut Program, code: &mut Code, op: Op, args: &[Atom], result: Var, tangents: &mut Tangents) {
    if let Op::Cast(e) = op {
        if let Some(t) = of(tangents, args[0]) {
            let t = code.op(p, Op::Cast(e), &[t]);
            tangents.insert(result, t);
        }
        return;
    }
    let mut sum: Option<Atom> = None;
    for (a, partial) in args.iter().zip(partials(op)) {
        let Some(t) = of(tangents, *a) else { continue };
        if let Some(d) = scaled(p, code, t, partial, args, Atom::Var(result), op) {
            sum = Some(match sum {
                Some(s) => code.add(p, s, d),
                None => d,
            });
        }
    }
    if let Some(s) = sum {
        tangents.insert(result, s);
    }
}

fn choice(
    p: &mut Program,
    code: &mut Code,
    l: &Let,
    c: Atom,
    branches: [&Branch; 2],
    arrays: &FxHashMap<ArrayId, ArrayId>,
    tangents: &mut Tangents,
) {
    let mut sides = Vec::new();
    for b in branches {
        let mut inner = Code::new(l.loc);
        let mut t = tangents.clone();
        forwards(p, &mut inner, &b.block.lets, arrays, &mut t);
        let results: Vec<Option<Atom>> = b.results.iter().map(|r| of(&t, *r)).collect();
        sides.push((inner, results));
    }
    let with: Vec<usize> = (0..l.vars.len()).filter(|i| sides.iter().any(|s| s.1[*i].is_some())).collect();
    let elems: Vec<Elem> = with.iter().map(|i| p.vars[l.vars[*i].0 as usize]).collect();
    let new: Vec<Var> = elems.iter().map(|e| p.new_var(*e)).collect();
    let mut made = sides.into_iter().zip(branches).map(|((inner, t), b)| {
        let mut results = b.results.clone();
        results.extend(with.iter().zip(&elems).map(|(i, e)| t[*i].unwrap_or(Atom::Const(Const::of(*e, 0)))));
        Branch { block: Block { lets: inner.lets }, results }
    });
    let [x, y] = [made.next(), made.next()].map(|b| expect(b, || "an `if` with one branch".into()));
    let vars = l.vars.iter().copied().chain(new.iter().copied()).collect();
    code.lets.push(Let { vars, exp: Exp::If(c, x, y), loc: l.loc });
    for (i, v) in with.iter().zip(new) {
        tangents.insert(l.vars[*i], Atom::Var(v));
    }
}

/// The scan of pairs (state, tangent): of every float state, since a tangent may come in through any of them. It is
/// associative if the scan is.
fn pairs(p: &mut Program, s: &Scan, arrays: &FxHashMap<ArrayId, ArrayId>, tangents: &mut Tangents) -> Scan {
    let floats: Vec<usize> = (0..s.left.len()).filter(|i| p.vars[s.left[*i].0 as usize].is_float()).collect();
    let zero = |p: &Program, v: Var| Atom::Const(Const::of(p.vars[v.0 as usize], 0));
    let mut inner = tangents.clone();
    let mut paired = |p: &mut Program, vars: &[Var], at: &[usize]| -> Vec<Var> {
        let new: Vec<Var> = at.iter().map(|i| p.new_var(p.vars[vars[*i].0 as usize])).collect();
        inner.extend(at.iter().zip(&new).map(|(i, t)| (vars[*i], Atom::Var(*t))));
        new
    };
    let left_t = paired(p, &s.left, &floats);
    let right_t = if s.is_associative() { paired(p, &s.right, &floats) } else { Vec::new() };
    let mut step = Code::new(s.loc);
    forwards(p, &mut step, &s.step.block.lets, arrays, &mut inner);
    let mut pair = s.clone();
    pair.left.extend(left_t);
    pair.right.extend(right_t);
    pair.step.block.lets = step.lets;
    for i in &floats {
        let none = zero(p, s.left[*i]);
        pair.start.push(of(tangents, s.start[*i]).unwrap_or(none));
        if s.is_associative() {
            pair.values.push(of(tangents, s.values[*i]).unwrap_or(none));
        }
        pair.step.results.push(of(&inner, s.step.results[*i]).unwrap_or(none));
    }
    let new: Vec<Var> = floats.iter().map(|i| p.new_var(p.vars[s.left[*i].0 as usize])).collect();
    pair.vars.extend(&new);
    for (i, t) in floats.iter().zip(new) {
        tangents.insert(s.vars[*i], Atom::Var(t));
    }
    pair
}
