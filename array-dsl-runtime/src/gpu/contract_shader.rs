//! The texts of the shaders of `contract`, generated for the number of axes of each class: what all have in
//! common, and the thin ones. Those with tiles are in `contract_tile`.
//!
//! Uniform blocks: `(rows, columns, sums, groups)`, `(tiles along rows, tiles along columns, parts, sums per
//! part)`, `(results, batch, 0, 0)`, then one block `(extent, stride in a, in b, in the result)` per axis.
//!
//! Part `p` of a result goes to element `p * results + place`.

use std::fmt::Write as _;

use super::builtin::MAIN;
use crate::program::Elem;

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Float {
    F32,
    F64,
}

impl Float {
    /// Its name in WGSL.
    pub(super) fn name(self) -> &'static str {
        match self {
            Float::F32 => "f32",
            Float::F64 => "f64",
        }
    }

    /// Its zero.
    pub(super) fn zero(self) -> &'static str {
        match self {
            Float::F32 => "0.0f",
            Float::F64 => "0.0lf",
        }
    }

    /// The element type of arrays.
    pub(super) fn elem(self) -> Elem {
        match self {
            Float::F32 => Elem::F32,
            Float::F64 => Elem::F64,
        }
    }
}

/// The number of axes of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) sums: usize,
    pub(super) batch: usize,
}

/// The threads that share one result of a thin contraction: if `a` is contiguous along its rows, and if along
/// the sums.
pub(super) const THIN_LANES: [u32; 2] = [8, 32];

/// The declarations and the functions that lead from the number of a row, column, sum or batch to the places
/// in `a`, `b` and the result.
pub(super) fn interface(float: Float, counts: Counts) -> String {
    let Counts { rows, columns, sums, batch } = counts;
    let float = float.name();
    let mut text = format!(
        "@group(0) @binding(0) var<uniform> words: array<vec4<u32>, {}>;
@group(0) @binding(2) var<storage, read> a: array<{float}>;
@group(0) @binding(3) var<storage, read> b: array<{float}>;
@group(0) @binding(4) var<storage, read_write> result: array<{float}>;
",
        3 + rows + columns + sums + batch
    );
    let mut at = 3;
    for (name, count) in [("row", rows), ("column", columns), ("sum", sums), ("batch", batch)] {
        let _ = writeln!(text, "\nfn {name}_at(i: u32) -> vec3<u32> {{");
        match count {
            0 => text.push_str("    return vec3<u32>(0u);\n"),
            1 => {
                let _ = writeln!(text, "    return i * words[{at}].yzw;");
            }
            _ => {
                text.push_str("    var rest = i;\n    var place = vec3<u32>(0u);\n");
                for axis in (at + 1..at + count).rev() {
                    let _ = writeln!(
                        text,
                        "    {{
        let slower = rest / words[{axis}].x;
        place += (rest - slower * words[{axis}].x) * words[{axis}].yzw;
        rest = slower;
    }}"
                    );
                }
                let _ = writeln!(text, "    return place + rest * words[{at}].yzw;");
            }
        }
        text.push_str("}\n");
        at += count;
    }
    text
}

/// After `MAIN`: where the sizes are known.
pub(super) const SIZES: &str = "\
    let rows = words[0].x;
    let columns = words[0].y;
    let sums = words[0].z;
    if group >= words[0].w {
        return;
    }
";

/// One result for each group of [`THIN_LANES`] threads. Results are counted with the rows fastest. The
/// threads lie side by side along the sums, or else the groups do along the rows, whichever is contiguous in
/// `a`.
pub(super) fn thin(float: Float, counts: Counts, a_along_sums: bool) -> String {
    let lanes = THIN_LANES[usize::from(a_along_sums)];
    let groups = 256 / lanes;
    let (lane, member) = if a_along_sums {
        (format!("local % {lanes}u"), format!("local / {lanes}u"))
    } else {
        (format!("local / {groups}u"), format!("local % {groups}u"))
    };
    let mut text = interface(float, counts);
    let (zero, float) = (float.zero(), float.name());
    let _ = write!(
        text,
        "
var<workgroup> partial: array<{float}, 256>;

fn product(sum: u32, start: vec3<u32>) -> {float} {{
    let at = start + sum_at(sum);
    return a[at.x] * b[at.y];
}}
{MAIN}{SIZES}    let part = group % words[1].z;
    let lane = {lane};
    let member = {member};
    let mine = (group / words[1].z) * {groups}u + member;
    let number = min(mine, words[2].x - 1u);
    let rest = number / rows;
    let start = row_at(number % rows) + column_at(rest % columns) + batch_at(rest / columns);
    let begin = part * words[1].w;
    let end = min(begin + words[1].w, sums);
    var acc = vec4<{float}>({zero});
    var sum = begin + lane;
    for (; sum + {three}u < end; sum += {four}u) {{
        acc += vec4<{float}>(
            product(sum, start),
            product(sum + {lanes}u, start),
            product(sum + {two}u, start),
            product(sum + {three}u, start),
        );
    }}
    for (; sum < end; sum += {lanes}u) {{
        acc.x += product(sum, start);
    }}
    partial[lane * {groups}u + member] = (acc.x + acc.y) + (acc.z + acc.w);
    workgroupBarrier();
    for (var half = {half}u; half > 0u; half = half >> 1u) {{
        if lane < half {{
            partial[lane * {groups}u + member] += partial[(lane + half) * {groups}u + member];
        }}
        workgroupBarrier();
    }}
    if lane == 0u && mine < words[2].x {{
        result[start.z + part * words[2].x] = partial[member];
    }}
}}
",
        two = 2 * lanes,
        three = 3 * lanes,
        four = 4 * lanes,
        half = lanes / 2
    );
    text
}

/// Adds up the `words[0].y` parts of `words[0].x` results.
pub(super) fn sum_parts(float: Float) -> String {
    let (zero, float) = (float.zero(), float.name());
    format!(
        "
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;
@group(0) @binding(2) var<storage, read> parts: array<{float}>;
@group(0) @binding(3) var<storage, read_write> result: array<{float}>;
{MAIN}    let results = words[0].x;
    let i = group * 256u + local;
    if i >= results {{
        return;
    }}
    var acc = {zero};
    for (var part = 0u; part < words[0].y; part++) {{
        acc += parts[part * results + i];
    }}
    result[i] = acc;
}}
"
    )
}
