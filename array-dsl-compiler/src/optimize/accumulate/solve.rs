//! The axes that the place of an addition tells: for which its components are solved.

use super::Forms;
use crate::affine::Affine;
use crate::bulk::{Atom, Nest, Var};
use crate::dim::{Dim, Monomial};

/// How one component of the index determines an axis.
pub(super) struct Part {
    /// The axis, if this component is the one that is solved for it.
    pub axis: Option<Var>,
    pub form: Affine,
    /// `1` or `-1` for a solved component.
    pub sign: i64,
    /// Wraps around at this extent.
    pub modulus: Option<Dim>,
}

/// The axes of an addition from its place.
pub(super) struct Solution {
    pub parts: Vec<Part>,
    /// The parts that are solved, each after those that it needs.
    pub order: Vec<usize>,
    /// The used axes that nothing is solved for.
    pub others: Vec<Var>,
    /// The index is exactly the used axes, with the target's extents.
    pub exact: bool,
}

impl Solution {
    /// Whether almost all places of the target are added to, none twice, and not each by the point of the same name.
    pub fn covers(&self, n: &Nest, dims: &[Dim]) -> bool {
        let extent = |v: Var| n.axes.iter().find(|a| a.var == v).map(|a| &a.extent);
        let is_as_long = |(q, d): (&Part, &Dim)| {
            q.axis.and_then(extent).is_some_and(|e| length(e, d) == Some(Length::AsLong))
        };
        !self.exact && self.others.is_empty() && self.parts.iter().zip(dims).all(is_as_long)
    }
}

/// Solves the components of an index, of the axes that occur in it, if each tells something that the others do not.
pub(super) fn solve(forms: &Forms, n: &Nest, index: &[Atom], dims: &[Dim], used: &[Var]) -> Option<Solution> {
    let extent = |v: Var| n.axes.iter().find(|a| a.var == v).map(|a| &a.extent);
    let mut parts = Vec::new();
    for (i, d) in index.iter().zip(dims) {
        let (form, modulus) = component(forms, *i, d)?;
        // Around a circle an integer that is not known has a name too, as the number of elements that data say to rotate by.
        if !form.axes.keys().all(|v| extent(*v).is_some()) {
            return None;
        }
        parts.push(Part { axis: None, form, sign: 1, modulus });
    }
    // What has been solved for, and what solutions are made of.
    let (mut solved, mut given): (Vec<Var>, Vec<Var>) = (Vec::new(), Vec::new());
    let mut order: Vec<usize> = Vec::new();
    // What has one axis first: it tells that one to those that have more.
    let by_axes = |several: bool| {
        let is_it = |k: &usize| (parts[*k].form.axes.len() > 1) == several;
        (0..parts.len()).filter(is_it).collect::<Vec<_>>()
    };
    for k in [by_axes(false), by_axes(true)].concat() {
        let q = &mut parts[k];
        let unit = |c: &Dim| c.as_constant().filter(|c| c.abs() == 1);
        let open = |v: &Var| !solved.contains(v) && !given.contains(v);
        // Around a circle, an axis as long as the circle visits each place once.
        let goes_around = |v: &Var| q.modulus.as_ref().is_none_or(|m| extent(*v) == Some(m));
        let how_long = |v: &Var| match q.form.axes.len() {
            1 => Some(Length::AsLong),
            _ => length(extent(*v)?, &dims[k]),
        };
        let units = q.form.axes.iter().filter_map(|(v, c)| Some((*v, unit(c)?)));
        let units = units.filter(|(v, _)| open(v) && goes_around(v));
        let ranked = units.filter_map(|(v, sign)| {
            let at = n.axes.iter().position(|a| a.var == v)? as isize;
            // Neighbors in memory are along the innermost axis, which is left to the sum; a filter's own axis is inside as well.
            let rank = how_long(&v)?;
            Some((rank, if rank == Length::AsLong { -at } else { at }, v, sign))
        });
        let best = ranked.min_by_key(|(rank, at, ..)| (*rank, *at));
        match best {
            Some((.., v, sign)) => {
                (q.axis, q.sign) = (Some(v), sign);
                given.extend(q.form.axes.keys().filter(|a| **a != v));
                solved.push(v);
                order.push(k);
            }
            None if q.modulus.is_some() => return None,
            None => {}
        }
    }
    let plain = |(q, d): (&Part, &Dim)| {
        let is_axis = q.form.axes.len() == 1 && q.form.rest.as_constant() == Some(0) && q.sign == 1;
        is_axis && q.modulus.is_none() && q.axis.is_some_and(|v| extent(v) == Some(d))
    };
    let exact = parts.len() == used.len() && parts.iter().zip(dims).all(plain);
    let others: Vec<Var> = used.iter().copied().filter(|v| !solved.contains(v)).collect();
    // Some component must tell something of each.
    let told = |v: &Var| order.iter().any(|k| parts[*k].form.axes.contains_key(v));
    others.iter().all(told).then_some(Solution { parts, order, others, exact })
}

/// How long an axis is by the side of a dimension. To look at each place for each value of the other axes costs about what going to the
/// places costs where these are close.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Length {
    /// As long, but for a few elements.
    AsLong,
    /// Longer by what other sizes tell or by a constant, as an array is than what a filter makes of it; at most twice as long if both are
    /// constants.
    Related,
}

fn length(extent: &Dim, dim: &Dim) -> Option<Length> {
    let shared = |(m, c): (&Monomial, i64)| c > 0 && !m.is_empty() && extent.coefficient(m) == c;
    match (dim.sub(extent).as_constant(), extent.as_constant()) {
        (Some(more), _) if more <= FEW => Some(Length::AsLong),
        (Some(more), Some(extent)) => (more <= extent).then_some(Length::Related),
        _ => dim.terms().any(shared).then_some(Length::Related),
    }
}

/// So many elements.
const FEW: i64 = 8;

/// One component of an index as a polynomial, and where it wraps around.
pub(super) fn component(forms: &Forms, i: Atom, d: &Dim) -> Option<(Affine, Option<Dim>)> {
    if let Some(f) = forms.facts.form(i) {
        return Some((f, None));
    }
    let (f, modulus) = forms.facts.remainder(i)?;
    (modulus == d).then(|| (f.clone(), Some(modulus.clone())))
}
