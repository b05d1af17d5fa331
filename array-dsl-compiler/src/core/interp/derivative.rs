//! Derivatives inside kernels: the statements from the point on as a function of their own, whose derivative is for someone else to
//! take ([`Differentiate`](super::Differentiate)). So the interpreter is no oracle for the rules themselves, but for where they are
//! applied; the rules are compared with differences.

use std::collections::HashSet;

use super::{Machine, Mode};
use crate::core::{Atom, Body, Exp, Param, Stm, Type, Var, VarInfo};
use crate::dim::Dim;
use crate::ty::{Elem, Name, Tree};
use crate::value::{Fault, Value};

impl Machine<'_> {
    /// The values of the last statement, which is the derivative at the point that the first statement makes.
    pub(super) fn derivative(&mut self, stms: &[Stm]) -> Result<Vec<Value>, Fault> {
        let [first, between @ .., last] = stms else {
            return Err(Fault::internal("a derivative of nothing"));
        };
        let (point, results, mode, directions) = match (&first.exp, &last.exp) {
            (Exp::Point { tangents, .. }, Exp::Pushforward { point, results }) => {
                (point, results, Mode::Forward, tangents)
            }
            (_, Exp::Pullback { point, results, cotangents }) => (point, results, Mode::Reverse, cotangents),
            _ => return Err(Fault::internal("a derivative without a point")),
        };
        let mut f = self.f.clone();
        let constants = self.constants(between, results, point);
        let param =
            |v: &Var, active: bool, name: Name| Param { name, vars: Tree::Leaf(*v), active, loc: last.loc };
        let name = |v: &Var| self.f.vars[v.0 as usize].name.clone();
        f.params = point.iter().map(|v| param(v, true, name(v))).collect();
        f.params.extend(constants.iter().map(|v| param(v, false, name(v))));
        // A size is known by an array of that length.
        let mut lengths = Vec::new();
        for (name, n) in &self.sizes {
            let ty = Type { elem: Elem::I64, dims: vec![Dim::name(name.clone())] };
            f.vars.push(VarInfo { name: name.clone(), ty });
            f.params.push(param(&Var(f.vars.len() as u32 - 1), false, name.clone()));
            let n = usize::try_from(*n).unwrap_or(0);
            lengths.push(Value::from_i64(Elem::I64, vec![n], &vec![0; n])?);
        }
        f.body = Body { stms: between.to_vec(), results: results.clone() };
        f.result = Tree::Tuple((0..results.len()).map(Tree::Leaf).collect());
        f.result_types = results.iter().map(|a| f.atom_type(*a)).collect();
        let mut args: Vec<Value> = Vec::new();
        for v in point.iter().chain(&constants) {
            args.push(self.var(*v)?.clone());
        }
        args.extend(lengths);
        for a in directions {
            args.push(self.atom(*a)?);
        }
        let mut found = (self.differentiate)(&f, mode, &args, &mut self.recovery)?;
        Ok(found.split_off(results.len()))
    }

    /// The variables that have values before the point: what the statements mention, and integers, which dimensions may.
    fn constants(&self, stms: &[Stm], results: &[Atom], point: &[Var]) -> Vec<Var> {
        fn visit(stms: &[Stm], used: &mut HashSet<Var>, own: &mut HashSet<Var>) {
            let vars = |atoms: &[Atom]| -> Vec<Var> {
                atoms.iter().filter_map(|a| if let Atom::Var(v) = a { Some(*v) } else { None }).collect()
            };
            for s in stms {
                used.extend(vars(&s.exp.operands()));
                own.extend(&s.vars);
                own.extend(s.exp.inner_vars());
                for b in s.exp.bodies() {
                    used.extend(vars(&b.results));
                    visit(&b.stms, used, own);
                }
            }
        }
        let (mut used, mut own) = (HashSet::new(), point.iter().copied().collect());
        visit(stms, &mut used, &mut own);
        used.extend(results.iter().filter_map(|a| if let Atom::Var(v) = a { Some(*v) } else { None }));
        let all = (0..self.f.vars.len() as u32).map(Var);
        let wanted = |v: &Var| {
            let ty = self.f.ty(*v);
            let known = self.vars[v.0 as usize].is_some() && !own.contains(v);
            known && (used.contains(v) || (ty.rank() == 0 && ty.elem.is_int()))
        };
        all.filter(wanted).collect()
    }
}
