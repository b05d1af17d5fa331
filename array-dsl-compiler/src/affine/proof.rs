//! Reads that are not compared with their array's dimensions, and have no reason to be inside at the place where they stand.
//!
//! A pass may leave a read in a form from which its reason cannot be told any more. It is compared again then ([`compare`]): that
//! costs time, and nothing else. The same walk finds reads of elements that no trip has set, of arrays of which loops set a part.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Affine, Checked, Facts, Types};
use crate::bulk::verify;
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Axis, Exp, Item, Let, Program, Scan, Stm, Var};
use crate::dim::Dim;

/// A walk over the scalar code of a nest or of a tree of loops, in the order of execution.
pub(crate) struct Proof<'a> {
    pub types: Types<'a>,
    /// What is known at this place.
    pub facts: Facts,
    /// The dimensions of an array: those of the loops around it, if it is a row of them, and those that the indices of a read count.
    dims: &'a dyn Fn(ArrayId) -> (&'a [Dim], &'a [Dim]),
    /// The scalars that are read without a reason, and of which arrays.
    pub unproven: Vec<(Var, ArrayId)>,
    /// What is set of arrays of which not all is: elements that are in all of these parts.
    parts: FxHashMap<ArrayId, Vec<Part>>,
    /// Those of which an element is read that may not be.
    pub unset: Vec<ArrayId>,
    /// Elements that are written and have no reason to be inside, and whether they are compared.
    pub outside: Vec<(ArrayId, Vec<Atom>, bool)>,
}

/// The elements of an array with a place in one dimension that is within ends; none if nothing is known of them.
type Part = Option<(usize, [Option<Affine>; 2])>;

impl<'a> Proof<'a> {
    /// Of code that comes after statements that have established `checked`.
    pub fn new(
        types: Types<'a>,
        checked: &Checked,
        dims: &'a dyn Fn(ArrayId) -> (&'a [Dim], &'a [Dim]),
    ) -> Self {
        Proof {
            types,
            facts: Facts::new(&[], checked),
            dims,
            unproven: Vec::new(),
            parts: FxHashMap::default(),
            unset: Vec::new(),
            outside: Vec::new(),
        }
    }

    /// The dimensions of the loops that an array is a row of.
    pub fn dims_around(&self, a: ArrayId) -> &[Dim] {
        (self.dims)(a).0
    }

    /// Into a loop. What is known of the scalars around it holds in it.
    pub fn enter(&mut self, axis: &Axis) {
        self.facts.enter(axis);
    }

    /// Only elements of an array are set whose place in this dimension is not before the one integer and before the other one, in a
    /// loop of this extent.
    pub fn sets_part(
        &mut self,
        array: ArrayId,
        dimension: Option<usize>,
        ends: [Option<Atom>; 2],
        extent: &Dim,
    ) {
        let places = ends.map(|end| end.map(|a| self.facts.certain(a, Some(extent))));
        let is_known = places.iter().all(|p| *p != Some(None));
        let part = dimension.filter(|_| is_known).map(|d| (d, places.map(Option::flatten)));
        let parts = self.parts.entry(array).or_default();
        if !parts.contains(&part) {
            parts.push(part);
        }
    }

    /// Whether an element is one that is set.
    fn is_set(&self, array: ArrayId, index: &[Atom]) -> bool {
        let within = |(dimension, [from, to]): &(usize, [Option<Affine>; 2])| {
            let Some(place) = index.get(*dimension).and_then(|i| self.facts.form(*i)) else { return false };
            let last = |to: &Affine| to.sub(&Affine::constant(Dim::constant(1)));
            from.as_ref().is_none_or(|from| self.facts.nonnegative(&place.sub(from)))
                && to.as_ref().is_none_or(|to| self.facts.nonnegative(&last(to).sub(&place)))
        };
        self.parts.get(&array).is_none_or(|parts| parts.iter().all(|p| p.as_ref().is_some_and(within)))
    }

    /// An element is written.
    pub fn write(&mut self, array: ArrayId, index: &[Atom], checked: bool) {
        let (around, dims) = (self.dims)(array);
        if !self.facts.all_inside_row(around, index, dims) {
            self.outside.push((array, index.to_vec(), checked));
        }
    }

    /// The step of a scan, of which nothing is known after it.
    pub fn scan(&mut self, s: &Scan) {
        let scope = self.facts.scope();
        s.step.block.lets.iter().for_each(|l| self.binding(l));
        self.facts.leave(scope);
    }

