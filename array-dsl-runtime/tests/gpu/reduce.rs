//! Reductions, both ways.

use array_dsl_runtime::gpu::{Gpu, GpuArray, GpuElem, GpuInput};
use array_dsl_runtime::program::{Access, Elem, GpuHome, GpuProgram, GpuStep, Shader, Word};
use ndarray::{Array1, Array2, Axis, Ix1};

use crate::programs::{M, N, array, main};
use crate::{gpu, noise};

/// The shaders and the program `y[i] = reducer over j of x[i, j]`, `i < n`, `j < m`.
macro_rules! rows {
    ($name:ident, $elem:ident, $wgsl:literal, $neutral:literal, $pair:literal) => {
        static $name: GpuProgram = GpuProgram {
            name: stringify!($name),
            arrays: &[
                array("x", Elem::$elem, &[N, M], GpuHome::Input),
                array("y", Elem::$elem, &[N], GpuHome::Heap),
                array("kept", Elem::U32, &[], GpuHome::Heap),
            ],
            inputs: &[0],
            results: &[1],
            steps: &[GpuStep::Reduce {
                points: Shader {
                    label: "points",
                    wgsl: concat!(
                        "@group(0) @binding(2) var<storage, read> x: array<", $wgsl, ">;
                        @group(0) @binding(3) var<storage, read_write> y: array<", $wgsl, ">;\n",
                        main!(
                            "",
                            "let i = (wg.x + wg.y * num_wg.x) * 256u + local;
                            if i >= words[0].x { return; }
                            var acc = neutral();
                            for (var j = 0u; j < words[0].y; j++) { acc = pair(acc, x[i * words[0].y + j]); }
                            y[i] = acc;\n"
                        ),
                        "fn neutral() -> ", $wgsl, " { return ", $neutral, "; }
                        fn pair(x: ", $wgsl, ", y: ", $wgsl, ") -> ", $wgsl, " { return ", $pair, "; }"
                    ),
                    words: &[Word::Size(N), Word::Size(M)],
                    sizes: &[],
                    bindings: &[(0, Access::Read), (1, Access::Write)],
                    status: false,
                    each: 1,
                    ends: None,
                    needs: &[],
                },
                outer: &[N],
                inner: &[M],
                groups: Shader {
                    label: "groups",
                    wgsl: concat!(
                        "@group(0) @binding(2) var<storage, read> x: array<", $wgsl, ">;
                        @group(0) @binding(3) var<storage, read_write> y: array<", $wgsl, ">;
                        @group(0) @binding(4) var<storage, read_write> kept: array<u32>;
                        var<workgroup> partial: array<", $wgsl, ", 256>;\n",
                        main!(
                            "2",
                            "",
                            "let g = wg.x + wg.y * num_wg.x;
                            let parts = words[0].z;
                            let lanes = words[0].w;
                            let is_second = words[1].x == 1u;
                            let members = 256u / lanes;
                            let share = select(parts, 1u, is_second);
                            let lane = select(local % lanes, local / members, is_second);
                            let i = g / share * members + select(local / lanes, local % members, is_second);
                            var acc = neutral();
                            if i < words[0].x && is_second {
                                for (var j = lane; j < parts; j += lanes) {
                                    acc = pair(acc, bitcast_of(kept[j * words[0].x + i]));
                                }
                            } else if i < words[0].x {
                                for (var j = (g % parts) * lanes + lane; j < words[0].y; j += parts * lanes) {
                                    acc = pair(acc, x[i * words[0].y + j]);
                                }
                            }
                            partial[local] = acc;
                            workgroupBarrier();
                            for (var half = lanes / 2u; half > 0u; half /= 2u) {
                                let other = local + select(half, half * members, is_second);
                                if lane < half { partial[local] = pair(partial[local], partial[other]); }
                                workgroupBarrier();
                            }
                            if lane == 0u && i < words[0].x {
                                if is_second || parts == 1u {
                                    y[i] = partial[local];
                                } else {
                                    kept[g % parts * words[0].x + i] = bitcast<u32>(partial[local]);
                                }
                            }\n"
                        ),
                        "fn neutral() -> ", $wgsl, " { return ", $neutral, "; }
                        fn bitcast_of(x: u32) -> ", $wgsl, " { return bitcast<", $wgsl, ">(x); }
                        fn pair(x: ", $wgsl, ", y: ", $wgsl, ") -> ", $wgsl, " { return ", $pair, "; }"
                    ),
                    words: &[Word::Size(N), Word::Size(M), Word::Parts, Word::Each, Word::Stage],
                    sizes: &[],
                    bindings: &[(0, Access::Read), (1, Access::Write), (2, Access::Write)],
                    status: false,
                    each: 1,
                    ends: None,
                    needs: &[],
                },
                tiles: None,
                across: false,
                words: 1,
                scratch: 2,
            }],
            sites: &[],
        };
    };
}

