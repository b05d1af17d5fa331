//! Whether a function obeys the rules of Core (see the header of `core`). Every broken rule is reported, with the
//! variables as they are printed; what follows only from an error that is already reported is kept quiet.
//!
//! * Each variable is bound once, before its uses, and used only inside the body that binds it.
//! * Operands have the types of the table of scalar functions; conditions are `bool`, indices `i64` scalars.
//! * The declared type of a variable is the type of its expression, dimension by dimension. Results of the function
//!   agree with `result_types` in element type and rank: an equality of their dimensions may rest on a check.
//! * Dimensions mention the function's sizes, each of which is alone a dimension of some parameter, and integer
//!   scalars of depth 0 that are bound before. Those of parameters may mention any scalar parameter.
//! * The numbers of elements before and after a `Reshape` do not differ by a constant. That they are equal may rest
//!   on a check.
//! * An operator's operands, its neutral element and what is folded have the same scalar types; its body is scalar code:
//!   no arrays are made in it, and it sees neither the axis nor the variables of the fold's body.
//! * The state of a loop has the same types before the first trip, inside, and after each.
//! * A point is of floats, and tangents and cotangents are of the types of what they belong to: a derivative has a tangent for
//!   each part of its point, or its body gives a cotangent for each float among its values.
//! * The body of a derivative is of the depth around it. Of what it binds, integer scalars of depth 0 stay in scope.
//! * A `Custom` names a rule that takes its arguments and a cotangent for each value, and gives one for each argument that
//!   it says; of the same element types and ranks. Rules obey these rules themselves.
//! * `Check` stands at depth 0 only. Nothing is of an unsettled type; places are in the table of places.

mod derivative;
mod sequence;

use super::{Atom, Axis, Body, Check, Exp, Function, Placing, Reducer, Stm, Type, Var};
use crate::Verified;
use crate::dim::{Dim, SizeAtom, told};
use crate::scalar::{Class, Op};
use crate::ty::{Elem, Loc};

/// The function, accepted; or every rule it breaks.
pub fn verify(f: Function) -> Result<Verified<Function>, Vec<String>> {
    let errors = check(&f);
    if errors.is_empty() { Ok(Verified::new(f)) } else { Err(errors) }
}

/// The rules that a function breaks.
pub fn check(f: &Function) -> Vec<String> {
    let states = vec![State::Unbound; f.vars.len()];
    let mut scope = Scope { f, states, trail: Vec::new(), depth: 0, errors: Vec::new() };
    scope.signature();
    if let Some(types) = scope.body(&f.body) {
        scope.results(&types);
    }
    for (i, r) in f.rules.iter().enumerate() {
        scope.errors.extend(check(&r.function).into_iter().map(|e| format!("rule {i}: {e}")));
    }
    scope.errors
}

/// What the walk knows of a variable.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// No statement met so far binds it.
    Unbound,
    /// It is in scope; `true`: it was bound at depth 0.
    Visible(bool),
    /// The body that binds it has ended.
    Gone,
}

struct Scope<'a> {
    f: &'a Function,
    states: Vec<State>,
    /// Visible variables in the order they were bound.
    trail: Vec<Var>,
    /// The number of bodies around the current place, those of derivatives not counted.
    depth: usize,
    errors: Vec<String>,
}

