//! Loops to Loops: how the loops of one target are executed. The back ends print what they find.
//!
//! * On the CPU (`cpu`) a tree's points become chunks of one axis, its other axes loops; each loop gets its form: lanes, tiles, a
//!   middle.
//! * For a GPU (`gpu`) reductions get trees of their own, sizes that only the device knows are read there, and each tree is divided
//!   among threads or workgroups.
//!
//! * Before either, points use the values that they wrote (`forward`).
//! * Both move what nobody but the points of a loop needs (`own`), have points keep their own few elements (`private`), and end loops
//!   where a point's own trips do (`ends`).
//!
//! What a program means stays as it is: the verifier of Loops looks at the result again, and the tests execute it.

mod border;
pub mod cpu;
pub mod ends;
mod forward;
pub mod gpu;
mod own;
mod private;

pub use forward::forward;
