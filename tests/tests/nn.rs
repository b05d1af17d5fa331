//! Layers of networks: against loops over numbers, with derivatives to the second order.

use array_dsl::nn::{
    attention, avg_pool2d, causal_attention, conv1d, conv2d, conv2d_transpose, cross_entropy, gelu,
    layer_norm, max_pool2d, silu, upsample,
};
use array_dsl::prelude::*;
use ndarray::{Array, Array1, Array2, Array3, Array4, Dimension, ShapeBuilder, array};

#[path = "common/nn.rs"]
mod kernels;
use kernels::{f32s, f64s};

#[path = "common/host.rs"]
#[macro_use]
mod host;

host! {
    h_conv2d(x: [[[f64; w]; h]; c], k: [[[[f64; kw]; kh]; c]; o], stride: usize, padding: usize) -> [[[f64; _]; _]; o]
        = conv2d(x, k, stride, padding);
    h_batch(x: [[[[f64; w]; h]; c]; n], k: [[[[f64; kw]; kh]; c]; o], stride: usize) -> [[[[f64; _]; _]; o]; n] = conv2d(x, k, stride, 1);
    h_conv1d(x: [[f64; w]; c], k: [[[f64; kw]; c]; o], stride: usize, padding: usize) -> [[f64; _]; o] = conv1d(x, k, stride, padding);
    h_transposed(x: [[[f64; w]; h]; o], k: [[[[f64; kw]; kh]; c]; o], stride: usize, padding: usize) -> [[[f64; _]; _]; c]
        = conv2d_transpose(x, k, stride, padding);
    h_max(x: [[f64; w]; h], size: usize, stride: usize) -> [[f64; _]; _] = max_pool2d(x, size, stride);
    h_avg(x: [[[f64; w]; h]; c], size: usize, stride: usize) -> [[[f64; _]; _]; c] = avg_pool2d(x, size, stride);
    h_up(x: [[f64; w]; h], factor: usize) -> [[f64; factor * w]; factor * h] = upsample(x, factor);
    h_norm(x: [[f64; n]; b], gain: [f64; n], bias: [f64; n]) -> [[f64; n]; b] = layer_norm(x, gain, bias, 1e-3);
    h_attention(q: [[f64; d]; n], k: [[f64; d]; m], v: [[f64; e]; m]) -> [[f64; e]; n] = attention(q, k, v);
    h_heads(q: [[[f64; d]; n]; g], k: [[[f64; d]; m]; g], v: [[[f64; e]; m]; g]) -> [[[f64; e]; n]; g] = causal_attention(q, k, v);
    h_loss(z: [[f64; c]; n], y: [i64; n]) -> [f64; n] = cross_entropy(z, y);
    h_activations(x: [f64; n]) -> ([f64; n], [f64; n]) = (gelu(x), silu(x));
}

fn noise<Sh: ShapeBuilder<Dim = D>, D: Dimension>(shape: Sh, seed: u64) -> Array<f64, D> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    Array::from_shape_simple_fn(shape, || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    })
}

#[track_caller]
fn near<D: Dimension>(a: &Array<f64, D>, b: &Array<f64, D>, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    assert!((a - b).iter().all(|d| d.abs() <= tolerance), "{a}\n{b}");
}

/// Where place `i` of a filter's element `a` is, if it is inside.
fn at(i: usize, stride: usize, a: usize, padding: usize, extent: usize) -> Option<usize> {
    (i * stride + a).checked_sub(padding).filter(|y| *y < extent)
}

fn places(extent: usize, size: usize, stride: usize) -> usize {
    if extent < size { 0 } else { (extent - size) / stride + 1 }
}

fn filtered(x: &Array3<f64>, k: &Array4<f64>, stride: usize, padding: usize) -> Array3<f64> {
    let ((c, h, w), (o, _, kh, kw)) = (x.dim(), k.dim());
    let shape = (o, places(h + 2 * padding, kh, stride), places(w + 2 * padding, kw, stride));
    Array3::from_shape_fn(shape, |(f, i, j)| {
        let mut s = 0.0;
        for (g, a, b) in ndarray::indices((c, kh, kw)) {
            if let (Some(y), Some(z)) = (at(i, stride, a, padding, h), at(j, stride, b, padding, w)) {
                s += k[[f, g, a, b]] * x[[g, y, z]];
            }
        }
        s
    })
}

