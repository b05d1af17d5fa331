//! What the tests and the build script share.
//!
//! | file | subject |
//! |---|---|
//! | `single` | a Core function with all its `f64` made `f32`, and whether a GPU can run it |
//! | `value` | kernels' arguments and results as values of the interpreters |

pub mod single;
pub mod value;
