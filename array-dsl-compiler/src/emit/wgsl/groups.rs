//! Reductions by several threads for each point, or by several workgroups.
//!
//! ```text
//! fold       a point's threads stride over its inner points, each with its own accumulators
//! combine    they combine pairwise in workgroup memory
//! end        the first of them does what is done with the results
//! ```
//!
//! Where the inner points are in parts, the first stage ends by keeping each part's accumulators in scratch memory; in the second
//! one a point's threads stride over the parts instead, and end as above. It is the same shader.
//!
//! Which threads are a point's: `local % lanes` counts them where they read side by side, `local / members` where the points do.
//! Threads beyond the points stand at the last one without inner points of their own, so that all meet at the barriers, and write nothing. Booleans are integers
//! in workgroup memory: of an array of booleans there a driver made wrong results.

use super::context::Context;
use super::recurrence::is_innermost;
use super::scan::{Kept, parts, slots};
use super::several::{EACH, copy, names};
use super::shader::{Finished, Shader};
use super::types::Kind;
use super::words::Word;
use crate::bulk::{ArrayId, Atom, Axis, Reducer};
use crate::internal::expect;
use crate::loops::uses::Access;
use crate::loops::{Fold, Node, Tree};
use crate::lower::gpu::Reduction;

/// With more nodes an inner point has enough on the way by itself: see `several`.
const MOST_NODES: usize = 24;

/// The shader of a reduction.
pub(super) struct Groups {
    pub(super) shader: Finished,
    /// The words that a part's accumulators take.
    pub(super) words: usize,
    pub(super) scratch: ArrayId,
}

/// An accumulator.
pub(super) struct State {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// See the module header.
pub(super) fn groups(
    cx: &mut Context<'_>,
    tree: &Tree,
    r: &Reduction<'_>,
    label: String,
) -> Result<Groups, String> {
    let scratch = cx.scratch;
    let mut sh = Shader::new(cx, &tree.body)?;
    sh.bind_scratch(scratch, Access::Write);
    let states = states(&sh, &r.folds)?;
    let kinds: Vec<Kind> = states.iter().map(|s| s.kind).collect();
    let kept = Kept { scratch, slots: slots(&kinds) };
    let count = kept.slots.len();
    let inner_axes: Vec<Axis> = r.inner.iter().map(|a| (*a).clone()).collect();
    sh.enter("point", &tree.axes);
    sh.enter("inner", &inner_axes);
    let [stage, planned] = [Word::Stage, Word::Planned].map(|w| sh.word(w));

    let code = sh.apart(|sh| {
        sh.nodes(r.before)?;
        sh.fold_states(&r.folds)?;
        let sites = sh.failing;
        let trip = sh.fresh();
        let folding = sh.apart(|sh| fold(sh, r, 1, sites, &trip))?;
        if sh.failing > sites {
            sh.line(format!("var {trip} = 0u;"));
        }
        sh.open(format!("if {stage} == 0u {{"));
        sh.insert(&folding);
        sh.close("} else {");
        sh.open("for (var other = lane; other < parts; other += lanes) {");
        sh.line(format!("let at = (other * {planned} + point) * {count}u;"));
        combine(sh, &r.folds, &kept.get("at"))?;
        sh.close("}");
        sh.close("}");
        across(sh, &r.folds, &states, &Vec::from_iter(0..states.len()))?;
        sh.open("if lane == 0u && number < points {");
        sh.open(format!("if parts == 1u || {stage} == 1u {{"));
        sh.nodes(r.after)?;
        sh.close("} else {");
        sh.line(format!("let at = (part * {planned} + point) * {count}u;"));
        let names: Vec<String> = states.iter().map(|s| s.name.clone()).collect();
        kept.put(sh, "at", &names);
        sh.close("}");
        sh.close("}");
        Ok(())
    })?;
    sh.insert_in(0, &code)?;

    let [count_of_parts, lanes] = [Word::Parts, Word::Each].map(|w| sh.word(w));
    let (points, inners) = (sh.points(&tree.axes)?, sh.points(&inner_axes)?);
    let side = if r.across { "true".to_string() } else { format!("{stage} == 1u") };
    let head = format!(
        "    let group = wg.x + wg.y * num_wg.x;
    let parts = {count_of_parts};
    let lanes = {lanes};
    let members = 256u / lanes;
    let side = {side};
    let lane = select(local % lanes, local / members, side);
    let share = select(parts, 1u, {stage} == 1u);
    let part = group % share;
    let number = (group / share) * members + select(local / lanes, local % members, side);
    let points = {points};
    if points == 0u {{ return; }}
    let point = min(number, points - 1u);
    let inners = select(0u, {inners}, number < points);
    let begin = part * lanes + lane;
    let stride = parts * lanes;
"
    );
    Ok(Groups { shader: sh.finish(label, &parts(&kinds), &head)?, words: count, scratch })
}

/// The accumulators of the folds: of an extremum's place, the extremum and the place.
pub(super) fn states(sh: &Shader<'_, '_>, folds: &[Fold]) -> Result<Vec<State>, String> {
    let mut states = Vec::new();
    for f in folds {
        if f.reducer.is_extremum() {
            states.push(State { name: format!("best{}", f.result.0), kind: sh.elem_kind(f.value)? });
        }
        states.push(State { name: format!("v{}", f.result.0), kind: sh.kind(Atom::Var(f.result))? });
    }
    Ok(states)
}

/// The loop of a thread over inner points, which are the space of this number: several at a time, as in `several`, whose values are
/// then folded in order. Where something may fail, `trip` counts them.
pub(super) fn fold(
    sh: &mut Shader<'_, '_>,
    r: &Reduction<'_>,
    space: usize,
    sites: usize,
    trip: &str,
) -> Result<(), String> {
    let innermost = expect(r.inner.last(), || "a reduction over nothing".into()).var;
    // What is stored, and all that comes last where it has no order with the rest.
    let is_flat = r.body.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }));
    let comes_last = |n: &&Node| is_flat && !matches!(n, Node::Let(_));
    let computing = sh.apart(|sh| {
        for l in &r.between {
            sh.nodes(&[Node::Let((*l).clone())])?;
        }
        let nodes: Vec<Node> = r.body.iter().filter(|n| !comes_last(n)).cloned().collect();
        sh.nodes(&nodes)
    })?;
    let is_short = is_flat && r.body.len() + r.between.len() <= MOST_NODES && sh.failing == sites;
    let ending = sh.apart(|sh| {
        let nodes: Vec<Node> = r.body.iter().filter(comes_last).cloned().collect();
        sh.nodes(&nodes)?;
        r.folds.iter().try_for_each(|f| sh.fold(f, innermost))
    })?;
    let axes = sh.decode(space)?;
    if is_short {
        let names = names("inner", &[&axes, &computing]);
        sh.line("var next = begin;");
        sh.open(format!("for (; next + {0}u * stride < inners; next += {1}u * stride) {{", EACH - 1, EACH));
        for k in 0..EACH {
            sh.line(format!("let inner_at_{k} = next + {k}u * stride;"));
            sh.insert(&copy(&axes, &names, k));
            sh.insert(&copy(&computing, &names, k));
        }
        (0..EACH).for_each(|k| sh.insert(&copy(&ending, &names, k)));
        sh.close("}");
        sh.open("for (var inner = next; inner < inners; inner += stride) {");
    } else {
        sh.open("for (var inner = begin; inner < inners; inner += stride) {");
    }
    sh.insert(&axes);
    sh.insert(&computing);
    sh.insert(&ending);
    if sh.failing > sites {
        sh.leave_after_failure(trip, "u", is_innermost(r.body));
        sh.line(format!("{trip} += 1u;"));
    }
    sh.close("}");
    Ok(())
}

