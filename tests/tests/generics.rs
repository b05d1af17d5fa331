//! Generic kernels on the host: instances, calls across modules, functions as arguments.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, array};

mod nonlinear {
    use array_dsl::prelude::*;

    /// The positive part.
    #[kernel(f32, f64, hvp)]
    pub fn relu<T: Float>(x: T) -> T {
        clipped(x, 0.0)
    }

    #[kernel]
    pub fn clipped<T: Number>(x: T, least: T) -> T {
        max(x, least)
    }

    #[kernel]
    pub fn bisect<F>(f: F, lo: f64, hi: f64) -> f64
    where
        F: Fn(f64) -> f64,
    {
        let mut lo = lo;
        let mut hi = hi;
        for _ in 0..60 {
            let mid = 0.5 * (lo + hi);
            if f(lo) * f(mid) <= 0.0 {
                hi = mid;
            } else {
                lo = mid;
            }
        }
        0.5 * (lo + hi)
    }

    #[kernel]
    pub fn newton<T: Float>(f: impl Fn(T) -> T, x: T) -> T {
        let mut x = x;
        for _ in 0..6 {
            x = x - f(x) / grad(f)(x);
        }
        x
    }
}

use nonlinear::{bisect, newton, relu};

#[kernel(i64, f64)]
fn count_above<T: Number>(x: [T; n], least: T) -> i64 {
    sum(map(|v| if v > least { 1 } else { 0 }, x))
}

#[test]
fn instances_are_kernels() {
    assert_eq!(relu.of::<f32>()(-1.5f32), 0.0);
    assert_eq!(relu.of::<f64>()(2.5), 2.5);
    assert_eq!(grad(relu.of::<f64>())(2.5), 1.0);
    assert_eq!(hvp(relu.of::<f64>())(2.5, 1.0), 0.0);
    assert_eq!(count_above.of::<i64>()(&array![1, 2, 3], 1), 2);
    assert_eq!(count_above.of::<f64>()(&array![1.0, 2.0, 3.0], 2.5), 1);
}

#[kernel]
fn parabola(x: f64) -> f64 {
    x * x - 2.0
}

#[kernel]
fn roots(a: [f64; n]) -> ([f64; n], f64, f64) {
    (
        build(n, |i| newton(|x| x * x - a[i], 1.0)),
        bisect(parabola, 0.0, 2.0),
        nonlinear::bisect(nonlinear::relu, 0.0, 1.0),
    )
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Layer {
    #[shape(inputs, outputs)]
    w: Array2<f64>,
    #[shape(outputs)]
    b: Array1<f64>,
}

/// The record's sizes are sizes here.
#[kernel]
fn layer_with(activation: impl Fn(f64) -> f64, layer: &Layer, x: [f64; inputs]) -> [f64; outputs] {
    let z: [f64; outputs] = matvec(transpose(layer.w), x) + layer.b;
    build(outputs, |k| activation(z[k]) / inputs as f64)
}

#[kernel]
fn network(layer: &Layer, x: [[f64; inputs]; n]) -> f64 {
    sum(map(|row| sum(layer_with(|v| v.tanh() + relu(v), layer, row)), x))
}

#[test]
fn records_and_their_sizes() {
    let layer = Layer { w: array![[1.0, -2.0], [0.5, 3.0], [0.25, -1.0]], b: array![0.5, 0.25] };
    let x = array![[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]];
    let activation = |v: f64| (v.tanh() + v.max(0.0)) / 3.0;
    let expected: f64 = (x.dot(&layer.w) + &layer.b).mapv(activation).sum();
    assert!((network(&layer, &x) - expected).abs() < 1e-12);
    let check = check_grad(network, (&layer, &x)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
    let error = Cpu.run(network, (&layer, &array![[1.0, 2.0]])).unwrap_err().to_string();
    assert!(error.contains("inputs"), "{error}");
}

#[kernel]
fn hidden_layer(x: [[f64; d]; n], w: [[f64; h]; d]) -> f64 {
    relu(matmul(x, w)).flatten().sum()
}

#[test]
fn kernels_call_them_with_closures_and_kernels() {
    let (by_newton, by_bisection, _) = roots(&array![2.0, 9.0]);
    assert!((&by_newton - &array![2.0f64.sqrt(), 3.0]).iter().all(|e| e.abs() < 1e-9), "{by_newton}");
    assert!((by_bisection - 2.0f64.sqrt()).abs() < 1e-12);
    let check =
        check_grad(hidden_layer, (&array![[1.0, -2.0], [0.5, 3.0]], &array![[1.0, -1.0], [0.25, 2.0]]))
            .unwrap();
    assert!(check.agrees(1e-7), "{check}");
}
