//! How many directions of a Jacobian or Hessian are taken at a time.
//!
//! A Jacobian is one program executed at every unit direction, and each of its intermediate arrays has the directions as one
//! more dimension. So that memory does not grow with their number, the program is executed for strips of `width` directions,
//! one after the other:
//!
//! ```text
//! width * trips >= total      width * bytes <= BYTES, if that leaves LEAST directions
//! ```
//!
//! Which entry belongs to which direction does not depend on the width, nor do its bits where the order of sums does not.
//! The choice depends on sizes only, never on the number of threads.

use std::cell::Cell;

use crate::program::Poly;

/// The memory of the intermediate arrays of a strip.
const BYTES: i64 = 1 << 25;
/// The least number of directions: enough for vector registers, and for what all directions share to be cheap.
const LEAST: i64 = 16;

/// Two sizes of a program that are chosen when it runs.
#[derive(Debug)]
pub struct Strip {
    /// The position of the number of directions at a time among the sizes.
    pub at_once: usize,
    /// That of the number of strips.
    pub trips: usize,
    /// How many directions there are.
    pub total: Poly,
    /// The memory that one of them takes.
    pub bytes: Poly,
}

impl Strip {
    /// The width and the number of trips, given the values of the other sizes.
    pub fn choose(&self, atoms: &[i64]) -> (i64, i64) {
        let total = self.total.eval(atoms).unwrap_or(i64::MAX).max(0);
        let bytes = self.bytes.eval(atoms).unwrap_or(i64::MAX);
        let most = AT_ONCE.get().unwrap_or_else(|| (BYTES / bytes.max(1)).max(LEAST));
        widths(total, most)
    }
}

/// Strips of at most `most` directions, as few as can be and all of about one width.
fn widths(total: i64, most: i64) -> (i64, i64) {
    let up = |a: i64, b: i64| a / b + i64::from(a % b != 0);
    if total == 0 {
        return (0, 0);
    }
    let trips = up(total, most.max(1));
    (up(total, trips), trips)
}

thread_local! {
    static AT_ONCE: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Runs `f`; the Jacobians and Hessians that this thread computes in it take at most `count` directions at a time (zero counts
/// as one). Without it, as many as keep the memory of intermediate arrays near 32 MiB, but at least 16.
///
/// Fewer take less memory; the result is the same.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel(jacobian)]
/// fn cubes(x: [f64; n]) -> [f64; n] {
///     x * x * x
/// }
///
/// let x = array![1.0, 2.0, 3.0];
/// let j = array_dsl::directions_at_once(2, || jacobian(cubes)(&x));
/// assert_eq!(j, jacobian(cubes)(&x));
/// ```
pub fn directions_at_once<T>(count: usize, f: impl FnOnce() -> T) -> T {
    /// Puts back what was set before, also after a panic.
    struct Before(Option<i64>);
    impl Drop for Before {
        fn drop(&mut self) {
            AT_ONCE.set(self.0);
        }
    }
    let _before = Before(AT_ONCE.replace(Some(i64::try_from(count).unwrap_or(i64::MAX))));
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_cover_all_directions_and_are_no_wider_than_asked() {
        for total in [0, 1, 2, 15, 16, 17, 100, i64::MAX] {
            for most in [0, 1, 2, 16, 99, i64::MAX] {
                let (width, trips) = widths(total, most);
                assert!(width <= total && width <= most.max(1), "{total} {most}");
                assert!(i128::from(width) * i128::from(trips) >= i128::from(total), "{total} {most}");
            }
        }
        assert_eq!(widths(17, 16), (9, 2));
    }

    #[test]
    fn the_width_follows_from_the_memory_of_a_direction() {
        let strip = |bytes: &'static [(i64, &'static [u16])]| Strip {
            at_once: 1,
            trips: 2,
            total: Poly(&[(1, &[0])]),
            bytes: Poly(bytes),
        };
        let n = 1 << 20;
        assert_eq!(strip(&[(8, &[])]).choose(&[n, 0, 0]), (n, 1));
        assert_eq!(strip(&[(8, &[0])]).choose(&[n, 0, 0]), (LEAST, n / LEAST));
        assert_eq!(strip(&[(1024, &[])]).choose(&[n, 0, 0]), (BYTES / 1024, n * 1024 / BYTES));
        // More memory than there are numbers for.
        assert_eq!(strip(&[(i64::MAX, &[0])]).choose(&[n, 0, 0]).0, LEAST);
        assert_eq!(directions_at_once(3, || strip(&[(8, &[])]).choose(&[7, 0, 0])), (3, 3));
        assert_eq!(strip(&[(8, &[])]).choose(&[0, 0, 0]), (0, 0));
    }
}
