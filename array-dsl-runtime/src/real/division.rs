//! Integer division: wrapping, and division by zero is recorded rather than a panic.

use crate::status::Status;

/// Division of `i32`, `i64` and `u32`. Overflow (the least number divided by -1) wraps; division by zero is recorded in
/// `status` and gives 0.
pub trait Division: Copy {
    /// The quotient, rounded towards zero.
    fn quotient(a: Self, b: Self, status: &Status, site: u32) -> Self;
    /// The remainder, with the sign of `a`.
    fn remainder(a: Self, b: Self, status: &Status, site: u32) -> Self;
    /// The remainder, never negative (but for overflow).
    fn remainder_euclid(a: Self, b: Self, status: &Status, site: u32) -> Self;
}

macro_rules! division {
    ($($type:ty)*) => {
        $(
            impl Division for $type {
                #[inline(always)]
                fn quotient(a: $type, b: $type, status: &Status, site: u32) -> $type {
                    if b == 0 {
                        status.division(site);
                        return 0;
                    }
                    a.wrapping_div(b)
                }

                #[inline(always)]
                fn remainder(a: $type, b: $type, status: &Status, site: u32) -> $type {
                    if b == 0 {
                        status.division(site);
                        return 0;
                    }
                    a.wrapping_rem(b)
                }

                #[inline(always)]
                fn remainder_euclid(a: $type, b: $type, status: &Status, site: u32) -> $type {
                    if b == 0 {
                        status.division(site);
                        return 0;
                    }
                    a.wrapping_rem_euclid(b)
                }
            }
        )*
    };
}

division!(i32 i64 u32);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::program::Site;

    #[test]
    fn wraps_and_records_zero() {
        let status = Status::new();
        assert_eq!(Division::quotient(-7i64, 2, &status, 0), -3);
        assert_eq!(Division::remainder(-7i32, 2, &status, 0), -1);
        assert_eq!(Division::remainder_euclid(-7i32, 2, &status, 0), 1);
        assert_eq!(Division::quotient(i64::MIN, -1, &status, 0), i64::MIN);
        assert_eq!(Division::remainder(i32::MIN, -1, &status, 0), 0);
        assert_eq!(Division::quotient(7u32, 2, &status, 0), 3);
        let sites = [Site { kernel: "f", file: "a.rs", line: 3 }];
        assert_eq!(status.finish(&sites), Ok(()));
        assert_eq!(Division::quotient(1i64, 0, &status, 0), 0);
        assert_eq!(Division::remainder(1u32, 0, &status, 0), 0);
        assert_eq!(Division::remainder_euclid(1i32, 0, &status, 0), 0);
        assert_eq!(status.finish(&sites), Err(Error::DivisionByZero { kernel: "f", file: "a.rs", line: 3 }));
    }
}
