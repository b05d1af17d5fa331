//! Bulk as text: `print` writes what `parse` reads. Places are left out, so that texts do not change when a
//! comment of the user's source does.
//!
//! ```text
//! program nll(w.0: [d][c]f64, no_grad x.1: [n][d]f64) sizes d, c, n
//!   t.2: [n][c]f64 = nest [%0 < n, %1 < c, %2 < d] {
//!     %3 = x.1[%0, %2]
//!     %4 = w.0[%2, %1]?
//!     %5 = mul %3 %4
//!   } reduce(add) 1 %5
//!   m.3: [n]f64 = nest [%6 < n, %7 < c] { %8 = t.2[%6, %7] } reduce(max) 1 %8
//!   => (t.2, m.3)
//! ```
//!
//! An array is `name.id`, a scalar `%id`; `?` after a read marks it checked. Types stand where arrays are bound;
//! those of scalars follow. An `i64` constant has no suffix. A nest with several results lists them after
//! `yields`; a parameter that is a tuple, or named unlike its array, is `p = (a.0: f64, b.1: [n]f64)`. White
//! space, line breaks and `;` only separate.

use super::{
    ArrayId, ArrayInfo, Atom, Axis, Body, Branch, Custom, Exp, Item, Let, Nest, Param, Program, Repeat, Scan,
    Stm, Strip, Trips, Var, Yield, YieldKind,
};
use super::{Check, CheckKind};
use crate::dim::Dim;
use crate::ty::{Const, Elem, Name, Tree};

/// The longest line that is not broken.
const WIDTH: usize = 110;

/// The program as text, without places.
pub fn print(p: &Program) -> String {
    let text = Text { arrays: p.arrays.clone() };
    let mut out = text.header(&p.name, &p.params, &p.sizes);
    out.push_str(&text.strips(&p.strips));
    for stm in &p.stms {
        text.stm(stm, 1, &mut out);
    }
    out.push_str(&format!("  => {}\n", text.result(&p.result)));
    out
}

/// What a text needs to know of its program, shared with the printer of Loops.
pub(crate) struct Text {
    /// The arrays, by id.
    pub(crate) arrays: Vec<ArrayInfo>,
}

/// `text` as a word of printed IR: characters with a meaning of their own become `_`.
fn word(text: &str) -> String {
    let plain = |c: char| if is_word(c) { c } else { '_' };
    if text.is_empty() { "_".into() } else { text.chars().map(plain).collect() }
}

/// Whether words of printed IR are made of this character.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '\'' | '#' | '$')
}

/// A constant as text: `1.5f64`, `-inf_f32`, `3i32`, `3` for `i64`, `true`.
pub(crate) fn constant(c: Const) -> String {
    let (elem, x) = (c.elem, c.as_f64());
    match elem {
        Elem::F32 | Elem::F64 if x.is_nan() => format!("nan_{elem}"),
        Elem::F32 | Elem::F64 if x.is_infinite() => format!("{}inf_{elem}", if x < 0.0 { "-" } else { "" }),
        Elem::F32 => format!("{:?}{elem}", x as f32),
        Elem::F64 => format!("{x:?}{elem}"),
        Elem::Bool => c.as_bool().to_string(),
        Elem::I64 => c.as_i64().to_string(),
        Elem::I32 | Elem::U32 | Elem::C32 | Elem::C64 | Elem::Infer(_) => format!("{}{elem}", c.as_i64()),
    }
}

/// A scalar or constant as text.
pub(crate) fn atom(a: Atom) -> String {
    match a {
        Atom::Var(v) => format!("%{}", v.0),
        Atom::Const(c) => constant(c),
    }
}

/// Items with commas between them.
pub(crate) fn list<T>(items: impl IntoIterator<Item = T>, f: impl FnMut(T) -> String) -> String {
    items.into_iter().map(f).collect::<Vec<_>>().join(", ")
}

fn indentation(depth: usize) -> String {
    "  ".repeat(depth)
}

impl Text {
    /// `x.1`.
    pub(crate) fn array(&self, a: ArrayId) -> String {
        format!("{}.{}", word(self.arrays.get(a.0 as usize).map_or("", |i| &i.name)), a.0)
    }

    /// `n * m - 1`.
    pub(crate) fn dim(&self, d: &Dim) -> String {
        d.show(&|s| self.array(ArrayId(s)))
    }

