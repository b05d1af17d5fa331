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
//! | scatter | `scatter add into a.1 [i.2 < n] { ... => k.3, x.4 }`, `scatter write into ...` |
//! | reshape, gradient | `reshape a.1 [n * m]`, `stop_gradient x.1` |
//! | checks | `check a == b`, `check lo <= d`, `check nonnegative(d)`, each with `when guard, guard` |
//!
//! * A variable is `name.number`; its type stands where it is bound (index variables are `i64`). A name that is not a
//!   plain word is quoted, as in `"argument 0"` and `"a b".3`; a word that starts with `#` is a size.
//! * An `i64` constant has no suffix. Floats have all their digits; `inf_f64`, `-inf_f64`, `nan_f64`, and
//!   `nan_7ff8000000000001_f64` for other bits than the usual ones.
//! * `@n` is the statement's or parameter's place; the table at the end lists kernel, file, line, column.
//! * The result types stand in the result's structure. Where that does not have the results in their order, they are
//!   listed: `-> types f64, i64 as (1, 0)`.

use super::{Atom, Axis, Body, Check, CheckKind, Exp, Function, Param, Stm, Type, Var};
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
        Elem::F32 | Elem::F64 if x.is_nan() && c != Const::float(elem, f64::NAN) => {
            format!("nan_{:x}_{elem}", c.raw())
        }
        Elem::F32 | Elem::F64 if x.is_nan() => format!("nan_{elem}"),
        Elem::F32 | Elem::F64 if x.is_infinite() => format!("{}inf_{elem}", if x < 0.0 { "-" } else { "" }),
        Elem::F32 => format!("{:?}{elem}", x as f32),
        Elem::F64 => format!("{x:?}{elem}"),
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
                if yes.stms.is_empty() && no.stms.is_empty() {
                    let (yes, no) = (self.atoms(&yes.results), self.atoms(&no.results));
                    return self.line(depth, &format!("{head} {{ => {yes} }} else {{ => {no} }}{loc}"));
                }
                self.line(depth, &format!("{head} {{"));
                self.body(yes, depth + 1);
                if no.stms.is_empty() {
                    let no = self.atoms(&no.results);
                    return self.line(depth, &format!("}} else {{ => {no} }}{loc}"));
                }
                self.line(depth, "} else {");
                self.body(no, depth + 1);
                self.line(depth, &format!("}}{loc}"));
            }
            Exp::Build(axes, body) => {
                self.block(depth, &format!("{vars}build [{}]", self.axes(axes)), body, &loc)
            }
            Exp::Reduce(reducers, axis, body) => {
                let reducers = list(reducers, |r| r.name().into());
                self.block(depth, &format!("{vars}reduce ({reducers}) {}", self.axis(axis)), body, &loc);
            }
            Exp::Scatter { reducer, dest, axes, body } => {
                let how = reducer.map_or("write", |r| r.name());
                let head = format!("{vars}scatter {how} into {} [{}]", self.var(*dest), self.axes(axes));
                self.block(depth, &head, body, &loc);
            }
            exp => {
                let exp = self.simple(exp);
                self.line(depth, &format!("{vars}{exp}{loc}"));
            }
        }
    }

    /// An expression with one body; on one line if there is only a result.
    fn block(&mut self, depth: usize, head: &str, body: &Body, loc: &str) {
        if body.stms.is_empty() {
            let results = self.atoms(&body.results);
            self.line(depth, &format!("{head} {{ => {results} }}{loc}"));
        } else {
            self.line(depth, &format!("{head} {{"));
            self.body(body, depth + 1);
            self.line(depth, &format!("}}{loc}"));
        }
    }

    fn axes(&self, axes: &[Axis]) -> String {
        list(axes, |a| self.axis(a))
    }

    fn axis(&self, a: &Axis) -> String {
        let index = self.f.vars.get(a.var.0 as usize).is_some_and(|i| i.ty == Type::scalar(Elem::I64));
        let var = if index { self.var(a.var) } else { self.binding(a.var) };
        format!("{var} < {}", self.dim(&a.extent))
    }

    /// An expression without bodies.
    fn simple(&self, exp: &Exp) -> String {
        match exp {
            Exp::Atom(a) => self.atom(*a),
            Exp::Op(op, args) => format!("{}({})", op.name(), self.atoms(args)),
            Exp::Size(d) => format!("size {}", self.dim(d)),
            Exp::Index(a, index) => format!("{}[{}]", self.var(*a), self.atoms(index)),
            Exp::Reshape(a, dims) => format!("reshape {} {}", self.var(*a), self.dims(dims)),
            Exp::Check(c) => self.check(c),
            Exp::StopGradient(a) => format!("stop_gradient {}", self.atom(*a)),
            Exp::If(..) | Exp::Build(..) | Exp::Reduce(..) | Exp::Scatter { .. } => String::new(),
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

/// Which variables some parameter, statement or axis binds.
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
            match &s.exp {
                Exp::If(_, yes, no) => [yes, no].into_iter().for_each(|b| visit(b, bound)),
                Exp::Build(axes, body) | Exp::Scatter { axes, body, .. } => {
                    bind(axes.iter().map(|a| a.var), bound);
                    visit(body, bound);
                }
                Exp::Reduce(_, axis, body) => {
                    bind([axis.var], bound);
                    visit(body, bound);
                }
                _ => {}
            }
        }
    }
    let mut out = vec![false; f.vars.len()];
    bind(f.params.iter().flat_map(|p| p.vars.leaves()).copied(), &mut out);
    visit(&f.body, &mut out);
    out
}
