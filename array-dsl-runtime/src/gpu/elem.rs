//! Element types of device arrays. On the device every element is one 32-bit word.

use crate::program::Elem;

mod sealed {
    pub trait Sealed {}
}

/// A type of elements. `f32`, `i32` and `u32` are on the device as they are and `bool` as 0 or 1. Arrays of
/// `f64` and `i64` are refused, with an error when they are uploaded rather than when the program is
/// compiled, so that code that is generic over the element type can be written; a single `i64` that fits 32
/// bits is accepted.
pub trait GpuElem: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The type.
    const ELEM: Elem;
    /// Its name in Rust.
    const NAME: &'static str;
    /// If arrays of this type are not supported: the type to use instead.
    const INSTEAD: Option<&'static str>;

    /// The word, if the value can be represented.
    fn to_word(self) -> Option<u32>;

    /// The value of a word.
    fn from_word(word: u32) -> Self;

    /// The elements as bytes, if they are laid out as on the device.
    fn as_bytes(elements: &[Self]) -> Option<&[u8]>;

    /// Appends elements given by their bytes on the device.
    fn extend(elements: &mut Vec<Self>, bytes: &[u8]) {
        elements.extend(
            bytes.chunks_exact(4).map(|w| Self::from_word(u32::from_ne_bytes([w[0], w[1], w[2], w[3]]))),
        );
    }
}

/// Types that have the same layout on the device.
macro_rules! plain {
    ($($t:ident $elem:ident $to:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl GpuElem for $t {
            const ELEM: Elem = Elem::$elem;
            const NAME: &'static str = stringify!($t);
            const INSTEAD: Option<&'static str> = None;
            fn to_word(self) -> Option<u32> {
                Some($to(self))
            }
            fn from_word(word: u32) -> $t {
                $from(word)
            }
            fn as_bytes(elements: &[$t]) -> Option<&[u8]> {
                Some(bytemuck::cast_slice(elements))
            }
            fn extend(elements: &mut Vec<$t>, bytes: &[u8]) {
                let start = elements.len();
                elements.resize(start + bytes.len() / 4, <$t>::default());
                bytemuck::cast_slice_mut::<$t, u8>(&mut elements[start..]).copy_from_slice(bytes);
            }
        }
    )*};
}

plain! {
    f32 F32 f32::to_bits, f32::from_bits;
    i32 I32 i32::cast_unsigned, u32::cast_signed;
    u32 U32 std::convert::identity, std::convert::identity;
}

impl sealed::Sealed for bool {}
impl GpuElem for bool {
    const ELEM: Elem = Elem::Bool;
    const NAME: &'static str = "bool";
    const INSTEAD: Option<&'static str> = None;

    fn to_word(self) -> Option<u32> {
        Some(u32::from(self))
    }

    fn from_word(word: u32) -> bool {
        word != 0
    }

    fn as_bytes(_: &[bool]) -> Option<&[u8]> {
        None
    }
}

impl sealed::Sealed for i64 {}
impl GpuElem for i64 {
    const ELEM: Elem = Elem::I64;
    const NAME: &'static str = "i64";
    const INSTEAD: Option<&'static str> = Some("i32");

    fn to_word(self) -> Option<u32> {
        i32::try_from(self).ok().map(i32::cast_unsigned)
    }

    fn from_word(word: u32) -> i64 {
        i64::from(word.cast_signed())
    }

    fn as_bytes(_: &[i64]) -> Option<&[u8]> {
        None
    }
}

impl sealed::Sealed for f64 {}
impl GpuElem for f64 {
    const ELEM: Elem = Elem::F64;
    const NAME: &'static str = "f64";
    const INSTEAD: Option<&'static str> = Some("f32");

    fn to_word(self) -> Option<u32> {
        None
    }

    fn from_word(word: u32) -> f64 {
        f64::from(f32::from_bits(word))
    }

    fn as_bytes(_: &[f64]) -> Option<&[u8]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_back() {
        assert_eq!(i64::from_word((-5i64).to_word().unwrap()), -5);
        assert_eq!((1i64 << 31).to_word(), None);
        assert_eq!(true.to_word(), Some(1));
        assert_eq!(f32::from_word((-0.5f32).to_word().unwrap()), -0.5);
        assert_eq!(1f64.to_word(), None);
    }

    #[test]
    fn elements_from_bytes() {
        let bytes: Vec<u8> = [1u32, 0, 7].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let (mut b, mut i, mut u) = (vec![false], vec![], vec![9u32]);
        bool::extend(&mut b, &bytes);
        i64::extend(&mut i, &bytes);
        u32::extend(&mut u, &bytes);
        assert_eq!((b, i, u), (vec![false, true, false, true], vec![1, 0, 7], vec![9, 1, 0, 7]));
    }
}
