//! What a program costs, step by step, for `explain`: polynomials in sizes.
//!
//! ```text
//! line 12: n x m points: 5 * m * n operations, m * n exp; reads 8 * m * n bytes, writes 8 * n bytes
//! ```
//!
//! * An **operation** is a function of floats that is one instruction or a few, or what a reduction, an accumulation or a product combines.
//!   Other functions of floats have their names. Of a choice both sides are counted, of a triangle the whole square.
//! * Of the **bytes** of an array each counts once in a step, however often it is read: they are what comes from memory and goes there if
//!   all that a step uses again stays in caches. Where data tell which elements these are, all are counted. What steps that go on in bands
//!   hand on to each other stays in caches.
//! * The trips of a loop that only data tell are a size of their own: `trips(9)`, of the loop in line 9.

mod print;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use super::{Bands, Contract, Division, Form, Home, Node, Program, Repeat, Step, Tree};
use crate::bulk::{ArrayId, Axis, Trips};
use crate::dim::{Dim, SizeAtom};
use crate::ty::{Line, Loc};
pub use print::print;
use print::show;
use tree::Nodes;

/// What is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the header")]
pub struct Cost {
    pub operations: Dim,
    /// How often each function is computed.
    pub functions: BTreeMap<&'static str, Dim>,
    /// Bytes.
    pub read: Dim,
    /// Bytes.
    pub written: Dim,
}

impl Cost {
    /// This cost and another one.
    fn add(&mut self, other: &Cost) {
        self.operations = self.operations.add(&other.operations);
        self.read = self.read.add(&other.read);
        self.written = self.written.add(&other.written);
        for (name, times) in &other.functions {
            let sum = self.functions.entry(name).or_default();
            *sum = sum.add(times);
        }
    }

    /// This cost, so many times.
    fn times(&self, trips: &Dim) -> Cost {
        Cost {
            operations: self.operations.mul(trips),
            functions: self.functions.iter().map(|(name, times)| (*name, times.mul(trips))).collect(),
            read: self.read.mul(trips),
            written: self.written.mul(trips),
        }
    }

    /// Whether it is the same whatever the sizes are.
    fn is_fixed(&self) -> bool {
        let all = [&self.operations, &self.read, &self.written];
        all.into_iter().chain(self.functions.values()).all(|d| d.as_constant().is_some())
    }
}

/// What a step costs, and what a reader should know besides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the types")]
pub struct Item {
    /// The number of loops and bands around it.
    pub depth: usize,
    /// What it comes from.
    pub lines: BTreeSet<Line>,
    pub what: String,
    pub remarks: Vec<String>,
    /// Of one execution; `None`: of what stands in it.
    pub cost: Option<Cost>,
}

/// The costs of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "described by the types")]
pub struct Costs {
    pub items: Vec<Item>,
    pub total: Cost,
    /// Bytes of arrays that are neither arguments nor results.
    pub memory: Dim,
}

/// What a program costs.
pub fn of(p: &Program) -> Costs {
    let mut steps = Steps {
        p,
        items: Vec::new(),
        depth: 0,
        own: BTreeSet::new(),
        sums: BTreeSet::new(),
        total_of: BTreeMap::new(),
    };
    let total = steps.all(&p.steps);
    let of_bands = steps.own.union(&steps.sums).copied().collect();
    let memory = steps.whole(&memory(p, &of_bands));
    Costs { items: steps.items, total, memory }
}

/// Bytes of arrays of the program's own, without those that take over the memory of others and those of bands.
fn memory(p: &Program, of_bands: &BTreeSet<ArrayId>) -> Dim {
    fn taken(steps: &[Step], out: &mut BTreeSet<ArrayId>) {
        for s in steps {
            match s {
                Step::Move { array, .. } => out.extend([*array]),
                Step::Repeat(r) => {
                    let carried = r.carried.iter().filter(|c| c.takes.0);
                    out.extend(carried.map(|c| c.arrays.state));
                }
                _ => {}
            }
            taken(s.inside(), out);
        }
    }
    let mut without: BTreeSet<ArrayId> =
        p.result.leaves().into_iter().filter_map(|a| p.end_of_views(*a)).collect();
    taken(&p.steps, &mut without);
    let own = (0..p.arrays.len()).filter(|a| {
        let id = ArrayId(*a as u32);
        p.arrays[*a].home == Home::Heap && !without.contains(&id) && !of_bands.contains(&id)
    });
    let bytes = own.map(|a| &p.arrays[a]).filter(|a| !a.dims.is_empty());
    bytes.fold(Dim::default(), |sum, a| sum.add(&Dim::product(&a.dims).scale(a.elem.bytes())))
}

