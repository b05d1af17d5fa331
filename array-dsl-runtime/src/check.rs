//! Checking gradients: forward mode, reverse mode and central differences must agree.
//!
//! With a random cotangent `c` and a random tangent `t`:
//!
//! ```text
//! reverse = forward        <vjp(c), t>  =  <c, jvp(t)>
//! reverse = differences    vjp(c)[k]    =  <c, f(x + h e_k) - f(x - h e_k)> / 2h      for each entry k
//! ```
//!
//! A quotient is off by curvature, which grows with `h^2`, and by rounding, which falls with `h`. Where it disagrees those of `2 h` and
//! `4 h` are looked at: two of them give one without the curvature, `(4 q(h) - q(2 h)) / 3`, and how far that of `h` and `2 h` is from
//! that of `2 h` and `4 h` tells what rounding does. (Richardson, 1911.)

use std::fmt;

use crate::Error;
use crate::directional::{Directional, Flat, Visit};

/// Compares forward mode, reverse mode and central differences of a kernel at a point.
///
/// Differences are inexact: agreement to about 1e-8 (f64) or 1e-2 (f32), relative to the largest entry, is as good as it gets, and
/// at kinks (`max` of equal values, say) they differ from any derivative: see [`GradientCheck::verdict`].
///
/// # Errors
/// Those of running the kernel.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// #[kernel]
/// fn energy(x: [f64; n]) -> f64 {
///     (x * x).sum() + x[0].abs()
/// }
///
/// check_grad(energy, (&array![1.0, 2.0],)).unwrap().assert();
/// // Close to a kink the differences are no derivative, which the text says.
/// println!("{}", check_grad(energy, (&array![1e-6, 2.0],)).unwrap());
/// ```
pub fn check_grad<K: Directional>(kernel: K, args: K::Args<'_>) -> Result<GradientCheck, Error> {
    let _ = kernel;
    K::visit(args, Compare)
}

/// The result of a comparison. Errors are relative to the largest gradient entry (or to 1, if that is larger).
#[derive(Clone, Debug, PartialEq)]
#[must_use = "whether it agrees is what it says"]
pub struct GradientCheck {
    /// The kernel.
    pub kernel: &'static str,
    /// Disagreement of forward and reverse mode.
    pub forward_reverse: f64,
    /// Largest disagreement of reverse mode and differences.
    pub differences: f64,
    /// Where that is: argument and position in row-major order.
    pub worst: (&'static str, usize),
    /// There: the derivative and the difference quotient.
    pub values: (f64, f64),
    /// How many entries were compared.
    pub entries: usize,
    /// At the worst entry: the difference quotients to the left and to the right, which differ at a kink. Where the function's domain
    /// ends to one side, that one is NaN.
    pub sides: (f64, f64),
    /// The disagreement that rounding alone may make, by the float type of the arguments.
    pub tolerance: f64,
}

/// What a comparison says of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward mode, reverse mode and differences agree.
    Agrees,
    /// At the worst entry the function has a kink: the slopes to both sides differ, and the derivative is one of them or between
    /// them. Compare at another point.
    Kink,
    /// They do not agree.
    Differs,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Agrees => "the gradient agrees",
            Verdict::Kink => "a kink here? the gradient agrees with one side of it, or lies between both",
            Verdict::Differs => "the gradient is wrong, or too inexact to tell",
        })
    }
}

impl GradientCheck {
    /// Whether everything agrees to this tolerance.
    pub fn agrees(&self, tolerance: f64) -> bool {
        self.forward_reverse <= tolerance && self.differences <= tolerance
    }

    /// Whether everything agrees as far as the float type of the arguments allows, or fails to at a kink.
    pub fn verdict(&self) -> Verdict {
        if self.agrees(self.tolerance) {
            return Verdict::Agrees;
        }
        let ((left, right), derivative) = (self.sides, self.values.0);
        let scale = left.abs().max(right.abs()).max(1.0);
        // Where there is no kink the slopes to both sides differ by the curvature times the step.
        let is_kink = (left - right).abs() > self.tolerance.sqrt() * scale;
        let slack = self.tolerance.sqrt() * scale;
        let between = derivative >= left.min(right) - slack && derivative <= left.max(right) + slack;
        if self.forward_reverse <= self.tolerance && is_kink && between {
            Verdict::Kink
        } else {
            Verdict::Differs
        }
    }

    /// Panics with the comparison unless everything agrees: for tests.
    ///
    /// # Panics
    /// If the [verdict](GradientCheck::verdict) is another one than [`Verdict::Agrees`].
    #[track_caller]
    pub fn assert(&self) {
        assert!(self.verdict() == Verdict::Agrees, "{self}");
    }
}

impl fmt::Display for GradientCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = self.verdict();
        let GradientCheck { kernel, entries, worst: (argument, position), values, sides, .. } = self;
        write!(
            f,
            "kernel `{kernel}`: {verdict} (tolerance {:.0e}); forward and reverse mode differ by {:.1e}; reverse mode and differences by \
             {:.1e} (of {entries} entries; worst: `{argument}`[{position}], derivative {}, differences {}, to the left {}, to the right {})",
            self.tolerance, self.forward_reverse, self.differences, values.0, values.1, sides.0, sides.1
        )
    }
}

