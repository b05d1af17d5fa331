//! Reductions at the points of a matrix, whose values are made of something of the point's row and something of its column.
//!
//! ```text
//! par i < n, j < k { for c < d { a = x[i, c] * s;  b = y[j, c];  v = (a - b) ** 2 } fold sum of v }
//! ```
//!
//! A matrix product is the simplest one. What belongs to a row and an inner point, here `a`, is wanted by all columns; a workgroup that makes
//! a tile of results fetches each of them once for all (`emit/wgsl/tiles.rs`). The rows are those of the tree's last axis but one, the columns
//! those of the last; axes before them are those of a batch.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Reduction;
use crate::bulk::{Atom, Axis, Let, Var};
use crate::loops::{Node, Program, Tree};

/// What a scalar depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Class {
    pub row: bool,
    pub column: bool,
    pub inner: bool,
}

impl Class {
    const ROW: Class = Class { row: true, column: false, inner: false };
    const COLUMN: Class = Class { row: false, column: true, inner: false };
    const INNER: Class = Class { row: false, column: false, inner: true };

    fn and(self, other: Class) -> Class {
        Class {
            row: self.row || other.row,
            column: self.column || other.column,
            inner: self.inner || other.inner,
        }
    }

    fn is_of_both(self) -> bool {
        self.row && self.column
    }
}

/// A reduction that can be done in tiles.
pub(crate) struct Tiles<'t> {
    pub work: Reduction<'t>,
    pub batch: &'t [Axis],
    pub row: &'t Axis,
    pub column: &'t Axis,
    /// What is the same at all inner points.
    pub before: Vec<Let>,
    /// What is made of an inner point with the row or the column, or alone: as far as it is needed for the rest, and with all it needs.
    pub fetched: Vec<Fetched>,
    /// The rest, which is made of these.
    pub rest: Vec<Let>,
    pub classes: FxHashMap<Var, Class>,
}

/// A value that is fetched for a tile.
pub(crate) struct Fetched {
    pub value: Var,
    /// Of a row; else of a column.
    pub of_rows: bool,
    pub code: Vec<Let>,
    /// Whether inner points lie side by side in what is read.
    pub along_inner: bool,
}

/// The most values that are fetched: they share a workgroup's memory.
const MOST_FETCHED: usize = 4;
/// The most words that a thread folds at a point.
const MOST_FOLDED: usize = 2;
/// The most statements of a point.
const LONGEST: usize = 24;

impl<'t> Tiles<'t> {
    /// The tree as a reduction in tiles, if much is the same in its rows and columns.
    pub fn of(p: &Program, tree: &'t Tree) -> Option<Self> {
        let work = Reduction::of(p, tree)?;
        let [batch @ .., row, column] = &tree.axes[..] else { return None };
        let is_short = |a: &Axis| a.extent.as_constant().is_some_and(|n| n < 32);
        let words: usize = work.folds.iter().map(|f| f.reducer.words(p.elem(f.value))).sum();
        if is_short(row)
            || is_short(column)
            || work.folds.iter().any(|f| f.reducer.op().is_none())
            || words > MOST_FOLDED
            || !work.after.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }))
        {
            return None;
        }
        let mut classes: FxHashMap<Var, Class> = FxHashMap::default();
        classes.insert(row.var, Class::ROW);
        classes.insert(column.var, Class::COLUMN);
        classes.extend(work.inner.iter().map(|a| (a.var, Class::INNER)));
        let mut all: Vec<&Let> = Vec::new();
        for n in work.before {
            all.extend(as_let(n));
        }
        all.extend(&work.between);
        for n in work.body {
            all.push(as_let(n)?);
        }
        for l in &all {
            let class = class_of(l, &classes);
            l.exp.visit_bound(&mut |v| {
                classes.insert(v, class);
            });
            classes.extend(l.vars.iter().map(|v| (*v, class)));
        }
        let of = |l: &Let| classes[&l.vars[0]];
        let (inside, before): (Vec<&Let>, Vec<&Let>) = all.into_iter().partition(|l| of(l).inner);
        let (rest, fetched): (Vec<&Let>, Vec<&Let>) = inside.into_iter().partition(|l| of(l).is_of_both());
        let reads_whole = |l: &&Let| {
            let mut any = false;
            l.exp.visit_reads(&mut |_, _| any = true);
            any
        };
        if rest.is_empty() || rest.len() > LONGEST || rest.iter().any(reads_whole) {
            return None;
        }
        // What takes long of a point by itself is not slow for want of what it reads.
        if rest.iter().any(|l| l.takes_long()) {
            return None;
        }
        let mut needed: Vec<Var> = Vec::new();
        let mut need = |a: Atom| {
            if let Atom::Var(v) = a
                && classes.get(&v).is_some_and(|c| c.inner && !c.is_of_both())
                && !needed.contains(&v)
            {
                needed.push(v);
            }
        };
        rest.iter().for_each(|l| l.exp.visit_atoms(&mut need));
        work.folds.iter().for_each(|f| need(f.value));
        let slices = needed.iter().map(|v| fetch(*v, &fetched, &before, &classes, work.inner.last()?.var));
        let slices: Vec<Fetched> = slices.collect::<Option<_>>()?;
        let both_sides = slices.iter().any(|f| f.of_rows) && slices.iter().any(|f| !f.of_rows);
        if !both_sides || slices.len() > MOST_FETCHED {
            return None;
        }
        let owned = |lets: Vec<&Let>| lets.into_iter().cloned().collect();
        let (before, rest) = (owned(before), owned(rest));
        Some(Tiles { work, batch, row, column, before, fetched: slices, rest, classes })
    }
}

fn as_let(n: &Node) -> Option<&Let> {
    if let Node::Let(l) = n { Some(l) } else { None }
}

fn class_of(l: &Let, classes: &FxHashMap<Var, Class>) -> Class {
    let mut class = Class::default();
    l.exp.visit_atoms(&mut |a| {
        if let Some(c) = a.var().and_then(|v| classes.get(&v)) {
            class = class.and(*c);
        }
    });
    class
}

/// A value with the code that makes it, unless that is the number of an inner point itself.
fn fetch(
    value: Var,
    inside: &[&Let],
    before: &[&Let],
    classes: &FxHashMap<Var, Class>,
    innermost: Var,
) -> Option<Fetched> {
    let mut live: FxHashSet<Var> = FxHashSet::from_iter([value]);
    let mut code = Vec::new();
    // What is the same everywhere is there already.
    let varies = |l: &&&Let| classes[&l.vars[0]] != Class::default();
    for l in before.iter().filter(varies).chain(inside).rev() {
        if l.vars.iter().any(|v| live.contains(v)) {
            l.exp.visit_atoms(&mut |a| live.extend(a.var()));
            code.push((*l).clone());
        }
    }
    code.reverse();
    let mut along_inner = false;
    for l in &code {
        l.exp.visit_reads(&mut |_, index| along_inner |= index.last() == Some(&Atom::Var(innermost)));
    }
    let is_counter = code.is_empty();
    (!is_counter).then_some(Fetched { value, of_rows: classes[&value].row, code, along_inner })
}
