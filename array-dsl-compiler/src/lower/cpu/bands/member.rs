//! Which steps can be executed for some rows at a time, and with which others.

use std::collections::{BTreeMap, BTreeSet};

use super::folds::{self, Fold};
use super::rows::{Access, accesses, fails, indexes_apart, is_row};
use crate::bulk::uses::scalars;
use crate::bulk::{ArrayId, Reducer};
use crate::dim::Dim;
use crate::loops::touched::Touched;
use crate::loops::{Contract, Home, Operand, Program, Step, Tree};

/// How a step is executed in bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A tree whose first axis is the rows.
    Rows,
    /// A tree with folds over rows.
    Folds,
    /// A product of which this axis is the rows: of its result as well, or a sum over them.
    Product { axis: usize, is_sum: bool },
    /// What rows, or sums over them, begin as.
    Fill,
    /// Rows that begin as those of another array.
    Copy,
}

/// A step in bands.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub role: Role,
    /// All memory that it reads in bands.
    pub needs: BTreeSet<ArrayId>,
    /// Arrays of which it reads rows.
    pub reads: BTreeSet<ArrayId>,
    /// Arrays of which it makes rows.
    pub makes: BTreeSet<ArrayId>,
    /// Arrays that are sums over all rows.
    pub adds: BTreeSet<ArrayId>,
    /// Whether it may report an error in bands.
    pub fails: bool,
    /// The folds that it is in bands.
    pub folds: Vec<Fold>,
    /// What is left of it after the bands uses.
    pub after: Touched,
}

impl Member {
    pub fn new(role: Role) -> Member {
        let none = BTreeSet::new;
        Member {
            role,
            needs: none(),
            reads: none(),
            makes: none(),
            adds: none(),
            fails: false,
            folds: Vec::new(),
            after: Touched::default(),
        }
    }
}

/// The numbers of rows that a product may be in bands of.
pub(super) fn rows_of(c: &Contract) -> Vec<Dim> {
    let summed = (0..c.extents.len()).filter(|x| !c.out.contains(x));
    c.out.first().copied().into_iter().chain(summed).map(|x| c.extents[x].clone()).collect()
}

/// Steps that go together in bands, found one after the other.
pub(super) struct Group<'a> {
    p: &'a Program,
    total: &'a Dim,
    pub members: BTreeMap<usize, Member>,
    /// The places of the steps that come after the bands.
    pub late: BTreeSet<usize>,
    /// What steps after the bands use.
    after: Touched,
    /// What bands use, and which of it they make the rows of, or add up.
    used: BTreeSet<ArrayId>,
    rows: BTreeSet<ArrayId>,
    sums: BTreeSet<ArrayId>,
    /// Whether bands may report errors, and whether steps after them may: of two the first step's is told.
    fails: [bool; 2],
    /// Arrays that have been filled, but not used otherwise: by which step, and whether with zeros.
    filled: BTreeMap<ArrayId, (usize, bool)>,
}

