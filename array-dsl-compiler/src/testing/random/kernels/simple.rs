//! What expressions end with: variables, elements, constants, integers, conditions.

use super::{Kind, Named, Writer};

/// Functions with values between -2 and 2.
const BOUNDED: [&str; 5] = ["sin", "cos", "tanh", "atan", "sigmoid"];

impl Writer {
    /// An expression, made small.
    pub(super) fn bounded(&mut self, text: &str) -> String {
        format!("{}({text})", BOUNDED[self.rng.below(BOUNDED.len())])
    }

    /// A constant with a few digits; never an exact half.
    pub(super) fn constant(&mut self) -> String {
        let x = self.rng.float(-1.5, 1.5) + 0.00003;
        if x < 0.0 { format!("(-{:.5})", -x) } else { format!("{x:.5}") }
    }

    /// A variable in sight; later ones are likelier.
    pub(super) fn pick(&mut self, f: impl Fn(&Named) -> bool) -> Option<Named> {
        let list: Vec<Named> = self.scope.iter().filter(|v| f(v)).cloned().collect();
        let late = list[list.len() / 2..].to_vec();
        if self.rng.chance(60) { self.rng.pick(&late) } else { self.rng.pick(&list) }
    }

    /// An expression without forms.
    pub(super) fn leaf(&mut self, dims: &[String]) -> String {
        if self.rng.chance(75)
            && let Some(v) = self.pick(|v| v.kind == Kind::Float && v.dims == dims)
        {
            return v.name;
        }
        match dims {
            [] if self.rng.chance(75) => self.read(),
            [] => self.constant(),
            [d] => {
                let row = self.pick(|v| v.kind == Kind::Float && v.dims.len() == 2 && v.dims[1] == *d);
                let of_row = row.and_then(|v| Some((v.name, self.axis_of(&v.dims[0])?)));
                match of_row {
                    Some((name, i)) => format!("{name}[{i}]"),
                    None => self.inside(|w| {
                        let i = w.axis(d);
                        let e = w.read();
                        format!("build({d}, |{i}| {e})")
                    }),
                }
            }
            _ => self.inside(|w| {
                let indices: Vec<String> = dims.iter().map(|d| w.axis(d)).collect();
                let e = w.read();
                format!("build(({}), |{}| {e})", dims.join(", "), indices.join(", "))
            }),
        }
    }

    /// A small integer that data decide, negative ones among them.
    pub(super) fn any_int(&mut self) -> String {
        let x = self.leaf(&[]);
        format!("((2.7 * sin({x})) as i64)")
    }

    /// An index in sight of that dimension.
    pub(super) fn axis_of(&mut self, d: &str) -> Option<String> {
        let same: Vec<String> = self.axes.iter().filter(|a| a.1 == d).map(|a| a.0.clone()).collect();
        self.rng.pick(&same)
    }

    /// An element of an array in sight, or what stands for it where the index is outside.
    pub(super) fn read(&mut self) -> String {
        let Some(v) = self.pick(|v| v.kind == Kind::Float && !v.dims.is_empty()) else {
            return self.constant();
        };
        self.element(&v)
    }

    fn element(&mut self, v: &Named) -> String {
        let (mut text, mut guards) = (v.name.clone(), Vec::new());
        for d in &v.dims {
            let (i, inside) = self.index(d);
            if !inside {
                guards.push(format!("{i} >= 0 && {i} < {d}"));
            }
            text.push_str(&format!("[{i}]"));
        }
        let other = if v.kind == Kind::Int { "1" } else { "0.3" };
        if guards.is_empty() {
            text
        } else {
            format!("(if {} {{ {text} }} else {{ {other} }})", guards.join(" && "))
        }
    }

    /// An index into a dimension, and whether it is certainly inside.
    pub(super) fn index(&mut self, d: &str) -> (String, bool) {
        if let Some(i) = self.axis_of(d) {
            return match self.rng.below(12) {
                0..7 => (i, true),
                7 => (format!("(({i} + {}) % ({d}))", self.rng.between(1, 3)), true),
                8 => (format!("(({d}) - 1 - {i})"), true),
                9 => (format!("({i} - 1)"), false),
                10 => (format!("({i} + 1)"), false),
                _ => {
                    self.count("indices that data decide");
                    (format!("(({}).rem_euclid({d}))", self.int()), true)
                }
            };
        }
        if let Ok(n) = d.parse::<i64>() {
            return (self.rng.between(0, n - 1).to_string(), true);
        }
        let any: Vec<String> = self.axes.iter().map(|a| a.0.clone()).collect();
        match self.rng.pick(&any) {
            Some(i) => (i, false),
            None => (self.rng.between(0, 3).to_string(), false),
        }
    }

    /// A small integer.
    pub(super) fn int(&mut self) -> String {
        let any: Vec<String> = self.axes.iter().map(|a| a.0.clone()).collect();
        match self.rng.below(8) {
            0..3 if !any.is_empty() => self.rng.pick(&any).unwrap_or_default(),
            0..5 => match self.pick(|v| v.kind == Kind::Int) {
                Some(v) => self.element(&v),
                None => self.rng.between(0, 4).to_string(),
            },
            5 => format!("({} * 3.0) as i64", self.read()),
            6 => {
                let d = self.extent();
                format!("({d})")
            }
            _ => self.rng.between(-1, 4).to_string(),
        }
    }

    /// An integer of 0 to 3.
    pub(super) fn trips(&mut self) -> String {
        let i = self.int();
        format!("({i}).rem_euclid(4)")
    }

    /// Integers, some of them outside of any array.
    pub(super) fn ints(&mut self, d: &str) -> String {
        let known = self.pick(|v| v.kind == Kind::Int && v.dims.len() == 1 && v.dims[0] == d);
        match (known, self.rng.below(6)) {
            (Some(v), 0..3) => v.name,
            (_, 3) => format!("(iota({d}) * 2 - 1)"),
            (_, 4) => {
                self.count("`argsort`");
                format!("argsort({})", self.leaf(&[d.to_string()]))
            }
            _ => self.inside(|w| {
                let i = w.axis(d);
                let e = w.int();
                format!("build({d}, |{i}| {e})")
            }),
        }
    }

    /// A condition.
    pub(super) fn truth(&mut self) -> String {
        match self.rng.below(8) {
            0..4 => {
                let (a, b) = (self.number(), self.leaf(&[]));
                format!("{a} > {b}")
            }
            4..6 => {
                let (a, b) = (self.int(), self.int());
                let op = ["<", "<=", "==", "!="][self.rng.below(4)];
                format!("({a}) {op} ({b})")
            }
            6 => {
                let d = self.extent();
                let of = ["any", "all"][self.rng.below(2)];
                let v = self.leaf(&[d]);
                let c = self.constant();
                format!("{of}({v} > {c})")
            }
            _ => {
                let (a, b) = (self.leaf(&[]), self.constant());
                let i = self.int();
                let op = ["&&", "||"][self.rng.below(2)];
                format!("!({a} < {b}) {op} ({i}) > 1")
            }
        }
    }
}
