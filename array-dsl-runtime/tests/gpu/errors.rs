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

#[test]
fn the_next_download_reports_an_index_and_the_one_after_is_fine() {
    let Some(gpu) = gpu() else { return };
    assert_eq!(gather(&gpu, array![2, 0, 1]).download().unwrap(), array![2.0, 0.0, 1.0]);
    let failed = gather(&gpu, array![2, -7, 1]);
    let other = gather(&gpu, array![1, 0]);
    let expected = Error::IndexOutOfRange { kernel: "gather", index: -7, length: 3, file: "a.rs", line: 2 };
    assert_eq!(other.download(), Err(expected));
    assert_eq!(other.download().unwrap(), array![1.0, 0.0]);
    assert_eq!(failed.download().unwrap(), array![2.0, 0.0, 1.0]);
    let _failed = gather(&gpu, array![0, 1, 3]);
    let expected = Error::IndexOutOfRange { kernel: "gather", index: 3, length: 3, file: "a.rs", line: 2 };
    assert_eq!(gpu.synchronize(), Err(expected));
    assert_eq!(gpu.synchronize(), Ok(()));
}

#[test]
fn too_large_arrays_are_refused_before_memory_is_taken() {
    let Some(gpu) = gpu() else { return };
    let one = [1f32];
    let all = ArrayView1::from(&one);
    let huge = all.broadcast(1 << 31).unwrap();
    let error = gpu.upload(&huge).unwrap_err();
    assert_eq!(error, Error::TooLargeForGpu { kernel: "upload", array: "array", elements: 1 << 31 });
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
    assert_eq!(error, Error::TooLargeForGpu { kernel: "zeros", array: "y", elements: 1 << 40 });
    let error = gpu.execute(&ZEROS, &[], &[i64::MAX]).unwrap_err();
    assert_eq!(error, Error::TooLargeForGpu { kernel: "zeros", array: "y", elements: i64::MAX });
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
