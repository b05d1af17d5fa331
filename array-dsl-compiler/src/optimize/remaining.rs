//! The checks that a program still makes when it runs, and why nothing spared them: for `explain`.
//!
//! Sizes are compared before the loops. A read is compared with its array's dimensions where it is executed, unless
//! [`Facts::all_inside`] was certain; what is not certain is told by where the index comes from: from data, or as a polynomial
//! over axes whose range leaves the dimension.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::affine::{Affine, Checked, Facts};
use crate::bulk::{Atom, Check, CheckKind, Exp, Item, Let, Nest, Program, Stm, Var};
use crate::dim::Dim;
use crate::scalar::Op;
use crate::ty::{Loc, Name};

/// The checks in the order of execution.
pub fn remaining(p: &Program) -> Vec<(Loc, String)> {
    let mut out = Vec::new();
    of_stms(p, &p.stms, Checked::executed(), &mut out);
    out
}

fn of_stms(p: &Program, stms: &[Stm], mut checked: Checked, out: &mut Vec<(Loc, String)>) {
    for s in stms {
        match s {
            Stm::Check(c, loc) => out.push((*loc, of_sizes(p, c))),
            Stm::Repeat(r) => {
                of_stms(p, &r.body, checked.inside_repeat(r, p), out);
            }
            Stm::Nest(n) => of_nest(p, n, &checked, out),
            _ => {}
        }
        checked.statement(s, p);
    }
}

fn of_sizes(p: &Program, c: &Check) -> String {
    let show = |d: &Dim| shown(p, d);
    let condition = match &c.kind {
        CheckKind::Equal(a, b) => format!("that {} is {}", show(a), show(b)),
        CheckKind::NonNegative(d) => format!("that {} is not negative", show(d)),
        CheckKind::AtLeast(a, b) => format!("that {} is at most {}", show(a), show(b)),
    };
    let guards: Vec<String> = c.guards.iter().map(show).collect();
    let guards = match &guards[..] {
        [] => String::new(),
        [one] => format!(", where {one} is positive"),
        all => format!(", where {} are positive", all.join(" and ")),
    };
    format!("once, {condition}{guards}")
}

fn of_nest(p: &Program, n: &Nest, checked: &Checked, out: &mut Vec<(Loc, String)>) {
    let facts = Facts::new(&n.axes, checked);
    let mut place = Inside { p, facts, made: FxHashMap::default(), carried: FxHashSet::default(), out };
    for i in &n.body.items {
        match i {
            Item::Let(l) => place.binding(l),
            Item::Scan(s) => {
                place.lets(&s.step.block.lets);
                place.carried.extend(&s.vars);
            }
        }
    }
}

/// Scalar code of a nest, as far as it was walked.
struct Inside<'a> {
    p: &'a Program,
    facts: Facts,
    /// What its integers are made by.
    made: FxHashMap<Var, &'a Exp>,
    /// What its scans give.
    carried: FxHashSet<Var>,
    out: &'a mut Vec<(Loc, String)>,
}

impl<'a> Inside<'a> {
    fn lets(&mut self, lets: &'a [Let]) {
        lets.iter().for_each(|l| self.binding(l));
    }

    fn binding(&mut self, l: &'a Let) {
        match &l.exp {
            Exp::If(c, yes, no) => {
                for (branch, when) in [(yes, true), (no, false)] {
                    let scope = self.facts.scope();
                    self.facts.assume(*c, when);
                    self.lets(&branch.block.lets);
                    self.facts.leave(scope);
                }
            }
            // What was an index before is not compared in the end (`compared`).
            Exp::Read { array, index, checked: true } => {
                let info = self.p.array(*array);
                self.compared(&info.name, index, &info.dims, l.loc);
            }
            Exp::Inside { of, index, dims } => self.compared(of, index, dims, l.loc),
            Exp::Op(Op::Div | Op::Rem | Op::RemEuclid, args) if self.p.elem(args[1]).is_int() => {
                if let Atom::Var(_) = args[1] {
                    self.out.push((l.loc, "each division of integers: the divisor is no constant".into()));
                }
            }
            _ => {}
        }
        for v in &l.vars {
            self.made.insert(*v, &l.exp);
        }
        self.facts.learn(self.p.into(), l);
    }

    /// Why an index is compared, if it is not known to be inside.
    fn compared(&mut self, name: &Name, index: &[Atom], dims: &[Dim], loc: Loc) {
        let mut reasons = Vec::new();
        for (k, (i, dim)) in index.iter().zip(dims).enumerate() {
            if self.facts.all_inside(&[*i], std::slice::from_ref(dim)) {
                continue;
            }
            let which = if index.len() > 1 { format!("index {k}") } else { "the index".into() };
            reasons.push(format!("{which} {}", self.comes_from(*i, dim)));
        }
        if !reasons.is_empty() {
            self.out.push((loc, format!("each read of `{name}`: {}", reasons.join(", "))));
        }
    }

    /// Where an index comes from that may not be inside a dimension.
    fn comes_from(&self, i: Atom, dim: &Dim) -> String {
        let data = self.data(i);
        if !data.is_empty() {
            return format!("is decided by {}", data.join(" and "));
        }
        let length = shown(self.p, dim);
        match self.facts.form(i).and_then(|f| self.range(&f)) {
            Some((least, most)) if least == most => format!("is {}, of {length}", shown(self.p, &least)),
            Some((least, most)) => {
                format!("goes from {} to {}, of {length}", shown(self.p, &least), shown(self.p, &most))
            }
            None => format!("is computed in a way that tells no bound, of {length}"),
        }
    }

    /// What of data an integer is made of, in words.
    fn data(&self, a: Atom) -> Vec<String> {
        let Atom::Var(v) = a else { return Vec::new() };
        let mut out: Vec<String> = match self.made.get(&v) {
            Some(Exp::Read { array, index, .. }) => {
                let info = self.p.array(*array);
                // Of the number of a trip something is known.
                let known =
                    index.is_empty() && self.facts.form(a).is_some_and(|f| self.facts.nonnegative(&f));
                if known { Vec::new() } else { vec![format!("`{}`", info.name)] }
            }
            Some(Exp::Op(Op::Cast(_), args)) if self.p.elem(args[0]).is_float() => vec!["floats".into()],
            Some(Exp::Op(_, args)) => args.iter().flat_map(|a| self.data(*a)).collect(),
            Some(Exp::If(c, yes, no)) => {
                let results = yes.results.iter().chain(&no.results);
                std::iter::once(c).chain(results).flat_map(|a| self.data(*a)).collect()
            }
            _ if self.carried.contains(&v) => vec!["what a loop carries".into()],
            _ => Vec::new(),
        };
        out.sort();
        out.dedup();
        out
    }

    /// The least and the greatest value over the axes' ranges, if the signs of the coefficients are known.
    fn range(&self, f: &Affine) -> Option<(Dim, Dim)> {
        let (mut least, mut most) = (f.rest.clone(), f.rest.clone());
        for (v, c) in &f.axes {
            let last = self.facts.extents.get(v)?.sub(&Dim::constant(1));
            let end = c.mul(&last);
            if c.is_nonnegative() {
                most = most.add(&end);
            } else if c.scale(-1).is_nonnegative() {
                least = least.add(&end);
            } else {
                return None;
            }
        }
        Some((least, most))
    }
}

/// A dimension with the names of its numbers.
fn shown(p: &Program, d: &Dim) -> String {
    d.show_to_user(&|s| p.arrays.get(s as usize).map_or_else(String::new, |a| a.name.to_string()))
}
