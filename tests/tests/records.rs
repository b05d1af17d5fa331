//! Records: structures as arguments, results and gradients of kernels.

mod common;

use array_dsl::prelude::*;
use common::{assert_close, assert_gradient};
use ndarray::{Array1, Array2, array};

/// A linear classifier.
#[derive(Record, Clone, Debug, PartialEq)]
struct Net {
    #[shape(features, classes)]
    w: Array2<f64>,
    #[shape(classes)]
    b: Array1<f64>,
    scale: f64,
}

fn net() -> Net {
    Net { w: array![[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], b: array![0.1, -0.2, 0.3], scale: 1.5 }
}

#[kernel]
fn logits(net: &Net, x: [f64; features]) -> [f64; classes] {
    net.scale * (x * transpose(net.w)).sum() + net.b
}

#[kernel(hvp, jacobian, hessian, vmap)]
fn loss(net: &Net, #[no_grad] x: [f64; features]) -> f64 {
    let z = logits(net, x);
    (z * z).sum() / 2.0
}

#[test]
fn a_record_is_an_argument() {
    let x = array![1.0, 2.0];
    let z = net().scale * x.dot(&net().w) + &net().b;
    assert_close(logits(&net(), &x), z.clone(), 1e-12);
    assert_close(loss(&net(), &x), z.dot(&z) / 2.0, 1e-12);
}

#[test]
fn its_gradient_is_a_record() {
    let x = array![1.0, 2.0];
    let z = logits(&net(), &x);
    let (value, g): (f64, Net) = value_and_grad(loss)(&net(), &x);
    assert_eq!(value, loss(&net(), &x));
    assert_close(g.b.clone(), z.clone(), 1e-12);
    assert_close(g.w.clone(), net().scale * Array2::from_shape_fn((2, 3), |(i, j)| x[i] * z[j]), 1e-12);
    assert_close(g.scale, z.dot(&x.dot(&net().w)), 1e-12);
    assert_eq!(grad(loss)(&net(), &x), g);
    let check = check_grad(loss, (&net(), &x)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
    assert_eq!(check.entries, 10);
}

#[test]
fn tangents_and_second_derivatives_are_records() {
    let x = array![1.0, 2.0];
    let along = Net { w: Array2::ones((2, 3)), b: array![0.0, 1.0, 0.0], scale: -1.0 };
    let g = grad(loss)(&net(), &x);
    let slope = (&g.w * &along.w).sum() + g.b.dot(&along.b) + g.scale * along.scale;
    let (value, found) = jvp(loss)(&net(), &x, &along);
    assert_eq!(value, loss(&net(), &x));
    assert_close(found, slope, 1e-12);

    let at_step = |h: f64| {
        let at = Net {
            w: net().w + h * &along.w,
            b: net().b + h * &along.b,
            scale: net().scale + h * along.scale,
        };
        grad(loss)(&at, &x)
    };
    let (up, down, found) = (at_step(1e-5), at_step(-1e-5), hvp(loss)(&net(), &x, &along));
    assert_close(found.w.clone(), (up.w - down.w) / 2e-5, 1e-7);
    assert_close(found.b.clone(), (up.b - down.b) / 2e-5, 1e-7);
    assert_close(found.scale, (up.scale - down.scale) / 2e-5, 1e-7);
}

/// With other ranks than the fields have, a record is the tuple of its fields.
#[test]
fn matrices_of_derivatives_are_tuples() {
    let x = array![1.0, 2.0];
    let g = grad(loss)(&net(), &x);
    assert_eq!(jacobian(loss)(&net(), &x), (g.w, g.b, g.scale));
    let (_, (bw, bb, _), (_, _, scale)) = hessian(loss)(&net(), &x);
    assert_close(bb, Array2::eye(3), 1e-12);
    assert_eq!(bw.dim(), (3, 2, 3));
    assert_close(scale, x.dot(&net().w).dot(&x.dot(&net().w)), 1e-12);

    let (w, b) = (net().w.insert_axis(ndarray::Axis(0)), net().b.insert_axis(ndarray::Axis(0)));
    let values = vmap(loss)((&w, &b, &array![1.5]), &x.clone().insert_axis(ndarray::Axis(0)));
    assert_close(values, array![loss(&net(), &x)], 1e-12);
}

// Construction, update, patterns.

#[kernel]
fn step(net: &Net, gradient: &Net, rate: f64) -> Net {
    let w = net.w - rate * gradient.w;
    Net { w, b: net.b - rate * gradient.b, ..net }
}

#[kernel]
fn through_patterns(net: &Net, Net { b: other, .. }: Net) -> (f64, Net) {
    let Net { w, b, scale } = net;
    let Net { b: again, .. } = net;
    (w.flatten().sum() + scale, Net { scale: 2.0 * scale, b: b + other - again, w })
}

#[test]
fn records_are_made_and_taken_apart() {
    let x = array![1.0, 2.0];
    let g = grad(loss)(&net(), &x);
    let next = step(&net(), &g, 0.1);
    assert_close(next.w.clone(), net().w - 0.1 * &g.w, 1e-12);
    assert_close(next.b.clone(), net().b - 0.1 * &g.b, 1e-12);
    assert_eq!(next.scale, net().scale);
    assert!(loss(&next, &x) < loss(&net(), &x));

    let (sum, made) = through_patterns(&net(), &next);
    assert_close(sum, net().w.sum() + 1.5, 1e-12);
    assert_close(made.b.clone(), next.b, 1e-12);
    assert_eq!((made.w, made.scale), (net().w, 3.0));
}

#[test]
fn a_pullback_takes_and_gives_records() {
    let (x, cotangent) = (grad(loss)(&net(), &array![1.0, 2.0]), net());
    let (value, (by_net, by_gradient, by_rate)) = vjp(step)(&net(), &x, 0.5, &cotangent);
    assert_eq!(value, step(&net(), &x, 0.5));
    assert_eq!(by_net, cotangent);
    assert_close(by_gradient.w, -0.5 * &cotangent.w, 1e-12);
    assert_eq!(by_gradient.scale, 0.0);
    assert_close(by_rate, -(&x.w * &cotangent.w).sum() - x.b.dot(&cotangent.b), 1e-12);
    let (value, slope) = jvp(step)(&net(), &x, 0.5, &cotangent, &cotangent, 0.0);
    assert_eq!(value, step(&net(), &x, 0.5));
    assert_close(slope.b, 0.5 * &cotangent.b, 1e-12);
    let check = check_grad(step, (&net(), &x, 0.5)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
}

// Arithmetic, field by field.

#[kernel]
fn momentum(net: &Net, velocity: &Net, gradient: &Net, rate: f64) -> (Net, Net) {
    let mut velocity = 0.9 * velocity - rate * gradient;
    let size = (gradient * gradient).sqrt() + 1e-8;
    velocity /= size;
    (net + velocity, velocity)
}

#[test]
fn arithmetic_of_records_is_that_of_their_fields() {
    let x = array![1.0, 2.0];
    let g = grad(loss)(&net(), &x);
    let (next, velocity) = momentum(&net(), &net(), &g, 0.5);
    let expected = (0.9 * net().w - 0.5 * &g.w) / ((&g.w * &g.w).sqrt() + 1e-8);
    assert_close(velocity.w.clone(), expected, 1e-12);
    assert_close(velocity.scale, (0.9 * 1.5 - 0.5 * g.scale) / (g.scale.abs() + 1e-8), 1e-12);
    assert_close(next.b, net().b + velocity.b, 1e-12);
    let check = check_grad(momentum, (&net(), &net(), &g, 0.5)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}

// Records in records and in tuples; parts that are no floats.

mod model {
    //! Definitions that others use.
    use array_dsl::prelude::*;
    use ndarray::{Array, Array1, Ix2};

    #[derive(Record, Clone, Debug, PartialEq)]
    pub struct Layer {
        #[shape(width, width)]
        pub w: Array<f64, Ix2>,
        pub kind: i64,
    }

    #[derive(Record, Clone, Debug, PartialEq)]
    pub struct Stack {
        pub first: Layer,
        pub second: Layer,
        pub(super) gains: (f64, Array1<f64>),
        labels: Array1<i64>,
        flip: bool,
    }

    impl Stack {
        pub fn new(first: Layer, second: Layer, gains: (f64, Array1<f64>), flip: bool) -> Stack {
            Stack { first, second, gains, labels: Array1::from_vec(vec![3, 1, 2]), flip }
        }

        pub fn rest(&self) -> (&Array1<i64>, bool) {
            (&self.labels, self.flip)
        }
    }

    #[kernel]
    pub fn apply(layer: &Layer, x: [f64; width]) -> [f64; width] {
        let y = matvec(layer.w, x);
        match layer.kind {
            0 => y,
            _ => y.tanh(),
        }
    }

    #[kernel]
    pub fn identity(size: usize) -> Layer {
        Layer { w: build((size, size), |i, j| if i == j { 1.0 } else { 0.0 }), kind: 0 }
    }
}

use model::{Layer, Stack};

fn stack() -> Stack {
    let first = Layer { w: array![[0.5, -1.0], [1.5, 0.25]], kind: 1 };
    let second = Layer { w: array![[1.0, 0.5], [-0.5, 2.0]], kind: 0 };
    Stack::new(first, second, (2.0, array![1.0, -1.0, 0.5]), true)
}

#[kernel]
fn deep((stack, x): (&Stack, [f64; width]), rest: &model::Layer) -> f64 {
    let y = model::apply(stack.second, model::apply(stack.first, x));
    let sign = if stack.flip { -1.0 } else { 1.0 };
    let labels = map(|l| l as f64, stack.labels);
    sign * stack.gains.0 * model::apply(rest, y).sum() + dot(stack.gains.1, labels)
}

#[test]
fn gradients_of_nested_records_have_all_fields() {
    let (s, x, last) = (stack(), array![0.25, -0.5], model::identity(2));
    assert_eq!(last, Layer { w: Array2::eye(2), kind: 0 });
    let y = s.second.w.dot(&s.first.w.dot(&x).mapv(f64::tanh));
    assert_close(deep((&s, &x), &last), -2.0 * y.sum() + 3.0 - 1.0 + 1.0, 1e-12);

    let ((ds, dx), dlast) = grad(deep)((&s, &x), &last);
    assert_close(ds.gains.0, -y.sum(), 1e-12);
    assert_close(ds.gains.1.clone(), array![3.0, 1.0, 2.0], 1e-12);
    assert_eq!((ds.first.kind, ds.second.kind, dlast.kind), (0, 0, 0));
    assert_eq!(ds.rest(), (&array![0, 0, 0], false));
    assert_close(dlast.w, Array2::from_shape_fn((2, 2), |(_, j)| -2.0 * y[j]), 1e-12);
    assert_eq!(dx.len(), 2);
    let check = check_grad(deep, ((&s, &x), &last)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
    assert_eq!(check.entries, 4 + 4 + 1 + 3 + 2 + 4);
}

#[kernel]
fn scaled(s: &Stack, by: f64) -> (Stack, f64) {
    let first = Layer { w: by * s.first.w, ..s.first };
    (Stack { first, gains: (by * s.gains.0, s.gains.1), ..s }, by)
}

/// What is no float in a tangent or cotangent is not looked at, and zero where it is given.
#[test]
fn parts_without_derivative_in_results() {
    let s = stack();
    let (made, by) = scaled(&s, 3.0);
    assert_eq!((made.rest(), by), (s.rest(), 3.0));
    assert_eq!(made.first.w, 3.0 * &s.first.w);
    let mut tangent = s.clone();
    tangent.first.kind = 77;
    let ((value, _), (slope, one)) = jvp(scaled)(&s, 3.0, &tangent, 1.0);
    assert_eq!(value, made);
    assert_eq!((slope.first.kind, slope.rest(), one), (0, (&array![0, 0, 0], false), 1.0));
    assert_close(slope.first.w, 4.0 * &s.first.w, 1e-12);
    let (_, (ds, dby)) = vjp(scaled)(&s, 3.0, &tangent, 1.0);
    assert_close(dby, 1.0 + (&s.first.w * &s.first.w).sum() + 4.0, 1e-12);
    assert_eq!((ds.first.kind, ds.rest()), (0, (&array![0, 0, 0], false)));
    let check = check_grad(scaled, (&s, 3.0)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
}

// Sizes.

#[derive(Record, Clone, Debug, PartialEq)]
struct Grid {
    cells: i64,
    #[shape(cells, 2 * cells + 1)]
    values: Array2<f64>,
    #[shape(_, 3)]
    corners: Array2<f64>,
}

#[kernel]
fn doubled(g: &Grid) -> Grid {
    Grid { values: g.values * 2.0, corners: concat(g.corners, g.corners), ..g }
}

#[kernel]
fn uniform(count: usize, value: f64) -> Grid {
    Grid { values: build((count, 2 * count + 1), |_, _| value), corners: zeros((0, 3)), cells: count }
}

#[kernel]
fn sizes(_a: &Net, b: &Net, g: &Grid) -> (i64, i64, i64) {
    (features + b.w.len(), classes, g.corners.len())
}

#[test]
fn sizes_are_checked_on_entry() {
    let g = Grid { cells: 2, values: Array2::ones((2, 5)), corners: Array2::zeros((4, 3)) };
    assert_eq!(doubled(&g), Grid { cells: 2, values: 2.0 * &g.values, corners: Array2::zeros((8, 3)) });
    assert_eq!(uniform(2, 1.0), Grid { corners: Array2::zeros((0, 3)), ..g.clone() });
    assert_eq!(sizes(&net(), &net(), &g), (4, 3, 4));

    let message = |e: Result<(i64, i64, i64), Error>| {
        let text = e.unwrap_err().to_string();
        text.rsplit_once(" (").unwrap().0.to_string()
    };
    let wrong = Net { w: Array2::ones((2, 4)), b: Array1::ones(4), scale: 1.0 };
    assert_eq!(
        message(Cpu.run(sizes, (&net(), &wrong, &g))),
        "kernel `sizes`: argument `b.w`, dimension 1: expected classes = 3 (from argument `_a.w`), found 4"
    );
    let wrong = Net { b: Array1::ones(4), ..net() };
    assert_eq!(
        message(Cpu.run(sizes, (&wrong, &net(), &g))),
        "kernel `sizes`: argument `_a.b`, dimension 0: expected classes = 3 (from argument `_a.w`), found 4"
    );
    let wrong = Grid { cells: 3, ..g };
    assert_eq!(
        message(Cpu.run(sizes, (&net(), &net(), &wrong))),
        "kernel `sizes`: argument `g.values`, dimension 0: expected g.cells = 3, found 2"
    );
    let check = check_grad(uniform, (3, 1.5)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
}

// Mutation, loops, choices.

#[kernel]
fn descent(net: &Net, x: [f64; features], steps: usize) -> Net {
    let mut at = net;
    for _ in 0..steps {
        let z = logits(at, x);
        at.b -= 0.1 * z;
        at = Net { w: at.w - 0.05 * build((features, classes), |i, j| x[i] * z[j]), ..at };
        at.w[0][0] = 0.0;
    }
    if steps > 100 { net } else { at }
}

#[test]
fn records_are_assigned_and_carried() {
    let x = array![1.0, 2.0];
    let mut at = net();
    for _ in 0..5 {
        let z = logits(&at, &x);
        at.b = &at.b - 0.1 * &z;
        at.w = &at.w - 0.05 * Array2::from_shape_fn((2, 3), |(i, j)| x[i] * z[j]);
        at.w[[0, 0]] = 0.0;
    }
    let found = descent(&net(), &x, 5);
    assert_close(found.w, at.w, 1e-12);
    assert_close(found.b, at.b, 1e-12);
    assert_eq!(descent(&net(), &x, 0), net());
    let check = check_grad(descent, (&net(), &x, 5)).unwrap();
    assert!(check.agrees(1e-6), "{check}");
}

// Arrays of records inside kernels.

#[derive(Record, Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

#[kernel]
fn rotated(p: Point, angle: f64) -> Point {
    let (s, c) = (angle.sin(), angle.cos());
    Point { x: c * p.x - s * p.y, y: s * p.x + c * p.y }
}

#[kernel]
fn farthest(xs: [f64; n], ys: [f64; n], angle: f64) -> (Point, f64) {
    let points = build(n, |i| Point { x: xs[i], y: ys[i] });
    let turned = rotated(points, angle);
    let norm = |p: Point| p.x * p.x + p.y * p.y;
    let best =
        reduce(|a: Point, b: Point| if norm(a) >= norm(b) { a } else { b }, Point { x: 0.0, y: 0.0 }, turned);
    let lengths = map(|Point { x, y }| (x * x + y * y).sqrt(), turned);
    (Point { x: turned[0].x, y: best.y }, lengths.sum() + points[1..].len() as f64)
}

#[test]
fn arrays_of_records_are_records_of_arrays() {
    let (xs, ys) = (array![1.0, 0.0, 3.0], array![0.0, 2.0, 4.0]);
    let quarter = std::f64::consts::FRAC_PI_2;
    let (p, sum) = farthest(&xs, &ys, quarter);
    assert_close(p.x, 0.0, 1e-12);
    assert_close(p.y, 3.0, 1e-12);
    assert_close(sum, 1.0 + 2.0 + 5.0 + 2.0, 1e-12);
    assert_eq!(rotated(&Point { x: 1.0, y: 2.0 }, 0.0), Point { x: 1.0, y: 2.0 });
}

/// A macro that names the record by `$crate`.
macro_rules! norm_of_point {
    ($name:ident, $record:path) => {
        #[kernel]
        fn $name(p: &$crate::Point) -> f64 {
            let q: $record = $crate::Point { x: p.x, y: p.y };
            (q.x * q.x + q.y * q.y).sqrt()
        }
    };
}

norm_of_point!(norm, Point);

#[test]
fn records_of_macros() {
    assert_eq!(norm(&Point { x: 3.0, y: 4.0 }), 5.0);
    let g = grad(norm)(&Point { x: 3.0, y: 4.0 });
    assert_close((g.x, g.y), (0.6, 0.8), 1e-12);
    assert_gradient(|(x, y)| norm(&Point { x: *x, y: *y }), &(3.0, 4.0), &(g.x, g.y));
}

// Derivatives inside kernels.

#[kernel]
fn trained(net: &Net, x: [f64; features], steps: usize) -> (Net, f64) {
    let mut at = net;
    for _ in 0..steps {
        at -= 0.05 * grad(loss)(at, x);
    }
    let (value, slope) = jvp(|n: Net| loss(n, x))(at, net);
    let (_, (back, _)) = vjp(|n, by| step(n, by, 0.5))(at, net, Net { scale: slope, ..net });
    (back, value)
}

#[test]
fn kernels_take_gradients_by_records() {
    let x = array![1.0, 2.0];
    let (back, value) = trained(&net(), &x, 0);
    assert_close(value, loss(&net(), &x), 1e-12);
    assert_close(back.scale, jvp(loss)(&net(), &x, &net()).1, 1e-12);
    assert_eq!((back.w, back.b), (net().w, net().b));
    assert!(trained(&net(), &x, 5).1 < value);
    let check = check_grad(trained, (&net(), &x, 2)).unwrap();
    assert!(check.agrees(1e-5), "{check}");
}

#[kernel]
fn inside(s: &Stack, x: [f64; width], rest: &Layer) -> (Stack, Layer, f64) {
    let (_, (by_stack, by_rest)) = value_and_grad(|s, r| deep((s, x), r))(s, rest);
    let (_, slope) = jvp(|s: Stack| deep((s, x), rest))(s, s);
    (by_stack, by_rest, slope)
}

#[test]
fn gradients_inside_have_zeros_for_what_is_no_float() {
    let (s, x, last) = (stack(), array![0.25, -0.5], model::identity(2));
    let ((expected, _), by_last) = grad(deep)((&s, &x), &last);
    let (by_stack, by_rest, slope) = inside(&s, &x, &last);
    assert_eq!((by_stack.first.kind, by_stack.rest()), (0, (&array![0, 0, 0], false)));
    assert_close(by_stack.first.w, expected.first.w, 1e-12);
    assert_close(by_stack.gains, expected.gains, 1e-12);
    assert_close(by_rest.w, by_last.w, 1e-12);
    let (_, found) =
        jvp(deep)((&s, &x), &last, (&s, &Array1::zeros(2)), &Layer { w: Array2::zeros((2, 2)), kind: 5 });
    assert_close(slope, found, 1e-12);
}

// A rule of one's own.

#[kernel(vjp = clipped_rule)]
fn clipped(p: &Point) -> Point {
    Point { x: p.x.min(1.0), y: p.y.min(1.0) }
}

/// Lets the cotangent through where the value is clipped.
#[kernel]
fn clipped_rule(_p: &Point, by: &Point) -> Point {
    by
}

#[test]
fn rules_take_and_give_records() {
    let (p, by) = (Point { x: 3.0, y: 0.5 }, Point { x: 2.0, y: 5.0 });
    assert_eq!(vjp(clipped)(&p, &by), (Point { x: 1.0, y: 0.5 }, by));
}

// A record that stands in another one several times: sizes of its own in each place.

#[derive(Record, Clone, Debug, PartialEq)]
struct Dense {
    #[shape(before, after)]
    w: Array2<f64>,
    #[shape(after)]
    b: Array1<f64>,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Layers {
    first: Dense,
    second: Dense,
    last: (Dense, f64),
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Head {
    dense: Dense,
    scale: f64,
}

fn dense(before: usize, after: usize) -> Dense {
    let w = Array2::from_shape_fn((before, after), |(i, j)| 0.3 * (i as f64) - 0.2 * (j as f64) + 0.1);
    Dense { w, b: Array1::from_shape_fn(after, |j| 0.1 * j as f64) }
}

fn layers() -> Layers {
    Layers { first: dense(2, 3), second: dense(3, 4), last: (dense(4, 1), 0.5) }
}

#[kernel]
fn through(layer: &Dense, x: [f64; before]) -> [f64; after] {
    (x * transpose(layer.w)).sum() + layer.b
}

#[kernel]
fn predicted(net: &Layers, x: [f64; d]) -> f64 {
    let h = tanh(through(net.first, x));
    let h = tanh(through(net.second, h));
    net.last.1 * through(net.last.0, h).sum()
}

#[kernel]
fn moved(net: &Layers, by: &Layers, rate: f64) -> Layers {
    let Layers { first, second, .. } = net - rate * by;
    Layers { first, second, ..net }
}

#[kernel]
fn exchanged(net: &Layers) -> Layers {
    Layers { first: net.second, second: net.first, last: net.last }
}

#[kernel]
fn headed(head: &Head, x: [f64; before]) -> [f64; after] {
    head.scale * through(head.dense, x)
}

#[test]
fn layers_have_sizes_of_their_own() {
    let (net, x) = (layers(), array![0.5, -1.0]);
    let apply = |l: &Dense, x: &Array1<f64>| x.dot(&l.w) + &l.b;
    let h = apply(&net.second, &apply(&net.first, &x).mapv(f64::tanh)).mapv(f64::tanh);
    assert_close(predicted(&net, &x), 0.5 * apply(&net.last.0, &h).sum(), 1e-12);
    let check = check_grad(predicted, (&net, &x)).unwrap();
    assert!(check.agrees(1e-7), "{check}");
    let by = grad(predicted)(&net, &x).0;
    let next = moved(&net, &by, 0.1);
    assert_close(next.second.w, &net.second.w - 0.1 * &by.second.w, 1e-12);
    assert_eq!(next.last, net.last);
    let other = exchanged(&net);
    assert_eq!((&other.first, &other.second), (&net.second, &net.first));
    // One that stands alone there has names that the kernel can use.
    let head = Head { dense: dense(2, 3), scale: 2.0 };
    assert_close(headed(&head, &x), 2.0 * apply(&head.dense, &x), 1e-12);
}

#[test]
fn sizes_of_layers_are_checked() {
    fn start<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
        let text = result.unwrap_err().to_string();
        text.rsplit_once(" (").unwrap().0.to_string()
    }
    let x = array![0.5, -1.0];
    let wrong = Layers { first: Dense { b: Array1::zeros(4), ..dense(2, 3) }, ..layers() };
    assert_eq!(
        start(Cpu.run(predicted, (&wrong, &x))),
        "kernel `predicted`: argument `net.first.b`, dimension 0: expected first.after = 3 (from argument \
         `net.first.w`), found 4"
    );
    let other = Layers { second: dense(3, 5), ..layers() };
    assert_eq!(
        start(Cpu.run(predicted, (&other, &x))),
        "kernel `predicted`: sizes that must be equal differ: second.after = 5 and last.0.before = 4"
    );
    // Two values of one record have the same sizes.
    assert_eq!(
        start(Cpu.run(moved, (&layers(), &other, 0.1))),
        "kernel `moved`: argument `by.second.w`, dimension 1: expected second.after = 4 (from argument \
         `net.second.w`), found 5"
    );
}