    /// `x.1: [n][d]f64`.
    pub(crate) fn binding(&self, a: ArrayId) -> String {
        let Some(info) = self.arrays.get(a.0 as usize) else { return format!("{}: ?", self.array(a)) };
        let dims: String = info.dims.iter().map(|d| format!("[{}]", self.dim(d))).collect();
        format!("{}: {dims}{}", self.array(a), info.elem)
    }

    /// `x.1[%3, %5]`.
    pub(crate) fn element(&self, a: ArrayId, index: &[Atom]) -> String {
        format!("{}[{}]", self.array(a), list(index, |i| atom(*i)))
    }

    /// `%3 < n, %4 < c`.
    pub(crate) fn axes(&self, axes: &[Axis]) -> String {
        list(axes, |x| format!("%{} < {}", x.var.0, self.dim(&x.extent)))
    }

    /// The first line of a program.
    pub(crate) fn header(&self, name: &Name, params: &[Param], sizes: &[Name]) -> String {
        let params = list(params, |p| {
            let active = if p.active { "" } else { "no_grad " };
            match &p.arrays {
                Tree::Leaf(a) if self.arrays.get(a.0 as usize).is_some_and(|i| i.name == p.name) => {
                    format!("{active}{}", self.binding(*a))
                }
                arrays => format!("{active}{} = {}", word(&p.name), self.tree(arrays, &|a| self.binding(a))),
            }
        });
        let sizes =
            if sizes.is_empty() { String::new() } else { format!(" sizes {}", list(sizes, |s| word(s))) };
        format!("program {}({params}){sizes}\n", word(name))
    }

    /// The sizes that the host chooses, a line each.
    pub(crate) fn strips(&self, strips: &[Strip]) -> String {
        let line = |s: &Strip| {
            let (trips, width) = (word(&s.trips), word(&s.width));
            format!(
                "  strip {trips} times {width} of {} each {} bytes\n",
                self.dim(&s.total),
                self.dim(&s.bytes)
            )
        };
        strips.iter().map(line).collect()
    }

    fn tree(&self, tree: &Tree<ArrayId>, leaf: &dyn Fn(ArrayId) -> String) -> String {
        match tree {
            Tree::Leaf(a) => leaf(*a),
            Tree::Tuple(parts) => format!("({})", list(parts, |t| self.tree(t, leaf))),
        }
    }

    /// The arrays of a result.
    pub(crate) fn result(&self, tree: &Tree<ArrayId>) -> String {
        self.tree(tree, &|a| self.array(a))
    }

    /// A check, with the guards after `if`.
    pub(crate) fn check(&self, c: &Check) -> String {
        let condition = match &c.kind {
            CheckKind::Equal(a, b) => format!("{} == {}", self.dim(a), self.dim(b)),
            CheckKind::NonNegative(d) => format!("nonnegative {}", self.dim(d)),
            CheckKind::AtLeast(lo, d) => format!("{} <= {}", self.dim(lo), self.dim(d)),
        };
        let guards = list(&c.guards, |g| format!("{} > 0", self.dim(g)));
        if guards.is_empty() {
            format!("check {condition}")
        } else {
            format!("check {condition} if {guards}")
        }
    }

    /// `y.5: [n]f64 = custom y.4 of x.1, k.2 by rule 0`.
    fn custom(&self, c: &Custom) -> String {
        let arrays = |arrays: &[ArrayId]| list(arrays, |a| self.array(*a));
        let results = list(&c.results, |a| self.binding(*a));
        format!("{results} = custom {} of {} by rule {}", arrays(&c.values), arrays(&c.args), c.rule)
    }

