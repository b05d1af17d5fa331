//! Derivatives inside kernels: the body as a function of its own, whose derivative is for someone else to take
//! ([`Differentiate`](super::Differentiate)). So the interpreter is no oracle for the rules themselves, but for where they are applied;
//! the rules are compared with differences.

use rustc_hash::FxHashSet;

use super::Machine;
use crate::core::{Atom, Body, Derivative, Mode, Param, Stm, Type, Var, VarInfo};
use crate::dim::Dim;
use crate::ty::{Elem, Loc, Name, Tree};
use crate::value::{Fault, Value};

impl Machine<'_> {
    /// What the statement gives that takes this derivative.
    pub(super) fn derivative(&mut self, s: &Stm, d: &Derivative) -> Result<Vec<Value>, Fault> {
        for (v, at) in &d.point {
            let at = self.atom(*at)?;
            self.bind(*v, at);
        }
        let (values, _) = d.results(s.vars.len());
        let mut found = self.body(&d.body)?;
        let mut directions = found.split_off(values.len());
        if let Mode::Forward(tangents) = &d.mode {
            directions = self.atoms(tangents)?;
        }
        let floats = values.iter().filter(|a| self.f.atom_type(**a).elem.is_float()).copied().collect();
        found.extend(self.differentiated(d, floats, directions, s.loc)?);
        Ok(found)
    }

    /// The derivative of some results of the body, which has been executed.
    fn differentiated(
        &mut self,
        d: &Derivative,
        results: Vec<Atom>,
        directions: Vec<Value>,
        loc: Loc,
    ) -> Result<Vec<Value>, Fault> {
        let mut f = self.f.clone();
        let constants = self.constants(d);
        let param = |v: Var, active: bool, name: Name| Param { name, vars: Tree::Leaf(v), active, loc };
        let name = |v: Var| self.f.vars[v.0 as usize].name.clone();
        f.params = d.point.iter().map(|(v, _)| param(*v, true, name(*v))).collect();
        f.params.extend(constants.iter().map(|v| param(*v, false, name(*v))));
        // A size is known by an array of that length.
        let mut lengths = Vec::new();
        for (name, n) in &self.sizes {
            let ty = Type { elem: Elem::I64, dims: vec![Dim::name(name.clone())] };
            f.vars.push(VarInfo { name: name.clone(), ty });
            f.params.push(param(Var(f.vars.len() as u32 - 1), false, name.clone()));
            let n = usize::try_from(*n).unwrap_or(0);
            lengths.push(Value::from_i64(Elem::I64, vec![n], &vec![0; n])?);
        }
        let count = results.len();
        f.result = Tree::Tuple((0..count).map(Tree::Leaf).collect());
        f.result_types = results.iter().map(|a| f.atom_type(*a)).collect();
        f.body = Body { stms: d.body.stms.clone(), results };
        let mut args: Vec<Value> = Vec::new();
        for v in d.point.iter().map(|(v, _)| v).chain(&constants) {
            args.push(self.var(*v)?.clone());
        }
        args.extend(lengths);
        args.extend(directions);
        let mut found = (self.differentiate)(&f, &d.mode, &args, &mut self.recovery)?;
        Ok(found.split_off(count))
    }

    /// The variables around the derivative that have values: what its body mentions, and integers, which dimensions may.
    fn constants(&self, d: &Derivative) -> Vec<Var> {
        fn visit(b: &Body, used: &mut FxHashSet<Var>, own: &mut FxHashSet<Var>) {
            let vars = |atoms: &[Atom]| -> Vec<Var> {
                atoms.iter().filter_map(|a| if let Atom::Var(v) = a { Some(*v) } else { None }).collect()
            };
            used.extend(vars(&b.results));
            for s in &b.stms {
                used.extend(vars(&s.exp.operands()));
                own.extend(&s.vars);
                own.extend(s.exp.inner_vars());
                s.exp.bodies().into_iter().for_each(|b| visit(b, used, own));
            }
        }
        let (mut used, mut own) = (FxHashSet::default(), d.point.iter().map(|(v, _)| *v).collect());
        visit(&d.body, &mut used, &mut own);
        let all = (0..self.f.vars.len() as u32).map(Var);
        let wanted = |v: &Var| {
            let ty = self.f.ty(*v);
            let known = self.vars[v.0 as usize].is_some() && !own.contains(v);
            known && (used.contains(v) || (ty.rank() == 0 && ty.elem.is_int()))
        };
        all.filter(wanted).collect()
    }
}
