//! The ways to run a tree on a GPU.
//!
//! * **Points**: one thread per point of the parallel axes.
//! * **Private**, for a tree that combines values into an array: workgroups go over the points in strides and combine into
//!   memory of their own, and what has gathered there into the array at the end. For arrays that fit.
//! * **Groups**, for a tree that is a [`Reduction`]: one or more workgroups per point; their threads stride over the inner
//!   points, each with its own accumulator, and then combine pairwise in workgroup memory.

use super::body::Target;
use super::context::Context;
use super::recurrence::is_innermost;
use super::shader::{Finished, Shader};
use super::types::Kind;
use super::words::Word;
use crate::bulk::{ArrayId, Axis, Reducer};
use crate::dim::Dim;
use crate::loops::{Node, Tree};
use crate::lower::gpu::Reduction;

/// One thread per point of the tree's axes.
pub(super) fn points(cx: &mut Context<'_>, tree: &Tree, label: String) -> Result<Finished, String> {
    let mut sh = Shader::new(cx, &tree.body)?;
    sh.own_arrays(tree)?;
    sh.enter("point", &tree.axes);
    let body = sh.apart(|sh| sh.nodes(&tree.body))?;
    let axes = sh.decode(0)?;
    sh.insert(&axes);
    sh.insert(&body);
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
    let axes = sh.decode(0)?;
    sh.insert(&axes);
    sh.insert(&body);
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

/// One or more workgroups per point of the tree's axes.
pub(super) fn groups(
    cx: &mut Context<'_>,
    tree: &Tree,
    r: &Reduction<'_>,
    label: String,
) -> Result<Finished, String> {
    let reads = &tree.body[..tree.body.len() - 1];
    let mut sh = Shader::new(cx, reads)?;
    let result = sh.bind_result(r.array).0;
    let kind = sh.elem_kind(r.value)?;
    let op = r.reducer.op().ok_or("an extremum's place as a reduction")?;
    let neutral = sh.neutral(r.reducer, r.value, kind);
    let inner_axes: Vec<Axis> = r.inner.iter().map(|a| (*a).clone()).collect();
    sh.enter("point", &tree.axes);
    sh.enter("inner", &inner_axes);

    sh.line(format!("var acc = {neutral};"));
    sh.open("if point < points {");
    let code = sh.apart(|sh| {
        sh.nodes(r.before)?;
        let (sites, trip) = (sh.failing, sh.fresh());
        let folding = sh.apart(|sh| {
            sh.open("for (var inner = part * 256u + local; inner < inners; inner += stride) {");
            let fold = sh.apart(|sh| {
                for l in &r.between {
                    sh.nodes(&[Node::Let((*l).clone())])?;
                }
                sh.nodes(r.body)?;
                let value = sh.atom_as(r.value, kind)?;
                let text = sh.combine(op, kind, "acc", &value)?;
                sh.line(format!("acc = {text};"));
                Ok(())
            })?;
            let axes = sh.decode(1)?;
            sh.insert(&axes);
            sh.insert(&fold);
            if sh.failing > sites {
                sh.leave_after_failure(&trip, "u", is_innermost(r.body));
                sh.line(format!("{trip} += 1u;"));
            }
            sh.close("}");
            Ok(())
        })?;
        if sh.failing > sites {
            sh.line(format!("var {trip} = 0u;"));
        }
        sh.insert(&folding);
        Ok(())
    })?;
    let axes = sh.decode(0)?;
    sh.insert(&axes);
    sh.insert(&code);
    sh.close("}");
    sh.line("partial[local] = acc;");
    sh.line("workgroupBarrier();");
    sh.open("for (var half = 128u; half > 0u; half = half >> 1u) {");
    sh.open("if local < half {");
    let pair = sh.combine(op, kind, "partial[local]", "partial[local + half]")?;
    sh.line(format!("partial[local] = {pair};"));
    sh.close("}");
    sh.line("workgroupBarrier();");
    sh.close("}");
    sh.open("if local == 0u && point < points {");
    sh.line(format!("a{result}[group] = {};", kind.store("partial[0]")));
    sh.close("}");

    let (parts, points, inners) = (sh.word(Word::Parts), sh.points(&tree.axes)?, sh.points(&inner_axes)?);
    let head = format!(
        "    let group = wg.x + wg.y * num_wg.x;
    let parts = {parts};
    let point = group / parts;
    let part = group - point * parts;
    let points = {points};
    let inners = {inners};
    let stride = parts * 256u;
"
    );
    let globals = format!("var<workgroup> partial: array<{}, 256>;\n", kind.name());
    sh.finish(label, &globals, &head)
}
