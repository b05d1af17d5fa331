//! Both modes of values with a derivative of their own.
//!
//! ```text
//! y = custom v of x by rule          rule(x, ct) = J(x)^T ct, linear in ct
//!
//! vjp   x_adj += rule(x, y_adj)
//! jvp   y_t = J(x) x_t, the transpose of ct -> rule(x, ct): its vjp by ct, from x_t
//! ```
//!
//! The rule is a program of its own, which is taken over at its place, at every point of a frame if there is one, and so has
//! derivatives again. What `v` was made of does not matter. Cost: that of the rule.

use rustc_hash::FxHashMap;

use super::forward::Forward;
use super::part::{Part, pullback};
use super::reverse::Reverse;
use super::{NotDifferentiable, lift};
use crate::bulk::{ArrayId, Call, Check, CheckKind, Custom, Program, Rule, Stm};
use crate::dim::{Dim, told};
use crate::internal::{broken, expect};
use crate::ty::{Const, Loc, Name};

impl Reverse {
    pub(super) fn custom(&mut self, c: &Custom) -> Result<(), NotDifferentiable> {
        if c.results.iter().all(|y| self.total(*y).is_none()) {
            return Ok(());
        }
        let cotangents: Vec<ArrayId> = c.results.iter().map(|y| self.total_or_zero(*y)).collect();
        let rule = self.p.rules[c.rule].clone();
        let adjoints = apply(&mut self.p, &rule, &c.args, &cotangents, c.loc)?;
        for (i, adj) in rule.by.iter().zip(adjoints) {
            self.contribute(c.args[*i], adj);
        }
        Ok(())
    }
}

impl Forward {
    pub(super) fn custom(&mut self, c: &Custom) -> Result<(), NotDifferentiable> {
        let rule = self.p.rules[c.rule].clone();
        if !rule.by.iter().any(|i| self.tangents.contains_key(&c.args[*i])) {
            return Ok(());
        }
        let tangents: Vec<ArrayId> = rule.by.iter().map(|i| self.tangent_or_zero(c.args[*i])).collect();
        // Where the linear function is taken does not matter.
        let zero = |p: &mut Program, a: &ArrayId| {
            let info = p.array(*a).clone();
            p.constant("cotangent", &info.dims, Const::of(info.elem, 0), c.loc)
        };
        let cotangents: Vec<ArrayId> = c.values.iter().map(|v| zero(&mut self.p, v)).collect();
        let start = self.p.stms.len();
        let adjoints = apply(&mut self.p, &rule, &c.args, &cotangents, c.loc)?;
        let part = Part { stms: start..self.p.stms.len(), point: &cotangents, results: &adjoints };
        let found = pullback(&mut self.p, &part, &tangents)?;
        self.tangents.extend(c.results.iter().copied().zip(found));
        Ok(())
    }
}

/// Routines come where the derivatives have been taken.
pub(super) fn called_early(c: &Call) -> ! {
    broken(format!("a derivative is taken of a call of `{}`", c.routine.name()))
}

/// Appends a rule's statements. The arrays have the axes of a frame in front, if their ranks are higher than the rule's.
fn apply(
    p: &mut Program,
    rule: &Rule,
    args: &[ArrayId],
    cotangents: &[ArrayId],
    loc: Loc,
) -> Result<Vec<ArrayId>, NotDifferentiable> {
    let inputs = [args, cotangents].concat();
    let params: Vec<ArrayId> = rule.program.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
    let mut frame: Vec<Dim> = Vec::new();
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    for (param, input) in params.iter().zip(&inputs) {
        let (own, dims) = (&rule.program.array(*param).dims, &p.array(*input).dims);
        let (outer, inner) = dims.split_at(dims.len().saturating_sub(own.len()));
        frame = outer.to_vec();
        wanted.extend(own);
        found.extend_from_slice(inner);
    }
    let mut sizes: FxHashMap<Name, Dim> = FxHashMap::default();
    for t in told(&wanted) {
        // The rule's sizes are those of the kernel, which has been called with them.
        let size = expect(t.polynomial(&found[t.at], &sizes), || {
            format!("a rule has no size `{}` where its kernel has one", t.size)
        });
        sizes.insert(t.size, size);
    }
    let (stms, params, results) = p.import(&rule.program, &sizes);
    let names: FxHashMap<ArrayId, ArrayId> = params.into_iter().zip(inputs).collect();
    let mut arrays = names.clone();
    let results: Vec<ArrayId> = if frame.is_empty() {
        let copies = p.copy_stms(&stms, &mut arrays);
        p.stms.extend(copies);
        results.iter().map(|a| arrays.get(a).copied().unwrap_or(*a)).collect()
    } else {
        lift::lift(p, &stms, &frame, &mut arrays)?;
        results.iter().map(|a| lift::broadcast(p, *a, &frame, &arrays)).collect()
    };
    // Sizes that only the rule's run tells must be those of what the cotangents belong to.
    Ok(rule.by.iter().zip(results).map(|(i, a)| as_large_as(p, a, args[*i], loc)).collect())
}

/// The array under the dimensions of another one, which are checked to be the same.
fn as_large_as(p: &mut Program, a: ArrayId, like: ArrayId, loc: Loc) -> ArrayId {
    let (info, dims) = (p.array(a).clone(), p.array(like).dims.clone());
    if info.dims == dims {
        return a;
    }
    for (have, want) in info.dims.iter().zip(&dims).filter(|(have, want)| have != want) {
        let kind = CheckKind::Equal(have.clone(), want.clone());
        p.stms.push(Stm::Check(Check { kind, guards: Vec::new() }, loc));
    }
    let result = p.new_array(info.name, info.elem, dims);
    p.stms.push(Stm::Reshape { result, source: a });
    result
}
