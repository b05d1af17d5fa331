//! What goes wrong, and that nothing panics.

use array_dsl_runtime::Error;
use array_dsl_runtime::gpu::{Gpu, GpuArray, GpuInput};
use array_dsl_runtime::program::{Access, Elem, GpuHome, GpuProgram, GpuStep, Poly, Shader, Site, Word};
use ndarray::{Array1, ArrayView1, Ix1, array};

use crate::gpu;
use crate::programs::{N, SCALED, array, main};

const SITES: [Site; 2] =
    [Site { kernel: "gather", file: "a.rs", line: 1 }, Site { kernel: "gather", file: "a.rs", line: 2 }];

/// `y[i] = x[is[i]]`; `n` is both lengths.
static GATHER: GpuProgram = GpuProgram {
    name: "gather",
    arrays: &[
        array("x", Elem::F32, &[N], GpuHome::Input),
        array("is", Elem::I32, &[N], GpuHome::Input),
        array("y", Elem::F32, &[N], GpuHome::Heap),
    ],
    inputs: &[0, 1],
    results: &[2],
    steps: &[GpuStep::Points {
        shader: Shader {
            label: "gather",
            wgsl: main!(
                "@group(0) @binding(1) var<storage, read_write> status: array<atomic<u32>, 4>;
                @group(0) @binding(2) var<storage, read> x: array<f32>;
                @group(0) @binding(3) var<storage, read> places: array<i32>;
                @group(0) @binding(4) var<storage, read_write> y: array<f32>;\n",
                "let i = (wg.x + wg.y * num_wg.x) * 256u + local;
                if i >= words[0].x { return; }
                let at = places[i];
                if at < 0 || at >= i32(words[0].x) {
                    let seen = atomicCompareExchangeWeak(&status[0], 0u, words[0].y + 1u + 1u);
                    if seen.exchanged {
                        atomicStore(&status[1], u32(at));
                        atomicStore(&status[2], words[0].x);
                    }
                    y[i] = 0.0;
                } else {
                    y[i] = x[at];
                }\n"
            ),
            words: &[Word::Size(N), Word::SiteBase],
            sizes: &[],
            bindings: &[(0, Access::Read), (1, Access::Read), (2, Access::Write)],
            status: true,
            each: 1,
            ends: None,
            needs: &[],
        },
        extents: &[N],
        private: None,
    }],
    sites: &SITES,
};

fn gather(gpu: &Gpu, is: Array1<i32>) -> GpuArray<f32, Ix1> {
    let n = is.len();
    let x = gpu.upload(&Array1::from_iter((0..n).map(|i| i as f32))).unwrap();
    let is = gpu.upload(&is).unwrap();
    let inputs = [GpuInput::Array(x.buffer()), GpuInput::Array(is.buffer())];
    let results = gpu.execute(&GATHER, &inputs, &[n as i64]).unwrap();
    GpuArray::from_buffer(gpu, results[0].clone(), Ix1(n))
}

/// `y[i] = x[is[i]]` of arrays on the device.
fn gathered(gpu: &Gpu, x: &GpuArray<f32, Ix1>, is: &GpuArray<i32, Ix1>) -> Result<GpuArray<f32, Ix1>, Error> {
    let inputs = [GpuInput::Array(x.buffer()), GpuInput::Array(is.buffer())];
    let results = gpu.execute(&GATHER, &inputs, &[x.len() as i64])?;
    Ok(GpuArray::from_buffer(gpu, results[0].clone(), x.raw_dim()))
}

fn outside(index: i64, length: i64) -> Error {
    Error::IndexOutOfRange { kernel: "gather", index, length, file: "a.rs", line: 2 }
}

#[test]
fn an_error_belongs_to_its_run_whatever_is_read_first() {
    let Some(gpu) = gpu() else { return };
    assert_eq!(gather(&gpu, array![2, 0, 1]).download().unwrap(), array![2.0, 0.0, 1.0]);
    let failed = gather(&gpu, array![2, -7, 1]);
    let other = gather(&gpu, array![1, 0]);
    let last = gather(&gpu, array![0, 5]);
    let copy = last.clone();
    // In the reverse order, and again and again.
    for _ in 0..3 {
        assert_eq!(copy.download(), Err(outside(5, 2)));
        assert_eq!(last.download(), Err(outside(5, 2)));
        assert_eq!(other.download().unwrap(), array![1.0, 0.0]);
        assert_eq!(failed.download(), Err(outside(-7, 3)));
        assert_eq!(gpu.synchronize(), Ok(()));
    }
}

