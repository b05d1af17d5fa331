//! One thread per element: arithmetic, every float function, broadcasting, branches, conversions, scalars and tuples.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array3, array, s};

use super::agreement::{
    Compare, LENGTHS, SHAPES, TOLERANCE, agree, assert_digits, is_skipped, noise, on, own_gpu,
};

#[kernel]
fn arithmetic(x: [f32; n], y: [f32; n]) -> [f32; n] {
    (x * y - 2.0 * x) / (y * y + 1.0) + (-x).abs() - max(x, y) * min(x, 0.5)
}

#[test]
fn arithmetic_of_all_lengths() {
    for n in LENGTHS {
        let (x, y, seed) = (noise(n, 1), noise(n, 2), noise(n, 3));
        agree(arithmetic, (x.clone(), y.clone()), TOLERANCE);
        agree(vjp(arithmetic), (x.clone(), y.clone(), seed.clone()), TOLERANCE);
        agree(jvp(arithmetic), (x, y, seed.clone(), seed), TOLERANCE);
    }
}

// One row of the result for each function, so that no function hides behind another.

#[kernel]
fn of_any_number(x: [f32; n]) -> [[f32; n]; 17] {
    build((17, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.exp(),
            1 => v.exp2(),
            2 => v.exp_m1(),
            3 => v.sin(),
            4 => v.cos(),
            5 => v.atan(),
            6 => v.sinh(),
            7 => v.cosh(),
            8 => v.tanh(),
            9 => v.sigmoid(),
            10 => v.cbrt(),
            11 => v.abs(),
            12 => v.signum(),
            13 => v.floor() + 10.0 * v.ceil(),
            14 => v.round() + 10.0 * v.trunc(),
            15 => v.powi(3) + v.powi(-2),
            _ => v.recip(),
        }
    })
}

#[kernel]
fn of_small_numbers(x: [f32; n]) -> [[f32; n]; 4] {
    build((4, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.asin(),
            1 => v.acos(),
            2 => v.tan(),
            _ => v.ln_1p(),
        }
    })
}

#[kernel]
pub fn sin_cos_tan<T: Float>(x: [T; n]) -> [[T; n]; 3] {
    build((3, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.sin(),
            1 => v.cos(),
            _ => v.tan(),
        }
    })
}

#[kernel]
fn of_angles(x: [f32; n]) -> [[f32; n]; 3] {
    sin_cos_tan(x)
}

/// Of every finite angle, to three units in the last place: those that drivers have are made for angles of at most pi.
#[test]
fn functions_of_angles() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let short = [1.0, 10.0, 300.0, 2e3, 4e3, 1e5].into_iter().flat_map(|bound| noise(1000, 1) * bound);
    let long =
        noise(4000, 2).into_iter().map(|v| (v * 125.0).exp2() * if v.fract() > 0.5 { -1.0 } else { 1.0 });
    // Next to multiples of pi / 2, where all digits of the angle count; and one of the nearest.
    let near = (1..3000).map(|k| (f64::from(k) * std::f64::consts::FRAC_PI_2) as f32);
    let special = [0.0, -0.0, 2e-4, -2e-4, 4000.5, -4000.5, f32::MAX, f32::MIN, 16_367_173.0 * 2f32.powi(72)];
    let x: Array1<f32> = short.chain(long).chain(near).chain(special).collect();
    let found: Array2<f32> = on(&gpu, of_angles, &(x.clone(),)).unwrap();
    for (i, &v) in x.iter().enumerate() {
        let wide = f64::from(v);
        for (k, expected) in [wide.sin(), wide.cos(), wide.tan()].into_iter().enumerate() {
            let off = (f64::from(found[[k, i]]) - expected).abs();
            assert!(
                off <= 3.6e-7 * expected.abs(),
                "function {k} of {v:e} is {:e}, not {expected:e}",
                found[[k, i]]
            );
        }
    }
    let outside = array![f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let found: Array2<f32> = on(&gpu, of_angles, &(outside,)).unwrap();
    assert!(found.iter().all(|v| v.is_nan()), "{found}");
}

#[kernel]
fn of_positive_numbers(x: [f32; n]) -> [[f32; n]; 6] {
    build((6, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.ln(),
            1 => v.log2(),
            2 => v.log10(),
            3 => v.sqrt(),
            4 => v.powf(1.7),
            _ => v.powf(-0.3),
        }
    })
}

#[kernel]
fn of_two_numbers(x: [f32; n], y: [f32; n]) -> [[f32; n]; 5] {
    build((5, n), |k, i| {
        let (a, b) = (x[i], y[i]);
        match k {
            0 => a.atan2(b),
            1 => a.hypot(b),
            2 => a.abs().powf(b),
            3 => a.min(b) + 2.0 * a.max(b),
            _ => a % b,
        }
    })
}

