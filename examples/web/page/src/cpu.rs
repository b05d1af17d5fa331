//! Training in WebAssembly: the kernels as the CPU executes them, on the page's own thread.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2};

use crate::data::Images;
use crate::kernels::{adam_matrix, adam_vector, loss, scores};
use crate::parameters::{Parameters, adam_rate};
use crate::seen::{Seen, certainty, likeliest, probabilities};

/// A network that lives in main memory.
pub struct OnCpu {
    parameters: Parameters,
    mean: Parameters,
    square: Parameters,
    steps: i32,
    losses: Vec<f32>,
}

impl OnCpu {
    /// A network in its initial state.
    pub fn new() -> OnCpu {
        let (mean, square) = (Parameters::zeros(), Parameters::zeros());
        OnCpu { parameters: Parameters::initial(), mean, square, steps: 0, losses: Vec::new() }
    }

    /// One step of Adam.
    ///
    /// # Errors
    /// What the kernels report.
    pub fn step(&mut self, batch: &Images) -> Result<(), Error> {
        let OnCpu { parameters: p, mean: m, square: s, .. } = self;
        let arguments = (&*p.w1, &*p.b1, &*p.w2, &*p.b2, &*batch.x, &*batch.y);
        let (value, (dw1, db1, dw2, db2)) = Cpu.run(value_and_grad(loss), arguments)?;
        self.losses.push(value);
        self.steps += 1;
        let rate = adam_rate(self.steps);
        update_matrix((&mut p.w1, &mut m.w1, &mut s.w1), &dw1, rate)?;
        update_vector((&mut p.b1, &mut m.b1, &mut s.b1), &db1, rate)?;
        update_matrix((&mut p.w2, &mut m.w2, &mut s.w2), &dw2, rate)?;
        update_vector((&mut p.b2, &mut m.b2, &mut s.b2), &db2, rate)
    }

    /// The losses of the steps since the last call.
    pub fn losses(&mut self) -> Vec<f32> {
        std::mem::take(&mut self.losses)
    }

    /// The scores of images, one row to an image.
    ///
    /// # Errors
    /// What the kernels report.
    pub fn scores(&self, images: &Images) -> Result<Array2<f32>, Error> {
        let p = &self.parameters;
        Cpu.run(scores, (&*p.w1, &*p.b1, &*p.w2, &*p.b2, &*images.x))
    }

    /// What it sees in a picture.
    ///
    /// # Errors
    /// What the kernels report.
    pub fn look(&self, picture: &Array2<f32>) -> Result<Seen, Error> {
        let p = &self.parameters;
        let rows = Cpu.run(scores, (&*p.w1, &*p.b1, &*p.w2, &*p.b2, &**picture))?;
        let rows = Cpu.run(probabilities, (&*rows,))?;
        let class = Array1::from(likeliest(&rows));
        let arguments = (&*p.w1, &*p.b1, &*p.w2, &*p.b2, &**picture, &*class);
        let gradient = Cpu.run(grad(certainty), arguments)?;
        Ok(Seen { probabilities: rows.into_iter().collect(), gradient: gradient.into_iter().collect() })
    }
}

/// The parameters with the running means of their gradient and of its square.
type Slot<'a, A> = (&'a mut A, &'a mut A, &'a mut A);

fn update_matrix((p, m, s): Slot<'_, Array2<f32>>, g: &Array2<f32>, rate: f32) -> Result<(), Error> {
    (*p, *m, *s) = Cpu.run(adam_matrix, (&**p, &**g, &**m, &**s, rate))?;
    Ok(())
}

fn update_vector((p, m, s): Slot<'_, Array1<f32>>, g: &Array1<f32>, rate: f32) -> Result<(), Error> {
    (*p, *m, *s) = Cpu.run(adam_vector, (&**p, &**g, &**m, &**s, rate))?;
    Ok(())
}
