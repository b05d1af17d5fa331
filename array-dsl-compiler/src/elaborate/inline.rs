//! Called kernels: their Core code copied into the function under construction.

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use super::conditions::Branch;
use super::value::Value;
use crate::core::{self, Atom, Axis, Body, Check, Exp, Mode, Stm, Trips, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom, Told, told};
use crate::scalar::Op;
use crate::ty::{Loc, Name, Tree};

impl Elaborator<'_> {
    /// The body of `k` with its parameters replaced.
    pub(super) fn inline(
        &mut self,
        k: &core::Function,
        params: &[Var],
        args: &[Atom],
        span: Span,
    ) -> Option<Value> {
        let mut inl = Inliner { k, vars: FxHashMap::default(), sizes: FxHashMap::default(), span };
        for (v, a) in params.iter().zip(args) {
            inl.vars.insert(*v, *a);
        }
        let pairs =
            params.iter().zip(args).flat_map(|(v, a)| k.ty(*v).dims.iter().zip(self.atom_type(*a).dims));
        let (wanted, found): (Vec<&Dim>, Vec<Dim>) = pairs.unzip();
        for t in told(&wanted) {
            let size = inl.size(self, &t, &found[t.at])?;
            inl.sizes.insert(t.size, size);
        }
        // The callee's own entry checks, now about the caller's sizes.
        for (v, a) in params.iter().zip(args) {
            let dims = k.ty(*v).dims.iter().map(|d| inl.dim(self, d)).collect::<Option<Vec<Dim>>>()?;
            let what = format!("argument `{}` of kernel `{}`", k.vars[v.0 as usize].name, k.name);
            let coerced = self.coerce(*a, &dims, span, &what, false)?;
            inl.vars.insert(*v, coerced);
        }
        let outer = self.site.call_span.replace(self.site.call_span.unwrap_or(span));
        let results = inl.body(self, &k.body);
        self.site.call_span = outer;
        let results = results?;
        fn value(t: &Tree<usize>, results: &[Atom]) -> Value {
            match t {
                Tree::Leaf(i) => Value::Atom(results[*i]),
                Tree::Tuple(ts) => Value::Tuple(ts.iter().map(|t| value(t, results)).collect()),
            }
        }
        Some(value(&k.result, &results))
    }
}

/// Copies Core code into the function under construction, with variables, sizes and places replaced.
struct Inliner<'k> {
    k: &'k core::Function,
    vars: FxHashMap<Var, Atom>,
    sizes: FxHashMap<Name, Dim>,
    span: Span,
}