    fn stm(&self, stm: &Stm, depth: usize, out: &mut String) {
        if depth > 1 {
            // Statements of a loop's body are shifted as a whole.
            let mut text = String::new();
            self.stm(stm, 1, &mut text);
            let pad = indentation(depth - 1);
            return text.lines().for_each(|l| out.push_str(&format!("{pad}{l}\n")));
        }
        match stm {
            Stm::Nest(n) => self.nest(n, out),
            Stm::Repeat(r) => self.repeat(r, out),
            Stm::Sort(s) => {
                out.push_str(&format!("  {} = argsort {}\n", self.binding(s.result), self.array(s.keys)));
            }
            Stm::Reshape { result, source } => {
                out.push_str(&format!("  {} = reshape {}\n", self.binding(*result), self.array(*source)));
            }
            Stm::Check(c, _) => out.push_str(&format!("  {}\n", self.check(c))),
            Stm::Call(c) => {
                let results = list(&c.results, |a| self.binding(*a));
                let args = list(&c.args, |a| self.array(*a));
                out.push_str(&format!("  {results} = call {} of {args}\n", c.routine.name()));
            }
            Stm::Custom(c) => out.push_str(&format!("  {}\n", self.custom(c))),
        }
    }

    /// `r.5: [n]f64 = repeat i.3 < n with s.4: [n]f64 = a.1 {`, the body, `=> x.9 }`.
    fn repeat(&self, r: &Repeat, out: &mut String) {
        let trips = match &r.trips {
            Trips::For(index, count) => format!("{} < {}", self.array(*index), self.dim(count)),
            Trips::While(state) => format!("while {}", self.array(*state)),
        };
        let results = list(&r.carried, |c| self.binding(c.result));
        let states = list(&r.carried, |c| format!("{} = {}", self.binding(c.state), self.array(c.start)));
        out.push_str(&format!("  {results} = repeat {trips} with {states} {{\n"));
        r.body.iter().for_each(|s| self.stm(s, 2, out));
        out.push_str(&format!("    => {}\n  }}\n", list(&r.carried, |c| self.array(c.next))));
    }

    fn nest(&self, n: &Nest, out: &mut String) {
        let (before, after) = match n.yields.as_slice() {
            [y] => (format!("{} = ", self.binding(y.array)), format!(" {}", self.yield_kind(&y.kind))),
            [] => Default::default(),
            several => (String::new(), self.yields(several)),
        };
        let head = format!("  {before}nest [{}] {{", self.axes(&n.axes));
        match self.body_on_a_line(&n.body) {
            Some(body) if head.len() + body.len() + after.lines().next().map_or(0, str::len) + 2 <= WIDTH => {
                out.push_str(&format!("{head}{body}}}{after}\n"));
            }
            _ => {
                out.push_str(&format!("{head}\n"));
                self.body(&n.body, 2, out);
                out.push_str(&format!("  }}{after}\n"));
            }
        }
    }

    fn yields(&self, yields: &[Yield]) -> String {
        let lines: String = yields
            .iter()
            .map(|y| format!("    {} = {},\n", self.binding(y.array), self.yield_kind(&y.kind)))
            .collect();
        format!(" yields (\n{lines}  )")
    }

    fn yield_kind(&self, kind: &YieldKind) -> String {
        match kind {
            YieldKind::Store(v) => format!("store {}", atom(*v)),
            YieldKind::Reduce { reducer, over, value } => {
                format!("reduce({}) {over} {}", reducer.name(), atom(*value))
            }
            YieldKind::Accumulate { reducer, into, index, value } => {
                format!("accumulate({}) {} {}", reducer.name(), self.element(*into, index), atom(*value))
            }
            YieldKind::Write { into, index, value, contested } => {
                let how = if *contested { "overwrite" } else { "write" };
                format!("{how} {} {}", self.element(*into, index), atom(*value))
            }
        }
    }

    /// The code of a nest between braces, if it is short and has neither choices nor scans.
    fn body_on_a_line(&self, body: &Body) -> Option<String> {
        let lets: Vec<&Let> = body.lets().collect();
        if body.is_ordered() { None } else { self.lets_on_a_line(&lets, 3) }
    }

    /// Lets between braces, if there are at most `most` and none of them is a choice.
    fn lets_on_a_line(&self, lets: &[&Let], most: usize) -> Option<String> {
        if lets.len() > most {
            return None;
        }
        let lets: Option<Vec<String>> = lets.iter().map(|l| self.simple_let(l)).collect();
        lets.map(|l| if l.is_empty() { " ".into() } else { format!(" {} ", l.join("; ")) })
    }

