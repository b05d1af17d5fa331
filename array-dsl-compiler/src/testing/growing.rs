//! Programs that grow line by line: their code and the time for it have to grow with them, and no faster.

use super::kernels::{self, Linked};

/// Programs of so many lines.
pub struct Growing {
    /// What they have more and more of.
    pub of: &'static str,
    /// The program with so many, as a file.
    pub program: fn(usize) -> String,
}

impl Growing {
    /// The program's kernel.
    ///
    /// # Errors
    /// If it is none.
    pub fn kernel(&self, n: usize) -> Result<Linked, String> {
        let file = syn::parse_file(&(self.program)(n)).map_err(|e| e.to_string())?;
        kernels::last(&file).map_err(|e| e.join("; "))
    }
}

/// Lines from the first to the last.
fn lines_of(from: usize, to: usize, line: impl Fn(usize) -> String) -> String {
    (from..=to).map(|k| line(k) + "\n").collect()
}

/// All of them.
pub const GROWING: &[Growing] = &[
    Growing { of: "branches over arrays, by a number", program: by_number },
    Growing { of: "branches over arrays, by what came before", program: by_data },
    Growing { of: "terms of a sum", program: terms },
    Growing { of: "lines of arithmetic", program: lines },
    Growing { of: "arrays, each of the two before", program: arrays },
    Growing { of: "sums that the next array needs", program: sums },
    Growing { of: "loops one after another", program: loops },
    Growing { of: "loops over arrays one after another", program: array_loops },
    Growing { of: "calls of a closure", program: calls },
    Growing { of: "kernels called", program: kernels_called },
    Growing { of: "records, each of the one before", program: records },
    Growing { of: "else-ifs", program: else_ifs },
    Growing { of: "loops in loops", program: loops_in_loops },
    Growing { of: "derivatives inside, each of the one before", program: derivatives },
];

/// A program that grows in depth. What a derivative needs of the innermost branch leaves all of them, so that the number of names, though
/// not of operations, grows with depth times text.
pub const NESTED: Growing = Growing { of: "branches in branches", program: branches_in_branches };

/// A program with more and more parameters whose slopes are sums over one array. The CPU adds them up in one loop, but on a GPU each
/// reduction is a shader that computes what it adds, so that those grow with parameters times text.
pub const SUMMED: Growing = Growing { of: "numbers whose slopes are sums", program: summed };

fn by_number(n: usize) -> String {
    let body =
        lines_of(1, n, |k| format!("let a{k} = if s > {k}.0 {{ a{0} * 2.0 }} else {{ sin(a{0}) }};", k - 1));
    format!("fn f(a0: [f64; n], s: f64) -> f64 {{ {body} sum(a{n}) }}")
}

fn by_data(n: usize) -> String {
    let body = lines_of(1, n, |k| {
        format!("let a{k} = if sum(a{0}) > {k}.0 {{ a{0} * 2.0 }} else {{ sin(a{0}) }};", k - 1)
    });
    format!("fn f(a0: [f64; n]) -> f64 {{ {body} sum(a{n}) }}")
}

fn terms(n: usize) -> String {
    let terms: Vec<String> = (1..=n).map(|k| format!("x * {k}.0 * (y - {k}.5)")).collect();
    format!("fn f(x: f64, y: f64) -> f64 {{ {} }}", terms.join(" + "))
}

fn lines(n: usize) -> String {
    let body = lines_of(2, n + 1, |k| {
        let (a, b) = (k - 1, k - 2);
        match k % 4 {
            0 => format!("let v{k} = v{a} * 0.5 + v{b};"),
            1 => format!("let v{k} = v{a} - v{b} / 3.0;"),
            2 => format!("let v{k} = (v{a} + v{b}).sin();"),
            _ => format!("let v{k} = if v{a} > 0.0 {{ v{a} }} else {{ v{b} }};"),
        }
    });
    format!("fn f(v0: f64, v1: f64) -> f64 {{ {body} v{} }}", n + 1)
}

