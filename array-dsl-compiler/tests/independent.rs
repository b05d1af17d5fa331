//! Random loops in loops that write in place at indices that their counters make, or that trips compute from data: values through every stage, derivatives in both
//! modes against each other and against differences. Whether trips need each other, whether what is undone is read, whether a point
//! reads what another one writes: every answer that is wrong gives wrong numbers here.

use std::fmt::Write as _;

use array_dsl_compiler::bulk::Stm;
use array_dsl_compiler::testing::compare::{Checked, Derived, Modes, Stages};
use array_dsl_compiler::testing::kernels::kernel;
use array_dsl_compiler::testing::numbers::Rng;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};

struct Program {
    rng: Rng,
    text: String,
    /// The counters in scope.
    counters: Vec<String>,
    /// The indices in scope that a trip computes.
    computed: Vec<String>,
    loops: usize,
}

impl Program {
    fn pick(&mut self, from: &[&str]) -> String {
        from[self.rng.below(from.len())].to_string()
    }

    fn counter(&mut self) -> String {
        let at = self.rng.below(self.counters.len());
        self.counters[at].clone()
    }

    /// An index between 0 and 13, as counters are below 4.
    fn index(&mut self) -> String {
        if !self.computed.is_empty() && self.rng.below(3) == 0 {
            let at = self.rng.below(self.computed.len());
            let (p, i) = (self.computed[at].clone(), self.counter());
            return match self.rng.below(4) {
                0 => format!("{p} + 1"),
                1 => format!("{p} + {i}"),
                2 => format!("13 - {p}"),
                _ => p,
            };
        }
        let (i, j) = (self.counter(), self.counter());
        match self.rng.below(8) {
            0 => self.pick(&["0", "3", "5", "9"]),
            1 => format!("{i} + {j}"),
            2 => format!("{i} + 4 - {j}"),
            3 => format!("7 - {i}"),
            4 => format!("{i} + 1"),
            5 => format!("2 * {i} + {j}"),
            _ => i,
        }
    }

    fn element(&mut self, array: &str) -> String {
        match array {
            "a" => format!("a[{}][{}]", self.index(), self.index()),
            _ => format!("{array}[{}]", self.index()),
        }
    }

    fn value(&mut self) -> String {
        let mut terms = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let array = self.pick(&["a", "a", "b"]);
            let element = self.element(&array);
            terms.push(match self.rng.below(4) {
                0 => format!("x[{}] * {element}", self.index()),
                1 => format!("sin({element})"),
                _ => format!("0.5 * {element}"),
            });
        }
        terms.join(" + ")
    }

    fn statement(&mut self, depth: usize) {
        if depth > 0 && self.rng.below(3) > 0 {
            return self.looped(depth);
        }
        if self.rng.below(5) == 0 {
            self.compute();
        }
        let array = self.pick(&["a", "a", "b"]);
        let (target, value, counter) = (self.element(&array), self.value(), self.counter());
        let text = match self.rng.below(6) {
            0 => format!("{target} += {value};"),
            1 => format!("{target} -= {value};"),
            2 => format!("if {counter} > 1 {{ {target} = {value}; }}"),
            3 => {
                let (k, element) = (format!("k{}", self.loops), self.element("a"));
                self.loops += 1;
                let term = format!("0.1 * b[{k}] * {element}");
                format!("let mut s = {value}; for {k} in 0..{counter} {{ s -= {term}; }} {target} = s;")
            }
            _ => format!("{target} = {value};"),
        };
        self.text.push_str(&text);
    }

    /// An index between 0 and 9 that data decide, as a pivot's row is.
    fn compute(&mut self) {
        let array = self.pick(&["a", "b", "x"]);
        let (name, element) = (format!("p{}", self.loops), self.element(&array));
        self.loops += 1;
        let any = format!("(9.0 * abs(sin({element}))) as i64");
        // The compiler does not see the bounds of the former.
        let index = self.pick(&["any", "min(max(any, 0), 9)"]).replace("any", &any);
        let _ = write!(self.text, "let {name} = {index};");
        self.computed.push(name);
    }

    fn looped(&mut self, depth: usize) {
        let name = format!("i{}", self.loops);
        self.loops += 1;
        let range = match (self.rng.below(6), self.counters.last().cloned()) {
            (0, Some(i)) => format!("0..{i}"),
            (1, Some(i)) => format!("{i} + 1..n"),
            (2, Some(i)) => format!("{i} + 2..n"),
            (3, _) => "1..n".into(),
            (4, _) => "(0..n).rev()".into(),
            _ => "0..n".into(),
        };
        let _ = write!(self.text, "for {name} in {range} {{");
        self.counters.push(name);
        let outside = self.computed.len();
        for _ in 0..1 + self.rng.below(2) {
            self.statement(depth - 1);
        }
        self.counters.pop();
        self.computed.truncate(outside);
        self.text.push('}');
    }
}

fn program(seed: u64) -> String {
    let (rng, text) = (Rng::new(seed), String::new());
    let mut p = Program { rng, text, counters: Vec::new(), computed: Vec::new(), loops: 0 };
    p.looped(3);
    p.looped(2);
    format!(
        "fn f(y: [[f64; 14]; 14], z: [f64; 14], x: [f64; 14], n: usize) -> ([[f64; 14]; 14], [f64; 14]) {{
            let mut a = y; let mut b = z; {} (a, b)
        }}",
        p.text
    )
}

#[test]
fn loops_in_place_mean_what_their_order_says() {
    let count: u64 = std::env::var("ARRAY_DSL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut done, mut written, mut left) = (Derived::default(), 0, 0);
    for seed in 0..count {
        let text = program(seed);
        let f = kernel(&text);
        let stages = Stages::new(&f).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
        let modes = Modes::of(stages.program()).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
        written += text.matches("for ").count();
        left += loops(&stages.program().stms);
        for n in [0, 1, 4] {
            let ranges = Ranges { sizes: (14, 14), integers: (n, n), floats: (-1.0, 1.0) };
            let args = arguments_within(&f, seed, &ranges);
            let found = stages.values(&args).unwrap_or_else(|e| panic!("{seed}, n = {n}: {e}\n{text}"));
            assert_eq!(found, Checked::Agree, "{seed}, n = {n}\n{text}");
            if let Some(modes) = &modes {
                done += modes
                    .check(&args, seed, 1, false)
                    .unwrap_or_else(|e| panic!("{seed}, n = {n}: {e}\n{text}"));
            }
        }
    }
    println!(
        "{written} loops, {left} of them in order; {} identities, {} differences",
        done.identities, done.differences
    );
    assert!(left < written * 9 / 10, "{left} of {written} loops are in order");
    assert!(done.identities > 0 && done.differences > 0);
}

/// How many loops there are.
fn loops(stms: &[Stm]) -> usize {
    let inside = |s: &Stm| if let Stm::Repeat(r) = s { 1 + loops(&r.body) } else { 0 };
    stms.iter().map(inside).sum()
}
