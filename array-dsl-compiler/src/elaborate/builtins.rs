//! The built-in functions that are not scalar functions (`scalar.rs` has these): one row each, with everything that anyone asks of
//! them. A row has a rule, which makes Core of a call, or a text in the language itself.
//!
//! A function over values of lower rank is lifted: by its rule, or by the ranks of its text's parameters.
//!
//! What users read of a function is its page in `array-dsl/src/reference`, without which a row does not compile (`facts`).

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::Elaborator;
use super::scope::Scope;
use super::text;
use super::value::Value;
use crate::core::Prefix;
use crate::core::Reducer;
use crate::derive::Derivative;
use crate::scalar::Op;
use crate::ty::Name;

/// The parameter takes arrays of every rank.
pub(super) const ANY: usize = usize::MAX;

/// A built-in function.
pub(super) struct Builtin {
    pub name: &'static str,
    /// How it is called.
    usage: &'static str,
    /// The numbers of arguments that it takes.
    pub arity: RangeInclusive<usize>,
    /// Which arguments are functions.
    pub functions: &'static [usize],
    pub ranks: Ranks,
    rule: Rule,
}

/// What rank lifting knows of a function (`terms`).
#[derive(Clone, Copy)]
pub(super) enum Ranks {
    /// Nothing: its calls stay as they are.
    Unknown,
    /// The ranks of its parameters and of its result.
    Of(&'static [usize]),
    /// Its parameters and its result; its elements are of every rank.
    Any(&'static [Part]),
}

/// A parameter or the result of a function over elements of every rank.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// An array of so many dimensions of elements of any rank.
    Elements(usize),
    /// An array of numbers of so many dimensions.
    Numbers(usize),
}
use Part::{Elements, Numbers};

/// What becomes of a call.
enum Rule {
    /// The elaborator's own. The number of arguments is right.
    Own(fn(&mut Elaborator<'_>, &Call<'_>) -> Option<Value>),
    /// A text in the language itself, by the names of its parameters and the ranks at which it works. Inside, `dim(a, k)` is the
    /// k-th dimension.
    Text(&'static [(&'static str, usize)], &'static str),
}

/// A call of a built-in function.
pub(super) struct Call<'a> {
    /// The function's name as messages show it.
    pub what: String,
    pub args: &'a [Value],
    pub span: Span,
}

impl Call<'_> {
    /// The same call of other arguments.
    pub fn of<'b>(&self, args: &'b [Value]) -> Call<'b> {
        Call { what: self.what.clone(), args, span: self.span }
    }
}

/// A function with a rule of its own.
const fn own(
    name: &'static str,
    usage: &'static str,
    arity: RangeInclusive<usize>,
    rule: fn(&mut Elaborator<'_>, &Call<'_>) -> Option<Value>,
) -> Builtin {
    Builtin { name, usage, arity, functions: &[], ranks: Ranks::Unknown, rule: Rule::Own(rule) }
}