#[test]
fn every_float_function() {
    const FUNCTIONS: f64 = 4e-5;
    let n = 500;
    let (any, tangent) = (noise(n, 1) * 6.0, noise(n, 2));
    agree(of_any_number, (any.clone(),), FUNCTIONS);
    agree(jvp(of_any_number), (any.clone(), tangent.clone()), FUNCTIONS);
    agree(vjp(of_any_number), (any, noise((17, n), 3)), 1e-4);
    let small = noise(n, 4) * 0.99;
    agree(of_small_numbers, (small.clone(),), FUNCTIONS);
    agree(jvp(of_small_numbers), (small.clone(), tangent.clone()), FUNCTIONS);
    agree(vjp(of_small_numbers), (small, noise((4, n), 5)), 1e-4);
    let positive = (noise(n, 6) * 8.0).exp();
    agree(of_positive_numbers, (positive.clone(),), FUNCTIONS);
    agree(jvp(of_positive_numbers), (positive.clone(), tangent.clone()), FUNCTIONS);
    agree(vjp(of_positive_numbers), (positive, noise((6, n), 7)), 1e-4);
    let (a, b) = (noise(n, 8) * 3.0, noise(n, 9) * 3.0);
    agree(of_two_numbers, (a.clone(), b.clone()), FUNCTIONS);
    agree(jvp(of_two_numbers), (a, b, tangent.clone(), tangent), 1e-4);
}

#[test]
fn functions_near_their_special_points() {
    // Where a formula that is good elsewhere loses its digits or its sign.
    let points =
        array![0.0, -0.0, 1e-6, -1e-6, 1e-3, 0.999_999, 1.000_001, 1.0, -1.0, 20.0, -20.0, 88.0, -88.0];
    agree(of_any_number, (points.clone(),), 1e-5);
    agree(of_positive_numbers, (points.mapv(|x: f32| x.abs() + 1e-30),), 1e-5);
    let (a, b) =
        (array![0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 0.0, 3.0], array![1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 2.0]);
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    // The remainder of a division by zero is not among the things compared.
    let found: Array2<f32> = on(&gpu, of_two_numbers, &(a.clone(), b.clone())).unwrap();
    let (found, expected) = (found.slice_move(s![..4, ..]), of_two_numbers(&a, &b).slice_move(s![..4, ..]));
    assert_eq!(found.difference(&expected, 1e-6), None);
    // What is small there is not lost beside what is not.
    let x = array![0.0, 1e-6, -1e-6, 1e-4, -1e-3];
    let found: Array2<f32> = on(&gpu, of_any_number, &(x.clone(),)).unwrap();
    let functions = [(2, "exp_m1"), (3, "sin"), (5, "atan"), (6, "sinh"), (8, "tanh"), (10, "cbrt")];
    assert_digits(&found, &of_any_number(&x), &functions, &x);
    let found: Array2<f32> = on(&gpu, of_small_numbers, &(x.clone(),)).unwrap();
    assert_digits(&found, &of_small_numbers(&x), &[(0, "asin"), (2, "tan"), (3, "ln_1p")], &x);
    let x = array![-5.0, -20.0];
    let found: Array2<f32> = on(&gpu, of_any_number, &(x.clone(),)).unwrap();
    assert_digits(&found, &of_any_number(&x), &[(0, "exp"), (1, "exp2"), (9, "sigmoid")], &x);
}

#[kernel]
fn classified(x: [f32; n]) -> ([bool; n], [bool; n], [bool; n]) {
    (map(|v| v.is_nan(), x), map(|v| v.is_finite(), x), map(|v| v > 0.0 || v == f32::NEG_INFINITY, x))
}

#[kernel]
fn with_special_constants(x: [f32; n]) -> [f32; n] {
    map(
        |v| {
            if v > 1.0 {
                f32::INFINITY
            } else if v < -1.0 {
                f32::NEG_INFINITY
            } else {
                v * f32::EPSILON
            }
        },
        x,
    )
}

#[test]
fn infinities_and_nan() {
    let x = array![1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -2.5, 1e38];
    agree(classified, (x.clone(),), 0.0);
    agree(with_special_constants, (x.slice_move(s![2..]),), 0.0);
}

// Broadcasting.

#[kernel]
fn rows_shifted(a: [[f32; m]; n], b: [f32; m], c: f32) -> [[f32; m]; n] {
    (a + b) * c - b / 2.0
}

#[kernel]
fn cube(a: [[[f32; k]; m]; n], b: [[f32; k]; m], c: [f32; k]) -> [[[f32; k]; m]; n] {
    a * b + (c * b).sin()
}

#[kernel]
fn columns_shifted(a: [[f32; m]; n], b: [f32; n]) -> [[f32; m]; n] {
    build((n, m), |i, j| a[i][j] - b[i] * b[i])
}

#[test]
fn broadcasting() {
    for (n, m) in SHAPES {
        let (a, b, column, seed) = (noise((n, m), 1), noise(m, 2), noise(n, 3), noise((n, m), 4));
        agree(rows_shifted, (a.clone(), b.clone(), 1.5f32), TOLERANCE);
        agree(vjp(rows_shifted), (a.clone(), b.clone(), 1.5f32, seed.clone()), 1e-4);
        agree(jvp(rows_shifted), (a.clone(), b.clone(), 1.5f32, seed.clone(), b.clone(), -0.5f32), TOLERANCE);
        agree(columns_shifted, (a.clone(), column.clone()), TOLERANCE);
        agree(vjp(columns_shifted), (a, column, seed), 1e-4);
    }
    let (a, b, c): (Array3<f32>, Array2<f32>, Array1<f32>) =
        (noise((4, 9, 17), 1), noise((9, 17), 2), noise(17, 3));
    agree(cube, (a.clone(), b.clone(), c.clone()), TOLERANCE);
    agree(vjp(cube), (a, b, c, noise((4, 9, 17), 4)), TOLERANCE);
}

