//! Kernels' arguments and results as values of the interpreters.

use array_dsl::{Cpu, Error, Gpu, GpuArray, GpuKernel, Kernel};
use array_dsl_compiler::value::{Scalar, Value};
use ndarray::{Array, Dimension};

/// What running a program gives: its arrays and scalars in order.
pub type Outcome = Result<Vec<Value>, Error>;

/// An element type on the host.
pub trait Element: Copy {
    /// The number or truth value, if it is of this type.
    fn of(x: Scalar) -> Option<Self>;
    /// The same for the interpreters.
    fn scalar(self) -> Scalar;
}

/// A result on the host: a scalar, an array, or a tuple of these.
pub trait Leaves {
    /// Appends its parts in order.
    fn append(&self, to: &mut Vec<Value>);
}

/// A result on a device.
pub trait DeviceLeaves {
    /// Appends its parts in order, brought to the host.
    ///
    /// # Errors
    /// Those of downloads.
    fn fetch(&self, to: &mut Vec<Value>) -> Result<(), Error>;
}

macro_rules! elements {
    ($($t:ident $variant:ident),*) => {$(
        impl Element for $t {
            fn of(x: Scalar) -> Option<$t> {
                if let Scalar::$variant(x) = x { Some(x) } else { None }
            }
            fn scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
        }
        impl Leaves for $t {
            fn append(&self, to: &mut Vec<Value>) {
                to.push(Value::scalar(self.scalar()));
            }
        }
        impl<D: Dimension> Leaves for Array<$t, D> {
            fn append(&self, to: &mut Vec<Value>) {
                // An element of the type, for arrays that have none.
                let mut value = Value::filled(self.shape().to_vec(), $t::default().scalar());
                value.data_mut().iter_mut().zip(self).for_each(|(to, x)| *to = x.scalar());
                to.push(value);
            }
        }
        impl<D: Dimension> DeviceLeaves for GpuArray<$t, D> {
            fn fetch(&self, to: &mut Vec<Value>) -> Result<(), Error> {
                self.download()?.append(to);
                Ok(())
            }
        }
    )*};
}

elements!(f32 F32, f64 F64, i32 I32, i64 I64, u32 U32, bool Bool);

macro_rules! tuples {
    ($($part:ident $at:tt),*) => {
        impl<$($part: Leaves),*> Leaves for ($($part,)*) {
            fn append(&self, _to: &mut Vec<Value>) {
                $(self.$at.append(_to);)*
            }
        }
        impl<$($part: DeviceLeaves),*> DeviceLeaves for ($($part,)*) {
            fn fetch(&self, _to: &mut Vec<Value>) -> Result<(), Error> {
                $(self.$at.fetch(_to)?;)*
                Ok(())
            }
        }
    };
}

tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// A scalar argument.
///
/// # Panics
/// If the value is of another type.
pub fn scalar<T: Element>(value: &Value) -> T {
    value.item().and_then(T::of).expect("a scalar of the parameter's type")
}

/// An array argument.
///
/// # Panics
/// If the value is of another type or rank.
pub fn array<T: Element, D: Dimension>(value: &Value) -> Array<T, D> {
    let mut shape = D::zeros(value.shape().len());
    shape.slice_mut().copy_from_slice(value.shape());
    let data: Option<Vec<T>> = value.data().iter().map(|x| T::of(*x)).collect();
    let data = data.expect("elements of the parameter's type");
    Array::from_shape_vec(shape, data).expect("as many elements as the shape says")
}

/// Runs a kernel on the CPU.
///
/// # Errors
/// The kernel's.
pub fn on_cpu<K: Kernel<Output: Leaves>>(kernel: K, arguments: K::Args<'_>) -> Outcome {
    let mut out = Vec::new();
    Cpu.run(kernel, arguments)?.append(&mut out);
    Ok(out)
}

/// Runs a kernel on a GPU.
///
/// # Errors
/// The kernel's, and those of downloads.
pub fn on_gpu<K: GpuKernel<GpuOutput: DeviceLeaves>>(
    gpu: &Gpu,
    kernel: K,
    arguments: K::GpuArgs<'_>,
) -> Outcome {
    let mut out = Vec::new();
    gpu.run(kernel, arguments)?.fetch(&mut out)?;
    Ok(out)
}
