//! Random kernels as users write them: every construct of [`constructs::CONSTRUCTS`] and of the language beside it.
//!
//! [`write`](fn@write) is a function of its seed alone. A kernel binds a few numbers, vectors and matrices one after another, and gives
//! the sum of whatever nothing else used, or some of it as it is. Each value is made by a [`Form`], chosen from one table
//! for each rank; the forms call one another with less and less fuel, in closures, branches and loops as well.
//!
//! * Types are right by construction: a value is asked for by its dimensions, which are texts: `n`, `m`, `n + 1`, a number.
//! * Indices are inside by construction or guarded, but where the construct permits others.
//! * Values stay small: what grows goes through bounded functions, loops have few trips.
//! * The operators of reductions and scans are associative, their neutral elements neutral.
//!
//! | file | subject |
//! |---|---|
//! | `simple` | indices, integers, truth values, what ends an expression |
//! | `numbers`, `vectors`, `matrices` | the forms of each rank |
//! | `shared` | forms of every rank: branches, loops, derivatives |
//!
//! [`constructs::CONSTRUCTS`]: crate::testing::constructs::CONSTRUCTS

use std::collections::BTreeMap;

use crate::testing::numbers::Rng;

mod matrices;
mod numbers;
mod shared;
mod simple;
mod vectors;

/// A kernel's text, and how often it has each construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// For [`kernels::kernel`](crate::testing::kernels::kernel).
    pub source: String,
    /// By the names of the list of constructs; a few that are not in it have names of their own.
    pub constructs: BTreeMap<&'static str, usize>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Int,
}

/// A variable of the kernel.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    kind: Kind,
    dims: Vec<String>,
}

/// A way to make a value of some dimensions.
struct Form {
    /// The construct that it is counted as.
    name: &'static str,
    /// Whether it has a size that only data tell, so that it stands outside all closures and loops.
    outside: bool,
    write: fn(&mut Writer, &[String]) -> String,
}

/// A form that stands anywhere.
const fn form(name: &'static str, write: fn(&mut Writer, &[String]) -> String) -> Form {
    Form { name, outside: false, write }
}

/// A form that stands outside all closures and loops.
const fn outside(name: &'static str, write: fn(&mut Writer, &[String]) -> String) -> Form {
    Form { name, outside: true, write }
}

struct Writer {
    rng: Rng,
    /// Variables in sight.
    scope: Vec<Named>,
    /// Indices in sight, and the dimensions that they are of.
    axes: Vec<(String, String)>,
    /// How many names there are.
    names: usize,
    /// How deep forms may be nested.
    fuel: usize,
    /// How many more forms the kernel may have.
    left: usize,
    /// How many closures and loops are around.
    depth: usize,
    /// How many more derivatives the kernel may take.
    derivatives: usize,
    constructs: BTreeMap<&'static str, usize>,
}

/// What a kernel's text begins with if it has any of the words.
const BEFORE: &[(&[&str], &str)] =
    &[(&["bent(", "mixed("], CALLED), (&["waved(", "twice("], GENERIC), (&["paired("], RECORD)];

/// The kernels that a kernel calls: one with its own derivative, the rule that is it, and one without.
const CALLED: &str = "
fn bent_rule(a: [f64; k], ct: [f64; k]) -> [f64; k] { ct * (1.0 - a.tanh() * a.tanh()) }
#[kernel(vjp = bent_rule)]
fn bent(a: [f64; k]) -> [f64; k] { a.tanh() }
fn mixed(a: [f64; k], s: f64) -> ([f64; k], f64) { (reverse(a) * s, sum(a).sin()) }
";

/// A generic kernel, and one that takes a function.
const GENERIC: &str = "
fn waved<T: Float>(a: T, b: T) -> T { sin(a) * b + 0.5 * a }
fn twice<T>(f: impl Fn(T) -> T, a: T) -> T { f(f(a)) }
";

/// A record, and a kernel that gives one.
const RECORD: &str = "
#[derive(Record)]
struct Pair { #[shape(k)] a: Array1<f64>, b: f64 }
fn paired(a: [f64; k], b: f64) -> Pair { Pair { a: cos(a), b: b * 0.5 } }
";

/// The kernel of a seed.
pub fn write(seed: u64) -> Written {
    let mut w = Writer {
        rng: Rng::new(seed.wrapping_mul(3).wrapping_add(1)),
        scope: Vec::new(),
        axes: Vec::new(),
        names: 0,
        fuel: 3,
        left: 6,
        depth: 0,
        derivatives: 1,
        constructs: BTreeMap::new(),
    };
    let params = w.params();
    let mut body = String::new();
    let first = w.scope.len();
    for _ in 0..1 + w.rng.below(3) {
        let dims = w.dims();
        let value = w.value(&dims);
        let name = w.bind("v", Kind::Float, &dims);
        body.push_str(&format!("    let {name} = {value};\n"));
    }
    // What nothing uses, so that nothing is written in vain.
    let bound: Vec<Named> = w.scope[first..].to_vec();
    let unused: Vec<&Named> = bound.iter().filter(|v| uses(&body, &v.name) < 2).collect();
    let (ty, result) = if w.rng.chance(25) {
        let shown: Vec<&Named> = unused.into_iter().rev().take(3).collect();
        let types: Vec<String> = shown.iter().map(|v| array_type(&v.dims)).collect();
        let names: Vec<String> = shown.iter().map(|v| v.name.clone()).collect();
        match names.as_slice() {
            [one] => (types[0].clone(), one.clone()),
            _ => (format!("({})", types.join(", ")), format!("({})", names.join(", "))),
        }
    } else {
        ("f64".into(), unused.into_iter().map(total).collect::<Vec<_>>().join(" + "))
    };
    let is_called = |words: &[&str]| words.iter().any(|word| body.contains(word));
    let before: String = BEFORE.iter().filter(|b| is_called(b.0)).map(|b| b.1).collect();
    let source = format!("{before}fn random({params}) -> {ty} {{\n{body}    {result}\n}}\n");
    Written { source, constructs: w.constructs }
}

/// How often a name stands in a text.
fn uses(text: &str, name: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| *word == name).count()
}

