//! Axes whose extent the trip tells, as axes along the array that is added to.
//!
//! ```text
//! before   nest [k < e(i)] accumulate(+) a at [.., o(i) + k, ..] of v(k)
//! after    nest [q < n] accumulate(+) a at [.., q, ..] of if o(i) <= q && q < o(i) + e(i) { v(q - o(i)) } else { 0 }
//! ```
//!
//! `n` is the extent of that dimension of `a`: all trips together are a nest of sizes that are known before the loop. What is not in
//! range costs next to nothing, since loops are divided where such conditions change. A triangular solve's way back adds to a row of the
//! matrix's adjoint what is on one side of the diagonal.

use crate::affine::{Affine, Checked, Facts};
use crate::bulk::build::{Code, int};
use crate::bulk::{Atom, Axis, Exp, Item, Let, Nest, Program, Reducer, Yield, YieldKind};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// How a nest goes along the array that it adds to.
pub(super) struct Along {
    /// Of each axis whose extent is not known: which it is, the dimension, and the place of its first point.
    axes: Vec<(usize, usize, Dim)>,
    /// The place.
    place: Vec<Affine>,
}

impl Along {
    /// If all axes whose extents are not known do, and the place consists of axes and sizes.
    pub fn of(p: &Program, n: &Nest, known: &Checked, is_known: impl Fn(&Dim) -> bool) -> Option<Along> {
        let [Yield { kind: YieldKind::Accumulate { reducer: Reducer::Add, index, .. }, .. }] = &n.yields[..]
        else {
            return None;
        };
        if n.body.items.iter().any(|i| matches!(i, Item::Scan(_))) {
            return None;
        }
        let mut facts = Facts::new(&n.axes, known);
        facts.reads(p.into(), n);
        let place: Vec<Affine> = facts.place(index).into_iter().collect::<Option<_>>()?;
        let unknown = (0..n.axes.len()).filter(|k| !is_known(&n.axes[*k].extent));
        let along = |axis: usize| {
            let var = n.axes[axis].var;
            let mut with = (0..place.len()).filter(|k| place[*k].axes.contains_key(&var));
            let dimension = with.next()?;
            let is_along = with.next().is_none() && place[dimension].sub(&Affine::axis(var)).axes.is_empty();
            is_along.then(|| (axis, dimension, place[dimension].rest.clone()))
        };
        let axes = unknown.map(along).collect::<Option<_>>()?;
        Some(Along { axes, place })
    }

    /// The sizes that places consist of.
    pub fn sizes(&self) -> impl Iterator<Item = &Dim> {
        self.place.iter().flat_map(|form| form.axes.values().chain([&form.rest]))
    }

    /// The nest with such axes. Its code is executed where all of them are in range.
    pub fn made(&self, p: &mut Program, mut n: Nest) -> Nest {
        let [Yield { kind: YieldKind::Accumulate { into, index, value, .. }, .. }] = &mut n.yields[..] else {
            crate::internal::broken("what goes along an array adds to one".into())
        };
        let (mut code, mut inside) = (Code::new(n.loc), Code::new(n.loc));
        let mut is_inside = Atom::Const(Const::bool(true));
        let mut place = vec![None; index.len()];
        for (axis, dimension, offset) in &self.axes {
            let extent = p.array(*into).dims[*dimension].clone();
            let whole = Axis { var: p.new_var(Elem::I64), extent };
            let Axis { var, extent } = std::mem::replace(&mut n.axes[*axis], whole.clone());
            let (at, end) = (Atom::Var(whole.var), offset.add(&extent));
            let mut and = |p: &mut Program, op, size: &Dim| {
                let size = code.size(p, size);
                let holds = code.op(p, op, &[at, size]);
                is_inside = match is_inside {
                    Atom::Const(_) => holds,
                    both => code.op(p, Op::And, &[both, holds]),
                };
            };
            if offset.as_constant() != Some(0) {
                and(p, Op::Ge, offset);
            }
            if end != whole.extent {
                and(p, Op::Lt, &end);
            }
            let first = inside.size(p, offset);
            let exp = Exp::Op(if first == int(0) { Op::Add } else { Op::Sub }, vec![at, first]);
            inside.lets.push(Let { vars: vec![var], exp, loc: n.loc });
            place[*dimension] = Some(at);
        }
        let place = place.into_iter().zip(&self.place);
        *index = place.map(|(along, form)| along.unwrap_or_else(|| sum(p, &mut code, form))).collect();
        let lets = n.body.items.into_iter().filter_map(|i| if let Item::Let(l) = i { Some(l) } else { None });
        inside.lets.extend(lets);
        let zero = Atom::Const(Const::of(p.elem(*value), 0));
        let chosen = code.choose(p, is_inside, (inside, vec![*value]), (Code::new(n.loc), vec![zero]));
        *value = chosen[0];
        n.body = code.into();
        n
    }
}

/// A polynomial of axes.
fn sum(p: &mut Program, code: &mut Code, form: &Affine) -> Atom {
    let mut sum = code.size(p, &form.rest);
    for (var, factor) in &form.axes {
        let factor = code.size(p, factor);
        let term = code.mul(p, Atom::Var(*var), factor);
        sum = code.add(p, sum, term);
    }
    sum
}
