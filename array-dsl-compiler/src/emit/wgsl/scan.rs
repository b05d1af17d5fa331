//! Prefixes along one axis by many threads.
//!
//! The points of the axis are divided into groups of a few neighbors, one for each thread, and the groups into chunks, one
//! for each workgroup. With `.` the operator of all scans together, which need not commute:
//!
//! ```text
//! fold     each thread folds its group; the workgroup's prefixes of these are kept, and their end, the chunk's total
//! starts   total[c] = total[0] . .. . total[c - 1], by one workgroup per point of the outer axes
//! run      each thread goes through its group from the state  total[chunk] . prefix[thread]
//! ```
//!
//! A loop that only gives its last values is run by the threads of the last groups alone.
//!
//! Where there are many outer points whose elements are contiguous along the axis, one shader does it all:
//!
//! ```text
//! rows     a point's threads, some of a workgroup, go along the axis in steps of a group for each: they fold their groups, find the
//!          prefixes of these, and run from  carry . prefix;  carry = carry . total
//! ```
//!
//! In the scratch memory are the totals of all chunks, then the prefixes of all threads; each is the bits of all states.

use super::body::state;
use super::context::Context;
use super::shader::{Finished, Shader};
use super::types::Kind;
use super::words::Word;
use crate::bulk::{ArrayId, Atom};
use crate::loops::uses::Access;
use crate::loops::{Loop, Node, Tree};
use crate::lower::gpu::{Prefixes, needed};

/// The shaders of a tree of prefixes.
pub(super) struct Passes {
    pub(super) fold: Finished,
    pub(super) starts: Finished,
    pub(super) run: Finished,
    /// All in one, if the loop can be so executed.
    pub(super) rows: Option<Finished>,
    /// The number of words that the states take.
    pub(super) words: usize,
    pub(super) scratch: ArrayId,
    /// Whether only the last groups are run.
    pub(super) ends: bool,
}

/// The three shaders.
pub(super) fn passes(cx: &mut Context<'_>, tree: &Tree, p: &Prefixes, label: &str) -> Result<Passes, String> {
    let scratch = cx.scratch;
    let ends = !p.l.folds.is_empty();
    let alone = !ends && !p.across && !tree.axes.is_empty();
    Ok(Passes {
        fold: fold(cx, tree, p, scratch, format!("{label}, fold"))?,
        starts: starts(cx, tree, p, scratch, format!("{label}, starts"))?,
        run: run(cx, tree, p, scratch, ends, format!("{label}, run"))?,
        rows: alone.then(|| rows(cx, tree, p, format!("{label}, rows"))).transpose()?,
        words: kinds_of(cx, p)?.into_iter().map(Kind::words).sum(),
        scratch,
        ends,
    })
}

/// The variables of the states.
fn states(p: &Prefixes) -> Vec<String> {
    p.scans.iter().flat_map(|s| (0..s.left.len()).map(|k| state(s, k))).collect()
}

/// The types of the states.
fn kinds_of(cx: &Context<'_>, p: &Prefixes) -> Result<Vec<Kind>, String> {
    p.states().map(|v| cx.kind(Atom::Var(v))).collect()
}

/// The chunk's number, and the points of the thread's group.
const GROUP: &str = "    let chunk = group - group / chunks * chunks;
    let low = min((chunk * 256u + local) * each, extent);
    let high = min(low + each, extent);
";

