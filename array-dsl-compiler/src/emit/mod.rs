//! The back ends: scheduled programs as text.

pub mod cpu;
pub mod fallback;
pub mod host;
pub mod wgsl;
