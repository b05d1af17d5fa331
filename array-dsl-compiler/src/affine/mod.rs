//! Index expressions as polynomials: a sum of axes with coefficients, plus a part without axes. What is certain
//! about them follows from the axes' extents, from checks made before, and from enclosing conditions.
//!
//! **A read goes without a comparison only where this module finds a reason at the place where it is executed**: `optimize`
//! asks it to leave the comparison out, and the verifiers of Bulk and of Loops ask it again of what the passes have made of that.
//! A check is a reason for what comes after it, in its loop and the loops inside; never for what comes before.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | polynomials; what is certain of them |
//! | `bins` | points that meet in the elements of an array |
//! | `circle` | remainders as polynomials around a circle |
//! | `exact` | integers that are their polynomials: they did not wrap |
//! | `checked` | what the statements before a place have established |
//! | `counts` | numbers of trips as extents |
//! | `proof` | reads that have no reason to be inside |
//! | `places` | which elements code reads |
//! | `meet` | two executions that touch one element |
//! | `inequalities` | systems of linear inequalities |

pub(crate) mod bins;
mod checked;
mod circle;
mod counts;
mod exact;
mod inequalities;
pub(crate) mod meet;
pub(crate) mod places;
mod proof;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) use checked::Checked;
use circle::Around;
pub(crate) use counts::not_negative;
pub(crate) use proof::{Proof, check, compare};

use crate::bulk::build::int;
use crate::bulk::{ArrayId, ArrayInfo, Atom, Axis, Branch, Exp, Let, Program, Var};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

/// `sum of coefficient * axis + rest`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Affine {
    pub axes: BTreeMap<Var, Dim>,
    pub rest: Dim,
}

impl Affine {
    pub fn constant(d: Dim) -> Affine {
        Affine { axes: BTreeMap::new(), rest: d }
    }

    pub fn axis(v: Var) -> Affine {
        Affine { axes: [(v, Dim::constant(1))].into(), rest: Dim::default() }
    }

    pub fn add(&self, o: &Affine) -> Affine {
        let mut axes = self.axes.clone();
        for (v, c) in &o.axes {
            let sum = axes.get(v).map_or_else(|| c.clone(), |d| d.add(c));
            if sum.as_constant() == Some(0) {
                axes.remove(v);
            } else {
                axes.insert(*v, sum);
            }
        }
        Affine { axes, rest: self.rest.add(&o.rest) }
    }

    pub fn scale(&self, d: &Dim) -> Affine {
        if d.as_constant() == Some(0) {
            return Affine::default();
        }
        Affine { axes: self.axes.iter().map(|(v, c)| (*v, c.mul(d))).collect(), rest: self.rest.mul(d) }
    }

    pub fn sub(&self, o: &Affine) -> Affine {
        self.add(&o.scale(&Dim::constant(-1)))
    }

    /// The dimension this is, if no axis occurs.
    pub fn as_dim(&self) -> Option<&Dim> {
        self.axes.is_empty().then_some(&self.rest)
    }
}

/// The types of arrays and scalars.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "described above")]
pub(crate) struct Types<'a> {
    pub arrays: &'a [ArrayInfo],
    pub vars: &'a [Elem],
}

impl<'a> From<&'a Program> for Types<'a> {
    fn from(p: &'a Program) -> Self {
        Types { arrays: &p.arrays, vars: &p.vars }
    }
}

/// What is known at some place of a nest.
#[derive(Clone)]
pub(crate) struct Facts {
    pub extents: FxHashMap<Var, Dim>,
    pub forms: FxHashMap<Var, Affine>,
    /// Remainders: see `circle`.
    pub around: FxHashMap<Var, Around>,
    /// Integers that are quotients of a polynomial and a size.
    pub quotients: FxHashMap<Var, (Affine, Dim)>,
    conditions: FxHashMap<Var, (Op, Atom, Atom)>,
    /// Arrays of positions, and the dimension that they are positions in.
    positions: FxHashMap<ArrayId, Dim>,
    /// Other integers that are not negative and less than a dimension.
    pub below: FxHashMap<Var, Dim>,
    /// Integers of the host level that are polynomials over others.
    values: FxHashMap<ArrayId, Dim>,
    /// Those that are numbers of trips around.
    trips: Vec<ArrayId>,
    /// Polynomials over sizes that are at least zero.
    sizes: Vec<Dim>,
    /// Those that are only if all of some dimensions are positive.
    guarded: Vec<(Dim, Vec<Dim>)>,
    /// Polynomials over axes, names and sizes that are at least zero.
    here: Vec<Affine>,
    /// How integers are computed.
    definitions: FxHashMap<Var, (Op, Atom, Atom)>,
    /// Integers that conditions are about, although they may have wrapped: they stand for themselves.
    names: Vec<Var>,
    /// Integers that are less than what a size is when running.
    less: Vec<(Var, Dim)>,
    /// The variables that something is known of, in the order in which it was learned.
    learned: Vec<Var>,
}

