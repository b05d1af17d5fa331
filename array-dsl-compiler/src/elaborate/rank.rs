//! Rank lifting: which maps or replications one application needs.
//!
//! A function expects arguments of fixed ranks. Arguments of higher rank share a **frame** of outer axes over
//! which the function is mapped; trailing alignment as in NumPy, so an argument with a shorter frame is used again
//! along the outer axes. If no argument is above its rank, arguments below theirs are replicated. One application
//! gets maps or replications, never both. Here the arguments' ranks are known, so the answer is local and unique. Where an
//! argument comes from a function over arrays of every rank, that function might have been mapped: see `joint`.

use proc_macro2::Span;

use super::Elaborator;
use super::value::Value;
use crate::core::Atom;
use crate::diagnostics::Code;
use crate::dim::Dim;

/// The answer for one application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lifting {
    /// Ranks agree.
    Direct,
    /// Mapped over `frame` axes; the i-th argument has the last `excess[i]` of them.
    Map { frame: usize, excess: Vec<usize> },
    /// The i-th argument lacks `missing[i]` outer axes.
    Replicate { missing: Vec<usize> },
}

/// Decides the lifting of a function that expects `expected` ranks for arguments of `found` ranks. `None`:
/// some arguments are above and others (of a function over arrays) below.
pub(super) fn solve(expected: &[usize], found: &[usize]) -> Option<Lifting> {
    let excess = |(e, f): (&usize, &usize)| f.saturating_sub(*e);
    let missing = |(e, f): (&usize, &usize)| e.saturating_sub(*f);
    let over: Vec<usize> = expected.iter().zip(found).map(excess).collect();
    let under: Vec<usize> = expected.iter().zip(found).map(missing).collect();
    match (over.iter().any(|x| *x > 0), under.iter().any(|x| *x > 0)) {
        (false, false) => Some(Lifting::Direct),
        (true, false) => Some(Lifting::Map { frame: over.iter().copied().max().unwrap_or(0), excess: over }),
        (false, true) => Some(Lifting::Replicate { missing: under }),
        (true, true) => None,
    }
}

/// A function that is mapped, for messages about the sizes of what it is mapped over. Of operators nobody expects anything else.
fn mapped(what: &str, excess: &[usize]) -> String {
    let quoted = what.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
    let Some(name) = quoted.filter(|n| n.starts_with(char::is_alphabetic) && excess.len() <= 26) else {
        return what.to_string();
    };
    let names: Vec<String> = ('a'..='z').take(excess.len()).map(String::from).collect();
    let over: Vec<&str> =
        names.iter().zip(excess).filter(|(_, k)| **k > 0).map(|(n, _)| n.as_str()).collect();
    format!("{what}, mapped here as in `map(|{}| {name}({}), ..)`", over.join(", "), names.join(", "))
}

impl Elaborator<'_> {
    /// Applies `f`, which expects arguments of the given ranks, to arguments of any rank. `what` names the
    /// function in messages; `sources` are the replicated arguments' sizes: positions of arguments whose sizes
    /// they take.
    pub(super) fn lift(
        &mut self,
        what: &str,
        expected: &[usize],
        args: &[Atom],
        span: Span,
        f: &mut dyn FnMut(&mut Self, &[Atom]) -> Option<Value>,
    ) -> Option<Value> {
        let found: Vec<usize> = args.iter().map(|a| self.rank(*a)).collect();
        match solve(expected, &found) {
            Some(Lifting::Direct) => f(self, args),
            Some(Lifting::Map { frame, excess }) => {
                let mapped = mapped(what, &excess);
                let extents = self.frame_extents(&mapped, frame, &excess, args, span)?;
                let args = self.align(&mapped, &extents, &excess, args, span)?;
                let name = super::expr::operator_name(what.trim_matches('`')).to_string();
                self.build(&name, &extents, &[], span, |e, ix| {
                    let cells: Vec<Atom> =
                        args.iter().zip(&excess).map(|(a, k)| e.index(*a, &ix[frame - k..], span)).collect();
                    f(e, &cells)
                })
            }
            Some(Lifting::Replicate { missing }) => {
                self.joint.doubts += 1;
                let mut args = args.to_vec();
                let model = (0..args.len()).find(|i| missing[*i] == 0 && expected[*i] > 0);
                for i in 0..args.len() {
                    if missing[i] == 0 {
                        continue;
                    }
                    let Some(m) = model.filter(|m| expected[*m] >= expected[i]) else {
                        return self.rank_error(what, expected, &args, span);
                    };
                    let dims = self.atom_type(args[m]).dims;
                    let outer = dims[dims.len() - expected[i]..][..missing[i]].to_vec();
                    let a = args[i];
                    match self.build("rep", &outer, &[], span, |_, _| Some(Value::Atom(a)))? {
                        Value::Atom(r) => args[i] = r,
                        _ => return None,
                    }
                }
                f(self, &args)
            }
            None => self.rank_error(what, expected, args, span),
        }
    }

    fn rank_error<T>(&mut self, what: &str, expected: &[usize], args: &[Atom], span: Span) -> Option<T> {
        let found: Vec<String> = args.iter().map(|a| self.show_type(&self.atom_type(*a))).collect();
        let want: Vec<String> = expected
            .iter()
            .map(|r| match r {
                0 => "a scalar".to_string(),
                1 => "a vector".to_string(),
                2 => "a matrix".to_string(),
                r => format!("an array of rank {r}"),
            })
            .collect();
        self.error(
            Code::Rank,
            span,
            format!("{what} expects {}, found {}", want.join(" and "), found.join(" and ")),
            "arguments of higher rank are mapped over, and a scalar is repeated beside a vector, but one call cannot do both; \
             index or `replicate` an argument",
        );
        None
    }

    /// The extents of the frame: from the argument with the longest one. Others are required to agree.
    fn frame_extents(
        &mut self,
        what: &str,
        frame: usize,
        excess: &[usize],
        args: &[Atom],
        span: Span,
    ) -> Option<Vec<Dim>> {
        let longest = excess.iter().position(|k| *k == frame)?;
        let extents = self.atom_type(args[longest]).dims[..frame].to_vec();
        for (a, k) in args.iter().zip(excess) {
            let dims = self.atom_type(*a).dims;
            for (have, want) in dims[..*k].iter().zip(&extents[frame - k..]) {
                self.equal(have, want, span, what, false)?;
            }
        }
        Some(extents)
    }

    /// The arguments with the frame's own dimensions, so that reads along it are certain to be inside.
    fn align(
        &mut self,
        what: &str,
        extents: &[Dim],
        excess: &[usize],
        args: &[Atom],
        span: Span,
    ) -> Option<Vec<Atom>> {
        args.iter()
            .zip(excess)
            .map(|(a, k)| {
                let mut dims = self.atom_type(*a).dims;
                dims[..*k].clone_from_slice(&extents[extents.len() - k..]);
                self.coerce(*a, &dims, span, what, false)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_maps_or_replications() {
        assert_eq!(solve(&[0, 0], &[0, 0]), Some(Lifting::Direct));
        assert_eq!(solve(&[0, 0], &[2, 1]), Some(Lifting::Map { frame: 2, excess: vec![2, 1] }));
        assert_eq!(solve(&[1], &[2]), Some(Lifting::Map { frame: 1, excess: vec![1] }));
        assert_eq!(solve(&[1, 1], &[1, 0]), Some(Lifting::Replicate { missing: vec![0, 1] }));
        assert_eq!(solve(&[1, 1], &[2, 0]), None);
    }
}
