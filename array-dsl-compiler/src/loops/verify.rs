//! The rules of Loops, as in the header of `loops`:
//!
//! * scalar code follows the rules of Bulk; what a loop folds is bound after it; a scan stands in a loop whose trips are in order,
//!   and what it needs is bound before that;
//! * an array is read after it is written: by an earlier step, or by an earlier node of the tree; dimensions and
//!   extents mention only scalars that earlier steps wrote;
//! * every `Heap` array is written whole, by a `Fill`, `Copy` or `Move`, a contraction, a sort, or by `Store`s indexed by axes
//!   and constants that cover it, or by a `Repeat` whose state or trip number it is; `Accumulate` and `Write` come after that;
//! * two points of the parallel axes never store to the same element;
//! * a `Row` array belongs to one tree, whose first axes are the dimensions it lacks, and so does a `Scratch` array, of which it uses
//!   each point's own elements (`scratch`);
//! * a chain of views ends in a `Param` or `Heap` array; a view is used after the checks that make it one of as many elements;
//!   nothing refers to a `Nowhere` array;
//! * a read that is not compared with its array's dimensions has a reason to be inside (`affine`);
//! * a loop that does not make all its trips stores elements of `Row` arrays alone, of which nothing else is read in its tree;
//! * steps in bands are trees that overwrite nothing, contractions and fills; they write the rows of arrays that bands
//!   make, all of them, what bands add up, and arrays that nothing outside uses;
//! * the middle of a loop is code of the same form, with the results of the whole; tiles are of scalar code, loops and stores.
//!
//! | file | subject |
//! |---|---|
//! | `verify` | steps |
//! | `bands` | steps for some rows at a time |
//! | `anything` | arrays that begin as anything |
//! | `memory` | homes and views; from when on an array may be read |
//! | `tree` | trees and loops, and which elements they write |
//! | `reasons` | why reads that are not compared are inside |
//! | `routines` | contractions and sorts |

mod anything;
mod bands;
mod memory;
mod reasons;
mod routines;
#[cfg(test)]
mod tests;
mod tree;

use self::reasons::Reasons;
pub use self::reasons::{certain, compare};
pub(crate) use self::reasons::{established, unset};
use super::print::types;
use super::{Covers, Home, Program, Repeat, Step};
use crate::Verified;
use crate::affine::Checked;
use crate::bulk::verify::Scope;
use crate::bulk::{ArrayId, ArrayInfo, Atom, Axis, Trips};
use crate::ty::Elem;

/// The program as one the back ends take, or every rule it breaks.
pub fn verify(p: Program) -> Result<Verified<Program>, Vec<String>> {
    let errors = check(&p);
    if errors.is_empty() { Ok(Verified::new(p)) } else { Err(errors) }
}

/// Every rule the program breaks.
pub fn check(p: &Program) -> Vec<String> {
    let arrays = types(p);
    let scope = Scope::new(&arrays, &p.vars, &p.sizes, p.places.len());
    let count = arrays.len();
    let mut v = Verifier {
        p,
        scope,
        arrays: &arrays,
        checked: Checked::executed(),
        axes: Vec::new(),
        parallel: 0,
        covered: vec![false; count],
        covers: Covers::default(),
        count: 0,
        tree: None,
        rows: vec![None; count],
    };
    v.program();
    v.scope.errors
}

struct Verifier<'a> {
    p: &'a Program,
    scope: Scope<'a>,
    arrays: &'a [ArrayInfo],
    /// What the steps before have established.
    checked: Checked,
    /// The axes around the current node, outermost first; the first `parallel` are the tree's.
    axes: Vec<&'a Axis>,
    parallel: usize,
    /// Whether some step or node writes the whole array.
    covered: Vec<bool>,
    /// What has been stored.
    covers: Covers,
    /// Steps so far.
    count: usize,
    /// The current tree, by its place among the steps.
    tree: Option<usize>,
    /// The tree that uses a row array.
    rows: Vec<Option<usize>>,
}

impl<'a> Verifier<'a> {
    fn program(&mut self) {
        let p = self.p;
        let params: Vec<ArrayId> = p.params.iter().flat_map(|p| p.arrays.leaves()).copied().collect();
        for a in &params {
            if self.scope.info(*a).is_some() && self.home(*a) != Some(&Home::Param) {
                let name = self.scope.name(*a);
                self.scope.error(format!("parameter `{name}` does not live in a parameter's memory"));
            }
            self.written(*a);
        }
        params.iter().for_each(|a| self.dims(*a));
        self.homes(&params);
        self.steps(&p.steps);
        for (i, info) in p.arrays.iter().enumerate() {
            if info.home == Home::Heap && !self.covered[i] {
                self.scope.error(format!("`{}.{i}` is not written whole", info.name));
            }
        }
        for a in p.result.leaves() {
            if self.scope.readable(*a).is_some() && matches!(self.home(*a), Some(Home::Row { .. })) {
                let name = self.scope.name(*a);
                self.scope.error(format!("`{name}` is a result and lives in a row"));
            }
        }
    }

