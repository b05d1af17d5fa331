//! Statements and expressions of complex values: each of twice as many.

use super::super::{Axis, Body, Derivative, Loop, Mode, Operator, Placing, Trips};
use super::{Atom, Dim, Elem, Exp, Op, Split, Stm, Type, Var, expect};

impl Split<'_> {
    pub(super) fn stm(&mut self, s: &Stm) {
        self.loc = s.loc;
        let first = s.vars.first().copied();
        let complex = first.filter(|v| self.is_complex(Atom::Var(*v)));
        match (&s.exp, complex) {
            (Exp::Op(op, args), _) if complex.is_some() || args.iter().any(|a| self.is_complex(*a)) => {
                self.operation(*op, args, expect(first, || "an operation without a result".into()));
            }
            (Exp::Atom(a), Some(v)) => self.bind_pair(v, self.pair(*a).map(Exp::Atom)),
            (Exp::StopGradient(a), Some(v)) => self.bind_pair(v, self.pair(*a).map(Exp::StopGradient)),
            (Exp::Index(array, at), Some(v)) => {
                self.bind_pair(v, self.arrays(*array).map(|part| Exp::Index(part, at.clone())));
            }
            (Exp::Reshape(array, dims), Some(v)) => {
                self.bind_pair(v, self.arrays(*array).map(|a| Exp::Reshape(a, dims.clone())));
            }
            (Exp::Update(array, at, x), Some(v)) => {
                let ([re, im], [x, y]) = (self.arrays(*array), self.pair(*x));
                self.bind_pair(v, [Exp::Update(re, at.clone(), x), Exp::Update(im, at.clone(), y)]);
            }
            (Exp::Scatter { how, dest, axes, body }, Some(v)) => self.scatter(v, *how, *dest, axes, body),
            (exp, _) => {
                let exp = self.expression(exp, s.vars.len());
                let vars = self.bound(&s.vars);
                self.bind(vars, exp);
                if let Exp::Derivative(_) = s.exp {
                    self.mirror_cotangents(s);
                }
            }
        }
    }

    /// The arrays of both parts.
    fn arrays(&self, array: Var) -> [Var; 2] {
        self.pair(Atom::Var(array)).map(|part| {
            let var = if let Atom::Var(v) = part { Some(v) } else { None };
            expect(var, || "a part of an array that is a constant".into())
        })
    }

    /// Expressions of bodies, and of several values.
    fn expression(&mut self, exp: &Exp, vars: usize) -> Exp {
        match exp {
            Exp::If(c, yes, no) => Exp::If(*c, self.body(yes), self.body(no)),
            Exp::Build(axes, body) => Exp::Build(axes.clone(), self.body(body)),
            Exp::Reduce(reducers, axis, body) => {
                let reducers = self.twice(reducers, body);
                Exp::Reduce(reducers, axis.clone(), self.body(body))
            }
            Exp::Scan(reducers, prefix, axis, body) => {
                let reducers = self.twice(reducers, body);
                Exp::Scan(reducers, *prefix, axis.clone(), self.body(body))
            }
            Exp::Fold(operator, prefix, axis, body) => {
                let (left, right) = (self.bound(&operator.left), self.bound(&operator.right));
                let neutral = self.atoms(&operator.neutral);
                let operator = Operator { left, right, body: self.body(&operator.body), neutral };
                Exp::Fold(Box::new(operator), *prefix, axis.clone(), self.body(body))
            }
            Exp::Loop(l) => {
                let states: Vec<Var> = l.state.iter().map(|(v, _)| *v).collect();
                let starts: Vec<Atom> = l.state.iter().map(|(_, start)| *start).collect();
                let starts = self.atoms(&starts);
                let state = self.bound(&states).into_iter().zip(starts).collect();
                let trips = match &l.trips {
                    Trips::For(v, count) => Trips::For(*v, *count),
                    Trips::While(condition) => Trips::While(self.body(condition)),
                };
                Exp::Loop(Box::new(Loop { state, trips, body: self.body(&l.body) }))
            }
            Exp::Derivative(d) => self.derivative(d, vars),
            Exp::Custom { values, args, rule } => {
                Exp::Custom { values: self.atoms(values), args: self.atoms(args), rule: *rule }
            }
            exp => exp.clone(),
        }
    }

    /// A reducer for each part.
    fn twice<T: Copy>(&self, reducers: &[T], body: &Body) -> Vec<T> {
        let each = reducers.iter().zip(&body.results);
        each.flat_map(|(r, a)| vec![*r; 1 + usize::from(self.is_complex(*a))]).collect()
    }

    /// A scatter of each part, of values that are computed before, once.
    fn scatter(&mut self, v: Var, how: Placing, dest: Var, axes: &[Axis], body: &Body) {
        let body = self.body(body);
        let dims: Vec<Dim> = axes.iter().map(|a| a.extent.clone()).collect();
        let elems: Vec<Elem> = body.results.iter().map(|a| self.type_of(*a).elem).collect();
        let arrays: Vec<Var> =
            elems.iter().map(|e| self.var("scattered", Type { elem: *e, dims: dims.clone() })).collect();
        self.bind(arrays.clone(), Exp::Build(axes.to_vec(), body));
        let (index, parts) = arrays.split_at(arrays.len() - 2);
        let dests = self.arrays(dest);
        let scatter = |s: &mut Self, k: usize| {
            let axes: Vec<Axis> = axes
                .iter()
                .map(|a| Axis { var: s.var("i", Type::scalar(Elem::I64)), extent: a.extent.clone() })
                .collect();
            let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
            let read = [index, &[parts[k]]].concat();
            let (stms, results) =
                s.inside(|s| read.iter().map(|a| s.element(Atom::Var(*a), &at)).collect::<Vec<_>>());
            Exp::Scatter { how, dest: dests[k], axes, body: Body { stms, results } }
        };
        let both = [scatter(self, 0), scatter(self, 1)];
        self.bind_pair(v, both);
    }

    /// A derivative at a point of floats, where `vars` variables are bound to it.
    fn derivative(&mut self, d: &Derivative, vars: usize) -> Exp {
        let at: Vec<Atom> = d.point.iter().map(|(_, at)| *at).collect();
        let at = self.atoms(&at);
        let vars_of_point: Vec<Var> = d.point.iter().map(|(v, _)| *v).collect();
        let point = self.bound(&vars_of_point).into_iter().zip(at).collect();
        let mode = match &d.mode {
            Mode::Forward(tangents) => Mode::Forward(self.atoms(tangents)),
            Mode::Reverse => Mode::Reverse,
        };
        let (values, cotangents) = d.results(vars);
        let (stms, results) = self.inside(|s| {
            d.body.stms.iter().for_each(|stm| s.stm(stm));
            let mut results = s.atoms(values);
            for c in cotangents {
                if s.is_complex(*c) {
                    let [re, im] = s.pair(*c);
                    results.extend([re, s.negated(im)]);
                } else {
                    results.push(*c);
                }
            }
            results
        });
        Exp::Derivative(Box::new(Derivative { point, body: Body { stms, results }, mode }))
    }

    /// The cotangents that a derivative gives, as they are after it.
    fn mirror_cotangents(&mut self, s: &Stm) {
        let Exp::Derivative(d) = &s.exp else { return };
        if d.mode != Mode::Reverse {
            return;
        }
        let (values, _) = d.results(s.vars.len());
        for v in &s.vars[values.len()..] {
            if let Some(Atom::Var(im)) = self.imaginary.get(v).copied() {
                let negated = self.each(Op::Neg, im);
                self.imaginary.insert(*v, negated);
            }
        }
    }
}
