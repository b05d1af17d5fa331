//! Rows in order, of every type: against the host's stable sort.

use array_dsl_runtime::gpu::{Gpu, GpuArray, GpuElem, GpuInput};
use array_dsl_runtime::program::{Elem, GpuArrayInfo, GpuHome, GpuProgram, GpuStep, Poly, Sorted};
use ndarray::{Array2, Ix2};

use super::{gpu, noise};

const N: Poly = Poly(&[(1, &[0])]);
const M: Poly = Poly(&[(1, &[1])]);

/// The program `o = argsort x; y = sort x` of rows.
macro_rules! sorts {
    ($name:ident, $elem:ident) => {
        static $name: GpuProgram = GpuProgram {
            name: stringify!($name),
            arrays: &[
                GpuArrayInfo { name: "x", elem: Elem::$elem, dims: &[N, M], home: GpuHome::Input },
                GpuArrayInfo { name: "o", elem: Elem::I64, dims: &[N, M], home: GpuHome::Heap },
                GpuArrayInfo { name: "y", elem: Elem::$elem, dims: &[N, M], home: GpuHome::Heap },
            ],
            inputs: &[0],
            results: &[1, 2],
            steps: &[
                GpuStep::Sort {
                    label: "positions",
                    sorted: Sorted::Positions,
                    result: 1,
                    keys: 0,
                    rows: &[N],
                    length: M,
                },
                GpuStep::Sort {
                    label: "values",
                    sorted: Sorted::Values,
                    result: 2,
                    keys: 0,
                    rows: &[N],
                    length: M,
                },
            ],
            sites: &[],
        };
    };
}

sorts!(F32, F32);
sorts!(F64, F64);
sorts!(I32, I32);
sorts!(I64, I64);
sorts!(U32, U32);
sorts!(BOOL, Bool);

/// Rows of which many fit a tile, two, one, and none; many rows; with tiles that a thread, and a workgroup, goes through.
const SHAPES: [(usize, usize); 18] = [
    (0, 5),
    (5, 0),
    (1, 1),
    (3, 2),
    (40, 33),
    (5000, 1),
    (5000, 3),
    (700, 16),
    (33, 1024),
    (7, 255),
    (2, 2047),
    (3, 2048),
    (2, 2049),
    (5, 4097),
    (1, 100_000),
    (33, 6000),
    (2, 200_001),
    (1, 1 << 20),
];

/// Sorts rows of so many elements, which `order` compares, and looks at positions and elements. Elements are compared by `bits`.
fn agrees<T: GpuElem + Copy>(
    gpu: &Gpu,
    program: &'static GpuProgram,
    x: &Array2<T>,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
    bits: impl Fn(T) -> u64,
) {
    let on_gpu = gpu.upload(x).unwrap();
    let sizes = [x.nrows() as i64, x.ncols() as i64];
    let results = gpu.execute(program, &[GpuInput::Array(on_gpu.buffer())], &sizes).unwrap();
    let dim = Ix2(x.nrows(), x.ncols());
    let at: Array2<i64> = GpuArray::from_buffer(gpu, results[0].clone(), dim).download().unwrap();
    let y: Array2<T> = GpuArray::from_buffer(gpu, results[1].clone(), dim).download().unwrap();
    for (k, row) in x.rows().into_iter().enumerate() {
        let mut expected: Vec<i64> = (0..x.ncols() as i64).collect();
        expected.sort_by(|a, b| order(&row[*a as usize], &row[*b as usize]));
        for (i, p) in expected.into_iter().enumerate() {
            let shape = x.dim();
            assert_eq!(at[[k, i]], p, "{} {shape:?}: position {i} of row {k}", program.name);
            assert_eq!(bits(y[[k, i]]), bits(row[p as usize]), "{} {shape:?}: {i} of row {k}", program.name);
        }
    }
}

/// NaN last, zeros equal.
fn floats(a: f64, b: f64) -> std::cmp::Ordering {
    a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal))
}

#[test]
fn every_type_and_shape() {
    let Some(gpu) = gpu() else { return };
    for shape in SHAPES {
        let x = Array2::from_shape_vec(shape, noise(shape.0 * shape.1, 3)).unwrap();
        // Many ties, both zeros, infinities, and NaN of both signs.
        let f = x.mapv(|v: f32| match (v * 40.0) as i32 {
            -30 => f32::NAN,
            -29 => -f32::NAN,
            -28 => f32::INFINITY,
            -27 => f32::NEG_INFINITY,
            -26 => 1e-40,
            0 => v.signum() * 0.0,
            1..10 => (v * 20.0).round(),
            _ => v * 1e3,
        });
        agrees(&gpu, &F32, &f, |a, b| floats((*a).into(), (*b).into()), |v| v.to_bits().into());
        let i = x.mapv(|v| (v * 2.0e9) as i32 / if v > 0.0 { 1 << 20 } else { 1 });
        agrees(&gpu, &I32, &i, i32::cmp, |v| u64::from(v as u32));
        agrees(&gpu, &U32, &i.mapv(|v| v as u32), u32::cmp, u64::from);
        agrees(&gpu, &BOOL, &x.mapv(|v| v > 0.3), bool::cmp, u64::from);
        if shape.0 * shape.1 > 500_000 {
            continue;
        }
        let can = gpu.upload(&ndarray::arr1(&[1i64])).is_ok();
        if can {
            // The same high words, the same low words, and neither.
            let long = i.mapv(|v| match v % 3 {
                0 => i64::from(v) << 32,
                1 => i64::from(v),
                _ => i64::from(v).wrapping_mul(0x1_0000_0F01),
            });
            agrees(&gpu, &I64, &long, i64::cmp, |v| v as u64);
        }
        if gpu.upload(&ndarray::arr1(&[1f64])).is_ok() && can {
            let double = f.mapv(|v| if v.abs() > 500.0 { f64::from(v) * 1e200 + 1e-9 } else { f64::from(v) });
            agrees(&gpu, &F64, &double, |a, b| floats(*a, *b), f64::to_bits);
        }
    }
}

/// At 2^20 elements: no more dispatches than passes have steps.
#[test]
fn few_dispatches() {
    let Some(gpu) = gpu() else { return };
    let run = |shape: (usize, usize)| {
        let x = gpu.upload(&Array2::<f32>::zeros(shape)).unwrap();
        let before = gpu.statistics().dispatches;
        gpu.execute(&F32, &[GpuInput::Array(x.buffer())], &[shape.0 as i64, shape.1 as i64]).unwrap();
        gpu.statistics().dispatches - before
    };
    assert_eq!(run((1, 1 << 20)), 2 * 12);
    assert_eq!(run((300, 2048)), 2);
}
