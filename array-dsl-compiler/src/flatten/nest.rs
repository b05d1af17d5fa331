//! Frames, template scalars, and making nests from them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Flatten;
use crate::bulk::build::{Fresh, Renaming, renamed};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Axis, Block, Body, Branch, Exp, Let, Nest, Stm, Var, Yield, YieldKind};
use crate::dim::Dim;
use crate::internal::expect;
use crate::ty::{Const, Elem, Loc, Name};

/// One level around the current place: axes of a `Build` or `Reduce`, or the guard of a branch.
#[derive(Clone, Default)]
pub(super) struct Frame {
    pub axes: Vec<Axis>,
    /// The scalars here are computed only where this atom has this value.
    pub guard: Option<(Atom, bool)>,
    pub lets: Vec<Let>,
}

impl Flatten<'_> {
    pub(super) fn push_frame(&mut self, f: Frame) {
        let level = self.frames.len();
        for a in &f.axes {
            self.home.insert(a.var, level);
        }
        self.frames.push(f);
    }

    pub(super) fn pop_frame(&mut self) -> Frame {
        let f = self.frames.pop().unwrap_or_default();
        for l in &f.lets {
            for v in &l.vars {
                self.home.remove(v);
            }
        }
        f
    }

    /// The index variables of all axes of the frame.
    pub(super) fn frame_index(&self) -> Vec<Atom> {
        self.frames.iter().flat_map(|f| f.axes.iter().map(|a| Atom::Var(a.var))).collect()
    }

    pub(super) fn frame_extents(&self) -> Vec<Dim> {
        self.frames.iter().flat_map(|f| f.axes.iter().map(|a| a.extent.clone())).collect()
    }

    /// Adds a template scalar to the innermost frame.
    pub(super) fn bind(&mut self, elem: Elem, exp: Exp, loc: Loc) -> Atom {
        Atom::Var(self.bind_several(&[elem], exp, loc)[0])
    }

    /// Adds template code to the innermost frame.
    pub(super) fn add_lets(&mut self, lets: Vec<Let>) {
        let level = self.frames.len() - 1;
        for l in &lets {
            self.home.extend(l.vars.iter().map(|v| (*v, level)));
        }
        self.frames[level].lets.extend(lets);
    }

    pub(super) fn bind_several(&mut self, elems: &[Elem], exp: Exp, loc: Loc) -> Vec<Var> {
        let vars: Vec<Var> = elems.iter().map(|e| self.p.new_var(*e)).collect();
        let level = self.frames.len() - 1;
        for v in &vars {
            self.home.insert(*v, level);
        }
        self.frames[level].lets.push(Let { vars: vars.clone(), exp, loc });
        vars
    }

    /// A nest over the current frame that stores template scalars; one array each.
    pub(super) fn store_nest(&mut self, values: &[(Atom, Name)], loc: Loc) -> Vec<ArrayId> {
        let dims = self.frame_extents();
        let arrays: Vec<ArrayId> = values
            .iter()
            .map(|(v, n)| {
                let elem = self.p.elem(*v);
                self.p.new_array(n.clone(), elem, dims.clone())
            })
            .collect();
        let values: Vec<(Atom, Const)> =
            values.iter().map(|(v, _)| (*v, Const::of(self.p.elem(*v), 0))).collect();
        self.nest(&values, loc, |atoms, _| {
            atoms.iter().zip(&arrays).map(|(v, a)| (*a, YieldKind::Store(*v))).collect()
        });
        arrays
    }

    /// A nest over the current frame. `values` are template atoms, each with what it is where a guard is false;
    /// `yields` gets the nest's own atoms for them and for its axes.
    pub(super) fn nest(
        &mut self,
        values: &[(Atom, Const)],
        loc: Loc,
        yields: impl FnOnce(&[Atom], &[Atom]) -> Vec<(ArrayId, YieldKind)>,
    ) {
        let frames = self.frames.len();
        let nest =
            self.make_nest(frames, &[(frames, values)], loc, |_, _, atoms, index| yields(atoms, index));
        self.p.stms.push(Stm::Nest(nest));
    }

    /// As [`Self::nest`], where `finish` may add code of its own at the end of the body. Each group of values has guards of
    /// its own, so that no group depends on what only another one does: those of its first so many frames.
    pub(super) fn nest_with_code(
        &mut self,
        groups: &[(usize, &[(Atom, Const)])],
        loc: Loc,
        finish: impl FnOnce(&mut Self, &mut Body, &[Atom]) -> Vec<(ArrayId, YieldKind)>,
    ) {
        let frames = self.frames.len();
        let nest = self.make_nest(frames, groups, loc, |t, body, atoms, _| finish(t, body, atoms));
        self.p.stms.push(Stm::Nest(nest));
    }

    fn make_nest(
        &mut self,
        frames: usize,
        groups: &[(usize, &[(Atom, Const)])],
        loc: Loc,
        yields: impl FnOnce(&mut Self, &mut Body, &[Atom], &[Atom]) -> Vec<(ArrayId, YieldKind)>,
    ) -> Nest {
        // Those of outer levels.
        let deepest = (0..frames).rev().find(|l| !self.frames[*l].axes.is_empty()).unwrap_or(0);
        for (frames, values) in groups {
            self.store_expensive(*frames, deepest.min(*frames), values);
        }
        let mut copy = FxHashMap::default();
        let mut axes = Vec::new();
        for f in &self.frames[..frames].to_vec() {
            for a in &f.axes {
                let var = self.p.new_var(Elem::I64);
                copy.insert(a.var, Atom::Var(var));
                axes.push(Axis { var, extent: a.extent.clone() });
            }
        }
        let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let (mut body, mut atoms) = (Body::default(), Vec::new());
        for (frames, values) in groups.iter().filter(|(_, values)| !values.is_empty()) {
            let needed = self.needed(*frames, values);
            let (code, results) = self.level(0, *frames, &needed, copy.clone(), values, loc);
            body.extend(code);
            atoms.extend(results);
        }
        let yields = yields(self, &mut body, &atoms, &index);
        let yields = yields.into_iter().map(|(array, kind)| Yield { array, kind }).collect();
        Nest { axes, body, yields, loc }
    }

    /// Copies the needed scalars of the frames from `level` on; guards become `if`s around the rest.
    fn level(
        &mut self,
        level: usize,
        frames: usize,
        needed: &FxHashSet<Var>,
        mut copy: FxHashMap<Var, Atom>,
        values: &[(Atom, Const)],
        loc: Loc,
    ) -> (Vec<Let>, Vec<Atom>) {
        if level == frames {
            return (Vec::new(), values.iter().map(|(v, _)| renamed(&copy, *v)).collect());
        }
        let frame = self.frames[level].clone();
        let guard = frame.guard.map(|(c, when)| (renamed(&copy, c), when));
        let mut lets = self.copy_lets(&frame.lets, needed, &mut copy);
        let (rest, atoms) = self.level(level + 1, frames, needed, copy, values, loc);
        lets.extend(rest);
        let Some((c, when)) = guard else { return (lets, atoms) };
        let inside = Branch { block: Block { lets }, results: atoms };
        let outside = Branch {
            block: Block::default(),
            results: values.iter().map(|(_, otherwise)| Atom::Const(*otherwise)).collect(),
        };
        let vars: Vec<Var> = values.iter().map(|(_, otherwise)| self.p.new_var(otherwise.elem)).collect();
        let exp = if when { Exp::If(c, inside, outside) } else { Exp::If(c, outside, inside) };
        (vec![Let { vars: vars.clone(), exp, loc }], vars.into_iter().map(Atom::Var).collect())
    }

    fn copy_lets(
        &mut self,
        lets: &[Let],
        needed: &FxHashSet<Var>,
        copy: &mut FxHashMap<Var, Atom>,
    ) -> Vec<Let> {
        let mut out = Vec::new();
        for l in lets {
            if !l.vars.iter().any(|v| needed.contains(v)) {
                continue;
            }
            // What has been stored is read back.
            if l.vars.iter().filter(|v| needed.contains(v)).all(|v| self.stored.contains_key(v)) {
                for v in l.vars.iter().filter(|v| needed.contains(v)) {
                    let (read, var) = self.read_back(*v, copy);
                    copy.insert(*v, Atom::Var(var));
                    out.push(Let { vars: vec![var], exp: read, loc: l.loc });
                }
                continue;
            }
            let mut l = l.clone();
            TemplateCopy { t: self, copy }.binding(&mut l);
            out.push(l);
        }
        out
    }

    fn read_back(&mut self, v: Var, copy: &FxHashMap<Var, Atom>) -> (Exp, Var) {
        let (array, axes) = &self.stored[&v];
        let index = axes.iter().map(|a| renamed(copy, Atom::Var(*a))).collect();
        (Exp::Read { array: *array, index, checked: false }, self.p.new_var(self.p.vars[v.0 as usize]))
    }

    /// The template scalars that `values` and the guards need, directly or not.
    fn needed(&self, frames: usize, values: &[(Atom, Const)]) -> FxHashSet<Var> {
        let mut needed = FxHashSet::default();
        let add = |a: Atom, needed: &mut FxHashSet<Var>| {
            if let Atom::Var(v) = a {
                needed.insert(v);
            }
        };
        for (v, _) in values {
            add(*v, &mut needed);
        }
        for f in self.frames[..frames].iter().rev() {
            for l in f.lets.iter().rev() {
                if !l.vars.iter().any(|v| needed.contains(v)) {
                    continue;
                }
                if l.vars.iter().filter(|v| needed.contains(v)).all(|v| self.stored.contains_key(v)) {
                    continue;
                }
                l.exp.visit_atoms(&mut |a| add(a, &mut needed));
            }
            if let Some((c, _)) = f.guard {
                add(c, &mut needed);
            }
        }
        needed
    }

    /// Stores the expensive scalars of the first `levels` that `values`, over `frames`, need.
    pub(super) fn store_expensive(&mut self, frames: usize, levels: usize, values: &[(Atom, Const)]) {
        let needed = self.needed(frames, values);
        for level in 0..levels {
            for l in self.frames[level].lets.clone() {
                let expensive = match &l.exp {
                    Exp::Op(op, _) => !op.is_cheap(),
                    Exp::If(..) => true,
                    _ => false,
                };
                if expensive {
                    for v in l.vars.iter().filter(|v| needed.contains(v)) {
                        self.store(*v);
                    }
                }
            }
        }
    }

    /// Stores what has been read of an array that is about to be changed, so that nothing reads it later as it was: then it can be
    /// changed in place.
    pub(super) fn store_reads(&mut self, array: ArrayId) {
        for level in 0..self.frames.len() {
            for l in self.frames[level].lets.clone() {
                let mut reads = false;
                l.exp.visit_reads(&mut |a, _| reads |= a == array);
                if reads {
                    for v in &l.vars {
                        self.store(*v);
                    }
                }
            }
        }
    }

    /// The array over its frame that holds a template scalar.
    pub(super) fn store(&mut self, v: Var) -> ArrayId {
        if let Some((a, _)) = self.stored.get(&v) {
            return *a;
        }
        let level = expect(self.home.get(&v).copied(), || format!("%{} is a scalar of no frame", v.0));
        let axes: Vec<Axis> = self.frames[..=level].iter().flat_map(|f| f.axes.clone()).collect();
        let dims: Vec<Dim> = axes.iter().map(|a| a.extent.clone()).collect();
        let elem = self.p.vars[v.0 as usize];
        let array = self.p.new_array(Name::from("saved"), elem, dims);
        let binding = self.frames[level].lets.iter().find(|l| l.vars.contains(&v));
        let loc = binding.map_or_else(Loc::default, |l| l.loc);
        let nest = self.make_nest(
            level + 1,
            &[(level + 1, &[(Atom::Var(v), Const::of(elem, 0))])],
            loc,
            |_, _, atoms, _| vec![(array, YieldKind::Store(atoms[0]))],
        );
        self.p.stms.push(Stm::Nest(nest));
        self.stored.insert(v, (array, axes.iter().map(|a| a.var).collect()));
        array
    }
}

/// A copy of template code under new names.
struct TemplateCopy<'a, 't> {
    t: &'a mut Flatten<'t>,
    copy: &'a mut Renaming,
}

impl Rewriter for TemplateCopy<'_, '_> {
    fn bound_var(&mut self, v: &mut Var) {
        Fresh { vars: &mut self.t.p.vars, names: self.copy }.bound_var(v);
    }

    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(self.copy, *a);
    }

    fn block(&mut self, b: &mut Block) {
        let everything = b.lets.iter().flat_map(|l| l.vars.iter().copied()).collect();
        b.lets = self.t.copy_lets(&b.lets, &everything, self.copy);
    }
}
