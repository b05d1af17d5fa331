//! A kernel on the CPU and on the GPU, with the same arguments, and the two results compared.
//!
//! Floats agree when `|gpu - cpu| <= tolerance * (scale + |cpu|)`, when they are equal infinities, or when both are NaN;
//! everything else agrees when it is equal. Shapes must be the same. The scale of an array is its largest finite entry
//! on the CPU, or 1 if that is larger: an array of small entries is not one of zeros. That of a scalar is 1.

use std::sync::LazyLock;

use array_dsl::{Complex, Cpu, Error, Gpu, GpuArray, GpuKernel};
use ndarray::{Array, Array1, Array2, ArrayRef, Dimension, Ix0, Ix1, Ix2, Ix3, Ix4};

/// What most kernels are compared with: a few units in the last place, for each of a few dozen operations.
pub const TOLERANCE: f64 = 1e-5;

/// Lengths around those of workgroups, and the smallest.
pub const LENGTHS: [usize; 7] = [0, 1, 2, 255, 256, 257, 1000];

/// Shapes of matrices: empty ones, single rows and columns, and both sides of the length of a workgroup.
pub const SHAPES: [(usize, usize); 9] =
    [(0, 0), (0, 5), (5, 0), (1, 1), (1, 300), (300, 1), (3, 257), (257, 3), (20, 31)];

/// Whether tests that need a GPU are to be left out, which they then say.
pub fn is_skipped() -> bool {
    let skipped = std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip");
    if skipped {
        println!("skipped: ARRAY_DSL_GPU=skip");
    }
    skipped
}

/// A device of one's own, for tests that provoke errors or read counters.
pub fn own_gpu() -> Gpu {
    Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without")
}

/// The device that the other tests share.
fn shared_gpu() -> &'static Gpu {
    static GPU: LazyLock<Gpu> = LazyLock::new(own_gpu);
    &GPU
}

/// Numbers in (-1, 1) without a pattern, different ones for different seeds.
pub fn noise<D: Dimension>(shape: impl ndarray::ShapeBuilder<Dim = D>, seed: u32) -> Array<f32, D> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    Array::from_shape_simple_fn(shape, || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    })
}

/// Integers of `0..below` without a pattern.
pub fn integers<D: Dimension>(
    shape: impl ndarray::ShapeBuilder<Dim = D>,
    below: i32,
    seed: u32,
) -> Array<i32, D> {
    noise(shape, seed).mapv(|x| ((x + 1.0) * 0.5 * below as f32) as i32)
}

fn are_close(a: f64, e: f64, scale: f64, tolerance: f64) -> bool {
    a == e || (a.is_nan() && e.is_nan()) || (a - e).abs() <= tolerance * (scale + e.abs())
}

/// What is passed to a kernel without giving it away: scalars by value, arrays by reference.
pub trait Lend {
    /// As the kernel takes it.
    type Lent<'a>
    where
        Self: 'a;
    /// The loan.
    fn lend(&self) -> Self::Lent<'_>;
}

/// A kernel's argument on the host.
pub trait Argument: Lend {
    /// The same on the device.
    type Device: Lend;
    /// Brings arrays to the device.
    fn upload(&self, gpu: &Gpu) -> Result<Self::Device, Error>;
}

/// A kernel's result on the device.
pub trait Fetch {
    /// The same on the host.
    type Host;
    /// Brings arrays to the host.
    fn fetch(&self) -> Result<Self::Host, Error>;
}

/// An element of an array, or a scalar.
pub trait Number: Copy + std::fmt::Debug {
    /// Its size, if it is a float.
    fn magnitude(self) -> f64;
    /// Whether it agrees with what was expected.
    fn is_close(self, expected: Self, scale: f64, tolerance: f64) -> bool;
    /// What is wrong otherwise.
    fn deviation(self, expected: Self, scale: f64, tolerance: f64) -> Option<String> {
        (!self.is_close(expected, scale, tolerance)).then(|| format!("found {self:?}, expected {expected:?}"))
    }
}

