//! Ordinary differential equations for kernels.

use crate::prelude::*;

/// `odeint(f, start, times, tolerance)`: the states at `times` of the system `x' = f(t, x)` that is in the state `start` at `times[0]`, a row for
/// each time.
///
/// By Dormand and Prince's method of order 5 (1980), whose steps are as long as an error of `tolerance` of each state lets them be:
/// `tolerance * (1 + |x|)`, in the root of the mean of squares. `times` go up or down. Where a step would have to be shorter than rounding,
/// because a solution has no end, the states from there on are NaN.
///
/// Derivatives by `start`, by whatever `f` uses and by `times` go through the steps that were made, and are those of the numbers that the
/// method gives; the lengths of the steps are not differentiated. Cost: seven calls of `f` in a step; going back as much memory
/// as there are steps.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::ode::odeint;
///
/// /// The swing of a pendulum.
/// #[kernel]
/// fn swing(angle: f64, length: f64, times: [f64; n]) -> [[f64; 2]; n] {
///     odeint(|_, x| [x[1], -9.81 / length * sin(x[0])], [angle, 0.0], times, 1e-10)
/// }
///
/// let small = swing(1e-4, 2.0, &array![0.0, 1.0]);
/// assert!((small[[1, 0]] - 1e-4 * (9.81f64 / 2.0).sqrt().cos()).abs() < 1e-11);
/// ```
#[kernel]
pub fn odeint<T: Float>(
    f: impl Fn(T, [T; n]) -> [T; n],
    start: [T; n],
    times: [T; m],
    tolerance: T,
) -> [[T; n]; m] {
    let mut all = build((m, n), |_, i| start[i]);
    let mut x = start;
    // The length of the next step, of which the first ones are found by trying.
    let mut h = 0.0;
    for k in 1..m {
        let end = times[k];
        let mut t = times[k - 1];
        let whole = stop_gradient(end - t);
        if k == 1 {
            h = whole;
        }
        // Which way it goes may turn.
        h = abs(h) * (if whole < 0.0 { -1.0 } else { 1.0 });
        let mut on = whole != 0.0;
        while on {
            let left = end - t;
            let is_last = abs(h) >= abs(stop_gradient(left));
            let step = if is_last { left } else { h };
            let k1 = f(t, x);
            let k2 = f(t + 0.2 * step, x + step * (0.2 * k1));
            let k3 = f(t + 0.3 * step, x + step * (0.075 * k1 + 0.225 * k2));
            let k4 = f(t + 0.8 * step, x + step * (44.0 / 45.0 * k1 - 56.0 / 15.0 * k2 + 32.0 / 9.0 * k3));
            let k5 = f(
                t + 8.0 / 9.0 * step,
                x + step
                    * (19372.0 / 6561.0 * k1 - 25360.0 / 2187.0 * k2 + 64448.0 / 6561.0 * k3
                        - 212.0 / 729.0 * k4),
            );
            let k6 = f(
                t + step,
                x + step
                    * (9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3 + 49.0 / 176.0 * k4
                        - 5103.0 / 18656.0 * k5),
            );
            let next = x + step
                * (35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4 - 2187.0 / 6784.0 * k5
                    + 11.0 / 84.0 * k6);
            let k7 = f(t + step, next);
            let error = stop_gradient(
                step * (71.0 / 57600.0 * k1 - 71.0 / 16695.0 * k3 + 71.0 / 1920.0 * k4
                    - 17253.0 / 339200.0 * k5
                    + 22.0 / 525.0 * k6
                    - 0.025 * k7),
            );
            let most = stop_gradient(map(|(a, b)| max(abs(a), abs(b)), zip(x, next)));
            let parts = error / (tolerance * (1.0 + most));
            let size = sqrt(dot(parts, parts) / (n as _));
            // Not finite: far too long.
            let factor = if size <= 1e-10 {
                10.0
            } else if size < 1e10 {
                clamp(0.9 * powf(size, -0.2), 0.1, 10.0)
            } else {
                0.1
            };
            if size <= 1.0 {
                x = next;
                t = t + step;
                on = !is_last;
                // A step that only ends the interval says little of the next one.
                h = if is_last && factor > 1.0 {
                    max(abs(h), abs(stop_gradient(step)) * factor) * (if whole < 0.0 { -1.0 } else { 1.0 })
                } else {
                    stop_gradient(step) * factor
                };
            } else {
                h = stop_gradient(step) * factor;
                if stop_gradient(t) + h == stop_gradient(t) {
                    x = build(n, |_| 0.0 / 0.0);
                    on = false;
                }
            }
        }
        all[k] = x;
    }
    all
}
