//! Scalar code: constants folded, identities applied, equal expressions shared, index arithmetic moved out of
//! branches, reads proven inside, unused code removed, of reads that nobody uses all but the comparison of their index.

mod operation;

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::operation::operation;
use super::Sequence;
use crate::affine::{Checked, Facts, Scope};
use crate::bulk::build::{Numbered, Rename, Renaming, renamed};
use crate::bulk::live::{live_body, live_lets};
use crate::bulk::walk::Rewriter;
use crate::bulk::{ArrayId, Atom, Axis, Block, Body, Branch, Exp, Item, Let, Nest, Program, Scan, Stm, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Const, Elem};

/// Simplifies the bodies of all nests.
pub(super) fn simplify(seq: &mut Sequence, p: &mut Program) {
    let mut checked = seq.known.clone();
    for s in &mut seq.stms {
        if let Stm::Nest(n) = s {
            nest(p, n, &checked);
        }
        checked.statement(s, p);
    }
}

/// The same when no statement is dropped any more: what has been an index is not compared again.
pub fn compared(seq: &mut Sequence, p: &mut Program) {
    seq.known.learn_indices();
    simplify(seq, p);
}

fn nest(p: &mut Program, n: &mut Nest, checked: &Checked) {
    let mut map = Renaming::default();
    let mut facts = Facts::new(&n.axes, checked);
    let mut available = Available::default();
    let body = body(p, &n.body, &mut map, &mut facts, &mut available);
    for y in &mut n.yields {
        y.kind.rename(&map);
    }
    let mut live: FxHashSet<Var> = FxHashSet::default();
    for y in &n.yields {
        live.extend(y.kind.atoms().into_iter().filter_map(Atom::var));
    }
    n.body = live_body(body, &mut live);
    Unused { p, live: &live }.body(&mut n.body);
}

/// Leaves of reads that nobody uses the comparison of the index alone: it does not need the array, which may be changed meanwhile.
struct Unused<'a> {
    p: &'a mut Program,
    live: &'a FxHashSet<Var>,
}

impl Rewriter for Unused<'_> {
    fn binding(&mut self, l: &mut Let) {
        if let Exp::Read { array, index, checked: true } = &mut l.exp
            && !self.live.contains(&l.vars[0])
        {
            let info = self.p.array(*array);
            let index = std::mem::take(index);
            l.exp = Exp::Inside { of: info.name.clone(), index, dims: info.dims.clone() };
            l.vars = vec![self.p.new_var(Elem::Bool)];
        }
        let is_used = l.vars.iter().any(|v| self.live.contains(v));
        match &mut l.exp {
            // Kept for its errors: the code that may report one is left.
            Exp::If(_, x, y) if !is_used => {
                for b in [x, y] {
                    b.results = l.vars.iter().map(|v| zero(self.p, *v)).collect();
                    let mut live = FxHashSet::default();
                    b.block.lets = live_lets(std::mem::take(&mut b.block.lets), &mut live);
                    Unused { p: self.p, live: &live }.block(&mut b.block);
                }
            }
            _ => self.walk_binding(l),
        }
    }
}

fn zero(p: &Program, v: Var) -> Atom {
    Atom::Const(Const::of(p.vars[v.0 as usize], 0))
}

/// Scalar code that is simplified as it comes, and what has been computed so far.
pub struct Straight {
    names: Renaming,
    facts: Facts,
    available: Available,
}

/// Where an inner scope of [`Straight`] code began.
pub struct Began {
    facts: Scope,
    expressions: usize,
    elements: usize,
    given: usize,
}

impl Straight {
    /// At the points of these axes.
    pub fn new(axes: &[Axis]) -> Straight {
        let facts = Facts::new(axes, &Checked::default());
        Straight { names: Renaming::default(), facts, available: Available::default() }
    }

    /// The statement, or those that take its place.
    pub fn binding(&mut self, p: &Program, l: &Let) -> Vec<Let> {
        block(p, std::slice::from_ref(l), &mut self.names, &mut self.facts, &mut self.available)
    }

    /// What scalars have been renamed to.
    pub fn names(&self) -> &Renaming {
        &self.names
    }

    /// What an atom is.
    pub fn atom(&self, a: Atom) -> Atom {
        renamed(&self.names, a)
    }

    /// A scalar is this.
    pub fn name(&mut self, v: Var, a: Atom) {
        let a = self.atom(a);
        self.names.insert(v, a);
    }

