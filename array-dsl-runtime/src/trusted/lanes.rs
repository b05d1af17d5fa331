//! Numbers of points that are executed together.

use std::mem::MaybeUninit;

use bytemuck::NoUninit;

use super::{inside, mark_unset};

/// What one loop over points that are executed together leaves to the next: a number for each.
///
/// Nothing is set at first: most rows are shorter than `WIDTH`, and to fill all of it for each could take longer than what is computed.
pub struct Lanes<T, const WIDTH: usize>([MaybeUninit<T>; WIDTH]);

impl<T: NoUninit, const WIDTH: usize> Lanes<T, WIDTH> {
    /// None is set.
    #[inline(always)]
    #[must_use]
    pub fn unset() -> Self {
        let mut lanes = [MaybeUninit::uninit(); WIDTH];
        mark_unset(&mut lanes);
        Self(lanes)
    }

    /// The number of a point.
    ///
    /// # Safety
    /// `0 <= lane < WIDTH`, and it was set.
    #[inline(always)]
    pub unsafe fn get(&self, lane: i64) -> T {
        inside(lane, WIDTH);
        // SAFETY: the contract.
        unsafe {
            let number = self.0.get_unchecked(lane as usize);
            #[cfg(feature = "assert-trusted")]
            super::unset::check(std::slice::from_ref(number));
            number.assume_init()
        }
    }

    /// Sets the number of a point.
    ///
    /// # Safety
    /// `0 <= lane < WIDTH`.
    #[inline(always)]
    pub unsafe fn set(&mut self, lane: i64, number: T) {
        inside(lane, WIDTH);
        // SAFETY: the contract.
        unsafe { *self.0.get_unchecked_mut(lane as usize) = MaybeUninit::new(number) };
    }

    /// Sets the numbers of the first points.
    ///
    /// # Safety
    /// `0 <= lanes <= WIDTH`.
    #[inline(always)]
    pub unsafe fn fill(&mut self, lanes: i64, number: T) {
        let mut lane = 0;
        while lane < lanes {
            // SAFETY: the contract.
            unsafe { self.set(lane, number) };
            lane += 1;
        }
    }

    /// The numbers of the first points.
    ///
    /// # Safety
    /// `0 <= lanes <= WIDTH`, and they were set.
    #[inline(always)]
    pub unsafe fn first(&self, lanes: i64) -> &[T] {
        if lanes > 0 {
            inside(lanes - 1, WIDTH);
        }
        // SAFETY: the contract.
        let first = unsafe { self.0.get_unchecked(..lanes as usize) };
        #[cfg(feature = "assert-trusted")]
        super::unset::check(first);
        // SAFETY: the contract.
        unsafe { std::slice::from_raw_parts(first.as_ptr().cast(), first.len()) }
    }

    /// All of them.
    ///
    /// # Safety
    /// They were set.
    #[inline(always)]
    pub unsafe fn all(&self) -> &[T; WIDTH] {
        #[cfg(feature = "assert-trusted")]
        super::unset::check(&self.0);
        // SAFETY: the contract.
        unsafe { &*self.0.as_ptr().cast() }
    }

    /// Sets all of the vector in which the last of `lanes` points is, whose other numbers are nobody's.
    ///
    /// # Safety
    /// `0 < lanes <= WIDTH`, and `VECTOR` is a power of two that divides `WIDTH`.
    #[inline(always)]
    pub unsafe fn set_last<const VECTOR: usize>(&mut self, lanes: i64, number: T) {
        let first = (lanes - 1) & !(VECTOR as i64 - 1);
        for lane in 0..VECTOR as i64 {
            // SAFETY: the contract.
            unsafe { self.set(first + lane, number) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_vector_is_set() {
        for (lanes, set) in [(1, 0..8), (8, 0..8), (9, 8..16), (16, 8..16)] {
            let mut x = Lanes::<f64, 16>::unset();
            // SAFETY: inside.
            unsafe { x.set_last::<8>(lanes, 3.0) };
            for lane in set {
                // SAFETY: it was set.
                assert!(unsafe { x.get(lane) } == 3.0);
            }
        }
        let mut x = Lanes::<bool, 8>::unset();
        // SAFETY: inside, and it was set.
        assert!(unsafe {
            x.set(7, true);
            x.get(7)
        });
    }

    #[test]
    #[cfg(feature = "assert-trusted")]
    #[should_panic(expected = "element 0 of 1 was never set")]
    fn lanes_that_were_never_set_are_asserted() {
        let x = Lanes::<f64, 16>::unset();
        // SAFETY: asserted.
        let _ = unsafe { x.get(3) };
    }
}
