//! The back ends: scheduled programs as text.

pub mod wgsl;
