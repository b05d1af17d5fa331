//! Functions of `f64`: to the last digits, over their whole domains and outside of them. Shading languages have no such
//! functions, or wrong ones.
//!
//! Each row of a kernel's result is a function, held to so many units in the last place off the CPU's, since either is
//! off by some. NaN must be where the CPU has it. Results so small that they are subnormal count as zero: devices may
//! flush them.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Axis, array};

use super::agreement::{agree, is_skipped, noise, on, own_gpu};
use super::elementwise::sin_cos_tan;
use super::special::of_negative_numbers;

/// The distance in units in the last place.
fn units(a: f64, b: f64) -> u64 {
    let small = |x: f64| x.abs() < f64::MIN_POSITIVE;
    if a == b || (a.is_nan() && b.is_nan()) || (small(a) && small(b)) {
        return 0;
    }
    if a.is_nan() || b.is_nan() {
        return u64::MAX;
    }
    // The bits of positive floats count units up to infinity; negative ones count down from zero.
    let place = |x: f64| if x < 0.0 { -x.abs().to_bits().cast_signed() } else { x.to_bits().cast_signed() };
    place(a).abs_diff(place(b))
}

/// Fails unless row k of what was found is near that of what was expected, for a table of functions and how many units
/// they may be off. `at` names the arguments of a column.
#[track_caller]
fn assert_units<const N: usize>(
    found: &Array2<f64>,
    expected: &Array2<f64>,
    functions: [(&str, u64); N],
    at: impl Fn(usize) -> String,
) {
    assert_eq!(found.dim(), (N, expected.ncols()));
    for (((k, i), &found), &expected) in found.indexed_iter().zip(expected) {
        let (name, limit) = functions[k];
        let off = units(found, expected);
        assert!(
            off <= limit,
            "{name}({}) is {found:e} on the GPU, {expected:e} on the CPU: {off} units",
            at(i)
        );
    }
}

/// Zeros, numbers where formulas change, the greatest and the least, and what is no finite number.
const SPECIAL: [f64; 21] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.0,
    -3.0,
    -2.5,
    1024.0,
    -1e3,
    9_007_199_254_740_991.0,
    1e20,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    -f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Numbers in (-bound, bound), numbers of all magnitudes, numbers near 1, and special ones.
fn points(bound: f64) -> Array1<f64> {
    let even = doubles(1000, 1).map(|x| x * bound);
    let all = doubles(2000, 2).map(|x| (x * 1020.0).exp2()).zip([1.0, -1.0].into_iter().cycle());
    let near = doubles(200, 3).map(|x| 1.0 + x.powi(9));
    even.chain(all.map(|(x, sign)| x * sign)).chain(near).chain(SPECIAL).collect()
}

/// Numbers in (-1, 1) with all digits of an `f64`.
fn doubles(n: usize, seed: u32) -> impl Iterator<Item = f64> {
    noise(n, seed).into_iter().map(|x: f32| f64::from(x) * (1.0 - 1.0 / 3e7))
}

#[kernel]
fn exponentials(x: [f64; n]) -> [[f64; n]; 11] {
    build((11, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.exp(),
            1 => v.exp2(),
            2 => v.exp_m1(),
            3 => v.ln(),
            4 => v.ln_1p(),
            5 => v.log2(),
            6 => v.log10(),
            7 => v.sinh(),
            8 => v.cosh(),
            9 => v.tanh(),
            _ => v.sigmoid(),
        }
    })
}

#[kernel]
fn inverses_and_others(x: [f64; n]) -> [[f64; n]; 11] {
    build((11, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.asin(),
            1 => v.acos(),
            2 => v.atan(),
            3 => v.asinh(),
            4 => v.acosh(),
            5 => v.atanh(),
            6 => v.cbrt(),
            7 => v.erf(),
            8 => v.erfc(),
            9 => v.round(),
            _ => v.signum(),
        }
    })
}

#[test]
fn functions_of_one_number() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    for bound in [1.2, 30.0, 760.0] {
        let x = points(bound);
        let found: Array2<f64> = on(&gpu, exponentials, &(x.clone(),)).unwrap();
        let limits = [
            ("exp", 4),
            ("exp2", 4),
            ("exp_m1", 4),
            ("ln", 4),
            ("ln_1p", 4),
            ("log2", 4),
            ("log10", 4),
            ("sinh", 4),
            ("cosh", 4),
            ("tanh", 4),
            ("sigmoid", 4),
        ];
        assert_units(&found, &exponentials(&x), limits, |i| format!("{:e}", x[i]));
        let found: Array2<f64> = on(&gpu, inverses_and_others, &(x.clone(),)).unwrap();
        let limits = [
            ("asin", 4),
            ("acos", 4),
            ("atan", 4),
            ("asinh", 4),
            ("acosh", 4),
            ("atanh", 4),
            ("cbrt", 4),
            ("erf", 4),
            ("erfc", 6),
            ("round", 0),
            ("signum", 0),
        ];
        assert_units(&found, &inverses_and_others(&x), limits, |i| format!("{:e}", x[i]));
    }
}

