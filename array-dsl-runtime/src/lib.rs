//! What generated code calls: CPU building blocks on rayon, vector mathematics, GEMM; the GPU side on wgpu.

pub mod check;
pub mod contract;
pub mod cpu;
pub mod entry;
pub mod error;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod host;
pub mod program;
pub mod real;
pub mod record;
pub mod status;

pub use error::Error;
pub use ndarray;
