//! Reductions in tiles: see `lower::gpu::tiles`.
//!
//! A workgroup makes 128 rows and 32 columns of results, each thread 4 x 4 of them. With `f` and `g` what is fetched of rows and of columns:
//!
//! ```text
//! for each [`depth`] inner points
//!     fetch    f of all rows, g of all columns, at all these points, by all threads, into the workgroup's memory
//!     fold     for each of these points: the 4 f and 4 g of a thread; its 16 values, folded
//! end          what is done with the results, where there are results
//! ```
//!
//! The code of a point is printed once and copied with the names of the copy: `_r0` to `_r3` what is of a row, `_c0` to `_c3` of a column,
//! `_p00` to `_p33` of both. Rows and columns beyond the end repeat the last one, and are not stored.

use rustc_hash::FxHashMap;

use super::context::Context;
use super::several::{defined, renamed};
use super::shader::{Finished, Shader};
use super::types::Kind;
use super::words::Word;
use crate::bulk::{Atom, Axis};
use crate::loops::Tree;
use crate::lower::gpu::{Class, Tiles};

/// Rows and columns of a thread, and of a workgroup.
const EACH: usize = 4;
const ROWS: usize = 128;
const COLUMNS: usize = 32;

/// What every device has for a workgroup.
const MEMORY: usize = 16 << 10;

/// The elements from one inner point to the next: one more than there are, so that threads that write a column meet different banks.
fn pitch(of_rows: bool) -> usize {
    if of_rows { ROWS + 1 } else { COLUMNS + 1 }
}

/// The inner points that a workgroup has in its memory at a time.
fn depth(kinds: &[(Kind, bool)]) -> Option<usize> {
    let of = |(kind, of_rows): &(Kind, bool)| 4 * kind.words() * pitch(*of_rows);
    let line: usize = kinds.iter().map(of).sum();
    [16, 8, 4].into_iter().find(|depth| depth * line <= MEMORY)
}

/// The shader, unless something may fail or there is no room.
pub(super) fn tiles(
    cx: &mut Context<'_>,
    tree: &Tree,
    t: &Tiles<'_>,
    label: String,
) -> Result<Option<Finished>, String> {
    let sites = cx.sites.len();
    let mut sh = Shader::new(cx, &tree.body)?;
    let kinds = t.fetched.iter().map(|f| Ok((sh.kind(Atom::Var(f.value))?, f.of_rows)));
    let kinds: Vec<(Kind, bool)> = kinds.collect::<Result<_, String>>()?;
    let Some(depth) = depth(&kinds) else { return Ok(None) };
    sh.enter("batch", t.batch);
    let inner: Vec<Axis> = t.work.inner.iter().map(|a| (*a).clone()).collect();
    sh.enter("inner", &inner);
    sh.axis(t.row);
    sh.axis(t.column);
    let mut names = Names::default();
    for (v, class) in &t.classes {
        names.classes.insert(format!("v{}", v.0), *class);
    }
    // What is of an inner point alone is fetched as if it were of the columns.
    for f in t.fetched.iter().filter(|f| !f.of_rows) {
        names.classes.insert(format!("v{}", f.value.0), Class { column: true, ..t.classes[&f.value] });
    }

    // What the threads have of their own, before the inner points.
    let mut own = String::new();
    for l in &t.before {
        let text = sh.apart(|sh| sh.bind(l))?;
        names.copies(&text, t.classes[&l.vars[0]], &mut own);
    }
    let both = Class { row: true, column: true, inner: true };
    let states = sh.apart(|sh| sh.fold_states(&t.work.folds))?;
    names.define(&states, both);
    names.copies(&states, both, &mut own);

    let mut fetching = String::new();
    for (k, f) in t.fetched.iter().enumerate() {
        fetching.push_str(&fetched(&mut sh, t, (k, kinds[k].0), depth, f.along_inner)?);
    }

    let mut folding = String::new();
    for (k, (f, (kind, of_rows))) in t.fetched.iter().zip(&kinds).enumerate() {
        for e in 0..EACH {
            let (place, side) = if *of_rows { ("down", 'r') } else { ("across", 'c') };
            let at = format!("line * {}u + {place} * {EACH}u + {e}u", pitch(*of_rows));
            let value = kind.load(&format!("tile{k}[{at}]"));
            folding.push_str(&format!("            let v{}_{side}{e} = {value};\n", f.value.0));
        }
    }
    for l in &t.rest {
        let text = sh.apart(|sh| sh.bind(l))?;
        names.define(&text, both);
        names.copies(&text, both, &mut folding);
    }
    let innermost = inner.last().map(|a| a.var).ok_or("a reduction over nothing")?;
    let folds = sh.apart(|sh| t.work.folds.iter().try_for_each(|f| sh.fold(f, innermost)))?;
    names.copies(&folds, both, &mut folding);

    let after = sh.apart(|sh| sh.nodes(t.work.after))?;
    names.define(&after, both);
    let mut ending = String::new();
    for (r, c) in places() {
        ending.push_str(&format!("    if row_{r} < rows && column_{c} < columns {{\n"));
        ending.push_str(&names.copy(&after, (r, c)));
        ending.push_str("    }\n");
    }
    if sh.failing > 0 {
        sh.cx.sites.truncate(sites);
        return Ok(None);
    }

    let batch = sh.decode(0)?;
    sh.insert(&batch);
    for e in 0..EACH {
        sh.line(format!("let row_{e} = first_row + down * {EACH}u + {e}u;"));
        sh.line(format!("let v{}_r{e} = i32(min(row_{e}, rows - 1u));", t.row.var.0));
        sh.line(format!("let column_{e} = first_column + across * {EACH}u + {e}u;"));
        sh.line(format!("let v{}_c{e} = i32(min(column_{e}, columns - 1u));", t.column.var.0));
    }
    sh.insert(&own);
    sh.open(format!("for (var begin = 0u; begin < inners; begin += {depth}u) {{"));
    sh.insert(&fetching);
    sh.line("workgroupBarrier();");
    sh.line(format!("let lines = min({depth}u, inners - begin);"));
    sh.open("for (var line = 0u; line < lines; line += 1u) {");
    sh.insert(&folding);
    sh.close("}");
    sh.line("workgroupBarrier();");
    sh.close("}");
    sh.insert(&ending);

    let [across, down] = [Word::Parts, Word::Each].map(|w| sh.word(w));
    let (rows, columns) = (sh.points([t.row])?, sh.points([t.column])?);
    let (batches, inners) = (sh.points(t.batch)?, sh.points(&inner)?);
    let head = format!(
        "    let group = wg.x + wg.y * num_wg.x;
    let rows = {rows};
    let columns = {columns};
    let inners = {inners};
    let first_column = (group % {across}) * {COLUMNS}u;
    let first_row = (group / {across} % {down}) * {ROWS}u;
    let batch = group / {across} / {down};
    if batch >= {batches} || first_row >= rows || first_column >= columns {{ return; }}
    let down = local / {}u;
    let across = local % {}u;
",
        COLUMNS / EACH,
        COLUMNS / EACH
    );
    let memory = kinds.iter().enumerate().map(|(k, (kind, of_rows))| {
        let elements = depth * pitch(*of_rows);
        format!("var<workgroup> tile{k}: array<{}, {elements}>;\n", kind.stored())
    });
    let memory: String = memory.collect();
    Ok(Some(sh.finish(label, &memory, &head)?))
}

