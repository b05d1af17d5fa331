//! Forms of every rank: what lifts, branches, loops over states of any rank, derivatives.

use super::{Kind, Writer};

impl Writer {
    /// A number, or an array of the same dimensions as the others: both lift.
    fn lifted(&mut self, dims: &[String]) -> String {
        match self.rng.below(4) {
            0 if !dims.is_empty() => self.leaf(&[]),
            1 if dims.len() == 2 => self.leaf(&dims[1..]),
            _ => self.value(dims),
        }
    }

    pub(super) fn arithmetic(&mut self, dims: &[String]) -> String {
        let a = self.value(dims);
        match self.rng.below(12) {
            0..3 => format!("({a} * {})", self.lifted(dims)),
            3..5 => format!("({a} + {})", self.lifted(dims)),
            5 => format!("({} - {a})", self.lifted(dims)),
            6 => {
                let (b, v) = (self.lifted(dims), self.name("b"));
                format!("{{ let {v} = {b}; {a} / ({v} * {v} + 1.0) }}")
            }
            7 => format!("hypot({a}, cos({}) + 2.0)", self.leaf(dims)),
            8 => format!("atan2({a}, exp(sin({})))", self.leaf(dims)),
            9 => {
                let of = ["abs", "floor", "fract", "exp_m1", "sqrt", "ln", "ln_1p", "recip", "cbrt"]
                    [self.rng.below(9)];
                let inner = match of {
                    "abs" | "floor" | "fract" => a,
                    "exp_m1" => format!("sin({a})"),
                    _ => {
                        let v = self.name("b");
                        return format!("{of}({{ let {v} = {a}; {v} * {v} + 0.5 }})");
                    }
                };
                format!("{of}({inner})")
            }
            10 => {
                let b = self.lifted(dims);
                format!("mul_add({a}, 0.5, {b})")
            }
            _ => self.bounded(&a),
        }
    }

    pub(super) fn powers(&mut self, dims: &[String]) -> String {
        let (a, v, s) = (self.value(dims), self.name("b"), self.leaf(&[]));
        match self.rng.below(3) {
            0 => format!("{{ let {v} = {a}; ({v} * {v} + 0.5).powf(sin({s})) }}"),
            1 => format!("sin({a}).powi({})", self.rng.between(0, 3)),
            _ => format!("exp(sin({a})).powf({})", self.constant()),
        }
    }

    pub(super) fn clamped(&mut self, dims: &[String]) -> String {
        let (a, b) = (self.value(dims), self.lifted(dims));
        match self.rng.below(3) {
            0 => format!("min({a}, {b})"),
            1 => format!("max({a}, {b})"),
            _ => format!("({a}).clamp(-0.61, 0.53)"),
        }
    }

    pub(super) fn branch(&mut self, dims: &[String]) -> String {
        let c = self.truth();
        let (a, b) = self.inside(|w| (w.value(dims), w.value(dims)));
        format!("(if {c} {{ {a} }} else {{ {b} }})")
    }

    pub(super) fn matched(&mut self, dims: &[String]) -> String {
        let i = self.int();
        let arms: Vec<String> = self.inside(|w| (0..3).map(|_| w.value(dims)).collect());
        format!("match ({i}) {{ 0 => {}, 1 | 3 => {}, _ => {} }}", arms[0], arms[1], arms[2])
    }

    pub(super) fn special(&mut self, dims: &[String]) -> String {
        let a = self.value(dims);
        match self.rng.below(4) {
            0 => format!("erf({a})"),
            1 => format!("lgamma(2.0 + tanh({a}))"),
            2 => format!("digamma(2.0 + tanh({a}))"),
            _ => format!("erfc({a})"),
        }
    }

    pub(super) fn stopped(&mut self, dims: &[String]) -> String {
        let (a, b) = (self.value(dims), self.leaf(dims));
        format!("(stop_gradient({a}) * {b})")
    }

    /// A call of a kernel for any type.
    pub(super) fn generic(&mut self, dims: &[String]) -> String {
        let (a, b) = (self.value(dims), self.lifted(dims));
        match self.rng.below(3) {
            0 => {
                let (p, s) = (self.name("p"), self.leaf(&[]));
                format!("twice(|{p}| sin({p}) + {s}, {a})")
            }
            _ => format!("waved({a}, {b})"),
        }
    }

