//! Derivatives inside kernels: `grad(f)(x)`, `value_and_grad(f)(x)`, `vjp(f)(x, ct)`, `jvp(f)(x, t)`, `hvp(f)(x, t)`.
//! `jacobian`, `hessian` and `vmap` are in `jacobian`.
//!
//! ```text
//! vjp(f)(x, ct)    y, x_ct = pullback x' from x { y' = f(x') => y', ct }             value (y, x_ct)
//! jvp(f)(x, t)     y, y_t = pushforward x' from x along t { y' = f(x') => y' }       value (y, y_t)
//! grad(f)(x)       the second part of vjp(f)(x, 1.0)
//! hvp(f)(x, t)     the second part of jvp(grad(f))(x, t)
//! ```
//!
//! * `f` is a closure, a kernel, a built-in function or a derivative again. A closure is differentiated by its parameters; the
//!   variables around it are constants, so that derivatives nest without confusion.
//! * As on the host, integers and parameters marked `#[no_grad]` are not differentiated by; one differentiated parameter
//!   gives its derivative alone, several give a tuple; there is one cotangent for each float part of the result, one tangent
//!   for each differentiated parameter.
//! * The derivative by a record is that record; what is no float in it is zero, and not looked at in tangents and cotangents.
//! * A kernel applied to arguments of higher rank is lifted over them, and so is its derivative.

use std::rc::Rc;

use proc_macro2::Span;

use super::Elaborator;
use super::builtins::Call;
use super::call::count;
use super::names::arity;
use super::value::{Function, Value};
use crate::core::{self, Atom, Body, Exp, Mode, Stm, Type, Var};
use crate::derive::Derivative;
use crate::diagnostics::Code;
use crate::syntax::ast::Bound;
use crate::ty::{Loc, Tree};

/// One application of a derivative.
struct Application<'a> {
    what: Derivative,
    f: &'a Function,
    /// Which of the function's arguments are differentiated by.
    active: Vec<bool>,
    span: Span,
}

