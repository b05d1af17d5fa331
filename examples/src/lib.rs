//! Worked examples of array-dsl. Each lives in a folder of its own beside this one:
//!
//! * `cargo run --release --example digits` trains a small network on handwritten digits;
//! * `cargo run --release --example heat` and nine others of the gallery solve a problem of some science each, in one file;
//! * `cargo run --example adapters` lists the GPU adapters of the machine.
//!
//! Here is what several of them share.

pub mod font;
pub mod picture;
pub mod program;
