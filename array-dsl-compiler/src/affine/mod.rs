//! Index expressions as polynomials: a sum of axes with coefficients, plus a part without axes. What is certain
//! about them follows from the axes' extents, from checks made before, and from enclosing conditions.
//!
//! **A read goes without a comparison only where this module finds a reason at the place where it is executed**: `optimize`
//! asks it to leave the comparison out, and the verifiers of Bulk and of Loops ask it again of what the passes have made of that.
//! A check is a reason for what comes after it, in its loop and the loops inside; never for what comes before.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | polynomials; what is learned of integers |
//! | `certain` | what is certain of them |
//! | `bins` | points that meet in the elements of an array |
//! | `bounds` | what `min`, `max` and choices keep integers within |
//! | `indexed` | arrays whose elements have been indices |
//! | `circle` | remainders as polynomials around a circle |
//! | `exact` | integers that are their polynomials: they did not wrap |
//! | `checked` | what the statements before a place have established |
//! | `conditions` | what enclosing conditions say, also of integers that are no polynomials |
//! | `counts` | numbers of trips as extents |
//! | `proof` | reads that have no reason to be inside |
//! | `places` | which elements code reads |
//! | `meet` | two executions that touch one element |
//! | `inequalities` | systems of linear inequalities |

pub(crate) mod bins;
mod bounds;
mod certain;
mod checked;
mod circle;
mod conditions;
mod counts;
mod exact;
mod indexed;
mod inequalities;
pub(crate) mod meet;
pub(crate) mod places;
mod proof;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

pub(crate) use checked::Checked;
use circle::Around;
pub(crate) use counts::not_negative;
pub(crate) use indexed::IndexedArrays;
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

    /// Whether a coefficient did not fit: then it is not known what it is.
    fn is_too_large(&self) -> bool {
        self.rest.is_too_large() || self.axes.values().any(Dim::is_too_large)
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

impl Types<'_> {
    fn elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }
    }
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
    /// Arrays of which elements have been indices.
    indexed: IndexedArrays,
    /// Integers that are elements of arrays.
    elements: FxHashMap<Var, (ArrayId, Vec<Atom>)>,
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
    /// Those that are the least or greatest of counts, so that sums of them do not wrap.
    ends: Vec<Var>,
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
    ends: usize,
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
            indexed: checked.indexed(),
            elements: FxHashMap::default(),
            below: FxHashMap::default(),
            values: checked.values().cloned().collect(),
            trips: checked.trips().to_vec(),
            sizes: always,
            guarded,
            here: Vec::new(),
            definitions: FxHashMap::default(),
            names: Vec::new(),
            ends: Vec::new(),
            less: Vec::new(),
            learned: Vec::new(),
        };
        axes.iter().for_each(|a| f.enter(a));
        f
    }

    /// At the start of a branch or a loop.
    pub fn scope(&self) -> Scope {
        let Facts { learned, names, ends, less, here, sizes, .. } = self;
        let (learned, names, ends, less) = (learned.len(), names.len(), ends.len(), less.len());
        Scope { learned, names, ends, less, here: here.len(), sizes: sizes.len() }
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
            self.elements.remove(&v);
            self.definitions.remove(&v);
        }
        self.names.truncate(scope.names);
        self.ends.truncate(scope.ends);
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
        let [from, to] = [from, to].map(|end| end.and_then(|end| self.certain(end, Some(&a.extent))));
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
        // Nothing is known of floats.
        self.learned.extend(l.vars.iter().filter(|v| !t.vars[v.0 as usize].is_float()));
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
            Exp::Read { array, index, .. } => self.element(v, *array, index, t),
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
                let position = self.of_either(args[0], [args[1], args[2]]);
                self.below.extend(position.map(|d| (v, d)));
            }
            Exp::Op(op, args) if t.vars[v.0 as usize] == Elem::Bool => match args[..] {
                [a] => drop(self.conditions.insert(v, (*op, a, a))),
                // Of floats nothing follows: two of which none is less than the other need not be equal.
                [a, b] if [a, b].into_iter().all(|a| !t.elem(a).is_float()) => {
                    self.conditions.insert(v, (*op, a, b));
                }
                _ => {}
            },
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
                // Integers wrap: what does not fit is none of these polynomials.
                if let Some(f) = form.filter(|f| !f.is_too_large()) {
                    self.forms.insert(v, f);
                } else if let Some(a) = self.circular(*op, args) {
                    self.around.insert(v, a);
                } else if let Some(q) = self.fraction(*op, args) {
                    self.quotients.insert(v, q);
                } else if let Some(n) = self.modulus(*op, args) {
                    self.below.insert(v, n);
                } else if let Op::Min | Op::Max = op {
                    self.end(v, *op, args);
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
    pub fn axis_or_constant(&self, op: Op, args: &[Atom]) -> Option<Atom> {
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
}