struct Steps<'p> {
    p: &'p Program,
    items: Vec<Item>,
    depth: usize,
    /// Arrays that steps in bands hand on to each other.
    own: BTreeSet<ArrayId>,
    /// Arrays that bands add to.
    sums: BTreeSet<ArrayId>,
    /// Of the number of a band's rows, that of all.
    total_of: BTreeMap<u32, Dim>,
}

impl Steps<'_> {
    fn line(&self, loc: Loc) -> Option<Line> {
        self.p.places.get(loc.0 as usize).map(|place| place.line_in(&self.p.name))
    }

    /// A size, with all rows instead of those of a band.
    fn whole(&self, d: &Dim) -> Dim {
        d.substitute(&mut |a| match a {
            SizeAtom::Scalar(s) => self.total_of.get(s).cloned().unwrap_or_else(|| Dim::atom(a.clone())),
            SizeAtom::Name(_) => Dim::atom(a.clone()),
        })
    }

    fn trips(&self, loc: Loc) -> Dim {
        let line = match self.line(loc) {
            Some((None, line)) => line.to_string(),
            Some((Some(other), line)) => format!("{line} of {other}"),
            None => String::new(),
        };
        Dim::name(format!("trips({line})"))
    }

    fn all(&mut self, steps: &[Step]) -> Cost {
        let mut sum = Cost::default();
        for s in steps {
            sum.add(&self.step(s));
        }
        sum
    }

    fn step(&mut self, s: &Step) -> Cost {
        match s {
            Step::Check(..) | Step::Move { .. } => Cost::default(),
            Step::Tree(t) => self.tree(t),
            Step::Contract(c) => self.product(c),
            Step::Repeat(r) => self.repeat(r),
            Step::Bands(b) => self.bands(b),
            Step::Fill { array, value } => {
                // Room that is written before it is read takes nothing.
                let to = value.map(|_| *array);
                self.moved("one value everywhere", &[], to.as_slice())
            }
            Step::Copy { array, source } => self.moved("a copy", &[*source], &[*array]),
            Step::Sort(s) => self.moved("rows in order", &[s.keys], &[s.result]),
            Step::Call(c) => self.moved(c.routine.name(), &c.args, &c.results),
        }
    }

    /// What a step does that goes through whole arrays once.
    fn moved(&mut self, what: &str, from: &[ArrayId], to: &[ArrayId]) -> Cost {
        let bytes = |arrays: &[ArrayId]| {
            let dims = |a: &ArrayId| self.bytes(*a, &self.p.arrays[a.0 as usize].dims);
            arrays.iter().map(dims).fold(Dim::default(), |sum, d| sum.add(&d))
        };
        let cost = Cost { read: bytes(from), written: bytes(to), ..Cost::default() };
        self.item(BTreeSet::new(), what.into(), Vec::new(), cost)
    }

    /// Bytes of this part of an array that come from memory, or go there.
    fn bytes(&self, a: ArrayId, part: &[Dim]) -> Dim {
        let root = self.p.root(a);
        let info = &self.p.arrays[root.0 as usize];
        let is_far = matches!(info.home, Home::Heap | Home::Param | Home::Band(_)) && !info.dims.is_empty();
        if !is_far || self.own.contains(&root) {
            return Dim::default();
        }
        self.whole(&Dim::product(part)).scale(info.elem.bytes())
    }

    fn item(&mut self, lines: BTreeSet<Line>, what: String, remarks: Vec<String>, cost: Cost) -> Cost {
        if !cost.is_fixed() {
            let cost = Some(cost.clone());
            self.items.push(Item { depth: self.depth, lines, what, remarks, cost });
        }
        cost
    }

    fn product(&mut self, c: &Contract) -> Cost {
        let all = self.whole(&Dim::product(&c.extents));
        let of = |places: &[usize]| -> Vec<Dim> { places.iter().map(|x| c.extents[*x].clone()).collect() };
        let (a, b) = (self.bytes(c.a.array, &of(&c.a.axes())), self.bytes(c.b.array, &of(&c.b.axes())));
        let cost = Cost {
            operations: all.scale(2),
            read: if c.a == c.b { a } else { a.add(&b) },
            written: self.bytes(c.result, &of(&c.out)),
            ..Cost::default()
        };
        let summed: Vec<usize> = (0..c.extents.len()).filter(|x| !c.out.contains(x)).collect();
        let shown = |places: &[usize]| self.extents(&of(places));
        let what = format!("a product of matrices, {}, sums of {}", shown(&c.out), shown(&summed));
        let lines = self.line(c.loc).into_iter().collect();
        self.item(lines, what, Vec::new(), cost)
    }

    /// `n x m`.
    fn extents(&self, dims: &[Dim]) -> String {
        let shown = |d: &Dim| {
            let text = self.show(&self.whole(d));
            if text.contains([' ']) && dims.len() > 1 { format!("({text})") } else { text }
        };
        if dims.is_empty() { "1".into() } else { dims.iter().map(shown).collect::<Vec<_>>().join(" x ") }
    }

    /// The same of the extents of axes.
    fn space<'a>(&self, axes: impl IntoIterator<Item = &'a Axis>) -> String {
        self.extents(&axes.into_iter().map(|a| a.extent.clone()).collect::<Vec<_>>())
    }

    fn show(&self, d: &Dim) -> String {
        show(self.p, d)
    }

    fn repeat(&mut self, r: &Repeat) -> Cost {
        let trips = match &r.trips {
            Trips::For(_, n) => n.clone(),
            Trips::While(_) => self.trips(r.loc),
        };
        let at = self.items.len();
        self.depth += 1;
        let each = self.all(&r.steps);
        self.depth -= 1;
        let what = format!("a loop in order, {} trips:", self.show(&trips));
        let lines = self.line(r.loc).into_iter().collect();
        self.items.insert(at, Item { depth: self.depth, lines, what, remarks: Vec::new(), cost: None });
        each.times(&trips)
    }

    fn bands(&mut self, b: &Bands) -> Cost {
        self.total_of.insert(b.rows.0, b.total.clone());
        let rows = Dim::atom(SizeAtom::Scalar(b.rows.0));
        let own = |a: &usize| {
            let info = &self.p.arrays[*a];
            info.home == Home::Heap && info.dims.first() == Some(&rows)
        };
        self.own.extend((0..self.p.arrays.len()).filter(own).map(|a| ArrayId(a as u32)));
        self.sums.extend(b.sums.iter().map(|h| h.inside));
        let at = self.items.len();
        self.depth += 1;
        let cost = self.all(&b.steps);
        self.depth -= 1;
        let row = self.show(&b.row_bytes(self.p));
        let what = format!(
            "some of {} rows at a time, with {row} bytes for each in between:",
            self.extents(std::slice::from_ref(&b.total))
        );
        let item = Item { depth: self.depth, lines: BTreeSet::new(), what, remarks: Vec::new(), cost: None };
        self.items.insert(at, item);
        cost
    }

    fn tree(&mut self, t: &Tree) -> Cost {
        let Nodes { cost, read, written, mut lines, copied, has_recurrence, .. } = Nodes::of(self, t);
        let bytes = |parts: &BTreeMap<ArrayId, Vec<Dim>>| {
            parts.iter().fold(Dim::default(), |sum, (a, part)| sum.add(&self.bytes(*a, part)))
        };
        let cost = Cost {
            operations: self.whole(&cost.operations),
            functions: cost.functions.iter().map(|(name, times)| (*name, self.whole(times))).collect(),
            read: bytes(&read),
            written: bytes(&written),
        };
        let loops = || t.body.iter().filter_map(|n| if let Node::Loop(l) = n { Some(l) } else { None });
        let what = match (t.axes.is_empty(), loops().next(), loops().nth(1)) {
            (true, Some(l), None) => format!("{} trips", self.space(l.axes())),
            (true, ..) => "once".into(),
            (false, ..) => format!("{} points", self.space(&t.axes)),
        };
        let mut remarks = Vec::new();
        if !t.axes.is_empty() && t.plan.division == Division::Undivided {
            remarks.push("one after the other, since they write where others may".into());
        }
        if let Form::Together(width) = t.plan.form {
            remarks.push(format!("{width} at a time"));
        } else if has_recurrence {
            remarks.push("each makes its loops alone".into());
        }
        if t.plan.division == Division::Copies {
            let all = copied.iter().map(|a| self.bytes(*a, &self.p.arrays[a.0 as usize].dims));
            let all = all.fold(Dim::default(), |sum, d| sum.add(&d));
            remarks.push(format!("each task adds to a copy of {} bytes", self.show(&all)));
        }
        if lines.is_empty() {
            lines.extend(self.line(t.loc));
        }
        self.item(lines, what, remarks, cost)
    }
}