/// A function with a text.
const fn text(name: &'static str, params: &'static [(&'static str, usize)], body: &'static str) -> Builtin {
    let arity = RangeInclusive::new(params.len(), params.len());
    Builtin { name, usage: "", arity, functions: &[], ranks: Ranks::Unknown, rule: Rule::Text(params, body) }
}

impl Builtin {
    /// With functions as these arguments.
    const fn functions(mut self, functions: &'static [usize]) -> Builtin {
        self.functions = functions;
        self
    }

    /// With these ranks of parameters and result.
    const fn ranks(mut self, ranks: &'static [usize]) -> Builtin {
        self.ranks = Ranks::Of(ranks);
        self
    }

    /// With these parameters and this result.
    const fn any_rank(mut self, parts: &'static [Part]) -> Builtin {
        self.ranks = Ranks::Any(parts);
        self
    }
}

/// All of them, each in a line.
#[rustfmt::skip]
pub(super) static TABLE: &[Builtin] = &[
    // make
    own("build", "build(n, |i| value)", 2..=2, |e, c| e.built(c)).functions(&[1]),
    own("replicate", "replicate(n, value)", 2..=2, |e, c| e.replicate(&c.args[0], c.args[1].clone(), c.span)),
    own("zeros", "zeros(n)", 1..=1, |e, c| e.constant_array(c, 0.0)),
    own("ones", "ones(n)", 1..=1, |e, c| e.constant_array(c, 1.0)),
    // apply
    own("map", "map(f, xs)", 2..=usize::MAX, |e, c| e.mapped(c)).functions(&[0]),
    own("reduce", "reduce(op, neutral, xs)", 3..=3, |e, c| e.fold(None, c)).functions(&[0]),
    own("scan", "scan(op, neutral, xs)", 3..=3, |e, c| e.fold(Some(Prefix::Inclusive), c)).functions(&[0]),
    own("scan_exclusive", "scan_exclusive(op, neutral, xs)", 3..=3, |e, c| e.fold(Some(Prefix::Exclusive), c)).functions(&[0]),
    // reduce
    own("sum", "sum(xs)", 1..=1, |e, c| e.reduction(Reducer::Add, c)).ranks(&[1, 0]),
    own("prod", "prod(xs)", 1..=1, |e, c| e.reduction(Reducer::Mul, c)).ranks(&[1, 0]),
    own("minimum", "minimum(xs)", 1..=1, |e, c| e.reduction(Reducer::Min, c)).ranks(&[1, 0]),
    own("maximum", "maximum(xs)", 1..=1, |e, c| e.reduction(Reducer::Max, c)).ranks(&[1, 0]),
    own("any", "any(flags)", 1..=1, |e, c| e.reduction(Reducer::Or, c)).ranks(&[1, 0]),
    own("all", "all(flags)", 1..=1, |e, c| e.reduction(Reducer::And, c)).ranks(&[1, 0]),
    own("argmin", "argmin(xs)", 1..=1, |e, c| e.reduction(Reducer::ArgMin, c)).ranks(&[1, 0]),
    own("argmax", "argmax(xs)", 1..=1, |e, c| e.reduction(Reducer::ArgMax, c)).ranks(&[1, 0]),
    own("cumsum", "cumsum(xs)", 1..=1, |e, c| e.cumulate(Reducer::Add, c)).ranks(&[1, 1]),
    own("cumprod", "cumprod(xs)", 1..=1, |e, c| e.cumulate(Reducer::Mul, c)).ranks(&[1, 1]),
    // order and choose
    own("sort", "sort(xs)", 1..=1, |e, c| e.sort(c)),
    own("argsort", "argsort(xs)", 1..=1, |e, c| e.argsort(c)),
    own("sort_by_key", "sort_by_key(keys, xs)", 2..=2, |e, c| e.sort_by_key(c)),
    own("filter", "filter(p, xs)", 2..=2, |e, c| e.filter(c)).functions(&[0]),
    own("partition", "partition(p, xs)", 2..=2, |e, c| e.partition(c)).functions(&[0]),
    own("count", "count(p, xs)", 2..=2, |e, c| e.count_matching(c)).functions(&[0]),
    // shape
    own("permute", "permute(a, (1, 0))", 2..=2, |e, c| e.permute(c)),
    own("reshape", "reshape(a, (n, m))", 2..=2, |e, c| e.reshaped(c)),
    own("flatten", "flatten(a)", 1..=1, |e, c| e.flattened(c)),
    own("unflatten", "unflatten(a, (n, m))", 2..=2, |e, c| e.unflattened(c)),
    own("concat", "concat(a, b)", 2..=usize::MAX, |e, c| e.concat(c)).any_rank(&[Elements(1), Elements(1), Elements(1)]),
    own("slice", "slice(a, lo, hi)", 3..=3, |e, c| e.sliced(c)).any_rank(&[Elements(1), Numbers(0), Numbers(0), Elements(1)]),
    own("step_by", "step_by(a, k)", 2..=2, |e, c| e.step_by(c)).any_rank(&[Elements(1), Numbers(0), Elements(1)]),
    own("rotate", "rotate(a, k)", 2..=2, |e, c| e.rotate(c)).any_rank(&[Elements(1), Numbers(0), Elements(1)]),
    own("len", "len(a)", 1..=1, |e, c| e.extent(c)).any_rank(&[Elements(1), Numbers(0)]),
    own("dim", "dim(a, axis)", 2..=2, |e, c| e.extent(c)),
    own("zip", "zip(a, b)", 2..=usize::MAX, |_, c| Some(Value::Tuple(c.args.to_vec()))),
    own("unzip", "unzip(pairs)", 1..=1, |_, c| Some(c.args[0].clone())),
    // by index
    own("scatter", "scatter(dest, at, values)", 3..=3, |e, c| e.scatter(c)),
    own("hist", "hist(op, neutral, k, at, values)", 5..=5, |e, c| e.hist(c)).functions(&[0]),
    own("reduce_by_index", "reduce_by_index(dest, op, at, values)", 4..=4, |e, c| e.reduce_by_index(c)).functions(&[1]),
    // differentiate
    own("stop_gradient", "stop_gradient(x)", 1..=1, |e, c| e.stop_gradient(c)),
    own("grad", "grad(f)(x)", 1..=1, |e, c| e.derivative(Derivative::Grad, c)).functions(&[0]),
    own("value_and_grad", "value_and_grad(f)(x)", 1..=1, |e, c| e.derivative(Derivative::ValueAndGrad, c)).functions(&[0]),
    own("vjp", "vjp(f)(x, cotangent)", 1..=1, |e, c| e.derivative(Derivative::Vjp, c)).functions(&[0]),
    own("jvp", "jvp(f)(x, tangent)", 1..=1, |e, c| e.derivative(Derivative::Jvp, c)).functions(&[0]),
    own("hvp", "hvp(f)(x, tangent)", 1..=1, |e, c| e.derivative(Derivative::Hvp, c)).functions(&[0]),
    own("jacobian", "jacobian(f)(x)", 1..=1, |e, c| e.derivative(Derivative::Jacobian, c)).functions(&[0]),
    own("hessian", "hessian(f)(x)", 1..=1, |e, c| e.derivative(Derivative::Hessian, c)).functions(&[0]),
    own("vmap", "vmap(f)(xs)", 1..=1, |e, c| e.derivative(Derivative::Vmap, c)).functions(&[0]),

    // In the language itself.
    // make
    text("iota", &[("n", 0)], "build(n, |i| i)"),
    // Both ends included, as in NumPy; one point is `lo`.
    text("linspace", &[("lo", 0), ("hi", 0), ("n", 0)], "build(n, |i| if n == 1 { lo } else { lo + (hi - lo) * ((i as _) / ((n - 1) as _)) })"),
    // shape
    text("transpose", &[("a", ANY)], "{ let r = dim(a, 0); let c = dim(a, 1); build((c, r), |i, j| a[[j, i]]) }").any_rank(&[Elements(2), Elements(2)]),
    text("reverse", &[("a", ANY)], "build(dim(a, 0), |i| a[dim(a, 0) - 1 - i])").any_rank(&[Elements(1), Elements(1)]),
    text("gather", &[("a", ANY), ("at", 1)], "build(dim(at, 0), |p| a[at[p]])").any_rank(&[Elements(1), Numbers(1), Elements(1)]),
    text("windows", &[("a", ANY), ("k", 0)], "build((dim(a, 0) + 1 - k, k), |i, j| a[i + j])").any_rank(&[Elements(1), Numbers(0), Elements(2)]),
    // reductions
    text("dot", &[("a", 1), ("b", 1)], "sum(a * b)").ranks(&[1, 1, 0]),
    text("mean", &[("a", 1)], "sum(a) / (dim(a, 0) as _)").ranks(&[1, 0]),
    // linear algebra
    text("matmul", &[("a", 2), ("b", 2)], "{ let t = transpose(b); build((dim(a, 0), dim(b, 1)), |i, j| sum(a[i] * t[j])) }").ranks(&[2, 2, 2]),
    text("matvec", &[("a", 2), ("x", 1)], "build(dim(a, 0), |i| sum(a[i] * x))").ranks(&[2, 1, 1]),
    text("outer", &[("a", 1), ("b", 1)], "build((dim(a, 0), dim(b, 0)), |i, j| a[i] * b[j])").ranks(&[1, 1, 2]),
    // scalars
    text("clamp", &[("x", 0), ("lo", 0), ("hi", 0)], "min(max(x, lo), hi)").ranks(&[0, 0, 0, 0]),
    text("mul_add", &[("x", 0), ("a", 0), ("b", 0)], "x * a + b").ranks(&[0, 0, 0, 0]),
    text("to_radians", &[("x", 0)], "x * 0.017453292519943295"),
    text("to_degrees", &[("x", 0)], "x * 57.29577951308232"),
    text("fract", &[("x", 0)], "x - trunc(x)").ranks(&[0, 0]),
    text("copysign", &[("x", 0), ("sign", 0)], "abs(x) * signum(sign)").ranks(&[0, 0, 0]),
    text("log", &[("x", 0), ("base", 0)], "ln(x) / ln(base)").ranks(&[0, 0, 0]),
    text("sin_cos", &[("x", 0)], "(sin(x), cos(x))"),
    text("is_infinite", &[("x", 0)], "!(is_finite(x) || is_nan(x))"),
    // The largest value only shifts; its derivative cancels, so it is not differentiated. Terms below e^-664, some 1e-288 of the largest,
    // change no bit of a sum; as factors they would give numbers below the normal range, at which processors take a hundred times as long.
    text("logsumexp", &[("z", 1)], "{ let top = stop_gradient(maximum(z)); let m = if top.is_finite() { top } else { 0.0 }; m + ln(sum(map(|t| if t < -664.0 { 0.0 } else { exp(t) }, z - m))) }").ranks(&[1, 0]),
    text("softmax", &[("z", 1)], "{ let m = stop_gradient(maximum(z)); let e = map(|t| if t < -664.0 { 0.0 } else { exp(t) }, z - m); e / sum(e) }").ranks(&[1, 1]),
    // index-directed
    text("scatter_add", &[("dest", ANY), ("at", 1), ("v", ANY)], "reduce_by_index(dest, add, at, v)"),
];

/// The row of a built-in function.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    static INDEX: OnceLock<FxHashMap<&'static str, &'static Builtin>> = OnceLock::new();
    INDEX.get_or_init(|| TABLE.iter().map(|b| (b.name, b)).collect()).get(name).copied()
}

impl Builtin {
    /// How it is called.
    pub fn usage(&self) -> String {
        match self.rule {
            Rule::Own(_) => self.usage.into(),
            Rule::Text(params, _) => {
                let params: Vec<&str> = params.iter().map(|(p, _)| *p).collect();
                format!("{}({})", self.name, params.join(", "))
            }
        }
    }

    /// What it is in the language itself, if it is that.
    pub fn text(&self) -> Option<&'static str> {
        match self.rule {
            Rule::Own(_) => None,
            Rule::Text(_, body) => Some(body),
        }
    }
}

