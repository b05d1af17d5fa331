//! Core as text. `print` writes everything of a function, and `parse` reads exactly it back: the text is also the form
//! in which a kernel is handed to the kernels that call it. `pretty` leaves out places and unused variables.
//!
//! ```text
//! fn rows(w.0: [d][c]f64, p = (a.1: [n]f64, b.2: f64), no_grad y.3: [n]i64) -> ([n]f64, f64) sizes d, c, n
//!   z.4: [d]f64, k.5: [d]i64 = build [i.6 < d] {
//!     m.7: f64, k.8: i64 = reduce (add, argmax) j.9 < c {
//!       e.10: f64 = w.0[i.6, j.9] @1
//!       => e.10, e.10
//!     } @1
//!     => m.7, k.8
//!   } @1
//!   check n == d when c @0
//!   => z.4, b.2
//! unused t.11: f64
//! places
//!   rows "src/lib.rs" 12 5
//!   rows "src/lib.rs" 13 9
//! ```
//!
//! | expression | text |
//! |---|---|
//! | atom, function, size | `x.1`, `1.5f64`, `add(x.1, 2)`, `size n * m - 1` |
//! | index | `a.1[i.2, 0]` |
//! | choice | `if c.1 { ... => x.2 } else { ... => 0.0f64 }` |
//! | build, reduce | `build [i.1 < n, j.2 < m] { ... => x.3 }`, `reduce (add) i.1 < n { ... => x.3 }` |
//! | scan | `scan inclusive (add, mul) i.1 < n { ... => x.2, y.3 }`, `scan exclusive ...` |
//! | fold | `fold (a.1: f64; b.2: f64) from 1.0f64 with { ... => c.3 } over i.4 < n { ... => x.5 }`, `fold inclusive ...` |
//! | loop | `loop for t.1 < k.2 with s.3: [n]f64 from a.4, e.5: f64 from 0.0f64 { ... => b.6, d.7 }` |
//! | | `loop while { ... => c.1 } with s.3: f64 from x.2 { ... => y.4 }` |
//! | update | `update a.1[i.2] with x.3` |
//! | scatter | `scatter add into a.1 [i.2 < n] { ... => k.3, x.4 }`, `scatter write into ...`, `scatter overwrite into ...` |
//! | reshape, gradient | `reshape a.1 [n * m]`, `stop_gradient x.1` |
//! | derivative | `pushforward x.1: f64 from a.2, w.3: [n]f64 from b.4 along t.5, u.6 { ... => y.7 }` |
//! | | `pullback x.1: f64 from a.2 { ... => y.3, k.4, 1.0f64 }`, the cotangents after the values |
//! | custom | `custom (y.3) of (x.1, k.2) by rule 0` |
//! | checks | `check a == b`, `check lo <= d`, `check nonnegative(d)`, each with `when guard, guard` |
//!
//! * A variable is `name.number`; its type stands where it is bound (index variables are `i64`). A name that is not a
//!   plain word is quoted, as in `"argument 0"` and `"a b".3`; a word that starts with `#` is a size.
//! * An `i64` constant has no suffix. Floats have all their digits; `inf_f64`, `-inf_f64`, `nan_f64`, and
//!   `nan_7ff8000000000001_f64` for other bits than the usual ones.
//! * `@n` is the statement's or parameter's place; the table at the end lists kernel, file, line, column.
//! * After the places come the rules, as `rule of 0, 2 { fn ... }`, with the arguments that are differentiated by, and with `by fft`
//!   before the brace where there is a routine.
//! * The result types stand in the result's structure. Where that does not have the results in their order, they are
//!   listed: `-> types f64, i64 as (1, 0)`.

use super::{
    Atom, Axis, Body, Check, CheckKind, Derivative, Exp, Function, Loop, Mode, Operator, Param, Placing,
    Prefix, Stm, Trips, Type, Var,
};
use crate::dim::{Dim, SizeAtom};
use crate::ty::{Const, Elem, Loc, Tree};

/// The whole function as text that `parse` reads back.
pub fn print(f: &Function) -> String {
    let mut text = Text { f, places: true, out: String::new() };
    text.function();
    text.tables();
    text.out
}

/// The function for a reader: without places and unused variables.
pub fn pretty(f: &Function) -> String {
    let mut text = Text { f, places: false, out: String::new() };
    text.function();
    text.out
}