/// The code that fetches a value for all rows or columns of the tile, at all the inner points that there is room for.
fn fetched(
    sh: &mut Shader<'_, '_>,
    t: &Tiles<'_>,
    (k, kind): (usize, Kind),
    depth: usize,
    along_inner: bool,
) -> Result<String, String> {
    let f = &t.fetched[k];
    let (side, axis, first, count) = if f.of_rows {
        (ROWS, t.row, "first_row", "rows")
    } else {
        (COLUMNS, t.column, "first_column", "columns")
    };
    let making = sh.apart(|sh| f.code.iter().try_for_each(|l| sh.bind(l)))?;
    let decoded = sh.decode(1)?;
    sh.apart(|sh| {
        sh.open(format!("for (var at = local; at < {}u; at += 256u) {{", side * depth));
        let (fast, slow, length) =
            if along_inner { ("line", "member", depth) } else { ("member", "line", side) };
        sh.line(format!("let {fast} = at % {length}u;"));
        sh.line(format!("let {slow} = at / {length}u;"));
        sh.line("let inner = min(begin + line, inners - 1u);");
        sh.line(format!("let v{} = i32(min({first} + member, {count} - 1u));", axis.var.0));
        sh.insert(&decoded);
        sh.insert(&making);
        let value = kind.store(&format!("v{}", f.value.0));
        sh.line(format!("tile{k}[line * {}u + member] = {value};", pitch(f.of_rows)));
        sh.close("}");
        Ok(())
    })
}

fn places() -> impl Iterator<Item = (usize, usize)> {
    (0..EACH).flat_map(|r| (0..EACH).map(move |c| (r, c)))
}

/// What names belong to.
#[derive(Default)]
struct Names {
    classes: FxHashMap<String, Class>,
}

impl Names {
    /// The names that code defines belong to this.
    fn define(&mut self, code: &str, class: Class) {
        self.classes.extend(defined(&[code]).map(|name| (name.to_string(), class)));
    }

    /// Code once for each row, column or place of a thread.
    fn copies(&mut self, code: &str, class: Class, out: &mut String) {
        self.define(code, class);
        match (class.row, class.column) {
            (false, false) => out.push_str(code),
            (true, false) => (0..EACH).for_each(|r| out.push_str(&self.copy(code, (r, 0)))),
            (false, true) => (0..EACH).for_each(|c| out.push_str(&self.copy(code, (0, c)))),
            (true, true) => places().for_each(|place| out.push_str(&self.copy(code, place))),
        }
    }

    /// Code with the names of a place.
    fn copy(&self, code: &str, (r, c): (usize, usize)) -> String {
        renamed(code, |word| {
            let class = self.classes.get(word)?;
            match (class.row, class.column) {
                (false, false) => None,
                (true, false) => Some(format!("_r{r}")),
                (false, true) => Some(format!("_c{c}")),
                (true, true) => Some(format!("_p{r}{c}")),
            }
        })
    }
}