impl Elaborator<'_> {
    /// Calls a built-in function.
    pub(super) fn apply_builtin(&mut self, name: &Name, args: &[Value], span: Span) -> Option<Value> {
        if let Some(mapped) = self.planned(span, args) {
            return self.apply_mapped(name, &mapped, args, span);
        }
        if name.contains("::") {
            return self.make_complex(name, args, span);
        }
        let Some(builtin) = find(name) else {
            return self.apply_scalar(Op::from_name(name)?, args, span);
        };
        if !builtin.arity.contains(&args.len()) {
            self.argument_count(name, *builtin.arity.start(), args.len(), span);
            return None;
        }
        let call = Call { what: format!("`{name}`"), args, span };
        let before = self.diagnostics.list().len();
        let value = match builtin.rule {
            Rule::Own(rule) => rule(self, &call),
            Rule::Text(params, body) => {
                let body = self.text_of_complex(builtin.name, args).unwrap_or(body);
                self.apply_text(body, params, body, &call)
            }
        };
        let is_matrix = |v: &Value| matches!(v, Value::Atom(a) if self.rank(*a) == 2);
        if value.is_none() && builtin.name == "dot" && args.iter().all(is_matrix) {
            let help = "`dot` is of vectors, here of row by row; the product of matrices is `matmul(a, b)`";
            self.diagnostics.advise(before, help);
        }
        value
    }

    /// Calls a text in the language, which is parsed once for each `key`.
    pub(super) fn apply_text(
        &mut self,
        key: &'static str,
        params: &[(&'static str, usize)],
        body: &'static str,
        c: &Call<'_>,
    ) -> Option<Value> {
        let body = text::parsed(key, body)?;
        // Only parameters of fixed rank take part in lifting.
        let ranked: Vec<usize> = (0..c.args.len()).filter(|i| params[*i].1 != ANY).collect();
        let expected: Vec<usize> = ranked.iter().map(|i| params[*i].1).collect();
        let values: Vec<Value> = ranked.iter().map(|i| c.args[*i].clone()).collect();
        let atoms = self.plain_atoms(&c.what, &values, c.span)?;
        self.lift(&c.what, &expected, &atoms, c.span, &mut |e, cells| {
            let mut scope = Scope::default();
            for (i, (name, _)) in params.iter().enumerate() {
                let value = match ranked.iter().position(|r| *r == i) {
                    Some(k) => Value::Atom(cells[k]),
                    None => c.args[i].clone(),
                };
                scope.bind(Name::from(*name), value);
            }
            let saved = std::mem::replace(&mut e.scope, scope);
            let outer = (e.site.call_span, e.site.call_name.clone());
            e.site.call_span.get_or_insert(c.span);
            e.site.call_name.get_or_insert_with(|| c.what.clone());
            let v = e.expr(&body);
            (e.site.call_span, e.site.call_name) = outer;
            e.scope = saved;
            v
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_agree_with_themselves() {
        for b in TABLE {
            assert_eq!(TABLE.iter().filter(|c| c.name == b.name).count(), 1, "{}", b.name);
            assert!(Op::from_name(b.name).is_none(), "{} is a scalar function", b.name);
            assert!(b.usage().starts_with(&format!("{}(", b.name)), "{}", b.usage());
            assert!(b.functions.iter().all(|i| *i < *b.arity.start()), "{}", b.name);
            let Rule::Text(params, body) = b.rule else { continue };
            assert!(text::parsed(b.name, body).is_some(), "{}", b.name);
            let given: Vec<usize> = params.iter().map(|(_, rank)| *rank).collect();
            let ranks = match b.ranks {
                Ranks::Unknown => continue,
                Ranks::Of(ranks) => ranks[..ranks.len() - 1].to_vec(),
                Ranks::Any(parts) => parts[..parts.len() - 1]
                    .iter()
                    .map(|p| match p {
                        Elements(_) => ANY,
                        Numbers(rank) => *rank,
                    })
                    .collect(),
            };
            assert_eq!(ranks, given, "{}", b.name);
        }
    }
}
