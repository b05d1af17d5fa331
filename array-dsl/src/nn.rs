//! Layers of neural networks, for kernels.
//!
//! ```
//! use array_dsl::nn::{conv2d, cross_entropy, max_pool2d};
//! use array_dsl::prelude::*;
//! use ndarray::{Array, Ix1, Ix2, Ix4, array};
//!
//! /// A small network for images of one channel: filters, pooling, and a linear layer.
//! #[kernel]
//! fn loss(
//!     k: [[[[f32; 3]; 3]; 1]; o],
//!     w: [[f32; c]; o],
//!     #[no_grad] x: [[[[f32; 8]; 8]; 1]; n],
//!     #[no_grad] y: [i64; n],
//! ) -> f32 {
//!     let filtered = max(conv2d(x, k, 1, 1), 0.0); // each image of the batch
//!     let pooled = max_pool2d(filtered, 8, 8); // each channel of each image
//!     let features = build((n, o), |i, f| pooled[i][f][0][0]);
//!     mean(cross_entropy(matmul(features, w), y))
//! }
//!
//! let (k, w) = (Array::<f32, Ix4>::ones((2, 1, 3, 3)), Array::<f32, Ix2>::zeros((2, 10)));
//! let (x, y) = (Array::<f32, Ix4>::ones((5, 1, 8, 8)), Array::<i64, Ix1>::zeros(5));
//! let (value, (_, dw)) = value_and_grad(loss)(&k, &w, &x, &y);
//! assert!((value - 10f32.ln()).abs() < 1e-6);
//! assert!((dw[[0, 0]] + 9.0 * 0.9).abs() < 1e-5);
//! ```
//!
//! | file | functions |
//! |---|---|
//! | `images` | [`conv1d`], [`conv2d`], [`conv2d_transpose`], [`max_pool2d`], [`avg_pool2d`], [`upsample`] |
//! | `layers` | [`gelu`], [`silu`], [`layer_norm`], [`attention`], [`causal_attention`], [`cross_entropy`] |
//!
//! All are generic kernels over `f32` and `f64`, on the CPU and on GPUs, with derivatives of both modes and of any order. They are
//! written for one example: an argument of one more dimension is a batch, and what is the same for all, such as a filter, is given
//! once.

mod images;
mod layers;

pub use self::images::{avg_pool2d, conv1d, conv2d, conv2d_transpose, max_pool2d, upsample};
pub use self::layers::{attention, causal_attention, cross_entropy, gelu, layer_norm, silu};
