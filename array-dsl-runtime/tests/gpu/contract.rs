//! Sums of products against the definition.

use array_dsl_runtime::gpu::{Gpu, GpuArray, GpuInput};
use array_dsl_runtime::program::{Elem, GpuHome, GpuProgram, GpuStep, Poly};
use ndarray::{Array1, Ix1};

use crate::programs::array;
use crate::{gpu, noise};

const E: [Poly; 5] =
    [Poly(&[(1, &[0])]), Poly(&[(1, &[1])]), Poly(&[(1, &[2])]), Poly(&[(1, &[3])]), Poly(&[(1, &[4])])];

/// A program with its axes, which are also size atoms.
struct Case {
    program: &'static GpuProgram,
    out: &'static [usize],
    a: &'static [usize],
    b: &'static [usize],
}

macro_rules! case {
    ([$($a:literal),*] * [$($b:literal),*] -> [$($out:literal),*]) => {{
        static PROGRAM: GpuProgram = GpuProgram {
            name: "product",
            arrays: &[
                array("a", Elem::F32, &[$(E[$a]),*], GpuHome::Input),
                array("b", Elem::F32, &[$(E[$b]),*], GpuHome::Input),
                array("y", Elem::F32, &[$(E[$out]),*], GpuHome::Heap),
            ],
            inputs: &[0, 1],
            results: &[2],
            steps: &[GpuStep::Contract { label: "product", extents: &E, out: (2, &[$($out),*]), a: (0, &[$($a),*]), b: (1, &[$($b),*]) }],
            sites: &[],
        };
        Case { program: &PROGRAM, out: &[$($out),*], a: &[$($a),*], b: &[$($b),*] }
    }};
}

/// The place in an array with these axes.
fn place(axes: &[usize], extents: &[usize], index: &[usize]) -> usize {
    axes.iter().fold(0, |at, axis| at * extents[*axis] + index[*axis])
}

fn size(axes: &[usize], extents: &[usize]) -> usize {
    axes.iter().map(|axis| extents[*axis]).product()
}

fn check(gpu: &Gpu, case: &Case, extents: [usize; 5]) {
    let (a, b) = (noise(size(case.a, &extents), 6), noise(size(case.b, &extents), 7));
    let uploaded = [&a, &b].map(|x| gpu.upload(&Array1::from_vec(x.clone())).unwrap());
    let inputs = [GpuInput::Array(uploaded[0].buffer()), GpuInput::Array(uploaded[1].buffer())];
    let results = gpu.execute(case.program, &inputs, &extents.map(|e| e as i64)).unwrap();
    let length = size(case.out, &extents);
    let y = GpuArray::<f32, Ix1>::from_buffer(gpu, results[0].clone(), Ix1(length)).download().unwrap();

    // Axes that occur nowhere have extent 1 here.
    let mut expected = vec![0f64; length];
    for at in 0..extents.iter().product() {
        let mut rest: usize = at;
        let mut index = [0; 5];
        for axis in (0..5).rev() {
            index[axis] = rest % extents[axis];
            rest /= extents[axis];
        }
        let product =
            f64::from(a[place(case.a, &extents, &index)]) * f64::from(b[place(case.b, &extents, &index)]);
        expected[place(case.out, &extents, &index)] += product;
    }
    let sums: usize = (0..5).filter(|axis| !case.out.contains(axis)).map(|axis| extents[axis]).product();
    let bound = 1e-6 * (sums as f64).sqrt().max(1.0) * 4.0;
    // Not `f64::max`, which would drop a NaN.
    let off = y.iter().zip(&expected).map(|(y, e)| (f64::from(*y) - e).abs());
    let worst = off.fold(0.0, |m: f64, d| if m.is_nan() || d <= m { m } else { d });
    assert!(worst <= bound, "{:?} * {:?} -> {:?} with {extents:?}: off by {worst}", case.a, case.b, case.out);
}