impl Inliner<'_> {
    fn atom(&self, a: Atom) -> Atom {
        match a {
            Atom::Var(v) => self.vars.get(&v).copied().unwrap_or(a),
            c => c,
        }
    }

    /// The callee's size, told by a dimension that is `have` here.
    fn size(&self, e: &mut Elaborator<'_>, told: &Told, have: &Dim) -> Option<Dim> {
        if (told.by, &told.rest) == (1, &Dim::default()) {
            return Some(have.clone());
        }
        let product = have.sub(&self.dim(e, &told.rest)?);
        let size = match product.over(told.by) {
            Some(size) => size,
            // Whether it divides is checked with all dimensions.
            None => {
                let (product, by) = (e.size_value(&product, self.span), e.int(told.by));
                let size = e.op(Op::Div, &[product, by], self.span);
                let d = e.dim_of(&Value::Atom(size), self.span)?;
                if let Atom::Var(v) = size {
                    e.vars[v.0 as usize].name = told.size.clone();
                }
                d
            }
        };
        e.check_extent(&size, self.span)?;
        Some(size)
    }

    fn dim(&self, e: &mut Elaborator<'_>, d: &Dim) -> Option<Dim> {
        let mut ok = true;
        let result = d.substitute(&mut |a| match a {
            SizeAtom::Name(n) => self.sizes.get(n).cloned().expect("each size is a dimension of a parameter"),
            SizeAtom::Scalar(s) => {
                let v = self.atom(Atom::Var(Var(*s)));
                let name = self.k.vars[*s as usize].name.clone();
                let new = matches!(v, Atom::Var(_)) && e.known_int(v).is_none();
                let found = e.dim_of(&Value::Atom(v), self.span);
                if let (Atom::Var(v), true) = (v, new && found.is_some()) {
                    e.vars[v.0 as usize].name = name;
                }
                found.unwrap_or_else(|| {
                    ok = false;
                    Dim::default()
                })
            }
        });
        ok.then_some(result)
    }

    /// Whether the callee's dimension is one here as well.
    fn is_size(&self, e: &mut Elaborator<'_>, d: &Dim) -> bool {
        d.atoms().into_iter().all(|a| match a {
            SizeAtom::Name(_) => true,
            SizeAtom::Scalar(s) => match self.atom(Atom::Var(Var(s))) {
                Atom::Const(_) => true,
                Atom::Var(v) => e.hoisted_size(v, self.span).is_some(),
            },
        })
    }

    fn ty(&self, e: &mut Elaborator<'_>, t: &Type) -> Option<Type> {
        Some(Type { elem: t.elem, dims: t.dims.iter().map(|d| self.dim(e, d)).collect::<Option<_>>()? })
    }

    fn loc(&self, e: &mut Elaborator<'_>, l: Loc) -> Loc {
        match self.k.places.get(l.0 as usize) {
            Some(p) => e.add_place(p.clone(), e.site.call_span.unwrap_or(self.span)),
            None => e.loc(self.span),
        }
    }

    fn new_var(&mut self, e: &mut Elaborator<'_>, v: Var) -> Option<Var> {
        let info = &self.k.vars[v.0 as usize];
        let ty = self.ty(e, &info.ty)?;
        let new = e.new_var(&info.name, ty);
        self.vars.insert(v, Atom::Var(new));
        Some(new)
    }

    fn new_vars(&mut self, e: &mut Elaborator<'_>, vars: &[Var]) -> Option<Vec<Var>> {
        vars.iter().map(|v| self.new_var(e, *v)).collect()
    }

    fn body(&mut self, e: &mut Elaborator<'_>, b: &Body) -> Option<Vec<Atom>> {
        for s in &b.stms {
            self.stm(e, s)?;
        }
        Some(b.results.iter().map(|a| self.atom(*a)).collect())
    }

    fn nested(&mut self, e: &mut Elaborator<'_>, b: &Body) -> Option<Body> {
        e.not_too_deep(self.span)?;
        let (stms, results) = e.in_body(|e| self.body(e, b))?;
        Some(Body { stms, results })
    }

    fn axes(&mut self, e: &mut Elaborator<'_>, axes: &[Axis]) -> Option<Vec<Axis>> {
        axes.iter()
            .map(|a| {
                let extent = self.dim(e, &a.extent)?;
                Some(Axis { var: self.new_var(e, a.var)?, extent })
            })
            .collect()
    }

    fn array(&self, e: &mut Elaborator<'_>, v: Var) -> Option<Var> {
        match self.atom(Atom::Var(v)) {
            Atom::Var(v) => Some(v),
            Atom::Const(_) => {
                e.error(Code::Rank, self.span, "an array was expected, found a number", "pass an array");
                None
            }
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|a| self.atom(*a)).collect()
    }

    fn stm(&mut self, e: &mut Elaborator<'_>, s: &Stm) -> Option<()> {
        match &s.exp {
            Exp::Op(op, args) => {
                let args: Vec<Atom> = args.iter().map(|a| self.atom(*a)).collect();
                // Through `op`, so that known integers stay known.
                let loc = self.loc(e, s.loc);
                let a = e.op(*op, &args, self.span);
                if let Some(last) = e.bodies.last_mut().and_then(|b| b.last_mut()) {
                    last.loc = loc;
                }
                self.vars.insert(s.vars[0], a);
            }
            Exp::Size(d) => {
                let d = self.dim(e, d)?;
                let a = e.size_value(&d, self.span);
                self.vars.insert(s.vars[0], a);
            }
            Exp::Atom(a) => {
                let a = self.atom(*a);
                self.vars.insert(s.vars[0], a);
            }
            Exp::Check(c) => self.check(e, c)?,
            Exp::Derivative(d) => {
                let d = self.derivative(e, d)?;
                let loc = self.loc(e, s.loc);
                let vars = self.new_vars(e, &s.vars)?;
                e.push_derivative(vars, d, loc);
            }
            exp => {
                let exp = self.exp(e, exp)?;
                let loc = self.loc(e, s.loc);
                let vars = self.new_vars(e, &s.vars)?;
                e.push(Stm { vars, exp, loc });
            }
        }
        Some(())
    }

    /// A check of the callee's. Its loops and conditions that the check was hoisted out of guard it here too, but for what differs from
    /// point to point here.
    fn check(&mut self, e: &mut Elaborator<'_>, c: &Check) -> Option<()> {
        let mut kind = c.kind.clone();
        for d in kind.dims_mut() {
            *d = self.dim(e, d)?;
        }
        let frame = e.frame.len();
        for guard in &c.guards {
            if self.is_size(e, guard) {
                let guard = self.dim(e, guard)?;
                e.frame.push((guard, Name::from("i")));
            }
        }
        e.check(kind, self.span);
        e.frame.truncate(frame);
        Some(())
    }

    /// An expression that is the callee's under new names.
    fn exp(&mut self, e: &mut Elaborator<'_>, exp: &Exp) -> Option<Exp> {
        Some(match exp {
            Exp::StopGradient(a) => Exp::StopGradient(self.atom(*a)),
            Exp::Custom { values, args, rule } => {
                let (values, args) = (self.atoms(values), self.atoms(args));
                Exp::Custom { values, args, rule: e.add_rule(&self.k.rules[*rule]) }
            }
            Exp::Index(v, ix) => Exp::Index(self.array(e, *v)?, self.atoms(ix)),
            Exp::If(c, x, y) => {
                let c = self.atom(*c);
                let x = self.branch(e, c, true, x);
                let y = self.branch(e, c, false, y);
                Exp::If(c, x?, y?)
            }
            Exp::Build(axes, b) => {
                let (axes, b) = self.over(e, axes, b)?;
                Exp::Build(axes, b)
            }
            Exp::Reduce(rs, axis, b) => {
                let (axis, b) = self.along(e, axis, b)?;
                Exp::Reduce(rs.clone(), axis, b)
            }
            Exp::Scan(rs, prefix, axis, b) => {
                let (axis, b) = self.along(e, axis, b)?;
                Exp::Scan(rs.clone(), *prefix, axis, b)
            }
            Exp::Fold(operator, prefix, axis, b) => {
                let neutral = self.atoms(&operator.neutral);
                let left = self.new_vars(e, &operator.left)?;
                let right = self.new_vars(e, &operator.right)?;
                let body = self.nested(e, &operator.body)?;
                let (axis, b) = self.along(e, axis, b)?;
                Exp::Fold(Box::new(core::Operator { left, right, body, neutral }), *prefix, axis, b)
            }
            Exp::Loop(l) => self.repeat(e, l)?,
            Exp::Update(v, ix, x) => {
                let ix = self.atoms(ix);
                Exp::Update(self.array(e, *v)?, ix, self.atom(*x))
            }
            Exp::Scatter { how, dest, axes, body } => {
                let dest = self.array(e, *dest)?;
                let (axes, body) = self.over(e, axes, body)?;
                Exp::Scatter { how: *how, dest, axes, body }
            }
            Exp::Reshape(v, dims) => {
                let v = self.array(e, *v)?;
                Exp::Reshape(v, dims.iter().map(|d| self.dim(e, d)).collect::<Option<_>>()?)
            }
            Exp::Argsort(v) => Exp::Argsort(self.array(e, *v)?),
            Exp::Op(..) | Exp::Size(_) | Exp::Atom(_) | Exp::Check(_) | Exp::Derivative(_) => return None,
        })
    }

    fn derivative(&mut self, e: &mut Elaborator<'_>, d: &core::Derivative) -> Option<core::Derivative> {
        let at: Vec<Atom> = d.point.iter().map(|(_, at)| self.atom(*at)).collect();
        let mode = match &d.mode {
            Mode::Forward(tangents) => Mode::Forward(self.atoms(tangents)),
            Mode::Reverse => Mode::Reverse,
        };
        let vars = d.point.iter().map(|(v, _)| self.new_var(e, *v)).collect::<Option<Vec<Var>>>()?;
        let (stms, results) = e.in_derivative(&vars, self.span, |e| self.body(e, &d.body))?;
        let point = vars.into_iter().zip(at).collect();
        Some(core::Derivative { point, body: Body { stms, results }, mode })
    }

    /// The branch of a choice that is taken where `c` is `when`.
    fn branch(&mut self, e: &mut Elaborator<'_>, c: Atom, when: bool, b: &Body) -> Option<Body> {
        let depth = e.branches.len();
        e.branches.push(e.branch_where(c, when));
        let b = self.nested(e, b);
        e.branches.truncate(depth);
        b
    }

    /// Axes, and the body that is executed at each of their points.
    fn over(&mut self, e: &mut Elaborator<'_>, axes: &[Axis], b: &Body) -> Option<(Vec<Axis>, Body)> {
        let axes = self.axes(e, axes)?;
        let depth = e.frame.len();
        e.frame.extend(axes.iter().map(|a| (a.extent.clone(), Name::from("i"))));
        let b = self.nested(e, b);
        e.frame.truncate(depth);
        Some((axes, b?))
    }

    /// As [`Self::over`], of one axis.
    fn along(&mut self, e: &mut Elaborator<'_>, axis: &Axis, b: &Body) -> Option<(Axis, Body)> {
        let (mut axes, b) = self.over(e, std::slice::from_ref(axis), b)?;
        Some((axes.remove(0), b))
    }

    fn repeat(&mut self, e: &mut Elaborator<'_>, l: &core::Loop) -> Option<Exp> {
        let starts: Vec<Atom> = l.state.iter().map(|(_, start)| self.atom(*start)).collect();
        let (frame, branches) = (e.frame.len(), e.branches.len());
        let trips = match &l.trips {
            Trips::For(v, count) => {
                let count = self.atom(*count);
                // Like a branch where it cannot be told before whether there are any trips.
                match e.known_int(count) {
                    Some(extent) => e.frame.push((extent, Name::from("i"))),
                    None => e.branches.push(Branch::trips()),
                }
                Some(Trips::For(self.new_var(e, *v)?, count))
            }
            Trips::While(_) => {
                e.branches.push(Branch::trips());
                None
            }
        };
        let vars: Vec<Var> = l.state.iter().map(|(v, _)| *v).collect();
        let state = self.new_vars(e, &vars)?.into_iter().zip(starts).collect();
        let trips = match &l.trips {
            Trips::While(condition) => self.nested(e, condition).map(Trips::While),
            Trips::For(..) => trips,
        };
        let body = self.nested(e, &l.body);
        e.frame.truncate(frame);
        e.branches.truncate(branches);
        Some(Exp::Loop(Box::new(core::Loop { state, trips: trips?, body: body? })))
    }
}
