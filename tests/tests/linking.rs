//! Kernels that call kernels: of the same module before and after their definition, of other modules by every kind of
//! path, renamed, nested, as function arguments, and lifted over arrays.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use layers::dense;
use layers::pieces::rectified as positive_part;
use ndarray::{Array1, Array2, array};

mod layers {
    //! Parts of a small network.
    use array_dsl::prelude::*;

    pub mod pieces {
        //! Functions of one number.
        use array_dsl::prelude::*;

        #[kernel]
        pub fn rectified(x: f64) -> f64 {
            if x > 0.0 { x } else { 0.0 }
        }

        #[kernel]
        pub fn shared_name(x: f64) -> f64 {
            x + 1.0
        }

        #[kernel]
        pub fn from_the_parent(x: f64) -> f64 {
            super::shared_name(x) * 2.0
        }
    }

    #[kernel]
    pub fn dense(w: [[f64; m]; n], b: [f64; n], x: [f64; m]) -> [f64; n] {
        self::pieces::rectified(matvec(w, x) + b)
    }

    #[kernel]
    pub fn shared_name(x: f64) -> f64 {
        x * 10.0
    }
}

// In one module; the callee may come later.

#[kernel]
fn calls_a_later_one(x: f64) -> f64 {
    comes_later(x) + 1.0
}

#[kernel]
fn comes_later(x: f64) -> f64 {
    3.0 * x
}

#[test]
fn order_of_definition_does_not_matter() {
    assert_eq!(value_and_grad(calls_a_later_one)(2.0), (7.0, 3.0));
}

// By path.

#[kernel]
fn by_paths(x: f64) -> (f64, f64, f64, f64) {
    (
        layers::shared_name(x),
        layers::pieces::shared_name(x),
        crate::layers::pieces::from_the_parent(x),
        self::layers::pieces::rectified(-x),
    )
}

#[kernel]
fn by_imported_names(w: [[f64; m]; n], b: [f64; n], x: [f64; m]) -> f64 {
    sum(dense(w, b, x)) + positive_part(b[0])
}

#[test]
fn paths_and_imports() {
    assert_eq!(by_paths(2.0), (20.0, 3.0, 40.0, 0.0));
    let (_, slope) = vjp(by_paths)(2.0, 1.0, 1.0, 1.0, 1.0);
    assert_eq!(slope, 10.0 + 1.0 + 20.0);
    let (w, b, x) = (array![[1.0, 2.0], [3.0, -4.0]], array![0.5, 1.0], array![1.0, 2.0]);
    let (value, gradients) = value_and_grad(by_imported_names)(&w, &b, &x);
    assert_eq!(value, 6.0);
    assert_eq!(gradients, (array![[1.0, 2.0], [0.0, 0.0]], array![2.0, 0.0], array![1.0, 2.0]));
    assert_gradient(|(w, b, x)| by_imported_names(w, b, x), &(w, b, x), &gradients);
}

// One kernel used more than once, on different sizes and at different ranks.

#[kernel]
fn two_norm(v: [f64; k]) -> f64 {
    sum(v * v).sqrt()
}

#[kernel]
fn norms(a: [f64; n], b: [f64; m], rows: [[f64; m]; n]) -> (f64, [f64; n]) {
    (two_norm(a) + two_norm(b), two_norm(rows))
}

#[kernel]
fn normalized(v: [f64; n]) -> [f64; n] {
    v / two_norm(v)
}

#[kernel]
fn cosine(a: [f64; n], b: [f64; n]) -> f64 {
    dot(normalized(a), normalized(b))
}

#[test]
fn one_kernel_on_several_sizes() {
    let (a, b) = (array![3.0, 4.0], array![2.0, 3.0, 6.0]);
    let rows = array![[1.0, 2.0, 2.0], [0.0, 3.0, 4.0]];
    let (scalar, vector) = norms(&a, &b, &rows);
    assert_eq!(scalar, 12.0);
    assert_eq!(vector, array![3.0, 5.0]);
    let (_, (a_adj, b_adj, rows_adj)) = vjp(norms)(&a, &b, &rows, 1.0, &array![3.0, 10.0]);
    assert_close(a_adj, array![0.6, 0.8], 1e-14);
    assert_close(b_adj, array![2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0], 1e-14);
    assert_close(rows_adj, array![[1.0, 2.0, 2.0], [0.0, 6.0, 8.0]], 1e-14);
}

