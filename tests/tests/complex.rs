//! Complex numbers: against num-complex, and derivatives by JAX's convention.

use array_dsl::linalg::solve;
use array_dsl::prelude::*;
use ndarray::{Array, Array1, Array2, array, s};

type C = Complex<f64>;

fn c(re: f64, im: f64) -> C {
    Complex::new(re, im)
}

/// Numbers in all quadrants and on the axes, none at a point where some function is not defined.
fn numbers() -> Array1<C> {
    let parts = [-2.3, -0.8, -0.1, 0.0, 0.4, 1.7];
    let all = parts.iter().flat_map(|x| parts.iter().map(|y| c(*x, *y)));
    all.filter(|z| z.norm() > 0.0).collect()
}

#[track_caller]
fn near(found: &Array1<C>, expected: &Array1<C>) {
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).norm() <= 1e-13 * b.norm().max(1.0), "{i}: {a}, expected {b}");
    }
}

macro_rules! functions {
    ($($name:ident $method:ident $($arg:literal)?;)*) => {
        $(
            #[kernel]
            fn $name(z: [Complex<f64>; n]) -> [Complex<f64>; n] {
                map(|w| w.$method($($arg)?), z)
            }
        )*

        #[test]
        fn functions_are_those_of_num_complex() {
            $(
                // On the axes, where the inverse functions have their cuts, num-complex loses the sign of a zero, which says the side.
                let cut = stringify!($method).starts_with('a');
                let z: Array1<C> = numbers().into_iter().filter(|z| !cut || z.re * z.im != 0.0).collect();
                let expected = z.mapv(|z: C| z.$method($($arg)?));
                near(&$name(&z), &expected);
            )*
        }

        #[test]
        fn functions_have_derivatives() {
            // Off the branch cuts, where differences are none.
            let z: Array1<C> = numbers().into_iter().filter(|z| z.im != 0.0 && z.re != 0.0).collect();
            $(check_grad($name, (&z,)).unwrap().assert();)*
        }
    };
}

functions! {
    f_exp exp; f_ln ln; f_sqrt sqrt; f_cbrt cbrt; f_sin sin; f_cos cos; f_tan tan; f_asin asin; f_acos acos; f_atan atan;
    f_sinh sinh; f_cosh cosh; f_tanh tanh; f_asinh asinh; f_acosh acosh; f_atanh atanh; f_exp2 exp2; f_log2 log2; f_log10 log10;
    f_conj conj; f_inv inv; f_cube powi 3; f_inverse_square powi -2; f_one powi 0; f_fourth powu 4; f_recip finv; f_root powf 0.3; f_to expf 1.7;
}

#[kernel]
fn taken_apart(z: [Complex<f64>; n]) -> ([f64; n], [f64; n], [f64; n], [f64; n], [f64; n], [f64; n]) {
    (z.re, z.im, map(|w| w.norm(), z), map(|w| w.arg(), z), abs(z), map(|w| w.l1_norm(), z))
}

#[kernel]
fn arithmetic(
    a: [Complex<f64>; n],
    b: [Complex<f64>; n],
    t: f64,
) -> ([Complex<f64>; n], [Complex<f64>; n], [Complex<f64>; n], [Complex<f64>; n], [Complex<f64>; n]) {
    (a + b * t, a - t, a * b - 2.0 * a, a / b, t / b - b / t)
}

#[kernel]
fn powers(a: [Complex<f64>; n], w: Complex<f64>, k: i32) -> ([Complex<f64>; n], [Complex<f64>; n]) {
    (map(|z| z.powc(w), a), map(|z| z.powi(k), a))
}

