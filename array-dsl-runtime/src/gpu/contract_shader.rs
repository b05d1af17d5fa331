//! The texts of the shaders of `contract`, generated for the number of axes of each class.
//!
//! Uniform blocks: `(rows, columns, sums, groups)`, `(tiles along rows, tiles along columns, parts, sums per
//! part)`, `(results, batch, 0, 0)`, then one block `(extent, stride in a, in b, in the result)` per axis.
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

/// The threads that share one result of a thin contraction: if `a` is contiguous along its rows, and if along
/// the sums.
pub(super) const THIN_LANES: [u32; 2] = [8, 32];

/// The declarations and the functions that lead from the number of a row, column, sum or batch to the places
/// in `a`, `b` and the result.
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

/// How a workgroup of a tiled contraction divides its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tile {
    /// 256 rows of 16.
    Narrow,
    /// 64 rows of 64.
    Medium,
    /// 128 rows of 128.
    Large,
}

impl Tile {
    /// The numbers of rows and columns.
    pub(super) fn sides(self) -> [u64; 2] {
        match self {
            Tile::Narrow => [256, 16],
            Tile::Medium => [64, 64],
            Tile::Large => [128, 128],
        }
    }

    /// The blocks of 4 x 4 results that a thread holds, along either side.
    fn blocks(self) -> usize {
        if self == Tile::Large { 2 } else { 1 }
    }

    /// The threads along either side.
    fn threads(self) -> [usize; 2] {
        self.sides().map(|side| side as usize / 4 / self.blocks())
    }

    /// The sums in workgroup memory at a time: as many as fit the 16 KiB that every device has.
    fn depth(self) -> usize {
        if self == Tile::Medium { 16 } else { 8 }
    }
}

