//! The adjoints of the states of a scan by an associative operator, by composing the affine maps of its steps.
//!
//! With `J_k` and the rest as in `scan`, the scan from the end is of maps `(b, C): z -> C z + b`:
//!
//! ```text
//! inclusive   seed_k = J_{k+1}^T seed_{k+1} + y_adj[k]      A_n is added to b at the last point, where no C is
//! exclusive   A_k = J_k^T A_{k+1} + y_adj[k]
//! ```
//!
//! Entries of `C` that are always 0 are not carried, nor those that are always 1, so a sum needs a sum and a product a product
//! and a sum. Nothing but composition reads what is carried of `C`: executed in order, as each chunk is once the maps of the
//! chunks after it are known, the scan is one product of a Jacobian's transpose and a vector for each point.
//!
//! Cost: the columns of `J` are d executions of the step backwards for d states, of which what is constant or 0 is folded; the
//! first pass over chunks composes matrices, d^3 operations if all entries are carried. Source: thesis 2.4 (scan).

use rustc_hash::FxHashSet;

use super::super::adjoint::{Adjoints, active_scalars, backwards};
use super::super::form::{Form, zero};
use super::super::reverse::Reverse;
use super::super::separate::ScanNest;
use super::{Backward, FromEnd, Points, Seeds, StateHistory};
use crate::bulk::build::{Code, Renaming, int};
use crate::bulk::{Atom, Nest, Prefix, Scan, Var};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

impl Reverse {
    /// As `in_order` of an exclusive scan, by composing the affine maps of an associative operator's steps.
    pub(super) fn affine(
        &mut self,
        n: &Nest,
        q: &ScanNest<'_>,
        seeds: &Seeds,
        history: &StateHistory,
    ) -> FromEnd {
        let Backward { axes, mut code, points, stored_adj, elems, .. } = self.backward(n, q, seeds, history);
        let matrix = self.matrix(q, &points, &mut code, &elems);
        let form = Form::new(&matrix);
        let mut values: Vec<Atom> =
            stored_adj.iter().zip(&elems).map(|(y, e)| y.unwrap_or(zero(*e))).collect();
        values.extend(form.carried().into_iter().map(|(i, j)| matrix[i][j].unwrap_or(zero(elems[i]))));
        let scan = self.maps(n.loc, &form, &elems, Prefix::Exclusive, values);
        FromEnd { arrays: self.store_scan(n, axes, code, scan, &elems), with_own: false }
    }

    /// The seeds of an inclusive scan by an associative operator.
    pub(super) fn affine_seeds(
        &mut self,
        n: &Nest,
        q: &ScanNest<'_>,
        seeds: &Seeds,
        history: &StateHistory,
    ) -> FromEnd {
        let elems = self.float_states(q);
        let mut code = Code::new(n.loc);
        let (axes, index) = self.backward_axes(n, &mut code);
        let Some((axis, (place, outer))) = axes.last().zip(index.split_last()) else {
            return FromEnd { arrays: Vec::new(), with_own: true };
        };
        let stored_adj = seeds.read_stored(&mut self.p, &mut code, &index);
        // The step at the next point.
        let mut later = Code::new(n.loc);
        let next = later.op(&mut self.p, Op::Add, &[*place, int(1)]);
        let at: Vec<Atom> = outer.iter().copied().chain([next]).collect();
        let points = self.points(n, q, history, &at);
        later.lets.extend(points.before.iter().chain(&points.reads).cloned());
        let matrix = self.matrix(q, &points, &mut later, &elems);
        let form = Form::new(&matrix);
        // At the last point nothing is later, and the adjoint of the last state is added.
        let p = &mut self.p;
        let mut last = Code::new(n.loc);
        let (mut values, mut differing) = (Vec::new(), Vec::new());
        for ((y, a), e) in stored_adj.iter().zip(&seeds.last).zip(&elems) {
            let own = y.unwrap_or(zero(*e));
            if let Some(a) = a {
                let adj = last.read(p, *a, outer);
                differing.push((values.len(), own, last.add(p, own, adj)));
            }
            values.push(own);
        }
        for (i, j) in form.carried() {
            differing.push((values.len(), matrix[i][j].unwrap_or(zero(elems[i])), zero(elems[i])));
            values.push(zero(elems[i]));
        }
        if !differing.is_empty() {
            let is_later = code.op(p, Op::Gt, &[Atom::Var(axis.var), int(0)]);
            let yes = differing.iter().map(|(_, yes, _)| *yes).collect();
            let no = differing.iter().map(|(.., no)| *no).collect();
            let results = code.choose(p, is_later, (later, yes), (last, no));
            for ((at, ..), value) in differing.iter().zip(results) {
                values[*at] = value;
            }
        }
        let scan = self.maps(n.loc, &form, &elems, Prefix::Inclusive, values);
        FromEnd { arrays: self.store_scan(n, axes, code, scan, &elems), with_own: true }
    }

    /// `matrix[i][j]`: the derivative of the new state j by the state i, a column for each execution backwards.
    fn matrix(
        &mut self,
        q: &ScanNest<'_>,
        points: &Points,
        code: &mut Code,
        elems: &[Elem],
    ) -> Vec<Vec<Option<Atom>>> {
        let p = &mut self.p;
        let own: FxHashSet<Var> = points.states.iter().copied().collect();
        let active = active_scalars(p, &points.step, &FxHashSet::default(), &own);
        code.lets.extend(points.executed.clone());
        let mut matrix: Vec<Vec<Option<Atom>>> = vec![vec![None; elems.len()]; elems.len()];
        for (j, result) in q.floats.iter().enumerate() {
            let mut adjoints = Adjoints::default();
            let one = Atom::Const(Const::of(elems[j], 1));
            adjoints.add(p, code, points.results[*result], one);
            backwards(p, code, &points.step, &FxHashSet::default(), &active, &mut adjoints, &mut Vec::new());
            for (row, state) in matrix.iter_mut().zip(&q.floats) {
                row[j] = adjoints.get(points.states[*state]);
            }
        }
        matrix
    }

    /// The scan of affine maps with these values: `b`, then the entries of `C` that are carried.
    fn maps(&mut self, loc: Loc, form: &Form, elems: &[Elem], prefix: Prefix, values: Vec<Atom>) -> Scan {
        let p = &mut self.p;
        let mut start: Vec<Atom> = elems.iter().map(|e| zero(*e)).collect();
        let mut types = elems.to_vec();
        for (i, j) in form.carried() {
            start.push(Atom::Const(Const::of(elems[i], i64::from(i == j))));
            types.push(elems[i]);
        }
        let left: Vec<Var> = types.iter().map(|e| p.new_var(*e)).collect();
        let right: Vec<Var> = types.iter().map(|e| p.new_var(*e)).collect();
        let step = form.composed(p, Code::new(loc), elems, &left, &right);
        let vars = p.copy_vars(&left, &mut Renaming::default());
        Scan { vars, prefix, left, start, right, values, step, loc }
    }
}