/// At most this many entries are compared with differences, spread evenly.
const ENTRIES: usize = 1000;

/// A number in -1..1 that depends on its position only.
fn noise(k: usize) -> f64 {
    let mut z = (k as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 11) as f64 / (1u64 << 53) as f64).mul_add(2.0, -1.0)
}

fn random<T: Flat>(kernel: &'static str, like: &T, from: usize) -> Result<T, Error> {
    let mut k = from;
    let lists: Vec<Vec<f64>> = like
        .lists()
        .into_iter()
        .map(|l| {
            l.into_iter()
                .map(|_| {
                    k += 1;
                    noise(k)
                })
                .collect()
        })
        .collect();
    like.with(&mut lists.into_iter()).ok_or_else(|| other_length(kernel))
}

/// The numbers of a value are no longer as many as they were.
fn other_length(kernel: &'static str) -> Error {
    Error::Internal { kernel, message: "`check_grad` made lists of another length".into() }
}

fn dot<T: Flat>(a: &T, b: &T) -> f64 {
    a.lists().iter().flatten().zip(b.lists().iter().flatten()).map(|(x, y)| x * y).sum()
}

/// The comparison.
struct Compare;

impl Visit for Compare {
    type Output = GradientCheck;
    fn visit<A: Flat, Y: Flat>(
        self,
        kernel: &'static str,
        names: &[&'static str],
        at: &A,
        value: impl Fn(&A) -> Result<Y, Error>,
        vjp: impl Fn(&A, &Y) -> Result<A, Error>,
        jvp: impl Fn(&A, &A) -> Result<Y, Error>,
    ) -> Result<GradientCheck, Error> {
        let y = value(at)?;
        let (cotangent, tangent) = (random(kernel, &y, 0)?, random(kernel, at, 1 << 20)?);
        let gradient = vjp(at, &cotangent)?;
        let forward = dot(&cotangent, &jvp(at, &tangent)?);
        let reverse = dot(&gradient, &tangent);
        let lists = gradient.lists();
        let scale = lists.iter().flatten().fold(1.0f64, |m, x| m.max(x.abs()));
        let mut check = GradientCheck {
            kernel,
            forward_reverse: (forward - reverse).abs() / scale.max(forward.abs()),
            differences: 0.0,
            worst: (names.first().copied().unwrap_or(""), 0),
            values: (0.0, 0.0),
            entries: 0,
            sides: (0.0, 0.0),
            // Of central differences with a step of the cube root.
            tolerance: 1000.0 * A::epsilon().cbrt().powi(2),
        };
        let here = dot(&cotangent, &y);
        let point = at.lists();
        let total: usize = point.iter().map(Vec::len).sum();
        let step = total.div_ceil(ENTRIES).max(1);
        for k in (0..total).step_by(step) {
            let (mut list, mut entry) = (0, k);
            while entry >= point[list].len() {
                entry -= point[list].len();
                list += 1;
            }
            let x = point[list][entry];
            let h = A::epsilon().cbrt() * x.abs().max(1.0);
            let shifted = |d: f64| {
                let mut lists = point.clone();
                lists[list][entry] = x + d;
                at.with(&mut lists.into_iter()).ok_or_else(|| other_length(kernel))
            };
            // The values to both sides, and the step between them that was really made, after rounding.
            let both = |h: f64| -> Result<[f64; 3], Error> {
                let (up, down) = (shifted(h)?, shifted(-h)?);
                let made = up.lists()[list][entry] - down.lists()[list][entry];
                Ok([dot(&cotangent, &value(&up)?), dot(&cotangent, &value(&down)?), made])
            };
            let sides =
                |[above, below, made]: [f64; 3]| (2.0 * (here - below) / made, 2.0 * (above - here) / made);
            let near = both(h)?;
            let quotient_of = |[above, below, made]: [f64; 3]| (above - below) / made;
            let (mut quotient, mut slopes) = (quotient_of(near), sides(near));
            let derivative = lists[list][entry];
            let mut error = (quotient - derivative).abs() / scale;
            if error > check.tolerance {
                let (double, fourfold) = (both(2.0 * h)?, both(4.0 * h)?);
                let straight = |steps, wider| (4.0 * quotient_of(steps) - quotient_of(wider)) / 3.0;
                let (near, far) = (straight(near, double), straight(double, fourfold));
                // A side whose wider step leaves the domain has no slope, rather than one that bends towards infinity like a kink.
                slopes = sides(double);
                // More than that is not rounding. Where the wider steps leave the function's domain they tell nothing.
                let rounding = (near - far).abs().min(10.0 * check.tolerance * scale);
                if far.is_finite() {
                    quotient = far;
                    error = ((far - derivative).abs() - rounding).max(0.0) / scale;
                }
            }
            check.entries += 1;
            // A NaN is worse than any number.
            if error > check.differences || error.is_nan() {
                check.differences = if error.is_nan() { f64::INFINITY } else { error };
                check.worst = (names.get(list).copied().unwrap_or(""), entry);
                check.values = (derivative, quotient);
                check.sides = slopes;
            }
        }
        Ok(check)
    }
}
