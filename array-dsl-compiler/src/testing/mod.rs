//! What the tests of several crates share: random programs, kernels from their text, and an interpreter of Loops. Not part of the interface.
//!
//! | file | subject |
//! |---|---|
//! | `constructs` | the list of the language's constructs, with a kernel of each |
//! | `numbers` | random numbers that are the same everywhere |
//! | `random` | random well-typed programs, and arguments for any program |
//! | `kernels` | kernels from their text |
//! | `mutants` | kernels with random changes, and what the compiler makes of them |
//! | `compare` | a program in every stage, and its derivatives |
//! | `loops` | Loops executed as they stand |
//! | `passes` | passes by their names, on programs as text |
//! | `meaning` | Core executed as it stands: what everything is compared with |

pub mod compare;
pub mod constructs;
pub mod growing;
pub mod kernels;
pub mod loops;
pub mod meaning;
pub mod mutants;
pub mod numbers;
pub mod passes;
pub mod random;