#[test]
fn parts_and_arithmetic() {
    let z = numbers();
    let (re, im, norm, arg, length, l1) = taken_apart(&z);
    for (k, z) in z.iter().enumerate() {
        assert_eq!((re[k], im[k], norm[k]), (z.re, z.im, length[k]));
        assert!((norm[k] - z.norm()).abs() < 1e-14 && (arg[k] - z.arg()).abs() < 1e-14);
        assert_eq!(l1[k], z.l1_norm());
    }
    let w: Array1<C> = z.iter().rev().copied().collect();
    let (p, q, r, quotient, mixed) = arithmetic(&z, &w, 0.7);
    near(&p, &(&z + &w.mapv(|w| w * 0.7)));
    near(&q, &z.mapv(|z| z - 0.7));
    near(&r, &(&z * &w - z.mapv(|z| 2.0 * z)));
    near(&quotient, &(&z / &w));
    near(&mixed, &w.mapv(|w| 0.7 / w - w / 0.7));
    let (to_w, to_k) = powers(&z, c(0.5, -1.5), 5);
    near(&to_w, &z.mapv(|z| z.powc(c(0.5, -1.5))));
    near(&to_k, &z.mapv(|z| z.powi(5)));
    // Of numbers whose squares are not numbers any more.
    let (large, small) = (array![c(3e200, 4e200)], array![c(3e-200, -4e-200)]);
    let (.., quotient, _) = arithmetic(&large, &large.mapv(|z| z * c(0.0, 1.0)), 1.0);
    near(&quotient, &array![c(0.0, -1.0)]);
    let (.., quotient, _) = arithmetic(&small, &small, 1.0);
    near(&quotient, &array![c(1.0, 0.0)]);
}

#[kernel]
fn equal(a: [Complex<f32>; n], b: [Complex<f32>; n]) -> ([bool; n], [bool; n], bool) {
    (a == b, a != b, any(map(|z| z.is_nan(), a)))
}

#[test]
fn comparisons() {
    let of = |parts: [(f32, f32); 3]| Array1::from_iter(parts.map(|(re, im)| Complex::new(re, im)));
    let (same, other, nan) = equal(
        &of([(1.0, 2.0), (1.0, 2.0), (f32::NAN, 0.0)]),
        &of([(1.0, 2.0), (1.0, -2.0), (f32::NAN, 0.0)]),
    );
    assert_eq!((same, other, nan), (array![true, false, false], array![false, true, true], true));
}

#[kernel]
fn folded(
    z: [Complex<f64>; n],
) -> (Complex<f64>, Complex<f64>, Complex<f64>, [Complex<f64>; n], [Complex<f64>; n]) {
    (z.sum(), z.prod(), mean(z), z.cumsum(), z.cumprod())
}

#[kernel]
fn by_loops(z: [Complex<f64>; n]) -> (Complex<f64>, Complex<f64>, [Complex<f64>; n]) {
    let mut sum = Complex::new(0.0, 0.0);
    let mut product = Complex::ONE;
    let mut out = zeros(n);
    for i in 0..n {
        sum += z[i];
        product *= z[i];
        out[i] = product;
    }
    (sum, product, out)
}

#[kernel]
fn of_rows_and_columns(
    z: [[Complex<f64>; m]; n],
) -> ([Complex<f64>; n], [Complex<f64>; m], [Complex<f64>; n]) {
    (sum(z), reduce(add, zeros(m), z), prod(z))
}

#[test]
fn reductions() {
    let z = array![c(1.0, 2.0), c(-0.5, 0.25), c(0.3, 0.0), c(0.0, -1.5)];
    let prefix = |op: fn(C, C) -> C, start: C| -> Array1<C> {
        z.iter()
            .scan(start, |s, z| {
                *s = op(*s, *z);
                Some(*s)
            })
            .collect()
    };
    let (sums, products) = (prefix(|a, b| a + b, c(0.0, 0.0)), prefix(|a, b| a * b, c(1.0, 0.0)));
    let (sum, product, mean, cumsum, cumprod) = folded(&z);
    near(&array![sum, product, mean], &array![sums[3], products[3], sums[3] / 4.0]);
    near(&cumsum, &sums);
    near(&cumprod, &products);
    let (sum, product, all) = by_loops(&z);
    near(&array![sum, product], &array![sums[3], products[3]]);
    near(&all, &products);
    check_grad(folded, (&z,)).unwrap().assert();
    check_grad(by_loops, (&z,)).unwrap().assert();
    let nothing = Array1::<C>::zeros(0);
    let (sum, product, _, _, _) = folded(&nothing);
    assert_eq!((sum, product), (c(0.0, 0.0), c(1.0, 0.0)));
    let matrix = Array2::from_shape_fn((3, 2), |(i, j)| c(i as f64 + 0.5, j as f64));
    let (of_rows, of_columns, products) = of_rows_and_columns(&matrix);
    near(&of_rows, &matrix.sum_axis(ndarray::Axis(1)));
    near(&of_columns, &matrix.sum_axis(ndarray::Axis(0)));
    near(&products, &matrix.map_axis(ndarray::Axis(1), |r| r.iter().product()));
}

