//! The two ways to run a tree on a GPU.
//!
//! * **Points**: one thread per point of the parallel axes.
//! * **Groups**, for a tree that is a [`Reduction`]: one or more workgroups per point; their threads stride over the inner
//!   points, each with its own accumulator, and then combine pairwise in workgroup memory.

use super::context::Context;
use super::shader::{Finished, Shader, Word};
use crate::bulk::{ArrayId, Atom, Axis, Let, Reducer};
use crate::dim::Dim;
use crate::loops::{Loop, Node, Tree};

/// `array[axes] = reducer over inner of (body; value)`, with `before` executed once per point of the tree's axes.
pub(super) struct Reduction<'t> {
    pub(super) before: &'t [Node],
    pub(super) inner: Vec<&'t Axis>,
    /// Lets of the levels above the innermost: executed at each inner point.
    between: Vec<&'t Let>,
    body: &'t [Node],
    pub(super) reducer: Reducer,
    value: Atom,
    pub(super) array: ArrayId,
}

/// The tree as a reduction, if it is one whose result is stored at exactly the tree's axes.
pub(super) fn as_reduction<'t>(cx: &Context<'_>, tree: &'t Tree) -> Option<Reduction<'t>> {
    let [before @ .., Node::Loop(outermost), Node::Store { array, index, value }] = tree.body.as_slice()
    else {
        return None;
    };
    let axes = || tree.axes.iter();
    let info = &cx.program.arrays[array.0 as usize];
    let in_place = index.iter().copied().eq(axes().map(|a| Atom::Var(a.var)))
        && info.dims.iter().eq(axes().map(|a| &a.extent));
    let [fold] = outermost.folds.as_slice() else { return None };
    let reorderable = fold.reducer.op().is_some() && *value == Atom::Var(fold.result);
    if !in_place
        || !reorderable
        || !before.iter().all(|n| matches!(n, Node::Let(_)))
        || !is_pure(&outermost.body)
    {
        return None;
    }
    let (mut level, mut inner, mut between) = (outermost, vec![&outermost.axis], Vec::new());
    while let Some((lets, next)) = nested(level) {
        between.extend(lets);
        inner.push(&next.axis);
        level = next;
    }
    let value = level.folds[0].value;
    Some(Reduction { before, inner, between, body: &level.body, reducer: fold.reducer, value, array: *array })
}

/// The loop inside whose fold is all that this loop folds, by the same operator.
fn nested(l: &Loop) -> Option<(Vec<&Let>, &Loop)> {
    let (Node::Loop(next), lets) = l.body.split_last()? else { return None };
    let [fold] = next.folds.as_slice() else { return None };
    let same = fold.reducer == l.folds[0].reducer && l.folds[0].value == Atom::Var(fold.result);
    let lets: Option<Vec<&Let>> =
        lets.iter().map(|n| if let Node::Let(l) = n { Some(l) } else { None }).collect();
    if same { lets.map(|lets| (lets, next)) } else { None }
}

/// Whether the nodes only compute scalars.
pub(super) fn is_pure(nodes: &[Node]) -> bool {
    nodes.iter().all(|n| match n {
        Node::Let(_) => true,
        Node::Loop(l) => is_pure(&l.body),
        Node::Store { .. } | Node::Accumulate { .. } | Node::Write { .. } => false,
    })
}

/// One thread per point of the tree's axes.
pub(super) fn points(cx: &mut Context<'_>, tree: &Tree, label: String) -> Result<Finished, String> {
    let mut sh = Shader::new(cx, &tree.body)?;
    sh.enter("point", &tree.axes);
    let body = sh.apart(|sh| sh.nodes(&tree.body))?;
    let axes = sh.decode(0)?;
    sh.insert(&axes);
    sh.insert(&body);
    let total = Dim::product(tree.axes.iter().map(|a| &a.extent));
    sh.cx.check_size(&total)?;
    let total = match total.as_constant() {
        Some(c) => format!("{}u", c.max(0)),
        None => sh.word(Word::Size(total)),
    };
    let head = format!(
        "    let point = (wg.x + wg.y * num_wg.x) * 256u + local;
    if point >= {total} {{ return; }}
"
    );
    sh.finish(label, "", &head)
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
    let kind = sh.kind(r.value)?;
    let op = r.reducer.op().ok_or("an extremum's place as a reduction")?;
    let neutral = sh.neutral(r.reducer, r.value)?;
    let inner_axes: Vec<Axis> = r.inner.iter().map(|a| (*a).clone()).collect();
    sh.enter("point", &tree.axes);
    sh.enter("inner", &inner_axes);

    sh.line(format!("var acc = {neutral};"));
    sh.open("if point < points {");
    let code = sh.apart(|sh| {
        sh.nodes(r.before)?;
        sh.open("for (var inner = part * 256u + local; inner < inners; inner += stride) {");
        let fold = sh.apart(|sh| {
            for l in &r.between {
                sh.nodes(&[Node::Let((*l).clone())])?;
            }
            sh.nodes(r.body)?;
            let value = sh.atom(r.value)?;
            let text = sh.combine(op, kind, "acc", &value)?;
            sh.line(format!("acc = {text};"));
            Ok(())
        })?;
        let axes = sh.decode(1)?;
        sh.insert(&axes);
        sh.insert(&fold);
        sh.close("}");
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

    let (parts, points, inners) = (sh.word(Word::Parts), sh.word(Word::Outer), sh.word(Word::Inner));
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