/// A constant.
pub(super) fn constant(c: Const) -> String {
    let (elem, x) = (c.elem, c.as_f64());
    match elem {
        e if e.is_differentiable() && x.is_nan() && c != Const::float(elem, f64::NAN) => {
            format!("nan_{:x}_{elem}", c.raw())
        }
        e if e.is_differentiable() && x.is_nan() => format!("nan_{elem}"),
        e if e.is_differentiable() && x.is_infinite() => {
            format!("{}inf_{elem}", if x < 0.0 { "-" } else { "" })
        }
        Elem::F32 | Elem::C32 => format!("{:?}{elem}", x as f32),
        Elem::F64 | Elem::C64 => format!("{x:?}{elem}"),
        Elem::Bool => c.as_bool().to_string(),
        Elem::I64 => c.as_i64().to_string(),
        Elem::I32 | Elem::U32 | Elem::Infer(_) => format!("{}{elem}", c.as_i64()),
    }
}

/// Whether words of the text are made of this character.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '\'' | '.' | '#')
}

/// Whether a text is one word and no number.
fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(is_word)
}

/// A name: of a kernel, a parameter or a size.
fn name(text: &str) -> String {
    let size = text.strip_prefix('#').is_some_and(|t| t.chars().all(is_word));
    if size || (is_plain(text) && !text.contains('.')) { text.into() } else { format!("{text:?}") }
}

fn list<T>(items: impl IntoIterator<Item = T>, f: impl FnMut(T) -> String) -> String {
    items.into_iter().map(f).collect::<Vec<_>>().join(", ")
}

/// A function's structure of values: `(a, b)`, `(a,)`, `()`, `a`.
fn tree<T>(t: &Tree<T>, leaf: &mut impl FnMut(&T) -> String) -> String {
    match t {
        Tree::Leaf(x) => leaf(x),
        Tree::Tuple(ts) => {
            let parts: Vec<String> = ts.iter().map(|t| tree(t, leaf)).collect();
            if parts.len() == 1 { format!("({},)", parts[0]) } else { format!("({})", parts.join(", ")) }
        }
    }
}

struct Text<'a> {
    f: &'a Function,
    places: bool,
    out: String,
}

