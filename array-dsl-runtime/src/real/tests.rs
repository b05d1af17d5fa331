use super::Real;

/// Units in the last place. `std`'s `f64` functions are exact references for `f32`; as references for `f64` they are off
/// by up to a unit themselves.
const LIMIT: f64 = 2.5;
const LIMIT_LONG: f64 = 3.0;

/// The distance between results in units in the last place of `f64`; special values must be the same, signs of zeros included.
fn ulps64(found: f64, expected: f64) -> f64 {
    if !expected.is_finite() || expected == 0.0 || !found.is_finite() {
        let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        return if same { 0.0 } else { f64::INFINITY };
    }
    let unit = f64::from_bits(expected.abs().to_bits() + 1) - expected.abs();
    (found - expected).abs() / unit
}

/// The same for `f32`, the expected value not yet rounded.
fn ulps32(found: f32, expected: f64) -> f64 {
    let rounded = expected as f32;
    if !rounded.is_finite() || rounded == 0.0 || !found.is_finite() {
        let same = found.to_bits() == rounded.to_bits() || (found.is_nan() && rounded.is_nan());
        return if same { 0.0 } else { f64::INFINITY };
    }
    let unit = f64::from(f32::from_bits(rounded.abs().to_bits() + 1)) - f64::from(rounded.abs());
    (f64::from(found) - expected).abs() / unit
}

/// Points of `lo..hi`, evenly spread, and as many spread over all magnitudes up to the bounds.
fn samples(lo: f64, hi: f64) -> impl Iterator<Item = f64> {
    const COUNT: i32 = 40_000;
    (0..=COUNT).flat_map(move |i| {
        // An irrational step avoids points that are special in binary.
        let t = (f64::from(i) * 0.618_033_988_749_894_9).fract();
        let bound = if i % 2 == 0 { lo } else { hi };
        [lo + (hi - lo) * t, bound * (-40.0 * t).exp()]
    })
}

