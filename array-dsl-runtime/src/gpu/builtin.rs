//! The shaders of this crate, named by what they depend on; their texts are made when they are first needed.

use super::contract_shader::{Counts, Float, sum_parts, thin};
use super::contract_tile::{Tile, tiled};
use super::execute::FILL;
use super::reduce::combine;
use super::status::FIRST_FAILURE;
use crate::program::{Elem, Reducer};

/// A shader of this crate: bindings are arrays that are only read, then one that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Builtin {
    /// Sets all elements.
    Fill,
    /// Folds the parts of a reduction.
    Combine(Elem, Reducer),
    /// Adds up the parts of a contraction.
    SumParts(Float),
    /// The first failure of several runs.
    FirstFailure,
    /// A contraction with few rows or columns.
    Thin { float: Float, counts: Counts, a_along_sums: bool },
    /// Any other contraction.
    Tiled { float: Float, counts: Counts, tile: Tile, a_along_sums: bool, b_along_sums: bool },
}

impl Builtin {
    /// How many arrays are only read.
    pub(super) fn reads(self) -> usize {
        match self {
            Builtin::Fill => 0,
            Builtin::Combine(..) | Builtin::SumParts(_) | Builtin::FirstFailure => 1,
            Builtin::Thin { .. } | Builtin::Tiled { .. } => 2,
        }
    }

    /// For tools.
    pub(super) fn label(self) -> &'static str {
        match self {
            Builtin::Fill => "fill",
            Builtin::Combine(..) => "combine",
            Builtin::SumParts(_) => "sum parts",
            Builtin::FirstFailure => "first failure",
            Builtin::Thin { .. } => "contract thin",
            Builtin::Tiled { .. } => "contract tiled",
        }
    }

    /// The text.
    pub(super) fn wgsl(self) -> String {
        match self {
            Builtin::Fill => FILL.to_string(),
            Builtin::Combine(elem, reducer) => combine(elem, reducer),
            Builtin::SumParts(float) => sum_parts(float),
            Builtin::FirstFailure => FIRST_FAILURE.to_string(),
            Builtin::Thin { float, counts, a_along_sums } => thin(float, counts, a_along_sums),
            Builtin::Tiled { float, counts, tile, a_along_sums, b_along_sums } => {
                tiled(float, counts, tile, a_along_sums, b_along_sums)
            }
        }
    }
}
