//! Array functions written in the language itself. A parameter's rank says at which rank the function works
//! (arguments of higher rank are lifted over); `ANY` takes the argument whole. Inside, `dim(a, k)` is the k-th
//! dimension.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::diagnostics::Diagnostics;
use crate::syntax::ast;

/// The parameter takes arrays of every rank.
pub(super) const ANY: usize = usize::MAX;

/// One function.
pub(super) struct Library {
    pub name: &'static str,
    pub params: &'static [(&'static str, usize)],
    pub body: &'static str,
}

/// All of them.
pub(super) static LIBRARY: &[Library] = &[
    // make
    Library { name: "iota", params: &[("n", 0)], body: "build(n, |i| i)" },
    Library {
        name: "linspace",
        params: &[("lo", 0), ("hi", 0), ("n", 0)],
        // Both ends included, as in NumPy; one point is `lo`.
        body: "build(n, |i| if n == 1 { lo } else { lo + (hi - lo) * ((i as _) / ((n - 1) as _)) })",
    },
    // shape
    Library {
        name: "transpose",
        params: &[("a", ANY)],
        body: "{ let r = dim(a, 0); let c = dim(a, 1); build((c, r), |i, j| a[[j, i]]) }",
    },
    Library { name: "reverse", params: &[("a", ANY)], body: "build(dim(a, 0), |i| a[dim(a, 0) - 1 - i])" },
    Library { name: "gather", params: &[("a", ANY), ("at", 1)], body: "build(dim(at, 0), |p| a[at[p]])" },
    Library {
        name: "windows",
        params: &[("a", ANY), ("k", 0)],
        body: "build((dim(a, 0) + 1 - k, k), |i, j| a[i + j])",
    },
    // reductions
    Library { name: "dot", params: &[("a", 1), ("b", 1)], body: "sum(a * b)" },
    Library { name: "mean", params: &[("a", 1)], body: "sum(a) / (dim(a, 0) as _)" },
    // linear algebra
    Library {
        name: "matmul",
        params: &[("a", 2), ("b", 2)],
        body: "{ let t = transpose(b); build((dim(a, 0), dim(b, 1)), |i, j| sum(a[i] * t[j])) }",
    },
    Library { name: "matvec", params: &[("a", 2), ("x", 1)], body: "build(dim(a, 0), |i| sum(a[i] * x))" },
    Library {
        name: "outer",
        params: &[("a", 1), ("b", 1)],
        body: "build((dim(a, 0), dim(b, 0)), |i, j| a[i] * b[j])",
    },
    // scalars
    Library { name: "clamp", params: &[("x", 0), ("lo", 0), ("hi", 0)], body: "min(max(x, lo), hi)" },
    Library { name: "mul_add", params: &[("x", 0), ("a", 0), ("b", 0)], body: "x * a + b" },
    Library { name: "to_radians", params: &[("x", 0)], body: "x * 0.017453292519943295" },
    Library { name: "to_degrees", params: &[("x", 0)], body: "x * 57.29577951308232" },
    Library { name: "fract", params: &[("x", 0)], body: "x - trunc(x)" },
    Library { name: "copysign", params: &[("x", 0), ("sign", 0)], body: "abs(x) * signum(sign)" },
    Library { name: "log", params: &[("x", 0), ("base", 0)], body: "ln(x) / ln(base)" },
    Library { name: "sin_cos", params: &[("x", 0)], body: "(sin(x), cos(x))" },
    Library { name: "is_infinite", params: &[("x", 0)], body: "!(is_finite(x) || is_nan(x))" },
    // The largest value only shifts; its derivative cancels, so it is not differentiated.
    Library {
        name: "logsumexp",
        params: &[("z", 1)],
        body: "{ let top = stop_gradient(maximum(z)); let m = if top.is_finite() { top } else { 0.0 }; m + ln(sum(exp(z - m))) }",
    },
    Library {
        name: "softmax",
        params: &[("z", 1)],
        body: "{ let m = stop_gradient(maximum(z)); let e = exp(z - m); e / sum(e) }",
    },
    // index-directed
    Library {
        name: "scatter_add",
        params: &[("dest", ANY), ("at", 1), ("v", ANY)],
        body: "reduce_by_index(dest, add, at, v)",
    },
];

thread_local! {
    static PARSED: HashMap<&'static str, ast::Expr> = LIBRARY.iter().filter_map(|l| Some((l.name, parse(l.body)?))).collect();
}

/// The parsed body of a library function.
pub(super) fn body(name: &str) -> Option<ast::Expr> {
    PARSED.with(|p| p.get(name).cloned())
}

/// The row of a library function.
pub(super) fn find(name: &str) -> Option<&'static Library> {
    static INDEX: OnceLock<HashMap<&'static str, &'static Library>> = OnceLock::new();
    INDEX.get_or_init(|| LIBRARY.iter().map(|l| (l.name, l)).collect()).get(name).copied()
}

fn parse(text: &str) -> Option<ast::Expr> {
    let source = format!("fn library() -> f64 {{ {text} }}");
    let item: syn::ItemFn = syn::parse_str(&source).ok()?;
    let mut diagnostics = Diagnostics::default();
    let f = crate::syntax::parse_function(&item, &mut diagnostics);
    diagnostics.is_empty().then_some(f.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_parses() {
        for l in LIBRARY {
            assert!(body(l.name).is_some(), "{}", l.name);
        }
    }
}
