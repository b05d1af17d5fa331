//! The names of the built-in functions: which there are, how they are called, and what to suggest for others.

use super::builtins::{self, Builtin, find};
use crate::scalar::{self, Op};

/// Whether `name` is a built-in function or method.
pub fn is_builtin(name: &str) -> bool {
    let hidden = |op: Op| matches!(op, Op::Cast(_) | Op::Scale | Op::Mirror | Op::Complex | Op::Re | Op::Im);
    find(name).is_some() || Op::from_name(name).is_some_and(|op| !hidden(op))
}

/// Whether the argument of a built-in function at this position is a function.
pub fn takes_function(name: &str, position: usize) -> bool {
    find(name).is_some_and(|b| b.functions.contains(&position))
}

/// How a built-in function is called: `max(x, y)`.
pub(super) fn usage(name: &str) -> String {
    find(name).map_or_else(
        || {
            let arity = Op::from_name(name).map_or(1, Op::arity);
            format!("{name}({})", ["x", "y", "z"][..arity.min(3)].join(", "))
        },
        Builtin::usage,
    )
}

/// The number of arguments of a built-in function, the least one if it takes any number.
pub(super) fn arity(name: &str) -> usize {
    find(name).map_or_else(|| Op::from_name(name).map_or(1, Op::arity), |b| *b.arity.start())
}

/// The names of the built-in functions.
pub fn builtins() -> impl Iterator<Item = &'static str> {
    let scalars = scalar::TABLE.iter().map(|r| r.name);
    builtins::TABLE.iter().map(|b| b.name).chain(scalars).filter(|name| is_builtin(name))
}

/// What others call a built-in function, and its name here.
const OTHER_NAMES: [(&str, &str); 11] = [
    ("sign", "signum"),
    ("log1p", "ln_1p"),
    ("expm1", "exp_m1"),
    ("pow", "powi"),
    ("vecmat", "matvec"),
    ("mm", "matmul"),
    ("fabs", "abs"),
    ("gammaln", "lgamma"),
    ("arange", "iota"),
    ("product", "prod"),
    ("size", "len"),
];

/// The kernels that `array-dsl` has itself, by their module: they are imported, as those of any other crate.
const LIBRARY: [(&str, &str); 8] = [
    (
        "linalg",
        "cholesky cross det diagonal eigh expm identity inverse logdet lstsq lu norm qr slogdet solve solve_lower solve_matrix \
         solve_upper svd trace",
    ),
    (
        "random",
        "bernoulli bernoulli_at beta beta_at bits bits_at categorical exponential exponential_at fold_in gamma gamma_at key normal \
         normal_at permutation poisson poisson_at split threefry uniform uniform_at",
    ),
    (
        "signal",
        "convolve convolve_same convolve_valid correlate correlate_same correlate_valid fft fft2 fft_convolve ifft ifft2 irfft rfft",
    ),
    (
        "nn",
        "attention avg_pool2d causal_attention conv1d conv2d conv2d_transpose cross_entropy gelu layer_norm max_pool2d silu upsample",
    ),
    ("sparse", "csr_matmat csr_matvec csr_transposed_matvec"),
    ("segment", "segment_max segment_mean segment_min segment_softmax segment_sum"),
    ("implicit", "fixed_point minimize root"),
    ("ode", "odeint"),
];

/// The module of `array-dsl` that has a kernel of this name.
fn module_of(name: &str) -> Option<&'static str> {
    let has = |names: &str| names.split_whitespace().any(|n| n == name);
    LIBRARY.iter().find(|(_, names)| has(names)).map(|(module, _)| *module)
}

/// The methods that arrays, iterators and vectors have elsewhere, and what to write for them.
const METHODS: [(&str, &str); 17] = [
    (
        "clone to_owned into_owned view view_mut as_slice to_vec collect copied cloned",
        "values are never moved here: just use the name again",
    ),
    (
        "iter into_iter iter_mut for_each fold",
        "arrays have no iterators here: use `map`, `build`, a reduction such as `sum()`, or a `for` loop",
    ),
    ("enumerate indexed_iter", "write `build(n, |i| ..)`, or a `for` loop over the indices"),
    (
        "outer_iter axis_iter rows lanes",
        "`map(|row| .., a)` takes a matrix row by row, `map(|column| .., transpose(a))` by columns",
    ),
    ("rev", "write `(lo..hi).rev()` with the range in parentheses, or `x.reverse()` of an array"),
    ("row index_axis subview", "write `a[i]` for a row, `a[s![.., j]]` for a column"),
    ("column col", "write `a[s![.., j]]` for a column"),
    (
        "slice_axis slice_mut slice_collapse",
        "write `a[lo..hi]`, or `a[s![lo..hi, ..]]` for several dimensions",
    ),
    ("t reversed_axes", "write `transpose(a)`"),
    (
        "nrows ncols shape raw_dim len_of",
        "write `len(a)` for the rows and `dim(a, 1)` for the columns, or the size's name in the type",
    ),
    ("is_empty", "write `len(x) == 0`"),
    (
        "mapv mapv_into map_inplace mapv_inplace",
        "functions and operators take whole arrays: `sin(a)`, `2.0 * a + 1.0`",
    ),
    (
        "sum_axis mean_axis",
        "`sum(a)` is the sum of each row, `sum(transpose(a))` of each column; so with `mean`",
    ),
    (
        "push extend insert append pop remove truncate",
        "arrays keep their sizes: make the array at its full size, or use `concat`",
    ),
    ("rotate_left", "write `rotate(x, k)`, which gives `x[(i + k) % n]`"),
    ("rotate_right", "write `rotate(x, -k)`, which gives `x[(i - k) % n]`"),
    ("swap", "write `let t = a[i]; a[i] = a[j]; a[j] = t;`"),
];