/// The accumulators become those of themselves and others, whose texts these are.
fn combine(sh: &mut Shader<'_, '_>, folds: &[Fold], others: &[String]) -> Result<(), String> {
    let mut others = others.iter();
    let mut next = || expect(others.next().cloned(), || "an accumulator is missing".into());
    for f in folds {
        let (kind, to) = (sh.kind(Atom::Var(f.result))?, f.result.0);
        match f.reducer.op() {
            Some(op) => {
                let text = sh.combine(op, kind, &format!("v{to}"), &next())?;
                sh.line(format!("v{to} = {text};"));
            }
            None => {
                let better = if f.reducer == Reducer::ArgMin { '<' } else { '>' };
                let (best, place) = (next(), next());
                sh.open("{");
                sh.line(format!("let best = {best};"));
                sh.line(format!("let place = {place};"));
                // What is not better than the neutral element has no place.
                sh.open(format!("if best {better} best{to} || (best == best{to} && place < v{to}) {{"));
                sh.line(format!("best{to} = best;"));
                sh.line(format!("v{to} = place;"));
                sh.close("}");
                sh.close("}");
            }
        }
    }
    Ok(())
}

/// The accumulators of a point's first thread become those of all. They are exchanged at these places of workgroup memory.
pub(super) fn across(
    sh: &mut Shader<'_, '_>,
    folds: &[Fold],
    states: &[State],
    places: &[usize],
) -> Result<(), String> {
    let keep = |sh: &mut Shader<'_, '_>| {
        for (State { name, kind }, place) in states.iter().zip(places) {
            sh.line(format!("part{place}[local] = {};", kind.store(name)));
        }
    };
    sh.open("if lanes > 1u {");
    keep(sh);
    sh.line("workgroupBarrier();");
    sh.open("for (var half = lanes / 2u; half > 0u; half = half >> 1u) {");
    sh.open("if lane < half {");
    sh.line("let other = local + select(half, half * members, side);");
    let load = |(s, place): (&State, &usize)| s.kind.load(&format!("part{place}[other]"));
    let others: Vec<String> = states.iter().zip(places).map(load).collect();
    combine(sh, folds, &others)?;
    keep(sh);
    sh.close("}");
    sh.line("workgroupBarrier();");
    sh.close("}");
    sh.close("}");
    Ok(())
}