    /// An element has this value from here on.
    pub fn store(&mut self, array: ArrayId, index: &[Atom], value: Atom) {
        let key = (array, index.to_vec());
        self.available.elements.insert(key.clone(), value);
        self.available.stored.push(key);
    }

    /// Goes into the body of a loop.
    pub fn enter(&mut self, axis: Option<&Axis>) -> Began {
        let a = &self.available;
        let (expressions, elements, given) = (a.order.len(), a.stored.len(), a.given_order.len());
        let began = Began { facts: self.facts.scope(), expressions, elements, given };
        axis.into_iter().for_each(|a| self.facts.enter(a));
        began
    }

    /// At its end: what was computed inside is not known after it.
    pub fn leave(&mut self, began: Began) {
        self.facts.leave(began.facts);
        self.available.leave(began.expressions);
        self.available.forget(began.given);
        for key in self.available.stored.drain(began.elements..) {
            self.available.elements.remove(&key);
        }
    }
}

/// Expressions already computed, in scope.
#[derive(Default)]
struct Available {
    expressions: FxHashMap<Rc<Exp>, Vec<Var>>,
    /// The elements that have been stored, and in which order.
    elements: FxHashMap<(ArrayId, Vec<Atom>), Atom>,
    stored: Vec<(ArrayId, Vec<Atom>)>,
    definitions: FxHashMap<Var, Rc<Exp>>,
    /// In the order in which they were computed.
    order: Vec<Rc<Exp>>,
    /// Indices that have been compared, each with a dimension and after so many expressions: one outside has been reported.
    compared: Vec<(usize, Atom, Dim)>,
    /// Choices by a condition: their name, and what they are where it is true, or false.
    selects: FxHashMap<Atom, Vec<(Var, Atom, Atom)>>,
    /// The conditions of the branches around, and what they are there.
    assumed: Vec<(Atom, bool)>,
    /// Results of choices that are an expression where their condition is true, or false.
    given: FxHashMap<Rc<Exp>, Vec<(Atom, bool, Var)>>,
    /// In the order in which they were computed.
    given_order: Vec<Rc<Exp>>,
}

/// What an expression is found by, whatever the scalars in its branches are called.
fn key(e: &Exp) -> Cow<'_, Exp> {
    let Exp::If(..) = e else { return Cow::Borrowed(e) };
    let mut e = e.clone();
    Numbered::default().exp(&mut e);
    Cow::Owned(e)
}

impl Available {
    fn learn(&mut self, l: &Let) {
        let exp = Rc::new(key(&l.exp).into_owned());
        self.expressions.insert(exp.clone(), l.vars.clone());
        self.definitions.insert(l.vars[0], exp.clone());
        self.order.push(exp);
        // The same element, where its index is known to have been compared.
        if let Exp::Read { array, index, checked: true } = &l.exp {
            let element = Rc::new(Exp::Read { array: *array, index: index.clone(), checked: false });
            if !self.expressions.contains_key(&element) {
                self.expressions.insert(element.clone(), l.vars.clone());
                self.order.push(element);
            }
        }
        if let Exp::Op(Op::Select, args) = &l.exp {
            self.selects.entry(args[0]).or_default().push((l.vars[0], args[1], args[2]));
        }
        if let Exp::If(c, yes, no) = &l.exp {
            self.gives(l, *c, true, yes);
            self.gives(l, *c, false, no);
        }
    }

    fn gives(&mut self, l: &Let, condition: Atom, when: bool, b: &Branch) {
        let inside: FxHashSet<Var> = b.block.lets.iter().flat_map(|l| l.vars.iter().copied()).collect();
        for (result, value) in l.vars.iter().zip(&b.results) {
            let Some(made) =
                b.block.lets.iter().find(|m| m.vars.len() == 1 && Atom::Var(m.vars[0]) == *value)
            else {
                continue;
            };
            let mut free = true;
            made.exp.visit_atoms(&mut |a| free &= a.var().is_none_or(|v| !inside.contains(&v)));
            if free {
                let exp = Rc::new(made.exp.clone());
                self.given.entry(exp.clone()).or_default().push((condition, when, *result));
                self.given_order.push(exp);
            }
        }
    }

    /// After a statement that may compare indices.
    fn compare(&mut self, p: &Program, l: &Let) {
        let (index, dims) = match &l.exp {
            Exp::Read { array, index, checked: true } => (index, &p.array(*array).dims),
            Exp::Inside { index, dims, .. } => (index, dims),
            _ => return,
        };
        let at = self.order.len();
        self.compared.extend(index.iter().zip(dims).map(|(i, d)| (at, *i, d.clone())));
    }