/// How much was known where a branch or a loop begins.
#[must_use = "what holds inside is forgotten by `leave`"]
pub(crate) struct Scope {
    learned: usize,
    names: usize,
    less: usize,
    here: usize,
    sizes: usize,
}

impl Facts {
    /// At the start of a nest with these axes, after statements that have established `checked`.
    pub fn new(axes: &[Axis], checked: &Checked) -> Facts {
        let (always, guarded) = checked.sizes();
        let mut f = Facts {
            extents: FxHashMap::default(),
            forms: FxHashMap::default(),
            around: FxHashMap::default(),
            quotients: FxHashMap::default(),
            conditions: FxHashMap::default(),
            positions: checked.positions().clone(),
            below: FxHashMap::default(),
            values: checked.values().cloned().collect(),
            trips: checked.trips().to_vec(),
            sizes: always,
            guarded,
            here: Vec::new(),
            definitions: FxHashMap::default(),
            names: Vec::new(),
            less: Vec::new(),
            learned: Vec::new(),
        };
        axes.iter().for_each(|a| f.enter(a));
        f
    }

    /// At the start of a branch or a loop.
    pub fn scope(&self) -> Scope {
        let Facts { learned, names, less, here, sizes, .. } = self;
        let (learned, names, less) = (learned.len(), names.len(), less.len());
        Scope { learned, names, less, here: here.len(), sizes: sizes.len() }
    }

    /// At its end: what is known inside is not known outside.
    pub fn leave(&mut self, scope: Scope) {
        for v in self.learned.drain(scope.learned..) {
            self.extents.remove(&v);
            self.forms.remove(&v);
            self.around.remove(&v);
            self.quotients.remove(&v);
            self.conditions.remove(&v);
            self.below.remove(&v);
            self.definitions.remove(&v);
        }
        self.names.truncate(scope.names);
        self.less.truncate(scope.less);
        self.here.truncate(scope.here);
        self.sizes.truncate(scope.sizes);
    }

    /// Goes into a loop.
    pub fn enter(&mut self, a: &Axis) {
        self.learned.push(a.var);
        self.extents.insert(a.var, a.extent.clone());
        self.forms.insert(a.var, Affine::axis(a.var));
    }

    /// In a loop that ends earlier, where its counter would be this integer.
    pub fn until(&mut self, a: &Axis, end: Atom) {
        self.within(a, None, Some(end));
    }

    /// In a loop that begins where its counter is an integer, and ends where it would be another one.
    pub fn within(&mut self, a: &Axis, from: Option<Atom>, to: Option<Atom>) {
        let [from, to] = [from, to].map(|end| end.and_then(|end| self.certain(end)));
        self.between(a, from.as_ref(), to.as_ref());
    }

    /// The same of ends that are polynomials.
    pub fn between(&mut self, a: &Axis, from: Option<&Affine>, to: Option<&Affine>) {
        let (axis, one) = (Affine::axis(a.var), Affine::constant(Dim::constant(1)));
        self.here.extend(from.map(|from| axis.sub(from)));
        self.here.extend(to.map(|to| to.sub(&axis).sub(&one)));
    }

    /// The axes around this place.
    pub fn axes(&self) -> BTreeSet<Var> {
        self.extents.keys().copied().collect()
    }

    /// In a loop, so many points or more away from either end.
    pub fn away_from_ends(&mut self, a: &Axis, margin: i64) {
        // Between its ends is every axis.
        if margin == 0 {
            return;
        }
        let (axis, margin) = (Affine::axis(a.var), Dim::constant(margin));
        let last = a.extent.sub(&Dim::constant(1)).sub(&margin);
        self.here.push(axis.sub(&Affine::constant(margin)));
        self.here.push(Affine::constant(last).sub(&axis));
    }

