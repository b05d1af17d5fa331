//! What is defined by an equation, for kernels: roots, fixed points and minima of functions, with the derivatives that the equation gives them.
//!
//! ```
//! use array_dsl::implicit::fixed_point;
//! use array_dsl::prelude::*;
//!
//! /// The angle of a planet at a mean anomaly: Kepler's equation.
//! #[kernel]
//! fn anomaly(mean: f64, eccentricity: f64) -> f64 {
//!     let (e, _) = fixed_point(|e| [mean + eccentricity * sin(e[0])], [mean]);
//!     e[0]
//! }
//!
//! let e = anomaly(1.0, 0.2);
//! assert!((e - 0.2 * e.sin() - 1.0).abs() < 1e-14);
//! // By the implicit function theorem.
//! let (dm, de) = grad(anomaly)(1.0, 0.2);
//! assert!((dm - 1.0 / (1.0 - 0.2 * e.cos())).abs() < 1e-13);
//! assert!((de - e.sin() / (1.0 - 0.2 * e.cos())).abs() < 1e-13);
//! ```
//!
//! The functions are closures or kernels, which may use whatever is in sight where they are written; by that the results have derivatives. By the
//! start they have none. **The search is not differentiated**, so it costs nothing going back. Two steps of Newton's method follow at what it
//! has found, `x - J(x)^-1 f(x)`, which change nothing but the derivatives, and give these up to the third order (Griewank and Walther,
//! *Evaluating Derivatives*, 15): one gives the first, each doubles.
//!
//! Each function gives besides its result **how far off it is**, the length of what should be zero there. A search that does not converge
//! ends after a number of steps, and that length tells.

use crate::linalg::solve;
use crate::prelude::*;

/// `root(f, start)`: `(x, off)`, where `f(x)` is zero, and the length of `f(x)`.
///
/// By Newton's method from `start` on; a step that makes `f` longer is halved. At most 100 steps, to rounding. Where the Jacobian of `f` is
/// singular the result is not finite. Cost: in each step a Jacobian and a system of equations.
#[kernel]
pub fn root<T: Float>(f: impl Fn([T; n]) -> [T; n], start: [T; n]) -> ([T; n], T) {
    let mut x = stop_gradient(start);
    let mut fx = stop_gradient(f(x));
    let mut trips = 0;
    let mut far = true;
    while far && trips < 100 {
        let d = stop_gradient(solve(jacobian(f)(x), fx));
        let mut t = 1.0;
        let mut next = x - d;
        let mut f_next = stop_gradient(f(next));
        while dot(f_next, f_next) > dot(fx, fx) && t > 1e-4 {
            t *= 0.5;
            next = x - t * d;
            f_next = stop_gradient(f(next));
        }
        // What does not come closer has come as close as rounding lets it, or will not.
        far = dot(f_next, f_next) < dot(fx, fx);
        if far {
            x = next;
            fx = f_next;
        }
        trips += 1;
    }
    (at_root(f, x), sqrt(dot(fx, fx)))
}

/// The root that was found, with its derivatives.
#[kernel]
fn at_root<T: Float>(f: impl Fn([T; n]) -> [T; n], x: [T; n]) -> [T; n] {
    let y = x - solve(jacobian(f)(x), f(x));
    let z = y - solve(jacobian(f)(y), f(y));
    x + (z - stop_gradient(z))
}

/// `fixed_point(f, start)`: `(x, off)`, where `f(x)` is `x`, and the length of `f(x) - x`.
///
/// By applying `f` again and again, from `start` on, until that comes no closer, at most 10,000 times: for functions that bring
/// points closer to each other. Where it does so slowly, `root(|x| f(x) - x, start)` is faster.
#[kernel]
pub fn fixed_point<T: Float>(f: impl Fn([T; n]) -> [T; n], start: [T; n]) -> ([T; n], T) {
    let mut x = stop_gradient(start);
    let mut next = stop_gradient(f(x));
    let mut off = dot(next - x, next - x);
    let mut trips = 0;
    // A step may be longer than the one before it, but not many in a row.
    let mut worse = 0;
    while worse < 5 && off > 0.0 && trips < 10000 {
        x = next;
        next = stop_gradient(f(x));
        let step = dot(next - x, next - x);
        worse = if step < off { 0 } else { worse + 1 };
        off = step;
        trips += 1;
    }
    (at_root(|x| f(x) - x, x), sqrt(off))
}

/// `minimize(f, start)`: `(x, off)`, where `f` has a minimum near `start`, and the length of the gradient there.
///
/// By the method of Broyden, Fletcher, Goldfarb and Shanno, with steps that are halved until `f` falls enough (Nocedal and Wright,
/// *Numerical Optimization*, 6.1); at most 500 steps, to rounding. Its derivatives are those of the root of the gradient: the Hessian
/// must be regular. Cost: in each step a gradient and O(n^2) operations.
#[kernel]
pub fn minimize<T: Float>(f: impl Fn([T; n]) -> T, start: [T; n]) -> ([T; n], T) {
    let mut x = stop_gradient(start);
    let mut fx = stop_gradient(f(x));
    let mut g = stop_gradient(grad(f)(x));
    // The inverse of the Hessian, as it is known so far.
    let mut h = build((n, n), |i, j| if i == j { 1.0 } else { 0.0 });
    let mut trips = 0;
    let mut far = true;
    while far && trips < 500 {
        let d = -matvec(h, g);
        let slope = dot(d, g);
        let mut t = 1.0;
        let mut next = x + d;
        let mut f_next = stop_gradient(f(next));
        while !(f_next <= fx + 1e-4 * t * slope) && t > 1e-10 {
            t *= 0.5;
            next = x + t * d;
            f_next = stop_gradient(f(next));
        }
        let g_next = stop_gradient(grad(f)(next));
        let (s, y) = (next - x, g_next - g);
        let sy = dot(s, y);
        far = f_next < fx || dot(g_next, g_next) < dot(g, g);
        if far {
            if sy > 0.0 {
                // At first only the scale is known.
                let scale = if trips == 0 { sy / dot(y, y) } else { 1.0 };
                let hy = scale * matvec(h, y);
                let c = (1.0 + dot(y, hy) / sy) / sy;
                h = scale * h + c * outer(s, s) - (outer(hy, s) + outer(s, hy)) / sy;
            }
            x = next;
            fx = f_next;
            g = g_next;
        }
        trips += 1;
    }
    (at_root(|x| grad(f)(x), x), sqrt(dot(g, g)))
}
