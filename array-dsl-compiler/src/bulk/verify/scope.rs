//! What is bound at some place of a program, and the rules that Bulk and Loops share: scalar code, checks,
//! sorts.

use super::super::{
    ArrayId, ArrayInfo, Atom, Axis, Block, Body, Branch, Call, Check, CheckKind, Custom, Exp, Item, Let,
    Reducer, Rule, Scan, Var,
};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::{Class, Op};
use crate::ty::{Elem, Loc, Name};

/// How an array may be used at some place of a program.
#[derive(Clone, Copy)]
pub(crate) struct Visible {
    /// How many indices a read gives.
    pub(crate) indices: usize,
    /// Whether it is a host-level scalar, which dimensions may mention.
    pub(crate) scalar: bool,
}

/// What is bound at some place of a program, and the rules of scalar code.
pub(crate) struct Scope<'a> {
    pub(crate) arrays: &'a [ArrayInfo],
    types: &'a [Elem],
    sizes: &'a [Name],
    places: usize,
    /// The arrays that may be read here.
    pub(crate) readable: Vec<Option<Visible>>,
    bound: Vec<bool>,
    visible: Vec<bool>,
    trail: Vec<Var>,
    /// What is bound, in order.
    bindings: Vec<Var>,
    pub(crate) errors: Vec<String>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(
        arrays: &'a [ArrayInfo],
        types: &'a [Elem],
        sizes: &'a [Name],
        places: usize,
    ) -> Scope<'a> {
        let mut s = Scope {
            arrays,
            types,
            sizes,
            places,
            readable: vec![None; arrays.len()],
            bound: vec![false; types.len()],
            visible: vec![false; types.len()],
            trail: Vec::new(),
            bindings: Vec::new(),
            errors: Vec::new(),
        };
        for (i, info) in arrays.iter().enumerate().filter(|(_, i)| matches!(i.elem, Elem::Infer(_))) {
            s.error(format!("the element type of `{}.{i}` is not settled", info.name));
        }
        for (i, _) in types.iter().enumerate().filter(|(_, t)| matches!(t, Elem::Infer(_))) {
            s.error(format!("the type of `%{i}` is not settled"));
        }
        s
    }

    pub(crate) fn error(&mut self, message: impl Into<String>) {
        self.errors.push(message.into());
    }

    /// The array's name in messages.
    pub(crate) fn name(&self, a: ArrayId) -> String {
        format!("{}.{}", self.arrays.get(a.0 as usize).map_or("?", |i| &i.name), a.0)
    }

    /// What is known of an array; an error if there is no such array.
    pub(crate) fn info(&mut self, a: ArrayId) -> Option<&'a ArrayInfo> {
        let info = self.arrays.get(a.0 as usize);
        if info.is_none() {
            self.error(format!("there is no array {}", a.0));
        }
        info
    }

    /// How an array may be read here; an error if it may not.
    pub(crate) fn readable(&mut self, a: ArrayId) -> Option<(&'a ArrayInfo, Visible)> {
        let info = self.info(a)?;
        let visible = self.readable[a.0 as usize];
        if visible.is_none() {
            let name = self.name(a);
            self.error(format!("`{name}` is used before it is bound"));
        }
        visible.map(|v| (info, v))
    }

    pub(crate) fn loc(&mut self, loc: Loc) {
        if self.places > 0 && loc.0 as usize >= self.places {
            self.error(format!("there is no place {}", loc.0));
        }
    }

    /// The atoms of a dimension are in scope.
    pub(crate) fn dim(&mut self, d: &Dim, of: &str) {
        if d.is_too_large() {
            self.error(format!("{of}: a coefficient does not fit"));
        }
        for atom in d.atoms() {
            match atom {
                SizeAtom::Name(n) if self.sizes.contains(&n) => {}
                SizeAtom::Name(n) => self.error(format!("{of}: `{n}` is no size of the program")),
                SizeAtom::Scalar(s) => {
                    let id = ArrayId(s);
                    if let Some((info, visible)) = self.readable(id)
                        && !(visible.scalar && info.elem == Elem::I64)
                    {
                        let name = self.name(id);
                        self.error(format!("{of}: `{name}` is no i64 of the host level"));
                    }
                }
            }
        }
    }

    /// Binds a scalar; it stays visible until `leave` of the mark it came after.
    pub(crate) fn bind(&mut self, v: Var, elem: Elem) {
        let place = v.0 as usize;
        let Some(&declared) = self.types.get(place) else {
            return self.error(format!("there is no scalar %{place}"));
        };
        if declared != elem {
            self.error(format!("%{place} is declared {declared} and bound to {elem}"));
        }
        if std::mem::replace(&mut self.bound[place], true) {
            self.error(format!("%{place} is bound twice"));
        }
        self.visible[place] = true;
        self.trail.push(v);
        self.bindings.push(v);
    }

    pub(crate) fn mark(&self) -> usize {
        self.trail.len()
    }

    pub(crate) fn leave(&mut self, mark: usize) {
        for v in self.trail.drain(mark..) {
            self.visible[v.0 as usize] = false;
        }
    }

    /// How many scalars have been bound.
    pub(crate) fn bindings(&self) -> usize {
        self.bindings.len()
    }

    /// What was bound since then may be bound again: other code is executed instead, or elsewhere.
    pub(crate) fn unbind(&mut self, since: usize) {
        for v in self.bindings.drain(since..) {
            self.bound[v.0 as usize] = false;
        }
    }

    /// The type of an atom that is in scope.
    pub(crate) fn atom(&mut self, a: Atom) -> Option<Elem> {
        match a {
            Atom::Const(c) if matches!(c.elem, Elem::Infer(_)) => {
                self.error("a constant's type is not settled");
                None
            }
            Atom::Const(c) => Some(c.elem),
            Atom::Var(v) if self.visible.get(v.0 as usize) == Some(&true) => Some(self.types[v.0 as usize]),
            Atom::Var(v) => {
                self.error(format!("%{} is not in scope", v.0));
                None
            }
        }
    }

    pub(crate) fn expect(&mut self, a: Atom, elem: Elem, what: &str) {
        if let Some(found) = self.atom(a).filter(|e| *e != elem) {
            self.error(format!("{what} is {found}, not {elem}"));
        }
    }

    /// `count` indices of an array.
    pub(crate) fn index(&mut self, a: ArrayId, index: &[Atom], count: usize) {
        let name = self.name(a);
        if index.len() != count {
            self.error(format!("`{name}` takes {count} indices, not {}", index.len()));
        }
        for i in index {
            self.expect(*i, Elem::I64, &format!("an index of `{name}`"));
        }
    }

    /// An axis: its extent, and its index scalar from here on.
    pub(crate) fn axis(&mut self, x: &Axis) {
        self.dim(&x.extent, &format!("the extent of %{}", x.var.0));
        self.bind(x.var, Elem::I64);
    }

    pub(crate) fn body(&mut self, b: &Body) {
        for i in &b.items {
            match i {
                Item::Let(l) => self.scalar_let(l),
                Item::Scan(s) => self.scan(s),
            }
        }
    }

    fn block(&mut self, b: &Block) {
        b.lets.iter().for_each(|l| self.scalar_let(l));
    }

    pub(crate) fn scalar_let(&mut self, l: &Let) {
        self.loc(l.loc);
        let types = self.exp(&l.exp);
        self.bind_all(&l.vars, types);
    }

    /// A scan's rules, except where it stands.
    pub(crate) fn scan(&mut self, s: &Scan) {
        self.loc(s.loc);
        let types = self.states(s);
        self.bind_all(&s.vars, types);
    }

    /// Binds scalars to values of these types, which are not known after an error.
    fn bind_all(&mut self, vars: &[Var], types: Option<Vec<Elem>>) {
        let Some(types) = types else {
            // The error is recorded; the scalars are bound so that it is the only one.
            for v in vars {
                if let Some(&t) = self.types.get(v.0 as usize) {
                    self.bind(*v, t);
                }
            }
            return;
        };
        if types.len() != vars.len() {
            self.error(format!("{} scalars are bound to {} values", vars.len(), types.len()));
        }
        vars.iter().zip(types).for_each(|(v, t)| self.bind(*v, t));
    }

    /// The types of an expression's values; `None` after an error.
    fn exp(&mut self, exp: &Exp) -> Option<Vec<Elem>> {
        match exp {
            Exp::Op(op, args) => {
                let types: Vec<Option<Elem>> = args.iter().map(|a| self.atom(*a)).collect();
                let types = types.into_iter().collect::<Option<Vec<_>>>()?;
                self.op(*op, &types).map(|t| vec![t])
            }
            Exp::Size(d) => {
                self.dim(d, "a size");
                Some(vec![Elem::I64])
            }
            Exp::Read { array, index, .. } => {
                let (info, visible) = self.readable(*array)?;
                self.index(*array, index, visible.indices);
                Some(vec![info.elem])
            }
            Exp::Inside { index, dims, .. } => {
                index.iter().for_each(|i| self.expect(*i, Elem::I64, "an index"));
                dims.iter().for_each(|d| self.dim(d, "a dimension"));
                if index.len() != dims.len() {
                    self.error(format!(
                        "{} indices are compared with {} dimensions",
                        index.len(),
                        dims.len()
                    ));
                }
                Some(vec![Elem::Bool])
            }
            Exp::StopGradient(a) => self.atom(*a).map(|t| vec![t]),
            Exp::If(condition, yes, no) => {
                self.expect(*condition, Elem::Bool, "a condition");
                let (yes, no) = (self.branch(yes)?, self.branch(no)?);
                if yes != no {
                    self.error(format!("the branches give {yes:?} and {no:?}"));
                }
                Some(yes)
            }
        }
    }

    /// The types of a scan's states; `None` after an error.
    fn states(&mut self, s: &Scan) -> Option<Vec<Elem>> {
        let start: Vec<Option<Elem>> = s.start.iter().map(|a| self.atom(*a)).collect();
        let values: Vec<Option<Elem>> = s.values.iter().map(|a| self.atom(*a)).collect();
        let start: Vec<Elem> = start.into_iter().collect::<Option<_>>()?;
        let values: Vec<Elem> = values.into_iter().collect::<Option<_>>()?;
        if s.left.len() != start.len() || s.right.len() != values.len() {
            self.error("a scan binds other states or values than it has");
            return None;
        }
        if s.is_associative() && values != start {
            self.error(format!("an associative scan of {start:?} combines {values:?}"));
        }
        let mark = self.mark();
        s.left.iter().zip(&start).chain(s.right.iter().zip(&values)).for_each(|(v, t)| self.bind(*v, *t));
        let new = self.branch(&s.step);
        self.leave(mark);
        if new.as_ref().is_some_and(|n| *n != start) {
            self.error(format!("a scan goes from {start:?} to {:?}", new.unwrap_or_default()));
        }
        Some(start)
    }

    fn branch(&mut self, b: &Branch) -> Option<Vec<Elem>> {
        let mark = self.mark();
        self.block(&b.block);
        let types: Vec<Option<Elem>> = b.results.iter().map(|a| self.atom(*a)).collect();
        self.leave(mark);
        types.into_iter().collect()
    }

    /// The result type of a scalar function; `None` after an error.
    fn op(&mut self, op: Op, args: &[Elem]) -> Option<Elem> {
        let name = op.name();
        if args.len() != op.arity() {
            self.error(format!("`{name}` takes {} arguments, not {}", op.arity(), args.len()));
            return None;
        }
        let (class, same) = match (op, op.row()) {
            (Op::Cast(Elem::Infer(_)), _) => {
                self.error("a cast's type is not settled");
                return None;
            }
            (Op::Select, _) => {
                if args[0] != Elem::Bool {
                    self.error(format!("the condition of `select` is {}", args[0]));
                }
                (Class::Any, &args[1..])
            }
            (Op::Powi, _) => {
                if !args[1].is_int() {
                    self.error(format!("the exponent of `powi` is {}", args[1]));
                }
                (Class::Float, &args[..1])
            }
            (_, row) => (row.map_or(Class::Any, |r| r.class), args),
        };
        if !same.iter().all(|t| *t == same[0] && class.contains(*t)) {
            let types: Vec<_> = args.iter().map(|t| t.name()).collect();
            self.error(format!("`{name}` of {}: its arguments are {}", types.join(", "), class.describe()));
            return None;
        }
        Some(op.result(args))
    }

    /// A reducer of values of a type, and whether it may be used where values are combined in any order.
    pub(crate) fn reducer(&mut self, reducer: Reducer, elem: Elem, into: bool) {
        if !reducer.class().contains(elem) {
            self.error(format!("`{}` does not reduce {elem}", reducer.name()));
        }
        if into && reducer.op().is_none() {
            self.error(format!("`{}` does not accumulate", reducer.name()));
        }
    }

    pub(crate) fn check(&mut self, c: &Check) {
        let of = "a check";
        c.dims().into_iter().for_each(|d| self.dim(d, of));
    }

    /// The rules of a sort that gives positions, or elements of this type.
    pub(crate) fn sort(&mut self, result: ArrayId, keys: ArrayId, gives: impl Fn(Elem) -> Elem) {
        let (Some(result), Some((keys, _))) = (self.info(result), self.readable(keys)) else { return };
        if keys.dims.is_empty() || result.dims != keys.dims || result.elem != gives(keys.elem) {
            self.error(format!("`{}` is no sort of `{}`", result.name, keys.name));
        }
    }

    /// A routine takes and gives what it says.
    pub(crate) fn call(&mut self, c: &Call) {
        let args: Option<Vec<_>> = c.args.iter().map(|a| self.readable(*a).map(|(info, _)| info)).collect();
        let results: Option<Vec<_>> = c.results.iter().map(|a| self.info(*a)).collect();
        let (Some(args), Some(results)) = (args, results) else { return };
        let shaped = |list: &[&'a ArrayInfo]| list.iter().map(|i| (i.elem, &i.dims[..])).collect::<Vec<_>>();
        if !c.routine.fits(&shaped(&args), &shaped(&results)) {
            self.error(format!("`{}` does not take or give these arrays", c.routine.name()));
        }
    }

    /// The rules of a value with a rule of its own.
    pub(crate) fn custom(&mut self, c: &Custom, rule: Option<&Rule>) {
        self.loc(c.loc);
        let same = c.results.len() == c.values.len()
            && c.results.iter().zip(&c.values).all(|(r, v)| {
                let (r, v) = (self.info(*r), self.readable(*v));
                matches!((r, v), (Some(r), Some((v, _))) if (r.elem, &r.dims) == (v.elem, &v.dims))
            });
        if !same {
            self.error("a value with a rule is not what it was before");
        }
        c.args.iter().for_each(|a| {
            self.readable(*a);
        });
        let leaves = rule.map(|r| r.program.params.iter().map(|q| q.arrays.leaves().len()).sum::<usize>());
        if leaves != Some(c.args.len() + c.values.len()) {
            self.error(format!("rule {} does not fit what it is a rule of", c.rule));
        }
    }
}

