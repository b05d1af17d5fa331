//! Kernels of [`array_dsl`] as what other crates want: cost functions, log densities, right-hand sides and residuals, with the
//! derivatives of the kernel; and records in the files that other programs read.
//!
//! Every crate has a feature of its name, and none is on by default.
//!
//! | feature | module | what a kernel is there |
//! |---|---|---|
//! | `argmin` | `argmin` | a cost function with gradient and Hessian, residuals |
//! | `diffsol` | `diffsol` | the right-hand side of differential equations, with products with the Jacobian, its transpose, and those by the parameters |
//! | `levenberg-marquardt` | `levenberg_marquardt` | residuals with their Jacobian |
//! | `nuts-rs` | `nuts_rs` | a log density with its gradient |
//! | `ndarray-npy` | `npz` | (records) an archive of NumPy |
//! | `safetensors` | `safetensors` | (records) a file of tensors |
//!
//! What a solver varies is the kernel's first argument, a vector `[f64; n]`. The other arguments are **bound**: they are given once,
//! as a tuple, where the kernel becomes a problem, and are `#[no_grad]`. See [`bound`] for what may be bound to what.
//!
//! ```
//! # #[cfg(feature = "argmin")] {
//! use argmin::core::{CostFunction, Gradient};
//! use array_dsl::prelude::*;
//! use array_dsl_adapters::argmin::Problem;
//!
//! #[kernel]
//! fn rosenbrock(x: [f64; n], #[no_grad] a: f64, #[no_grad] b: f64) -> f64 {
//!     let (p, q) = (x[..n - 1], x[1..]);
//!     sum(b * (q - p * p).powi(2) + (a - p).powi(2))
//! }
//!
//! let problem = Problem::new(rosenbrock, (1.0, 100.0));
//! assert_eq!(problem.cost(&vec![1.0, 1.0, 1.0]).unwrap(), 0.0);
//! assert_eq!(problem.gradient(&vec![1.0, 1.0, 1.0]).unwrap(), [0.0; 3]);
//! # }
//! ```

#[cfg(feature = "argmin")]
pub mod argmin;
pub mod bound;
#[cfg(feature = "diffsol")]
pub mod diffsol;
#[cfg(any(feature = "ndarray-npy", feature = "safetensors"))]
pub mod files;
#[cfg(feature = "levenberg-marquardt")]
pub mod levenberg_marquardt;
#[cfg(feature = "ndarray-npy")]
pub mod npz;
#[cfg(feature = "nuts-rs")]
pub mod nuts_rs;
#[cfg(feature = "safetensors")]
pub mod safetensors;