impl Elaborator<'_> {
    /// `stop_gradient(x)`, of all values in it.
    pub(super) fn stop_gradient(&mut self, c: &Call<'_>) -> Option<Value> {
        let Some(atoms) = c.args[0].atoms() else {
            let message = format!("{} takes a value, found a function", c.what);
            self.error(Code::NotAFunction, c.span, message, "stop the gradient of its values");
            return None;
        };
        let stopped: Vec<Atom> = atoms
            .iter()
            .map(|a| {
                let ty = self.atom_type(*a);
                self.emit("stop_gradient", ty, Exp::StopGradient(*a), c.span)
            })
            .collect();
        Some(c.args[0].with_atoms(&mut stopped.into_iter()))
    }

    /// `grad(f)`, to be called.
    pub(super) fn derivative(&mut self, what: Derivative, c: &Call<'_>) -> Option<Value> {
        let f = self.function_argument(&c.args[0], &c.what, c.span)?;
        Some(Value::Function(Function::Derivative(what, Rc::new(f))))
    }

    /// Calls `what(f)`.
    pub(super) fn apply_derivative(
        &mut self,
        what: Derivative,
        f: &Rc<Function>,
        args: &[Value],
        span: Span,
    ) -> Option<Value> {
        if what == Derivative::Hvp {
            let gradient = Rc::new(Function::Derivative(Derivative::Grad, f.clone()));
            let both = self.apply_derivative(Derivative::Jvp, &gradient, args, span)?;
            return if let Value::Tuple(mut parts) = both { parts.pop() } else { None };
        }
        let name = format!("`{}(f)`", what.name());
        if what == Derivative::Vmap {
            let map: Vec<Value> =
                [Value::Function((**f).clone())].into_iter().chain(args.iter().cloned()).collect();
            return self.apply_builtin(&"map".into(), &map, span);
        }
        let active = self.active_arguments(what, f, args, &name, span)?;
        if matches!(what, Derivative::Jacobian | Derivative::Hessian) {
            return self.matrices(what, f, args, &active, span);
        }
        let a = Application { what, f, active, span };
        match ranks(f, what) {
            Some(expected) => self.lift_derivative(&a, args, &expected, &name),
            None => self.differentiate(&a, args),
        }
    }

    /// Which of the arguments of `what(f)` are differentiated by, if they are as many as it takes, with its directions.
    fn active_arguments(
        &mut self,
        what: Derivative,
        f: &Function,
        args: &[Value],
        name: &str,
        span: Span,
    ) -> Option<Vec<bool>> {
        let Some(params) = parameters(f) else {
            self.error(
                Code::Unsupported,
                span,
                format!("{name} of a `vjp` has a number of arguments that depends on results"),
                "write it as a closure: `|x| vjp(f)(x, ct)`",
            );
            return None;
        };
        let known = params.len().min(args.len());
        let active: Vec<bool> =
            args[..known].iter().zip(&params).map(|(v, p)| *p && self.floats(v).is_some()).collect();
        let directions = match what {
            Derivative::Jvp => active.iter().filter(|a| **a).count(),
            Derivative::Vjp => args.len().saturating_sub(params.len()),
            _ => 0,
        };
        if args.len() != params.len() + directions {
            let more = match what {
                Derivative::Jvp => " and a tangent for each that is differentiated by",
                Derivative::Vjp => " and a cotangent for each float of the result",
                _ => "",
            };
            self.error(
                Code::ArgumentCount,
                span,
                format!("{name} takes {}{more}, found {}", count(params.len(), "argument"), args.len()),
                format!("write `{}`", super::names::usage(what.name())),
            );
            return None;
        }
        if !active.contains(&true) {
            self.error(
                Code::NotDifferentiable,
                span,
                format!("{name} has no argument of floats to differentiate by"),
                "pass floats; integers and parameters marked `#[no_grad]` are constants",
            );
            return None;
        }
        Some(active)
    }

    /// A kernel's derivative, over arguments of any rank.
    fn lift_derivative(
        &mut self,
        a: &Application<'_>,
        args: &[Value],
        expected: &[usize],
        name: &str,
    ) -> Option<Value> {
        let atoms: Option<Vec<Vec<Atom>>> = args.iter().map(Value::atoms).collect();
        match atoms.map(|a| a.concat()) {
            Some(atoms) if atoms.len() == expected.len() => {
                self.lift(name, expected, &atoms, a.span, &mut |e, cells| {
                    let mut cells = cells.iter().copied();
                    let args: Vec<Value> = args.iter().map(|v| v.with_atoms(&mut cells)).collect();
                    e.differentiate(a, &args)
                })
            }
            // Of another structure, which the call of the function says.
            _ => self.differentiate(a, args),
        }
    }

    fn differentiate(&mut self, a: &Application<'_>, args: &[Value]) -> Option<Value> {
        let (span, n) = (a.span, a.active.len());
        let by: Vec<Value> =
            args.iter().zip(&a.active).filter(|(_, active)| **active).map(|(v, _)| v.clone()).collect();
        let at: Vec<Atom> = by.iter().flat_map(|v| self.float_parts(v)).collect();
        let mode = match a.what {
            Derivative::Jvp => Mode::Forward(self.tangents(&by, &args[n..], span)?),
            _ => Mode::Reverse,
        };
        let point = self.vars_like(&at);
        let mut new = point.iter().map(|v| Atom::Var(*v));
        let moved: Vec<Value> = args[..n]
            .iter()
            .zip(&a.active)
            .map(|(v, active)| if *active { self.with_floats(v, &mut new) } else { v.clone() })
            .collect();
        let body = self.in_derivative(&point, span, |e| e.value_and_cotangents(a, &moved, &args[n..]));
        let (stms, (value, values, cotangents)) = body?;
        let derived: Vec<Atom> = match mode {
            Mode::Forward(_) => self.float_parts(&value),
            Mode::Reverse => at.clone(),
        };
        let vars = self.vars_like(&[&values[..], &derived].concat());
        let (point, results) = (point.into_iter().zip(at).collect(), [&values[..], &cotangents].concat());
        let d = core::Derivative { point, body: Body { stms, results }, mode };
        let loc = self.loc(span);
        self.push_derivative(vars.clone(), d, loc);
        let mut derivatives = vars[values.len()..].iter().map(|v| Atom::Var(*v));
        let outside = |(a, v): (&Atom, &Var)| if let Atom::Const(_) = a { *a } else { Atom::Var(*v) };
        let value = value.with_atoms(&mut values.iter().zip(&vars).map(outside));
        if a.what == Derivative::Jvp {
            let tangent = self.derivative_like(&value, &mut derivatives, span).unwrap_or(Value::unit());
            return Some(Value::Tuple(vec![value, tangent]));
        }
        let mut parts: Vec<Value> = Vec::new();
        for v in &by {
            parts.extend(self.derivative_like(v, &mut derivatives, span));
        }
        let gradient = Value::bundle(parts);
        Some(match a.what {
            Derivative::Grad => gradient,
            _ => Value::Tuple(vec![value, gradient]),
        })
    }

    /// What is differentiated, for these arguments: the function's value, its atoms, and in reverse mode their cotangents.
    fn value_and_cotangents(
        &mut self,
        a: &Application<'_>,
        args: &[Value],
        directions: &[Value],
    ) -> Option<(Value, Vec<Atom>, Vec<Atom>)> {
        let value = self.apply(a.f, args, a.span)?;
        let cotangents = match a.what {
            Derivative::Jvp => Vec::new(),
            Derivative::Vjp => {
                let types: Vec<Type> = self.float_parts(&value).iter().map(|x| self.atom_type(*x)).collect();
                self.cotangents(&value, &types, directions, a.span)?
            }
            what => vec![self.scalar_seed(what, &value, a.span)?],
        };
        let Some(values) = value.atoms() else {
            self.error(
                Code::Unsupported,
                a.span,
                "a function that gives a function has no derivative",
                "call what it gives in it",
            );
            return None;
        };
        Some((value, values, cotangents))
    }

    /// Runs `f` on the body of a derivative at a point; the statements and what `f` gives. The body is a list of its own, but of
    /// the depth around it: what is made at depth 0 meanwhile is in it, if it stands there.
    pub(super) fn in_derivative<T>(
        &mut self,
        point: &[Var],
        span: Span,
        f: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<(Vec<Stm>, T)> {
        self.not_too_deep(span)?;
        let lists = self.bodies.len();
        let from = self.bodies[lists - 1].len();
        self.points.push((lists, point.to_vec()));
        let result = f(self);
        self.points.pop();
        let stms = self.bodies[lists - 1].split_off(from);
        result.map(|r| (stms, r))
    }

    /// Appends a derivative. An integer among its values is what it was inside.
    pub(super) fn push_derivative(&mut self, vars: Vec<Var>, d: core::Derivative, loc: Loc) {
        let (values, _) = d.results(vars.len());
        for (v, a) in vars.iter().zip(values) {
            if let Some(known) = self.known_int(*a).filter(|_| self.inference.is_int(self.elem(*a))) {
                self.known.insert(*v, known);
            }
        }
        self.push(Stm { vars, exp: Exp::Derivative(Box::new(d)), loc });
    }

    /// The floats of a value.
    fn float_parts(&self, v: &Value) -> Vec<Atom> {
        self.floats(v).and_then(|v| v.atoms()).unwrap_or_default()
    }

    /// New variables for these values.
    fn vars_like(&mut self, atoms: &[Atom]) -> Vec<Var> {
        let new = |a: &Atom| {
            let name = match a {
                Atom::Var(v) => self.vars[v.0 as usize].name.clone(),
                Atom::Const(_) => "x".into(),
            };
            let ty = self.atom_type(*a);
            self.new_var(&name, ty)
        };
        atoms.iter().map(new).collect()
    }
}