    /// A let that is no choice.
    fn simple_let(&self, l: &Let) -> Option<String> {
        let exp = match &l.exp {
            Exp::Op(op, args) => args.iter().fold(op.name(), |text, a| format!("{text} {}", atom(*a))),
            Exp::Size(d) => format!("size {}", self.dim(d)),
            Exp::Read { array, index, checked } => {
                format!("{}{}", self.element(*array, index), if *checked { "?" } else { "" })
            }
            Exp::Inside { of, index, dims } => {
                format!("inside {of} [{}] of [{}]", list(index, |a| atom(*a)), list(dims, |d| self.dim(d)))
            }
            Exp::StopGradient(a) => format!("stop_gradient {}", atom(*a)),
            Exp::If(..) => return None,
        };
        Some(format!("{} = {exp}", list(&l.vars, |v| format!("%{}", v.0))))
    }

    /// The code of a nest, each item on its line.
    fn body(&self, body: &Body, depth: usize, out: &mut String) {
        for i in &body.items {
            match i {
                Item::Let(l) => self.binding_of_scalars(l, depth, out),
                Item::Scan(s) => self.scan(s, depth, out),
            }
        }
    }

    /// One let on lines of its own.
    pub(crate) fn binding_of_scalars(&self, l: &Let, depth: usize, out: &mut String) {
        let pad = indentation(depth);
        let Exp::If(condition, yes, no) = &l.exp else {
            return out.push_str(&format!("{pad}{}\n", self.simple_let(l).unwrap_or_default()));
        };
        let head = format!("{pad}{} = if {} {{", list(&l.vars, |v| format!("%{}", v.0)), atom(*condition));
        if let (Some(a), Some(b)) = (self.branch_on_a_line(yes), self.branch_on_a_line(no)) {
            let line = format!("{head}{a}}} else {{{b}}}\n");
            if line.len() <= WIDTH {
                return out.push_str(&line);
            }
        }
        out.push_str(&format!("{head}\n"));
        self.branch(yes, depth + 1, out);
        out.push_str(&format!("{pad}}} else {{\n"));
        self.branch(no, depth + 1, out);
        out.push_str(&format!("{pad}}}\n"));
    }

    /// `%1 = scan inclusive [%2 = 0.0f64] [%3 = %4] { %5 = add %2 %3 => %5 }`: the state and its start, the values.
    pub(crate) fn scan(&self, s: &Scan, depth: usize, out: &mut String) {
        let pad = indentation(depth);
        let bind = |vars: &[Var], atoms: &[Atom]| {
            list(vars.iter().zip(atoms), |(v, a)| format!("%{} = {}", v.0, atom(*a)))
        };
        let head = format!(
            "{pad}{} = scan {} [{}] [{}] {{",
            list(&s.vars, |v| format!("%{}", v.0)),
            s.prefix.name(),
            bind(&s.left, &s.start),
            bind(&s.right, &s.values),
        );
        match self.branch_on_a_line(&s.step) {
            Some(step) if head.len() + step.len() < WIDTH => out.push_str(&format!("{head}{step}}}\n")),
            _ => {
                out.push_str(&format!("{head}\n"));
                self.branch(&s.step, depth + 1, out);
                out.push_str(&format!("{pad}}}\n"));
            }
        }
    }

    fn branch_on_a_line(&self, b: &Branch) -> Option<String> {
        let lets: Vec<&Let> = b.block.lets.iter().collect();
        self.lets_on_a_line(&lets, 1).map(|lets| format!("{lets}=> {} ", list(&b.results, |a| atom(*a))))
    }

    fn branch(&self, b: &Branch, depth: usize, out: &mut String) {
        b.block.lets.iter().for_each(|l| self.binding_of_scalars(l, depth, out));
        out.push_str(&format!("{}=> {}\n", indentation(depth), list(&b.results, |a| atom(*a))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_short_and_typed() {
        let shown = [
            Const::float(Elem::F32, 0.1),
            Const::float(Elem::F64, -1.0),
            Const::float(Elem::F64, f64::NEG_INFINITY),
            Const::float(Elem::F32, f64::NAN),
            Const::int(Elem::I64, -3),
            Const::int(Elem::U32, 7),
            Const::bool(true),
        ];
        assert_eq!(list(shown, constant), "0.1f32, -1.0f64, -inf_f64, nan_f32, -3, 7u32, true");
    }

    #[test]
    fn names_become_words() {
        assert_eq!(
            (word("x_adj'"), word("a b[0]"), word("")),
            ("x_adj'".into(), "a_b_0_".into(), "_".into())
        );
    }
}
