//! Where arrays are, and from when on they may be read: homes, views, and what writes an array whole.

use super::super::{ArrayInfo, Home};
use super::Verifier;
use crate::bulk::ArrayId;
use crate::bulk::verify::{Visible, same_product};

impl<'a> Verifier<'a> {
    pub(super) fn on_heap(&self, a: ArrayId) -> bool {
        self.p.end_of_views(a).and_then(|r| self.home(r)) == Some(&Home::Heap)
    }

    pub(super) fn home(&self, a: ArrayId) -> Option<&'a Home> {
        self.p.arrays.get(a.0 as usize).map(|i| &i.home)
    }

    /// The rules of homes that do not depend on the steps.
    pub(super) fn homes(&mut self, params: &[ArrayId]) {
        for (i, info) in self.p.arrays.iter().enumerate() {
            let id = ArrayId(i as u32);
            let name = self.scope.name(id);
            match &info.home {
                Home::Param if !params.contains(&id) => self.scope.error(format!("`{name}` is no parameter")),
                Home::Row { depth } if *depth > info.dims.len() => {
                    self.scope.error(format!("`{name}` lacks {depth} dimensions of {}", info.dims.len()));
                }
                Home::View(of) => match self.p.end_of_views(id).map(|r| (r, self.home(r))) {
                    Some((_, Some(Home::Param | Home::Heap))) => {
                        let of = &self.p.arrays[of.0 as usize];
                        if of.elem != info.elem {
                            self.scope.error(format!("`{name}` of {} is a view of {}", info.elem, of.elem));
                        }
                    }
                    _ => self.scope.error(format!("`{name}` is a view of nothing in memory")),
                },
                _ => {}
            }
        }
    }

    pub(super) fn dims(&mut self, a: ArrayId) {
        let Some(info) = self.scope.info(a) else { return };
        let name = self.scope.name(a);
        info.dims.iter().for_each(|d| self.scope.dim(d, &format!("a dimension of `{name}`")));
    }

    /// How many dimensions indices do not mention.
    pub(super) fn depth(&self, a: ArrayId) -> usize {
        if let Some(Home::Row { depth }) = self.home(a) { *depth } else { 0 }
    }

    /// Whether it is established that a view has as many elements as the memory that it views.
    fn is_whole(&self, a: ArrayId) -> bool {
        match self.p.arrays.get(a.0 as usize).map(|info| (info, &info.home)) {
            Some((info, Home::View(of))) => {
                let viewed = self.p.arrays.get(of.0 as usize);
                let same = |v: &ArrayInfo| same_product(&info.dims, &v.dims, self.checked.checks());
                viewed.is_some_and(same) && self.is_whole(*of)
            }
            _ => true,
        }
    }

    /// From here on those views may be read whose number of elements has just been checked.
    pub(super) fn views(&mut self) {
        for i in 0..self.p.arrays.len() {
            let id = ArrayId(i as u32);
            let memory = self.p.end_of_views(id).filter(|r| *r != id);
            if let Some(memory) = memory
                && self.scope.readable[i].is_none()
                && self.scope.readable[memory.0 as usize].is_some()
            {
                self.written(memory);
            }
        }
    }

    /// From here on the array may be read, and with it what shares its memory.
    pub(super) fn written(&mut self, a: ArrayId) {
        let memory = self.p.end_of_views(a);
        for (i, info) in self.p.arrays.iter().enumerate() {
            let id = ArrayId(i as u32);
            if memory.is_some() && self.p.end_of_views(id) == memory && self.is_whole(id) {
                let indices = info.dims.len().saturating_sub(self.depth(id));
                // What the tree at hand writes is no host-level scalar before the tree's end.
                let known = self.scope.readable[i].is_some_and(|v| v.scalar);
                let scalar = info.dims.is_empty() && (known || self.tree.is_none());
                self.scope.readable[i] = Some(Visible { indices, scalar });
            }
        }
    }

    /// A step writes every element.
    pub(super) fn whole(&mut self, a: ArrayId) {
        if self.target(a) && matches!(self.home(a), Some(Home::Row { .. } | Home::Scratch)) {
            let name = self.scope.name(a);
            self.scope.error(format!("a step writes `{name}`, which belongs to a tree"));
        }
        self.cover(a);
        self.written(a);
    }

    pub(super) fn cover(&mut self, a: ArrayId) {
        if let Some(c) = self.p.end_of_views(a).and_then(|r| self.covered.get_mut(r.0 as usize)) {
            *c = true;
        }
    }

    /// Whether the array can be written, with its dimensions known.
    pub(super) fn target(&mut self, a: ArrayId) -> bool {
        if self.scope.info(a).is_none() {
            return false;
        }
        let memory = self.p.end_of_views(a).and_then(|r| self.home(r));
        let ok = matches!(memory, Some(Home::Heap | Home::Row { .. } | Home::Scratch | Home::Band(_)));
        if ok {
            self.dims(a);
        } else {
            let name = self.scope.name(a);
            self.scope.error(format!("`{name}` is written but has no memory of its own"));
        }
        ok
    }
}