    /// The polynomial that an integer of the host level is, if it is known to be one.
    pub fn value(&self, a: ArrayId) -> Option<&Dim> {
        self.values.get(&a)
    }

    /// Learns what a statement binds.
    pub fn learn(&mut self, t: Types<'_>, l: &Let) {
        let v = l.vars[0];
        self.learned.extend(&l.vars);
        match &l.exp {
            Exp::Size(d) => {
                self.forms.insert(v, Affine::constant(d.clone()));
            }
            Exp::Read { array, index, .. }
                if index.is_empty() && t.arrays[array.0 as usize].elem == Elem::I64 =>
            {
                let value = self.values.get(array).cloned();
                let value = value.unwrap_or_else(|| Dim::atom(SizeAtom::Scalar(array.0)));
                self.forms.insert(v, Affine::constant(value));
            }
            Exp::Read { array, .. } if self.positions.contains_key(array) => {
                self.below.insert(v, self.positions[array].clone());
            }
            Exp::If(c, yes, no) if l.vars.iter().any(|v| t.vars[v.0 as usize] == Elem::I64) => {
                let mut side = |b: &Branch, when: bool| {
                    let scope = self.scope();
                    self.assume(*c, when);
                    b.block.lets.iter().for_each(|l| self.learn(t, l));
                    let positions = b.results.iter().map(|r| self.position(*r)).collect::<Vec<_>>();
                    self.leave(scope);
                    positions
                };
                let sides = side(yes, true).into_iter().zip(side(no, false));
                for (v, (a, b)) in l.vars.iter().zip(sides) {
                    self.below.extend(a.filter(|a| b.as_ref() == Some(a)).map(|d| (*v, d)));
                }
            }
            Exp::Op(Op::Select, args) if t.vars[v.0 as usize] == Elem::I64 => {
                let sides = (self.position(args[1]), self.position(args[2]));
                self.below.extend(sides.0.filter(|a| sides.1.as_ref() == Some(a)).map(|d| (v, d)));
            }
            Exp::Op(op @ (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::And), args) => {
                self.conditions.insert(v, (*op, args[0], args[1]));
            }
            Exp::Op(op, args) if t.vars[v.0 as usize] == Elem::I64 => {
                if let [a, b] = args[..] {
                    self.definitions.insert(v, (*op, a, b));
                }
                let form = match op {
                    Op::Add => self.form(args[0]).zip(self.form(args[1])).map(|(a, b)| a.add(&b)),
                    Op::Sub => self.form(args[0]).zip(self.form(args[1])).map(|(a, b)| a.sub(&b)),
                    Op::Neg => self.form(args[0]).map(|a| a.scale(&Dim::constant(-1))),
                    Op::Mul => self.form(args[0]).zip(self.form(args[1])).and_then(|(a, b)| {
                        match (a.as_dim(), b.as_dim()) {
                            (Some(d), _) => Some(b.scale(d)),
                            (_, Some(d)) => Some(a.scale(d)),
                            _ => None,
                        }
                    }),
                    _ => None,
                };
                if let Some(f) = form {
                    self.forms.insert(v, f);
                } else if let Some(a) = self.circular(*op, args) {
                    self.around.insert(v, a);
                } else if let Some(q) = self.fraction(*op, args) {
                    self.quotients.insert(v, q);
                } else if let Some(n) = self.modulus(*op, args) {
                    self.below.insert(v, n);
                }
            }
            _ => {}
        }
    }

    /// The polynomial an integer is.
    pub fn form(&self, a: Atom) -> Option<Affine> {
        match a {
            Atom::Const(c) if c.elem == Elem::I64 => Some(Affine::constant(Dim::constant(c.as_i64()))),
            Atom::Const(_) => None,
            Atom::Var(v) => self.forms.get(&v).cloned(),
        }
    }

    /// The axis or the constant that a sum or difference is.
    pub fn atom(&self, op: Op, args: &[Atom]) -> Option<Atom> {
        let (a, b) = (self.form(args[0])?, self.form(args[1])?);
        let form = if op == Op::Add { a.add(&b) } else { a.sub(&b) };
        let is_axis = |v: &Var| self.extents.contains_key(v) && form == Affine::axis(*v);
        match form.axes.keys().find(|v| is_axis(v)) {
            Some(axis) => Some(Atom::Var(*axis)),
            None => form.as_dim()?.as_constant().map(int),
        }
    }

