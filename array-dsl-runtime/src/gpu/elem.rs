//! Element types of device arrays.

use num_complex::Complex;

use crate::program::Elem;

mod sealed {
    pub trait Sealed {}
}

/// A type of elements. Numbers are on the device as they are, and `bool` as a word that is 0 or 1. `f64` and `i64` are for
/// devices that have them: where they are lacking, uploads and kernels say so.
pub trait GpuElem: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The type.
    const ELEM: Elem;
    /// Its name in Rust.
    const NAME: &'static str;

    /// How many of these each is made of: two for complex numbers.
    const PARTS: usize = 1;

    /// Appends its bytes on the device.
    fn append(self, bytes: &mut Vec<u8>);

    /// The elements as bytes, if they are laid out as on the device.
    fn as_bytes(elements: &[Self]) -> Option<&[u8]>;

    /// Appends elements given by their bytes on the device.
    fn extend(elements: &mut Vec<Self>, bytes: &[u8]);
}

/// Elements that are one number, or a truth value: what scalars are too.
pub trait GpuNumber: GpuElem {
    /// The bits, in the low word if that is enough.
    fn to_bits(self) -> u64;
}

/// Types that have the same layout on the device.
macro_rules! plain {
    ($($t:ident $elem:ident $to:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl GpuElem for $t {
            const ELEM: Elem = Elem::$elem;
            const NAME: &'static str = stringify!($t);
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
            fn as_bytes(elements: &[$t]) -> Option<&[u8]> {
                Some(bytemuck::cast_slice(elements))
            }
            fn extend(elements: &mut Vec<$t>, bytes: &[u8]) {
                let start = elements.len();
                elements.resize(start + bytes.len() / size_of::<$t>(), <$t>::default());
                bytemuck::cast_slice_mut::<$t, u8>(&mut elements[start..]).copy_from_slice(bytes);
            }
        }
        impl GpuNumber for $t {
            fn to_bits(self) -> u64 {
                u64::from($to(self))
            }
        }
    )*};
}

plain! {
    f32 F32 f32::to_bits;
    f64 F64 f64::to_bits;
    i32 I32 i32::cast_unsigned;
    i64 I64 i64::cast_unsigned;
    u32 U32 std::convert::identity;
}

impl sealed::Sealed for bool {}
impl GpuElem for bool {
    const ELEM: Elem = Elem::Bool;
    const NAME: &'static str = "bool";

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&u32::from(self).to_ne_bytes());
    }

    fn as_bytes(_: &[bool]) -> Option<&[u8]> {
        None
    }

    fn extend(elements: &mut Vec<bool>, bytes: &[u8]) {
        elements.extend(bytes.chunks_exact(4).map(|word| word != [0; 4]));
    }
}

impl GpuNumber for bool {
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
}

/// Complex numbers are on the device as their parts, one after the other.
macro_rules! complex {
    ($($t:ident $elem:ident $name:literal;)*) => {$(
        impl sealed::Sealed for Complex<$t> {}
        impl GpuElem for Complex<$t> {
            const ELEM: Elem = Elem::$elem;
            const NAME: &'static str = $name;
            const PARTS: usize = 2;
            fn append(self, bytes: &mut Vec<u8>) {
                self.re.append(bytes);
                self.im.append(bytes);
            }
            fn as_bytes(elements: &[Self]) -> Option<&[u8]> {
                Some(bytemuck::cast_slice(elements))
            }
            fn extend(elements: &mut Vec<Self>, bytes: &[u8]) {
                let start = elements.len();
                elements.resize(start + bytes.len() / size_of::<Self>(), Self::default());
                bytemuck::cast_slice_mut::<Self, u8>(&mut elements[start..]).copy_from_slice(bytes);
            }
        }
    )*};
}

complex! {
    f32 F32 "Complex<f32>";
    f64 F64 "Complex<f64>";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_type() {
        assert_eq!((-5i64).to_bits(), u64::MAX - 4);
        assert_eq!((-5i32).to_bits(), 0xffff_fffb);
        assert_eq!(true.to_bits(), 1);
        assert_eq!(GpuNumber::to_bits(-0.5f32), u64::from((-0.5f32).to_bits()));
        assert_eq!(GpuNumber::to_bits(1f64), 1f64.to_bits());
    }

    #[test]
    fn elements_from_bytes() {
        let bytes: Vec<u8> = [1u32, 0, 7, 0].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let (mut b, mut i, mut u) = (vec![false], vec![], vec![9u32]);
        bool::extend(&mut b, &bytes);
        i64::extend(&mut i, &bytes);
        u32::extend(&mut u, &bytes);
        assert_eq!((b, u), (vec![false, true, false, true, false], vec![9, 1, 0, 7, 0]));
        assert_eq!(i, if cfg!(target_endian = "little") { [1, 7] } else { [1 << 32, 7 << 32] });
    }
}
