//! The shaders of this crate, named by what they depend on; their texts are made when they are first needed.

use super::contract_shader::{Counts, Float, sum_parts, thin};
use super::contract_tile::{Tile, tiled};
use super::execute::fill;
use super::profile::copy;
use super::sort::{Gives, Source, To};
use super::sort_shader;
use super::status::FIRST_FAILURE;
use crate::program::Elem;

/// Where the shaders of this crate begin, up to the number of the workgroup.
pub(super) const MAIN: &str = "
@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num_wg: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let group = wg.x + wg.y * num_wg.x;
";

/// A shader of this crate: bindings are arrays that are only read, then those that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Builtin {
    /// Sets all elements.
    Fill,
    /// Copies vectors of four words.
    Copy,
    /// Adds up the parts of a contraction.
    SumParts(Float),
    /// The digits of tiles.
    SortCount { elem: Elem, source: Source },
    /// Where the digits of tiles begin.
    SortStarts { is_alone: bool },
    /// Moves elements by a digit.
    SortMove { elem: Elem, gives: Gives, source: Source, to: To },
    /// Sorts rows of one tile.
    SortTiles { elem: Elem, gives: Gives },
    /// The first failure of several runs.
    FirstFailure,
    /// A contraction with few rows or columns.
    Thin { float: Float, counts: Counts, a_along_sums: bool },
    /// Any other contraction.
    Tiled { float: Float, counts: Counts, tile: Tile, a_along_sums: bool, b_along_sums: bool },
}

impl Builtin {
    /// How many arrays are only read, and how many are written.
    pub(super) fn arrays(self) -> [usize; 2] {
        match self {
            Builtin::Fill => [0, 1],
            Builtin::Copy | Builtin::SumParts(_) | Builtin::FirstFailure => [1, 1],
            Builtin::Thin { .. } | Builtin::Tiled { .. } => [2, 1],
            Builtin::SortCount { source, .. } => [if source == Source::Positions { 2 } else { 1 }, 1],
            Builtin::SortStarts { .. } => [0, 2],
            Builtin::SortMove { gives, source, to, .. } => sort_shader::moved_arrays(gives, source, to),
            Builtin::SortTiles { .. } => [1, 1],
        }
    }

    /// For tools.
    pub(super) fn label(self) -> &'static str {
        match self {
            Builtin::Fill => "fill",
            Builtin::Copy => "copy by a shader",
            Builtin::SumParts(_) => "sum parts",
            Builtin::SortCount { .. } => "count digits",
            Builtin::SortStarts { .. } => "starts of digits",
            Builtin::SortMove { .. } => "move by a digit",
            Builtin::SortTiles { .. } => "sort in tiles",
            Builtin::FirstFailure => "first failure",
            Builtin::Thin { .. } => "contract thin",
            Builtin::Tiled { .. } => "contract tiled",
        }
    }

    /// The text.
    pub(super) fn wgsl(self) -> String {
        match self {
            Builtin::Fill => fill(),
            Builtin::Copy => copy(),
            Builtin::SumParts(float) => sum_parts(float),
            Builtin::SortCount { elem, source } => sort_shader::count(elem, source),
            Builtin::SortStarts { is_alone } => sort_shader::starts(is_alone),
            Builtin::SortMove { elem, gives, source, to } => sort_shader::move_all(elem, gives, source, to),
            Builtin::SortTiles { elem, gives } => sort_shader::tiles_alone(elem, gives),
            Builtin::FirstFailure => FIRST_FAILURE.to_string(),
            Builtin::Thin { float, counts, a_along_sums } => thin(float, counts, a_along_sums),
            Builtin::Tiled { float, counts, tile, a_along_sums, b_along_sums } => {
                tiled(float, counts, tile, a_along_sums, b_along_sums)
            }
        }
    }
}