fn fold(
    cx: &mut Context<'_>,
    tree: &Tree,
    p: &Prefixes,
    scratch: ArrayId,
    label: String,
) -> Result<Finished, String> {
    let alone = Loop { body: needed(&p.l.body, &[]), folds: Vec::new(), ..p.l.clone() };
    let before = needed(&p.before, &alone.body);
    let all: Vec<Node> = before.iter().cloned().chain([Node::Loop(alone.clone())]).collect();
    let mut sh = Shader::new(cx, &all)?;
    sh.bind_scratch(scratch, Access::Write);
    let kinds = kinds_of(sh.cx, p)?;
    let kept = Kept { scratch, slots: slots(&kinds) };
    let count = kept.slots.len();
    sh.enter("point", &tree.axes);
    let code = sh.apart(|sh| {
        sh.nodes(&before)?;
        sh.scan_states(&alone.body)?;
        sh.trips(&alone, "i32(low)", "i32(high)")?;
        across(sh, p, &kinds, ("local", "256u"))?;
        sh.open("if group < rows * chunks {");
        sh.line(format!("let at = (rows * chunks + group * 256u + local) * {count}u;"));
        sh.open("if local == 0u {");
        let starts: Vec<String> =
            p.starts().zip(&kinds).map(|(a, kind)| sh.atom_as(a, *kind)).collect::<Result<_, _>>()?;
        kept.put(sh, "at", &starts);
        sh.close("} else {");
        let before = |(k, kind): (usize, &Kind)| kind.load(&format!("part{k}[local - 1u]"));
        kept.put(sh, "at", &kinds.iter().enumerate().map(before).collect::<Vec<_>>());
        sh.close("}");
        sh.open("if local == 255u {");
        sh.line(format!("let end = group * {count}u;"));
        kept.put(sh, "end", &states(p));
        sh.close("}");
        sh.close("}");
        Ok(())
    })?;
    sh.insert_in(0, &code)?;
    let head =
        format!("{}    let point = min(group / chunks, rows - 1u);\n{GROUP}", words(&mut sh, tree, p)?);
    sh.finish(label, &parts(&kinds), &head)
}

fn starts(
    cx: &mut Context<'_>,
    tree: &Tree,
    p: &Prefixes,
    scratch: ArrayId,
    label: String,
) -> Result<Finished, String> {
    let operators = p.operators();
    let before = needed(&p.before, &operators);
    let all: Vec<Node> = before.iter().cloned().chain(operators.iter().cloned()).collect();
    let mut sh = Shader::new(cx, &all)?;
    sh.bind_scratch(scratch, Access::Write);
    let kinds = kinds_of(sh.cx, p)?;
    let kept = Kept { scratch, slots: slots(&kinds) };
    let count = kept.slots.len();
    let totals = kept.get("at");
    let names = states(p);
    sh.enter("point", &tree.axes);
    let code = sh.apart(|sh| {
        sh.nodes(&before)?;
        sh.scan_states(&operators)?;
        let each = "for (var chunk = low; chunk < high; chunk += 1u) {";
        let at = format!("let at = (point * chunks + chunk) * {count}u;");
        sh.open(each);
        sh.line(&at);
        combine(sh, p, &names, &totals)?;
        sh.close("}");
        across(sh, p, &kinds, ("local", "256u"))?;
        sh.open("if group < rows {");
        sh.open("if local == 0u {");
        for ((name, start), kind) in names.iter().zip(p.starts()).zip(&kinds) {
            let start = sh.atom_as(start, *kind)?;
            sh.line(format!("{name} = {start};"));
        }
        sh.close("} else {");
        for (k, (name, kind)) in names.iter().zip(&kinds).enumerate() {
            sh.line(format!("{name} = {};", kind.load(&format!("part{k}[local - 1u]"))));
        }
        sh.close("}");
        sh.open(each);
        sh.line(&at);
        for (k, text) in totals.iter().enumerate() {
            sh.line(format!("let total{k} = {text};"));
        }
        kept.put(sh, "at", &names);
        let old: Vec<String> = (0..kinds.len()).map(|k| format!("total{k}")).collect();
        combine(sh, p, &names, &old)?;
        sh.close("}");
        sh.close("}");
        Ok(())
    })?;
    sh.insert_in(0, &code)?;
    let head = format!(
        "{}    let point = min(group, rows - 1u);
    let share = (chunks + 255u) / 256u;
    let low = min(local * share, chunks);
    let high = min(low + share, chunks);
",
        words(&mut sh, tree, p)?
    );
    sh.finish(label, &parts(&kinds), &head)
}

