//! What the author of a legal kernel may not have meant, for `explain`: where no gradient goes through, and where it is zero
//! altogether; which functions are slow; what steps cost. Why loops run in order is found where they are elaborated; not all of them
//! stay so.
//!
//! A float **varies** with a parameter if it is computed from it by functions whose derivatives are not zero everywhere. What
//! varies with a parameter is a superset of what has a gradient by it, so a note that there is none is certain.
//!
//! ```text
//! y = f(x..)           varies with what the x vary with, if y is a float and f has partial derivatives
//! y = x as i64         does not: a note, if x varies with anything, as for `floor` and the like
//! y = a[i], if c { .. }  varies with a and with both branches, not with i and c
//! ```

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk;
use crate::bulk::walk::Visitor;
use crate::core::{Atom, Body, Derivative, Exp, Function, Operator, Stm, Var};
use crate::elaborate::InOrder;
use crate::loops;
use crate::scalar::{Gives, Op};
use crate::ty::{Loc, Place};

/// Positions of parameters.
type Params = BTreeSet<usize>;

/// Notes on the gradients of a kernel, in the order of its text.
pub fn of_gradients(f: &Function) -> Vec<(Loc, String)> {
    if !f.result_types.iter().any(|t| t.elem.is_differentiable()) {
        return Vec::new();
    }
    let mut flow = Flow { f, varies: FxHashMap::default(), notes: Vec::new() };
    for (i, p) in f.params.iter().enumerate().filter(|(_, p)| p.active) {
        for v in p.vars.leaves() {
            flow.bind(*v, &Params::from([i]));
        }
    }
    flow.body(&f.body);
    let reached: Params = f.body.results.iter().flat_map(|a| flow.of(*a)).collect();
    let floats = |p: &crate::core::Param| p.vars.leaves().iter().any(|v| f.ty(**v).elem.is_differentiable());
    let zero = |(i, p): (usize, &crate::core::Param)| {
        let note = format!("the gradient by `{}` is zero: no float of the result varies with it", p.name);
        (p.active && floats(p) && !reached.contains(&i)).then_some((p.loc, note))
    };
    f.params.iter().enumerate().filter_map(zero).chain(flow.notes).collect()
}

/// Notes on functions in loops that CPUs compute for one element after the other: the runtime has no vectors of them.
pub fn of_functions(f: &Function) -> Vec<(Loc, String)> {
    fn visit(f: &Function, b: &Body, in_loop: bool, notes: &mut Vec<(Loc, String)>) {
        for s in &b.stms {
            let is_float = s.vars.iter().any(|v| f.ty(*v).elem.is_differentiable());
            match &s.exp {
                Exp::Op(op, _) if in_loop && is_float && !op.has_vectors() => {
                    let name = op.row().map_or("a function", |r| r.name);
                    let note = format!(
                        "`{name}` has no vectors on CPUs: it is computed for one element after the other"
                    );
                    notes.push((s.loc, note));
                }
                e => {
                    let in_loop = in_loop || !matches!(e, Exp::If(..) | Exp::Derivative(_));
                    e.bodies().into_iter().for_each(|b| visit(f, b, in_loop, notes));
                }
            }
        }
    }
    let mut notes = Vec::new();
    visit(f, &f.body, false, &mut notes);
    notes
}

/// Notes on the loops that run in order in the program that was made.
pub fn of_loops(in_order: &[InOrder], program: &bulk::Program) -> Vec<(Loc, String)> {
    let mut left = Loops::default();
    program.stms.iter().for_each(|s| left.stm(s));
    in_order.iter().filter(|l| left.0.contains(&l.of)).map(|l| (l.at, l.why.clone())).collect()
}

/// The loops that are left.
#[derive(Default)]
struct Loops(FxHashSet<Loc>);

impl Visitor for Loops {
    fn stm(&mut self, s: &bulk::Stm) {
        self.0.extend(if let bulk::Stm::Repeat(r) = s { Some(r.loc) } else { None });
        self.walk_stm(s);
    }

    fn scan(&mut self, s: &bulk::Scan) {
        self.0.insert(s.loc);
        self.walk_scan(s);
    }
}

/// Remarks as `explain` shows them, with the lines they are about; nothing if there are none. Each once: of what is written once,
/// lifting, loops and derivatives may have made several.
pub fn section(title: &str, kernel: &str, places: &[Place], remarks: &[(Loc, String)]) -> String {
    let line = |loc: &Loc| match places.get(loc.0 as usize).map(|p| p.line_in(kernel)) {
        Some((None, line)) => format!("line {line}: "),
        Some((Some(other), line)) => format!("line {line} of `{other}`: "),
        None => String::new(),
    };
    let mut lines: Vec<String> = Vec::new();
    for (loc, text) in remarks {
        let line = format!("{}{text}\n", line(loc));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() { String::new() } else { format!("== {title} ==\n{}\n", lines.concat()) }
}

/// What `explain` says that the steps of a program for CPUs cost; nothing of one that always costs the same.
pub fn costs(p: &loops::Program) -> String {
    let costs = loops::costs::print(p);
    if costs.is_empty() { costs } else { format!("== costs ==\n{costs}\n") }
}

struct Flow<'a> {
    f: &'a Function,
    varies: FxHashMap<Var, Params>,
    notes: Vec<(Loc, String)>,
}