    fn is_compared(&self, index: Atom, dim: &Dim) -> bool {
        self.compared.iter().any(|(_, i, d)| *i == index && d == dim)
    }

    /// The scalars that an expression is known to be.
    fn find(&self, e: &Exp) -> Option<&[Var]> {
        if let Some(vars) = self.expressions.get(&*key(e)).or_else(|| self.even(e)) {
            return Some(vars);
        }
        let given = if self.assumed.is_empty() { None } else { self.given.get(e) };
        let holds = |(c, when, _): &&(Atom, bool, Var)| self.assumed.contains(&(*c, *when));
        given?.iter().find(holds).map(|(_, _, result)| std::slice::from_ref(result))
    }

    /// The square, an even power or the size of a difference that has been computed the other way around: it is the same to the last
    /// bit, as signs are.
    fn even(&self, e: &Exp) -> Option<&Vec<Var>> {
        let Exp::Op(op, args) = e else { return None };
        let difference @ Atom::Var(v) = *args.first()? else { return None };
        let is_even = match (op, &args[1..]) {
            (Op::Mul, [other]) => *other == difference,
            (Op::Powi, [Atom::Const(c)]) => c.as_i64() % 2 == 0,
            (Op::Abs, []) => true,
            _ => false,
        };
        let Exp::Op(Op::Sub, ab) = &**self.definitions.get(&v)? else { return None };
        if !is_even {
            return None;
        }
        let reversed = Exp::Op(Op::Sub, vec![ab[1], ab[0]]);
        let reversed = Atom::Var(self.expressions.get(&reversed)?[0]);
        let args = args.iter().map(|a| if *a == difference { reversed } else { *a }).collect();
        self.expressions.get(&Exp::Op(*op, args))
    }

    /// At the end of a scope that began when so many had been given.
    fn forget(&mut self, before: usize) {
        for exp in self.given_order.drain(before..).rev() {
            if let Some(given) = self.given.get_mut(&exp) {
                given.pop();
            }
        }
    }

    /// What a condition is here, if that is certain.
    fn known(&self, c: Atom) -> Option<bool> {
        match c {
            Atom::Const(c) => Some(c.as_bool()),
            c => self.assumed.iter().find(|(a, _)| *a == c).map(|(_, when)| *when),
        }
    }

    /// Choices by a condition, and what they are where it is true, or false.
    fn chosen(&self, c: Atom, when: bool) -> Vec<(Var, Atom)> {
        let choices = self.selects.get(&c).into_iter().flatten();
        choices.map(|(v, yes, no)| (*v, if when { *yes } else { *no })).collect()
    }

    /// At the end of a branch that began when so many were known.
    fn leave(&mut self, before: usize) {
        self.compared.retain(|(at, ..)| *at < before);
        for exp in self.order.drain(before..).rev() {
            if let Some(vars) = self.expressions.remove(&exp) {
                self.definitions.remove(&vars[0]);
            }
            if let Exp::Op(Op::Select, args) = &*exp
                && let Some(choices) = self.selects.get_mut(&args[0])
            {
                choices.pop();
            }
        }
    }
}

/// What is inside a branch or the step of a scan: facts and expressions of it are not known after it.
fn inside(
    p: &Program,
    b: &Branch,
    when: Option<(Atom, bool)>,
    map: &mut Renaming,
    facts: &mut Facts,
    available: &mut Available,
) -> Branch {
    let (scope, before, assumed) = (facts.scope(), available.order.len(), available.assumed.len());
    let given = available.given_order.len();
    let mut chosen = Vec::new();
    if let Some((c, when)) = when {
        facts.assume(c, when);
        available.assumed.push((c, when));
        chosen = available.chosen(c, when);
        map.extend(chosen.iter().copied());
    }
    let lets = block(p, &b.block.lets, map, facts, available);
    facts.leave(scope);
    available.leave(before);
    available.forget(given);
    let results: Vec<Atom> = b.results.iter().map(|a| renamed(map, *a)).collect();
    for (v, _) in &chosen {
        map.remove(v);
    }
    available.assumed.truncate(assumed);
    let mut live = results.iter().copied().filter_map(Atom::var).collect();
    Branch { block: Block { lets: live_lets(lets, &mut live) }, results }
}

