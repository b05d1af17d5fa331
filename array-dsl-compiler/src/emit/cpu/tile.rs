//! Reductions of many neighbors at once.
//!
//! In `for j { for k { .. a[k, j] .. } fold }` the inner loop strides through memory. In tiles the loop over `j`
//! is cut into `COLUMNS` points (a constant of the runtime), and inside of them the loops change places:
//!
//! ```text
//! for each tile {
//!     state = [neutral; COLUMNS]
//!     for k { for t in tile { state[t] = state[t] + a[k, tile + t] } }
//!     for t in tile { the rest, with the results state[t] }
//! }
//! ```
//!
//! Code between loops becomes **points**, a loop over the tile, up to the end of a vector where there are functions (`together`); scalars
//! that live from one to another, the states of the folds among them, are arrays of a tile's length, but for `addresses`. If the loop over
//! `j` is all that is parallel, the tiles are few where `j` is short: then the trips of the reduction are shared among tasks as well, each
//! with states of its own that are combined in order.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::addresses::Addresses;
use super::nodes::leave_if_failed;
use super::pieces::mask;
use super::region::{Given, Region};
use super::tree::merged;
use super::{Cpu, expr, fold};
use crate::bulk::{Atom, Axis, Var};
use crate::internal::{self, expect};
use crate::loops::{Fold, LANES, Node, Tree};
use crate::ty::Elem;

/// The code of a tile.
enum Part {
    Points(Points),
    Loop { axes: Vec<Axis>, folds: Vec<Fold>, parts: Vec<Part> },
}

/// A loop over the tile.
#[derive(Default)]
struct Points {
    nodes: Vec<Node>,
    /// Whose values are combined into their states at the end.
    folds: Vec<Fold>,
}

/// Nodes as parts; `folds` are those of the loop whose body it is.
fn parts(nodes: &[Node], folds: &[Fold]) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    for n in nodes {
        match n {
            Node::Loop(l) => {
                out.push(Part::Loop {
                    axes: l.axes().cloned().collect(),
                    folds: l.folds.clone(),
                    parts: parts(&l.body, &l.folds),
                });
            }
            n => match out.last_mut() {
                Some(Part::Points(p)) => p.nodes.push(n.clone()),
                _ => out.push(Part::Points(Points { nodes: vec![n.clone()], folds: Vec::new() })),
            },
        }
    }
    if !folds.is_empty() {
        match out.last_mut() {
            Some(Part::Points(p)) => p.folds = folds.to_vec(),
            _ => out.push(Part::Points(Points { nodes: Vec::new(), folds: folds.to_vec() })),
        }
    }
    out
}

/// The parts with the integers that they use of others computed again.
fn with_addresses(parts: &mut [Part], vars: &[Elem], known: &mut Addresses) {
    for part in parts {
        match part {
            Part::Points(p) => {
                let (_, used) = p.scalars();
                let again = known.of(&used);
                p.nodes.iter().for_each(|n| known.learn(n, vars));
                p.nodes.splice(0..0, again);
            }
            Part::Loop { folds, parts, .. } => {
                with_addresses(parts, vars, known);
                folds.iter().for_each(|f| known.differs(f.result));
            }
        }
    }
}

/// Which scalars of a tile are arrays: results of folds, and what one loop over the tile binds and another uses.
#[derive(Default)]
struct Scalars {
    arrays: BTreeSet<Var>,
    bound_by: FxHashMap<Var, usize>,
    points: usize,
    /// The length of those arrays.
    width: String,
    /// Where loops over the tile go on to the end of a vector, the bytes of a number (`together`).
    masked: Option<i64>,
    /// Whether they are slices that are read.
    are_slices: bool,
}

impl Scalars {
    fn new(parts: &[Part]) -> Scalars {
        let mut s = Scalars { width: "__rt::cpu::COLUMNS".into(), ..Scalars::default() };
        s.parts(parts);
        s
    }