    /// The next state of a loop, and what it is called: small whatever the state is.
    fn next(&mut self, dims: &[String], state: &str) -> String {
        let e = self.value(dims);
        let e = format!("{e} + 0.5 * {state}");
        self.bounded(&e)
    }

    /// A loop in order, whose state is a value of these dimensions.
    fn stepped(&mut self, attribute: &str, dims: &[String]) -> String {
        let start = self.leaf(dims);
        // Sequential trips over a dimension, or a few.
        let d = self.extent();
        let few = self.rng.chance(40);
        let trips = if few { self.trips() } else { d.clone() };
        let (h, i, next, guard) = self.inside(|w| {
            let h = w.bind("h", Kind::Float, dims);
            let i = if few { w.name("i") } else { w.axis(&d) };
            let next = w.next(dims, &h);
            (h, i, next, w.rng.chance(20).then(|| w.truth()))
        });
        let step = format!("{h} = {next};");
        let step = guard.map_or(step.clone(), |c| format!("if {c} {{ {step} }}"));
        format!("{{ let mut {h} = {start}; {attribute}for {i} in 0..{trips} {{ {step} }} {h} }}")
    }

    pub(super) fn recurrence(&mut self, dims: &[String]) -> String {
        if self.depth > 0 && dims.is_empty() {
            self.count("`for` at every point");
        }
        self.stepped("", dims)
    }

    /// At each point a loop whose ends the point decides: in a triangle, (1) in a window, or (2) as data say.
    pub(super) fn ragged(&mut self, d: &String, which: usize, dims: &[String]) -> String {
        let (mut before, mut at) = (String::new(), String::new());
        if which == 2 {
            at = self.name("at");
            before = format!("let {at} = {}; ", self.ints(d));
        }
        let built = self.inside(|w| {
            let i = w.axis(d);
            let start = w.leaf(dims);
            let trips = match (which, w.rng.below(3)) {
                (2, 0) => format!("0..{at}[{i}].rem_euclid({d} + 1)"),
                (2, 1) => format!("{at}[{i}].rem_euclid({d} + 1)..{d}"),
                (2, _) => format!("{at}[{i}].rem_euclid(2 * {d} + 1) - {d}..{at}[{i}].rem_euclid({d} + 1)"),
                (0, 0) => format!("0..{i}"),
                (0, 1) => format!("{i} + 1..{d}"),
                (0, _) => format!("0..{d} - {i}"),
                (_, 0) => format!("max(0, {i} - 1)..min({d}, {i} + 2)"),
                (_, 1) => format!("max({i} - 2, 0)..{i}"),
                _ => format!("{i}..min({i} + 2, {d})"),
            };
            let (h, j, next) = w.inside(|w| {
                let h = w.bind("h", Kind::Float, dims);
                let j = w.axis(d);
                // A sum is made apart from what goes through functions.
                let next =
                    if w.rng.chance(40) { format!("{h} + {}", w.value(dims)) } else { w.next(dims, &h) };
                (h, j, next)
            });
            let result = if dims.is_empty() { h.clone() } else { format!("sum({h})") };
            let result = w.bounded(&result);
            // Where a range begins before zero, the trips there do nothing.
            let body = format!("if {j} >= 0 {{ {h} = {next}; }}");
            format!("build({d}, |{i}| {{ let mut {h} = {start}; for {j} in {trips} {{ {body} }} {result} }})")
        });
        format!("{{ {before}{built} }}")
    }

    /// At each point sums over a window that go together.
    pub(super) fn weighed(&mut self, d: &str) -> String {
        self.inside(|w| {
            let i = w.axis(d);
            let (sum, weight) = (w.name("s"), w.name("w"));
            let (j, value, other) = w.inside(|w| {
                let j = w.axis(d);
                (j, w.value(&[]), w.value(&[]))
            });
            let trips = format!("max(0, {i} - 2)..min({d}, {i} + 3)");
            let body = format!("{sum} += tanh({value}); {weight} += {other};");
            let result = w.bounded(&format!("({sum} / (2.0 + {weight} * {weight}))"));
            format!("build({d}, |{i}| {{ let mut {sum} = 0.0; let mut {weight} = 1.0; for {j} in {trips} {{ {body} }} {result} }})")
        })
    }

