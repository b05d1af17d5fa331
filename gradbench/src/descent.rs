//! Gradient descent with a step that adapts itself: what the problems with nested derivatives share.
//!
//! Ten accepted steps double the step, one that does not descend halves it; a short gradient or a short step is the end.

use array_dsl::prelude::*;

/// A gradient by forward mode, one tangent for each component.
#[kernel]
pub fn forward(f: impl Fn([f64; n]) -> f64, x: [f64; n]) -> [f64; n] {
    build(n, |i| {
        let (_, slope) = jvp(f)(x, build(n, |j| if i == j { 1.0 } else { 0.0 }));
        slope
    })
}

/// Where `f` is least, found from `start`; `slope` is its gradient.
#[kernel]
pub fn descend(
    f: impl Fn([f64; n]) -> f64,
    slope: impl Fn([f64; n]) -> [f64; n],
    start: [f64; n],
) -> [f64; n] {
    let mut x = start;
    let mut value = f(x);
    let mut g = slope(x);
    let mut rate = 1e-5;
    let mut accepted = 0;
    let mut going = dot(g, g).sqrt() > 1e-5;
    while going {
        if accepted == 10 {
            rate *= 2.0;
            accepted = 0;
        } else {
            let next = x - rate * g;
            let moved = x - next;
            if dot(moved, moved).sqrt() <= 1e-5 {
                going = false;
            } else {
                let there = f(next);
                if there < value {
                    x = next;
                    value = there;
                    g = slope(x);
                    accepted += 1;
                    going = dot(g, g).sqrt() > 1e-5;
                } else {
                    rate /= 2.0;
                    accepted = 0;
                }
            }
        }
    }
    x
}
