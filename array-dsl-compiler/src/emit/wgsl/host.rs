//! What the runtime is told to run, as a text of its `program` module, which is the format's manual. A text costs a kernel's user
//! nothing but its bytes; as a constant of Rust's it took rustc as long as all the code for the CPU.

use super::super::constants;
use super::ShaderText;
use super::context::Context;
use super::entry::MOST_PRIVATE;
use super::groups::Groups;
use super::scan::Passes;
use super::shader::{Finished, Need};
use super::team::Team;
use super::types::bits;
use super::words::Word;
use crate::bulk::{ArrayId, Check, CheckKind, Trips};
use crate::dim::{Dim, SizeAtom};
use crate::internal;
use crate::loops::uses::Access;
use crate::loops::{Contract, Home, Repeat, Sort, Sorted};
use crate::lower;
use crate::ty::{Const, Elem, Loc};

/// A list: how many, and each.
fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|i| i.to_string()).collect();
    format!("{} {}", items.len(), items.join(" ")).trim_end().to_string()
}

/// A text with its length.
fn quoted(text: &str) -> String {
    format!("{}:{text}", text.len())
}

fn option(value: Option<String>) -> String {
    value.map_or("none".into(), |v| format!("some {v}"))
}

impl Context<'_> {
    /// A polynomial: `2*0*1+-1*2` is twice atom 0 times atom 1, less atom 2.
    fn poly(&self, dim: &Dim) -> Result<String, String> {
        self.check_atoms(dim)?;
        let mut terms = Vec::new();
        for (monomial, c) in dim.terms() {
            let mut term = c.to_string();
            for atom in monomial.iter() {
                let number = match atom {
                    SizeAtom::Name(name) => constants::size(self.program, name),
                    SizeAtom::Scalar(s) => self.atom(ArrayId(*s))?,
                };
                term += &format!("*{number}");
            }
            terms.push(term);
        }
        Ok(if terms.is_empty() { "0".into() } else { terms.join("+") })
    }

    /// The position of an integer among the atoms of sizes.
    fn atom(&self, scalar: ArrayId) -> Result<usize, String> {
        let found = self.scalars.iter().chain(&self.computed).position(|a| *a == scalar);
        found.map(|k| self.program.sizes.len() + k).ok_or_else(|| format!("the size {} is unknown", scalar.0))
    }

    fn polys<'d>(&self, dims: impl IntoIterator<Item = &'d Dim>) -> Result<String, String> {
        Ok(list(dims.into_iter().map(|d| self.poly(d)).collect::<Result<Vec<_>, _>>()?))
    }

    /// A polynomial with its text.
    fn described(&self, dim: &Dim) -> Result<String, String> {
        Ok(format!("{} {}", self.poly(dim)?, quoted(&constants::shown(self.program, dim))))
    }

    fn place(&self, l: Loc) -> String {
        let (kernel, file, line) = constants::place(self.program, l);
        format!("{} {} {line}", quoted(kernel), quoted(file))
    }

    fn array(&self, id: ArrayId) -> Result<String, String> {
        let a = &self.program.arrays[id.0 as usize];
        if let Elem::Infer(_) = a.elem {
            return Err(format!("`{}` has no element type", a.name));
        }
        let home = match a.home {
            Home::Param if a.dims.is_empty() => "host".into(),
            Home::Param => "input".into(),
            // The number of a trip.
            Home::Heap if self.is_host_scalar(id) => "host".into(),
            Home::Heap => "heap".into(),
            Home::View(of) => format!("view {}", of.0),
            // A thread's own elements are in its shader.
            Home::Nowhere | Home::Scratch => "nowhere".into(),
            Home::Band(_) => internal::broken("rows of a band on a GPU".into()),
            Home::Row { .. } => {
                return Err(format!("`{}` is an array private to one point", a.name));
            }
        };
        let dims = if matches!(a.home, Home::Nowhere | Home::Scratch) {
            list::<String>([])
        } else {
            self.polys(&a.dims)?
        };
        Ok(format!("\n{} {} {dims} {home}", quoted(&a.name), a.elem))
    }

    /// The whole program.
    pub(super) fn program(&self, steps: &[String]) -> Result<String, String> {
        let p = self.program;
        let ids = (0..p.arrays.len() as u32).map(ArrayId);
        let arrays = ids.map(|a| self.array(a)).collect::<Result<Vec<_>, _>>()?;
        let inputs = lower::gpu::inputs(p).into_iter().map(|a| a.0);
        let results = p.result.leaves().into_iter().map(|a| a.0);
        let sites = self.sites.iter().map(|s| self.place(*s));
        let parts = [quoted(&p.name), list(arrays), list(inputs), list(results), list(steps), list(sites)];
        Ok(parts.join("\n"))
    }

    /// A shader, of which the program has the position among their texts.
    fn shader(&mut self, s: &Finished) -> Result<String, String> {
        let Finished { label, wgsl, status, .. } = s;
        let text = self.shaders.len();
        self.shaders.push(ShaderText { label: label.clone(), wgsl: wgsl.clone() });
        let mut words = Vec::new();
        for w in &s.words {
            words.push(match w {
                Word::Size(dim) => format!("size {}", self.poly(dim)?),
                Word::Long(dim) => format!("long {}", self.poly(dim)?),
                Word::LongHigh(dim) => format!("long-high {}", self.poly(dim)?),
                Word::Scalar(a) => format!("scalar {}", a.0),
                Word::High(a) => format!("high {}", a.0),
                Word::SiteBase => "site-base".into(),
                Word::MostTrips => "most-trips".into(),
                Word::Parts => "parts".into(),
                Word::Each => "each".into(),
                Word::Planned => "planned".into(),
                Word::Stage => "stage".into(),
                Word::Zero => "zero".into(),
            });
        }
        let bindings = s.bindings.iter().map(|(array, access)| {
            let access = match access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Combine => "atomic",
            };
            format!("{} {access}", array.0)
        });
        let needs = s.needs.iter().map(|need| match need {
            Need::F64 => "f64",
            Need::I64 => "i64",
            Need::I64Atomics => "i64-atomics",
        });
        let (sizes, words, bindings, needs) =
            (self.polys(&s.made)?, list(words), list(bindings), list(needs));
        Ok(format!("{} {text} {words} sizes {sizes} {bindings} {status} {} {needs}", quoted(label), s.each))
    }

    /// `GpuStep::Points`.
    pub(super) fn points_step(
        &mut self,
        s: &Finished,
        extents: &[&Dim],
        private: Option<&(Finished, ArrayId)>,
    ) -> Result<String, String> {
        let (shader, extents) = (self.shader(s)?, self.polys(extents.iter().copied())?);
        let private = match private {
            Some((shader, array)) => Some(format!("{} {} {MOST_PRIVATE}", self.shader(shader)?, array.0)),
            None => None,
        };
        Ok(format!("\npoints {shader} {extents} private {}", option(private)))
    }

    /// `GpuStep::Reduce`.
    pub(super) fn reduce_step(
        &mut self,
        (points, groups, tiles): (&Finished, &Groups, Option<&Finished>),
        (outer, inner): (&[&Dim], &[&Dim]),
        across: bool,
    ) -> Result<String, String> {
        let Groups { shader, words, scratch } = groups;
        let (points, groups) = (self.shader(points)?, self.shader(shader)?);
        let tiles = option(tiles.map(|s| self.shader(s)).transpose()?);
        let (outer, inner) = (self.polys(outer.iter().copied())?, self.polys(inner.iter().copied())?);
        Ok(format!(
            "\nreduce {points} {outer} {inner} {groups} tiles {tiles} across {across} {words} {}",
            scratch.0
        ))
    }

    /// `GpuStep::Team`.
    pub(super) fn team_step(
        &mut self,
        team: &Team,
        outer: &[&Dim],
        steps: &[String],
    ) -> Result<String, String> {
        let (shader, outer) = (self.shader(&team.shader)?, self.polys(outer.iter().copied())?);
        Ok(format!("\nteam {shader} {outer} {} {}", self.polys(&team.inner)?, list(steps)))
    }

    /// `GpuStep::Scan`.
    pub(super) fn scan_step(
        &mut self,
        points: &Finished,
        passes: &Passes,
        outer: &[&Dim],
        length: &Dim,
    ) -> Result<String, String> {
        let [points, fold, starts, run] =
            [points, &passes.fold, &passes.starts, &passes.run].map(|s| self.shader(s));
        let (points, fold, starts, run) = (points?, fold?, starts?, run?);
        let (outer, length) = (self.polys(outer.iter().copied())?, self.poly(length)?);
        let Passes { rows, words, scratch, ends, .. } = passes;
        let rows = rows.as_ref().map(|s| self.shader(s)).transpose()?;
        Ok(format!(
            "\nscan {points} {outer} {length} {fold} {starts} {run} rows {} {words} {} ends {ends}",
            option(rows),
            scratch.0
        ))
    }

    /// `GpuStep::Contract`.
    pub(super) fn contract_step(&self, c: &Contract, label: &str) -> Result<String, String> {
        let operand = |array: ArrayId, axes: &[usize]| format!("{} {}", array.0, list(axes));
        let out = operand(c.result, &c.out);
        let [a, b] = [&c.a, &c.b].map(|o| operand(o.array, &o.axes_of_whole(c, &self.program.arrays)));
        Ok(format!("\ncontract {} {} {out} {a} {b}", quoted(label), self.polys(&c.extents)?))
    }

    /// `GpuStep::Sort`.
    pub(super) fn sort_step(&self, s: &Sort, label: &str) -> Result<String, String> {
        let gives = match s.gives {
            Sorted::Positions => "positions",
            Sorted::Values => "values",
        };
        let dims = &self.program.arrays[s.keys.0 as usize].dims;
        let Some((length, rows)) = dims.split_last() else { return Err("a sort of a number".into()) };
        let (rows, length) = (self.polys(rows)?, self.poly(length)?);
        let (result, keys) = (self.root(s.result).0, self.root(s.keys).0);
        Ok(format!("\nsort {} {gives} {result} {keys} {rows} {length}", quoted(label)))
    }

    /// `GpuStep::Fill`.
    pub(super) fn fill_step(&self, array: ArrayId, value: Const) -> Result<String, String> {
        Ok(format!("\nfill {} {}", array.0, bits(value)?))
    }

    /// `GpuStep::Copy`.
    pub(super) fn copy_step(&self, array: ArrayId, source: ArrayId) -> String {
        format!("\ncopy {} {}", array.0, source.0)
    }

    /// `GpuStep::Move`.
    pub(super) fn move_step(&self, array: ArrayId, source: ArrayId) -> String {
        format!("\nmove {} {}", array.0, source.0)
    }

    /// `GpuStep::Size`.
    pub(super) fn size_step(&self, scalar: ArrayId) -> Result<String, String> {
        // A bound is of use if the host knows what it is made of.
        let most = self.program.arrays[scalar.0 as usize].most.as_ref();
        let most = most.filter(|bound| self.check_atoms(bound).is_ok());
        let most = most.map(|bound| self.poly(bound)).transpose()?;
        Ok(format!("\nsize {} {} most {}", self.root(scalar).0, self.atom(scalar)?, option(most)))
    }

    /// `GpuStep::Repeat`.
    pub(super) fn repeat_step(&self, r: &Repeat, steps: &[String]) -> Result<String, String> {
        let trips = match &r.trips {
            Trips::For(index, count) => {
                format!("for {} {} {}", index.0, self.atom(*index)?, self.poly(count)?)
            }
            Trips::While(state) => format!("while {}", state.0),
        };
        let carried = r.carried.iter().map(|c| {
            let c = &c.arrays;
            format!("{} {} {}", c.state.0, c.start.0, c.next.0)
        });
        Ok(format!("\nrepeat {trips} {} {}", list(carried), list(steps)))
    }

    /// `GpuStep::Check`.
    pub(super) fn check_step(&self, c: &Check, loc: Loc) -> Result<String, String> {
        let kind = match &c.kind {
            CheckKind::Equal(a, b) => format!("equal {} {}", self.described(a)?, self.described(b)?),
            CheckKind::NonNegative(d) => format!("non-negative {}", self.described(d)?),
            CheckKind::AtLeast(lo, d) => format!("at-least {} {}", self.described(lo)?, self.described(d)?),
        };
        Ok(format!("\ncheck {kind} {} {}", self.polys(&c.guards)?, self.place(loc)))
    }
}
