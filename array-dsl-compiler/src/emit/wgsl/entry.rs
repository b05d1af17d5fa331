//! The ways to run a tree on a GPU.
//!
//! * **Points**: one thread per point of the parallel axes, or for several if these have little to do (`several`).
//! * **Private**, for a tree that combines values into an array: workgroups go over the points in strides and combine into
//!   memory of their own, and what has gathered there into the array at the end. For arrays that fit.
//! * in **groups**, for a tree that is a reduction: see `groups`; by **prefixes**: see `scan`.

use super::body::Target;
use super::context::Context;
use super::several;
use super::shader::{Finished, Shader};
use super::types::Kind;
use crate::bulk::{ArrayId, Reducer};
use crate::dim::Dim;
use crate::loops::Tree;

/// One thread per point of the tree's axes, or for several of them.
pub(super) fn points(cx: &mut Context<'_>, tree: &Tree, label: String) -> Result<Finished, String> {
    if several::is_worthwhile(cx, tree)
        && let Some(shader) = several::points(cx, tree, &label)?
    {
        return Ok(shader);
    }
    let mut sh = Shader::new(cx, &tree.body)?;
    sh.own_arrays(tree)?;
    sh.enter("point", &tree.axes);
    let body = sh.apart(|sh| sh.nodes(&tree.body))?;
    sh.insert_in(0, &body)?;
    let total = sh.points(&tree.axes)?;
    let head = format!(
        "    let point = (wg.x + wg.y * num_wg.x) * 256u + local;
    if point >= {total} {{ return; }}
"
    );
    sh.finish(label, "", &head)
}

/// The most elements that a workgroup has room for.
pub(super) const MOST_PRIVATE: u32 = 2048;

/// Workgroups in strides over the points of the tree's axes, with bins of their own.
pub(super) fn private(
    cx: &mut Context<'_>,
    tree: &Tree,
    (array, reducer): (ArrayId, Reducer),
    label: String,
) -> Result<Finished, String> {
    let info = &cx.program.arrays[array.0 as usize];
    let (kind, extents) = (Kind::of(info.elem)?, info.dims.clone());
    let neutral = kind.literal(reducer.neutral(info.elem));
    let mut sh = Shader::new(cx, &tree.body)?;
    sh.private = Some(array);
    let bins = Dim::product(&extents);
    sh.cx.check_size(&bins)?;
    let bins = sh.size(&bins)?;
    let each_bin = format!("for (var bin = i32(local); bin < {bins}; bin += 256i) {{");
    sh.line(format!("let neutral = {neutral};"));
    sh.open(&each_bin);
    sh.line(format!("atomicStore(&private_bins[bin], {});", kind.store_atomic("neutral")));
    sh.close("}");
    sh.line("workgroupBarrier();");
    let points = sh.points(&tree.axes)?;
    sh.enter("point", &tree.axes);
    sh.open(format!("for (var point = first; point < {points}; point += stride) {{"));
    let body = sh.apart(|sh| sh.nodes(&tree.body))?;
    sh.insert_in(0, &body)?;
    sh.close("}");
    sh.line("workgroupBarrier();");
    sh.open(&each_bin);
    sh.line(format!("let value = {};", kind.load_atomic("atomicLoad(&private_bins[bin])")));
    sh.combine_into(Target::Array(array), reducer, kind, "bin", "value");
    sh.close("}");
    let head = "    let first = (wg.x + wg.y * num_wg.x) * 256u + local;
    let stride = num_wg.x * num_wg.y * 256u;
";
    let globals = format!("var<workgroup> private_bins: array<atomic<{}>, {MOST_PRIVATE}>;\n", kind.atomic());
    sh.finish(label, &globals, head)
}