/// A kernel's result on the host.
pub trait Compare {
    /// The first difference from what was expected.
    fn difference(&self, expected: &Self, tolerance: f64) -> Option<String>;
}

macro_rules! scalars {
    ($($t:ty: $magnitude:expr, $close:expr;)*) => {$(
        impl Lend for $t {
            type Lent<'a> = $t;
            fn lend(&self) -> $t {
                *self
            }
        }
        impl Argument for $t {
            type Device = $t;
            fn upload(&self, _: &Gpu) -> Result<$t, Error> {
                Ok(*self)
            }
        }
        impl Number for $t {
            fn magnitude(self) -> f64 {
                let magnitude: fn($t) -> f64 = $magnitude;
                magnitude(self)
            }
            fn is_close(self, expected: $t, scale: f64, tolerance: f64) -> bool {
                let close: fn($t, $t, f64, f64) -> bool = $close;
                close(self, expected, scale, tolerance)
            }
        }
        impl Compare for $t {
            fn difference(&self, expected: &$t, tolerance: f64) -> Option<String> {
                self.deviation(*expected, 1.0, tolerance)
            }
        }
        impl<D: Dimension + 'static> Argument for Array<$t, D> {
            type Device = GpuArray<$t, D>;
            fn upload(&self, gpu: &Gpu) -> Result<GpuArray<$t, D>, Error> {
                gpu.upload(self)
            }
        }
        impl Fetch for GpuArray<$t, Ix0> {
            type Host = $t;
            fn fetch(&self) -> Result<$t, Error> {
                self.item()
            }
        }
        scalars!(@arrays $t: Ix1 Ix2 Ix3 Ix4);
    )*};
    (@arrays $t:ty: $($d:ty)*) => {$(
        impl Fetch for GpuArray<$t, $d> {
            type Host = Array<$t, $d>;
            fn fetch(&self) -> Result<Array<$t, $d>, Error> {
                self.download()
            }
        }
    )*};
}

scalars! {
    f32: |a| f64::from(a).abs(), |a, e, scale, tolerance| are_close(a.into(), e.into(), scale, tolerance);
    f64: f64::abs, are_close;
    i32: |_| 0.0, |a, e, _, _| a == e;
    u32: |_| 0.0, |a, e, _, _| a == e;
    i64: |_| 0.0, |a, e, _, _| a == e;
    bool: |_| 0.0, |a, e, _, _| a == e;
    Complex<f32>: |a| a.norm().into(), |a, e, scale, tolerance| {
        let close = |a: f32, e: f32| are_close(a.into(), e.into(), scale, tolerance);
        close(a.re, e.re) && close(a.im, e.im)
    };
}

impl<T: 'static, D: 'static> Lend for Array<T, D>
where
    D: Dimension,
{
    type Lent<'a> = &'a ArrayRef<T, D>;
    fn lend(&self) -> &ArrayRef<T, D> {
        self
    }
}

impl<T: 'static, D: 'static> Lend for GpuArray<T, D> {
    type Lent<'a> = &'a GpuArray<T, D>;
    fn lend(&self) -> &GpuArray<T, D> {
        self
    }
}

impl<T: Number, D: Dimension> Compare for Array<T, D> {
    fn difference(&self, expected: &Self, tolerance: f64) -> Option<String> {
        if self.shape() != expected.shape() {
            return Some(format!("found shape {:?}, expected {:?}", self.shape(), expected.shape()));
        }
        let finite = expected.iter().map(|e| e.magnitude()).filter(|m| m.is_finite());
        let scale = finite.fold(0.0, f64::max).min(1.0);
        self.indexed_iter().zip(expected.iter()).find_map(|((at, found), wanted)| {
            let difference = found.deviation(*wanted, scale, tolerance)?;
            Some(format!("at {at:?}, in an array of scale {scale:e}: {difference}"))
        })
    }
}

