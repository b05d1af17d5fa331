//! What statements and scalar code use, bind and cost. The integers in a size are used as well, which no read shows.

use rustc_hash::FxHashSet;

use super::walk::Visitor;
use super::{
    ArrayId, Atom, Block, Body, Branch, Exp, Item, Let, Nest, Program, Scan, Stm, Trips, Var, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::ty::Elem;

/// The arrays of rank 0 in a size.
pub fn scalars(d: &Dim) -> impl Iterator<Item = ArrayId> {
    d.atoms().into_iter().filter_map(|a| match a {
        SizeAtom::Scalar(s) => Some(ArrayId(s)),
        SizeAtom::Name(_) => None,
    })
}

/// Shows every atom that is used.
pub(crate) struct Atoms<F>(pub F);

impl<F: FnMut(Atom)> Visitor for Atoms<F> {
    fn atom(&mut self, a: &Atom) {
        (self.0)(*a);
    }
}

/// Shows every scalar that is bound.
struct Bound<F>(F);

impl<F: FnMut(Var)> Visitor for Bound<F> {
    fn bound_var(&mut self, v: &Var) {
        (self.0)(*v);
    }
}

/// Shows every read: its array, its index, and whether that is compared.
struct Reads<F>(F);

impl<F: FnMut(ArrayId, &[Atom], bool)> Visitor for Reads<F> {
    fn exp(&mut self, e: &Exp) {
        if let Exp::Read { array, index, checked } = e {
            (self.0)(*array, index, *checked);
        }
        self.walk_exp(e);
    }
}

/// Whether an index is compared.
struct Compares(bool);

impl Visitor for Compares {
    fn exp(&mut self, e: &Exp) {
        self.0 |= e.compares();
        self.walk_exp(e);
    }
}

/// Shows every size.
pub(crate) struct Sizes<F>(pub F);

impl<F: FnMut(&Dim)> Visitor for Sizes<F> {
    fn dim(&mut self, d: &Dim) {
        (self.0)(d);
    }
}

macro_rules! visits {
    ($($part:ident by $visit:ident),*) => {$(
        impl $part {
            /// Calls `f` with every atom that is used, inside as well.
            pub fn visit_atoms(&self, f: &mut impl FnMut(Atom)) {
                Atoms(f).$visit(self);
            }

            /// Calls `f` with every scalar that is bound inside.
            pub fn visit_bound(&self, f: &mut impl FnMut(Var)) {
                Bound(f).$visit(self);
            }

            /// Calls `f` with every read: its array and its index.
            pub fn visit_reads(&self, f: &mut impl FnMut(ArrayId, &[Atom])) {
                Reads(|array, index: &[Atom], _| f(array, index)).$visit(self);
            }

            /// Whether executing it may report that an index is outside. Such code is kept even where its value is not used: a
            /// gradient that does not need `x[i]` still owes the error for an `i` outside.
            pub fn may_be_outside(&self) -> bool {
                let mut compares = Compares(false);
                compares.$visit(self);
                compares.0
            }

            /// Calls `f` with every size; not with the dimensions of arrays.
            pub fn visit_sizes(&self, f: &mut impl FnMut(&Dim)) {
                Sizes(f).$visit(self);
            }
        }
    )*};
}

visits! {
    Stm by stm, Body by body, Item by item, Let by binding, Scan by scan, Block by block, Branch by branch, Exp by exp
}

/// The arrays that are used, and those that are bound.
#[derive(Default)]
struct Arrays {
    used: Vec<ArrayId>,
    bound: FxHashSet<ArrayId>,
}

impl Visitor for Arrays {
    fn array(&mut self, a: &ArrayId) {
        self.used.push(*a);
    }

    fn bound_array(&mut self, a: &ArrayId) {
        self.bound.insert(*a);
    }
}

impl Arrays {
    /// Those used that are bound outside, each once.
    fn inputs(self) -> Vec<ArrayId> {
        let Arrays { mut used, bound } = self;
        used.retain(|a| !bound.contains(a));
        used.sort();
        used.dedup();
        used
    }
}

impl Nest {
    /// The array that the nest stores elements of, each at its own place, if it does nothing else. The result is a copy of that if
    /// its dimensions are the same.
    pub(crate) fn copied(&self) -> Option<ArrayId> {
        let ([y], [Item::Let(l)]) = (&self.yields[..], &self.body.items[..]) else { return None };
        let (YieldKind::Store(v), Exp::Read { array, index, .. }) = (&y.kind, &l.exp) else { return None };
        let in_place = index.iter().copied().eq(self.axes.iter().map(|a| Atom::Var(a.var)));
        (in_place && *v == Atom::Var(l.vars[0])).then_some(*array)
    }

    /// The arrays whose elements the nest needs, each once.
    pub fn inputs(&self) -> Vec<ArrayId> {
        let mut arrays = Arrays::default();
        arrays.walk_nest(self);
        arrays.inputs()
    }
}

impl Stm {
    /// The arrays whose elements the statement needs, each once (not those its dimensions mention).
    pub fn inputs(&self) -> Vec<ArrayId> {
        let mut arrays = Arrays::default();
        arrays.stm(self);
        arrays.inputs()
    }
}

impl Block {
    /// Whether some read here is not compared and has indices.
    pub fn has_unchecked_reads(&self) -> bool {
        let mut any = false;
        Reads(|_, index: &[Atom], checked: bool| any |= !checked && !index.is_empty()).block(self);
        any
    }
}

/// Whether executing code may report an error: an index outside, or an integer divided by zero. Such code is not executed where it
/// would not have been.
struct Fails<'a> {
    /// The types of all scalars.
    vars: &'a [Elem],
    found: bool,
}