    /// One statement.
    pub fn binding(&mut self, l: &Let) {
        match &l.exp {
            Exp::Read { array, index, checked } => {
                let (around, dims) = (self.dims)(*array);
                if !checked && !self.facts.all_inside_row(around, index, dims) {
                    self.unproven.push((l.vars[0], *array));
                }
                if !self.is_set(*array, index) {
                    self.unset.push(*array);
                }
            }
            Exp::If(c, yes, no) => {
                for (branch, when) in [(yes, true), (no, false)] {
                    if branch.block.has_unchecked_reads() || !self.parts.is_empty() {
                        let scope = self.facts.scope();
                        self.facts.assume(*c, when);
                        branch.block.lets.iter().for_each(|l| self.binding(l));
                        self.facts.leave(scope);
                    }
                }
            }
            _ => {}
        }
        self.facts.learn(self.types, l);
    }
}

/// Every rule that an optimized program breaks: those of Bulk, and that what is not compared has a reason.
pub(crate) fn check(p: &Program) -> Vec<String> {
    let errors = verify::check(p);
    // Of what breaks other rules nothing can be proven.
    if !errors.is_empty() {
        return errors;
    }
    let mut unproven = Vec::new();
    of_stms(p, &p.stms, Checked::executed(), &mut unproven);
    unproven.into_iter().map(|(_, a)| verify::unproven_read(&p.array(a).name, a)).collect()
}

/// Has the reads compared that have no reason to be inside.
pub(crate) fn compare(p: &mut Program) {
    let mut unproven = Vec::new();
    of_stms(p, &p.stms, Checked::executed(), &mut unproven);
    if !unproven.is_empty() {
        let vars: FxHashSet<Var> = unproven.into_iter().map(|(v, _)| v).collect();
        p.stms.iter_mut().for_each(|s| Compare(&vars).stm(s));
    }
}

/// The reads of statements that have no reason to be inside.
fn of_stms(p: &Program, stms: &[Stm], mut checked: Checked, out: &mut Vec<(Var, ArrayId)>) {
    let dims = |a: ArrayId| p.array(a).dims.split_at(0);
    for s in stms {
        match s {
            Stm::Nest(n) => {
                let mut proof = Proof::new(Types::from(p), &checked, &dims);
                n.axes.iter().for_each(|x| proof.enter(x));
                for i in &n.body.items {
                    match i {
                        Item::Let(l) => proof.binding(l),
                        Item::Scan(s) => proof.scan(s),
                    }
                }
                out.extend(proof.unproven);
            }
            Stm::Repeat(r) => of_stms(p, &r.body, checked.inside_repeat(r, p), out),
            _ => {}
        }
        checked.statement(s, p);
    }
}

/// Has the reads of these scalars compared.
struct Compare<'a>(&'a FxHashSet<Var>);