fn arrays(n: usize) -> String {
    let body = lines_of(2, n + 1, |k| format!("let v{k} = sin(v{}) * v{} + {k}.0;", k - 1, k - 2));
    format!("fn f(v0: [f64; n]) -> f64 {{ let v1 = cos(v0); {body} sum(v{}) }}", n + 1)
}

fn sums(n: usize) -> String {
    let body = lines_of(1, n, |k| format!("let v{k} = sin(v{0}) / (1.0 + sum(v{0} * v{0}));", k - 1));
    format!("fn f(v0: [f64; n]) -> f64 {{ {body} sum(v{n}) }}")
}

fn loops(n: usize) -> String {
    let body = lines_of(1, n, |k| format!("for i in 0..n {{ s = sin(s * x[i] + {k}.0); }}"));
    format!("fn f(x: [f64; n]) -> f64 {{ let mut s = 0.0; {body} s }}")
}

fn array_loops(n: usize) -> String {
    let body = lines_of(1, n, |k| format!("for i in 1..n {{ a[i] = sin(a[i - 1]) * a[i] + {k}.0; }}"));
    format!("fn f(x: [f64; n]) -> f64 {{ let mut a = x; {body} sum(a) }}")
}

fn else_ifs(n: usize) -> String {
    let body = lines_of(1, n, |k| format!("if x > {k}.0 {{ x * {k}.5 }} else "));
    format!("fn f(x: f64) -> f64 {{ {body} {{ sin(x) }} }}")
}

fn branches_in_branches(n: usize) -> String {
    let before = lines_of(1, n, |k| format!("if x > 0.{k:03} {{ let y = y.sin() * x; let z ="));
    let after = lines_of(1, n, |k| format!("; y * z.cos() }} else {{ y.exp() + {k}.0 }}"));
    format!("fn f(x: f64, y: f64) -> f64 {{ {before} y {after} }}")
}

fn loops_in_loops(n: usize) -> String {
    let body = lines_of(1, n, |k| {
        format!("for i in 0..n {{ for j in 0..n {{ s = sin(s * x[i] + x[j] * {k}.0); }} }}")
    });
    format!("fn f(x: [f64; n]) -> f64 {{ let mut s = 0.0; {body} s }}")
}

fn derivatives(n: usize) -> String {
    let body = lines_of(1, n, |k| format!("let v{k} = grad(|y| sum(sin(y) * v{0}))(v{0} * {k}.0);", k - 1));
    format!("fn f(v0: [f64; n]) -> f64 {{ {body} sum(v{n}) }}")
}

fn calls(n: usize) -> String {
    let body = lines_of(1, n, |k| format!("let v{k} = step(v{}, {k}.0);", k - 1));
    format!(
        "fn f(v0: [f64; n]) -> f64 {{ let step = |a, c| {{ let m = maximum(a); exp(a - m) * c }}; {body} sum(v{n}) }}"
    )
}

fn kernels_called(n: usize) -> String {
    let kernels =
        lines_of(1, n, |k| format!("fn step{k}(a: [f64; n]) -> [f64; n] {{ exp(a - maximum(a)) * {k}.0 }}"));
    let body = lines_of(1, n, |k| format!("let v{k} = step{k}(v{});", k - 1));
    format!("{kernels} fn f(v0: [f64; n]) -> f64 {{ {body} sum(v{n}) }}")
}

fn records(n: usize) -> String {
    let body = lines_of(1, n, |k| {
        format!(
            "let p{k} = Pair {{ a: sin(p{0}.b) * p{0}.a, b: p{0}.b + {k}.0 * p{0}.a, v: p{0}.v * sin(p{0}.v) }};",
            k - 1
        )
    });
    format!(
        "struct Pair {{ a: f64, b: f64, #[shape(n)] v: Array1<f64> }}
         fn f(p0: Pair) -> f64 {{ {body} p{n}.a + sum(p{n}.v) }}"
    )
}

fn summed(n: usize) -> String {
    let fields = lines_of(1, n, |k| format!("w{k}: f64,"));
    let body = lines_of(1, n, |k| format!("let v{k} = sin(v{} * p.w{k});", k - 1));
    format!("struct Many {{ {fields} }} fn f(v0: [f64; n], p: Many) -> f64 {{ {body} sum(v{n}) }}")
}
