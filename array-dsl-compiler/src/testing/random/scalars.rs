//! Random scalar code: floats, integers, truth values, elements of arrays, branches, folds.

use super::{ENOUGH, Generator, float, int};
use crate::core::{Atom, Body, Exp, Reducer, Type, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

impl Generator {
    /// A float scalar.
    pub(super) fn float(&mut self, fuel: usize) -> Atom {
        let fuel = if self.vars.len() > ENOUGH { 0 } else { fuel };
        if fuel == 0 || self.rng.chance(12) {
            return self.float_leaf();
        }
        let fuel = fuel - 1;
        match self.rng.below(100) {
            0..22 => self.unary(fuel),
            22..50 => {
                let (a, b) = (self.float(fuel), self.float(fuel));
                match self.rng.below(10) {
                    0..3 => self.op(Op::Mul, &[a, b]),
                    3..5 => self.op(Op::Add, &[a, b]),
                    5 => self.op(Op::Sub, &[a, b]),
                    6 => self.op(Op::Max, &[a, b]),
                    7 => self.op(Op::Min, &[a, b]),
                    8 => {
                        // The divisor is at least one.
                        let square = self.op(Op::Mul, &[b, b]);
                        let divisor = self.op(Op::Add, &[square, float(1.0)]);
                        self.op(Op::Div, &[a, divisor])
                    }
                    _ => {
                        let b = self.op(Op::Cos, &[b]);
                        self.op(Op::Hypot, &[a, b])
                    }
                }
            }
            50..68 => self.read(),
            68..80 => self.reduce(fuel),
            80..88 => self.choice(fuel),
            88..93 => {
                let (c, a, b) = (self.truth(fuel), self.float(fuel), self.float(fuel));
                self.op(Op::Select, &[c, a, b])
            }
            93..95 => {
                let a = self.float(fuel);
                self.emit(Type::scalar(Elem::F64), Exp::StopGradient(a))
            }
            95..98 => {
                let i = self.whole(fuel);
                let i = self.op(Op::RemEuclid, &[i, int(5)]);
                self.op(Op::Cast(Elem::F64), &[i])
            }
            _ => {
                let a = self.float(fuel);
                let i = self.rng.between(0, 3);
                self.op(Op::Powi, &[a, int(i)])
            }
        }
    }

    pub(super) fn float_leaf(&mut self) -> Atom {
        if self.rng.chance(75)
            && let Some(v) = self.pick(|t| *t == Type::scalar(Elem::F64))
        {
            return Atom::Var(v);
        }
        if self.rng.chance(60) { self.read() } else { float(self.rng.float(-2.0, 2.0)) }
    }

    pub(super) fn unary(&mut self, fuel: usize) -> Atom {
        let a = self.float(fuel);
        let bounded = [Op::Sin, Op::Cos, Op::Tanh, Op::Sigmoid, Op::Atan];
        match self.rng.below(10) {
            0..4 => {
                let op = self.rng.pick(&bounded).unwrap_or(Op::Sin);
                self.op(op, &[a])
            }
            4 => self.op(Op::Neg, &[a]),
            5 => self.op(Op::Abs, &[a]),
            6 => {
                let t = self.op(Op::Tanh, &[a]);
                self.op(Op::Exp, &[t])
            }
            7 => {
                let square = self.op(Op::Mul, &[a, a]);
                let op = self.rng.pick(&[Op::Ln1p, Op::ExpM1]).unwrap_or(Op::Ln1p);
                if op == Op::ExpM1 {
                    let t = self.op(Op::Sin, &[a]);
                    return self.op(op, &[t]);
                }
                self.op(op, &[square])
            }
            8 => {
                let square = self.op(Op::Mul, &[a, a]);
                let one = self.op(Op::Add, &[square, float(0.5)]);
                let op = self.rng.pick(&[Op::Sqrt, Op::Ln, Op::Recip, Op::Cbrt]).unwrap_or(Op::Sqrt);
                self.op(op, &[one])
            }
            _ => self.op(Op::Floor, &[a]),
        }
    }

    /// An integer.
    pub(super) fn whole(&mut self, fuel: usize) -> Atom {
        let leaf = fuel == 0 || self.vars.len() > ENOUGH || self.rng.chance(50);
        if leaf {
            if self.rng.chance(80)
                && let Some(v) = self.pick(|t| *t == Type::scalar(Elem::I64))
            {
                return Atom::Var(v);
            }
            return if self.rng.chance(30) {
                let d = self.extent();
                self.emit(Type::scalar(Elem::I64), Exp::Size(d))
            } else {
                int(self.rng.between(-1, 4))
            };
        }
        let fuel = fuel - 1;
        match self.rng.below(8) {
            0..5 => {
                let (a, b) = (self.whole(fuel), self.whole(fuel));
                let op = self.rng.pick(&[Op::Add, Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::Xor]);
                self.op(op.unwrap_or(Op::Add), &[a, b])
            }
            5 => {
                let a = self.whole(fuel);
                let op = self.rng.pick(&[Op::RemEuclid, Op::Div, Op::Rem]).unwrap_or(Op::Rem);
                let by = self.rng.between(2, 4);
                self.op(op, &[a, int(by)])
            }
            6 => match self.pick(|t| t.elem == Elem::I64 && t.rank() == 1) {
                Some(v) => self.element(v, int(0)),
                None => int(1),
            },
            _ => {
                let (c, a, b) = (self.truth(fuel), self.whole(fuel), self.whole(fuel));
                self.op(Op::Select, &[c, a, b])
            }
        }
    }

    /// A truth value.
    pub(super) fn truth(&mut self, fuel: usize) -> Atom {
        if fuel > 0 && self.rng.chance(20) {
            let (a, b) = (self.truth(fuel - 1), self.truth(fuel - 1));
            return match self.rng.below(3) {
                0 => self.op(Op::And, &[a, b]),
                1 => self.op(Op::Or, &[a, b]),
                _ => self.op(Op::Not, &[a]),
            };
        }
        if self.rng.chance(15)
            && let Some(v) = self.pick(|t| t.elem == Elem::Bool && t.rank() == 1)
        {
            return self.element(v, Atom::Const(Const::bool(false)));
        }
        let fuel = fuel.saturating_sub(1);
        let op = self.rng.pick(&[Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne]).unwrap_or(Op::Lt);
        if self.rng.chance(50) {
            let (a, b) = (self.whole(fuel), self.whole(fuel));
            return self.op(op, &[a, b]);
        }
        let op = if matches!(op, Op::Eq | Op::Ne) { Op::Gt } else { op };
        let (a, b) = (self.float(fuel), self.float_leaf());
        self.op(op, &[a, b])
    }

    /// An element of some float array.
    pub(super) fn read(&mut self) -> Atom {
        match self.pick(|t| t.elem == Elem::F64 && t.rank() > 0) {
            Some(v) => self.element(v, float(0.0)),
            None => float(0.5),
        }
    }

    /// An element of `v`, or `other` where the indices are outside.
    pub(super) fn element(&mut self, v: Var, other: Atom) -> Atom {
        let ty = self.ty(Atom::Var(v));
        let mut index = Vec::new();
        let mut guards = Vec::new();
        for d in &ty.dims {
            let (i, inside) = self.index(d);
            if !inside {
                guards.push((i, d.clone()));
            }
            index.push(i);
        }
        let scalar = Type::scalar(ty.elem);
        if guards.is_empty() || (self.partial && self.rng.chance(10)) {
            return self.emit(scalar, Exp::Index(v, index));
        }
        let mut all: Option<Atom> = None;
        for (i, d) in guards {
            let n = self.emit(Type::scalar(Elem::I64), Exp::Size(d));
            let low = self.op(Op::Ge, &[i, int(0)]);
            let high = self.op(Op::Lt, &[i, n]);
            let both = self.op(Op::And, &[low, high]);
            all = Some(match all {
                Some(a) => self.op(Op::And, &[a, both]),
                None => both,
            });
        }
        let Some(c) = all else { return other };
        let taken = self.body(|g| vec![g.emit(Type::scalar(ty.elem), Exp::Index(v, index))]);
        let not = Body { stms: Vec::new(), results: vec![other] };
        self.emit(scalar, Exp::If(c, taken, not))
    }

    /// An index into a dimension, and whether it is certainly inside.
    pub(super) fn index(&mut self, d: &Dim) -> (Atom, bool) {
        let same: Vec<Var> = self.axes.iter().filter(|a| a.1 == *d).map(|a| a.0).collect();
        if let Some(v) = self.rng.pick(&same) {
            let i = Atom::Var(v);
            let around = |g: &mut Self, i: Atom| {
                let n = g.emit(Type::scalar(Elem::I64), Exp::Size(d.clone()));
                g.op(Op::RemEuclid, &[i, n])
            };
            return match self.rng.below(20) {
                0..11 => (i, true),
                11..14 => {
                    let by = self.rng.between(-2, 3);
                    let moved = self.op(Op::Add, &[i, int(by)]);
                    (around(self, moved), true)
                }
                14..16 => {
                    let n = self.emit(Type::scalar(Elem::I64), Exp::Size(d.clone()));
                    let last = self.op(Op::Sub, &[n, int(1)]);
                    (self.op(Op::Sub, &[last, i]), true)
                }
                16..18 => {
                    let by = self.rng.between(-1, 1);
                    (self.op(Op::Add, &[i, int(by)]), by == 0)
                }
                _ => {
                    let any = self.whole(1);
                    (around(self, any), true)
                }
            };
        }
        if let Some(c) = d.as_constant().filter(|c| *c > 0) {
            return (int(self.rng.between(0, c - 1)), true);
        }
        let other: Vec<Var> = self.axes.iter().map(|a| a.0).collect();
        match self.rng.pick(&other).filter(|_| self.rng.chance(60)) {
            Some(v) => (Atom::Var(v), false),
            None => (self.whole(1), false),
        }
    }

    pub(super) fn choice(&mut self, fuel: usize) -> Atom {
        let c = self.truth(fuel);
        let several = self.rng.chance(30);
        let side = |g: &mut Self| {
            g.body(|g| {
                let mut results = vec![g.float(fuel)];
                if several {
                    results.push(g.float_leaf());
                }
                results
            })
        };
        let (a, b) = (side(self), side(self));
        let types = vec![Type::scalar(Elem::F64); 1 + usize::from(several)];
        Atom::Var(self.emit_all(types, Exp::If(c, a, b))[0])
    }

    /// A fold; its first value if that is a float.
    pub(super) fn reduce(&mut self, fuel: usize) -> Atom {
        let extent = self.extent();
        let axis = self.new_axis(extent);
        let mut reducers = vec![match self.rng.below(10) {
            0..6 => Reducer::Add,
            6 => Reducer::Mul,
            7 => Reducer::Min,
            8 => Reducer::Max,
            _ => Reducer::Add,
        }];
        let certain =
            axis.extent == Dim::name("n").add(&Dim::constant(1)) || axis.extent.as_constant().is_some();
        let extra = self.rng.chance(25);
        let second = self.rng.below(if certain { 7 } else { 5 });
        let mut types = vec![Type::scalar(Elem::F64)];
        let body = self.body(|g| {
            g.open(std::slice::from_ref(&axis));
            let mut results = vec![g.float(fuel.saturating_sub(1))];
            if extra {
                let (reducer, value) = match second {
                    0 => (Reducer::Add, g.whole(1)),
                    1 => (Reducer::Max, g.float_leaf()),
                    2 => (Reducer::And, g.truth(1)),
                    3 => (Reducer::Or, g.truth(1)),
                    4 => (Reducer::Min, g.whole(1)),
                    5 => (Reducer::ArgMin, g.float_leaf()),
                    _ => (Reducer::ArgMax, g.float_leaf()),
                };
                reducers.push(reducer);
                types.push(Type::scalar(reducer.result(g.ty(value).elem)));
                results.push(value);
            }
            results
        });
        Atom::Var(self.emit_all(types, Exp::Reduce(reducers, axis, body))[0])
    }
}