impl Visitor for Fails<'_> {
    fn binding(&mut self, l: &Let) {
        self.found |= match &l.exp {
            Exp::Op(op, _) => op.can_fail() && !self.vars[l.vars[0].0 as usize].is_float(),
            e => e.compares(),
        };
        self.walk_binding(l);
    }
}

impl Trips {
    /// Whether an expression is the number of the trip, or that of the trips that come after it: another place in each, and all of them.
    pub fn goes_through(&self, e: &Exp) -> bool {
        let Trips::For(trip, count) = self else { return false };
        let number = Dim::atom(SizeAtom::Scalar(trip.0));
        match e {
            Exp::Read { array, .. } => array == trip,
            Exp::Size(d) => *d == number || *d == count.sub(&number).sub(&Dim::constant(1)),
            _ => false,
        }
    }
}

impl Exp {
    /// Whether it compares an index with dimensions, and reports an error where that is outside. Not what is inside of branches.
    pub fn compares(&self) -> bool {
        matches!(self, Exp::Read { checked: true, .. } | Exp::Inside { .. })
    }

    /// The cost in simple operations.
    pub fn weight(&self) -> usize {
        match self {
            Exp::Op(op, _) if op.is_cheap() => 1,
            Exp::Op(..) => 8,
            Exp::If(_, x, y) => 1 + x.block.weight() + y.block.weight(),
            _ => 1,
        }
    }
}

impl Block {
    /// The cost in simple operations, of both sides of choices.
    pub fn weight(&self) -> usize {
        self.lets.iter().map(|l| l.exp.weight()).sum()
    }
}

impl Let {
    /// Whether there is a function in it that vectors compute much faster than one number at a time.
    pub fn takes_long(&self) -> bool {
        match &self.exp {
            Exp::Op(op, _) => op.takes_long(),
            Exp::If(_, x, y) => x.block.lets.iter().chain(&y.block.lets).any(Let::takes_long),
            _ => false,
        }
    }

    /// Whether executing it may report an error. `vars` are the types of all scalars.
    pub fn may_fail(&self, vars: &[Elem]) -> bool {
        let mut fails = Fails { vars, found: false };
        fails.binding(self);
        fails.found
    }
}

/// The statements that need some scalars, directly or by others that do, or have to stay with those for another reason; and all others.
pub fn depending(
    lets: Vec<Let>,
    on: impl IntoIterator<Item = Var>,
    stays: impl Fn(&Let) -> bool,
) -> (Vec<Let>, Vec<Let>) {
    let mut needed: FxHashSet<Var> = on.into_iter().collect();
    lets.into_iter().partition(|l| {
        let mut depends = stays(l);
        l.exp.visit_atoms(&mut |a| depends |= matches!(a, Atom::Var(v) if needed.contains(&v)));
        if depends {
            needed.extend(&l.vars);
        }
        depends
    })
}

impl Item {
    /// Whether executing it may report an error. `vars` are the types of all scalars.
    pub fn may_fail(&self, vars: &[Elem]) -> bool {
        let mut fails = Fails { vars, found: false };
        fails.item(self);
        fails.found
    }
}

impl Scan {
    /// What there has to be before the first step: what the states start from, and what an associative operator uses, which joins
    /// states outside of the loop as well.
    pub fn needed_before(&self) -> Vec<Atom> {
        let mut needed = self.start.clone();
        if !self.is_associative() {
            return needed;
        }
        let mut inside: FxHashSet<Var> = self.left.iter().chain(&self.right).copied().collect();
        self.step.visit_bound(&mut |v| inside.extend([v]));
        self.step.visit_atoms(&mut |a| {
            if !matches!(a, Atom::Var(v) if inside.contains(&v)) {
                needed.push(a);
            }
        });
        needed
    }
}

/// Counts statements.
struct Statements(usize);

impl Visitor for Statements {
    fn stm(&mut self, s: &Stm) {
        self.0 += 1;
        self.walk_stm(s);
    }

    fn binding(&mut self, l: &Let) {
        self.0 += 1;
        self.walk_binding(l);
    }
}

impl Program {
    /// The number of statements, those of scalar code included.
    pub fn statements(&self) -> usize {
        let mut all = Statements(0);
        self.stms.iter().for_each(|s| all.stm(s));
        all.0
    }

    /// The arrays that some size mentions.
    pub fn size_scalars(&self) -> FxHashSet<ArrayId> {
        let mut out: FxHashSet<ArrayId> =
            self.arrays.iter().flat_map(|a| &a.dims).flat_map(scalars).collect();
        self.stms.iter().for_each(|s| s.visit_sizes(&mut |d| out.extend(scalars(d))));
        out
    }
}
