//! A loop on its way into the points.

use super::Sink;
use crate::bulk::{Atom, Exp, Repeat, Trips};
use crate::loops::{Node, Recurrence, Rounds, State};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

impl Sink<'_> {
    /// Whether any of them is true.
    fn any(&mut self, conditions: &[Atom], loc: Loc, out: &mut Vec<Node>) -> Atom {
        let no = Atom::Const(Const::bool(false));
        conditions.iter().fold(no, |any, on| {
            if any == no { *on } else { self.bind(Elem::Bool, Exp::Op(Op::Or, vec![any, *on]), loc, out) }
        })
    }

    /// A loop: its states, the memory that it changes, and its trips.
    pub(super) fn repeat(&mut self, r: &Repeat, is_outermost: bool, out: &mut Vec<Node>) -> Option<()> {
        let mut states = Vec::new();
        let mut held = Vec::new();
        for c in &r.carried {
            if self.is_scalar(c.state) {
                let starts = self.all(c.start, r.loc, out)?;
                let elem = self.p.array(c.state).elem;
                let state = |start| {
                    let [state, result] = [(), ()].map(|()| self.p.new_var(elem));
                    State { state, start, next: start, result }
                };
                states.push((*c, starts.into_iter().map(state).collect::<Vec<State>>()));
            } else {
                let memory = match self.memory.remove(&c.start) {
                    Some(memory) => memory,
                    None if is_outermost => {
                        self.starts.push(*c);
                        c.state
                    }
                    None => {
                        let value = *self.constants.get(&c.start)?;
                        self.filled(c.state, value, r.loc, out)?
                    }
                };
                self.memory.insert(c.state, memory);
                held.push((*c, memory));
            }
        }
        let outside = self.known.enter();
        for (c, s) in &states {
            self.values.insert(c.state, s.iter().map(|s| Atom::Var(s.state)).collect());
        }
        let mut any = None;
        let rounds = match &r.trips {
            Trips::For(index, count) => {
                let rounds = self.rounds(count, r.loc, out)?;
                if let Rounds::For(axis, _) = &rounds {
                    self.values.insert(*index, vec![Atom::Var(axis.var)]);
                    self.most.insert(*index, axis.extent.clone());
                }
                rounds
            }
            Trips::While(on) => {
                let (_, s) = states.iter().find(|(c, _)| c.state == *on)?;
                if let [s] = &s[..] {
                    self.values.insert(*on, vec![Atom::Const(Const::bool(true))]);
                    Rounds::While(s.state)
                } else {
                    let starts: Vec<Atom> = s.iter().map(|s| s.start).collect();
                    let start = self.any(&starts, r.loc, out);
                    let [state, result] = [(), ()].map(|()| self.p.new_var(Elem::Bool));
                    any = Some((*on, State { state, start, next: start, result }));
                    Rounds::While(state)
                }
            }
        };
        let mut body = Vec::new();
        self.list(&r.body, &mut body)?;
        for (c, s) in &mut states {
            let next = self.all(c.next, r.loc, &mut body)?;
            s.iter_mut().zip(next).for_each(|(s, next)| s.next = next);
        }
        if let Some((on, any)) = &mut any {
            let (_, s) = states.iter().find(|(c, _)| c.state == *on)?;
            let next: Vec<Atom> = s.iter().map(|s| s.next).collect();
            any.next = self.any(&next, r.loc, &mut body);
        }
        for (c, memory) in held {
            if self.memory.remove(&c.next) != Some(memory) {
                return None;
            }
            self.memory.insert(c.result, memory);
        }
        self.known.leave(outside);
        for (c, s) in &states {
            self.values.insert(c.result, s.iter().map(|s| Atom::Var(s.result)).collect());
        }
        let any = any.map(|(_, state)| state);
        let states = states.into_iter().flat_map(|(_, s)| s).chain(any).collect();
        out.push(Node::Recurrence(Recurrence { rounds, states, body, loc: r.loc }));
        Some(())
    }
}