#[test]
fn matrix_products_of_odd_sizes_in_all_layouts() {
    let Some(gpu) = gpu() else { return };
    let cases = [
        case!([0, 2] * [2, 1] -> [0, 1]),
        case!([2, 0] * [2, 1] -> [0, 1]),
        case!([0, 2] * [1, 2] -> [0, 1]),
        case!([2, 0] * [1, 2] -> [0, 1]),
        case!([0, 2] * [2, 1] -> [1, 0]),
        case!([2, 0] * [1, 2] -> [1, 0]),
    ];
    let sizes = [1, 7, 65, 130];
    for case in &cases {
        for n in sizes {
            for m in sizes {
                for k in [0, 1, 7, 65] {
                    check(&gpu, case, [n, m, k, 1, 1]);
                }
            }
        }
        check(&gpu, case, [17, 12, 3000, 1, 1]);
    }
    check(&gpu, &cases[0], [0, 5, 5, 1, 1]);
}

#[test]
fn large_tiles() {
    let Some(gpu) = gpu() else { return };
    // 8 x 8 tiles of 128 x 128, the last ones incomplete.
    check(&gpu, &case!([0, 2] * [2, 1] -> [0, 1]), [1000, 901, 5, 1, 1]);
    check(&gpu, &case!([2, 0] * [1, 2] -> [0, 1]), [901, 1000, 13, 1, 1]);
}

#[test]
fn narrow_results() {
    let Some(gpu) = gpu() else { return };
    for narrow in [2, 4, 10, 16, 17] {
        for (long, k) in [(1, 300), (600, 9), (70, 1100)] {
            check(&gpu, &case!([0, 2] * [2, 1] -> [0, 1]), [long, narrow, k, 1, 1]);
            check(&gpu, &case!([2, 0] * [1, 2] -> [0, 1]), [long, narrow, k, 1, 1]);
            check(&gpu, &case!([0, 2] * [2, 1] -> [0, 1]), [narrow, long, k, 1, 1]);
            check(&gpu, &case!([3, 2, 0] * [3, 1, 2] -> [3, 0, 1]), [narrow, long, k, 3, 1]);
        }
    }
}

#[test]
fn vectors() {
    let Some(gpu) = gpu() else { return };
    for (n, k) in [(1, 1), (5, 70), (300, 1000), (1, 100_000), (3000, 17)] {
        check(&gpu, &case!([0, 2] * [2] -> [0]), [n, 1, k, 1, 1]);
        check(&gpu, &case!([2, 0] * [2] -> [0]), [n, 1, k, 1, 1]);
        check(&gpu, &case!([2] * [2, 1] -> [1]), [1, n, k, 1, 1]);
        check(&gpu, &case!([2] * [2] -> []), [1, 1, k, 1, 1]);
        check(&gpu, &case!([0] * [1] -> [0, 1]), [n, 70, 1, 1, 1]);
    }
}

#[test]
fn several_axes_of_a_class() {
    let Some(gpu) = gpu() else { return };
    let cases = [
        // Batches, in front, in the middle and behind.
        case!([3, 0, 2] * [3, 2, 1] -> [3, 0, 1]),
        case!([0, 3, 2] * [2, 3, 1] -> [0, 3, 1]),
        case!([0, 2, 3] * [2, 1, 3] -> [0, 1, 3]),
        // Two axes of rows, of columns, of sums, that merge and that do not.
        case!([0, 3, 2] * [2, 1] -> [0, 3, 1]),
        case!([0, 2, 3] * [2, 1] -> [3, 0, 1]),
        case!([0, 2] * [1, 2, 3] -> [0, 1, 3]),
        case!([0, 2, 3] * [3, 2, 1] -> [0, 1]),
        case!([0, 2, 3] * [2, 3, 1] -> [0, 1]),
        case!([4, 0, 2, 3] * [3, 1, 2, 4] -> [1, 4, 0]),
        case!([4, 0, 2, 3] * [3, 1, 2] -> [1, 4, 0]),
        // Sums over one operand only, a result axis in neither, a diagonal.
        case!([0, 2, 3] * [1, 2] -> [0, 1]),
        case!([0, 0, 2] * [1, 2] -> [0, 1]),
        case!([3, 0] * [3, 0] -> [3, 0]),
        case!([3, 0] * [3] -> [0]),
    ];
    for case in &cases {
        let used = |axis: usize| [case.out, case.a, case.b].iter().any(|axes| axes.contains(&axis));
        for extents in [[3, 4, 5, 2, 3], [10, 9, 17, 3, 2], [20, 70, 33, 2, 4], [1, 9, 1, 5, 1]] {
            let mut extents = extents;
            for (axis, extent) in extents.iter_mut().enumerate() {
                if !used(axis) {
                    *extent = 1;
                }
            }
            check(&gpu, case, extents);
        }
    }
}
