//! Elementwise programs, fills, copies, results that share memory.

use array_dsl_runtime::gpu::{GpuArray, GpuInput};
use array_dsl_runtime::program::{
    Access, Check, CheckKind, Elem, GpuHome, GpuProgram, GpuStep, Poly, Shader, Site, Word,
};
use ndarray::{Array1, Array2, ArrayD, Axis, Ix0, Ix1, Ix2, IxDyn, arr0, array, s};

use crate::programs::{M, N, SCALED, SCALED_TWICE, array, main};
use crate::{gpu, noise};

#[test]
fn more_points_than_one_row_of_workgroups_has() {
    let Some(gpu) = gpu() else { return };
    // 65,535 groups of 256 threads are fewer than 17 million.
    for n in [1, 255, 256, 257, 5_000_000, 17_000_000] {
        let x = Array1::from_vec(noise(n, 1));
        let on_gpu = gpu.upload(&x).unwrap();
        let inputs = [GpuInput::Array(on_gpu.buffer()), GpuInput::scalar(2f32)];
        let results = gpu.execute(&SCALED, &inputs, &[n as i64]).unwrap();
        let y = GpuArray::<f32, Ix1>::from_buffer(&gpu, results[0].clone(), Ix1(n)).download().unwrap();
        assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 1.0), "n = {n}");
    }
}

#[test]
fn steps_see_what_earlier_steps_wrote() {
    let Some(gpu) = gpu() else { return };
    let x = Array1::from_vec(noise(1000, 2));
    let mut on_gpu = gpu.upload(&x).unwrap();
    // More dispatches than a batch holds, each depending on the one before.
    for _ in 0..100 {
        let inputs = [GpuInput::Array(on_gpu.buffer()), GpuInput::scalar(0.5f32)];
        let results = gpu.execute(&SCALED_TWICE, &inputs, &[1000]).unwrap();
        on_gpu = GpuArray::from_buffer(&gpu, results[0].clone(), Ix1(1000));
    }
    let expected = x.mapv(|x| (0..200).fold(x, |x, _| 0.5 * x + 1.0));
    assert_eq!(on_gpu.download().unwrap(), expected);
}

#[test]
fn arrays_of_every_type_and_layout_come_back() {
    let Some(gpu) = gpu() else { return };
    let f = array![[1.5f32, -0.0, f32::INFINITY], [f32::MIN_POSITIVE, 3.0, -7.25]];
    assert_eq!(gpu.upload(&f).unwrap().download().unwrap(), f);
    assert_eq!(gpu.upload(&f.t()).unwrap().download().unwrap(), f.t());
    assert_eq!(gpu.upload(&f.slice(s![.., ..;-2])).unwrap().download().unwrap(), f.slice(s![.., ..;-2]));
    assert_eq!(gpu.upload(&f.index_axis(Axis(1), 1)).unwrap().shape(), [2]);
    let i = array![i32::MIN, -1, 0, i32::MAX];
    assert_eq!(gpu.upload(&i).unwrap().download().unwrap(), i);
    let u = array![0, u32::MAX];
    assert_eq!(gpu.upload(&u).unwrap().download().unwrap(), u);
    let b = array![[true], [false], [true]];
    assert_eq!(gpu.upload(&b).unwrap().download().unwrap(), b);
    assert_eq!(gpu.upload(&arr0(2.5f32)).unwrap().item(), Ok(2.5));
    // Numbers of 64 bits, contiguous and not.
    let d = array![[0.1f64, -0.0, f64::INFINITY], [5e-324, 3.0, -7.25]];
    let l = array![[i64::MIN, -1, 0], [1, 1 << 40, i64::MAX]];
    assert_eq!(gpu.upload(&d).unwrap().download().unwrap(), d);
    assert_eq!(gpu.upload(&l).unwrap().download().unwrap(), l);
    assert_eq!(gpu.upload(&d.t()).unwrap().download().unwrap(), d.t());
    assert_eq!(gpu.upload(&l.t()).unwrap().download().unwrap(), l.t());
    let empty = Array2::<f32>::zeros((0, 5));
    assert_eq!(gpu.upload(&empty).unwrap().download().unwrap(), empty);
    let any = ArrayD::<f32>::ones(IxDyn(&[2, 1, 3]));
    assert_eq!(gpu.upload(&any).unwrap().download().unwrap(), any);
}

#[test]
fn large_arrays_move_in_pieces() {
    let Some(gpu) = gpu() else { return };
    let x = Array1::from_iter((0..18_000_000u32).map(|i| i.wrapping_mul(2_654_435_761)));
    assert!(gpu.upload(&x).unwrap().download().unwrap() == x);
}