    /// Up to where loops over the tile go.
    fn end(&self) -> String {
        self.masked.map_or_else(
            || "width".into(),
            |bytes| format!("__rt::cpu::in_vectors::<VECTOR>(width, {bytes}, {} as i64)", self.width),
        )
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Points(p) => {
                    let (bound, used) = p.scalars();
                    self.bound_by.extend(bound.into_iter().map(|v| (v, self.points)));
                    let elsewhere = |v: &Var| self.bound_by.get(v).is_some_and(|at| *at != self.points);
                    self.arrays.extend(used.into_iter().filter(elsewhere));
                    self.points += 1;
                }
                Part::Loop { folds, parts, .. } => {
                    self.parts(parts);
                    self.arrays.extend(folds.iter().map(|f| f.result));
                }
            }
        }
    }
}

impl Points {
    /// The scalars it binds, and those it uses of other places.
    fn scalars(&self) -> (Vec<Var>, BTreeSet<Var>) {
        let mut bound = Vec::new();
        let mut used: BTreeSet<Atom> = self.folds.iter().map(|f| f.value).collect();
        for n in &self.nodes {
            match n {
                Node::Let(l) => {
                    bound.extend(&l.vars);
                    l.exp.visit_atoms(&mut |a| used.extend([a]));
                }
                Node::Store { index, value, .. } => used.extend(index.iter().chain([value]).copied()),
                Node::Loop(_)
                | Node::Scan(_)
                | Node::Recurrence(_)
                | Node::Accumulate { .. }
                | Node::Write { .. } => internal::broken("points of a tile that are no scalar code".into()),
            }
        }
        let mut used: BTreeSet<Var> =
            used.into_iter().filter_map(|a| if let Atom::Var(v) = a { Some(v) } else { None }).collect();
        used.retain(|v| !bound.contains(v));
        (bound, used)
    }
}