#[test]
fn nobody_gets_the_error_of_a_result_that_is_gone() {
    let Some(gpu) = gpu() else { return };
    for _ in 0..10 {
        // Its words serve the next run, in the same batch and in a later one.
        drop(gather(&gpu, array![0, 1, 3]));
        let good = gather(&gpu, array![2, 1, 0]);
        assert_eq!(good.download().unwrap(), array![2.0, 1.0, 0.0]);
        drop(gather(&gpu, array![0, 1, 3]));
        gpu.synchronize().unwrap();
        let good = gather(&gpu, array![1, 1, 0]);
        assert_eq!(good.download().unwrap(), array![1.0, 1.0, 0.0]);
    }
}

#[test]
fn what_is_computed_from_a_failed_result_has_failed() {
    let Some(gpu) = gpu() else { return };
    let good = gpu.upload(&array![0, 1, 2]).unwrap();
    let x = gpu.upload(&array![1f32, 2.0, 3.0]).unwrap();
    let bad = gpu.upload(&array![0, 9, 2]).unwrap();
    let worse = gpu.upload(&array![0, 1, 99]).unwrap();
    let first = gathered(&gpu, &x, &bad).unwrap();
    // By a kernel that may fail itself, and does, and by one that cannot.
    let second = gathered(&gpu, &first, &worse).unwrap();
    let third = scaled(&gpu, &gathered(&gpu, &second, &good).unwrap());
    assert_eq!(third.download(), Err(outside(9, 3)));
    assert_eq!(second.download(), Err(outside(9, 3)));
    assert_eq!(first.download(), Err(outside(9, 3)));
    // Now it is known, and nothing is done with it any more.
    let before = gpu.statistics().dispatches;
    assert_eq!(gathered(&gpu, &third, &good).map(|_| ()), Err(outside(9, 3)));
    assert_eq!(gpu.statistics().dispatches, before);
    // The arguments are as good as before.
    assert_eq!(gathered(&gpu, &x, &good).unwrap().download().unwrap(), array![1.0, 2.0, 3.0]);
}

fn scaled(gpu: &Gpu, x: &GpuArray<f32, Ix1>) -> GpuArray<f32, Ix1> {
    let inputs = [GpuInput::Array(x.buffer()), GpuInput::scalar(1f32)];
    let results = gpu.execute(&SCALED, &inputs, &[x.len() as i64]).unwrap();
    GpuArray::from_buffer(gpu, results[0].clone(), x.raw_dim())
}

#[test]
fn long_chains_of_runs_carry_the_first_error_and_little_memory() {
    let Some(gpu) = gpu() else { return };
    let (good, bad) = (gpu.upload(&array![1, 0]).unwrap(), gpu.upload(&array![1, 8]).unwrap());
    for failing in [None, Some(0), Some(3), Some(9), Some(57), Some(99)] {
        let start = gpu.upload(&array![3f32, 4.0]).unwrap();
        let mut end = start.clone();
        for run in 0..100 {
            end = gathered(&gpu, &end, if failing == Some(run) { &bad } else { &good }).unwrap();
        }
        match failing {
            None => assert_eq!(end.download().unwrap(), array![3.0, 4.0]),
            Some(_) => assert_eq!(end.download(), Err(outside(8, 2)), "{failing:?}"),
        }
        assert_eq!(start.download().unwrap(), array![3.0, 4.0]);
    }
    let statistics = gpu.statistics();
    assert!(statistics.buffers_allocated < 40, "{statistics:?}");
    assert!(statistics.waits == 12 && statistics.submissions < 40, "{statistics:?}");
}

#[test]
fn threads_get_their_own_errors() {
    let Some(gpu) = gpu() else { return };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let gpu = gpu.clone();
            scope.spawn(move || {
                for round in 0..60 {
                    let n = 3 + (thread + round) % 5;
                    let fails = (thread + round) % 2 == 0;
                    let last = if fails { n + thread } else { 0 };
                    let result = gather(&gpu, (0..n).map(|i| if i == 2 { last } else { i }).collect());
                    std::thread::yield_now();
                    match result.download() {
                        Err(e) if fails => assert_eq!(e, outside(last.into(), n as i64)),
                        Ok(found) if !fails => assert_eq!(found[2], 0.0),
                        found => panic!("{found:?}, although fails is {fails}"),
                    }
                }
            });
        }
    });
}