fn body(p: &Program, body: &Body, map: &mut Renaming, facts: &mut Facts, available: &mut Available) -> Body {
    let mut out = Body::default();
    for i in &body.items {
        match i {
            Item::Let(l) => out.extend(block(p, std::slice::from_ref(l), map, facts, available)),
            Item::Scan(s) => {
                let step = inside(p, &s.step, None, map, facts, available);
                let rename = |atoms: &[Atom]| atoms.iter().map(|a| renamed(map, *a)).collect();
                let (start, values) = (rename(&s.start), rename(&s.values));
                out.items.push(Item::Scan(Scan { start, values, step, ..s.clone() }));
            }
        }
    }
    out
}

fn block(
    p: &Program,
    lets: &[Let],
    map: &mut Renaming,
    facts: &mut Facts,
    available: &mut Available,
) -> Vec<Let> {
    let mut out: Vec<Let> = Vec::new();
    for l in lets {
        match &l.exp {
            Exp::If(c, x, y) => {
                let c = renamed(map, *c);
                if let Some(when) = available.known(c) {
                    // The chosen branch takes the place of the `if`.
                    let b = if when { x } else { y };
                    let inner = block(p, &b.block.lets, map, facts, available);
                    out.extend(inner);
                    for (v, r) in l.vars.iter().zip(&b.results) {
                        map.insert(*v, renamed(map, *r));
                    }
                    continue;
                }
                let mut hoisted = Vec::new();
                let mut side = |b: &Branch, when: bool| {
                    let mut b = inside(p, b, Some((c, when)), map, facts, available);
                    let (out, kept) = speculate(p, b.block.lets);
                    hoisted.extend(out);
                    b.block.lets = kept;
                    b
                };
                let (mut x, mut y) = (side(x, true), side(y, false));
                hoisted.extend(read_in_both(p, facts, &mut x, &mut y));
                let mut shared = false;
                for h in hoisted {
                    // Both branches may have computed the same.
                    let h = Let { exp: h.exp.renamed(map), ..h };
                    let v = h.vars[0];
                    remember(p, h, map, facts, available, &mut out);
                    shared |= map.contains_key(&v);
                }
                if shared {
                    Rename(map).branch(&mut x);
                    Rename(map).branch(&mut y);
                }
                choice(p, l, c, x, y, map, facts, available, &mut out);
            }
            e => {
                let e = e.renamed(map);
                match simple(p, &e, facts, available) {
                    Simple::Atom(a) => {
                        map.insert(l.vars[0], a);
                    }
                    Simple::Exp(e) => {
                        let new = Let { vars: l.vars.clone(), exp: e, loc: l.loc };
                        remember(p, new, map, facts, available, &mut out);
                    }
                }
            }
        }
    }
    out
}

/// Takes out the elements that both branches read, wherever it is known without the condition that they are there.
fn read_in_both(p: &Program, facts: &mut Facts, x: &mut Branch, y: &mut Branch) -> Vec<Let> {
    let inside: FxHashSet<Var> = x.block.lets.iter().flat_map(|l| &l.vars).copied().collect();
    let mut common = Vec::new();
    let mut same = Renaming::default();
    x.block.lets.retain(|l| {
        let Exp::Read { array, index, checked: false } = &l.exp else { return true };
        let free = !index.iter().any(|a| matches!(a, Atom::Var(v) if inside.contains(v)));
        let other = y.block.lets.iter().find(|m| free && m.exp == l.exp);
        let Some(other) = other.filter(|_| facts.all_inside(index, &p.array(*array).dims)) else {
            return true;
        };
        same.insert(other.vars[0], Atom::Var(l.vars[0]));
        common.push(l.clone());
        false
    });
    if !common.is_empty() {
        y.block.lets.retain(|l| !same.contains_key(&l.vars[0]));
        Rename(&same).branch(y);
    }
    common
}

/// Adds a statement unless an equal one is there.
fn remember(
    p: &Program,
    l: Let,
    map: &mut Renaming,
    facts: &mut Facts,
    available: &mut Available,
    out: &mut Vec<Let>,
) {
    if let Some(vars) = available.find(&l.exp) {
        for (v, w) in l.vars.iter().zip(vars) {
            map.insert(*v, Atom::Var(*w));
        }
        return;
    }
    facts.learn(p.into(), &l);
    available.compare(p, &l);
    available.learn(&l);
    out.push(l);
}

