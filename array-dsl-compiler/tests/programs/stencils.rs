//! A stencil through time in the styles in which it is written: the gradient of each is one loop a trip, and keeps nothing.

// Compiled by tests of other crates, and read as text by `costs.rs`.

use array_dsl::prelude::*;

/// The border by a condition.
#[kernel]
pub fn by_condition(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    for _ in 0..n {
        u = build((n, n), |i, j| {
            if i == 0 || j == 0 || i == n - 1 || j == n - 1 {
                u[i][j]
            } else {
                u[i][j] + 0.1 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4.0 * u[i][j])
            }
        });
    }
    u
}

/// The inner part by slices.
#[kernel]
pub fn by_slices(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    for _ in 0..n {
        let inner = u[s![1..n - 1, 1..n - 1]];
        let around =
            u[s![..n - 2, 1..n - 1]] + u[s![2.., 1..n - 1]] + u[s![1..n - 1, ..n - 2]] + u[s![1..n - 1, 2..]];
        u[s![1..n - 1, 1..n - 1]] = inner + 0.1 * (around - 4.0 * inner);
    }
    u
}

/// The inner part by loops.
#[kernel]
pub fn by_loops(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    for _ in 0..n {
        let old = u;
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let around = old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1];
                u[i][j] = old[i][j] + 0.1 * (around - 4.0 * old[i][j]);
            }
        }
    }
    u
}

/// Neighbors that are kept within the border.
#[kernel]
pub fn by_clamped_places(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    for _ in 0..n {
        u = build((n, n), |i, j| {
            let (up, down) = (u[max(i - 1, 0)][j], u[min(i + 1, n - 1)][j]);
            let (left, right) = (u[i][max(j - 1, 0)], u[i][min(j + 1, n - 1)]);
            u[i][j] + 0.1 * (up + down + left + right - 4.0 * u[i][j])
        });
    }
    u
}

/// Around the ends, which meet.
#[kernel]
pub fn around_the_ends(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    for _ in 0..n {
        u = build((n, n), |i, j| {
            let (up, down) = (u[(i + n - 1) % n][j], u[(i + 1) % n][j]);
            let (left, right) = (u[i][(j + n - 1) % n], u[i][(j + 1) % n]);
            u[i][j] + 0.1 * (up + down + left + right - 4.0 * u[i][j])
        });
    }
    u
}

/// Around the ends, which meet, by choices.
#[kernel]
pub fn around_by_choices(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    for _ in 0..n {
        u = build((n, n), |i, j| {
            let up = u[if i == 0 { n - 1 } else { i - 1 }][j];
            let down = u[if i < n - 1 { i + 1 } else { 0 }][j];
            let west = if j > 0 { j - 1 } else { n - 1 };
            let east = if j + 1 == n { 0 } else { j + 1 };
            u[i][j] + 0.1 * (up + down + u[i][west] + u[i][east] - 4.0 * u[i][j])
        });
    }
    u
}

/// A wave by its last two states, with nothing around it: the adjoint of a state is added to what the trip after has left of it.
#[kernel]
pub fn leapfrog(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    let mut before = x;
    for _ in 0..n {
        let around = build((n, n), |i, j| {
            let up = if i > 0 { u[i - 1][j] } else { 0.0 };
            let down = if i + 1 < n { u[i + 1][j] } else { 0.0 };
            let left = if j > 0 { u[i][j - 1] } else { 0.0 };
            let right = if j + 1 < n { u[i][j + 1] } else { 0.0 };
            up + down + left + right
        });
        let next = 2.0 * u - before + 0.1 * (around - 4.0 * u);
        before = u;
        u = next;
    }
    u
}

/// Rows that are moved as a whole.
#[kernel]
pub fn by_rotated_arrays(x: [[f64; n]; n]) -> [[f64; n]; n] {
    let mut u = x;
    for _ in 0..n {
        let t = transpose(u);
        let across = transpose(rotate(t, 1) + rotate(t, -1));
        u = u + 0.1 * (rotate(u, 1) + rotate(u, -1) + across - 4.0 * u);
    }
    u
}
