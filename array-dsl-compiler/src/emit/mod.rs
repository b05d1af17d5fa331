//! The back ends: scheduled programs as text.

mod check;
pub mod cpu;
pub mod fallback;
pub mod host;
pub mod signature;
mod structure;
pub mod wgsl;
