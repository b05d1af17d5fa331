//! Arrays that a trip binds, of more elements for each point than are scalars: memory beside the loop, of which every point has its
//! own. It has room for the longest that an array becomes, and is the same in all trips.

use super::Sink;
use crate::bulk::{ArrayId, Atom, Axis, Nest, YieldKind};
use crate::dim::Dim;
use crate::loops::{Node, Recurrence, Rounds};
use crate::ty::{Const, Loc};

impl Sink<'_> {
    /// Memory for an array that a trip binds.
    pub(super) fn private(&mut self, a: ArrayId) -> Option<ArrayId> {
        let info = self.p.array(a).clone();
        let dims: Vec<Dim> = info.dims.iter().map(|d| self.bounded(d)).collect::<Option<_>>()?;
        let memory = self.p.new_array(info.name, info.elem, dims);
        self.own.push((memory, Const::of(info.elem, 0)));
        Some(memory)
    }

    /// Whether all that a nest makes is one constant everywhere: what is made of it has that already.
    pub(super) fn is_constant(&self, n: &Nest) -> bool {
        let is = |a: &ArrayId| self.constants.contains_key(a) && !self.is_scalar(*a);
        n.yields.iter().all(|y| is(&y.array) && matches!(y.kind, YieldKind::Store(_)))
    }

    /// Sees to it that what is changed in place has memory: a constant has none before.
    pub(super) fn has_memory(&mut self, a: ArrayId, loc: Loc, out: &mut Vec<Node>) -> Option<()> {
        if !self.memory.contains_key(&a) && self.inside.contains(&a) {
            let value = *self.constants.get(&a)?;
            let memory = self.filled(a, value, loc, out)?;
            self.memory.insert(a, memory);
        }
        Some(())
    }

    /// Memory for an array that is a constant everywhere when it is bound.
    pub(super) fn filled(
        &mut self,
        a: ArrayId,
        value: Const,
        loc: Loc,
        out: &mut Vec<Node>,
    ) -> Option<ArrayId> {
        let memory = self.private(a)?;
        let dims = self.p.array(a).dims.clone();
        let mut places = (0..dims.len()).filter(|k| dims[*k..].starts_with(&self.points));
        let (Some(of_points), None) = (places.next(), places.next()) else { return None };
        let mut index = Vec::new();
        let fill = self.fills(memory, value, &dims, of_points, &mut index, loc)?;
        out.extend(fill);
        Some(memory)
    }

    /// The loops over the dimensions that are not the points'.
    fn fills(
        &mut self,
        array: ArrayId,
        value: Const,
        dims: &[Dim],
        of_points: usize,
        index: &mut Vec<Atom>,
        loc: Loc,
    ) -> Option<Vec<Node>> {
        if index.len() == of_points {
            index.extend(&self.at);
        }
        if index.len() == dims.len() {
            return Some(vec![Node::Write {
                array,
                index: index.clone(),
                value: Atom::Const(value),
                checked: true,
            }]);
        }
        let mut out = Vec::new();
        let rounds = self.rounds(&dims[index.len()], loc, &mut out)?;
        if let Rounds::For(Axis { var, .. }, _) = &rounds {
            index.push(Atom::Var(*var));
        }
        let outside = self.known.enter();
        let body = self.fills(array, value, dims, of_points, index, loc)?;
        self.known.leave(outside);
        out.push(Node::Recurrence(Recurrence { rounds, states: Vec::new(), body, loc }));
        Some(out)
    }
}
