//! Reductions of many neighbors at once.
//!
//! In `for j { for k { .. a[k, j] .. } fold }` the inner loop strides through memory. Where that is so the loop over `j`
//! is cut into strips of `COLUMNS` points (a constant of the runtime), and inside a strip the loops change places:
//!
//! ```text
//! for each strip {
//!     state = [neutral; COLUMNS]
//!     for k { for t in strip { state[t] = state[t] + a[k, strip + t] } }
//!     for t in strip { the rest, with the results state[t] }
//! }
//! ```
//!
//! Code between loops becomes **points**, a loop over the strip; scalars that live from one to another, the states of the
//! folds among them, are arrays of a strip's length. If the loop over `j` is all that is parallel, the strips are few where
//! `j` is short: then the trips of the reduction are shared among tasks as well, each with states of its own that are
//! combined in order.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::nodes::leave_if_failed;
use super::region::{Given, Region};
use super::{Cpu, expr, fold};
use crate::bulk::{Atom, Axis, Exp, Let, Var};
use crate::loops::uses::is_pure;
use crate::loops::{Fold, Home, Loop, Node, Tree};
use crate::ty::Const;

/// The code of a strip.
enum Part {
    Points(Points),
    Loop { axis: Axis, folds: Vec<Fold>, parts: Vec<Part> },
}

/// A loop over the strip.
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
                    axis: l.axis.clone(),
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

/// Which scalars of a strip are arrays: results of folds, and what one loop over the strip binds and another uses.
#[derive(Default)]
struct Scalars {
    arrays: BTreeSet<Var>,
    bound_by: HashMap<Var, usize>,
    points: usize,
}

impl Scalars {
    fn new(parts: &[Part]) -> Scalars {
        let mut s = Scalars::default();
        s.parts(parts);
        s
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
                _ => {}
            }
        }
        let mut used: BTreeSet<Var> =
            used.into_iter().filter_map(|a| if let Atom::Var(v) = a { Some(v) } else { None }).collect();
        used.retain(|v| !bound.contains(v));
        (bound, used)
    }
}

impl Cpu<'_> {
    /// Whether a loop over `axis` with this body is better done in strips: some reduction in it then strides through
    /// fewer arrays.
    pub(super) fn strips_pay(&self, axis: &Axis, body: &[Node], r: &Region) -> bool {
        let mut cost = Strides { c: self, r, column: axis.var, through: HashMap::new(), lanes: 0, strips: 0 };
        cost.through.insert(axis.var, [axis.var].into());
        cost.nodes(body, None) && cost.lanes > cost.strips
    }

    /// `for axis in from..to` in strips.
    pub(super) fn strips(
        &mut self,
        axis: &Axis,
        body: &[Node],
        from: &str,
        to: &str,
        r: &mut Region,
    ) -> String {
        let parts = parts(body, &[]);
        let scalars = Scalars::new(&parts);
        let declared: String = scalars.arrays.iter().map(|v| self.strip_array(*v)).collect();
        let inside = self.strip_parts(axis, &parts, &scalars, None, r);
        format!(
            "{declared}let mut strip: i64 = {from};\nlet end: i64 = {to};\nwhile strip < end {{\n\
             let width: i64 = if end - strip < __rt::cpu::COLUMNS as i64 {{ end - strip }} else {{ __rt::cpu::COLUMNS as i64 }};\n\
             {inside}strip += width;\n{}}}\n",
            leave_if_failed(&inside)
        )
    }

    fn strip_array(&self, v: Var) -> String {
        let e = self.p.vars[v.0 as usize];
        format!(
            "let mut s{}: [{e}; __rt::cpu::COLUMNS] = [{}; __rt::cpu::COLUMNS];\n",
            v.0,
            expr::constant(Const::of(e, 0))
        )
    }

    /// The code for one strip. `range` replaces the range of the outermost loops.
    fn strip_parts(
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
                Part::Loop { axis: k, folds, parts } => {
                    for f in folds {
                        let neutral = expr::constant(f.reducer.neutral(self.atom_elem(f.value)));
                        out.push_str(&format!("s{}[..width as usize].fill({neutral});\n", f.result.0));
                    }
                    let extent = self.dim_in(&k.extent, r);
                    r.bound(k.var);
                    let inside = self.strip_parts(axis, parts, scalars, None, r);
                    let (from, to) = range.unwrap_or(("0i64", &extent));
                    let v = k.var.0;
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
        let mut out =
            format!("let mut t: i64 = 0;\nwhile t < width {{\nlet v{}: i64 = strip + t;\n", axis.var.0);
        for v in used.intersection(&scalars.arrays) {
            r.bound(*v);
            out.push_str(&format!("let v{0} = unsafe {{ __rt::trusted::get(&s{0}[..], t) }};\n", v.0));
        }
        out.push_str(&self.nodes(&p.nodes, r));
        for v in bound.iter().filter(|v| scalars.arrays.contains(v)) {
            out.push_str(&format!("unsafe {{ __rt::trusted::set(&mut s{0}[..], t, v{0}) }};\n", v.0));
        }
        for f in &p.folds {
            let value = r.atom(f.value);
            let new = fold::accumulated(f, self.atom_elem(f.value), "state", &value);
            out.push_str(&format!(
                "let state = unsafe {{ __rt::trusted::get(&s{0}[..], t) }};\nlet new = {new};\nunsafe {{ __rt::trusted::set(&mut s{0}[..], t, new) }};\n",
                f.result.0
            ));
        }
        out + "t += 1;\n}\n"
    }

    /// A tree over one axis with one reduction, whose trips are shared among tasks, too; see the header. `None` if it is
    /// not of that form.
    pub(super) fn columns(&mut self, t: &Tree, groups: &[Vec<Var>]) -> Option<String> {
        let axis = &t.axes[0];
        let at = t.body.iter().position(|n| matches!(n, Node::Loop(_)))?;
        let Node::Loop(l) = &t.body[at] else { return None };
        let (before, after) = (&t.body[..at], &t.body[at + 1..]);
        let code = |nodes: &[Node]| nodes.iter().all(|n| matches!(n, Node::Let(_)));
        if !code(before) || after.iter().any(|n| matches!(n, Node::Loop(_))) || !is_pure(&l.body) {
            return None;
        }
        let region = || Region { groups: groups.to_vec(), ..Region::default() };
        let extent = self.merged_extent(t, groups, 0);

        // The states of some columns for some trips.
        let mut r = region();
        let parts_of_fold = parts(&t.body[..=at], &[]);
        let scalars = Scalars::new(&parts_of_fold);
        let declared: String = scalars.arrays.iter().map(|v| self.strip_array(*v)).collect();
        let inside = self.strip_parts(axis, &parts_of_fold, &scalars, Some(("from", "to")), &mut r);
        for name in ["from", "to"] {
            r.extra.push((name.into(), "i64".into(), format!("{name} as i64")));
        }
        let types: Vec<String> = l.folds.iter().map(|f| self.atom_elem(f.value).to_string()).collect();
        let output =
            format!("({})", types.iter().map(|t| format!("::std::vec::Vec<{t}>, ")).collect::<String>());
        let states = l.folds.iter().map(|f| format!("s{}[..width as usize].to_vec(), ", f.result.0));
        let finish = format!("({})", states.collect::<String>());
        let run = format!("let (strip, width) = (lo, hi - lo);\n{declared}{inside}");
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
        self.declare_outputs(&t.body, &mut r);
        let nodes: Vec<Node> = before.iter().chain(after).cloned().collect();
        let scalars = Scalars { arrays: l.folds.iter().map(|f| f.result).collect(), ..Scalars::default() };
        let points = self.points(axis, &Points { nodes, folds: Vec::new() }, &scalars, &mut r);
        for (f, t) in l.folds.iter().zip(&types) {
            r.extra.push((format!("s{}", f.result.0), format!("&'a [{t}]"), format!("&s{}[..]", f.result.0)));
        }
        let run = format!("let (strip, width) = (lo, hi - lo);\n{points}");
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
        Some(format!(
            "{{\n{}__rt::cpu::fold_columns({extent} as usize, ({trips}).max(0) as usize, ({work}).max(1) as usize, \
             |lo, hi, from, to| {{ {} }}, |x: &mut {output}, y: {output}| {{ {combine} }}, |lo, hi, ({names}): {output}| {{ {}; }});\n{after}}}\n",
            rest.shared, fold.invoke, rest.invoke
        ))
    }
}

