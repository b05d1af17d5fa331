//! Kernels that call the functions of `array_dsl::sparse` and `array_dsl::segment`, of the entries of a matrix of four columns and
//! of a vector of as many.

use array_dsl::prelude::*;
use array_dsl::segment::{segment_max, segment_mean, segment_min, segment_softmax, segment_sum};
use array_dsl::sparse::{csr_matmat, csr_matvec, csr_transposed_matvec};

macro_rules! of_type {
    ($module:ident, $elem:ident, $options:tt) => {
        pub mod $module {
            use super::*;

            #[kernel $options]
            pub fn of_products(a: [$elem; k], x: [$elem; n], columns: [i64; k], starts: [i64; m + 1]) -> $elem {
                let y = csr_matvec(a, columns, starts, x);
                let z = csr_transposed_matvec(a, columns, starts, y * y, n);
                let b = csr_matmat(a * a, columns, starts, outer(x, z));
                sum(z * x) + sum(flatten(b * b))
            }

            #[kernel $options]
            pub fn of_segments(a: [$elem; k], x: [$elem; n], columns: [i64; k], starts: [i64; m + 1]) -> $elem {
                // The last segment is empty, and what is outside of the first n - 1 is dropped.
                let top = segment_max(a, columns, n - 1) * segment_min(a * a, columns, n - 1);
                let share = segment_softmax(a, columns, n + 1);
                let y = segment_sum(share * a, columns, n) * x;
                let z = segment_mean(a, columns, n);
                // Of an empty segment there is no mean, and no extreme.
                let finite = map(|s, t| if s.is_finite() { s * t } else { 0.0 }, z, x);
                sum(y * y) + sum(map(|t| if t.is_finite() { t * t } else { 0.0 }, top)) + sum(finite) + (starts[0] as _)
            }
        }
    };
}

// Those of which the tests take derivatives, and no others, so that there is less to compile.
of_type!(f64s, f64, (value, value_and_grad, grad, vjp, jvp, hvp));
of_type!(f32s, f32, (value, value_and_grad));
