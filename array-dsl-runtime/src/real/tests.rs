use super::Real;

mod special;

/// Units in the last place. `std`'s `f64` functions are exact references for `f32`; as references for `f64` they are off
/// by up to a unit themselves.
const LIMIT: f64 = 2.5;
const LIMIT_LONG: f64 = 3.0;
/// With a reference that is itself off by more than a unit: some of `libm`'s.
const LIMIT_ROUGH: f64 = 4.5;

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

/// `libm`'s has values for lesser arguments.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The second limit is that of `f32`, if it is another.
macro_rules! accuracy {
    ($(
        $test:ident $name:ident $reference:expr, $limit:expr, $($limit32:literal,)?
        f64 $lo64:expr, $hi64:expr, f32 $lo32:expr, $hi32:expr;
    )*) => {
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
                    let [.., limit] = [$limit $(, $limit32)?];
                    assert!(off <= limit, "{}({x:e}f32): {found:e}, {off} units off", stringify!($name));
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
    arc_sine asin f64::asin, LIMIT, 1.25, f64 -1.0, 1.0, f32 -1.0, 1.0;
    arc_cosine acos f64::acos, LIMIT, 1.25, f64 -1.0, 1.0, f32 -1.0, 1.0;
    arc_cosine_near_1 acos f64::acos, LIMIT, 1.25, f64 0.99, 1.001, f32 0.99, 1.001;
    arc_tangent atan f64::atan, LIMIT, 1.0, f64 -4.0, 4.0, f32 -4.0, 4.0;
    arc_tangent_of_much atan f64::atan, LIMIT, 1.0, f64 -1e300, 1e300, f32 -1e38, 1e38;
    inverse_hyperbolic_sine asinh libm::asinh, LIMIT_ROUGH, 1.3, f64 -5.0, 5.0, f32 -5.0, 5.0;
    inverse_hyperbolic_sine_of_much asinh libm::asinh, LIMIT_ROUGH, 1.3, f64 -1e300, 1e300, f32 -1e38, 1e38;
    inverse_hyperbolic_cosine acosh acosh, LIMIT_ROUGH, 2.25, f64 0.9, 5.0, f32 0.9, 5.0;
    inverse_hyperbolic_cosine_near_1 acosh acosh, LIMIT_ROUGH, 2.25, f64 0.99, 1.1, f32 0.99, 1.1;
    inverse_hyperbolic_cosine_of_much acosh acosh, LIMIT_ROUGH, 2.25, f64 1.0, 1e300, f32 1.0, 1e38;
    inverse_hyperbolic_tangent atanh libm::atanh, LIMIT_ROUGH, 1.4, f64 -1.01, 1.01, f32 -1.01, 1.01;
    error_function erf libm::erf, LIMIT, 1.6, f64 -2.0, 2.0, f32 -2.0, 2.0;
    error_function_far_out erf libm::erf, LIMIT, 1.6, f64 -7.0, 7.0, f32 -7.0, 7.0;
    complement_of_error_function erfc libm::erfc, LIMIT_ROUGH, 2.1, f64 -7.0, 3.0, f32 -7.0, 3.0;
    complement_of_error_function_far_out erfc libm::erfc, LIMIT_ROUGH, 2.1, f64 0.5, 27.5, f32 0.5, 10.5;
    cube_root cbrt f64::cbrt, LIMIT, 0.65, f64 -10.0, 10.0, f32 -10.0, 10.0;
    cube_root_of_much cbrt f64::cbrt, LIMIT, 0.65, f64 -1e308, 1e308, f32 -3e38, 3e38;
}

/// Values to 20 digits, computed with arithmetic of 400 bits (mpmath 1.3): arguments at the ends of intervals, near zeros, in tails, tiny
/// and huge ones, results that are subnormal, and those for which errors were found to be great.
#[test]
fn where_it_is_hard() {
    for row in include_str!("hard.csv").lines().skip(1) {
        let parts: Vec<&str> = row.split(',').collect();
        let [of, name, x, y, value] = parts[..] else { panic!("{row}") };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let (x, value) = (number(x), number(value));
        let y = if y.is_empty() { 0.0 } else { number(y) };
        macro_rules! found {
            ($type:ident) => {{
                let (x, y) = (x as $type, y as $type);
                match name {
                    "asin" => <$type as Real>::asin(x),
                    "acos" => <$type as Real>::acos(x),
                    "atan" => <$type as Real>::atan(x),
                    "asinh" => <$type as Real>::asinh(x),
                    "acosh" => <$type as Real>::acosh(x),
                    "atanh" => <$type as Real>::atanh(x),
                    "erf" => <$type as Real>::erf(x),
                    "erfc" => <$type as Real>::erfc(x),
                    "cbrt" => <$type as Real>::cbrt(x),
                    "atan2" => <$type as Real>::atan2(x, y),
                    "hypot" => <$type as Real>::hypot(x, y),
                    name => panic!("{name}"),
                }
            }};
        }
        let off = if of == "f64" { ulps64(found!(f64), value) } else { ulps32(found!(f32), value) };
        // An `f64` is compared with a rounded value, so the distance is a whole number.
        let limit = match (of, name) {
            (_, "acosh" | "erfc") => 2.2,
            ("f64", _) => 1.0,
            _ => 1.6,
        };
        assert!(off <= limit, "{of} {name}({x:e}, {y:e}): {off} units off");
    }
}

fn assert_two_arguments(x: f64, y: f64) {
    let found = [<f64 as Real>::atan2(x, y), <f64 as Real>::hypot(x, y)];
    let offs = [ulps64(found[0], x.atan2(y)), ulps64(found[1], x.hypot(y))];
    assert!(offs.iter().all(|off| *off <= LIMIT), "{x:e}, {y:e}: {found:?}, {offs:?} units off");
    let (x, y) = (x as f32, y as f32);
    let found = [<f32 as Real>::atan2(x, y), <f32 as Real>::hypot(x, y)];
    let (p, q) = (f64::from(x), f64::from(y));
    let offs = [ulps32(found[0], p.atan2(q)), ulps32(found[1], p.hypot(q))];
    assert!(offs[0] <= 1.6 && offs[1] <= 1.25, "{x:e}f32, {y:e}f32: {found:?}, {offs:?} units off");
}

#[test]
fn angles_and_lengths_of_vectors() {
    for (x, y) in samples(-1.0, 1.0).zip(samples(-2.0, 1.0).skip(7)) {
        assert_two_arguments(x, y);
        assert_two_arguments(1e300 * x, 1e300 * y);
        assert_two_arguments(1e-37 * x, 1e-37 * y);
        assert_two_arguments(1e-300 * x, 1e-300 * y);
    }
}

#[test]
fn angles_and_lengths_of_special_vectors() {
    for x in SPECIAL {
        for y in SPECIAL {
            assert_two_arguments(x, y);
        }
    }
}

#[test]
fn lengths_and_roots_are_exact_where_they_can_be() {
    for i in 1..200_i32 {
        let x = f64::from(i);
        assert_eq!(<f64 as Real>::cbrt(x * x * x), x);
        assert_eq!(<f32 as Real>::cbrt((x * x * x) as f32), x as f32);
        assert_eq!(<f64 as Real>::hypot(3.0 * x, -4.0 * x), 5.0 * x);
        assert_eq!(<f64 as Real>::hypot(x.sqrt(), 0.0), x.sqrt());
        assert_eq!(<f32 as Real>::hypot(0.0, (x as f32).sqrt()), (x as f32).sqrt());
    }
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