impl Scope<'_> {
    fn error(&mut self, message: impl Into<String>) {
        let message = message.into();
        if !self.errors.contains(&message) {
            self.errors.push(message);
        }
    }

    fn show(&self, v: Var) -> String {
        format!("`{}.{}`", self.f.vars.get(v.0 as usize).map_or("?", |i| &*i.name), v.0)
    }

    fn show_dim(&self, d: &Dim) -> String {
        d.show(&|s| self.show(Var(s)).trim_matches('`').into())
    }

    fn show_type(&self, t: &Type) -> String {
        let dims: String = t.dims.iter().map(|d| format!("[{}]", self.show_dim(d))).collect();
        format!("{dims}{}", t.elem)
    }

    fn signature(&mut self) {
        let f = self.f;
        if let Some((i, name)) = f.sizes.iter().enumerate().find(|(i, s)| f.sizes[..*i].contains(s)) {
            self.error(format!("the size `{name}` is listed twice, last as number {i}"));
        }
        let vars: Vec<Var> = f.params.iter().flat_map(|p| p.vars.leaves()).copied().collect();
        f.params.iter().for_each(|p| self.loc(p.loc));
        // Scalars first: dimensions may mention those of later parameters.
        vars.iter().for_each(|v| self.bind(*v, None));
        for v in &vars {
            if let Some(info) = f.vars.get(v.0 as usize) {
                let what = self.show(*v);
                self.ty(&info.ty, &what);
            }
        }
        let dims: Vec<&Dim> =
            vars.iter().filter_map(|v| f.vars.get(v.0 as usize)).flat_map(|i| &i.ty.dims).collect();
        let told = told(&dims);
        for size in &f.sizes {
            if !told.iter().any(|t| t.size == *size) {
                self.error(format!("the size `{size}` is told by no dimension of a parameter"));
            }
        }
    }

    fn results(&mut self, types: &[Type]) {
        let f = self.f;
        if let Some(leaf) = f.result.leaves().into_iter().find(|i| **i >= types.len()) {
            self.error(format!("the result's structure mentions result {leaf} of {}", types.len()));
        }
        if types.len() != f.result_types.len() {
            self.error(format!("{} results are declared and {} given", f.result_types.len(), types.len()));
        }
        for (i, (declared, found)) in f.result_types.iter().zip(types).enumerate() {
            self.ty(declared, &format!("the type of result {i}"));
            if (declared.elem, declared.rank()) != (found.elem, found.rank()) {
                let (declared, found) = (self.show_type(declared), self.show_type(found));
                self.error(format!("result {i} is declared {declared} and has type {found}"));
            }
        }
    }

    /// The element type is settled, and the dimensions are in scope.
    fn ty(&mut self, t: &Type, what: &str) {
        if matches!(t.elem, Elem::Infer(_)) {
            self.error(format!("the element type of {what} is not settled"));
        }
        t.dims.iter().for_each(|d| self.dim(d, what));
    }

    fn dim(&mut self, d: &Dim, what: &str) {
        if d.is_too_large() {
            self.error(format!("{what}: a coefficient is too large"));
        }
        for atom in d.atoms() {
            match atom {
                SizeAtom::Name(n) if self.f.sizes.contains(&n) => {}
                SizeAtom::Name(n) => self.error(format!("{what}: `{n}` is no size of the function")),
                SizeAtom::Scalar(s) => {
                    let v = Var(s);
                    let shown = self.show(v);
                    let Some(info) = self.f.vars.get(s as usize) else {
                        self.error(format!("{what}: there is no variable {shown}"));
                        continue;
                    };
                    if info.ty.rank() != 0 || !info.ty.elem.is_int() {
                        self.error(format!("{what}: {shown} is no integer scalar"));
                    } else if self.states[s as usize] != State::Visible(true) {
                        self.error(format!("{what}: {shown} is not bound before at depth 0"));
                    }
                }
            }
        }
    }

    fn loc(&mut self, loc: Loc) {
        if loc.0 as usize >= self.f.places.len() {
            self.error(format!("there is no place {} in the table of places", loc.0));
        }
    }

    /// Brings a variable into scope; `ty` is the type of what it is bound to, if that is known.
    fn bind(&mut self, v: Var, ty: Option<&Type>) {
        let shown = self.show(v);
        let Some(info) = self.f.vars.get(v.0 as usize) else {
            return self.error(format!("there is no variable {shown}"));
        };
        if self.states[v.0 as usize] != State::Unbound {
            self.error(format!("{shown} is bound twice"));
        }
        self.states[v.0 as usize] = State::Visible(self.depth == 0);
        self.trail.push(v);
        if let Some(ty) = ty {
            self.ty(&info.ty, &shown);
            if *ty != info.ty {
                let (declared, found) = (self.show_type(&info.ty), self.show_type(ty));
                self.error(format!("{shown} is declared {declared} and bound to {found}"));
            }
        }
    }

    /// Runs `f` on what is inside an expression: what it binds is gone afterwards.
    fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.trail.len();
        self.depth += 1;
        let out = f(self);
        self.depth -= 1;
        self.leave(mark, |_| false);
        out
    }

    /// What was brought into scope since `mark` is gone, but for what stays.
    fn leave(&mut self, mark: usize, stays: impl Fn(Var) -> bool) {
        for v in self.trail.split_off(mark) {
            if stays(v) {
                self.trail.push(v);
            } else {
                self.states[v.0 as usize] = State::Gone;
            }
        }
    }

    /// The types of a body's results; `None` after an error.
    fn body(&mut self, b: &Body) -> Option<Vec<Type>> {
        b.stms.iter().for_each(|s| self.stm(s));
        let types: Vec<Option<Type>> = b.results.iter().map(|a| self.atom(*a)).collect();
        types.into_iter().collect()
    }

    fn stm(&mut self, s: &Stm) {
        self.loc(s.loc);
        let before = self.errors.len();
        let types = self.exp(&s.exp).filter(|_| self.errors.len() == before);
        if let Some(n) = types.as_ref().map(Vec::len).filter(|n| *n != s.vars.len()) {
            let vars: Vec<String> = s.vars.iter().map(|v| self.show(*v)).collect();
            self.error(format!("a statement binds ({}) to {n} values", vars.join(", ")));
        }
        // After an error the variables are bound all the same, so that it is the only one.
        for (i, v) in s.vars.iter().enumerate() {
            self.bind(*v, types.as_ref().and_then(|t| t.get(i)));
        }
    }

    fn var(&mut self, v: Var) -> Option<Type> {
        let shown = self.show(v);
        match self.states.get(v.0 as usize) {
            Some(State::Visible(_)) => return Some(self.f.ty(v).clone()),
            Some(State::Unbound) => self.error(format!("{shown} is used before it is bound")),
            Some(State::Gone) => self.error(format!("{shown} is used outside the body that binds it")),
            None => self.error(format!("there is no variable {shown}")),
        }
        None
    }

    fn atom(&mut self, a: Atom) -> Option<Type> {
        match a {
            Atom::Var(v) => self.var(v),
            Atom::Const(c) if matches!(c.elem, Elem::Infer(_)) => {
                self.error("the type of a constant is not settled");
                None
            }
            Atom::Const(c) => Some(Type::scalar(c.elem)),
        }
    }

    /// The element type of an operand that must be a scalar.
    fn scalar(&mut self, a: Atom, what: &str) -> Option<Elem> {
        let ty = self.atom(a)?;
        if ty.rank() != 0 {
            let found = self.show_type(&ty);
            self.error(format!("{what} is {found}, not a scalar"));
            return None;
        }
        Some(ty.elem)
    }

    fn expect(&mut self, a: Atom, elem: Elem, what: &str) {
        if let Some(found) = self.scalar(a, what).filter(|e| *e != elem) {
            self.error(format!("{what} is {found}, not {elem}"));
        }
    }

    /// The types of an expression's values; `None` after an error.
    fn exp(&mut self, exp: &Exp) -> Option<Vec<Type>> {
        match exp {
            Exp::Atom(a) | Exp::StopGradient(a) => self.atom(*a).map(|t| vec![t]),
            Exp::Op(op, args) => self.op(*op, args).map(|e| vec![Type::scalar(e)]),
            Exp::Size(d) => {
                self.dim(d, "a size");
                Some(vec![Type::scalar(Elem::I64)])
            }
            Exp::Index(a, index) => self.index(*a, index).map(|t| vec![t]),
            Exp::If(condition, yes, no) => self.choice(*condition, yes, no),
            Exp::Build(axes, body) => {
                let types = self.points(axes, body)?;
                let over_axes = |t: Type| {
                    let extents = axes.iter().map(|a| a.extent.clone());
                    Type { elem: t.elem, dims: extents.chain(t.dims).collect() }
                };
                Some(types.into_iter().map(over_axes).collect())
            }
            Exp::Reduce(reducers, axis, body) => self.reduce(reducers, axis, body),
            Exp::Scan(reducers, _, axis, body) => self.scan(reducers, axis, body),
            Exp::Fold(operator, prefix, axis, body) => self.fold(operator, *prefix, axis, body),
            Exp::Loop(l) => self.repeat(l),
            Exp::Update(array, index, x) => self.update(*array, index, *x),
            Exp::Scatter { how, dest, axes, body } => {
                let dest = self.var(*dest);
                let types = self.points(axes, body);
                let dest = dest?;
                self.scatter(*how, &dest, &types?);
                Some(vec![dest])
            }
            Exp::Reshape(a, dims) => self.reshape(*a, dims).map(|t| vec![t]),
            Exp::Custom { values, args, rule } => self.custom(values, args, *rule),
            Exp::Derivative(d) => self.derivative(d),
            Exp::Argsort(a) => self.argsort(*a).map(|t| vec![t]),
            Exp::Check(c) => {
                self.size_check(c);
                Some(Vec::new())
            }
        }
    }

    fn choice(&mut self, condition: Atom, yes: &Body, no: &Body) -> Option<Vec<Type>> {
        self.expect(condition, Elem::Bool, "the condition of an `if`");
        let yes = self.inside(|s| s.body(yes));
        let no = self.inside(|s| s.body(no));
        let (yes, no) = (yes?, no?);
        if yes != no {
            let show =
                |types: &[Type]| types.iter().map(|t| self.show_type(t)).collect::<Vec<_>>().join(", ");
            self.error(format!("the branches of an `if` give ({}) and ({})", show(&yes), show(&no)));
            return None;
        }
        Some(yes)
    }

    fn reshape(&mut self, a: Var, dims: &[Dim]) -> Option<Type> {
        dims.iter().for_each(|d| self.dim(d, "a dimension of a reshape"));
        let ty = self.var(a)?;
        if ty.rank() == 0 || dims.is_empty() {
            let shown = self.show(a);
            self.error(format!("{shown} is reshaped from or to a scalar"));
        }
        let (before, after) = (Dim::product(&ty.dims), Dim::product(dims));
        if before.sub(&after).as_constant().is_some_and(|c| c != 0) {
            let (before, after) = (self.show_dim(&before), self.show_dim(&after));
            self.error(format!("a reshape of {before} elements to {after}"));
        }
        Some(Type { elem: ty.elem, dims: dims.to_vec() })
    }

    fn argsort(&mut self, a: Var) -> Option<Type> {
        let ty = self.var(a)?;
        if ty.rank() == 0 {
            let shown = self.show(a);
            self.error(format!("the scalar {shown} cannot be sorted"));
            return None;
        }
        Some(Type { elem: Elem::I64, dims: ty.dims })
    }

    fn index(&mut self, a: Var, index: &[Atom]) -> Option<Type> {
        let ty = self.var(a);
        let shown = self.show(a);
        index.iter().for_each(|i| self.expect(*i, Elem::I64, &format!("an index of {shown}")));
        let ty = ty?;
        if index.len() > ty.rank() {
            self.error(format!("{shown} of rank {} has {} indices", ty.rank(), index.len()));
            return None;
        }
        Some(Type { elem: ty.elem, dims: ty.dims[index.len()..].to_vec() })
    }

    /// The types of the values at one point of `axes`.
    fn points(&mut self, axes: &[Axis], body: &Body) -> Option<Vec<Type>> {
        for a in axes {
            let what = format!("the extent of {}", self.show(a.var));
            self.dim(&a.extent, &what);
        }
        self.inside(|s| {
            axes.iter().for_each(|a| s.bind(a.var, Some(&Type::scalar(Elem::I64))));
            s.body(body)
        })
    }

    fn reduce(&mut self, reducers: &[Reducer], axis: &Axis, body: &Body) -> Option<Vec<Type>> {
        let types = self.points(std::slice::from_ref(axis), body)?;
        if types.len() != reducers.len() {
            self.error(format!("{} values for {} reducers", types.len(), reducers.len()));
            return None;
        }
        for (r, t) in reducers.iter().zip(&types) {
            self.reducer(*r, t);
        }
        Some(reducers.iter().zip(types).map(|(r, t)| Type::scalar(r.result(t.elem))).collect())
    }

    fn reducer(&mut self, reducer: Reducer, ty: &Type) {
        let of_complex = ty.elem.is_complex() && reducer.is_of_complex();
        if ty.rank() != 0 || !(reducer.class().contains(ty.elem) || of_complex) {
            let found = self.show_type(ty);
            self.error(format!("`{}` does not reduce {found}", reducer.name()));
        }
    }

    fn scatter(&mut self, how: Placing, dest: &Type, types: &[Type]) {
        let Some((value, indices)) = types.split_last() else {
            return self.error("a scatter without a value");
        };
        if indices.len() != dest.rank() {
            self.error(format!("a scatter into rank {} has {} indices", dest.rank(), indices.len()));
        }
        for i in indices.iter().filter(|i| **i != Type::scalar(Elem::I64)) {
            let found = self.show_type(i);
            self.error(format!("an index of a scatter is {found}, not i64"));
        }
        if *value != Type::scalar(dest.elem) {
            let found = self.show_type(value);
            self.error(format!("a scatter of {found} into an array of {}", dest.elem));
        }
        match how {
            Placing::Combined(Reducer::ArgMin | Reducer::ArgMax) => {
                self.error("a scatter cannot combine by `argmin` or `argmax`")
            }
            Placing::Combined(r) => self.reducer(r, &Type::scalar(dest.elem)),
            Placing::Only | Placing::Last => {}
        }
    }

    fn size_check(&mut self, c: &Check) {
        if self.depth != 0 {
            self.error("a check stands inside an expression");
        }
        c.kind.dims().into_iter().for_each(|d| self.dim(d, "a check"));
        c.guards.iter().for_each(|g| self.dim(g, "the guard of a check"));
    }

    /// The result type of a scalar function; `None` after an error.
    fn op(&mut self, op: Op, args: &[Atom]) -> Option<Elem> {
        let name = op.name();
        let what = format!("an argument of `{name}`");
        let args: Vec<Option<Elem>> = args.iter().map(|a| self.scalar(*a, &what)).collect();
        let args = args.into_iter().collect::<Option<Vec<_>>>()?;
        if args.len() != op.arity() {
            self.error(format!("`{name}` has {} arguments, not {}", args.len(), op.arity()));
            return None;
        }
        let class = op.row().map_or(Class::Any, |r| r.class);
        // The arguments that share one type; the others have a rule of their own.
        let same = match op {
            Op::Cast(Elem::Infer(_)) => {
                self.error("the type of a cast is not settled");
                return None;
            }
            Op::Select => {
                if args[0] != Elem::Bool {
                    self.error(format!("the condition of `select` is {}, not bool", args[0]));
                }
                &args[1..]
            }
            Op::Powi => {
                if !args[1].is_int() {
                    self.error(format!("the exponent of `powi` is {}, not an integer", args[1]));
                }
                &args[..1]
            }
            _ => &args[..],
        };
        let fits = |e: Elem| match op {
            Op::Complex => e.is_float(),
            Op::Re | Op::Im => e.is_complex(),
            op => class.contains(e) || (e.is_complex() && op.is_of_complex()),
        };
        if same.iter().any(|e| *e != same[0] || !fits(*e)) {
            let found: Vec<&str> = args.iter().map(|e| e.name()).collect();
            self.error(format!("`{name}` takes {}, found ({})", class.describe(), found.join(", ")));
            return None;
        }
        Some(op.result(&args))
    }
}

#[cfg(test)]
mod tests;