/// One workgroup per tile.
///
/// A thread holds blocks of 4 x 4 results; neighboring threads hold neighboring blocks, and the second block of
/// a thread begins where the first ones of all threads end. Workgroup memory holds a piece of each operand as
/// vectors of four rows (columns), a line of them for each sum; a line is one longer than needed so that
/// threads that write a column of vectors meet different banks. The threads fetch these vectors side by side
/// along the sums or along the rows, whichever is contiguous in the array, and fetch the next ones before they
/// compute. Rows and columns beyond the end repeat the last one and are not stored; sums beyond the end count as
/// 0.
pub(super) fn tiled(counts: Counts, tile: Tile, a_along_sums: bool, b_along_sums: bool) -> String {
    let (blocks, depth, [down, across]) = (tile.blocks(), tile.depth(), tile.threads());
    let [side_a, side_b] = tile.sides();
    let operands = [
        Operand { name: "a", side: "row", component: "x", threads: down, along_sums: a_along_sums, tile },
        Operand {
            name: "b",
            side: "column",
            component: "y",
            threads: across,
            along_sums: b_along_sums,
            tile,
        },
    ];
    let mut text = interface(counts);
    for operand in &operands {
        operand.declare(&mut text);
    }
    text.push_str(MAIN);
    let _ = write!(
        text,
        "    let tile_column = group % words[1].y;
    let tile_row = (group / words[1].y) % words[1].x;
    let rest = group / (words[1].y * words[1].x);
    let part = rest % words[1].z;
    let start = batch_at(rest / words[1].z);
    let first_row = tile_row * {side_a}u;
    let first_column = tile_column * {side_b}u;
    let begin = part * words[1].w;
    let end = min(begin + words[1].w, sums);
    let down = local / {across}u;
    let across = local % {across}u;
"
    );
    for operand in &operands {
        operand.prepare(&mut text);
    }
    for (v, j, w) in each_vector(blocks) {
        let _ = writeln!(text, "    var acc_{v}{j}{w} = vec4<f32>(0.0);");
    }
    let _ = writeln!(text, "    for (var sum = begin; sum < end; sum += {depth}u) {{");
    for operand in &operands {
        operand.put_down(&mut text);
    }
    text.push_str("        workgroupBarrier();\n");
    for operand in &operands {
        operand.fetch_next(&mut text);
    }
    for line in 0..depth {
        text.push_str("        {\n");
        for v in 0..blocks {
            let [at_a, at_b] = [0, 1].map(|k| line * operands[k].pitch() + v * operands[k].threads);
            let _ = writeln!(text, "            let a{v} = tile_a[{at_a}u + down];");
            let _ = writeln!(text, "            let b{v} = tile_b[{at_b}u + across];");
        }
        for (v, j, w) in each_vector(blocks) {
            let component = COMPONENTS[j];
            let _ = writeln!(text, "            acc_{v}{j}{w} += a{v}.{component} * b{w};");
        }
        text.push_str("        }\n");
    }
    text.push_str("        workgroupBarrier();\n    }\n    let base = start.z + part * words[2].x;\n");
    for v in 0..blocks {
        for j in 0..4 {
            let row = v * down * 4 + j;
            let _ = write!(
                text,
                "    {{
        let row = first_row + {row}u + down * 4u;
        if row < rows {{
            let place = base + row_at(row).z;
"
            );
            for w in 0..blocks {
                let column = format!("first_column + {}u + across * 4u", w * across * 4);
                let _ = writeln!(text, "            store(place, {column}, columns, acc_{v}{j}{w});");
            }
            text.push_str("        }\n    }\n");
        }
    }
    text.push_str("}\n\nfn store(place: u32, column: u32, columns: u32, values: vec4<f32>) {\n");
    for (c, component) in COMPONENTS.into_iter().enumerate() {
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

const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// The vectors of four results that a thread holds: block of rows, row, block of columns.
fn each_vector(blocks: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..blocks).flat_map(move |v| (0..4).flat_map(move |j| (0..blocks).map(move |w| (v, j, w))))
}

/// One operand of a tiled contraction, and its way into workgroup memory.
struct Operand {
    name: &'static str,
    /// Its side of the tile, `row` or `column`.
    side: &'static str,
    /// Its component in what `row_at` and its like return.
    component: &'static str,
    /// The threads along its side.
    threads: usize,
    along_sums: bool,
    tile: Tile,
}

impl Operand {
    /// The vectors of a line.
    fn vectors(&self) -> usize {
        self.threads * self.tile.blocks()
    }

    /// The vectors from line to line.
    fn pitch(&self) -> usize {
        self.vectors() + 1
    }

    /// The vectors that a thread fetches, one per round, and the condition under which it does in the last one.
    fn rounds(&self) -> (usize, Option<String>) {
        let all = self.vectors() * self.tile.depth();
        let is_partial = (all < 256).then(|| format!("local < {all}u"));
        (all.div_ceil(256), is_partial)
    }

    /// Its workgroup memory and the function that fetches a vector.
    fn declare(&self, text: &mut String) {
        let Operand { name, side, component, .. } = self;
        let _ = write!(
            text,
            "
var<workgroup> tile_{name}: array<vec4<f32>, {}>;

fn fetch_{name}(sum: u32, end: u32, start: u32, {side}s: vec4<u32>) -> vec4<f32> {{
    if sum >= end {{
        return vec4<f32>(0.0);
    }}
    let at = {side}s + (start + sum_at(sum).{component});
    return vec4<f32>({name}[at.x], {name}[at.y], {name}[at.z], {name}[at.w]);
}}
",
            self.tile.depth() * self.pitch()
        );
    }

    /// What this thread fetches, and the first of it.
    fn prepare(&self, text: &mut String) {
        let Operand { name, side, component, .. } = self;
        let (depth, vectors, pitch) = (self.tile.depth(), self.vectors(), self.pitch());
        for round in 0..self.rounds().0 {
            let number = format!("(local + {}u)", round * 256);
            let (sum, vector) = if self.along_sums {
                (format!("{number} % {depth}u"), format!("{number} / {depth}u"))
            } else {
                (format!("{number} / {vectors}u"), format!("{number} % {vectors}u"))
            };
            let at = format!("{name}{round}");
            let place = |j: usize| format!("{side}_at(min(from_{at} + {j}u, {side}s - 1u)).{component}");
            let _ = write!(
                text,
                "    let sum_{at} = {sum};
    let slot_{at} = sum_{at} * {pitch}u + {vector};
    let from_{at} = first_{side} + ({vector}) * 4u;
    let places_{at} = vec4<u32>({}, {}, {}, {});
    var next_{at} = fetch_{name}(begin + sum_{at}, end, start.{component}, places_{at});
",
                place(0),
                place(1),
                place(2),
                place(3)
            );
        }
    }

    /// What was fetched goes to workgroup memory.
    fn put_down(&self, text: &mut String) {
        self.each_round(text, |at| format!("tile_{}[slot_{at}] = next_{at};", self.name));
    }

    /// The vectors of the next lines.
    fn fetch_next(&self, text: &mut String) {
        let Operand { name, component, .. } = self;
        let depth = self.tile.depth();
        self.each_round(text, |at| {
            let sum = format!("sum + {depth}u + sum_{at}");
            format!("next_{at} = fetch_{name}({sum}, end, start.{component}, places_{at});")
        });
    }

    fn each_round(&self, text: &mut String, statement: impl Fn(&str) -> String) {
        let (rounds, condition) = self.rounds();
        for round in 0..rounds {
            let statement = statement(&format!("{}{round}", self.name));
            let _ = match &condition {
                Some(condition) => writeln!(text, "        if {condition} {{ {statement} }}"),
                None => writeln!(text, "        {statement}"),
            };
        }
    }
}

/// One result for each group of [`THIN_LANES`] threads. Results are counted with the rows fastest. The
/// threads lie side by side along the sums, or else the groups do along the rows, whichever is contiguous in
/// `a`.
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