    /// A dimension that an integer is certainly a position in: what it was known to be less than, or the extent of an axis.
    pub fn position(&self, a: Atom) -> Option<Dim> {
        let Atom::Var(v) = a else { return None };
        let remainder = || self.remainder(a).map(|(_, modulus)| modulus);
        let known = self.below.get(&v).or_else(|| self.extents.get(&v)).or_else(remainder);
        known.or_else(|| self.extent_around(a)).cloned()
    }

    /// The extent of one of the axes that an integer is made of, if it is certainly inside: it is a neighbor there, within the ends.
    fn extent_around(&self, a: Atom) -> Option<&Dim> {
        let form = self.form(a).filter(|f| f.axes.len() <= 2)?;
        let mut extents = form.axes.keys().filter_map(|axis| self.extents.get(axis));
        extents.find(|extent| self.inside(a, extent))
    }

    /// The polynomial an integer is; one that data decide is its own name, which is like an axis of unknown range: conditions on
    /// it say what is known.
    fn form_or_name(&self, a: Atom) -> Option<Affine> {
        self.form(a).or(match a {
            Atom::Var(v) => Some(Affine::axis(v)),
            Atom::Const(_) => None,
        })
    }

    fn less_than_size(&mut self, a: Atom, b: Atom) {
        if let (Atom::Var(a), Some(b)) = (a, self.form(b))
            && let Some(d) = b.as_dim()
        {
            self.less.push((a, d.clone()));
        }
    }

    /// The integer as an exact polynomial; from here on as its own name, if it may have wrapped.
    fn certain(&mut self, a: Atom) -> Option<Affine> {
        let form = self.form(a).filter(|f| self.exact(f));
        match (form, a) {
            (Some(form), _) => Some(form),
            (None, Atom::Var(v)) => {
                self.names.push(v);
                Some(Affine::axis(v))
            }
            (None, Atom::Const(_)) => None,
        }
    }

    /// The polynomial an integer is over the names among what it is computed from by a few operations.
    fn named(&self, a: Atom, operations: usize) -> Option<Affine> {
        let Atom::Var(v) = a else { return self.form(a) };
        if self.names.contains(&v) {
            return Some(Affine::axis(v));
        }
        match self.definitions.get(&v).filter(|_| operations > 0) {
            Some((op @ (Op::Add | Op::Sub), a, b)) => {
                let (a, b) = (self.named(*a, operations - 1)?, self.named(*b, operations - 1)?);
                Some(if *op == Op::Add { a.add(&b) } else { a.sub(&b) })
            }
            _ => self.form_or_name(a),
        }
    }

    /// At the start of a branch taken when `c` is `when`.
    pub fn assume(&mut self, c: Atom, when: bool) {
        let Atom::Var(v) = c else { return };
        let Some((op, a, b)) = self.conditions.get(&v).copied() else { return };
        if op == Op::And {
            if when {
                self.assume(a, true);
                self.assume(b, true);
            }
            return;
        }
        match (op, when) {
            (Op::Lt, true) | (Op::Ge, false) => self.less_than_size(a, b),
            (Op::Gt, true) | (Op::Le, false) => self.less_than_size(b, a),
            _ => {}
        }
        let [Some(a), Some(b)] = [a, b].map(|a| self.certain(a)) else { return };
        let one = Affine::constant(Dim::constant(1));
        let (lt, le) = (|a: &Affine, b: &Affine| b.sub(a).sub(&one), |a: &Affine, b: &Affine| b.sub(a));
        match (op, when) {
            (Op::Lt, true) | (Op::Ge, false) => self.here.push(lt(&a, &b)),
            (Op::Le, true) | (Op::Gt, false) => self.here.push(le(&a, &b)),
            (Op::Gt, true) | (Op::Le, false) => self.here.push(lt(&b, &a)),
            (Op::Ge, true) | (Op::Lt, false) => self.here.push(le(&b, &a)),
            (Op::Eq, true) => self.here.extend([le(&a, &b), le(&b, &a)]),
            _ => {}
        }
    }

    /// Whether `d > 0` is certain, in whatever loops a read with that size may end up.
    fn positive(&self, d: &Dim) -> bool {
        self.nonnegative(&Affine::constant(d.sub(&Dim::constant(1))))
    }

