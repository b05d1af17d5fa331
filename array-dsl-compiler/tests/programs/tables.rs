//! Points that look up what they need in tables, each a sum over them: the gradient adds to all tables in one loop.

// Compiled by tests of other crates, and read as text by `structure.rs`.

use array_dsl::prelude::*;

/// Two tables by one index.
#[kernel]
pub fn two_tables(a: [f64; m], b: [f64; m], at: [i64; n], x: [f64; n]) -> f64 {
    sum(build(n, |i| sin(a[at[i]] * x[i]) * exp(b[at[i]])))
}

/// One table twice, rows of two: what the ends of a spring have.
#[kernel]
pub fn springs(x: [[f64; 2]; m], from: [i64; n], to: [i64; n], rest: [f64; n]) -> f64 {
    let mut energy = 0.0;
    for s in 0..n {
        let d = x[from[s]] - x[to[s]];
        let l = sqrt(sum(d * d) + 0.01);
        energy += 0.5 * (l - rest[s]) * (l - rest[s]);
    }
    energy
}

/// Cameras with six numbers, and points in space: how far from where each point was seen.
#[kernel]
pub fn views(
    cameras: [[f64; 6]; m],
    points: [[f64; 3]; p],
    camera: [i64; n],
    point: [i64; n],
    seen: [[f64; 2]; n],
) -> f64 {
    sum(build(n, |i| {
        let c = cameras[camera[i]];
        let x = points[point[i]];
        let angle = sqrt(c[0] * c[0] + c[1] * c[1] + 0.01);
        let y = x * cos(angle) + sin(angle) * [c[0], c[1], c[2]];
        let depth = 2.0 + y[2] * y[2];
        let u = c[3] * y[0] / depth + c[4] - seen[i][0];
        let v = c[3] * y[1] / depth + c[5] - seen[i][1];
        u * u + v * v
    }))
}

/// Between four places of a table that data point to: wrong ones are errors of the value, and nobody compares them again.
#[kernel]
pub fn between(table: [[f64; m]; n], x: [f64; k], y: [f64; k]) -> f64 {
    sum(build(k, |p| {
        let fx = clamp(x[p], 0.0, n as f64 - 1.001);
        let fy = clamp(y[p], 0.0, m as f64 - 1.001);
        let (i, j) = (fx as i64, fy as i64);
        let (a, b) = (fx - i as f64, fy - j as f64);
        let low = table[i][j] * (1.0 - a) + table[i + 1][j] * a;
        let high = table[i][j + 1] * (1.0 - a) + table[i + 1][j + 1] * a;
        let v = low * (1.0 - b) + high * b;
        v * v
    }))
}
