//! The back ends: scheduled programs as text.

pub mod cpu;
mod directional;
pub mod fallback;
pub mod host;
pub mod signature;
mod structure;
pub mod wgsl;