impl Text<'_> {
    fn function(&mut self) {
        let f = self.f;
        let params = list(&f.params, |p| self.param(p));
        self.out.push_str(&format!("fn {}({params}) -> {}", name(&f.name), self.results()));
        if !f.sizes.is_empty() {
            self.out.push_str(&format!(" sizes {}", list(&f.sizes, |s| name(s))));
        }
        self.out.push('\n');
        self.body(&f.body, 1);
    }

    fn param(&self, p: &Param) -> String {
        let active = if p.active { "" } else { "no_grad " };
        let own = matches!(p.vars, Tree::Leaf(v) if self.f.vars.get(v.0 as usize).is_some_and(|i| i.name == p.name));
        let named = if own { String::new() } else { format!("{} = ", name(&p.name)) };
        format!("{active}{named}{}{}", tree(&p.vars, &mut |v| self.binding(*v)), self.loc(p.loc))
    }

    fn results(&self) -> String {
        let types = &self.f.result_types;
        let leaves = self.f.result.leaves();
        if leaves.len() == types.len() && leaves.into_iter().copied().eq(0..types.len()) {
            tree(&self.f.result, &mut |i| self.ty(&types[*i]))
        } else {
            let types = list(types, |t| self.ty(t));
            format!("types {types} as {}", tree(&self.f.result, &mut usize::to_string))
        }
    }

    fn tables(&mut self) {
        let bound = bound(self.f);
        let unused = (0..self.f.vars.len() as u32).map(Var).filter(|v| !bound[v.0 as usize]);
        let unused = list(unused, |v| self.binding(v));
        if !unused.is_empty() {
            self.out.push_str(&format!("unused {unused}\n"));
        }
        self.out.push_str("places\n");
        for p in &self.f.places {
            self.out.push_str(&format!("  {} {:?} {} {}\n", name(&p.kernel), &*p.file, p.line, p.column));
        }
        for r in &self.f.rules {
            let by = list(&r.by, usize::to_string);
            let routine = r.routine.map_or(String::new(), |r| format!("by {} ", r.name()));
            self.out.push_str(&format!("rule of {by} {routine}{{\n{}}}\n", print(&r.function)));
        }
    }

    fn loc(&self, loc: Loc) -> String {
        if self.places { format!(" @{}", loc.0) } else { String::new() }
    }

    fn var(&self, v: Var) -> String {
        let text = self.f.vars.get(v.0 as usize).map_or("", |i| &*i.name);
        if is_plain(text) { format!("{text}.{}", v.0) } else { format!("{text:?}.{}", v.0) }
    }

    /// A variable with its type, where it is bound.
    fn binding(&self, v: Var) -> String {
        let ty = self.f.vars.get(v.0 as usize).map_or_else(String::new, |i| self.ty(&i.ty));
        format!("{}: {ty}", self.var(v))
    }

    fn ty(&self, t: &Type) -> String {
        format!("{}{}", self.dims(&t.dims), t.elem)
    }

    fn dims(&self, dims: &[Dim]) -> String {
        dims.iter().map(|d| format!("[{}]", self.dim(d))).collect()
    }

    /// A dimension; names may need quotes.
    fn dim(&self, d: &Dim) -> String {
        let named = d.substitute(&mut |a| match a {
            SizeAtom::Name(n) => Dim::name(name(n)),
            SizeAtom::Scalar(_) => Dim::atom(a.clone()),
        });
        named.show(&|s| self.var(Var(s)))
    }

    fn atom(&self, a: Atom) -> String {
        match a {
            Atom::Var(v) => self.var(v),
            Atom::Const(c) => constant(c),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> String {
        list(atoms, |a| self.atom(*a))
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.out.push_str(&"  ".repeat(depth));
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn body(&mut self, b: &Body, depth: usize) {
        for s in &b.stms {
            self.stm(s, depth);
        }
        let results = self.atoms(&b.results);
        self.line(depth, &format!("=> {results}"));
    }

    fn stm(&mut self, s: &Stm, depth: usize) {
        let vars = list(&s.vars, |v| self.binding(*v));
        let vars = match (&s.exp, vars.is_empty()) {
            (Exp::Check(_), true) => String::new(),
            (_, true) => "= ".into(),
            (_, false) => format!("{vars} = "),
        };
        let loc = self.loc(s.loc);
        match &s.exp {
            Exp::If(c, yes, no) => {
                let head = format!("{vars}if {}", self.atom(*c));
                self.blocks(depth, &[(&head, yes), ("else", no)], &loc);
            }
            Exp::Build(axes, body) => {
                self.blocks(depth, &[(&format!("{vars}build [{}]", self.axes(axes)), body)], &loc)
            }
            Exp::Reduce(reducers, axis, body) => {
                let reducers = list(reducers, |r| r.name().into());
                self.blocks(
                    depth,
                    &[(&format!("{vars}reduce ({reducers}) {}", self.axis(axis)), body)],
                    &loc,
                );
            }
            Exp::Scan(reducers, prefix, axis, body) => {
                let reducers = list(reducers, |r| r.name().into());
                let head = format!("{vars}scan {} ({reducers}) {}", prefix.name(), self.axis(axis));
                self.blocks(depth, &[(&head, body)], &loc);
            }
            Exp::Fold(operator, prefix, axis, body) => {
                let head = format!("{vars}{}", self.fold(operator, *prefix));
                let over = format!("over {}", self.axis(axis));
                self.blocks(depth, &[(&head, &operator.body), (&over, body)], &loc);
            }
            Exp::Loop(l) => self.repeat(&vars, l, depth, &loc),
            Exp::Derivative(d) => {
                self.blocks(depth, &[(&format!("{vars}{}", self.derivative(d)), &d.body)], &loc);
            }
            Exp::Scatter { how, dest, axes, body } => {
                let how = match how {
                    Placing::Combined(r) => r.name(),
                    Placing::Only => "write",
                    Placing::Last => "overwrite",
                };
                let head = format!("{vars}scatter {how} into {} [{}]", self.var(*dest), self.axes(axes));
                self.blocks(depth, &[(&head, body)], &loc);
            }
            exp => {
                let exp = self.simple(exp);
                self.line(depth, &format!("{vars}{exp}{loc}"));
            }
        }
    }

    /// Bodies, each after its head; on one line if there is only a result.
    fn blocks(&mut self, depth: usize, blocks: &[(&str, &Body)], loc: &str) {
        let mut line = String::new();
        for (head, body) in blocks {
            line.push_str(&format!("{head} {{"));
            if body.stms.is_empty() {
                let results = self.atoms(&body.results);
                line.push_str(if results.is_empty() { " =>" } else { " => " });
                line.push_str(&format!("{results} }} "));
            } else {
                self.line(depth, &line);
                self.body(body, depth + 1);
                line = "} ".into();
            }
        }
        self.line(depth, &format!("{}{loc}", line.trim_end()));
    }

    /// A fold up to its operator's body.
    fn fold(&self, operator: &Operator, prefix: Option<Prefix>) -> String {
        let prefix = prefix.map_or_else(String::new, |p| format!("{} ", p.name()));
        let [left, right] = [&operator.left, &operator.right].map(|vars| list(vars, |v| self.binding(*v)));
        let neutral = self.atoms(&operator.neutral);
        let neutral = if neutral.is_empty() { neutral } else { format!(" {neutral}") };
        format!("fold {prefix}({left}; {right}) from{neutral} with")
    }

    fn repeat(&mut self, vars: &str, l: &Loop, depth: usize, loc: &str) {
        let state = self.starts(&l.state);
        match &l.trips {
            Trips::For(var, count) => {
                let head =
                    format!("{vars}loop for {} < {} with {state}", self.index(*var), self.atom(*count));
                self.blocks(depth, &[(head.trim_end(), &l.body)], loc);
            }
            Trips::While(condition) => {
                let (head, with) = (format!("{vars}loop while"), format!("with {state}"));
                self.blocks(depth, &[(&head, condition), (with.trim_end(), &l.body)], loc);
            }
        }
    }

    /// A derivative up to its body.
    fn derivative(&self, d: &Derivative) -> String {
        let point = self.starts(&d.point);
        match &d.mode {
            Mode::Forward(tangents) => format!("pushforward {point} along {}", self.atoms(tangents)),
            Mode::Reverse => format!("pullback {point}"),
        }
    }

    /// Variables bound inside, and what they are equal to there.
    fn starts(&self, vars: &[(Var, Atom)]) -> String {
        list(vars, |(v, start)| format!("{} from {}", self.binding(*v), self.atom(*start)))
    }

    fn axes(&self, axes: &[Axis]) -> String {
        list(axes, |a| self.axis(a))
    }

    fn axis(&self, a: &Axis) -> String {
        format!("{} < {}", self.index(a.var), self.dim(&a.extent))
    }

    /// An index variable where it is bound.
    fn index(&self, v: Var) -> String {
        let index = self.f.vars.get(v.0 as usize).is_some_and(|i| i.ty == Type::scalar(Elem::I64));
        if index { self.var(v) } else { self.binding(v) }
    }

    /// An expression without bodies.
    fn simple(&self, exp: &Exp) -> String {
        match exp {
            Exp::Atom(a) => self.atom(*a),
            Exp::Op(op, args) => format!("{}({})", op.name(), self.atoms(args)),
            Exp::Size(d) => format!("size {}", self.dim(d)),
            Exp::Index(a, index) => format!("{}[{}]", self.var(*a), self.atoms(index)),
            Exp::Reshape(a, dims) => format!("reshape {} {}", self.var(*a), self.dims(dims)),
            Exp::Argsort(a) => format!("argsort {}", self.var(*a)),
            Exp::Check(c) => self.check(c),
            Exp::StopGradient(a) => format!("stop_gradient {}", self.atom(*a)),
            Exp::Custom { values, args, rule } => {
                format!("custom ({}) of ({}) by rule {rule}", self.atoms(values), self.atoms(args))
            }
            Exp::Update(a, index, x) => {
                format!("update {}[{}] with {}", self.var(*a), self.atoms(index), self.atom(*x))
            }
            // Written by `stm`: they have bodies.
            Exp::If(..)
            | Exp::Build(..)
            | Exp::Reduce(..)
            | Exp::Scan(..)
            | Exp::Fold(..)
            | Exp::Loop(..)
            | Exp::Derivative(..)
            | Exp::Scatter { .. } => String::new(),
        }
    }

    fn check(&self, c: &Check) -> String {
        let what = match &c.kind {
            CheckKind::Equal(a, b) => format!("{} == {}", self.dim(a), self.dim(b)),
            CheckKind::NonNegative(d) => format!("nonnegative({})", self.dim(d)),
            CheckKind::AtLeast(lo, d) => format!("{} <= {}", self.dim(lo), self.dim(d)),
        };
        let guards = list(&c.guards, |g| self.dim(g));
        if guards.is_empty() { format!("check {what}") } else { format!("check {what} when {guards}") }
    }
}

/// Which variables some parameter, statement or expression binds.
fn bound(f: &Function) -> Vec<bool> {
    fn bind(vars: impl IntoIterator<Item = Var>, bound: &mut [bool]) {
        for v in vars {
            if let Some(b) = bound.get_mut(v.0 as usize) {
                *b = true;
            }
        }
    }
    fn visit(b: &Body, bound: &mut [bool]) {
        for s in &b.stms {
            bind(s.vars.iter().copied(), bound);
            bind(s.exp.inner_vars(), bound);
            s.exp.bodies().into_iter().for_each(|b| visit(b, bound));
        }
    }
    let mut out = vec![false; f.vars.len()];
    bind(f.params.iter().flat_map(|p| p.vars.leaves()).copied(), &mut out);
    visit(&f.body, &mut out);
    out
}