#[test]
fn filters_are_the_sums() {
    for (c, o, h, w, kh, kw, stride, padding) in [
        (1, 1, 1, 1, 1, 1, 1, 0),
        (2, 3, 5, 6, 3, 3, 1, 1),
        (2, 3, 5, 6, 3, 2, 2, 0),
        (3, 2, 7, 4, 2, 4, 3, 2),
        (1, 2, 2, 2, 3, 3, 2, 0),
        (2, 1, 0, 3, 1, 1, 1, 0),
        (0, 2, 3, 3, 2, 2, 1, 0),
        (2, 0, 3, 3, 2, 2, 1, 0),
        (2, 5, 30, 31, 3, 3, 1, 1),
    ] {
        let (x, k) = (noise((c, h, w), 1), noise((o, c, kh, kw), 2));
        let y = filtered(&x, &k, stride, padding);
        near(&h_conv2d(&x, &k, stride, padding), &y, 1e-12);
        if h > 0 {
            let line = x.index_axis(ndarray::Axis(1), 0).to_owned();
            let one = k.slice(ndarray::s![.., .., ..1, ..]).to_owned();
            let flat = filtered(&line.clone().insert_axis(ndarray::Axis(1)), &one, 1, 0);
            let found = h_conv1d(&line, &one.index_axis(ndarray::Axis(2), 0).to_owned(), 1, 0);
            near(&found, &flat.index_axis(ndarray::Axis(1), 0).to_owned(), 1e-12);
        }
        // The transposed one is that of the same sums: <conv(x), y> is <x, transposed(y)> where all of x is read.
        let back = h_transposed(&y, &k, stride, padding);
        let size = |places: usize, k: usize| {
            ((places as i64 - 1) * stride as i64 + k as i64 - 2 * padding as i64).max(0) as usize
        };
        assert_eq!(back.dim(), (c, size(y.dim().1, kh), size(y.dim().2, kw)));
        if back.dim() == x.dim() {
            assert!(((&y * &y).sum() - (&back * &x).sum()).abs() < 1e-9 * (1.0 + (&y * &y).sum()));
        }
    }
    let (x, k) = (noise((3, 2, 5, 5), 3), noise((4, 2, 3, 3), 4));
    for stride in [1, 2] {
        let all = h_batch(&x, &k, stride);
        for n in 0..3 {
            let one = x.index_axis(ndarray::Axis(0), n).to_owned();
            near(&all.index_axis(ndarray::Axis(0), n).to_owned(), &filtered(&one, &k, stride, 1), 1e-13);
        }
    }
}

#[test]
fn pools() {
    for (h, w, size, stride) in [(4, 6, 2, 2), (5, 5, 3, 1), (5, 4, 2, 3), (1, 4, 2, 1), (3, 3, 1, 1)] {
        let x = noise((h, w), 5);
        let shape = (places(h, size, stride), places(w, size, stride));
        let square = |i: usize, j: usize| {
            x.slice(ndarray::s![i * stride..i * stride + size, j * stride..j * stride + size])
        };
        let top =
            Array2::from_shape_fn(shape, |(i, j)| square(i, j).fold(f64::NEG_INFINITY, |m, v| m.max(*v)));
        near(&h_max(&x, size, stride), &top, 0.0);
        let mean = Array2::from_shape_fn(shape, |(i, j)| square(i, j).sum() / (size * size) as f64);
        let all = h_avg(&x.clone().insert_axis(ndarray::Axis(0)), size, stride);
        near(&all.index_axis(ndarray::Axis(0), 0).to_owned(), &mean, 1e-15);
        near(&h_up(&x, 3), &Array2::from_shape_fn((3 * h, 3 * w), |(i, j)| x[[i / 3, j / 3]]), 0.0);
    }
}

#[test]
fn rows_are_normal() {
    let (x, gain, bias) = (noise((3, 7), 6), noise(7, 7), noise(7, 8));
    let y = h_norm(&x, &gain, &bias);
    for i in 0..3 {
        let off = &x.row(i) - x.row(i).mean().unwrap();
        let expected = &off / ((&off * &off).mean().unwrap() + 1e-3).sqrt() * &gain + &bias;
        near(&y.row(i).to_owned(), &expected, 1e-14);
    }
    assert_eq!(h_norm(&Array2::zeros((2, 0)), &array![], &array![]).dim(), (2, 0));
}

