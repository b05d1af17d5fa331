//! The back ends: lowered programs as text.

mod back_end;
pub mod cpu;
mod directional;
pub mod fallback;
pub mod host;
pub mod signature;
mod structure;
pub mod wgsl;
