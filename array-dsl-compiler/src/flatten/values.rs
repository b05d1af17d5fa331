//! What Core's variables have become, and arrays over the frame that hold their values.

use super::Flatten;
use super::nest::Frame;
use crate::bulk::verify::resolved;
use crate::bulk::{ArrayId, Atom, Axis, Exp};
use crate::core;
use crate::dim::Dim;
use crate::ty::{Loc, Name};

/// What a Core variable has become.
#[derive(Clone)]
pub(super) enum Val {
    /// A template scalar or a constant.
    Scalar(Atom),
    /// The sub-array of `array` at the template indices `prefix`.
    View(View),
}

#[derive(Clone)]
pub(super) struct View {
    pub array: ArrayId,
    pub prefix: Vec<Atom>,
    /// Where the prefix was written, if it was: a row that is not there is an error of that place.
    pub loc: Option<Loc>,
}

impl View {
    pub fn of(array: ArrayId, prefix: Vec<Atom>) -> View {
        View { array, prefix, loc: None }
    }
}

impl Flatten<'_> {
    /// Core's verifier accepts no use of what is not bound, nor of an array as a scalar.
    pub(super) fn unbound(&self, v: core::Var) -> ! {
        let is = match self.env.get(&v) {
            Some(Val::Scalar(_)) => "a scalar in the place of an array",
            Some(Val::View(_)) => "an array in the place of a scalar",
            None => "not bound",
        };
        panic!("`{}` of `{}` is {is}", self.name(v), self.f.name)
    }

    pub(super) fn atom(&self, a: core::Atom) -> Atom {
        match a {
            core::Atom::Const(c) => Atom::Const(c),
            core::Atom::Var(v) => match self.env.get(&v) {
                Some(Val::Scalar(a)) => *a,
                _ => self.unbound(v),
            },
        }
    }

    pub(super) fn view(&self, v: core::Var) -> View {
        match self.env.get(&v) {
            Some(Val::View(view)) => view.clone(),
            _ => self.unbound(v),
        }
    }

    pub(super) fn value(&self, a: core::Atom) -> Val {
        match a {
            core::Atom::Var(v) => self.env[&v].clone(),
            core::Atom::Const(c) => Val::Scalar(Atom::Const(c)),
        }
    }

    /// A Core variable as the element or sub-array of an array over the frame.
    pub(super) fn bind_array(&mut self, v: core::Var, array: ArrayId, loc: Loc) {
        let index = self.frame_index();
        let ty = self.f.ty(v);
        let value = if ty.rank() == 0 {
            let elem = ty.elem;
            Val::Scalar(self.bind(elem, Exp::Read { array, index, checked: false }, loc))
        } else {
            Val::View(View::of(array, index))
        };
        self.env.insert(v, value);
    }

    /// The array over exactly the current frame that holds a value: made now if there is none.
    pub(super) fn over_frame(&mut self, a: core::Atom, loc: Loc) -> ArrayId {
        match a {
            core::Atom::Var(v) => match self.env[&v].clone() {
                Val::View(view) => {
                    let dims = self.f.ty(v).dims.clone();
                    if view.prefix == self.frame_index() && self.is_of(&view, &dims) {
                        return view.array;
                    }
                    self.elementwise(&dims, self.name(v), loc, |t, index| t.read(&view, index, loc))
                }
                Val::Scalar(x) => {
                    if let (1, Some(id)) = (self.frames.len(), self.size_scalars.get(&v)) {
                        return *id;
                    }
                    self.store_nest(&[(x, self.name(v))], loc)[0]
                }
            },
            core::Atom::Const(c) => self.store_nest(&[(Atom::Const(c), "constant".into())], loc)[0],
        }
    }

    /// Whether a view's array has the current frame's extents and then these dimensions. The first rows of a longer array are
    /// another array; and what is equal only where a branch is taken, or where a `Build` has points, is another one elsewhere.
    pub(super) fn is_of(&mut self, view: &View, dims: &[Dim]) -> bool {
        let mut want = self.frame_extents();
        want.extend(dims.iter().map(|d| self.dim(d)));
        let have = &self.p.array(view.array).dims;
        let same = |a: &Dim, b: &Dim| a == b || resolved(a, &self.checks) == resolved(b, &self.checks);
        have.len() == want.len() && have.iter().zip(&want).all(|(a, b)| same(a, b))
    }

    /// A nest over the frame and these dimensions of Core, storing what `f` gives.
    pub(super) fn elementwise(
        &mut self,
        dims: &[Dim],
        name: Name,
        loc: Loc,
        f: impl FnOnce(&mut Self, &[Atom]) -> Atom,
    ) -> ArrayId {
        let dims: Vec<Dim> = dims.iter().map(|d| self.dim(d)).collect();
        let axes = self.axes(dims);
        let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        self.push_frame(Frame { axes, ..Frame::default() });
        let value = f(self, &index);
        let arrays = self.store_nest(&[(value, name)], loc);
        self.pop_frame();
        arrays[0]
    }

    /// Whether the indices from that one on run over their dimensions, so that only those before can be outside.
    pub(super) fn are_axes(&self, array: ArrayId, index: &[Atom], from: usize) -> bool {
        let axes = || self.frames.iter().flat_map(|f| &f.axes);
        let dims = &self.p.array(array).dims;
        index
            .iter()
            .zip(dims)
            .skip(from)
            .all(|(i, d)| axes().any(|x| Atom::Var(x.var) == *i && x.extent == *d))
    }

    /// The element of a view at the remaining indices, which lie inside.
    pub(super) fn read(&mut self, v: &View, index: &[Atom], loc: Loc) -> Atom {
        let elem = self.p.array(v.array).elem;
        let index = [v.prefix.as_slice(), index].concat();
        self.bind(elem, Exp::Read { array: v.array, index, checked: true }, v.loc.unwrap_or(loc))
    }

    /// Whether a view's indices are axes of the frames that run over whole dimensions, each once.
    pub(super) fn covers(&self, view: &View, dims: &[Dim]) -> bool {
        let axes: Vec<&Axis> = self.frames.iter().flat_map(|f| &f.axes).collect();
        let mut found: Vec<usize> = Vec::new();
        view.prefix.iter().zip(dims).all(|(i, d)| {
            let at = axes.iter().position(|a| Atom::Var(a.var) == *i && a.extent == *d);
            let new = at.is_some_and(|at| !found.contains(&at));
            found.extend(at);
            new
        })
    }
}