/// Whether arrays of dimensions `a` and `b` have the same number of elements, given the checks made before: the
/// products are equal as polynomials, or what they differ by, times any of the common dimensions, is what a check compares.
/// A check with guards counts if the guards are among the common dimensions: where one of them is zero, so are both products.
/// A check without guards that one size is something else replaces it by that first, in the other checks as well.
pub(crate) fn same_product(a: &[Dim], b: &[Dim], checks: &[Check]) -> bool {
    if same_up_to_one_check(a, b, checks) {
        return true;
    }
    let replaced = |dims: &[Dim]| -> Vec<Dim> { dims.iter().map(|d| resolved(d, checks)).collect() };
    let mut all = checks.to_vec();
    all.extend(checks.iter().filter_map(|c| {
        let CheckKind::Equal(x, y) = &c.kind else { return None };
        let kind = CheckKind::Equal(resolved(x, checks), resolved(y, checks));
        Some(Check { kind, guards: replaced(&c.guards) })
    }));
    same_up_to_one_check(&replaced(a), &replaced(b), &all)
}

/// A dimension with the sizes that checks without guards say are others replaced by those. What is replaced is so in the checks
/// after it as well: of `n == p` and `n == q` follows `p == q`.
pub(crate) fn resolved(d: &Dim, checks: &[Check]) -> Dim {
    let mut replaced: Vec<(SizeAtom, Dim)> = Vec::new();
    let replace = |d: &Dim, replaced: &[(SizeAtom, Dim)]| {
        replaced.iter().fold(d.clone(), |d, (atom, by)| {
            d.substitute(&mut |a| if a == atom { by.clone() } else { Dim::atom(a.clone()) })
        })
    };
    for c in checks.iter().filter(|c| c.guards.is_empty()) {
        let CheckKind::Equal(x, y) = &c.kind else { continue };
        let (x, y) = (replace(x, &replaced), replace(y, &replaced));
        let side =
            |x: &Dim, y: &Dim| Some((x.as_atom().filter(|a| !y.atoms().contains(a))?.clone(), y.clone()));
        replaced.extend(side(&x, &y).or_else(|| side(&y, &x)).or_else(|| solved(&x.sub(&y))));
    }
    replace(d, &replaced)
}