fn array_type(dims: &[String]) -> String {
    dims.iter().rev().fold("f64".into(), |ty, d| format!("[{ty}; {d}]"))
}

/// The sum of all elements, weighted by position so that no two count the same.
fn total(v: &Named) -> String {
    let name = &v.name;
    match v.dims.as_slice() {
        [] => name.clone(),
        [d] => format!("sum({name} * (iota({d}) as f64 + 0.75))"),
        _ => {
            let d = v.dims[v.dims.len() - 1].as_str();
            format!("sum(sum({name} * (iota({d}) as f64 + 0.75)) * (iota(len({name})) as f64 + 0.5))")
        }
    }
}

impl Writer {
    fn params(&mut self) -> String {
        let mut chosen: Vec<(&str, Kind, &[&str], &str)> = if self.rng.chance(50) {
            vec![("a", Kind::Float, &["n", "m"], "[[f64; m]; n]")]
        } else {
            vec![("x", Kind::Float, &["n"], "[f64; n]"), ("y", Kind::Float, &["m"], "[f64; m]")]
        };
        let more: [(&str, Kind, &[&str], &str); 5] = [
            ("s", Kind::Float, &[], "f64"),
            ("k", Kind::Int, &["n"], "[i64; n]"),
            ("t", Kind::Int, &[], "i64"),
            ("z", Kind::Float, &["n"], "[f64; n]"),
            ("q", Kind::Float, &["n", "n"], "[[f64; n]; n]"),
        ];
        for _ in 0..1 + self.rng.below(2) {
            let param = more[self.rng.below(more.len())];
            if chosen.iter().all(|c| c.0 != param.0) {
                chosen.push(param);
            }
        }
        for (name, kind, dims, _) in &chosen {
            let dims = dims.iter().map(ToString::to_string).collect();
            self.scope.push(Named { name: name.to_string(), kind: *kind, dims });
        }
        chosen.iter().map(|(name, _, _, ty)| format!("{name}: {ty}")).collect::<Vec<_>>().join(", ")
    }

    /// A new name, not in sight yet.
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A new name in sight.
    fn bind(&mut self, prefix: &str, kind: Kind, dims: &[String]) -> String {
        let name = self.name(prefix);
        self.scope.push(Named { name: name.clone(), kind, dims: dims.to_vec() });
        name
    }

    fn count(&mut self, construct: &'static str) {
        *self.constructs.entry(construct).or_default() += 1;
    }

    /// What `f` writes within a closure or a loop: the names that it binds are seen by nobody else.
    fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let (scope, axes) = (self.scope.len(), self.axes.len());
        self.depth += 1;
        let text = f(self);
        self.depth -= 1;
        self.scope.truncate(scope);
        self.axes.truncate(axes);
        text
    }

    /// An index of a dimension, in sight.
    fn axis(&mut self, d: &str) -> String {
        let name = self.name("i");
        self.axes.push((name.clone(), d.to_string()));
        name
    }

    /// A dimension.
    fn extent(&mut self) -> String {
        match self.rng.below(12) {
            0..5 => "n".into(),
            5..9 => "m".into(),
            9 => "n + 1".into(),
            _ => self.rng.between(1, 3).to_string(),
        }
    }

    /// The dimensions of a number, vector or matrix.
    fn dims(&mut self) -> Vec<String> {
        let rank = [0, 0, 1, 1, 1, 1, 2][self.rng.below(7)];
        (0..rank).map(|_| self.extent()).collect()
    }

    /// An expression of these dimensions.
    fn value(&mut self, dims: &[String]) -> String {
        if self.fuel == 0 || self.left == 0 || (self.depth > 0 && self.rng.chance(15)) {
            return self.leaf(dims);
        }
        let table = match dims.len() {
            0 => numbers::FORMS,
            1 => vectors::FORMS,
            _ => matrices::FORMS,
        };
        let k = self.rng.below(table.len());
        let chosen = &table[k];
        if chosen.outside && self.depth > 0 {
            return self.leaf(dims);
        }
        self.left -= 1;
        self.fuel -= 1;
        self.count(chosen.name);
        let text = (chosen.write)(self, dims);
        self.fuel += 1;
        // At the beginning of a block these would be statements.
        if text.starts_with('{') || text.starts_with("match") { format!("({text})") } else { text }
    }

    fn number(&mut self) -> String {
        self.value(&[])
    }

    fn vector(&mut self, d: &str) -> String {
        self.value(&[d.to_string()])
    }

    fn matrix(&mut self, r: &str, c: &str) -> String {
        self.value(&[r.to_string(), c.to_string()])
    }
}