fn run(
    cx: &mut Context<'_>,
    tree: &Tree,
    p: &Prefixes,
    scratch: ArrayId,
    ends: bool,
    label: String,
) -> Result<Finished, String> {
    let mut sh = Shader::new(cx, &tree.body)?;
    sh.bind_scratch(scratch, Access::Read);
    let kinds = kinds_of(sh.cx, p)?;
    let kept = Kept { scratch, slots: slots(&kinds) };
    let count = kept.slots.len();
    sh.enter("point", &tree.axes);
    let code = sh.apart(|sh| {
        sh.nodes(&p.before)?;
        sh.fold_states(&p.l.folds)?;
        sh.scan_states(&p.l.body)?;
        combine(sh, p, &kept.get("total"), &kept.get("prefix"))?;
        sh.trips(&p.l, "i32(low)", "i32(high)")?;
        sh.nodes(&p.after)
    })?;
    sh.insert_in(0, &code)?;
    let place = if ends {
        "    let point = group * 256u + local;
    if point >= rows { return; }
    let last = (max(extent, 1u) - 1u) / each;
    let chunk = last / 256u;
    let thread = last - chunk * 256u;
    let low = last * each;
    let high = extent;
"
        .to_string()
    } else {
        format!(
            "    if group >= rows * chunks {{ return; }}
    let point = group / chunks;
    let thread = local;
{GROUP}    if low >= extent {{ return; }}
"
        )
    };
    let head = format!(
        "{}{place}    let total = (point * chunks + chunk) * {count}u;
    let prefix = (rows * chunks + (point * chunks + chunk) * 256u + thread) * {count}u;
",
        words(&mut sh, tree, p)?
    );
    sh.finish(label, "", &head)
}

/// The shader that goes along rows by itself. Threads beyond the rows go through no elements, and meet the others at the barriers.
fn rows(cx: &mut Context<'_>, tree: &Tree, p: &Prefixes, label: String) -> Result<Finished, String> {
    let alone = Loop { body: needed(&p.l.body, &[]), folds: Vec::new(), ..p.l.clone() };
    let mut sh = Shader::new(cx, &tree.body)?;
    let kinds = kinds_of(sh.cx, p)?;
    let names = states(p);
    let carries: Vec<String> = (0..names.len()).map(|k| format!("carry{k}")).collect();
    let part = |at: &str| -> Vec<String> {
        kinds.iter().enumerate().map(|(k, kind)| kind.load(&format!("part{k}[{at}]"))).collect()
    };
    sh.enter("point", &tree.axes);
    let code = sh.apart(|sh| {
        sh.nodes(&p.before)?;
        sh.scan_states(&alone.body)?;
        let starts: Vec<String> =
            p.starts().zip(&kinds).map(|(a, kind)| sh.atom_as(a, *kind)).collect::<Result<_, _>>()?;
        for (carry, start) in carries.iter().zip(&starts) {
            sh.line(format!("var {carry} = {start};"));
        }
        sh.open("for (var begin = 0u; begin < extent; begin += lanes * each) {");
        sh.line("let low = min(begin + lane * each, most);");
        sh.line("let high = min(low + each, most);");
        for (name, start) in names.iter().zip(&starts) {
            sh.line(format!("{name} = {start};"));
        }
        sh.trips(&alone, "i32(low)", "i32(high)")?;
        across(sh, p, &kinds, ("lane", "lanes"))?;
        for (name, carry) in names.iter().zip(&carries) {
            sh.line(format!("{name} = {carry};"));
        }
        sh.open("if lane > 0u {");
        combine(sh, p, &carries, &part("local - 1u"))?;
        sh.close("}");
        combined(sh, p, (&carries, &part("local - lane + lanes - 1u")), &carries)?;
        sh.trips(&p.l, "i32(low)", "i32(high)")?;
        sh.line("workgroupBarrier();");
        sh.close("}");
        Ok(())
    })?;
    sh.insert_in(0, &code)?;
    let (count, extent) = (sh.points(&tree.axes)?, sh.points([&p.l.axis])?);
    let [lanes, each] = [Word::Parts, Word::Each].map(|w| sh.word(w));
    let head = format!(
        "    let rows = {count};
    if rows == 0u {{ return; }}
    let extent = {extent};
    let lanes = {lanes};
    let each = {each};
    let lane = local % lanes;
    let number = (wg.x + wg.y * num_wg.x) * (256u / lanes) + local / lanes;
    let point = min(number, rows - 1u);
    let most = select(0u, extent, number < rows);
"
    );
    sh.finish(label, &parts(&kinds), &head)
}

/// The lines that name the words. Only the device may know that there are no points at all.
fn words(sh: &mut Shader<'_, '_>, tree: &Tree, p: &Prefixes) -> Result<String, String> {
    let (rows, extent) = (sh.points(&tree.axes)?, sh.points([&p.l.axis])?);
    let [chunks, each] = [Word::Parts, Word::Each].map(|w| sh.word(w));
    let nothing = if tree.axes.is_empty() { "" } else { "    if rows == 0u { return; }\n" };
    Ok(format!(
        "    let group = wg.x + wg.y * num_wg.x;
    let rows = {rows};
{nothing}    let extent = {extent};
    let chunks = {chunks};
    let each = {each};
"
    ))
}