/// For each parameter of a function, whether it may be differentiated by; `None` if their number is not known.
fn parameters(f: &Function) -> Option<Vec<bool>> {
    match f {
        Function::Closure(c) => Some(vec![true; c.params.len()]),
        Function::Kernel(k) => Some(k.arguments().map(|p| p.active).collect()),
        Function::Builtin(name) => Some(vec![true; arity(name)]),
        Function::Generic(g) => Some(g.function.params.iter().map(|p| !p.no_grad).collect()),
        Function::Given(g) => Some(vec![true; g.ty.params.len()]),
        Function::Derivative(Derivative::Vjp, _) => None,
        Function::Derivative(d, f) => {
            let mut all = parameters(f)?;
            if matches!(d, Derivative::Jvp | Derivative::Hvp) {
                // A tangent for each that is differentiated by, as far as the signature tells.
                let tangents = active_params(f)?;
                all.extend(vec![true; tangents]);
            }
            Some(all)
        }
    }
}

/// The number of parameters that have tangents.
fn active_params(f: &Function) -> Option<usize> {
    match f {
        Function::Kernel(k) => {
            let float = |t: &Tree<Var>| t.leaves().iter().any(|v| k.ty(**v).elem.is_differentiable());
            Some(k.params.iter().filter(|p| p.active && float(&p.vars)).count())
        }
        f => Some(parameters(f)?.iter().filter(|p| **p).count()),
    }
}

/// The ranks of the arguments of `what` of a kernel, leaf by leaf.
fn ranks(f: &Function, what: Derivative) -> Option<Vec<usize>> {
    let (mut inner, mut first) = (f, true);
    while let Function::Derivative(Derivative::Grad | Derivative::ValueAndGrad, g) = inner {
        inner = g;
        first = false;
    }
    let k = match inner {
        Function::Kernel(k) => k,
        // All that is differentiated by has tangents and cotangents of its own ranks.
        Function::Generic(g) if matches!(what, Derivative::Grad | Derivative::ValueAndGrad) => {
            if g.function.generics.iter().any(|g| g.bound == Bound::Any) {
                return None;
            }
            return g.function.params.iter().map(|p| super::generic::rank(&p.ty)).collect();
        }
        Function::Given(g) if matches!(what, Derivative::Grad | Derivative::ValueAndGrad) => {
            return g.ty.params.iter().map(super::generic::rank).collect();
        }
        _ => return None,
    };
    let of = |v: &&Var| k.ty(**v).rank();
    let mut out: Vec<usize> = k.arguments().flat_map(|p| p.vars.leaves()).map(|v| of(&v)).collect();
    match what {
        Derivative::Jvp => {
            let active = k.params.iter().filter(|p| p.active).flat_map(|p| p.vars.leaves());
            out.extend(active.filter(|v| k.ty(**v).elem.is_differentiable()).map(|v| of(&v)));
        }
        Derivative::Vjp if first => {
            out.extend(k.result_types.iter().filter(|t| t.elem.is_differentiable()).map(Type::rank));
        }
        // The cotangents of a gradient: no lifting.
        Derivative::Vjp => return None,
        _ => {}
    }
    Some(out)
}