    /// A sum over all pairs.
    pub(super) fn pairs(&mut self, d: &str) -> String {
        let start = self.leaf(&[]);
        let sum = self.name("e");
        let (i, j, value) = self.inside(|w| {
            let (i, j) = (w.axis(d), w.axis(d));
            (i, j, w.value(&[]))
        });
        let sum_of_pairs = format!(
            "{{ let mut {sum} = {start}; for {i} in 0..{d} {{ for {j} in {i} + 1..{d} {{ {sum} += {value}; }} }} {sum} }}"
        );
        self.bounded(&sum_of_pairs)
    }

    pub(super) fn checkpointed(&mut self, dims: &[String]) -> String {
        let which = ["#[checkpoint] ", "#[checkpoint(every = 2)] ", "#[checkpoint(levels = 2)] "];
        let which = which[self.rng.below(3)];
        self.stepped(which, dims)
    }

    /// A loop that ends by what it computes, after four trips at most.
    pub(super) fn repeated(&mut self, dims: &[String]) -> String {
        let start = self.leaf(dims);
        let c = self.name("c");
        let (h, condition, next) = self.inside(|w| {
            let h = w.bind("h", Kind::Float, dims);
            let size = match dims.len() {
                0 => format!("{h} * {h}"),
                1 => format!("sum({h} * {h})"),
                _ => format!("sum(sum({h} * {h}))"),
            };
            (h.clone(), format!("{size} > 0.17"), w.next(dims, &h))
        });
        format!(
            "{{ let mut {h} = {start}; let mut {c} = 0; while {c} < 4 && {condition} {{ {h} = {next}; {c} += 1; }} {h} }}"
        )
    }

    /// A closure of a value of some dimensions, which gives one of others.
    fn function(&mut self, from: &[String], to: &[String]) -> String {
        let kept = self.fuel;
        self.fuel = kept.min(1);
        let text = self.inside(|w| {
            let p = w.bind("p", Kind::Float, from);
            let e = w.value(to);
            // It depends on its argument.
            let own = match (from.len(), to.len()) {
                (a, b) if a == b && from == to => format!("sin({p})"),
                (0, _) => format!("cos({p})"),
                (1, _) => format!("sum({p} * {p})"),
                _ => format!("sum(sum({p} * {p}))"),
            };
            format!("|{p}| {e} * {own}")
        });
        self.fuel = kept;
        text
    }

    /// What a derivative costs; without means the value as it is.
    fn derivative(&mut self, dims: &[String], write: impl FnOnce(&mut Self) -> String) -> String {
        if self.derivatives == 0 {
            return self.leaf(dims);
        }
        self.derivatives -= 1;
        write(self)
    }

    pub(super) fn gradient(&mut self, dims: &[String]) -> String {
        self.derivative(dims, |w| {
            let f = w.function(dims, &[]);
            let at = w.value(dims);
            let text = match w.rng.below(5) {
                0 => {
                    let (v, g) = (w.name("v"), w.name("g"));
                    w.count("`value_and_grad` inside");
                    format!("{{ let ({v}, {g}) = value_and_grad({f})({at}); {g} * 0.3 + sin({v}) }}")
                }
                1 | 2 if w.depth == 0 => {
                    w.count("`hvp` inside");
                    let along = w.leaf(dims);
                    format!("hvp({f})({at}, {along})")
                }
                _ => format!("grad({f})({at})"),
            };
            w.bounded(&text)
        })
    }

    pub(super) fn linearized(&mut self, dims: &[String]) -> String {
        self.derivative(dims, |w| {
            let other = if w.rng.chance(50) { dims.to_vec() } else { vec![w.extent()] };
            let text = if w.rng.chance(50) {
                let f = w.function(dims, &other);
                let (at, ct) = (w.value(dims), w.leaf(&other));
                format!("vjp({f})({at}, {ct}).1")
            } else {
                let f = w.function(&other, dims);
                let (at, t) = (w.value(&other), w.leaf(&other));
                let part = w.rng.below(2);
                format!("jvp({f})({at}, {t}).{part}")
            };
            w.bounded(&text)
        })
    }
}