const SPECIAL: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.0,
    -3.0,
    1e-320,
    -1e-320,
    1e-45,
    -1e-45,
    1e-30,
    -1e-30,
    1e30,
    -1e30,
    1e300,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn sigmoid(x: f64) -> f64 {
    // For negative x the other form does not overflow.
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

macro_rules! accuracy {
    ($($test:ident $name:ident $reference:expr, $limit:expr, f64 $lo64:expr, $hi64:expr, f32 $lo32:expr, $hi32:expr;)*) => {
        $(
            #[test]
            fn $test() {
                let reference: fn(f64) -> f64 = $reference;
                for x in samples($lo64, $hi64).chain(SPECIAL) {
                    let found = <f64 as Real>::$name(x);
                    let off = ulps64(found, reference(x));
                    assert!(off <= $limit, "{}({x:e}): {found:e}, {off} units off", stringify!($name));
                }
                for x in samples($lo32, $hi32).chain(SPECIAL) {
                    let x = x as f32;
                    let found = <f32 as Real>::$name(x);
                    let off = ulps32(found, reference(f64::from(x)));
                    assert!(off <= $limit, "{}({x:e}f32): {found:e}, {off} units off", stringify!($name));
                }
            }
        )*
    };
}

accuracy! {
    exponential exp f64::exp, LIMIT, f64 -750.0, 712.0, f32 -105.0, 91.0;
    exponential_of_2 exp2 f64::exp2, LIMIT, f64 -1080.0, 1030.0, f32 -155.0, 130.0;
    exponential_less_1 exp_m1 f64::exp_m1, LIMIT, f64 -50.0, 712.0, f32 -30.0, 91.0;
    logarithm ln f64::ln, LIMIT, f64 -1.0, 1e308, f32 -1.0, 3e38;
    logarithm_near_1 ln f64::ln, LIMIT, f64 0.5, 2.0, f32 0.5, 2.0;
    logarithm_of_more_than_1 ln_1p f64::ln_1p, LIMIT, f64 -1.0, 10.0, f32 -1.0, 10.0;
    logarithm_of_much_more_than_1 ln_1p f64::ln_1p, LIMIT, f64 -2.0, 1e308, f32 -2.0, 3e38;
    logarithm_to_2 log2 f64::log2, LIMIT, f64 0.0, 1e308, f32 0.0, 3e38;
    logarithm_to_2_near_1 log2 f64::log2, LIMIT, f64 0.5, 2.0, f32 0.5, 2.0;
    logarithm_to_10 log10 f64::log10, LIMIT, f64 0.0, 1e308, f32 0.0, 3e38;
    logarithm_to_10_near_1 log10 f64::log10, LIMIT, f64 0.5, 2.0, f32 0.5, 2.0;
    sine sin f64::sin, LIMIT, f64 -10.0, 10.0, f32 -10.0, 10.0;
    sine_of_long_angles sin f64::sin, LIMIT, f64 -8e8, 8e8, f32 -2.5e7, 2.5e7;
    cosine cos f64::cos, LIMIT, f64 -10.0, 10.0, f32 -10.0, 10.0;
    cosine_of_long_angles cos f64::cos, LIMIT, f64 -8e8, 8e8, f32 -2.5e7, 2.5e7;
    tangent tan f64::tan, LIMIT_LONG, f64 -10.0, 10.0, f32 -10.0, 10.0;
    tangent_of_long_angles tan f64::tan, LIMIT_LONG, f64 -8e8, 8e8, f32 -2.5e7, 2.5e7;
    hyperbolic_sine sinh f64::sinh, LIMIT_LONG, f64 -711.0, 711.0, f32 -90.0, 90.0;
    hyperbolic_cosine cosh f64::cosh, LIMIT_LONG, f64 -711.0, 711.0, f32 -90.0, 90.0;
    hyperbolic_tangent tanh f64::tanh, LIMIT_LONG, f64 -25.0, 25.0, f32 -12.0, 12.0;
    logistic sigmoid sigmoid, LIMIT_LONG, f64 -740.0, 40.0, f32 -102.0, 20.0;
    logistic_near_0 sigmoid sigmoid, LIMIT_LONG, f64 -3.0, 3.0, f32 -3.0, 3.0;
}

#[test]
fn every_power_of_2_has_an_exact_logarithm() {
    for k in -1074..1024 {
        let x = f64::from(k).exp2();
        assert_eq!(<f64 as Real>::log2(x), f64::from(k));
        assert_eq!(<f64 as Real>::exp2(f64::from(k)), x);
    }
    for k in -149..128 {
        assert_eq!(<f32 as Real>::log2((k as f32).exp2()), k as f32);
    }
}

#[test]
fn powers() {
    let cases: Vec<(f64, f64)> = samples(1e-3, 1e3).zip(samples(-90.0, 90.0)).collect();
    for (x, y) in cases {
        let off = ulps64(<f64 as Real>::powf(x, y), x.powf(y));
        assert!(off <= LIMIT_LONG, "{x:e}^{y:e}: {off} units off");
        let (x, y) = (x as f32, y as f32);
        let off = ulps32(<f32 as Real>::powf(x, y), f64::from(x).powf(f64::from(y)));
        assert!(off <= LIMIT_LONG, "{x:e}f32^{y:e}: {off} units off");
    }
    // Bases near 1 with great exponents need the logarithm's extra bits.
    for (d, y) in samples(1e-9, 1e-7).zip(samples(-1e9, 1e9)) {
        let off = ulps64(<f64 as Real>::powf(1.0 + d, y), (1.0 + d).powf(y));
        assert!(off <= LIMIT_LONG, "(1 + {d:e})^{y:e}: {off} units off");
    }
}

#[test]
fn powers_of_and_by_special_values() {
    let more =
        [4.0, -4.0, 9_007_199_254_740_991.0, 9_007_199_254_740_992.0, 4_503_599_627_370_497.5, 1e20, -1e20];
    for x in SPECIAL.into_iter().chain(more) {
        for y in SPECIAL.into_iter().chain(more) {
            let found = <f64 as Real>::powf(x, y);
            assert!(ulps64(found, x.powf(y)) <= LIMIT_LONG, "{x:e}^{y:e}: {found:e} for {:e}", x.powf(y));
            let (x, y) = (x as f32, y as f32);
            let found = <f32 as Real>::powf(x, y);
            let expected = f64::from(x).powf(f64::from(y));
            assert!(ulps32(found, expected) <= LIMIT_LONG, "{x:e}f32^{y:e}: {found:e} for {expected:e}");
        }
    }
}

/// Values to 20 digits, computed with arithmetic of 1400 bits (mpmath 1.3): angles of all magnitudes, the number that is nearest
/// to a multiple of pi / 2, and the numbers nearest to some such multiples.
#[test]
fn angles_of_every_length() {
    for row in include_str!("angles.csv").lines().skip(1) {
        let (of, numbers) = row.split_once(',').expect("a type");
        let numbers: Vec<f64> = numbers.split(',').map(|n| n.parse().expect("a number")).collect();
        let [x, sin, cos, tan] = numbers[..] else { panic!("{row}") };
        let offs = match of {
            "f64" => [
                ulps64(<f64 as Real>::sin(x), sin),
                ulps64(<f64 as Real>::cos(x), cos),
                ulps64(<f64 as Real>::tan(x), tan),
            ],
            _ => [
                ulps32(<f32 as Real>::sin(x as f32), sin),
                ulps32(<f32 as Real>::cos(x as f32), cos),
                ulps32(<f32 as Real>::tan(x as f32), tan),
            ],
        };
        let limit = if of == "f64" { 2.0 } else { LIMIT_LONG };
        assert!(offs[0] <= 2.0 && offs[1] <= 2.0 && offs[2] <= limit, "{of} {x:e}: {offs:?} units off");
    }
}

#[test]
fn angles_in_regions_are_right_or_recorded() {
    for x in SPECIAL.into_iter().chain([7.9e8, -8.1e8, 1e22]) {
        let mut long = false;
        let found = super::sin::<false, f64>(x, &mut long);
        assert_eq!(long, x.abs() > 8e8, "{x:e}");
        assert!(long || ulps64(found, <f64 as Real>::sin(x)) == 0.0, "{x:e}");
        let right = super::cos::<true, f64>(x, &mut false);
        assert_eq!(right.to_bits(), <f64 as Real>::cos(x).to_bits(), "{x:e}");
    }
}

#[test]
fn integer_powers() {
    let x = 1.1f64;
    for i in -40..40i32 {
        let (found, expected) = (Real::powi(x, i), x.powi(i));
        assert!((found - expected).abs() <= 1e-14 * expected, "{x}^{i}");
        assert_eq!(Real::powi(x, i64::from(i)), found);
        let slope = f64::from(i) * x.powi(i - 1);
        assert!((Real::powi_slope(x, i) - slope).abs() <= 1e-14 * slope.abs());
    }
    assert_eq!(Real::powi(2f32, 10u32), 1024.0);
    assert_eq!(Real::powi(0f64, 0i64), 1.0);
    assert_eq!(Real::powi_slope(0f64, 0i64), 0.0);
    assert_eq!(Real::powi_slope(f64::NAN, 0i64), 0.0);
    assert_eq!(Real::powi_slope(0f64, 1i64), 1.0);
    assert_eq!(Real::powi_slope(3f64, -1i64), -1.0 / 9.0);
    assert_eq!(Real::powi(1f64, i64::MIN), 1.0);
}

#[test]
fn extrema_and_signs() {
    assert_eq!(<f64 as Real>::min(f64::NAN, 2.0), 2.0);
    assert_eq!(<f64 as Real>::max(2.0, f64::NAN), 2.0);
    assert_eq!(<f32 as Real>::max(1.0, 2.0), 2.0);
    assert_eq!([-3.0, 0.0, 4.0].map(<f64 as Real>::signum0), [-1.0, 0.0, 1.0]);
    assert!(<f32 as Real>::signum0(f32::NAN).is_nan());
    assert_eq!([0.0, -0.0, 2.0].map(|x| <f64 as Real>::scale(x, 3.0)), [0.0, 0.0, 6.0]);
    assert_eq!(<f32 as Real>::scale(0.0, f32::INFINITY), 0.0);
    assert!(<f32 as Real>::scale(1.0, f32::NAN).is_nan());
}

/// Values to 17 digits, computed with arithmetic of 40.
/// Values to 20 digits, computed with arithmetic of 40, where they are shared with the compiler's interpreter.
#[test]
fn special_functions() {
    for row in include_str!("special.csv").lines().skip(1) {
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
    // Small values keep their digits, in both types.
    assert!(ulps64(<f64 as Real>::erfc(6.0), 2.1519736712498913e-17) <= LIMIT);
    assert!(ulps32(<f32 as Real>::erfc(6.0), 2.1519736712498913e-17) <= LIMIT);
    assert!(ulps64(<f64 as Real>::erf(1e-20), 1.1283791670955126e-20) <= LIMIT);
    // asinh, acosh and atanh where their arguments nearly cancel.
    assert!(ulps64(<f64 as Real>::asinh(-1e-9), -1e-9) <= LIMIT);
    assert!(ulps32(<f32 as Real>::acosh(1.0 + f32::EPSILON), 4.882_812_451_493_617e-4) <= LIMIT);
    assert!([0.5, -1.0, -6e7, f64::NEG_INFINITY].iter().all(|x| <f64 as Real>::acosh(*x).is_nan()));
    assert!(ulps32(<f32 as Real>::atanh(-1.0 + f32::EPSILON / 2.0), -8.664_339_742_098_155) <= LIMIT);
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
