//! The back ends: scheduled programs as text.

pub mod cpu;
pub mod host;
pub mod wgsl;