/// Counts the reads inside reductions that stride through memory, if they are done one after another and if they are done
/// in strips.
struct Strides<'a> {
    c: &'a Cpu<'a>,
    r: &'a Region,
    column: Var,
    /// The axes that an integer changes with.
    through: HashMap<Var, HashSet<Var>>,
    lanes: usize,
    strips: usize,
}

impl Strides<'_> {
    /// Whether strips can be made of the nodes; `trip` is the innermost loop around them.
    fn nodes(&mut self, nodes: &[Node], trip: Option<Var>) -> bool {
        nodes.iter().all(|n| match n {
            Node::Let(Let { exp: Exp::Scan(_), .. }) => false,
            Node::Let(l) => {
                self.exp(&l.exp, &l.vars, trip);
                true
            }
            Node::Loop(l) => self.inner(l),
            // A row belongs to one column.
            Node::Store { array, .. } => !matches!(self.c.p.arrays[array.0 as usize].home, Home::Row { .. }),
            Node::Accumulate { .. } | Node::Write { .. } => false,
        })
    }

    fn inner(&mut self, l: &Loop) -> bool {
        self.through.insert(l.axis.var, [l.axis.var].into());
        l.folds.iter().all(|f| f.reducer.op().is_some()) && self.nodes(&l.body, Some(l.axis.var))
    }

    fn exp(&mut self, e: &Exp, vars: &[Var], trip: Option<Var>) {
        match e {
            Exp::Op(..) => {
                let mut axes = HashSet::new();
                e.visit_atoms(&mut |a| axes.extend(self.axes(a)));
                vars.iter().for_each(|v| drop(self.through.insert(*v, axes.clone())));
            }
            Exp::Read { index, .. } => {
                if let Some(trip) = trip {
                    self.lanes += usize::from(self.strides(index, trip));
                    self.strips += usize::from(self.strides(index, self.column));
                }
            }
            Exp::If(_, x, y) => {
                for l in [x, y].iter().flat_map(|b| &b.block.lets) {
                    self.exp(&l.exp, &l.vars, trip);
                }
            }
            Exp::Size(_) | Exp::StopGradient(_) | Exp::Scan(_) => {}
        }
    }

    fn axes(&self, a: Atom) -> HashSet<Var> {
        match a {
            Atom::Var(v) => self.through.get(&v).cloned().unwrap_or_default(),
            Atom::Const(_) => HashSet::new(),
        }
    }

    /// Whether an index other than the last changes with an axis.
    fn strides(&self, index: &[Atom], axis: Var) -> bool {
        (0..index.len())
            .any(|k| k + self.r.group(index[k]) < index.len() && self.axes(index[k]).contains(&axis))
    }
}