#[test]
fn nested_calls() {
    let (a, b) = (array![3.0, 4.0], array![4.0, 3.0]);
    let (value, (a_adj, b_adj)) = value_and_grad(cosine)(&a, &b);
    assert_close(value, 0.96, 1e-14);
    assert_close(a_adj.clone(), array![0.0448, -0.0336], 1e-14);
    assert_gradient(|(a, b)| cosine(a, b), &(a, b), &(a_adj, b_adj));
}

// As function arguments.

#[kernel]
fn with_kernels_as_arguments(xs: [f64; n], ys: [f64; n]) -> [f64; n] {
    map(weighed, map(layers::pieces::rectified, xs), ys)
}

#[kernel]
fn weighed(x: f64, y: f64) -> f64 {
    x * y
}

#[kernel]
fn with_a_kernel_in_a_closure(rows: [[f64; m]; n]) -> [f64; n] {
    let f = |row| two_norm(row) + 1.0;
    map(|row| f(row), rows)
}

#[test]
fn kernels_as_function_arguments() {
    let (xs, ys) = (array![1.0, -2.0, 3.0], array![10.0, 20.0, 30.0]);
    let (value, (xs_adj, ys_adj)) = vjp(with_kernels_as_arguments)(&xs, &ys, &Array1::ones(3));
    assert_eq!(value, array![10.0, 0.0, 90.0]);
    assert_eq!(xs_adj, array![10.0, 0.0, 30.0]);
    assert_eq!(ys_adj, array![1.0, 0.0, 3.0]);
    assert_eq!(with_a_kernel_in_a_closure(&array![[3.0, 4.0], [0.0, 2.0]]), array![6.0, 3.0]);
}

// Lifted over arrays, and a network of several layers.

#[kernel]
fn rectified_matrix(a: [[f64; m]; n]) -> [[f64; m]; n] {
    positive_part(a)
}

#[kernel]
fn two_layers(
    w1: [[f64; m]; k],
    b1: [f64; k],
    w2: [[f64; k]; c],
    b2: [f64; c],
    #[no_grad] x: [f64; m],
) -> f64 {
    two_norm(dense(w2, b2, dense(w1, b1, x)))
}

#[kernel]
fn dense_of_a_batch(w: [[f64; m]; n], b: [f64; n], xs: [[f64; m]; batch]) -> [[f64; n]; batch] {
    map(|x| dense(w, b, x), xs)
}

