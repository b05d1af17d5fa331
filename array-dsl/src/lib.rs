//! Kernels over arrays as ordinary Rust functions, with gradients, on all cores and on any GPU.
//!
//! ```
//! use array_dsl::prelude::*;
//! use ndarray::array;
//!
//! #[kernel]
//! fn energy(x: [f64; n], k: f64) -> f64 {
//!     0.5 * k * (x * x).sum()
//! }
//!
//! let x = array![1.0, 2.0];
//! assert_eq!(energy(&x, 2.0), 5.0);
//! let (dx, dk) = grad(energy)(&x, 2.0);
//! assert_eq!(dx, array![2.0, 4.0]);
//! assert_eq!(dk, 2.5);
//! ```
//!
//! [`reference`](mod@reference) has a page for every function that kernels have, `docs/book` of the repository explains the language
//! and its use.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `gpu` | yes | `Gpu` and what belongs to it, and a shader of every kernel. Without it wgpu is not built, and kernels compile faster. |
//! | `verify`, `assert-trusted`, `assert-translated` | no | for the tests of array-dsl: what its stages and its generated code rely on is checked |
//!
//! `array-dsl-adapters` is a crate of its own, with a feature for each optimizer, sampler, solver and format that kernels and records
//! are made fit for.

// The kernels of this crate name it as those of others do.
extern crate self as array_dsl;

pub mod implicit;
pub mod linalg;
pub mod nn;
pub mod ode;
pub mod random;
pub mod reference;
pub mod segment;
pub mod signal;
pub mod sparse;

pub use array_dsl_macros::{__answered, __compile, __record, __unanswered, Record, kernel};
#[doc(hidden)]
pub use array_dsl_runtime as __rt;
pub use array_dsl_runtime::Error;
pub use array_dsl_runtime::check::{GradientCheck, Verdict, check_grad};
pub use array_dsl_runtime::complex::Complex;
pub use array_dsl_runtime::directional::{Directional, HasSparseHessian};
#[cfg(feature = "gpu")]
pub use array_dsl_runtime::gpu::{
    Gpu, GpuArray, GpuEvent, GpuInfo, GpuKernel, GpuKind, GpuLimits, GpuProfile, GpuRecord, GpuScalar,
    GpuStatistics, GpuStepTotal, Upload,
};
pub use array_dsl_runtime::host::{
    Cpu, HasGrad, HasHessian, HasHvp, HasJacobian, HasJvp, HasValueAndGrad, HasVjp, HasVmap, Instance,
    Kernel, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap,
};
pub use array_dsl_runtime::pool::{keep_memory, kept_memory};
pub use array_dsl_runtime::record::Record;
pub use array_dsl_runtime::size::Size;
pub use array_dsl_runtime::sparse::{
    Coloring, Side, SparseDerivative, SparseMatrix, Sparsity, sparse_hessian, sparse_jacobian,
};
pub use array_dsl_runtime::strip::directions_at_once;

/// What a name is in the end that no kernel has answered by.
#[doc(hidden)]
#[macro_export]
macro_rules! __nobody {
    ($($rest:tt)*) => {};
}

/// What a kernel says that is imported under the name of a built-in function.
#[doc(hidden)]
#[macro_export]
macro_rules! __imported_as_built_in {
    ($kernel:ident) => {
        ::core::compile_error!(::core::concat!(
            "[AD0025] `",
            ::core::stringify!($kernel),
            "` is imported under the name of a built-in function, which kernels cannot tell from it\n",
            "help: import it under another name",
        ))
    };
}

array_dsl_macros::__built_in_names! {}

/// What a file with kernels imports.
pub mod prelude {
    pub use crate::{
        Complex, Cpu, Error, Kernel, Record, check_grad, grad, hessian, hvp, jacobian, jvp, kernel,
        value_and_grad, vjp, vmap,
    };
    #[cfg(feature = "gpu")]
    pub use crate::{Gpu, GpuArray, GpuRecord};
}

/// The examples of the README are compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
