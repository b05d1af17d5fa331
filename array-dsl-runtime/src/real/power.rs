//! Powers with integer exponents.

use std::ops::{Div, Mul};

/// Integers that can be exponents.
pub trait PowExponent: Copy {
    /// The same number.
    fn to_i64(self) -> i64;
}

macro_rules! exponents {
    ($($type:ty)*) => {
        $(
            impl PowExponent for $type {
                #[inline(always)]
                fn to_i64(self) -> i64 {
                    self.into()
                }
            }
        )*
    };
}

exponents!(i32 i64 u32);

/// `x^i`. Constant exponents, the common case, fold to a few multiplications.
#[inline(always)]
pub(super) fn powi<T: Copy + Mul<Output = T> + Div<Output = T>>(x: T, one: T, i: i64) -> T {
    let magnitude = match i.unsigned_abs() {
        0 => one,
        1 => x,
        2 => x * x,
        3 => x * x * x,
        4 => (x * x) * (x * x),
        mut rest => {
            let (mut power, mut square) = (one, x);
            loop {
                if rest & 1 == 1 {
                    power = power * square;
                }
                rest >>= 1;
                if rest == 0 {
                    break power;
                }
                square = square * square;
            }
        }
    };
    if i < 0 { one / magnitude } else { magnitude }
}
