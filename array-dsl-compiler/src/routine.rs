//! What a library of the runtime computes better than loops do: the routines of kernels that have one.
//!
//! `#[kernel(vjp = rule, cpu = fft)]` says that on the CPU the values of a kernel come from the routine `fft`. **The kernel's text stays
//! what it means**: the interpreters, GPUs and what is differentiated beyond its rule have that. A routine takes and gives arrays of
//! floats, all of one type, as a kernel with a rule does; those of a frame, which stands around them when points call the kernel, have its
//! axes in front of a routine's own.
//!
//! | routine | takes | gives | from |
//! |---|---|---|---|
//! | `fft` | real and imaginary parts of n numbers | those of the n numbers `sum_j x_j e^(-2 pi i j k / n)` | `rustfft` |
//!
//! A new one is a row here, its definition for the interpreter of Loops below, and its function in `array-dsl-runtime/src/cpu`.

use std::f64::consts::TAU;

use crate::ty::Elem;
use crate::value::{Fault, Value};

/// A routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "described by the table")]
pub enum Routine {
    Fft,
}

/// What is known of an array: its element type and its dimensions, whatever a dimension is.
pub type Shaped<'a, D> = (Elem, &'a [D]);

impl Routine {
    /// All of them.
    pub const ALL: [Routine; 1] = [Routine::Fft];

    /// As it is written, in attributes and in the text of programs; the runtime's function has this name too.
    pub fn name(self) -> &'static str {
        match self {
            Routine::Fft => "fft",
        }
    }

    /// By its name.
    pub fn of_name(name: &str) -> Option<Routine> {
        Routine::ALL.into_iter().find(|r| r.name() == name)
    }

    /// Of what kernels it can be the routine.
    pub fn signature(self) -> &'static str {
        match self {
            Routine::Fft => "([f64; n], [f64; n]) -> ([f64; n], [f64; n])",
        }
    }

    /// How many dimensions its arrays have of their own.
    pub fn rank(self) -> usize {
        match self {
            Routine::Fft => 1,
        }
    }

    /// Whether these are what it takes and gives, under the same leading dimensions.
    pub fn fits<D: PartialEq>(self, args: &[Shaped<'_, D>], results: &[Shaped<'_, D>]) -> bool {
        let counts = match self {
            Routine::Fft => (2, 2),
        };
        let Some(first) = args.first() else { return false };
        (args.len(), results.len()) == counts
            && first.0.is_float()
            && first.1.len() >= self.rank()
            && args.iter().chain(results).all(|a| a == first)
    }

    /// What it gives, by its definition.
    pub fn eval(self, args: &[&Value]) -> Result<Vec<Value>, Fault> {
        match (self, args) {
            (Routine::Fft, [re, im]) => {
                let n = re.shape().last().copied().unwrap_or(0).max(1);
                let (a, b) = (re.to_f64(), im.to_f64());
                let (mut p, mut q) = (Vec::with_capacity(a.len()), Vec::with_capacity(a.len()));
                for (a, b) in a.chunks(n).zip(b.chunks(n)) {
                    for k in 0..a.len() {
                        let (mut x, mut y) = (0.0, 0.0);
                        for (j, (a, b)) in a.iter().zip(b).enumerate() {
                            let (sin, cos) = (TAU * ((j * k) % n) as f64 / n as f64).sin_cos();
                            x += a * cos + b * sin;
                            y += b * cos - a * sin;
                        }
                        p.push(x);
                        q.push(y);
                    }
                }
                let array = |x: &[f64]| Value::from_f64(re.elem(), re.shape().to_vec(), x);
                Ok(vec![array(&p)?, array(&q)?])
            }
            _ => Err(Fault::internal(format!("`{}` of {} arrays", self.name(), args.len()))),
        }
    }
}