#[kernel]
fn of_angles(x: [f64; n]) -> [[f64; n]; 3] {
    sin_cos_tan(x)
}

#[test]
fn functions_of_angles() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let limits = [("sin", 4), ("cos", 4), ("tan", 6)];
    for bound in [1.0, 10.0, 8e8, 1e12] {
        let x = points(bound);
        let found: Array2<f64> = on(&gpu, of_angles, &(x.clone(),)).unwrap();
        assert_units(&found, &of_angles(&x), limits, |i| format!("{:e}", x[i]));
    }
    // The numbers next to multiples of pi / 2 need all its digits.
    let x: Array1<f64> = (1..2000).map(|k| f64::from(k * k * 100) * std::f64::consts::FRAC_PI_2).collect();
    let found: Array2<f64> = on(&gpu, of_angles, &(x.clone(),)).unwrap();
    assert_units(&found, &of_angles(&x), limits, |i| format!("{:e}", x[i]));
    // So do these two, of all numbers the nearest to one.
    let x = array![5.319372648326541e255, -5.319372648326541e255];
    let found: Array2<f64> = on(&gpu, of_angles, &(x.clone(),)).unwrap();
    assert_units(&found, &of_angles(&x), limits, |i| format!("{:e}", x[i]));
}

#[kernel]
fn of_two_numbers(x: [f64; n], y: [f64; n]) -> [[f64; n]; 5] {
    build((5, n), |k, i| {
        let (a, b) = (x[i], y[i]);
        match k {
            0 => a.atan2(b),
            1 => a.hypot(b),
            2 => a.powf(b),
            3 => a % b,
            _ => a.rem_euclid(b),
        }
    })
}

#[test]
fn functions_of_two_numbers() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let limits = [("atan2", 4), ("hypot", 4), ("powf", 4), ("remainder", 0), ("rem_euclid", 0)];
    let agree_in_units = |x: Array1<f64>, y: Array1<f64>| {
        let found: Array2<f64> = on(&gpu, of_two_numbers, &(x.clone(), y.clone())).unwrap();
        assert_units(&found, &of_two_numbers(&x, &y), limits, |i| format!("{:e}, {:e}", x[i], y[i]));
    };
    let pairs = || SPECIAL.into_iter().flat_map(|a| SPECIAL.map(|b| (a, b)));
    agree_in_units(pairs().map(|(a, _)| a).collect(), pairs().map(|(_, b)| b).collect());
    let n = 2000;
    agree_in_units(
        doubles(n, 1).map(|x| (x * 10.0).exp2()).collect(),
        doubles(n, 2).map(|x| x * 90.0).collect(),
    );
    agree_in_units(
        doubles(n, 3).map(|x| (x * 1000.0).exp2()).collect(),
        doubles(n, 4).map(|x| x * 1.1).collect(),
    );
    agree_in_units(doubles(n, 5).map(|x| x * 1e3).collect(), doubles(n, 6).map(|x| x.powi(5)).collect());
    // Bases near 1 with great exponents need more digits of the logarithm than an `f64` has.
    agree_in_units(doubles(n, 7).map(|x| 1.0 + x * 1e-7).collect(), doubles(n, 8).map(|x| x * 5e9).collect());
}

#[kernel]
fn of_positive_numbers(x: [f64; n]) -> [[f64; n]; 5] {
    build((5, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.lgamma(),
            1 => v.digamma(),
            2 => polygamma(1.0, v),
            3 => polygamma(2.0, v),
            _ => polygamma(7.0, v + 1.0),
        }
    })
}

#[kernel]
fn lgammas(x: [f64; n]) -> [f64; n] {
    x.lgamma()
}

#[test]
fn gamma_functions() {
    if is_skipped() {
        return;
    }
    // Digamma and its derivatives are sums, accurate as far as their greatest terms.
    agree(of_positive_numbers, (doubles(1000, 1).map(|x| (x * 6.0).exp()).collect::<Array1<f64>>(),), 1e-14);
    agree(
        of_positive_numbers,
        (array![0.0, 1.0, 2.0, 1.461_632_144_968_362_3, 8.0, 12.0, 1e10, 1e300],),
        1e-14,
    );
    // Between the poles, and at some.
    let below = doubles(500, 2).map(|x| (10.0 * x).round() - 12.5 + 0.3 * x);
    let below: Array1<f64> = below.chain([-1.0, -0.0, -30.0]).collect();
    agree(of_negative_numbers.of::<f64>(), (below,), 1e-13);
    // The logarithm of the gamma function keeps its digits at its zeros 1 and 2.
    let near = doubles(500, 3).flat_map(|x| [1.0 + 0.4 * x.powi(9), 2.0 + 0.4 * x.powi(9), 4.0 + 3.9 * x]);
    let x: Array1<f64> = near.collect();
    let found: Array1<f64> = on(&own_gpu(), lgammas, &(x.clone(),)).unwrap();
    let row = |values: Array1<f64>| values.insert_axis(Axis(0));
    assert_units(&row(found), &row(lgammas(&x)), [("lgamma", 8)], |i| format!("{:e}", x[i]));
}