/// A size that is alone in one term of a polynomial, and what it is if the polynomial is zero.
fn solved(d: &Dim) -> Option<(SizeAtom, Dim)> {
    d.terms().find_map(|(m, c)| {
        let [atom] = &m[..] else { return None };
        let is_alone = c.abs() == 1 && d.terms().filter(|(m, _)| m.contains(atom)).count() == 1;
        let rest = d.sub(&Dim::atom(atom.clone()).scale(c));
        is_alone.then(|| (atom.clone(), rest.scale(-c)))
    })
}

fn same_up_to_one_check(a: &[Dim], b: &[Dim], checks: &[Check]) -> bool {
    let mut rest: Vec<&Dim> = b.iter().collect();
    let mut common = Vec::new();
    let mut own = Vec::new();
    for d in a {
        match rest.iter().position(|r| *r == d) {
            Some(i) => common.push(rest.remove(i)),
            None => own.push(d),
        }
    }
    let difference = Dim::product(own).sub(&Dim::product(rest));
    if difference == Dim::default() {
        return true;
    }
    // With none, some or all of the common dimensions.
    let mut differences = vec![difference.clone()];
    for c in &common {
        let more: Vec<Dim> =
            differences.iter().map(|d| d.mul(c)).filter(|d| !differences.contains(d)).collect();
        differences.extend(more);
    }
    checks.iter().any(|c| match &c.kind {
        CheckKind::Equal(x, y) => {
            let d = x.sub(y);
            let compared = differences.contains(&d) || differences.contains(&d.scale(-1));
            compared && c.guards.iter().all(|g| common.contains(&g))
        }
        _ => false,
    })
}
