//! The scalar code of nests on its way into the points: arrays of one element are scalars, what is known is not computed again, and
//! choices that are settled are gone. What branches of joined choices have in common comes later (`choices`).

use rustc_hash::FxHashMap;

use super::Sink;
use crate::bulk::build::{Code, decided, folded, renamed};
use crate::bulk::{ArrayId, Atom, Block, Branch, Exp, Let, Var};
use crate::dim::{Dim, SizeAtom};
use crate::loops::Node;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

impl Sink<'_> {
    /// A statement of a nest. What is known already, or one of the scalars, has no statement.
    pub(super) fn binding(
        &mut self,
        l: &Let,
        names: &mut FxHashMap<Var, Atom>,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        let mut lets = Vec::new();
        self.simplified(l, names, &mut lets)?;
        out.extend(lets.into_iter().map(Node::Let));
        Some(())
    }

    fn simplified(&mut self, l: &Let, names: &mut FxHashMap<Var, Atom>, out: &mut Vec<Let>) -> Option<()> {
        let exp = match &l.exp {
            Exp::Read { array, index, checked } => {
                let index: Vec<Atom> = index.iter().map(|i| renamed(names, *i)).collect();
                if let Some(values) = self.values.get(array) {
                    // Outside is an error, which this place does not report.
                    let place = self.place(*array, &index)??;
                    names.insert(l.vars[0], values[place]);
                    return Some(());
                }
                if self.inside.contains(array) && !self.memory.contains_key(array) {
                    // Of what is the same everywhere there may be no memory.
                    let value = *self.constants.get(array).filter(|_| !checked)?;
                    names.insert(l.vars[0], Atom::Const(value));
                    return Some(());
                }
                if !checked && self.is_own_element(*array, &index) {
                    names.insert(l.vars[0], self.own_element(*array, index, l.loc));
                    return Some(());
                }
                Exp::Read { array: *array, index, checked: *checked }
            }
            Exp::Inside { of, index, dims } => {
                // No array that loops make has a dimension of their own.
                if dims.iter().any(|d| d.atoms().iter().any(|a| self.own_number(a).is_some())) {
                    return None;
                }
                let left = index.iter().map(|i| renamed(names, *i)).zip(dims.clone());
                let (index, dims): (Vec<Atom>, Vec<Dim>) = left.filter(|(i, d)| !is_inside(i, d)).unzip();
                if index.is_empty() {
                    names.insert(l.vars[0], Atom::Const(Const::bool(true)));
                    return Some(());
                }
                Exp::Inside { of: of.clone(), index, dims }
            }
            Exp::Size(d) => match self.size(d, l.loc, out)? {
                Some(value) => {
                    names.insert(l.vars[0], value);
                    return Some(());
                }
                None => l.exp.clone(),
            },
            Exp::Op(op, args) => {
                let args: Vec<Atom> = args.iter().map(|a| renamed(names, *a)).collect();
                if let Some(value) = decided(*op, &args).or_else(|| folded(*op, &args).map(Atom::Const)) {
                    names.insert(l.vars[0], value);
                    return Some(());
                }
                Exp::Op(*op, args)
            }
            Exp::StopGradient(a) => {
                let value = renamed(names, *a);
                names.insert(l.vars[0], value);
                return Some(());
            }
            Exp::If(c, yes, no) => match renamed(names, *c) {
                Atom::Const(c) => {
                    let taken = if c.as_bool() { yes } else { no };
                    for l in &taken.block.lets {
                        self.simplified(l, names, out)?;
                    }
                    for (v, a) in l.vars.iter().zip(&taken.results) {
                        let value = renamed(names, *a);
                        names.insert(*v, value);
                    }
                    return Some(());
                }
                c => Exp::If(c, self.branch(yes, names)?, self.branch(no, names)?),
            },
        };
        if let Some(vars) = self.known.expression(&exp) {
            names.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
            return Some(());
        }
        let vars: Vec<Var> = l.vars.iter().map(|v| self.p.new_var(self.p.vars[v.0 as usize])).collect();
        names.extend(l.vars.iter().copied().zip(vars.iter().map(|v| Atom::Var(*v))));
        self.known.add_expression(exp.clone(), vars.clone());
        let exp = match exp {
            Exp::Read { array, index, checked } => {
                Exp::Read { array: self.memory.get(&array).copied().unwrap_or(array), index, checked }
            }
            exp => exp,
        };
        out.push(Let { vars, exp, loc: l.loc });
        Some(())
    }

    /// Whether an index leads to an element of the point, wherever that is, of an array that the loop does not change.
    fn is_own_element(&self, array: ArrayId, index: &[Atom]) -> bool {
        let Some(rest) = index.strip_prefix(&self.at[..]) else { return false };
        let dims = &self.p.array(array).dims;
        !self.inside.contains(&array)
            && dims.starts_with(&self.points)
            && rest.iter().zip(&dims[self.points.len()..]).all(|(i, d)| is_inside(i, d))
    }

    /// It is read once for all trips, and not in a choice, which several points can then make together.
    fn own_element(&mut self, array: ArrayId, index: Vec<Atom>, loc: Loc) -> Atom {
        let elem = self.p.array(array).elem;
        let exp = Exp::Read { array, index, checked: false };
        let known = self.first.iter().find(|l| l.exp == exp).map(|l| l.vars[0]);
        let var = known.unwrap_or_else(|| {
            let var = self.p.new_var(elem);
            self.first.push(Let { vars: vec![var], exp, loc });
            var
        });
        Atom::Var(var)
    }

    fn branch(&mut self, b: &Branch, names: &mut FxHashMap<Var, Atom>) -> Option<Branch> {
        let outside = self.known.enter();
        let mut lets = Vec::new();
        for l in &b.block.lets {
            self.simplified(l, names, &mut lets)?;
        }
        self.known.leave(outside);
        let results = b.results.iter().map(|a| renamed(names, *a)).collect();
        Some(Branch { block: Block { lets }, results })
    }

    /// The number of the loop's own that a size mentions.
    pub(super) fn own_number(&self, a: &SizeAtom) -> Option<ArrayId> {
        match a {
            SizeAtom::Scalar(s) => Some(ArrayId(*s)).filter(|a| self.inside.contains(a)),
            SizeAtom::Name(_) => None,
        }
    }

    /// A size that numbers of the loop's own are in, computed; none if there are none in it.
    pub(super) fn size(&mut self, d: &Dim, loc: Loc, out: &mut Vec<Let>) -> Option<Option<Atom>> {
        if !d.atoms().iter().any(|a| self.own_number(a).is_some()) {
            return Some(None);
        }
        if let Some(known) = self.known.expression(&Exp::Size(d.clone())) {
            return Some(Some(Atom::Var(known[0])));
        }
        let mut code = Code::new(loc);
        let mut rest = Dim::constant(0);
        let mut sum = None;
        for (m, c) in d.terms() {
            if !m.iter().any(|a| self.own_number(a).is_some()) {
                rest = rest.add(&Dim::monomial(m.clone()).scale(c));
                continue;
            }
            let mut term = Atom::Const(Const::int(Elem::I64, c));
            for a in m.iter() {
                let factor = match self.own_number(a) {
                    Some(number) => *self.values.get(&number)?.first()?,
                    None => code.bind(self.p, Elem::I64, Exp::Size(Dim::atom(a.clone()))),
                };
                term = code.mul(self.p, term, factor);
            }
            sum = Some(match sum {
                Some(sum) => code.add(self.p, sum, term),
                None => term,
            });
        }
        let rest = code.bind(self.p, Elem::I64, Exp::Size(rest));
        let size = code.op(self.p, Op::Add, &[rest, sum?]);
        self.known.add_expression(Exp::Size(d.clone()), size.var().into_iter().collect());
        out.append(&mut code.lets);
        Some(Some(size))
    }
}

/// Whether an index is certainly inside, as a constant.
fn is_inside(i: &Atom, d: &Dim) -> bool {
    match (i, d.as_constant()) {
        (Atom::Const(c), Some(n)) => (0..n).contains(&c.as_i64()),
        _ => false,
    }
}
