//! The names of the built-in functions: which there are, how they are called, and what to suggest for others.

use super::library;
use crate::scalar::{Op, TABLE};

/// Functions with a rule of their own in `builtins`, and how they are called.
const NATIVE: &[(&str, &str)] = &[
    ("build", "build(n, |i| value)"),
    ("map", "map(f, xs)"),
    ("reduce", "reduce(op, neutral, xs)"),
    ("scan", "scan(op, neutral, xs)"),
    ("scan_exclusive", "scan_exclusive(op, neutral, xs)"),
    ("cumsum", "cumsum(xs)"),
    ("cumprod", "cumprod(xs)"),
    ("sum", "sum(xs)"),
    ("prod", "prod(xs)"),
    ("minimum", "minimum(xs)"),
    ("maximum", "maximum(xs)"),
    ("any", "any(flags)"),
    ("all", "all(flags)"),
    ("argmin", "argmin(xs)"),
    ("argmax", "argmax(xs)"),
    ("replicate", "replicate(n, value)"),
    ("zeros", "zeros(n)"),
    ("ones", "ones(n)"),
    ("sort", "sort(xs)"),
    ("argsort", "argsort(xs)"),
    ("sort_by_key", "sort_by_key(keys, xs)"),
    ("filter", "filter(p, xs)"),
    ("partition", "partition(p, xs)"),
    ("count", "count(p, xs)"),
    ("permute", "permute(a, (1, 0))"),
    ("reshape", "reshape(a, (n, m))"),
    ("flatten", "flatten(a)"),
    ("unflatten", "unflatten(a, (n, m))"),
    ("concat", "concat(a, b)"),
    ("slice", "slice(a, lo, hi)"),
    ("step_by", "step_by(a, k)"),
    ("rotate", "rotate(a, k)"),
    ("len", "len(a)"),
    ("dim", "dim(a, axis)"),
    ("zip", "zip(a, b)"),
    ("unzip", "unzip(pairs)"),
    ("scatter", "scatter(dest, at, values)"),
    ("hist", "hist(op, neutral, k, at, values)"),
    ("reduce_by_index", "reduce_by_index(dest, op, at, values)"),
    ("stop_gradient", "stop_gradient(x)"),
    ("grad", "grad(f)(x)"),
    ("value_and_grad", "value_and_grad(f)(x)"),
    ("vjp", "vjp(f)(x, cotangent)"),
    ("jvp", "jvp(f)(x, tangent)"),
    ("hvp", "hvp(f)(x, tangent)"),
    ("jacobian", "jacobian(f)(x)"),
    ("hessian", "hessian(f)(x)"),
    ("vmap", "vmap(f)(xs)"),
];

/// Whether `name` is a built-in function or method.
pub fn is_builtin(name: &str) -> bool {
    NATIVE.iter().any(|(n, _)| *n == name)
        || library::find(name).is_some()
        || Op::from_name(name).is_some_and(|op| !matches!(op, Op::Cast(_) | Op::Scale))
}

/// Whether the argument of a built-in function at this position is a function.
pub fn takes_function(name: &str, position: usize) -> bool {
    matches!(
        (name, position),
        (
            "map"
                | "reduce"
                | "scan"
                | "scan_exclusive"
                | "hist"
                | "filter"
                | "partition"
                | "count"
                | "grad"
                | "value_and_grad"
                | "vjp"
                | "jvp"
                | "hvp"
                | "jacobian"
                | "hessian"
                | "vmap",
            0
        ) | ("build" | "reduce_by_index", 1)
    )
}

/// How a built-in function is called: `max(x, y)`.
pub(super) fn usage(name: &str) -> String {
    if let Some((_, usage)) = NATIVE.iter().find(|(n, _)| *n == name) {
        return (*usage).into();
    }
    if let Some(l) = library::find(name) {
        let params: Vec<&str> = l.params.iter().map(|(p, _)| *p).collect();
        return format!("{name}({})", params.join(", "));
    }
    let arity = Op::from_name(name).map_or(1, Op::arity);
    format!("{name}({})", ["x", "y", "z"][..arity.min(3)].join(", "))
}

/// The number of arguments of a built-in function, one for those that take any number.
pub(super) fn arity(name: &str) -> usize {
    match (NATIVE.iter().find(|(n, _)| *n == name), library::find(name)) {
        (Some((_, usage)), _) => usage.matches(", ").count() + 1,
        (_, Some(l)) => l.params.len(),
        _ => Op::from_name(name).map_or(1, Op::arity),
    }
}

/// The names of the built-in functions.
pub fn builtins() -> impl Iterator<Item = &'static str> {
    let all = NATIVE.iter().map(|(n, _)| *n).chain(library::LIBRARY.iter().map(|l| l.name));
    all.chain(TABLE.iter().map(|r| r.name)).filter(|name| is_builtin(name))
}

/// The built-in whose name is closest, if it is close.
pub fn similar_builtin(name: &str) -> Option<String> {
    closest(name, builtins())
}

/// The candidate that `name` may be a misspelling of: a third of the letters may differ, and the first one only in
/// longer names.
pub(super) fn closest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<String> {
    let letters = name.chars().count();
    let close = |c: &str| {
        let d = distance(c, name);
        d <= (letters / 3).max(1) && (c.chars().next() == name.chars().next() || 4 * d <= letters)
    };
    candidates.filter(|c| close(c)).min_by_key(|c| (distance(c, name), *c)).map(String::from)
}

/// Edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usages_are_calls_of_their_functions() {
        for (name, usage) in NATIVE {
            assert!(usage.starts_with(&format!("{name}(")), "{usage}");
        }
        assert_eq!(usage("powf"), "powf(x, y)");
        assert_eq!(usage("matvec"), "matvec(a, x)");
    }

    #[test]
    fn suggestions() {
        for (written, meant) in
            [("sigmod", "sigmoid"), ("maximun", "maximum"), ("sqroot", "sqrt"), ("mapp", "map")]
        {
            assert_eq!(similar_builtin(written).as_deref(), Some(meant), "{written}");
        }
        for other in ["odd", "even", "helper", "loss", "f", "relu"] {
            assert_eq!(similar_builtin(other), None, "{other}");
        }
    }
}