/// What to write for a method that is not there, as a sentence.
pub(super) fn meant_method(name: &str) -> Option<String> {
    let has = |names: &str| names.split(' ').any(|n| n == name);
    let known = METHODS.iter().find(|(names, _)| has(names)).map(|(_, help)| help.to_string());
    // With these arguments it is a method of Rust's, of the same meaning as a function.
    known.or_else(|| meant(name))
}

/// What to write for a function that is not there, as a sentence: for one of Rust's or of another library, or a misspelled one.
pub fn meant(path: &str) -> Option<String> {
    let (ty, name) = path.rsplit_once("::").unwrap_or(("", path));
    let container = ty.rsplit("::").next().unwrap_or(ty);
    Some(match (container, name) {
        ("Vec" | "Array" | "Array1" | "Array2" | "Array3" | "String" | "VecDeque", _) => {
            "arrays are made by `zeros(n)`, `[value; n]` or `build(n, |i| ..)`".into()
        }
        ("", "pow") => "write `x.powi(2)`, or `x.powf(0.5)` for powers that are not whole".into(),
        ("", "eye") => "write `build((n, n), |i, j| if i == j { 1.0 } else { 0.0 })`".into(),
        ("", "var" | "variance") => "write `let d = x - mean(x); mean(d * d)`".into(),
        ("", "std" | "stddev") => "write `let d = x - mean(x); mean(d * d).sqrt()`".into(),
        ("", "roll") => "write `rotate(x, -k)`, which gives `x[(i - k) % n]`".into(),
        ("", "vecmat") => "write `matvec(transpose(a), x)`".into(),
        ("", "wrapping_add") => "integers wrap around in kernels: write `x + y`".into(),
        ("", "wrapping_sub") => "integers wrap around in kernels: write `x - y`".into(),
        ("", "wrapping_mul") => "integers wrap around in kernels: write `x * y`".into(),
        ("", name) => match module_of(name) {
            Some(module) => format!("write `use array_dsl::{module}::{name};` outside of the kernel"),
            None => format!("did you mean `{}`?", similar_builtin(name)?),
        },
        ("f32" | "f64" | "i32" | "i64" | "u32" | "usize", "from" | "try_from") => {
            "convert with `as`, as in `x as f64`".into()
        }
        ("f32" | "f64" | "i32" | "i64" | "u32" | "usize" | "bool" | "cmp" | "ops" | "mem", name) => {
            let name = similar_builtin(name)?;
            let (receiver, others) = method(&name);
            format!("write it as a method, `{receiver}.{name}({others})`")
        }
        _ => return None,
    })
}

/// The receiver and the other arguments of a built-in function as a method.
fn method(name: &str) -> (String, String) {
    let usage = usage(name);
    let arguments = usage.split_once('(').map_or("x", |(_, rest)| rest.trim_end_matches(')'));
    let (first, rest) = arguments.split_once(", ").unwrap_or((arguments, ""));
    (first.into(), rest.into())
}

/// The built-in that has another name elsewhere, or whose name is closest, if it is close.
pub fn similar_builtin(name: &str) -> Option<String> {
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, ours)| ours.to_string());
    other.or_else(|| closest(name, builtins()))
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
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_of_other_libraries_are_answered() {
        assert_eq!(meant("roll").as_deref(), Some("write `rotate(x, -k)`, which gives `x[(i - k) % n]`"));
    }

    #[test]
    fn usages_are_calls_of_their_functions() {
        assert_eq!(usage("powf"), "powf(x, y)");
        assert_eq!(usage("matvec"), "matvec(a, x)");
    }

    /// What is in the library's files is in the table, and nothing else.
    #[test]
    fn the_library_is_known() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../array-dsl/src");
        for (module, names) in LIBRARY {
            let head = source.join(format!("{module}.rs"));
            let of_head = fs::read_to_string(&head).expect("a module of the library");
            let parts = fs::read_dir(source.join(module)).into_iter().flatten();
            let parts = parts.map(|entry| entry.expect("an entry can be read").path());
            // What is a module for users too has names of its own.
            let is_public = |file: &Path| {
                let stem = file.file_stem().expect("a file has a name").to_string_lossy();
                of_head.contains(&format!("pub mod {stem};"))
            };
            let files = parts.filter(|file| !is_public(file)).chain([head.clone()]);
            let mut found = Vec::new();
            for file in files {
                let text = fs::read_to_string(&file).expect("a module of the library");
                for part in text.split("#[kernel]\npub fn ").skip(1) {
                    found.extend(part.split(['<', '(']).next().map(String::from));
                }
            }
            found.sort();
            assert_eq!(found, names.split_whitespace().collect::<Vec<_>>(), "{module}");
        }
        let meant = meant("solve").expect("it is there");
        assert_eq!(meant, "write `use array_dsl::linalg::solve;` outside of the kernel");
    }

    /// What is built in is never looked for among what other libraries have.
    #[test]
    fn methods_of_others_are_not_built_in() {
        for name in METHODS.iter().flat_map(|(names, _)| names.split(' ')) {
            assert!(!is_builtin(name), "{name}");
            assert!(
                METHODS.iter().filter(|(names, _)| names.split(' ').any(|n| n == name)).count() == 1,
                "{name}"
            );
        }
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
