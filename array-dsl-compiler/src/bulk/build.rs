//! Building scalar code and nests: names for other ones, fresh copies, and statements with the obvious simplifications.

use rustc_hash::FxHashMap;

use super::walk::Rewriter;
use super::{
    ArrayId, Atom, Axis, Block, Body, Branch, Exp, Let, Nest, Program, Reducer, Repeat, Stm, Var, Yield,
    YieldKind,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};
use crate::value;

/// What variables have been renamed to.
pub type Renaming = FxHashMap<Var, Atom>;

/// The new name of an atom.
pub fn renamed(map: &Renaming, a: Atom) -> Atom {
    match a {
        Atom::Var(v) => map.get(&v).copied().unwrap_or(a),
        c => c,
    }
}

/// Gives the scalars that are used their new names; what is bound keeps its name.
pub struct Rename<'a>(pub &'a Renaming);

impl Rewriter for Rename<'_> {
    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(self.0, *a);
    }
}

impl Exp {
    /// The expression under new names of its free scalars.
    pub fn renamed(&self, map: &Renaming) -> Exp {
        let mut e = self.clone();
        Rename(map).exp(&mut e);
        e
    }
}

impl YieldKind {
    /// Gives the atoms their new names.
    pub fn rename(&mut self, map: &Renaming) {
        Rename(map).walk_yield(self);
    }
}

/// Gives the arrays that are used, in sizes as well, their new names.
pub struct Redirect<'a>(pub &'a FxHashMap<ArrayId, ArrayId>);

impl Rewriter for Redirect<'_> {
    fn array(&mut self, a: &mut ArrayId) {
        *a = new_name(*a, self.0);
    }

    fn dim(&mut self, d: &mut Dim) {
        if !self.0.is_empty() {
            *d = redirected(d, self.0);
        }
    }
}

/// Gives new names to the scalars that are bound, and theirs to those that are used.
pub struct Fresh<'a> {
    /// The types of all scalars.
    pub vars: &'a mut Vec<Elem>,
    /// The names so far.
    pub names: &'a mut Renaming,
}

impl Fresh<'_> {
    /// New scalars of the same types.
    pub fn bind(&mut self, vars: &[Var]) -> Vec<Var> {
        let mut new = vars.to_vec();
        new.iter_mut().for_each(|v| self.bound_var(v));
        new
    }
}

impl Rewriter for Fresh<'_> {
    fn bound_var(&mut self, v: &mut Var) {
        let new = Var(self.vars.len() as u32);
        self.vars.push(self.vars[v.0 as usize]);
        self.names.insert(*v, Atom::Var(new));
        *v = new;
    }

    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(self.names, *a);
    }
}

/// Numbers the scalars that are bound, from the last number there is as those that are free have the first ones, and forgets places: what
/// is computed alike is equal then.
#[derive(Default)]
pub struct Numbered {
    names: Renaming,
    bound: u32,
}

impl Rewriter for Numbered {
    fn bound_var(&mut self, v: &mut Var) {
        let new = Var(u32::MAX - self.bound);
        self.bound += 1;
        self.names.insert(*v, Atom::Var(new));
        *v = new;
    }

    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(&self.names, *a);
    }

    fn loc(&mut self, l: &mut Loc) {
        *l = Loc::default();
    }
}

/// Gives new names to the scalars and arrays that are bound, and theirs to those that are used.
struct Copy<'a> {
    p: &'a mut Program,
    vars: Renaming,
    arrays: &'a mut FxHashMap<ArrayId, ArrayId>,
}

impl Rewriter for Copy<'_> {
    fn bound_var(&mut self, v: &mut Var) {
        Fresh { vars: &mut self.p.vars, names: &mut self.vars }.bound_var(v);
    }

    fn atom(&mut self, a: &mut Atom) {
        *a = renamed(&self.vars, *a);
    }

    fn bound_array(&mut self, a: &mut ArrayId) {
        let info = self.p.array(*a).clone();
        let dims = info.dims.iter().map(|d| redirected(d, self.arrays)).collect();
        let new = self.p.new_array(info.name, info.elem, dims);
        self.arrays.insert(*a, new);
        *a = new;
    }

    fn array(&mut self, a: &mut ArrayId) {
        Redirect(self.arrays).array(a);
    }

    fn dim(&mut self, d: &mut Dim) {
        Redirect(self.arrays).dim(d);
    }
}

impl Program {
    /// A copy of code with new variables; `map` holds the renaming of free variables and gains that of what is bound.
    pub fn copy_lets(&mut self, lets: &[Let], map: &mut Renaming) -> Vec<Let> {
        let mut copy = lets.to_vec();
        let mut fresh = Fresh { vars: &mut self.vars, names: map };
        copy.iter_mut().for_each(|l| fresh.binding(l));
        copy
    }

    /// As `copy_lets`, of a nest's code.
    pub fn copy_body(&mut self, body: &Body, map: &mut Renaming) -> Body {
        let mut copy = body.clone();
        Fresh { vars: &mut self.vars, names: map }.body(&mut copy);
        copy
    }

