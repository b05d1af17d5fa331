//! Linear algebra for kernels, written in the language itself: import a function and call it inside a kernel, or lift it over batches.
//!
//! ```
//! use array_dsl::linalg::{cholesky, solve_lower};
//! use array_dsl::prelude::*;
//! use ndarray::array;
//!
//! /// The negative logarithm of a normal density, up to a constant.
//! #[kernel]
//! fn surprise(x: [f64; n], covariance: [[f64; n]; n]) -> f64 {
//!     let l = cholesky(covariance);
//!     let z = solve_lower(l, x);
//!     0.5 * dot(z, z) + sum(build(n, |i| l[i][i].ln()))
//! }
//!
//! let s = array![[2.0, 0.5], [0.5, 1.0]];
//! let (dx, _) = grad(surprise)(&array![1.0, 2.0], &s);
//! // The inverse of the covariance times x.
//! assert!((dx - array![0.0, 2.0]).iter().all(|d: &f64| d.abs() < 1e-12));
//! ```
//!
//! | file | functions |
//! |---|---|
//! | `triangular` | [`identity`], [`diagonal`], [`trace`], [`solve_lower`], [`solve_upper`] |
//! | `factors` | [`cholesky`], [`lu`], [`qr`] |
//! | `systems` | [`solve`], [`solve_matrix`], [`inverse`], [`det`], [`slogdet`], [`logdet`], [`lstsq`] |
//! | `spectral` | [`eigh`], [`svd`] |
//! | `exponential` | [`expm`] |
//! | `vectors` | [`norm`], [`cross`] |
//!
//! All are generic kernels over `f32` and `f64`, on the CPU and on GPUs, with derivatives of both modes and of any order, unless a
//! function says otherwise. A batch of matrices needs no more than an argument of one more dimension: `cholesky(batch)`. Points of a
//! `build` or a `map` may call them too; small matrices stay with their points then. From the host they are called through a kernel.
//!
//! **Matrices that have no such factors** do not stop a kernel: a Cholesky factor of a matrix that is not positive definite, and what is
//! solved with a singular one, has elements that are not finite.
//!
//! **Cost.** Textbook loops, O(n^3) operations with small factors, one step after the other along the matrix and parallel across it and
//! across batches. They are meant for small and middling matrices, tens to a few hundreds of rows; a blocked library is several times
//! faster beyond.

mod exponential;
mod factors;
mod spectral;
mod systems;
mod triangular;
mod vectors;

pub use self::exponential::expm;
pub use self::factors::{cholesky, lu, qr};
pub use self::spectral::{eigh, svd};
pub use self::systems::{det, inverse, logdet, lstsq, slogdet, solve, solve_matrix};
pub use self::triangular::{diagonal, identity, solve_lower, solve_upper, trace};
pub use self::vectors::{cross, norm};