impl Cpu<'_> {
    /// `for axis in from..to` in tiles.
    pub(super) fn tiles(
        &mut self,
        axis: &Axis,
        body: &[Node],
        from: &str,
        to: &str,
        r: &mut Region,
    ) -> String {
        let parts = self.tile_of(body);
        let scalars = Scalars { masked: mask(body, &self.p.vars), ..Scalars::new(&parts) };
        let declared = self.tile_arrays(&scalars);
        let inside = self.tile_parts(axis, &parts, &scalars, None, r);
        format!(
            "{declared}let mut tile: i64 = {from};\nlet end: i64 = {to};\nwhile tile < end {{\n\
             let width: i64 = if end - tile < __rt::cpu::COLUMNS as i64 {{ end - tile }} else {{ __rt::cpu::COLUMNS as i64 }};\n\
             {inside}tile += width;\n{}}}\n",
            leave_if_failed(&inside)
        )
    }

    /// The same with folds, of no fewer trips than a tile has, which are so few that states stay in registers. The last tile ends with
    /// the last trip: what it computes again has been folded before.
    pub(super) fn whole_tiles(
        &mut self,
        axis: &Axis,
        body: &[Node],
        folds: &[Fold],
        from: &str,
        to: &str,
        r: &mut Region,
    ) -> String {
        let parts = self.tile_of(body);
        let mut scalars = Scalars { width: LANES.to_string(), ..Scalars::new(&parts) };
        let folded = folds.iter().filter_map(|f| f.value.var());
        scalars.arrays.extend(folded.filter(|v| scalars.bound_by.contains_key(v)));
        let declared = self.tile_arrays(&scalars);
        let mut inside = self.tile_parts(axis, &parts, &scalars, None, r);
        for f in folds {
            let is_array = f.value.var().is_some_and(|v| scalars.arrays.contains(&v));
            let text = self.fold_of_tile(axis.var, f, is_array, r);
            inside.push_str(&text);
        }
        format!(
            "{declared}let width: i64 = {LANES};\nlet mut next: i64 = {from};\nlet end: i64 = {to};\nwhile next < end {{\n\
             let tile: i64 = if next + width <= end {{ next }} else {{ end - width }};\nlet done: i64 = next - tile;\n\
             {inside}next = tile + width;\n{}}}\n",
            leave_if_failed(&inside)
        )
    }

    fn tile_arrays(&self, scalars: &Scalars) -> String {
        scalars.arrays.iter().map(|v| self.tile_array(*v, &scalars.width)).collect()
    }

    fn tile_of(&self, nodes: &[Node]) -> Vec<Part> {
        let mut parts = parts(nodes, &[]);
        with_addresses(&mut parts, &self.p.vars, &mut Addresses::default());
        parts
    }

    fn tile_array(&self, v: Var, width: &str) -> String {
        let e = self.p.vars[v.0 as usize];
        format!("let mut s{} = __rt::trusted::Lanes::<{e}, {{ {width} }}>::unset();\n", v.0)
    }

    /// The code for one tile. `range` replaces the range of the outermost loops.
    fn tile_parts(
        &mut self,
        axis: &Axis,
        parts: &[Part],
        scalars: &Scalars,
        range: Option<(&str, &str)>,
        r: &mut Region,
    ) -> String {
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Points(p) => out.push_str(&self.points(axis, p, scalars, r)),
                Part::Loop { axes, folds, parts } => {
                    for f in folds {
                        let neutral = expr::constant(f.reducer.neutral(self.atom_elem(f.value)));
                        let end = scalars.end();
                        out.push_str(&format!("unsafe {{ s{}.fill({end}, {neutral}) }};\n", f.result.0));
                    }
                    let extent = self.trips_in(axes.iter(), r);
                    r.bound(axes[0].var);
                    let inside = self.tile_parts(axis, parts, scalars, None, r);
                    let (from, to) = range.unwrap_or(("0i64", &extent));
                    let v = axes[0].var.0;
                    let leave = leave_if_failed(&inside);
                    out.push_str(&format!(
                        "let mut v{v}: i64 = {from};\nwhile v{v} < {to} {{\n{inside}v{v} += 1;\n{leave}}}\n"
                    ));
                }
            }
        }
        out
    }

    fn points(&mut self, axis: &Axis, p: &Points, scalars: &Scalars, r: &mut Region) -> String {
        let (bound, used) = p.scalars();
        r.bound(axis.var);
        let end = scalars.end();
        let inside = if scalars.masked.is_some() { "let inside = VECTOR == 0 || t < width;\n" } else { "" };
        let mut out = format!(
            "let end_of_tile: i64 = {end};\nlet mut t: i64 = 0;\nwhile t < end_of_tile {{\n{inside}let v{}: i64 = tile + t;\n",
            axis.var.0
        );
        for v in used.intersection(&scalars.arrays) {
            r.bound(*v);
            let get = match scalars.are_slices {
                true => format!("__rt::trusted::get(s{}, t)", v.0),
                false => format!("s{}.get(t)", v.0),
            };
            out.push_str(&format!("let v{} = unsafe {{ {get} }};\n", v.0));
        }
        r.masked = scalars.masked.is_some();
        out.push_str(&self.nodes(&p.nodes, r));
        r.masked = false;
        for v in bound.iter().filter(|v| scalars.arrays.contains(v)) {
            out.push_str(&format!("unsafe {{ s{0}.set(t, v{0}) }};\n", v.0));
        }
        for f in &p.folds {
            let value = r.atom(f.value);
            let new = fold::accumulated(f, self.atom_elem(f.value), "state", &value);
            out.push_str(&format!(
                "let state = unsafe {{ s{0}.get(t) }};\nlet new = {new};\nunsafe {{ s{0}.set(t, new) }};\n",
                f.result.0
            ));
        }
        out + "t += 1;\n}\n"
    }

    /// A tree over one axis with one reduction, whose trips are shared among tasks, too; see the header.
    pub(super) fn columns(&mut self, t: &Tree) -> String {
        let axis = &t.axes[0];
        let reduction = t.body.iter().enumerate().find_map(|(at, n)| match n {
            Node::Loop(l) => Some((at, l)),
            _ => None,
        });
        let (at, l) = expect(reduction, || "a reduction in columns without a loop".into());
        let (before, after) = (&t.body[..at], &t.body[at + 1..]);
        let region = || Region { groups: merged(t), ..Region::default() };
        let extent = self.points_of(t);

        // The states of some columns for some trips.
        let mut r = region();
        let parts_of_fold = self.tile_of(&t.body[..=at]);
        let scalars = Scalars::new(&parts_of_fold);
        let declared = self.tile_arrays(&scalars);
        let inside = self.tile_parts(axis, &parts_of_fold, &scalars, Some(("from", "to")), &mut r);
        for name in ["from", "to"] {
            r.extra.push((name.into(), "i64".into(), format!("{name} as i64")));
        }
        let types: Vec<String> = l.folds.iter().map(|f| self.atom_elem(f.value).to_string()).collect();
        let output =
            format!("({})", types.iter().map(|t| format!("::std::vec::Vec<{t}>, ")).collect::<String>());
        let states = l.folds.iter().map(|f| format!("unsafe {{ s{}.first(width) }}.to_vec(), ", f.result.0));
        let finish = format!("({})", states.collect::<String>());
        let run = format!("let (tile, width) = (lo, hi - lo);\n{declared}{inside}");
        // As long as others: whoever goes on with it reads it.
        let neutral = l.folds.iter().map(|f| {
            let neutral = expr::constant(f.reducer.neutral(self.atom_elem(f.value)));
            format!("::std::vec![{neutral}; hi - lo], ")
        });
        let left_out = format!("({})", neutral.collect::<String>());
        let given = Given { output: &output, value: &finish, left_out: &left_out, at: "(lo, from)" };
        let fold = self.region(&mut r, &run, &given);

        // The rest, with the complete states.
        let mut r = region();
        self.declare_outputs(&t.axes, &t.body, &mut r);
        let nodes: Vec<Node> = before.iter().chain(after).cloned().collect();
        let arrays = l.folds.iter().map(|f| f.result).collect();
        let scalars = Scalars { arrays, are_slices: true, ..Scalars::default() };
        let points = self.points(axis, &Points { nodes, folds: Vec::new() }, &scalars, &mut r);
        for (f, t) in l.folds.iter().zip(&types) {
            r.extra.push((format!("s{}", f.result.0), format!("&'a [{t}]"), format!("&s{}[..]", f.result.0)));
        }
        let run = format!("let (tile, width) = (lo, hi - lo);\n{points}");
        let given = Given { at: "(lo, usize::MAX)", ..Given::NOTHING };
        let rest = self.region(&mut r, &run, &given);

        let (trips, work) = (self.dim(&l.axis.extent), self.work(&l.body));
        let names: String = l.folds.iter().map(|f| format!("s{}, ", f.result.0)).collect();
        let combine: String = l
            .folds
            .iter()
            .zip(&types)
            .enumerate()
            .map(|(i, (f, t))| {
                let c = fold::accumulated(f, self.atom_elem(f.value), "x", "y");
                format!("__rt::cpu::combine(&mut x.{i}, &y.{i}, |x: {t}, y: {t}| {c}); ")
            })
            .collect();
        let after = rest.after;
        format!(
            "{{\n{}__rt::cpu::fold_columns({extent} as usize, ({trips}).max(0) as usize, ({work}).max(1) as usize, \
             &|lo, hi, from, to| {{ {} }}, &|x: &mut {output}, y: {output}| {{ {combine} }}, &|lo, hi, ({names}): {output}| {{ {}; }});\n{after}}}\n",
            rest.shared, fold.invoke, rest.invoke
        )
    }
}