#[allow(clippy::too_many_arguments, reason = "the state of one walk")]
fn choice(
    p: &Program,
    l: &Let,
    c: Atom,
    mut x: Branch,
    mut y: Branch,
    map: &mut Renaming,
    facts: &mut Facts,
    available: &mut Available,
    out: &mut Vec<Let>,
) {
    // Results that do not depend on the choice leave it; of equal ones there is one.
    let (mut vars, mut again) = (Vec::new(), Vec::new());
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for ((v, a), b) in l.vars.iter().zip(&x.results).zip(&y.results) {
        let equal = (0..vars.len()).find(|k| xs[*k] == *a && ys[*k] == *b);
        if a == b {
            map.insert(*v, *a);
        } else if let Some(k) = equal {
            again.push((*v, vars[k]));
        } else {
            vars.push(*v);
            xs.push(*a);
            ys.push(*b);
        }
    }
    if vars.is_empty() {
        // Its code may still report an error.
        if x.may_be_outside() || y.may_be_outside() {
            (x.results, y.results) = (vec![x.results[0]], vec![y.results[0]]);
            out.push(Let { vars: vec![l.vars[0]], exp: Exp::If(c, x, y), loc: l.loc });
        }
        return;
    }
    if x.block.lets.is_empty() && y.block.lets.is_empty() {
        for ((v, a), b) in vars.iter().zip(xs).zip(ys) {
            let select = Exp::Op(Op::Select, vec![c, a, b]);
            match simple(p, &select, facts, available) {
                Simple::Atom(a) => {
                    map.insert(*v, a);
                }
                Simple::Exp(exp) => {
                    remember(p, Let { vars: vec![*v], exp, loc: l.loc }, map, facts, available, out)
                }
            }
        }
    } else {
        x.results = xs;
        y.results = ys;
        remember(p, Let { vars, exp: Exp::If(c, x, y), loc: l.loc }, map, facts, available, out);
    }
    // The first of equal ones may have become something else.
    for (v, first) in again {
        map.insert(v, renamed(map, Atom::Var(first)));
    }
}

/// Separates integer and boolean arithmetic that needs nothing from inside the branch.
fn speculate(p: &Program, lets: Vec<Let>) -> (Vec<Let>, Vec<Let>) {
    let mut inside: FxHashSet<Var> = FxHashSet::default();
    let (mut hoisted, mut kept) = (Vec::new(), Vec::new());
    for l in lets {
        let light = match &l.exp {
            Exp::Size(_) => true,
            Exp::Op(op, _) => op.is_cheap() && !p.vars[l.vars[0].0 as usize].is_float(),
            _ => false,
        };
        let mut free = true;
        l.exp.visit_atoms(&mut |a| free &= a.var().is_none_or(|v| !inside.contains(&v)));
        if light && free {
            hoisted.push(l);
        } else {
            inside.extend(l.vars.iter().copied());
            kept.push(l);
        }
    }
    (hoisted, kept)
}

enum Simple {
    Atom(Atom),
    Exp(Exp),
}

fn simple(p: &Program, e: &Exp, facts: &mut Facts, available: &Available) -> Simple {
    match e {
        Exp::Size(d) => match d.as_constant() {
            Some(c) => Simple::Atom(Atom::Const(Const::int(Elem::I64, c))),
            None => Simple::Exp(e.clone()),
        },
        Exp::Read { array, index, checked } => {
            // Of a loop around, say: a size needs no array, and tells what it is inside of other loops as well.
            if let Some(size) = facts.value(*array).filter(|_| index.is_empty()).cloned() {
                return simple(p, &Exp::Size(size), facts, available);
            }
            if !available.elements.is_empty()
                && let Some(value) = available.elements.get(&(*array, index.clone()))
            {
                return Simple::Atom(*value);
            }
            let dims = &p.array(*array).dims;
            let checked = *checked && !facts.all_inside(index, dims);
            Simple::Exp(Exp::Read { array: *array, index: index.clone(), checked })
        }
        Exp::Inside { of, index, dims } => {
            if facts.all_inside(index, dims) {
                return Simple::Atom(Atom::Const(Const::bool(true)));
            }
            let mut is_left = |(i, d): &(Atom, Dim)| {
                !available.is_compared(*i, d) && !facts.all_inside(&[*i], std::slice::from_ref(d))
            };
            let (index, dims): (Vec<Atom>, Vec<Dim>) =
                index.iter().copied().zip(dims.iter().cloned()).filter(&mut is_left).unzip();
            match index.is_empty() {
                true => Simple::Atom(Atom::Const(Const::bool(true))),
                false => Simple::Exp(Exp::Inside { of: of.clone(), index, dims }),
            }
        }
        Exp::StopGradient(Atom::Const(c)) => Simple::Atom(Atom::Const(*c)),
        Exp::Op(op, args) => operation(p, *op, args, facts, available),
        _ => Simple::Exp(e.clone()),
    }
}