impl Flow<'_> {
    fn of(&self, a: Atom) -> Params {
        match a {
            Atom::Var(v) => self.varies.get(&v).cloned().unwrap_or_default(),
            Atom::Const(_) => Params::new(),
        }
    }

    fn all(&self, atoms: &[Atom]) -> Params {
        atoms.iter().flat_map(|a| self.of(*a)).collect()
    }

    /// Adds to what a variable varies with; says whether that was new.
    fn bind(&mut self, v: Var, with: &Params) -> bool {
        if with.is_empty() || !self.f.ty(v).elem.is_differentiable() {
            return false;
        }
        let known = self.varies.entry(v).or_default();
        let before = known.len();
        known.extend(with);
        known.len() > before
    }

    fn bind_each(&mut self, vars: &[Var], with: &[Params]) -> bool {
        vars.iter().zip(with).fold(false, |new, (v, w)| self.bind(*v, w) || new)
    }

    /// What the results vary with.
    fn body(&mut self, b: &Body) -> Vec<Params> {
        for s in &b.stms {
            self.stm(s);
        }
        b.results.iter().map(|a| self.of(*a)).collect()
    }

    fn stm(&mut self, s: &Stm) {
        let with: Vec<Params> = match &s.exp {
            Exp::Op(op, args) => {
                let with = self.all(args);
                if let Some(name) = constant_in_steps(*op).filter(|_| !with.is_empty()) {
                    let note = format!("`{name}` is constant in steps: no gradient goes through it");
                    self.notes.push((s.loc, note));
                    return;
                }
                vec![with]
            }
            Exp::Atom(a) => vec![self.of(*a)],
            Exp::Index(array, _) | Exp::Reshape(array, _) => vec![self.of(Atom::Var(*array))],
            Exp::Update(array, _, x) => vec![self.all(&[Atom::Var(*array), *x])],
            Exp::If(_, yes, no) => {
                let (yes, no) = (self.body(yes), self.body(no));
                yes.iter().zip(&no).map(|(a, b)| a | b).collect()
            }
            Exp::Build(_, body) | Exp::Reduce(_, _, body) | Exp::Scan(_, _, _, body) => self.body(body),
            Exp::Fold(operator, _, _, body) => {
                let values = self.body(body);
                self.fold(operator, &values)
            }
            Exp::Loop(l) => {
                let start: Vec<Params> = l.state.iter().map(|(_, a)| self.of(*a)).collect();
                let state: Vec<Var> = l.state.iter().map(|(v, _)| *v).collect();
                self.bind_each(&state, &start);
                loop {
                    let next = self.body(&l.body);
                    if !self.bind_each(&state, &next) {
                        break state.iter().map(|v| self.of(Atom::Var(*v))).collect();
                    }
                }
            }
            Exp::Scatter { dest, body, .. } => {
                let value = self.body(body).pop().unwrap_or_default();
                vec![&value | &self.of(Atom::Var(*dest))]
            }
            Exp::Custom { values: x, args: y, .. } => {
                vec![self.all(&[&x[..], y].concat()); s.vars.len()]
            }
            Exp::Derivative(d) => self.derivative(d, s.vars.len()),
            Exp::Size(_) | Exp::Argsort(_) | Exp::Check(_) | Exp::StopGradient(_) => return,
        };
        self.bind_each(&s.vars, &with);
    }

    /// The values, and what is made of everything: the derivatives.
    fn derivative(&mut self, d: &Derivative, vars: usize) -> Vec<Params> {
        for (v, at) in &d.point {
            let with = self.of(*at);
            self.bind(*v, &with);
        }
        let mut with = self.body(&d.body);
        let mut all: Params = with.iter().flatten().copied().collect();
        all.extend(d.point.iter().map(|(_, at)| at).chain(d.tangents()).flat_map(|a| self.of(*a)));
        with.truncate(d.results(vars).0.len());
        with.resize(vars, all);
        with
    }

    fn fold(&mut self, o: &Operator, values: &[Params]) -> Vec<Params> {
        self.bind_each(&o.right, values);
        self.bind_each(&o.left, values);
        loop {
            let next = self.body(&o.body);
            let (left, right) = (self.bind_each(&o.left, &next), self.bind_each(&o.right, &next));
            if !left && !right {
                return o.left.iter().map(|v| self.of(Atom::Var(*v))).collect();
            }
        }
    }
}

/// How a function of floats is written whose result is a number that has no derivative but zero. Of truth values nobody expects one.
fn constant_in_steps(op: Op) -> Option<String> {
    match (op, op.row()) {
        (Op::Cast(e), _) => e.is_int().then(|| format!("as {e}")),
        (_, Some(r)) => (r.partials.is_empty() && r.gives == Gives::Same).then(|| r.name.to_string()),
        _ => None,
    }
}
