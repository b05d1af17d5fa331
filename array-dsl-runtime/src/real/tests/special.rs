//! The error function, and the logarithm of the gamma function and its derivatives.

use super::super::Real;
use super::samples;

/// Values to 20 digits, computed with arithmetic of 40, where they are shared with the compiler's interpreter.
#[test]
fn special_functions() {
    for row in include_str!("../special.csv").lines().skip(1) {
        let mut parts = row.split(',');
        let (name, mut number) =
            (parts.next().expect("a name"), || parts.next().expect("two").parse::<f64>());
        let (x, y) = (number().expect("a number"), number().expect("a number"));
        let found = match name {
            "erf" => <f64 as Real>::erf(x),
            "erfc" => <f64 as Real>::erfc(x),
            "lgamma" => <f64 as Real>::lgamma(x),
            "digamma" => <f64 as Real>::digamma(x),
            name => {
                let n = name.strip_prefix("polygamma").and_then(|n| n.parse().ok());
                <f64 as Real>::polygamma(n.expect("an order"), x)
            }
        };
        assert!((found - y).abs() <= 5e-15 * (1.0 + y.abs()), "{name}({x}) = {found:e}, not {y:e}");
    }
}

#[test]
fn special_functions_satisfy_their_equations() {
    let (g, d) = (<f64 as Real>::lgamma, <f64 as Real>::digamma);
    let close = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-13 * (1.0 + scale.abs());
    for x in samples(0.01, 30.0).step_by(16) {
        assert!(close(g(x + 1.0), g(x) + x.ln(), g(x)), "lgamma {x}");
        assert!(close(d(x + 1.0), d(x) + 1.0 / x, 1.0 / x), "digamma {x}");
        // The same below zero, as far as the distance from a pole is more than rounding.
        let below = -0.3 - x;
        let off = (below - below.round()).abs();
        for n in 1..6 {
            let p = |x| <f64 as Real>::polygamma(f64::from(n), x);
            let step = |x: f64| (1..=n).map(f64::from).product::<f64>() * (-1f64).powi(n) * x.powi(-n - 1);
            assert!(close(p(x + 1.0), p(x) + step(x), step(x)), "polygamma {n} {x}");
            let (found, expected) = (p(below + 1.0), p(below) + step(below));
            assert!(close(found, expected, p(below) / off.min(0.01)), "polygamma {n} {below}");
        }
    }
}

#[test]
fn special_functions_at_their_poles() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    for (found, expected) in [
        (<f64 as Real>::lgamma(0.0), inf),
        (<f64 as Real>::lgamma(-3.0), inf),
        (<f64 as Real>::lgamma(inf), inf),
        (<f64 as Real>::lgamma(1.0), 0.0),
        (<f64 as Real>::digamma(0.0), -inf),
        (<f64 as Real>::digamma(-0.0), inf),
        (<f64 as Real>::digamma(-3.0), nan),
        (<f64 as Real>::digamma(inf), inf),
        (<f64 as Real>::digamma(-inf), nan),
        (<f64 as Real>::polygamma(1.0, 0.0), inf),
        (<f64 as Real>::polygamma(2.0, 0.0), -inf),
        (<f64 as Real>::polygamma(1.0, -2.0), inf),
        (<f64 as Real>::polygamma(2.0, -2.0), nan),
        (<f64 as Real>::polygamma(1.0, inf), 0.0),
        (<f64 as Real>::polygamma(0.5, 1.0), nan),
        (<f64 as Real>::polygamma(-1.0, 1.0), nan),
        (<f64 as Real>::polygamma(1.0, nan), nan),
        (<f64 as Real>::erf(inf), 1.0),
        (<f64 as Real>::erfc(-inf), 2.0),
        (<f64 as Real>::erf(nan), nan),
    ] {
        assert!(same(found, expected), "{found} instead of {expected}");
    }
}
