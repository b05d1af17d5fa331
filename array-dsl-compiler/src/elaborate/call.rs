//! Calls: scalar functions, closures, and kernels (whose bodies `inline` copies).

use std::rc::Rc;

use proc_macro2::Span;

use super::names::usage;
use super::sizes::Declared;
use super::value::{Closure, Function, Value};
use super::{Callee, Elaborator};
use crate::core::{self, Atom, Param, Var};
use crate::diagnostics::Code;
pub(super) use crate::diagnostics::count;
use crate::dim::Dim;
use crate::scalar::{Class, Op};
use crate::syntax::ast::{self, TypeKind};
use crate::ty::{Elem, Tree};

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
            Function::Kernel(k) => self.apply_kernel(k, args, span),
            Function::Derivative(d, f) => self.apply_derivative(*d, &f.clone(), args, span),
            Function::Generic(g) => self.apply_generic(&g.clone(), args, span),
            Function::Given(g) => self.apply_given(&g.clone(), args, span),
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
        let site = std::mem::replace(&mut self.site, c.site.clone());
        let mut ok = true;
        for ((pattern, ty), arg) in c.params.iter().zip(args) {
            let value = match ty {
                Some(t) => self.annotate(arg.clone(), t, "this parameter", Declared::WithValue),
                None => Some(arg.clone()),
            };
            match value {
                Some(v) => ok &= self.bind_pattern(pattern, v).is_some(),
                None => ok = false,
            }
        }
        let result = if ok { self.separately(|e| e.expr(&c.body)) } else { None };
        self.scope = saved;
        self.site = site;
        result
    }

    /// Calls a scalar function of the table, lifted over arrays.
    pub(super) fn apply_scalar(&mut self, op: Op, args: &[Value], span: Span) -> Option<Value> {
        let name = op.name();
        if args.len() != op.arity() {
            self.argument_count(&name, op.arity(), args.len(), span);
            return None;
        }
        // The sign of an integer is 0 for 0, as in Rust.
        let integer = |v: &Value| matches!(v, Value::Atom(a) if self.inference.is_int(self.elem(*a)));
        let op = if op == Op::Signum && args.iter().all(integer) { Op::Signum0 } else { op };
        self.apply_operator(op, &format!("`{name}`"), args, span)
    }

    /// Calls a scalar function that messages call `name`, with the right number of arguments.
    pub(super) fn apply_operator(&mut self, op: Op, name: &str, args: &[Value], span: Span) -> Option<Value> {
        if args.iter().any(|a| matches!(a, Value::Record(..))) {
            return self.apply_to_fields(op, name, args, span);
        }
        if args.iter().any(|a| self.is_of_complex(a)) {
            return self.apply_to_complex(op, name, args, span);
        }
        let atoms = self.plain_atoms(name, args, span)?;
        self.scalar_types(op, &atoms, name, span)?;
        let expected = vec![0; atoms.len()];
        self.lift(name, &expected, &atoms, span, &mut |e, cells| {
            if let (Op::Shl | Op::Shr, [number, by]) = (op, cells) {
                // As in Rust, the two may have different types.
                let elem = e.elem(*number);
                let by = e.cast(*by, elem, span);
                return Some(Value::Atom(e.op(op, &[*number, by], span)));
            }
            Some(Value::Atom(e.op(op, cells, span)))
        })
    }

    /// An argument that must be a function.
    pub(super) fn function_argument(&mut self, v: &Value, what: &str, span: Span) -> Option<Function> {
        match v {
            Value::Function(f) => Some(f.clone()),
            other => {
                let found = self.describe(other);
                self.error(
                    Code::NotAFunction,
                    span,
                    format!("{what} expects a function here, found {found}"),
                    "write a closure `|i| ...`, or name a function",
                );
                None
            }
        }
    }

    /// One size or a tuple of sizes.
    pub(super) fn dims_argument(&mut self, v: &Value, span: Span) -> Option<Vec<Dim>> {
        let parts = match v {
            Value::Tuple(vs) => vs.clone(),
            v => vec![v.clone()],
        };
        let dims = parts.iter().map(|p| self.dim_of(p, span)).collect::<Option<Vec<Dim>>>()?;
        for d in &dims {
            self.check_extent(d, span)?;
        }
        Some(dims)
    }

    pub(super) fn argument_count(&mut self, name: &str, expected: usize, found: usize, span: Span) {
        self.error(
            Code::ArgumentCount,
            span,
            format!("`{name}` takes {}, found {found}", count(expected, "argument")),
            match (name, found) {
                ("log", 1) => "write `ln(x)` for the natural logarithm, or `log(x, base)`".into(),
                ("max", 1) => {
                    "the greatest element of an array is `maximum(x)`; `max(x, y)` is of two values".into()
                }
                ("min", 1) => {
                    "the least element of an array is `minimum(x)`; `min(x, y)` is of two values".into()
                }
                _ => format!("write `{}`; the receiver of a method is its first argument", usage(name)),
            },
        );
    }

    /// Unifies and checks the element types of a scalar function's arguments.
    fn scalar_types(&mut self, op: Op, atoms: &[Atom], name: &str, span: Span) -> Option<()> {
        let Some(row) = op.row() else { return Some(()) };
        let elems: Vec<Elem> = atoms.iter().map(|a| self.elem(*a)).collect();
        if matches!(op, Op::Powi | Op::Shl | Op::Shr) {
            self.inference.settle_for_int(elems[1]);
        }
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
            Op::Shl | Op::Shr if matches!(self.inference.resolve(elems[1]), Elem::Infer(_)) => {
                // What is shifted may be no integer, which is said below.
                self.inference.unify(elems[1], elems[0]);
            }
            Op::Powi | Op::Shl | Op::Shr => {}
            // Of `x ^ 2` the power is said before the types of the two.
            Op::Xor => {
                self.of_class(op, row.class, elems[0], name, span)?;
                self.unify(elems[1], elems[0], span, name)?;
            }
            _ if atoms.len() == 2 => self.unify(elems[1], elems[0], span, name)?,
            _ => {}
        }
        self.of_class(op, row.class, elems[0], name, span)
    }

    /// Requires an element type to be one of those that a scalar function is of.
    fn of_class(&mut self, op: Op, class: Class, elem: Elem, name: &str, span: Span) -> Option<()> {
        match class {
            Class::Float => self.inference.settle_for_float(elem),
            Class::Int => self.inference.settle_for_int(elem),
            Class::Num | Class::Bits | Class::Any => {}
        }
        let e = self.inference.resolve(elem);
        let fits = match class {
            Class::Any => true,
            // Of constants, what is around tells the type.
            Class::Num | Class::Bits if self.inference.is_any(e) => true,
            Class::Float => self.inference.is_float(e),
            Class::Int => self.inference.is_int(e),
            Class::Num => self.inference.is_float(e) || self.inference.is_int(e),
            Class::Bits => self.inference.is_int(e) || e == Elem::Bool,
        };
        if !fits {
            let found = self.inference.describe(e);
            let help = match (class, self.inference.is_int(e)) {
                _ if op == Op::Xor => "`^` is exclusive or; powers are `x.powi(2)` and `x.powf(0.5)`",
                (Class::Float, true) => "convert it first: `x as f64`, or write the number with a point",
                _ => "convert it first with `as`",
            };
            self.error(
                Code::ElementType,
                span,
                format!("{name} expects {}, found {found}", class.describe()),
                help,
            );
            return None;
        }
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
    fn apply_kernel(&mut self, callee: &Rc<Callee>, args: &[Value], span: Span) -> Option<Value> {
        let k = &*callee.function;
        let interface = callee.interface.as_ref();
        let name = format!("`{}`", k.name);
        let takes: Vec<&Param> = callee.arguments().collect();
        if args.len() != takes.len() {
            let params: Vec<&str> = takes.iter().map(|p| &*p.name).collect();
            self.error(
                Code::ArgumentCount,
                span,
                format!("kernel {name} takes {}, found {}", count(takes.len(), "argument"), args.len()),
                format!("write `{}({})`", k.name, params.join(", ")),
            );
            return None;
        }
        let mut atoms = Vec::new();
        for (i, (arg, param)) in args.iter().zip(takes).enumerate() {
            let leaves = param.vars.leaves().len();
            let ty = interface.and_then(|types| types.params.get(i));
            match arg.atoms().filter(|a| a.len() == leaves && same_shape(arg, &param.vars, ty)) {
                Some(a) => atoms.extend(a),
                None => {
                    let found = self.describe(arg);
                    self.error(
                        Code::TupleShape,
                        span,
                        format!(
                            "kernel {name}, argument `{}`: expected {}, found {found}",
                            param.name,
                            self.describe_param(k, &param.vars, ty)
                        ),
                        "pass a value of the same structure",
                    );
                    return None;
                }
            }
        }
        atoms.extend(self.constants_of(callee, span)?);
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
        let result =
            self.lift(&name, &expected, &atoms, span, &mut |e, cells| e.inline(k, &vars, cells, span))?;
        Some(match interface {
            Some(types) => self.named(result, &types.result),
            None => result,
        })
    }

    /// The type of a parameter in the callee's notation.
    fn describe_param(&self, k: &core::Function, t: &Tree<Var>, ty: Option<&ast::Type>) -> String {
        match (t, ty.map(|ty| &ty.kind)) {
            (_, Some(TypeKind::Record(path))) => {
                let text = path.text();
                self.site.callees.records.get(&text).map_or(text, |r| r.name.to_string())
            }
            (Tree::Leaf(v), _) => self.show_type(k.ty(*v)),
            (Tree::Tuple(ts), kind) => {
                let types = if let Some(TypeKind::Tuple(types)) = kind { types.as_slice() } else { &[] };
                let parts = ts.iter().enumerate().map(|(i, t)| self.describe_param(k, t, types.get(i)));
                format!("({})", parts.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Whether a value has the structure of a parameter, with the records that its type says.
fn same_shape(v: &Value, t: &Tree<Var>, ty: Option<&ast::Type>) -> bool {
    match (v, t, ty.map(|ty| &ty.kind)) {
        (Value::Atom(_), Tree::Leaf(_), _) => true,
        (Value::Record(r, vs), Tree::Tuple(ts), Some(TypeKind::Record(path))) => {
            let mut parts = vs.iter().zip(ts).zip(&r.fields);
            path.text() == *r.id && parts.all(|((v, t), f)| same_shape(v, t, Some(&f.ty)))
        }
        (Value::Tuple(vs), Tree::Tuple(ts), Some(TypeKind::Tuple(types))) => {
            let mut parts = vs.iter().zip(ts).zip(types);
            vs.len() == ts.len() && parts.all(|((v, t), ty)| same_shape(v, t, Some(ty)))
        }
        (Value::Tuple(vs), Tree::Tuple(ts), None) => {
            vs.len() == ts.len() && vs.iter().zip(ts).all(|(v, t)| same_shape(v, t, None))
        }
        _ => false,
    }
}
