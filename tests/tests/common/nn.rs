//! Kernels that call the functions of `array_dsl::nn`, of an image of each of two channels, and of a matrix.

use array_dsl::nn::{
    attention, avg_pool2d, causal_attention, conv1d, conv2d, conv2d_transpose, cross_entropy, gelu,
    layer_norm, max_pool2d, silu, upsample,
};
use array_dsl::prelude::*;

macro_rules! of_type {
    ($module:ident, $elem:ident, $options:tt) => {
        pub mod $module {
            use super::*;

            #[kernel $options]
            pub fn of_filters(x: [[[$elem; 5]; 4]; 2], k: [[[[$elem; 2]; 3]; 2]; 3]) -> $elem {
                let y = conv2d(x, k, 2, 1);
                let z = conv2d_transpose(y * y, k, 2, 1);
                sum(flatten(z * sin(z))) + sum(flatten(conv1d(x[0][..3], k[0], 1, 2) * 0.5))
            }

            #[kernel $options]
            pub fn of_pools(x: [[[$elem; 5]; 4]; 2], k: [[[[$elem; 2]; 3]; 2]; 3]) -> $elem {
                let a = max_pool2d(x, 2, 1);
                let b = avg_pool2d(x * x, 3, 1);
                sum(flatten(a * a)) + sum(flatten(upsample(b, 2))) * k[0][0][0][0]
            }

            #[kernel $options]
            pub fn of_layers(x: [[[$elem; 5]; 4]; 2], k: [[[[$elem; 2]; 3]; 2]; 3]) -> $elem {
                let gain = build(5, |i| k[i % 3][0][0][1]);
                let a = layer_norm(gelu(x) + silu(2.0 * x), gain, gain * gain, 0.1);
                let b = attention(a, x, a * x) + causal_attention(x, a, x);
                sum(cross_entropy(b[0], [0, 4, 2, 1])) + sum(flatten(b))
            }
        }
    };
}

// Those of which the tests take derivatives, and no others, so that there is less to compile.
of_type!(f64s, f64, (value, value_and_grad, grad, vjp, jvp, hvp));
of_type!(f32s, f32, (value, value_and_grad));