// Branches.

#[kernel]
fn branched(x: [f32; n]) -> [f32; n] {
    map(
        |v| {
            if v > 0.5 {
                v.ln()
            } else if v > 0.0 {
                let w = v * v;
                if w > 0.01 { w + 1.0 } else { -w }
            } else {
                0.0
            }
        },
        x,
    )
}

#[kernel]
fn by_kind(x: [f32; n], kind: [i32; n]) -> [f32; n] {
    map(
        |v, k| match k {
            0 => v,
            1 | 2 => v * v,
            _ => v.cos(),
        },
        x,
        kind,
    )
}

#[kernel]
fn chosen_by_host(x: [f32; n], flag: bool) -> [f32; n] {
    if flag { x * x } else { x.exp() }
}

#[test]
fn branches() {
    for n in LENGTHS {
        let (x, seed) = (noise(n, 5), noise(n, 6));
        agree(branched, (x.clone(),), TOLERANCE);
        agree(vjp(branched), (x.clone(), seed.clone()), TOLERANCE);
        agree(jvp(branched), (x.clone(), seed.clone()), TOLERANCE);
        let kind = Array1::from_shape_fn(n, |i| i as i32 % 4);
        agree(by_kind, (x.clone(), kind.clone()), TOLERANCE);
        agree(vjp(by_kind), (x.clone(), kind, seed.clone()), TOLERANCE);
        for flag in [true, false] {
            agree(chosen_by_host, (x.clone(), flag), TOLERANCE);
            agree(vjp(chosen_by_host), (x.clone(), flag, seed.clone()), TOLERANCE);
        }
    }
}

// Scalars and tuples on both sides.

#[kernel]
fn of_scalars(a: f32, b: f32, k: i32, flag: bool) -> (f32, i32, bool) {
    (if flag { a * b } else { a + k as f32 }, k * 2 - 1, flag && a < b)
}

#[kernel]
fn polynomial(c: f32, d: f32) -> f32 {
    c * c * d + d.sin()
}

#[kernel]
fn of_tuples(p: ([f32; n], [f32; n]), w: (f32, f32)) -> (([f32; n], [f32; n]), [bool; n]) {
    let (x, y) = p;
    let (a, b) = w;
    ((a * x + b * y, x * y), x > y)
}

#[kernel]
fn of_booleans(p: [bool; n], q: [bool; n]) -> ([bool; n], [f32; n]) {
    (map(|a, b| a && !b || a == b, p, q), map(|a, b| if a ^ b { 1.5 } else { 0.0 }, p, q))
}

#[test]
fn scalars_and_tuples() {
    for flag in [true, false] {
        agree(of_scalars, (1.5f32, 2.0f32, -7, flag), 0.0);
    }
    agree(value_and_grad(polynomial), (0.5f32, 2.0f32), TOLERANCE);
    agree(grad(polynomial), (0.5f32, 2.0f32), TOLERANCE);
    agree(jvp(polynomial), (0.5f32, 2.0f32, 1.0f32, -1.0f32), TOLERANCE);
    for n in LENGTHS {
        let (x, y) = (noise(n, 1), noise(n, 2));
        agree(of_tuples, ((x.clone(), y.clone()), (0.5f32, -2.0f32)), TOLERANCE);
        agree(vjp(of_tuples), ((x.clone(), y.clone()), (0.5f32, -2.0f32), noise(n, 3), noise(n, 4)), 1e-4);
        agree(of_booleans, (x.mapv(|v| v > 0.0), y.mapv(|v| v > 0.2)), 0.0);
    }
}

// More groups of 256 threads than fit in one dimension of a dispatch.

#[kernel]
fn affine(x: [f32; n]) -> [f32; n] {
    0.5 * x + 1.0
}

#[test]
fn more_elements_than_one_dimension_of_groups() {
    if is_skipped() {
        return;
    }
    let n = 65_535 * 256 + 300;
    let gpu = own_gpu();
    let x = gpu.upload(&Array1::from_shape_fn(n, |i| (i % 1_000_003) as f32)).unwrap();
    let y = gpu.run(affine, (&x,)).unwrap().download().unwrap();
    let expected = |i: usize| 0.5 * (i % 1_000_003) as f32 + 1.0;
    assert_eq!(y.len(), n);
    let wrong = y.iter().enumerate().find(|(i, v)| **v != expected(*i));
    assert_eq!(wrong, None);
    let (_, slope) = gpu.run(vjp(affine), (&x, &x)).unwrap();
    let slope = slope.download().unwrap();
    let wrong = slope.iter().enumerate().find(|(i, v)| **v != 0.5 * (i % 1_000_003) as f32);
    assert_eq!(wrong, None);
}
