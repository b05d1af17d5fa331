//! What generated code calls: CPU building blocks on rayon, vector mathematics, GEMM; the GPU side on wgpu.

pub mod allocate;
pub mod buffer;
pub mod check;
pub mod complex;
#[doc(hidden)]
pub mod constant;
pub mod contract;
pub mod cpu;
pub mod directional;
pub mod entry;
pub mod error;
pub mod given;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod host;
pub mod pool;
pub mod program;
pub mod real;
pub mod record;
pub mod size;
pub mod sparse;
#[doc(hidden)]
pub mod stand_in;
pub mod status;
pub mod stored;
pub mod strip;
pub mod trusted;

pub use error::Error;
pub use ndarray;
