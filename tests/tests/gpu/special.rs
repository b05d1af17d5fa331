//! Functions that no shading language has: the error function, the gamma function's, inverse hyperbolic ones.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Axis, array};

use super::agreement::{agree, assert_digits, is_skipped, noise, on, own_gpu};

#[kernel]
fn of_any_number(x: [f32; n]) -> [[f32; n]; 4] {
    build((4, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.erf(),
            1 => v.erfc(),
            2 => v.asinh(),
            _ => v.copysign(-2.0) + v.fract(),
        }
    })
}

#[kernel]
fn of_positive_numbers(x: [f32; n]) -> [[f32; n]; 5] {
    build((5, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.lgamma(),
            1 => v.digamma(),
            2 => polygamma(1.0, v + 0.5),
            3 => polygamma(3.0, v + 0.5),
            _ => (v + 1.5).acosh(),
        }
    })
}

#[kernel(f32, f64)]
pub fn of_negative_numbers<T: Float>(x: [T; n]) -> [[T; n]; 4] {
    build((4, n), |k, i| {
        let v = x[i];
        match k {
            0 => v.lgamma(),
            1 => v.digamma(),
            2 => polygamma(1.0, v),
            _ => polygamma(2.0, v),
        }
    })
}

#[kernel]
fn of_small_numbers(x: [f32; n]) -> [f32; n] {
    x.atanh()
}

#[kernel]
fn of_large_numbers(x: [f32; n]) -> [f32; n] {
    x.acosh()
}

#[test]
fn values_and_derivatives() {
    let (n, tangent) = (500, noise(500, 2));
    let any = noise(n, 1) * 5.0;
    agree(of_any_number, (any.clone(),), 1e-5);
    agree(jvp(of_any_number), (any.clone(), tangent.clone()), 4e-5);
    agree(vjp(of_any_number), (any, noise((4, n), 3)), 1e-4);
    let positive = (noise(n, 4) * 4.0).exp();
    agree(of_positive_numbers, (positive.clone(),), 4e-5);
    agree(jvp(of_positive_numbers), (positive.clone() + 0.2, tangent.clone()), 1e-4);
    agree(vjp(of_positive_numbers), (positive + 0.2, noise((5, n), 5)), 1e-4);
    // Between the poles.
    let negative = noise(n, 6).mapv(|x| (10.0 * x).round() - 12.5 + 0.2 * x);
    let f = of_negative_numbers.of::<f32>();
    agree(f, (negative.clone(),), 1e-4);
    agree(jvp(f), (negative, tangent.clone()), 4e-4);
    let small = noise(n, 7) * 0.99;
    agree(of_small_numbers, (small.clone(),), 1e-5);
    agree(jvp(of_small_numbers), (small, tangent), 4e-5);
}

#[test]
fn near_their_special_points() {
    agree(
        of_any_number,
        (array![0.0, -0.0, 1e-6, -1e-3, 0.999_999, 1.000_001, -1.0, 9.0, -11.0, 30.0],),
        1e-5,
    );
    agree(
        of_positive_numbers,
        (array![1e-6, 0.5, 1.0, 1.461_632_1, 1.5, 2.0, 2.5, 7.999_999, 8.0, 1e6],),
        1e-5,
    );
    agree(of_large_numbers, (array![1.0, 1.000_001, 1.5, 1e9, 1e20],), 1e-5);
    agree(of_small_numbers, (array![0.0, 1e-6, -1e-3, 0.5, -0.999_999],), 1e-5);
    if is_skipped() {
        return;
    }
    // What is small there is not lost beside what is not.
    let gpu = own_gpu();
    let x = array![0.0, 1e-6, -1e-6, 1e-4, -1e-3];
    let found: Array2<f32> = on(&gpu, of_any_number, &(x.clone(),)).unwrap();
    assert_digits(&found, &of_any_number(&x), &[(0, "erf"), (2, "asinh")], &x);
    let found: Array1<f32> = on(&gpu, of_small_numbers, &(x.clone(),)).unwrap();
    let row = |values: Array1<f32>| values.insert_axis(Axis(0));
    assert_digits(&row(found), &row(of_small_numbers(&x)), &[(0, "atanh")], &x);
    // Farther in the tail the device's `exp` has fewer digits.
    let x = array![1.5, 3.0, 5.0];
    let found: Array2<f32> = on(&gpu, of_any_number, &(x.clone(),)).unwrap();
    assert_digits(&found, &of_any_number(&x), &[(1, "erfc")], &x);
}