    /// Whether `d > 0` is certain at the points of the nest: there no extent is zero, and neither is a factor of one.
    pub fn positive_here(&self, d: &Dim) -> bool {
        let divides = |e: &Dim| d.is_nonnegative() && d.as_monomial().is_some_and(|m| e.has_factor(m));
        // Of `0 <= i < n * m` follows that neither is zero.
        let above = || {
            let bounds = self.here.iter().filter(|f| f.axes.keys().any(|v| !self.extents.contains_key(v)));
            let products = bounds.flat_map(|f| f.rest.terms().map(|(m, _)| Dim::monomial(m.clone())));
            let mut products = products.filter(|p| divides(p));
            products.any(|p| self.positive(&p))
        };
        self.positive(d) || self.extents.values().any(|e| e == d || divides(e)) || above()
    }

    /// Whether `e >= 0` is certain.
    pub fn nonnegative(&self, e: &Affine) -> bool {
        self.bounded(e)
            || self.here.iter().any(|f| {
                let rest = e.sub(f);
                // Only another condition says anything of a name.
                let named = || rest.axes.keys().any(|v| !self.extents.contains_key(v));
                self.bounded(&rest) || named() && self.here.iter().any(|g| self.bounded(&rest.sub(g)))
            })
    }

    /// Whether the least value of `e` over the axes' ranges is at least zero. The axes of `e` are not empty: what is computed
    /// from them stays within their loops. It may take several facts of numbers that the program computes: `trips - 1 - trip < n`
    /// follows from `trips <= n` and `trip >= 0`.
    fn bounded(&self, e: &Affine) -> bool {
        let mut least = e.rest.clone();
        for (v, c) in &e.axes {
            let Some(extent) = self.extents.get(v) else { return false };
            if c.is_nonnegative() {
                continue;
            }
            if !c.scale(-1).is_nonnegative() {
                return false;
            }
            least = least.add(&c.mul(&extent.sub(&Dim::constant(1))));
        }
        let not_empty = e.axes.keys().filter_map(|v| self.extents.get(v)).map(|n| n.sub(&Dim::constant(1)));
        let not_empty: Vec<Dim> = not_empty.collect();
        let facts: Vec<&Dim> = self.sizes.iter().chain(&not_empty).collect();
        follows(&least, &facts, 3)
    }

    /// Whether a read at `index` of an array of dimensions `dims` is certainly inside. A check that was made only where
    /// some dimensions are positive counts if the index moves along axes of these: then the read stays within their loops. It
    /// counts as well where enclosing conditions say that they are.
    pub fn all_inside(&mut self, index: &[Atom], dims: &[Dim]) -> bool {
        self.all_inside_row(&[], index, dims)
    }

    /// The same of a row that exists once for each point of loops with these extents: an index into it moves along them as well.
    pub fn all_inside_row(&mut self, around: &[Dim], index: &[Atom], dims: &[Dim]) -> bool {
        let inside = |f: &Facts| index.iter().zip(dims).all(|(i, d)| f.inside(*i, d));
        if inside(self) {
            return true;
        }
        let along: Vec<&Dim> = index
            .iter()
            .filter_map(|i| self.form(*i))
            .flat_map(|f| f.axes.into_keys())
            .filter_map(|v| self.extents.get(&v))
            .chain(around)
            .collect();
        let more: Vec<Dim> = self
            .guarded
            .iter()
            .filter(|(_, guards)| guards.iter().all(|g| along.contains(&g) || self.positive(g)))
            .map(|(d, _)| d.clone())
            .collect();
        if more.is_empty() {
            return false;
        }
        let scope = self.scope();
        self.sizes.extend(more);
        let is_inside = inside(self);
        self.leave(scope);
        is_inside
    }

    /// Whether `index` tells the values of all `axes`, so that different points have different indices: each component
    /// tells the one axis in it that the others have not told, or several that it counts like digits.
    pub fn tells_all(&self, index: &[Atom], axes: &FxHashSet<Var>) -> bool {
        let mut forms: Vec<Affine> =
            index.iter().filter_map(|i| self.form(*i).or_else(|| self.once_around(*i))).collect();
        forms.extend(self.flat(index));
        let mut told: FxHashSet<Var> = FxHashSet::default();
        while !axes.iter().all(|a| told.contains(a)) {
            let new = forms.iter().position(|f| self.digits(f, &told));
            let Some(i) = new else { return false };
            told.extend(forms.remove(i).axes.into_keys());
        }
        true
    }

