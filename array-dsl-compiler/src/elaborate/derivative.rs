//! Derivatives inside kernels: `grad(f)(x)`, `value_and_grad(f)(x)`, `vjp(f)(x, ct)`, `jvp(f)(x, t)`, `hvp(f)(x, t)`.
//! `jacobian`, `hessian` and `vmap` are in `jacobian`.
//!
//! ```text
//! vjp(f)(x, ct)    x' = point (x);            y = f(x');  x_ct = pullback (x') of (y) from (ct)     value (y, x_ct)
//! jvp(f)(x, t)     x' = point (x) along (t);  y = f(x');  y_t = pushforward (x') of (y)             value (y, y_t)
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
use crate::core::{Atom, Exp, Stm, Type, Var};
use crate::derive::Derivative;
use crate::diagnostics::Code;
use crate::syntax::ast::Bound;
use crate::ty::Tree;

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
        let at: Vec<Atom> = by.iter().filter_map(|v| self.floats(v)?.atoms()).flatten().collect();
        let tangents = match a.what {
            Derivative::Jvp => self.tangents(&by, &args[n..], span)?,
            _ => Vec::new(),
        };
        let types: Vec<Type> = at.iter().map(|x| self.atom_type(*x)).collect();
        let point = self.bind_all(&at, &types, Exp::Point { at: at.clone(), tangents }, span);
        let mut new = point.iter().map(|v| Atom::Var(*v));
        let moved: Vec<Value> = args[..n]
            .iter()
            .zip(&a.active)
            .map(|(v, active)| if *active { self.with_floats(v, &mut new) } else { v.clone() })
            .collect();
        let value = self.apply(a.f, &moved, span)?;
        let floats = self.floats(&value);
        let results: Vec<Atom> = floats.as_ref().and_then(Value::atoms).unwrap_or_default();
        let types: Vec<Type> = results.iter().map(|r| self.atom_type(*r)).collect();
        if a.what == Derivative::Jvp {
            let tangents =
                self.bind_all(&results, &types, Exp::Pushforward { point, results: results.clone() }, span);
            let mut tangents = tangents.into_iter().map(Atom::Var);
            let tangent = self.derivative_like(&value, &mut tangents, span).unwrap_or(Value::unit());
            return Some(Value::Tuple(vec![value, tangent]));
        }
        let cotangents = match a.what {
            Derivative::Vjp => self.cotangents(&value, &types, &args[n..], span)?,
            _ => vec![self.scalar_seed(a.what, &value, span)?],
        };
        let types: Vec<Type> = at.iter().map(|x| self.atom_type(*x)).collect();
        let adjoints = self.bind_all(&at, &types, Exp::Pullback { point, results, cotangents }, span);
        let mut adjoints = adjoints.into_iter().map(Atom::Var);
        let mut parts: Vec<Value> = Vec::new();
        for v in &by {
            parts.extend(self.derivative_like(v, &mut adjoints, span));
        }
        let gradient = Value::bundle(parts);
        Some(match a.what {
            Derivative::Grad => gradient,
            _ => Value::Tuple(vec![value, gradient]),
        })
    }

    /// A statement with one variable for each of `like`.
    fn bind_all(&mut self, like: &[Atom], types: &[Type], exp: Exp, span: Span) -> Vec<Var> {
        let vars: Vec<Var> = like
            .iter()
            .zip(types)
            .map(|(a, t)| {
                let name = match a {
                    Atom::Var(v) => self.vars[v.0 as usize].name.clone(),
                    Atom::Const(_) => "x".into(),
                };
                self.new_var(&name, t.clone())
            })
            .collect();
        let loc = self.loc(span);
        self.push(Stm { vars: vars.clone(), exp, loc });
        vars
    }
}

/// For each parameter of a function, whether it may be differentiated by; `None` if their number is not known.
fn parameters(f: &Function) -> Option<Vec<bool>> {
    match f {
        Function::Closure(c) => Some(vec![true; c.params.len()]),
        Function::Kernel(k) => Some(k.params.iter().map(|p| p.active).collect()),
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
            let float = |t: &Tree<Var>| t.leaves().iter().any(|v| k.ty(**v).elem.is_float());
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
    let mut out: Vec<usize> = k.params.iter().flat_map(|p| p.vars.leaves()).map(|v| of(&v)).collect();
    match what {
        Derivative::Jvp => {
            let active = k.params.iter().filter(|p| p.active).flat_map(|p| p.vars.leaves());
            out.extend(active.filter(|v| k.ty(**v).elem.is_float()).map(|v| of(&v)));
        }
        Derivative::Vjp if first => {
            out.extend(k.result_types.iter().filter(|t| t.elem.is_float()).map(Type::rank));
        }
        // The cotangents of a gradient: no lifting.
        Derivative::Vjp => return None,
        _ => {}
    }
    Some(out)
}
