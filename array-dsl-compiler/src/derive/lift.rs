//! A program executed at every point of a frame: what `vmap`, Jacobians and Hessians are made of.
//!
//! ```text
//! nest [i < n] { x[i] .. } store y      =  nest [f.., i < n] { X[f.., i] .. } store Y       if x has become X: F.., n
//! ```
//!
//! An array that depends on a lifted one is lifted; everything else is computed once. The form is closed: a lifted nest is
//! a nest with leading axes, a scan's axis stays the last one, a loop carries lifted states. What cannot be lifted: a size
//! that depends on the point, and a `while` that ends at different times.

use rustc_hash::{FxHashMap, FxHashSet};

use super::NotDifferentiable;
use crate::bulk::build::{Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{
    ArrayId, Atom, Axis, Carried, Check, Custom, Exp, Nest, Program, Repeat, Sort, Stm, Trips, Yield,
    YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::ty::{Const, Elem, Loc};

/// Appends statements to `p`, executed at every point of a frame. `arrays` has the lifted arrays that they read, and gains
/// those that they make.
pub(super) fn lift(
    p: &mut Program,
    stms: &[Stm],
    frame: &[Dim],
    arrays: &mut FxHashMap<ArrayId, ArrayId>,
) -> Result<(), NotDifferentiable> {
    let mut l = Lift { p, frame, arrays };
    stms.iter().try_for_each(|s| l.statement(s))
}

/// The array at every point of the frame: lifted, or the same everywhere.
pub(super) fn broadcast(
    p: &mut Program,
    a: ArrayId,
    frame: &[Dim],
    arrays: &FxHashMap<ArrayId, ArrayId>,
) -> ArrayId {
    if let Some(lifted) = arrays.get(&a) {
        return *lifted;
    }
    let info = p.array(a).clone();
    let dims: Vec<Dim> = frame.iter().chain(&info.dims).cloned().collect();
    p.store(&info.name, info.elem, &dims, Loc::default(), |p, code, index| {
        code.read(p, a, &index[frame.len()..])
    })
}

struct Lift<'a> {
    p: &'a mut Program,
    frame: &'a [Dim],
    arrays: &'a mut FxHashMap<ArrayId, ArrayId>,
}

impl Lift<'_> {
    fn statement(&mut self, s: &Stm) -> Result<(), NotDifferentiable> {
        match s {
            Stm::Nest(n) => self.nest(n),
            Stm::Reshape { result, source } => {
                let dims = self.p.array(*result).dims.clone();
                self.require_uniform(&dims.iter().collect::<Vec<_>>(), Loc::default())?;
                match self.arrays.get(source).copied() {
                    Some(source) => {
                        let result = self.lifted(*result);
                        self.p.stms.push(Stm::Reshape { result, source });
                    }
                    None => self.p.stms.push(s.clone()),
                }
                Ok(())
            }
            Stm::Check(c, loc) => {
                self.require_uniform(&c.kind.dims(), *loc)?;
                // A condition that differs from point to point holds at some of them.
                let guards = c.guards.iter().filter(|g| self.require_uniform(&[g], *loc).is_ok());
                let check = Check { kind: c.kind.clone(), guards: guards.cloned().collect() };
                self.p.stms.push(Stm::Check(check, *loc));
                Ok(())
            }
            Stm::Sort(q) => {
                match self.arrays.get(&q.keys).copied() {
                    // The axis that is sorted is the last.
                    Some(keys) => {
                        let result = self.lifted(q.result);
                        self.p.stms.push(Stm::Sort(Sort { result, keys }));
                    }
                    None => self.p.stms.push(s.clone()),
                }
                Ok(())
            }
            Stm::Repeat(r) => self.repeat(r),
            Stm::Call(c) => super::custom::called_early(c),
            Stm::Custom(c) => {
                if !s.inputs().iter().any(|a| self.arrays.contains_key(a)) {
                    self.p.stms.push(s.clone());
                    return Ok(());
                }
                let mut all = |list: &[ArrayId]| -> Vec<ArrayId> {
                    list.iter().map(|a| broadcast(self.p, *a, self.frame, self.arrays)).collect()
                };
                let (values, args) = (all(&c.values), all(&c.args));
                let results = c.results.iter().map(|a| self.lifted(*a)).collect();
                self.p.stms.push(Stm::Custom(Custom { results, values, args, ..*c }));
                Ok(())
            }
        }
    }

    /// A new lifted array for one.
    fn lifted(&mut self, a: ArrayId) -> ArrayId {
        let info = self.p.array(a).clone();
        let dims = self.frame.iter().cloned().chain(info.dims).collect();
        let new = self.p.new_array(info.name, info.elem, dims);
        self.arrays.insert(a, new);
        new
    }

    fn require_uniform(&self, dims: &[&Dim], loc: Loc) -> Result<(), NotDifferentiable> {
        let differs =
            |a: &SizeAtom| matches!(a, SizeAtom::Scalar(s) if self.arrays.contains_key(&ArrayId(*s)));
        if dims.iter().any(|d| d.atoms().iter().any(differs)) {
            let what = "a size differs from point to point".into();
            return Err(NotDifferentiable { what, loc: Some(loc) });
        }
        Ok(())
    }

    fn nest(&mut self, n: &Nest) -> Result<(), NotDifferentiable> {
        let is_lifted = |a: ArrayId| self.arrays.contains_key(&a);
        let mut depends = false;
        n.body.visit_reads(&mut |a, _| depends |= is_lifted(a));
        let mut dims: Vec<Dim> = n.axes.iter().map(|a| a.extent.clone()).collect();
        n.body.visit_sizes(&mut |d| dims.push(d.clone()));
        for y in &n.yields {
            if let YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } = &y.kind {
                depends |= is_lifted(*into);
            }
        }
        self.require_uniform(&dims.iter().collect::<Vec<_>>(), n.loc)?;
        if !depends {
            self.p.stms.push(Stm::Nest(n.clone()));
            return Ok(());
        }
        let mut map = Renaming::default();
        let frame_axes = self.p.new_axes(self.frame);
        let prefix: Vec<Atom> = frame_axes.iter().map(|a| Atom::Var(a.var)).collect();
        let axes: Vec<Axis> = frame_axes.into_iter().chain(self.p.copy_axes(&n.axes, &mut map)).collect();
        let mut body = self.p.copy_body(&n.body, &mut map);
        AtPoint { arrays: self.arrays, point: &prefix }.body(&mut body);
        let mut yields = Vec::new();
        for y in &n.yields {
            let mut kind = y.kind.clone();
            if let YieldKind::Accumulate { into, index, value, .. }
            | YieldKind::Write { into, index, value, .. } = &mut kind
            {
                *into = broadcast(self.p, *into, self.frame, self.arrays);
                *index = prefix.iter().copied().chain(index.iter().map(|a| renamed(&map, *a))).collect();
                *value = renamed(&map, *value);
            } else {
                kind.rename(&map);
            }
            yields.push(Yield { array: self.lifted(y.array), kind });
        }
        self.p.stms.push(Stm::Nest(Nest { axes, body, yields, loc: n.loc }));
        Ok(())
    }

    fn repeat(&mut self, r: &Repeat) -> Result<(), NotDifferentiable> {
        // Which states depend on the point, or come to.
        let mut depends: FxHashSet<ArrayId> = self.arrays.keys().copied().collect();
        loop {
            let before = depends.len();
            for c in &r.carried {
                if depends.contains(&c.start) || depends.contains(&c.next) {
                    depends.insert(c.state);
                }
            }
            propagate(&r.body, &mut depends);
            if before == depends.len() {
                break;
            }
        }
        match &r.trips {
            Trips::For(_, count) => self.require_uniform(&[count], r.loc)?,
            Trips::While(state) if depends.contains(state) => {
                let what = "a loop ends at different times at different points".into();
                return Err(NotDifferentiable { what, loc: Some(r.loc) });
            }
            Trips::While(_) => {}
        }
        let mut carried: Vec<Carried> = Vec::new();
        for c in &r.carried {
            if depends.contains(&c.state) {
                let start = broadcast(self.p, c.start, self.frame, self.arrays);
                let state = self.lifted(c.state);
                carried.push(Carried { state, start, next: c.next, result: c.result });
            } else {
                carried.push(*c);
            }
        }
        let outside = std::mem::take(&mut self.p.stms);
        r.body.iter().try_for_each(|s| self.statement(s))?;
        for (c, old) in carried.iter_mut().zip(&r.carried) {
            if depends.contains(&old.state) {
                c.next = broadcast(self.p, old.next, self.frame, self.arrays);
                c.result = self.lifted(old.result);
            }
        }
        let body = std::mem::replace(&mut self.p.stms, outside);
        self.p.stms.push(Stm::Repeat(Repeat { trips: r.trips.clone(), carried, body, loc: r.loc }));
        Ok(())
    }
}

