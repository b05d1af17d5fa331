//! Which scalars are loop control and addresses: those computed from axes, numbers of trips, sizes and constants alone, and no
//! floats.
//!
//! An interpreter counts neither how its loops count nor how `[i, j]` becomes a place in memory. `n - 1 - i` is no different: the
//! generated code steps an address down instead of up. Nor is `i > 0`, which it settles for all but the first trips of a loop
//! (`lower/cpu/peel`) or predicts. Such operations are therefore counted apart.

use crate::bulk::{Atom, Exp, Item, Let, Program, Stm, Trips, Var, YieldKind};
use crate::ty::Elem;

/// See the module header.
pub(super) struct Control {
    vars: Vec<bool>,
    /// Arrays of rank 0 that hold such a scalar.
    arrays: Vec<bool>,
}

impl Control {
    pub fn new(p: &Program) -> Control {
        let mut c = Control { vars: vec![false; p.vars.len()], arrays: vec![false; p.arrays.len()] };
        c.stms(p, &p.stms);
        c
    }

    pub fn is(&self, v: Var) -> bool {
        self.vars[v.0 as usize]
    }

    fn atom(&self, a: Atom) -> bool {
        match a {
            Atom::Var(v) => self.is(v),
            Atom::Const(_) => true,
        }
    }

    fn stms(&mut self, p: &Program, stms: &[Stm]) {
        for s in stms {
            match s {
                Stm::Nest(n) => {
                    n.axes.iter().for_each(|a| self.vars[a.var.0 as usize] = true);
                    for i in &n.body.items {
                        match i {
                            Item::Let(l) => self.binding(p, l),
                            Item::Scan(s) => self.lets(p, &s.step.block.lets),
                        }
                    }
                    for y in n.yields.iter().filter(|_| n.axes.is_empty()) {
                        if let YieldKind::Store(v) = y.kind {
                            let kept = matches!(p.elem(v), Elem::I64 | Elem::Bool) && self.atom(v);
                            self.arrays[y.array.0 as usize] = kept;
                        }
                    }
                }
                Stm::Repeat(r) => {
                    if let Trips::For(index, _) = r.trips {
                        self.arrays[index.0 as usize] = true;
                    }
                    self.stms(p, &r.body);
                }
                _ => {}
            }
        }
    }

    fn lets(&mut self, p: &Program, lets: &[Let]) {
        lets.iter().for_each(|l| self.binding(p, l));
    }

    fn binding(&mut self, p: &Program, l: &Let) {
        let own = match &l.exp {
            Exp::Size(_) => true,
            Exp::Read { array, index, .. } => index.is_empty() && self.arrays[array.0 as usize],
            Exp::Op(_, args) | Exp::Inside { index: args, .. } => args.iter().all(|a| self.atom(*a)),
            Exp::StopGradient(a) => self.atom(*a),
            Exp::If(c, x, y) => {
                self.lets(p, &x.block.lets);
                self.lets(p, &y.block.lets);
                for (v, (a, b)) in l.vars.iter().zip(x.results.iter().zip(&y.results)) {
                    let all = [c, a, b].into_iter().all(|a| self.atom(*a));
                    self.vars[v.0 as usize] = all && !p.vars[v.0 as usize].is_float();
                }
                return;
            }
        };
        for v in &l.vars {
            self.vars[v.0 as usize] = own && !p.vars[v.0 as usize].is_float();
        }
    }
}