rows!(SUM, F32, "f32", "0.0", "x + y");
rows!(PRODUCT, I32, "i32", "1", "x * y");
rows!(MINIMUM, F32, "f32", "3.4e38", "min(x, y)");
rows!(MAXIMUM, I32, "i32", "-2147483647", "max(x, y)");
rows!(ALL, Bool, "u32", "1u", "x & y");
rows!(ANY, Bool, "u32", "0u", "x | y");

const SHAPES: [(usize, usize); 10] = [
    (1, 3_000_000),
    (3, 100_000),
    (100_000, 3),
    (0, 5),
    (5, 0),
    (0, 100),
    (1, 1),
    (700, 33),
    (1, 5000),
    (20_000, 40),
];

fn run<T: GpuElem>(gpu: &Gpu, program: &'static GpuProgram, x: &Array2<T>) -> Array1<T> {
    let on_gpu = gpu.upload(x).unwrap();
    let sizes = [x.nrows() as i64, x.ncols() as i64];
    let results = gpu.execute(program, &[GpuInput::Array(on_gpu.buffer())], &sizes).unwrap();
    GpuArray::<T, Ix1>::from_buffer(gpu, results[0].clone(), Ix1(x.nrows())).download().unwrap()
}

#[test]
fn sums() {
    let Some(gpu) = gpu() else { return };
    for shape in SHAPES {
        let x = Array2::from_shape_vec(shape, noise(shape.0 * shape.1, 4)).unwrap();
        let y = run(&gpu, &SUM, &x);
        let expected = x.mapv(f64::from).sum_axis(Axis(1));
        assert_eq!(y.len(), shape.0);
        let bound = 1e-6 * (shape.1 as f64).max(1.0);
        assert!(y.iter().zip(&expected).all(|(y, e)| (f64::from(*y) - e).abs() <= bound), "{shape:?}");
    }
}

#[test]
fn every_operator() {
    let Some(gpu) = gpu() else { return };
    for shape in SHAPES {
        let x = Array2::from_shape_vec(shape, noise(shape.0 * shape.1, 5)).unwrap();
        let i = x.mapv(|x| (x * 1e6) as i32 | 1);
        let b = Array2::from_shape_fn(shape, |(i, j)| (i * 7 + j) % 1000 != 999);
        fn fold<T: Copy>(x: &Array2<T>, neutral: T, pair: fn(T, T) -> T) -> Array1<T> {
            x.map_axis(Axis(1), |row| row.fold(neutral, |a, b| pair(a, *b)))
        }
        assert_eq!(run(&gpu, &MINIMUM, &x), fold(&x, 3.4e38, f32::min), "{shape:?}");
        assert_eq!(run(&gpu, &PRODUCT, &i), fold(&i, 1, i32::wrapping_mul), "{shape:?}");
        assert_eq!(run(&gpu, &MAXIMUM, &i), fold(&i, -i32::MAX, i32::max), "{shape:?}");
        assert_eq!(run(&gpu, &ALL, &b), fold(&b, true, |a, b| a & b), "{shape:?}");
        let none = b.mapv(|b| !b);
        assert_eq!(run(&gpu, &ANY, &none), fold(&none, false, |a, b| a | b), "{shape:?}");
    }
}
