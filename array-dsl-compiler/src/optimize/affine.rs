//! Index expressions as polynomials: a sum of axes with coefficients, plus a part without axes. What is certain
//! about them follows from the axes' extents, from checks made before, and from enclosing conditions.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::circle::Around;
use crate::bulk::{ArrayId, Atom, Axis, CheckKind, Exp, Let, Program, Sort, Sorted, Stm, Var};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::Elem;

/// `sum of coefficient * axis + rest`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Affine {
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

/// What is known at some place of a nest.
#[derive(Clone)]
pub(super) struct Facts {
    pub extents: HashMap<Var, Dim>,
    pub forms: HashMap<Var, Affine>,
    /// Remainders: see `circle`.
    pub around: HashMap<Var, Around>,
    /// Integers that are quotients of a polynomial and a size.
    pub quotients: HashMap<Var, (Affine, Dim)>,
    conditions: HashMap<Var, (Op, Atom, Atom)>,
    /// Arrays of positions in rows, and the rows' lengths.
    pub sorts: HashMap<ArrayId, Dim>,
    /// Other integers that are not negative and less than a dimension.
    pub below: HashMap<Var, Dim>,
    /// Polynomials over sizes that are at least zero.
    sizes: Vec<Dim>,
    /// Those that are only if all of some dimensions are positive.
    guarded: Vec<(Dim, Vec<Dim>)>,
    /// Polynomials over axes and sizes that are at least zero.
    here: Vec<Affine>,
}

/// The polynomials that the program's checks make nonnegative, each with the dimensions that must be positive for that.
pub(super) fn checked_sizes(p: &Program) -> Vec<(Dim, Vec<Dim>)> {
    let mut out = Vec::new();
    for s in &p.stms {
        if let Stm::Check(c, _) = s {
            let least = match &c.kind {
                CheckKind::NonNegative(d) => vec![d.clone()],
                CheckKind::AtLeast(a, b) => vec![b.sub(a)],
                CheckKind::Equal(a, b) => vec![a.sub(b), b.sub(a)],
            };
            out.extend(least.into_iter().map(|d| (d, c.guards.clone())));
        }
    }
    out
}

/// The arrays of positions that the program's sorts give, and the lengths of the rows.
pub(super) fn sorts(p: &Program) -> HashMap<ArrayId, Dim> {
    let sort = |s: &Stm| match s {
        Stm::Sort(Sort { result, gives: Sorted::Positions, .. }) => {
            Some((*result, p.array(*result).dims.last()?.clone()))
        }
        _ => None,
    };
    p.stms.iter().filter_map(sort).collect()
}

impl Facts {
    /// At the start of a nest with these axes.
    pub fn new(axes: &[Axis], sizes: &[(Dim, Vec<Dim>)]) -> Facts {
        let (always, guarded): (Vec<_>, Vec<_>) =
            sizes.iter().cloned().partition(|(_, guards)| guards.is_empty());
        let mut f = Facts {
            extents: HashMap::new(),
            forms: HashMap::new(),
            around: HashMap::new(),
            quotients: HashMap::new(),
            conditions: HashMap::new(),
            sorts: HashMap::new(),
            below: HashMap::new(),
            sizes: always.into_iter().map(|(d, _)| d).collect(),
            guarded,
            here: Vec::new(),
        };
        for a in axes {
            f.extents.insert(a.var, a.extent.clone());
            f.forms.insert(a.var, Affine::axis(a.var));
        }
        f
    }

