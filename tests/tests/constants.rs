//! Constants of the code around kernels, in expressions and in sizes, by names and by paths, in derivatives, and in kernels that are
//! called from others. Those of other modules: `linking`.

use array_dsl::prelude::*;
use ndarray::array;

const RATE: f64 = 0.5;
const SMALL: f32 = 0.25;
const WIDTH: usize = 3;
const STEPS: i64 = 4;
const NEGATED: bool = true;
const K: usize = 2;

mod physics {
    pub const G: f64 = 10.0;
    pub const CORNERS: usize = 2;
}

#[kernel(jacobian, vmap)]
fn step(w: [f64; n], dw: [f64; n]) -> [f64; n] {
    w - RATE * dw
}

#[test]
fn a_constant_has_the_type_of_what_it_meets() {
    let (w, dw) = (array![1.0, 2.0], array![4.0, 2.0]);
    assert_eq!(step(&w, &dw), array![-1.0, 1.0]);

    #[kernel]
    fn single(w: [f32; n]) -> [f32; n] {
        let scale = SMALL;
        w * scale + RATE as f32
    }
    assert_eq!(single(&array![1.0, 2.0]), array![0.75, 1.0]);

    #[kernel]
    fn chosen(x: f64) -> f64 {
        if NEGATED && x > RATE { -x } else { x.powi(STEPS) + RATE.sqrt() * WIDTH as f64 }
    }
    assert_eq!(chosen(2.0), -2.0);
    assert_eq!(chosen(0.5), 0.0625 + 3.0 * 0.5f64.sqrt());
}

#[test]
fn names_of_the_kernel_hide_constants() {
    #[kernel]
    fn hidden(x: f64, RATE: f64) -> f64 {
        let STEPS = x;
        STEPS * RATE
    }
    assert_eq!(hidden(3.0, 2.0), 6.0);

    // One letter that a shape tells is a size.
    #[kernel]
    fn mean_of(x: [f64; K]) -> f64 {
        x.sum() / K as f64
    }
    assert_eq!(mean_of(&array![1.0, 2.0, 6.0]), 3.0);
}

#[kernel]
fn extended(w: [f64; WIDTH]) -> [f64; WIDTH + physics::CORNERS] {
    concat(w, build(physics::CORNERS, |i| w[i] * physics::G))
}

#[test]
fn a_size_that_is_a_constant_is_checked_on_entry() {
    assert_eq!(extended(&array![1.0, 2.0, 3.0]), array![1.0, 2.0, 3.0, 10.0, 20.0]);
    let error = Cpu.run(extended, (&array![1.0, 2.0],)).unwrap_err().to_string();
    assert!(error.contains("argument `w`, dimension 0: expected WIDTH = 3, found 2"), "{error}");
    assert_eq!(extended.shape((&array![1.0, 2.0, 3.0],)).unwrap(), [vec![Some(5)]]);

    #[kernel]
    fn counted(x: f64) -> [f64; K] {
        build(K, |i| x + i as f64)
    }
    assert_eq!(counted(1.0), array![1.0, 2.0]);
}

#[kernel(hvp, hessian, vmap)]
fn looped(x: f64) -> f64 {
    let mut s = x;
    for _ in 0..STEPS {
        s = s * RATE + x * x;
    }
    s
}

#[test]
fn derivatives_pass_constants_on() {
    let by = |x: f64| x / 16.0 + 1.875 * x * x;
    assert_eq!(looped(2.0), by(2.0));
    assert_eq!(value_and_grad(looped)(2.0), (by(2.0), 0.0625 + 7.5));
    assert_eq!((hvp(looped)(2.0, 1.0), hessian(looped)(2.0), grad(grad(looped))(2.0)), (3.75, 3.75, 3.75));
    assert_eq!(vmap(looped)(&array![1.0, 2.0]), array![by(1.0), by(2.0)]);

    let (w, dw) = (array![1.0, 2.0], array![4.0, 2.0]);
    assert_eq!(jvp(step)(&w, &dw, &w, &dw).1, array![-1.0, 1.0]);
    assert_eq!(vjp(step)(&w, &dw, &w).1, (w.clone(), array![-0.5, -1.0]));
    let (by_w, by_dw) = jacobian(step)(&w, &dw);
    assert_eq!((by_w, by_dw), (array![[1.0, 0.0], [0.0, 1.0]], array![[-0.5, 0.0], [0.0, -0.5]]));
    assert_eq!(vmap(step)(&array![[1.0, 2.0]], &array![[4.0, 2.0]]), array![[-1.0, 1.0]]);
    assert!(check_grad(step, (&w, &dw)).unwrap().agrees(1e-8));
}

#[kernel]
fn calls(x: [f64; n]) -> f64 {
    map(|row| step(row, row).sum(), [x, x]).sum() * RATE + grad(|y| y * y * RATE)(x[0])
}

#[test]
fn called_kernels_are_given_theirs() {
    assert_eq!(calls(&array![1.0, 2.0]), 0.5 * 3.0 + 1.0);
    assert_eq!(grad(calls)(&array![1.0, 2.0]), array![1.5, 0.5]);
}

#[derive(Record, Clone)]
struct Net {
    #[shape(n)]
    weights: ndarray::Array1<f64>,
    bias: f64,
}

#[test]
fn beside_records() {
    #[kernel]
    fn updated(net: &Net, slope: &Net) -> Net {
        *net - RATE * *slope
    }
    let net = Net { weights: array![1.0, 2.0], bias: 3.0 };
    let made = updated(&net, &net);
    assert_eq!((made.weights, made.bias), (array![0.5, 1.0], 1.5));
    let (_, (back, _)) = vjp(updated)(&net, &net, &net);
    assert_eq!(back.bias, 3.0);
}