#[test]
fn lifted_calls() {
    let a = array![[1.0, -1.0], [0.5, 0.0]];
    let (value, cotangent) = vjp(rectified_matrix)(&a, &array![[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(value, array![[1.0, 0.0], [0.5, 0.0]]);
    assert_eq!(cotangent, array![[1.0, 0.0], [3.0, 0.0]]);
}

#[test]
fn layers_in_sequence() {
    let w1 = array![[0.5, -1.0, 0.25], [1.0, 0.75, 0.5], [-0.5, 0.1, 0.2], [0.3, 0.6, -0.9]];
    let b1 = array![0.1, 0.2, -0.3, 0.9];
    let w2 = array![[1.0, 0.5, -0.5, 0.25], [0.7, -0.2, 0.4, 0.8]];
    let b2 = array![0.05, 0.6];
    let x = array![1.0, 2.0, -1.5];
    let gradient = grad(two_layers)(&w1, &b1, &w2, &b2, &x);
    let (w1_adj, b1_adj, w2_adj, b2_adj) = gradient;
    assert_gradient(|(w, b)| two_layers(w, b, &w2, &b2, &x), &(w1.clone(), b1.clone()), &(w1_adj, b1_adj));
    assert_gradient(|(w, b)| two_layers(&w1, &b1, w, b, &x), &(w2.clone(), b2.clone()), &(w2_adj, b2_adj));
}

#[test]
fn a_batch_is_each_of_its_rows() {
    let (w, b) = (array![[1.0, -2.0], [0.5, 0.25], [-1.0, 3.0]], array![0.1, 0.2, 0.3]);
    let xs = Array2::from_shape_fn((4, 2), |(i, j)| i as f64 - 1.5 * j as f64);
    let batch = dense_of_a_batch(&w, &b, &xs);
    assert_eq!(batch.dim(), (4, 3));
    for (row, x) in batch.rows().into_iter().zip(xs.rows()) {
        assert_close(row.to_owned(), dense(&w, &b, &x), 1e-14);
    }
}

// Sizes through calls: computed results, sizes passed as numbers, and a check that the callee's signature asks for.

#[kernel]
fn ramp(count: usize) -> [f64; count] {
    build(count, |i| i as f64)
}

#[kernel]
fn padded(xs: [f64; n]) -> [f64; n + 2] {
    build(n + 2, |i| if i == 0 || i == n + 1 { 0.0 } else { xs[i - 1] })
}

#[kernel]
fn padded_twice_plus_ramp(xs: [f64; n]) -> [f64; n + 4] {
    padded(padded(xs)) + ramp(n + 4)
}

#[kernel]
fn cosine_of_unnamed(a: [f64], b: [f64]) -> f64 {
    cosine(a, b)
}

#[test]
fn sizes_through_calls() {
    let (value, cotangent) =
        vjp(padded_twice_plus_ramp)(&array![5.0, 6.0], &array![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(value, array![0.0, 1.0, 7.0, 9.0, 4.0, 5.0]);
    assert_eq!(cotangent, array![3.0, 4.0]);
    assert_close(cosine_of_unnamed(&array![3.0, 4.0], &array![4.0, 3.0]), 0.96, 1e-14);
    let text = Cpu.run(cosine_of_unnamed, (&array![1.0, 2.0], &array![1.0])).unwrap_err().to_string();
    assert!(text.contains("kernel `cosine"), "{text}");
}

// Results and arguments that are tuples.

#[kernel]
fn polar(x: f64, y: f64) -> (f64, f64) {
    (x.hypot(y), y.atan2(x))
}

#[kernel]
fn cartesian(p: (f64, f64)) -> (f64, f64) {
    let (r, angle) = p;
    (r * angle.cos(), r * angle.sin())
}

#[kernel]
fn round_trip(x: f64, y: f64) -> (f64, f64) {
    cartesian(polar(x, y))
}

#[test]
fn tuples_through_calls() {
    assert_close(polar(3.0, 4.0), (5.0, 4f64.atan2(3.0)), 1e-14);
    assert_close(round_trip(3.0, 4.0), (3.0, 4.0), 1e-14);
    assert_close(vjp(round_trip)(3.0, 4.0, 2.0, -1.0), ((3.0, 4.0), (2.0, -1.0)), 1e-14);
    assert_close(jvp(round_trip)(3.0, 4.0, 2.0, -1.0), ((3.0, 4.0), (2.0, -1.0)), 1e-14);
}

/// For the host there are the value and one derivative.
#[kernel(value, jvp)]
fn cubed(x: f64) -> f64 {
    x * x * x
}

#[kernel]
fn twice_cubed(x: f64) -> f64 {
    2.0 * cubed(x)
}

#[test]
fn what_a_kernel_leaves_out_others_have() {
    assert_eq!(cubed(2.0), 8.0);
    assert_eq!(jvp(cubed)(2.0, 1.0), (8.0, 12.0));
    assert_eq!(grad(twice_cubed)(2.0), 24.0);
    assert!(!cubed.explain().contains("== vjp =="), "what is not asked for is not missing");
}

/// A called kernel has the constants of its own module, which its callers need not see.
mod physics {
    use array_dsl::prelude::*;

    pub const G: f64 = 10.0;
    pub const CORNERS: usize = 2;
    const HIDDEN: f64 = 7.0;

    #[kernel]
    pub fn weight(m: f64) -> f64 {
        HIDDEN * m * G
    }

    pub mod inner {
        use array_dsl::prelude::*;

        #[kernel]
        pub fn doubled(m: f64) -> f64 {
            super::weight(m) * super::CORNERS as f64
        }
    }
}

use physics::inner::doubled as twice;

#[kernel(vmap)]
fn weighs(x: [f64; n]) -> f64 {
    map(twice, x).sum() * 0.5 + grad(physics::weight)(x[0]) + grad(|y| y * y * 0.5)(x[1])
}

#[test]
fn called_kernels_have_constants_of_their_own_modules() {
    assert_eq!(twice(1.0), 140.0);
    assert_eq!(weighs(&array![1.0, 2.0]), 3.0 * 70.0 + 70.0 + 2.0);
    assert_eq!(grad(weighs)(&array![1.0, 2.0]), array![70.0, 71.0]);
    assert_eq!(vmap(weighs)(&array![[1.0, 2.0]]), array![282.0]);
}
