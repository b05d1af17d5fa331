//! Kernels that call the functions of `array_dsl::signal`, of two vectors of one size each.

use array_dsl::prelude::*;
use array_dsl::signal::{
    complex, convolve, convolve_same, correlate_valid, fft, fft_convolve, fft2, ifft, irfft, rfft,
};

macro_rules! of_type {
    ($module:ident, $elem:ident, $options:tt) => {
        pub mod $module {
            use super::*;

            #[kernel $options]
            pub fn of_fft(x: [$elem; n], y: [$elem; n]) -> $elem {
                let (p, q) = fft(x, y);
                sum(p * p * q) + sum(q * x)
            }

            #[kernel $options]
            pub fn of_ifft(x: [$elem; n], y: [$elem; n]) -> $elem {
                let (p, q) = ifft(x * y, y);
                sum(p * p * x) + sum(p * q * q)
            }

            #[kernel $options]
            pub fn of_complex(x: [$elem; n], y: [$elem; n]) -> $elem {
                let z = complex::fft(Complex::new(x, y));
                let w = complex::irfft(z * z, n);
                sum(y * map(|z| z.norm_sqr(), z)) + sum(w * w * x)
            }

            #[kernel $options]
            pub fn of_real(x: [$elem; n], y: [$elem; n]) -> $elem {
                let (p, q) = rfft(x);
                let z = irfft(p * p, q, n);
                sum(z * z * y)
            }

            #[kernel $options]
            pub fn of_convolutions(x: [$elem; n], y: [$elem; n]) -> $elem {
                let a = convolve(x, y) * fft_convolve(x * x, y);
                sum(a) + sum(convolve_same(y, x) * x) + sum(correlate_valid(concat(x, y), x * y))
            }

            #[kernel $options]
            pub fn of_batch(x: [$elem; n], y: [$elem; n]) -> $elem {
                let (p, q) = fft2(outer(x, y), outer(y, x * x));
                sum(flatten(p * q * p))
            }
        }
    };
}

// Those of which the tests take derivatives, and no others, so that there is less to compile.
of_type!(f64s, f64, (value, value_and_grad, grad, vjp, jvp, hvp));
of_type!(f32s, f32, (value, value_and_grad));
