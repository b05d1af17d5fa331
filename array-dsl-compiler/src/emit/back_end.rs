//! What a back end has to say: what each kind of step is in its language.
//!
//! A new one is a row of [`Target`](crate::target::Target), with what the stages before have to respect, its part of `lower`, which
//! gives every tree a plan that it can print, and an implementation of [`BackEnd`].

use crate::bulk::{ArrayId, Call, Check};
use crate::loops::{Bands, Contract, Repeat, Sort, Step, Tree};
use crate::ty::{Const, Loc};

/// A back end at work on one program.
pub(super) trait BackEnd {
    /// A step in its language.
    type Step;
    /// Why a program cannot be executed there: the construct that stands in the way.
    type Refusal;

    /// A tree, which may call what it makes for it `label`.
    fn tree(&mut self, t: &Tree, label: &str) -> Result<Self::Step, Self::Refusal>;
    /// A sum of products, of which tools may speak as `label`.
    fn contract(&mut self, c: &Contract, label: &str) -> Result<Self::Step, Self::Refusal>;
    /// Rows in order, likewise.
    fn sort(&mut self, s: &Sort, label: &str) -> Result<Self::Step, Self::Refusal>;
    /// A routine.
    fn call(&mut self, c: &Call) -> Result<Self::Step, Self::Refusal>;
    /// A condition on sizes.
    fn check(&mut self, c: &Check, loc: Loc) -> Result<Self::Step, Self::Refusal>;
    /// Sets every element; without a value to anything, as nothing reads it before it is written.
    fn fill(&mut self, array: ArrayId, value: Option<Const>) -> Result<Self::Step, Self::Refusal>;
    /// Copies every element.
    fn copy(&mut self, array: ArrayId, source: ArrayId) -> Result<Self::Step, Self::Refusal>;
    /// Takes over memory.
    fn take(&mut self, array: ArrayId, source: ArrayId) -> Result<Self::Step, Self::Refusal>;
    /// Steps again and again: made by [`steps`], with labels that begin with this one.
    fn repeat(&mut self, r: &Repeat, label: &str) -> Result<Self::Step, Self::Refusal>;
    /// Steps for some rows at a time, likewise.
    fn bands(&mut self, b: &Bands, label: &str) -> Result<Self::Step, Self::Refusal>;
    /// How many of these steps, from the first one on, may go together.
    fn team(&self, _: &[Step]) -> usize {
        1
    }
    /// Steps that go together: these, printed one by one, or something else.
    fn together(
        &mut self,
        _: &[Step],
        printed: Vec<Self::Step>,
        _: &str,
    ) -> Result<Vec<Self::Step>, Self::Refusal> {
        Ok(printed)
    }
    /// What follows the step `at` of a list, beyond what is written there.
    fn after(&mut self, list: &[Step], at: usize) -> Result<Vec<Self::Step>, Self::Refusal>;
}

/// Steps in order; their labels are `label` with a number.
pub(super) fn steps<B: BackEnd>(b: &mut B, list: &[Step], label: &str) -> Result<Vec<B::Step>, B::Refusal> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < list.len() {
        let count = b.team(&list[at..]).max(1);
        let mut printed = Vec::new();
        for (at, step) in list.iter().enumerate().skip(at).take(count) {
            let label = format!("{label}{at}");
            printed.push(match step {
                Step::Tree(t) => b.tree(t, &label),
                Step::Contract(c) => b.contract(c, &label),
                Step::Sort(s) => b.sort(s, &label),
                Step::Call(c) => b.call(c),
                Step::Check(c, loc) => b.check(c, *loc),
                Step::Fill { array, value } => b.fill(*array, *value),
                Step::Copy { array, source } => b.copy(*array, *source),
                Step::Move { array, source } => b.take(*array, *source),
                Step::Repeat(r) => b.repeat(r, &format!("{label}.")),
                Step::Bands(bands) => b.bands(bands, &format!("{label}.")),
            }?);
            printed.extend(b.after(list, at)?);
        }
        out.extend(match count {
            1 => printed,
            _ => b.together(&list[at..at + count], printed, &format!("{label}{at}"))?,
        });
        at += count;
    }
    Ok(out)
}
