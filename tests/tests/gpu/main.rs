//! Kernels on a GPU: the same source, the same arguments, and the same results as on the CPU, for values and for
//! derivatives. There must be a GPU (a software one will do), unless the environment says `ARRAY_DSL_GPU=skip`.
//!
//! `agreement` has what the other modules share; each of them is about one group of constructs.

mod agreement;
mod bins;
mod complex;
mod composition;
mod constants;
mod contraction;
mod elementwise;
mod empty;
mod failures;
mod filtering;
mod functions64;
mod generics;
mod indexing;
mod inside;
mod integers;
mod limits;
mod linalg;
mod long;
mod loops;
mod matrices;
mod nn;
mod one_point;
mod points;
mod profiles;
mod random_numbers;
mod records;
mod reduction;
mod resources;
mod scans;
mod shape;
mod sharing;
mod signal;
mod small;
mod sorts;
mod sparse;
mod special;
mod teams;
mod tiles;
mod training;
mod waiting;
mod wide;

#[path = "../../../array-dsl-compiler/tests/programs/stencils.rs"]
mod stencils;

#[path = "../../../array-dsl-compiler/tests/programs/textbook.rs"]
mod textbook;

#[path = "../common/long.rs"]
mod long_kernels;

#[path = "../common/linalg.rs"]
mod linalg_kernels;

#[path = "../common/nn.rs"]
mod nn_kernels;

#[path = "../common/signal.rs"]
mod signal_kernels;

#[path = "../common/sparse.rs"]
mod sparse_kernels;

// What a page checks in a browser.
#[path = "../../../examples/web/page/src/checks.rs"]
#[allow(dead_code, reason = "blocking forms are errors only there")]
mod checks;

#[path = "../common/one_point.rs"]
mod one_point_kernels;

// The example's network and images, so that what is trained here is what is trained there.
#[path = "../../../examples/digits/data.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod data;
#[path = "../../../examples/digits/network.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod network;
#[path = "../../../examples/digits/random.rs"]
mod random;