#[test]
fn too_large_arrays_are_refused_before_memory_is_taken() {
    let Some(gpu) = gpu() else { return };
    let one = [1f32];
    let all = ArrayView1::from(&one);
    let huge = all.broadcast(1 << 31).unwrap();
    let error = gpu.upload(&huge).unwrap_err();
    let too_large = |kernel, array, elements, bytes| {
        let text =
            format!("kernel `{kernel}`: `{array}` has {elements} elements, which take {bytes} bytes; ");
        move |e: Error| matches!(e, Error::TooLargeForGpu { .. }) && e.to_string().starts_with(&text)
    };
    assert!(too_large("upload", "array", 1i64 << 31, 1i64 << 33)(error));
    // The same of a program's own array.
    static ZEROS: GpuProgram = GpuProgram {
        name: "zeros",
        arrays: &[array("y", Elem::F32, &[N, N], GpuHome::Heap)],
        inputs: &[],
        results: &[0],
        steps: &[GpuStep::Fill(0, 0)],
        sites: &[],
    };
    let error = gpu.execute(&ZEROS, &[], &[1 << 20]).unwrap_err();
    assert!(too_large("zeros", "y", 1 << 40, 1 << 42)(error));
    let error = gpu.execute(&ZEROS, &[], &[i64::MAX]).unwrap_err();
    assert!(too_large("zeros", "y", i64::MAX, i64::MAX)(error));
    assert_eq!(gpu.statistics().buffers_allocated, 0);
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    static COUNT: GpuProgram = GpuProgram {
        name: "count",
        arrays: &[array("y", Elem::F32, &[], GpuHome::Heap)],
        inputs: &[],
        results: &[0],
        steps: &[GpuStep::Points {
            shader: Shader {
                label: "count",
                wgsl: main!(
                    "@group(0) @binding(2) var<storage, read_write> y: array<f32>;\n",
                    "y[0] = 1.0;\n"
                ),
                words: &[Word::Size(Poly(&[(4, &[0])]))],
                sizes: &[],
                bindings: &[(0, Access::Write)],
                status: false,
                each: 1,
                ends: None,
                needs: &[],
            },
            extents: &[N],
            private: None,
        }],
        sites: &[],
    };
    let Some(gpu) = gpu() else { return };
    assert!(gpu.execute(&COUNT, &[], &[1]).is_ok());
    let error = gpu.execute(&COUNT, &[], &[1 << 30]).unwrap_err().to_string();
    assert!(error.contains("a size is 4294967296, which is beyond 2^30"), "{error}");
    let error = gpu.execute(&COUNT, &[], &[1 << 40]).unwrap_err().to_string();
    assert!(error.contains("a loop over 1099511627776 points has more than 2^30"), "{error}");
}

#[test]
fn what_is_wrong_with_a_program_is_an_error() {
    static BROKEN: GpuProgram = GpuProgram {
        name: "broken",
        arrays: &[array("y", Elem::F32, &[N], GpuHome::Heap)],
        inputs: &[],
        results: &[0],
        steps: &[GpuStep::Points {
            shader: Shader {
                label: "broken",
                wgsl: "fn main() { nonsense }",
                words: &[],
                sizes: &[],
                bindings: &[(0, Access::Write)],
                status: false,
                each: 1,
                ends: None,
                needs: &[],
            },
            extents: &[N],
            private: None,
        }],
        sites: &[],
    };
    let Some(gpu) = gpu() else { return };
    let error = gpu.execute(&BROKEN, &[], &[4]).unwrap_err().to_string();
    assert!(error.starts_with("the GPU reported an error: shader `broken`:"), "{error}");

    // Arguments that do not fit the program, and an array of another device.
    let x = gpu.upload(&array![1f32, 2.0]).unwrap();
    let scalar = GpuInput::Scalar(0);
    let message = |inputs: &[GpuInput<'_>], n| gpu.execute(&SCALED, inputs, &[n]).unwrap_err().to_string();
    let text = message(&[GpuInput::Array(x.buffer())], 2);
    assert!(text.ends_with("kernel `scaled`: it has 2 inputs, not 1"), "{text}");
    let text = message(&[GpuInput::Array(x.buffer()), scalar], 3);
    assert!(text.ends_with("kernel `scaled`: `x` has 2 elements, not 3"), "{text}");
    let text = message(&[scalar, scalar], 2);
    assert!(text.ends_with("kernel `scaled`: `x` is bound as the wrong kind of input"), "{text}");
    let foreign = Gpu::new().unwrap().upload(&array![1f32, 2.0]).unwrap();
    let text = message(&[GpuInput::Array(foreign.buffer()), scalar], 2);
    assert!(text.ends_with("kernel `scaled`: `x` is on another device"), "{text}");

    // None of this harmed the device.
    let results = gpu.execute(&SCALED, &[GpuInput::Array(x.buffer()), scalar], &[2]).unwrap();
    let y = GpuArray::<f32, Ix1>::from_buffer(&gpu, results[0].clone(), Ix1(2));
    assert_eq!(y.download().unwrap(), array![1.0, 1.0]);
}

#[test]
fn devices_are_listed_and_opened() {
    let Some(gpu) = gpu() else { return };
    let all = Gpu::list();
    assert!(all.contains(gpu.info()));
    assert!(all.is_sorted_by_key(|info| info.kind));
    let again = Gpu::with_adapter(gpu.info()).unwrap();
    assert_eq!(again.info(), gpu.info());
    assert!(!again.is_same(&gpu) && gpu.is_same(&gpu.clone()));
}