/// States in the scratch memory: each is as many words as its type takes.
pub(super) struct Kept {
    pub(super) scratch: ArrayId,
    /// For each word the state, its type, and the word's place in it.
    pub(super) slots: Vec<(usize, Kind, usize)>,
}

/// The words of states of these types.
pub(super) fn slots(kinds: &[Kind]) -> Vec<(usize, Kind, usize)> {
    let of = |(k, kind): (usize, &Kind)| {
        let kind = *kind;
        (0..kind.words()).map(move |word| (k, kind, word))
    };
    kinds.iter().enumerate().flat_map(of).collect()
}

impl Kept {
    /// The texts of the states whose words begin at `at`.
    pub(super) fn get(&self, at: &str) -> Vec<String> {
        let word = |slot: usize| format!("a{}[{at} + {slot}u]", self.scratch.0);
        let first = self.slots.iter().enumerate().filter(|(_, (_, _, word))| *word == 0);
        first
            .map(|(slot, (_, kind, _))| {
                kind.of_words(&(slot..slot + kind.words()).map(word).collect::<Vec<_>>())
            })
            .collect()
    }

    /// Puts values there.
    pub(super) fn put(&self, sh: &mut Shader<'_, '_>, at: &str, values: &[String]) {
        for (slot, (k, kind, word)) in self.slots.iter().enumerate() {
            let text = &kind.to_words(&values[*k])[*word];
            sh.line(format!("a{}[{at} + {slot}u] = {text};", self.scratch.0));
        }
    }
}

/// The memory through which a workgroup's threads exchange states.
pub(super) fn parts(kinds: &[Kind]) -> String {
    let part =
        |(k, kind): (usize, &Kind)| format!("var<workgroup> part{k}: array<{}, 256>;\n", kind.stored());
    kinds.iter().enumerate().map(part).collect()
}

/// The states become those of the operator's left and right side.
fn combine(sh: &mut Shader<'_, '_>, p: &Prefixes, left: &[String], right: &[String]) -> Result<(), String> {
    combined(sh, p, (left, right), &states(p))
}

/// What has these names becomes the states of the operator's left and right side.
fn combined(
    sh: &mut Shader<'_, '_>,
    p: &Prefixes,
    (left, right): (&[String], &[String]),
    into: &[String],
) -> Result<(), String> {
    sh.open("{");
    let mut at = 0;
    let mut results = Vec::new();
    for s in &p.scans {
        for (k, (l, r)) in s.left.iter().zip(&s.right).enumerate() {
            sh.line(format!("let v{} = {};", l.0, left[at + k]));
            sh.line(format!("let v{} = {};", r.0, right[at + k]));
        }
        for inner in &s.step.block.lets {
            sh.bind(inner)?;
        }
        for (r, state) in s.step.results.iter().zip(&s.left) {
            let kind = sh.kind(Atom::Var(*state))?;
            results.push(sh.atom_as(*r, kind)?);
        }
        at += s.left.len();
    }
    for (k, r) in results.iter().enumerate() {
        sh.line(format!("let new{k} = {r};"));
    }
    for (k, name) in into.iter().enumerate() {
        sh.line(format!("{name} = new{k};"));
    }
    sh.close("}");
    Ok(())
}

/// The states of a thread become those of all threads of its row up to it, of which there are so many; they are in `part` as well.
fn across(
    sh: &mut Shader<'_, '_>,
    p: &Prefixes,
    kinds: &[Kind],
    (lane, lanes): (&str, &str),
) -> Result<(), String> {
    let names = states(p);
    let keep = |sh: &mut Shader<'_, '_>| {
        for (k, (name, kind)) in names.iter().zip(kinds).enumerate() {
            sh.line(format!("part{k}[local] = {};", kind.store(name)));
        }
        sh.line("workgroupBarrier();");
    };
    keep(sh);
    sh.open(format!("for (var gap = 1u; gap < {lanes}; gap = gap << 1u) {{"));
    sh.open(format!("if {lane} >= gap {{"));
    let left: Vec<String> =
        kinds.iter().enumerate().map(|(k, kind)| kind.load(&format!("part{k}[local - gap]"))).collect();
    combine(sh, p, &left, &names)?;
    sh.close("}");
    sh.line("workgroupBarrier();");
    keep(sh);
    sh.close("}");
    Ok(())
}