#[kernel]
fn multiplied(
    a: [[Complex<f64>; k]; n],
    b: [[Complex<f64>; m]; k],
    r: [[f64; m]; k],
) -> ([[Complex<f64>; m]; n], [[Complex<f64>; m]; n], [[Complex<f64>; m]; n], [Complex<f64>; n], Complex<f64>)
{
    let x = transpose(b)[0];
    (matmul(a, b), matmul(a, r), einsum!("ik,kj->ij", a, b), matvec(a, x), dot(x, x.map(|z| z.conj())))
}

#[test]
fn products_of_matrices() {
    let a = Array2::from_shape_fn((3, 4), |(i, j)| c(i as f64 - 1.0, 0.5 * j as f64));
    let b = Array2::from_shape_fn((4, 2), |(i, j)| c(0.3 * i as f64, j as f64 - 0.7));
    let r = b.mapv(|z| z.re);
    let (ab, ar, by_letters, ax, norm) = multiplied(&a, &b, &r);
    let flat = |m: Array2<C>| m.flatten().to_owned();
    near(&flat(ab.clone()), &flat(a.dot(&b)));
    near(&flat(by_letters), &flat(a.dot(&b)));
    near(&flat(ar), &flat(a.dot(&r.mapv(|x| c(x, 0.0)))));
    near(&ax, &a.dot(&b.column(0)));
    near(&array![norm], &array![b.column(0).iter().map(|z| c(z.norm_sqr(), 0.0)).sum()]);
    check_grad(multiplied, (&a, &b, &r)).unwrap().assert();
    // Of any layout.
    let (other, ..) = multiplied(&a.t().to_owned().t(), &b.slice(s![..;-1, ..]).slice(s![..;-1, ..]), &r);
    near(&flat(other), &flat(ab));
}

#[kernel]
fn moved(
    z: [Complex<f64>; n],
    at: [i64; n],
) -> ([Complex<f64>; n], [Complex<f64>; n], [Complex<f64>; 2], [Complex<f64>; n]) {
    let bins = hist(add, Complex::ZERO, 2, at.map(|i| i % 2), z);
    (reverse(gather(z, at)), scatter(z, at, 2.0 * z), bins, sort_by_key(map(|w| w.norm(), z), z))
}

#[test]
fn numbers_are_moved_and_collected() {
    let z = array![c(3.0, 1.0), c(1.0, 2.0), c(0.5, -0.5)];
    let (gathered, scattered, bins, sorted) = moved(&z, &array![2, 0, 1]);
    assert_eq!(gathered, array![z[1], z[0], z[2]]);
    assert_eq!(scattered, array![2.0 * z[1], 2.0 * z[2], 2.0 * z[0]]);
    assert_eq!(bins, array![z[0] + z[1], z[2]]);
    assert_eq!(sorted, array![z[2], z[1], z[0]]);
    check_grad(moved, (&z, &array![2, 0, 1])).unwrap().assert();
}

#[kernel]
fn escape(corner: Complex<f64>, step: f64, most: i64) -> [[i64; 9]; 7] {
    build((7, 9), |i, j| {
        let at = corner + step * Complex::new(j as f64, i as f64);
        let mut z = Complex::ZERO;
        let mut k = 0;
        while k < most && z.norm_sqr() <= 4.0 {
            z = z * z + at;
            k += 1;
        }
        k
    })
}

#[test]
fn loops_over_complex_numbers() {
    let found = escape(c(-2.0, -1.0), 0.33, 40);
    for ((i, j), k) in found.indexed_iter() {
        let (at, mut z, mut trips) = (c(-2.0, -1.0) + 0.33 * c(j as f64, i as f64), c(0.0, 0.0), 0);
        while trips < 40 && z.norm_sqr() <= 4.0 {
            z = z * z + at;
            trips += 1;
        }
        assert_eq!(*k, trips, "{i} {j}");
    }
}

#[kernel]
fn holomorphic(z: Complex<f64>) -> Complex<f64> {
    z.exp() * z + 1.0 / z
}

