//! CPU building blocks that generated code calls.
//!
//! * Chunk boundaries and every other choice that affects rounding depend on sizes only, never on the number of
//!   threads: results have the same bits for 1 and for 64 threads.
//! * Generated code contains no `unsafe`. The hidden functions [`get`], [`set`], [`init`], [`all_set`], [`Shared::rows`] and
//!   [`Shared::set`] are safe to call
//!   by signature, and have a contract that the compiler upholds; debug builds assert it. They are not part of
//!   the public interface.

mod accumulate;
mod chunks;
mod memory;
mod scan;
mod simd;
mod sort;

pub use accumulate::accumulate;
pub use chunks::{COLUMNS, fold_chunks, fold_columns, for_chunks, for_wide_chunks};
pub use memory::{Shared, all_set, alloc, alloc_unset, combine, copied, copy, fill, get, init, set, unset};
pub use scan::scan_chunks;
pub use simd::{Region, simd};
pub use sort::{Digits, Sortable, argsort, sort};
