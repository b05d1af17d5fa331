//! Reshapes: a nest that reads a flattened array along one axis gets the original axes instead.
//!
//! ```text
//! before   r = reshape x        r: [n * m], x: [n][m]        nest [i < n * m] { .. r[i] .. }
//! after    nest [p < n, q < m] { i = p * m + q; .. x[p, q] .. }
//! ```
//!
//! A stored result gets the split dimensions too and is reshaped back. Only reductions by operators whose
//! result does not name positions are split, and only axes that the nest's every use allows.

use rustc_hash::FxHashMap;

use super::Sequence;
use crate::bulk::build::{Code, Renaming, renamed};
use crate::bulk::{ArrayId, Atom, Axis, Block, Exp, Let, Nest, Program, Reducer, Stm, Var, Yield, YieldKind};
use crate::dim::Dim;
use crate::scalar::Op;

/// Splits axes until no nest reads along a flattened one.
pub(super) fn split(seq: &mut Sequence, p: &mut Program) {
    let views: FxHashMap<ArrayId, ArrayId> = seq
        .stms
        .iter()
        .filter_map(|s| match s {
            Stm::Reshape { result, source } => Some((*result, *source)),
            _ => None,
        })
        .collect();
    if views.is_empty() {
        return;
    }
    for s in std::mem::take(&mut seq.stms) {
        match s {
            Stm::Nest(mut n) => {
                let mut after = Vec::new();
                while let Some((axis, dims)) = candidate(p, &n, &views) {
                    n = split_axis(p, n, axis, &dims, &views, &mut after);
                }
                seq.stms.push(Stm::Nest(n));
                seq.stms.extend(after.into_iter().rev());
            }
            s => seq.stms.push(s),
        }
    }
}

/// The dimensions of `source` that make up each dimension of `view`; `None` if they do not align.
fn groups(view: &[Dim], source: &[Dim]) -> Option<Vec<Vec<Dim>>> {
    let mut out = Vec::new();
    let mut k = 0;
    for d in view {
        let mut group: Vec<Dim> = Vec::new();
        while group.is_empty() || Dim::product(&group) != *d {
            group.push(source.get(k)?.clone());
            k += 1;
            if group.len() > source.len() {
                return None;
            }
        }
        out.push(group);
    }
    (k == source.len()).then_some(out)
}

/// An axis to split, and its parts.
fn candidate(p: &Program, n: &Nest, views: &FxHashMap<ArrayId, ArrayId>) -> Option<(usize, Vec<Dim>)> {
    let splittable = n.yields.iter().all(|y| match &y.kind {
        YieldKind::Store(_) | YieldKind::Accumulate { .. } | YieldKind::Write { .. } => true,
        YieldKind::Reduce { reducer, .. } => {
            matches!(reducer, Reducer::Add | Reducer::Mul | Reducer::And | Reducer::Or)
        }
    });
    if !splittable || n.body.is_ordered() {
        return None;
    }
    let mut found = None;
    n.body.visit_reads(&mut |a, index| {
        let Some(source) = views.get(&a) else { return };
        let Some(groups) = groups(&p.array(a).dims, &p.array(*source).dims) else { return };
        for (i, g) in index.iter().zip(groups) {
            let axis = n.axes.iter().position(|x| Atom::Var(x.var) == *i);
            let whole = |axis: usize| Dim::product(&g) == n.axes[axis].extent;
            if let Some(axis) = axis.filter(|a| g.len() > 1 && found.is_none() && whole(*a)) {
                found = Some((axis, g));
            }
        }
    });
    found
}

fn split_axis(
    p: &mut Program,
    n: Nest,
    axis: usize,
    dims: &[Dim],
    views: &FxHashMap<ArrayId, ArrayId>,
    after: &mut Vec<Stm>,
) -> Nest {
    let parts = p.new_axes(dims);
    let mut code = Code::new(n.loc);
    // Row-major position along the old axis.
    let mut flat: Option<Atom> = None;
    for a in &parts {
        flat = Some(match flat {
            None => Atom::Var(a.var),
            Some(f) => {
                let size = code.size(p, &a.extent);
                let scaled = code.mul(p, f, size);
                code.op(p, Op::Add, &[scaled, Atom::Var(a.var)])
            }
        });
    }
    let old = n.axes[axis].var;
    let map: Renaming = flat.map(|f| (old, f)).into_iter().collect();
    let split = Split { old, parts: parts.iter().map(|a| Atom::Var(a.var)).collect(), views, dims };
    let mut lets = code.lets;
    lets.extend(split.block(p, &n.body.unordered(), &map));
    let trailing = n.axes.len() - axis;
    let mut axes: Vec<Axis> = n.axes[..axis].to_vec();
    axes.extend(parts);
    axes.extend_from_slice(&n.axes[axis + 1..]);
    let yields = n
        .yields
        .into_iter()
        .map(|y| {
            let mut kind = y.kind;
            kind.rename(&map);
            let over = match &mut kind {
                YieldKind::Reduce { over, .. } => {
                    if *over >= trailing {
                        *over += dims.len() - 1;
                        return Yield { array: y.array, kind };
                    }
                    *over
                }
                YieldKind::Store(_) => 0,
                _ => return Yield { array: y.array, kind },
            };
            let info = p.array(y.array).clone();
            let new: Vec<Dim> = axes[..axes.len() - over].iter().map(|a| a.extent.clone()).collect();
            let array = p.new_array(info.name, info.elem, new);
            after.push(Stm::Reshape { result: y.array, source: array });
            Yield { array, kind }
        })
        .collect();
    Nest { axes, body: lets.into(), yields, loc: n.loc }
}

struct Split<'a> {
    old: Var,
    parts: Vec<Atom>,
    views: &'a FxHashMap<ArrayId, ArrayId>,
    dims: &'a [Dim],
}

impl Split<'_> {
    fn block(&self, p: &mut Program, lets: &[Let], map: &Renaming) -> Vec<Let> {
        lets.iter()
            .map(|l| {
                let exp = match &l.exp {
                    Exp::Read { array, index, checked } => {
                        self.read(p, *array, index, *checked, map).unwrap_or_else(|| l.exp.renamed(map))
                    }
                    Exp::If(c, x, y) => {
                        let mut side = |b: &crate::bulk::Branch| crate::bulk::Branch {
                            block: Block { lets: self.block(p, &b.block.lets, map) },
                            results: b.results.iter().map(|a| renamed(map, *a)).collect(),
                        };
                        let (x, y) = (side(x), side(y));
                        Exp::If(renamed(map, *c), x, y)
                    }
                    e => e.renamed(map),
                };
                Let { vars: l.vars.clone(), exp, loc: l.loc }
            })
            .collect()
    }

    /// A read of a view along the split axis as a read of what it views, if every flattened dimension is
    /// indexed by the split axis.
    fn read(
        &self,
        p: &Program,
        array: ArrayId,
        index: &[Atom],
        checked: bool,
        map: &Renaming,
    ) -> Option<Exp> {
        let source = self.views.get(&array)?;
        let groups = groups(&p.array(array).dims, &p.array(*source).dims)?;
        let mut out = Vec::new();
        for (i, g) in index.iter().zip(groups) {
            if g.len() == 1 {
                out.push(renamed(map, *i));
            } else if *i == Atom::Var(self.old) && g == self.dims {
                out.extend(self.parts.iter().copied());
            } else {
                return None;
            }
        }
        Some(Exp::Read { array: *source, index: out, checked })
    }
}