/// Has reads of lifted arrays read at the point.
struct AtPoint<'a> {
    arrays: &'a FxHashMap<ArrayId, ArrayId>,
    point: &'a [Atom],
}

impl Rewriter for AtPoint<'_> {
    fn exp(&mut self, e: &mut Exp) {
        if let Exp::Read { array, index, .. } = e
            && let Some(new) = self.arrays.get(array)
        {
            *array = *new;
            index.splice(0..0, self.point.iter().copied());
        }
        self.walk_exp(e);
    }
}

/// Adds what statements make of arrays in `depends`.
fn propagate(stms: &[Stm], depends: &mut FxHashSet<ArrayId>) {
    for s in stms {
        if s.inputs().iter().any(|a| depends.contains(a)) {
            depends.extend(s.results());
        }
        if let Stm::Repeat(r) = s {
            for c in &r.carried {
                if depends.contains(&c.start) || depends.contains(&c.result) {
                    depends.insert(c.state);
                }
            }
            propagate(&r.body, depends);
        }
    }
}

/// One where the two halves of an index are equal, else zero.
pub(super) fn unit(p: &mut Program, elem: Elem, dims: &[Dim]) -> ArrayId {
    use crate::scalar::Op;
    let both: Vec<Dim> = dims.iter().chain(dims).cloned().collect();
    p.store("unit", elem, &both, Loc::default(), |p, code, index| {
        let (one, zero) = (Atom::Const(Const::of(elem, 1)), Atom::Const(Const::of(elem, 0)));
        let (row, column) = index.split_at(dims.len());
        let mut on_diagonal: Option<Atom> = None;
        for (i, j) in row.iter().zip(column) {
            let equal = code.op(p, Op::Eq, &[*i, *j]);
            on_diagonal = Some(match on_diagonal {
                Some(d) => code.op(p, Op::And, &[d, equal]),
                None => equal,
            });
        }
        on_diagonal.map_or(one, |d| code.select(p, d, one, zero))
    })
}
