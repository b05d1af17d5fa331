//! Building scalar code and nests: fresh copies of blocks, and statements with the obvious simplifications.

use std::collections::HashMap;

use super::{
    ArrayId, Atom, Axis, Block, Branch, Carried, Check, CheckKind, Custom, Exp, Let, Nest, Program, Repeat,
    Scan, Sort, Stm, Trips, Var, Yield, YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// What variables have been renamed to.
pub type Renaming = HashMap<Var, Atom>;

/// The new name of an atom.
pub fn renamed(map: &Renaming, a: Atom) -> Atom {
    match a {
        Atom::Var(v) => map.get(&v).copied().unwrap_or(a),
        c => c,
    }
}

impl Program {
    /// A copy of code with new variables; `map` holds the renaming of free variables and gains that of the
    /// variables bound at the top level of `lets`.
    pub fn copy_lets(&mut self, lets: &[Let], map: &mut Renaming) -> Vec<Let> {
        let mut out = Vec::with_capacity(lets.len());
        for l in lets {
            let exp = self.copy_exp(&l.exp, map);
            let vars: Vec<Var> = l.vars.iter().map(|v| self.new_var(self.vars[v.0 as usize])).collect();
            for (v, n) in l.vars.iter().zip(&vars) {
                map.insert(*v, Atom::Var(*n));
            }
            out.push(Let { vars, exp, loc: l.loc });
        }
        out
    }

    fn copy_exp(&mut self, e: &Exp, map: &Renaming) -> Exp {
        let all = |atoms: &[Atom]| atoms.iter().map(|a| renamed(map, *a)).collect();
        match e {
            Exp::Op(op, args) => Exp::Op(*op, all(args)),
            Exp::Size(d) => Exp::Size(d.clone()),
            Exp::Read { array, index, checked } => {
                Exp::Read { array: *array, index: all(index), checked: *checked }
            }
            Exp::StopGradient(a) => Exp::StopGradient(renamed(map, *a)),
            Exp::If(c, x, y) => Exp::If(renamed(map, *c), self.copy_branch(x, map), self.copy_branch(y, map)),
            Exp::Scan(s) => {
                let mut inner = map.clone();
                let left = self.copy_vars(&s.left, &mut inner);
                let right = self.copy_vars(&s.right, &mut inner);
                let step = self.copy_branch(&s.step, &inner);
                let (start, values) = (all(&s.start), all(&s.values));
                Exp::Scan(Box::new(Scan { prefix: s.prefix, left, start, right, values, step }))
            }
        }
    }

    /// New variables of the same types, with the renaming of the old ones.
    pub fn copy_vars(&mut self, vars: &[Var], map: &mut Renaming) -> Vec<Var> {
        vars.iter()
            .map(|v| {
                let new = self.new_var(self.vars[v.0 as usize]);
                map.insert(*v, Atom::Var(new));
                new
            })
            .collect()
    }

    /// A copy of a branch.
    pub fn copy_branch(&mut self, b: &Branch, map: &Renaming) -> Branch {
        let mut inner = map.clone();
        let lets = self.copy_lets(&b.block.lets, &mut inner);
        Branch { block: Block { lets }, results: b.results.iter().map(|a| renamed(&inner, *a)).collect() }
    }

    /// A copy of statements that binds new arrays and scalars; `arrays` holds the renaming of arrays bound before and gains
    /// that of those bound by the statements.
    pub fn copy_stms(&mut self, stms: &[Stm], arrays: &mut HashMap<ArrayId, ArrayId>) -> Vec<Stm> {
        let mut out = Vec::with_capacity(stms.len());
        for s in stms {
            let copy = match s {
                Stm::Nest(n) => {
                    let mut map = Renaming::new();
                    let mut axes = self.copy_axes(&n.axes, &mut map);
                    axes.iter_mut().for_each(|a| a.extent = redirected(&a.extent, arrays));
                    let mut lets = self.copy_lets(&n.body.lets, &mut map);
                    redirect(&mut lets, arrays);
                    let yields = n
                        .yields
                        .iter()
                        .map(|y| {
                            let mut kind = y.kind.clone();
                            crate::optimize::rename_yield(&mut kind, &map);
                            if let YieldKind::Accumulate { into, .. } | YieldKind::Write { into, .. } =
                                &mut kind
                            {
                                *into = new_name(*into, arrays);
                            }
                            Yield { array: y.array, kind }
                        })
                        .collect();
                    let mut n = Nest { axes, body: Block { lets }, yields, loc: n.loc };
                    n.yields.iter_mut().for_each(|y| y.array = self.copy_array(y.array, arrays));
                    Stm::Nest(n)
                }
                Stm::Reshape { result, source } => {
                    let source = new_name(*source, arrays);
                    Stm::Reshape { result: self.copy_array(*result, arrays), source }
                }
                Stm::Contract(c) => {
                    let mut c = c.clone();
                    (c.a.0, c.b.0) = (new_name(c.a.0, arrays), new_name(c.b.0, arrays));
                    c.extents.iter_mut().for_each(|d| *d = redirected(d, arrays));
                    c.result = self.copy_array(c.result, arrays);
                    Stm::Contract(c)
                }
                Stm::Check(c, loc) => {
                    let d = |d: &Dim| redirected(d, arrays);
                    let kind = match &c.kind {
                        CheckKind::Equal(a, b) => CheckKind::Equal(d(a), d(b)),
                        CheckKind::NonNegative(a) => CheckKind::NonNegative(d(a)),
                        CheckKind::AtLeast(a, b) => CheckKind::AtLeast(d(a), d(b)),
                    };
                    Stm::Check(Check { kind, guards: c.guards.iter().map(d).collect() }, *loc)
                }
                Stm::Repeat(r) => Stm::Repeat(self.copy_repeat(r, arrays)),
                Stm::Custom(c) => {
                    let names = |list: &[ArrayId]| list.iter().map(|a| new_name(*a, arrays)).collect();
                    let (values, args) = (names(&c.values), names(&c.args));
                    let results = c.results.iter().map(|a| self.copy_array(*a, arrays)).collect();
                    Stm::Custom(Custom { results, values, args, ..*c })
                }
                Stm::Sort(s) => {
                    let keys = new_name(s.keys, arrays);
                    Stm::Sort(Sort { result: self.copy_array(s.result, arrays), keys, ..*s })
                }
            };
            out.push(copy);
        }
        out
    }

    /// As `copy_stms`, of a loop.
    pub fn copy_repeat(&mut self, r: &Repeat, arrays: &mut HashMap<ArrayId, ArrayId>) -> Repeat {
        let starts: Vec<ArrayId> = r.carried.iter().map(|c| new_name(c.start, arrays)).collect();
        let states: Vec<ArrayId> = r.carried.iter().map(|c| self.copy_array(c.state, arrays)).collect();
        let trips = match &r.trips {
            Trips::For(index, count) => {
                let count = redirected(count, arrays);
                Trips::For(self.copy_array(*index, arrays), count)
            }
            Trips::While(state) => Trips::While(new_name(*state, arrays)),
        };
        let body = self.copy_stms(&r.body, arrays);
        let nexts: Vec<ArrayId> = r.carried.iter().map(|c| new_name(c.next, arrays)).collect();
        let mut carried = Vec::new();
        for (((c, start), state), next) in r.carried.iter().zip(starts).zip(states).zip(nexts) {
            carried.push(Carried { state, start, next, result: self.copy_array(c.result, arrays) });
        }
        Repeat { trips, carried, body, loc: r.loc }
    }

    fn copy_array(&mut self, a: ArrayId, arrays: &mut HashMap<ArrayId, ArrayId>) -> ArrayId {
        let info = self.array(a).clone();
        let dims = info.dims.iter().map(|d| redirected(d, arrays)).collect();
        let new = self.new_array(info.name, info.elem, dims);
        arrays.insert(a, new);
        new
    }

    /// New axes of the same extents, with the renaming of the old ones.
    pub fn copy_axes(&mut self, axes: &[Axis], map: &mut Renaming) -> Vec<Axis> {
        axes.iter()
            .map(|a| {
                let var = self.new_var(Elem::I64);
                map.insert(a.var, Atom::Var(var));
                Axis { var, extent: a.extent.clone() }
            })
            .collect()
    }

    /// New axes over dimensions.
    pub fn new_axes(&mut self, dims: &[Dim]) -> Vec<Axis> {
        dims.iter().map(|d| Axis { var: self.new_var(Elem::I64), extent: d.clone() }).collect()
    }

    /// Appends a nest that stores what `f` gives at each point of `dims`.
    pub fn store(
        &mut self,
        name: &str,
        elem: Elem,
        dims: &[Dim],
        loc: Loc,
        f: impl FnOnce(&mut Self, &mut Code, &[Atom]) -> Atom,
    ) -> ArrayId {
        let axes = self.new_axes(dims);
        let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut code = Code::new(loc);
        let value = f(self, &mut code, &index);
        let array = self.new_array(name, elem, dims.to_vec());
        let yields = vec![Yield { array, kind: YieldKind::Store(value) }];
        self.stms.push(Stm::Nest(Nest { axes, body: Block { lets: code.lets }, yields, loc }));
        array
    }

    /// Appends an array of one value everywhere.
    pub fn constant(&mut self, name: &str, dims: &[Dim], value: Const, loc: Loc) -> ArrayId {
        self.store(name, value.elem, dims, loc, |_, _, _| Atom::Const(value))
    }
}

fn new_name(a: ArrayId, arrays: &HashMap<ArrayId, ArrayId>) -> ArrayId {
    arrays.get(&a).copied().unwrap_or(a)
}

/// A dimension with the arrays it mentions renamed.
fn redirected(d: &Dim, arrays: &HashMap<ArrayId, ArrayId>) -> Dim {
    d.substitute(&mut |a| match a {
        SizeAtom::Scalar(s) => Dim::atom(SizeAtom::Scalar(new_name(ArrayId(*s), arrays).0)),
        name => Dim::atom(name.clone()),
    })
}

/// Scalar code with the arrays it reads renamed.
pub(crate) fn redirect(lets: &mut [Let], arrays: &HashMap<ArrayId, ArrayId>) {
    for l in lets {
        match &mut l.exp {
            Exp::Read { array, .. } => *array = new_name(*array, arrays),
            Exp::Size(d) => *d = redirected(d, arrays),
            Exp::If(_, x, y) => {
                redirect(&mut x.block.lets, arrays);
                redirect(&mut y.block.lets, arrays);
            }
            Exp::Scan(s) => redirect(&mut s.step.block.lets, arrays),
            Exp::Op(..) | Exp::StopGradient(_) => {}
        }
    }
}

/// Scalar code under construction.
pub struct Code {
    /// The statements so far.
    pub lets: Vec<Let>,
    /// The place given to new statements.
    pub loc: Loc,
}

impl Code {
    /// Nothing yet.
    pub fn new(loc: Loc) -> Code {
        Code { lets: Vec::new(), loc }
    }

    /// Adds a statement with one result.
    pub fn bind(&mut self, p: &mut Program, elem: Elem, exp: Exp) -> Atom {
        let v = p.new_var(elem);
        self.lets.push(Let { vars: vec![v], exp, loc: self.loc });
        Atom::Var(v)
    }

    /// Adds a scalar function.
    pub fn op(&mut self, p: &mut Program, op: Op, args: &[Atom]) -> Atom {
        let elems: Vec<Elem> = args.iter().map(|a| p.elem(*a)).collect();
        self.bind(p, op.result(&elems), Exp::Op(op, args.to_vec()))
    }

    /// `a + b`, where a constant zero vanishes.
    pub fn add(&mut self, p: &mut Program, a: Atom, b: Atom) -> Atom {
        match (a, b) {
            (Atom::Const(c), x) | (x, Atom::Const(c)) if c.is_zero() => x,
            _ => self.op(p, Op::Add, &[a, b]),
        }
    }

    /// `a * b`, where a constant one vanishes.
    pub fn mul(&mut self, p: &mut Program, a: Atom, b: Atom) -> Atom {
        match (a, b) {
            (Atom::Const(c), x) | (x, Atom::Const(c)) if c.is_one() => x,
            _ => self.op(p, Op::Mul, &[a, b]),
        }
    }

    /// `if c { a } else { b }` of values at hand.
    pub fn select(&mut self, p: &mut Program, c: Atom, a: Atom, b: Atom) -> Atom {
        self.op(p, Op::Select, &[c, a, b])
    }

    /// A lazy choice: the code of a branch is executed only if it is taken. Both give values of the same types.
    pub fn choose(
        &mut self,
        p: &mut Program,
        c: Atom,
        yes: (Code, Vec<Atom>),
        no: (Code, Vec<Atom>),
    ) -> Vec<Atom> {
        let branch =
            |(code, results): (Code, Vec<Atom>)| Branch { block: Block { lets: code.lets }, results };
        let elems: Vec<Elem> = yes.1.iter().map(|a| p.elem(*a)).collect();
        let vars: Vec<Var> = elems.into_iter().map(|e| p.new_var(e)).collect();
        self.lets.push(Let { vars: vars.clone(), exp: Exp::If(c, branch(yes), branch(no)), loc: self.loc });
        vars.into_iter().map(Atom::Var).collect()
    }

    /// What `f` computes where the condition holds, else `other`.
    pub fn only_if(
        &mut self,
        p: &mut Program,
        c: Atom,
        other: Atom,
        f: impl FnOnce(&mut Program, &mut Code) -> Atom,
    ) -> Atom {
        let mut taken = Code::new(self.loc);
        let value = f(p, &mut taken);
        self.choose(p, c, (taken, vec![value]), (Code::new(self.loc), vec![other]))[0]
    }

    /// An element that is certainly inside.
    pub fn read(&mut self, p: &mut Program, array: ArrayId, index: &[Atom]) -> Atom {
        let elem = p.array(array).elem;
        self.bind(p, elem, Exp::Read { array, index: index.to_vec(), checked: false })
    }

    /// Whether every index lies in its dimension.
    pub fn in_range(&mut self, p: &mut Program, index: &[Atom], dims: &[Dim]) -> Atom {
        let mut all = Atom::Const(Const::bool(true));
        for (i, d) in index.iter().zip(dims) {
            let n = self.size(p, d);
            let low = self.op(p, Op::Ge, &[*i, int(0)]);
            let high = self.op(p, Op::Lt, &[*i, n]);
            let both = self.op(p, Op::And, &[low, high]);
            all = match all {
                Atom::Const(_) => both,
                a => self.op(p, Op::And, &[a, both]),
            };
        }
        all
    }

    /// A size.
    pub fn size(&mut self, p: &mut Program, d: &Dim) -> Atom {
        match d.as_constant() {
            Some(c) => int(c),
            None => self.bind(p, Elem::I64, Exp::Size(d.clone())),
        }
    }
}

/// An `i64` constant.
pub fn int(i: i64) -> Atom {
    Atom::Const(Const::int(Elem::I64, i))
}
