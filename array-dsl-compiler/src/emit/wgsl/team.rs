//! Trees in one shader, for a team of threads for each point: see `lower::gpu::teams`.
//!
//! ```text
//! for each tree    the threads stride over its inner points; what they fold is combined in workgroup memory; the first one does what is done
//!                  with the results;  all wait until everybody sees what was stored
//! ```

use super::context::Context;
use super::groups::{State, across, fold, states};
use super::scan::parts;
use super::shader::{Finished, Shader};
use super::types::Kind;
use super::words::Word;
use crate::bulk::Axis;
use crate::dim::Dim;
use crate::internal::expect;
use crate::loops::{Node, Tree};
use crate::lower::gpu::{Stage, stage};

/// The shader of a team.
pub(super) struct Team {
    pub(super) shader: Finished,
    /// The numbers of inner points of the trees.
    pub(super) inner: Vec<Dim>,
}

/// See the module header; over the axes of the first tree.
pub(super) fn team(cx: &mut Context<'_>, trees: &[&Tree], label: String) -> Result<Team, String> {
    let (program, points) = (cx.program, trees[0].axes.len());
    let stages: Option<Vec<Stage<'_>>> = trees.iter().map(|t| stage(program, t, points)).collect();
    let stages = expect(stages, || "a tree is no part of its team".into());
    let all: Vec<Node> = trees.iter().flat_map(|t| t.body.iter().cloned()).collect();
    let mut sh = Shader::new(cx, &all)?;
    let mut memory: Vec<Kind> = Vec::new();
    let mut inner = Vec::new();
    let mut texts = Vec::new();
    for (k, s) in stages.iter().enumerate() {
        if k > 0 {
            texts.push("    storageBarrier();\n    workgroupBarrier();\n".to_string());
        }
        let axes: Vec<Axis> = s.work.inner.iter().map(|a| (*a).clone()).collect();
        sh.enter("point", s.points);
        sh.enter("inner", &axes);
        texts.push(sh.apart(|sh| {
            sh.open("{");
            one(sh, s, (2 * k, &axes), &mut memory)?;
            sh.close("}");
            Ok(())
        })?);
        inner.push(Dim::product(axes.iter().map(|a| &a.extent)));
    }
    texts.iter().for_each(|text| sh.insert(text));
    let lanes = sh.word(Word::Each);
    let count = sh.points(stages[0].points)?;
    let head = format!(
        "    let lanes = {lanes};
    let members = 256u / lanes;
    let side = false;
    let lane = local % lanes;
    let number = (wg.x + wg.y * num_wg.x) * members + local / lanes;
    let points = {count};
    if points == 0u {{ return; }}
    let point = min(number, points - 1u);
    let begin = lane;
    let stride = lanes;
"
    );
    Ok(Team { shader: sh.finish(label, &parts(&memory), &head)?, inner })
}

/// The code of one tree, whose spaces are numbered from `space` on. `memory` is what is there in the workgroup for accumulators.
fn one(
    sh: &mut Shader<'_, '_>,
    s: &Stage<'_>,
    (space, axes): (usize, &[Axis]),
    memory: &mut Vec<Kind>,
) -> Result<(), String> {
    let r = &s.work;
    let states: Vec<State> = states(sh, &r.folds)?;
    let places = places(&states, memory);
    let code = sh.apart(|sh| {
        sh.nodes(r.before)?;
        sh.fold_states(&r.folds)?;
        if !axes.is_empty() {
            let (sites, trip) = (sh.failing, sh.fresh());
            let folding = sh.apart(|sh| fold(sh, r, space + 1, sites, &trip))?;
            if sh.failing > sites {
                sh.line(format!("var {trip} = 0u;"));
            }
            let inners = sh.points(axes)?;
            sh.line(format!("let inners = select(0u, {inners}, number < points);"));
            sh.insert(&folding);
        }
        if !states.is_empty() {
            across(sh, &r.folds, &states, &places)?;
        }
        if !r.after.is_empty() {
            sh.open("if lane == 0u && number < points {");
            sh.nodes(r.after)?;
            sh.close("}");
        }
        Ok(())
    })?;
    sh.insert_in(space, &code)?;
    Ok(())
}

/// Where in the workgroup's memory the accumulators are exchanged: what there is of their types, and more.
fn places(states: &[State], memory: &mut Vec<Kind>) -> Vec<usize> {
    let mut places = Vec::new();
    for s in states {
        let free = (0..memory.len()).find(|k| memory[*k] == s.kind && !places.contains(k));
        places.push(free.unwrap_or_else(|| {
            memory.push(s.kind);
            memory.len() - 1
        }));
    }
    places
}
