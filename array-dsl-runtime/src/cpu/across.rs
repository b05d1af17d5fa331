//! Loops in tiles across the rows of an array.

use super::lanes::joined;

/// The rows of a tile.
const ROWS: i64 = 32;
/// Longer rows are better folded in lanes.
const COLUMNS: i64 = 128;
/// So often a copy has to be read.
const AROUND: i64 = 8;

/// Whether a loop over the rows of an array is better executed across them, of which each is folded.
pub(crate) fn pays([rows, columns]: [i64; 2], around: i64) -> bool {
    rows >= ROWS && (1..=COLUMNS).contains(&columns) && around >= AROUND
}

/// Sets the columns of a matrix to the rows of another, in blocks that stay in the nearest cache.
pub(crate) fn transpose<T: Copy>(to: &mut [T], from: &[T], rows: usize, columns: usize) {
    const BLOCK: usize = 64;
    for base in (0..rows).step_by(BLOCK) {
        let end = (base + BLOCK).min(rows);
        for c in 0..columns {
            for (x, row) in to[c * rows..][base..end].iter_mut().zip(base..) {
                *x = from[row * columns + c];
            }
        }
    }
}

/// The best of values, of those that are `better` than the neutral one.
#[inline(always)]
pub fn best<T: Copy, const N: usize>(values: &[T; N], neutral: T, better: impl Fn(T, T) -> bool) -> T {
    let choose = |x: T, y: T| if better(y, x) { y } else { x };
    joined(values.map(|x| choose(neutral, x)), choose)
}

/// The place of the first of these values.
#[inline(always)]
pub fn place<T: Copy + PartialEq, const N: usize>(values: &[T; N], value: T) -> i64 {
    let mut at = N as i64;
    let mut i = N as i64;
    while i > 0 {
        i -= 1;
        at = if values[i as usize] == value { i } else { at };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        for (rows, columns) in [(0, 3), (1, 1), (3, 2), (64, 5), (65, 3), (200, 17)] {
            let from: Vec<usize> = (0..rows * columns).collect();
            let mut to = vec![0; rows * columns];
            transpose(&mut to, &from, rows, columns);
            for (at, x) in to.iter().enumerate() {
                assert_eq!(*x, at % rows * columns + at / rows);
            }
        }
    }

    #[test]
    fn the_best_is_the_first_of_those() {
        for n in 1..100 {
            let x: [f64; 32] = std::array::from_fn(|i| ((i * n) % 17) as f64);
            let least = best(&x, f64::INFINITY, |x, y| x < y);
            assert_eq!(least, x.iter().copied().fold(f64::INFINITY, f64::min));
            let first = x.iter().position(|v| *v == least).unwrap();
            assert_eq!(place(&x, least), first as i64);
        }
        assert_eq!(best(&[f64::NAN; 32], f64::INFINITY, |x, y| x < y), f64::INFINITY);
    }
}
