//! Kernels as the densities that [`nuts_rs`](::nuts_rs) samples.

use std::collections::HashMap;

use ::nuts_rs::{CpuLogpFunc, CpuMathError, HasDims, LogpError};
use array_dsl::{Error, HasValueAndGrad};
use ndarray::{Array1, ArrayView1};

use crate::bound::OfVector;

/// The logarithm of a density, up to a constant: a kernel `f(x: [f64; n], ..) -> f64` with its other arguments.
///
/// The position is read where the sampler has it, and a gradient takes the memory of the one before, from where it is copied into the
/// sampler's. A value or gradient that is not finite is a divergence; an error of the kernel ends the sampling.
///
/// ```
/// use array_dsl::prelude::*;
/// use array_dsl_adapters::nuts_rs::LogDensity;
/// use nuts_rs::{Chain, CpuMath, DiagNutsSettings, Settings, rand::SeedableRng, rand::rngs::SmallRng};
///
/// #[kernel]
/// fn normal(x: [f64; n], #[no_grad] mean: f64) -> f64 {
///     -0.5 * sum((x - mean) * (x - mean))
/// }
///
/// let settings = DiagNutsSettings { num_tune: 100, ..Default::default() };
/// let math = CpuMath::new(LogDensity::new(normal, (3.0,), 2));
/// let mut rng = SmallRng::seed_from_u64(1);
/// let mut chain = settings.new_chain(0, math, &mut rng).unwrap();
/// chain.set_position(&[0.0, 0.0]).unwrap();
/// let (draw, _) = chain.draw().unwrap();
/// assert_eq!(draw.len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct LogDensity<K, B = ()> {
    kernel: K,
    bound: B,
    n: usize,
    /// Whose memory the next ones take.
    last: (f64, Array1<f64>),
}

impl<K, B> LogDensity<K, B>
where
    K: HasValueAndGrad,
    K::ValueAndGrad: OfVector<B, (f64, Array1<f64>)>,
{
    /// The kernel with the arguments after its first one, which is a vector of length `n`.
    pub fn new(kernel: K, bound: B, n: usize) -> LogDensity<K, B> {
        LogDensity { kernel, bound, n, last: (0.0, Array1::zeros(n)) }
    }

    /// The kernel.
    pub fn kernel(&self) -> K {
        self.kernel
    }
}

/// Why there is no density at a point.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DensityError {
    /// The kernel could not be run. It will not be at another point either.
    #[error(transparent)]
    Kernel(#[from] Error),
    /// The value or its gradient is infinite or not a number.
    #[error("the log density is {0}, with a gradient of length {1}: it must be finite, as its gradient")]
    NotFinite(f64, f64),
}

impl LogpError for DensityError {
    fn is_recoverable(&self) -> bool {
        matches!(self, DensityError::NotFinite(..))
    }
}

impl<K, B> HasDims for LogDensity<K, B> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        // The name that the sampler's own statistics have for it.
        HashMap::from([("unconstrained_parameter".to_owned(), self.n as u64)])
    }
}

impl<K, B> CpuLogpFunc for LogDensity<K, B>
where
    K: HasValueAndGrad,
    K::ValueAndGrad: OfVector<B, (f64, Array1<f64>)>,
{
    type LogpError = DensityError;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.n
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, DensityError> {
        K::ValueAndGrad::at_into(&ArrayView1::from(position), &self.bound, &mut self.last)?;
        let (value, by_position) = &self.last;
        let length = by_position.dot(by_position).sqrt();
        if !value.is_finite() || !length.is_finite() {
            return Err(DensityError::NotFinite(*value, length));
        }
        gradient.iter_mut().zip(by_position).for_each(|(to, from)| *to = *from);
        Ok(*value)
    }

    fn expand_vector<R: ::nuts_rs::rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        position: &[f64],
    ) -> Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}
