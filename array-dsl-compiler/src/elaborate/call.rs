//! Calls: scalar functions, closures, and kernels (whose bodies are inlined).

use std::collections::HashMap;
use std::rc::Rc;

use proc_macro2::Span;

use super::Elaborator;
use super::names::usage;
use super::value::{Closure, Function, Value};
use crate::core::{self, Atom, Body, Check, CheckKind, Exp, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::scalar::{Class, Gives, Op};
use crate::ty::{Elem, Loc, Name, Tree};

/// Closures may call closures; deeper than this is taken for recursion.
const MAX_CALL_DEPTH: usize = 64;

impl Elaborator<'_> {
    /// Calls a function value.
    pub(super) fn apply(&mut self, f: &Function, args: &[Value], span: Span) -> Option<Value> {
        if self.depth >= MAX_CALL_DEPTH {
            self.error(
                Code::Recursion,
                span,
                "calls are nested too deeply",
                "kernels and closures cannot be recursive",
            );
            return None;
        }
        self.depth += 1;
        let result = match f {
            Function::Closure(c) => self.apply_closure(&c.clone(), args),
            Function::Builtin(name) => self.apply_builtin(&name.clone(), args, span),
            Function::Kernel(k) => self.apply_kernel(&k.clone(), args, span),
        };
        self.depth -= 1;
        result
    }

    fn apply_closure(&mut self, c: &Rc<Closure>, args: &[Value]) -> Option<Value> {
        // `|(x, y)| ..` over two arrays and `|x, y| ..` over an array of pairs mean the same.
        let spread;
        let args = match (c.params.len(), args) {
            (n, [Value::Tuple(vs)]) if n > 1 && vs.len() == n => vs.as_slice(),
            (1, _) if args.len() > 1 => {
                spread = [Value::Tuple(args.to_vec())];
                &spread
            }
            _ => args,
        };
        if c.params.len() != args.len() {
            self.error(
                Code::ArgumentCount,
                c.params.first().map_or(c.body.span, |(p, _)| p.span()),
                format!("this closure has {}, but gets {}", count(c.params.len(), "parameter"), args.len()),
                "change the parameters between the bars `| |`",
            );
            return None;
        }
        let saved = std::mem::replace(&mut self.scope, c.scope.clone());
        let mut ok = true;
        for ((pattern, ty), arg) in c.params.iter().zip(args) {
            let value = match ty {
                Some(t) => self.annotate(arg.clone(), t, "this parameter"),
                None => Some(arg.clone()),
            };
            match value {
                Some(v) => ok &= self.bind_pattern(pattern, v).is_some(),
                None => ok = false,
            }
        }
        let result = if ok { self.expr(&c.body) } else { None };
        self.scope = saved;
        result
    }

    /// Calls a scalar function of the table, lifted over arrays.
    pub(super) fn apply_scalar(&mut self, op: Op, args: &[Value], span: Span) -> Option<Value> {
        let name = op.name();
        if args.len() != op.arity() {
            self.argument_count(&name, op.arity(), args.len(), span);
            return None;
        }
        self.apply_operator(op, &format!("`{name}`"), args, span)
    }

    /// Calls a scalar function that messages call `name`, with the right number of arguments.
    pub(super) fn apply_operator(&mut self, op: Op, name: &str, args: &[Value], span: Span) -> Option<Value> {
        let atoms = self.plain_atoms(name, args, span)?;
        self.scalar_types(op, &atoms, name, span)?;
        let expected = vec![0; atoms.len()];
        self.lift(name, &expected, &atoms, span, &mut |e, cells| Some(Value::Atom(e.op(op, cells, span))))
    }

    pub(super) fn argument_count(&mut self, name: &str, expected: usize, found: usize, span: Span) {
        self.error(
            Code::ArgumentCount,
            span,
            format!("`{name}` takes {}, found {found}", count(expected, "argument")),
            format!("write `{}`; the receiver of a method is its first argument", usage(name)),
        );
    }

    /// Unifies and checks the element types of a scalar function's arguments.
    fn scalar_types(&mut self, op: Op, atoms: &[Atom], name: &str, span: Span) -> Option<()> {
        let Some(row) = op.row() else { return Some(()) };
        let elems: Vec<Elem> = atoms.iter().map(|a| self.elem(*a)).collect();
        match op {
            Op::Select => {
                self.unify(elems[0], Elem::Bool, span, "the condition of `select`")?;
                self.unify(elems[2], elems[1], span, name)?;
                return Some(());
            }
            Op::Powi | Op::Shl | Op::Shr if !self.inference.is_int(elems[1]) => {
                let found = self.inference.describe(elems[1]);
                let help = match op {
                    Op::Powi => "use `powf` for powers that are not whole numbers",
                    _ => "convert it with `as i64`",
                };
                self.error(
                    Code::ElementType,
                    span,
                    format!("{name}: the second argument must be an integer, found {found}"),
                    help,
                );
                return None;
            }
            Op::Powi | Op::Shl | Op::Shr => {}
            _ if atoms.len() == 2 => self.unify(elems[1], elems[0], span, name)?,
            _ => {}
        }
        let e = self.inference.resolve(elems[0]);
        let fits = match row.class {
            Class::Any => true,
            Class::Float => self.inference.is_float(e),
            Class::Int => self.inference.is_int(e),
            Class::Num => self.inference.is_float(e) || self.inference.is_int(e),
            Class::Bits => self.inference.is_int(e) || e == Elem::Bool,
        };
        if !fits {
            let found = self.inference.describe(e);
            let help = match (row.class, self.inference.is_int(e)) {
                (Class::Float, true) => "convert it first: `x as f64`, or write the number with a point",
                _ => "convert it first with `as`",
            };
            self.error(
                Code::ElementType,
                span,
                format!("{name} expects {}, found {found}", row.class.describe()),
                help,
            );
            return None;
        }
        debug_assert!(row.gives == Gives::Same || row.gives == Gives::Bool);
        Some(())
    }

    /// The arguments as atoms; tuples and functions are refused.
    pub(super) fn plain_atoms(&mut self, name: &str, args: &[Value], span: Span) -> Option<Vec<Atom>> {
        let mut atoms = Vec::new();
        for a in args {
            match a {
                Value::Atom(a) => atoms.push(*a),
                other => {
                    let found = self.describe(other);
                    self.error(
                        Code::TupleShape,
                        span,
                        format!("{name} expects scalars or arrays, found {found}"),
                        "take the parts of a tuple with `.0`, `.1` or a pattern",
                    );
                    return None;
                }
            }
        }
        Some(atoms)
    }

    /// Inlines a kernel, lifted over arguments of higher rank.
    fn apply_kernel(&mut self, k: &Rc<core::Function>, args: &[Value], span: Span) -> Option<Value> {
        let name = format!("`{}`", k.name);
        if args.len() != k.params.len() {
            let params: Vec<&str> = k.params.iter().map(|p| &*p.name).collect();
            self.error(
                Code::ArgumentCount,
                span,
                format!("kernel {name} takes {}, found {}", count(k.params.len(), "argument"), args.len()),
                format!("write `{}({})`", k.name, params.join(", ")),
            );
            return None;
        }
        let mut atoms = Vec::new();
        for (arg, param) in args.iter().zip(&k.params) {
            let leaves = param.vars.leaves().len();
            match arg.atoms().filter(|a| a.len() == leaves && same_shape(arg, &param.vars)) {
                Some(a) => atoms.extend(a),
                None => {
                    let found = self.describe(arg);
                    self.error(
                        Code::TupleShape,
                        span,
                        format!(
                            "kernel {name}, argument `{}`: expected {}, found {found}",
                            param.name,
                            self.describe_param(k, &param.vars)
                        ),
                        "pass a value of the same structure",
                    );
                    return None;
                }
            }
        }
        let vars: Vec<Var> = k.params.iter().flat_map(|p| p.vars.leaves().into_iter().copied()).collect();
        for (a, v) in atoms.iter().zip(&vars) {
            let (have, want) = (self.elem(*a), k.ty(*v).elem);
            self.unify(
                have,
                want,
                span,
                &format!("kernel {name}, argument `{}`", k.vars[v.0 as usize].name),
            )?;
        }
        let expected: Vec<usize> = vars.iter().map(|v| k.ty(*v).rank()).collect();
        self.lift(&name, &expected, &atoms, span, &mut |e, cells| e.inline(k, &vars, cells, span))
    }

    /// The type of a parameter in the callee's notation.
    fn describe_param(&self, k: &core::Function, t: &Tree<Var>) -> String {
        match t {
            Tree::Leaf(v) => self.show_type(k.ty(*v)),
            Tree::Tuple(ts) => {
                format!("({})", ts.iter().map(|t| self.describe_param(k, t)).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The body of `k` with its parameters replaced.
    fn inline(&mut self, k: &core::Function, params: &[Var], args: &[Atom], span: Span) -> Option<Value> {
        let mut sizes: HashMap<Name, Dim> = HashMap::new();
        for (v, a) in params.iter().zip(args) {
            for (want, have) in k.ty(*v).dims.iter().zip(self.atom_type(*a).dims) {
                if let Some(SizeAtom::Name(n)) = want.as_atom() {
                    sizes.entry(n.clone()).or_insert(have);
                }
            }
        }
        let mut inl = Inliner { k, vars: HashMap::new(), sizes, span };
        for (v, a) in params.iter().zip(args) {
            inl.vars.insert(*v, *a);
        }
        // The callee's own entry checks, now about the caller's sizes.
        for (v, a) in params.iter().zip(args) {
            let dims = k.ty(*v).dims.iter().map(|d| inl.dim(self, d)).collect::<Option<Vec<Dim>>>()?;
            let what = format!("argument `{}` of kernel `{}`", k.vars[v.0 as usize].name, k.name);
            let coerced = self.coerce(*a, &dims, span, &what, false)?;
            inl.vars.insert(*v, coerced);
        }
        let outer = self.call_span.replace(self.call_span.unwrap_or(span));
        let results = inl.body(self, &k.body);
        self.call_span = outer;
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

/// `1 argument`, `2 arguments`.
pub(super) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn same_shape(v: &Value, t: &Tree<Var>) -> bool {
    match (v, t) {
        (Value::Atom(_), Tree::Leaf(_)) => true,
        (Value::Tuple(vs), Tree::Tuple(ts)) => {
            vs.len() == ts.len() && vs.iter().zip(ts).all(|(v, t)| same_shape(v, t))
        }
        _ => false,
    }
}

/// Copies Core code into the function under construction, with variables, sizes and places replaced.
struct Inliner<'k> {
    k: &'k core::Function,
    vars: HashMap<Var, Atom>,
    sizes: HashMap<Name, Dim>,
    span: Span,
}

impl Inliner<'_> {
    fn atom(&self, a: Atom) -> Atom {
        match a {
            Atom::Var(v) => self.vars.get(&v).copied().unwrap_or(a),
            c => c,
        }
    }

    fn dim(&self, e: &mut Elaborator<'_>, d: &Dim) -> Option<Dim> {
        let mut ok = true;
        let result = d.substitute(&mut |a| match a {
            SizeAtom::Name(n) => self.sizes.get(n).cloned().unwrap_or_default(),
            SizeAtom::Scalar(s) => {
                let v = self.atom(Atom::Var(Var(*s)));
                e.dim_of(&Value::Atom(v), self.span).unwrap_or_else(|| {
                    ok = false;
                    Dim::default()
                })
            }
        });
        ok.then_some(result)
    }

    fn ty(&self, e: &mut Elaborator<'_>, t: &Type) -> Option<Type> {
        Some(Type { elem: t.elem, dims: t.dims.iter().map(|d| self.dim(e, d)).collect::<Option<_>>()? })
    }

    fn loc(&self, e: &mut Elaborator<'_>, l: Loc) -> Loc {
        match self.k.places.get(l.0 as usize) {
            Some(p) => e.add_place(p.clone(), e.call_span.unwrap_or(self.span)),
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

    fn body(&mut self, e: &mut Elaborator<'_>, b: &Body) -> Option<Vec<Atom>> {
        for s in &b.stms {
            self.stm(e, s)?;
        }
        Some(b.results.iter().map(|a| self.atom(*a)).collect())
    }

    fn nested(&mut self, e: &mut Elaborator<'_>, b: &Body) -> Option<Body> {
        let (stms, results) = e.in_body(|e| self.body(e, b))?;
        Some(Body { stms, results })
    }

    fn axes(&mut self, e: &mut Elaborator<'_>, axes: &[core::Axis]) -> Option<Vec<core::Axis>> {
        axes.iter()
            .map(|a| {
                let extent = self.dim(e, &a.extent)?;
                Some(core::Axis { var: self.new_var(e, a.var)?, extent })
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

    fn stm(&mut self, e: &mut Elaborator<'_>, s: &Stm) -> Option<()> {
        let frame = e.frame.len();
        let exp = match &s.exp {
            Exp::Op(op, args) => {
                let args: Vec<Atom> = args.iter().map(|a| self.atom(*a)).collect();
                // Through `op`, so that known integers stay known.
                let loc = self.loc(e, s.loc);
                let a = e.op(*op, &args, self.span);
                if let Some(last) = e.bodies.last_mut().and_then(|b| b.last_mut()) {
                    last.loc = loc;
                }
                self.vars.insert(s.vars[0], a);
                return Some(());
            }
            Exp::Size(d) => {
                let d = self.dim(e, d)?;
                let a = e.size_value(&d, self.span);
                self.vars.insert(s.vars[0], a);
                return Some(());
            }
            Exp::Atom(a) => {
                let a = self.atom(*a);
                self.vars.insert(s.vars[0], a);
                return Some(());
            }
            Exp::StopGradient(a) => Exp::StopGradient(self.atom(*a)),
            Exp::Index(v, ix) => Exp::Index(self.array(e, *v)?, ix.iter().map(|a| self.atom(*a)).collect()),
            Exp::If(c, x, y) => {
                let c = self.atom(*c);
                e.branches += 1;
                let branches = (self.nested(e, x), self.nested(e, y));
                e.branches -= 1;
                Exp::If(c, branches.0?, branches.1?)
            }
            Exp::Build(axes, b) => {
                let axes = self.axes(e, axes)?;
                e.frame.extend(axes.iter().map(|a| (a.extent.clone(), Name::from("i"))));
                let b = self.nested(e, b);
                e.frame.truncate(frame);
                Exp::Build(axes, b?)
            }
            Exp::Reduce(rs, axis, b) => {
                let axis = self.axes(e, std::slice::from_ref(axis))?.remove(0);
                e.frame.push((axis.extent.clone(), Name::from("i")));
                let b = self.nested(e, b);
                e.frame.truncate(frame);
                Exp::Reduce(rs.clone(), axis, b?)
            }
            Exp::Scatter { reducer, dest, axes, body } => {
                let dest = self.array(e, *dest)?;
                let axes = self.axes(e, axes)?;
                e.frame.extend(axes.iter().map(|a| (a.extent.clone(), Name::from("i"))));
                let body = self.nested(e, body);
                e.frame.truncate(frame);
                Exp::Scatter { reducer: *reducer, dest, axes, body: body? }
            }
            Exp::Reshape(v, dims) => {
                let v = self.array(e, *v)?;
                Exp::Reshape(v, dims.iter().map(|d| self.dim(e, d)).collect::<Option<_>>()?)
            }
            Exp::Check(Check { kind, .. }) => {
                let kind = match kind {
                    CheckKind::Equal(a, b) => CheckKind::Equal(self.dim(e, a)?, self.dim(e, b)?),
                    CheckKind::NonNegative(a) => CheckKind::NonNegative(self.dim(e, a)?),
                    CheckKind::AtLeast(a, b) => CheckKind::AtLeast(self.dim(e, a)?, self.dim(e, b)?),
                };
                e.check(kind, self.span);
                return Some(());
            }
        };
        let loc = self.loc(e, s.loc);
        let vars = s.vars.iter().map(|v| self.new_var(e, *v)).collect::<Option<Vec<Var>>>()?;
        e.push(Stm { vars, exp, loc });
        Some(())
    }
}