macro_rules! tuples {
    ($($part:ident $at:tt),*) => {
        impl<$($part: Lend),*> Lend for ($($part,)*) {
            type Lent<'a> = ($($part::Lent<'a>,)*) where Self: 'a;
            fn lend(&self) -> Self::Lent<'_> {
                ($(self.$at.lend(),)*)
            }
        }
        impl<$($part: Argument),*> Argument for ($($part,)*) {
            type Device = ($($part::Device,)*);
            fn upload(&self, gpu: &Gpu) -> Result<Self::Device, Error> {
                Ok(($(self.$at.upload(gpu)?,)*))
            }
        }
        impl<$($part: Fetch),*> Fetch for ($($part,)*) {
            type Host = ($($part::Host,)*);
            fn fetch(&self) -> Result<Self::Host, Error> {
                Ok(($(self.$at.fetch()?,)*))
            }
        }
        impl<$($part: Compare),*> Compare for ($($part,)*) {
            fn difference(&self, expected: &Self, tolerance: f64) -> Option<String> {
                $(
                    if let Some(text) = self.$at.difference(&expected.$at, tolerance) {
                        return Some(format!("component {}: {text}", $at));
                    }
                )*
                None
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// Runs a kernel on `gpu` and fetches the results.
pub fn on<K, A, T>(gpu: &Gpu, kernel: K, arguments: &A) -> Result<T, Error>
where
    K: GpuKernel,
    A: Argument + 'static,
    A::Device: 'static,
    for<'a> A::Device: Lend<Lent<'a> = K::GpuArgs<'a>>,
    K::GpuOutput: Fetch<Host = T>,
{
    let device = arguments.upload(gpu)?;
    gpu.run(kernel, device.lend())?.fetch()
}

/// Fails unless the kernel gives the same on the CPU and on the GPU. The arguments are owned arrays and scalars, in a
/// tuple. Does nothing if GPU tests are skipped.
#[track_caller]
pub fn agree<K, A>(kernel: K, arguments: A, tolerance: f64)
where
    K: GpuKernel,
    K::Output: Compare,
    A: Argument + 'static,
    A::Device: 'static,
    for<'a> A: Lend<Lent<'a> = K::Args<'a>>,
    for<'a> A::Device: Lend<Lent<'a> = K::GpuArgs<'a>>,
    K::GpuOutput: Fetch<Host = K::Output>,
{
    if is_skipped() {
        return;
    }
    let expected = Cpu.run(kernel, arguments.lend());
    let found = on(shared_gpu(), kernel, &arguments);
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            if let Some(text) = found.difference(&expected, tolerance) {
                panic!("{} differs on the GPU, {text}", K::NAME);
            }
        }
        (Err(error), _) => panic!("{} fails on the GPU: {error}", K::NAME),
        (_, Err(error)) => panic!("{} fails on the CPU: {error}", K::NAME),
    }
}

/// Fails unless rows of a table of functions have their digits, however small they are: row k has function k of `x`.
#[track_caller]
pub fn assert_digits(
    found: &Array2<f32>,
    expected: &Array2<f32>,
    functions: &[(usize, &str)],
    x: &Array1<f32>,
) {
    assert_eq!(found.dim(), expected.dim());
    for (k, name) in functions {
        for (i, x) in x.iter().enumerate() {
            let (f, e) = (found[[*k, i]], expected[[*k, i]]);
            assert!((f - e).abs() <= 1e-5 * e.abs(), "{name}({x:e}) is {f:e} on the GPU, {e:e} on the CPU");
        }
    }
}

/// Kernels with the same parameters, each with its gradient.
macro_rules! gradients_agree {
    ($arguments:expr, $tolerance:expr, $kernels:ident: $($name:ident)*) => {{
        let arguments = $arguments;
        $($crate::agreement::agree(value_and_grad($kernels::$name), arguments.clone(), $tolerance);)*
    }};
}
pub(crate) use gradients_agree;
