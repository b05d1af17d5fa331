//! Programs that grow line by line: their code and the time for it have to grow with them, and no faster.

use std::fmt::Write;

/// Programs of so many lines.
pub struct Growing {
    /// What they have more and more of.
    pub of: &'static str,
    /// The program with so many.
    pub program: fn(usize) -> String,
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
    Growing { of: "calls", program: calls },
    Growing { of: "else-ifs", program: else_ifs },
    Growing { of: "loops in loops", program: loops_in_loops },
    Growing { of: "derivatives inside, each of the one before", program: derivatives },
];

/// A program that grows in depth. What a derivative needs of the innermost branch leaves all of them, so that the number of names, though
/// not of operations, grows with depth times text.
pub const NESTED: Growing = Growing { of: "branches in branches", program: branches_in_branches };

fn by_number(n: usize) -> String {
    let mut body = String::new();
    for k in 1..=n {
        let _ = writeln!(body, "let a{k} = if s > {k}.0 {{ a{0} * 2.0 }} else {{ sin(a{0}) }};", k - 1);
    }
    format!("fn f(a0: [f64; n], s: f64) -> f64 {{ {body} sum(a{n}) }}")
}

fn by_data(n: usize) -> String {
    let mut body = String::new();
    for k in 1..=n {
        let _ =
            writeln!(body, "let a{k} = if sum(a{0}) > {k}.0 {{ a{0} * 2.0 }} else {{ sin(a{0}) }};", k - 1);
    }
    format!("fn f(a0: [f64; n]) -> f64 {{ {body} sum(a{n}) }}")
}

fn terms(n: usize) -> String {
    let terms: Vec<String> = (1..=n).map(|k| format!("x * {k}.0 * (y - {k}.5)")).collect();
    format!("fn f(x: f64, y: f64) -> f64 {{ {} }}", terms.join(" + "))
}

fn lines(n: usize) -> String {
    let mut body = String::from("let v0 = x; let v1 = y;\n");
    for k in 2..n + 2 {
        let (a, b) = (k - 1, k - 2);
        let _ = match k % 4 {
            0 => writeln!(body, "let v{k} = v{a} * 0.5 + v{b};"),
            1 => writeln!(body, "let v{k} = v{a} - v{b} / 3.0;"),
            2 => writeln!(body, "let v{k} = (v{a} + v{b}).sin();"),
            _ => writeln!(body, "let v{k} = if v{a} > 0.0 {{ v{a} }} else {{ v{b} }};"),
        };
    }
    format!("fn f(x: f64, y: f64) -> f64 {{ {body} v{} }}", n + 1)
}

fn arrays(n: usize) -> String {
    let mut body = String::from("let v0 = x; let v1 = cos(x);\n");
    for k in 2..n + 2 {
        let _ = writeln!(body, "let v{k} = sin(v{}) * v{} + {k}.0;", k - 1, k - 2);
    }
    format!("fn f(x: [f64; n]) -> f64 {{ {body} sum(v{}) }}", n + 1)
}

fn sums(n: usize) -> String {
    let mut body = String::from("let v0 = x;\n");
    for k in 1..=n {
        let _ = writeln!(body, "let v{k} = sin(v{0}) / (1.0 + sum(v{0} * v{0}));", k - 1);
    }
    format!("fn f(x: [f64; n]) -> f64 {{ {body} sum(v{n}) }}")
}

fn loops(n: usize) -> String {
    let mut body = String::from("let mut s = 0.0;\n");
    for k in 1..=n {
        let _ = writeln!(body, "for i in 0..n {{ s = sin(s * x[i] + {k}.0); }}");
    }
    format!("fn f(x: [f64; n]) -> f64 {{ {body} s }}")
}

fn array_loops(n: usize) -> String {
    let mut body = String::from("let mut a = x;\n");
    for k in 1..=n {
        let _ = writeln!(body, "for i in 1..n {{ a[i] = sin(a[i - 1]) * a[i] + {k}.0; }}");
    }
    format!("fn f(x: [f64; n]) -> f64 {{ {body} sum(a) }}")
}

fn else_ifs(n: usize) -> String {
    let mut body = String::new();
    for k in 1..=n {
        let _ = write!(body, "if x > {k}.0 {{ x * {k}.5 }} else ");
    }
    format!("fn f(x: f64) -> f64 {{ {body} {{ sin(x) }} }}")
}

fn branches_in_branches(n: usize) -> String {
    let (mut before, mut after) = (String::new(), String::new());
    for k in 1..=n {
        let _ = writeln!(before, "if x > 0.{k:03} {{ let y = y.sin() * x; let z =");
        let _ = writeln!(after, "; y * z.cos() }} else {{ y.exp() + {k}.0 }}");
    }
    format!("fn f(x: f64, y: f64) -> f64 {{ {before} y {after} }}")
}

fn loops_in_loops(n: usize) -> String {
    let mut body = String::from("let mut s = 0.0;\n");
    for k in 1..=n {
        let _ = writeln!(body, "for i in 0..n {{ for j in 0..n {{ s = sin(s * x[i] + x[j] * {k}.0); }} }}");
    }
    format!("fn f(x: [f64; n]) -> f64 {{ {body} s }}")
}

fn derivatives(n: usize) -> String {
    let mut body = String::from("let v0 = x;\n");
    for k in 1..=n {
        let _ = writeln!(body, "let v{k} = grad(|y| sum(sin(y) * v{0}))(v{0} * {k}.0);", k - 1);
    }
    format!("fn f(x: [f64; n]) -> f64 {{ {body} sum(v{n}) }}")
}

fn calls(n: usize) -> String {
    let mut body = String::from("let step = |a, c| { let m = maximum(a); exp(a - m) * c };\nlet v0 = x;\n");
    for k in 1..=n {
        let _ = writeln!(body, "let v{k} = step(v{}, {k}.0);", k - 1);
    }
    format!("fn f(x: [f64; n]) -> f64 {{ {body} sum(v{n}) }}")
}