    /// Whether `f` has axes that are not told, and tells them: one alone, or `.. + a * |b| * |c| + b * |c| + c`.
    fn digits(&self, f: &Affine, told: &FxHashSet<Var>) -> bool {
        let mut rest: Vec<(&Var, &Dim)> = f.axes.iter().filter(|(v, _)| !told.contains(v)).collect();
        if rest.len() < 2 {
            return rest.len() == 1;
        }
        let mut weight = Dim::constant(1);
        while !rest.is_empty() {
            let Some(i) = rest.iter().position(|(_, c)| **c == weight) else { return false };
            let Some(extent) = self.extents.get(rest.remove(i).0) else { return false };
            weight = weight.mul(extent);
        }
        true
    }

    /// Whether `index` certainly lies in `0..dim`.
    pub fn inside(&self, index: Atom, dim: &Dim) -> bool {
        let below = if let Atom::Var(v) = index { self.below.get(&v) } else { None };
        let modulus = self.remainder(index).map(|(_, modulus)| modulus);
        if below.into_iter().chain(modulus).any(|n| dim.sub(n).is_nonnegative()) {
            return true;
        }
        if self.quotient_inside(index, dim) {
            return true;
        }
        let last = Affine::constant(dim.sub(&Dim::constant(1)));
        let inside = |f: &Affine| self.nonnegative(f) && self.nonnegative(&last.sub(f));
        let form = self.form_or_name(index);
        let named = if self.names.is_empty() { None } else { self.named(index, 6) };
        if form.iter().chain(&named).any(inside) {
            return true;
        }
        let is_less = |v: Var| self.less.iter().any(|(i, d)| *i == v && d == dim);
        matches!(index, Atom::Var(v) if is_less(v)) && form.iter().chain(&named).any(|f| self.is_count(f))
    }

    /// Whether the program's integer is not negative: the polynomial is not, and the integer is that, or at most another one that
    /// there is.
    pub fn is_count(&self, f: &Affine) -> bool {
        let no_names = f.axes.keys().all(|v| self.extents.contains_key(v));
        let parts = f.axes.keys().map(|v| Affine::axis(*v));
        let mut parts = parts.chain(f.rest.atoms().into_iter().map(|a| Affine::constant(Dim::atom(a))));
        self.nonnegative(f) && (no_names && self.exact(f) || parts.any(|a| self.nonnegative(&a.sub(f))))
    }

    /// The value of a comparison of integers, if it is certain.
    pub fn decide(&self, op: Op, a: Atom, b: Atom) -> Option<bool> {
        let (a, b) = (self.form(a)?, self.form(b)?);
        let d = b.sub(&a);
        if d != Affine::default() && !(self.exact(&a) && self.exact(&b)) {
            return None;
        }
        let one = Affine::constant(Dim::constant(1));
        let le = |d: &Affine| self.nonnegative(d);
        let (lt_ab, le_ab) = (le(&d.sub(&one)), le(&d));
        let neg = d.scale(&Dim::constant(-1));
        let (lt_ba, le_ba) = (le(&neg.sub(&one)), le(&neg));
        match op {
            Op::Lt if lt_ab => Some(true),
            Op::Lt if le_ba => Some(false),
            Op::Le if le_ab => Some(true),
            Op::Le if lt_ba => Some(false),
            Op::Gt if lt_ba => Some(true),
            Op::Gt if le_ab => Some(false),
            Op::Ge if le_ba => Some(true),
            Op::Ge if lt_ab => Some(false),
            Op::Eq if le_ab && le_ba => Some(true),
            Op::Eq if lt_ab || lt_ba => Some(false),
            Op::Ne if le_ab && le_ba => Some(false),
            Op::Ne if lt_ab || lt_ba => Some(true),
            _ => None,
        }
    }
}

/// Whether a polynomial is at least zero because it is the sum of at most so many polynomials that are, and one that is for all
/// sizes. A term that may be negative must come from a fact in which it has that sign, wherever that stands in the sum: first, say.
fn follows(d: &Dim, facts: &[&Dim], most: usize) -> bool {
    let Some((term, sign)) = d.uncertain() else { return d.is_nonnegative() };
    let has = |s: &&&Dim| s.coefficient(term).signum() == sign;
    most > 0 && facts.iter().filter(has).any(|s| follows(&d.sub(s), facts, most - 1))
}
