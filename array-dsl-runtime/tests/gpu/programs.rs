//! Pieces of programs.

use array_dsl_runtime::program::{
    Access, Elem, GpuArrayInfo, GpuHome, GpuProgram, GpuStep, Poly, Shader, Word,
};

pub const N: Poly = Poly(&[(1, &[0])]);
pub const M: Poly = Poly(&[(1, &[1])]);

pub const fn array(name: &'static str, elem: Elem, dims: &'static [Poly], home: GpuHome) -> GpuArrayInfo {
    GpuArrayInfo { name, elem, dims, home }
}

/// What every shader begins with.
macro_rules! main {
    ($globals:literal, $body:literal) => {
        main!("1", $globals, $body)
    };
    ($blocks:literal, $globals:literal, $body:literal) => {
        concat!(
            "@group(0) @binding(0) var<uniform> words: array<vec4<u32>, ",
            $blocks,
            ">;\n",
            $globals,
            "@compute @workgroup_size(256)
            fn main(
                @builtin(workgroup_id) wg: vec3<u32>,
                @builtin(num_workgroups) num_wg: vec3<u32>,
                @builtin(local_invocation_index) local: u32,
            ) {\n",
            $body,
            "}\n"
        )
    };
}
pub(crate) use main;

/// `y[i] = scale * x[i] + 1` for `i < n`.
pub const SCALE: Shader = Shader {
    label: "scale",
    wgsl: main!(
        "@group(0) @binding(2) var<storage, read> x: array<f32>;
        @group(0) @binding(3) var<storage, read_write> y: array<f32>;\n",
        "let i = (wg.x + wg.y * num_wg.x) * 256u + local;
        if i >= words[0].x { return; }
        y[i] = bitcast<f32>(words[0].y) * x[i] + 1.0;\n"
    ),
    words: &[Word::Size(N), Word::Scalar(1)],
    sizes: &[],
    bindings: &[(0, Access::Read), (2, Access::Write)],
    status: false,
    each: 1,
    ends: None,
    needs: &[],
};

/// The same from array 2 to array 3.
pub const SCALE_AGAIN: Shader = Shader { bindings: &[(2, Access::Read), (3, Access::Write)], ..SCALE };

/// `scale * x + 1`
pub static SCALED: GpuProgram = GpuProgram {
    name: "scaled",
    arrays: &[
        array("x", Elem::F32, &[N], GpuHome::Input),
        array("scale", Elem::F32, &[], GpuHome::HostScalar),
        array("y", Elem::F32, &[N], GpuHome::Heap),
    ],
    inputs: &[0, 1],
    results: &[2],
    steps: &[GpuStep::Points { shader: SCALE, extents: &[N], private: None }],
    sites: &[],
};

/// `scale * (scale * x + 1) + 1`, with the intermediate array on the heap.
pub static SCALED_TWICE: GpuProgram = GpuProgram {
    name: "scaled_twice",
    arrays: &[
        array("x", Elem::F32, &[N], GpuHome::Input),
        array("scale", Elem::F32, &[], GpuHome::HostScalar),
        array("t", Elem::F32, &[N], GpuHome::Heap),
        array("y", Elem::F32, &[N], GpuHome::Heap),
    ],
    inputs: &[0, 1],
    results: &[3],
    steps: &[
        GpuStep::Points { shader: SCALE, extents: &[N], private: None },
        GpuStep::Points { shader: SCALE_AGAIN, extents: &[N], private: None },
    ],
    sites: &[],
};
