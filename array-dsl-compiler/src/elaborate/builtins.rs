//! Array functions with rules of their own: `build`, `map`, reductions, shapes.

use proc_macro2::Span;

use super::Elaborator;
use super::library::{self, ANY};
use super::scope::Scope;
use super::value::{Function, Value};
use crate::core::{Atom, Axis, Body, CheckKind, Exp, Prefix, Reducer, Stm, Type};
use crate::derive::Derivative;
use crate::diagnostics::Code;
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Name};

impl Elaborator<'_> {
    /// Calls a built-in function.
    pub(super) fn apply_builtin(&mut self, name: &Name, args: &[Value], span: Span) -> Option<Value> {
        if let Some(mapped) = self.planned(span, args) {
            return self.apply_mapped(name, &mapped, args, span);
        }
        if let Some(l) = library::find(name) {
            return self.apply_library(l, args, span);
        }
        if let Some(op) = Op::from_name(name) {
            return self.apply_scalar(op, args, span);
        }
        let shown = format!("`{name}`");
        let arity: std::ops::RangeInclusive<usize> = match &**name {
            "sum" | "prod" | "minimum" | "maximum" | "any" | "all" | "argmin" | "argmax" | "zeros"
            | "cumsum" | "cumprod" | "ones" | "flatten" | "len" | "unzip" | "stop_gradient" | "sort"
            | "argsort" | "grad" | "value_and_grad" | "vjp" | "jvp" | "hvp" | "jacobian" | "hessian"
            | "vmap" => 1..=1,
            "build" | "replicate" | "permute" | "reshape" | "unflatten" | "dim" | "sort_by_key"
            | "filter" | "partition" | "count" | "step_by" | "rotate" => 2..=2,
            "reduce" | "scan" | "scan_exclusive" | "slice" | "scatter" => 3..=3,
            "reduce_by_index" => 4..=4,
            "hist" => 5..=5,
            _ => 2..=usize::MAX,
        };
        if !arity.contains(&args.len()) {
            self.argument_count(name, *arity.start(), args.len(), span);
            return None;
        }
        match &**name {
            "grad" => self.derivative(Derivative::Grad, args, span),
            "value_and_grad" => self.derivative(Derivative::ValueAndGrad, args, span),
            "vjp" => self.derivative(Derivative::Vjp, args, span),
            "jvp" => self.derivative(Derivative::Jvp, args, span),
            "hvp" => self.derivative(Derivative::Hvp, args, span),
            "jacobian" => self.derivative(Derivative::Jacobian, args, span),
            "hessian" => self.derivative(Derivative::Hessian, args, span),
            "vmap" => self.derivative(Derivative::Vmap, args, span),
            "build" => self.builtin_build(args, span),
            "map" => self.builtin_map(args, span),
            "reduce" => self.folding(&shown, None, args, span),
            "scan" => self.folding(&shown, Some(Prefix::Inclusive), args, span),
            "scan_exclusive" => self.folding(&shown, Some(Prefix::Exclusive), args, span),
            "cumsum" => self.cumulate(Reducer::Add, &shown, args, span),
            "cumprod" => self.cumulate(Reducer::Mul, &shown, args, span),
            "sort" => self.sort(args, span),
            "argsort" => self.argsort(args, span),
            "sort_by_key" => self.sort_by_key(args, span),
            "filter" => self.filter(args, span),
            "partition" => self.partition(args, span),
            "count" => self.count_matching(args, span),
            "sum" => self.reduction(Reducer::Add, &shown, args, span),
            "prod" => self.reduction(Reducer::Mul, &shown, args, span),
            "minimum" => self.reduction(Reducer::Min, &shown, args, span),
            "maximum" => self.reduction(Reducer::Max, &shown, args, span),
            "any" => self.reduction(Reducer::Or, &shown, args, span),
            "all" => self.reduction(Reducer::And, &shown, args, span),
            "argmin" => self.reduction(Reducer::ArgMin, &shown, args, span),
            "argmax" => self.reduction(Reducer::ArgMax, &shown, args, span),
            "replicate" => self.replicate(&args[0], args[1].clone(), span),
            "zeros" | "ones" => {
                let elem = self.inference.float();
                let c = Const::float(elem, if &**name == "ones" { 1.0 } else { 0.0 });
                self.replicate(&args[0], Value::Atom(Atom::Const(c)), span)
            }
            "len" | "dim" => {
                let axis = match args.get(1) {
                    None => 0,
                    Some(v) => match self.constant_int(v) {
                        Some(axis) => axis,
                        None => {
                            let help = "the number of dimensions is fixed: write 0 for the outermost, 1 for the next";
                            let message = "the dimension that `dim` asks for must be a constant";
                            self.error(Code::Rank, span, message, help);
                            return None;
                        }
                    },
                };
                let a = match &args[0] {
                    // All parts of an array of tuples are equally long.
                    Value::Tuple(vs) => vs.first().and_then(Value::atoms).and_then(|a| a.first().copied()),
                    v => v.atoms().and_then(|a| a.first().copied()),
                };
                let dims = a.map(|a| self.atom_type(a).dims).unwrap_or_default();
                match usize::try_from(axis).ok().and_then(|i| dims.get(i).cloned()) {
                    Some(d) => Some(Value::Atom(self.size_value(&d, span))),
                    None => {
                        let found = self.describe(&args[0]);
                        let what = if axis == 0 { "an array" } else { "an array of higher rank" };
                        self.error(
                            Code::Rank,
                            span,
                            format!("expected {what}, found {found}"),
                            "scalars have no length",
                        );
                        None
                    }
                }
            }
            "permute" => self.permute(args, span),
            "flatten" => {
                let a = self.plain_atoms(&shown, args, span)?[0];
                let dims = self.atom_type(a).dims;
                self.reshape(a, vec![Dim::product(&dims)], span)
            }
            "reshape" => {
                let dims = self.dims_argument(&args[1], span)?;
                let a = self.plain_atoms(&shown, &args[..1], span)?[0];
                self.checked_reshape(a, dims, span)
            }
            "unflatten" => {
                let mut dims = self.dims_argument(&args[1], span)?;
                let a = self.plain_atoms(&shown, &args[..1], span)?[0];
                let have = self.atom_type(a).dims;
                let (outer, rows) = have.split_at(have.len().min(1));
                // Rows without elements are rows all the same.
                let (outer, want) = (Dim::product(outer), Dim::product(&dims));
                self.equal(&outer, &want, span, "the number of rows in `unflatten`", true)?;
                dims.extend(rows.iter().cloned());
                self.reshape(a, dims, span)
            }
            "concat" => self.concat(args, span),
            "step_by" => self.step_by(args, span),
            "rotate" => self.rotate(args, span),
            "slice" => {
                let a = self.plain_atoms(&shown, &args[..1], span)?[0];
                self.slice(a, Some(args[1].clone()), Some(args[2].clone()), span)
            }
            "zip" => Some(Value::Tuple(args.to_vec())),
            "unzip" => Some(args[0].clone()),
            "scatter" => self.scatter(args, span),
            "hist" => self.hist(args, span),
            "reduce_by_index" => self.reduce_by_index(args, span),
            _ => {
                let Some(atoms) = args[0].atoms() else {
                    let help = "stop the gradient of its values";
                    self.error(
                        Code::NotAFunction,
                        span,
                        format!("{shown} takes a value, found a function"),
                        help,
                    );
                    return None;
                };
                let stopped: Vec<Atom> = atoms
                    .iter()
                    .map(|a| {
                        let ty = self.atom_type(*a);
                        self.emit("stop_gradient", ty, Exp::StopGradient(*a), span)
                    })
                    .collect();
                Some(args[0].with_atoms(&mut stopped.into_iter()))
            }
        }
    }

    fn constant_int(&self, v: &Value) -> Option<i64> {
        match v {
            Value::Atom(a) => self.known_int(*a)?.as_constant(),
            _ => None,
        }
    }

    fn apply_library(&mut self, l: &library::Library, args: &[Value], span: Span) -> Option<Value> {
        let shown = format!("`{}`", l.name);
        if args.len() != l.params.len() {
            self.argument_count(l.name, l.params.len(), args.len(), span);
            return None;
        }
        let body = library::body(l.name)?;
        // Only parameters of fixed rank take part in lifting.
        let ranked: Vec<usize> = (0..args.len()).filter(|i| l.params[*i].1 != ANY).collect();
        let expected: Vec<usize> = ranked.iter().map(|i| l.params[*i].1).collect();
        let values: Vec<Value> = ranked.iter().map(|i| args[*i].clone()).collect();
        let atoms = self.plain_atoms(&shown, &values, span)?;
        self.lift(&shown, &expected, &atoms, span, &mut |e, cells| {
            let mut scope = Scope::default();
            for (i, (name, _)) in l.params.iter().enumerate() {
                let value = match ranked.iter().position(|r| *r == i) {
                    Some(k) => Value::Atom(cells[k]),
                    None => args[i].clone(),
                };
                scope.bind(Name::from(*name), value);
            }
            let saved = std::mem::replace(&mut e.scope, scope);
            let outer = (e.site.call_span, e.site.call_name.clone());
            e.site.call_span.get_or_insert(span);
            e.site.call_name.get_or_insert_with(|| shown.clone());
            let v = e.expr(&body);
            (e.site.call_span, e.site.call_name) = outer;
            e.scope = saved;
            v
        })
    }

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

    fn builtin_build(&mut self, args: &[Value], span: Span) -> Option<Value> {
        let extents = self.dims_argument(&args[0], span)?;
        let f = self.function_argument(&args[1], "`build`", span)?;
        let names: Vec<Name> = match &f {
            Function::Closure(c) => c
                .params
                .iter()
                .map(|(p, _)| match p {
                    crate::syntax::ast::Pattern::Name(n) => n.name.clone(),
                    _ => Name::from("i"),
                })
                .collect(),
            _ => Vec::new(),
        };
        self.build("build", &extents, &names, span, |e, ix| {
            let ix: Vec<Value> = ix.iter().map(|a| Value::Atom(*a)).collect();
            e.apply(&f, &ix, span)
        })
    }

    fn builtin_map(&mut self, args: &[Value], span: Span) -> Option<Value> {
        let f = self.function_argument(&args[0], "`map`", span)?;
        // Every leaf is indexed; all outer dimensions must agree.
        let mut extent: Option<Dim> = None;
        let mut arrays = Vec::new();
        for v in &args[1..] {
            let Some(leaves) = v.atoms() else {
                self.error(
                    Code::NotAFunction,
                    span,
                    "`map` takes one function and then arrays",
                    "write `map(f, xs, ys)`",
                );
                return None;
            };
            let mut aligned = Vec::new();
            for a in leaves {
                let ty = self.atom_type(a);
                let Some(outer) = ty.dims.first() else {
                    let found = self.show_type(&ty);
                    self.error(
                        Code::Rank,
                        span,
                        format!("`map` expects arrays, found {found}"),
                        "use the scalar inside the closure; it sees the names around it",
                    );
                    return None;
                };
                let want = extent.get_or_insert_with(|| outer.clone()).clone();
                let mut dims = ty.dims.clone();
                dims[0] = want;
                aligned.push(self.coerce(a, &dims, span, "the arrays of `map`", false)?);
            }
            arrays.push(v.with_atoms(&mut aligned.into_iter()));
        }
        let Some(extent) = extent else {
            self.no_value(span, "`map` gets nothing to go over");
            return None;
        };
        self.build("map", &[extent], &[], span, |e, ix| {
            let cells: Vec<Value> = arrays
                .iter()
                .map(|v| {
                    let cells: Vec<Atom> =
                        v.atoms().unwrap_or_default().into_iter().map(|a| e.index(a, ix, span)).collect();
                    v.with_atoms(&mut cells.into_iter())
                })
                .collect();
            e.apply(&f, &cells, span)
        })
    }

    /// A reduction of vectors, lifted; of an array of tuples, that of each part.
    fn reduction(&mut self, r: Reducer, what: &str, args: &[Value], span: Span) -> Option<Value> {
        if let [Value::Tuple(parts)] = args
            && !parts.is_empty()
        {
            let reduced = parts.iter().map(|p| self.reduction(r, what, std::slice::from_ref(p), span));
            return Some(Value::Tuple(reduced.collect::<Option<_>>()?));
        }
        let atoms = self.reduced_atoms(r, what, args, span)?;
        self.lift(what, &[1], &atoms, span, &mut |e, cell| {
            Some(Value::Atom(e.fold_by(r, None, cell[0], span)))
        })
    }

    /// The array to be reduced, of elements and a rank that can be.
    pub(super) fn reduced_atoms(
        &mut self,
        r: Reducer,
        what: &str,
        args: &[Value],
        span: Span,
    ) -> Option<Vec<Atom>> {
        let atoms = self.plain_atoms(what, args, span)?;
        let elem = self.elem(atoms[0]);
        let boolean = matches!(r, Reducer::And | Reducer::Or);
        if boolean {
            self.unify(elem, Elem::Bool, span, what)?;
        } else if elem == Elem::Bool {
            self.error(
                Code::ElementType,
                span,
                format!("{what} expects numbers, found bool"),
                "count with `sum(b as i64)`, or use `any` or `all`",
            );
            return None;
        }
        if self.rank(atoms[0]) == 0 {
            let found = self.show_type(&self.atom_type(atoms[0]));
            self.error(
                Code::Rank,
                span,
                format!("{what} expects a vector, found {found}"),
                "reduce an array",
            );
            return None;
        }
        Some(atoms)
    }

    /// Folds a vector, or scans it.
    pub(super) fn fold_by(&mut self, r: Reducer, prefix: Option<Prefix>, xs: Atom, span: Span) -> Atom {
        let ty = self.atom_type(xs);
        let extent = ty.dims[0].clone();
        if r.op().is_none() && !extent.sub(&Dim::constant(1)).is_nonnegative() {
            self.check(CheckKind::AtLeast(Dim::constant(1), extent.clone()), span);
        }
        let var = self.new_var("k", Type::scalar(Elem::I64));
        self.frame.push((extent.clone(), Name::from("k")));
        self.bodies.push(Vec::new());
        let cell = self.index(xs, &[Atom::Var(var)], span);
        let stms = self.close_body();
        self.frame.pop();
        let body = Body { stms, results: vec![cell] };
        let axis = Axis { var, extent: extent.clone() };
        if let Some(prefix) = prefix {
            let ty = Type { elem: ty.elem, dims: vec![extent] };
            return self.emit("scan", ty, Exp::Scan(vec![r], prefix, axis, body), span);
        }
        let name = match r {
            Reducer::Add => "sum",
            Reducer::Mul => "prod",
            Reducer::Min => "minimum",
            Reducer::Max => "maximum",
            Reducer::And => "all",
            Reducer::Or => "any",
            r => r.name(),
        };
        self.emit(name, Type::scalar(r.result(ty.elem)), Exp::Reduce(vec![r], axis, body), span)
    }

    /// `replicate(n, v)`, with a tuple of sizes for several axes.
    pub(super) fn replicate(&mut self, n: &Value, v: Value, span: Span) -> Option<Value> {
        let dims = self.dims_argument(n, span)?;
        self.build("replicate", &dims, &[], span, |_, _| Some(v))
    }

    /// The elements under other dimensions, of which there are as many. A number is one element.
    pub(super) fn reshape(&mut self, a: Atom, dims: Vec<Dim>, span: Span) -> Option<Value> {
        let ty = self.atom_type(a);
        if ty.dims == dims {
            return Some(Value::Atom(a));
        }
        match a {
            Atom::Var(v) if ty.rank() > 0 && dims.is_empty() => {
                let first = vec![Atom::Const(Const::int(Elem::I64, 0)); ty.rank()];
                Some(Value::Atom(self.emit("reshape", Type::scalar(ty.elem), Exp::Index(v, first), span)))
            }
            Atom::Var(v) if ty.rank() > 0 => {
                let ty = Type { elem: ty.elem, dims: dims.clone() };
                Some(Value::Atom(self.emit("reshape", ty, Exp::Reshape(v, dims), span)))
            }
            number => self.build("reshape", &dims, &[], span, |_, _| Some(Value::Atom(number))),
        }
    }

    fn checked_reshape(&mut self, a: Atom, dims: Vec<Dim>, span: Span) -> Option<Value> {
        let have = Dim::product(&self.atom_type(a).dims);
        let want = Dim::product(&dims);
        self.equal(&have, &want, span, "the number of elements in `reshape`", true)?;
        self.reshape(a, dims, span)
    }

    fn permute(&mut self, args: &[Value], span: Span) -> Option<Value> {
        let a = self.plain_atoms("`permute`", &args[..1], span)?[0];
        // The order arrives as an array literal of constants: its defining choices are folded away again.
        let order = self.literal_ints(&args[1]);
        let rank = self.rank(a);
        let valid = order.as_ref().is_some_and(|o| {
            let mut sorted = o.clone();
            sorted.sort_unstable();
            sorted == (0..rank).collect::<Vec<_>>()
        });
        match order {
            Some(o) if valid => Some(Value::Atom(self.permuted(a, &o, span)?)),
            _ => {
                self.error(
                    Code::Rank,
                    span,
                    format!(
                        "the order of `permute` must list the axes 0 to {} once each",
                        rank.saturating_sub(1)
                    ),
                    "for example `permute(a, (2, 0, 1))`",
                );
                None
            }
        }
    }

    /// The constants of a tuple or an array literal.
    fn literal_ints(&self, v: &Value) -> Option<Vec<usize>> {
        match v {
            Value::Tuple(vs) => {
                vs.iter().map(|v| self.constant_int(v).and_then(|i| usize::try_from(i).ok())).collect()
            }
            Value::Atom(Atom::Var(v)) => {
                let definition = self.bodies.iter().flatten().find(|s| s.vars == [*v])?;
                let Exp::Build(axes, body) = &definition.exp else { return None };
                let [axis] = axes.as_slice() else { return None };
                let mut out: Vec<usize> = Vec::new();
                let mut body = body;
                loop {
                    let constant = |b: &Body| match b.results.first()? {
                        Atom::Const(c) => usize::try_from(c.raw() as i64).ok(),
                        Atom::Var(_) => None,
                    };
                    match body.stms.as_slice() {
                        [] => {
                            out.push(constant(body)?);
                            let all = axis.extent.as_constant() == i64::try_from(out.len()).ok();
                            return all.then_some(out);
                        }
                        // As `choose` makes them.
                        [
                            Stm { exp: Exp::Op(Op::Eq, args), .. },
                            Stm { exp: Exp::If(_, first, rest), .. },
                        ] if *args == [Atom::Var(axis.var), self.int(i64::try_from(out.len()).ok()?)] => {
                            out.push(constant(first)?);
                            body = rest;
                        }
                        _ => return None,
                    }
                }
            }
            _ => None,
        }
    }

    /// Axis p of the result is axis `order[p]` of `a`; axes beyond the list stay.
    pub(super) fn permuted(&mut self, a: Atom, order: &[usize], span: Span) -> Option<Atom> {
        let dims = self.atom_type(a).dims;
        if order.len() > dims.len() {
            let found = self.show_type(&self.atom_type(a));
            self.error(
                Code::Rank,
                span,
                format!("expected an array of rank {} or more, found {found}", order.len()),
                "check the neutral element's rank",
            );
            return None;
        }
        let extents: Vec<Dim> = order.iter().map(|p| dims[*p].clone()).collect();
        let v = self.build("permute", &extents, &[], span, |e, ix| {
            let mut at = vec![ix[0]; order.len()];
            for (p, q) in order.iter().enumerate() {
                at[*q] = ix[p];
            }
            Some(Value::Atom(e.index(a, &at, span)))
        })?;
        v.atoms().and_then(|a| a.first().copied())
    }

    fn concat(&mut self, args: &[Value], span: Span) -> Option<Value> {
        let atoms = self.plain_atoms("`concat`", args, span)?;
        let mut joined = atoms[0];
        for b in &atoms[1..] {
            joined = self.concat_two(joined, *b, span)?;
        }
        Some(Value::Atom(joined))
    }

    fn concat_two(&mut self, a: Atom, b: Atom, span: Span) -> Option<Atom> {
        let (ta, tb) = (self.atom_type(a), self.atom_type(b));
        if ta.rank() == 0 || ta.rank() != tb.rank() {
            let (fa, fb) = (self.show_type(&ta), self.show_type(&tb));
            self.error(
                Code::Rank,
                span,
                format!("`concat` joins arrays of one rank, found {fa} and {fb}"),
                "put a single row into an array with `[row]`",
            );
            return None;
        }
        self.unify(tb.elem, ta.elem, span, "`concat`")?;
        let mut dims = ta.dims.clone();
        dims[0] = tb.dims[0].clone();
        let b = self.coerce(b, &dims, span, "the rows of `concat`", false)?;
        let first = ta.dims[0].clone();
        let total = first.add(&tb.dims[0]);
        let v = self.build("concat", &[total], &[], span, |e, ix| {
            let n = e.size_value(&first, span);
            let c = e.op(Op::Lt, &[ix[0], n], span);
            e.choice(c, span, &mut |e| Some(Value::Atom(e.index(a, &[ix[0]], span))), &mut |e| {
                let j = e.op(Op::Sub, &[ix[0], n], span);
                Some(Value::Atom(e.index(b, &[j], span)))
            })
        })?;
        v.atoms().and_then(|a| a.first().copied())
    }
}
