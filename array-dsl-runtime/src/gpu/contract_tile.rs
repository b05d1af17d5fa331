//! The text of the shader of a contraction by tiles; its interface is that of `contract_shader`.

use std::fmt::Write as _;

use super::builtin::MAIN;
use super::contract_shader::{Counts, Float, SIZES, interface};

/// How a workgroup of a tiled contraction divides its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tile {
    /// 256 rows of 16.
    Narrow,
    /// 128 rows of 32.
    Tall,
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
            Tile::Tall => [128, 32],
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
    fn depth(self, float: Float) -> usize {
        let depth = if matches!(self, Tile::Medium | Tile::Tall) { 16 } else { 8 };
        if float == Float::F64 { depth / 2 } else { depth }
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
pub(super) fn tiled(
    float: Float,
    counts: Counts,
    tile: Tile,
    a_along_sums: bool,
    b_along_sums: bool,
) -> String {
    let (blocks, depth, [down, across]) = (tile.blocks(), tile.depth(float), tile.threads());
    let (name, zero) = (float.name(), float.zero());
    let [side_a, side_b] = tile.sides();
    let operands = [
        Operand {
            name: "a",
            side: "row",
            component: "x",
            threads: down,
            along_sums: a_along_sums,
            tile,
            float,
        },
        Operand {
            name: "b",
            side: "column",
            component: "y",
            threads: across,
            along_sums: b_along_sums,
            tile,
            float,
        },
    ];
    let mut text = interface(float, counts);
    for operand in &operands {
        operand.declare(&mut text);
    }
    text.push_str(MAIN);
    text.push_str(SIZES);
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
        let _ = writeln!(text, "    var acc_{v}{j}{w} = vec4<{name}>({zero});");
    }
    let _ = writeln!(text, "    for (var sum = begin; sum < end; sum += {depth}u) {{");
    for operand in &operands {
        operand.put_down(&mut text);
    }
    text.push_str("        workgroupBarrier();\n");
    for operand in &operands {
        operand.fetch_next(&mut text);
    }
    add_products(&mut text, tile, &operands, depth);
    text.push_str("        workgroupBarrier();\n    }\n    let base = start.z + part * words[2].x;\n");
    write_results(&mut text, tile, name);
    text
}

/// Adds the products of the sums in workgroup memory.
fn add_products(text: &mut String, tile: Tile, operands: &[Operand; 2], depth: usize) {
    let blocks = tile.blocks();
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
}

/// Writes the sums of a thread where there are results, and ends the shader.
fn write_results(text: &mut String, tile: Tile, name: &str) {
    let (blocks, [down, across]) = (tile.blocks(), tile.threads());
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
    let _ = writeln!(text, "}}\n\nfn store(place: u32, column: u32, columns: u32, values: vec4<{name}>) {{");
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
    float: Float,
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
        let all = self.vectors() * self.tile.depth(self.float);
        let is_partial = (all < 256).then(|| format!("local < {all}u"));
        (all.div_ceil(256), is_partial)
    }

    /// Its workgroup memory and the function that fetches a vector.
    fn declare(&self, text: &mut String) {
        let Operand { name, side, component, .. } = self;
        let (zero, float) = (self.float.zero(), self.float.name());
        let _ = write!(
            text,
            "
var<workgroup> tile_{name}: array<vec4<{float}>, {}>;

fn fetch_{name}(sum: u32, end: u32, start: u32, {side}s: vec4<u32>) -> vec4<{float}> {{
    if sum >= end {{
        return vec4<{float}>({zero});
    }}
    let at = {side}s + (start + sum_at(sum).{component});
    return vec4<{float}>({name}[at.x], {name}[at.y], {name}[at.z], {name}[at.w]);
}}
",
            self.tile.depth(self.float) * self.pitch()
        );
    }

    /// What this thread fetches, and the first of it.
    fn prepare(&self, text: &mut String) {
        let Operand { name, side, component, .. } = self;
        let (depth, vectors, pitch) = (self.tile.depth(self.float), self.vectors(), self.pitch());
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
        let depth = self.tile.depth(self.float);
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
