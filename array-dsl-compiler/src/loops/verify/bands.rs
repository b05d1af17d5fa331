//! Steps for some rows at a time: what they may do, and that they make what they are said to make.

use super::super::uses::{Access, visit_arrays};
use super::super::{Bands, Handed, Home, Node, Step};
use super::Verifier;
use crate::bulk::ArrayId;
use crate::dim::{Dim, SizeAtom};

impl<'a> Verifier<'a> {
    pub(super) fn bands(&mut self, b: &'a Bands) {
        self.scope.dim(&b.total, "the rows of all bands");
        let rows = Dim::atom(SizeAtom::Scalar(b.rows.0));
        for h in b.read.iter().chain(&b.made) {
            self.handed(h, &b.total, &rows);
        }
        for h in &b.read {
            self.scope.readable(h.outside);
        }
        let outside = (self.scope.readable.clone(), self.checked.clone());
        if self.scope.errors.is_empty() {
            self.checked = self.reasons().in_band(b, &self.checked);
        }
        self.whole(b.first);
        self.whole(b.rows);
        b.read.iter().for_each(|h| self.written(h.inside));
        b.steps.iter().for_each(|s| self.in_band(s, b));
        self.steps(&b.steps);
        for h in &b.made {
            if self.scope.info(h.inside).is_some() && !self.covered[h.inside.0 as usize] {
                let name = self.scope.name(h.inside);
                self.scope.error(format!("a band does not make all of `{name}`"));
            }
        }
        let mut sums = Vec::new();
        for h in &b.sums {
            sums.push((self.scope.info(h.outside), self.scope.readable(h.inside).map(|(info, _)| info)));
        }
        for (h, (sum, addend)) in b.sums.iter().zip(sums) {
            let fits = matches!((sum, addend), (Some(x), Some(y)) if x.elem == y.elem && x.elem.is_float() && x.dims == y.dims);
            if !fits {
                let name = self.scope.name(h.outside);
                self.scope.error(format!("`{name}` is no sum of what bands add"));
            }
        }
        (self.scope.readable, self.checked) = outside;
        for h in b.made.iter().chain(&b.sums) {
            if self.home(h.outside) != Some(&Home::Heap) {
                let name = self.scope.name(h.outside);
                self.scope.error(format!("bands make `{name}`, which has no memory of its own"));
            }
            self.whole(h.outside);
        }
    }

    /// The rows of an array and those of a band.
    fn handed(&mut self, h: &Handed, total: &Dim, rows: &Dim) {
        let (Some(all), Some(band)) = (self.scope.info(h.outside), self.scope.info(h.inside)) else { return };
        let alike = all.elem == band.elem
            && all.dims.first() == Some(total)
            && band.dims.first() == Some(rows)
            && all.dims[1..] == band.dims[1..];
        if !alike || self.home(h.inside) != Some(&Home::Band(h.outside)) {
            let name = self.scope.name(h.inside);
            self.scope.error(format!("`{name}` is no band of rows"));
        }
    }

    /// What a step must not do in a band.
    fn in_band(&mut self, s: &Step, b: &Bands) {
        let fixed = |a: ArrayId| b.made.iter().chain(&b.sums).any(|h| h.outside == a);
        let mut used = Vec::new();
        match s {
            Step::Tree(t) => {
                if overwrites(&t.body) {
                    self.scope.error("a tree in bands overwrites elements");
                }
                visit_arrays(&t.body, &mut |a, access| used.push((a, access != Access::Read)));
            }
            Step::Contract(c) => used.extend([(c.result, true), (c.a.array, false), (c.b.array, false)]),
            Step::Fill { array, value: Some(_) } => used.push((*array, true)),
            Step::Copy { array, source } => used.extend([(*array, true), (*source, false)]),
            Step::Move { array, source } => used.extend([(*array, true), (*source, true)]),
            _ => self.scope.error("a step stands in bands that cannot"),
        }
        for (a, changes) in used {
            let root = self.p.end_of_views(a).unwrap_or(a);
            let is_read = |h: &Handed| h.inside == root || h.outside == root;
            if fixed(root) || changes && (b.read.iter().any(is_read) || self.home(root) == Some(&Home::Param))
            {
                let name = self.scope.name(a);
                self.scope.error(format!("a step in bands uses or changes `{name}` of all rows"));
            }
        }
    }
}

fn overwrites(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Loop(l) => overwrites(&l.body),
        Node::Recurrence(r) => overwrites(&r.body),
        Node::Write { .. } => true,
        Node::Let(_) | Node::Scan(_) | Node::Store { .. } | Node::Accumulate { .. } => false,
    })
}