#[kernel(hvp)]
fn real_valued(z: Complex<f64>, w: Complex<f64>) -> f64 {
    (z * z * w).re + z.norm_sqr() * w.im
}

#[kernel]
fn inside(z: Complex<f64>) -> (Complex<f64>, Complex<f64>, Complex<f64>) {
    let square = |w| w * w;
    let away = |w| (square(w) - Complex::I).norm_sqr();
    (grad(away)(z), vjp(square)(z, Complex::I).1, jvp(square)(z, Complex::I).1)
}

/// What JAX 0.11 gives for the same functions, which are the derivatives by definition.
#[test]
fn derivatives_are_those_of_jax() {
    let z = c(0.3, -0.7);
    let slope = z.exp() * (z + 1.0) - 1.0 / (z * z);
    let close = |a: C, b: C| assert!((a - b).norm() < 1e-14 * b.norm().max(1.0), "{a}, expected {b}");
    // A holomorphic function's cotangent and tangent are both multiplied by its derivative.
    for direction in [c(1.0, 0.0), c(0.0, 1.0), c(0.4, -2.0)] {
        close(vjp(holomorphic)(z, direction).1, slope * direction);
        close(jvp(holomorphic)(z, direction).1, slope * direction);
    }
    // The gradient of a real function is that by the real part minus i times that by the imaginary part.
    let (z, w) = (c(0.3, -0.7), c(1.5, 0.25));
    let (by_z, by_w) = grad(real_valued)(z, w);
    close(by_z, 2.0 * z * w + 2.0 * z.conj() * w.im);
    close(by_w, z * z - c(0.0, z.norm_sqr()));
    let (dz, dw) = (c(0.2, 0.1), c(-0.3, 0.6));
    let (hz, hw) = hvp(real_valued)(z, w, dz, dw);
    close(hz, 2.0 * (dz * w + z * dw) + 2.0 * (dz.conj() * w.im + z.conj() * dw.im));
    close(hw, 2.0 * z * dz - c(0.0, 2.0 * (z.conj() * dz).re));
    // Inside a kernel likewise.
    let (away, pulled, pushed) = inside(z);
    close(away, 2.0 * (z * z - c(0.0, 1.0)).conj() * 2.0 * z);
    close(pulled, 2.0 * z * c(0.0, 1.0));
    close(pushed, 2.0 * z * c(0.0, 1.0));
}

#[kernel(vjp = halved)]
fn ruled(z: [Complex<f64>; n], t: f64) -> [Complex<f64>; n] {
    z * z * t
}

/// Half of the derivative, to tell that it is this one.
#[kernel]
fn halved(z: [Complex<f64>; n], t: f64, ct: [Complex<f64>; n]) -> ([Complex<f64>; n], f64) {
    (z * ct * t, 0.5 * (z * z * ct).re.sum())
}

#[kernel]
fn around(z: [Complex<f64>; n], t: f64) -> f64 {
    map(|w| w.re, ruled(z * Complex::I, t)).sum()
}

#[test]
fn rules_of_users_are_by_the_same_convention() {
    let (z, t) = (array![c(0.3, -0.7), c(1.0, 2.0)], 1.25);
    let ct = array![c(1.0, 0.5), c(0.0, -2.0)];
    let (_, (by_z, by_t)) = vjp(ruled)(&z, t, &ct);
    let (half_z, half_t) = halved(&z, t, &ct);
    near(&by_z, &half_z);
    assert!((by_t - half_t).abs() < 1e-14);
    let (by_z, by_t) = grad(around)(&z, t);
    // The real part of -z^2 t: half of -2 z t.
    near(&by_z, &z.mapv(|z| -z * t));
    assert!((by_t - z.iter().map(|z| -0.5 * (z * z).re).sum::<f64>()).abs() < 1e-14);
}

#[kernel(f32, f64)]
fn rotated<T: Float>(z: [Complex<T>; n], by: T) -> [Complex<T>; n] {
    z * Complex::cis(by)
}

#[kernel]
fn calls(z: [[Complex<f32>; n]; m], by: [f32; m]) -> [[Complex<f32>; n]; m] {
    rotated(z, by)
}

#[kernel]
fn phase(z: Complex<f32>) -> f32 {
    z.arg()
}

