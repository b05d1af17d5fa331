//! How trees are executed on a GPU.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | what is divided among threads |
//! | `separate` | reductions get trees of their own; what the runtime's steps cannot do becomes trees |
//! | `private` | elements of a point's own |
//! | `sizes` | sizes that only the device knows |
//! | `bounds` | how great they can be |
//! | `narrow` | integers that are short |
//! | `reduction` | trees that are one reduction |
//! | `tiles` | reductions at the points of a matrix, of values of their rows and columns |
//! | `teams` | trees that one team of threads executes for each point |
//! | `prefixes` | trees that give prefixes along one axis |
//! | `copies` | arrays that are combined into, and have room in a workgroup's memory |
//!
//! After it reductions stand alone and no scalar code mentions a size that the host does not know.

mod bounds;
mod copies;
mod narrow;
mod prefixes;
mod private;
mod reduction;
mod separate;
mod sizes;
mod teams;
mod tiles;

pub use bounds::bounds;
pub(crate) use copies::combined_into;
pub(crate) use narrow::{MOST, narrow};
pub(crate) use prefixes::{Prefixes, needed};
pub use private::private;
pub(crate) use reduction::Reduction;
pub use separate::separate;
pub(crate) use sizes::{bound, computed, is_composed, known_scalars};
pub use sizes::{inputs, read_computed, size_scalars};
pub(crate) use teams::{Stage, stage, team};
pub(crate) use tiles::{Class, Tiles};

use crate::loops::uses::each_tree;
use crate::loops::{Division, Program, Tree};

/// Decides how the trees of a program are executed.
pub fn divide(p: &mut Program) {
    let mut steps = std::mem::take(&mut p.steps);
    each_tree(&mut steps, &mut |t| t.plan.division = division(p, t));
    p.steps = steps;
}

fn division(p: &Program, t: &Tree) -> Division {
    if Prefixes::of(p, t).is_some() {
        Division::Prefixes
    } else if Reduction::of(p, t).is_some() {
        Division::Groups
    } else if combined_into(p, t).is_some() {
        Division::Copies
    } else {
        Division::Points
    }
}
