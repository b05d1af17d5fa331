//! What the tests of several crates share: random programs, kernels from their text, and an interpreter of Loops. Not part of the interface.
//!
//! | file | subject |
//! |---|---|
//! | `constructs` | the list of the language's constructs, with a kernel of each |
//! | `numbers` | random numbers that are the same everywhere |
//! | `random` | random well-typed programs, and arguments for any program |
//! | `kernels` | kernels from their text |
//! | `loops` | Loops executed as they stand |

pub mod constructs;
pub mod kernels;
pub mod loops;
pub mod numbers;
pub mod random;