fn attended(q: &Array2<f64>, k: &Array2<f64>, v: &Array2<f64>, causal: bool) -> Array2<f64> {
    let (n, m) = (q.nrows(), k.nrows());
    let mut result = Array2::zeros((n, v.ncols()));
    for i in 0..n {
        let seen = |j: usize| !causal || j + n <= i + m;
        let weight = Array1::from_shape_fn(m, |j| {
            if seen(j) { (q.row(i).dot(&k.row(j)) / (q.ncols() as f64).sqrt()).exp() } else { 0.0 }
        });
        result.row_mut(i).assign(&(weight.dot(v) / weight.sum()));
    }
    result
}

#[test]
fn attention_is_a_mean() {
    for (n, m, d, e) in [(1, 1, 1, 1), (3, 5, 2, 4), (4, 4, 3, 3)] {
        let (q, k, v) = (noise((n, d), 9), noise((m, d), 10), noise((m, e), 11));
        near(&h_attention(&q, &k, &v), &attended(&q, &k, &v, false), 1e-14);
        let head = |x: &Array2<f64>| x.clone().insert_axis(ndarray::Axis(0));
        let found = h_heads(&head(&q), &head(&k), &head(&v));
        near(&found.index_axis(ndarray::Axis(0), 0).to_owned(), &attended(&q, &k, &v, true), 1e-14);
    }
    let none = h_attention(&noise((2, 3), 1), &Array2::zeros((0, 3)), &Array2::zeros((0, 4)));
    assert_eq!(none, Array2::<f64>::zeros((2, 4)));
}

#[test]
fn losses_and_activations() {
    let z = noise((3, 4), 12);
    let loss = h_loss(&z, &array![0, 3, 1]);
    for (i, y) in [0, 3, 1].into_iter().enumerate() {
        let expected = z.row(i).mapv(f64::exp).sum().ln() - z[[i, y]];
        assert!((loss[i] - expected).abs() < 1e-14);
    }
    assert!(Cpu.run(h_loss, (&z, &array![0, 4, 1])).is_err(), "a label outside");
    let (by_error, by_sigmoid) = h_activations(&array![-40.0, -1.0, 0.0, 2.0, 40.0]);
    near(&by_error, &array![0.0, -0.158_655_253_931_457_05, 0.0, 1.954_499_736_103_641_6, 40.0], 1e-15);
    near(
        &by_sigmoid,
        &array![-40.0 * (-40f64).exp(), -1.0 / (1.0 + 1f64.exp()), 0.0, 2.0 / (1.0 + (-2f64).exp()), 40.0],
        1e-15,
    );
}

macro_rules! derivatives {
    ($($name:ident)*) => {
        #[test]
        fn derivatives_to_the_second_order() {
            let (x, k) = (noise((2, 4, 5), 21), noise((3, 2, 3, 2), 22));
            let (dx, dk, h) = (noise((2, 4, 5), 23), noise((3, 2, 3, 2), 24), 1e-5);
            $({
                check_grad(f64s::$name, (&x, &k)).unwrap().assert();
                let at = |t: f64| grad(f64s::$name)(&(&x + &(t * &dx)), &(&k + &(t * &dk)));
                let ((px, pk), (mx, mk)) = (at(h), at(-h));
                let (hx, hk) = hvp(f64s::$name)(&x, &k, &dx, &dk);
                let scale = 1.0 + hx.iter().chain(&hk).fold(0.0f64, |m, v| m.max(v.abs()));
                near(&hx, &((px - mx) / (2.0 * h)), 1e-7 * scale);
                near(&hk, &((pk - mk) / (2.0 * h)), 1e-7 * scale);
                let (value, (sx, _)) = value_and_grad(f32s::$name)(&x.mapv(|x| x as f32), &k.mapv(|x| x as f32));
                let (expected, (ex, _)) = value_and_grad(f64s::$name)(&x, &k);
                assert!((f64::from(value) - expected).abs() < 1e-4 * (1.0 + expected.abs()));
                near(&sx.mapv(f64::from), &ex, 1e-3 * scale);
            })*
        }
    };
}

derivatives! { of_filters of_pools of_layers }
