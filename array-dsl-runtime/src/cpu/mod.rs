//! CPU building blocks that generated code calls.
//!
//! * Chunk boundaries and every other choice that affects rounding depend on sizes only, never on the number of
//!   threads: results have the same bits for 1 and for 64 threads.
//! * All of it is safe. What generated code is trusted with stands in [`trusted`](crate::trusted).
//! * What threads have to do with it is compiled once, in `tasks`, and not again for each loop of a user's.
//! * Memory that is refused is an error ([`OutOfMemory`]).

mod accumulate;
mod across;
mod bands;
mod chunks;
mod fourier;
mod lanes;
mod memory;
mod scan;
mod simd;
mod sort;
mod tasks;

pub use accumulate::accumulate;
pub use across::{best, place};
pub(crate) use across::{pays, transpose};
pub use bands::{in_bands, rows_of};
pub use chunks::{COLUMNS, fold_chunks, fold_columns, for_blocks, for_chunks, for_wide_chunks};
pub use fourier::{Plan, Transformed, fft};
pub use lanes::{joined, lanes_at};
pub(crate) use memory::assume_set;
pub use memory::{
    OutOfMemory, alloc, alloc_any, alloc_unset, collected, combine, copied, copied_out, copy, fill, repeated,
    room_unset, unset, zeros,
};
pub use scan::scan_chunks;
pub use simd::{Region, in_vectors, simd};
pub use sort::{Digits, Sortable, argsort, sort};