#[kernel]
fn phases(z: [[Complex<f32>; n]; m]) -> [[f32; n]; m] {
    phase(z)
}

#[test]
fn kernels_call_each_other_at_any_rank() {
    let z = Array::from_shape_fn((2, 3), |(i, j)| Complex::new(i as f32 + 1.0, j as f32 - 1.0));
    let turned = calls(&z, &array![0.5, -0.25]);
    for ((i, j), w) in turned.indexed_iter() {
        let by = Complex::cis([0.5f32, -0.25][i]);
        assert!((w - z[[i, j]] * by).norm() < 1e-6);
    }
    let single = rotated.of::<f32>()(&z.row(1), -0.25);
    assert_eq!(single, turned.row(1));
    assert_eq!(phases(&z), z.mapv(|z| z.arg()));
    assert!(check_grad(rotated.of::<f64>(), (&numbers(), 0.4)).unwrap().agrees(1e-7));
}

#[kernel]
fn impedance(matrix: [[f64; n]; n], source: [f64; n], omega: f64) -> [Complex<f64>; n] {
    // (A + i omega) x = b as a real system of twice the size.
    let both = build((2 * n, 2 * n), |i, j| {
        let real = matrix[i % n][j % n];
        let turn = if i % n == j % n { omega } else { 0.0 };
        if (i < n) == (j < n) {
            real
        } else if i < n {
            -turn
        } else {
            turn
        }
    });
    let x = solve(both, concat(source, zeros(n)));
    build(n, |i| Complex::new(x[i], x[n + i]))
}

#[test]
fn a_complex_system_by_a_real_one() {
    let (a, b) = (array![[2.0, 0.5], [0.25, 1.0]], array![1.0, -1.0]);
    let x = impedance(&a, &b, 0.75);
    let back = a.mapv(|x| c(x, 0.0)).dot(&x) + x.mapv(|x| x * c(0.0, 0.75));
    near(&back, &b.mapv(|x| c(x, 0.0)));
    check_grad(impedance, (&a, &b, 0.75)).unwrap().assert();
}

#[kernel]
fn doubled(z: [Complex<f64>; n]) -> [Complex<f64>; n] {
    z + z
}

#[kernel(vmap)]
fn summed_and_divided(z: [Complex<f64>; n], by: Complex<f64>) -> (Complex<f64>, [Complex<f64>; n]) {
    (sum(z * by), z / by)
}

#[test]
fn batches() {
    let z = numbers().slice(s![..6]).to_owned().into_shape_with_order((2, 3)).unwrap();
    let by = array![c(1.0, 2.0), c(0.0, -0.5)];
    let (sums, quotients) = vmap(summed_and_divided)(&z, &by);
    for (i, row) in z.outer_iter().enumerate() {
        let (sum, quotient) = summed_and_divided(&row, by[i]);
        assert_eq!((sums[i], quotients.row(i)), (sum, quotient.view()));
    }
}

#[kernel]
fn to_nothing(z: [Complex<f32>; n]) -> [Complex<f32>; n] {
    map(|w| w.powi(0), z)
}

#[test]
fn the_power_0_of_anything_is_1() {
    let z = array![Complex::new(f32::INFINITY, 0.0), Complex::new(f32::NAN, 1.0), Complex::new(0.0, 0.0)];
    assert_eq!(to_nothing(&z), Array1::from_elem(3, Complex::new(1.0, 0.0)));
}

#[test]
fn nothing_is_remarked_of_arithmetic() {
    assert!(!f_exp.explain().contains("has no vectors"), "{}", f_exp.explain());
}

#[test]
fn memory_is_taken_over_and_shapes_are_the_hosts() {
    let z = numbers();
    let mut out = Array1::zeros(z.len() + 3);
    let memory = out.as_ptr();
    doubled.call_into((&z,), &mut out).unwrap();
    assert_eq!((out.as_ptr(), &out), (memory, &z.mapv(|z| z + z)));
    assert_eq!(doubled.shape((&z,)).unwrap(), [vec![Some(z.len())]]);
    let error = Cpu.run(arithmetic, (&z, &z.slice(s![1..]), 1.0)).unwrap_err().to_string();
    assert!(
        error.contains("argument `b`, dimension 0: expected n = 35 (from argument `a`), found 34"),
        "{error}"
    );
}
