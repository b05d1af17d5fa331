//! Memory of loops that points make by themselves: a point's own elements.
//!
//! | array | where its elements are |
//! |---|---|
//! | of few elements for each point, known by constants, that its loops change and read | the thread's own, `var<function>` |
//! | that others need as well, before or after | the same, taken from there before and stored there after the loops |
//! | of more elements, used by loops of the points alone | memory in which the points are neighbors, not filled before if a point sets all of its own first |
//!
//! A device keeps what is a thread's own in registers, or in memory where the elements of neighboring threads are neighbors, so that
//! what they read at the same time is read at once. The memory of all others is laid out in the order of their dimensions: of those of
//! the third kind the points' come last. Arrays that more than loops of points use stay as they are.

use std::collections::BTreeSet;

use crate::bulk::{ArrayId, Axis};
use crate::loops::rename::{Orders, reorder};
use crate::loops::uses::{each_tree, visit_arrays};
use crate::loops::{Covers, Node, Program, Recurrence, Rounds};
use crate::lower::own::Uses;
use crate::lower::private::{self, keep};

/// The most words of 32 bits that are a thread's own.
const MOST_WORDS: i64 = 256;

/// Finds the memory of the points' own elements.
pub fn private(p: &mut Program) {
    keep(p, &|_, _, found| {
        let mut left = MOST_WORDS;
        let mut fit = found;
        fit.retain(|(_, words)| {
            let fits = *words <= left;
            left -= if fits { *words } else { 0 };
            fits
        });
        fit.into_iter().map(|(a, _)| a).collect()
    });
    for array in Uses::of(p).alone().collect::<Vec<_>>() {
        without_fills(p, array);
    }
    let of_points: Vec<_> = Uses::of(p).of_points().collect();
    for (array, points) in of_points {
        points_last(p, array, &points);
    }
}

/// Lays the memory of an array out anew: the points' dimensions come last.
fn points_last(p: &mut Program, array: ArrayId, points: &BTreeSet<usize>) {
    let dims = &p.arrays[array.0 as usize].dims;
    let order: Vec<usize> =
        (0..dims.len()).filter(|k| !points.contains(k)).chain(points.iter().copied()).collect();
    if order.is_sorted() {
        return;
    }
    reorder(&mut p.arrays, &mut p.steps, &Orders::from([(array, order)]));
}

/// Takes out the steps that fill an array whose points set all of it before they do anything else with it.
fn without_fills(p: &mut Program, array: ArrayId) {
    let (mut steps, mut is_set) = (std::mem::take(&mut p.steps), false);
    each_tree(&mut steps, &mut |t| {
        let axes: Vec<Axis> = t.axes.clone();
        is_set |= Setting { p, array, is_first: true }.nodes(&mut t.body, &axes);
    });
    if is_set {
        private::without_fills(&mut steps, &|a| a == array);
    }
    p.steps = steps;
}

/// The first access to an array, which sets all of it, as a store.
struct Setting<'a> {
    p: &'a Program,
    array: ArrayId,
    is_first: bool,
}

impl Setting<'_> {
    fn nodes(&mut self, nodes: &mut [Node], around: &[Axis]) -> bool {
        let mut is_set = false;
        for n in nodes {
            let mut uses = false;
            visit_arrays(std::slice::from_ref(n), &mut |a, _| uses |= a == self.array);
            if !uses || !self.is_first {
                continue;
            }
            match n {
                Node::Recurrence(Recurrence { rounds: Rounds::For(axis, None), body, .. }) => {
                    let around: Vec<Axis> = around.iter().chain([&*axis]).cloned().collect();
                    is_set |= self.nodes(body, &around);
                }
                Node::Write { array, index, value, .. } => {
                    let (dims, axes) =
                        (&self.p.arrays[array.0 as usize].dims, around.iter().collect::<Vec<_>>());
                    if Covers::default().store(*array, dims, index, &axes) {
                        *n = Node::Store { array: *array, index: std::mem::take(index), value: *value };
                        is_set = true;
                    }
                }
                _ => {}
            }
            self.is_first = false;
        }
        is_set
    }
}
