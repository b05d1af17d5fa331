//! The back ends: lowered programs as text.

mod back_end;
mod compiled;
mod constants;
pub mod cpu;
pub mod fallback;
pub mod host;
pub mod signature;
pub mod wgsl;

pub use compiled::Compiled;
