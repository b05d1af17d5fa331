//! The texts of the shaders of `contract`, generated for the number of axes of each class.
//!
//! Uniform blocks: `(rows, columns, sums, groups)`, `(tiles along rows, tiles along columns, parts, sums per part)`,
//! `(results, batch, 0, 0)`, then one block `(extent, stride in a, in b, in the result)` per axis.
//!
//! Part `p` of a result goes to element `p * results + place`.

use std::fmt::Write as _;

/// The number of axes of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) sums: usize,
    pub(super) batch: usize,
}

/// The threads that share one result of a thin contraction: if `a` is contiguous along its rows, and if along the sums.
pub(super) const THIN_LANES: [u32; 2] = [8, 32];

/// The declarations and the functions that lead from the number of a row, column, sum or batch to the places in
/// `a`, `b` and the result.
fn interface(counts: Counts) -> String {
    let Counts { rows, columns, sums, batch } = counts;
    let mut text = format!(
        "@group(0) @binding(0) var<uniform> words: array<vec4<u32>, {}>;
@group(0) @binding(2) var<storage, read> a: array<f32>;
@group(0) @binding(3) var<storage, read> b: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
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

const MAIN: &str = "
@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num_wg: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = words[0].x;
    let columns = words[0].y;
    let sums = words[0].z;
    let group = wg.x + wg.y * num_wg.x;
    if group >= words[0].w {
        return;
    }
";

/// Tiles of 64 x 64 results, or 128 x 128 if `is_large`.
///
/// A thread holds 4 x 4 results, or four such blocks that are 64 rows or columns apart. Workgroup memory holds a piece
/// of each operand, 16 sums deep (8 if large), as vectors of four rows (columns); the rows of vectors are one longer than needed so
/// that threads that write a column of them meet different banks. Each thread fetches one vector of either operand: neighbors along
/// the sums or along the rows, whichever is contiguous in the array; and it fetches the next ones before it computes. Rows and
/// columns beyond the end repeat the last one and are not stored; sums beyond the end count as 0.
pub(super) fn tiled(counts: Counts, is_large: bool, a_along_sums: bool, b_along_sums: bool) -> String {
    let blocks = if is_large { 2 } else { 1 };
    let (side, vectors, depth) = (64 * blocks, 16 * blocks, 16 / blocks);
    let pitch = vectors + 1;
    let mut text = interface(counts);
    for (operand, side_name, component) in [("a", "row", "x"), ("b", "column", "y")] {
        let _ = write!(
            text,
            "
var<workgroup> tile_{operand}: array<vec4<f32>, {}>;

fn fetch_{operand}(sum: u32, end: u32, start: u32, {side_name}s: vec4<u32>) -> vec4<f32> {{
    if sum >= end {{
        return vec4<f32>(0.0);
    }}
    let at = {side_name}s + (start + sum_at(sum).{component});
    return vec4<f32>({operand}[at.x], {operand}[at.y], {operand}[at.z], {operand}[at.w]);
}}
",
            depth * pitch
        );
    }
    text.push_str(MAIN);
    let _ = write!(
        text,
        "    let tile_column = group % words[1].y;
    let tile_row = (group / words[1].y) % words[1].x;
    let rest = group / (words[1].y * words[1].x);
    let part = rest % words[1].z;
    let start = batch_at(rest / words[1].z);
    let first_row = tile_row * {side}u;
    let first_column = tile_column * {side}u;
    let begin = part * words[1].w;
    let end = min(begin + words[1].w, sums);
"
    );
    let fetched = [("a", "row", "x", a_along_sums), ("b", "column", "y", b_along_sums)];
    for (operand, side_name, component, along_sums) in fetched {
        let (sum, vector) = if along_sums {
            (format!("local % {depth}u"), format!("local / {depth}u"))
        } else {
            (format!("local / {vectors}u"), format!("local % {vectors}u"))
        };
        let place =
            |j: usize| format!("{side_name}_at(min(from_{operand} + {j}u, {side_name}s - 1u)).{component}");
        let _ = write!(
            text,
            "    let sum_{operand} = {sum};
    let slot_{operand} = sum_{operand} * {pitch}u + {vector};
    let from_{operand} = first_{side_name} + ({vector}) * 4u;
    let places_{operand} = vec4<u32>({}, {}, {}, {});
    var next_{operand} = fetch_{operand}(begin + sum_{operand}, end, start.{component}, places_{operand});
",
            place(0),
            place(1),
            place(2),
            place(3)
        );
    }
    text.push_str("    let down = local / 16u;\n    let across = local % 16u;\n");
    for (v, j, w) in each_vector(blocks) {
        let _ = writeln!(text, "    var acc_{v}{j}{w} = vec4<f32>(0.0);");
    }
    let _ = write!(
        text,
        "    for (var sum = begin; sum < end; sum += {depth}u) {{
        tile_a[slot_a] = next_a;
        tile_b[slot_b] = next_b;
        workgroupBarrier();
        next_a = fetch_a(sum + {depth}u + sum_a, end, start.x, places_a);
        next_b = fetch_b(sum + {depth}u + sum_b, end, start.y, places_b);
"
    );
    for depth in 0..depth {
        text.push_str("        {\n");
        for v in 0..blocks {
            let at = depth * pitch + v * 16;
            let _ = writeln!(text, "            let a{v} = tile_a[{at}u + down];");
            let _ = writeln!(text, "            let b{v} = tile_b[{at}u + across];");
        }
        for (v, j, w) in each_vector(blocks) {
            let component = ["x", "y", "z", "w"][j];
            let _ = writeln!(text, "            acc_{v}{j}{w} += a{v}.{component} * b{w};");
        }
        text.push_str("        }\n");
    }
    text.push_str("        workgroupBarrier();\n    }\n    let base = start.z + part * words[2].x;\n");
    for v in 0..blocks {
        for j in 0..4 {
            let _ = write!(
                text,
                "    {{
        let row = first_row + {}u + down * 4u;
        if row < rows {{
            let place = base + row_at(row).z;
",
                v * 64 + j
            );
            for w in 0..blocks {
                let _ = writeln!(
                    text,
                    "            store(place, first_column + {}u + across * 4u, columns, acc_{v}{j}{w});",
                    w * 64
                );
            }
            text.push_str("        }\n    }\n");
        }
    }
    text.push_str("}\n\nfn store(place: u32, column: u32, columns: u32, values: vec4<f32>) {\n");
    for (c, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
        let _ = write!(
            text,
            "    if column + {c}u < columns {{
        result[place + column_at(column + {c}u).z] = values.{component};
    }}
"
        );
    }
    text.push_str("}\n");
    text
}

/// The vectors of four results that a thread holds: block of rows, row, block of columns.
fn each_vector(blocks: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..blocks).flat_map(move |v| (0..4).flat_map(move |j| (0..blocks).map(move |w| (v, j, w))))
}

/// One result for each group of [`THIN_LANES`] threads. Results are counted with the rows fastest. The threads lie side by side along
/// the sums, or else the groups do along the rows, whichever is contiguous in `a`.
pub(super) fn thin(counts: Counts, a_along_sums: bool) -> String {
    let lanes = THIN_LANES[usize::from(a_along_sums)];
    let groups = 256 / lanes;
    let (lane, member) = if a_along_sums {
        (format!("local % {lanes}u"), format!("local / {lanes}u"))
    } else {
        (format!("local / {groups}u"), format!("local % {groups}u"))
    };
    let mut text = interface(counts);
    let _ = write!(
        text,
        "
var<workgroup> partial: array<f32, 256>;

fn product(sum: u32, start: vec3<u32>) -> f32 {{
    let at = start + sum_at(sum);
    return a[at.x] * b[at.y];
}}
{MAIN}    let part = group % words[1].z;
    let lane = {lane};
    let member = {member};
    let mine = (group / words[1].z) * {groups}u + member;
    let number = min(mine, words[2].x - 1u);
    let rest = number / rows;
    let start = row_at(number % rows) + column_at(rest % columns) + batch_at(rest / columns);
    let begin = part * words[1].w;
    let end = min(begin + words[1].w, sums);
    var acc = vec4<f32>(0.0);
    var sum = begin + lane;
    for (; sum + {three}u < end; sum += {four}u) {{
        acc += vec4<f32>(
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
pub(super) const SUM_PARTS: &str = "
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;
@group(0) @binding(2) var<storage, read> parts: array<f32>;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num_wg: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let results = words[0].x;
    let i = (wg.x + wg.y * num_wg.x) * 256u + local;
    if i >= results {
        return;
    }
    var acc = 0.0;
    for (var part = 0u; part < words[0].y; part++) {
        acc += parts[part * results + i];
    }
    result[i] = acc;
}
";