    fn steps(&mut self, steps: &'a [Step]) {
        for (at, step) in steps.iter().enumerate() {
            self.count += 1;
            match step {
                Step::Tree(t) => self.tree(self.count, t),
                Step::Move { array, source } => {
                    let (to, from) = (self.scope.info(*array), self.scope.readable(*source));
                    if let (Some(to), Some((from, _))) = (to, from)
                        && (to.elem != from.elem || to.dims != from.dims || !self.on_heap(*source))
                    {
                        self.scope.error(format!("`{}` cannot take the memory of `{}`", to.name, from.name));
                    }
                    self.whole(*array);
                    // Nobody reads it any more.
                    if let Some(readable) = self.scope.readable.get_mut(source.0 as usize) {
                        *readable = None;
                    }
                }
                Step::Repeat(r) => self.repeat(r),
                Step::Bands(b) => self.bands(b),
                Step::Sort(s) => {
                    self.sort(s);
                    self.whole(s.result);
                }
                Step::Call(c) => {
                    self.scope.call(c);
                    c.results.iter().for_each(|a| self.whole(*a));
                }
                Step::Contract(c) => {
                    self.contract(c);
                    self.whole(c.result);
                }
                Step::Check(c, loc) => {
                    self.scope.loc(*loc);
                    self.scope.check(c);
                }
                Step::Fill { array, value } => {
                    if let Some(info) = self.scope.info(*array) {
                        let name = self.scope.name(*array);
                        match value {
                            Some(value) => {
                                let what = format!("what fills `{name}`");
                                self.scope.expect(Atom::Const(*value), info.elem, &what);
                            }
                            // Not any byte is a truth value.
                            None if info.elem == Elem::Bool => {
                                self.scope.error(format!("`{name}` cannot begin as anything"));
                            }
                            None => self.anything(*array, &steps[at + 1..]),
                        }
                    }
                    self.whole(*array);
                }
                Step::Copy { array, source } => {
                    let (to, from) = (self.scope.info(*array), self.scope.readable(*source));
                    if let (Some(to), Some((from, _))) = (to, from)
                        && (to.elem != from.elem || to.dims != from.dims)
                    {
                        self.scope.error(format!(
                            "`{}` is a copy of `{}`, which has another type",
                            to.name, from.name
                        ));
                    }
                    self.whole(*array);
                }
            }
            if self.scope.errors.is_empty() {
                let mut checked = std::mem::take(&mut self.checked);
                self.reasons().step(step, &mut checked);
                self.checked = checked;
            }
            if let Step::Check(..) = step {
                self.views();
            }
        }
    }

    fn reasons(&self) -> Reasons<'a> {
        Reasons { p: self.p, arrays: self.arrays, vars: &self.p.vars }
    }

    fn repeat(&mut self, r: &'a Repeat) {
        self.scope.loc(r.loc);
        for c in &r.carried {
            self.scope.readable(c.arrays.start);
        }
        if let Trips::For(_, count) = &r.trips {
            self.scope.dim(count, "the trips of a loop");
        }
        for c in &r.carried {
            if c.takes.0
                && let Some(readable) = self.scope.readable.get_mut(c.arrays.start.0 as usize)
            {
                *readable = None;
            }
        }
        let outside = (self.scope.readable.clone(), self.checked.clone());
        if self.scope.errors.is_empty() {
            self.checked = self.reasons().inside(r, &self.checked);
        }
        if let Trips::For(index, _) = &r.trips {
            self.whole(*index);
        }
        for c in &r.carried {
            self.whole(c.arrays.state);
        }
        self.steps(&r.steps);
        for c in &r.carried {
            self.scope.readable(c.arrays.next);
        }
        (self.scope.readable, self.checked) = outside;
        for c in &r.carried {
            if self.home(c.arrays.result) != Some(&Home::View(c.arrays.state)) {
                let name = self.scope.name(c.arrays.result);
                self.scope.error(format!("`{name}` is no view of its state"));
            }
            self.written(c.arrays.state);
        }
    }
}
