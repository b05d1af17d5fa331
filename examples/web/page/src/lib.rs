//! A page that trains a network on handwritten digits in the browser, on its GPU where there is WebGPU, else on its CPU.
//!
//! `page.js` draws and asks; everything that is computed is here: [`page`] is what the script sees, `network` trains. The
//! network, its images and its initial state are those of the example `digits`, by the same files.
//!
//! Built and served by `examples/web/web.sh`. For any other target the crate is empty.
#![cfg(target_arch = "wasm32")]

#[path = "../../../digits/data.rs"]
#[allow(dead_code, reason = "the example `digits` uses the rest")]
mod data;
#[path = "../../../digits/network.rs"]
#[allow(dead_code, reason = "the example `digits` uses the rest")]
mod kernels;
#[path = "../../../digits/parameters.rs"]
mod parameters;
#[path = "../../../digits/random.rs"]
mod random;
#[path = "../../../digits/slot.rs"]
mod slot;

mod checks;
mod cpu;
mod gpu;
mod late;
mod network;
pub mod page;
mod seen;
