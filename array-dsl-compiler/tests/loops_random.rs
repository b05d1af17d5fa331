//! Random programs of loops and assignments mean the same whether their loops stay parallel or are made to run in order.
//!
//! Each program is elaborated twice, the second time with one more statement in every loop that makes it
//! sequential: it carries a number from trip to trip. Integers only, so that results agree exactly.

use std::fmt::Write as _;

use array_dsl_compiler::core::{self, Function};
use array_dsl_compiler::diagnostics::Diagnostics;
use array_dsl_compiler::testing::compare::Failing;
use array_dsl_compiler::testing::numbers::Rng;
use array_dsl_compiler::testing::{kernels, meaning};
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::{Fault, Value};

/// A program under construction.
struct Program {
    rng: Rng,
    text: String,
    /// The indices in scope.
    indices: Vec<String>,
    /// The numbers bound in loops.
    locals: Vec<String>,
    names: usize,
}

impl Program {
    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n)
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.below(from.len())].to_string()
    }

    fn index(&mut self) -> String {
        match self.below(8) {
            0 => self.pick(&["0", "1", "n - 1"]),
            1 if !self.indices.is_empty() => {
                let i = self.below(self.indices.len());
                format!("{} + 1", self.indices[i])
            }
            2 => "(x[0] % 2).abs()".into(),
            _ if self.indices.is_empty() => "0".into(),
            _ => {
                let i = self.below(self.indices.len());
                self.indices[i].clone()
            }
        }
    }

    /// A part of an array that is a number.
    fn element(&mut self) -> String {
        let (i, j) = (self.index(), self.index());
        match self.below(3) {
            0 => format!("b[{i}][{j}]"),
            k => format!("a{k}[{i}]"),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0 => self.pick(&["1", "2", "-3"]),
            1 => {
                let i = self.index();
                format!("x[{i}]")
            }
            2 if !self.indices.is_empty() => {
                let i = self.below(self.indices.len());
                self.indices[i].clone()
            }
            3 if !self.locals.is_empty() => {
                let i = self.below(self.locals.len());
                self.locals[i].clone()
            }
            // What the loops change is read now and then.
            4 if self.below(5) == 0 => self.element(),
            4 if self.below(5) == 0 => self.pick(&["s", "t"]),
            5 => format!("({} * {})", self.number(depth - 1), self.number(depth - 1)),
            6 => format!("({} - {})", self.number(depth - 1), self.number(depth - 1)),
            7 => format!("{}.max({})", self.number(0), self.number(depth - 1)),
            _ => "x[0]".into(),
        }
    }

    fn update(&mut self, target: &str) {
        let e = self.number(2);
        let text = match self.below(8) {
            0 => format!("{target} = {e};"),
            1 => format!("{target} -= {e};"),
            2 => format!("{target} *= {e};"),
            3 => format!("{target} = {target}.min({e});"),
            4 => format!("{target} = {target} + {e} + 1;"),
            _ => format!("{target} += {e};"),
        };
        self.text.push_str(&text);
    }

    fn statement(&mut self, depth: usize) {
        match self.below(if depth == 0 { 4 } else { 8 }) {
            0 => {
                let target = self.pick(&["s", "t"]);
                self.update(&target);
            }
            1 if self.below(3) == 0 => {
                let i = self.index();
                let e = self.number(1);
                let _ = write!(self.text, "b[{i}] += {e};");
            }
            1 if self.below(3) == 0 => self.text.push_str("a1 += x;"),
            1..=3 => {
                let target = self.element();
                self.update(&target);
            }
            4 => {
                let condition = format!("{} > {}", self.number(1), self.number(1));
                let _ = write!(self.text, "if {condition} {{");
                let locals = self.locals.len();
                self.statement(depth - 1);
                self.locals.truncate(locals);
                if self.below(2) == 0 {
                    self.text.push_str("} else {");
                    self.statement(depth - 1);
                    self.locals.truncate(locals);
                }
                self.text.push('}');
            }
            5 if !self.indices.is_empty() => {
                let name = format!("l{}", self.names);
                self.names += 1;
                let e = self.number(2);
                let _ = write!(self.text, "let mut {name} = {e};");
                self.update(&name.clone());
                self.locals.push(name);
            }
            _ => self.looped(depth),
        }
    }

    fn looped(&mut self, depth: usize) {
        let name = format!("i{}", self.names);
        self.names += 1;
        let (indices, locals) = (self.indices.len(), self.locals.len());
        let range = match self.below(8) {
            0 => "1..n".into(),
            1 => "0..n - 1".into(),
            2 => "1..n - 1".into(),
            3 => "(0..n).rev()".into(),
            4 => "0..k".into(),
            5 if indices > 0 => format!("0..{}", self.indices[self.rng.below(indices)]),
            _ => "0..n".into(),
        };
        let _ = write!(self.text, "for {name} in {range} {{ ORDER ");
        self.indices.push(name);
        for _ in 0..1 + self.below(3) {
            self.statement(depth - 1);
        }
        self.text.push('}');
        self.indices.truncate(indices);
        self.locals.truncate(locals);
    }
}

fn program(seed: u64) -> String {
    let mut p = Program {
        rng: Rng::new(seed),
        text: String::new(),
        indices: Vec::new(),
        locals: Vec::new(),
        names: 0,
    };
    p.looped(3);
    if p.below(2) == 0 {
        p.statement(2);
    }
    format!(
        "fn f(x: [i64; n], c: [[i64; n]; n], k: usize) -> (i64, i64, [i64; n], [i64; n], [[i64; n]; n]) {{
            let (mut s, mut t) = (0, 100); let (mut a1, mut a2, mut b) = (x, 2 * x, c); let mut order = 0;
            {}
            (s, t, a1, a2, b)
        }}",
        p.text
    )
}

fn elaborate(text: &str) -> Function {
    let mut diagnostics = Diagnostics::default();
    let f = kernels::front(text, &mut diagnostics);
    f.unwrap_or_else(|| panic!("{text}\n{:#?}", diagnostics.list())).function
}

#[test]
fn loops_mean_the_same_parallel_and_in_order() {
    let (mut parallel, mut values) = (0, 0);
    for seed in 0..600 {
        let text = program(seed);
        let f = elaborate(&text.replace("ORDER", ""));
        let g = elaborate(&text.replace("ORDER", "order = 2 * order - 3;"));
        parallel += usize::from(!core::print::print(&f).contains("loop"));
        let mut rng = Rng::new(seed);
        for n in [0, 1, 2, 4] {
            let mut ints = |shape: Vec<usize>| {
                let data: Vec<i64> = (0..shape.iter().product()).map(|_| rng.between(-4, 4)).collect();
                Value::from_i64(Elem::I64, shape, &data).expect("the data fill the shape")
            };
            let args = [ints(vec![n]), ints(vec![n, n]), ints(Vec::new())];
            let (a, b) = (meaning::run(&f, &args), meaning::run(&g, &args));
            values += usize::from(a.is_ok());
            let same = match (&a, &b) {
                (Ok(a), Ok(b)) => a == b,
                (Err(Fault::Internal { .. }), _) | (_, Err(Fault::Internal { .. })) => false,
                // What fails may be of no use to the results.
                (Ok(a), Err(_)) => Failing::new(&g, &args).results.is_some_and(|b| *a == b),
                (Err(_), b) => b.is_err(),
            };
            assert!(same, "seed {seed}, n = {n}\n{text}\n{a:?}\n{b:?}\n{}", core::print::print(&f));
        }
    }
    assert!(parallel > 200 && values > 1200, "{parallel} programs are parallel, {values} runs succeed");
}