    /// Learns what a statement binds.
    pub fn learn(&mut self, p: &Program, l: &Let) {
        let v = l.vars[0];
        match &l.exp {
            Exp::Size(d) => {
                self.forms.insert(v, Affine::constant(d.clone()));
            }
            Exp::Read { array, index, .. } if index.is_empty() && p.array(*array).elem == Elem::I64 => {
                self.forms.insert(v, Affine::constant(Dim::atom(SizeAtom::Scalar(array.0))));
            }
            Exp::Read { array, .. } if self.sorts.contains_key(array) => {
                self.below.insert(v, self.sorts[array].clone());
            }
            Exp::Op(op @ (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::And), args) => {
                self.conditions.insert(v, (*op, args[0], args[1]));
            }
            Exp::Op(op, args) if p.vars[v.0 as usize] == Elem::I64 => {
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

    /// The facts inside a branch taken when `c` is `when`.
    pub fn assume(&self, c: Atom, when: bool) -> Facts {
        let mut f = self.clone();
        f.add_condition(c, when);
        f
    }

    fn add_condition(&mut self, c: Atom, when: bool) {
        let Atom::Var(v) = c else { return };
        let Some((op, a, b)) = self.conditions.get(&v).copied() else { return };
        if op == Op::And {
            if when {
                self.add_condition(a, true);
                self.add_condition(b, true);
            }
            return;
        }
        let (Some(a), Some(b)) = (self.form(a), self.form(b)) else { return };
        if !self.exact(&a) || !self.exact(&b) {
            return;
        }
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

    /// Whether the program's integer is this polynomial and not just congruent to it: integers wrap, so that `k + 1 < n`
    /// says nothing of `k` if `k` may be any number. Axes and named sizes are counts of things in memory, and their
    /// products of two are taken not to wrap; another integer is exact alone, or less a constant if it is not negative, or if the
    /// polynomial is certainly within some named size.
    pub fn exact(&self, f: &Affine) -> bool {
        self.cannot_wrap(f) || f.axes.is_empty() && !computed(&f.rest).is_empty() && self.within_a_size(f)
    }

    fn within_a_size(&self, f: &Affine) -> bool {
        let names: HashSet<SizeAtom> = self.sizes.iter().flat_map(Dim::atoms).collect();
        let mut sizes = names.into_iter().filter(|a| matches!(a, SizeAtom::Name(_)));
        self.nonnegative(f) && sizes.any(|n| self.nonnegative(&Affine::constant(Dim::atom(n)).sub(f)))
    }

    fn cannot_wrap(&self, f: &Affine) -> bool {
        const SMALL: u64 = 1 << 32;
        if let (Some(c), true) = (offset_of_scalar(&f.rest), f.axes.is_empty()) {
            let atom = f.rest.sub(&Dim::constant(c));
            return c == 0 || (c < 0 && c.unsigned_abs() < SMALL && self.sizes.contains(&atom));
        }
        let counts = |d: &Dim, degree: usize| {
            d.terms().all(|(m, c)| {
                let names = m.iter().all(|a| matches!(a, SizeAtom::Name(_)));
                names && m.len() <= degree && c.unsigned_abs() < SMALL
            })
        };
        counts(&f.rest, 2) && f.axes.values().all(|c| counts(c, 1))
    }

    /// Whether `d > 0` is certain, in whatever loops a read with that size may end up.
    fn positive(&self, d: &Dim) -> bool {
        self.nonnegative(&Affine::constant(d.sub(&Dim::constant(1))))
    }

    /// Whether `d > 0` is certain at the points of the nest: there no extent is zero, and neither is a factor of one.
    pub fn positive_here(&self, d: &Dim) -> bool {
        let divides = |e: &Dim| d.is_nonnegative() && d.as_monomial().is_some_and(|m| e.has_factor(m));
        self.positive(d) || self.extents.values().any(|e| e == d || divides(e))
    }

    /// Whether `e >= 0` is certain.
    pub fn nonnegative(&self, e: &Affine) -> bool {
        self.bounded(e) || self.here.iter().any(|f| self.bounded(&e.sub(f)))
    }

    /// Whether the least value of `e` over the axes' ranges is at least zero. The axes of `e` are not empty: what is computed
    /// from them stays within their loops. It may take two facts of numbers that the program computes: `trips - 1 - trip < n`
    /// follows from `trips <= n` and `trip >= 0`.
    fn bounded(&self, e: &Affine) -> bool {
        let mut least = e.rest.clone();
        for (v, c) in &e.axes {
            if c.is_nonnegative() {
                continue;
            }
            let negative = c.scale(-1).is_nonnegative();
            let Some(extent) = self.extents.get(v).filter(|_| negative) else { return false };
            least = least.add(&c.mul(&extent.sub(&Dim::constant(1))));
        }
        let some = e.axes.keys().filter_map(|v| self.extents.get(v)).map(|n| n.sub(&Dim::constant(1)));
        let facts: Vec<Dim> = self.sizes.iter().cloned().chain(some).collect();
        if least.is_nonnegative() || facts.iter().any(|s| least.sub(s).is_nonnegative()) {
            return true;
        }
        let scalars = computed(&least);
        let about = |d: &&Dim| computed(d).iter().any(|a| scalars.contains(a));
        facts.iter().filter(about).any(|s| {
            let rest = least.sub(s);
            facts.iter().any(|t| rest.sub(t).is_nonnegative())
        })
    }

    /// Whether a read at `index` of an array of dimensions `dims` is certainly inside. A check that was made only where
    /// some dimensions are positive counts if the index moves along axes of these: then the read stays within their loops. It
    /// counts as well where enclosing conditions say that they are.
    pub fn all_inside(&self, index: &[Atom], dims: &[Dim]) -> bool {
        let inside = |f: &Facts| index.iter().zip(dims).all(|(i, d)| f.inside(*i, d));
        if inside(self) {
            return true;
        }
        let along: Vec<&Dim> = index
            .iter()
            .filter_map(|i| self.form(*i))
            .flat_map(|f| f.axes.into_keys())
            .filter_map(|v| self.extents.get(&v))
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
        let mut known = self.clone();
        known.sizes.extend(more);
        inside(&known)
    }

    /// Whether `index` tells the values of all `axes`, so that different points have different indices: each component
    /// tells the one axis in it that the others have not told, or several that it counts like digits.
    pub fn tells_all(&self, index: &[Atom], axes: &HashSet<Var>) -> bool {
        let mut forms: Vec<Affine> =
            index.iter().filter_map(|i| self.form(*i).or_else(|| self.once_around(*i))).collect();
        forms.extend(self.flat(index));
        let mut told: HashSet<Var> = HashSet::new();
        while !axes.iter().all(|a| told.contains(a)) {
            let new = forms.iter().position(|f| self.digits(f, &told));
            let Some(i) = new else { return false };
            told.extend(forms.remove(i).axes.into_keys());
        }
        true
    }

    /// Whether `f` has axes that are not told, and tells them: one alone, or `.. + a * |b| * |c| + b * |c| + c`.
    fn digits(&self, f: &Affine, told: &HashSet<Var>) -> bool {
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
        if let Atom::Var(v) = index
            && let Some(n) = self.below.get(&v)
        {
            return dim.sub(n).is_nonnegative();
        }
        if let Some((_, modulus)) = self.remainder(index) {
            return dim.sub(modulus).is_nonnegative();
        }
        let Some(f) = self.form(index) else { return self.quotient_inside(index, dim) };
        let top = Affine::constant(dim.sub(&Dim::constant(1))).sub(&f);
        self.nonnegative(&f) && self.nonnegative(&top)
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

/// The scalars in a polynomial that are no sizes of the signature.
fn computed(d: &Dim) -> Vec<SizeAtom> {
    d.atoms().into_iter().filter(|a| matches!(a, SizeAtom::Scalar(_))).collect()
}

/// `c` if this is one scalar plus `c`.
fn offset_of_scalar(d: &Dim) -> Option<i64> {
    let c = d.terms().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| c);
    let atom = d.sub(&Dim::constant(c));
    matches!(atom.as_atom(), Some(SizeAtom::Scalar(_))).then_some(c)
}
