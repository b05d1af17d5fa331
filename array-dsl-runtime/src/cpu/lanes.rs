//! Lanes of a reduction.

/// The lanes that belong to an element, of an array that has so many for each.
///
/// # Panics
/// If there are none.
#[inline(always)]
pub fn lanes_at<T: Copy, const N: usize>(of_all: &[T], element: i64) -> [T; N] {
    let begin = element as usize * N;
    std::array::from_fn(|lane| of_all[begin + lane])
}

/// The lanes combined as a tree: the first half with the second, until one is left. There are a power of two of them.
#[inline(always)]
pub fn joined<T: Copy, const N: usize>(mut lanes: [T; N], combine: impl Fn(T, T) -> T) -> T {
    let mut width = N / 2;
    while width > 0 {
        let (first, second) = lanes.split_at_mut(width);
        for (x, y) in first.iter_mut().zip(second) {
            *x = combine(*x, *y);
        }
        width /= 2;
    }
    lanes[0]
}