    /// New variables of the same types, with the renaming of the old ones.
    pub fn copy_vars(&mut self, vars: &[Var], map: &mut Renaming) -> Vec<Var> {
        Fresh { vars: &mut self.vars, names: map }.bind(vars)
    }

    /// A copy of statements that binds new arrays and scalars; `arrays` holds the renaming of arrays bound before and gains
    /// that of those bound by the statements.
    pub fn copy_stms(&mut self, stms: &[Stm], arrays: &mut FxHashMap<ArrayId, ArrayId>) -> Vec<Stm> {
        let mut copy = stms.to_vec();
        let mut copier = Copy { p: self, vars: Renaming::default(), arrays };
        copy.iter_mut().for_each(|s| copier.stm(s));
        copy
    }

    /// As `copy_stms`, of a loop.
    pub fn copy_repeat(&mut self, r: &Repeat, arrays: &mut FxHashMap<ArrayId, ArrayId>) -> Repeat {
        let mut copy = r.clone();
        Copy { p: self, vars: Renaming::default(), arrays }.walk_repeat(&mut copy);
        copy
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
        self.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc }));
        array
    }

    /// Appends all elements of an array, combined.
    pub fn reduced(&mut self, name: &str, reducer: Reducer, array: ArrayId, loc: Loc) -> ArrayId {
        let axes = self.new_axes(&self.array(array).dims.clone());
        let index: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let mut code = Code::new(loc);
        let value = code.read(self, array, &index);
        let result = self.new_array(name, reducer.result(self.elem(value)), Vec::new());
        let yields =
            vec![Yield { array: result, kind: YieldKind::Reduce { reducer, over: axes.len(), value } }];
        self.stms.push(Stm::Nest(Nest { axes, body: code.into(), yields, loc }));
        result
    }

    /// Appends an array of one value everywhere.
    pub fn constant(&mut self, name: &str, dims: &[Dim], value: Const, loc: Loc) -> ArrayId {
        self.store(name, value.elem, dims, loc, |_, _, _| Atom::Const(value))
    }
}

fn new_name(a: ArrayId, arrays: &FxHashMap<ArrayId, ArrayId>) -> ArrayId {
    arrays.get(&a).copied().unwrap_or(a)
}

/// A dimension with the arrays it mentions renamed.
pub fn redirected(d: &Dim, arrays: &FxHashMap<ArrayId, ArrayId>) -> Dim {
    d.substitute(&mut |a| match a {
        SizeAtom::Scalar(s) => Dim::atom(SizeAtom::Scalar(new_name(ArrayId(*s), arrays).0)),
        name => Dim::atom(name.clone()),
    })
}

/// Scalar code under construction.
pub struct Code {
    /// The statements so far.
    pub lets: Vec<Let>,
    /// The place given to new statements.
    pub loc: Loc,
}

impl From<Code> for Block {
    fn from(code: Code) -> Block {
        Block { lets: code.lets }
    }
}

impl From<Code> for Body {
    fn from(code: Code) -> Body {
        code.lets.into()
    }
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

    /// A polynomial in arithmetic that wraps, as that of scalars does: numbers that data decide may be of any size, and what they add
    /// up to is no size.
    pub fn polynomial(&mut self, p: &mut Program, d: &Dim) -> Atom {
        if d.atoms().iter().all(|a| matches!(a, SizeAtom::Name(_))) {
            return self.size(p, d);
        }
        let mut sum = int(0);
        for (m, c) in d.terms() {
            let mut term = int(c);
            for a in m {
                let factor = self.size(p, &Dim::atom(a.clone()));
                term = self.mul(p, term, factor);
            }
            sum = self.add(p, sum, term);
        }
        sum
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
        let branch = |(code, results): (Code, Vec<Atom>)| Branch { block: code.into(), results };
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

/// What a connective or a choice is that a constant among its operands decides.
pub fn decided(op: Op, args: &[Atom]) -> Option<Atom> {
    match (op, args) {
        (Op::And | Op::Or, [Atom::Const(c), a] | [a, Atom::Const(c)]) if c.elem == Elem::Bool => {
            Some(if c.as_bool() == (op == Op::And) { *a } else { Atom::Const(*c) })
        }
        (Op::Not, [Atom::Const(c)]) if c.elem == Elem::Bool => Some(Atom::Const(Const::bool(!c.as_bool()))),
        (Op::Select, [Atom::Const(c), a, b]) => Some(if c.as_bool() { *a } else { *b }),
        _ => None,
    }
}

/// The value of a function of constants. Functions whose rounding differs between back ends are left to them.
pub fn folded(op: Op, args: &[Atom]) -> Option<Const> {
    if !op.is_cheap() {
        return None;
    }
    let consts: Option<Vec<Const>> = args
        .iter()
        .map(|a| match a {
            Atom::Const(c) => Some(*c),
            Atom::Var(_) => None,
        })
        .collect();
    let scalars: Vec<value::Scalar> = consts?.into_iter().map(value::Scalar::from).collect();
    value::apply(op, &scalars).ok().map(Const::from)
}

/// An `i64` constant.
pub fn int(i: i64) -> Atom {
    Atom::Const(Const::int(Elem::I64, i))
}
