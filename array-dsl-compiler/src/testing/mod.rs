//! What the tests of several crates share: random programs and an interpreter of Loops. Not part of the interface.
//!
//! | file | subject |
//! |---|---|
//! | `numbers` | random numbers that are the same everywhere |
//! | `random` | random well-typed Core programs, and arguments for any program |
//! | `loops` | Loops executed as they stand |

pub mod loops;
pub mod numbers;
pub mod random;