impl Rewriter for Compare<'_> {
    fn binding(&mut self, l: &mut Let) {
        if let Exp::Read { checked, .. } = &mut l.exp {
            *checked |= self.0.contains(&l.vars[0]);
        }
        self.walk_binding(l);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::bulk::parse::parse;

    /// What is wrong with statements, after these parameters.
    fn wrong(parameters: &str, stms: &str) -> String {
        check(&parse(&format!("program f{parameters}\n{stms}\n=> ()")).expect("it parses")).join("; ")
    }

    #[test]
    fn reads_without_a_comparison_have_a_reason() {
        let found = |stms: &str| wrong("(x.0: [n]f64, y.1: [m]f64, k.2: i64, at.3: [m]i64) sizes n, m", stms);
        let unproven = "`x.0` is read without a comparison and without a reason";
        let read = "s.4: f64 = nest [%0 < m] { %1 = x.0[%0] } reduce(add) 1 %1";
        assert_eq!(found(read), unproven);
        assert_eq!(found(&format!("check m == n\n{read}")), "");
        assert_eq!(found(&format!("{read}\ncheck m == n")), unproven);
        // Only where the guard is positive; there are no points elsewhere.
        assert_eq!(found(&format!("check m <= n if m > 0\n{read}")), "");
        assert_eq!(found(&format!("check m <= n if k.2 > 0\n{read}")), unproven);
        // A check in a loop holds in its trip, not after it.
        let trips = |inside: &str, after: &str| {
            let state = "r.9: f64 = repeat t.5 < m with a.6: f64 = z.8";
            format!("z.8: f64 = nest [] {{ }} store 0.0f64\n{state} {{ {inside} => a.6 }}\n{after}")
        };
        assert_eq!(found(&trips("check m == n", read)), unproven);
        assert_eq!(found(&trips(&format!("check m == n\n{read}"), "")), "");
        // Of what data decide, conditions say something where they hold.
        let guarded = |condition: &str| {
            format!(
                "s.4: f64 = nest [%0 < m] {{ %1 = at.3[%0]; %2 = ge %1 0; %3 = size n; %4 = lt %1 %3; %5 = and %2 %4
                 %7 = if {condition} {{ %6 = x.0[%1] => %6 }} else {{ => 0.0f64 }} }} reduce(add) 1 %7"
            )
        };
        assert_eq!(found(&guarded("%5")), "");
        assert_eq!(found(&guarded("%4")), unproven);
        // An array of positions is one after its elements have changed places, and none after others were written.
        let sorted =
            "o.4: [n]i64 = argsort x.0\np.5: [n]i64 = nest [%0 < n] { %1 = o.4[%0]; %2 = o.4[%1] } store %2";
        let gather =
            |of: &str| format!("s.9: f64 = nest [%7 < n] {{ %8 = {of}[%7]; %9 = x.0[%8] }} reduce(add) 1 %9");
        assert_eq!(found(&format!("{sorted}\n{}", gather("p.5"))), "");
        let written = "q.6: [n]i64 = nest [%4 < n] { } write p.5[%4] -1";
        assert_eq!(found(&format!("{sorted}\n{written}\n{}", gather("q.6"))), unproven);
    }
    #[test]
    fn what_was_an_index_is_inside_afterwards() {
        let parameters = "(x.0: [m]f64, y.1: [m][d]f64, at.2: [n]i64, e.3: [n][2]i64) sizes m, d, n";
        let found = |stms: &str| wrong(parameters, stms);
        let unproven = "`x.0` is read without a comparison and without a reason";
        let first = |of: &str, at: &str| {
            format!("a.4: [n]f64 = nest [%0 < n] {{ %1 = {of}[{at}]; %2 = x.0[%1]? }} store %2")
        };
        let then = "s.5: f64 = nest [%3 < n] { %4 = size n - 1; %5 = sub %4 %3; %6 = at.2[%5]; %7 = x.0[%6] } reduce(add) 1 %7";
        assert_eq!(found(&format!("{}\n{then}", first("at.2", "%0"))), "");
        assert_eq!(found(&format!("{then}\n{}", first("at.2", "%0"))), unproven);
        // Not those of some points.
        let some = "a.4: [n]f64 = nest [%0 < n] { %1 = at.2[%0]; %8 = gt %0 3
             %9 = if %8 { %2 = x.0[%1]? => %2 } else { => 0.0f64 } } store %9";
        assert_eq!(found(&format!("{some}\n{then}")), unproven);
        // Where there are no columns nothing was compared.
        let rows = "a.4: [n][d]f64 = nest [%0 < n, %8 < d] { %1 = at.2[%0]; %2 = y.1[%1, %8]? } store %2";
        assert_eq!(found(&format!("{rows}\n{then}")), unproven);
        let again = "s.5: [n]f64 = nest [%3 < n, %4 < d] { %6 = at.2[%3]; %7 = x.0[%6] } reduce(add) 1 %7";
        assert_eq!(found(&format!("{rows}\n{again}")), "");
        // One place of two, both, and all.
        let edge = |at: &str| {
            format!(
                "s.5: [n]f64 = nest [%3 < n, %4 < 2] {{ %6 = e.3[%3, {at}]; %7 = x.0[%6] }} reduce(add) 1 %7"
            )
        };
        assert_eq!(found(&format!("{}\n{}", first("e.3", "%0, 0"), edge("0"))), "");
        assert_eq!(found(&format!("{}\n{}", first("e.3", "%0, 0"), edge("1"))), unproven);
        let second = "b.8: [n]f64 = nest [%8 < n] { %9 = e.3[%8, 1]; %10 = x.0[%9]? } store %10";
        assert_eq!(found(&format!("{}\n{}", first("e.3", "%0, 0"), edge("%4"))), unproven);
        assert_eq!(found(&format!("{}\n{second}\n{}", first("e.3", "%0, 0"), edge("%4"))), "");
    }
}