impl<'a> Group<'a> {
    pub fn of(p: &'a Program, steps: &[Step], total: &'a Dim, left_out: &BTreeSet<usize>) -> Group<'a> {
        let mut g = Group {
            p,
            total,
            members: BTreeMap::new(),
            late: BTreeSet::new(),
            after: Touched::default(),
            used: BTreeSet::new(),
            rows: BTreeSet::new(),
            sums: BTreeSet::new(),
            fails: [false; 2],
            filled: BTreeMap::new(),
        };
        for (at, s) in steps.iter().enumerate() {
            g.step(at, s, left_out.contains(&at));
        }
        g
    }

    fn step(&mut self, at: usize, s: &Step, is_left_out: bool) {
        let touched = Touched::of(self.p, s);
        let found = if is_left_out { None } else { self.member(s) };
        let fills: Vec<(ArrayId, usize, bool)> = touched
            .changes
            .iter()
            .filter_map(|a| self.filled.remove(a).map(|(at, is_zero)| (*a, at, is_zero)))
            .collect();
        self.filled.retain(|a, _| !touched.reads.contains(a));
        if let Some(m) = found.filter(|m| self.fits(m, s, &fills)) {
            for (a, at, _) in fills {
                let mut fill = Member::new(Role::Fill);
                let made = if m.adds.contains(&a) { &mut fill.adds } else { &mut fill.makes };
                made.insert(a);
                fill.needs.insert(a);
                self.members.insert(at, fill);
            }
            self.used.extend(m.needs.iter().chain(&m.makes).chain(&m.adds));
            self.rows.extend(&m.makes);
            self.sums.extend(&m.adds);
            self.after.extend(m.after.clone());
            self.fails[0] |= m.fails;
            self.fails[1] |= m.role == Role::Folds && step_fails(self.p, s);
            self.members.insert(at, m);
            return;
        }
        let Touched { reads, changes } = &touched;
        let made = |a: &ArrayId| self.rows.contains(a) || self.sums.contains(a);
        let is_late = reads.iter().any(|a| made(a) || self.after.changes.contains(a))
            || changes.iter().any(|a| self.used.contains(a) || self.after.has(a))
            || self.fails[0] && step_fails(self.p, s);
        if is_late {
            self.fails[1] |= step_fails(self.p, s);
            self.late.insert(at);
            self.after.extend(touched);
        } else if let Step::Fill { array, value: Some(value) } = s
            && self.p.arrays[array.0 as usize].home == Home::Heap
        {
            self.filled.insert(*array, (at, value.is_zero()));
        }
    }

    /// Whether a step can be executed before those that come after the bands, and what it combines into begins in bands.
    fn fits(&self, m: &Member, s: &Step, fills: &[(ArrayId, usize, bool)]) -> bool {
        let is_free = |a: &ArrayId| !self.after.has(a) && (!self.used.contains(a) || self.rows.contains(a));
        let begins = |a: &ArrayId, to_zero: bool| {
            fills.iter().any(|(filled, _, is_zero)| filled == a && (*is_zero || !to_zero))
        };
        let combined: BTreeSet<ArrayId> = match (s, m.role) {
            (Step::Tree(t), Role::Rows) => accesses(&t.body)
                .into_iter()
                .flatten()
                .filter_map(|(a, access, _)| matches!(access, Access::Combine { .. }).then_some(a))
                .collect(),
            _ => BTreeSet::new(),
        };
        !(m.fails && self.fails[1])
            && m.needs.is_disjoint(&self.after.changes)
            && m.needs.is_disjoint(&self.sums)
            && m.makes.iter().all(is_free)
            && m.adds.iter().all(|a| !self.after.has(a) && !self.used.contains(a))
            && combined.iter().all(|a| self.rows.contains(a) || begins(a, m.adds.contains(a)))
            // What is filled is combined into, and not stored to.
            && fills.iter().all(|(a, ..)| combined.contains(a))
    }

    fn member(&self, s: &Step) -> Option<Member> {
        let mut m = match s {
            Step::Tree(t) => self.tree(t).or_else(|| folds::member(self.p, self.total, &self.rows, t))?,
            Step::Contract(c) => self.product(c)?,
            Step::Copy { array, source } => self.copy(*array, *source)?,
            // Its memory is there.
            Step::Move { array, source } if self.rows.contains(source) => self.copy(*array, *source)?,
            _ => return None,
        };
        m.needs.extend(scalars(self.total).map(|a| self.p.root(a)));
        Some(m)
    }

    fn is_heap(&self, a: ArrayId) -> bool {
        self.p.arrays[a.0 as usize].home == Home::Heap
    }

    fn has_rows(&self, a: ArrayId) -> bool {
        self.p.arrays[a.0 as usize].dims.first() == Some(self.total)
    }

    fn tree(&self, t: &Tree) -> Option<Member> {
        let axis = t.axes.first().filter(|a| a.extent == *self.total)?;
        if !indexes_apart(self.p, self.total, &t.body, axis.var) {
            return None;
        }
        let mut m = Member::new(Role::Rows);
        m.fails = fails(self.p, &t.body);
        let all = accesses(&t.body)?;
        for (a, access, index) in &all {
            let is_row = is_row(self.p, self.total, *a, index, axis.var);
            match (access, &self.p.arrays[a.0 as usize].home) {
                (_, Home::Row { depth }) if *depth > 0 => {}
                (Access::Read, _) => {}
                (Access::Write | Access::Combine { .. }, Home::Heap) if is_row => drop(m.makes.insert(*a)),
                (Access::Combine { reducer: Reducer::Add, is_own: false }, Home::Heap)
                    if self.p.arrays[a.0 as usize].elem.is_float() =>
                {
                    m.adds.insert(*a);
                }
                _ => return None,
            }
        }
        if !m.makes.is_disjoint(&m.adds) {
            return None;
        }
        for (a, access, index) in &all {
            let root = self.p.root(*a);
            if *access != Access::Read || matches!(self.p.arrays[root.0 as usize].home, Home::Row { .. }) {
                continue;
            }
            let is_row = is_row(self.p, self.total, *a, index, axis.var);
            let is_made = self.rows.contains(&root) || m.makes.contains(&root);
            if m.adds.contains(&root) || is_made && !(is_row && *a == root) {
                return None;
            }
            m.reads.extend((is_row && !m.makes.contains(&root)).then_some(*a));
        }
        m.needs = Touched::of_tree(self.p, t).reads;
        Some(m)
    }

    fn copy(&self, array: ArrayId, source: ArrayId) -> Option<Member> {
        let is_made = self.rows.contains(&self.p.root(source));
        let fits = self.has_rows(array) && self.has_rows(source) && self.is_heap(array);
        if !fits || is_made && self.p.root(source) != source {
            return None;
        }
        let mut m = Member::new(Role::Copy);
        m.makes.insert(array);
        m.reads.insert(source);
        m.needs.insert(self.p.root(source));
        Some(m)
    }

    fn product(&self, c: &Contract) -> Option<Member> {
        let mut axes = (0..c.extents.len()).filter(|x| c.extents[*x] == *self.total);
        axes.find_map(|x| self.product_of(c, x))
    }

    /// A product with this axis as the rows.
    fn product_of(&self, c: &Contract, axis: usize) -> Option<Member> {
        let is_sum = !c.out.contains(&axis);
        if !is_sum && c.out[0] != axis || !self.is_heap(c.result) {
            return None;
        }
        let mut m = Member::new(Role::Product { axis, is_sum });
        for o in [&c.a, &c.b] {
            let has_axis = o.axes().contains(&axis);
            let is_made = self.rows.contains(&self.p.root(o.array));
            if has_axis && !(is_rows(o, axis) && self.has_rows(o.array)) || is_made && !has_axis {
                return None;
            }
            if is_made && self.p.root(o.array) != o.array {
                return None;
            }
            m.reads.extend(has_axis.then_some(o.array));
        }
        let made = if is_sum { &mut m.adds } else { &mut m.makes };
        made.insert(c.result);
        m.needs = Touched::of_contract(self.p, c).reads;
        Some(m)
    }
}

/// Whether an axis goes through the rows of an operand, all of them.
fn is_rows(o: &Operand, axis: usize) -> bool {
    o.places.first() == Some(&(Some(axis), Dim::default()))
}

/// Whether a step may report an error, but that there is no memory for it.
fn step_fails(p: &Program, s: &Step) -> bool {
    match s {
        Step::Tree(t) => fails(p, &t.body),
        Step::Check(..) => true,
        s => s.inside().iter().any(|s| step_fails(p, s)),
    }
}
