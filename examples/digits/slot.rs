//! Parameters on a GPU, with what Adam remembers of them.

use array_dsl::prelude::*;
use ndarray::{Array, Dimension, Ix1, Ix2};

use crate::parameters::Parameters;

/// Parameters with their running means of the gradient and of its square.
pub struct Slot<D: Dimension> {
    pub value: GpuArray<f32, D>,
    pub mean: GpuArray<f32, D>,
    pub square: GpuArray<f32, D>,
}

/// Those of the network.
pub struct Slots {
    pub w1: Slot<Ix2>,
    pub b1: Slot<Ix1>,
    pub w2: Slot<Ix2>,
    pub b2: Slot<Ix1>,
}

impl<D: Dimension> Slot<D> {
    fn new(gpu: &Gpu, value: &Array<f32, D>) -> Result<Slot<D>, Error> {
        let zeros = gpu.upload(&Array::zeros(value.raw_dim()))?;
        Ok(Slot { value: gpu.upload(value)?, mean: zeros.clone(), square: zeros })
    }
}

impl Slots {
    /// In their initial state.
    pub fn initial(gpu: &Gpu) -> Result<Slots, Error> {
        let Parameters { w1, b1, w2, b2 } = Parameters::initial();
        let (w1, b1) = (Slot::new(gpu, &w1)?, Slot::new(gpu, &b1)?);
        Ok(Slots { w1, b1, w2: Slot::new(gpu, &w2)?, b2: Slot::new(gpu, &b2)? })
    }
}