/// `n` is atom 0. Array 0 is filled with ones, 1 with zeros, 2 is a copy of 0, 3 a view of 2, 4 the scalar
/// `s`.
static FILLED: GpuProgram = GpuProgram {
    name: "filled",
    arrays: &[
        array("ones", Elem::F32, &[N], GpuHome::Heap),
        array("zeros", Elem::I32, &[N, N], GpuHome::Heap),
        array("copy", Elem::F32, &[N], GpuHome::Heap),
        array("view", Elem::F32, &[Poly(&[(1, &[])]), N], GpuHome::View(2)),
        array("s", Elem::F32, &[], GpuHome::HostScalar),
        array("x", Elem::F32, &[N], GpuHome::Input),
        array("dropped", Elem::F32, &[N], GpuHome::Nowhere),
    ],
    inputs: &[4, 5, 6],
    results: &[0, 1, 3, 4, 5, 2],
    steps: &[GpuStep::Fill(0, 0x3f80_0000), GpuStep::Fill(1, 0), GpuStep::Copy(2, 0)],
    sites: &[],
};

#[test]
fn fills_copies_views_and_inputs_as_results() {
    let Some(gpu) = gpu() else { return };
    for n in [0usize, 1, 700] {
        let x = gpu.upload(&Array1::from_vec(noise(n, 3))).unwrap();
        let inputs = [GpuInput::scalar(2.5f32), GpuInput::Array(x.buffer()), GpuInput::Array(x.buffer())];
        let results = gpu.execute(&FILLED, &inputs, &[n as i64]).unwrap();
        let f = |at: usize| {
            GpuArray::<f32, Ix1>::from_buffer(&gpu, results[at].clone(), Ix1(n)).download().unwrap()
        };
        assert_eq!(f(0), Array1::ones(n));
        let zeros = GpuArray::<i32, Ix2>::from_buffer(&gpu, results[1].clone(), Ix2(n, n));
        assert_eq!(zeros.download().unwrap(), Array2::zeros((n, n)));
        assert_eq!(f(2), Array1::ones(n));
        assert_eq!(GpuArray::<f32, Ix0>::from_buffer(&gpu, results[3].clone(), Ix0()).item(), Ok(2.5));
        assert!(results[4].shares_memory(x.buffer()));
        assert!(results[5].shares_memory(&results[2]) && !results[5].shares_memory(&results[0]));
    }
}

/// `bins[i % m] += x[i]` with atomics, after `n == n2` is checked. `n` is atom 0, `m` 1, `n2` 2.
static HISTOGRAM: GpuProgram = GpuProgram {
    name: "histogram",
    arrays: &[array("x", Elem::I32, &[N], GpuHome::Input), array("bins", Elem::I32, &[M], GpuHome::Heap)],
    inputs: &[0],
    results: &[1],
    steps: &[
        GpuStep::Check(Check {
            kind: CheckKind::Equal((N, "n"), (Poly(&[(1, &[2])]), "k")),
            guards: &[],
            site: Site { kernel: "histogram", file: "a.rs", line: 4 },
        }),
        GpuStep::Fill(1, 0),
        GpuStep::Points {
            shader: Shader {
                label: "histogram",
                wgsl: main!(
                    "@group(0) @binding(2) var<storage, read> x: array<i32>;
                    @group(0) @binding(3) var<storage, read_write> bins: array<atomic<i32>>;\n",
                    "let i = (wg.x + wg.y * num_wg.x) * 256u + local;
                    if i >= words[0].x { return; }
                    atomicAdd(&bins[i % words[0].y], x[i]);\n"
                ),
                words: &[Word::Size(N), Word::Size(M)],
                sizes: &[],
                bindings: &[(0, Access::Read), (1, Access::Atomic)],
                status: false,
                each: 1,
                ends: None,
                needs: &[],
            },
            extents: &[N],
            private: None,
        },
    ],
    sites: &[],
};

#[test]
fn atomics_and_checks() {
    let Some(gpu) = gpu() else { return };
    let x = Array1::from_iter(0..100_000i32);
    let on_gpu = gpu.upload(&x).unwrap();
    let inputs = [GpuInput::Array(on_gpu.buffer())];
    let results = gpu.execute(&HISTOGRAM, &inputs, &[100_000, 7, 100_000]).unwrap();
    let bins = GpuArray::<i32, Ix1>::from_buffer(&gpu, results[0].clone(), Ix1(7)).download().unwrap();
    let mut expected = Array1::<i32>::zeros(7);
    for i in x {
        expected[i as usize % 7] += i;
    }
    assert_eq!(bins, expected);
    let error = gpu.execute(&HISTOGRAM, &inputs, &[100_000, 7, 5]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `histogram`: sizes that must be equal differ: n = 100000 and k = 5 (a.rs:4)"
    );
}
